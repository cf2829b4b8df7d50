//! Element-wise operators over two quantised tensors.

use super::arith::{PerChannel, Requantizer, clip, shifted};
use super::params::channels;
use super::quantize::exactly;
use crate::ir::Tensor;
use crate::ir::{DType, Type};
use crate::ops::kernel::{
    EvalError, KernelCx, axis_index, broadcast_extents, broadcast_strides, offsets, read, read_scalar, write,
};
use crate::ops::row::{op, relay};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult, broadcast, info, lookup};

/// Attributes `relay.attrs.BroadcastAttrs`.
pub static BROADCAST: AttrsSchema =
    schema("relay.attrs.BroadcastAttrs", &[field::int("lhs_axis", -1), field::int("rhs_axis", -1)]);

/// The parameters of operators over two tensors.
const OF_TWO: &[&str] =
    &["lhs", "rhs", "lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point", "output_scale", "output_zero_point"];

const fn of_two(name: &'static str, doc: &'static str) -> OpInfo {
    op(name, doc).pattern(OpPattern::Broadcast).non_computational().relay(relay(OF_TWO, binary).attrs(&BROADCAST))
}

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    of_two("qnn.add", "Adds two quantised tensors of different scales, with broadcasting.").kernel(add_kernel),
    of_two("qnn.subtract", "Subtracts two quantised tensors of different scales, with broadcasting.").kernel(subtract_kernel),
    of_two("qnn.mul", "Multiplies two quantised tensors of different scales, with broadcasting.").kernel(mul_kernel),
    op("qnn.concatenate", "Joins quantised tensors along `axis`, each requantised to the output scale and zero point.")
        .pattern(OpPattern::Injective)
        .non_computational()
        .kernel(concatenate_kernel)
        .relay(
            relay(&["data", "input_scales", "input_zero_points", "output_scale", "output_zero_point"], concatenate)
                .attrs(&schema("relay.attrs.ConcatenateAttrs", &[field::int("axis", 0)])),
        ),
];

/// TVM's `QnnBroadcastRel`.
fn binary(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((lhs, _)), Some((rhs, _))) = (cx.tensor(0), cx.tensor(1)) else { return Ok(false) };
    if (2..=7).any(|i| cx.is_open(i)) {
        return Ok(false);
    }
    for (name, shape, scale) in [("lhs_axis", &lhs, 2), ("rhs_axis", &rhs, 4)] {
        let single = |cx: &RuleCx<'_>, i| cx.tensor(i).is_some_and(|(s, _)| s.is_empty());
        let axis = match cx.channel_axis(name, shape.len()) {
            _ if shape.len() <= 1 => 0,
            Ok(axis) => axis,
            Err(_) if single(cx, scale) && single(cx, scale + 1) => 0,
            Err(error) => return Err(error),
        };
        let extent = channels(shape, axis);
        cx.per_channel(scale, DType::F32, extent)?;
        cx.per_channel(scale + 1, DType::I32, extent)?;
    }
    cx.scalar(6, DType::F32)?;
    cx.scalar(7, DType::I32)?;
    cx.ask(&[cx.types[0], cx.types[1], cx.types[8]], broadcast)
}

/// TVM's `QnnConcatenateRel`.
fn concatenate(cx: &mut RuleCx<'_>) -> RuleResult {
    if (0..=4).any(|i| cx.is_open(i)) {
        return Ok(false);
    }
    for (index, dtype, what) in [(1, DType::F32, "scales"), (2, DType::I32, "zero_points")] {
        let Some(fields) = cx.tuple(index) else {
            let found = crate::ir::show_type(cx.store, cx.types[index]);
            return Err(format!("qnn concatenate requires a tuple of {what}, found {found}"));
        };
        for field in fields {
            if matches!(cx.store.type_of_id(field), Type::Hole(_)) {
                return Ok(false);
            }
            cx.scalar_type(field, dtype)?;
        }
    }
    cx.scalar(3, DType::F32)?;
    cx.scalar(4, DType::I32)?;
    let plain = lookup("concatenate").and_then(|op| info(op).relay_rule()).ok_or("concatenate has no relation")?;
    cx.ask(&[cx.types[0], cx.types[5]], plain)
}

/// Both operands broadcast against each other, element by element.
fn combine(a: &Tensor, b: &Tensor, f: impl Fn(i64, i64) -> i64) -> Result<(Vec<i64>, Vec<i64>), EvalError> {
    let shape = broadcast_extents(&a.shape, &b.shape)?;
    let (x, y): (Vec<i64>, Vec<i64>) = (read(a)?, read(b)?);
    let left = offsets(&shape, &broadcast_strides(&a.shape, &shape));
    let right = offsets(&shape, &broadcast_strides(&b.shape, &shape));
    let out = left.zip(right).map(|(i, j)| f(x[i], y[j])).collect();
    Ok((shape, out))
}

/// Both operands brought to the output's scale and zero point, then combined.
fn sum(cx: &KernelCx<'_>, inputs: &[Tensor], f: impl Fn(i64, i64, i64) -> i64) -> Result<Vec<Tensor>, EvalError> {
    let [lhs, rhs, lhs_scale, lhs_zero, rhs_scale, rhs_zero, out_scale, out_zero] = exactly(inputs)?;
    let (lhs_axis, rhs_axis) = (cx.int("lhs_axis")?, cx.int("rhs_axis")?);
    let a = Requantizer::new(&lhs.shape, lhs_axis, [lhs_scale, lhs_zero, out_scale, out_zero])?.upcast(lhs)?;
    let b = Requantizer::new(&rhs.shape, rhs_axis, [rhs_scale, rhs_zero, out_scale, out_zero])?.upcast(rhs)?;
    let zero: i64 = read_scalar(out_zero)?;
    let (shape, out) = combine(&a, &b, |x, y| clip(f(x, y, zero), lhs.dtype))?;
    Ok(vec![write(lhs.dtype, &shape, &out)?])
}

/// Both operands carry the zero point; one of the two is subtracted.
fn add_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    sum(cx, inputs, |x, y, zero| x + y - zero)
}

fn subtract_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    sum(cx, inputs, |x, y, zero| x - y + zero)
}

/// TVM's `QnnMulCanonicalize`: the product has the product of the scales. With a scale for each channel
/// both axes must be the same.
fn mul_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let [lhs, rhs, lhs_scale, lhs_zero, rhs_scale, rhs_zero, out_scale, out_zero] = exactly(inputs)?;
    let (lhs_axis, rhs_axis) = (cx.int("lhs_axis")?, cx.int("rhs_axis")?);
    let (a, b) = (shifted(lhs, lhs_zero, lhs_axis)?, shifted(rhs, rhs_zero, rhs_axis)?);
    let (shape, product) = combine(&a, &b, |x, y| i64::from((x as i32).wrapping_mul(y as i32)))?;
    let scale_a: PerChannel<f32> = PerChannel::read(lhs_scale, &lhs.shape, lhs_axis)?;
    let scale_b: PerChannel<f32> = PerChannel::read(rhs_scale, &rhs.shape, rhs_axis)?;
    let requantizer = match (scale_a.single(), scale_b.single()) {
        (Some(x), Some(y)) => Requantizer::from_scale(x * y, read_scalar(out_scale)?, read_scalar(out_zero)?),
        _ if lhs_axis != rhs_axis => return Err(EvalError::new("lhs_axis and rhs_axis are not the same")),
        _ => {
            let (x, y): (Vec<f32>, Vec<f32>) = (read(lhs_scale)?, read(rhs_scale)?);
            if x.len() != y.len() {
                return Err(EvalError::new("both operands need a scale for each channel"));
            }
            let scales: Vec<f64> = x.iter().zip(&y).map(|(x, y)| f64::from(*x) * f64::from(*y)).collect();
            let scales = write(DType::F32, &[scales.len() as i64], &scales)?;
            let zero = write(DType::I32, &[], &[0i64])?;
            let axis = axis_index(lhs_axis, shape.len())? as i64;
            Requantizer::new(&shape, axis, [&scales, &zero, out_scale, out_zero])?
        }
    };
    let product = write(DType::I32, &shape, &product)?;
    Ok(vec![requantizer.tensor(&product, lhs.dtype)?])
}

/// The inputs are the tensors, their scales, their zero points, and scale and zero point of the result.
fn concatenate_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let count = inputs.len().saturating_sub(2) / 3;
    if count == 0 || inputs.len() != 3 * count + 2 {
        return Err(EvalError::new("each tensor needs a scale and a zero point"));
    }
    let (out_scale, out_zero) = (&inputs[3 * count], &inputs[3 * count + 1]);
    let parts: Result<Vec<Tensor>, EvalError> = (0..count)
        .map(|i| {
            let (data, scale, zero) = (&inputs[i], &inputs[count + i], &inputs[2 * count + i]);
            let requantizer = Requantizer::new(&data.shape, -1, [scale, zero, out_scale, out_zero])?;
            if requantizer.is_identity() { Ok(data.clone()) } else { requantizer.tensor(data, data.dtype) }
        })
        .collect();
    let plain = lookup("concatenate").and_then(|op| info(op).kernel);
    plain.ok_or_else(|| EvalError::new("`concatenate` cannot be evaluated here"))?(cx, &parts?)
}
