//! Simplifies integer expressions: a normal form for sums, bounds, equality (TVM's `arith::Analyzer`, after
//! `src/arith/canonical_simplify.cc` and `const_int_bound.cc`).
//!
//! A sum is a number and terms `(index % upper // lower) * scale`, kept apart by index, and written with the largest
//! scale first and negative ones last. Of TVM's rewriting rules it has those that the normal form implies and those of
//! comparisons ([`order`]); quotients that round towards zero are left alone.

use super::build::{binary, cast};
use crate::ir::sort::sort_by;
use crate::ir::{DType, DTypeCode, IdMap, PrimExpr, PrimId, PrimOp, Store, Symbol};

const INF: i64 = i64::MAX;

/// The facts about variables.
#[derive(Clone, Default)]
pub struct Facts {
    /// The least and the greatest value of variables.
    ranges: IdMap<Symbol, (i64, i64)>,
}

impl Facts {
    /// Makes an empty set of facts.
    pub fn new() -> Facts {
        Facts::default()
    }

    /// Says that a variable is not negative, as extents in a signature are.
    pub fn assume_natural(&mut self, symbol: crate::ir::Id<Symbol>) {
        self.assume_between(symbol, 0, INF);
    }

    /// Says that a variable is between two values, both included.
    pub fn assume_between(&mut self, symbol: crate::ir::Id<Symbol>, least: i64, most: i64) {
        self.ranges.insert(symbol, (least, most));
    }
}

/// `(index % upper // lower) * scale`
#[derive(Clone, Debug)]
struct Term {
    index: PrimId,
    lower: i64,
    upper: i64,
    scale: i64,
}

#[derive(Clone, Debug, Default)]
struct Sum {
    terms: Vec<Term>,
    base: i64,
}

impl Sum {
    /// Adds `term * scale`. Terms of one index stand together, those with the larger divisor first.
    fn add(&mut self, term: &Term, scale: i64) {
        let Some(scale) = term.scale.checked_mul(scale).filter(|scale| *scale != 0) else { return };
        let start = self.terms.iter().position(|t| t.index == term.index).unwrap_or(self.terms.len());
        for j in start..self.terms.len() {
            let other = &mut self.terms[j];
            if other.index != term.index || term.lower > other.lower {
                self.terms.insert(j, Term { scale, ..term.clone() });
                return;
            }
            if (other.lower, other.upper) == (term.lower, term.upper) {
                other.scale = other.scale.wrapping_add(scale);
                return;
            }
        }
        self.terms.push(Term { scale, ..term.clone() });
    }

    /// Merges `x // 2 * 2 + x % 2` to `x`.
    fn merge(&mut self) {
        for i in 0..self.terms.len() {
            for j in i + 1..self.terms.len() {
                let (a, b) = (self.terms[i].clone(), &mut self.terms[j]);
                if a.scale == 0 || a.index != b.index || a.upper < b.lower {
                    break;
                }
                let ratio = a.scale.checked_div(b.scale).filter(|ratio| ratio.checked_mul(b.scale) == Some(a.scale));
                let fits = ratio.is_some_and(|ratio| ratio.checked_mul(b.lower) == Some(a.lower));
                if a.lower == b.upper && fits {
                    b.upper = a.upper;
                    self.terms[i].scale = 0;
                    break;
                }
            }
        }
    }

    fn times(mut self, factor: i64) -> Option<Sum> {
        self.base = self.base.checked_mul(factor)?;
        for term in &mut self.terms {
            term.scale = term.scale.checked_mul(factor)?;
        }
        Some(self)
    }
}

fn is_index(dtype: DType) -> bool {
    dtype.code == DTypeCode::Int && matches!(dtype.bits, 32 | 64) && dtype.lanes == 1
}

struct Simplifier<'a> {
    store: &'a mut Store,
    facts: &'a Facts,
    done: IdMap<PrimExpr, PrimId>,
    /// True if factors get one order, so that equal products are one; otherwise they stay as they are written.
    commute: bool,
}

/// Returns the expression in normal form.
pub fn simplify(store: &mut Store, facts: &Facts, root: PrimId) -> PrimId {
    run(store, facts, root, false)
}

fn run(store: &mut Store, facts: &Facts, root: PrimId, commute: bool) -> PrimId {
    let mut order = Vec::new();
    store.for_each_prim(root, &mut |id, _| order.push(id));
    let mut simplifier = Simplifier { store, facts, done: IdMap::new(), commute };
    for id in order {
        let result = simplifier.step(id);
        simplifier.done.insert(id, result);
    }
    simplifier.done.get(root).copied().unwrap_or(root)
}

/// True if two expressions are provably equal for all values of their variables.
pub fn can_prove_equal(store: &mut Store, facts: &Facts, a: PrimId, b: PrimId) -> bool {
    if a == b {
        return true;
    }
    if !is_index(store.prim_dtype(a)) || !is_index(store.prim_dtype(b)) {
        return false;
    }
    let difference = binary(store, PrimOp::Sub, a, b);
    let difference = run(store, facts, difference, true);
    store.as_prim_int(difference) == Some(0)
}

/// Returns the least and the greatest value; the ends of 64 bits where nothing is known.
pub fn bounds(store: &Store, facts: &Facts, root: PrimId) -> (i64, i64) {
    let mut known: IdMap<PrimExpr, (i64, i64)> = IdMap::new();
    store.for_each_prim(root, &mut |id, expr| {
        let of = |id: PrimId| known.get(id).copied().unwrap_or((-INF, INF));
        let result = match *expr {
            PrimExpr::Int { value, .. } => (value, value),
            PrimExpr::Var(symbol) => match facts.ranges.get(symbol) {
                Some(range) => *range,
                None if store.symbol(symbol).size => (0, INF),
                None => (-INF, INF),
            },
            PrimExpr::Binary { op, a, b } => bounds_of(op, of(a), of(b)),
            PrimExpr::Select { then, other, .. } => (of(then).0.min(of(other).0), of(then).1.max(of(other).1)),
            PrimExpr::Cast { dtype, value } if is_index(dtype) && is_index(store.prim_dtype(value)) => of(value),
            PrimExpr::Cast { dtype, value } if is_index(dtype) => range_of(store.prim_dtype(value)),
            _ => (-INF, INF),
        };
        known.insert(id, result);
    });
    known.get(root).copied().unwrap_or((-INF, INF))
}

/// Returns the range of a type, if it is small.
fn range_of(dtype: DType) -> (i64, i64) {
    match (dtype.code, dtype.bits) {
        (DTypeCode::UInt, bits @ 1..=32) => (0, (1 << bits) - 1),
        (DTypeCode::Int, bits @ 1..=16) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        _ => (-INF, INF),
    }
}

/// Returns a product where infinity times zero is zero.
fn scaled(a: i64, b: i64) -> i64 {
    if a == 0 || b == 0 {
        return 0;
    }
    let infinite = a == INF || a == -INF || b == INF || b == -INF;
    let sign = if (a < 0) == (b < 0) { INF } else { -INF };
    if infinite { sign } else { a.checked_mul(b).unwrap_or(sign) }
}

fn total(a: i64, b: i64) -> i64 {
    match (a, b) {
        (INF, _) | (_, INF) => INF,
        (n, _) | (_, n) if n == -INF => -INF,
        _ => a.saturating_add(b),
    }
}

fn bounds_of(op: PrimOp, a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    let corners = |values: [i64; 4]| (values.into_iter().min().unwrap_or(-INF), values.into_iter().max().unwrap_or(INF));
    match op {
        PrimOp::Add => (total(a.0, b.0), total(a.1, b.1)),
        PrimOp::Sub => (total(a.0, b.1.saturating_neg()), total(a.1, b.0.saturating_neg())),
        PrimOp::Mul => corners([scaled(a.0, b.0), scaled(a.0, b.1), scaled(a.1, b.0), scaled(a.1, b.1)]),
        PrimOp::Min => (a.0.min(b.0), a.1.min(b.1)),
        PrimOp::Max => (a.0.max(b.0), a.1.max(b.1)),
        PrimOp::FloorDiv if b.0 > 0 => {
            let divide = |x: i64, y: i64| match (x, y) {
                (INF | i64::MIN, _) => x,
                (x, _) if x == -INF => x,
                (_, INF) => {
                    if x < 0 {
                        -1
                    } else {
                        0
                    }
                }
                _ => x.div_euclid(y),
            };
            corners([divide(a.0, b.0), divide(a.0, b.1), divide(a.1, b.0), divide(a.1, b.1)])
        }
        PrimOp::FloorMod if b.0 > 0 => {
            let most = if b.1 == INF { INF } else { b.1 - 1 };
            if a.0 >= 0 { if a.1 < b.0 { a } else { (0, most.min(a.1)) } } else { (0, most) }
        }
        PrimOp::Mod if b.0 > 0 && b.1 < INF => (if a.0 >= 0 { 0 } else { 1 - b.1 }, b.1 - 1),
        _ if op.is_logic() => (0, 1),
        _ => (-INF, INF),
    }
}

impl Simplifier<'_> {
    fn new_of(&self, id: PrimId) -> PrimId {
        self.done.get(id).copied().unwrap_or(id)
    }

    /// Simplifies an expression whose operands are simplified.
    fn step(&mut self, id: PrimId) -> PrimId {
        let expr = self.store.prim_rc(id);
        match *expr {
            PrimExpr::Binary { op, a, b } => {
                let (a, b) = (self.new_of(a), self.new_of(b));
                if is_index(self.store.prim_dtype(a)) { self.index_binary(op, a, b) } else { self.other_binary(op, a, b) }
            }
            PrimExpr::Not(value) => {
                let value = self.new_of(value);
                order::not(self.store, value)
            }
            PrimExpr::Cast { dtype, value } => {
                let value = self.new_of(value);
                cast(self.store, dtype, value)
            }
            PrimExpr::Select { cond, then, other } => {
                let (cond, then, other) = (self.new_of(cond), self.new_of(then), self.new_of(other));
                match self.store.as_prim_int(cond) {
                    Some(0) => other,
                    Some(_) => then,
                    None if then == other => then,
                    None => {
                        let then = choice::decided(self.store, then, cond, true);
                        let other = choice::decided(self.store, other, cond, false);
                        self.store.prim(PrimExpr::Select { cond, then, other })
                    }
                }
            }
            PrimExpr::Call { op, ref args, dtype } => {
                let args = args.iter().map(|arg| self.new_of(*arg)).collect();
                self.store.prim(PrimExpr::Call { op, args, dtype })
            }
            PrimExpr::Load { buffer, ref indices } => {
                let indices = indices.iter().map(|index| self.new_of(*index)).collect();
                self.store.prim(PrimExpr::Load { buffer, indices })
            }
            _ => id,
        }
    }

    /// Simplifies an operation on truth values, floats and the like.
    fn other_binary(&mut self, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
        match op {
            PrimOp::Gt => binary(self.store, PrimOp::Lt, b, a),
            PrimOp::Ge => binary(self.store, PrimOp::Le, b, a),
            // Conjunctions lean to the left.
            PrimOp::And | PrimOp::Or => {
                let (mut result, mut todo) = (a, vec![b]);
                while let Some(next) = todo.pop() {
                    match *self.store.prim_of_id(next) {
                        PrimExpr::Binary { op: inner, a: x, b: y } if inner == op => todo.extend([y, x]),
                        _ => result = binary(self.store, op, result, next),
                    }
                }
                result
            }
            PrimOp::Sub => self.cancelled(a, b).unwrap_or_else(|| binary(self.store, op, a, b)),
            _ => binary(self.store, op, a, b),
        }
    }

    /// Returns a difference of floats one of whose sides has the other as a summand.
    fn cancelled(&mut self, a: PrimId, b: PrimId) -> Option<PrimId> {
        let dtype = self.store.prim_dtype(a);
        if !dtype.is_float() {
            return None;
        }
        let without = |sum: PrimId, part: PrimId| match *self.store.prim_of_id(sum) {
            PrimExpr::Binary { op: PrimOp::Add, a, b } if b == part => Some(a),
            PrimExpr::Binary { op: PrimOp::Add, a, b } if a == part => Some(b),
            _ => None,
        };
        let (left, right) = (without(a, b), without(b, a));
        let zero = self.store.prim_float(0.0, dtype);
        match (left, right) {
            _ if a == b => Some(zero),
            (Some(left), _) => Some(left),
            (None, Some(right)) => Some(binary(self.store, PrimOp::Sub, zero, right)),
            (None, None) => None,
        }
    }

    /// Multiplies an expression by a number. One that is no sum keeps a negative factor.
    fn multiple(&mut self, a: PrimId, factor: i64) -> PrimId {
        let dtype = self.store.prim_dtype(a);
        let is_sum = matches!(*self.store.prim_of_id(a), PrimExpr::Binary { op: PrimOp::Add | PrimOp::Sub, .. });
        let number = self.store.prim_int(factor, dtype);
        match self.sum(a).times(factor) {
            Some(sum) => match &sum.terms[..] {
                [term] if !is_sum && sum.base == 0 && term.scale < 0 && term.scale > i64::MIN => {
                    let positive = Term { scale: 1, ..term.clone() };
                    let scale = self.store.prim_int(term.scale, dtype);
                    let value = self.write_term(&positive, dtype);
                    binary(self.store, PrimOp::Mul, value, scale)
                }
                _ => self.write(sum, dtype),
            },
            None => binary(self.store, PrimOp::Mul, a, number),
        }
    }

    /// Makes a product of non-constant expressions: the factors in their order, numbers last.
    fn product(&mut self, a: PrimId, b: PrimId) -> PrimId {
        let mut factors = Vec::new();
        let mut scale = 1i64;
        let mut todo = vec![b, a];
        while let Some(id) = todo.pop() {
            match *self.store.prim_of_id(id) {
                PrimExpr::Binary { op: PrimOp::Mul, a, b } => todo.extend([b, a]),
                PrimExpr::Int { value, .. } => scale = scale.wrapping_mul(value),
                _ => factors.push(id),
            }
        }
        if self.commute {
            sort_by(&mut factors, |a, b| a.cmp(b));
        }
        let one = self.store.prim_int(1, self.store.prim_dtype(a));
        let product = factors.into_iter().fold(one, |product, factor| binary(self.store, PrimOp::Mul, product, factor));
        let scale = self.store.prim_int(scale, self.store.prim_dtype(a));
        binary(self.store, PrimOp::Mul, product, scale)
    }

    fn index_binary(&mut self, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
        let dtype = self.store.prim_dtype(a);
        let sum = match op {
            PrimOp::Add | PrimOp::Sub => {
                let sign = if op == PrimOp::Add { 1 } else { -1 };
                self.plus(a, b, sign)
            }
            PrimOp::Mul => match (self.store.as_prim_int(a), self.store.as_prim_int(b)) {
                (_, Some(factor)) => return self.multiple(a, factor),
                (Some(factor), _) => return self.multiple(b, factor),
                _ => return self.product(a, b),
            },
            PrimOp::Div => self.store.as_prim_int(b).filter(|c| *c > 0).and_then(|c| self.exact(a, c)),
            PrimOp::FloorDiv | PrimOp::FloorMod => match self.store.as_prim_int(b) {
                Some(c) if c > 0 => self.divided(op, a, c),
                _ => None,
            },
            PrimOp::Min | PrimOp::Max | PrimOp::Lt | PrimOp::Le | PrimOp::Gt | PrimOp::Ge | PrimOp::Eq | PrimOp::Ne => {
                return self.compared(op, a, b);
            }
            _ => None,
        };
        match sum {
            Some(sum) => self.write(sum, dtype),
            None => binary(self.store, op, a, b),
        }
    }

    fn plus(&mut self, a: PrimId, b: PrimId, sign: i64) -> Option<Sum> {
        let mut sum = self.sum(a);
        let other = self.sum(b);
        for term in &other.terms {
            sum.add(term, sign);
        }
        sum.base = sum.base.checked_add(other.base.checked_mul(sign)?)?;
        self.within_extreme(sum, self.store.prim_dtype(a))
    }

    /// Returns the minimum, maximum or truth that follows from the bounds of the difference.
    fn compared(&mut self, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
        let dtype = self.store.prim_dtype(a);
        if let Some(difference) = self.plus(a, b, -1) {
            let difference = self.write(difference, dtype);
            let (least, most) = bounds(self.store, self.facts, difference);
            let truth = match op {
                PrimOp::Max if least >= 0 => return a,
                PrimOp::Max if most <= 0 => return b,
                PrimOp::Min if least >= 0 => return b,
                PrimOp::Min if most <= 0 => return a,
                PrimOp::Lt if most < 0 => Some(1),
                PrimOp::Lt if least >= 0 => Some(0),
                PrimOp::Le if most <= 0 => Some(1),
                PrimOp::Le if least > 0 => Some(0),
                PrimOp::Gt if least > 0 => Some(1),
                PrimOp::Gt if most <= 0 => Some(0),
                PrimOp::Ge if least >= 0 => Some(1),
                PrimOp::Ge if most < 0 => Some(0),
                PrimOp::Eq if (least, most) == (0, 0) => Some(1),
                PrimOp::Eq if least > 0 || most < 0 => Some(0),
                PrimOp::Ne if (least, most) == (0, 0) => Some(0),
                PrimOp::Ne if least > 0 || most < 0 => Some(1),
                _ => None,
            };
            if let Some(truth) = truth {
                return self.store.prim_int(truth, DType::BOOL);
            }
            // If one side cannot be less, the two are unequal exactly if it is greater.
            match op {
                PrimOp::Ne if least >= 0 => return order::less(self.store, b, a),
                PrimOp::Ne if most <= 0 => return order::less(self.store, a, b),
                _ => {}
            }
        }
        match op {
            PrimOp::Min | PrimOp::Max => match self.scaled_extreme(op, a, b) {
                Some(scaled) => scaled,
                None => binary(self.store, op, a, b),
            },
            PrimOp::Lt => order::less(self.store, a, b),
            PrimOp::Gt => order::less(self.store, b, a),
            PrimOp::Le => order::at_most(self.store, a, b),
            PrimOp::Ge => order::at_most(self.store, b, a),
            PrimOp::Eq => order::equal(self.store, a, b),
            PrimOp::Ne => {
                let equal = order::equal(self.store, a, b);
                order::not(self.store, equal)
            }
            _ => binary(self.store, op, a, b),
        }
    }

    /// Reads a simplified expression as a sum.
    fn sum(&self, root: PrimId) -> Sum {
        let mut sum = Sum::default();
        let mut todo = vec![(root, 1)];
        while let Some((id, scale)) = todo.pop() {
            match *self.store.prim_of_id(id) {
                PrimExpr::Int { value, .. } => sum.base = sum.base.wrapping_add(value.wrapping_mul(scale)),
                PrimExpr::Binary { op: PrimOp::Add, a, b } => todo.extend([(b, scale), (a, scale)]),
                PrimExpr::Binary { op: PrimOp::Sub, a, b } => todo.extend([(b, scale.wrapping_neg()), (a, scale)]),
                PrimExpr::Binary { op: PrimOp::Mul, a, b } if self.store.as_prim_int(b).is_some() => {
                    todo.push((a, scale.wrapping_mul(self.store.as_prim_int(b).unwrap_or(1))));
                }
                _ => sum.add(&self.term(id), scale),
            }
        }
        sum
    }

    fn term(&self, id: PrimId) -> Term {
        let constant = |id| self.store.as_prim_int(id).filter(|c| *c > 0);
        let (mut index, mut lower, mut upper) = (id, 1, INF);
        if let PrimExpr::Binary { op: PrimOp::FloorDiv, a, b } = *self.store.prim_of_id(index)
            && let Some(c) = constant(b)
        {
            (index, lower) = (a, c);
        }
        if let PrimExpr::Binary { op: PrimOp::FloorMod, a, b } = *self.store.prim_of_id(index)
            && let Some(c) = constant(b).filter(|c| c % lower == 0)
        {
            (index, upper) = (a, c);
        }
        Term { index, lower, upper, scale: 1 }
    }

    /// Makes `a / c` if everything is divisible.
    fn exact(&mut self, a: PrimId, c: i64) -> Option<Sum> {
        let mut sum = self.sum(a);
        if sum.base % c != 0 || sum.terms.iter().any(|term| term.scale % c != 0) {
            return None;
        }
        sum.base /= c;
        sum.terms.iter_mut().for_each(|term| term.scale /= c);
        self.within_extreme(sum, self.store.prim_dtype(a))
    }

    /// Simplifies `a // c` or `a % c`: takes the divisible part out first.
    fn divided(&mut self, op: PrimOp, a: PrimId, c: i64) -> Option<Sum> {
        let dtype = self.store.prim_dtype(a);
        let sum = self.sum(a);
        let (mut whole, mut rest) = (Sum::default(), Sum::default());
        for term in &sum.terms {
            if term.scale % c == 0 { whole.terms.push(term.clone()) } else { rest.terms.push(term.clone()) }
        }
        if sum.base % c == 0 {
            whole.base = sum.base
        } else {
            rest.base = sum.base
        }
        for term in &mut whole.terms {
            term.scale /= c;
        }
        whole.base /= c;
        let division = op == PrimOp::FloorDiv;
        if rest.terms.is_empty() {
            let (quotient, remainder) = (rest.base.div_euclid(c), rest.base.rem_euclid(c));
            if division {
                whole.base += quotient;
                return Some(whole);
            }
            return Some(Sum { terms: Vec::new(), base: remainder });
        }
        let rest = self.write(rest, dtype);
        let (least, most) = bounds(self.store, self.facts, rest);
        let small = least >= 0 && most < c;
        if !division {
            return Some(if small { self.sum(rest) } else { Sum { terms: vec![self.modulo(rest, c)], base: 0 } });
        }
        if !small {
            let term = self.quotient(rest, c);
            whole.add(&term, 1);
        }
        Some(whole)
    }

    /// Makes `x // c` as a term, folded into one that divides already.
    fn quotient(&mut self, x: PrimId, c: i64) -> Term {
        let term = self.term(x);
        let lower = term.lower.checked_mul(c);
        match lower {
            Some(lower) if term.upper == INF || term.upper % lower == 0 => Term { lower, ..term },
            _ => Term { index: x, lower: c, upper: INF, scale: 1 },
        }
    }

    /// Makes `x % c` as a term.
    fn modulo(&mut self, x: PrimId, c: i64) -> Term {
        let term = self.term(x);
        match term.lower.checked_mul(c) {
            Some(upper) if term.upper == INF || term.upper % upper == 0 => Term { upper, ..term },
            Some(upper) if upper % term.upper == 0 => term,
            _ => Term { index: x, lower: 1, upper: c, scale: 1 },
        }
    }

    /// Returns the sum as an expression.
    fn write(&mut self, mut sum: Sum, dtype: DType) -> PrimId {
        sum.merge();
        sum.terms.retain(|term| term.scale != 0);
        sort_by(&mut sum.terms, |a, b| (b.scale, b.lower, b.upper).cmp(&(a.scale, a.lower, a.upper)));
        let mut result = self.store.prim_int(0, dtype);
        let base = sum.base;
        for positive in [true, false] {
            for term in sum.terms.iter().filter(|term| (term.scale > 0) == positive) {
                let value = self.write_term(term, dtype);
                result = binary(self.store, if positive { PrimOp::Add } else { PrimOp::Sub }, result, value);
            }
            if (base > 0) == positive && base != 0 {
                let op = if positive || base == i64::MIN { PrimOp::Add } else { PrimOp::Sub };
                let number = self.store.prim_int(if op == PrimOp::Add { base } else { -base }, dtype);
                result = binary(self.store, op, result, number);
            }
        }
        result
    }

    fn write_term(&mut self, term: &Term, dtype: DType) -> PrimId {
        let mut value = term.index;
        for (op, c) in [(PrimOp::FloorMod, term.upper), (PrimOp::FloorDiv, term.lower)] {
            if c != INF && c != 1 {
                let c = self.store.prim_int(c, dtype);
                value = binary(self.store, op, value, c);
            }
        }
        let scale = self.store.prim_int(term.scale.saturating_abs(), dtype);
        binary(self.store, PrimOp::Mul, value, scale)
    }
}

mod choice;
mod extreme;
mod order;
#[cfg(test)]
mod tests;
