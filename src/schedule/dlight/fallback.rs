//! Anything, on a GPU (`dlight/gpu/fallback.py`): what can be inlined is, each block that remains gets threads.

use super::Device;
use super::steps::Sch;
use crate::ir::{AttrNode, ForKind, Stmt, StmtId};
use crate::schedule::Outcome;

/// True if a statement launches threads itself.
fn launches(sch: &Sch<'_, '_>, root: StmtId) -> bool {
    let mut found = false;
    let store = &*sch.state.store;
    store.for_each_stmt(root, |stmt| {
        found |= match stmt {
            Stmt::For(head, _) => matches!(head.kind, ForKind::Thread(_)),
            Stmt::Attr { node, key, .. } => {
                matches!(node, AttrNode::Thread { .. }) || ["thread_extent", "virtual_thread"].contains(&store.str(*key))
            }
            _ => false,
        }
    });
    found
}

/// `dlight.gpu.Fallback`
pub(super) fn fallback(sch: &mut Sch<'_, '_>, device: &Device) -> Outcome<bool> {
    if !device.gpu {
        return Ok(false);
    }
    let threads = device.block_threads.unwrap_or(if device.kind == "cuda" { 1024 } else { 256 });
    let Some(infos) = sch.normalize()? else { return Ok(false) };
    let mut reductions = Vec::new();
    for info in sch.try_inline(infos) {
        let loops = sch.loops(info.block)?;
        let mut bound = false;
        for of in &loops {
            bound |= matches!(sch.head(*of)?.kind, ForKind::Thread(_));
        }
        let body = sch.block(info.block)?.body;
        if bound || loops.is_empty() && launches(sch, body) {
            continue;
        }
        let of_kind = |kind: char| loops.iter().zip(&info.iters).filter(move |(_, iter)| iter.kind == kind).map(|(of, _)| *of);
        let (mut space, reduce): (Vec<_>, Vec<_>) = (of_kind('S').collect(), of_kind('R').collect());
        if space.is_empty() {
            space.push(sch.add_unit_loop(Ok(info.block))?);
        }
        let others: Vec<_> = of_kind('O').collect();
        sch.reorder(&[&space[..], &reduce, &others].concat())?;
        let fused = sch.fuse(&space)?;
        let [bx, tx] = sch.split(fused, [0, threads])?;
        sch.bind(bx, "blockIdx.x")?;
        sch.bind(tx, "threadIdx.x")?;
        reductions.extend(reduce.first().map(|first| (info.block, *first)));
    }
    for (block, before) in reductions {
        sch.decompose_reduction(block, before)?;
    }
    Ok(true)
}
