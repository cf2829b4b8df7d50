//! Operators that write elements by index.

use super::index::index_depth;
use super::{ensure, input, is_integer, scatter_kernels};
use crate::ir::{DType, DTypeCode, Dim};
use crate::ops::relax::{deduce, layout};
use crate::ops::row::{op, prim, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.ScatterElementsAttrs`.
pub static SCATTER_ELEMENTS: AttrsSchema =
    schema("relay.attrs.ScatterElementsAttrs", &[field::integer("axis", 0), field::text("reduction", "update")]);

/// Attributes `relay.attrs.ScatterNDAttrs`.
pub static SCATTER_ND: AttrsSchema = schema("relay.attrs.ScatterNDAttrs", &[field::text("mode", "update")]);

/// Attributes `relay.attrs.TriluAttrs`.
pub static TRILU: AttrsSchema = schema("relay.attrs.TriluAttrs", &[field::flag("upper", true)]);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op(
        "scatter_elements",
        "The input with elements along an axis replaced by updates at the given indices, or combined with \
         them as `reduction` says.",
    )
    .pattern(OpPattern::Opaque)
    .kernel(scatter_kernels::scatter_elements)
    .relay(relay(&["data", "indices", "updates"], scatter_elements_rule))
    .relax(
        relax(&[value("data"), value("indices"), value("updates")], deduce::checks::update)
            .attrs(&schema("relax.attrs.ScatterElementsAttrs", &[field::int("axis", 0), field::text("reduction", "update")]))
            .layout(layout::select::scatter_elements),
    ),
    op("scatter_nd", "The input with elements or slices at index tuples replaced by updates, or combined with them.")
        .pattern(OpPattern::Opaque)
        .kernel(scatter_kernels::scatter_nd)
        .relay(relay(&["data", "indices", "updates"], scatter_nd_rule))
        .relax(
            relax(&[value("data"), value("indices"), value("updates")], deduce::checks::update)
                .attrs(&schema("relax.attrs.ScatterNDAttrs", &[field::text("reduction", "update")]))
                .layout(layout::select::scatter_nd),
        ),
    op("sparse_to_dense", "A dense tensor of `default_value` with the given values at the given indices.")
        .pattern(OpPattern::Opaque)
        .kernel(scatter_kernels::sparse_to_dense)
        .relay(
            relay(&["sparse_indices", "sparse_values", "default_value"], sparse_to_dense_rule)
                .attrs(&schema("relay.attrs.SparseToDenseAttrs", &[field::required("output_shape", AttrKind::Ints)])),
        ),
    op("sparse_fill_empty_rows", "Fills the empty rows of a sparse tensor with a default value.")
        .pattern(OpPattern::Opaque)
        .kernel(scatter_kernels::sparse_fill_empty_rows)
        .relay(relay(&["sparse_indices", "sparse_values", "dense_shape", "default_value"], sparse_fill_empty_rows_rule)),
    op("sparse_reshape", "The indices of a sparse tensor after it was reshaped.")
        .pattern(OpPattern::Injective)
        .kernel(scatter_kernels::sparse_reshape)
        .relay(relay(&["sparse_indices", "prev_shape", "new_shape"], sparse_reshape_rule)),
    op("matrix_set_diag", "The input matrices with the diagonals from `k1` to `k2` replaced.")
        .pattern(OpPattern::Injective)
        .kernel(scatter_kernels::matrix_set_diag)
        .relay(relay(&["input", "diagonal"], matrix_set_diag_rule).attrs(&schema(
            "relay.attrs.MatrixSetDiagAttrs",
            &[
                field::int("k1", 0),
                field::int("k2", 0),
                field::flag("super_diag_right_align", true),
                field::flag("sub_diag_right_align", false),
            ],
        ))),
    op("trilu", "The upper or lower triangle of each matrix, zeros elsewhere.")
        .pattern(OpPattern::ElemWise)
        .kernel(scatter_kernels::trilu)
        .relay(relay(&["data", "k"], trilu_rule)),
    op("index_put", "A tensor with the values at the given indices replaced.").relax(
        relax(&[value("data"), value("indices"), value("values")], deduce::checks::update)
            .attrs(&schema("relax.attrs.IndexPutAttrs", &[field::flag("accumulate", false)])),
    ),
    op("slice_scatter", "A tensor with a slice replaced.").relax(
        relax(&[value("input_tensor"), value("src"), prim("start"), prim("end"), prim("step")], deduce::checks::update)
            .attrs(&schema("relax.attrs.SliceScatterAttrs", &[field::int("axis", 0)])),
    ),
];

fn scatter_elements_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    input!(cx, 0);
    let (_, dtype) = input!(cx, 1);
    input!(cx, 2);
    ensure!(is_integer(dtype), "ScatterElements: indices must be a tensor of integers.");
    let same = cx.types[0];
    cx.output(same)
}

fn scatter_nd_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (data, _) = input!(cx, 0);
    let (indices, dtype) = input!(cx, 1);
    input!(cx, 2);
    ensure!(is_integer(dtype), "ScatterND: indices must be a tensor of integers.");
    let depth = index_depth(cx, &indices, "ScatterND")?;
    ensure!(
        depth <= data.len(),
        "ScatterND: Given updates with shape (Y_0, ..., Y_{{K-1}}, X_M, ..., X_{{N-1}}), and indices with shape (M, Y_0, ..., Y_{{K-1}}), M must be less than or equal to N."
    );
    let same = cx.types[0];
    cx.output(same)
}

pub(super) fn sparse_to_dense_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (indices, index_dtype) = input!(cx, 0);
    let (values, dtype) = input!(cx, 1);
    let (default, _) = input!(cx, 2);
    ensure!(index_dtype.code == DTypeCode::Int, "sparse_indices must be tensor of integers");
    ensure!(indices.len() <= 3, "sparse_indices must be a tensor of either 0D, 1D or 2D");
    ensure!(values.len() <= 2, "sparse_values must be a tensor of either 0D, 1D");
    ensure!(default.is_empty(), "default_value should be a scalar");
    let shape = cx.attr_dims("output_shape").ok_or("sparse_to_dense needs `output_shape`")?;
    cx.output_tensor(&shape, dtype)
}

fn sparse_fill_empty_rows_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (indices, _) = input!(cx, 0);
    let rank = *indices.get(1).ok_or("sparse_indices must be 2-D tensor")?;
    let rows = cx.store.tensor_type(&[Dim::Any, rank], DType::I64);
    let vector = cx.store.tensor_type(&[Dim::Any], DType::I64);
    let tuple = cx.store.tuple_type(&[rows, vector, vector]);
    cx.output(tuple)
}

fn sparse_reshape_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (indices, dtype) = input!(cx, 0);
    let (before, before_dtype) = input!(cx, 1);
    let (after, after_dtype) = input!(cx, 2);
    ensure!(dtype.code == DTypeCode::Int, "sparse_indices must be tensor of integers");
    ensure!(before_dtype.code == DTypeCode::Int, "prev_shape must be tensor of integers");
    ensure!(after_dtype.code == DTypeCode::Int, "new_shape must be tensor of integers");
    ensure!(indices.len() == 2, "sparse_indices must be 2-D tensor");
    ensure!(before.len() == 1, "prev_shape must be 1-D tensor");
    ensure!(after.len() == 1, "new_shape must be 1-D tensor");
    let indices = cx.store.tensor_type(&[indices[0], after[0]], dtype);
    let shape = cx.types[2];
    let tuple = cx.store.tuple_type(&[indices, shape]);
    cx.output(tuple)
}

fn matrix_set_diag_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (matrix, _) = input!(cx, 0);
    let (diagonal, _) = input!(cx, 1);
    let (k1, k2) = (cx.attr_int("k1"), cx.attr_int("k2"));
    ensure!(k2 >= k1, "matrix_set_diag: k2 = {k2} is below k1 = {k1}");
    ensure!(matrix.len() >= 2 && !diagonal.is_empty(), "matrix_set_diag needs matrices and diagonals");
    let same = cx.types[0];
    cx.output(same)
}

fn trilu_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    input!(cx, 0);
    let (k, _) = input!(cx, 1);
    ensure!(k.is_empty(), "Trilu: k must be a 0-D tensor but get {}", cx.show(&k));
    let same = cx.types[0];
    cx.output(same)
}
