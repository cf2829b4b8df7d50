//! Operators that take or set a regular part of a tensor.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

/// Attributes `relay.attrs.StridedSliceAttrs`.
pub static STRIDED_SLICE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.StridedSliceAttrs",
    fields: &[
        AttrField::required("begin", AttrKind::Ints),
        AttrField::required("end", AttrKind::Ints),
        AttrField::required("strides", AttrKind::Ints),
        AttrField::new("slice_mode", AttrKind::Str, AttrDefault::Str("end")),
        AttrField::required("axes", AttrKind::Ints),
    ],
};

/// Attributes `relay.attrs.SliceLikeAttrs`.
pub static SLICE_LIKE: AttrsSchema =
    AttrsSchema { key: "relay.attrs.SliceLikeAttrs", fields: &[AttrField::required("axes", AttrKind::Ints)] };

/// Attributes `relay.attrs.SlidingWindowAttrs`.
pub static SLIDING_WINDOW: AttrsSchema = AttrsSchema {
    key: "relay.attrs.SlidingWindowAttrs",
    fields: &[
        AttrField::required("axis", AttrKind::Int),
        AttrField::required("window_shape", AttrKind::Ints),
        AttrField::required("strides", AttrKind::Ints),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "strided_slice",
        doc: "The part of a tensor from `begin` to `end` in steps of `strides`. With `slice_mode=\"size\"`, `end` holds sizes and the steps are 1.",
        args: &["data"],
        attrs: Some(&STRIDED_SLICE),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "strided_set",
        doc: "The first input with the part from `begin` to `end` in steps of `strides` replaced by `v`.",
        args: &["data", "v", "begin", "end", "strides"],
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "slice_like",
        doc: "Cuts the first input to the extents of the second, on the given axes or on all of them.",
        args: &["data", "shape_like"],
        attrs: Some(&SLICE_LIKE),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "sliding_window",
        doc: "Windows of `window_shape` slid over the axes from `axis` on, in steps of `strides`, as new axes at the end.",
        args: &["data"],
        attrs: Some(&SLIDING_WINDOW),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
];
