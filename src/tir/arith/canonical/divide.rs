//! Quotients and remainders of sums.

use super::{Canon, INF, Rounding, Split, Sum, factors, folded, product};
use crate::ir::{PrimId, PrimOp, Store};
use crate::tir::arith::modular::gcd;
use crate::tir::arith::{Analyzer, Comparison, Mode};
use crate::tir::build::binary;

/// A division with a symbolic divisor, reduced: dividend, divisor, and the common factor.
struct Reduced {
    dividend: PrimId,
    divisor: PrimId,
    common: PrimId,
}

impl Analyzer {
    /// Simplifies `a / b` or `a // b`.
    pub(super) fn canonical_quotient(&mut self, store: &mut Store, op: PrimOp, a: PrimId, b: PrimId) -> Canon {
        let (a, b) = (self.canonical(store, a), self.canonical(store, b));
        if let Some(result) = folded(store, op, &a, &b) {
            return (*result).clone();
        }
        let rounding = if op == PrimOp::Div { Rounding::Zero } else { Rounding::Down };
        let Some(divisor) = b.int(store).filter(|divisor| *divisor > 0) else {
            let (a, b) = (a.normal(store), b.normal(store));
            return Canon::Expr(match reduced(store, a, b) {
                Some(Reduced { dividend, divisor, .. }) => binary(store, op, dividend, divisor),
                None => store.prim_binary(op, a, b),
            });
        };
        match &*a {
            Canon::Sum(sum) => {
                if let Some(quotient) = self.sum_divided(store, sum, divisor, rounding) {
                    return Canon::Sum(quotient);
                }
            }
            _ => {
                let whole = a.normal(store);
                let bound = self.const_int_bound(store, whole);
                if bound.min >= 0 && bound.max < divisor {
                    return Canon::Expr(store.prim_int(0, store.prim_dtype(whole)));
                }
            }
        }
        if let (Canon::Split(split), Rounding::Down) = (&*a, rounding)
            && let Some(result) = self.quotient_of_remainder(store, split, divisor)
        {
            return Canon::Expr(result);
        }
        let split = a.to_split(store);
        Canon::Split(self.split_divided(store, split, divisor, rounding))
    }

    /// Divides a sum: takes the divisible part out first. Rounding towards zero requires both parts to be natural.
    fn sum_divided(&mut self, store: &mut Store, sum: &Sum, divisor: i64, rounding: Rounding) -> Option<Sum> {
        let (mut whole, rest) = sum.separate(divisor);
        if rest.is_zero() {
            whole.divide(divisor);
            return Some(whole);
        }
        let extra = rest.normal(store);
        if rounding == Rounding::Zero {
            let normal = whole.normal(store);
            if !(self.can_prove_greater_equal(store, normal, 0) && self.can_prove_greater_equal(store, extra, 0)) {
                return None;
            }
        }
        whole.divide(divisor);
        if let Some(number) = store.as_prim_int(extra) {
            whole.base = whole.base.wrapping_add(rounding.quotient().fold(number, divisor)?);
            return Some(whole);
        }
        // A part smaller than the divisor does not count.
        let small = self.compare_number(store, extra, divisor, Mode::Canonical) == Comparison::LT
            && (rounding == Rounding::Zero || self.can_prove_greater_equal(store, extra, 0));
        if !small {
            let split = Split::whole(store, extra);
            whole.add(self.split_divided(store, split, divisor, rounding), 1);
        }
        Some(whole)
    }

    /// Rewrites `x % (m * n) // n` to `x // n % m`, which pays if `x` has parts that `n` divides.
    fn quotient_of_remainder(&mut self, store: &mut Store, split: &Split, divisor: i64) -> Option<PrimId> {
        let plain = split.lower == 1 && split.scale == 1 && split.rounds(Rounding::Down);
        if !plain || split.upper == INF || split.upper % divisor != 0 {
            return None;
        }
        let raw = self.canonical(store, split.index);
        let Canon::Sum(sum) = &*raw else { return None };
        if sum.separate(divisor).0.is_zero() {
            return None;
        }
        let quotient = self.sum_divided(store, sum, divisor, Rounding::Down)?.normal(store);
        let upper = store.prim_int(split.upper / divisor, split.dtype);
        let result = binary(store, PrimOp::FloorMod, quotient, upper);
        Some(self.visit(store, result, Mode::Canonical))
    }

    /// Returns the same term with this rounding. A term with the other rounding is written out and becomes an index.
    fn rounded(store: &mut Store, split: Split, rounding: Rounding) -> Split {
        let mut split = if split.rounds(rounding) {
            split
        } else {
            let index = split.normal(store, 1);
            Split::whole(store, index)
        };
        split.rounding = rounding;
        split
    }

    /// Returns a term divided by a positive number.
    fn split_divided(&mut self, store: &mut Store, split: Split, divisor: i64, rounding: Rounding) -> Split {
        let mut split = Analyzer::rounded(store, split, rounding);
        if split.scale % divisor == 0 {
            split.scale /= divisor;
            return split;
        }
        if divisor % split.scale == 0 {
            let lower = split.lower.wrapping_mul(divisor / split.scale);
            if split.upper == INF || split.upper.checked_rem(lower) == Some(0) {
                return Split { scale: 1, lower, ..split };
            }
            if split.upper <= lower {
                let zero = store.prim_int(0, split.dtype);
                return Split::whole(store, zero);
            }
            let upper = store.prim_int(split.upper, split.dtype);
            let index = binary(store, rounding.remainder(), split.index, upper);
            return Split { index, upper: INF, scale: 1, lower, ..split };
        }
        let index = split.normal(store, 1);
        Split { lower: divisor, rounding, ..Split::whole(store, index) }
    }

    /// Simplifies `a % b`, rounded either way.
    pub(super) fn canonical_remainder(&mut self, store: &mut Store, op: PrimOp, a: PrimId, b: PrimId) -> Canon {
        let (mut a, b) = (self.canonical(store, a), self.canonical(store, b));
        if let Some(result) = folded(store, op, &a, &b) {
            return (*result).clone();
        }
        let rounding = if op == PrimOp::Mod { Rounding::Zero } else { Rounding::Down };
        let Some(divisor) = b.int(store).filter(|divisor| *divisor > 0) else {
            let (a, b) = (a.normal(store), b.normal(store));
            return Canon::Expr(match reduced(store, a, b) {
                Some(Reduced { dividend, divisor, common }) => {
                    let rest = binary(store, op, dividend, divisor);
                    binary(store, PrimOp::Mul, rest, common)
                }
                None => store.prim_binary(op, a, b),
            });
        };
        let Canon::Sum(sum) = &*a else {
            let whole = a.normal(store);
            let bound = self.const_int_bound(store, whole);
            if bound.min >= 0 && bound.max < divisor {
                return (*a).clone();
            }
            let split = a.to_split(store);
            return Canon::Split(self.split_rest(store, split, divisor, rounding));
        };
        let (whole, rest) = sum.separate(divisor);
        if rounding == Rounding::Zero && rest.is_zero() {
            return Canon::Expr(store.prim_int(0, sum.dtype));
        }
        let extra = rest.normal(store);
        let natural = rounding == Rounding::Down || {
            let whole = whole.normal(store);
            self.can_prove_greater_equal(store, whole, 0) && self.can_prove_greater_equal(store, extra, 0)
        };
        if natural {
            if let Some(number) = store.as_prim_int(extra) {
                let rest = op.fold(number, divisor).unwrap_or(number);
                return Canon::Expr(store.prim_int(rest, store.prim_dtype(extra)));
            }
            if self.compare_number(store, extra, divisor, Mode::Canonical) == Comparison::LT
                && (rounding == Rounding::Zero || self.can_prove_greater_equal(store, extra, 0))
            {
                return Canon::Expr(extra);
            }
            a = std::rc::Rc::new(Canon::Sum(rest));
        }
        let mut sum = a.to_sum(store);
        // A number in the sum is made small: (x - 5) % 3 is (x + 1) % 3.
        if rounding == Rounding::Down {
            sum.base = sum.base.rem_euclid(divisor);
        } else {
            let whole = a.normal(store);
            let least = self.const_int_bound(store, whole).min;
            let base = sum.base % divisor;
            if least >= 0 && least.wrapping_sub(sum.base).wrapping_add(base) >= 0 {
                sum.base = base;
            }
        }
        let split = Canon::Sum(sum).to_split(store);
        Canon::Split(self.split_rest(store, split, divisor, rounding))
    }

    /// Returns the remainder of a term by a positive number.
    fn split_rest(&mut self, store: &mut Store, split: Split, divisor: i64, rounding: Rounding) -> Split {
        let mut split = Analyzer::rounded(store, split, rounding);
        if split.scale % divisor == 0 {
            split.scale = 0;
            return split;
        }
        if divisor % split.scale == 0 {
            // (x % u // l * s) % (d * s) is x % u % (l * d) // l * s
            let upper = split.lower.wrapping_mul(divisor / split.scale);
            if split.upper == INF || split.upper.checked_rem(upper) == Some(0) {
                if upper >= split.upper || split.upper == INF {
                    return Split { upper, ..split };
                }
                // The index may be simpler by the smaller divisor.
                let number = store.prim_int(upper, split.dtype);
                let rest = binary(store, rounding.remainder(), split.index, number);
                let rest = self.visit(store, rest, Mode::Canonical);
                let mut result = Split::whole(store, rest);
                if split.lower != 1 {
                    result = self.split_divided(store, result, split.lower, rounding);
                }
                result.scale = result.scale.wrapping_mul(split.scale);
                return result;
            }
            if upper.checked_rem(split.upper) == Some(0) {
                return split;
            }
        }
        let index = split.normal(store, 1);
        Split { upper: divisor, rounding, ..Split::whole(store, index) }
    }
}

/// Takes out of a dividend and a divisor that is no number the factors that both have.
fn reduced(store: &mut Store, a: PrimId, b: PrimId) -> Option<Reduced> {
    if store.as_prim_int(b).is_some() {
        return None;
    }
    let ((mut dividend, p), (divisor, q)) = (factors(store, &[a]), factors(store, &[b]));
    let (mut left, mut common) = (Vec::new(), Vec::new());
    for factor in divisor {
        match dividend.iter().position(|other| *other == factor) {
            Some(at) => {
                dividend.remove(at);
                common.push(factor);
            }
            None => left.push(factor),
        }
    }
    let scale = gcd(p, q);
    if common.is_empty() && scale == 1 || scale == 0 {
        return None;
    }
    let (a, b) = (store.prim_dtype(a), store.prim_dtype(b));
    Some(Reduced {
        dividend: product(store, &dividend, p / scale, a),
        divisor: product(store, &left, q / scale, b),
        common: product(store, &common, scale, b),
    })
}
