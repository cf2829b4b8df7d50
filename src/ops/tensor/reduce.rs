//! Reductions over axes.

use super::{ensure, input, reduce_kernels};
use crate::ir::{DType, DTypeCode, Dim, TypeId};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult, broadcast, dim_bits};

/// Attributes `relay.attrs.ReduceAttrs`.
pub static REDUCE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ReduceAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("keepdims", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("exclude", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.ArgReduceAttrs`.
pub static ARG_REDUCE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ArgReduceAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("keepdims", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("select_last_index", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("exclude", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.VarianceAttrs`.
pub static VARIANCE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.VarianceAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("keepdims", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("exclude", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("unbiased", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "sum",
        doc: "Sum over the axes, all of them when `axis` is not given.",
        args: &["data"],
        attrs: Some(&REDUCE),
        rule: Some(reduce_rule),
        pattern: Some(OpPattern::CommReduce),
        kernel: Some(reduce_kernels::sum),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "mean",
        doc: "Mean over the axes, all of them when `axis` is not given.",
        args: &["data"],
        attrs: Some(&REDUCE),
        rule: Some(reduce_rule),
        pattern: Some(OpPattern::CommReduce),
        kernel: Some(reduce_kernels::mean),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "prod",
        doc: "Product over the axes, all of them when `axis` is not given.",
        args: &["data"],
        attrs: Some(&REDUCE),
        rule: Some(reduce_rule),
        pattern: Some(OpPattern::CommReduce),
        kernel: Some(reduce_kernels::prod),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "max",
        doc: "Largest element over the axes, all of them when `axis` is not given.",
        args: &["data"],
        attrs: Some(&REDUCE),
        rule: Some(reduce_rule),
        pattern: Some(OpPattern::CommReduce),
        kernel: Some(reduce_kernels::largest),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "min",
        doc: "Smallest element over the axes, all of them when `axis` is not given.",
        args: &["data"],
        attrs: Some(&REDUCE),
        rule: Some(reduce_rule),
        pattern: Some(OpPattern::CommReduce),
        kernel: Some(reduce_kernels::smallest),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "all",
        doc: "Whether all elements over the axes are true.",
        args: &["data"],
        attrs: Some(&REDUCE),
        rule: Some(reduce_rule),
        pattern: Some(OpPattern::CommReduce),
        kernel: Some(reduce_kernels::all),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "any",
        doc: "Whether some element over the axes is true.",
        args: &["data"],
        attrs: Some(&REDUCE),
        rule: Some(reduce_rule),
        pattern: Some(OpPattern::CommReduce),
        kernel: Some(reduce_kernels::any),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "argmax",
        doc: "Index of the largest element over the axes.",
        args: &["data"],
        attrs: Some(&ARG_REDUCE),
        rule: Some(arg_reduce_rule),
        pattern: Some(OpPattern::CommReduce),
        kernel: Some(reduce_kernels::argmax),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "argmin",
        doc: "Index of the smallest element over the axes.",
        args: &["data"],
        attrs: Some(&ARG_REDUCE),
        rule: Some(arg_reduce_rule),
        pattern: Some(OpPattern::CommReduce),
        kernel: Some(reduce_kernels::argmin),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "variance",
        doc: "Variance over the axes around a mean that is given; `unbiased` divides by one less than the number of elements.",
        args: &["data", "mean"],
        attrs: Some(&VARIANCE),
        rule: Some(variance_rule),
        pattern: Some(OpPattern::CommReduce),
        kernel: Some(reduce_kernels::variance),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "collapse_sum_like",
        doc: "Sums over the axes that broadcasting added or stretched, so that the result has the shape of the second input.",
        args: &["data", "collapse_type"],
        rule: Some(collapse_sum_like_rule),
        pattern: Some(OpPattern::CommReduce),
        kernel: Some(reduce_kernels::collapse_sum_like),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "collapse_sum_to",
        doc: "Sums over the axes that broadcasting added or stretched, so that the result has the given shape.",
        args: &["data", "shape"],
        rule: Some(collapse_sum_to_rule),
        pattern: Some(OpPattern::CommReduce),
        kernel: Some(reduce_kernels::collapse_sum_to),
        ..OpInfo::BASE
    },
];

/// Which axes are reduced, in order: those of `axis`, the others with `exclude`, all without `axis`.
pub(crate) fn reduced_axes(rank: usize, axes: Option<&[i64]>, exclude: bool) -> Result<Vec<usize>, String> {
    let Some(axes) = axes.filter(|a| !a.is_empty()) else { return Ok((0..rank).collect()) };
    let mut listed = vec![false; rank];
    for &axis in axes {
        let place = if axis < 0 { axis + rank as i64 } else { axis };
        ensure!((0..rank as i64).contains(&place), "Axis out of bounds in reduce operator.");
        ensure!(!listed[place as usize], "axis {axis} is listed twice in reduce operator");
        listed[place as usize] = true;
    }
    Ok((0..rank).filter(|i| listed[*i] != exclude).collect())
}

fn reduced_shape(cx: &RuleCx<'_>, shape: &[Dim]) -> Result<Vec<Dim>, String> {
    let axes = cx.store.attr_ints(cx.attrs, "axis");
    let axes = reduced_axes(shape.len(), axes.as_deref(), cx.attr_flag("exclude"))?;
    let keep = cx.attr_flag("keepdims");
    let axes = shape.iter().enumerate().map(|(i, dim)| if axes.contains(&i) { None } else { Some(*dim) });
    Ok(axes.filter_map(|dim| dim.or(keep.then_some(Dim::int(1)))).collect())
}

pub(super) fn reduce_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let out = reduced_shape(cx, &shape)?;
    cx.output_tensor(&out, dtype)
}

pub(super) fn arg_reduce_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    ensure!(!shape.is_empty(), "argmax and argmin need at least one axis");
    let out = reduced_shape(cx, &shape)?;
    // The index has the width in which the first extent is written.
    let bits = dim_bits(cx.store, shape[0]);
    cx.output_tensor(&out, DType::new(DTypeCode::Int, bits))
}

pub(super) fn variance_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    ensure!(!shape.is_empty(), "variance needs at least one axis");
    let (mean, _) = input!(cx, 1);
    ensure!(mean.len() == shape.len(), "variance: the mean has {} axes, the data {}", mean.len(), shape.len());
    let out = reduced_shape(cx, &shape)?;
    cx.output_tensor(&out, dtype)
}

/// Demands that `a` and `b` broadcast to `a`: that `a` can be summed down to `b`.
fn collapses_to(cx: &mut RuleCx<'_>, a: TypeId, b: TypeId) -> RuleResult {
    broadcast(&mut RuleCx { store: cx.store, types: &[a, b, a], n_inputs: 2, attrs: None, unify: cx.unify })
}

fn collapse_sum_like_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (from, to) = (cx.types[0], cx.types[1]);
    cx.output(to)?;
    collapses_to(cx, from, to)
}

pub(super) fn collapse_sum_to_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (_, dtype) = input!(cx, 0);
    let (shape, _) = input!(cx, 1);
    let shape = match cx.attr_dims("shape") {
        Some(shape) => shape,
        None => {
            let rank = shape.first().and_then(|d| d.known()).ok_or("Parameter must have static rank")?;
            ensure!((0..=1024).contains(&rank), "a tensor of rank {rank}");
            vec![Dim::Any; rank as usize]
        }
    };
    let target = cx.store.tensor_type(&shape, dtype);
    cx.output(target)?;
    collapses_to(cx, cx.types[0], target)
}
