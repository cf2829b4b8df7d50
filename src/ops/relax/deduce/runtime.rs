//! Calls of external code, memory, closures (TVM: src/relax/op/op.cc, memory).

use super::{Deduce, Tensor, int};
use crate::ir::{AttrValue, DType, DTypeCode, Dim, Expr, Extents, PrimOp, Type, TypeId};

/// `call_tir` and related calls: the type that they name.
pub fn named(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    match cx.ty_args {
        [one] => Ok(*one),
        [] => Err(format!("{} names no output type", cx.op)),
        many => Ok(cx.tuple(many)),
    }
}

/// `call_pure_packed`, closures: the type that they name, else any.
pub fn named_or_any(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    if cx.ty_args.is_empty() { Ok(cx.any()) } else { named(cx) }
}

/// `call_builtin_with_ctx`: the type that it names, else no value.
pub fn named_or_void(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    if cx.ty_args.is_empty() { Ok(cx.void()) } else { named(cx) }
}

/// `size`: a scalar tensor.
pub fn size(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.tensor(0)?;
    Ok(cx.out(&[], Some(DType::I64), None))
}

/// `builtin.alloc_tensor`: a shape and an element type first.
pub fn alloc_tensor(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    allocated(cx, 0)
}

/// `vm.alloc_tensor`: the same, but of a shape in a variable only the type is known.
pub fn tensor_of_machine(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let dtype = match cx.args.get(3).map(|arg| cx.store.expr(*arg)) {
        Some(Expr::DataType(dtype)) => Some(dtype),
        _ => None,
    };
    let ty = cx.ty(2);
    let extents = match cx.store.type_of_id(ty) {
        Type::Shape(extents) => extents.clone(),
        _ => Extents::Unknown,
    };
    Ok(cx.shaped(extents, dtype, None))
}

/// `memory.alloc_tensor`: a shape and an element type behind storage and offset.
pub fn tensor_in_storage(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    allocated(cx, 2)
}

fn allocated(cx: &mut Deduce<'_>, first: usize) -> Result<TypeId, String> {
    let shape = cx.shape_arg(first)?;
    let dtype = match cx.args.get(first + 1).map(|arg| cx.store.expr(*arg)) {
        Some(Expr::DataType(dtype)) => Some(dtype),
        _ => return Err(format!("{} takes an element type behind the shape", cx.op)),
    };
    Ok(cx.shaped(shape, dtype, None))
}

/// `memory.view`: a part of a tensor's memory as another tensor; operands that are not given are the tensor's.
pub fn view(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let ty = cx.ty(1);
    let shape = match cx.store.type_of_id(ty) {
        Type::Shape(_) => Some(cx.shape_arg(1)?),
        _ => None,
    };
    let dtype = match cx.args.get(2).map(|arg| cx.store.expr(*arg)) {
        Some(Expr::DataType(dtype)) => Some(dtype),
        _ => None,
    };
    match shape {
        Some(shape) => Ok(cx.shaped(shape, dtype.or(data.dtype()), data.vdevice())),
        None if dtype.is_none_or(|dtype| Some(dtype) == data.dtype()) => Ok(cx.ty(0)),
        None => {
            // The last axis holds as many bytes of the new element type.
            let (Some(old), Some(new), Some(mut shape)) = (data.dtype(), dtype, data.dims()) else {
                return Ok(cx.vague(data.rank, dtype, data.vdevice()));
            };
            let Some(last) = shape.last().copied() else { return Ok(cx.out(&[], dtype, data.vdevice())) };
            let bytes = cx.arith(PrimOp::Mul, last, int(old.bytes() as i64));
            let count = cx.arith(PrimOp::FloorDiv, bytes, int(new.bytes().max(1) as i64));
            if let Some(slot) = shape.last_mut() {
                *slot = count;
            }
            Ok(cx.out(&shape, dtype, data.vdevice()))
        }
    }
}

/// `to_vdevice`: the tensor on another device.
pub fn to_vdevice(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let vdevice = match cx.store.attr(cx.attrs, "dst_vdevice") {
        Some(AttrValue::Object(device)) => Some(*device),
        _ => None,
    };
    Ok(cx.shaped(data.info.extents.clone(), data.dtype(), vdevice))
}

/// `ccl.allgather`: `num_workers` of the first axis.
pub fn all_gather(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let Extents::Known(shape) = &data.info.extents else { return Ok(cx.vague(data.rank, data.dtype(), data.vdevice())) };
    along(cx, &data, shape.to_vec(), 0, PrimOp::Mul)
}

/// `ccl.scatter_from_worker0`: splits one axis over all workers. All parts must be known to be equal.
pub fn scatter(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    parts(cx, "scatter_from_worker0")
}

/// `dist.redistribute_replica_to_shard`: the same of a tensor that each worker has.
pub fn shard(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    parts(cx, "redistribute_replica_to_shard")
}

fn parts(cx: &mut Deduce<'_>, op: &str) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let Extents::Known(shape) = &data.info.extents else {
        return Err(format!("input tensor of {op} should have defined shape."));
    };
    let (axis, workers) = (cx.int("axis").unwrap_or(0), cx.int("num_workers").unwrap_or(1).max(1));
    let Some(extent) = usize::try_from(axis).ok().and_then(|axis| shape.get(axis)) else {
        return Err(format!("Index {axis} out of bounds {}", shape.len()));
    };
    if let Dim::Int { value, .. } = extent
        && value % workers != 0
    {
        return Err(format!(
            "{op} expects the size of axis {axis} of input tensor to be divisible by the num_workers. However, the axis {axis} of \
             input tensor is {value} while num_workers is {workers}"
        ));
    }
    along(cx, &data, shape.to_vec(), axis as usize, PrimOp::Div)
}

fn along(cx: &mut Deduce<'_>, data: &Tensor, mut shape: Vec<Dim>, axis: usize, op: PrimOp) -> Result<TypeId, String> {
    let workers = int(cx.int("num_workers").unwrap_or(1).max(1));
    if let Some(extent) = shape.get(axis).copied() {
        shape[axis] = cx.arith(op, extent, workers);
    }
    Ok(cx.out(&shape, data.dtype(), data.vdevice()))
}

/// `inspect.tensor_...`: a number of the structure that describes a tensor.
pub fn inspected(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.tensor(0)?;
    let uint = |bits| DType::new(DTypeCode::UInt, bits);
    let dtype = match cx.op {
        "inspect.tensor_dtype_code" | "inspect.tensor_dtype_bits" => uint(8),
        "inspect.tensor_dtype_lanes" => uint(16),
        "inspect.tensor_ndim" => DType::I32,
        "inspect.tensor_byte_offset" | "inspect.tensor_elem_offset" => uint(64),
        _ => DType::I64,
    };
    Ok(cx.store.ty(Type::Prim(dtype)))
}
