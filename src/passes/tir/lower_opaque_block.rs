//! LowerOpaqueBlock: blocks become loops, branches and allocations.
//!
//! Source: `src/s_tir/transform/lower_opaque_block.cc`, and of `src/tirx/transform/ir_utils.cc` where alignments come from.

use super::block_of;
use crate::ir::sort::sort_by;
use crate::ir::{
    AttrNode, AttrValue, AttrsId, Buffer, DType, ExprId, For, ForKind, Id, Mentions, Module, Name, PrimExpr, PrimId, Stmt,
    StmtId, Store,
};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, cast, rewrite_func};
use rustc_hash::FxHashMap;

/// TVM's `s_tir.transform.LowerOpaqueBlock`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.LowerOpaqueBlock",
    info_name: "s_tir.LowerOpaqueBlock",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Takes blocks away: what is left cannot be scheduled any more.",
    doc: explained(
        "A block becomes its body: under an `if` when it has a predicate, behind the allocations of its buffers, which keep the \
alignment that `buffer_dim_align` of a block says. Loops that are bound to threads become launches of these threads, loops of \
one round without annotations go, and annotations that begin with `pragma_` become attributes around their loop or block; other \
annotations of blocks are dropped. Blocks must have no variables any more: *ConvertBlocksToOpaque* comes before.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((60,), \"float32\")):
        with T.sblock(\"root\"):
            T.reads()
            T.writes()
            for i in T.thread_binding(16, thread=\"threadIdx.x\"):
                for j in range(4):
                    with T.sblock(\"A\"):
                        T.where(i * 4 + j < 60)
                        T.reads()
                        T.writes(A[i * 4 + j])
                        B = T.sblock_alloc_buffer((1,), scope=\"local\")
                        B[0] = T.float32(1.0)
                        A[i * 4 + j] = B[0]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((60,), \"float32\")):
        i = T.launch_thread(\"threadIdx.x\", 16)
        for j in range(4):
            B = T.alloc_local((1,), annotations={\"buffer_allocated_addr\": [], \"buffer_data_alignment\": 64})
            if i * 4 + j < 60:
                B[0] = T.float32(1.0)
                A[i * 4 + j] = B[0]
",
    ),
    run: Run::PrimFunc(run),
};

const ALIGN: &str = "buffer_dim_align";

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = super::prim_func(cx.store, func) else { return Ok(None) };
    let aligns = alignments(cx.store, prim.body);
    rewrite_func(cx.store, func, &mut Lower { aligns }).map(Some)
}

struct Lower {
    /// The blocks' annotations on the alignment of buffers, without the index of the buffer.
    aligns: FxHashMap<Id<Buffer>, Vec<AttrValue>>,
}

/// Collects `[index of a written buffer, axis, factor, offset]` of all blocks and allocations, by buffer.
pub(super) fn alignments(store: &Store, body: StmtId) -> FxHashMap<Id<Buffer>, Vec<AttrValue>> {
    let mut found: FxHashMap<Id<Buffer>, Vec<AttrValue>> = FxHashMap::default();
    store.for_each_stmt(body, |stmt| {
        let annotations = match stmt {
            Stmt::Block(block) => store.prim_block(*block).annotations,
            Stmt::Alloc(_, annotations) => *annotations,
            _ => None,
        };
        let Some(AttrValue::Array(all)) = store.attr(annotations, ALIGN) else { return };
        for one in all {
            let AttrValue::Array(parts) = one else { continue };
            let buffer = match stmt {
                Stmt::Alloc(buffer, _) => Some(*buffer),
                Stmt::Block(block) => {
                    let index = parts.first().and_then(|index| store.value_int(index));
                    let index = index.and_then(|index| usize::try_from(index).ok());
                    index.and_then(|index| store.prim_block(*block).writes.get(index)).map(|region| region.buffer)
                }
                _ => None,
            };
            let mut parts = parts.clone();
            if let (Some(buffer), Some(index)) = (buffer, parts.first_mut()) {
                *index = AttrValue::Int { value: -1, bits: 64 };
                found.entry(buffer).or_default().push(AttrValue::Array(parts));
            }
        }
    });
    found
}

impl StmtMutator for Lower {
    fn rule(&self) -> &'static str {
        "block lowered"
    }

    fn looks_for(&self) -> Mentions {
        Mentions::NONE
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match *cx.store.stmt_rc(id) {
            Stmt::Block(_) => self.block(cx, id),
            Stmt::For(ref head, body) => self.loop_(cx, head, body),
            _ => None,
        }
    }
}

impl Lower {
    fn block(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let block = block_of(cx.store, id)?;
        if block.bare {
            return None;
        }
        if !block.iters.is_empty() {
            cx.fail(
                "tir-blocks",
                "Non-opaque blocks are not allowed in FlattenBuffer. Please call pass ConvertBlocksToOpaque before.",
            );
            return None;
        }
        let allocs: Vec<Id<Buffer>> = block.allocs.iter().map(|buffer| cx.define_buffer(self, *buffer)).collect();
        let mut body = cx.visit(self, block.body);
        let predicate = block.predicate.map(|predicate| cx.root(self, predicate));
        if let Some(cond) = predicate.filter(|predicate| cx.store.as_prim_int(*predicate) != Some(1)) {
            body = cx.store.add_stmt(Stmt::If { cond, then: body, other: None });
        }
        if !allocs.is_empty() {
            let mut stmts: Vec<StmtId> = (allocs.into_iter())
                .map(|buffer| {
                    let annotations = self.annotations(cx.store, buffer);
                    cx.store.add_stmt(Stmt::Alloc(buffer, annotations))
                })
                .collect();
            stmts.push(body);
            body = cx.store.flat_seq(None, &stmts);
        }
        let pragmas = pragmas(cx, block.annotations)?;
        let zero = cx.store.prim_int(0, DType::I32);
        Some(within(cx.store, AttrNode::Prim(zero), &pragmas, body))
    }

    /// Returns the annotations of a buffer's allocation.
    fn annotations(&self, store: &mut Store, buffer: Id<Buffer>) -> Option<AttrsId> {
        let align = AttrValue::Int { value: i64::from(store.buffer(buffer).align), bits: 64 };
        let mut annotations = store.with_attr(None, "buffer_allocated_addr", AttrValue::Array([].into()));
        annotations = store.with_attr(Some(annotations), "buffer_data_alignment", align);
        if let Some(aligns) = self.aligns.get(&buffer) {
            annotations = store.with_attr(Some(annotations), ALIGN, AttrValue::Array(aligns.clone().into()));
        }
        Some(annotations)
    }

    fn loop_(&mut self, cx: &mut Rewriting<'_>, head: &For, body: StmtId) -> Option<StmtId> {
        let pragmas = pragmas(cx, head.annotations)?;
        let (min, extent) = (cx.root(self, head.min), cx.root(self, head.extent));
        let unit = cx.store.as_prim_int(extent) == Some(1) && head.annotations.is_none();
        if unit {
            let first = cast(cx.store, cx.store.symbol(head.var).dtype, min);
            cx.set_symbol(head.var, first);
        }
        let thread = match head.kind {
            ForKind::Thread(tag) => Some(tag),
            _ => None,
        };
        if !unit && thread.is_none() && pragmas.is_empty() {
            return None;
        }
        let body = cx.visit(self, body);
        let node = cx.store.prim(PrimExpr::Var(head.var));
        let body = match thread {
            Some(tag) => launch(cx.store, head.var, tag, extent, body),
            None if unit => body,
            None => {
                let step = head.step.map(|step| cx.root(self, step));
                let mut annotations = head.annotations;
                for (key, _) in &pragmas {
                    let key = cx.store.str(*key).to_owned();
                    annotations = cx.store.without_attr(annotations, &key);
                }
                cx.store.add_stmt(Stmt::For(For { min, extent, step, annotations, ..*head }, body))
            }
        };
        Some(within(cx.store, AttrNode::Prim(node), &pragmas, body))
    }
}

/// Makes the launch of a thread from a loop.
fn launch(store: &mut Store, var: Id<crate::ir::Symbol>, tag: Id<Name>, extent: PrimId, body: StmtId) -> StmtId {
    let is_virtual = matches!(store.str(tag), "vthread" | "vthread.x" | "vthread.y" | "vthread.z");
    let key = store.name(if is_virtual { "virtual_thread" } else { "thread_extent" });
    store.add_stmt(Stmt::Attr { node: AttrNode::Thread { var, tag }, key, value: extent, body })
}

/// Makes a statement within attributes, the first outermost.
fn within(store: &mut Store, node: AttrNode, attrs: &[(Id<Name>, PrimId)], body: StmtId) -> StmtId {
    attrs
        .iter()
        .rev()
        .fold(body, |body, (key, value)| store.add_stmt(Stmt::Attr { node: node.clone(), key: *key, value: *value, body }))
}

/// Returns the annotations whose names begin with `pragma_`, in the order of their names. Nothing when one is no scalar
/// and no string, which is an error.
fn pragmas(cx: &mut Rewriting<'_>, annotations: Option<AttrsId>) -> Option<Vec<(Id<Name>, PrimId)>> {
    let Some(annotations) = annotations else { return Some(Vec::new()) };
    let mut pragmas = Vec::new();
    for (key, value) in &cx.store.attrs_rc(annotations).fields {
        let name = cx.store.str(*key).to_owned();
        if !name.starts_with("pragma_") {
            continue;
        }
        let value = match *value {
            AttrValue::Bool(value) => cx.store.prim_int(i64::from(value), DType::BOOL),
            AttrValue::Int { value, .. } => cx.store.prim_int(value, DType::I32),
            AttrValue::Float(value) => cx.store.prim_float(value.0, DType::F32),
            AttrValue::Str(text) => cx.store.prim(PrimExpr::Str(text)),
            AttrValue::Dim(dim) => cx.store.prim_of_dim(dim),
            _ => {
                cx.fail("tir-blocks", format!("Illegal attribute of key {name}: only scalars and strings are supported"));
                return None;
            }
        };
        pragmas.push((name, *key, value));
    }
    sort_by(&mut pragmas, |a, b| a.0.cmp(&b.0));
    Some(pragmas.into_iter().map(|(_, key, value)| (key, value)).collect())
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    const LOOPS: &str = "\
@T.prim_func(private=True, s_tir=True)
def f(A: T.Buffer((16,), \"float32\")):
    for i in T.serial(4, annotations={\"pragma_b\": 1, \"pragma_a\": \"x\", \"kept\": 2}):
        for u in range(1):
            for v in T.thread_binding(4, thread=\"vthread.x\"):
                A[i * 4 + v + u] = T.float32(0.0)
";

    #[test]
    fn pragmas_become_attributes_in_the_order_of_their_names() {
        let text = after(LOOPS, "s_tir.LowerOpaqueBlock()");
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part} in\n{text}"));
        assert!(at("T.attr(i, \"pragma_a\", \"x\")") < at("T.attr(i, \"pragma_b\", 1)"), "{text}");
        at("for i in T.serial(4, annotations={\"kept\": 2}):");
    }

    #[test]
    fn loops_of_one_round_go_and_threads_are_launched() {
        let text = after(LOOPS, "s_tir.LowerOpaqueBlock()");
        assert!(!text.contains("for u") && text.contains("v = T.launch_thread(\"vthread.x\", 4)\n"), "{text}");
        assert!(text.contains("A[T.Add(i * 4 + v, 0)] = T.float32(0.0)"), "{text}");
    }

    #[test]
    fn what_a_block_says_of_alignment_goes_to_the_allocation() {
        let source = "\
@T.prim_func(private=True, s_tir=True)
def f(A: T.Buffer((16,), \"float32\")):
    with T.sblock(\"root\"):
        T.reads()
        T.writes()
        B = T.sblock_alloc_buffer((4, 4), scope=\"shared\")
        with T.sblock(\"b\"):
            T.reads()
            T.writes(B[0, 0])
            T.sblock_attr({\"buffer_dim_align\": [[0, 0, 16, 15]]})
            B[0, 0] = A[0]
";
        let text = after(source, "s_tir.LowerOpaqueBlock()");
        assert!(text.contains("\"buffer_dim_align\": [[-1, 0, 16, 15]]}"), "{text}");
    }

    #[test]
    fn plain_loops_stay() {
        unchanged(&after(LOOPS, "s_tir.LowerOpaqueBlock()"), "s_tir.LowerOpaqueBlock()");
    }

    #[test]
    fn blocks_with_variables_are_refused() {
        let source = "\
@T.prim_func(private=True, s_tir=True)
def f(A: T.Buffer((16,), \"float32\")):
    for i in range(16):
        with T.sblock(\"b\"):
            vi = T.axis.spatial(16, i)
            T.reads()
            T.writes(A[vi])
            A[vi] = T.float32(0.0)
";
        assert!(error(source, "s_tir.LowerOpaqueBlock()").starts_with("Non-opaque blocks are not allowed"));
    }
}
