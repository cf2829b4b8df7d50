//! Reductions taken apart: what they begin with, and what they add (part of TVM's `primitive/reduction.cc`).

use super::analysis::{check_reduction, scope_root, uses_any};
use super::loops::also;
use super::state::{BlockRef, LoopRef, State, put};
use super::{Outcome, refuse};
use crate::ir::{Block, For, Id, IterKind, PrimExpr, PrimId, PrimOp, Region, Stmt, Store, Symbol};
use crate::tir::{Rewriting, substitute_stmt};

/// The parts of a condition that are not about loops that are left out; of `a < b` only `a` is looked at.
fn remade(store: &mut Store, predicate: Option<PrimId>, left_out: &[Id<Symbol>]) -> Option<PrimId> {
    let mut new = None;
    let mut rest = predicate;
    while let Some(cond) = rest {
        let (part, others) = match *store.prim_of_id(cond) {
            PrimExpr::Binary { op: PrimOp::And, a, b } => (b, Some(a)),
            _ => (cond, None),
        };
        let tested = match *store.prim_of_id(part) {
            PrimExpr::Binary { op: PrimOp::Lt, a, .. } => a,
            _ => part,
        };
        if !uses_any(store, tested, left_out) {
            new = also(store, new, part);
        }
        rest = others;
    }
    new
}

impl State<'_> {
    /// The beginning of a reduction becomes a block of its own, which runs before a loop around the reduction.
    pub(super) fn decompose_reduction(&mut self, of: BlockRef, before: LoopRef) -> Outcome<BlockRef> {
        let (tree, at) = self.find_block(of)?;
        let Some(place) = tree.loop_of(before.var) else { return refuse("ValueError: the loop does not exist any more") };
        let data = self.block_at(&tree, at)?;
        let loops = tree.loops_above(at);
        let root = scope_root(self, &tree, at, false)?;
        let Some(height) = loops.iter().position(|at| *at == place) else {
            return refuse("ScheduleError: decompose_reduction expect the loop to be an ancestor of block");
        };
        check_reduction(self, &tree, at, root)?;
        let mut heads: Vec<For> = Vec::new();
        for at in &loops {
            heads.push(self.head(&tree, *at)?.0);
        }
        let higher: Vec<Id<Symbol>> = heads[..height].iter().map(|head| head.var).collect();
        for iter in data.iters.iter().filter(|iter| iter.kind == IterKind::Reduce) {
            if iter.value.is_some_and(|value| uses_any(self.store, value, &higher)) {
                return refuse(
                    "ScheduleError: decompose_reduction expect the loop to be higher than all the loops related to reduce block \
                     var",
                );
            }
        }
        let Some(init) = data.init else { return refuse("ScheduleError: Not a reduction block") };
        let name = self.store.str(data.name).to_owned();
        let mut iters = Vec::new();
        let mut values = Vec::new();
        for iter in data.iters.iter().filter(|iter| iter.kind == IterKind::Spatial) {
            let (text, dtype) = (self.name_of(iter.var), self.store.symbol(iter.var).dtype);
            let (var, prim) = self.var(&text, dtype);
            values.push((iter.var, prim));
            iters.push(crate::ir::IterVar { var, ..iter.clone() });
        }
        let body = substitute_stmt(self.store, init, &values);
        let mut writes: Vec<Region> = Vec::new();
        for region in &data.writes {
            let mut cx = Rewriting::new(self.store);
            for (var, value) in &values {
                cx.set_symbol(*var, *value);
            }
            writes.push(cx.region(&mut crate::tir::Nothing, region));
        }
        let mut chosen: Vec<usize> = Vec::new();
        let mut left_out = Vec::new();
        for at in (height..loops.len()).rev() {
            let var = heads[at].var;
            let used = iters.iter().any(|iter| iter.value.is_some_and(|value| uses_any(self.store, value, &[var])));
            if used { chosen.push(at) } else { left_out.push(var) }
        }
        let predicate = remade(self.store, data.predicate, &left_out);
        let init_name = self.store.name(&format!("{name}_init"));
        let block = Block {
            name: init_name,
            iters: iters.into(),
            predicate,
            reads: [].into(),
            writes: writes.into(),
            allocs: [].into(),
            matches: [].into(),
            annotations: data.annotations,
            init: None,
            body,
            bare: false,
        };
        let mut new = self.rebuilt_block(tree.nodes[at].stmt, block);
        let mut renamed = Vec::new();
        for at in chosen {
            let (text, dtype) = (self.name_of(heads[at].var), self.store.symbol(heads[at].var).dtype);
            let (var, prim) = self.var(&format!("{text}_init"), dtype);
            renamed.push((heads[at].var, prim));
            let head = For { var, ..heads[at] };
            new = self.store.rebuild_stmt(tree.nodes[loops[at]].stmt, Stmt::For(head, new));
        }
        let new = substitute_stmt(self.store, new, &renamed);
        let made = super::tree::blocks_in(self.store, new);
        // The rest of the reduction reads what it writes.
        let update = self.store.name(&format!("{name}_update"));
        let read = |region: &&Region| !data.reads.iter().any(|read| read.buffer == region.buffer);
        let reads = data.writes.iter().filter(read).chain(&data.reads).cloned().collect();
        let rest = Block { name: update, init: None, reads, ..data.clone() };
        let rest = self.rebuilt_block(tree.nodes[at].stmt, rest);
        let target = tree.nodes[place].stmt;
        let Some(reduced) = put(self.store, target, tree.nodes[at].stmt, rest) else {
            return refuse("InternalError: the block is not under the loop");
        };
        let both = self.store.add_stmts(&[new, reduced]);
        self.replace(target, both, &[], &made)?;
        // There are blocks in it where the reduction has been blockized.
        let Some(&outer) = made.first() else { return refuse("InternalError: the beginning of a reduction is no block") };
        // The flags of the scope itself stay, as in TVM.
        self.renew_inside_of_scope(outer)?;
        Ok(self.block_ref(outer))
    }
}
