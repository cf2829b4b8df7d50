//! Choosing, sorting, sets and sampling (TVM: src/relax/op/tensor/search.cc, sorting.cc, set.cc,
//! sampling.cc).

use super::{Deduce, int};
use crate::ir::{DType, Extents, TypeId};

/// `where`: a condition and two tensors, broadcast against each other.
pub fn where_(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(3)?;
    let (cond, a, b) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    if let Some(dtype) = cond.dtype()
        && dtype != DType::BOOL
    {
        return Err(format!(
            "Where requires the input condition tensor to have boolean dtype. However, the given condition dtype is {dtype}"
        ));
    }
    let dtype = cx.arith_dtype(&a, &b)?;
    let vdevice = cx.common_vdevice(&[&cond, &a, &b]).ok().flatten();
    let rank = match (cond.rank, a.rank, b.rank) {
        (Some(x), Some(y), Some(z)) => Some(x.max(y).max(z)),
        _ => None,
    };
    if let (Extents::Known(c), Extents::Known(x), Extents::Known(y)) = (&cond.info.extents, &a.info.extents, &b.info.extents) {
        if let Some(shape) = cx.broadcast(x, y)?
            && let Some(shape) = cx.broadcast(c, &shape)?
        {
            return Ok(cx.out(&shape, dtype, vdevice));
        }
    } else if matches!(cond.info.extents, Extents::Var(_))
        && cond.info.extents == a.info.extents
        && a.info.extents == b.info.extents
    {
        return Ok(cx.shaped(cond.info.extents.clone(), dtype, vdevice));
    }
    Ok(cx.vague(rank, dtype, vdevice))
}

/// `argmax`, `argmin`: indices without the axis, or with an extent of one.
pub fn arg_reduce(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let axes = cx.int("axis").map(|axis| vec![axis]);
    super::statistic::reduced(cx, axes, Some(DType::I64))
}

/// `bucketize`: indices in the shape of the input.
pub fn bucketize(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    if let Some(rank) = cx.tensor(1)?.rank.filter(|rank| *rank != 1) {
        return Err(format!("Bucketize requires boundary to be 1-D array but got {rank}"));
    }
    let dtype = if cx.flag("out_int32") { DType::I32 } else { DType::I64 };
    match data.info.extents {
        Extents::Known(_) => Ok(cx.like(&data, Some(dtype))),
        _ => Ok(cx.vague(data.rank, Some(dtype), data.vdevice())),
    }
}

/// `argsort`: indices in the shape of the input.
pub fn argsort(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let dtype = cx.dtype("dtype").or(data.dtype());
    Ok(cx.like(&data, dtype))
}

/// `topk`: values, indices or both, `k` along the axis.
pub fn topk(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let indices_dtype = cx.dtype("dtype").or(data.dtype());
    let k = cx.int("k").unwrap_or(1);
    let (values, indices) = match &data.info.extents {
        Extents::Known(shape) => {
            let mut shape = shape.to_vec();
            let axis = cx.int("axis").unwrap_or(-1);
            let at = cx.axis(axis, shape.len()).map_err(|_| format!("Index {axis} out of bounds {}", shape.len()))?;
            if k > 0 && shape[at].known().is_none_or(|extent| k < extent) {
                shape[at] = int(k);
            }
            (cx.out(&shape, data.dtype(), data.vdevice()), cx.out(&shape, indices_dtype, data.vdevice()))
        }
        _ => (cx.vague(data.rank, data.dtype(), data.vdevice()), cx.vague(data.rank, indices_dtype, data.vdevice())),
    };
    match cx.text("ret_type").as_deref() {
        Some("values") => Ok(values),
        Some("indices") => Ok(indices),
        Some(other) if other != "both" => Err(format!("Unsupported ret type: {other}")),
        _ => Ok(cx.tuple(&[values, indices])),
    }
}

/// `unique`: the values, and on demand their positions, the inverse indices, and the counts.
pub fn unique(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let vdevice = data.vdevice();
    if let (Some(rank), Some(axis)) = (data.rank, cx.scalar(5).and_then(|axis| axis.known())) {
        cx.axis(axis, rank)?;
    }
    let vector = |cx: &mut Deduce<'_>, dtype: Option<DType>| match data.rank {
        Some(0) => cx.out(&[int(1)], dtype, vdevice),
        _ => cx.vague(Some(1), dtype, vdevice),
    };
    let values = match cx.args.len() {
        6 if data.rank != Some(0) => cx.vague(data.rank, data.dtype(), vdevice),
        _ => vector(cx, data.dtype()),
    };
    let mut fields = vec![values];
    for index in 2..5 {
        if cx.is_set(index) {
            fields.push(vector(cx, Some(DType::I64)));
        }
    }
    Ok(if fields.len() == 1 { values } else { cx.tuple(&fields) })
}

/// `nonzero`: one row per axis, one column per element.
pub fn nonzero(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    Ok(cx.vague(Some(2), Some(DType::I64), data.vdevice()))
}

/// `multinomial_from_uniform`: one index per sample.
pub fn multinomial(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let prob = cx.tensor(0)?;
    let samples = cx.tensor(1)?;
    let indices = cx.tensor(2)?;
    let dtype = cx.dtype("dtype");
    for (what, tensor) in [("prob", &prob), ("uniform_sample", &samples), ("sample_indices", &indices)] {
        let wanted = if what == "sample_indices" { "int" } else { "float" };
        if let Some(dtype) =
            tensor.dtype().filter(|dtype| if wanted == "int" { !super::is_int(*dtype) } else { !dtype.is_float() })
        {
            return Err(format!(
                "Multinomial_from_uniform op requires the input {what} to have {wanted} dtype. However, the given {what} dtype is {dtype}"
            ));
        }
        if let Some(rank) = tensor.rank.filter(|rank| *rank != 2) {
            return Err(format!(
                "Multinomial_from_uniform op requires the input {what} to be a 2D tensor. However, the given {what} tensor has ndim {rank}"
            ));
        }
    }
    if let (Extents::Known(_), Extents::Known(a), Extents::Known(b)) =
        (&prob.info.extents, &samples.info.extents, &indices.info.extents)
    {
        if !cx.equal(a[0], b[0]) {
            return Err(
                "Multinomial_from_uniform op requires the input uniform_sample and sample_indices to have the same batch \
                        size."
                    .to_owned(),
            );
        }
        if a[1].known() != Some(1) || b[1].known() != Some(1) {
            return Err(
                "Multinomial_from_uniform op requires the input uniform_sample and sample_indices to be 2D tensors with \
                        the second dimension being 1."
                    .to_owned(),
            );
        }
    }
    match &samples.info.extents {
        Extents::Known(shape) if !shape.is_empty() && matches!(prob.info.extents, Extents::Known(_)) => {
            let rows = shape[0];
            Ok(cx.out(&[rows, int(1)], dtype, prob.vdevice()))
        }
        _ => {
            let known = prob.rank.is_some() && samples.rank.is_some() && indices.rank.is_some();
            Ok(cx.vague(known.then_some(2), dtype, prob.vdevice()))
        }
    }
}
