//! Conditions on iterators, as bounds of sums of them.

use super::{Iters, Rewriter, Source};
use crate::ir::{DTypeCode, Id, PrimExpr, PrimId, PrimOp, Store, Symbol};
use crate::tir::arith::Analyzer;
use crate::tir::arith::set::plus;
use crate::tir::build::binary;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// `lower <= iter < upper`
pub(super) struct Constraint {
    iter: PrimId,
    lower: Option<PrimId>,
    upper: Option<PrimId>,
}

fn uses(store: &Store, expr: PrimId, of: &dyn Fn(Id<Symbol>) -> bool) -> bool {
    let mut found = false;
    store.for_each_prim(expr, &mut |_, node| found |= matches!(node, PrimExpr::Var(symbol) if of(*symbol)));
    found
}

/// True if no iterator occurs in the range of another.
pub(super) fn are_independent(store: &Store, iters: &Iters) -> bool {
    let is_iter = |symbol| iters.iter().any(|(var, _)| *var == symbol);
    !iters.iter().any(|(_, (min, extent))| uses(store, *min, &is_iter) || uses(store, *extent, &is_iter))
}

/// Returns the nodes of an expression, counted wherever they stand.
fn size(store: &Store, expr: PrimId) -> u64 {
    let mut sizes: FxHashMap<PrimId, u64> = FxHashMap::default();
    store.for_each_prim(expr, &mut |id, node| {
        let mut sum = 1u64;
        node.for_each_child(&mut |child| sum = sum.saturating_add(sizes.get(&child).copied().unwrap_or(1)));
        sizes.insert(id, sum);
    });
    sizes.get(&expr).copied().unwrap_or(1)
}

/// Returns the constraints that a condition consists of, the smaller ones first; those of single iterators make their
/// ranges narrower instead. Nothing where it is no conjunction of comparisons.
pub(super) fn of_predicate(
    store: &mut Store,
    predicate: PrimId,
    iters: &mut [(Id<Symbol>, (PrimId, PrimId))],
) -> Option<Vec<Constraint>> {
    let mut found = Vec::new();
    let mut rest = Some(predicate);
    while let Some(cond) = rest {
        let (part, others) = first_comparison(store, cond)?;
        rest = others;
        let PrimExpr::Binary { op, a, b } = *store.prim_of_id(part) else { return None };
        if ![a, b].iter().all(|side| matches!(store.prim_dtype(*side).code, DTypeCode::Int | DTypeCode::UInt)) {
            return None;
        }
        let names: Vec<Id<Symbol>> = iters.iter().map(|(var, _)| *var).collect();
        if let Some(constraint) = of_comparison(store, op, a, b, &|symbol| names.contains(&symbol)) {
            narrow(store, iters, constraint, &mut found);
        }
    }
    let mut sized: Vec<(u64, Constraint)> = found.into_iter().map(|found| (size(store, found.iter), found)).collect();
    crate::ir::sort::sort_by(&mut sized, |a, b| a.0.cmp(&b.0));
    Some(sized.into_iter().map(|(_, constraint)| constraint).collect())
}

/// Returns a comparison, and the rest of its conjunction: TVM looks for `<` first, then `<=`, `>` and `>=`.
fn first_comparison(store: &Store, cond: PrimId) -> Option<(PrimId, Option<PrimId>)> {
    let op_of = |id: PrimId| match *store.prim_of_id(id) {
        PrimExpr::Binary { op, .. } => Some(op),
        _ => None,
    };
    for wanted in [PrimOp::Lt, PrimOp::Le, PrimOp::Gt, PrimOp::Ge] {
        match *store.prim_of_id(cond) {
            PrimExpr::Binary { op: PrimOp::And, a, b } if op_of(b) == Some(wanted) => return Some((b, Some(a))),
            PrimExpr::Binary { op: PrimOp::And, a, b } if op_of(a) == Some(wanted) => return Some((a, Some(b))),
            PrimExpr::Binary { op, .. } if op == wanted => return Some((cond, None)),
            _ => {}
        }
    }
    None
}

fn of_comparison(
    store: &mut Store,
    op: PrimOp,
    a: PrimId,
    b: PrimId,
    is_iter: &dyn Fn(Id<Symbol>) -> bool,
) -> Option<Constraint> {
    let (left, right) = (uses(store, a, is_iter), uses(store, b, is_iter));
    // Moves the varying side to the left and its bound to the right.
    let (op, iter, bound) = match (left, right) {
        (false, false) => return None,
        (false, true) => (op.mirrored(), b, a),
        (true, false) => (op, a, b),
        (true, true) => {
            let (iter, bound) = parted(store, a, b, is_iter);
            (op, iter, bound)
        }
    };
    let (lower, upper) = match op {
        PrimOp::Lt => (None, Some(bound)),
        PrimOp::Le => (None, Some(plus(store, bound, 1))),
        PrimOp::Gt => (Some(plus(store, bound, 1)), None),
        _ => (Some(bound), None),
    };
    Some(Constraint { iter, lower, upper })
}

/// Splits `a - b` into the part with iterators, less the part without.
fn parted(store: &mut Store, a: PrimId, b: PrimId, is_iter: &dyn Fn(Id<Symbol>) -> bool) -> (PrimId, PrimId) {
    let zero = store.prim_int(0, crate::ir::DType::I32);
    let (mut iter, mut bound) = (zero, zero);
    let difference = binary(store, PrimOp::Sub, a, b);
    let mut todo = vec![(difference, true)];
    while let Some((part, sign)) = todo.pop() {
        match *store.prim_of_id(part) {
            PrimExpr::Binary { op: PrimOp::Add, a, b } => todo.extend([(b, sign), (a, sign)]),
            PrimExpr::Binary { op: PrimOp::Sub, a, b } => todo.extend([(b, !sign), (a, sign)]),
            _ if uses(store, part, is_iter) => {
                iter = binary(store, if sign { PrimOp::Add } else { PrimOp::Sub }, iter, part);
            }
            _ => bound = binary(store, if sign { PrimOp::Sub } else { PrimOp::Add }, bound, part),
        }
    }
    let analyzer = &mut Analyzer::new();
    (analyzer.simplify(store, iter), analyzer.simplify(store, bound))
}

fn narrow(store: &mut Store, iters: &mut [(Id<Symbol>, (PrimId, PrimId))], constraint: Constraint, found: &mut Vec<Constraint>) {
    let PrimExpr::Var(symbol) = *store.prim_of_id(constraint.iter) else { return found.push(constraint) };
    let Some((_, range)) = iters.iter_mut().find(|(var, _)| *var == symbol) else { return };
    let (mut min, extent) = *range;
    let mut max = binary(store, PrimOp::Add, min, extent);
    if let Some(lower) = constraint.lower {
        min = binary(store, PrimOp::Max, min, lower);
    }
    if let Some(upper) = constraint.upper {
        max = binary(store, PrimOp::Min, max, upper);
    }
    let extent = if store.as_prim_int(min) == Some(0) { max } else { binary(store, PrimOp::Sub, max, min) };
    *range = (min, extent);
}

impl Rewriter<'_> {
    /// Takes a constraint into account: the sum becomes an iterator of its own with fewer values.
    pub(super) fn constrain(&mut self, constraint: &Constraint) {
        let value = self.value(constraint.iter);
        let mut sum = self.as_sum(value);
        let (mut lower, mut upper) = (constraint.lower, constraint.upper);
        if !self.is(sum.base, 0) {
            let mut shifted = |bound: Option<PrimId>| bound.map(|bound| binary(self.store, PrimOp::Sub, bound, sum.base));
            (lower, upper) = (shifted(lower), shifted(upper));
            sum.base = self.store.prim_int(0, crate::ir::DType::I32);
        }
        let fused = self.fuse(&sum, self.level, false);
        let split = fused.as_ref().and_then(|fused| fused.args.first()).filter(|split| self.is(split.scale, 1));
        let Some(split) = split.cloned() else {
            return self.fail("Could not normalize iterators using the constraints given.");
        };
        let Source::Sum(mut structured) = split.source.source.clone() else { return };
        let Some(flat) = self.flat.get(&structured).cloned() else { return };
        let Some((mark, offset)) = self.fused.get(&flat).cloned() else { return };
        let mut mark = (*mark).clone();
        let mut min = offset;
        let mut max = binary(self.store, PrimOp::Add, min, mark.extent);
        let mut delta = self.store.prim_int(0, self.store.prim_dtype(min));
        if let Some(lower) = lower {
            let greater = binary(self.store, PrimOp::Max, lower, min);
            delta = binary(self.store, PrimOp::Sub, greater, min);
            min = greater;
        }
        if let Some(upper) = upper {
            let within = binary(self.store, PrimOp::Le, upper, max);
            max = match self.analyzer.can_prove(self.store, within) {
                true => upper,
                false => binary(self.store, PrimOp::Min, upper, max),
            };
        }
        if !self.is(delta, 0) {
            self.flat.remove(&structured);
            structured.base = binary(self.store, PrimOp::Sub, structured.base, delta);
            mark.source = Source::Sum(structured.clone());
            self.flat.insert(structured, flat.clone());
        }
        mark.extent = binary(self.store, PrimOp::Sub, max, min);
        self.fused.insert(flat.clone(), (Rc::new(mark), min));
        self.constrained.push(flat);
    }

    /// True if any two constraints nest: one is about part of the digits of the other, or they have none in common.
    pub(super) fn constraints_nest(&self) -> bool {
        let all = &self.constrained;
        all.iter().enumerate().all(|(at, short)| {
            all[at + 1..].iter().all(|long| {
                let mut found = short
                    .args
                    .iter()
                    .map(|digit| long.args.iter().any(|other| digit.same_digit(other) && digit.scale == other.scale));
                let first = found.next();
                found.all(|found| Some(found) == first)
            })
        })
    }
}
