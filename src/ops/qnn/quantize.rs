//! Conversions between real numbers and quantised ones.

use super::arith::{PerChannel, Requantizer, quantize as quantized, range};
use super::params::{channels, is_single};
use crate::ir::Tensor;
use crate::ir::{DType, DTypeCode, Dim};
use crate::ops::kernel::{EvalError, KernelCx, read, read_scalar, write};
use crate::ops::relax::deduce;
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.DequantizeAttrs`.
pub static DEQUANTIZE: AttrsSchema =
    schema("relay.attrs.DequantizeAttrs", &[field::required("out_dtype", AttrKind::DType), field::int("axis", -1)]);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("qnn.quantize", "Divides by `output_scale`, rounds, adds `output_zero_point` and clips to the range of `out_dtype`.")
        .pattern(OpPattern::ElemWise)
        .non_computational()
        .kernel(quantize_kernel)
        .relay(relay(&["data", "output_scale", "output_zero_point"], quantize).attrs(&schema(
            "relay.attrs.QuantizeAttrs",
            &[field::required("out_dtype", AttrKind::DType), field::int("axis", -1)],
        ))),
    op("qnn.dequantize", "Subtracts `input_zero_point` and multiplies by `input_scale`.")
        .pattern(OpPattern::ElemWise)
        .non_computational()
        .kernel(dequantize_kernel)
        .relay(relay(&["data", "input_scale", "input_zero_point"], dequantize).attrs(&DEQUANTIZE)),
    op("qnn.requantize", "From one scale and zero point to another.")
        .pattern(OpPattern::ElemWise)
        .non_computational()
        .kernel(requantize_kernel)
        .relay(relay(&["data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"], requantize).attrs(
            &schema(
                "relay.attrs.RequantizeAttrs",
                &[
                    field::int("axis", -1),
                    field::text("rounding", "None"),
                    field::text("compute_dtype", "None"),
                    field::dtype("out_dtype", ""),
                ],
            ),
        )),
    op("qnn.simulated_quantize", "`qnn.quantize` on real numbers, with the type to pretend chosen at run time.")
        .pattern(OpPattern::ElemWise)
        .kernel(simulated_quantize_kernel)
        .relay(
            relay(&["data", "out_dtype", "output_scale", "output_zero_point"], simulated)
                .attrs(&schema("relay.attrs.SimulatedQuantizeAttrs", &[field::int("axis", -1)])),
        ),
    op("qnn.simulated_dequantize", "`qnn.dequantize` on real numbers, with the type to pretend chosen at run time.")
        .pattern(OpPattern::ElemWise)
        .kernel(simulated_dequantize_kernel)
        .relay(relay(&["data", "in_dtype", "input_scale", "input_zero_point"], simulated).attrs(&DEQUANTIZE)),
    op("dequantize", "Numbers from quantized ones: `(x - zero_point) * scale`.").relax(
        relax(&[value("data"), value("scale"), value("zero_point")], deduce::unary::quantize)
            .attrs(&schema("relax.attrs.QuantizeAttrs", &[field::dtype("out_dtype", "float32"), field::int("axis", -1)]))
            .order(&["data", "scale", "zero_point", "axis", "out_dtype"]),
    ),
    op("quantize", "Quantized numbers: `round(x / scale) + zero_point`, within the element type.").relax(
        relax(&[value("data"), value("scale"), value("zero_point")], deduce::unary::quantize)
            .attrs(&schema("relax.attrs.QuantizeAttrs", &[field::dtype("out_dtype", "int8"), field::int("axis", -1)]))
            .order(&["data", "scale", "zero_point", "axis", "out_dtype"]),
    ),
];

const U16: DType = DType::new(DTypeCode::UInt, 16);

/// TVM's `QuantizeRel`.
fn quantize(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    cx.one_of(dtype, &[DType::F32], "input")?;
    let (Some((scale, _)), Some((zero, _))) = (cx.tensor(1), cx.tensor(2)) else { return Ok(false) };
    let axis = match cx.channel_axis("axis", shape.len()) {
        Err(error) if !scale.is_empty() || !zero.is_empty() => return Err(error),
        axis => axis.unwrap_or(0),
    };
    let extent = channels(&shape, axis);
    cx.per_channel(1, DType::F32, extent)?;
    cx.per_channel(2, DType::I32, extent)?;
    let out = cx.out_dtype(DType::F32);
    cx.one_of(out, &[DType::I8, DType::U8, DType::I16, U16, DType::I32], "output")?;
    cx.output_tensor(&shape, out)
}

/// TVM's `DequantizeRel`. Scales and zero points of one element may have any rank.
fn dequantize(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    cx.one_of(dtype, &[DType::I8, DType::U8, DType::I16, U16, DType::I32], "input")?;
    let (Some((scale, _)), Some((zero, _))) = (cx.tensor(1), cx.tensor(2)) else { return Ok(false) };
    let extent = match is_single(&scale) && is_single(&zero) {
        true => Dim::int(1),
        false => {
            let axis = cx.channel_axis("axis", shape.len())?;
            channels(&shape, axis)
        }
    };
    cx.per_channel(1, DType::F32, extent)?;
    cx.per_channel(2, DType::I32, extent)?;
    let out = cx.out_dtype(DType::I32);
    cx.one_of(out, &[DType::F16, DType::F32], "output")?;
    cx.output_tensor(&shape, out)
}

/// TVM's `RequantizeRel`. The output has one scale and one zero point.
fn requantize(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    if (1..=4).any(|i| cx.is_open(i)) {
        return Ok(false);
    }
    cx.one_of(dtype, &[DType::I8, DType::U8, DType::I16, DType::I32, DType::I64], "input")?;
    let axis = cx.channel_axis("axis", shape.len())?;
    let extent = channels(&shape, axis);
    cx.per_channel(1, DType::F32, extent)?;
    cx.per_channel(2, DType::I32, extent)?;
    cx.scalar(3, DType::F32)?;
    cx.scalar(4, DType::I32)?;
    let out = cx.out_dtype(DType::F32);
    cx.one_of(out, &[DType::I8, DType::U8, DType::I16, DType::I32], "output")?;
    cx.output_tensor(&shape, out)
}

/// TVM's `SimulatedQuantizeRel` and `SimulatedDequantizeRel`.
fn simulated(cx: &mut RuleCx<'_>) -> RuleResult {
    match (cx.tensor(0), cx.tensor(1)) {
        (Some(_), Some(_)) => cx.output(cx.types[0]),
        _ => Ok(false),
    }
}

/// Exactly `N` inputs.
pub(super) fn exactly<const N: usize>(inputs: &[Tensor]) -> Result<&[Tensor; N], EvalError> {
    inputs.try_into().map_err(|_| EvalError::new(format!("{N} inputs are needed, not {}", inputs.len())))
}

fn target(cx: &KernelCx<'_>) -> Result<DType, EvalError> {
    let dtype = cx.store.attr_dtype(cx.attrs, "out_dtype").or(cx.out_dtype(0));
    dtype.ok_or_else(|| EvalError::new("`out_dtype` is not given"))
}

fn quantize_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let [data, scale, zero] = exactly(inputs)?;
    let (dtype, axis) = (target(cx)?, cx.int("axis")?);
    let scale: PerChannel<f32> = PerChannel::read(scale, &data.shape, axis)?;
    let zero: PerChannel<i64> = PerChannel::read(zero, &data.shape, axis)?;
    let x: Vec<f32> = read(data)?;
    let out: Vec<i64> = x.into_iter().enumerate().map(|(i, x)| quantized(x, scale.at(i), zero.at(i), dtype)).collect();
    Ok(vec![write(dtype, &data.shape, &out)?])
}

fn dequantize_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let [data, scale, zero] = exactly(inputs)?;
    let (dtype, axis) = (target(cx)?, cx.int("axis")?);
    let scale: PerChannel<f32> = PerChannel::read(scale, &data.shape, axis)?;
    let zero: PerChannel<i64> = PerChannel::read(zero, &data.shape, axis)?;
    let largest = if dtype == DType::F16 { 65504.0 } else { f32::MAX };
    let x: Vec<i64> = read(data)?;
    let real = |(i, x): (usize, i64)| (x - zero.at(i)) as f32 * scale.at(i);
    let out: Vec<f32> = x.into_iter().enumerate().map(|e| real(e).clamp(-largest, largest)).collect();
    Ok(vec![write(dtype, &data.shape, &out)?])
}

fn requantize_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let [data, scale, zero, out_scale, out_zero] = exactly(inputs)?;
    let axis = cx.int("axis")?;
    let requantizer = Requantizer::new(&data.shape, axis, [scale, zero, out_scale, out_zero])?.configured(cx);
    Ok(vec![requantizer.tensor(data, target(cx)?)?])
}

/// Returns the type that a simulated operator emulates (TVM's `SQNN_DTYPE_TO_CODE`).
fn pretended(code: &Tensor) -> Result<Option<DType>, EvalError> {
    Ok(match read_scalar::<i64>(code)? {
        1 => Some(DType::I8),
        2 => Some(DType::U8),
        3 => Some(DType::I32),
        _ => None,
    })
}

fn simulated_quantize_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let [data, code, scale, zero] = exactly(inputs)?;
    let Some(dtype) = pretended(code)? else { return Ok(vec![data.clone()]) };
    let axis = cx.int("axis")?;
    let scale: PerChannel<f32> = PerChannel::read(scale, &data.shape, axis)?;
    let zero: PerChannel<f32> = PerChannel::read(zero, &data.shape, axis)?;
    let (low, high) = range(dtype);
    let x: Vec<f32> = read(data)?;
    let rounded = |(i, x): (usize, f32)| ((x / scale.at(i)).round() + zero.at(i)).clamp(low as f32, high as f32);
    let out: Vec<f32> = x.into_iter().enumerate().map(rounded).collect();
    Ok(vec![write(data.dtype, &data.shape, &out)?])
}

fn simulated_dequantize_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let [data, code, scale, zero] = exactly(inputs)?;
    if pretended(code)?.is_none() {
        return Ok(vec![data.clone()]);
    }
    let axis = cx.int("axis")?;
    let scale: PerChannel<f32> = PerChannel::read(scale, &data.shape, axis)?;
    let zero: PerChannel<f32> = PerChannel::read(zero, &data.shape, axis)?;
    let x: Vec<f32> = read(data)?;
    let out: Vec<f32> = x.into_iter().enumerate().map(|(i, x)| (x - zero.at(i)) * scale.at(i)).collect();
    Ok(vec![write(data.dtype, &data.shape, &out)?])
}
