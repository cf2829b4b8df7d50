//! Detection.

use super::{MixedPrecision, RelaxOp, deduce, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.AllClassNonMaximumSuppressionAttrs`.
pub static ALL_CLASS_NON_MAXIMUM_SUPPRESSION: AttrsSchema = AttrsSchema {
    key: "relax.attrs.AllClassNonMaximumSuppressionAttrs",
    fields: &[AttrField::new("output_format", AttrKind::Str, AttrDefault::Str("onnx"))],
};

/// Attributes `relax.attrs.GetValidCountsAttrs`.
pub static GET_VALID_COUNTS: AttrsSchema = AttrsSchema {
    key: "relax.attrs.GetValidCountsAttrs",
    fields: &[
        AttrField::new("score_threshold", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("id_index", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("score_index", AttrKind::Int, AttrDefault::Int(1)),
    ],
};

/// Attributes `relax.attrs.MultiboxTransformLocAttrs`.
pub static MULTIBOX_TRANSFORM_LOC: AttrsSchema = AttrsSchema {
    key: "relax.attrs.MultiboxTransformLocAttrs",
    fields: &[
        AttrField::new("clip", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("threshold", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("variances", AttrKind::Any, AttrDefault::Floats(&[1.0, 1.0, 1.0, 1.0])),
        AttrField::new("keep_background", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("apply_softmax", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relax.attrs.NonMaximumSuppressionAttrs`.
pub static NON_MAXIMUM_SUPPRESSION: AttrsSchema = AttrsSchema {
    key: "relax.attrs.NonMaximumSuppressionAttrs",
    fields: &[
        AttrField::new("max_output_size", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("iou_threshold", AttrKind::Float, AttrDefault::Float(0.5)),
        AttrField::new("force_suppress", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("top_k", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("coord_start", AttrKind::Int, AttrDefault::Int(2)),
        AttrField::new("score_index", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("id_index", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("return_indices", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("invalid_to_bottom", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("soft_nms_sigma", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("score_threshold", AttrKind::Float, AttrDefault::Float(0.0)),
    ],
};

/// Attributes `relax.attrs.ROIAlignAttrs`.
pub static ROI_ALIGN: AttrsSchema = AttrsSchema {
    key: "relax.attrs.ROIAlignAttrs",
    fields: &[
        AttrField::required("pooled_size", AttrKind::Ints),
        AttrField::required("spatial_scale", AttrKind::Float),
        AttrField::new("sample_ratio", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("aligned", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
        AttrField::new("mode", AttrKind::Str, AttrDefault::Str("avg")),
    ],
};

/// Attributes `relax.attrs.ROIPoolAttrs`.
pub static ROI_POOL: AttrsSchema = AttrsSchema {
    key: "relax.attrs.ROIPoolAttrs",
    fields: &[
        AttrField::required("pooled_size", AttrKind::Ints),
        AttrField::required("spatial_scale", AttrKind::Float),
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NCHW")),
    ],
};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "vision.all_class_non_max_suppression",
        doc: "Boxes that do not overlap better ones, for each class.",
        args: &[
            value("boxes"),
            value("scores"),
            value("max_output_boxes_per_class"),
            value("iou_threshold"),
            value("score_threshold"),
        ],
        attrs: Some(&ALL_CLASS_NON_MAXIMUM_SUPPRESSION),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "vision.get_valid_counts",
        deduce: Some(deduce::vision::valid_counts),
        doc: "Boxes with a score above a threshold.",
        args: &[value("data")],
        attrs: Some(&GET_VALID_COUNTS),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "vision.multibox_transform_loc",
        deduce: Some(deduce::vision::multibox),
        doc: "Boxes from anchors and predictions.",
        args: &[value("cls_pred"), value("loc_pred"), value("anchor")],
        attrs: Some(&MULTIBOX_TRANSFORM_LOC),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "vision.non_max_suppression",
        deduce: Some(deduce::vision::suppression),
        doc: "Boxes that do not overlap better ones.",
        args: &[value("data"), value("valid_count"), value("indices")],
        attrs: Some(&NON_MAXIMUM_SUPPRESSION),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "vision.roi_align",
        deduce: Some(deduce::vision::regions),
        doc: "Regions of interest, sampled.",
        args: &[value("data"), value("rois")],
        attrs: Some(&ROI_ALIGN),
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "vision.roi_pool",
        deduce: Some(deduce::vision::regions),
        doc: "Regions of interest, pooled.",
        args: &[value("data"), value("rois")],
        attrs: Some(&ROI_POOL),
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
];
