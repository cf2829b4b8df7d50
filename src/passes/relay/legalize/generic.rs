//! The rules of every target.
//!
//! Source: `python/tvm/topi/nn/conv2d_transpose.py`, `conv3d_transpose.py`, `python/tvm/topi/transform.py`,
//! `python/tvm/relay/op/nn/_nn.py` (`legalize_conv2d_backward_weight`).

use super::super::support::emit::Emit;
use super::super::support::layout::with_padding;
use super::super::support::legalizer::{Replaced, Site};
use crate::ir::{AttrValue, ExprId};
use crate::ops::build::ints;

/// Transposes a tensor from one layout to another with the same axes.
fn relayout(emit: &mut Emit<'_>, tensor: ExprId, from: &str, to: &str) -> Result<ExprId, String> {
    if from == to {
        return Ok(tensor);
    }
    let axes: Option<Vec<i64>> = to.chars().map(|axis| from.find(axis).map(|at| at as i64)).collect();
    match axes {
        Some(axes) if from.len() == to.len() => Ok(emit.transpose(tensor, &axes)),
        _ => Err(format!("Incompatible layouts: {from} vs {to}")),
    }
}

pub(super) fn conv2d_transpose(emit: &mut Emit<'_>, site: &Site<'_>) -> Replaced {
    let [data, kernel] = site.inputs()?;
    let (layout, kernel_layout) =
        (site.text(emit.store, "data_layout").to_owned(), site.text(emit.store, "kernel_layout").to_owned());
    let is_nhwc = layout == "NHWC";
    if !is_nhwc && layout != "NCHW" {
        return Ok(None);
    }
    let attrs = with_padding(emit.store, site.attrs);
    if !is_nhwc && kernel_layout == "IOHW" && attrs == site.attrs {
        // TVM makes an equal call anew.
        return Ok(None);
    }
    let kernel = relayout(emit, kernel, &kernel_layout, "IOHW")?;
    let changes = [("data_layout", emit.text("NCHW")), ("kernel_layout", emit.text("IOHW"))];
    let data = if is_nhwc { emit.transpose(data, &[0, 3, 1, 2]) } else { data };
    let made = emit.over(site.op, &[data, kernel], attrs, &changes);
    Ok(Some(if is_nhwc { emit.transpose(made, &[0, 2, 3, 1]) } else { made }))
}

pub(super) fn conv3d_transpose(emit: &mut Emit<'_>, site: &Site<'_>) -> Replaced {
    if site.text(emit.store, "data_layout") != "NDHWC" {
        return Ok(None);
    }
    let [data, kernel] = site.inputs()?;
    // The two layouts whose last axes are channels change places, as in TVM.
    let kernel = match site.text(emit.store, "kernel_layout") {
        "DHWIO" => emit.transpose(kernel, &[3, 4, 0, 1, 2]),
        "DHWOI" => emit.transpose(kernel, &[4, 3, 0, 1, 2]),
        "OIDHW" => emit.transpose(kernel, &[1, 0, 2, 3, 4]),
        "IODHW" => kernel,
        _ => return Ok(None),
    };
    let changes = [("data_layout", emit.text("NCDHW")), ("kernel_layout", emit.text("IODHW"))];
    let data = emit.transpose(data, &[0, 4, 1, 2, 3]);
    let attrs = with_padding(emit.store, site.attrs);
    let made = emit.over(site.op, &[data, kernel], attrs, &changes);
    Ok(Some(emit.transpose(made, &[0, 2, 3, 4, 1])))
}

pub(super) fn take(emit: &mut Emit<'_>, site: &Site<'_>) -> Replaced {
    let is_dynamic = site.tensor(emit.store, 0)?.0.iter().any(|dim| dim.known().is_none());
    if !is_dynamic {
        return Ok(None);
    }
    let [data, indices] = site.inputs()?;
    let data = emit.call("annotation.stop_fusion", &[data]);
    Ok(Some(emit.over(site.op, &[data, indices], site.attrs, &[])))
}

/// The gradient of a weight is a convolution of the data by the gradient of the result, in a group for each channel.
pub(super) fn conv2d_backward_weight(emit: &mut Emit<'_>, site: &Site<'_>) -> Replaced {
    let [grad, data] = site.inputs()?;
    let known = |shape: Vec<i64>| <[i64; 4]>::try_from(shape).map_err(|_| "tensors must have four axes".to_owned());
    let [batch, in_channel, in_h, in_w] = known(site.shape(emit.store, 1)?)?;
    let [_, out_channel, grad_h, grad_w] = known(site.shape(emit.store, 0)?)?;
    let [_, _, filter_h, filter_w] = known(site.shape(emit.store, 2)?)?;
    let pair = |name: &str| match site.ints(emit.store, name)[..] {
        [h, w] => Ok([h, w]),
        _ => Err(format!("`{name}` must have two numbers")),
    };
    let (strides, dilation) = (pair("strides")?, pair("dilation")?);
    let padding = match site.ints(emit.store, "padding")[..] {
        [h, w] => [2 * h, 2 * w],
        [top, left, bottom, right] => [top + bottom, left + right],
        _ => return Err("padding must have two or four numbers".to_owned()),
    };
    let groups = emit.store.attr_int(site.attrs, "groups").unwrap_or(1).max(1);
    let attribute = |emit: &Emit<'_>, name: &str| emit.store.attr(site.attrs, name).cloned().unwrap_or(AttrValue::Null);
    let in_group = in_channel / groups;
    let grad = emit.with("tile", &[grad], &[("reps", ints(&[1, in_group, 1, 1]))]);
    let grad = emit.reshape(grad, &[-1, 1, 0, 0]);
    let data = emit.reshape(data, &[1, -1, 0, 0]);
    let written = [
        ("strides", attribute(emit, "dilation")),
        ("padding", attribute(emit, "padding")),
        ("dilation", attribute(emit, "strides")),
        ("groups", AttrValue::int(in_channel * batch)),
        ("out_dtype", attribute(emit, "out_dtype")),
    ];
    let mut weight = emit.with("nn.conv2d", &[data, grad], &written);
    if let Some(call) = emit.store.call(weight) {
        let attrs = with_padding(emit.store, call.attrs);
        weight = emit.over("nn.conv2d", &[data, grad], attrs, &[]);
    }
    let extent = |size: i64, grad: i64, axis: usize| (size - (grad - 1) * strides[axis] - 1 + padding[axis]) / dilation[axis] + 1;
    let (padded_h, padded_w) = (extent(in_h, grad_h, 0), extent(in_w, grad_w, 1));
    let weight = emit.reshape(weight, &[batch, in_group, out_channel, padded_h, padded_w]);
    let weight = emit.reduce("sum", weight, &[0], false);
    let weight = emit.transpose(weight, &[1, 0, 2, 3]);
    if padded_h < filter_h || padded_w < filter_w {
        return Err("the gradient of the weight is smaller than the weight".to_owned());
    }
    if padded_h == filter_h && padded_w == filter_w {
        return Ok(Some(weight));
    }
    Ok(Some(emit.slice(weight, &[out_channel, in_group, filter_h, filter_w], "end")))
}
