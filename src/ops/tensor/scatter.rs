//! Operators that write elements by index.

use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

/// Attributes `relay.attrs.SparseToDenseAttrs`.
pub static SPARSE_TO_DENSE: AttrsSchema =
    AttrsSchema { key: "relay.attrs.SparseToDenseAttrs", fields: &[AttrField::required("output_shape", AttrKind::Ints)] };

/// Attributes `relay.attrs.MatrixSetDiagAttrs`.
pub static MATRIX_SET_DIAG: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MatrixSetDiagAttrs",
    fields: &[
        AttrField::new("k1", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("k2", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("super_diag_right_align", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("sub_diag_right_align", AttrKind::Bool, AttrDefault::Bool(false)),
    ],
};

/// Attributes `relay.attrs.ScatterElementsAttrs`.
pub static SCATTER_ELEMENTS: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ScatterElementsAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Integer, AttrDefault::Int(0)),
        AttrField::new("reduction", AttrKind::Str, AttrDefault::Str("update")),
    ],
};

/// Attributes `relay.attrs.ScatterNDAttrs`.
pub static SCATTER_ND: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ScatterNDAttrs",
    fields: &[AttrField::new("mode", AttrKind::Str, AttrDefault::Str("update"))],
};

/// Attributes `relay.attrs.TriluAttrs`.
pub static TRILU: AttrsSchema =
    AttrsSchema { key: "relay.attrs.TriluAttrs", fields: &[AttrField::new("upper", AttrKind::Bool, AttrDefault::Bool(true))] };

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "scatter_elements",
        doc: "The input with elements along an axis replaced by updates at the given indices, or combined with them as `reduction` says.",
        args: &["data", "indices", "updates"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "scatter_nd",
        doc: "The input with elements or slices at index tuples replaced by updates, or combined with them as `mode` says.",
        args: &["data", "indices", "updates"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "sparse_to_dense",
        doc: "A dense tensor of `default_value` with the given values at the given indices.",
        args: &["sparse_indices", "sparse_values", "default_value"],
        attrs: Some(&SPARSE_TO_DENSE),
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "sparse_fill_empty_rows",
        doc: "Fills the empty rows of a sparse tensor with a default value.",
        args: &["sparse_indices", "sparse_values", "dense_shape", "default_value"],
        pattern: Some(OpPattern::Opaque),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "sparse_reshape",
        doc: "The indices of a sparse tensor after it was reshaped.",
        args: &["sparse_indices", "prev_shape", "new_shape"],
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "matrix_set_diag",
        doc: "The input matrices with the diagonals from `k1` to `k2` replaced.",
        args: &["input", "diagonal"],
        attrs: Some(&MATRIX_SET_DIAG),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "trilu",
        doc: "The upper or lower triangle of each matrix, zeros elsewhere.",
        args: &["data", "k"],
        pattern: Some(OpPattern::ElemWise),
        ..OpInfo::BASE
    },
];
