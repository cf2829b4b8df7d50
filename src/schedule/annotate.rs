//! Annotations of loops and blocks (TVM's `primitive/annotate.cc`).

use super::analysis::nth_buffer;
use super::state::{BlockRef, LoopRef, State};
use super::tree::{Tree, What};
use super::{Outcome, refuse};
use crate::ir::{AttrValue, AttrsId, DType, For, PrimExpr, PrimId, PrimOp, Region, Stmt};
use crate::tir::access::range_of;
use crate::tir::arith::Analyzer;
use crate::tir::binary;
use crate::tir::index_map::IndexMap;

impl State<'_> {
    fn annotated(&mut self, of: Result<BlockRef, LoopRef>) -> Outcome<(Tree, usize, Option<AttrsId>)> {
        let (tree, at) = match of {
            Ok(block) => self.find_block(block)?,
            Err(of) => self.find_loop(of)?,
        };
        let annotations = match tree.nodes[at].what {
            What::Block(block) => self.store.prim_block(block).annotations,
            What::Loop(_) => self.head(&tree, at)?.0.annotations,
        };
        Ok((tree, at, annotations))
    }

    /// Replaces the annotations of a loop or block.
    pub(super) fn set_annotations(&mut self, tree: &Tree, at: usize, annotations: Option<AttrsId>) -> Outcome<()> {
        let stmt = tree.nodes[at].stmt;
        let new = match tree.nodes[at].what {
            What::Block(block) => {
                let mut data = self.store.prim_block(block).clone();
                data.annotations = annotations;
                self.rebuilt_block(stmt, data)
            }
            What::Loop(_) => {
                let (head, body) = self.head(tree, at)?;
                self.store.rebuild_stmt(stmt, Stmt::For(For { annotations, ..head }, body))
            }
        };
        self.replace(stmt, new, &[], &[])
    }

    /// Adds an annotation; one that is there stays.
    pub(super) fn annotate(&mut self, of: Result<BlockRef, LoopRef>, key: &str, value: AttrValue) -> Outcome<()> {
        let (tree, at, old) = self.annotated(of)?;
        if self.store.attr(old, key).is_some() {
            return Ok(());
        }
        let new = self.store.with_attr(old, key, value);
        self.set_annotations(&tree, at, Some(new))
    }

    /// Declares the region of a buffer that a block accesses, overriding its accesses: by pairs of beginning and end.
    pub(super) fn annotate_buffer_access(
        &mut self,
        of: BlockRef,
        index: i64,
        writes: bool,
        map: &dyn Fn(&mut State<'_>, &[DType]) -> Outcome<IndexMap>,
    ) -> Outcome<()> {
        let (tree, at) = self.find_block(of)?;
        let mut data = self.block_at(&tree, at)?;
        let buffer = nth_buffer(&data, index, writes)?;
        let dtypes: Vec<DType> = data.iters.iter().map(|iter| self.store.symbol(iter.var).dtype).collect();
        let map = map(self, &dtypes)?;
        let analyzer = &mut Analyzer::new();
        let vars: Vec<PrimId> = data.iters.iter().map(|iter| self.store.prim(PrimExpr::Var(iter.var))).collect();
        let ends = map.map(self.store, analyzer, &vars);
        let mut ranges = Vec::new();
        for pair in ends.chunks(2) {
            let &[min, end] = pair else { return refuse("InternalError: The size of new_indices should be even.") };
            let extent = binary(self.store, PrimOp::Sub, end, min);
            let extent = analyzer.simplify(self.store, extent);
            ranges.push(range_of(self.store, min, extent));
        }
        let regions = if writes { &mut data.writes } else { &mut data.reads };
        regions[index as usize] = Region { buffer, ranges: ranges.into() };
        let key = if writes { "explicit_write_region" } else { "explicit_read_region" };
        let mut all = self.store.attr(data.annotations, key).and_then(AttrValue::as_ints).unwrap_or_default();
        if !all.contains(&index) {
            all.push(index);
        }
        let all = AttrValue::Array(all.into_iter().map(|value| AttrValue::Int { value, bits: 64 }).collect());
        data.annotations = Some(self.store.with_attr(data.annotations, key, all));
        let stmt = tree.nodes[at].stmt;
        let new = self.rebuilt_block(stmt, data);
        self.replace(stmt, new, &[], &[])
    }

    /// Hides that a block reads or writes some of its buffers.
    pub(super) fn hide_access(&mut self, of: BlockRef, kind: &str, hidden: &[i64]) -> Outcome<()> {
        let (tree, at) = self.find_block(of)?;
        let mut data = self.block_at(&tree, at)?;
        let regions = match kind {
            "read" => &mut data.reads,
            "write" => &mut data.writes,
            _ => return refuse("ScheduleError: Invalid buffer type for hide_buffer_access schedule."),
        };
        if !hidden.iter().all(|index| (0..regions.len() as i64).contains(index)) {
            return refuse("ScheduleError: Invalid buffer index array for hide_buffer_access schedule.");
        }
        let kept = regions.iter().enumerate().filter(|(index, _)| !hidden.contains(&(*index as i64)));
        *regions = kept.map(|(_, region)| region.clone()).collect();
        let stmt = tree.nodes[at].stmt;
        let new = self.rebuilt_block(stmt, data);
        self.replace(stmt, new, &[], &[])
    }

    /// Takes an annotation away.
    pub(super) fn unannotate(&mut self, of: Result<BlockRef, LoopRef>, key: &str) -> Outcome<()> {
        let (tree, at, old) = self.annotated(of)?;
        if self.store.attr(old, key).is_none() {
            return refuse(format!("IndexError: Cannot find annotation key: {key}"));
        }
        let new = self.store.without_attr(old, key);
        self.set_annotations(&tree, at, new)
    }
}
