//! Statements in a vectorized loop.

use super::expr;
use super::predicate::predicated;
use crate::ir::{For, ForKind, Id, PrimExpr, PrimId, Stmt, StmtId, Store, Symbol};
use crate::tir::{Rewriting, StmtMutator, substitute_stmt};
use rustc_hash::FxHashMap;

/// The body of a vectorized loop under way.
pub(super) struct Vectors {
    pub(super) var: Id<Symbol>,
    pub(super) extent: PrimId,
    pub(super) lanes: u16,
    /// The ramp that replaces the variable.
    pub(super) ramp: PrimId,
    /// True if the statement under way cannot be on vectors.
    pub(super) scalarize: bool,
    /// The replacements of variables bound inside.
    pub(super) bound: FxHashMap<Id<Symbol>, PrimId>,
    /// True if branches become masks; and true if a mask applies at another offset than its condition.
    pub(super) masks: bool,
    pub(super) offsets: bool,
    /// The error in an expression.
    pub(super) error: Option<String>,
}

impl StmtMutator for Vectors {
    fn rule(&self) -> &'static str {
        "loop vectorized"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn expr(&mut self, cx: &mut Rewriting<'_>, root: PrimId) -> Option<PrimId> {
        Some(self.value(cx.store, root))
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let new = self.statement(cx, id);
        if let Some(message) = self.error.take() {
            cx.fail("tir-vectorize", message);
            return Some(id);
        }
        Some(if std::mem::take(&mut self.scalarize) { self.scalarized(cx.store, id) } else { new })
    }
}

impl Vectors {
    fn statement(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> StmtId {
        match cx.store.stmt(id).clone() {
            Stmt::Store { buffer, indices, value } => {
                let new: Vec<PrimId> = indices.iter().map(|index| self.value(cx.store, *index)).collect();
                let new_value = self.value(cx.store, value);
                if new[..] == indices[..] && new_value == value {
                    return id;
                }
                self.store(cx.store, id, buffer, new, new_value)
            }
            Stmt::For(head, body) => {
                if cx.store.as_prim_int(head.min) != Some(0) {
                    self.fail("a loop inside of a vectorized loop must begin at 0");
                    return id;
                }
                let extent = self.value(cx.store, head.extent);
                if is_vector(cx.store, extent) {
                    self.scalarize = false;
                    return self.scalarized(cx.store, id);
                }
                let new = cx.visit(self, body);
                if (extent, new) == (head.extent, body) {
                    return id;
                }
                cx.store.rebuild_stmt(id, Stmt::For(For { extent, ..head }, new))
            }
            Stmt::If { cond, then, other } => self.branch(cx, id, cond, then, other),
            Stmt::While { .. } => {
                self.fail("A while loop inside a vectorized loop not supported.");
                id
            }
            Stmt::Bind { var, value } => {
                let new = self.value(cx.store, value);
                if self.scalarize {
                    return id;
                }
                let becomes = self.bind(cx.store, var, value, new);
                if (becomes, new) == (var, value) {
                    return id;
                }
                cx.store.rebuild_stmt(id, Stmt::Bind { var: becomes, value: new })
            }
            _ => cx.descend(self, id),
        }
    }

    fn branch(&mut self, cx: &mut Rewriting<'_>, id: StmtId, cond: PrimId, then: StmtId, other: Option<StmtId>) -> StmtId {
        let new_cond = self.value(cx.store, cond);
        let by_lane = std::mem::take(&mut self.scalarize) || is_vector(cx.store, new_cond);
        let new_then = cx.visit(self, then);
        let new_other = other.map(|other| cx.visit(self, other));
        if self.masks
            && is_vector(cx.store, new_cond)
            && new_other.is_none()
            && let Some(masked) = predicated(cx.store, new_then, new_cond, self.offsets)
        {
            return masked;
        }
        if by_lane {
            return self.scalarized(cx.store, id);
        }
        if (new_cond, new_then, new_other) == (cond, then, other) {
            return id;
        }
        cx.store.rebuild_stmt(id, Stmt::If { cond: new_cond, then: new_then, other: new_other })
    }

    /// Makes a loop over the iterations of a statement.
    fn scalarized(&mut self, store: &mut Store, id: StmtId) -> StmtId {
        let old = store.symbol(self.var).clone();
        let name = store.str(old.name).to_owned() + ".s";
        let name = store.name(&name);
        let var = store.add_symbol(Symbol { name, ..old });
        let (min, index) = (store.prim_int(0, old.dtype), store.prim(PrimExpr::Var(var)));
        let body = substitute_stmt(store, id, &[(self.var, index)]);
        let head = For { var, min, extent: self.extent, step: None, kind: ForKind::Serial, annotations: None };
        store.add_stmt(Stmt::For(head, body))
    }

    pub(super) fn fail(&mut self, message: &str) {
        self.error.get_or_insert_with(|| message.to_owned());
    }
}

pub(super) fn is_vector(store: &Store, id: PrimId) -> bool {
    expr::lanes(store, id) != 1
}
