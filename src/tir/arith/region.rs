//! Computes the regions that loops touch (TVM's `EstimateRegionStrictBound` and its like, `src/arith/int_set.cc`).

use super::Analyzer;
use super::iter::{Iters, Level, Sum, detect_iter_map};
use super::set::{IntSet, plus};
use super::set_eval::{domains_of, eval_range};
use crate::ir::{DType, PrimExpr, PrimId, PrimOp, Store};
use crate::tir::build::binary;

/// Returns the touched range along each axis, where every value in it is touched; nothing where that is not known
/// (TVM's `EstimateRegionStrictBound`, and `EstimateRegionLowerBound`, which is the same).
pub fn strict_region(
    store: &mut Store,
    analyzer: &mut Analyzer,
    region: &[(PrimId, PrimId)],
    iters: &Iters,
    predicate: Option<PrimId>,
) -> Option<Vec<IntSet>> {
    let is_number = |id| matches!(store.prim_of_id(id), PrimExpr::Int { .. } | PrimExpr::Float { .. });
    if !region.iter().all(|(_, extent)| is_number(*extent)) {
        return None;
    }
    let indices: Vec<PrimId> = region.iter().map(|(min, _)| *min).collect();
    let map = detect_iter_map(store, analyzer, &indices, iters, predicate, Level::Surjective, true).ok()?;
    if map.indices.is_empty() {
        return None;
    }
    let pairs = map.indices.iter().zip(region);
    pairs.map(|(sum, (_, extent))| touched(store, analyzer, sum, *extent)).collect()
}

/// Returns a range along each axis within which everything lies that is touched (TVM's `EstimateRegionUpperBound`).
pub fn covering_region(
    store: &mut Store,
    analyzer: &mut Analyzer,
    region: &[(PrimId, PrimId)],
    iters: &Iters,
    predicate: Option<PrimId>,
) -> Vec<IntSet> {
    if let Some(strict) = strict_region(store, analyzer, region, iters, predicate) {
        return strict;
    }
    let domains = domains_of(store, iters);
    let mut found = Vec::new();
    for &(min, extent) in region {
        let map = detect_iter_map(store, analyzer, &[min], iters, predicate, Level::Surjective, true);
        let exact = map.ok().and_then(|map| touched(store, analyzer, map.indices.first()?, extent));
        found.push(match exact {
            Some(set) => set,
            None => eval_range(store, min, extent, &domains),
        });
    }
    found
}

/// Returns the values from an index that is one iterator on, `extent` of them each time.
fn touched(store: &mut Store, analyzer: &mut Analyzer, sum: &Sum, extent: PrimId) -> Option<IntSet> {
    let zero = store.prim_int(0, DType::I32);
    let mut holds = |store: &mut Store, op, a, b| {
        let cond = binary(store, op, a, b);
        analyzer.can_prove(store, cond)
    };
    if holds(store, PrimOp::Eq, extent, zero) {
        return Some(IntSet::NOTHING);
    }
    let split = match &sum.args[..] {
        [] => return Some(IntSet::from_range(store, sum.base, extent)),
        [split] => split,
        _ => return None,
    };
    if holds(store, PrimOp::Eq, split.extent, zero) {
        return Some(IntSet::NOTHING);
    }
    if !holds(store, PrimOp::Ge, extent, split.scale) {
        return None;
    }
    let before = plus(store, split.extent, -1);
    let way = binary(store, PrimOp::Mul, before, split.scale);
    Some(match holds(store, PrimOp::Lt, split.scale, zero) {
        true => {
            let min = binary(store, PrimOp::Add, sum.base, way);
            let extent = binary(store, PrimOp::Sub, extent, way);
            IntSet::from_range(store, min, extent)
        }
        false => {
            let extent = binary(store, PrimOp::Add, extent, way);
            IntSet::from_range(store, sum.base, extent)
        }
    })
}
