//! Kernels of the operators in [`super::region`].

use super::region::{roi_rule, yolo_reorg_rule};
use crate::ir::Tensor;
use crate::ops::concrete::result_type;
use crate::ops::kernel::{each_index, pick, read, write};
use crate::ops::layout::Layout;
use crate::ops::tensor::ensure;
use crate::ops::{EvalError, KernelCx};

type Outputs = Result<Vec<Tensor>, EvalError>;

/// Calls `f` with the image, the region (image number, left, top, right, bottom) and the position in
/// the pooled grid, for each element of the result, and converts to the layout.
fn pooled(cx: &KernelCx<'_>, x: &[Tensor], f: impl Fn(&[f32], (i64, i64), &[f32], (i64, i64), (i64, i64)) -> f32) -> Outputs {
    let (_, dtype) = result_type(cx, roi_rule, x)?;
    let (layout, standard) = (Layout::parse(cx.text("layout"))?, Layout::parse("NCHW")?);
    let data = layout.convert_tensor(&standard, &x[0])?;
    let [n, channels, height, width] = data.shape[..] else { return Err("Input data should be 4-D.".into()) };
    ensure!(x[1].shape[1] == 5, "a region is described by five numbers");
    let size = cx.ints("pooled_size")?;
    ensure!(size.len() == 2 && size.iter().all(|s| *s > 0), "`pooled_size` must be two extents");
    let (values, rois) = (read::<f32>(&data)?, read::<f32>(&x[1])?);
    let shape = [x[1].shape[0], channels, size[0], size[1]];
    let mut out = Vec::new();
    each_index(&shape, |index| {
        let roi = &rois[index[0] as usize * 5..index[0] as usize * 5 + 5];
        ensure!(roi[0] >= 0.0 && (roi[0] as i64) < n, "there is no image {}", roi[0]);
        let plane = ((roi[0] as i64 * channels + index[1]) * height * width) as usize;
        let image = &values[plane..plane + (height * width) as usize];
        out.push(f(image, (height, width), roi, (index[2], index[3]), (size[0], size[1])));
        Ok(())
    })?;
    let out = write(dtype, &shape, &out)?;
    Ok(vec![standard.convert_tensor(&layout, &out)?])
}

/// Interpolates between pixels; zero beyond one pixel outside of the image.
fn bilinear(image: &[f32], (height, width): (i64, i64), y: f32, x: f32) -> f32 {
    if y < -1.0 || x < -1.0 || y > height as f32 || x > width as f32 {
        return 0.0;
    }
    let (y, x) = (y.max(0.0).min((height - 1) as f32), x.max(0.0).min((width - 1) as f32));
    let (row, column) = (y.floor() as i64, x.floor() as i64);
    let (down, right) = (y - row as f32, x - column as f32);
    let mut sum = 0.0;
    for (weight_x, column) in [(1.0 - right, column), (right, column + 1)] {
        for (weight_y, row) in [(1.0 - down, row), (down, row + 1)] {
            if row < height && column < width {
                sum += weight_x * weight_y * image[(row * width + column) as usize];
            }
        }
    }
    sum
}

pub(super) fn roi_align(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (scale, ratio, average) = (cx.float("spatial_scale")? as f32, cx.int("sample_ratio")?, cx.text("mode") != "max");
    ensure!(ratio <= 1 << 10, "roi_align with {ratio} samples along an axis");
    pooled(cx, x, |image, extents, roi, place, grid| {
        let [left, top, right, bottom] = [1, 2, 3, 4].map(|i| roi[i] * scale);
        let cell = |from: f32, to: f32, parts: i64| (to - from).max(1.0) / parts as f32;
        let (height, width) = (cell(top, bottom, grid.0), cell(left, right, grid.1));
        // A region far larger than the image has no more samples than the image has pixels.
        let samples = |cell: f32, extent: i64| if ratio > 0 { ratio } else { (cell.ceil() as i64).clamp(1, extent.max(1) * 4) };
        let (rows, columns) = (samples(height, extents.0), samples(width, extents.1));
        let (top, left) = (top + place.0 as f32 * height, left + place.1 as f32 * width);
        let (mut sum, mut best) = (0.0, f32::MIN);
        for row in 0..rows {
            for column in 0..columns {
                let y = top + (row as f32 + 0.5) * height / rows as f32;
                let x = left + (column as f32 + 0.5) * width / columns as f32;
                let value = bilinear(image, extents, y, x);
                sum += value / (rows * columns) as f32;
                best = best.max(value);
            }
        }
        if average { sum } else { best }
    })
}

pub(super) fn roi_pool(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let scale = cx.float("spatial_scale")? as f32;
    pooled(cx, x, |image, (height, width), roi, place, grid| {
        let [left, top, right, bottom] = [1, 2, 3, 4].map(|i| (roi[i] * scale).round() as i32 as i64);
        // The rows or columns under one cell, within the image.
        let span = |from: i64, to: i64, place: i64, parts: i64, extent: i64| {
            let cell = (to - from + 1).max(1) as f32 / parts as f32;
            let begin = (place as f32 * cell + 1e-5).floor() as i64 + from;
            let end = ((place + 1) as f32 * cell - 1e-5).ceil() as i64 + from;
            begin.clamp(0, extent)..end.clamp(0, extent)
        };
        let rows = span(top, bottom, place.0, grid.0, height);
        let columns = span(left, right, place.1, grid.1, width);
        let pixels = rows.flat_map(|row| columns.clone().map(move |column| image[(row * width + column) as usize]));
        pixels.reduce(f32::max).unwrap_or(0.0)
    })
}

/// Moves blocks into channels by darknet's arithmetic on offsets, which mixes the axes: only one
/// image at a time stays within memory.
pub(super) fn yolo_reorg(cx: &KernelCx<'_>, x: &[Tensor]) -> Outputs {
    let (shape, _) = result_type(cx, yolo_reorg_rule, x)?;
    let [_, channels, height, width] = x[0].shape[..] else { return Err("Yolo reorg supports only 4 dimension.".into()) };
    let stride = cx.int("stride")?;
    let narrow = channels / (stride * stride);
    ensure!(narrow > 0, "yolo_reorg: {channels} channels are fewer than stride * stride");
    let mut places = Vec::with_capacity(x[0].len());
    each_index(&x[0].shape, |index| {
        let (block, channel) = (index[1] / narrow, index[1] % narrow);
        let row = (index[2] * stride + block / stride) * stride;
        let column = index[3] * stride + block % stride;
        let image = index[0] * stride * stride;
        places.push((((image * channels + channel * stride * stride) * height + row) * width + column) as usize);
        Ok(())
    })?;
    Ok(vec![pick(&x[0], &shape, places.into_iter())?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_blend_within_the_image_and_vanish_far_outside() {
        let image = [0.0, 1.0, 2.0, 3.0];
        assert_eq!(bilinear(&image, (2, 2), 0.5, 0.5), 1.5);
        assert_eq!(bilinear(&image, (2, 2), -0.5, 1.0), 1.0);
        assert_eq!(bilinear(&image, (2, 2), -1.5, 0.0), 0.0);
    }
}
