//! Kernels of the operators in [`super::arrange`]. They only move elements.

use super::arrange::{broadcast_to_rule, meshgrid_rule, repeat_rule, split_rule, stack_rule, tile_rule};
use super::ensure;
use crate::ir::Tensor;
use crate::ops::concrete::{result_type, result_types};
use crate::ops::kernel::{axis_index, broadcast_strides, bytes, count, offsets, pick, read, reshaped, strides};
use crate::ops::{EvalError, KernelCx};

type Outputs = Result<Vec<Tensor>, EvalError>;

pub(super) fn transpose(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let rank = x[0].shape.len();
    let axes: Vec<usize> = match cx.ints_opt("axes") {
        None => (0..rank).rev().collect(),
        Some(axes) => axes.iter().map(|axis| axis_index(*axis, rank)).collect::<Result<_, _>>()?,
    };
    ensure!(axes.len() == rank, "transpose of {rank} axes by {} axes", axes.len());
    let from = strides(&x[0].shape);
    let shape: Vec<i64> = axes.iter().map(|axis| x[0].shape[*axis]).collect();
    let moved: Vec<usize> = axes.iter().map(|axis| from[*axis]).collect();
    Ok(vec![pick(&x[0], &shape, offsets(&shape, &moved))?])
}

pub(super) fn concatenate(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let first = x.first().ok_or("concatenate needs at least one tensor")?;
    let axis = axis_index(cx.int("axis")?, first.shape.len())?;
    Ok(vec![joined(x, axis)?])
}

/// Joins tensors that differ at most along that axis.
fn joined(x: &[Tensor], axis: usize) -> Result<Tensor, EvalError> {
    let mut shape = x[0].shape.to_vec();
    for part in &x[1..] {
        let fits = part.shape.len() == shape.len() && part.dtype == x[0].dtype;
        let fits = fits && (0..shape.len()).all(|i| i == axis || part.shape[i] == shape[i]);
        ensure!(fits, "tensors of shapes {:?} and {:?} cannot be joined along axis {axis}", x[0].shape, part.shape);
        shape[axis] += part.shape[axis];
    }
    let size = x[0].dtype.bytes();
    let mut out = Vec::with_capacity(count(&shape, x[0].dtype)? * size);
    let inner: usize = shape[axis + 1..].iter().product::<i64>() as usize * size;
    let outer: i64 = shape[..axis].iter().product();
    let parts: Vec<(&[u8], usize)> =
        x.iter().map(|part| Ok((&bytes(part)?[..], part.shape[axis] as usize * inner))).collect::<Result<_, EvalError>>()?;
    for row in 0..outer as usize {
        for (data, len) in &parts {
            out.extend_from_slice(&data[row * len..(row + 1) * len]);
        }
    }
    Ok(Tensor::new(x[0].dtype, shape, out))
}

pub(super) fn stack(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let out = result_types(cx, stack_rule, x, true)?.swap_remove(0).0;
    let axis = axis_index(cx.int("axis")?, out.len())?;
    let mut slice = out;
    slice[axis] = 1;
    let parts: Vec<Tensor> = x.iter().map(|part| reshaped(part, &slice)).collect::<Result<_, _>>()?;
    Ok(vec![joined(&parts, axis)?])
}

pub(super) fn split(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let parts = result_types(cx, split_rule, x, false)?;
    let axis = axis_index(cx.int("axis")?, x[0].shape.len())?;
    let from = strides(&x[0].shape);
    let mut begin = 0;
    let mut out = Vec::with_capacity(parts.len());
    for (shape, _) in parts {
        let base = begin * from[axis];
        out.push(pick(&x[0], &shape, offsets(&shape, &from).map(|place| base + place))?);
        begin += shape[axis] as usize;
    }
    Ok(out)
}

pub(super) fn repeat(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, _) = result_type(cx, repeat_rule, x)?;
    let axis = axis_index(cx.int("axis")?, x[0].shape.len())?;
    let repeats = shape[axis].checked_div(x[0].shape[axis]).unwrap_or(1);
    // The repeated axis becomes two, of which the second does not move.
    let mut split = x[0].shape.to_vec();
    split.insert(axis + 1, repeats);
    let mut from = strides(&x[0].shape);
    from.insert(axis + 1, 0);
    Ok(vec![pick(&x[0], &shape, offsets(&split, &from))?])
}

pub(super) fn tile(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, _) = result_type(cx, tile_rule, x)?;
    tiled(&x[0], &shape)
}

/// Repeats a tensor along each axis until it fills the shape.
pub(crate) fn tiled(x: &Tensor, shape: &[i64]) -> Outputs {
    count(shape, x.dtype)?;
    ensure!(shape.len() >= x.shape.len(), "a tile of {} axes in {}", x.shape.len(), shape.len());
    let added = shape.len() - x.shape.len();
    let from = strides(&x.shape);
    let (mut split, mut moves) = (Vec::new(), Vec::new());
    for (axis, extent) in shape.iter().enumerate() {
        let (inner, stride) = if axis < added { (1, 0) } else { (x.shape[axis - added], from[axis - added]) };
        split.extend([extent.checked_div(inner).unwrap_or(0), inner]);
        moves.extend([0, stride]);
    }
    Ok(vec![pick(x, shape, offsets(&split, &moves))?])
}

pub(super) fn reverse(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let axis = axis_index(cx.int("axis")?, x[0].shape.len())?;
    let mut from = strides(&x[0].shape);
    let last = (x[0].shape[axis] as usize).saturating_sub(1) * from[axis];
    from[axis] = from[axis].wrapping_neg();
    let places = offsets(&x[0].shape, &from).map(|place| place.wrapping_add(last));
    Ok(vec![pick(&x[0], &x[0].shape, places)?])
}

pub(super) fn reverse_sequence(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let shape = &x[0].shape;
    let (along, batch) = (axis_index(cx.int("seq_axis")?, shape.len())?, axis_index(cx.int("batch_axis")?, shape.len())?);
    let lengths = read::<i64>(&x[1])?;
    ensure!(lengths.len() as i64 == shape[batch], "reverse_sequence needs a length for each row");
    let from = strides(shape);
    let extent = shape[along];
    let places = offsets(shape, &from).map(|place| {
        let index = |axis: usize| (place / from[axis]) as i64 % shape[axis];
        let (here, length) = (index(along), lengths[index(batch) as usize].min(extent));
        let there = if length <= 1 || length <= here { here } else { length - 1 - here };
        place + there as usize * from[along] - here as usize * from[along]
    });
    Ok(vec![pick(&x[0], shape, places)?])
}

pub(super) fn broadcast_to(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, _) = result_type(cx, broadcast_to_rule, x)?;
    Ok(vec![stretched(&x[0], &shape)?])
}

pub(super) fn broadcast_to_like(_: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    Ok(vec![stretched(&x[0], &x[1].shape)?])
}

/// A tensor broadcast to a shape.
pub(crate) fn stretched(x: &Tensor, shape: &[i64]) -> Result<Tensor, EvalError> {
    let added = shape.len().checked_sub(x.shape.len());
    let fits = added.is_some_and(|added| x.shape.iter().zip(&shape[added..]).all(|(a, b)| a == b || *a == 1));
    ensure!(fits, "a tensor of shape {:?} cannot be broadcast to {shape:?}", x.shape);
    count(shape, x.dtype)?;
    pick(x, shape, offsets(shape, &broadcast_strides(&x.shape, shape)))
}

pub(super) fn meshgrid(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let shape = result_types(cx, meshgrid_rule, x, true)?.swap_remove(0).0;
    let swapped = cx.text("indexing") == "xy" && x.len() >= 2;
    let grid = |(i, part): (usize, &Tensor)| {
        let axis = if swapped && i < 2 { 1 - i } else { i };
        let mut moves = vec![0; shape.len()];
        moves[axis] = usize::from(!part.is_scalar());
        pick(part, &shape, offsets(&shape, &moves))
    };
    x.iter().enumerate().map(grid).collect()
}
