//! AdjustMatmulOrder: multiplies three matrices in the order that takes fewer operations.
//!
//! TVM proves which order is better with its analyzer; here the difference is evaluated as a polynomial, at the ends of
//! the ranges of bounded symbols, and from the least value on for the others.
//!
//! Source: `src/relax/transform/adjust_matmul_order.cc`.

use super::calls::call_with;
use super::compile_time::computable_at_compile_time;
use super::pattern_rewriting::{CallRewriter, rewrite_bindings};
use crate::infer::relax::types::symbols;
use crate::ir::{AttrValue, Dim, Expr, ExprId, Extents, Id, Module, PrimOp, Store, Symbol};
use crate::ops::{broadcast_shapes, build::ints};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::pattern::{Matches, Pat, Patterns};
use crate::tir::{Range, is_negative};

/// TVM's `relax.transform.AdjustMatmulOrder`.
pub static SPEC: PassSpec = PassSpec {
    name: "AdjustMatmulOrder",
    info_name: "AdjustMatmulOrder",
    dialects: crate::pass::spec::RELAX,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Multiplies three matrices in the order that takes fewer operations.",
    doc: explained("`matmul(matmul(A, B), x)` becomes `matmul(A, matmul(B, x))`, or the other way round, also through a `permute_dims` of the \
inner product, when that is known to take fewer multiplications. Symbols are at least 1, and what the attributes \
`tir_var_lower_bound` and `tir_var_upper_bound` of the function say is used. Two weights of a function that says `num_input` are \
multiplied first: that can be done beforehand."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((16,), dtype=\"float32\"), a: R.Tensor((32, 2), dtype=\"float32\"), b: R.Tensor((2, 16), dtype=\"float32\")) -> \
R.Tensor((32,), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((32, 16), dtype=\"float32\") = R.matmul(a, b)
            gv: R.Tensor((32,), dtype=\"float32\") = R.matmul(lv, x)
            R.output(gv)
        return gv
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((16,), dtype=\"float32\"), a: R.Tensor((32, 2), dtype=\"float32\"), b: R.Tensor((2, 16), dtype=\"float32\")) -> \
R.Tensor((32,), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype=\"float32\") = R.matmul(b, x)
            gv: R.Tensor((32,), dtype=\"float32\") = R.matmul(a, lv)
            R.output(gv)
        return gv
"),
    run: Run::Function(run),
};

/// The patterns, whose match determines the new products.
struct Shapes {
    factors: [Pat; 3],
    on_lhs: Pat,
    permuted_on_lhs: Pat,
    permuted_on_rhs: Pat,
}

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let known = computable_at_compile_time(cx.store, function);
    let ranges = ranges(cx.store, function);
    let mut patterns = Patterns::new();
    let [a, b, c] = [(); 3].map(|()| patterns.wildcard());
    let product = |patterns: &mut Patterns, x, y| patterns.call_op("matmul", &[x, y]);
    let inner = product(&mut patterns, a, b);
    let on_lhs = product(&mut patterns, inner, c);
    let inner = product(&mut patterns, b, c);
    let on_rhs = product(&mut patterns, a, inner);
    let inner = product(&mut patterns, b, a);
    let inner = patterns.call_op("permute_dims", &[inner]);
    let permuted_on_lhs = product(&mut patterns, inner, c);
    let inner = product(&mut patterns, c, b);
    let inner = patterns.call_op("permute_dims", &[inner]);
    let permuted_on_rhs = product(&mut patterns, a, inner);
    let first = patterns.either(on_lhs, on_rhs);
    let second = patterns.either(first, permuted_on_lhs);
    let pattern = patterns.either(second, permuted_on_rhs);
    let shapes = Shapes { factors: [a, b, c], on_lhs, permuted_on_lhs, permuted_on_rhs };
    let make = &mut |store: &mut Store, old: ExprId, matches: &Matches| {
        let is_known = |store: &Store, expr| matches!(store.expr(expr), Expr::Var(var) if known.contains(&var));
        let new = reordered(store, &shapes, matches, &is_known, &ranges)?;
        // The outer product gives what it gave; the inner one gives what its factors say.
        let (Expr::Call { callee, args, .. }, Expr::Call { info, .. }) = (store.expr(new), store.expr(old)) else {
            return Some(new);
        };
        Some(store.add(Expr::Call { callee, args, info }))
    };
    let mut rewriter = CallRewriter::new("another order of products", &patterns, pattern, make);
    rewrite_bindings(cx.store, module, function, &mut rewriter)
}

/// Returns the ranges of symbols that the attributes of a function give.
fn ranges(store: &Store, function: ExprId) -> Vec<(Id<Symbol>, Range)> {
    let Expr::Function(id) = store.expr(function) else { return Vec::new() };
    let data = store.function(id);
    let bound = |which: &str, symbol: Id<Symbol>| match store.attr(data.attrs, which) {
        Some(AttrValue::Map(bounds)) => {
            let name = store.str(store.symbol(symbol).name);
            bounds.iter().find(|(key, _)| store.str(*key) == name).and_then(|(_, value)| store.value_int(value))
        }
        _ => None,
    };
    let mut found = Vec::new();
    let types = store.items(data.params).filter_map(|param| store.var_type(param)).chain(data.ret);
    for symbol in types.flat_map(|ty| symbols(store, ty, false)) {
        let least = bound("tir_var_lower_bound", symbol).unwrap_or(1).max(1);
        let most = bound("tir_var_upper_bound", symbol).map(|end| end.saturating_sub(1));
        found.push((symbol, Range { least, most }));
    }
    found
}

fn shape_of(store: &Store, expr: ExprId) -> Option<Vec<Dim>> {
    match store.tensor_info(store.checked_type(expr)?)?.extents {
        Extents::Known(dims) => Some(dims.to_vec()),
        _ => None,
    }
}

fn reordered(
    store: &mut Store,
    shapes: &Shapes,
    matches: &Matches,
    is_known: &dyn Fn(&Store, ExprId) -> bool,
    ranges: &[(Id<Symbol>, Range)],
) -> Option<ExprId> {
    let [a, b, c] = shapes.factors.map(|pat| matches.get(pat));
    let (mut a, mut b, mut c) = (a?, b?, c?);
    if [a, b, c].into_iter().all(|factor| is_known(store, factor)) {
        return None;
    }
    let (mut shape_a, mut shape_b, mut shape_c) = (shape_of(store, a)?, shape_of(store, b)?, shape_of(store, c)?);
    if matches.get(shapes.permuted_on_lhs).is_some() {
        a = transposed(store, a, &mut shape_a)?;
        b = transposed(store, b, &mut shape_b)?;
    } else if matches.get(shapes.permuted_on_rhs).is_some() {
        b = transposed(store, b, &mut shape_b)?;
        c = transposed(store, c, &mut shape_c)?;
    }
    let product = |store: &mut Store, x, y| call_with(store, "matmul", &[x, y], &[]);
    let lhs_first = |store: &mut Store| {
        let inner = product(store, a, b);
        Some(product(store, inner, c))
    };
    let rhs_first = |store: &mut Store| {
        let inner = product(store, b, c);
        Some(product(store, a, inner))
    };
    if is_known(store, a) && is_known(store, b) {
        return lhs_first(store);
    }
    if is_known(store, b) && is_known(store, c) {
        return rhs_first(store);
    }
    let one = Dim::Int { value: 1, bits: 64 };
    if shape_a.len() == 1 {
        shape_a.insert(0, one);
    }
    if shape_b.len() == 1 {
        let at = usize::from(matches.get(shapes.on_lhs).is_some());
        shape_b.insert(at, one);
    }
    if shape_c.len() == 1 {
        shape_c.push(one);
    }
    let [prefix_a, prefix_b, prefix_c] =
        [&shape_a, &shape_b, &shape_c].map(|shape| shape[..shape.len().saturating_sub(2)].to_vec());
    let ab = broadcast_shapes(store, &prefix_a, &prefix_b)?;
    let bc = broadcast_shapes(store, &prefix_b, &prefix_c)?;
    let outer_lhs = broadcast_shapes(store, &ab, &prefix_c)?;
    let outer_rhs = broadcast_shapes(store, &prefix_a, &bc)?;
    let [n, r] = shape_a.last_chunk::<2>().copied()?;
    let [m, last] = shape_c.last_chunk::<2>().copied()?;
    let cost = |store: &mut Store, batch: &[Dim], sizes: [Dim; 3]| {
        let mut all = batch.to_vec();
        all.extend(sizes);
        let one = store.prim_int(1, crate::ir::DType::I64);
        all.into_iter().fold(one, |product, dim| {
            let dim = store.prim_of_dim(dim);
            store.prim_binary(PrimOp::Mul, product, dim)
        })
    };
    let (inner, outer) = (cost(store, &ab, [n, r, m]), cost(store, &outer_lhs, [n, m, last]));
    let cost_lhs = store.prim_binary(PrimOp::Add, inner, outer);
    let (inner, outer) = (cost(store, &bc, [r, m, last]), cost(store, &outer_rhs, [n, r, last]));
    let cost_rhs = store.prim_binary(PrimOp::Add, inner, outer);
    if is_negative(store, cost_lhs, cost_rhs, ranges) {
        return lhs_first(store);
    }
    if is_negative(store, cost_rhs, cost_lhs, ranges) {
        return rhs_first(store);
    }
    None
}

/// Swaps the last two axes of a tensor.
fn transposed(store: &mut Store, expr: ExprId, shape: &mut [Dim]) -> Option<ExprId> {
    let rank = shape.len();
    if rank < 2 {
        return None;
    }
    shape.swap(rank - 1, rank - 2);
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    axes.swap(rank - 1, rank - 2);
    let axes = if rank == 2 { AttrValue::Null } else { ints(&axes) };
    Some(call_with(store, "permute_dims", &[expr], &[("axes", axes)]))
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn an_order_that_may_be_better_or_worse_stays() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((\"k\", \"l\"), \"float32\"), a: \
                    R.Tensor((\"n\", \"m\"), \"float32\"), b: R.Tensor((\"m\", \"k\"), \"float32\")):\n        with R.dataflow():\n            \
                    y = R.matmul(a, b)\n            z = R.matmul(y, x)\n            R.output(z)\n        return z\n";
        assert!(after(text, "AdjustMatmulOrder()").contains("R.matmul(a, b"));
    }

    /// Every pass of this kind does so in TVM.
    #[test]
    fn the_outer_product_keeps_its_element_type() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(a: R.Tensor((2, 32), \"float32\"), b: R.Tensor((32, 2), \
                    \"float32\"), c: R.Tensor((2, 16), \"float32\")):\n        with R.dataflow():\n            y = R.matmul(b, c)\n            \
                    z = R.matmul(a, y, out_dtype=\"float64\")\n            R.output(z)\n        return z\n";
        let new = after(text, "AdjustMatmulOrder()");
        assert!(new.contains("R.matmul(a, b, out_dtype=None)"), "{new}");
        assert!(new.contains("c, out_dtype=\"float64\")"), "{new}");
    }

    #[test]
    fn bindings_outside_of_dataflow_blocks_are_tidied_up_though_nothing_matches() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,), dtype=\"float32\")) -> \
                    R.Tensor((2,), dtype=\"float32\"):\n        y: R.Tensor((2,), dtype=\"float32\") = R.exp(x)\n        \
                    z: R.Tensor((2,), dtype=\"float32\") = R.log(x)\n        return z\n";
        assert!(!after(text, "AdjustMatmulOrder()").contains("R.exp"));
        let dataflow = "        with R.dataflow():\n            y: R.Tensor((2,), dtype=\"float32\") = R.exp(x)\n            \
                        z: R.Tensor((2,), dtype=\"float32\") = R.log(x)\n            R.output(y, z)\n        return z\n";
        let text = format!("{}{dataflow}", &text[..text.find("        y:").unwrap_or_default()]);
        assert!(after(&text, "AdjustMatmulOrder()").contains("R.exp"));
    }
}
