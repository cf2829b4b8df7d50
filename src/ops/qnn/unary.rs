//! Element-wise operators over one quantised tensor.

use super::params::BYTES;
use crate::ir::DType;
use crate::ops::nn::activation::{LEAKY_RELU, SOFTMAX};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult, identity};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "qnn.tanh",
        doc: "Hyperbolic tangent of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        rule: Some(unary),
        pattern: Some(OpPattern::ElemWise),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.exp",
        doc: "Exponential of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        rule: Some(unary),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.sqrt",
        doc: "Square root of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        rule: Some(unary),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.rsqrt",
        doc: "Reciprocal square root of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        rule: Some(unary),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.erf",
        doc: "Error function of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        rule: Some(unary),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.sigmoid",
        doc: "Logistic function of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        rule: Some(unary),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.hardswish",
        doc: "Hard swish of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        rule: Some(unary),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.log",
        doc: "Natural logarithm of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        rule: Some(unary),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.abs",
        doc: "Absolute value of a quantised tensor, requantised to the output scale and zero point.",
        args: &["x", "scale", "zero_point", "output_scale", "output_zero_point"],
        rule: Some(unary),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.leaky_relu",
        doc: "`nn.leaky_relu` of a quantised tensor, requantised to the output scale and zero point.",
        args: &["data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"],
        attrs: Some(&LEAKY_RELU),
        rule: Some(unary),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.softmax",
        doc: "Softmax of a quantised tensor along `axis`, in integers.",
        args: &["data", "scale", "zero_point", "output_scale", "output_zero_point"],
        attrs: Some(&SOFTMAX),
        rule: Some(softmax),
        non_computational: true,
        ..OpInfo::BASE
    },
];

/// TVM's `QnnElementwiseUnaryFuncRel` and `QnnLeakyReluRel`.
fn unary(cx: &mut RuleCx<'_>) -> RuleResult {
    unary_over(cx, BYTES)
}

/// TVM's `QnnSoftmaxRel`.
fn softmax(cx: &mut RuleCx<'_>) -> RuleResult {
    unary_over(cx, &[DType::I8])
}

fn unary_over(cx: &mut RuleCx<'_>, allowed: &[DType]) -> RuleResult {
    let Some((_, dtype)) = cx.tensor(0) else { return Ok(false) };
    cx.one_of(dtype, allowed, "input")?;
    if (1..=4).any(|i| cx.is_open(i)) {
        return Ok(false);
    }
    for (index, dtype) in [(1, DType::F32), (2, DType::I32), (3, DType::F32), (4, DType::I32)] {
        cx.scalar(index, dtype)?;
    }
    cx.ask(&[cx.types[0], cx.types[5]], identity)
}
