//! Activations, normalisation, attention, losses (TVM: src/relax/op/nn/nn.cc and attention.cc).

use super::{Deduce, int, is_int};
use crate::ir::{DType, Dim, Extents, PrimOp, TypeId};

/// `softmax`, `log_softmax`: the type of the input, whose axis has to exist.
pub fn softmax(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let Some(rank) = data.rank else { return Ok(cx.ty(0)) };
    if let Some(dtype) = data.dtype()
        && !dtype.is_float()
    {
        return Err(format!("Softmax requires the input tensor to have float dtype. However, the given input dtype is {dtype}"));
    }
    cx.axis(cx.int("axis").unwrap_or(-1), rank)?;
    Ok(cx.ty(0))
}

/// `batch_norm`: the data, and the moving mean and variance.
pub fn batch_norm(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(5)?;
    let tensors = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?, cx.tensor(3)?, cx.tensor(4)?];
    let data = &tensors[0];
    let axis = match data.rank {
        Some(rank) => Some(cx.axis(cx.int("axis").unwrap_or(1), rank)?),
        None => None,
    };
    if let Some(dtype) = data.dtype()
        && !dtype.is_float()
    {
        return Err(format!("{} requires the input data to have float dtype. However, the given data dtype is {dtype}", cx.op));
    }
    let mut certain = true;
    for (index, other) in tensors.iter().enumerate().skip(1) {
        if cx.is_left_out(index) {
            certain = false;
            continue;
        }
        if other.dtype() != data.dtype() {
            return Err(format!("{} requires all the input tensors to have the same dtype", cx.op));
        }
        if other.rank != Some(1) {
            return Err(format!(
                "{} requires the input gamma, beta, etc., to have as many dimensions as the length of input axes",
                cx.op
            ));
        }
        if let (Some(shape), Some(axis), Some(vector)) = (&data.shape, axis, &other.shape) {
            if cx.differ(shape[axis], vector[0]) {
                return Err(format!(
                    "{} requires the input gamma, beta, etc., to have size same as the lengths of the data on the given axes",
                    cx.op
                ));
            }
            certain = certain && cx.equal(shape[axis], vector[0]);
        }
    }
    if certain {
        let fields = [cx.ty(0), cx.ty(3), cx.ty(4)];
        return Ok(cx.tuple(&fields));
    }
    let (dtype, vdevice) = (data.dtype(), data.vdevice());
    let fields = [cx.vague(data.rank, dtype, vdevice), cx.vague(Some(1), dtype, vdevice), cx.vague(Some(1), dtype, vdevice)];
    Ok(cx.tuple(&fields))
}

/// `dropout`: the data, and the mask in its shape.
pub fn dropout(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.tensor(0)?;
    let data = cx.ty(0);
    Ok(cx.tuple(&[data, data]))
}

/// `prelu`: the type of the input.
pub fn prelu(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    cx.tensor(1)?;
    let Some(rank) = data.rank else { return Ok(cx.ty(0)) };
    if let Some(dtype) = data.dtype().filter(|dtype| !dtype.is_float()) {
        return Err(format!("Prelu requires the input tensor to have float dtype. However, the given input dtype is {dtype}"));
    }
    cx.axis(cx.int("axis").unwrap_or(1), rank)?;
    Ok(cx.ty(0))
}

/// `pad`: widths before and after each axis.
pub fn pad(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let widths = cx.ints("pad_width").unwrap_or_default();
    let rank = data.rank.map_or(-1, |rank| rank as i64);
    if widths.len() as i64 != 2 * rank {
        return Err(format!("Check failed: Illegal pad_width: {} numbers for {rank} axes", widths.len()));
    }
    let Extents::Known(shape) = &data.info.extents else { return Ok(cx.vague(data.rank, data.dtype(), None)) };
    let out: Vec<Dim> = shape
        .iter()
        .enumerate()
        .map(|(index, extent)| cx.arith(PrimOp::Add, *extent, int(widths[2 * index].saturating_add(widths[2 * index + 1]))))
        .collect();
    Ok(cx.out(&out, data.dtype(), None))
}

/// `pixel_shuffle`: channels become squares of `upscale_factor`.
pub fn pixel_shuffle(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let factor = cx.int("upscale_factor").unwrap_or(1).max(1);
    let Some(mut shape) = data.shape.as_deref().map(<[Dim]>::to_vec) else {
        return Ok(cx.vague(data.rank, data.dtype(), data.vdevice()));
    };
    let rank = shape.len();
    if rank >= 3 && cx.is_never_multiple(shape[rank - 3], factor.saturating_mul(factor)) {
        return Err("Number of input channels must be divisible by the square of the upscale factor".to_owned());
    }
    if rank < 3 {
        return Err(format!("PixelShuffle expects at least 3 dimensions, but got {rank}"));
    }
    shape[rank - 3] = cx.arith(PrimOp::FloorDiv, shape[rank - 3], int(factor.saturating_mul(factor)));
    shape[rank - 2] = cx.arith(PrimOp::Mul, shape[rank - 2], int(factor));
    shape[rank - 1] = cx.arith(PrimOp::Mul, shape[rank - 1], int(factor));
    Ok(cx.out(&shape, data.dtype(), data.vdevice()))
}

/// `batch_flatten`: all axes but the first become one.
pub fn batch_flatten(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    if let Some(rank) = data.rank.filter(|rank| *rank < 2) {
        return Err(format!("batch_flatten expects input tensor to have at least 2 dimensions, but got {rank}"));
    }
    match &data.shape {
        Some(shape) if shape.len() == 2 => Ok(cx.ty(0)),
        Some(shape) if !shape.is_empty() => {
            let rest = cx.product(&shape[1..]);
            let first = shape[0];
            Ok(cx.out(&[first, rest], data.dtype(), data.vdevice()))
        }
        _ => Ok(cx.vague(Some(2), data.dtype(), data.vdevice())),
    }
}

/// `attention`: queries, keys and values of batch, sequence, heads and head dimension.
pub fn attention(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let (q, k, v) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let (Some(q_shape), Some(k_shape), Some(v_shape)) = (&q.shape, &k.shape, &v.shape) else {
        return Ok(cx.vague(q.rank, q.dtype(), q.vdevice()));
    };
    if q_shape.len() != 4 || k_shape.len() != 4 || v_shape.len() != 4 {
        return Err("The query, key and value should have 4 dimension, namely [batch size, sequence length, number of heads, \
                    dimension of heads]."
            .to_owned());
    }
    let same = |cx: &mut Deduce<'_>, a: Dim, b: Dim, [one, other, what]: [&str; 3]| {
        if cx.differ(a, b) {
            return Err(format!("The {one} {what} and the {other} {what} should be the same."));
        }
        Ok(())
    };
    same(cx, q_shape[0], k_shape[0], ["query", "key", "batch size"])?;
    same(cx, q_shape[0], v_shape[0], ["query", "value", "batch size"])?;
    for (heads, of) in [(k_shape[2], "key"), (v_shape[2], "value")] {
        if heads.known().is_some_and(|heads| heads > 0 && cx.is_never_multiple(q_shape[2], heads)) {
            return Err(format!("The query number of heads should be a multiple of {of} number of heads."));
        }
    }
    same(cx, k_shape[1], v_shape[1], ["key", "value", "sequence length"])?;
    same(cx, q_shape[3], k_shape[3], ["query", "key", "dimension of heads"])?;
    if cx.args.len() > 3 {
        let bias = cx.tensor(3)?;
        if let Some(rank) = bias.rank.filter(|rank| *rank != 4) {
            return Err(format!("The bias should have 4 dimensions. However, the bias input has {rank} dimensions."));
        }
        if let Some(bias) = &bias.shape {
            let all = [(q_shape[0], "batch size"), (q_shape[2], "number of heads"), (q_shape[1], "sequence length")];
            for (index, (extent, what)) in all.into_iter().enumerate().filter(|(index, _)| bias[*index].known() != Some(1)) {
                same(cx, extent, bias[index], ["query", "bias", what])?;
            }
            same(cx, k_shape[1], bias[3], ["key", "bias", "sequence length"])?;
        }
    }
    Ok(cx.out(&[q_shape[0], q_shape[1], q_shape[2], v_shape[3]], q.dtype(), q.vdevice()))
}

/// `attention_var_len`: the type of the queries.
pub fn attention_var_len(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.tensor(0)?;
    Ok(cx.ty(0))
}

/// `cross_entropy_with_logits`: a scalar.
pub fn cross_entropy(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let (predictions, labels) = (cx.tensor(0)?, cx.tensor(1)?);
    let dtype = cx.arith_dtype(&predictions, &labels)?;
    let vdevice = cx.common_vdevice(&[&predictions, &labels])?;
    if let (Some(a), Some(b)) = (predictions.rank, labels.rank)
        && a != b
    {
        return Err(format!(
            "CrossEntropy requires predictions and labels to have the same ndim. However, the ndim of predictions is {a} while the ndim of labels is {b}"
        ));
    }
    if let (Some(a), Some(b)) = (&predictions.values, &labels.values)
        && (a.len() != b.len() || a.iter().zip(b.iter()).any(|(x, y)| cx.differ(*x, *y)))
    {
        return Err("CrossEntropy requires the predictions and labels to have the same shape.".to_owned());
    }
    Ok(cx.out(&[], dtype, vdevice))
}

/// `nll_loss`: a scalar; with `reduction="none"` the predictions without their classes.
pub fn nll_loss(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let predictions = cx.tensor(0)?;
    let targets = cx.tensor(1)?;
    let mut dtype: Option<DType> = predictions.dtype();
    let vdevice = predictions.vdevice();
    let reduction = cx.text("reduction");
    if !matches!(reduction.as_deref(), None | Some("none" | "sum" | "mean")) {
        return Err("The argument reduction of NLLLoss should be one of the following values: none, mean, sum.".to_owned());
    }
    if cx.args.len() > 2 {
        let weights = cx.tensor(2)?;
        dtype = cx.arith_dtype(&predictions, &weights)?;
    }
    if let Some(other) = targets.dtype().filter(|dtype| !is_int(*dtype)) {
        return Err(format!("NLLLoss expects the dtype of targets to be int/uint. However, the dtype of targets is {other}"));
    }
    if predictions.rank == Some(0) {
        return Err("NLLLoss expects the ndim of predictions >= 1. However, the ndim of predictions is 0".to_owned());
    }
    if let (Some(a), Some(b)) = (predictions.rank, targets.rank)
        && a.saturating_sub(2) != b.saturating_sub(1)
    {
        return Err("NLLLoss expects number of dimensions K inferred from different arguments to be equal.".to_owned());
    }
    let classes =
        predictions.values.as_ref().and_then(|shape| if shape.len() == 1 { shape.first() } else { shape.get(1) }.copied());
    if cx.args.len() > 2 {
        let weights = cx.tensor(2)?;
        if let Some(rank) = weights.rank.filter(|rank| *rank != 1) {
            return Err(format!("NLLLoss expects the ndim of weights == 1. However, the ndim of weights is {rank}"));
        }
        if let (Some(a), Some(b)) = (classes, &weights.values)
            && cx.differ(a, b[0])
        {
            return Err("NLLLoss expects number of classes C inferred from different arguments to be equal.".to_owned());
        }
    }
    match (&predictions.values, &targets.values) {
        (Some(a), Some(b)) if a.len() >= 2 && b.is_empty() || a.len() == 1 && !b.is_empty() => {
            return Err("Shape mismatch for NLLLoss.".to_owned());
        }
        (Some(a), Some(b)) if a.len() >= 2 => {
            if cx.differ(a[0], b[0]) {
                return Err("NLLLoss expects minibatch size N inferred from different arguments to be equal.".to_owned());
            }
            if a[2..].iter().zip(&b[1..]).any(|(a, b)| cx.differ(*a, *b)) {
                return Err("Shape mismatch for NLLLoss.".to_owned());
            }
        }
        _ => {}
    }
    if reduction.as_deref() != Some("none") {
        return Ok(cx.out(&[], dtype, vdevice));
    }
    match &predictions.info.extents {
        Extents::Known(shape) if shape.len() <= 1 => Ok(cx.out(&[], dtype, vdevice)),
        Extents::Known(shape) => {
            let mut shape = shape.to_vec();
            shape.remove(1);
            Ok(cx.out(&shape, dtype, vdevice))
        }
        _ => Ok(cx.vague(predictions.rank.map(|rank| rank.saturating_sub(1)), dtype, vdevice)),
    }
}
