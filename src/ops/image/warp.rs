//! Morphology and sampling of images along a grid.

use super::resize::image_layout;
use crate::ir::{Dim, Tensor};
use crate::ops::concrete::result_type;
use crate::ops::kernel::{Lane, by_lane, bytes, count, each_index, read, strides, write};
use crate::ops::layout::Layout;
use crate::ops::relax::deduce;
use crate::ops::row::{op, relax, relay, shape, value};
use crate::ops::schema::{field, schema};
use crate::ops::tensor::binary::Arithmetic;
use crate::ops::tensor::{ensure, input};
use crate::ops::{AttrKind, OpInfo, OpPattern};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("image.dilation2d", "Greyscale dilation of images: the largest sum of window and kernel.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(dilation2d_kernel)
        .relay(relay(&["data", "weight"], dilation2d_rule).attrs(&schema(
            "relay.attrs.Dilation2DAttrs",
            &[
                field::ints("strides", &[1, 1]),
                field::ints("padding", &[0, 0]),
                field::ints("dilations", &[1, 1]),
                field::text("data_layout", "NCHW"),
                field::text("kernel_layout", "IHW"),
                field::dtype("out_dtype", ""),
            ],
        ))),
    op("image.affine_grid", "The sampling grid of an affine transformation.")
        .pattern(OpPattern::Injective)
        .kernel(affine_grid_kernel)
        .relay(
            relay(&["data"], affine_grid_rule)
                .attrs(&schema("relay.attrs.AffineGridAttrs", &[field::required("target_shape", AttrKind::Ints)])),
        )
        .relax(
            relax(&[value("data"), shape("size")], deduce::image::affine_grid)
                .attrs(&schema("relax.attrs.AffineGridAttrs", &[field::flag("align_corners", true)]))
                .follows(),
        ),
    op("image.grid_sample", "Samples images at the positions of a grid.")
        .pattern(OpPattern::Injective)
        .kernel(grid_sample_kernel)
        .relay(relay(&["data", "grid"], grid_sample_rule).attrs(&schema(
            "relay.attrs.GridSampleAttrs",
            &[
                field::text("method", "bilinear"),
                field::text("layout", "NCHW"),
                field::text("padding_mode", "zeros"),
                field::flag("align_corners", true),
            ],
        )))
        .relax(
            relax(&[value("data"), value("grid")], deduce::image::grid_sample)
                .attrs(&schema(
                    "relax.attrs.GridSampleAttrs",
                    &[
                        field::text("method", "bilinear"),
                        field::text("layout", "NCHW"),
                        field::text("padding_mode", "zeros"),
                        field::flag("align_corners", false),
                    ],
                ))
                .follows(),
        ),
];

fn dilation2d_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (weight, _) = input!(cx, 1);
    let (layout, standard) = image_layout(cx, "data_layout", "NCHW")?;
    let (kernel_layout, kernel_standard) = image_layout(cx, "kernel_layout", "IHW")?;
    let data = layout.convert_shape(cx.store, &standard, &shape)?;
    let kernel = kernel_layout.convert_shape(cx.store, &kernel_standard, &weight)?;
    let strides = cx.attr_dims_of("strides", 2)?;
    let dilations = cx.attr_dims_of("dilations", 2)?;
    let padding = cx.total_padding(2).ok_or("dilation2d: `padding` must have 1, 2 or 4 elements")?;
    let mut out = vec![data[0], kernel[0]];
    for i in 0..2 {
        ensure!(strides[i].known() != Some(0), "dilation2d: strides must not be 0");
        let reach = cx.dilated(kernel[i + 1], dilations[i]);
        let extent = cx.add(data[i + 2], padding[i]);
        let room = cx.sub(extent, reach);
        let steps = cx.div(room, strides[i]);
        out.push(if data[i + 2] == Dim::Any { Dim::Any } else { cx.add(steps, Dim::int(1)) });
    }
    let out = standard.convert_shape(cx.store, &layout, &out)?;
    let dtype = cx.out_dtype(dtype);
    cx.output_tensor(&out, dtype)
}

fn affine_grid_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let matrix = shape.len() == 3 && cx.may_equal(shape[1], Dim::int(2)) && cx.may_equal(shape[2], Dim::int(3));
    ensure!(matrix, "data should be an affine matrix with shape [batch_size, 2, 3]");
    let size = cx.attr_dims_of("target_shape", 2)?;
    cx.output_tensor(&[shape[0], Dim::int(2), size[0], size[1]], dtype)
}

fn grid_sample_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (grid, _) = input!(cx, 1);
    let standard = match shape.len() {
        4 => "NCHW",
        5 => "NCDHW",
        rank => return Err(format!("grid_sample of a tensor of rank {rank}")),
    };
    let (layout, standard) = image_layout(cx, "layout", standard)?;
    ensure!(grid.len() == shape.len(), "grid_sample: data has {} axes, the grid {}", shape.len(), grid.len());
    let mut out = layout.convert_shape(cx.store, &standard, &shape)?;
    out[2..].copy_from_slice(&grid[2..]);
    let out = standard.convert_shape(cx.store, &layout, &out)?;
    cx.output_tensor(&out, dtype)
}

/// Returns one element along the first axis, and keeps that axis.
pub(super) fn image_at(images: &Tensor, index: usize) -> Result<Tensor, EvalError> {
    let mut shape = images.shape.to_vec();
    shape[0] = 1;
    let size = count(&shape, images.dtype)? * images.dtype.bytes();
    let data = bytes(images)?.get(index * size..(index + 1) * size).ok_or("there is no such image")?;
    Ok(Tensor::new(images.dtype, shape, data))
}

/// The largest sum of data and kernel under the window; padding is zeros.
fn dilation2d_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (_, dtype) = result_type(cx, dilation2d_rule, x)?;
    let (layout, standard) = (Layout::parse(cx.text("data_layout"))?, Layout::parse("NCHW")?);
    let data = layout.convert_tensor(&standard, &x[0])?;
    let kernel = Layout::parse(cx.text("kernel_layout"))?.convert_tensor(&Layout::parse("IHW")?, &x[1])?;
    let [n, channels, height, width] = data.shape[..] else { return Err("images have four axes".into()) };
    let [_, rows, columns] = kernel.shape[..] else { return Err("the kernel has three axes".into()) };
    ensure!(kernel.shape[0] == channels, "For Dilation2D input and filter channels should be same.");
    let (steps, gaps, pad) = (cx.ints("strides")?, cx.ints("dilations")?, cx.ints("padding")?);
    let (top, left, bottom, right) = match pad[..] {
        [p] => (p, p, p, p),
        [h, w] => (h, w, h, w),
        [t, l, b, r] => (t, l, b, r),
        _ => return Err("dilation2d: `padding` must have 1, 2 or 4 elements".into()),
    };
    let along = |extent: i64, size: i64, gap: i64, step: i64| (extent - ((size - 1) * gap + 1)).div_euclid(step) + 1;
    let out_height = along(height + top + bottom, rows, gaps[0], steps[0]);
    let shape = [n, channels, out_height, along(width + left + right, columns, gaps[1], steps[1])];
    count(&shape, dtype)?;
    let out = by_lane!(dtype, T => {
        let (values, weights) = (read::<T>(&data)?, read::<T>(&kernel)?);
        let mut out = Vec::new();
        each_index(&shape, |index| {
            let mut best: Option<T> = None;
            for row in 0..rows {
                for column in 0..columns {
                    let (y, x) = (index[2] * steps[0] + row * gaps[0] - top, index[3] * steps[1] + column * gaps[1] - left);
                    let inside = (0..height).contains(&y) && (0..width).contains(&x);
                    let place = ((index[0] * channels + index[1]) * height + y) * width + x;
                    let value = if inside { values[place as usize] } else { T::default() };
                    let sum = value.plus(weights[((index[1] * rows + row) * columns + column) as usize]);
                    best = Some(best.filter(|b| *b > sum).unwrap_or(sum));
                }
            }
            out.push(best.unwrap_or_default());
            Ok(())
        })?;
        write(dtype, &shape, &out)?
    });
    Ok(vec![standard.convert_tensor(&layout, &out)?])
}

fn affine_grid_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (shape, dtype) = result_type(cx, affine_grid_rule, x)?;
    let matrices = read::<f64>(&x[0])?;
    ensure!(shape[2] > 1 && shape[3] > 1, "target height/width should be greater than 1");
    by_lane!(dtype, T => {
        // Just under two, so that the last point stays inside.
        let step = |extent: i64| T::from_f64((2.0 - 1e-7) / (extent - 1) as f64);
        let (down, along, start) = (step(shape[2]), step(shape[3]), T::from_i64(-1));
        let mut out = Vec::new();
        each_index(&shape, |index| {
            let row = (index[0] * 2 + index[1]) as usize * 3;
            let [a, b, c] = [0, 1, 2].map(|k| T::from_f64(matrices[row + k]));
            let y = start.plus(T::from_i64(index[2]).times(down));
            let x = start.plus(T::from_i64(index[3]).times(along));
            out.push(a.times(x).plus(b.times(y)).plus(c));
            Ok(())
        })?;
        Ok(vec![write(dtype, &shape, &out)?])
    })
}

/// The treatment of sampling positions outside of the image.
struct Edges<'a> {
    padding: &'a str,
    corners: bool,
}

impl Edges<'_> {
    /// Converts a position between -1 and 1 to pixels.
    fn pixels(&self, position: f32, extent: i64) -> f32 {
        let extent = extent as f32;
        if self.corners { (position + 1.0) * (extent - 1.0) / 2.0 } else { -0.5 + (position + 1.0) * extent / 2.0 }
    }

    /// Moves a position inside, if the padding mode wants that.
    fn inside(&self, position: f32, extent: i64) -> f32 {
        let last = (extent - 1) as f32;
        match self.padding {
            "border" => position.max(0.0).min(last),
            "reflection" => self.reflected(position, extent).max(0.0).min(last),
            _ => position,
        }
    }

    fn reflected(&self, position: f32, extent: i64) -> f32 {
        let (size, start) = if self.corners { ((extent - 1) as f32, 0.0) } else { (extent as f32, -0.5) };
        if (position >= start && position <= size + start) || size == 0.0 {
            return position;
        }
        let distance = (start - position).abs();
        let times = (distance.trunc() / size).trunc();
        let rest = distance - times * size;
        if times % 2.0 == 0.0 { rest + start } else { size - rest + start }
    }
}

/// Weights of PyTorch's cubic convolution, whose factor is -0.75.
fn cubic_weights(fraction: f32) -> [f32; 4] {
    const A: f32 = -0.75;
    let near = |t: f32| ((A + 2.0) * t - (A + 3.0)) * t * t + 1.0;
    let far = |t: f32| ((A * t - 5.0 * A) * t + 8.0 * A) * t - 4.0 * A;
    [far(fraction + 1.0), near(fraction), near(1.0 - fraction), far(2.0 - fraction)]
}

/// Positions along the axes of the image are read from the grid, whose second axis holds x, y and z.
fn grid_sample_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (shape, dtype) = result_type(cx, grid_sample_rule, x)?;
    ensure!(matches!(cx.text("layout"), "NCHW" | "NCDHW"), "grid_sample: {} is not supported", cx.text("layout"));
    let n = shape.len() - 2;
    ensure!(x[1].shape[1] == n as i64 && x[1].shape[0] == x[0].shape[0], "grid_sample: the grid does not fit the image");
    let edges = Edges { padding: cx.text("padding_mode"), corners: cx.flag("align_corners") };
    let method = cx.text("method");
    let cubic = method == "bicubic";
    ensure!(matches!(method, "nearest" | "bilinear") || (cubic && n == 2), "grid_sample: {method} is not supported");
    let (values, grid) = (read::<f32>(&x[0])?, read::<f32>(&x[1])?);
    let (from, lines) = (strides(&x[0].shape), strides(&x[1].shape));
    let mut out = Vec::new();
    each_index(&shape, |index| {
        // For each axis of the image, the pixels to read and their weights.
        let mut taps: Vec<Vec<(i64, f32)>> = Vec::with_capacity(n);
        for axis in 0..n {
            let extent = x[0].shape[axis + 2];
            let spot: usize = index[2..].iter().zip(&lines[2..]).map(|(i, stride)| *i as usize * stride).sum();
            let place = index[0] as usize * lines[0] + (n - 1 - axis) * lines[1] + spot;
            let position = edges.pixels(grid[place], extent);
            taps.push(if cubic {
                let low = position.floor();
                let weights = cubic_weights(position - low);
                (0..4).map(|i| (edges.inside(low - 1.0 + i as f32, extent) as i64, weights[i])).collect()
            } else {
                let position = edges.inside(position, extent);
                let low = position.floor();
                match method {
                    "nearest" => vec![(position.round_ties_even() as i64, 1.0)],
                    _ => vec![(low as i64, 1.0 - (position - low)), (low as i64 + 1, position - low)],
                }
            });
        }
        let counts: Vec<i64> = taps.iter().map(|t| t.len() as i64).collect();
        let base = index[0] as usize * from[0] + index[1] as usize * from[1];
        let mut sum = 0.0;
        each_index(&counts, |choice| {
            let (mut place, mut weight, mut inside) = (base, 1.0, true);
            for (axis, i) in choice.iter().enumerate() {
                let (at, share) = taps[axis][*i as usize];
                inside &= (0..x[0].shape[axis + 2]).contains(&at);
                place = place.wrapping_add((at as usize).wrapping_mul(from[axis + 2]));
                weight *= share;
            }
            if inside {
                sum += values[place] * weight;
            }
            Ok(())
        })?;
        out.push(sum);
        Ok(())
    })?;
    Ok(vec![write(dtype, &shape, &out)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_reflect_at_the_corners() {
        let edges = Edges { padding: "reflection", corners: true };
        // Pixels 0, 1, 2: 3 is reflected to 1, 4 to 0, -1 to 1.
        for (position, pixel) in [(3.0, 1.0), (4.0, 0.0), (-1.0, 1.0), (1.5, 1.5)] {
            assert_eq!(edges.inside(position, 3), pixel);
        }
        assert_eq!(Edges { padding: "border", corners: true }.inside(9.0, 3), 2.0);
        assert_eq!(edges.pixels(1.0, 3), 2.0);
    }
}
