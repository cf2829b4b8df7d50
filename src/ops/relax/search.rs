//! Searching, sorting, choosing.

use super::{RelaxOp, deduce, gradient, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.ArgsortAttrs`.
pub static ARGSORT: AttrsSchema = AttrsSchema {
    key: "relax.attrs.ArgsortAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("descending", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("dtype", AttrKind::DType, AttrDefault::DType("int32")),
    ],
};

/// Attributes `relax.attrs.BucketizeAttrs`.
pub static BUCKETIZE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.BucketizeAttrs",
    fields: &[
        AttrField::new("out_int32", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("right", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relax.attrs.MultinomialFromUniformAttrs`.
pub static MULTINOMIAL_FROM_UNIFORM: AttrsSchema = AttrsSchema {
    key: "relax.attrs.MultinomialFromUniformAttrs",
    fields: &[AttrField::new("dtype", AttrKind::DType, AttrDefault::DType("int64"))],
};

/// Attributes `relax.attrs.SortAttrs`.
pub static SORT: AttrsSchema = AttrsSchema {
    key: "relax.attrs.SortAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("descending", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relax.attrs.TopKAttrs`.
pub static TOP_K: AttrsSchema = AttrsSchema {
    key: "relax.attrs.TopKAttrs",
    fields: &[
        AttrField::new("k", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("ret_type", AttrKind::Str, AttrDefault::Str("both")),
        AttrField::new("largest", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("dtype", AttrKind::DType, AttrDefault::DType("int32")),
    ],
};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "argsort",
        deduce: Some(deduce::search::argsort),
        doc: "The order of the elements along `axis`.",
        args: &[value("data")],
        attrs: Some(&ARGSORT),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "bucketize",
        deduce: Some(deduce::search::bucketize),
        doc: "Between which of the sorted boundaries each element lies.",
        args: &[value("input_tensor"), value("boundaries")],
        attrs: Some(&BUCKETIZE),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "multinomial_from_uniform",
        deduce: Some(deduce::search::multinomial),
        doc: "Samples of distributions, from uniform samples.",
        args: &[value("prob"), value("uniform_sample"), value("sample_indices")],
        attrs: Some(&MULTINOMIAL_FROM_UNIFORM),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "nonzero",
        deduce: Some(deduce::search::nonzero),
        doc: "Where the elements are not zero.",
        args: &[value("x")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "sort",
        deduce: Some(deduce::same),
        doc: "The elements along `axis` in order.",
        args: &[value("x")],
        attrs: Some(&SORT),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "topk",
        deduce: Some(deduce::search::topk),
        doc: "The `k` largest elements along `axis` and where they are.",
        args: &[value("data")],
        attrs: Some(&TOP_K),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "unique",
        deduce: Some(deduce::search::unique),
        doc: "The different elements.",
        args: &[
            value("x"),
            value("sorted").or_none(),
            value("return_index").or_none(),
            value("return_inverse").or_none(),
            value("return_counts").or_none(),
            value("axis").or_none(),
        ],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "where",
        deduce: Some(deduce::search::where_),
        relay: "where",
        args: &[value("condition"), value("x1"), value("x2")],
        gradient: Some(gradient::element::choose),
        ..RelaxOp::BASE
    },
];
