//! The layouts that kernels for x86 take.
//!
//! Source: `python/tvm/topi/x86/conv2d_alter_op.py`, `dense_alter_op.py`, and the functions `_fallback_schedule` of
//! `conv2d_avx_common.py`, `conv2d_avx_1x1.py` and `depthwise_conv2d.py`, which choose the sizes of blocks.

use super::super::support::layout::{Site, with_padding};
use super::super::support::target::Target;
use crate::ir::{AttrValue, DType, Dim, ExprId, Store};
use crate::ops::build::{call_attrs, call_with, with_attrs};
use crate::ops::tensor_of;

/// A tensor's extents and element type.
fn tensor(store: &Store, site: &Site, index: usize) -> Option<(Vec<Dim>, DType)> {
    tensor_of(store, *site.types.get(index)?)
}

/// Returns the largest number up to `most` that divides `of`.
fn divisor(of: i64, most: i64) -> i64 {
    (1..=most).rev().find(|size| of % size == 0).unwrap_or(1)
}

/// True for what kernels of 8 bits take: unsigned data, signed weights.
fn is_eight_bit(data: DType, kernel: DType) -> bool {
    data == DType::parse("uint8").unwrap_or(DType::I32) && kernel == DType::parse("int8").unwrap_or(DType::I32)
}

/// True if the blocks of a layout are of input and output channels, `NCHW4c` or `OIHW4i4o`.
fn is_blocked(layout: &str, parts: &[char]) -> bool {
    let mut rest = &layout[layout.find(|c: char| c.is_ascii_digit()).unwrap_or(layout.len())..];
    for part in parts {
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if digits.len() == rest.len() {
            return false;
        }
        let Some(next) = digits.strip_prefix(*part) else { return false };
        rest = next;
    }
    rest.is_empty()
}

pub(super) fn conv2d(store: &mut Store, site: &Site, target: &Target) -> Result<Option<ExprId>, String> {
    let text = |name: &str| store.attr_str(site.attrs, name).unwrap_or_default().to_owned();
    let (layout, kernel_layout) = (text("data_layout"), text("kernel_layout"));
    let Some(((data, data_type), (kernel, kernel_type))) = tensor(store, site, 0).zip(tensor(store, site, 1)) else {
        return Ok(None);
    };
    let groups = store.attr_int(site.attrs, "groups").unwrap_or(1);
    let dilation = store.attr_ints(site.attrs, "dilation").unwrap_or_default();
    if dilation.iter().any(|factor| *factor < 1) {
        return Err("dilation should be positive value".to_owned());
    }
    let blocked = layout.starts_with("NCHW") && is_blocked(&layout, &['c']);
    if blocked {
        if !is_blocked(&kernel_layout, &['i', 'o']) {
            return Err(format!("the kernel layout {kernel_layout} does not go with the data layout {layout}"));
        }
        let known = |shape: &[Dim], a: usize, b: usize| shape.get(a)?.known().zip(shape.get(b)?.known()).map(|(a, b)| a * b);
        let (inputs, outputs) = (known(&data, 1, 4), known(&kernel, 0, 5));
        let depthwise = groups > 1 && inputs == Some(groups) && outputs == Some(groups);
        return Ok(Some(packed(store, site, depthwise, None)));
    }
    let wanted = match layout.as_str() {
        "NCHW" => "OIHW",
        "NHWC" | "HWCN" if groups == 1 => "HWIO",
        // No kernel for these has another layout.
        "NHWC" => return Ok(None),
        other => return Err(format!("Unsupported conv2d layout {other} for x86")),
    };
    if kernel_layout != wanted {
        return Err(format!("kernels for x86 take weights of a convolution in {layout} as {wanted}, not as {kernel_layout}"));
    }
    if layout != "NCHW" {
        return Ok(None);
    }
    let extent = |shape: &[Dim], at: usize| shape.get(at).and_then(|dim| dim.known());
    let (Some(inputs), Some(outputs)) = (extent(&data, 1), extent(&kernel, 0)) else {
        return Err("the number of channels of a convolution is not known".to_owned());
    };
    let depthwise = groups > 1 && inputs == outputs && outputs == groups;
    if groups > 1 && !(depthwise && extent(&kernel, 1) == Some(1) && dilation.iter().all(|factor| *factor == 1)) {
        return Ok(None);
    }
    let (block_in, block_out, kernel_layout);
    if !depthwise && is_eight_bit(data_type, kernel_type) && target.has("sse4.2") {
        if outputs % 16 != 0 {
            return Err(format!("wkl.out_filter={outputs}, int32_lanes=16"));
        }
        if inputs % 4 != 0 {
            return Err(format!("wkl.in_filter={inputs}, num_int8_elements=4"));
        }
        block_out = 16;
        block_in = [16, 12, 8, 4].into_iter().find(|size| inputs % size == 0).unwrap_or(1);
        kernel_layout = format!("OIHW{}i{block_out}o4i", block_in / 4);
    } else {
        block_out = divisor(outputs, target.lanes());
        block_in = divisor(inputs, block_out);
        kernel_layout = format!("OIHW{}i{block_out}o", if depthwise { 1 } else { block_in });
    }
    let layouts = [format!("NCHW{block_in}c"), kernel_layout, format!("NCHW{block_out}c")];
    Ok(Some(packed(store, site, depthwise, Some((outputs, layouts)))))
}

/// Makes the convolution over blocks of channels, with these channels and layouts of data, kernel and result.
fn packed(store: &mut Store, site: &Site, depthwise: bool, change: Option<(i64, [String; 3])>) -> ExprId {
    let name = if depthwise { "nn.contrib_depthwise_conv2d_NCHWc" } else { "nn.contrib_conv2d_NCHWc" };
    let mut attrs = site.attrs;
    if let (Some(old), Some((channels, layouts))) = (attrs, change) {
        let [data, kernel, out] = layouts.map(|layout| AttrValue::Str(store.name(&layout)));
        let changes =
            [("channels", AttrValue::int(channels)), ("data_layout", data), ("kernel_layout", kernel), ("out_layout", out)];
        attrs = Some(with_attrs(store, old, &changes));
    }
    let attrs = with_padding(store, attrs);
    call_attrs(store, name, site.args, attrs)
}

pub(super) fn dense(store: &mut Store, site: &Site, target: &Target) -> Result<Option<ExprId>, String> {
    let (Some((data, data_type)), Some((weight, weight_type))) = (tensor(store, site, 0), tensor(store, site, 1)) else {
        return Ok(None);
    };
    let out = store.checked_type(site.pre).and_then(|ty| tensor_of(store, ty)).map(|(_, dtype)| dtype);
    let dynamic = |shape: &[Dim]| shape.iter().any(|dim| dim.known().is_none());
    let amx_or_avx512 = target.lanes() == 16 || target.has("amx-int8");
    let multiple = |at: usize, of: i64| weight.get(at).and_then(|dim| dim.known()).is_some_and(|extent| extent % of == 0);
    let layout = if amx_or_avx512 && is_eight_bit(data_type, weight_type) && multiple(0, 16) && multiple(1, 4) {
        "NC16n4c".to_owned()
    } else if data.len() != 2 || (data[0].known() == Some(1) && (dynamic(&data) || dynamic(&weight))) {
        // A vector times a matrix of unknown extents has a kernel of its own.
        return Ok(None);
    } else {
        let rows = weight.first().and_then(|dim| dim.known()).unwrap_or(16);
        format!("NC{}n", divisor(rows, 2 * target.lanes()))
    };
    let layout = AttrValue::Str(store.name(&layout));
    let written = [("weight_layout", layout), ("units", AttrValue::Null), ("out_dtype", AttrValue::DType(out))];
    Ok(Some(call_with(store, "nn.contrib_dense_pack", site.args, &written)))
}
