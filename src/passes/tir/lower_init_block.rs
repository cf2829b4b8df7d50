//! LowerInitBlock: lowers the `init` of reductions to a branch for the first iteration.
//!
//! Source: `src/s_tir/transform/lower_init_block.cc`.

use super::block_of;
use crate::ir::{Block, ExprId, IterKind, IterVar, Kinds, Mentions, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, binary, rewrite_func};

/// TVM's `s_tir.transform.LowerInitBlock`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.LowerInitBlock",
    info_name: "s_tir.LowerInitBlock",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Makes branches of the initial values of reductions.",
    doc: explained(
        "The `T.init()` of a block is what it does when all its reduction variables are at their first value. The pass says \
so: what stands there comes before the body, under that condition. In a block without reduction variables there is nothing to \
ask, and it always runs.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def sum(A: T.Buffer((8, 4), \"float32\"), B: T.Buffer((8,), \"float32\")):
        # with T.sblock(\"root\"):
        for i, j in T.grid(8, 4):
            with T.sblock(\"B\"):
                vi, vj = T.axis.remap(\"SR\", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi])
                with T.init():
                    B[vi] = T.float32(0.0)
                B[vi] = B[vi] + A[vi, vj]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def sum(A: T.Buffer((8, 4), \"float32\"), B: T.Buffer((8,), \"float32\")):
        # with T.sblock(\"root\"):
        for i, j in T.grid(8, 4):
            with T.sblock(\"B\"):
                vi, vj = T.axis.remap(\"SR\", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi])
                if vj == 0:
                    B[vi] = T.float32(0.0)
                B[vi] = B[vi] + A[vi, vj]
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut InitLower).map(Some)
}

struct InitLower;

impl StmtMutator for InitLower {
    fn rule(&self) -> &'static str {
        "init lowered"
    }

    fn needs(&self) -> Option<Kinds> {
        Some(Kinds::INIT)
    }

    fn looks_for(&self) -> Mentions {
        Mentions::NONE
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let block = block_of(cx.store, id)?;
        let init = block.init?;
        let body = cx.visit(self, block.body);
        let init = guarded(cx.store, init, &block.iters);
        let body = cx.store.flat_seq(None, &[init, body]);
        let block = cx.store.add_prim_block(Block { init: None, body, ..(*block).clone() });
        Some(cx.store.add_stmt(Stmt::Block(block)))
    }
}

/// Makes a statement that runs when all variables of the reduction are at their first value.
fn guarded(store: &mut Store, init: StmtId, iters: &[IterVar]) -> StmtId {
    let mut cond: Option<PrimId> = None;
    for iter in iters.iter().filter(|iter| iter.kind == IterKind::Reduce) {
        let var = store.prim(PrimExpr::Var(iter.var));
        let first = binary(store, PrimOp::Eq, var, iter.min);
        cond = Some(cond.map_or(first, |cond| binary(store, PrimOp::And, cond, first)));
    }
    match cond {
        Some(cond) => store.add_stmt(Stmt::If { cond, then: init, other: None }),
        None => init,
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, unchanged};

    const TWO: &str = "\
@T.prim_func(private=True, s_tir=True)
def f(A: T.Buffer((8, 4, 2), \"float32\"), B: T.Buffer((8,), \"float32\")):
    for i, j, k in T.grid(8, 4, 2):
        with T.sblock(\"B\"):
            vi, vj, vk = T.axis.remap(\"SRR\", [i, j, k])
            T.reads(A[vi, vj, vk])
            T.writes(B[vi])
            with T.init():
                B[vi] = T.float32(0.0)
            B[vi] = B[vi] + A[vi, vj, vk]
";

    #[test]
    fn all_variables_of_the_reduction_are_asked() {
        let text = after(TWO, "s_tir.LowerInitBlock()");
        assert!(text.contains("if vj == 0 and vk == 0:\n"), "{text}");
        assert!(!text.contains("T.init()"), "{text}");
    }

    #[test]
    fn without_a_reduction_it_always_runs() {
        let spatial = TWO.replace("SRR", "SSS");
        let text = after(&spatial, "s_tir.LowerInitBlock()");
        assert!(!text.contains("if ") && text.contains("B[vi] = T.float32(0.0)\n"), "{text}");
    }

    #[test]
    fn a_block_without_init_stays() {
        unchanged(
            &TWO.replace("            with T.init():\n                B[vi] = T.float32(0.0)\n", ""),
            "s_tir.LowerInitBlock()",
        );
    }
}
