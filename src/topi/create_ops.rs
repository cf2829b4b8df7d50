//! Operators that make tensors of numbers.
//!
//! Source: `include/tvm/topi/elemwise.h`, `transform.h`, `python/tvm/topi/tensor.py`, `legalize_ops/create.py`.

use super::lower::{Lower, Lowered, Operand, Refused};
use super::te::{Te, Tensor};
use super::{Known, Rule, rule};
use crate::ir::{DType, PrimExpr, PrimId, PrimOp};

pub(super) const RULES: &[Rule] = &[
    rule("full", "full", filled),
    rule("full_like", "full", filled),
    rule("ones", "ones", filled),
    rule("ones_like", "ones", filled),
    rule("zeros", "zeros", filled),
    rule("zeros_like", "zeros", filled),
    rule("tril", "tril", triangle),
    rule("triu", "triu", triangle),
    rule("eye", "eye", eye),
    rule("eye_like", "eye_like", eye),
    rule("arange", "arange", arange),
    Rule { op: "shape_to_tensor", hint: "shape_to_tensor", lower: shape_to_tensor, known: Known::Nothing },
];

/// `topi.full`
pub(super) fn full(te: &mut Te, shape: &[PrimId], value: PrimId) -> Tensor {
    te.compute("T_full", "ax", shape, &mut |_, _| value)
}

fn filled(cx: &mut Lower) -> Lowered {
    let dtype = cx.out_dtype()?;
    // The number comes first among the parameters when it is a tensor.
    let value = match cx.op {
        "ones" | "ones_like" => cx.te.number(1.0, dtype),
        "zeros" | "zeros_like" => cx.te.number(0.0, dtype),
        _ => {
            let arg = cx.arg(1)?;
            match cx.constant(arg) {
                Some(value) => value,
                None => match cx.operand(1)? {
                    Operand::Scalar(value) => value,
                    Operand::Tensor(value) => cx.te.load(value, &[]),
                },
            }
        }
    };
    let shape = match cx.op {
        "full" | "ones" | "zeros" => cx.shape_arg(0)?,
        _ => cx.out_shape()?,
    };
    let value = cx.te.cast(dtype, value);
    let out = full(&mut cx.te, &shape, value);
    cx.finish(&[out])
}

/// `topi.trilu`: the elements below or above a diagonal.
pub(super) fn trilu(te: &mut Te, x: Tensor, k: PrimId, upper: bool) -> Tensor {
    let shape = te.shape(x);
    let rank = shape.len();
    te.compute("trilu", "i", &shape, &mut |te, at| {
        let (row, column) = (at[rank - 2], at[rank - 1]);
        let diagonal = te.minus(column, k);
        let inside = te.bin(if upper { PrimOp::Le } else { PrimOp::Ge }, row, diagonal);
        let (value, zero) = (te.load(x, at), te.number(0.0, te.dtype(x)));
        te.select(inside, value, zero)
    })
}

fn triangle(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let k = cx.arg(1)?;
    let k = cx.scalar_of(k).ok_or(Refused::Leave)?;
    let upper = cx.op == "triu";
    let out = trilu(&mut cx.te, x, k, upper);
    cx.finish(&[out])
}

fn eye(cx: &mut Lower) -> Lowered {
    let (dtype, shape) = (cx.out_dtype()?, cx.out_shape()?);
    let last = if cx.op == "eye" { 2 } else { 1 };
    let k = match cx.args.get(last).copied() {
        Some(arg) => cx.scalar_of(arg).ok_or(Refused::Leave)?,
        None => cx.te.int(0),
    };
    let out = cx.te.compute("eye", "i j", &shape, &mut |te, at| {
        let diagonal = te.minus(at[1], k);
        let here = te.bin(PrimOp::Eq, at[0], diagonal);
        let (one, zero) = (te.number(1.0, dtype), te.number(0.0, dtype));
        te.if_then_else(here, one, zero)
    });
    cx.finish(&[out])
}

fn arange(cx: &mut Lower) -> Lowered {
    let dtype = cx.out_dtype()?;
    let mut given = Vec::new();
    for index in 0..3 {
        let arg = cx.arg(index)?;
        given.push(cx.scalar_of(arg).ok_or(Refused::Leave)?);
    }
    let number = |cx: &Lower, prim: PrimId| match *cx.te.store.prim_of_id(prim) {
        PrimExpr::Int { value, .. } => Some(value as f64),
        PrimExpr::Float { value, .. } => Some(value.0),
        _ => None,
    };
    if let (Some(start), Some(end), Some(step)) = (number(cx, given[0]), number(cx, given[1]), number(cx, given[2])) {
        let count = ((end - start) / step).ceil().max(0.0);
        if !count.is_finite() || count > f64::from(u32::MAX) {
            return Err("arange has no finite number of elements".into());
        }
        let values: Vec<f64> = (0..count as i64).map(|index| start + step * index as f64).collect();
        return Ok(match dtype.is_float() {
            true => crate::ops::build::tensor(cx.te.store, dtype, &[values.len() as i64], &values),
            false => {
                let values: Vec<i64> = values.into_iter().map(|value| value as i64).collect();
                crate::ops::build::int_tensor(cx.te.store, dtype, &[values.len() as i64], &values)
            }
        });
    }
    let [start, end, step] = given[..] else { return Err(Refused::Leave) };
    let all_integers = given.iter().all(|prim| !cx.te.type_of(*prim).is_float());
    let te = &mut cx.te;
    let sign = te.known(step).filter(|_| all_integers);
    let count = match sign {
        Some(step_value) if step_value > 0 => {
            let span = te.minus(end, start);
            let span = te.plus(span, step);
            let span = te.minus_int(span, 1);
            te.floordiv(span, step)
        }
        Some(step_value) if step_value < 0 => {
            let span = te.minus(start, end);
            let span = te.minus(span, step);
            let span = te.minus_int(span, 1);
            let back = te.int(-step_value);
            te.floordiv(span, back)
        }
        _ => {
            let span = te.minus(end, start);
            let span = te.cast(DType::F32, span);
            let steps = te.over(span, step);
            let steps = te.call("ceil", &[steps]);
            te.cast(DType::I64, steps)
        }
    };
    let count = te.simplify(count);
    let out = te.compute("T_arange", "ax", &[count], &mut |te, at| {
        let far = te.times(step, at[0]);
        let value = te.plus(start, far);
        te.cast(dtype, value)
    });
    cx.finish(&[out])
}

fn shape_to_tensor(cx: &mut Lower) -> Lowered {
    let Ok(extents) = cx.shape_arg(0) else { return super::runtime::shape_to_tensor(cx) };
    let count = cx.te.int(extents.len() as i64);
    let out = cx.te.compute("shape_to_tensor", "=i", &[count], &mut |te, at| {
        let mut value = te.int(0);
        for (index, extent) in extents.iter().enumerate().rev() {
            let index = te.int(index as i64);
            let here = te.bin(PrimOp::Eq, at[0], index);
            let extent = te.cast(DType::I64, *extent);
            value = te.if_then_else(here, extent, value);
        }
        value
    });
    cx.finish(&[out])
}
