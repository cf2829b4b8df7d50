//! Products of vectors and matrices that are read across the reduction (part of `dlight/gpu/gemv.py`).

use super::Device;
use super::analysis::max_factor;
use super::gemv::Threads;
use super::steps::Sch;
use crate::ir::{Buffer, Id};
use crate::schedule::Outcome;
use crate::schedule::analysis::nth_buffer;
use crate::schedule::state::BlockRef;

/// Weights that are packed into one number, and those that share a scale.
const PACK: i64 = 8;
const SCALED: i64 = 4;

/// On Metal and Adreno, where the reduction is long enough.
pub(super) fn outer(sch: &mut Sch<'_, '_>, device: &Device, block: BlockRef, epilogue: Option<BlockRef>) -> Outcome<bool> {
    let [batch, s, r, c] = sch.loops_of(block)?;
    let (len_s, len_r, len_c) = (sch.extent(s)?, sch.extent(r)?, sch.extent(c)?.unwrap_or(1));
    let (mut ts, mut tr, vector, unroll) = match device.family() {
        "adreno" => (64, 4, 8, 8),
        "metal" => (128, 4, 4, 8),
        _ => return Ok(false),
    };
    if len_r.is_none_or(|len| len < tr * SCALED * PACK) || len_s.is_some_and(|len| len > 96000) {
        return Ok(false);
    }
    let mut shared = false;
    if len_s.is_none() {
        (ts, tr, shared) = (256, 1, true);
    }
    let threads = Threads { ts, tr, swapped: true };
    let packed = match (len_c, len_r) {
        (2.., _) => len_c,
        (_, Some(r)) => (max_factor(r, &[tr, tr * 2, tr * 4, tr * 8]) / tr).max(1),
        _ => 1,
    };
    let s = sch.fuse(&[batch, s])?;
    let r = sch.fuse(&[r, c])?;
    let [bx, ts_loop] = sch.split(s, [0, ts])?;
    let [r, v_tile, tr_loop, tile_r, vec] = sch.split(r, [0, 1, tr, SCALED, PACK])?;
    sch.reorder(&[bx, ts_loop, r, v_tile, tile_r, tr_loop, vec])?;
    let both = sch.fuse(&[tr_loop, vec])?;
    let rf = sch.rfactor(both, 0)?;
    let [_, _, both] = sch.loops_of(block)?;
    let [tr_loop, _] = sch.split(both, [tr, 0])?;
    let rf2 = sch.rfactor(tr_loop, 0)?;
    let [bx, ts_loop, r, v_tile, tile_r, both] = sch.loops_of(rf)?;
    let [tr_loop, vec] = sch.split(both, [tr, PACK])?;
    sch.reorder(&[bx, ts_loop, tr_loop, r, v_tile, tile_r, vec])?;
    sch.bind(bx, "blockIdx.x")?;
    sch.bind(ts_loop, threads.over_space())?;
    sch.bind(tr_loop, threads.over_reduction())?;
    sch.auto_vectorize(vec, vector)?;
    if sch.block(rf)?.reads.len() >= 3 {
        let scales = sch.cache_read(rf, 2, "local")?;
        sch.compute_at(scales, v_tile, true)?;
    }
    let weights = sch.cache_read(rf, 1, "local")?;
    sch.compute_at(weights, tile_r, true)?;
    if shared {
        let factor = max_factor(packed, &[1, 2, 4, 8]).min(4);
        let loaded = sch.cache_read(rf, 0, "shared")?;
        sch.compute_at(loaded, r, true)?;
        let of = sch.last_loop(loaded)?;
        let [_, _, ts_loop, tr_loop, vec] = sch.split(of, [0, 1, ts, tr, factor])?;
        sch.bind(tr_loop, threads.over_reduction())?;
        sch.bind(ts_loop, threads.over_space())?;
        sch.auto_vectorize(vec, factor)?;
    }
    sch.reverse_compute_at(rf2, bx, true)?;
    let [_, tr_loop, vec, ts_loop] = sch.loops_of(rf2)?;
    sch.reorder(&[ts_loop, tr_loop, vec])?;
    sch.bind(ts_loop, threads.over_space())?;
    sch.bind(tr_loop, threads.over_reduction())?;
    sch.reverse_compute_at(block, bx, true)?;
    let [_, tr_loop, ts_loop] = sch.loops_of(block)?;
    sch.reorder(&[ts_loop, tr_loop])?;
    sch.bind(ts_loop, threads.over_space())?;
    sch.bind(tr_loop, threads.over_reduction())?;
    let before = sch.loop_at(rf, 2)?;
    sch.decompose_reduction(rf, before)?;
    let before = sch.last_loop(rf2)?;
    sch.decompose_reduction(rf2, before)?;
    sch.set_scope(rf, 0, "local")?;
    sch.set_scope(rf2, 0, "local")?;
    let of = sch.loop_at(rf2, 3)?;
    sch.note_unroll(of, unroll)?;
    let Some(epilogue) = epilogue else { return Ok(true) };
    if sch.is_broadcast(block, epilogue)? {
        sch.reverse_compute_at(epilogue, bx, false)?;
        sch.set_scope(block, 0, "shared")?;
        let rest = sch.loops_from(epilogue, 2)?;
        let fused = sch.fuse(&rest)?;
        let [_, ts_loop] = sch.split(fused, [0, ts])?;
        sch.bind(ts_loop, threads.over_space())?;
        return Ok(true);
    }
    sch.reverse_compute_at(epilogue, bx, true)?;
    let rest = sch.loops_from(epilogue, 1)?;
    sch.fuse(&rest)?;
    let last = sch.last_loop(epilogue)?;
    let [ts_loop, _] = sch.split(last, [ts, 0])?;
    sch.bind(ts_loop, threads.over_space())?;
    sch.set_scope(block, 0, "local")?;
    Ok(true)
}

/// On Adreno, whatever the length of the reduction.
pub(super) fn adreno(
    sch: &mut Sch<'_, '_>,
    device: &Device,
    block: BlockRef,
    vectors: &[Id<Buffer>],
    epilogue: Option<BlockRef>,
) -> Outcome<bool> {
    if device.family() != "adreno" {
        return Ok(false);
    }
    let [batch, s, r, c] = sch.loops_of(block)?;
    let vector = sch.extent(s)?.map_or(1, |len| if len > 4096 { 4 } else { 2 });
    let [bx, tx, vec] = sch.split(s, [0, 128, vector])?;
    let [r0, r1] = sch.split(r, [0, 4])?;
    sch.bind(batch, "blockIdx.y")?;
    sch.bind(bx, "blockIdx.x")?;
    sch.bind(tx, "threadIdx.x")?;
    sch.reorder(&[bx, tx, r0, r1, c, vec])?;
    sch.note_unroll(tx, 8)?;
    let data = sch.block(block)?;
    let place = (0..data.reads.len() as i64).find(|at| nth_buffer(&data, *at, false).ok() == vectors.first().copied());
    let loaded = sch.cache_read(block, place.unwrap_or(0), "shared")?;
    sch.compute_at(loaded, bx, true)?;
    let of = sch.last_loop(loaded)?;
    let [_, tx, vec_r] = sch.split(of, [0, 128, 8])?;
    sch.bind(tx, "threadIdx.x")?;
    sch.vectorize(vec_r)?;
    sch.vectorize(vec)?;
    if let Some(epilogue) = epilogue {
        sch.reverse_compute_at(epilogue, bx, true)?;
        let of = sch.last_loop(epilogue)?;
        let [tx, vec] = sch.split(of, [128, vector])?;
        sch.bind(tx, "threadIdx.x")?;
        sch.vectorize(vec)?;
        sch.set_scope(block, 0, "local")?;
    }
    sch.decompose_reduction(block, r0)?;
    Ok(true)
}
