//! Rearrangements of the same elements (TVM: src/relax/op/tensor/manipulate.cc).

use super::{Deduce, Tensor, any, int};
use crate::ir::{AttrValue, DType, Dim, Extents, Id, Object, PrimExpr, PrimId, PrimOp, Symbol, TypeId, show_dim};
use crate::tir::arith::{Analyzer, Bound};
use std::rc::Rc;

/// `broadcast_to`: a tensor and a shape.
pub fn broadcast_to(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(2)?;
    let data = cx.tensor(0)?;
    let shape = cx.shape_arg(1)?;
    if let (Some(old), Some(new)) = (data.rank, cx.store.rank(&shape))
        && new < old
    {
        return Err(format!(
            "broadcast_to expects the input shape to have the number of ndim at least as the input tensor's. However, the given tensor has ndim {old} while the target shape has ndim {new}"
        ));
    }
    if let (Some(old), Some(new)) = (&data.values, &cx.known(&shape)) {
        for (old, new) in old.iter().rev().zip(new.iter().rev()) {
            if old.known() != Some(1) && cx.differ(*old, *new) {
                return Err("broadcast_to expects the input tensor shape is broadcastable to the target shape.".to_owned());
            }
        }
    }
    Ok(cx.shaped(shape, data.dtype(), data.vdevice()))
}

/// `reshape`: a tensor and a shape with the same number of elements.
pub fn reshape(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(2)?;
    let data = cx.tensor(0)?;
    // Only this rule uses the known extents of a variable that holds a shape.
    let shape = cx.shape_arg(1)?;
    let shape = cx.known(&shape).map_or(shape, Extents::Known);
    if let (Some(old), Extents::Known(new)) = (&data.values, &shape) {
        let (before, after) = (cx.product(old), cx.product(new));
        if cx.differ(before, after) {
            return Err(
                "Reshape expects the new shape to be convertible from the old shape: they have different numbers of elements"
                    .to_owned(),
            );
        }
    }
    Ok(cx.shaped(shape, data.dtype(), data.vdevice()))
}

/// `concat`: tensors that differ in at most one axis.
pub fn concat(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let tensors = cx.tensors(0)?;
    let [first, ..] = tensors.as_slice() else {
        return Err(
            "Concat op expects at least one tensor in the input Tuple. However, the given input Tuple is empty.".to_owned()
        );
    };
    let refs: Vec<&Tensor> = tensors.iter().collect();
    let axis = cx.int("axis");
    let rank = if axis.is_none() { Some(1) } else { tensors.iter().find_map(|tensor| tensor.rank) };
    let dtype = cx.common_dtype(&refs)?;
    check_rank(cx, &refs, rank)?;
    let vdevice = loose_vdevice(cx, &refs);
    let at = match rank {
        Some(rank) => cx.axis(axis.unwrap_or(0), rank)?,
        None => 0,
    };
    if let [only] = tensors.as_slice() {
        return Ok(cx.like(only, only.dtype()));
    }
    let Some(rank) = rank else { return Ok(cx.vague(None, dtype, vdevice)) };
    let known: Vec<&Rc<[Dim]>> = tensors.iter().filter_map(|tensor| tensor.values.as_ref()).collect();
    for other in known.iter().skip(1) {
        for index in (0..rank).filter(|index| *index != at) {
            if cx.differ(known[0][index], other[index]) {
                return Err(format!(
                    "Concat expects the input tensors to have the same shape on every dimension except the one indicated by the input axis. However, they differ at dimension {index}"
                ));
            }
        }
    }
    // All must be known, and the other extents be provably equal.
    let all = tensors.iter().all(|tensor| matches!(tensor.info.extents, Extents::Known(_)));
    let same = known.iter().skip(1).all(|other| (0..rank).all(|index| index == at || cx.equal(known[0][index], other[index])));
    if !all || !same {
        return Ok(cx.vague(Some(rank), dtype, vdevice));
    }
    let mut shape = first.dims().unwrap_or_default();
    // As in TVM, equal extents are multiplied instead of added.
    shape[at] = match known.iter().all(|other| other[at] == known[0][at]) {
        true => cx.arith(PrimOp::Mul, known[0][at], int(known.len() as i64)),
        false => known.iter().fold(int(0), |sum, shape| cx.arith(PrimOp::Add, sum, shape[at])),
    };
    Ok(cx.out(&shape, dtype, vdevice))
}

/// `stack`: tensors of one shape along a new axis.
pub fn stack(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let tensors = cx.tensors(0)?;
    let [first, ..] = tensors.as_slice() else {
        return Err(
            "Stack op expects at least one tensor in the input Tuple. However, the given input Tuple is empty.".to_owned()
        );
    };
    let refs: Vec<&Tensor> = tensors.iter().collect();
    let dtype = cx.common_dtype(&refs)?;
    let vdevice = loose_vdevice(cx, &refs);
    check_rank(cx, &refs, first.rank)?;
    let rank = match first.rank {
        Some(rank) => rank,
        // As in TVM, the axis has to be one of a tensor without axes.
        None => return cx.axis(cx.int("axis").unwrap_or(0), 0).map(|_| cx.vague(None, dtype, vdevice)),
    };
    let at = cx.axis(cx.int("axis").unwrap_or(0), rank + 1)?;
    let known: Vec<&Rc<[Dim]>> = tensors.iter().filter_map(|tensor| tensor.shape.as_ref()).collect();
    for other in known.iter().skip(1) {
        if (0..rank).any(|index| cx.differ(known[0][index], other[index])) {
            return Err("Stack expects all input tensors to have the same shape.".to_owned());
        }
    }
    let same = known.iter().skip(1).all(|other| (0..rank).all(|index| cx.equal(known[0][index], other[index])));
    if known.len() != tensors.len() || !same {
        return Ok(cx.vague(Some(rank + 1), dtype, vdevice));
    }
    let mut shape = known[0].to_vec();
    shape.insert(at, int(tensors.len() as i64));
    Ok(cx.out(&shape, dtype, vdevice))
}

fn check_rank(cx: &Deduce<'_>, tensors: &[&Tensor], rank: Option<usize>) -> Result<(), String> {
    if tensors.iter().any(|tensor| tensor.rank.is_some() && tensor.rank != rank) {
        return Err(format!("{} expects all input tensors to have same ndim", cx.op));
    }
    Ok(())
}

/// Returns the device of the tensors that have one; `None` when they differ.
fn loose_vdevice(cx: &Deduce<'_>, tensors: &[&Tensor]) -> Option<Id<Object>> {
    cx.common_vdevice(tensors).ok().flatten()
}

/// `expand_dims`: new axes of extent one.
pub fn expand_dims(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let axes = cx.ints("axis").unwrap_or_default();
    if axes.is_empty() {
        return Ok(cx.ty(0));
    }
    let Some(rank) = data.rank else { return Ok(cx.vague(None, data.dtype(), data.vdevice())) };
    let rank = rank + axes.len();
    let axes = cx.axes(&axes, rank)?;
    let Extents::Known(old) = &data.info.extents else { return Ok(cx.vague(Some(rank), data.dtype(), data.vdevice())) };
    let mut old = old.iter();
    let shape: Vec<Dim> =
        (0..rank).map(|index| if axes.contains(&index) { int(1) } else { *old.next().unwrap_or(&int(1)) }).collect();
    Ok(cx.out(&shape, data.dtype(), data.vdevice()))
}

/// `squeeze`: removes axes of extent one.
pub fn squeeze(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let axes = cx.ints("axis");
    let (dtype, vdevice) = (data.dtype(), data.vdevice());
    if axes.as_ref().is_some_and(Vec::is_empty) {
        return Ok(cx.ty(0));
    }
    let Some(rank) = data.rank else { return Ok(cx.vague(None, dtype, vdevice)) };
    let given = axes.is_some();
    let axes = match axes {
        Some(axes) => Some(cx.axes(&axes, rank)?),
        None => None,
    };
    let Some(old) = &data.values else {
        return Ok(cx.vague(axes.map(|axes| rank - axes.len()), dtype, vdevice));
    };
    if !given && old.iter().any(|dim| dim.known().is_none()) {
        return Ok(cx.vague(None, dtype, vdevice));
    }
    // A named axis of another extent stays; one of a symbolic extent is assumed to be one.
    let goes = |index: usize| match &axes {
        Some(axes) => axes.contains(&index) && old[index].known().is_none_or(|extent| extent == 1),
        None => old[index].known() == Some(1),
    };
    let shape: Vec<Dim> = (0..rank).filter(|index| !goes(*index)).map(|index| old[index]).collect();
    if matches!(data.info.extents, Extents::Var(_)) {
        return Ok(if shape.len() == rank { cx.ty(0) } else { cx.vague(given.then_some(shape.len()), dtype, vdevice) });
    }
    Ok(cx.out(&shape, dtype, vdevice))
}

/// `flatten`: merges all axes into one.
pub fn flatten(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let (dtype, vdevice) = (data.dtype(), data.vdevice());
    match (data.rank, &data.info.extents) {
        (Some(0), _) => Ok(cx.out(&[int(1)], dtype, vdevice)),
        (Some(1), _) => Ok(cx.ty(0)),
        (Some(_), Extents::Known(shape)) => {
            let product = cx.product(&shape.clone());
            Ok(cx.out(&[product], dtype, vdevice))
        }
        _ => Ok(cx.vague(Some(1), dtype, vdevice)),
    }
}

/// `permute_dims`: reorders the axes; reverses them when no order is given.
pub fn permute_dims(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let (dtype, vdevice) = (data.dtype(), data.vdevice());
    let axes = cx.ints("axes");
    let Some(rank) = data.rank else {
        return match axes {
            None => Ok(cx.vague(None, dtype, vdevice)),
            Some(_) => {
                Err("Check failed: ndim != kUnknownNDim (-1 vs. -1) : The ndim is required to be known for axes".to_owned())
            }
        };
    };
    let axes = match axes {
        None => (0..rank).rev().collect(),
        Some(axes) if axes.len() != rank => {
            return Err(format!(
                "PermuteDims expects the number of input axes to equal the ndim of the input tensor. However, the tensor ndim is {rank} while the given number of axes is {}",
                axes.len()
            ));
        }
        Some(axes) => cx.axes(&axes, rank)?,
    };
    if axes.iter().enumerate().all(|(index, axis)| index == *axis) {
        return Ok(cx.ty(0));
    }
    let Some(old) = &data.shape else { return Ok(cx.vague(Some(rank), dtype, vdevice)) };
    let shape: Vec<Dim> = axes.iter().map(|axis| old[*axis]).collect();
    Ok(cx.out(&shape, dtype, vdevice))
}

/// `split`: parts along an axis, at places or in a number of equal parts.
pub fn split(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let is_list = matches!(cx.store.attr(cx.attrs, "indices_or_sections"), Some(AttrValue::Array(_)));
    let sections = cx.int("indices_or_sections").filter(|sections| (1..=1 << 20).contains(sections));
    // TVM refuses this where the call is made, so before all else.
    if !is_list && sections.is_none() {
        return Err(
            "Check failed: n_section->value > 0 is false: Split op expects the input number of sections to be a positive \
                    integer"
                .to_owned(),
        );
    }
    let data = cx.tensor(0)?;
    let (dtype, vdevice) = (data.dtype(), data.vdevice());
    let at = match data.rank {
        Some(rank) => Some(cx.axis(cx.int("axis").unwrap_or(0), rank)?),
        None => None,
    };
    let places = if is_list { cx.ints("indices_or_sections") } else { None };
    let shape = match (&data.info.extents, at) {
        (Extents::Known(shape), Some(at)) => Some((shape.to_vec(), at)),
        _ => None,
    };
    if let Some(places) = places {
        if places.is_empty() {
            return Ok(cx.ty(0));
        }
        let Some((shape, at)) = shape else {
            let part = cx.vague(data.rank, dtype, vdevice);
            return Ok(cx.tuple(&vec![part; places.len() + 1]));
        };
        let extent = shape[at];
        let mut parts = Vec::new();
        for index in 0..=places.len() {
            let clamp = |cx: &mut Deduce<'_>, value: i64| cx.arith(PrimOp::Min, int(value.max(0)), extent);
            let left = clamp(cx, if index == 0 { 0 } else { places[index - 1] });
            let right = if index < places.len() { clamp(cx, places[index]) } else { extent };
            let length = cx.arith(PrimOp::Sub, right, left);
            let mut part = shape.clone();
            let length = cx.arith(PrimOp::Max, length, int(0));
            part[at] = cx.natural(length);
            parts.push(cx.out(&part, dtype, vdevice));
        }
        return Ok(cx.tuple(&parts));
    }
    let sections = sections.unwrap_or(1);
    if sections == 1 {
        return Ok(cx.ty(0));
    }
    let Some((shape, at)) = shape else {
        let part = cx.vague(data.rank, dtype, vdevice);
        return Ok(cx.tuple(&vec![part; sections as usize]));
    };
    let above = cx.arith(PrimOp::Add, shape[at], int(sections - 1));
    let length = cx.arith(PrimOp::FloorDiv, above, int(sections));
    let length = cx.natural(length);
    let before = cx.arith(PrimOp::Mul, length, int(sections - 1));
    let mut part = shape.clone();
    part[at] = length;
    let mut parts = vec![cx.out(&part, dtype, vdevice); sections as usize - 1];
    let last = cx.arith(PrimOp::Sub, shape[at], before);
    part[at] = cx.natural(last);
    parts.push(cx.out(&part, dtype, vdevice));
    Ok(cx.tuple(&parts))
}

/// `collapse_sum_like`: the shape of the second tensor.
pub fn collapse_sum_like(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let target = cx.tensor(1)?;
    collapses(cx, &data, &target.info.extents)?;
    Ok(cx.like(&target, data.dtype()))
}

/// `collapse_sum_to`: a tensor and a shape.
pub fn collapse_sum_to(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let shape = cx.shape_arg(1)?;
    collapses(cx, &data, &shape)?;
    Ok(cx.shaped(shape, data.dtype(), data.vdevice()))
}

/// Fails if a shape is no sum over axes of the data: each of its extents is that of the data or one.
fn collapses(cx: &mut Deduce<'_>, data: &Tensor, target: &Extents) -> Result<(), String> {
    let (Some(data), Some(target)) = (&data.values, cx.known(target)) else { return Ok(()) };
    let mut wanted = target.iter().rev().peekable();
    for extent in data.iter().rev() {
        let Some(other) = wanted.peek() else { break };
        if other.known() != Some(1) && !cx.equal(*extent, **other) {
            let shown = |dim: Dim| dim.known().map_or_else(|| show_dim(cx.store, dim), |value| value.to_string());
            let [a, b] = [*extent, **other].map(shown);
            return Err(format!(
                "In {}, the data shape and the target shape do not match the rule of collapse sum: {a} and {b}. If they are \
                 symbolic, consider use MatchCast first.",
                cx.op
            ));
        }
        wanted.next();
    }
    Ok(())
}

/// `repeat`: repeats each element, along an axis or of the flattened tensor.
pub fn repeat(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let (dtype, vdevice) = (data.dtype(), data.vdevice());
    let repeats = int(cx.int("repeats").unwrap_or(1));
    let axis = match (cx.int("axis"), data.rank) {
        (Some(axis), Some(rank)) => Some(cx.axis(axis, rank)?),
        (Some(_), None) => Some(0),
        (None, _) => None,
    };
    let Extents::Known(shape) = data.info.extents.clone() else {
        return Ok(match axis {
            Some(_) if repeats.known() == Some(1) => cx.ty(0),
            Some(_) => cx.vague(data.rank, dtype, vdevice),
            None => cx.vague(Some(1), dtype, vdevice),
        });
    };
    let shape = match axis {
        Some(axis) => {
            let mut shape = shape.to_vec();
            let extent = cx.arith(PrimOp::Mul, shape[axis], repeats);
            shape[axis] = cx.natural(extent);
            shape
        }
        None => {
            let product = cx.product(&shape);
            let extent = cx.arith(PrimOp::Mul, product, repeats);
            vec![cx.natural(extent)]
        }
    };
    Ok(cx.out(&shape, dtype, vdevice))
}

/// `tile`: repeats the tensor along each axis.
pub fn tile(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let (dtype, vdevice) = (data.dtype(), data.vdevice());
    let repeats = cx.ints("repeats").unwrap_or_default();
    let Some(rank) = data.rank else { return Ok(cx.vague(None, dtype, vdevice)) };
    let out_rank = rank.max(repeats.len());
    let Extents::Known(shape) = data.info.extents.clone() else {
        let kept = repeats.len() <= rank && repeats.iter().all(|times| *times == 1);
        return Ok(if kept { cx.ty(0) } else { cx.vague(Some(out_rank), dtype, vdevice) });
    };
    let out: Vec<Dim> = (0..out_rank)
        .map(|index| {
            let extent = (index + rank).checked_sub(out_rank).map(|at| shape[at]);
            let times = (index + repeats.len()).checked_sub(out_rank).map(|at| int(repeats[at]));
            match (extent, times) {
                (Some(extent), Some(times)) => {
                    let extent = cx.arith(PrimOp::Mul, extent, times);
                    cx.natural(extent)
                }
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => int(1),
            }
        })
        .collect();
    Ok(cx.out(&out, dtype, vdevice))
}

/// Fails if the lengths of the sequences fit neither the axes nor the extents of the data.
fn check_sequences(cx: &mut Deduce<'_>, data: &Tensor) -> Result<(), String> {
    let lengths = cx.tensor(1)?;
    if let Some(rank) = lengths.rank.filter(|rank| *rank != 1) {
        return Err(format!("ReverseSequence requires seq_lengths to be 1-D. However, seq_lengths has ndim {rank}"));
    }
    if let Some(dtype) = lengths.dtype().filter(|dtype| ![DType::I32, DType::I64].contains(dtype)) {
        return Err(format!("seq_lengths: the number of bits has to be 32 or 64, of integers. However, seq_lengths has {dtype}"));
    }
    let Some(rank) = data.rank else { return Ok(()) };
    for name in ["seq_axis", "batch_axis"] {
        let axis = cx.int(name).unwrap_or(0);
        cx.axis(axis, rank).map_err(|_| {
            format!("ReverseSequence requires {name} to belong to range [-ndim, ndim). However, the axis is {axis}, while ndim is {rank}")
        })?;
    }
    let batch = cx.axis(cx.int("batch_axis").unwrap_or(0), rank)?;
    if let (Some(shape), Some(count)) = (&data.values, &lengths.values)
        && cx.differ(shape[batch], count[0])
    {
        return Err(
            "ReverseSequence requires seq_lengths.shape[0] to equal the batch axis extent, a number of sequences.".to_owned()
        );
    }
    Ok(())
}

/// `flip`, `reverse_sequence`: the type of the input, whose axis has to exist.
pub fn along_axis(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    if cx.op == "reverse_sequence" {
        check_sequences(cx, &data)?;
    }
    if let (Some(axis), Some(rank)) = (cx.int("axis"), data.rank) {
        cx.axis(axis, rank)?;
    }
    Ok(cx.ty(0))
}

/// `meshgrid`: for each vector a tensor over all of them.
pub fn meshgrid(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let tensors = cx.tensors(0)?;
    let refs: Vec<&Tensor> = tensors.iter().collect();
    if let Some(at) = tensors.iter().position(|tensor| tensor.rank != Some(1)) {
        let rank = tensors[at].rank.map_or(-1, |rank| rank as i64);
        return Err(format!("meshgrid expects each input tensor to be 1D. Got ndim = {rank} at index {at}"));
    }
    if tensors.is_empty() {
        return Err("meshgrid expects at least one 1D tensor in the input Tuple.".to_owned());
    }
    cx.common_dtype(&refs)?;
    let dtype = tensors.iter().find_map(Tensor::dtype);
    let vdevice = loose_vdevice(cx, &refs);
    // As in TVM, the extent of a tensor without an element type does not count.
    let extent = |tensor: &Tensor| tensor.dtype().and(tensor.shape.as_ref())?.first().copied();
    let extents: Option<Vec<Dim>> = tensors.iter().map(extent).collect();
    let one = match extents {
        Some(shape) => cx.out(&shape, dtype, vdevice),
        None => cx.vague(Some(tensors.len()), dtype, vdevice),
    };
    Ok(cx.tuple(&vec![one; tensors.len()]))
}

/// `one_hot`: a new axis of `depth`.
pub fn one_hot(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let depth = cx.int("depth").unwrap_or(0);
    // TVM refuses this where the call is made.
    if depth < 1 {
        return Err(format!("Check failed: (depth > 0) is false: one_hot: depth must be positive, but got {depth}"));
    }
    let indices = cx.tensor(0)?;
    let value = cx.ty(1);
    let dtype: Option<DType> = match cx.store.type_of_id(value) {
        crate::ir::Type::Prim(dtype) => Some(*dtype),
        _ => None,
    };
    let other = cx.ty(2);
    if let (Some(on), crate::ir::Type::Prim(off)) = (dtype, cx.store.type_of_id(other))
        && on != *off
    {
        return Err(format!("Check failed: one_hot: on_value and off_value must have the same dtype, but got {on} and {off}"));
    }
    cx.whole_numbers(&indices, "one_hot op", "indices")?;
    let Some(rank) = indices.rank else { return Ok(cx.vague(None, dtype, indices.vdevice())) };
    let at = cx.axis(cx.int("axis").unwrap_or(-1), rank + 1).map_err(|message| format!("Check failed: {message}"))?;
    let Some(mut shape) = indices.shape.as_deref().map(<[Dim]>::to_vec) else {
        return Ok(cx.vague(Some(rank + 1), dtype, indices.vdevice()));
    };
    shape.insert(at, int(depth));
    Ok(cx.out(&shape, dtype, indices.vdevice()))
}

/// Returns the number of values of `index // n` and `index % n`, for an index whose extent is a symbol or that has no
/// other use: it is padded to a multiple of `n`.
fn part_of_symbol(cx: &mut Deduce<'_>, prim: PrimId, given: &[(Id<Symbol>, Dim)], last: &[AttrValue]) -> Option<Dim> {
    let parts = |cx: &Deduce<'_>, prim: PrimId| match *cx.store.prim_of_id(prim) {
        PrimExpr::Binary { op: op @ (PrimOp::FloorMod | PrimOp::FloorDiv), a, b } => match *cx.store.prim_of_id(a) {
            PrimExpr::Var(symbol) => Some((op, symbol, cx.store.as_prim_int(b).filter(|divisor| *divisor > 0)?)),
            _ => None,
        },
        _ => None,
    };
    let (op, symbol, divisor) = parts(cx, prim)?;
    // Every index is such a part, or another index unchanged; a missing part does not matter.
    let alone = |index: &AttrValue| match index {
        AttrValue::Dim(Dim::Symbol(other)) => *other != symbol,
        AttrValue::Dim(Dim::Expr(prim)) => parts(cx, *prim).is_some_and(|(_, other, by)| other != symbol || by == divisor),
        _ => false,
    };
    let alone = last.iter().all(alone);
    let (_, extent) = *given.iter().find(|(other, extent)| *other == symbol && (alone || matches!(extent, Dim::Symbol(_))))?;
    match op {
        PrimOp::FloorMod => Some(int(divisor)),
        PrimOp::FloorDiv => {
            let over = cx.arith(PrimOp::FloorMod, extent, int(-divisor));
            let padded = cx.arith(PrimOp::Sub, extent, over);
            Some(cx.arith(PrimOp::FloorDiv, padded, int(divisor)))
        }
        _ => None,
    }
}

/// `layout_transform`: each extent is the number of values of its index.
pub fn layout_transform(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let indices = |cx: &Deduce<'_>, name: &str| match cx.store.attr(cx.attrs, "index_map") {
        Some(AttrValue::Object(map)) => match cx.store.object_field(*map, name) {
            Some(AttrValue::Array(items)) => Some(items.to_vec()),
            _ => None,
        },
        _ => None,
    };
    let (Some(initial), Some(last)) = (indices(cx, "initial_indices"), indices(cx, "final_indices")) else { return any(cx) };
    if data.rank.is_some_and(|rank| rank != initial.len()) {
        return Err(format!(
            "number of dimensions in input must match the number of source dimensions in index map, but got {} != {}",
            data.rank.unwrap_or(0),
            initial.len()
        ));
    }
    let padding = match cx.store.attr(cx.attrs, "pad_value") {
        Some(AttrValue::Float(_)) => Some(DType::F64),
        Some(AttrValue::Dim(Dim::Expr(prim))) => Some(cx.store.prim_dtype(*prim)),
        _ => None,
    };
    if let (Some(padding), Some(dtype)) = (padding, data.dtype())
        && padding != dtype
    {
        return Err(format!("layout_transform pad_value dtype ({padding}) and input dtype ({dtype}) must be the same"));
    }
    let vague = |cx: &mut Deduce<'_>| Ok(cx.vague(Some(last.len()), data.dtype(), data.vdevice()));
    let Extents::Known(shape) = &data.info.extents else { return vague(cx) };
    let mut analyzer = Analyzer::new();
    let mut given = Vec::with_capacity(shape.len());
    for (index, extent) in initial.iter().zip(shape.iter()) {
        let AttrValue::Dim(Dim::Symbol(symbol)) = index else { return vague(cx) };
        given.push((*symbol, *extent));
        if let Some(extent) = extent.known() {
            analyzer.assume_between(*symbol, 0, extent - 1);
        }
    }
    let mut out = Vec::with_capacity(last.len());
    for index in &last {
        if let AttrValue::Dim(Dim::Expr(prim)) = index
            && let Some(extent) = part_of_symbol(cx, *prim, &given, &last)
        {
            out.push(extent);
            continue;
        }
        let dim = match index {
            // An index that is passed on has its old extent, which may be a symbol.
            AttrValue::Dim(Dim::Symbol(symbol)) if given.iter().any(|(other, _)| other == symbol) => {
                out.extend(given.iter().filter(|(other, _)| other == symbol).map(|(_, extent)| *extent).take(1));
                continue;
            }
            AttrValue::Dim(dim) => *dim,
            other => int(other.as_int().unwrap_or(0)),
        };
        let prim = cx.store.prim_of_dim(dim);
        let Bound { min: least, max: most } = analyzer.const_int_bound(cx.store, prim);
        match most.checked_sub(least).and_then(|extent| extent.checked_add(1)).filter(|_| least == 0) {
            Some(extent) => out.push(int(extent)),
            None => return vague(cx),
        }
    }
    Ok(cx.out(&out, data.dtype(), data.vdevice()))
}
