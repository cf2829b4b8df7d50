//! Pooling over regions of interest, proposals, and YOLO's reorganisation.

use super::region_kernels as kernels;
use crate::ir::Dim;
use crate::ops::relax::deduce;
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrDefault, AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.ROIAlignAttrs`.
pub static ROI_ALIGN: AttrsSchema = schema(
    "relay.attrs.ROIAlignAttrs",
    &[
        field::required("pooled_size", AttrKind::Ints),
        field::required("spatial_scale", AttrKind::Float),
        field::int("sample_ratio", -1),
        field::text("layout", "NCHW"),
        field::text("mode", "avg"),
    ],
);

/// Attributes `relay.attrs.ROIPoolAttrs`.
pub static ROI_POOL: AttrsSchema = schema(
    "relay.attrs.ROIPoolAttrs",
    &[
        field::required("pooled_size", AttrKind::Ints),
        field::required("spatial_scale", AttrKind::Float),
        field::text("layout", "NCHW"),
    ],
);

/// Attributes `relay.attrs.ProposalAttrs`.
pub static PROPOSAL: AttrsSchema = schema(
    "relay.attrs.ProposalAttrs",
    &[
        field::with("scales", AttrKind::Any, AttrDefault::Floats(&[4.0, 8.0, 16.0, 32.0])),
        field::with("ratios", AttrKind::Any, AttrDefault::Floats(&[0.5, 1.0, 2.0])),
        field::int("feature_stride", 16),
        field::float("threshold", 0.7),
        field::int("rpn_pre_nms_top_n", 6000),
        field::int("rpn_post_nms_top_n", 300),
        field::int("rpn_min_size", 16),
        field::flag("iou_loss", false),
    ],
);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("vision.roi_align", "Pools regions of interest with bilinear sampling.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(kernels::roi_align)
        .relay(relay(&["data", "rois"], roi_rule))
        .relax(
            relax(&[value("data"), value("rois")], deduce::vision::regions)
                .attrs(&schema(
                    "relax.attrs.ROIAlignAttrs",
                    &[
                        field::required("pooled_size", AttrKind::Ints),
                        field::required("spatial_scale", AttrKind::Float),
                        field::int("sample_ratio", -1),
                        field::flag("aligned", false),
                        field::text("layout", "NCHW"),
                        field::text("mode", "avg"),
                    ],
                ))
                .follows(),
        ),
    op("vision.roi_pool", "Pools regions of interest by their largest elements.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(kernels::roi_pool)
        .relay(relay(&["data", "rois"], roi_rule))
        .relax(
            relax(&[value("data"), value("rois")], deduce::vision::regions)
                .attrs(&schema(
                    "relax.attrs.ROIPoolAttrs",
                    &[
                        field::required("pooled_size", AttrKind::Ints),
                        field::required("spatial_scale", AttrKind::Float),
                        field::text("layout", "NCHW"),
                    ],
                ))
                .follows(),
        ),
    op("vision.proposal", "Region proposals from class probabilities and box offsets.")
        .pattern(OpPattern::Opaque)
        .relay(relay(&["cls_prob", "bbox_pred", "im_info"], proposal_rule)),
    op("vision.yolo_reorg", "Moves blocks of `stride` by `stride` positions into channels.")
        .pattern(OpPattern::Injective)
        .kernel(kernels::yolo_reorg)
        .relay(relay(&["data"], yolo_reorg_rule).attrs(&schema("relay.attrs.YoloReorgAttrs", &[field::integer("stride", 1)]))),
];

pub(super) fn roi_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (rois, _) = input!(cx, 1);
    ensure!(shape.len() == 4, "Input data should be 4-D.");
    ensure!(rois.len() == 2, "Input rois should be 2-D.");
    let size = cx.attr_dims_of("pooled_size", 2)?;
    let out = match cx.attr_text("layout") {
        "NCHW" => [rois[0], shape[1], size[0], size[1]],
        "NHWC" => [rois[0], size[0], size[1], shape[3]],
        layout => return Err(format!("pooling of regions does not support {layout} layout")),
    };
    cx.output_tensor(&out, dtype)
}

fn proposal_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (classes, dtype) = input!(cx, 0);
    let (boxes, _) = input!(cx, 1);
    let (info, _) = input!(cx, 2);
    ensure!(classes.len() == 4, "The dimension of class probability should be 4, but received {}", classes.len());
    ensure!(boxes.len() == 4, "The dimension of box prediction should be 4, but received {}", boxes.len());
    ensure!(info.len() == 2, "The dimension of image info should be 2, but received {}", info.len());
    ensure!(cx.may_equal(info[1], Dim::int(3)), "an image is described by three numbers");
    let all = cx.mul(classes[0], Dim::int(cx.attr_int("rpn_post_nms_top_n")));
    cx.output_tensor(&[all, Dim::int(5)], dtype)
}

pub(super) fn yolo_reorg_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    ensure!(shape.len() == 4, "Yolo reorg supports only 4 dimension.");
    let stride = cx.attr_int("stride");
    ensure!(stride > 0, "yolo_reorg needs a positive stride, but got {stride}");
    let wide = cx.mul(shape[1], Dim::int(stride));
    let channels = cx.mul(wide, Dim::int(stride));
    let (height, width) = (cx.div(shape[2], Dim::int(stride)), cx.div(shape[3], Dim::int(stride)));
    cx.output_tensor(&[shape[0], channels, height, width], dtype)
}
