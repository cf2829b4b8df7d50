//! CanonicalizeOps: `nn.bias_add` as an addition.
//!
//! A bias is one-dimensional and added along an axis; here it gets the axes it lacks and an
//! ordinary broadcasting `add` does the rest, so that other passes need to know one operator less.
//!
//! Does nothing to any other operator, nor where the rank of the data is not known.
//!
//! Source: `src/relay/transforms/canonicalize_ops.cc`.

use super::support::{expand_to_axes, normalise_axis, tensor_type};
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{Expr, ExprId, Module, Store};
use crate::ops::build::{args, is_call};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Replaces `nn.bias_add` by `expand_dims` and `add`.
pub static SPEC: PassSpec = PassSpec {
    name: "CanonicalizeOps",
    info_name: "CanonicalizeOps",
    dialects: crate::pass::spec::RELAY,
    opt_level: 3,
    required: &["InferType"],
    params: &[],
    config: &[],
    summary: "Replaces nn.bias_add by expand_dims and add.",
    doc: explained(
        "`nn.bias_add` adds a vector along one axis. It becomes `add` over the bias with the axes that \
it lacks behind that axis (`expand_dims`, where any are lacking), which is one operator less for the \
passes that follow.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(1, 8, 4, 4), float32], %bias: Tensor[(8), float32]) {
  nn.bias_add(%x, %bias)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 8, 4, 4), float32], %bias: Tensor[(8), float32]) -> Tensor[(1, 8, 4, 4), float32] {
  %0 = expand_dims(%bias, axis=1, num_newaxis=2);
  add(%x, %0)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    Ok(rewrite(cx.store, function, &mut BiasAdd))
}

struct BiasAdd;

impl ExprMutator for BiasAdd {
    fn rule(&self) -> &'static str {
        "bias_add to expand_dims and add"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        if is_call(store, post, "nn.bias_add") { expand(store, pre, post).unwrap_or(post) } else { post }
    }
}

fn expand(store: &mut Store, pre: ExprId, post: ExprId) -> Option<ExprId> {
    let [data, bias] = args(store, post).try_into().ok()?;
    let rank = tensor_type(store, args(store, pre)[0])?.0.len();
    let attrs = store.call(post)?.attrs;
    let axis = normalise_axis(store.attr_int(attrs, "axis")?, rank)?;
    let bias = expand_to_axes(store, bias, rank, &[axis]);
    // The sum has the type that the call had, so passes that follow without InferType see it.
    let callee = store.add(Expr::Op(crate::ops::op("add")));
    let args = store.list(&[data, bias]);
    let ty = store.checked_type(pre);
    Some(store.add_typed(Expr::Call { callee, args, info: None }, ty))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, unchanged};

    #[test]
    fn a_bias_along_the_last_axis_is_added_without_new_axes() {
        check(
            "CanonicalizeOps()",
            "def @main(%x: Tensor[(1, 8), float32], %b: Tensor[(8), float32]) { nn.bias_add(%x, %b, axis=-1) }",
            "def @main(%x: Tensor[(1, 8), float32], %b: Tensor[(8), float32]) { add(%x, %b) }",
        );
    }

    #[test]
    fn other_operators_stay() {
        unchanged("CanonicalizeOps()", "def @main(%x: Tensor[(1, 8), float32]) { nn.relu(%x) }");
    }
}
