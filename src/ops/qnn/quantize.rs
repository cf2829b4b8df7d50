//! Between real numbers and quantised ones.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

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
        pattern: Some(OpPattern::ElemWise),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.dequantize",
        doc: "Subtracts `input_zero_point` and multiplies by `input_scale`.",
        args: &["data", "input_scale", "input_zero_point"],
        attrs: Some(&DEQUANTIZE),
        pattern: Some(OpPattern::ElemWise),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.requantize",
        doc: "From one scale and zero point to another.",
        args: &["data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"],
        attrs: Some(&REQUANTIZE),
        pattern: Some(OpPattern::ElemWise),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.simulated_quantize",
        doc: "`qnn.quantize` on real numbers, with the type to pretend chosen at run time.",
        args: &["data", "out_dtype", "output_scale", "output_zero_point"],
        attrs: Some(&SIMULATED_QUANTIZE),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.simulated_dequantize",
        doc: "`qnn.dequantize` on real numbers, with the type to pretend chosen at run time.",
        args: &["data", "in_dtype", "input_scale", "input_zero_point"],
        attrs: Some(&DEQUANTIZE),
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
];
