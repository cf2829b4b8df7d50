//! Expressions under a rewriting, with a stack of their own: they may be chains of any length.

use super::{Rewriting, StmtMutator};
use crate::ir::{PrimExpr, PrimId};

impl Rewriting<'_> {
    /// Rewrites an expression that stands in a statement.
    pub fn root(&mut self, mutator: &mut dyn StmtMutator, root: PrimId) -> PrimId {
        if self.live
            && let Some(new) = mutator.expr(self, root)
        {
            self.ruled |= new != root;
            return new;
        }
        self.prim(mutator, root)
    }

    /// The same for several expressions.
    pub fn roots(&mut self, mutator: &mut dyn StmtMutator, roots: &[PrimId]) -> Box<[PrimId]> {
        roots.iter().map(|root| self.root(mutator, *root)).collect()
    }

    /// Rewrites an expression: its operands first, then the node by the rules for single nodes.
    pub fn prim(&mut self, mutator: &mut dyn StmtMutator, root: PrimId) -> PrimId {
        if let Some((new, ruled)) = self.memo.get(&root) {
            self.ruled |= *ruled;
            return *new;
        }
        let mut stack = vec![(root, false)];
        while let Some((id, open)) = stack.pop() {
            if open {
                self.leave(mutator, id);
                continue;
            }
            if self.memo.contains_key(&id) {
                continue;
            }
            let replaced = if self.live { mutator.enter_prim(self, id) } else { None };
            if let Some(new) = replaced {
                self.memo.insert(id, (new, new != id));
                continue;
            }
            stack.push((id, true));
            let first = stack.len();
            let expr = self.store.prim_rc(id);
            if let (PrimExpr::Let { var, .. }, true) = (&*expr, self.fresh) {
                self.define(*var);
            }
            expr.for_each_child(&mut |child| {
                if !self.memo.contains_key(&child) {
                    stack.push((child, false));
                }
            });
            stack[first..].reverse();
        }
        let (new, ruled) = self.memo.get(&root).copied().unwrap_or((root, false));
        self.ruled |= ruled;
        new
    }

    fn leave(&mut self, mutator: &mut dyn StmtMutator, id: PrimId) {
        let expr = self.store.prim_rc(id);
        let (mut same, mut ruled) = (true, false);
        let new = expr.over(&mut |child| {
            let (new, by_rule) = self.memo.get(&child).copied().unwrap_or((child, false));
            same &= new == child;
            ruled |= by_rule;
            new
        });
        let new = match new {
            PrimExpr::Var(symbol) => match self.symbol(symbol) {
                Some(value) => {
                    self.memo.insert(id, (value, false));
                    return;
                }
                None => PrimExpr::Var(symbol),
            },
            PrimExpr::Data(buffer) => PrimExpr::Data(self.renamed_buffer(buffer, &mut same)),
            PrimExpr::Buffer(buffer) => PrimExpr::Buffer(self.renamed_buffer(buffer, &mut same)),
            PrimExpr::Let { var, value, body } => {
                let new = self.renamed(var);
                same &= new == var;
                PrimExpr::Let { var: new, value, body }
            }
            PrimExpr::Load { buffer, indices } => {
                let (new, indices) = self.access(mutator, buffer, indices, &mut same);
                PrimExpr::Load { buffer: new, indices }
            }
            other => other,
        };
        let post = if same { id } else { self.store.prim(new) };
        let result = if self.live { mutator.prim(self, id, post) } else { post };
        self.memo.insert(id, (result, ruled || result != post));
    }

    fn renamed_buffer(&self, buffer: crate::ir::Id<crate::ir::Buffer>, same: &mut bool) -> crate::ir::Id<crate::ir::Buffer> {
        let new = self.buffer(buffer);
        *same &= new == buffer;
        new
    }
}
