//! LowerCrossThreadReduction: threads add up together.
//!
//! Source: `src/s_tir/transform/lower_cross_thread_reduction.cc`. Only programs that have nothing for the pass go through; see its documentation.

use super::refusing::{Refusal, refuse};
use crate::ir::{ExprId, ForKind, IterKind, Module, PrimExpr, Stmt};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run};

/// TVM's `s_tir.transform.LowerCrossThreadReduction`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.LowerCrossThreadReduction",
    info_name: "s_tir.LowerCrossThreadReduction",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Lets threads of a block reduce together.",
    doc: "A reduction over a loop that is bound to threads becomes partial results of threads and one `T.tvm_thread_allreduce`. **That is \
not here yet**: a program with such a reduction is refused, any other stays as it is, as with TVM.",
    example_before: "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):
        # with T.sblock(\"root\"):
        for i in range(16):
            with T.sblock(\"B\"):
                v = T.axis.spatial(16, i)
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v]
",
    example_after: "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):
        # with T.sblock(\"root\"):
        for i in range(16):
            with T.sblock(\"B\"):
                v = T.axis.spatial(16, i)
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v]
",
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    refuse(cx.store, func, "LowerCrossThreadReduction", |store, stmt, around| {
        let Stmt::Block(block) = stmt else { return None };
        let block = store.prim_block(*block);
        block.init?;
        let mut found = false;
        for value in block.iters.iter().filter(|iter| iter.kind == IterKind::Reduce).filter_map(|iter| iter.value) {
            store.for_each_prim(value, &mut |_, part| {
                let PrimExpr::Var(var) = part else { return };
                found |= around.iter().any(|head| head.var == *var && matches!(head.kind, ForKind::Thread(_)));
            });
        }
        found.then_some(Refusal::Missing("a reduction over threads"))
    })
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{error, unchanged};

    #[test]
    fn a_program_without_work_for_it_stays() {
        unchanged(SPEC.example_before, "s_tir.LowerCrossThreadReduction()");
    }

    #[test]
    fn what_it_cannot_do_yet_is_refused() {
        let source = "\
@T.prim_func(private=True, s_tir=True)
def f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((1,), \"float32\")):
    for i in T.thread_binding(16, thread=\"threadIdx.x\"):
        with T.sblock(\"B\"):
            v = T.axis.reduce(16, i)
            T.reads(A[v])
            T.writes(B[0])
            with T.init():
                B[0] = T.float32(0.0)
            B[0] = B[0] + A[v]
";
        assert!(error(source, "s_tir.LowerCrossThreadReduction()").ends_with("a reduction over threads"));
        unchanged(
            &source.replace("T.thread_binding(16, thread=\"threadIdx.x\")", "range(16)"),
            "s_tir.LowerCrossThreadReduction()",
        );
    }
}
