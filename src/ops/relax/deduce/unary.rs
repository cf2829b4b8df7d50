//! Operators of one tensor, element by element (TVM: src/relax/op/tensor/unary.cc).

use super::{Deduce, Tensor};
use crate::ir::{DType, TypeId, show_dim};

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
    let Ok(data) = cx.tensor(0) else { return Ok(cx.ty(0)) };
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

/// `sort` and the like: the type of the input, which is a tensor.
pub fn same_tensor(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.tensor(0)?;
    Ok(cx.ty(0))
}

/// `astype`: the shape of the input, another element type.
pub fn astype(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let dtype = cx.dtype("dtype");
    Ok(cx.like(&data, dtype))
}

/// `quantize`: the shape of the input, `out_dtype`.
pub fn quantize(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let (data, scale, zero_point) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    if [&data, &scale, &zero_point].iter().any(|tensor| tensor.dtype().is_none()) {
        return Ok(cx.like(&data, None));
    }
    let wide = |dtype: &DType| [DType::F32, DType::F16].contains(dtype);
    let (out, into) = (cx.dtype("out_dtype"), cx.op == "quantize");
    if out.is_some_and(|dtype| if into { dtype.bits > 16 || wide(&dtype) } else { !wide(&dtype) }) {
        return Err("Unsupported output datatype attribute for operation".to_owned());
    }
    if let Some(dtype) = data.dtype().filter(|dtype| into && !wide(dtype)) {
        return Err(format!("Unsupported input datatype for operation: {dtype}"));
    }
    if let Some(dtype) = scale.dtype().filter(|dtype| !wide(dtype)) {
        return Err(format!("scale param datatype should be one of [float16, float32], but got {dtype}"));
    }
    for (name, param) in [("scale", &scale), ("zero_point", &zero_point)] {
        fits_axis(cx, &data, param, name)?;
    }
    let dtype = cx.dtype("out_dtype");
    Ok(cx.like(&data, dtype))
}

/// Fails unless a parameter of a quantisation is one number, or has one for each element along the axis.
fn fits_axis(cx: &mut Deduce<'_>, data: &Tensor, param: &Tensor, name: &str) -> Result<(), String> {
    let op = cx.op;
    let single = param.rank == Some(0)
        || param.values.as_ref().is_some_and(|shape| !shape.is_empty() && shape.iter().all(|extent| extent.known() == Some(1)));
    if single {
        return Ok(());
    }
    let Some(rank) = data.rank else { return Ok(()) };
    if rank == 0 {
        return Err(format!("relax.{op}: scale and zero_point must be scalar or singleton tensors for rank-0 input"));
    }
    let given = cx.int("axis").unwrap_or(-1);
    let axis = usize::try_from(if given < 0 { given + rank as i64 } else { given }).ok().filter(|axis| *axis < rank);
    let Some(axis) = axis else { return Err(format!("relax.{op}: axis param is out of range ({given})")) };
    let (Some(input), Some(shape)) = (&data.values, &param.values) else { return Ok(()) };
    let Some(&extent) = shape.first() else { return Ok(()) };
    if cx.equal(extent, input[axis]) {
        return Ok(());
    }
    let [input, extent] = [input[axis], extent].map(|dim| show_dim(cx.store, dim));
    Err(format!("Size mismatch: relax.{op}: the input shape at dim {given} is '{input}', but size of {name} param is '{extent}'"))
}
