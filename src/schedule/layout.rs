//! Iterators of blocks in another order (part of TVM's `primitive/layout_transformation.cc`).

use super::analysis::{allocated_in, check_starts_at_zero, nth_buffer, scope_root, uses_any};
use super::loops::serial;
use super::pad_layout::{PadValue, Padded};
use super::state::{BlockRef, Flags, State};
use super::{Outcome, refuse};
use crate::ir::{Block, Buffer, DType, Id, IterKind, IterVar, PrimExpr, PrimId, PrimParam, Region, Stmt, StmtId, Symbol};
use crate::tir::access::block_reads_and_writes;
use crate::tir::arith::Analyzer;
use crate::tir::arith::iter::{Iters, Level, simplify_iter_map};
use crate::tir::index_map::IndexMap;
use crate::tir::{Rewriting, StmtMutator, cast, substitute_stmt};

/// Conditions of expressions that stand in each other and are known; those deeper inside are not.
const MAX_DEPTH: usize = 64;

/// Indices of buffers and parts of them written most simply, given the iterators around.
pub(super) struct Accesses {
    analyzer: Analyzer,
    iters: Vec<(Id<Symbol>, (PrimId, PrimId))>,
    predicates: Vec<PrimId>,
    /// A buffer with the one in its place and where its elements go; then only its accesses change.
    relayout: Option<(Id<Buffer>, Id<Buffer>, IndexMap)>,
    /// True if a region of that buffer could not be found again.
    lost: bool,
}

impl Accesses {
    /// Knows of no iterators yet.
    pub fn new() -> Accesses {
        Accesses { analyzer: Analyzer::new(), iters: Vec::new(), predicates: Vec::new(), relayout: None, lost: false }
    }

    fn simple(&mut self, cx: &mut Rewriting<'_>, indices: &[PrimId]) -> Vec<PrimId> {
        let mut predicate = None;
        for cond in &self.predicates {
            predicate = super::loops::also(cx.store, predicate, *cond);
        }
        let iters: &Iters = &self.iters;
        let new = simplify_iter_map(cx.store, &mut self.analyzer, indices, iters, predicate, Level::Surjective, true);
        new.into_iter()
            .zip(indices)
            .map(|(new, old)| {
                let number = cx.store.as_prim_int(new).is_some();
                let var = matches!(cx.store.prim_of_id(*old), PrimExpr::Var(_));
                if number && var { *old } else { new }
            })
            .collect()
    }

    /// The target of an access.
    fn access(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>, indices: &[PrimId]) -> (Id<Buffer>, Box<[PrimId]>) {
        match self.relayout.clone() {
            None => (buffer, self.simple(cx, indices).into()),
            Some((old, new, map)) if old == buffer => {
                let indices = map.map(cx.store, &mut Analyzer::new(), indices);
                (new, self.simple(cx, &indices).into())
            }
            Some(_) => (buffer, indices.into()),
        }
    }

    /// A block with its regions as they are now.
    fn signature(&mut self, cx: &mut Rewriting<'_>, block: &mut Block) {
        let Some((old, new, _)) = self.relayout else {
            block.reads = self.regions(cx, &block.reads);
            block.writes = self.regions(cx, &block.writes);
            return;
        };
        if block.reads.iter().chain(&block.writes).any(|region| region.buffer == old) {
            let (reads, writes) = block_reads_and_writes(cx.store, block, &|buffer| buffer == new);
            for (regions, found) in [(&mut block.reads, reads), (&mut block.writes, writes)] {
                for region in regions.iter_mut().filter(|region| region.buffer == old) {
                    match &found[..] {
                        [only] => *region = only.clone(),
                        _ => self.lost = true,
                    }
                }
            }
        }
        for (_, source) in block.matches.iter_mut().filter(|(_, source)| source.buffer == old) {
            source.buffer = new;
        }
        block.allocs = block.allocs.iter().map(|buffer| if *buffer == old { new } else { *buffer }).collect();
    }

    fn regions(&mut self, cx: &mut Rewriting<'_>, regions: &[Region]) -> Box<[Region]> {
        regions
            .iter()
            .map(|region| {
                let mins: Vec<PrimId> = region.ranges.iter().map(|(min, _)| *min).collect();
                let mins = self.simple(cx, &mins);
                let ranges = region
                    .ranges
                    .iter()
                    .zip(mins)
                    .map(|((_, extent), min)| {
                        (
                            min,
                            extent
                                .map(|extent| self.analyzer.simplify(cx.store, extent))
                                .filter(|extent| cx.store.as_prim_int(*extent) != Some(1)),
                        )
                    })
                    .collect();
                Region { buffer: region.buffer, ranges }
            })
            .collect()
    }
}

impl StmtMutator for Accesses {
    fn rule(&self) -> &'static str {
        "accesses simplified"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::For(head, _) => {
                self.analyzer.bind_range(cx.store, head.var, head.min, head.extent);
                self.iters.push((head.var, (head.min, head.extent)));
                cx.forget();
                let new = cx.descend(self, id);
                self.iters.pop();
                cx.forget();
                Some(new)
            }
            Stmt::Block(block) => {
                let data = cx.store.prim_block(block).clone();
                let before = self.iters.len();
                for iter in &data.iters {
                    self.analyzer.bind_range(cx.store, iter.var, iter.min, iter.extent);
                    self.iters.push((iter.var, (iter.min, iter.extent)));
                }
                cx.forget();
                let new = cx.descend(self, id);
                let Stmt::Block(inner) = *cx.store.stmt(new) else { return Some(new) };
                let mut changed = cx.store.prim_block(inner).clone();
                self.signature(cx, &mut changed);
                self.iters.truncate(before);
                cx.forget();
                if changed == *cx.store.prim_block(inner) {
                    return Some(new);
                }
                let changed = cx.store.add_prim_block(changed);
                Some(cx.store.rebuild_stmt(id, Stmt::Block(changed)))
            }
            Stmt::If { cond, then, other } => {
                let cond = cx.root(self, cond);
                let scope = self.analyzer.enter(cx.store, cond);
                self.predicates.push(cond);
                cx.forget();
                let then = cx.visit(self, then);
                self.predicates.pop();
                self.analyzer.exit(scope);
                let negation = crate::tir::math::not(cx.store, cond);
                let scope = self.analyzer.enter(cx.store, negation);
                cx.forget();
                let other = other.map(|other| cx.visit(self, other));
                self.analyzer.exit(scope);
                cx.forget();
                let new = Stmt::If { cond, then, other };
                Some(cx.store.rebuild_stmt(id, new))
            }
            Stmt::Store { buffer, indices, value } => {
                let value = cx.root(self, value);
                let indices = cx.roots(self, &indices);
                let (buffer, indices) = self.access(cx, buffer, &indices);
                Some(cx.store.rebuild_stmt(id, Stmt::Store { buffer, indices, value }))
            }
            _ => None,
        }
    }

    fn enter_prim(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        let PrimExpr::Call { op, args, dtype } = cx.store.prim_of_id(id).clone() else { return None };
        let &[cond, then, other] = &args[..] else { return None };
        if cx.store.str(op) != "if_then_else" || self.predicates.len() > MAX_DEPTH {
            return None;
        }
        let cond = cx.root(self, cond);
        let mut values = vec![cond];
        let negation = cx.store.prim(PrimExpr::Not(cond));
        for (holds, value) in [(cond, then), (negation, other)] {
            let scope = self.analyzer.enter(cx.store, holds);
            let before = self.predicates.len();
            let iters: Vec<Id<Symbol>> = self.iters.iter().map(|(var, _)| *var).collect();
            if uses_any(cx.store, holds, &iters) {
                self.predicates.push(holds);
            }
            values.push(cx.apart(|cx| cx.root(self, value)));
            self.predicates.truncate(before);
            self.analyzer.exit(scope);
        }
        Some(if values[..] == args[..] { id } else { cx.store.prim(PrimExpr::Call { op, args: values.into(), dtype }) })
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        let PrimExpr::Load { buffer, indices } = cx.store.prim_of_id(post).clone() else { return post };
        let (buffer, indices) = self.access(cx, buffer, &indices);
        cx.store.prim(PrimExpr::Load { buffer, indices })
    }
}

impl State<'_> {
    /// The elements of a buffer change places, in the buffer and wherever it is accessed.
    pub(super) fn transform_layout(
        &mut self,
        of: BlockRef,
        index: i64,
        writes: bool,
        map: &dyn Fn(&mut State<'_>, &[DType]) -> Outcome<IndexMap>,
        pad: Option<&PadValue<'_>>,
        injective: bool,
    ) -> Outcome<()> {
        let (tree, at) = self.find_block(of)?;
        let buffer = nth_buffer(&self.block_at(&tree, at)?, index, writes)?;
        let old = self.store.buffer(buffer).clone();
        let dtypes: Vec<DType> = old.shape.iter().map(|extent| self.store.prim_dtype(*extent)).collect();
        let map = map(self, &dtypes)?;
        if map.params.len() != old.shape.len() {
            return refuse("InternalError: Check failed: (args.size() == initial_indices_orig.size()) is false: ");
        }
        let matched = std::iter::once(at).chain(tree.ancestors(at)).any(|at| {
            tree.as_block(at)
                .is_some_and(|block| self.store.prim_block(block).matches.iter().any(|(target, _)| *target == buffer))
        });
        if matched {
            return refuse("ScheduleError: The input buffer is defined in `match_buffer` of a block");
        }
        let pad = match pad {
            Some(pad) => {
                let map = pad(self, old.dtype, dtypes.first().copied().unwrap_or(DType::I32))?;
                let [value] = map.indices[..] else {
                    let count = map.indices.len();
                    return refuse(format!(
                        "ScheduleError: The IndexMap specifying pad_value has {count} outputs, should only have one output"
                    ));
                };
                let given = self.store.prim_dtype(value);
                if given != old.dtype {
                    return refuse(format!("ScheduleError: Type mismatch {} vs {given}", old.dtype));
                }
                Some(map)
            }
            None => None,
        };
        let site = allocated_in(self, &tree, at, buffer);
        let root = match site {
            Some(site) => site,
            None => scope_root(self, &tree, at, false)?,
        };
        let analyzer = &mut Analyzer::new();
        self.bind_shapes(analyzer)?;
        let mut padded = None;
        if !injective {
            let Some((inverse, padding)) = map.inverse(self.store, analyzer, &old.shape, Level::NoCheck) else {
                return refuse("InternalError: Could not parse mapping as sum of iterators");
            };
            if self.store.as_prim_int(padding) != Some(0) {
                let Some(value) = pad else {
                    return refuse(
                        "ScheduleError: Transformation would introduce padding at places that the buffer does not have",
                    );
                };
                padded = Some((inverse, padding, value));
            }
        }
        let shape = map.map_shape(self.store, analyzer, &old.shape);
        let new = self.store.add_buffer(Buffer { shape: shape.into(), ..old });
        let stmt = tree.nodes[root].stmt;
        let (scope, made) = match padded {
            Some((inverse, predicate, value)) => {
                self.pad_layout(stmt, &Padded { old: buffer, new, inverse, predicate, value })?
            }
            None => (stmt, None),
        };
        let mut accesses = Accesses { relayout: Some((buffer, new, map)), ..Accesses::new() };
        let rewritten = Rewriting::new(self.store).visit(&mut accesses, scope);
        if accesses.lost {
            return refuse("InternalError: Check failed: the region of a buffer is not found again");
        }
        let made: Vec<Id<Block>> = match made {
            None => Vec::new(),
            // It is a new one since then, of the same name.
            Some(made) => {
                let name = self.store.prim_block(made).name;
                let all = super::tree::blocks_in(self.store, rewritten);
                all.into_iter().filter(|block| self.store.prim_block(*block).name == name).collect()
            }
        };
        self.replace(stmt, rewritten, &[], &made)?;
        // TVM knows nothing of a block that it made here, nor of the scope where it stands at the beginning of that.
        let unknown = Flags { affine: false, covered: false, stages: false };
        for block in &made {
            self.set_flags(*block, unknown);
            if self.store.prim_block(*block).writes.is_empty() {
                let tree = self.tree()?;
                let scope = tree.block(*block).and_then(|at| tree.scope(at)).and_then(|at| tree.as_block(at));
                scope.into_iter().for_each(|scope| self.set_flags(scope, unknown));
            }
        }
        if site.is_none() {
            let mut func = self.func()?;
            for param in &mut func.params {
                if *param == PrimParam::Buffer(buffer) {
                    *param = PrimParam::Buffer(new);
                }
            }
            self.set_func(func);
        }
        Ok(())
    }

    /// The iterators of a block become others, one for each index of a map, and so do the loops around it.
    pub(super) fn transform_block_layout(
        &mut self,
        of: BlockRef,
        map: &dyn Fn(&mut State<'_>, &[DType]) -> Outcome<IndexMap>,
    ) -> Outcome<()> {
        let (tree, at) = self.find_block(of)?;
        let data = self.block_at(&tree, at)?;
        let analyzer = &mut Analyzer::new();
        let loops = tree.loops_above(at);
        let mut heads = Vec::new();
        for at in &loops {
            let (head, _) = self.head(&tree, *at)?;
            check_starts_at_zero(self.store, &head, analyzer)?;
            heads.push(head);
        }
        let top = match loops.first() {
            None => at,
            Some(top) => {
                for above in &loops {
                    let body = self.head(&tree, *above)?.1;
                    if tree.nodes[*above].children.len() != 1 || body != tree.nodes[tree.nodes[*above].children[0]].stmt {
                        return refuse("ScheduleError: The statement is not a chain of loops over a single block");
                    }
                }
                *top
            }
        };
        // Each binding is the variable of one loop.
        let is_loop = |value: PrimId| matches!(*self.store.prim_of_id(value), PrimExpr::Var(var) if heads.iter().any(|head| head.var == var));
        if !data.iters.iter().all(|iter| iter.value.is_some_and(is_loop)) {
            return refuse("ScheduleError: The binding values of the block are not variables of outer loops.");
        }
        let dtypes: Vec<DType> = data.iters.iter().map(|iter| self.store.symbol(iter.var).dtype).collect();
        let map = map(self, &dtypes)?;
        if map.params.len() != data.iters.len() {
            return refuse(
                "ScheduleError: The index map can't be applied to block iters because the number of parameters mismatch.",
            );
        }
        let vars: Vec<PrimId> = data.iters.iter().map(|iter| self.store.prim(PrimExpr::Var(iter.var))).collect();
        let extents: Vec<PrimId> = data.iters.iter().map(|iter| iter.extent).collect();
        let indices = map.map(self.store, analyzer, &vars);
        let shape = map.map_shape(self.store, analyzer, &extents);
        let mut iters = Vec::new();
        let mut news = Vec::new();
        for (place, (index, extent)) in indices.iter().zip(&shape).enumerate() {
            let dtype = self.store.prim_dtype(*index);
            let (var, prim) = self.var(&format!("v{place}"), dtype);
            news.push(prim);
            let kind = match self.store.as_prim_int(*extent) {
                Some(1) => IterKind::Spatial,
                _ => self.kind_of(*index, &data)?,
            };
            let (min, extent) = (self.store.prim_int(0, dtype), cast(self.store, dtype, *extent));
            iters.push(IterVar { var, kind, min, extent, value: None });
        }
        let Some((inverse, _)) = map.inverse(self.store, analyzer, &extents, Level::Bijective) else {
            return refuse("ScheduleError: The index map is not bijective affine.");
        };
        let olds = inverse.map(self.store, analyzer, &news);
        let values: Vec<(Id<Symbol>, PrimId)> = data.iters.iter().map(|iter| iter.var).zip(olds).collect();
        // Without iterators of its own the block is only what it does.
        let bare = Block { iters: [].into(), ..data.clone() };
        let stmt = self.rebuilt_block(tree.nodes[at].stmt, bare);
        let stmt = substitute_stmt(self.store, stmt, &values);
        let Stmt::Block(inner) = *self.store.stmt(stmt) else { return refuse("InternalError: a block is no block any more") };
        let mut block = self.store.prim_block(inner).clone();
        block.predicate = data.predicate;
        block.iters = iters.iter().cloned().collect();
        let stmt = self.rebuilt_block(tree.nodes[at].stmt, block);
        let stmt = Rewriting::new(self.store).visit(&mut Accesses::new(), stmt);
        let Stmt::Block(inner) = *self.store.stmt(stmt) else { return refuse("InternalError: a block is no block any more") };
        let mut block = self.store.prim_block(inner).clone();
        let mut loop_vars = Vec::new();
        for (place, iter) in block.iters.iter_mut().enumerate() {
            let dtype = self.store.symbol(iter.var).dtype;
            let (var, prim) = self.var(&format!("ax{place}"), dtype);
            loop_vars.push(var);
            iter.value = Some(prim);
        }
        let mut new = self.rebuilt_block(tree.nodes[at].stmt, block);
        for (var, extent) in loop_vars.iter().zip(&shape).rev() {
            new = serial(self.store, *var, *extent, new);
        }
        self.replace(tree.nodes[top].stmt, new, &[], &[])
    }

    /// The kind of a new iterator: that of those it is made of.
    fn kind_of(&self, index: PrimId, block: &Block) -> Outcome<IterKind> {
        let mut kinds = Vec::new();
        self.store.for_each_prim(index, &mut |_, node| {
            if let PrimExpr::Var(var) = node
                && let Some(iter) = block.iters.iter().find(|iter| iter.var == *var)
                && !kinds.contains(&iter.kind)
            {
                kinds.push(iter.kind);
            }
        });
        match kinds[..] {
            [kind] if kind != IterKind::Opaque => Ok(kind),
            _ => refuse(
                "ScheduleError: Cannot detect the new block iter type because it contains more than one type of original iter \
                 vars.",
            ),
        }
    }
}
