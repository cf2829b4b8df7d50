//! Matrix products over quantised tensors.

use super::arith::shifted;
use super::params::BYTES;
use super::quantize::exactly;
use crate::ir::Tensor;
use crate::ir::{DType, DTypeCode};
use crate::ops::kernel::{EvalError, KernelCx};
use crate::ops::nn::dense as plain;
use crate::ops::nn::dense::{BATCH_MATMUL, DENSE, DENSE_PACK};
use crate::ops::nn::dense_kernel as plain_kernel;
use crate::ops::row::{op, relay};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op(
        "qnn.dense",
        "A dense layer over quantised data and weight; the result is in 32 bit integers at the product of \
         both scales.",
    )
    .pattern(OpPattern::OutEWiseFusable)
    .non_computational()
    .kernel(dense_kernel)
    .relay(
        relay(&["data", "weight", "input_zero_point", "weight_zero_point", "input_scale", "weight_scale"], dense).attrs(&DENSE),
    ),
    op("qnn.contrib_dense_pack", "`qnn.dense` over a weight packed in blocks.")
        .pattern(OpPattern::OutEWiseFusable)
        .non_computational()
        .kernel(dense_pack_kernel)
        .relay(
            relay(&["data", "weight", "input_zero_point", "weight_zero_point", "input_scale", "weight_scale"], dense_pack)
                .attrs(&DENSE_PACK),
        ),
    op("qnn.batch_matmul", "Pairwise products of quantised matrices; the second one is transposed.")
        .pattern(OpPattern::OutEWiseFusable)
        .non_computational()
        .kernel(batch_matmul_kernel)
        .relay(relay(&["x", "y", "x_zero_point", "y_zero_point", "x_scale", "y_scale"], batch_matmul).attrs(&BATCH_MATMUL)),
];

/// TVM's `QnnDenseRel`.
fn dense(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((_, data)), Some((weight_shape, weight))) = (cx.tensor(0), cx.tensor(1)) else { return Ok(false) };
    cx.one_of(data, &[DType::I8, DType::U8, DType::I16, DType::new(DTypeCode::UInt, 16)], "input")?;
    cx.one_of(weight, BYTES, "weight")?;
    cx.one_of(cx.out_dtype(DType::F32), &[DType::I32, DType::I64], "output")?;
    if (2..=5).any(|i| cx.is_open(i)) {
        return Ok(false);
    }
    cx.scalar(2, DType::I32)?;
    cx.scalar(4, DType::F32)?;
    let units = cx.attr_dim("units").or(weight_shape.first().copied()).ok_or("units must be set")?;
    cx.per_channel(5, DType::F32, units)?;
    cx.ask(&[cx.types[0], cx.types[1], cx.types[6]], plain::matmul)
}

/// TVM's `QnnDensePackRel`.
fn dense_pack(cx: &mut RuleCx<'_>) -> RuleResult {
    match cx.tensor(1) {
        Some((weight, _)) if weight.len() != 4 => Err("Expect weight to be 4D tensor".into()),
        _ => cx.ask(&[cx.types[0], cx.types[1], cx.types[6]], plain::dense_pack),
    }
}

/// TVM's `QnnBatchMatmulRel`.
fn batch_matmul(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((_, x)), Some((_, y))) = (cx.tensor(0), cx.tensor(1)) else { return Ok(false) };
    cx.one_of(x, BYTES, "input")?;
    cx.one_of(y, BYTES, "weight")?;
    cx.one_of(cx.out_dtype(DType::F32), &[DType::I32], "output")?;
    if (2..=5).any(|i| cx.is_open(i)) {
        return Ok(false);
    }
    for (index, dtype) in [(2, DType::I32), (3, DType::I32), (4, DType::F32), (5, DType::F32)] {
        cx.scalar(index, dtype)?;
    }
    cx.ask(&[cx.types[0], cx.types[1], cx.types[6]], plain::batch_matmul)
}

fn without_zero_points(inputs: &[Tensor]) -> Result<[Tensor; 2], EvalError> {
    let [a, b, a_zero, b_zero, _, _] = exactly(inputs)?;
    Ok([shifted(a, a_zero, 0)?, shifted(b, b_zero, 0)?])
}

fn dense_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    plain_kernel::dense(cx, &without_zero_points(inputs)?)
}

fn dense_pack_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    plain_kernel::dense_pack(cx, &without_zero_points(inputs)?)
}

fn batch_matmul_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    plain_kernel::batch_matmul(cx, &without_zero_points(inputs)?)
}
