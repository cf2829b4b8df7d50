//! Sets of integers between two symbolic ends (TVM's `IntSet` and `IntervalSet`, `src/arith/int_set.cc`).

use super::Analyzer;
use crate::ir::{DType, DTypeCode, Id, PrimId, PrimOp, Store, Symbol};
use crate::tir::build::binary;
use rustc_hash::FxHashMap;

/// One end of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Below everything.
    NegInf,
    /// Above everything.
    PosInf,
    /// A value, which belongs to the interval.
    At(PrimId),
}

impl End {
    /// Returns the value, if there is one.
    pub fn value(self) -> Option<PrimId> {
        match self {
            End::At(value) => Some(value),
            _ => None,
        }
    }

    /// Maps the value of a finite end.
    pub(super) fn map(self, f: impl FnOnce(PrimId) -> PrimId) -> End {
        match self {
            End::At(value) => End::At(f(value)),
            infinite => infinite,
        }
    }

    /// Returns the lesser or the greater of two ends, as `op` says.
    pub(super) fn extreme(store: &mut Store, op: PrimOp, a: End, b: End) -> End {
        let (winner, loser) = match op {
            PrimOp::Min => (End::NegInf, End::PosInf),
            _ => (End::PosInf, End::NegInf),
        };
        match (a, b) {
            (a, b) if a == loser => b,
            (a, _) if a == winner => a,
            (a, b) if b == loser => a,
            (_, b) if b == winner => b,
            (End::At(a), End::At(b)) => End::At(binary(store, op, a, b)),
            (a, _) => a,
        }
    }
}

/// The integers from `min` to `max`, both included; none where `min` is infinitely great or `max` infinitely small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntSet {
    /// The least.
    pub min: End,
    /// The greatest.
    pub max: End,
}

/// The sets of values of variables: an unlisted variable stands for itself.
pub type Domains = FxHashMap<Id<Symbol>, IntSet>;

impl IntSet {
    /// The empty set.
    pub const NOTHING: IntSet = IntSet { min: End::PosInf, max: End::NegInf };
    /// All integers.
    pub const EVERYTHING: IntSet = IntSet { min: End::NegInf, max: End::PosInf };

    /// Makes the set of one value.
    pub fn single(value: PrimId) -> IntSet {
        IntSet { min: End::At(value), max: End::At(value) }
    }

    /// Makes the set from one value to another, both included.
    pub fn between(min: PrimId, max: PrimId) -> IntSet {
        IntSet { min: End::At(min), max: End::At(max) }
    }

    /// Makes the set of `extent` values from `min` on.
    pub fn from_range(store: &mut Store, min: PrimId, extent: PrimId) -> IntSet {
        if store.as_prim_int(extent) == Some(1) {
            return IntSet::single(min);
        }
        let end = binary(store, PrimOp::Add, extent, min);
        let max = plus(store, end, -1);
        IntSet::between(min, max)
    }

    /// True if it is empty.
    pub fn is_nothing(self) -> bool {
        self.min == End::PosInf || self.max == End::NegInf
    }

    /// True if it has no bound at all.
    pub fn is_everything(self) -> bool {
        self == IntSet::EVERYTHING
    }

    /// Returns the one value that it holds, where that is plain to see.
    pub fn point(self) -> Option<PrimId> {
        if self.min == self.max { self.min.value() } else { None }
    }

    /// Returns the least value, if it is bounded below.
    pub fn lower(self) -> Option<PrimId> {
        if self.is_nothing() { None } else { self.min.value() }
    }

    /// Returns the greatest value, if it is bounded above.
    pub fn upper(self) -> Option<PrimId> {
        if self.is_nothing() { None } else { self.max.value() }
    }

    /// True if it is provably a single value.
    pub fn is_point(self, store: &mut Store, analyzer: &mut Analyzer) -> bool {
        match (self.min, self.max) {
            (a, b) if a == b => true,
            (End::At(a), End::At(b)) => analyzer.can_prove_equal(store, a, b),
            _ => false,
        }
    }

    /// Returns first value and number of values of the range that holds it; `whole` where it has no bounds.
    pub fn cover(self, store: &mut Store, whole: (PrimId, PrimId)) -> (PrimId, PrimId) {
        let (Some(min), Some(max)) = (self.lower(), self.upper()) else { return whole };
        let analyzer = &mut Analyzer::new();
        let end = plus(store, max, 1);
        let extent = binary(store, PrimOp::Sub, end, min);
        (analyzer.simplify(store, min), analyzer.simplify(store, extent))
    }

    /// True if it is provably this exact range.
    pub fn is_range(self, store: &mut Store, min: PrimId, extent: PrimId) -> bool {
        let (Some(least), Some(most)) = (self.lower(), self.upper()) else { return false };
        let analyzer = &mut Analyzer::new();
        let end = binary(store, PrimOp::Add, extent, min);
        let last = plus(store, end, -1);
        [(least, min), (most, last)].into_iter().all(|(a, b)| {
            let difference = binary(store, PrimOp::Sub, a, b);
            let difference = analyzer.simplify(store, difference);
            store.as_prim_int(difference) == Some(0)
        })
    }

    /// Returns the smallest interval around both (TVM's `Union` of two interval sets).
    pub fn hull(self, store: &mut Store, other: IntSet) -> IntSet {
        match (self.is_nothing(), other.is_nothing()) {
            (true, _) => other,
            (_, true) => self,
            _ => IntSet {
                max: End::extreme(store, PrimOp::Max, self.max, other.max),
                min: End::extreme(store, PrimOp::Min, self.min, other.min),
            },
        }
    }

    /// Returns the intersection of both.
    pub fn meet(self, store: &mut Store, analyzer: &mut Analyzer, other: IntSet) -> IntSet {
        let max = End::extreme(store, PrimOp::Min, self.max, other.max);
        let min = End::extreme(store, PrimOp::Max, self.min, other.min);
        if let (End::At(least), End::At(most)) = (min, max)
            && is_integer(store.prim_dtype(least))
            && is_integer(store.prim_dtype(most))
        {
            let crossed = binary(store, PrimOp::Lt, most, least);
            if analyzer.can_prove(store, crossed) {
                return IntSet::NOTHING;
            }
        }
        IntSet { min, max }
    }

    /// Simplifies both ends.
    fn simplified(self, store: &mut Store, analyzer: &mut Analyzer) -> IntSet {
        IntSet {
            min: self.min.map(|value| analyzer.simplify(store, value)),
            max: self.max.map(|value| analyzer.simplify(store, value)),
        }
    }

    /// Returns the smallest interval over all of them.
    pub fn union(store: &mut Store, sets: &[IntSet]) -> IntSet {
        IntSet::folded(store, sets, |store, _, a, b| a.hull(store, b))
    }

    /// Returns the intersection of all of them.
    pub fn intersect(store: &mut Store, sets: &[IntSet]) -> IntSet {
        IntSet::folded(store, sets, |store, analyzer, a, b| a.meet(store, analyzer, b))
    }

    fn folded(
        store: &mut Store,
        sets: &[IntSet],
        mut op: impl FnMut(&mut Store, &mut Analyzer, IntSet, IntSet) -> IntSet,
    ) -> IntSet {
        match *sets {
            [] => IntSet::NOTHING,
            [only] => only,
            [first, ref rest @ ..] => {
                let analyzer = &mut Analyzer::new();
                let all = rest.iter().fold(first, |all, set| op(store, analyzer, all, *set));
                all.simplified(store, analyzer)
            }
        }
    }

    /// Returns the first set, grown by those that touch it: all of it is in the union (TVM's `UnionLowerBound`).
    pub fn union_lower_bound(store: &mut Store, sets: &[IntSet]) -> IntSet {
        if let [only] = *sets {
            return only;
        }
        let analyzer = &mut Analyzer::new();
        let mut all: Option<IntSet> = None;
        let mut touches = |store: &mut Store, least: End, most: End| match (least, most) {
            (End::NegInf, _) | (_, End::PosInf) => true,
            (End::At(least), End::At(most)) => {
                let next = plus(store, most, 1);
                let joined = binary(store, PrimOp::Le, least, next);
                analyzer.can_prove(store, joined)
            }
            _ => false,
        };
        for set in sets.iter().copied().filter(|set| !set.is_nothing()) {
            all = Some(match all {
                None => set,
                Some(all) if touches(store, set.min, all.max) && touches(store, all.min, set.max) => IntSet {
                    min: End::extreme(store, PrimOp::Min, all.min, set.min),
                    max: End::extreme(store, PrimOp::Max, all.max, set.max),
                },
                Some(all) => all,
            });
        }
        all.unwrap_or(IntSet::NOTHING)
    }

    /// Computes [`IntSet::union`], axis by axis; all regions have as many axes as the first.
    pub fn union_region(store: &mut Store, regions: &[Vec<IntSet>]) -> Vec<IntSet> {
        by_axis(regions, |sets| IntSet::union(store, sets))
    }

    /// Computes [`IntSet::union_lower_bound`], axis by axis.
    pub fn union_region_lower_bound(store: &mut Store, regions: &[Vec<IntSet>]) -> Vec<IntSet> {
        by_axis(regions, |sets| IntSet::union_lower_bound(store, sets))
    }
}

fn by_axis(regions: &[Vec<IntSet>], mut f: impl FnMut(&[IntSet]) -> IntSet) -> Vec<IntSet> {
    let axes = regions.first().map_or(0, Vec::len);
    (0..axes)
        .map(|axis| {
            let sets: Vec<IntSet> = regions.iter().filter_map(|region| region.get(axis).copied()).collect();
            f(&sets)
        })
        .collect()
}

/// Makes `value + offset`, folded.
pub(crate) fn plus(store: &mut Store, value: PrimId, offset: i64) -> PrimId {
    let dtype = store.prim_dtype(value).element();
    let number = store.prim_int(offset.abs(), dtype);
    binary(store, if offset < 0 { PrimOp::Sub } else { PrimOp::Add }, value, number)
}

fn is_integer(dtype: DType) -> bool {
    matches!(dtype.code, DTypeCode::Int | DTypeCode::UInt)
}
