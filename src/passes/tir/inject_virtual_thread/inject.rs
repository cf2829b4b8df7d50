//! Repeats statements that depend on a virtual thread, as few as possible at a time.

use super::touched::Thing;
use crate::ir::{AttrsId, Buffer, For, ForKind, Id, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::tir::arith::{Analyzer, DEEPEST};
use crate::tir::{binary, constant, copy_stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// With as many virtual threads there is a loop over them in any case.
const UNROLLED: i64 = 16;

pub(super) struct Injector<'a> {
    analyzer: &'a mut Analyzer,
    var: Id<Symbol>,
    threads: i64,
    touched: FxHashSet<Thing>,
    /// True if statements independent of the thread run once.
    shares: bool,
    /// True if the statement under way is being repeated.
    injected: bool,
    /// True if the last visited node depends on the thread.
    depends: bool,
    /// True if it must be repeated in any case.
    repeats: bool,
    /// The number of loops inside.
    loops: usize,
    /// The size that a buffer had for one thread.
    sizes: FxHashMap<Id<Buffer>, PrimId>,
    buffers: FxHashMap<Id<Buffer>, Id<Buffer>>,
    pub error: Option<String>,
}

impl<'a> Injector<'a> {
    pub fn new(
        analyzer: &'a mut Analyzer,
        var: Id<Symbol>,
        threads: i64,
        touched: FxHashSet<Thing>,
        shares: bool,
    ) -> Injector<'a> {
        Injector {
            analyzer,
            var,
            threads,
            touched,
            shares,
            injected: false,
            depends: false,
            repeats: false,
            loops: 0,
            sizes: FxHashMap::default(),
            buffers: FxHashMap::default(),
            error: None,
        }
    }

    fn fail(&mut self, message: &str) {
        self.error.get_or_insert_with(|| message.to_owned());
    }

    pub fn stmt(&mut self, store: &mut Store, id: StmtId) -> StmtId {
        let new = self.inner(store, id);
        if self.depends || self.repeats {
            if !self.injected {
                return self.repeat(store, new, false);
            }
            self.depends = false;
            self.repeats = false;
        }
        new
    }

    fn inner(&mut self, store: &mut Store, id: StmtId) -> StmtId {
        match store.stmt(id).clone() {
            Stmt::Evaluate(value) => {
                self.repeats = !self.shares;
                let new = self.expr(store, value);
                rebuilt(store, id, new != value, Stmt::Evaluate(new))
            }
            Stmt::Store { buffer, indices, value } => {
                let new_value = self.expr(store, value);
                let new_indices: Box<[PrimId]> = indices.iter().map(|index| self.expr(store, *index)).collect();
                self.repeats = !self.shares;
                let (new, new_indices) = self.access(store, buffer, new_indices);
                let changed = (new, &new_indices, new_value) != (buffer, &indices, value);
                rebuilt(store, id, changed, Stmt::Store { buffer: new, indices: new_indices, value: new_value })
            }
            Stmt::Attr { node, key, value, body } => {
                let new = self.expr(store, value);
                if self.depends && !self.injected {
                    return self.repeat(store, id, true);
                }
                let new_body = self.stmt(store, body);
                rebuilt(store, id, (new, new_body) != (value, body), Stmt::Attr { node, key, value: new, body: new_body })
            }
            Stmt::Bind { var, value } => {
                let new = self.expr(store, value);
                if self.depends && !self.injected {
                    return self.repeat(store, id, true);
                }
                self.depends = false;
                rebuilt(store, id, new != value, Stmt::Bind { var, value: new })
            }
            Stmt::For(head, body) => self.for_loop(store, id, head, body),
            Stmt::If { cond, then, other } => {
                let new = self.expr(store, cond);
                if self.depends && !self.injected {
                    return self.repeat(store, id, true);
                }
                self.depends = false;
                let new_then = self.stmt(store, then);
                let new_other = other.map(|other| {
                    let outer = std::mem::replace(&mut self.loops, 0);
                    let new = self.stmt(store, other);
                    self.loops = self.loops.max(outer);
                    new
                });
                let changed = (new, new_then, new_other) != (cond, then, other);
                rebuilt(store, id, changed, Stmt::If { cond: new, then: new_then, other: new_other })
            }
            Stmt::Seq(list) => {
                let stmts: Vec<StmtId> = store.items(list).collect();
                self.sequence(store, id, &stmts)
            }
            Stmt::Alloc(buffer, annotations) => self.alloc(store, id, buffer, annotations),
            Stmt::Declare(buffer) => {
                let old = store.buffer(buffer).clone();
                let data = old.data.map(|data| self.expr(store, data));
                if data == old.data {
                    return id;
                }
                let new = store.add_buffer(Buffer { data, ..old });
                self.buffers.insert(buffer, new);
                store.add_stmt(Stmt::Declare(new))
            }
            Stmt::Assert { cond, kind, parts } => {
                let new = self.expr(store, cond);
                rebuilt(store, id, new != cond, Stmt::Assert { cond: new, kind, parts })
            }
            Stmt::While { .. } => {
                self.fail("WhileNode in InjectVirtualThread not supported yet");
                id
            }
            Stmt::Block(_) => {
                self.fail("blocks must be lowered before virtual threads are injected");
                id
            }
            Stmt::Return(_) | Stmt::Break | Stmt::Continue => id,
        }
    }

    fn for_loop(&mut self, store: &mut Store, id: StmtId, head: For, body: StmtId) -> StmtId {
        if store.as_prim_int(head.min) != Some(0) {
            self.fail("Check failed: (is_zero(op->min)) is false: a loop under virtual threads begins at 0");
            return id;
        }
        let extent = self.expr(store, head.extent);
        if self.depends && !self.injected {
            let new = self.repeat(store, id, true);
            self.loops += 1;
            return new;
        }
        self.depends = false;
        let new = self.stmt(store, body);
        self.loops += 1;
        let changed = (extent, new) != (head.extent, body);
        rebuilt(store, id, changed, Stmt::For(For { extent, ..head }, new))
    }

    /// Memory that the threads do not share is made larger by their number.
    fn alloc(&mut self, store: &mut Store, id: StmtId, buffer: Id<Buffer>, annotations: Option<AttrsId>) -> StmtId {
        let old = store.buffer(buffer).clone();
        let mut shape: Box<[PrimId]> = old.shape.iter().map(|extent| self.expr(store, *extent)).collect();
        if self.depends && !self.injected {
            return self.repeat(store, id, true);
        }
        self.depends = false;
        if self.touched.contains(&Thing::Buffer(buffer)) || !self.shares {
            let [size] = shape[..] else {
                self.fail("InjectVirtualThread expects rewritten allocations to be flat memory.");
                return id;
            };
            let threads = store.prim_int(self.threads, store.prim_dtype(size));
            shape = [binary(store, PrimOp::Mul, size, threads)].into();
            self.sizes.insert(buffer, size);
        }
        if shape == old.shape {
            return id;
        }
        let new = store.add_buffer(Buffer { shape, ..old });
        self.buffers.insert(buffer, new);
        store.add_stmt(Stmt::Alloc(new, annotations))
    }

    fn sequence(&mut self, store: &mut Store, id: StmtId, stmts: &[StmtId]) -> StmtId {
        let mut new = Vec::new();
        for (at, &stmt) in stmts.iter().enumerate() {
            let loops = std::mem::replace(&mut self.loops, 0);
            if let Stmt::Bind { value, .. } = *store.stmt(stmt)
                && !self.injected
            {
                self.expr(store, value);
                if std::mem::replace(&mut self.depends, false) {
                    // The following statements may use the variable, so they are repeated with it.
                    let rest = store.flat_seq(None, &stmts[at..]);
                    new.push(self.repeat(store, rest, true));
                    self.loops = self.loops.max(loops);
                    break;
                }
            }
            new.push(self.stmt(store, stmt));
            self.loops = self.loops.max(loops);
        }
        if new == stmts { id } else { store.flat_seq(None, &new) }
    }

    /// Makes a statement for each of the virtual threads.
    fn repeat(&mut self, store: &mut Store, id: StmtId, first: bool) -> StmtId {
        self.depends = false;
        self.repeats = false;
        self.injected = true;
        let new = if first { self.stmt(store, id) } else { id };
        self.injected = false;
        self.depends = false;
        let variable = store.symbol(self.var).clone();
        if self.loops == 0 && self.threads < UNROLLED {
            let copies: Vec<StmtId> = (0..self.threads)
                .map(|thread| {
                    let thread = store.prim_int(thread, variable.dtype);
                    copy_stmt(store, new, &[(self.var, thread)])
                })
                .collect();
            return store.flat_seq(None, &copies);
        }
        let [min, extent] = [0, self.threads].map(|number| store.prim_int(number, variable.dtype));
        let name = store.name(&format!("{}.s", store.str(variable.name)));
        let var = store.add_symbol(Symbol { name, ..variable });
        let value = store.prim(PrimExpr::Var(var));
        let body = copy_stmt(store, new, &[(self.var, value)]);
        let head = For { var, min, extent, step: None, kind: ForKind::Serial, annotations: None };
        store.add_stmt(Stmt::For(head, body))
    }

    fn access(&mut self, store: &mut Store, buffer: Id<Buffer>, indices: Box<[PrimId]>) -> (Id<Buffer>, Box<[PrimId]>) {
        self.depends |= self.touched.contains(&Thing::Buffer(buffer));
        let new = self.buffers.get(&buffer).copied().unwrap_or(buffer);
        let Some(&size) = self.sizes.get(&buffer) else { return (new, indices) };
        let [index] = indices[..] else {
            self.fail("InjectVirtualThread expects rewritten allocations to be flat memory.");
            return (buffer, indices);
        };
        let index = self.of_thread(store, index, size);
        (new, [index].into())
    }

    /// Returns the place of an element in the memory of the thread.
    fn of_thread(&mut self, store: &mut Store, index: PrimId, size: PrimId) -> PrimId {
        let thread = store.prim(PrimExpr::Var(self.var));
        let first = binary(store, PrimOp::Mul, thread, size);
        let index = binary(store, PrimOp::Add, index, first);
        self.analyzer.simplify(store, index)
    }

    fn expr(&mut self, store: &mut Store, id: PrimId) -> PrimId {
        if store.prim_depth(id) > DEEPEST {
            self.fail("an expression is nested too deeply for virtual threads to be injected");
            return id;
        }
        let node = store.prim_rc(id);
        match *node {
            PrimExpr::Var(var) => {
                self.depends |= self.touched.contains(&Thing::Var(var));
                id
            }
            PrimExpr::Data(buffer) => {
                self.depends |= self.sizes.contains_key(&buffer) || self.touched.contains(&Thing::Buffer(buffer));
                match self.buffers.get(&buffer) {
                    Some(new) => store.prim(PrimExpr::Data(*new)),
                    None => id,
                }
            }
            PrimExpr::Buffer(buffer) => {
                self.depends |= self.touched.contains(&Thing::Buffer(buffer));
                match self.buffers.get(&buffer) {
                    Some(new) => store.prim(PrimExpr::Buffer(*new)),
                    None => id,
                }
            }
            PrimExpr::Load { buffer, ref indices } => {
                let new: Box<[PrimId]> = indices.iter().map(|index| self.expr(store, *index)).collect();
                let (buffer, indices) = self.access(store, buffer, new);
                store.prim(PrimExpr::Load { buffer, indices })
            }
            PrimExpr::Call { op, ref args, dtype } if store.str(op) == "tvm_access_ptr" && args.len() == 5 => {
                let buffer = match *store.prim_of_id(args[1]) {
                    PrimExpr::Data(buffer) => self.sizes.get(&buffer).map(|size| (buffer, *size)),
                    _ => None,
                };
                let Some((buffer, size)) = buffer else { return self.over(store, id) };
                self.depends = true;
                let (offset, extent) = (self.expr(store, args[2]), self.expr(store, args[3]));
                let lanes = i64::from(store.prim_dtype(args[0]).lanes);
                let lanes = constant(store, lanes, store.prim_dtype(offset));
                let size = binary(store, PrimOp::Div, size, lanes);
                let offset = self.of_thread(store, offset, size);
                let new = self.buffers.get(&buffer).copied().unwrap_or(buffer);
                let data = store.prim(PrimExpr::Data(new));
                store.prim(PrimExpr::Call { op, args: [args[0], data, offset, extent, args[4]].into(), dtype })
            }
            PrimExpr::Call { op, .. } if store.str(op) == "tvm_context_id" => match self.shares {
                true => id,
                false => store.prim(PrimExpr::Var(self.var)),
            },
            _ => self.over(store, id),
        }
    }

    fn over(&mut self, store: &mut Store, id: PrimId) -> PrimId {
        let node = store.prim_rc(id);
        let new = node.over(&mut |child| self.expr(store, child));
        if new == *node { id } else { store.prim(new) }
    }
}

fn rebuilt(store: &mut Store, id: StmtId, changed: bool, new: Stmt) -> StmtId {
    if changed { store.rebuild_stmt(id, new) } else { id }
}
