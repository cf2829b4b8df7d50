//! Helpers of the kernels in this directory: arithmetic in lanes, windows, layouts.

use crate::ir::{DType, DTypeCode, Tensor};
use crate::ops::kernel::{EvalError, KernelCx, Lane, bytes, read};
use crate::ops::layout::Layout;

/// Arithmetic in a lane. Integers wrap around, so sums come out as in the narrow type.
pub(crate) trait Num: Lane {
    const ZERO: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// Returns the quotient; of integers rounded towards zero, and 0 for a zero divisor.
    fn over(self, other: Self) -> Self;
    fn larger(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
}

macro_rules! float_num {
    ($ty:ty) => {
        impl Num for $ty {
            const ZERO: Self = 0.0;
            #[inline]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline]
            fn over(self, other: Self) -> Self {
                self / other
            }
        }
    };
}
float_num!(f32);
float_num!(f64);

macro_rules! int_num {
    ($ty:ty) => {
        impl Num for $ty {
            const ZERO: Self = 0;
            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline]
            fn over(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_div(other) }
            }
        }
    };
}
int_num!(i64);
int_num!(u64);

/// Returns the smallest value of an element type (TVM's `min_value`), with which a maximum starts.
pub(crate) fn lowest<T: Lane>(dtype: DType) -> T {
    match (dtype.code, dtype.bits) {
        (DTypeCode::UInt, _) => T::from_i64(0),
        (DTypeCode::Int, bits) => T::from_i64(i64::MIN >> (64 - u32::from(bits.clamp(1, 64)))),
        (DTypeCode::Float, 16) => T::from_f64(-65504.0),
        (DTypeCode::Float, 64) => T::from_f64(f64::MIN),
        _ => T::from_f64(f64::from(f32::MIN)),
    }
}

/// The movement of windows over spatial axes.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub strides: Vec<i64>,
    pub dilation: Vec<i64>,
    pub before: Vec<i64>,
    pub after: Vec<i64>,
}

impl Window {
    /// Reads `strides`, `dilation` and `padding` for `rank` spatial axes.
    pub fn read(cx: &KernelCx<'_>, rank: usize) -> Result<Window, EvalError> {
        let (before, after) = paddings(cx, rank)?;
        let dilation = cx.ints_opt("dilation").unwrap_or_else(|| vec![1; rank]);
        let window = Window { strides: cx.ints("strides")?, dilation, before, after };
        let positive = |list: &[i64]| list.len() == rank && list.iter().all(|x| (1..1 << 31).contains(x));
        let modest = |list: &[i64]| list.iter().all(|x| x.unsigned_abs() < 1 << 31);
        match positive(&window.strides) && positive(&window.dilation) && modest(&window.before) && modest(&window.after) {
            true => Ok(window),
            false => Err(EvalError::new("strides and dilation must be positive, one for each spatial axis")),
        }
    }

    /// Returns the number of windows of `kernel` elements that fit into `extent` along axis `i`.
    pub fn count(&self, i: usize, extent: i64, kernel: i64) -> i64 {
        let reach = (kernel - 1) * self.dilation[i] + 1;
        let room = extent + self.before[i] + self.after[i] - reach;
        if room < 0 { 0 } else { room / self.strides[i] + 1 }
    }
}

/// The attribute `padding` before and after each spatial axis.
pub(crate) fn paddings(cx: &KernelCx<'_>, rank: usize) -> Result<(Vec<i64>, Vec<i64>), EvalError> {
    let padding = cx.ints("padding")?;
    match padding.len() {
        1 => Ok((vec![padding[0]; rank], vec![padding[0]; rank])),
        n if n == 2 * rank => Ok((padding[..rank].to_vec(), padding[rank..].to_vec())),
        n if n == rank => Ok((padding.clone(), padding)),
        n => Err(EvalError::new(format!("{n} paddings do not fit {rank} spatial axes"))),
    }
}

/// A layout attribute.
pub(crate) fn layout(cx: &KernelCx<'_>, name: &str) -> Result<Layout, EvalError> {
    Layout::parse(cx.text(name)).map_err(EvalError::new)
}

/// Parses a layout that this program names.
pub(crate) fn plain(name: &str) -> Result<Layout, EvalError> {
    Layout::parse(name).map_err(EvalError::new)
}

/// Returns the input at `index`; an error when it is missing.
pub(crate) fn input(inputs: &[Tensor], index: usize) -> Result<&Tensor, EvalError> {
    inputs.get(index).ok_or_else(|| EvalError::new(format!("input {index} is missing")))
}

/// The elements of the input at `index`.
pub(crate) fn values<T: Lane>(inputs: &[Tensor], index: usize) -> Result<Vec<T>, EvalError> {
    read(input(inputs, index)?)
}

/// Splits a shape around one axis: the extents before it, its own, and those behind it.
pub(crate) fn around(shape: &[i64], axis: usize) -> (usize, usize, usize) {
    let product = |extents: &[i64]| extents.iter().product::<i64>() as usize;
    (product(&shape[..axis]), shape[axis] as usize, product(&shape[axis + 1..]))
}

/// The source of an element of a result.
pub(crate) enum Source {
    /// The input element at that offset.
    At(usize),
    /// The fill value.
    Fill,
}

/// A tensor whose elements are taken from `source`, or are `fill` (one element in bytes).
pub(crate) fn pick_or_fill(
    source: &Tensor,
    fill: &[u8],
    shape: &[i64],
    places: impl Iterator<Item = Source>,
) -> Result<Tensor, EvalError> {
    let n = crate::ops::kernel::count(shape, source.dtype)?;
    let size = source.dtype.bytes();
    let from = bytes(source)?;
    let mut out = Vec::with_capacity(n * size);
    for place in places {
        match place {
            Source::At(i) => {
                out.extend_from_slice(from.get(i * size..(i + 1) * size).ok_or_else(|| EvalError::new("index out of range"))?)
            }
            Source::Fill => out.extend_from_slice(fill),
        }
    }
    match out.len() == n * size {
        true => Ok(Tensor::new(source.dtype, shape, out)),
        false => Err(EvalError::new("the elements do not fill the shape")),
    }
}
