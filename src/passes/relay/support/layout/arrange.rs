//! Layout inference for operators whose attributes name axes.

use super::infer::{Infer, Inferred, Known, place, with};
use crate::ir::{AttrValue, Dim, Type};
use crate::ops::build::ints;
use crate::ops::layout::{Layout, LayoutAxis};

/// The input and the output have the same layout.
fn one(layout: Known, attrs: Option<crate::ir::AttrsId>) -> Option<Inferred> {
    Some(Inferred { inputs: vec![layout.clone()], outputs: vec![layout], attrs })
}

fn from_front(axis: i64, rank: usize) -> Option<usize> {
    usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok()
}

/// Returns `None` for no axes, as TVM reads the empty string.
fn of_axes(axes: Vec<LayoutAxis>) -> Known {
    Some(Layout::from_axes(axes)).filter(|layout| !layout.is_undefined())
}

pub(super) fn l2_normalize(cx: &mut Infer) -> Option<Inferred> {
    let Some(new) = cx.new else { return one(cx.old.first()?.clone(), cx.attrs) };
    let (rank, new) = (cx.shape(0)?.len(), new.first()?.clone()?);
    let mut axes = Vec::new();
    for axis in cx.ints("axis")? {
        axes.push(place(&new, cx.old(0)?, from_front(axis, rank)? as i64)?);
    }
    let attrs = cx.with(&[("axis", ints(&axes))]);
    one(Some(new), attrs)
}

/// Padding follows the new layout, unless a padded axis was split.
pub(super) fn pad(cx: &mut Infer) -> Option<Inferred> {
    // The padding value is a scalar.
    let scalar = Some(Layout::default());
    let answer = |data: Known, attrs| Some(Inferred { inputs: vec![data.clone(), scalar.clone()], outputs: vec![data], attrs });
    let old = cx.old.first()?.clone();
    let Some(new) = cx.new else { return answer(old, cx.attrs) };
    let (new, before) = (new.first()?.clone()?, old.clone()?);
    let Some(AttrValue::Array(widths)) = cx.store.attr(cx.attrs, "pad_width").cloned() else { return None };
    let width = |name: char| widths.get(before.index_of(name)?).cloned();
    let (mut changed, mut fits) = (Vec::new(), true);
    for axis in new.axes() {
        let own = width(axis.name).filter(|_| axis.is_primal());
        let split = own.is_none();
        let own = match own {
            Some(own) => own,
            None => width(axis.primal())?,
        };
        fits &= !split || own.as_ints().is_some_and(|widths| widths.iter().all(|width| *width == 0));
        changed.push(own);
    }
    if !fits {
        return answer(old, cx.attrs);
    }
    let attrs = cx.with(&[("pad_width", AttrValue::Array(changed.into()))]);
    answer(Some(new), attrs)
}

pub(super) fn concatenate(cx: &mut Infer) -> Option<Inferred> {
    let Type::Tuple(fields) = cx.store.type_of_id(*cx.types.first()?).clone() else { return None };
    let Type::Tensor { shape, .. } = cx.store.type_of_id(*fields.first()?) else { return None };
    let axis = from_front(cx.int("axis")?, shape.len())?;
    if let Some(new) = cx.new {
        let first = new.first()?.clone()?;
        if new.iter().all(|layout| layout.as_ref() == Some(&first)) {
            let place = place(&first, cx.old(0)?, axis as i64)?;
            let attrs = cx.with(&[("axis", AttrValue::int(place))]);
            return cx.all(Some(first), attrs);
        }
    }
    let layout = cx.old.iter().flatten().next().cloned();
    if !layout.as_ref().and_then(|layout| layout.axes().get(axis)).is_some_and(|axis| axis.is_primal()) {
        return None;
    }
    cx.all(layout, cx.attrs)
}

/// The operands behind the tensors are a scale and a zero point for each tensor, and two for the result.
pub(super) fn qnn_concatenate(cx: &mut Infer) -> Option<Inferred> {
    let Type::Tuple(fields) = cx.store.type_of_id(*cx.types.first()?) else { return None };
    let count = fields.len();
    let mut inner = Infer {
        store: &mut *cx.store,
        op: cx.op,
        attrs: cx.attrs,
        new: cx.new.and_then(|new| new.get(..count)),
        old: cx.old.get(..count)?,
        types: cx.types,
    };
    let plain = concatenate(&mut inner)?;
    Some(Inferred { inputs: with(&plain.inputs, "C", 2 * count + 2), ..plain })
}

pub(super) fn requantize(cx: &mut Infer) -> Option<Inferred> {
    let answer =
        |data: Known, attrs| Some(Inferred { inputs: with(std::slice::from_ref(&data), "C", 4), outputs: vec![data], attrs });
    let Some(new) = cx.new else { return answer(cx.old.first()?.clone(), cx.attrs) };
    let new = new.first()?.clone()?;
    let axis = cx.int("axis")?;
    let axis = if axis == -1 { cx.shape(0)?.len() as i64 - 1 } else { axis };
    let name = cx.old(0)?.axes().get(usize::try_from(axis).ok()?)?.name;
    let scalars = cx.shape(1)?.is_empty() && cx.shape(2)?.is_empty();
    let (mut axes, mut place) = (Vec::new(), 0);
    for part in new.axes() {
        if part.name == name {
            place = axes.len() as i64;
        }
        if part.is_primal() || scalars {
            axes.push(*part);
        }
    }
    let attrs = cx.with(&[("axis", AttrValue::int(place))]);
    answer(of_axes(axes), attrs)
}

pub(super) fn transpose(cx: &mut Infer) -> Option<Inferred> {
    let old = cx.old(0)?.clone();
    let rank = old.rank();
    let mut axes = cx.ints("axes").filter(|axes| !axes.is_empty()).unwrap_or_else(|| (0..rank as i64).rev().collect());
    for axis in &mut axes {
        *axis = from_front(*axis, rank)? as i64;
    }
    let mut layout = old.clone();
    if let Some(new) = cx.new.and_then(|new| new.first()?.clone()) {
        let moved: Option<Vec<i64>> = axes.iter().map(|axis| place(&new, &old, *axis)).collect();
        let moved = moved?;
        if moved.len() == new.rank() && !moved.contains(&-1) {
            (axes, layout) = (moved, new);
        }
    }
    // TVM takes the letters of the layout one by one, which would be wrong for split axes.
    if layout.axes().iter().any(|axis| !axis.is_primal()) {
        return None;
    }
    let out: Option<Vec<LayoutAxis>> = axes.iter().map(|axis| layout.axes().get(*axis as usize).copied()).collect();
    let attrs = cx.with(&[("axes", ints(&axes))]);
    Some(Inferred { inputs: vec![Some(layout)], outputs: vec![of_axes(out?)], attrs })
}

pub(super) fn squeeze(cx: &mut Infer) -> Option<Inferred> {
    let (layout, shape) = (cx.now()?, cx.shape(0)?);
    let ones = || (0..shape.len() as i64).filter(|at| shape[*at as usize].known() == Some(1)).collect();
    let mut axes: Vec<i64> = cx.ints("axis").unwrap_or_else(ones);
    let mut attrs = cx.attrs;
    if cx.new.is_some() {
        for axis in &mut axes {
            *axis = place(&layout, cx.old(0)?, *axis)?;
        }
        attrs = cx.with(&[("axis", ints(&axes))]);
    }
    let gone: Vec<Option<usize>> = axes.iter().map(|axis| from_front(*axis, layout.rank())).collect();
    let kept = layout.axes().iter().enumerate().filter(|(at, _)| !gone.contains(&Some(*at))).map(|(_, axis)| *axis).collect();
    Some(Inferred { inputs: vec![Some(layout)], outputs: vec![Some(Layout::from_axes(kept))], attrs })
}

pub(super) fn split(cx: &mut Infer) -> Option<Inferred> {
    let axis = from_front(cx.int("axis")?, cx.shape(0)?.len())?;
    let places = cx.ints("indices_or_sections");
    let parts = match &places {
        Some(places) => places.len() + 1,
        None => usize::try_from(cx.int("indices_or_sections")?).ok().filter(|parts| *parts < 1 << 20)?,
    };
    let answer = |layout: Known, attrs| Some(Inferred { inputs: vec![layout.clone()], outputs: vec![layout; parts], attrs });
    let old = cx.old.first()?.clone();
    let Some(new) = cx.new else { return answer(old, cx.attrs) };
    let new = new.first()?.clone()?;
    let at = place(&new, old.as_ref()?, axis as i64)?;
    let mut changes = vec![("axis", AttrValue::int(at))];
    let factor = new.factor_of(old.as_ref()?.axes().get(axis)?.name).unwrap_or(1);
    let mut divides = true;
    if let Some(places) = places.filter(|_| factor > 1) {
        divides = places.iter().all(|place| place % factor == 0);
        if divides {
            let places = places.into_iter().map(|place| AttrValue::int(place / factor)).collect();
            changes.push(("indices_or_sections", cx.store.boxed(AttrValue::Array(places))));
        }
    }
    let attrs = cx.with(&changes);
    answer(if divides { Some(new) } else { old }, attrs)
}

pub(super) fn slice_like(cx: &mut Infer) -> Option<Inferred> {
    if let Some([Some(new), Some(other)]) = cx.new {
        let old = cx.old(0)?;
        if new != other || Some(old) != cx.old(1) {
            return None;
        }
        let axes = cx.ints("axes").unwrap_or_default();
        let moved: Option<Vec<i64>> = axes.iter().map(|axis| place(new, old, *axis)).collect();
        let moved = moved?;
        if !moved.is_empty() && !moved.contains(&-1) {
            let attrs = cx.with(&[("axes", ints(&moved))]);
            return cx.all(Some(new.clone()), attrs);
        }
    }
    Some(Inferred { inputs: cx.old.to_vec(), outputs: vec![cx.old.get(1)?.clone()], attrs: cx.attrs })
}

/// Makes a list of integers as wide as those of `like`.
fn wide(values: &[i64], like: Option<&AttrValue>) -> AttrValue {
    let bits = match like {
        Some(AttrValue::Array(items)) => items.iter().find_map(|item| match item {
            AttrValue::Int { bits, .. } => Some(*bits),
            _ => None,
        }),
        _ => None,
    };
    AttrValue::Array(values.iter().map(|value| AttrValue::Int { value: *value, bits: bits.unwrap_or(32) }).collect())
}

pub(super) fn strided_slice(cx: &mut Infer) -> Option<Inferred> {
    let (Some(new), Some(layout)) = (cx.new, cx.old.first()?.clone()) else { return one(cx.old.first()?.clone(), cx.attrs) };
    let (new, shape) = (new.first()?.clone()?, cx.shape(0)?);
    let by_size = cx.store.attr_str(cx.attrs, "slice_mode") == Some("size");
    let mut strides = cx.ints("strides").unwrap_or_default();
    if by_size {
        strides.fill(1);
    }
    let (begin, end) = (cx.ints("begin")?, cx.ints("end")?);
    let (old_name, new_name) = (layout.to_string(), new.to_string());
    let (mut begins, mut ends, mut steps, mut axes) = (Vec::new(), Vec::new(), None, None);
    if !old_name.starts_with(&new_name) && !new_name.starts_with(&old_name) {
        if old_name.len() != new_name.len() {
            return None;
        }
        let mut moved_steps = Vec::new();
        if let Some(own) = cx.ints("axes") {
            let mut moved = Vec::new();
            for (at, axis) in own.iter().enumerate() {
                begins.push(*begin.get(at)?);
                ends.push(*end.get(at)?);
                moved_steps.push(*strides.get(at)?);
                moved.push(place(&new, &layout, *axis)?);
            }
            axes = Some(moved);
        } else {
            for axis in new.axes() {
                let at = layout.index_of(axis.name)?;
                moved_steps.push(strides.get(at).copied().unwrap_or(1));
                begins.push(begin.get(at).copied().unwrap_or(0));
                ends.push(end.get(at).copied().or_else(|| shape.get(at)?.known())?);
            }
        }
        steps = Some(moved_steps);
    } else if old_name.len() < new_name.len() {
        let own = cx.ints("axes");
        let sliced = own.clone().unwrap_or_else(|| (0..begin.len() as i64).collect());
        for (at, axis) in sliced.iter().enumerate() {
            let axis = layout.axes().get(usize::try_from(*axis).ok()?).filter(|axis| axis.is_primal())?;
            let Some(factor) = new.factor_of(axis.name) else {
                begins.push(*begin.get(at)?);
                ends.push(*end.get(at)?);
                continue;
            };
            if strides.get(at).is_some_and(|step| *step != 1) {
                return None;
            }
            let from = *begin.get(at)?;
            let to = match *end.get(at)? {
                size if own.is_none() && by_size && size < 0 => shape.get(at)?.known()?,
                size if own.is_none() && by_size => from + size,
                to => to,
            };
            if factor == 0 || from % factor != 0 || to % factor != 0 {
                return None;
            }
            begins.push(from / factor);
            ends.push(to / factor);
        }
        if let Some(own) = own {
            let moved: Option<Vec<i64>> = own.iter().map(|axis| place(&new, &layout, *axis)).collect();
            axes = Some(moved?);
        }
    } else {
        return one(Some(layout), cx.attrs);
    }
    let attr = |name: &str| cx.store.attr(cx.attrs, name).cloned();
    let (like_begin, like_end, like_steps, like_axes) = (attr("begin"), attr("end"), attr("strides"), attr("axes"));
    let mut changes = vec![("begin", wide(&begins, like_begin.as_ref())), ("end", wide(&ends, like_end.as_ref()))];
    changes.extend(steps.map(|steps| ("strides", wide(&steps, like_steps.as_ref()))));
    changes.extend(axes.map(|axes| ("axes", wide(&axes, like_axes.as_ref()))));
    let attrs = cx.with(&changes);
    one(Some(new), attrs)
}

/// Reductions: axes are found again by their letters.
pub(super) fn reduce(cx: &mut Infer) -> Option<Inferred> {
    let shape: Vec<Dim> = cx.shape(0)?;
    let (exclude, keep) = (cx.int("exclude") == Some(1), cx.int("keepdims") == Some(1));
    let written = cx.ints("axis").unwrap_or_default();
    let mut axes: Vec<usize> = written.iter().map(|axis| from_front(*axis, shape.len())).collect::<Option<_>>()?;
    if axes.is_empty() {
        axes = (0..shape.len()).collect();
    } else if exclude {
        axes = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    }
    let answer = |cx: &Infer, data: Known, out: Known, attrs| {
        Some(Inferred { inputs: vec![data; cx.old.len()], outputs: vec![out], attrs })
    };
    let moves = cx.new.is_some() && !axes.is_empty();
    let layout = if moves { cx.now()? } else { cx.old(0)?.clone() };
    let old = cx.old(0)?.clone();
    let reduced: Vec<char> = axes.iter().map(|axis| Some(old.axes().get(*axis)?.name)).collect::<Option<_>>()?;
    let (mut out, mut places) = (Vec::new(), Vec::new());
    for (at, axis) in layout.axes().iter().enumerate() {
        let own = reduced.contains(&axis.primal());
        let counts = own != exclude;
        if counts {
            places.push(at as i64);
        }
        if axis.is_primal() {
            if !own || keep {
                out.push(*axis);
            }
            continue;
        }
        let packed = LayoutAxis { extent: layout.factor_of(axis.name).unwrap_or(axis.extent), ..*axis };
        match counts {
            true if exclude => out.push(packed),
            true if keep => out.push(LayoutAxis { extent: 1, ..*axis }),
            true => {}
            false => out.push(packed),
        }
    }
    let attrs = if moves { cx.with(&[("axis", ints(&places))]) } else { cx.attrs };
    answer(cx, Some(layout).filter(|layout| !layout.is_undefined()), of_axes(out), attrs)
}
