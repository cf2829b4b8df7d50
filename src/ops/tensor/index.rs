//! Operators that pick elements by index.

use super::{ensure, index_kernels, input, is_integer, tensors_of_tuple};
use crate::ir::{DType, DTypeCode, Dim};
use crate::ops::identity;
use crate::ops::relax::{deduce, gradient, layout};
use crate::ops::row::{op, prim, relax, relay, tuple, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult, broadcast_shapes};

/// Attributes `relay.attrs.OneHotAttrs`.
pub static ONE_HOT: AttrsSchema =
    schema("relay.attrs.OneHotAttrs", &[field::int("depth", 1), field::int("axis", -1), field::dtype("dtype", "")]);

/// Attributes `relax.attrs.TakeAttrs`.
pub static RELAX_TAKE: AttrsSchema =
    schema("relax.attrs.TakeAttrs", &[field::or_none("axis", AttrKind::Integer), field::text("mode", "fast")]);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op(
        "take",
        "Picks elements or slices along an axis by index. `mode` says what becomes of an index out of range: \
         `clip`, `wrap` or `fast`, which trusts it.",
    )
    .pattern(OpPattern::Injective)
    .kernel(index_kernels::take)
    .relay(relay(&["data", "indices"], take_rule).attrs(&schema(
        "relay.attrs.TakeAttrs",
        &[field::integer("batch_dims", 0), field::or_none("axis", AttrKind::Integer), field::text("mode", "clip")],
    )))
    .relax(relax(&[value("x"), value("indices")], deduce::index::take).attrs(&RELAX_TAKE).gradient(gradient::manipulate::take)),
    op("gather", "Picks one element for each element of `indices` along an axis.")
        .pattern(OpPattern::Injective)
        .kernel(index_kernels::gather)
        .relay(
            relay(&["data", "indices"], gather_rule)
                .attrs(&schema("relay.attrs.GatherAttrs", &[field::or_none("axis", AttrKind::Integer)])),
        ),
    op(
        "gather_nd",
        "Picks elements or slices by index tuples, which stand along the first axis of `indices` in Relay and \
         along the last in Relax.",
    )
    .pattern(OpPattern::Injective)
    .kernel(index_kernels::gather_nd)
    .relay(relay(&["data", "indices"], gather_nd_rule).attrs(&schema(
        "relay.attrs.GatherNDAttrs",
        &[field::integer("batch_dims", 0), field::or_none("index_rank", AttrKind::Integer)],
    )))
    .relax(
        relax(&[value("data"), value("indices")], deduce::index::gather_nd)
            .attrs(&schema("relax.attrs.GatherNDAttrs", &[field::int("batch_dims", 0)])),
    ),
    op(
        "adv_index",
        "Indexes the first tensor of a tuple by the others, broadcast against each other, one for each \
         leading axis.",
    )
    .pattern(OpPattern::Injective)
    .kernel(index_kernels::adv_index)
    .relay(relay(&["inputs"], adv_index_rule)),
    op("argwhere", "The indices of the elements that are not zero. Their number is known only when it runs.")
        .pattern(OpPattern::Opaque)
        .kernel(index_kernels::argwhere)
        .relay(relay(&["condition"], argwhere_rule)),
    op("unravel_index", "Converts flat indices into coordinates of the given shape.")
        .pattern(OpPattern::Injective)
        .kernel(index_kernels::unravel_index)
        .relay(relay(&["data", "shape"], unravel_index_rule)),
    op("where", "Elements of `x` where the condition is true and of `y` elsewhere, with broadcasting.")
        .pattern(OpPattern::Broadcast)
        .kernel(index_kernels::choose)
        .relay(relay(&["condition", "x", "y"], where_rule))
        .relax(
            relax(&[value("condition"), value("x1"), value("x2")], deduce::search::where_)
                .gradient(gradient::element::choose)
                .same_kernel(),
        ),
    op("one_hot", "`on_value` at the position each index names along a new axis, `off_value` elsewhere.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(index_kernels::one_hot)
        .relay(relay(&["indices", "on_value", "off_value"], one_hot_rule).attrs(&ONE_HOT))
        .relax(
            relax(&[value("indices"), prim("on_value"), prim("off_value")], deduce::manipulate::one_hot)
                .attrs(&schema("relax.attrs.OneHotAttrs", &[field::required("depth", AttrKind::Int), field::int("axis", -1)])),
        ),
    op("sequence_mask", "Replaces the elements behind each sequence's valid length by `mask_value`.")
        .pattern(OpPattern::Injective)
        .kernel(index_kernels::sequence_mask)
        .relay(
            relay(&["data", "valid_length"], sequence_mask_rule)
                .attrs(&schema("relay.attrs.SequenceMaskAttrs", &[field::float("mask_value", 0.0), field::int("axis", 0)])),
        ),
    op("invert_permutation", "The inverse of a permutation of 0 to n-1.")
        .pattern(OpPattern::Injective)
        .kernel(index_kernels::invert_permutation)
        .relay(relay(&["data"], identity)),
    op("gather_elements", "Elements along `axis` at the given indices.").relax(
        relax(&[value("data"), value("indices")], deduce::index::gather_elements)
            .attrs(&schema("relax.attrs.GatherElementsAttrs", &[field::int("axis", 0)]))
            .layout(layout::select::gather_elements),
    ),
    op("index_tensor", "Elements at the given indices, as NumPy indexes.")
        .relax(relax(&[value("data"), tuple("indices")], deduce::index::index_tensor)),
    op("nonzero", "Where the elements are not zero.").relax(relax(&[value("x")], deduce::search::nonzero)),
];

pub(super) fn take_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (data, dtype) = input!(cx, 0);
    let (indices, index_dtype) = input!(cx, 1);
    ensure!(is_integer(index_dtype), "indices of take must be tensor of integer");
    let Some(axis) = cx.store.attr_int(cx.attrs, "axis") else { return cx.output_tensor(&indices, dtype) };
    let batch = cx.attr_int("batch_dims");
    let axis = if axis < 0 { axis + data.len() as i64 } else { axis };
    ensure!((0..data.len() as i64).contains(&axis), "axis should be with in data shape, but got = {axis}");
    ensure!((0..=indices.len() as i64).contains(&batch), "batch_dims should be with in indices shape, but got = {batch}");
    ensure!(batch <= axis, "batch_dims should be less than or equal to axis, but got = {batch}");
    let (axis, batch) = (axis as usize, batch as usize);
    let out = [&data[..axis], &indices[batch..], &data[axis + 1..]].concat();
    cx.output_tensor(&out, dtype)
}

fn gather_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (data, dtype) = input!(cx, 0);
    let (indices, index_dtype) = input!(cx, 1);
    ensure!(index_dtype.code == DTypeCode::Int, "indices of take must be tensor of integer");
    ensure!(data.len() == indices.len(), "gather: data has {} axes, indices {}", data.len(), indices.len());
    let axis = cx.attr_axis(data.len()).ok_or("gather: `axis` is out of range")?;
    for (i, (a, b)) in indices.iter().zip(&data).enumerate() {
        let fits = if i == axis { a.known().is_none_or(|extent| extent >= 1) } else { cx.may_equal(*a, *b) };
        ensure!(fits, "gather: indices do not fit the data along axis {i}");
    }
    cx.output_tensor(&indices, dtype)
}

pub(super) fn gather_nd_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (data, dtype) = input!(cx, 0);
    let (indices, _) = input!(cx, 1);
    let depth = index_depth(cx, &indices, "GatherND")?;
    ensure!(depth <= data.len(), "GatherND: indices shape does satisfy.");
    let batch = cx.attr_int("batch_dims");
    ensure!((0..indices.len() as i64).contains(&batch), "gather_nd: `batch_dims` is out of range: {batch}");
    let batch = batch as usize;
    ensure!(depth + batch <= data.len(), "gather_nd: index tuples of {depth} behind {batch} batch axes");
    for i in 0..batch {
        ensure!(cx.may_equal(data[i], indices[i + 1]), "gather_nd: batch axis {i} of data and indices differ");
    }
    let out = [&indices[1..], &data[depth + batch..]].concat();
    cx.output_tensor(&out, dtype)
}

/// The length of the index tuples that stand along the first axis of `indices`.
pub(super) fn index_depth(cx: &RuleCx<'_>, indices: &[Dim], op: &str) -> Result<usize, String> {
    let depth = indices.first().and_then(|d| d.known()).and_then(|d| usize::try_from(d).ok());
    depth.ok_or_else(|| format!("{op} needs a static shape for the first axis of indices, got {}", cx.show(indices)))
}

pub(super) fn adv_index_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some(parts) = tensors_of_tuple(cx, 0, "adv_index")? else { return Ok(false) };
    let [(data, dtype), indices @ ..] = &parts[..] else { return Err("adv_index needs data and indices".into()) };
    ensure!(indices.len() <= data.len(), "too many indices for data!");
    let [(first, _), others @ ..] = indices else { return Err("adv_index needs at least one index".into()) };
    let mut shape = first.clone();
    for (other, _) in others {
        let (a, b) = (cx.show(&shape), cx.show(other));
        shape = broadcast_shapes(cx.store, &shape, other).ok_or_else(|| format!("Incompatible broadcast type {a} and {b}"))?;
    }
    shape.extend(&data[indices.len()..]);
    cx.output_tensor(&shape, *dtype)
}

fn argwhere_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    cx.output_tensor(&[Dim::Any, Dim::int(shape.len() as i64)], DType::I32)
}

pub(super) fn unravel_index_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (indices, dtype) = input!(cx, 0);
    ensure!(is_integer(dtype), "indices of unravel_index must be tensor of integer");
    let (shape, shape_dtype) = input!(cx, 1);
    ensure!(is_integer(shape_dtype), "shape of unravel_index must be tensor of integer");
    let rank = *shape.first().ok_or("shape of unravel_index must be a vector")?;
    let mut out = vec![rank];
    out.extend(indices.first());
    cx.output_tensor(&out, dtype)
}

fn where_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (condition, _) = input!(cx, 0);
    let (x, x_dtype) = input!(cx, 1);
    let (y, y_dtype) = input!(cx, 2);
    ensure!(x_dtype == y_dtype, "x and y must have the same dtype: {x_dtype} vs {y_dtype}");
    let mut shape = x;
    for other in [&y, &condition] {
        let (a, b) = (cx.show(&shape), cx.show(other));
        shape = broadcast_shapes(cx.store, other, &shape).ok_or_else(|| format!("Incompatible broadcast type {a} and {b}"))?;
    }
    cx.output_tensor(&shape, x_dtype)
}

pub(super) fn one_hot_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (mut shape, _) = input!(cx, 0);
    let (depth, axis) = (cx.attr_int("depth"), cx.attr_int("axis"));
    ensure!(depth > 0, "one_hot needs a positive depth, but got {depth}");
    let place = if axis == -1 { shape.len() as i64 } else { axis };
    ensure!((0..=shape.len() as i64).contains(&place), "one_hot: `axis` is out of range: {axis}");
    shape.insert(place as usize, Dim::int(depth));
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").ok_or("`dtype` is not given")?;
    cx.output_tensor(&shape, dtype)
}

fn sequence_mask_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    let (_, length_dtype) = input!(cx, 1);
    let axis = cx.attr_int("axis");
    ensure!(axis == 0 || axis == 1, "sequence_mask: `axis` must be 0 or 1, but got {axis}");
    let batch = *shape.get(1 - axis as usize).ok_or("sequence_mask needs data of at least two axes")?;
    cx.assign_tensor(1, &[batch], length_dtype)?;
    let same = cx.types[0];
    cx.output(same)
}
