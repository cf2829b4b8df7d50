//! Expressions under a rewriting, with a stack of their own: they may be chains of any length.

use super::{ROOM, Rewriting, StmtMutator};
use crate::ir::drive::{Agenda, Form, Step, Visit, drive};
use crate::ir::{Mentions, PrimExpr, PrimId};
use std::convert::Infallible;

/// Expressions that nest at most so deep are replaced by recursion, without a table of results: the time of a visit of a
/// shared part for each of its uses is bounded.
const SHALLOW: u16 = 6;

impl Rewriting<'_> {
    /// Rewrites an expression that stands in a statement.
    pub fn root(&mut self, mutator: &mut dyn StmtMutator, root: PrimId) -> PrimId {
        let mentions = self.store.prim_mentions(root);
        if self.live
            && mentions.meets(mutator.looks_for())
            && let Some(new) = mutator.expr(self, root)
        {
            self.ruled |= new != root;
            return new;
        }
        if mentions.meets(self.replaced | mutator.looks_for()) { self.prim(mutator, root) } else { root }
    }

    /// True if one of these expressions may change; false if no hook looks for what they mention and nothing in them is
    /// replaced.
    pub(super) fn may_change(&self, mutator: &dyn StmtMutator, exprs: impl IntoIterator<Item = PrimId>) -> bool {
        let wanted = self.replaced | mutator.looks_for();
        exprs.into_iter().any(|expr| self.store.prim_mentions(expr).meets(wanted))
    }

    /// The same for several expressions.
    pub fn roots(&mut self, mutator: &mut dyn StmtMutator, roots: &[PrimId]) -> Box<[PrimId]> {
        roots.iter().map(|root| self.root(mutator, *root)).collect()
    }

    /// Rewrites an expression: its operands first, then the node by the rules for single nodes.
    pub fn prim(&mut self, mutator: &mut dyn StmtMutator, root: PrimId) -> PrimId {
        let (mentions, looks_for) = (self.store.prim_mentions(root), mutator.looks_for());
        if !mentions.meets(looks_for) {
            let is_copied = self.fresh && mentions.meets(Mentions::LETS);
            if !is_copied && self.store.prim_depth(root) <= SHALLOW {
                return self.substituted(root);
            }
            if !mentions.meets(self.replaced) {
                return root;
            }
        }
        if let Some((new, ruled)) = self.memo.get(&root) {
            self.ruled |= *ruled;
            return *new;
        }
        if self.memo.capacity() == 0 {
            self.memo.reserve(ROOM);
        }
        let mut agenda = std::mem::take(&mut self.agenda);
        agenda.push(Step::Visit(root));
        drive(&mut Prims { cx: self, mutator, looks_for }, &mut agenda);
        self.agenda = agenda;
        let (new, ruled) = self.memo.get(&root).copied().unwrap_or((root, false));
        self.ruled |= ruled;
        new
    }

    /// Replaces variables and buffers in an expression about which no hook is asked, by recursion.
    fn substituted(&mut self, id: PrimId) -> PrimId {
        if !self.store.prim_mentions(id).meets(self.replaced) {
            return id;
        }
        if let PrimExpr::Var(symbol) = *self.store.prim_of_id(id) {
            return self.symbol(symbol).unwrap_or(id);
        }
        let expr = self.store.prim_rc(id);
        let new = match expr.over(&mut |child| self.substituted(child)) {
            PrimExpr::Data(buffer) => PrimExpr::Data(self.buffer(buffer)),
            PrimExpr::Buffer(buffer) => PrimExpr::Buffer(self.buffer(buffer)),
            PrimExpr::Load { buffer, indices } => PrimExpr::Load { buffer: self.buffer(buffer), indices },
            PrimExpr::Let { var, value, body } => PrimExpr::Let { var: self.renamed(var), value, body },
            other => other,
        };
        self.store.prim(new)
    }

    /// Returns an expression whose operands stay: only what it names may be another thing now.
    fn over_same(&mut self, mutator: &mut dyn StmtMutator, id: PrimId, expr: &PrimExpr) -> PrimId {
        let new = match *expr {
            PrimExpr::Data(buffer) if self.buffer(buffer) != buffer => PrimExpr::Data(self.buffer(buffer)),
            PrimExpr::Buffer(buffer) if self.buffer(buffer) != buffer => PrimExpr::Buffer(self.buffer(buffer)),
            PrimExpr::Let { var, value, body } if self.renamed(var) != var => {
                PrimExpr::Let { var: self.renamed(var), value, body }
            }
            PrimExpr::Load { buffer, ref indices } => match mutator.access(self, buffer, indices) {
                Some((buffer, indices)) => PrimExpr::Load { buffer, indices: indices.into() },
                None if self.buffer(buffer) == buffer => return id,
                None => PrimExpr::Load { buffer: self.buffer(buffer), indices: indices.clone() },
            },
            _ => return id,
        };
        self.store.prim(new)
    }

    /// Returns an expression over its rewritten operands, of which some changed.
    fn over_new(&mut self, mutator: &mut dyn StmtMutator, expr: &PrimExpr) -> PrimId {
        let new = match expr.over(&mut |child| self.memo.get(&child).map_or(child, |(new, _)| *new)) {
            PrimExpr::Let { var, value, body } => PrimExpr::Let { var: self.renamed(var), value, body },
            PrimExpr::Load { buffer, indices } => match mutator.access(self, buffer, &indices) {
                Some((buffer, indices)) => PrimExpr::Load { buffer, indices: indices.into() },
                None => PrimExpr::Load { buffer: self.buffer(buffer), indices },
            },
            other => other,
        };
        self.store.prim(new)
    }
}

/// Scalar expressions, whose results are known by id and say if a rule had a part in them.
struct Prims<'a, 's> {
    cx: &'a mut Rewriting<'s>,
    mutator: &'a mut dyn StmtMutator,
    looks_for: Mentions,
}

impl Form for Prims<'_, '_> {
    type Node = PrimId;
    type Step = Infallible;

    fn is_known(&mut self, id: PrimId) -> bool {
        self.cx.memo.contains_key(&id)
    }

    fn enter(&mut self, id: PrimId) -> Visit<PrimId> {
        let replaced = if self.cx.live { self.mutator.enter_prim(self.cx, id) } else { None };
        replaced.map_or(Visit::Descend, Visit::Replace)
    }

    fn descend(&mut self, id: PrimId, agenda: &mut Agenda<Self>) {
        agenda.push(Step::Leave(id));
        let first = agenda.len();
        let expr = self.cx.store.prim_rc(id);
        if let (PrimExpr::Let { var, .. }, true) = (&*expr, self.cx.fresh) {
            self.cx.define(*var);
        }
        let wanted = self.cx.replaced | self.looks_for;
        expr.for_each_child(&mut |child| {
            if self.cx.store.prim_mentions(child).meets(wanted) && !self.cx.memo.contains_key(&child) {
                agenda.push(Step::Visit(child));
            }
        });
        agenda[first..].reverse();
    }

    fn leave(&mut self, id: PrimId) {
        let Prims { cx, mutator, .. } = self;
        let expr = cx.store.prim_rc(id);
        let (mut same, mut ruled) = (true, false);
        expr.for_each_child(&mut |child| {
            let (new, by_rule) = cx.memo.get(&child).copied().unwrap_or((child, false));
            same &= new == child;
            ruled |= by_rule;
        });
        if let PrimExpr::Var(symbol) = *expr
            && let Some(value) = cx.symbol(symbol)
        {
            cx.memo.insert(id, (value, false));
            return;
        }
        let post = if same { cx.over_same(*mutator, id, &expr) } else { cx.over_new(*mutator, &expr) };
        let result = if cx.live { mutator.prim(cx, id, post) } else { post };
        cx.memo.insert(id, (result, ruled || result != post));
    }

    fn give(&mut self, id: PrimId, result: PrimId) {
        self.cx.memo.insert(id, (result, result != id));
    }

    fn give_again(&mut self, id: PrimId, other: PrimId) {
        let result = self.cx.memo.get(&other).copied().unwrap_or((other, true));
        self.cx.memo.insert(id, result);
    }

    fn step(&mut self, step: Infallible, _: &mut Agenda<Self>) {
        match step {}
    }
}
