//! Pooling over regions of interest, proposals, and YOLO's reorganisation.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

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
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.roi_pool",
        doc: "Pools regions of interest by their largest elements.",
        args: &["data", "rois"],
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.proposal",
        doc: "Region proposals from class probabilities and box offsets.",
        args: &["cls_prob", "bbox_pred", "im_info"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.yolo_reorg",
        doc: "Moves blocks of `stride` by `stride` positions into channels.",
        args: &["data"],
        attrs: Some(&YOLO_REORG),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
];
