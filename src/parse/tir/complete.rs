//! Completes hand-written programs as TVM does (`src/tirx/ir/script/script_complete.cc`): adds a block at the top, and
//! the reads and writes of blocks.

use super::{Read, Reader};
use crate::diag::Span;
use crate::ir::{Attrs, Block, Buffer, Id, Stmt, StmtId, Store};
use crate::tir::access::block_accesses;
use crate::tir::{Rewriting, StmtMutator};
use rustc_hash::FxHashSet;

/// The annotation of a block with omitted regions: 1 for its reads, 2 for its writes.
pub(super) const MISSING: &str = "tirx.script_parsing_detect_access";

impl Reader<'_, '_, '_> {
    /// Returns the body with all omitted parts.
    pub(super) fn complete(&mut self, body: StmtId, at: Span) -> Read<StmtId> {
        let body = if self.state.s_tir { self.with_root(body) } else { body };
        if !self.state.s_tir || !has_gaps(self.store, body) {
            return Ok(body);
        }
        let mut completer = Completer { depth: 0, gone: FxHashSet::default(), opaque: None };
        let body = Rewriting::new(self.store).visit(&mut completer, body);
        match completer.opaque {
            None => Ok(body),
            Some(node) => {
                let message = "Can not auto detect buffer access region from tirx.Load, tirx.Store or direct access by buffer data. \
                               Please annotation the access region manually";
                let span = self.store.source_span(self.store.stmt_node(node)).unwrap_or(at);
                Err(self.error_at("tir-block", message, span))
            }
        }
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
        let block = self.store.add_prim_block(Block { allocs: allocs.into(), ..Block::around(name, body) });
        self.store.add_stmt(Stmt::Block(block))
    }
}

/// True if a statement contains a block.
fn contains_block(store: &Store, root: StmtId) -> bool {
    let mut found = false;
    store.for_each_stmt(root, |stmt| found |= matches!(stmt, Stmt::Block(block) if !store.prim_block(*block).bare));
    found
}

/// True if a block was written without its reads or writes.
fn has_gaps(store: &Store, root: StmtId) -> bool {
    let mut found = false;
    store.for_each_stmt(root, |stmt| {
        if let Stmt::Block(block) = stmt {
            found |= gap_of(store, store.prim_block(*block)) != 0;
        }
    });
    found
}

/// Returns the omitted parts of a block: 1 for its reads, 2 for its writes.
fn gap_of(store: &Store, block: &Block) -> i64 {
    store.attr_int(block.annotations, MISSING).unwrap_or(0)
}

/// Fills in the reads and writes of blocks, inner blocks first; the outermost gets none.
struct Completer {
    depth: usize,
    /// Buffers of blocks, which are gone where the block ends.
    gone: FxHashSet<Id<Buffer>>,
    /// A block of which it cannot be found out.
    opaque: Option<StmtId>,
}

impl StmtMutator for Completer {
    fn rule(&self) -> &'static str {
        ""
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::Block(_) = cx.store.stmt(id) else { return None };
        self.depth += 1;
        let inner = cx.descend(self, id);
        self.depth -= 1;
        let Stmt::Block(block) = *cx.store.stmt(inner) else { return Some(inner) };
        let mut block = cx.store.prim_block(block).clone();
        self.gone.extend(block.allocs.iter().chain(block.matches.iter().map(|(buffer, _)| buffer)));
        let gap = gap_of(cx.store, &block);
        if gap == 0 {
            return Some(inner);
        }
        let accesses = block_accesses(cx.store, &block, &|buffer| !self.gone.contains(&buffer));
        if !accesses.opaque.is_empty() {
            self.opaque = Some(id);
        }
        if self.depth > 0 && gap & 1 != 0 {
            block.reads = accesses.reads.into();
        }
        if self.depth > 0 && gap & 2 != 0 {
            block.writes = accesses.writes.into();
        }
        block.annotations = block.annotations.and_then(|attrs| {
            let mut attrs: Attrs = cx.store.attrs_of_id(attrs).clone();
            let missing = cx.store.name(MISSING);
            attrs.fields = attrs.fields.iter().filter(|(key, _)| *key != missing).cloned().collect();
            (!attrs.fields.is_empty()).then(|| cx.store.attrs(attrs))
        });
        let block = cx.store.add_prim_block(block);
        Some(cx.store.rebuild_stmt(inner, Stmt::Block(block)))
    }
}
