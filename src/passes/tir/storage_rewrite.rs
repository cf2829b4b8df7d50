//! StorageRewrite: buffers that are not in use at the same time share memory.
//!
//! Source: `src/tirx/transform/storage_rewrite.cc`.

mod allocation;
mod in_place;
mod plan;

use super::accesses::{Accesses, buffer_of};
use super::pointer_value_type_rewrite::{Which, rewrite_types};
use super::prim_func;
use super::storage_scope::Scope;
use crate::ir::{AttrValue, Buffer, ExprId, ForKind, Id, Mentions, Module, PrimExpr, PrimFunc, PrimId, PrimOp};
use crate::ir::{PrimParam, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, binary, math, rewrite_func};
use plan::{Options, Plan, bits};
use rustc_hash::FxHashMap;

/// TVM's `tirx.transform.StorageRewrite`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.StorageRewrite",
    info_name: "tirx.StorageRewrite",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &["tirx.merge_static_smem"],
    summary: "Lets buffers share memory that are not in use at the same time.",
    doc: explained(
        "Allocations come to the beginning of the function, or of the kernel or parallel loop that they are in, and those that \
nobody uses go. Memory whose last use is over is used again by an allocation of flat memory of the same scope: first a free \
piece that is large enough and at most 16 times as large, then a smaller one of the same element type, which grows. A \
statement `B[i] = f(A[i])` after which `A` is not needed may write `B` into the place of `A`. A buffer in the memory of \
another one is a `T.decl_buffer`, and the allocation counts elements of the first, or of the one with most lanes. Memory of \
scope `local` and `warp` and single elements are not shared: compilers keep them in registers.\n\n\
Then allocations that are only used in whole vectors become allocations of vectors.\n\n\
Memory must be flat: FlattenBuffer runs before, and VectorizeLoop. With `tirx.merge_static_smem` nothing is shared here, since \
MergeSharedMemoryAllocations does that; on Vulkan and WebGPU only among elements of one type.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):
        C = T.alloc_buffer((16,))
        for i in range(16):
            C[i] = A[i] + T.float32(1.0)
        D = T.alloc_buffer((16,))
        for i in range(16):
            D[i] = C[i] * C[i]
        for i in range(16):
            B[i] = D[i] + T.float32(2.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):
        C = T.alloc_buffer((16,))
        for i in range(16):
            C[i] = A[i] + T.float32(1.0)
        C_1 = T.decl_buffer((16,), data=C.data)
        for i in range(16):
            C_1[i] = C[i] * C[i]
        for i in range(16):
            B[i] = C_1[i] + T.float32(2.0)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(Some(func)) };
    let target = cx.store.attr(prim.attrs, "target").cloned();
    let kind = target.and_then(|target| super::targets::field(cx.store, &target, "kind"));
    let same_type = matches!(kind, Some(AttrValue::Str(kind)) if matches!(cx.store.str(kind), "vulkan" | "webgpu"));
    let options = Options { reuse: !cx.config_flag("tirx.merge_static_smem"), same_type };
    let shared = share(cx.store, func, &prim, options)?;
    let which = Which { params: false, pointers: false, untyped: true, shuffles: false };
    rewrite_types(cx.store, shared, which).map(Some)
}

fn share(store: &mut Store, func: ExprId, prim: &PrimFunc, options: Options) -> Result<ExprId, PassError> {
    let mut accesses = Accesses::default();
    for param in &prim.params {
        if let PrimParam::Buffer(buffer) = *param {
            accesses.roots.insert(buffer, buffer);
        }
    }
    accesses.of(store, prim.body);
    let planned = match accesses.error.take() {
        Some(message) => Err(message),
        None => Plan::of(store, &accesses, options),
    };
    let mut rewrite =
        Share { accesses, plan: Plan::default(), attached: FxHashMap::default(), renamed: FxHashMap::default(), error: None };
    match planned {
        Ok(plan) => rewrite.plan = plan,
        Err(message) => rewrite.error = Some(message),
    }
    rewrite.allocate(store);
    rewrite_func(store, func, &mut Body(rewrite, true))
}

/// The rewriting of a function whose memory is planned.
struct Share {
    accesses: Accesses,
    plan: Plan,
    /// The allocations at the beginning of the function, a kernel or a parallel loop.
    attached: FxHashMap<Option<StmtId>, Vec<StmtId>>,
    /// The replacements of buffers.
    renamed: FxHashMap<Id<Buffer>, Id<Buffer>>,
    error: Option<String>,
}

impl Share {
    /// Makes the allocations.
    fn allocate(&mut self, store: &mut Store) {
        let mut firsts: FxHashMap<(Option<StmtId>, Id<crate::ir::Name>), usize> = FxHashMap::default();
        for at in 0..self.plan.storage.len() {
            let storage = &self.plan.storage[at];
            if Scope::of(store.str(storage.scope)).is_special() {
                if storage.bits == 0 {
                    self.error.get_or_insert_with(|| "Special tagged memory must be const size".to_owned());
                }
                let first = *firsts.entry((storage.attach, storage.scope)).or_insert(at);
                if first != at {
                    self.plan.storage[first].children.push(at);
                }
            }
        }
        for at in 0..self.plan.storage.len() {
            if self.plan.storage[at].offset != 0 {
                continue;
            }
            let backing = match self.plan.storage[at].children.is_empty() {
                true => self.own(store, at),
                false => self.with_children(store, at),
            };
            self.plan.storage[at].backing = Some(backing);
            let storage = &self.plan.storage[at];
            let volatile = storage.volatile || storage.children.iter().any(|child| self.plan.storage[*child].volatile);
            let annotations = volatile.then(|| store.with_attr(None, "tirx.volatile", AttrValue::Bool(true)));
            let stmt = store.add_stmt(Stmt::Alloc(backing, annotations));
            self.attached.entry(storage.attach).or_default().push(stmt);
        }
    }

    /// Returns the memory of a buffer, and how far in it begins.
    fn memory(&self, buffer: Id<Buffer>) -> Option<(Id<Buffer>, u64)> {
        let storage = &self.plan.storage[*self.plan.of.get(&self.accesses.root(buffer))?];
        Some((storage.backing?, storage.offset))
    }

    /// Returns a buffer for use of other memory: one with the name of that.
    fn renamed(&mut self, store: &mut Store, buffer: Id<Buffer>, backing: Id<Buffer>) -> Id<Buffer> {
        if buffer == backing {
            return buffer;
        }
        *self.renamed.entry(buffer).or_insert_with(|| {
            let data = Some(store.prim(PrimExpr::Data(backing)));
            let new = Buffer { name: store.buffer(backing).name, data, ..store.buffer(buffer).clone() };
            store.add_buffer(new)
        })
    }
}

/// The body of a function; the second part says whether its beginning is still to come.
struct Body(Share, bool);

impl StmtMutator for Body {
    fn rule(&self) -> &'static str {
        "storage planned"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn looks_for(&self) -> Mentions {
        self.0.accesses.declared
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        if let Some(message) = self.0.error.take() {
            cx.fail("tir-storage", message);
            return Some(id);
        }
        if std::mem::take(&mut self.1) {
            let new = cx.visit(self, id);
            let stmts: Vec<StmtId> = self.0.attached.remove(&None).unwrap_or_default().into_iter().chain([new]).collect();
            return Some(if stmts.len() == 1 { new } else { cx.store.flat_seq(Some(id), &stmts) });
        }
        match *cx.store.stmt_rc(id) {
            Stmt::Alloc(buffer, _) => Some(match self.0.memory(buffer) {
                Some((backing, _)) if backing != buffer => {
                    let new = self.0.renamed(cx.store, buffer, backing);
                    cx.store.rebuild_stmt(id, Stmt::Declare(new))
                }
                _ => cx.store.no_op(),
            }),
            Stmt::Declare(buffer) => {
                let (backing, _) = self.0.memory(buffer)?;
                let new = self.0.renamed(cx.store, buffer, backing);
                Some(cx.store.rebuild_stmt(id, Stmt::Declare(new)))
            }
            Stmt::For(ref head, _) if head.kind == ForKind::Vectorized => {
                cx.fail("tir-storage", "VectorizeLoop before LiftStorageAlloc: a vectorized loop is left");
                Some(id)
            }
            Stmt::For(..) | Stmt::Attr { .. } => {
                let mut stmts = self.0.attached.remove(&Some(id))?;
                let new = cx.descend(self, id);
                let stmt = match cx.store.stmt(new).clone() {
                    Stmt::For(head, body) => {
                        stmts.push(body);
                        Stmt::For(head, cx.store.flat_seq(None, &stmts))
                    }
                    Stmt::Attr { node, key, value, body } => {
                        stmts.push(body);
                        Stmt::Attr { node, key, value, body: cx.store.flat_seq(None, &stmts) }
                    }
                    _ => return Some(new),
                };
                Some(cx.store.rebuild_stmt(id, stmt))
            }
            _ => None,
        }
    }

    fn access(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>, indices: &[PrimId]) -> Option<(Id<Buffer>, Vec<PrimId>)> {
        let (backing, offset) = self.0.memory(buffer)?;
        let new = self.0.renamed(cx.store, buffer, backing);
        let mut indices = indices.to_vec();
        if offset != 0 {
            let unit = bits(cx.store.buffer(buffer).dtype.element()).max(1);
            let last = indices.last_mut()?;
            let by = math::constant(cx.store, (offset / unit) as i64, cx.store.prim_dtype(*last));
            *last = binary(cx.store, PrimOp::Add, by, *last);
        } else if new == buffer {
            return None;
        }
        Some((new, indices))
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, pre: PrimId, post: PrimId) -> PrimId {
        match &*cx.store.prim_rc(post) {
            PrimExpr::Data(buffer) => match self.0.memory(*buffer) {
                Some((backing, _)) => cx.store.prim(PrimExpr::Data(backing)),
                None => post,
            },
            PrimExpr::Buffer(buffer) => match self.0.memory(*buffer) {
                Some((backing, _)) => cx.store.prim(PrimExpr::Buffer(backing)),
                None => post,
            },
            PrimExpr::Call { op, args, dtype } if args.len() == 5 && cx.store.str(*op) == "tvm_access_ptr" => {
                let PrimExpr::Call { args: old, .. } = &*cx.store.prim_rc(pre) else { return post };
                let Some((backing, offset)) = buffer_of(cx.store, old[1]).and_then(|buffer| self.0.memory(buffer)) else {
                    return post;
                };
                let mut args = args.clone();
                args[1] = cx.store.prim(PrimExpr::Buffer(backing));
                if offset != 0 {
                    let unit = bits(cx.store.prim_dtype(args[0])).max(1);
                    let by = cx.store.prim_int((offset / unit) as i64, cx.store.prim_dtype(args[2]));
                    args[2] = binary(cx.store, PrimOp::Add, by, args[2]);
                }
                cx.store.prim(PrimExpr::Call { op: *op, args, dtype: *dtype })
            }
            _ => post,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, after_with, error};

    fn source(body: &str) -> String {
        let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
        format!("@T.prim_func(private=True, s_tir=True)\ndef f(A: T.Buffer((64,), \"float32\"), n: T.int32):\n{body}")
    }

    fn rewritten(body: &str) -> String {
        after(&source(body), "tir.StorageRewrite()")
    }

    const THREE: &str = "\
B = T.alloc_buffer((64,))
B[n] = A[n]
C = T.alloc_buffer((32,))
C[n + 1] = B[n] + B[0]
D = T.alloc_buffer((48,))
D[0] = C[n + 1]
A[0] = D[0]";

    #[test]
    fn memory_is_used_again_when_it_is_large_enough() {
        let text = rewritten(THREE);
        assert_eq!(text.matches("T.alloc_buffer").count(), 2, "{text}");
        assert!(text.contains("B.view(48)"), "{text}");
    }

    #[test]
    fn nothing_is_shared_when_another_pass_does_it() {
        let text = after_with(&source(THREE), "tir.StorageRewrite()", &[("tir.merge_static_smem", "True")]);
        assert_eq!(text.matches("T.alloc_buffer").count(), 3, "{text}");
    }

    #[test]
    fn an_allocation_in_a_parallel_loop_stays_there() {
        let text = rewritten(
            "for i in T.parallel(4):\n    for j in range(4):\n        B = T.alloc_buffer((64,))\n        B[j] = A[j]\n        A[i] = B[j]",
        );
        let at = |what: &str| text.find(what).expect("it is there");
        assert!(at("T.parallel") < at("T.alloc_buffer") && at("T.alloc_buffer") < at("range(4)"), "{text}");
    }

    #[test]
    fn what_is_never_used_goes() {
        assert!(!rewritten("B = T.alloc_buffer((64,))\nA[0] = T.float32(1.0)").contains("alloc_buffer"));
    }

    #[test]
    fn whole_vectors_make_an_allocation_of_vectors() {
        let text =
            rewritten("B = T.alloc_buffer((64,))\nB[n * 4:n * 4 + 4] = A[T.Ramp(0, 1, 4)]\nA[0:4] = B[T.Ramp(n * 4, 1, 4)]");
        assert!(text.contains("B = T.alloc_buffer((16,), \"float32x4\")"), "{text}");
    }

    #[test]
    fn memory_that_is_needed_stays() {
        let body = "B = T.alloc_buffer((64,))\nC = T.alloc_buffer((64,))\nB[0] = A[0]\nC[0] = A[1]\nA[2] = B[0] + C[0]";
        let text = rewritten(body);
        assert_eq!(text.matches("T.alloc_buffer").count(), 2, "{text}");
        assert!(!text.contains("decl_buffer"), "{text}");
    }

    #[test]
    fn memory_must_be_flat_and_loops_serial() {
        let refused = |body: &str| error(&source(body), "tir.StorageRewrite()");
        assert!(refused("B = T.alloc_buffer((8, 8))\nB[0, 0] = A[0]").contains("2 physical dimensions"));
        assert!(refused("for i in T.vectorized(4):\n    A[i] = T.float32(0.0)").contains("VectorizeLoop"));
    }
}
