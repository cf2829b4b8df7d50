//! The part of a buffer that is left when everything inside has moved, and which threads share it.

use super::regions::Collector;
use crate::ir::{Buffer, DType, Id, PrimExpr, PrimId, PrimOp, Store};
use crate::tir::arith::{Bound, Strength};
use crate::tir::binary;
use crate::tir::effect::is_pure;

/// `blockIdx` is of rank 0, threads of a block of rank 1, of which `x` has the index 0.
#[derive(Clone, Copy)]
pub(super) struct Thread {
    rank: u8,
    is_x: bool,
}

impl Thread {
    pub fn of(tag: &str) -> Thread {
        Thread { rank: u8::from(!tag.starts_with("blockIdx")), is_x: tag == "threadIdx.x" }
    }

    /// True if memory is shared by the threads, so that the extents of all of them count.
    pub fn shares(self, scope: &str) -> bool {
        match scope.split('.').next().unwrap_or_default() {
            "" | "global" => true,
            "shared" => self.rank >= 1,
            "warp" => self.rank == 1 && self.is_x,
            _ => false,
        }
    }
}

impl Collector {
    pub(super) fn close_flat(&mut self, store: &mut Store, from: usize) {
        for buffer in self.flat.split_off(from) {
            if self.relaxed.contains_key(&buffer) {
                self.close(store, buffer);
            }
        }
    }

    /// Returns the range along each axis that a buffer needs: in terms of nothing that moves inside.
    pub(super) fn close(&mut self, store: &mut Store, buffer: Id<Buffer>) {
        let Some(sets) = self.relaxed.get(&buffer).cloned() else { return };
        let shape = store.buffer(buffer).shape.clone();
        let mut region = Vec::new();
        for (set, size) in sets.iter().zip(&shape) {
            let zero = store.prim_int(0, store.prim_dtype(*size));
            let whole = (zero, *size);
            let (mut min, mut extent) = set.cover(store, whole);
            if self.strict {
                let zero = store.prim_int(0, DType::I32);
                min = binary(store, PrimOp::Max, zero, min);
                if !self.fits(store, extent, *size) {
                    extent = binary(store, PrimOp::Min, *size, extent);
                }
            }
            min = self.analyzer.simplify(store, min);
            extent = self.analyzer.simplify(store, extent);
            if !is_pure(store, extent) {
                region.push(whole);
                continue;
            }
            if self.moves(store, extent) {
                let most = self.analyzer.const_int_bound(store, extent).max;
                if most == Bound::INF {
                    region.push(whole);
                    continue;
                }
                extent = store.prim_int(most, store.prim_dtype(extent));
            }
            region.push((min, extent));
        }
        self.found.insert(buffer, region);
    }

    fn moves(&self, store: &Store, extent: PrimId) -> bool {
        let mut found = false;
        store.for_each_prim(extent, &mut |_, part| {
            found |= matches!(part, PrimExpr::Var(symbol) if self.iters.iter().any(|iter| iter.var == *symbol));
        });
        found
    }

    /// True if an extent is at most a size, which may have a symbol as a factor (TVM's
    /// `CanProveLessEqualThanSymbolicShapeValue`).
    fn fits(&mut self, store: &mut Store, extent: PrimId, size: PrimId) -> bool {
        let at_most = binary(store, PrimOp::Le, extent, size);
        if self.analyzer.can_prove_with(store, at_most, Strength::SymbolicBound) {
            return true;
        }
        if store.as_prim_int(size).is_some() {
            return false;
        }
        let (mut scale, mut todo) = (1i64, vec![size]);
        while let Some(id) = todo.pop() {
            match *store.prim_of_id(id) {
                PrimExpr::Binary { op: PrimOp::Mul, a, b } => todo.extend([a, b]),
                PrimExpr::Int { value, .. } => scale = scale.wrapping_mul(value),
                _ => {}
            }
        }
        let scale = store.prim_int(scale.wrapping_abs(), store.prim_dtype(size));
        let at_most = binary(store, PrimOp::Le, extent, scale);
        self.analyzer.can_prove_with(store, at_most, Strength::SymbolicBound)
    }
}
