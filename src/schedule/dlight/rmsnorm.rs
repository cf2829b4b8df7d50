//! RMS normalisation, on a GPU (`dlight/gpu/rmsnorm.py`): a row stays in registers.

use super::Device;
use super::steps::{Sch, exactly};
use crate::ir::{Block, PrimExpr, Stmt};
use crate::schedule::Outcome;

/// True if a block copies elements, or converts them.
fn copies(sch: &Sch<'_, '_>, block: &Block) -> bool {
    let store = &*sch.state.store;
    let Stmt::Store { indices, value, .. } = store.stmt(block.body) else { return false };
    let value = match store.prim_of_id(*value) {
        PrimExpr::Cast { value, .. } => *value,
        _ => *value,
    };
    let same = matches!(store.prim_of_id(value), PrimExpr::Load { indices: from, .. } if from == indices);
    block.reads.len() == 1 && block.writes.len() == 1 && same
}

fn is_rsqrt(sch: &Sch<'_, '_>, block: &Block) -> bool {
    let store = &*sch.state.store;
    let Stmt::Store { value, .. } = *store.stmt(block.body) else { return false };
    let calls = matches!(store.prim_of_id(value), PrimExpr::Call { op, .. } if store.str(*op) == "rsqrt");
    block.reads.len() == 1 && block.writes.len() == 1 && calls
}

/// `dlight.gpu.RMSNorm`
pub(super) fn rmsnorm(sch: &mut Sch<'_, '_>, device: &Device) -> Outcome<bool> {
    let threads = match &*device.kind {
        "cuda" => 512,
        "opencl" => 256,
        _ => 64,
    };
    let root = sch.state.get_block("root", None)?;
    let blocks = sch.state.get_child_blocks(Ok(root))?;
    let mut has_root = false;
    for block in &blocks {
        let data = sch.block(*block)?;
        has_root |= is_rsqrt(sch, &data);
    }
    let (Some(first), Some(last), true) = (blocks.first(), blocks.last(), has_root) else { return Ok(false) };
    sch.cache_read(*first, 0, "local")?;
    sch.cache_write(*last, 0, "local")?;
    for block in &blocks {
        let data = sch.block(*block)?;
        if copies(sch, &data) {
            sch.compute_inline(*block)?;
        }
    }
    let all = exactly(sch.state.get_child_blocks(Ok(root))?)?;
    let [read, square, sum, rsqrt, norm, write] = all;
    let data = sch.block(rsqrt)?;
    if !is_rsqrt(sch, &data) {
        return Ok(false);
    }
    for block in all {
        let loops = sch.loops(block)?;
        sch.fuse(&loops[..loops.len().saturating_sub(1)])?;
    }
    let [grid, inner] = sch.loops_of(read)?;
    let [thread, _, vector] = sch.split(inner, [threads, 0, 8])?;
    sch.bind(grid, "blockIdx.x")?;
    sch.bind(thread, "threadIdx.x")?;
    sch.vectorize(vector)?;
    sch.reverse_compute_at(square, thread, false)?;
    sch.reverse_compute_at(sum, thread, false)?;
    sch.reverse_compute_at(rsqrt, grid, false)?;
    sch.reverse_compute_at(norm, grid, false)?;
    let [_, inner] = sch.loops_of(norm)?;
    let [thread, _, _] = sch.split(inner, [threads, 0, 8])?;
    sch.bind(thread, "threadIdx.x")?;
    sch.reverse_compute_at(write, thread, false)?;
    let vector = sch.last_loop(write)?;
    sch.vectorize(vector)?;
    for (block, scope) in [(square, "local"), (sum, "local"), (rsqrt, "shared"), (norm, "local")] {
        sch.set_scope(block, 0, scope)?;
    }
    Ok(true)
}
