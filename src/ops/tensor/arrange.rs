//! Operators that move whole axes or tensors: transpose, concatenate, split and their kin.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

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
        AttrField::required("indices_or_sections", AttrKind::Any),
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
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "concatenate",
        doc: "Joins the tensors of a tuple along an axis.",
        args: &["data"],
        attrs: Some(&CONCATENATE),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "stack",
        doc: "Joins the tensors of a tuple along a new axis.",
        args: &["data"],
        attrs: Some(&STACK),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "split",
        doc: "Cuts a tensor along an axis into equal sections or at the given indices. The result is a tuple.",
        args: &["data"],
        attrs: Some(&SPLIT),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "repeat",
        doc: "Repeats each element along an axis, of the flattened input when `axis` is not given.",
        args: &["data"],
        attrs: Some(&REPEAT),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "tile",
        doc: "Repeats the whole tensor `reps` times along each axis.",
        args: &["data"],
        attrs: Some(&TILE),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "reverse",
        doc: "Reverses the order of the elements along an axis.",
        args: &["data"],
        attrs: Some(&REVERSE),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "reverse_sequence",
        doc: "Reverses the first `seq_lengths[i]` elements along `seq_axis` for each index `i` of `batch_axis`.",
        args: &["data", "seq_lengths"],
        attrs: Some(&REVERSE_SEQUENCE),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "broadcast_to",
        doc: "Broadcasts the input to a shape.",
        args: &["data"],
        attrs: Some(&INIT_OP),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "broadcast_to_like",
        doc: "Broadcasts the first input to the shape of the second.",
        args: &["data", "broadcast_type"],
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "meshgrid",
        doc: "Coordinate grids made of the vectors in a tuple.",
        args: &["data"],
        attrs: Some(&MESHGRID),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
];
