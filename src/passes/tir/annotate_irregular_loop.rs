//! AnnotateIrregularLoop: loops that are left early are marked.
//!
//! Source: `src/s_tir/transform/annotate_irregular_loop.cc`.

use crate::ir::{AttrValue, ExprId, For, ForKind, Kinds, Module, PrimExpr, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, rewrite_func};

/// TVM's `s_tir.transform.AnnotateIrregularLoop`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.AnnotateIrregularLoop",
    info_name: "s_tir.AnnotateIrregularLoop",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Marks loops with a `break` or a `continue`.",
    doc: explained(
        "A loop around `T.break_loop()` or `T.continue_loop()` gets the annotation `irregular_loop_mark`, so that later passes \
do not take it apart. Only the innermost loop around a jump is marked; a `while` is not. It must be a serial loop that nobody \
asked to unroll, to partition or to pipeline; otherwise the pass fails.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def clip(A: T.Buffer((10,), \"int32\")):
        for i in range(10):
            if A[i] < 0:
                T.continue_loop()
            A[i] = A[i] * 2
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def clip(A: T.Buffer((10,), \"int32\")):
        for i in T.serial(10, annotations={\"irregular_loop_mark\": 1}):
            if A[i] < 0:
                T.continue_loop()
            A[i] = A[i] * 2
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Annotate { jumps: false }).map(Some)
}

/// Annotations that a loop with a jump must not have.
const INVALID: &[&str] =
    &["pragma_auto_unroll_max_step", "pragma_unroll_explicit", "pragma_loop_partition_hint", "software_pipeline_stage"];

struct Annotate {
    /// True if the innermost loop around was left early.
    jumps: bool,
}

impl StmtMutator for Annotate {
    fn rule(&self) -> &'static str {
        "irregular loop marked"
    }

    fn needs(&self) -> Option<Kinds> {
        Some(Kinds::JUMP)
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id) {
            Stmt::For(..) => Some(self.inside_of_loop(cx, id)),
            Stmt::While { .. } => {
                let outer = std::mem::replace(&mut self.jumps, false);
                let new = cx.descend(self, id);
                self.jumps = outer;
                Some(new)
            }
            Stmt::Break | Stmt::Continue => {
                self.jumps = true;
                None
            }
            Stmt::Evaluate(_) => {
                self.jumps |= is_jump(cx.store, id);
                None
            }
            _ => None,
        }
    }
}

impl Annotate {
    fn inside_of_loop(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> StmtId {
        let outer = std::mem::replace(&mut self.jumps, false);
        let mut new = cx.descend(self, id);
        if let (true, Stmt::For(head, body)) = (self.jumps, cx.store.stmt(new).clone()) {
            let name = cx.store.str(cx.store.symbol(head.var).name).to_owned();
            if head.kind != ForKind::Serial {
                cx.fail("tir-irregular-loop", format!("Loop kind {} is invalid for irregular loop {name}", head.kind.word()));
            }
            for key in INVALID.iter().filter(|key| cx.store.attr(head.annotations, key).is_some()).collect::<Vec<_>>() {
                cx.fail("tir-irregular-loop", format!("Annotation `{key}` is invalid for irregular loop {name}"));
            }
            let annotations =
                Some(cx.store.with_attr(head.annotations, "irregular_loop_mark", AttrValue::Int { value: 1, bits: 64 }));
            new = cx.store.add_stmt(Stmt::For(For { annotations, ..head }, body));
        }
        self.jumps = outer;
        new
    }
}

/// True if a statement leaves the loop or its iteration.
fn is_jump(store: &Store, id: StmtId) -> bool {
    let Stmt::Evaluate(value) = *store.stmt(id) else { return false };
    let PrimExpr::Call { op, .. } = store.prim_of_id(value) else { return false };
    matches!(store.str(*op), "break_loop" | "continue_loop")
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    const NESTED: &str = "\
@T.prim_func(private=True)
def f(A: T.Buffer((4, 8), \"int32\")):
    for i in range(4):
        for j in range(8):
            if A[i, j] < 0:
                T.break_loop()
            A[i, j] = 0
";

    #[test]
    fn only_the_innermost_loop_around_is_marked() {
        let text = after(NESTED, "s_tir.AnnotateIrregularLoop()");
        assert!(text.contains("for i in range(4):") && text.contains("for j in T.serial(8, annotations={"), "{text}");
    }

    #[test]
    fn a_loop_without_a_jump_stays() {
        unchanged(&NESTED.replace("T.break_loop()", "A[i, j] = 1"), "s_tir.AnnotateIrregularLoop()");
    }

    #[test]
    fn a_jump_out_of_a_parallel_loop_is_refused() {
        let error = error(&NESTED.replace("range(8)", "T.parallel(8)"), "s_tir.AnnotateIrregularLoop()");
        assert_eq!(error, "Loop kind parallel is invalid for irregular loop j");
    }
}
