//! Sorting, searching and running totals.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

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
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "argsort",
        doc: "The indices that would sort along an axis.",
        args: &["data"],
        attrs: Some(&ARGSORT),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "topk",
        doc: "The `k` largest or smallest elements along an axis, their indices, or both.",
        args: &["data"],
        attrs: Some(&TOPK),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "searchsorted",
        doc: "Where each value would be inserted into a sorted sequence.",
        args: &["sorted_sequence", "values"],
        attrs: Some(&SEARCH_SORTED),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "cumsum",
        doc: "Running sums along an axis, of the flattened input when `axis` is not given.",
        args: &["data"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "cumprod",
        doc: "Running products along an axis, of the flattened input when `axis` is not given.",
        args: &["data"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "unique",
        doc: "The distinct elements of a vector, with indices, inverse indices and counts.",
        args: &["data"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
];
