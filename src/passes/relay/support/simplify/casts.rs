//! Rules that remove casts and clips without an effect.

use super::super::pattern::{Match, Rule};
use super::super::{tensor_type, value_range};
use crate::ir::{AttrValue, DType, DTypeCode, Expr, ExprId, Module, Store, Type};
use crate::ops;
use crate::ops::build::{arg, op_name};

/// Removes a cast to the type that the data have.
pub static SAME_CAST: Rule = Rule::when("cast to the same type", "cast_like(data, like) | cast(data) => data", |store, m| {
    let data = dtype(store, arg(store, m.pre, 0));
    data.is_some() && data == dtype(store, m.pre)
});

/// Merges a cast with an inner one that lost nothing.
pub static CONSECUTIVE_CAST: Rule = Rule::new(
    "cast of a widening cast",
    "cast_like((cast1 := cast_like(data, like) | cast(data)), like2) | cast(cast1)",
    |store, _, m| {
        let data = dtype(store, m.pre_of("data"))?;
        let middle = dtype(store, m.pre_of("cast1"))?;
        if !widens(data, middle) {
            return None;
        }
        let target = dtype(store, m.pre)?;
        let shape = tensor_type(store, m.pre_of("data"))?.0;
        Some(cast(store, m.get("data"), target, &shape))
    },
);

/// Removes casts behind a clip whose bounds fit into their types.
pub static CLIP_AND_CASTS: Rule =
    Rule::new("cast of values that were clipped to its range", "(clip := clip(x)).through(\"cast\")", clip_and_casts);

/// Removes a clip to bounds that the type has anyway.
pub static CLIP_RULE: Rule = Rule::when("clip to the range of the type", "clip(x) => x", |store, m| {
    // TVM keeps these pairs together for another of its passes.
    let is_pair = matches!(op_name(store, arg(store, m.post, 0)), "qnn.requantize" | "qnn.add");
    match (clip_bounds(store, m.post), dtype(store, m.pre).and_then(value_range)) {
        (Some((low, high)), Some((least, most))) => !is_pair && high >= most && low <= least,
        _ => false,
    }
});

fn dtype(store: &Store, id: ExprId) -> Option<DType> {
    tensor_type(store, id).map(|t| t.1)
}

/// Makes a cast with its type, since the rule may apply to it again before types are inferred.
fn cast(store: &mut Store, data: ExprId, dtype: DType, shape: &[crate::ir::Dim]) -> ExprId {
    let attrs = ops::build::attrs_of(store, "cast", &[("dtype", AttrValue::DType(Some(dtype)))]);
    let info = store.add_call_info(Some(attrs), &[]);
    let callee = store.add(Expr::Op(ops::op("cast")));
    let args = store.list(&[data]);
    let ty = store.ty(Type::Tensor { shape: shape.into(), dtype });
    store.add_typed(Expr::Call { callee, args, info }, Some(ty))
}

/// True if every value survives the cast. TVM orders the families by their numbers: integers,
/// unsigned integers, floats.
fn widens(from: DType, to: DType) -> bool {
    if from.code == to.code {
        return from.bits <= to.bits;
    }
    let brain = |d: DType| d.code == DTypeCode::BFloat;
    !brain(from) && !brain(to) && from.code < to.code && from.bits <= to.bits
}

fn clip_bounds(store: &Store, clip: ExprId) -> Option<(f64, f64)> {
    let attrs = store.call(clip)?.attrs;
    Some((store.attr_float(attrs, "a_min")?, store.attr_float(attrs, "a_max")?))
}

/// Keeps the casts into types that cannot hold the bounds; the type of the result stays.
fn clip_and_casts(store: &mut Store, _: &Module, m: &Match) -> Option<ExprId> {
    let (low, high) = clip_bounds(store, m.get("clip"))?;
    let mut kept = Vec::new();
    let mut dropped = 0;
    let mut id = m.pre;
    while id != m.pre_of("clip") {
        let to = dtype(store, id)?;
        let (least, most) = value_range(to)?;
        if high <= most && low >= least {
            dropped += 1;
        } else {
            kept.push(to);
        }
        id = arg(store, id, 0);
    }
    let target = dtype(store, m.pre)?;
    let last = match kept.first() {
        Some(last) => *last,
        None => dtype(store, m.pre_of("clip"))?,
    };
    let extra = last != target;
    if dropped == i32::from(extra) {
        // One cast was removed and one added, so nothing is gained, and TVM builds the same program again.
        return None;
    }
    let shape = tensor_type(store, m.pre)?.0;
    let mut result = m.get("clip");
    for to in kept.into_iter().rev().chain(extra.then_some(target)) {
        result = cast(store, result, to, &shape);
    }
    Some(result)
}
