//! Statements. The remaining work is on a stack of tasks, so nesting costs no call stack.

use super::{Compiler, Done, unsupported};
use crate::eval::tir::memory::Kind;
use crate::eval::tir::step::{Label, Reg, Step};
use crate::ir::{AttrNode, Block, For, ForKind, Id, IterKind, PrimExpr, PrimId, PrimOp, Stmt, StmtId};

const I64: Kind = Kind::Int(64);

/// A remaining task of the compilation.
pub(super) enum Task {
    Stmt(StmtId),
    /// The end of a loop from `min` up to `end`.
    EndFor {
        var: Reg,
        min: Reg,
        end: Reg,
        step: Reg,
        labels: [Label; 3],
    },
    /// Ends a loop whose condition is evaluated in it; `round` counts.
    EndWhile {
        round: Reg,
        labels: [Label; 3],
    },
    EndThen {
        cond: Reg,
        other: Option<StmtId>,
    },
    EndElse {
        cond: Reg,
        then: (Vec<Step>, Vec<Option<StmtId>>),
    },
    /// Ends the code that runs where these pairs of registers are equal.
    EndInit(Vec<(Reg, Reg)>),
    EndThreads(super::thread::Started),
}

impl Compiler<'_> {
    /// Works until at most this many tasks are left.
    pub(super) fn work(&mut self, left: usize) -> Done<()> {
        while self.tasks.len() > left {
            let Some(task) = self.tasks.pop() else { break };
            self.task(task).map_err(|mut failure| {
                if failure.expr.is_none()
                    && let Some(stmt) = self.stmt
                {
                    let node = self.store.stmt_node(stmt);
                    (failure.expr, failure.span) = (Some(node), self.store.source_span(node));
                }
                failure
            })?;
        }
        Ok(())
    }

    fn task(&mut self, task: Task) -> Done<()> {
        match task {
            Task::Stmt(id) => {
                self.stmt = Some(id);
                self.statements += 1;
                if self.statements > super::MAX_STEPS {
                    return unsupported("a program that is as long as this");
                }
                self.stmt_depth = self.scopes.len() - 1;
                self.scopes[self.stmt_depth].values.clear();
                if self.threads.waits(id) {
                    self.wait();
                }
                return self.stmt(id);
            }
            Task::EndFor { var, min, end, step, labels: [head, next, exit] } => {
                let body = self.close();
                self.loops.pop();
                self.rounds.pop();
                let runs = match (self.known(min), self.known(end)) {
                    (Some(min), Some(end)) => min < end,
                    _ => {
                        let more = self.int_op(PrimOp::Lt, I64, min, end);
                        self.emit(Step::Unless(more, exit));
                        true
                    }
                };
                if runs {
                    self.emit(Step::Copy { to: var, from: min });
                    self.emit(Step::Mark(head));
                    self.append(body);
                    self.emit(Step::Mark(next));
                    self.emit(Step::Next { var, step, end, head });
                } else {
                    // No step jumps there, but labels need a position.
                    self.emit(Step::Mark(head));
                    self.emit(Step::Mark(next));
                }
                self.emit(Step::Mark(exit));
            }
            Task::EndWhile { round, labels: [head, next, exit] } => {
                let body = self.close();
                self.loops.pop();
                self.rounds.pop();
                let (zero, one) = (self.int(0), self.int(1));
                self.emit(Step::Copy { to: round, from: zero });
                self.emit(Step::Mark(head));
                self.append(body);
                self.emit(Step::Mark(next));
                self.emit(Step::Int { op: PrimOp::Add, kind: I64, to: round, a: round, b: one });
                self.emit(Step::Jump(head));
                self.emit(Step::Mark(exit));
            }
            Task::EndThen { cond, other } => {
                let then = self.close();
                match other {
                    Some(other) => {
                        self.open();
                        self.tasks.push(Task::EndElse { cond, then });
                        self.tasks.push(Task::Stmt(other));
                        return Ok(());
                    }
                    None => {
                        let end = self.label();
                        self.emit(Step::Unless(cond, end));
                        self.append(then);
                        self.emit(Step::Mark(end));
                    }
                }
            }
            Task::EndElse { cond, then } => {
                let other = self.close();
                let (no, end) = (self.label(), self.label());
                self.emit(Step::Unless(cond, no));
                self.append(then);
                self.emit(Step::Jump(end));
                self.emit(Step::Mark(no));
                self.append(other);
                self.emit(Step::Mark(end));
            }
            Task::EndInit(pairs) => {
                let body = self.close();
                let end = self.label();
                for (a, b) in pairs {
                    self.emit(Step::UnlessEqual(a, b, end));
                }
                self.append(body);
                self.emit(Step::Mark(end));
            }
            Task::EndThreads(started) => self.end_threads(started),
        }
        if self.jumped {
            self.new_region();
        }
        Ok(())
    }

    fn stmt(&mut self, id: StmtId) -> Done<()> {
        let store = self.store;
        match store.stmt(id) {
            Stmt::Seq(_) => self.tasks.extend(store.stmts_of(id).into_iter().rev().map(Task::Stmt)),
            Stmt::For(head, body) => self.for_loop(id, head, *body)?,
            Stmt::Block(block) => self.block(store.prim_block(*block))?,
            Stmt::Store { buffer, indices, value } => self.store_to(*buffer, indices, *value)?,
            Stmt::If { cond, then, other } => {
                let cond = self.scalar(*cond)?;
                match self.known(cond) {
                    Some(0) => self.tasks.extend(other.map(Task::Stmt)),
                    Some(_) => self.tasks.push(Task::Stmt(*then)),
                    None => {
                        self.open();
                        self.tasks.push(Task::EndThen { cond, other: *other });
                        self.tasks.push(Task::Stmt(*then));
                    }
                }
            }
            Stmt::While { cond, body } => {
                let labels = [self.label(), self.label(), self.label()];
                self.open();
                let round = self.register(self.depth());
                self.loops.push((labels[2], labels[1]));
                self.rounds.push((labels[0], round));
                self.stmt_depth = self.scopes.len() - 1;
                if self.threads.waits(id) {
                    self.wait();
                }
                let cond = self.scalar(*cond)?;
                self.emit(Step::Unless(cond, labels[2]));
                self.tasks.push(Task::EndWhile { round, labels });
                self.tasks.push(Task::Stmt(*body));
            }
            Stmt::Bind { var, value } => {
                let lanes = self.vector(*value)?;
                self.bind(*var, lanes);
            }
            Stmt::Attr { node: AttrNode::Thread { var, tag }, value, body, .. } => {
                let extent = self.scalar(*value)?;
                self.thread_loop(id, *var, *tag, None, extent, *body)?;
            }
            Stmt::Attr { node, body, .. } => {
                if let AttrNode::Prim(node) = node
                    && let PrimExpr::Reducer(reducer) = store.prim_of_id(*node)
                {
                    self.reducer = Some((**reducer).clone());
                }
                self.tasks.push(Task::Stmt(*body));
            }
            Stmt::Alloc(buffer, _) => self.alloc(*buffer)?,
            Stmt::Declare(buffer) => self.declare(*buffer)?,
            Stmt::Assert { cond, kind, parts } => {
                let cond = self.scalar(*cond)?;
                let text: String = parts.iter().map(|part| store.str(*part)).collect();
                self.code.messages.push(format!("an assertion of the program does not hold: {}: {text}", store.str(*kind)));
                let message = self.code.messages.len() as u32 - 1;
                self.emit(Step::Assert { cond, message });
            }
            Stmt::Evaluate(value) => self.evaluate(*value)?,
            Stmt::Return(value) => {
                let value = self.scalar(*value)?;
                match self.returns.last() {
                    Some(&(end, result)) => {
                        self.emit(Step::Copy { to: result, from: value });
                        self.emit(Step::Jump(end));
                    }
                    None => self.emit(Step::End),
                }
                self.jumped = true;
            }
            Stmt::Break | Stmt::Continue => {
                let Some(&(exit, next)) = self.loops.last() else { return self.fail("a jump out of a loop where there is none") };
                self.emit(Step::Jump(if matches!(store.stmt(id), Stmt::Break) { exit } else { next }));
                self.jumped = true;
            }
        }
        Ok(())
    }

    /// Every lane is computed before one is stored.
    fn store_to(&mut self, buffer: Id<crate::ir::Buffer>, indices: &[PrimId], value: PrimId) -> Done<()> {
        let store = self.store;
        let of_index = indices.iter().map(|index| Self::lanes(store.prim_dtype(*index))).max().unwrap_or(1);
        let lanes = of_index.saturating_mul(Self::lanes(store.buffer(buffer).dtype)).max(Self::lanes(store.prim_dtype(value)));
        let from = Kind::of(store.prim_dtype(value));
        let mut values = Vec::with_capacity(lanes.into());
        for lane in 0..lanes {
            values.push(self.lane_of(value, lane, lanes)?);
        }
        for (lane, value) in (0..lanes).zip(values) {
            let (base, place, kind) = self.element(buffer, indices, lane)?;
            let value = if from.is_float() == kind.is_float() { value } else { self.cast(value, from, kind) };
            self.count_access(buffer, true);
            self.emit(Step::Store { kind, base, place, value });
        }
        Ok(())
    }

    fn lane_of(&mut self, value: PrimId, lane: u16, lanes: u16) -> Done<Reg> {
        if lane == 0 && lanes == 1 {
            return self.scalar(value);
        }
        if lane == 0 {
            return self.vector(value).map(|lanes| lanes[0]);
        }
        self.lane(value, lane)
    }

    fn evaluate(&mut self, value: PrimId) -> Done<()> {
        let store = self.store;
        let PrimExpr::Call { op, args, .. } = store.prim_of_id(value) else {
            return match store.prim_of_id(value) {
                PrimExpr::Int { .. } | PrimExpr::Float { .. } | PrimExpr::Str(_) => Ok(()),
                _ => self.vector(value).map(|_| ()),
            };
        };
        match (store.str(*op), &**args) {
            ("tvm_storage_sync" | "prefetch" | "print_buffer" | "type_annotation", _) => Ok(()),
            ("thread_return", _) => {
                self.emit(Step::End);
                self.jumped = true;
                Ok(())
            }
            ("tvm_thread_allreduce", args) => self.all_reduce(args),
            ("tvm_struct_set", &[structure, index, number, value]) => self.struct_set(structure, index, number, value),
            ("masked_store", &[buffer, stored, ref indices @ .., mask]) => {
                let PrimExpr::Buffer(buffer) = *store.prim_of_id(buffer) else {
                    return unsupported("a masked store to something that is no buffer");
                };
                for lane in 0..Self::lanes(store.prim_dtype(mask)) {
                    let cond = self.lane(mask, lane)?;
                    let end = self.label();
                    self.open();
                    let value = self.lane(stored, lane)?;
                    let (base, place, kind) = self.element(buffer, indices, lane)?;
                    self.count_access(buffer, true);
                    self.emit(Step::Store { kind, base, place, value });
                    let body = self.close();
                    self.emit(Step::Unless(cond, end));
                    self.append(body);
                    self.emit(Step::Mark(end));
                }
                Ok(())
            }
            _ => self.lane(value, 0).map(|_| ()),
        }
    }

    fn for_loop(&mut self, id: StmtId, head: &For, body: StmtId) -> Done<()> {
        let (min, extent) = (self.scalar(head.min)?, self.scalar(head.extent)?);
        if let ForKind::Thread(tag) = head.kind {
            return self.thread_loop(id, head.var, tag, Some(min), extent, body);
        }
        let step = match head.step {
            Some(step) => self.scalar(step)?,
            None => self.int(1),
        };
        self.serial(head.var, min, extent, step, body);
        Ok(())
    }

    pub(super) fn serial(&mut self, var: Id<crate::ir::Symbol>, min: Reg, extent: Reg, step: Reg, body: StmtId) {
        let end = self.int_op(PrimOp::Add, I64, min, extent);
        let labels = [self.label(), self.label(), self.label()];
        self.open();
        let reg = self.register(self.depth());
        self.bind(var, vec![reg]);
        self.loops.push((labels[2], labels[1]));
        self.rounds.push((labels[0], reg));
        self.tasks.push(Task::EndFor { var: reg, min, end, step, labels });
        self.tasks.push(Task::Stmt(body));
    }

    fn block(&mut self, block: &Block) -> Done<()> {
        // The positions of the block in its iterations count as indices.
        self.in_index += 1;
        for iter in &block.iters {
            let Some(value) = iter.value else { return unsupported("a block whose axes are not bound") };
            let value = self.scalar(value)?;
            self.bind(iter.var, vec![value]);
        }
        if let Some(predicate) = block.predicate {
            let cond = self.scalar(predicate)?;
            match self.known(cond) {
                Some(0) => {
                    self.in_index -= 1;
                    return Ok(());
                }
                Some(_) => {}
                None => {
                    self.open();
                    self.tasks.push(Task::EndThen { cond, other: None });
                }
            }
        }
        self.in_index -= 1;
        for buffer in &block.allocs {
            self.alloc(*buffer)?;
        }
        for (buffer, region) in &block.matches {
            self.match_buffer(*buffer, region)?;
        }
        self.tasks.push(Task::Stmt(block.body));
        if let Some(init) = block.init {
            // The code runs before the first round of the reduced axes.
            let mut pairs = Vec::new();
            for iter in block.iters.iter().filter(|iter| iter.kind == IterKind::Reduce) {
                pairs.push((self.symbol(iter.var, 0)?, self.scalar(iter.min)?));
            }
            self.open();
            self.tasks.push(Task::EndInit(pairs));
            self.tasks.push(Task::Stmt(init));
        }
        Ok(())
    }
}
