//! Several blocks as one that they stand in (`blockize` of a list, in TVM's `primitive/blockize_tensorize.cc`).

use super::state::{BlockRef, State};
use super::tree::{Tree, blocks_in};
use super::{Outcome, refuse};
use crate::ir::{Block, For, Id, IterKind, IterVar, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Symbol};
use crate::tir::access::{extent_of, range_of};
use crate::tir::arith::IntSet;
use crate::tir::{binary, substitute};

/// The variables of the new block, with the bindings that all of the blocks must have.
struct Outer {
    iters: Vec<IterVar>,
    predicate: Option<PrimId>,
}

impl State<'_> {
    /// The blocks, which stand one behind the other, become parts of a block over the loops that they share.
    pub(super) fn blockize_several(&mut self, of: &[BlockRef], keep_unit: bool) -> Outcome<BlockRef> {
        let mut places = Vec::new();
        let mut tree = Tree::default();
        for block in of {
            let (whole, at) = self.find_block(*block)?;
            tree = whole;
            places.push(at);
        }
        let Some(&first) = places.first() else {
            return refuse("InternalError: Check failed: there is no block to blockize");
        };
        let common = std::iter::once(first).chain(tree.ancestors(first));
        let Some(above) = common.into_iter().find(|above| places.iter().all(|at| tree.is_under(*at, *above))) else {
            return refuse("InternalError: Check failed: the blocks stand in different functions");
        };
        if places.contains(&above) {
            return refuse("InternalError: Target blocks must not be nested with each other!");
        }
        let mut outer: Option<Outer> = None;
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let (mut body, mut moved) = (Vec::new(), Vec::new());
        let mut loop_vars: Vec<(Id<Symbol>, PrimId)> = Vec::new();
        let mut name = "outer_".to_owned();
        for &at in &places {
            let data = self.block_at(&tree, at)?;
            // The outermost loop of the block that the others are not in.
            let place = std::iter::once(at)
                .chain(tree.ancestors(at).take_while(|above| tree.is_loop(*above)))
                .find(|here| tree.nodes[*here].parent == Some(above))
                .unwrap_or(at);
            let Some(parts) = self.split_block(&tree, at, place, keep_unit, outer.as_ref().map(|outer| &*outer.iters))? else {
                return refuse("ScheduleError: The bindings of the inner block can not be blockized.");
            };
            if outer.is_none() {
                outer = Some(Outer { iters: parts.outer.clone(), predicate: parts.outer_predicate });
            }
            for iter in &parts.outer {
                if let Some(PrimExpr::Var(var)) = iter.value.map(|value| self.store.prim_of_id(value)) {
                    loop_vars.push((*var, self.store.prim(PrimExpr::Var(iter.var))));
                }
            }
            if parts.changed.init.is_some() && parts.outer.iter().any(|iter| iter.kind == IterKind::Reduce) {
                return refuse(
                    "InternalError: Check failed: No reduction iter vars allowed for the outer loops when blockize multiple blocks",
                );
            }
            let ranges: Vec<_> =
                parts.inner.iter().map(|iter| (iter.var, (iter.min, self.through(iter.extent, &loop_vars)))).collect();
            reads.extend(self.over(&parts.changed.reads, &ranges));
            writes.extend(self.over(&parts.changed.writes, &ranges));
            name += self.store.str(data.name);
            name.push('_');
            let inner = Block { iters: parts.inner.into(), predicate: parts.inner_predicate, init: None, ..parts.changed };
            let mut stmt = self.rebuilt_block(tree.nodes[at].stmt, inner);
            let Stmt::Block(block) = *self.store.stmt(stmt) else { return refuse("InternalError: a block is no block") };
            moved.push(block);
            for above in tree.loops_above(at).into_iter().rev().filter(|above| *above >= place && tree.is_under(at, *above)) {
                let head = self.head(&tree, above)?.0;
                let head = For { extent: self.through(head.extent, &loop_vars), ..head };
                stmt = self.store.rebuild_stmt(tree.nodes[above].stmt, Stmt::For(head, stmt));
            }
            body.push(stmt);
        }
        let Some(outer) = outer else { return refuse("InternalError: there is no block") };
        let name = self.store.name(&name);
        let body = self.store.add_stmts(&body);
        let (reads, writes) = (self.joined(&reads), self.joined(&writes));
        let made = self.store.add_prim_block(Block {
            iters: outer.iters.into(),
            predicate: outer.predicate,
            reads,
            writes,
            ..Block::around(name, body)
        });
        let stage = self.store.add_stmt(Stmt::Block(made));
        let old: Vec<Id<Block>> = places.iter().filter_map(|at| tree.as_block(*at)).collect();
        let new = self.swap_in(&tree, above, &old, stage)?;
        let made_ones: Vec<Id<Block>> = std::iter::once(made).chain(moved.iter().copied()).collect();
        self.replace(tree.nodes[above].stmt, new, &old, &made_ones)?;
        self.rename(&old, &moved);
        self.renew_scope_of(made, false)?;
        Ok(self.block_ref(made))
    }

    fn through(&mut self, expr: PrimId, values: &[(Id<Symbol>, PrimId)]) -> PrimId {
        substitute(self.store, expr, &mut |_, symbol| values.iter().find(|(known, _)| *known == symbol).map(|(_, prim)| *prim))
    }

    /// One region for each buffer, over all of its parts.
    fn joined(&mut self, regions: &[Region]) -> Box<[Region]> {
        let mut found: Vec<Region> = Vec::new();
        for region in regions {
            if found.iter().any(|known| known.buffer == region.buffer) {
                continue;
            }
            let same: Vec<&Region> = regions.iter().filter(|other| other.buffer == region.buffer).collect();
            let mut ranges = Vec::new();
            for axis in 0..region.ranges.len() {
                let mut sets = Vec::new();
                for other in &same {
                    let extent = extent_of(self.store, other.ranges[axis]);
                    sets.push(IntSet::from_range(self.store, other.ranges[axis].0, extent));
                }
                let set = IntSet::union(self.store, &sets);
                let (Some(min), Some(max)) = (set.lower(), set.upper()) else { continue };
                let one = self.store.prim_int(1, self.store.prim_dtype(max));
                let end = binary(self.store, PrimOp::Add, max, one);
                let extent = binary(self.store, PrimOp::Sub, end, min);
                ranges.push(range_of(self.store, min, extent));
            }
            found.push(Region { buffer: region.buffer, ranges: ranges.into() });
        }
        // In TVM the order is that of a hash table, which mostly has the last one first.
        found.reverse();
        found.into()
    }

    /// Puts a statement in the place of those under a loop or block that have the blocks in them.
    fn swap_in(&mut self, tree: &Tree, above: usize, old: &[Id<Block>], stage: StmtId) -> Outcome<StmtId> {
        let stmt = tree.nodes[above].stmt;
        let body = match self.store.stmt(stmt) {
            Stmt::For(_, body) => *body,
            Stmt::Block(block) => self.store.prim_block(*block).body,
            _ => return refuse("InternalError: a node is no loop and no block"),
        };
        let mut stmts = self.store.stmts_of(body);
        let holds = |stmt: &StmtId| blocks_in(self.store, *stmt).iter().any(|block| old.contains(block));
        let with: Vec<usize> = (0..stmts.len()).filter(|at| holds(&stmts[*at])).collect();
        let (Some(&first), Some(&last)) = (with.first(), with.last()) else {
            return refuse("InternalError: the blocks are not where they were");
        };
        if stmts.len() == 1 {
            return refuse("InternalError: Target blocks must not be nested with each other!");
        }
        if last - first + 1 != with.len() {
            return refuse("InternalError: Check failed: Target blocks must be consecutive!");
        }
        stmts.splice(first..=last, [stage]);
        let body = self.store.add_stmts(&stmts);
        Ok(match self.store.stmt(stmt).clone() {
            Stmt::For(head, _) => self.store.rebuild_stmt(stmt, Stmt::For(head, body)),
            Stmt::Block(block) => {
                let data = Block { body, ..self.store.prim_block(block).clone() };
                self.rebuilt_block(stmt, data)
            }
            _ => stmt,
        })
    }
}
