//! Plans the places of a kernel's buffers in one allocation.

use crate::ir::{Buffer, DType, Id, PrimId, PrimOp, Store};
use crate::passes::tir::accesses::{Accesses, events};
use crate::tir::{binary, math};
use rustc_hash::FxHashMap;

/// A place, for buffers that are not in use at the same time: in layers, each with buffers one behind the other.
struct Place {
    bits: u64,
    layers: Vec<Vec<Id<Buffer>>>,
}

/// Returns the number of bytes of an element.
pub(super) fn bytes_of(dtype: DType) -> i64 {
    let bits = if dtype.bits == 1 { 8 } else { i64::from(dtype.bits) };
    (bits * i64::from(dtype.lanes) + 7) / 8
}

fn known_bits(store: &Store, buffer: Id<Buffer>) -> u64 {
    let data = store.buffer(buffer);
    let size =
        data.shape.iter().try_fold(1u64, |size, extent| size.checked_mul(u64::try_from(store.as_prim_int(*extent)?).ok()?));
    let bits = if data.dtype.bits == 1 { 8 } else { u64::from(data.dtype.bits) } * u64::from(data.dtype.lanes);
    size.and_then(|size| size.checked_mul(bits)).unwrap_or(0)
}

#[derive(Default)]
struct Plan {
    places: Vec<Place>,
    of: FxHashMap<Id<Buffer>, usize>,
    /// Free places of known size, by size, and others.
    free: Vec<(u64, usize)>,
    free_unknown: Vec<usize>,
}

/// Returns the offset of each buffer in bytes, and the number of bytes in all.
pub(super) fn offsets(
    store: &mut Store,
    accesses: &Accesses,
    buffers: &[Id<Buffer>],
) -> Result<(FxHashMap<Id<Buffer>, PrimId>, PrimId), String> {
    let events = events(&accesses.line);
    let mut plan = Plan::default();
    for entry in &accesses.line {
        let Some(events) = events.get(&entry.stmt) else { continue };
        // A buffer used in a single statement is released after it.
        let alone = |buffer: &Id<Buffer>| entry.pair == 0 && events.begins.contains(buffer);
        if entry.pair <= 0 {
            events.ends.iter().filter(|buffer| !alone(buffer)).for_each(|buffer| plan.release(*buffer));
        }
        if entry.pair >= 0 {
            events.begins.iter().for_each(|buffer| plan.find(store, *buffer));
        }
        if entry.pair <= 0 {
            events.ends.iter().filter(|buffer| alone(buffer)).for_each(|buffer| plan.release(*buffer));
        }
    }
    let order: Vec<usize> = plan.free.iter().map(|(_, at)| *at).chain(plan.free_unknown.iter().copied()).collect();
    let (found, size) = plan.placed(store, &order)?;
    let used = |buffer: &&Id<Buffer>| plan.of.contains_key(*buffer) && !found.contains_key(*buffer);
    if let Some(small) = buffers.iter().find(used) {
        let name = store.str(store.buffer(*small).name);
        return Err(format!("{name} is too small to be merged: TVM gives memory of at most 32 bits no place"));
    }
    let mut found = found;
    // Unused buffers are removed, so their offset does not matter.
    let zero = store.prim_int(0, DType::I32);
    buffers.iter().for_each(|buffer| {
        found.entry(*buffer).or_insert(zero);
    });
    Ok((found, size))
}

impl Plan {
    fn find(&mut self, store: &Store, buffer: Id<Buffer>) {
        const RANGE: u64 = 16;
        let size = known_bits(store, buffer);
        let at = match size {
            1..=32 => None,
            0 => (!self.free_unknown.is_empty()).then(|| self.free_unknown.remove(0)),
            _ => {
                let middle = self.free.partition_point(|(bits, _)| *bits < size);
                let end = self.free.partition_point(|(bits, _)| *bits <= size.saturating_mul(RANGE));
                if middle < end {
                    let (_, at) = self.free.remove(middle);
                    self.places[at].bits = self.places[at].bits.max(size);
                    self.places[at].layers.push(vec![buffer]);
                    Some(at)
                } else {
                    self.gathered(buffer, size, middle)
                }
            }
        };
        let at = at.unwrap_or_else(|| {
            self.places.push(Place { bits: size, layers: vec![vec![buffer]] });
            self.places.len() - 1
        });
        self.of.insert(buffer, at);
    }

    /// Gathers several smaller places into one, the largest first.
    fn gathered(&mut self, buffer: Id<Buffer>, size: u64, middle: usize) -> Option<usize> {
        let (mut first, mut sum) = (middle, 0u64);
        let mut layers: Vec<Vec<Id<Buffer>>> = Vec::new();
        while first > 0 && sum < size {
            first -= 1;
            let place = &self.places[self.free[first].1];
            sum += place.bits;
            layers.resize(layers.len().max(place.layers.len()), Vec::new());
            for (layer, buffers) in layers.iter_mut().zip(&place.layers) {
                layer.extend(buffers);
            }
        }
        if sum == 0 {
            return None;
        }
        layers.push(vec![buffer]);
        self.free.drain(first..middle);
        self.places.push(Place { bits: size.max(sum), layers });
        Some(self.places.len() - 1)
    }

    fn release(&mut self, buffer: Id<Buffer>) {
        let Some(at) = self.of.get(&buffer).copied() else { return };
        match self.places[at].bits {
            1..=32 => {}
            0 => self.free_unknown.push(at),
            bits => {
                let place = self.free.partition_point(|(other, _)| *other <= bits);
                self.free.insert(place, (bits, at));
            }
        }
    }

    /// Puts places one behind the other.
    fn placed(&self, store: &mut Store, order: &[usize]) -> Result<(FxHashMap<Id<Buffer>, PrimId>, PrimId), String> {
        let mut align: Vec<i64> = Vec::new();
        for at in order {
            for (i, layer) in self.places[*at].layers.iter().enumerate() {
                align.resize(align.len().max(i + 1), 0);
                for buffer in layer {
                    align[i] = align[i].max(bytes_of(store.buffer(*buffer).dtype));
                }
            }
        }
        let mut found = FxHashMap::default();
        let mut total = store.prim_int(0, DType::I32);
        for at in order {
            let mut most = store.prim_int(0, DType::I32);
            for (i, layer) in self.places[*at].layers.iter().enumerate() {
                let mut inner = store.prim_int(0, DType::I32);
                for buffer in layer {
                    let data = store.buffer(*buffer).clone();
                    let mut unit = align[i].max(bytes_of(data.dtype)).max(1);
                    if data.align > 0 {
                        if i64::from(data.align) % unit != 0 {
                            return Err("The alignment of the buffer is not a multiple of the data type size.".to_owned());
                        }
                        unit = i64::from(data.align);
                    }
                    let unit = store.prim_int(unit, DType::I32);
                    let place = binary(store, PrimOp::Add, total, inner);
                    let rest = binary(store, PrimOp::FloorMod, place, unit);
                    let gap = binary(store, PrimOp::Sub, unit, rest);
                    let gap = binary(store, PrimOp::FloorMod, gap, unit);
                    inner = binary(store, PrimOp::Add, inner, gap);
                    let begin = binary(store, PrimOp::Add, total, inner);
                    found.insert(*buffer, begin);
                    let bytes = store.prim_int(bytes_of(data.dtype), DType::I32);
                    let size = binary(store, PrimOp::Mul, data.shape[0], bytes);
                    inner = binary(store, PrimOp::Add, inner, size);
                }
                most = math::min_max(store, PrimOp::Max, most, inner);
            }
            total = binary(store, PrimOp::Add, total, most);
        }
        Ok((found, total))
    }
}
