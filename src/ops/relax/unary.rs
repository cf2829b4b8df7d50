//! Operators on each element.

use super::{MixedPrecision, RelaxOp, deduce, gradient, layout, prim, value};

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "abs",
        deduce: Some(deduce::unary::arith),
        relay: "abs",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        gradient: Some(gradient::element::abs),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "acos",
        deduce: Some(deduce::unary::float_arith),
        relay: "acos",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "acosh",
        deduce: Some(deduce::unary::float_arith),
        relay: "acosh",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "asin",
        deduce: Some(deduce::unary::float_arith),
        relay: "asin",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "asinh",
        deduce: Some(deduce::unary::float_arith),
        relay: "asinh",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "atan",
        deduce: Some(deduce::unary::float_arith),
        relay: "atan",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "atanh",
        deduce: Some(deduce::unary::float_arith),
        relay: "atanh",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "bitwise_not",
        deduce: Some(deduce::unary::arith),
        relay: "bitwise_not",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "ceil",
        deduce: Some(deduce::unary::arith),
        relay: "ceil",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "clip",
        deduce: Some(deduce::unary::clip),
        doc: "The element, but not less than `min` nor more than `max`.",
        args: &[value("x"), prim("min"), prim("max")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "cos",
        deduce: Some(deduce::unary::float_arith),
        relay: "cos",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        gradient: Some(gradient::element::cos),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "cosh",
        deduce: Some(deduce::unary::float_arith),
        relay: "cosh",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "erf",
        deduce: Some(deduce::unary::float_arith),
        relay: "erf",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "exp",
        deduce: Some(deduce::unary::float_arith),
        relay: "exp",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        gradient: Some(gradient::element::exp),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "floor",
        deduce: Some(deduce::unary::arith),
        relay: "floor",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "isfinite",
        deduce: Some(deduce::unary::check),
        relay: "isfinite",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "isinf",
        deduce: Some(deduce::unary::check),
        relay: "isinf",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "isnan",
        deduce: Some(deduce::unary::check),
        relay: "isnan",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "log",
        deduce: Some(deduce::unary::float_arith),
        relay: "log",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        gradient: Some(gradient::element::log),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "logical_not",
        deduce: Some(deduce::unary::arith),
        relay: "logical_not",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "negative",
        deduce: Some(deduce::unary::arith),
        relay: "negative",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        gradient: Some(gradient::element::negative),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "round",
        deduce: Some(deduce::unary::arith),
        relay: "round",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "rsqrt",
        deduce: Some(deduce::unary::float_arith),
        relay: "rsqrt",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "sigmoid",
        deduce: Some(deduce::unary::float_arith),
        relay: "sigmoid",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        gradient: Some(gradient::element::sigmoid),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "sign",
        deduce: Some(deduce::unary::arith),
        relay: "sign",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "sin",
        deduce: Some(deduce::unary::float_arith),
        relay: "sin",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        gradient: Some(gradient::element::sin),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "sinh",
        deduce: Some(deduce::unary::float_arith),
        relay: "sinh",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "sqrt",
        deduce: Some(deduce::unary::float_arith),
        relay: "sqrt",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        gradient: Some(gradient::element::sqrt),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "square",
        deduce: Some(deduce::unary::arith),
        doc: "The square.",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "tan",
        deduce: Some(deduce::unary::float_arith),
        relay: "tan",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "tanh",
        deduce: Some(deduce::unary::float_arith),
        relay: "tanh",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        gradient: Some(gradient::element::tanh),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "trunc",
        deduce: Some(deduce::unary::arith),
        relay: "trunc",
        args: &[value("x")],
        mixed_precision: Some(MixedPrecision::Follow),
        layout: Some(layout::element::unary),
        ..RelaxOp::BASE
    },
];
