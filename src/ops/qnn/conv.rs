//! Convolutions over quantised tensors.

use super::arith::{Requantizer, clip, shifted};
use super::params::BYTES;
use super::quantize::exactly;
use crate::ir::Tensor;
use crate::ir::{DType, DTypeCode, Dim};
use crate::ops::kernel::{EvalError, KernelCx, read, write};
use crate::ops::layout::Layout;
use crate::ops::nn::conv::CONV2D;
use crate::ops::nn::conv_transpose::CONV2D_TRANSPOSE;
use crate::ops::nn::pool::AVG_POOL2D;
use crate::ops::nn::{conv, conv_transpose, pool};
use crate::ops::nn::{conv_kernel, pool_kernel};
use crate::ops::row::{op, relay};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op(
        "qnn.conv2d",
        "A 2-D convolution over quantised data and weight; the result is in 32 bit integers at the product of \
         both scales.",
    )
    .pattern(OpPattern::OutEWiseFusable)
    .non_computational()
    .kernel(conv2d_kernel)
    .relay(
        relay(&["data", "weight", "input_zero_point", "weight_zero_point", "input_scale", "weight_scale"], conv2d).attrs(&CONV2D),
    ),
    op("qnn.conv2d_transpose", "A transposed 2-D convolution over quantised data and weight.")
        .non_computational()
        .kernel(conv2d_transpose_kernel)
        .relay(
            relay(&["data", "weight", "input_zero_point", "weight_zero_point", "input_scale", "weight_scale"], conv2d_transpose)
                .attrs(&CONV2D_TRANSPOSE),
        ),
    op("qnn.avg_pool2d", "The mean of each window over quantised data, requantised to the output scale and zero point.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(avg_pool2d_kernel)
        .relay(
            relay(&["data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"], avg_pool2d)
                .attrs(&AVG_POOL2D),
        ),
];

const DATA: &[DType] = &[DType::I8, DType::U8, DType::I16];
const OUT: &[DType] = &[DType::I16, DType::I32, DType::I64];

/// The extent of the axis `name` in a shape of layout `layout`.
fn extent_of(cx: &RuleCx<'_>, layout: &str, name: char, shape: &[Dim]) -> Result<Dim, String> {
    let layout: Layout = cx.attr_layout(layout)?;
    layout.index_of(name).and_then(|i| shape.get(i)).copied().ok_or_else(|| format!("the layout {layout} has no {name}"))
}

/// Checks data, weight and result types, and the scales and zero points but that of the weight.
fn check_conv(cx: &mut RuleCx<'_>, data: DType, weight: DType, weights: &[DType]) -> Result<(), String> {
    cx.one_of(data, DATA, "input")?;
    cx.one_of(weight, weights, "weight")?;
    cx.one_of(cx.out_dtype(DType::F32), OUT, "output")
}

/// TVM's `QnnConv2DRel`.
fn conv2d(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((data, data_dtype)), Some((weight, weight_dtype))) = (cx.tensor(0), cx.tensor(1)) else {
        return Ok(false);
    };
    check_conv(cx, data_dtype, weight_dtype, DATA)?;
    if (2..=5).any(|i| cx.is_open(i)) {
        return Ok(false);
    }
    cx.scalar(2, DType::I32)?;
    cx.scalar(4, DType::F32)?;
    let groups = cx.attr_int("groups");
    let outputs = extent_of(cx, "kernel_layout", 'O', &weight)?;
    let scales = if groups == 1 {
        outputs
    } else {
        let multiplier = extent_of(cx, "kernel_layout", 'I', &weight)?;
        let channels = cx.attr_dim("channels");
        let inputs = extent_of(cx, "data_layout", 'C', &data)?;
        let depthwise = inputs == Dim::int(groups) && channels == Some(multiplier);
        if depthwise { cx.mul(multiplier, outputs) } else { channels.ok_or("channels must be set")? }
    };
    cx.per_channel(5, DType::F32, scales)?;
    cx.ask(&[cx.types[0], cx.types[1], cx.types[6]], conv::conv2d)
}

/// TVM's `QnnConv2DTransposeRel`.
fn conv2d_transpose(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((_, data_dtype)), Some((weight, weight_dtype))) = (cx.tensor(0), cx.tensor(1)) else { return Ok(false) };
    // Unlike `qnn.conv2d` it takes uint16 data and no int16 weight.
    let wide = DType::new(DTypeCode::UInt, 16);
    check_conv(cx, if data_dtype == wide { DType::I16 } else { data_dtype }, weight_dtype, BYTES)?;
    if (2..=5).any(|i| cx.is_open(i)) {
        return Ok(false);
    }
    cx.per_channel(2, DType::I32, Dim::int(1))?;
    cx.per_channel(4, DType::F32, Dim::int(1))?;
    let outputs = extent_of(cx, "kernel_layout", 'O', &weight)?;
    let scales = if cx.attr_int("groups") == 1 {
        outputs
    } else {
        let inputs = extent_of(cx, "kernel_layout", 'I', &weight)?;
        cx.mul(inputs, outputs)
    };
    cx.per_channel(5, DType::F32, scales)?;
    cx.ask(&[cx.types[0], cx.types[1], cx.types[6]], conv_transpose::conv2d_transpose)
}

/// TVM's `QnnAvgPool2DRel`.
fn avg_pool2d(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((_, dtype)) = cx.tensor(0) else { return Ok(false) };
    cx.one_of(dtype, BYTES, "input")?;
    if (1..=4).any(|i| cx.is_open(i)) {
        return Ok(false);
    }
    for (index, dtype) in [(1, DType::F32), (2, DType::I32), (3, DType::F32), (4, DType::I32)] {
        cx.scalar(index, dtype)?;
    }
    cx.ask(&[cx.types[0], cx.types[5]], pool::pool2d)
}

/// Subtracts the zero points of data and weight. Padding then has the value of the zero point, as it should.
fn operands(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<[Tensor; 2], EvalError> {
    let [data, weight, data_zero, weight_zero, _, _] = exactly(inputs)?;
    let layout = Layout::parse(cx.text("kernel_layout")).map_err(EvalError::new)?;
    let axis = layout.index_of('O').ok_or_else(|| EvalError::new("the kernel layout has no output channels"))?;
    Ok([shifted(data, data_zero, 0)?, shifted(weight, weight_zero, axis as i64)?])
}

fn conv2d_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    conv_kernel::conv2d(cx, &operands(cx, inputs)?)
}

fn conv2d_transpose_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    conv_kernel::conv2d_transpose(cx, &operands(cx, inputs)?)
}

/// TVM's `QnnAvgPoolCanonicalize`: requantised first, then averaged in 32 bit integers.
fn avg_pool2d_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let [data, scale, zero, out_scale, out_zero] = exactly(inputs)?;
    let wide = Requantizer::new(&data.shape, -1, [scale, zero, out_scale, out_zero])?.upcast(data)?;
    let pooled = pool_kernel::avg_pool2d(cx, &[wide])?;
    let narrow = |tensor: &Tensor| {
        let out: Vec<i64> = read::<i64>(tensor)?.into_iter().map(|x| clip(x, data.dtype)).collect();
        write(data.dtype, &tensor.shape, &out)
    };
    pooled.iter().map(narrow).collect()
}
