//! Statements and buffers that passes put together.

use crate::ir::{Buffer, DType, Id, PrimExpr, PrimId, Stmt, StmtId, Store};

/// `buffer[index]`
pub(super) fn load(store: &mut Store, buffer: Id<Buffer>, index: PrimId) -> PrimId {
    store.prim(PrimExpr::Load { buffer, indices: [index].into() })
}

/// `buffer[index] = value`
pub(super) fn put(store: &mut Store, buffer: Id<Buffer>, index: PrimId, value: PrimId) -> StmtId {
    store.add_stmt(Stmt::Store { buffer, indices: [index].into(), value })
}

/// `if cond:` over statements one after the other.
pub(super) fn when(store: &mut Store, cond: PrimId, then: &[StmtId]) -> StmtId {
    let then = store.flat_seq(None, then);
    store.add_stmt(Stmt::If { cond, then, other: None })
}

/// `T.tvm_storage_sync(scope)`
pub(super) fn sync(store: &mut Store, scope: &str) -> StmtId {
    let scope = store.name(scope);
    let scope = store.prim(PrimExpr::Str(scope));
    call(store, "tvm_storage_sync", &[scope], DType::I32)
}

/// A call for its effect.
pub(super) fn call(store: &mut Store, op: &str, args: &[PrimId], dtype: DType) -> StmtId {
    let call = store.prim_call(op, args, dtype);
    store.add_stmt(Stmt::Evaluate(call))
}

/// The statement that allocates a buffer.
pub(super) fn alloc(store: &mut Store, buffer: Id<Buffer>) -> StmtId {
    store.add_stmt(Stmt::Alloc(buffer, None))
}

/// A buffer of one axis in a kind of memory.
pub(super) fn buffer(store: &mut Store, name: &str, dtype: DType, extent: PrimId, scope: &str) -> Id<Buffer> {
    let (name, scope) = (store.name(name), store.name(scope));
    store.add_buffer(Buffer::new(name, dtype, [extent].into(), scope))
}
