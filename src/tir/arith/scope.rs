//! Facts: variables that are bound, conditions that hold for a while.

use super::{Analyzer, Bound, Domains, IntSet, Mode, Modular};
use crate::ir::{DType, Id, PrimExpr, PrimId, PrimOp, Store, Symbol};
use crate::tir::build::binary;
use crate::tir::effect::is_pure;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The facts about a variable.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct Known {
    pub bound: Option<Bound>,
    pub modular: Option<Modular>,
    /// The value that the simplifiers substitute for it.
    pub value: Option<PrimId>,
    /// The range that it was bound to: first value and number of values.
    pub range: Option<(PrimId, PrimId)>,
}

/// Results that hold while the facts do.
#[derive(Clone, Default)]
pub(super) struct Memo {
    /// Simplified expressions, by simplifier and depth of rewriting.
    pub simple: FxHashMap<(PrimId, Mode, u8), PrimId>,
    /// Simplified expressions as sums in normal form.
    pub sums: FxHashMap<(PrimId, u8), Rc<super::canonical::Canon>>,
    pub bounds: FxHashMap<PrimId, Bound>,
    pub modular: FxHashMap<PrimId, Modular>,
}

/// A condition that was entered: [`Analyzer::exit`] takes it away again. Scopes end in the opposite order of their beginning.
#[must_use = "the condition holds until it is given to `exit`"]
#[derive(Debug)]
pub struct Scope {
    bounds: usize,
    literals: usize,
    transitive: usize,
    memo: usize,
    /// A variable whose modular set was narrowed, and the former set.
    modular: Option<(Id<Symbol>, Option<Modular>)>,
}

/// Calls `visit` with each part of a conjunction.
pub(super) fn each_part(store: &Store, cond: PrimId, visit: &mut dyn FnMut(PrimId)) {
    let mut todo = vec![cond];
    while let Some(id) = todo.pop() {
        match *store.prim_of_id(id) {
            PrimExpr::Binary { op: PrimOp::And, a, b } => todo.extend([b, a]),
            _ => visit(id),
        }
    }
}

impl Analyzer {
    pub(super) fn memo(&mut self) -> &mut Memo {
        if self.memo.is_empty() {
            self.memo.push(Memo::default());
        }
        self.memo.last_mut().expect("one was pushed")
    }

    /// Facts have changed: results found so far do not count any more.
    pub(super) fn forget(&mut self) {
        for memo in &mut self.memo {
            memo.simple.clear();
            memo.sums.clear();
            memo.bounds.clear();
            memo.modular.clear();
        }
    }

    fn update(&mut self, symbol: Id<Symbol>, change: impl FnOnce(&mut Known)) {
        let known = self.known.entry(symbol).or_default();
        let old = known.clone();
        change(known);
        if *known != old {
            if old != Known::default() {
                self.conflict.get_or_insert(symbol);
            }
            self.forget();
        }
    }

    /// Binds a variable to a value.
    pub fn bind(&mut self, store: &mut Store, symbol: Id<Symbol>, value: PrimId) {
        let simple = self.canonical_simplify(store, value);
        let simple = self.rewrite_simplify(store, simple);
        let bound = self.const_int_bound(store, simple);
        let modular = self.modular_set(store, simple);
        let one = store.prim_int(1, DType::I32);
        self.update(symbol, |known| {
            *known = Known { bound: Some(bound), modular: Some(modular), value: Some(simple), range: Some((value, one)) };
        });
        self.bind_in_comparisons(store, symbol, value, one);
    }

    /// Binds a variable to `min .. min + extent`. One that takes one value is bound to that value.
    pub fn bind_range(&mut self, store: &mut Store, symbol: Id<Symbol>, min: PrimId, extent: PrimId) {
        if store.as_prim_int(extent) == Some(1) {
            return self.bind(store, symbol, min);
        }
        let (first, count) = (self.const_int_bound(store, min), self.const_int_bound(store, extent));
        let bound = Bound { min: first.min, max: first.max_of_range(count) };
        self.update(symbol, |known| {
            known.bound = Some(bound);
            known.range = Some((min, extent));
        });
        self.bind_in_comparisons(store, symbol, min, extent);
    }

    /// Says that a variable is not negative, as extents are.
    pub fn assume_natural(&mut self, symbol: Id<Symbol>) {
        self.assume_between(symbol, 0, Bound::INF);
    }

    /// Sets the bounds of a variable, both included, replacing earlier ones.
    pub fn assume_between(&mut self, symbol: Id<Symbol>, min: i64, max: i64) {
        self.known.entry(symbol).or_default().bound = Some(Bound { min, max });
        self.forget();
    }

    /// Sets the range of a variable for proofs by symbolic bounds: first value and number of values.
    pub fn assume_range(&mut self, symbol: Id<Symbol>, min: PrimId, extent: PrimId) {
        self.known.entry(symbol).or_default().range = Some((min, extent));
        self.forget();
    }

    /// Returns the variables that were bound to ranges, with the values that they take.
    pub fn domains(&self, store: &mut Store) -> Domains {
        let mut domains = Domains::default();
        for (var, known) in &self.known {
            if let Some((min, extent)) = known.range {
                domains.insert(*var, IntSet::from_range(store, min, extent));
            }
        }
        domains
    }

    /// Sets the modular set of a variable, replacing an earlier one.
    pub fn assume_modular(&mut self, symbol: Id<Symbol>, set: Modular) {
        self.known.entry(symbol).or_default().modular = Some(set);
        self.forget();
    }

    /// Says that an extent is not negative, of `n * 4 + 8` so that `n` is at least -8 (TVM's `MarkGlobalNonNegValue`).
    pub fn mark_non_negative(&mut self, store: &mut Store, value: PrimId) {
        let mut offset = 0i64;
        let mut symbols = Vec::new();
        let mut todo = vec![(value, 1i64)];
        while let Some((id, sign)) = todo.pop() {
            match *store.prim_of_id(id) {
                PrimExpr::Binary { op: PrimOp::Add, a, b } => todo.extend([(b, sign), (a, sign)]),
                PrimExpr::Binary { op: PrimOp::Sub, a, b } => todo.extend([(b, -sign), (a, sign)]),
                PrimExpr::Int { value, .. } => offset = offset.wrapping_add(value.wrapping_mul(sign)),
                _ => symbols.push((id, sign)),
            }
        }
        let [(symbol, 1)] = symbols[..] else { return };
        let mut scale = 1i64;
        let mut factors = Vec::new();
        let mut todo = vec![symbol];
        while let Some(id) = todo.pop() {
            match *store.prim_of_id(id) {
                PrimExpr::Binary { op: PrimOp::Mul, a, b } => todo.extend([b, a]),
                PrimExpr::Int { value, .. } => scale = scale.wrapping_mul(value),
                _ => factors.push(id),
            }
        }
        let [factor] = factors[..] else { return };
        if let PrimExpr::Var(symbol) = *store.prim_of_id(factor)
            && scale > 0
            && super::is_index(store.symbol(symbol).dtype)
        {
            self.assume_between(symbol, offset.wrapping_neg(), Bound::INF);
        }
    }

    /// True if a variable has been bound, or has bounds.
    pub fn is_bound(&self, symbol: Id<Symbol>) -> bool {
        self.known.get(&symbol).is_some_and(|known| known.bound.is_some())
    }

    /// Enters a condition, which holds until [`Analyzer::exit`].
    pub fn enter(&mut self, store: &mut Store, cond: PrimId) -> Scope {
        let mut scope = Scope {
            bounds: self.bounds.len(),
            literals: self.literals.len(),
            transitive: self.transitive.scoped(),
            memo: self.memo.len(),
            modular: None,
        };
        // A number says nothing.
        if store.as_prim_int(cond).is_some() {
            return scope;
        }
        self.memo();
        scope.memo = self.memo.len();
        self.memo.push(Default::default());
        self.enter_bounds(store, cond);
        scope.modular = self.enter_modular(store, cond);
        // The condition is looked for in expressions that are simplified already, and so simplified itself.
        let simple = self.asked(|analyzer| analyzer.visit(store, cond, Mode::Rewrite));
        let mut parts = Vec::new();
        each_part(store, simple, &mut |part| parts.push(part));
        for part in parts {
            if is_pure(store, part) {
                let dtype = store.prim_dtype(part);
                let negation = match dtype == DType::BOOL {
                    true => {
                        let negation = store.prim(PrimExpr::Not(part));
                        super::logic::without_not(store, negation)
                    }
                    false => {
                        let zero = store.prim_int(0, dtype);
                        binary(store, PrimOp::Eq, part, zero)
                    }
                };
                let again = store.prim(PrimExpr::Not(negation));
                self.literals.extend([part, again]);
            }
        }
        self.enter_comparisons(store, cond);
        if let Some(memo) = self.memo.last_mut() {
            *memo = Memo::default();
        }
        scope
    }

    /// Ends the scope of [`Analyzer::enter`].
    pub fn exit(&mut self, scope: Scope) {
        self.bounds.truncate(scope.bounds);
        self.literals.truncate(scope.literals);
        self.transitive.truncate(scope.transitive);
        self.memo.truncate(scope.memo);
        if let Some((symbol, old)) = scope.modular {
            // Nothing is found out outside meanwhile: results there were found with the old set.
            self.known.entry(symbol).or_default().modular = old;
        }
    }
}
