//! TVM's messages about nodes that it does not expect.

use crate::ir::{Buffer, Id, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store};
use crate::passes::tir::storage_scope::Scope;

/// Says that the innermost statement of a copy stores nothing.
pub(super) fn not_a_store(store: &Store, id: StmtId) -> String {
    let found = match store.stmt(id) {
        Stmt::Seq(_) => "tirx.SeqStmt",
        Stmt::For(..) => "tirx.For",
        Stmt::Block(_) => "s_tir.SBlockRealize",
        Stmt::Store { .. } => "tirx.BufferStore",
        Stmt::If { .. } => "tirx.IfThenElse",
        Stmt::While { .. } => "tirx.While",
        Stmt::Bind { .. } => "tirx.Bind",
        Stmt::Attr { .. } => "tirx.AttrStmt",
        Stmt::Alloc(..) => "tirx.AllocBuffer",
        Stmt::Declare(_) => "tirx.DeclBuffer",
        Stmt::Assert { .. } => "tirx.AssertStmt",
        Stmt::Evaluate(_) => "tirx.Evaluate",
        Stmt::Return(_) => "tirx.Return",
        Stmt::Break => "tirx.Break",
        Stmt::Continue => "tirx.Continue",
    };
    format!("Check failed: (result) is false: Expects `body` to have type `tirx.BufferStore`, but gets: {found}")
}

/// Says that what is stored in a tile is computed, rather than loaded.
pub(super) fn not_a_load(store: &Store, id: PrimId) -> String {
    let found = node_name(store, id);
    format!("Check failed: (result) is false: Expects `buf_store->value` to have type `ir.TensorLoad`, but gets: {found}")
}

/// Says that the number of elements of a copy is no number.
pub(super) fn not_a_number(store: &Store, id: PrimId) -> String {
    format!("Cannot treat type `{}` as type `ir.IntImm`", node_name(store, id))
}

/// Refuses a buffer in a kind of memory that TVM does not have.
pub(super) fn known_memory(store: &Store, buffer: Id<Buffer>) -> Result<(), String> {
    let scope = store.str(store.buffer(buffer).scope);
    if Scope::of(scope).is_known() { Ok(()) } else { Err(format!("unknown storage scope {scope}")) }
}

fn node_name(store: &Store, id: PrimId) -> String {
    match store.prim_of_id(id) {
        PrimExpr::Int { .. } => "ir.IntImm".to_owned(),
        PrimExpr::Float { .. } => "ir.FloatImm".to_owned(),
        PrimExpr::Str(_) => "ir.StringImm".to_owned(),
        PrimExpr::Var(_) | PrimExpr::Buffer(_) => "ir.Var".to_owned(),
        PrimExpr::Load { .. } => "ir.TensorLoad".to_owned(),
        PrimExpr::Binary { op: op @ (PrimOp::Eq | PrimOp::Ne | PrimOp::Lt | PrimOp::Le | PrimOp::Gt | PrimOp::Ge), .. } => {
            format!("prim.{}", op.name().to_uppercase())
        }
        PrimExpr::Binary { op, .. } => format!("prim.{}", op.name()),
        PrimExpr::Not(_) => "prim.Not".to_owned(),
        PrimExpr::Cast { .. } => "prim.Cast".to_owned(),
        PrimExpr::Select { .. } => "prim.Select".to_owned(),
        PrimExpr::Ramp { .. } => "prim.Ramp".to_owned(),
        PrimExpr::Broadcast { .. } => "prim.Broadcast".to_owned(),
        PrimExpr::Shuffle { .. } => "prim.Shuffle".to_owned(),
        PrimExpr::Let { .. } => "prim.Let".to_owned(),
        _ => "ir.Call".to_owned(),
    }
}
