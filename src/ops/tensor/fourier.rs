//! Fourier transforms.

use super::{ensure, input};
use crate::ir::{Dim, Tensor};
use crate::ops::concrete::result_type;
use crate::ops::kernel::{Lane, by_lane, read, write};
use crate::ops::row::{op, relay};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrsSchema, OpInfo, OpPattern};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult};

/// Attributes `relay.attrs.StftAttrs`.
pub static STFT: AttrsSchema = schema(
    "relay.attrs.StftAttrs",
    &[
        field::int("n_fft", -1),
        field::int("hop_length", -1),
        field::int("win_length", -1),
        field::flag("normalized", false),
        field::flag("onesided", true),
    ],
);

/// Attributes `relay.attrs.DFTAttrs`.
pub static DFT: AttrsSchema = schema("relay.attrs.DFTAttrs", &[field::flag("inverse", false)]);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("dft", "Discrete Fourier transform along the last axis, of a real and an imaginary part.")
        .pattern(OpPattern::Opaque)
        .kernel(dft_kernel)
        .relay(relay(&["re_data", "im_data"], dft_rule)),
    op("stft", "Fourier transforms of windows slid over a signal.")
        .pattern(OpPattern::Opaque)
        .kernel(stft_kernel)
        .relay(relay(&["data", "window"], stft_rule)),
];

fn dft_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    input!(cx, 0);
    input!(cx, 1);
    let parts = [cx.types[0], cx.types[1]];
    let tuple = cx.store.tuple_type(&parts);
    cx.output(tuple)
}

fn stft_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    ensure!(matches!(shape.len(), 1 | 2), "stft needs a signal or a batch of signals");
    let (size, hop) = (cx.attr_int("n_fft"), cx.attr_int("hop_length"));
    ensure!(hop > 0, "stft needs a positive `hop_length`, but got {hop}");
    let mut out = shape[..shape.len() - 1].to_vec();
    out.push(Dim::int(if cx.attr_flag("onesided") { size / 2 + 1 } else { size }));
    let rest = cx.sub(shape[shape.len() - 1], Dim::int(size));
    let steps = cx.div(rest, Dim::int(hop));
    let frames = cx.add(steps, Dim::int(1));
    out.extend([frames, Dim::int(2)]);
    cx.output_tensor(&out, dtype)
}

/// Sums of products with sines and cosines, computed in double precision: term by term, as the
/// definition says.
fn dft_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let n = x[0].shape.last().map_or(1, |e| *e as usize);
    let sign = if cx.flag("inverse") { 1.0 } else { -1.0 };
    let scale = if cx.flag("inverse") { 1.0 / n as f64 } else { 1.0 };
    let (real, imaginary) = (read::<f64>(&x[0])?, read::<f64>(&x[1])?);
    ensure!(real.len() == imaginary.len(), "dft: the real and the imaginary part differ in shape");
    let (mut out_real, mut out_imaginary) = (Vec::with_capacity(real.len()), Vec::with_capacity(real.len()));
    for (re, im) in real.chunks(n.max(1)).zip(imaginary.chunks(n.max(1))) {
        for k in 0..n {
            let (mut sum_re, mut sum_im) = (0.0, 0.0);
            for (j, (a, b)) in re.iter().zip(im).enumerate() {
                let (sin, cos) = (sign * std::f64::consts::TAU * (k * j % n) as f64 / n as f64).sin_cos();
                sum_re += a * cos - b * sin;
                sum_im += a * sin + b * cos;
            }
            out_real.push(sum_re * scale);
            out_imaginary.push(sum_im * scale);
        }
    }
    Ok(vec![write(x[0].dtype, &x[0].shape, &out_real)?, write(x[1].dtype, &x[1].shape, &out_imaginary)?])
}

fn stft_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (shape, dtype) = result_type(cx, stft_rule, x)?;
    let [.., rows, frames, _] = shape[..] else { return Err(EvalError::new("stft yields at least three axes")) };
    let (hop, width) = (cx.int("hop_length")? as usize, cx.int("win_length")?.max(0) as usize);
    let (data, window) = (read::<f64>(&x[0])?, read::<f64>(&x[1])?);
    let signal = x[0].shape.last().map_or(1, |e| *e as usize);
    let reach = (frames.max(1) as usize - 1) * hop + width;
    ensure!(window.len() >= width && reach <= signal, "stft: the window is longer than the signal");
    let scale = if cx.flag("normalized") { (cx.int("n_fft")? as f64).sqrt().recip() } else { 1.0 };
    let mut out = Vec::new();
    for line in data.chunks(signal.max(1)) {
        for row in 0..rows {
            for frame in 0..frames as usize {
                let (mut re, mut im) = (0.0, 0.0);
                for (j, weight) in window[..width].iter().enumerate() {
                    let value = weight * line[frame * hop + j];
                    let (sin, cos) = (std::f64::consts::TAU * row as f64 * j as f64 / width as f64).sin_cos();
                    re += value * cos;
                    im -= value * sin;
                }
                out.extend([re * scale, im * scale]);
            }
        }
    }
    by_lane!(dtype, T => {
        let out: Vec<T> = out.into_iter().map(T::from_f64).collect();
        Ok(vec![write(dtype, &shape, &out)?])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{DType, Store};

    #[test]
    fn the_transform_of_an_impulse_is_flat() {
        let store = &mut Store::new();
        let out_type = store.hole();
        let cx = KernelCx { store, attrs: None, out_type };
        let real = write(DType::F32, &[4], &[1f32, 0.0, 0.0, 0.0]).unwrap();
        let zero = write(DType::F32, &[4], &[0f32; 4]).unwrap();
        let out = dft_kernel(&cx, &[real, zero]).unwrap();
        assert_eq!(read::<f32>(&out[0]).unwrap(), [1.0; 4]);
        assert_eq!(read::<f32>(&out[1]).unwrap(), [0.0; 4]);
    }
}
