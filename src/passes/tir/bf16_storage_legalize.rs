//! BF16StorageLegalize: bfloat16 in memory become the numbers that their bits are.
//!
//! Source: `src/tirx/transform/unsupported_dtype_legalize.cc`.

use super::small_floats::{Small, storage};
use crate::ir::{ExprId, Module};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `tirx.transform.BF16StorageLegalize`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.BF16StorageLegalize",
    info_name: "tirx.BF16StorageLegalize",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Stores bfloat16 as numbers.",
    doc: explained(
        "Buffers and pointers of bfloat16 become those of `uint16`, and reinterpreting such a number is left out where it \
is one already. Runs after BF16ComputeLegalize and after MakePackedAPI: a buffer as a parameter is refused. Functions for CUDA \
devices of `sm_80` and later stay.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(p: T.handle(\"bfloat16\", \"global\"), q: T.handle(\"uint16\", \"global\")):
        A = T.decl_buffer((16,), \"bfloat16\", data=p)
        B = T.decl_buffer((16,), \"uint16\", data=q)
        for i in range(16):
            B[i] = T.reinterpret(\"uint16\", A[i])
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(p: T.handle(\"uint16\", \"global\"), q: T.handle(\"uint16\", \"global\")):
        A = T.decl_buffer((16,), \"uint16\", data=p)
        B = T.decl_buffer((16,), \"uint16\", data=q)
        for i in range(16):
            B[i] = A[i]
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    if Small::Bfloat16.is_native(cx.store, func) {
        return Ok(Some(func));
    }
    storage::legalize(cx.store, func, Small::Bfloat16).map(Some)
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    const CALL: &str = "tir.BF16StorageLegalize()";

    #[test]
    fn what_is_stored_is_a_number() {
        let source = "@T.prim_func(private=True, s_tir=True)\ndef f(p: T.handle(\"bfloat16\", \"global\"), n: T.uint16):\n    A = T.decl_buffer((16,), \"bfloat16\", data=p)\n    A[0] = T.reinterpret(\"bfloat16\", n)\n";
        let text = after(source, CALL);
        assert!(text.contains("A[0] = n") && text.contains("p: T.handle(\"uint16\", \"global\")"), "{text}");
    }

    #[test]
    fn other_memory_stays() {
        unchanged(
            "@T.prim_func(private=True)\ndef f(n: T.int32):\n    A = T.alloc_buffer((16,))\n    A[n] = T.float32(1.0)\n",
            CALL,
        );
    }

    #[test]
    fn a_parameter_must_not_be_a_buffer() {
        let source = "@T.prim_func(private=True)\ndef f(A: T.Buffer((16,), \"bfloat16\")):\n    A[0] = A[1]\n";
        assert!(error(source, CALL).contains("MakePackedAPI"));
    }
}
