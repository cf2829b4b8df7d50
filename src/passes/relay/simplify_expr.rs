//! SimplifyExpr: small rewrites of expressions, until none applies.
//!
//! The rules stand in [`simplify`](super::support::simplify), by theme, and are tried in TVM's order. A node inside a
//! match must have no other uses.
//!
//! TVM fails when a program needs more than four rounds; here that is a warning, and the program keeps the rewrites made so far.
//! TVM also fails where it rewrites `x + x` and a variable in `x` is an argument whose type the operator determines, as the
//! weight of `nn.dense`: its InferType replaces it by another variable, which has no binding. Here it is rewritten. That InferType
//! also copies `x`, so that it is computed twice where it has other users; here an `x` of more than 200 nodes is shared.
//!
//! Source: `src/relay/transforms/simplify_expr.cc`.

use super::support::simplify::{algebra, casts, layouts, like, run};
use crate::pass::{PassSpec, Run, explained};

/// Applies all rules of SimplifyExpr.
pub static SPEC: PassSpec = PassSpec {
    name: "SimplifyExpr",
    info_name: "SimplifyExpr",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &["InferType"],
    params: &[],
    config: &[],
    summary: "Applies small algebraic rewrites until none applies.",
    doc: explained(
        "In this order, round after round: `zeros_like` and its kin on known shapes become `zeros` and \
so on; `x + x` becomes `x * 2`; division by `sqrt` becomes multiplication by `rsqrt`; operations with a neutral \
element go; reshapes, transpositions and casts that follow one another are merged or dropped; a tensor of equal \
elements that is broadcast becomes a scalar; `(x + c1) * c2` becomes `x * c2 + c1 * c2`; constants of two sums or \
products in a row are combined; `argmax`, `argmin` and `argsort` look through `qnn.dequantize`; casts and clips \
that change no value go; `a*x*x + b*x*y + c*y*y` becomes a product.\n\n\
Nothing is rewritten when an intermediate value is also used elsewhere. After four rounds the pass stops; TVM \
fails when a fifth is needed.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(2, 8), float32]) {
  %0 = reshape(%x, newshape=[4, 4]);
  %1 = reshape(%0, newshape=[16]);
  %2 = add(%1, 0f);
  %3 = multiply(%2, 2f);
  multiply(%3, 3f)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(2, 8), float32]) -> Tensor[(16), float32] {
  %0 = reshape(%x, newshape=[16]);
  multiply(%0, 6f)
}
",
    ),
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

#[cfg(test)]
mod tests {
    use super::super::testing::{check, read, run, unchanged};
    use crate::ir::Store;

    #[test]
    fn a_reshape_that_is_used_elsewhere_is_not_skipped() {
        unchanged(
            "SimplifyExpr()",
            "def @main(%x: Tensor[(2, 8), float32]) {
               %0 = reshape(%x, newshape=[4, 4]); %1 = reshape(%0, newshape=[16]); (%0, %1)
             }",
        );
    }

    /// TVM 0.19 gives this, as it infers the type of the product at once.
    #[test]
    fn what_is_added_to_itself_and_used_elsewhere_is_computed_twice() {
        check(
            "SimplifyExpr()",
            "def @main(%x: Tensor[(4), float32]) { %0 = nn.relu(%x); %1 = add(%0, %0); (%0, %1) }",
            "def @main(%x: Tensor[(4), float32]) { %0 = nn.relu(%x); %1 = nn.relu(%x); %2 = multiply(%0, 2f); (%1, %2) }",
        );
    }

    /// Each sum would copy all before it.
    #[test]
    fn copies_of_copies_do_not_grow_with_the_square_of_a_chain() {
        let nodes = |length: usize| {
            let lines: String = (1..length).map(|i| format!("%{i} = add(%{}, %{});\n", i - 1, i - 1)).collect();
            let mut store = Store::new();
            let program = format!("def @main(%x: Tensor[(2), float32]) {{ %0 = abs(%x);\n{lines}%{} }}", length - 1);
            let module = read(&mut store, &program);
            assert!(run(&mut store, module, "SimplifyExpr()").is_complete());
            store.add_tuple(&[]).index()
        };
        let (short, long) = (nodes(1000), nodes(2000));
        assert!(long < 3 * short, "{short} and {long} nodes");
    }

    #[test]
    fn two_transpositions_are_one() {
        // Axis i of the result is axis second[i] of the middle, which is first[second[i]] of x.
        check(
            "SimplifyExpr()",
            "def @main(%x: Tensor[(2, 3, 4), float32]) {
               transpose(transpose(%x, axes=[2, 0, 1]), axes=[0, 2, 1])
             }",
            "def @main(%x: Tensor[(2, 3, 4), float32]) { transpose(%x, axes=[2, 1, 0]) }",
        );
    }

    #[test]
    fn a_transposition_and_its_inverse_vanish() {
        check(
            "SimplifyExpr()",
            "def @main(%x: Tensor[(2, 3, 4), float32]) {
               abs(transpose(transpose(%x, axes=[2, 0, 1]), axes=[1, 2, 0]))
             }",
            "def @main(%x: Tensor[(2, 3, 4), float32]) { abs(%x) }",
        );
    }

    #[test]
    fn a_cast_goes_only_when_the_one_before_it_widened() {
        let program = |middle: &str| {
            format!("def @main(%x: Tensor[(4), float32]) {{ cast(cast(%x, dtype=\"{middle}\"), dtype=\"float64\") }}")
        };
        unchanged("SimplifyExpr()", &program("float16"));
        check(
            "SimplifyExpr()",
            "def @main(%x: Tensor[(4), int8]) { cast(cast(%x, dtype=\"int32\"), dtype=\"float32\") }",
            "def @main(%x: Tensor[(4), int8]) { cast(%x, dtype=\"float32\") }",
        );
    }

    #[test]
    fn adding_zero_to_something_that_broadcasts_stays() {
        unchanged("SimplifyExpr()", "def @main(%x: Tensor[(1), float32]) { add(%x, zeros(shape=[4], dtype=\"float32\")) }");
    }

    #[test]
    fn a_square_of_a_sum_is_factored() {
        // 1 x x + 2 x y + 1 y y = (x + y) (x + y).
        check(
            "SimplifyExpr()",
            "def @main(%x: float32, %y: float32) {
               %0 = multiply(%x, %x);
               %1 = multiply(2f, multiply(%x, %y));
               %2 = multiply(%y, %y);
               add(add(%1, %0), %2)
             }",
            "def @main(%x: float32, %y: float32) {
               %0 = add(%x, %y);
               multiply(%0, %0)
             }",
        );
    }
}
