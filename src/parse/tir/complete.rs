//! What TVM completes in hand-written programs (`src/tirx/ir/script/script_complete.cc`): a block at the top, and what blocks
//! read and write.

use super::{Read, Reader};
use crate::diag::Span;
use crate::ir::{Block, Stmt, StmtId, Store};

/// The annotation of a block that says what is to be found out: 1 what it reads, 2 what it writes.
pub(super) const MISSING: &str = "tirx.script_parsing_detect_access";

impl Reader<'_, '_, '_> {
    /// The body with all that goes without saying.
    pub(super) fn complete(&mut self, body: StmtId, _at: Span) -> Read<StmtId> {
        let body = if self.state.s_tir { self.with_root(body) } else { body };
        Ok(body)
    }

    /// Puts the body into a block of its own where TVM does.
    fn with_root(&mut self, body: StmtId) -> StmtId {
        let allocs = std::mem::take(&mut self.state.root);
        let needed = !allocs.is_empty()
            || match self.store.stmt(body) {
                Stmt::Block(block) => {
                    let block = self.store.prim_block(*block);
                    !block.bare && !block.iters.is_empty()
                }
                _ => contains_block(self.store, body),
            };
        if !needed {
            return body;
        }
        let name = self.name_of("root");
        let block = self.store.add_prim_block(Block {
            name,
            iters: [].into(),
            predicate: None,
            reads: [].into(),
            writes: [].into(),
            allocs: allocs.into(),
            matches: [].into(),
            annotations: None,
            init: None,
            body,
            bare: false,
        });
        self.store.add_stmt(Stmt::Block(block))
    }
}

/// Whether a block stands somewhere in a statement.
fn contains_block(store: &Store, root: StmtId) -> bool {
    let mut found = false;
    store.for_each_stmt(root, |stmt| found |= matches!(stmt, Stmt::Block(block) if !store.prim_block(*block).bare));
    found
}
