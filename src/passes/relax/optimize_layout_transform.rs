//! OptimizeLayoutTransform: removes a layout change that is undone by the next one.
//!
//! Source: `python/tvm/relax/transform/optimize_layout_transform.py`.

use super::pattern_rewriting::{CallRewriter, rewrite_bindings};
use crate::ir::{Expr, ExprId, Module, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::passes::relax::grouping::is_primitive;
use crate::pattern::{Matches, Patterns};

/// TVM's `relax.transform.OptimizeLayoutTransform`.
pub static SPEC: PassSpec = PassSpec {
    name: "OptimizeLayoutTransform",
    info_name: "OptimizeLayoutTransform",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Removes pairs of layout transformations that undo one another.",
    doc: explained(
        "AlterOpImpl puts an `R.layout_transform` around every tensor program that it replaces. Where two meet and the shape is \
again what it was, both go; so they do with a program between them that only removes padding (its `operator_name` says \
`remove_pad`). Functions with `Primitive` stay as they are.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((16,), dtype=\"float32\")) -> R.Tensor((16,), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((4, 4), dtype=\"float32\") = R.layout_transform(x, index_map=T.index_map(lambda i: (i // 4, i % 4)), \
pad_value=None)
            lv1: R.Tensor((16,), dtype=\"float32\") = R.layout_transform(lv, index_map=T.index_map(lambda i, j: (i * 4 + j,)), \
pad_value=None)
            gv: R.Tensor((16,), dtype=\"float32\") = R.add(lv1, x)
            R.output(gv)
        return gv
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((16,), dtype=\"float32\")) -> R.Tensor((16,), dtype=\"float32\"):
        with R.dataflow():
            gv: R.Tensor((16,), dtype=\"float32\") = R.add(x, x)
            R.output(gv)
        return gv
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    if is_primitive(cx.store, function) {
        return Ok(function);
    }
    let mut patterns = Patterns::new();
    let [input, program] = [(); 2].map(|()| patterns.wildcard());
    let there = patterns.call_op("layout_transform", &[input]);
    let back = patterns.call_op("layout_transform", &[there]);
    let args = patterns.tuple(&[there]);
    let between = patterns.call_op("call_tir", &[program, args]);
    let around = patterns.call_op("layout_transform", &[between]);
    let pattern = patterns.either(back, around);
    let make = &mut |store: &mut Store, expr: ExprId, matches: &Matches| {
        if matches.get(around).is_some() {
            let Expr::Global(name) = store.expr(matches.get(program)?) else { return None };
            let Expr::PrimFunc(program) = store.expr(module.function(name)?) else { return None };
            if store.attr_str(store.prim_func(program).attrs, "operator_name") != Some("remove_pad") {
                return None;
            }
        }
        let input = matches.get(input)?;
        let extents = |tensor: ExprId| Some(store.tensor_info(store.checked_type(tensor)?)?.extents);
        (extents(expr)? == extents(input)?).then_some(input)
    };
    let mut rewriter = CallRewriter::new("no layout transformation", &patterns, pattern, make);
    rewrite_bindings(cx.store, module, function, &mut rewriter)
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn the_same_transformation_of_the_same_tensor_is_made_once() {
        let map = "index_map=T.index_map(lambda i: (i // 4, i % 4)), pad_value=None";
        let text = super::SPEC.example_before.replace(
            "R.add(lv1, x)",
            &format!("R.reshape(R.add(R.layout_transform(x, {map}), R.layout_transform(lv1, {map})), R.shape([16]))"),
        );
        assert_eq!(after(&text, "OptimizeLayoutTransform()").matches("layout_transform").count(), 1);
    }

    #[test]
    fn a_transformation_to_another_shape_stays() {
        let text = super::SPEC
            .example_before
            .replace("(i * 4 + j,)", "(j, i)")
            .replace("lv1: R.Tensor((16,), dtype=\"float32\")", "lv1: R.Tensor((4, 4), dtype=\"float32\")");
        let text = text.replace("R.add(lv1, x)", "R.reshape(lv1, R.shape([16]))");
        assert_eq!(after(&text, "OptimizeLayoutTransform()").matches("layout_transform").count(), 2);
    }
}
