//! Rules for CPUs (`dlight/cpu`): products with vectors, and reductions such as softmax.

use super::Device;
use super::steps::Sch;
use crate::schedule::Outcome;
use crate::schedule::state::BlockRef;

/// `dlight.cpu.GEMV`
pub(super) fn gemv(sch: &mut Sch<'_, '_>, device: &Device) -> Outcome<bool> {
    if !device.cpu {
        return Ok(false);
    }
    let Some(infos) = sch.normalize()? else { return Ok(false) };
    let Some((info, _)) = sch.with_epilogue(infos) else { return Ok(false) };
    if ![2, 3].contains(&info.iters.len()) || sch.vectors(&info, None)?.is_none() {
        return Ok(false);
    }
    if sch.normalize_gemv(&info)? != Some(true) {
        return Ok(false);
    }
    let [batch, s, r, c] = sch.loops_of(info.block)?;
    let mut extents = Vec::new();
    for of in [batch, s, r, c] {
        extents.push(sch.extent(of)?);
    }
    let (tile_s, tile_r) = match extents[..] {
        [Some(batch), Some(s), Some(r), Some(c)] if batch * s > r * c => (128, 64),
        [Some(_), Some(_), Some(_), Some(_)] => (64, 128),
        _ => (64, 64),
    };
    let tile_c = extents[3].unwrap_or(8).min(8);
    let [s_outer, s_inner] = sch.split(s, [0, tile_s])?;
    let [r_outer, _] = sch.split(r, [0, tile_r])?;
    sch.split(c, [0, tile_c])?;
    sch.vectorize(s_inner)?;
    sch.parallel(s_outer)?;
    sch.note_unroll(r_outer, 256)?;
    Ok(true)
}

/// `dlight.cpu.Reduction`
pub(super) fn reduction(sch: &mut Sch<'_, '_>, device: &Device) -> Outcome<bool> {
    if !device.cpu {
        return Ok(false);
    }
    let Some(infos) = sch.normalize()? else { return Ok(false) };
    let [before @ .., last] = &infos[..] else { return Ok(false) };
    if before.is_empty() || infos.iter().all(|info| info.is_injective()) || !last.is_injective() {
        return Ok(false);
    }
    let leading = infos.iter().map(|info| info.iters.iter().take_while(|iter| iter.kind == 'S').count()).min().unwrap_or(0);
    if leading == 0 {
        return Ok(false);
    }
    let written = sch.block(last.block)?.writes.first().map(|region| region.buffer);
    let bits = written.map_or(32, |buffer| i64::from(sch.state.store.buffer(buffer).dtype.bits));
    let lanes = (device.vector_bits / bits).max(2);
    let loops = sch.loops(last.block)?;
    let spatial = if leading > 1 { sch.fuse(&loops[..leading.min(loops.len())])? } else { loops[0] };
    sch.parallel(spatial)?;
    vectorize_inner(sch, last.block, lanes)?;
    for info in before.iter().rev() {
        sch.compute_at(info.block, spatial, true)?;
    }
    for info in before {
        if info.is_injective() {
            vectorize_inner(sch, info.block, lanes)?;
            continue;
        }
        let loops = sch.loops(info.block)?;
        let [_, .., inner] = loops[..] else { continue };
        if sch.extent(inner)?.is_some_and(|extent| extent <= lanes) {
            continue;
        }
        let [_, inner] = sch.split(inner, [0, lanes])?;
        sch.note_unroll(inner, lanes)?;
    }
    Ok(true)
}

/// Vectorizes the innermost loop, as far as lanes go.
fn vectorize_inner(sch: &mut Sch<'_, '_>, block: BlockRef, lanes: i64) -> Outcome<()> {
    let loops = sch.loops(block)?;
    let [_, .., inner] = loops[..] else { return Ok(()) };
    match sch.extent(inner)? {
        Some(..2) => Ok(()),
        Some(extent) if extent <= lanes => sch.vectorize(inner),
        _ => {
            let [_, vector] = sch.split(inner, [0, lanes])?;
            sch.vectorize(vector)
        }
    }
}
