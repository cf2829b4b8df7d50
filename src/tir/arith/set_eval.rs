//! The values that an expression takes while its variables run (`IntervalSetEvaluator` in TVM's `src/arith/int_set.cc`).

use super::set::{Domains, End, IntSet, plus};
use super::{Analyzer, DEEPEST, modular};
use crate::ir::{DTypeCode, Id, PrimExpr, PrimId, PrimOp, Store, Symbol};
use crate::tir::build::{binary, cast, negate};
use rustc_hash::FxHashMap;

/// Returns the values of an expression where variables are in `domains`.
pub fn eval_set(store: &mut Store, expr: PrimId, domains: &Domains) -> IntSet {
    Evaluator::new(&mut Analyzer::new(), domains).eval(store, expr)
}

/// The same, simplifying and proving with the facts of `analyzer`.
pub fn eval_set_with(store: &mut Store, analyzer: &mut Analyzer, expr: PrimId, domains: &Domains) -> IntSet {
    Evaluator::new(analyzer, domains).eval(store, expr)
}

/// Returns the values in a range whose ends move.
pub fn eval_range(store: &mut Store, min: PrimId, extent: PrimId, domains: &Domains) -> IntSet {
    let analyzer = &mut Analyzer::new();
    let one = store.prim_int(1, store.prim_dtype(extent));
    if analyzer.can_prove_equal(store, extent, one) {
        return eval_set(store, min, domains);
    }
    let end = binary(store, PrimOp::Add, min, extent);
    let last = plus(store, end, -1);
    let last = analyzer.simplify(store, last);
    Evaluator::new(analyzer, domains).relax(store, IntSet::between(min, last))
}

/// Returns the values in each range of a region whose ends move.
pub fn eval_region(store: &mut Store, region: &[(PrimId, PrimId)], domains: &Domains) -> Vec<IntSet> {
    let analyzer = &mut Analyzer::new();
    let mut found = Vec::new();
    for &(min, extent) in region {
        let before = plus(store, extent, -1);
        let last = binary(store, PrimOp::Add, min, before);
        let last = analyzer.simplify(store, last);
        found.push(Evaluator::new(analyzer, domains).relax(store, IntSet::between(min, last)));
    }
    found
}

/// Returns the values in a set whose ends move.
pub fn eval_int_set(store: &mut Store, set: IntSet, domains: &Domains) -> IntSet {
    let analyzer = &mut Analyzer::new();
    let mut evaluator = Evaluator::new(analyzer, domains);
    let max = set.upper().map_or(set.max, |max| evaluator.eval(store, max).max);
    let min = set.lower().map_or(set.min, |min| evaluator.eval(store, min).min);
    IntSet { min, max }
}

/// Returns the values of all lanes of a vector; of anything else itself.
pub fn lanes_of(store: &mut Store, expr: PrimId) -> IntSet {
    if store.prim_dtype(expr).lanes == 1 {
        return IntSet::single(expr);
    }
    let (analyzer, domains) = (&mut Analyzer::new(), Domains::default());
    let mut evaluator = Evaluator { vectors: true, ..Evaluator::new(analyzer, &domains) };
    evaluator.eval(store, expr)
}

/// Returns each variable of a list of ranges with the values that it takes.
pub fn domains_of(store: &mut Store, ranges: &[(Id<Symbol>, (PrimId, PrimId))]) -> Domains {
    ranges.iter().map(|(var, (min, extent))| (*var, IntSet::from_range(store, *min, *extent))).collect()
}

/// Returns the values of an expression and of each expression in it.
pub fn eval_each(store: &mut Store, expr: PrimId, domains: &Domains) -> FxHashMap<PrimId, IntSet> {
    let analyzer = &mut Analyzer::new();
    let mut evaluator = Evaluator { seen: Some(FxHashMap::default()), ..Evaluator::new(analyzer, domains) };
    evaluator.eval(store, expr);
    evaluator.seen.unwrap_or_default()
}

struct Evaluator<'a> {
    analyzer: &'a mut Analyzer,
    domains: &'a Domains,
    vectors: bool,
    /// Sets within which others are being relaxed.
    depth: usize,
    relaxed: FxHashMap<Id<Symbol>, IntSet>,
    under_way: Vec<Id<Symbol>>,
    seen: Option<FxHashMap<PrimId, IntSet>>,
}

impl<'a> Evaluator<'a> {
    fn new(analyzer: &'a mut Analyzer, domains: &'a Domains) -> Evaluator<'a> {
        Evaluator {
            analyzer,
            domains,
            vectors: false,
            depth: 0,
            relaxed: FxHashMap::default(),
            under_way: Vec::new(),
            seen: None,
        }
    }

    fn eval(&mut self, store: &mut Store, id: PrimId) -> IntSet {
        if store.prim_depth(id) > DEEPEST {
            return IntSet::EVERYTHING;
        }
        let set = self.node(store, id);
        if let Some(seen) = &mut self.seen {
            seen.insert(id, set);
        }
        set
    }

    fn end(&mut self, store: &mut Store, end: End) -> IntSet {
        match end {
            End::At(value) => self.eval(store, value),
            infinite => IntSet { min: infinite, max: infinite },
        }
    }

    /// Returns a set over the sets of its ends.
    fn relax(&mut self, store: &mut Store, set: IntSet) -> IntSet {
        if self.depth >= self.domains.len().min(usize::from(DEEPEST)) {
            return set;
        }
        self.depth += 1;
        let (min, max) = (self.end(store, set.min), self.end(store, set.max));
        self.depth -= 1;
        IntSet { min: min.min, max: max.max }
    }

    fn node(&mut self, store: &mut Store, id: PrimId) -> IntSet {
        match *store.prim_rc(id) {
            PrimExpr::Int { .. } => IntSet::single(id),
            PrimExpr::Var(symbol) => self.variable(store, symbol, id),
            PrimExpr::Binary { op, a, b } => {
                let (left, right) = (self.eval(store, a), self.eval(store, b));
                if left == IntSet::single(a) && right == IntSet::single(b) {
                    return IntSet::single(id);
                }
                self.combine(store, op, left, right, id)
            }
            PrimExpr::Ramp { base, stride, lanes } if self.vectors => {
                let set = self.eval(store, base);
                let Some(stride) = store.as_prim_int(stride) else { return IntSet::EVERYTHING };
                let dtype = store.prim_dtype(base);
                let scalable = lanes & crate::ir::DType::SCALABLE != 0;
                let zero = store.prim_int(0, dtype);
                let last = store.prim_int(stride.wrapping_mul(i64::from(lanes) - 1), dtype);
                let steps = match (scalable, stride > 0) {
                    (false, true) => IntSet::between(zero, last),
                    (false, false) => IntSet::between(last, zero),
                    (true, true) => IntSet { min: End::At(zero), max: End::PosInf },
                    (true, false) => IntSet { min: End::NegInf, max: End::At(zero) },
                };
                self.combine(store, PrimOp::Add, set, steps, id)
            }
            PrimExpr::Broadcast { value, .. } if self.vectors => self.eval(store, value),
            PrimExpr::Select { then, other, .. } => {
                let then = self.eval(store, then);
                let other = self.eval(store, other);
                other.hull(store, then)
            }
            PrimExpr::Cast { dtype, value } => {
                let set = self.eval(store, value);
                if set.is_nothing() {
                    return set;
                }
                IntSet {
                    min: set.min.map(|value| cast(store, dtype, value)),
                    max: set.max.map(|value| cast(store, dtype, value)),
                }
            }
            PrimExpr::Load { buffer, ref indices } => {
                let integer = matches!(store.buffer(buffer).dtype.code, DTypeCode::Int | DTypeCode::UInt);
                let fixed = indices.iter().all(|index| {
                    let mut moves = false;
                    store.for_each_prim(*index, &mut |_, expr| {
                        moves |= matches!(expr, PrimExpr::Var(symbol) if self.domains.contains_key(symbol));
                    });
                    !moves
                });
                if integer && fixed { IntSet::single(id) } else { IntSet::EVERYTHING }
            }
            PrimExpr::Call { op, .. } if store.str(op) == "vscale" => IntSet::single(id),
            _ => IntSet::EVERYTHING,
        }
    }

    fn variable(&mut self, store: &mut Store, symbol: Id<Symbol>, id: PrimId) -> IntSet {
        let Some(&set) = self.domains.get(&symbol) else { return IntSet::single(id) };
        if set == IntSet::single(id) || self.under_way.contains(&symbol) {
            return set;
        }
        if let Some(known) = self.relaxed.get(&symbol) {
            return *known;
        }
        self.under_way.push(symbol);
        let relaxed = self.relax(store, set);
        self.under_way.pop();
        self.relaxed.insert(symbol, relaxed);
        relaxed
    }

    /// Returns the values of `x op y` for x in one set and y in the other; `id` is that expression.
    fn combine(&mut self, store: &mut Store, op: PrimOp, a: IntSet, b: IntSet, id: PrimId) -> IntSet {
        if let (Some(a), Some(b)) = (a.point(), b.point()) {
            return IntSet::single(binary(store, op, a, b));
        }
        if op.is_logic() {
            let dtype = store.prim_dtype(id);
            let (no, yes) = (store.prim_int(0, dtype), store.prim_int(1, dtype));
            return IntSet::between(no, yes);
        }
        if a.is_nothing() || b.is_nothing() {
            return if a.is_nothing() { a } else { b };
        }
        let mut ends = |op, x: End, y: End, none| match (x, y) {
            (End::At(x), End::At(y)) => End::At(binary(store, op, x, y)),
            _ => none,
        };
        match op {
            PrimOp::Add => IntSet { min: ends(op, a.min, b.min, End::NegInf), max: ends(op, a.max, b.max, End::PosInf) },
            PrimOp::Sub => IntSet { min: ends(op, a.min, b.max, End::NegInf), max: ends(op, a.max, b.min, End::PosInf) },
            PrimOp::Min | PrimOp::Max => {
                IntSet { min: End::extreme(store, op, a.min, b.min), max: End::extreme(store, op, a.max, b.max) }
            }
            PrimOp::Mul => match (a.point(), b.point()) {
                (Some(factor), _) => self.scaled(store, op, b, factor),
                (_, Some(factor)) => self.scaled(store, op, a, factor),
                _ => IntSet::EVERYTHING,
            },
            PrimOp::Div | PrimOp::FloorDiv => match b.point() {
                Some(divisor) => self.scaled(store, op, a, divisor),
                None => IntSet::EVERYTHING,
            },
            PrimOp::Mod | PrimOp::FloorMod => match b.point() {
                Some(divisor) => self.rest(store, op, a, divisor, id),
                None => IntSet::EVERYTHING,
            },
            _ => IntSet::EVERYTHING,
        }
    }

    /// Multiplies or divides values by one: the ends are exchanged for a negative one.
    fn scaled(&mut self, store: &mut Store, op: PrimOp, set: IntSet, by: PrimId) -> IntSet {
        match (op, store.as_prim_int(by)) {
            (PrimOp::Mul, Some(0)) => return IntSet::single(by),
            (PrimOp::Div | PrimOp::FloorDiv, Some(0)) => return IntSet::EVERYTHING,
            (_, Some(1)) => return set,
            _ => {}
        }
        if self.analyzer.can_prove_greater_equal(store, by, 0) {
            let mut at = |end: End| end.map(|value| binary(store, op, value, by));
            return IntSet { min: at(set.min), max: at(set.max) };
        }
        let opposite = negate(store, by);
        if self.analyzer.can_prove_greater_equal(store, opposite, 1) {
            let min = set.max.value().map_or(End::NegInf, |value| End::At(binary(store, op, value, by)));
            let max = set.min.value().map_or(End::PosInf, |value| End::At(binary(store, op, value, by)));
            return IntSet { min, max };
        }
        let (End::At(min), End::At(max)) = (set.min, set.max) else { return IntSet::EVERYTHING };
        let zero = store.prim_int(0, store.prim_dtype(by).element());
        let sign = binary(store, PrimOp::Ge, by, zero);
        let (first, last) = (binary(store, op, min, by), binary(store, op, max, by));
        let least = store.prim(PrimExpr::Select { cond: sign, then: first, other: last });
        let most = store.prim(PrimExpr::Select { cond: sign, then: last, other: first });
        IntSet::between(least, most)
    }

    /// Returns the set of remainders of a division by one value.
    fn rest(&mut self, store: &mut Store, op: PrimOp, set: IntSet, divisor: PrimId, id: PrimId) -> IntSet {
        if store.as_prim_int(divisor) == Some(0) {
            return IntSet::EVERYTHING;
        }
        if !self.analyzer.can_prove_greater_equal(store, divisor, 0) {
            let size = crate::tir::math::absolute(store, divisor);
            let most = plus(store, size, -1);
            let least = negate(store, most);
            return IntSet::between(least, most);
        }
        if let (PrimOp::FloorMod, Some(number)) = (op, store.as_prim_int(divisor)) {
            if let (End::At(min), End::At(max)) = (set.min, set.max) {
                let first = binary(store, PrimOp::FloorDiv, min, divisor);
                let last = binary(store, PrimOp::FloorDiv, max, divisor);
                let same = binary(store, PrimOp::Eq, last, first);
                if self.analyzer.can_prove(store, same) {
                    let whole = binary(store, PrimOp::Mul, divisor, first);
                    let (min, max) = (binary(store, PrimOp::Sub, min, whole), binary(store, PrimOp::Sub, max, whole));
                    return IntSet::between(min, max);
                }
            }
            if let PrimExpr::Binary { a, .. } = *store.prim_of_id(id) {
                let known = self.analyzer.modular_set(store, a);
                let gcd = modular::gcd(known.coeff, number);
                if known.coeff > 0 && gcd > 1 && number % gcd == 0 {
                    let most = (number / gcd - 1) * gcd + known.base % gcd;
                    if most >= 0 && most < number {
                        let dtype = store.prim_dtype(id);
                        let (zero, most) = (store.prim_int(0, dtype), store.prim_int(most, dtype));
                        return IntSet::between(zero, most);
                    }
                }
            }
        }
        let zero = store.prim_int(0, store.prim_dtype(divisor));
        let most = plus(store, divisor, -1);
        IntSet::between(zero, most)
    }
}
