//! CanonicalizeLoop: every loop counts from zero by one.
//!
//! Source: `src/s_tir/transform/canonicalize_loop.cc`.

use crate::ir::{ExprId, For, Kinds, Module, PrimExpr, PrimOp, Stmt, StmtId, show_dim};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::arith::Analyzer;
use crate::tir::{Rewriting, StmtMutator, binary, math, rewrite_func};

/// TVM's `s_tir.transform.CanonicalizeLoop`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.CanonicalizeLoop",
    info_name: "s_tir.CanonicalizeLoop",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Lets every loop count from zero by one.",
    doc: explained(
        "Where a loop begins elsewhere or takes larger steps, its rounds are counted instead, and inside of it the variable is \
the round times the step plus the beginning. A step that may not be positive is refused. As in TVM, what a loop begins at and \
its number of rounds are put in place as they were written: they are not rewritten for variables of loops around.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((64,), \"float32\")):
        for i in range(4, 64, 8):
            A[i] = T.float32(0.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((64,), \"float32\")):
        for i in range(8):
            A[i * 8 + 4] = T.float32(0.0)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Canonicalize { analyzer: Analyzer::new() }).map(Some)
}

struct Canonicalize {
    analyzer: Analyzer,
}

impl StmtMutator for Canonicalize {
    fn rule(&self) -> &'static str {
        "loop counted from zero by one"
    }

    fn needs(&self) -> Option<Kinds> {
        Some(Kinds::SHIFTED_LOOP)
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::For(head, body) = cx.store.stmt(id).clone() else { return None };
        let step = head.step.filter(|step| cx.store.as_prim_int(*step) != Some(1));
        if step.is_none() && cx.store.as_prim_int(head.min) == Some(0) {
            return None;
        }
        let dtype = cx.store.symbol(head.var).dtype;
        let [zero, one] = [0, 1].map(|value| cx.store.prim_int(value, dtype));
        let step = step.unwrap_or(one);
        if !self.analyzer.can_prove_greater_equal(cx.store, step, 1) {
            let name = cx.store.str(cx.store.symbol(head.var).name).to_owned();
            let step = show_dim(cx.store, cx.store.dim_of_prim(step));
            cx.fail("tir-loop-step", format!("Loop step for {name} may not be positive: {step}"));
            return None;
        }
        let var = cx.store.prim(PrimExpr::Var(head.var));
        let scaled = binary(cx.store, PrimOp::Mul, var, step);
        let value = binary(cx.store, PrimOp::Add, scaled, head.min);
        cx.set_symbol(head.var, value);
        let body = cx.visit(self, body);
        cx.unset_symbol(head.var);
        let rounds = math::ceil_div(cx.store, head.extent, step);
        let extent = self.analyzer.simplify(cx.store, rounds);
        Some(cx.store.add_stmt(Stmt::For(For { min: zero, extent, step: None, ..head }, body)))
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    fn source(head: &str) -> String {
        format!(
            "@T.prim_func(private=True)\ndef f(A: T.Buffer((128,), \"float32\"), n: T.int32):\n    for i in {head}:\n        A[i] = T.float32(0.0)\n"
        )
    }

    #[test]
    fn rounds_that_do_not_fill_the_last_step_are_counted() {
        let text = after(&source("T.serial(2, 19, step=5)"), "s_tir.CanonicalizeLoop()");
        assert!(text.contains("for i in range(4):\n            A[i * 5 + 2]"), "{text}");
    }

    #[test]
    fn a_beginning_alone_is_an_offset() {
        let text = after(&source("T.parallel(n, n + 8)"), "s_tir.CanonicalizeLoop()");
        assert!(text.contains("for i in T.parallel(8):\n            A[i + n]"), "{text}");
    }

    #[test]
    fn a_loop_from_zero_by_one_stays() {
        unchanged(&source("T.serial(0, 16, step=1)"), "s_tir.CanonicalizeLoop()");
    }

    #[test]
    fn a_step_that_may_be_negative_is_refused() {
        let error = error(&source("T.serial(0, 16, step=n)"), "s_tir.CanonicalizeLoop()");
        assert_eq!(error, "Loop step for i may not be positive: n");
    }
}
