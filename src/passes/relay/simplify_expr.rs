//! SimplifyExpr: small rewrites of expressions, until none applies.
//!
//! The rules stand in [`simplify`](super::support::simplify), by theme, and are tried in TVM's order. A
//! node inside a match must not be used elsewhere.
//!
//! TVM fails when a program needs more than four rounds; here that is a warning and the program
//! stays as far as it came.
//!
//! Source: `src/relay/transforms/simplify_expr.cc`.

use super::support::simplify::{algebra, casts, layouts, like, run};
use crate::pass::{PassSpec, Run};

/// The pass.
pub static SPEC: PassSpec = PassSpec {
    name: "SimplifyExpr",
    info_name: "SimplifyExpr",
    opt_level: 0,
    required: &["InferType"],
    params: &[],
    config: &[],
    summary: "Applies small algebraic rewrites until none applies.",
    doc: "In this order, round after round: `zeros_like` and its kin on known shapes become `zeros` and \
so on; `x + x` becomes `x * 2`; division by `sqrt` becomes multiplication by `rsqrt`; operations with a neutral \
element go; reshapes, transpositions and casts that follow one another are merged or dropped; a tensor of equal \
elements that is broadcast becomes a scalar; `(x + c1) * c2` becomes `x * c2 + c1 * c2`; constants of two sums or \
products in a row are combined; `argmax`, `argmin` and `argsort` look through `qnn.dequantize`; casts and clips \
that change no value go; `a*x*x + b*x*y + c*y*y` becomes a product.\n\n\
Nothing is rewritten when an intermediate value is also used elsewhere. After four rounds the pass stops; TVM \
fails when a fifth is needed.",
    example_before: "\
def @main(%x: Tensor[(2, 8), float32]) {
  %0 = reshape(%x, newshape=[4, 4]);
  %1 = reshape(%0, newshape=[16]);
  %2 = add(%1, 0f);
  %3 = multiply(%2, 2f);
  multiply(%3, 3f)
}
",
    example_after: "\
def @main(%x: Tensor[(2, 8), float32]) -> Tensor[(16), float32] {
  %0 = reshape(%x, newshape=[16]);
  multiply(%0, 6f)
}
",
    run: Run::Function(|cx, module, function, _| {
        let rules = [
            &like::ZEROS_LIKE,
            &like::ONES_LIKE,
            &like::FULL_LIKE,
            &like::RESHAPE_LIKE,
            &like::COLLAPSE_SUM_LIKE,
            &like::BROADCAST_TO_LIKE,
            &like::CAST_LIKE,
            &algebra::ADD_SAME,
            &algebra::RSQRT,
            &algebra::IDENTITY,
            &layouts::RESHAPE,
            &layouts::TRANSPOSE,
            &layouts::NO_OP_TRANSPOSE,
            &casts::SAME_CAST,
            &casts::CONSECUTIVE_CAST,
            &algebra::FULL_ELEMENTWISE,
            &algebra::SWITCH_ADD_MULTIPLY,
            &algebra::ADJACENT,
            &algebra::DQ_ARGMAX,
            &algebra::DQ_ARGMIN,
            &algebra::DQ_ARGSORT,
            &casts::CLIP_AND_CASTS,
            &casts::CLIP_RULE,
            &algebra::BINOMIAL,
        ];
        run(cx, module, function, &rules)
    }),
};
