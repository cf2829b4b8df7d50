//! Element-wise operators over one quantised tensor.

use crate::ops::nn::activation::{LEAKY_RELU, SOFTMAX};
use crate::ops::{OpInfo, OpPattern};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "qnn.tanh",
        doc: "Hyperbolic tangent of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.exp",
        doc: "Exponential of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.sqrt",
        doc: "Square root of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.rsqrt",
        doc: "Reciprocal square root of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.erf",
        doc: "Error function of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.sigmoid",
        doc: "Logistic function of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.hardswish",
        doc: "Hard swish of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.log",
        doc: "Natural logarithm of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.abs",
        doc: "Absolute value of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.leaky_relu",
        doc: "`nn.leaky_relu` of a quantised tensor, requantised to the output scale and zero point.",
        args: &["data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"],
        attrs: Some(&LEAKY_RELU),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.softmax",
        doc: "Softmax of a quantised tensor along `axis`, in integers.",
        args: &["data", "scale", "zero_point", "output_scale", "output_zero_point"],
        attrs: Some(&SOFTMAX),
        non_computational: true,
        ..OpInfo::BASE
    },
];
