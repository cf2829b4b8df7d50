//! Pooling (TVM: src/relax/op/nn/pooling.cc).

use super::conv::{at, both, layout, plain, span};
use super::{Deduce, int};
use crate::ir::{Dim, Extents, PrimOp, TypeId};
use crate::ops::layout::Layout;

fn pool(cx: &mut Deduce<'_>, spatial: &str) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let plain_name = format!("NC{spatial}");
    let data_layout = layout(cx, "layout", &plain_name)?;
    let out_layout = match cx.text("out_layout") {
        Some(name) => Layout::parse(&name)?,
        None => data_layout.clone(),
    };
    let to = Layout::parse(&plain_name)?;
    let Some(shape) = plain(cx, &data, &data_layout, &to)? else {
        return Ok(cx.vague(Some(out_layout.rank()), data.dtype(), data.vdevice()));
    };
    let list = |cx: &Deduce<'_>, name: &str| cx.ints(name).unwrap_or_default();
    let (size, strides) = (list(cx, "pool_size"), list(cx, "strides"));
    let (padding, dilation) = (list(cx, "padding"), list(cx, "dilation"));
    cx.lengths(&["pool_size", "strides", "padding", "dilation"], spatial.len())?;
    let ceil = cx.flag("ceil_mode");
    let axes = spatial.len();
    let mut out: Vec<Dim> = shape[..2].to_vec();
    for axis in 0..axes {
        let stride = at(&strides, axis, 1).max(1);
        let extent = shape[2 + axis];
        let kernel = int(at(&size, axis, 1));
        let mut rest = span(cx, extent, both(&padding, axis, axes), at(&dilation, axis, 1), kernel);
        if ceil {
            rest = cx.arith(PrimOp::Add, rest, int(stride - 1));
        }
        let steps = cx.arith(PrimOp::FloorDiv, rest, int(stride));
        let mut count = cx.arith(PrimOp::Add, steps, int(1));
        // A window that would begin in the padding behind the data is left out.
        if ceil {
            let begin = cx.arith(PrimOp::Mul, steps, int(stride));
            let behind = cx.arith(PrimOp::Add, extent, int(at(&padding, axis, 0)));
            if cx.at_least(begin, behind) {
                count = steps;
            }
        }
        out.push(cx.natural(count));
    }
    let shape = to.convert_extents(cx.store, &out_layout, &out, 64)?;
    Ok(cx.out(&shape, data.dtype(), data.vdevice()))
}

fn adaptive(cx: &mut Deduce<'_>, spatial: &str) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let plain_name = format!("NC{spatial}");
    let data_layout = layout(cx, "layout", &plain_name)?;
    let out_layout = match cx.text("out_layout") {
        Some(name) => Layout::parse(&name)?,
        None => data_layout.clone(),
    };
    let to = Layout::parse(&plain_name)?;
    let size = cx.ints("output_size");
    cx.lengths(&["output_size"], spatial.len())?;
    let Some(mut shape) = plain(cx, &data, &data_layout, &to)? else {
        if size.is_none() && matches!(data.info.extents, Extents::Var(_)) && data_layout == out_layout {
            return Ok(cx.ty(0));
        }
        return Ok(cx.vague(Some(out_layout.rank()), data.dtype(), data.vdevice()));
    };
    if let Some(size) = size {
        for axis in 0..spatial.len() {
            shape[2 + axis] = int(at(&size, axis, 1));
        }
    }
    let shape = to.convert_extents(cx.store, &out_layout, &shape, 64)?;
    Ok(cx.out(&shape, data.dtype(), data.vdevice()))
}

/// `nn.max_pool1d`, `nn.avg_pool1d`
pub fn pool1d(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    pool(cx, "W")
}

/// `nn.max_pool2d`, `nn.avg_pool2d`
pub fn pool2d(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    pool(cx, "HW")
}

/// `nn.max_pool3d`, `nn.avg_pool3d`
pub fn pool3d(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    pool(cx, "DHW")
}

/// `nn.adaptive_avg_pool1d`
pub fn adaptive1d(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    adaptive(cx, "W")
}

/// `nn.adaptive_avg_pool2d`
pub fn adaptive2d(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    adaptive(cx, "HW")
}

/// `nn.adaptive_avg_pool3d`
pub fn adaptive3d(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    adaptive(cx, "DHW")
}
