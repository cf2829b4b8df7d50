//! Operators that change the shape and keep the elements in order.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

/// Attributes `relay.attrs.ReshapeAttrs`.
pub static RESHAPE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ReshapeAttrs",
    fields: &[
        AttrField::required("newshape", AttrKind::Ints),
        AttrField::new("allowzero", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.ReshapeLikeAttrs`.
pub static RESHAPE_LIKE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ReshapeLikeAttrs",
    fields: &[
        AttrField::new("lhs_begin", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("lhs_end", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("rhs_begin", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("rhs_end", AttrKind::Integer, AttrDefault::Null),
    ],
};

/// Attributes `relay.attrs.ExpandDimsAttrs`.
pub static EXPAND_DIMS: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ExpandDimsAttrs",
    fields: &[AttrField::required("axis", AttrKind::Int), AttrField::new("num_newaxis", AttrKind::Int, AttrDefault::Int(1))],
};

/// Attributes `relay.attrs.SqueezeAttrs`.
pub static SQUEEZE: AttrsSchema =
    AttrsSchema { key: "relay.attrs.SqueezeAttrs", fields: &[AttrField::required("axis", AttrKind::Ints)] };

/// Attributes `relay.attrs.ShapeOfAttrs`.
pub static SHAPE_OF: AttrsSchema =
    AttrsSchema { key: "relay.attrs.ShapeOfAttrs", fields: &[AttrField::new("dtype", AttrKind::DType, AttrDefault::DType(""))] };

/// Attributes `relay.attrs.NdarraySizeAttrs`.
pub static NDARRAY_SIZE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.NdarraySizeAttrs",
    fields: &[AttrField::new("dtype", AttrKind::DType, AttrDefault::DType(""))],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "reshape",
        doc: "The same elements in a new shape. In `newshape`, 0 copies an extent, -1 is inferred, -2 copies all that are left, -3 merges two, -4 splits one into the two that follow.",
        args: &["data"],
        attrs: Some(&RESHAPE),
        pattern: Some(OpPattern::Injective),
        reshape: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "reshape_like",
        doc: "The first input in the shape of the second, for all axes or for a range of them.",
        args: &["data", "shape_like"],
        attrs: Some(&RESHAPE_LIKE),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "contrib_reverse_reshape",
        doc: "Like `reshape`, with the special values of `newshape` matched from the right.",
        args: &["data"],
        attrs: Some(&RESHAPE),
        pattern: Some(OpPattern::Injective),
        reshape: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "expand_dims",
        doc: "Inserts `num_newaxis` axes of extent 1 at `axis`.",
        args: &["data"],
        attrs: Some(&EXPAND_DIMS),
        pattern: Some(OpPattern::Broadcast),
        reshape: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "squeeze",
        doc: "Removes the axes of extent 1, or those listed in `axis`.",
        args: &["data"],
        attrs: Some(&SQUEEZE),
        pattern: Some(OpPattern::Injective),
        reshape: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "shape_of",
        doc: "The shape of the input as a tensor of rank 1.",
        args: &["data"],
        attrs: Some(&SHAPE_OF),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "ndarray_size",
        doc: "The number of elements of the input.",
        args: &["data"],
        attrs: Some(&NDARRAY_SIZE),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
];
