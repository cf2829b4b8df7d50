//! Convolutions over kernels that were transformed ahead of time: Winograd and GEMM forms.

use super::conv::{conv2d_any_kernel, conv3d_any_kernel};
use crate::ir::Dim;
use crate::ops::nn::conv::CONV2D;
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

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
        rule: Some(conv2d_any_kernel),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_conv2d_winograd_weight_transform",
        doc: "Transforms the kernel of a 2-D convolution for the Winograd algorithm with output tiles of `tile_size`.",
        args: &["weight"],
        attrs: Some(&CONV_WINOGRAD_WEIGHT_TRANSFORM),
        rule: Some(winograd2d_weight),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_conv3d_winograd_without_weight_transform",
        doc: "A 3-D convolution by the Winograd algorithm, given an already transformed kernel.",
        args: &["data", "weight"],
        attrs: Some(&CONV3_DWINOGRAD),
        rule: Some(conv3d_any_kernel),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_conv3d_winograd_weight_transform",
        doc: "Transforms the kernel of a 3-D convolution for the Winograd algorithm with output tiles of `tile_size`.",
        args: &["weight"],
        attrs: Some(&CONV_WINOGRAD_WEIGHT_TRANSFORM),
        rule: Some(winograd3d_weight),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_conv2d_winograd_nnpack_weight_transform",
        doc: "Transforms a 3x3 kernel into the 8x8 form that NNPACK reads.",
        args: &["weight"],
        attrs: Some(&CONV2DWINOGRAD_NNPACKWEIGHT_TRANSFORM),
        rule: Some(nnpack_weight),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_conv2d_gemm_without_weight_transform",
        doc: "A 2-D convolution computed as one matrix product, given a kernel already blocked into tiles.",
        args: &["data", "weight"],
        attrs: Some(&CONV2D),
        rule: Some(gemm),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_conv2d_gemm_weight_transform",
        doc: "Flattens the kernel of a 2-D convolution into a matrix and blocks it into tiles of `tile_N` by `tile_K`.",
        args: &["weights"],
        attrs: Some(&CONV_GEMM_WEIGHT_TRANSFORM),
        rule: Some(gemm_weight),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
];

/// TVM's `Conv2DWinogradWeightTransformRel`.
fn winograd2d_weight(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    if shape.len() != 4 {
        return Err("Only support NCHW normal kernel layout".into());
    }
    let [height, width] = [2, 3].map(|i| tile(cx, shape[i]));
    cx.output_tensor(&[height, width, shape[0], shape[1]], dtype)
}

/// TVM's `Conv3DWinogradWeightTransformRel`. The depth is transformed too when it is 3 to 7.
fn winograd3d_weight(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    if shape.len() != 5 {
        return Err("Only support NCDHW normal kernel layout".into());
    }
    let Some(depth) = shape[2].known() else {
        return Err("the depth of the kernel must be known".into());
    };
    let [d, h, w] = [2, 3, 4].map(|i| tile(cx, shape[i]));
    let spatial = if (3..8).contains(&depth) { [d, h, w] } else { [h, w, shape[2]] };
    cx.output_tensor(&[spatial[0], spatial[1], spatial[2], shape[0], shape[1]], dtype)
}

fn tile(cx: &mut RuleCx<'_>, extent: Dim) -> Dim {
    let size = Dim::int(cx.attr_int("tile_size"));
    let sum = cx.add(size, extent);
    cx.sub(sum, Dim::int(1))
}

/// TVM's `Conv2DWinogradNNPACKWeightTransformRel`.
fn nnpack_weight(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    if shape.len() != 4 {
        return Err("Only support NCHW normal kernel layout".into());
    }
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&[shape[0], shape[1], Dim::int(8), Dim::int(8)], dtype)
}

/// TVM's `Conv2DGemmRel`.
fn gemm(cx: &mut RuleCx<'_>) -> RuleResult {
    conv2d_any_kernel(cx)
}

/// TVM's `Conv2DGemmWeightTransformRel`: the matrix is padded to whole tiles.
fn gemm_weight(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    if shape.len() != 4 {
        return Err("Only support HWIO kernel layout".into());
    }
    let (n, k) = (cx.attr_int("tile_N"), cx.attr_int("tile_K"));
    let rows = cx.mul(shape[0], shape[1]);
    let rows = cx.mul(rows, shape[2]);
    let (Some(rows), Some(columns)) = (rows.known(), shape[3].known()) else {
        return Err("the kernel of a GEMM convolution must have a known shape".into());
    };
    if n <= 0 || k <= 0 {
        return Err("tile_N and tile_K must be positive".into());
    }
    let padded = |extent: i64, multiple: i64| (extent + multiple - 1) / multiple * multiple;
    let (across, down) = (padded(columns, n) / n, padded(rows, 4 * k) / k);
    let bytes = dtype.bits == 8 && !dtype.is_float();
    let inner = if bytes { [n, k] } else { [k, n] };
    cx.output_tensor(&[across, down, inner[0], inner[1]].map(Dim::int), dtype)
}
