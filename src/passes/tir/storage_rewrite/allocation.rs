//! The buffers that are allocated for pieces of memory.

use super::Share;
use super::plan::bits;
use crate::ir::{Buffer, DType, Id, PrimId, PrimOp, Store};
use crate::tir::arith::Analyzer;
use crate::tir::{binary, math};

impl Share {
    /// Returns the buffer for a piece of memory by itself.
    pub(super) fn own(&mut self, store: &mut Store, at: usize) -> Id<Buffer> {
        let allocs = self.plan.storage[at].allocs.clone();
        let first = store.buffer(allocs[0]).clone();
        let alike = allocs.iter().all(|buffer| {
            let buffer = store.buffer(*buffer);
            buffer.dtype == first.dtype && buffer.shape == first.shape
        });
        if alike {
            return allocs[0];
        }
        let mut element = first.dtype;
        let mut size: Option<PrimId> = None;
        for buffer in &allocs {
            let data = store.buffer(*buffer).clone();
            if data.dtype.lanes > element.lanes {
                element = data.dtype;
            }
            let (bits, mut extent) = (bits(data.dtype) as i64, data.shape[0]);
            if let Some(known) = store.as_prim_int(extent)
                && known > i64::from(i32::MAX) / bits.max(1)
            {
                extent = store.prim_int(known, DType::I64);
            }
            let bits = store.prim_int(bits, store.prim_dtype(extent));
            let extent = binary(store, PrimOp::Mul, extent, bits);
            size = Some(match size {
                Some(size) => math::min_max(store, PrimOp::Max, size, extent),
                None => extent,
            });
        }
        let Some(size) = size else { return allocs[0] };
        let unit = store.prim_int(bits(element) as i64, store.prim_dtype(size));
        let (rest, zero) = (binary(store, PrimOp::FloorMod, size, unit), store.prim_int(0, store.prim_dtype(size)));
        let even = binary(store, PrimOp::Eq, rest, zero);
        let mut analyzer = Analyzer::new();
        let even = analyzer.can_prove(store, even);
        let mut count = binary(store, PrimOp::FloorDiv, size, unit);
        if !even {
            let one = store.prim_int(1, DType::I32);
            count = binary(store, PrimOp::Add, count, one);
        }
        let count = analyzer.simplify(store, count);
        store.add_buffer(Buffer::new(first.name, element, [count].into(), first.scope))
    }

    /// Returns the buffer for pieces of a memory of its own, one behind the other.
    pub(super) fn with_children(&mut self, store: &mut Store, at: usize) -> Id<Buffer> {
        const ALIGN: u64 = 32;
        let mut total = self.plan.storage[at].bits.next_multiple_of(ALIGN);
        for child in self.plan.storage[at].children.clone() {
            let child = &mut self.plan.storage[child];
            child.offset = total;
            total = (total + child.bits).next_multiple_of(ALIGN);
        }
        let storage = &self.plan.storage[at];
        let first = store.buffer(storage.allocs[0]).clone();
        let unit = bits(storage.element).max(1);
        let count = store.prim_int(total.div_ceil(unit) as i64, store.prim_dtype(first.shape[0]));
        let buffer = store.add_buffer(Buffer::new(first.name, storage.element, [count].into(), first.scope));
        for child in self.plan.storage[at].children.clone() {
            self.plan.storage[child].backing = Some(buffer);
        }
        buffer
    }
}
