//! Operators that move elements: shapes, axes, joining, splitting, repeating.
//!
//! Source: `include/tvm/topi/transform.h`, `legalize_ops/manipulate.py`.

use super::elementwise::element;
use super::lower::{Lower, Lowered, Refused, from_front};
use super::te::{Te, Tensor};
use super::{Rule, reduce, rule};
use crate::ir::{AttrValue, PrimId, PrimOp};

pub(super) const RULES: &[Rule] = &[
    rule("broadcast_to", "broadcast_to", broadcast_to),
    rule("reshape", "reshape", reshape_to),
    rule("flatten", "reshape", flatten),
    rule("nn.batch_flatten", "reshape", flatten),
    rule("collapse_sum_like", "collapse_sum", collapse_sum),
    rule("collapse_sum_to", "collapse_sum", collapse_sum),
    rule("concat", "concatenate", concat),
    rule("stack", "stack", stack),
    rule("expand_dims", "expand_dims", expand_dims),
    rule("permute_dims", "transpose", permute_dims),
    rule("split", "split", split),
    rule("squeeze", "squeeze", squeeze_axes),
    rule("repeat", "repeat", repeat),
    rule("tile", "tile", tile),
    rule("flip", "flip", flip),
    rule("reverse_sequence", "reverse_sequence", reverse_sequence),
    rule("meshgrid", "meshgrid", meshgrid),
    rule("one_hot", "one_hot", one_hot),
];

fn broadcast_to(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let shape = cx.shape_arg(1)?;
    let out = broadcast(&mut cx.te, x, &shape);
    cx.finish(&[out])
}

/// `topi.broadcast_to`
pub(super) fn broadcast(te: &mut Te, x: Tensor, shape: &[PrimId]) -> Tensor {
    te.compute("T_broadcast_to", "ax", shape, &mut |te, at| element(te, x, shape, at))
}

fn reshape_to(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let shape = cx.shape_arg(1)?;
    let out = reshape(&mut cx.te, x, &shape);
    cx.finish(&[out])
}

fn flatten(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let shape = cx.out_shape()?;
    let out = reshape(&mut cx.te, x, &shape);
    cx.finish(&[out])
}

/// `topi.reshape`
pub(super) fn reshape(te: &mut Te, x: Tensor, shape: &[PrimId]) -> Tensor {
    let own = te.shape(x);
    let empty = own.iter().chain(shape).any(|extent| te.known(*extent) == Some(0));
    te.compute("T_reshape", "ax", shape, &mut |te, at| {
        if empty {
            return te.number(0.0, te.dtype(x));
        }
        let flat = ravel(te, at, shape);
        let at = unravel(te, flat, &own);
        te.load(x, &at)
    })
}

/// Returns the offset of an element of a packed tensor.
pub(super) fn ravel(te: &mut Te, at: &[PrimId], shape: &[PrimId]) -> PrimId {
    let Some((first, rest)) = at.split_first() else { return te.int(0) };
    rest.iter().zip(&shape[1..]).fold(*first, |flat, (index, extent)| {
        let row = te.times(flat, *extent);
        te.plus(row, *index)
    })
}

/// Returns the indices of the element at an offset in a packed tensor.
pub(super) fn unravel(te: &mut Te, mut flat: PrimId, shape: &[PrimId]) -> Vec<PrimId> {
    let mut at = Vec::new();
    for extent in shape.iter().rev() {
        at.push(te.floormod(flat, *extent));
        flat = te.floordiv(flat, *extent);
    }
    at.reverse();
    at
}

fn collapse_sum(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let shape = match cx.op {
        "collapse_sum_to" => cx.shape_arg(1)?,
        _ => cx.out_shape()?,
    };
    let out = reduce::collapse(&mut cx.te, x, &shape);
    cx.finish(&[out])
}

fn expand_dims(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let shape = cx.out_shape()?;
    let new = cx.axes("axis", shape.len());
    let out = cx.te.compute("expand_dims", "i", &shape, &mut |te, at| {
        let at: Vec<PrimId> = (at.iter().enumerate()).filter(|(axis, _)| !new.contains(axis)).map(|(_, index)| *index).collect();
        te.load(x, &at)
    });
    cx.finish(&[out])
}

fn squeeze_axes(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let rank = cx.te.rank(x);
    let axes = cx.ints("axis").map(|axes| axes.into_iter().map(|axis| from_front(axis, rank)).collect::<Vec<_>>());
    let out = squeeze(&mut cx.te, x, axes.as_deref());
    cx.finish(&[out])
}

/// `topi.squeeze`
pub(super) fn squeeze(te: &mut Te, x: Tensor, axes: Option<&[usize]>) -> Tensor {
    let shape = te.shape(x);
    let gone: Vec<bool> = (shape.iter().enumerate())
        .map(|(axis, extent)| match axes {
            None => te.known(*extent) == Some(1),
            Some(axes) => axes.contains(&axis) && te.known(*extent).is_none_or(|extent| extent == 1),
        })
        .collect();
    let kept: Vec<PrimId> = shape.iter().zip(&gone).filter(|(_, gone)| !**gone).map(|(extent, _)| *extent).collect();
    te.compute("T_squeeze", "ax", &kept, &mut |te, at| {
        let mut at = at.iter();
        let zero = te.int(0);
        let at: Vec<PrimId> = gone.iter().map(|gone| if *gone { zero } else { at.next().copied().unwrap_or(zero) }).collect();
        te.load(x, &at)
    })
}

fn permute_dims(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let rank = cx.te.rank(x);
    let axes = match cx.ints("axes") {
        Some(axes) if !axes.is_empty() => axes.into_iter().map(|axis| from_front(axis, rank)).collect(),
        _ => (0..rank).rev().collect::<Vec<_>>(),
    };
    let out = transpose(&mut cx.te, x, &axes);
    cx.finish(&[out])
}

/// `topi.transpose`
pub(super) fn transpose(te: &mut Te, x: Tensor, axes: &[usize]) -> Tensor {
    let own = te.shape(x);
    let shape: Vec<PrimId> = axes.iter().map(|axis| own[*axis]).collect();
    te.compute("T_transpose", "ax", &shape, &mut |te, at| {
        let mut from = at.to_vec();
        for (axis, index) in axes.iter().zip(at) {
            from[*axis] = *index;
        }
        te.load(x, &from)
    })
}

fn concat(cx: &mut Lower) -> Lowered {
    let parts = cx.tensors(0)?;
    let rank = parts.first().map_or(0, |part| cx.te.rank(*part));
    let axis = from_front(cx.int("axis").unwrap_or(0), rank);
    let out = concatenate(&mut cx.te, &parts, axis);
    cx.finish(&[out])
}

/// `topi.concatenate`
pub(super) fn concatenate(te: &mut Te, parts: &[Tensor], axis: usize) -> Tensor {
    let extents: Vec<PrimId> = parts.iter().map(|part| te.shape(*part)[axis]).collect();
    let joined = extents[1..].iter().fold(extents[0], |sum, extent| te.plus(sum, *extent));
    let mut shape = te.shape(parts[0]);
    shape[axis] = te.simplify(joined);
    te.compute("T_concat", "ax", &shape, &mut |te, at| {
        let mut value = te.load(parts[0], at);
        let mut index = at[axis];
        for (part, extent) in parts[1..].iter().zip(&extents) {
            index = te.minus(index, *extent);
            let mut from = at.to_vec();
            from[axis] = index;
            let zero = te.int(0);
            let inside = te.bin(PrimOp::Ge, index, zero);
            let own = te.load(*part, &from);
            value = te.if_then_else(inside, own, value);
        }
        value
    })
}

fn stack(cx: &mut Lower) -> Lowered {
    let parts = cx.tensors(0)?;
    let rank = parts.first().map_or(0, |part| cx.te.rank(*part));
    let axis = from_front(cx.int("axis").unwrap_or(0), rank + 1);
    let mut shape = cx.te.shape(parts[0]);
    let count = cx.te.int(parts.len() as i64);
    shape.insert(axis, count);
    let out = cx.te.compute("T_stack", "ax", &shape, &mut |te, at| {
        let mut from = at.to_vec();
        let index = from.remove(axis);
        let mut value = te.load(parts[0], &from);
        for (number, part) in parts.iter().enumerate().skip(1) {
            let number = te.int(number as i64);
            let here = te.bin(PrimOp::Eq, index, number);
            let own = te.load(*part, &from);
            value = te.if_then_else(here, own, value);
        }
        value
    });
    cx.finish(&[out])
}

fn split(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let axis = from_front(cx.int("axis").unwrap_or(0), cx.te.rank(x));
    let extent = cx.te.shape(x)[axis];
    let value = cx.te.store.attr(cx.attrs, "indices_or_sections").cloned();
    let (name, begins) = match value {
        Some(AttrValue::Array(_)) => {
            let indices = cx.ints("indices_or_sections").ok_or(Refused::Leave)?;
            ("T_split", indices.into_iter().map(|index| cx.te.int(index)).collect::<Vec<_>>())
        }
        _ => {
            let sections = cx.int("indices_or_sections").filter(|sections| *sections > 0).ok_or(Refused::Leave)?;
            let more = cx.te.plus_int(extent, sections);
            let more = cx.te.minus_int(more, 1);
            let count = cx.te.int(sections);
            let size = cx.te.floordiv(more, count);
            let begin = |index| {
                let index = cx.te.int(index);
                cx.te.times(size, index)
            };
            ("T_split_sections", (1..sections).map(begin).collect())
        }
    };
    let zero = cx.te.int(0);
    let mut outs = Vec::new();
    for index in 0..=begins.len() {
        let begin = if index == 0 { zero } else { begins[index - 1] };
        let end = begins.get(index).copied().unwrap_or(extent);
        let mut shape = cx.te.shape(x);
        shape[axis] = cx.te.minus(end, begin);
        outs.push(cx.te.compute(name, "ax", &shape, &mut |te, at| {
            let mut from = at.to_vec();
            from[axis] = te.plus(at[axis], begin);
            te.load(x, &from)
        }));
    }
    cx.finish(&outs)
}

fn repeat(cx: &mut Lower) -> Lowered {
    let mut x = cx.tensor(0)?;
    let times = cx.int("repeats").ok_or(Refused::Leave)?;
    let axis = match cx.int("axis") {
        Some(axis) => from_front(axis, cx.te.rank(x)),
        None => {
            let shape = cx.te.shape(x);
            let size = cx.te.product(&shape);
            x = reshape(&mut cx.te, x, &[size]);
            0
        }
    };
    let times = cx.te.int(times);
    let mut shape = cx.te.shape(x);
    shape[axis] = cx.te.times(times, shape[axis]);
    let out = cx.te.compute("T_repeat", "ax", &shape, &mut |te, at| {
        let mut from = at.to_vec();
        from[axis] = te.floordiv(at[axis], times);
        te.load(x, &from)
    });
    cx.finish(&[out])
}

fn tile(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let times = cx.ints("repeats").ok_or(Refused::Leave)?;
    let own = cx.te.shape(x);
    let rank = own.len().max(times.len());
    let one = cx.te.int(1);
    let mut shape = Vec::new();
    for axis in 0..rank {
        let extent = (axis + own.len()).checked_sub(rank).map_or(one, |axis| own[axis]);
        let times = (axis + times.len()).checked_sub(rank).map_or(1, |axis| times[axis]);
        let times = cx.te.int(times);
        shape.push(cx.te.times(extent, times));
    }
    let out = cx.te.compute("T_tile", "ax", &shape, &mut |te, at| {
        let from: Vec<PrimId> =
            (own.iter().zip(&at[rank - own.len()..])).map(|(extent, index)| te.floormod(*index, *extent)).collect();
        te.load(x, &from)
    });
    cx.finish(&[out])
}

fn flip(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let axis = from_front(cx.int("axis").ok_or(Refused::Leave)?, cx.te.rank(x));
    let shape = cx.te.shape(x);
    let out = cx.te.compute("T_reverse_sequence", "ax", &shape, &mut |te, at| {
        let mut from = at.to_vec();
        let last = te.minus_int(shape[axis], 1);
        from[axis] = te.minus(last, at[axis]);
        te.load(x, &from)
    });
    cx.finish(&[out])
}

fn reverse_sequence(cx: &mut Lower) -> Lowered {
    let (x, lengths) = (cx.tensor(0)?, cx.tensor(1)?);
    let rank = cx.te.rank(x);
    let axis = from_front(cx.int("seq_axis").unwrap_or(1), rank);
    let batch = from_front(cx.int("batch_axis").unwrap_or(0), rank);
    let shape = cx.te.shape(x);
    let out = cx.te.compute("T_reverse_sequence", "ax", &shape, &mut |te, at| {
        let (length, index, extent) = (te.load(lengths, &[at[batch]]), at[axis], shape[axis]);
        let one = te.int(1);
        let (short, behind) = (te.bin(PrimOp::Le, length, one), te.bin(PrimOp::Le, length, index));
        let stays = te.bin(PrimOp::Or, short, behind);
        let too_long = te.bin(PrimOp::Gt, length, extent);
        let from_end = te.minus_int(extent, 1);
        let from_end = te.minus(from_end, index);
        let from_length = te.minus_int(length, 1);
        let from_length = te.minus(from_length, index);
        let turned = te.if_then_else(too_long, from_end, from_length);
        let mut from = at.to_vec();
        from[axis] = te.if_then_else(stays, index, turned);
        te.load(x, &from)
    });
    cx.finish(&[out])
}

fn meshgrid(cx: &mut Lower) -> Lowered {
    let parts = cx.tensors(0)?;
    let crossed = cx.text("indexing") == "xy" && parts.len() >= 2;
    let source = |index: usize| if crossed && index < 2 { 1 - index } else { index };
    let one = cx.te.int(1);
    let shape: Vec<PrimId> =
        (0..parts.len()).map(|index| cx.te.shape(parts[source(index)]).first().copied().unwrap_or(one)).collect();
    let mut outs = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        outs.push(cx.te.compute("T_meshgrid", "ax", &shape, &mut |te, at| {
            let from = if te.rank(*part) == 0 { Vec::new() } else { vec![at[source(index)]] };
            te.load(*part, &from)
        }));
    }
    cx.finish(&outs)
}

fn one_hot(cx: &mut Lower) -> Lowered {
    let indices = cx.tensor(0)?;
    let (on, off) = (cx.arg(1)?, cx.arg(2)?);
    let (Some(on), Some(off)) = (cx.scalar_of(on), cx.scalar_of(off)) else { return Err(Refused::Leave) };
    let mut shape = cx.te.shape(indices);
    let axis = from_front(cx.int("axis").unwrap_or(-1), shape.len() + 1);
    let depth = cx.int("depth").ok_or(Refused::Leave)?;
    let depth = cx.te.int(depth);
    shape.insert(axis, depth);
    let out = cx.te.compute("T_one_hot", "ax", &shape, &mut |te, at| {
        let mut from = at.to_vec();
        let index = from.remove(axis);
        let value = te.load(indices, &from);
        let here = te.bin(PrimOp::Eq, value, index);
        te.select(here, on, off)
    });
    cx.finish(&[out])
}
