//! Collects the declarations and accesses of memory.

use super::{Key, Which, key_of};
use crate::ir::{Buffer, DType, DTypeCode, Id, Mentions, PrimExpr, PrimId, Stmt, StmtId, Store, Symbol};
use crate::tir::arith::Analyzer;
use rustc_hash::{FxHashMap, FxHashSet};

/// The declaration and uses of memory.
pub(super) struct Usage {
    pub(super) element: DType,
    /// The extent of the last axis; nothing if unknown, and then it counts as a multiple of any number.
    pub(super) extent: Option<PrimId>,
    /// True if it may become memory of vectors.
    pub(super) may: bool,
    pub(super) accessed: FxHashSet<DType>,
    /// Reads of single elements; the lanes are how many of them the place is a multiple of.
    pub(super) read: FxHashSet<DType>,
}

/// Returns the type of element that fits all accesses; the one that it has where there is no better one.
pub(super) fn preferred(store: &mut Store, usage: &Usage) -> DType {
    let bases: FxHashSet<DType> = usage.accessed.iter().chain(&usage.read).map(|dtype| dtype.element()).collect();
    let mut bases = bases.into_iter();
    let (Some(base), None) = (bases.next(), bases.next()) else { return usage.element };
    let mut lanes = usage.element.lanes;
    let mut accessed = usage.accessed.iter();
    if let (1, Some(access), None) = (lanes, accessed.next(), accessed.next()) {
        let wanted = access.lanes.max(1);
        if usage.read.iter().any(|read| !read.lanes.is_multiple_of(wanted)) {
            return usage.element;
        }
        let set = usage.extent.map(|extent| Analyzer::new().modular_set(store, extent));
        let wide = i64::from(wanted);
        if set.is_none_or(|set| set.coeff % wide == 0 && set.base % wide == 0) {
            lanes = wanted;
        }
    }
    DType { lanes, ..base }
}

/// Looks at all accesses.
pub(super) struct Uses {
    pub(super) which: Which,
    pub(super) analyzer: Analyzer,
    pub(super) usage: FxHashMap<Key, Usage>,
    pub(super) order: Vec<Key>,
    pub(super) roots: FxHashMap<Id<Buffer>, Id<Buffer>>,
    /// The memory so far that may become memory of vectors: other accesses do not count.
    pub(super) tracked: Mentions,
}

/// Returns the type in memory: truth values are bytes there.
pub(super) fn stored(dtype: DType) -> DType {
    if dtype.element() == DType::BOOL { DType { lanes: dtype.lanes, ..DType::I8 } } else { dtype }
}

impl Uses {
    fn declare(&mut self, key: Key, element: DType, extent: Option<PrimId>, may: bool) {
        if may {
            self.tracked |= match key {
                Key::Buffer(buffer) => Mentions::buffer(buffer),
                Key::Pointer(symbol) => Mentions::symbol(symbol),
            };
        }
        let usage = Usage { element: stored(element), extent, may, accessed: FxHashSet::default(), read: FxHashSet::default() };
        if self.usage.insert(key, usage).is_none() {
            self.order.push(key);
        }
    }

    /// True if memory may become memory of vectors.
    fn may(&self, key: Key) -> bool {
        self.usage.get(&key).is_some_and(|usage| usage.may)
    }

    pub(super) fn declare_buffer(&mut self, store: &Store, buffer: Id<Buffer>, may: bool) {
        let data = store.buffer(buffer);
        self.declare(Key::Buffer(buffer), data.dtype, data.shape.last().copied(), may);
    }

    pub(super) fn declare_pointer(&mut self, store: &Store, symbol: Id<Symbol>, may: bool) {
        let dtype = store.symbol(symbol).dtype;
        let element = store.pointee(dtype).map_or(DType::VOID, |pointer| pointer.element);
        if dtype.code == DTypeCode::Handle && dtype != DType::VOID && (element != DType::VOID || self.which.untyped) {
            self.declare(Key::Pointer(symbol), element, None, may);
        }
    }

    pub(super) fn stmt(&mut self, store: &mut Store, id: StmtId) {
        match *store.stmt_rc(id) {
            Stmt::Store { buffer, ref indices, value } => {
                self.access(store, store.prim_dtype(value), Key::Buffer(buffer), indices, false);
            }
            Stmt::Alloc(buffer, _) => {
                self.roots.insert(buffer, buffer);
                self.declare_buffer(store, buffer, true);
            }
            Stmt::Declare(buffer) => {
                let data = store.buffer(buffer).data;
                let source = data.and_then(|data| key_of(store, data));
                let root = match source {
                    Some(Key::Buffer(source)) => self.roots.get(&source).copied().unwrap_or(source),
                    _ => buffer,
                };
                self.roots.insert(buffer, root);
                self.declare_buffer(store, buffer, false);
                if self.may(Key::Buffer(root)) {
                    self.tracked |= Mentions::buffer(buffer);
                }
                if let Some(data) = data {
                    self.value(store, data);
                }
            }
            Stmt::Bind { var, .. } => self.declare_pointer(store, var, true),
            _ => {}
        }
        let mut roots = Vec::new();
        store.for_each_prim_of(store.stmt(id), |root| roots.push(root));
        roots.into_iter().for_each(|root| self.value(store, root));
        let mut inner = Vec::new();
        store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
        inner.into_iter().for_each(|stmt| self.stmt(store, stmt));
    }

    fn value(&mut self, store: &mut Store, root: PrimId) {
        if !store.prim_mentions(root).meets(self.tracked | Mentions::LETS) {
            return;
        }
        let mut found = Vec::new();
        store.for_each_prim(root, &mut |id, expr| {
            if matches!(expr, PrimExpr::Load { .. } | PrimExpr::Call { .. } | PrimExpr::Let { .. }) {
                found.push(id);
            }
        });
        for id in found {
            match &*store.prim_rc(id) {
                PrimExpr::Load { buffer, indices } => {
                    self.access(store, store.prim_dtype(id), Key::Buffer(*buffer), indices, true);
                }
                PrimExpr::Let { var, .. } => self.declare_pointer(store, *var, false),
                PrimExpr::Call { op, args, .. } => match (store.str(*op), &args[..]) {
                    ("tvm_access_ptr", [dtype, data, offset, ..]) => {
                        if let Some(key) = key_of(store, *data) {
                            self.access(store, store.prim_dtype(*dtype), key, &[*offset], false);
                        }
                    }
                    ("address_of", [load]) => {
                        if let PrimExpr::Load { buffer, indices } = &*store.prim_rc(*load) {
                            self.access(store, store.prim_dtype(*load), Key::Buffer(*buffer), indices, false);
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
        }
    }

    fn access(&mut self, store: &mut Store, value: DType, mut key: Key, indices: &[PrimId], is_load: bool) {
        if let Key::Buffer(buffer) = key
            && let Some(root) = self.roots.get(&buffer)
            && self.usage.contains_key(&Key::Buffer(*root))
        {
            key = Key::Buffer(*root);
        }
        if value.is_scalable() || !self.may(key) {
            return;
        }
        let value = stored(value);
        let last = indices.last().copied();
        let ramp = last.and_then(|last| match *store.prim_of_id(last) {
            PrimExpr::Ramp { base, stride, lanes } if store.as_prim_int(stride) == Some(1) => Some((base, lanes)),
            _ => None,
        });
        let whole = ramp.filter(|(base, lanes)| {
            let set = self.analyzer.modular_set(store, *base);
            let wide = i64::from(*lanes);
            lanes & DType::SCALABLE == 0 && set.coeff % wide == 0 && set.base % wide == 0
        });
        let single = last.filter(|last| self.which.shuffles && is_load && store.prim_dtype(*last).lanes == 1);
        let every = single.map(|index| self.analyzer.modular_set(store, index).coeff);
        let Some(usage) = self.usage.get_mut(&key) else { return };
        if usage.element == DType::VOID {
            usage.element = value.element();
        }
        let index_lanes = last.map_or(1, |last| store.prim_dtype(last).lanes);
        let mut lanes = usage.element.lanes;
        if u32::from(index_lanes) * u32::from(lanes) != u32::from(value.lanes) {
            lanes = 1;
            usage.element = usage.element.element();
        }
        if let Some((_, whole)) = whole {
            lanes = whole;
        }
        match every {
            Some(every) => usage.read.insert(DType { lanes: every as u16, ..value }),
            None => usage.accessed.insert(DType { lanes, ..value }),
        };
    }
}
