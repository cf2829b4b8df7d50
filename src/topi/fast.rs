//! Approximations of slow functions: polynomials, and an exponential that writes bits. Only tensors of the precision
//! that TVM has a formula for are approximated; others use the function itself, under the same name.
//!
//! Source: `include/tvm/topi/elemwise.h`, `src/tirx/op/op.cc` (`fast_erf_float_expr`), `python/tvm/topi/nn/softmax.py`.

use super::elementwise::{each, scalar_with};
use super::lower::{Lower, Lowered, from_front};
use super::nn::{softmax_by, without};
use super::te::{Te, Tensor};
use super::{Rule, rule};
use crate::ir::{DType, PrimId, PrimOp};

/// The rules of [`super::approximate`].
pub(super) const RULES: &[Rule] = &[
    rule("exp", "fast_exp", exp),
    rule("tanh", "fast_tanh", tanh),
    rule("erf", "fast_erf", erf),
    rule("nn.softmax", "fast_softmax", softmax),
];

fn exp(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let out = fast_exp(&mut cx.te, x);
    cx.finish(&[out])
}

fn fast_exp(te: &mut Te, x: Tensor) -> Tensor {
    if te.dtype(x) != DType::F32 {
        return each(te, "T_fast_exp", "ax", x, &mut |te, x| te.call("exp", &[x]));
    }
    each(te, "T_fast_exp", "ax", x, &mut |te, x| {
        let number = |te: &mut Te, value: f32| te.number(f64::from(value), DType::F32);
        let (high, low) = (number(te, 88.376_27), number(te, -88.376_26));
        let inside = te.bin(PrimOp::Min, x, high);
        let inside = te.bin(PrimOp::Max, inside, low);
        // `x` is a multiple of the logarithm of two, and a remainder that the polynomial handles.
        let (log2e, half) = (number(te, std::f32::consts::LOG2_E), number(te, 0.5));
        let times = te.times(inside, log2e);
        let times = te.plus(times, half);
        let times = te.call("floor", &[times]);
        let ln2 = number(te, std::f32::consts::LN_2);
        let whole = te.times(times, ln2);
        let rest = te.minus(inside, whole);
        let mut value = number(te, 1.987_569_1e-4);
        for next in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
            let (scaled, next) = (te.times(value, rest), number(te, next));
            value = te.plus(scaled, next);
        }
        let value = te.times(value, rest);
        let value = te.times(value, rest);
        let value = te.plus(value, rest);
        let one = number(te, 1.0);
        let value = te.plus(value, one);
        // The power of two is written into the exponent of a float.
        let bias = number(te, 127.0);
        let exponent = te.plus(times, bias);
        let exponent = te.cast(DType::I32, exponent);
        let place = te.store.prim_int(23, DType::I32);
        let bits = te.store.prim_call("shift_left", &[exponent, place], DType::I32);
        let power = te.store.prim_call("reinterpret", &[bits], DType::F32);
        let value = te.times(power, value);
        te.bin(PrimOp::Max, value, x)
    })
}

fn tanh(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let te = &mut cx.te;
    let dtype = te.dtype(x);
    let out = if dtype == DType::F32 {
        // Beyond 9 it is 1 in single precision.
        let high = te.number(9.0, dtype);
        let inside = scalar_with(te, "minimum", high, x);
        let low = te.number(-9.0, dtype);
        let inside = scalar_with(te, "maximum", low, inside);
        let above = [
            -2.76076847742355e-16,
            2.00018790482477e-13,
            -8.60467152213735e-11,
            5.12229709037114e-08,
            1.48572235717979e-05,
            6.37261928875436e-04,
            4.89352455891786e-03,
        ];
        let below = [1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03];
        each(te, "T_fast_tanh", "ax", inside, &mut |te, x| quotient(te, x, &above, &below))
    } else {
        each(te, "T_fast_tanh", "ax", x, &mut |te, x| te.call("tanh", &[x]))
    };
    cx.finish(&[out])
}

fn erf(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let te = &mut cx.te;
    let dtype = te.dtype(x);
    let out = if dtype == DType::F32 || dtype == DType::F16 {
        let single = |values: &[f32]| values.iter().map(|value| f64::from(*value)).collect::<Vec<f64>>();
        let above = single(&[
            -2.726_142_4e-10,
            2.770_681_5e-8,
            -2.101_024e-6,
            -5.692_506_2e-5,
            -7.349_906_4e-4,
            -2.954_6e-3,
            -1.609_603_3e-2,
        ]);
        let below = single(&[-1.456_607_15e-5, -2.133_740_5e-4, -1.682_827e-3, -7.373_329_3e-3, -1.426_473_9e-2]);
        each(te, "T_fast_erf", "ax", x, &mut |te, x| {
            let (high, low) = (te.number(4.0, dtype), te.number(-4.0, dtype));
            let inside = te.bin(PrimOp::Min, x, high);
            let inside = te.bin(PrimOp::Max, inside, low);
            quotient(te, inside, &above, &below)
        })
    } else {
        each(te, "T_erf", "ax", x, &mut |te, x| te.call("erf", &[x]))
    };
    cx.finish(&[out])
}

/// Divides an odd polynomial by an even one; coefficients begin with the highest power.
fn quotient(te: &mut Te, x: PrimId, above: &[f64], below: &[f64]) -> PrimId {
    let square = te.times(x, x);
    let dtype = te.type_of(x);
    let polynomial = |te: &mut Te, coefficients: &[f64]| {
        let mut numbers = coefficients.iter().map(|value| te.number(*value, dtype)).collect::<Vec<_>>().into_iter();
        // The square is the left factor of the highest coefficient, and then of each sum.
        let first = numbers.next().map(|first| te.times(square, first));
        let second = numbers.next();
        let mut value = match (first, second) {
            (Some(first), Some(second)) => te.plus(first, second),
            _ => square,
        };
        for next in numbers {
            let scaled = te.times(square, value);
            value = te.plus(scaled, next);
        }
        value
    };
    let above = polynomial(te, above);
    let above = te.times(x, above);
    let below = polynomial(te, below);
    te.over(above, below)
}

fn softmax(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let axis = from_front(cx.int("axis").unwrap_or(-1), cx.te.rank(x));
    let out = softmax_by(&mut cx.te, x, axis, &mut |te, most| {
        let shape = te.shape(x);
        let below = te.compute("T_softmax_delta", "i", &shape, &mut |te, at| {
            let (value, most) = (te.load(x, at), te.load(most, &without(at, axis)));
            te.minus(value, most)
        });
        fast_exp(te, below)
    });
    cx.finish(&[out])
}
