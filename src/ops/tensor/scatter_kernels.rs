//! Kernels of the operators in [`super::scatter`].

use super::binary::Arithmetic;
use super::ensure;
use super::scatter::sparse_to_dense_rule;
use crate::ir::{DType, Tensor};
use crate::ops::concrete::result_type;
use crate::ops::kernel::{axis_index, by_lane, bytes, count, read, read_scalar, round_to, strides, write};
use crate::ops::{EvalError, KernelCx};

type Outputs = Result<Vec<Tensor>, EvalError>;

/// Returns the function that combines an update with the element at its index.
fn combination<T: Arithmetic>(mode: &str) -> Result<fn(T, T) -> T, EvalError> {
    Ok(match mode {
        "update" => |_, new| new,
        "add" => T::plus,
        "mul" => T::times,
        "mean" => |old, new| old.plus(new).over(T::from_i64(2)),
        "min" => |old, new| if old < new { old } else { new },
        "max" => |old, new| if old > new { old } else { new },
        other => return Err(EvalError(format!("no way of scattering is called `{other}`"))),
    })
}

/// Combines `updates` one after the other into `data`, each at its offset.
fn scattered(data: &Tensor, updates: &Tensor, places: &[usize], mode: &str) -> Outputs {
    by_lane!(data.dtype, T => {
        let (mut values, updates) = (read::<T>(data)?, read::<T>(updates)?);
        let combine = combination::<T>(mode)?;
        ensure!(updates.len() >= places.len(), "there are fewer updates than indices");
        for (place, update) in places.iter().zip(updates) {
            let value = values.get_mut(*place).ok_or("an index is out of range")?;
            *value = round_to(data.dtype, combine(*value, update));
        }
        Ok(vec![write(data.dtype, &data.shape, &values)?])
    })
}

fn mode_or_update<'a>(cx: &'a KernelCx<'_>, name: &str) -> &'a str {
    match cx.text(name) {
        "" => "update",
        mode => mode,
    }
}

pub(super) fn scatter_elements(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (data, along) = (&x[0].shape, &x[1].shape);
    let axis = axis_index(cx.int_opt("axis").unwrap_or(0), data.len())?;
    ensure!(along.len() == data.len() && x[2].len() == x[1].len(), "scatter_elements: data, indices and updates differ in shape");
    let size = |extents: &[i64]| extents.iter().product::<i64>() as usize;
    let (outer, inner) = (size(&along[..axis]), size(&along[axis + 1..]));
    let (steps, extent, after) = (along[axis] as usize, data[axis], size(&data[axis + 1..]));
    let indices = read::<i64>(&x[1])?;
    let mut places = Vec::with_capacity(indices.len());
    // TVM finds the place from the flattened axes before and behind, also where those of the
    // indices are shorter than those of the data.
    for i in 0..outer {
        for k in 0..steps {
            for j in 0..inner {
                let index = indices[(i * steps + k) * inner + j];
                let index = if index < 0 { index + extent } else { index };
                ensure!((0..extent).contains(&index), "index {index} is out of range for an axis of {extent}");
                places.push((i * extent as usize + index as usize) * after + j);
            }
        }
    }
    scattered(&x[0], &x[2], &places, mode_or_update(cx, "reduction"))
}

pub(super) fn scatter_nd(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (data, tuples) = (&x[0].shape, &x[1].shape);
    ensure!(!tuples.is_empty() && tuples[0] as usize <= data.len(), "scatter_nd: index tuples are longer than the data has axes");
    let depth = tuples[0] as usize;
    let (indices, from) = (read::<i64>(&x[1])?, strides(data));
    let n_tuples = tuples[1..].iter().product::<i64>() as usize;
    let inner = data[depth..].iter().product::<i64>() as usize;
    let mut places = Vec::with_capacity(n_tuples * inner);
    for tuple in 0..n_tuples {
        let mut base = 0;
        for i in 0..depth {
            let index = indices[i * n_tuples + tuple];
            ensure!((0..data[i]).contains(&index), "index {index} is out of range for an axis of {}", data[i]);
            base += index as usize * from[i];
        }
        places.extend(base..base + inner);
    }
    scattered(&x[0], &x[2], &places, mode_or_update(cx, "mode"))
}

pub(super) fn sparse_to_dense(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, _) = result_type(cx, sparse_to_dense_rule, x)?;
    dense(x, &shape)
}

/// Makes the tensor of `shape` that has the values at their indices; indices outside are ignored, and
/// of equal ones the last counts.
pub(crate) fn dense(x: &[Tensor], shape: &[i64]) -> Outputs {
    let (indices, values, default) = (&x[0], &x[1], &x[2]);
    let n = count(shape, values.dtype)?;
    let depth = if indices.shape.len() == 2 { indices.shape[1] as usize } else { 1 };
    ensure!(depth <= shape.len(), "sparse_to_dense: indices have {depth} parts, the shape {}", shape.len());
    let (from, inner) = (strides(shape), shape[depth..].iter().product::<i64>() as usize);
    let indices = read::<i64>(indices)?;
    by_lane!(values.dtype, T => {
        let mut out = vec![read_scalar::<T>(default)?; n];
        for (tuple, value) in indices.chunks_exact(depth.max(1)).zip(read::<T>(values)?) {
            if tuple.iter().zip(shape).all(|(i, extent)| (0..*extent).contains(i)) {
                let base: usize = tuple.iter().zip(&from).map(|(i, stride)| *i as usize * stride).sum();
                out[base..base + inner].fill(value);
            }
        }
        Ok(vec![write(values.dtype, shape, &out)?])
    })
}

pub(super) fn sparse_fill_empty_rows(_: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    ensure!(x[0].shape.len() == 2, "sparse_indices must be 2-D tensor");
    let width = x[0].shape[1] as usize;
    let (indices, values) = (read::<i64>(&x[0])?, read::<i64>(&x[1])?);
    let n_rows = read::<i64>(&x[2])?.first().copied().unwrap_or(0);
    count(&[n_rows, width as i64], DType::I64)?;
    let default = read_scalar::<i64>(&x[3])?;
    let (mut out, mut filled, mut empty) = (Vec::new(), Vec::new(), vec![1i64; n_rows as usize]);
    let add_empty = |rows: std::ops::Range<i64>, out: &mut Vec<i64>, filled: &mut Vec<i64>| {
        for row in rows {
            out.push(row);
            out.extend(std::iter::repeat_n(0, width.saturating_sub(1)));
            filled.push(default);
        }
    };
    let mut next = 0;
    for (tuple, value) in indices.chunks_exact(width.max(1)).zip(values) {
        ensure!((0..n_rows).contains(&tuple[0]), "row {} is out of range for {n_rows} rows", tuple[0]);
        add_empty(next..tuple[0], &mut out, &mut filled);
        out.extend_from_slice(tuple);
        filled.push(value);
        empty[tuple[0] as usize] = 0;
        next = tuple[0] + 1;
    }
    add_empty(next..n_rows, &mut out, &mut filled);
    let n = filled.len() as i64;
    Ok(vec![
        write(DType::I64, &[n, width as i64], &out)?,
        write(DType::I64, &[n], &filled)?,
        write(DType::I64, &[n_rows], &empty)?,
    ])
}

pub(super) fn sparse_reshape(_: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    ensure!(x[0].shape.len() == 2, "sparse_indices must be 2-D tensor");
    let (indices, before, mut after) = (read::<i64>(&x[0])?, read::<i64>(&x[1])?, read::<i64>(&x[2])?);
    ensure!(before.iter().all(|e| *e >= 0), "sparse_reshape from a shape with negative extents");
    let product = |extents: &mut dyn Iterator<Item = &i64>| extents.fold(1i64, |n, e| n.wrapping_mul(*e));
    let all = product(&mut before.iter());
    let known = product(&mut after.iter().filter(|e| **e != -1));
    for extent in after.iter_mut().filter(|e| **e == -1) {
        *extent = all.checked_div(known).unwrap_or(0);
    }
    let (from, to) = (strides(&before), strides(&after));
    let mut out = Vec::new();
    for tuple in indices.chunks_exact(before.len().max(1)) {
        let places = tuple.iter().zip(&from).map(|(i, stride)| i.wrapping_mul(*stride as i64));
        let mut rest = places.fold(0, i64::wrapping_add);
        for stride in &to {
            ensure!(*stride as i64 > 0, "sparse_reshape to a shape without elements");
            out.push(rest / *stride as i64);
            rest %= *stride as i64;
        }
    }
    Ok(vec![write(x[0].dtype, &[x[0].shape[0], after.len() as i64], &out)?, write(x[2].dtype, &x[2].shape, &after)?])
}

pub(super) fn matrix_set_diag(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, rank) = (&x[0].shape, x[0].shape.len());
    let (k1, k2) = (cx.int("k1")?, cx.int("k2")?);
    ensure!(
        rank >= 2 && x[1].shape.len() + usize::from(k1 == k2) == rank,
        "matrix_set_diag: the diagonals do not fit the matrices"
    );
    let (rows, columns) = (shape[rank - 2], shape[rank - 1]);
    ensure!(k2 >= k1 && k1.unsigned_abs().max(k2.unsigned_abs()) < 1 << 31, "matrix_set_diag: diagonals {k1} to {k2}");
    let widest = x[1].shape[x[1].shape.len() - 1];
    let n_diagonals = if k1 == k2 { 1 } else { k2 - k1 + 1 };
    let size = x[0].dtype.bytes();
    let diagonals = bytes(&x[1])?;
    let mut out = bytes(&x[0])?.to_vec();
    for (place, element) in out.chunks_exact_mut(size).enumerate() {
        let (matrix, row, column) = (place as i64 / (rows * columns), place as i64 / columns % rows, place as i64 % columns);
        let k = column - row;
        if k < k1 || k > k2 {
            continue;
        }
        // Diagonals shorter than the longest one stand at the left or at the right of their row.
        let right = if k >= 0 { cx.flag("super_diag_right_align") } else { cx.flag("sub_diag_right_align") };
        let length = if k >= 0 { (columns - k).min(rows) } else { columns.min(rows + k) };
        let offset = if right && k1 != k2 { widest - length } else { 0 };
        let line = if k1 == k2 { 0 } else { k2 - k };
        let from = ((matrix * n_diagonals + line) * widest + row.min(column) + offset) as usize * size;
        let source = diagonals.get(from..from + size).ok_or("matrix_set_diag: a diagonal is too short")?;
        element.copy_from_slice(source);
    }
    Ok(vec![Tensor::new(x[0].dtype, shape.clone(), out)])
}

pub(super) fn trilu(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, rank) = (&x[0].shape, x[0].shape.len());
    ensure!(rank >= 2, "trilu needs matrices");
    let (rows, columns) = (shape[rank - 2], shape[rank - 1]);
    // The number of the diagonal is an int32 in TVM.
    let (k, upper) = (i64::from(read_scalar::<i64>(&x[1])? as i32), cx.int_opt("upper") != Some(0));
    let mut out = bytes(&x[0])?.to_vec();
    for (place, element) in out.chunks_exact_mut(x[0].dtype.bytes()).enumerate() {
        let (row, column) = (place as i64 / columns % rows, place as i64 % columns);
        let kept = if upper { row <= column - k } else { row >= column - k };
        if !kept {
            element.fill(0);
        }
    }
    Ok(vec![Tensor::new(x[0].dtype, shape.clone(), out)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::kernel::read;

    #[test]
    fn of_equal_sparse_indices_the_last_counts() {
        let ints = |shape: &[i64], v: &[i64]| write(DType::I32, shape, v).unwrap();
        let out = dense(&[ints(&[3], &[0, 2, 2]), ints(&[3], &[7, 8, 9]), ints(&[], &[-1])], &[4]).unwrap();
        assert_eq!(read::<i64>(&out[0]).unwrap(), [7, -1, 9, -1]);
    }

    #[test]
    fn a_sparse_row_beyond_the_shape_is_an_error_and_takes_no_memory() {
        let store = &mut crate::ir::Store::new();
        let out_type = store.hole();
        let cx = KernelCx { store, attrs: None, out_type };
        let ints = |shape: &[i64], v: &[i64]| write(DType::I64, shape, v).unwrap();
        let rows = |row: i64| [ints(&[1, 2], &[row, 1]), ints(&[1], &[7]), ints(&[2], &[3, 4]), ints(&[], &[0])];
        assert!(sparse_fill_empty_rows(&cx, &rows(1 << 40)).is_err());
        let out = sparse_fill_empty_rows(&cx, &rows(1)).unwrap();
        assert_eq!(read::<i64>(&out[0]).unwrap(), [0, 0, 1, 1, 2, 0]);
        assert_eq!(read::<i64>(&out[2]).unwrap(), [1, 0, 1]);
    }

    #[test]
    fn updates_combine_in_order() {
        let ints = |v: &[i64]| write(DType::I8, &[v.len() as i64], v).unwrap();
        let out = scattered(&ints(&[100, 1]), &ints(&[50, 2, 3]), &[0, 1, 1], "add").unwrap();
        assert_eq!(read::<i64>(&out[0]).unwrap(), [-106, 6]);
        let out = scattered(&ints(&[8]), &ints(&[4, 0]), &[0, 0], "mean").unwrap();
        assert_eq!(read::<i64>(&out[0]).unwrap(), [3]);
    }
}
