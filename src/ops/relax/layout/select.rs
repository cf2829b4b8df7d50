//! Parts of tensors and reductions (TVM: src/relax/op/tensor/{manipulate,index,statistical}.cc).

use super::{Infer, Inferred, ValueLayout, find_axis, initial, is_split, letter};
use crate::ir::{AttrValue, Expr};
use crate::ops::build::ints;
use crate::ops::layout::{Layout, LayoutAxis};

/// `gather_elements`: data and indices in one layout.
pub fn gather_elements(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    let (data, indices) = (cx.layout(0)?, cx.layout(1)?);
    let is_initial = |layout: &Layout| *layout == initial(layout.rank());
    let layout = if is_initial(&data) && !is_initial(&indices) { indices } else { data };
    along_axis(cx, layout, 2)
}

/// `scatter_elements`: data, indices and updates in one layout.
pub fn scatter_elements(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    let (data, indices, updates) = (cx.layout(0)?, cx.layout(1)?, cx.layout(2)?);
    let layout = if indices == updates { indices } else { data };
    along_axis(cx, layout, 3)
}

fn along_axis(cx: &mut Infer<'_>, layout: Layout, inputs: usize) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = if is_split(&layout) { initial(cx.rank(0)?) } else { layout };
    let axis = find_axis(&layout, cx.int("axis").unwrap_or(0));
    let attrs = cx.with(&[("axis", AttrValue::int(axis))]);
    Ok(Inferred { attrs, ..cx.all_in(layout, inputs) })
}

/// `scatter_nd`: updates of the data's rank go with the data.
pub fn scatter_nd(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let (data, indices) = (cx.layout(0)?, cx.layout(1)?);
    let (rank, of_updates) = (cx.rank(0)?, cx.rank(2)?);
    let (data, updates) = match !is_split(&data) && rank == of_updates {
        true => (data.clone(), data),
        false => (initial(rank), initial(of_updates)),
    };
    let output = ValueLayout::Tensor(data.clone());
    let inputs = [data, indices, updates].map(ValueLayout::Tensor).into();
    Ok(Inferred { inputs, output, attrs: cx.attrs, args: Vec::new() })
}

/// `strided_slice`: the axes are found by their positions in the layout.
pub fn strided_slice(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = cx.whole_layout(0)?;
    let fields = match cx.args.get(1).map(|arg| cx.store.expr(*arg)) {
        Some(Expr::Tuple(fields)) => cx.store.items(fields).collect::<Vec<_>>(),
        _ => return Err("Layout inference of strided_slice requires slices to be along static axes.".to_owned()),
    };
    let mut axes = Vec::with_capacity(fields.len());
    for field in fields {
        let number = match cx.store.expr(field) {
            Expr::Prim(prim) => cx.store.as_prim_int(prim).map(|axis| (axis, cx.store.prim_dtype(prim))),
            _ => None,
        };
        let Some((axis, dtype)) = number else {
            return Err("Layout inference of strided_slice requires slices to be along static axes.".to_owned());
        };
        let prim = cx.store.prim_int(find_axis(&layout, axis), dtype);
        let ty = cx.store.checked_type(field);
        axes.push(cx.store.add_typed(Expr::Prim(prim), ty));
    }
    let ty = cx.types.get(1).copied();
    let axes = cx.store.list(&axes);
    let axes = cx.store.add_typed(Expr::Tuple(axes), ty);
    Ok(Inferred { args: vec![(1, axes)], ..cx.all_in(layout, 1) })
}

/// `dynamic_strided_slice`: the axes are not known, so the layout is the initial one.
pub fn dynamic_strided_slice(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = initial(cx.rank(0)?);
    Ok(Inferred { attrs: None, ..cx.all_in(layout, 1) })
}

/// Reductions over axes: the remaining axes keep their order.
pub fn statistical(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = cx.layout(0)?;
    let rank = cx.rank(0)?;
    // TVM looks up the letters of `__undef__` in the initial layout of a scalar.
    if rank == 0 && !layout.is_scalar() {
        return Err("Invalid SLayout:can't find u in source layout".to_owned());
    }
    let axes = cx.ints("axis").unwrap_or_else(|| (0..rank as i64).collect());
    let reduced = |at: usize| axes.iter().any(|axis| axis.rem_euclid(rank.max(1) as i64) == at as i64);
    // The letter in the result for each axis of the initial layout.
    let mut left = 0;
    let mut names = Vec::with_capacity(rank);
    for at in 0..rank {
        names.push((!reduced(at)).then(|| letter(left)));
        left += usize::from(!reduced(at));
    }
    let name = |axis: &LayoutAxis| names.get((axis.primal() as u8).wrapping_sub(b'A') as usize).copied().flatten();
    let places: Vec<i64> = (0..layout.rank()).filter(|at| name(&layout.axes()[*at]).is_none()).map(|at| at as i64).collect();
    let kept = layout.axes().iter().filter_map(|axis| {
        let new = name(axis)?;
        Some(LayoutAxis { name: if axis.is_primal() { new } else { new.to_ascii_lowercase() }, extent: axis.extent })
    });
    let output = if cx.int("keepdims") == Some(1) { layout.clone() } else { Layout::from_axes(kept.collect()) };
    let attrs = cx.with(&[("axis", ints(&places))]);
    Ok(Inferred { output: ValueLayout::Tensor(output), attrs, ..cx.all_in(layout, 1) })
}
