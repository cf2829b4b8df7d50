//! Convolutions: `nn.conv1d`, `nn.conv2d`, `nn.conv3d` and the variants that share their attributes.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

/// Attributes `relay.attrs.Conv1DAttrs`.
pub static CONV1_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Conv1DAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("channels", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("kernel_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("OIW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.Conv2DAttrs`.
pub static CONV2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Conv2DAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("channels", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("kernel_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("OIHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.Conv3DAttrs`.
pub static CONV3_D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Conv3DAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0, 0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("channels", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("kernel_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("OIDHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.DeformableConv2DAttrs`.
pub static DEFORMABLE_CONV2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.DeformableConv2DAttrs",
    fields: &[
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("deformable_groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("channels", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("kernel_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("OIHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.conv1d",
        doc: "Slides a kernel over the width of `data`, optionally dilated and in groups of channels.",
        args: &["data", "weight"],
        attrs: Some(&CONV1_D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.conv2d",
        doc: "Slides a kernel over height and width of `data`. `groups` equal to the input channels makes it depthwise.",
        args: &["data", "weight"],
        attrs: Some(&CONV2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.conv3d",
        doc: "Slides a kernel over depth, height and width of `data`.",
        args: &["data", "weight"],
        attrs: Some(&CONV3_D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_conv2d_NCHWc",
        doc: "A 2-D convolution whose data and kernel have their channels split into an outer and an inner axis, as CPU schedules want them.",
        args: &["data", "weight"],
        attrs: Some(&CONV2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_depthwise_conv2d_NCHWc",
        doc: "A depthwise 2-D convolution with channels split into an outer and an inner axis.",
        args: &["data", "weight"],
        attrs: Some(&CONV2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.deformable_conv2d",
        doc: "A 2-D convolution that samples its input at places moved by `offset`, interpolating between elements.",
        args: &["data", "offset", "weight"],
        attrs: Some(&DEFORMABLE_CONV2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.conv2d_backward_weight",
        doc: "The gradient of a 2-D convolution with respect to its kernel. `kernel_size` names the extent of the result.",
        args: &["grad", "data"],
        attrs: Some(&CONV2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
];
