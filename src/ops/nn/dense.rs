//! Matrix products.

use super::compute::{Num, input};
use crate::ir::Tensor;
use crate::ir::{Dim, PrimOp};
use crate::ops::kernel::{EvalError, KernelCx, by_lane, count, read, write};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

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
        rule: Some(matmul),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(dense_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.matmul",
        doc: "Multiplies `tensor_a` by the matrix `tensor_b`, either one transposed if asked.",
        args: &["tensor_a", "tensor_b"],
        attrs: Some(&MATMUL),
        rule: Some(matmul),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(matmul_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.batch_matmul",
        doc: "Multiplies matrices pairwise along the first axis; a batch of one is repeated. Python sets `transpose_b` unless told otherwise.",
        args: &["tensor_a", "tensor_b"],
        attrs: Some(&BATCH_MATMUL),
        rule: Some(batch_matmul),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(batch_matmul_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.contrib_dense_pack",
        doc: "`nn.dense` over a weight whose rows are packed in blocks.",
        args: &["data", "weight"],
        attrs: Some(&DENSE),
        rule: Some(dense_pack),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(dense_pack_kernel),
        ..OpInfo::BASE
    },
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

/// `out[i][j] = sum over k of a[i][k] * b[j][k]`, both operands with the inner axis last.
pub(crate) fn multiply<T: Num>(a: &[T], b: &[T], inner: usize, out: &mut Vec<T>) {
    if inner == 0 {
        return;
    }
    // Partial sums in eight lanes, which the compiler keeps in vector registers.
    let dot = |x: &[T], y: &[T]| {
        let mut lanes = [T::ZERO; 8];
        let (xs, ys) = (x.chunks_exact(8), y.chunks_exact(8));
        let rest = xs.remainder().iter().zip(ys.remainder()).fold(T::ZERO, |s, (&p, &q)| s.plus(p.times(q)));
        for (p, q) in xs.zip(ys) {
            for i in 0..8 {
                lanes[i] = lanes[i].plus(p[i].times(q[i]));
            }
        }
        lanes.into_iter().fold(rest, |s, lane| s.plus(lane))
    };
    for row in a.chunks_exact(inner) {
        out.extend(b.chunks_exact(inner).map(|column| dot(row, column)));
    }
}

/// A matrix with its axes swapped.
fn transposed<T: Num>(values: &[T], rows: usize, columns: usize) -> Vec<T> {
    (0..columns).flat_map(|c| (0..rows).map(move |r| values[r * columns + c])).collect()
}

/// Kernel of the plain operator; the quantised one uses it too.
pub(crate) fn dense_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    product(cx, inputs, false, true)
}

fn matmul_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    product(cx, inputs, cx.flag("transpose_a"), cx.flag("transpose_b"))
}

fn product(cx: &KernelCx<'_>, inputs: &[Tensor], swap_a: bool, swap_b: bool) -> Result<Vec<Tensor>, EvalError> {
    let (a, b) = (input(inputs, 0)?, input(inputs, 1)?);
    let rank = a.shape.len();
    if rank < 1 + usize::from(swap_a) || b.shape.len() != 2 {
        return Err(EvalError::new(format!("cannot multiply shapes {:?} and {:?}", a.shape, b.shape)));
    }
    let (b_inner, columns) = if swap_b { (b.shape[1], b.shape[0]) } else { (b.shape[0], b.shape[1]) };
    let mut shape = a.shape.to_vec();
    if swap_a {
        shape.swap(rank - 2, rank - 1);
    }
    let inner = shape[rank - 1];
    shape[rank - 1] = columns;
    if inner != b_inner {
        return Err(EvalError::new(format!("cannot multiply shapes {:?} and {:?}", a.shape, b.shape)));
    }
    let dtype = cx.store.attr_dtype(cx.attrs, "out_dtype").unwrap_or(a.dtype);
    let n = count(&shape, dtype)?;
    by_lane!(dtype, T => {
        let (mut left, mut right): (Vec<T>, Vec<T>) = (read(a)?, read(b)?);
        if swap_a {
            let (rows, columns) = (a.shape[rank - 2] as usize, a.shape[rank - 1] as usize);
            let matrices = left.chunks(rows * columns.max(1));
            left = matrices.flat_map(|matrix| transposed(matrix, rows, columns)).collect();
        }
        if !swap_b {
            right = transposed(&right, b_inner as usize, columns as usize);
        }
        let mut out = Vec::with_capacity(n);
        multiply(&left, &right, inner as usize, &mut out);
        out.resize(n, T::ZERO);
        Ok(vec![write(dtype, &shape, &out)?])
    })
}

/// Kernel of the plain operator; the quantised one uses it too.
pub(crate) fn batch_matmul_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (a, b) = (input(inputs, 0)?, input(inputs, 1)?);
    let (swap_a, swap_b) = (cx.flag("transpose_a"), cx.flag("transpose_b"));
    let wrong = || EvalError::new(format!("cannot multiply shapes {:?} and {:?}", a.shape, b.shape));
    let (&[a_batch, a1, a2], &[b_batch, b1, b2]) = (&*a.shape, &*b.shape) else { return Err(wrong()) };
    let (rows, inner) = if swap_a { (a2, a1) } else { (a1, a2) };
    let (columns, b_inner) = if swap_b { (b1, b2) } else { (b2, b1) };
    let batch = if a_batch == 1 { b_batch } else { a_batch };
    if inner != b_inner || (b_batch != 1 && b_batch != batch) {
        return Err(wrong());
    }
    let dtype = cx.store.attr_dtype(cx.attrs, "out_dtype").unwrap_or(a.dtype);
    let shape = [batch, rows, columns];
    let n = count(&shape, dtype)?;
    by_lane!(dtype, T => {
        let (left, right): (Vec<T>, Vec<T>) = (read(a)?, read(b)?);
        let mut out = Vec::with_capacity(n);
        for i in 0..batch as usize {
            let (size_a, size_b) = ((a1 * a2) as usize, (b1 * b2) as usize);
            let x = &left[if a_batch == 1 { 0 } else { i * size_a }..][..size_a];
            let y = &right[if b_batch == 1 { 0 } else { i * size_b }..][..size_b];
            let x = if swap_a { transposed(x, a1 as usize, a2 as usize) } else { x.to_vec() };
            let y = if swap_b { y.to_vec() } else { transposed(y, b1 as usize, b2 as usize) };
            multiply(&x, &y, inner as usize, &mut out);
        }
        out.resize(n, T::ZERO);
        Ok(vec![write(dtype, &shape, &out)?])
    })
}

/// The weight has the form `(units / tile, inner, tile)`, or `(units / tile, inner / part, tile, part)`.
pub(crate) fn dense_pack_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (a, b) = (input(inputs, 0)?, input(inputs, 1)?);
    let (&[rows, inner], &[blocks, outer, tile] | &[blocks, outer, tile, _]) = (&*a.shape, &*b.shape) else {
        return Err(EvalError::new("the operands of a packed dense layer have 2 and 3 or 4 axes"));
    };
    let part = b.shape.get(3).copied().unwrap_or(1);
    if outer * part != inner {
        return Err(EvalError::new(format!("cannot multiply shapes {:?} and {:?}", a.shape, b.shape)));
    }
    let dtype = cx.store.attr_dtype(cx.attrs, "out_dtype").unwrap_or(a.dtype);
    let shape = [rows, blocks * tile];
    let n = count(&shape, dtype)?;
    by_lane!(dtype, T => {
        let (left, packed): (Vec<T>, Vec<T>) = (read(a)?, read(b)?);
        let mut right = Vec::with_capacity(packed.len());
        for unit in 0..blocks * tile {
            for k in 0..inner {
                let place = ((unit / tile * outer + k / part) * tile + unit % tile) * part + k % part;
                right.push(packed[place as usize]);
            }
        }
        let mut out = Vec::with_capacity(n);
        multiply(&left, &right, inner as usize, &mut out);
        out.resize(n, T::ZERO);
        Ok(vec![write(dtype, &shape, &out)?])
    })
}
