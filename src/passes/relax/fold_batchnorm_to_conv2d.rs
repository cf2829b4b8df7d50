//! FoldBatchnormToConv2D: folds a batch normalisation behind a convolution into its weights.
//!
//! For weights in the layout `IOHW`, TVM's rewrite calls a method that expressions do not have, and fails; here
//! such convolutions stay.
//!
//! Source: `python/tvm/relax/transform/fold_batch_norm_to_conv2d_for_inference.py`.

use super::calls::{self, call};
use super::pattern_rewriting::{CallRewriter, rewrite_bindings};
use crate::ir::{DType, Dim, Expr, ExprId, Extents, Module, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::passes::relax::grouping::is_primitive;
use crate::pattern::{Matches, Patterns};

/// TVM's `relax.transform.FoldBatchnormToConv2D`.
pub static SPEC: PassSpec = PassSpec {
    name: "FoldBatchnormToConv2D",
    info_name: "FoldBatchnormToConv2D",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Moves a batch normalisation into the weights of the convolution before it.",
    doc: explained(
        "The first result of `batch_norm(conv2d(x, w), ...)` is `conv2d(x, w * scale) + shift` when the weights and all four \
vectors are constants. *FoldConstant* then computes the new weights. Weights in the layout `OIHW` only. Functions with \
`Primitive` stay as they are.",
    ),
    example_before: "",
    example_after: "",
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    if is_primitive(cx.store, function) {
        return Ok(function);
    }
    let mut patterns = Patterns::new();
    let input = patterns.wildcard();
    let [weight, gamma, beta, mean, variance] = [(); 5].map(|()| patterns.constant());
    let conv = patterns.call_op("nn.conv2d", &[input, weight]);
    let norm = patterns.call_op("nn.batch_norm", &[conv, gamma, beta, mean, variance]);
    let pattern = patterns.item(norm, Some(0));
    let make = &mut |store: &mut Store, _: ExprId, matches: &Matches| {
        let [input, weight, gamma] = [input, weight, gamma].map(|pat| matches.get(pat));
        let [beta, mean, variance] = [beta, mean, variance].map(|pat| matches.get(pat));
        let conv = store.call(matches.get(conv)?)?;
        if store.attr_str(conv.attrs, "kernel_layout") != Some("OIHW") {
            return None;
        }
        let epsilon = store.attr_float(store.call(matches.get(norm)?)?.attrs, "epsilon")?;
        let (gamma, beta) = (gamma?, beta?);
        let epsilon = store.prim_float(epsilon, DType::F32);
        let epsilon = calls::prim(store, epsilon);
        let variance = call(store, "add", &[variance?, epsilon]);
        let deviation = call(store, "sqrt", &[variance]);
        let scale = call(store, "divide", &[gamma, deviation]);
        let moved = call(store, "multiply", &[mean?, scale]);
        let shift = call(store, "subtract", &[beta, moved]);
        let one = Dim::Int { value: 1, bits: 64 };
        let shape = [length(store, gamma)?, one, one, one];
        let scale = reshape(store, scale, &shape);
        let weight = call(store, "multiply", &[weight?, scale]);
        let shape = [one, length(store, beta)?, one, one];
        let shift = reshape(store, shift, &shape);
        let args = store.list(&[input?, weight]);
        let conv = store.add(Expr::Call { callee: conv.callee, args, info: conv.info });
        Some(call(store, "add", &[conv, shift]))
    };
    let mut rewriter = CallRewriter::new("batch normalisation in the weights", &patterns, pattern, make);
    rewrite_bindings(cx.store, module, function, &mut rewriter)
}

fn length(store: &Store, vector: ExprId) -> Option<Dim> {
    match store.tensor_info(store.checked_type(vector)?)?.extents {
        Extents::Known(dims) => dims.first().copied(),
        _ => None,
    }
}

fn reshape(store: &mut Store, tensor: ExprId, dims: &[Dim]) -> ExprId {
    let shape = calls::shape(store, dims);
    call(store, "reshape", &[tensor, shape])
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn scale_and_shift_go_into_the_weights() {
        let vector = "R.const([1.0], \"float32\")";
        let types = "R.Tuple(R.Tensor((1, 1, 1, 1), dtype=\"float32\"), R.Tensor((1,), dtype=\"float32\"), R.Tensor((1,), \
                     dtype=\"float32\"))";
        let text = format!(
            "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((1, 1, 1, 1), dtype=\"float32\")) -> \
             R.Tensor((1, 1, 1, 1), dtype=\"float32\"):\n        with R.dataflow():\n            lv = R.nn.conv2d(x, \
             R.const([[[[2.0]]]], \"float32\"))\n            lv1: {types} = R.nn.batch_norm(lv, {vector}, {vector}, {vector}, \
             {vector}, axis=1)\n            gv = lv1[0]\n            R.output(gv)\n        return gv\n"
        );
        let made = after(&text, "FoldBatchnormToConv2D()");
        assert!(!made.contains("batch_norm") && made.contains("R.nn.conv2d(x, "), "{made}");
    }
}
