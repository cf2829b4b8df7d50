//! Resizing and sampling of images.
//!
//! Source: `python/tvm/topi/image/resize.py`, `grid_sample.py`.

use super::lower::{Lower, Lowered, Refused};
use super::te::{Te, Tensor};
use super::{Rule, rule};
use crate::ir::{DType, PrimId, PrimOp};

pub(super) const RULES: &[Rule] = &[
    rule("image.resize2d", "resize2d", resize),
    rule("image.resize3d", "resize3d", resize),
    rule("image.affine_grid", "affine_grid", affine_grid),
];

/// The resizing along one axis.
struct Along {
    /// Its index in the tensor.
    axis: usize,
    /// Extents before and after.
    from: PrimId,
    to: PrimId,
    /// Begin and end of the region of interest.
    roi: (f64, f64),
    /// True if a coordinate is the quotient by an integer.
    whole: bool,
}

struct Resize {
    x: Tensor,
    /// The axes that change, the outermost first.
    along: Vec<Along>,
    mode: String,
    method: String,
    rounding: String,
    alpha: f64,
    exclude: bool,
    outside: f64,
}

fn resize(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let size = cx.shape_arg(1)?;
    let layout = cx.text("layout");
    let letters: Vec<char> = layout.chars().filter(char::is_ascii_alphabetic).collect();
    let flat = cx.op == "image.resize2d";
    let wanted: &[char] = if flat { &['H', 'W'] } else { &['D', 'H', 'W'] };
    let (mode, method, mut rounding) = (cx.text("coordinate_transformation_mode"), cx.text("method"), cx.text("rounding_method"));
    let roi = cx.numbers("roi").unwrap_or_default();
    let (alpha, exclude, outside) =
        (cx.float("cubic_alpha"), cx.int("cubic_exclude") == Some(1), cx.float("extrapolation_value"));
    let own = cx.te.shape(x);
    let dim = wanted.len();
    if size.len() != dim || own.len() != letters.len() {
        return Err(Refused::Leave);
    }
    let quotient = flat && method == "nearest_neighbor" && mode == "asymmetric" && matches!(rounding.as_str(), "floor" | "");
    if rounding.is_empty() {
        rounding = if mode == "align_corners" { "round" } else { "floor" }.to_owned();
    }
    let (mut along, mut shape) = (Vec::new(), own.clone());
    for (index, letter) in wanted.iter().enumerate() {
        let axis = letters.iter().position(|other| other == letter).ok_or(Refused::Leave)?;
        let (from, to) = (own[axis], size[index]);
        // TVM reads the region of a volume in reverse.
        let place = if flat { index } else { dim - 1 - index };
        let end = |place: usize| roi.get(place).copied().unwrap_or(0.0);
        let whole = match (cx.te.known(from), cx.te.known(to)) {
            (Some(from), Some(to)) => quotient && from > 0 && to % from == 0 && (to / from) as f64 <= 1e5 / (from as f64 + 1.0),
            _ => false,
        };
        shape[axis] = to;
        along.push(Along { axis, from, to, roi: (end(place), end(place + dim)), whole });
    }
    let resize = Resize { x, along, mode, method, rounding, alpha, exclude, outside };
    let out = cx.te.compute("resize", "i", &shape, &mut |te, at| resize.element(te, at));
    cx.finish(&[out])
}

impl Along {
    /// Returns the position in the source image of an index.
    fn place(&self, te: &mut Te, index: PrimId, mode: &str) -> PrimId {
        let (from, to) = (te.cast(DType::F32, self.from), te.cast(DType::F32, self.to));
        let scale = te.over(from, to);
        let half = te.number(0.5, DType::F32);
        let middle = |te: &mut Te| {
            let index = te.plus(index, half);
            te.times(index, scale)
        };
        match mode {
            "align_corners" => {
                let last = te.minus_int(self.from, 1);
                let last = te.cast(DType::F32, last);
                let end = te.minus_int(self.to, 1);
                let scale = te.over(last, end);
                te.times(scale, index)
            }
            "asymmetric" if self.whole => {
                let times = te.over(self.to, self.from);
                te.over(index, times)
            }
            "asymmetric" => te.times(scale, index),
            "tf_half_pixel_for_nn" => middle(te),
            "pytorch_half_pixel" => {
                let place = middle(te);
                let (place, zero, one) = (te.minus(place, half), te.number(0.0, DType::F32), te.int(1));
                let wide = te.bin(PrimOp::Gt, self.to, one);
                te.if_then_else(wide, place, zero)
            }
            "tf_crop_and_resize" => {
                let (start, end) = (te.number(self.roi.0, DType::F32), te.number(self.roi.1, DType::F32));
                let (last, one) = (te.minus_int(self.from, 1), te.int(1));
                let first = te.times(start, last);
                let span = te.minus(end, start);
                let far = te.times(index, span);
                let last_float = te.cast(DType::F32, last);
                let far = te.times(far, last_float);
                let end_index = te.minus_int(self.to, 1);
                let far = te.over(far, end_index);
                let place = te.plus(first, far);
                let both = te.plus(start, end);
                let middle = te.times(half, both);
                let middle = te.times(middle, last);
                let wide = te.bin(PrimOp::Gt, self.to, one);
                te.if_then_else(wide, place, middle)
            }
            _ => {
                let place = middle(te);
                te.minus(place, half)
            }
        }
    }
}

impl Resize {
    fn element(&self, te: &mut Te, at: &[PrimId]) -> PrimId {
        let places: Vec<PrimId> = self.along.iter().map(|along| along.place(te, at[along.axis], &self.mode)).collect();
        let value = match self.method.as_str() {
            "nearest_neighbor" => {
                let near: Vec<PrimId> =
                    (self.along.iter().zip(&places)).map(|(along, place)| self.nearest(te, *place, along.whole)).collect();
                self.pixel(te, at, &near)
            }
            "linear" => self.linear(te, at, &places),
            _ => self.cubic(te, at, &places),
        };
        let value = if self.mode == "tf_crop_and_resize" { self.cropped(te, &places, value) } else { value };
        te.cast(te.dtype(self.x), value)
    }

    /// Returns the element of the image at a position, which is clamped to the image.
    fn pixel(&self, te: &mut Te, at: &[PrimId], place: &[PrimId]) -> PrimId {
        let mut from = at.to_vec();
        for (along, place) in self.along.iter().zip(place) {
            let (last, zero) = (te.minus_int(along.from, 1), te.int(0));
            let low = te.bin(PrimOp::Min, *place, last);
            from[along.axis] = te.bin(PrimOp::Max, low, zero);
        }
        let value = te.load(self.x, &from);
        te.cast(DType::F32, value)
    }

    /// Returns the elements around a position, `width` along each axis beginning at `first`: the last axis runs fastest.
    fn around(&self, te: &mut Te, at: &[PrimId], whole: &[PrimId], width: usize, first: i64) -> Vec<PrimId> {
        let mut pixels = Vec::new();
        for number in 0..width.pow(self.along.len() as u32) {
            let mut place = whole.to_vec();
            let mut rest = number;
            for axis in place.iter_mut().rev() {
                *axis = te.plus_int(*axis, (rest % width) as i64 + first);
                rest /= width;
            }
            pixels.push(self.pixel(te, at, &place));
        }
        pixels
    }

    fn nearest(&self, te: &mut Te, place: PrimId, whole: bool) -> PrimId {
        if whole {
            return te.cast(DType::I64, place);
        }
        let shifted = |te: &mut Te, by: f64| {
            let by = te.number(by, DType::F32);
            te.plus(place, by)
        };
        let value = match self.rounding.as_str() {
            "round" => te.call("round", &[place]),
            "round_prefer_floor" => {
                let half = te.number(0.5, DType::F32);
                let place = te.minus(place, half);
                te.call("ceil", &[place])
            }
            "round_prefer_ceil" => {
                let place = shifted(te, 0.5);
                te.call("floor", &[place])
            }
            "ceil" => {
                let little = te.number(1e-5, DType::F32);
                let place = te.minus(place, little);
                te.call("ceil", &[place])
            }
            _ => {
                let place = shifted(te, 1e-5);
                te.call("floor", &[place])
            }
        };
        te.cast(DType::I64, value)
    }

    fn linear(&self, te: &mut Te, at: &[PrimId], places: &[PrimId]) -> PrimId {
        let floors: Vec<PrimId> = places.iter().map(|place| te.call("floor", &[*place])).collect();
        let whole: Vec<PrimId> = floors.iter().map(|floor| te.cast(DType::I64, *floor)).collect();
        let mut values = self.around(te, at, &whole, 2, 0);
        for (place, floor) in places.iter().zip(floors).rev() {
            let whole = te.cast(DType::I32, floor);
            let rest = te.minus(*place, whole);
            values = values.chunks(2).map(|pair| lerp(te, pair[0], pair[1], rest)).collect();
        }
        values[0]
    }

    fn cubic(&self, te: &mut Te, at: &[PrimId], places: &[PrimId]) -> PrimId {
        let floors: Vec<PrimId> = places.iter().map(|place| te.call("floor", &[*place])).collect();
        let whole: Vec<PrimId> = floors.iter().map(|floor| te.cast(DType::I64, *floor)).collect();
        let mut weights = Vec::new();
        for (place, floor) in places.iter().zip(floors) {
            let rest = te.minus(*place, floor);
            weights.push(spline(te, rest, self.alpha));
        }
        if self.exclude {
            weights = self.excluded(te, &whole, &weights);
        }
        let mut values = self.around(te, at, &whole, 4, -1);
        for weights in weights.iter().rev() {
            values = values.chunks(4).map(|four| weighted(te, four, weights)).collect();
        }
        values[0]
    }

    /// Sets the weights of neighbours outside of the image to zero.
    fn excluded(&self, te: &mut Te, whole: &[PrimId], weights: &[[PrimId; 4]]) -> Vec<[PrimId; 4]> {
        let last = weights.len() - 1;
        (0..weights.len())
            .map(|axis| {
                // For a volume, TVM checks the columns instead of the planes, and compares them with the height.
                let (asked, extent) = if axis == 0 && last == 2 { (last, 1) } else { (axis, axis) };
                let mut number = 0;
                let kept = weights[asked].map(|weight| {
                    let (zero, nothing) = (te.int(0), te.number(0.0, DType::F32));
                    let place = te.plus_int(whole[asked], number);
                    number += 1;
                    let before = te.minus_int(place, 1);
                    let (low, high) = (te.bin(PrimOp::Lt, before, zero), te.bin(PrimOp::Gt, place, self.along[extent].from));
                    let out = te.bin(PrimOp::Or, low, high);
                    te.if_then_else(out, nothing, weight)
                });
                let zero = te.int(0);
                let sum = kept.iter().fold(zero, |sum, weight| te.plus(sum, *weight));
                kept.map(|weight| te.over(weight, sum))
            })
            .collect()
    }

    /// Returns the value, or another one outside of the image; the planes of a volume are not checked.
    fn cropped(&self, te: &mut Te, places: &[PrimId], value: PrimId) -> PrimId {
        let (outside, zero) = (te.number(self.outside, DType::F32), te.number(0.0, DType::F32));
        (self.along.iter().zip(places).skip(places.len() - 2)).fold(value, |value, (along, place)| {
            let last = te.minus_int(along.from, 1);
            let (before, behind) = (te.bin(PrimOp::Lt, *place, zero), te.bin(PrimOp::Gt, *place, last));
            let inner = te.if_then_else(behind, outside, value);
            te.if_then_else(before, outside, inner)
        })
    }
}

/// `a * (1 - t) + b * t`
fn lerp(te: &mut Te, a: PrimId, b: PrimId, t: PrimId) -> PrimId {
    let one = te.number(1.0, DType::F32);
    let rest = te.minus(one, t);
    let (a, b) = (te.times(a, rest), te.times(b, t));
    te.plus(a, b)
}

/// Returns the weights of four neighbours.
fn spline(te: &mut Te, t: PrimId, alpha: f64) -> [PrimId; 4] {
    let mut number = |value: f64| te.number(value, DType::F32);
    let [a, a2, a3, a32, minus, minus_a, two, one] =
        [alpha, alpha + 2.0, 3.0 + alpha, 3.0 + 2.0 * alpha, -(alpha + 2.0), -alpha, 2.0, 1.0].map(&mut number);
    let t2 = te.times(t, t);
    let t3 = te.times(t2, t);
    let twice = te.times(two, t2);
    let first = te.minus(t3, twice);
    let first = te.plus(first, t);
    let first = te.times(a, first);
    let (cubed, squared) = (te.times(a2, t3), te.times(a3, t2));
    let second = te.minus(cubed, squared);
    let second = te.plus(second, one);
    let (cubed, squared, once) = (te.times(minus, t3), te.times(a32, t2), te.times(a, t));
    let third = te.plus(cubed, squared);
    let third = te.minus(third, once);
    let (cubed, squared) = (te.times(minus_a, t3), te.times(a, t2));
    [first, second, third, te.plus(cubed, squared)]
}

fn weighted(te: &mut Te, values: &[PrimId], weights: &[PrimId]) -> PrimId {
    let zero = te.number(0.0, DType::F32);
    values.iter().zip(weights).fold(zero, |sum, (value, weight)| {
        let part = te.times(*value, *weight);
        te.plus(sum, part)
    })
}

fn affine_grid(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let target = cx.shape_arg(1)?;
    let corners = cx.flag("align_corners");
    let te = &mut cx.te;
    let dtype = te.dtype(x);
    let mut steps = Vec::new();
    for extent in &target {
        let Some(extent) = te.known(*extent) else {
            return Err("affine_grid legalization requires static target_shape".into());
        };
        let extent = extent as f64;
        let (start, step) = match corners {
            true if extent <= 1.0 => return Err("target spatial dims should be greater than 1".into()),
            true => (-1.0, (2.0 - 1e-7) / (extent - 1.0)),
            false => (-1.0 + 1.0 / extent, 2.0 / extent),
        };
        steps.push((te.number(start, dtype), te.number(step, dtype)));
    }
    let dim = target.len();
    let mut shape = vec![te.shape(x)[0], te.int(dim as i64)];
    shape.extend(&target);
    let out = te.compute("compute", "n dim", &shape, &mut |te, at| {
        let entry = |te: &mut Te, column: usize| {
            let column = te.int(column as i64);
            te.load(x, &[at[0], at[1], column])
        };
        let mut value = entry(te, dim);
        for (axis, (start, step)) in steps.iter().enumerate() {
            let far = te.times(at[2 + axis], *step);
            let place = te.plus(*start, far);
            let entry = entry(te, dim - 1 - axis);
            let part = te.times(entry, place);
            value = te.plus(value, part);
        }
        value
    });
    cx.finish(&[out])
}
