//! Blocks of threads: decides which loops over threads need threads, and where these wait for each other.

use super::stmt::Task;
use super::{Compiler, Done, unsupported};
use crate::eval::tir::memory::Kind;
use crate::eval::tir::step::{Fork, Label, Reg, Sharing, Step, Yield};
use crate::ir::sort::sort_by;
use crate::ir::{AttrNode, Buffer, ForKind, Id, Name, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use rustc_hash::{FxHashMap, FxHashSet};

const I64: Kind = Kind::Int(64);

/// The threads of the block that is being compiled.
#[derive(Default)]
pub(super) struct Threads {
    /// The axes of threads: their names, registers and extents.
    axes: Vec<(Id<Name>, Reg, Reg)>,
    /// The register of a thread's number, where there are threads.
    index: Option<Reg>,
    waits: FxHashSet<StmtId>,
    /// Loops over threads that are axes.
    started: FxHashSet<StmtId>,
    /// The buffers that buffers are parts of.
    parts: FxHashMap<Id<Buffer>, Id<Buffer>>,
    slots: u32,
}

/// The end of a block of threads.
pub(super) struct Started {
    axes: Box<[(Reg, Reg)]>,
    index: Reg,
    join: Label,
    rounds: Vec<(Label, Reg)>,
    loops: Vec<(Label, Label)>,
}

impl Threads {
    /// True if threads wait for each other before a statement.
    pub(super) fn waits(&self, id: StmtId) -> bool {
        self.index.is_some() && self.waits.contains(&id)
    }
}

/// The accesses of a part of a program to a buffer.
#[derive(Default)]
struct Use {
    writes: bool,
    /// The indices of all accesses, if they are the same.
    place: Option<Box<[PrimId]>>,
    differs: bool,
}

/// The accesses of a part of a program to shared state.
#[derive(Default)]
struct Uses {
    buffers: FxHashMap<Id<Buffer>, Use>,
    collective: bool,
}

impl Uses {
    /// True if one thread may see the effects of another here.
    fn conflict(&self) -> bool {
        self.collective || self.buffers.values().any(|used| used.writes && used.differs)
    }
}

fn is_private(scope: &str) -> bool {
    ["local", "wmma", "m16n8", "mma", "metal", "cooperative"].iter().any(|prefix| scope.starts_with(prefix))
}

fn is_collective(name: &str) -> bool {
    name.contains("shuffle") || name.contains("shfl") || matches!(name, "tvm_storage_sync" | "tvm_thread_allreduce")
}

impl Compiler<'_> {
    /// Returns the threads that share an allocation in this kind of memory.
    pub(super) fn sharing(&self, scope: &str) -> Sharing {
        if self.threads.index.is_none() || is_private(scope) { Sharing::Private } else { Sharing::Block }
    }

    /// Makes threads wait here for those behind them.
    pub(super) fn wait(&mut self) {
        if self.threads.index.is_none() {
            return;
        }
        let at = self.label();
        self.code.yields.push(Yield { at, loops: self.rounds.clone().into() });
        let index = self.code.yields.len() as u32 - 1;
        self.emit(Step::Mark(at));
        self.emit(Step::Yield(index));
    }

    /// Compiles a loop over blocks or threads. Threads of a block run side by side where one may see the effects of
    /// another, else one after the other as in any loop.
    pub(super) fn thread_loop(
        &mut self,
        id: StmtId,
        var: Id<Symbol>,
        tag: Id<Name>,
        min: Option<Reg>,
        extent: Reg,
        body: StmtId,
    ) -> Done<()> {
        let store = self.store;
        let is_launch = matches!(store.stmt(id), Stmt::Attr { .. });
        if self.threads.index.is_some() {
            let known = self.threads.axes.iter().find(|axis| axis.0 == tag).map(|axis| axis.1);
            if let Some(reg) = known.filter(|_| is_launch || self.threads.started.contains(&id)) {
                let reg = match min {
                    Some(min) => self.int_op(PrimOp::Add, I64, reg, min),
                    None => reg,
                };
                self.bind(var, vec![reg]);
                self.tasks.push(Task::Stmt(body));
                return Ok(());
            }
        }
        let is_thread = store.str(tag).starts_with("threadIdx");
        if self.threads.index.is_none() && is_thread && self.uses(body, &FxHashSet::default()).conflict() {
            return self.start(id);
        }
        let (zero, one) = (self.int(0), self.int(1));
        self.serial(var, min.unwrap_or(zero), extent, one, body);
        Ok(())
    }

    /// Starts threads for a loop and for the loops over threads right inside of it.
    fn start(&mut self, id: StmtId) -> Done<()> {
        let store = self.store;
        let mut axes: Vec<(Id<Name>, PrimId)> = Vec::new();
        self.threads.started.clear();
        let mut next = Some(id);
        while let Some(at) = next {
            next = match store.stmt(at) {
                Stmt::For(head, body) => match head.kind {
                    ForKind::Thread(tag) if store.str(tag).starts_with("threadIdx") && !axes.iter().any(|axis| axis.0 == tag) => {
                        axes.push((tag, head.extent));
                        self.threads.started.insert(at);
                        Some(*body)
                    }
                    _ => None,
                },
                Stmt::Attr { body, .. } => Some(*body),
                Stmt::Block(block) => {
                    let block = store.prim_block(*block);
                    (block.iters.is_empty() && block.init.is_none()).then_some(block.body)
                }
                // Allocations may come before a single other statement.
                Stmt::Seq(_) => {
                    let stmts = store.stmts_of(at);
                    let (last, before) = stmts.split_last().map_or((None, &stmts[..]), |(last, before)| (Some(*last), before));
                    let quiet =
                        |stmt: &StmtId| matches!(store.stmt(*stmt), Stmt::Alloc(..) | Stmt::Declare(_) | Stmt::Bind { .. });
                    last.filter(|_| before.iter().all(quiet))
                }
                _ => None,
            };
        }
        // The launches of a kernel are its axes, wherever they are.
        let mut launches = Vec::new();
        store.for_each_stmt(id, |stmt| {
            if let Stmt::Attr { node: AttrNode::Thread { tag, .. }, value, .. } = stmt {
                launches.push((*tag, *value));
            }
        });
        for (tag, extent) in launches {
            if store.str(tag).starts_with("threadIdx") && !axes.iter().any(|axis| axis.0 == tag) {
                axes.push((tag, extent));
            }
        }
        // Threads that are neighbours along x get consecutive numbers.
        sort_by(&mut axes, |a, b| store.str(b.0).cmp(store.str(a.0)));
        let mut extents = Vec::with_capacity(axes.len());
        for (_, extent) in &axes {
            extents.push(self.scalar(*extent)?);
        }
        self.open();
        let level = self.depth();
        let index = self.register(level);
        let regs: Vec<(Reg, Reg)> = extents.iter().map(|extent| (self.register(level), *extent)).collect();
        self.threads.axes = axes.iter().zip(&regs).map(|(axis, reg)| (axis.0, reg.0, reg.1)).collect();
        self.threads.index = Some(index);
        self.threads.waits.clear();
        let private = self.privates(id);
        self.place_waits(id, &private);
        let join = self.label();
        let started = Started {
            axes: regs.into(),
            index,
            join,
            rounds: std::mem::take(&mut self.rounds),
            loops: std::mem::take(&mut self.loops),
        };
        self.tasks.push(Task::EndThreads(started));
        self.tasks.push(Task::Stmt(id));
        Ok(())
    }

    pub(super) fn end_threads(&mut self, started: Started) {
        let body = self.close();
        self.threads.index = None;
        (self.rounds, self.loops) = (started.rounds, started.loops);
        self.code.forks.push(Fork { axes: started.axes, index: started.index, join: started.join });
        let fork = self.code.forks.len() as u32 - 1;
        self.emit(Step::Fork(fork));
        self.append(body);
        self.emit(Step::Join);
        self.emit(Step::Mark(started.join));
    }

    /// Returns the buffers that each thread has for itself.
    fn privates(&self, root: StmtId) -> FxHashSet<Id<Buffer>> {
        let store = self.store;
        let mut found = FxHashSet::default();
        let mut note = |buffer: Id<Buffer>| {
            if is_private(store.str(store.buffer(buffer).scope)) {
                found.insert(buffer);
            }
        };
        store.for_each_stmt(root, |stmt| match stmt {
            Stmt::Alloc(buffer, _) => note(*buffer),
            Stmt::Declare(buffer) if store.buffer(*buffer).data.is_none() => note(*buffer),
            Stmt::Block(block) => store.prim_block(*block).allocs.iter().for_each(|buffer| note(*buffer)),
            _ => {}
        });
        found
    }

    /// Marks the statements before which threads wait.
    fn place_waits(&mut self, root: StmtId, private: &FxHashSet<Id<Buffer>>) {
        let store = self.store;
        let all = self.uses(root, private);
        let matters: FxHashSet<Id<Buffer>> =
            all.buffers.iter().filter(|(_, used)| used.writes && used.differs).map(|(id, _)| *id).collect();
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            let inside = self.uses(id, private);
            if !inside.collective && !inside.buffers.keys().any(|buffer| matters.contains(buffer)) {
                continue;
            }
            let mut inner = Vec::new();
            store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
            if inner.is_empty() || !inside.conflict() {
                self.threads.waits.insert(id);
                continue;
            }
            // The head of a loop or branch may read, too.
            let mut head = Uses::default();
            self.uses_of(store.stmt(id), private, &mut head);
            if head.collective || head.buffers.keys().any(|buffer| matters.contains(buffer)) {
                self.threads.waits.insert(id);
            }
            stack.extend(inner);
        }
    }

    fn uses(&mut self, root: StmtId, private: &FxHashSet<Id<Buffer>>) -> Uses {
        let (store, mut uses) = (self.store, Uses::default());
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if let Stmt::Block(block) = store.stmt(id) {
                for (part, region) in &store.prim_block(*block).matches {
                    self.threads.parts.insert(*part, region.buffer);
                }
            }
            self.uses_of(store.stmt(id), private, &mut uses);
            store.for_each_inner_stmt(id, |stmt| stack.push(stmt));
        }
        uses
    }

    fn uses_of(&self, stmt: &Stmt, private: &FxHashSet<Id<Buffer>>, uses: &mut Uses) {
        let store = self.store;
        let mut access = |buffer: Id<Buffer>, place: Option<&[PrimId]>, writes: bool| {
            let root = self.root_of(store, buffer);
            if private.contains(&root) {
                return;
            }
            let used = uses.buffers.entry(root).or_default();
            used.writes |= writes;
            // The indices of another view of the memory cannot be compared.
            let place = place.filter(|_| root == buffer);
            match (&used.place, place) {
                (None, Some(place)) if !used.differs => used.place = Some(place.into()),
                (Some(known), Some(place)) if **known == *place => {}
                _ => used.differs = true,
            }
        };
        if let Stmt::Store { buffer, indices, .. } = stmt {
            access(*buffer, Some(indices), true);
        }
        let mut collective = false;
        store.for_each_prim_of(stmt, |root| {
            store.for_each_prim(root, &mut |_, expr| match expr {
                PrimExpr::Load { buffer, indices } => access(*buffer, Some(indices), false),
                PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => access(*buffer, None, true),
                PrimExpr::Call { op, .. } => collective |= is_collective(store.str(*op)),
                _ => {}
            });
        });
        uses.collective |= collective;
    }

    fn root_of(&self, store: &Store, buffer: Id<Buffer>) -> Id<Buffer> {
        let mut at = buffer;
        // Buffers may be parts of parts, and views of views.
        for _ in 0..64 {
            let data = store.buffer(at).data.map(|data| store.prim_of_id(data));
            at = match (self.threads.parts.get(&at), data) {
                (Some(whole), _) => *whole,
                (None, Some(PrimExpr::Data(whole))) => *whole,
                _ => return at,
            };
        }
        at
    }

    /// Compiles calls that exchange values between threads; `None` for any other call.
    pub(super) fn thread_call(&mut self, name: &str, args: &[PrimId], lane: u16) -> Done<Option<Reg>> {
        let (value, target, how) = match (name, args) {
            ("tvm_warp_shuffle" | "cuda.__shfl_sync", &[_, value, target, ..]) => (value, target, ""),
            ("tvm_warp_shuffle_up" | "cuda.__shfl_up_sync", &[_, value, target, ..]) => (value, target, "up"),
            ("tvm_warp_shuffle_down" | "cuda.__shfl_down_sync", &[_, value, target, ..]) => (value, target, "down"),
            ("tvm_warp_shuffle_xor" | "cuda.__shfl_xor_sync", &[_, value, target, ..]) => (value, target, "xor"),
            ("metal.simd_shuffle" | "webgpu.subgroup_shuffle", &[value, target]) => (value, target, ""),
            ("metal.simd_shuffle_up" | "webgpu.subgroup_shuffle_up", &[value, target]) => (value, target, "up"),
            ("metal.simd_shuffle_down" | "webgpu.subgroup_shuffle_down", &[value, target]) => (value, target, "down"),
            ("atomic_add" | "tvm_load_matrix_sync" | "tvm_mma_sync", _) => return unsupported(&format!("`T.{name}`")),
            _ => return Ok(None),
        };
        let Some(index) = self.threads.index else { return unsupported(&format!("`T.{name}` outside of a block of threads")) };
        let (value, target, warp) = (self.lane(value, lane)?, self.lane(target, 0)?, self.int(32));
        let own = self.int_op(PrimOp::FloorMod, I64, index, warp);
        let first = self.int_op(PrimOp::Sub, I64, index, own);
        let target = match how {
            "up" => self.int_op(PrimOp::Sub, I64, own, target),
            "down" => self.int_op(PrimOp::Add, I64, own, target),
            "xor" => {
                let f = self.math(super::Math::Bits(|x, y| x ^ y));
                let to = self.register(self.depth());
                self.emit(Step::Math { f, kind: I64, to, a: own, b: target, c: own });
                to
            }
            _ => target,
        };
        // Beyond the warp's end a thread keeps its own value.
        let (zero, last) = (self.int(0), self.int(31));
        let inside = [self.int_op(PrimOp::Ge, I64, target, zero), self.int_op(PrimOp::Le, I64, target, last)];
        let inside = self.int_op(PrimOp::And, Kind::Bool, inside[0], inside[1]);
        let thread = self.int_op(PrimOp::Add, I64, first, target);
        let chosen = self.register(self.depth());
        self.emit(Step::Select { to: chosen, cond: inside, then: thread, other: index });
        let (slot, to) = (self.slot(), self.register(self.depth()));
        self.emit(Step::Offer { slot, from: value });
        self.wait();
        self.emit(Step::Copy { to, from: value });
        self.emit(Step::Take { slot, to, thread: chosen });
        self.wait();
        Ok(Some(to))
    }

    fn slot(&mut self) -> u32 {
        self.threads.slots += 1;
        self.threads.slots - 1
    }

    /// Compiles `T.tvm_thread_allreduce(n, values, condition, results, threads)`, with the reduction of the attribute around it.
    pub(super) fn all_reduce(&mut self, args: &[PrimId]) -> Done<()> {
        let store = self.store;
        let n = args.first().and_then(|n| store.as_prim_int(*n)).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let (Some(reducer), Some(index)) = (self.reducer.clone(), self.threads.index) else {
            return unsupported("`T.tvm_thread_allreduce` without threads or without a reducer");
        };
        let known = args.len() > 2 * n + 1 && reducer.results.len() == n && reducer.identities.len() == n;
        if n == 0 || !known || reducer.lhs.len() != n || reducer.rhs.len() != n {
            return self.wrong_call("tvm_thread_allreduce");
        }
        let cond = self.scalar(args[n + 1])?;
        let mut slots = Vec::with_capacity(n);
        let mut results = Vec::with_capacity(n);
        for (value, identity) in args[1..=n].iter().zip(&reducer.identities) {
            let (value, identity) = (self.scalar(*value)?, self.scalar(*identity)?);
            let (from, slot, result) = (self.register(self.depth()), self.slot(), self.register(self.depth()));
            self.emit(Step::Select { to: from, cond, then: value, other: identity });
            self.emit(Step::Offer { slot, from });
            slots.push(slot);
            results.push((result, identity));
        }
        self.wait();
        for (result, identity) in &results {
            self.emit(Step::Copy { to: *result, from: *identity });
        }
        // The reduced threads: all along some axes, only this one along the others.
        let mut reduced = Vec::new();
        for arg in &args[2 * n + 2..] {
            if let PrimExpr::Var(symbol) = *store.prim_of_id(*arg) {
                reduced.push(self.symbol(symbol, 0)?);
            }
        }
        let (one, zero) = (self.int(1), self.int(0));
        let (mut stride, mut first, mut loops) = (one, index, Vec::new());
        for (_, own, extent) in self.threads.axes.clone().into_iter().rev() {
            if reduced.contains(&own) {
                let product = self.int_op(PrimOp::Mul, I64, own, stride);
                first = self.int_op(PrimOp::Sub, I64, first, product);
                loops.push((extent, stride));
            }
            stride = self.int_op(PrimOp::Mul, I64, stride, extent);
        }
        let mut thread = first;
        let mut ends = Vec::new();
        for (extent, stride) in loops.into_iter().rev() {
            let (var, head, number) = (self.register(self.depth()), self.label(), self.register(self.depth()));
            self.emit(Step::Copy { to: var, from: zero });
            self.emit(Step::Mark(head));
            self.emit(Step::Place { to: number, a: thread, b: var, c: stride });
            thread = number;
            ends.push(Step::Next { var, step: one, end: extent, head });
        }
        self.open();
        for ((slot, (result, _)), (lhs, rhs)) in slots.iter().zip(&results).zip(reducer.lhs.iter().zip(&reducer.rhs)) {
            let (seen, other) = (self.register(self.depth()), self.register(self.depth()));
            self.emit(Step::Copy { to: seen, from: *result });
            self.emit(Step::Take { slot: *slot, to: other, thread });
            self.bind(*lhs, vec![seen]);
            self.bind(*rhs, vec![other]);
        }
        let combined: Vec<Reg> = reducer.results.iter().map(|result| self.scalar(*result)).collect::<Done<_>>()?;
        for ((result, _), value) in results.iter().zip(combined) {
            self.emit(Step::Copy { to: *result, from: value });
        }
        let body = self.close();
        self.append(body);
        for end in ends.into_iter().rev() {
            self.emit(end);
        }
        self.wait();
        for ((result, _), target) in results.iter().zip(&args[n + 2..2 * n + 2]) {
            match store.prim_of_id(*target) {
                PrimExpr::Load { buffer, indices } => {
                    let (base, place, kind) = self.element(*buffer, indices, 0)?;
                    self.emit(Step::Store { kind, base, place, value: *result });
                }
                _ => {
                    let base = self.scalar(*target)?;
                    let kind = Kind::of(store.prim_dtype(args[1]));
                    self.emit(Step::Store { kind, base, place: zero, value: *result });
                }
            }
        }
        self.wait();
        Ok(())
    }
}
