//! MergeSharedMemoryAllocations: the shared memory of a kernel becomes one allocation.
//!
//! Source: `src/s_tir/transform/merge_shared_memory_allocations.cc`.

mod plan;

use super::accesses::{Accesses, buffer_of};
use crate::ir::{AttrValue, Buffer, DType, DTypeCode, ExprId, Id, Module, Name, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, binary, rewrite_func};
use plan::offsets;
use rustc_hash::FxHashMap;

/// TVM's `s_tir.transform.MergeSharedMemoryAllocations`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.MergeSharedMemoryAllocations",
    info_name: "s_tir.MergeSharedMemoryAllocations",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &["tirx.merge_static_smem"],
    summary: "Makes one allocation of the shared memory of a kernel.",
    doc: explained(
        "The buffers of scope `shared.dyn` that a kernel allocates become parts of one buffer of bytes, `buf_dyn_shmem`, since a \
kernel gets only one piece of such memory when it is launched. Buffers that are not in use at the same time share a place: a \
free one that is large enough, or several smaller ones together. With `tirx.merge_static_smem` those of scope `shared` are \
merged, too. A kernel with one such buffer, or none, stays. Memory must be flat.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(X: T.Buffer((128,), \"float32\")):
        with T.launch_thread(\"threadIdx.x\", 128) as tx:
            A = T.alloc_buffer((128,), scope=\"shared.dyn\")
            B = T.alloc_buffer((128,), scope=\"shared.dyn\")
            A[tx] = X[tx]
            B[tx] = X[tx + 1]
            X[tx] = A[tx] + B[tx]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(X: T.Buffer((128,), \"float32\")):
        with T.launch_thread(\"threadIdx.x\", 128) as tx:
            buf_dyn_shmem = T.alloc_buffer((1024,), \"uint8\", scope=\"shared.dyn\")
            B = T.decl_buffer((128,), data=buf_dyn_shmem.data, scope=\"shared.dyn\")
            A = T.decl_buffer((128,), data=buf_dyn_shmem.data, scope=\"shared.dyn\")
            A[tx] = X[tx]
            B[tx + 128] = X[tx + 1]
            X[tx] = A[tx] + B[tx + 128]
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let mut func = func;
    let mut kinds = vec![("shared.dyn", "buf_dyn_shmem")];
    if cx.config_flag("tirx.merge_static_smem") {
        kinds.push(("shared", "buf_shmem"));
    }
    for (scope, name) in kinds {
        let (scope, name) = (cx.store.name(scope), cx.store.name(name));
        func = rewrite_func(cx.store, func, &mut Merge { scope, name, kernel: None, inside: false })?;
    }
    Ok(Some(func))
}

/// The rewriting for one kind of shared memory.
struct Merge {
    scope: Id<Name>,
    name: Id<Name>,
    kernel: Option<Kernel>,
    /// True if threads are bound around.
    inside: bool,
}

/// A kernel whose memory is merged.
struct Kernel {
    merged: Id<Buffer>,
    /// The offsets of buffers in bytes.
    offsets: FxHashMap<Id<Buffer>, PrimId>,
    /// The allocation that a buffer is a view of.
    sources: FxHashMap<Id<Buffer>, Id<Buffer>>,
    /// The replacements of buffers, and their order.
    becomes: FxHashMap<Id<Buffer>, Id<Buffer>>,
    order: Vec<Id<Buffer>>,
    volatile: bool,
    error: Option<String>,
}

impl Kernel {
    /// Returns the allocation that a buffer is, or is a view of.
    fn allocation(&self, buffer: Id<Buffer>) -> Option<Id<Buffer>> {
        let source = self.sources.get(&buffer).copied().unwrap_or(buffer);
        self.offsets.contains_key(&source).then_some(source)
    }

    /// Returns the replacement of a buffer.
    fn updated(&mut self, store: &mut Store, buffer: Id<Buffer>) -> Id<Buffer> {
        if let Some(known) = self.becomes.get(&buffer) {
            return *known;
        }
        let data = Some(store.prim(PrimExpr::Data(self.merged)));
        let new = Buffer { data, ..store.buffer(buffer).clone() };
        let new = store.add_buffer(new);
        self.becomes.insert(buffer, new);
        self.order.push(new);
        new
    }

    /// Returns the offset of a buffer, in elements of a type.
    fn offset(&self, store: &mut Store, buffer: Id<Buffer>, dtype: DType) -> Option<PrimId> {
        let bytes = *self.offsets.get(&self.allocation(buffer)?)?;
        let unit = store.prim_int(plan::bytes_of(dtype), store.prim_dtype(bytes));
        Some(binary(store, PrimOp::FloorDiv, bytes, unit))
    }
}

impl StmtMutator for Merge {
    fn rule(&self) -> &'static str {
        "shared memory merged"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Attr { node, key, value, body } if cx.store.str(key) == "thread_extent" && !self.inside => {
                let mut found = Vec::new();
                cx.store.for_each_stmt(body, |stmt| {
                    if let Stmt::Alloc(buffer, _) = stmt {
                        found.extend(Some(*buffer).filter(|buffer| cx.store.buffer(*buffer).scope == self.scope));
                    }
                });
                self.inside = true;
                let new = if found.len() <= 1 { cx.visit(self, body) } else { self.kernel(cx, id, body, &found) };
                self.inside = false;
                if new == body {
                    return Some(id);
                }
                Some(cx.store.rebuild_stmt(id, Stmt::Attr { node, key, value, body: new }))
            }
            Stmt::Alloc(buffer, annotations) => {
                let kernel = self.kernel.as_mut().filter(|kernel| kernel.offsets.contains_key(&buffer))?;
                kernel.volatile |= annotations.is_some_and(|attrs| cx.store.attr(Some(attrs), "tirx.volatile").is_some());
                Some(cx.store.no_op())
            }
            Stmt::Declare(buffer) => {
                let source = cx.store.buffer(buffer).data.and_then(|data| buffer_of(cx.store, data))?;
                let kernel = self.kernel.as_mut()?;
                let source = kernel.allocation(source)?;
                kernel.sources.insert(buffer, source);
                Some(cx.store.no_op())
            }
            _ => None,
        }
    }

    fn access(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>, indices: &[PrimId]) -> Option<(Id<Buffer>, Vec<PrimId>)> {
        let kernel = self.kernel.as_mut()?;
        kernel.allocation(buffer)?;
        if indices.len() != 1 {
            let message = "MergeSharedMemoryAllocations expects flat memory buffers: FlattenBuffer runs before";
            kernel.error.get_or_insert_with(|| message.to_owned());
            return None;
        }
        let dtype = cx.store.buffer(buffer).dtype;
        let offset = kernel.offset(cx.store, buffer, dtype)?;
        let index = binary(cx.store, PrimOp::Add, indices[0], offset);
        Some((kernel.updated(cx.store, buffer), vec![index]))
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, pre: PrimId, post: PrimId) -> PrimId {
        let Some(kernel) = self.kernel.as_mut() else { return post };
        let (PrimExpr::Call { args: old, .. }, PrimExpr::Call { op, args, dtype }) =
            (&*cx.store.prim_rc(pre), &*cx.store.prim_rc(post))
        else {
            return post;
        };
        let (pointer, offset) = match cx.store.str(*op) {
            "tvm_access_ptr" if args.len() == 5 => (1, 2),
            "s_tir.cp_async_raw" if args.len() >= 5 => (0, 1),
            _ => return post,
        };
        let Some(buffer) = buffer_of(cx.store, old[pointer]).filter(|buffer| kernel.allocation(*buffer).is_some()) else {
            return post;
        };
        let element = if pointer == 1 { cx.store.prim_dtype(args[0]) } else { cx.store.buffer(buffer).dtype };
        let Some(more) = kernel.offset(cx.store, buffer, element) else { return post };
        let mut args = args.clone();
        let new = kernel.updated(cx.store, buffer);
        args[pointer] = cx.store.prim(PrimExpr::Data(new));
        args[offset] = binary(cx.store, PrimOp::Add, more, args[offset]);
        cx.store.prim(PrimExpr::Call { op: *op, args, dtype: *dtype })
    }
}

impl Merge {
    /// Rewrites the body of a kernel to one allocation for several.
    fn kernel(&mut self, cx: &mut Rewriting<'_>, id: StmtId, body: StmtId, found: &[Id<Buffer>]) -> StmtId {
        let mut accesses = Accesses::only(self.scope);
        accesses.of(cx.store, id);
        let planned = match accesses.error.take() {
            Some(message) => Err(message),
            None => offsets(cx.store, &accesses, found),
        };
        let (offsets, size) = match planned {
            Ok(planned) => planned,
            Err(message) => {
                cx.fail("tir-shared", message);
                return body;
            }
        };
        let merged = Buffer::new(self.name, DType::new(DTypeCode::UInt, 8), [size].into(), self.scope);
        let merged = cx.store.add_buffer(merged);
        self.kernel = Some(Kernel {
            merged,
            offsets,
            sources: FxHashMap::default(),
            becomes: FxHashMap::default(),
            order: Vec::new(),
            volatile: false,
            error: None,
        });
        let new = cx.visit(self, body);
        let Some(kernel) = self.kernel.take() else { return new };
        if let Some(message) = kernel.error {
            cx.fail("tir-shared", message);
            return body;
        }
        let annotations = kernel.volatile.then(|| cx.store.with_attr(None, "tirx.volatile", AttrValue::Bool(true)));
        let mut stmts = vec![cx.store.add_stmt(Stmt::Alloc(merged, annotations))];
        for buffer in kernel.order.into_iter().rev() {
            stmts.push(cx.store.add_stmt(Stmt::Declare(buffer)));
        }
        stmts.push(new);
        cx.store.flat_seq(None, &stmts)
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, after_with, error, unchanged};

    fn source(body: &str) -> String {
        let body: String = body.lines().map(|line| format!("        {line}\n")).collect();
        format!(
            "@T.prim_func(private=True, s_tir=True)\ndef f(X: T.Buffer((128,), \"float32\")):\n    with T.launch_thread(\"threadIdx.x\", 128) as tx:\n{body}"
        )
    }

    const CALL: &str = "tir.MergeSharedMemoryAllocations()";
    const TWO: &str = "A = T.alloc_buffer((128,), scope=\"shared.dyn\")\nB = T.alloc_buffer((128,), scope=\"shared.dyn\")\nA[tx] = X[tx]\nB[tx] = A[tx]\nX[tx] = B[tx]";

    #[test]
    fn what_is_over_makes_place() {
        let text = after(&source(TWO), CALL);
        assert!(text.contains("buf_dyn_shmem = T.alloc_buffer((512,), \"uint8\""), "{text}");
        assert!(text.contains("B[tx] = A[tx]"), "{text}");
    }

    #[test]
    fn static_memory_is_merged_when_the_configuration_says_so() {
        let body = TWO.replace("shared.dyn", "shared");
        unchanged(&source(&body), CALL);
        let text = after_with(&source(&body), CALL, &[("tirx.merge_static_smem", "True")]);
        assert!(text.contains("buf_shmem"), "{text}");
    }

    #[test]
    fn one_buffer_stays() {
        unchanged(&source("A = T.alloc_buffer((128,), scope=\"shared.dyn\")\nA[tx] = X[tx]\nX[tx] = A[tx]"), CALL);
    }

    #[test]
    fn memory_must_be_flat() {
        let body = TWO.replace("(128,), scope", "(8, 16), scope").replace("A[tx]", "A[0, tx]").replace("B[tx]", "B[0, tx]");
        assert!(error(&source(&body), CALL).contains("physical dimensions"));
    }
}
