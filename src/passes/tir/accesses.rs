//! Linearises a function into statements and scopes with beginning and end, and finds the uses of memory.

use crate::ir::{Buffer, Id, Mentions, Name, PrimExpr, PrimId, Stmt, StmtId, Store};
use rustc_hash::{FxHashMap, FxHashSet};

/// A statement, the beginning or the end of a scope.
pub(super) struct Entry {
    pub(super) stmt: StmtId,
    /// The distance to the other end of a scope: forwards at its beginning; 0 for a statement.
    pub(super) pair: isize,
    /// The allocations that are used, of a scope at its end, each for the scope in which it is made.
    pub(super) touched: Vec<Id<Buffer>>,
}

/// An allocation.
pub(super) struct Allocated {
    /// The number of scopes around it.
    level: usize,
    pub(super) dims: usize,
    pub(super) volatile: bool,
}

/// All accesses of a function.
#[derive(Default)]
pub(super) struct Accesses {
    pub(super) line: Vec<Entry>,
    pub(super) allocs: FxHashMap<Id<Buffer>, Allocated>,
    /// The buffer whose memory a buffer uses.
    pub(super) roots: FxHashMap<Id<Buffer>, Id<Buffer>>,
    /// The buffers that are allocated or declared so far.
    pub(super) declared: Mentions,
    /// The only kind of memory to track; all kinds if there is none.
    only: Option<Id<Name>>,
    scopes: Vec<Vec<Id<Buffer>>>,
    in_threads: bool,
    /// The first thing that is not as it should be.
    pub(super) error: Option<String>,
}

/// Returns the buffer that an expression for a pointer is about.
pub(super) fn buffer_of(store: &Store, data: PrimId) -> Option<Id<Buffer>> {
    match *store.prim_of_id(data) {
        PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => Some(buffer),
        _ => None,
    }
}

impl Accesses {
    /// Tracks one kind of memory.
    pub(super) fn only(scope: Id<Name>) -> Accesses {
        Accesses { only: Some(scope), ..Accesses::default() }
    }

    /// Collects the accesses of a statement. Statements nest as deep as the parser's limit.
    pub(super) fn of(&mut self, store: &Store, id: StmtId) {
        let stmt = store.stmt(id);
        match stmt {
            Stmt::Alloc(buffer, annotations) => {
                self.roots.insert(*buffer, *buffer);
                self.declared |= Mentions::buffer(*buffer);
                let volatile = annotations.is_some_and(|attrs| store.attr(Some(attrs), "tirx.volatile").is_some());
                let dims = store.buffer(*buffer).shape.len();
                self.allocs.insert(*buffer, Allocated { level: self.scopes.len(), dims, volatile });
            }
            Stmt::Declare(buffer) => {
                let source = store.buffer(*buffer).data.and_then(|data| buffer_of(store, data));
                let root = source.map_or(*buffer, |source| self.root(source));
                self.roots.insert(*buffer, root);
                self.declared |= Mentions::buffer(*buffer);
            }
            Stmt::Store { buffer, indices, value } => self.leaf(id, |accesses| {
                accesses.value(store, *value);
                indices.iter().for_each(|index| accesses.value(store, *index));
                accesses.touch(store, *buffer, true);
            }),
            Stmt::Evaluate(value) | Stmt::Return(value) | Stmt::Bind { value, .. } => {
                self.leaf(id, |accesses| accesses.value(store, *value));
            }
            Stmt::Attr { key, .. } => match store.str(*key) {
                "virtual_thread" | "extern_scope" => self.scope(store, id),
                "thread_extent" if !self.in_threads => {
                    self.in_threads = true;
                    self.scope(store, id);
                    self.in_threads = false;
                }
                _ => self.inside(store, id),
            },
            Stmt::If { .. } | Stmt::For(..) | Stmt::While { .. } | Stmt::Assert { .. } => self.scope(store, id),
            Stmt::Seq(_) | Stmt::Block(_) | Stmt::Break | Stmt::Continue => self.inside(store, id),
        }
    }

    fn inside(&mut self, store: &Store, id: StmtId) {
        store.for_each_prim_of(store.stmt(id), |value| self.value(store, value));
        store.for_each_inner_stmt(id, |stmt| self.of(store, stmt));
    }

    fn leaf(&mut self, stmt: StmtId, visit: impl FnOnce(&mut Accesses)) {
        self.scopes.push(Vec::new());
        visit(self);
        let touched = self.scopes.pop().unwrap_or_default();
        if !touched.is_empty() {
            self.line.push(Entry { stmt, pair: 0, touched });
        }
    }

    fn scope(&mut self, store: &Store, stmt: StmtId) {
        let begin = self.line.len();
        self.scopes.push(Vec::new());
        self.line.push(Entry { stmt, pair: 0, touched: Vec::new() });
        self.inside(store, stmt);
        let touched = self.scopes.pop().unwrap_or_default();
        let length = (self.line.len() - begin) as isize;
        self.line.push(Entry { stmt, pair: -length, touched });
        self.line[begin].pair = length;
    }

    fn value(&mut self, store: &Store, root: PrimId) {
        if !store.prim_mentions(root).meets(self.declared) {
            return;
        }
        // Taking an address is no access if only one kind of memory is tracked.
        let mut addresses = Vec::new();
        if self.only.is_some() {
            store.for_each_prim(root, &mut |_, expr| {
                if let PrimExpr::Call { op, args, .. } = expr
                    && store.str(*op) == "address_of"
                {
                    addresses.extend(args);
                }
            });
        }
        store.for_each_prim(root, &mut |id, expr| match expr {
            PrimExpr::Load { .. } if addresses.contains(&id) => {}
            PrimExpr::Load { buffer, .. } => self.touch(store, *buffer, true),
            PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => self.touch(store, *buffer, false),
            _ => {}
        });
    }

    /// Returns the buffer whose memory a buffer uses.
    pub(super) fn root(&self, buffer: Id<Buffer>) -> Id<Buffer> {
        self.roots.get(&buffer).copied().unwrap_or(buffer)
    }

    fn touch(&mut self, store: &Store, buffer: Id<Buffer>, element: bool) {
        let root = self.root(buffer);
        if self.only.is_some_and(|scope| scope != store.buffer(root).scope) {
            return;
        }
        let Some(Allocated { level, dims, .. }) = self.allocs.get(&root) else { return };
        let name = || store.str(store.buffer(buffer).name);
        if element && *dims != 1 {
            let message = format!(
                "Buffer {} is allocated with {dims} physical dimensions, but is accessed as having 1 physical dimension",
                name()
            );
            self.error.get_or_insert(message);
        }
        match self.scopes.get_mut(*level) {
            Some(touched) => touched.push(root),
            None => {
                let message = format!("Load memory in places other than store: {}", name());
                self.error.get_or_insert(message);
            }
        }
    }
}

/// The allocations whose use begins and ends at a statement.
#[derive(Default)]
pub(super) struct Events {
    pub(super) begins: Vec<Id<Buffer>>,
    pub(super) ends: Vec<Id<Buffer>>,
}

/// Finds the first and the last use of each allocation.
pub(super) fn events(line: &[Entry]) -> FxHashMap<StmtId, Events> {
    let mut events: FxHashMap<StmtId, Events> = FxHashMap::default();
    let mut seen = FxHashSet::default();
    for entry in line.iter().rev() {
        for buffer in &entry.touched {
            if seen.insert(*buffer) {
                events.entry(entry.stmt).or_default().ends.push(*buffer);
            }
        }
    }
    seen.clear();
    for (i, entry) in line.iter().enumerate() {
        let Some(end) = usize::try_from(entry.pair).ok().and_then(|pair| line.get(i + pair)) else { continue };
        for buffer in &end.touched {
            if seen.insert(*buffer) {
                events.entry(end.stmt).or_default().begins.push(*buffer);
            }
        }
    }
    events
}
