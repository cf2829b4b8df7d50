//! Reductions and running sums.

use super::{RelaxOp, deduce, gradient, layout, value};
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
        deduce: Some(deduce::search::arg_reduce),
        doc: "Where the largest element along `axis` is.",
        args: &[value("x")],
        attrs: Some(&ARG_REDUCE),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "argmin",
        deduce: Some(deduce::search::arg_reduce),
        doc: "Where the smallest element along `axis` is.",
        args: &[value("x")],
        attrs: Some(&ARG_REDUCE),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "cumprod",
        deduce: Some(deduce::statistic::scan),
        doc: "Products of all elements so far along `axis`.",
        args: &[value("data")],
        attrs: Some(&SCANOP),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "cumsum",
        deduce: Some(deduce::statistic::scan),
        doc: "Sums of all elements so far along `axis`.",
        args: &[value("data")],
        attrs: Some(&SCANOP),
        gradient: Some(gradient::element::cumsum),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "max",
        deduce: Some(deduce::statistic::reduce),
        doc: "The largest element along the axes.",
        args: &[value("x")],
        attrs: Some(&STATISTICAL),
        layout: Some(layout::select::statistical),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "mean",
        deduce: Some(deduce::statistic::reduce),
        doc: "The mean along the axes.",
        args: &[value("x")],
        attrs: Some(&STATISTICAL),
        layout: Some(layout::select::statistical),
        gradient: Some(gradient::element::mean),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "median",
        deduce: Some(deduce::statistic::median),
        doc: "The median along the axes.",
        args: &[value("x")],
        attrs: Some(&STATISTICAL),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "min",
        deduce: Some(deduce::statistic::reduce),
        doc: "The smallest element along the axes.",
        args: &[value("x")],
        attrs: Some(&STATISTICAL),
        layout: Some(layout::select::statistical),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "prod",
        deduce: Some(deduce::statistic::reduce),
        doc: "The product along the axes.",
        args: &[value("x")],
        attrs: Some(&STATISTICAL),
        layout: Some(layout::select::statistical),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "std",
        deduce: Some(deduce::statistic::reduce),
        doc: "The standard deviation along the axes.",
        args: &[value("x")],
        attrs: Some(&STATISTICAL),
        layout: Some(layout::select::statistical),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "sum",
        deduce: Some(deduce::statistic::reduce),
        doc: "The sum along the axes.",
        args: &[value("x")],
        attrs: Some(&STATISTICAL),
        layout: Some(layout::select::statistical),
        gradient: Some(gradient::element::sum),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "variance",
        deduce: Some(deduce::statistic::reduce),
        doc: "The variance along the axes.",
        args: &[value("x")],
        attrs: Some(&STATISTICAL),
        layout: Some(layout::select::statistical),
        gradient: Some(gradient::element::variance),
        ..RelaxOp::BASE
    },
];
