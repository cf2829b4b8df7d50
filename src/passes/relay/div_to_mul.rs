//! DivToMul: division by a constant as multiplication by its reciprocal.
//!
//! Does nothing to integer constants, whose reciprocals are lost to rounding, and to constants with a
//! zero.
//!
//! TVM inverts the first element only and leaves the others undefined; here all are inverted.
//!
//! Source: `src/relay/transforms/div_to_mul.cc`.

use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{DType, ExprId, Module, Store};
use crate::ops::build::{args, call, constant, elements, op_name, tensor};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Replaces divisions by float constants by multiplications with the reciprocal.
pub static SPEC: PassSpec = PassSpec {
    name: "DivToMul",
    info_name: "DivToMul",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &["InferType", "FoldConstant"],
    params: &[],
    config: &[],
    summary: "Replaces division by a constant by multiplication with its reciprocal.",
    doc: explained(
        "`x / c` becomes `x * (1 / c)` for a `float16`, `float32` or `float64` constant without zeros.\n\n\
In TVM this pass cannot run inside a `Sequential`: it requires FoldConstant, which has an argument that a \
required pass is not given.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) {
  divide(%x, 4f)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  multiply(%x, 0.25f)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    Ok(rewrite(cx.store, function, &mut Invert))
}

struct Invert;

impl ExprMutator for Invert {
    fn rule(&self) -> &'static str {
        "division to multiplication"
    }

    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        if op_name(store, post) == "divide" { invert(store, post).unwrap_or(post) } else { post }
    }
}

fn invert(store: &mut Store, post: ExprId) -> Option<ExprId> {
    let [lhs, rhs] = args(store, post).try_into().ok()?;
    let divisor = constant(store, rhs)?.clone();
    if ![DType::F16, DType::F32, DType::F64].contains(&divisor.dtype) {
        return None;
    }
    let values = elements(&divisor)?;
    if values.contains(&0.0) {
        return None;
    }
    let inverse: Vec<f64> = values.iter().map(|value| 1.0 / value).collect();
    let inverse = tensor(store, divisor.dtype, &divisor.shape, &inverse);
    Some(call(store, "multiply", &[lhs, inverse]))
}

#[cfg(test)]
mod tests {
    use super::super::testing::unchanged;

    #[test]
    fn integers_zeros_and_variables_stay() {
        unchanged("DivToMul()", "def @main(%x: int32) { divide(%x, 4) }");
        unchanged("DivToMul()", "def @main(%x: float32) { divide(%x, 0f) }");
        unchanged("DivToMul()", "def @main(%x: float32) { divide(1f, %x) }");
    }
}
