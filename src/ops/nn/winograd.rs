//! Convolutions over kernels that were transformed ahead of time: Winograd and GEMM forms.

use super::conv::{conv2d_any_kernel, conv3d_any_kernel};
use crate::ir::Dim;
use crate::ops::nn::conv::CONV2D;
use crate::ops::row::{op, relay};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.ConvWinogradWeightTransformAttrs`.
pub static CONV_WINOGRAD_WEIGHT_TRANSFORM: AttrsSchema =
    schema("relay.attrs.ConvWinogradWeightTransformAttrs", &[field::required("tile_size", AttrKind::Int)]);

/// The attributes of a convolution over a kernel that is transformed already, for as many axes as there are strides.
macro_rules! convolution {
    ($ones:expr, $zeros:expr, $layout:literal, $kernel_layout:literal) => {
        [
            field::required("tile_size", AttrKind::Int),
            field::ints("strides", &$ones),
            field::ints("padding", &$zeros),
            field::ints("dilation", &$ones),
            field::int("groups", 1),
            field::or_none("channels", AttrKind::Integer),
            field::or_none("kernel_size", AttrKind::Ints),
            field::text("data_layout", $layout),
            field::text("kernel_layout", $kernel_layout),
            field::text("out_layout", ""),
            field::dtype("out_dtype", ""),
        ]
    };
}

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op(
        "nn.contrib_conv2d_winograd_without_weight_transform",
        "A 2-D convolution by the Winograd algorithm, given an already transformed kernel.",
    )
    .pattern(OpPattern::OutEWiseFusable)
    .relay(
        relay(&["data", "weight"], conv2d_any_kernel)
            .attrs(&schema("relay.attrs.Conv2DWinogradAttrs", &convolution!([1, 1], [0, 0], "NCHW", "OIHW"))),
    ),
    op(
        "nn.contrib_conv2d_winograd_weight_transform",
        "Transforms the kernel of a 2-D convolution for the Winograd algorithm with output tiles of \
         `tile_size`.",
    )
    .pattern(OpPattern::OutEWiseFusable)
    .relay(relay(&["weight"], winograd2d_weight).attrs(&CONV_WINOGRAD_WEIGHT_TRANSFORM)),
    op(
        "nn.contrib_conv3d_winograd_without_weight_transform",
        "A 3-D convolution by the Winograd algorithm, given an already transformed kernel.",
    )
    .pattern(OpPattern::OutEWiseFusable)
    .relay(
        relay(&["data", "weight"], conv3d_any_kernel)
            .attrs(&schema("relay.attrs.Conv3DWinogradAttrs", &convolution!([1, 1, 1], [0, 0, 0], "NCDHW", "OIDHW"))),
    ),
    op(
        "nn.contrib_conv3d_winograd_weight_transform",
        "Transforms the kernel of a 3-D convolution for the Winograd algorithm with output tiles of \
         `tile_size`.",
    )
    .pattern(OpPattern::OutEWiseFusable)
    .relay(relay(&["weight"], winograd3d_weight).attrs(&CONV_WINOGRAD_WEIGHT_TRANSFORM)),
    op("nn.contrib_conv2d_winograd_nnpack_weight_transform", "Transforms a 3x3 kernel into the 8x8 form that NNPACK reads.")
        .pattern(OpPattern::Opaque)
        .relay(relay(&["weight"], nnpack_weight).attrs(&schema(
            "relay.attrs.Conv2DWinogradNNPACKWeightTransformAttrs",
            &[field::required("convolution_algorithm", AttrKind::Int), field::dtype("out_dtype", "")],
        ))),
    op(
        "nn.contrib_conv2d_gemm_without_weight_transform",
        "A 2-D convolution computed as one matrix product, given a kernel already blocked into tiles.",
    )
    .pattern(OpPattern::OutEWiseFusable)
    .relay(relay(&["data", "weight"], gemm).attrs(&CONV2D)),
    op(
        "nn.contrib_conv2d_gemm_weight_transform",
        "Flattens the kernel of a 2-D convolution into a matrix and blocks it into tiles of `tile_N` by \
         `tile_K`.",
    )
    .pattern(OpPattern::OutEWiseFusable)
    .relay(relay(&["weights"], gemm_weight).attrs(&schema(
        "relay.attrs.ConvGemmWeightTransformAttrs",
        &[field::required("tile_N", AttrKind::Int), field::required("tile_K", AttrKind::Int)],
    ))),
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
