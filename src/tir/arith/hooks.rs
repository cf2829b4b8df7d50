//! Rules that are not said in a line: they ask for bounds, for sets, or compute with numbers.

use super::modular::gcd;
use super::rewrite::{folded, truth};
use super::table::Hook;
use super::{Analyzer, Bound, Comparison, Mode};
use crate::ir::{DType, PrimExpr, PrimId, PrimOp, Store};
use crate::tir::build::{binary, constant};

impl Analyzer {
    /// Applies a hook to `id`, which is an operation on `a` and `b`, if it fits.
    pub(super) fn call_hook(
        &mut self,
        store: &mut Store,
        hook: Hook,
        a: PrimId,
        b: PrimId,
        id: PrimId,
        mode: Mode,
    ) -> Option<PrimId> {
        match hook {
            Hook::RampDiv => self.ramp_divided(store, PrimOp::Div, a, b),
            Hook::RampFdiv => self.ramp_divided(store, PrimOp::FloorDiv, a, b),
            Hook::RampMod => self.ramp_rest(store, PrimOp::Mod, a, b),
            Hook::RampFmod => self.ramp_rest(store, PrimOp::FloorMod, a, b),
            Hook::ModBySet => {
                let divisor = store.as_prim_int(b)?;
                let set = self.modular_set(store, a);
                let fits = divisor > 0 && set.coeff % divisor == 0 && self.can_prove_greater_equal(store, a, 0);
                fits.then(|| store.prim_int(set.base % divisor, store.prim_dtype(b)))
            }
            Hook::FmodBySet => {
                let divisor = store.as_prim_int(b).filter(|divisor| *divisor > 0)?;
                let set = self.modular_set(store, a);
                if set.coeff % divisor == 0 {
                    return Some(store.prim_int(set.base.rem_euclid(divisor), store.prim_dtype(b)));
                }
                let bound = self.const_int_bound(store, a);
                (bound.min >= 0 && bound.max < divisor).then_some(a)
            }
            Hook::FdivOfMultiple => self.quotient_of_multiple(store, a, b, id, mode),
            Hook::UnsignedFdiv => {
                let divisor = store.as_prim_int(b).filter(|divisor| *divisor > 0)?;
                let bound = self.const_int_bound(store, a);
                (bound.min >= 0 && bound.max < divisor).then(|| constant(store, 0, store.prim_dtype(a)))
            }
            Hook::UnsignedFmod => self.unsigned_rest(store, a, b),
            Hook::MinByBounds | Hook::MaxByBounds => {
                let (x, y) = (self.const_int_bound(store, a), self.const_int_bound(store, b));
                let (x, y) = if hook == Hook::MinByBounds { (x, y) } else { (negated(x), negated(y)) };
                match () {
                    () if x.max <= y.min => Some(a),
                    () if y.max <= x.min => Some(b),
                    () => None,
                }
            }
            Hook::EqByComparing => match self.compare(store, a, b, mode) {
                Comparison::EQ => Some(truth(store, id, true)),
                Comparison::NE | Comparison::GT | Comparison::LT => Some(truth(store, id, false)),
                _ => None,
            },
            Hook::LtByComparing => match self.compare(store, a, b, mode) {
                Comparison::LT => Some(truth(store, id, true)),
                Comparison::EQ | Comparison::GT | Comparison::GE => Some(truth(store, id, false)),
                _ => None,
            },
            Hook::LtOfOffsets => self.less_of_offsets(store, a, b, mode),
            Hook::LtOfMultiples => {
                let (x, y) = (self.modular_set(store, a), self.modular_set(store, b));
                let common = gcd(gcd(x.base, x.coeff), gcd(y.base, y.coeff));
                if common <= 1 {
                    return None;
                }
                let [x, y] = [a, b].map(|side| {
                    let common = constant(store, common, store.prim_dtype(side));
                    folded(store, PrimOp::FloorDiv, side, common)
                });
                let less = binary(store, PrimOp::Lt, x, y);
                Some(self.again(store, less, mode))
            }
        }
    }

    /// Simplifies `ramp(b, c1, n) // broadcast(c2, n)`.
    fn ramp_divided(&mut self, store: &mut Store, op: PrimOp, a: PrimId, b: PrimId) -> Option<PrimId> {
        let Parts { base, stride, step, divisor, by, lanes } = parts(store, a, b)?;
        let quotient = |store: &mut Store, x| folded(store, op, x, divisor);
        if step % by == 0 {
            let (base, stride) = (quotient(store, base), quotient(store, stride));
            return Some(store.prim(PrimExpr::Ramp { base, stride, lanes }));
        }
        if is_scalable(lanes) || (op == PrimOp::Div && !self.can_prove_greater_equal(store, base, 0)) {
            return None;
        }
        // All lanes have one quotient.
        let set = self.modular_set(store, base);
        let last = set.base.wrapping_add((i64::from(lanes) - 1).wrapping_mul(step));
        let same = op.fold(set.base, by) == op.fold(last, by);
        let inside = op == PrimOp::FloorDiv && set.coeff != 0 && by % set.coeff == 0 && last < set.coeff;
        if !same || !(set.coeff % by == 0 || inside) {
            return None;
        }
        let value = quotient(store, base);
        Some(store.prim(PrimExpr::Broadcast { value, lanes }))
    }

    /// Simplifies `ramp(b, c1, n) % broadcast(c2, n)`.
    fn ramp_rest(&mut self, store: &mut Store, op: PrimOp, a: PrimId, b: PrimId) -> Option<PrimId> {
        let Parts { base, stride, step, divisor, by, lanes } = parts(store, a, b)?;
        if step % by == 0 {
            let value = folded(store, op, base, divisor);
            return Some(store.prim(PrimExpr::Broadcast { value, lanes }));
        }
        if op == PrimOp::Mod && !self.can_prove_greater_equal(store, base, 0) {
            return None;
        }
        let set = self.modular_set(store, base);
        let last = set.base.wrapping_add((i64::from(lanes) - 1).wrapping_mul(step));
        let div = if op == PrimOp::Mod { PrimOp::Div } else { PrimOp::FloorDiv };
        let same = !is_scalable(lanes) && div.fold(set.base, by) == div.fold(last, by);
        let divides = set.coeff % by == 0;
        if same && !divides && op == PrimOp::FloorMod && set.coeff != 0 && by % set.coeff == 0 && last < set.coeff {
            let base = folded(store, op, base, divisor);
            return Some(store.prim(PrimExpr::Ramp { base, stride, lanes }));
        }
        if !divides {
            return None;
        }
        let base = store.prim_int(op.fold(set.base, by)?, store.prim_dtype(divisor));
        let ramp = store.prim(PrimExpr::Ramp { base, stride, lanes });
        Some(if same { ramp } else { folded(store, op, ramp, b) })
    }

    /// Rewrites `(x * c1 + y) // c2`: takes out multiples of `c2`, or a common factor of both.
    fn quotient_of_multiple(&mut self, store: &mut Store, a: PrimId, b: PrimId, id: PrimId, mode: Mode) -> Option<PrimId> {
        let c2 = store.as_prim_int(b)?;
        let multiple = |id: PrimId| match *store.prim_of_id(id) {
            PrimExpr::Binary { op: PrimOp::Mul, a, b } => Some((a, b, store.as_prim_int(b)?)),
            _ => None,
        };
        let ((x, factor, c1), y) = match *store.prim_of_id(a) {
            PrimExpr::Binary { op: PrimOp::Add, a: left, b: right } => match (multiple(left), multiple(right)) {
                (Some(found), _) => (found, Some(right)),
                (None, Some(found)) => (found, Some(left)),
                (None, None) => return None,
            },
            _ => (multiple(a)?, None),
        };
        if c2 == 0 {
            return Some(id);
        }
        let zero = store.prim_int(0, store.prim_dtype(a));
        let y = y.unwrap_or(zero);
        let (rest_of_factor, rest) = (folded(store, PrimOp::FloorMod, factor, b), folded(store, PrimOp::FloorMod, y, b));
        let product = folded(store, PrimOp::Mul, x, rest_of_factor);
        let sum = folded(store, PrimOp::Add, product, rest);
        let residue = folded(store, PrimOp::FloorDiv, sum, b);
        let whole = folded(store, PrimOp::FloorDiv, y, b);
        let whole = if self.is_zero(store, whole, mode) { zero } else { whole };
        let bound = self.const_int_bound(store, residue);
        if bound.min == bound.max {
            let number = store.prim_int(bound.max, store.prim_dtype(a));
            let quotient = folded(store, PrimOp::FloorDiv, factor, b);
            let product = folded(store, PrimOp::Mul, x, quotient);
            let sum = folded(store, PrimOp::Add, whole, number);
            return Some(folded(store, PrimOp::Add, product, sum));
        }
        if c1 > 0 && c2 > 0 && c2 % c1 == 0 && self.can_prove_less(store, rest, c1) {
            let divisor = store.prim_int(c2 / c1, store.prim_dtype(b));
            let quotient = folded(store, PrimOp::FloorDiv, x, divisor);
            return Some(folded(store, PrimOp::Add, quotient, whole));
        }
        None
    }

    /// Remainders by a power of two, which wrapping around does not change.
    fn unsigned_rest(&mut self, store: &mut Store, a: PrimId, b: PrimId) -> Option<PrimId> {
        let divisor = store.as_prim_int(b).filter(|divisor| *divisor > 0 && divisor & (divisor - 1) == 0)?;
        let dtype = store.prim_dtype(a);
        if dtype.bits < 64 && divisor > 1 << dtype.bits {
            return None;
        }
        if let PrimExpr::Binary { op: PrimOp::Mul, b: factor, .. } = *store.prim_of_id(a)
            && store.as_prim_int(factor).is_some_and(|factor| factor % divisor == 0)
        {
            return Some(constant(store, 0, dtype));
        }
        let set = self.modular_set(store, a);
        (set.coeff % divisor == 0).then(|| store.prim_int(set.base.rem_euclid(divisor), store.prim_dtype(b)))
    }
}

fn is_scalable(lanes: u16) -> bool {
    lanes & DType::SCALABLE != 0
}

/// A ramp of a known step and a number that divides it.
struct Parts {
    base: PrimId,
    stride: PrimId,
    step: i64,
    divisor: PrimId,
    by: i64,
    lanes: u16,
}

fn parts(store: &Store, a: PrimId, b: PrimId) -> Option<Parts> {
    let PrimExpr::Ramp { base, stride, lanes } = *store.prim_of_id(a) else { return None };
    let PrimExpr::Broadcast { value: divisor, .. } = *store.prim_of_id(b) else { return None };
    let (step, by) = (store.as_prim_int(stride)?, store.as_prim_int(divisor)?);
    (by != 0).then_some(Parts { base, stride, step, divisor, by, lanes })
}

fn negated(bound: Bound) -> Bound {
    Bound { min: bound.max.saturating_neg(), max: bound.min.saturating_neg() }
}
