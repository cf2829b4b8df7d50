//! Blocks that become part of those that use their results, or of the one whose results they use (TVM's
//! `primitive/compute_inline.cc`).

use super::analysis::{check_complete, check_not_output, complete_error, scope_root};
use super::loops::also;
use super::state::{BlockRef, State};
use super::tree::Tree;
use super::{Outcome, refuse};
use crate::ir::{Block, Buffer, DType, Id, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::tir::access::block_reads_and_writes;
use crate::tir::arith::iter::{Level, detect_iter_map, inverse_iter_map};
use crate::tir::arith::{Analyzer, Domains, IntSet, eval_set};
use crate::tir::{Rewriting, StmtMutator, binary, substitute};
use rustc_hash::FxHashMap;

pub(super) const NOT_INLINED: &str =
    "ScheduleError: The block cannot be inlined because its block body does not meet the requirement";
const ONLY_LEAF: &str = "ScheduleError: Cannot remove the only leaf in the scope";

/// The rewriting of accesses of the buffer that goes.
enum Way {
    /// Loads become the value that was stored, over these variables in the place of the indices.
    Forward { vars: Vec<Id<Symbol>>, value: PrimId },
    /// Stores become what the consumer stores: where, and what, over the value stored.
    Backward {
        store: (Id<Buffer>, Box<[PrimId]>, PrimId),
        subs: FxHashMap<Id<Symbol>, PrimId>,
        producer: Id<Block>,
        bound: PrimId,
    },
}

struct Inliner {
    buffer: Id<Buffer>,
    root: Id<Block>,
    known: Vec<Id<Buffer>>,
    way: Way,
    opaque: bool,
}

impl StmtMutator for Inliner {
    fn rule(&self) -> &'static str {
        "block inlined"
    }

    fn enter_prim(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        if let PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) = *cx.store.prim_of_id(id)
            && buffer == self.buffer
        {
            self.opaque = true;
        }
        None
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        let (Way::Forward { vars, value }, PrimExpr::Load { buffer, indices }) = (&self.way, cx.store.prim_of_id(post).clone())
        else {
            return post;
        };
        if buffer != self.buffer {
            return post;
        }
        substitute(cx.store, *value, &mut |_, symbol| {
            vars.iter().position(|var| *var == symbol).and_then(|at| indices.get(at).copied())
        })
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Block(block) => {
                let data = cx.store.prim_block(block).clone();
                self.opaque |= data.matches.iter().any(|(_, source)| source.buffer == self.buffer);
                self.known
                    .extend(data.reads.iter().chain(&data.writes).map(|region| region.buffer).chain(data.allocs.iter().copied()));
                let new = cx.descend(self, id);
                let Stmt::Block(inner) = *cx.store.stmt(new) else { return Some(new) };
                let mut changed = cx.store.prim_block(inner).clone();
                if block == self.root {
                    changed.allocs = changed.allocs.iter().copied().filter(|buffer| *buffer != self.buffer).collect();
                } else if changed.reads.iter().chain(&changed.writes).any(|region| region.buffer == self.buffer) {
                    let known = &self.known;
                    (changed.reads, changed.writes) = {
                        let (reads, writes) = block_reads_and_writes(cx.store, &changed, &|buffer| known.contains(&buffer));
                        (reads.into(), writes.into())
                    };
                }
                if let Way::Backward { producer, .. } = &self.way
                    && *producer == block
                {
                    self.guard(cx.store, &mut changed);
                }
                if changed == *cx.store.prim_block(inner) {
                    return Some(new);
                }
                let changed = cx.store.add_prim_block(changed);
                Some(cx.store.rebuild_stmt(id, Stmt::Block(changed)))
            }
            Stmt::Store { buffer, value, .. } if buffer == self.buffer => {
                let Way::Backward { store, subs, .. } = &self.way else { return None };
                let (target, indices, result) = store.clone();
                // The stored value may read the buffer again, as in a reduction: that is the consumer's buffer now.
                let subs = subs.clone();
                let sub = |store: &mut Store, prim| substitute(store, prim, &mut |_, symbol| subs.get(&symbol).copied());
                let again = over_loads(cx.store, value, buffer, &mut |store| {
                    let indices = indices.iter().map(|index| sub(store, *index)).collect();
                    store.prim(PrimExpr::Load { buffer: target, indices })
                });
                let result = sub(cx.store, result);
                let value = over_loads(cx.store, result, buffer, &mut |_| again);
                let indices = indices.iter().map(|index| sub(cx.store, *index)).collect();
                Some(cx.store.rebuild_stmt(id, Stmt::Store { buffer: target, indices, value }))
            }
            _ => None,
        }
    }
}

/// An expression with all loads of a buffer replaced.
fn over_loads(store: &mut Store, root: PrimId, buffer: Id<Buffer>, f: &mut dyn FnMut(&mut Store) -> PrimId) -> PrimId {
    let mut order = Vec::new();
    store.for_each_prim(root, &mut |id, _| order.push(id));
    let mut done: FxHashMap<PrimId, PrimId> = FxHashMap::default();
    for id in order {
        let node = store.prim_rc(id);
        let new = match &*node {
            PrimExpr::Load { buffer: of, .. } if *of == buffer => f(store),
            node => {
                let mut changed = false;
                let new = node.over(&mut |child| {
                    let new = done.get(&child).copied().unwrap_or(child);
                    changed |= new != child;
                    new
                });
                if !changed {
                    continue;
                }
                store.prim(new)
            }
        };
        done.insert(id, new);
    }
    done.get(&root).copied().unwrap_or(root)
}

impl Inliner {
    /// The producer runs only where the consumer did.
    fn guard(&self, store: &mut Store, block: &mut Block) {
        let Way::Backward { subs, bound, .. } = &self.way else { return };
        let analyzer = &mut Analyzer::new();
        for iter in &block.iters {
            analyzer.bind_range(store, iter.var, iter.min, iter.extent);
        }
        let cond = substitute(store, *bound, &mut |_, symbol| subs.get(&symbol).copied());
        let mut cond = analyzer.simplify(store, cond);
        if store.as_prim_int(cond) == Some(1) {
            return;
        }
        if let Stmt::If { cond: inner, then, other: None } = *store.stmt(block.body) {
            let simple = analyzer.simplify(store, inner);
            if simple != cond {
                let both = binary(store, PrimOp::And, cond, inner);
                cond = analyzer.simplify(store, both);
                block.body = then;
            }
        }
        let iters = block.iters.clone();
        let outer =
            substitute(store, cond, &mut |_, symbol| iters.iter().find(|iter| iter.var == symbol).and_then(|iter| iter.value));
        let outer = analyzer.simplify(store, outer);
        block.predicate = also(store, None, outer);
    }
}

impl State<'_> {
    /// The statement of a scope without one of its leaves; the loops around it go as far as they are empty then.
    pub(super) fn without_leaf(&mut self, tree: &Tree, root: usize, leaf: usize) -> Outcome<StmtId> {
        let mut top = leaf;
        let mut at = tree.nodes[leaf].parent;
        while let Some(here) = at {
            let body = match self.store.stmt(tree.nodes[here].stmt) {
                Stmt::For(_, body) => *body,
                Stmt::Block(block) => self.store.prim_block(*block).body,
                _ => break,
            };
            let all = self.store.stmts_of(body);
            let target = tree.nodes[top].stmt;
            if all.len() > 1 && all.contains(&target) {
                let rest: Vec<StmtId> = all.into_iter().filter(|stmt| *stmt != target).collect();
                let rest = self.store.flat_seq(Some(body), &rest);
                let stmt = tree.nodes[root].stmt;
                return match super::state::put(self.store, stmt, body, rest) {
                    Some(new) => Ok(new),
                    None => refuse(ONLY_LEAF),
                };
            }
            if !tree.is_loop(here) {
                break;
            }
            top = here;
            at = tree.nodes[here].parent;
        }
        refuse(ONLY_LEAF)
    }

    /// A block whose results are computed where they are used.
    pub(super) fn compute_inline(&mut self, of: BlockRef) -> Outcome<()> {
        let (tree, at) = self.find_block(of)?;
        let data = self.block_at(&tree, at)?;
        if data.init.is_some() {
            return refuse("ScheduleError: The block has init statement");
        }
        let [write] = &data.writes[..] else {
            return refuse("ScheduleError: The block is allowed to write only a single buffer region");
        };
        let buffer = write.buffer;
        let root = scope_root(self, &tree, at, true)?;
        check_not_output(self, &tree, at, root)?;
        check_complete(self, &tree, at, root)?;
        let Stmt::Store { indices, value, .. } = self.store.stmt(data.body).clone() else { return refuse(NOT_INLINED) };
        let Some(way) = self.forward(&data, &indices, value) else { return refuse(NOT_INLINED) };
        let gone = self.block_id(of);
        self.inline(&tree, root, at, gone, &data, buffer, way)
    }

    /// The way to make loads values: by the variables of the block, if those are the indices, or by those in terms of indices.
    fn forward(&mut self, data: &Block, indices: &[PrimId], value: PrimId) -> Option<Way> {
        let analyzer = &mut Analyzer::new();
        let zero = self.store.prim_int(0, DType::I32);
        let one = self.store.prim_int(1, DType::I32);
        let trivial = indices.len() == data.iters.len()
            && data.iters.iter().zip(indices).all(|(iter, index)| {
                matches!(*self.store.prim_of_id(*index), PrimExpr::Var(var) if var == iter.var)
                    || analyzer.can_prove_equal(self.store, *index, zero)
                        && analyzer.can_prove_equal(self.store, iter.min, zero)
                        && analyzer.can_prove_equal(self.store, iter.extent, one)
            });
        if trivial {
            return Some(Way::Forward { vars: data.iters.iter().map(|iter| iter.var).collect(), value });
        }
        let iters: Vec<_> = data.iters.iter().map(|iter| (iter.var, (iter.min, iter.extent))).collect();
        let map = detect_iter_map(self.store, analyzer, indices, &iters, None, Level::Bijective, false).ok()?;
        let mut vars = Vec::new();
        let mut places = Vec::new();
        for (place, index) in indices.iter().enumerate() {
            let dtype = self.store.prim_dtype(*index);
            let (var, prim) = self.var(&format!("ph_{place}"), dtype);
            vars.push(var);
            places.push(prim);
        }
        let mut inverse: FxHashMap<_, _> = inverse_iter_map(self.store, &map.indices, &places)?.into_iter().collect();
        for iter in &data.iters {
            if self.store.as_prim_int(iter.min).is_some() && analyzer.can_prove_equal(self.store, iter.extent, one) {
                inverse.insert(iter.var, iter.min);
            }
        }
        let value = substitute(self.store, value, &mut |_, symbol| inverse.get(&symbol).copied());
        Some(Way::Forward { vars, value })
    }

    #[expect(clippy::too_many_arguments, reason = "what both directions have in common")]
    fn inline(
        &mut self,
        tree: &Tree,
        root: usize,
        at: usize,
        gone: Id<Block>,
        data: &Block,
        buffer: Id<Buffer>,
        way: Way,
    ) -> Outcome<()> {
        let planned = self.without_leaf(tree, root, at)?;
        let Stmt::Block(scope) = *self.store.stmt(planned) else { return refuse("InternalError: the scope is no block") };
        let known = data.reads.iter().chain(&data.writes).map(|region| region.buffer).chain(data.allocs.iter().copied());
        let mut inliner = Inliner { buffer, root: scope, known: known.collect(), way, opaque: false };
        if let Way::Backward { producer, .. } = &mut inliner.way {
            // The plan has made other blocks of those around what it took away, never of the producer itself.
            debug_assert!(*producer != gone);
        }
        let new = Rewriting::new(self.store).visit(&mut inliner, planned);
        if inliner.opaque {
            return refuse("ScheduleError: The buffer to be inlined has opaque access or matched subregions");
        }
        self.replace(tree.nodes[root].stmt, new, &[gone], &[])
    }

    /// A block that becomes part of the one whose results it uses.
    pub(super) fn reverse_compute_inline(&mut self, of: BlockRef) -> Outcome<()> {
        const PRODUCER: &str = "ScheduleError: The consumer block to be inlined is required to have only a single producer block, \
                                and the producer block should be a complete block who has only a single consumer";
        let (tree, at) = self.find_block(of)?;
        let data = self.block_at(&tree, at)?;
        if data.init.is_some() {
            return refuse("ScheduleError: The block has init statement");
        }
        let root = scope_root(self, &tree, at, true)?;
        // The one buffer that it reads of those that blocks of the scope write.
        let mut read: Vec<Id<Buffer>> = Vec::new();
        for region in &data.reads {
            let mut written = false;
            for other in tree.child_blocks(root) {
                written |= self.block_at(&tree, other)?.writes.iter().any(|write| write.buffer == region.buffer);
            }
            if written && !read.contains(&region.buffer) {
                read.push(region.buffer);
            }
        }
        let [buffer] = read[..] else {
            return refuse("ScheduleError: The block is allowed to read only a single buffer region");
        };
        check_complete(self, &tree, at, root)?;
        let mut producers = Vec::new();
        for other in root + 1..tree.nodes[root].end {
            if tree.is_loop(other) || !tree.child_blocks(other).is_empty() {
                continue;
            }
            if self.block_at(&tree, other)?.writes.iter().any(|write| write.buffer == buffer) {
                if complete_error(self, &tree, other, root)? != 0 {
                    return refuse(PRODUCER);
                }
                producers.push(other);
            }
        }
        let [producer] = producers[..] else { return refuse(PRODUCER) };
        check_not_output(self, &tree, producer, root)?;
        let made = self.block_at(&tree, producer)?;
        let Some(way) = self.backward(&data, &made, tree.as_block(producer), buffer) else { return refuse(NOT_INLINED) };
        let gone = self.block_id(of);
        let into = tree.as_block(producer).map(|block| self.block_ref(block));
        self.inline(&tree, root, at, gone, &data, buffer, way)?;
        into.map_or(Ok(()), |into| self.renew_bindings(self.block_id(into)))
    }

    fn backward(&mut self, data: &Block, made: &Block, producer: Option<Id<Block>>, buffer: Id<Buffer>) -> Option<Way> {
        if data.predicate.is_some() {
            return None;
        }
        let Stmt::Store { buffer: target, indices, value } = self.store.stmt(data.body).clone() else { return None };
        let mut loads: Vec<Box<[PrimId]>> = Vec::new();
        for root in indices.iter().chain([&value]) {
            self.store.for_each_prim(*root, &mut |_, node| {
                if let PrimExpr::Load { buffer: of, indices } = node
                    && *of == buffer
                    && !loads.contains(indices)
                {
                    loads.push(indices.clone());
                }
            });
        }
        let [load] = &loads[..] else { return None };
        let mut subs: FxHashMap<Id<Symbol>, PrimId> = FxHashMap::default();
        let mut bound = self.store.prim_int(1, DType::BOOL);
        for iter in &data.iters {
            if self.store.as_prim_int(iter.extent) == Some(1) && self.store.as_prim_int(iter.min).is_some() {
                subs.insert(iter.var, iter.min);
            }
            let var = self.store.prim(PrimExpr::Var(iter.var));
            let end = binary(self.store, PrimOp::Add, iter.min, iter.extent);
            let above = binary(self.store, PrimOp::Ge, var, iter.min);
            let below = binary(self.store, PrimOp::Lt, var, end);
            let within = binary(self.store, PrimOp::And, above, below);
            bound = binary(self.store, PrimOp::And, bound, within);
        }
        let analyzer = &mut Analyzer::new();
        let iters: Vec<_> = data.iters.iter().map(|iter| (iter.var, (iter.min, iter.extent))).collect();
        let map = detect_iter_map(self.store, analyzer, load, &iters, None, Level::NoCheck, false).ok()?;
        if map.indices.is_empty() {
            return None;
        }
        let stored = match *self.store.stmt(made.body) {
            Stmt::If { then, other: None, .. } => then,
            _ => made.body,
        };
        let Stmt::Store { indices: places, .. } = self.store.stmt(stored).clone() else { return None };
        subs.extend(inverse_iter_map(self.store, &map.indices, &places)?);
        // The producer must run for every iteration of the consumer.
        let domains: Domains =
            made.iters.iter().map(|iter| (iter.var, IntSet::from_range(self.store, iter.min, iter.extent))).collect();
        for iter in &data.iters {
            let set = eval_set(self.store, *subs.get(&iter.var)?, &domains);
            let end = binary(self.store, PrimOp::Add, iter.min, iter.extent);
            let last = crate::tir::arith::plus(self.store, end, -1);
            let mut less = |a: Option<PrimId>, b: Option<PrimId>| match (a, b) {
                (Some(a), Some(b)) => {
                    let less = binary(self.store, PrimOp::Lt, a, b);
                    analyzer.can_prove(self.store, less)
                }
                _ => false,
            };
            if less(Some(iter.min), set.lower()) || less(set.upper(), Some(last)) {
                return None;
            }
        }
        Some(Way::Backward { store: (target, indices, value), subs, producer: producer?, bound })
    }
}
