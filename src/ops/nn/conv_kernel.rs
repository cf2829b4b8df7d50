//! Kernels of convolutions: unfolding tiles of the input into columns, then a matrix product.

use super::compute::{Num, Window, input, layout, paddings, plain};
use super::conv::PLAIN_DATA;
use crate::ir::{DType, Tensor};
use crate::ops::kernel::{EvalError, KernelCx, by_lane, count, read, write};
use crate::ops::layout::Layout;

/// A convolution over three spatial axes; missing ones are extents of one in front.
struct Conv {
    batch: usize,
    groups: usize,
    /// Channels of one group.
    inputs: usize,
    /// Channels of one group.
    outputs: usize,
    extent: [usize; 3],
    kernel: [usize; 3],
    out: [usize; 3],
    strides: [i64; 3],
    dilation: [i64; 3],
    before: [i64; 3],
}

/// Data, kernel and result of a call in plain layouts.
struct Plain {
    data: Tensor,
    kernel: Tensor,
    /// Extents of the kernel along the spatial axes.
    window: Vec<i64>,
    out_layout: Layout,
    plain_data: Layout,
}

impl Plain {
    fn read(cx: &KernelCx<'_>, inputs: &[Tensor], rank: usize, kernels: [&str; 3]) -> Result<Plain, EvalError> {
        let (data_layout, kernel_layout) = (layout(cx, "data_layout")?, layout(cx, "kernel_layout")?);
        let plain_data = plain(PLAIN_DATA[rank - 1])?;
        // Kernels of oneDNN have a separate axis for the groups, outermost.
        let grouped = kernel_layout.contains('G');
        let plain_kernel = if grouped { plain(&format!("G{}", kernels[rank - 1]))? } else { plain(kernels[rank - 1])? };
        let out_layout = if cx.text("out_layout").is_empty() { data_layout.clone() } else { layout(cx, "out_layout")? };
        let data = data_layout.convert_tensor(&plain_data, input(inputs, 0)?)?;
        let kernel = kernel_layout.convert_tensor(&plain_kernel, input(inputs, 1)?)?;
        let window = kernel.shape[kernel.shape.len() - rank..].to_vec();
        Ok(Plain { data, kernel, window, out_layout, plain_data })
    }

    fn finish(self, out: Tensor) -> Result<Vec<Tensor>, EvalError> {
        Ok(vec![self.plain_data.convert_tensor(&self.out_layout, &out)?])
    }
}

/// Extends a list to three items with missing ones in front.
fn three<T: Copy>(list: &[T], missing: T) -> [T; 3] {
    let mut out = [missing; 3];
    out[3 - list.len()..].copy_from_slice(list);
    out
}

fn sizes(list: &[i64]) -> [usize; 3] {
    three(list, 1).map(|x| x as usize)
}

fn groups_of(cx: &KernelCx<'_>, channels: i64) -> Result<i64, EvalError> {
    let groups = cx.int_opt("groups").unwrap_or(1);
    match groups >= 1 && channels % groups == 0 {
        true => Ok(groups),
        false => Err(EvalError::new(format!("{channels} channels do not make {groups} groups"))),
    }
}

/// Returns the type in which products are summed: that of the result, so that integers wrap there.
fn out_dtype(cx: &KernelCx<'_>, data: DType) -> DType {
    cx.store.attr_dtype(cx.attrs, "out_dtype").or(cx.out_dtype(0)).unwrap_or(data)
}

fn conv_nd(cx: &KernelCx<'_>, inputs: &[Tensor], rank: usize) -> Result<Vec<Tensor>, EvalError> {
    let call = Plain::read(cx, inputs, rank, ["OIW", "OIHW", "OIDHW"])?;
    let shape = &call.data.shape;
    let window = Window::read(cx, rank)?;
    let groups = groups_of(cx, shape[1])?;
    let per_group = shape[1] / groups;
    let area: i64 = call.window.iter().product();
    // A depthwise kernel `(channels, multiplier, ...)` lies in memory like `(channels * multiplier, 1, ...)`.
    let outputs = call.kernel.len() as i64 / (per_group * area).max(1);
    if outputs * per_group * area != call.kernel.len() as i64 || outputs % groups != 0 {
        return Err(EvalError::new(format!("a kernel of shape {:?} does not fit {shape:?}", call.kernel.shape)));
    }
    let out: Vec<i64> = (0..rank).map(|i| window.count(i, shape[i + 2], call.window[i])).collect();
    let conv = Conv {
        batch: shape[0] as usize,
        groups: groups as usize,
        inputs: per_group as usize,
        outputs: (outputs / groups) as usize,
        extent: sizes(&shape[2..]),
        kernel: sizes(&call.window),
        out: sizes(&out),
        strides: three(&window.strides, 1),
        dilation: three(&window.dilation, 1),
        before: three(&window.before, 0),
    };
    let dtype = out_dtype(cx, call.data.dtype);
    let mut out_shape = vec![shape[0], outputs];
    out_shape.extend(out);
    count(&out_shape, dtype)?;
    let out = by_lane!(dtype, T => write(dtype, &out_shape, &conv.run::<T>(&read(&call.data)?, &read(&call.kernel)?)))?;
    call.finish(out)
}

impl Conv {
    fn run<T: Num>(&self, data: &[T], kernel: &[T]) -> Vec<T> {
        let places: usize = self.out.iter().product();
        let volume: usize = self.extent.iter().product();
        let depth = self.inputs * self.kernel.iter().product::<usize>();
        let mut out = vec![T::ZERO; self.batch * self.groups * self.outputs * places];
        // Columns are unfolded in tiles that stay in the cache while all rows are multiplied.
        let tile = (1usize << 17).checked_div(depth).unwrap_or(1).clamp(64, 2048);
        let mut columns = Vec::new();
        for image in 0..self.batch * self.groups {
            let group = image % self.groups;
            let data = &data[image * self.inputs * volume..][..self.inputs * volume];
            let kernel = &kernel[group * self.outputs * depth..][..self.outputs * depth];
            let out = &mut out[image * self.outputs * places..][..self.outputs * places];
            let mut start = 0;
            while start < places {
                let width = tile.min(places - start);
                self.unfold(data, start, width, &mut columns);
                multiply_rows(kernel, &columns, out, (depth, width), (start, places));
                start += width;
            }
        }
        out
    }

    /// The inputs of the result's places `start..start + width`, a row for each kernel element.
    fn unfold<T: Num>(&self, data: &[T], start: usize, width: usize, columns: &mut Vec<T>) {
        let [_, height, breadth] = self.extent;
        let corners: Vec<[i64; 3]> = (start..start + width)
            .map(|place| {
                let at = [place / (self.out[1] * self.out[2]), place / self.out[2] % self.out[1], place % self.out[2]];
                [0, 1, 2].map(|i| at[i] as i64 * self.strides[i] - self.before[i])
            })
            .collect();
        columns.clear();
        for channel in 0..self.inputs {
            let channel = &data[channel * self.extent[0] * height * breadth..];
            for kd in 0..self.kernel[0] {
                for kh in 0..self.kernel[1] {
                    for kw in 0..self.kernel[2] {
                        let shift = [0, 1, 2].map(|i| [kd, kh, kw][i] as i64 * self.dilation[i]);
                        columns.extend(corners.iter().map(|corner| {
                            let at = [0, 1, 2].map(|i| corner[i] + shift[i]);
                            let inside = (0..3).all(|i| at[i] >= 0 && (at[i] as usize) < self.extent[i]);
                            match inside {
                                true => channel[(at[0] as usize * height + at[1] as usize) * breadth + at[2] as usize],
                                false => T::ZERO,
                            }
                        }));
                    }
                }
            }
        }
    }
}

/// `out[r][start..] += kernel[r][k] * columns[k]` for all rows, four at a time.
fn multiply_rows<T: Num>(
    kernel: &[T],
    columns: &[T],
    out: &mut [T],
    (depth, width): (usize, usize),
    (start, places): (usize, usize),
) {
    let mut sums = vec![T::ZERO; 4 * width];
    for (block, rows) in out.chunks_mut(4 * places).enumerate() {
        let count = rows.len() / places;
        let kernel = &kernel[block * 4 * depth..];
        sums.fill(T::ZERO);
        let (a, rest) = sums.split_at_mut(width);
        let (b, rest) = rest.split_at_mut(width);
        let (c, d) = rest.split_at_mut(width);
        if count == 4 {
            for (k, column) in columns.chunks_exact(width).enumerate() {
                let w = [0, 1, 2, 3].map(|row| kernel[row * depth + k]);
                for ((((&x, a), b), c), d) in
                    column.iter().zip(a.iter_mut()).zip(b.iter_mut()).zip(c.iter_mut()).zip(d.iter_mut())
                {
                    *a = a.plus(w[0].times(x));
                    *b = b.plus(w[1].times(x));
                    *c = c.plus(w[2].times(x));
                    *d = d.plus(w[3].times(x));
                }
            }
        } else {
            for (row, sum) in [a, b, c, d].into_iter().take(count).enumerate() {
                for (k, column) in columns.chunks_exact(width).enumerate() {
                    let w = kernel[row * depth + k];
                    sum.iter_mut().zip(column).for_each(|(s, &x)| *s = s.plus(w.times(x)));
                }
            }
        }
        for (row, sum) in rows.chunks_mut(places).zip(sums.chunks(width)) {
            row[start..start + width].copy_from_slice(sum);
        }
    }
}

pub(super) fn conv1d(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    conv_nd(cx, inputs, 1)
}

/// Kernel of `nn.conv2d` and of the forms that differ in layout only.
pub(crate) fn conv2d(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    conv_nd(cx, inputs, 2)
}

pub(super) fn conv3d(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    conv_nd(cx, inputs, 3)
}

pub(super) fn conv1d_transpose(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    conv_transpose_nd(cx, inputs, 1)
}

pub(crate) fn conv2d_transpose(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    conv_transpose_nd(cx, inputs, 2)
}

pub(super) fn conv3d_transpose(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    conv_transpose_nd(cx, inputs, 3)
}

fn conv_transpose_nd(cx: &KernelCx<'_>, inputs: &[Tensor], rank: usize) -> Result<Vec<Tensor>, EvalError> {
    let call = Plain::read(cx, inputs, rank, ["IOW", "IOHW", "IODHW"])?;
    let shape = &call.data.shape;
    let window = Window::read(cx, rank)?;
    let groups = groups_of(cx, shape[1])?;
    let area: i64 = call.window.iter().product();
    let outputs = call.kernel.len() as i64 / (shape[1] * area).max(1);
    if outputs * shape[1] * area != call.kernel.len() as i64 {
        return Err(EvalError::new(format!("a kernel of shape {:?} does not fit {shape:?}", call.kernel.shape)));
    }
    let extra = cx.ints_opt("output_padding").unwrap_or_else(|| vec![0; rank]);
    let out: Vec<i64> = (0..rank)
        .map(|i| {
            let reach = (shape[i + 2] - 1) * window.strides[i] + (call.window[i] - 1) * window.dilation[i] + 1;
            (reach - window.before[i] - window.after[i] + extra.get(i).copied().unwrap_or(0)).max(0)
        })
        .collect();
    let conv = Conv {
        batch: shape[0] as usize,
        groups: groups as usize,
        inputs: (shape[1] / groups) as usize,
        outputs: outputs as usize,
        extent: sizes(&shape[2..]),
        kernel: sizes(&call.window),
        out: sizes(&out),
        strides: three(&window.strides, 1),
        dilation: three(&window.dilation, 1),
        before: three(&window.before, 0),
    };
    let dtype = out_dtype(cx, call.data.dtype);
    let mut out_shape = vec![shape[0], outputs * groups];
    out_shape.extend(out);
    count(&out_shape, dtype)?;
    let out = by_lane!(dtype, T => write(dtype, &out_shape, &conv.spread::<T>(&read(&call.data)?, &read(&call.kernel)?)))?;
    call.finish(out)
}

impl Conv {
    /// The transposed convolution: every input element spreads the kernel over the result.
    fn spread<T: Num>(&self, data: &[T], kernel: &[T]) -> Vec<T> {
        let places: usize = self.out.iter().product();
        let volume: usize = self.extent.iter().product();
        let area: usize = self.kernel.iter().product();
        let mut out = vec![T::ZERO; self.batch * self.groups * self.outputs * places];
        for image in 0..self.batch * self.groups {
            let group = image % self.groups;
            for channel in 0..self.inputs {
                let data = &data[(image * self.inputs + channel) * volume..][..volume];
                let kernel = &kernel[(group * self.inputs + channel) * self.outputs * area..];
                for (output, out) in out[image * self.outputs * places..].chunks_mut(places.max(1)).take(self.outputs).enumerate()
                {
                    for (tap, &w) in kernel[output * area..][..area].iter().enumerate() {
                        self.spread_tap(data, w, tap, out);
                    }
                }
            }
        }
        out
    }

    fn spread_tap<T: Num>(&self, data: &[T], w: T, tap: usize, out: &mut [T]) {
        let tap = [tap / (self.kernel[1] * self.kernel[2]), tap / self.kernel[2] % self.kernel[1], tap % self.kernel[2]];
        let target = |i: usize, at: usize| {
            let place = at as i64 * self.strides[i] + tap[i] as i64 * self.dilation[i] - self.before[i];
            usize::try_from(place).ok().filter(|p| *p < self.out[i])
        };
        for z in 0..self.extent[0] {
            let Some(oz) = target(0, z) else { continue };
            for y in 0..self.extent[1] {
                let Some(oy) = target(1, y) else { continue };
                let row = &data[(z * self.extent[1] + y) * self.extent[2]..][..self.extent[2]];
                let out = &mut out[(oz * self.out[1] + oy) * self.out[2]..][..self.out[2]];
                for (x, &value) in row.iter().enumerate() {
                    if let Some(ox) = target(2, x) {
                        out[ox] = out[ox].plus(w.times(value));
                    }
                }
            }
        }
    }
}

/// Kernel of `nn.conv2d_backward_weight`: products of the gradient with the data, summed over places.
pub(super) fn backward_weight(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (plain_data, plain_kernel) = (plain("NCHW")?, plain("OIHW")?);
    let grad = layout(cx, "data_layout")?.convert_tensor(&plain_data, input(inputs, 0)?)?;
    let data = layout(cx, "kernel_layout")?.convert_tensor(&plain_data, input(inputs, 1)?)?;
    let window = Window::read(cx, 2)?;
    let kernel = cx.ints("kernel_size")?;
    let (channels, outputs) = (data.shape[1], grad.shape[1]);
    let groups = groups_of(cx, channels)?;
    if kernel.len() != 2 || outputs % groups != 0 || grad.shape[0] != data.shape[0] {
        return Err(EvalError::new("gradient, data and kernel_size do not fit each other"));
    }
    let per_group = channels / groups;
    let dtype = out_dtype(cx, grad.dtype);
    let shape = [outputs, per_group, kernel[0], kernel[1]];
    count(&shape, dtype)?;
    let (height, width) = (data.shape[2], data.shape[3]);
    let (rows, columns) = (grad.shape[2], grad.shape[3]);
    let out = by_lane!(dtype, T => {
        let (grads, values): (Vec<T>, Vec<T>) = (read(&grad)?, read(&data)?);
        let mut out = Vec::new();
        crate::ops::kernel::each_index(&shape, |at| {
            let channel = at[0] / (outputs / groups) * per_group + at[1];
            let mut sum = T::ZERO;
            for image in 0..grad.shape[0] {
                for y in 0..rows {
                    let row = y * window.strides[0] + at[2] * window.dilation[0] - window.before[0];
                    for x in 0..columns {
                        let column = x * window.strides[1] + at[3] * window.dilation[1] - window.before[1];
                        if (0..height).contains(&row) && (0..width).contains(&column) {
                            let g = grads[(((image * outputs + at[0]) * rows + y) * columns + x) as usize];
                            let v = values[(((image * channels + channel) * height + row) * width + column) as usize];
                            sum = sum.plus(g.times(v));
                        }
                    }
                }
            }
            out.push(sum);
            Ok(())
        })?;
        write(dtype, &shape, &out)
    })?;
    Ok(vec![plain_kernel.convert_tensor(&layout(cx, "out_layout")?, &out)?])
}

/// Kernel of `nn.deformable_conv2d`: samples between elements, zero outside.
pub(super) fn deformable(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (plain_data, plain_kernel) = (plain("NCHW")?, plain("OIHW")?);
    let data_layout = layout(cx, "data_layout")?;
    let data = data_layout.convert_tensor(&plain_data, input(inputs, 0)?)?;
    let offset = data_layout.convert_tensor(&plain_data, input(inputs, 1)?)?;
    let kernel = layout(cx, "kernel_layout")?.convert_tensor(&plain_kernel, input(inputs, 2)?)?;
    let strides = cx.ints("strides")?;
    let dilation = cx.ints("dilation")?;
    let (before, _) = paddings(cx, 2)?;
    let [batch, channels, height, width] = [0, 1, 2, 3].map(|i| data.shape[i]);
    let [outputs, per_group, kh, kw] = [0, 1, 2, 3].map(|i| kernel.shape[i]);
    let [places, rows, columns] = [1, 2, 3].map(|i| offset.shape[i]);
    let groups = groups_of(cx, channels)?;
    let parts = cx.int_opt("deformable_groups").unwrap_or(1).max(1);
    let fits = per_group * groups == channels && outputs % groups == 0 && channels % parts == 0;
    if !fits || places != 2 * kh * kw * parts || strides.len() != 2 || dilation.len() != 2 {
        return Err(EvalError::new("data, offset and kernel do not fit each other"));
    }
    let (x, shift, w): (Vec<f64>, Vec<f64>, Vec<f64>) = (read(&data)?, read(&offset)?, read(&kernel)?);
    let sample = |image: i64, channel: i64, row: f64, column: f64| {
        if row < 0.0 || column < 0.0 || row >= height as f64 || column >= width as f64 {
            return 0.0;
        }
        let (top, left) = (row.floor(), column.floor());
        let (dy, dx) = (row - top, column - left);
        let at = |y: f64, x_: f64| {
            let (y, x_) = ((y as i64).min(height - 1), (x_ as i64).min(width - 1));
            x[(((image * channels + channel) * height + y) * width + x_) as usize]
        };
        (at(top, left) * (1.0 - dx) + at(top, left + 1.0) * dx) * (1.0 - dy)
            + (at(top + 1.0, left) * (1.0 - dx) + at(top + 1.0, left + 1.0) * dx) * dy
    };
    let out_shape = [batch, outputs, rows, columns];
    let dtype = out_dtype(cx, data.dtype);
    let mut out = Vec::with_capacity(count(&out_shape, dtype)?);
    crate::ops::kernel::each_index(&out_shape, |at| {
        let mut sum = 0.0;
        for c in 0..per_group {
            let channel = at[1] / (outputs / groups) * per_group + c;
            let part = channel / (channels / parts);
            for tap in 0..kh * kw {
                let place = (part * kh * kw + tap) * 2;
                let moved = |k: i64| shift[(((at[0] * places + place + k) * rows + at[2]) * columns + at[3]) as usize];
                let row = (at[2] * strides[0] - before[0] + tap / kw * dilation[0]) as f64 + moved(0);
                let column = (at[3] * strides[1] - before[1] + tap % kw * dilation[1]) as f64 + moved(1);
                sum += sample(at[0], channel, row, column) * w[((at[1] * per_group + c) * kh * kw + tap) as usize];
            }
        }
        out.push(sum);
        Ok(())
    })?;
    let out = write(dtype, &out_shape, &out)?;
    let out_layout = if cx.text("out_layout").is_empty() { data_layout } else { layout(cx, "out_layout")? };
    Ok(vec![plain_data.convert_tensor(&out_layout, &out)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_convolution_agrees_with_the_sum_over_its_window() {
        // One image of 2 channels, 3x3, kernel 2x2, stride 2, padding 1, dilation 1, 2 outputs in 2 groups.
        let conv = Conv {
            batch: 1,
            groups: 2,
            inputs: 1,
            outputs: 1,
            extent: [1, 3, 3],
            kernel: [1, 2, 2],
            out: [1, 2, 2],
            strides: [1, 2, 2],
            dilation: [1, 1, 1],
            before: [0, 1, 1],
        };
        let data: Vec<i64> = (1..=18).collect();
        let kernel = [1, 2, 3, 4, 1, 0, 0, 1];
        // Group 0 at (0, 0): only 4 * data[0]; at (0, 1): 3 * 2 + 4 * 3; at (1, 0): 2 * 4 + 4 * 7;
        // at (1, 1): 1 * 5 + 2 * 6 + 3 * 8 + 4 * 9. Group 1 takes the corners: 10, 12, 16, 14 + 18.
        assert_eq!(conv.run(&data, &kernel), [4, 18, 36, 77, 10, 12, 16, 32]);
    }

    #[test]
    fn rows_beyond_a_multiple_of_four_are_multiplied_too() {
        let conv = Conv {
            batch: 1,
            groups: 1,
            inputs: 2,
            outputs: 5,
            extent: [1, 1, 3],
            kernel: [1, 1, 1],
            out: [1, 1, 3],
            strides: [1; 3],
            dilation: [1; 3],
            before: [0; 3],
        };
        let kernel: Vec<i64> = (0..10).collect();
        let out = conv.run(&[1i64, 2, 3, 10, 20, 30], &kernel);
        // Row r has weights 2r and 2r + 1.
        assert_eq!(out[..3], [10, 20, 30]);
        assert_eq!(out[12..], [98, 196, 294]);
    }

    #[test]
    fn a_transposed_convolution_overlaps_and_adds() {
        let conv = Conv {
            batch: 1,
            groups: 1,
            inputs: 1,
            outputs: 1,
            extent: [1, 1, 3],
            kernel: [1, 1, 3],
            out: [1, 1, 7],
            strides: [1, 1, 2],
            dilation: [1; 3],
            before: [0; 3],
        };
        assert_eq!(conv.spread(&[1i64, 2, 3], &[1, 10, 100]), [1, 10, 102, 20, 203, 30, 300]);
    }
}
