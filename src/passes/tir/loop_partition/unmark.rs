//! Removes the marks that are left once loops are divided.

use super::find::HINT;
use crate::ir::{PrimExpr, PrimId, Stmt, StmtId};
use crate::tir::{Rewriting, StmtMutator};

/// Takes marks and hints away.
pub(super) struct Unmark;

impl StmtMutator for Unmark {
    fn rule(&self) -> &'static str {
        ""
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match *cx.store.stmt(id) {
            Stmt::Attr { key, body, .. } if cx.store.str(key) == HINT => Some(cx.visit(self, body)),
            _ => None,
        }
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        match cx.store.prim_of_id(post) {
            PrimExpr::Call { op, args, .. } if matches!(cx.store.str(*op), "likely" | "ignore_loop_partition") => args[0],
            _ => post,
        }
    }
}
