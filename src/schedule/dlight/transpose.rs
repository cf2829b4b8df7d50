//! Transposition of matrices, on a GPU (`dlight/gpu/transpose.py`): by tiles in shared memory.

use super::Device;
use super::analysis::dominant_access;
use super::steps::Sch;
use crate::ir::{Block, PrimExpr, Stmt};
use crate::schedule::{Outcome, refuse};

fn transposes(sch: &Sch<'_, '_>, block: &Block) -> bool {
    let store = &*sch.state.store;
    let Stmt::Store { indices, value, .. } = store.stmt(block.body) else { return false };
    let PrimExpr::Load { indices: from, .. } = store.prim_of_id(*value) else { return false };
    indices != from && indices.iter().all(|index| from.contains(index)) && from.iter().all(|index| indices.contains(index))
}

/// `dlight.gpu.Transpose`
pub(super) fn transpose(sch: &mut Sch<'_, '_>, device: &Device) -> Outcome<bool> {
    if !device.gpu {
        return Ok(false);
    }
    let (len_tx, len_ty, depth) = match &*device.kind {
        "cuda" => (16, 8, 256),
        "opencl" => (16, 8, 64),
        _ => (8, 4, 64),
    };
    let Some(infos) = sch.normalize()? else { return refuse("TypeError: 'NoneType' object is not iterable") };
    let mut place = None;
    for (at, info) in infos.iter().enumerate().rev() {
        let data = sch.block(info.block)?;
        if transposes(sch, &data) {
            place = Some(at);
            break;
        }
        if !info.is_injective() {
            return Ok(false);
        }
    }
    let Some(place) = place else { return Ok(false) };
    let block = infos[place].block;
    let prologue = place.checked_sub(1).map(|before| infos[before].block);
    if place > 0 && !sch.inline_spatial(infos[..place - 1].to_vec()).is_empty() {
        return refuse("AssertionError: what stands before the transposition cannot be inlined");
    }
    let loops = sch.loops(block)?;
    let [i, j] = loops[..] else { return Ok(false) };
    let mut factor = 1;
    if let Some(prologue) = prologue {
        let data = sch.block(prologue)?;
        if let Some(first) = dominant_access(sch, &data, None)?.args.first() {
            match sch.state.store.as_prim_int(first.lower) {
                Some(lower) => factor = lower,
                None => return refuse("TypeError: a factor is no number"),
            }
        }
    }
    let [i, inner] = sch.split(i, [0, factor])?;
    let [bi, ti] = sch.split(i, [0, len_ty])?;
    let [bj, tj] = sch.split(j, [0, len_tx])?;
    sch.reorder(&[bi, bj, ti, tj, inner])?;
    sch.bind(bi, "blockIdx.y")?;
    sch.bind(bj, "blockIdx.x")?;
    sch.bind(ti, "threadIdx.y")?;
    sch.bind(tj, "threadIdx.x")?;
    let vector = factor.min(4);
    let [_, inner] = sch.split(inner, [0, vector])?;
    if vector > 1 {
        sch.vectorize(inner)?;
    }
    let read = sch.cache_read(block, 0, "shared")?;
    sch.compute_at(read, bj, false)?;
    let rest = sch.loops_from(read, 2)?;
    let fused = sch.fuse(&rest)?;
    let [_, ty, tx, v] = sch.split(fused, [0, len_ty, len_tx, factor])?;
    sch.bind(ty, "threadIdx.y")?;
    sch.bind(tx, "threadIdx.x")?;
    sch.unroll(v)?;
    sch.storage_align(read, 0, 32, 1)?;
    sch.note_unroll(bi, depth)?;
    if let Some(prologue) = prologue {
        sch.compute_inline(prologue)?;
    }
    Ok(true)
}
