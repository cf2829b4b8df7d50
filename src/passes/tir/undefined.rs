//! Finds the undefined names in a statement (TVM's `VarUseDefAnalyzer`, `src/tirx/analysis/var_use_def_analysis.cc`).

use crate::ir::{AttrNode, Buffer, Id, PrimExpr, PrimId, Stmt, StmtId, Store, Symbol};
use rustc_hash::FxHashSet;

/// Variables and buffers that come from outside, in the order of their first use.
#[derive(Default)]
pub(super) struct Undefined {
    pub(super) symbols: Vec<Id<Symbol>>,
    pub(super) buffers: Vec<Id<Buffer>>,
    known_symbols: FxHashSet<Id<Symbol>>,
    known_buffers: FxHashSet<Id<Buffer>>,
}

impl Undefined {
    /// Collects those of a statement.
    pub(super) fn of(store: &Store, body: StmtId) -> Undefined {
        let mut undefined = Undefined::default();
        undefined.stmt(store, body);
        undefined
    }

    /// Visits a statement. Statements nest as deep as the parser's limit.
    fn stmt(&mut self, store: &Store, id: StmtId) {
        let stmt = store.stmt(id);
        match stmt {
            Stmt::For(head, _) => {
                self.known_symbols.insert(head.var);
            }
            Stmt::Attr { node: AttrNode::Thread { var, .. }, .. } | Stmt::Bind { var, .. } => {
                self.known_symbols.insert(*var);
            }
            Stmt::Block(block) => {
                let block = store.prim_block(*block);
                self.known_symbols.extend(block.iters.iter().map(|iter| iter.var));
                let matched = block.matches.iter().map(|(buffer, _)| *buffer);
                block.allocs.iter().copied().chain(matched).for_each(|buffer| self.define(store, buffer));
            }
            Stmt::Alloc(buffer, _) => self.define(store, *buffer),
            Stmt::Declare(buffer) => {
                if let Some(data) = store.buffer(*buffer).data {
                    self.value(store, data);
                }
                self.define(store, *buffer);
            }
            Stmt::Store { buffer, indices, value } => {
                self.buffer(*buffer);
                self.value(store, *value);
                indices.iter().for_each(|index| self.value(store, *index));
                return;
            }
            _ => {}
        }
        store.for_each_prim_of(stmt, |value| self.value(store, value));
        store.for_each_inner_stmt(id, |inner| self.stmt(store, inner));
    }

    fn define(&mut self, store: &Store, buffer: Id<Buffer>) {
        self.known_buffers.insert(buffer);
        let data = store.buffer(buffer);
        let parts = data.shape.iter().chain(&data.strides).chain(&data.elem_offset);
        parts.for_each(|part| self.value(store, *part));
    }

    fn buffer(&mut self, buffer: Id<Buffer>) {
        if self.known_buffers.insert(buffer) {
            self.buffers.push(buffer);
        }
    }

    /// Visits an expression from left to right, parents before children.
    fn value(&mut self, store: &Store, root: PrimId) {
        let mut seen = FxHashSet::default();
        let mut todo = vec![root];
        while let Some(id) = todo.pop() {
            if !seen.insert(id) {
                continue;
            }
            let expr = store.prim_of_id(id);
            match expr {
                PrimExpr::Var(symbol) => {
                    let new = self.known_symbols.insert(*symbol);
                    if new {
                        self.symbols.push(*symbol);
                    }
                }
                PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) | PrimExpr::Load { buffer, .. } => self.buffer(*buffer),
                PrimExpr::Let { var, .. } => {
                    self.known_symbols.insert(*var);
                }
                _ => {}
            }
            let first = todo.len();
            expr.for_each_child(&mut |child| todo.push(child));
            todo[first..].reverse();
        }
    }
}
