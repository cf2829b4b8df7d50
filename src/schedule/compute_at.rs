//! Blocks moved under a loop of those that use their results, or of those whose results they use (TVM's
//! `primitive/compute_at.cc`).

use super::analysis::{check_complete_or_reduction, check_not_output, domains, scope_root};
use super::loops::{also, serial};
use super::scope::{consumers, producers, unbound};
use super::state::{BlockRef, LoopRef, State, put};
use super::tree::{Tree, blocks_in};
use super::{Outcome, refuse};
use crate::ir::{Block, Buffer, DType, DTypeCode, Id, IterVar, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Symbol};
use crate::tir::access::extent_of;
use crate::tir::arith::iter::{Level, detect_iter_map, inverse_iter_map};
use crate::tir::arith::{Analyzer, End, IntSet, Strength, domains_of, eval_region, plus};
use crate::tir::binary;

/// The values that a variable of a block has to take, and those that it must not leave.
#[derive(Clone, Copy)]
struct Domain {
    dom: IntSet,
    bound: IntSet,
}

impl Domain {
    const NONE: Domain = Domain { dom: IntSet::NOTHING, bound: IntSet::NOTHING };
}

/// The regions of a buffer that one run of a block provides, and those that are required of it.
struct Regions {
    buffer: Id<Buffer>,
    provided: Vec<Vec<IntSet>>,
    required: Vec<Vec<IntSet>>,
}

impl State<'_> {
    /// Moves a block under a loop: one around its consumers, or with `reverse` its producers. `index` is the position
    /// among the children: -1 as late, -2 as early as possible.
    pub(super) fn compute_at(&mut self, of: BlockRef, under: LoopRef, keep_unit: bool, index: i64, reverse: bool) -> Outcome<()> {
        let (tree, at) = self.find_block(of)?;
        let Some(place) = tree.loop_of(under.var) else { return refuse("ValueError: the loop does not exist any more") };
        let data = self.block_at(&tree, at)?;
        let root = scope_root(self, &tree, at, true)?;
        let analyzer = &mut Analyzer::new();
        self.bind_shapes(analyzer)?;
        let before = producers(self, &tree, root, at)?;
        let after = consumers(self, &tree, root, at)?;
        check_complete_or_reduction(self, &tree, at, root)?;
        if tree.scope(place) != Some(root) || tree.ancestors(at).any(|above| above == place) {
            return refuse(
                "ScheduleError: Expected the block and loop to be under the same block scope, and loop not to be the ancestor of \
                 block",
            );
        }
        for above in std::iter::once(place).chain(tree.loops_above(place).into_iter().rev()) {
            let (head, _) = self.head(&tree, above)?;
            analyzer.bind_range(self.store, head.var, head.min, head.extent);
        }
        if !reverse {
            check_not_output(self, &tree, at, root)?;
        }
        let planned = self.without_leaf(&tree, root, at)?;
        let (head, body) = self.head(&tree, place)?;
        let subtrees = self.store.stmts_of(body);
        let position = self.insertion_point(&tree, &subtrees, &before, &after, index, reverse)?;
        let regions = self.regions(&tree, place, &data, if reverse { &before } else { &after }, reverse)?;
        let found = self.block_domains(&data, regions, analyzer)?;
        let (new, moved) = self.nest(&tree, at, &data, &found, analyzer, keep_unit)?;
        let mut stmts = subtrees;
        stmts.insert(position.min(stmts.len()), new);
        let body = self.store.add_stmts(&stmts);
        let stmt = tree.nodes[place].stmt;
        let inner = self.store.rebuild_stmt(stmt, Stmt::For(head, body));
        let Some(scope) = put(self.store, planned, stmt, inner) else {
            return refuse("InternalError: the loop is gone with the block");
        };
        let old = self.block_id(of);
        self.replace(tree.nodes[root].stmt, scope, &[old], &[moved])?;
        self.rename(&[old], &[moved]);
        Ok(())
    }

    /// Adds the facts that extents of parameters are not negative.
    pub(super) fn bind_shapes(&mut self, analyzer: &mut Analyzer) -> Outcome<()> {
        for param in &self.func()?.params {
            if let crate::ir::PrimParam::Buffer(buffer) = param {
                for extent in self.store.buffer(*buffer).shape.clone() {
                    analyzer.mark_non_negative(self.store, extent);
                }
            }
        }
        Ok(())
    }

    fn insertion_point(
        &self,
        tree: &Tree,
        subtrees: &[StmtId],
        before: &[usize],
        after: &[usize],
        index: i64,
        reverse: bool,
    ) -> Outcome<usize> {
        let ids = |places: &[usize]| -> Vec<Id<Block>> { places.iter().filter_map(|at| tree.as_block(*at)).collect() };
        let (before, after) = (ids(before), ids(after));
        let (mut last, mut first) = (-1i64, subtrees.len() as i64);
        let (mut producers, mut consumers) = (0, 0);
        for (place, stmt) in subtrees.iter().enumerate() {
            let inside = blocks_in(self.store, *stmt);
            let count = |of: &[Id<Block>]| inside.iter().filter(|block| of.contains(block)).count();
            let (made, used) = (count(&before), count(&after));
            producers += made;
            consumers += used;
            if made > 0 {
                last = place as i64;
            }
            if used > 0 && first == subtrees.len() as i64 {
                first = place as i64;
            }
        }
        if last >= first {
            return refuse("ScheduleError: Cannot find the insertion point that satisfies the producer-consumer constraint");
        }
        if reverse && producers < before.len() || !reverse && consumers < after.len() {
            return refuse("ScheduleError: Not all required blocks are visited under the loop");
        }
        let position = match index {
            -1 => first,
            -2 => last + 1,
            index if index > last && index <= first => index,
            _ => return refuse(format!("InternalError: Valid index:(-1, -2, [{}, {first}]), current index={index}", last + 1)),
        };
        Ok(position.max(0) as usize)
    }

    fn regions(&mut self, tree: &Tree, place: usize, data: &Block, others: &[usize], reverse: bool) -> Outcome<Vec<Regions>> {
        let mut found: Vec<Regions> = Vec::new();
        let provided: &[Region] = if reverse { &data.reads } else { &data.writes };
        for region in provided {
            let mut sets = Vec::new();
            for range in &region.ranges {
                let extent = extent_of(self.store, *range);
                sets.push(IntSet::from_range(self.store, range.0, extent));
            }
            match found.iter_mut().find(|known| known.buffer == region.buffer) {
                Some(known) => known.provided.push(sets),
                None => found.push(Regions { buffer: region.buffer, provided: vec![sets], required: Vec::new() }),
            }
        }
        for at in others {
            let other = self.block_at(tree, *at)?;
            let required = if reverse { &other.writes } else { &other.reads };
            for region in required {
                let Some(known) = found.iter().position(|known| known.buffer == region.buffer) else { continue };
                let scope = self.store.str(self.store.buffer(region.buffer).scope).to_owned();
                let iters =
                    domains(self, tree, tree.nodes[*at].parent, Some(place), Some(&scope).filter(|_| !reverse).map(|s| &**s))?;
                let ranges = unbound(self, &other, region);
                let domains = domains_of(self.store, &iters);
                let sets = eval_region(self.store, &ranges, &domains);
                found[known].required.push(sets);
            }
        }
        Ok(found)
    }

    fn block_domains(&mut self, data: &Block, regions: Vec<Regions>, analyzer: &mut Analyzer) -> Outcome<Vec<Domain>> {
        let mut found: Vec<Domain> = vec![Domain::NONE; data.iters.len()];
        for region in regions.iter().filter(|region| !region.required.is_empty()) {
            let union = |state: &mut Self, all: &[Vec<IntSet>]| match all {
                [only] => only.clone(),
                all => IntSet::union_region(state.store, all),
            };
            let (required, provided) = (union(self, &region.required), union(self, &region.provided));
            if !self.affine_domains(data, region.buffer, &provided, &required, analyzer, &mut found)? {
                self.axis_domains(data, region.buffer, &provided, &required, analyzer, &mut found)?;
            }
        }
        for (iter, domain) in data.iters.iter().zip(&mut found) {
            let whole = IntSet::from_range(self.store, iter.min, iter.extent);
            domain.bound = match domain.bound.is_nothing() {
                true => whole,
                false => IntSet::intersect(self.store, &[domain.bound, whole]),
            };
            self.simplify_domain(domain, analyzer);
            if domain.dom.is_nothing() {
                return refuse("InternalError: the domain of a block variable is not known");
            }
        }
        Ok(found)
    }

    fn simplify_domain(&mut self, domain: &mut Domain, analyzer: &mut Analyzer) {
        let mut simple = |state: &mut Self, set: IntSet| {
            let mut end = |end: End| match end {
                End::At(value) => End::At(analyzer.simplify(state.store, value)),
                other => other,
            };
            IntSet { min: end(set.min), max: end(set.max) }
        };
        if domain.dom.is_nothing() {
            if domain.bound.lower().is_some() && domain.bound.upper().is_some() {
                domain.dom = simple(self, domain.bound);
                domain.bound = IntSet::NOTHING;
            }
            return;
        }
        domain.dom = simple(self, domain.dom);
        domain.bound = simple(self, domain.bound);
        let both = IntSet::intersect(self.store, &[domain.dom, domain.bound]);
        let both = simple(self, both);
        let mut same = |state: &mut Self, a: IntSet, b: IntSet| {
            [(a.min, b.min), (a.max, b.max)].into_iter().all(|ends| match ends {
                (End::At(a), End::At(b)) => analyzer.can_prove_equal(state.store, a, b),
                (a, b) => a == b,
            })
        };
        if same(self, domain.dom, both) {
            domain.bound = IntSet::NOTHING;
        } else if same(self, domain.bound, both) {
            domain.dom = domain.bound;
            domain.bound = IntSet::NOTHING;
        } else {
            let number = |end: End| end.value().is_some_and(|value| self.store.as_prim_int(value).is_some());
            if number(both.min) && number(both.max) {
                domain.dom = both;
                domain.bound = IntSet::NOTHING;
            }
        }
    }

    fn add_domain(&mut self, data: &Block, found: &mut [Domain], var: Id<Symbol>, new: Domain) -> bool {
        let Some(at) = data.iters.iter().position(|iter| iter.var == var) else { return false };
        found[at].dom = IntSet::union(self.store, &[found[at].dom, new.dom]);
        found[at].bound = IntSet::union(self.store, &[found[at].bound, new.bound]);
        true
    }

    /// Computes the domains by the inverse of the indices, if those are digits of the variables.
    fn affine_domains(
        &mut self,
        data: &Block,
        buffer: Id<Buffer>,
        provided: &[IntSet],
        required: &[IntSet],
        analyzer: &mut Analyzer,
        found: &mut [Domain],
    ) -> Outcome<bool> {
        let mut indices = Vec::new();
        for set in provided {
            match set.lower() {
                Some(min) if set.is_point(self.store, analyzer) => indices.push(min),
                _ => return Ok(false),
            }
        }
        let iters: Vec<_> = data.iters.iter().map(|iter| (iter.var, (iter.min, iter.extent))).collect();
        let Ok(map) = detect_iter_map(self.store, analyzer, &indices, &iters, None, Level::Bijective, false) else {
            return Ok(false);
        };
        if map.indices.is_empty() {
            return Ok(false);
        }
        let shape = self.store.buffer(buffer).shape.clone();
        let mut bounds = Vec::new();
        for extent in &shape {
            let zero = self.store.prim_int(0, self.store.prim_dtype(*extent));
            let last = plus(self.store, *extent, -1);
            let last = binary(self.store, PrimOp::Max, last, zero);
            bounds.push(IntSet::between(zero, last));
        }
        let mut back = |state: &mut Self, sets: &[IntSet]| -> Option<Vec<(Id<Symbol>, IntSet)>> {
            let mins: Option<Vec<PrimId>> = sets.iter().map(|set| set.lower()).collect();
            let maxs: Option<Vec<PrimId>> = sets.iter().map(|set| set.upper()).collect();
            let mins = inverse_iter_map(state.store, &map.indices, &mins?)?;
            let maxs = inverse_iter_map(state.store, &map.indices, &maxs?)?;
            let mut found = Vec::new();
            for (var, a) in mins {
                let b = maxs.iter().find(|(other, _)| *other == var)?.1;
                let (min, max) = (binary(state.store, PrimOp::Min, a, b), binary(state.store, PrimOp::Max, a, b));
                found.push((var, IntSet::between(analyzer.simplify(state.store, min), analyzer.simplify(state.store, max))));
            }
            Some(found)
        };
        let (Some(doms), Some(bounds)) = (back(self, required), back(self, &bounds)) else { return Ok(false) };
        for (var, dom) in doms {
            let bound = bounds.iter().find(|(other, _)| *other == var).map_or(IntSet::NOTHING, |(_, bound)| *bound);
            self.add_domain(data, found, var, Domain { dom, bound });
        }
        Ok(true)
    }

    /// Axis by axis, where an index is one variable, a multiple of it or a quotient.
    fn axis_domains(
        &mut self,
        data: &Block,
        buffer: Id<Buffer>,
        provided: &[IntSet],
        required: &[IntSet],
        analyzer: &mut Analyzer,
        found: &mut [Domain],
    ) -> Outcome<()> {
        const NO_MATCH: &str = "ValueError: BufferRegion pattern match failed";
        let shape = self.store.buffer(buffer).shape.clone();
        for ((extent, provided), required) in shape.iter().zip(provided).zip(required) {
            let (Some(pmin), Some(pmax)) = (provided.lower(), provided.upper()) else { return refuse(NO_MATCH) };
            if self.store.as_prim_int(pmin).is_some() && provided.is_point(self.store, analyzer) {
                let same = required.lower().is_some_and(|min| analyzer.can_prove_equal(self.store, pmin, min));
                if !same || !required.is_point(self.store, analyzer) {
                    return refuse("InternalError: Check failed: a constant place is required elsewhere");
                }
                continue;
            }
            let last = plus(self.store, *extent, -1);
            let zero = self.store.prim_int(0, self.store.prim_dtype(*extent));
            let last = binary(self.store, PrimOp::Max, last, zero);
            let Some((var, domain)) = self.solve(pmin, pmax, *required, last, analyzer, 0) else { return refuse(NO_MATCH) };
            if !self.add_domain(data, found, var, domain) {
                let ends = [(Some(pmin), required.lower()), (Some(pmax), required.upper())];
                let same = ends.into_iter().all(|pair| match pair {
                    (Some(a), Some(b)) => analyzer.can_prove_equal(self.store, a, b),
                    _ => false,
                });
                if !same {
                    return refuse("InternalError: Check failed: a variable that is none of the block");
                }
            }
        }
        Ok(())
    }

    fn solve(
        &mut self,
        pmin: PrimId,
        pmax: PrimId,
        required: IntSet,
        last: PrimId,
        analyzer: &mut Analyzer,
        depth: u32,
    ) -> Option<(Id<Symbol>, Domain)> {
        if depth > 64 {
            return None;
        }
        let (pmin, pmax) = (analyzer.simplify(self.store, pmin), analyzer.simplify(self.store, pmax));
        let mut end = |state: &mut Self, end: End| match end {
            End::At(value) => End::At(analyzer.simplify(state.store, value)),
            other => other,
        };
        let required = IntSet { min: end(self, required.min), max: end(self, required.max) };
        let zero = self.store.prim_int(0, self.store.prim_dtype(last));
        let var_of = |state: &Self, id: PrimId| match *state.store.prim_of_id(id) {
            PrimExpr::Var(var) => Some(var),
            _ => None,
        };
        if let PrimExpr::Binary { op: PrimOp::Mul, a, b } = *self.store.prim_of_id(pmin)
            && let Some((var, factor)) = var_of(self, a).map(|var| (var, b)).or(var_of(self, b).map(|var| (var, a)))
        {
            let mut div = |value: PrimId| binary(self.store, PrimOp::FloorDiv, value, factor);
            let map = |end: End, div: &mut dyn FnMut(PrimId) -> PrimId| match end {
                End::At(value) => End::At(div(value)),
                other => other,
            };
            let dom = IntSet { min: map(required.min, &mut div), max: map(required.max, &mut div) };
            let bound = IntSet::between(zero, div(last));
            return Some((var, Domain { dom, bound }));
        }
        if !analyzer.can_prove_equal(self.store, pmin, pmax) {
            return None;
        }
        match *self.store.prim_rc(pmin) {
            PrimExpr::Var(var) => Some((var, Domain { dom: required, bound: IntSet::between(zero, last) })),
            PrimExpr::Binary { op: PrimOp::FloorDiv, a, b } if analyzer.can_prove_greater_equal(self.store, b, 1) => {
                let mut scaled = |state: &mut Self, value: PrimId| {
                    let product = binary(state.store, PrimOp::Mul, value, b);
                    let sum = binary(state.store, PrimOp::Add, product, b);
                    let sum = plus(state.store, sum, -1);
                    (product, analyzer.simplify(state.store, sum))
                };
                let min = match required.min {
                    End::At(value) => End::At(scaled(self, value).0),
                    other => other,
                };
                let max = match required.max {
                    End::At(value) => End::At(scaled(self, value).1),
                    other => other,
                };
                let dom = IntSet { min, max };
                match var_of(self, a) {
                    Some(var) => {
                        let bound = IntSet::between(zero, scaled(self, last).1);
                        Some((var, Domain { dom, bound }))
                    }
                    None => self.solve(a, a, dom, last, analyzer, depth + 1),
                }
            }
            PrimExpr::Binary { op: PrimOp::FloorMod, a, b } => match var_of(self, a) {
                Some(var) => Some((var, Domain::NONE)),
                None => {
                    let positive = analyzer.can_prove_greater_equal(self.store, a, 1)
                        && analyzer.can_prove_greater_equal(self.store, b, 1)
                        && required.lower().is_some_and(|min| analyzer.can_prove_greater_equal(self.store, min, 0));
                    if !positive {
                        return None;
                    }
                    self.solve(a, a, IntSet { min: required.min, max: End::PosInf }, last, analyzer, depth + 1)
                }
            },
            _ => None,
        }
    }

    /// Makes the loops over a block that runs through the domains of its variables; returns them with that block.
    fn nest(
        &mut self,
        tree: &Tree,
        at: usize,
        data: &Block,
        found: &[Domain],
        analyzer: &mut Analyzer,
        keep_unit: bool,
    ) -> Outcome<(StmtId, Id<Block>)> {
        let mut loops = Vec::new();
        let mut iters: Vec<IterVar> = Vec::new();
        let mut predicate = None;
        for (iter, domain) in data.iters.iter().zip(found) {
            let (min, extent) = domain.dom.cover(self.store, (iter.min, iter.extent));
            let value = if keep_unit || self.store.as_prim_int(extent) != Some(1) {
                let bits = self.store.prim_dtype(min).bits.max(self.store.prim_dtype(extent).bits);
                let (var, prim) = self.var(&format!("ax{}", loops.len()), DType::new(DTypeCode::Int, bits));
                let extent = analyzer.simplify(self.store, extent);
                let zero = self.store.prim_int(0, DType::new(DTypeCode::Int, bits));
                analyzer.bind_range(self.store, var, zero, extent);
                loops.push((var, extent));
                binary(self.store, PrimOp::Add, min, prim)
            } else {
                min
            };
            if !domain.bound.is_nothing() {
                if let Some(least) = domain.bound.lower() {
                    let cond = binary(self.store, PrimOp::Ge, value, least);
                    if !analyzer.can_prove_with(self.store, cond, Strength::SymbolicBound) {
                        predicate = also(self.store, predicate, cond);
                    }
                }
                if let Some(most) = domain.bound.upper() {
                    let end = plus(self.store, most, 1);
                    let cond = binary(self.store, PrimOp::Lt, value, end);
                    if !analyzer.can_prove_with(self.store, cond, Strength::SymbolicBound) {
                        predicate = also(self.store, predicate, cond);
                    }
                }
            }
            iters.push(IterVar { value: Some(value), ..iter.clone() });
        }
        let predicate = predicate.map(|predicate| analyzer.simplify(self.store, predicate));
        let predicate = predicate.filter(|predicate| self.store.as_prim_int(*predicate) != Some(1));
        let block = Block { iters: iters.into(), predicate, ..data.clone() };
        let mut new = self.rebuilt_block(tree.nodes[at].stmt, block);
        let Stmt::Block(moved) = *self.store.stmt(new) else { return refuse("InternalError: a block is no block any more") };
        for (var, extent) in loops.into_iter().rev() {
            new = serial(self.store, var, extent, new);
        }
        Ok((new, moved))
    }
}
