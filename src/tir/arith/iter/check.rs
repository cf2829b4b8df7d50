//! Checks that indices that are sums of digits are independent of each other.

use super::{Level, Mark, Rewriter, Source, Split, Sum};
use crate::ir::PrimOp;
use crate::tir::build::binary;
use std::rc::Rc;

const UNEVEN: &str = "The lower factor is not divisible by the full iter space extent";
const NOT_SURJECTIVE: &str =
    "Split on padding iteration is not surjective if the split extent equals to the full iter space extent";

/// Iterators with the digits of theirs that are used.
#[derive(Default)]
pub(super) struct Uses(pub Vec<(Rc<Mark>, Vec<Split>)>);

impl Uses {
    /// Collects the uses in indices, and in the iterators that they consist of.
    pub fn of(indices: &[Sum]) -> Uses {
        let mut uses = Uses::default();
        for sum in indices {
            uses.sum(sum, 0);
        }
        uses
    }

    fn sum(&mut self, sum: &Sum, depth: u16) {
        for split in &sum.args {
            let known = self.0.iter().position(|(mark, _)| Rc::ptr_eq(mark, &split.source));
            let at = known.unwrap_or(self.0.len());
            if known.is_none() {
                self.0.push((split.source.clone(), Vec::new()));
                if let Source::Sum(inner) = &split.source.source
                    && depth < crate::tir::arith::DEEPEST
                {
                    self.sum(inner, depth + 1);
                }
            }
            self.0[at].1.push(split.clone());
        }
    }

    /// Returns the digits of an iterator.
    pub fn get(&self, mark: &Rc<Mark>) -> &[Split] {
        self.0.iter().find(|(other, _)| Rc::ptr_eq(other, mark)).map_or(&[], |(_, splits)| splits)
    }
}

impl Rewriter<'_> {
    /// True if the digits of each iterator do not overlap and, as the level demands, cover it.
    pub(super) fn check(&mut self, indices: &[Sum], level: Level) -> bool {
        let uses = Uses::of(indices);
        if !uses.0.iter().all(|(mark, splits)| self.are_digits(mark, splits, level)) {
            return false;
        }
        level != Level::Bijective
            || self.inputs.iter().all(|mark| self.is(mark.extent, 1) || uses.0.iter().any(|(other, _)| Rc::ptr_eq(other, mark)))
    }

    fn are_digits(&mut self, mark: &Rc<Mark>, splits: &[Split], level: Level) -> bool {
        let mut used = vec![false; splits.len()];
        let mut covered = self.store.prim_int(1, self.store.prim_dtype(mark.extent));
        for _ in 0..splits.len() {
            let next =
                (0..splits.len()).find(|at| !used[*at] && self.analyzer.can_prove_equal(self.store, splits[*at].lower, covered));
            let at = match next {
                Some(at) => at,
                None if level == Level::Bijective => return false,
                None => match self.next_above(splits, &used, covered) {
                    Some(at) => at,
                    None => return false,
                },
            };
            used[at] = true;
            covered = self.mul(splits[at].lower, splits[at].extent);
        }
        let origin = self.padded_origin.get(&**mark).cloned();
        let full = self.analyzer.can_prove_equal(self.store, covered, mark.extent);
        let even = full || self.divides(mark.extent, covered);
        let Some(origin) = origin else {
            return match level {
                Level::Bijective => self.unless(!full, "The iterations do not traverse full iter space"),
                _ => self.unless(!even, UNEVEN),
            };
        };
        match level {
            Level::Bijective => self.unless(true, "Bijectvie mapping should not take iter paddings"),
            Level::NoCheck => true,
            Level::Surjective => {
                let enough = binary(self.store, PrimOp::Ge, origin.extent, covered);
                let enough = self.analyzer.can_prove(self.store, enough);
                match full {
                    true if splits.len() != 1 => self.unless(true, "Dependent iterations on padding iter space"),
                    true => {
                        let uncovered = !enough && self.analyzer.can_prove_equal(self.store, splits[0].extent, covered);
                        self.unless(uncovered, NOT_SURJECTIVE)
                    }
                    false if even => self.unless(!enough, "The extent before padding is less than lower factor"),
                    false => self.unless(true, UNEVEN),
                }
            }
        }
    }

    /// Notes a reason if its condition holds; false in that case.
    fn unless(&mut self, fails: bool, reason: &'static str) -> bool {
        if fails {
            self.fail(reason);
        }
        !fails
    }

    /// Returns the digit with the smallest divisor that is a multiple of the covered part.
    fn next_above(&mut self, splits: &[Split], used: &[bool], covered: crate::ir::PrimId) -> Option<usize> {
        let mut found: Option<usize> = None;
        for at in (0..splits.len()).filter(|at| !used[*at]) {
            if !self.divides(splits[at].lower, covered) {
                return None;
            }
            if found.is_none_or(|other| self.divides(splits[other].lower, splits[at].lower)) {
                found = Some(at);
            }
        }
        found
    }
}
