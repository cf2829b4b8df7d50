//! Compares two expressions, by bounds, by facts and by their shape (`TryCompare` in TVM's
//! `src/arith/rewrite_simplify.cc`), and rewrites comparisons with it.

use super::rewrite::truth;
use super::{Analyzer, Bound, Mode, extension, is_index, table};
use crate::ir::{PrimExpr, PrimId, PrimOp, Store};
use crate::tir::build::binary;

/// The possible outcomes of a comparison of two numbers: a set of equal (1), less (2) and greater (4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison(pub(super) u8);

impl Comparison {
    /// None is possible: the facts contradict each other.
    pub const INCONSISTENT: Comparison = Comparison(0);
    /// `a == b`
    pub const EQ: Comparison = Comparison(1);
    /// `a < b`
    pub const LT: Comparison = Comparison(2);
    /// `a <= b`
    pub const LE: Comparison = Comparison(3);
    /// `a > b`
    pub const GT: Comparison = Comparison(4);
    /// `a >= b`
    pub const GE: Comparison = Comparison(5);
    /// `a != b`
    pub const NE: Comparison = Comparison(6);
    /// Nothing is known.
    pub const UNKNOWN: Comparison = Comparison(7);

    /// Returns the outcomes as bits, which are the numbers of TVM's `CompareResult`.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Combines two known comparisons.
    pub fn and(self, other: Comparison) -> Comparison {
        Comparison(self.0 & other.0)
    }

    fn is_decided(self) -> bool {
        matches!(self, Comparison::EQ | Comparison::LT | Comparison::GT)
    }
}

impl Analyzer {
    /// Compares two index expressions.
    pub(super) fn compare(&mut self, store: &mut Store, a: PrimId, b: PrimId, mode: Mode) -> Comparison {
        let difference = binary(store, PrimOp::Sub, a, b);
        let mut result = self.compare_number(store, difference, 0, mode);
        if result.is_decided() {
            return result;
        }
        let extensions = if mode == Mode::Rewrite { self.extensions } else { 0 };
        let chains = extensions & extension::TRANSITIVELY_PROVE_INEQUALITIES != 0;
        result = result.and(self.try_compare(store, a, b, chains));
        if result.is_decided() || extensions & extension::COMPARISON_OF_PRODUCT_AND_SUM == 0 {
            return result;
        }
        result.and(self.compare_product_and_sum(store, difference, mode))
    }

    /// Compares an expression with a number: by its bounds alone, because this is called often.
    pub(super) fn compare_number(&mut self, store: &mut Store, expr: PrimId, number: i64, mode: Mode) -> Comparison {
        let simple = self.visit(store, expr, mode);
        if let Some(value) = store.as_prim_int(simple) {
            return match value.cmp(&number) {
                std::cmp::Ordering::Equal => Comparison::EQ,
                std::cmp::Ordering::Greater => Comparison::GT,
                std::cmp::Ordering::Less => Comparison::LT,
            };
        }
        let Bound { min, max } = self.const_int_bound(store, simple);
        match () {
            () if (min, max) == (number, number) => Comparison::EQ,
            () if min > number => Comparison::GT,
            () if max < number => Comparison::LT,
            () if min >= number => Comparison::GE,
            () if max <= number => Comparison::LE,
            () if number == 0 && self.modular_set(store, simple).base != 0 => Comparison::NE,
            () => Comparison::UNKNOWN,
        }
    }

    /// True if an expression is zero, by [`Analyzer::compare_number`].
    pub(super) fn is_zero(&mut self, store: &mut Store, expr: PrimId, mode: Mode) -> bool {
        self.compare_number(store, expr, 0, mode) == Comparison::EQ
    }

    /// Returns the sign of `(a + b) * c + a * b * -d` if all have one sign: `1 / a + 1 / b` is compared with `d / c`,
    /// which the ends of the ranges of all four decide.
    fn compare_product_and_sum(&mut self, store: &mut Store, difference: PrimId, mode: Mode) -> Comparison {
        let simple = self.visit(store, difference, mode);
        let Some((a, b, c, d)) = product_and_sum(store, simple) else { return Comparison::UNKNOWN };
        let negated = |bound: Bound| Bound { min: -bound.max, max: -bound.min };
        let [mut a, mut b, mut c] = [a, b, c].map(|part| self.const_int_bound(store, part));
        let mut d = negated(match d {
            Some(d) => self.const_int_bound(store, d),
            None => Bound { min: 1, max: 1 },
        });
        let from_above = d.max < 0;
        if from_above {
            (c, d) = (negated(c), negated(d));
        }
        if c.max < 0 {
            (a, b, c) = (negated(a), negated(b), negated(c));
        }
        if [a, b, c, d].iter().any(|bound| bound.min <= 0) || d.max == Bound::INF {
            return Comparison::UNKNOWN;
        }
        let finite = a.max != Bound::INF && b.max != Bound::INF;
        let single = a.max.min(b.max).wrapping_mul(d.max) <= c.min;
        let both = || a.max.wrapping_mul(b.max).wrapping_mul(d.max) < c.min.wrapping_mul(a.max.wrapping_add(b.max));
        match (single || (finite && both()), from_above) {
            (false, _) => Comparison::UNKNOWN,
            (true, true) => Comparison::LT,
            (true, false) => Comparison::GT,
        }
    }

    /// Simplifies `a != b` of simplified operands.
    pub(super) fn unequal(&mut self, store: &mut Store, a: PrimId, b: PrimId, mode: Mode) -> PrimId {
        let whole = store.prim_binary(PrimOp::Ne, a, b);
        if is_index(store.prim_dtype(a)) {
            match self.compare(store, a, b, mode) {
                Comparison::NE | Comparison::GT | Comparison::LT => return truth(store, whole, true),
                Comparison::EQ => return truth(store, whole, false),
                // If `a` is at least `b`, they are unequal exactly if `a` is larger.
                Comparison::GE => return self.by_rules(store, PrimOp::Lt, b, a, mode),
                Comparison::LE => return self.by_rules(store, PrimOp::Lt, a, b, mode),
                _ => {}
            }
        }
        let equal = self.by_rules(store, PrimOp::Eq, a, b, mode);
        self.not_by_rules(store, equal, mode)
    }

    /// Simplifies `a <= b` of simplified operands. Rules come first: `a <= b * x` becomes a quotient rounded up.
    pub(super) fn at_most(&mut self, store: &mut Store, a: PrimId, b: PrimId, mode: Mode) -> PrimId {
        let greater = self.by_rules(store, PrimOp::Lt, b, a, mode);
        let result = self.not_by_rules(store, greater, mode);
        let PrimExpr::Binary { op: PrimOp::Le, a, b } = *store.prim_of_id(result) else { return result };
        if !is_index(store.prim_dtype(a)) {
            return result;
        }
        match self.compare(store, a, b, mode) {
            Comparison::LE | Comparison::LT | Comparison::EQ => truth(store, result, true),
            Comparison::GT => truth(store, result, false),
            Comparison::NE => self.by_rules(store, PrimOp::Lt, a, b, mode),
            Comparison::GE => self.by_rules(store, PrimOp::Eq, a, b, mode),
            _ => result,
        }
    }

    fn by_rules(&mut self, store: &mut Store, op: PrimOp, a: PrimId, b: PrimId, mode: Mode) -> PrimId {
        let whole = store.prim_binary(op, a, b);
        self.apply(store, op as usize, a, b, whole, mode)
    }

    fn not_by_rules(&mut self, store: &mut Store, value: PrimId, mode: Mode) -> PrimId {
        let whole = store.prim(PrimExpr::Not(value));
        self.apply(store, table::NOT, value, value, whole, mode)
    }

    /// Applies the rule of `<` that brings numbers to one side: `x + 3 < y + 5` is `x < y + 2`.
    pub(super) fn less_of_offsets(&mut self, store: &mut Store, a: PrimId, b: PrimId, mode: Mode) -> Option<PrimId> {
        let ((x, c), (y, d)) = (offset(store, a), offset(store, b));
        if c == 0 && d == 0 {
            return None;
        }
        let more = d.wrapping_sub(c);
        let result = if more == 0 {
            binary(store, PrimOp::Lt, x, y)
        } else if more == 1 {
            binary(store, PrimOp::Le, x, y)
        } else if more < 0 && d != 0 {
            let number = store.prim_int(more.wrapping_neg(), store.prim_dtype(x));
            let x = binary(store, PrimOp::Add, x, number);
            binary(store, PrimOp::Lt, x, y)
        } else if more > 0 && c != 0 {
            let number = store.prim_int(more, store.prim_dtype(y));
            let y = binary(store, PrimOp::Add, y, number);
            binary(store, PrimOp::Lt, x, y)
        } else {
            return None;
        };
        Some(self.again(store, result, mode))
    }
}

/// Returns an expression and the number that is added to it; of `number - x` TVM takes `x`, too.
fn offset(store: &Store, id: PrimId) -> (PrimId, i64) {
    match *store.prim_of_id(id) {
        PrimExpr::Binary { op: op @ (PrimOp::Add | PrimOp::Sub), a, b } => match (store.as_prim_int(a), store.as_prim_int(b)) {
            (_, Some(number)) => (a, if op == PrimOp::Add { number } else { number.wrapping_neg() }),
            (Some(number), _) if op == PrimOp::Sub => (b, number),
            _ => (id, 0),
        },
        _ => (id, 0),
    }
}

/// Returns the parts of `(a + b) * c + a * b * d`, in any order; no `d` is 1.
fn product_and_sum(store: &Store, id: PrimId) -> Option<(PrimId, PrimId, PrimId, Option<PrimId>)> {
    let PrimExpr::Binary { op: PrimOp::Add, a: left, b: right } = *store.prim_of_id(id) else { return None };
    let pair = |op, id| match *store.prim_of_id(id) {
        PrimExpr::Binary { op: found, a, b } if found == op => Some((a, b)),
        _ => None,
    };
    for with_factor in [true, false] {
        for (sum, product) in [(left, right), (right, left)] {
            let Some((sum, c)) = pair(PrimOp::Mul, sum) else { continue };
            let Some((a, b)) = pair(PrimOp::Add, sum) else { continue };
            let (product, d) = match pair(PrimOp::Mul, product) {
                Some((product, d)) if with_factor => (product, Some(d)),
                _ => (product, None),
            };
            if let Some((x, y)) = pair(PrimOp::Mul, product)
                && ((x, y) == (a, b) || (x, y) == (b, a))
            {
                return Some((a, b, c, d));
            }
        }
    }
    None
}
