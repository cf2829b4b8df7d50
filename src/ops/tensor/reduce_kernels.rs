//! Kernels of the operators in [`super::reduce`]. Elements are combined one after the other in
//! row-major order, in the type of the data, like the loops that TVM generates for a CPU.

use super::binary::{Arithmetic, zipped};
use super::ensure;
use super::reduce::{arg_reduce_rule, collapse_sum_to_rule, reduced_axes, variance_rule};
use crate::ir::{DType, DTypeCode, Tensor};
use crate::ops::concrete::result_type;
use crate::ops::kernel::{Lane, by_lane, count, offsets, read, round_to, strides, write};
use crate::ops::{EvalError, KernelCx};

type Outputs = Result<Vec<Tensor>, EvalError>;

/// The reduced axes of a tensor, and the form of the result.
pub(super) struct Reduction {
    /// The shape of the result.
    shape: Vec<i64>,
    /// For each element in order, its place in the result.
    targets: Vec<usize>,
    /// Extents of the reduced axes.
    reduced: Vec<i64>,
}

fn reduction(cx: &KernelCx<'_>, extents: &[i64]) -> Result<Reduction, EvalError> {
    let axes = reduced_axes(extents.len(), cx.ints_opt("axis").as_deref(), cx.flag("exclude"))?;
    over(extents, &axes, cx.flag("keepdims"))
}

fn over(extents: &[i64], axes: &[usize], keep: bool) -> Result<Reduction, EvalError> {
    count(extents, DType::F64)?;
    let mut kept = extents.to_vec();
    for axis in axes {
        kept[*axis] = 1;
    }
    let mut moves = strides(&kept);
    for axis in axes {
        moves[*axis] = 0;
    }
    let shape = if keep { kept } else { (0..extents.len()).filter(|i| !axes.contains(i)).map(|i| extents[i]).collect() };
    let reduced = axes.iter().map(|axis| extents[*axis]).collect();
    Ok(Reduction { shape, targets: offsets(extents, &moves).collect(), reduced })
}

impl Reduction {
    /// Combines all elements of each group, beginning with `start`.
    fn fold<T: Lane, A: Clone>(&self, values: &[T], start: A, mut f: impl FnMut(&mut A, T)) -> Result<Vec<A>, EvalError> {
        let mut out = vec![start; count(&self.shape, DType::F64)?];
        for (value, target) in values.iter().zip(&self.targets) {
            f(&mut out[*target], *value);
        }
        Ok(out)
    }

    fn sum<T: Arithmetic>(&self, values: &[T], dtype: DType) -> Result<Vec<T>, EvalError> {
        self.fold(values, T::default(), |sum, v| *sum = round_to(dtype, sum.plus(v)))
    }
}

pub(super) fn sum(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let reduction = reduction(cx, &x[0].shape)?;
    by_lane!(x[0].dtype, T => {
        Ok(vec![write(x[0].dtype, &reduction.shape, &reduction.sum(&read::<T>(&x[0])?, x[0].dtype)?)?])
    })
}

pub(super) fn prod(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let reduction = reduction(cx, &x[0].shape)?;
    let dtype = x[0].dtype;
    by_lane!(dtype, T => {
        let out = reduction.fold(&read::<T>(&x[0])?, T::from_i64(1), |product, v| *product = round_to(dtype, product.times(v)))?;
        Ok(vec![write(dtype, &reduction.shape, &out)?])
    })
}

/// Returns the type in which means and variances are summed: TVM widens float16.
fn wide(dtype: DType) -> DType {
    if dtype == DType::F16 { DType::F32 } else { dtype }
}

pub(super) fn mean(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let reduction = reduction(cx, &x[0].shape)?;
    let n: i64 = reduction.reduced.iter().product();
    let floating = x[0].dtype.is_float();
    ensure!(n != 0 || floating, "the mean of no integers");
    by_lane!(x[0].dtype, T => {
        let mut out = reduction.sum(&read::<T>(&x[0])?, wide(x[0].dtype))?;
        for value in &mut out {
            *value = value.over(T::from_i64(n));
        }
        Ok(vec![write(x[0].dtype, &reduction.shape, &out)?])
    })
}

pub(super) fn variance(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    result_type(cx, variance_rule, x)?;
    let reduction = reduction(cx, &x[0].shape)?;
    let n = reduction.reduced.iter().product::<i64>() - i64::from(cx.flag("unbiased"));
    let dtype = x[0].dtype;
    by_lane!(dtype, T => {
        let (shape, squares) = zipped(&x[0], &x[1], |value: T, mean: T| {
            let difference = round_to(dtype, value.minus(mean));
            round_to(dtype, difference.times(difference))
        })?;
        ensure!(shape[..] == x[0].shape[..], "variance: the mean does not broadcast to the data");
        let mut out = reduction.sum(&squares, wide(dtype))?;
        for value in &mut out {
            *value = value.over(T::from_i64(n));
        }
        Ok(vec![write(dtype, &reduction.shape, &out)?])
    })
}

/// Returns the lowest value of a type, with which TVM begins a maximum; the highest with `high`.
fn limit<T: Lane>(dtype: DType, high: bool) -> T {
    let sign = if high { 1.0 } else { -1.0 };
    match (dtype.code, dtype.bits) {
        (DTypeCode::Int, bits) => T::from_i64(if high { i64::MAX } else { i64::MIN } >> (64 - bits.clamp(1, 64))),
        (DTypeCode::UInt, 64) if high => T::from_f64(u64::MAX as f64),
        (DTypeCode::UInt, bits) => T::from_i64(if high { (1i64 << bits.min(62)) - 1 } else { 0 }),
        (DTypeCode::Float, 16) => T::from_f64(sign * 65504.0),
        (DTypeCode::Float, 64) => T::from_f64(sign * f64::MAX),
        _ => T::from_f64(sign * f64::from(f32::MAX)),
    }
}

pub(super) fn largest(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let reduction = reduction(cx, &x[0].shape)?;
    by_lane!(x[0].dtype, T => {
        let start = limit::<T>(x[0].dtype, false);
        let out = reduction.fold(&read::<T>(&x[0])?, start, |best, v| if !matches!((*best).partial_cmp(&v), Some(std::cmp::Ordering::Greater)) { *best = v })?;
        Ok(vec![write(x[0].dtype, &reduction.shape, &out)?])
    })
}

pub(super) fn smallest(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let reduction = reduction(cx, &x[0].shape)?;
    by_lane!(x[0].dtype, T => {
        let start = limit::<T>(x[0].dtype, true);
        let out = reduction.fold(&read::<T>(&x[0])?, start, |best, v| if !matches!((*best).partial_cmp(&v), Some(std::cmp::Ordering::Less)) { *best = v })?;
        Ok(vec![write(x[0].dtype, &reduction.shape, &out)?])
    })
}

pub(super) fn all(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    truth(cx, &x[0], 1, |answer, v| answer & v)
}

pub(super) fn any(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    truth(cx, &x[0], 0, |answer, v| answer | v)
}

fn truth(cx: &KernelCx<'_>, x: &Tensor, start: i64, f: fn(i64, i64) -> i64) -> Outputs {
    ensure!(x.dtype == DType::BOOL, "a reduction of truth values over {}", x.dtype);
    let reduction = reduction(cx, &x.shape)?;
    let out = reduction.fold(&read::<i64>(x)?, start, |answer, v| *answer = f(*answer, v))?;
    Ok(vec![write(x.dtype, &reduction.shape, &out)?])
}

pub(super) fn argmax(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    by_lane!(x[0].dtype, T => best_index(cx, x, limit::<T>(x[0].dtype, false), |a: T, b| a > b))
}

pub(super) fn argmin(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    by_lane!(x[0].dtype, T => best_index(cx, x, limit::<T>(x[0].dtype, true), |a: T, b| a < b))
}

/// The flat index over the reduced axes of the best element, the first or the last of equals.
fn best_index<T: Lane>(cx: &KernelCx<'_>, x: &[Tensor], start: T, better: fn(T, T) -> bool) -> Outputs {
    let (shape, dtype) = result_type(cx, arg_reduce_rule, x)?;
    let reduction = reduction(cx, &x[0].shape)?;
    let last = cx.flag("select_last_index");
    let out = reduction.fold(&read::<T>(&x[0])?, (-1i64, start, 0i64), |(best, value, next), v| {
        // The element seen before stays when it is better, or equal and at the preferred place.
        let keep = better(*value, v) || (*value == v && ((*best > *next) == last));
        let value_stays = better(*value, v);
        if !keep {
            *best = *next;
        }
        if !value_stays {
            *value = v;
        }
        *next += 1;
    })?;
    let indices: Vec<i64> = out.into_iter().map(|(best, ..)| best).collect();
    Ok(vec![write(dtype, &shape, &indices)?])
}

/// Sums over the axes that broadcasting from `shape` added or stretched (TVM's `collapse_sum`).
pub(crate) fn collapsed(x: &Tensor, shape: &[i64]) -> Result<Tensor, EvalError> {
    let rank = x.shape.len();
    ensure!(rank >= shape.len(), "a tensor of {rank} axes cannot be summed down to {}", shape.len());
    let mut axes = Vec::new();
    let mut left = shape.len();
    for axis in (0..rank).rev() {
        if left > 0 && x.shape[axis] == shape[left - 1] {
            left -= 1;
            continue;
        }
        axes.push(axis);
        if left > 0 && shape[left - 1] == 1 {
            left -= 1;
        }
    }
    let reduction = over(&x.shape, &axes, true)?;
    by_lane!(x.dtype, T => write(x.dtype, shape, &reduction.sum(&read::<T>(x)?, x.dtype)?))
}

pub(super) fn collapse_sum_like(_: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    Ok(vec![collapsed(&x[0], &x[1].shape)?])
}

pub(super) fn collapse_sum_to(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let shape = match cx.ints_opt("shape") {
        Some(_) => result_type(cx, collapse_sum_to_rule, x)?.0,
        None => read::<i64>(&x[1])?,
    };
    Ok(vec![collapsed(&x[0], &shape)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collapsing_undoes_broadcasting() {
        let x = write(DType::F32, &[2, 2, 3], &[1f32; 12]).unwrap();
        let out = collapsed(&x, &[2, 1]).unwrap();
        assert_eq!((out.shape.to_vec(), read::<f32>(&out).unwrap()), (vec![2, 1], vec![6.0, 6.0]));
    }

    #[test]
    fn limits_are_those_of_the_type() {
        assert_eq!(limit::<i64>(DType::I8, false), -128);
        assert_eq!(limit::<i64>(DType::U8, true), 255);
        assert_eq!(limit::<f32>(DType::F32, true), f32::MAX);
    }
}
