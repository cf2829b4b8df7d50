//! Normalisations and dropout.

use super::norm_kernel;
use crate::ops::relax::{deduce, layout};
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult, identity};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op(
        "nn.batch_norm",
        "Normalises each channel, scales by `gamma` and adds `beta`, with the given mean and variance unless \
         training. The result is a tuple: data, mean, variance.",
    )
    .pattern(OpPattern::OutEWiseFusable)
    .kernel(norm_kernel::batch_norm)
    .relay(relay(&["data", "gamma", "beta", "moving_mean", "moving_var"], batch_norm).attrs(&schema(
        "relay.attrs.BatchNormAttrs",
        &[field::int("axis", 1), field::float("epsilon", 1e-05), field::flag("center", true), field::flag("scale", true)],
    )))
    .relax(
        relax(&[value("data"), value("gamma"), value("beta"), value("moving_mean"), value("moving_var")], deduce::nn::batch_norm)
            .attrs(&schema(
                "relax.attrs.BatchNormAttrs",
                &[
                    field::required("axis", AttrKind::Int),
                    field::float("epsilon", 1e-05),
                    field::flag("center", true),
                    field::flag("scale", true),
                    field::float("momentum", 0.1),
                    field::flag("training", true),
                ],
            ))
            .layout(layout::nn::batch_norm),
    ),
    op(
        "nn.layer_norm",
        "Normalises with the mean and variance along one axis, in Relax along several, scales by `gamma` and \
         adds `beta`.",
    )
    .kernel(norm_kernel::layer_norm)
    .relay(relay(&["data", "gamma", "beta"], channel_norm).attrs(&schema(
        "relay.attrs.LayerNormAttrs",
        &[field::int("axis", -1), field::float("epsilon", 1e-05), field::flag("center", true), field::flag("scale", true)],
    )))
    .relax(
        relax(&[value("data"), value("gamma"), value("beta")], deduce::checks::norm)
            .attrs(&schema(
                "relax.attrs.LayerNormAttrs",
                &[
                    field::required("axes", AttrKind::Ints),
                    field::float("epsilon", 1e-05),
                    field::flag("center", true),
                    field::flag("scale", true),
                ],
            ))
            .follows()
            .layout(layout::nn::layer_norm),
    ),
    op(
        "nn.instance_norm",
        "Normalises each channel of each batch item with its own mean and variance, scales by `gamma` and \
         adds `beta`.",
    )
    .kernel(norm_kernel::instance_norm)
    .relay(relay(&["data", "gamma", "beta"], instance_norm).attrs(&schema(
        "relay.attrs.InstanceNormAttrs",
        &[field::int("axis", 1), field::float("epsilon", 1e-05), field::flag("center", true), field::flag("scale", true)],
    )))
    .relax(
        relax(&[value("data"), value("gamma"), value("beta")], deduce::checks::norm)
            .attrs(&schema(
                "relax.attrs.InstanceNormAttrs",
                &[
                    field::required("channel_axis", AttrKind::Int),
                    field::required("axes", AttrKind::Ints),
                    field::float("epsilon", 1e-05),
                    field::flag("center", true),
                    field::flag("scale", true),
                ],
            ))
            .follows()
            .layout(layout::nn::channel_norm),
    ),
    op(
        "nn.group_norm",
        "Normalises groups of channels of each batch item with their own mean and variance, scales by `gamma` \
         and adds `beta`.",
    )
    .kernel(norm_kernel::group_norm)
    .relay(relay(&["data", "gamma", "beta"], channel_norm).attrs(&schema(
        "relay.attrs.GroupNormAttrs",
        &[
            field::int("num_groups", 0),
            field::int("axis", 1),
            field::float("epsilon", 1e-05),
            field::flag("center", true),
            field::flag("scale", true),
        ],
    )))
    .relax(
        relax(&[value("data"), value("gamma"), value("beta")], deduce::checks::norm)
            .attrs(&schema(
                "relax.attrs.GroupNormAttrs",
                &[
                    field::required("num_groups", AttrKind::Int),
                    field::required("channel_axis", AttrKind::Int),
                    field::required("axes", AttrKind::Ints),
                    field::float("epsilon", 1e-05),
                    field::flag("center", true),
                    field::flag("scale", true),
                ],
            ))
            .follows()
            .layout(layout::nn::channel_norm),
    ),
    op("nn.l2_normalize", "Divides by the Euclidean norm along `axis`, which is taken to be at least the root of `eps`.")
        .kernel(norm_kernel::l2_normalize)
        .relay(relay(&["data"], identity).attrs(&schema(
            "relay.attrs.L2NormalizeAttrs",
            &[field::required("eps", AttrKind::Float), field::required("axis", AttrKind::Ints)],
        ))),
    op(
        "nn.lrn",
        "Divides each element by a power of the sum of squares of its neighbours along `axis` (local response \
         normalisation).",
    )
    .pattern(OpPattern::Opaque)
    .kernel(norm_kernel::lrn)
    .relay(relay(&["data"], identity).attrs(&schema(
        "relay.attrs.LRNAttrs",
        &[
            field::int("size", 5),
            field::int("axis", 1),
            field::float("bias", 2.0),
            field::float("alpha", 0.0001),
            field::float("beta", 0.75),
        ],
    ))),
    op(
        "nn.dropout",
        "Drops elements at random while training; does nothing when evaluated. The result is a tuple: data, \
         mask.",
    )
    .pattern(OpPattern::Opaque)
    .stateful()
    .kernel(norm_kernel::dropout)
    .relay(relay(&["data"], dropout).attrs(&schema("relay.attrs.DropoutAttrs", &[field::float("rate", 0.5)])))
    .relax(
        relax(&[value("data")], deduce::nn::dropout)
            .attrs(&schema("relax.attrs.DropoutAttrs", &[field::float("rate", 0.5)]))
            .follows()
            .layout(layout::element::unary),
    ),
    op("nn.rms_norm", "Normalisation by the root of the mean square.").relax(
        relax(&[value("data"), value("weight")], deduce::checks::norm)
            .attrs(&schema("relax.attrs.RMSNormAttrs", &[field::ints("axes", &[-1]), field::float("epsilon", 1e-05)]))
            .follows()
            .layout(layout::nn::rms_norm),
    ),
];

/// TVM's `BatchNormRel`: the results are data, mean and variance.
fn batch_norm(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let axis = cx.attr_int("axis");
    let Some(place) = cx.attr_axis(shape.len()).filter(|_| axis >= -1) else {
        return Err(format!("the axis {axis} of batch_norm is out of range for {}", cx.show(&shape)));
    };
    let channels = cx.store.tensor_type(&[shape[place]], dtype);
    for input in 1..=4 {
        cx.assign(input, channels)?;
    }
    let data = cx.store.tensor_type(&shape, dtype);
    let out = cx.store.tuple_type(&[data, channels, channels]);
    cx.output(out)
}

/// TVM's `LayerNormRel` and `GroupNormRel`.
fn channel_norm(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let Some(place) = cx.attr_axis(shape.len()) else {
        return Err(format!("the axis {} is out of range for {}", cx.attr_int("axis"), cx.show(&shape)));
    };
    cx.assign_tensor(1, &[shape[place]], dtype)?;
    cx.assign_tensor(2, &[shape[place]], dtype)?;
    cx.output_tensor(&shape, dtype)
}

/// TVM's `InstanceNormRel`.
fn instance_norm(cx: &mut RuleCx<'_>) -> RuleResult {
    match cx.tensor(0) {
        Some((shape, _)) if shape.len() <= 2 => Err("instance_norm needs more than 2 axes".into()),
        _ => channel_norm(cx),
    }
}

/// TVM's `DropoutRel`: the results are data and mask.
fn dropout(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let data = cx.store.tensor_type(&shape, dtype);
    let out = cx.store.tuple_type(&[data, data]);
    cx.output(out)
}
