//! Operators that create tensors.
//!
//! Source: `include/tvm/topi/elemwise.h`, `transform.h`, `python/tvm/topi/tensor.py`, `legalize_ops/create.py`.

use super::elementwise::{each, intrinsic, scalar_with, with_scalar};
use super::lower::{Lower, Lowered, Operand, Refused};
use super::te::{Body, Te, Tensor};
use super::{Known, Rule, rule};
use crate::ir::{DType, Dim, Expr, ExprId, Extents, Id, PrimExpr, PrimId, PrimOp, Symbol, Type};

pub(super) const RULES: &[Rule] = &[
    Rule { op: "full", hint: "full", lower: filled, known: Known::Nothing },
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
    rule("hamming_window", "hamming_window", hamming_window),
    Rule { op: "shape_to_tensor", hint: "shape_to_tensor", lower: shape_to_tensor, known: Known::Nothing },
];

/// `topi.full`
pub(super) fn full(te: &mut Te, shape: &[PrimId], value: PrimId) -> Tensor {
    te.compute("T_full", "ax", shape, &mut |_, _| value)
}

/// `topi.arange` from 0. TVM counts in 32 bits if Python gives the bound.
pub(super) fn counted(te: &mut Te, count: i64, dtype: DType) -> Tensor {
    let (extent, narrow) = (te.int(count), te.store.prim_int(count, DType::I32));
    let axis = te.axis("ax0", narrow);
    let at = te.store.prim(PrimExpr::Var(axis.var));
    let value = te.cast(dtype, at);
    te.add("T_arange", &[extent], vec![axis], Vec::new(), Body::Values(vec![value]), Vec::new())[0]
}

/// Returns the number that a scalar is.
fn number(te: &Te, prim: PrimId) -> Option<f64> {
    match *te.store.prim_of_id(prim) {
        PrimExpr::Int { value, .. } => Some(value as f64),
        PrimExpr::Float { value, .. } => Some(value.0),
        _ => None,
    }
}

/// A window in the form of a cosine, whose angles have 32 bits and values 64.
fn hamming_window(cx: &mut Lower) -> Lowered {
    let dtype = cx.out_dtype()?;
    let mut given = Vec::new();
    for index in 0..4 {
        let arg = cx.arg(index)?;
        let prim = cx.scalar_of(arg).ok_or(Refused::Leave)?;
        given.push(number(&cx.te, prim).ok_or(Refused::Leave)?);
    }
    let [size, periodic, alpha, beta] = given[..] else { return Err(Refused::Leave) };
    let (mut size, periodic) = (size as i64, periodic != 0.0);
    let te = &mut cx.te;
    if size == 1 {
        let (one, value) = (te.int(1), te.number(1.0, dtype));
        let out = te.compute("const_vector", "=i", &[one], &mut |_, _| value);
        return cx.finish(&[out]);
    }
    size += i64::from(periodic);
    let index = counted(te, size, dtype);
    let turn = te.number(2.0 * std::f64::consts::PI, DType::F32);
    let far = scalar_with(te, "multiply", turn, index);
    let steps = te.number((size - 1) as f64, DType::F32);
    let angle = with_scalar(te, "divide", far, steps);
    let cosine = intrinsic(te, "cos", angle);
    let wide = DType { bits: 64, ..DType::F32 };
    let (alpha, beta) = (te.number(alpha, wide), te.number(beta, wide));
    let swing = scalar_with(te, "multiply", beta, cosine);
    let value = scalar_with(te, "subtract", alpha, swing);
    let mut out = each(te, "compute", "i", value, &mut |te, x| te.cast(dtype, x));
    if periodic {
        let shape = [te.int(size - 1)];
        out = te.compute("T_strided_slice", "ax", &shape, &mut |te, at| te.load(out, at));
    }
    cx.finish(&[out])
}

fn filled(cx: &mut Lower) -> Lowered {
    let dtype = cx.out_dtype()?;
    // The fill value comes first among the parameters when it is a tensor.
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
        "full" | "ones" | "zeros" => match written_shape(cx)? {
            Some(shape) => shape,
            None => {
                let arg = cx.arg(0)?;
                named_shape(cx, arg)?
            }
        },
        _ => match cx.info(cx.arg(0)?).map(|info| info.extents) {
            Some(Extents::Var(shape)) => {
                let arg = cx.te.store.use_var(shape);
                named_shape(cx, arg)?
            }
            _ => cx.out_shape()?,
        },
    };
    let value = cx.te.cast(dtype, value);
    let out = full(&mut cx.te, &shape, value);
    cx.finish(&[out])
}

/// Returns the shape of an argument that is a literal and no variable.
fn written_shape(cx: &mut Lower) -> Result<Option<Vec<PrimId>>, Refused> {
    let arg = cx.arg(0)?;
    match cx.te.store.expr(arg) {
        Expr::Shape(_) => cx.shape_arg(0).map(Some),
        _ => Ok(None),
    }
}

/// Names the extents of a shape in a variable: a cast of the shape, bound again, defines symbols for them.
fn named_shape(cx: &mut Lower, arg: ExprId) -> Result<Vec<PrimId>, Refused> {
    let store = &mut *cx.te.store;
    let rank = match store.checked_type(arg).map(|ty| store.type_of_id(ty).clone()) {
        Some(Type::Shape(extents)) => store.rank(&extents).ok_or("the rank of the shape of full has to be known")?,
        _ => return Err(Refused::Leave),
    };
    let value = cx.builder.emit(store, arg, "");
    let symbols: Vec<Id<Symbol>> = (0..rank)
        .map(|index| {
            let name = store.name(&format!("s{index}"));
            store.add_symbol(Symbol { name, dtype: DType::I64, size: false })
        })
        .collect();
    let dims: Vec<Dim> = symbols.iter().map(|symbol| Dim::Symbol(*symbol)).collect();
    let ty = store.ty(Type::Shape(Extents::Known(dims.into())));
    cx.builder.emit_match_cast(store, value, ty, "");
    Ok(symbols.into_iter().map(|symbol| store.prim(PrimExpr::Var(symbol))).collect())
}

/// `topi.trilu`: keeps the elements below or above a diagonal.
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
    if let [Some(start), Some(end), Some(step)] = [0, 1, 2].map(|index| number(&cx.te, given[index])) {
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
    let known = cx.out_shape().is_ok();
    let Some(extents) = cx.shape_arg(0).ok().filter(|_| known) else { return super::runtime::shape_to_tensor(cx) };
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
