//! Ranges of variables that follow from a condition (the part of TVM's `SolveInequalitiesToRange`,
//! `src/arith/solve_linear_inequality.cc`, that `ConditionalBoundsContext` in `src/tirx/transform/ir_utils.cc` needs).

use super::set::{Domains, End, IntSet};
use super::{Analyzer, Bound};
use crate::ir::{DTypeCode, Id, PrimExpr, PrimId, PrimOp, Store, Symbol};

/// `factor * var + offset`
struct Linear {
    var: Option<Id<Symbol>>,
    factor: i64,
    offset: i64,
}

fn linear(store: &Store, id: PrimId) -> Option<Linear> {
    if store.prim_depth(id) > super::DEEPEST {
        return None;
    }
    let both = |a: PrimId, b: PrimId| Some((linear(store, a)?, linear(store, b)?));
    match *store.prim_of_id(id) {
        PrimExpr::Int { value, .. } => Some(Linear { var: None, factor: 0, offset: value }),
        PrimExpr::Var(symbol) => Some(Linear { var: Some(symbol), factor: 1, offset: 0 }),
        PrimExpr::Binary { op: op @ (PrimOp::Add | PrimOp::Sub), a, b } => {
            let (a, b) = both(a, b)?;
            let sign = if op == PrimOp::Sub { -1 } else { 1 };
            let var = match (a.var, b.var) {
                (Some(x), Some(y)) if x != y => return None,
                (x, y) => x.or(y),
            };
            let factor = a.factor.checked_add(b.factor.checked_mul(sign)?)?;
            Some(Linear { var, factor, offset: a.offset.checked_add(b.offset.checked_mul(sign)?)? })
        }
        PrimExpr::Binary { op: PrimOp::Mul, a, b } => {
            let (a, b) = both(a, b)?;
            let (value, by) = match (a.var, b.var) {
                (Some(_), Some(_)) => return None,
                (None, _) => (b, a.offset),
                _ => (a, b.offset),
            };
            Some(Linear { var: value.var, factor: value.factor.checked_mul(by)?, offset: value.offset.checked_mul(by)? })
        }
        _ => None,
    }
}

/// Collects the comparisons of a conjunction, as far as they are simple: sums, products, quotients and remainders of
/// integers.
fn comparisons(store: &Store, cond: PrimId, found: &mut Vec<PrimId>) {
    let mut todo = vec![cond];
    while let Some(id) = todo.pop() {
        match *store.prim_of_id(id) {
            PrimExpr::Binary { op: PrimOp::And, a, b } => todo.extend([b, a]),
            PrimExpr::Call { op, ref args, .. } if store.str(op) == "likely" => todo.extend(args.first()),
            PrimExpr::Binary { op, .. } if op.is_logic() && op != PrimOp::Or => {
                let (mut simple, mut vars) = (true, 0);
                store.for_each_prim(id, &mut |at, node| match node {
                    _ if at == id => {}
                    PrimExpr::Var(symbol) => {
                        vars += usize::from(matches!(store.symbol(*symbol).dtype.code, DTypeCode::Int | DTypeCode::UInt));
                    }
                    PrimExpr::Int { .. } => {}
                    PrimExpr::Binary { op, .. } => {
                        simple &= matches!(op, PrimOp::Add | PrimOp::Sub | PrimOp::Mul | PrimOp::FloorDiv | PrimOp::FloorMod);
                    }
                    _ => simple = false,
                });
                if simple && vars > 0 {
                    found.push(id);
                }
            }
            _ => {}
        }
    }
}

/// Returns the ranges that variables have where a condition holds, given the values that they have anyway. Nothing
/// where the condition says more than that.
pub fn ranges_of_condition(store: &mut Store, cond: PrimId, domains: &Domains) -> Option<Vec<(Id<Symbol>, IntSet)>> {
    let analyzer = &mut Analyzer::new();
    let cond = analyzer.simplify(store, cond);
    let mut parts = Vec::new();
    comparisons(store, cond, &mut parts);
    if parts.is_empty() {
        return None;
    }
    let mut bounds: Vec<(Id<Symbol>, i64, i64)> = Vec::new();
    let mut others = Vec::new();
    for part in parts {
        let PrimExpr::Binary { op, a, b } = *store.prim_of_id(part) else { continue };
        let sides = linear(store, a).zip(linear(store, b));
        let found = sides.and_then(|(a, b)| {
            let var = match (a.var, b.var) {
                (Some(x), Some(y)) if x != y => return None,
                (x, y) => x.or(y)?,
            };
            // factor * var + offset op 0
            interval(op, a.factor.checked_sub(b.factor)?, a.offset.checked_sub(b.offset)?).map(|found| (var, found))
        });
        match found {
            Some((var, (min, max))) => match bounds.iter_mut().find(|(known, ..)| *known == var) {
                Some((_, least, most)) => (*least, *most) = ((*least).max(min), (*most).min(max)),
                None => bounds.push((var, min, max)),
            },
            None => others.push(part),
        }
    }
    let mut solved = Vec::new();
    for (var, min, max) in bounds {
        let dtype = store.symbol(var).dtype;
        let mut end = |value: i64, infinite: End| match value.unsigned_abs() >= Bound::INF as u64 {
            true => infinite,
            false => End::At(store.prim_int(value, dtype)),
        };
        let set = IntSet { min: end(min, End::NegInf), max: end(max, End::PosInf) };
        let known = domains.get(&var).copied().unwrap_or(IntSet::EVERYTHING);
        let set = IntSet::intersect(store, &[known, set]);
        if set.is_nothing() || set.lower().is_none() || set.upper().is_none() {
            return None;
        }
        solved.push((var, set));
    }
    for (var, set) in &solved {
        if let (Some(min), Some(max)) = (set.lower(), set.upper()) {
            let (first, last) = (analyzer.const_int_bound(store, min), analyzer.const_int_bound(store, max));
            analyzer.assume_between(*var, first.min, last.max);
        }
    }
    others.into_iter().all(|part| analyzer.can_prove(store, part)).then_some(solved)
}

/// Returns the values of a variable for which `factor * var + offset op 0` holds.
fn interval(op: PrimOp, factor: i64, offset: i64) -> Option<(i64, i64)> {
    // Written as `factor * var >= low` and `factor * var <= high`.
    let (low, high) = match op {
        PrimOp::Lt => (None, Some(offset.checked_neg()?.checked_sub(1)?)),
        PrimOp::Le => (None, Some(offset.checked_neg()?)),
        PrimOp::Gt => (Some(offset.checked_neg()?.checked_add(1)?), None),
        PrimOp::Ge => (Some(offset.checked_neg()?), None),
        PrimOp::Eq if offset.checked_rem(factor)? == 0 => (Some(offset.checked_neg()?), Some(offset.checked_neg()?)),
        _ => return None,
    };
    if factor == 0 {
        return None;
    }
    let (low, high) = if factor > 0 { (low, high) } else { (high, low) };
    let down = |value: i64| PrimOp::FloorDiv.fold(value, factor);
    let up = |value: i64| PrimOp::FloorDiv.fold(value.checked_neg()?, factor)?.checked_neg();
    let min = match low {
        Some(low) => up(low)?,
        None => -Bound::INF,
    };
    let max = match high {
        Some(high) => down(high)?,
        None => Bound::INF,
    };
    Some((min, max))
}

#[cfg(test)]
mod tests {
    use super::interval;
    use crate::ir::PrimOp;
    use crate::tir::arith::Bound;

    #[test]
    fn bounds_are_rounded_inwards() {
        assert_eq!(interval(PrimOp::Lt, 3, -10), Some((-Bound::INF, 3)), "3 i < 10");
        assert_eq!(interval(PrimOp::Ge, 3, -10), Some((4, Bound::INF)), "3 i >= 10");
        assert_eq!(interval(PrimOp::Le, -2, 5), Some((3, Bound::INF)), "5 <= 2 i");
        assert_eq!(interval(PrimOp::Eq, 2, -6), Some((3, 3)), "2 i == 6");
        assert_eq!(interval(PrimOp::Eq, 2, -5), None, "2 i == 5");
        assert_eq!(interval(PrimOp::Ne, 1, 0), None);
    }
}
