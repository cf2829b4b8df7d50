//! Sums of digits as expressions again (TVM's `NormalizeIterMapToExpr`).

use super::{Source, Split, Sum};
use crate::ir::{DType, PrimId, PrimOp, Store};
use crate::tir::arith::Analyzer;
use crate::tir::build::binary;

/// Converts a sum to an expression.
pub fn sum_to_prim(store: &mut Store, analyzer: &mut Analyzer, sum: &Sum) -> PrimId {
    let mut all = store.prim_int(0, DType::I32);
    for split in &sum.args {
        let digit = digit_to_prim(store, analyzer, split);
        all = binary(store, PrimOp::Add, all, digit);
    }
    binary(store, PrimOp::Add, all, sum.base)
}

/// Converts a digit to an expression. Digits nest as deep as the expression that they were made of.
pub fn digit_to_prim(store: &mut Store, analyzer: &mut Analyzer, split: &Split) -> PrimId {
    let source = match &split.source.source {
        Source::Prim(prim) => *prim,
        Source::Sum(sum) => sum_to_prim(store, analyzer, sum),
        Source::Split(split) => digit_to_prim(store, analyzer, split),
    };
    let mut equal = |store: &mut Store, a, b| {
        let same = binary(store, PrimOp::Eq, a, b);
        analyzer.can_prove(store, same)
    };
    if equal(store, split.extent, split.source.extent) && store.as_prim_int(split.lower) == Some(1) {
        return binary(store, PrimOp::Mul, source, split.scale);
    }
    let [ab, ba] = [(split.lower, split.extent), (split.extent, split.lower)].map(|(a, b)| binary(store, PrimOp::Mul, a, b));
    if equal(store, split.source.extent, ab) || equal(store, split.source.extent, ba) {
        if store.as_prim_int(split.extent) == Some(1) && store.as_prim_int(split.source.extent) != Some(1) {
            return store.prim_int(0, store.prim_dtype(split.extent));
        }
        let digit = binary(store, PrimOp::FloorDiv, source, split.lower);
        return binary(store, PrimOp::Mul, digit, split.scale);
    }
    let whole = analyzer.canonical_simplify(store, ba);
    let digit = binary(store, PrimOp::FloorMod, source, whole);
    let digit = binary(store, PrimOp::FloorDiv, digit, split.lower);
    binary(store, PrimOp::Mul, digit, split.scale)
}
