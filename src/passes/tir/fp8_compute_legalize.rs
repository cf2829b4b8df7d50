//! FP8ComputeLegalize: computes operations on floats of 8 bits in wider ones.
//!
//! Source: `src/tirx/transform/unsupported_dtype_legalize.cc`.

use super::small_floats::{Small, compute};
use crate::diag::Diagnostic;
use crate::ir::{DType, ExprId, Module};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `tirx.transform.FP8ComputeLegalize`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.FP8ComputeLegalize",
    info_name: "tirx.FP8ComputeLegalize",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[Param { name: "promote_dtype", default: "\"float32\"", doc: "What is computed with: `float32` or `float16`." }],
    config: &[],
    summary: "Computes with wider floats instead of those of 8 bits.",
    doc: explained("What is read from memory as a float of 8 bits becomes one of `promote_dtype`, by its bits, before something is computed \
with it, and is rounded again where it is stored. Buffers that are allocated inside become wider, unless their pointers are \
used; those of parameters stay. Functions for CUDA devices of `sm_89` and later stay, since these have such floats. As in \
TVM, `T.let` variables of such types are refused."),
    example_before: explained("\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), \"float8_e5m2\"), B: T.Buffer((16,), \"float32\")):
        for i in range(16):
            B[i] = T.Cast(\"float32\", A[i])
"),
    example_after: explained("\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), \"float8_e5m2\"), B: T.Buffer((16,), \"float32\")):
        for i in range(16):
            B[i] = T.reinterpret(\"float32\", T.Cast(\"uint32\", T.reinterpret(\"uint8\", A[i])) << T.uint32(21) & T.uint32(8388607) | T.Cast(\"uint32\", (T.reinterpret(\"uint8\", A[i]) << T.uint8(1) >> T.uint8(3)) + T.uint8(112)) << T.uint32(23) | T.Cast(\"uint32\", T.reinterpret(\"uint8\", A[i]) >> T.uint8(7)) << T.uint32(31))
"),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, args: &Args) -> Result<Option<ExprId>, PassError> {
    if Small::Float8.is_done(cx.store, func) {
        return Ok(Some(func));
    }
    let wide = args.str("promote_dtype").and_then(DType::parse);
    let Some(wide) = wide.filter(|wide| [DType::F32, DType::F16].contains(wide)) else {
        return Err(vec![Diagnostic::error("pass-argument", "promote_dtype is \"float32\" or \"float16\"", None)]);
    };
    compute::legalize(cx.store, func, Small::Float8, wide).map(Some)
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    fn source(body: &str) -> String {
        format!(
            "@T.prim_func(private=True, s_tir=True)\ndef f(A: T.Buffer((64,), \"float8_e4m3fn\"), B: T.Buffer((64,), \"float8_e4m3fn\")):\n    {body}\n"
        )
    }

    #[test]
    fn a_narrower_type_may_be_computed_with() {
        let text = after(&source("B[0] = A[0] + A[1]"), "tir.FP8ComputeLegalize(promote_dtype=\"float16\")");
        assert!(text.contains("T.reinterpret(\"float16\"") && text.contains("B[0] = T.reinterpret(\"float8_e4m3fn\""), "{text}");
    }

    #[test]
    fn what_is_only_moved_stays() {
        unchanged(&source("B[0] = A[1]"), "tir.FP8ComputeLegalize()");
    }

    #[test]
    fn another_type_is_refused() {
        assert!(error(&source("B[0] = A[1]"), "tir.FP8ComputeLegalize(\"int8\")").contains("promote_dtype"));
    }
}
