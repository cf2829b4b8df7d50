//! Element-wise operators of two inputs, which are broadcast against each other.

use crate::ir::{DType, DTypeCode, Tensor};
use crate::ops::kernel::{EvalError, Lane, broadcast_extents, broadcast_strides, by_lane, count, offsets, read, write};
use crate::ops::relax::{deduce, gradient, layout};
use crate::ops::row::{op, relax, relay, value};
use crate::ops::{Kernel, OpInfo, OpPattern, RelaxArg, RelaxOp};
use crate::ops::{broadcast, broadcast_compare};

/// An operator whose result has the element type of its inputs.
#[track_caller]
const fn arithmetic(name: &'static str, doc: &'static str, kernel: Kernel) -> OpInfo {
    op(name, doc).pattern(OpPattern::Broadcast).kernel(kernel).relay(relay(RELAY_ARGS, broadcast))
}

/// An operator that yields truth values.
#[track_caller]
const fn comparison(name: &'static str, doc: &'static str, kernel: Kernel) -> OpInfo {
    let in_relax = relax(RELAX_ARGS, deduce::binary::compare).follows().layout(layout::element::binary).gradient(gradient::none);
    arithmetic(name, doc, kernel).relay(relay(RELAY_ARGS, broadcast_compare)).relax(in_relax.same_kernel())
}

/// A kernel for comparing numbers of every type.
macro_rules! compare {
    ($a:ident, $b:ident => $body:expr) => {
        |_, x| by_lane!(x[0].dtype, T => compared(x, |$a: T, $b: T| $body))
    };
}

/// A kernel for every number type.
macro_rules! arith {
    ($a:ident, $b:ident => $body:expr) => {
        |_, x| by_lane!(x[0].dtype, T => computed(x, |$a: T, $b: T| $body))
    };
}

/// The same, with an error for an integer zero on the right.
macro_rules! division {
    ($a:ident, $b:ident => $body:expr) => {
        |_, x| {
            no_zero(&x[1])?;
            by_lane!(x[0].dtype, T => computed(x, |$a: T, $b: T| $body))
        }
    };
}

/// A kernel for integers and truth values.
macro_rules! bits {
    ($a:ident, $b:ident => $body:expr) => {
        |_, x| match x[0].dtype.is_float() {
            false => integers(x, |$a: i64, $b: i64| $body, |$a: u64, $b: u64| $body),
            true => Err(EvalError(format!("this function is not defined for {}", x[0].dtype))),
        }
    };
}

const RELAY_ARGS: &[&str] = &["lhs", "rhs"];
const RELAX_ARGS: &[RelaxArg] = &[value("x1"), value("x2")];

/// Relax has these operators with the same kernels.
const ARITH: RelaxOp = relax(RELAX_ARGS, deduce::binary::arith).follows().layout(layout::element::binary).same_kernel();

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    arithmetic("add", "Sum of two tensors, element by element with broadcasting.", arith!(a, b => a.plus(b)))
        .relax(ARITH.gradient(gradient::element::add)),
    arithmetic("subtract", "Difference of two tensors, element by element with broadcasting.", arith!(a, b => a.minus(b)))
        .relax(ARITH.gradient(gradient::element::subtract)),
    arithmetic("multiply", "Product of two tensors, element by element with broadcasting.", arith!(a, b => a.times(b)))
        .relax(ARITH.gradient(gradient::element::multiply)),
    arithmetic(
        "divide",
        "Quotient of two tensors, element by element with broadcasting. Integers are rounded towards zero.",
        division!(a, b => a.over(b)),
    )
    .relax(ARITH.gradient(gradient::element::divide)),
    arithmetic(
        "trunc_divide",
        "Quotient rounded towards zero, element by element with broadcasting.",
        division!(a, b => a.over(b).whole()),
    ),
    arithmetic(
        "floor_divide",
        "Quotient rounded down, element by element with broadcasting.",
        division!(a, b => a.floor_over(b)),
    )
    .relax(ARITH),
    arithmetic("power", "The first tensor to the power of the second, element by element with broadcasting.", |_, x| powers(x))
        .relax(ARITH.gradient(gradient::element::power)),
    arithmetic(
        "mod",
        "Remainder with the sign of the dividend, element by element with broadcasting.",
        division!(a, b => a.rest(b)),
    )
    .relax(ARITH),
    arithmetic(
        "floor_mod",
        "Remainder with the sign of the divisor, element by element with broadcasting.",
        division!(a, b => a.minus(a.floor_over(b).times(b))),
    )
    .relax(ARITH),
    arithmetic(
        "trunc_mod",
        "Remainder of the quotient rounded towards zero, element by element with broadcasting.",
        division!(a, b => a.minus(a.over(b).whole().times(b))),
    ),
    arithmetic("maximum", "The larger of two elements, with broadcasting.", arith!(a, b => if a > b { a } else { b }))
        .relax(ARITH.gradient(gradient::element::maximum)),
    arithmetic("minimum", "The smaller of two elements, with broadcasting.", arith!(a, b => if a < b { a } else { b }))
        .relax(ARITH.gradient(gradient::element::minimum)),
    arithmetic(
        "right_shift",
        "Bits of the first tensor moved right by the second, with broadcasting. Signed numbers keep their \
         sign.",
        bits!(a, b => a.moved_right(b)),
    )
    .relax(ARITH),
    arithmetic(
        "left_shift",
        "Bits of the first tensor moved left by the second, with broadcasting.",
        bits!(a, b => a.moved_left(b)),
    )
    .relax(ARITH),
    arithmetic("logical_and", "Whether both elements are true, with broadcasting.", bits!(a, b => a & b)).relax(ARITH),
    arithmetic("logical_or", "Whether at least one of two elements is true, with broadcasting.", bits!(a, b => a | b))
        .relax(ARITH),
    arithmetic("logical_xor", "Whether exactly one of two elements is true, with broadcasting.", bits!(a, b => a ^ b))
        .relax(ARITH),
    arithmetic("bitwise_and", "Bits set in both elements, with broadcasting.", bits!(a, b => a & b)).relax(ARITH),
    arithmetic("bitwise_or", "Bits set in at least one of two elements, with broadcasting.", bits!(a, b => a | b)).relax(ARITH),
    arithmetic("bitwise_xor", "Bits set in exactly one of two elements, with broadcasting.", bits!(a, b => a ^ b)).relax(ARITH),
    comparison("equal", "Whether two elements are equal, with broadcasting.", compare!(a, b => a == b)),
    comparison("not_equal", "Whether two elements differ, with broadcasting.", compare!(a, b => a != b)),
    comparison("less", "Whether the first element is smaller than the second, with broadcasting.", compare!(a, b => a < b)),
    comparison("less_equal", "Whether the first element is at most the second, with broadcasting.", compare!(a, b => a <= b)),
    comparison("greater", "Whether the first element is larger than the second, with broadcasting.", compare!(a, b => a > b)),
    comparison("greater_equal", "Whether the first element is at least the second, with broadcasting.", compare!(a, b => a >= b)),
    op("atan2", "The angle of the point (x2, x1).")
        .relax(relax(RELAX_ARGS, deduce::binary::arith).follows().layout(layout::element::binary)),
    op("ewise_fma", "`x1 * x2 + x3`").relax(
        relax(&[value("x1"), value("x2"), value("x3")], deduce::binary::ewise_fma).follows().layout(layout::element::ternary),
    ),
    op("log_add_exp", "The logarithm of the sum of the exponentials.")
        .relax(relax(RELAX_ARGS, deduce::binary::arith).follows().layout(layout::element::binary)),
];

/// The operations of a lane for the arithmetic operators. Integers wrap around.
pub(crate) trait Arithmetic: Lane {
    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The difference.
    fn minus(self, other: Self) -> Self;
    /// The product.
    fn times(self, other: Self) -> Self;
    /// Returns the quotient; of integers rounded towards zero, and zero when it does not exist.
    fn over(self, other: Self) -> Self;
    /// The quotient rounded down.
    fn floor_over(self, other: Self) -> Self;
    /// The remainder with the sign of `self`.
    fn rest(self, other: Self) -> Self;
    /// Rounded towards zero.
    fn whole(self) -> Self;
}

macro_rules! integer {
    ($lane:ty) => {
        impl Arithmetic for $lane {
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn over(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_div(other) }
            }
            fn floor_over(self, other: Self) -> Self {
                let quotient = self.over(other);
                let inexact = quotient.wrapping_mul(other) != self;
                #[allow(unused_comparisons, reason = "unsigned lanes are never negative")]
                let opposite = (self < 0) != (other < 0);
                if inexact && opposite { quotient.wrapping_sub(1) } else { quotient }
            }
            fn rest(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }
            fn whole(self) -> Self {
                self
            }
        }
    };
}
integer!(i64);
integer!(u64);

macro_rules! floating {
    ($lane:ty) => {
        impl Arithmetic for $lane {
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn minus(self, other: Self) -> Self {
                self - other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn over(self, other: Self) -> Self {
                self / other
            }
            fn floor_over(self, other: Self) -> Self {
                (self / other).floor()
            }
            fn rest(self, other: Self) -> Self {
                self % other
            }
            fn whole(self) -> Self {
                self.trunc()
            }
        }
    };
}
floating!(f32);
floating!(f64);

/// Shifts by any amount, modulo the width as the hardware does.
trait Shifts {
    fn moved_left(self, by: Self) -> Self;
    fn moved_right(self, by: Self) -> Self;
}
impl Shifts for i64 {
    fn moved_left(self, by: i64) -> i64 {
        self.wrapping_shl(by as u32)
    }
    fn moved_right(self, by: i64) -> i64 {
        self.wrapping_shr(by as u32)
    }
}
impl Shifts for u64 {
    fn moved_left(self, by: u64) -> u64 {
        self.wrapping_shl(by as u32)
    }
    fn moved_right(self, by: u64) -> u64 {
        self.wrapping_shr(by as u32)
    }
}

/// Applies `f` to the elements of two tensors, broadcast against each other.
pub(crate) fn zipped<T: Lane, R>(a: &Tensor, b: &Tensor, f: impl Fn(T, T) -> R) -> Result<(Vec<i64>, Vec<R>), EvalError> {
    let shape = broadcast_extents(&a.shape, &b.shape)?;
    let n = count(&shape, a.dtype)?;
    let (x, y) = (spread::<T>(a, &shape, n)?, spread::<T>(b, &shape, n)?);
    let out = x.iter().zip(&y).map(|(x, y)| f(*x, *y)).collect();
    Ok((shape, out))
}

/// Repeats the elements of a tensor as broadcasting to `shape` does. A function of its own, so that the loop
/// over indices exists once per lane and not once per operator.
#[inline(never)]
fn spread<T: Lane>(tensor: &Tensor, shape: &[i64], n: usize) -> Result<Vec<T>, EvalError> {
    let own = read::<T>(tensor)?;
    Ok(match own.len() {
        len if len == n => own,
        1 => vec![own[0]; n],
        _ => offsets(shape, &broadcast_strides(&tensor.shape, shape)).map(|i| own[i]).collect(),
    })
}

fn computed<T: Lane>(x: &[Tensor], f: impl Fn(T, T) -> T) -> Result<Vec<Tensor>, EvalError> {
    let (shape, values) = zipped(&x[0], &x[1], f)?;
    Ok(vec![write(x[0].dtype, &shape, &values)?])
}

fn compared<T: Lane>(x: &[Tensor], f: impl Fn(T, T) -> bool) -> Result<Vec<Tensor>, EvalError> {
    let (shape, answers) = zipped(&x[0], &x[1], |a, b| u8::from(f(a, b)))?;
    Ok(vec![Tensor::new(DType::BOOL, shape, answers)])
}

fn integers(x: &[Tensor], f: fn(i64, i64) -> i64, g: fn(u64, u64) -> u64) -> Result<Vec<Tensor>, EvalError> {
    match (x[0].dtype.code, x[0].dtype.bits) {
        (DTypeCode::UInt, 64) => computed(x, g),
        _ => computed(x, f),
    }
}

/// Dividing by an integer zero ends the process in TVM.
fn no_zero(divisor: &Tensor) -> Result<(), EvalError> {
    if !divisor.dtype.is_float() && read::<i64>(divisor)?.contains(&0) {
        return Err(EvalError::new("division of an integer by zero"));
    }
    Ok(())
}

fn powers(x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    match x[0].dtype {
        DType::F64 => computed(x, f64::powf),
        dtype if dtype.is_float() => computed(x, f32::powf),
        _ => Err(EvalError::new("power only applies to float")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Store;
    use crate::ops::KernelCx;

    fn ints(name: &str, dtype: DType, a: &[i64], b: &[i64]) -> Result<Vec<i64>, EvalError> {
        let store = &mut Store::new();
        let out_type = store.tensor_type(&[], dtype);
        let cx = KernelCx { store, attrs: None, out_type };
        let tensor = |v: &[i64]| write(dtype, &[v.len() as i64], v).unwrap();
        let op = OPS.iter().find(|op| op.name == name).unwrap();
        let out = op.kernel.unwrap()(&cx, &[tensor(a), tensor(b)])?;
        read(&out[0])
    }

    #[test]
    fn integers_divide_towards_zero_or_down() {
        assert_eq!(ints("divide", DType::I32, &[-7, 7], &[2, -2]).unwrap(), [-3, -3]);
        assert_eq!(ints("floor_divide", DType::I32, &[-7, 7], &[2, -2]).unwrap(), [-4, -4]);
        assert_eq!(ints("mod", DType::I32, &[-7, 7], &[2, -2]).unwrap(), [-1, 1]);
        assert_eq!(ints("floor_mod", DType::I32, &[-7, 7], &[2, -2]).unwrap(), [1, -1]);
        assert!(ints("mod", DType::I32, &[1], &[0]).is_err());
    }

    #[test]
    fn narrow_integers_wrap_around() {
        assert_eq!(ints("add", DType::I8, &[127], &[1]).unwrap(), [-128]);
        assert_eq!(ints("subtract", DType::U8, &[0], &[1]).unwrap(), [255]);
        assert_eq!(ints("divide", DType::I8, &[-128], &[-1]).unwrap(), [-128]);
    }

    #[test]
    fn signed_shifts_keep_the_sign() {
        assert_eq!(ints("right_shift", DType::I32, &[-8], &[1]).unwrap(), [-4]);
        assert_eq!(ints("left_shift", DType::U8, &[0x81], &[1]).unwrap(), [2]);
    }

    #[test]
    fn inputs_broadcast_against_each_other() {
        let a = write(DType::F32, &[2, 1], &[1.0f32, 2.0]).unwrap();
        let b = write(DType::F32, &[3], &[10.0f32, 20.0, 30.0]).unwrap();
        let (shape, values) = zipped(&a, &b, |a: f32, b| a + b).unwrap();
        assert_eq!((shape, values), (vec![2, 3], vec![11.0, 21.0, 31.0, 12.0, 22.0, 32.0]));
    }
}
