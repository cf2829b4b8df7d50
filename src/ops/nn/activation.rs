//! Activations, softmax and bias.

use crate::ir::{Dim, DimOp};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult, identity};

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
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.leaky_relu",
        doc: "The element, multiplied by `alpha` where it is negative.",
        args: &["data"],
        attrs: Some(&LEAKY_RELU),
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.prelu",
        doc: "The element, multiplied by the `alpha` of its channel where it is not positive.",
        args: &["data", "alpha"],
        attrs: Some(&PRELU),
        rule: Some(prelu),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.softmax",
        doc: "Exponentials along `axis`, scaled to add up to one.",
        args: &["data"],
        attrs: Some(&SOFTMAX),
        rule: Some(softmax),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.fast_softmax",
        doc: "`nn.softmax` with an approximate exponential.",
        args: &["data"],
        attrs: Some(&SOFTMAX),
        rule: Some(softmax),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.log_softmax",
        doc: "Logarithm of the softmax along `axis`.",
        args: &["data"],
        attrs: Some(&SOFTMAX),
        rule: Some(softmax),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.bias_add",
        doc: "Adds a one-dimensional `bias` along `axis`.",
        args: &["data", "bias"],
        attrs: Some(&BIAS_ADD),
        rule: Some(bias_add),
        pattern: Some(OpPattern::Broadcast),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.batch_flatten",
        doc: "Flattens all axes behind the first one into one.",
        args: &["data"],
        rule: Some(batch_flatten),
        pattern: Some(OpPattern::Injective),
        reshape: true,
        ..OpInfo::BASE
    },
];

/// TVM's `PReluRel`.
fn prelu(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let axis = cx.attr_int("axis");
    let Some(place) = cx.attr_axis(shape.len()).filter(|_| axis >= 0) else {
        return Err(format!("Wrong axis ({axis})value."));
    };
    cx.assign_tensor(1, &[shape[place]], dtype)?;
    cx.output_tensor(&shape, dtype)
}

/// TVM's `SoftmaxRel`.
pub fn softmax(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, _)) = cx.tensor(0) else { return Ok(false) };
    let rank = shape.len();
    if cx.attr_axis(rank).is_none() {
        let axis = cx.attr_int("axis");
        return Err(format!("Wrong axis ({axis}) not in expected range: [-{rank}, {rank})"));
    }
    cx.output(cx.types[0])
}

/// TVM's `BiasAddRel`: the bias' type follows from the data.
fn bias_add(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let Some(place) = cx.attr_axis(shape.len()) else {
        return Err(format!(
            "The axis in bias_add must be in range for the shape; attempted to access index {} of {}",
            cx.attr_int("axis"),
            cx.show(&shape)
        ));
    };
    cx.assign_tensor(1, &[shape[place]], dtype)?;
    cx.output(cx.types[0])
}

/// TVM's `BatchFlattenRel`. An unknown extent among the flattened ones makes the product unknown.
fn batch_flatten(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let Some((&batch, rest)) = shape.split_first() else { return Ok(false) };
    let mut flat = Dim::int(1);
    for &extent in rest {
        flat = cx.dim(DimOp::Mul, flat, extent);
    }
    cx.output_tensor(&[batch, flat], dtype)
}
