//! The types of products that targets compute fast.

use super::super::support::emit::Emit;
use super::super::support::layout::with_padding;
use super::super::support::legalizer::{Replaced, Site};
use super::super::support::target::Rules;
use crate::ir::{DType, ExprId};
use crate::ops::build::int_tensor;
use crate::ops::layout::Layout;

/// The types that a target wants.
enum Wanted {
    /// Products of 16 bits, of what has no zero point any more.
    Wide,
    /// Data and weights of these types.
    Types(DType, DType),
    /// Data of the type of the weights.
    Same,
}

pub(super) fn product(emit: &mut Emit<'_>, site: &Site<'_>) -> Replaced {
    let Some(target) = emit.target else { return Ok(None) };
    let wanted = match target.rules {
        Rules::Cpu if target.has("sse4.2") => Wanted::Types(DType::U8, DType::I8),
        Rules::Cpu => Wanted::Wide,
        Rules::Arm => {
            let packed = site.op == "qnn.conv2d" && site.text(emit.store, "data_layout") == "NHWC" && !is_depthwise(emit, site)?;
            let other = packed || target.has("dotprod");
            if target.has("neon") && !other { Wanted::Wide } else { Wanted::Same }
        }
        Rules::Other => match target.kind.as_str() {
            "cuda" | "rocm" => Wanted::Types(DType::I8, DType::I8),
            "vulkan" => Wanted::Same,
            "hexagon" => return Err("the rules for hexagon are not here".to_owned()),
            _ => return Ok(None),
        },
    };
    let (data_type, kernel_type) = (site.dtype(emit.store, 0)?, site.dtype(emit.store, 1)?);
    let [mut data, mut kernel, mut data_zero, mut kernel_zero, data_scale, kernel_scale] = site.inputs()?;
    let (data_to, kernel_to) = match wanted {
        Wanted::Wide => return wide(emit, site),
        Wanted::Same => {
            if data_type != kernel_type && emit.value(data_zero).is_none() {
                return Err("Expr is not a constant scalar.".to_owned());
            }
            (kernel_type, kernel_type)
        }
        Wanted::Types(data, kernel) => (data, kernel),
    };
    let differs = |from: DType, to: DType| from != to && matches!(from, DType::I8 | DType::U8);
    if !differs(data_type, data_to) && !differs(kernel_type, kernel_to) {
        return Ok(None);
    }
    if differs(data_type, data_to) {
        (data, data_zero) = shift(emit, data, data_zero, data_to);
    }
    if differs(kernel_type, kernel_to) {
        (kernel, kernel_zero) = shift(emit, kernel, kernel_zero, kernel_to);
    }
    let attrs = with_padding(emit.store, site.attrs);
    Ok(Some(emit.over(site.op, &[data, kernel, data_zero, kernel_zero, data_scale, kernel_scale], attrs, &[])))
}

/// True for a convolution with a group for each channel, as TVM's strategies tell it.
fn is_depthwise(emit: &Emit<'_>, site: &Site<'_>) -> Result<bool, String> {
    let groups = emit.store.attr_int(site.attrs, "groups").unwrap_or(1);
    let extent = |index: usize, layout: &str, axis: char| -> Result<Option<i64>, String> {
        let at = Layout::parse(site.text(emit.store, layout))?.index_of(axis);
        Ok(at.and_then(|at| site.tensor(emit.store, index).ok()?.0.get(at)?.known()))
    };
    let outputs = extent(1, "kernel_layout", 'O')?.zip(extent(1, "kernel_layout", 'I')?).map(|(o, i)| o * i);
    Ok(groups > 1 && extent(0, "data_layout", 'C')? == Some(groups) && outputs == Some(groups))
}

/// Moves values and their zero point by half of the range, into the other type of 8 bits.
fn shift(emit: &mut Emit<'_>, data: ExprId, zero: ExprId, to: DType) -> (ExprId, ExprId) {
    let by = if to == DType::U8 { 128 } else { -128 };
    let data = emit.cast(data, DType::I32);
    let amount = emit.int(by);
    let data = emit.call("add", &[data, amount]);
    let data = emit.cast(data, to);
    let zero = match emit.value(zero) {
        Some(value) => int_tensor(emit.store, DType::I32, &[], &[value as i64 + by]),
        None => {
            let amount = emit.int(by);
            emit.call("add", &[zero, amount])
        }
    };
    (data, zero)
}

/// Subtracts the zero points from values of 16 bits and multiplies those.
fn wide(emit: &mut Emit<'_>, site: &Site<'_>) -> Replaced {
    let [data, kernel, data_zero, kernel_zero, _, _] = site.inputs()?;
    let data = without_zero(emit, data, data_zero, None);
    let axis = if site.is_scalar(emit.store, 3)? {
        None
    } else if site.op == "qnn.conv2d" {
        Layout::parse(site.text(emit.store, "kernel_layout"))?.index_of('O').map(|axis| axis as i64)
    } else {
        Some(0)
    };
    let kernel = without_zero(emit, kernel, kernel_zero, axis);
    let attrs = with_padding(emit.store, site.attrs);
    Ok(Some(emit.over(if site.op == "qnn.conv2d" { "nn.conv2d" } else { "nn.dense" }, &[data, kernel], attrs, &[])))
}

/// Subtracts a zero point, or one for each index of an axis.
fn without_zero(emit: &mut Emit<'_>, data: ExprId, zero: ExprId, axis: Option<i64>) -> ExprId {
    let data = emit.cast(data, DType::I16);
    let zero = emit.cast(zero, DType::I16);
    let Some(axis) = axis else { return emit.call("subtract", &[data, zero]) };
    let zero = emit.call("negative", &[zero]);
    emit.with("nn.bias_add", &[data, zero], &[("axis", crate::ir::AttrValue::int(axis))])
}

pub(super) fn conv2d_transpose(emit: &mut Emit<'_>, site: &Site<'_>) -> Replaced {
    let [data, kernel, data_zero, kernel_zero, _, _] = site.inputs()?;
    let axis = |scalar: bool| (!scalar).then_some(1);
    let (data_axis, kernel_axis) = (axis(site.is_scalar(emit.store, 2)?), axis(site.is_scalar(emit.store, 3)?));
    let data = without_zero(emit, data, data_zero, data_axis);
    let kernel = without_zero(emit, kernel, kernel_zero, kernel_axis);
    let attrs = with_padding(emit.store, site.attrs);
    Ok(Some(emit.over("nn.conv2d_transpose", &[data, kernel], attrs, &[])))
}
