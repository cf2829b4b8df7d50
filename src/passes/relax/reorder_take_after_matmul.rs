//! ReorderTakeAfterMatmul: selects columns from a product of matrices instead of from one of its factors.
//!
//! Source: `src/relax/transform/reorder_take_after_matmul.cc`.

use super::calls::{self, call, call_with};
use super::pattern_rewriting::{CallRewriter, rewrite_bindings};
use crate::ir::{AttrValue, Dim, ExprId, Extents, Module, PrimOp, Store, TensorInfo};
use crate::ops::{build::ints, dim_arith};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::pattern::{Matches, Patterns};

/// TVM's `relax.transform.ReorderTakeAfterMatmul`.
pub static SPEC: PassSpec = PassSpec {
    name: "ReorderTakeAfterMatmul",
    info_name: "ReorderTakeAfterMatmul",
    dialects: crate::pass::spec::RELAX,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Chooses columns from a product of matrices instead of from its second factor.",
    doc: explained("`matmul(x, take(weights, indices))` becomes `take(matmul(x, weights), indices)` when whole columns are chosen by a list of \
indices. Of three-dimensional weights that are chosen for every row of a batch, as adapters of a language model are, all are \
multiplied at once, and an `einsum` takes the diagonal."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4), dtype=\"float32\"), w: R.Tensor((4, 8), dtype=\"float32\"), i: R.Tensor((2,), dtype=\"int64\")) -> \
R.Tensor((1, 2), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((4, 2), dtype=\"float32\") = R.take(w, i, axis=1)
            gv: R.Tensor((1, 2), dtype=\"float32\") = R.matmul(x, lv)
            R.output(gv)
        return gv
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 4), dtype=\"float32\"), w: R.Tensor((4, 8), dtype=\"float32\"), i: R.Tensor((2,), dtype=\"int64\")) -> \
R.Tensor((1, 2), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((1, 8), dtype=\"float32\") = R.matmul(x, w)
            gv: R.Tensor((1, 2), dtype=\"float32\") = R.take(lv, i, axis=1)
            R.output(gv)
        return gv
"),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let mut patterns = Patterns::new();
    let [lhs, weights, indices] = [(); 3].map(|()| patterns.wildcard());
    let rhs = patterns.call_op("take", &[weights, indices]);
    let pattern = patterns.call_op("matmul", &[lhs, rhs]);
    let make = &mut |store: &mut Store, expr: ExprId, matches: &Matches| {
        let [lhs, weights, indices, take] = [lhs, weights, indices, rhs].map(|pat| matches.get(pat));
        let (lhs, weights, indices, take) = (lhs?, weights?, indices?, take?);
        let axis = store.attr_int(store.call(take)?.attrs, "axis")?;
        let [a, b, c, out] = [lhs, weights, indices, expr].map(|tensor| info(store, tensor));
        let (a, b, c, out) = (a?, b?, c?, out?);
        let ranks = [&a, &b, &c, &out].map(|info| store.rank(&info.extents));
        let [Some(lhs_rank), Some(rank), Some(index_rank), Some(out_rank)] = ranks else { return None };
        if index_rank == 1 && axis + 1 == rank as i64 {
            let table = call_with(store, "matmul", &[lhs, weights], &[]);
            return Some(call_with(store, "take", &[table, indices], &[("axis", AttrValue::int(out_rank as i64 - 1))]));
        }
        let (Extents::Known(x), Extents::Known(w)) = (&a.extents, &b.extents) else { return None };
        if (lhs_rank, rank, index_rank, axis) != (3, 3, 1, 0) {
            return None;
        }
        let reordered = call_with(store, "permute_dims", &[weights], &[("axes", ints(&[1, 0, 2]))]);
        let columns = dim_arith(store, PrimOp::Mul, w[0], w[2]);
        let fused_weights = reshape(store, reordered, &[w[1], columns]);
        let fused = call_with(store, "matmul", &[lhs, fused_weights], &[]);
        let indexed = reshape(store, fused, &[x[0], x[1], w[0], w[2]]);
        let chosen = call_with(store, "take", &[indexed, indices], &[("axis", AttrValue::int(2))]);
        let tuple = calls::tuple(store, &[chosen]);
        let subscripts = AttrValue::Str(store.name("ijik->ijk"));
        Some(call_with(store, "einsum", &[tuple], &[("subscripts", subscripts)]))
    };
    let mut rewriter = CallRewriter::new("columns of the product", &patterns, pattern, make);
    rewrite_bindings(cx.store, module, function, &mut rewriter)
}

fn info(store: &Store, tensor: ExprId) -> Option<TensorInfo> {
    store.tensor_info(store.checked_type(tensor)?)
}

fn reshape(store: &mut Store, tensor: ExprId, dims: &[Dim]) -> ExprId {
    let shape = calls::shape(store, dims);
    call(store, "reshape", &[tensor, shape])
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn rows_that_are_chosen_stay() {
        let text = super::SPEC
            .example_before
            .replace("w: R.Tensor((4, 8)", "w: R.Tensor((8, 2)")
            .replace("i: R.Tensor((2,)", "i: R.Tensor((4,)");
        let text = text.replace("R.take(w, i, axis=1)", "R.take(w, i, axis=0)");
        assert!(after(&text, "ReorderTakeAfterMatmul()").contains("R.take(w, i, axis=0"));
    }
}
