//! Resizes along one axis after the other: each element of the result is a weighted sum of a few
//! elements of the input, with the positions and weights of TVM's `topi.image.resize`. All sums are
//! float32, as there.

use crate::ir::{DType, Tensor};
use crate::ops::EvalError;
use crate::ops::kernel::{count, read, write};
use crate::ops::tensor::ensure;

/// The mapping of positions of the result to positions of the input, and the interpolation between those.
#[derive(Clone, Copy)]
pub(crate) struct Sampling<'a> {
    /// `nearest_neighbor`, `linear` or `cubic`.
    pub method: &'a str,
    /// The coordinate transformation, such as `half_pixel`.
    pub transform: &'a str,
    /// The rounding to the nearest neighbour; empty for the default.
    pub rounding: &'a str,
    /// Factor of the cubic spline.
    pub alpha: f32,
    /// True if neighbours beyond the edge get no weight; else the edge is repeated.
    pub exclude: bool,
}

/// The weighted input elements of one element of the result.
pub(crate) struct Taps {
    /// Indices and their weights.
    parts: Vec<(usize, f32)>,
    /// True if the position lies beyond the input.
    outside: bool,
}

impl Sampling<'_> {
    /// The taps for all positions along an axis of `extent` elements that is resized to `wanted`.
    /// `roi` is the part of the axis that `tf_crop_and_resize` looks at.
    pub fn axis(&self, extent: i64, wanted: i64, roi: (f32, f32), whole: bool) -> Result<Vec<Taps>, EvalError> {
        ensure!(extent > 0, "an image without elements cannot be resized");
        count(&[wanted], DType::F32)?;
        // TVM divides integers where the size is multiplied by one.
        let (width, target) = (extent as f32, wanted as f32);
        let step = wanted / extent;
        let limit = 1.0 / (1e-5 * f64::from(width) + 1e-5);
        if whole
            && self.method == "nearest_neighbor"
            && self.transform == "asymmetric"
            && wanted % extent == 0
            && step as f64 <= limit
        {
            return Ok((0..wanted).map(|x| Taps { parts: vec![((x / step) as usize, 1.0)], outside: false }).collect());
        }
        let scale = width / target;
        (0..wanted)
            .map(|x| {
                let x = x as f32;
                self.at(
                    extent,
                    match self.transform {
                        "half_pixel" => (x + 0.5) * scale - 0.5,
                        "align_corners" if wanted > 1 => (width - 1.0) / (target - 1.0) * x,
                        "align_corners" => 0.0,
                        "asymmetric" => scale * x,
                        "pytorch_half_pixel" if wanted > 1 => (x + 0.5) * scale - 0.5,
                        "pytorch_half_pixel" => 0.0,
                        "tf_half_pixel_for_nn" => (x + 0.5) * scale,
                        "tf_crop_and_resize" if wanted > 1 => {
                            roi.0 * (width - 1.0) + x * (roi.1 - roi.0) * (width - 1.0) / (target - 1.0)
                        }
                        "tf_crop_and_resize" => 0.5 * (roi.0 + roi.1) * (width - 1.0),
                        other => return Err(EvalError(format!("Unsupported coordinate_transformation_mode: {other}"))),
                    },
                )
            })
            .collect()
    }

    /// The taps for a position of the input.
    pub fn at(&self, extent: i64, position: f32) -> Result<Taps, EvalError> {
        let floor = position.floor();
        let (low, rest) = (floor as i64, position - floor);
        let near = |index: i64| index.clamp(0, extent - 1) as usize;
        let parts = match self.method {
            "nearest_neighbor" => vec![(near(self.nearest(position)?), 1.0)],
            "linear" => vec![(near(low), 1.0 - rest), (near(low + 1), rest)],
            "cubic" => {
                let mut weights = self.spline(rest);
                if self.exclude {
                    for (i, weight) in weights.iter_mut().enumerate() {
                        let index = low - 1 + i as i64;
                        if index < 0 || index + 1 > extent {
                            *weight = 0.0;
                        }
                    }
                    let sum: f32 = weights.iter().sum();
                    weights = weights.map(|weight| weight / sum);
                }
                (0..4).map(|i| (near(low - 1 + i as i64), weights[i])).collect()
            }
            other => return Err(EvalError(format!("Unknown resize method: {other}"))),
        };
        Ok(Taps { parts, outside: position < 0.0 || position > (extent - 1) as f32 })
    }

    fn nearest(&self, position: f32) -> Result<i64, EvalError> {
        let usual = if self.transform == "align_corners" { "round" } else { "floor" };
        let rounded = match if self.rounding.is_empty() { usual } else { self.rounding } {
            "round" => position.round(),
            "round_prefer_floor" => (position - 0.5).ceil(),
            "round_prefer_ceil" => (position + 0.5).floor(),
            "floor" => (position + 1e-5).floor(),
            "ceil" => (position - 1e-5).ceil(),
            other => return Err(EvalError(format!("Unknown rounding method: {other}"))),
        };
        Ok(rounded as i64)
    }

    fn spline(&self, t: f32) -> [f32; 4] {
        let (a, t2, t3) = (self.alpha, t * t, t * t * t);
        [
            a * (t3 - 2.0 * t2 + t),
            (a + 2.0) * t3 - (3.0 + a) * t2 + 1.0,
            -(a + 2.0) * t3 + (3.0 + 2.0 * a) * t2 - a * t,
            -a * t3 + a * t2,
        ]
    }
}

/// Resizes the last axes, one set of taps each, the last axis first. If a position lies beyond
/// the input on one of the axes, the result is `fill` if that is given.
pub(crate) fn resample(data: &Tensor, axes: &[Vec<Taps>], fill: Option<f32>, dtype: DType) -> Result<Tensor, EvalError> {
    let mut shape = data.shape.to_vec();
    let mut values = read::<f32>(data)?;
    let first = shape.len() - axes.len();
    for (axis, taps) in axes.iter().enumerate().rev() {
        let axis = first + axis;
        let inner: usize = shape[axis + 1..].iter().product::<i64>() as usize;
        let line = shape[axis] as usize * inner;
        shape[axis] = taps.len() as i64;
        let mut out = Vec::with_capacity(count(&shape, DType::F32)?);
        for row in values.chunks(line.max(1)) {
            for tap in taps {
                for j in 0..inner {
                    out.push(tap.parts.iter().fold(0.0, |sum, (i, weight)| sum + row[i * inner + j] * weight));
                }
            }
        }
        values = out;
    }
    if let Some(fill) = fill {
        for (place, value) in values.iter_mut().enumerate() {
            let mut rest = place;
            for taps in axes.iter().rev() {
                if taps[rest % taps.len()].outside {
                    *value = fill;
                }
                rest /= taps.len();
            }
        }
    }
    write(dtype, &shape, &values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resized(method: &str, transform: &str, values: &[f32], wanted: i64) -> Vec<f32> {
        let sampling = Sampling { method, transform, rounding: "", alpha: -0.5, exclude: false };
        let data = write(DType::F32, &[1, 1, values.len() as i64], values).unwrap();
        let taps = sampling.axis(values.len() as i64, wanted, (0.0, 1.0), true).unwrap();
        read(&resample(&data, &[taps], None, DType::F32).unwrap()).unwrap()
    }

    #[test]
    fn halves_lie_between_pixels_or_corners_stay() {
        assert_eq!(resized("linear", "half_pixel", &[0.0, 4.0], 4), [0.0, 1.0, 3.0, 4.0]);
        assert_eq!(resized("linear", "align_corners", &[0.0, 3.0], 4), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(resized("nearest_neighbor", "asymmetric", &[1.0, 2.0], 4), [1.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn a_cubic_spline_passes_through_its_points() {
        let out = resized("cubic", "align_corners", &[1.0, 2.0, 4.0], 5);
        assert_eq!((out[0], out[2], out[4]), (1.0, 2.0, 4.0));
    }
}
