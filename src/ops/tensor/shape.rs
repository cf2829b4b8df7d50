//! Operators that change the shape and keep the elements in order.

use super::{ensure, input};
use crate::ir::{DType, Dim, PrimOp, Store, Tensor};
use crate::ops::concrete::result_type;
use crate::ops::kernel::{reshaped, write};
use crate::ops::relax::{deduce, gradient, layout};
use crate::ops::row::{op, relax, relay, shape, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult, TypeRule, dim_arith};

/// Attributes `relay.attrs.ReshapeAttrs`.
pub static RESHAPE: AttrsSchema =
    schema("relay.attrs.ReshapeAttrs", &[field::required("newshape", AttrKind::Ints), field::flag("allowzero", false)]);

/// Attributes `relay.attrs.SqueezeAttrs`.
pub static SQUEEZE: AttrsSchema = schema("relay.attrs.SqueezeAttrs", &[field::or_none("axis", AttrKind::Ints)]);

/// Attributes `relay.attrs.ShapeOfAttrs`.
pub static SHAPE_OF: AttrsSchema = schema("relay.attrs.ShapeOfAttrs", &[field::dtype("dtype", "")]);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op(
        "reshape",
        "The same elements in a new shape. In Relay's `newshape`, 0 copies an extent, -1 is inferred, -2 \
         copies all that are left, -3 merges two, -4 splits one into the two that follow.",
    )
    .pattern(OpPattern::Injective)
    .reshape()
    .kernel(|cx, x| relabelled(cx, reshape_rule, x))
    .relay(relay(&["data"], reshape_rule).attrs(&RESHAPE))
    .relax(relax(&[value("x"), shape("shape")], deduce::manipulate::reshape).follows().gradient(gradient::manipulate::reshape)),
    op("reshape_like", "The first input in the shape of the second, for all axes or for a range of them.")
        .pattern(OpPattern::Injective)
        .kernel(|cx, x| relabelled(cx, reshape_like_rule, x))
        .relay(relay(&["data", "shape_like"], reshape_like_rule).attrs(&schema(
            "relay.attrs.ReshapeLikeAttrs",
            &[
                field::int("lhs_begin", 0),
                field::or_none("lhs_end", AttrKind::Integer),
                field::int("rhs_begin", 0),
                field::or_none("rhs_end", AttrKind::Integer),
            ],
        ))),
    op("contrib_reverse_reshape", "Like `reshape`, with the special values of `newshape` matched from the right.")
        .pattern(OpPattern::Injective)
        .reshape()
        .kernel(|cx, x| relabelled(cx, reverse_reshape_rule, x))
        .relay(relay(&["data"], reverse_reshape_rule).attrs(&RESHAPE)),
    op("expand_dims", "Inserts axes of extent 1 at `axis`; in Relay `num_newaxis` of them in one place.")
        .pattern(OpPattern::Broadcast)
        .reshape()
        .kernel(|cx, x| relabelled(cx, expand_dims_rule, x))
        .relay(relay(&["data"], expand_dims_rule).attrs(&schema(
            "relay.attrs.ExpandDimsAttrs",
            &[field::required("axis", AttrKind::Int), field::int("num_newaxis", 1)],
        )))
        .relax(
            relax(&[value("x")], deduce::manipulate::expand_dims)
                .attrs(&schema("relax.attrs.ExpandDimsAttrs", &[field::required("axis", AttrKind::Ints)]))
                .follows()
                .layout(layout::manipulate::expand_dims)
                .gradient(gradient::manipulate::expand_dims),
        ),
    op("squeeze", "Removes the axes of extent 1, or those listed in `axis`.")
        .pattern(OpPattern::Injective)
        .reshape()
        .kernel(|cx, x| relabelled(cx, squeeze_rule, x))
        .relay(relay(&["data"], squeeze_rule).attrs(&SQUEEZE))
        .relax(
            relax(&[value("x")], deduce::manipulate::squeeze)
                .attrs(&schema("relax.attrs.SqueezeAttrs", &[field::or_none("axis", AttrKind::Ints)]))
                .follows()
                .layout(layout::manipulate::squeeze),
        ),
    op("shape_of", "The shape of the input as a tensor of rank 1.")
        .pattern(OpPattern::Opaque)
        .kernel(shape_of_kernel)
        .relay(relay(&["data"], shape_of_rule).attrs(&SHAPE_OF))
        .relax(relax(&[value("expr")], deduce::create::shape_of).same_kernel()),
    op("ndarray_size", "The number of elements of the input.")
        .pattern(OpPattern::Injective)
        .kernel(ndarray_size_kernel)
        .relay(relay(&["data"], ndarray_size_rule).attrs(&schema("relay.attrs.NdarraySizeAttrs", &[field::dtype("dtype", "")]))),
];

/// The shape that `newshape` asks for, with its special values (TVM's `InferNewShape`).
fn new_shape(store: &mut Store, input: &[Dim], wanted: &[Dim], allow_zero: bool) -> Result<Vec<Dim>, String> {
    let mut out: Vec<Dim> = Vec::with_capacity(wanted.len());
    // Marks the extents on either side that are accounted for, so that -1 is computed from the others.
    let mut used_input = vec![false; input.len()];
    let mut used_output: Vec<usize> = Vec::new();
    let mut source = 0;
    let mut inferred = None;
    let mut i = 0;
    while i < wanted.len() {
        let value = wanted[i].known().ok_or("the new shape must be made of integers")?;
        match value {
            0 if !allow_zero => {
                ensure!(source < input.len(), "`newshape` copies axis {source} of a tensor of rank {}", input.len());
                used_input[source] = true;
                used_output.push(out.len());
                out.push(input[source]);
                source += 1;
            }
            0.. => {
                out.push(wanted[i]);
                source += 1;
            }
            -1 => {
                ensure!(inferred.is_none(), "One and only one dim can be inferred");
                inferred = Some(out.len());
                out.push(Dim::int(1));
                source += 1;
            }
            -2 => {
                while source < input.len() {
                    used_input[source] = true;
                    used_output.push(out.len());
                    out.push(input[source]);
                    source += 1;
                }
            }
            -3 => {
                ensure!(source + 1 < input.len(), "`newshape` merges axes that the input does not have");
                used_input[source] = true;
                used_input[source + 1] = true;
                used_output.push(out.len());
                let merged = dim_arith(store, PrimOp::Mul, input[source], input[source + 1]);
                out.push(merged);
                source += 2;
            }
            -4 => {
                ensure!(i + 2 < wanted.len(), "`newshape` ends within a split");
                ensure!(source < input.len(), "`newshape` splits an axis that the input does not have");
                used_input[source] = true;
                let (whole, left, right) = (input[source], wanted[i + 1], wanted[i + 2]);
                source += 1;
                i += 2;
                used_output.extend([out.len(), out.len() + 1]);
                let inferred = Some(-1);
                ensure!(left.known() != inferred || right.known() != inferred, "Split dims cannot both be -1.");
                for (part, other) in [(left, right), (right, left)] {
                    let extent = if part.known() == inferred { quotient(store, whole, other)? } else { part };
                    out.push(extent);
                }
            }
            _ => return Err(format!("Unsupported special value: {value}")),
        }
        i += 1;
    }
    if let Some(place) = inferred {
        let mut extent = Dim::int(1);
        for (dim, _) in input.iter().zip(&used_input).filter(|(_, used)| !**used) {
            extent = dim_arith(store, PrimOp::Mul, extent, *dim);
        }
        for (index, dim) in out.iter().enumerate() {
            if !used_output.contains(&index) {
                extent = quotient(store, extent, *dim)?;
            }
        }
        out[place] = extent;
    }
    Ok(out)
}

fn quotient(store: &mut Store, a: Dim, b: Dim) -> Result<Dim, String> {
    ensure!(b.known() != Some(0), "Divide by zero");
    Ok(dim_arith(store, PrimOp::FloorDiv, a, b))
}

/// The same for extents that are all known, for kernels.
pub(crate) fn known_new_shape(input: &[i64], wanted: &[i64], allow_zero: bool) -> Result<Vec<i64>, String> {
    let dims = |extents: &[i64]| extents.iter().map(|e| Dim::int(*e)).collect::<Vec<_>>();
    let shape = new_shape(&mut Store::new(), &dims(input), &dims(wanted), allow_zero)?;
    shape.into_iter().map(|d| d.known().ok_or_else(|| "the new shape is too large".into())).collect()
}

/// The number of elements, where all extents are known.
fn known_size(shape: &[Dim]) -> Option<i64> {
    shape.iter().try_fold(1i64, |n, d| n.checked_mul(d.known()?))
}

fn comma_separated(cx: &RuleCx<'_>, shape: &[Dim]) -> String {
    cx.show(shape).trim_matches(['[', ']']).replace(", ", ",")
}

fn reshape_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (wanted, allow_zero) = (cx.attr_dims("newshape").ok_or("reshape needs `newshape`")?, cx.attr_flag("allowzero"));
    let out = new_shape(cx.store, &shape, &wanted, allow_zero)?;
    if let (Some(before), Some(after)) = (known_size(&shape), known_size(&out)) {
        let (from, to) = (comma_separated(cx, &shape), comma_separated(cx, &out));
        ensure!(before == after, "Input tensor shape({from}) and reshaped shape({to}) are not compatible!");
    }
    cx.output_tensor(&out, dtype)
}

fn reverse_reshape_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (mut shape, dtype) = input!(cx, 0);
    let mut wanted = cx.attr_dims("newshape").ok_or("reshape needs `newshape`")?;
    let allow_zero = cx.attr_flag("allowzero");
    shape.reverse();
    wanted.reverse();
    let mut out = new_shape(cx.store, &shape, &wanted, allow_zero)?;
    if let (Some(before), Some(after)) = (known_size(&shape), known_size(&out)) {
        ensure!(before == after, "Input tensor shape and reshaped shape are not compatible");
    }
    out.reverse();
    cx.output_tensor(&out, dtype)
}

fn reshape_like_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (like, _) = input!(cx, 1);
    let bound = |name: &str, otherwise: i64, rank: usize| {
        let value = cx.store.attr_int(cx.attrs, name).unwrap_or(otherwise);
        let counted = if value < 0 { value + rank as i64 } else { value };
        usize::try_from(counted).ok().filter(|v| *v <= rank).ok_or_else(|| format!("`{name}` is out of range: {value}"))
    };
    let kept = bound("lhs_begin", 0, shape.len())?;
    let resumed = bound("lhs_end", shape.len() as i64, shape.len())?;
    let (begin, end) = (bound("rhs_begin", 0, like.len())?, bound("rhs_end", like.len() as i64, like.len())?);
    let mut out = shape[..kept].to_vec();
    out.extend(like.get(begin..end).unwrap_or_default());
    out.extend(&shape[resumed..]);
    if let Some(before) = known_size(&shape) {
        let fits = known_size(&out).is_none_or(|after| after == before);
        let (from, to) = (cx.show(&shape), cx.show(&out));
        ensure!(fits, "Reshape inputs size should be compatible, but found data_shape {from} not same as output_shape {to}");
    }
    cx.output_tensor(&out, dtype)
}

fn expand_dims_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (mut shape, dtype) = input!(cx, 0);
    let (axis, count, rank) = (cx.attr_int("axis"), cx.attr_int("num_newaxis"), shape.len() as i64);
    ensure!((0..=4096).contains(&count), "expand_dims only accepts `num_newaxis >= 0`, but got num_newaxis = {count}");
    ensure!(
        (-rank - 1..=rank).contains(&axis),
        "expand_dims only accepts `axis` in [-data.ndim - 1, data.ndim], but got axis = {axis}, and data.ndim = {rank}"
    );
    let pivot = if axis < 0 { rank + axis + 1 } else { axis } as usize;
    shape.splice(pivot..pivot, std::iter::repeat_n(Dim::int(1), count as usize));
    cx.output_tensor(&shape, dtype)
}

fn squeeze_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let mut keep = vec![true; shape.len()];
    match cx.store.attr_ints(cx.attrs, "axis") {
        None => {
            for (keep, dim) in keep.iter_mut().zip(&shape) {
                *keep = dim.known().ok_or("axis needs to be defined for dynamic input.")? != 1;
            }
        }
        Some(axes) => {
            for axis in axes {
                let place = if axis < 0 { axis + shape.len() as i64 } else { axis };
                ensure!((0..shape.len() as i64).contains(&place), "squeeze: axis {axis} is out of range");
                let extent = shape[place as usize].known();
                ensure!(extent.is_none_or(|e| e == 1), "cannot squeeze axis with dimension not equal to 1");
                keep[place as usize] = false;
            }
        }
    }
    let out: Vec<Dim> = shape.iter().zip(keep).filter(|(_, keep)| *keep).map(|(dim, _)| *dim).collect();
    cx.output_tensor(&out, dtype)
}

fn dtype_of(cx: &RuleCx<'_>) -> Result<DType, String> {
    cx.store.attr_dtype(cx.attrs, "dtype").ok_or_else(|| "`dtype` is not given".into())
}

fn shape_of_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    let dtype = dtype_of(cx)?;
    let out: &[Dim] = if shape.is_empty() { &[] } else { &[Dim::int(shape.len() as i64)] };
    cx.output_tensor(out, dtype)
}

fn ndarray_size_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    input!(cx, 0);
    let dtype = dtype_of(cx)?;
    cx.output_tensor(&[], dtype)
}

/// Computes operators that only change the shape, to the one of their type, or that their relation gives for the values.
fn relabelled(cx: &KernelCx<'_>, rule: TypeRule, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let shape = match cx.out_shape(0) {
        Some(shape) => shape,
        None => result_type(cx, rule, x)?.0,
    };
    Ok(vec![reshaped(&x[0], &shape)?])
}

fn shape_of_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (shape, dtype) = result_type(cx, shape_of_rule, x)?;
    let extents: &[i64] = if shape.is_empty() { &[1] } else { &x[0].shape };
    Ok(vec![write(dtype, &shape, extents)?])
}

fn ndarray_size_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (shape, dtype) = result_type(cx, ndarray_size_rule, x)?;
    Ok(vec![write(dtype, &shape, &[x[0].len() as i64])?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values_copy_infer_merge_and_split() {
        // The examples of TVM's documentation of reshape.
        for (input, wanted, out) in [
            (&[2, 3, 4][..], &[4, 0, 2][..], &[4, 3, 2][..]),
            (&[2, 3, 4], &[2, 0, 0], &[2, 3, 4]),
            (&[2, 3, 4], &[6, 1, -1], &[6, 1, 4]),
            (&[2, 3, 4], &[3, -1, 8], &[3, 1, 8]),
            (&[2, 3, 4], &[-1], &[24]),
            (&[2, 3, 4], &[-2], &[2, 3, 4]),
            (&[2, 3, 4], &[2, -2], &[2, 3, 4]),
            (&[2, 3, 4], &[-2, 1, 1], &[2, 3, 4, 1, 1]),
            (&[2, 3, 4], &[-3, 4], &[6, 4]),
            (&[2, 3, 4, 5], &[-3, -3], &[6, 20]),
            (&[2, 3, 4], &[0, -3], &[2, 12]),
            (&[2, 3, 4], &[-4, 1, 2, -2], &[1, 2, 3, 4]),
            (&[2, 3, 4], &[2, -4, -1, 3, -2], &[2, 1, 3, 4]),
        ] {
            assert_eq!(known_new_shape(input, wanted, false).as_deref(), Ok(out), "{wanted:?}");
        }
        assert!(known_new_shape(&[2], &[-1, -1], false).is_err());
        assert_eq!(known_new_shape(&[0, 3], &[0, 5], true), Ok(vec![0, 5]));
    }
}
