//! Quotients and remainders that are rounded down, by those that are rounded towards zero.

use super::Lower;
use crate::ir::{DType, DTypeCode, PrimExpr, PrimId, PrimOp, Store, Symbol};
use crate::tir::{binary, constant, math};

/// Returns the exponent of a number that is a power of two.
fn power_of_two(store: &Store, id: PrimId) -> Option<i64> {
    let value = store.as_prim_int(id).filter(|value| *value > 0)?;
    (value & (value - 1) == 0).then(|| i64::from(value.trailing_zeros()))
}

/// True if the sign can be computed by a shift.
fn shifts(dtype: DType) -> bool {
    dtype == DType::I32 || dtype == DType::I64
}

impl Lower {
    pub(super) fn floor_div(&mut self, store: &mut Store, id: PrimId) -> PrimId {
        let new = self.inside(store, id);
        let PrimExpr::Binary { op: PrimOp::FloorDiv, a, b } = *store.prim_of_id(new) else { return new };
        let dtype = store.prim_dtype(new);
        if !matches!(dtype.code, DTypeCode::Int | DTypeCode::UInt) {
            self.error.get_or_insert_with(|| "a quotient of floats cannot be rounded down here".to_owned());
            return new;
        }
        if let Some(shift) = power_of_two(store, b) {
            let shift = store.prim_int(shift, dtype);
            return math::matched(store, "shift_right", a, shift);
        }
        if self.known.analyzer.can_prove_greater_equal(store, b, 0) {
            if self.known.analyzer.can_prove_greater_equal(store, a, 0)
                || self.known.analyzer.can_prove_greater_equal(store, id, 0)
            {
                return binary(store, PrimOp::Div, a, b);
            }
            if let Some(by) = store.as_prim_int(b)
                && let Some(times) = self.shift_coefficient(store, a, by)
            {
                let (more, times) = (store.prim_int(by * times, dtype), store.prim_int(times, dtype));
                let sum = binary(store, PrimOp::Add, a, more);
                let quotient = binary(store, PrimOp::Div, sum, b);
                return binary(store, PrimOp::Sub, quotient, times);
            }
            let (quotient, rest) = (binary(store, PrimOp::Div, a, b), binary(store, PrimOp::Mod, a, b));
            if shifts(dtype) {
                let bits = store.prim_int(i64::from(dtype.bits) - 1, dtype);
                let sign = math::matched(store, "shift_right", rest, bits);
                return binary(store, PrimOp::Add, quotient, sign);
            }
            let (zero, one) = (constant(store, 0, dtype), constant(store, 1, dtype));
            let cond = binary(store, PrimOp::Ge, rest, zero);
            let other = binary(store, PrimOp::Sub, quotient, one);
            return store.prim(PrimExpr::Select { cond, then: quotient, other });
        }
        let (rest_var, rest) = temporary(store, "rmod", dtype);
        let (quotient_var, quotient) = temporary(store, "rdiv", dtype);
        let cond = signs_agree(store, b, rest);
        let one = constant(store, 1, dtype);
        let other = binary(store, PrimOp::Sub, quotient, one);
        let body = store.prim(PrimExpr::Select { cond, then: quotient, other });
        let value = binary(store, PrimOp::Div, a, b);
        let body = store.prim(PrimExpr::Let { var: quotient_var, value, body });
        let value = binary(store, PrimOp::Mod, a, b);
        store.prim(PrimExpr::Let { var: rest_var, value, body })
    }

    pub(super) fn floor_mod(&mut self, store: &mut Store, id: PrimId) -> PrimId {
        let new = self.inside(store, id);
        let PrimExpr::Binary { op: PrimOp::FloorMod, a, b } = *store.prim_of_id(new) else { return new };
        let dtype = store.prim_dtype(new);
        if !matches!(dtype.code, DTypeCode::Int | DTypeCode::UInt) {
            self.error.get_or_insert_with(|| "a remainder of floats cannot be rounded down here".to_owned());
            return new;
        }
        if let Some(shift) = power_of_two(store, b) {
            let mask = store.prim_int((1i64 << shift) - 1, dtype);
            return math::matched(store, "bitwise_and", a, mask);
        }
        if self.known.analyzer.can_prove_greater_equal(store, b, 0) {
            if self.known.analyzer.can_prove_greater_equal(store, a, 0) {
                return binary(store, PrimOp::Mod, a, b);
            }
            if let Some(by) = store.as_prim_int(b)
                && let Some(times) = self.shift_coefficient(store, a, by)
            {
                let more = store.prim_int(by * times, dtype);
                let sum = binary(store, PrimOp::Add, a, more);
                return binary(store, PrimOp::Mod, sum, b);
            }
            let rest = binary(store, PrimOp::Mod, a, b);
            if shifts(dtype) {
                let bits = store.prim_int(i64::from(dtype.bits) - 1, dtype);
                let sign = math::matched(store, "shift_right", rest, bits);
                let more = math::matched(store, "bitwise_and", b, sign);
                return binary(store, PrimOp::Add, rest, more);
            }
            let zero = constant(store, 0, dtype);
            let cond = binary(store, PrimOp::Ge, rest, zero);
            let other = binary(store, PrimOp::Add, rest, b);
            return store.prim(PrimExpr::Select { cond, then: rest, other });
        }
        let (var, rest) = temporary(store, "rmod", dtype);
        let cond = signs_agree(store, b, rest);
        let other = binary(store, PrimOp::Add, rest, b);
        let body = store.prim(PrimExpr::Select { cond, then: rest, other });
        let value = binary(store, PrimOp::Mod, a, b);
        store.prim(PrimExpr::Let { var, value, body })
    }

    /// Returns a number `c` with which `a + b * c` is not negative and does not overflow.
    fn shift_coefficient(&mut self, store: &mut Store, a: PrimId, b: i64) -> Option<i64> {
        if b <= 0 {
            return None;
        }
        let bound = self.known.analyzer.const_int_bound(store, a);
        if bound.min >= 0 {
            return None;
        }
        let dtype = store.prim_dtype(a);
        let unsigned = i64::from(dtype.code == DTypeCode::UInt);
        let most = i64::MAX.checked_shr((64 + unsigned as u32).checked_sub(u32::from(dtype.bits).max(1))?).unwrap_or(0);
        if b - 1 > most.checked_add(bound.min)? {
            return None;
        }
        let times = (b - 1).checked_sub(bound.min)? / b;
        if times <= 0 || times > most / b || bound.max > most - b * times {
            return None;
        }
        Some(times)
    }
}

fn temporary(store: &mut Store, name: &str, dtype: DType) -> (crate::ir::Id<Symbol>, PrimId) {
    let name = store.name(name);
    let symbol = store.add_symbol(Symbol { name, dtype, size: false });
    (symbol, store.prim(PrimExpr::Var(symbol)))
}

/// Makes `b >= 0 and rest >= 0 or b < 0 and rest <= 0`.
fn signs_agree(store: &mut Store, b: PrimId, rest: PrimId) -> PrimId {
    let zero = constant(store, 0, store.prim_dtype(b));
    let mut compare = |op, x| binary(store, op, x, zero);
    let (above, rest_above) = (compare(PrimOp::Ge, b), compare(PrimOp::Ge, rest));
    let (below, rest_below) = (compare(PrimOp::Lt, b), compare(PrimOp::Le, rest));
    let (above, below) = (binary(store, PrimOp::And, above, rest_above), binary(store, PrimOp::And, below, rest_below));
    binary(store, PrimOp::Or, above, below)
}
