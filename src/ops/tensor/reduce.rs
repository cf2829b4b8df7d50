//! Reductions over axes.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

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
        pattern: Some(OpPattern::CommReduce),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "mean",
        doc: "Mean over the axes, all of them when `axis` is not given.",
        args: &["data"],
        attrs: Some(&REDUCE),
        pattern: Some(OpPattern::CommReduce),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "prod",
        doc: "Product over the axes, all of them when `axis` is not given.",
        args: &["data"],
        attrs: Some(&REDUCE),
        pattern: Some(OpPattern::CommReduce),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "max",
        doc: "Largest element over the axes, all of them when `axis` is not given.",
        args: &["data"],
        attrs: Some(&REDUCE),
        pattern: Some(OpPattern::CommReduce),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "min",
        doc: "Smallest element over the axes, all of them when `axis` is not given.",
        args: &["data"],
        attrs: Some(&REDUCE),
        pattern: Some(OpPattern::CommReduce),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "all",
        doc: "Whether all elements over the axes are true.",
        args: &["data"],
        attrs: Some(&REDUCE),
        pattern: Some(OpPattern::CommReduce),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "any",
        doc: "Whether some element over the axes is true.",
        args: &["data"],
        attrs: Some(&REDUCE),
        pattern: Some(OpPattern::CommReduce),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "argmax",
        doc: "Index of the largest element over the axes.",
        args: &["data"],
        attrs: Some(&ARG_REDUCE),
        pattern: Some(OpPattern::CommReduce),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "argmin",
        doc: "Index of the smallest element over the axes.",
        args: &["data"],
        attrs: Some(&ARG_REDUCE),
        pattern: Some(OpPattern::CommReduce),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "variance",
        doc: "Variance over the axes around a mean that is given; `unbiased` divides by one less than the number of elements.",
        args: &["data", "mean"],
        attrs: Some(&VARIANCE),
        pattern: Some(OpPattern::CommReduce),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "collapse_sum_like",
        doc: "Sums over the axes that broadcasting added or stretched, so that the result has the shape of the second input.",
        args: &["data", "collapse_type"],
        pattern: Some(OpPattern::CommReduce),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "collapse_sum_to",
        doc: "Sums over the axes that broadcasting added or stretched, so that the result has the given shape.",
        args: &["data", "shape"],
        pattern: Some(OpPattern::CommReduce),
        ..OpInfo::BASE
    },
];
