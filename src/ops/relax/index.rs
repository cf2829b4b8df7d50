//! Parts of tensors.

use super::{MixedPrecision, RelaxOp, deduce, gradient, layout, tuple, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.StridedSliceAttrs`.
pub static STRIDED_SLICE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.StridedSliceAttrs",
    fields: &[AttrField::new("assume_inbound", AttrKind::Bool, AttrDefault::Bool(false))],
};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "dynamic_strided_slice",
        deduce: Some(deduce::index::dynamic_strided_slice),
        doc: "A part of a tensor, its bounds being tensors.",
        args: &[value("x"), value("begin"), value("end"), value("strides")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::select::dynamic_strided_slice),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "strided_slice",
        deduce: Some(deduce::index::strided_slice),
        doc: "A part of a tensor.",
        args: &[value("x"), tuple("axes"), tuple("begin"), tuple("end"), tuple("strides").or_none()],
        attrs: Some(&STRIDED_SLICE),
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::select::strided_slice),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "take",
        deduce: Some(deduce::index::take),
        doc: "Elements along `axis` at the given indices.",
        args: &[value("x"), value("indices")],
        attrs: Some(&super::grad::TAKE),
        gradient: Some(gradient::manipulate::take),
        ..RelaxOp::BASE
    },
];
