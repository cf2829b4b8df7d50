//! The functions that expressions call, by TVM's names.

use super::step::Math;
use crate::ops::tensor::unary::erf;

/// Returns the function with a name and number of arguments; on floats or on integers.
pub(super) fn function(name: &str, args: usize, is_float: bool) -> Option<Math> {
    match args {
        1 if name == "bitwise_not" => Some(Math::Bits(|x, _| !x)),
        1 if !is_float && matches!(name, "abs" | "fabs") => Some(Math::Bits(|x, _| x.wrapping_abs())),
        1 if !is_float && name == "popcount" => Some(Math::Bits(|x, _| i64::from(x.count_ones()))),
        1 if !is_float && matches!(name, "floor" | "ceil" | "trunc" | "round" | "nearbyint") => Some(Math::Bits(|x, _| x)),
        1 if !is_float && matches!(name, "isnan" | "isinf") => Some(Math::Bits(|_, _| 0)),
        1 => one(name).map(Math::One),
        2 => match bits(name) {
            Some(f) => Some(Math::Bits(f)),
            None => two(name).map(Math::Two),
        },
        3 if matches!(name, "fma" | "fmuladd") => Some(Math::Three(f64::mul_add)),
        _ => None,
    }
}

fn one(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "exp" => f64::exp,
        "exp2" => f64::exp2,
        "exp10" => |x| 10f64.powf(x),
        "log" => f64::ln,
        "log2" => f64::log2,
        "log10" => f64::log10,
        "log1p" => f64::ln_1p,
        "sqrt" => f64::sqrt,
        "rsqrt" => |x| 1.0 / x.sqrt(),
        "sigmoid" => |x| 1.0 / (1.0 + (-x).exp()),
        "erf" => erf,
        "sin" => f64::sin,
        "cos" => f64::cos,
        "tan" => f64::tan,
        "sinh" => f64::sinh,
        "cosh" => f64::cosh,
        "tanh" => f64::tanh,
        "asin" => f64::asin,
        "acos" => f64::acos,
        "atan" => f64::atan,
        "asinh" => f64::asinh,
        "acosh" => f64::acosh,
        "atanh" => f64::atanh,
        "floor" => f64::floor,
        "ceil" => f64::ceil,
        "trunc" => f64::trunc,
        // Halves go to the even neighbour (`llvm.roundeven`).
        "round" | "nearbyint" => f64::round_ties_even,
        "fabs" | "abs" => f64::abs,
        "isnan" => |x| f64::from(x.is_nan()),
        "isinf" => |x| f64::from(x.is_infinite()),
        "isfinite" => |x| f64::from(x.is_finite()),
        _ => return None,
    })
}

fn two(name: &str) -> Option<fn(f64, f64) -> f64> {
    Some(match name {
        "pow" | "power" => f64::powf,
        "atan2" => f64::atan2,
        "hypot" => f64::hypot,
        "copysign" => f64::copysign,
        "fmod" => |x, y| x % y,
        "ldexp" => |x, y| x * y.exp2(),
        "nextafter" => next_after,
        "minnum" => f64::min,
        "maxnum" => f64::max,
        _ => return None,
    })
}

fn bits(name: &str) -> Option<fn(i64, i64) -> i64> {
    Some(match name {
        "bitwise_and" => |x, y| x & y,
        "bitwise_or" => |x, y| x | y,
        "bitwise_xor" => |x, y| x ^ y,
        "shift_left" => |x, y| u32::try_from(y).ok().and_then(|y| x.checked_shl(y)).unwrap_or(0),
        "shift_right" => |x, y| u32::try_from(y).ok().and_then(|y| x.checked_shr(y)).unwrap_or(0),
        _ => return None,
    })
}

/// Returns the neighbour of `x` towards `y` in single precision.
fn next_after(x: f64, y: f64) -> f64 {
    let (x, y) = (x as f32, y as f32);
    f64::from(if x < y {
        x.next_up()
    } else if x > y {
        x.next_down()
    } else {
        y
    })
}
