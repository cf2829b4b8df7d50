//! Matrix products over quantised tensors.

use crate::ops::nn::dense::{BATCH_MATMUL, DENSE};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

/// Attributes `relay.attrs.DensePackAttrs`.
pub static DENSE_PACK: AttrsSchema = AttrsSchema {
    key: "relay.attrs.DensePackAttrs",
    fields: &[
        AttrField::required("units", AttrKind::Integer),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
        AttrField::new("weight_layout", AttrKind::Str, AttrDefault::Str("NC")),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "qnn.dense",
        doc: "A dense layer over quantised data and weight; the result is in 32 bit integers at the product of both scales.",
        args: &["data", "weight", "input_scale", "input_zero_point", "weight_scale", "weight_zero_point"],
        attrs: Some(&DENSE),
        pattern: Some(OpPattern::OutEWiseFusable),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.contrib_dense_pack",
        doc: "`qnn.dense` over a weight packed in blocks.",
        args: &["data", "weight", "input_scale", "input_zero_point", "weight_scale", "weight_zero_point"],
        attrs: Some(&DENSE_PACK),
        pattern: Some(OpPattern::OutEWiseFusable),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "qnn.batch_matmul",
        doc: "Pairwise products of quantised matrices; the second one is transposed.",
        args: &["x", "y", "x_scale", "x_zero_point", "y_scale", "y_zero_point"],
        attrs: Some(&BATCH_MATMUL),
        pattern: Some(OpPattern::OutEWiseFusable),
        non_computational: true,
        ..OpInfo::BASE
    },
];
