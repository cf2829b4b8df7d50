//! Sorting, searching and running totals.

use super::{ensure, input, sort_kernels};
use crate::ir::{DType, Dim};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.ArgsortAttrs`.
pub static ARGSORT: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ArgsortAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("is_ascend", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.TopkAttrs`.
pub static TOPK: AttrsSchema = AttrsSchema {
    key: "relay.attrs.TopkAttrs",
    fields: &[
        AttrField::required("k", AttrKind::Integer),
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("ret_type", AttrKind::Str, AttrDefault::Str("both")),
        AttrField::new("is_ascend", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.SearchSortedAttrs`.
pub static SEARCH_SORTED: AttrsSchema = AttrsSchema {
    key: "relay.attrs.SearchSortedAttrs",
    fields: &[
        AttrField::new("right", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("dtype", AttrKind::DType, AttrDefault::DType("int32")),
    ],
};

/// Attributes `relay.attrs.ScanopAttrs`.
pub static SCANOP: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ScanopAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("dtype", AttrKind::DType, AttrDefault::DType("")),
        AttrField::new("exclusive", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.UniqueAttrs`.
pub static UNIQUE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.UniqueAttrs",
    fields: &[
        AttrField::new("sorted", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("return_counts", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "sort",
        doc: "Sorts along an axis.",
        args: &["data"],
        attrs: Some(&ARGSORT),
        rule: Some(sort_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(sort_kernels::sort),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "argsort",
        doc: "The indices that would sort along an axis.",
        args: &["data"],
        attrs: Some(&ARGSORT),
        rule: Some(argsort_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(sort_kernels::argsort),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "topk",
        doc: "The `k` largest or smallest elements along an axis, their indices, or both.",
        args: &["data"],
        attrs: Some(&TOPK),
        rule: Some(topk_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(sort_kernels::topk),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "searchsorted",
        doc: "Where each value would be inserted into a sorted sequence.",
        args: &["sorted_sequence", "values"],
        attrs: Some(&SEARCH_SORTED),
        rule: Some(searchsorted_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(sort_kernels::searchsorted),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "cumsum",
        doc: "Running sums along an axis, of the flattened input when `axis` is not given.",
        args: &["data"],
        rule: Some(scan_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(sort_kernels::cumsum),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "cumprod",
        doc: "Running products along an axis, of the flattened input when `axis` is not given.",
        args: &["data"],
        rule: Some(scan_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(sort_kernels::cumprod),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "unique",
        doc: "The distinct elements of a vector, with indices, inverse indices and counts.",
        args: &["data"],
        rule: Some(unique_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(sort_kernels::unique),
        ..OpInfo::BASE
    },
];

pub(super) fn scan_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, data_dtype) = input!(cx, 0);
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").unwrap_or(data_dtype);
    if cx.store.attr_int(cx.attrs, "axis").is_some() {
        return cx.output_tensor(&shape, dtype);
    }
    let [first, others @ ..] = &shape[..] else { return Err("a running total needs at least one axis".into()) };
    let mut size = *first;
    for dim in others {
        size = cx.mul(size, *dim);
    }
    cx.output_tensor(&[size], dtype)
}

fn unique_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    ensure!(shape.len() == 1, "Unique: input must be 1-D tensor");
    let index = cx.store.tensor_type(&shape, DType::I32);
    let count = cx.store.tensor_type(&[Dim::int(1)], DType::I32);
    let mut fields = vec![cx.types[0], index, index, count];
    if cx.attr_flag("return_counts") {
        fields.push(index);
    }
    let tuple = cx.store.tuple_type(&fields);
    cx.output(tuple)
}

fn sort_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    input!(cx, 0);
    let same = cx.types[0];
    cx.output(same)
}

fn index_dtype(cx: &RuleCx<'_>) -> Result<DType, String> {
    cx.store.attr_dtype(cx.attrs, "dtype").ok_or_else(|| "`dtype` is not given".into())
}

pub(super) fn argsort_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    let dtype = index_dtype(cx)?;
    cx.output_tensor(&shape, dtype)
}

pub(super) fn topk_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (mut shape, dtype) = input!(cx, 0);
    let axis = cx.attr_axis(shape.len()).ok_or("topk: `axis` is out of range")?;
    let k = cx.attr_dim("k").ok_or("topk needs `k`")?;
    if k.known().is_none_or(|k| k >= 1) {
        shape[axis] = k;
    }
    let values = cx.store.tensor_type(&shape, dtype);
    let indices = match cx.attr_text("ret_type") {
        "values" => return cx.output(values),
        "both" | "indices" => {
            let dtype = index_dtype(cx)?;
            cx.store.tensor_type(&shape, dtype)
        }
        other => return Err(format!("Unsupported ret type: {other}")),
    };
    let out = if cx.attr_text("ret_type") == "both" { cx.store.tuple_type(&[values, indices]) } else { indices };
    cx.output(out)
}

pub(super) fn searchsorted_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (sequence, _) = input!(cx, 0);
    let (values, _) = input!(cx, 1);
    ensure!(!values.is_empty(), "The rank of `values` must be greater than one");
    if sequence.len() > 1 {
        ensure!(
            sequence.len() == values.len(),
            "Ranks of `sorted_sequence` and values must be the same if `sorted_sequence` is multi-dimensional."
        );
        let mut outer = sequence.iter().zip(&values).take(values.len() - 1);
        let differ = |(a, b): (&Dim, &Dim)| a.known().zip(b.known()).is_some_and(|(a, b)| a != b);
        ensure!(!outer.any(differ), "`sorted_sequence and `values` do not have the same shape along outer axes");
    }
    let dtype = index_dtype(cx)?;
    cx.output_tensor(&values, dtype)
}
