//! Facts about integer expressions, after TVM's `arith::Analyzer` (`src/arith`; the wheel calls it `tvm.sym`).
//!
//! An [`Analyzer`] collects facts (values of variables, conditions that hold) and answers with them: bounds, the
//! modular set of an expression, its simplest form, and whether a condition always holds. It holds no program; every
//! question comes with the store. It costs nothing to make, so a pass makes one per function, and a caller that needs a
//! fresh state makes another.
//!
//! ```
//! use passlab::ir::{DType, PrimExpr, PrimOp, Store, Symbol};
//! use passlab::tir::arith::Analyzer;
//!
//! let store = &mut Store::new();
//! let name = store.name("i");
//! let i = store.add_symbol(Symbol { name, dtype: DType::I32, size: false });
//! let (x, zero, eight) = (store.prim(PrimExpr::Var(i)), store.prim_int(0, DType::I32), store.prim_int(8, DType::I32));
//! let quotient = store.prim_binary(PrimOp::FloorDiv, x, eight);
//!
//! let mut analyzer = Analyzer::new();
//! analyzer.bind_range(store, i, zero, eight); // for i in range(8)
//! assert_eq!(analyzer.simplify(store, quotient), zero);
//!
//! let cond = store.prim_binary(PrimOp::Lt, x, zero); // if i < 0:
//! let scope = analyzer.enter(store, cond);
//! assert_eq!(analyzer.const_int_bound(store, x).max, -1);
//! analyzer.exit(scope);
//! ```
//!
//! The parts, in the order in which they build on each other: [`bound`] and [`modular`] (abstract interpretation),
//! [`table`] and `rules.txt` (the rules of the rewriting simplifier), [`rewrite`] with [`apply`], [`compare`],
//! [`hooks`] and [`logic`], [`transitive`] (chains of inequalities), [`canonical`] (sums in normal form), [`set`] and
//! [`set_eval`] (sets between symbolic ends), [`iter`] (iterators as sums of digits), [`region`] (the regions that
//! loops touch), [`deduce`] and [`solve`] (the values of a variable for which a condition holds).
//!
//! Two limits keep it safe. An expression deeper than [`DEEPEST`] is left as it is, so recursion below is bounded; the
//! store knows the depth of an expression. And a question may take at most [`MOST_STEPS`] visits, after which the rest
//! stays as it is; no program of ours comes near. Otherwise results are TVM's, node by node.

mod apply;
mod bound;
mod calls;
mod canonical;
mod compare;
mod deduce;
mod hooks;
pub mod iter;
mod logic;
mod modular;
mod region;
mod rewrite;
mod scope;
mod set;
mod set_eval;
mod solve;
mod table;
#[cfg(test)]
mod tests;
mod transitive;

pub use bound::Bound;
pub use compare::Comparison;
pub use deduce::deduce_bound;
pub use modular::Modular;
pub use region::{covering_region, strict_region};
pub use scope::Scope;
pub(crate) use set::plus;
pub use set::{Domains, End, IntSet};
pub use set_eval::{domains_of, eval_each, eval_int_set, eval_range, eval_region, eval_set, eval_set_with, lanes_of};
pub use solve::ranges_of_condition;

/// True if two extents of Relax are equal for all values of their symbols (TVM's `Analyzer::CanProveEqual`).
pub fn equal_extents(store: &mut Store, a: Dim, b: Dim) -> bool {
    match (a.known(), b.known()) {
        _ if a == b => true,
        (Some(a), Some(b)) => a == b,
        // A symbol alone is equal to nothing else.
        _ if matches!(
            (a, b),
            (Dim::Symbol(_) | Dim::Int { .. }, Dim::Symbol(_) | Dim::Int { .. }) | (Dim::Any, _) | (_, Dim::Any)
        ) =>
        {
            false
        }
        _ => {
            let (a, b) = (store.prim_of_dim(a), store.prim_of_dim(b));
            Analyzer::new().can_prove_equal(store, a, b)
        }
    }
}

use crate::ir::{DType, Dim, Id, PrimExpr, PrimId, PrimOp, Store, Symbol};
use crate::tir::build::{binary, is_index};
use rustc_hash::FxHashMap;
use scope::{Known, Memo};
use transitive::Transitive;

/// Expressions that are deeper than this are left as they are.
pub const DEEPEST: u16 = 500;
/// Nodes that are visited at most for one question from outside.
const MOST_STEPS: u32 = 4_000_000;

/// The extensions of the simplifier beyond its rules (TVM's `RewriteSimplifier::Extension`), as bits.
pub mod extension {
    /// Inequalities follow from each other: from `i < j` and `j < k` follows `i < k`.
    pub const TRANSITIVELY_PROVE_INEQUALITIES: u8 = 1;
    /// Conditions become conjunctions of disjunctions.
    pub const CONVERT_BOOLEAN_TO_AND_OF_ORS: u8 = 2;
    /// Each side of `and` and `or` is simplified knowing that the other does not decide.
    pub const APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES: u8 = 4;
    /// `(a + b) * c` is compared with `a * b * d`.
    pub const COMPARISON_OF_PRODUCT_AND_SUM: u8 = 8;
}

/// The effort of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// By simplifying.
    Default,
    /// Also by the symbolic bounds of the difference of two sides.
    SymbolicBound,
}

/// The visiting simplifier: both share rules and facts but count recursion separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mode {
    Rewrite,
    Canonical,
}

/// Facts, and conclusions from them.
#[derive(Clone, Default)]
pub struct Analyzer {
    known: FxHashMap<Id<Symbol>, Known>,
    /// Bounds of expressions that conditions in force give.
    bounds: Vec<(PrimId, Bound)>,
    /// Conditions in force, and negations of their negations.
    literals: Vec<PrimId>,
    transitive: Transitive,
    extensions: u8,
    /// Rewrites under way whose result is simplified again, for each simplifier.
    depth: [u8; 2],
    /// Results found, a table for each scope that is open and one for outside.
    memo: Vec<Memo>,
    /// Visits that the question under way may still take; nothing while there is none.
    left: Option<u32>,
    /// The first variable that was bound twice to different things, if there was one. TVM stops there.
    conflict: Option<Id<Symbol>>,
}

impl Analyzer {
    /// Makes an analyzer without facts.
    pub fn new() -> Analyzer {
        Analyzer::default()
    }

    /// Runs a question within its budget. Questions that come up on the way share it.
    fn asked<T>(&mut self, question: impl FnOnce(&mut Analyzer) -> T) -> T {
        let outermost = self.left.is_none();
        if outermost {
            self.left = Some(MOST_STEPS);
        }
        let answer = question(self);
        if outermost {
            self.left = None;
        }
        answer
    }

    /// Returns the expression in its simplest form: TVM's `Simplify` with its two steps.
    pub fn simplify(&mut self, store: &mut Store, expr: PrimId) -> PrimId {
        self.simplify_steps(store, expr, 2)
    }

    /// Simplifies as TVM's `Simplify`: the normal form of sums, then rewriting and normal form in turns.
    pub fn simplify_steps(&mut self, store: &mut Store, expr: PrimId, steps: u32) -> PrimId {
        self.asked(|analyzer| {
            let mut result = analyzer.canonical_simplify(store, expr);
            for step in 0..steps {
                if store.as_prim_int(result).is_some() {
                    break;
                }
                result = match step % 2 {
                    0 => analyzer.rewrite_simplify(store, result),
                    _ => analyzer.canonical_simplify(store, result),
                };
            }
            result
        })
    }

    /// Returns the expression after the rewriting rules.
    pub fn rewrite_simplify(&mut self, store: &mut Store, expr: PrimId) -> PrimId {
        self.asked(|analyzer| {
            let once = analyzer.visit(store, expr, Mode::Rewrite);
            if once == expr { once } else { analyzer.visit(store, once, Mode::Rewrite) }
        })
    }

    /// Returns the expression with its sums in normal form.
    pub fn canonical_simplify(&mut self, store: &mut Store, expr: PrimId) -> PrimId {
        self.asked(|analyzer| analyzer.visit(store, expr, Mode::Canonical))
    }

    /// True if a condition provably always holds.
    pub fn can_prove(&mut self, store: &mut Store, cond: PrimId) -> bool {
        self.can_prove_with(store, cond, Strength::Default)
    }

    /// Tries [`Analyzer::can_prove`] with a given effort.
    pub fn can_prove_with(&mut self, store: &mut Store, cond: PrimId, strength: Strength) -> bool {
        if let Some(value) = store.as_prim_int(cond) {
            return value != 0;
        }
        let simple = self.simplify(store, cond);
        if store.as_prim_int(simple).is_some_and(|value| value != 0) {
            return true;
        }
        strength == Strength::SymbolicBound && self.proved_by_bound(store, cond)
    }

    /// Proves `a < b` and the like by the least value of the difference, in terms of variables not relaxed.
    fn proved_by_bound(&mut self, store: &mut Store, cond: PrimId) -> bool {
        let PrimExpr::Binary { op, a, b } = *store.prim_of_id(cond) else { return false };
        let (larger, smaller, least) = match op {
            PrimOp::Lt => (b, a, 1),
            PrimOp::Le => (b, a, 0),
            PrimOp::Gt => (a, b, 1),
            PrimOp::Ge => (a, b, 0),
            _ => return false,
        };
        let difference = binary(store, PrimOp::Sub, larger, smaller);
        let difference = self.simplify(store, difference);
        // Replaces variables with a range by its ends; the others stay symbolic.
        let domains = self.domains(store);
        let set = eval_set_with(store, self, difference, &domains);
        let Some(min) = set.lower() else { return false };
        let min = self.simplify(store, min);
        self.const_int_bound(store, min).min >= least
    }

    /// True if two expressions are provably equal for all values of their variables.
    pub fn can_prove_equal(&mut self, store: &mut Store, a: PrimId, b: PrimId) -> bool {
        if let (Some(a), Some(b)) = (store.as_prim_int(a), store.as_prim_int(b)) {
            return a == b;
        }
        let difference = binary(store, PrimOp::Sub, a, b);
        let zero = store.prim_int(0, DType::I32);
        let equal = binary(store, PrimOp::Eq, difference, zero);
        self.can_prove(store, equal)
    }

    /// True if an expression is at least `least`, by its bounds.
    pub fn can_prove_greater_equal(&mut self, store: &mut Store, expr: PrimId, least: i64) -> bool {
        if let Some(value) = store.as_prim_int(expr) {
            return value >= least;
        }
        let simple = self.rewrite_simplify(store, expr);
        self.const_int_bound(store, simple).min >= least
    }

    /// True if an expression is less than `most`, by its bounds.
    pub fn can_prove_less(&mut self, store: &mut Store, expr: PrimId, most: i64) -> bool {
        if let Some(value) = store.as_prim_int(expr) {
            return value < most;
        }
        let simple = self.rewrite_simplify(store, expr);
        self.const_int_bound(store, simple).max < most
    }

    /// Lets the simplifier do more: bits of [`extension`].
    pub fn set_extensions(&mut self, extensions: u8) {
        self.extensions = extensions;
        self.forget();
    }

    /// Returns the enabled extensions of the simplifier: bits of [`extension`].
    pub fn extensions(&self) -> u8 {
        self.extensions
    }

    /// Returns the first variable that was bound to two values. TVM raises an error there, we take the later one.
    pub fn conflict(&self) -> Option<Id<Symbol>> {
        self.conflict
    }

    /// True if a variable was bound to two values since this was asked last.
    pub fn take_conflict(&mut self) -> bool {
        self.conflict.take().is_some()
    }
}
