//! Quantised convolutions: the sum over `(x - x_zero) * (w - w_zero)` as four terms.
//!
//! Source: `src/relay/qnn/op/convolution.cc`.

use super::super::support::emit::Emit;
use super::super::support::expand_to_axes;
use super::super::support::layout::with_padding;
use super::super::support::legalizer::Site;
use super::products::{combine, wrapped, zeros};
use crate::ir::{AttrValue, AttrsId, DType, DTypeCode, ExprId};
use crate::ops::build::{int_tensor, ints};

type Made = Result<ExprId, String>;

/// A convolution.
struct Conv {
    attrs: Option<AttrsId>,
    x_zero: ExprId,
    w_zero: ExprId,
    /// The zero points, where both are constants.
    known: Option<[i64; 2]>,
    is_depthwise: bool,
    /// Positions of channels and height in the data.
    channel_axis: usize,
    height_axis: usize,
    in_channels: i64,
    out_channels: i64,
    /// Height and width of the weight.
    kernel: [i64; 2],
    /// Channels of the result for each of the data, of a depthwise convolution.
    multiplier: i64,
    /// The axes of the weight: output channels, height, width, input channels.
    weight_axes: [usize; 4],
    /// The type to compute in where there is no other way.
    wide: DType,
}

fn read(emit: &Emit<'_>, site: &Site<'_>) -> Result<Conv, String> {
    let store = &*emit.store;
    let (x, w) = (site.shape(store, 0)?, site.shape(store, 1)?);
    if x.len() != 4 || w.len() != 4 {
        return Err("a convolution is over four axes".to_owned());
    }
    let (channel_axis, height_axis) = match site.text(store, "data_layout") {
        "NCHW" => (1, 2),
        "NHWC" => (3, 1),
        _ => return Err("qnn.conv2d supports only NCHW/NHWC input data layout.".to_owned()),
    };
    let weight_axes = match site.text(store, "kernel_layout") {
        "OIHW" => [0, 2, 3, 1],
        "HWIO" => [3, 0, 1, 2],
        "HWOI" => [2, 0, 1, 3],
        "OHWI" => [0, 1, 2, 3],
        _ => return Err("qnn.conv2d supports only OIHW/HWIO/HWOI/OHWI kernel data layout.".to_owned()),
    };
    if site.ints(store, "kernel_size").is_empty() {
        return Err("qnn.conv2d requires kernel size to be specified.".to_owned());
    }
    let [_, _, x_zero, w_zero, ..] = site.inputs::<6>()?;
    let groups = store.attr_int(site.attrs, "groups").unwrap_or(1);
    let bits = store.attr_dtype(site.attrs, "out_dtype").map_or(32, |out| out.bits.max(32));
    let [outputs, height, width, inputs] = weight_axes;
    Ok(Conv {
        attrs: site.attrs,
        x_zero,
        w_zero,
        known: zeros(emit, x_zero, w_zero),
        is_depthwise: groups != 1 && store.attr_int(site.attrs, "channels") == Some(groups),
        channel_axis,
        height_axis,
        in_channels: x[channel_axis],
        out_channels: w[outputs],
        kernel: [w[height], w[width]],
        multiplier: w[inputs],
        weight_axes,
        wide: DType::new(DTypeCode::Int, bits),
    })
}

pub(super) fn conv2d(emit: &mut Emit<'_>, site: &Site<'_>) -> Made {
    let mut conv = read(emit, site)?;
    conv.attrs = with_padding(emit.store, conv.attrs);
    let [x, w, ..] = site.inputs::<6>()?;
    let groups = emit.store.attr_int(site.attrs, "groups").unwrap_or(1);
    let is_dilated = site.ints(emit.store, "dilation").iter().any(|factor| *factor != 1);
    let weight_is_zero = conv.known.is_some_and(|[_, w]| w == 0);
    let has_terms = (weight_is_zero || !is_dilated) && (groups == 1 || conv.is_depthwise);
    if conv.known.is_none() {
        let axis = if has_terms { conv.channel_axis } else { conv.weight_axes[0] };
        let flat = emit.reshape(conv.w_zero, &[-1]);
        conv.w_zero = expand_to_axes(emit.store, flat, 4, &[axis]);
    }
    if !has_terms {
        return fallback(emit, &conv, x, w);
    }
    if conv.is_depthwise && site.text(emit.store, "kernel_layout") == "OHWI" {
        return Err("qnn.conv2d does not support OHWI layout".to_owned());
    }
    let padded = padded(emit, &conv, x)?;
    let first = emit.over("nn.conv2d", &[padded, w], conv.attrs, &[("padding", ints(&[0, 0, 0, 0]))]);
    let strides = site.ints(emit.store, "strides");
    combine(
        emit,
        conv.known,
        first,
        [&mut |emit| Ok(second(emit, &conv, padded, &strides)), &mut |emit| Ok(third(emit, &conv, w)), &mut |emit| {
            Ok(fourth(emit, &conv))
        }],
    )
}

/// Subtracts the zero points and convolves in 32 bits.
fn fallback(emit: &mut Emit<'_>, conv: &Conv, x: ExprId, w: ExprId) -> Made {
    let mut shifted = [x, w];
    for (at, zero) in [conv.x_zero, conv.w_zero].into_iter().enumerate() {
        shifted[at] = emit.cast(shifted[at], conv.wide);
        let none = emit.number(conv.wide, 0.0);
        if !emit.same_scalar(zero, none) {
            let zero = emit.cast(zero, conv.wide);
            shifted[at] = emit.call("subtract", &[shifted[at], zero]);
        }
    }
    Ok(emit.over("nn.conv2d", &shifted, conv.attrs, &[]))
}

/// Pads the data with its zero point.
fn padded(emit: &mut Emit<'_>, conv: &Conv, x: ExprId) -> Made {
    let [top, left, bottom, right] = emit.store.attr_ints(conv.attrs, "padding").unwrap_or_default()[..] else {
        return Err("padding must have two or four numbers".to_owned());
    };
    if [top, left, bottom, right] == [0; 4] {
        return Ok(x);
    }
    let mut widths = [[0, 0]; 4];
    widths[conv.height_axis] = [top, bottom];
    widths[conv.height_axis + 1] = [left, right];
    Ok(emit.pad(x, &widths, conv.x_zero))
}

/// The zero point of the weight times the sum of the data in each window. A pooling makes the sums.
fn second(emit: &mut Emit<'_>, conv: &Conv, padded: ExprId, strides: &[i64]) -> ExprId {
    let mut sums = emit.cast(padded, DType::I32);
    let channel = conv.channel_axis as i64;
    if !conv.is_depthwise {
        sums = emit.reduce("sum", sums, &[channel], true);
    }
    let size = conv.kernel[0] * conv.kernel[1];
    if size != 1 {
        let size = emit.int(size);
        sums = emit.call("multiply", &[sums, size]);
    }
    if size != 1 || strides.iter().any(|stride| *stride != 1) {
        let copy = |name: &str| emit.store.attr(conv.attrs, name).cloned().unwrap_or(AttrValue::Null);
        let written = [
            ("pool_size", copy("kernel_size")),
            ("strides", copy("strides")),
            ("dilation", copy("dilation")),
            ("padding", ints(&[0, 0])),
            ("layout", copy("data_layout")),
        ];
        sums = emit.with("nn.avg_pool2d", &[sums], &written);
    }
    let is_known = emit.value(conv.w_zero).is_some();
    if !emit.is_int(conv.w_zero, 1) {
        let mut zero = conv.w_zero;
        if !is_known && conv.is_depthwise {
            zero = emit.repeat(zero, conv.multiplier, 0);
        } else if !is_known {
            sums = emit.repeat(sums, conv.out_channels, channel);
        }
        sums = emit.call("multiply", &[zero, sums]);
    }
    if conv.is_depthwise && conv.multiplier != 1 {
        sums = emit.repeat(sums, conv.multiplier, channel);
    }
    sums
}

/// The zero point of the data times the sum of the weight for each channel of the result.
fn third(emit: &mut Emit<'_>, conv: &Conv, w: ExprId) -> ExprId {
    let [_, height, width, inputs] = conv.weight_axes.map(|axis| axis as i64);
    let axes = match conv.is_depthwise {
        true => vec![height, width],
        false if inputs < height => vec![inputs, height, width],
        false => vec![height, width, inputs],
    };
    let sums = emit.cast(w, DType::I32);
    let sums = emit.reduce("sum", sums, &axes, false);
    let mut shape = [1; 4];
    shape[conv.channel_axis] = conv.out_channels * if conv.is_depthwise { conv.multiplier } else { 1 };
    let sums = emit.reshape(sums, &shape);
    if emit.is_int(conv.x_zero, 1) { sums } else { emit.call("multiply", &[conv.x_zero, sums]) }
}

/// The product of the zero points, as often as the window has elements.
fn fourth(emit: &mut Emit<'_>, conv: &Conv) -> ExprId {
    let [height, width] = conv.kernel;
    let count = height * width * if conv.is_depthwise { 1 } else { conv.in_channels };
    let dtype = if conv.is_depthwise { DType::I32 } else { conv.wide };
    let Some([x, w]) = conv.known else {
        let count = int_tensor(emit.store, dtype, &[], &[count]);
        let product = emit.call("multiply", &[conv.x_zero, conv.w_zero]);
        return emit.call("multiply", &[count, product]);
    };
    wrapped(emit, dtype, &[x, w, count])
}
