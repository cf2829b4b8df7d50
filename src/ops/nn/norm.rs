//! Normalisations and dropout.

use super::norm_kernel;
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult, identity};

/// Attributes `relay.attrs.BatchNormAttrs`.
pub static BATCH_NORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.BatchNormAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("epsilon", AttrKind::Float, AttrDefault::Float(1e-05)),
        AttrField::new("center", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("scale", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relay.attrs.LayerNormAttrs`.
pub static LAYER_NORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.LayerNormAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("epsilon", AttrKind::Float, AttrDefault::Float(1e-05)),
        AttrField::new("center", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("scale", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relay.attrs.InstanceNormAttrs`.
pub static INSTANCE_NORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.InstanceNormAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("epsilon", AttrKind::Float, AttrDefault::Float(1e-05)),
        AttrField::new("center", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("scale", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relay.attrs.GroupNormAttrs`.
pub static GROUP_NORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.GroupNormAttrs",
    fields: &[
        AttrField::new("num_groups", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("epsilon", AttrKind::Float, AttrDefault::Float(1e-05)),
        AttrField::new("center", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("scale", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relay.attrs.L2NormalizeAttrs`.
pub static L2_NORMALIZE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.L2NormalizeAttrs",
    fields: &[AttrField::required("eps", AttrKind::Float), AttrField::required("axis", AttrKind::Ints)],
};

/// Attributes `relay.attrs.LRNAttrs`.
pub static LRN: AttrsSchema = AttrsSchema {
    key: "relay.attrs.LRNAttrs",
    fields: &[
        AttrField::new("size", AttrKind::Int, AttrDefault::Int(5)),
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("bias", AttrKind::Float, AttrDefault::Float(2.0)),
        AttrField::new("alpha", AttrKind::Float, AttrDefault::Float(0.0001)),
        AttrField::new("beta", AttrKind::Float, AttrDefault::Float(0.75)),
    ],
};

/// Attributes `relay.attrs.DropoutAttrs`.
pub static DROPOUT: AttrsSchema =
    AttrsSchema { key: "relay.attrs.DropoutAttrs", fields: &[AttrField::new("rate", AttrKind::Float, AttrDefault::Float(0.5))] };

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.batch_norm",
        doc: "Normalises each channel with given mean and variance, scales by `gamma` and adds `beta`. The result is a tuple: data, mean, variance.",
        args: &["data", "gamma", "beta", "moving_mean", "moving_var"],
        attrs: Some(&BATCH_NORM),
        rule: Some(batch_norm),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(norm_kernel::batch_norm),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.layer_norm",
        doc: "Normalises along one axis with the mean and variance found there, scales by `gamma` and adds `beta`.",
        args: &["data", "gamma", "beta"],
        attrs: Some(&LAYER_NORM),
        rule: Some(channel_norm),
        kernel: Some(norm_kernel::layer_norm),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.instance_norm",
        doc: "Normalises each channel of each batch item with its own mean and variance, scales by `gamma` and adds `beta`.",
        args: &["data", "gamma", "beta"],
        attrs: Some(&INSTANCE_NORM),
        rule: Some(instance_norm),
        kernel: Some(norm_kernel::instance_norm),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.group_norm",
        doc: "Normalises groups of channels of each batch item with their own mean and variance, scales by `gamma` and adds `beta`.",
        args: &["data", "gamma", "beta"],
        attrs: Some(&GROUP_NORM),
        rule: Some(channel_norm),
        kernel: Some(norm_kernel::group_norm),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.l2_normalize",
        doc: "Divides by the Euclidean norm along `axis`, which is taken to be at least the root of `eps`.",
        args: &["data"],
        attrs: Some(&L2_NORMALIZE),
        rule: Some(identity),
        kernel: Some(norm_kernel::l2_normalize),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.lrn",
        doc: "Divides each element by a power of the sum of squares of its neighbours along `axis` (local response normalisation).",
        args: &["data"],
        attrs: Some(&LRN),
        rule: Some(identity),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(norm_kernel::lrn),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.dropout",
        doc: "Drops elements at random while training; does nothing when evaluated. The result is a tuple: data, mask.",
        args: &["data"],
        attrs: Some(&DROPOUT),
        rule: Some(dropout),
        pattern: Some(OpPattern::Opaque),
        stateful: true,
        kernel: Some(norm_kernel::dropout),
        ..OpInfo::BASE
    },
];

/// TVM's `BatchNormRel`: data, mean and variance come out.
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

/// TVM's `DropoutRel`: data and mask come out.
fn dropout(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let data = cx.store.tensor_type(&shape, dtype);
    let out = cx.store.tuple_type(&[data, data]);
    cx.output(out)
}
