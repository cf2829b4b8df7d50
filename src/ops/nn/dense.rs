//! Matrix products.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

/// Attributes `relay.attrs.DenseAttrs`.
pub static DENSE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.DenseAttrs",
    fields: &[
        AttrField::required("units", AttrKind::Integer),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
    ],
};

/// Attributes `relay.attrs.MatmulAttrs`.
pub static MATMUL: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MatmulAttrs",
    fields: &[
        AttrField::required("units", AttrKind::Integer),
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
        AttrField::new("transpose_a", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("transpose_b", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.BatchMatmulAttrs`.
pub static BATCH_MATMUL: AttrsSchema = AttrsSchema {
    key: "relay.attrs.BatchMatmulAttrs",
    fields: &[
        AttrField::new("out_dtype", AttrKind::DType, AttrDefault::DType("")),
        AttrField::new("transpose_a", AttrKind::Bool, AttrDefault::Bool(false)),
        AttrField::new("transpose_b", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.dense",
        doc: "Multiplies the last axis of `data` by the transposed matrix `weight`, which has one row for each of `units` outputs.",
        args: &["data", "weight"],
        attrs: Some(&DENSE),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.matmul",
        doc: "Multiplies `tensor_a` by the matrix `tensor_b`, either one transposed if asked.",
        args: &["tensor_a", "tensor_b"],
        attrs: Some(&MATMUL),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.batch_matmul",
        doc: "Multiplies matrices pairwise along the first axis; a batch of one is repeated. Python sets `transpose_b` unless told otherwise.",
        args: &["tensor_a", "tensor_b"],
        attrs: Some(&BATCH_MATMUL),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_dense_pack",
        doc: "`nn.dense` over a weight whose rows are packed in blocks.",
        args: &["data", "weight"],
        attrs: Some(&DENSE),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
];
