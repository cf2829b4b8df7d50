//! Kernels of poolings. Every pooling, also a global or adaptive one, is a list of taps for each
//! output place along each spatial axis.

use super::compute::{Num, Window, input, layout, lowest};
use crate::ir::Tensor;
use crate::ops::kernel::{EvalError, KernelCx, Lane, by_lane, count, each_index, read, strides, write};

/// The operation on the elements of a window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Max,
    Mean,
}

/// The windows along one axis.
struct Taps {
    axis: usize,
    /// For each output place, the input places in its window that exist.
    places: Vec<Vec<i64>>,
    /// For each output place, the number of elements that a mean counts along this axis.
    counts: Vec<i64>,
}

/// Returns the positions of the spatial axes.
fn axes_of(cx: &KernelCx<'_>, letters: &str, rank: usize) -> Result<Vec<usize>, EvalError> {
    let layout = layout(cx, "layout")?;
    letters
        .chars()
        .map(|c| {
            let split = layout.contains(c.to_ascii_lowercase());
            let place = layout.index_of(c).filter(|i| *i < rank && !split);
            place.ok_or_else(|| EvalError::new(format!("pooling over {letters} does not fit the layout {layout}")))
        })
        .collect()
}

/// Windows of a fixed size (TVM: `pool_impl_nd` in `topi/nn/pooling.h`).
fn sliding(cx: &KernelCx<'_>, shape: &[i64], letters: &str) -> Result<Vec<Taps>, EvalError> {
    let rank = letters.len();
    let axes = axes_of(cx, letters, shape.len())?;
    let window = Window::read(cx, rank)?;
    let pool = cx.ints("pool_size")?;
    if pool.len() != rank || pool.iter().any(|p| !(1..1 << 31).contains(p)) {
        return Err(EvalError::new("pool_size must be positive, one for each spatial axis"));
    }
    let (ceil, include_pad) = (cx.flag("ceil_mode"), cx.flag("count_include_pad"));
    Ok((0..rank)
        .map(|i| {
            let (extent, step, dilation) = (shape[axes[i]], window.strides[i], window.dilation[i]);
            let reach = (pool[i] - 1) * dilation;
            let room = extent + window.before[i] + window.after[i] - reach - 1 + if ceil { step - 1 } else { 0 };
            let outputs = if room < 0 { 0 } else { room / step + 1 };
            let mut taps = Taps { axis: axes[i], places: Vec::new(), counts: Vec::new() };
            for output in 0..outputs {
                let start = output * step - window.before[i];
                let places: Vec<i64> = (0..pool[i]).map(|k| start + k * dilation).filter(|p| (0..extent).contains(p)).collect();
                // Padding counts only as far as the attribute asks for it; the elements that rounding up adds do not.
                let end = (start + reach).min(extent + window.after[i] - 1);
                let padded = ((end - start) / dilation + 1).max(0);
                taps.counts.push(if include_pad { padded } else { places.len() as i64 });
                taps.places.push(places);
            }
            taps
        })
        .collect())
}

/// Makes the requested number of windows, as equal as possible (TVM: `adaptive_pool_impl`).
fn adaptive(axis: usize, extent: i64, outputs: i64) -> Result<Taps, EvalError> {
    if !(0..1 << 31).contains(&outputs) {
        return Err(EvalError::new("output_size must be positive"));
    }
    let windows = (0..outputs).map(|i| (i * extent / outputs..((i + 1) * extent + outputs - 1) / outputs).collect());
    let places: Vec<Vec<i64>> = windows.collect();
    let counts = places.iter().map(|p| p.len() as i64).collect();
    Ok(Taps { axis, places, counts })
}

fn pool(inputs: &[Tensor], axes: &[Taps], mode: Mode) -> Result<Vec<Tensor>, EvalError> {
    let data = input(inputs, 0)?;
    let mut shape = data.shape.to_vec();
    for taps in axes {
        shape[taps.axis] = taps.places.len() as i64;
    }
    count(&shape, data.dtype)?;
    let steps = strides(&data.shape);
    // Along axes that are not pooled, an output place takes the element at the same index.
    let one = Taps { axis: 0, places: vec![vec![0]], counts: vec![1] };
    let tap = |level: usize| axes.len().checked_sub(level).and_then(|i| axes.get(i)).unwrap_or(&one);
    let (z, y, x) = (tap(3), tap(2), tap(1));
    let at = |taps: &Taps, index: &[i64]| if std::ptr::eq(taps, &one) { 0 } else { index[taps.axis] as usize };
    let step = |taps: &Taps| if std::ptr::eq(taps, &one) { 0 } else { steps[taps.axis] };
    by_lane!(data.dtype, T => {
        let values: Vec<T> = read(data)?;
        let mut out = Vec::with_capacity(count(&shape, data.dtype)?);
        let start = if mode == Mode::Max { lowest::<T>(data.dtype) } else { T::ZERO };
        each_index(&shape, |index| {
            let base: usize = (0..shape.len())
                .filter(|axis| axes.iter().all(|t| t.axis != *axis))
                .map(|axis| index[axis] as usize * steps[axis])
                .sum();
            let mut total = start;
            for &dz in &z.places[at(z, index)] {
                for &dy in &y.places[at(y, index)] {
                    let row = base + dz as usize * step(z) + dy as usize * step(y);
                    for &dx in &x.places[at(x, index)] {
                        let value = values[row + dx as usize * step(x)];
                        total = if mode == Mode::Max { total.larger(value) } else { total.plus(value) };
                    }
                }
            }
            if mode == Mode::Mean {
                let elements: i64 = axes.iter().map(|t| t.counts[index[t.axis] as usize]).product();
                total = total.over(T::from_i64(elements.max(1)));
            }
            out.push(total);
            Ok(())
        })?;
        Ok(vec![write(data.dtype, &shape, &out)?])
    })
}

fn pool_nd(cx: &KernelCx<'_>, inputs: &[Tensor], letters: &str, mode: Mode) -> Result<Vec<Tensor>, EvalError> {
    pool(inputs, &sliding(cx, &input(inputs, 0)?.shape, letters)?, mode)
}

fn adaptive_nd(cx: &KernelCx<'_>, inputs: &[Tensor], letters: &str, mode: Mode) -> Result<Vec<Tensor>, EvalError> {
    let shape = &input(inputs, 0)?.shape;
    let axes = axes_of(cx, letters, shape.len())?;
    let size = cx.ints_opt("output_size").unwrap_or_default();
    let taps: Result<Vec<Taps>, EvalError> = (axes.iter().enumerate())
        .map(|(i, &axis)| {
            let outputs = match size.len() {
                0 => shape[axis],
                1 => size[0],
                _ => size.get(i).copied().unwrap_or(shape[axis]),
            };
            adaptive(axis, shape[axis], outputs)
        })
        .collect();
    pool(inputs, &taps?, mode)
}

fn global(cx: &KernelCx<'_>, inputs: &[Tensor], mode: Mode) -> Result<Vec<Tensor>, EvalError> {
    let shape = &input(inputs, 0)?.shape;
    let axes = axes_of(cx, "HW", shape.len())?;
    let taps: Result<Vec<Taps>, EvalError> = axes.iter().map(|&axis| adaptive(axis, shape[axis], 1)).collect();
    pool(inputs, &taps?, mode)
}

macro_rules! kernels {
    ($($name:ident = $body:ident($($arg:expr),*);)*) => {
        $(pub(crate) fn $name(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
            $body(cx, inputs, $($arg),*)
        })*
    };
}
kernels! {
    max_pool1d = pool_nd("W", Mode::Max);
    max_pool2d = pool_nd("HW", Mode::Max);
    max_pool3d = pool_nd("DHW", Mode::Max);
    avg_pool1d = pool_nd("W", Mode::Mean);
    avg_pool2d = pool_nd("HW", Mode::Mean);
    avg_pool3d = pool_nd("DHW", Mode::Mean);
    adaptive_max1d = adaptive_nd("W", Mode::Max);
    adaptive_max2d = adaptive_nd("HW", Mode::Max);
    adaptive_max3d = adaptive_nd("DHW", Mode::Max);
    adaptive_avg1d = adaptive_nd("W", Mode::Mean);
    adaptive_avg2d = adaptive_nd("HW", Mode::Mean);
    adaptive_avg3d = adaptive_nd("DHW", Mode::Mean);
    global_max2d = global(Mode::Max);
    global_avg2d = global(Mode::Mean);
    max_pool2d_grad = pool2d_grad(Mode::Max);
    avg_pool2d_grad = pool2d_grad(Mode::Mean);
}

/// The gradient of a 2-D pooling (TVM: `pool_grad_impl`). Of equal maxima the first takes all.
fn pool2d_grad(cx: &KernelCx<'_>, inputs: &[Tensor], mode: Mode) -> Result<Vec<Tensor>, EvalError> {
    let (grad, data) = (input(inputs, 0)?, input(inputs, 1)?);
    let axes = sliding(cx, &data.shape, "HW")?;
    let [y, x] = axes.as_slice() else { return Err(EvalError::new("two spatial axes are needed")) };
    let fits = (0..data.shape.len()).all(|axis| {
        let windows = axes.iter().find(|t| t.axis == axis).map(|t| t.places.len() as i64);
        grad.shape.get(axis) == Some(&windows.unwrap_or(data.shape[axis]))
    });
    if !fits || grad.shape.len() != data.shape.len() {
        return Err(EvalError::new("the gradient does not have the shape of the pooled data"));
    }
    let steps = strides(&data.shape);
    by_lane!(data.dtype, T => {
        let (grads, values): (Vec<T>, Vec<T>) = (read(grad)?, read(data)?);
        let mut out = vec![T::ZERO; values.len()];
        let mut grads = grads.into_iter();
        each_index(&grad.shape, |index| {
            let Some(gradient) = grads.next() else { return Ok(()) };
            let (row, column) = (index[y.axis] as usize, index[x.axis] as usize);
            let base: usize = (0..index.len())
                .filter(|axis| *axis != y.axis && *axis != x.axis)
                .map(|axis| index[axis] as usize * steps[axis])
                .sum();
            let (down, across) = (steps[y.axis], steps[x.axis]);
            let window = y.places[row].iter().flat_map(|&dy| {
                x.places[column].iter().map(move |&dx| base + dy as usize * down + dx as usize * across)
            });
            if mode == Mode::Max {
                let best = window.reduce(|best, place| if values[place] > values[best] { place } else { best });
                if let Some(best) = best {
                    out[best] = out[best].plus(gradient);
                }
            } else {
                let elements = (y.counts[row] * x.counts[column]).max(1);
                let share = gradient.over(T::from_i64(elements));
                window.for_each(|place| out[place] = out[place].plus(share));
            }
            Ok(())
        })?;
        Ok(vec![write(data.dtype, &data.shape, &out)?])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::DType;

    fn over(data: &[f32], taps: &[Taps], mode: Mode) -> Vec<f32> {
        let tensor = write(DType::F32, &[1, data.len() as i64], data).unwrap();
        read(&pool(&[tensor], taps, mode).unwrap()[0]).unwrap()
    }

    #[test]
    fn adaptive_windows_overlap_where_the_extent_does_not_divide() {
        let taps = adaptive(1, 5, 3).unwrap();
        assert_eq!(taps.places, [vec![0, 1], vec![1, 2, 3], vec![3, 4]]);
        assert_eq!(over(&[1.0, 2.0, 3.0, 4.0, 5.0], &[taps], Mode::Mean), [1.5, 3.0, 4.5]);
    }

    #[test]
    fn a_window_without_elements_has_the_lowest_value_as_its_maximum() {
        let taps = Taps { axis: 1, places: vec![vec![], vec![0, 1]], counts: vec![0, 2] };
        assert_eq!(over(&[-3.0, -2.0], &[taps], Mode::Max), [f32::MIN, -2.0]);
    }
}
