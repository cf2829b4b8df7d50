//! Pooling over regions of interest, proposals, and YOLO's reorganisation.

use super::region_kernels as kernels;
use crate::ir::Dim;
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.YoloReorgAttrs`.
pub static YOLO_REORG: AttrsSchema = AttrsSchema {
    key: "relay.attrs.YoloReorgAttrs",
    fields: &[AttrField::new("stride", AttrKind::Integer, AttrDefault::Int(1))],
};

/// Attributes `relay.attrs.ROIAlignAttrs`.
pub static ROI_ALIGN: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ROIAlignAttrs",
    fields: &[
        AttrField::required("pooled_size", AttrKind::Ints),
        AttrField::required("spatial_scale", AttrKind::Float),
        AttrField::new("sample_ratio", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("mode", AttrKind::Str, AttrDefault::Str("avg")),
    ],
};

/// Attributes `relay.attrs.ROIPoolAttrs`.
pub static ROI_POOL: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ROIPoolAttrs",
    fields: &[
        AttrField::required("pooled_size", AttrKind::Ints),
        AttrField::required("spatial_scale", AttrKind::Float),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
    ],
};

/// Attributes `relay.attrs.ProposalAttrs`.
pub static PROPOSAL: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ProposalAttrs",
    fields: &[
        AttrField::new("scales", AttrKind::Any, AttrDefault::Floats(&[4.0, 8.0, 16.0, 32.0])),
        AttrField::new("ratios", AttrKind::Any, AttrDefault::Floats(&[0.5, 1.0, 2.0])),
        AttrField::new("feature_stride", AttrKind::Int, AttrDefault::Int(16)),
        AttrField::new("threshold", AttrKind::Float, AttrDefault::Float(0.7)),
        AttrField::new("rpn_pre_nms_top_n", AttrKind::Int, AttrDefault::Int(6000)),
        AttrField::new("rpn_post_nms_top_n", AttrKind::Int, AttrDefault::Int(300)),
        AttrField::new("rpn_min_size", AttrKind::Int, AttrDefault::Int(16)),
        AttrField::new("iou_loss", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "vision.roi_align",
        doc: "Pools regions of interest with bilinear sampling.",
        args: &["data", "rois"],
        rule: Some(roi_rule),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(kernels::roi_align),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.roi_pool",
        doc: "Pools regions of interest by their largest elements.",
        args: &["data", "rois"],
        rule: Some(roi_rule),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(kernels::roi_pool),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.proposal",
        doc: "Region proposals from class probabilities and box offsets.",
        args: &["cls_prob", "bbox_pred", "im_info"],
        rule: Some(proposal_rule),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.yolo_reorg",
        doc: "Moves blocks of `stride` by `stride` positions into channels.",
        args: &["data"],
        attrs: Some(&YOLO_REORG),
        rule: Some(yolo_reorg_rule),
        pattern: Some(OpPattern::Injective),
        kernel: Some(kernels::yolo_reorg),
        ..OpInfo::BASE
    },
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
