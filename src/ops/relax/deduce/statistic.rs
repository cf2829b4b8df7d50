//! Reductions and scans (TVM: src/relax/op/tensor/statistical.cc).

use super::{Deduce, int};
use crate::ir::{DType, Dim, Extents, TypeId};

/// `sum`, `mean`, `max` and so on.
pub fn reduce(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let axes = cx.ints("axis");
    reduced(cx, axes, None)
}

/// Removes these axes from the input, or sets their extents to one; all axes when none is named.
pub fn reduced(cx: &mut Deduce<'_>, axes: Option<Vec<i64>>, dtype: Option<DType>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let (dtype, vdevice) = (dtype.or(data.dtype()), data.vdevice());
    let keep = cx.flag("keepdims");
    let axes = match (axes, data.rank) {
        (Some(axes), Some(rank)) => Some(cx.axes(&axes, rank)?),
        (Some(_), None) => Some(Vec::new()),
        (None, _) => None,
    };
    let rank = match (&axes, keep, data.rank) {
        (_, true, rank) => rank,
        (None, false, _) => Some(0),
        (Some(axes), false, Some(rank)) => Some(rank - axes.len()),
        (Some(_), false, None) => None,
    };
    let Extents::Known(shape) = &data.info.extents else {
        return Ok(match (rank, &axes) {
            (Some(rank), None) => cx.out(&vec![int(1); rank], dtype, vdevice),
            (Some(0), _) => cx.out(&[], dtype, vdevice),
            (rank, _) => cx.vague(rank, dtype, vdevice),
        });
    };
    let mut out: Vec<Dim> = Vec::new();
    for (index, extent) in shape.iter().enumerate() {
        if axes.as_ref().is_some_and(|axes| !axes.contains(&index)) {
            out.push(*extent);
        } else if keep {
            out.push(int(1));
        }
    }
    Ok(cx.out(&out, dtype, vdevice))
}

/// `median`: along one axis the values and their indices, else the values.
pub fn median(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let axes = cx.ints("axis");
    let values = reduced(cx, axes.clone(), None)?;
    // Of a tensor whose extents are not known, TVM gives the indices for several axes, too.
    let alone = match cx.tensor(0)?.info.extents {
        Extents::Known(_) => axes.as_ref().is_none_or(|axes| axes.len() > 1),
        _ => cx.store.tensor_info(values).is_some_and(|info| matches!(info.extents, Extents::Known(_))),
    };
    if alone {
        return Ok(values);
    }
    let indices = reduced(cx, axes, Some(DType::I64))?;
    Ok(cx.tuple(&[values, indices]))
}

/// `cumsum`, `cumprod`: the shape of the input; one axis when none is named.
pub fn scan(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let dtype = cx.dtype("dtype").or(data.dtype());
    if cx.int("axis").is_some() {
        return Ok(cx.like(&data, dtype));
    }
    match &data.info.extents {
        Extents::Known(shape) => {
            let product = cx.product(&shape.clone());
            Ok(cx.out(&[product], dtype, data.vdevice()))
        }
        _ => Ok(cx.vague(data.rank, dtype, data.vdevice())),
    }
}
