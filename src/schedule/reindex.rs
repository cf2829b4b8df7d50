//! Copies of buffers in the order of a block's variables (`reindex` of TVM's `primitive/cache_read_write.cc`).

use super::analysis::{nth_buffer, scope_root, vars_of};
use super::state::{BlockRef, State, put};
use super::{Outcome, refuse};
use crate::ir::{Block, Buffer, For, ForKind, Id, IterKind, IterVar, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Symbol};
use crate::tir::arith::Analyzer;
use crate::tir::{Rewriting, StmtMutator, binary, substitute};

/// Makes accesses of one buffer those of another, at these indices.
struct Redirect {
    old: Id<Buffer>,
    new: Id<Buffer>,
    indices: Box<[PrimId]>,
}

impl StmtMutator for Redirect {
    fn rule(&self) -> &'static str {
        "accesses reindexed"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::Store { buffer, value, .. } = *cx.store.stmt(id) else { return None };
        if buffer != self.old {
            return None;
        }
        let value = cx.root(self, value);
        let new = Stmt::Store { buffer: self.new, indices: self.indices.clone(), value };
        Some(cx.store.rebuild_stmt(id, new))
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        match cx.store.prim_of_id(post) {
            PrimExpr::Load { buffer, .. } if *buffer == self.old => {
                cx.store.prim(PrimExpr::Load { buffer: self.new, indices: self.indices.clone() })
            }
            _ => post,
        }
    }
}

impl State<'_> {
    /// Returns the indices at which a leaf block accesses a buffer: always the same.
    fn indices_of(&self, data: &Block, buffer: Id<Buffer>) -> Outcome<Vec<PrimId>> {
        const ACCESS: &str = "ScheduleError: The target buffer should be accessed via BufferLoad or BufferStore. The indices \
                              should be the same if there are multiple accesses to the target buffer.";
        let mut found: Vec<Box<[PrimId]>> = Vec::new();
        let (mut leaf, mut opaque) = (true, false);
        self.store.for_each_stmt(data.body, |stmt| {
            leaf &= !matches!(stmt, Stmt::Block(_));
            let mut add = |of: Id<Buffer>, indices: &[PrimId]| {
                if of == buffer && !found.iter().any(|known| **known == *indices) {
                    found.push(indices.into());
                }
            };
            if let Stmt::Store { buffer, indices, .. } = stmt {
                add(*buffer, indices);
            }
            self.store.for_each_prim_of(stmt, |prim| {
                self.store.for_each_prim(prim, &mut |_, node| match node {
                    PrimExpr::Load { buffer, indices } => add(*buffer, indices),
                    PrimExpr::Data(of) | PrimExpr::Buffer(of) => opaque |= *of == buffer,
                    _ => {}
                });
            });
        });
        if !leaf {
            return refuse("ScheduleError: The target block is not a leaf block.");
        }
        match &found[..] {
            [only] if !opaque => Ok(only.to_vec()),
            _ => refuse(ACCESS),
        }
    }

    /// Makes a copy of a buffer that a block accesses, with an axis for each variable of the block in its indices.
    pub(super) fn reindex(&mut self, of: BlockRef, index: i64, writes: bool) -> Outcome<BlockRef> {
        let (tree, at) = self.find_block(of)?;
        let data = self.block_at(&tree, at)?;
        let buffer = nth_buffer(&data, index, writes)?;
        let root = scope_root(self, &tree, at, true)?;
        let analyzer = &mut Analyzer::new();
        let mut indices = self.indices_of(&data, buffer)?;
        for iter in &data.iters {
            analyzer.bind_range(self.store, iter.var, iter.min, iter.extent);
        }
        for index in &mut indices {
            let simple = analyzer.simplify(self.store, *index);
            if self.store.as_prim_int(simple).is_none() {
                *index = simple;
            }
        }
        let covered: Vec<Id<Symbol>> = indices.iter().flat_map(|index| vars_of(self.store, *index)).collect();
        let iters: Vec<IterVar> = data.iters.iter().filter(|iter| covered.contains(&iter.var)).cloned().collect();
        let old = self.store.buffer(buffer).clone();
        let name = format!("{}_reindex", self.store.str(old.name));
        let name = self.store.name(&name);
        let shape = iters.iter().map(|iter| binary(self.store, PrimOp::Add, iter.min, iter.extent)).collect();
        let new = self.store.add_buffer(Buffer { name, shape, strides: [].into(), ..old });
        // The loops over the block are a chain.
        let mut top = at;
        for above in tree.loops_above(at).into_iter().rev() {
            let body = self.head(&tree, above)?.1;
            if tree.is_loop(top) && body != tree.nodes[top].stmt {
                return refuse("InternalError: Check failed: the loops over the block are no chain");
            }
            top = above;
        }
        let Some(scope) = tree.as_block(root) else { return refuse("InternalError: the scope is no block") };
        let body = self.store.prim_block(scope).body;
        let stmts = self.store.stmts_of(body);
        let position = stmts.iter().position(|stmt| *stmt == tree.nodes[top].stmt).unwrap_or(0) + usize::from(writes);

        let (stage, made) = self.reindex_stage(&iters, buffer, new, &indices, writes);
        let places: Vec<PrimId> = iters.iter().map(|iter| self.store.prim(PrimExpr::Var(iter.var))).collect();
        let mut redirect = Redirect { old: buffer, new, indices: places.clone().into() };
        let stmt = tree.nodes[at].stmt;
        let rewritten = Rewriting::new(self.store).visit(&mut redirect, stmt);
        let Stmt::Block(inner) = *self.store.stmt(rewritten) else { return refuse("InternalError: a block is no block") };
        let mut changed = self.store.prim_block(inner).clone();
        let part = Region { buffer: new, ranges: places.iter().map(|place| (*place, None)).collect() };
        let over = |regions: &[Region]| -> Box<[Region]> {
            regions.iter().map(|region| if region.buffer == buffer { part.clone() } else { region.clone() }).collect()
        };
        (changed.reads, changed.writes) = (over(&data.reads), over(&data.writes));
        let changed = self.rebuilt_block(stmt, changed);
        let scope_stmt = tree.nodes[root].stmt;
        let Some(over) = put(self.store, scope_stmt, stmt, changed) else {
            return refuse("InternalError: the block is not in its scope");
        };
        let Stmt::Block(outer) = *self.store.stmt(over) else { return refuse("InternalError: the scope is no block") };
        let mut outer = self.store.prim_block(outer).clone();
        let mut stmts = self.store.stmts_of(outer.body);
        stmts.insert(position.min(stmts.len()), stage);
        outer.body = self.store.add_stmts(&stmts);
        outer.allocs = outer.allocs.iter().copied().chain([new]).collect();
        let outer = self.rebuilt_block(scope_stmt, outer);
        self.replace(scope_stmt, outer, &[], &[made])?;
        Ok(self.block_ref(made))
    }

    fn reindex_stage(
        &mut self,
        iters: &[IterVar],
        buffer: Id<Buffer>,
        new: Id<Buffer>,
        indices: &[PrimId],
        writes: bool,
    ) -> (StmtId, Id<Block>) {
        let mut vars = Vec::new();
        let mut loops = Vec::new();
        let mut own = Vec::new();
        for (place, iter) in iters.iter().enumerate() {
            let dtype = self.store.symbol(iter.var).dtype;
            let (var, prim) = self.var(&format!("v{place}"), dtype);
            let (loop_var, loop_prim) = self.var(&format!("ax{place}"), dtype);
            vars.push((iter.var, prim));
            loops.push((loop_var, iter.min, iter.extent));
            own.push(IterVar { var, kind: IterKind::Spatial, value: Some(loop_prim), ..iter.clone() });
        }
        let near: Vec<PrimId> = vars.iter().map(|(_, prim)| *prim).collect();
        let far: Vec<PrimId> = indices
            .iter()
            .map(|index| {
                substitute(self.store, *index, &mut |_, symbol| {
                    vars.iter().find(|(var, _)| *var == symbol).map(|(_, prim)| *prim)
                })
            })
            .collect();
        let (source, from, target, to) = if writes { (new, near, buffer, far) } else { (buffer, far, new, near) };
        let value = self.store.prim(PrimExpr::Load { buffer: source, indices: from.clone().into() });
        let body = self.store.add_stmt(Stmt::Store { buffer: target, indices: to.clone().into(), value });
        let name = format!("{}_reindex", self.store.str(self.store.buffer(target).name));
        let name = self.store.name(&name);
        let part = |buffer, at: Vec<PrimId>| Region { buffer, ranges: at.into_iter().map(|index| (index, None)).collect() };
        let made = self.store.add_prim_block(Block {
            name,
            iters: own.into(),
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
        let mut stmt = self.store.add_stmt(Stmt::Block(made));
        for (var, min, extent) in loops.into_iter().rev() {
            let head = For { var, min, extent, step: None, kind: ForKind::Serial, annotations: None };
            stmt = self.store.add_stmt(Stmt::For(head, stmt));
        }
        (stmt, made)
    }
}
