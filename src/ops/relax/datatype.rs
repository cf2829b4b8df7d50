//! Changes of element type.

use super::{MixedPrecision, RelaxOp, deduce, gradient, layout, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.AstypeAttrs`.
pub static ASTYPE: AttrsSchema =
    AttrsSchema { key: "relax.attrs.AstypeAttrs", fields: &[AttrField::required("dtype", AttrKind::DType)] };

/// Attributes `relax.attrs.QuantizeAttrs`.
pub static QUANTIZE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.QuantizeAttrs",
    fields: &[
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("float32")),
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1)),
    ],
};

/// Attributes `relax.attrs.QuantizeAttrs`.
pub static QUANTIZE_QUANTIZE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.QuantizeAttrs",
    fields: &[
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("int8")),
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1)),
    ],
};

/// Attributes `relax.attrs.WrapParamAttrs`.
pub static WRAP_PARAM: AttrsSchema = AttrsSchema {
    key: "relax.attrs.WrapParamAttrs",
    fields: &[AttrField::new("dtype", AttrKind::DType, AttrDefault::DType("float32"))],
};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "astype",
        deduce: Some(deduce::unary::astype),
        doc: "Another element type.",
        args: &[value("x")],
        attrs: Some(&ASTYPE),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        gradient: Some(gradient::element::astype),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "dequantize",
        deduce: Some(deduce::unary::quantize),
        doc: "Numbers from quantized ones: `(x - zero_point) * scale`.",
        args: &[value("data"), value("scale"), value("zero_point")],
        attrs: Some(&QUANTIZE),
        order: &["data", "scale", "zero_point", "axis", "out_dtype"],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "quantize",
        deduce: Some(deduce::unary::quantize),
        doc: "Quantized numbers: `round(x / scale) + zero_point`, within the element type.",
        args: &[value("data"), value("scale"), value("zero_point")],
        attrs: Some(&QUANTIZE_QUANTIZE),
        order: &["data", "scale", "zero_point", "axis", "out_dtype"],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "wrap_param",
        deduce: Some(deduce::unary::astype),
        doc: "A parameter as another element type.",
        args: &[value("data")],
        attrs: Some(&WRAP_PARAM),
        ..RelaxOp::BASE
    },
];
