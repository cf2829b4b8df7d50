//! Kernels of the operators in [`super::index`].

use super::arrange_kernels::stretched;
use super::create::spread;
use super::ensure;
use super::index::{adv_index_rule, gather_nd_rule, one_hot_rule, take_rule, unravel_index_rule};
use crate::ir::{DType, Tensor};
use crate::ops::concrete::{result_type, result_types};
use crate::ops::kernel::{Lane, axis_index, broadcast_extents, by_lane, bytes, count, each_index, pick, read, strides, write};
use crate::ops::{EvalError, KernelCx};

type Outputs = Result<Vec<Tensor>, EvalError>;

/// Returns an index within an axis, or an error: TVM would read somewhere else in memory.
fn inside(index: i64, extent: i64) -> Result<usize, EvalError> {
    ensure!((0..extent).contains(&index), "index {index} is out of range for an axis of {extent}");
    Ok(index as usize)
}

/// Applies `mode` to an index.
fn bounded(index: i64, extent: i64, mode: &str) -> Result<usize, EvalError> {
    ensure!(extent > 0, "index {index} into an axis of {extent}");
    match mode {
        "clip" => Ok(index.clamp(0, extent - 1) as usize),
        "fast" => inside(index, extent),
        _ => Ok(index.rem_euclid(extent) as usize),
    }
}

pub(super) fn take(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, _) = result_type(cx, take_rule, x)?;
    let (data, indices) = (&x[0].shape, read::<i64>(&x[1])?);
    let mode = cx.text("mode");
    let Some(axis) = cx.int_opt("axis") else {
        let places: Vec<usize> = indices.iter().map(|i| bounded(*i, x[0].len() as i64, mode)).collect::<Result<_, _>>()?;
        return Ok(vec![pick(&x[0], &shape, places.into_iter())?]);
    };
    let axis = axis_index(axis, data.len())?;
    let batch = cx.int("batch_dims")? as usize;
    let size = |extents: &[i64]| extents.iter().product::<i64>() as usize;
    ensure!(data[..batch] == x[1].shape[..batch], "take: batch axes of data and indices differ");
    let chosen: Vec<usize> = indices.iter().map(|i| bounded(*i, data[axis], mode)).collect::<Result<_, _>>()?;
    let (inner, per_batch) = (size(&data[axis + 1..]), size(&x[1].shape[batch..]));
    let (n_batches, middle) = (size(&data[..batch]), size(&data[batch..axis]));
    let extent = data[axis] as usize;
    let mut places = Vec::with_capacity(size(&shape));
    for b in 0..n_batches {
        for m in 0..middle {
            for index in &chosen[b * per_batch..(b + 1) * per_batch] {
                let base = ((b * middle + m) * extent + index) * inner;
                places.extend(base..base + inner);
            }
        }
    }
    Ok(vec![pick(&x[0], &shape, places.into_iter())?])
}

pub(super) fn gather(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let rank = x[0].shape.len();
    let axis = axis_index(cx.int("axis")?, rank)?;
    let (indices, from) = (read::<i64>(&x[1])?, strides(&x[0].shape));
    ensure!(x[1].shape.len() == rank, "gather: data and indices differ in rank");
    let mut places = Vec::with_capacity(indices.len());
    each_index(&x[1].shape, |index| {
        let mut place = 0;
        for i in 0..rank {
            let here = if i == axis { indices[places.len()] } else { index[i] };
            place += inside(here, x[0].shape[i])? * from[i];
        }
        places.push(place);
        Ok(())
    })?;
    Ok(vec![pick(&x[0], &x[1].shape, places.into_iter())?])
}

pub(super) fn gather_nd(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, _) = result_type(cx, gather_nd_rule, x)?;
    let (data, tuples) = (&x[0].shape, &x[1].shape);
    let (depth, batch) = (tuples[0] as usize, cx.int_opt("batch_dims").unwrap_or(0) as usize);
    let (indices, from) = (read::<i64>(&x[1])?, strides(data));
    let n_tuples: usize = tuples[1..].iter().product::<i64>() as usize;
    let inner: usize = data[batch + depth..].iter().product::<i64>() as usize;
    // The number of index tuples behind the batch axes.
    let per_batch: usize = tuples[1 + batch..].iter().product::<i64>() as usize;
    let batch_stride: usize = data[batch..].iter().product::<i64>() as usize;
    let mut places = Vec::with_capacity(n_tuples * inner);
    for tuple in 0..n_tuples {
        let mut base = tuple.checked_div(per_batch).unwrap_or(0) * batch_stride;
        for i in 0..depth {
            base += inside(indices[i * n_tuples + tuple], data[batch + i])? * from[batch + i];
        }
        places.extend(base..base + inner);
    }
    Ok(vec![pick(&x[0], &shape, places.into_iter())?])
}

pub(super) fn adv_index(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, _) = result_types(cx, adv_index_rule, x, true)?.swap_remove(0);
    let n = x.len() - 1;
    let common = &shape[..shape.len() - (x[0].shape.len() - n)];
    let columns: Vec<Vec<i64>> = x[1..].iter().map(|i| read(&stretched(i, common)?)).collect::<Result<_, _>>()?;
    let from = strides(&x[0].shape);
    let inner: usize = x[0].shape[n..].iter().product::<i64>() as usize;
    let mut places = Vec::new();
    for row in 0..columns[0].len() {
        let mut base = 0;
        for (i, column) in columns.iter().enumerate() {
            base += inside(column[row], x[0].shape[i])? * from[i];
        }
        places.extend(base..base + inner);
    }
    Ok(vec![pick(&x[0], &shape, places.into_iter())?])
}

pub(super) fn argwhere(_: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let size = x[0].dtype.bytes();
    let mut elements = bytes(&x[0])?.chunks_exact(size.max(1));
    let mut found = Vec::new();
    let mut rows = 0;
    each_index(&x[0].shape, |index| {
        // Zero is all bits zero, but for the negative zero of floats.
        let element = elements.next().unwrap_or_default();
        let sign = if x[0].dtype.is_float() { 0x80 } else { 0 };
        let last = element.len().saturating_sub(1);
        if element.iter().enumerate().any(|(i, b)| if i == last { b & !sign != 0 } else { *b != 0 }) {
            found.extend_from_slice(index);
            rows += 1;
        }
        Ok(())
    })?;
    Ok(vec![write(DType::I32, &[rows, x[0].shape.len() as i64], &found)?])
}

pub(super) fn unravel_index(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, dtype) = result_type(cx, unravel_index_rule, x)?;
    let (flat, extents) = (read::<i64>(&x[0])?, read::<i64>(&x[1])?);
    let mut rows = vec![Vec::with_capacity(flat.len()); extents.len()];
    for index in flat {
        let mut rest = index;
        for (row, extent) in rows.iter_mut().zip(&extents).rev() {
            ensure!(*extent > 0, "unravel_index into a shape with an extent of {extent}");
            row.push(rest.rem_euclid(*extent));
            rest = rest.div_euclid(*extent);
        }
    }
    Ok(vec![write(dtype, &shape, &rows.concat())?])
}

/// The kernel of `where`, which is a keyword.
pub(super) fn choose(_: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    ensure!(x[1].dtype == x[2].dtype, "x and y must have the same dtype: {} vs {}", x[1].dtype, x[2].dtype);
    let shape = broadcast_extents(&x[0].shape, &broadcast_extents(&x[1].shape, &x[2].shape)?)?;
    let wide: Vec<Tensor> = x.iter().map(|part| stretched(part, &shape)).collect::<Result<_, _>>()?;
    let size = wide[1].dtype.bytes();
    let (yes, no) = (bytes(&wide[1])?, bytes(&wide[2])?);
    let mut out = Vec::with_capacity(yes.len());
    for (i, condition) in read::<f64>(&wide[0])?.into_iter().enumerate() {
        let from = if condition != 0.0 { yes } else { no };
        out.extend_from_slice(&from[i * size..(i + 1) * size]);
    }
    Ok(vec![Tensor::new(wide[1].dtype, shape, out)])
}

pub(super) fn one_hot(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, dtype) = result_type(cx, one_hot_rule, x)?;
    hot(x, &shape, dtype, cx.int("axis")?)
}

/// `on` where the index along `axis` is the one of `indices`, `off` elsewhere.
pub(crate) fn hot(x: &[Tensor], shape: &[i64], dtype: DType, axis: i64) -> Outputs {
    let axis = if axis == -1 { shape.len() - 1 } else { axis as usize };
    let single = (vec![1], dtype);
    let (on, off) = (spread(&x[1], &single)?, spread(&x[2], &single)?);
    let both = [bytes(&off[0])?, bytes(&on[0])?].map(|b| b.to_vec());
    let (indices, inner) = (read::<i64>(&x[0])?, shape[axis + 1..].iter().product::<i64>() as usize);
    let extent = shape[axis] as usize;
    let n = count(shape, dtype)?;
    let mut out = Vec::with_capacity(n * dtype.bytes());
    for place in 0..n {
        let (here, outer, rest) = (place / inner % extent, place / inner / extent, place % inner);
        let hit = indices[outer * inner + rest] == here as i64;
        out.extend_from_slice(&both[usize::from(hit)]);
    }
    Ok(vec![Tensor::new(dtype, shape, out)])
}

pub(super) fn sequence_mask(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (axis, shape) = (cx.int("axis")? as usize & 1, &x[0].shape);
    ensure!(shape.len() >= 2, "sequence_mask needs data of at least two axes");
    let (lengths, mask) = (read::<f64>(&x[1])?, cx.float("mask_value")?);
    let from = strides(shape);
    ensure!(lengths.len() as i64 == shape[1 - axis], "sequence_mask needs a length for each sequence");
    by_lane!(x[0].dtype, T => {
        let mut values = read::<T>(&x[0])?;
        for (place, value) in values.iter_mut().enumerate() {
            let index = |axis: usize| place / from[axis] % shape[axis] as usize;
            if index(axis) as f64 >= lengths[index(1 - axis)] {
                *value = T::from_f64(mask);
            }
        }
        Ok(vec![write(x[0].dtype, shape, &values)?])
    })
}

pub(super) fn invert_permutation(_: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let permutation = read::<i64>(&x[0])?;
    let mut out = vec![0; permutation.len()];
    for (i, place) in permutation.iter().enumerate() {
        out[inside(*place, permutation.len() as i64)?] = i as i64;
    }
    Ok(vec![write(x[0].dtype, &x[0].shape, &out)?])
}
