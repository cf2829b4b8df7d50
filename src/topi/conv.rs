//! Convolutions, transposed convolutions, padding, dilation.
//!
//! Source: `python/tvm/topi/nn/conv2d.py` (`conv`), `conv2d_transpose.py` and its kin, `pad.py`, `dilate.py`.

use super::lower::{Lower, Lowered, Refused};
use super::te::{Axis, Body, Combine, Te, Tensor};
use super::{Rule, rule};
use crate::ir::sort::sort_by;
use crate::ir::{DType, PrimId, PrimOp};

pub(super) const RULES: &[Rule] = &[
    rule("nn.conv1d", "conv1d", conv),
    rule("nn.conv2d", "conv2d", conv),
    rule("nn.conv3d", "conv3d", conv),
    rule("nn.conv1d_transpose", "conv1d_transpose", transposed),
    rule("nn.conv2d_transpose", "conv2d_transpose", transposed),
    rule("nn.conv3d_transpose", "conv3d_transpose", transposed),
    rule("nn.pad", "pad", pad_by),
];

/// Makes a sum of products: the stage of a convolution.
fn sum_over(te: &mut Te, name: &str, axes: Vec<Axis>, shape: &[PrimId], reduced: Vec<Axis>, product: PrimId) -> Tensor {
    let zero = te.number(0.0, te.type_of(product));
    let combine: Combine = |te, a, b| vec![te.plus(a[0], b[0])];
    te.add(name, shape, axes, reduced, Body::Reduce(vec![zero], vec![product], combine), Vec::new())[0]
}

/// Returns the positions of axes in a layout: the letters in `first`, then the others in order.
fn places(layout: &str, first: [char; 2]) -> Option<Vec<usize>> {
    let mut places = vec![layout.find(first[0])?, layout.find(first[1])?];
    places.extend(layout.char_indices().filter(|(_, letter)| !first.contains(letter)).map(|(place, _)| place));
    Some(places)
}

/// Reorders items, given in the order of [`places`], as in the layout.
fn arranged<T: Copy>(items: &[T], places: &[usize]) -> Vec<T> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    sort_by(&mut order, |a, b| places[*a].cmp(&places[*b]));
    order.into_iter().filter_map(|item| items.get(item).copied()).collect()
}

fn conv(cx: &mut Lower) -> Lowered {
    let (layout, kernel_layout) = (cx.text("data_layout"), cx.text("kernel_layout"));
    let arg = cx.arg(0)?;
    let rank = cx.info(arg).and_then(|info| cx.te.store.rank(&info.extents)).ok_or(Refused::Leave)?;
    if cx.text("out_layout") != layout || layout.len() != rank || kernel_layout.len() != rank {
        return Err(Refused::Leave);
    }
    let (x, w) = (cx.tensor(0)?, cx.tensor(1)?);
    let dim = rank - 2;
    let attr = |name: &str| cx.ints(name).ok_or(Refused::Leave);
    let (strides, padding, dilation) = (attr("strides")?, attr("padding")?, attr("dilation")?);
    let groups = cx.int("groups").unwrap_or(1);
    let dtype = cx.dtype("out_dtype").unwrap_or(cx.te.dtype(x));
    let (Some(to), Some(kernel_to)) = (places(&layout, ['N', 'C']), places(&kernel_layout, ['O', 'I'])) else {
        return Err(Refused::Leave);
    };
    if strides.len() != dim || dilation.len() != dim || padding.len() < dim {
        return Err(Refused::Leave);
    }
    let (head, tail) = if padding.len() == 2 * dim { padding.split_at(dim) } else { (&padding[..], &padding[..]) };
    let te = &mut cx.te;
    let (own, kernel) = (te.shape(x), te.shape(w));
    let (own, kernel): (Vec<PrimId>, Vec<PrimId>) =
        (to.iter().map(|place| own[*place]).collect(), kernel_to.iter().map(|place| kernel[*place]).collect());
    let (channels, filters) = (own[1], kernel[0]);
    let mut shape = vec![own[0], filters];
    for axis in 0..dim {
        let (extent, window) = (own[2 + axis], kernel[2 + axis]);
        let reach = te.minus_int(window, 1);
        let wide = te.int(dilation[axis]);
        let reach = te.times(reach, wide);
        let rest = te.minus(extent, reach);
        let rest = te.minus_int(rest, 1);
        let rest = te.plus_int(rest, head[axis]);
        let rest = te.plus_int(rest, tail[axis]);
        let step = te.int(strides[axis]);
        let count = te.floordiv(rest, step);
        let count = te.plus_int(count, 1);
        shape.push(te.simplify(count));
    }
    let widths = |ends: &[i64]| arranged(&[&[0, 0], ends].concat(), &to);
    let zero = te.number(0.0, te.dtype(x));
    let padded = pad(te, x, &widths(head), &widths(tail), zero, "pad_temp");
    let groups_prim = te.int(groups);
    let inner = te.floordiv(channels, groups_prim);
    let mut reduced = vec![te.axis("rc", inner)];
    for (axis, name) in ["ry", "rx", "rz"].iter().enumerate().take(dim) {
        reduced.push(te.axis(name, kernel[2 + axis]));
    }
    let k = te.vars(&reduced);
    let names = arranged(&["nn", "ff", "yy", "xx", "zz"][..rank], &to);
    let out_shape = arranged(&shape, &to);
    let axes: Vec<Axis> = names.iter().zip(&out_shape).map(|(name, extent)| te.axis(name, *extent)).collect();
    let vars = te.vars(&axes);
    let at: Vec<PrimId> = to.iter().map(|place| vars[*place]).collect();
    let channel = if groups == 1 {
        k[0]
    } else {
        let group = te.floordiv(filters, groups_prim);
        let group = te.floordiv(at[1], group);
        let first = te.times(group, inner);
        te.plus(first, k[0])
    };
    let mut from = vec![at[0], channel];
    for axis in 0..dim {
        let (stride, wide) = (te.int(strides[axis]), te.int(dilation[axis]));
        let (place, inside) = (te.times(at[2 + axis], stride), te.times(k[1 + axis], wide));
        from.push(te.plus(place, inside));
    }
    let value = te.load(padded, &arranged(&from, &to));
    let value = te.cast(dtype, value);
    let weight = te.load(w, &arranged(&[&[at[1]], &k[..]].concat(), &kernel_to));
    let weight = te.cast(dtype, weight);
    let product = te.times(value, weight);
    // The reduced axes are in the order of the layout, too.
    let without_batch: Vec<usize> = to[1..].to_vec();
    let mut order: Vec<usize> = (0..reduced.len()).collect();
    sort_by(&mut order, |a, b| without_batch[*a].cmp(&without_batch[*b]));
    let mut slots: Vec<Option<Axis>> = reduced.into_iter().map(Some).collect();
    let reduced: Vec<Axis> = order.into_iter().filter_map(|item| slots[item].take()).collect();
    let name = format!("{}conv{dim}d_{}", if groups > 1 { "group_" } else { "" }, layout.to_lowercase());
    let out = sum_over(te, &name, axes, &out_shape, reduced, product);
    cx.finish(&[out])
}

fn transposed(cx: &mut Lower) -> Lowered {
    let (layout, kernel_layout) = (cx.text("data_layout"), cx.text("kernel_layout"));
    let supported = [("NCW", "IOW"), ("NCHW", "IOHW"), ("NCDHW", "IODHW")];
    if cx.text("out_layout") != layout || !supported.contains(&(&layout, &kernel_layout)) {
        return Err(Refused::Leave);
    }
    let (x, mut w) = (cx.tensor(0)?, cx.tensor(1)?);
    let dim = layout.len() - 2;
    let attr = |name: &str| cx.ints(name).ok_or(Refused::Leave);
    let (strides, padding, dilation, more) = (attr("strides")?, attr("padding")?, attr("dilation")?, attr("output_padding")?);
    let (groups, dtype) = (cx.int("groups").unwrap_or(1), cx.out_dtype()?);
    if strides.len() != dim || padding.len() != 2 * dim || dilation.len() != dim || more.len() != dim {
        return Err(Refused::Leave);
    }
    let te = &mut cx.te;
    if dilation.iter().any(|step| *step != 1) {
        w = dilate(te, w, &[&[1, 1], &dilation[..]].concat(), "kernel_dilate");
    }
    let (own, kernel) = (te.shape(x), te.shape(w));
    let spread = dilate(te, x, &[&[1, 1], &strides[..]].concat(), "data_dilate");
    let zero = te.int(0);
    let (mut before, mut after) = (vec![zero, zero], vec![zero, zero]);
    for axis in 0..dim {
        let last = te.minus_int(kernel[2 + axis], 1);
        before.push(te.minus_int(last, padding[axis]));
        let end = te.minus_int(last, padding[dim + axis]);
        after.push(te.plus_int(end, more[axis]));
    }
    let nothing = te.number(0.0, te.dtype(x));
    let padded = pad_exprs(te, spread, &before, &after, nothing, "data_pad");
    let letters = ["d", "h", "w"];
    let letters = &letters[3 - dim..];
    let turned_shape = [&[kernel[1], own[1]], &kernel[2..]].concat();
    let ends = if groups > 1 && dim == 2 { ["i", "o"] } else { ["o", "i"] };
    let names = [&ends, letters].concat().join(" ");
    let turned = te.compute(if dim == 1 { "kernel" } else { "kernel_transform" }, &names, &turned_shape, &mut |te, at| {
        let mut from = vec![at[1], at[0]];
        for axis in 2..at.len() {
            let last = te.minus_int(kernel[axis], 1);
            from.push(te.minus(last, at[axis]));
        }
        te.load(w, &from)
    });
    let wide = te.shape(padded);
    let groups_prim = te.int(groups);
    let out_channels = te.times(kernel[1], groups_prim);
    let mut shape = vec![own[0], te.simplify(out_channels)];
    for axis in 2..wide.len() {
        let rest = te.minus(wide[axis], kernel[axis]);
        let rest = te.plus_int(rest, 1);
        shape.push(te.simplify(rest));
    }
    let inner = te.floordiv(own[1], groups_prim);
    let mut reduced = vec![te.axis("dc", inner)];
    for (axis, letter) in letters.iter().enumerate() {
        reduced.push(te.axis(&format!("d{letter}"), kernel[2 + axis]));
    }
    let k = te.vars(&reduced);
    let axes = te.axes(&[&["b", "c"], letters].concat().join(" "), &shape);
    let at = te.vars(&axes);
    let (mut channel, mut filter) = (k[0], at[1]);
    if groups > 1 {
        let size = te.floordiv(shape[1], groups_prim);
        let group = te.floordiv(at[1], size);
        let first = te.times(group, inner);
        channel = te.plus(first, k[0]);
        filter = te.floormod(at[1], size);
    }
    let mut from = vec![at[0], channel];
    for axis in 0..dim {
        from.push(te.plus(at[2 + axis], k[1 + axis]));
    }
    let value = te.load(padded, &from);
    let value = te.cast(dtype, value);
    let weight = te.load(turned, &[&[filter, channel], &k[1..]].concat());
    let weight = te.cast(dtype, weight);
    let product = te.times(value, weight);
    let out = sum_over(te, "compute", axes, &shape, reduced, product);
    cx.finish(&[out])
}

/// `topi.nn.dilate`: inserts zeros between the elements.
fn dilate(te: &mut Te, x: Tensor, strides: &[i64], name: &str) -> Tensor {
    let own = te.shape(x);
    let mut shape = Vec::new();
    for (extent, stride) in own.iter().zip(strides) {
        let (gaps, stride) = (te.minus_int(*extent, 1), te.int(*stride));
        let wide = te.times(gaps, stride);
        let wide = te.plus_int(wide, 1);
        shape.push(te.simplify(wide));
    }
    te.compute(name, "i", &shape, &mut |te, at| {
        let mut from = Vec::new();
        let mut there = None;
        for (index, stride) in at.iter().zip(strides) {
            if *stride == 1 {
                from.push(*index);
                continue;
            }
            let (stride, zero) = (te.int(*stride), te.int(0));
            from.push(te.floordiv(*index, stride));
            let rest = te.floormod(*index, stride);
            let on = te.bin(PrimOp::Eq, rest, zero);
            there = Some(there.map_or(on, |all| te.both(all, on)));
        }
        let value = te.load(x, &from);
        let nothing = te.number(0.0, te.dtype(x));
        there.map_or(value, |there| te.if_then_else(there, value, nothing))
    })
}

/// `topi.nn.pad` with known widths.
pub(super) fn pad(te: &mut Te, x: Tensor, before: &[i64], after: &[i64], value: PrimId, name: &str) -> Tensor {
    let mut exprs = |widths: &[i64]| widths.iter().map(|width| te.int(*width)).collect::<Vec<_>>();
    let (before, after) = (exprs(before), exprs(after));
    pad_exprs(te, x, &before, &after, value, name)
}

fn pad_exprs(te: &mut Te, x: Tensor, before: &[PrimId], after: &[PrimId], value: PrimId, name: &str) -> Tensor {
    let own = te.shape(x);
    let shape = padded_shape(te, &own, before, after);
    te.compute(name, "i", &shape, &mut |te, at| {
        let mut from = Vec::new();
        let mut inside = None;
        for axis in 0..own.len() {
            let (index, width) = (at[axis], before[axis]);
            if te.known(width) == Some(0) && te.known(after[axis]) == Some(0) {
                from.push(index);
                continue;
            }
            from.push(te.minus(index, width));
            let low = te.bin(PrimOp::Ge, index, width);
            let end = te.plus(own[axis], width);
            let high = te.bin(PrimOp::Lt, index, end);
            for part in [low, high] {
                inside = Some(inside.map_or(part, |all| te.both(all, part)));
            }
        }
        let own = te.load(x, &from);
        inside.map_or(own, |inside| te.if_then_else(inside, own, value))
    })
}

fn padded_shape(te: &mut Te, own: &[PrimId], before: &[PrimId], after: &[PrimId]) -> Vec<PrimId> {
    (own.iter().zip(before.iter().zip(after)))
        .map(|(extent, (before, after))| {
            let wide = te.plus(*extent, *before);
            let wide = te.plus(wide, *after);
            te.simplify(wide)
        })
        .collect()
}

fn pad_by(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let widths = cx.ints("pad_width").ok_or(Refused::Leave)?;
    let (before, after): (Vec<i64>, Vec<i64>) =
        (widths.iter().step_by(2).copied().collect(), widths.iter().skip(1).step_by(2).copied().collect());
    let (mode, value) = (cx.text("pad_mode"), cx.float("pad_value"));
    let te = &mut cx.te;
    if before.len() != te.rank(x) || after.len() != te.rank(x) {
        return Err(Refused::Leave);
    }
    let names = [("reflect", "ReflectPadInput"), ("replicate", "ReplicatePadInput"), ("circular", "CircularPadInput")];
    let Some((_, name)) = names.into_iter().find(|(known, _)| *known == mode) else {
        let value = te.number(value, te.dtype(x));
        let out = pad(te, x, &before, &after, value, "PadInput");
        return cx.finish(&[out]);
    };
    let own = te.shape(x);
    let mut exprs = |widths: &[i64]| widths.iter().map(|width| te.int(*width)).collect::<Vec<_>>();
    let (before, after) = (exprs(&before), exprs(&after));
    let shape = padded_shape(te, &own, &before, &after);
    let out = te.compute(name, "i", &shape, &mut |te, at| {
        let from: Vec<PrimId> = (0..own.len()).map(|axis| mirrored(te, &mode, at[axis], own[axis], before[axis])).collect();
        te.load(x, &from)
    });
    cx.finish_as(&format!("{mode}_pad"), &[out])
}

/// Returns the source index of an index in the padding.
fn mirrored(te: &mut Te, mode: &str, index: PrimId, extent: PrimId, before: PrimId) -> PrimId {
    let own = te.minus(index, before);
    let zero = te.int(0);
    if mode == "circular" {
        let up = te.plus(own, extent);
        return te.floormod(up, extent);
    }
    let last = te.minus_int(extent, 1);
    if mode == "replicate" {
        let below = te.bin(PrimOp::Min, last, own);
        return te.bin(PrimOp::Max, zero, below);
    }
    let size = te.abs(own);
    let above = te.minus(last, size);
    let above = te.abs(above);
    te.minus(last, above)
}

/// `topi.nn.batch_matmul` of tensors of rank 3.
pub(super) fn batch_matmul(te: &mut Te, a: Tensor, b: Tensor, turned: bool, shape: &[PrimId], dtype: DType) -> Tensor {
    let (p, q) = (te.shape(a), te.shape(b));
    let reduced = vec![te.axis("k", p[2])];
    let k = te.vars(&reduced)[0];
    let axes = te.axes("b i j", shape);
    let at = te.vars(&axes);
    let batch = |te: &mut Te, extent: PrimId| if te.known(extent) == Some(1) { te.int(0) } else { at[0] };
    let (first, second) = (batch(te, p[0]), batch(te, q[0]));
    let x = te.load(a, &[first, at[1], k]);
    let y = if turned { te.load(b, &[second, at[2], k]) } else { te.load(b, &[second, k, at[2]]) };
    let (x, y) = (te.cast(dtype, x), te.cast(dtype, y));
    let product = te.times(x, y);
    let zero = te.number(0.0, dtype);
    let combine: Combine = |te, a, b| vec![te.plus(a[0], b[0])];
    let free = super::linear::layout_free(te, b);
    let name = if turned { "T_batch_matmul_NT" } else { "T_batch_matmul_NN" };
    te.add(name, shape, axes, reduced, Body::Reduce(vec![zero], vec![product], combine), vec![free])[0]
}
