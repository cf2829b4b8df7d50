//! Evaluation kernels of operators, and the tools to write them with.
//!
//! A kernel computes in one of four *lanes*: `f32` (also for the narrower floats), `f64`, `i64` (all
//! signed integers, the narrower unsigned ones and truth values) and `u64`. [`read`] widens the
//! elements of a tensor into a lane, [`write()`] narrows them again; integers wrap around, so sums
//! and products come out as if they had been computed in the narrow type. [`by_lane!`] picks the
//! lane of an element type. Operators that only move elements use [`pick`], which looks at no element.

use crate::ir::{AttrsId, DType, DTypeCode, Dim, Store, Tensor, Type, TypeId};
use half::{bf16, f16};
use std::rc::Rc;

/// The reason why an operator could not be evaluated, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError(pub String);

impl EvalError {
    /// An error with that sentence.
    pub fn new(message: impl Into<String>) -> EvalError {
        EvalError(message.into())
    }
}

impl From<String> for EvalError {
    fn from(message: String) -> EvalError {
        EvalError(message)
    }
}

impl From<&str> for EvalError {
    fn from(message: &str) -> EvalError {
        EvalError(message.into())
    }
}

/// The context of a kernel besides its inputs.
pub struct KernelCx<'a> {
    /// The session's memory, to read attributes and types.
    pub store: &'a Store,
    /// Attributes of the call.
    pub attrs: Option<AttrsId>,
    /// Type of the result as inferred. Extents may be unknown; then the inputs decide.
    pub out_type: TypeId,
}

/// Computes an operator. Inputs that are tuples come flattened in order; the result has one
/// tensor, or one for each field when the operator yields a tuple. Every input has a value.
pub type Kernel = fn(&KernelCx<'_>, &[Tensor]) -> Result<Vec<Tensor>, EvalError>;

impl KernelCx<'_> {
    /// An integer attribute; an error where it is missing or null.
    pub fn int(&self, name: &str) -> Result<i64, EvalError> {
        self.store.attr_int(self.attrs, name).ok_or_else(|| EvalError(format!("`{name}` is not given")))
    }

    /// An integer attribute that may be null.
    pub fn int_opt(&self, name: &str) -> Option<i64> {
        self.store.attr_int(self.attrs, name)
    }

    /// A list of integers; an error where it is missing or null.
    pub fn ints(&self, name: &str) -> Result<Vec<i64>, EvalError> {
        self.ints_opt(name).ok_or_else(|| EvalError(format!("`{name}` is not given")))
    }

    /// A list of integers that may be null.
    pub fn ints_opt(&self, name: &str) -> Option<Vec<i64>> {
        self.store.attr_ints(self.attrs, name)
    }

    /// A truth value; false where it is missing.
    pub fn flag(&self, name: &str) -> bool {
        self.store.attr_int(self.attrs, name).is_some_and(|v| v != 0)
    }

    /// A number; an error where it is missing.
    pub fn float(&self, name: &str) -> Result<f64, EvalError> {
        self.store.attr_float(self.attrs, name).ok_or_else(|| EvalError(format!("`{name}` is not given")))
    }

    /// A string; empty where it is missing.
    pub fn text(&self, name: &str) -> &str {
        self.store.attr_str(self.attrs, name).unwrap_or("")
    }

    /// Element type of the result, or of field `index` of a result that is a tuple.
    pub fn out_dtype(&self, index: usize) -> Option<DType> {
        self.out_tensor(index).map(|(_, dtype)| dtype)
    }

    /// Shape of the result, or of field `index` of a tuple, if all extents are known.
    pub fn out_shape(&self, index: usize) -> Option<Vec<i64>> {
        self.out_tensor(index)?.0.iter().map(|d| d.known()).collect()
    }

    fn out_tensor(&self, index: usize) -> Option<(&[Dim], DType)> {
        let ty = match self.store.type_of_id(self.out_type) {
            Type::Tuple(fields) => self.store.type_of_id(*fields.get(index)?),
            other => other,
        };
        match ty {
            Type::Tensor { shape, dtype } => Some((shape, *dtype)),
            _ => None,
        }
    }
}

/// The most bytes that one result may take, so that a program with huge shapes is an error instead of
/// the end of the process. Tests of this crate have a lower limit, to be quick.
pub const MAX_BYTES: usize = if cfg!(test) {
    1 << 24
} else if cfg!(target_pointer_width = "32") {
    1 << 28
} else {
    1 << 31
};

/// The number of elements of a shape; an error when extents are negative or it is beyond
/// [`MAX_BYTES`].
pub fn count(shape: &[i64], dtype: DType) -> Result<usize, EvalError> {
    let mut n = 1usize;
    for &extent in shape {
        let extent = usize::try_from(extent).map_err(|_| EvalError(format!("negative extent {extent}")))?;
        n = n.checked_mul(extent).ok_or_else(|| EvalError::new("the result is too large"))?;
    }
    match n.checked_mul(dtype.bytes().max(8)) {
        Some(bytes) if bytes <= MAX_BYTES => Ok(n),
        _ => Err(EvalError(format!("the result has {n} elements, which is too large to compute"))),
    }
}

/// The bytes of a tensor; an error when it was read without a value.
pub fn bytes(tensor: &Tensor) -> Result<&Rc<[u8]>, EvalError> {
    tensor.data.as_ref().ok_or_else(|| EvalError::new("a constant has no value, the text was dumped without its metadata"))
}

/// A number type that kernels compute in. See the module's head.
pub trait Lane: Copy + PartialOrd + Default + std::fmt::Debug + 'static {
    /// Converts a double, as C does.
    fn from_f64(x: f64) -> Self;
    /// Converts an integer, as C does.
    fn from_i64(x: i64) -> Self;
    /// Returns the value as a double.
    fn to_f64(self) -> f64;
    /// Returns the value as an integer, as C does: rounded towards zero.
    fn to_i64(self) -> i64;
    /// The elements of `bytes`, widened or converted.
    fn decode(dtype: DType, bytes: &[u8]) -> Result<Vec<Self>, EvalError>;
    /// The bytes of `values` in that element type, narrowed or converted.
    fn encode(dtype: DType, values: &[Self]) -> Result<Vec<u8>, EvalError>;
}

const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// Converts as C-like code that LLVM compiles for x86: a value out of range gives the most negative
/// number.
pub fn float_to_i64(x: f64) -> i64 {
    if (-TWO_63..TWO_63).contains(&x) { x as i64 } else { i64::MIN }
}

fn float_to_int(x: f64, bits: u8, signed: bool) -> i64 {
    // Types below 32 bits go through a conversion to int32, and uint32 through int64.
    if bits < 32 || (bits == 32 && signed) {
        if x > -2_147_483_649.0 && x < 2_147_483_648.0 { x as i64 } else { i64::from(i32::MIN) }
    } else if signed || bits == 32 || x < TWO_63 {
        float_to_i64(x)
    } else {
        x as u64 as i64
    }
}

/// The representation of an element type in memory.
enum Repr {
    Bool,
    Int { bits: u8, signed: bool },
    F16,
    BF16,
    F32,
    F64,
}

fn repr(dtype: DType) -> Result<Repr, EvalError> {
    match (dtype.code, dtype.bits, dtype.lanes) {
        (DTypeCode::UInt, 1, 1) => Ok(Repr::Bool),
        (DTypeCode::Int, bits @ (8 | 16 | 32 | 64), 1) => Ok(Repr::Int { bits, signed: true }),
        (DTypeCode::UInt, bits @ (8 | 16 | 32 | 64), 1) => Ok(Repr::Int { bits, signed: false }),
        (DTypeCode::Float, 16, 1) => Ok(Repr::F16),
        (DTypeCode::BFloat, 16, 1) => Ok(Repr::BF16),
        (DTypeCode::Float, 32, 1) => Ok(Repr::F32),
        (DTypeCode::Float, 64, 1) => Ok(Repr::F64),
        _ => Err(EvalError(format!("computing with {dtype} is not supported"))),
    }
}

macro_rules! decode_with {
    ($bytes:expr, $int:ident, $float:ident, $dtype:expr) => {{
        macro_rules! each {
            ($ty:ty, $size:literal, $convert:ident) => {
                $bytes
                    .chunks_exact($size)
                    .map(|c| $convert!(<$ty>::from_le_bytes(c.try_into().expect("chunks have that size"))))
                    .collect()
            };
        }
        macro_rules! half_float {
            ($x:expr) => {
                $float!($x.to_f32())
            };
        }
        match repr($dtype)? {
            Repr::Bool => $bytes.iter().map(|b| $int!(u8::from(*b != 0))).collect(),
            Repr::Int { bits: 8, signed: true } => each!(i8, 1, $int),
            Repr::Int { bits: 8, .. } => each!(u8, 1, $int),
            Repr::Int { bits: 16, signed: true } => each!(i16, 2, $int),
            Repr::Int { bits: 16, .. } => each!(u16, 2, $int),
            Repr::Int { bits: 32, signed: true } => each!(i32, 4, $int),
            Repr::Int { bits: 32, .. } => each!(u32, 4, $int),
            Repr::Int { signed: true, .. } => each!(i64, 8, $int),
            Repr::Int { .. } => each!(u64, 8, $int),
            Repr::F16 => each!(f16, 2, half_float),
            Repr::BF16 => each!(bf16, 2, half_float),
            Repr::F32 => each!(f32, 4, $float),
            Repr::F64 => each!(f64, 8, $float),
        }
    }};
}

fn put<const N: usize>(n: usize, values: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    let mut out = Vec::with_capacity(n * N);
    for value in values {
        out.extend_from_slice(&value);
    }
    out
}

macro_rules! int_lane {
    ($lane:ty) => {
        impl Lane for $lane {
            fn from_f64(x: f64) -> Self {
                float_to_int(x, 64, <$lane>::MIN != 0) as $lane
            }
            fn from_i64(x: i64) -> Self {
                x as $lane
            }
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn to_i64(self) -> i64 {
                self as i64
            }
            // One copy serves the hundreds of kernels that call it, because the page loads them all.
            #[inline(never)]
            fn decode(dtype: DType, bytes: &[u8]) -> Result<Vec<Self>, EvalError> {
                macro_rules! int {
                    ($x:expr) => {
                        $x as $lane
                    };
                }
                macro_rules! float {
                    ($x:expr) => {
                        <$lane>::from_f64(f64::from($x))
                    };
                }
                Ok(decode_with!(bytes, int, float, dtype))
            }
            #[inline(never)]
            fn encode(dtype: DType, values: &[Self]) -> Result<Vec<u8>, EvalError> {
                let n = values.len();
                Ok(match repr(dtype)? {
                    Repr::Bool => values.iter().map(|&v| u8::from(v != 0)).collect(),
                    Repr::Int { bits: 8, .. } => values.iter().map(|&v| v as u8).collect(),
                    Repr::Int { bits: 16, .. } => put(n, values.iter().map(|&v| (v as u16).to_le_bytes())),
                    Repr::Int { bits: 32, .. } => put(n, values.iter().map(|&v| (v as u32).to_le_bytes())),
                    Repr::Int { .. } => put(n, values.iter().map(|&v| v.to_le_bytes())),
                    Repr::F16 => put(n, values.iter().map(|&v| f16::from_f32(v as f32).to_le_bytes())),
                    Repr::BF16 => put(n, values.iter().map(|&v| bf16::from_f32(v as f32).to_le_bytes())),
                    Repr::F32 => put(n, values.iter().map(|&v| (v as f32).to_le_bytes())),
                    Repr::F64 => put(n, values.iter().map(|&v| (v as f64).to_le_bytes())),
                })
            }
        }
    };
}
int_lane!(i64);
int_lane!(u64);

macro_rules! float_lane {
    ($lane:ty) => {
        impl Lane for $lane {
            fn from_f64(x: f64) -> Self {
                x as $lane
            }
            fn from_i64(x: i64) -> Self {
                x as $lane
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn to_i64(self) -> i64 {
                float_to_i64(f64::from(self))
            }
            // One copy serves the hundreds of kernels that call it, because the page loads them all.
            #[inline(never)]
            fn decode(dtype: DType, bytes: &[u8]) -> Result<Vec<Self>, EvalError> {
                macro_rules! number {
                    ($x:expr) => {
                        $x as $lane
                    };
                }
                Ok(decode_with!(bytes, number, number, dtype))
            }
            #[inline(never)]
            fn encode(dtype: DType, values: &[Self]) -> Result<Vec<u8>, EvalError> {
                let n = values.len();
                Ok(match repr(dtype)? {
                    // LLVM compares ordered: NaN is false.
                    Repr::Bool => values.iter().map(|&v| u8::from(v != 0.0 && !v.is_nan())).collect(),
                    Repr::Int { bits, signed } => {
                        let ints: Vec<i64> = values.iter().map(|&v| float_to_int(f64::from(v), bits, signed)).collect();
                        i64::encode(dtype, &ints)?
                    }
                    Repr::F16 => put(n, values.iter().map(|&v| f16::from_f64(f64::from(v)).to_le_bytes())),
                    Repr::BF16 => put(n, values.iter().map(|&v| bf16::from_f64(f64::from(v)).to_le_bytes())),
                    Repr::F32 => put(n, values.iter().map(|&v| (v as f32).to_le_bytes())),
                    Repr::F64 => put(n, values.iter().map(|&v| f64::from(v).to_le_bytes())),
                })
            }
        }
    };
}
float_lane!(f32);
float_lane!(f64);

/// The elements of a tensor in a lane, converted from whatever type they have.
pub fn read<T: Lane>(tensor: &Tensor) -> Result<Vec<T>, EvalError> {
    T::decode(tensor.dtype, bytes(tensor)?)
}

/// The only element of a tensor, or its first one.
pub fn read_scalar<T: Lane>(tensor: &Tensor) -> Result<T, EvalError> {
    read::<T>(tensor)?.first().copied().ok_or_else(|| EvalError::new("an input that must be a scalar is empty"))
}

/// A tensor of those elements, converted to `dtype`.
#[inline(never)]
pub fn write<T: Lane>(dtype: DType, shape: &[i64], values: &[T]) -> Result<Tensor, EvalError> {
    if count(shape, dtype)? != values.len() {
        return Err(EvalError(format!("{} elements do not fill the shape {shape:?}", values.len())));
    }
    Ok(Tensor::new(dtype, shape, T::encode(dtype, values)?))
}

/// Rounds a value to what the element type can hold, for accumulating in a narrow float type.
pub fn round_to<T: Lane>(dtype: DType, x: T) -> T {
    match (dtype.code, dtype.bits) {
        (DTypeCode::Float, 16) => T::from_f64(f64::from(f16::from_f64(x.to_f64()).to_f32())),
        (DTypeCode::BFloat, 16) => T::from_f64(f64::from(bf16::from_f64(x.to_f64()).to_f32())),
        _ => x,
    }
}

/// Runs the body with `$T` standing for the lane of an element type: `by_lane!(dtype, T => ...)`.
macro_rules! by_lane {
    ($dtype:expr, $T:ident => $body:expr) => {{
        let dtype: $crate::ir::DType = $dtype;
        match (dtype.code, dtype.bits) {
            ($crate::ir::DTypeCode::UInt, 64) => {
                type $T = u64;
                $body
            }
            ($crate::ir::DTypeCode::Int | $crate::ir::DTypeCode::UInt, _) => {
                type $T = i64;
                $body
            }
            ($crate::ir::DTypeCode::Float, 64) => {
                type $T = f64;
                $body
            }
            _ => {
                type $T = f32;
                $body
            }
        }
    }};
}
pub(crate) use by_lane;

/// Returns the distance in memory between neighbours along each axis, in elements.
pub fn strides(shape: &[i64]) -> Vec<usize> {
    let mut out = vec![1usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        out[axis - 1] = out[axis].wrapping_mul(shape[axis] as usize);
    }
    out
}

/// Returns strides that read a tensor of `shape` as if it were broadcast to `to`: zero along the axes
/// that broadcasting adds or stretches.
pub fn broadcast_strides(shape: &[i64], to: &[i64]) -> Vec<usize> {
    let own = strides(shape);
    let added = to.len() - shape.len();
    (0..to.len())
        .map(|axis| match axis.checked_sub(added) {
            Some(own_axis) if shape[own_axis] != 1 || to[axis] == 1 => own[own_axis],
            _ => 0,
        })
        .collect()
}

/// Returns the shape that two known shapes broadcast to.
pub fn broadcast_extents(a: &[i64], b: &[i64]) -> Result<Vec<i64>, EvalError> {
    let (long, short) = if a.len() > b.len() { (a, b) } else { (b, a) };
    let mut out = long.to_vec();
    for (x, &y) in out[long.len() - short.len()..].iter_mut().zip(short) {
        *x = match (*x, y) {
            (1, y) => y,
            (x, 1) => x,
            (x, y) if x == y => x,
            _ => return Err(EvalError(format!("shapes {a:?} and {b:?} do not broadcast"))),
        };
    }
    Ok(out)
}

/// Returns the offsets of all elements of a tensor of `shape` in row-major order, in a memory with
/// those strides: the last axis runs fastest. A backward stride is a negative number cast to `usize`;
/// add the offset of the first element with `wrapping_add`.
pub fn offsets(shape: &[i64], strides: &[usize]) -> Offsets {
    // Saturates, because shapes that are too large are refused only where their elements are taken.
    let left = shape.iter().fold(1usize, |left, &e| left.saturating_mul(e as usize));
    Offsets { shape: shape.into(), strides: strides.into(), index: vec![0; shape.len()], offset: 0, left }
}

/// See [`offsets`].
pub struct Offsets {
    shape: Box<[i64]>,
    strides: Box<[usize]>,
    index: Vec<i64>,
    offset: usize,
    left: usize,
}

impl Iterator for Offsets {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let here = self.offset;
        for axis in (0..self.shape.len()).rev() {
            self.index[axis] += 1;
            self.offset = self.offset.wrapping_add(self.strides[axis]);
            if self.index[axis] < self.shape[axis] {
                break;
            }
            let back = self.strides[axis].wrapping_mul(self.shape[axis] as usize);
            self.offset = self.offset.wrapping_sub(back);
            self.index[axis] = 0;
        }
        Some(here)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// Calls `f` with every index tuple of `shape` in row-major order, until it fails.
pub fn each_index(shape: &[i64], mut f: impl FnMut(&[i64]) -> Result<(), EvalError>) -> Result<(), EvalError> {
    count_up(shape, &mut f)
}

/// The loop of [`each_index`], compiled once instead of into every kernel.
fn count_up(shape: &[i64], f: &mut dyn FnMut(&[i64]) -> Result<(), EvalError>) -> Result<(), EvalError> {
    if shape.contains(&0) {
        return Ok(());
    }
    let mut index = vec![0; shape.len()];
    loop {
        f(&index)?;
        let mut axis = shape.len();
        loop {
            if axis == 0 {
                return Ok(());
            }
            axis -= 1;
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// A tensor of `shape` whose elements are those of `source` at the given places, whatever their type.
pub fn pick(source: &Tensor, shape: &[i64], places: impl Iterator<Item = usize>) -> Result<Tensor, EvalError> {
    let n = count(shape, source.dtype)?;
    let size = source.dtype.bytes();
    let from = bytes(source)?;
    let mut out = Vec::with_capacity(n * size);
    for place in places {
        let element = from.get(place * size..(place + 1) * size).ok_or_else(|| EvalError::new("index out of range"))?;
        out.extend_from_slice(element);
    }
    if out.len() != n * size {
        return Err(EvalError::new("the elements do not fill the shape"));
    }
    Ok(Tensor::new(source.dtype, shape, out))
}

/// The same elements in another shape.
pub fn reshaped(source: &Tensor, shape: &[i64]) -> Result<Tensor, EvalError> {
    if count(shape, source.dtype)? != source.len() {
        return Err(EvalError(format!("{} elements do not fill the shape {shape:?}", source.len())));
    }
    Ok(Tensor::new(source.dtype, shape, bytes(source)?.clone()))
}

/// Returns an axis that may count from the end as an index.
pub fn axis_index(axis: i64, rank: usize) -> Result<usize, EvalError> {
    let counted = if axis < 0 { axis + rank as i64 } else { axis };
    match usize::try_from(counted) {
        Ok(index) if index < rank => Ok(index),
        _ => Err(EvalError(format!("axis {axis} is out of range for rank {rank}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_integers_wrap_and_floats_round_towards_zero() {
        let bytes = i64::encode(DType::I8, &[127, 128, -129]).unwrap();
        assert_eq!(i64::decode(DType::I8, &bytes).unwrap(), [127, -128, 127]);
        let bytes = f32::encode(DType::U8, &[-1.9, 300.0, f32::NAN]).unwrap();
        assert_eq!(bytes, [255, 44, 0]);
        let bytes = f32::encode(DType::I32, &[3e9, -1.5]).unwrap();
        assert_eq!(i64::decode(DType::I32, &bytes).unwrap(), [i64::from(i32::MIN), -1]);
    }

    #[test]
    fn half_floats_are_read_as_float32() {
        let bytes = f32::encode(DType::F16, &[1.0 / 3.0]).unwrap();
        assert_eq!(f32::decode(DType::F16, &bytes).unwrap(), [0.333_251_95]);
    }

    #[test]
    fn offsets_follow_broadcasting() {
        let strides = broadcast_strides(&[3, 1], &[2, 3, 2]);
        assert_eq!(offsets(&[2, 3, 2], &strides).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn a_huge_result_is_an_error() {
        assert!(count(&[1 << 40, 1 << 40], DType::U8).is_err());
        assert!(count(&[-1], DType::U8).is_err());
        assert_eq!(count(&[], DType::F32), Ok(1));
    }
}
