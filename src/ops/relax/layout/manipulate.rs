//! Rearrangements of the same elements (TVM: src/relax/op/tensor/manipulate.cc).

use super::{Infer, Inferred, ValueLayout, broadcast, comes_back, find_axis, initial, is_split, letter, reorder, shape_of};
use crate::ir::{AttrValue, Type};
use crate::ops::build::ints;
use crate::ops::layout::{Layout, LayoutAxis};

fn axis_of(name: char) -> LayoutAxis {
    LayoutAxis { name, extent: 0 }
}

/// The layouts of the tensors in the tuple that the first argument is.
fn fields(cx: &Infer<'_>) -> Result<Vec<Layout>, String> {
    let Some(ValueLayout::Tuple(fields)) = cx.layouts.first() else {
        return Err(format!("{} expects a tuple of tensors", cx.op));
    };
    let leaf = |field: &ValueLayout| match field {
        ValueLayout::Tensor(layout) => Some(layout.clone()),
        _ => None,
    };
    let layouts: Option<Vec<Layout>> = fields.iter().map(leaf).collect();
    layouts.filter(|layouts| !layouts.is_empty()).ok_or_else(|| format!("{} expects a tuple of tensors", cx.op))
}

/// `concat`: the layout of the first tensor, or the first one with split axes when all tensors can be converted to it.
pub fn concat(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layouts = fields(cx)?;
    let mut layout = layouts[0].clone();
    if let Some(split) = layouts.iter().find(|layout| is_split(layout)) {
        let types = match cx.types.first().map(|ty| cx.store.type_of_id(*ty)) {
            Some(Type::Tuple(types)) => types.to_vec(),
            _ => Vec::new(),
        };
        layout = split.clone();
        for (ty, now) in types.iter().zip(&layouts) {
            let shape = shape_of(cx.store, *ty);
            if !shape.is_some_and(|shape| comes_back(cx.store, now, split, &shape)) {
                layout = layouts.iter().find(|layout| !is_split(layout)).unwrap_or(split).clone();
                break;
            }
        }
    }
    let axis = find_axis(&layout, cx.int("axis").unwrap_or(0));
    let attrs = cx.with(&[("axis", AttrValue::int(axis))]);
    let layout = ValueLayout::Tensor(layout);
    let inputs = vec![ValueLayout::Tuple(vec![layout.clone(); layouts.len()])];
    Ok(Inferred { inputs, output: layout, attrs, args: Vec::new() })
}

/// `stack`: the layout of the first tensor with a new axis `S`, as TVM names it.
pub fn stack(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layouts = fields(cx)?;
    let layout = layouts[0].clone();
    let axis = cx.int("axis").unwrap_or(0);
    let at = usize::try_from(axis).ok().filter(|at| *at <= layout.rank()).ok_or("stack takes an axis from the front")?;
    let mut axes = layout.axes().to_vec();
    axes.insert(at, axis_of('S'));
    let attrs = cx.with(&[("axis", AttrValue::int(find_axis(&layout, axis)))]);
    let inputs = vec![ValueLayout::Tuple(vec![ValueLayout::Tensor(layout); layouts.len()])];
    Ok(Inferred { inputs, output: ValueLayout::Tensor(Layout::from_axes(axes)), attrs, args: Vec::new() })
}

/// `expand_dims`: the new axes stay at the requested positions.
pub fn expand_dims(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = cx.whole_layout(0)?;
    let axes = cx.ints("axis").unwrap_or_default();
    let rank = cx.rank(0)?;
    let total = rank + axes.len();
    let is_new = |at: usize| axes.iter().any(|axis| axis.rem_euclid(total as i64) == at as i64);
    let old: Vec<char> = (0..total).filter(|at| !is_new(*at)).map(letter).collect();
    let mut old = reorder(&old, &initial(rank), &layout)?.into_iter();
    let name = |at: usize| if is_new(at) { Some(letter(at)) } else { old.next() };
    let output = (0..total).map(name).map(|name| axis_of(name.unwrap_or('A'))).collect();
    let output = ValueLayout::Tensor(Layout::from_axes(output));
    Ok(Inferred { output, ..cx.all_in(layout, 1) })
}

/// `permute_dims`: another permutation converts the result to its initial layout.
pub fn permute_dims(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = cx.whole_layout(0)?;
    let rank = cx.rank(0)?;
    let order = cx.ints("axes").unwrap_or_else(|| (0..rank as i64).rev().collect());
    let order: Vec<LayoutAxis> = order.iter().map(|axis| axis_of(letter(axis.rem_euclid(rank as i64) as usize))).collect();
    let places: Vec<i64> = (0..rank as i64).collect();
    let order = reorder(&places, &layout, &Layout::from_axes(order))?;
    let attrs = cx.with(&[("axes", ints(&order))]);
    Ok(Inferred { output: ValueLayout::Tensor(initial(rank)), attrs, ..cx.all_in(layout, 1) })
}

/// `split`: every part keeps the layout, if its extents allow.
pub fn split(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let mut layout = cx.layout(0)?;
    let parts = match cx.store.type_of_id(cx.ty) {
        Type::Tuple(parts) => parts.to_vec(),
        _ => return Err("split gives a tuple".to_owned()),
    };
    if is_split(&layout) {
        let rank = cx.rank(0)?;
        for part in &parts {
            let shape = shape_of(cx.store, *part);
            if !shape.is_some_and(|shape| comes_back(cx.store, &initial(rank), &layout, &shape)) {
                layout = initial(rank);
                break;
            }
        }
    }
    let axis = find_axis(&layout, cx.int("axis").unwrap_or(0));
    let attrs = cx.with(&[("axis", AttrValue::int(axis))]);
    let output = ValueLayout::Tuple(vec![ValueLayout::Tensor(layout.clone()); parts.len()]);
    Ok(Inferred { output, attrs, ..cx.all_in(layout, 1) })
}

/// `squeeze`: the removed axes are found by their positions in the layout.
pub fn squeeze(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = cx.whole_layout(0)?;
    let shape = cx.shape(0).ok_or("Only support static shape for now")?;
    let rank = shape.len();
    let axes = match cx.ints("axis") {
        Some(axes) => axes.iter().map(|axis| axis.rem_euclid(rank.max(1) as i64) as usize).collect(),
        None => (0..rank).filter(|at| shape[*at].known() == Some(1)).collect::<Vec<usize>>(),
    };
    let (places, output) = without_axes(&axes, &layout, rank)?;
    let attrs = cx.with(&[("axis", ints(&places))]);
    Ok(Inferred { output: ValueLayout::Tensor(output), attrs, ..cx.all_in(layout, 1) })
}

/// Returns the positions of these axes in a layout, and the layout without them.
fn without_axes(axes: &[usize], layout: &Layout, rank: usize) -> Result<(Vec<i64>, Layout), String> {
    let mut left = 0;
    let names: Vec<Option<char>> = (0..rank)
        .map(|at| {
            if axes.contains(&at) {
                return None;
            }
            left += 1;
            Some(letter(left - 1))
        })
        .collect();
    let names = reorder(&names, &initial(rank), layout)?;
    let places = (0..rank).filter(|at| names[*at].is_none()).map(|at| at as i64).collect();
    Ok((places, Layout::from_axes(names.into_iter().flatten().map(axis_of).collect())))
}

/// `repeat`: along an axis of the layout, or flat.
pub fn repeat(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = cx.whole_layout(0)?;
    let rank = cx.rank(0)?;
    let Some(axis) = cx.int("axis") else {
        return Ok(Inferred { output: ValueLayout::Tensor(initial(1)), ..cx.all_in(layout, 1) });
    };
    let axis = find_axis(&layout, axis.rem_euclid(rank.max(1) as i64));
    let attrs = cx.with(&[("axis", AttrValue::int(axis))]);
    Ok(Inferred { attrs, ..cx.all_in(layout, 1) })
}

/// `tile`: the counts move with their axes.
pub fn tile(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = cx.whole_layout(0)?;
    let rank = cx.rank(0)?;
    let counts = cx.ints("repeats").unwrap_or_default();
    let new = counts.len().saturating_sub(rank);
    let mut of_axes = vec![1; rank.saturating_sub(counts.len())];
    of_axes.extend(&counts[new..]);
    let mut result = counts[..new].to_vec();
    result.extend(reorder(&of_axes, &initial(rank), &layout)?);
    let attrs = cx.with(&[("repeats", ints(&result))]);
    let output = if new == 0 { layout.clone() } else { broadcast(&layout, rank + new)? };
    Ok(Inferred { output: ValueLayout::Tensor(output), attrs, ..cx.all_in(layout, 1) })
}

/// `flip`: along the new position of the axis.
pub fn flip(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = cx.whole_layout(0)?;
    let axis = find_axis(&layout, cx.int("axis").unwrap_or(0).rem_euclid(cx.rank(0)?.max(1) as i64));
    let attrs = cx.with(&[("axis", AttrValue::int(axis))]);
    Ok(Inferred { attrs, ..cx.all_in(layout, 1) })
}
