//! Inequalities that follow from each other (TVM's `src/arith/transitive_comparison_analyzer.cc`).

use super::scope::each_part;
use super::{Analyzer, Comparison};
use crate::ir::{DTypeCode, Id, PrimExpr, PrimId, PrimOp, Store, Symbol};
use crate::tir::build::binary;
use crate::tir::effect::is_pure;
use rustc_hash::{FxHashMap, FxHashSet};

/// An expression without the number that is added to it; nothing for a number alone.
type Key = Option<PrimId>;

/// `left op right + offset`, where `op` is one of `==`, `!=`, `<=` and `>=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fact {
    left: Key,
    right: Key,
    offset: i64,
    result: Comparison,
}

/// The known comparisons.
#[derive(Clone, Default)]
pub(super) struct Transitive {
    /// The facts that always hold: the ranges of variables.
    always: Vec<Fact>,
    /// The facts that hold in the open scopes.
    scoped: Vec<Fact>,
}

impl Fact {
    fn new(left: Key, right: Key, offset: i64, result: Comparison) -> Fact {
        // Integers: `a < b` is `a <= b - 1`, and chains of `<=` need no care.
        let (offset, result) = match result {
            Comparison::LT => (offset.wrapping_sub(1), Comparison::LE),
            Comparison::GT => (offset.wrapping_add(1), Comparison::GE),
            result => (offset, result),
        };
        Fact { left, right, offset, result }
    }

    /// Returns the same with this expression on the left, if it has it.
    fn from(self, left: Key) -> Option<Fact> {
        if self.left == left {
            return Some(self);
        }
        let result = match self.result {
            Comparison::LE => Comparison::GE,
            Comparison::GE => Comparison::LE,
            result => result,
        };
        let mirrored = Fact { left: self.right, right: self.left, offset: self.offset.wrapping_neg(), result };
        (self.right == left).then_some(mirrored)
    }

    /// True if the other one, of the same expressions, follows.
    fn implies(self, other: Fact) -> bool {
        use Comparison as C;
        match (self.result, other.result) {
            (a, b) if a == b && self.offset == other.offset => true,
            (C::EQ | C::LE, C::LE) => self.offset <= other.offset,
            (C::EQ | C::GE, C::GE) => self.offset >= other.offset,
            (C::EQ, C::NE) => self.offset != other.offset,
            (C::LE, C::NE) => self.offset < other.offset,
            (C::GE, C::NE) => self.offset > other.offset,
            _ => false,
        }
    }
}

/// Returns an expression and the number that is added to it.
fn offset(store: &Store, id: PrimId) -> (Key, i64) {
    match *store.prim_of_id(id) {
        PrimExpr::Int { value, .. } => (None, value),
        PrimExpr::Binary { op: op @ (PrimOp::Add | PrimOp::Sub), a, b } => match store.as_prim_int(b) {
            Some(number) => (Some(a), if op == PrimOp::Add { number } else { number.wrapping_neg() }),
            None => (Some(id), 0),
        },
        _ => (Some(id), 0),
    }
}

fn fact(store: &Store, cond: PrimId) -> Option<Fact> {
    let PrimExpr::Binary { op, a, b } = *store.prim_of_id(cond) else { return None };
    let result = match op {
        PrimOp::Le => Comparison::LE,
        PrimOp::Ge => Comparison::GE,
        PrimOp::Lt => Comparison::LT,
        PrimOp::Gt => Comparison::GT,
        PrimOp::Eq => Comparison::EQ,
        PrimOp::Ne => Comparison::NE,
        _ => return None,
    };
    let ((left, c), (right, d)) = (offset(store, a), offset(store, b));
    (left.is_some() || right.is_some()).then(|| Fact::new(left, right, d.wrapping_sub(c), result))
}

impl Transitive {
    /// Returns the number of facts in open scopes.
    pub fn scoped(&self) -> usize {
        self.scoped.len()
    }

    /// Forgets the facts of scopes beyond so many.
    pub fn truncate(&mut self, scoped: usize) {
        self.scoped.truncate(scoped);
    }

    fn all(&self) -> impl Iterator<Item = Fact> {
        self.always.iter().chain(&self.scoped).copied()
    }

    /// Returns the facts about `left` and `right`, including those through other expressions.
    fn reached(&self, left: Key, right: Key) -> Vec<Fact> {
        let mut known: FxHashMap<Key, Vec<Fact>> = FxHashMap::default();
        let mut seen: FxHashSet<Key> = FxHashSet::default();
        let mut todo = Vec::new();
        let mut new: Vec<Fact> = self.all().filter_map(|fact| fact.from(left)).collect();
        loop {
            for fact in new {
                let facts = known.entry(fact.right).or_default();
                if facts.iter().any(|old| old.implies(fact)) {
                    continue;
                }
                if fact.right != right && seen.insert(fact.right) {
                    todo.push(fact.right);
                }
                match facts.iter_mut().find(|old| fact.implies(**old)) {
                    Some(weaker) => *weaker = fact,
                    None => facts.push(fact),
                }
            }
            let Some(middle) = todo.pop() else { break };
            new = Vec::new();
            for next in self.all().filter_map(|fact| fact.from(middle)).filter(|next| next.right != left) {
                for first in known.get(&middle).into_iter().flatten() {
                    let result = match (first.result, next.result) {
                        (Comparison::EQ, result) | (result, Comparison::EQ) => result,
                        (a, b) if a == b && matches!(a, Comparison::LE | Comparison::GE) => a,
                        _ => continue,
                    };
                    new.push(Fact { left, right: next.right, offset: first.offset.wrapping_add(next.offset), result });
                }
            }
        }
        known.remove(&right).unwrap_or_default()
    }
}

impl Analyzer {
    fn facts_of(store: &Store, cond: PrimId) -> Vec<Fact> {
        let mut facts = Vec::new();
        if is_pure(store, cond) {
            each_part(store, cond, &mut |part| facts.extend(fact(store, part)));
        }
        facts
    }

    pub(super) fn bind_in_comparisons(&mut self, store: &mut Store, symbol: Id<Symbol>, min: PrimId, extent: PrimId) {
        let var = store.prim(PrimExpr::Var(symbol));
        let conditions = if store.as_prim_int(extent) == Some(1) {
            vec![binary(store, PrimOp::Eq, var, min)]
        } else {
            let end = binary(store, PrimOp::Add, min, extent);
            vec![binary(store, PrimOp::Ge, var, min), binary(store, PrimOp::Lt, var, end)]
        };
        for cond in conditions {
            for fact in Analyzer::facts_of(store, cond) {
                if !self.transitive.always.contains(&fact) {
                    self.transitive.always.push(fact);
                }
            }
        }
    }

    pub(super) fn enter_comparisons(&mut self, store: &Store, cond: PrimId) {
        self.transitive.scoped.extend(Analyzer::facts_of(store, cond));
    }

    /// Compares two integers by the stated facts; with `chains` also by combining several facts.
    pub fn try_compare(&mut self, store: &Store, a: PrimId, b: PrimId, chains: bool) -> Comparison {
        if [a, b].iter().any(|side| store.prim_dtype(*side).code != DTypeCode::Int) {
            return Comparison::UNKNOWN;
        }
        if let (Some(a), Some(b)) = (store.as_prim_int(a), store.as_prim_int(b)) {
            return match a.cmp(&b) {
                std::cmp::Ordering::Less => Comparison::LT,
                std::cmp::Ordering::Greater => Comparison::GT,
                std::cmp::Ordering::Equal => Comparison::EQ,
            };
        }
        let ((left, c), (right, d)) = (offset(store, a), offset(store, b));
        let facts: Vec<Fact> = match chains {
            true => {
                let back = self.transitive.reached(right, left).into_iter().filter_map(|fact| fact.from(left));
                self.transitive.reached(left, right).into_iter().chain(back).collect()
            }
            false => self.transitive.all().filter_map(|fact| fact.from(left)).filter(|fact| fact.right == right).collect(),
        };
        let offset = d.wrapping_sub(c);
        facts.into_iter().fold(Comparison::UNKNOWN, |result, fact| {
            let found = match (fact.result, fact.offset.cmp(&offset)) {
                (Comparison::EQ, std::cmp::Ordering::Equal) => Comparison::EQ,
                (Comparison::EQ, _) => Comparison::NE,
                (Comparison::LE, std::cmp::Ordering::Less) => Comparison::LT,
                (Comparison::LE, std::cmp::Ordering::Equal) => Comparison::LE,
                (Comparison::GE, std::cmp::Ordering::Greater) => Comparison::GT,
                (Comparison::GE, std::cmp::Ordering::Equal) => Comparison::GE,
                (Comparison::NE, std::cmp::Ordering::Equal) => Comparison::NE,
                _ => Comparison::UNKNOWN,
            };
            result.and(found)
        })
    }
}
