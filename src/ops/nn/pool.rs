//! Pooling with a window.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

/// Attributes `relay.attrs.MaxPool1DAttrs`.
pub static MAX_POOL1_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MaxPool1DAttrs",
    fields: &[
        AttrField::required("pool_size", AttrKind::Ints),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.MaxPool2DAttrs`.
pub static MAX_POOL2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MaxPool2DAttrs",
    fields: &[
        AttrField::required("pool_size", AttrKind::Ints),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.MaxPool3DAttrs`.
pub static MAX_POOL3_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MaxPool3DAttrs",
    fields: &[
        AttrField::required("pool_size", AttrKind::Ints),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0, 0])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.AvgPool1DAttrs`.
pub static AVG_POOL1_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AvgPool1DAttrs",
    fields: &[
        AttrField::required("pool_size", AttrKind::Ints),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("count_include_pad", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.AvgPool2DAttrs`.
pub static AVG_POOL2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AvgPool2DAttrs",
    fields: &[
        AttrField::required("pool_size", AttrKind::Ints),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("count_include_pad", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.AvgPool3DAttrs`.
pub static AVG_POOL3_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AvgPool3DAttrs",
    fields: &[
        AttrField::required("pool_size", AttrKind::Ints),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0, 0])),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("ceil_mode", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("count_include_pad", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.max_pool1d",
        doc: "The largest element of each window over the width.",
        args: &["data"],
        attrs: Some(&MAX_POOL1_D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.max_pool2d",
        doc: "The largest element of each window over height and width.",
        args: &["data"],
        attrs: Some(&MAX_POOL2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.max_pool3d",
        doc: "The largest element of each window over depth, height and width.",
        args: &["data"],
        attrs: Some(&MAX_POOL3_D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.avg_pool1d",
        doc: "The mean of each window over the width. Padding counts only with `count_include_pad`.",
        args: &["data"],
        attrs: Some(&AVG_POOL1_D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.avg_pool2d",
        doc: "The mean of each window over height and width. Padding counts only with `count_include_pad`.",
        args: &["data"],
        attrs: Some(&AVG_POOL2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.avg_pool3d",
        doc: "The mean of each window over depth, height and width. Padding counts only with `count_include_pad`.",
        args: &["data"],
        attrs: Some(&AVG_POOL3_D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.max_pool2d_grad",
        doc: "The gradient of `nn.max_pool2d`: each window sends its gradient to its largest element. The first input is the incoming gradient.",
        args: &["data", "grad"],
        attrs: Some(&MAX_POOL2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.avg_pool2d_grad",
        doc: "The gradient of `nn.avg_pool2d`: each window spreads its gradient evenly. The first input is the incoming gradient.",
        args: &["data", "grad"],
        attrs: Some(&MAX_POOL2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
];
