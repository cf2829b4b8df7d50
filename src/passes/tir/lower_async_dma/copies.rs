//! Loops that copy a run of elements (TVM's `src/s_tir/analysis/identify_memcpy.cc`).

use crate::ir::{Buffer, DType, For, Id, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol, sort};
use crate::tir::arith::iter::{Level, Mark, Source, Split, detect_iter_map, digit_to_prim, sum_to_prim};
use crate::tir::arith::{Analyzer, IntSet, domains_of, eval_set_with, lanes_of, plus};
use crate::tir::{binary, elem_offset};

/// A copy of a run of elements: buffers and their first elements, and the number of elements.
pub(super) struct Copy {
    pub to: (Id<Buffer>, PrimId),
    pub from: (Id<Buffer>, PrimId),
    pub count: PrimId,
}

/// The copy that a nest of loops is: both sides are one run of elements, in the same order of loops.
pub(super) fn copy_of(store: &mut Store, analyzer: &mut Analyzer, nest: StmtId) -> Option<Copy> {
    let (mut heads, mut at): (Vec<For>, StmtId) = (Vec::new(), nest);
    while let Stmt::For(head, body) = store.stmt(at) {
        heads.push(*head);
        at = *body;
    }
    let Stmt::Store { buffer: to, indices: place, value } = store.stmt(at).clone() else { return None };
    let PrimExpr::Load { buffer: from, indices: source } = store.prim_of_id(value).clone() else { return None };
    let iters: Vec<(Id<Symbol>, (PrimId, PrimId))> = heads.iter().map(|head| (head.var, (head.min, head.extent))).collect();
    let mut rounds = store.prim_int(1, DType::I32);
    for head in &heads {
        rounds = binary(store, PrimOp::Mul, rounds, head.extent);
    }
    let rounds = analyzer.simplify(store, rounds);
    let domains = domains_of(store, &iters);
    let sides = [(from, &source), (to, &place)].map(|(buffer, indices)| {
        let data = store.buffer(buffer).clone();
        (data.shape.len() == indices.len()).then(|| elem_offset(store, &data, indices))
    });
    let mut sums = Vec::new();
    for side in sides {
        sums.push(detect_iter_map(store, analyzer, &[side?], &iters, None, Level::Bijective, true).ok()?.indices.remove(0));
    }
    for side in sides {
        let touched = eval_set_with(store, analyzer, side?, &domains);
        let (low, high) = (touched.lower()?, touched.upper()?);
        let span = binary(store, PrimOp::Sub, high, low);
        let span = plus(store, span, 1);
        let same = binary(store, PrimOp::Eq, rounds, span);
        let same = analyzer.simplify(store, same);
        if !analyzer.can_prove(store, same) {
            return None;
        }
    }
    let (ours, theirs) = (in_order(store, &sums[0].args), in_order(store, &sums[1].args));
    if ours.len() != theirs.len() || !ours.iter().zip(&theirs).all(|(a, b)| same_digit(store, analyzer, a, b)) {
        return None;
    }
    if source.len() != 1 || place.len() != 1 {
        return None;
    }
    // Accesses of a buffer that is copied in itself count together.
    let apart = from != to;
    let [read, written] = [source[0], place[0]].map(|index| touched(store, &heads, index));
    let both = IntSet::union(store, &[written, read]);
    let [read, written] = if apart { [read, written] } else { [both, both] };
    let (first, _) = range(store, read)?;
    let (place, count) = range(store, written)?;
    Some(Copy { to: (to, place), from: (from, first), count })
}

/// The set of an index over loops, of which nothing else is known.
fn touched(store: &mut Store, heads: &[For], index: PrimId) -> IntSet {
    if matches!(store.prim_of_id(index), PrimExpr::Ramp { .. }) {
        return lanes_of(store, index);
    }
    let analyzer = &mut Analyzer::new();
    for head in heads {
        analyzer.bind_range(store, head.var, head.min, head.extent);
    }
    let domains = analyzer.domains(store);
    eval_set_with(store, analyzer, index, &domains)
}

/// The first element of a set and the number of elements.
fn range(store: &mut Store, set: IntSet) -> Option<(PrimId, PrimId)> {
    let one = store.prim_int(1, DType::I32);
    set.lower().and(set.upper())?;
    Some(set.cover(store, (one, one)))
}

/// Digits by their factors and divisors; those that are no numbers come first.
fn in_order(store: &Store, digits: &[Split]) -> Vec<Split> {
    let key = |digit: &Split| {
        let [scale, extent, lower] = [digit.scale, digit.extent, digit.lower].map(|part| store.as_prim_int(part));
        (scale.is_some(), scale.unwrap_or(0), extent.is_some(), lower.unwrap_or(0), lower.is_some())
    };
    let mut sorted = digits.to_vec();
    sort::sort_by(&mut sorted, |a, b| key(a).cmp(&key(b)));
    sorted
}

fn same_digit(store: &mut Store, analyzer: &mut Analyzer, a: &Split, b: &Split) -> bool {
    let mut same = |store: &mut Store, a: PrimId, b: PrimId| {
        let equal = binary(store, PrimOp::Eq, a, b);
        analyzer.can_prove(store, equal)
    };
    let [of_a, of_b] = [a, b].map(|digit| iterator(store, &digit.source));
    same(store, of_a, of_b) && same(store, a.lower, b.lower) && same(store, a.extent, b.extent) && same(store, a.scale, b.scale)
}

/// An iterator as an expression of the loops.
fn iterator(store: &mut Store, mark: &Mark) -> PrimId {
    let analyzer = &mut Analyzer::new();
    match &mark.source {
        Source::Prim(prim) => *prim,
        Source::Sum(sum) => sum_to_prim(store, analyzer, sum),
        Source::Split(split) => digit_to_prim(store, analyzer, split),
    }
}
