//! Rewrites quotients and remainders of digits. If a divisor does not divide the number of values evenly, the iterator
//! is padded on both sides, the same for all its digits.

use super::{Mark, Reason, Rewriter, Source, Split, Sum, Value, convert};
use crate::ir::{DType, PrimExpr, PrimId, PrimOp};
use crate::tir::build::{binary, negate};
use crate::tir::math::ceil_div;
use std::rc::Rc;

const UNSCALED: &str = "Cannot represent as IterMap: the numerator's scaling factor, {} and the divisor {} cannot be \
                        simplified to remove the scaling factor.";
const UNSCALED_REST: &str = "Cannot represent as IterMap: the left-hand side of FloorMod has a scaling factor, {} and the \
                             right-hand {} cannot be used to simplify out the scaling factor.";
const INCOMPATIBLE: &str = "Detect incompatible left padding on {}, the iter mark is left padded with {}";

/// The padding of an iterator.
#[derive(Clone, Debug)]
pub(super) struct Padding {
    /// A divisor of the padded length.
    factor: PrimId,
    left: PrimId,
    /// The longer iterator.
    padded: Option<Rc<Mark>>,
}

impl Rewriter<'_> {
    fn op(&mut self, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
        binary(self.store, op, a, b)
    }

    pub(super) fn divides(&mut self, dividend: PrimId, divisor: PrimId) -> bool {
        match (self.store.as_prim_int(dividend), self.store.as_prim_int(divisor)) {
            (_, Some(0)) => return false,
            (Some(a), Some(b)) => return a.checked_rem(b) == Some(0),
            _ => {}
        }
        if self.analyzer.can_prove_equal(self.store, dividend, divisor) {
            return true;
        }
        let rest = self.op(PrimOp::FloorMod, dividend, divisor);
        let zero = self.store.prim_int(0, DType::I32);
        let even = self.op(PrimOp::Eq, rest, zero);
        self.analyzer.can_prove(self.store, even)
    }

    /// Rewrites `(split + base) // divisor`.
    pub(super) fn quotient(&mut self, mut split: Split, mut base: PrimId, mut divisor: PrimId) -> Option<Value> {
        if self.is(divisor, 1) {
            return Some(if self.is(base, 0) { Value::Split(split) } else { Value::Sum(Sum { args: vec![split], base }) });
        }
        if !self.is(split.scale, 1) {
            let no_base = self.is(base, 0);
            if self.divides(split.scale, divisor) && no_base {
                split.scale = self.op(PrimOp::FloorDiv, split.scale, divisor);
                return Some(Value::Split(split));
            }
            if self.divides(split.scale, divisor) && self.divides(base, divisor) {
                split.scale = self.op(PrimOp::FloorDiv, split.scale, divisor);
                let base = self.op(PrimOp::FloorDiv, base, divisor);
                return Some(Value::Sum(Sum { args: vec![split], base }));
            }
            if self.divides(divisor, split.scale) && (no_base || self.divides(base, split.scale)) {
                if !no_base {
                    base = self.op(PrimOp::FloorDiv, base, split.scale);
                }
                divisor = self.op(PrimOp::FloorDiv, divisor, split.scale);
                split.scale = self.store.prim_int(1, self.store.prim_dtype(divisor));
            } else {
                self.errors.push(Reason::about(UNSCALED, &[split.scale, divisor]));
                return None;
            }
        }
        let (padded, left) = self.pad(split, base, divisor)?;
        let one = self.store.prim_int(1, self.store.prim_dtype(divisor));
        let new = if self.divides(padded.extent, divisor) {
            let lower = self.mul(padded.lower, divisor);
            let extent = self.op(PrimOp::FloorDiv, padded.extent, divisor);
            Split { lower, extent: self.analyzer.simplify(self.store, extent), ..padded }
        } else {
            let extent = ceil_div(self.store, padded.extent, divisor);
            let extent = self.analyzer.simplify(self.store, extent);
            let whole =
                self.is(padded.lower, 1) && self.analyzer.can_prove_equal(self.store, padded.extent, padded.source.extent);
            match whole {
                true => Split { lower: divisor, extent, ..padded },
                false => {
                    let source = Rc::new(Mark { extent: padded.extent, source: Source::Split(padded) });
                    Split { source, lower: divisor, extent, scale: one }
                }
            }
        };
        let moved = self.op(PrimOp::Sub, base, left);
        let moved = self.op(PrimOp::FloorDiv, moved, divisor);
        let base = self.analyzer.simplify_steps(self.store, moved, 6);
        Some(if self.is(base, 0) { Value::Split(new) } else { Value::Sum(Sum { args: vec![new], base }) })
    }

    /// Rewrites `(split + base) % divisor`.
    pub(super) fn remainder(&mut self, split: Split, mut base: PrimId, mut divisor: PrimId) -> Option<Value> {
        let zero = self.store.prim_int(0, self.store.prim_dtype(split.scale));
        if self.is(divisor, 1) {
            return Some(Value::Prim(zero));
        }
        if !self.is(split.scale, 1) {
            let no_base = self.is(base, 0);
            if self.divides(split.scale, divisor) && self.divides(base, divisor) {
                return Some(Value::Prim(zero));
            }
            if self.divides(divisor, split.scale) && (no_base || self.divides(base, split.scale)) {
                divisor = self.op(PrimOp::FloorDiv, divisor, split.scale);
                if !no_base {
                    base = self.op(PrimOp::FloorDiv, base, split.scale);
                }
            } else {
                self.errors.push(Reason::about(UNSCALED_REST, &[split.scale, divisor]));
                return None;
            }
        }
        let (padded, _) = self.pad(split, base, divisor)?;
        Some(Value::Split(Split { extent: divisor, ..padded }))
    }

    /// Returns the digit of an iterator that is padded to the divisor, and the padding before it.
    fn pad(&mut self, mut split: Split, base: PrimId, divisor: PrimId) -> Option<(Split, PrimId)> {
        let left = self.op(PrimOp::FloorMod, base, divisor);
        let mut left = self.analyzer.simplify(self.store, left);
        let edge = self.op(PrimOp::Add, left, split.extent);
        let zero = self.store.prim_int(0, DType::I32);
        let right = match self.divides(edge, divisor) {
            true => zero,
            false => {
                let opposite = negate(self.store, edge);
                let right = self.op(PrimOp::FloorMod, opposite, divisor);
                self.analyzer.simplify(self.store, right)
            }
        };
        let mark = split.source.clone();
        if self.updates_padding {
            let one = self.store.prim_int(1, DType::I32);
            let info = self.padded.get(&*mark).cloned();
            let mut info = info.unwrap_or(Padding { factor: one, left: zero, padded: None });
            let factor = self.mul(divisor, split.lower);
            info.factor = self.common_multiple(info.factor, factor);
            let needed = !self.is(left, 0) || !self.is(right, 0);
            if needed {
                let of_mark = self.mul(left, split.lower);
                info.left = self.op(PrimOp::Max, info.left, of_mark);
            }
            self.padded.insert((*mark).clone(), info);
            if !needed {
                return Some((split, zero));
            }
            self.requires_padding = true;
            let extent = self.op(PrimOp::Add, left, split.extent);
            let extent = self.op(PrimOp::Add, extent, right);
            split.extent = self.analyzer.simplify(self.store, extent);
            return Some((split, left));
        }
        let Some(mut info) = self.padded.get(&*mark).cloned() else { return Some((split, left)) };
        if self.is(info.left, 0) && self.divides(mark.extent, info.factor) {
            return Some((split, left));
        }
        if !self.divides(info.factor, split.lower) || !self.divides(info.factor, divisor) {
            self.fail("The padding factor is not divisible by the divisor of a split");
            return None;
        }
        if info.padded.is_none() {
            if !self.divides(info.left, split.lower) {
                let digit = convert::digit_to_prim(self.store, self.analyzer, &split);
                self.errors.push(Reason::about(INCOMPATIBLE, &[digit, info.left]));
                return None;
            }
            left = self.op(PrimOp::FloorDiv, info.left, split.lower);
            info.padded = Some(self.padded_mark(&mark, &info));
            self.padded.insert((*mark).clone(), info.clone());
        }
        let padded = info.padded?;
        split.extent = self.op(PrimOp::FloorDiv, padded.extent, split.lower);
        split.source = padded;
        Some((split, left))
    }

    /// Returns the longer iterator; which of its iterations were added is noted.
    fn padded_mark(&mut self, mark: &Rc<Mark>, info: &Padding) -> Rc<Mark> {
        let zero = self.store.prim_int(0, DType::I32);
        let edge = self.op(PrimOp::Add, mark.extent, info.left);
        let right = match self.divides(edge, info.factor) {
            true => zero,
            false => {
                let opposite = negate(self.store, edge);
                self.op(PrimOp::FloorMod, opposite, info.factor)
            }
        };
        let extent = self.op(PrimOp::Add, edge, right);
        let extent = self.analyzer.simplify(self.store, extent);
        let one = self.store.prim_int(1, self.store.prim_dtype(mark.extent));
        let inner = Split::whole(self.store, mark.clone(), one);
        let source = Sum { args: vec![inner], base: info.left };
        let index = convert::sum_to_prim(self.store, self.analyzer, &source);
        let padded = Rc::new(Mark { source: Source::Sum(source), extent });
        self.padded_origin.insert((*padded).clone(), mark.clone());

        let (block, place) = (self.op(PrimOp::FloorDiv, index, info.factor), self.op(PrimOp::FloorMod, index, info.factor));
        let has_left = self.op(PrimOp::Ne, info.left, zero);
        let first = self.op(PrimOp::Eq, block, zero);
        let before = self.op(PrimOp::Lt, place, info.left);
        let in_left = self.op(PrimOp::And, first, before);
        let in_left = self.op(PrimOp::And, has_left, in_left);
        let has_right = self.op(PrimOp::Ne, right, zero);
        let (edge_block, edge_place) =
            (self.op(PrimOp::FloorDiv, edge, info.factor), self.op(PrimOp::FloorMod, edge, info.factor));
        let last = self.op(PrimOp::Eq, block, edge_block);
        let after = self.op(PrimOp::Ge, place, edge_place);
        let in_right = self.op(PrimOp::And, last, after);
        let in_right = self.op(PrimOp::And, has_right, in_right);
        let either = self.op(PrimOp::Or, in_left, in_right);
        self.padding = self.op(PrimOp::Or, self.padding, either);
        padded
    }

    /// Returns a multiple of both that is not much greater than it has to be.
    fn common_multiple(&mut self, a: PrimId, b: PrimId) -> PrimId {
        let parts = |rewriter: &mut Self, id: PrimId| {
            let one = rewriter.store.prim_int(1, DType::I32);
            match *rewriter.store.prim_of_id(id) {
                PrimExpr::Int { value, .. } => (one, value),
                PrimExpr::Binary { op: PrimOp::Mul, a, b } => {
                    match (rewriter.store.as_prim_int(a), rewriter.store.as_prim_int(b)) {
                        (_, Some(number)) => (a, number),
                        (Some(number), _) => (b, number),
                        _ => (id, 1),
                    }
                }
                _ => (id, 1),
            }
        };
        let ((x, m), (y, n)) = (parts(self, a), parts(self, b));
        let gcd = crate::tir::arith::modular::gcd(m, n).max(1);
        let lcm = self.store.prim_int((m / gcd).wrapping_mul(n), DType::I32);
        if self.analyzer.can_prove_equal(self.store, x, y) {
            return self.mul(x, lcm);
        }
        let is_multiple = |rewriter: &mut Self, of: PrimId, by: PrimId| {
            let rest = rewriter.op(PrimOp::FloorMod, of, by);
            let zero = rewriter.store.prim_int(0, DType::I32);
            rewriter.analyzer.can_prove_equal(rewriter.store, rest, zero)
        };
        let symbols = match () {
            () if is_multiple(self, x, y) => x,
            () if is_multiple(self, y, x) => y,
            () => self.mul(x, y),
        };
        self.mul(symbols, lcm)
    }
}
