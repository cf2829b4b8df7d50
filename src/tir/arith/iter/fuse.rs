//! Sums of digits as one iterator.

use super::{Level, Mark, Rewriter, Source, Split, Sum};
use crate::ir::sort::sort_by;
use crate::ir::{PrimExpr, PrimId, PrimOp};
use crate::tir::build::binary;
use std::rc::Rc;

impl Rewriter<'_> {
    pub(super) fn mul(&mut self, a: PrimId, b: PrimId) -> PrimId {
        binary(self.store, PrimOp::Mul, a, b)
    }

    /// Makes `a * b` with numbers last (TVM's `MulAndNormalize`).
    pub(super) fn product(&mut self, a: PrimId, b: PrimId) -> PrimId {
        let mut number = 1i64;
        let mut all: Option<PrimId> = None;
        let mut todo = vec![b, a];
        while let Some(factor) = todo.pop() {
            match *self.store.prim_of_id(factor) {
                PrimExpr::Binary { op: PrimOp::Mul, a, b } => todo.extend([b, a]),
                PrimExpr::Int { value, .. } => number = number.wrapping_mul(value),
                _ => all = Some(all.map_or(factor, |all| binary(self.store, PrimOp::Mul, all, factor))),
            }
        }
        let number = self.store.prim_int(number, self.store.prim_dtype(a));
        match all {
            None => number,
            Some(all) => binary(self.store, PrimOp::Mul, all, number),
        }
    }

    fn factors(&self, prim: PrimId) -> usize {
        let mut count = 0;
        let mut todo = vec![prim];
        while let Some(factor) = todo.pop() {
            match *self.store.prim_of_id(factor) {
                PrimExpr::Binary { op: PrimOp::Mul, a, b } => todo.extend([b, a]),
                _ => count += 1,
            }
        }
        count
    }

    /// Returns the digit with the smallest factor among the first `end`, of one source if given.
    fn smallest(&self, sum: &Sum, used: &[bool], source: Option<&Rc<Mark>>, end: usize) -> Option<usize> {
        let open = |at: &usize| !used[*at] && source.is_none_or(|source| Rc::ptr_eq(source, &sum.args[*at].source));
        let mut base: Option<(usize, i64)> = None;
        for at in (0..end).rev().filter(open) {
            let Some(scale) = self.store.as_prim_int(sum.args[at].scale) else { continue };
            let better = match base {
                None => true,
                Some((_, least)) if scale < least => true,
                Some((other, least)) => scale == least && self.is(sum.args[at].extent, 1) && !self.is(sum.args[other].extent, 1),
            };
            if better {
                base = Some((at, scale));
            }
        }
        // Prefers products of fewer symbols; a base stays, because TVM then looks for fewer symbols than none.
        let mut least = 0;
        let mut found = base.map(|(at, _)| at);
        for at in (0..end).rev().filter(open) {
            let size = self.factors(sum.args[at].scale);
            if found.is_none() || size < least {
                (found, least) = (Some(at), size);
            }
        }
        found
    }

    /// Finds a digit with exactly this factor; one of a single value is preferred.
    fn with_scale(&mut self, sum: &Sum, used: &[bool], scale: PrimId, source: Option<&Rc<Mark>>, end: usize) -> Option<usize> {
        let unit = sum.args.iter().position(|split| self.is(split.extent, 1)).unwrap_or(sum.args.len());
        let mut found = None;
        for at in (0..end).rev() {
            let split = &sum.args[at];
            if used[at] || source.is_some_and(|source| !Rc::ptr_eq(source, &split.source)) {
                continue;
            }
            if self.analyzer.can_prove_equal(self.store, split.scale, scale) {
                if self.is(split.extent, 1) {
                    return Some(at);
                }
                found = found.or(Some(at));
                if at <= unit {
                    return found;
                }
            }
        }
        found
    }

    /// Returns the digit with the greatest factor that is not above `scale`.
    fn below_scale(&mut self, sum: &Sum, used: &[bool], scale: PrimId) -> Option<(usize, PrimId)> {
        let mut found: Option<(usize, PrimId)> = None;
        for at in (0..sum.args.len()).rev().filter(|at| !used[*at]) {
            let current = sum.args[at].scale;
            let room = binary(self.store, PrimOp::Sub, scale, current);
            if !self.analyzer.can_prove_greater_equal(self.store, room, 0)
                || !self.analyzer.can_prove_greater_equal(self.store, current, 0)
            {
                continue;
            }
            let better = found.is_none_or(|(_, best)| {
                let difference = binary(self.store, PrimOp::Sub, best, current);
                self.analyzer.can_prove_less(self.store, difference, 0)
            });
            if better {
                found = Some((at, current));
            }
        }
        found
    }

    /// Joins neighbouring digits of one iterator; nothing if no two are of one.
    pub(super) fn combine(&mut self, sum: &Sum) -> Option<Sum> {
        let count = sum.args.len();
        let shared =
            |at: usize| (0..count).filter(|other| Rc::ptr_eq(&sum.args[at].source, &sum.args[*other].source)).count() > 1;
        if !(0..count).any(shared) {
            return None;
        }
        let mut used = vec![false; count];
        let mut found = Vec::new();
        for last in (0..count).rev() {
            while !used[last] {
                if !shared(last) {
                    found.push(sum.args[last].clone());
                    used[last] = true;
                    break;
                }
                let source = sum.args[last].source.clone();
                let at = self.smallest(sum, &used, Some(&source), last + 1)?;
                used[at] = true;
                let mut inner = sum.args[at].clone();
                loop {
                    let scale = self.product(inner.extent, inner.scale);
                    let Some(at) = self.with_scale(sum, &used, scale, Some(&source), last + 1) else { break };
                    let outer = &sum.args[at];
                    let lower = self.product(inner.lower, inner.extent);
                    if !self.analyzer.can_prove_equal(self.store, outer.lower, lower) {
                        break;
                    }
                    used[at] = true;
                    inner.extent = self.product(outer.extent, inner.extent);
                }
                found.push(inner);
            }
        }
        found.reverse();
        Some(Sum { args: found, base: sum.base })
    }

    /// Returns the sum as one iterator with a factor and a base, if each digit continues where the one before ends.
    pub(super) fn fuse(&mut self, sum: &Sum, level: Level, early: bool) -> Option<Sum> {
        let combined = self.combine(sum);
        if early && let Some(combined) = combined.as_ref().filter(|combined| combined.args.len() <= 1) {
            return Some(combined.clone());
        }
        let sum = &combined.unwrap_or_else(|| sum.clone());
        let count = sum.args.len();
        let dtype = self.store.prim_dtype(sum.base);
        let mut used = vec![false; count];
        let first = self.smallest(sum, &used, None, count)?;
        let base_scale = sum.args[first].scale;
        let zero = self.store.prim_int(0, dtype);
        let (mut extra, mut tail, mut expected) = (zero, zero, base_scale);
        let (mut flat, mut grouped) = (Vec::new(), Vec::new());
        let mut done = 0;
        while done < count {
            let exact = match done {
                0 => Some(first),
                _ => self.with_scale(sum, &used, expected, None, count),
            };
            let (at, scale) = match exact {
                Some(at) => (at, expected),
                None if level != Level::Bijective && self.is(base_scale, 1) => self.below_scale(sum, &used, expected)?,
                None => return None,
            };
            // The longest constraint that begins here.
            let mut constraint: Option<Sum> = None;
            for candidate in &self.constrained {
                let begins = candidate.args.last().is_some_and(|digit| digit.same_digit(&sum.args[at]));
                if begins && constraint.as_ref().is_none_or(|other| other.args.len() < candidate.args.len()) {
                    constraint = Some(candidate.clone());
                }
            }
            let extent = match constraint {
                Some(constraint) => {
                    for digit in constraint.args.iter().rev() {
                        let scaled = self.mul(digit.scale, scale);
                        let at = (0..count).find(|at| {
                            !used[*at]
                                && sum.args[*at].same_digit(digit)
                                && self.analyzer.can_prove_equal(self.store, scaled, sum.args[*at].scale)
                        })?;
                        used[at] = true;
                        flat.push(sum.args[at].clone());
                    }
                    let (mark, offset) = self.fused.get(&constraint)?.clone();
                    let factor = binary(self.store, PrimOp::FloorDiv, scale, base_scale);
                    let extent = mark.extent;
                    grouped.push(Split::whole(self.store, mark, factor));
                    let moved = self.mul(offset, scale);
                    extra = binary(self.store, PrimOp::Add, extra, moved);
                    done += constraint.args.len();
                    extent
                }
                None => {
                    used[at] = true;
                    let mut split = sum.args[at].clone();
                    let factor = binary(self.store, PrimOp::FloorDiv, split.scale, base_scale);
                    split.scale = self.analyzer.simplify(self.store, factor);
                    flat.push(split.clone());
                    grouped.push(split);
                    done += 1;
                    sum.args[at].extent
                }
            };
            if exact.is_none() {
                let gap = binary(self.store, PrimOp::Sub, expected, scale);
                tail = binary(self.store, PrimOp::Add, tail, gap);
            }
            expected = self.product(extent, scale);
        }
        flat.reverse();
        grouped.reverse();
        let flat = Sum { args: flat, base: zero };
        let mark = match self.fused.get(&flat).cloned() {
            Some((mark, offset)) => {
                let offset = self.mul(offset, base_scale);
                if !self.analyzer.can_prove_equal(self.store, extra, offset) {
                    return None;
                }
                mark
            }
            None => {
                let structured = Sum { args: grouped, base: zero };
                let extent = binary(self.store, PrimOp::Div, expected, base_scale);
                let extent = binary(self.store, PrimOp::Add, extent, tail);
                let mark = Rc::new(Mark { source: Source::Sum(structured.clone()), extent });
                self.fused.insert(flat.clone(), (mark.clone(), extra));
                self.flat.insert(structured, flat);
                mark
            }
        };
        let base = binary(self.store, PrimOp::Add, sum.base, extra);
        Some(Sum { args: vec![Split::whole(self.store, mark, base_scale)], base })
    }

    /// Returns the sum with its digits in the order of their factors: greater numbers first, then more symbols.
    pub(super) fn normalize_sum(&mut self, sum: Sum) -> Sum {
        if sum.args.is_empty() {
            return sum;
        }
        let sum = self.combine(&sum).unwrap_or(sum);
        let mut items = Vec::new();
        for mut split in sum.args {
            let (mut number, mut symbols) = (1i64, 0usize);
            let dtype = self.store.prim_dtype(split.scale);
            let mut scale = self.store.prim_int(1, dtype);
            let mut todo = vec![split.scale];
            while let Some(factor) = todo.pop() {
                match *self.store.prim_of_id(factor) {
                    PrimExpr::Binary { op: PrimOp::Mul, a, b } => todo.extend([b, a]),
                    PrimExpr::Int { value, .. } => number = number.wrapping_mul(value),
                    _ => {
                        scale = self.mul(scale, factor);
                        symbols += 1;
                    }
                }
            }
            if number != 1 {
                let number = self.store.prim_int(number, dtype);
                scale = self.mul(scale, number);
            }
            split.scale = scale;
            items.push((number, symbols, split));
        }
        sort_by(&mut items, |a, b| (b.0, b.1).cmp(&(a.0, a.1)));
        Sum { args: items.into_iter().map(|(_, _, split)| split).collect(), base: sum.base }
    }
}
