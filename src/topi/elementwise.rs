//! Element-wise operators: unary and binary ones, casts.
//!
//! Source: `include/tvm/topi/elemwise.h`, `broadcast.h`, `python/tvm/topi/math.py`, `legalize_ops/unary.py`, `binary.py`,
//! `datatype.py`.

use super::lower::{Lower, Lowered, Operand, Refused};
use super::te::{Te, Tensor};
use super::{Rule, rule};
use crate::ir::{DType, PrimExpr, PrimId, PrimOp};

pub(super) const RULES: &[Rule] = &[
    rule("add", "add", binary),
    rule("divide", "divide", binary),
    rule("floor_divide", "floor_divide", binary),
    rule("log_add_exp", "log_add_exp", binary),
    rule("multiply", "multiply", binary),
    rule("power", "power", binary),
    rule("atan2", "atan2", binary),
    rule("subtract", "subtract", binary),
    rule("equal", "equal", binary),
    rule("mod", "mod", binary),
    rule("floor_mod", "floor_mod", binary),
    rule("greater", "greater", binary),
    rule("greater_equal", "greater_equal", binary),
    rule("less", "less", binary),
    rule("less_equal", "less_equal", binary),
    rule("not_equal", "not_equal", binary),
    rule("maximum", "maximum", binary),
    rule("minimum", "minimum", binary),
    rule("bitwise_and", "bitwise_and", binary),
    rule("bitwise_or", "bitwise_or", binary),
    rule("bitwise_xor", "bitwise_xor", binary),
    rule("left_shift", "left_shift", binary),
    rule("right_shift", "right_shift", binary),
    rule("logical_and", "logical_and", binary),
    rule("logical_or", "logical_or", binary),
    rule("logical_xor", "logical_xor", binary),
    rule("abs", "tir_abs", unary),
    rule("acos", "tir_acos", unary),
    rule("acosh", "tir_acosh", unary),
    rule("asin", "tir_asin", unary),
    rule("asinh", "tir_asinh", unary),
    rule("atan", "tir_atan", unary),
    rule("atanh", "tir_atanh", unary),
    rule("bitwise_not", "tir_bitwise_not", unary),
    rule("ceil", "tir_ceil", unary),
    rule("cos", "tir_cos", unary),
    rule("cosh", "tir_cosh", unary),
    rule("exp", "tir_exp", unary),
    rule("floor", "tir_floor", unary),
    rule("isfinite", "tir_isfinite", unary),
    rule("isinf", "tir_isinf", unary),
    rule("isnan", "tir_isnan", unary),
    rule("log", "tir_log", unary),
    rule("logical_not", "tir_logical_not", unary),
    rule("negative", "tir_negative", unary),
    rule("round", "tir_round", unary),
    rule("rsqrt", "tir_rsqrt", unary),
    rule("sigmoid", "tir_sigmoid", unary),
    rule("sign", "tir_sign", unary),
    rule("sin", "tir_sin", unary),
    rule("sinh", "tir_sinh", unary),
    rule("square", "tir_square", unary),
    rule("sqrt", "tir_sqrt", unary),
    rule("tan", "tir_tan", unary),
    rule("tanh", "tir_tanh", unary),
    rule("trunc", "tir_trunc", unary),
    rule("clip", "tir_clip", clip),
    rule("erf", "erf", erf),
    rule("astype", "cast", astype),
];

fn binary(cx: &mut Lower) -> Lowered {
    let (a, b) = (cx.arg(0)?, cx.arg(1)?);
    // A constant number is inlined into the program; for the first argument only when the second is no constant.
    let (a, b) = match cx.constant(b) {
        Some(constant) => (cx.operand(0)?, Operand::Scalar(constant)),
        None => match cx.constant(a) {
            Some(constant) if !cx.is_scalar(b) => (Operand::Scalar(constant), cx.operand(1)?),
            _ => (cx.operand(0)?, cx.operand(1)?),
        },
    };
    let op = cx.op;
    if matches!(op, "power" | "log_add_exp") && !cx.out_dtype()?.is_float() {
        return Err(format!("{op} only applies to float").as_str().into());
    }
    // TVM folds divisions by numbers where it builds them; that of floats by `mod` is no division there.
    if let Operand::Scalar(divisor) = b
        && folds_division(op)
        && !(op == "mod" && cx.te.type_of(divisor).is_float())
        && (cx.te.known(divisor) == Some(0)
            || matches!(cx.te.store.prim_of_id(divisor), PrimExpr::Float { value, .. } if value.0 == 0.0))
    {
        return Err("Divide by zero".into());
    }
    let out = broadcast(&mut cx.te, op, a, b)?;
    cx.finish(&[out])
}

/// True if an operator divides: TVM folds divisions by numbers, and refuses to make a program that divides by 0.
pub fn folds_division(op: &str) -> bool {
    matches!(op, "divide" | "floor_divide" | "floor_mod" | "mod")
}

/// Makes a binary operator of TOPI; its stage is named `T_` and the operator.
pub(super) fn broadcast(te: &mut Te, op: &str, a: Operand, b: Operand) -> Result<Tensor, Refused> {
    let name = format!("T_{op}");
    with_broadcast(te, &name, a, b, &mut |te, x, y| apply(te, op, x, y))
}

/// Combines two tensors of one element type by a binary operator.
pub(super) fn of(te: &mut Te, op: &str, a: Tensor, b: Tensor) -> Tensor {
    broadcast(te, op, Operand::Tensor(a), Operand::Tensor(b)).unwrap_or(a)
}

/// Combines a tensor and a scalar by a binary operator.
pub(super) fn with_scalar(te: &mut Te, op: &str, a: Tensor, b: PrimId) -> Tensor {
    broadcast(te, op, Operand::Tensor(a), Operand::Scalar(b)).unwrap_or(a)
}

/// Combines a scalar and a tensor by a binary operator.
pub(super) fn scalar_with(te: &mut Te, op: &str, a: PrimId, b: Tensor) -> Tensor {
    broadcast(te, op, Operand::Scalar(a), Operand::Tensor(b)).unwrap_or(b)
}

fn with_broadcast(
    te: &mut Te,
    name: &str,
    a: Operand,
    b: Operand,
    f: &mut dyn FnMut(&mut Te, PrimId, PrimId) -> PrimId,
) -> Result<Tensor, Refused> {
    match (a, b) {
        (Operand::Tensor(a), Operand::Tensor(b)) => {
            let (p, q) = (te.shape(a), te.shape(b));
            let rank = p.len().max(q.len());
            let mut shape = vec![None; rank];
            for (index, slot) in shape.iter_mut().enumerate() {
                let x = (index + p.len()).checked_sub(rank).map(|at| p[at]);
                let y = (index + q.len()).checked_sub(rank).map(|at| q[at]);
                *slot = Some(common(te, x, y)?);
            }
            let shape: Vec<PrimId> = shape.into_iter().flatten().collect();
            Ok(te.compute(name, "ax", &shape.clone(), &mut |te, at| {
                let x = element(te, a, &shape, at);
                let y = element(te, b, &shape, at);
                f(te, x, y)
            }))
        }
        (Operand::Tensor(a), Operand::Scalar(y)) => {
            let shape = te.shape(a);
            Ok(te.compute(name, "ax", &shape, &mut |te, at| {
                let x = te.load(a, at);
                f(te, x, y)
            }))
        }
        (Operand::Scalar(x), Operand::Tensor(b)) => {
            let shape = te.shape(b);
            Ok(te.compute(name, "ax", &shape, &mut |te, at| {
                let y = te.load(b, at);
                f(te, x, y)
            }))
        }
        (Operand::Scalar(_), Operand::Scalar(_)) => Err(Refused::Leave),
    }
}

/// Returns the extent that two extents are broadcast to.
fn common(te: &mut Te, a: Option<PrimId>, b: Option<PrimId>) -> Result<PrimId, Refused> {
    let (a, b) = match (a, b) {
        (Some(a), Some(b)) => (a, b),
        (Some(one), None) | (None, Some(one)) => return Ok(one),
        (None, None) => return Err(Refused::Leave),
    };
    match (te.known(a), te.known(b)) {
        _ if a == b => Ok(a),
        (Some(1), _) => Ok(b),
        (_, Some(1)) => Ok(a),
        (Some(_), Some(_)) => Err("Incompatible broadcast dims".into()),
        (Some(_), None) => Ok(a),
        (None, Some(_)) => Ok(b),
        (None, None) => Ok(te.bin(PrimOp::Max, a, b)),
    }
}

/// Returns the element of a tensor at an index of a shape that it is broadcast to.
pub(super) fn element(te: &mut Te, tensor: Tensor, shape: &[PrimId], at: &[PrimId]) -> PrimId {
    let own = te.shape(tensor);
    let behind = at.len() - own.len();
    let at: Vec<PrimId> = (own.iter().enumerate())
        .map(|(index, extent)| {
            let wide = te.known(*extent) == Some(1) && shape[behind + index] != *extent;
            if wide { te.int(0) } else { at[behind + index] }
        })
        .collect();
    te.load(tensor, &at)
}

/// Combines two elements by a binary operator.
fn apply(te: &mut Te, op: &str, a: PrimId, b: PrimId) -> PrimId {
    let prim = match op {
        "add" => PrimOp::Add,
        "subtract" => PrimOp::Sub,
        "multiply" => PrimOp::Mul,
        "divide" => PrimOp::Div,
        "floor_divide" => return floor_divide(te, a, b),
        "mod" => return truncated_mod(te, a, b),
        "floor_mod" => return floor_mod(te, a, b),
        "maximum" => PrimOp::Max,
        "minimum" => PrimOp::Min,
        "equal" => PrimOp::Eq,
        "not_equal" => PrimOp::Ne,
        "greater" => PrimOp::Gt,
        "greater_equal" => PrimOp::Ge,
        "less" => PrimOp::Lt,
        "less_equal" => PrimOp::Le,
        "logical_and" => PrimOp::And,
        "logical_or" => PrimOp::Or,
        "logical_xor" => return te.call("bitwise_xor", &[a, b]),
        "bitwise_and" | "bitwise_or" | "bitwise_xor" => return integer_call(te, op, a, b),
        "left_shift" => return integer_call(te, "shift_left", a, b),
        "right_shift" => return integer_call(te, "shift_right", a, b),
        "power" => return float_call(te, "pow", a, b),
        "atan2" => return float_call(te, "atan2", a, b),
        "log_add_exp" => return log_add_exp(te, a, b),
        _ => PrimOp::Add,
    };
    te.bin(prim, a, b)
}

fn integer_call(te: &mut Te, op: &str, a: PrimId, b: PrimId) -> PrimId {
    let (a, b) = crate::tir::match_types(te.store, a, b);
    te.call(op, &[a, b])
}

fn float_call(te: &mut Te, op: &str, a: PrimId, b: PrimId) -> PrimId {
    let (a, b) = crate::tir::match_types(te.store, a, b);
    te.call(op, &[a, b])
}

fn floor_divide(te: &mut Te, a: PrimId, b: PrimId) -> PrimId {
    if te.type_of(a).is_float() {
        let quotient = te.over(a, b);
        return te.call("floor", &[quotient]);
    }
    // Truth values do not count as integers here, and `floor` keeps them; by a float they are floats.
    if te.type_of(a) == DType::BOOL {
        let quotient = te.bin(PrimOp::Div, a, b);
        return if te.type_of(quotient).is_float() { te.call("floor", &[quotient]) } else { quotient };
    }
    te.floordiv(a, b)
}

fn floor_mod(te: &mut Te, a: PrimId, b: PrimId) -> PrimId {
    if te.type_of(a).is_float() || te.type_of(a) == DType::BOOL {
        let quotient = floor_divide(te, a, b);
        let whole = te.times(quotient, b);
        return te.minus(a, whole);
    }
    te.floormod(a, b)
}

fn truncated_mod(te: &mut Te, a: PrimId, b: PrimId) -> PrimId {
    let (a, b) = crate::tir::match_types(te.store, a, b);
    te.bin(PrimOp::Mod, a, b)
}

fn log_add_exp(te: &mut Te, a: PrimId, b: PrimId) -> PrimId {
    let (x, y) = (te.call("exp", &[a]), te.call("exp", &[b]));
    let sum = te.plus(x, y);
    te.call("log", &[sum])
}

/// Returns TVM's message for an operator whose tensor program does not take elements of a type.
pub(super) fn unfit(op: &str, element: DType) -> Option<&'static str> {
    let truth = element == DType::BOOL;
    match op {
        "max" | "argmax" | "nn.max_pool1d" | "nn.max_pool2d" | "nn.max_pool3d" if truth => {
            Some("Cannot decide min_value for type T.bool")
        }
        "min" | "argmin" if truth => Some("Cannot decide max_value for type T.bool"),
        "negative" | "sign" if truth => Some("-1 exceeds range of bool"),
        "abs" if truth => Some("Data type T.bool not supported for absolute op. Skipping absolute op..."),
        "logical_not" | "logical_and" | "logical_or" if !truth => Some("logical operators work on truth values"),
        "bitwise_not" | "bitwise_and" | "bitwise_or" if element.is_float() => Some("bitwise operators work on integers"),
        _ => None,
    }
}

fn unary(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let op = cx.op;
    let out = map(&mut cx.te, op, x)?;
    cx.finish(&[out])
}

/// Applies an intrinsic to every element; as in TOPI's Python the stage is named `compute`.
pub(super) fn intrinsic(te: &mut Te, op: &str, x: Tensor) -> Tensor {
    each(te, "compute", "i", x, &mut |te, x| te.call(op, &[x]))
}

/// Makes a stage with an expression of each element.
pub(super) fn each(te: &mut Te, name: &str, axes: &str, x: Tensor, f: &mut dyn FnMut(&mut Te, PrimId) -> PrimId) -> Tensor {
    let shape = te.shape(x);
    te.compute(name, axes, &shape, &mut |te, at| {
        let x = te.load(x, at);
        f(te, x)
    })
}

/// Applies a unary operator of TOPI.
pub(super) fn map(te: &mut Te, op: &str, x: Tensor) -> Result<Tensor, Refused> {
    let dtype = te.dtype(x);
    let float = dtype.is_float();
    Ok(match op {
        "acos" | "acosh" | "asin" | "asinh" | "atanh" if !float => {
            return Err(format!("topi.{op} only supports floating-point inputs, but got {dtype}").as_str().into());
        }
        "ceil" | "floor" | "round" | "trunc" if !float => each(te, "compute", "i", x, &mut |_, x| x),
        "round" => intrinsic(te, "nearbyint", x),
        // Roots and similar functions of integers are computed as floats.
        "sqrt" | "rsqrt" | "exp" | "log" | "sigmoid" | "tanh" if !float => {
            let wide = cast(te, x, DType::F32);
            intrinsic(te, op, wide)
        }
        "negative" => each(te, "compute", "i", x, &mut |te, x| {
            let minus = te.number(-1.0, dtype);
            te.times(x, minus)
        }),
        "abs" => each(te, "compute", "i", x, &mut |te, x| te.abs(x)),
        "isnan" => each(te, "compute", "i", x, &mut |te, x| is_nan(te, x)),
        "isinf" => each(te, "compute", "i", x, &mut |te, x| is_infinite(te, x)),
        "isfinite" => each(te, "compute", "i", x, &mut |te, x| {
            let (infinite, nan) = (is_infinite(te, x), is_nan(te, x));
            let (finite, number) = (te.not(infinite), te.not(nan));
            te.both(finite, number)
        }),
        "bitwise_not" => each(te, "T_bitwise_not", "ax", x, &mut |te, x| te.call("bitwise_not", &[x])),
        "logical_not" => each(te, "T_logical_not", "ax", x, &mut |te, x| te.not(x)),
        "square" => of(te, "multiply", x, x),
        "sign" => each(te, "T_sign", "ax", x, &mut |te, x| {
            let (zero, one, minus) = (te.number(0.0, dtype), te.number(1.0, dtype), te.number(-1.0, dtype));
            let (less, more) = (te.bin(PrimOp::Lt, x, zero), te.bin(PrimOp::Gt, x, zero));
            let other = te.select(less, minus, zero);
            te.select(more, one, other)
        }),
        _ => each(te, "compute", "i", x, &mut |te, x| te.call(op, &[x])),
    })
}

fn is_nan(te: &mut Te, x: PrimId) -> PrimId {
    let dtype = te.type_of(x);
    if !dtype.is_float() {
        return te.store.prim_int(0, DType::BOOL);
    }
    let x = if dtype.bits == 16 { te.cast(DType::F32, x) } else { x };
    te.store.prim_call("isnan", &[x], DType::BOOL)
}

fn is_infinite(te: &mut Te, x: PrimId) -> PrimId {
    if !te.type_of(x).is_float() {
        return te.store.prim_int(0, DType::BOOL);
    }
    let (size, infinity, nan) = (te.abs(x), te.number(f64::INFINITY, te.type_of(x)), is_nan(te, x));
    let (same, number) = (te.bin(PrimOp::Eq, size, infinity), te.not(nan));
    te.both(same, number)
}

fn clip(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let (low, high) = (cx.operand(1)?, cx.operand(2)?);
    let (Operand::Scalar(low), Operand::Scalar(high)) = (low, high) else { return Err(Refused::Leave) };
    let dtype = cx.te.dtype(x);
    let out = each(&mut cx.te, "compute", "i", x, &mut |te, x| {
        let (low, high) = (te.cast(dtype, low), te.cast(dtype, high));
        let below = te.bin(PrimOp::Min, x, high);
        te.bin(PrimOp::Max, below, low)
    });
    cx.finish(&[out])
}

/// Computes the error function, which does not exist for float16.
pub(super) fn erf_of(te: &mut Te, x: Tensor) -> Tensor {
    if te.dtype(x) != DType::F16 {
        return intrinsic(te, "erf", x);
    }
    let wide = cast(te, x, DType::F32);
    let erf = intrinsic(te, "erf", wide);
    cast(te, erf, DType::F16)
}

fn erf(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let out = erf_of(&mut cx.te, x);
    cx.finish(&[out])
}

/// `topi.cast`
pub(super) fn cast(te: &mut Te, x: Tensor, dtype: DType) -> Tensor {
    each(te, "compute", "i", x, &mut |te, x| te.cast(dtype, x))
}

/// `topi.cast` of TOPI's C++.
pub(super) fn cast_as(te: &mut Te, name: &str, x: Tensor, dtype: DType) -> Tensor {
    each(te, name, "ax", x, &mut |te, x| te.cast(dtype, x))
}

fn astype(cx: &mut Lower) -> Lowered {
    let dtype = cx.dtype("dtype").ok_or(Refused::Leave)?;
    let arg = cx.arg(0)?;
    if let Some(value) = cx.constant(arg) {
        let value = match *cx.te.store.prim_of_id(value) {
            PrimExpr::Int { value, .. } => value as f64,
            PrimExpr::Float { value, .. } => value.0,
            _ => return Err(Refused::Leave),
        };
        return Ok(crate::ops::build::scalar(cx.te.store, dtype, value));
    }
    let x = cx.tensor(0)?;
    let out = cast(&mut cx.te, x, dtype);
    cx.finish(&[out])
}
