//! Normalisations.
//!
//! Source: `python/tvm/topi/nn/batch_norm.py`, `include/tvm/topi/nn/layer_norm.h`, `rms_norm.h`, `group_norm.h`, `instance_norm.h`.

use super::elementwise::{cast_as, intrinsic, of, scalar_with, with_scalar};
use super::lower::{Lower, Lowered, Refused, from_front};
use super::manipulate::reshape;
use super::reduce::over;
use super::te::{Axis, Body, Combine, Reducer, Te, Tensor};
use super::{Rule, rule};
use crate::ir::sort::sort_by;
use crate::ir::{DType, ExprId, PrimId, Store};

pub(super) const RULES: &[Rule] = &[
    rule("nn.batch_norm", "batch_norm", batch_norm),
    rule("nn.layer_norm", "layer_norm", layer_norm),
    rule("nn.rms_norm", "rms_norm", rms_norm),
    rule("nn.group_norm", "group_norm", group_norm),
    rule("nn.instance_norm", "instance_norm", instance_norm),
];

fn batch_norm(cx: &mut Lower) -> Lowered {
    let mut tensors = Vec::new();
    for index in 0..5 {
        tensors.push(cx.tensor(index)?);
    }
    let [x, gamma, beta, moving_mean, moving_variance] = tensors[..] else { return Err(Refused::Leave) };
    let (epsilon, momentum) = (cx.float("epsilon"), cx.float("momentum"));
    let (center, scale, training) = (cx.flag("center"), cx.flag("scale"), cx.flag("training"));
    let axis = from_front(cx.int("axis").unwrap_or(1), cx.te.rank(x));
    let te = &mut cx.te;
    let own = te.shape(x);
    let one = te.int(1);
    let shape: Vec<PrimId> = own.iter().enumerate().map(|(at, extent)| if at == axis { *extent } else { one }).collect();
    // Numbers of Python are float32 beside tensors, whatever element type those have.
    let epsilon = te.number(epsilon, DType::F32);
    let normalised = |te: &mut Te, above: Tensor, variance: Tensor| {
        let more = with_scalar(te, "add", variance, epsilon);
        let deviation = intrinsic(te, "sqrt", more);
        of(te, "divide", above, deviation)
    };
    let mut batch = None;
    let mut out = if training {
        let axes: Vec<usize> = (0..own.len()).filter(|other| *other != axis).collect();
        let extents: Vec<PrimId> = axes.iter().map(|axis| own[*axis]).collect();
        let size = te.product(&extents);
        let sum = over(te, x, &axes, false, Reducer::Sum);
        let mean = with_scalar(te, "divide", sum, size);
        let wide = reshape(te, mean, &shape);
        let (a, b) = (of(te, "subtract", x, wide), of(te, "subtract", x, wide));
        let squared = of(te, "multiply", a, b);
        let sum = over(te, squared, &axes, false, Reducer::Sum);
        let variance = with_scalar(te, "divide", sum, size);
        let spread = reshape(te, variance, &shape);
        batch = Some((mean, variance));
        let above = of(te, "subtract", x, wide);
        normalised(te, above, spread)
    } else {
        let (mean, variance) = (reshape(te, moving_mean, &shape), reshape(te, moving_variance, &shape));
        let above = of(te, "subtract", x, mean);
        normalised(te, above, variance)
    };
    if scale {
        let gamma = reshape(te, gamma, &shape);
        out = of(te, "multiply", out, gamma);
    }
    if center {
        let beta = reshape(te, beta, &shape);
        out = of(te, "add", out, beta);
    }
    let (mean, variance) = match batch {
        Some((mean, variance)) => {
            let mut moved = |moving: Tensor, found: Tensor| {
                let (kept, new) = (te.number(1.0 - momentum, DType::F32), te.number(momentum, DType::F32));
                let (kept, new) = (scalar_with(te, "multiply", kept, moving), scalar_with(te, "multiply", new, found));
                of(te, "add", kept, new)
            };
            (moved(moving_mean, mean), moved(moving_variance, variance))
        }
        None => {
            let mut same = |moving: Tensor| {
                let one = te.number(1.0, te.dtype(moving));
                with_scalar(te, "multiply", moving, one)
            };
            (same(moving_mean), same(moving_variance))
        }
    };
    cx.finish(&[out, mean, variance])
}

/// Returns the axes of the normalisation, in order.
fn normal_axes(cx: &Lower, rank: usize) -> Vec<usize> {
    let mut axes = cx.axes("axes", rank);
    sort_by(&mut axes, |a, b| a.cmp(b));
    axes.dedup();
    axes
}

/// Picks the indices of these axes, or of the others.
fn pick(at: &[PrimId], axes: &[usize], among: bool) -> Vec<PrimId> {
    at.iter().enumerate().filter(|(axis, _)| axes.contains(axis) == among).map(|(_, index)| *index).collect()
}

/// Merges the outer and the reduced indices to those of the element that a reduction over axes reads.
fn merged(rank: usize, axes: &[usize], at: &[PrimId], k: &[PrimId]) -> Vec<PrimId> {
    let (mut at, mut k) = (at.iter(), k.iter());
    (0..rank).filter_map(|axis| if axes.contains(&axis) { k.next() } else { at.next() }).copied().collect()
}

fn reduce_axes(te: &mut Te, own: &[PrimId], axes: &[usize]) -> Vec<Axis> {
    axes.iter().map(|axis| te.axis(&format!("k{axis}"), own[*axis])).collect()
}

fn is_supported(te: &Te, x: Tensor) -> Result<(), Refused> {
    match te.dtype(x) {
        DType::F32 | DType::F16 => Ok(()),
        _ => Err("only support float32 and float16 for now".into()),
    }
}

/// Returns the product of extents as a number of a type.
fn size(te: &mut Te, own: &[PrimId], axes: &[usize], dtype: DType) -> PrimId {
    let one = te.number(1.0, dtype);
    axes.iter().fold(one, |size, axis| te.times(size, own[*axis]))
}

fn layer_norm(cx: &mut Lower) -> Lowered {
    let (x, gamma, beta) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let epsilon = cx.float("epsilon");
    let axes = normal_axes(cx, cx.te.rank(x));
    let te = &mut cx.te;
    is_supported(te, x)?;
    let (own, name) = (te.shape(x), te.op_name(x));
    let left = pick(&own, &axes, false);
    let wide = |te: &mut Te, at: &[PrimId]| {
        let value = te.load(x, at);
        te.cast(DType::F32, value)
    };
    let names: Vec<String> = axes.iter().map(|axis| format!("k{axis}")).collect();
    let reduced: Vec<(&str, PrimId)> = names.iter().zip(&axes).map(|(name, axis)| (name.as_str(), own[*axis])).collect();
    let sum = te.reduce(&format!("{name}_sum"), "ax", &left, &reduced, Reducer::Sum, &mut |te, at, k| {
        wide(te, &merged(own.len(), &axes, at, k))
    });
    let count = size(te, &own, &axes, DType::F32);
    let mean = te.compute(&format!("{name}_mean"), "ax", &left, &mut |te, at| {
        let sum = te.load(sum, at);
        te.over(sum, count)
    });
    let squares = te.reduce(&format!("{name}_var_sum"), "ax", &left, &reduced, Reducer::Sum, &mut |te, at, k| {
        let value = wide(te, &merged(own.len(), &axes, at, k));
        let mean = te.load(mean, at);
        let above = te.minus(value, mean);
        te.times(above, above)
    });
    let out = te.compute("T_layer_norm", "ax", &own, &mut |te, at| {
        let (inner, outer) = (pick(at, &axes, true), pick(at, &axes, false));
        let (mean, squares) = (te.load(mean, &outer), te.load(squares, &outer));
        let variance = te.over(squares, count);
        let value = wide(te, at);
        let above = te.minus(value, mean);
        let normal = normalised(te, above, variance, epsilon, te.dtype(x));
        scaled(te, normal, gamma, beta, &inner)
    });
    cx.finish(&[out])
}

/// Computes `above / sqrt(variance + epsilon)` as an element of this type.
fn normalised(te: &mut Te, above: PrimId, variance: PrimId, epsilon: f64, dtype: DType) -> PrimId {
    let epsilon = te.number(epsilon, te.type_of(variance));
    let more = te.plus(variance, epsilon);
    let root = te.call("rsqrt", &[more]);
    let normal = te.times(above, root);
    te.cast(dtype, normal)
}

/// `normal * gamma + beta`
fn scaled(te: &mut Te, normal: PrimId, gamma: Tensor, beta: Tensor, at: &[PrimId]) -> PrimId {
    let (gamma, beta) = (te.load(gamma, at), te.load(beta, at));
    let normal = te.times(normal, gamma);
    te.plus(normal, beta)
}

/// True if a call of `rms_norm` is over all axes: TVM's sum over them has one axis, and its reads have no index.
pub(super) fn reads_no_sum(store: &Store, call: ExprId, rank: usize) -> bool {
    let attrs = store.call(call).and_then(|call| call.attrs);
    store.attr_ints(attrs, "axes").is_none_or(|axes| axes.len() == rank)
}

fn rms_norm(cx: &mut Lower) -> Lowered {
    let (x, weight) = (cx.tensor(0)?, cx.tensor(1)?);
    let epsilon = cx.float("epsilon");
    let axes = normal_axes(cx, cx.te.rank(x));
    let te = &mut cx.te;
    let dtype = te.dtype(x);
    let (wide, wide_weight) = (cast_as(te, "T_cast", x, DType::F32), cast_as(te, "T_cast", weight, DType::F32));
    let squares = of(te, "multiply", wide, wide);
    let own = te.shape(x);
    let left = pick(&own, &axes, false);
    let sum = over(te, squares, &axes, false, Reducer::Sum);
    let count = size(te, &own, &axes, DType::F32);
    let root = te.compute("rsqrt", "ax", &left, &mut |te, at| {
        let sum = te.load(sum, at);
        let mean = te.over(sum, count);
        let epsilon = te.number(epsilon, dtype);
        let more = te.plus(mean, epsilon);
        te.call("rsqrt", &[more])
    });
    let out = te.compute("T_rms_norm", "ax", &own, &mut |te, at| {
        let (inner, outer) = (pick(at, &axes, true), pick(at, &axes, false));
        let (root, value, weight) = (te.load(root, &outer), te.load(wide, at), te.load(wide_weight, &inner));
        let value = te.times(root, value);
        te.times(value, weight)
    });
    let out = cast_as(te, "T_cast", out, dtype);
    cx.finish(&[out])
}

/// Sums elements and their squares over axes.
fn sums(te: &mut Te, name: &str, x: Tensor, axes: &[usize]) -> (Tensor, Tensor) {
    let own = te.shape(x);
    let left = pick(&own, axes, false);
    let space = te.axes("ax", &left);
    let reduced = reduce_axes(te, &own, axes);
    let (at, k) = (te.vars(&space), te.vars(&reduced));
    let value = te.load(x, &merged(own.len(), axes, &at, &k));
    let value = te.cast(DType::F32, value);
    let square = te.times(value, value);
    let zero = te.number(0.0, DType::F32);
    let combine: Combine = |te, a, b| vec![te.plus(a[0], b[0]), te.plus(a[1], b[1])];
    let body = Body::Reduce(vec![zero, zero], vec![value, square], combine);
    let outs = te.add(&format!("{name}_red_temp"), &left, space, reduced, body, Vec::new());
    (outs[0], outs[1])
}

/// Returns an element less the mean, and the variance, from sums over `count` elements.
fn moments(te: &mut Te, value: PrimId, (sum, squares): (PrimId, PrimId), count: PrimId) -> (PrimId, PrimId) {
    let (mean, square) = (te.over(sum, count), te.over(squares, count));
    let squared = te.times(mean, mean);
    let value = te.cast(DType::F32, value);
    (te.minus(value, mean), te.minus(square, squared))
}

fn group_norm(cx: &mut Lower) -> Lowered {
    let (x, gamma, beta) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let (epsilon, groups) = (cx.float("epsilon"), cx.int("num_groups").ok_or(Refused::Leave)?);
    let rank = cx.te.rank(x);
    let channel = from_front(cx.int("channel_axis").unwrap_or(1), rank);
    let mut axes: Vec<usize> =
        cx.axes("axes", rank).into_iter().map(|axis| if axis < channel { axis } else { axis + 1 }).collect();
    axes.push(channel + 1);
    sort_by(&mut axes, |a, b| a.cmp(b));
    let te = &mut cx.te;
    is_supported(te, x)?;
    let (own, name, dtype) = (te.shape(x), te.op_name(x), te.dtype(x));
    let groups = te.int(groups);
    let members = te.floordiv(own[channel], groups);
    let mut shape = own.clone();
    shape.splice(channel..=channel, [groups, members]);
    let grouped = reshape(te, x, &shape);
    let grouped = if dtype == DType::F16 { cast_as(te, "T_cast", grouped, DType::F32) } else { grouped };
    let (gamma, beta) = (reshape(te, gamma, &[groups, members]), reshape(te, beta, &[groups, members]));
    let (sum, squares) = sums(te, &name, grouped, &axes);
    let count = size(te, &shape, &axes, DType::F32);
    let out = te.compute("T_group_norm", "ax", &shape, &mut |te, at| {
        let outer = pick(at, &axes, false);
        let value = te.load(grouped, at);
        let pair = (te.load(sum, &outer), te.load(squares, &outer));
        let (above, variance) = moments(te, value, pair, count);
        let normal = normalised(te, above, variance, epsilon, dtype);
        scaled(te, normal, gamma, beta, &[at[channel], at[channel + 1]])
    });
    let out = reshape(te, out, &own);
    cx.finish(&[out])
}

fn instance_norm(cx: &mut Lower) -> Lowered {
    let (x, gamma, beta) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let epsilon = cx.float("epsilon");
    let rank = cx.te.rank(x);
    let channel = from_front(cx.int("channel_axis").unwrap_or(1), rank);
    let axes = normal_axes(cx, rank);
    let te = &mut cx.te;
    is_supported(te, x)?;
    let (own, name, dtype) = (te.shape(x), te.op_name(x), te.dtype(x));
    let (sum, squares) = sums(te, &name, x, &axes);
    let count = size(te, &own, &axes, dtype);
    let out = te.compute("T_instance_norm", "ax", &own, &mut |te, at| {
        let outer = pick(at, &axes, false);
        let value = te.load(x, at);
        let pair = (te.load(sum, &outer), te.load(squares, &outer));
        let (above, variance) = moments(te, value, pair, count);
        let normal = normalised(te, above, variance, epsilon, dtype);
        scaled(te, normal, gamma, beta, &[at[channel]])
    });
    cx.finish(&[out])
}
