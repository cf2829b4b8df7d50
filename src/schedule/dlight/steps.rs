//! Instructions as rules give them, and what rules ask of loops and blocks.

use crate::ir::{AttrValue, Block, For, ForKind};
use crate::schedule::state::{BlockRef, LoopRef, State};
use crate::schedule::{Outcome, Refused, refuse};
use crate::tir::index_map::IndexMap;

/// A schedule under way: of the function that its state works on.
pub(super) struct Sch<'a, 's> {
    pub(super) state: &'a mut State<'s>,
}

/// Unpacks a list as `a, b = ...` does.
pub(super) fn exactly<const N: usize, T>(items: Vec<T>) -> Outcome<[T; N]> {
    items.try_into().map_err(|_| Refused(format!("ValueError: {N} values were expected to unpack")))
}

impl Sch<'_, '_> {
    /// Does an instruction, if there is fuel for it.
    fn step(&mut self, name: &str, f: &mut dyn FnMut(&mut State<'_>) -> Outcome<()>) -> Outcome<()> {
        if !self.state.store.log.has_fuel() && !self.state.store.makes_products() {
            return refuse("out of fuel");
        }
        self.state.recorded(name, |state| f(state))
    }

    /// One that gives something.
    fn gives<T>(&mut self, name: &str, mut f: impl FnMut(&mut State<'_>) -> Outcome<T>) -> Outcome<T> {
        let mut found = None;
        self.step(name, &mut |state| {
            found = Some(f(state)?);
            Ok(())
        })?;
        found.map_or_else(|| refuse("InternalError: an instruction gives nothing"), Ok)
    }

    pub(super) fn loops(&mut self, block: BlockRef) -> Outcome<Vec<LoopRef>> {
        self.state.get_loops(block)
    }

    pub(super) fn loops_of<const N: usize>(&mut self, block: BlockRef) -> Outcome<[LoopRef; N]> {
        exactly(self.loops(block)?)
    }

    /// The innermost loop of a block.
    pub(super) fn last_loop(&mut self, block: BlockRef) -> Outcome<LoopRef> {
        self.loops(block)?.last().copied().map_or_else(|| refuse("IndexError: list index out of range"), Ok)
    }

    pub(super) fn loop_at(&mut self, block: BlockRef, at: usize) -> Outcome<LoopRef> {
        self.loops(block)?.get(at).copied().map_or_else(|| refuse("IndexError: list index out of range"), Ok)
    }

    /// The loops of a block from the `at`th on.
    pub(super) fn loops_from(&mut self, block: BlockRef, at: usize) -> Outcome<Vec<LoopRef>> {
        let loops = self.loops(block)?;
        Ok(loops.get(at..).unwrap_or_default().to_vec())
    }

    /// The innermost loops of a block.
    pub(super) fn inner_loops(&mut self, block: BlockRef, n: usize) -> Outcome<Vec<LoopRef>> {
        let loops = self.loops(block)?;
        Ok(loops[loops.len().saturating_sub(n)..].to_vec())
    }

    /// Splits; a factor of 0 is the one that is left open.
    pub(super) fn split<const N: usize>(&mut self, of: LoopRef, factors: [i64; N]) -> Outcome<[LoopRef; N]> {
        exactly(self.split_by(of, &factors)?)
    }

    pub(super) fn split_by(&mut self, of: LoopRef, factors: &[i64]) -> Outcome<Vec<LoopRef>> {
        let dtype = crate::ir::DType::I32;
        let factors: Vec<_> =
            factors.iter().map(|factor| (*factor != 0).then(|| self.state.store.prim_int(*factor, dtype))).collect();
        self.gives("split", |state| state.split(of, &factors, true, false))
    }

    pub(super) fn fuse(&mut self, loops: &[LoopRef]) -> Outcome<LoopRef> {
        self.fuse_units(loops, true)
    }

    pub(super) fn fuse_units(&mut self, loops: &[LoopRef], keep_unit: bool) -> Outcome<LoopRef> {
        self.gives("fuse", |state| state.fuse(loops, keep_unit))
    }

    pub(super) fn reorder(&mut self, loops: &[LoopRef]) -> Outcome<()> {
        self.step("reorder", &mut |state| state.reorder(loops))
    }

    pub(super) fn bind(&mut self, of: LoopRef, tag: &str) -> Outcome<()> {
        let tag = self.state.store.name(tag);
        self.step("bind", &mut |state| state.set_kind(of, ForKind::Thread(tag)))
    }

    pub(super) fn vectorize(&mut self, of: LoopRef) -> Outcome<()> {
        self.step("vectorize", &mut |state| state.set_kind(of, ForKind::Vectorized))
    }

    pub(super) fn unroll(&mut self, of: LoopRef) -> Outcome<()> {
        self.step("unroll", &mut |state| state.set_kind(of, ForKind::Unrolled))
    }

    pub(super) fn parallel(&mut self, of: LoopRef) -> Outcome<()> {
        self.step("parallel", &mut |state| state.set_kind(of, ForKind::Parallel))
    }

    pub(super) fn annotate(&mut self, of: Result<BlockRef, LoopRef>, key: &str, value: AttrValue) -> Outcome<()> {
        self.step("annotate", &mut |state| state.annotate(of, key, value.clone()))
    }

    pub(super) fn note(&mut self, of: LoopRef, key: &str, value: i64) -> Outcome<()> {
        self.annotate(Err(of), key, AttrValue::Int { value, bits: 64 })
    }

    /// The two annotations by which a loop is unrolled.
    pub(super) fn note_unroll(&mut self, of: LoopRef, depth: i64) -> Outcome<()> {
        self.note(of, "pragma_auto_unroll_max_step", depth)?;
        self.note(of, "pragma_unroll_explicit", 1)
    }

    pub(super) fn compute_at(&mut self, block: BlockRef, under: LoopRef, keep_unit: bool) -> Outcome<()> {
        self.step("compute_at", &mut |state| state.compute_at(block, under, keep_unit, -1, false))
    }

    pub(super) fn reverse_compute_at(&mut self, block: BlockRef, under: LoopRef, keep_unit: bool) -> Outcome<()> {
        self.step("reverse_compute_at", &mut |state| state.compute_at(block, under, keep_unit, -1, true))
    }

    pub(super) fn compute_inline(&mut self, block: BlockRef) -> Outcome<()> {
        self.step("compute_inline", &mut |state| state.compute_inline(block))
    }

    pub(super) fn reverse_compute_inline(&mut self, block: BlockRef) -> Outcome<()> {
        self.step("reverse_compute_inline", &mut |state| state.reverse_compute_inline(block))
    }

    pub(super) fn set_scope(&mut self, block: BlockRef, index: i64, scope: &str) -> Outcome<()> {
        self.step("set_scope", &mut |state| state.set_scope(block, index, scope))
    }

    pub(super) fn cache_read(&mut self, block: BlockRef, index: i64, scope: &str) -> Outcome<BlockRef> {
        self.gives("cache_read", |state| state.cache_read(block, index, scope, &[]))
    }

    pub(super) fn cache_write(&mut self, block: BlockRef, index: i64, scope: &str) -> Outcome<BlockRef> {
        self.gives("cache_write", |state| state.cache_write(block, index, scope, &[]))
    }

    pub(super) fn rfactor(&mut self, of: LoopRef, axis: i64) -> Outcome<BlockRef> {
        self.gives("rfactor", |state| state.rfactor(of, axis))
    }

    pub(super) fn decompose_reduction(&mut self, block: BlockRef, before: LoopRef) -> Outcome<BlockRef> {
        self.gives("decompose_reduction", |state| state.decompose_reduction(block, before))
    }

    pub(super) fn add_unit_loop(&mut self, of: Result<BlockRef, LoopRef>) -> Outcome<LoopRef> {
        self.gives("add_unit_loop", |state| state.add_unit_loop(of))
    }

    pub(super) fn pad_einsum(&mut self, block: BlockRef, padding: &[i64]) -> Outcome<()> {
        self.step("pad_einsum", &mut |state| state.pad_einsum(block, padding))
    }

    pub(super) fn reindex(&mut self, block: BlockRef, index: i64, writes: bool) -> Outcome<BlockRef> {
        self.gives("reindex", |state| state.reindex(block, index, writes))
    }

    pub(super) fn transform_layout(&mut self, block: BlockRef, index: i64, writes: bool, map: &IndexMap) -> Outcome<()> {
        self.step("transform_layout", &mut |state| {
            state.transform_layout(block, index, writes, &|_, _| Ok(map.clone()), None, false)
        })
    }

    pub(super) fn transform_block_layout(&mut self, block: BlockRef, map: &IndexMap) -> Outcome<()> {
        self.step("transform_block_layout", &mut |state| state.transform_block_layout(block, &|_, _| Ok(map.clone())))
    }

    pub(super) fn storage_align(&mut self, block: BlockRef, axis: i64, factor: i64, offset: i64) -> Outcome<()> {
        self.step("storage_align", &mut |state| state.storage_align(block, 0, axis, factor, offset))
    }

    pub(super) fn blockize(&mut self, of: LoopRef) -> Outcome<BlockRef> {
        self.gives("blockize", |state| state.blockize(of, true))
    }

    /// Does what a loop does by a registered intrinsic.
    pub(super) fn tensorize(&mut self, of: LoopRef, name: &str) -> Outcome<()> {
        self.step("tensorize", &mut |state| {
            let intrinsic = state.intrinsic(name)?;
            state.tensorize(Err(of), &intrinsic, true)
        })
    }

    /// A block as it is now.
    pub(super) fn block(&mut self, block: BlockRef) -> Outcome<Block> {
        let (tree, at) = self.state.find_block(block)?;
        self.state.block_at(&tree, at)
    }

    pub(super) fn head(&mut self, of: LoopRef) -> Outcome<For> {
        let (tree, at) = self.state.find_loop(of)?;
        Ok(self.state.head(&tree, at)?.0)
    }

    /// The extent of a loop, if it is a number.
    pub(super) fn extent(&mut self, of: LoopRef) -> Outcome<Option<i64>> {
        let head = self.head(of)?;
        Ok(self.state.store.as_prim_int(head.extent))
    }

    /// Vectorizes a loop, or as much of it as is said.
    pub(super) fn auto_vectorize(&mut self, of: LoopRef, most: i64) -> Outcome<()> {
        let inner = match self.extent(of)? {
            None => return Ok(()),
            Some(extent) if extent <= most => of,
            Some(_) => self.split(of, [0, most])?[1],
        };
        self.vectorize(inner)
    }

    pub(super) fn name(&mut self, block: BlockRef) -> Outcome<String> {
        let name = self.block(block)?.name;
        Ok(self.state.store.str(name).to_owned())
    }
}
