//! Makes rows in shared memory longer, so that the threads of a warp access different banks (`AutoPadder` in
//! `memhammer_lower_auto_copy.cc`).

use super::nest::{index_var, with_number};
use super::patterns::{Counts, values_of};
use super::{Threads, errors};
use crate::ir::{Block, Buffer, DType, ForKind, Id, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::passes::tir::storage_scope::Scope;
use crate::tir::access::extent_of;
use crate::tir::arith::Analyzer;
use crate::tir::{binary, substitute};
use rustc_hash::FxHashMap;

/// The number of threads that access memory at the same time.
const WARP: i64 = 32;
/// The most combinations of values for which conflicts are counted.
const MOST: usize = 1 << 18;

/// The accesses of shared memory so far, and the buffers that have got longer rows.
#[derive(Default)]
pub(super) struct Padder {
    /// For each buffer its accesses, and for each of them the values of each index.
    spaces: FxHashMap<Id<Buffer>, Vec<Vec<Vec<i64>>>>,
    /// The numbers of which a padding is a multiple.
    least: FxHashMap<Id<Buffer>, i64>,
    /// The old and the new buffers.
    pub(super) padded: Vec<(Id<Buffer>, Id<Buffer>)>,
}

impl Padder {
    /// Says that a padding has to be a multiple of `least`, or of a greater number of which that was said.
    pub(super) fn at_least(&mut self, buffer: Id<Buffer>, least: i64) {
        let known = self.least.entry(buffer).or_insert(1);
        *known = least.max(*known);
    }

    /// Replaces buffers whose accesses are known by padded ones.
    pub(super) fn pad(&mut self, store: &mut Store, block: &mut Block) -> Result<(), String> {
        let mut new = Vec::new();
        for buffer in &block.allocs {
            errors::known_memory(store, *buffer)?;
            let spaces = self.spaces.get(buffer).map_or(&[][..], Vec::as_slice);
            if !is_shared(store, *buffer) || spaces.is_empty() {
                new.push(*buffer);
                continue;
            }
            let least = self.least.get(buffer).copied().unwrap_or(1);
            let old = store.buffer(*buffer).clone();
            let strides = strides_of(store, &old, spaces, least)?.into();
            let padded = store.add_buffer(Buffer { strides, ..old });
            self.padded.push((*buffer, padded));
            new.push(padded);
        }
        if *new != *block.allocs {
            block.allocs = new.into();
        }
        Ok(())
    }

    /// Notes the accesses of a copy to shared memory, by a warp in the first round of all loops.
    pub(super) fn analyze(
        &mut self,
        store: &mut Store,
        body: StmtId,
        outer: &[crate::ir::For],
        threads: &Threads,
    ) -> Result<(), String> {
        let first = outer.iter().map(|head| (head.var, head.min)).collect();
        let warp = threads.of_a_warp(WARP);
        Analysis { padder: self, first, counts: Counts::default(), warp, lanes: None }.stmt(store, body)
    }
}

fn is_shared(store: &Store, buffer: Id<Buffer>) -> bool {
    Scope::of(store.str(store.buffer(buffer).scope)).rank == "shared"
}

/// Chooses strides with the least conflicts, from the innermost axis outwards.
fn strides_of(store: &mut Store, buffer: &Buffer, spaces: &[Vec<Vec<i64>>], least: i64) -> Result<Vec<PrimId>, String> {
    let unknown = || "a buffer in shared memory has an extent that is no number, or too many elements to pad it".to_owned();
    let bits = i64::from(buffer.dtype.bits).max(1);
    let banks = WARP * 32 / bits;
    let one = store.prim_int(1, DType::I32);
    let (mut strides, mut stride) = (vec![one], one);
    let of_axis = |space: &Vec<Vec<i64>>, axis: usize| space.get(axis).cloned().ok_or_else(unknown);
    let Some(last) = buffer.shape.len().checked_sub(1) else { return Err(unknown()) };
    let mut low: Vec<Vec<i64>> = spaces.iter().map(|space| of_axis(space, last)).collect::<Result<_, _>>()?;
    for axis in (0..last).rev() {
        let inner = buffer.shape.get(axis + 1).copied().ok_or_else(unknown)?;
        stride = binary(store, PrimOp::Mul, stride, inner);
        let packed = store.as_prim_int(stride).filter(|packed| (0..1 << 40).contains(packed)).ok_or_else(unknown)?;
        let high: Vec<Vec<i64>> = spaces.iter().map(|space| of_axis(space, axis)).collect::<Result<_, _>>()?;
        let (mut best, mut padding, mut tried) = (u64::MAX, 0, 0);
        while tried <= (packed / 4).min(banks) {
            let row = (packed + tried) % banks;
            let mut conflicts = 0;
            for (high, low) in high.iter().zip(&low) {
                conflicts = conflicts.max(conflicts_of(high, low, row, bits)?);
            }
            if conflicts < best {
                (best, padding) = (conflicts, tried);
            }
            tried += least;
        }
        let row = (packed + padding) % banks;
        for (high, low) in high.iter().zip(&mut low).filter(|(high, _)| !high.is_empty()) {
            let old = std::mem::take(low);
            // TVM takes bits here where elements would be right.
            low.extend(high.iter().flat_map(|high| old.iter().map(move |low| (high * row + low) * bits % banks)));
        }
        stride = with_number(store, PrimOp::Add, stride, padding);
        strides.insert(0, stride);
    }
    Ok(strides)
}

/// Returns how many accesses go to the bank to which most go.
fn conflicts_of(high: &[i64], low: &[i64], row: i64, bits: i64) -> Result<u64, String> {
    let mut banks = [0_u64; WARP as usize];
    if high.len().saturating_mul(low.len()) > MOST {
        return Err("a copy accesses too many elements of shared memory at once to count bank conflicts".to_owned());
    }
    for high in high {
        for low in low {
            let place = (high.wrapping_mul(row)).wrapping_add(*low).wrapping_mul(bits) / 32 % WARP;
            let bank = usize::try_from(place).ok().and_then(|place| banks.get_mut(place));
            *bank.ok_or("an index into shared memory is negative, where TVM counts bank conflicts")? += 1;
        }
    }
    Ok(banks.into_iter().max().unwrap_or(0))
}

/// A walk over a copy.
struct Analysis<'a> {
    padder: &'a mut Padder,
    /// Variables that are replaced by their first values.
    first: FxHashMap<Id<Symbol>, PrimId>,
    /// The threads of a warp.
    counts: Counts,
    warp: Threads,
    /// The variable of the vectorised loop around, and its extent.
    lanes: Option<(Id<Symbol>, i64)>,
}

impl Analysis<'_> {
    fn stmt(&mut self, store: &mut Store, id: StmtId) -> Result<(), String> {
        let stmt = store.stmt_rc(id);
        match &*stmt {
            Stmt::For(head, body) => {
                match head.kind {
                    ForKind::Thread(tag) => {
                        let count = self.warp.extent(store.str(tag)).unwrap_or(1);
                        self.counts.insert(head.var, Some(count));
                    }
                    _ => {
                        self.first.insert(head.var, head.min);
                    }
                }
                if head.kind == ForKind::Vectorized {
                    let extent = store.as_prim_int(head.extent);
                    let extent = extent.ok_or("a vectorised loop of a copy has an extent that is no number")?;
                    self.lanes = Some((head.var, extent));
                }
                self.exprs(store, &stmt)?;
                self.stmt(store, *body)?;
                if head.kind == ForKind::Vectorized {
                    self.lanes = None;
                }
                if !matches!(head.kind, ForKind::Thread(_)) {
                    self.first.remove(&head.var);
                }
                return Ok(());
            }
            Stmt::Block(block) => {
                self.exprs(store, &stmt)?;
                let block = store.prim_block_rc(*block);
                return self.tiles(store, &block);
            }
            Stmt::Store { buffer, indices, .. } if is_shared(store, *buffer) => {
                self.access(store, *buffer, indices)?;
                if let (Some((var, lanes)), Some(last)) = (self.lanes, indices.last())
                    && self.is_contiguous(store, *last, var)
                {
                    self.padder.at_least(*buffer, lanes);
                }
            }
            _ => {}
        }
        self.exprs(store, &stmt)?;
        let mut inner = Vec::new();
        store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
        inner.into_iter().try_for_each(|stmt| self.stmt(store, stmt))
    }

    /// Notes the loads in the expressions of a statement.
    fn exprs(&mut self, store: &mut Store, stmt: &Stmt) -> Result<(), String> {
        let mut roots = Vec::new();
        store.for_each_prim_of(stmt, |root| roots.push(root));
        let mut loads = Vec::new();
        for root in roots {
            store.for_each_prim(root, &mut |_, node| {
                if let PrimExpr::Load { buffer, indices } = node
                    && is_shared(store, *buffer)
                {
                    loads.push((*buffer, indices.clone()));
                }
            });
        }
        loads.into_iter().try_for_each(|(buffer, indices)| self.access(store, buffer, &indices))
    }

    fn access(&mut self, store: &mut Store, buffer: Id<Buffer>, indices: &[PrimId]) -> Result<(), String> {
        let mut places = Vec::new();
        for index in indices {
            let place = self.at_first(store, *index);
            places.push(Analyzer::new().simplify(store, place));
        }
        let values = values_of(store, &places, &self.counts)?;
        if !values.is_empty() {
            self.padder.spaces.entry(buffer).or_default().push(values);
        }
        Ok(())
    }

    fn at_first(&self, store: &mut Store, index: PrimId) -> PrimId {
        substitute(store, index, &mut |_, var| self.first.get(&var).copied())
    }

    /// True if neighbouring lanes access neighbouring elements, or if that cannot be told.
    fn is_contiguous(&self, store: &mut Store, index: PrimId, lane: Id<Symbol>) -> bool {
        let [here, next] = [0, 1].map(|value| {
            let value = store.prim_int(value, store.symbol(lane).dtype);
            substitute(store, index, &mut |_, var| (var == lane).then_some(value))
        });
        let distance = binary(store, PrimOp::Sub, next, here);
        let distance = self.at_first(store, distance);
        let differs = with_number(store, PrimOp::Ne, distance, 1);
        !Analyzer::new().can_prove(store, differs)
    }

    /// Notes the tiles of a block that moves one between shared memory and a tensor core. TVM looks into no other block.
    fn tiles(&mut self, store: &mut Store, block: &Block) -> Result<(), String> {
        let Stmt::Evaluate(value) = *store.stmt(block.body) else { return Ok(()) };
        let moves = match store.prim_of_id(value) {
            PrimExpr::Call { op, .. } => ["tvm_load_matrix_sync", "tvm_store_matrix_sync"].contains(&store.str(*op)),
            _ => false,
        };
        if !moves {
            return Ok(());
        }
        for (_, source) in &block.matches {
            if !is_shared(store, source.buffer) {
                continue;
            }
            let mut places = Vec::new();
            for (axis, range) in source.ranges.iter().enumerate() {
                let (var, prim) = index_var(store, &format!("region{axis}"));
                let extent = extent_of(store, *range);
                self.counts.insert(var, store.as_prim_int(extent));
                places.push(binary(store, PrimOp::Add, range.0, prim));
            }
            self.access(store, source.buffer, &places)?;
        }
        Ok(())
    }
}
