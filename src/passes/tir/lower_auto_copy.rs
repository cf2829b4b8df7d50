//! LowerAutoCopy: copies between memories are scheduled by themselves.
//!
//! Source: `src/s_tir/transform/memhammer_lower_auto_copy.cc`. Only programs that have nothing for the pass go through; see its documentation.

use super::refusing::{Refusal, refuse};
use crate::ir::{ExprId, Module, Stmt};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `s_tir.transform.LowerAutoCopy`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.LowerAutoCopy",
    info_name: "s_tir.LowerAutoCopy",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Schedules copies between memories.",
    doc: explained(
        "A block with the annotation `auto_copy` copies from one memory to another, and the pass finds loops for it: coalesced, \
vectorised, through registers or tensor cores. **That is not here yet**: a program with such a block is refused, any other stays as \
it is, as with TVM.",
    ),
    example_before: explained(
        "\
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
    ),
    example_after: explained(
        "\
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
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    refuse(cx.store, func, "LowerAutoCopy", |store, stmt, _| {
        let Stmt::Block(block) = stmt else { return None };
        let marked = store.attr_int(store.prim_block(*block).annotations, "auto_copy").is_some_and(|mark| mark != 0);
        marked.then_some(Refusal::Missing("a block that copies (`auto_copy`)"))
    })
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{error, unchanged};

    #[test]
    fn a_program_without_work_for_it_stays() {
        unchanged(SPEC.example_before, "s_tir.LowerAutoCopy()");
    }

    #[test]
    fn what_it_cannot_do_yet_is_refused() {
        let marked = SPEC
            .example_before
            .replace("                B[v] =", "                T.sblock_attr({\"auto_copy\": True})\n                B[v] =");
        assert!(error(&marked, "s_tir.LowerAutoCopy()").ends_with("a block that copies (`auto_copy`)"));
    }
}
