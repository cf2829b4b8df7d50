//! Boxes from anchors, and regions of interest.
//!
//! Source: `python/tvm/topi/vision/multibox_transform_loc.py`, `roi_align.py`, `roi_pool.py`.

use super::elementwise::{cast, of, with_scalar};
use super::lower::{Lower, Lowered, Refused};
use super::manipulate::reshape;
use super::nn::softmax;
use super::te::{Axis, Body, Reducer, Te, Tensor};
use super::{Rule, rule};
use crate::ir::{DType, PrimId, PrimOp};

pub(super) const RULES: &[Rule] = &[
    rule("vision.multibox_transform_loc", "multibox_transform_loc", multibox),
    rule("vision.roi_align", "roi_align", roi_align),
    rule("vision.roi_pool", "roi_pool", roi_pool),
];

/// Computes boxes from anchors and their predictions, and scores above a threshold.
fn multibox(cx: &mut Lower) -> Lowered {
    let (classes, places, anchors) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let variances = cx.numbers("variances").filter(|all| all.len() == 4).ok_or(Refused::Leave)?;
    let (clip, threshold) = (cx.flag("clip"), cx.float("threshold"));
    let (background, soft) = (cx.flag("keep_background"), cx.flag("apply_softmax"));
    let te = &mut cx.te;
    let dtype = te.dtype(classes);
    let own = te.shape(classes);
    let [batch, _, count] = own[..] else { return Err(Refused::Leave) };
    let four = te.int(4);
    let shape = [batch, count, four];
    let places = reshape(te, places, &shape);
    let boxes = te.compute("multibox_boxes", "b a k", &shape, &mut |te, at| {
        let mut ends = Vec::new();
        for side in [-1, 1] {
            // The vertical axis comes first.
            for axis in [1, 0] {
                let [begin, end] = [axis, axis + 2].map(|place| {
                    let (zero, place) = (te.int(0), te.int(place));
                    te.load(anchors, &[zero, at[1], place])
                });
                let [shift, growth] = [axis, axis + 2].map(|place| {
                    let variance = te.number(variances[place as usize], dtype);
                    let place = te.int(place);
                    let value = te.load(places, &[at[0], at[1], place]);
                    te.times(value, variance)
                });
                let half = te.number(0.5, dtype);
                let (sum, size) = (te.plus(begin, end), te.minus(end, begin));
                let (middle, shift) = (te.times(sum, half), te.times(shift, size));
                let middle = te.plus(shift, middle);
                let growth = te.call("exp", &[growth]);
                let reach = te.times(half, growth);
                let reach = te.times(reach, size);
                let end = te.bin(if side < 0 { PrimOp::Sub } else { PrimOp::Add }, middle, reach);
                ends.push(if clip { inside(te, end) } else { end });
            }
        }
        let mut value = ends[3];
        for (index, end) in ends.into_iter().enumerate().take(3).rev() {
            let index = te.int(index as i64);
            let here = te.bin(PrimOp::Eq, at[2], index);
            value = te.select(here, end, value);
        }
        value
    });
    let scores = if soft { softmax(te, classes, 1) } else { classes };
    let least = te.number(threshold, dtype);
    let mask = with_scalar(te, "greater_equal", scores, least);
    let mask = cast(te, mask, dtype);
    let mut scores = of(te, "multiply", scores, mask);
    if !background {
        scores = te.compute("multibox_scores_bg", "b c n", &own, &mut |te, at| {
            let (zero, nothing) = (te.int(0), te.number(0.0, dtype));
            let first = te.bin(PrimOp::Eq, at[1], zero);
            let value = te.load(scores, at);
            te.if_then_else(first, nothing, value)
        });
    }
    cx.finish(&[boxes, scores])
}

/// Clamps a coordinate to the range from 0 to 1.
fn inside(te: &mut Te, value: PrimId) -> PrimId {
    let dtype = te.type_of(value);
    let (zero, one) = (te.number(0.0, dtype), te.number(1.0, dtype));
    let low = te.bin(PrimOp::Min, one, value);
    te.bin(PrimOp::Max, zero, low)
}

/// Returns a coordinate of a region, in elements of the image.
fn corner(te: &mut Te, rois: Tensor, region: PrimId, place: i64, scale: f64) -> PrimId {
    let place = te.int(place);
    let value = te.load(rois, &[region, place]);
    let scale = te.number(scale, te.dtype(rois));
    te.times(value, scale)
}

/// Returns the image that a region belongs to.
fn image_of(te: &mut Te, rois: Tensor, region: PrimId) -> PrimId {
    let zero = te.int(0);
    let value = te.load(rois, &[region, zero]);
    te.cast(DType::I64, value)
}

/// Samples each cell of a region at a few points.
fn roi_align(cx: &mut Lower) -> Lowered {
    let (x, rois) = (cx.tensor(0)?, cx.tensor(1)?);
    let size = cx.ints("pooled_size").filter(|size| size.len() == 2).ok_or(Refused::Leave)?;
    let (scale, ratio, aligned) = (cx.float("spatial_scale"), cx.int("sample_ratio").unwrap_or(-1), cx.flag("aligned"));
    let (last, mean) = (cx.text("layout") == "NHWC", cx.text("mode") == "avg");
    if ratio <= 0 {
        // The number of points would depend on the region: a loop whose bound is read from it.
        return Err(Refused::Leave);
    }
    let te = &mut cx.te;
    let (own, regions) = (te.shape(x), te.shape(rois)[0]);
    let (down, across) = (te.int(size[0]), te.int(size[1]));
    let (shape, names, places) = match last {
        false => ([regions, own[1], down, across], "i c ph pw", [2, 3, 1]),
        true => ([regions, down, across, own[3]], "i ph pw c", [1, 2, 3]),
    };
    let dtype = te.dtype(rois);
    let space = te.axes(names, &shape);
    let at = te.vars(&space);
    let points = te.store.prim_int(ratio, DType::I32);
    let reduced: Vec<Axis> = ["rh", "rw"].iter().map(|name| te.axis(name, points)).collect();
    let k = te.vars(&reduced);
    let mut axes = Vec::new();
    for axis in 0..2 {
        let corners = [2 - axis as i64, 4 - axis as i64].map(|place| corner(te, rois, at[0], place, scale));
        let mut extent = te.minus(corners[1], corners[0]);
        if !aligned {
            let one = te.number(1.0, dtype);
            extent = te.bin(PrimOp::Max, extent, one);
        }
        let cells = te.number(size[axis] as f64, dtype);
        let cell = te.over(extent, cells);
        let index = te.cast(dtype, at[places[axis]]);
        let far = te.times(index, cell);
        let start = te.plus(corners[0], far);
        let (point, half, count) = (te.cast(dtype, k[axis]), te.number(0.5, dtype), te.number(ratio as f64, dtype));
        let point = te.plus(point, half);
        let far = te.times(point, cell);
        let far = te.over(far, count);
        axes.push((te.plus(start, far), own[places[axis]]));
    }
    let image = image_of(te, rois, at[0]);
    let sampled = between(te, x, &axes, &mut |down, across| match last {
        false => vec![image, at[1], down, across],
        true => vec![image, down, across, at[3]],
    });
    let (source, how) = match mean {
        true => {
            let count = te.number((ratio * ratio) as f64, dtype);
            (te.over(sampled, count), Reducer::Sum)
        }
        false => (sampled, Reducer::Max),
    };
    let (identity, combine) = how.parts(te, te.type_of(source));
    let out = te.add("compute", &shape, space, reduced, Body::Reduce(vec![identity], vec![source], combine), Vec::new())[0];
    cx.finish(&[out])
}

/// Interpolates an image at a point, given as row and column with their extents; 0 well outside.
fn between(te: &mut Te, x: Tensor, axes: &[(PrimId, PrimId)], at: &mut dyn FnMut(PrimId, PrimId) -> Vec<PrimId>) -> PrimId {
    let dtype = te.type_of(axes[0].0);
    let nothing = te.number(0.0, te.dtype(x));
    let minus = te.number(-1.0, dtype);
    let mut outside = te.store.prim_int(0, DType::BOOL);
    for (place, _) in axes {
        let low = te.bin(PrimOp::Lt, *place, minus);
        outside = te.bin(PrimOp::Or, outside, low);
    }
    let mut sides = Vec::new();
    for (place, extent) in axes {
        let whole = te.cast(dtype, *extent);
        let high = te.bin(PrimOp::Gt, *place, whole);
        outside = te.bin(PrimOp::Or, outside, high);
        let (zero, last) = (te.number(0.0, dtype), te.minus_int(*extent, 1));
        let end = te.cast(dtype, last);
        let inner = te.bin(PrimOp::Max, *place, zero);
        let inner = te.bin(PrimOp::Min, inner, end);
        let floor = te.call("floor", &[inner]);
        let (low, one) = (te.cast(DType::I32, floor), te.number(1.0, dtype));
        let far = te.minus(inner, low);
        let low = te.cast(DType::I64, floor);
        sides.push([(te.minus(one, far), low, last), (far, te.plus_int(low, 1), last)]);
    }
    let mut sum = te.number(0.0, te.dtype(x));
    for (across, column, width) in sides[1] {
        for (down, row, height) in sides[0] {
            let mut inside = te.store.prim_int(1, DType::BOOL);
            for (place, last) in [(row, height), (column, width)] {
                let zero = te.int(0);
                let (low, high) = (te.bin(PrimOp::Le, zero, place), te.bin(PrimOp::Le, place, last));
                inside = te.both(inside, low);
                inside = te.both(inside, high);
            }
            let value = te.load(x, &at(row, column));
            let weight = te.times(across, down);
            let value = te.times(weight, value);
            let value = te.if_then_else(inside, value, nothing);
            sum = te.plus(sum, value);
        }
    }
    te.if_then_else(outside, nothing, sum)
}

/// Takes the greatest element of each cell of a region.
fn roi_pool(cx: &mut Lower) -> Lowered {
    let (x, rois) = (cx.tensor(0)?, cx.tensor(1)?);
    let size = cx.ints("pooled_size").filter(|size| size.len() == 2).ok_or(Refused::Leave)?;
    let scale = cx.float("spatial_scale");
    if cx.text("layout") != "NCHW" {
        return Err(Refused::Leave);
    }
    let te = &mut cx.te;
    let (own, regions) = (te.shape(x), te.shape(rois)[0]);
    let (down, across) = (te.int(size[0]), te.int(size[1]));
    let shape = [regions, own[1], down, across];
    let space = te.axes("i c ph pw", &shape);
    let at = te.vars(&space);
    let reduced = vec![te.axis("rh", own[2]), te.axis("rw", own[3])];
    let k = te.vars(&reduced);
    let mut valid = te.store.prim_int(1, DType::BOOL);
    for axis in 0..2 {
        let (begin, end) = cell(te, rois, &at, axis, size[axis], scale);
        let (low, behind) = (te.bin(PrimOp::Le, begin, k[axis]), te.bin(PrimOp::Le, own[2 + axis], k[axis]));
        let (high, inside) = (te.bin(PrimOp::Lt, k[axis], end), te.bin(PrimOp::Lt, k[axis], own[2 + axis]));
        let low = te.bin(PrimOp::Or, low, behind);
        for cond in [low, high, inside] {
            valid = te.both(valid, cond);
        }
    }
    let image = image_of(te, rois, at[0]);
    let (value, least) = (te.load(x, &[image, at[1], k[0], k[1]]), te.number(f64::NEG_INFINITY, te.dtype(x)));
    let source = te.if_then_else(valid, value, least);
    let (identity, combine) = Reducer::Max.parts(te, te.dtype(x));
    let pooled = te.add("compute", &shape, space, reduced, Body::Reduce(vec![identity], vec![source], combine), Vec::new())[0];
    let out = te.compute("compute", "i c ph pw", &shape, &mut |te, at| {
        let mut empty = te.store.prim_int(0, DType::BOOL);
        for axis in 0..2 {
            let (begin, end) = cell(te, rois, at, axis, size[axis], scale);
            let (none, behind) = (te.bin(PrimOp::Le, end, begin), te.bin(PrimOp::Le, own[2 + axis], begin));
            empty = te.bin(PrimOp::Or, empty, none);
            empty = te.bin(PrimOp::Or, empty, behind);
        }
        let (nothing, value) = (te.number(0.0, te.dtype(x)), te.load(pooled, at));
        te.if_then_else(empty, nothing, value)
    });
    cx.finish(&[out])
}

/// Returns the begin and end of a cell along an axis of the image; neither has an upper limit.
fn cell(te: &mut Te, rois: Tensor, at: &[PrimId], axis: usize, cells: i64, scale: f64) -> (PrimId, PrimId) {
    let dtype = te.dtype(rois);
    let [start, end] = [2 - axis as i64, 4 - axis as i64].map(|place| {
        let (corner, half) = (corner(te, rois, at[0], place, scale), te.number(0.5, dtype));
        let corner = te.plus(corner, half);
        let corner = te.call("floor", &[corner]);
        te.cast(DType::I64, corner)
    });
    let (one, zero) = (te.int(1), te.int(0));
    let span = te.minus(end, start);
    let span = te.plus(span, one);
    let span = te.bin(PrimOp::Max, span, one);
    let (span, cells) = (te.cast(dtype, span), te.number(cells as f64, dtype));
    let unit = te.over(span, cells);
    let next = te.plus(at[2 + axis], one);
    let mut bound = |index: PrimId, how: &str| {
        let index = te.cast(dtype, index);
        let far = te.times(index, unit);
        let far = te.call(how, &[far]);
        let far = te.cast(DType::I64, far);
        let place = te.plus(far, start);
        te.bin(PrimOp::Max, place, zero)
    };
    (bound(at[2 + axis], "floor"), bound(next, "ceil"))
}
