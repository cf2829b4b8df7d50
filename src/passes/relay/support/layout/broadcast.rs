//! Layout inference for broadcasting operators with two operands.
//!
//! Source: `src/relay/transforms/infer_layout_utils.cc`.

use super::infer::{Infer, Inferred, Known, primal_rank};
use crate::ir::Dim;
use crate::ops::layout::{Layout, LayoutAxis};

/// Lets the operand with fewer axes follow the other one into its layout.
pub(super) fn broadcast(cx: &Infer) -> Option<Inferred> {
    let shapes = [cx.shape(0)?, cx.shape(1)?];
    let larger = usize::from(shapes[0].len() < shapes[1].len());
    let mut layouts = [cx.old.first()?.clone(), cx.old.get(1)?.clone()];
    let known = match &layouts {
        [None, None] => return None,
        [Some(_), Some(_)] => larger,
        // The unknown layout is the end of the known one.
        [first, _] => {
            let known = usize::from(first.is_none());
            let more = shapes[known].len().checked_sub(shapes[1 - known].len())?;
            layouts[1 - known] = layouts[known].as_ref().map(|layout| layout.sub_layout(more, shapes[1 - known].len()));
            known
        }
    };
    let Some(new) = cx.new else {
        return Some(Inferred { outputs: vec![layouts[known].clone()], inputs: layouts.into(), attrs: cx.attrs });
    };
    let new = [new.first()?.clone()?, new.get(1)?.clone()?];
    let large = usize::from(primal_rank(&new[0]) < primal_rank(&new[1]));
    let small = 1 - large;
    let [Some(old_small), Some(old_large)] = [&layouts[small], &layouts[large]] else { return None };
    let target = transformed_like(old_small, old_large, &new[large])?;
    let small_layout = with_ones(&target, old_small, &shapes[small])?;
    let output = new[larger].clone();
    layouts[large] = Some(new[large].clone());
    layouts[small] = Some(small_layout);
    Some(Inferred { inputs: layouts.into(), outputs: vec![Some(output)], attrs: cx.attrs })
}

/// True if two layouts differ only in the names of their axes.
fn isomorphic(a: &[LayoutAxis], b: &[LayoutAxis]) -> bool {
    let agrees = |at: usize, other: usize| {
        let (x, y) = ((a[at], b[at]), (a[other], b[other]));
        (x.0.name == y.0.name) == (x.1.name == y.1.name)
    };
    let factor =
        |axes: &[LayoutAxis], name: char| axes.iter().filter(|axis| axis.name == name).map(|axis| axis.extent).product::<i64>();
    a.len() == b.len()
        && (0..a.len()).all(|at| {
            a[at].is_primal() == b[at].is_primal()
                && (a[at].is_primal() || factor(a, a[at].name) == factor(b, b[at].name))
                && (0..at).all(|other| agrees(at, other))
        })
}

/// Applies the change from `from` to `to` to a layout; `None` if the layouts have too little in common.
fn transformed_like(layout: &Layout, from: &Layout, to: &Layout) -> Known {
    let (large, small) = if from.rank() > layout.rank() { (from, layout) } else { (layout, from) };
    let (rest, end) = large.axes().split_at(large.rank() - small.rank());
    let apart = rest.iter().all(|axis| end.iter().all(|other| other.primal() != axis.primal()));
    if !apart || !isomorphic(end, small.axes()) {
        return None;
    }
    if layout.rank() == 0 {
        return Some(layout.clone());
    }
    if layout.rank() > from.rank() {
        return None;
    }
    let letter = |name: char| (name as u8).wrapping_sub(b'A') as usize % 26;
    let (mut mapping, mut used) = ([None; 26], [false; 26]);
    for (theirs, own) in from.axes().iter().rev().zip(layout.axes().iter().rev()) {
        mapping[letter(theirs.primal())] = Some(own.primal());
        used[letter(own.primal())] = true;
    }
    for theirs in from.axes().iter().rev() {
        let slot = letter(theirs.primal());
        if mapping[slot].is_none() {
            let free = (0..26).find(|other| !used[*other]);
            let name = if used[slot] { free? } else { slot };
            mapping[slot] = Some(char::from(b'A' + name as u8));
            used[name] = true;
        }
    }
    let renamed = |axis: &LayoutAxis| {
        let name = mapping[letter(axis.primal())]?;
        Some(LayoutAxis { name: if axis.is_primal() { name } else { name.to_ascii_lowercase() }, extent: axis.extent })
    };
    to.axes().iter().map(renamed).collect::<Option<Vec<_>>>().map(Layout::from_axes)
}

/// Adds parts of extent 1 to the layout for axes of this shape that are broadcast.
fn with_ones(layout: &Layout, old: &Layout, shape: &[Dim]) -> Known {
    let mut axes = Vec::new();
    for axis in layout.axes() {
        let extent = match old.index_of(axis.primal()) {
            _ if axis.is_primal() => 0,
            None => 1,
            Some(at) if shape.get(at)?.known() == Some(1) && !old.contains(axis.name) => 1,
            Some(_) => layout.factor_of(axis.name).unwrap_or(axis.extent),
        };
        axes.push(LayoutAxis { extent, ..*axis });
    }
    Some(Layout::from_axes(axes))
}
