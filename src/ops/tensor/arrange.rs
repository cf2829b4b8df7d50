//! Operators that move whole axes or tensors: transpose, concatenate, split and related ones.

use super::{arrange_kernels, ensure, input, tensors_of_tuple};
use crate::ir::{Dim, PrimOp, TypeId};
use crate::ops::relax::{deduce, gradient, layout};
use crate::ops::row::{op, relax, relay, shape, tuple, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult, broadcast};

/// Attributes `relay.attrs.TileAttrs`.
pub static TILE: AttrsSchema = schema("relay.attrs.TileAttrs", &[field::required("reps", AttrKind::Ints)]);

/// Attributes `relay.attrs.InitOpAttrs`.
pub static INIT_OP: AttrsSchema =
    schema("relay.attrs.InitOpAttrs", &[field::required("shape", AttrKind::Ints), field::dtype("dtype", "")]);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("transpose", "Reorders the axes; reverses them when `axes` is not given.")
        .pattern(OpPattern::Injective)
        .kernel(arrange_kernels::transpose)
        .relay(
            relay(&["data"], transpose_rule)
                .attrs(&schema("relay.attrs.TransposeAttrs", &[field::required("axes", AttrKind::Ints)])),
        ),
    op("concatenate", "Joins the tensors of a tuple along an axis.")
        .pattern(OpPattern::Injective)
        .kernel(arrange_kernels::concatenate)
        .relay(relay(&["data"], concatenate_rule).attrs(&schema("relay.attrs.ConcatenateAttrs", &[field::int("axis", 0)]))),
    op("stack", "Joins the tensors of a tuple along a new axis.")
        .pattern(OpPattern::Injective)
        .kernel(arrange_kernels::stack)
        .relay(relay(&["data"], stack_rule).attrs(&schema("relay.attrs.StackAttrs", &[field::integer("axis", 0)])))
        .relax(
            relax(&[tuple("tensors")], deduce::manipulate::stack)
                .attrs(&schema("relax.attrs.StackAttrs", &[field::integer("axis", 0)]))
                .follows()
                .layout(layout::manipulate::stack),
        ),
    op("split", "Cuts a tensor along an axis into equal sections or at the given indices. The result is a tuple.")
        .pattern(OpPattern::Injective)
        .kernel(arrange_kernels::split)
        .relay(relay(&["data"], split_rule).attrs(&schema(
            "relay.attrs.SplitAttrs",
            &[field::required("indices_or_sections", AttrKind::Boxed), field::int("axis", 0)],
        )))
        .relax(
            relax(&[value("x")], deduce::manipulate::split)
                .attrs(&schema(
                    "relax.attrs.SplitAttrs",
                    &[field::required("indices_or_sections", AttrKind::Any), field::int("axis", 0)],
                ))
                .follows()
                .layout(layout::manipulate::split)
                .gradient(gradient::manipulate::split),
        ),
    op("repeat", "Repeats each element along an axis, of the flattened input when `axis` is not given.")
        .pattern(OpPattern::Broadcast)
        .kernel(arrange_kernels::repeat)
        .relay(relay(&["data"], repeat_rule).attrs(&schema(
            "relay.attrs.RepeatAttrs",
            &[field::required("repeats", AttrKind::Integer), field::or_none("axis", AttrKind::Integer)],
        )))
        .relax(
            relax(&[value("data")], deduce::manipulate::repeat)
                .attrs(&schema(
                    "relax.attrs.RepeatAttrs",
                    &[field::required("repeats", AttrKind::Int), field::or_none("axis", AttrKind::Integer)],
                ))
                .layout(layout::manipulate::repeat),
        ),
    op("tile", "Repeats the whole tensor some times along each axis.")
        .pattern(OpPattern::Broadcast)
        .kernel(arrange_kernels::tile)
        .relay(relay(&["data"], tile_rule).attrs(&TILE))
        .relax(
            relax(&[value("data")], deduce::manipulate::tile)
                .attrs(&schema("relax.attrs.TileAttrs", &[field::required("repeats", AttrKind::Ints)]))
                .layout(layout::manipulate::tile),
        ),
    op("reverse", "Reverses the order of the elements along an axis.")
        .pattern(OpPattern::Injective)
        .kernel(arrange_kernels::reverse)
        .relay(
            relay(&["data"], reverse_rule)
                .attrs(&schema("relay.attrs.ReverseAttrs", &[field::or_none("axis", AttrKind::Integer)])),
        ),
    op("reverse_sequence", "Reverses the first `seq_lengths[i]` elements along `seq_axis` for each index `i` of `batch_axis`.")
        .pattern(OpPattern::Injective)
        .kernel(arrange_kernels::reverse_sequence)
        .relay(relay(&["data", "seq_lengths"], reverse_sequence_rule).attrs(&schema(
            "relay.attrs.ReverseSequenceAttrs",
            &[field::integer("seq_axis", 1), field::integer("batch_axis", 0)],
        )))
        .relax(
            relax(&[value("data"), value("seq_lengths")], deduce::manipulate::along_axis)
                .attrs(&schema("relax.attrs.ReverseSequenceAttrs", &[field::int("seq_axis", 1), field::int("batch_axis", 0)]))
                .same_kernel(),
        ),
    op("broadcast_to", "Broadcasts the input to a shape.")
        .pattern(OpPattern::Broadcast)
        .kernel(arrange_kernels::broadcast_to)
        .relay(relay(&["data"], broadcast_to_rule).attrs(&INIT_OP))
        .relax(
            relax(&[value("x"), shape("shape")], deduce::manipulate::broadcast_to)
                .follows()
                .gradient(gradient::manipulate::broadcast_to),
        ),
    op("broadcast_to_like", "Broadcasts the first input to the shape of the second.")
        .pattern(OpPattern::Broadcast)
        .kernel(arrange_kernels::broadcast_to_like)
        .relay(relay(&["data", "broadcast_type"], broadcast_to_like_rule)),
    op("meshgrid", "Coordinate grids made of the vectors in a tuple.")
        .pattern(OpPattern::Injective)
        .kernel(arrange_kernels::meshgrid)
        .relay(relay(&["data"], meshgrid_rule).attrs(&schema("relay.attrs.MeshgridAttrs", &[field::text("indexing", "ij")])))
        .relax(
            relax(&[tuple("tensors")], deduce::manipulate::meshgrid)
                .attrs(&schema("relax.attrs.MeshgridAttrs", &[field::text("indexing", "ij")]))
                .follows(),
        ),
    op("concat", "Tensors one behind the other along `axis`.").relax(
        relax(&[tuple("tensors")], deduce::manipulate::concat)
            .attrs(&schema("relax.attrs.ConcatAttrs", &[field::integer("axis", 0)]))
            .follows()
            .layout(layout::manipulate::concat)
            .gradient(gradient::manipulate::concat),
    ),
    op("flatten", "All elements on one axis.").relax(relax(&[value("x")], deduce::manipulate::flatten).follows()),
    op("flip", "The elements along `axis` backwards.").relax(
        relax(&[value("data")], deduce::manipulate::along_axis)
            .attrs(&schema("relax.attrs.FlipAttrs", &[field::required("axis", AttrKind::Int)]))
            .layout(layout::manipulate::flip),
    ),
    op("permute_dims", "The axes in another order.").relax(
        relax(&[value("x")], deduce::manipulate::permute_dims)
            .attrs(&schema("relax.attrs.PermuteDimsAttrs", &[field::or_none("axes", AttrKind::Ints)]))
            .follows()
            .layout(layout::manipulate::permute_dims)
            .gradient(gradient::manipulate::permute_dims),
    ),
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

/// A limit for sections above that of any real program: a typing error in a number must not fill the memory.
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
