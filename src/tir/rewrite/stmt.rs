//! Rewrites the parts of statements.

use super::{Rewriting, StmtMutator};
use crate::ir::{AttrNode, Block, For, IterVar, PrimExpr, PrimId, Region, Stmt, StmtId, Store};

impl Rewriting<'_> {
    /// Rewrites the parts of a statement: the same when nothing changed.
    pub fn descend(&mut self, mutator: &mut dyn StmtMutator, id: StmtId) -> StmtId {
        let new = self.over_parts(mutator, id);
        self.descended = Some((id, new));
        new
    }

    fn over_parts(&mut self, mutator: &mut dyn StmtMutator, id: StmtId) -> StmtId {
        let stmt = self.store.stmt_rc(id);
        let new = match *stmt {
            Stmt::Seq(list) => {
                let mut new = Vec::with_capacity(list.len());
                for at in 0..list.len() {
                    let stmt = self.store.item(list, at);
                    new.push(self.visit(mutator, stmt));
                }
                return self.store.flat_seq(Some(id), &new);
            }
            Stmt::For(ref head, body) => {
                let min = self.root(mutator, head.min);
                let extent = self.root(mutator, head.extent);
                let step = head.step.map(|step| self.root(mutator, step));
                let var = self.define(head.var);
                let new = self.visit(mutator, body);
                let changed = (var, min, extent, step, new) != (head.var, head.min, head.extent, head.step, body);
                changed.then_some(Stmt::For(For { var, min, extent, step, ..*head }, new))
            }
            Stmt::Block(block) => {
                let block = self.store.prim_block_rc(block);
                self.over_block(mutator, &block).map(|new| Stmt::Block(self.store.add_prim_block(new)))
            }
            Stmt::Store { buffer, ref indices, value } => {
                let new_value = self.root(mutator, value);
                let new_indices = self.changed_roots(mutator, indices);
                let at = new_indices.as_deref().unwrap_or(indices);
                match mutator.access(self, buffer, at) {
                    Some((buffer, at)) => Some(Stmt::Store { buffer, indices: at.into(), value: new_value }),
                    None if new_value == value && new_indices.is_none() && self.buffer(buffer) == buffer => None,
                    None => {
                        let indices = new_indices.unwrap_or_else(|| indices.clone());
                        Some(Stmt::Store { buffer: self.buffer(buffer), indices, value: new_value })
                    }
                }
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
            Stmt::Attr { ref node, key, value, body } => {
                let new_value = self.root(mutator, value);
                let new_node = match *node {
                    AttrNode::Prim(prim) => AttrNode::Prim(self.follow(prim)),
                    // Copies run over the same threads.
                    AttrNode::Thread { var, tag } => AttrNode::Thread { var: self.renamed(var), tag },
                    AttrNode::Nothing => AttrNode::Nothing,
                };
                let new_body = self.visit(mutator, body);
                let changed = new_value != value || new_body != body || new_node != *node;
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
            Stmt::Assert { cond, kind, ref parts } => {
                let new = self.root(mutator, cond);
                (new != cond).then(|| Stmt::Assert { cond: new, kind, parts: parts.clone() })
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

    /// Rewrites the parts of a block: `None` if all stayed the same.
    fn over_block(&mut self, mutator: &mut dyn StmtMutator, old: &Block) -> Option<Block> {
        // Values belong to the outside: they are done before the block's variables are defined.
        let values = changed(&old.iters, |iter| {
            let value = iter.value.map(|value| self.root(mutator, value));
            (value != iter.value).then(|| IterVar { value, ..iter.clone() })
        });
        let predicate = self.predicate(mutator, old);
        let inner = changed(values.as_deref().unwrap_or(&old.iters), |iter| {
            let (min, extent) = (self.root(mutator, iter.min), self.root(mutator, iter.extent));
            let var = self.define(iter.var);
            let same = (var, min, extent) == (iter.var, iter.min, iter.extent);
            (!same).then(|| IterVar { var, min, extent, ..iter.clone() })
        });
        self.inside_block(mutator, old, inner.or(values), predicate)
    }

    /// Rewrites the condition under which a block runs. A block that always runs says nothing of when.
    pub fn predicate(&mut self, mutator: &mut dyn StmtMutator, block: &Block) -> Option<PrimId> {
        let predicate = block.predicate.map(|predicate| self.root(mutator, predicate));
        predicate.filter(|predicate| self.store.as_prim_int(*predicate) != Some(1))
    }

    /// Rewrites what a block has besides its variables and its condition, which are `iters`, if they are other ones, and
    /// `predicate` now. `None` if all stayed the same.
    pub fn inside_block(
        &mut self,
        mutator: &mut dyn StmtMutator,
        old: &Block,
        iters: Option<Box<[IterVar]>>,
        predicate: Option<PrimId>,
    ) -> Option<Block> {
        let allocs = changed(&old.allocs, |buffer| Some(self.define_buffer(mutator, *buffer)).filter(|new| new != buffer));
        let reads = changed(&old.reads, |region| self.changed_region(mutator, region));
        let writes = changed(&old.writes, |region| self.changed_region(mutator, region));
        let matches = changed(&old.matches, |(buffer, source)| {
            let new = self.define_buffer(mutator, *buffer);
            let part = self.changed_region(mutator, source);
            (new != *buffer || part.is_some()).then(|| (new, part.unwrap_or_else(|| source.clone())))
        });
        let init = old.init.map(|init| self.visit(mutator, init));
        let body = self.visit(mutator, old.body);
        let parts_stay = iters.is_none() && allocs.is_none() && reads.is_none() && writes.is_none() && matches.is_none();
        if parts_stay && (predicate, init, body) == (old.predicate, old.init, old.body) {
            return None;
        }
        Some(Block {
            name: old.name,
            iters: iters.unwrap_or_else(|| old.iters.clone()),
            predicate,
            reads: reads.unwrap_or_else(|| old.reads.clone()),
            writes: writes.unwrap_or_else(|| old.writes.clone()),
            allocs: allocs.unwrap_or_else(|| old.allocs.clone()),
            matches: matches.unwrap_or_else(|| old.matches.clone()),
            annotations: old.annotations,
            init,
            body,
            bare: old.bare,
        })
    }

    /// Rewrites expressions; `None` if all stayed the same.
    fn changed_roots(&mut self, mutator: &mut dyn StmtMutator, roots: &[PrimId]) -> Option<Box<[PrimId]>> {
        changed(roots, |root| Some(self.root(mutator, *root)).filter(|new| new != root))
    }

    /// Rewrites the expressions of a part of a buffer; `None` if it stayed the same.
    fn changed_region(&mut self, mutator: &mut dyn StmtMutator, region: &Region) -> Option<Region> {
        let ranges = changed(&region.ranges, |&(min, extent)| {
            let new = (self.root(mutator, min), extent.map(|extent| self.root(mutator, extent)));
            (new != (min, extent)).then_some(new)
        });
        let buffer = self.buffer(region.buffer);
        let same = ranges.is_none() && buffer == region.buffer;
        (!same).then(|| Region { buffer, ranges: ranges.unwrap_or_else(|| region.ranges.clone()) })
    }

    /// Rewrites the expressions of a part of a buffer.
    pub fn region(&mut self, mutator: &mut dyn StmtMutator, region: &Region) -> Region {
        self.changed_region(mutator, region).unwrap_or_else(|| region.clone())
    }
}

/// Returns a list in which `f` has replaced some parts; `None`, without a copy of it, if `f` replaced none.
fn changed<T: Clone>(list: &[T], mut f: impl FnMut(&T) -> Option<T>) -> Option<Box<[T]>> {
    let mut new: Option<Vec<T>> = None;
    for (at, part) in list.iter().enumerate() {
        match (f(part), &mut new) {
            (Some(becomes), Some(new)) => new.push(becomes),
            (None, Some(new)) => new.push(part.clone()),
            (Some(becomes), None) => {
                let new = new.insert(Vec::with_capacity(list.len()));
                new.extend_from_slice(&list[..at]);
                new.push(becomes);
            }
            (None, None) => {}
        }
    }
    new.map(Vec::into_boxed_slice)
}

impl Store {
    /// Joins statements as TVM's `SeqStmt::Flatten` does: opens sequences inside and drops `T.evaluate(0)`. `pre` is
    /// the sequence that this is a copy of; the same when nothing changed.
    pub fn flat_seq(&mut self, pre: Option<StmtId>, stmts: &[StmtId]) -> StmtId {
        let mut flat = Vec::with_capacity(stmts.len());
        stmts.iter().for_each(|id| self.push_stmts_of(*id, &mut flat));
        flat.retain(|id| !self.is_no_op(*id));
        match flat[..] {
            [] => self.no_op(),
            [only] => only,
            _ => match pre {
                Some(pre) if self.is_seq_of(pre, &flat) => pre,
                Some(pre) => {
                    let list = self.list(&flat);
                    self.rebuild_stmt(pre, Stmt::Seq(list))
                }
                None => self.add_stmts(&flat),
            },
        }
    }

    fn is_seq_of(&self, id: StmtId, stmts: &[StmtId]) -> bool {
        matches!(*self.stmt(id), Stmt::Seq(list) if list.len() == stmts.len() && self.items(list).eq(stmts.iter().copied()))
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
