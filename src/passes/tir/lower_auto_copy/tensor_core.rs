//! Copies between shared memory and the tiles of tensor cores, in tiles (`memhammer_tensorcore_rewrite.cc`).

use super::nest::{Nest, around, counted, index_var, suffixed, with_number};
use super::stage::{Stage, shared_stage};
use super::{Copying, coalesce, errors};
use crate::ir::{AttrNode, Block, Buffer, DType, ForKind, Id, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Store};
use crate::tir::access::{extent_of, range_of};
use crate::tir::arith::{Analyzer, Domains, domains_of, eval_set};
use crate::tir::{binary, substitute_stmt};

/// The memory of the results of `wmma`.
pub(super) const WMMA: &str = "wmma.accumulator";
/// The memory of the results of `mma` for tiles of 16 x 8.
pub(super) const MMA: &str = "m16n8k8.matrixC";

/// The two ways in which a warp stores results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Core {
    /// By an instruction for tiles of 16 x 16.
    Wmma,
    /// Each lane its own two elements of a tile of 8 x 8.
    Mma,
}

impl Core {
    fn tile(self) -> i64 {
        match self {
            Core::Wmma => 16,
            Core::Mma => 8,
        }
    }

    fn scope(self) -> &'static str {
        match self {
            Core::Wmma => WMMA,
            Core::Mma => MMA,
        }
    }
}

/// Divides the two innermost loops into tiles, and returns the place of the outermost of the four. Loops that tiles do not
/// divide evenly stay.
fn tiled(store: &mut Store, mut nest: Nest, size: i64) -> Result<(Nest, Option<usize>), String> {
    let Some(first) = nest.heads.len().checked_sub(2) else { return Err(too_few_loops()) };
    let analyzer = &mut Analyzer::new();
    let zero = store.prim_int(0, DType::I32);
    let inner = nest.heads.split_off(first);
    for head in &inner {
        let rest = with_number(store, PrimOp::FloorMod, head.extent, size);
        if !analyzer.can_prove_equal(store, rest, zero) {
            nest.heads.extend(inner);
            return Ok((nest, None));
        }
    }
    let (mut outer, mut within, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for head in &inner {
        let (tile, tile_prim) = suffixed(store, head.var, "_0");
        let (place, place_prim) = suffixed(store, head.var, "_1");
        let begin = with_number(store, PrimOp::Mul, tile_prim, size);
        values.push((head.var, binary(store, PrimOp::Add, begin, place_prim)));
        let tiles = with_number(store, PrimOp::FloorDiv, head.extent, size);
        let count = store.prim_int(size, DType::I32);
        outer.push(counted(store, tile, tiles, ForKind::Serial));
        within.push(counted(store, place, count, ForKind::Serial));
    }
    let body = substitute_stmt(store, nest.body, &values);
    let heads = nest.heads.into_iter().chain(outer).chain(within).collect();
    Ok((Nest { heads, body }, Some(first)))
}

fn too_few_loops() -> String {
    "a copy of tiles of a tensor core needs two loops".to_owned()
}

/// A tile within the two buffers of a copy.
struct Tile {
    from: Region,
    to: Region,
}

impl Tile {
    /// Returns the parts of both buffers that the two innermost loops go through.
    fn of(store: &mut Store, nest: &Nest, load: (Id<Buffer>, &[PrimId]), to: (Id<Buffer>, &[PrimId])) -> Result<Tile, String> {
        let first = nest.heads.len().checked_sub(2).ok_or_else(too_few_loops)?;
        let ranges = nest.ranges();
        let domains = domains_of(store, ranges.get(first..).unwrap_or_default());
        Ok(Tile { from: covered(store, load, &domains), to: covered(store, to, &domains) })
    }

    /// Makes the block in which the tiles are buffers of their own.
    fn block(self, store: &mut Store, name: &str, (from, to): (Id<Buffer>, Id<Buffer>), body: StmtId) -> Result<StmtId, String> {
        fits(store, from, &self.from)?;
        fits(store, to, &self.to)?;
        let name = store.name(name);
        let block = store.add_prim_block(Block {
            reads: [self.from.clone()].into(),
            writes: [self.to.clone()].into(),
            matches: [(from, self.from), (to, self.to)].into(),
            ..Block::around(name, body)
        });
        Ok(store.add_stmt(Stmt::Block(block)))
    }
}

/// Asks of a tile what TVM asks of a buffer that is part of another one. The error is TVM's.
fn fits(store: &mut Store, tile: Id<Buffer>, source: &Region) -> Result<(), String> {
    let (part, whole) = (store.buffer(tile).clone(), store.buffer(source.buffer).clone());
    if part.dtype != whole.dtype {
        let name = store.str(part.name);
        return Err(format!(
            "Check failed: buffer->dtype == source_buffer->dtype (T.{0} vs. T.{1}) : MatchBuffer {name} data type \
             mismatch:T.{0} vs. T.{1}",
            part.dtype, whole.dtype
        ));
    }
    if whole.align % part.align != 0 {
        return Err(format!(
            "Check failed: (source_buffer->data_alignment % buffer->data_alignment == 0) is false: Trying to match buffer to \
             another one with lower alignment requirement  required alignment={}, provided alignment={}",
            part.align, whole.align
        ));
    }
    let Some(outer) = source.ranges.len().checked_sub(part.shape.len()) else {
        return Err(format!(
            "Check failed: (source->region.size() >= buffer->shape.size()) is false: Dimension of source ffi::Array<Range> \
             expected to be larger or equal than target buffer shape, but got {} vs. {}",
            source.ranges.len(),
            part.shape.len()
        ));
    };
    for (axis, range) in source.ranges.iter().enumerate() {
        let extent = extent_of(store, *range);
        let found = store.as_prim_int(extent);
        let side = axis.checked_sub(outer).and_then(|axis| part.shape.get(axis)).map(|side| store.as_prim_int(*side));
        let shown = found.map_or("an extent that is no number".to_owned(), |found| found.to_string());
        match side {
            None if found != Some(1) => {
                return Err(format!(
                    "Check failed: (analyzer->CanProve(source->region[i]->extent == 1)) is false: The higher dimension should be \
                     1, but got {shown}."
                ));
            }
            Some(side) if found != side => {
                let side = side.unwrap_or_default();
                return Err(format!(
                    "Check failed: (analyzer->CanProve(source_range->extent == buffer_shape)) is false: The dimension mismatched \
                     between source region and target buffer shape, got {shown} vs. {side}."
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the part of a buffer that an access goes through.
fn covered(store: &mut Store, (buffer, indices): (Id<Buffer>, &[PrimId]), domains: &Domains) -> Region {
    let shape = store.buffer(buffer).shape.clone();
    let mut ranges = Vec::new();
    for (index, size) in indices.iter().zip(&shape) {
        let zero = store.prim_int(0, store.prim_dtype(*size));
        let set = eval_set(store, *index, domains);
        let (min, extent) = set.cover(store, (zero, *size));
        ranges.push(range_of(store, min, extent));
    }
    Region { buffer, ranges: ranges.into() }
}

/// A buffer for a tile, and the expressions in it.
struct Part {
    buffer: Id<Buffer>,
    offset: PrimId,
    /// The distance between rows, where it is not that of a packed tile.
    row: Option<PrimId>,
}

impl Part {
    fn new(store: &mut Store, name: &str, like: Id<Buffer>, dtype: DType, size: i64, strided: bool) -> Part {
        let (_, offset) = index_var(store, &format!("{name}_elem_offset"));
        let strides: Vec<PrimId> = match strided {
            true => ["s1", "s0"].map(|name| index_var(store, name).1).into(),
            false => Vec::new(),
        };
        let side = store.prim_int(size, DType::I32);
        let scope = store.buffer(like).scope;
        let name = store.name(name);
        let packed = Buffer::new(name, dtype, [side, side].into(), scope);
        let row = strides.first().copied();
        let offset_factor = if size == 16 { 16 } else { 8 };
        let buffer = Buffer { strides: strides.into(), elem_offset: Some(offset), offset_factor, ..packed };
        Part { buffer: store.add_buffer(buffer), offset, row }
    }

    /// Makes the arguments of an instruction that moves a tile: the tile in registers, its shape and number, a pointer to it
    /// in memory, the distance between rows there, and their order.
    fn arguments(tile: &Part, memory: &Part, store: &mut Store, mask: i64, order: &str) -> Vec<PrimId> {
        let data = store.prim(PrimExpr::Data(tile.buffer));
        let side = store.prim_int(16, DType::I32);
        let whole = with_number(store, PrimOp::FloorDiv, tile.offset, 256);
        let rest = with_number(store, PrimOp::FloorMod, tile.offset, 256);
        let rest = with_number(store, PrimOp::FloorDiv, rest, 16);
        let number = binary(store, PrimOp::Add, whole, rest);

        let (dtype, scope) = (store.buffer(memory.buffer).dtype, store.buffer(memory.buffer).scope);
        let row = memory.row.unwrap_or(side);
        let annotation = store.prim_call("type_annotation", &[], dtype);
        let base = store.prim(PrimExpr::Data(memory.buffer));
        let length = with_number(store, PrimOp::Mul, row, 16);
        let mask = store.prim_int(mask, DType::I32);
        let pointer = store.pointer(dtype, scope);
        let pointer = store.prim_call("tvm_access_ptr", &[annotation, base, memory.offset, length, mask], pointer);
        let order = store.name(order);
        let order = store.prim(PrimExpr::Str(order));
        vec![data, side, side, side, number, pointer, row, order]
    }
}

/// Loads tiles from shared memory with `tvm_load_matrix_sync`.
pub(super) fn load_tiles(store: &mut Store, id: StmtId) -> Result<StmtId, String> {
    let nest = Nest::of(store, id);
    let (nest, _) = tiled(store, nest, Core::Wmma.tile())?;
    let Stmt::Store { buffer: to, indices, value } = store.stmt(nest.body).clone() else {
        return Err(errors::not_a_store(store, nest.body));
    };
    let PrimExpr::Load { buffer: from, indices: place } = store.prim_of_id(value).clone() else {
        return Err(errors::not_a_load(store, value));
    };
    let tile = Tile::of(store, &nest, (from, &place), (to, &indices))?;
    // TVM reckons with half floats, whatever the buffers hold.
    let dtype = DType::F16;
    let source = Part::new(store, "src", from, dtype, 16, true);
    let target = Part::new(store, "tgt", to, dtype, 16, false);
    let order = if store.str(store.buffer(to).scope) == "wmma.matrix_a" { "row_major" } else { "col_major" };
    let arguments = Part::arguments(&target, &source, store, 1, order);
    let call = store.prim_call("tvm_load_matrix_sync", &arguments, DType::VOID);
    let call = store.add_stmt(Stmt::Evaluate(call));
    let block = tile.block(store, "wmma_load", (source.buffer, target.buffer), call)?;
    Ok(around(store, outer(&nest), block))
}

/// Stores tiles to shared memory with `tvm_store_matrix_sync`.
pub(super) fn store_tiles(store: &mut Store, id: StmtId) -> Result<StmtId, String> {
    let nest = Nest::of(store, id);
    let (nest, _) = tiled(store, nest, Core::Wmma.tile())?;
    stored(store, &nest, Core::Wmma)
}

/// Brings tiles to global memory: through shared memory, from which threads copy together.
pub(super) fn tiles_to_global(store: &mut Store, id: StmtId, copying: &Copying<'_>, core: Core) -> Result<Stage, String> {
    let nest = Nest::of(store, id);
    let (nest, location) = tiled(store, nest, core.tile())?;
    let stage = shared_stage(store, nest, location, copying)?;
    let fill = Nest::of(store, stage.fill);
    let fill = stored(store, &fill, core)?;
    let empty = coalesce::coalesced(store, stage.empty, copying)?;
    Ok(Stage { fill, empty, ..stage })
}

/// The loops of a nest besides the two that go through a tile.
fn outer(nest: &Nest) -> &[crate::ir::For] {
    nest.heads.get(..nest.heads.len().saturating_sub(2)).unwrap_or_default()
}

/// Stores tiles whose elements the two innermost loops of a nest go through.
fn stored(store: &mut Store, nest: &Nest, core: Core) -> Result<StmtId, String> {
    let Stmt::Store { buffer: to, indices, value } = store.stmt(nest.body).clone() else {
        return Err(errors::not_a_store(store, nest.body));
    };
    let mut loads: Vec<(Id<Buffer>, Box<[PrimId]>)> = Vec::new();
    store.for_each_prim(value, &mut |_, node| {
        if let PrimExpr::Load { buffer, indices } = node
            && store.str(store.buffer(*buffer).scope) == core.scope()
        {
            loads.push((*buffer, indices.clone()));
        }
    });
    let Some((from, place)) = loads.last().cloned() else {
        return Err("no tile of a tensor core is loaded in the innermost loop of a copy from one".to_owned());
    };
    if loads.iter().any(|(other, _)| *other != from) {
        let what = if core == Core::Wmma { "wmma" } else { "mma" };
        return Err(format!(
            "Check failed: (buf_load == nullptr || buf_load->source.as_or_throw<tvm::tirx::BufferVar>().same_as( \
             load->source.as_or_throw<tvm::tirx::BufferVar>())) is false: More than one source buffer of {what} accumulator found"
        ));
    }
    let tile = Tile::of(store, nest, (from, &place), (to, &indices))?;
    let dtype = store.buffer(from).dtype;
    let source = Part::new(store, "src", from, dtype, core.tile(), false);
    let target = Part::new(store, "tgt", to, dtype, core.tile(), true);
    let (name, body) = match core {
        Core::Wmma => {
            let arguments = Part::arguments(&source, &target, store, 2, "row_major");
            let call = store.prim_call("tvm_store_matrix_sync", &arguments, DType::VOID);
            ("wmma_store", store.add_stmt(Stmt::Evaluate(call)))
        }
        Core::Mma => ("mma_store", by_lanes(store, source.buffer, target.buffer)),
    };
    let block = tile.block(store, name, (source.buffer, target.buffer), body)?;
    Ok(around(store, outer(nest), block))
}

/// Makes the copy of a tile of 8 x 8 by the 32 lanes of a warp: a row has four of them, and each two elements.
fn by_lanes(store: &mut Store, from: Id<Buffer>, to: Id<Buffer>) -> StmtId {
    let (lane, lane_prim) = index_var(store, "tx");
    let (element, element_prim) = index_var(store, "vec");
    let row = with_number(store, PrimOp::FloorDiv, lane_prim, 4);
    let column = with_number(store, PrimOp::FloorMod, lane_prim, 4);
    let column = with_number(store, PrimOp::Mul, column, 2);
    let column = binary(store, PrimOp::Add, column, element_prim);
    let indices: Box<[PrimId]> = [row, column].into();
    let value = store.prim(PrimExpr::Load { buffer: from, indices: indices.clone() });
    let body = store.add_stmt(Stmt::Store { buffer: to, indices, value });
    let two = store.prim_int(2, DType::I32);
    let head = counted(store, element, two, ForKind::Vectorized);
    let body = store.add_stmt(Stmt::For(head, body));
    let (tag, key) = (store.name("threadIdx.x"), store.name("thread_extent"));
    let value = store.prim_int(32, DType::I32);
    store.add_stmt(Stmt::Attr { node: AttrNode::Thread { var: lane, tag }, key, value, body })
}
