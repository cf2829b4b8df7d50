//! Activations, softmax and bias.

use super::compute::{Num, around, input, values};
use crate::ir::Tensor;
use crate::ir::{DType, Dim, PrimOp};
use crate::ops::kernel::{EvalError, KernelCx, Lane, axis_index, by_lane, reshaped, write};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult, identity};

/// Attributes `relay.attrs.LeakyReluAttrs`.
pub static LEAKY_RELU: AttrsSchema = AttrsSchema {
    key: "relay.attrs.LeakyReluAttrs",
    fields: &[AttrField::new("alpha", AttrKind::Float, AttrDefault::Float(0.25))],
};

/// Attributes `relay.attrs.PReluAttrs`.
pub static PRELU: AttrsSchema =
    AttrsSchema { key: "relay.attrs.PReluAttrs", fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(1))] };

/// Attributes `relay.attrs.SoftmaxAttrs`.
pub static SOFTMAX: AttrsSchema =
    AttrsSchema { key: "relay.attrs.SoftmaxAttrs", fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1))] };

/// Attributes `relay.attrs.BiasAddAttrs`.
pub static BIAS_ADD: AttrsSchema =
    AttrsSchema { key: "relay.attrs.BiasAddAttrs", fields: &[AttrField::new("axis", AttrKind::Int, AttrDefault::Int(1))] };

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.relu",
        doc: "The larger of zero and the element.",
        args: &["data"],
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        kernel: Some(relu_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.leaky_relu",
        doc: "The element, multiplied by `alpha` where it is negative.",
        args: &["data"],
        attrs: Some(&LEAKY_RELU),
        rule: Some(identity),
        pattern: Some(OpPattern::ElemWise),
        kernel: Some(leaky_relu_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.prelu",
        doc: "The element, multiplied by the `alpha` of its channel where it is not positive.",
        args: &["data", "alpha"],
        attrs: Some(&PRELU),
        rule: Some(prelu),
        pattern: Some(OpPattern::Broadcast),
        kernel: Some(prelu_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.softmax",
        doc: "Exponentials along `axis`, scaled to add up to one.",
        args: &["data"],
        attrs: Some(&SOFTMAX),
        rule: Some(softmax),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(softmax_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.fast_softmax",
        doc: "`nn.softmax` with an approximate exponential.",
        args: &["data"],
        attrs: Some(&SOFTMAX),
        rule: Some(softmax),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(softmax_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.log_softmax",
        doc: "Logarithm of the softmax along `axis`.",
        args: &["data"],
        attrs: Some(&SOFTMAX),
        rule: Some(softmax),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(log_softmax_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.bias_add",
        doc: "Adds a one-dimensional `bias` along `axis`.",
        args: &["data", "bias"],
        attrs: Some(&BIAS_ADD),
        rule: Some(bias_add),
        pattern: Some(OpPattern::Broadcast),
        kernel: Some(bias_add_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.batch_flatten",
        doc: "Flattens all axes behind the first one into one.",
        args: &["data"],
        rule: Some(batch_flatten),
        pattern: Some(OpPattern::Injective),
        reshape: true,
        kernel: Some(batch_flatten_kernel),
        ..OpInfo::BASE
    },
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
