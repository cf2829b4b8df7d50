//! Products and sums with sparse matrices.

use super::compute::{Num, input, values};
use crate::ir::Dim;
use crate::ir::Tensor;
use crate::ops::kernel::{EvalError, KernelCx, by_lane, count, write};
use crate::ops::row::{op, relay};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relay.attrs.SparseDenseAttrs`.
pub static SPARSE_DENSE: AttrsSchema = schema("relay.attrs.SparseDenseAttrs", &[field::flag("sparse_lhs", false)]);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op(
        "nn.sparse_dense",
        "Multiplies a dense matrix by a sparse one in CSR or BSR form; the sparse one is the left operand \
         with `sparse_lhs`.",
    )
    .pattern(OpPattern::OutEWiseFusable)
    .kernel(sparse_dense_kernel)
    .relay(relay(&["dense_data", "sparse_data", "sparse_indices", "sparse_indptr"], sparse_dense).attrs(&SPARSE_DENSE)),
    op("nn.internal.sparse_dense_padded", "`nn.sparse_dense` over a matrix padded for GPU schedules.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(sparse_dense_kernel)
        .relay(relay(&["data", "weight_data", "weight_indices", "weight_indptr"], sparse_dense).attrs(&SPARSE_DENSE)),
    op("nn.sparse_transpose", "Transposes a square CSR matrix; the result is a tuple of data, indices and index pointers.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(sparse_transpose_kernel)
        .relay(
            relay(&["sparse_data", "sparse_indices", "sparse_indptr"], sparse_transpose)
                .attrs(&schema("relay.attrs.SparseTransposeAttrs", &[])),
        ),
    op("nn.sparse_add", "Adds a CSR matrix to a dense one.")
        .pattern(OpPattern::Opaque)
        .kernel(sparse_add_kernel)
        .relay(relay(&["dense_data", "sparse_data", "sparse_indices", "sparse_indptr"], sparse_add)),
    op("nn.sparse_conv2d", "A 2-D convolution of kernel size one or three over a sparse kernel in BSR form.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(sparse_conv2d_kernel)
        .relay(relay(&["dense_data", "sparse_data", "sparse_indices", "sparse_indptr"], sparse_conv2d).attrs(&schema(
            "relay.attrs.SparseConv2DAttrs",
            &[field::text("layout", "NHWC"), field::ints("kernel_size", &[1, 1])],
        ))),
];

/// Returns the number of rows of a sparse matrix: the number of index pointers less one, times the height of a block.
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

/// A sparse matrix in block form: CSR has blocks of one element.
struct Sparse<T> {
    values: Vec<T>,
    columns: Vec<usize>,
    /// For each row of blocks, its range in `columns`.
    rows: Vec<std::ops::Range<usize>>,
    height: usize,
    width: usize,
}

impl<T: Num> Sparse<T> {
    fn read(inputs: &[Tensor], data: usize, indices: usize, pointers: usize) -> Result<Sparse<T>, EvalError> {
        let shape = &input(inputs, data)?.shape;
        let (height, width) = match **shape {
            [_] => (1, 1),
            [_, height] => (height as usize, 1),
            [_, height, width] => (height as usize, width as usize),
            _ => return Err(EvalError::new("sparse data has 1 axis (CSR) or 3 (BSR)")),
        };
        let wrong = || EvalError::new("the indices of the sparse matrix are out of range");
        let indices: Vec<i64> = values(inputs, indices)?;
        let pointers: Vec<i64> = values(inputs, pointers)?;
        let columns = indices.iter().map(|i| usize::try_from(*i)).collect::<Result<Vec<_>, _>>().map_err(|_| wrong())?;
        let blocks = shape[0].min(columns.len() as i64);
        let rows = pointers
            .windows(2)
            .map(|p| (0 <= p[0] && p[0] <= p[1] && p[1] <= blocks).then_some(p[0] as usize..p[1] as usize))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(wrong)?;
        Ok(Sparse { values: values(inputs, data)?, columns, rows, height, width })
    }

    /// Calls `f` with row, column and value of every stored element.
    fn each(&self, mut f: impl FnMut(usize, usize, T)) {
        for (row, range) in self.rows.iter().enumerate() {
            for block in range.clone() {
                for i in 0..self.height * self.width {
                    let (r, c) = (i / self.width, i % self.width);
                    f(
                        row * self.height + r,
                        self.columns[block] * self.width + c,
                        self.values[block * self.height * self.width + i],
                    );
                }
            }
        }
    }
}

fn sparse_dense_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let dense = input(inputs, 0)?;
    let &[dense_rows, inner] = &*dense.shape else {
        return Err(EvalError::new("the dense operand has 2 axes"));
    };
    by_lane!(dense.dtype, T => {
        let x: Vec<T> = values(inputs, 0)?;
        let sparse = Sparse::<T>::read(inputs, 1, 2, 3)?;
        let rows = sparse.rows.len() * sparse.height;
        let left = cx.flag("sparse_lhs");
        let shape = if left { [rows as i64, dense_rows] } else { [dense_rows, rows as i64] };
        let mut out = vec![T::ZERO; count(&shape, dense.dtype)?];
        let (m, inner) = (dense_rows as usize, inner as usize);
        let mut outside = false;
        sparse.each(|row, column, value| {
            if column >= inner {
                outside = true;
                return;
            }
            for i in 0..m {
                let place = if left { row * m + i } else { i * rows + row };
                out[place] = out[place].plus(value.times(x[i * inner + column]));
            }
        });
        if outside {
            return Err(EvalError::new("a column of the sparse matrix is out of range"));
        }
        Ok(vec![write(dense.dtype, &shape, &out)?])
    })
}

fn sparse_add_kernel(_: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let dense = input(inputs, 0)?;
    let &[rows, columns] = &*dense.shape else { return Err(EvalError::new("the dense operand has 2 axes")) };
    by_lane!(dense.dtype, T => {
        let mut out: Vec<T> = values(inputs, 0)?;
        let sparse = Sparse::<T>::read(inputs, 1, 2, 3)?;
        let mut outside = sparse.rows.len() * sparse.height > rows as usize;
        sparse.each(|row, column, value| {
            match out.get_mut(row * columns as usize + column).filter(|_| column < columns as usize) {
                Some(sum) => *sum = sum.plus(value),
                None => outside = true,
            }
        });
        if outside {
            return Err(EvalError::new("a place of the sparse matrix is out of range"));
        }
        Ok(vec![write(dense.dtype, &dense.shape, &out)?])
    })
}

/// Elements of a column come in the order of their rows.
fn sparse_transpose_kernel(_: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (data, indices, pointers) = (input(inputs, 0)?, input(inputs, 1)?, input(inputs, 2)?);
    by_lane!(data.dtype, T => {
        let sparse = Sparse::<T>::read(inputs, 0, 1, 2)?;
        let size = sparse.rows.len();
        let mut columns: Vec<Vec<(i64, T)>> = vec![Vec::new(); size];
        let mut outside = false;
        sparse.each(|row, column, value| match columns.get_mut(column) {
            Some(list) => list.push((row as i64, value)),
            None => outside = true,
        });
        if outside {
            return Err(EvalError::new("only square sparse matrices can be transposed"));
        }
        let mut ends = vec![0i64];
        for column in &columns {
            ends.push(ends.last().copied().unwrap_or(0) + column.len() as i64);
        }
        let elements: Vec<T> = columns.iter().flatten().map(|(_, v)| *v).collect();
        let rows: Vec<i64> = columns.iter().flatten().map(|(r, _)| *r).collect();
        Ok(vec![
            write(data.dtype, &data.shape, &elements)?,
            write(indices.dtype, &indices.shape, &rows)?,
            write(pointers.dtype, &pointers.shape, &ends)?,
        ])
    })
}

/// Supports kernels of one element only, as TVM's schedules do.
fn sparse_conv2d_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    if cx.ints("kernel_size")?.iter().any(|k| *k != 1) {
        return Err(EvalError::new("only a kernel of size 1 is supported here"));
    }
    let layout = super::compute::layout(cx, "layout")?;
    let plain = super::compute::plain("NCHW")?;
    let data = layout.convert_tensor(&plain, input(inputs, 0)?)?;
    let [batch, channels] = [data.shape[0] as usize, data.shape[1] as usize];
    let area = (data.shape[2] * data.shape[3]) as usize;
    by_lane!(data.dtype, T => {
        let x: Vec<T> = crate::ops::kernel::read(&data)?;
        let sparse = Sparse::<T>::read(inputs, 1, 2, 3)?;
        let outputs = sparse.rows.len() * sparse.height;
        let shape = [data.shape[0], outputs as i64, data.shape[2], data.shape[3]];
        let mut out = vec![T::ZERO; count(&shape, data.dtype)?];
        let mut outside = false;
        sparse.each(|row, column, value| {
            if column >= channels {
                outside = true;
                return;
            }
            for n in 0..batch {
                for p in 0..area {
                    let place = (n * outputs + row) * area + p;
                    out[place] = out[place].plus(value.times(x[(n * channels + column) * area + p]));
                }
            }
        });
        if outside {
            return Err(EvalError::new("a column of the sparse matrix is out of range"));
        }
        Ok(vec![plain.convert_tensor(&layout, &write(data.dtype, &shape, &out)?)?])
    })
}
