//! Rewrites the parts of statements.

use super::{Rewriting, StmtMutator};
use crate::ir::{AttrNode, Block, Buffer, For, Id, IterVar, PrimExpr, PrimId, Region, Stmt, StmtId, Store};

impl Rewriting<'_> {
    /// Rewrites the parts of a statement: the same when nothing changed.
    pub fn descend(&mut self, mutator: &mut dyn StmtMutator, id: StmtId) -> StmtId {
        let new = self.over_parts(mutator, id);
        self.descended = Some((id, new));
        new
    }

    fn over_parts(&mut self, mutator: &mut dyn StmtMutator, id: StmtId) -> StmtId {
        let new = match self.store.stmt(id).clone() {
            Stmt::Seq(list) => {
                let old: Vec<StmtId> = self.store.items(list).collect();
                let new: Vec<StmtId> = old.iter().map(|stmt| self.visit(mutator, *stmt)).collect();
                return self.store.flat_seq(Some(id), &new);
            }
            Stmt::For(head, body) => {
                let min = self.root(mutator, head.min);
                let extent = self.root(mutator, head.extent);
                let step = head.step.map(|step| self.root(mutator, step));
                let var = self.define(head.var);
                let new = self.visit(mutator, body);
                let changed = (var, min, extent, step, new) != (head.var, head.min, head.extent, head.step, body);
                changed.then(|| Stmt::For(Box::new(For { var, min, extent, step, ..*head }), new))
            }
            Stmt::Block(block) => self.block(mutator, block).map(Stmt::Block),
            Stmt::Store { buffer, indices, value } => {
                let new_value = self.root(mutator, value);
                let new_indices = self.roots(mutator, &indices);
                let mut same = new_value == value && new_indices == indices;
                let (buffer, indices) = self.access(mutator, buffer, new_indices, &mut same);
                (!same).then_some(Stmt::Store { buffer, indices, value: new_value })
            }
            Stmt::If { cond, then, other } => {
                let new = (self.root(mutator, cond), self.visit(mutator, then), other.map(|other| self.visit(mutator, other)));
                (new != (cond, then, other)).then_some(Stmt::If { cond: new.0, then: new.1, other: new.2 })
            }
            Stmt::While { cond, body } => {
                let new = (self.root(mutator, cond), self.visit(mutator, body));
                (new != (cond, body)).then_some(Stmt::While { cond: new.0, body: new.1 })
            }
            Stmt::Bind { var, value } => {
                let new = self.root(mutator, value);
                let defined = self.define(var);
                ((defined, new) != (var, value)).then_some(Stmt::Bind { var: defined, value: new })
            }
            Stmt::Attr { node, key, value, body } => {
                let new_value = self.root(mutator, value);
                let new_node = match node {
                    AttrNode::Prim(prim) => AttrNode::Prim(self.follow(prim)),
                    // Copies run over the same threads.
                    AttrNode::Thread { var, tag } => AttrNode::Thread { var: self.renamed(var), tag },
                    AttrNode::Nothing => AttrNode::Nothing,
                };
                let new_body = self.visit(mutator, body);
                let changed = new_value != value || new_body != body || new_node != node;
                changed.then_some(Stmt::Attr { node: new_node, key, value: new_value, body: new_body })
            }
            Stmt::Alloc(buffer, annotations) => {
                let new = self.define_buffer(mutator, buffer);
                (new != buffer).then_some(Stmt::Alloc(new, annotations))
            }
            Stmt::Declare(buffer) => {
                let new = self.define_buffer(mutator, buffer);
                (new != buffer).then_some(Stmt::Declare(new))
            }
            Stmt::Assert { cond, kind, parts } => {
                let new = self.root(mutator, cond);
                (new != cond).then_some(Stmt::Assert { cond: new, kind, parts })
            }
            Stmt::Evaluate(value) => {
                let new = self.root(mutator, value);
                (new != value).then_some(Stmt::Evaluate(new))
            }
            Stmt::Return(value) => {
                let new = self.root(mutator, value);
                (new != value).then_some(Stmt::Return(new))
            }
            Stmt::Break | Stmt::Continue => None,
        };
        match new {
            Some(new) => self.store.rebuild_stmt(id, new),
            None => id,
        }
    }

    /// Rewrites an access to a buffer at `indices`, which are rewritten already.
    pub(super) fn access(
        &mut self,
        mutator: &mut dyn StmtMutator,
        buffer: Id<Buffer>,
        indices: Box<[PrimId]>,
        same: &mut bool,
    ) -> (Id<Buffer>, Box<[PrimId]>) {
        if let Some((buffer, indices)) = mutator.access(self, buffer, &indices) {
            *same = false;
            return (buffer, indices.into());
        }
        let new = self.buffer(buffer);
        *same &= new == buffer;
        (new, indices)
    }

    /// The nodes of attributes follow the variables and buffers, and are no expressions of the program.
    fn follow(&mut self, node: PrimId) -> PrimId {
        match *self.store.prim_of_id(node) {
            PrimExpr::Var(symbol) => self.symbol(symbol).unwrap_or(node),
            PrimExpr::Data(buffer) => {
                let buffer = self.buffer(buffer);
                self.store.prim(PrimExpr::Data(buffer))
            }
            PrimExpr::Buffer(buffer) => {
                let buffer = self.buffer(buffer);
                self.store.prim(PrimExpr::Buffer(buffer))
            }
            _ => node,
        }
    }

    fn block(&mut self, mutator: &mut dyn StmtMutator, id: Id<Block>) -> Option<Id<Block>> {
        let old = self.store.prim_block(id).clone();
        let values: Vec<Option<PrimId>> =
            old.iters.iter().map(|iter| iter.value.map(|value| self.root(mutator, value))).collect();
        // A block that always runs says nothing of when.
        let predicate = old.predicate.map(|predicate| self.root(mutator, predicate));
        let predicate = predicate.filter(|predicate| self.store.as_prim_int(*predicate) != Some(1));
        let iters = (old.iters.iter().zip(values))
            .map(|(iter, value)| {
                let (min, extent) = (self.root(mutator, iter.min), self.root(mutator, iter.extent));
                IterVar { var: self.define(iter.var), min, extent, value, ..iter.clone() }
            })
            .collect();
        let allocs = old.allocs.iter().map(|buffer| self.define_buffer(mutator, *buffer)).collect();
        let reads = old.reads.iter().map(|region| self.region(mutator, region)).collect();
        let writes = old.writes.iter().map(|region| self.region(mutator, region)).collect();
        let matches = (old.matches.iter())
            .map(|(buffer, source)| {
                let buffer = self.define_buffer(mutator, *buffer);
                (buffer, self.region(mutator, source))
            })
            .collect();
        let init = old.init.map(|init| self.visit(mutator, init));
        let body = self.visit(mutator, old.body);
        let new = Block { iters, predicate, allocs, reads, writes, matches, init, body, ..old };
        (new != *self.store.prim_block(id)).then(|| self.store.add_prim_block(new))
    }

    /// Rewrites the expressions of a part of a buffer.
    pub fn region(&mut self, mutator: &mut dyn StmtMutator, region: &Region) -> Region {
        let ranges = (region.ranges.iter())
            .map(|(min, extent)| (self.root(mutator, *min), extent.map(|extent| self.root(mutator, extent))))
            .collect();
        Region { buffer: self.buffer(region.buffer), ranges }
    }
}

impl Store {
    /// Joins statements as TVM's `SeqStmt::Flatten` does: opens sequences inside and drops `T.evaluate(0)`. `pre` is
    /// the sequence that this is a copy of; the same when nothing changed.
    pub fn flat_seq(&mut self, pre: Option<StmtId>, stmts: &[StmtId]) -> StmtId {
        let flat: Vec<StmtId> = stmts.iter().flat_map(|id| self.stmts_of(*id)).filter(|id| !self.is_no_op(*id)).collect();
        match flat[..] {
            [] => self.no_op(),
            [only] => only,
            _ => match pre {
                Some(pre) if self.stmts_of(pre) == flat => pre,
                Some(pre) => {
                    let list = self.list(&flat);
                    self.rebuild_stmt(pre, Stmt::Seq(list))
                }
                None => self.add_stmts(&flat),
            },
        }
    }

    /// True if a statement is `T.evaluate(0)`.
    pub fn is_no_op(&self, id: StmtId) -> bool {
        matches!(*self.stmt(id), Stmt::Evaluate(value) if self.as_prim_int(value) == Some(0))
    }

    /// Makes `T.evaluate(0)`
    pub fn no_op(&mut self) -> StmtId {
        let zero = self.prim_int(0, crate::ir::DType::I32);
        self.add_stmt(Stmt::Evaluate(zero))
    }
}
