//! Activations, normalisation, attention, losses.

use super::{MixedPrecision, RelaxOp, deduce, gradient, layout, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.AttentionAttrs`.
pub static ATTENTION: AttrsSchema = AttrsSchema {
    key: "relax.attrs.AttentionAttrs",
    fields: &[
        AttrField::new("scale", AttrKind::Float, AttrDefault::Null),
        AttrField::new("causal_mask", AttrKind::Str, AttrDefault::Null),
        AttrField::new("window_size", AttrKind::Any, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.BatchNormAttrs`.
pub static BATCH_NORM: AttrsSchema = AttrsSchema {
    key: "relax.attrs.BatchNormAttrs",
    fields: &[
        AttrField::required("axis", AttrKind::Int),
        AttrField::new("epsilon", AttrKind::Float, AttrDefault::Float(1e-05)),
        AttrField::new("center", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("scale", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("momentum", AttrKind::Float, AttrDefault::Float(0.1)),
        AttrField::new("training", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relax.attrs.DropoutAttrs`.
pub static DROPOUT: AttrsSchema =
    AttrsSchema { key: "relax.attrs.DropoutAttrs", fields: &[AttrField::new("rate", AttrKind::Float, AttrDefault::Float(0.5))] };

/// Attributes `relax.attrs.GroupNormAttrs`.
pub static GROUP_NORM: AttrsSchema = AttrsSchema {
    key: "relax.attrs.GroupNormAttrs",
    fields: &[
        AttrField::required("num_groups", AttrKind::Int),
        AttrField::required("channel_axis", AttrKind::Int),
        AttrField::required("axes", AttrKind::Ints),
        AttrField::new("epsilon", AttrKind::Float, AttrDefault::Float(1e-05)),
        AttrField::new("center", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("scale", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relax.attrs.InstanceNormAttrs`.
pub static INSTANCE_NORM: AttrsSchema = AttrsSchema {
    key: "relax.attrs.InstanceNormAttrs",
    fields: &[
        AttrField::required("channel_axis", AttrKind::Int),
        AttrField::required("axes", AttrKind::Ints),
        AttrField::new("epsilon", AttrKind::Float, AttrDefault::Float(1e-05)),
        AttrField::new("center", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("scale", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relax.attrs.LayerNormAttrs`.
pub static LAYER_NORM: AttrsSchema = AttrsSchema {
    key: "relax.attrs.LayerNormAttrs",
    fields: &[
        AttrField::required("axes", AttrKind::Ints),
        AttrField::new("epsilon", AttrKind::Float, AttrDefault::Float(1e-05)),
        AttrField::new("center", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("scale", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relax.attrs.LeakyReluAttrs`.
pub static LEAKY_RELU: AttrsSchema = AttrsSchema {
    key: "relax.attrs.LeakyReluAttrs",
    fields: &[AttrField::new("alpha", AttrKind::Float, AttrDefault::Float(0.01))],
};

/// Attributes `relax.attrs.PadAttrs`.
pub static PAD: AttrsSchema = AttrsSchema {
    key: "relax.attrs.PadAttrs",
    fields: &[
        AttrField::required("pad_width", AttrKind::Ints),
        AttrField::new("pad_value", AttrKind::Float, AttrDefault::Float(0.0)),
        AttrField::new("pad_mode", AttrKind::Str, AttrDefault::Str("constant")),
    ],
};

/// Attributes `relax.attrs.PixelShuffleAttrs`.
pub static PIXEL_SHUFFLE: AttrsSchema =
    AttrsSchema { key: "relax.attrs.PixelShuffleAttrs", fields: &[AttrField::required("upscale_factor", AttrKind::Int)] };

/// Attributes `relax.attrs.PReluAttrs`.
pub static P_RELU: AttrsSchema =
    AttrsSchema { key: "relax.attrs.PReluAttrs", fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(1))] };

/// Attributes `relax.attrs.RMSNormAttrs`.
pub static RMS_NORM: AttrsSchema = AttrsSchema {
    key: "relax.attrs.RMSNormAttrs",
    fields: &[
        AttrField::new("axes", AttrKind::Ints, AttrDefault::Ints(&[-1])),
        AttrField::new("epsilon", AttrKind::Float, AttrDefault::Float(1e-05)),
    ],
};

/// Attributes `relax.attrs.SoftmaxAttrs`.
pub static SOFTMAX: AttrsSchema =
    AttrsSchema { key: "relax.attrs.SoftmaxAttrs", fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1))] };

/// Attributes `relax.attrs.SoftplusAttrs`.
pub static SOFTPLUS: AttrsSchema = AttrsSchema {
    key: "relax.attrs.SoftplusAttrs",
    fields: &[
        AttrField::new("beta", AttrKind::Float, AttrDefault::Float(1.0)),
        AttrField::new("threshold", AttrKind::Float, AttrDefault::Float(20.0)),
    ],
};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "nn.attention",
        deduce: Some(deduce::nn::attention),
        doc: "Attention: softmax of the scaled products of queries and keys, times values.",
        args: &[value("query"), value("key"), value("value")],
        attrs: Some(&ATTENTION),
        mixed_precision: Some(MixedPrecision::Always),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.attention_bias",
        deduce: Some(deduce::nn::attention),
        doc: "The same with a bias on the products.",
        args: &[value("query"), value("key"), value("value"), value("bias").or_none()],
        attrs: Some(&ATTENTION),
        mixed_precision: Some(MixedPrecision::Always),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.attention_var_len",
        deduce: Some(deduce::nn::attention_var_len),
        doc: "The same over sequences of different lengths, packed.",
        args: &[
            value("queries"),
            value("keys"),
            value("values"),
            value("seqstart_q"),
            value("max_seqlen_q"),
            value("seqstart_k").or_none(),
            value("max_seqlen_k").or_none(),
        ],
        attrs: Some(&ATTENTION),
        mixed_precision: Some(MixedPrecision::Always),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.batch_flatten",
        deduce: Some(deduce::nn::batch_flatten),
        relay: "nn.batch_flatten",
        args: &[value("data")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.batch_norm",
        deduce: Some(deduce::nn::batch_norm),
        doc: "Batch normalisation: the result, and the running mean and variance.",
        args: &[value("data"), value("gamma"), value("beta"), value("moving_mean"), value("moving_var")],
        attrs: Some(&BATCH_NORM),
        layout: Some(layout::nn::batch_norm),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.cross_entropy_with_logits",
        deduce: Some(deduce::nn::cross_entropy),
        doc: "The cross entropy of predictions and labels.",
        args: &[value("predictions"), value("labels")],
        gradient: Some(gradient::nn::cross_entropy_with_logits),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.dropout",
        deduce: Some(deduce::nn::dropout),
        doc: "The input and a mask; when running, the input.",
        args: &[value("data")],
        attrs: Some(&DROPOUT),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.gelu",
        deduce: Some(deduce::unary::float_arith),
        doc: "The Gaussian error linear unit.",
        args: &[value("data")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.gelu_tanh",
        deduce: Some(deduce::unary::float_arith),
        doc: "The same, approximated with `tanh`.",
        args: &[value("data")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.group_norm",
        deduce: Some(deduce::nn::norm),
        doc: "Group normalisation.",
        args: &[value("data"), value("gamma"), value("beta")],
        attrs: Some(&GROUP_NORM),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::nn::channel_norm),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.instance_norm",
        deduce: Some(deduce::nn::norm),
        doc: "Instance normalisation.",
        args: &[value("data"), value("gamma"), value("beta")],
        attrs: Some(&INSTANCE_NORM),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::nn::channel_norm),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.layer_norm",
        deduce: Some(deduce::nn::norm),
        doc: "Layer normalisation.",
        args: &[value("data"), value("gamma"), value("beta")],
        attrs: Some(&LAYER_NORM),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::nn::layer_norm),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.leakyrelu",
        deduce: Some(deduce::unary::float_arith),
        relay: "nn.leaky_relu",
        args: &[value("data")],
        attrs: Some(&LEAKY_RELU),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.log_softmax",
        deduce: Some(deduce::nn::softmax),
        doc: "The logarithm of softmax.",
        args: &[value("data")],
        attrs: Some(&SOFTMAX),
        gradient: Some(gradient::nn::log_softmax),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.nll_loss",
        deduce: Some(deduce::nn::nll_loss),
        doc: "The negative log likelihood loss.",
        args: &[value("predictions"), value("targets"), value("weights").or_none()],
        attrs: Some(&super::grad::NLL_LOSS),
        gradient: Some(gradient::nn::nll_loss),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.pad",
        deduce: Some(deduce::nn::pad),
        doc: "The tensor with a border.",
        args: &[value("data")],
        attrs: Some(&PAD),
        order: &["data", "pad_width", "pad_mode", "pad_value"],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.pixel_shuffle",
        deduce: Some(deduce::nn::pixel_shuffle),
        doc: "Channels become pixels.",
        args: &[value("data")],
        attrs: Some(&PIXEL_SHUFFLE),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.prelu",
        deduce: Some(deduce::nn::prelu),
        relay: "nn.prelu",
        args: &[value("data"), value("alpha")],
        attrs: Some(&P_RELU),
        layout: Some(layout::nn::prelu),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.relu",
        deduce: Some(deduce::unary::arith),
        relay: "nn.relu",
        args: &[value("data")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        gradient: Some(gradient::nn::relu),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.rms_norm",
        deduce: Some(deduce::nn::norm),
        doc: "Normalisation by the root of the mean square.",
        args: &[value("data"), value("weight")],
        attrs: Some(&RMS_NORM),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::nn::rms_norm),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.selu",
        deduce: Some(deduce::unary::float_arith),
        doc: "The scaled exponential linear unit.",
        args: &[value("data")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.silu",
        deduce: Some(deduce::unary::float_arith),
        doc: "The element times its sigmoid.",
        args: &[value("data")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        gradient: Some(gradient::nn::silu),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.softmax",
        deduce: Some(deduce::nn::softmax),
        doc: "Exponentials along `axis`, scaled to add up to one.",
        args: &[value("data")],
        attrs: Some(&SOFTMAX),
        layout: Some(layout::nn::softmax),
        gradient: Some(gradient::nn::softmax),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nn.softplus",
        deduce: Some(deduce::unary::float_arith),
        doc: "A smooth `relu`.",
        args: &[value("data")],
        attrs: Some(&SOFTPLUS),
        ..RelaxOp::BASE
    },
];
