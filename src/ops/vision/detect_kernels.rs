//! Kernels of the operators in [`super::detect`].

use super::detect::multibox_prior_rule;
use crate::ir::sort::ranking;
use crate::ir::{AttrValue, DType, Tensor};
use crate::ops::concrete::result_type;
use crate::ops::kernel::{axis_index, read, read_scalar, write};
use crate::ops::tensor::ensure;
use crate::ops::{EvalError, KernelCx};
use std::cmp::Ordering;

type Outputs = Result<Vec<Tensor>, EvalError>;

fn floats(cx: &KernelCx<'_>, name: &str) -> Vec<f32> {
    match cx.store.attr(cx.attrs, name) {
        Some(AttrValue::Array(items)) => items.iter().filter_map(|v| v.as_float()).map(|v| v as f32).collect(),
        _ => Vec::new(),
    }
}

/// For each place a box of every size with the first ratio, then one of the first size with every
/// other ratio; clipped to the image if wanted.
pub(super) fn multibox_prior(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, dtype) = result_type(cx, multibox_prior_rule, x)?;
    let (height, width) = (x[0].shape[2], x[0].shape[3]);
    let [sizes, ratios, steps, offsets] = ["sizes", "ratios", "steps", "offsets"].map(|name| floats(cx, name));
    ensure!(!sizes.is_empty() && steps.len() == 2 && offsets.len() == 2, "multibox_prior: sizes, steps or offsets are missing");
    let step = |written: f32, extent: i64| if written > 0.0 { written } else { 1.0 / extent as f32 };
    let (down, along) = (step(steps[0], height), step(steps[1], width));
    let wide = |size: f32| size * height as f32 / width as f32;
    let mut halves: Vec<(f32, f32)> = sizes.iter().map(|size| (wide(*size) / 2.0, size / 2.0)).collect();
    let first = sizes[0];
    halves.extend(ratios.iter().skip(1).map(|r| (wide(first) * r.sqrt() / 2.0, first / r.sqrt() / 2.0)));
    let mut out = Vec::new();
    for i in 0..height {
        for j in 0..width {
            let (y, x) = ((i as f32 + offsets[0]) * down, (j as f32 + offsets[1]) * along);
            out.extend(halves.iter().flat_map(|(w, h)| [x - w, y - h, x + w, y + h]));
        }
    }
    if cx.flag("clip") {
        out.iter_mut().for_each(|v| *v = v.clamp(0.0, 1.0));
    }
    Ok(vec![write(dtype, &shape, &out)?])
}

pub(super) fn get_valid_counts(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let [batch, n, len] = x[0].shape[..] else { return Err("Input data should be 3-D.".into()) };
    let threshold: f32 = read_scalar(&x[1])?;
    let score = axis_index(cx.int("score_index")?, len as usize)?;
    let class = usize::try_from(cx.int("id_index")?).ok();
    ensure!(class.is_none_or(|c| c < len as usize), "get_valid_counts: `id_index` is out of range");
    let data = read::<f32>(&x[0])?;
    let (mut counts, mut boxes, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for image in data.chunks_exact((n * len).max(1) as usize) {
        let valid = |row: &[f32]| row[score] > threshold && class.is_none_or(|c| row[c] >= 0.0);
        let rows = image.chunks_exact(len as usize).enumerate();
        let kept: Vec<(usize, &[f32])> = rows.filter(|(_, row)| valid(row)).collect();
        counts.push(kept.len() as i64);
        boxes.extend(kept.iter().flat_map(|(_, row)| row.iter().copied()));
        indices.extend(kept.iter().map(|(i, _)| *i as i64));
        boxes.resize(counts.len() * (n * len) as usize, -1.0);
        indices.resize(counts.len() * n as usize, -1);
    }
    counts.resize(batch as usize, 0);
    Ok(vec![
        write(DType::I32, &[batch], &counts)?,
        write(x[0].dtype, &x[0].shape, &boxes)?,
        write(DType::I32, &[batch, n], &indices)?,
    ])
}

/// Returns the corners of a box in ascending order, whatever order they are written in.
fn corners(row: &[f32], at: usize) -> [f32; 4] {
    let [a, b, c, d] = [row[at], row[at + 1], row[at + 2], row[at + 3]];
    [a.min(c), b.min(d), a.max(c), b.max(d)]
}

/// Intersection over union.
fn overlap(a: [f32; 4], b: [f32; 4]) -> f32 {
    let width = (a[2].min(b[2]) - a[0].max(b[0])).max(0.0);
    let height = (a[3].min(b[3]) - a[1].max(b[1])).max(0.0);
    let size = |c: [f32; 4]| (c[2] - c[0]) * (c[3] - c[1]);
    let union = size(a) + size(b) - width * height;
    if union <= 0.0 { 0.0 } else { width * height / union }
}

pub(super) fn non_max_suppression(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let [batch, n, len] = x[0].shape[..] else { return Err("Input data should be 3-D.".into()) };
    let (n, len) = (n as usize, len as usize);
    let (counts, originals) = (read::<i64>(&x[1])?, read::<i64>(&x[2])?);
    let (most, threshold): (i64, f32) = (read_scalar(&x[3])?, read_scalar(&x[4])?);
    let (start, score) = (cx.int("coord_start")?, axis_index(cx.int("score_index")?, len)?);
    ensure!(start >= 0 && start as usize + 4 <= len, "non_max_suppression: `coord_start` is out of range");
    let start = start as usize;
    let class = usize::try_from(cx.int("id_index")?).ok();
    ensure!(class.is_none_or(|c| c < len), "non_max_suppression: `id_index` is out of range");
    ensure!(
        counts.len() == batch as usize && originals.len() == batch as usize * n,
        "non_max_suppression: inputs differ in size"
    );
    let (force, top) = (cx.flag("force_suppress"), cx.int("top_k")?);
    let data = read::<f32>(&x[0])?;
    let (mut boxes, mut found, mut n_found) = (Vec::new(), Vec::new(), Vec::new());
    for (i, image) in data.chunks_exact((n * len).max(1)).enumerate() {
        let row = |j: usize| &image[j * len..(j + 1) * len];
        let valid = counts[i].clamp(0, n as i64) as usize;
        let mut out: Vec<(Vec<f32>, i64)> = Vec::new();
        if threshold > 0.0 {
            let order = ranking(valid, &|a, b| row(b)[score].partial_cmp(&row(a)[score]).unwrap_or(Ordering::Equal));
            let considered = if top > 0 { valid.min(top as usize) } else { valid };
            let mut kept: Vec<usize> = Vec::new();
            for j in &order[..considered] {
                let a = row(*j);
                let alive = a[score] > 0.0;
                let meets = |k: &&usize| {
                    let b = row(**k);
                    b[score] > 0.0 && class.is_none_or(|c| b[c] >= 0.0 && (force || a[c] == b[c]))
                };
                let beaten = |k: &usize| overlap(corners(a, start), corners(row(*k), start)) >= threshold;
                let dropped = kept.len() as i64 == most || (alive && kept.iter().filter(meets).any(beaten));
                if dropped {
                    out.push((vec![-1.0; len], -1));
                } else {
                    out.push((a.to_vec(), *j as i64));
                    if alive {
                        kept.push(*j);
                    }
                }
            }
        } else {
            out.extend((0..valid).map(|j| (row(j).to_vec(), j as i64)));
        }
        out.resize(n, (vec![-1.0; len], -1));
        if cx.flag("return_indices") {
            let mut indices: Vec<i64> =
                out.iter().filter(|(_, j)| *j >= 0).map(|(_, j)| originals[i * n + *j as usize]).collect();
            indices.retain(|j| *j >= 0);
            n_found.push(indices.len() as i64);
            indices.resize(n, -1);
            found.extend(indices);
        } else {
            if cx.flag("invalid_to_bottom") {
                // The remaining boxes keep their order.
                let (left, gone): (Vec<_>, Vec<_>) = out.into_iter().partition(|(row, _)| row.first().is_some_and(|v| *v >= 0.0));
                out = left.into_iter().chain(gone).collect();
            }
            boxes.extend(out.into_iter().flat_map(|(row, _)| row));
        }
    }
    if cx.flag("return_indices") {
        return Ok(vec![write(DType::I32, &[batch, n as i64], &found)?, write(DType::I32, &[batch, 1], &n_found)?]);
    }
    Ok(vec![write(x[0].dtype, &x[0].shape, &boxes)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_intersection_over_union() {
        let (a, b) = (corners(&[0.0, 0.0, 2.0, 2.0], 0), corners(&[3.0, 2.0, 1.0, 0.0], 0));
        assert_eq!(overlap(a, b), 2.0 / 6.0);
        assert_eq!(overlap(a, [5.0, 5.0, 6.0, 6.0]), 0.0);
    }
}
