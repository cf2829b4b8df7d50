//! Pooling.

use super::{MixedPrecision, RelaxOp, deduce, gradient, layout, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.AdaptivePool1DAttrs`.
pub static ADAPTIVE_POOL1D: AttrsSchema = AttrsSchema {
    key: "relax.attrs.AdaptivePool1DAttrs",
    fields: &[
        AttrField::new("output_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.AdaptivePool2DAttrs`.
pub static ADAPTIVE_POOL2D: AttrsSchema = AttrsSchema {
    key: "relax.attrs.AdaptivePool2DAttrs",
    fields: &[
        AttrField::new("output_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.AdaptivePool3DAttrs`.
pub static ADAPTIVE_POOL3D: AttrsSchema = AttrsSchema {
    key: "relax.attrs.AdaptivePool3DAttrs",
    fields: &[
        AttrField::new("output_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.Pool1DAttrs`.
pub static POOL1D: AttrsSchema = AttrsSchema {
    key: "relax.attrs.Pool1DAttrs",
    fields: &[
        AttrField::new("pool_size", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("count_include_pad", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.Pool1DAttrs`.
pub static POOL1D_NN_MAX_POOL1D: AttrsSchema = AttrsSchema {
    key: "relax.attrs.Pool1DAttrs",
    fields: &[
        AttrField::new("pool_size", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("count_include_pad", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.Pool2DAttrs`.
pub static POOL2D_NN_AVG_POOL2D: AttrsSchema = AttrsSchema {
    key: "relax.attrs.Pool2DAttrs",
    fields: &[
        AttrField::new("pool_size", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("count_include_pad", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.Pool3DAttrs`.
pub static POOL3D: AttrsSchema = AttrsSchema {
    key: "relax.attrs.Pool3DAttrs",
    fields: &[
        AttrField::new("pool_size", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0, 0])),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("count_include_pad", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.Pool3DAttrs`.
pub static POOL3D_NN_MAX_POOL3D: AttrsSchema = AttrsSchema {
    key: "relax.attrs.Pool3DAttrs",
    fields: &[
        AttrField::new("pool_size", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0, 0])),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("count_include_pad", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Null),
    ],
};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "nn.adaptive_avg_pool1d",
        deduce: Some(deduce::pool::adaptive1d),
        relay: "nn.adaptive_avg_pool1d",
        args: &[value("data")],
        attrs: Some(&ADAPTIVE_POOL1D),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::pool::pool),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.adaptive_avg_pool2d",
        deduce: Some(deduce::pool::adaptive2d),
        relay: "nn.adaptive_avg_pool2d",
        args: &[value("data")],
        attrs: Some(&ADAPTIVE_POOL2D),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::pool::pool2d),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.adaptive_avg_pool3d",
        deduce: Some(deduce::pool::adaptive3d),
        relay: "nn.adaptive_avg_pool3d",
        args: &[value("data")],
        attrs: Some(&ADAPTIVE_POOL3D),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::pool::pool),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.avg_pool1d",
        deduce: Some(deduce::pool::pool1d),
        relay: "nn.avg_pool1d",
        args: &[value("data")],
        attrs: Some(&POOL1D),
        order: &["data", "pool_size", "strides", "padding", "dilation", "ceil_mode", "count_include_pad", "layout", "out_layout"],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::pool::pool),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.avg_pool2d",
        deduce: Some(deduce::pool::pool2d),
        relay: "nn.avg_pool2d",
        args: &[value("data")],
        attrs: Some(&POOL2D_NN_AVG_POOL2D),
        order: &["data", "pool_size", "strides", "padding", "dilation", "ceil_mode", "count_include_pad", "layout", "out_layout"],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::pool::pool2d),
        gradient: Some(gradient::nn::avg_pool2d),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.avg_pool3d",
        deduce: Some(deduce::pool::pool3d),
        relay: "nn.avg_pool3d",
        args: &[value("data")],
        attrs: Some(&POOL3D),
        order: &["data", "pool_size", "strides", "padding", "dilation", "ceil_mode", "count_include_pad", "layout", "out_layout"],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::pool::pool),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.max_pool1d",
        deduce: Some(deduce::pool::pool1d),
        relay: "nn.max_pool1d",
        args: &[value("data")],
        attrs: Some(&POOL1D_NN_MAX_POOL1D),
        order: &["data", "pool_size", "strides", "padding", "dilation", "ceil_mode", "count_include_pad", "layout", "out_layout"],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::pool::pool),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.max_pool2d",
        deduce: Some(deduce::pool::pool2d),
        relay: "nn.max_pool2d",
        args: &[value("data")],
        attrs: Some(&POOL2D_NN_AVG_POOL2D),
        order: &["data", "pool_size", "strides", "padding", "dilation", "ceil_mode", "count_include_pad", "layout", "out_layout"],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::pool::pool2d),
        gradient: Some(gradient::nn::max_pool2d),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.max_pool3d",
        deduce: Some(deduce::pool::pool3d),
        relay: "nn.max_pool3d",
        args: &[value("data")],
        attrs: Some(&POOL3D_NN_MAX_POOL3D),
        order: &["data", "pool_size", "strides", "padding", "dilation", "ceil_mode", "count_include_pad", "layout", "out_layout"],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::pool::pool),
        ..RelaxOp::BASE
    },
];
