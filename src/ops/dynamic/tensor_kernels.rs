//! Kernels of the operators in [`super::tensor`]: those of their static counterparts, with the shape
//! read from an input.

use crate::ir::Tensor;
use crate::ops::kernel::{axis_index, count, read, read_scalar, reshaped, write};
use crate::ops::tensor::arrange_kernels::{stretched, tiled};
use crate::ops::tensor::create::spread;
use crate::ops::tensor::ensure;
use crate::ops::tensor::index_kernels::hot;
use crate::ops::tensor::scatter_kernels::dense;
use crate::ops::tensor::shape::known_new_shape;
use crate::ops::tensor::slice::{sliced, slices};
use crate::ops::tensor::sort_kernels::best;
use crate::ops::{EvalError, KernelCx};

type Outputs = Result<Vec<Tensor>, EvalError>;

pub(super) fn reshape(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let shape = known_new_shape(&x[0].shape, &read::<i64>(&x[1])?, cx.flag("allowzero"))?;
    Ok(vec![reshaped(&x[0], &shape)?])
}

pub(super) fn squeeze(_: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let rank = x[0].shape.len();
    let axes: Vec<usize> = read::<i64>(&x[1])?.iter().map(|axis| axis_index(*axis, rank)).collect::<Result<_, _>>()?;
    let shape: Vec<i64> = (0..rank).filter(|i| !axes.contains(i)).map(|i| x[0].shape[i]).collect();
    Ok(vec![reshaped(&x[0], &shape)?])
}

pub(super) fn expand_dims(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let added = cx.int_opt("num_newaxis").unwrap_or(1);
    ensure!((0..=1024).contains(&added), "dyn.expand_dims by {added} axes");
    let at = axis_index(read_scalar(&x[1])?, x[0].shape.len() + 1)?;
    let mut shape = x[0].shape.to_vec();
    shape.splice(at..at, std::iter::repeat_n(1, added as usize));
    Ok(vec![reshaped(&x[0], &shape)?])
}

pub(super) fn tile(_: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let mut reps = read::<i64>(&x[1])?;
    let mut shape = x[0].shape.to_vec();
    let rank = shape.len().max(reps.len());
    shape.splice(0..0, std::iter::repeat_n(1, rank - shape.len()));
    reps.splice(0..0, std::iter::repeat_n(1, rank - reps.len()));
    let repeated: Option<Vec<i64>> = shape.iter().zip(&reps).map(|(extent, rep)| extent.checked_mul(*rep)).collect();
    tiled(&x[0], &repeated.ok_or("the result is too large")?)
}

pub(super) fn broadcast_to(_: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    Ok(vec![stretched(&x[0], &read::<i64>(&x[1])?)?])
}

pub(super) fn zeros(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    filled(cx, x, 0)
}

pub(super) fn ones(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    filled(cx, x, 1)
}

fn filled(cx: &KernelCx<'_>, x: &[Tensor], value: i64) -> Outputs {
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").ok_or("`dtype` is not given")?;
    let shape = read::<i64>(&x[0])?;
    Ok(vec![write(dtype, &shape, &vec![value; count(&shape, dtype)?])?])
}

pub(super) fn full(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").unwrap_or(x[0].dtype);
    spread(&x[0], &(read::<i64>(&x[1])?, dtype))
}

pub(super) fn one_hot(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").ok_or("`dtype` is not given")?;
    let axis = cx.int("axis")?;
    let mut shape = x[0].shape.to_vec();
    let place = if axis == -1 { shape.len() as i64 } else { axis };
    ensure!((0..=shape.len() as i64).contains(&place), "one_hot: `axis` is out of range: {axis}");
    shape.insert(place as usize, read_scalar(&x[3])?);
    hot(x, &shape, dtype, place)
}

pub(super) fn strided_slice(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let bounds = |i: usize| Ok::<_, EvalError>(read::<i64>(&x[i])?.into_iter().map(Some).collect::<Vec<_>>());
    let slices = slices(&bounds(1)?, &bounds(2)?, &bounds(3)?, None, cx.text("slice_mode"), x[0].shape.len())?;
    Ok(vec![sliced(&x[0], &slices)?])
}

pub(super) fn sparse_to_dense(_: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    dense(x, &read::<i64>(&x[3])?)
}

pub(super) fn topk(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let mut shape = x[0].shape.to_vec();
    let axis = axis_index(cx.int("axis")?, shape.len())?;
    let k: i64 = read_scalar(&x[1])?;
    if k >= 1 {
        shape[axis] = k;
    }
    best(cx, &x[0], &shape)
}
