//! Object detection: anchor boxes and suppression of overlapping ones.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

/// Attributes `relay.attrs.MultiBoxPriorAttrs`.
pub static MULTI_BOX_PRIOR: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MultiBoxPriorAttrs",
    fields: &[
        AttrField::new("sizes", AttrKind::Any, AttrDefault::Floats(&[1.0])),
        AttrField::new("ratios", AttrKind::Any, AttrDefault::Floats(&[1.0])),
        AttrField::new("steps", AttrKind::Any, AttrDefault::Floats(&[-1.0, -1.0])),
        AttrField::new("offsets", AttrKind::Any, AttrDefault::Floats(&[0.5, 0.5])),
        AttrField::new("clip", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.MultiBoxTransformLocAttrs`.
pub static MULTI_BOX_TRANSFORM_LOC: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MultiBoxTransformLocAttrs",
    fields: &[
        AttrField::new("clip", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("threshold", AttrKind::Float, AttrDefault::Float(0.01)),
        AttrField::new("variances", AttrKind::Any, AttrDefault::Floats(&[0.1, 0.1, 0.2, 0.2])),
        AttrField::new("keep_background", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.GetValidCountsAttrs`.
pub static GET_VALID_COUNTS: AttrsSchema = AttrsSchema {
    key: "relay.attrs.GetValidCountsAttrs",
    fields: &[
        AttrField::required("score_threshold", AttrKind::Any),
        AttrField::new("id_index", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("score_index", AttrKind::Int, AttrDefault::Int(1)),
    ],
};

/// Attributes `relay.attrs.NonMaximumSuppressionAttrs`.
pub static NON_MAXIMUM_SUPPRESSION: AttrsSchema = AttrsSchema {
    key: "relay.attrs.NonMaximumSuppressionAttrs",
    fields: &[
        AttrField::new("force_suppress", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("top_k", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("coord_start", AttrKind::Int, AttrDefault::Int(2)),
        AttrField::new("score_index", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("id_index", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("return_indices", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("invalid_to_bottom", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.AllClassNonMaximumSuppressionAttrs`.
pub static ALL_CLASS_NON_MAXIMUM_SUPPRESSION: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AllClassNonMaximumSuppressionAttrs",
    fields: &[AttrField::new("output_format", AttrKind::Str, AttrDefault::Str("onnx"))],
};

/// Attributes `relay.attrs.RegularNonMaximumSuppressionAttrs`.
pub static REGULAR_NON_MAXIMUM_SUPPRESSION: AttrsSchema = AttrsSchema {
    key: "relay.attrs.RegularNonMaximumSuppressionAttrs",
    fields: &[
        AttrField::required("max_detections_per_class", AttrKind::Int),
        AttrField::required("max_detections", AttrKind::Int),
        AttrField::required("num_classes", AttrKind::Int),
        AttrField::required("iou_threshold", AttrKind::Float),
        AttrField::required("score_threshold", AttrKind::Float),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "vision.multibox_prior",
        doc: "Anchor boxes for each position of a feature map.",
        args: &["data"],
        attrs: Some(&MULTI_BOX_PRIOR),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.multibox_transform_loc",
        doc: "Detections from class probabilities, box offsets and anchors.",
        args: &["cls_prob", "loc_pred", "anchor"],
        attrs: Some(&MULTI_BOX_TRANSFORM_LOC),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.get_valid_counts",
        doc: "Moves boxes above a score to the front and counts them.",
        args: &["data", "score_threshold"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.non_max_suppression",
        doc: "Removes boxes that overlap a better one.",
        args: &["data", "valid_count", "indices", "max_output_size", "iou_threshold"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.all_class_non_max_suppression",
        doc: "Removes boxes that overlap a better one, for each class on its own.",
        args: &["boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.regular_non_max_suppression",
        doc: "Removes boxes that overlap a better one, as TFLite's detection post-processing does.",
        args: &["boxes", "scores"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
];
