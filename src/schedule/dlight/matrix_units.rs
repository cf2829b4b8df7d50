//! Products of matrices by matrix units of a GPU (`MatmulTensorization`, `MatmulInt8Tensorization` and `MetalMatmul` of
//! `dlight/gpu/matmul.py`).

use super::Device;
use super::matmul::{inline_chain, inline_producers, normalize};
use super::steps::{Sch, exactly};
use crate::ir::{AttrValue, DType, DTypeCode, PrimId};
use crate::schedule::Outcome;
use crate::schedule::state::BlockRef;
use crate::tir::index_map::IndexMap;

/// The tiles of 16 x 16 x 16 of a warp.
const TILE: i64 = 16;
const WARP: i64 = 32;
const LANES: i64 = 4;

fn numbers(values: &[i64]) -> AttrValue {
    AttrValue::Array(values.iter().map(|value| AttrValue::Int { value: *value, bits: 64 }).collect())
}

/// Splits the two innermost loops of a block into tiles; the loop over the rows of one.
fn tiled(sch: &mut Sch<'_, '_>, block: BlockRef, size: i64, unrolled: bool) -> Outcome<crate::schedule::state::LoopRef> {
    let [i, j] = exactly(sch.inner_loops(block, 2)?)?;
    let [i0, i1] = sch.split(i, [0, size])?;
    let [j0, j1] = sch.split(j, [0, size])?;
    sch.reorder(&[i0, j0, i1, j1])?;
    if unrolled {
        sch.unroll(i0)?;
        sch.unroll(j0)?;
    }
    Ok(i1)
}

/// By tensor cores of an NVIDIA GPU, for types that they have.
pub(super) fn tensor_cores(sch: &mut Sch<'_, '_>, device: &Device) -> Outcome<bool> {
    let version = device.arch.replace("sm_", "").parse::<i64>().unwrap_or(-1);
    if device.kind != "cuda" || version < 70 {
        return Ok(false);
    }
    let attrs = sch.state.func()?.attrs;
    let stays = sch.state.store.attr(attrs, "dlight.do_not_tensorize").is_some();
    let Some(main) = normalize(sch)? else { return Ok(false) };
    let data = sch.block(main)?;
    let small = |extent: PrimId| sch.state.store.as_prim_int(extent).is_some_and(|extent| extent <= 64);
    if stays || data.iters.iter().skip(1).any(|iter| small(iter.extent)) {
        return Ok(false);
    }
    let store = &*sch.state.store;
    let (Some(read), Some(write)) = (data.reads.first(), data.writes.first()) else { return Ok(false) };
    let [from, to] = [read, write].map(|region| store.buffer(region.buffer).dtype);
    let int8 = from == DType::new(DTypeCode::Int, 8) && to == DType::I32;
    if !int8 && !(from == DType::F16 && (to == DType::F16 || to == DType::F32)) {
        return Ok(false);
    }
    let Some(result) = by_tensor_cores(sch, main, int8)? else { return Ok(false) };
    inline_chain(sch, result)?;
    let loops = sch.inner_loops(result, 2)?;
    let fused = sch.fuse(&loops)?;
    let [_, tx, vector] = sch.split(fused, [0, WARP, LANES])?;
    sch.bind(tx, "threadIdx.x")?;
    sch.vectorize(vector)?;
    Ok(true)
}

/// Tiles a product of matrices, copies its operands, and lets tensor cores make it. Returns the block that copies the result
/// out of shared memory; `None` if an intrinsic does not fit.
fn by_tensor_cores(sch: &mut Sch<'_, '_>, main: BlockRef, int8: bool) -> Outcome<Option<BlockRef>> {
    let deep = if int8 { 1 } else { 4 };
    sch.pad_einsum(main, &[1, 8 * TILE, 8 * TILE, deep * TILE])?;
    let [batch, i, j, k] = sch.loops_of(main)?;
    let [i, i_inner] = sch.split(i, [0, TILE])?;
    let [j, j_inner] = sch.split(j, [0, TILE])?;
    let [k, k_inner] = sch.split(k, [0, TILE])?;
    sch.reorder(&[i, j, k, i_inner, j_inner, k_inner])?;
    let outer = sch.blockize(i_inner)?;
    let [i0, i1, i2, i3] = sch.split(i, [0, 1, 4, 2])?;
    let [j0, j1, j2, j3] = sch.split(j, [1, 0, 4, 2])?;
    let [k0, k1] = sch.split(k, [0, deep])?;
    sch.annotate(Err(k0), "software_pipeline_order", numbers(&[0, 3, 1, 4, 5, 2, 6]))?;
    sch.annotate(Err(k0), "software_pipeline_stage", numbers(&[0, 0, 0, 0, 0, 1, 1]))?;
    sch.annotate(Err(k1), "software_pipeline_order", numbers(&[0, 1, 2]))?;
    sch.annotate(Err(k1), "software_pipeline_stage", numbers(&[0, 0, 1]))?;
    sch.reorder(&[i0, j0, i1, j1, j2, i2, k0, k1, i3, j3])?;
    let (x, y, thread) = (sch.fuse(&[i0, j0])?, sch.fuse(&[i1, j1])?, sch.fuse(&[j2, i2])?);
    for (of, tag) in [(batch, "blockIdx.z"), (x, "blockIdx.x"), (y, "blockIdx.y"), (thread, "threadIdx.y")] {
        sch.bind(of, tag)?;
    }
    let mut copies = Vec::new();
    for index in [0, 1] {
        let copy = sch.cache_read(outer, index, "shared.dyn")?;
        sch.compute_at(copy, k0, false)?;
        let loops = sch.inner_loops(copy, 2)?;
        let fused = sch.fuse(&loops)?;
        let [_, ty, tx, vector] = sch.split(fused, [0, 16, WARP, LANES])?;
        sch.bind(tx, "threadIdx.x")?;
        sch.bind(ty, "threadIdx.y")?;
        sch.vectorize(vector)?;
        let (factor, offset) = if int8 { (32, 16) } else { (16, 8) };
        sch.storage_align(copy, -2, factor, offset)?;
        let number = |value| AttrValue::Int { value, bits: 64 };
        sch.annotate(Ok(copy), "tirx.manifest_shared_memory_local_stage", number(1))?;
        sch.annotate(Ok(copy), "double_buffer_scope", number(0))?;
        copies.push(copy);
    }
    for copy in copies {
        inline_producers(sch, copy)?;
    }
    let a = sch.cache_read(outer, 0, "wmma.matrix_a")?;
    let b = sch.cache_read(outer, 1, "wmma.matrix_b")?;
    sch.compute_at(a, k1, false)?;
    sch.compute_at(b, k1, false)?;
    let result = sch.cache_write(outer, 0, "shared.dyn")?;
    sch.storage_align(result, -2, 16, 4)?;
    let stored = sch.cache_write(outer, 0, "wmma.accumulator")?;
    sch.reverse_compute_at(stored, thread, false)?;
    sch.reverse_compute_at(result, thread, false)?;
    tiled(sch, stored, TILE, false)?;
    let init = sch.decompose_reduction(outer, k0)?;
    let Some(&init) = sch.state.get_child_blocks(Ok(init))?.first() else { return Ok(None) };

    let short = if int8 { "s8" } else { "f16" };
    for (block, name) in [(a, "a"), (b, "b_trans")] {
        let name = format!("wmma_load_16x16x16_{short}_{name}_shared_dyn");
        let done = tiled(sch, block, TILE, true).and_then(|rows| sch.tensorize(rows, &name));
        if done.is_err() {
            return Ok(None);
        }
    }
    let results: &[&str] = if int8 { &["s32"] } else { &["f32", "f16"] };
    for kind in results {
        let all = |sch: &mut Sch<'_, '_>| {
            for (block, from_end, name) in [
                (init, 2, format!("wmma_fill_16x16x16_{kind}")),
                (stored, 2, format!("wmma_store_16x16x16_{kind}_shared_dyn")),
                (main, 3, format!("wmma_sync_16x16x16_{short}{short}{kind}_trans")),
            ] {
                let of = sch.inner_loops(block, from_end)?;
                let of =
                    of.first().copied().map_or_else(|| crate::schedule::refuse("IndexError: list index out of range"), Ok)?;
                sch.tensorize(of, &name)?;
            }
            Ok(())
        };
        let tried: Outcome<()> = all(sch);
        if tried.is_ok() {
            return Ok(Some(result));
        }
    }
    Ok(None)
}

/// By simdgroups of an Apple GPU; what they cannot do is left to the next rule.
pub(super) fn simdgroups(sch: &mut Sch<'_, '_>, device: &Device) -> Outcome<bool> {
    if device.kind != "metal" {
        return Ok(false);
    }
    let Some(main) = normalize(sch)? else { return Ok(false) };
    Ok(by_simdgroups(sch, main).is_ok())
}

fn by_simdgroups(sch: &mut Sch<'_, '_>, main: BlockRef) -> Outcome<()> {
    const SIZE: i64 = 8;
    sch.pad_einsum(main, &[1, 16, 64, 32])?;
    let [batch, i, j, k] = sch.loops_of(main)?;
    let [bx, ty, i0, i1] = sch.split(i, [0, 1, 2, SIZE])?;
    let [by, tz, j0, j1] = sch.split(j, [0, 4, 2, SIZE])?;
    let [k0, k1, k2] = sch.split(k, [0, 4, SIZE])?;
    sch.reorder(&[bx, by, ty, tz, k0, k1, i0, j0, i1, j1, k2])?;
    for (of, tag) in [(bx, "blockIdx.x"), (by, "blockIdx.y"), (batch, "blockIdx.z"), (ty, "threadIdx.y"), (tz, "threadIdx.z")] {
        sch.bind(of, tag)?;
    }
    let spread = |sch: &mut Sch<'_, '_>, block: BlockRef| -> Outcome<()> {
        let loops = sch.inner_loops(block, 2)?;
        let fused = sch.fuse(&loops)?;
        let [_, tz, ty, tx, vector] = sch.split(fused, [0, 4, 1, WARP, LANES])?;
        for (of, tag) in [(tz, "threadIdx.z"), (ty, "threadIdx.y"), (tx, "threadIdx.x")] {
            sch.bind(of, tag)?;
        }
        sch.vectorize(vector)
    };
    let mut copies = Vec::new();
    for index in [0, 1] {
        let copy = sch.cache_read(main, index, "shared")?;
        sch.compute_at(copy, k0, true)?;
        spread(sch, copy)?;
        copies.push(copy);
    }
    for copy in copies {
        inline_producers(sch, copy)?;
    }
    let a = sch.cache_read(main, 0, "metal.simdgroup")?;
    let b = sch.cache_read(main, 1, "metal.simdgroup")?;
    sch.compute_at(a, k1, false)?;
    sch.compute_at(b, k1, false)?;
    let stored = sch.cache_write(main, 0, "metal.simdgroup")?;
    let result = sch.cache_write(stored, 0, "shared")?;
    sch.reverse_compute_at(stored, tz, true)?;
    sch.reverse_compute_at(result, by, true)?;
    let turned = transposed(sch, b)?;
    sch.transform_layout(b, 0, true, &turned)?;
    let init = sch.decompose_reduction(main, k0)?;
    for (block, name) in [
        (a, "simdgroup_load_8x8x8_f16_shared"),
        (b, "simdgroup_load_8x8x8_f16_shared_trans"),
        (stored, "simdgroup_store_8x8x8_f16_shared"),
        (init, "simdgroup_make_filled_8x8x8_f16"),
    ] {
        let rows = tiled(sch, block, SIZE, false)?;
        sch.tensorize(rows, name)?;
    }
    let [i, _, _] = exactly(sch.inner_loops(main, 3)?)?;
    sch.tensorize(i, "simdgroup_multiply_accumulate_8x8x8_f16")?;
    inline_chain(sch, result)?;
    spread(sch, result)
}

/// `lambda s, i, j: (s, j, i)`
fn transposed(sch: &mut Sch<'_, '_>, block: BlockRef) -> Outcome<IndexMap> {
    let buffer = sch.block(block)?.writes.first().map(|region| region.buffer);
    let shape = buffer.map(|buffer| sch.state.store.buffer(buffer).shape.clone()).unwrap_or_default();
    let mut params = Vec::new();
    let mut indices = Vec::new();
    for (extent, name) in shape.iter().zip(["s", "i", "j"]) {
        let dtype = sch.state.store.prim_dtype(*extent);
        let (var, prim) = sch.state.var(name, dtype);
        params.push(var);
        indices.push(prim);
    }
    let n = indices.len();
    if n >= 2 {
        indices.swap(n - 1, n - 2);
    }
    Ok(IndexMap { params, indices })
}
