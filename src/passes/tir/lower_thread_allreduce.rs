//! LowerThreadAllreduce: reductions over threads become exchanges.
//!
//! Source: `src/s_tir/transform/lower_thread_allreduce.cc`. Only programs that have nothing for the pass go through; see its documentation.

use super::refusing::{Refusal, refuse};
use crate::ir::{ExprId, Module, PrimExpr, PrimId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run};

/// TVM's `s_tir.transform.LowerThreadAllreduce`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.LowerThreadAllreduce",
    info_name: "s_tir.LowerThreadAllreduce",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Exchanges values between threads to reduce them.",
    doc: "`T.tvm_thread_allreduce` becomes exchanges between the threads of a warp, or steps through shared memory with barriers. **That is \
not here yet**: a program with such a call is refused, any other stays as it is, as with TVM.",
    example_before: "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((32,), \"float32\")):
        tx = T.launch_thread(\"threadIdx.x\", 32)
        A[tx] = T.float32(0.0)
",
    example_after: "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((32,), \"float32\")):
        tx = T.launch_thread(\"threadIdx.x\", 32)
        A[tx] = T.float32(0.0)
",
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    refuse(cx.store, func, "LowerThreadAllreduce", |store, stmt, _| {
        let mut found = false;
        store.for_each_prim_of(stmt, |root| found |= reduces(store, root));
        found.then_some(Refusal::Missing("a reduction over threads (`T.tvm_thread_allreduce`)"))
    })
}

fn reduces(store: &Store, root: PrimId) -> bool {
    let mut found = false;
    store.for_each_prim(root, &mut |_, part| {
        found |= matches!(part, PrimExpr::Call { op, .. } if store.str(*op) == "tvm_thread_allreduce");
    });
    found
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{error, unchanged};

    #[test]
    fn a_program_without_work_for_it_stays() {
        unchanged(SPEC.example_before, "s_tir.LowerThreadAllreduce()");
    }

    #[test]
    fn what_it_cannot_do_yet_is_refused() {
        let source = SPEC
            .example_before
            .replace("A[tx] = T.float32(0.0)", "T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), A[0], tx)");
        assert!(error(&source, "s_tir.LowerThreadAllreduce()").contains("T.tvm_thread_allreduce"));
    }
}
