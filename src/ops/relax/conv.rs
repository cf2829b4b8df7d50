//! Convolutions.

use super::{MixedPrecision, RelaxOp, deduce, gradient, layout, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.Conv1DAttrs`.
pub static CONV1D: AttrsSchema = AttrsSchema {
    key: "relax.attrs.Conv1DAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("OIW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.Conv1DTransposeAttrs`.
pub static CONV1D_TRANSPOSE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.Conv1DTransposeAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0])),
        AttrField::new("output_padding", AttrKind::Ints, AttrDefault::Ints(&[0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("IOW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.Conv2DAttrs`.
pub static CONV2D: AttrsSchema = AttrsSchema {
    key: "relax.attrs.Conv2DAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("OIHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.Conv2DTransposeAttrs`.
pub static CONV2D_TRANSPOSE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.Conv2DTransposeAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("output_padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("IOHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.Conv3DAttrs`.
pub static CONV3D: AttrsSchema = AttrsSchema {
    key: "relax.attrs.Conv3DAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0, 0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("OIDHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.Conv3DTransposeAttrs`.
pub static CONV3D_TRANSPOSE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.Conv3DTransposeAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0, 0])),
        AttrField::new("output_padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0, 0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("IODHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::Null),
    ],
};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "nn.conv1d",
        deduce: Some(deduce::conv::conv1d),
        relay: "nn.conv1d",
        args: &[value("data"), value("weight")],
        attrs: Some(&CONV1D),
        mixed_precision: Some(MixedPrecision::Always),
        layout: Some(layout::conv::conv1d),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.conv1d_transpose",
        deduce: Some(deduce::conv::conv1d_transpose),
        relay: "nn.conv1d_transpose",
        args: &[value("data"), value("weight")],
        attrs: Some(&CONV1D_TRANSPOSE),
        mixed_precision: Some(MixedPrecision::Always),
        layout: Some(layout::conv::conv1d),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.conv2d",
        deduce: Some(deduce::conv::conv2d),
        relay: "nn.conv2d",
        args: &[value("data"), value("weight")],
        attrs: Some(&CONV2D),
        mixed_precision: Some(MixedPrecision::Always),
        layout: Some(layout::conv::conv2d),
        gradient: Some(gradient::nn::conv2d),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.conv2d_transpose",
        deduce: Some(deduce::conv::conv2d_transpose),
        relay: "nn.conv2d_transpose",
        args: &[value("data"), value("weight")],
        attrs: Some(&CONV2D_TRANSPOSE),
        mixed_precision: Some(MixedPrecision::Always),
        layout: Some(layout::conv::conv2d_transpose),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.conv3d",
        deduce: Some(deduce::conv::conv3d),
        relay: "nn.conv3d",
        args: &[value("data"), value("weight")],
        attrs: Some(&CONV3D),
        mixed_precision: Some(MixedPrecision::Always),
        layout: Some(layout::conv::conv3d),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.conv3d_transpose",
        deduce: Some(deduce::conv::conv3d_transpose),
        relay: "nn.conv3d_transpose",
        args: &[value("data"), value("weight")],
        attrs: Some(&CONV3D_TRANSPOSE),
        mixed_precision: Some(MixedPrecision::Always),
        layout: Some(layout::conv::conv3d),
        ..RelaxOp::BASE
    },
];
