//! Each block on threads, without looking at what it does (TVM's `src/s_tir/transform/default_gpu_schedule.cc`).

use super::steps::Sch;
use crate::ir::{For, ForKind, IterKind};
use crate::schedule::state::BlockRef;
use crate::schedule::tree::What;
use crate::schedule::{Outcome, refuse};

/// Blocks of a grid, at most.
const BLOCKS: i64 = 256;

/// Binds the loops of every innermost block to threads.
pub(super) fn bind_all(sch: &mut Sch<'_, '_>, threads: i64) -> Outcome<()> {
    let (mut blocks, mut names) = (Vec::new(), Vec::new());
    let tree = sch.state.tree()?;
    for (at, node) in tree.nodes.iter().enumerate() {
        let What::Block(block) = node.what else { continue };
        let name = sch.state.store.prim_block(block).name;
        if names.contains(&name) {
            return refuse(format!("InternalError: Duplicated block name {} not supported!", sch.state.store.str(name)));
        }
        names.push(name);
        if tree.child_blocks(at).is_empty() {
            blocks.push(sch.state.block_ref(block));
        }
    }
    for block in blocks {
        bind(sch, block, threads)?;
    }
    Ok(())
}

fn bind(sch: &mut Sch<'_, '_>, block: BlockRef, threads: i64) -> Outcome<()> {
    let loops = sch.loops(block)?;
    for of in &loops {
        if let For { kind: ForKind::Thread(_), .. } = sch.head(*of)? {
            return Ok(());
        }
    }
    let data = sch.block(block)?;
    if loops.len() != data.iters.len() && !(loops.is_empty() && data.iters.len() == 1) {
        return refuse(
            "InternalError: Check failed: (loops.size() == iters.size() || (loops.size() == 0 && iters.size() == 1)) is false",
        );
    }
    let pairs = loops.iter().zip(&data.iters);
    let mut space: Vec<_> = pairs.filter(|(_, iter)| iter.kind == IterKind::Spatial).map(|(of, _)| *of).collect();
    if space.is_empty() {
        space.push(sch.add_unit_loop(loops.first().map_or(Ok(block), |first| Err(*first)))?);
    }
    let fused = sch.fuse_units(&space, false)?;
    let product = sch.extent(fused)?.unwrap_or(i64::MAX);
    if product > threads.saturating_mul(BLOCKS) {
        let [rest, bx, tx] = sch.split(fused, [0, BLOCKS, threads])?;
        sch.reorder(&[bx, tx, rest])?;
        sch.bind(bx, "blockIdx.x")?;
        return sch.bind(tx, "threadIdx.x");
    }
    let [bx, tx] = sch.split(fused, [0, product.min(threads)])?;
    sch.bind(bx, "blockIdx.x")?;
    sch.bind(tx, "threadIdx.x")
}
