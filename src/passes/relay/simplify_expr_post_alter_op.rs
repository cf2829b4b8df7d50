//! SimplifyExprPostAlterOp: the rules of SimplifyExpr that clean up after layout changes.
//!
//! Applies six of the rules of [`simplify_expr`](super::simplify_expr), in the same manner.
//!
//! Source: `src/relay/transforms/simplify_expr.cc`.

use super::support::simplify::{algebra, casts, layouts, run};
use crate::pass::{PassSpec, Run, explained};

/// Applies the rules that clean up after layout changes.
pub static SPEC: PassSpec = PassSpec {
    name: "SimplifyExprPostAlterOp",
    info_name: "SimplifyExprPostAlterOp",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &["InferType"],
    params: &[],
    config: &[],
    summary: "The rules of SimplifyExpr that clean up after layout changes.",
    doc: explained(
        "Operations with a neutral element, reshapes that follow one another, and casts and clips that \
change no value: what changes of layout often leave behind.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(2, 8), float32]) {
  %0 = cast(%x, dtype=\"float32\");
  add(%0, 0f)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(2, 8), float32]) -> Tensor[(2, 8), float32] {
  %x
}
",
    ),
    run: Run::Function(|cx, module, function, _| {
        let rules = [
            &algebra::IDENTITY,
            &layouts::RESHAPE,
            &casts::SAME_CAST,
            &casts::CONSECUTIVE_CAST,
            &casts::CLIP_AND_CASTS,
            &casts::CLIP_RULE,
        ];
        run(cx, module, function, &rules)
    }),
};
