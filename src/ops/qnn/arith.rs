//! Arithmetic of quantised kernels, as TVM's canonicalised programs compute it (TVM: `relay/qnn/utils.cc`,
//! `qnn/op/requantize.cc`).
//!
//! If an operator does not specify its rounding and computation type, TVM asks its target; here it is
//! rounding upwards in 64 bit integers, as TVM does for a plain `llvm` target.

use crate::ir::{DType, DTypeCode, Tensor};
use crate::ops::kernel::{EvalError, KernelCx, Lane, axis_index, read, read_scalar, write};

/// The smallest and largest value of an integer type of at most 32 bits.
pub(super) fn range(dtype: DType) -> (i64, i64) {
    let bits = u32::from(dtype.bits.clamp(1, 32));
    match dtype.code {
        DTypeCode::UInt => (0, (1 << bits) - 1),
        _ => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
    }
}

/// The integer clipped into a type narrower than 32 bits; 32 bit results are not clipped.
pub(super) fn clip(x: i64, dtype: DType) -> i64 {
    let (low, high) = range(dtype);
    if dtype == DType::I32 { x } else { x.clamp(low, high) }
}

/// One value for all elements, or one for each channel.
pub(super) struct PerChannel<T> {
    values: Vec<T>,
    after: usize,
}

impl<T: Lane> PerChannel<T> {
    /// Reads a scale or zero point for data of this shape, whose channels lie along `axis`.
    pub fn read(tensor: &Tensor, shape: &[i64], axis: i64) -> Result<PerChannel<T>, EvalError> {
        let values: Vec<T> = read(tensor)?;
        if values.len() == 1 {
            return Ok(PerChannel { values, after: 1 });
        }
        let axis = axis_index(axis, shape.len())?;
        match values.len() as i64 == shape[axis] {
            true => Ok(PerChannel { values, after: shape[axis + 1..].iter().product::<i64>() as usize }),
            false => Err(EvalError::new(format!("{} scales do not fit {} channels", values.len(), shape[axis]))),
        }
    }

    /// Returns the value for the element at that offset in memory.
    pub fn at(&self, place: usize) -> T {
        self.values[place / self.after % self.values.len()]
    }

    /// Returns the value for all elements, if there is one.
    pub fn single(&self) -> Option<T> {
        (self.values.len() == 1).then(|| self.values[0])
    }
}

/// A factor as a 31 bit fraction and a power of two (TVM's `GetFixedPointMultiplierShift`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedPoint {
    /// The fraction, times 2 to the 31.
    pub multiplier: i64,
    /// The power of two.
    pub shift: i32,
}

impl FixedPoint {
    /// Splits a factor.
    pub fn new(factor: f64) -> FixedPoint {
        if factor == 0.0 || !factor.is_finite() {
            return FixedPoint { multiplier: 0, shift: 0 };
        }
        let (mut fraction, mut shift) = (factor, 0);
        while fraction.abs() >= 1.0 {
            fraction /= 2.0;
            shift += 1;
        }
        while fraction.abs() < 0.5 {
            fraction *= 2.0;
            shift -= 1;
        }
        let multiplier = (fraction * f64::from(1u32 << 31)).round() as i64;
        if multiplier == 1 << 31 {
            return FixedPoint { multiplier: multiplier / 2, shift: shift + 1 };
        }
        FixedPoint { multiplier, shift }
    }

    /// `x * factor` for a 32 bit integer, halves upwards or away from zero.
    pub fn times(self, x: i64, upward: bool) -> i64 {
        let (left, right) = (self.shift.max(0) as u32, (-self.shift).max(0) as u32 + 31);
        let product = x.wrapping_shl(left).wrapping_mul(self.multiplier);
        // Beyond 62 bits only the sign is left.
        if right > 62 {
            return 0;
        }
        let half = 1i64 << (right - 1);
        let half = if upward || product >= 0 { half } else { half - 1 };
        i64::from((product.wrapping_add(half) >> right) as i32)
    }
}

/// Converts values from one scale and zero point to another.
pub(super) struct Requantizer {
    scale: PerChannel<f32>,
    zero: PerChannel<i64>,
    out_scale: f32,
    out_zero: i64,
    upward: bool,
    /// The float type to compute in instead of integers.
    float: Option<DType>,
}

impl Requantizer {
    /// Uses TVM's defaults for scales and zero points given as tensors: from, then to.
    pub fn new(shape: &[i64], axis: i64, params: [&Tensor; 4]) -> Result<Requantizer, EvalError> {
        Ok(Requantizer {
            scale: PerChannel::read(params[0], shape, axis)?,
            zero: PerChannel::read(params[1], shape, axis)?,
            out_scale: read_scalar(params[2])?,
            out_zero: read_scalar(params[3])?,
            upward: true,
            float: None,
        })
    }

    /// Does the same with another input scale, for products of two quantised tensors; their zero point is
    /// 0.
    pub fn from_scale(scale: f32, out_scale: f32, out_zero: i64) -> Requantizer {
        let scale = PerChannel { values: vec![scale], after: 1 };
        let zero = PerChannel { values: vec![0], after: 1 };
        Requantizer { scale, zero, out_scale, out_zero, upward: true, float: None }
    }

    /// Takes `rounding` and `compute_dtype` from the attributes where they are set.
    pub fn configured(mut self, cx: &KernelCx<'_>) -> Requantizer {
        self.upward = cx.text("rounding") != "TONEAREST";
        self.float = DType::parse(cx.text("compute_dtype")).filter(|d| d.is_float());
        self
    }

    /// True if both sides have the same scale and zero point, so that values stay.
    pub fn is_identity(&self) -> bool {
        self.scale.single() == Some(self.out_scale) && self.zero.single() == Some(self.out_zero)
    }

    /// Returns the element at `place` as a 32 bit integer that is not clipped yet.
    pub fn apply(&self, x: i64, place: usize) -> i64 {
        let scale = self.scale.at(place);
        let factor = f64::from(scale) / f64::from(self.out_scale);
        let same = self.scale.single() == Some(self.out_scale);
        if let Some(dtype) = self.float {
            let (x, zero, out_zero) = (x as f64, self.zero.at(place) as f64, self.out_zero as f64);
            let narrow = |v: f64| if dtype == DType::F64 { v } else { f64::from(v as f32) };
            let shifted = narrow(x - zero);
            let scaled = if same { shifted } else { narrow(shifted * narrow(factor)) };
            let moved = narrow(scaled + out_zero);
            let rounded = if self.upward { (moved + 0.5).floor() } else { moved.round() };
            return i64::from(rounded as i32);
        }
        let shifted = i64::from((x as i32).wrapping_sub(self.zero.at(place) as i32));
        let scaled = if same { shifted } else { FixedPoint::new(factor).times(shifted, self.upward) };
        i64::from((scaled as i32).wrapping_add(self.out_zero as i32))
    }

    /// Converts all elements, clipped into `dtype`.
    pub fn tensor(&self, data: &Tensor, dtype: DType) -> Result<Tensor, EvalError> {
        let out: Vec<i64> = read::<i64>(data)?.into_iter().enumerate().map(|(i, x)| clip(self.apply(x, i), dtype)).collect();
        write(dtype, &data.shape, &out)
    }

    /// Converts all elements to 32 bit integers; unchanged where both sides are the same.
    pub fn upcast(&self, data: &Tensor) -> Result<Tensor, EvalError> {
        match self.is_identity() {
            true => write(DType::I32, &data.shape, &read::<i64>(data)?),
            false => self.tensor(data, DType::I32),
        }
    }
}

/// Subtracts the zero point of a tensor, in 32 bit integers.
pub(super) fn shifted(data: &Tensor, zero: &Tensor, axis: i64) -> Result<Tensor, EvalError> {
    let zero: PerChannel<i64> = PerChannel::read(zero, &data.shape, axis)?;
    let out: Vec<i64> = read::<i64>(data)?.into_iter().enumerate().map(|(i, x)| x.wrapping_sub(zero.at(i))).collect();
    write(DType::I32, &data.shape, &out)
}

/// `round(x / scale) + zero point`, clipped (TVM's `QuantizeLower`).
pub(super) fn quantize(x: f32, scale: f32, zero: i64, dtype: DType) -> i64 {
    let (low, high) = range(dtype);
    let moved = (x / scale).round() + zero as f32;
    i64::from(moved.clamp(low as f32, high as f32) as i32).clamp(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_become_fractions_of_31_bits() {
        assert_eq!(FixedPoint::new(0.5), FixedPoint { multiplier: 1 << 30, shift: 0 });
        assert_eq!(FixedPoint::new(1.0), FixedPoint { multiplier: 1 << 30, shift: 1 });
        assert_eq!(FixedPoint::new(0.375), FixedPoint { multiplier: 3 << 29, shift: -1 });
    }

    #[test]
    fn halves_round_upwards_or_away_from_zero() {
        let half = FixedPoint::new(0.5);
        assert_eq!([3, -3, 4].map(|x| half.times(x, true)), [2, -1, 2]);
        assert_eq!([3, -3, 4].map(|x| half.times(x, false)), [2, -2, 2]);
    }

    #[test]
    fn quantising_clips() {
        assert_eq!(quantize(100.0, 0.5, 3, DType::I8), 127);
        assert_eq!(quantize(-1.0, 0.5, 3, DType::U8), 1);
        assert_eq!(quantize(-9.0, 0.5, 3, DType::U8), 0);
    }
}
