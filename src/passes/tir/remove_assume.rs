//! RemoveAssume: removes assumptions, which are hints to other passes only.
//!
//! Source: `src/tirx/transform/remove_assume.cc`.

use crate::ir::{ExprId, Module, PrimExpr, Stmt, StmtId};
use crate::pass::spec::{Inner, Part};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, rewrite_func};

/// TVM's `tirx.transform.RemoveAssume`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.RemoveAssume",
    info_name: "tirx.RemoveAssume",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Removes what is assumed, and what does nothing then.",
    doc: explained(
        "`T.assume(...)` tells passes what holds without being checked. When they have run, it goes, and RemoveNoOp takes away \
the loops and branches that stood around it alone.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"int32\")):
        for i in range(16):
            T.assume(A[i] < 20)
        A[0] = 1
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"int32\")):
        A[0] = 1
",
    ),
    run: Run::Sequential(parts),
};

fn parts(_: &Args) -> Vec<Part> {
    vec![Part::Inner(&INTERNAL), Part::call("tirx.RemoveNoOp()")]
}

static INTERNAL: Inner = Inner { info_name: "tirx.RemoveAssumeInternal", opt_level: 0, run: Run::PrimFunc(run) };

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Remove).map(Some)
}

struct Remove;

impl StmtMutator for Remove {
    fn rule(&self) -> &'static str {
        "assumption removed"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::Evaluate(value) = *cx.store.stmt(id) else { return None };
        let is = matches!(cx.store.prim_of_id(value), PrimExpr::Call { op, .. } if cx.store.str(*op) == "assume");
        is.then(|| cx.store.no_op())
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, unchanged};

    #[test]
    fn a_loop_around_an_assumption_alone_goes() {
        let source = "@T.prim_func(private=True)\ndef f(A: T.Buffer((16,), \"int32\")):\n    for i in range(16):\n        T.assume(A[i] == 0)\n        A[i] = 2\n";
        let text = after(source, "tir.RemoveAssume()");
        assert!(!text.contains("assume") && text.contains("A[i] = 2"), "{text}");
    }

    #[test]
    fn other_calls_stay() {
        unchanged(
            "@T.prim_func(private=True)\ndef f(A: T.Buffer((16,), \"int32\")):\n    T.evaluate(T.call_extern(\"int32\", \"f\", A[0]))\n",
            "tir.RemoveAssume()",
        );
    }
}
