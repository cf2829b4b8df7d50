//! Indices over iterators, divided into those over outer iterators and those over inner ones.

use super::check::Uses;
use super::{Iters, Level, Mark, Source, Split, Sum, convert, detect_iter_map};
use crate::ir::{DType, Id, PrimExpr, PrimId, PrimOp, Store, Symbol};
use crate::tir::arith::Analyzer;
use crate::tir::build::binary;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Indices as `outer * extent of inner + inner` each.
#[derive(Clone, Debug)]
pub struct Division {
    /// For each index the outer and the inner part.
    pub parts: Vec<(Mark, Mark)>,
    /// The condition on the outer iterators.
    pub outer: PrimId,
    /// The condition on the inner ones.
    pub inner: PrimId,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Inner,
    Outer,
    Mixed,
}

#[derive(Clone)]
enum Part {
    Split(Split),
    Sum(Sum),
}

#[derive(Clone)]
struct Parts {
    outer: Part,
    outer_extent: PrimId,
    inner: Part,
    inner_extent: PrimId,
    kind: Kind,
}

struct Divider<'a> {
    store: &'a mut Store,
    analyzer: &'a mut Analyzer,
    uses: Uses,
    inner_iters: &'a [Id<Symbol>],
    splits: FxHashMap<Split, Parts>,
    outer: PrimId,
    inner: PrimId,
}

/// Divides indices over iterators into parts over those that are listed as inner ones and over the others (TVM's
/// `SubspaceDivide`); nothing where that is not possible.
#[expect(clippy::too_many_arguments, reason = "as many as the question has")]
pub fn subspace_divide(
    store: &mut Store,
    analyzer: &mut Analyzer,
    indices: &[PrimId],
    iters: &Iters,
    inner_iters: &[Id<Symbol>],
    predicate: Option<PrimId>,
    level: Level,
    trivial: bool,
) -> Option<Division> {
    let maps = detect_iter_map(store, analyzer, indices, iters, predicate, level, trivial).ok()?.indices;
    let yes = store.prim_int(1, DType::BOOL);
    let zero = store.prim_int(0, DType::I32);
    let uses = Uses::of(&maps);
    let splits = FxHashMap::default();
    let mut divider = Divider { store, analyzer, uses, inner_iters, splits, outer: yes, inner: yes };
    let mut parts = Vec::new();
    for sum in &maps {
        let divided = divider.sum(sum, zero, 0)?;
        parts.push((mark(divided.outer, divided.outer_extent), mark(divided.inner, divided.inner_extent)));
    }
    Some(Division { parts, outer: divider.outer, inner: divider.inner })
}

fn mark(part: Part, extent: PrimId) -> Mark {
    let source = match part {
        Part::Split(split) => Source::Split(split),
        Part::Sum(sum) => Source::Sum(sum),
    };
    Mark { source, extent }
}

impl Divider<'_> {
    fn nothing(&mut self, dtype: DType) -> (Part, PrimId) {
        let (zero, one) = (self.store.prim_int(0, dtype), self.store.prim_int(1, dtype));
        (Part::Sum(Sum::of_base(zero)), one)
    }

    fn all_inner(&mut self, inner: Part, inner_extent: PrimId) -> Parts {
        let (outer, outer_extent) = self.nothing(self.store.prim_dtype(inner_extent));
        Parts { outer, outer_extent, inner, inner_extent, kind: Kind::Inner }
    }

    fn all_outer(&mut self, outer: Part, outer_extent: PrimId) -> Parts {
        let (inner, inner_extent) = self.nothing(self.store.prim_dtype(outer_extent));
        Parts { outer, outer_extent, inner, inner_extent, kind: Kind::Outer }
    }

    fn as_split(&mut self, part: Part, extent: PrimId) -> Split {
        match part {
            Part::Split(split) => split,
            Part::Sum(sum) => {
                let one = self.store.prim_int(1, self.store.prim_dtype(extent));
                Split::whole(self.store, Rc::new(Mark { source: Source::Sum(sum), extent }), one)
            }
        }
    }

    /// Joins digits, the innermost first, into one sum; returns it with its extent.
    fn joined(&mut self, digits: Vec<Split>, base: PrimId) -> (Sum, PrimId) {
        let mut extent = self.store.prim_int(1, self.store.prim_dtype(base));
        let mut args = Vec::new();
        for digit in digits {
            let scale = extent;
            extent = binary(self.store, PrimOp::Mul, extent, digit.extent);
            args.push(Split { scale, ..digit });
        }
        args.reverse();
        (Sum { args, base }, extent)
    }

    fn sum(&mut self, sum: &Sum, extent: PrimId, depth: u16) -> Option<Parts> {
        let dtype = self.store.prim_dtype(sum.base);
        let is_one = |store: &Store, prim| store.as_prim_int(prim) == Some(1);
        if depth > crate::tir::arith::DEEPEST {
            return None;
        }
        match &sum.args[..] {
            [] => {
                let ((outer, outer_extent), one) = (self.nothing(dtype), self.store.prim_int(1, dtype));
                let inner = Part::Sum(sum.clone());
                return Some(Parts { outer, outer_extent, inner, inner_extent: one, kind: Kind::Mixed });
            }
            [only] => {
                if !is_one(self.store, only.scale) {
                    return None;
                }
                let mut parts = self.split(only, depth + 1)?;
                if self.store.as_prim_int(sum.base) != Some(0) {
                    parts.inner = match parts.inner {
                        Part::Split(split) => Part::Sum(Sum { args: vec![split], base: sum.base }),
                        Part::Sum(inner) => {
                            let base = binary(self.store, PrimOp::Add, inner.base, sum.base);
                            Part::Sum(Sum { base, ..inner })
                        }
                    };
                }
                return Some(parts);
            }
            _ => {}
        }
        let mut whole = self.store.prim_int(1, dtype);
        let (mut outer, mut inner) = (Vec::new(), Vec::new());
        let mut unit = false;
        for split in sum.args.iter().rev() {
            unit |= is_one(self.store, split.scale);
            let parts = self.split(split, depth + 1)?;
            let digit = match parts.kind {
                Kind::Inner if outer.is_empty() => {
                    let digit = self.as_split(parts.inner, parts.inner_extent);
                    inner.push(digit.clone());
                    digit
                }
                Kind::Outer => {
                    let digit = self.as_split(parts.outer, parts.outer_extent);
                    outer.push(digit.clone());
                    digit
                }
                _ => return None,
            };
            whole = binary(self.store, PrimOp::Mul, whole, digit.extent);
        }
        if !unit {
            return None;
        }
        let restricted = !self.analyzer.can_prove_equal(self.store, whole, extent);
        let zero = self.store.prim_int(0, dtype);
        let (no_outer, no_inner) = (outer.is_empty(), inner.is_empty());
        let (outer, outer_extent) = self.joined(outer, zero);
        let (inner, inner_extent) = self.joined(inner, sum.base);
        if !restricted {
            let (outer, inner) = (Part::Sum(outer), Part::Sum(inner));
            return Some(Parts { outer, outer_extent, inner, inner_extent, kind: Kind::Mixed });
        }
        let of = if no_inner { &outer } else { &inner };
        let index = convert::sum_to_prim(self.store, self.analyzer, of);
        let within = binary(self.store, PrimOp::Lt, index, extent);
        if no_inner {
            self.outer = binary(self.store, PrimOp::And, self.outer, within);
            return Some(self.all_outer(Part::Sum(outer), extent));
        }
        if !no_outer {
            return None;
        }
        self.inner = binary(self.store, PrimOp::And, self.inner, within);
        Some(self.all_inner(Part::Sum(inner), extent))
    }

    fn split(&mut self, split: &Split, depth: u16) -> Option<Parts> {
        if let Some(known) = self.splits.get(split) {
            return Some(known.clone());
        }
        let all = self.uses.get(&split.source).to_vec();
        match &split.source.source {
            Source::Prim(prim) => {
                let PrimExpr::Var(symbol) = *self.store.prim_of_id(*prim) else { return None };
                let is_inner = self.inner_iters.contains(&symbol);
                for digit in all {
                    let (part, extent) = (Part::Split(digit.clone()), digit.extent);
                    let parts = if is_inner { self.all_inner(part, extent) } else { self.all_outer(part, extent) };
                    self.splits.entry(digit).or_insert(parts);
                }
            }
            Source::Split(_) => return None,
            Source::Sum(sum) => {
                let divided = self.sum(sum, split.source.extent, depth + 1)?;
                if all.len() == 1 {
                    return Some(divided);
                }
                self.digits(split, &all, divided)?;
            }
        }
        self.splits.get(split).cloned()
    }

    /// Finds between which digits of an iterator its outer part begins.
    fn digits(&mut self, split: &Split, all: &[Split], divided: Parts) -> Option<()> {
        let (outer_extent, inner_extent) = (divided.outer_extent, divided.inner_extent);
        let outer_mark = Rc::new(mark(divided.outer, outer_extent));
        let inner_mark = Rc::new(mark(divided.inner, inner_extent));
        let mut boundary = divided.kind == Kind::Outer;
        let mut used = vec![false; all.len()];
        let (mut outer, mut inner) = (Vec::new(), Vec::new());
        let mut lower = self.store.prim_int(1, self.store.prim_dtype(split.lower));
        for _ in 0..all.len() {
            let at = (0..all.len()).find(|at| !used[*at] && self.analyzer.can_prove_equal(self.store, all[*at].lower, lower))?;
            used[at] = true;
            if boundary { &mut outer } else { &mut inner }.push(all[at].clone());
            lower = binary(self.store, PrimOp::Mul, lower, all[at].extent);
            boundary |= self.analyzer.can_prove_equal(self.store, lower, inner_extent);
        }
        if !boundary {
            return None;
        }
        for digit in inner {
            let new = Split { source: inner_mark.clone(), ..digit.clone() };
            let parts = self.all_inner(Part::Split(new), digit.extent);
            self.splits.entry(digit).or_insert(parts);
        }
        let first = outer.first().map(|digit| digit.lower);
        for digit in outer {
            let lower = binary(self.store, PrimOp::FloorDiv, digit.lower, first?);
            let new = Split { source: outer_mark.clone(), lower, ..digit.clone() };
            let parts = self.all_outer(Part::Split(new), digit.extent);
            self.splits.entry(digit).or_insert(parts);
        }
        Some(())
    }
}
