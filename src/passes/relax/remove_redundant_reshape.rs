//! RemoveRedundantReshape: keeps only the last of two reshapes, and removes one to the same shape.
//!
//! Source: `python/tvm/relax/transform/remove_redundant_reshape.py`.

use super::calls::{call, extents};
use super::pattern_rewriting::{CallRewriter, rewrite_bindings};
use crate::ir::{ExprId, Extents, Module, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::passes::relax::grouping::is_primitive;
use crate::pattern::{Matches, Patterns};

/// TVM's `relax.transform.RemoveRedundantReshape`.
pub static SPEC: PassSpec = PassSpec {
    name: "RemoveRedundantReshape",
    info_name: "RemoveRedundantReshape",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Removes reshapes that are reshaped again or change nothing.",
    doc: explained(
        "`reshape(reshape(x, a), b)` becomes `reshape(x, b)`, and `reshape(x, a)` becomes `x` when that is its shape. Functions with \
`Primitive` stay as they are.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), dtype=\"float32\")) -> R.Tensor((4, 3), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((12,), dtype=\"float32\") = R.reshape(x, R.shape([12]))
            gv: R.Tensor((4, 3), dtype=\"float32\") = R.reshape(lv, R.shape([4, 3]))
            R.output(gv)
        return gv
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), dtype=\"float32\")) -> R.Tensor((4, 3), dtype=\"float32\"):
        with R.dataflow():
            gv: R.Tensor((4, 3), dtype=\"float32\") = R.reshape(x, R.shape([4, 3]))
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
    let [input, first, second] = [(); 3].map(|()| patterns.wildcard());
    let once = patterns.call_op("reshape", &[input, first]);
    let twice = patterns.call_op("reshape", &[once, second]);
    let pattern = patterns.either(twice, once);
    let make = &mut |store: &mut Store, _: ExprId, matches: &Matches| {
        let input = matches.get(input)?;
        let shape_of = |store: &Store, call: ExprId| Some(store.item(store.call(call)?.args, 1));
        if let Some(twice) = matches.get(twice) {
            let shape = shape_of(store, twice)?;
            return Some(call(store, "reshape", &[input, shape]));
        }
        let shape = shape_of(store, matches.get(once)?)?;
        let wanted = extents(store, shape)?;
        let info = store.tensor_info(store.checked_type(input)?)?;
        // Python treats an empty shape as no shape.
        matches!(info.extents, Extents::Known(dims) if !dims.is_empty() && *dims == *wanted).then_some(input)
    };
    let mut rewriter = CallRewriter::new("one reshape", &patterns, pattern, make);
    rewrite_bindings(cx.store, module, function, &mut rewriter)
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn a_reshape_to_the_same_shape_goes() {
        let text = super::SPEC.example_before.replace("[4, 3]", "[2, 6]").replace("(4, 3)", "(2, 6)");
        assert!(!after(&text, "RemoveRedundantReshape()").contains("R.reshape"));
    }
}
