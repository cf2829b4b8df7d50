//! The rules of processors of x86.
//!
//! Source: `python/tvm/topi/x86/conv2d_alter_op.py`, `dense_alter_op.py`, `math_alter_op.py`,
//! `python/tvm/topi/generic/conv2d.py` (`conv2d_alter_int8_common`).

use super::super::support::emit::Emit;
use super::super::support::legalizer::{Replaced, Site};
use crate::ir::{AttrValue, DType, ExprId};
use crate::ops::build::ints;

pub(super) fn erf(emit: &mut Emit<'_>, site: &Site<'_>) -> Replaced {
    let dtype = site.dtype(emit.store, 0)?;
    if dtype == DType::F32 {
        return Ok(None);
    }
    let [data] = site.inputs()?;
    let data = emit.cast(data, DType::F32);
    let made = emit.call("erf", &[data]);
    Ok(Some(emit.cast(made, dtype)))
}

/// Adds 128 to data of `int8`, which makes it `uint8`.
fn shifted(emit: &mut Emit<'_>, data: ExprId) -> ExprId {
    let data = emit.cast(data, DType::I32);
    let shift = emit.int(128);
    let data = emit.call("add", &[data, shift]);
    emit.cast(data, DType::U8)
}

/// Fills up tensors with zeros so that each of some extents is a multiple of a number.
fn filled_up(emit: &mut Emit<'_>, tensor: ExprId, shape: &[i64], multiples: &[(usize, i64)]) -> ExprId {
    let mut widths = vec![[0, 0]; shape.len()];
    for (axis, of) in multiples {
        widths[*axis][1] = (of - shape[*axis] % of) % of;
    }
    if widths.iter().all(|width| *width == [0, 0]) {
        return tensor;
    }
    let zero = emit.int(0);
    emit.pad(tensor, &widths, zero)
}

pub(super) fn conv2d(emit: &mut Emit<'_>, site: &Site<'_>) -> Replaced {
    let (data_type, kernel_type) = (site.dtype(emit.store, 0)?, site.dtype(emit.store, 1)?);
    let has_kernel = kernel_type == DType::I8 && matches!(data_type, DType::U8 | DType::I8);
    if !has_kernel || !emit.target.is_some_and(|target| target.has("sse4.2")) {
        return Ok(None);
    }
    let is_one = site.ints(emit.store, "dilation").iter().all(|factor| *factor == 1);
    if !is_one || emit.store.attr_int(site.attrs, "groups") != Some(1) {
        return Ok(None);
    }
    // The axes of height, width and channels of the data, and of input and output channels of the weight.
    let (height, channels, inputs, outputs) = match (site.text(emit.store, "data_layout"), site.text(emit.store, "kernel_layout"))
    {
        ("NHWC", "HWIO") => (1, 3, 2, 3),
        ("NCHW", "OIHW") => (2, 1, 1, 0),
        _ => return Ok(None),
    };
    let [mut data, mut kernel] = site.inputs()?;
    let padding = match site.ints(emit.store, "padding")[..] {
        [h, w] => [h, w, h, w],
        [top, left, bottom, right] => [top, left, bottom, right],
        _ => return Err("Size of padding can only be 2 or 4".to_owned()),
    };
    let mut attrs = site.attrs;
    let mut adjust = None;
    let of_data = |emit: &Emit<'_>| site.shape(emit.store, 0);
    if data_type == DType::I8 {
        let sum = emit.cast(kernel, DType::I32);
        let axes: Vec<i64> = (0..4).filter(|axis| *axis != outputs as i64).collect();
        let mut sum = emit.reduce("sum", sum, &axes, false);
        if outputs == 0 {
            sum = emit.with("expand_dims", &[sum], &[("axis", AttrValue::int(1)), ("num_newaxis", AttrValue::int(2))]);
        }
        data = shifted(emit, data);
        let shift = emit.int(128);
        if padding != [0; 4] {
            let mut widths = [[0, 0]; 4];
            widths[height] = [padding[0], padding[2]];
            widths[height + 1] = [padding[1], padding[3]];
            let value = emit.int(128);
            data = emit.pad(data, &widths, value);
        }
        let zeros = [("padding", ints(&[0, 0, 0, 0]))];
        attrs = attrs.map(|attrs| crate::ops::build::with_attrs(emit.store, attrs, &zeros));
        adjust = Some(emit.call("multiply", &[sum, shift]));
    }
    let (shape, kernel_shape) = (of_data(emit)?, site.shape(emit.store, 1)?);
    let (unpadded_data, unpadded_kernel) = (data, kernel);
    data = filled_up(emit, data, &shape, &[(channels, 4)]);
    kernel = filled_up(emit, kernel, &kernel_shape, &[(inputs, 4)]);
    let mut filled = kernel_shape.clone();
    filled[inputs] = (filled[inputs] + 3) / 4 * 4;
    let before = kernel;
    kernel = filled_up(emit, kernel, &filled, &[(outputs, 16)]);
    if adjust.is_none() && (data, kernel) == (unpadded_data, unpadded_kernel) {
        // TVM makes an equal call anew.
        return Ok(None);
    }
    let mut made = if kernel == before {
        emit.over(site.op, &[data, kernel], attrs, &[])
    } else {
        let channels = AttrValue::int((kernel_shape[outputs] + 15) / 16 * 16);
        let wide = emit.over(site.op, &[data, kernel], attrs, &[("channels", channels)]);
        let out = site.shape(emit.store, 2)?;
        emit.slice(wide, &out, "end")
    };
    if let Some(adjust) = adjust {
        made = emit.call("subtract", &[made, adjust]);
    }
    Ok(Some(made))
}

/// `nn.dense` and `nn.batch_matmul` of `int8` by 8 bits.
pub(super) fn product(emit: &mut Emit<'_>, site: &Site<'_>) -> Replaced {
    let is_batched = site.op == "nn.batch_matmul";
    let flag = |name: &str| emit.store.attr_int(site.attrs, name).unwrap_or(0) != 0;
    if is_batched && (flag("transpose_a") || !flag("transpose_b")) {
        return Ok(None);
    }
    let has_kernel = emit.target.is_some_and(|target| target.lanes() == 16 || target.has("amx-int8"));
    let (x_type, y_type) = (site.dtype(emit.store, 0)?, site.dtype(emit.store, 1)?);
    if !has_kernel || x_type != DType::I8 || !matches!(y_type, DType::I8 | DType::U8) {
        return Ok(None);
    }
    let [x, y] = site.inputs()?;
    let (x_shape, y_shape) = (site.shape(emit.store, 0)?, site.shape(emit.store, 1)?);
    let (x_rank, y_rank) = (x_shape.len(), y_shape.len());
    if x_rank < 2 || y_rank < 2 {
        return Err("a matrix has two axes".to_owned());
    }
    let x = shifted(emit, x);
    let shift = emit.int(128);
    let sum = emit.cast(y, DType::I32);
    let sum = emit.reduce("sum", sum, &[-1], false);
    let mut adjust = emit.call("multiply", &[shift, sum]);
    if is_batched {
        adjust = emit.with("expand_dims", &[adjust], &[("axis", AttrValue::int(1))]);
    }
    let y = filled_up(emit, y, &y_shape, &[(y_rank - 2, 16), (y_rank - 1, 4)]);
    let x = filled_up(emit, x, &x_shape, &[(x_rank - 1, 4)]);
    let mut made = emit.over(site.op, &[x, y], site.attrs, &[]);
    let rows = y_shape[y_rank - 2];
    if rows % 16 != 0 {
        let mut sizes = x_shape;
        sizes[x_rank - 1] = rows;
        made = emit.slice(made, &sizes, "size");
    }
    Ok(Some(emit.call("subtract", &[made, adjust])))
}
