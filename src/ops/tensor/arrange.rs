//! Operators that move whole axes or tensors: transpose, concatenate, split and their kin.

use super::{arrange_kernels, ensure, input, tensors_of_tuple};
use crate::ir::{Dim, PrimOp, TypeId};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult, broadcast};

/// Attributes `relay.attrs.TransposeAttrs`.
pub static TRANSPOSE: AttrsSchema =
    AttrsSchema { key: "relay.attrs.TransposeAttrs", fields: &[AttrField::required("axes", AttrKind::Ints)] };

/// Attributes `relay.attrs.ConcatenateAttrs`.
pub static CONCATENATE: AttrsSchema =
    AttrsSchema { key: "relay.attrs.ConcatenateAttrs", fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(0))] };

/// Attributes `relay.attrs.StackAttrs`.
pub static STACK: AttrsSchema =
    AttrsSchema { key: "relay.attrs.StackAttrs", fields: &[AttrField::new("axis", AttrKind::Integer, AttrDefault::Int(0))] };

/// Attributes `relay.attrs.SplitAttrs`.
pub static SPLIT: AttrsSchema = AttrsSchema {
    key: "relay.attrs.SplitAttrs",
    fields: &[
        AttrField::required("indices_or_sections", AttrKind::Boxed),
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(0)),
    ],
};

/// Attributes `relay.attrs.RepeatAttrs`.
pub static REPEAT: AttrsSchema = AttrsSchema {
    key: "relay.attrs.RepeatAttrs",
    fields: &[AttrField::required("repeats", AttrKind::Integer), AttrField::new("axis", AttrKind::Integer, AttrDefault::Null)],
};

/// Attributes `relay.attrs.TileAttrs`.
pub static TILE: AttrsSchema =
    AttrsSchema { key: "relay.attrs.TileAttrs", fields: &[AttrField::required("reps", AttrKind::Ints)] };

/// Attributes `relay.attrs.ReverseAttrs`.
pub static REVERSE: AttrsSchema =
    AttrsSchema { key: "relay.attrs.ReverseAttrs", fields: &[AttrField::new("axis", AttrKind::Integer, AttrDefault::Null)] };

/// Attributes `relay.attrs.ReverseSequenceAttrs`.
pub static REVERSE_SEQUENCE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ReverseSequenceAttrs",
    fields: &[
        AttrField::new("seq_axis", AttrKind::Integer, AttrDefault::Int(1)),
        AttrField::new("batch_axis", AttrKind::Integer, AttrDefault::Int(0)),
    ],
};

/// Attributes `relay.attrs.InitOpAttrs`.
pub static INIT_OP: AttrsSchema = AttrsSchema {
    key: "relay.attrs.InitOpAttrs",
    fields: &[AttrField::required("shape", AttrKind::Ints), AttrField::new("dtype", AttrKind::DType, AttrDefault::DType(""))],
};

/// Attributes `relay.attrs.MeshgridAttrs`.
pub static MESHGRID: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MeshgridAttrs",
    fields: &[AttrField::new("indexing", AttrKind::Str, AttrDefault::Str("ij"))],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "transpose",
        doc: "Reorders the axes; reverses them when `axes` is not given.",
        args: &["data"],
        attrs: Some(&TRANSPOSE),
        rule: Some(transpose_rule),
        pattern: Some(OpPattern::Injective),
        kernel: Some(arrange_kernels::transpose),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "concatenate",
        doc: "Joins the tensors of a tuple along an axis.",
        args: &["data"],
        attrs: Some(&CONCATENATE),
        rule: Some(concatenate_rule),
        pattern: Some(OpPattern::Injective),
        kernel: Some(arrange_kernels::concatenate),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "stack",
        doc: "Joins the tensors of a tuple along a new axis.",
        args: &["data"],
        attrs: Some(&STACK),
        rule: Some(stack_rule),
        pattern: Some(OpPattern::Injective),
        kernel: Some(arrange_kernels::stack),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "split",
        doc: "Cuts a tensor along an axis into equal sections or at the given indices. The result is a tuple.",
        args: &["data"],
        attrs: Some(&SPLIT),
        rule: Some(split_rule),
        pattern: Some(OpPattern::Injective),
        kernel: Some(arrange_kernels::split),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "repeat",
        doc: "Repeats each element along an axis, of the flattened input when `axis` is not given.",
        args: &["data"],
        attrs: Some(&REPEAT),
        rule: Some(repeat_rule),
        pattern: Some(OpPattern::Broadcast),
        kernel: Some(arrange_kernels::repeat),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "tile",
        doc: "Repeats the whole tensor `reps` times along each axis.",
        args: &["data"],
        attrs: Some(&TILE),
        rule: Some(tile_rule),
        pattern: Some(OpPattern::Broadcast),
        kernel: Some(arrange_kernels::tile),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "reverse",
        doc: "Reverses the order of the elements along an axis.",
        args: &["data"],
        attrs: Some(&REVERSE),
        rule: Some(reverse_rule),
        pattern: Some(OpPattern::Injective),
        kernel: Some(arrange_kernels::reverse),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "reverse_sequence",
        doc: "Reverses the first `seq_lengths[i]` elements along `seq_axis` for each index `i` of `batch_axis`.",
        args: &["data", "seq_lengths"],
        attrs: Some(&REVERSE_SEQUENCE),
        rule: Some(reverse_sequence_rule),
        pattern: Some(OpPattern::Injective),
        kernel: Some(arrange_kernels::reverse_sequence),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "broadcast_to",
        doc: "Broadcasts the input to a shape.",
        args: &["data"],
        attrs: Some(&INIT_OP),
        rule: Some(broadcast_to_rule),
        pattern: Some(OpPattern::Broadcast),
        kernel: Some(arrange_kernels::broadcast_to),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "broadcast_to_like",
        doc: "Broadcasts the first input to the shape of the second.",
        args: &["data", "broadcast_type"],
        rule: Some(broadcast_to_like_rule),
        pattern: Some(OpPattern::Broadcast),
        kernel: Some(arrange_kernels::broadcast_to_like),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "meshgrid",
        doc: "Coordinate grids made of the vectors in a tuple.",
        args: &["data"],
        attrs: Some(&MESHGRID),
        rule: Some(meshgrid_rule),
        pattern: Some(OpPattern::Injective),
        kernel: Some(arrange_kernels::meshgrid),
        ..OpInfo::BASE
    },
];

fn transpose_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let rank = shape.len();
    let Some(axes) = cx.store.attr_ints(cx.attrs, "axes") else {
        let reversed: Vec<Dim> = shape.into_iter().rev().collect();
        return cx.output_tensor(&reversed, dtype);
    };
    ensure!(axes.len() == rank, "Dimension mismatch: axes has {} elements, but data.ndim = {rank}", axes.len());
    let mut used = vec![false; rank];
    let mut out = Vec::with_capacity(rank);
    for axis in axes {
        let place = if axis < 0 { axis + rank as i64 } else { axis };
        ensure!(
            (0..rank as i64).contains(&place),
            "transpose only allows each `axis` in `axes` in range [-data.ndim, data.ndim), but got axis = {axis}, and data.ndim = {rank}"
        );
        let place = place as usize;
        ensure!(!used[place], "Duplicate axes in transpose: {place}");
        used[place] = true;
        out.push(shape[place]);
    }
    cx.output_tensor(&out, dtype)
}

/// `axis` counted from the front, with TVM's words when it is out of range.
fn axis_within(axis: i64, rank: usize, op: &str) -> Result<usize, String> {
    let place = if axis < 0 { axis + rank as i64 } else { axis };
    ensure!(
        (0..rank as i64).contains(&place),
        "{op} only accepts `axis` in [-ndim, ndim), but got axis = {axis}, and ndim = {rank}"
    );
    Ok(place as usize)
}

fn concatenate_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some(parts) = tensors_of_tuple(cx, 0, "concatenate")? else { return Ok(false) };
    let Some((first, dtype)) = parts.first().cloned() else { return Err("concatenate needs at least one tensor".into()) };
    let rank = first.len();
    let axis = axis_within(cx.attr_int("axis"), rank, "concatenate")?;
    ensure!(parts.iter().all(|(s, _)| s.len() == rank), "relay.concatenate requires all tensors have the same ndim");
    ensure!(parts.iter().all(|(_, d)| *d == dtype), "relay.concatenate requires all tensors have the same dtype");
    let mut out = first.clone();
    for (shape, _) in &parts[1..] {
        // An unknown extent makes the sum unknown.
        out[axis] = cx.add(out[axis], shape[axis]);
    }
    for i in (0..rank).filter(|i| *i != axis) {
        let known: Vec<Dim> = parts.iter().map(|(s, _)| s[i]).filter(|d| *d != Dim::Any).collect();
        for other in known.iter().skip(1) {
            ensure!(
                cx.may_equal(known[0], *other),
                "relay.concatenate requires all tensors have the same shape on non-concatenating axes"
            );
        }
        // A partly unknown extent is taken as known only where the joined one is unknown: TVM
        // checks shapes while running only then.
        out[i] = match known.first() {
            Some(dim) if known.len() == parts.len() || out[axis] == Dim::Any => *dim,
            _ => Dim::Any,
        };
    }
    cx.output_tensor(&out, dtype)
}

pub(super) fn stack_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some(parts) = tensors_of_tuple(cx, 0, "stack")? else { return Ok(false) };
    let Some((first, dtype)) = parts.first().cloned() else { return Err("stack needs at least one tensor".into()) };
    let (axis, rank) = (cx.attr_int("axis"), first.len() as i64);
    ensure!(
        (-rank - 1..=rank).contains(&axis),
        "stack only accepts `axis` in [-(ndim+1), ndim+1), but got axis = {axis}, and ndim = {rank}"
    );
    let axis = if axis < 0 { rank + axis + 1 } else { axis } as usize;
    for (shape, other) in &parts {
        ensure!(shape.len() == first.len(), "relay.stack requires all tensors have the same ndim");
        ensure!(*other == dtype, "relay.stack requires all tensors have the same dtype");
        for (j, (a, b)) in first.iter().zip(shape).enumerate() {
            ensure!(
                j == axis || cx.may_equal(*a, *b),
                "relay.stack requires all tensors have the same shape on non-stacking axes"
            );
        }
    }
    let mut out = first;
    out.insert(axis, Dim::int(parts.len() as i64));
    cx.output_tensor(&out, dtype)
}

/// More sections than any program has: a typing error in a number shall not fill the memory.
const MAX_SECTIONS: i64 = 1 << 16;

pub(super) fn split_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    ensure!(!shape.is_empty(), "Input shape cannot be empty");
    let axis = cx.attr_axis(shape.len()).ok_or("axis should be within the input dimension range.")?;
    let whole = shape[axis];
    let mut extents = Vec::new();
    if let Some(sections) = cx.store.attr_int(cx.attrs, "indices_or_sections") {
        ensure!((1..=MAX_SECTIONS).contains(&sections), "split into {sections} sections");
        let rest = cx.dim(PrimOp::FloorMod, whole, Dim::int(sections));
        ensure!(rest.known().is_none_or(|r| r == 0), "indices_or_sections need to be able to divide input.shape[axis]");
        let extent = cx.div(whole, Dim::int(sections));
        extents.resize(sections as usize, extent);
    } else {
        let indices = cx.store.attr_ints(cx.attrs, "indices_or_sections").ok_or("split needs `indices_or_sections`")?;
        let mut begin = 0;
        for index in indices {
            ensure!(index > begin, "indices_or_sections need to be a sorted ascending list");
            extents.push(Dim::int(index - begin));
            begin = index;
        }
        ensure!(whole.known().is_none_or(|w| begin < w), "The sum of sections must match the input.shape[axis]");
        let last = cx.sub(whole, Dim::int(begin));
        extents.push(last);
    }
    let fields: Vec<TypeId> = extents
        .into_iter()
        .map(|extent| {
            let mut part = shape.clone();
            part[axis] = extent;
            cx.store.tensor_type(&part, dtype)
        })
        .collect();
    let tuple = cx.store.tuple_type(&fields);
    cx.output(tuple)
}

pub(super) fn repeat_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (mut shape, dtype) = input!(cx, 0);
    let repeats = cx.attr_int("repeats");
    ensure!(repeats >= 1, "repeat only accepts `repeats >= 1`, but got repeats = {repeats}");
    let axis = cx.store.attr_int(cx.attrs, "axis").ok_or("repeat needs `axis`")?;
    let axis = axis_within(axis, shape.len(), "repeat")?;
    shape[axis] = cx.mul(shape[axis], Dim::int(repeats));
    cx.output_tensor(&shape, dtype)
}

pub(super) fn tile_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (mut shape, dtype) = input!(cx, 0);
    let mut reps = cx.attr_dims("reps").ok_or_else(|| format!("repetition array is not defined. data.ndim = {}", shape.len()))?;
    for rep in reps.iter().filter_map(|r| r.known()) {
        ensure!(rep > 0, "Tile reps value should always be larger than 0, but get: {rep}");
    }
    let rank = shape.len().max(reps.len());
    shape.splice(0..0, std::iter::repeat_n(Dim::int(1), rank - shape.len()));
    reps.splice(0..0, std::iter::repeat_n(Dim::int(1), rank - reps.len()));
    let mut out = Vec::with_capacity(rank);
    for (dim, rep) in shape.into_iter().zip(reps) {
        // A symbolic extent becomes an unknown one, not a product.
        out.push(if dim.known().is_some() { cx.mul(dim, rep) } else { Dim::Any });
    }
    cx.output_tensor(&out, dtype)
}

fn reverse_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    let axis = cx.store.attr_int(cx.attrs, "axis").ok_or("reverse needs `axis`")?;
    axis_within(axis, shape.len(), "reverse")?;
    let same = cx.types[0];
    cx.output(same)
}

fn reverse_sequence_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    let (lengths, dtype) = input!(cx, 1);
    ensure!(lengths.len() == 1, "For reverse_sequnece, seq_lengths must be a 1D vector");
    ensure!(dtype.code == crate::ir::DTypeCode::Int, "For reverse_sequnece, seq_lengths must be tensor of integer");
    let batch = axis_within(cx.attr_int("batch_axis"), shape.len(), "reverse_sequence")?;
    axis_within(cx.attr_int("seq_axis"), shape.len(), "reverse_sequence")?;
    let (found, wanted) = (cx.show(&lengths), cx.show(&shape[batch..=batch]));
    ensure!(
        cx.may_equal(lengths[0], shape[batch]),
        "For reverse_sequnece seq_lengths size should match with dimension of batch axis, but got dimension of batch_axis = {wanted}, and seq_length size = {found}"
    );
    let same = cx.types[0];
    cx.output(same)
}

/// Demands that the type `a` broadcasts to `b`, as TVM does by asking its broadcast relation with
/// `b` as the result too.
fn broadcasts_to(cx: &mut RuleCx<'_>, a: TypeId, b: TypeId) -> RuleResult {
    broadcast(&mut RuleCx { store: cx.store, types: &[a, b, b], n_inputs: 2, attrs: None, unify: cx.unify })
}

pub(super) fn broadcast_to_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (_, dtype) = input!(cx, 0);
    let shape = cx.attr_dims("shape").ok_or("broadcast_to needs `shape`")?;
    let target = cx.store.tensor_type(&shape, dtype);
    cx.output(target)?;
    broadcasts_to(cx, cx.types[0], target)
}

pub(super) fn broadcast_to_like_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (from, to) = (cx.types[0], cx.types[1]);
    cx.output(to)?;
    broadcasts_to(cx, from, to)
}

pub(super) fn meshgrid_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some(parts) = tensors_of_tuple(cx, 0, "meshgrid")? else { return Ok(false) };
    let Some((_, dtype)) = parts.first().cloned() else { return Err("meshgrid needs at least one tensor".into()) };
    let mut grid = Vec::with_capacity(parts.len());
    for (shape, other) in &parts {
        ensure!(*other == dtype, "relay.meshgrid requires all tensors have the same dtype");
        ensure!(shape.len() <= 1, "relay.meshgrid requires all tensors be either scalars or 1-D vectors.");
        grid.push(shape.first().copied().unwrap_or(Dim::int(1)));
    }
    if cx.attr_text("indexing") == "xy" && grid.len() >= 2 {
        grid.swap(0, 1);
    }
    let field = cx.store.tensor_type(&grid, dtype);
    let tuple = cx.store.tuple_type(&vec![field; parts.len()]);
    cx.output(tuple)
}
