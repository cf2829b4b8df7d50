//! Reductions over axes.

use super::{ensure, input, reduce_kernels};
use crate::ir::{DType, DTypeCode, Dim, TypeId};
use crate::ops::relax::{deduce, gradient, layout};
use crate::ops::row::{op, relax, relay, shape, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, Kernel, OpInfo, OpPattern, RelaxOp};
use crate::ops::{RuleCx, RuleResult, broadcast, dim_bits};

/// Attributes `relay.attrs.ReduceAttrs`.
pub static REDUCE: AttrsSchema = schema(
    "relay.attrs.ReduceAttrs",
    &[field::or_none("axis", AttrKind::Ints), field::flag("keepdims", false), field::flag("exclude", false)],
);

/// Attributes `relay.attrs.ArgReduceAttrs`.
pub static ARG_REDUCE: AttrsSchema = schema(
    "relay.attrs.ArgReduceAttrs",
    &[
        field::or_none("axis", AttrKind::Ints),
        field::flag("keepdims", false),
        field::flag("select_last_index", false),
        field::flag("exclude", false),
    ],
);

/// Attributes `relax.attrs.ArgReduceAttrs`.
static RELAX_ARG_REDUCE: AttrsSchema =
    schema("relax.attrs.ArgReduceAttrs", &[field::or_none("axis", AttrKind::Integer), field::flag("keepdims", false)]);

/// Attributes `relax.attrs.StatisticalAttrs`.
static RELAX_STATISTICAL: AttrsSchema =
    schema("relax.attrs.StatisticalAttrs", &[field::or_none("axis", AttrKind::Ints), field::flag("keepdims", false)]);

/// An operator whose result has the element type of its input.
#[track_caller]
const fn reduction(name: &'static str, doc: &'static str, kernel: Kernel) -> OpInfo {
    op(name, doc).pattern(OpPattern::CommReduce).kernel(kernel).relay(relay(const { &["data"] }, reduce_rule).attrs(&REDUCE))
}

const RELAX_REDUCE: RelaxOp =
    relax(&[value("x")], deduce::statistic::reduce).attrs(&RELAX_STATISTICAL).layout(layout::select::statistical);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    reduction("sum", "Sum over the axes, all of them when `axis` is not given.", reduce_kernels::sum)
        .relax(RELAX_REDUCE.gradient(gradient::element::sum)),
    reduction("mean", "Mean over the axes, all of them when `axis` is not given.", reduce_kernels::mean)
        .relax(RELAX_REDUCE.gradient(gradient::element::mean)),
    reduction("prod", "Product over the axes, all of them when `axis` is not given.", reduce_kernels::prod).relax(RELAX_REDUCE),
    reduction("max", "Largest element over the axes, all of them when `axis` is not given.", reduce_kernels::largest)
        .relax(RELAX_REDUCE),
    reduction("min", "Smallest element over the axes, all of them when `axis` is not given.", reduce_kernels::smallest)
        .relax(RELAX_REDUCE),
    reduction("all", "Whether all elements over the axes are true.", reduce_kernels::all),
    reduction("any", "Whether some element over the axes is true.", reduce_kernels::any),
    op("argmax", "Index of the largest element over the axes.")
        .pattern(OpPattern::CommReduce)
        .kernel(reduce_kernels::argmax)
        .relay(relay(&["data"], arg_reduce_rule).attrs(&ARG_REDUCE))
        .relax(relax(&[value("x")], deduce::search::arg_reduce).attrs(&RELAX_ARG_REDUCE)),
    op("argmin", "Index of the smallest element over the axes.")
        .pattern(OpPattern::CommReduce)
        .kernel(reduce_kernels::argmin)
        .relay(relay(&["data"], arg_reduce_rule).attrs(&ARG_REDUCE))
        .relax(relax(&[value("x")], deduce::search::arg_reduce).attrs(&RELAX_ARG_REDUCE)),
    op(
        "variance",
        "Variance over the axes. Relay takes the mean as an input; there `unbiased` divides by one less than \
         the number of elements.",
    )
    .pattern(OpPattern::CommReduce)
    .kernel(reduce_kernels::variance)
    .relay(relay(&["data", "mean"], variance_rule).attrs(&schema(
        "relay.attrs.VarianceAttrs",
        &[
            field::or_none("axis", AttrKind::Ints),
            field::flag("keepdims", false),
            field::flag("exclude", false),
            field::flag("unbiased", false),
        ],
    )))
    .relax(RELAX_REDUCE.gradient(gradient::element::variance)),
    op(
        "collapse_sum_like",
        "Sums over the axes that broadcasting added or stretched, so that the result has the shape of the \
         second input.",
    )
    .pattern(OpPattern::CommReduce)
    .kernel(reduce_kernels::collapse_sum_like)
    .relay(relay(&["data", "collapse_type"], collapse_sum_like_rule))
    .relax(relax(&[value("data"), value("collapse_target")], deduce::manipulate::collapse_sum_like)),
    op("collapse_sum_to", "Sums over the axes that broadcasting added or stretched, so that the result has the given shape.")
        .pattern(OpPattern::CommReduce)
        .kernel(reduce_kernels::collapse_sum_to)
        .relay(relay(&["data", "shape"], collapse_sum_to_rule))
        .relax(relax(&[value("data"), shape("shape")], deduce::manipulate::collapse_sum_to)),
    op("median", "The median along the axes.").relax(relax(&[value("x")], deduce::statistic::median).attrs(&RELAX_STATISTICAL)),
    op("std", "The standard deviation along the axes.").relax(RELAX_REDUCE),
];

/// Returns the reduced axes, in order: those of `axis`, the others with `exclude`, all without `axis`.
pub(crate) fn reduced_axes(rank: usize, axes: Option<&[i64]>, exclude: bool) -> Result<Vec<usize>, String> {
    let Some(axes) = axes.filter(|a| !a.is_empty()) else { return Ok((0..rank).collect()) };
    let mut listed = vec![false; rank];
    for &axis in axes {
        let place = if axis < 0 { axis + rank as i64 } else { axis };
        ensure!((0..rank as i64).contains(&place), "Axis out of bounds in reduce operator.");
        ensure!(!listed[place as usize], "axis {axis} is listed twice in reduce operator");
        listed[place as usize] = true;
    }
    Ok((0..rank).filter(|i| listed[*i] != exclude).collect())
}

fn reduced_shape(cx: &RuleCx<'_>, shape: &[Dim]) -> Result<Vec<Dim>, String> {
    let axes = cx.store.attr_ints(cx.attrs, "axis");
    let axes = reduced_axes(shape.len(), axes.as_deref(), cx.attr_flag("exclude"))?;
    let keep = cx.attr_flag("keepdims");
    let axes = shape.iter().enumerate().map(|(i, dim)| if axes.contains(&i) { None } else { Some(*dim) });
    Ok(axes.filter_map(|dim| dim.or(keep.then_some(Dim::int(1)))).collect())
}

pub(super) fn reduce_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let out = reduced_shape(cx, &shape)?;
    cx.output_tensor(&out, dtype)
}

pub(super) fn arg_reduce_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    ensure!(!shape.is_empty(), "argmax and argmin need at least one axis");
    let out = reduced_shape(cx, &shape)?;
    // The index is as wide as the first extent.
    let bits = dim_bits(cx.store, shape[0]);
    cx.output_tensor(&out, DType::new(DTypeCode::Int, bits))
}

pub(super) fn variance_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    ensure!(!shape.is_empty(), "variance needs at least one axis");
    let (mean, _) = input!(cx, 1);
    ensure!(mean.len() == shape.len(), "variance: the mean has {} axes, the data {}", mean.len(), shape.len());
    let out = reduced_shape(cx, &shape)?;
    cx.output_tensor(&out, dtype)
}

/// Demands that `a` and `b` broadcast to `a`, so that `a` can be summed down to `b`.
fn collapses_to(cx: &mut RuleCx<'_>, a: TypeId, b: TypeId) -> RuleResult {
    broadcast(&mut RuleCx { store: cx.store, types: &[a, b, a], n_inputs: 2, attrs: None, unify: cx.unify })
}

fn collapse_sum_like_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (from, to) = (cx.types[0], cx.types[1]);
    cx.output(to)?;
    collapses_to(cx, from, to)
}

pub(super) fn collapse_sum_to_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (_, dtype) = input!(cx, 0);
    let (shape, _) = input!(cx, 1);
    let shape = match cx.attr_dims("shape") {
        Some(shape) => shape,
        None => {
            let rank = shape.first().and_then(|d| d.known()).ok_or("Parameter must have static rank")?;
            ensure!((0..=1024).contains(&rank), "a tensor of rank {rank}");
            vec![Dim::Any; rank as usize]
        }
    };
    let target = cx.store.tensor_type(&shape, dtype);
    cx.output(target)?;
    collapses_to(cx, cx.types[0], target)
}
