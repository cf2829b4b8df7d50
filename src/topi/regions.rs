//! The regions that a block reads: one region of each buffer that covers all accesses, in the order of the first reads.
//!
//! Source: `src/s_tir/analysis/sblock_access_region_detector.cc`, and from `src/arith/int_set.cc` the part for indices
//! without variables of loops inside the block.

use super::te::{Te, Tensor};
use crate::ir::{IdMap, PrimExpr, PrimId, PrimOp, Region};

/// The bounds of an index; a missing one is unknown.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Between {
    least: Option<PrimId>,
    most: Option<PrimId>,
}

impl Between {
    const UNKNOWN: Between = Between { least: None, most: None };

    fn point(at: PrimId) -> Between {
        Between { least: Some(at), most: Some(at) }
    }

    /// Returns the index, when both bounds are the same.
    fn single(self) -> Option<PrimId> {
        self.least.filter(|least| self.most == Some(*least))
    }
}

/// The accesses of a block so far.
#[derive(Default)]
pub(super) struct Accesses(Vec<(Tensor, Vec<Between>)>);

impl Accesses {
    /// Adds everything that an expression loads.
    pub fn read(&mut self, te: &mut Te, value: PrimId) {
        let mut todo = vec![value];
        let mut seen: IdMap<PrimExpr, ()> = IdMap::new();
        while let Some(id) = todo.pop() {
            if seen.insert(id, ()).is_some() {
                continue;
            }
            let expr = te.store.prim_rc(id);
            if let PrimExpr::Load { buffer, indices } = &*expr {
                let ranges: Vec<Between> = indices.iter().map(|index| between(te, *index)).collect();
                self.add(te, *buffer, ranges);
            }
            let first = todo.len();
            expr.for_each_child(&mut |child| todo.push(child));
            todo[first..].reverse();
        }
    }

    fn add(&mut self, te: &mut Te, buffer: Tensor, ranges: Vec<Between>) {
        let Some((_, known)) = self.0.iter_mut().find(|(other, _)| *other == buffer) else {
            self.0.push((buffer, ranges));
            return;
        };
        for (old, new) in known.iter_mut().zip(ranges) {
            if *old == new {
                continue;
            }
            let mut end = |op, a: Option<PrimId>, b: Option<PrimId>| {
                let both = te.bin(op, a?, b?);
                Some(te.simplify(both))
            };
            *old = Between { least: end(PrimOp::Min, old.least, new.least), most: end(PrimOp::Max, old.most, new.most) };
        }
    }

    /// Returns the regions, except those of these buffers.
    pub fn regions(self, te: &mut Te, without: &[Tensor]) -> Box<[Region]> {
        let mut regions = Vec::new();
        for (buffer, ranges) in self.0.into_iter().filter(|(buffer, _)| !without.contains(buffer)) {
            let shape = te.shape(buffer);
            let ranges = (ranges.into_iter().zip(shape))
                .map(|(range, extent)| match (range.single(), range) {
                    (Some(at), _) => (at, None),
                    (None, Between { least: Some(least), most: Some(most) }) => {
                        let behind = te.plus_int(most, 1);
                        let extent = te.minus(behind, least);
                        let extent = te.simplify(extent);
                        (least, Some(extent).filter(|extent| te.known(*extent) != Some(1)))
                    }
                    _ => (te.int(0), Some(extent).filter(|extent| te.known(*extent) != Some(1))),
                })
                .collect();
            regions.push(Region { buffer, ranges });
        }
        regions.into()
    }
}

/// Returns the bounds of an expression; calls are unknown, and variables are bounded by themselves.
fn between(te: &mut Te, index: PrimId) -> Between {
    let mut order = Vec::new();
    te.store.for_each_prim(index, &mut |id, _| order.push(id));
    let mut known: IdMap<PrimExpr, Between> = IdMap::new();
    for id in order {
        let of = |id: PrimId| known.get(id).copied().unwrap_or(Between::UNKNOWN);
        let range = match *te.store.prim_rc(id) {
            PrimExpr::Load { .. } if te.type_of(id).is_float() => Between::UNKNOWN,
            PrimExpr::Int { .. } | PrimExpr::Float { .. } | PrimExpr::Var(_) | PrimExpr::Load { .. } => Between::point(id),
            PrimExpr::Binary { op, a, b } => combined(te, id, op, of(a), of(b), (a, b)),
            PrimExpr::Cast { dtype, value } => {
                let range = of(value);
                if range == Between::point(value) {
                    Between::point(id)
                } else {
                    let mut end = |end: Option<PrimId>| end.map(|end| te.cast(dtype, end));
                    Between { least: end(range.least), most: end(range.most) }
                }
            }
            PrimExpr::Select { then, other, .. } => match (of(then), of(other)) {
                (a, b) if a == b => a,
                (a, b) => {
                    let mut end = |op, a: Option<PrimId>, b: Option<PrimId>| Some(te.bin(op, a?, b?));
                    Between { least: end(PrimOp::Min, b.least, a.least), most: end(PrimOp::Max, b.most, a.most) }
                }
            },
            _ => Between::UNKNOWN,
        };
        known.insert(id, range);
    }
    known.get(index).copied().unwrap_or(Between::UNKNOWN)
}

fn combined(te: &mut Te, id: PrimId, op: PrimOp, x: Between, y: Between, (a, b): (PrimId, PrimId)) -> Between {
    if x == Between::point(a) && y == Between::point(b) {
        return Between::point(id);
    }
    let scaled = te.known(b).is_some_and(|factor| factor > 0);
    let mut both = |p: Option<PrimId>, q: Option<PrimId>| {
        let value = te.bin(op, p?, q?);
        Some(te.simplify(value))
    };
    match op {
        PrimOp::Add => Between { least: both(x.least, y.least), most: both(x.most, y.most) },
        PrimOp::Sub => Between { least: both(x.least, y.most), most: both(x.most, y.least) },
        PrimOp::Min => Between { least: both(x.least, y.least), most: both(x.most, y.most).or(x.most).or(y.most) },
        PrimOp::Max => Between { least: both(x.least, y.least).or(x.least).or(y.least), most: both(x.most, y.most) },
        PrimOp::Mul if scaled => Between { least: both(x.least, Some(b)), most: both(x.most, Some(b)) },
        _ => Between::UNKNOWN,
    }
}
