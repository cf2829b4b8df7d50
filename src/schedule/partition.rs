//! Loops divided into ranges one after the other, and loops of several nests made one (`loop_partition` and `merge` of TVM's
//! `primitive/loop_transformation.cc`).

use super::analysis::{check_starts_at_zero, scope_root};
use super::loops::{ANNOTATED, is_plain, serial};
use super::state::{LoopRef, State, put};
use super::tree::Tree;
use super::{Outcome, refuse};
use crate::ir::{Block, Buffer, For, ForKind, Id, IterVar, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Symbol};
use crate::tir::arith::Analyzer;
use crate::tir::{Nothing, Rewriting, binary, cast, substitute_stmt};

/// A part of a partitioned loop under way.
struct Part {
    var: Id<Symbol>,
    value: PrimId,
    min: PrimId,
    end: PrimId,
}

impl State<'_> {
    /// A loop becomes several that run one after the other, each in a block; one factor may be left out.
    pub(super) fn loop_partition(&mut self, of: LoopRef, factors: &[Option<PrimId>]) -> Outcome<Vec<LoopRef>> {
        let (tree, at) = self.find_loop(of)?;
        let (head, body) = self.head(&tree, at)?;
        let (Some(first), Some(extent)) = (self.store.as_prim_int(head.min), self.store.as_prim_int(head.extent)) else {
            return refuse(
                "ScheduleError: The min and extent values of the loop are required to be known at compile time. However, dynamic \
                 shape has been detected.",
            );
        };
        let mut sizes = Vec::new();
        let mut open = None;
        let mut total = 0i64;
        for (place, factor) in factors.iter().enumerate() {
            match factor.map(|factor| self.store.as_prim_int(factor)) {
                None if open.is_some() => {
                    return refuse("ScheduleError: only one factor can be specified as -1 or none");
                }
                None => {
                    open = Some(place);
                    sizes.push(0);
                }
                Some(Some(size)) if size > 0 => {
                    sizes.push(size);
                    total = total.saturating_add(size);
                }
                Some(_) => return refuse("ScheduleError: All the constant factors are required to be positive."),
            }
        }
        if total >= extent {
            return refuse("ScheduleError: The sum of factors is larger than or equal to the extent of loop");
        }
        match open {
            Some(place) => sizes[place] = extent - total,
            None => sizes.push(extent - total),
        }
        if !is_plain(self.store, &head) {
            return refuse(ANNOTATED);
        }
        let dtype = self.store.symbol(head.var).dtype;
        let name = self.name_of(head.var);
        let block_name = format!("{}_{name}", self.innermost_name(body)?);
        let mut stmts = Vec::new();
        let mut loops = Vec::new();
        let mut start = first;
        for (place, size) in sizes.into_iter().enumerate() {
            let end = start.saturating_add(size);
            let (var, value) = self.var(&format!("{name}{place}"), dtype);
            let part = Part { var, value, min: self.store.prim_int(start, dtype), end: self.store.prim_int(end, dtype) };
            let inner = self.partition(body, head.var, &part)?;
            let extent = self.store.prim_int(end - start, dtype);
            let new = For { var, min: part.min, extent, step: None, kind: ForKind::Serial, annotations: None };
            let inner = self.store.rebuild_stmt(tree.nodes[at].stmt, Stmt::For(new, inner));
            stmts.push(self.opaque(&format!("{block_name}{place}_partition"), inner));
            loops.push(self.loop_ref(var));
            start = end;
        }
        let all = self.store.add_stmts(&stmts);
        let common = self.opaque(&format!("{block_name}_common"), all);
        // The blocks under the loop stand for those in its first part.
        let made = super::tree::blocks_in(self.store, common);
        let gone = super::tree::blocks_in(self.store, tree.nodes[at].stmt);
        self.replace(tree.nodes[at].stmt, common, &gone, &made)?;
        made.first().map_or(Ok(()), |outer| self.renew_scope_of(*outer, true))?;
        Ok(loops)
    }

    /// The name of the block under a chain of loops.
    fn innermost_name(&self, body: StmtId) -> Outcome<String> {
        match self.store.stmt(body) {
            Stmt::For(_, body) => self.innermost_name(*body),
            Stmt::Block(block) => Ok(self.store.str(self.store.prim_block(*block).name).to_owned()),
            _ => refuse("InternalError: no block stands under the loop alone"),
        }
    }

    /// A block without variables around a statement.
    fn opaque(&mut self, name: &str, body: StmtId) -> StmtId {
        let name = self.store.name(name);
        let block = self.store.add_prim_block(Block::around(name, body));
        self.store.add_stmt(Stmt::Block(block))
    }

    /// The body of a partitioned loop for one of its parts: everything in it is defined anew, and blocks run through the part
    /// only.
    fn partition(&mut self, body: StmtId, var: Id<Symbol>, part: &Part) -> Outcome<StmtId> {
        let mut cx = Rewriting::new(self.store).fresh();
        cx.set_symbol(var, part.value);
        let copy = cx.visit(&mut Nothing, body);
        Ok(self.parted(copy, part))
    }

    fn parted(&mut self, id: StmtId, part: &Part) -> StmtId {
        let stmt = match self.store.stmt(id).clone() {
            Stmt::For(head, body) => Stmt::For(head, self.parted(body, part)),
            Stmt::Seq(list) => {
                let stmts: Vec<StmtId> = self.store.items(list).collect();
                let stmts: Vec<StmtId> = stmts.into_iter().map(|stmt| self.parted(stmt, part)).collect();
                return self.store.flat_seq(Some(id), &stmts);
            }
            Stmt::If { cond, then, other } => {
                let then = self.parted(then, part);
                Stmt::If { cond, then, other: other.map(|other| self.parted(other, part)) }
            }
            Stmt::Block(block) => {
                let data = self.store.prim_block(block).clone();
                let body = self.parted(data.body, part);
                let block = self.parted_block(Block { body, ..data }, part);
                Stmt::Block(self.store.add_prim_block(block))
            }
            _ => return id,
        };
        self.store.rebuild_stmt(id, stmt)
    }

    fn parted_block(&mut self, mut data: Block, part: &Part) -> Block {
        let name = format!("{}_{}", self.store.str(data.name), self.name_of(part.var));
        data.name = self.store.name(&name);
        let Some(at) = data.iters.iter().position(|iter| iter.value == Some(part.value)) else { return data };
        let dtype = self.store.symbol(data.iters[at].var).dtype;
        let (min, end) = (cast(self.store, dtype, part.min), cast(self.store, dtype, part.end));
        let extent = binary(self.store, PrimOp::Sub, end, min);
        data.iters[at] = IterVar { min, extent, ..data.iters[at].clone() };
        // Regions become what the variables run through, where accesses are variables alone.
        let mut accesses: Vec<(Id<Buffer>, Vec<PrimId>)> = Vec::new();
        self.plain_accesses(data.body, &mut accesses);
        let ranges: Vec<(Id<Symbol>, (PrimId, PrimId))> =
            data.iters.iter().map(|iter| (iter.var, (iter.min, iter.extent))).collect();
        let store = &*self.store;
        let over = |regions: &[Region]| -> Box<[Region]> {
            regions
                .iter()
                .map(|region| {
                    let Some((_, indices)) = accesses.iter().find(|(buffer, _)| *buffer == region.buffer) else {
                        return region.clone();
                    };
                    let found: Option<Vec<_>> = indices
                        .iter()
                        .map(|index| match *store.prim_of_id(*index) {
                            PrimExpr::Var(var) => {
                                let (min, extent) = ranges.iter().find(|(known, _)| *known == var)?.1;
                                Some(crate::tir::access::range_of(store, min, extent))
                            }
                            _ => None,
                        })
                        .collect();
                    found.map_or_else(|| region.clone(), |ranges| Region { buffer: region.buffer, ranges: ranges.into() })
                })
                .collect()
        };
        (data.writes, data.reads) = (over(&data.writes), over(&data.reads));
        data
    }

    /// The first access of each buffer whose indices are variables.
    fn plain_accesses(&self, id: StmtId, found: &mut Vec<(Id<Buffer>, Vec<PrimId>)>) {
        let store = &*self.store;
        let mut add = |buffer: Id<Buffer>, indices: &[PrimId]| {
            let plain = indices.iter().all(|index| matches!(store.prim_of_id(*index), PrimExpr::Var(_)));
            if plain && !found.iter().any(|(known, _)| *known == buffer) {
                found.push((buffer, indices.to_vec()));
            }
        };
        store.for_each_stmt(id, |stmt| {
            if let Stmt::Store { buffer, indices, .. } = stmt {
                add(*buffer, indices);
            }
            store.for_each_prim_of(stmt, |prim| {
                store.for_each_prim(prim, &mut |_, node| {
                    if let PrimExpr::Load { buffer, indices } = node {
                        add(*buffer, indices);
                    }
                });
            });
        });
    }

    /// Loops of several nests that run alike become one: the innermost of each nest is named.
    pub(super) fn merge(&mut self, loops: &[LoopRef]) -> Outcome<LoopRef> {
        let [first, _, ..] = loops else { return refuse("ValueError: 'merge' requires at least 2 loop(s)") };
        let (tree, _) = self.find_loop(*first)?;
        let mut places = Vec::new();
        for of in loops {
            let Some(at) = tree.loop_of(of.var) else { return refuse("ValueError: the loop does not exist any more") };
            places.push(at);
        }
        let Some(common) = tree.ancestors(places[0]).find(|above| places.iter().all(|at| tree.is_under(*at, *above))) else {
            return refuse("InternalError: the loops have nothing in common");
        };
        let analyzer = &mut Analyzer::new();
        let mut nests: Vec<Vec<(usize, For, StmtId)>> = Vec::new();
        let mut scope = None;
        for at in &places {
            let root = scope_root(self, &tree, *at, false)?;
            let mut nest = Vec::new();
            for above in std::iter::once(*at).chain(tree.ancestors(*at)).take_while(|above| *above != common) {
                let (head, body) = self.head(&tree, above)?;
                if !is_plain(self.store, &head) {
                    return refuse(ANNOTATED);
                }
                check_starts_at_zero(self.store, &head, analyzer)?;
                nest.push((above, head, body));
            }
            for pair in nest.windows(2) {
                if pair[1].2 != tree.nodes[pair[0].0].stmt {
                    return refuse("ScheduleError: The inner loop is not the only child of outer loop");
                }
            }
            if *scope.get_or_insert(root) != root {
                return refuse("ScheduleError: Expected the loops to be under the same block scope.");
            }
            if let Some(other) = nests.first() {
                if other.len() != nest.len() {
                    return refuse("ScheduleError: Merge loop's nesting depth must be same, but not.");
                }
                for ((_, a, _), (_, b, _)) in nest.iter().zip(other) {
                    if !analyzer.can_prove_equal(self.store, a.extent, b.extent) {
                        return refuse("ScheduleError: Merge loop's `extent` must be same, but not.");
                    }
                }
            }
            nests.push(nest);
        }
        self.merged(&tree, common, &nests)
    }

    fn merged(&mut self, tree: &Tree, common: usize, nests: &[Vec<(usize, For, StmtId)>]) -> Outcome<LoopRef> {
        let mut vars = Vec::new();
        for (_, head, _) in &nests[0] {
            let (name, dtype) = (self.name_of(head.var), self.store.symbol(head.var).dtype);
            vars.push((self.var(&format!("{name}_m"), dtype), head.extent));
        }
        let mut bodies = Vec::new();
        for nest in nests {
            let values: Vec<(Id<Symbol>, PrimId)> =
                nest.iter().zip(&vars).map(|((_, head, _), ((_, prim), _))| (head.var, *prim)).collect();
            bodies.push(substitute_stmt(self.store, nest[0].2, &values));
        }
        let mut new = self.store.add_stmts(&bodies);
        for ((var, _), extent) in &vars {
            new = serial(self.store, *var, *extent, new);
        }
        let innermost = self.loop_ref(vars[0].0.0);
        // The merged nest stands where the last one stood; the others are gone.
        let scope = tree.nodes[common].stmt;
        let mut changed = scope;
        let tops: Vec<StmtId> = nests.iter().filter_map(|nest| nest.last()).map(|(at, ..)| tree.nodes[*at].stmt).collect();
        for (place, top) in tops.iter().enumerate() {
            let by = if place + 1 == tops.len() { new } else { self.store.no_op() };
            match put(self.store, changed, *top, by) {
                Some(next) => changed = next,
                None => return refuse("InternalError: a loop is not in its scope"),
            }
        }
        self.replace(scope, changed, &[], &[])?;
        Ok(innermost)
    }
}
