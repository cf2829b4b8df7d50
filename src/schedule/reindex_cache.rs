//! Copies the accesses of a block, in the order of a map (`reindex_cache_read` and `reindex_cache_write` of TVM's
//! `primitive/cache_read_write.cc`).

use super::analysis::{nth_buffer, scope_root, vars_of};
use super::buffers::{check_scope, named};
use super::cache::Insert;
use super::scope::{Dependency, dependencies};
use super::state::{BlockRef, State};
use super::{Outcome, refuse};
use crate::ir::{Block, Buffer, DType, For, ForKind, Id, IterKind, IterVar, PrimExpr, PrimId, Region, Stmt, StmtId, Symbol};
use crate::tir::arith::Analyzer;
use crate::tir::index_map::IndexMap;
use crate::tir::substitute;

impl State<'_> {
    /// Copies the one element that each run of a block accesses, to the place that a map of its variables gives.
    pub(super) fn reindex_cache(
        &mut self,
        of: BlockRef,
        index: i64,
        scope: &str,
        map: &dyn Fn(&mut State<'_>, &[DType]) -> Outcome<IndexMap>,
        writes: bool,
    ) -> Outcome<BlockRef> {
        const MISMATCH: &str = "ScheduleError: the block itervars appeared in lhs and rhs of reindex cache stage do not match.";
        check_scope(scope)?;
        let (tree, at) = self.find_block(of)?;
        let data = self.block_at(&tree, at)?;
        let buffer = nth_buffer(&data, index, writes)?;
        let root = scope_root(self, &tree, at, true)?;
        let Some(own) = tree.as_block(at) else { return refuse("InternalError: a block is no block") };
        let writer = self.only_writer(&tree, root, buffer)?;
        if writes && writer != Some(at) {
            return refuse("InternalError: Check failed: the block is not the only one that writes the buffer");
        }
        let place = match (writes, writer) {
            (true, _) => {
                let all = dependencies(self, &tree, root)?;
                let after = all.iter().filter(|(from, _, kind)| *from == at && *kind == Dependency::ReadAfterWrite);
                let related = after.filter_map(|(_, to, _)| tree.as_block(*to)).collect();
                self.place(&tree, root, Some(own), related)?
            }
            (false, Some(writer)) => self.place(&tree, root, tree.as_block(writer), vec![own])?,
            (false, None) => (tree.nodes[root].stmt, 0),
        };
        let regions = if writes { &data.writes } else { &data.reads };
        let Some(region) = regions.iter().find(|region| region.buffer == buffer).cloned() else {
            return refuse("InternalError: the block does not access the buffer");
        };
        let dtypes: Vec<DType> = data.iters.iter().map(|iter| self.store.symbol(iter.var).dtype).collect();
        let map = map(self, &dtypes)?;
        if map.params.len() != data.iters.len() {
            return refuse("InternalError: Check failed: the index map has another number of parameters than the block");
        }
        let analyzer = &mut Analyzer::new();
        let vars: Vec<PrimId> = data.iters.iter().map(|iter| self.store.prim(PrimExpr::Var(iter.var))).collect();
        let extents: Vec<PrimId> = data.iters.iter().map(|iter| iter.extent).collect();
        let indices = map.map(self.store, analyzer, &vars);
        let shape = map.map_shape(self.store, analyzer, &extents);
        let of = |ends: &mut dyn Iterator<Item = PrimId>| -> Vec<Id<Symbol>> {
            ends.flat_map(|end| vars_of(self.store, end)).collect()
        };
        let there = of(&mut region.ranges.iter().map(|(min, _)| *min));
        let here = of(&mut indices.iter().copied());
        if data.iters.iter().any(|iter| there.contains(&iter.var) != here.contains(&iter.var)) {
            return refuse(MISMATCH);
        }
        if region.ranges.iter().any(|(_, extent)| extent.is_some()) {
            return refuse("ScheduleError: The buffer region accessed inside the block is not a single point.");
        }
        let iters: Vec<IterVar> = data.iters.iter().filter(|iter| here.contains(&iter.var)).cloned().collect();
        let used = of(&mut iters.iter().filter_map(|iter| iter.value));
        let mut heads: Vec<For> = Vec::new();
        for above in tree.loops_above(at).into_iter().rev() {
            if tree.nodes[above].stmt == place.0 {
                break;
            }
            let head = self.head(&tree, above)?.0;
            if used.contains(&head.var) {
                heads.push(head);
            }
        }
        heads.reverse();
        let old = self.store.buffer(buffer).clone();
        let scope = self.store.name(scope);
        let name = named(self.store, old.name, scope);
        let new = self.store.add_buffer(Buffer { name, scope, shape: shape.into(), ..old });
        let far: Vec<PrimId> = region.ranges.iter().map(|(min, _)| *min).collect();
        let (stage, made) = self.copying_stage(&heads, &iters, (buffer, &far), (new, &indices), writes);
        let Some(scope_block) = tree.as_block(root) else { return refuse("InternalError: the scope is no block") };
        let insert = Insert {
            old: buffer,
            new,
            offset: None,
            points: Some(indices.into()),
            analyzer: Analyzer::new(),
            scope: scope_block,
            at: place.0,
            position: place.1,
            stage,
            consumers: if writes { Vec::new() } else { vec![own] },
            writer: writes.then_some(own),
            active: false,
            under_writer: false,
        };
        self.insert_copy(&tree, root, insert, made)
    }

    /// Makes the loops and the block that copy `far` into `near`, or back: buffers with the place in them. They have loops
    /// and variables of their own, of the same names.
    fn copying_stage(
        &mut self,
        heads: &[For],
        iters: &[IterVar],
        (buffer, far): (Id<Buffer>, &[PrimId]),
        (new, near): (Id<Buffer>, &[PrimId]),
        writes: bool,
    ) -> (StmtId, Id<Block>) {
        let name = self.store.buffer(new).name;
        let mut values: Vec<(Id<Symbol>, PrimId)> = Vec::new();
        let mut loops = Vec::new();
        for head in heads {
            let (text, dtype) = (self.name_of(head.var), self.store.symbol(head.var).dtype);
            let (var, prim) = self.var(&text, dtype);
            values.push((head.var, prim));
            loops.push(For { var, kind: ForKind::Serial, annotations: None, ..*head });
        }
        let sub = |state: &mut Self, of: PrimId, values: &[(Id<Symbol>, PrimId)]| {
            substitute(state.store, of, &mut |_, symbol| values.iter().find(|(var, _)| *var == symbol).map(|(_, prim)| *prim))
        };
        let mut own_iters = Vec::new();
        for iter in iters {
            let (text, dtype) = (self.name_of(iter.var), self.store.symbol(iter.var).dtype);
            let (var, prim) = self.var(&text, dtype);
            values.push((iter.var, prim));
            let value = iter.value.map(|value| sub(self, value, &values));
            own_iters.push(IterVar { var, kind: IterKind::Spatial, value, ..iter.clone() });
        }
        let [far, near] =
            [far, near].map(|place| -> Vec<PrimId> { place.iter().map(|index| sub(self, *index, &values)).collect() });
        let (source, from, target, to) = if writes { (new, near, buffer, far) } else { (buffer, far, new, near) };
        let value = self.store.prim(PrimExpr::Load { buffer: source, indices: from.clone().into() });
        let body = self.store.add_stmt(Stmt::Store { buffer: target, indices: to.clone().into(), value });
        let part = |buffer, at: Vec<PrimId>| Region { buffer, ranges: at.into_iter().map(|index| (index, None)).collect() };
        let made = self.store.add_prim_block(Block {
            name,
            iters: own_iters.into(),
            predicate: None,
            reads: [part(source, from)].into(),
            writes: [part(target, to)].into(),
            allocs: [].into(),
            matches: [].into(),
            annotations: None,
            init: None,
            body,
            bare: false,
        });
        let mut stage = self.store.add_stmt(Stmt::Block(made));
        for head in loops.into_iter().rev() {
            stage = self.store.add_stmt(Stmt::For(head, stage));
        }
        (stage, made)
    }
}
