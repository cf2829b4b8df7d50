//! Images.

use super::{MixedPrecision, RelaxOp, deduce, layout, shape, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.AffineGridAttrs`.
pub static AFFINE_GRID: AttrsSchema = AttrsSchema {
    key: "relax.attrs.AffineGridAttrs",
    fields: &[AttrField::new("align_corners", AttrKind::Bool, AttrDefault::Bool(true))],
};

/// Attributes `relax.attrs.GridSampleAttrs`.
pub static GRID_SAMPLE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.GridSampleAttrs",
    fields: &[
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("bilinear")),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("padding_mode", AttrKind::Str, AttrDefault::Str("zeros")),
        AttrField::new("align_corners", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relax.attrs.Resize2DAttrs`.
pub static RESIZE2D: AttrsSchema = AttrsSchema {
    key: "relax.attrs.Resize2DAttrs",
    fields: &[
        AttrField::new("roi", AttrKind::Any, AttrDefault::Null),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("linear")),
        AttrField::new("coordinate_transformation_mode", AttrKind::Str, AttrDefault::Str("half_pixel")),
        AttrField::new("rounding_method", AttrKind::Str, AttrDefault::Str("round")),
        AttrField::new("cubic_alpha", AttrKind::Float, AttrDefault::Float(-0.75)),
        AttrField::new("cubic_exclude", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("extrapolation_value", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.Resize3DAttrs`.
pub static RESIZE3D: AttrsSchema = AttrsSchema {
    key: "relax.attrs.Resize3DAttrs",
    fields: &[
        AttrField::new("roi", AttrKind::Any, AttrDefault::Null),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("method", AttrKind::Str, AttrDefault::Str("linear")),
        AttrField::new("coordinate_transformation_mode", AttrKind::Str, AttrDefault::Str("half_pixel")),
        AttrField::new("rounding_method", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("cubic_alpha", AttrKind::Float, AttrDefault::Float(-0.75)),
        AttrField::new("cubic_exclude", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("extrapolation_value", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::Null),
    ],
};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "image.affine_grid",
        deduce: Some(deduce::image::affine_grid),
        doc: "Where an affine map takes the points of a grid.",
        args: &[value("data"), shape("size")],
        attrs: Some(&AFFINE_GRID),
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "image.grid_sample",
        deduce: Some(deduce::image::grid_sample),
        doc: "Samples an image at the points of a grid.",
        args: &[value("data"), value("grid")],
        attrs: Some(&GRID_SAMPLE),
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "image.resize2d",
        deduce: Some(deduce::image::resize2d),
        doc: "Resizes an image.",
        args: &[value("data"), shape("size")],
        attrs: Some(&RESIZE2D),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::pool::resize),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "image.resize3d",
        deduce: Some(deduce::image::resize3d),
        doc: "Resizes a volume.",
        args: &[value("data"), shape("size")],
        attrs: Some(&RESIZE3D),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::pool::resize),
        ..RelaxOp::BASE
    },
];
