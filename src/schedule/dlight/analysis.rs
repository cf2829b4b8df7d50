//! Analyses of the rules (TVM's `dlight/analysis`, `dlight/base`, and `NormalizePrimFunc` in
//! `src/s_tir/schedule/transform.cc`).

use super::Device;
use super::steps::Sch;
use crate::ir::{Block, DType, Id, IterKind, PrimExpr, PrimId, PrimOp, Region, Stmt, Symbol};
use crate::schedule::analysis::{reduction_error, vars_of};
use crate::schedule::state::{BlockRef, LoopRef};
use crate::schedule::{Outcome, refuse};
use crate::tir::arith::Analyzer;
use crate::tir::arith::iter::{Source, Split, Sum, normalize_to_iter_sum};
use crate::tir::elem_offset;
use crate::tir::index_map::IndexMap;

/// A block whose iterators are bound to loops one by one.
#[derive(Clone)]
pub(super) struct Info {
    pub block: BlockRef,
    pub iters: Vec<Iter>,
    pub is_reduction: bool,
}

/// An iterator of a block with its loop.
#[derive(Clone)]
pub(super) struct Iter {
    /// `S`, `R` or `O`.
    pub kind: char,
    pub var: Id<Symbol>,
    pub dom: PrimId,
    pub at: LoopRef,
}

impl Info {
    /// The kinds of the iterators: `SSR`.
    pub fn kinds(&self) -> String {
        self.iters.iter().map(|iter| iter.kind).collect()
    }

    pub fn is_injective(&self) -> bool {
        self.iters.iter().all(|iter| iter.kind == 'S')
    }

    pub fn iter(&self, var: Id<Symbol>) -> Option<&Iter> {
        self.iters.iter().find(|iter| iter.var == var)
    }
}

/// The variable that a digit is of.
pub(super) fn source_of(sch: &Sch<'_, '_>, split: &Split) -> Option<Id<Symbol>> {
    match &split.source.source {
        Source::Prim(prim) => match sch.state.store.prim_of_id(*prim) {
            PrimExpr::Var(var) => Some(*var),
            _ => None,
        },
        _ => None,
    }
}

/// `Y`, of a block that does `X[...] = X[...] + Y`; whether it is one.
pub(super) fn adds_up(sch: &Sch<'_, '_>, block: &Block) -> bool {
    let store = &*sch.state.store;
    let Stmt::Store { buffer, indices, value } = store.stmt(block.body) else { return false };
    let PrimExpr::Binary { op: PrimOp::Add, a, .. } = *store.prim_of_id(*value) else { return false };
    matches!(store.prim_of_id(a), PrimExpr::Load { buffer: from, indices: at } if from == buffer && at == indices)
}

/// The variables of a block in the places of a region, which is one element.
pub(super) fn used(sch: &Sch<'_, '_>, block: &Block, region: &Region) -> Outcome<Vec<Id<Symbol>>> {
    let store = &*sch.state.store;
    let mut found: Vec<Id<Symbol>> = Vec::new();
    for (min, extent) in &region.ranges {
        if extent.is_some_and(|extent| store.as_prim_int(extent) != Some(1)) {
            return refuse("AssertionError: a block reads or writes more than one element of a buffer");
        }
        for var in vars_of(store, *min) {
            if !found.contains(&var) && block.iters.iter().any(|iter| iter.var == var) {
                found.push(var);
            }
        }
    }
    Ok(found)
}

/// The offset of the read that uses most of the variables of a block; of those in `only`, if that is given.
pub(super) fn dominant_access(sch: &mut Sch<'_, '_>, block: &Block, only: Option<&[Id<Symbol>]>) -> Outcome<Sum> {
    let mut best: Option<(usize, &Region)> = None;
    for region in &block.reads {
        let vars = used(sch, block, region)?;
        let n = vars.iter().filter(|var| only.is_none_or(|only| only.contains(var))).count();
        if best.is_none_or(|(most, _)| most < n) {
            best = Some((n, region));
        }
    }
    let Some((_, region)) = best else { return refuse("AssertionError: the block reads nothing") };
    let store = &mut *sch.state.store;
    let buffer = store.buffer(region.buffer).clone();
    let mins: Vec<PrimId> = region.ranges.iter().map(|(min, _)| *min).collect();
    let offset = elem_offset(store, &buffer, &mins);
    let iters: Vec<_> = block.iters.iter().map(|iter| (iter.var, (iter.min, iter.extent))).collect();
    Ok(normalize_to_iter_sum(store, &mut Analyzer::new(), offset, &iters))
}

/// Gives the number that an expression is, if it is greater than one. TVM cannot decide that of one that is no number.
pub(super) fn above_one(sch: &Sch<'_, '_>, value: PrimId) -> Outcome<Option<i64>> {
    match sch.state.store.as_prim_int(value) {
        Some(value) => Ok(Some(value).filter(|value| *value > 1)),
        None => refuse("ValueError: Cannot use and / or / not operator to Expr"),
    }
}

impl Sch<'_, '_> {
    /// Makes iterators and loops of each leaf block one by one the same, without those of one iteration. Nothing where they
    /// cannot be made so.
    pub(super) fn normalize(&mut self) -> Outcome<Option<Vec<Info>>> {
        let Ok(root) = self.state.get_block("root", None) else { return Ok(None) };
        let mut leaves = Vec::new();
        let mut todo = vec![root];
        while let Some(block) = todo.pop() {
            let children = self.state.get_child_blocks(Ok(block))?;
            match children.is_empty() {
                true => leaves.push(block),
                false => todo.extend(children.into_iter().rev()),
            }
        }
        for block in &leaves {
            let loops = self.loops(*block)?;
            if loops.is_empty() {
                continue;
            }
            let data = self.block(*block)?;
            if loops.len() != data.iters.len() {
                return Ok(None);
            }
            for (at, iter) in loops.iter().zip(&data.iters) {
                let head = self.head(*at)?;
                let store = &*self.state.store;
                let is_var = iter.value.is_some_and(|value| *store.prim_of_id(value) == PrimExpr::Var(head.var));
                if !is_var || store.as_prim_int(head.min) != Some(0) {
                    return Ok(None);
                }
            }
        }
        let mut infos = Vec::new();
        for block in leaves {
            let data = self.block(block)?;
            let (mut params, mut indices, mut spatial) = (Vec::new(), Vec::new(), false);
            for iter in &data.iters {
                let (name, dtype) = (self.state.name_of(iter.var), self.state.store.symbol(iter.var).dtype);
                let (var, prim) = self.state.var(&name, dtype);
                params.push(var);
                if self.state.store.as_prim_int(iter.extent) != Some(1) {
                    indices.push(prim);
                    spatial |= iter.kind == IterKind::Spatial;
                }
            }
            if !spatial {
                indices.insert(0, self.state.store.prim_int(0, DType::I64));
            }
            // One that is not transformed stays as it is.
            let _ = self.transform_block_layout(block, &IndexMap { params, indices });
            let mut info = self.info(block)?;
            let (tree, at) = self.state.find_block(block)?;
            let (tree, root) = match self.state.find_block(root) {
                Ok((_, root)) => (tree, root),
                Err(_) => (tree, 0),
            };
            info.is_reduction = reduction_error(self.state, &tree, at, root)? == 0;
            infos.push(info);
        }
        Ok(Some(infos))
    }

    /// A block with its iterators and loops, in pairs; one that reduces is one with such an iterator.
    pub(super) fn info(&mut self, block: BlockRef) -> Outcome<Info> {
        let data = self.block(block)?;
        let loops = self.loops(block)?;
        let iters = data.iters.iter().zip(loops).map(|(iter, at)| Iter {
            kind: match iter.kind {
                IterKind::Spatial => 'S',
                IterKind::Reduce => 'R',
                _ => 'O',
            },
            var: iter.var,
            dom: iter.extent,
            at,
        });
        let iters = iters.collect();
        let is_reduction = data.iters.iter().any(|iter| iter.kind == IterKind::Reduce);
        Ok(Info { block, iters, is_reduction })
    }

    /// The extent of an iterator, if it is a number.
    pub(super) fn dom(&self, iter: &Iter) -> Option<i64> {
        self.state.store.as_prim_int(iter.dom)
    }

    /// Inlines as many blocks as possible; those that remain.
    pub(super) fn try_inline(&mut self, mut infos: Vec<Info>) -> Vec<Info> {
        loop {
            let first = (0..infos.len()).find(|at| self.compute_inline(infos[*at].block).is_ok());
            let first = first.or_else(|| (0..infos.len()).find(|at| self.reverse_compute_inline(infos[*at].block).is_ok()));
            match first {
                Some(at) => infos.remove(at),
                None => return infos,
            };
        }
    }

    /// Inlines within each run of blocks without reductions; what remains of all.
    pub(super) fn inline_spatial(&mut self, infos: Vec<Info>) -> Vec<Info> {
        let (mut results, mut run) = (Vec::new(), Vec::new());
        for info in infos {
            if info.is_injective() {
                run.push(info);
                continue;
            }
            results.extend(self.try_inline(std::mem::take(&mut run)));
            results.push(info);
        }
        results.extend(self.try_inline(run));
        results
    }

    /// The blocks that inlining leaves, if that is one, or one and another that adds no reduction.
    pub(super) fn with_epilogue(&mut self, infos: Vec<Info>) -> Option<(Info, Option<Info>)> {
        let infos = self.inline_spatial(infos);
        let [main, rest @ ..] = &infos[..] else { return None };
        match rest {
            [] => Some((main.clone(), None)),
            [epilogue] if epilogue.is_injective() => Some((main.clone(), Some(epilogue.clone()))),
            _ => None,
        }
    }

    /// True if an epilogue reads results of a block with fewer than all of its iterators.
    pub(super) fn is_broadcast(&mut self, block: BlockRef, epilogue: BlockRef) -> Outcome<bool> {
        let (block, epilogue) = (self.block(block)?, self.block(epilogue)?);
        for region in &epilogue.reads {
            let written = block.writes.iter().any(|write| write.buffer == region.buffer);
            if written && used(self, &epilogue, region)?.len() < epilogue.iters.len() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The reads of a product of a matrix and a vector that are the vector, by their places; nothing where it is none. `only`
    /// are the iterators that count.
    pub(super) fn vectors(&mut self, info: &Info, only: Option<&[Id<Symbol>]>) -> Outcome<Option<Vec<Id<crate::ir::Buffer>>>> {
        let block = self.block(info.block)?;
        let [write] = &block.writes[..] else { return Ok(None) };
        if !info.is_reduction || block.reads.len() < 2 || !adds_up(self, &block) || used(self, &block, write)?.is_empty() {
            return Ok(None);
        }
        let all = only.map_or(block.iters.len(), <[_]>::len);
        let mut found = Vec::new();
        for region in &block.reads {
            let n = used(self, &block, region)?.iter().filter(|var| only.is_none_or(|only| only.contains(var))).count();
            if 0 < n && n < all {
                found.push(region.buffer);
            }
        }
        Ok(Some(found).filter(|found| !found.is_empty() && found.len() < block.reads.len()))
    }

    /// Makes the loops of such a product four: batch, space, reduction, and what is packed of it. Gives true if the matrix is
    /// read along the reduction; nothing where it has another form.
    pub(super) fn normalize_gemv(&mut self, info: &Info) -> Outcome<Option<bool>> {
        let block = self.block(info.block)?;
        let access = dominant_access(self, &block, None)?;
        let mut uses = Vec::new();
        for region in block.writes.iter().chain(&block.reads) {
            uses.push(used(self, &block, region)?);
        }
        if vars_of(self.state.store, access.base).iter().any(|var| block.iters.iter().any(|iter| iter.var == *var)) {
            return Ok(None);
        }
        let mut digits = Vec::new();
        for split in &access.args {
            match source_of(self, split).and_then(|var| info.iter(var)) {
                Some(iter) => digits.push((iter.clone(), split.lower)),
                None => return Ok(None),
            }
        }
        let Some((last, _)) = digits.last() else { return Ok(None) };
        let inner = last.kind == 'R';
        let (mut batch, mut space, mut reduce, mut packed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (iter, lower) in digits {
            let mut at = iter.at;
            if let Some(factor) = above_one(self, lower)? {
                if !packed.is_empty() {
                    return Ok(None);
                }
                let [outer, inner] = self.split(at, [0, factor])?;
                if iter.kind != 'R' {
                    return Ok(None);
                }
                at = outer;
                packed.push(inner);
            }
            if iter.kind == 'R' {
                reduce.push(at);
            } else if uses.iter().all(|vars| vars.contains(&iter.var)) {
                batch.push(at);
            } else {
                space.push(at);
            }
        }
        if space.is_empty() || reduce.is_empty() {
            return refuse("AssertionError: a product needs loops over space and over what is reduced");
        }
        if packed.is_empty() {
            packed.push(self.add_unit_loop(Ok(info.block))?);
        }
        if batch.is_empty() {
            batch.push(self.add_unit_loop(Ok(info.block))?);
        }
        self.reorder(&[&batch[..], &space, &reduce, &packed].concat())?;
        self.fuse(&batch)?;
        self.fuse(&space)?;
        self.fuse(&reduce)?;
        Ok(Some(inner))
    }
}

/// The number of threads that a loop gets, by its extent (`suggest_threads_per_block`).
pub(super) fn suggest_threads(device: &Device, extent: Option<i64>) -> i64 {
    let threads = match &*device.kind {
        "cuda" => 1024,
        "rocm" | "metal" | "opencl" => 256,
        _ => 64,
    };
    let power = |most: i64| {
        let mut power = 1;
        while power * 2 <= most && power * 2 <= threads {
            power *= 2;
        }
        power
    };
    // A loop of unknown extent gets 32, and all that is left besides: `threads`.
    extent.map_or(threads, power)
}

/// The greatest of some factors that divides a number, or 1.
pub(super) fn max_factor(n: i64, factors: &[i64]) -> i64 {
    factors.iter().copied().filter(|factor| *factor > 0 && n % *factor == 0).max().unwrap_or(1)
}
