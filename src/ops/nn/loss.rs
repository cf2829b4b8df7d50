//! Losses.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

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
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.cross_entropy_with_logits",
        doc: "The mean over the batch of the cross entropy between log-probabilities `x` and targets `y`.",
        args: &["x", "y"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.nll_loss",
        doc: "The negative log-likelihood of the target classes, weighted by class; `ignore_index` is left out.",
        args: &["predictions", "targets", "weights"],
        attrs: Some(&NLLLOSS),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
];
