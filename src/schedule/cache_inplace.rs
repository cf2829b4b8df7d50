//! Copies a buffer that a block reads and writes into other memory and back (`cache_inplace` of TVM's
//! `primitive/cache_read_write.cc`).

use super::analysis::{nth_buffer, scope_root};
use super::buffers::{check_scope, named};
use super::cache::Insert;
use super::state::{BlockRef, Flags, State};
use super::tree::Tree;
use super::{Outcome, refuse};
use crate::ir::{Block, Buffer, Id, Name, PrimId, Region, Stmt, StmtId};
use crate::tir::access::extent_of;
use crate::tir::arith::Analyzer;

impl State<'_> {
    /// Copies what a block accesses of a buffer in front of it and back behind it; it works on the copy.
    pub(super) fn cache_inplace(&mut self, of: BlockRef, index: i64, scope: &str) -> Outcome<Vec<BlockRef>> {
        check_scope(scope)?;
        let (tree, at) = self.find_block(of)?;
        let data = self.block_at(&tree, at)?;
        let buffer = nth_buffer(&data, index, false)?;
        let root = scope_root(self, &tree, at, false)?;
        self.check_covered(&tree, root, buffer)?;
        let part = |regions: &[Region]| regions.iter().find(|region| region.buffer == buffer).cloned();
        let (Some(read), Some(write)) = (part(&data.reads), part(&data.writes)) else {
            return refuse("ScheduleError: The target block does not both read & write target buffer.");
        };
        let old = self.store.buffer(buffer).clone();
        let scope = self.store.name(scope);
        let name = named(self.store, old.name, scope);
        let copy = self.store.add_buffer(Buffer { name, scope, ..old });
        let first = self.copy_beside(of, (buffer, copy), &read, name, false)?;
        let second = self.copy_beside(of, (copy, buffer), &write, name, true)?;
        Ok(vec![first, second])
    }

    fn copy_beside(
        &mut self,
        of: BlockRef,
        (from, to): (Id<Buffer>, Id<Buffer>),
        region: &Region,
        name: Id<Name>,
        behind: bool,
    ) -> Outcome<BlockRef> {
        let (tree, at) = self.find_block(of)?;
        let root = scope_root(self, &tree, at, false)?;
        let (Some(own), Some(scope)) = (tree.as_block(at), tree.as_block(root)) else {
            return refuse("InternalError: a block is no block");
        };
        // The loop or scope around the block, and the place in it of the statement that has the block.
        let above = tree.nodes[at].parent.unwrap_or(root);
        let stmt = tree.nodes[above].stmt;
        let body = match self.store.stmt(stmt) {
            Stmt::For(_, body) => *body,
            _ => self.store.prim_block(scope).body,
        };
        let position = self.store.stmts_of(body).iter().position(|part| holds(self, *part, own)).unwrap_or(0);
        let ranges: Vec<(PrimId, PrimId)> = region.ranges.iter().map(|range| (range.0, extent_of(self.store, *range))).collect();
        // TVM takes the region as it stands, in variables of the block.
        let whole = if behind { to } else { from };
        let shape = self.store.buffer(whole).shape.clone();
        let (stage, made) = self.stage(name, &ranges, &shape, (from, to), whole, true)?;
        let insert = Insert {
            old: whole,
            new: if behind { from } else { to },
            offset: None,
            points: None,
            analyzer: Analyzer::new(),
            scope,
            at: stmt,
            position: position + usize::from(behind),
            stage,
            consumers: if behind { Vec::new() } else { vec![own] },
            writer: behind.then_some(own),
            active: true,
            under_writer: false,
        };
        let result = self.insert_copy(&tree, root, insert, made)?;
        let tree = self.tree()?;
        if let Some(at) = tree.block(made) {
            let flags = Flags { stages: false, ..self.flags_of(&tree, at)? };
            self.set_flags(made, flags);
        }
        Ok(result)
    }
}

/// True if a statement has a block in it.
fn holds(state: &State<'_>, root: StmtId, block: Id<Block>) -> bool {
    Tree::new(state.store, root).block(block).is_some()
}
