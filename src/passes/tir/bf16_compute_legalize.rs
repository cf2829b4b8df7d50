//! BF16ComputeLegalize: computes operations on bfloat16 in float32.
//!
//! Source: `src/tirx/transform/unsupported_dtype_legalize.cc`.

use super::small_floats::{Small, compute};
use crate::ir::{DType, ExprId, Module};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `tirx.transform.BF16ComputeLegalize`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.BF16ComputeLegalize",
    info_name: "tirx.BF16ComputeLegalize",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Computes with float32 instead of bfloat16.",
    doc: explained(
        "What is read from memory as bfloat16 becomes float32, by its bits, before something is computed with it, and is rounded \
to bfloat16 again where it is stored. Buffers that are allocated inside become float32, unless their pointers are used; those \
of parameters stay. Functions for CUDA devices of `sm_80` and later stay, since these have bfloat16. As in TVM, `T.let` \
variables of that type are refused.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), \"bfloat16\"), B: T.Buffer((16,), \"float32\")):
        for i in range(16):
            B[i] = T.exp(T.Cast(\"float32\", A[i]))
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), \"bfloat16\"), B: T.Buffer((16,), \"float32\")):
        for i in range(16):
            B[i] = T.exp(T.reinterpret(\"float32\", T.Cast(\"uint32\", T.reinterpret(\"uint16\", A[i])) << T.uint32(16)))
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    if Small::Bfloat16.is_done(cx.store, func) {
        return Ok(Some(func));
    }
    compute::legalize(cx.store, func, Small::Bfloat16, DType::F32).map(Some)
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    fn source(body: &str) -> String {
        let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
        format!(
            "@T.prim_func(private=True, s_tir=True)\ndef f(A: T.Buffer((64,), \"bfloat16\"), B: T.Buffer((64,), \"bfloat16\"), n: T.int32):\n{body}"
        )
    }

    const CALL: &str = "tir.BF16ComputeLegalize()";
    const LOADED: &str = "T.reinterpret(\"float32\", T.Cast(\"uint32\", T.reinterpret(\"uint16\", A[0])) << T.uint32(16))";

    #[test]
    fn results_are_rounded_where_they_are_stored() {
        let text = after(&source("B[0] = T.exp(A[0])"), CALL);
        let sum = format!("T.reinterpret(\"uint32\", T.exp({LOADED}))");
        let wanted = format!(
            "B[0] = T.reinterpret(\"bfloat16\", T.Cast(\"uint16\", {sum} + (({sum} >> T.uint32(16) & T.uint32(1)) + T.uint32(32767)) >> T.uint32(16)))"
        );
        assert!(text.contains(&wanted), "{text}");
    }

    #[test]
    fn buffers_inside_become_wider_unless_their_pointers_are_used() {
        let text = after(&source("D = T.alloc_buffer((4,), \"bfloat16\")\nD[0] = A[0]\nD[1] = T.bfloat16(2)"), CALL);
        assert!(text.contains("D = T.alloc_buffer((4,))") && text.contains(&format!("D[0] = {LOADED}")), "{text}");
        assert!(text.contains("D[1] = T.float32(2.0)"), "{text}");
        unchanged(
            &source("D = T.alloc_buffer((4,), \"bfloat16\")\nD[0] = A[0]\nT.evaluate(T.call_extern(\"int32\", \"f\", D.data))"),
            CALL,
        );
    }

    #[test]
    fn what_is_only_moved_stays() {
        unchanged(&source("B[n] = A[0]\nB[4] = T.reinterpret(\"bfloat16\", T.uint16(3))"), CALL);
    }

    #[test]
    fn a_variable_is_refused() {
        assert!(error(&source("x: T.let[T.bfloat16] = A[0]\nB[0] = x"), CALL).contains("bfloat16"));
    }
}
