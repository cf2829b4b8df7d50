//! The values of a variable for which a comparison holds (TVM's `DeduceBound`, `src/arith/bound_deducer.cc`).

use super::set::{Domains, End, IntSet, plus};
use super::set_eval::{eval_each, eval_set};
use super::{Analyzer, DEEPEST};
use crate::ir::{DType, DTypeCode, PrimExpr, PrimId, PrimOp, Store};
use crate::tir::build::{binary, negate};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sense {
    AtLeast,
    AtMost,
    Equal,
}

impl Sense {
    fn reversed(self) -> Sense {
        match self {
            Sense::AtLeast => Sense::AtMost,
            Sense::AtMost => Sense::AtLeast,
            Sense::Equal => Sense::Equal,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Positive,
    Negative,
    Unknown,
}

/// Returns the values of `target`, an expression that occurs once in the comparison `cond`, for which it holds for all
/// values of the variables in `relax`; `hints` has the values of the others. The empty set if they are not found.
pub fn deduce_bound(store: &mut Store, target: PrimId, cond: PrimId, hints: &Domains, relax: &Domains) -> IntSet {
    match deduce(store, target, cond, hints, relax) {
        None => IntSet::NOTHING,
        Some((Sense::Equal, value)) => IntSet::single(value),
        Some((Sense::AtLeast, value)) => IntSet { min: End::At(value), max: End::PosInf },
        Some((Sense::AtMost, value)) => IntSet { min: End::NegInf, max: End::At(value) },
    }
}

/// Counts the occurrences of an expression in another one; two also stands for more.
fn count(store: &Store, target: PrimId, root: PrimId) -> u8 {
    let mut counts: FxHashMap<PrimId, u8> = FxHashMap::default();
    store.for_each_prim(root, &mut |id, node| {
        let mut sum = u8::from(id == target);
        node.for_each_child(&mut |child| sum = sum.saturating_add(counts.get(&child).copied().unwrap_or(0)));
        counts.insert(id, sum.min(2));
    });
    counts.get(&root).copied().unwrap_or(0)
}

fn deduce(store: &mut Store, target: PrimId, cond: PrimId, hints: &Domains, relax: &Domains) -> Option<(Sense, PrimId)> {
    if store.prim_depth(cond) > DEEPEST || count(store, target, cond) != 1 {
        return None;
    }
    let PrimExpr::Binary { op, a, b } = *store.prim_of_id(cond) else { return None };
    let (op, expr, other) = if count(store, target, a) == 0 { (op.mirrored(), b, a) } else { (op, a, b) };
    let (mut sense, result) = match op {
        PrimOp::Lt => (Sense::AtMost, plus(store, other, -1)),
        PrimOp::Le => (Sense::AtMost, other),
        PrimOp::Gt => (Sense::AtLeast, plus(store, other, 1)),
        PrimOp::Ge => (Sense::AtLeast, other),
        PrimOp::Eq => (Sense::Equal, other),
        _ => return None,
    };
    let analyzer = &mut Analyzer::new();
    let (left, right) = (eval_set(store, expr, relax), eval_set(store, result, relax));
    if left.is_everything() || right.is_everything() {
        return None;
    }
    if sense == Sense::Equal && !(right.is_point(store, analyzer) && left.is_point(store, analyzer)) {
        return None;
    }
    let (expr, mut result) = match sense {
        Sense::AtLeast => (left.min.value()?, right.max.value()?),
        _ => (left.max.value()?, right.min.value()?),
    };
    let sets = eval_each(store, expr, hints);
    let mut at = expr;
    while at != target {
        let PrimExpr::Binary { op, a, b } = *store.prim_of_id(at) else { return None };
        let on_left = count(store, target, a) > 0;
        if !on_left && count(store, target, b) == 0 {
            return None;
        }
        let (next, operand) = if on_left { (a, b) } else { (b, a) };
        let sign = sign_of(store, analyzer, operand, &sets);
        match op {
            PrimOp::Add => result = binary(store, PrimOp::Sub, result, operand),
            PrimOp::Sub if on_left => result = binary(store, PrimOp::Add, result, operand),
            PrimOp::Sub => {
                let less = binary(store, PrimOp::Sub, result, operand);
                result = negate(store, less);
                sense = sense.reversed();
            }
            PrimOp::Mul => {
                match sign {
                    Sign::Negative => sense = sense.reversed(),
                    Sign::Unknown => return None,
                    Sign::Positive => {}
                }
                let rest = binary(store, PrimOp::FloorMod, result, operand);
                let zero = store.prim_int(0, DType::I32);
                let even = binary(store, PrimOp::Eq, rest, zero);
                let even = analyzer.can_prove(store, even);
                result = binary(store, PrimOp::FloorDiv, result, operand);
                // The quotient is rounded down, which is right for an upper bound only.
                match sense {
                    _ if even => {}
                    Sense::AtLeast => result = plus(store, result, 1),
                    Sense::Equal => return None,
                    Sense::AtMost => {}
                }
            }
            PrimOp::FloorDiv => {
                let zero = store.prim_int(0, DType::I32);
                if !on_left || analyzer.can_prove_equal(store, operand, zero) {
                    return None;
                }
                let mut divisor = operand;
                match sign {
                    Sign::Negative => {
                        sense = sense.reversed();
                        divisor = negate(store, divisor);
                        result = negate(store, result);
                    }
                    Sign::Unknown => return None,
                    Sign::Positive => {}
                }
                let product = binary(store, PrimOp::Mul, result, divisor);
                result = match sense {
                    Sense::AtLeast => product,
                    Sense::Equal => return None,
                    Sense::AtMost => {
                        let sum = binary(store, PrimOp::Add, product, divisor);
                        plus(store, sum, -1)
                    }
                };
                if sign == Sign::Negative {
                    let less = binary(store, PrimOp::Sub, result, divisor);
                    result = plus(store, less, 1);
                }
            }
            _ => return None,
        }
        at = next;
    }
    Some((sense, analyzer.simplify(store, result)))
}

fn sign_of(store: &mut Store, analyzer: &mut Analyzer, id: PrimId, sets: &FxHashMap<PrimId, IntSet>) -> Sign {
    if store.prim_dtype(id).code == DTypeCode::UInt {
        return Sign::Positive;
    }
    let Some(set) = sets.get(&id).copied() else { return Sign::Unknown };
    let mut number = |end: End| {
        let simple = analyzer.simplify(store, end.value()?);
        store.as_prim_int(simple)
    };
    match (number(set.min), number(set.max)) {
        (Some(min), _) if min > 0 => Sign::Positive,
        (_, Some(max)) if max < 0 => Sign::Negative,
        _ => Sign::Unknown,
    }
}
