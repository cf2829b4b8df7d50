//! Random numbers from a key (`random.*`).

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

/// Attributes `relay.attrs.ThreefryGenerateAttrs`.
pub static THREEFRY_GENERATE: AttrsSchema =
    AttrsSchema { key: "relay.attrs.ThreefryGenerateAttrs", fields: &[AttrField::required("out_shape", AttrKind::Ints)] };

/// Attributes `relay.attrs.UniformAttrs`.
pub static UNIFORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.UniformAttrs",
    fields: &[
        AttrField::required("out_shape", AttrKind::Ints),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.NormalAttrs`.
pub static NORMAL: AttrsSchema = AttrsSchema {
    key: "relay.attrs.NormalAttrs",
    fields: &[
        AttrField::required("out_shape", AttrKind::Ints),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.MultinomialAttrs`.
pub static MULTINOMIAL: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MultinomialAttrs",
    fields: &[AttrField::new("num_samples", AttrKind::Integer, AttrDefault::Int(1))],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "random.threefry_generate",
        doc: "Random bits from a key, and the next key.",
        args: &["key"],
        attrs: Some(&THREEFRY_GENERATE),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "random.threefry_split",
        doc: "Two independent keys from one.",
        args: &["key"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "random.uniform",
        doc: "Uniformly distributed numbers from a key, and the next key.",
        args: &["key", "low", "high"],
        attrs: Some(&UNIFORM),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "random.normal",
        doc: "Normally distributed numbers from a key, and the next key.",
        args: &["key", "mean", "scale"],
        attrs: Some(&NORMAL),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "random.multinomial",
        doc: "Indices drawn with the given probabilities, and the next key.",
        args: &["key", "probs"],
        attrs: Some(&MULTINOMIAL),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
];
