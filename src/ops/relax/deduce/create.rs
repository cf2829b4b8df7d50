//! Operators that create tensors (TVM: src/relax/op/tensor/create.cc).

use super::{Deduce, int};
use crate::ir::{DType, PrimOp, Type, TypeId};

/// `full`: a shape and a scalar tensor.
pub fn full(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(2)?;
    let shape = cx.shape_arg(0)?;
    let fill = cx.tensor(1).ok().filter(|fill| fill.rank == Some(0));
    let Some(fill) = fill else { return Err("Full requires the input fill value to be zero rank Tensor".to_owned()) };
    let dtype = cx.dtype("dtype").or(fill.dtype());
    Ok(cx.shaped(shape, dtype, fill.vdevice()))
}

/// `full_like`: the shape of a tensor and a scalar tensor.
pub fn full_like(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(2)?;
    cx.tensor(0)?;
    if cx.tensor(1)?.rank != Some(0) {
        return Err("FullLike requires the input fill value to be zero rank Tensor".to_owned());
    }
    like(cx)
}

/// `eye_like`: the type of a matrix.
pub fn eye_like(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    if let Some(rank) = cx.tensor(0)?.rank.filter(|rank| *rank != 2) {
        return Err(format!("Eye_like expects the input tensor to be 2-dimensional, but got {rank} dimensions"));
    }
    like(cx)
}

/// `ones_like`, `zeros_like`: the shape of a tensor; its element type unless another is named.
pub fn like(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let dtype = cx.dtype("dtype").or(data.dtype());
    Ok(cx.like(&data, dtype))
}

/// `ones`, `zeros`: a shape.
pub fn ones_zeros(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(1)?;
    let shape = cx.shape_arg(0)?;
    let dtype = cx.dtype("dtype");
    Ok(cx.shaped(shape, dtype, None))
}

/// `eye`: two extents and a diagonal.
pub fn eye(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(3)?;
    let dtype = cx.dtype("dtype");
    match (cx.scalar(0), cx.scalar(1)) {
        (Some(rows), Some(columns)) => Ok(cx.out(&[rows, columns], dtype, None)),
        _ => Ok(cx.vague(Some(2), dtype, None)),
    }
}

/// `arange`: start, end and step. For floating point numbers the count is known only when they are constants.
pub fn arange(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(3)?;
    let dtype = cx.dtype("dtype");
    if let (Some(start), Some(end), Some(step)) = (cx.scalar(0), cx.scalar(1), cx.scalar(2)) {
        if step.known() == Some(0) {
            return Err("Divide by zero".to_owned());
        }
        let span = cx.arith(PrimOp::Sub, end, start);
        let above = cx.arith(PrimOp::Add, span, step);
        let last = cx.arith(PrimOp::Sub, above, int(1));
        let count = cx.arith(PrimOp::FloorDiv, last, step);
        let count = cx.natural(count);
        return Ok(cx.out(&[count], dtype, None));
    }
    if let (Some(start), Some(end), Some(step)) = (cx.number(0), cx.number(1), cx.number(2))
        && step != 0.0
    {
        // TVM counts in single precision.
        let count = f64::from((((end - start) as f32) / step as f32).ceil());
        return Ok(cx.out(&[int(count.max(0.0) as i64)], dtype, None));
    }
    Ok(cx.vague(Some(1), dtype, None))
}

/// `hamming_window`: its length.
pub fn hamming_window(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let dtype = cx.dtype("dtype");
    if let Some(dtype) = dtype.filter(|dtype| !dtype.is_float()) {
        return Err(format!("Hamming Window expects the datatype to be float but got {dtype}"));
    }
    match cx.scalar(0) {
        Some(length) => Ok(cx.out(&[length], dtype, None)),
        None => Ok(cx.vague(Some(1), dtype, None)),
    }
}

/// `tril`, `triu`: the type of the input, which has to have at least two axes.
pub fn triangle(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    match data.rank {
        Some(rank) if rank < 2 => Err(format!(
            "{} requires the input tensor to have at least two dimensions. However, the given input has {rank} dimension(s)",
            cx.op
        )),
        _ => Ok(cx.ty(0)),
    }
}

/// `shape_of`: the shape of a tensor as a value.
pub fn shape_of(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0).map_err(|message| format!("Check failed: shape_of expects a tensor input: {message}"))?;
    let extents = match (data.info.extents, data.rank) {
        (crate::ir::Extents::Known(shape), _) => crate::ir::Extents::Known(shape),
        (_, Some(rank)) => crate::ir::Extents::Rank(rank as u32),
        (_, None) => crate::ir::Extents::Unknown,
    };
    Ok(cx.store.ty(Type::Shape(extents)))
}

/// `tensor_to_shape`: a vector of extents as a shape of that rank.
pub fn tensor_to_shape(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0).map_err(|message| format!("Check failed: {message}"))?;
    if data.rank != Some(1) {
        let rank = data.rank.map_or(-1, |rank| rank as i64);
        return Err(format!("Check failed: relax.tensor_to_shape expected argument to be 1-d, but it has {rank} dimensions"));
    }
    if matches!(data.info.extents, crate::ir::Extents::Var(_)) {
        return Err("tensor_to_shape expects the shape of its type to be a ShapeExpr".to_owned());
    }
    let rank = data.shape.as_deref().and_then(|shape| u32::try_from(shape.first()?.known()?).ok());
    let extents = rank.map_or(crate::ir::Extents::Unknown, crate::ir::Extents::Rank);
    Ok(cx.store.ty(Type::Shape(extents)))
}

/// `shape_to_tensor`: the extents as a vector.
pub fn shape_to_tensor(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let ty = cx.ty(0);
    let Type::Shape(extents) = cx.store.type_of_id(ty) else {
        return Err("Check failed: shape_to_tensor expects a Shape".to_owned());
    };
    let extents = extents.clone();
    // TVM writes an unknown rank as -1.
    let rank = cx.store.rank(&extents).map_or(-1, |rank| rank as i64);
    Ok(cx.out(&[int(rank)], Some(DType::I64), None))
}
