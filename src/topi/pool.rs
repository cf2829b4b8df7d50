//! Pooling: the greatest or the mean value in a window.
//!
//! Source: `include/tvm/topi/nn/pooling.h`, `nn.h` (`pad`).

use super::lower::{Lower, Lowered, Refused};
use super::te::{Axis, Body, Combine, Te, Tensor};
use super::{Rule, rule};
use crate::ir::{AttrValue, DType, PrimId, PrimOp};

pub(super) const RULES: &[Rule] = &[
    rule("nn.max_pool1d", "max_pool1d", pool),
    rule("nn.max_pool2d", "max_pool2d", pool),
    rule("nn.max_pool3d", "max_pool3d", pool),
    rule("nn.avg_pool1d", "avg_pool1d", pool),
    rule("nn.avg_pool2d", "avg_pool2d", pool),
    rule("nn.avg_pool3d", "avg_pool3d", pool),
    rule("nn.adaptive_avg_pool1d", "adaptive_avg_pool1d", adaptive),
    rule("nn.adaptive_avg_pool2d", "adaptive_avg_pool2d", adaptive),
    rule("nn.adaptive_avg_pool3d", "adaptive_avg_pool3d", adaptive),
];

/// Returns the axes of a layout that a window moves along.
pub(super) fn window_axes(layout: &str, dim: usize) -> Option<Vec<usize>> {
    let letters: Vec<char> = layout.chars().filter(|letter| letter.is_ascii_alphabetic()).collect();
    let wanted = &['D', 'H', 'W'][3 - dim..];
    wanted.iter().map(|letter| letters.iter().position(|other| other == letter)).collect()
}

fn dim_of(op: &str) -> usize {
    match op.as_bytes().get(op.len().wrapping_sub(2)) {
        Some(b'1') => 1,
        Some(b'3') => 3,
        _ => 2,
    }
}

fn schedule(te: &mut Te, rule: &str) -> Vec<(&'static str, AttrValue)> {
    let rule = te.store.name(&format!("meta_schedule.{rule}"));
    vec![("schedule_rule", AttrValue::Str(rule))]
}

fn reduced(te: &mut Te, extents: &[PrimId]) -> Vec<Axis> {
    extents.iter().enumerate().map(|(index, extent)| te.axis(&format!("rv{index}"), *extent)).collect()
}

fn pool(cx: &mut Lower) -> Lowered {
    let (layout, dim) = (cx.text("layout"), dim_of(cx.op));
    if cx.text("out_layout") != layout {
        return Err(Refused::Leave);
    }
    let x = cx.tensor(0)?;
    let axes = window_axes(&layout, dim).ok_or(Refused::Leave)?;
    let attr = |name: &str| cx.ints(name).ok_or(Refused::Leave);
    let (window, strides, dilation, padding) = (attr("pool_size")?, attr("strides")?, attr("dilation")?, attr("padding")?);
    let (ceil, include) = (cx.flag("ceil_mode"), cx.flag("count_include_pad"));
    let greatest = cx.op.starts_with("nn.max");
    if [window.len(), strides.len(), dilation.len()] != [dim; 3] || padding.len() != 2 * dim {
        return Err(Refused::Leave);
    }
    let te = &mut cx.te;
    let own = te.shape(x);
    let (mut shape, mut before, mut after) = (own.clone(), vec![0; own.len()], vec![0; own.len()]);
    let mut offsets = vec![0; dim];
    for (index, axis) in axes.iter().enumerate() {
        offsets[index] = if ceil { strides[index] - 1 } else { 0 };
        let (head, tail) = (padding[index], padding[dim + index] + offsets[index]);
        (before[*axis], after[*axis]) = (head, tail);
        let reach = (window[index] - 1) * dilation[index];
        let rest = te.minus_int(own[*axis], reach);
        let rest = te.minus_int(rest, 1);
        let rest = te.plus_int(rest, head);
        let rest = te.plus_int(rest, tail);
        let stride = te.int(strides[index]);
        let count = te.floordiv(rest, stride);
        let mut count = te.plus_int(count, 1);
        if ceil {
            // The last window has to begin inside.
            let fewer = te.minus_int(count, 1);
            let begin = te.times(fewer, stride);
            let end = te.plus_int(own[*axis], head);
            let outside = te.bin(PrimOp::Ge, begin, end);
            count = te.if_then_else(outside, fewer, count);
        }
        shape[*axis] = te.simplify(count);
    }
    let value = if greatest { te.limit(te.dtype(x), false) } else { te.number(0.0, te.dtype(x)) };
    let padded = if before.iter().chain(&after).any(|width| *width != 0) { pad(te, x, &before, &after, value) } else { x };
    let extents: Vec<PrimId> = window.iter().map(|extent| te.int(*extent)).collect();
    let over = reduced(te, &extents);
    let (space, k) = (te.axes("ax", &shape), te.vars(&over));
    let at = te.vars(&space);
    let mut from = at.clone();
    for (index, axis) in axes.iter().enumerate() {
        let (stride, wide) = (te.int(strides[index]), te.int(dilation[index]));
        let (begin, inside) = (te.times(at[*axis], stride), te.times(k[index], wide));
        from[*axis] = te.plus(begin, inside);
    }
    let source = te.load(padded, &from);
    let identity = if greatest { value } else { te.number(0.0, te.type_of(source)) };
    let combine: Combine =
        if greatest { |te, a, b| vec![te.bin(PrimOp::Max, a[0], b[0])] } else { |te, a, b| vec![te.plus(a[0], b[0])] };
    let body = Body::Reduce(vec![identity], vec![source], combine);
    if greatest {
        let attrs = schedule(te, "pool_max");
        let out = te.add("pool_max", &shape, space, over, body, attrs)[0];
        return cx.finish(&[out]);
    }
    let sum = te.add("pool_sum", &shape, space, over, body, Vec::new())[0];
    let attrs = schedule(te, "pool_avg");
    let out = te.compute_with("pool_avg", "ax", &shape, attrs, &mut |te, at| {
        let mut count = te.int(1);
        for (index, axis) in axes.iter().enumerate() {
            let (wide, zero) = (te.int(dilation[index]), te.int(0));
            let stride = te.int(strides[index]);
            let start = te.times(at[*axis], stride);
            let mut start = te.minus_int(start, padding[index]);
            let reach = te.int((window[index] - 1) * dilation[index]);
            let end = te.plus(start, reach);
            let last = if include { padding[dim + index] } else { 0 };
            let last = te.plus_int(own[*axis], last);
            let last = te.minus_int(last, 1);
            let end = te.bin(PrimOp::Min, end, last);
            if !include {
                let jumps = te.int(dilation[index] - 1);
                let jumps = te.minus(jumps, start);
                let jumps = te.over(jumps, wide);
                let jumps = te.bin(PrimOp::Max, jumps, zero);
                let jumped = te.times(wide, jumps);
                start = te.plus(start, jumped);
            }
            let span = te.minus(end, start);
            let steps = te.over(span, wide);
            let steps = te.plus_int(steps, 1);
            count = te.times(count, steps);
        }
        if !include {
            let one = te.int(1);
            count = te.bin(PrimOp::Max, count, one);
        }
        let sum = te.load(sum, at);
        te.over(sum, count)
    });
    cx.finish(&[out])
}

/// The padding of TOPI's C++, which tests each side by itself.
pub(super) fn pad(te: &mut Te, x: Tensor, before: &[i64], after: &[i64], value: PrimId) -> Tensor {
    let own = te.shape(x);
    let shape: Vec<PrimId> = (own.iter().zip(before.iter().zip(after)))
        .map(|(extent, (before, after))| {
            let wide = te.plus_int(*extent, *before);
            let wide = te.plus_int(wide, *after);
            te.simplify(wide)
        })
        .collect();
    te.compute("pad_temp", "ax", &shape, &mut |te, at| {
        let mut from = Vec::new();
        let mut inside = te.store.prim_int(1, DType::BOOL);
        for axis in 0..own.len() {
            let index = at[axis];
            let width = te.int(before[axis]);
            if before[axis] != 0 {
                let low = te.bin(PrimOp::Ge, index, width);
                inside = te.both(inside, low);
            }
            from.push(te.minus(index, width));
            if after[axis] != 0 {
                let end = te.plus(width, own[axis]);
                let high = te.bin(PrimOp::Lt, index, end);
                let high = te.simplify(high);
                inside = te.both(inside, high);
            }
        }
        let own = te.load(x, &from);
        te.if_then_else(inside, own, value)
    })
}

fn adaptive(cx: &mut Lower) -> Lowered {
    let (layout, dim) = (cx.text("layout"), dim_of(cx.op));
    if cx.text("out_layout") != layout {
        return Err(Refused::Leave);
    }
    let x = cx.tensor(0)?;
    let axes = window_axes(&layout, dim).ok_or(Refused::Leave)?;
    let wanted = cx.ints("output_size");
    let te = &mut cx.te;
    let own = te.shape(x);
    let mut shape = own.clone();
    // Sizes that are written come as numbers of 32 bits, and so run their axes.
    let mut runs = own.clone();
    if let Some(wanted) = wanted {
        for (index, axis) in axes.iter().enumerate() {
            let extent = wanted.get(index).or(wanted.first()).copied().ok_or(Refused::Leave)?;
            shape[*axis] = te.int(extent);
            runs[*axis] = te.store.prim_int(extent, DType::I32);
        }
    }
    let space = te.axes("ax", &runs);
    let at = te.vars(&space);
    // Returns the begin and the width of the window of an element.
    let windows = |te: &mut Te, at: &[PrimId]| -> Vec<(PrimId, PrimId)> {
        axes.iter()
            .map(|axis| {
                let (out, whole) = (shape[*axis], own[*axis]);
                let begin = te.times(at[*axis], whole);
                let begin = te.floordiv(begin, out);
                let next = te.plus_int(at[*axis], 1);
                let next = te.times(next, whole);
                let (end, rest) = (te.floordiv(next, out), te.floormod(next, out));
                let zero = te.int(0);
                let even = te.bin(PrimOp::Eq, rest, zero);
                let more = te.plus_int(end, 1);
                let end = te.select(even, end, more);
                (begin, te.minus(end, begin))
            })
            .collect()
    };
    let places = windows(te, &at);
    let extents: Vec<PrimId> = places.iter().map(|(_, extent)| te.simplify(*extent)).collect();
    let over = reduced(te, &extents);
    let k = te.vars(&over);
    let mut from = at;
    for (index, axis) in axes.iter().enumerate() {
        from[*axis] = te.plus(places[index].0, k[index]);
    }
    let source = te.load(x, &from);
    let zero = te.number(0.0, te.type_of(source));
    let combine: Combine = |te, a, b| vec![te.plus(a[0], b[0])];
    let sum = te.add("adaptive_pool_sum", &shape, space, over, Body::Reduce(vec![zero], vec![source], combine), Vec::new())[0];
    let attrs = schedule(te, "adaptive_pool_avg");
    let space = te.axes("ax", &runs);
    let at = te.vars(&space);
    let mut count = te.number(1.0, te.dtype(sum));
    for (_, extent) in windows(te, &at) {
        let extent = te.simplify(extent);
        let extent = te.cast(DType::I32, extent);
        let extent = te.cast(te.dtype(sum), extent);
        count = te.times(count, extent);
    }
    let sum = te.load(sum, &at);
    let mean = te.over(sum, count);
    let out = te.add("adaptive_pool_avg", &shape, space, Vec::new(), Body::Values(vec![mean]), attrs)[0];
    cx.finish(&[out])
}
