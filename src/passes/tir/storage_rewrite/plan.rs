//! Plans which allocations share memory: one takes the place of another after its last use.

use super::in_place::can_be_in_place;
use crate::ir::{Buffer, DType, ForKind, Id, Name, Stmt, StmtId, Store};
use crate::passes::tir::accesses::{Accesses, events};
use crate::passes::tir::storage_scope::Scope;
use rustc_hash::{FxHashMap, FxHashSet};

/// A piece of memory.
pub(super) struct Storage {
    /// The kernel or parallel loop in whose body it is allocated; nothing: the function.
    pub(super) attach: Option<StmtId>,
    /// The size; 0 when it is unknown.
    pub(super) bits: u64,
    pub(super) scope: Id<Name>,
    pub(super) element: DType,
    /// The allocations that it is for.
    pub(super) allocs: Vec<Id<Buffer>>,
    pub(super) volatile: bool,
    /// Others that follow in the same allocation.
    pub(super) children: Vec<usize>,
    /// The offset in the allocation of another one.
    pub(super) offset: u64,
    /// The buffer that is allocated for it, when it is known.
    pub(super) backing: Option<Id<Buffer>>,
}

/// The options of the plan.
#[derive(Clone, Copy)]
pub(super) struct Options {
    /// Memory is used again.
    pub(super) reuse: bool,
    /// Only for elements of the same type.
    pub(super) same_type: bool,
}

/// Returns the bits of an element; a truth value takes a byte.
pub(super) fn bits(dtype: DType) -> u64 {
    u64::from(if dtype.bits == 1 { 8 } else { dtype.bits }) * u64::from(dtype.lanes)
}

/// Returns the size of an allocation in bits; 0 when it is unknown.
pub(super) fn known_bits(store: &Store, buffer: Id<Buffer>) -> u64 {
    let buffer = store.buffer(buffer);
    if buffer.dtype.is_scalable() {
        return 0;
    }
    let size = buffer.shape.iter().try_fold(1u64, |size, extent| {
        let extent = u64::try_from(store.as_prim_int(*extent)?).ok()?;
        size.checked_mul(extent)
    });
    size.and_then(|size| size.checked_mul(bits(buffer.dtype))).unwrap_or(0)
}

#[derive(Default)]
pub(super) struct Plan {
    pub(super) storage: Vec<Storage>,
    /// The memory of each allocation that is used.
    pub(super) of: FxHashMap<Id<Buffer>, usize>,
    /// Free memory of known size, by size.
    free: Vec<(u64, usize)>,
    /// Free memory of other sizes.
    free_unknown: Vec<usize>,
    /// The kernel or parallel loop under way.
    attach: Option<StmtId>,
}

impl Plan {
    /// Makes the plan for a line of accesses; the error names an access that cannot be planned.
    pub(super) fn of(store: &Store, accesses: &Accesses, options: Options) -> Result<Plan, String> {
        let events = events(&accesses.line);
        let mut plan = Plan::default();
        let mut in_place: FxHashSet<Id<Buffer>> = FxHashSet::default();
        for entry in &accesses.line {
            let found = events.get(&entry.stmt);
            if let Some(events) = found.filter(|_| entry.pair >= 0) {
                for buffer in &events.begins {
                    let mut to = None;
                    if events.begins.len() <= 2 {
                        to = plan.in_place(store, entry.stmt, *buffer, &events.ends, &mut in_place);
                    }
                    let volatile = accesses.allocs.get(buffer).is_some_and(|alloc| alloc.volatile);
                    let dims = accesses.allocs.get(buffer).map_or(1, |alloc| alloc.dims);
                    let to = to.unwrap_or_else(|| plan.find(store, *buffer, dims, options));
                    plan.storage[to].allocs.push(*buffer);
                    plan.storage[to].volatile |= volatile;
                    plan.of.insert(*buffer, to);
                }
            }
            match store.stmt(entry.stmt) {
                Stmt::Attr { key, .. } => {
                    if matches!(store.str(*key), "thread_extent" | "virtual_thread") {
                        plan.cross(entry.stmt)?;
                    }
                }
                Stmt::For(head, _) if head.kind == ForKind::Parallel && plan.attach.is_none_or(|attach| attach == entry.stmt) => {
                    plan.cross(entry.stmt)?;
                }
                _ => {}
            }
            if let Some(events) = found.filter(|_| entry.pair <= 0) {
                for buffer in events.ends.iter().filter(|buffer| !in_place.contains(*buffer)) {
                    plan.release(store, *buffer);
                }
            }
        }
        Ok(plan)
    }

    /// Enters or leaves a kernel or parallel loop.
    fn cross(&mut self, stmt: StmtId) -> Result<(), String> {
        if self.attach.is_none() {
            self.attach = Some(stmt);
            return Ok(());
        }
        if self.attach != Some(stmt) {
            return Err("threads are bound inside of a parallel loop or of other threads".to_owned());
        }
        let storage = &self.storage;
        self.free.retain(|(_, at)| storage[*at].attach != Some(stmt));
        self.free_unknown.retain(|at| storage[*at].attach != Some(stmt));
        self.attach = None;
        Ok(())
    }

    /// Returns the memory of a buffer whose last read is at the first write of `target`, element by element.
    fn in_place(
        &self,
        store: &Store,
        stmt: StmtId,
        target: Id<Buffer>,
        ends: &[Id<Buffer>],
        taken: &mut FxHashSet<Id<Buffer>>,
    ) -> Option<usize> {
        let data = store.buffer(target);
        for source in ends {
            let Some(at) = self.of.get(source).copied().filter(|_| !taken.contains(source)) else { continue };
            let storage = &self.storage[at];
            if storage.scope == data.scope
                && storage.attach == self.attach
                && !data.dtype.is_scalable()
                && storage.element == data.dtype.element()
                && storage.bits == known_bits(store, target)
                && can_be_in_place(store, stmt, target, *source)
            {
                taken.insert(*source);
                return Some(at);
            }
        }
        None
    }

    /// Returns memory for an allocation: some that is free, or new.
    fn find(&mut self, store: &Store, buffer: Id<Buffer>, dims: usize, options: Options) -> usize {
        const RANGE: u64 = 16;
        let data = store.buffer(buffer);
        let scope = Scope::of(store.str(data.scope));
        let element_bits = bits(data.dtype);
        let size = known_bits(store, buffer);
        let small = scope.tag.is_empty() && (scope.is_private() || (size != 0 && size <= 32));
        let fits = |plan: &Plan, at: usize| {
            let storage = &plan.storage[at];
            let same_type = !options.same_type || storage.element == data.dtype;
            storage.attach == plan.attach && storage.scope == data.scope && same_type
        };
        let mut found = None;
        if options.reuse && !small && dims == 1 && !data.dtype.is_scalable() {
            let same = |plan: &Plan, at: usize| fits(plan, at) && plan.storage[at].element == data.dtype.element();
            if size == 0 {
                if let Some(at) = self.free_unknown.iter().position(|at| same(self, *at)) {
                    return self.free_unknown.remove(at);
                }
            } else {
                let begin = self.free.partition_point(|(bits, _)| *bits < size / RANGE);
                let middle = self.free.partition_point(|(bits, _)| *bits < size);
                let end = self.free.partition_point(|(bits, _)| *bits <= size.saturating_mul(RANGE));
                let larger = |i: &usize| {
                    let at = self.free[*i].1;
                    fits(self, at) && self.storage[at].offset.is_multiple_of(element_bits.max(1))
                };
                found = (middle..end).find(larger);
                found = found.or_else(|| (begin..middle).rev().find(|i| same(self, self.free[*i].1)));
            }
        }
        if let Some(i) = found {
            let (_, at) = self.free.remove(i);
            self.storage[at].bits = self.storage[at].bits.max(size);
            return at;
        }
        self.storage.push(Storage {
            attach: self.attach,
            bits: size,
            scope: data.scope,
            element: data.dtype.element(),
            allocs: Vec::new(),
            volatile: false,
            children: Vec::new(),
            offset: 0,
            backing: None,
        });
        self.storage.len() - 1
    }

    /// Frees the memory of an allocation.
    fn release(&mut self, store: &Store, buffer: Id<Buffer>) {
        let Some(at) = self.of.get(&buffer).copied() else { return };
        let storage = &self.storage[at];
        let scope = Scope::of(store.str(storage.scope));
        if scope.tag.is_empty() {
            let first = storage.allocs.first().map(|first| store.buffer(*first).dtype);
            if scope.is_private() || first.is_some_and(DType::is_scalable) || (1..=32).contains(&storage.bits) {
                return;
            }
        }
        match storage.bits {
            0 => self.free_unknown.push(at),
            bits => {
                let place = self.free.partition_point(|(other, _)| *other <= bits);
                self.free.insert(place, (bits, at));
            }
        }
    }
}
