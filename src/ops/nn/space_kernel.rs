//! Kernels that move elements between channels, batch and space, and upsampling.

use super::compute::{Source, input, layout, pick_or_fill, plain};
use crate::ir::{AttrValue, Tensor};
use crate::ops::kernel::{EvalError, KernelCx, Lane, by_lane, count, each_index, pick, read, strides, write};

/// Returns the offset in memory of an index tuple.
fn place(index: &[i64], steps: &[usize]) -> usize {
    index.iter().zip(steps).map(|(i, s)| *i as usize * s).sum()
}

/// Builds a tensor of `shape` (in `NCHW`) whose element at an index is that of the data at `from(index)`,
/// computed in `NCHW` and converted back to the attribute `layout`.
fn rearrange(
    cx: &KernelCx<'_>,
    inputs: &[Tensor],
    shape: impl Fn(&[i64]) -> [i64; 4],
    from: impl Fn(&[i64], &[i64]) -> [i64; 4],
) -> Result<Vec<Tensor>, EvalError> {
    let (layout, plain) = (layout(cx, "layout")?, plain("NCHW")?);
    let data = layout.convert_tensor(&plain, input(inputs, 0)?)?;
    let shape = shape(&data.shape);
    count(&shape, data.dtype)?;
    let steps = strides(&data.shape);
    let mut places = Vec::new();
    each_index(&shape, |index| {
        places.push(place(&from(index, &data.shape), &steps));
        Ok(())
    })?;
    let out = pick(&data, &shape, places.into_iter())?;
    Ok(vec![plain.convert_tensor(&layout, &out)?])
}

fn block_size(cx: &KernelCx<'_>) -> Result<i64, EvalError> {
    Some(cx.int("block_size")?).filter(|b| (1..1 << 15).contains(b)).ok_or_else(|| EvalError::new("block_size must be positive"))
}

/// `DCR` takes the block's place from the outer part of the channels, `CRD` from the inner part.
pub(super) fn depth_to_space(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let b = block_size(cx)?;
    let outer = cx.text("mode") == "DCR";
    rearrange(
        cx,
        inputs,
        |s| [s[0], s[1] / (b * b), s[2] * b, s[3] * b],
        |i, s| {
            let inside = i[2] % b * b + i[3] % b;
            let channel = if outer { inside * (s[1] / (b * b)) + i[1] } else { i[1] * b * b + inside };
            [i[0], channel, i[2] / b, i[3] / b]
        },
    )
}

pub(super) fn space_to_depth(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let b = block_size(cx)?;
    rearrange(
        cx,
        inputs,
        |s| [s[0], s[1] * b * b, s[2] / b, s[3] / b],
        |i, s| {
            let inside = i[1] / s[1];
            [i[0], i[1] % s[1], i[2] * b + inside / b, i[3] * b + inside % b]
        },
    )
}

/// `block_shape` and the pairs of another attribute, one for each spatial axis.
fn blocks(cx: &KernelCx<'_>, pairs: &str, rank: usize) -> Result<(Vec<i64>, Vec<[i64; 2]>), EvalError> {
    let block = cx.ints("block_shape")?;
    let rows = match cx.store.attr(cx.attrs, pairs) {
        Some(AttrValue::Array(rows)) => rows,
        _ => return Err(EvalError::new(format!("`{pairs}` is not given"))),
    };
    let found: Option<Vec<[i64; 2]>> = rows
        .iter()
        .map(|row| match row {
            AttrValue::Array(pair) if pair.len() == 2 => {
                let numbers = [cx.store.value_int(&pair[0])?, cx.store.value_int(&pair[1])?];
                numbers.iter().all(|n| n.unsigned_abs() < 1 << 31).then_some(numbers)
            }
            _ => None,
        })
        .collect();
    match found {
        Some(found) if found.len() == block.len() && block.len() < rank && block.iter().all(|b| (1..1 << 15).contains(b)) => {
            Ok((block, found))
        }
        _ => Err(EvalError::new(format!("`block_shape` and `{pairs}` do not fit the data"))),
    }
}

/// TVM: `space_to_batch_nd` in `topi/nn.h`.
pub(super) fn space_to_batch_nd(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let (block, paddings) = blocks(cx, "paddings", data.shape.len())?;
    let mut shape = data.shape.to_vec();
    for (i, (b, [before, after])) in block.iter().zip(&paddings).enumerate() {
        let padded = shape[i + 1] + before + after;
        if padded % b != 0 {
            return Err(EvalError::new(format!("the padded extent {padded} is not divisible by its block size {b}")));
        }
        shape[i + 1] = padded / b;
        shape[0] = shape[0].saturating_mul(*b);
    }
    count(&shape, data.dtype)?;
    let fill = by_lane!(data.dtype, T => T::encode(data.dtype, &[T::from_f64(cx.float("pad_value").unwrap_or(0.0))]))?;
    let steps = strides(&data.shape);
    let mut places = Vec::new();
    each_index(&shape, |index| {
        let mut from = index.to_vec();
        // The batch counts blocks row by row, outermost, then images.
        let mut inside = index[0] / data.shape[0];
        from[0] = index[0] % data.shape[0];
        for i in (0..block.len()).rev() {
            from[i + 1] = index[i + 1] * block[i] + inside % block[i] - paddings[i][0];
            inside /= block[i];
        }
        let exists = from.iter().zip(data.shape.iter()).all(|(i, extent)| (0..*extent).contains(i));
        places.push(if exists { Source::At(place(&from, &steps)) } else { Source::Fill });
        Ok(())
    })?;
    Ok(vec![pick_or_fill(data, &fill, &shape, places.into_iter())?])
}

/// TVM: `batch_to_space_nd` in `topi/nn.h`.
pub(super) fn batch_to_space_nd(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let (block, crops) = blocks(cx, "crops", data.shape.len())?;
    let mut shape = data.shape.to_vec();
    shape[0] /= block.iter().fold(1i64, |n, b| n.saturating_mul(*b));
    for (i, (b, [before, after])) in block.iter().zip(&crops).enumerate() {
        shape[i + 1] = shape[i + 1] * b - before - after;
    }
    count(&shape, data.dtype)?;
    let steps = strides(&data.shape);
    let mut places = Vec::new();
    each_index(&shape, |index| {
        let mut from = index.to_vec();
        let mut inside = 0;
        for i in 0..block.len() {
            let whole = index[i + 1] + crops[i][0];
            inside = inside * block[i] + whole % block[i];
            from[i + 1] = whole / block[i];
        }
        from[0] = inside * shape[0] + index[0];
        places.push(place(&from, &steps));
        Ok(())
    })?;
    Ok(vec![pick(data, &shape, places.into_iter())?])
}

/// For each output element, the elements along an axis that it depends on, with their weights.
type Taps = Vec<Vec<(usize, f32)>>;

/// TVM: `resize` in `topi/image/resize.py`, one axis at a time.
fn taps(extent: i64, outputs: i64, method: &str, transform: &str) -> Result<Taps, EvalError> {
    let last = (extent - 1).max(0);
    let clamp = |i: i64| i.clamp(0, last) as usize;
    (0..outputs)
        .map(|x| {
            let scale = extent as f32 / outputs as f32;
            let at = match transform {
                "asymmetric" => scale * x as f32,
                "half_pixel" => (x as f32 + 0.5) * scale - 0.5,
                "align_corners" if outputs > 1 => (extent - 1) as f32 / (outputs - 1) as f32 * x as f32,
                "align_corners" => 0.0,
                other => return Err(EvalError::new(format!("resizing by {other} is not supported here"))),
            };
            let (below, t) = (at.floor() as i64, at - at.floor());
            Ok(match method {
                "nearest_neighbor" if transform == "align_corners" => vec![(clamp(at.round() as i64), 1.0)],
                "nearest_neighbor" => vec![(clamp((at + 1e-5).floor() as i64), 1.0)],
                "linear" => vec![(clamp(below), 1.0 - t), (clamp(below + 1), t)],
                "cubic" => {
                    let alpha = -0.5f32;
                    let (t2, t3) = (t * t, t * t * t);
                    let weights = [
                        alpha * (t3 - 2.0 * t2 + t),
                        (alpha + 2.0) * t3 - (3.0 + alpha) * t2 + 1.0,
                        -(alpha + 2.0) * t3 + (3.0 + 2.0 * alpha) * t2 - alpha * t,
                        -alpha * t3 + alpha * t2,
                    ];
                    weights.iter().enumerate().map(|(k, w)| (clamp(below - 1 + k as i64), *w)).collect()
                }
                other => return Err(EvalError::new(format!("resizing by {other} is not supported here"))),
            })
        })
        .collect()
}

fn resample(data: &Tensor, axis: usize, taps: &Taps) -> Result<Tensor, EvalError> {
    let (before, extent, after) = super::compute::around(&data.shape, axis);
    let mut shape = data.shape.to_vec();
    shape[axis] = taps.len() as i64;
    count(&shape, data.dtype)?;
    if taps.iter().all(|t| t.len() == 1) {
        let places =
            (0..before).flat_map(|b| taps.iter().flat_map(move |t| (0..after).map(move |a| (b * extent + t[0].0) * after + a)));
        return pick(data, &shape, places);
    }
    let x: Vec<f64> = read(data)?;
    let mut out = Vec::with_capacity(before * taps.len() * after);
    for b in 0..before {
        for tap in taps {
            out.extend((0..after).map(|a| tap.iter().map(|(i, w)| x[(b * extent + i) * after + a] * f64::from(*w)).sum::<f64>()));
        }
    }
    write(data.dtype, &shape, &out)
}

fn upsample(
    cx: &KernelCx<'_>,
    inputs: &[Tensor],
    plain_layout: &str,
    scales: &[&str],
    transform: &str,
) -> Result<Vec<Tensor>, EvalError> {
    let (layout, plain) = (layout(cx, "layout")?, plain(plain_layout)?);
    let mut data = layout.convert_tensor(&plain, input(inputs, 0)?)?;
    let method = cx.text("method");
    let method = method.strip_prefix("bi").or(method.strip_prefix("tri")).unwrap_or(method);
    for (i, scale) in scales.iter().enumerate() {
        let extent = data.shape[i + 2];
        let outputs = (extent as f64 * cx.float(scale)?).round_ties_even() as i64;
        count(&[outputs], data.dtype)?;
        data = resample(&data, i + 2, &taps(extent, outputs, method, transform)?)?;
    }
    Ok(vec![plain.convert_tensor(&layout, &data)?])
}

pub(super) fn upsampling(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let transform = if cx.flag("align_corners") { "align_corners" } else { "asymmetric" };
    upsample(cx, inputs, "NCHW", &["scale_h", "scale_w"], transform)
}

pub(super) fn upsampling3d(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    upsample(cx, inputs, "NCDHW", &["scale_d", "scale_h", "scale_w"], cx.text("coordinate_transformation_mode"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::DType;

    #[test]
    fn linear_upsampling_repeats_the_edge() {
        let data = write(DType::F32, &[1, 2], &[0.0f32, 1.0]).unwrap();
        let out = resample(&data, 1, &taps(2, 4, "linear", "asymmetric").unwrap()).unwrap();
        assert_eq!(read::<f32>(&out).unwrap(), [0.0, 0.5, 1.0, 1.0]);
    }

    #[test]
    fn nearest_upsampling_works_on_integers() {
        let data = write(DType::I8, &[2, 1], &[3i64, -4]).unwrap();
        let out = resample(&data, 0, &taps(2, 4, "nearest_neighbor", "asymmetric").unwrap()).unwrap();
        assert_eq!(read::<i64>(&out).unwrap(), [3, 3, -4, -4]);
    }
}
