//! Conversions between kinds of floats by their bits.

use crate::ir::{DType, DTypeCode, PrimId, PrimOp, Store};
use crate::tir::{binary, cast, constant, math};

/// The numbers of bits in a float's exponent and fraction, and the bias of the exponent.
#[derive(Clone, Copy)]
struct Layout {
    exponent: i64,
    fraction: i64,
    bias: i64,
}

fn layout(dtype: DType) -> Option<Layout> {
    let (exponent, fraction, bias) = match (dtype.code, dtype.bits) {
        (DTypeCode::Float, 16) => (5, 10, 15),
        (DTypeCode::Float, 32) => (8, 23, 127),
        (DTypeCode::Float, 64) => (11, 52, 1023),
        (DTypeCode::BFloat, 16) => (8, 7, 127),
        (DTypeCode::E3M4Float, _) => (3, 4, 3),
        (DTypeCode::E5M2Float | DTypeCode::E5M2UzFloat, _) => (5, 2, 15),
        (DTypeCode::E8M0Float, _) => (8, 0, 127),
        _ if dtype.is_float() && dtype.bits == 8 => (4, 3, 7),
        _ => return None,
    };
    Some(Layout { exponent, fraction, bias })
}

/// Returns the type of the bits of a float as a number.
pub(super) fn bits_of(dtype: DType) -> DType {
    DType { code: DTypeCode::UInt, ..dtype }
}

/// Reinterprets the bits of a value as another type.
pub(super) fn reinterpret(store: &mut Store, dtype: DType, value: PrimId) -> PrimId {
    if store.prim_dtype(value) == dtype { value } else { store.prim_call("reinterpret", &[value], dtype) }
}

/// Converts a value to another kind of float, rounded to the nearest, ties to even (TVM's `DTypeConversion`).
pub(super) fn converted(store: &mut Store, value: PrimId, to: DType) -> PrimId {
    let from = store.prim_dtype(value);
    if from == to {
        return value;
    }
    let (Some(source), Some(target)) = (layout(from), layout(to)) else { return cast(store, to, value) };
    let (from_bits, to_bits) = (bits_of(from), bits_of(to));
    let shift = |store: &mut Store, name: &str, value: PrimId, by: i64| {
        let by = constant(store, by, store.prim_dtype(value));
        math::matched(store, name, value, by)
    };
    let left = |store: &mut Store, value, by| shift(store, "shift_left", value, by);
    let right = |store: &mut Store, value, by| shift(store, "shift_right", value, by);
    let more = target.fraction - source.fraction;
    let bias = target.bias - source.bias;
    let mut bits = reinterpret(store, from_bits, value);
    if more < 0 {
        let last = right(store, bits, -more);
        let one = constant(store, 1, from_bits);
        let last = math::matched(store, "bitwise_and", last, one);
        let half = constant(store, (1i64 << (-more - 1)) - 1, from_bits);
        let rounding = binary(store, PrimOp::Add, last, half);
        bits = binary(store, PrimOp::Add, bits, rounding);
    }
    let fraction = |store: &mut Store| match more >= 0 {
        true => {
            let wide = cast(store, to_bits, bits);
            left(store, wide, more)
        }
        false => {
            let short = right(store, bits, -more);
            cast(store, to_bits, short)
        }
    };
    if target.exponent == source.exponent {
        let mut result = fraction(store);
        if bias != 0 {
            let by = constant(store, bias.abs(), to_bits);
            let by = left(store, by, target.fraction);
            result = binary(store, if bias > 0 { PrimOp::Add } else { PrimOp::Sub }, result, by);
        }
        return reinterpret(store, to, result);
    }
    let own = fraction(store);
    let mask = constant(store, (1i64 << target.fraction) - 1, to_bits);
    let own = math::matched(store, "bitwise_and", own, mask);
    let exponent = left(store, bits, 1);
    let exponent = right(store, exponent, source.fraction + 1);
    let sign = right(store, bits, source.fraction + source.exponent);
    let sign = cast(store, to_bits, sign);
    let sign = left(store, sign, target.fraction + target.exponent);
    let by = constant(store, bias.abs(), from_bits);
    let moved = match bias {
        0 => exponent,
        _ => binary(store, if bias > 0 { PrimOp::Add } else { PrimOp::Sub }, exponent, by),
    };
    let moved = cast(store, to_bits, moved);
    let moved = left(store, moved, target.fraction);
    let result = math::matched(store, "bitwise_or", own, moved);
    let mut result = math::matched(store, "bitwise_or", result, sign);
    if bias < 0 {
        let small = binary(store, PrimOp::Lt, exponent, by);
        let zero = constant(store, 0, to_bits);
        result = math::if_then_else(store, small, zero, result);
    }
    reinterpret(store, to, result)
}
