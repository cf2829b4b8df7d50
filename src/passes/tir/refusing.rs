//! Shared by passes that keep programs without their constructs, and refuse the others.

use super::prim_func;
use crate::diag::Diagnostic;
use crate::ir::{ExprId, For, Stmt, StmtId, Store};
use crate::pass::PassError;

/// The reason why a program is refused.
pub(super) enum Refusal {
    /// TVM lowers this construct, and passlab does not yet.
    Missing(&'static str),
}

/// Returns the function as it is, unless `ask` refuses one of its statements; `ask` gets the loops around.
pub(super) fn refuse(
    store: &Store,
    func: ExprId,
    pass: &str,
    mut ask: impl FnMut(&Store, &Stmt, &[For]) -> Option<Refusal>,
) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(store, func) else { return Ok(None) };
    let refused = walk(store, prim.body, &mut Vec::new(), &mut ask);
    let Some((stmt, refusal)) = refused else { return Ok(Some(func)) };
    let span = store.source_span(store.stmt_node(stmt));
    let found = match refusal {
        Refusal::Missing(what) => Diagnostic::error("pass-incomplete", format!("{pass} cannot lower yet: {what}"), span),
    };
    Err(vec![found])
}

fn walk(
    store: &Store,
    id: StmtId,
    around: &mut Vec<For>,
    ask: &mut impl FnMut(&Store, &Stmt, &[For]) -> Option<Refusal>,
) -> Option<(StmtId, Refusal)> {
    let stmt = store.stmt(id);
    if let Some(refusal) = ask(store, stmt, around) {
        return Some((id, refusal));
    }
    let mut inner = Vec::new();
    store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
    if let Stmt::For(head, _) = stmt {
        around.push(*head);
    }
    let found = inner.into_iter().find_map(|stmt| walk(store, stmt, around, ask));
    if matches!(stmt, Stmt::For(..)) {
        around.pop();
    }
    found
}
