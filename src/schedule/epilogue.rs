//! A reduction that begins with what its consumer adds to it (TVM's `FuseReductionEpilogue` in
//! `primitive/compute_inline.cc`).

use super::analysis::{check_complete, check_not_output, check_reduction, scope_root};
use super::inline::NOT_INLINED;
use super::state::{BlockRef, State, put};
use super::{Outcome, refuse};
use crate::ir::{Block, Buffer, Id, IterKind, PrimExpr, PrimId, PrimOp, Region, Stmt, Store, Symbol};
use crate::tir::arith::Analyzer;
use crate::tir::{Nothing, Rewriting, StmtMutator, binary, constant};

/// The greatest nesting depth of an epilogue.
const MAX_DEPTH: usize = 200;

/// Returns the number of loads of a buffer in an expression.
fn loads(store: &Store, root: PrimId, buffer: Id<Buffer>, depth: usize) -> usize {
    let node = store.prim_of_id(root);
    let mut n = usize::from(matches!(node, PrimExpr::Load { buffer: of, .. } if *of == buffer));
    if depth > MAX_DEPTH {
        return 2;
    }
    node.for_each_child(&mut |child| n += loads(store, child, buffer, depth + 1));
    n
}

/// True if loads of a buffer are multiplied or divided.
fn scales(store: &Store, root: PrimId, buffer: Id<Buffer>) -> bool {
    let mut found = false;
    store.for_each_prim(root, &mut |id, node| {
        if let PrimExpr::Binary { op: PrimOp::Mul | PrimOp::Div | PrimOp::Mod, .. } = node {
            found |= loads(store, id, buffer, 0) > 0;
        }
    });
    found
}

/// Puts a value in the place of loads of a buffer.
struct Loads {
    old: Id<Buffer>,
    /// The buffer that is loaded instead, or the value.
    by: Result<Id<Buffer>, PrimId>,
}

impl StmtMutator for Loads {
    fn rule(&self) -> &'static str {
        "epilogue fused"
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        match (cx.store.prim_of_id(post).clone(), self.by) {
            (PrimExpr::Load { buffer, indices }, Ok(by)) if buffer == self.old => {
                cx.store.prim(PrimExpr::Load { buffer: by, indices })
            }
            (PrimExpr::Load { buffer, .. }, Err(value)) if buffer == self.old => value,
            _ => post,
        }
    }
}

/// An epilogue over the value that is reduced, without what is added to it: that stands at the beginning. `found` says
/// whether the value stands in what was looked at last, as TVM tracks it.
fn applied(store: &mut Store, root: PrimId, buffer: Id<Buffer>, value: PrimId, found: &mut bool) -> PrimId {
    match store.prim_of_id(root).clone() {
        PrimExpr::Load { buffer: of, .. } if of == buffer => {
            *found = true;
            value
        }
        PrimExpr::Binary { op: PrimOp::Add, a, b } => {
            let before = std::mem::take(found);
            let a = applied(store, a, buffer, value, found);
            let in_a = std::mem::take(found);
            let b = applied(store, b, buffer, value, found);
            let is_load = |id: PrimId| matches!(store.prim_of_id(id), PrimExpr::Load { buffer: of, .. } if *of == buffer);
            if in_a && !is_load(b) {
                return a;
            }
            if !in_a && *found && !is_load(a) {
                return b;
            }
            if !in_a && !*found {
                *found = before;
            }
            binary(store, PrimOp::Add, a, b)
        }
        node => {
            let new = node.over(&mut |child| applied(store, child, buffer, value, found));
            if new == node { root } else { store.prim(new) }
        }
    }
}

impl State<'_> {
    /// The one consumer of a reduction, which adds something to it, becomes part of it.
    pub(super) fn fuse_reduction_epilogue(&mut self, of: BlockRef, epilogue: BlockRef) -> Outcome<()> {
        let (tree, last) = self.find_block(epilogue)?;
        let Some(at) = tree.block(self.block_id(of)) else { return refuse("ValueError: the block does not exist any more") };
        let (data, after) = (self.block_at(&tree, at)?, self.block_at(&tree, last)?);
        let root = scope_root(self, &tree, last, true)?;
        let [write] = &data.writes[..] else {
            return refuse("ScheduleError: The block is allowed to write only a single buffer region");
        };
        let buffer = write.buffer;
        check_reduction(self, &tree, at, root)?;
        check_complete(self, &tree, last, root)?;
        check_not_output(self, &tree, at, root)?;
        let Stmt::Store { buffer: target, indices, value } = self.store.stmt(after.body).clone() else {
            return refuse(NOT_INLINED);
        };
        let n: usize = indices.iter().chain([&value]).map(|root| loads(self.store, *root, buffer, 0)).sum();
        let reduces = data.iters.iter().any(|iter| iter.kind == IterKind::Reduce);
        if after.predicate.is_some() || n != 1 || scales(self.store, value, buffer) || !reduces {
            return refuse(NOT_INLINED);
        }
        let fused = self.fused(&data, &after, buffer, (target, &indices, value))?;
        let planned = self.without_leaf(&tree, root, last)?;
        let stmt = tree.nodes[at].stmt;
        let new = self.rebuilt_block(stmt, fused);
        let Stmt::Block(moved) = *self.store.stmt(new) else { return refuse("InternalError: a block is no block") };
        let changed = put(self.store, planned, stmt, new).map(|scope| self.store.stmt(scope).clone());
        let Some(Stmt::Block(scope)) = changed else { return refuse("InternalError: the block is not in its scope") };
        // As in TVM, the buffer between the two stays, though nothing uses it any more.
        let scope = self.store.prim_block(scope).clone();
        let scope_stmt = tree.nodes[root].stmt;
        let scope = self.rebuilt_block(scope_stmt, scope);
        let (old, gone) = (self.block_id(of), self.block_id(epilogue));
        self.replace(scope_stmt, scope, &[old, gone], &[moved])?;
        self.rename(&[old], &[moved]);
        self.renew_scope_of(moved, false)
    }

    fn fused(
        &mut self,
        data: &Block,
        after: &Block,
        buffer: Id<Buffer>,
        (target, indices, value): (Id<Buffer>, &[PrimId], PrimId),
    ) -> Outcome<Block> {
        let spatial = |block: &Block| -> Vec<Id<Symbol>> {
            block.iters.iter().filter(|iter| iter.kind == IterKind::Spatial).map(|iter| iter.var).collect()
        };
        let (own, theirs) = (spatial(data), spatial(after));
        if own.len() != theirs.len() {
            return refuse(
                "ValueError: The number of data parallel iter vars must be the same in the reduction and epilogue blocks.",
            );
        }
        let Stmt::Store { indices: places, value: sum, .. } = self.store.stmt(data.body).clone() else {
            return refuse("NotImplementedError: a reduction that does more than to store is not fused");
        };
        let mut cx = Rewriting::new(self.store);
        for (own, theirs) in own.iter().zip(&theirs) {
            let own = cx.store.prim(PrimExpr::Var(*own));
            cx.set_symbol(*theirs, own);
        }
        let value = cx.root(&mut Nothing, value);
        let begins_at = cx.roots(&mut Nothing, indices);
        let moved = |cx: &mut Rewriting<'_>, region: &Region| cx.region(&mut Nothing, region);
        let mut reads: Vec<Region> = Vec::new();
        for region in after.reads.iter().filter(|region| region.buffer != buffer) {
            reads.push(moved(&mut cx, region));
        }
        for region in &data.reads {
            if region.buffer != buffer && !reads.iter().any(|known| known.buffer == region.buffer) {
                reads.push(region.clone());
            }
        }
        let writes = data.writes.iter().map(|region| Region { buffer: target, ..region.clone() }).collect();
        let dtype = cx.store.buffer(target).dtype;
        let zero = constant(cx.store, 0, dtype);
        let mut cx = Rewriting::new(self.store);
        let begin = cx.root(&mut Loads { old: buffer, by: Err(zero) }, value);
        let begin = Analyzer::new().simplify(self.store, begin);
        let init = self.store.add_stmt(Stmt::Store { buffer: target, indices: begins_at, value: begin });
        let mut cx = Rewriting::new(self.store);
        let sum = cx.root(&mut Loads { old: buffer, by: Ok(target) }, sum);
        let value = applied(self.store, value, buffer, sum, &mut false);
        let body = self.store.add_stmt(Stmt::Store { buffer: target, indices: places, value });
        Ok(Block { reads: reads.into(), writes, init: Some(init), body, ..data.clone() })
    }
}
