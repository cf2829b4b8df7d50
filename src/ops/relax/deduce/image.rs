//! Images (TVM: src/relax/op/image/resize.cc).

use super::conv::{layout, plain};
use super::{Deduce, int};
use crate::ir::{Dim, Extents, TypeId};
use crate::ops::layout::Layout;

fn resize(cx: &mut Deduce<'_>, spatial: &str) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let size = cx.shape_arg(1)?;
    let plain_name = format!("NC{spatial}");
    let data_layout = layout(cx, "layout", &plain_name)?;
    let to = Layout::parse(&plain_name)?;
    let dtype = cx.dtype("out_dtype").or(data.dtype());
    if cx.store.rank(&size).is_some_and(|rank| rank != spatial.len()) {
        return Err(format!("{} expects the given output image size to be a {}-dim shape", cx.op, spatial.len()));
    }
    let (Some(mut shape), Extents::Known(size)) = (plain(cx, &data, &data_layout, &to)?, size) else {
        return Ok(cx.vague(Some(data_layout.rank()), dtype, data.vdevice()));
    };
    shape.splice(2.., size.iter().copied());
    let shape = to.convert_extents(cx.store, &data_layout, &shape, 64)?;
    let shape: Vec<Dim> = shape.into_iter().map(|dim| cx.natural(dim)).collect();
    Ok(cx.out(&shape, dtype, data.vdevice()))
}

/// `image.resize2d`
pub fn resize2d(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    resize(cx, "HW")
}

/// `image.resize3d`
pub fn resize3d(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    resize(cx, "DHW")
}

/// `image.grid_sample`: the images at the places of a grid.
pub fn grid_sample(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let (data, grid) = (cx.tensor(0)?, cx.tensor(1)?);
    let name = if cx.text("layout").as_deref() == Some("NCDHW") { "NCDHW" } else { "NCHW" };
    let data_layout = layout(cx, "layout", name)?;
    let to = Layout::parse(name)?;
    let (Some(mut shape), Extents::Known(places)) = (plain(cx, &data, &data_layout, &to)?, &grid.info.extents) else {
        return Ok(cx.vague(Some(data_layout.rank()), data.dtype(), data.vdevice()));
    };
    if places.len() != shape.len() {
        return Err(format!("GridSample expects the grid to have {} dimensions", shape.len()));
    }
    shape.splice(2.., places[2..].iter().copied());
    let shape = to.convert_extents(cx.store, &data_layout, &shape, 64)?;
    Ok(cx.out(&shape, data.dtype(), data.vdevice()))
}

/// `image.affine_grid`: coordinates for a size.
pub fn affine_grid(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let size = cx.shape_arg(1)?;
    let spatial = cx.store.rank(&size).unwrap_or(0);
    if !(2..=3).contains(&spatial) {
        return Err(format!(
            "AffineGrid expects the target size to be a 2-dim or 3-dim shape, while the given one has ndim {spatial}"
        ));
    }
    if let Some(rank) = data.rank.filter(|rank| *rank != 3) {
        return Err(format!("AffineGrid expects the input data to be 3-D (batch, spatial, spatial + 1), but got ndim {rank}"));
    }
    for (axis, wanted) in [(1, spatial), (2, spatial + 1)] {
        let found = data.shape.as_ref().and_then(|shape| shape[axis].known());
        if let Some(found) = found.filter(|found| *found != wanted as i64) {
            return Err(format!("AffineGrid expects dimension {axis} of the input to be {wanted}, but got {found}"));
        }
    }
    let (Some(shape), Extents::Known(size)) = (&data.shape, &size) else {
        return Ok(cx.vague(Some(spatial + 2), data.dtype(), data.vdevice()));
    };
    let Some(batch) = shape.first() else { return Err("AffineGrid expects three dimensions".to_owned()) };
    let out: Vec<Dim> = [*batch, int(spatial as i64)].into_iter().chain(size.iter().copied()).collect();
    Ok(cx.out(&out, data.dtype(), data.vdevice()))
}
