//! Iterators as sums of digits of others (TVM's `src/arith/iter_affine_map.cc`).
//!
//! An index such as `i * 4 + j` over `i < 8` and `j < 4` runs once through `0 .. 32`: it is one iterator again, a
//! [`Mark`]. Its digits are [`Split`]s, `mark // lower % extent * scale`, and an index is a [`Sum`] of digits and a
//! base. For indices of this form, the functions here tell if they are independent ([`detect_iter_map`]), write them in
//! the simplest way ([`simplify_iter_map`]), express the iterators in terms of the indices ([`inverse_iter_map`]), and
//! divide them into outer and inner ones ([`subspace_divide`]).
//!
//! Known divergence: the remainder of a remainder by a greater divisor, `i % 4 % 8`, TVM leaves as it is where we may
//! write it as a digit.

mod check;
mod constraint;
mod convert;
mod divide;
mod fuse;
mod inverse;
mod pad;
mod reason;
mod rewrite;

pub use convert::{digit_to_prim, sum_to_prim};
pub use divide::{Division, subspace_divide};
pub use inverse::inverse_iter_map;
pub use reason::{Failure, Reason};

use super::Analyzer;
use crate::ir::{DType, Id, PrimExpr, PrimId, Store, Symbol};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The definition of an iterator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A variable, or one from which its first value is taken.
    Prim(PrimId),
    /// Digits of others.
    Sum(Sum),
    /// One digit of another.
    Split(Split),
}

/// An iterator that runs from 0 to its extent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Its definition.
    pub source: Source,
    /// The number of its values.
    pub extent: PrimId,
}

/// A digit of an iterator: `source // lower % extent * scale`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Split {
    /// The iterator.
    pub source: Rc<Mark>,
    /// The divisor.
    pub lower: PrimId,
    /// The number of values of the digit.
    pub extent: PrimId,
    /// The factor.
    pub scale: PrimId,
}

/// A sum of digits and a base.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sum {
    /// The digits, the outermost first where they are in order.
    pub args: Vec<Split>,
    /// The added offset.
    pub base: PrimId,
}

impl Split {
    /// Makes a digit of the whole iterator, times `scale`.
    pub fn whole(store: &mut Store, source: Rc<Mark>, scale: PrimId) -> Split {
        let lower = store.prim_int(1, store.prim_dtype(source.extent));
        Split { lower, extent: source.extent, scale, source }
    }

    /// True if both are the same digit, regardless of their factors.
    fn same_digit(&self, other: &Split) -> bool {
        Rc::ptr_eq(&self.source, &other.source) && self.lower == other.lower && self.extent == other.extent
    }
}

impl Sum {
    /// Makes a sum without digits.
    fn of_base(base: PrimId) -> Sum {
        Sum { args: Vec::new(), base }
    }
}

/// The requirement on indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Each value of all indices together is taken exactly once.
    Bijective,
    /// Each is taken at least once.
    Surjective,
    /// Nothing is asked.
    NoCheck,
}

/// Iterators with first value and number of values.
pub type Iters = [(Id<Symbol>, (PrimId, PrimId))];

/// Indices as sums of digits.
#[derive(Clone, Debug)]
pub struct IterMap {
    /// Each index.
    pub indices: Vec<Sum>,
    /// True where iterators were made longer to be divided evenly and an iteration is one of those added.
    pub padding: PrimId,
}

/// A rewriting of indices under way.
struct Rewriter<'a> {
    store: &'a mut Store,
    analyzer: &'a mut Analyzer,
    level: Level,
    errors: Vec<Reason>,
    vars: FxHashMap<Id<Symbol>, Value>,
    inputs: Vec<Rc<Mark>>,
    padded: FxHashMap<Mark, pad::Padding>,
    padded_origin: FxHashMap<Mark, Rc<Mark>>,
    updates_padding: bool,
    requires_padding: bool,
    padding: PrimId,
    /// Sums of digits that are one iterator: that iterator, and its added offset.
    fused: FxHashMap<Sum, (Rc<Mark>, PrimId)>,
    /// The digits of which such an iterator is made.
    flat: FxHashMap<Sum, Sum>,
    /// The sums that a condition restricts, the shorter ones first.
    constrained: Vec<Sum>,
}

/// The form of a rewritten expression.
#[derive(Clone, Debug)]
enum Value {
    Prim(PrimId),
    Split(Split),
    Sum(Sum),
}

impl<'a> Rewriter<'a> {
    fn new(store: &'a mut Store, analyzer: &'a mut Analyzer, iters: &Iters, level: Level, trivial: bool) -> Rewriter<'a> {
        let padding = store.prim_int(0, DType::BOOL);
        let mut rewriter = Rewriter {
            store,
            analyzer,
            level,
            errors: Vec::new(),
            vars: FxHashMap::default(),
            inputs: Vec::new(),
            padded: FxHashMap::default(),
            padded_origin: FxHashMap::default(),
            updates_padding: false,
            requires_padding: false,
            padding,
            fused: FxHashMap::default(),
            flat: FxHashMap::default(),
            constrained: Vec::new(),
        };
        for &(var, (min, extent)) in iters {
            let value = rewriter.input(var, min, extent, trivial);
            rewriter.vars.insert(var, value);
        }
        rewriter
    }

    fn input(&mut self, var: Id<Symbol>, min: PrimId, extent: PrimId, trivial: bool) -> Value {
        if trivial && self.store.as_prim_int(extent) == Some(1) {
            return Value::Sum(Sum::of_base(min));
        }
        let prim = self.store.prim(PrimExpr::Var(var));
        let starts_at_zero = self.store.as_prim_int(min) == Some(0);
        let from_zero = match starts_at_zero {
            true => prim,
            false => crate::tir::build::binary(self.store, crate::ir::PrimOp::Sub, prim, min),
        };
        let mark = Rc::new(Mark { source: Source::Prim(from_zero), extent });
        self.inputs.push(mark.clone());
        let one = self.store.prim_int(1, self.store.prim_dtype(prim));
        let split = Split { lower: one, extent, scale: one, source: mark };
        match starts_at_zero {
            true => Value::Split(split),
            false => Value::Sum(Sum { args: vec![split], base: min }),
        }
    }

    fn fail(&mut self, reason: impl Into<Reason>) {
        self.errors.push(reason.into());
    }

    fn is(&self, prim: PrimId, value: i64) -> bool {
        self.store.as_prim_int(prim) == Some(value)
    }
}

/// Writes indices over iterators as sums of digits; `predicate` is a condition on the iterators besides their ranges.
/// Trivial iterators, of one value, are that value if `trivial` is set. The errors give the reason of a failure.
pub fn detect_iter_map(
    store: &mut Store,
    analyzer: &mut Analyzer,
    indices: &[PrimId],
    iters: &Iters,
    predicate: Option<PrimId>,
    level: Level,
    trivial: bool,
) -> Result<IterMap, Failure> {
    if !constraint::are_independent(store, iters) {
        return Err("Invalid iterators.  Iterators may not be expressions of each other.".into());
    }
    let mut iters = iters.to_vec();
    let constraints = match predicate.filter(|predicate| store.as_prim_int(*predicate) != Some(1)) {
        None => Vec::new(),
        Some(predicate) => constraint::of_predicate(store, predicate, &mut iters)
            .ok_or("Could not parse predicate as constraints on the input iterators.")?,
    };
    let mut rewriter = Rewriter::new(store, analyzer, &iters, level, trivial);
    for constraint in constraints {
        rewriter.constrain(&constraint);
        if !rewriter.errors.is_empty() {
            return Err(rewriter.errors.into());
        }
    }
    if !rewriter.constraints_nest() {
        return Err("Invalid constraints.".into());
    }
    let mut found = Vec::new();
    // The first round finds out by how much iterators have to be made longer, the second uses it.
    let pads = level != Level::Bijective;
    for updates in [true, false] {
        let needed = if updates { pads } else { !pads || rewriter.requires_padding };
        if !needed {
            continue;
        }
        found.clear();
        rewriter.updates_padding = updates;
        for index in indices {
            found.push(rewriter.rewrite(*index));
            if !rewriter.errors.is_empty() {
                return Err(rewriter.errors.into());
            }
        }
    }
    if !rewriter.check(&found, level) {
        let mut reasons = rewriter.errors;
        reasons.push(match level {
            Level::Bijective => "Index mapping does not form a bijective transform.".into(),
            _ => "Mapped indices are not independent.".into(),
        });
        return Err(Failure { reasons, padding: Some(rewriter.padding) });
    }
    Ok(IterMap { indices: found, padding: rewriter.padding })
}

/// Writes an index as a sum of digits ordered by their factors, as far as it is one.
pub fn normalize_to_iter_sum(store: &mut Store, analyzer: &mut Analyzer, index: PrimId, iters: &Iters) -> Sum {
    if !constraint::are_independent(store, iters) {
        return Sum::of_base(index);
    }
    let mut rewriter = Rewriter::new(store, analyzer, iters, Level::NoCheck, true);
    let value = rewriter.value(index);
    let sum = rewriter.as_sum(value);
    rewriter.normalize_sum(sum)
}

/// Returns the indices as they are written most simply; where they are no sums of digits, themselves.
pub fn simplify_iter_map(
    store: &mut Store,
    analyzer: &mut Analyzer,
    indices: &[PrimId],
    iters: &Iters,
    predicate: Option<PrimId>,
    level: Level,
    trivial: bool,
) -> Vec<PrimId> {
    let mut map = detect_iter_map(store, analyzer, indices, iters, predicate, level, trivial);
    let restricted = predicate.is_some_and(|predicate| store.as_prim_int(predicate) != Some(1));
    if map.is_err() && restricted && level != Level::Bijective {
        map = detect_iter_map(store, analyzer, indices, iters, None, level, trivial);
    }
    match map {
        Ok(map) => map.indices.iter().map(|sum| sum_to_prim(store, analyzer, sum)).collect(),
        Err(_) => indices.to_vec(),
    }
}
