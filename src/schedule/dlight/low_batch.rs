//! Products of a matrix and a few vectors, on a GPU (`dlight/gpu/low_batch_gemv.py`): the number of vectors is not known and
//! rounded up.

use super::Device;
use super::analysis::{Info, adds_up, dominant_access, max_factor, source_of};
use super::gemv::{Shape, Threads, bytes_of, close, finish, load_shared, shape, shared_memory, split_space};
use super::steps::{Sch, exactly};
use crate::ir::{Block, Buffer, Id, IterKind, PrimExpr, Symbol};
use crate::schedule::analysis::vars_of;
use crate::schedule::state::BlockRef;
use crate::schedule::{Outcome, refuse};

const SHAPES: &[Shape] = &[
    shape("cuda", 4, Some(8), 1, 256, true, [(4, 64, false), (16, 32, false), (1, 64, false)]),
    shape("metal", 4, None, 1, 8, true, [(8, 32, false), (8, 32, true), (1, 64, false)]),
    shape("rocm", 4, Some(8), 1, 256, true, [(1, 128, false), (8, 64, false), (1, 64, false)]),
    shape("android", 8, None, 1, 8, true, [(2, 32, true), (2, 32, true), (1, 64, true)]),
    shape("vulkan", 4, Some(4), 1, 256, true, [(4, 32, false), (16, 32, false), (1, 64, false)]),
    shape("mali", 8, None, 1, 64, true, [(1, 64, false), (1, 64, false), (1, 64, false)]),
    shape("", 1, None, 1, 64, true, [(1, 64, false), (1, 64, false), (1, 64, false)]),
];

/// The iterators of a block whose extents are numbers.
fn constant_iters(sch: &Sch<'_, '_>, block: &Block) -> Vec<Id<Symbol>> {
    let is_number = |iter: &&crate::ir::IterVar| sch.state.store.as_prim_int(iter.extent).is_some();
    block.iters.iter().filter(is_number).map(|iter| iter.var).collect()
}

/// The vectors, where a block is such a product.
fn vectors(sch: &mut Sch<'_, '_>, info: &Info) -> Outcome<Option<Vec<Id<Buffer>>>> {
    let block = sch.block(info.block)?;
    let store = &*sch.state.store;
    let plain = block.reads.iter().chain(&block.writes).flat_map(|region| region.ranges.iter()).all(|(min, extent)| {
        extent.is_none_or(|extent| store.as_prim_int(extent) == Some(1))
            && matches!(store.prim_of_id(*min), PrimExpr::Int { .. } | PrimExpr::Var(_))
    });
    if !info.is_reduction || block.reads.len() < 2 || block.writes.len() != 1 || !adds_up(sch, &block) || !plain {
        return Ok(None);
    }
    let constant = constant_iters(sch, &block);
    let mut symbolic = block.iters.iter().filter(|iter| !constant.contains(&iter.var));
    match (symbolic.next(), symbolic.next()) {
        (Some(iter), None) if iter.kind == IterKind::Spatial => sch.vectors(info, Some(&constant)),
        _ => Ok(None),
    }
}

/// Makes the loops three: batch, space and reduction. Gives true if the matrix is read along the reduction.
fn normalize(sch: &mut Sch<'_, '_>, info: &Info) -> Outcome<Option<bool>> {
    let block = sch.block(info.block)?;
    let constant = constant_iters(sch, &block);
    let access = dominant_access(sch, &block, Some(&constant))?;
    let mut uses = Vec::new();
    for region in block.writes.iter().chain(&block.reads) {
        uses.push(super::analysis::used(sch, &block, region)?);
    }
    if vars_of(sch.state.store, access.base).iter().any(|var| block.iters.iter().any(|iter| iter.var == *var)) {
        return Ok(None);
    }
    let (mut space, mut reduce, mut inner) = (Vec::new(), Vec::new(), false);
    for split in &access.args {
        let Some(iter) = source_of(sch, split).and_then(|var| info.iter(var)) else {
            return refuse("AttributeError: 'NoneType' object has no attribute 'loop_rv'");
        };
        inner = iter.kind == 'R';
        if inner {
            reduce.push(iter.at);
        } else if !uses.iter().all(|vars| vars.contains(&iter.var)) {
            space.push(iter.at);
        }
    }
    let dynamic: Vec<_> = info.iters.iter().filter(|iter| !constant.contains(&iter.var)).map(|iter| iter.at).collect();
    if space.is_empty() || reduce.is_empty() || dynamic.len() != 1 {
        return refuse("AssertionError: a product needs loops over space and over what is reduced");
    }
    sch.reorder(&[&dynamic[..], &space, &reduce].concat())?;
    sch.fuse(&space)?;
    sch.fuse(&reduce)?;
    Ok(Some(inner))
}

/// `dlight.gpu.LowBatchGEMV`
pub(super) fn low_batch_gemv(sch: &mut Sch<'_, '_>, device: &Device) -> Outcome<bool> {
    if !device.gpu {
        return Ok(false);
    }
    let Some(infos) = sch.normalize()? else { return Ok(false) };
    let mut reductions = infos.iter().filter(|info| info.is_reduction);
    let (Some(info), None) = (reductions.next(), reductions.next()) else { return Ok(false) };
    if vectors(sch, info)?.is_none() {
        return Ok(false);
    }
    let padding: Vec<i64> = info.iters.iter().map(|iter| sch.dom(iter).unwrap_or(device.bucket)).collect();
    sch.pad_einsum(info.block, &padding)?;
    let Some(infos) = sch.normalize()? else { return refuse("TypeError: 'NoneType' object is not iterable") };
    let (mut dequantize, mut pad, mut rest) = (None, None, Vec::new());
    for info in infos {
        let name = sch.name(info.block)?;
        let (unpacks, pads) = (name.contains("dequantize"), name.contains("pad"));
        if unpacks {
            dequantize = Some(info.block);
        } else if pads && sch.state.get_neighbours(info.block, false)?.is_empty() {
            pad = Some(info.block);
        }
        if !unpacks && !pads {
            rest.push(info);
        }
    }
    let Some((info, _)) = sch.with_epilogue(rest) else { return Ok(false) };
    if ![2, 3].contains(&info.iters.len()) {
        return Ok(false);
    }
    let Some(vectors) = vectors(sch, &info)? else { return Ok(false) };
    let Some(along) = normalize(sch, &info)? else { return Ok(false) };
    if along {
        inner(sch, device, info.block, dequantize, pad, &vectors)?;
        return Ok(true);
    }
    if device.bucket > 4 {
        return Ok(false);
    }
    outer(sch, device, info.block, dequantize, pad)?;
    Ok(true)
}

fn inner(
    sch: &mut Sch<'_, '_>,
    device: &Device,
    block: BlockRef,
    dequantize: Option<BlockRef>,
    pad: Option<BlockRef>,
    vectors: &[Id<Buffer>],
) -> Outcome<()> {
    let [_, s, r] = sch.loops_of(block)?;
    let (len_s, len_r) = (sch.extent(s)?, sch.extent(r)?);
    let family = match &*device.kind {
        "opencl" if device.android => "android",
        "opencl" if device.mali => "mali",
        kind => kind,
    };
    let shape = Shape::of(SHAPES, family);
    let longer = len_s.map_or(2, |s| usize::from(len_r.is_none_or(|r| s <= r)));
    let (ts, tr, swapped) = shape.threads[longer];
    let Some(most) = device.num_threads else { return refuse("KeyError: 'max_num_threads'") };
    let threads = Threads { ts, tr, swapped }.within(most);
    let Threads { ts, tr, .. } = threads;
    let tile = len_r.map_or(1, |r| (max_factor(r, &[tr, tr * 2, tr * 4, tr * 8]) / tr).max(1));
    let vec_c = max_factor(tile, &[1, 2, 4, 8]).min(shape.vector);

    sch.split(s, [0, ts, 2])?;
    let [r, tr_loop, tile_r, vec] = sch.split(r, [0, tr, tile / vec_c, vec_c])?;
    sch.reorder(&[r, tile_r, tr_loop, vec])?;
    let both = sch.fuse(&[tr_loop, vec])?;
    let rf = sch.rfactor(both, 0)?;
    let [_, _, _, _, both] = sch.loops_of(block)?;
    let [tr_loop, _] = sch.split(both, [tr, 0])?;
    let rf2 = sch.rfactor(tr_loop, 0)?;
    let [batch, bx, ts_loop, tile_s, r, tile_r, both] = sch.loops_of(rf)?;
    let [tr_loop, vec] = sch.split(both, [tr, 0])?;
    sch.reorder(&[bx, ts_loop, tr_loop, r, tile_s, tile_r, vec])?;
    sch.bind(bx, "blockIdx.x")?;
    sch.bind(ts_loop, threads.over_space())?;
    sch.bind(tr_loop, threads.over_reduction())?;
    sch.vectorize(vec)?;
    let [by, batch] = sch.split(batch, [0, device.bucket])?;
    sch.bind(by, "blockIdx.y")?;
    sch.reorder(&[bx, ts_loop, tr_loop, r, batch])?;

    let bytes = bytes_of(sch, vectors, 0);
    let shared = shape.shared.filter(|_| bytes.is_some_and(|bytes| bytes <= shared_memory(device)));
    if let Some(dequantize) = dequantize {
        sch.compute_at(dequantize, r, true)?;
        sch.set_scope(dequantize, 0, "local")?;
        let [s_local, r_local] = exactly(sch.inner_loops(dequantize, 2)?)?;
        let [s_local, vec] = sch.split(s_local, [0, 1])?;
        sch.reorder(&[s_local, r_local, vec])?;
        sch.vectorize(vec)?;
    }
    let mut loaded = None;
    if let Some(vector) = shared {
        if vectors.len() != 1 {
            return refuse("AssertionError: there are several vectors");
        }
        loaded = Some(load_shared(sch, rf, tr_loop, threads, vector)?);
    }
    if let Some(pad) = pad {
        sch.compute_inline(pad)?;
    }

    sch.reverse_compute_at(rf2, bx, true)?;
    let (tr_loop, vec, batch) = (sch.loop_at(rf2, 2)?, sch.loop_at(rf2, 3)?, sch.loop_at(rf2, 4)?);
    let rest = sch.loops_from(rf2, 5)?;
    let (ts_loop, tile_s) = split_space(sch, &rest, ts, 2)?;
    let [tile_s, vec_s] = sch.split(tile_s, [0, 2])?;
    sch.reorder(&[ts_loop, tr_loop, tile_s, batch, vec_s, vec])?;
    sch.bind(ts_loop, threads.over_space())?;
    sch.bind(tr_loop, threads.over_reduction())?;
    sch.vectorize(vec_s)?;

    sch.reverse_compute_at(block, bx, true)?;
    let (tr_loop, batch) = (sch.loop_at(block, 2)?, sch.loop_at(block, 3)?);
    let rest = sch.loops_from(block, 4)?;
    let (ts_loop, tile_s) = split_space(sch, &rest, ts, 2)?;
    sch.reorder(&[tile_s, batch, ts_loop, tr_loop])?;
    sch.bind(ts_loop, threads.over_space())?;
    sch.bind(tr_loop, threads.over_reduction())?;
    close(sch, rf, rf2, loaded, 4, shape.unroll)?;
    match sch.state.get_neighbours(block, true)?.first().copied() {
        Some(epilogue) => finish(sch, block, epilogue, (bx, 3), threads, (ts, threads.over_space()), 2),
        None => Ok(()),
    }
}

fn outer(
    sch: &mut Sch<'_, '_>,
    device: &Device,
    block: BlockRef,
    dequantize: Option<BlockRef>,
    pad: Option<BlockRef>,
) -> Outcome<()> {
    let (ts, tr, shared, vector) = if device.kind == "metal" { (64, 4, true, 4) } else { (32, 4, false, 1) };
    let threads = Threads { ts, tr, swapped: true };
    let [b, s, r] = sch.loops_of(block)?;
    let [by, batch] = sch.split(b, [0, device.bucket])?;
    let [bx, ts_loop] = sch.split(s, [0, ts])?;
    let [r, tr_loop, scale, vec] = sch.split(r, [0, tr, 4, 8])?;
    sch.reorder(&[by, bx, ts_loop, r, batch, scale, tr_loop, vec])?;
    let both = sch.fuse(&[tr_loop, vec])?;
    let rf = sch.rfactor(both, 0)?;
    let [_, _, _, _, both] = sch.loops_of(block)?;
    let [tr_loop, _] = sch.split(both, [tr, 8])?;
    let rf2 = sch.rfactor(tr_loop, 0)?;
    let [by, bx, ts_loop, r, batch, scale, both] = sch.loops_of(rf)?;
    let [tr_loop, vec] = sch.split(both, [tr, 8])?;
    sch.reorder(&[by, bx, ts_loop, tr_loop, r, scale, batch, vec])?;
    sch.bind(by, "blockIdx.y")?;
    sch.bind(bx, "blockIdx.x")?;
    sch.bind(ts_loop, threads.over_space())?;
    sch.bind(tr_loop, threads.over_reduction())?;
    sch.auto_vectorize(vec, vector)?;
    // As in TVM, what is not quantized stays half scheduled.
    let Some(dequantize) = dequantize else { return Ok(()) };
    sch.compute_at(dequantize, scale, true)?;
    sch.set_scope(dequantize, 0, "local")?;
    let rest = sch.loops_from(dequantize, 6)?;
    let fused = sch.fuse(&rest)?;
    sch.auto_vectorize(fused, vector)?;
    for index in [0, 1] {
        let local = sch.cache_read(dequantize, index, "local")?;
        sch.compute_at(local, r, true)?;
        let rest = sch.loops_from(local, 5)?;
        let fused = sch.fuse(&rest)?;
        sch.auto_vectorize(fused, vector)?;
    }
    let Some(pad) = pad else { return refuse("AttributeError: there is no block that pads") };
    if shared {
        sch.set_scope(pad, 0, "shared")?;
        sch.compute_at(pad, r, true)?;
        sch.storage_align(pad, -2, 8, 1)?;
        let rest = sch.loops_from(pad, 5)?;
        let fused = sch.fuse(&rest)?;
        let [tr_loop, ts_loop, v] = sch.split(fused, [tr, ts, 0])?;
        sch.bind(tr_loop, threads.over_reduction())?;
        sch.bind(ts_loop, threads.over_space())?;
        sch.auto_vectorize(v, vector)?;
    } else {
        sch.compute_inline(pad)?;
    }
    sch.reverse_compute_at(rf2, bx, true)?;
    let [tr_loop, vec, batch, ts_loop] = exactly(sch.loops_from(rf2, 2)?)?;
    sch.reorder(&[ts_loop, tr_loop, batch, vec])?;
    sch.bind(ts_loop, threads.over_space())?;
    sch.bind(tr_loop, threads.over_reduction())?;
    sch.reverse_compute_at(block, bx, true)?;
    let [tr_loop, batch, ts_loop] = exactly(sch.loops_from(block, 2)?)?;
    sch.reorder(&[batch, ts_loop, tr_loop])?;
    sch.bind(ts_loop, threads.over_space())?;
    sch.bind(tr_loop, threads.over_reduction())?;
    for of in [rf, rf2] {
        let before = sch.loop_at(of, 4)?;
        sch.decompose_reduction(of, before)?;
    }
    sch.set_scope(rf, 0, "local")?;
    sch.set_scope(rf2, 0, "local")?;
    let Some(epilogue) = sch.state.get_neighbours(block, true)?.first().copied() else { return Ok(()) };
    if sch.is_broadcast(block, epilogue)? {
        return refuse("NotImplementedError: TVM does not schedule such a product with an epilogue that broadcasts");
    }
    sch.reverse_compute_at(epilogue, bx, true)?;
    let [_, ts_loop] = exactly(sch.loops_from(epilogue, 2)?)?;
    sch.bind(ts_loop, threads.over_space())?;
    sch.set_scope(block, 0, "local")
}
