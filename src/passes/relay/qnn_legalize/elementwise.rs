//! Quantised operators over single elements, and poolings.
//!
//! Source: `src/relay/qnn/op/quantize.cc`, `dequantize.cc`, `add.cc`, `subtract.cc`, `mul.cc`, `concatenate.cc`,
//! `leaky_relu.cc`, `softmax.cc`, `avg_pool2d.cc`, `op_common.h`.

use super::super::support::emit::Emit;
use super::super::support::legalizer::Site;
use super::super::support::{expand_to_axes, value_range};
use super::fixed_point::multiply;
use super::requantize::{Change, over_axis, requantize};
use crate::ir::{DType, DTypeCode, Dim, Expr, ExprId, Type};
use crate::ops::build::{int_tensor, tensor};
use crate::ops::tensor_of;

/// The real numbers that integers stand for: `(integer - zero_point) * scale`.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub scale: ExprId,
    pub zero_point: ExprId,
}

type Made = Result<ExprId, String>;

/// Clips to the range of a type and casts to it.
pub(super) fn narrowed(emit: &mut Emit<'_>, x: ExprId, to: DType) -> Made {
    let range = value_range(to).filter(|_| matches!(to.code, DTypeCode::Int | DTypeCode::UInt) && to.bits <= 32);
    let (low, high) = range.ok_or("QNN ops support int32 or lower precision")?;
    let x = emit.clip(x, low, high);
    Ok(emit.cast(x, to))
}

/// Makes real numbers of integers.
pub(super) fn to_reals(emit: &mut Emit<'_>, x: ExprId, from: Scale) -> ExprId {
    let x = emit.cast(x, DType::I32);
    let x = emit.call("subtract", &[x, from.zero_point]);
    let x = emit.cast(x, DType::F32);
    emit.call("multiply", &[x, from.scale])
}

/// Makes integers of real numbers.
pub(super) fn from_reals(emit: &mut Emit<'_>, x: ExprId, to: Scale, dtype: DType) -> Made {
    let x = emit.call("divide", &[x, to.scale]);
    let x = emit.call("round", &[x]);
    let zero = emit.cast(to.zero_point, DType::F32);
    let x = emit.call("add", &[x, zero]);
    narrowed(emit, x, dtype)
}

/// The scale of a call whose second and third argument it is, as it broadcasts to the first.
fn scale_of(emit: &mut Emit<'_>, site: &Site<'_>) -> Result<Scale, String> {
    let [_, scale, zero_point] = site.inputs()?;
    let rank = site.tensor(emit.store, 0)?.0.len();
    let axis = emit.store.attr_int(site.attrs, "axis").unwrap_or(-1);
    let mut over = |part: ExprId, index: usize| -> Made {
        if site.is_scalar(emit.store, index)? {
            return Ok(part);
        }
        let axis = super::super::support::normalise_axis(axis, rank).ok_or("axis is out of range")?;
        Ok(expand_to_axes(emit.store, part, rank, &[axis]))
    };
    Ok(Scale { scale: over(scale, 1)?, zero_point: over(zero_point, 2)? })
}

pub(super) fn quantize(emit: &mut Emit<'_>, site: &Site<'_>) -> Made {
    let to = scale_of(emit, site)?;
    let dtype = emit.store.attr_dtype(site.attrs, "out_dtype").ok_or("there is no out_dtype")?;
    from_reals(emit, site.args[0], to, dtype)
}

pub(super) fn dequantize(emit: &mut Emit<'_>, site: &Site<'_>) -> Made {
    let from = scale_of(emit, site)?;
    let x = to_reals(emit, site.args[0], from);
    let dtype = emit.store.attr_dtype(site.attrs, "out_dtype").unwrap_or(DType::F32);
    if dtype == DType::F32 {
        return Ok(x);
    }
    let (low, high) = value_range(dtype).ok_or("out_dtype has no range")?;
    let x = emit.clip(x, low, high);
    Ok(emit.cast(x, dtype))
}

/// Requantises to the scale of the result, or casts to `int32` where it is the same.
fn aligned(emit: &mut Emit<'_>, x: ExprId, from: Scale, to: Scale, shape: &[Dim], axis: i64) -> Made {
    if emit.same_scalar(from.scale, to.scale) && emit.same_scalar(from.zero_point, to.zero_point) {
        return Ok(emit.cast(x, DType::I32));
    }
    requantize(emit, x, &Change { from, to, shape, axis, out: DType::I32, rounding: "", compute: "" })
}

/// The parts of a call over two tensors.
struct Pair {
    operands: [ExprId; 2],
    from: [Scale; 2],
    to: Scale,
    axes: [i64; 2],
    /// Shape and type of the first tensor, which the result has.
    shape: Vec<Dim>,
    dtype: DType,
}

fn pair(emit: &Emit<'_>, site: &Site<'_>) -> Result<Pair, String> {
    let [x, y, x_scale, x_zero, y_scale, y_zero, scale, zero_point] = site.inputs()?;
    let (shape, dtype) = site.tensor(emit.store, 0)?;
    let axis = |name: &str| emit.store.attr_int(site.attrs, name).unwrap_or(-1);
    Ok(Pair {
        operands: [x, y],
        from: [Scale { scale: x_scale, zero_point: x_zero }, Scale { scale: y_scale, zero_point: y_zero }],
        to: Scale { scale, zero_point },
        axes: [axis("lhs_axis"), axis("rhs_axis")],
        shape,
        dtype,
    })
}

/// `qnn.add` and `qnn.subtract`.
pub(super) fn sum(emit: &mut Emit<'_>, site: &Site<'_>) -> Made {
    let p = pair(emit, site)?;
    let x = aligned(emit, p.operands[0], p.from[0], p.to, &p.shape, p.axes[0])?;
    let y = aligned(emit, p.operands[1], p.from[1], p.to, &p.shape, p.axes[1])?;
    // A sum has the zero point twice, a difference has none.
    let (does, mends) = if site.op == "qnn.add" { ("add", "subtract") } else { ("subtract", "add") };
    let mut out = emit.call(does, &[x, y]);
    if !emit.is_int(p.to.zero_point, 0) {
        out = emit.call(mends, &[out, p.to.zero_point]);
    }
    narrowed(emit, out, p.dtype)
}

/// `qnn.mul`.
pub(super) fn product(emit: &mut Emit<'_>, site: &Site<'_>) -> Made {
    let p = pair(emit, site)?;
    let is_scalar = p.from.iter().all(|from| emit.value(from.scale).is_some());
    if !is_scalar && p.axes[0] != p.axes[1] {
        return Err("Not supported: lhs_axis and rhs_axis are not the same.".to_owned());
    }
    let mut shifted = p.operands.map(|operand| emit.cast(operand, DType::I32));
    for (at, x) in shifted.iter_mut().enumerate() {
        let mut zero = p.from[at].zero_point;
        if emit.is_int(zero, 0) {
            continue;
        }
        if !is_scalar {
            zero = over_axis(emit, zero, p.shape.len(), p.axes[at]);
            zero = emit.cast(zero, DType::I32);
        }
        *x = emit.call("subtract", &[*x, zero]);
    }
    let out = emit.call("multiply", &shifted);
    let (left, right) = (emit.values(p.from[0].scale)?, emit.values(p.from[1].scale)?);
    let scale = if is_scalar {
        // The product of two floats is a float.
        emit.number(DType::F32, f64::from(left[0] as f32 * right[0] as f32))
    } else if left.len() == right.len() {
        let scales: Vec<f64> = left.iter().zip(&right).map(|(left, right)| left * right).collect();
        tensor(emit.store, DType::F32, &[scales.len() as i64], &scales)
    } else {
        return Err("there must be as many scales of one tensor as of the other".to_owned());
    };
    let from = Scale { scale, zero_point: emit.int(0) };
    let axis = if is_scalar { -1 } else { p.axes[0] };
    requantize(emit, out, &Change { from, to: p.to, shape: &p.shape, axis, out: p.dtype, rounding: "", compute: "" })
}

pub(super) fn concatenate(emit: &mut Emit<'_>, site: &Site<'_>) -> Made {
    let [data, scales, zeros, scale, zero_point] = site.inputs()?;
    let to = Scale { scale, zero_point };
    let types = match emit.store.type_of_id(site.types[0]) {
        Type::Tuple(fields) => fields.to_vec(),
        _ => return Err("the first argument must be a tuple".to_owned()),
    };
    let (Expr::Tuple(scales), Expr::Tuple(zeros)) = (emit.store.expr(scales), emit.store.expr(zeros)) else {
        return Err("scales and zero points must be written as tuples".to_owned());
    };
    let (scales, zeros): (Vec<ExprId>, Vec<ExprId>) = (emit.store.items(scales).collect(), emit.store.items(zeros).collect());
    let fields: Vec<ExprId> = match emit.store.expr(data) {
        Expr::Tuple(fields) => emit.store.items(fields).collect(),
        Expr::Call { .. } => (0..types.len()).map(|index| emit.field(data, index)).collect(),
        _ => return Err("the tensors must be a tuple or the result of a call".to_owned()),
    };
    if fields.len() != scales.len() || fields.len() != zeros.len() {
        return Err("there must be a scale and a zero point for each tensor".to_owned());
    }
    let mut out = Vec::with_capacity(fields.len());
    for (at, field) in fields.into_iter().enumerate() {
        let from = Scale { scale: scales[at], zero_point: zeros[at] };
        let (shape, dtype) = tensor_of(emit.store, types[at]).ok_or("a field is no tensor")?;
        let is_same = emit.same_scalar(from.scale, scale) && emit.same_scalar(from.zero_point, zero_point);
        let change = Change { from, to, shape: &shape, axis: -1, out: dtype, rounding: "", compute: "" };
        out.push(if is_same { field } else { requantize(emit, field, &change)? });
    }
    let out = emit.tuple(&out);
    Ok(emit.over("concatenate", &[out], site.attrs, &[]))
}

pub(super) fn leaky_relu(emit: &mut Emit<'_>, site: &Site<'_>) -> Made {
    let [data, scale, zero_point, out_scale, out_zero] = site.inputs()?;
    let alpha = emit.store.attr_float(site.attrs, "alpha").ok_or("there is no alpha")?;
    let (shape, dtype) = site.tensor(emit.store, 0)?;
    let [data, zero_point, out_zero] = [data, zero_point, out_zero].map(|x| emit.cast(x, DType::I32));
    let (from, to) = (Scale { scale, zero_point }, Scale { scale: out_scale, zero_point: out_zero });
    let same = aligned(emit, data, from, to, &shape, -1)?;
    let scaled = multiply(emit, same, alpha);
    let zero = multiply(emit, out_zero, 1.0 - alpha);
    let below = emit.call("add", &[scaled, zero]);
    let is_below = emit.call("less", &[data, zero_point]);
    let out = emit.call("where", &[is_below, below, same]);
    narrowed(emit, out, dtype)
}

pub(super) fn avg_pool2d(emit: &mut Emit<'_>, site: &Site<'_>) -> Made {
    let [data, scale, zero_point, out_scale, out_zero] = site.inputs()?;
    let (from, to) = (Scale { scale, zero_point }, Scale { scale: out_scale, zero_point: out_zero });
    let shape = site.tensor(emit.store, 0)?.0;
    let same = aligned(emit, data, from, to, &shape, -1)?;
    let mean = emit.over("nn.avg_pool2d", &[same], site.attrs, &[]);
    let dtype = site.dtype(emit.store, 5)?;
    narrowed(emit, mean, dtype)
}

/// Softmax in integers: `exp` by shifts, then a division of sums.
pub(super) fn softmax(emit: &mut Emit<'_>, site: &Site<'_>) -> Made {
    const FRACTION: i64 = 30;
    const BITS: i64 = 8;
    let [data, scale, zero_point, out_scale, out_zero] = site.inputs()?;
    let scale = emit.value(scale).ok_or("Input scale should be constant.")? as f32;
    if scale > 1.0 {
        return Err("Input scale should be less than or equal to 1.".to_owned());
    }
    let axes = [emit.store.attr_int(site.attrs, "axis").unwrap_or(-1)];
    let shift = |emit: &mut Emit<'_>, name: &str, x: ExprId, by: i64| {
        let by = int_tensor(emit.store, DType::I32, &[], &[by]);
        emit.call(name, &[x, by])
    };
    let x = emit.cast(data, DType::I32);
    let x = emit.call("subtract", &[x, zero_point]);
    let one = emit.number(DType::F32, f64::from((1.0 / scale).round()));
    let one = narrowed(emit, one, DType::I32)?;
    let largest = emit.reduce("max", x, &axes, true);
    let x = emit.call("subtract", &[x, largest]);
    // About x / ln 2, as 1 + 1/2 - 1/16.
    let half = shift(emit, "right_shift", x, 1);
    let more = emit.call("add", &[x, half]);
    let less = shift(emit, "right_shift", x, 4);
    let x = emit.call("subtract", &[more, less]);
    let minus = emit.call("negative", &[one]);
    let q = emit.call("divide", &[x, minus]);
    let q = emit.clip(q, 0.0, 20.0);
    let most = emit.reduce("max", q, &axes, true);
    let minus = emit.call("negative", &[one]);
    let whole = emit.call("multiply", &[q, minus]);
    let rest = emit.call("subtract", &[x, whole]);
    let base = shift(emit, "right_shift", rest, 1);
    let base = emit.call("add", &[base, one]);
    let by = emit.call("subtract", &[most, q]);
    let powers = emit.call("left_shift", &[base, by]);
    let sums = emit.reduce("sum", powers, &axes, true);
    let unit = emit.int(1 << FRACTION);
    let share = emit.call("divide", &[unit, sums]);
    let out = emit.call("multiply", &[share, powers]);
    let out = shift(emit, "right_shift", out, FRACTION - (BITS - 1));
    let from = Scale { scale: emit.number(DType::F32, 1.0 / f64::from(1 << (BITS - 1))), zero_point: emit.int(0) };
    let to = Scale { scale: out_scale, zero_point: out_zero };
    let shape = site.tensor(emit.store, 0)?.0;
    requantize(emit, out, &Change { from, to, shape: &shape, axis: 0, out: DType::I8, rounding: "", compute: "" })
}
