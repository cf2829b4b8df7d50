//! Nests of loops with nothing between them, which all rules about copies take apart and build again.

use crate::ir::{DType, For, ForKind, Id, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::tir::{binary, cast};

/// Loops, outermost first, and the statement inside of all of them.
pub(super) struct Nest {
    pub(super) heads: Vec<For>,
    pub(super) body: StmtId,
}

impl Nest {
    /// Takes a statement apart; one that is no loop is a nest without loops.
    pub(super) fn of(store: &Store, id: StmtId) -> Nest {
        let mut nest = Nest { heads: Vec::new(), body: id };
        while let Stmt::For(head, inner) = store.stmt(nest.body) {
            nest.heads.push(*head);
            nest.body = *inner;
        }
        nest
    }

    /// Returns the range of each variable.
    pub(super) fn ranges(&self) -> Vec<(Id<Symbol>, (PrimId, PrimId))> {
        self.heads.iter().map(|head| (head.var, (head.min, head.extent))).collect()
    }
}

/// Puts loops, outermost first, around a statement.
pub(super) fn around(store: &mut Store, heads: &[For], body: StmtId) -> StmtId {
    heads.iter().rev().fold(body, |body, head| store.add_stmt(Stmt::For(*head, body)))
}

/// Makes a variable that is named after another one.
pub(super) fn suffixed(store: &mut Store, var: Id<Symbol>, suffix: &str) -> (Id<Symbol>, PrimId) {
    let old = store.symbol(var).clone();
    let name = store.name(&format!("{}{suffix}", store.str(old.name)));
    let new = store.add_symbol(Symbol { name, ..old });
    (new, store.prim(PrimExpr::Var(new)))
}

/// Makes a variable of type `int32`.
pub(super) fn index_var(store: &mut Store, name: &str) -> (Id<Symbol>, PrimId) {
    let name = store.name(name);
    let new = store.add_symbol(Symbol { name, dtype: DType::I32, size: false });
    (new, store.prim(PrimExpr::Var(new)))
}

/// Makes the head of a loop from 0 on. An extent that is a number gets the type of the variable, as in TVM.
pub(super) fn counted(store: &mut Store, var: Id<Symbol>, extent: PrimId, kind: ForKind) -> For {
    let dtype = store.symbol(var).dtype;
    let extent = if store.as_prim_int(extent).is_some() { cast(store, dtype, extent) } else { extent };
    For { var, min: store.prim_int(0, dtype), extent, step: None, kind, annotations: None }
}

/// Makes `a op number`, folded as TVM's operators do it.
pub(super) fn with_number(store: &mut Store, op: PrimOp, a: PrimId, number: i64) -> PrimId {
    let number = store.prim_int(number, DType::I32);
    binary(store, op, a, number)
}
