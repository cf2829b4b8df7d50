//! Tensors made from nothing but a shape.

use super::{MixedPrecision, RelaxOp, deduce, gradient, prim, shape, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.InitAttrs`.
pub static INIT: AttrsSchema =
    AttrsSchema { key: "relax.attrs.InitAttrs", fields: &[AttrField::new("dtype", AttrKind::DType, AttrDefault::Null)] };

/// Attributes `relax.attrs.InitAttrs`.
pub static INIT_EYE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.InitAttrs",
    fields: &[AttrField::new("dtype", AttrKind::DType, AttrDefault::DType("float32"))],
};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "arange",
        deduce: Some(deduce::create::arange),
        doc: "Numbers from `start` to `end`.",
        args: &[prim("start"), prim("end").or_none(), prim("step").or_none()],
        attrs: Some(&INIT),
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "eye",
        deduce: Some(deduce::create::eye),
        doc: "Ones on a diagonal, zeros elsewhere.",
        args: &[prim("n"), prim("m").or_none(), prim("k").or_none()],
        attrs: Some(&INIT_EYE),
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "eye_like",
        deduce: Some(deduce::create::like),
        doc: "The same in the shape of a tensor.",
        args: &[value("x"), prim("k").or_none()],
        attrs: Some(&INIT),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "full",
        deduce: Some(deduce::create::full),
        doc: "A tensor of one value.",
        args: &[shape("shape"), value("fill_value")],
        attrs: Some(&INIT),
        mixed_precision: Some(MixedPrecision::Follow),
        gradient: Some(gradient::none),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "full_like",
        deduce: Some(deduce::create::full_like),
        doc: "A tensor of one value in the shape of another.",
        args: &[value("x"), value("fill_value")],
        attrs: Some(&INIT),
        mixed_precision: Some(MixedPrecision::Follow),
        gradient: Some(gradient::none),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "hamming_window",
        deduce: Some(deduce::create::hamming_window),
        doc: "The Hamming window.",
        args: &[prim("window_size"), prim("periodic"), prim("alpha"), prim("beta")],
        attrs: Some(&INIT),
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "ones",
        deduce: Some(deduce::create::ones_zeros),
        doc: "A tensor of ones.",
        args: &[shape("shape")],
        attrs: Some(&INIT),
        mixed_precision: Some(MixedPrecision::Follow),
        gradient: Some(gradient::none),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "ones_like",
        deduce: Some(deduce::create::like),
        doc: "Ones in the shape of a tensor.",
        args: &[value("x")],
        attrs: Some(&INIT),
        gradient: Some(gradient::none),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "tril",
        deduce: Some(deduce::create::triangle),
        doc: "The part on and below a diagonal, zeros elsewhere.",
        args: &[value("x"), prim("k").or_none()],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "triu",
        deduce: Some(deduce::create::triangle),
        doc: "The part on and above a diagonal, zeros elsewhere.",
        args: &[value("x"), prim("k").or_none()],
        gradient: Some(gradient::element::triu),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "zeros",
        deduce: Some(deduce::create::ones_zeros),
        doc: "A tensor of zeros.",
        args: &[shape("shape")],
        attrs: Some(&INIT),
        mixed_precision: Some(MixedPrecision::Follow),
        gradient: Some(gradient::none),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "zeros_like",
        deduce: Some(deduce::create::like),
        doc: "Zeros in the shape of a tensor.",
        args: &[value("x")],
        attrs: Some(&INIT),
        gradient: Some(gradient::none),
        ..RelaxOp::BASE
    },
];
