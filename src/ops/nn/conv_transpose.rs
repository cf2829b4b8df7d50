//! Transposed convolutions: the gradients of convolutions with respect to their input.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

/// Attributes `relay.attrs.Conv1DTransposeAttrs`.
pub static CONV1_DTRANSPOSE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Conv1DTransposeAttrs",
    fields: &[
        AttrField::new("channels", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("kernel_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("output_padding", AttrKind::Ints, AttrDefault::Ints(&[0])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("IOW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.Conv2DTransposeAttrs`.
pub static CONV2DTRANSPOSE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Conv2DTransposeAttrs",
    fields: &[
        AttrField::new("channels", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("kernel_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("output_padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("IOHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.Conv3DTransposeAttrs`.
pub static CONV3_DTRANSPOSE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Conv3DTransposeAttrs",
    fields: &[
        AttrField::new("channels", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("kernel_size", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("strides", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("output_padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0, 0])),
        AttrField::new("padding", AttrKind::Ints, AttrDefault::Ints(&[0, 0, 0])),
        AttrField::new("dilation", AttrKind::Ints, AttrDefault::Ints(&[1, 1, 1])),
        AttrField::new("groups", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("data_layout", AttrKind::Str, AttrDefault::Str("NCDHW")),
        AttrField::new("kernel_layout", AttrKind::Str, AttrDefault::Str("IODHW")),
        AttrField::new("out_layout", AttrKind::Str, AttrDefault::Str("")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.conv1d_transpose",
        doc: "A 1-D transposed convolution: each input element spreads the kernel over the output.",
        args: &["data", "weight"],
        attrs: Some(&CONV1_DTRANSPOSE),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.conv2d_transpose",
        doc: "A 2-D transposed convolution: each input element spreads the kernel over the output.",
        args: &["data", "weight"],
        attrs: Some(&CONV2DTRANSPOSE),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.conv3d_transpose",
        doc: "A 3-D transposed convolution: each input element spreads the kernel over the output.",
        args: &["data", "weight"],
        attrs: Some(&CONV3_DTRANSPOSE),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
];
