//! CombineParallelMatmul: combines products of one matrix with several into one product with all of them.
//!
//! TVM iterates over hash tables; here branches are visited in program order. The check that TVM's caller can pass, a
//! function in Python, is not supported.
//!
//! Source: `src/relax/transform/combine_parallel_matmul.cc`.

use super::calls::{self, call, call_with};
use super::grouping::bound_values;
use super::pattern_rewriting::{GraphRewriter, Replacements, rewrite_bindings};
use crate::ir::sort::sort_by;
use crate::ir::walk::post_order;
use crate::ir::{AttrValue, Binding, Dim, Expr, ExprId, Extents, Module, Store, TensorInfo, VarId};
use crate::ops::build::ints;
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::pattern::{Context, Edge, Matcher, Pat, Patterns};
use crate::tir::arith::equal_extents;
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.CombineParallelMatmul`.
pub static SPEC: PassSpec = PassSpec {
    name: "CombineParallelMatmul",
    info_name: "CombineParallelMatmul",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[Param { name: "check", default: "None", doc: "A function of Python in TVM; only None is possible here." }],
    config: &[],
    summary: "Makes one product of several products of the same matrix.",
    doc: explained("In a transformer the same activations are multiplied with the weights of queries, keys and values. Such products become \
one with the concatenated weights, and a `split` gives the parts. What follows all of them alike, an `add` of a bias and one of \
`nn.relu`, `nn.gelu`, `nn.gelu_tanh` and `nn.silu`, is done once too. The weights must have the same batch extents, and all but \
the last must have a known number of columns."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), dtype=\"float32\"), a: R.Tensor((4, 3), dtype=\"float32\"), b: R.Tensor((4, 5), dtype=\"float32\")) -> \
R.Tensor((2, 8), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((2, 3), dtype=\"float32\") = R.matmul(x, a)
            lv1: R.Tensor((2, 5), dtype=\"float32\") = R.matmul(x, b)
            gv: R.Tensor((2, 8), dtype=\"float32\") = R.concat((lv, lv1), axis=1)
            R.output(gv)
        return gv
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), dtype=\"float32\"), a: R.Tensor((4, 3), dtype=\"float32\"), b: R.Tensor((4, 5), dtype=\"float32\")) -> \
R.Tensor((2, 8), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((4, 8), dtype=\"float32\") = R.concat((a, b), axis=1)
            lv1: R.Tensor((2, 8), dtype=\"float32\") = R.matmul(x, lv, out_dtype=\"float32\")
            lv2: R.Tuple(R.Tensor((2, 3), dtype=\"float32\"), R.Tensor((2, 5), dtype=\"float32\")) = R.split(lv1, \
indices_or_sections=[3], axis=1)
            lv_1: R.Tensor((2, 3), dtype=\"float32\") = lv2[0]
            lv1_1: R.Tensor((2, 5), dtype=\"float32\") = lv2[1]
            gv: R.Tensor((2, 8), dtype=\"float32\") = R.concat((lv_1, lv1_1), axis=1)
            R.output(gv)
        return gv
"),
    run: Run::Function(run),
};

const ACTIVATIONS: [&str; 4] = ["nn.relu", "nn.gelu", "nn.gelu_tanh", "nn.silu"];

/// The number of products of one matrix, and the operations that follow all of them.
#[derive(Clone, Copy)]
struct Branches {
    count: usize,
    /// The rank of the biases.
    bias: Option<usize>,
    activation: Option<&'static str>,
}

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let store = &mut *cx.store;
    let mut branches = find_branches(store, function);
    sort_by(&mut branches, |a, b| b.count.cmp(&a.count));
    let mut function = function;
    for branch in branches {
        let combine = Combine::new(branch);
        let make = &mut |store: &mut Store, found: &FxHashMap<Pat, VarId>, _: &[Binding]| {
            combine.combined(store, found).unwrap_or_default()
        };
        let (patterns, context) = (&combine.patterns, &combine.context);
        let mut rewriter = GraphRewriter { rule: "one product of several", patterns, context, make };
        function = rewrite_bindings(store, module, function, &mut rewriter)?;
    }
    Ok(function)
}

type Groups = Vec<(VarId, Branches)>;

/// Finds matrices that are multiplied more than once, and the shapes of those branches.
fn find_branches(store: &mut Store, function: ExprId) -> Vec<Branches> {
    let mut patterns = Patterns::new();
    let [lhs, rhs, bias] = [(); 3].map(|()| patterns.wildcard());
    let product = patterns.call_op("matmul", &[lhs, rhs]);
    let sum = patterns.call_op("add", &[product, bias]);
    let bound = bound_values(store, function);
    let calls: Vec<ExprId> = post_order(store, function).into_iter().filter(|id| store.call(*id).is_some()).collect();
    let groups = |store: &mut Store, patterns: &Patterns, pattern: Pat, activation: Option<&'static str>| {
        let mut groups: Groups = Vec::new();
        for call in &calls {
            let Some(found) = Matcher::new(patterns, &bound).matches(store, pattern, *call) else { continue };
            let factor = found.get(product).and_then(|product| Some(store.item(store.call(product)?.args, 0)));
            let Some(Expr::Var(factor)) = factor.map(|factor| store.expr(factor)) else { continue };
            let bias = found.get(bias).and_then(|bias| rank(store, bias));
            match groups.iter_mut().find(|(known, _)| *known == factor) {
                Some((_, branch)) => {
                    branch.count += 1;
                    if bias.is_none() || branch.bias.is_some_and(|known| Some(known) != bias) {
                        branch.bias = None;
                    }
                    if activation.is_none() || branch.activation.is_some_and(|known| Some(known) != activation) {
                        branch.activation = None;
                    }
                }
                None => groups.push((factor, Branches { count: 1, bias, activation })),
            }
        }
        groups
    };
    let mut activated: Groups = Vec::new();
    for inner in [sum, product] {
        for name in ACTIVATIONS {
            let pattern = patterns.call_op(name, &[inner]);
            for (factor, branch) in groups(store, &patterns, pattern, Some(name)) {
                if activated.iter().all(|(known, _)| *known != factor) {
                    activated.push((factor, branch));
                }
            }
        }
    }
    let biased = groups(store, &patterns, sum, None);
    let mut plain = groups(store, &patterns, product, None);
    // A branch with more products is better than one where some of them have a bias or activation.
    for (factor, branch) in biased.iter().chain(&activated) {
        if let Some((_, known)) = plain.iter_mut().find(|(known, _)| known == factor)
            && known.count == branch.count
        {
            *known = *branch;
        }
    }
    let all = plain.into_iter().chain(activated).chain(biased);
    all.map(|(_, branch)| branch).filter(|branch| branch.count > 1).collect()
}

fn info(store: &Store, expr: ExprId) -> Option<TensorInfo> {
    store.tensor_info(store.checked_type(expr)?)
}

fn rank(store: &Store, expr: ExprId) -> Option<usize> {
    store.rank(&info(store, expr)?.extents)
}

struct Combine {
    branch: Branches,
    patterns: Patterns,
    context: Context,
    input: Pat,
    /// For each branch the weights, the product, the bias and the result.
    parts: Vec<(Pat, Pat, Option<Pat>, Pat)>,
}

/// One product that takes part.
struct Part {
    rhs: VarId,
    bias: Option<VarId>,
    width: Dim,
    result: VarId,
}

impl Combine {
    fn new(branch: Branches) -> Combine {
        let mut patterns = Patterns::new();
        let mut context = Context::new();
        let input = patterns.wildcard();
        let edge = |index| Edge { only: false, index: Some(index) };
        let mut parts = Vec::with_capacity(branch.count);
        for _ in 0..branch.count {
            let weights = patterns.wildcard();
            let product = patterns.call_op("matmul", &[input, weights]);
            context.used_by(input, product, edge(0));
            context.used_by(weights, product, edge(1));
            let mut result = product;
            let bias = branch.bias.map(|_| {
                let bias = patterns.wildcard();
                result = patterns.call_op("add", &[product, bias]);
                context.used_by(product, result, edge(0));
                context.used_by(bias, result, edge(1));
                bias
            });
            if let Some(activation) = branch.activation {
                let before = result;
                result = patterns.call_op(activation, &[before]);
                context.used_by(before, result, edge(0));
            }
            parts.push((weights, product, bias, result));
        }
        Combine { branch, patterns, context, input, parts }
    }

    fn combined(&self, store: &mut Store, found: &FxHashMap<Pat, VarId>) -> Option<Replacements> {
        let lhs = *found.get(&self.input)?;
        let mut ranks: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut shapes: Vec<Vec<Dim>> = Vec::new();
        for (index, (weights, ..)) in self.parts.iter().enumerate() {
            let shape = shape_of(store, *found.get(weights)?)?;
            match ranks.iter_mut().find(|(rank, _)| *rank == shape.len()) {
                Some((_, members)) => members.push(index),
                None => ranks.push((shape.len(), vec![index])),
            }
            shapes.push(shape);
        }
        let mut replacements = Vec::new();
        for (rank, members) in ranks {
            let batch = |index: usize| &shapes[index][..rank.saturating_sub(2)];
            let alike = members
                .iter()
                .all(|index| batch(members[0]).iter().zip(batch(*index)).all(|(a, b)| equal_extents(store, *a, *b)));
            if members.len() > 1 && alike && rank > 1 {
                let parts = members.iter().filter_map(|index| {
                    let (weights, _, bias, result) = self.parts[*index];
                    let bias = bias.and_then(|bias| found.get(&bias).copied());
                    Some(Part { rhs: *found.get(&weights)?, bias, width: *shapes[*index].last()?, result: *found.get(&result)? })
                });
                let parts: Vec<Part> = parts.collect();
                let product = *found.get(&self.parts[members[0]].1)?;
                replacements.extend(self.combine(store, lhs, rank, parts, product).unwrap_or_default());
            }
        }
        Some(replacements)
    }

    /// Returns the results of some products as parts of one combined product.
    fn combine(&self, store: &mut Store, lhs: VarId, rank: usize, parts: Vec<Part>, product: VarId) -> Option<Replacements> {
        // At most one may have an unknown number of columns; it comes last.
        let (mut parts, dynamic): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(|part| part.width.known().is_some());
        parts.extend(dynamic.into_iter().take(1));
        if parts.len() < 2 {
            return None;
        }
        let lhs = store.use_var(lhs);
        let weights: Vec<ExprId> = parts.iter().map(|part| store.use_var(part.rhs)).collect();
        let tuple = calls::tuple(store, &weights);
        let weights = call_with(store, "concat", &[tuple], &[("axis", AttrValue::int(rank as i64 - 1))]);
        let dtype = store.tensor_info(store.var_type(product)?)?.dtype;
        let mut all = call_with(store, "matmul", &[lhs, weights], &[("out_dtype", AttrValue::DType(dtype))]);
        if self.branch.bias.is_some() {
            let biases: Option<Vec<VarId>> = parts.iter().map(|part| part.bias).collect();
            let biases: Vec<ExprId> = biases?.into_iter().map(|bias| store.use_var(bias)).collect();
            let bias_rank = biases.first().and_then(|bias| self::rank(store, *bias))?;
            let tuple = calls::tuple(store, &biases);
            let bias = call_with(store, "concat", &[tuple], &[("axis", AttrValue::int(bias_rank as i64 - 1))]);
            all = call(store, "add", &[all, bias]);
        }
        if let Some(activation) = self.branch.activation {
            all = call(store, activation, &[all]);
        }
        let widths = parts.iter().take(parts.len() - 1).map(|part| part.width.known().unwrap_or(0));
        let ends: Vec<i64> = widths
            .scan(0, |end, width| {
                *end += width;
                Some(*end)
            })
            .collect();
        let axis = self::rank(store, lhs)?.max(rank) as i64 - 1;
        let attrs = [("indices_or_sections", ints(&ends)), ("axis", AttrValue::int(axis))];
        let chunks = call_with(store, "split", &[all], &attrs);
        let mut replacements = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let item = store.add(Expr::TupleGetItem { tuple: chunks, index: index as u32 });
            replacements.push((part.result, item));
        }
        Some(replacements)
    }
}

fn shape_of(store: &Store, var: VarId) -> Option<Vec<Dim>> {
    match store.tensor_info(store.var_type(var)?)?.extents {
        Extents::Known(dims) => Some(dims.to_vec()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn what_follows_all_products_alike_is_done_once() {
        let text = super::SPEC.example_before.replace("R.concat((lv, lv1)", "R.concat((lv2, lv3)").replace(
            "            gv:",
            "            lv2: R.Tensor((2, 3), dtype=\"float32\") = R.nn.relu(lv)\n            lv3: R.Tensor((2, 5), \
             dtype=\"float32\") = R.nn.relu(lv1)\n            gv:",
        );
        let made = after(&text, "CombineParallelMatmul()");
        assert_eq!((made.matches("R.matmul").count(), made.matches("R.nn.relu").count()), (1, 1), "{made}");
    }
}
