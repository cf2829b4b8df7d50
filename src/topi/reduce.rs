//! Reductions: sums, extremes and their indices, means and variances, running sums.
//!
//! Source: `include/tvm/topi/reduction.h`, `legalize_ops/statistical.py`, `search.py`.

use super::elementwise::{each, map, of, with_scalar};
use super::index::gather;
use super::lower::{Lower, Lowered, Refused, from_front};
use super::manipulate::{ravel, reshape, squeeze};
use super::sort::argsort;
use super::te::{Axis, Body, Combine, Reducer, Te, Tensor};
use super::{Rule, create_ops, rule};
use crate::ir::sort::sort_by;
use crate::ir::{DType, PrimId, PrimOp};

pub(super) const RULES: &[Rule] = &[
    rule("max", "max", extreme),
    rule("min", "min", extreme),
    rule("prod", "prod", extreme),
    rule("sum", "sum", extreme),
    rule("mean", "mean", statistic),
    rule("variance", "variance", statistic),
    rule("std", "std", statistic),
    rule("median", "median", median),
    rule("argmax", "argmax", place),
    rule("argmin", "argmin", place),
];

/// Returns the axes of the call, none twice, in order; all axes if it names none.
fn axes(cx: &Lower, rank: usize) -> Vec<usize> {
    let mut axes = match cx.ints("axis") {
        Some(axes) => axes.into_iter().map(|axis| from_front(axis, rank)).collect(),
        None => match cx.int("axis") {
            Some(axis) => vec![from_front(axis, rank)],
            None => (0..rank).collect::<Vec<_>>(),
        },
    };
    sort_by(&mut axes, |a, b| a.cmp(b));
    axes.dedup();
    axes
}

fn extreme(cx: &mut Lower) -> Lowered {
    let info = cx.info(cx.arg(0)?).ok_or(Refused::Leave)?;
    let how = match cx.op {
        "max" => Reducer::Max,
        "min" => Reducer::Min,
        "prod" => Reducer::Prod,
        _ => Reducer::Sum,
    };
    // The sum of no elements is 0, and their product 1.
    if let (Reducer::Sum | Reducer::Prod, crate::ir::Extents::Known(dims)) = (how, &info.extents)
        && axes(cx, dims.len()).iter().any(|axis| dims.get(*axis).and_then(|dim| dim.known()) == Some(0))
    {
        let (shape, dtype) = (cx.out_shape()?, cx.out_dtype()?);
        let value = cx.te.number(if how == Reducer::Prod { 1.0 } else { 0.0 }, dtype);
        let out = create_ops::full(&mut cx.te, &shape, value);
        return cx.finish_as("full", &[out]);
    }
    let x = cx.tensor(0)?;
    let (axes, keep) = (axes(cx, cx.te.rank(x)), cx.flag("keepdims"));
    let out = over(&mut cx.te, x, &axes, keep, how);
    cx.finish(&[out])
}

/// Returns the extents of the result of a reduction.
fn left(te: &mut Te, x: Tensor, axes: &[usize], keep: bool) -> Vec<PrimId> {
    let one = te.int(1);
    let shape = te.shape(x);
    (shape.into_iter().enumerate())
        .filter(|(axis, _)| keep || !axes.contains(axis))
        .map(|(axis, extent)| if axes.contains(&axis) { one } else { extent })
        .collect()
}

/// `topi.sum` and related reductions.
pub(super) fn over(te: &mut Te, x: Tensor, axes: &[usize], keep: bool, how: Reducer) -> Tensor {
    let name = format!("{}_red", te.op_name(x));
    if te.rank(x) == 0 {
        return each(te, &name, "ax", x, &mut |_, x| x);
    }
    let shape = left(te, x, axes, keep);
    let squeezed = if keep { &[][..] } else { axes };
    let how = match (how, te.dtype(x) == DType::BOOL) {
        (Reducer::Sum, true) => Reducer::Any,
        (Reducer::Prod, true) => Reducer::All,
        (how, _) => how,
    };
    along(te, &name, x, &shape, axes, squeezed, how)
}

fn along(te: &mut Te, name: &str, x: Tensor, shape: &[PrimId], axes: &[usize], squeezed: &[usize], how: Reducer) -> Tensor {
    let own = te.shape(x);
    let names: Vec<String> = axes.iter().map(|axis| format!("k{axis}")).collect();
    let reduced: Vec<(&str, PrimId)> = names.iter().zip(axes).map(|(name, axis)| (name.as_str(), own[*axis])).collect();
    te.reduce(name, "ax", shape, &reduced, how, &mut |te, at, k| {
        let (mut next, mut from) = (0, Vec::new());
        for axis in 0..own.len() {
            match axes.iter().position(|reduced| *reduced == axis) {
                Some(place) => {
                    from.push(k[place]);
                    next += usize::from(!squeezed.contains(&axis));
                }
                None => {
                    from.push(at[next]);
                    next += 1;
                }
            }
        }
        te.load(x, &from)
    })
}

/// `topi.collapse_sum`: sums over the axes that a broadcast to the shape of `x` repeated.
pub(super) fn collapse(te: &mut Te, x: Tensor, shape: &[PrimId]) -> Tensor {
    let own = te.shape(x);
    let (mut axes, mut squeezed) = (Vec::new(), Vec::new());
    let mut out = shape.len();
    for axis in (0..own.len()).rev() {
        if out > 0 && own[axis] == shape[out - 1] {
            out -= 1;
            continue;
        }
        axes.insert(0, axis);
        if out == 0 {
            squeezed.insert(0, axis);
        } else if te.known(shape[out - 1]) == Some(1) {
            out -= 1;
        }
    }
    if axes.is_empty() {
        return each(te, "tensor", "ax", x, &mut |_, x| x);
    }
    let name = format!("{}_red", te.op_name(x));
    along(te, &name, x, shape, &axes, &squeezed, Reducer::Sum)
}

fn place(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let (axes, keep) = (axes(cx, cx.te.rank(x)), cx.flag("keepdims"));
    let greatest = cx.op == "argmax";
    let te = &mut cx.te;
    if te.rank(x) == 0 {
        return Err("Cannot reduce a 0 dim Tensor".into());
    }
    let (own, shape, name) = (te.shape(x), left(te, x, &axes, keep), te.op_name(x));
    let space = te.axes("ax", &shape);
    let reduced: Vec<Axis> = axes.iter().map(|axis| te.axis(&format!("k{axis}"), own[*axis])).collect();
    let (at, k) = (te.vars(&space), te.vars(&reduced));
    let mut free = at.iter();
    let from: Vec<PrimId> = (0..own.len())
        .map(|axis| match axes.iter().position(|reduced| *reduced == axis) {
            Some(place) => {
                if keep {
                    free.next();
                }
                k[place]
            }
            None => free.next().copied().unwrap_or(k[0]),
        })
        .collect();
    let extents: Vec<PrimId> = axes.iter().map(|axis| own[*axis]).collect();
    let (index, value) = (ravel(te, &k, &extents), te.load(x, &from));
    let identity = vec![te.int(-1), te.limit(te.dtype(x), !greatest)];
    let combine: Combine =
        if greatest { |te, a, b| better(te, PrimOp::Gt, a, b) } else { |te, a, b| better(te, PrimOp::Lt, a, b) };
    let body = Body::Reduce(identity, vec![index, value], combine);
    let found = te.add(&format!("{name}_red_temp"), &shape, space, reduced, body, Vec::new());
    let out = each(te, &format!("{name}_red"), "ax", found[0], &mut |_, index| index);
    cx.finish(&[out])
}

/// Returns the better of two indices with their values: of equal values the first.
pub(super) fn better(te: &mut Te, op: PrimOp, a: &[PrimId], b: &[PrimId]) -> Vec<PrimId> {
    let better = te.bin(op, a[1], b[1]);
    let (same, before) = (te.bin(PrimOp::Eq, a[1], b[1]), te.bin(PrimOp::Lt, a[0], b[0]));
    let tie = te.both(same, before);
    let first = te.bin(PrimOp::Or, better, tie);
    vec![te.select(first, a[0], b[0]), te.select(better, a[1], b[1])]
}

fn statistic(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let keep = cx.flag("keepdims");
    // The size is multiplied in the order in which axes are written.
    let axes = cx.axes("axis", cx.te.rank(x));
    let te = &mut cx.te;
    let out = match cx.op {
        "mean" => mean(te, x, &axes, keep),
        "variance" => variance(te, x, &axes, keep),
        _ => {
            let variance = variance(te, x, &axes, keep);
            map(te, "sqrt", variance)?
        }
    };
    cx.finish(&[out])
}

pub(super) fn mean(te: &mut Te, x: Tensor, axes: &[usize], keep: bool) -> Tensor {
    let own = te.shape(x);
    let extents: Vec<PrimId> = axes.iter().map(|axis| own[*axis]).collect();
    let size = te.product(&extents);
    let mut sorted = axes.to_vec();
    sort_by(&mut sorted, |a, b| a.cmp(b));
    sorted.dedup();
    let sum = over(te, x, &sorted, keep, Reducer::Sum);
    with_scalar(te, "divide", sum, size)
}

pub(super) fn variance(te: &mut Te, x: Tensor, axes: &[usize], keep: bool) -> Tensor {
    let mean_of = mean(te, x, axes, true);
    let deviation = of(te, "subtract", x, mean_of);
    let squared = of(te, "multiply", deviation, deviation);
    mean(te, squared, axes, keep)
}

/// Computes the middle element and its index; for a whole tensor only the element.
fn median(cx: &mut Lower) -> Lowered {
    let given = cx.ints("axis").filter(|axes| !axes.is_empty());
    let keep = cx.flag("keepdims");
    let arg = cx.arg(0)?;
    let (x, along) = match &given {
        Some(axes) => {
            cx.te.align = 8;
            let x = cx.tensor_named(arg, "data_buf")?;
            cx.te.align = 64;
            (x, axes[0])
        }
        None => {
            let x = cx.tensor(0)?;
            let shape = cx.te.shape(x);
            let size = cx.te.product(&shape);
            (reshape(&mut cx.te, x, &[size]), -1)
        }
    };
    let te = &mut cx.te;
    let mut shape = te.shape(x);
    let axis = from_front(along, shape.len());
    let Some(extent) = shape.get(axis).copied() else { return Err(Refused::Leave) };
    let (last, two) = (te.minus_int(extent, 1), te.int(2));
    let middle = te.floordiv(last, two);
    let order = argsort(te, x, along, true, DType::I64);
    let sorted = gather(te, x, axis, order);
    shape[axis] = te.int(1);
    let middle = create_ops::full(te, &shape, middle);
    let mut outs = vec![gather(te, sorted, axis, middle)];
    if given.is_some() {
        outs.push(gather(te, order, axis, middle));
    }
    if !keep {
        let axes = [axis];
        let axes = given.as_ref().map(|_| &axes[..]);
        outs = outs.into_iter().map(|out| squeeze(te, out, axes)).collect();
    }
    cx.finish(&outs)
}
