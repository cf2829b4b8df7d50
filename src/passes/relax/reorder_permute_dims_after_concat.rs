//! ReorderPermuteDimsAfterConcat: concatenates tensors before they are transposed, not after.
//!
//! Source: `src/relax/transform/reorder_permute_dims_after_concat.cc`.

use super::calls::{self, call_with};
use super::pattern_rewriting::{CallRewriter, rewrite_bindings};
use crate::ir::{AttrValue, ExprId, Module, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::pattern::{Matches, Pat, Patterns};

/// TVM's `relax.transform.ReorderPermuteDimsAfterConcat`.
pub static SPEC: PassSpec = PassSpec {
    name: "ReorderPermuteDimsAfterConcat",
    info_name: "ReorderPermuteDimsAfterConcat",
    dialects: crate::pass::spec::RELAX,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Concatenates tensors before transposing them.",
    doc: explained("`concat((permute_dims(a), permute_dims(b)))` becomes `permute_dims(concat((a, b)))` when all are transposed alike: one \
transposition is left, and weights that are put together stand at the beginning, where other passes find them. Looks at two to \
eleven tensors."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((2, 3), dtype=\"float32\"), b: R.Tensor((4, 3), dtype=\"float32\")) -> R.Tensor((3, 6), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((3, 2), dtype=\"float32\") = R.permute_dims(a, axes=None)
            lv1: R.Tensor((3, 4), dtype=\"float32\") = R.permute_dims(b, axes=None)
            gv: R.Tensor((3, 6), dtype=\"float32\") = R.concat((lv, lv1), axis=1)
            R.output(gv)
        return gv
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor((2, 3), dtype=\"float32\"), b: R.Tensor((4, 3), dtype=\"float32\")) -> R.Tensor((3, 6), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((6, 3), dtype=\"float32\") = R.concat((a, b), axis=0)
            gv: R.Tensor((3, 6), dtype=\"float32\") = R.permute_dims(lv, axes=None)
            R.output(gv)
        return gv
"),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let mut patterns = Patterns::new();
    let mut transposed: Vec<(Pat, Pat)> = Vec::new();
    for _ in 0..11 {
        let arg = patterns.wildcard();
        let call = patterns.call_op("permute_dims", &[arg]);
        transposed.push((arg, call));
    }
    let mut pattern = None;
    for count in 2..=11 {
        let fields: Vec<Pat> = transposed[..count].iter().map(|(_, call)| *call).collect();
        let tuple = patterns.tuple(&fields);
        let concat = patterns.call_op("concat", &[tuple]);
        pattern = Some(pattern.map_or(concat, |known| patterns.either(known, concat)));
    }
    let Some(pattern) = pattern else { return Ok(function) };
    let make = &mut |store: &mut Store, expr: ExprId, matches: &Matches| {
        let found = transposed.iter().filter_map(|(arg, call)| Some((matches.get(*arg)?, matches.get(*call)?)));
        let (args, calls): (Vec<ExprId>, Vec<ExprId>) = found.unzip();
        let axes = axes_of(store, *calls.first()?)?;
        for call in &calls {
            if axes_of(store, *call)? != axes {
                return None;
            }
        }
        let attrs = store.call(expr)?.attrs;
        let axis = store.attr_int(attrs, "axis").unwrap_or(0);
        let axis = usize::try_from(if axis < 0 { axis + axes.len() as i64 } else { axis }).ok()?;
        let written = store.attr(store.call(calls[0])?.attrs, "axes").cloned().unwrap_or(AttrValue::Null);
        let tuple = calls::tuple(store, &args);
        let concat = call_with(store, "concat", &[tuple], &[("axis", AttrValue::int(*axes.get(axis)?))]);
        Some(call_with(store, "permute_dims", &[concat], &[("axes", written)]))
    };
    let mut rewriter = CallRewriter::new("one transposition of all", &patterns, pattern, make);
    rewrite_bindings(cx.store, module, function, &mut rewriter)
}

/// Returns the axes of a transposition.
fn axes_of(store: &Store, call: ExprId) -> Option<Vec<i64>> {
    let data = store.call(call)?;
    if let Some(axes) = store.attr_ints(data.attrs, "axes") {
        return Some(axes);
    }
    let arg = store.items(data.args).next()?;
    let info = store.tensor_info(store.checked_type(arg)?)?;
    let rank = store.rank(&info.extents)?;
    Some((0..rank as i64).rev().collect())
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn tensors_that_are_transposed_differently_stay() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(a: R.Tensor((2, 2, 2), dtype=\"float32\")) -> \
                    R.Tensor((2, 2, 4), dtype=\"float32\"):\n        x: R.Tensor((2, 2, 2), dtype=\"float32\") = \
                    R.permute_dims(a, axes=[0, 2, 1])\n        y: R.Tensor((2, 2, 2), dtype=\"float32\") = \
                    R.permute_dims(a, axes=[1, 0, 2])\n        z: R.Tensor((2, 2, 4), dtype=\"float32\") = R.concat((x, y), \
                    axis=2)\n        return z\n";
        assert!(after(text, "ReorderPermuteDimsAfterConcat()").contains("R.concat((x, y), axis=2)"));
    }
}
