//! Quantization.
//!
//! Source: `legalize_ops/qdq.py`.

use super::lower::{Lower, Lowered, Operand, Refused, from_front};
use super::te::{Te, Tensor};
use super::{Rule, rule};
use crate::ir::{DType, PrimId, PrimOp};

pub(super) const RULES: &[Rule] = &[rule("quantize", "quantize", quantize), rule("dequantize", "dequantize", dequantize)];

/// Returns the data, scale and zero point, the axis that the latter run along, and the type of the result.
fn given(cx: &mut Lower) -> Result<(Tensor, Operand, Operand, usize, DType), Refused> {
    let x = cx.tensor(0)?;
    let mut params = Vec::new();
    for index in 1..3 {
        let arg = cx.arg(index)?;
        params.push(match cx.constant(arg) {
            Some(constant) => Operand::Scalar(constant),
            None => cx.operand(index)?,
        });
    }
    let axis = from_front(cx.int("axis").unwrap_or(-1), cx.te.rank(x));
    let dtype = cx.dtype("out_dtype").ok_or(Refused::Leave)?;
    Ok((x, params[0], params[1], axis, dtype))
}

/// Returns the scale or zero point of an element.
fn param(te: &mut Te, param: Operand, at: &[PrimId], axis: usize) -> PrimId {
    match param {
        Operand::Scalar(value) => value,
        Operand::Tensor(tensor) => {
            let shape = te.shape(tensor);
            let single = shape.iter().all(|extent| te.known(*extent) == Some(1));
            let from = if single { shape.iter().map(|_| te.int(0)).collect() } else { vec![at[axis]] };
            te.load(tensor, &from)
        }
    }
}

/// Clips a value to these bounds, as an element of a type.
fn clip(te: &mut Te, value: PrimId, least: PrimId, most: PrimId, dtype: DType) -> PrimId {
    let value = te.bin(PrimOp::Min, value, most);
    let value = te.bin(PrimOp::Max, value, least);
    te.cast(dtype, value)
}

fn quantize(cx: &mut Lower) -> Lowered {
    let (x, scale, zero, axis, dtype) = given(cx)?;
    let shape = cx.te.shape(x);
    let out = cx.te.compute("quantized", "i", &shape, &mut |te, at| {
        let (scale, zero) = (param(te, scale, at, axis), param(te, zero, at, axis));
        let value = te.load(x, at);
        let mut value = te.over(value, scale);
        if !dtype.is_float() {
            value = te.call("round", &[value]);
        }
        let value = te.plus(value, zero);
        let (least, most) = (te.limit(dtype, false), te.limit(dtype, true));
        clip(te, value, least, most, dtype)
    });
    cx.finish(&[out])
}

fn dequantize(cx: &mut Lower) -> Lowered {
    let (x, scale, zero, axis, dtype) = given(cx)?;
    let shape = cx.te.shape(x);
    let wide = if cx.te.dtype(x).is_float() { DType::F32 } else { DType::I32 };
    let out = cx.te.compute("dequantized", "i", &shape, &mut |te, at| {
        let (scale, zero) = (param(te, scale, at, axis), param(te, zero, at, axis));
        let value = te.load(x, at);
        let (value, zero) = (te.cast(wide, value), te.cast(wide, zero));
        let value = te.minus(value, zero);
        let value = te.cast(DType::F32, value);
        if dtype == DType::F32 {
            return te.times(value, scale);
        }
        let scale = te.cast(DType::F32, scale);
        let value = te.times(value, scale);
        let (least, most) = (te.limit(dtype, false), te.limit(dtype, true));
        clip(te, value, least, most, dtype)
    });
    cx.finish(&[out])
}
