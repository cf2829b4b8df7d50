//! ExpandMatmulOfSum: replaces a product with a sum of matrices by the sum of two products.
//!
//! Source: `src/relax/transform/expand_matmul_of_sum.cc`.

use super::calls::{call, call_with};
use super::compile_time::computable_at_compile_time;
use super::pattern_rewriting::{CallRewriter, rewrite_bindings};
use crate::ir::{AttrValue, Expr, ExprId, Module, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::pattern::{Matches, Patterns};

/// TVM's `relax.transform.ExpandMatmulOfSum`.
pub static SPEC: PassSpec = PassSpec {
    name: "ExpandMatmulOfSum",
    info_name: "ExpandMatmulOfSum",
    dialects: crate::pass::spec::RELAX,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Turns matmul(x, A + B) into matmul(x, A) + matmul(x, B).",
    doc: explained("A sum of weights that is not known before the program runs costs more than a second product when one of the weights is \
itself a product of small matrices, as with adapters of a language model. So the product is taken with each, also through a \
`permute_dims` of the sum. The sum stays when it can be computed beforehand: when both are weights of a function that says \
`num_input`."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4), dtype=\"float32\"), a: R.Tensor((4, 4), dtype=\"float32\"), b: R.Tensor((4, 4), dtype=\"float32\")) -> \
R.Tensor((1, 4), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((4, 4), dtype=\"float32\") = R.add(a, b)
            gv: R.Tensor((1, 4), dtype=\"float32\") = R.matmul(x, lv)
            R.output(gv)
        return gv
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4), dtype=\"float32\"), a: R.Tensor((4, 4), dtype=\"float32\"), b: R.Tensor((4, 4), dtype=\"float32\")) -> \
R.Tensor((1, 4), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((1, 4), dtype=\"float32\") = R.matmul(x, a)
            lv1: R.Tensor((1, 4), dtype=\"float32\") = R.matmul(x, b)
            gv: R.Tensor((1, 4), dtype=\"float32\") = R.add(lv, lv1)
            R.output(gv)
        return gv
"),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let known = computable_at_compile_time(cx.store, function);
    let mut patterns = Patterns::new();
    let [lhs, a, b] = [(); 3].map(|()| patterns.wildcard());
    let sum = patterns.call_op("add", &[a, b]);
    let transposed = patterns.call_op("permute_dims", &[sum]);
    let rhs = patterns.either(sum, transposed);
    let pattern = patterns.call_op("matmul", &[lhs, rhs]);
    let make = &mut |store: &mut Store, _: ExprId, matches: &Matches| {
        let (lhs, mut a, mut b) = (matches.get(lhs)?, matches.get(a)?, matches.get(b)?);
        let is_known = |store: &Store, expr| matches!(store.expr(expr), Expr::Var(var) if known.contains(&var));
        if is_known(store, a) && is_known(store, b) {
            return None;
        }
        if let Some(transposed) = matches.get(transposed) {
            let axes = store.attr(store.call(transposed)?.attrs, "axes").cloned().unwrap_or(AttrValue::Null);
            a = call_with(store, "permute_dims", &[a], &[("axes", axes.clone())]);
            b = call_with(store, "permute_dims", &[b], &[("axes", axes)]);
        }
        let (first, second) = (call_with(store, "matmul", &[lhs, a], &[]), call_with(store, "matmul", &[lhs, b], &[]));
        Some(call(store, "add", &[first, second]))
    };
    let mut rewriter = CallRewriter::new("a product with each summand", &patterns, pattern, make);
    rewrite_bindings(cx.store, module, function, &mut rewriter)
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn a_sum_of_weights_stays() {
        let text = super::SPEC
            .example_before
            .replace("        with R.dataflow", "        R.func_attr({\"num_input\": 1})\n        with R.dataflow");
        assert!(after(&text, "ExpandMatmulOfSum()").contains("R.add(a, b)"));
    }
}
