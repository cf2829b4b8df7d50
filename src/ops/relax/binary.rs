//! Operators on two tensors, broadcast against each other.

use super::{MixedPrecision, RelaxOp, deduce, gradient, layout, value};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "add",
        deduce: Some(deduce::binary::arith),
        relay: "add",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        gradient: Some(gradient::element::add),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "atan2",
        deduce: Some(deduce::binary::arith),
        doc: "The angle of the point (x2, x1).",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "bitwise_and",
        deduce: Some(deduce::binary::arith),
        relay: "bitwise_and",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "bitwise_or",
        deduce: Some(deduce::binary::arith),
        relay: "bitwise_or",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "bitwise_xor",
        deduce: Some(deduce::binary::arith),
        relay: "bitwise_xor",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "divide",
        deduce: Some(deduce::binary::arith),
        relay: "divide",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        gradient: Some(gradient::element::divide),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "equal",
        deduce: Some(deduce::binary::compare),
        relay: "equal",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        gradient: Some(gradient::none),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "ewise_fma",
        deduce: Some(deduce::binary::ewise_fma),
        doc: "`x1 * x2 + x3`",
        args: &[value("x1"), value("x2"), value("x3")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::ternary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "floor_divide",
        deduce: Some(deduce::binary::arith),
        relay: "floor_divide",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "floor_mod",
        deduce: Some(deduce::binary::arith),
        relay: "floor_mod",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "greater",
        deduce: Some(deduce::binary::compare),
        relay: "greater",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        gradient: Some(gradient::none),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "greater_equal",
        deduce: Some(deduce::binary::compare),
        relay: "greater_equal",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        gradient: Some(gradient::none),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "left_shift",
        deduce: Some(deduce::binary::arith),
        relay: "left_shift",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "less",
        deduce: Some(deduce::binary::compare),
        relay: "less",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        gradient: Some(gradient::none),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "less_equal",
        deduce: Some(deduce::binary::compare),
        relay: "less_equal",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        gradient: Some(gradient::none),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "log_add_exp",
        deduce: Some(deduce::binary::arith),
        doc: "The logarithm of the sum of the exponentials.",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "logical_and",
        deduce: Some(deduce::binary::arith),
        relay: "logical_and",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "logical_or",
        deduce: Some(deduce::binary::arith),
        relay: "logical_or",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "logical_xor",
        deduce: Some(deduce::binary::arith),
        relay: "logical_xor",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "maximum",
        deduce: Some(deduce::binary::arith),
        relay: "maximum",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        gradient: Some(gradient::element::maximum),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "minimum",
        deduce: Some(deduce::binary::arith),
        relay: "minimum",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        gradient: Some(gradient::element::minimum),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "mod",
        deduce: Some(deduce::binary::arith),
        relay: "mod",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "multiply",
        deduce: Some(deduce::binary::arith),
        relay: "multiply",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        gradient: Some(gradient::element::multiply),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "not_equal",
        deduce: Some(deduce::binary::compare),
        relay: "not_equal",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        gradient: Some(gradient::none),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "power",
        deduce: Some(deduce::binary::arith),
        relay: "power",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        gradient: Some(gradient::element::power),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "right_shift",
        deduce: Some(deduce::binary::arith),
        relay: "right_shift",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "subtract",
        deduce: Some(deduce::binary::arith),
        relay: "subtract",
        args: &[value("x1"), value("x2")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::binary),
        gradient: Some(gradient::element::subtract),
        ..RelaxOp::BASE
    },
];
