//! Operators of one tensor, element by element (TVM: src/relax/op/tensor/unary.cc).

use super::Deduce;
use crate::ir::{DType, TypeId};

/// The shape and the element type of the input.
pub fn arith(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(1)?;
    let data = cx.tensor(0)?;
    let dtype = data.dtype();
    Ok(cx.like(&data, dtype))
}

/// `clip`: the type of the input, whatever the bounds.
pub fn clip(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(3)?;
    let data = cx.tensor(0)?;
    let dtype = data.dtype();
    Ok(cx.like(&data, dtype))
}

/// Does the same for floating point numbers only.
pub fn float_arith(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    match data.dtype() {
        Some(dtype) if !dtype.is_float() => {
            Err(format!("{} requires the input tensor to have float dtype. However, the given input dtype is {dtype}", cx.op))
        }
        dtype => Ok(cx.like(&data, dtype)),
    }
}

/// Truth values in the shape of the input.
pub fn check(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    Ok(cx.like(&data, Some(DType::BOOL)))
}

/// `astype`: the shape of the input, another element type.
pub fn astype(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let dtype = cx.dtype("dtype");
    Ok(cx.like(&data, dtype))
}

/// `quantize`: the shape of the input, `out_dtype`.
pub fn quantize(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let dtype = cx.dtype("out_dtype");
    Ok(cx.like(&data, dtype))
}
