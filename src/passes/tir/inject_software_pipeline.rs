//! InjectSoftwarePipeline: rounds of a loop overlap.
//!
//! Source: `src/s_tir/transform/inject_software_pipeline.cc`. Only programs that have nothing for the pass go through; see its documentation.

use super::refusing::{Refusal, refuse};
use crate::ir::{ExprId, Module, Stmt};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run};

/// TVM's `s_tir.transform.InjectSoftwarePipeline`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.InjectSoftwarePipeline",
    info_name: "s_tir.InjectSoftwarePipeline",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Overlaps the rounds of a loop.",
    doc: "Loops with the annotations `software_pipeline_stage` and `software_pipeline_order` become a prologue, a body in which the \
stages of several rounds run side by side, and an epilogue. **That is not here yet**: a program with such a loop is refused, any \
other stays as it is, as with TVM. One annotation without the other is an error in both.",
    example_before: "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), \"float32\")):
        for i in range(16):
            A[i] = T.float32(0.0)
",
    example_after: "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), \"float32\")):
        for i in range(16):
            A[i] = T.float32(0.0)
",
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    refuse(cx.store, func, "InjectSoftwarePipeline", |store, stmt, _| {
        let Stmt::For(head, _) = stmt else { return None };
        let has = |key| store.attr(head.annotations, key).is_some();
        match (has("software_pipeline_stage"), has("software_pipeline_order")) {
            (true, true) => Some(Refusal::Missing("a software pipeline")),
            (true, false) => Some(Refusal::Wrong("Order of the software pipeline is not defined.")),
            (false, true) => Some(Refusal::Wrong("Stage of the software pipeline is not defined.")),
            (false, false) => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{error, unchanged};

    #[test]
    fn a_program_without_work_for_it_stays() {
        unchanged(SPEC.example_before, "s_tir.InjectSoftwarePipeline()");
    }

    #[test]
    fn what_it_cannot_do_yet_is_refused() {
        let with =
            |annotations: &str| SPEC.example_before.replace("range(16)", &format!("T.serial(16, annotations={{{annotations}}})"));
        let stage = "\"software_pipeline_stage\": [0, 1]";
        let both = format!("{stage}, \"software_pipeline_order\": [0, 1]");
        assert!(error(&with(&both), "s_tir.InjectSoftwarePipeline()").ends_with("a software pipeline"));
        assert_eq!(error(&with(stage), "s_tir.InjectSoftwarePipeline()"), "Order of the software pipeline is not defined.");
    }
}
