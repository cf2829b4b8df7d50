//! Products of matrices.

use super::{MixedPrecision, RelaxOp, deduce, gradient, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.EinsumAttrs`.
pub static EINSUM: AttrsSchema =
    AttrsSchema { key: "relax.attrs.EinsumAttrs", fields: &[AttrField::required("subscripts", AttrKind::Str)] };

/// Attributes `relax.attrs.MatmulAttrs`.
pub static MATMUL: AttrsSchema =
    AttrsSchema { key: "relax.attrs.MatmulAttrs", fields: &[AttrField::new("out_dtype", AttrKind::DType, AttrDefault::Null)] };

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "einsum",
        deduce: Some(deduce::linear_algebra::einsum),
        doc: "Einstein's summation.",
        args: &[value("operands")],
        attrs: Some(&EINSUM),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "matmul",
        deduce: Some(deduce::linear_algebra::matmul),
        doc: "The product of matrices, as NumPy broadcasts it.",
        args: &[value("x1"), value("x2")],
        attrs: Some(&MATMUL),
        mixed_precision: Some(MixedPrecision::Always),
        gradient: Some(gradient::manipulate::matmul),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "outer",
        deduce: Some(deduce::linear_algebra::outer),
        doc: "The outer product of two vectors.",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Always),
        ..RelaxOp::BASE
    },
];
