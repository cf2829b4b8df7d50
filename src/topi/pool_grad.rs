//! The gradients of pooling: each element of the input sums the gradients of the windows that contain it.
//!
//! Source: `include/tvm/topi/nn/pooling.h` (`pool_grad_impl`), `legalize_ops/grad.py`.

use super::lower::{Lower, Lowered, Refused};
use super::manipulate::ravel;
use super::pool::{pad, window_axes};
use super::reduce::better;
use super::te::{Axis, Body, Reducer, Te, Tensor};
use super::{Rule, rule};
use crate::ir::{DType, PrimId, PrimOp};

pub(super) const RULES: &[Rule] = &[
    rule("grad.max_pool2d_backward", "max_pool2d_backward", backward),
    rule("grad.avg_pool2d_backward", "avg_pool2d_backward", backward),
];

/// A pooling along one axis.
struct Window {
    axis: usize,
    size: i64,
    stride: i64,
    before: i64,
    after: i64,
    /// Extents before and after.
    from: PrimId,
    to: PrimId,
}

impl Window {
    /// Returns the number of existing elements in the window of an output, where outputs are known to exist.
    fn covered(&self, te: &mut Te, out: PrimId) -> PrimId {
        let stride = self.stride;
        let end = self.size - self.before;
        // TVM cancels the common factor of both ends.
        let factor = match te.known(self.from) {
            Some(from) if from % stride == 0 && [0, stride].contains(&self.before) && [0, stride, -stride].contains(&end) => {
                stride
            }
            _ => 1,
        };
        let (scale, step, zero) = (te.int(factor), te.int(stride / factor), te.int(0));
        let place = te.times(out, step);
        let start = te.minus_int(place, self.before / factor);
        let mut stop = te.plus_int(place, end / factor);
        let within = match (te.known(self.from), te.known(self.to)) {
            (Some(from), Some(to)) => (to - 1) * stride + end <= from,
            _ => false,
        };
        if !within {
            let last = te.over(self.from, scale);
            stop = te.bin(PrimOp::Min, stop, last);
        }
        let count = if within && factor == stride {
            // `x + n - max(x, 0)`
            let short = te.bin(PrimOp::Min, zero, start);
            te.plus_int(short, self.size / factor)
        } else {
            let start = te.bin(PrimOp::Max, start, zero);
            te.minus(stop, start)
        };
        te.times(count, scale)
    }
}

struct Grad {
    grad: Tensor,
    x: Tensor,
    windows: Vec<Window>,
    include: bool,
}

fn backward(cx: &mut Lower) -> Lowered {
    let attr = |name: &str| cx.ints(name).ok_or(Refused::Leave);
    let (size, strides, dilation, padding) = (attr("pool_size")?, attr("strides")?, attr("dilation")?, attr("padding")?);
    let (ceil, include) = (cx.flag("ceil_mode"), cx.flag("count_include_pad"));
    if dilation != [1, 1] || [size.len(), strides.len(), padding.len()] != [2, 2, 4] || strides.contains(&0) {
        return Err(Refused::Leave);
    }
    let axes = window_axes(&cx.text("layout"), 2).ok_or(Refused::Leave)?;
    let (grad, x) = (cx.tensor(0)?, cx.tensor(1)?);
    let te = &mut cx.te;
    let own = te.shape(x);
    let mut windows = Vec::new();
    for (index, axis) in axes.into_iter().enumerate() {
        let from = *own.get(axis).ok_or(Refused::Leave)?;
        let (size, stride, before) = (size[index], strides[index], padding[index]);
        let after = padding[2 + index] + if ceil { stride - 1 } else { 0 };
        let rest = te.plus_int(from, before + after - size);
        let step = te.int(stride);
        let to = te.over(rest, step);
        let to = te.plus_int(to, 1);
        let to = te.simplify(to);
        windows.push(Window { axis, size, stride, before, after, from, to });
    }
    let pool = Grad { grad, x, windows, include };
    let out = if cx.op == "grad.max_pool2d_backward" { pool.greatest(te) } else { pool.mean(te) };
    cx.finish(&[out])
}

impl Grad {
    /// Makes axes of 32 bits, one per window, with these extents.
    fn narrow(te: &mut Te, names: [&str; 2], extents: impl Iterator<Item = i64>) -> Vec<Axis> {
        let axes = names.into_iter().zip(extents);
        axes.map(|(name, extent)| {
            let extent = te.store.prim_int(extent, DType::I32);
            te.axis(name, extent)
        })
        .collect()
    }

    /// Returns the windows that contain an element: reduced axes, the output index of each, and the test of its lower bound.
    fn reaching(&self, te: &mut Te, at: &[PrimId]) -> (Vec<Axis>, Vec<PrimId>, Vec<PrimId>) {
        let steps = self.windows.iter().map(|window| (window.size + window.stride - 1) / window.stride);
        let reduced = Grad::narrow(te, ["wh", "ww"], steps);
        let k = te.vars(&reduced);
        let (mut outs, mut inside) = (at.to_vec(), Vec::new());
        for (window, k) in self.windows.iter().zip(k) {
            let place = te.plus_int(at[window.axis], window.before);
            let (stride, size, zero) = (te.int(window.stride), te.int(window.size), te.int(0));
            let last = te.over(place, stride);
            outs[window.axis] = te.minus(last, k);
            let early = te.bin(PrimOp::Lt, place, size);
            let first = te.minus(place, size);
            let first = te.over(first, stride);
            let first = te.plus_int(first, 1);
            let first = te.select(early, zero, first);
            inside.push(te.bin(PrimOp::Ge, outs[window.axis], first));
        }
        (reduced, outs, inside)
    }

    /// Sums `part` over the windows.
    fn gather(&self, te: &mut Te, part: &mut dyn FnMut(&mut Te, &[PrimId], &[PrimId], &[PrimId]) -> (PrimId, PrimId)) -> Tensor {
        let shape = te.shape(self.x);
        let axes = te.axes("ax", &shape);
        let at = te.vars(&axes);
        let (reduced, outs, inside) = self.reaching(te, &at);
        let (cond, value) = part(te, &at, &outs, &inside);
        let nothing = te.number(0.0, te.dtype(self.x));
        let source = te.if_then_else(cond, value, nothing);
        let (identity, combine) = Reducer::Sum.parts(te, te.type_of(source));
        te.add("T_pool_grad", &shape, axes, reduced, Body::Reduce(vec![identity], vec![source], combine), Vec::new())[0]
    }

    fn greatest(&self, te: &mut Te) -> Tensor {
        let own = te.shape(self.x);
        let (mut before, mut after, mut padded_shape, mut shape) = (vec![0; own.len()], vec![0; own.len()], own.clone(), own);
        for window in &self.windows {
            (before[window.axis], after[window.axis]) = (window.before, window.after);
            padded_shape[window.axis] = te.plus_int(padded_shape[window.axis], window.before + window.after);
            shape[window.axis] = window.to;
        }
        let least = te.limit(te.dtype(self.x), false);
        let empty = before.iter().chain(&after).all(|width| *width == 0);
        let padded = if empty { self.x } else { pad(te, self.x, &before, &after, least) };
        let axes = te.axes("ax", &shape);
        let reduced = Grad::narrow(te, ["dh", "dw"], self.windows.iter().map(|window| window.size));
        let (mut at, k) = (te.vars(&axes), te.vars(&reduced));
        for (window, k) in self.windows.iter().zip(k) {
            let stride = te.int(window.stride);
            let begin = te.times(at[window.axis], stride);
            at[window.axis] = te.plus(begin, k);
        }
        let (place, value) = (ravel(te, &at, &padded_shape), te.load(padded, &at));
        let identity = vec![te.int(-1), least];
        let body = Body::Reduce(identity, vec![place, value], |te, a, b| better(te, PrimOp::Gt, a, b));
        let places = te.add("maxpool_grad_argmax", &shape, axes, reduced, body, Vec::new())[0];
        self.gather(te, &mut |te, at, outs, inside| {
            let mut here = at.to_vec();
            for window in &self.windows {
                here[window.axis] = te.plus_int(here[window.axis], window.before);
            }
            let here = ravel(te, &here, &padded_shape);
            let chosen = te.load(places, outs);
            let chosen = te.bin(PrimOp::Eq, chosen, here);
            let both = te.both(inside[0], inside[1]);
            (te.both(both, chosen), te.load(self.grad, outs))
        })
    }

    fn mean(&self, te: &mut Te) -> Tensor {
        self.gather(te, &mut |te, _, outs, inside| {
            let (mut conds, mut count) = (Vec::new(), None);
            for (window, inside) in self.windows.iter().zip(inside) {
                let out = outs[window.axis];
                let low = te.bin(PrimOp::Lt, out, window.to);
                conds.push(te.both(*inside, low));
                let wide = if self.include { te.int(window.size) } else { window.covered(te, out) };
                count = Some(match count {
                    Some(count) => te.times(count, wide),
                    None => wide,
                });
            }
            let mut count = count.unwrap_or_else(|| te.int(1));
            if !self.include {
                let one = te.int(1);
                count = te.bin(PrimOp::Max, count, one);
            }
            let value = te.load(self.grad, outs);
            (te.both(conds[0], conds[1]), te.over(value, count))
        })
    }
}
