//! Activations, softmax and bias.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

/// Attributes `relay.attrs.LeakyReluAttrs`.
pub static LEAKY_RELU: AttrsSchema = AttrsSchema {
    key: "relay.attrs.LeakyReluAttrs",
    fields: &[AttrField::new("alpha", AttrKind::Float, AttrDefault::Float(0.25))],
};

/// Attributes `relay.attrs.PReluAttrs`.
pub static PRELU: AttrsSchema =
    AttrsSchema { key: "relay.attrs.PReluAttrs", fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(1))] };

/// Attributes `relay.attrs.SoftmaxAttrs`.
pub static SOFTMAX: AttrsSchema =
    AttrsSchema { key: "relay.attrs.SoftmaxAttrs", fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1))] };

/// Attributes `relay.attrs.BiasAddAttrs`.
pub static BIAS_ADD: AttrsSchema =
    AttrsSchema { key: "relay.attrs.BiasAddAttrs", fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(1))] };

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.relu",
        doc: "The larger of zero and the element.",
        args: &["data"],
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.leaky_relu",
        doc: "The element, multiplied by `alpha` where it is negative.",
        args: &["data"],
        attrs: Some(&LEAKY_RELU),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.prelu",
        doc: "The element, multiplied by the `alpha` of its channel where it is not positive.",
        args: &["data", "alpha"],
        attrs: Some(&PRELU),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.softmax",
        doc: "Exponentials along `axis`, scaled to add up to one.",
        args: &["data"],
        attrs: Some(&SOFTMAX),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.fast_softmax",
        doc: "`nn.softmax` with an approximate exponential.",
        args: &["data"],
        attrs: Some(&SOFTMAX),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.log_softmax",
        doc: "Logarithm of the softmax along `axis`.",
        args: &["data"],
        attrs: Some(&SOFTMAX),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.bias_add",
        doc: "Adds a one-dimensional `bias` along `axis`.",
        args: &["data", "bias"],
        attrs: Some(&BIAS_ADD),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.batch_flatten",
        doc: "Flattens all axes behind the first one into one.",
        args: &["data"],
        pattern: Some(OpPattern::Injective),
        reshape: true,
        ..OpInfo::BASE
    },
];
