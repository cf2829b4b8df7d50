//! Casts of sums, which go to the terms where nothing is lost.

use super::{Canon, INF, Split, Sum, least};
use crate::ir::{DType, PrimId, PrimOp, Store};
use crate::tir::arith::{Analyzer, Bound, Mode, is_index};
use crate::tir::build::{binary, cast};

impl Analyzer {
    /// Simplifies a cast to an index type.
    pub(super) fn canonical_cast(&mut self, store: &mut Store, id: PrimId, value: PrimId, dtype: DType) -> Canon {
        let value = self.canonical(store, value);
        match &*value {
            Canon::Sum(sum) if self.sum_fits(store, sum, dtype) => {
                let mut sum = sum.clone();
                sum.args.iter_mut().for_each(|arg| arg.push_cast(store, dtype));
                sum.dtype = dtype;
                Canon::Sum(sum)
            }
            Canon::Split(split) if self.split_fits(store, split, dtype) => {
                let mut split = split.clone();
                split.push_cast(store, dtype);
                Canon::Split(split)
            }
            _ => Canon::Expr(self.visit_node(store, id, Mode::Canonical)),
        }
    }

    fn fits(&mut self, store: &mut Store, value: PrimId, dtype: DType) -> bool {
        if !is_index(dtype) {
            return false;
        }
        let (bound, all) = (self.const_int_bound(store, value), Bound::of_type(dtype));
        store.prim_dtype(value).bits <= dtype.bits || (bound.max <= all.max && bound.min >= all.min)
    }

    /// True if all intermediate values of a term fit a type.
    fn split_fits(&mut self, store: &mut Store, split: &Split, dtype: DType) -> bool {
        if dtype.bits >= split.dtype.bits || split.scale == 0 {
            return true;
        }
        let steps = [
            Split { lower: 1, upper: INF, scale: 1, ..split.clone() },
            Split { lower: 1, scale: 1, ..split.clone() },
            Split { scale: 1, ..split.clone() },
            split.clone(),
        ];
        steps.iter().all(|step| {
            let value = step.normal(store, 1);
            self.fits(store, value, dtype)
        })
    }

    fn sum_fits(&mut self, store: &mut Store, sum: &Sum, dtype: DType) -> bool {
        if dtype.bits >= sum.dtype.bits {
            return true;
        }
        // In the order in which the sum is written.
        let least = least(dtype);
        let mut parts = Vec::new();
        let number = |store: &mut Store, base: i64| store.prim_int(base, dtype);
        for arg in sum.args.iter().filter(|arg| arg.scale > 0) {
            parts.push((PrimOp::Add, arg.normal(store, 1)));
        }
        if sum.base > 0 || sum.base == least {
            parts.push((PrimOp::Add, number(store, sum.base)));
        }
        for arg in sum.args.iter().filter(|arg| arg.scale < 0) {
            parts.push((PrimOp::Sub, arg.normal(store, -1)));
        }
        if sum.base < 0 && sum.base != least {
            parts.push((PrimOp::Sub, number(store, sum.base.wrapping_neg())));
        }
        let mut result = number(store, 0);
        for (op, part) in parts {
            result = binary(store, op, result, part);
            if !self.fits(store, result, dtype) {
                return false;
            }
        }
        sum.args.iter().all(|arg| self.split_fits(store, arg, dtype))
    }
}

impl Split {
    fn push_cast(&mut self, store: &mut Store, dtype: DType) {
        self.index = cast(store, dtype, self.index);
        self.dtype = dtype;
    }
}
