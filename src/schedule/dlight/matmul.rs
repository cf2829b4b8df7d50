//! Products of matrices, on a GPU (`dlight/gpu/matmul.py`): tiles in shared memory, micro tiles in registers.

use super::Device;
use super::steps::Sch;
use crate::ir::{Block, DType, Id, IterKind, PrimExpr, PrimId, PrimOp, Region, Symbol};
use crate::schedule::analysis::vars_of;
use crate::schedule::state::BlockRef;
use crate::schedule::{Outcome, refuse};
use crate::tir::binary;
use crate::tir::index_map::IndexMap;

/// The role of an iterator in `C[S, I, J] += A[S, I, K] * B[S, J, K]`; `T` has one value.
type Trait = (Id<Symbol>, char, PrimId);

/// The variables in the places of a region, which is one element.
fn axes(sch: &Sch<'_, '_>, region: &Region) -> Option<Vec<Id<Symbol>>> {
    let store = &*sch.state.store;
    let mut found = Vec::new();
    for (min, extent) in &region.ranges {
        if extent.is_some_and(|extent| store.as_prim_int(extent) != Some(1)) {
            return None;
        }
        found.extend(vars_of(store, *min));
    }
    Some(found)
}

/// The maps that make a product one of three matrices with a batch: of its iterators, of `A`, `B` and `C`.
fn index_maps(sch: &mut Sch<'_, '_>, block: &Block) -> Option<[IndexMap; 4]> {
    let ([a, b], [c]) = (&block.reads[..], &block.writes[..]) else { return None };
    let (a, b, c) = (axes(sch, a)?, axes(sch, b)?, axes(sch, c)?);
    let mut traits: Vec<Trait> = Vec::new();
    for iter in &block.iters {
        let is_in = [&a, &b, &c].map(|axes| axes.contains(&iter.var));
        let kind = match (iter.kind, is_in) {
            _ if sch.state.store.as_prim_int(iter.extent) == Some(1) => 'T',
            (IterKind::Spatial, [true, true, true]) => 'S',
            (IterKind::Spatial, [true, false, true]) => 'I',
            (IterKind::Spatial, [false, true, true]) => 'J',
            (IterKind::Reduce, [true, true, false]) => 'K',
            _ => return None,
        };
        traits.push((iter.var, kind, iter.extent));
    }
    if !['I', 'J', 'K'].iter().all(|kind| traits.iter().any(|(_, known, _)| known == kind)) {
        return None;
    }
    let of = |axes: &[Id<Symbol>]| -> Vec<Trait> { traits.iter().filter(|(var, ..)| axes.contains(var)).copied().collect() };
    let (a, b, c) = (of(&a), of(&b), of(&c));
    Some([(traits, "SIJK"), (a, "SIK"), (b, "SJK"), (c, "SIJ")].map(|(traits, order)| fusion(sch, &traits, order)))
}

/// Fuses the iterators of each kind.
fn fusion(sch: &mut Sch<'_, '_>, traits: &[Trait], order: &str) -> IndexMap {
    let store = &mut *sch.state.store;
    let mut params = Vec::new();
    let mut fused: Vec<(char, PrimId)> = Vec::new();
    for (place, (_, kind, extent)) in traits.iter().enumerate() {
        let (name, dtype) = (store.name(&format!("i{place}")), store.prim_dtype(*extent));
        let var = store.add_symbol(Symbol { name, dtype, size: false });
        let prim = store.prim(PrimExpr::Var(var));
        params.push(var);
        match fused.iter_mut().find(|(known, _)| known == kind) {
            _ if *kind == 'T' => {}
            Some((_, sum)) => {
                let scaled = binary(store, PrimOp::Mul, *sum, *extent);
                *sum = binary(store, PrimOp::Add, scaled, prim);
            }
            None => fused.push((*kind, prim)),
        }
    }
    let dtype = traits.first().map_or(DType::I64, |(.., extent)| store.prim_dtype(*extent));
    let zero = store.prim_int(0, dtype);
    let found = |kind: char| fused.iter().find(|(known, _)| *known == kind).map_or(zero, |(_, prim)| *prim);
    IndexMap { params, indices: order.chars().map(found).collect() }
}

/// The blocks of a function with one product of matrices among blocks without reductions; the product.
fn main_block(sch: &mut Sch<'_, '_>) -> Outcome<Option<BlockRef>> {
    let tree = sch.state.tree()?;
    let root = match tree.nodes.first().and_then(|_| tree.as_block(0)) {
        Some(root) => sch.state.block_ref(root),
        None => return refuse("ValueError: The function body is expected to be the root block"),
    };
    let mut found = Vec::new();
    for block in sch.state.get_child_blocks(Ok(root))? {
        let data = sch.block(block)?;
        let has = |kind: IterKind| data.iters.iter().any(|iter| iter.kind == kind);
        match (has(IterKind::Spatial), has(IterKind::Reduce), has(IterKind::Opaque) || has(IterKind::Scan)) {
            (true, true, false) => found.push(block),
            (true, false, false) => {}
            _ => return Ok(None),
        }
    }
    Ok(if let [only] = found[..] { Some(only) } else { None })
}

/// Makes a product one of `A[S, I, K]` and `B[S, J, K]`, which are copies; nothing where it has another form.
pub(super) fn normalize(sch: &mut Sch<'_, '_>) -> Outcome<Option<BlockRef>> {
    let Some(main) = main_block(sch)? else { return Ok(None) };
    let data = sch.block(main)?;
    if index_maps(sch, &data).is_none() {
        return Ok(None);
    }
    let a = sch.reindex(main, 0, false)?;
    let b = sch.reindex(main, 1, false)?;
    let c = sch.reindex(main, 0, true)?;
    let data = sch.block(main)?;
    let Some([whole, of_a, of_b, of_c]) = index_maps(sch, &data) else {
        return refuse("AssertionError: the product has another form when it is reindexed");
    };
    sch.transform_layout(a, 0, true, &of_a)?;
    sch.transform_layout(b, 0, true, &of_b)?;
    sch.transform_layout(c, 0, false, &of_c)?;
    sch.transform_block_layout(main, &whole)?;
    Ok(Some(main))
}

/// All blocks whose results go into one, or with `after` that use its results, also by way of others.
fn reached(sch: &mut Sch<'_, '_>, block: BlockRef, after: bool) -> Outcome<Vec<BlockRef>> {
    let mut found = Vec::new();
    let mut todo = vec![(block, true)];
    while let Some((block, first)) = todo.pop() {
        if !first {
            found.push(block);
        }
        if found.len() < 1 << 10 {
            todo.extend(sch.state.get_neighbours(block, after)?.into_iter().rev().map(|block| (block, false)));
        }
    }
    Ok(found)
}

/// Inlines all that can be inlined of what goes into a block.
pub(super) fn inline_producers(sch: &mut Sch<'_, '_>, block: BlockRef) -> Outcome<()> {
    loop {
        let mut done = false;
        for producer in reached(sch, block, false)? {
            done |= sch.compute_inline(producer).is_ok();
        }
        if !done {
            return Ok(());
        }
    }
}

fn inline_consumers(sch: &mut Sch<'_, '_>, block: BlockRef) -> Outcome<()> {
    loop {
        let mut done = false;
        let consumers = reached(sch, block, true)?;
        for consumer in &consumers {
            done |= sch.compute_inline(*consumer).is_ok();
        }
        for consumer in &consumers {
            done |= sch.reverse_compute_inline(*consumer).is_ok();
        }
        if !done {
            return Ok(());
        }
    }
}

/// Inlines what follows a block into it, and what else goes into that.
pub(super) fn inline_chain(sch: &mut Sch<'_, '_>, block: BlockRef) -> Outcome<()> {
    inline_consumers(sch, block)?;
    let left = sch.state.get_neighbours(block, true)?;
    if !left.is_empty() {
        for consumer in left {
            for producer in sch.state.get_neighbours(consumer, false)? {
                if producer != block {
                    inline_producers(sch, producer)?;
                    sch.compute_inline(producer)?;
                }
            }
        }
        inline_consumers(sch, block)?;
    }
    match sch.state.get_neighbours(block, true)?.is_empty() {
        true => Ok(()),
        false => refuse("AssertionError: There are some consumers of the cache-write stage that are not properly inlined."),
    }
}

/// The tiling of a product.
struct Tiles {
    block: (i64, i64),
    micro: (i64, i64, i64),
    vector: i64,
    unroll: i64,
    shared: bool,
    align: bool,
    inner_x: bool,
}

/// The same on Adreno for a matrix that is read across the reduction, where the number of rows is not known: the input is
/// transposed into tiles first.
pub(super) fn adreno(sch: &mut Sch<'_, '_>, device: &Device) -> Outcome<bool> {
    const ROWS: i64 = 16;
    if device.family() != "adreno" {
        return Ok(false);
    }
    let Some(main) = main_block(sch)? else { return Ok(false) };
    let data = sch.block(main)?;
    if index_maps(sch, &data).is_none() {
        return Ok(false);
    }
    let last = data.reads.last().and_then(|region| region.ranges.last()).map(|(min, _)| *min);
    let reduces = |iter: &crate::ir::IterVar| {
        iter.kind == IterKind::Reduce && last.is_some_and(|last| *sch.state.store.prim_of_id(last) == PrimExpr::Var(iter.var))
    };
    if data.iters.iter().any(reduces) {
        return Ok(false);
    }
    let loops = sch.loops(main)?;
    let [mb, ms, n, _] = loops[..] else { return Ok(false) };
    let (Some(_), None, Some(len_n)) = (sch.extent(mb)?, sch.extent(ms)?, sch.extent(n)?) else { return Ok(false) };
    let vector = super::analysis::max_factor(len_n / 32, &[1, 2, 4, 8]).min(8);
    let (tree, at) = sch.state.find_block(main)?;
    let root = tree.scope(at).and_then(|root| tree.as_block(root)).map(|root| sch.state.block_ref(root));
    let blocks = root.map_or(Ok(Vec::new()), |root| sch.state.get_child_blocks(Ok(root)))?;
    let epilogue = blocks.last().copied().filter(|last| *last != main);
    let mut dequantize = None;
    for block in blocks.iter().take(blocks.len().saturating_sub(1)) {
        if sch.name(*block)?.contains("dequantize") {
            dequantize = Some(*block);
        } else if *block != main {
            sch.compute_inline(*block)?;
        }
    }
    let copy = sch.reindex(main, 0, false)?;
    sch.pad_einsum(main, &[1, ROWS, 1, 1])?;
    sch.compute_inline(copy)?;
    let first = |list: Vec<BlockRef>| list.first().copied();
    let (Some(tiles), Some(mut out)) =
        (first(sch.state.get_neighbours(main, false)?), first(sch.state.get_neighbours(main, true)?))
    else {
        return refuse("IndexError: list index out of range");
    };
    if let Some(epilogue) = epilogue {
        sch.compute_inline(out)?;
        out = epilogue;
    }
    let map = tile_map(sch, tiles, ROWS)?;
    sch.transform_layout(tiles, 0, true, &map)?;
    let [tb, tn, tk] = sch.loops_of(tiles)?;
    let [tbx, ttx] = sch.split(tk, [0, 32])?;
    let [tby, tty, tc] = sch.split(tn, [0, 4, ROWS])?;
    for (of, tag) in [(tb, "blockIdx.z"), (tby, "blockIdx.y"), (tbx, "blockIdx.x"), (tty, "threadIdx.y"), (ttx, "threadIdx.x")] {
        sch.bind(of, tag)?;
    }
    sch.reorder(&[tb, tby, tbx, tty, ttx, tc])?;
    sch.vectorize(tc)?;

    let [mb, ms, n, k] = sch.loops_of(main)?;
    let m = sch.fuse(&[mb, ms])?;
    let [bx, tx, vec] = sch.split(n, [0, 32, vector])?;
    let [by, ty, rows] = sch.split(m, [0, 4, ROWS])?;
    let [k1, k2, k3] = sch.split(k, [0, 4, 8])?;
    sch.reorder(&[bx, by, tx, ty, k1, k2, k3, rows, vec])?;
    sch.set_scope(main, 0, "local")?;
    if let Some(dequantize) = dequantize {
        sch.compute_at(dequantize, k3, false)?;
        sch.set_scope(dequantize, 0, "local")?;
    }
    for (of, tag) in [(by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")] {
        sch.bind(of, tag)?;
    }
    sch.vectorize(vec)?;
    let load = |sch: &mut Sch<'_, '_>, block, index, under, keep| -> Outcome<()> {
        let local = sch.cache_read(block, index, "local")?;
        sch.compute_at(local, under, keep)?;
        let last = sch.last_loop(local)?;
        sch.vectorize(last)
    };
    load(sch, main, 0, k3, true)?;
    sch.unroll(rows)?;
    sch.unroll(k3)?;
    if let Some(dequantize) = dequantize {
        load(sch, dequantize, 0, k2, true)?;
        load(sch, dequantize, 1, k1, true)?;
        let last = sch.last_loop(dequantize)?;
        sch.vectorize(last)?;
    }
    sch.reverse_compute_at(out, ty, false)?;
    let [rows, vec] = super::steps::exactly(sch.inner_loops(out, 2)?)?;
    sch.vectorize(vec)?;
    sch.unroll(rows)?;
    sch.decompose_reduction(main, k1)?;
    Ok(true)
}

/// `lambda b, i, k: (b, i // rows, k, i % rows)`
fn tile_map(sch: &mut Sch<'_, '_>, block: BlockRef, rows: i64) -> Outcome<IndexMap> {
    let data = sch.block(block)?;
    let store = &mut *sch.state.store;
    let Some(write) = data.writes.first() else { return refuse("IndexError: list index out of range") };
    let shape = store.buffer(write.buffer).shape.clone();
    let (mut params, mut vars) = (Vec::new(), Vec::new());
    for (place, extent) in shape.iter().enumerate() {
        let (name, dtype) = (store.name(&format!("i{place}")), store.prim_dtype(*extent));
        let var = store.add_symbol(Symbol { name, dtype, size: false });
        params.push(var);
        vars.push(store.prim(PrimExpr::Var(var)));
    }
    let &[b, i, k] = &vars[..] else { return refuse("ValueError: the input is no batch of matrices") };
    let rows = store.prim_int(rows, store.prim_dtype(i));
    let (outer, inner) = (binary(store, PrimOp::FloorDiv, i, rows), binary(store, PrimOp::FloorMod, i, rows));
    Ok(IndexMap { params, indices: vec![b, outer, k, inner] })
}

/// `dlight.gpu.Matmul`, where nothing better is at hand.
pub(super) fn matmul(sch: &mut Sch<'_, '_>, device: &Device) -> Outcome<bool> {
    if !device.gpu {
        return Ok(false);
    }
    let tiles = match device.family() {
        "cuda" | "rocm" => {
            Tiles { block: (8, 16), micro: (4, 4, 16), vector: 2, unroll: 256, shared: true, align: true, inner_x: false }
        }
        "adreno" => {
            Tiles { block: (32, 4), micro: (8, 2, 16), vector: 8, unroll: 16, shared: false, align: false, inner_x: true }
        }
        _ => Tiles { block: (8, 8), micro: (4, 4, 8), vector: 1, unroll: 256, shared: true, align: false, inner_x: false },
    };
    let Some(main) = normalize(sch)? else { return Ok(false) };
    let Tiles { block: (block_x, block_y), micro: (micro_x, micro_y, micro_k), vector, .. } = tiles;
    let (size_x, size_y) = (block_x * micro_x, block_y * micro_y);
    let (first, second) = if tiles.inner_x { (size_y, size_x) } else { (size_x, size_y) };
    sch.pad_einsum(main, &[1, first, second, micro_k])?;
    let [batch, mut x, mut y, k] = sch.loops_of(main)?;
    if tiles.inner_x {
        (x, y) = (y, x);
    }
    let [by, vy, ty, yi] = sch.split(y, [0, 1, block_y, micro_y])?;
    let [bx, vx, tx, xi] = sch.split(x, [0, 1, block_x, micro_x])?;
    let [ko, ki] = sch.split(k, [0, micro_k])?;
    let (second, last) = if tiles.inner_x { (yi, xi) } else { (xi, yi) };
    sch.reorder(&[by, bx, vy, vx, ty, tx, ko, ki, second, last])?;
    let by = sch.fuse(&[batch, by])?;
    for (of, tag) in
        [(bx, "blockIdx.x"), (by, "blockIdx.y"), (vy, "vthread.y"), (vx, "vthread.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")]
    {
        sch.bind(of, tag)?;
    }
    if (if tiles.inner_x { micro_x } else { micro_y }) % vector == 0 {
        let [_, v] = sch.split(last, [0, vector])?;
        sch.vectorize(v)?;
    }
    sch.note_unroll(tx, tiles.unroll)?;
    let out = sch.cache_write(main, 0, "local")?;
    sch.reverse_compute_at(out, tx, true)?;
    if micro_x % vector == 0 {
        let last = sch.last_loop(out)?;
        let [_, v] = sch.split(last, [0, vector])?;
        sch.vectorize(v)?;
    }
    if tiles.shared {
        let mut copies = Vec::new();
        for index in [0, 1] {
            let copy = sch.cache_read(main, index, "shared")?;
            let n = sch.loops(copy)?.len();
            sch.compute_at(copy, ko, true)?;
            let loops = sch.inner_loops(copy, n)?;
            let fused = sch.fuse(&loops)?;
            let [ty, tx, _, vec] = sch.split(fused, [block_y, block_x, 0, vector])?;
            sch.vectorize(vec)?;
            sch.bind(ty, "threadIdx.y")?;
            sch.bind(tx, "threadIdx.x")?;
            if tiles.align {
                sch.storage_align(copy, 1, 8, vector)?;
            }
            copies.push(copy);
        }
        for copy in copies {
            inline_producers(sch, copy)?;
        }
    } else {
        inline_producers(sch, main)?;
    }
    inline_chain(sch, out)?;
    sch.decompose_reduction(main, ko)?;
    Ok(true)
}
