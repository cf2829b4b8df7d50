//! Sums, on a GPU (`dlight/gpu/reduction.py`): threads of a block reduce together.

use super::Device;
use super::analysis::{Info, above_one, adds_up, dominant_access, source_of, suggest_threads};
use super::steps::Sch;
use crate::schedule::state::{BlockRef, LoopRef};
use crate::schedule::{Outcome, refuse};
use crate::tir::arith::iter::Sum;

/// Facts about the loops of a sum after they were made three: space, reduction, and what is packed.
struct Form {
    /// True if the input is read along the reduction.
    inner: bool,
    /// The factor by which a loop over space is packed.
    packed: Option<i64>,
    /// For each spatial iterator the place of its loop.
    order: Vec<usize>,
    /// The place of the loop that was packed.
    split: usize,
}

/// `dlight.gpu.Reduction`
pub(super) fn reduction(sch: &mut Sch<'_, '_>, device: &Device) -> Outcome<bool> {
    if !device.gpu {
        return Ok(false);
    }
    let Some(infos) = sch.normalize()? else { return Ok(false) };
    let Some((info, epilogue)) = sch.with_epilogue(infos) else { return Ok(false) };
    let block = sch.block(info.block)?;
    let reduces = info.iters.iter().any(|iter| iter.kind == 'R');
    if !info.is_reduction || !reduces || block.writes.len() != 1 || !adds_up(sch, &block) {
        return Ok(false);
    }
    let access = dominant_access(sch, &block, None)?;
    let Some(domains) = spatial_domains(sch, &info, &access)? else { return Ok(false) };
    let Some(form) = normalize(sch, &info, &access)? else { return Ok(false) };
    let epilogue = epilogue.map(|epilogue| epilogue.block);
    if form.inner {
        along_reduction(sch, device, info.block, &form, epilogue)?;
        return Ok(true);
    }
    // The bindings of what is written back stay digits of the loops.
    let Some((last, outer)) = domains.split_last() else { return Ok(false) };
    let tx = spatial_threads(*last);
    let digits = outer.iter().filter(|dom| **dom != Some(1)).count() + usize::from(last.is_none_or(|last| tx < last));
    if digits >= 3 {
        return Ok(false);
    }
    along_space(sch, info.block, tx, &form, epilogue)?;
    Ok(true)
}

/// The greatest divisor up to 16.
fn spatial_threads(extent: Option<i64>) -> i64 {
    extent.map_or(1, |extent| (1..=16).rev().find(|n| extent % n == 0).unwrap_or(1))
}

/// The extents of the spatial iterators as they are read; nothing for another form.
fn spatial_domains(sch: &Sch<'_, '_>, info: &Info, access: &Sum) -> Outcome<Option<Vec<Option<i64>>>> {
    let (mut domains, mut seen) = (Vec::new(), Vec::new());
    for split in &access.args {
        let Some(iter) = source_of(sch, split).and_then(|var| info.iter(var)) else { return Ok(None) };
        if iter.kind != 'S' {
            continue;
        }
        if seen.contains(&iter.var) {
            return Ok(None);
        }
        seen.push(iter.var);
        domains.push(match above_one(sch, split.lower)? {
            Some(_) => sch.state.store.as_prim_int(split.extent),
            None => sch.dom(iter),
        });
    }
    for iter in info.iters.iter().filter(|iter| iter.kind == 'S' && !seen.contains(&iter.var)) {
        if sch.dom(iter) != Some(1) {
            return Ok(None);
        }
        domains.push(Some(1));
    }
    let n = info.iters.iter().filter(|iter| iter.kind == 'S').count();
    Ok(Some(domains).filter(|domains| domains.len() == n))
}

fn normalize(sch: &mut Sch<'_, '_>, info: &Info, access: &Sum) -> Outcome<Option<Form>> {
    if sch.state.store.as_prim_int(access.base) != Some(0) {
        return Ok(None);
    }
    let mut left = info.iters.clone();
    let (mut space, mut reduce, mut packed): (Vec<LoopRef>, Vec<LoopRef>, Vec<LoopRef>) = Default::default();
    let (mut inner, mut factor, mut split) = (None, None, None);
    for digit in &access.args {
        let at = source_of(sch, digit).and_then(|var| left.iter().position(|iter| iter.var == var));
        let Some(at) = at else { return refuse("KeyError: an iterator is read twice") };
        let iter = left.remove(at);
        let reduces = iter.kind == 'R';
        inner = Some(reduces);
        let mut of = iter.at;
        if let Some(lower) = above_one(sch, digit.lower)? {
            if !packed.is_empty() {
                return Ok(None);
            }
            split = Some((of, space.len()));
            let [outer, inside] = sch.split(of, [0, lower])?;
            of = outer;
            packed.push(inside);
            if !reduces {
                factor = Some(lower);
            }
        }
        if reduces { reduce.push(of) } else { space.push(of) }
    }
    for iter in &left {
        if iter.kind != 'S' || sch.dom(iter) != Some(1) {
            return Ok(None);
        }
        space.push(iter.at);
    }
    let is_split = |of: LoopRef| split.is_some_and(|(known, _)| known == of);
    let mut order = Vec::new();
    for of in info.iters.iter().map(|iter| iter.at).filter(|of| space.contains(of) || is_split(*of)) {
        let place = split.filter(|(known, _)| *known == of).map(|(_, place)| place);
        order.extend(space.iter().position(|known| *known == of).or(place));
    }
    if space.is_empty() || reduce.is_empty() {
        return refuse("AssertionError: a sum needs loops over space and over what is reduced");
    }
    if space.len() != info.iters.iter().filter(|iter| iter.kind == 'S').count() {
        return Ok(None);
    }
    if packed.is_empty() {
        packed.push(sch.add_unit_loop(Ok(info.block))?);
    }
    sch.reorder(&[&space[..], &reduce, &packed].concat())?;
    sch.fuse(&space)?;
    sch.fuse(&reduce)?;
    if inner.is_none() && factor.is_none() {
        return Ok(None);
    }
    Ok(Some(Form { inner: inner == Some(true), packed: factor, order, split: split.map_or(0, |(_, place)| place) }))
}

/// The loops over space of what is written back as one, and what is packed of it.
fn join(sch: &mut Sch<'_, '_>, form: &Form, loops: &[LoopRef]) -> Outcome<(LoopRef, Option<LoopRef>)> {
    let Some(factor) = form.packed else { return Ok((sch.fuse(loops)?, None)) };
    if loops.len() != form.order.len() {
        return refuse("AssertionError: the loops of what is written back are others");
    }
    let mut ordered = Vec::new();
    for place in &form.order {
        match loops.get(*place) {
            Some(of) => ordered.push(*of),
            None => return refuse("IndexError: list index out of range"),
        }
    }
    sch.reorder(&ordered)?;
    let Some(of) = ordered.get(form.split).copied() else { return refuse("IndexError: list index out of range") };
    let [outer, packed] = sch.split(of, [0, factor])?;
    ordered[form.split] = outer;
    sch.reorder(&[&ordered[..], &[packed]].concat())?;
    Ok((sch.fuse(&ordered)?, Some(packed)))
}

fn along_reduction(
    sch: &mut Sch<'_, '_>,
    device: &Device,
    block: BlockRef,
    form: &Form,
    epilogue: Option<BlockRef>,
) -> Outcome<()> {
    let [_, r, _] = sch.loops_of(block)?;
    let threads = suggest_threads(device, sch.extent(r)?);
    let [_, tx] = sch.split(r, [0, threads])?;
    let rf = sch.rfactor(tx, 0)?;
    let [bx, r, tx, _] = sch.loops_of(rf)?;
    sch.reorder(&[bx, tx, r])?;
    sch.bind(bx, "blockIdx.x")?;
    sch.bind(tx, "threadIdx.x")?;
    sch.note_unroll(tx, 256)?;
    sch.set_scope(rf, 0, "local")?;
    sch.decompose_reduction(rf, r)?;
    sch.reverse_compute_at(block, bx, true)?;
    let tx = sch.loop_at(block, 1)?;
    let rest = sch.loops_from(block, 2)?;
    let (s, packed) = join(sch, form, &rest)?;
    match packed {
        Some(packed) => sch.reorder(&[s, tx, packed])?,
        None => sch.reorder(&[s, tx])?,
    }
    sch.bind(tx, "threadIdx.x")?;
    let Some(epilogue) = epilogue else { return Ok(()) };
    sch.reverse_compute_at(epilogue, bx, true)?;
    if !sch.is_broadcast(block, epilogue)? {
        return sch.set_scope(block, 0, "local");
    }
    sch.set_scope(block, 0, "shared")?;
    let rest = sch.loops_from(epilogue, 1)?;
    let s = sch.fuse(&rest)?;
    let [_, tx] = sch.split(s, [0, threads])?;
    sch.bind(tx, "threadIdx.x")
}

fn along_space(sch: &mut Sch<'_, '_>, block: BlockRef, threads: i64, form: &Form, epilogue: Option<BlockRef>) -> Outcome<()> {
    let [s, r, _] = sch.loops_of(block)?;
    sch.split(s, [0, threads])?;
    let [_, ty] = sch.split(r, [0, 16])?;
    let rf = sch.rfactor(ty, 0)?;
    let [bx, tx, r, ty, _] = sch.loops_of(rf)?;
    sch.reorder(&[bx, tx, ty, r])?;
    sch.bind(tx, "threadIdx.x")?;
    sch.bind(ty, "threadIdx.y")?;
    sch.bind(bx, "blockIdx.x")?;
    sch.set_scope(rf, 0, "local")?;
    sch.decompose_reduction(rf, r)?;
    sch.reverse_compute_at(block, bx, true)?;
    let r = sch.loop_at(block, 1)?;
    let rest = sch.loops_from(block, 2)?;
    let (s, packed) = join(sch, form, &rest)?;
    match packed {
        Some(packed) => sch.reorder(&[s, packed, r])?,
        None => sch.reorder(&[s, r])?,
    }
    sch.bind(s, "threadIdx.x")?;
    sch.bind(r, "threadIdx.y")?;
    let Some(epilogue) = epilogue else { return Ok(()) };
    sch.reverse_compute_at(epilogue, bx, true)?;
    let broadcast = sch.is_broadcast(block, epilogue)?;
    sch.set_scope(block, 0, if broadcast { "shared" } else { "local" })?;
    let rest = sch.loops_from(epilogue, 1)?;
    let s = sch.fuse(&rest)?;
    if broadcast {
        let [_, tx, ty] = sch.split(s, [0, threads, 16])?;
        sch.bind(tx, "threadIdx.x")?;
        return sch.bind(ty, "threadIdx.y");
    }
    let [tx, _] = sch.split(s, [threads, 0])?;
    sch.bind(tx, "threadIdx.x")
}
