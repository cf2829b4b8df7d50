//! Morphology and sampling of images along a grid.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

/// Attributes `relay.attrs.Dilation2DAttrs`.
pub static DILATION2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Dilation2DAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("dilations", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("IHW")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.AffineGridAttrs`.
pub static AFFINE_GRID: AttrsSchema =
    AttrsSchema { key: "relay.attrs.AffineGridAttrs", fields: &[AttrField::required("target_shape", AttrKind::Ints)] };

/// Attributes `relay.attrs.GridSampleAttrs`.
pub static GRID_SAMPLE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.GridSampleAttrs",
    fields: &[
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("bilinear")),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("padding_mode", AttrKind::Str, AttrDefault::Str("zeros")),
        AttrField::new("align_corners", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "image.dilation2d",
        doc: "Greyscale dilation of images: the largest sum of window and kernel.",
        args: &["data", "weight"],
        attrs: Some(&DILATION2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "image.affine_grid",
        doc: "The sampling grid of an affine transformation.",
        args: &["data"],
        attrs: Some(&AFFINE_GRID),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "image.grid_sample",
        doc: "Samples images at the positions of a grid.",
        args: &["data", "grid"],
        attrs: Some(&GRID_SAMPLE),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
];
