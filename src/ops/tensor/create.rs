//! Operators that make a tensor from a shape or a scalar.

use crate::ops::tensor::arrange::INIT_OP;
use crate::ops::{AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

/// Attributes `relay.attrs.ArangeAttrs`.
pub static ARANGE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ArangeAttrs",
    fields: &[
        AttrField::required("start", AttrKind::Any),
        AttrField::required("stop", AttrKind::Any),
        AttrField::required("step", AttrKind::Any),
        AttrField::required("dtype", AttrKind::DType),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "zeros",
        doc: "Zeros in the given shape.",
        args: &[],
        attrs: Some(&INIT_OP),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "ones",
        doc: "Ones in the given shape.",
        args: &[],
        attrs: Some(&INIT_OP),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "full",
        doc: "A scalar repeated in the given shape.",
        args: &["fill_value"],
        attrs: Some(&INIT_OP),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "full_like",
        doc: "A scalar repeated in the shape and type of the first input.",
        args: &["data", "fill_value"],
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "arange",
        doc: "The numbers from `start` up to `stop` in steps of `step`.",
        args: &["start", "end", "step"],
        attrs: Some(&ARANGE),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
];
