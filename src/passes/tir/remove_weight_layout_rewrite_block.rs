//! RemoveWeightLayoutRewriteBlock: weights come in the layout that they are read in.
//!
//! Source: `src/s_tir/transform/remove_weight_layout_rewrite_block.cc`.

use super::prim_func;
use crate::ir::{AttrValue, Block, Buffer, ExprId, Id, Module, PrimExpr, PrimParam, Stmt, StmtId};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, rebuild_func, rewrite_func};

/// TVM's `s_tir.transform.RemoveWeightLayoutRewriteBlock`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.RemoveWeightLayoutRewriteBlock",
    info_name: "s_tir.RemoveWeightLayoutRewriteBlock",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[Param { name: "skip_tensor_rewrite", default: "False", doc: "TVM takes it and does nothing with it any more." }],
    config: &[],
    summary: "Weights come in the layout that they are read in.",
    doc: explained(
        "A block with the annotation `meta_schedule.layout_rewrite_preproc` copies a parameter into another layout. It does nothing \
any more, and the function takes what it wrote in the place of the parameter: whoever calls it rewrites the weights once.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(W: T.Buffer((16,), \"float32\"), B: T.Buffer((4, 4), \"float32\")):
        with T.sblock(\"root\"):
            R = T.sblock_alloc_buffer((4, 4))
            for i in range(16):
                with T.sblock(\"layout_rewrite\"):
                    vi = T.axis.spatial(16, i)
                    T.sblock_attr({\"meta_schedule.layout_rewrite_preproc\": True})
                    R[vi % 4, vi // 4] = W[vi]
            for i, j in T.grid(4, 4):
                with T.sblock(\"copy\"):
                    vi, vj = T.axis.remap(\"SS\", [i, j])
                    B[vi, vj] = R[vi, vj]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(R: T.Buffer((4, 4), \"float32\"), B: T.Buffer((4, 4), \"float32\")):
        with T.sblock(\"root\"):
            for i in range(16):
                with T.sblock(\"layout_rewrite\"):
                    vi = T.axis.spatial(16, i)
                    T.reads()
                    T.writes()
                    T.sblock_attr({\"meta_schedule.layout_rewrite_preproc\": True})
                    T.evaluate(0)
            for i, j in T.grid(4, 4):
                with T.sblock(\"copy\"):
                    vi, vj = T.axis.remap(\"SS\", [i, j])
                    B[vi, vj] = R[vi, vj]
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let mut remove = Remove { becomes: Vec::new() };
    let new = rewrite_func(cx.store, func, &mut remove)?;
    let Some(mut prim) = prim_func(cx.store, new).filter(|_| !remove.becomes.is_empty()) else { return Ok(Some(new)) };
    for param in &mut prim.params {
        if let PrimParam::Buffer(buffer) = param
            && let Some((_, to)) = remove.becomes.iter().rev().find(|(from, _)| from == buffer)
        {
            *buffer = *to;
        }
    }
    Ok(Some(rebuild_func(cx.store, new, prim)))
}

struct Remove {
    /// Parameters and what is read in their place.
    becomes: Vec<(Id<Buffer>, Id<Buffer>)>,
}

impl StmtMutator for Remove {
    fn rule(&self) -> &'static str {
        "rewriting of a layout left to the caller"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let new = cx.descend(self, id);
        let Stmt::Block(block) = *cx.store.stmt(new) else { return Some(new) };
        let old = cx.store.prim_block(block).clone();
        let marked = match cx.store.attr(old.annotations, "meta_schedule.layout_rewrite_preproc") {
            Some(AttrValue::Bool(marked)) => *marked,
            other => other.and_then(AttrValue::as_int) == Some(1),
        };
        if !marked {
            let kept = |buffer: &Id<Buffer>| !self.becomes.iter().any(|(_, gone)| gone == buffer);
            let allocs: Box<[Id<Buffer>]> = old.allocs.iter().copied().filter(kept).collect();
            if allocs.len() == old.allocs.len() {
                return Some(new);
            }
            let block = cx.store.add_prim_block(Block { allocs, ..old });
            return Some(cx.store.rebuild_stmt(new, Stmt::Block(block)));
        }
        let copied = match *cx.store.stmt(old.body) {
            Stmt::Store { buffer, value, .. } if old.allocs.is_empty() && old.matches.is_empty() => {
                match *cx.store.prim_of_id(value) {
                    PrimExpr::Load { buffer: from, .. } => Some((from, buffer)),
                    _ => None,
                }
            }
            _ => None,
        };
        let Some(copied) = copied else {
            cx.fail("tir-layout", "a block that rewrites a layout copies element by element, and does nothing else");
            return Some(id);
        };
        self.becomes.push(copied);
        let body = cx.store.no_op();
        let block = cx.store.add_prim_block(Block { body, reads: [].into(), writes: [].into(), ..old });
        Some(cx.store.rebuild_stmt(new, Stmt::Block(block)))
    }
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{error, unchanged};

    #[test]
    fn blocks_without_the_annotation_stay() {
        unchanged(&SPEC.example_before.replace("True})", "False})"), "s_tir.RemoveWeightLayoutRewriteBlock()");
    }

    #[test]
    fn what_is_no_copy_is_refused() {
        let source = SPEC.example_before.replace("= W[vi]", "= W[vi] + T.float32(1.0)");
        assert!(error(&source, "s_tir.RemoveWeightLayoutRewriteBlock()").contains("element by element"));
    }
}
