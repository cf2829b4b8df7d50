//! Images at the points of a grid.
//!
//! Source: `python/tvm/topi/image/grid_sample.py`.

use super::lower::{Lower, Lowered, Refused};
use super::te::{Te, Tensor};
use super::{Rule, rule};
use crate::ir::{DType, PrimId, PrimOp};

pub(super) const RULES: &[Rule] = &[rule("image.grid_sample", "grid_sample", grid_sample)];

struct Sample {
    x: Tensor,
    grid: Tensor,
    /// The number of coordinates of a position.
    dim: usize,
    /// The extents of those axes.
    extents: Vec<PrimId>,
    padding: String,
    corners: bool,
}

fn grid_sample(cx: &mut Lower) -> Lowered {
    let (method, layout, padding) = (cx.text("method"), cx.text("layout"), cx.text("padding_mode"));
    let corners = cx.flag("align_corners");
    let dim = match layout.as_str() {
        "NCHW" => 2,
        "NCDHW" => 3,
        _ => return Err(format!("{layout} is not supported").as_str().into()),
    };
    if !(matches!(method.as_str(), "bilinear" | "nearest") || (dim == 2 && method == "bicubic")) {
        return Err(format!("{method} is not supported").as_str().into());
    }
    if !matches!(padding.as_str(), "zeros" | "border" | "reflection") {
        return Err(format!("{padding} is not supported").as_str().into());
    }
    let (x, grid) = (cx.tensor(0)?, cx.tensor(1)?);
    let te = &mut cx.te;
    let (own, places) = (te.shape(x), te.shape(grid));
    if own.len() != dim + 2 || places.len() != dim + 2 {
        return Err(Refused::Leave);
    }
    let shape = [&own[..2], &places[2..]].concat();
    let sample = Sample { x, grid, dim, extents: own[2..].to_vec(), padding, corners };
    let names = if dim == 2 { "n c h w" } else { "n c d h w" };
    let out = te.compute("compute", names, &shape, &mut |te, at| match method.as_str() {
        "nearest" => {
            let place: Vec<PrimId> = sample.source(te, at).into_iter().map(|place| te.call("nearbyint", &[place])).collect();
            let place: Vec<PrimId> = place.into_iter().map(|place| te.cast(DType::I64, place)).collect();
            sample.pixel(te, at, &place)
        }
        "bilinear" => sample.linear(te, at),
        _ => sample.cubic(te, at),
    });
    cx.finish(&[out])
}

impl Sample {
    /// Returns the element at a position; 0 outside.
    fn pixel(&self, te: &mut Te, at: &[PrimId], place: &[PrimId]) -> PrimId {
        let zero = te.int(0);
        let mut inside = te.store.prim_int(1, DType::BOOL);
        for place in place {
            let low = te.bin(PrimOp::Ge, *place, zero);
            inside = te.both(inside, low);
        }
        for (place, extent) in place.iter().zip(&self.extents) {
            let high = te.bin(PrimOp::Lt, *place, *extent);
            inside = te.both(inside, high);
        }
        let value = te.load(self.x, &[&at[..2], place].concat());
        let nothing = te.number(0.0, te.dtype(self.x));
        te.if_then_else(inside, value, nothing)
    }

    /// Returns the coordinates in the grid, in elements, the outermost first.
    fn named(&self, te: &mut Te, at: &[PrimId]) -> Vec<PrimId> {
        let mut places = Vec::new();
        for (axis, extent) in self.extents.iter().enumerate() {
            let row = te.int((self.dim - 1 - axis) as i64);
            let named = te.load(self.grid, &[&[at[0], row], &at[2..]].concat());
            let (one, two) = (te.int(1), te.int(2));
            let more = te.plus(named, one);
            let size = if self.corners { te.minus_int(*extent, 1) } else { *extent };
            let far = te.times(more, size);
            let mut place = te.over(far, two);
            if !self.corners {
                let half = te.number(-0.5, DType::F32);
                place = te.plus(half, place);
            }
            places.push(place);
        }
        places
    }

    /// Clamps a coordinate to the image.
    fn clipped(&self, te: &mut Te, place: PrimId, axis: usize) -> PrimId {
        let (zero, last) = (te.int(0), te.minus_int(self.extents[axis], 1));
        let low = te.bin(PrimOp::Max, place, zero);
        te.bin(PrimOp::Min, low, last)
    }

    /// Reflects a coordinate at the borders.
    fn reflected(&self, te: &mut Te, place: PrimId, axis: usize) -> PrimId {
        let extent = self.extents[axis];
        let (size, start) = match self.corners {
            true => (te.minus_int(extent, 1), te.int(0)),
            false => (extent, te.number(-0.5, DType::F32)),
        };
        let low = te.bin(PrimOp::Ge, place, start);
        let end = te.plus(size, start);
        let high = te.bin(PrimOp::Le, place, end);
        let inside = te.both(low, high);
        let away = te.minus(start, place);
        let away = te.abs(away);
        let whole = te.cast(DType::I32, away);
        let times = te.over(whole, size);
        let times = te.cast(DType::I32, times);
        let (two, zero) = (te.number(2.0, DType::I32), te.number(0.0, DType::I32));
        let odd = te.bin(PrimOp::Mod, times, two);
        let whole = te.times(times, size);
        let rest = te.minus(away, whole);
        let even = te.bin(PrimOp::Eq, odd, zero);
        let (there, back) = (te.plus(rest, start), te.minus(size, rest));
        let back = te.plus(back, start);
        let other = te.if_then_else(even, there, back);
        te.if_then_else(inside, place, other)
    }

    fn source(&self, te: &mut Te, at: &[PrimId]) -> Vec<PrimId> {
        let mut places = self.named(te, at);
        for (axis, place) in places.iter_mut().enumerate() {
            if self.padding == "reflection" {
                *place = self.reflected(te, *place, axis);
            }
            if self.padding != "zeros" {
                *place = self.clipped(te, *place, axis);
            }
        }
        places
    }

    /// Interpolates linearly between the elements around the position.
    fn linear(&self, te: &mut Te, at: &[PrimId]) -> PrimId {
        let places = self.source(te, at);
        let floors: Vec<PrimId> = places.iter().map(|place| te.call("floor", &[*place])).collect();
        let whole: Vec<PrimId> = floors.iter().map(|floor| te.cast(DType::I64, *floor)).collect();
        let mut weights = Vec::new();
        for (place, floor) in places.iter().zip(&floors) {
            let (one, floor) = (te.number(1.0, DType::F32), te.cast(DType::I32, *floor));
            let far = te.minus(*place, floor);
            weights.push([te.minus(one, far), far]);
        }
        // The corners in TVM's order, one digit per axis.
        let corners: &[&[usize]] = match self.dim {
            2 => &[&[0, 0], &[0, 1], &[1, 0], &[1, 1]],
            _ => &[&[0, 0, 0], &[0, 0, 1], &[1, 1, 0], &[1, 1, 1], &[0, 1, 0], &[1, 0, 1], &[1, 0, 0], &[0, 1, 1]],
        };
        let mut sum = None;
        for corner in corners {
            let place: Vec<PrimId> = whole.iter().zip(*corner).map(|(whole, step)| te.plus_int(*whole, *step as i64)).collect();
            let value = self.pixel(te, at, &place);
            let factors: Vec<PrimId> = weights.iter().zip(*corner).map(|(weight, step)| weight[*step]).collect();
            // For a volume the columns come first.
            let part = match self.dim {
                2 => factors.iter().fold(value, |part, factor| te.times(part, *factor)),
                _ => factors.iter().rev().fold(value, |part, factor| te.times(part, *factor)),
            };
            sum = Some(match sum {
                Some(sum) => te.plus(sum, part),
                None => part,
            });
        }
        sum.unwrap_or(places[0])
    }

    fn cubic(&self, te: &mut Te, at: &[PrimId]) -> PrimId {
        let places = self.named(te, at);
        let floors: Vec<PrimId> = places.iter().map(|place| te.call("floor", &[*place])).collect();
        let mut weights = Vec::new();
        for (place, floor) in places.iter().zip(&floors) {
            let floor = te.cast(DType::I32, *floor);
            let far = te.minus(*place, floor);
            weights.push(cubic_weights(te, far));
        }
        let mut rows = Vec::new();
        for row in 0..4 {
            let mut values = Vec::new();
            for column in 0..4 {
                let place: Vec<PrimId> = (floors.iter().zip([row, column]).enumerate())
                    .map(|(axis, (floor, step))| self.neighbour(te, *floor, axis, step - 1))
                    .collect();
                values.push(self.pixel(te, at, &place));
            }
            rows.push(weighed(te, &values, &weights[1]));
        }
        weighed(te, &rows, &weights[0])
    }

    /// Returns the index some steps away from a position.
    fn neighbour(&self, te: &mut Te, floor: PrimId, axis: usize, step: i64) -> PrimId {
        if self.padding == "reflection" {
            let place = te.cast(DType::I32, floor);
            let place = te.plus_int(place, step);
            let place = self.reflected(te, place, axis);
            let place = self.clipped(te, place, axis);
            return te.cast(DType::I64, place);
        }
        let place = te.cast(DType::I64, floor);
        let place = te.plus_int(place, step);
        if self.padding == "border" { self.clipped(te, place, axis) } else { place }
    }
}

/// Returns the weights of four neighbours, with PyTorch's constant.
fn cubic_weights(te: &mut Te, far: PrimId) -> [PrimId; 4] {
    const A: f64 = -0.75;
    let mut number = |value: f64| te.number(value, DType::F32);
    let [a, a2, a3, a5, a8, a4, one, two] = [A, A + 2.0, A + 3.0, 5.0 * A, 8.0 * A, 4.0 * A, 1.0, 2.0].map(&mut number);
    let near = |te: &mut Te, far: PrimId| {
        let first = te.times(a2, far);
        let first = te.minus(first, a3);
        let second = te.times(first, far);
        let third = te.times(second, far);
        te.plus(third, one)
    };
    let away = |te: &mut Te, far: PrimId| {
        let first = te.times(a, far);
        let first = te.minus(first, a5);
        let second = te.times(first, far);
        let second = te.plus(second, a8);
        let third = te.times(second, far);
        te.minus(third, a4)
    };
    let (more, rest, most) = (te.plus(far, one), te.minus(one, far), te.minus(two, far));
    [away(te, more), near(te, far), near(te, rest), away(te, most)]
}

fn weighed(te: &mut Te, values: &[PrimId], weights: &[PrimId; 4]) -> PrimId {
    let mut sum = te.times(values[0], weights[0]);
    for (value, weight) in values.iter().zip(weights).skip(1) {
        let part = te.times(*value, *weight);
        sum = te.plus(sum, part);
    }
    sum
}
