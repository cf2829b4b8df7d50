//! Places barriers: visits statements in order, with the reads and writes since the last barrier.

use crate::ir::{AttrNode, Buffer, Id, PrimExpr, PrimId, Stmt, StmtId, Store, Symbol};
use crate::tir::arith::{DEEPEST, Domains, IntSet, eval_int_set, lanes_of};
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Sync,
}

#[derive(Clone)]
struct Access {
    kind: Kind,
    /// The buffer; none of a barrier.
    buffer: Option<Id<Buffer>>,
    touched: Vec<IntSet>,
    /// The innermost thread.
    thread: Option<Id<Symbol>>,
    double_buffer_write: bool,
}

/// A statement and its accesses.
struct Entry {
    stmt: StmtId,
    accesses: Vec<Access>,
}

/// Returns the statements before which threads wait for each other because of memory of a scope.
pub(super) fn barriers(store: &mut Store, body: StmtId, scope: &str) -> Result<FxHashSet<StmtId>, String> {
    let mut planner = Planner {
        scope,
        barriers: FxHashSet::default(),
        scopes: vec![Vec::new()],
        current: None,
        threads: Vec::new(),
        on_device: false,
        conditions: 0,
        aliases: FxHashMap::default(),
        error: None,
    };
    planner.stmt(store, body);
    planner.error.map_or(Ok(planner.barriers), Err)
}

struct Planner<'a> {
    scope: &'a str,
    barriers: FxHashSet<StmtId>,
    /// The statements so far, in the scopes that are open.
    scopes: Vec<Vec<Entry>>,
    /// The accesses of the statement under way, where there may be some.
    current: Option<Vec<Access>>,
    threads: Vec<Id<Symbol>>,
    on_device: bool,
    /// The number of conditions around that may differ from thread to thread.
    conditions: usize,
    /// Buffers that are declared over the memory of others.
    aliases: FxHashMap<Id<Buffer>, Id<Buffer>>,
    error: Option<String>,
}

impl Planner<'_> {
    fn fail(&mut self, message: &str) {
        self.error.get_or_insert_with(|| message.to_owned());
    }

    fn push(&mut self, stmt: StmtId, accesses: Vec<Access>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(Entry { stmt, accesses });
        }
    }

    /// Visits a statement in a scope of its own and returns its accesses.
    fn scoped(&mut self, store: &mut Store, is_loop: bool, f: impl FnOnce(&mut Self, &mut Store)) -> Vec<Access> {
        self.scopes.push(Vec::new());
        f(self, store);
        let entries = self.scopes.pop().unwrap_or_default();
        self.summarize(store, entries, is_loop)
    }

    fn stmt(&mut self, store: &mut Store, id: StmtId) {
        match store.stmt(id).clone() {
            Stmt::Store { buffer, indices, value } => {
                self.current = Some(Vec::new());
                let touched = indices.iter().map(|index| lanes_of(store, *index)).collect();
                self.access(store, Kind::Write, buffer, touched);
                self.expr(store, value);
                indices.iter().for_each(|index| self.expr(store, *index));
                let accesses = self.current.take().unwrap_or_default();
                self.push(id, accesses);
            }
            Stmt::Evaluate(value) => {
                self.current = Some(Vec::new());
                self.expr(store, value);
                let accesses = self.current.take().unwrap_or_default();
                if !accesses.is_empty() {
                    self.push(id, accesses);
                }
            }
            Stmt::Bind { value, .. } => {
                self.current = Some(Vec::new());
                self.expr(store, value);
                let accesses = self.current.take().unwrap_or_default();
                self.push(id, accesses);
            }
            Stmt::Declare(buffer) => {
                if let Some(data) = store.buffer(buffer).data
                    && let PrimExpr::Data(source) = *store.prim_of_id(data)
                {
                    let source = self.resolve(source);
                    self.aliases.insert(buffer, source);
                }
            }
            Stmt::Attr { node: AttrNode::Thread { var, .. }, key, value, body } if store.str(key) == "thread_extent" => {
                self.threads.push(var);
                self.expr(store, value);
                match self.on_device {
                    true => self.stmt(store, body),
                    false => {
                        self.on_device = true;
                        self.scoped(store, false, |planner, store| planner.stmt(store, body));
                        self.on_device = false;
                    }
                }
                self.threads.pop();
            }
            Stmt::Attr { node, key, value, body } => match store.str(key) {
                "double_buffer_write" => self.double_buffer(store, id, &node, body),
                "hand_threaded" => {}
                _ => {
                    self.expr(store, value);
                    self.stmt(store, body);
                }
            },
            Stmt::For(head, body) => {
                let mut accesses = self.scoped(store, true, |planner, store| {
                    planner.expr(store, head.min);
                    planner.expr(store, head.extent);
                    planner.stmt(store, body);
                });
                let range = IntSet::from_range(store, head.min, head.extent);
                let domains: Domains = [(head.var, range)].into_iter().collect();
                for access in &mut accesses {
                    for touched in &mut access.touched {
                        *touched = eval_int_set(store, *touched, &domains);
                    }
                }
                if !accesses.is_empty() {
                    self.push(id, accesses);
                }
            }
            Stmt::If { cond, then, other } => {
                let varies = usize::from(!is_invariant(store, cond));
                self.conditions += varies;
                self.expr(store, cond);
                let mut accesses = self.scoped(store, false, |planner, store| planner.stmt(store, then));
                if let Some(other) = other {
                    accesses.extend(self.scoped(store, false, |planner, store| planner.stmt(store, other)));
                }
                self.push(id, accesses);
                self.conditions -= varies;
            }
            Stmt::While { cond, body } => {
                let varies = usize::from(!is_invariant(store, cond));
                self.conditions += varies;
                self.expr(store, cond);
                let accesses = self.scoped(store, false, |planner, store| planner.stmt(store, body));
                self.push(id, accesses);
                self.conditions -= varies;
            }
            stmt => {
                let mut roots = Vec::new();
                store.for_each_prim_of(&stmt, |prim| roots.push(prim));
                roots.into_iter().for_each(|prim| self.expr(store, prim));
                let mut inner = Vec::new();
                store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
                inner.into_iter().for_each(|stmt| self.stmt(store, stmt));
            }
        }
    }

    fn double_buffer(&mut self, store: &mut Store, id: StmtId, node: &AttrNode, body: StmtId) {
        let named = match node {
            AttrNode::Prim(node) => store.prim_of_id(*node).clone(),
            _ => PrimExpr::Any,
        };
        let (PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer)) = named else {
            return self.fail("Expected a buffer data expression for double-buffer writes");
        };
        let buffer = self.resolve(buffer);
        let mut accesses = self.scoped(store, false, |planner, store| planner.stmt(store, body));
        for access in &mut accesses {
            access.double_buffer_write |= access.kind == Kind::Write && access.buffer == Some(buffer);
        }
        if !accesses.is_empty() {
            self.push(id, accesses);
        }
    }

    fn resolve(&self, buffer: Id<Buffer>) -> Id<Buffer> {
        self.aliases.get(&buffer).copied().unwrap_or(buffer)
    }

    fn access(&mut self, store: &Store, kind: Kind, buffer: Id<Buffer>, touched: Vec<IntSet>) {
        let scope = store.str(store.buffer(buffer).scope);
        let scope = if scope.is_empty() { "global" } else { scope };
        if !self.on_device || scope != self.scope {
            return;
        }
        let buffer = Some(self.resolve(buffer));
        self.add(Access { kind, buffer, touched, thread: self.threads.last().copied(), double_buffer_write: false });
    }

    fn add(&mut self, access: Access) {
        match &mut self.current {
            Some(current) => current.push(access),
            None => self.fail("Check failed: (allow_append_) is false: memory that threads share decides how a statement runs"),
        }
    }

    fn expr(&mut self, store: &mut Store, root: PrimId) {
        if store.prim_depth(root) > DEEPEST {
            return self.fail("an expression is nested too deeply for barriers to be planned");
        }
        let node = store.prim_rc(root);
        let mut children = Vec::new();
        match *node {
            PrimExpr::Load { buffer, ref indices } => {
                let touched = indices.iter().map(|index| lanes_of(store, *index)).collect();
                self.access(store, Kind::Read, buffer, touched);
                children.extend(indices.iter().copied());
            }
            PrimExpr::Call { op, ref args, .. } => match (store.str(op), &args[..]) {
                ("address_of", [of]) => match store.prim_of_id(*of) {
                    PrimExpr::Load { indices, .. } => children.extend(indices.iter().copied()),
                    _ => children.push(*of),
                },
                ("tvm_access_ptr", [_, data, offset, extent, mask]) => {
                    let mask = store.as_prim_int(*mask).unwrap_or(3);
                    if let PrimExpr::Data(buffer) = *store.prim_of_id(*data) {
                        let touched = vec![IntSet::from_range(store, *offset, *extent)];
                        if mask & 1 != 0 {
                            self.access(store, Kind::Read, buffer, touched.clone());
                        }
                        if mask & 2 != 0 {
                            self.access(store, Kind::Write, buffer, touched);
                        }
                    }
                    children.extend(args.iter().copied());
                }
                ("tvm_storage_sync", [scope, ..]) => {
                    let is_warp = matches!(store.prim_of_id(*scope), PrimExpr::Str(scope) if store.str(*scope) == "warp");
                    if !is_warp {
                        self.add(self.sync());
                    }
                }
                _ => children.extend(args.iter().copied()),
            },
            ref node => node.for_each_child(&mut |child| children.push(child)),
        }
        children.into_iter().for_each(|child| self.expr(store, child));
    }

    /// Plans barriers between statements, and returns the accesses before the first and after the last.
    fn summarize(&mut self, store: &Store, mut entries: Vec<Entry>, is_loop: bool) -> Vec<Access> {
        if self.scope == "shared.dyn" {
            // All of it is one buffer.
            let mut first = None;
            for access in entries.iter_mut().flat_map(|entry| &mut entry.accesses) {
                if access.buffer.is_some() {
                    access.buffer = *first.get_or_insert(access.buffer);
                }
            }
        }
        let (mut reads, mut writes): (Vec<Access>, Vec<Access>) = (Vec::new(), Vec::new());
        for entry in &entries {
            let mut waits = self.barriers.contains(&entry.stmt);
            if waits {
                reads.clear();
                writes.clear();
            }
            for access in &entry.accesses {
                let before = match access.kind {
                    Kind::Read => &writes,
                    Kind::Write => &reads,
                    Kind::Sync => {
                        reads.clear();
                        writes.clear();
                        continue;
                    }
                };
                if before.iter().any(|other| meet(store, other, access, false)) {
                    waits = true;
                    break;
                }
            }
            if waits {
                reads.clear();
                writes.clear();
            }
            for access in &entry.accesses {
                match access.kind {
                    Kind::Read => reads.push(access.clone()),
                    Kind::Write => writes.push(access.clone()),
                    Kind::Sync => {
                        reads.clear();
                        writes.clear();
                    }
                }
            }
            if waits {
                self.insert(entry.stmt);
            }
        }
        if is_loop {
            self.next_round(store, &entries, reads, writes);
        }
        let (mut head, mut tail, mut synced) = (Vec::new(), Vec::new(), false);
        let sync = self.sync();
        for entry in entries {
            let barrier = self.barriers.contains(&entry.stmt).then(|| sync.clone());
            for access in barrier.into_iter().chain(entry.accesses) {
                match (access.kind, synced) {
                    (Kind::Sync, false) => {
                        head.push(sync.clone());
                        synced = true;
                    }
                    (Kind::Sync, true) => tail.clear(),
                    (_, false) => head.push(access),
                    (_, true) => tail.push(access),
                }
            }
        }
        head.extend(tail);
        if is_loop {
            head.iter_mut().for_each(|access| access.double_buffer_write = false);
        }
        head
    }

    /// Checks the accesses of a loop's last iteration against those of the next one.
    fn next_round(&mut self, store: &Store, entries: &[Entry], mut reads: Vec<Access>, mut writes: Vec<Access>) {
        for entry in entries {
            if self.barriers.contains(&entry.stmt) || (reads.is_empty() && writes.is_empty()) {
                return;
            }
            for access in &entry.accesses {
                let before = match access.kind {
                    Kind::Read => &writes,
                    Kind::Write => &reads,
                    Kind::Sync => {
                        reads.clear();
                        writes.clear();
                        continue;
                    }
                };
                if before.iter().any(|other| meet(store, other, access, true)) {
                    return self.insert(entry.stmt);
                }
            }
        }
    }

    fn sync(&self) -> Access {
        let (thread, touched) = (self.threads.last().copied(), Vec::new());
        Access { kind: Kind::Sync, buffer: None, touched, thread, double_buffer_write: false }
    }

    fn insert(&mut self, stmt: StmtId) {
        if self.conditions > 0 {
            return self.fail("Cannot insert syncs inside condition");
        }
        self.barriers.insert(stmt);
    }
}

fn is_invariant(store: &Store, cond: PrimId) -> bool {
    matches!(store.prim_of_id(cond), PrimExpr::Call { op, .. } if store.str(*op) == "tvm_thread_invariant")
}

/// True if two accesses of different threads may be to the same place.
fn meet(store: &Store, before: &Access, now: &Access, next_round: bool) -> bool {
    if before.buffer != now.buffer {
        return false;
    }
    let uses = |root: PrimId| {
        let mut found = false;
        store.for_each_prim(root, &mut |_, part| found |= matches!(part, PrimExpr::Var(var) if Some(*var) == now.thread));
        found
    };
    let apart = before.touched.iter().zip(&now.touched).all(|(before, now_set)| match (before.point(), now_set.point()) {
        (Some(a), Some(b)) => a == b && (now.thread.is_none() || (uses(a) && uses(b))),
        _ => false,
    });
    let swapped = before.double_buffer_write && now.kind == Kind::Read && !next_round;
    !apart && !swapped
}
