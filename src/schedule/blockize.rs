//! Loops and the block under them as a block (`blockize` of TVM's `primitive/blockize_tensorize.cc`), and variables of a block
//! in another order (`primitive/reorder_block_iter_var.cc`).

use super::analysis::uses_any;
use super::state::{BlockRef, LoopRef, State};
use super::tree::{Tree, blocks_in};
use super::{Outcome, refuse};
use crate::ir::{Block, DType, For, Id, IterKind, IterVar, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Symbol};
use crate::tir::access::{extent_of, range_of};
use crate::tir::arith::iter::{Division, Level, Mark, Source, Split, Sum, digit_to_prim, subspace_divide, sum_to_prim};
use crate::tir::arith::{Analyzer, domains_of, eval_region};
use crate::tir::{Rewriting, StmtMutator, binary, substitute_stmt};
use std::rc::Rc;

/// Variables replaced and what changes simplified.
struct Simplified {
    analyzer: Analyzer,
}

impl StmtMutator for Simplified {
    fn rule(&self) -> &'static str {
        "block made"
    }

    fn expr(&mut self, cx: &mut Rewriting<'_>, root: PrimId) -> Option<PrimId> {
        let new = cx.prim(self, root);
        Some(if new == root { root } else { self.analyzer.simplify(cx.store, new) })
    }
}

/// A block divided in two.
pub(super) struct Parts {
    pub outer: Vec<IterVar>,
    pub outer_predicate: Option<PrimId>,
    pub inner: Vec<IterVar>,
    pub inner_predicate: Option<PrimId>,
    /// The block in terms of both, without variables.
    pub changed: Block,
}

impl State<'_> {
    /// The outer and inner part of each binding of a block, by the loops under a loop and those above it.
    fn divided(&mut self, tree: &Tree, at: usize, place: usize, data: &Block, keep_unit: bool) -> Outcome<Option<Division>> {
        let mut iters = Vec::new();
        let mut inner = Vec::new();
        for above in tree.loops_above(at).into_iter().rev() {
            let (head, _) = self.head(tree, above)?;
            iters.push((head.var, (head.min, head.extent)));
            if above >= place {
                inner.push(head.var);
            }
        }
        let values: Vec<PrimId> = data.iters.iter().filter_map(|iter| iter.value).collect();
        let analyzer = &mut Analyzer::new();
        let level = Level::Surjective;
        let found = subspace_divide(self.store, analyzer, &values, &iters, &inner, data.predicate, level, !keep_unit);
        if found.is_some() || data.predicate.is_some() {
            return Ok(found);
        }
        // Bindings that are no digits belong to one side where they have variables of that side only.
        let outer: Vec<Id<Symbol>> = iters.iter().map(|(var, _)| *var).filter(|var| !inner.contains(var)).collect();
        let (zero, one) = (self.store.prim_int(0, DType::I32), self.store.prim_int(1, DType::I32));
        let unit = Mark { source: Source::Sum(Sum { args: Vec::new(), base: zero }), extent: one };
        let mut parts = Vec::new();
        for iter in &data.iters {
            let Some(value) = iter.value else { return Ok(None) };
            let source = match self.store.prim_of_id(value) {
                PrimExpr::Var(_) => {
                    let mark = Rc::new(Mark { source: Source::Prim(value), extent: iter.extent });
                    Source::Split(Split::whole(self.store, mark, one))
                }
                _ => Source::Sum(Sum { args: Vec::new(), base: value }),
            };
            let mark = Mark { source, extent: iter.extent };
            parts.push(match (uses_any(self.store, value, &outer), uses_any(self.store, value, &inner)) {
                (true, true) => return Ok(None),
                (true, false) => (mark, unit.clone()),
                (false, true) => (unit.clone(), mark),
                (false, false) => (unit.clone(), unit.clone()),
            });
        }
        let yes = self.store.prim_int(1, DType::BOOL);
        Ok(Some(Division { parts, outer: yes, inner: yes }))
    }

    fn binding(&mut self, mark: &Mark) -> PrimId {
        let analyzer = &mut Analyzer::new();
        match &mark.source {
            Source::Prim(prim) => *prim,
            Source::Sum(sum) => sum_to_prim(self.store, analyzer, sum),
            Source::Split(split) => digit_to_prim(self.store, analyzer, split),
        }
    }

    fn iter_part(&mut self, iter: &IterVar, mark: &Mark, suffix: &str) -> (IterVar, PrimId) {
        let (name, dtype) = (self.name_of(iter.var), self.store.symbol(iter.var).dtype);
        let (var, prim) = self.var(&format!("{name}{suffix}"), dtype);
        let min = self.store.prim_int(0, self.store.prim_dtype(mark.extent));
        let value = Some(self.binding(mark));
        (IterVar { var, kind: iter.kind, min, extent: mark.extent, value }, prim)
    }

    /// Divides a block at a loop above it; nothing where its bindings cannot be divided. The outer variables are those in
    /// `given`, if there are such.
    pub(super) fn split_block(
        &mut self,
        tree: &Tree,
        at: usize,
        place: usize,
        keep_unit: bool,
        given: Option<&[IterVar]>,
    ) -> Outcome<Option<Parts>> {
        let data = self.block_at(tree, at)?;
        let Some(division) = self.divided(tree, at, place, &data, keep_unit)? else { return Ok(None) };
        let is_one = |state: &Self, extent| state.store.as_prim_int(extent) == Some(1);
        let (mut outer, mut inner, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut analyzer = Analyzer::new();
        for (number, (iter, (outer_mark, inner_mark))) in data.iters.iter().zip(&division.parts).enumerate() {
            let (own, prim) = match given.and_then(|given| given.get(number)) {
                None => self.iter_part(iter, outer_mark, "_o"),
                Some(known) => {
                    let (own, _) = self.iter_part(iter, outer_mark, "_o");
                    let values = own.value.zip(known.value);
                    let same = analyzer.can_prove_equal(self.store, own.extent, known.extent)
                        && values.is_some_and(|(own, known)| analyzer.can_prove_equal(self.store, own, known));
                    if !same {
                        return refuse(
                            "InternalError: Check failed: the blocks are not bound in the same way by the loops around",
                        );
                    }
                    (known.clone(), self.store.prim(PrimExpr::Var(known.var)))
                }
            };
            outer.push(own);
            let value = if is_one(self, inner_mark.extent) {
                match is_one(self, outer_mark.extent) && !keep_unit {
                    true => self.store.prim_int(0, self.store.prim_dtype(outer_mark.extent)),
                    false => prim,
                }
            } else {
                let (own, within) = self.iter_part(iter, inner_mark, "_i");
                analyzer.bind_range(self.store, own.var, own.min, own.extent);
                inner.push(own);
                match is_one(self, outer_mark.extent) {
                    true => within,
                    false => {
                        let scaled = binary(self.store, PrimOp::Mul, prim, inner_mark.extent);
                        binary(self.store, PrimOp::Add, scaled, within)
                    }
                }
            };
            values.push((iter.var, value));
        }
        let bare = Block { iters: [].into(), predicate: None, ..data.clone() };
        let stmt = self.rebuilt_block(tree.nodes[at].stmt, bare);
        let mut cx = Rewriting::new(self.store);
        for (var, value) in &values {
            cx.set_symbol(*var, *value);
        }
        let stmt = cx.visit(&mut Simplified { analyzer }, stmt);
        let Stmt::Block(changed) = *self.store.stmt(stmt) else { return refuse("InternalError: a block is no block") };
        let changed = self.store.prim_block(changed).clone();
        let holds = |cond: PrimId| Some(cond).filter(|cond| self.store.as_prim_int(*cond) != Some(1));
        let (outer_predicate, inner_predicate) = (holds(division.outer), holds(division.inner));
        Ok(Some(Parts { outer, outer_predicate, inner, inner_predicate, changed }))
    }

    /// A loop with all that is under it as a block, which the block under it stands in: the statement, that block and the new
    /// one.
    pub(super) fn block_of(&mut self, tree: &Tree, place: usize, keep_unit: bool) -> Outcome<(StmtId, Id<Block>, Id<Block>)> {
        let under = tree.child_blocks(place);
        let [at] = under[..] else {
            return refuse("ScheduleError: The loop is required to have only one child block");
        };
        let Some(parts) = self.split_block(tree, at, place, keep_unit, None)? else {
            return refuse("ScheduleError: The bindings of the inner block can not be blockized.");
        };
        let Parts { outer, outer_predicate, inner, inner_predicate, changed } = parts;
        let mut loops: Vec<(usize, For)> = Vec::new();
        for above in tree.loops_above(at).into_iter().rev().filter(|above| *above >= place) {
            loops.push((above, self.head(tree, above)?.0));
        }
        let reduces = changed.init.is_some() && outer.iter().any(|iter| iter.kind == IterKind::Reduce);
        let reads = match reduces {
            true => changed.writes.iter().chain(&changed.reads).cloned().collect(),
            false => changed.reads.clone(),
        };
        let inner_block = Block { iters: inner.clone().into(), predicate: inner_predicate, init: None, reads, ..changed.clone() };
        let init = changed.init.map(|init| self.outer_init(&changed, &inner_block, &loops, init));
        let mut body = self.rebuilt_block(tree.nodes[at].stmt, inner_block);
        let Stmt::Block(moved) = *self.store.stmt(body) else { return refuse("InternalError: a block is no block") };
        for (above, head) in &loops {
            body = self.store.rebuild_stmt(tree.nodes[*above].stmt, Stmt::For(*head, body));
        }
        let ranges: Vec<_> = inner.iter().map(|iter| (iter.var, (iter.min, iter.extent))).collect();
        let (reads, writes) = (self.over(&changed.reads, &ranges), self.over(&changed.writes, &ranges));
        let name = format!("{}_o", self.store.str(changed.name));
        let name = self.store.name(&name);
        let made = self.store.add_prim_block(Block {
            name,
            iters: outer.into(),
            predicate: outer_predicate,
            reads,
            writes,
            allocs: [].into(),
            matches: [].into(),
            annotations: None,
            init,
            body,
            bare: false,
        });
        Ok((self.store.add_stmt(Stmt::Block(made)), moved, made))
    }

    /// A loop with all that is under it becomes a block, which the block under it stands in.
    pub(super) fn blockize(&mut self, of: LoopRef, keep_unit: bool) -> Outcome<BlockRef> {
        let (tree, place) = self.find_loop(of)?;
        let (new, moved, made) = self.block_of(&tree, place, keep_unit)?;
        let inside = blocks_in(self.store, tree.nodes[place].stmt);
        let gone: Vec<Id<Block>> = inside.iter().copied().take(1).collect();
        self.replace(tree.nodes[place].stmt, new, &gone, &[made, moved])?;
        self.rename(&gone, &[moved]);
        self.renew_scope_of(made, true)?;
        Ok(self.block_ref(made))
    }

    /// Regions over all values of some variables.
    pub(super) fn over(&mut self, regions: &[Region], iters: &[(Id<Symbol>, (PrimId, PrimId))]) -> Box<[Region]> {
        let domains = domains_of(self.store, iters);
        let mut found = Vec::new();
        for region in regions {
            let ranges: Vec<_> = region.ranges.iter().map(|range| (range.0, extent_of(self.store, *range))).collect();
            let sets = eval_region(self.store, &ranges, &domains);
            let shape = self.store.buffer(region.buffer).shape.clone();
            let mut covered = Vec::new();
            for (set, size) in sets.iter().zip(&shape) {
                let zero = self.store.prim_int(0, self.store.prim_dtype(*size));
                let (min, extent) = set.cover(self.store, (zero, *size));
                covered.push(range_of(self.store, min, extent));
            }
            found.push(Region { buffer: region.buffer, ranges: covered.into() });
        }
        found.into()
    }

    /// Returns the init of the outer block: the beginning of the reduction, under the loops that it needs.
    fn outer_init(&mut self, changed: &Block, inner: &Block, loops: &[(usize, For)], init: StmtId) -> StmtId {
        let mut used = Vec::new();
        self.store.for_each_stmt(init, |stmt| {
            self.store.for_each_prim_of(stmt, |prim| used.extend(super::analysis::vars_of(self.store, prim)));
        });
        let mut values: Vec<(Id<Symbol>, PrimId)> = Vec::new();
        let mut iters = Vec::new();
        for iter in inner.iters.iter().filter(|iter| iter.kind == IterKind::Spatial && used.contains(&iter.var)) {
            let (name, dtype) = (self.name_of(iter.var), self.store.symbol(iter.var).dtype);
            let (var, prim) = self.var(&format!("{name}_init"), dtype);
            values.push((iter.var, prim));
            iters.push(IterVar { var, ..iter.clone() });
        }
        let bindings: Vec<PrimId> = iters.iter().filter_map(|iter| iter.value).collect();
        let name = format!("{}_init", self.store.str(changed.name));
        let name = self.store.name(&name);
        let block = self.store.add_prim_block(Block {
            name,
            iters: iters.into(),
            predicate: inner.predicate,
            reads: [].into(),
            writes: changed.writes.clone(),
            allocs: [].into(),
            matches: [].into(),
            annotations: None,
            init: None,
            body: init,
            bare: false,
        });
        let mut stmt = self.store.add_stmt(Stmt::Block(block));
        for (_, head) in loops {
            if !bindings.iter().any(|binding| uses_any(self.store, *binding, &[head.var])) {
                continue;
            }
            let (name, dtype) = (self.name_of(head.var), self.store.symbol(head.var).dtype);
            let (var, prim) = self.var(&name, dtype);
            values.push((head.var, prim));
            let head = For { var, ..*head };
            stmt = self.store.add_stmt(Stmt::For(head, stmt));
        }
        substitute_stmt(self.store, stmt, &values)
    }

    /// The variables of a block in another order.
    pub(super) fn reorder_block_iter_var(&mut self, of: BlockRef, order: &[i64]) -> Outcome<()> {
        let (tree, at) = self.find_block(of)?;
        let data = self.block_at(&tree, at)?;
        let all: Option<Vec<IterVar>> =
            order.iter().map(|at| usize::try_from(*at).ok().and_then(|at| data.iters.get(at).cloned())).collect();
        let unique = order.iter().enumerate().all(|(at, index)| !order[..at].contains(index));
        let Some(iters) = all.filter(|iters| unique && iters.len() == data.iters.len()) else {
            return refuse("ScheduleError: The specified reorder indices are invalid.");
        };
        let stmt = tree.nodes[at].stmt;
        let new = self.rebuilt_block(stmt, Block { iters: iters.into(), ..data });
        self.replace(stmt, new, &[], &[])
    }
}
