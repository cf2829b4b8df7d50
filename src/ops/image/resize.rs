//! Resizing images.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

/// Attributes `relay.attrs.Resize1DAttrs`.
pub static RESIZE1D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Resize1DAttrs",
    fields: &[
        AttrField::new("size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("roi", AttrKind::Any, AttrDefault::Null),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("linear")),
        AttrField::new("coordinate_transformation_mode", AttrKind::Str, AttrDefault::Str("half_pixel")),
        AttrField::new("rounding_method", AttrKind::Str, AttrDefault::Str("round")),
        AttrField::new("cubic_alpha", AttrKind::Float, AttrDefault::Float(-0.5)),
        AttrField::new("cubic_exclude", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("extrapolation_value", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.Resize2DAttrs`.
pub static RESIZE2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Resize2DAttrs",
    fields: &[
        AttrField::new("size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("roi", AttrKind::Any, AttrDefault::Null),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("linear")),
        AttrField::new("coordinate_transformation_mode", AttrKind::Str, AttrDefault::Str("half_pixel")),
        AttrField::new("rounding_method", AttrKind::Str, AttrDefault::Str("round")),
        AttrField::new("cubic_alpha", AttrKind::Float, AttrDefault::Float(-0.5)),
        AttrField::new("cubic_exclude", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("extrapolation_value", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.Resize3DAttrs`.
pub static RESIZE3D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Resize3DAttrs",
    fields: &[
        AttrField::new("size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("roi", AttrKind::Any, AttrDefault::Null),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("linear")),
        AttrField::new("coordinate_transformation_mode", AttrKind::Str, AttrDefault::Str("half_pixel")),
        AttrField::new("rounding_method", AttrKind::Str, AttrDefault::Str("round")),
        AttrField::new("cubic_alpha", AttrKind::Float, AttrDefault::Float(-0.5)),
        AttrField::new("cubic_exclude", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("extrapolation_value", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.CropAndResizeAttrs`.
pub static CROP_AND_RESIZE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.CropAndResizeAttrs",
    fields: &[
        AttrField::new("crop_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("bilinear")),
        AttrField::new("extrapolation_value", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "image.resize1d",
        doc: "Resizes the width of a sequence, by nearest neighbour, linear or cubic interpolation.",
        args: &["data"],
        attrs: Some(&RESIZE1D),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "image.resize2d",
        doc: "Resizes images, by nearest neighbour, linear or cubic interpolation.",
        args: &["data"],
        attrs: Some(&RESIZE2D),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "image.resize3d",
        doc: "Resizes volumes, by nearest neighbour, linear or cubic interpolation.",
        args: &["data"],
        attrs: Some(&RESIZE3D),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "image.crop_and_resize",
        doc: "Cuts boxes out of images and resizes them to one size.",
        args: &["data", "boxes", "box_indices"],
        attrs: Some(&CROP_AND_RESIZE),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
];
