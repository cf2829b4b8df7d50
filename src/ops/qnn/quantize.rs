//! Between real numbers and quantised ones.

use super::params::{channels, is_single};
use crate::ir::{DType, DTypeCode, Dim};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.QuantizeAttrs`.
pub static QUANTIZE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.QuantizeAttrs",
    fields: &[AttrField::required("out_dtype", AttrKind::DType), AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1))],
};

/// Attributes `relay.attrs.DequantizeAttrs`.
pub static DEQUANTIZE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.DequantizeAttrs",
    fields: &[AttrField::required("out_dtype", AttrKind::DType), AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1))],
};

/// Attributes `relay.attrs.RequantizeAttrs`.
pub static REQUANTIZE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.RequantizeAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("rounding", AttrKind::Str, AttrDefault::Str("None")),
        AttrField::new("compute_dtype", AttrKind::Str, AttrDefault::Str("None")),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.SimulatedQuantizeAttrs`.
pub static SIMULATED_QUANTIZE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.SimulatedQuantizeAttrs",
    fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1))],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "qnn.quantize",
        doc: "Divides by `output_scale`, rounds, adds `output_zero_point` and clips to the range of `out_dtype`.",
        args: &["data", "output_scale", "output_zero_point"],
        attrs: Some(&QUANTIZE),
        rule: Some(quantize),
        pattern: Some(OpPattern::ElemWise),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.dequantize",
        doc: "Subtracts `input_zero_point` and multiplies by `input_scale`.",
        args: &["data", "input_scale", "input_zero_point"],
        attrs: Some(&DEQUANTIZE),
        rule: Some(dequantize),
        pattern: Some(OpPattern::ElemWise),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.requantize",
        doc: "From one scale and zero point to another.",
        args: &["data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"],
        attrs: Some(&REQUANTIZE),
        rule: Some(requantize),
        pattern: Some(OpPattern::ElemWise),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.simulated_quantize",
        doc: "`qnn.quantize` on real numbers, with the type to pretend chosen at run time.",
        args: &["data", "out_dtype", "output_scale", "output_zero_point"],
        attrs: Some(&SIMULATED_QUANTIZE),
        rule: Some(simulated),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.simulated_dequantize",
        doc: "`qnn.dequantize` on real numbers, with the type to pretend chosen at run time.",
        args: &["data", "in_dtype", "input_scale", "input_zero_point"],
        attrs: Some(&DEQUANTIZE),
        rule: Some(simulated),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
];

const U16: DType = DType::new(DTypeCode::UInt, 16);

/// TVM's `QuantizeRel`.
fn quantize(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    cx.one_of(dtype, &[DType::F32], "input")?;
    let (Some((scale, _)), Some((zero, _))) = (cx.tensor(1), cx.tensor(2)) else { return Ok(false) };
    let axis = match cx.channel_axis("axis", shape.len()) {
        Err(error) if !scale.is_empty() || !zero.is_empty() => return Err(error),
        axis => axis.unwrap_or(0),
    };
    let extent = channels(&shape, axis);
    cx.per_channel(1, DType::F32, extent)?;
    cx.per_channel(2, DType::I32, extent)?;
    let out = cx.out_dtype(DType::F32);
    cx.one_of(out, &[DType::I8, DType::U8, DType::I16, U16, DType::I32], "output")?;
    cx.output_tensor(&shape, out)
}

/// TVM's `DequantizeRel`. Scales and zero points of one element may have any rank.
fn dequantize(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    cx.one_of(dtype, &[DType::I8, DType::U8, DType::I16, U16, DType::I32], "input")?;
    let (Some((scale, _)), Some((zero, _))) = (cx.tensor(1), cx.tensor(2)) else { return Ok(false) };
    let extent = match is_single(&scale) && is_single(&zero) {
        true => Dim::int(1),
        false => {
            let axis = cx.channel_axis("axis", shape.len())?;
            channels(&shape, axis)
        }
    };
    cx.per_channel(1, DType::F32, extent)?;
    cx.per_channel(2, DType::I32, extent)?;
    let out = cx.out_dtype(DType::I32);
    cx.one_of(out, &[DType::F16, DType::F32], "output")?;
    cx.output_tensor(&shape, out)
}

/// TVM's `RequantizeRel`. The output has one scale and one zero point.
fn requantize(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    if (1..=4).any(|i| cx.is_open(i)) {
        return Ok(false);
    }
    cx.one_of(dtype, &[DType::I8, DType::U8, DType::I16, DType::I32, DType::I64], "input")?;
    let axis = cx.channel_axis("axis", shape.len())?;
    let extent = channels(&shape, axis);
    cx.per_channel(1, DType::F32, extent)?;
    cx.per_channel(2, DType::I32, extent)?;
    cx.scalar(3, DType::F32)?;
    cx.scalar(4, DType::I32)?;
    let out = cx.out_dtype(DType::F32);
    cx.one_of(out, &[DType::I8, DType::U8, DType::I16, DType::I32], "output")?;
    cx.output_tensor(&shape, out)
}

/// TVM's `SimulatedQuantizeRel` and `SimulatedDequantizeRel`.
fn simulated(cx: &mut RuleCx<'_>) -> RuleResult {
    match (cx.tensor(0), cx.tensor(1)) {
        (Some(_), Some(_)) => cx.output(cx.types[0]),
        _ => Ok(false),
    }
}
