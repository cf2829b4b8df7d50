//! Makes functions of scalar expressions as TVM does (`src/tirx/op/op.cc`): folds constants, and expands some into
//! several operations.

use super::build::{binary, cast, match_types};
use crate::ir::{DType, DTypeCode, PrimExpr, PrimId, PrimOp, Store};

fn float_of(store: &Store, id: PrimId) -> Option<f64> {
    match store.prim_of_id(id) {
        PrimExpr::Float { value, .. } => Some(value.0),
        _ => None,
    }
}

/// Makes a number of a type; of a vector in each lane.
pub fn constant(store: &mut Store, value: i64, dtype: DType) -> PrimId {
    let element = dtype.element();
    let one = if element.is_float() { store.prim_float(value as f64, element) } else { store.prim_int(value, element) };
    if dtype.lanes == 1 { one } else { store.prim(PrimExpr::Broadcast { value: one, lanes: dtype.lanes }) }
}

/// The functions of `T` that return integers unchanged.
pub const ROUNDINGS: [&str; 5] = ["floor", "ceil", "round", "nearbyint", "trunc"];

/// Makes one of [`ROUNDINGS`].
pub fn rounded(store: &mut Store, name: &str, x: PrimId) -> PrimId {
    let dtype = store.prim_dtype(x);
    if !dtype.is_float() {
        return x;
    }
    let Some(known) = float_of(store, x) else { return store.prim_call(name, &[x], dtype) };
    let value = match name {
        "floor" => known.floor(),
        "ceil" => known.ceil(),
        "trunc" => known.trunc(),
        _ => known.round_ties_even(),
    };
    store.prim_float(value, dtype)
}

/// Makes the size of a number.
pub fn absolute(store: &mut Store, x: PrimId) -> PrimId {
    let dtype = store.prim_dtype(x);
    if dtype.is_float() {
        return match float_of(store, x) {
            Some(known) => store.prim_float(known.abs(), dtype),
            None => store.prim_call("fabs", &[x], dtype),
        };
    }
    if dtype.code == DTypeCode::UInt {
        return x;
    }
    if let Some(known) = store.as_prim_int(x) {
        return store.prim_int(known.wrapping_abs(), dtype);
    }
    let zero = constant(store, 0, dtype);
    let (cond, other) = (binary(store, PrimOp::Ge, x, zero), binary(store, PrimOp::Sub, zero, x));
    store.prim(PrimExpr::Select { cond, then: x, other })
}

/// Makes the test for a NaN.
pub fn is_nan(store: &mut Store, x: PrimId) -> PrimId {
    let dtype = store.prim_dtype(x);
    let truth = DType { lanes: dtype.lanes, ..DType::BOOL };
    if !dtype.is_float() {
        return constant(store, 0, truth);
    }
    if let Some(known) = float_of(store, x) {
        return constant(store, i64::from(known.is_nan()), truth);
    }
    let x = if dtype.bits == 16 { cast(store, DType { lanes: dtype.lanes, ..DType::F32 }, x) } else { x };
    store.prim_call("isnan", &[x], truth)
}

/// Makes the test for an infinity.
pub fn is_inf(store: &mut Store, x: PrimId) -> PrimId {
    let dtype = store.prim_dtype(x);
    if !dtype.is_float() {
        return constant(store, 0, DType { lanes: dtype.lanes, ..DType::BOOL });
    }
    let infinity = store.prim_float(f64::INFINITY, dtype);
    let size = absolute(store, x);
    let (equal, nan) = (binary(store, PrimOp::Eq, size, infinity), is_nan(store, x));
    let number = not(store, nan);
    binary(store, PrimOp::And, equal, number)
}

/// Makes the test for a number that is no NaN and no infinity.
pub fn is_finite(store: &mut Store, x: PrimId) -> PrimId {
    let (inf, nan) = (is_inf(store, x), is_nan(store, x));
    let (a, b) = (not(store, inf), not(store, nan));
    binary(store, PrimOp::And, a, b)
}

/// Makes the opposite of a truth value.
pub fn not(store: &mut Store, x: PrimId) -> PrimId {
    match store.as_prim_int(x) {
        Some(known) => store.prim_int(i64::from(known == 0), DType::BOOL),
        None => store.prim(PrimExpr::Not(x)),
    }
}

/// Makes a call of two operands that get one type: `pow`, `shift_left`, `bitwise_and` and the like. Folds known
/// indices.
pub fn matched(store: &mut Store, name: &str, a: PrimId, b: PrimId) -> PrimId {
    let (a, b) = match_types(store, a, b);
    let dtype = store.prim_dtype(a);
    let index = dtype.code == DTypeCode::Int && matches!(dtype.bits, 32 | 64) && dtype.lanes == 1;
    if let (true, Some(y)) = (index, store.as_prim_int(b)) {
        let shift = u32::try_from(y).ok().filter(|n| *n < u32::from(dtype.bits));
        let known = store.as_prim_int(a).and_then(|x| match name {
            "shift_left" => shift.map(|n| x.wrapping_shl(n)),
            "shift_right" => shift.map(|n| x >> n),
            "bitwise_and" => Some(x & y),
            "bitwise_or" => Some(x | y),
            "bitwise_xor" => Some(x ^ y),
            _ => None,
        });
        if let Some(known) = known {
            return store.prim_int(known, dtype);
        }
        if y == 0 && matches!(name, "shift_left" | "shift_right") {
            return a;
        }
    }
    store.prim_call(name, &[a, b], dtype)
}

/// Returns the quotient rounded up.
pub fn ceil_div(store: &mut Store, a: PrimId, b: PrimId) -> PrimId {
    let (a, b) = match_types(store, a, b);
    let one = constant(store, 1, store.prim_dtype(a));
    let sum = binary(store, PrimOp::Add, a, b);
    let less = binary(store, PrimOp::Sub, sum, one);
    binary(store, PrimOp::FloorDiv, less, b)
}

/// Returns the smaller or the larger one; infinities decide at once.
pub fn min_max(store: &mut Store, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
    let least = if op == PrimOp::Min { f64::NEG_INFINITY } else { f64::INFINITY };
    let (x, y) = (float_of(store, a), float_of(store, b));
    match (x, y) {
        (Some(x), _) if x == least => a,
        (Some(x), _) if x == -least => b,
        (_, Some(y)) if y == least => b,
        (_, Some(y)) if y == -least => a,
        _ => binary(store, op, a, b),
    }
}

/// Makes `T.if_then_else(cond, then, other)`; a known condition decides at once.
pub fn if_then_else(store: &mut Store, cond: PrimId, then: PrimId, other: PrimId) -> PrimId {
    let (then, other) = match_types(store, then, other);
    match store.as_prim_int(cond) {
        Some(0) => other,
        Some(_) => then,
        None => {
            let dtype = store.prim_dtype(then);
            store.prim_call("if_then_else", &[cond, then, other], dtype)
        }
    }
}

/// Makes `T.likely(cond)`, which adds no facts.
pub fn likely(store: &mut Store, cond: PrimId) -> PrimId {
    if store.as_prim_int(cond).is_some() {
        return cond;
    }
    let dtype = store.prim_dtype(cond);
    store.prim_call("likely", &[cond], dtype)
}

/// Returns the greatest or least value of a type; of floats the finite ones.
pub fn limit(store: &mut Store, dtype: DType, greatest: bool) -> PrimId {
    if dtype.is_float() {
        let most = match (dtype.code, dtype.bits) {
            (DTypeCode::BFloat, _) => f64::from(f32::MAX),
            (DTypeCode::E4M3Float | DTypeCode::E4M3InfFloat | DTypeCode::E4M3UzFloat, _) => 448.0,
            (DTypeCode::E5M2Float | DTypeCode::E5M2UzFloat, _) => 57344.0,
            (DTypeCode::E4M3B11Float, _) => 30.0,
            (DTypeCode::E3M4Float, _) => 31.0,
            (DTypeCode::E8M0Float, _) => 3.402_823_669_209_385e38,
            (DTypeCode::E2M3Float, _) => 7.5,
            (DTypeCode::E3M2Float, _) => 28.0,
            (DTypeCode::E2M1Float, _) => 6.0,
            (_, 16) => 65504.0,
            (_, 32) => f64::from(f32::MAX),
            _ => f64::MAX,
        };
        let unsigned = matches!(
            dtype.code,
            DTypeCode::E4M3UzFloat | DTypeCode::E5M2UzFloat | DTypeCode::E4M3B11Float | DTypeCode::E8M0Float
        );
        let least = if unsigned { 0.0 } else { -most };
        return store.prim_float(if greatest { most } else { least }, dtype);
    }
    let bits = u32::from(dtype.bits).clamp(1, 64);
    let value = match (dtype.code, greatest) {
        (DTypeCode::UInt | DTypeCode::Bit, true) => (u64::MAX >> (64 - bits)) as i64,
        (DTypeCode::UInt | DTypeCode::Bit, false) => 0,
        (_, true) => i64::MAX >> (64 - bits),
        (_, false) => i64::MIN >> (64 - bits),
    };
    store.prim_int(value, dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_computed() {
        let store = &mut Store::new();
        let [three, half] = [store.prim_int(3, DType::I32), store.prim_float(2.5, DType::F32)];
        let up = rounded(store, "ceil", half);
        assert_eq!(store.prim_of_id(up), &PrimExpr::Float { value: crate::ir::Double(3.0), dtype: DType::F32 });
        assert_eq!(rounded(store, "floor", three), three);
        let shifted = matched(store, "shift_left", three, three);
        assert_eq!(store.as_prim_int(shifted), Some(24));
        let finite = is_finite(store, three);
        assert_eq!(store.as_prim_int(finite), Some(1));
        let seven = store.prim_int(7, DType::I32);
        let quotient = ceil_div(store, seven, three);
        assert_eq!(store.as_prim_int(quotient), Some(3));
        let inf = store.prim_float(f64::INFINITY, DType::F32);
        assert_eq!(min_max(store, PrimOp::Min, inf, half), half);
        assert_eq!(min_max(store, PrimOp::Max, half, inf), inf);
    }
}
