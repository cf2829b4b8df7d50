//! Comparisons as TVM writes them: with `<`, `<=`, `==` and `!=`, and numbers on one side (`src/arith/rewrite_simplify.cc`).

use crate::ir::{DType, PrimExpr, PrimId, PrimOp, Store};
use crate::tir::build::binary;

/// Returns an expression and the number that is added to it.
fn offset(store: &Store, id: PrimId) -> (Option<PrimId>, i64) {
    match *store.prim_of_id(id) {
        PrimExpr::Int { value, .. } => (None, value),
        PrimExpr::Binary { op: PrimOp::Add, a, b } => match store.as_prim_int(b) {
            Some(value) => (Some(a), value),
            None => (Some(id), 0),
        },
        PrimExpr::Binary { op: PrimOp::Sub, a, b } => match store.as_prim_int(b) {
            Some(value) => (Some(a), value.wrapping_neg()),
            None => (Some(id), 0),
        },
        _ => (Some(id), 0),
    }
}

/// Matches `number - x`.
fn number_minus(store: &Store, id: PrimId) -> Option<(i64, PrimId)> {
    match *store.prim_of_id(id) {
        PrimExpr::Binary { op: PrimOp::Sub, a, b } => store.as_prim_int(a).map(|number| (number, b)),
        _ => None,
    }
}

/// Returns the number in `x + number - y - z`, and the rest.
fn buried(store: &mut Store, id: PrimId) -> Option<(PrimId, i64)> {
    let (mut taken, mut at) = (Vec::new(), id);
    while let PrimExpr::Binary { op: PrimOp::Sub, a, b } = *store.prim_of_id(at) {
        taken.push(b);
        at = a;
    }
    let (Some(x), number) = offset(store, at) else { return None };
    if number == 0 || taken.is_empty() {
        return None;
    }
    Some((taken.into_iter().rev().fold(x, |sum, y| binary(store, PrimOp::Sub, sum, y)), number))
}

/// Matches `x * number` with a positive number.
fn scaled(store: &Store, id: PrimId) -> Option<(PrimId, i64)> {
    match *store.prim_of_id(id) {
        PrimExpr::Binary { op: PrimOp::Mul, a, b } => store.as_prim_int(b).filter(|scale| *scale > 0).map(|scale| (a, scale)),
        _ => None,
    }
}

/// Matches `x // number` with a positive number.
fn divided(store: &Store, id: PrimId) -> Option<(PrimId, i64)> {
    match *store.prim_of_id(id) {
        PrimExpr::Binary { op: PrimOp::FloorDiv, a, b } => store.as_prim_int(b).filter(|by| *by > 0).map(|by| (a, by)),
        _ => None,
    }
}

/// Simplifies `a < b`. Each step leaves a smaller problem: a number moves to the other side or a factor vanishes.
pub(super) fn less(store: &mut Store, mut a: PrimId, mut b: PrimId) -> PrimId {
    loop {
        let dtype = store.prim_dtype(a);
        let ((x, c), (y, d)) = (offset(store, a), offset(store, b));
        (a, b) = match (x, y) {
            (None, Some(y)) if d != 0 => (store.prim_int(c.wrapping_sub(d), dtype), y),
            (Some(x), None) if c != 0 => (x, store.prim_int(d.wrapping_sub(c), dtype)),
            (None, Some(_)) if number_minus(store, b).is_some() => {
                let Some((e, y)) = number_minus(store, b) else { break };
                (y, store.prim_int(e.wrapping_sub(c), dtype))
            }
            (Some(_), None) if number_minus(store, a).is_some() => {
                let Some((e, x)) = number_minus(store, a) else { break };
                (store.prim_int(e.wrapping_sub(d), dtype), x)
            }
            (Some(_), None) if scaled(store, a).is_some() => {
                let Some((x, scale)) = scaled(store, a) else { break };
                let most = if d > 0 { (d - 1) / scale + 1 } else { d / scale };
                (x, store.prim_int(most, dtype))
            }
            (None, Some(_)) if scaled(store, b).is_some() => {
                let Some((y, scale)) = scaled(store, b) else { break };
                let least = if c < 0 { (c + 1) / scale - 1 } else { c / scale };
                (store.prim_int(least, dtype), y)
            }
            (Some(_), None) if divided(store, a).is_some() => {
                let Some((x, by)) = divided(store, a) else { break };
                (x, store.prim_int(by.wrapping_mul(d), dtype))
            }
            (None, Some(_)) if divided(store, b).is_some() => {
                let Some((y, by)) = divided(store, b) else { break };
                (store.prim_int(c.wrapping_add(1).wrapping_mul(by).wrapping_sub(1), dtype), y)
            }
            (Some(x), None) => {
                let Some((x, number)) = buried(store, x) else { break };
                (x, store.prim_int(d.wrapping_sub(number), dtype))
            }
            (Some(x), Some(y)) if c != 0 && d != 0 && c == d => (x, y),
            (Some(x), Some(y)) if d.wrapping_sub(c) == 1 => return binary(store, PrimOp::Le, x, y),
            (Some(x), Some(y)) if (d < c && d != 0) || (d > c && c != 0) => {
                let more = store.prim_int(d.abs_diff(c) as i64, dtype);
                let (a, b) =
                    if d < c { (binary(store, PrimOp::Add, x, more), y) } else { (x, binary(store, PrimOp::Add, y, more)) };
                return binary(store, PrimOp::Lt, a, b);
            }
            _ => break,
        };
    }
    binary(store, PrimOp::Lt, a, b)
}

/// Simplifies `a <= b`: `b` is not less.
pub(super) fn at_most(store: &mut Store, a: PrimId, b: PrimId) -> PrimId {
    let less = less(store, b, a);
    not(store, less)
}

/// Simplifies `a == b`.
pub(super) fn equal(store: &mut Store, a: PrimId, b: PrimId) -> PrimId {
    let dtype = store.prim_dtype(a);
    let (a, b) = if store.as_prim_int(a).is_some() { (b, a) } else { (a, b) };
    let (a, b) = match (offset(store, a), offset(store, b)) {
        ((Some(x), c), (None, d)) if c != 0 => (x, store.prim_int(d.wrapping_sub(c), dtype)),
        (_, (None, d)) => match number_minus(store, a) {
            Some((c, x)) => (x, store.prim_int(c.wrapping_sub(d), dtype)),
            None => (a, b),
        },
        _ => (a, b),
    };
    binary(store, PrimOp::Eq, a, b)
}

/// Simplifies `not a`: negates comparisons, and distributes over conjunctions.
pub(super) fn not(store: &mut Store, root: PrimId) -> PrimId {
    let mut todo = vec![(root, None)];
    let mut done = Vec::new();
    while let Some((id, join)) = todo.pop() {
        if let Some(op) = join {
            let (Some(b), Some(a)) = (done.pop(), done.pop()) else { break };
            done.push(binary(store, op, a, b));
            continue;
        }
        match *store.prim_of_id(id) {
            PrimExpr::Binary { op: PrimOp::And, a, b } => todo.extend([(id, Some(PrimOp::Or)), (b, None), (a, None)]),
            PrimExpr::Binary { op: PrimOp::Or, a, b } => todo.extend([(id, Some(PrimOp::And)), (b, None), (a, None)]),
            _ => done.push(leaf_not(store, id)),
        }
    }
    done.pop().unwrap_or(root)
}

fn leaf_not(store: &mut Store, a: PrimId) -> PrimId {
    match *store.prim_of_id(a) {
        PrimExpr::Int { value, .. } => store.prim_int(i64::from(value == 0), DType::BOOL),
        PrimExpr::Not(inner) => inner,
        PrimExpr::Binary { op: PrimOp::Lt, a, b } => binary(store, PrimOp::Le, b, a),
        PrimExpr::Binary { op: PrimOp::Le, a, b } => binary(store, PrimOp::Lt, b, a),
        PrimExpr::Binary { op: PrimOp::Eq, a, b } => binary(store, PrimOp::Ne, a, b),
        PrimExpr::Binary { op: PrimOp::Ne, a, b } => binary(store, PrimOp::Eq, a, b),
        _ => store.prim(PrimExpr::Not(a)),
    }
}
