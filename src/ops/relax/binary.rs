//! Operators on two tensors, broadcast against each other.

use super::{MixedPrecision, RelaxOp, value};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "add",
        relay: "add",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "atan2",
        doc: "The angle of the point (x2, x1).",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "bitwise_and",
        relay: "bitwise_and",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "bitwise_or",
        relay: "bitwise_or",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "bitwise_xor",
        relay: "bitwise_xor",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "divide",
        relay: "divide",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "equal",
        relay: "equal",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "ewise_fma",
        doc: "`x1 * x2 + x3`",
        args: &[value("x1"), value("x2"), value("x3")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "floor_divide",
        relay: "floor_divide",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "floor_mod",
        relay: "floor_mod",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "greater",
        relay: "greater",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "greater_equal",
        relay: "greater_equal",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "left_shift",
        relay: "left_shift",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "less",
        relay: "less",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "less_equal",
        relay: "less_equal",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "log_add_exp",
        doc: "The logarithm of the sum of the exponentials.",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "logical_and",
        relay: "logical_and",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "logical_or",
        relay: "logical_or",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "logical_xor",
        relay: "logical_xor",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "maximum",
        relay: "maximum",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "minimum",
        relay: "minimum",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "mod",
        relay: "mod",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "multiply",
        relay: "multiply",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "not_equal",
        relay: "not_equal",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "power",
        relay: "power",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "right_shift",
        relay: "right_shift",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "subtract",
        relay: "subtract",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        ..RelaxOp::BASE
    },
];
