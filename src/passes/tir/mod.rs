//! Passes over functions of TIR, one file each.

pub mod convert_blocks_to_opaque;
pub mod lower_init_block;
#[cfg(test)]
pub(crate) mod testing;

use crate::ir::{Block, Stmt, StmtId, Store};

/// The block that a statement is.
fn block_of(store: &Store, id: StmtId) -> Option<Block> {
    match store.stmt(id) {
        Stmt::Block(block) => Some(store.prim_block(*block).clone()),
        _ => None,
    }
}
