//! Kernels of matrix products.

use super::compute::{Num, input};
use crate::ir::Tensor;
use crate::ops::kernel::{EvalError, KernelCx, by_lane, count, read, write};

/// `out[i][j] = sum over k of a[i][k] * b[j][k]`, both operands with the inner axis last.
fn multiply<T: Num>(a: &[T], b: &[T], inner: usize, out: &mut Vec<T>) {
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
pub fn dense(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    product(cx, inputs, false, true)
}

/// Kernel of a product either of whose operands may be transposed.
pub fn matmul(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
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
pub fn batch_matmul(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
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
pub fn dense_pack(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
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
