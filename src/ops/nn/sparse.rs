//! Products and sums with sparse matrices.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};

/// Attributes `relay.attrs.SparseDenseAttrs`.
pub static SPARSE_DENSE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.SparseDenseAttrs",
    fields: &[AttrField::new("sparse_lhs", AttrKind::Bool, AttrDefault::Bool(false))],
};

/// Attributes `relay.attrs.SparseTransposeAttrs`.
pub static SPARSE_TRANSPOSE: AttrsSchema = AttrsSchema { key: "relay.attrs.SparseTransposeAttrs", fields: &[] };

/// Attributes `relay.attrs.SparseConv2DAttrs`.
pub static SPARSE_CONV2D: AttrsSchema = AttrsSchema {
    key: "relay.attrs.SparseConv2DAttrs",
    fields: &[
        AttrField::new("layout", AttrKind::Str, AttrDefault::Str("NHWC")),
        AttrField::new("kernel_size", AttrKind::Ints, AttrDefault::Ints(&[1, 1])),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.sparse_dense",
        doc: "Multiplies a dense matrix by a sparse one in CSR or BSR form; the sparse one is the left operand with `sparse_lhs`.",
        args: &["dense_data", "sparse_data", "sparse_indices", "sparse_indptr"],
        attrs: Some(&SPARSE_DENSE),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.internal.sparse_dense_padded",
        doc: "`nn.sparse_dense` over a matrix padded for GPU schedules.",
        args: &["data", "weight_data", "weight_indices", "weight_indptr"],
        attrs: Some(&SPARSE_DENSE),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.sparse_transpose",
        doc: "Transposes a square CSR matrix; the result is a tuple of data, indices and index pointers.",
        args: &["sparse_data", "sparse_indices", "sparse_indptr"],
        attrs: Some(&SPARSE_TRANSPOSE),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.sparse_add",
        doc: "Adds a CSR matrix to a dense one.",
        args: &["dense_data", "sparse_data", "sparse_indices", "sparse_indptr"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.sparse_conv2d",
        doc: "A 2-D convolution of kernel size one or three over a sparse kernel in BSR form.",
        args: &["dense_data", "sparse_data", "sparse_indices", "sparse_indptr"],
        attrs: Some(&SPARSE_CONV2D),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
];
