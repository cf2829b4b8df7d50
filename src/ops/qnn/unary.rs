//! Element-wise operators over one quantised tensor.

use super::arith::{FixedPoint, PerChannel, Requantizer, clip, quantize};
use super::params::BYTES;
use super::quantize::exactly;
use crate::ir::DType;
use crate::ir::Tensor;
use crate::ops::kernel::{EvalError, KernelCx, axis_index, read, read_scalar, write};
use crate::ops::nn::activation::{LEAKY_RELU, SOFTMAX};
use crate::ops::row::{op, relay};
use crate::ops::{Kernel, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult, identity};
use crate::ops::{info, lookup};

/// Declares an operator that TVM computes through a table of all values.
#[track_caller]
const fn elementwise(name: &'static str, doc: &'static str, kernel: Kernel) -> OpInfo {
    const ARGS: &[&str] = &["x", "scale", "zero_point", "output_scale", "output_zero_point"];
    op(name, doc).non_computational().kernel(kernel).relay(relay(ARGS, unary))
}

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    elementwise(
        "qnn.tanh",
        "Hyperbolic tangent of a quantised tensor, requantised to the output scale and zero point.",
        tanh_kernel,
    )
    .pattern(OpPattern::ElemWise),
    elementwise("qnn.exp", "Exponential of a quantised tensor, requantised to the output scale and zero point.", exp_kernel),
    elementwise("qnn.sqrt", "Square root of a quantised tensor, requantised to the output scale and zero point.", sqrt_kernel),
    elementwise(
        "qnn.rsqrt",
        "Reciprocal square root of a quantised tensor, requantised to the output scale and zero point.",
        rsqrt_kernel,
    ),
    elementwise("qnn.erf", "Error function of a quantised tensor, requantised to the output scale and zero point.", erf_kernel),
    elementwise(
        "qnn.sigmoid",
        "Logistic function of a quantised tensor, requantised to the output scale and zero point.",
        sigmoid_kernel,
    ),
    elementwise(
        "qnn.hardswish",
        "Hard swish of a quantised tensor, requantised to the output scale and zero point.",
        hardswish_kernel,
    ),
    elementwise(
        "qnn.log",
        "Natural logarithm of a quantised tensor, requantised to the output scale and zero point.",
        log_kernel,
    ),
    elementwise("qnn.abs", "Absolute value of a quantised tensor, requantised to the output scale and zero point.", abs_kernel),
    op("qnn.leaky_relu", "`nn.leaky_relu` of a quantised tensor, requantised to the output scale and zero point.")
        .non_computational()
        .kernel(leaky_relu_kernel)
        .relay(
            relay(&["data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"], unary).attrs(&LEAKY_RELU),
        ),
    op("qnn.softmax", "Softmax of a quantised tensor along `axis`, in integers.")
        .non_computational()
        .kernel(softmax_kernel)
        .relay(relay(&["data", "scale", "zero_point", "output_scale", "output_zero_point"], softmax).attrs(&SOFTMAX)),
];

/// TVM's `QnnElementwiseUnaryFuncRel` and `QnnLeakyReluRel`.
fn unary(cx: &mut RuleCx<'_>) -> RuleResult {
    unary_over(cx, BYTES)
}

/// TVM's `QnnSoftmaxRel`.
fn softmax(cx: &mut RuleCx<'_>) -> RuleResult {
    unary_over(cx, &[DType::I8])
}

fn unary_over(cx: &mut RuleCx<'_>, allowed: &[DType]) -> RuleResult {
    let Some((_, dtype)) = cx.tensor(0) else { return Ok(false) };
    cx.one_of(dtype, allowed, "input")?;
    if (1..=4).any(|i| cx.is_open(i)) {
        return Ok(false);
    }
    for (index, dtype) in [(1, DType::F32), (2, DType::I32), (3, DType::F32), (4, DType::I32)] {
        cx.scalar(index, dtype)?;
    }
    cx.ask(&[cx.types[0], cx.types[5]], identity)
}

/// Dequantises, computes, and quantises again.
fn through_reals(
    cx: &KernelCx<'_>,
    inputs: &[Tensor],
    f: impl Fn(&KernelCx<'_>, Tensor) -> Result<Tensor, EvalError>,
) -> Result<Vec<Tensor>, EvalError> {
    let [data, scale, zero, out_scale, out_zero] = exactly(inputs)?;
    let (scale, out_scale): (f32, f32) = (read_scalar(scale)?, read_scalar(out_scale)?);
    let (zero, out_zero): (i64, i64) = (read_scalar(zero)?, read_scalar(out_zero)?);
    let real: Vec<f32> = read::<i64>(data)?.into_iter().map(|x| x.wrapping_sub(zero) as f32 * scale).collect();
    let result: Vec<f32> = read(&f(cx, write(DType::F32, &data.shape, &real)?)?)?;
    let out: Vec<i64> = result.into_iter().map(|x| quantize(x, out_scale, out_zero, data.dtype)).collect();
    Ok(vec![write(data.dtype, &data.shape, &out)?])
}

macro_rules! through_operator {
    ($($kernel:ident = $name:literal;)*) => {
        $(fn $kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
            through_reals(cx, inputs, |cx, real| {
                let kernel = lookup($name).and_then(|op| info(op).kernel);
                let kernel = kernel.ok_or_else(|| EvalError::new(concat!("`", $name, "` cannot be evaluated here")))?;
                let real = KernelCx { store: cx.store, attrs: None, out_type: cx.out_type }.apply(kernel, real)?;
                Ok(real)
            })
        })*
    };
}
through_operator! {
    tanh_kernel = "tanh";
    exp_kernel = "exp";
    sqrt_kernel = "sqrt";
    rsqrt_kernel = "rsqrt";
    erf_kernel = "erf";
    sigmoid_kernel = "sigmoid";
    log_kernel = "log";
    abs_kernel = "abs";
}

impl KernelCx<'_> {
    /// Returns the only result of a kernel with one input.
    fn apply(&self, kernel: crate::ops::Kernel, input: Tensor) -> Result<Tensor, EvalError> {
        kernel(self, &[input])?.pop().ok_or_else(|| EvalError::new("a kernel gave nothing"))
    }
}

fn hardswish_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    through_reals(cx, inputs, |_, real| {
        let out: Vec<f32> = read::<f32>(&real)?.into_iter().map(|x| x * ((x + 3.0).clamp(0.0, 6.0) / 6.0)).collect();
        write(DType::F32, &real.shape, &out)
    })
}

/// TVM's `QnnLeakyReluCanonicalize`: in fixed point.
fn leaky_relu_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let [data, scale, zero, out_scale, out_zero] = exactly(inputs)?;
    let requantized = read::<i64>(&Requantizer::new(&data.shape, -1, [scale, zero, out_scale, out_zero])?.upcast(data)?)?;
    let alpha = cx.float("alpha")?;
    let (zero, out_zero): (i64, i64) = (read_scalar(zero)?, read_scalar(out_zero)?);
    let shifted = FixedPoint::new(1.0 - alpha).times(out_zero, true);
    let alpha = FixedPoint::new(alpha);
    let out: Vec<i64> = (read::<i64>(data)?.into_iter().zip(requantized))
        .map(|(x, q)| clip(if x < zero { alpha.times(q, true) + shifted } else { q }, data.dtype))
        .collect();
    Ok(vec![write(data.dtype, &data.shape, &out)?])
}

/// TVM's `QnnSoftmaxCanonicalize`, after I-ViT (arXiv 2207.01405, algorithm 1): in 32 bit integers.
fn softmax_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    const FRACTION: u32 = 30;
    const BITS: u32 = 8;
    let [data, scale, zero, out_scale, out_zero] = exactly(inputs)?;
    let scale: f32 = read_scalar(scale)?;
    if !(0.0..=1.0).contains(&scale) || scale == 0.0 {
        return Err(EvalError::new("the input scale should be less than or equal to 1"));
    }
    let unit = (1.0 / scale).round() as i32;
    let zero: PerChannel<i64> = PerChannel::read(zero, &[], 0)?;
    let axis = axis_index(cx.int("axis")?, data.shape.len())?;
    let extent = data.shape[axis] as usize;
    let after: usize = data.shape[axis + 1..].iter().product::<i64>() as usize;
    let x: Vec<i64> = read(data)?;
    let mut out = vec![0i64; x.len()];
    let before = x.len() / (extent * after).max(1);
    for start in (0..before).flat_map(|b| (0..after).map(move |a| b * extent * after + a)) {
        let line: Vec<i32> = (0..extent).map(|i| (x[start + i * after] - zero.at(0)) as i32).collect();
        let largest = line.iter().copied().max().unwrap_or(0);
        let powers: Vec<i32> =
            line.iter().map(|x| x.wrapping_sub(largest)).map(|x| x.wrapping_add(x >> 1).wrapping_sub(x >> 4)).collect();
        let quotients: Vec<i32> = powers.iter().map(|p| p.wrapping_div(-unit).clamp(0, 20)).collect();
        let top = quotients.iter().copied().max().unwrap_or(0);
        let exps: Vec<i32> = (powers.iter().zip(&quotients))
            .map(|(p, q)| (p.wrapping_add(q.wrapping_mul(unit)) >> 1).wrapping_add(unit).wrapping_shl((top - q) as u32))
            .collect();
        let sum = exps.iter().fold(0i32, |s, e| s.wrapping_add(*e));
        let factor = if sum == 0 { 0 } else { (1i32 << FRACTION) / sum };
        for (i, exp) in exps.iter().enumerate() {
            out[start + i * after] = i64::from(factor.wrapping_mul(*exp) >> (FRACTION - (BITS - 1)));
        }
    }
    let inner = Requantizer::from_scale(1.0 / (1 << (BITS - 1)) as f32, read_scalar(out_scale)?, read_scalar(out_zero)?);
    let out: Vec<i64> = out.into_iter().enumerate().map(|(i, x)| clip(inner.apply(x, i), DType::I8)).collect();
    Ok(vec![write(DType::I8, &data.shape, &out)?])
}
