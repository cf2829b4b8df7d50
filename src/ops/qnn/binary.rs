//! Element-wise operators over two quantised tensors.

use super::params::channels;
use crate::ir::{DType, Type};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult, broadcast, info, lookup};

/// Attributes `relay.attrs.ConcatenateAttrs`.
pub static CONCATENATE: AttrsSchema =
    AttrsSchema { key: "relay.attrs.ConcatenateAttrs", fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(0))] };

/// Attributes `relay.attrs.BroadcastAttrs`.
pub static BROADCAST: AttrsSchema = AttrsSchema {
    key: "relay.attrs.BroadcastAttrs",
    fields: &[
        AttrField::new("lhs_axis", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("rhs_axis", AttrKind::Int, AttrDefault::Int(-1)),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "qnn.add",
        doc: "Adds two quantised tensors of different scales, with broadcasting.",
        args: &["lhs", "rhs", "lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point", "output_scale", "output_zero_point"],
        attrs: Some(&BROADCAST),
        rule: Some(binary),
        pattern: Some(OpPattern::Broadcast),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.subtract",
        doc: "Subtracts two quantised tensors of different scales, with broadcasting.",
        args: &["lhs", "rhs", "lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point", "output_scale", "output_zero_point"],
        attrs: Some(&BROADCAST),
        rule: Some(binary),
        pattern: Some(OpPattern::Broadcast),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.mul",
        doc: "Multiplies two quantised tensors of different scales, with broadcasting.",
        args: &["lhs", "rhs", "lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point", "output_scale", "output_zero_point"],
        attrs: Some(&BROADCAST),
        rule: Some(binary),
        pattern: Some(OpPattern::Broadcast),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.concatenate",
        doc: "Joins quantised tensors along `axis`, each requantised to the output scale and zero point.",
        args: &["data", "input_scales", "input_zero_points", "output_scale", "output_zero_point"],
        attrs: Some(&CONCATENATE),
        rule: Some(concatenate),
        pattern: Some(OpPattern::Injective),
        non_computational: true,
        ..OpInfo::BASE
    },
];

/// TVM's `QnnBroadcastRel`.
fn binary(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((lhs, _)), Some((rhs, _))) = (cx.tensor(0), cx.tensor(1)) else { return Ok(false) };
    if (2..=7).any(|i| cx.is_open(i)) {
        return Ok(false);
    }
    for (name, shape, scale) in [("lhs_axis", &lhs, 2), ("rhs_axis", &rhs, 4)] {
        let single = |cx: &RuleCx<'_>, i| cx.tensor(i).is_some_and(|(s, _)| s.is_empty());
        let axis = match cx.channel_axis(name, shape.len()) {
            _ if shape.len() <= 1 => 0,
            Ok(axis) => axis,
            Err(_) if single(cx, scale) && single(cx, scale + 1) => 0,
            Err(error) => return Err(error),
        };
        let extent = channels(shape, axis);
        cx.per_channel(scale, DType::F32, extent)?;
        cx.per_channel(scale + 1, DType::I32, extent)?;
    }
    cx.scalar(6, DType::F32)?;
    cx.scalar(7, DType::I32)?;
    cx.ask(&[cx.types[0], cx.types[1], cx.types[8]], broadcast)
}

/// TVM's `QnnConcatenateRel`.
fn concatenate(cx: &mut RuleCx<'_>) -> RuleResult {
    if (0..=4).any(|i| cx.is_open(i)) {
        return Ok(false);
    }
    for (index, dtype, what) in [(1, DType::F32, "scales"), (2, DType::I32, "zero_points")] {
        let Some(fields) = cx.tuple(index) else {
            let found = crate::ir::show_type(cx.store, cx.types[index]);
            return Err(format!("qnn concatenate requires a tuple of {what}, found {found}"));
        };
        for field in fields {
            if matches!(cx.store.type_of_id(field), Type::Hole(_)) {
                return Ok(false);
            }
            cx.scalar_type(field, dtype)?;
        }
    }
    cx.scalar(3, DType::F32)?;
    cx.scalar(4, DType::I32)?;
    let plain = lookup("concatenate").and_then(|op| info(op).rule).ok_or("concatenate has no relation")?;
    cx.ask(&[cx.types[0], cx.types[5]], plain)
}
