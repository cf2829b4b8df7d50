//! Reductions and running sums.

use super::{RelaxOp, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.ArgReduceAttrs`.
pub static ARG_REDUCE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.ArgReduceAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("keepdims", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relax.attrs.ScanopAttrs`.
pub static SCANOP: AttrsSchema = AttrsSchema {
    key: "relax.attrs.ScanopAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Integer, AttrDefault::Null),
        AttrField::new("dtype", AttrKind::DType, AttrDefault::Null),
        AttrField::new("exclusive", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relax.attrs.StatisticalAttrs`.
pub static STATISTICAL: AttrsSchema = AttrsSchema {
    key: "relax.attrs.StatisticalAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Ints, AttrDefault::Null),
        AttrField::new("keepdims", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "argmax",
        doc: "Where the largest element along `axis` is.",
        args: &[value("x")],
        attrs: Some(&ARG_REDUCE),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "argmin",
        doc: "Where the smallest element along `axis` is.",
        args: &[value("x")],
        attrs: Some(&ARG_REDUCE),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "cumprod",
        doc: "Products of all elements so far along `axis`.",
        args: &[value("data")],
        attrs: Some(&SCANOP),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "cumsum",
        doc: "Sums of all elements so far along `axis`.",
        args: &[value("data")],
        attrs: Some(&SCANOP),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "max",
        doc: "The largest element along the axes.",
        args: &[value("x")],
        attrs: Some(&STATISTICAL),
        ..RelaxOp::BASE
    },
    RelaxOp { name: "mean", doc: "The mean along the axes.", args: &[value("x")], attrs: Some(&STATISTICAL), ..RelaxOp::BASE },
    RelaxOp {
        name: "median",
        doc: "The median along the axes.",
        args: &[value("x")],
        attrs: Some(&STATISTICAL),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "min",
        doc: "The smallest element along the axes.",
        args: &[value("x")],
        attrs: Some(&STATISTICAL),
        ..RelaxOp::BASE
    },
    RelaxOp { name: "prod", doc: "The product along the axes.", args: &[value("x")], attrs: Some(&STATISTICAL), ..RelaxOp::BASE },
    RelaxOp {
        name: "std",
        doc: "The standard deviation along the axes.",
        args: &[value("x")],
        attrs: Some(&STATISTICAL),
        ..RelaxOp::BASE
    },
    RelaxOp { name: "sum", doc: "The sum along the axes.", args: &[value("x")], attrs: Some(&STATISTICAL), ..RelaxOp::BASE },
    RelaxOp {
        name: "variance",
        doc: "The variance along the axes.",
        args: &[value("x")],
        attrs: Some(&STATISTICAL),
        ..RelaxOp::BASE
    },
];
