//! SkipAssert: assertions are left out.
//!
//! Source: `src/tirx/transform/skip_assert.cc`.

use crate::ir::{ExprId, Module, Stmt, StmtId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, rewrite_func};

/// TVM's `tirx.transform.SkipAssert`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.SkipAssert",
    info_name: "tirx.SkipAssert",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Leaves assertions out.",
    doc: explained("What an `assert` checks is taken for granted from then on: the statement goes, and nothing else changes."),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(n: T.int32, A: T.Buffer((8,), \"float32\")):
        assert n < 8, (\"RuntimeError\", [\"n is too large\"])
        A[n] = T.float32(1.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(n: T.int32, A: T.Buffer((8,), \"float32\")):
        A[n] = T.float32(1.0)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Skip).map(Some)
}

struct Skip;

impl StmtMutator for Skip {
    fn rule(&self) -> &'static str {
        "assertion left out"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        matches!(cx.store.stmt(id), Stmt::Assert { .. }).then(|| cx.store.no_op())
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, unchanged};

    const CHECKED: &str = "\
@T.prim_func(private=True)
def f(n: T.int32, A: T.Buffer((8,), \"float32\")):
    assert n < 8, (\"RuntimeError\", [\"n is too large\"])
    A[n] = T.float32(1.0)
";

    #[test]
    fn what_follows_stays() {
        let text = after(CHECKED, "tir.SkipAssert()");
        assert!(!text.contains("assert") && text.contains("A[n] = T.float32(1.0)"), "{text}");
    }

    #[test]
    fn an_assertion_alone_leaves_nothing() {
        let text = after(&CHECKED.replace("    A[n] = T.float32(1.0)\n", ""), "tir.SkipAssert()");
        assert!(text.contains("T.evaluate(0)"), "{text}");
    }

    #[test]
    fn without_assertions_nothing_changes() {
        unchanged(&CHECKED.replace("    assert n < 8, (\"RuntimeError\", [\"n is too large\"])\n", ""), "tir.SkipAssert()");
    }
}
