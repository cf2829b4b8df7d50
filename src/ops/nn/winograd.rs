//! Convolutions over kernels that were transformed ahead of time: Winograd and GEMM forms.

use crate::ops::nn::conv::CONV2D;
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

/// Attributes `relay.attrs.Conv2DWinogradAttrs`.
pub static CONV2DWINOGRAD: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Conv2DWinogradAttrs",
    fields: &[
        AttrField::required("tile_size", AttrKind::Int),
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

/// Attributes `relay.attrs.ConvWinogradWeightTransformAttrs`.
pub static CONV_WINOGRAD_WEIGHT_TRANSFORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ConvWinogradWeightTransformAttrs",
    fields: &[AttrField::required("tile_size", AttrKind::Int)],
};

/// Attributes `relay.attrs.Conv3DWinogradAttrs`.
pub static CONV3_DWINOGRAD: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Conv3DWinogradAttrs",
    fields: &[
        AttrField::required("tile_size", AttrKind::Int),
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

/// Attributes `relay.attrs.Conv2DWinogradNNPACKWeightTransformAttrs`.
pub static CONV2DWINOGRAD_NNPACKWEIGHT_TRANSFORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.Conv2DWinogradNNPACKWeightTransformAttrs",
    fields: &[
        AttrField::required("convolution_algorithm", AttrKind::Int),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.ConvGemmWeightTransformAttrs`.
pub static CONV_GEMM_WEIGHT_TRANSFORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ConvGemmWeightTransformAttrs",
    fields: &[AttrField::required("tile_N", AttrKind::Int), AttrField::required("tile_K", AttrKind::Int)],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.contrib_conv2d_winograd_without_weight_transform",
        doc: "A 2-D convolution by the Winograd algorithm, given an already transformed kernel.",
        args: &["data", "weight"],
        attrs: Some(&CONV2DWINOGRAD),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_conv2d_winograd_weight_transform",
        doc: "Transforms the kernel of a 2-D convolution for the Winograd algorithm with output tiles of `tile_size`.",
        args: &["weight"],
        attrs: Some(&CONV_WINOGRAD_WEIGHT_TRANSFORM),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_conv3d_winograd_without_weight_transform",
        doc: "A 3-D convolution by the Winograd algorithm, given an already transformed kernel.",
        args: &["data", "weight"],
        attrs: Some(&CONV3_DWINOGRAD),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_conv3d_winograd_weight_transform",
        doc: "Transforms the kernel of a 3-D convolution for the Winograd algorithm with output tiles of `tile_size`.",
        args: &["weight"],
        attrs: Some(&CONV_WINOGRAD_WEIGHT_TRANSFORM),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_conv2d_winograd_nnpack_weight_transform",
        doc: "Transforms a 3x3 kernel into the 8x8 form that NNPACK reads.",
        args: &["weight"],
        attrs: Some(&CONV2DWINOGRAD_NNPACKWEIGHT_TRANSFORM),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_conv2d_gemm_without_weight_transform",
        doc: "A 2-D convolution computed as one matrix product, given a kernel already blocked into tiles.",
        args: &["data", "weight"],
        attrs: Some(&CONV2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_conv2d_gemm_weight_transform",
        doc: "Flattens the kernel of a 2-D convolution into a matrix and blocks it into tiles of `tile_N` by `tile_K`.",
        args: &["weights"],
        attrs: Some(&CONV_GEMM_WEIGHT_TRANSFORM),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
];
