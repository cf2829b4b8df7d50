//! Operators that pick elements by index.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern, identity};

/// Attributes `relay.attrs.TakeAttrs`.
pub static TAKE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.TakeAttrs",
    fields: &[
        AttrField::new("batch_dims", AttrKind::Integer, AttrDefault::Int(0)),
        AttrField::new("axis", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("mode", AttrKind::Str, AttrDefault::Str("clip")),
    ],
};

/// Attributes `relay.attrs.GatherAttrs`.
pub static GATHER: AttrsSchema =
    AttrsSchema { key: "relay.attrs.GatherAttrs", fields: &[AttrField::new("axis", AttrKind::Integer, AttrDefault::Null)] };

/// Attributes `relay.attrs.GatherNDAttrs`.
pub static GATHER_ND: AttrsSchema = AttrsSchema {
    key: "relay.attrs.GatherNDAttrs",
    fields: &[
        AttrField::new("batch_dims", AttrKind::Integer, AttrDefault::Int(0)),
        AttrField::new("index_rank", AttrKind::Integer, AttrDefault::Null),
    ],
};

/// Attributes `relay.attrs.OneHotAttrs`.
pub static ONE_HOT: AttrsSchema = AttrsSchema {
    key: "relay.attrs.OneHotAttrs",
    fields: &[
        AttrField::new("depth", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.SequenceMaskAttrs`.
pub static SEQUENCE_MASK: AttrsSchema = AttrsSchema {
    key: "relay.attrs.SequenceMaskAttrs",
    fields: &[
        AttrField::new("mask_value", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(0)),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "take",
        doc: "Picks elements or slices along an axis by index. `mode` says what becomes of an index out of range: `clip`, `wrap` or `fast`, which trusts it.",
        args: &["data", "indices"],
        attrs: Some(&TAKE),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "gather",
        doc: "Picks one element for each element of `indices` along an axis.",
        args: &["data", "indices"],
        attrs: Some(&GATHER),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "gather_nd",
        doc: "Picks elements or slices by index tuples that stand along the first axis of `indices`.",
        args: &["data", "indices"],
        attrs: Some(&GATHER_ND),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "adv_index",
        doc: "Indexes the first tensor of a tuple by the others, broadcast against each other, one for each leading axis.",
        args: &["inputs"],
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "argwhere",
        doc: "The indices of the elements that are not zero. Their number is known only when it runs.",
        args: &["condition"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "unravel_index",
        doc: "Converts flat indices into coordinates of the given shape.",
        args: &["data", "shape"],
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "where",
        doc: "Elements of `x` where the condition is true and of `y` elsewhere, with broadcasting.",
        args: &["condition", "x", "y"],
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "one_hot",
        doc: "`on_value` at the position each index names along a new axis, `off_value` elsewhere.",
        args: &["indices", "on_value", "off_value"],
        attrs: Some(&ONE_HOT),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "sequence_mask",
        doc: "Replaces the elements behind each sequence's valid length by `mask_value`.",
        args: &["data", "valid_length"],
        attrs: Some(&SEQUENCE_MASK),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "invert_permutation",
        doc: "The inverse of a permutation of 0 to n-1.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
];
