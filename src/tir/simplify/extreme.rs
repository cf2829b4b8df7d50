//! The least and the greatest in sums (rules of `Sub`, `Min` and `Max` in `src/arith/rewrite_simplify.cc`).

use super::{INF, Simplifier, Sum, Term};
use crate::ir::{DType, PrimExpr, PrimId, PrimOp};
use crate::tir::build::binary;

impl Simplifier<'_> {
    /// Rewrites `min(x + y, z) - x` to `min(y, z - x)`, and likewise for `max`.
    pub(super) fn within_extreme(&mut self, mut sum: Sum, dtype: DType) -> Option<Sum> {
        let extreme = |term: &Term| match *self.store.prim_of_id(term.index) {
            PrimExpr::Binary { op: op @ (PrimOp::Min | PrimOp::Max), a, b }
                if term.scale == 1 && term.upper == INF && term.lower == 1 =>
            {
                Some((op, a, b))
            }
            _ => None,
        };
        // `max(x - 1, 0) + 1`
        if let ([only], true) = (&sum.terms[..], sum.base > 0)
            && let Some((op, a, b)) = extreme(only)
        {
            let (mut x, mut y) = (self.sum(a), self.sum(b));
            if [&x, &y].iter().any(|side| !side.terms.is_empty() && side.base.checked_add(sum.base) == Some(0)) {
                (x.base, y.base) = (x.base.checked_add(sum.base)?, y.base.checked_add(sum.base)?);
                let (x, y) = (self.write(x, dtype), self.write(y, dtype));
                let index = self.compared(op, x, y);
                return Some(self.sum(index));
            }
        }
        for place in 0..sum.terms.len() {
            if let Some((op, a, b)) = extreme(&Term { scale: -sum.terms[place].scale, ..sum.terms[place].clone() })
                && let Some(other) = sum.terms.iter().position(|term| self.is_plain(term, a) || self.is_plain(term, b))
            {
                // Subtracts a minimum or maximum from one of its operands.
                let zero = self.store.prim_int(0, dtype);
                let whole = sum.terms[other].index;
                let op = if op == PrimOp::Min { PrimOp::Max } else { PrimOp::Min };
                let rest = if whole == a { b } else { a };
                let rest = self.plus(whole, rest, -1)?;
                let rest = self.write(rest, dtype);
                let (p, q) = if whole == a { (zero, rest) } else { (rest, zero) };
                let index = self.compared(op, p, q);
                (sum.terms[place].scale, sum.terms[other].scale) = (0, 0);
                sum.terms.retain(|term| term.scale != 0);
                let found = self.sum(index);
                found.terms.iter().for_each(|term| sum.add(term, 1));
                sum.base = sum.base.checked_add(found.base)?;
                return Some(sum);
            }
            let Some((op, a, b)) = extreme(&sum.terms[place]) else { continue };
            let sides = [self.sum(a), self.sum(b)];
            let fits = |taken: &Term| {
                sides.iter().any(|side| {
                    let same = |term: &Term| {
                        (term.index, term.lower, term.upper, term.scale) == (taken.index, taken.lower, taken.upper, -taken.scale)
                    };
                    side.terms.iter().any(same)
                })
            };
            let pair = sum.terms.len() == 2;
            let taken = sum.terms.iter().position(|term| (term.scale == -1 || pair && term.scale < 0) && fits(term));
            let Some(taken) = taken else { continue };
            let term = sum.terms[taken].clone();
            let mut operands = Vec::new();
            for mut side in sides {
                side.add(&term, 1);
                operands.push(self.write(side, dtype));
            }
            let index = self.compared(op, operands[0], operands[1]);
            sum.terms[place].scale = 0;
            sum.terms[taken].scale = 0;
            sum.terms.retain(|term| term.scale != 0);
            let extreme = self.sum(index);
            extreme.terms.iter().for_each(|term| sum.add(term, 1));
            sum.base = sum.base.checked_add(extreme.base)?;
            return Some(sum);
        }
        Some(sum)
    }

    /// True if a term is a plain expression.
    fn is_plain(&self, term: &Term, id: PrimId) -> bool {
        (term.index, term.lower, term.upper, term.scale) == (id, 1, INF, 1)
    }

    /// Rewrites `min(x * 2, 8)` to `min(x, 4) * 2`; a negative factor exchanges minimum and maximum.
    pub(super) fn scaled_extreme(&mut self, op: PrimOp, a: PrimId, b: PrimId) -> Option<PrimId> {
        let dtype = self.store.prim_dtype(a);
        let (x, y) = (self.sum(a), self.sum(b));
        // Of several terms, as of `(x - y) * 2 - 2`, the number has to be that factor.
        let common = |sum: &Sum| {
            let scale = sum.terms.first().map_or(0, |term| term.scale.saturating_abs());
            let same = sum.terms.iter().all(|term| term.scale.saturating_abs() == scale);
            if same && (sum.base == 0 || sum.base.saturating_abs() == scale) { scale } else { 0 }
        };
        let scale = match (&x.terms[..], &y.terms[..]) {
            ([term], []) if x.base == 0 => term.scale,
            ([], [term]) if y.base == 0 => term.scale,
            ([], [term]) => term.scale.abs(),
            ([term], []) => term.scale.abs(),
            (_, []) => common(&x),
            ([], _) => common(&y),
            _ => return None,
        };
        if matches!(scale, 0 | 1 | -1 | i64::MIN) || x.base % scale != 0 || y.base % scale != 0 {
            return None;
        }
        let op = match op {
            PrimOp::Min if scale < 0 => PrimOp::Max,
            PrimOp::Max if scale < 0 => PrimOp::Min,
            op => op,
        };
        let mut divided = |mut sum: Sum| {
            sum.base /= scale;
            sum.terms.iter_mut().for_each(|term| term.scale /= scale);
            self.write(sum, dtype)
        };
        let (a, b) = (divided(x), divided(y));
        let extreme = binary(self.store, op, a, b);
        let scale = self.store.prim_int(scale, dtype);
        Some(binary(self.store, PrimOp::Mul, extreme, scale))
    }
}
