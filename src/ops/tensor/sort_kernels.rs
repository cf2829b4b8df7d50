//! Kernels of the operators in [`super::sort`].

use super::binary::Arithmetic;
use super::datatype::converted;
use super::sort::{argsort_rule, scan_rule, searchsorted_rule, topk_rule};
use crate::ir::sort::{ranking, sort_by};
use crate::ir::{DType, Tensor};
use crate::ops::concrete::{result_type, result_types};
use crate::ops::kernel::{Lane, axis_index, by_lane, bytes, pick, read, round_to, write};
use crate::ops::{EvalError, KernelCx};
use std::cmp::Ordering;

type Outputs = Result<Vec<Tensor>, EvalError>;

/// The lines of a tensor along an axis: the number of lines before and after, and the length of each.
struct Lines {
    outer: usize,
    extent: usize,
    inner: usize,
}

impl Lines {
    fn along(shape: &[i64], axis: usize) -> Lines {
        let size = |extents: &[i64]| extents.iter().product::<i64>() as usize;
        Lines { outer: size(&shape[..axis]), extent: shape[axis] as usize, inner: size(&shape[axis + 1..]) }
    }

    /// Returns the begin of each line; its elements are `inner` apart.
    fn starts(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.outer * self.inner).map(|n| n / self.inner * self.extent * self.inner + n % self.inner)
    }
}

fn order<T: PartialOrd>(ascending: bool) -> impl Fn(&T, &T) -> Ordering {
    move |a, b| {
        let order = a.partial_cmp(b).unwrap_or(Ordering::Equal);
        if ascending { order } else { order.reverse() }
    }
}

/// For each line, the indices within it that sort it; equal elements stay in order.
fn sorted_lines(x: &Tensor, axis: usize, ascending: bool) -> Result<Vec<Vec<usize>>, EvalError> {
    let lines = Lines::along(&x.shape, axis);
    by_lane!(x.dtype, T => {
        let values = read::<T>(x)?;
        let compare = order::<T>(ascending);
        let sorted = lines.starts().map(|start| {
            ranking(lines.extent, &|a, b| compare(&values[start + a * lines.inner], &values[start + b * lines.inner]))
        });
        Ok(sorted.collect())
    })
}

/// Returns the first `k` elements of each sorted line, as offsets in order, and as indices.
fn taken(x: &Tensor, axis: usize, ascending: bool, k: usize) -> Result<(Vec<usize>, Vec<i64>), EvalError> {
    let lines = Lines::along(&x.shape, axis);
    let sorted = sorted_lines(x, axis, ascending)?;
    let (mut places, mut indices) = (Vec::new(), Vec::new());
    for i in 0..lines.outer {
        for rank in 0..k {
            for j in 0..lines.inner {
                let index = sorted[i * lines.inner + j][rank];
                indices.push(index as i64);
                places.push((i * lines.extent + index) * lines.inner + j);
            }
        }
    }
    Ok((places, indices))
}

pub(super) fn sort(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let axis = axis_index(cx.int("axis")?, x[0].shape.len())?;
    let (places, _) = taken(&x[0], axis, cx.flag("is_ascend"), x[0].shape[axis] as usize)?;
    Ok(vec![pick(&x[0], &x[0].shape, places.into_iter())?])
}

pub(super) fn argsort(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, dtype) = result_type(cx, argsort_rule, x)?;
    let axis = axis_index(cx.int("axis")?, shape.len())?;
    let (_, indices) = taken(&x[0], axis, cx.flag("is_ascend"), shape[axis] as usize)?;
    Ok(vec![write(dtype, &shape, &indices)?])
}

pub(super) fn topk(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let shape = result_types(cx, topk_rule, x, false)?.swap_remove(0).0;
    best(cx, &x[0], &shape)
}

/// Returns the best elements along the axis and their indices, as many as the shape has there.
pub(crate) fn best(cx: &KernelCx<'_>, x: &Tensor, shape: &[i64]) -> Outputs {
    let axis = axis_index(cx.int("axis")?, shape.len())?;
    if shape[axis] > x.shape[axis] {
        return Err(EvalError(format!("the best {} of {} elements", shape[axis], x.shape[axis])));
    }
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").unwrap_or(DType::I32);
    let (places, indices) = taken(x, axis, cx.flag("is_ascend"), shape[axis] as usize)?;
    let values = pick(x, shape, places.into_iter())?;
    let indices = write(dtype, shape, &indices)?;
    Ok(match cx.text("ret_type") {
        "values" => vec![values],
        "indices" => vec![indices],
        _ => vec![values, indices],
    })
}

pub(super) fn searchsorted(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, dtype) = result_type(cx, searchsorted_rule, x)?;
    let right = cx.flag("right");
    let line = x[0].shape.last().map_or(1, |e| *e as usize);
    let per_line = shape.last().map_or(1, |e| *e as usize);
    by_lane!(x[0].dtype, T => {
        let (sequence, values) = (read::<T>(&x[0])?, read::<T>(&x[1])?);
        let found = values.iter().enumerate().map(|(i, value)| {
            let start = if x[0].shape.len() == 1 { 0 } else { i / per_line * line };
            let sorted = sequence.get(start..start + line).unwrap_or_default();
            sorted.partition_point(|element| if right { element <= value } else { element < value }) as i64
        });
        Ok(vec![write(dtype, &shape, &found.collect::<Vec<i64>>())?])
    })
}

pub(super) fn cumsum(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, dtype) = result_type(cx, scan_rule, x)?;
    by_lane!(dtype, T => running::<T>(cx, x, &shape, dtype, T::from_i64(0), T::plus))
}

pub(super) fn cumprod(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, dtype) = result_type(cx, scan_rule, x)?;
    by_lane!(dtype, T => running::<T>(cx, x, &shape, dtype, T::from_i64(1), T::times))
}

fn running<T: Arithmetic>(cx: &KernelCx<'_>, x: &[Tensor], shape: &[i64], dtype: DType, start: T, f: fn(T, T) -> T) -> Outputs {
    let axis = axis_index(cx.int_opt("axis").unwrap_or(0), shape.len())?;
    let lines = Lines::along(shape, axis);
    let exclusive = cx.flag("exclusive");
    let mut values = read::<T>(&converted(&x[0], dtype)?)?;
    for begin in lines.starts() {
        let mut total = start;
        for k in 0..lines.extent {
            let value = &mut values[begin + k * lines.inner];
            let next = round_to(dtype, f(total, *value));
            *value = if exclusive { total } else { next };
            total = next;
        }
    }
    Ok(vec![write(dtype, shape, &values)?])
}

/// Returns the distinct elements first, in ascending order or as they occur, then zeros, where TVM
/// leaves its memory as it was.
pub(super) fn unique(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    if x[0].shape.len() != 1 {
        return Err(EvalError::new("Unique: input must be 1-D tensor"));
    }
    let sorted = sorted_lines(&x[0], 0, true)?.swap_remove(0);
    let size = x[0].dtype.bytes();
    let data = bytes(&x[0])?;
    let element = |i: usize| &data[i * size..(i + 1) * size];
    // Groups of equal elements; the first of each is the first to occur, for sorting is stable.
    let mut groups: Vec<&[usize]> = sorted.chunk_by(|a, b| element(*a) == element(*b)).collect();
    if cx.int_opt("sorted") == Some(0) {
        sort_by(&mut groups, |a, b| a[0].cmp(&b[0]));
    }
    let n = sorted.len();
    let (mut values, mut first, mut inverse, mut counts) = (Vec::new(), vec![0i64; n], vec![0i64; n], vec![0i64; n]);
    for (place, group) in groups.iter().enumerate() {
        values.extend_from_slice(element(group[0]));
        first[place] = group[0] as i64;
        counts[place] = group.len() as i64;
        for index in *group {
            inverse[*index] = place as i64;
        }
    }
    values.resize(n * size, 0);
    let shape = &x[0].shape;
    let mut out = vec![
        Tensor::new(x[0].dtype, shape.clone(), values),
        write(DType::I32, shape, &first)?,
        write(DType::I32, shape, &inverse)?,
        write(DType::I32, &[1], &[groups.len() as i64])?,
    ];
    if cx.flag("return_counts") {
        out.push(write(DType::I32, shape, &counts)?);
    }
    Ok(out)
}
