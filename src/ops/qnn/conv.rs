//! Convolutions over quantised tensors.

use crate::ops::nn::conv::CONV2D;
use crate::ops::nn::conv_transpose::CONV2DTRANSPOSE;
use crate::ops::nn::pool::AVG_POOL2D;
use crate::ops::{OpInfo, OpPattern};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "qnn.conv2d",
        doc: "A 2-D convolution over quantised data and weight; the result is in 32 bit integers at the product of both scales.",
        args: &["data", "weight", "input_scale", "input_zero_point", "weight_scale", "weight_zero_point"],
        attrs: Some(&CONV2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.conv2d_transpose",
        doc: "A transposed 2-D convolution over quantised data and weight.",
        args: &["data", "weight", "input_scale", "input_zero_point", "weight_scale", "weight_zero_point"],
        attrs: Some(&CONV2DTRANSPOSE),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.avg_pool2d",
        doc: "The mean of each window over quantised data, requantised to the output scale and zero point.",
        args: &["data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"],
        attrs: Some(&AVG_POOL2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
];
