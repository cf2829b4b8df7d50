//! Products of matrices and vectors, on a GPU (`dlight/gpu/gemv.py`): threads of a block share rows.

use super::Device;
use super::analysis::max_factor;
use super::gemv_outer::{adreno, outer};
use super::steps::Sch;
use crate::ir::{Buffer, Id, PrimId, PrimOp};
use crate::schedule::state::{BlockRef, LoopRef};
use crate::schedule::{Outcome, refuse};
use crate::tir::binary;

/// The distribution of a product over threads, for a kind of GPU.
pub(super) struct Shape {
    /// The family of devices.
    pub family: &'static str,
    /// Elements that a thread adds at once.
    pub vector: i64,
    /// The number of elements that are loaded at once if the vector goes into shared memory.
    pub shared: Option<i64>,
    /// Bytes of the matrix that are loaded at once.
    pub load: i64,
    /// The step up to which loops are unrolled.
    pub unroll: i64,
    /// True if threads of a warp exchange values without memory.
    pub shuffles: bool,
    /// Threads over space and over the reduction, and whether the former are `threadIdx.x`: where space is longer, where it
    /// is not, and where it is not known.
    pub threads: [(i64, i64, bool); 3],
}

const SHAPES: &[Shape] = &[
    shape("cuda", 4, Some(8), 4, 256, true, [(16, 32, false), (16, 32, false), (1, 64, false)]),
    shape("metal", 1, None, 1, 256, true, [(4, 16, true), (2, 64, true), (1, 64, true)]),
    shape("rocm", 4, None, 1, 256, false, [(1, 128, false), (8, 64, false), (1, 64, false)]),
    shape("adreno", 8, None, 1, 8, false, [(2, 32, true), (2, 32, true), (2, 32, true)]),
    shape("vulkan", 4, Some(4), 1, 256, false, [(4, 32, false), (16, 32, false), (1, 64, false)]),
    shape("mali", 8, None, 1, 64, false, [(1, 64, false), (1, 64, false), (1, 64, false)]),
    shape("", 1, None, 1, 64, false, [(1, 64, false), (1, 64, false), (1, 64, false)]),
];

pub(super) const fn shape(
    family: &'static str,
    vector: i64,
    shared: Option<i64>,
    load: i64,
    unroll: i64,
    shuffles: bool,
    threads: [(i64, i64, bool); 3],
) -> Shape {
    Shape { family, vector, shared, load, unroll, shuffles, threads }
}

impl Shape {
    /// The shape for a family of devices.
    pub fn of(shapes: &'static [Shape], family: &str) -> &'static Shape {
        shapes.iter().find(|shape| shape.family == family).unwrap_or(&shapes[shapes.len() - 1])
    }
}

/// Threads over space and over the reduction, as they are bound.
#[derive(Clone, Copy)]
pub(super) struct Threads {
    pub ts: i64,
    pub tr: i64,
    pub swapped: bool,
}

impl Threads {
    /// Halves the threads until they are no more than a device has.
    pub fn within(self, most: i64) -> Threads {
        let Threads { mut ts, mut tr, swapped } = self;
        while ts * tr > most.max(1) {
            if ts > 1 { ts /= 2 } else { tr /= 2 }
        }
        Threads { ts, tr, swapped }
    }

    pub fn over_space(self) -> &'static str {
        if self.swapped { "threadIdx.x" } else { "threadIdx.y" }
    }

    pub fn over_reduction(self) -> &'static str {
        if self.swapped { "threadIdx.y" } else { "threadIdx.x" }
    }
}

/// `dlight.gpu.GEMV`
pub(super) fn gemv(sch: &mut Sch<'_, '_>, device: &Device) -> Outcome<bool> {
    if !device.gpu {
        return Ok(false);
    }
    let Some(infos) = sch.normalize()? else { return Ok(false) };
    let Some((info, epilogue)) = sch.with_epilogue(infos) else { return Ok(false) };
    if ![2, 3].contains(&info.iters.len()) {
        return Ok(false);
    }
    let Some(vectors) = sch.vectors(&info, None)? else { return Ok(false) };
    let epilogue = epilogue.map(|epilogue| epilogue.block);
    match sch.normalize_gemv(&info)? {
        None => Ok(false),
        Some(true) => inner(sch, device, info.block, &vectors, epilogue),
        Some(false) => Ok(outer(sch, device, info.block, epilogue)? || adreno(sch, device, info.block, &vectors, epilogue)?),
    }
}

/// The bytes of a device that some buffers take, if that is a number, with so many more elements of each.
pub(super) fn bytes_of(sch: &mut Sch<'_, '_>, buffers: &[Id<Buffer>], more: i64) -> Option<i64> {
    let mut sum = 0;
    for buffer in buffers {
        let store = &mut *sch.state.store;
        let buffer = store.buffer(*buffer).clone();
        let size = i64::from(buffer.dtype.bits).div_euclid(8).max(1);
        let product: Option<PrimId> = buffer.shape.iter().copied().reduce(|a, b| binary(store, PrimOp::Mul, a, b));
        let elements = product.map_or(Some(1), |product| store.as_prim_int(product))?;
        sum += (elements + more) * size;
    }
    Some(sum)
}

/// Returns the shared memory of a device without the attribute.
pub(super) fn shared_memory(device: &Device) -> i64 {
    device.shared_memory.unwrap_or(match &*device.kind {
        "cuda" => 49152,
        "rocm" => 65536,
        "metal" => 32768,
        _ => 16384,
    })
}

/// Loads the vector of a product into shared memory, by all threads of a block; the loops of the copy.
pub(super) fn load_shared(
    sch: &mut Sch<'_, '_>,
    rf: BlockRef,
    under: LoopRef,
    threads: Threads,
    vector: i64,
) -> Outcome<BlockRef> {
    let Threads { ts, tr, swapped } = threads;
    let block = sch.cache_read(rf, 0, "shared")?;
    sch.compute_at(block, under, true)?;
    let of = sch.last_loop(block)?;
    let all = ts * tr;
    let vector = match sch.extent(of)? {
        Some(extent) => (max_factor(extent, &[all, all * 2, all * 4, all * 8]) / ts / tr).min(vector).max(1),
        None => vector,
    };
    let (outer, inside) = if swapped { (tr, ts) } else { (ts, tr) };
    let [_, ty, tx, vec] = sch.split(of, [0, outer, inside, vector])?;
    sch.bind(ty, "threadIdx.y")?;
    sch.bind(tx, "threadIdx.x")?;
    sch.vectorize(vec)?;
    Ok(block)
}

/// Splits the loops over space of what is reduced next: threads, and what each does.
pub(super) fn split_space(sch: &mut Sch<'_, '_>, loops: &[LoopRef], ts: i64, tile: i64) -> Outcome<(LoopRef, LoopRef)> {
    let fused = sch.fuse(loops)?;
    let [outer, inner, tile] = sch.split(fused, [0, ts, tile])?;
    if sch.extent(outer)? != Some(1) {
        return refuse("AssertionError: a block of threads does more than it has threads");
    }
    Ok((sch.fuse(&[outer, inner])?, tile))
}

/// Binds threads to the epilogue of a product. `bx` is the loop over blocks of threads and the number of loops down to it.
pub(super) fn finish(
    sch: &mut Sch<'_, '_>,
    block: BlockRef,
    epilogue: BlockRef,
    (bx, outer): (LoopRef, usize),
    threads: Threads,
    broadcast: (i64, &str),
    tile: i64,
) -> Outcome<()> {
    if sch.is_broadcast(block, epilogue)? {
        sch.reverse_compute_at(epilogue, bx, false)?;
        sch.set_scope(block, 0, "shared")?;
        let rest = sch.loops_from(epilogue, outer + 1)?;
        let fused = sch.fuse(&rest)?;
        let [_, tx] = sch.split(fused, [0, broadcast.0])?;
        return sch.bind(tx, broadcast.1);
    }
    sch.reverse_compute_at(epilogue, bx, true)?;
    let rest = sch.loops_from(epilogue, outer)?;
    sch.fuse(&rest)?;
    let last = sch.last_loop(epilogue)?;
    let [outer, inner, _] = sch.split(last, [0, threads.ts, tile])?;
    if sch.extent(outer)? != Some(1) {
        return refuse("AssertionError: a block of threads does more than it has threads");
    }
    let ts = sch.fuse(&[outer, inner])?;
    sch.bind(ts, threads.over_space())?;
    sch.set_scope(block, 0, "local")
}

fn inner(
    sch: &mut Sch<'_, '_>,
    device: &Device,
    block: BlockRef,
    vectors: &[Id<Buffer>],
    epilogue: Option<BlockRef>,
) -> Outcome<bool> {
    let [batch, s, r, c] = sch.loops_of(block)?;
    let mut extents = [None; 4];
    for (place, of) in [batch, s, r, c].into_iter().enumerate() {
        extents[place] = sch.extent(of)?;
    }
    let [len_batch, len_s, len_r, len_c] = extents;
    let both = |a: Option<i64>, b: Option<i64>| Some(a? * b?);
    let shape = Shape::of(SHAPES, device.family());
    let compares = shape.threads[0] != shape.threads[1];
    let longer = match (both(len_batch, len_s), both(len_r, len_c)) {
        (None, _) => 2,
        (Some(_), None) if compares => return refuse("ValueError: Cannot use and / or / not operator to Expr"),
        (Some(s), Some(r)) if s > r => 0,
        _ => 1,
    };
    let (ts, tr, swapped) = shape.threads[longer];
    let Some(most) = device.num_threads else { return refuse("KeyError: 'max_num_threads'") };
    let threads = Threads { ts, tr, swapped }.within(most);
    let Threads { ts, tr, .. } = threads;
    let tile = match (len_c, len_r) {
        (Some(c), _) if c > 1 => c,
        (Some(_), Some(r)) => (max_factor(r, &[tr, tr * 2, tr * 4, tr * 8]) / tr).max(1),
        _ => return refuse("ValueError: Cannot use and / or / not operator to Expr"),
    };
    let vec_c = max_factor(tile, &[1, 2, 4, 8]).min(shape.vector);

    let s = sch.fuse(&[batch, s])?;
    let r = sch.fuse(&[r, c])?;
    sch.split(s, [0, ts, 1])?;
    let [r, tr_loop, tile_r, vec] = sch.split(r, [0, tr, tile / vec_c, vec_c])?;
    sch.reorder(&[r, tile_r, tr_loop, vec])?;
    let both = sch.fuse(&[tr_loop, vec])?;
    let rf = sch.rfactor(both, 0)?;
    let [_, _, _, both] = sch.loops_of(block)?;
    let [tr_loop, _] = sch.split(both, [tr, 0])?;
    let rf2 = sch.rfactor(tr_loop, 0)?;
    let [bx, ts_loop, tile_s, r, tile_r, both] = sch.loops_of(rf)?;
    let [tr_loop, vec] = sch.split(both, [tr, 0])?;
    sch.reorder(&[bx, ts_loop, tr_loop, r, tile_s, tile_r, vec])?;
    sch.bind(bx, "blockIdx.x")?;
    sch.bind(ts_loop, threads.over_space())?;
    sch.bind(tr_loop, threads.over_reduction())?;
    sch.vectorize(vec)?;

    let more = if shape.shuffles { 0 } else { ts * tr };
    let bytes = bytes_of(sch, vectors, more);
    let shared = shape.shared.filter(|_| bytes.is_some_and(|bytes| bytes <= shared_memory(device)));
    let local = sch.cache_read(rf, 1, "local")?;
    let n = sch.loops(local)?.len();
    sch.compute_at(local, r, true)?;
    let loops = sch.inner_loops(local, n)?;
    let load = match loops[..] {
        [only] => only,
        [.., a, b] => sch.fuse(&[a, b])?,
        [] => return refuse("ValueError: 'fuse' requires at least 1 loop(s)"),
    };
    let source = sch.block(local)?.reads.first().map(|region| region.buffer);
    let size = source.map_or(1, |buffer| i64::from(sch.state.store.buffer(buffer).dtype.bits) / 8).max(1);
    let [_, vec] = sch.split(load, [0, (shape.load / size).max(1)])?;
    sch.vectorize(vec)?;
    let mut loaded = None;
    if let Some(vector) = shared {
        if vectors.len() != 1 {
            return Ok(false);
        }
        loaded = Some(load_shared(sch, rf, tr_loop, threads, vector)?);
    }

    sch.reverse_compute_at(rf2, bx, true)?;
    let (tr_loop, vec) = (sch.loop_at(rf2, 1)?, sch.loop_at(rf2, 2)?);
    let rest = sch.loops_from(rf2, 3)?;
    let (ts_loop, tile_s) = split_space(sch, &rest, ts, 1)?;
    let [tile_s, vec_s] = sch.split(tile_s, [0, 1])?;
    sch.reorder(&[ts_loop, tr_loop, tile_s, vec_s, vec])?;
    sch.bind(ts_loop, threads.over_space())?;
    sch.bind(tr_loop, threads.over_reduction())?;
    sch.vectorize(vec_s)?;

    sch.reverse_compute_at(block, bx, true)?;
    let tr_loop = sch.loop_at(block, 1)?;
    let rest = sch.loops_from(block, 2)?;
    let (ts_loop, tile_s) = split_space(sch, &rest, ts, 1)?;
    sch.reorder(&[tile_s, ts_loop, tr_loop])?;
    sch.bind(ts_loop, threads.over_space())?;
    sch.bind(tr_loop, threads.over_reduction())?;
    close(sch, rf, rf2, loaded, 3, shape.unroll)?;
    if let Some(epilogue) = epilogue {
        finish(sch, block, epilogue, (bx, 1), threads, (tr, "threadIdx.x"), 1)?;
    }
    Ok(true)
}

/// Takes the beginnings of the partial sums apart and says how far loops are unrolled.
pub(super) fn close(
    sch: &mut Sch<'_, '_>,
    rf: BlockRef,
    rf2: BlockRef,
    loaded: Option<BlockRef>,
    at: usize,
    unroll: i64,
) -> Outcome<()> {
    let before = sch.loop_at(rf, at)?;
    sch.decompose_reduction(rf, before)?;
    let before = sch.last_loop(rf2)?;
    sch.decompose_reduction(rf2, before)?;
    for block in [rf, rf2] {
        sch.set_scope(block, 0, "local")?;
    }
    for block in [rf, rf2] {
        let of = sch.loop_at(block, at)?;
        sch.note_unroll(of, unroll)?;
    }
    if let Some(loaded) = loaded {
        let Some(of) = sch.inner_loops(loaded, 4)?.first().copied() else { return Ok(()) };
        sch.note(of, "pragma_unroll_explicit", unroll)?;
        sch.note(of, "pragma_vectorize", 1)?;
    }
    Ok(())
}
