//! Normalisations and dropout.

use super::compute::{around, input, values};
use crate::ir::Tensor;
use crate::ops::kernel::{EvalError, KernelCx, Lane, axis_index, by_lane, write};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};
use crate::ops::{OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult, identity};

/// Attributes `relay.attrs.BatchNormAttrs`.
pub static BATCH_NORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.BatchNormAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("epsilon", AttrKind::Float, AttrDefault::Float(1e-05)),
        AttrField::new("center", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("scale", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relay.attrs.LayerNormAttrs`.
pub static LAYER_NORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.LayerNormAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(-1)),
        AttrField::new("epsilon", AttrKind::Float, AttrDefault::Float(1e-05)),
        AttrField::new("center", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("scale", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relay.attrs.InstanceNormAttrs`.
pub static INSTANCE_NORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.InstanceNormAttrs",
    fields: &[
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("epsilon", AttrKind::Float, AttrDefault::Float(1e-05)),
        AttrField::new("center", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("scale", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relay.attrs.GroupNormAttrs`.
pub static GROUP_NORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.GroupNormAttrs",
    fields: &[
        AttrField::new("num_groups", AttrKind::Int, AttrDefault::Int(0)),
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("epsilon", AttrKind::Float, AttrDefault::Float(1e-05)),
        AttrField::new("center", AttrKind::Bool, AttrDefault::Bool(true)),
        AttrField::new("scale", AttrKind::Bool, AttrDefault::Bool(true)),
    ],
};

/// Attributes `relay.attrs.L2NormalizeAttrs`.
pub static L2_NORMALIZE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.L2NormalizeAttrs",
    fields: &[AttrField::required("eps", AttrKind::Float), AttrField::required("axis", AttrKind::Ints)],
};

/// Attributes `relay.attrs.LRNAttrs`.
pub static LRN: AttrsSchema = AttrsSchema {
    key: "relay.attrs.LRNAttrs",
    fields: &[
        AttrField::new("size", AttrKind::Int, AttrDefault::Int(5)),
        AttrField::new("axis", AttrKind::Int, AttrDefault::Int(1)),
        AttrField::new("bias", AttrKind::Float, AttrDefault::Float(2.0)),
        AttrField::new("alpha", AttrKind::Float, AttrDefault::Float(0.0001)),
        AttrField::new("beta", AttrKind::Float, AttrDefault::Float(0.75)),
    ],
};

/// Attributes `relay.attrs.DropoutAttrs`.
pub static DROPOUT: AttrsSchema =
    AttrsSchema { key: "relay.attrs.DropoutAttrs", fields: &[AttrField::new("rate", AttrKind::Float, AttrDefault::Float(0.5))] };

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "nn.batch_norm",
        doc: "Normalises each channel with given mean and variance, scales by `gamma` and adds `beta`. The result is a tuple: data, mean, variance.",
        args: &["data", "gamma", "beta", "moving_mean", "moving_var"],
        attrs: Some(&BATCH_NORM),
        rule: Some(batch_norm),
        pattern: Some(OpPattern::OutEWiseFusable),
        kernel: Some(batch_norm_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.layer_norm",
        doc: "Normalises along one axis with the mean and variance found there, scales by `gamma` and adds `beta`.",
        args: &["data", "gamma", "beta"],
        attrs: Some(&LAYER_NORM),
        rule: Some(channel_norm),
        kernel: Some(layer_norm_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.instance_norm",
        doc: "Normalises each channel of each batch item with its own mean and variance, scales by `gamma` and adds `beta`.",
        args: &["data", "gamma", "beta"],
        attrs: Some(&INSTANCE_NORM),
        rule: Some(instance_norm),
        kernel: Some(instance_norm_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.group_norm",
        doc: "Normalises groups of channels of each batch item with their own mean and variance, scales by `gamma` and adds `beta`.",
        args: &["data", "gamma", "beta"],
        attrs: Some(&GROUP_NORM),
        rule: Some(channel_norm),
        kernel: Some(group_norm_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.l2_normalize",
        doc: "Divides by the Euclidean norm along `axis`, which is taken to be at least the root of `eps`.",
        args: &["data"],
        attrs: Some(&L2_NORMALIZE),
        rule: Some(identity),
        kernel: Some(l2_normalize_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.lrn",
        doc: "Divides each element by a power of the sum of squares of its neighbours along `axis` (local response normalisation).",
        args: &["data"],
        attrs: Some(&LRN),
        rule: Some(identity),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(lrn_kernel),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "nn.dropout",
        doc: "Drops elements at random while training; does nothing when evaluated. The result is a tuple: data, mask.",
        args: &["data"],
        attrs: Some(&DROPOUT),
        rule: Some(dropout),
        pattern: Some(OpPattern::Opaque),
        stateful: true,
        kernel: Some(dropout_kernel),
        ..OpInfo::BASE
    },
];

/// TVM's `BatchNormRel`: data, mean and variance come out.
fn batch_norm(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let axis = cx.attr_int("axis");
    let Some(place) = cx.attr_axis(shape.len()).filter(|_| axis >= -1) else {
        return Err(format!("the axis {axis} of batch_norm is out of range for {}", cx.show(&shape)));
    };
    let channels = cx.store.tensor_type(&[shape[place]], dtype);
    for input in 1..=4 {
        cx.assign(input, channels)?;
    }
    let data = cx.store.tensor_type(&shape, dtype);
    let out = cx.store.tuple_type(&[data, channels, channels]);
    cx.output(out)
}

/// TVM's `LayerNormRel` and `GroupNormRel`.
fn channel_norm(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let Some(place) = cx.attr_axis(shape.len()) else {
        return Err(format!("the axis {} is out of range for {}", cx.attr_int("axis"), cx.show(&shape)));
    };
    cx.assign_tensor(1, &[shape[place]], dtype)?;
    cx.assign_tensor(2, &[shape[place]], dtype)?;
    cx.output_tensor(&shape, dtype)
}

/// TVM's `InstanceNormRel`.
fn instance_norm(cx: &mut RuleCx<'_>) -> RuleResult {
    match cx.tensor(0) {
        Some((shape, _)) if shape.len() <= 2 => Err("instance_norm needs more than 2 axes".into()),
        _ => channel_norm(cx),
    }
}

/// TVM's `DropoutRel`: data and mask come out.
fn dropout(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some((shape, dtype)) = cx.tensor(0) else { return Ok(false) };
    let data = cx.store.tensor_type(&shape, dtype);
    let out = cx.store.tuple_type(&[data, data]);
    cx.output(out)
}

/// Runs the body in `f64` for `float64` and in `f32` for narrower floats.
macro_rules! float_lane {
    ($dtype:expr, $T:ident => $body:expr) => {
        match ($dtype.is_float(), $dtype.bits) {
            (true, 64) => {
                type $T = f64;
                $body
            }
            (true, _) => {
                type $T = f32;
                $body
            }
            _ => Err(EvalError::new(format!("normalising {} is not supported", $dtype))),
        }
    };
}

/// `x * gamma + beta` for the channel, as far as the attributes ask for it.
struct Affine<T> {
    gamma: Option<Vec<T>>,
    beta: Option<Vec<T>>,
}

impl<T: Lane> Affine<T> {
    fn read(cx: &KernelCx<'_>, inputs: &[Tensor], channels: usize) -> Result<Affine<T>, EvalError> {
        let gamma = if cx.flag("scale") { Some(values(inputs, 1)?) } else { None };
        let beta = if cx.flag("center") { Some(values(inputs, 2)?) } else { None };
        let fits = |list: &Option<Vec<T>>| list.as_ref().is_none_or(|l| l.len() == channels);
        match fits(&gamma) && fits(&beta) {
            true => Ok(Affine { gamma, beta }),
            false => Err(EvalError::new("gamma and beta need an element for each channel")),
        }
    }
}

macro_rules! affine {
    ($affine:expr, $x:expr, $channel:expr) => {{
        let scaled = $affine.gamma.as_ref().map_or($x, |gamma| $x * gamma[$channel]);
        $affine.beta.as_ref().map_or(scaled, |beta| scaled + beta[$channel])
    }};
}

fn batch_norm_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let axis = axis_index(cx.int("axis")?, data.shape.len())?;
    let (before, channels, after) = around(&data.shape, axis);
    let (mean_in, var_in) = (input(inputs, 3)?, input(inputs, 4)?);
    let normed = float_lane!(data.dtype, T => {
        let affine = Affine::<T>::read(cx, inputs, channels)?;
        let (x, mean, var): (Vec<T>, Vec<T>, Vec<T>) = (values(inputs, 0)?, values(inputs, 3)?, values(inputs, 4)?);
        if mean.len() != channels || var.len() != channels {
            return Err(EvalError::new("mean and variance need an element for each channel"));
        }
        let epsilon = cx.float("epsilon")? as T;
        let deviation: Vec<T> = var.iter().map(|v| (v + epsilon).sqrt()).collect();
        let mut out = Vec::with_capacity(x.len());
        let mut elements = x.iter();
        for _ in 0..before {
            for c in 0..channels {
                out.extend(elements.by_ref().take(after).map(|x| affine!(affine, (x - mean[c]) / deviation[c], c)));
            }
        }
        write(data.dtype, &data.shape, &out)
    })?;
    Ok(vec![normed, mean_in.clone(), var_in.clone()])
}

/// Normalises sets of elements: `set_of` gives the set of an element, `channel_of` its channel.
fn normalise(
    cx: &KernelCx<'_>,
    inputs: &[Tensor],
    channels: usize,
    sets: usize,
    set_of: impl Fn(usize) -> usize,
    channel_of: impl Fn(usize) -> usize,
) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    float_lane!(data.dtype, T => {
        let affine = Affine::<T>::read(cx, inputs, channels)?;
        let x: Vec<T> = values(inputs, 0)?;
        let size = (x.len() / sets.max(1)) as T;
        let mut mean = vec![0.0 as T; sets];
        x.iter().enumerate().for_each(|(i, x)| mean[set_of(i)] += x);
        mean.iter_mut().for_each(|m| *m /= size);
        let mut variance = vec![0.0 as T; sets];
        for (i, x) in x.iter().enumerate() {
            let difference = x - mean[set_of(i)];
            variance[set_of(i)] += difference * difference;
        }
        let epsilon = cx.float("epsilon")? as T;
        let deviation: Vec<T> = variance.iter().map(|v| (v / size + epsilon).sqrt()).collect();
        let normed = |i: usize| (x[i] - mean[set_of(i)]) / deviation[set_of(i)];
        let out: Vec<T> = (0..x.len()).map(|i| affine!(affine, normed(i), channel_of(i))).collect();
        Ok(vec![write(data.dtype, &data.shape, &out)?])
    })
}

fn layer_norm_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let shape = &input(inputs, 0)?.shape;
    let (before, channels, after) = around(shape, axis_index(cx.int("axis")?, shape.len())?);
    let set = |i: usize| i / (channels * after) * after + i % after;
    normalise(cx, inputs, channels, before * after, set, |i| i / after % channels)
}

fn instance_norm_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let shape = &input(inputs, 0)?.shape;
    let (_, channels, after) = around(shape, axis_index(cx.int("axis")?, shape.len())?);
    let batch = shape[0] as usize;
    let image: usize = shape[1..].iter().product::<i64>() as usize;
    let channel = |i: usize| i / after % channels;
    normalise(cx, inputs, channels, batch * channels, |i| i / image * channels + channel(i), channel)
}

fn group_norm_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let shape = &input(inputs, 0)?.shape;
    let (_, channels, after) = around(shape, axis_index(cx.int("axis")?, shape.len())?);
    let groups = usize::try_from(cx.int("num_groups")?).unwrap_or(0);
    if groups == 0 || channels % groups != 0 || shape.is_empty() {
        return Err(EvalError::new(format!("{channels} channels do not make {groups} groups")));
    }
    let batch = shape[0] as usize;
    let image: usize = shape[1..].iter().product::<i64>() as usize;
    let channel = |i: usize| i / after % channels;
    let set = |i: usize| i / image * groups + channel(i) / (channels / groups);
    normalise(cx, inputs, channels, batch * groups, set, channel)
}

/// `x / sqrt(max(sum of squares, eps))` (TVM: `l2_normalize` in `topi/nn/l2_norm`).
fn l2_normalize_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let rank = data.shape.len();
    let axes = cx.ints("axis")?.into_iter().map(|a| axis_index(a, rank)).collect::<Result<Vec<_>, _>>()?;
    // Elements of one sum have the same place along the other axes: those keep their strides.
    let mut kept: Vec<i64> = data.shape.to_vec();
    axes.iter().for_each(|axis| kept[*axis] = 1);
    let places = crate::ops::kernel::broadcast_strides(&kept, &data.shape);
    let sums: usize = kept.iter().product::<i64>() as usize;
    float_lane!(data.dtype, T => {
        let x: Vec<T> = values(inputs, 0)?;
        let mut squares = vec![0.0 as T; sums];
        let set: Vec<usize> = crate::ops::kernel::offsets(&data.shape, &places).collect();
        x.iter().zip(&set).for_each(|(x, i)| squares[*i] += x * x);
        let eps = cx.float("eps")? as T;
        let out: Vec<T> = x.iter().zip(&set).map(|(x, i)| x / squares[*i].max(eps).sqrt()).collect();
        Ok(vec![write(data.dtype, &data.shape, &out)?])
    })
}

/// `x / (bias + alpha * sum of squares / size) ^ beta` (TVM: `topi/nn/local_response_norm.h`).
fn lrn_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let axis = axis_index(cx.int("axis")?, data.shape.len())?;
    let (_, channels, after) = around(&data.shape, axis);
    let size = cx.int("size")?;
    let radius = usize::try_from(size / 2).map_err(|_| EvalError::new("size must be positive"))?;
    float_lane!(data.dtype, T => {
        let x: Vec<T> = values(inputs, 0)?;
        let [bias, alpha, beta] = [cx.float("bias")?, cx.float("alpha")?, cx.float("beta")?].map(|v| v as T);
        let out: Vec<T> = (0..x.len())
            .map(|i| {
                let channel = i / after % channels;
                let base = i - channel * after;
                let window = channel.saturating_sub(radius)..(channel.saturating_add(radius).saturating_add(1)).min(channels);
                let squares: T = window.map(|c| x[base + c * after] * x[base + c * after]).sum();
                x[i] / (bias + alpha * squares / size as T).powf(beta)
            })
            .collect();
        Ok(vec![write(data.dtype, &data.shape, &out)?])
    })
}

/// Evaluation is not training: nothing is dropped and the mask is all ones.
fn dropout_kernel(_: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let mask = by_lane!(data.dtype, T => write(data.dtype, &data.shape, &vec![T::from_i64(1); data.len()]))?;
    Ok(vec![data.clone(), mask])
}
