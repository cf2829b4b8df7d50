//! Matrix products.

use super::dense_kernel;
use crate::ir::{Dim, PrimOp};
use crate::ops::relax::{deduce, gradient};
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, MixedPrecision, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.DenseAttrs`.
pub static DENSE: AttrsSchema =
    schema("relay.attrs.DenseAttrs", &[field::required("units", AttrKind::Integer), field::dtype("out_dtype", "")]);

/// Attributes `relay.attrs.DensePackAttrs`. TVM's calls of `nn.contrib_dense_pack` have these, although it declares those of
/// `nn.dense` and its own parser does not read `weight_layout` back.
pub static DENSE_PACK: AttrsSchema = schema(
    "relay.attrs.DensePackAttrs",
    &[field::required("units", AttrKind::Integer), field::dtype("out_dtype", ""), field::text("weight_layout", "NC")],
);

/// Attributes `relay.attrs.BatchMatmulAttrs`.
pub static BATCH_MATMUL: AttrsSchema = schema(
    "relay.attrs.BatchMatmulAttrs",
    &[field::dtype("out_dtype", ""), field::flag("transpose_a", false), field::flag("transpose_b", false)],
);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op(
        "nn.dense",
        "Multiplies the last axis of `data` by the transposed matrix `weight`, which has one row for each of \
         `units` outputs.",
    )
    .pattern(OpPattern::OutEWiseFusable)
    .kernel(dense_kernel::dense)
    .relay(relay(&["data", "weight"], matmul).attrs(&DENSE)),
    op("nn.matmul", "Multiplies `tensor_a` by the matrix `tensor_b`, either one transposed if asked.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(dense_kernel::matmul)
        .relay(relay(&["tensor_a", "tensor_b"], matmul).attrs(&schema(
            "relay.attrs.MatmulAttrs",
            &[
                field::required("units", AttrKind::Integer),
                field::dtype("out_dtype", ""),
                field::flag("transpose_a", false),
                field::flag("transpose_b", false),
            ],
        ))),
    op(
        "nn.batch_matmul",
        "Multiplies matrices pairwise along the first axis; a batch of one is repeated. Python sets \
         `transpose_b` unless told otherwise.",
    )
    .pattern(OpPattern::OutEWiseFusable)
    .kernel(dense_kernel::batch_matmul)
    .relay(relay(&["tensor_a", "tensor_b"], batch_matmul).attrs(&BATCH_MATMUL)),
    op("nn.contrib_dense_pack", "`nn.dense` over a weight whose rows are packed in blocks.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(dense_kernel::dense_pack)
        .relay(relay(&["data", "weight"], dense_pack).attrs(&DENSE_PACK)),
    op("matmul", "The product of matrices, as NumPy broadcasts it.").relax(
        relax(&[value("x1"), value("x2")], deduce::linear_algebra::matmul)
            .attrs(&schema("relax.attrs.MatmulAttrs", &[field::or_none("out_dtype", AttrKind::DType)]))
            .mixed(MixedPrecision::Always)
            .gradient(gradient::manipulate::matmul),
    ),
    op("outer", "The outer product of two vectors.")
        .relax(relax(&[value("x1"), value("x2")], deduce::linear_algebra::outer).mixed(MixedPrecision::Always)),
];

/// Relation of `nn.dense` and `nn.matmul` (TVM's `MatmulRel`): with `units` the matrix' type follows
/// from the data, without it unknown extents are filled in from each other.
pub fn matmul(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((data, dtype)) = cx.tensor(0) else { return Ok(false) };
    let weight = cx.tensor(1);
    // `nn.dense` has no such attributes: its weight is always the transposed one.
    let dense = cx.store.attr(cx.attrs, "transpose_b").is_none();
    let (transpose_a, transpose_b) = (cx.attr_flag("transpose_a"), dense || cx.attr_flag("transpose_b"));
    let rank = data.len();
    if rank < 1 + usize::from(transpose_a) {
        return Err("the data of a matrix product needs more axes".into());
    }
    let inner = if transpose_a { rank - 2 } else { rank - 1 };
    let mut out = data.clone();
    if transpose_a {
        out[rank - 2] = data[rank - 1];
    }
    if let Some(units) = cx.attr_dim("units") {
        let shape = if transpose_b { [units, data[inner]] } else { [data[inner], units] };
        cx.assign_tensor(1, &shape, weight.map_or(dtype, |(_, d)| d))?;
        out[rank - 1] = units;
    } else {
        let Some((mut matrix, matrix_dtype)) = weight else { return Ok(false) };
        if matrix.len() != 2 {
            return Err(format!("the weight of a matrix product must have 2 axes, not {}", matrix.len()));
        }
        out[rank - 1] = matrix[usize::from(!transpose_b)];
        let mut filled = data.clone();
        let matrix_inner = usize::from(transpose_b);
        if data[inner] == Dim::Any {
            filled[inner] = matrix[matrix_inner];
        }
        if matrix[matrix_inner] == Dim::Any {
            matrix[matrix_inner] = data[inner];
        }
        cx.assign_tensor(0, &filled, dtype)?;
        cx.assign_tensor(1, &matrix, matrix_dtype)?;
    }
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&out, dtype)
}

/// TVM's `BatchMatmulRel`.
pub fn batch_matmul(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((x, dtype)), Some((y, _))) = (cx.tensor(0), cx.tensor(1)) else { return Ok(false) };
    if x.len() != 3 || y.len() != 3 {
        return Err("batch_matmul multiplies tensors of 3 axes".into());
    }
    let (transpose_a, transpose_b) = (cx.attr_flag("transpose_a"), cx.attr_flag("transpose_b"));
    let (rows, x_inner) = if transpose_a { (x[2], x[1]) } else { (x[1], x[2]) };
    let (columns, y_inner) = if transpose_b { (y[1], y[2]) } else { (y[2], y[1]) };
    let one = Dim::int(1);
    if !x.contains(&Dim::Any) && !y.contains(&Dim::Any) {
        let shapes = format!("x shape={}, y shape={}", cx.show(&x), cx.show(&y));
        if !cx.may_equal(x[0], y[0]) && !cx.may_equal(x[0], one) && !cx.may_equal(y[0], one) {
            return Err(format!("BatchDot: batch dimensions don't match,  {shapes}"));
        }
        if !cx.may_equal(x_inner, y_inner) {
            return Err(format!("BatchDot: shapes of x and y is inconsistent,  {shapes}"));
        }
    }
    let batch = cx.dim(PrimOp::Max, x[0], y[0]);
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&[batch, rows, columns], dtype)
}

/// TVM's `DensePackRel`.
pub fn dense_pack(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((data, dtype)), Some((weight, _))) = (cx.tensor(0), cx.tensor(1)) else { return Ok(false) };
    if data.len() != 2 {
        return Err("Only 2D data is supported".into());
    }
    if weight.len() != 3 && weight.len() != 4 {
        return Err("Expect weight to be 3D or 4D".into());
    }
    let units = cx.mul(weight[0], weight[2]);
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&[data[0], units], dtype)
}
