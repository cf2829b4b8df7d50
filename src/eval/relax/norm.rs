//! Operators that are computed by others: products of matrices, activations, normalisations, attention. The formulas
//! are those of TVM's legalisation (`python/tvm/relax/transform/legalize_ops`).

use super::operators::{Cx, Outputs, Rule};
use super::shaped::{one, spread};
use crate::ir::{AttrValue, DType, Tensor};
use crate::ops::EvalError;
use crate::ops::build::ints;
use crate::ops::kernel::{axis_index, broadcast_extents, read, reshaped, write};

/// The rules of this file.
pub(super) static RULES: &[(&str, Rule)] = &[
    (
        "atan2",
        Rule::Own(|cx| {
            let (y, x) = (cx.tensor(0)?, cx.tensor(1)?);
            let shape = broadcast_extents(&y.shape, &x.shape)?;
            let (ys, xs): (Vec<f64>, Vec<f64>) = (read(&spread(&y, &shape)?)?, read(&spread(&x, &shape)?)?);
            let values: Vec<f64> = ys.into_iter().zip(xs).map(|(y, x)| y.atan2(x)).collect();
            one(write(y.dtype, &shape, &values))
        }),
    ),
    (
        "clip",
        Rule::Own(|cx| {
            let x = cx.tensor(0)?;
            let (min, max) = (cx.tensor(1)?, cx.tensor(2)?);
            let (min, max) = (cx.converted(&min, x.dtype)?, cx.converted(&max, x.dtype)?);
            let above = cx.step("maximum", &[x, min])?;
            one(cx.step("minimum", &[above, max]))
        }),
    ),
    (
        "ewise_fma",
        Rule::Own(|cx| {
            let product = cx.step("multiply", &[cx.tensor(0)?, cx.tensor(1)?])?;
            one(cx.step("add", &[product, cx.tensor(2)?]))
        }),
    ),
    (
        "image.affine_grid",
        Rule::Own(|cx| {
            let (data, size) = (cx.tensor(0)?, cx.shape(1)?);
            cx.kernel("image.affine_grid", &[data], &[("target_shape", ints(&size))])
        }),
    ),
    (
        "log_add_exp",
        Rule::Own(|cx| {
            // The larger one is factored out, so that nothing overflows.
            let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
            let largest = cx.step("maximum", &[a.clone(), b.clone()])?;
            let parts = [a, b].map(|x| cx.step("subtract", &[x, largest.clone()]).and_then(|x| cx.step("exp", &[x])));
            let [a, b] = parts;
            let sum = cx.step("add", &[a?, b?])?;
            let log = cx.step("log", &[sum])?;
            one(cx.step("add", &[log, largest]))
        }),
    ),
    (
        "matmul",
        Rule::Own(|cx| {
            let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
            let dtype = cx.attr_dtype("out_dtype").or(cx.out_dtype()).unwrap_or(a.dtype);
            one(matmul(cx, &a, &b, dtype))
        }),
    ),
    ("median", Rule::Own(median)),
    ("nn.attention", Rule::Own(attention)),
    ("nn.attention_bias", Rule::Own(attention)),
    ("nn.batch_norm", Rule::Own(batch_norm)),
    (
        "nn.dropout",
        Rule::Own(|cx| {
            let x = cx.tensor(0)?;
            let ones = spread(&cx.number(x.dtype, 1.0)?, &x.shape)?;
            Ok(vec![x, ones])
        }),
    ),
    (
        "nn.gelu",
        Rule::Own(|cx| {
            let x = cx.tensor(0)?;
            let inner = times(cx, &x, 0.5f64.sqrt())?;
            let erf = cx.step("erf", &[inner])?;
            let half = times(cx, &erf, 0.5)?;
            let gate = plus(cx, &half, 0.5)?;
            one(cx.step("multiply", &[x, gate]))
        }),
    ),
    (
        "nn.gelu_tanh",
        Rule::Own(|cx| {
            let x = cx.tensor(0)?;
            let square = cx.step("multiply", &[x.clone(), x.clone()])?;
            let inner = times(cx, &square, 0.044_715)?;
            let inner = plus(cx, &inner, 1.0)?;
            let outer = times(cx, &x, (2.0 / std::f64::consts::PI).sqrt())?;
            let product = cx.step("multiply", &[outer, inner])?;
            let tanh = cx.step("tanh", &[product])?;
            let gate = plus(cx, &tanh, 1.0)?;
            let half = times(cx, &x, 0.5)?;
            one(cx.step("multiply", &[half, gate]))
        }),
    ),
    ("nn.group_norm", Rule::Own(group_norm)),
    (
        "nn.instance_norm",
        Rule::Own(|cx| {
            let (x, axes) = (cx.tensor(0)?, axes(cx, "axes")?);
            let channel = axis_index(cx.attr_int("channel_axis").unwrap_or(1), x.shape.len())?;
            let normed = normed(cx, &x, &axes)?;
            scaled(cx, normed, &[channel])
        }),
    ),
    (
        "nn.layer_norm",
        Rule::Own(|cx| {
            let (x, axes) = (cx.tensor(0)?, axes(cx, "axes")?);
            let wide = widened(cx, &x)?;
            let normed = normed(cx, &wide, &axes)?;
            let places: Vec<usize> = axes.iter().map(|axis| axis_index(*axis, x.shape.len())).collect::<Result<_, _>>()?;
            let made = scaled(cx, normed, &places)?;
            one(cx.converted(&made[0], x.dtype))
        }),
    ),
    (
        "nn.nll_loss",
        Rule::Own(|cx| {
            let mut inputs = cx.tensors()?;
            if inputs.len() == 2 {
                let classes = inputs[0].shape.get(1).or(inputs[0].shape.first()).copied().unwrap_or(1);
                inputs.push(spread(&cx.number(inputs[0].dtype, 1.0)?, &[classes])?);
            }
            cx.kernel("nn.nll_loss", &inputs, &[])
        }),
    ),
    (
        "nn.pad",
        Rule::Own(|cx| {
            let x = cx.tensor(0)?;
            // The padding modes have other names in Relay.
            let mode = match cx.text("pad_mode") {
                "replicate" => "edge",
                "reflect" => "reflect",
                "constant" | "" => "constant",
                other => return Err(EvalError(format!("the mode `{other}` is not evaluated here"))),
            };
            let width = cx.attr_ints("pad_width").unwrap_or_default();
            let pairs = AttrValue::Array(width.chunks(2).map(ints).collect());
            let value = cx.number(x.dtype, cx.attr_float("pad_value").unwrap_or(0.0))?;
            let mode = cx.word(mode);
            cx.kernel("nn.pad", &[x, value], &[("pad_width", pairs), ("pad_mode", mode)])
        }),
    ),
    (
        "nn.rms_norm",
        Rule::Own(|cx| {
            let (x, weight, axes) = (cx.tensor(0)?, cx.tensor(1)?, axes(cx, "axes")?);
            let wide = widened(cx, &x)?;
            let square = cx.step("multiply", &[wide.clone(), wide.clone()])?;
            let mean = mean(cx, &square, &axes)?;
            let mean = plus(cx, &mean, cx.attr_float("epsilon").unwrap_or(1e-5))?;
            let factor = cx.step("rsqrt", &[mean])?;
            let normed = cx.step("multiply", &[wide.clone(), factor])?;
            let weight = cx.converted(&weight, wide.dtype)?;
            let made = cx.step("multiply", &[normed, weight])?;
            one(cx.converted(&made, x.dtype))
        }),
    ),
    (
        "nn.selu",
        Rule::Own(|cx| {
            let x = cx.tensor(0)?;
            let zero = cx.number(x.dtype, 0.0)?;
            let positive = cx.step("maximum", &[x.clone(), zero.clone()])?;
            let exp = cx.step("exp", &[x])?;
            let below = plus(cx, &exp, -1.0)?;
            let below = times(cx, &below, 1.673_263_242_354_377_2)?;
            let negative = cx.step("minimum", &[zero, below])?;
            let sum = cx.step("add", &[positive, negative])?;
            one(times(cx, &sum, 1.050_700_987_355_480_5))
        }),
    ),
    (
        "nn.silu",
        Rule::Own(|cx| {
            let x = cx.tensor(0)?;
            let gate = cx.step("sigmoid", std::slice::from_ref(&x))?;
            one(cx.step("multiply", &[x, gate]))
        }),
    ),
    (
        "nn.softplus",
        Rule::Own(|cx| {
            let x = cx.tensor(0)?;
            let (beta, threshold) = (cx.attr_float("beta").unwrap_or(1.0), cx.attr_float("threshold").unwrap_or(20.0));
            let steep = |x: f64| if x * beta > threshold { x } else { (x * beta).exp().ln_1p() / beta };
            let values: Vec<f64> = read::<f64>(&x)?.into_iter().map(steep).collect();
            one(write(x.dtype, &x.shape, &values))
        }),
    ),
    ("quantize", Rule::Own(quantize)),
    (
        "outer",
        Rule::Own(|cx| {
            let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
            let column = reshaped(&a, &[a.len() as i64, 1])?;
            one(cx.step("multiply", &[column, b]))
        }),
    ),
    (
        "round",
        // Halves are rounded to even numbers, unlike in Relay.
        Rule::Own(|cx| {
            let x = cx.tensor(0)?;
            let values: Vec<f64> = read::<f64>(&x)?.into_iter().map(f64::round_ties_even).collect();
            one(if x.dtype.is_float() { write(x.dtype, &x.shape, &values) } else { Ok(x) })
        }),
    ),
    (
        "square",
        Rule::Own(|cx| {
            let x = cx.tensor(0)?;
            one(cx.step("multiply", &[x.clone(), x]))
        }),
    ),
    (
        "std",
        Rule::Own(|cx| {
            let variance = variance(cx)?;
            one(cx.step("sqrt", &[variance]))
        }),
    ),
    ("variance", Rule::Own(|cx| one(variance(cx)))),
];

fn times(cx: &mut Cx<'_>, x: &Tensor, factor: f64) -> Result<Tensor, EvalError> {
    let factor = cx.number(x.dtype, factor)?;
    cx.step("multiply", &[x.clone(), factor])
}

fn plus(cx: &mut Cx<'_>, x: &Tensor, summand: f64) -> Result<Tensor, EvalError> {
    let summand = cx.number(x.dtype, summand)?;
    cx.step("add", &[x.clone(), summand])
}

/// Returns the axes of an attribute; all of them where it is null.
fn axes(cx: &Cx<'_>, name: &str) -> Result<Vec<i64>, EvalError> {
    match cx.attr_ints(name) {
        Some(axes) => Ok(axes),
        None => Ok((0..cx.tensor(0)?.shape.len() as i64).collect()),
    }
}

fn mean(cx: &mut Cx<'_>, x: &Tensor, axes: &[i64]) -> Result<Tensor, EvalError> {
    cx.step_with("mean", std::slice::from_ref(x), &[("axis", ints(axes)), ("keepdims", AttrValue::Bool(true))])
}

/// Half precision is normalised in single precision, as TVM does.
fn widened(cx: &mut Cx<'_>, x: &Tensor) -> Result<Tensor, EvalError> {
    if x.dtype.is_float() && x.dtype.bits < 32 { cx.converted(x, DType::F32) } else { Ok(x.clone()) }
}

/// Normalises to a mean of zero and a deviation of one over the axes.
fn normed(cx: &mut Cx<'_>, x: &Tensor, axes: &[i64]) -> Result<Tensor, EvalError> {
    let middle = mean(cx, x, axes)?;
    let apart = cx.step("subtract", &[x.clone(), middle])?;
    let square = cx.step("multiply", &[apart.clone(), apart.clone()])?;
    let variance = mean(cx, &square, axes)?;
    let variance = plus(cx, &variance, cx.attr_float("epsilon").unwrap_or(1e-5))?;
    let factor = cx.step("rsqrt", &[variance])?;
    cx.step("multiply", &[apart, factor])
}

/// Multiplies by gamma and adds beta, arguments 1 and 2, which have these axes of the tensor.
fn scaled(cx: &mut Cx<'_>, x: Tensor, axes: &[usize]) -> Outputs {
    let mut shape = vec![1; x.shape.len()];
    axes.iter().for_each(|axis| shape[*axis] = x.shape[*axis]);
    let mut made = x;
    for (index, operation) in [(1, "multiply"), (2, "add")] {
        let by = cx.tensor(index)?;
        let by = cx.converted(&by, made.dtype)?;
        made = cx.step(operation, &[made, reshaped(&by, &shape)?])?;
    }
    Ok(vec![made])
}

/// Normalises each group of channels together with the axes.
fn group_norm(cx: &mut Cx<'_>) -> Outputs {
    let (x, axes) = (cx.tensor(0)?, axes(cx, "axes")?);
    let rank = x.shape.len();
    let channel = axis_index(cx.attr_int("channel_axis").unwrap_or(1), rank)?;
    let groups = cx.attr_int("num_groups").unwrap_or(1);
    if groups < 1 || x.shape[channel] % groups != 0 {
        return Err(EvalError(format!("{} channels do not make {groups} groups", x.shape[channel])));
    }
    let mut shape = x.shape.to_vec();
    shape.splice(channel..=channel, [groups, x.shape[channel] / groups]);
    let mut inside = vec![channel as i64 + 1];
    for axis in axes {
        let axis = axis_index(axis, rank)?;
        inside.push((if axis > channel { axis + 1 } else { axis }) as i64);
    }
    let wide = widened(cx, &x)?;
    let normed = normed(cx, &reshaped(&wide, &shape)?, &inside)?;
    let made = scaled(cx, reshaped(&normed, &x.shape)?, &[channel])?;
    one(cx.converted(&made[0], x.dtype))
}

/// In training it uses the statistics of the batch, which also update the moving ones; else the given statistics.
fn batch_norm(cx: &mut Cx<'_>) -> Outputs {
    let inputs = cx.tensors()?;
    if !cx.flag("training") || inputs.len() != 5 {
        return cx.kernel("nn.batch_norm", &inputs, &[]);
    }
    let x = inputs[0].clone();
    let channel = axis_index(cx.attr_int("axis").unwrap_or(1), x.shape.len())?;
    let others: Vec<i64> = (0..x.shape.len()).filter(|axis| *axis != channel).map(|axis| axis as i64).collect();
    let normed = normed(cx, &x, &others)?;
    let mut made = scaled(cx, normed, &[channel])?;
    let middle = mean(cx, &x, &others)?;
    let apart = cx.step("subtract", &[x.clone(), middle.clone()])?;
    let square = cx.step("multiply", &[apart.clone(), apart])?;
    let spread = mean(cx, &square, &others)?;
    let momentum = cx.attr_float("momentum").unwrap_or(0.1);
    for (old, new) in [(&inputs[3], middle), (&inputs[4], spread)] {
        let kept = times(cx, old, 1.0 - momentum)?;
        let moved = times(cx, &reshaped(&new, &old.shape)?, momentum)?;
        made.push(cx.step("add", &[kept, moved])?);
    }
    Ok(made)
}

fn variance(cx: &mut Cx<'_>) -> Result<Tensor, EvalError> {
    let (x, over) = (cx.tensor(0)?, axes(cx, "axis")?);
    let middle = mean(cx, &x, &over)?;
    let apart = cx.step("subtract", &[x, middle])?;
    let square = cx.step("multiply", &[apart.clone(), apart])?;
    let keep = AttrValue::Bool(cx.flag("keepdims"));
    cx.step_with("mean", &[square], &[("axis", ints(&over)), ("keepdims", keep)])
}

/// Computes the middle element in order, the lower one of two; with one axis also its index.
fn median(cx: &mut Cx<'_>) -> Outputs {
    let (x, keep) = (cx.tensor(0)?, cx.flag("keepdims"));
    let axis = match cx.attr_ints("axis").as_deref() {
        None | Some([]) => None,
        Some([axis, ..]) => Some(axis_index(*axis, x.shape.len())?),
    };
    let data = if axis.is_none() { reshaped(&x, &[x.len() as i64])? } else { x.clone() };
    let along = axis.unwrap_or(0);
    let place = AttrValue::int(along as i64);
    let order = [("axis", place.clone()), ("is_ascend", AttrValue::Bool(true)), ("dtype", AttrValue::DType(Some(DType::I64)))];
    let sorted = cx.step_with("argsort", std::slice::from_ref(&data), &order)?;
    let middle = write(DType::I64, &[1], &[(data.shape[along] - 1) / 2])?;
    let pick = [("axis", place.clone())];
    let index = cx.step_with("take", &[sorted, middle], &pick)?;
    let value = cx.step_with("gather", &[data, index.clone()], &pick)?;
    let mut shape = value.shape.to_vec();
    match axis {
        None => shape = if keep { vec![1; x.shape.len()] } else { Vec::new() },
        Some(axis) if !keep => drop(shape.remove(axis)),
        Some(_) => {}
    }
    let value = reshaped(&value, &shape)?;
    if axis.is_none() {
        return Ok(vec![value]);
    }
    Ok(vec![value, reshaped(&index, &shape)?])
}

/// Multiplies as NumPy does: the last two axes are matrices, those before are broadcast; a vector is a row on the left
/// and a column on the right, and its missing axis is missing in the result.
fn matmul(cx: &mut Cx<'_>, a: &Tensor, b: &Tensor, dtype: DType) -> Result<Tensor, EvalError> {
    let (mut left, mut right) = (a.shape.to_vec(), b.shape.to_vec());
    if left.is_empty() || right.is_empty() {
        return Err(EvalError::new("a scalar is no matrix"));
    }
    let (row, column) = (left.len() == 1, right.len() == 1);
    if row {
        left.insert(0, 1);
    }
    if column {
        right.push(1);
    }
    let (a_batch, b_batch) = (left[..left.len() - 2].to_vec(), right[..right.len() - 2].to_vec());
    let [m, k] = [left[left.len() - 2], left[left.len() - 1]];
    let n = right[right.len() - 1];
    let batch = broadcast_extents(&a_batch, &b_batch)?;
    let size: i64 = batch.iter().product();
    let with = |batch: &[i64], rows: i64, columns: i64| -> Vec<i64> { batch.iter().copied().chain([rows, columns]).collect() };
    let extra = [("out_dtype", AttrValue::DType(Some(dtype)))];
    let product = if b_batch.iter().all(|extent| *extent == 1) {
        // With one matrix on the right, all matrices on the left are one long matrix.
        let rows = left[..left.len() - 1].iter().product();
        let inputs = [reshaped(a, &[rows, k])?, reshaped(b, &[right[right.len() - 2], n])?];
        cx.step_with("nn.matmul", &inputs, &extra)?
    } else {
        let a = spread(&reshaped(a, &left)?, &with(&batch, m, k))?;
        let b = spread(&reshaped(b, &right)?, &with(&batch, right[right.len() - 2], n))?;
        let inputs = [reshaped(&a, &[size, m, k])?, reshaped(&b, &[size, right[right.len() - 2], n])?];
        let plain = ("transpose_b", AttrValue::Bool(false));
        cx.step_with("nn.batch_matmul", &inputs, &[extra[0].clone(), plain])?
    };
    let mut shape = batch;
    shape.extend((!row).then_some(m));
    shape.extend((!column).then_some(n));
    reshaped(&product, &shape)
}

/// Computes `softmax(q k / sqrt(d) + bias) v` over batch, sequence, head and feature; a causal one has a triangular mask.
fn attention(cx: &mut Cx<'_>) -> Outputs {
    if cx.attr_int("window_size").is_some() {
        return Err(EvalError::new("sliding windows are not evaluated here"));
    }
    let swap = [("axes", ints(&[0, 2, 1, 3]))];
    let mut parts = Vec::with_capacity(3);
    for index in 0..3 {
        let part = cx.tensor(index)?;
        if part.shape.len() != 4 {
            return Err(EvalError::new("query, key and value have four axes"));
        }
        parts.push(cx.step_with("transpose", &[part], &swap)?);
    }
    let [query, key, value] = &parts[..] else { return Err(EvalError::new("query, key and value are needed")) };
    let key = cx.step_with("transpose", std::slice::from_ref(key), &[("axes", ints(&[0, 1, 3, 2]))])?;
    let scores = matmul(cx, query, &key, query.dtype)?;
    let factor = cx.attr_float("scale").unwrap_or(1.0 / (query.shape[3] as f64).sqrt());
    let mut scores = times(cx, &scores, factor)?;
    if cx.args.len() > 3 {
        scores = cx.step("add", &[scores, cx.tensor(3)?])?;
    }
    let [rows, columns] = [scores.shape[2], scores.shape[3]];
    let offset = match cx.text("causal_mask") {
        "TopLeft" => Some(0),
        "BottomRight" => Some((rows - columns).abs()),
        _ => None,
    };
    if let Some(offset) = offset {
        let hidden = |at: usize| (at as i64 % columns) > (at as i64 / columns % rows) + offset;
        let values: Vec<f64> =
            read::<f64>(&scores)?.into_iter().enumerate().map(|(at, x)| if hidden(at) { f64::NEG_INFINITY } else { x }).collect();
        scores = write(scores.dtype, &scores.shape.clone(), &values)?;
    }
    let weights = cx.step_with("nn.softmax", &[scores], &[("axis", AttrValue::int(-1))])?;
    let made = matmul(cx, &weights, value, value.dtype)?;
    one(cx.step_with("transpose", &[made], &swap))
}

/// Computes `clip(round(data / scale) + zero_point)`, with one scale and zero point, or one for each index of the axis.
fn quantize(cx: &mut Cx<'_>) -> Outputs {
    let (x, scale, zero) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let axis = axis_index(cx.attr_int("axis").unwrap_or(-1), x.shape.len().max(1))?;
    let dtype = cx.attr_dtype("out_dtype").unwrap_or(DType::I8);
    let mut row = vec![1; x.shape.len()];
    if let Some(extent) = row.get_mut(axis) {
        *extent = x.shape[axis];
    }
    let along = |tensor: &Tensor| {
        let shape = if tensor.len() == 1 { vec![] } else { row.clone() };
        spread(&reshaped(tensor, &shape)?, &x.shape).and_then(|wide| read::<f64>(&wide))
    };
    let (scales, zeros) = (along(&scale)?, along(&zero)?);
    let whole = !dtype.is_float();
    let (least, most) = match (whole, dtype.code == crate::ir::DTypeCode::UInt) {
        (true, true) => (0.0, 2f64.powi(i32::from(dtype.bits)) - 1.0),
        (true, false) => (-(2f64.powi(i32::from(dtype.bits) - 1)), 2f64.powi(i32::from(dtype.bits) - 1) - 1.0),
        (false, _) => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let one_of = |(x, (scale, zero)): (f64, (f64, f64))| {
        let scaled = f64::from((x / scale) as f32);
        ((if whole { scaled.round_ties_even() } else { scaled }) + zero).clamp(least, most)
    };
    let values: Vec<f64> = read::<f64>(&x)?.into_iter().zip(scales.into_iter().zip(zeros)).map(one_of).collect();
    one(write(dtype, &x.shape, &values))
}
