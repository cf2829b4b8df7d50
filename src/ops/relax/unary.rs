//! Operators on each element.

use super::{MixedPrecision, RelaxOp, prim, value};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp { name: "abs", relay: "abs", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp { name: "acos", relay: "acos", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp {
        name: "acosh",
        relay: "acosh",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp { name: "asin", relay: "asin", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp {
        name: "asinh",
        relay: "asinh",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp { name: "atan", relay: "atan", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp {
        name: "atanh",
        relay: "atanh",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "bitwise_not",
        relay: "bitwise_not",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp { name: "ceil", relay: "ceil", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp {
        name: "clip",
        doc: "The element, but not less than `min` nor more than `max`.",
        args: &[value("x"), prim("min"), prim("max")],
        ..RelaxOp::BASE
    },
    RelaxOp { name: "cos", relay: "cos", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp { name: "cosh", relay: "cosh", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp { name: "erf", relay: "erf", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp { name: "exp", relay: "exp", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp {
        name: "floor",
        relay: "floor",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "isfinite",
        relay: "isfinite",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "isinf",
        relay: "isinf",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "isnan",
        relay: "isnan",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp { name: "log", relay: "log", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp {
        name: "logical_not",
        relay: "logical_not",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "negative",
        relay: "negative",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "round",
        relay: "round",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "rsqrt",
        relay: "rsqrt",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "sigmoid",
        relay: "sigmoid",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp { name: "sign", relay: "sign", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp { name: "sin", relay: "sin", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp { name: "sinh", relay: "sinh", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp { name: "sqrt", relay: "sqrt", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp {
        name: "square",
        doc: "The square.",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp { name: "tan", relay: "tan", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp { name: "tanh", relay: "tanh", args: &[value("x")], mixed_precision: Some(MixedPrecision::Follow), ..RelaxOp::BASE },
    RelaxOp {
        name: "trunc",
        relay: "trunc",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
];
