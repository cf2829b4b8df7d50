//! Kernels of normalisations and dropout.

use super::compute::{around, input, values};
use crate::ir::Tensor;
use crate::ops::kernel::{EvalError, KernelCx, Lane, axis_index, by_lane, write};

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

/// `x * gamma + beta` for the channel, if the attributes ask for them.
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

pub fn batch_norm(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
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

pub fn layer_norm(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let shape = &input(inputs, 0)?.shape;
    let (before, channels, after) = around(shape, axis_index(cx.int("axis")?, shape.len())?);
    let set = |i: usize| i / (channels * after) * after + i % after;
    normalise(cx, inputs, channels, before * after, set, |i| i / after % channels)
}

pub fn instance_norm(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let shape = &input(inputs, 0)?.shape;
    let (_, channels, after) = around(shape, axis_index(cx.int("axis")?, shape.len())?);
    let batch = shape[0] as usize;
    let image: usize = shape[1..].iter().product::<i64>() as usize;
    let channel = |i: usize| i / after % channels;
    normalise(cx, inputs, channels, batch * channels, |i| i / image * channels + channel(i), channel)
}

pub fn group_norm(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
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
pub fn l2_normalize(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
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
pub fn lrn(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
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

/// Returns all data and a mask of ones, since evaluation is not training.
pub fn dropout(_: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let mask = by_lane!(data.dtype, T => write(data.dtype, &data.shape, &vec![T::from_i64(1); data.len()]))?;
    Ok(vec![data.clone(), mask])
}
