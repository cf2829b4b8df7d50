//! Object detection: anchor boxes and suppression of overlapping ones.

use super::detect_kernels as kernels;
use crate::ir::{AttrValue, DType, Dim, TypeId};
use crate::ops::relax::deduce;
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrDefault, AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.GetValidCountsAttrs`.
pub static GET_VALID_COUNTS: AttrsSchema = schema(
    "relay.attrs.GetValidCountsAttrs",
    &[field::required("score_threshold", AttrKind::Any), field::int("id_index", 0), field::int("score_index", 1)],
);

/// Attributes `relay.attrs.NonMaximumSuppressionAttrs`.
pub static NON_MAXIMUM_SUPPRESSION: AttrsSchema = schema(
    "relay.attrs.NonMaximumSuppressionAttrs",
    &[
        field::flag("force_suppress", false),
        field::int("top_k", -1),
        field::int("coord_start", 2),
        field::int("score_index", 1),
        field::int("id_index", 0),
        field::flag("return_indices", true),
        field::flag("invalid_to_bottom", false),
    ],
);

/// Attributes `relay.attrs.AllClassNonMaximumSuppressionAttrs`.
pub static ALL_CLASS_NON_MAXIMUM_SUPPRESSION: AttrsSchema =
    schema("relay.attrs.AllClassNonMaximumSuppressionAttrs", &[field::text("output_format", "onnx")]);

/// Attributes `relay.attrs.RegularNonMaximumSuppressionAttrs`.
pub static REGULAR_NON_MAXIMUM_SUPPRESSION: AttrsSchema = schema(
    "relay.attrs.RegularNonMaximumSuppressionAttrs",
    &[
        field::required("max_detections_per_class", AttrKind::Int),
        field::required("max_detections", AttrKind::Int),
        field::required("num_classes", AttrKind::Int),
        field::required("iou_threshold", AttrKind::Float),
        field::required("score_threshold", AttrKind::Float),
    ],
);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("vision.multibox_prior", "Anchor boxes for each position of a feature map.")
        .pattern(OpPattern::Opaque)
        .kernel(kernels::multibox_prior)
        .relay(relay(&["data"], multibox_prior_rule).attrs(&schema(
            "relay.attrs.MultiBoxPriorAttrs",
            &[
                field::with("sizes", AttrKind::Any, AttrDefault::Floats(&[1.0])),
                field::with("ratios", AttrKind::Any, AttrDefault::Floats(&[1.0])),
                field::with("steps", AttrKind::Any, AttrDefault::Floats(&[-1.0, -1.0])),
                field::with("offsets", AttrKind::Any, AttrDefault::Floats(&[0.5, 0.5])),
                field::flag("clip", false),
            ],
        ))),
    op("vision.multibox_transform_loc", "Detections from class probabilities, box offsets and anchors.")
        .pattern(OpPattern::Opaque)
        .relay(relay(&["cls_prob", "loc_pred", "anchor"], multibox_transform_loc_rule).attrs(&schema(
            "relay.attrs.MultiBoxTransformLocAttrs",
            &[
                field::flag("clip", true),
                field::float("threshold", 0.01),
                field::with("variances", AttrKind::Any, AttrDefault::Floats(&[0.1, 0.1, 0.2, 0.2])),
                field::flag("keep_background", false),
            ],
        )))
        .relax(relax(&[value("cls_pred"), value("loc_pred"), value("anchor")], deduce::vision::multibox).attrs(&schema(
            "relax.attrs.MultiboxTransformLocAttrs",
            &[
                field::flag("clip", false),
                field::float("threshold", 0.0),
                field::with("variances", AttrKind::Any, AttrDefault::Floats(&[1.0, 1.0, 1.0, 1.0])),
                field::flag("keep_background", true),
                field::flag("apply_softmax", true),
            ],
        ))),
    op("vision.get_valid_counts", "Moves boxes above a score to the front and counts them.")
        .pattern(OpPattern::Opaque)
        .kernel(kernels::get_valid_counts)
        .relay(relay(&["data", "score_threshold"], get_valid_counts_rule))
        .relax(relax(&[value("data")], deduce::vision::valid_counts).attrs(&schema(
            "relax.attrs.GetValidCountsAttrs",
            &[field::float("score_threshold", 0.0), field::int("id_index", 0), field::int("score_index", 1)],
        ))),
    op("vision.non_max_suppression", "Removes boxes that overlap a better one.")
        .pattern(OpPattern::Opaque)
        .kernel(kernels::non_max_suppression)
        .relay(relay(&["data", "valid_count", "indices", "max_output_size", "iou_threshold"], non_max_suppression_rule))
        .relax(relax(&[value("data"), value("valid_count"), value("indices")], deduce::vision::suppression).attrs(&schema(
            "relax.attrs.NonMaximumSuppressionAttrs",
            &[
                field::int("max_output_size", -1),
                field::float("iou_threshold", 0.5),
                field::flag("force_suppress", false),
                field::int("top_k", -1),
                field::int("coord_start", 2),
                field::int("score_index", 1),
                field::int("id_index", 0),
                field::flag("return_indices", true),
                field::flag("invalid_to_bottom", false),
                field::float("soft_nms_sigma", 0.0),
                field::float("score_threshold", 0.0),
            ],
        ))),
    op("vision.all_class_non_max_suppression", "Removes boxes that overlap a better one, for each class on its own.")
        .pattern(OpPattern::Opaque)
        .relay(relay(
            &["boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold"],
            all_class_non_max_suppression_rule,
        ))
        .relax(
            relax(
                &[
                    value("boxes"),
                    value("scores"),
                    value("max_output_boxes_per_class"),
                    value("iou_threshold"),
                    value("score_threshold"),
                ],
                deduce::vision::suppression_by_class,
            )
            .attrs(&schema("relax.attrs.AllClassNonMaximumSuppressionAttrs", &[field::text("output_format", "onnx")])),
        ),
    op(
        "vision.regular_non_max_suppression",
        "Removes boxes that overlap a better one, as TFLite's detection post-processing does.",
    )
    .pattern(OpPattern::Opaque)
    .relay(relay(&["boxes", "scores"], regular_non_max_suppression_rule)),
];

/// Returns the number of elements of a list attribute.
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
