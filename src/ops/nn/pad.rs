//! Padding and dilation.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

/// Attributes `relay.attrs.PadAttrs`.
pub static PAD: AttrsSchema = AttrsSchema {
    key: "relay.attrs.PadAttrs",
    fields: &[
        AttrField::required("pad_width", AttrKind::Any),
        AttrField::new("pad_mode", AttrKind::Str, AttrDefault::Str("constant")),
    ],
};

/// Attributes `relay.attrs.MirrorPadAttrs`.
pub static MIRROR_PAD: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MirrorPadAttrs",
    fields: &[
        AttrField::new("mode", AttrKind::Str, AttrDefault::Str("SYMMETRIC")),
        AttrField::required("pad_width", AttrKind::Any),
    ],
};

/// Attributes `relay.attrs.DilateAttrs`.
pub static DILATE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.DilateAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("dilation_value", AttrKind::Float, AttrDefault::Float(0.0)),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.pad",
        doc: "Adds elements before and after along each axis: `pad_val`, the edge repeated, or the image mirrored, by `pad_mode`.",
        args: &["data", "pad_val"],
        attrs: Some(&PAD),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.mirror_pad",
        doc: "Pads with the mirror image of the data; `SYMMETRIC` repeats the edge itself, `REFLECT` does not.",
        args: &["data"],
        attrs: Some(&MIRROR_PAD),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.dilate",
        doc: "Spreads elements `strides` apart along each axis, with `dilation_value` between them.",
        args: &["x"],
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
];
