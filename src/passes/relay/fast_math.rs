//! FastMath: faster, less exact versions of some functions.
//!
//! `exp`, `erf`, `tanh` and `nn.softmax` become `fast_exp`, `fast_erf`, `fast_tanh` and `nn.fast_softmax`.
//! All other operators stay.
//!
//! Source: `src/relay/transforms/fast_math.cc`.

use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{ExprId, Module, Store};
use crate::ops::build::{arg, call, call_attrs, op_name};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Replaces `exp`, `erf`, `tanh` and `nn.softmax` by their fast versions.
pub static SPEC: PassSpec = PassSpec {
    name: "FastMath",
    info_name: "FastMath",
    dialects: crate::pass::spec::RELAY,
    opt_level: 4,
    required: &["InferType"],
    params: &[],
    config: &[],
    summary: "Replaces exp, erf, tanh and softmax by faster approximations.",
    doc: explained(
        "`exp`, `erf`, `tanh` and `nn.softmax` become `fast_exp`, `fast_erf`, `fast_tanh` and \
`nn.fast_softmax`, which are polynomial approximations: faster, and not exact. It is the only pass of \
the pipeline that changes results, which is why only opt level 4 has it.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(1, 16), float32]) {
  %0 = exp(%x);
  nn.softmax(%0)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 16), float32]) -> Tensor[(1, 16), float32] {
  %0 = fast_exp(%x);
  nn.fast_softmax(%0)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    Ok(rewrite(cx.store, function, &mut Faster))
}

struct Faster;

impl ExprMutator for Faster {
    fn rule(&self) -> &'static str {
        "exact function to fast approximation"
    }

    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        let fast = match op_name(store, post) {
            "exp" => "fast_exp",
            "erf" => "fast_erf",
            "tanh" => "fast_tanh",
            "nn.softmax" => {
                let attrs = store.call(post).and_then(|call| call.attrs);
                let data = arg(store, post, 0);
                return call_attrs(store, "nn.fast_softmax", &[data], attrs);
            }
            _ => return post,
        };
        let data = arg(store, post, 0);
        call(store, fast, &[data])
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, unchanged};

    #[test]
    fn erf_and_tanh_are_approximated_too() {
        check(
            "FastMath()",
            "def @main(%x: Tensor[(4), float32]) { %0 = erf(%x); tanh(%0) }",
            "def @main(%x: Tensor[(4), float32]) { %0 = fast_erf(%x); fast_tanh(%0) }",
        );
    }

    #[test]
    fn the_axis_of_a_softmax_is_kept() {
        check(
            "FastMath()",
            "def @main(%x: Tensor[(4, 2), float32]) { nn.softmax(%x, axis=0) }",
            "def @main(%x: Tensor[(4, 2), float32]) { nn.fast_softmax(%x, axis=0) }",
        );
    }

    #[test]
    fn exact_operators_without_an_approximation_stay() {
        unchanged("FastMath()", "def @main(%x: Tensor[(4), float32]) { %0 = log(%x); sigmoid(%0) }");
    }
}
