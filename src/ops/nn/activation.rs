//! Activations, softmax and bias.

use super::compute::{Num, around, input, values};
use crate::ir::Tensor;
use crate::ir::{DType, Dim, PrimOp};
use crate::ops::kernel::{EvalError, KernelCx, Lane, axis_index, by_lane, reshaped, write};
use crate::ops::relax::{deduce, gradient, layout};
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult, identity};

/// Attributes `relay.attrs.LeakyReluAttrs`.
pub static LEAKY_RELU: AttrsSchema = schema("relay.attrs.LeakyReluAttrs", &[field::float("alpha", 0.25)]);

/// Attributes `relay.attrs.SoftmaxAttrs`.
pub static SOFTMAX: AttrsSchema = schema("relay.attrs.SoftmaxAttrs", &[field::int("axis", -1)]);

/// Attributes `relax.attrs.SoftmaxAttrs`.
static RELAX_SOFTMAX: AttrsSchema = schema("relax.attrs.SoftmaxAttrs", &[field::int("axis", -1)]);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("nn.relu", "The larger of zero and the element.")
        .pattern(OpPattern::ElemWise)
        .kernel(relu_kernel)
        .relay(relay(&["data"], identity))
        .relax(
            relax(&[value("data")], deduce::unary::arith)
                .follows()
                .layout(layout::element::unary)
                .gradient(gradient::nn::relu)
                .same_kernel(),
        ),
    op("nn.leaky_relu", "The element, multiplied by `alpha` where it is negative.")
        .pattern(OpPattern::ElemWise)
        .kernel(leaky_relu_kernel)
        .relay(relay(&["data"], identity).attrs(&LEAKY_RELU))
        .relax(
            relax(&[value("data")], deduce::unary::float_arith)
                .named("nn.leakyrelu")
                .attrs(&schema("relax.attrs.LeakyReluAttrs", &[field::float("alpha", 0.01)]))
                .same_kernel(),
        ),
    op("nn.prelu", "The element, multiplied by the `alpha` of its channel where it is not positive.")
        .pattern(OpPattern::Broadcast)
        .kernel(prelu_kernel)
        .relay(relay(&["data", "alpha"], prelu).attrs(&schema("relay.attrs.PReluAttrs", &[field::int("axis", 1)])))
        .relax(
            relax(&[value("data"), value("alpha")], deduce::nn::prelu)
                .attrs(&schema("relax.attrs.PReluAttrs", &[field::int("axis", 1)]))
                .layout(layout::nn::prelu)
                .same_kernel(),
        ),
    op("nn.softmax", "Exponentials along `axis`, scaled to add up to one.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(softmax_kernel)
        .relay(relay(&["data"], softmax).attrs(&SOFTMAX))
        .relax(
            relax(&[value("data")], deduce::nn::softmax)
                .attrs(&RELAX_SOFTMAX)
                .layout(layout::nn::softmax)
                .gradient(gradient::nn::softmax),
        ),
    op("nn.fast_softmax", "`nn.softmax` with an approximate exponential.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(softmax_kernel)
        .relay(relay(&["data"], softmax).attrs(&SOFTMAX)),
    op("nn.log_softmax", "Logarithm of the softmax along `axis`.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(log_softmax_kernel)
        .relay(relay(&["data"], softmax).attrs(&SOFTMAX))
        .relax(relax(&[value("data")], deduce::nn::softmax).attrs(&RELAX_SOFTMAX).gradient(gradient::nn::log_softmax)),
    op("nn.bias_add", "Adds a one-dimensional `bias` along `axis`.")
        .pattern(OpPattern::Broadcast)
        .kernel(bias_add_kernel)
        .relay(relay(&["data", "bias"], bias_add).attrs(&schema("relay.attrs.BiasAddAttrs", &[field::int("axis", 1)]))),
    op("nn.batch_flatten", "Flattens all axes behind the first one into one.")
        .pattern(OpPattern::Injective)
        .reshape()
        .kernel(batch_flatten_kernel)
        .relay(relay(&["data"], batch_flatten))
        .relax(relax(&[value("data")], deduce::nn::batch_flatten).follows().same_kernel()),
    op("nn.gelu", "The Gaussian error linear unit.")
        .relax(relax(&[value("data")], deduce::unary::float_arith).follows().layout(layout::element::unary)),
    op("nn.gelu_tanh", "The same, approximated with `tanh`.")
        .relax(relax(&[value("data")], deduce::unary::float_arith).follows().layout(layout::element::unary)),
    op("nn.selu", "The scaled exponential linear unit.")
        .relax(relax(&[value("data")], deduce::unary::float_arith).follows().layout(layout::element::unary)),
    op("nn.silu", "The element times its sigmoid.").relax(
        relax(&[value("data")], deduce::unary::float_arith).follows().layout(layout::element::unary).gradient(gradient::nn::silu),
    ),
    op("nn.softplus", "A smooth `relu`.").relax(
        relax(&[value("data")], deduce::unary::float_arith)
            .attrs(&schema("relax.attrs.SoftplusAttrs", &[field::float("beta", 1.0), field::float("threshold", 20.0)])),
    ),
];

/// TVM's `PReluRel`.
fn prelu(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let axis = cx.attr_int("axis");
    let Some(place) = cx.attr_axis(shape.len()).filter(|_| axis >= 0) else {
        return Err(format!("Wrong axis ({axis})value."));
    };
    cx.assign_tensor(1, &[shape[place]], dtype)?;
    cx.output_tensor(&shape, dtype)
}

/// TVM's `SoftmaxRel`.
pub fn softmax(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, _)) = cx.tensor(0) else { return Ok(false) };
    let rank = shape.len();
    if cx.attr_axis(rank).is_none() {
        let axis = cx.attr_int("axis");
        return Err(format!("Wrong axis ({axis}) not in expected range: [-{rank}, {rank})"));
    }
    cx.output(cx.types[0])
}

/// TVM's `BiasAddRel`: the bias' type follows from the data.
fn bias_add(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let Some(place) = cx.attr_axis(shape.len()) else {
        return Err(format!(
            "The axis in bias_add must be in range for the shape; attempted to access index {} of {}",
            cx.attr_int("axis"),
            cx.show(&shape)
        ));
    };
    cx.assign_tensor(1, &[shape[place]], dtype)?;
    cx.output(cx.types[0])
}

/// TVM's `BatchFlattenRel`. An unknown extent among the flattened ones makes the product unknown.
fn batch_flatten(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let Some((&batch, rest)) = shape.split_first() else { return Ok(false) };
    let mut flat = Dim::int(1);
    for &extent in rest {
        flat = cx.dim(PrimOp::Mul, flat, extent);
    }
    cx.output_tensor(&[batch, flat], dtype)
}

fn relu_kernel(_: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    by_lane!(data.dtype, T => {
        let out: Vec<T> = values::<T>(inputs, 0)?.into_iter().map(|x| x.larger(T::ZERO)).collect();
        Ok(vec![write(data.dtype, &data.shape, &out)?])
    })
}

fn leaky_relu_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    by_lane!(data.dtype, T => {
        let alpha = T::from_f64(cx.float("alpha")?);
        let out: Vec<T> = values::<T>(inputs, 0)?.into_iter().map(|x| if x > T::ZERO { x } else { x.times(alpha) }).collect();
        Ok(vec![write(data.dtype, &data.shape, &out)?])
    })
}

/// The elements of a vector along `axis`, combined with those of the data.
macro_rules! with_channels {
    ($cx:expr, $inputs:expr, |$x:ident, $c:ident| $body:expr) => {{
        let data = input($inputs, 0)?;
        let axis = axis_index($cx.int("axis")?, data.shape.len())?;
        let (_, channels, after) = around(&data.shape, axis);
        by_lane!(data.dtype, T => {
            let (data_values, vector): (Vec<T>, Vec<T>) = (values($inputs, 0)?, values($inputs, 1)?);
            if vector.len() != channels {
                return Err(EvalError::new(format!("{} elements do not fit {channels} channels", vector.len())));
            }
            let combine = |$x: T, $c: T| $body;
            let out: Vec<T> = data_values.iter().enumerate().map(|(i, &x)| combine(x, vector[i / after % channels])).collect();
            Ok(vec![write(data.dtype, &data.shape, &out)?])
        })
    }};
}

fn bias_add_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    with_channels!(cx, inputs, |x, bias| x.plus(bias))
}

fn prelu_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    with_channels!(cx, inputs, |x, alpha| if x > Num::ZERO { x } else { x.times(alpha) })
}

fn batch_flatten_kernel(_: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let Some((&batch, rest)) = data.shape.split_first() else {
        return Err(EvalError::new("a scalar cannot be flattened"));
    };
    Ok(vec![reshaped(data, &[batch, rest.iter().product()])?])
}

/// Runs `f` on every line along the attribute `axis`.
fn along_axis<T: Lane>(cx: &KernelCx<'_>, inputs: &[Tensor], f: impl Fn(&mut [T])) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let axis = axis_index(cx.int("axis")?, data.shape.len())?;
    let (before, extent, after) = around(&data.shape, axis);
    let mut x: Vec<T> = values(inputs, 0)?;
    let mut line = vec![T::default(); extent];
    for start in (0..before).flat_map(|b| (0..after).map(move |a| b * extent * after + a)) {
        for (i, slot) in line.iter_mut().enumerate() {
            *slot = x[start + i * after];
        }
        f(&mut line);
        for (i, value) in line.iter().enumerate() {
            x[start + i * after] = *value;
        }
    }
    Ok(vec![write(data.dtype, &data.shape, &x)?])
}

macro_rules! softmax_line {
    ($T:ty, $log:expr) => {
        |line: &mut [$T]| {
            let largest = line.iter().copied().fold(<$T>::MIN, <$T>::max);
            let sum: $T = line.iter().map(|x| (x - largest).exp()).sum();
            let log = sum.ln();
            line.iter_mut().for_each(|x| *x = if $log { *x - largest - log } else { (*x - largest).exp() / sum });
        }
    };
}

fn softmax_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    match input(inputs, 0)?.dtype {
        DType::F64 => along_axis(cx, inputs, softmax_line!(f64, false)),
        _ => along_axis(cx, inputs, softmax_line!(f32, false)),
    }
}

fn log_softmax_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    match input(inputs, 0)?.dtype {
        DType::F64 => along_axis(cx, inputs, softmax_line!(f64, true)),
        _ => along_axis(cx, inputs, softmax_line!(f32, true)),
    }
}
