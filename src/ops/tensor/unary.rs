//! Element-wise operators of one input.

use super::create;
use crate::ir::{DType, DTypeCode, Tensor};
use crate::ops::kernel::{EvalError, Lane, by_lane, bytes, read, write};
use crate::ops::relax::{deduce, gradient, layout};
use crate::ops::row::{op, prim, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, Kernel, OpInfo, OpPattern, RelaxOp};
use crate::ops::{identity, identity_compare};

/// An operator whose result has the type of its input.
#[track_caller]
const fn same(name: &'static str, doc: &'static str, kernel: Kernel) -> OpInfo {
    op(name, doc).pattern(OpPattern::ElemWise).kernel(kernel).relay(relay(const { &["data"] }, identity))
}

/// An operator that yields truth values.
#[track_caller]
const fn test(name: &'static str, doc: &'static str, kernel: Kernel) -> OpInfo {
    same(name, doc, kernel).relay(relay(const { &["data"] }, identity_compare))
}

/// A kernel for floating point, computed in float32 or float64.
macro_rules! float {
    ($x:ident => $body:expr) => {
        |_, x| floats(x, |$x: f32| $body, |$x: f64| $body)
    };
}

/// The same, except that integers stay as they are.
macro_rules! number {
    ($x:ident => $body:expr) => {
        |_, x| match x[0].dtype.is_float() {
            true => floats(x, |$x: f32| $body, |$x: f64| $body),
            false => Ok(vec![x[0].clone()]),
        }
    };
}

/// A kernel for every number type; `T` is the lane.
macro_rules! lanes {
    ($x:ident => $body:expr) => {
        |_, x| by_lane!(x[0].dtype, T => mapped(x, |$x: T| $body))
    };
}

/// A test of floating point numbers with the answer for all integers.
macro_rules! class {
    ($x:ident => $body:expr, $integers:literal) => {
        |_, x| classified(&x[0], |$x: f64| $body, $integers)
    };
}

/// Declares the operator in Relax with the same kernel, and the result in the layout of the argument.
const fn element(deduce: deduce::DeduceRule) -> RelaxOp {
    relax(const { &[value("x")] }, deduce).follows().layout(layout::element::unary).same_kernel()
}

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    same("log", "Natural logarithm of each element.", float!(x => x.ln()))
        .relax(element(deduce::unary::float_arith).gradient(gradient::element::log)),
    same("log2", "Logarithm to base 2 of each element.", float!(x => x.log2())),
    same("log10", "Logarithm to base 10 of each element.", float!(x => x.log10())),
    same("tan", "Tangent of each element, in radians.", float!(x => x.sin() / x.cos()))
        .relax(element(deduce::unary::float_arith)),
    same("cos", "Cosine of each element, in radians.", float!(x => x.cos()))
        .relax(element(deduce::unary::float_arith).gradient(gradient::element::cos)),
    same("cosh", "Hyperbolic cosine of each element.", float!(x => (x.exp() + (-x).exp()) / 2.0))
        .relax(element(deduce::unary::float_arith)),
    same("sin", "Sine of each element, in radians.", float!(x => x.sin()))
        .relax(element(deduce::unary::float_arith).gradient(gradient::element::sin)),
    same("sinh", "Hyperbolic sine of each element.", float!(x => (x.exp() - (-x).exp()) / 2.0))
        .relax(element(deduce::unary::float_arith)),
    same("acos", "Inverse cosine of each element.", float!(x => x.acos())).relax(element(deduce::unary::float_arith)),
    same("acosh", "Inverse hyperbolic cosine of each element.", float!(x => x.acosh()))
        .relax(element(deduce::unary::float_arith)),
    same("asin", "Inverse sine of each element.", float!(x => x.asin())).relax(element(deduce::unary::float_arith)),
    same("asinh", "Inverse hyperbolic sine of each element.", float!(x => x.asinh())).relax(element(deduce::unary::float_arith)),
    same("atan", "Inverse tangent of each element.", float!(x => x.atan())).relax(element(deduce::unary::float_arith)),
    same("atanh", "Inverse hyperbolic tangent of each element.", float!(x => x.atanh()))
        .relax(element(deduce::unary::float_arith)),
    same("exp", "e to the power of each element.", float!(x => x.exp()))
        .relax(element(deduce::unary::float_arith).gradient(gradient::element::exp)),
    same(
        "fast_exp",
        "e to the power of each element by a polynomial, accurate to a few units in the last place. The pass \
         FastMath puts it in place of `exp`.",
        |_, x| floats(x, fast_exp, f64::exp),
    ),
    same("erf", "Gauss error function of each element.", |_, x| floats(x, |v| erf(f64::from(v)) as f32, erf))
        .relax(element(deduce::unary::float_arith)),
    same(
        "fast_erf",
        "Gauss error function of each element by a polynomial. The pass FastMath puts it in place of `erf`.",
        |_, x| floats(x, fast_erf, erf),
    ),
    same("sqrt", "Square root of each element.", float!(x => x.sqrt()))
        .relax(element(deduce::unary::float_arith).gradient(gradient::element::sqrt)),
    same("rsqrt", "One over the square root of each element.", float!(x => 1.0 / x.sqrt()))
        .relax(element(deduce::unary::float_arith)),
    same("zeros_like", "Zeros in the shape of the input.", |_, x| repeated(x, 0))
        .relax(relax(&[value("x")], deduce::create::like).attrs(&create::RELAX_INIT).gradient(gradient::none)),
    same("ones_like", "Ones in the shape of the input.", |_, x| repeated(x, 1))
        .relax(relax(&[value("x")], deduce::create::like).attrs(&create::RELAX_INIT).gradient(gradient::none)),
    same("sigmoid", "Logistic function `1 / (1 + exp(-x))` of each element.", float!(x => 1.0 / (1.0 + (-x).exp())))
        .relax(element(deduce::unary::float_arith).gradient(gradient::element::sigmoid)),
    same("copy", "The input itself, as a new tensor.", |_, x| Ok(vec![x[0].clone()])),
    same("floor", "Each element rounded down to a whole number.", number!(x => x.floor())).relax(element(deduce::unary::arith)),
    same("ceil", "Each element rounded up to a whole number.", number!(x => x.ceil())).relax(element(deduce::unary::arith)),
    same("trunc", "Each element rounded towards zero.", number!(x => x.trunc())).relax(element(deduce::unary::arith)),
    same("round", "Each element rounded to the nearest whole number, halves away from zero.", number!(x => x.round()))
        .relax(element(deduce::unary::arith)),
    same(
        "sign",
        "-1, 0 or 1 by the sign of each element.",
        lanes!(x => {
            let zero = T::from_i64(0);
            T::from_i64(i64::from(x > zero) - i64::from(x < zero))
        }),
    )
    .relax(element(deduce::unary::arith)),
    same("abs", "Absolute value of each element.", |_, x| magnitude(x))
        .relax(element(deduce::unary::arith).gradient(gradient::element::abs)),
    same(
        "tanh",
        "Hyperbolic tangent of each element.",
        float!(x => {
            let e = (-2.0 * x.abs()).exp();
            let tanh = (1.0 - e) / (1.0 + e);
            if x < 0.0 { -tanh } else { tanh }
        }),
    )
    .relax(element(deduce::unary::float_arith).gradient(gradient::element::tanh)),
    same(
        "fast_tanh",
        "Hyperbolic tangent of each element by a rational function. The pass FastMath puts it in place of \
         `tanh`.",
        |_, x| floats(x, fast_tanh, f64::tanh),
    ),
    same("negative", "Each element with the opposite sign.", |_, x| opposite(x))
        .relax(element(deduce::unary::arith).gradient(gradient::element::negative)),
    same("logical_not", "Whether each element is false.", |_, x| flipped(x, true)).relax(element(deduce::unary::arith)),
    same("bitwise_not", "Each element with all its bits flipped.", |_, x| flipped(x, false)).relax(element(deduce::unary::arith)),
    test("isnan", "Whether each element is not a number.", class!(x => x.is_nan(), false)).relax(element(deduce::unary::check)),
    test("isfinite", "Whether each element is neither infinite nor NaN.", class!(x => x.is_finite(), true))
        .relax(element(deduce::unary::check)),
    test("isinf", "Whether each element is infinite.", class!(x => x.is_infinite(), false)).relax(element(deduce::unary::check)),
    op("clip", "Each element, but not less than one bound nor more than the other.")
        .pattern(OpPattern::ElemWise)
        .kernel(|cx, x| clip(x, cx.float("a_min")?, cx.float("a_max")?))
        .relay(relay(&["data"], identity).attrs(&schema(
            "relay.attrs.ClipAttrs",
            &[field::required("a_min", AttrKind::Float), field::required("a_max", AttrKind::Float)],
        )))
        .relax(relax(&[value("x"), prim("min"), prim("max")], deduce::unary::clip)),
    op("square", "The square.").relax(relax(&[value("x")], deduce::unary::arith).follows().layout(layout::element::unary)),
];

fn floats(x: &[Tensor], narrow: fn(f32) -> f32, wide: fn(f64) -> f64) -> Result<Vec<Tensor>, EvalError> {
    match x[0].dtype {
        DType::F64 => mapped(x, wide),
        dtype if dtype.is_float() => mapped(x, narrow),
        dtype => Err(EvalError(format!("this function is not defined for {dtype}"))),
    }
}

fn mapped<T: Lane>(x: &[Tensor], f: impl Fn(T) -> T) -> Result<Vec<Tensor>, EvalError> {
    let mut values = read::<T>(&x[0])?;
    for value in &mut values {
        *value = f(*value);
    }
    Ok(vec![write(x[0].dtype, &x[0].shape, &values)?])
}

fn repeated(x: &[Tensor], value: i64) -> Result<Vec<Tensor>, EvalError> {
    Ok(vec![write(x[0].dtype, &x[0].shape, &vec![value; x[0].len()])?])
}

fn opposite(x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    match x[0].dtype.is_float() {
        // TVM subtracts from zero, so that the opposite of zero has no sign.
        true => floats(x, |v| 0.0 - v, |v| 0.0 - v),
        false => mapped(x, |v: i64| v.wrapping_neg()),
    }
}

fn magnitude(x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    match x[0].dtype.code {
        DTypeCode::Int => mapped(x, |v: i64| v.wrapping_abs()),
        DTypeCode::UInt => Ok(vec![x[0].clone()]),
        _ => floats(x, f32::abs, f64::abs),
    }
}

fn flipped(x: &[Tensor], logical: bool) -> Result<Vec<Tensor>, EvalError> {
    match x[0].dtype {
        DType::BOOL => mapped(x, |v: i64| v ^ 1),
        dtype if logical || dtype.is_float() => Err(EvalError(format!("this function is not defined for {dtype}"))),
        _ => mapped(x, |v: i64| !v),
    }
}

fn classified(x: &Tensor, f: impl Fn(f64) -> bool, integers: bool) -> Result<Vec<Tensor>, EvalError> {
    let answers: Vec<u8> = match x.dtype.is_float() {
        true => read::<f64>(x)?.into_iter().map(|v| u8::from(f(v))).collect(),
        false => vec![u8::from(integers); bytes(x)?.len() / x.dtype.bytes()],
    };
    Ok(vec![Tensor::new(DType::BOOL, x.shape.clone(), answers)])
}

/// Returns the smaller of `x` and `max`, then the larger of that and `min`: NaN becomes `max`, as in
/// the code that TVM generates.
fn clip(x: &[Tensor], min: f64, max: f64) -> Result<Vec<Tensor>, EvalError> {
    by_lane!(x[0].dtype, T => {
        let (min, max) = (T::from_f64(min), T::from_f64(max));
        mapped(x, |v: T| {
            let low = if v < max { v } else { max };
            if low > min { low } else { min }
        })
    })
}

/// Polynomial for e^x on float32 (TVM's `fast_exp_float32`, from Cephes): the integer part of x / ln
/// 2 goes into the exponent.
fn fast_exp(v: f32) -> f32 {
    let x = v.clamp(-88.376_26, 88.376_26);
    let whole = (x * std::f32::consts::LOG2_E + 0.5).floor();
    let rest = x - whole * std::f32::consts::LN_2;
    let factors: [f32; 6] = [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 5e-1];
    let sum = factors.iter().fold(0.0, |sum, factor| sum * rest + factor);
    let y = sum * rest * rest + rest + 1.0;
    let scale = f32::from_bits(((whole + 127.0) as i32 as u32) << 23);
    let result = scale * y;
    if result > v { result } else { v }
}

/// Evaluates polynomials in x squared, highest factor first.
fn horner(square: f32, factors: &[f32]) -> f32 {
    factors.iter().fold(0.0, |sum, factor| square * sum + factor)
}

/// Rational function for tanh on float32 (TVM's `fast_tanh_float`, from Eigen).
fn fast_tanh(v: f32) -> f32 {
    let x = v.clamp(-9.0, 9.0);
    let square = x * x;
    let over = [-2.760_768_5e-16, 2.000_188e-13, -8.604_672e-11, 5.122_297e-8, 1.485_722_4e-5, 6.372_619_3e-4, 4.893_524_6e-3];
    let under = [1.198_258_4e-6, 1.185_347_1e-4, 2.268_434_6e-3, 4.893_525e-3];
    x * horner(square, &over) / horner(square, &under)
}

/// Rational function for the error function on float32 (TVM's `fast_erf_float_expr`, from Eigen).
fn fast_erf(v: f32) -> f32 {
    let x = v.clamp(-4.0, 4.0);
    let square = x * x;
    let over = [-2.726_142_3e-10, 2.770_681_4e-8, -2.101_024e-6, -5.692_506_4e-5, -7.349_906_3e-4, -2.954_6e-3, -1.609_603_3e-2];
    let under = [-1.456_607_2e-5, -2.133_740_6e-4, -1.682_827e-3, -7.373_329e-3, -1.426_473_9e-2];
    x * horner(square, &over) / horner(square, &under)
}

/// The error function to about fifteen digits: a series of positive terms near zero (Abramowitz and
/// Stegun 7.1.6), the continued fraction of its complement further out (7.1.14).
pub(crate) fn erf(v: f64) -> f64 {
    let x = v.abs();
    if x.is_nan() {
        return v;
    }
    let value = if x < 3.0 {
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
        }
        std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
    } else if x < 6.0 {
        let fraction = (1..=60).rev().fold(x, |tail, k| x + f64::from(k) / 2.0 / tail);
        1.0 - (-x * x).exp() / (std::f64::consts::PI.sqrt() * fraction)
    } else {
        1.0
    };
    value.copysign(v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_matches_the_tables() {
        // Abramowitz and Stegun, table 7.1, and erfc(3) and erfc(5) from table 7.3.
        for (x, value) in [(0.5, 0.520_499_877_8), (1.0, 0.842_700_792_9), (2.0, 0.995_322_265_0), (-1.0, -0.842_700_792_9)] {
            assert!((erf(x) - value).abs() < 1e-10, "erf({x})");
        }
        assert!((1.0 - erf(3.0) - 2.209_049_699_858_544e-5).abs() < 1e-15);
        assert!((erf(2.999_999_999) - erf(3.000_000_001)).abs() < 1e-12);
    }

    #[test]
    fn fast_versions_stay_close_to_the_exact_ones() {
        for i in -40..=40 {
            let x = i as f32 / 8.0;
            assert!((fast_exp(x) / x.exp() - 1.0).abs() < 1e-6, "exp({x})");
            assert!((fast_tanh(x) - x.tanh()).abs() < 1e-6, "tanh({x})");
            assert!((fast_erf(x) - erf(f64::from(x)) as f32).abs() < 1e-6, "erf({x})");
        }
    }

    #[test]
    fn clip_limits_integers_too() {
        let x = write(DType::I8, &[3], &[-100i64, 3, 100]).unwrap();
        let out = clip(&[x], -5.0, 6.0).unwrap();
        assert_eq!(read::<i64>(&out[0]).unwrap(), [-5, 3, 6]);
    }
}
