//! FastMathTransform: faster, less exact versions of some functions.
//!
//! Source: `python/tvm/relax/transform/fast_math.py`.

use super::calls::op_name;
use crate::build::{BlockMutator, Mutation, rewrite_module_by_name};
use crate::ir::{Expr, ExprId, Module, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::topi::{self, Legalized};

/// TVM's `relax.transform.FastMathTransform`.
pub static SPEC: PassSpec = PassSpec {
    name: "FastMathTransform",
    info_name: "FastMathTransform",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Replaces exp, erf, tanh and softmax by programs that approximate them.",
    doc: explained(
        "Calls of `R.exp`, `R.erf`, `R.tanh` and `R.nn.softmax` become calls of tensor programs that compute polynomials \
instead: faster, and not exact. There are polynomials for single precision, that of `erf` for half precision, too; other types get \
the function itself. Shapes and element types have to be known. TVM asks every call for the name of its operator, so functions that \
call other functions of the module or external ones are an error.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        y: R.Tensor((2,), dtype=\"float32\") = R.tanh(x)
        return y
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def fast_tanh(x: T.Buffer((T.int64(2),), \"float32\"), T_fast_tanh: T.Buffer((T.int64(2),), \"float32\")):
        T.func_attr({\"tirx.noalias\": True})
        # with T.sblock(\"root\"):
        T_minimum = T.sblock_alloc_buffer((T.int64(2),))
        T_maximum = T.sblock_alloc_buffer((T.int64(2),))
        for ax0 in range(T.int64(2)):
            with T.sblock(\"T_minimum\"):
                v_ax0 = T.axis.spatial(T.int64(2), ax0)
                T.reads(x[v_ax0])
                T.writes(T_minimum[v_ax0])
                T_minimum[v_ax0] = T.min(T.float32(9.0), x[v_ax0])
        for ax0 in range(T.int64(2)):
            with T.sblock(\"T_maximum\"):
                v_ax0 = T.axis.spatial(T.int64(2), ax0)
                T.reads(T_minimum[v_ax0])
                T.writes(T_maximum[v_ax0])
                T_maximum[v_ax0] = T.max(T.float32(-9.0), T_minimum[v_ax0])
        for ax0 in range(T.int64(2)):
            with T.sblock(\"T_fast_tanh\"):
                v_ax0 = T.axis.spatial(T.int64(2), ax0)
                T.reads(T_maximum[v_ax0])
                T.writes(T_fast_tanh[v_ax0])
                T_fast_tanh[v_ax0] = T_maximum[v_ax0] * (T_maximum[v_ax0] * T_maximum[v_ax0] * (T_maximum[v_ax0] * \
T_maximum[v_ax0] * (T_maximum[v_ax0] * T_maximum[v_ax0] * (T_maximum[v_ax0] * T_maximum[v_ax0] * (T_maximum[v_ax0] * \
T_maximum[v_ax0] * (T_maximum[v_ax0] * T_maximum[v_ax0] * T.float32(-2.76076847742355e-16) + \
T.float32(2.0001879048247699e-13)) + T.float32(-8.60467152213735e-11)) + T.float32(5.1222970903711401e-08)) + \
T.float32(1.4857223571797901e-05)) + T.float32(0.00063726192887543596)) + T.float32(0.0048935245589178597)) / \
(T_maximum[v_ax0] * T_maximum[v_ax0] * (T_maximum[v_ax0] * T_maximum[v_ax0] * (T_maximum[v_ax0] * T_maximum[v_ax0] * \
T.float32(1.1982583946670199e-06) + T.float32(0.000118534705686654)) + T.float32(0.0022684346324390002)) + \
T.float32(0.0048935251855438504))

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        cls = Module
        y = R.call_tir(cls.fast_tanh, (x,), out_ty=R.Tensor((2,), dtype=\"float32\"))
        return y
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    rewrite_module_by_name(cx.store, module, &mut Approximate)
}

struct Approximate;

impl BlockMutator for Approximate {
    fn rule(&self) -> &'static str {
        "exact function to a program that approximates it"
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, call: ExprId) -> ExprId {
        let Expr::Call { callee, .. } = store.expr(call) else { return call };
        let nameless = match store.expr(callee) {
            Expr::Global(_) => Some("GlobalVar"),
            Expr::Extern(_) => Some("ExternFunc"),
            _ => None,
        };
        let error = match nameless {
            Some(kind) => format!("AttributeError: '{kind}' object has no attribute 'name'"),
            None if !["exp", "erf", "tanh", "nn.softmax"].contains(&op_name(store, call)) => return call,
            None => match topi::approximate(store, &mut cx.builder, call) {
                Legalized::New(new) => return new,
                Legalized::Same => "emit_te now only supports Tensor that has ShapeExpr shape".to_owned(),
                Legalized::Error(message) => message,
            },
        };
        cx.builder.error("relax-fast-math", error, store.source_span(call));
        call
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn tensors_of_other_precision_get_the_function_itself() {
        let made = after(&super::SPEC.example_before.replace("float32", "float16"), "FastMathTransform()");
        assert!(made.contains("T_fast_tanh[v_ax0] = T.tanh(x[v_ax0])"), "{made}");
    }

    #[test]
    fn other_calls_stay() {
        let before = super::SPEC.example_before.replace("tanh", "sigmoid");
        assert!(after(&before, "FastMathTransform()").contains("R.sigmoid(x)"));
    }

    #[test]
    #[should_panic(expected = "emit_te now only supports Tensor that has ShapeExpr shape")]
    fn a_shape_that_is_not_known_is_refused() {
        after(&super::SPEC.example_before.replace("(2,), dtype=\"float32\"", "dtype=\"float32\", ndim=1"), "FastMathTransform()");
    }

    #[test]
    #[should_panic(expected = "'ExternFunc' object has no attribute 'name'")]
    fn a_call_of_an_external_function_is_refused() {
        let call = "R.call_packed(\"f\", x, ty_args=(R.Tensor((2,), dtype=\"float32\"),))";
        let before = super::SPEC.example_before.replace("R.tanh(x)", call).replace("@R.function", "@R.function(pure=False)");
        after(&before, "FastMathTransform()");
    }
}
