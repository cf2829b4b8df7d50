//! Parts of tensors (TVM: src/relax/op/tensor/index.cc, and what gathers, of manipulate.cc).

use super::{Deduce, int};
use crate::ir::{DType, DTypeCode, Dim, Expr, Extents, PrimOp, Type, TypeId};
use crate::tir::binary;
use crate::tir::math::if_then_else;

/// `take`: the shape of the indices replaces an axis. A scalar index removes the axis.
pub fn take(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(2)?;
    let data = cx.tensor(0)?;
    let (dtype, vdevice) = (data.dtype(), data.vdevice());
    let ty = cx.ty(1);
    let (at, at_rank) = match cx.store.type_of_id(ty) {
        Type::Prim(_) => (Some(Vec::new()), Some(0)),
        _ => {
            let indices = cx.tensor(1)?;
            if let Some(dtype) = indices.dtype()
                && !super::is_int(dtype)
            {
                return Err(format!(
                    "Take op requires the input indices to have integer dtype. However, the given indices dtype is {dtype}"
                ));
            }
            let shape = match indices.info.extents {
                Extents::Known(shape) => Some(shape.to_vec()),
                _ => None,
            };
            (shape, indices.rank)
        }
    };
    let axis = cx.int("axis");
    if axis.is_none() && data.rank != Some(1) {
        return Err("Take op expects the input data to be 1-dimensional tensor when the axis is not specified.".to_owned());
    }
    let (Some(rank), Some(at_rank)) = (data.rank, at_rank) else { return Ok(cx.vague(None, dtype, vdevice)) };
    let axis = cx.axis(axis.unwrap_or(0), rank)?;
    let (Extents::Known(shape), Some(at)) = (&data.info.extents, at) else {
        return Ok(cx.vague(Some((rank + at_rank).saturating_sub(1)), dtype, vdevice));
    };
    let out: Vec<Dim> = shape[..axis].iter().chain(&at).chain(&shape[axis + 1..]).copied().collect();
    Ok(cx.out(&out, dtype, vdevice))
}

/// `strided_slice`: axes, begin, end and strides.
pub fn strided_slice(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    if !(4..=5).contains(&cx.args.len()) {
        return Err(format!("strided_slice takes 4 or 5 arguments, but got {}", cx.args.len()));
    }
    let data = cx.tensor(0).map_err(|message| format!("Check failed: {message}"))?;
    let (dtype, vdevice) = (data.dtype(), data.vdevice());
    let vague = |cx: &mut Deduce<'_>| Ok(cx.vague(data.rank, dtype, vdevice));
    let (Some(axes), Some(begin), Some(end)) = (scalars(cx, 1), scalars(cx, 2), scalars(cx, 3)) else { return vague(cx) };
    let strides = if cx.args.len() > 4 { scalars(cx, 4) } else { Some(vec![int(1); axes.len()]) };
    let Some(strides) = strides else { return vague(cx) };
    if [begin.len(), end.len(), strides.len()].iter().any(|len| *len != axes.len()) {
        return Err(
            "Check failed: For operator strided_slice, the number of axes provided must match the number of 'begin', 'end' and 'strides'."
                .to_owned(),
        );
    }
    if strides.iter().any(|stride| stride.known() == Some(0)) {
        return Err("Divide by zero".to_owned());
    }
    let Some(mut shape) = data.dims() else {
        return if axes.is_empty() { Ok(cx.ty(0)) } else { vague(cx) };
    };
    let Some(axes) = axes.iter().map(|axis| axis.known()).collect::<Option<Vec<i64>>>() else { return vague(cx) };
    let axes = cx.axes(&axes, shape.len())?;
    let inbound = cx.flag("assume_inbound");
    for (index, axis) in axes.into_iter().enumerate() {
        match slice_length(cx, begin[index], end[index], strides[index], shape[axis], inbound) {
            Some(length) => shape[axis] = length,
            None => return vague(cx),
        }
    }
    Ok(cx.out(&shape, dtype, vdevice))
}

/// Returns the number of elements of a slice (TVM: topi `GetLength`); `None` where it depends on unknown signs.
fn slice_length(cx: &mut Deduce<'_>, begin: Dim, end: Dim, stride: Dim, extent: Dim, inbound: bool) -> Option<Dim> {
    let step = stride.known().filter(|step| *step != 0)?;
    let (begin, end) =
        if inbound { (begin, end) } else { (canonical(cx, begin, extent, step)?, canonical(cx, end, extent, step)?) };
    let (from, to, step) = if step < 0 && !inbound { (end, begin, -step) } else { (begin, end, step) };
    let span = cx.arith(PrimOp::Sub, to, from);
    let above = cx.arith(PrimOp::Add, span, int(step - 1));
    let length = cx.arith(PrimOp::FloorDiv, above, int(step));
    Some(cx.natural(length))
}

/// Returns an index from the front, within the tensor (TVM: topi `CanonicalizeIndex`).
fn canonical(cx: &mut Deduce<'_>, index: Dim, extent: Dim, step: i64) -> Option<Dim> {
    let low = if step < 0 { -1 } else { 0 };
    let high = if step < 0 { cx.arith(PrimOp::Sub, extent, int(1)) } else { extent };
    let index = match index.known() {
        Some(value) if value < 0 => cx.arith(PrimOp::Add, index, extent),
        Some(_) => index,
        // `n` as an end is the extent itself; the sign of others has to be known, with symbols as extents.
        None if index == extent => return Some(high),
        None if step > 0 && is_natural(cx, index) => return Some(cx.arith(PrimOp::Min, index, high)),
        None => {
            let from_end = cx.arith(PrimOp::Add, index, extent);
            let [index, zero, from_end] = [index, int(0), from_end].map(|dim| cx.store.prim_of_dim(dim));
            let below = binary(cx.store, PrimOp::Lt, index, zero);
            let chosen = if_then_else(cx.store, below, from_end, index);
            cx.store.dim_of_prim(chosen)
        }
    };
    let above = cx.arith(PrimOp::Max, index, int(low));
    Some(cx.arith(PrimOp::Min, above, high))
}

/// True if an index is not negative when no symbol is.
fn is_natural(cx: &mut Deduce<'_>, index: Dim) -> bool {
    let prim = cx.store.prim_of_dim(index);
    cx.over_extents(prim).const_int_bound(cx.store, prim).min >= 0
}

/// Returns the scalars of the tuple literal that argument `index` is.
fn scalars(cx: &mut Deduce<'_>, index: usize) -> Option<Vec<Dim>> {
    let Expr::Tuple(fields) = cx.store.expr(*cx.args.get(index)?) else { return None };
    let fields: Vec<_> = cx.store.items(fields).collect();
    fields.into_iter().map(|field| cx.scalar_of(field)).collect()
}

/// `dynamic_strided_slice`: the same rank, with unknown extents.
pub fn dynamic_strided_slice(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0).map_err(|message| format!("Check failed: {message}"))?;
    let Some(rank) = data.rank else { return Ok(cx.vague(None, data.dtype(), data.vdevice())) };
    for (index, what) in [(1, "begin"), (2, "end"), (3, "strides")] {
        let refused = |text: String| Err(format!("Check failed: Dynamic strided slice requires {text}"));
        let Ok(list) = cx.tensor(index) else {
            return refused(format!("the input {what} to be have the type. Please try normalizing the inputs."));
        };
        if list.rank != Some(1) {
            return refused(format!("{what} to be 1d tensor (list of values)."));
        }
        let Extents::Known(shape) = &list.info.extents else {
            return refused(format!("the input {what} to have well-defined shape."));
        };
        let Some(count) = shape[0].known() else {
            return refused(format!("the input {what} to have a known integer shape value."));
        };
        if count != rank as i64 {
            return refused(format!("the number of indices in {what} to equal the number of axes."));
        }
        if let Some(dtype) = list.dtype().filter(|dtype| *dtype != DType::I64) {
            return refused(format!("the input {what} values to be all int64. However, {what} has dtype {dtype}."));
        }
    }
    Ok(cx.vague(data.rank, data.dtype(), data.vdevice()))
}

/// `gather_elements`: the shape of the indices.
pub fn gather_elements(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let indices = cx.tensor(1)?;
    if indices.dtype().is_some_and(|dtype| dtype.code != DTypeCode::Int) {
        return Err("GatherElements requires the input indices to have int64 dtype".to_owned());
    }
    let (Some(rank), Some(indices_rank)) = (data.rank, indices.rank) else {
        return Ok(cx.vague(None, data.dtype(), data.vdevice()));
    };
    cx.axis(cx.int("axis").unwrap_or(0), rank)?;
    if rank != indices_rank {
        return Err("GatherElements requires data and indices to have the same rank".to_owned());
    }
    Ok(cx.shaped(indices.info.extents, data.dtype(), data.vdevice()))
}

/// `gather_nd`: the last axis of the indices has positions in the first axes of the data.
pub fn gather_nd(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let indices = cx.tensor(1)?;
    let (dtype, vdevice) = (data.dtype(), data.vdevice());
    let batch = cx.int("batch_dims").unwrap_or(0);
    if batch < 0 {
        return Err(format!("Check failed: attrs->batch_dims >= 0 ({batch} vs. 0) : "));
    }
    if let Some(dtype) = indices.dtype().filter(|dtype| *dtype != DType::I64) {
        return Err(format!(
            "GatherND requires the input indices to have int64 dtype. However, the given indices dtype is {dtype}"
        ));
    }
    let (Some(rank), Some(at_rank)) = (data.rank, indices.rank) else { return Ok(cx.vague(None, dtype, vdevice)) };
    let batch = batch as usize;
    if batch > rank {
        return Err(format!(
            "GatherND batch_dims must be in range [0, data.ndim]. However, got batch_dims={batch}, data.ndim={rank}"
        ));
    }
    if batch + 1 > at_rank {
        return Err(format!(
            "GatherND batch_dims cannot exceed indices.ndim-1. However, got batch_dims={batch}, indices.ndim={at_rank}"
        ));
    }
    let Extents::Known(at) = &indices.info.extents else { return Ok(cx.vague(None, dtype, vdevice)) };
    let depth = at.last().and_then(|dim| usize::try_from(dim.known()?).ok());
    let Some(depth) = depth else { return Ok(cx.vague(None, dtype, vdevice)) };
    let taken = batch + depth;
    let Extents::Known(shape) = &data.info.extents else {
        if at_rank + rank <= taken {
            return Err("Check failed: GatherND has a result of fewer than no dimensions".to_owned());
        }
        return Ok(cx.vague((at_rank + rank).checked_sub(taken + 1), dtype, vdevice));
    };
    if taken > rank {
        return Err(
            "GatherND requires the last dimension of indices to be less than or equal to the rank of data minus batch_dims"
                .to_owned(),
        );
    }
    let out: Vec<Dim> = at[..at.len() - 1].iter().chain(&shape[taken..]).copied().collect();
    Ok(cx.out(&out, dtype, vdevice))
}

/// `index_tensor`: indices broadcast against each other, then the axes of the data that have none.
pub fn index_tensor(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let indices = cx.tensors(1)?;
    let (dtype, vdevice) = (data.dtype(), data.vdevice());
    for (at, index) in indices.iter().enumerate() {
        if let Some(dtype) = index.dtype().filter(|dtype| !super::is_int(*dtype)) {
            return Err(format!(
                "index_tensor requires every index tensor to have an integer dtype; index {at} has dtype {dtype}"
            ));
        }
    }
    if data.rank.is_some_and(|rank| indices.len() > rank) {
        return Err(format!(
            "index_tensor received {} index tensors, but data has only {} dimensions",
            indices.len(),
            data.rank.unwrap_or(0)
        ));
    }
    let mut shape: Option<Vec<Dim>> = Some(Vec::new());
    for index in &indices {
        shape = match (&shape, &index.info.extents) {
            (Some(shape), Extents::Known(next)) => cx.broadcast(shape, next)?,
            _ => None,
        };
    }
    match (shape, &data.info.extents, data.rank) {
        (Some(mut shape), Extents::Known(old), _) => {
            shape.extend_from_slice(&old[indices.len()..]);
            Ok(cx.out(&shape, dtype, vdevice))
        }
        (Some(shape), _, Some(rank)) => Ok(cx.vague(Some(shape.len() + rank - indices.len()), dtype, vdevice)),
        _ => Ok(cx.vague(None, dtype, vdevice)),
    }
}
