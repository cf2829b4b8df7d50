//! Softmax, normalisation and the like, on a GPU (`dlight/gpu/general_reduction.py`): each block of threads does all steps of
//! a row.

use super::Device;
use super::analysis::Info;
use super::steps::Sch;
use crate::ir::Symbol;
use crate::schedule::analysis::vars_of;
use crate::schedule::{Outcome, refuse};
use crate::tir::arith::Analyzer;
use crate::tir::index_map::IndexMap;

/// `dlight.gpu.GeneralReduction`
pub(super) fn general_reduction(sch: &mut Sch<'_, '_>, device: &Device) -> Outcome<bool> {
    if !device.gpu {
        return Ok(false);
    }
    let (threads, depth) = match &*device.kind {
        "cuda" => (256, 256),
        "opencl" => (256, 64),
        _ => (64, 64),
    };
    let Some(infos) = sch.normalize()? else { return Ok(false) };
    let infos = sch.inline_spatial(infos);
    let (Some(first), Some(last)) = (infos.first().cloned(), infos.last().cloned()) else { return Ok(false) };
    let kinds = first.kinds();
    let leading = kinds.len() - kinds.trim_start_matches('S').len();
    let trailing = kinds.len() - kinds.trim_end_matches('R').len();
    if last.iters.len() < kinds.len() {
        if last.iters.is_empty() {
            on_one_thread(sch, &infos)?;
            return Ok(true);
        }
        let map = aligned(sch, &first, &last);
        sch.transform_block_layout(last.block, &map)?;
    }
    let (between, before) = (infos.get(1..infos.len() - 1).unwrap_or_default(), &infos[..infos.len() - 1]);
    if trailing == 0 || between.iter().any(|info| info.kinds() != kinds) || !last.is_injective() || last.iters.len() > kinds.len()
    {
        return Ok(false);
    }
    order_last(sch, before, &last)?;
    let loops = sch.loops(last.block)?;
    let bx = sch.fuse(&loops[..leading.min(loops.len())])?;
    let Some(inner) = loops.last() else { return refuse("IndexError: list index out of range") };
    let [r, tx] = sch.split(*inner, [0, threads])?;
    sch.reorder(&[tx, r])?;
    sch.bind(bx, "blockIdx.x")?;
    sch.bind(tx, "threadIdx.x")?;
    sch.note_unroll(r, depth)?;
    for info in before.iter().rev() {
        for index in 0..sch.block(info.block)?.writes.len() {
            sch.set_scope(info.block, index as i64, "shared")?;
        }
        sch.compute_at(info.block, bx, true)?;
        let inner = sch.inner_loops(info.block, trailing)?;
        let r = sch.fuse(&inner)?;
        let [r, tx] = sch.split(r, [0, threads])?;
        sch.reorder(&[tx, r])?;
        sch.bind(tx, "threadIdx.x")?;
        sch.note_unroll(r, depth)?;
    }
    Ok(true)
}

/// All blocks of a function that gives a scalar, each on one thread.
fn on_one_thread(sch: &mut Sch<'_, '_>, infos: &[Info]) -> Outcome<()> {
    let mut blocks = Vec::new();
    for info in infos {
        blocks.push(sch.block(info.block)?);
    }
    let allocs = match sch.state.get_block("root", None) {
        Ok(root) => sch.block(root)?.allocs,
        Err(_) => [].into(),
    };
    for (place, info) in infos.iter().enumerate().take(infos.len() - 1) {
        let mut alone = true;
        for of in sch.loops(info.block)? {
            alone &= sch.extent(of)? == Some(1);
        }
        if !alone {
            continue;
        }
        for (index, write) in blocks[place].writes.iter().enumerate() {
            let others = blocks.iter().enumerate().filter(|(other, _)| *other != place);
            let shared =
                others.flat_map(|(_, block)| block.reads.iter().chain(&block.writes)).any(|region| region.buffer == write.buffer);
            let store = &*sch.state.store;
            if store.str(store.buffer(write.buffer).scope) == "global" && allocs.contains(&write.buffer) && !shared {
                sch.set_scope(info.block, index as i64, "local")?;
            }
        }
    }
    for (place, info) in infos.iter().enumerate() {
        let of = sch.add_unit_loop(Ok(info.block))?;
        sch.bind(of, if place == 0 { "blockIdx.x" } else { "threadIdx.x" })?;
    }
    Ok(())
}

/// The iterators of the last block in the places of those of the first that are as long; zeros in the others.
fn aligned(sch: &mut Sch<'_, '_>, first: &Info, last: &Info) -> IndexMap {
    let analyzer = &mut Analyzer::new();
    let store = &mut *sch.state.store;
    let (mut params, mut places) = (Vec::new(), Vec::new());
    for (place, iter) in last.iters.iter().enumerate() {
        let name = store.name(&format!("i{place}"));
        let dtype = store.symbol(iter.var).dtype;
        let var = store.add_symbol(Symbol { name, dtype, size: false });
        params.push(var);
        places.push(store.prim(crate::ir::PrimExpr::Var(var)));
    }
    let dtype = places.first().map_or(crate::ir::DType::I64, |place| store.prim_dtype(*place));
    let zero = store.prim_int(0, dtype);
    let (mut indices, mut matched) = (Vec::new(), 0);
    for iter in &first.iters {
        let same = last.iters.get(matched).is_some_and(|own| analyzer.can_prove_equal(store, iter.dom, own.dom));
        indices.push(if same { places[matched] } else { zero });
        matched += usize::from(same);
    }
    if matched < places.len() {
        indices = vec![zero; first.iters.len() - places.len()];
        indices.extend(places);
    }
    IndexMap { params, indices }
}

/// Loops of the last block by which it reads what was reduced come first.
fn order_last(sch: &mut Sch<'_, '_>, before: &[Info], last: &Info) -> Outcome<()> {
    let mut reduced = Vec::new();
    for info in before {
        reduced.extend(sch.block(info.block)?.writes.iter().map(|region| region.buffer));
    }
    let block = sch.block(last.block)?;
    let mut read = Vec::new();
    for region in block.reads.iter().filter(|region| reduced.contains(&region.buffer)) {
        for part in region.ranges.iter().flat_map(|(min, extent)| [Some(*min), *extent]).flatten() {
            read.extend(vars_of(sch.state.store, part));
        }
    }
    let loops = sch.loops(last.block)?;
    let (mut space, mut others) = (Vec::new(), Vec::new());
    for (place, of) in loops.into_iter().enumerate() {
        let reads = block.iters.get(place).is_some_and(|iter| read.contains(&iter.var));
        if reads || sch.extent(of)? == Some(1) { space.push(of) } else { others.push(of) }
    }
    space.extend(others);
    sch.reorder(&space)
}
