//! Losses.

use crate::ir::DTypeCode;
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.NLLLossAttrs`.
pub static NLLLOSS: AttrsSchema = AttrsSchema {
    key: "relay.attrs.NLLLossAttrs",
    fields: &[
        AttrField::new("reduction", AttrKind::Str, AttrDefault::Str("mean")),
        AttrField::required("ignore_index", AttrKind::Int),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.cross_entropy",
        doc: "The mean over the batch of the cross entropy between probabilities `x` and targets `y`.",
        args: &["x", "y"],
        rule: Some(cross_entropy),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.cross_entropy_with_logits",
        doc: "The mean over the batch of the cross entropy between log-probabilities `x` and targets `y`.",
        args: &["x", "y"],
        rule: Some(cross_entropy),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.nll_loss",
        doc: "The negative log-likelihood of the target classes, weighted by class; `ignore_index` is left out.",
        args: &["predictions", "targets", "weights"],
        attrs: Some(&NLLLOSS),
        rule: Some(nll_loss),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
];

/// TVM's `CrossEntropyRel`: a scalar.
fn cross_entropy(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((x, dtype)), Some((y, _))) = (cx.tensor(0), cx.tensor(1)) else { return Ok(false) };
    let fits = x.len() == 2 && y.len() == 2 && cx.may_equal(x[0], y[0]) && cx.may_equal(x[1], y[1]);
    if !fits {
        return Err(format!(
            "CrossEntropy: shapes of x and y is inconsistent, x shape = {}, y shape = {}",
            cx.show(&x),
            cx.show(&y)
        ));
    }
    cx.output_tensor(&[], dtype)
}

/// TVM's `NLLLossRel`.
fn nll_loss(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((predictions, dtype)), Some((targets, target_dtype)), Some((weights, weight_dtype))) =
        (cx.tensor(0), cx.tensor(1), cx.tensor(2))
    else {
        return Ok(false);
    };
    if predictions.len() != targets.len() + 1 {
        return Err(format!(
            "NLLLossRel: predictions should be one dimension larger than targets,predictions shape = {}, targets shape \
             = {}",
            cx.show(&predictions),
            cx.show(&targets)
        ));
    }
    if weights.len() != 1 {
        return Err(format!(
            "NLLLossRel: weights should be a one dimension Tensor with its length the number of classes, but Tensor of \
             dimension {} were provided.",
            weights.len()
        ));
    }
    if predictions.len() < 2 || !cx.may_equal(predictions[1], weights[0]) {
        return Err(format!(
            "NLLLossRel: the second dimension of predictions should be the number of classes, which is the length of \
             weights, predictions shape = {}, weights shape = {}",
            cx.show(&predictions),
            cx.show(&weights)
        ));
    }
    if dtype != weight_dtype || !dtype.is_float() {
        return Err("NLLLossRel: predictions and weights should be of the same floating type.".into());
    }
    if target_dtype.code != DTypeCode::Int {
        return Err("NLLLossRel: targets should be of int type.".into());
    }
    let out = if cx.attr_text("reduction") == "none" { targets } else { Vec::new() };
    cx.output_tensor(&out, dtype)
}
