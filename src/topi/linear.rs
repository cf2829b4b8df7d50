//! Products of matrices.
//!
//! Source: `legalize_ops/linear_algebra.py`, `python/tvm/topi/nn/batch_matmul.py`, `include/tvm/topi/einsum.h`.

use super::lower::{Lower, Lowered, Refused};
use super::te::{Reducer, Te, Tensor};
use super::{Rule, rule};
use crate::ir::{AttrValue, Dim, PrimExpr, PrimId};

pub(super) const RULES: &[Rule] = &[rule("matmul", "matmul", matmul), rule("outer", "outer", outer)];

fn matmul(cx: &mut Lower) -> Lowered {
    for index in 0..2 {
        let arg = cx.arg(index)?;
        if cx.info(arg).is_some_and(|info| info.dtype.is_none()) {
            return Err("To legalize R.matmul into R.call_tir, the dtype of both operands must be known.".into());
        }
    }
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let (dtype, shape) = (cx.out_dtype()?, cx.out_shape()?);
    let wide = cx.dtype("out_dtype");
    let (p, q) = (cx.te.shape(a), cx.te.shape(b));
    let (Some(inner), Some(_)) = (p.last().copied(), q.last()) else { return Err(Refused::Leave) };
    let (row, column) = (p.len() > 1, q.len() > 1);
    if cx.te.known(inner) == Some(0) {
        let zero = cx.te.number(0.0, dtype);
        let out = cx.te.compute("matmul", "i", &shape, &mut |_, _| zero);
        return cx.finish(&[out]);
    }
    let batch = shape.len() - usize::from(row) - usize::from(column);
    let out = cx.te.reduce("matmul", "i", &shape, &[("k", inner)], Reducer::Sum, &mut |te, at, k| {
        let of = |te: &mut Te, own: &[PrimId], other: &[PrimId]| {
            let axes = own.len().saturating_sub(2);
            let others = other.len().saturating_sub(2);
            let mut place = Vec::new();
            for axis in 0..axes {
                let out = batch - axes + axis;
                let same = (axis + others).checked_sub(axes).is_some_and(|theirs| other[theirs] == own[axis]);
                let paired = axis + others >= axes;
                let one = paired && !same && te.known(own[axis]) == Some(1);
                place.push(if one { te.int(0) } else { at[out] });
            }
            place
        };
        let (mut x, mut y) = (of(te, &p, &q), of(te, &q, &p));
        if row {
            x.push(at[batch]);
        }
        x.push(k[0]);
        y.push(k[0]);
        if column {
            y.push(at[shape.len() - 1]);
        }
        let (mut x, mut y) = (te.load(a, &x), te.load(b, &y));
        if let Some(wide) = wide {
            (x, y) = (te.cast(wide, x), te.cast(wide, y));
        }
        te.times(x, y)
    });
    cx.finish(&[out])
}

fn outer(cx: &mut Lower) -> Lowered {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let shape = cx.out_shape()?;
    let out = cx.te.compute("outer", "i j", &shape, &mut |te, at| {
        let (x, y) = (te.load(a, &at[..1]), te.load(b, &at[1..]));
        te.times(x, y)
    });
    cx.finish(&[out])
}

/// A tensor as the value of a hint: its layout may be chosen.
pub(super) fn layout_free(te: &mut Te, tensor: Tensor) -> (&'static str, AttrValue) {
    let buffer = te.store.prim(PrimExpr::Buffer(tensor));
    ("layout_free_placeholders", AttrValue::Array([AttrValue::Dim(Dim::Expr(buffer))].into()))
}
