//! Object detection: anchor boxes and suppression of overlapping ones.

use super::detect_kernels as kernels;
use crate::ir::{AttrValue, DType, Dim, TypeId};
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

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
        rule: Some(multibox_prior_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(kernels::multibox_prior),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.multibox_transform_loc",
        doc: "Detections from class probabilities, box offsets and anchors.",
        args: &["cls_prob", "loc_pred", "anchor"],
        attrs: Some(&MULTI_BOX_TRANSFORM_LOC),
        rule: Some(multibox_transform_loc_rule),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.get_valid_counts",
        doc: "Moves boxes above a score to the front and counts them.",
        args: &["data", "score_threshold"],
        rule: Some(get_valid_counts_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(kernels::get_valid_counts),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.non_max_suppression",
        doc: "Removes boxes that overlap a better one.",
        args: &["data", "valid_count", "indices", "max_output_size", "iou_threshold"],
        rule: Some(non_max_suppression_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(kernels::non_max_suppression),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.all_class_non_max_suppression",
        doc: "Removes boxes that overlap a better one, for each class on its own.",
        args: &["boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold"],
        rule: Some(all_class_non_max_suppression_rule),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vision.regular_non_max_suppression",
        doc: "Removes boxes that overlap a better one, as TFLite's detection post-processing does.",
        args: &["boxes", "scores"],
        rule: Some(regular_non_max_suppression_rule),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
];

/// How many elements a list attribute has.
fn length(cx: &RuleCx<'_>, name: &str) -> i64 {
    match cx.store.attr(cx.attrs, name) {
        Some(AttrValue::Array(items)) => items.len() as i64,
        _ => 0,
    }
}

/// Demands that the output is a tuple of those tensors, and is done.
fn output_tuple(cx: &mut RuleCx<'_>, fields: &[(&[Dim], DType)]) -> RuleResult {
    let fields: Vec<TypeId> = fields.iter().map(|(shape, dtype)| cx.store.tensor_type(shape, *dtype)).collect();
    let tuple = cx.store.tuple_type(&fields);
    cx.output(tuple)
}

pub(super) fn multibox_prior_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    ensure!(shape.len() == 4, "Input data should be 4D: [batch, channel, height, width]");
    let boxes = length(cx, "sizes") + length(cx, "ratios") - 1;
    let places = cx.mul(shape[2], shape[3]);
    let all = cx.mul(places, Dim::int(boxes));
    cx.output_tensor(&[Dim::int(1), all, Dim::int(4)], dtype)
}

fn multibox_transform_loc_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (classes, dtype) = input!(cx, 0);
    let (offsets, _) = input!(cx, 1);
    let (anchors, _) = input!(cx, 2);
    ensure!(classes.len() == 3, "The dimension of class probability should be 3, but received {}", classes.len());
    ensure!(offsets.len() == 2, "The dimension of location prediction should be 2, but received {}", offsets.len());
    ensure!(anchors.len() == 3, "The dimension of anchor should be 3, but received {}", anchors.len());
    ensure!(cx.may_equal(classes[2], anchors[1]), "Number of anchors mismatch found");
    let coordinates = cx.mul(classes[2], Dim::int(4));
    ensure!(cx.may_equal(coordinates, offsets[1]), "# anchors mismatch with # loc.");
    ensure!(anchors[1].known() != Some(0), "Number of anchors must > 0.");
    ensure!(cx.may_equal(anchors[2], Dim::int(4)), "an anchor has four coordinates");
    output_tuple(cx, &[(&[classes[0], anchors[1], Dim::int(6)], dtype), (&[classes[0]], DType::I32)])
}

fn get_valid_counts_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    ensure!(shape.len() == 3, "Input data should be 3-D.");
    output_tuple(cx, &[(&shape[..1], DType::I32), (&shape, dtype), (&shape[..2], DType::I32)])
}

fn non_max_suppression_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (counts, _) = input!(cx, 1);
    ensure!(shape.len() == 3, "Input data should be 3-D.");
    ensure!(counts.len() == 1, "Input valid count should be 1-D.");
    if cx.attr_flag("return_indices") {
        return output_tuple(cx, &[(&shape[..2], DType::I32), (&[shape[0], Dim::int(1)], DType::I32)]);
    }
    cx.output_tensor(&shape, dtype)
}

fn all_class_non_max_suppression_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (boxes, _) = input!(cx, 0);
    let (scores, _) = input!(cx, 1);
    ensure!(boxes.len() == 3, "Input boxes should be 3-D.");
    ensure!(scores.len() == 3, "Input scores count should be 3-D.");
    let per_image = if boxes[1] == Dim::Any { Dim::Any } else { cx.mul(scores[1], boxes[1]) };
    if cx.attr_text("output_format") == "onnx" {
        let all = cx.mul(boxes[0], per_image);
        return output_tuple(cx, &[(&[all, Dim::int(3)], DType::I64), (&[Dim::int(1)], DType::I64)]);
    }
    let batch = boxes[0];
    let indices = [batch, per_image, Dim::int(2)];
    output_tuple(cx, &[(&indices, DType::I64), (&indices[..2], DType::F32), (&[batch], DType::I64)])
}

fn regular_non_max_suppression_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (boxes, _) = input!(cx, 0);
    let (scores, _) = input!(cx, 1);
    ensure!(boxes.len() == 3, "Input boxes should be 3-D.");
    ensure!(scores.len() == 3, "Input scores count should be 3-D.");
    let found = [boxes[0], Dim::int(cx.attr_int("max_detections")), Dim::int(4)];
    let fields = [(&found[..], DType::F32), (&found[..2], DType::F32), (&found[..2], DType::F32), (&found[..1], DType::I32)];
    output_tuple(cx, &fields)
}
