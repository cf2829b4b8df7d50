//! Tensor operators whose shape argument is an input (`dyn.*`).

use super::tensor_kernels as kernels;
use crate::ir::{DType, DTypeCode, Dim};
use crate::ops::row::{op, relay};
use crate::ops::schema::{field, schema};
use crate::ops::tensor::arrange::INIT_OP;
use crate::ops::tensor::arrange::TILE;
use crate::ops::tensor::index::ONE_HOT;
use crate::ops::tensor::shape::RESHAPE;
use crate::ops::tensor::shape::SQUEEZE;
use crate::ops::tensor::slice::STRIDED_SLICE;
use crate::ops::tensor::sort::TOPK;
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.DynExpandDimsAttrs`.
pub static DYN_EXPAND_DIMS: AttrsSchema = schema("relay.attrs.DynExpandDimsAttrs", &[field::int("num_newaxis", 1)]);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("dyn.reshape", "Like `reshape`, with the new shape as an input.")
        .pattern(OpPattern::Injective)
        .reshape()
        .kernel(kernels::reshape)
        .relay(relay(&["data", "newshape"], reshape_rule).attrs(&RESHAPE)),
    op("dyn.squeeze", "Like `squeeze`, with the axes as an input.")
        .pattern(OpPattern::Injective)
        .reshape()
        .kernel(kernels::squeeze)
        .relay(relay(&["data", "axes"], squeeze_rule).attrs(&SQUEEZE)),
    op("dyn.expand_dims", "Like `expand_dims`, with the axis as an input.")
        .pattern(OpPattern::Injective)
        .kernel(kernels::expand_dims)
        .relay(relay(&["data", "axis"], expand_dims_rule)),
    op("dyn.tile", "Like `tile`, with the repetitions as an input.")
        .pattern(OpPattern::Injective)
        .kernel(kernels::tile)
        .relay(relay(&["data", "reps"], tile_rule).attrs(&TILE)),
    op("dyn.broadcast_to", "Like `broadcast_to`, with the shape as an input.")
        .pattern(OpPattern::Broadcast)
        .kernel(kernels::broadcast_to)
        .relay(relay(&["data", "shape"], broadcast_to_rule).attrs(&INIT_OP)),
    op("dyn.zeros", "Like `zeros`, with the shape as an input.")
        .pattern(OpPattern::ElemWise)
        .kernel(kernels::zeros)
        .relay(relay(&["shape"], init_rule).attrs(&INIT_OP)),
    op("dyn.ones", "Like `ones`, with the shape as an input.")
        .pattern(OpPattern::ElemWise)
        .kernel(kernels::ones)
        .relay(relay(&["shape"], init_rule).attrs(&INIT_OP)),
    op("dyn.full", "Like `full`, with the shape as an input.")
        .pattern(OpPattern::ElemWise)
        .kernel(kernels::full)
        .relay(relay(&["fill_value", "shape"], full_rule).attrs(&INIT_OP)),
    op("dyn.one_hot", "Like `one_hot`, with the depth as an input.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(kernels::one_hot)
        .relay(relay(&["indices", "on_value", "off_value", "depth"], one_hot_rule).attrs(&ONE_HOT)),
    op("dyn.strided_slice", "Like `strided_slice`, with begin, end and strides as inputs.")
        .pattern(OpPattern::Injective)
        .kernel(kernels::strided_slice)
        .relay(relay(&["data", "begin", "end", "strides"], strided_slice_rule).attrs(&STRIDED_SLICE)),
    op("dyn.sparse_to_dense", "Like `sparse_to_dense`, with the shape as an input.")
        .pattern(OpPattern::Opaque)
        .kernel(kernels::sparse_to_dense)
        .relay(relay(&["sparse_indices", "sparse_values", "default_value", "output_shape"], sparse_to_dense_rule)),
    op("dyn.topk", "Like `topk`, with `k` as an input.")
        .pattern(OpPattern::Opaque)
        .kernel(kernels::topk)
        .relay(relay(&["data", "k"], topk_rule).attrs(&TOPK)),
];

/// The length of an input that must be a vector, which is the rank of the result.
fn vector_length(cx: &RuleCx<'_>, shape: &[Dim], what: &str) -> Result<usize, String> {
    let length = shape.first().and_then(|d| d.known()).filter(|n| (0..=1024).contains(n));
    length.map(|n| n as usize).ok_or_else(|| format!("{what} must have a static rank, but its shape is {}", cx.show(shape)))
}

fn output_unknown(cx: &mut RuleCx<'_>, rank: usize, dtype: DType) -> RuleResult {
    cx.output_tensor(&vec![Dim::Any; rank], dtype)
}

fn reshape_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (_, dtype) = input!(cx, 0);
    let (wanted, _) = input!(cx, 1);
    let rank = vector_length(cx, &wanted, "the new shape")?;
    output_unknown(cx, rank, dtype)
}

fn tile_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (reps, _) = input!(cx, 1);
    let rank = vector_length(cx, &reps, "Parameter reps")?.max(shape.len());
    output_unknown(cx, rank, dtype)
}

fn broadcast_to_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (_, dtype) = input!(cx, 0);
    let (target, _) = input!(cx, 1);
    let rank = vector_length(cx, &target, "Target shape")?;
    output_unknown(cx, rank, dtype)
}

fn init_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    let rank = vector_length(cx, &shape, "Parameter shape")?;
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").ok_or("`dtype` is not given")?;
    output_unknown(cx, rank, dtype)
}

fn full_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (fill, fill_dtype) = input!(cx, 0);
    let (shape, _) = input!(cx, 1);
    ensure!(fill.is_empty(), "Fill value should be a scalar but has dimension {}.", fill.len());
    let rank = vector_length(cx, &shape, "Parameter shape")?;
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").unwrap_or(fill_dtype);
    output_unknown(cx, rank, dtype)
}

fn one_hot_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (mut shape, _) = input!(cx, 0);
    let axis = cx.attr_int("axis");
    let place = if axis == -1 { shape.len() as i64 } else { axis };
    ensure!((0..=shape.len() as i64).contains(&place), "one_hot: `axis` is out of range: {axis}");
    shape.insert(place as usize, Dim::Any);
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").ok_or("`dtype` is not given")?;
    cx.output_tensor(&shape, dtype)
}

fn strided_slice_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (mut shape, dtype) = input!(cx, 0);
    let (begin, _) = input!(cx, 1);
    let n = vector_length(cx, &begin, "begin")?;
    ensure!(n <= shape.len(), "dyn.strided_slice: {n} bounds for {} axes", shape.len());
    shape[..n].fill(Dim::Any);
    cx.output_tensor(&shape, dtype)
}

fn sparse_to_dense_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (indices, index_dtype) = input!(cx, 0);
    let (values, dtype) = input!(cx, 1);
    let (default, _) = input!(cx, 2);
    let (shape, _) = input!(cx, 3);
    ensure!(index_dtype.code == DTypeCode::Int, "sparse_indices must be tensor of integers");
    ensure!(indices.len() <= 3, "sparse_indices must be a tensor of either 0D, 1D or 2D");
    ensure!(values.len() <= 2, "sparse_values must be a tensor of either 0D, 1D");
    ensure!(default.is_empty(), "default_value should be a scalar");
    let rank = vector_length(cx, &shape, "output_shape")?;
    output_unknown(cx, rank, dtype)
}

fn expand_dims_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (axis, _) = input!(cx, 1);
    ensure!(axis.is_empty(), "Axis should be a scalar got shape {}", cx.show(&axis));
    let added = cx.store.attr_int(cx.attrs, "num_newaxis").unwrap_or(1);
    ensure!((0..=1024).contains(&added), "dyn.expand_dims by {added} axes");
    output_unknown(cx, shape.len() + added as usize, dtype)
}

fn squeeze_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (axes, _) = input!(cx, 1);
    ensure!(axes.len() == 1, "the axes to squeeze must be a vector");
    let n = vector_length(cx, &axes, "axes")?;
    ensure!(n <= shape.len(), "dyn.squeeze removes {n} axes of {}", shape.len());
    output_unknown(cx, shape.len() - n, dtype)
}

fn topk_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (mut shape, dtype) = input!(cx, 0);
    let (k, _) = input!(cx, 1);
    let scalar = k.is_empty() || (k.len() == 1 && k[0].known() == Some(1));
    ensure!(scalar, "Parameter k must be a Scalar or a Tensor of shape (1, )");
    let axis = cx.attr_axis(shape.len()).ok_or("topk: `axis` is out of range")?;
    shape[axis] = Dim::Any;
    let values = cx.store.tensor_type(&shape, dtype);
    if cx.attr_text("ret_type") == "values" {
        return cx.output(values);
    }
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").ok_or("`dtype` is not given")?;
    let indices = cx.store.tensor_type(&shape, dtype);
    let out = match cx.attr_text("ret_type") {
        "both" => cx.store.tuple_type(&[values, indices]),
        "indices" => indices,
        other => return Err(format!("Unsupported ret type: {other}")),
    };
    cx.output(out)
}
