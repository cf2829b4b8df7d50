//! A pipelined loop: prologue, body and epilogue.

use super::body::Versions;
use super::queue::{Local, Queue};
use super::{Piece, block_around, realize};
use crate::ir::{AttrNode, AttrsId, Buffer, DType, For, ForKind, Id, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store};
use crate::tir::arith::{Analyzer, IntSet};
use crate::tir::math::not;
use crate::tir::{Rewriting, binary, substitute, substitute_stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// A loop that is pipelined, and what is known of its buffers.
pub(super) struct Pipeline<'a> {
    pub store: &'a mut Store,
    pub head: For,
    pub pieces: Vec<Piece>,
    /// The buffers that the loop allocates.
    pub allocs: Vec<Id<Buffer>>,
    /// Buffers that are in reach.
    pub known: FxHashSet<Id<Buffer>>,
    /// Buffers that have two versions at least.
    pub doubled: &'a FxHashSet<Id<Buffer>>,
    pub fragments: &'a FxHashMap<Id<Buffer>, i64>,
    /// The annotations of the loop without the pipeline's.
    pub annotations: Option<AttrsId>,
}

/// A block of one round, as it is emitted.
pub(super) struct Emitted {
    pub stage: i64,
    pub predicate: PrimId,
    pub block: StmtId,
    /// The round that the block works on.
    pub access: PrimId,
    pub is_async: bool,
}

/// The state that is kept while the three loops are emitted.
pub(super) struct Emit {
    pub analyzer: Analyzer,
    remap: FxHashMap<Id<Buffer>, Id<Buffer>>,
    last_stage: i64,
    pub queues: BTreeMap<i64, Queue>,
}

impl Pipeline<'_> {
    fn op(&mut self, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
        binary(self.store, op, a, b)
    }

    fn plus(&mut self, value: PrimId, number: i64) -> PrimId {
        let number = self.store.prim_int(number, DType::I32);
        self.op(PrimOp::Add, value, number)
    }

    pub fn build(mut self) -> StmtId {
        let last_stage = self.pieces.iter().map(|piece| piece.stage).max().unwrap_or(0);
        let mut remap = FxHashMap::default();
        for buffer in self.allocs.clone() {
            let versions = self.versions(buffer);
            if versions > 1 {
                let new = self.with_versions(buffer, versions);
                remap.insert(buffer, new);
            }
        }
        self.known.extend(remap.values().copied());
        crate::ir::sort::sort_by(&mut self.pieces, |a, b| a.order.cmp(&b.order));
        let mut emit = Emit { analyzer: Analyzer::new(), remap, last_stage, queues: BTreeMap::new() };
        let (min, extent) = (self.head.min, self.head.extent);
        let filled = self.plus(min, last_stage);
        let end = self.op(PrimOp::Add, min, extent);
        let prologue = self.emit(&mut emit, min, filled, true, None);
        let body = self.emit(&mut emit, filled, end, false, None);
        // The epilogue must not reach into the prologue when the loop is shorter than the pipeline.
        let (mut from, mut least) = (end, None);
        if last_stage > 1 && !emit.analyzer.can_prove_greater_equal(self.store, extent, last_stage) {
            if self.store.as_prim_int(end).is_some() {
                from = self.op(PrimOp::Max, end, filled);
            } else {
                least = Some(filled);
            }
        }
        let to = self.plus(end, last_stage);
        let epilogue = self.emit(&mut emit, from, to, true, least);
        let list = self.store.list(&[prologue, body, epilogue]);
        let all = self.store.add_stmt(Stmt::Seq(list));
        let mut allocs = Vec::new();
        for buffer in self.allocs.clone() {
            let new = emit.remap.get(&buffer).copied().unwrap_or(buffer);
            self.known.remove(&buffer);
            self.known.remove(&new);
            allocs.push(new);
        }
        let mut block = block_around(self.store, all, &self.known);
        block.allocs = allocs.into();
        realize(self.store, block, None)
    }

    /// The number of versions that a buffer needs, by the stages that write and read it.
    fn versions(&mut self, buffer: Id<Buffer>) -> i64 {
        let defined = self.pieces.iter().filter(|piece| piece.writes(buffer).is_some()).map(|piece| piece.stage).min();
        let used = self.pieces.iter().filter(|piece| piece.reads(buffer).is_some()).map(|piece| piece.stage).max();
        let Some(defined) = defined else { return 1 };
        let mut versions = used.unwrap_or(-1) - defined + 1;
        if versions == 2 && !self.overlaps(buffer) {
            versions = 1;
        }
        if versions == 1 && self.doubled.contains(&buffer) { 2 } else { versions }
    }

    /// True if a block writes what a block behind it, in a later stage, may read.
    fn overlaps(&mut self, buffer: Id<Buffer>) -> bool {
        let mut pairs = Vec::new();
        for writer in &self.pieces {
            let Some(written) = writer.writes(buffer) else { continue };
            for reader in &self.pieces {
                let Some(read) = reader.reads(buffer) else { continue };
                if writer.order < reader.order && writer.stage < reader.stage {
                    pairs.push((written.clone(), read.clone()));
                }
            }
        }
        pairs.into_iter().any(|(written, read)| {
            written.ranges.iter().zip(&read.ranges).all(|(a, b)| {
                let [a, b] = [a, b].map(|range| {
                    let extent = crate::tir::access::extent_of(self.store, *range);
                    IntSet::from_range(self.store, range.0, extent)
                });
                !IntSet::intersect(self.store, &[a, b]).is_nothing()
            })
        })
    }

    fn with_versions(&mut self, buffer: Id<Buffer>, versions: i64) -> Id<Buffer> {
        let mut new = self.store.buffer(buffer).clone();
        let count = self.store.prim_int(versions, DType::I32);
        if let (Some(stride), Some(extent)) = (new.strides.first().copied(), new.shape.first().copied()) {
            let outer = self.op(PrimOp::Mul, stride, extent);
            new.strides = std::iter::once(outer).chain(new.strides.iter().copied()).collect();
        }
        new.shape = std::iter::once(count).chain(new.shape.iter().copied()).collect();
        self.store.add_buffer(new)
    }

    fn nothing(&mut self) -> StmtId {
        let zero = self.store.prim_int(0, DType::I32);
        let body = self.store.add_stmt(Stmt::Evaluate(zero));
        let block = block_around(self.store, body, &FxHashSet::default());
        realize(self.store, block, None)
    }

    /// The condition that a stage has work: its round `skewed` is one of the loop, and the round at hand is at least `least`.
    fn inbound(&mut self, emit: &mut Emit, skewed: PrimId, round: PrimId, least: Option<PrimId>) -> PrimId {
        let low = self.op(PrimOp::Le, self.head.min, skewed);
        let low = emit.analyzer.simplify(self.store, low);
        let limit = self.op(PrimOp::Add, self.head.min, self.head.extent);
        let high = self.op(PrimOp::Lt, skewed, limit);
        let inbound = self.op(PrimOp::And, low, high);
        let Some(least) = least else { return inbound };
        let more = self.op(PrimOp::Ge, round, least);
        let both = self.op(PrimOp::And, inbound, more);
        emit.analyzer.simplify(self.store, both)
    }

    /// The rounds from `start` to `end`, each with the stages that have work in it.
    fn emit(&mut self, emit: &mut Emit, start: PrimId, end: PrimId, unroll: bool, least: Option<PrimId>) -> StmtId {
        let extent = self.op(PrimOp::Sub, end, start);
        let zero = self.store.prim_int(0, DType::I32);
        let none = self.op(PrimOp::Le, extent, zero);
        if emit.analyzer.can_prove(self.store, none) {
            return self.nothing();
        }
        let one = self.store.prim_int(1, DType::I32);
        let is_unit = emit.analyzer.can_prove_equal(self.store, extent, one);
        let mut inside = Analyzer::new();
        let var = (!is_unit).then(|| {
            let symbol = self.store.symbol(self.head.var).clone();
            self.store.add_symbol(symbol)
        });
        let round = match var {
            Some(symbol) => {
                emit.analyzer.bind_range(self.store, symbol, start, extent);
                let length = self.op(PrimOp::Sub, extent, self.head.min);
                inside.bind_range(self.store, symbol, self.head.min, length);
                self.store.prim(PrimExpr::Var(symbol))
            }
            None => start,
        };
        let mut local: BTreeMap<i64, Local> = BTreeMap::new();
        let mut emitted: Vec<Emitted> = Vec::new();
        let mut groups: FxHashMap<Id<Buffer>, usize> = FxHashMap::default();
        let own = self.store.prim(PrimExpr::Var(self.head.var));
        let from_zero = self.op(PrimOp::Sub, own, self.head.min);
        for at in 0..self.pieces.len() {
            let (piece, stage, is_async) = (self.pieces[at].stmt, self.pieces[at].stage, self.pieces[at].is_async);
            let back = self.store.prim_int(stage, DType::I32);
            let skewed = self.op(PrimOp::Sub, round, back);
            let mut inbound = self.inbound(emit, skewed, round, least);
            let outside = not(self.store, inbound);
            if emit.analyzer.can_prove(self.store, outside) {
                continue;
            }
            let mut versions =
                Versions { remap: &emit.remap, var: own, round: from_zero, all: emit.last_stage != 1, fragments: self.fragments };
            let block = Rewriting::new(self.store).visit(&mut versions, piece);
            let mut access = skewed;
            if let Some(symbol) = var {
                let delta = self.op(PrimOp::Sub, start, self.head.min);
                access = self.op(PrimOp::Add, skewed, delta);
                let shifted = self.op(PrimOp::Add, round, delta);
                inbound = substitute(self.store, inbound, &mut |_, of| (of == symbol).then_some(shifted));
            }
            let mut block = substitute_stmt(self.store, block, &[(self.head.var, access)]);
            if is_async {
                let state = local.entry(stage).or_default();
                if state.groups.is_empty() || state.consumed {
                    state.groups.push(vec![emitted.len()]);
                } else if let Some(last) = state.groups.last_mut() {
                    last.push(emitted.len());
                }
                let group = state.groups.len() - 1;
                let written: Vec<_> = super::block(self.store, block).writes.iter().map(|region| region.buffer).collect();
                for buffer in written {
                    emit.queue(self.store, stage).buffers.insert(buffer);
                    groups.insert(buffer, group);
                }
                state.head = Some(access);
                state.predicate = Some(match state.predicate {
                    Some(known) if !inside.can_prove(self.store, known) => {
                        let both = binary(self.store, PrimOp::And, known, inbound);
                        inside.simplify(self.store, both)
                    }
                    _ => inbound,
                });
                block = super::over_body(self.store, block, |store, body| scope(store, "async_scope", one, body));
            }
            let reads: Vec<_> = super::block(self.store, block).reads.iter().map(|region| region.buffer).collect();
            emitted.push(Emitted { stage, predicate: inbound, block, access, is_async });
            for (producer, queue) in &emit.queues {
                if *producer <= stage && reads.iter().any(|buffer| queue.buffers.contains(buffer)) {
                    local.entry(*producer).or_default().consumed = true;
                }
            }
        }
        emit.count_waits(self.store, &emitted, &mut inside, &groups, &mut local);
        let stmts = self.complete(emitted, &local, &mut inside);
        let stmt = match stmts[..] {
            [] => return self.nothing(),
            [only] => only,
            _ => {
                let list = self.store.list(&stmts);
                self.store.add_stmt(Stmt::Seq(list))
            }
        };
        let stmt = match var {
            None => stmt,
            Some(var) => {
                let kind = if unroll { ForKind::Unrolled } else { self.head.kind };
                let annotations = self.annotations;
                let head = For { var, min: self.head.min, extent, step: None, kind, annotations };
                self.store.add_stmt(Stmt::For(head, stmt))
            }
        };
        emit.advance(self.store, &local, &mut inside, extent);
        let block = block_around(self.store, stmt, &self.known);
        realize(self.store, block, None)
    }

    /// The statements of a round, with the queues that they wait for and belong to.
    fn complete(&mut self, mut blocks: Vec<Emitted>, local: &BTreeMap<i64, Local>, inside: &mut Analyzer) -> Vec<StmtId> {
        let mut queue_of = vec![None; blocks.len()];
        for (stage, state) in local {
            for group in &state.groups {
                for (behind, _) in group.iter().enumerate() {
                    if let Some(queue) = queue_of.get_mut(group[0] + behind) {
                        *queue = Some(*stage);
                    }
                }
            }
            let Some((at, mut count)) = state.wait else { continue };
            if let Some(predicate) = state.predicate
                && !inside.can_prove(self.store, predicate)
            {
                let zero = self.store.prim_int(0, DType::I32);
                count = self.store.prim_call("if_then_else", &[predicate, count, zero], DType::I32);
            }
            let stage = self.store.prim_int(*stage, DType::I32);
            blocks[at].block = super::over_body(self.store, blocks[at].block, |store, body| {
                let body = scope(store, "async_wait_inflight_count", count, body);
                scope(store, "async_wait_queue_scope", stage, body)
            });
        }
        let mut stmts = Vec::new();
        let mut at = 0;
        while let Some(block) = blocks.get(at) {
            let Some(queue) = queue_of[at] else {
                let inner = super::block(self.store, block.block);
                stmts.push(realize(self.store, inner, Some(block.predicate)));
                at += 1;
                continue;
            };
            let mut bodies = Vec::new();
            let predicate = block.predicate;
            while at < blocks.len() && queue_of[at] == Some(queue) {
                bodies.push(super::block(self.store, blocks[at].block).body);
                at += 1;
            }
            let body = match bodies[..] {
                [only] => only,
                _ => {
                    let list = self.store.list(&bodies);
                    self.store.add_stmt(Stmt::Seq(list))
                }
            };
            let queue = self.store.prim_int(queue, DType::I32);
            let body = scope(self.store, "async_commit_queue_scope", queue, body);
            let block = block_around(self.store, body, &self.known);
            stmts.push(realize(self.store, block, Some(predicate)));
        }
        stmts
    }
}

/// A statement under an attribute.
fn scope(store: &mut Store, key: &str, value: PrimId, body: StmtId) -> StmtId {
    let node = AttrNode::Nothing;
    let key = store.name(key);
    store.add_stmt(Stmt::Attr { node, key, value, body })
}
