//! Products and sums with sparse matrices.

use crate::ir::Dim;
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

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
        rule: Some(sparse_dense),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.internal.sparse_dense_padded",
        doc: "`nn.sparse_dense` over a matrix padded for GPU schedules.",
        args: &["data", "weight_data", "weight_indices", "weight_indptr"],
        attrs: Some(&SPARSE_DENSE),
        rule: Some(sparse_dense),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.sparse_transpose",
        doc: "Transposes a square CSR matrix; the result is a tuple of data, indices and index pointers.",
        args: &["sparse_data", "sparse_indices", "sparse_indptr"],
        attrs: Some(&SPARSE_TRANSPOSE),
        rule: Some(sparse_transpose),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.sparse_add",
        doc: "Adds a CSR matrix to a dense one.",
        args: &["dense_data", "sparse_data", "sparse_indices", "sparse_indptr"],
        rule: Some(sparse_add),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.sparse_conv2d",
        doc: "A 2-D convolution of kernel size one or three over a sparse kernel in BSR form.",
        args: &["dense_data", "sparse_data", "sparse_indices", "sparse_indptr"],
        attrs: Some(&SPARSE_CONV2D),
        rule: Some(sparse_conv2d),
        pattern: Some(OpPattern::OutEWiseFusable),
        ..OpInfo::BASE
    },
];

/// How many rows a sparse matrix has: one less than index pointers, times the height of a block.
fn rows(cx: &mut RuleCx<'_>, data: &[Dim], pointers: &[Dim]) -> Result<Dim, String> {
    let (Some(&count), 1 | 3) = (pointers.first(), data.len()) else {
        return Err("a sparse matrix should have 1 (CSR) or 3 (BSR) axes of data".into());
    };
    let rows = cx.sub(count, Dim::int(1));
    Ok(if data.len() == 3 { cx.mul(rows, data[1]) } else { rows })
}

/// TVM's `SparseDenseRel`.
fn sparse_dense(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((dense, dtype)), Some((data, _)), Some((pointers, _))) = (cx.tensor(0), cx.tensor(1), cx.tensor(3)) else {
        return Ok(false);
    };
    let rows = rows(cx, &data, &pointers)?;
    let Some(&dense_rows) = dense.first() else {
        return Err("the dense operand needs 2 axes".into());
    };
    let out = if cx.attr_flag("sparse_lhs") { [rows, dense_rows] } else { [dense_rows, rows] };
    cx.output_tensor(&out, dtype)
}

/// TVM's `SparseTransposeRel`: the three parts keep their types.
fn sparse_transpose(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((data, _)), Some((indices, _)), Some(_)) = (cx.tensor(0), cx.tensor(1), cx.tensor(2)) else {
        return Ok(false);
    };
    if data.len() != 1 || indices.len() != 1 {
        return Err("sparse data and indices must have 1 axis".into());
    }
    let out = cx.store.tuple_type(&cx.types[..3]);
    cx.output(out)
}

/// TVM's `SparseAddRel`.
fn sparse_add(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((_, dtype)), Some((data, data_dtype)), Some((indices, _))) = (cx.tensor(0), cx.tensor(1), cx.tensor(2)) else {
        return Ok(false);
    };
    if dtype != data_dtype {
        return Err("sparse tensor and dense tensor datatype should match.".into());
    }
    if data.len() != 1 || indices.len() != 1 {
        return Err("sparse data tensor should be 1D.".into());
    }
    cx.output(cx.types[0])
}

/// TVM's `SparseConv2dRel`.
fn sparse_conv2d(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((shape, dtype)), Some((data, _)), Some((pointers, _))) = (cx.tensor(0), cx.tensor(1), cx.tensor(3)) else {
        return Ok(false);
    };
    let (2 | 3, 4, Some(&count)) = (data.len(), shape.len(), pointers.first()) else {
        return Err(format!("Unknown weight ndim {} for nn.sparse_conv2d, should be 2 or 3 (BSR)", data.len()));
    };
    let blocks = cx.sub(count, Dim::int(1));
    let channels = cx.mul(blocks, data[1]);
    let out = match cx.attr_text("layout") {
        "NHWC" => [shape[0], shape[1], shape[2], channels],
        "NCHW" => [shape[0], channels, shape[2], shape[3]],
        other => return Err(format!("nn.sparse_conv2d does not know the layout {other}")),
    };
    cx.output_tensor(&out, dtype)
}
