//! Rearrangements between channels, batch and space, and upsampling.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

/// Attributes `relay.attrs.SubPixelAttrs`.
pub static SUB_PIXEL: AttrsSchema = AttrsSchema {
    key: "relay.attrs.SubPixelAttrs",
    fields: &[
        AttrField::new("block_size", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("mode", AttrKind::Str, AttrDefault::Str("DCR")),
    ],
};

/// Attributes `relay.attrs.SpaceToBatchNDAttrs`.
pub static SPACE_TO_BATCH_ND: AttrsSchema = AttrsSchema {
    key: "relay.attrs.SpaceToBatchNDAttrs",
    fields: &[
        AttrField::new("block_shape", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::required("paddings", AttrKind::Any),
        AttrField::new("pad_value", AttrKind::Float, AttrDefault::Float(0.0)),
    ],
};

/// Attributes `relay.attrs.BatchToSpaceNDAttrs`.
pub static BATCH_TO_SPACE_ND: AttrsSchema = AttrsSchema {
    key: "relay.attrs.BatchToSpaceNDAttrs",
    fields: &[
        AttrField::new("block_shape", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::required("crops", AttrKind::Any),
    ],
};

/// Attributes `relay.attrs.UpSamplingAttrs`.
pub static UP_SAMPLING: AttrsSchema = AttrsSchema {
    key: "relay.attrs.UpSamplingAttrs",
    fields: &[
        AttrField::required("scale_h", AttrKind::Float),
        AttrField::required("scale_w", AttrKind::Float),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("nearest_neighbor")),
        AttrField::new("align_corners", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.UpSampling3DAttrs`.
pub static UP_SAMPLING3_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.UpSampling3DAttrs",
    fields: &[
        AttrField::required("scale_d", AttrKind::Float),
        AttrField::required("scale_h", AttrKind::Float),
        AttrField::required("scale_w", AttrKind::Float),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("nearest_neighbor")),
        AttrField::new("coordinate_transformation_mode", AttrKind::Str, AttrDefault::Str("half_pixel")),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.depth_to_space",
        doc: "Moves channels into square blocks of `block_size` in height and width.",
        args: &["data"],
        attrs: Some(&SUB_PIXEL),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.space_to_depth",
        doc: "Moves square blocks of `block_size` in height and width into channels.",
        args: &["data"],
        attrs: Some(&SUB_PIXEL),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.space_to_batch_nd",
        doc: "Pads the spatial axes and moves blocks of them into the batch.",
        args: &["data"],
        attrs: Some(&SPACE_TO_BATCH_ND),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.batch_to_space_nd",
        doc: "Moves parts of the batch into blocks of the spatial axes and crops them.",
        args: &["data"],
        attrs: Some(&BATCH_TO_SPACE_ND),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.upsampling",
        doc: "Enlarges height and width by `scale_h` and `scale_w`.",
        args: &["data"],
        attrs: Some(&UP_SAMPLING),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.upsampling3d",
        doc: "Enlarges depth, height and width by `scale_d`, `scale_h` and `scale_w`.",
        args: &["data"],
        attrs: Some(&UP_SAMPLING3_D),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
];
