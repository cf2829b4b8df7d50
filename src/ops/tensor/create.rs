//! Operators that make a tensor from a shape or a scalar.

use super::binary::Arithmetic;
use super::{ensure, input};
use crate::ir::{AttrValue, DType, Dim, Expr, Tensor};
use crate::ops::concrete::result_type;
use crate::ops::kernel::{Lane, by_lane, count, read_scalar, write};
use crate::ops::tensor::arrange::INIT_OP;
use crate::ops::{AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult};

/// Attributes `relay.attrs.ArangeAttrs`.
pub static ARANGE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.ArangeAttrs",
    fields: &[
        AttrField::required("start", AttrKind::Any),
        AttrField::required("stop", AttrKind::Any),
        AttrField::required("step", AttrKind::Any),
        AttrField::required("dtype", AttrKind::DType),
    ],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "zeros",
        doc: "Zeros in the given shape.",
        args: &[],
        attrs: Some(&INIT_OP),
        rule: Some(init_rule),
        pattern: Some(OpPattern::ElemWise),
        kernel: Some(|cx, x| filled(cx, x, 0)),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "ones",
        doc: "Ones in the given shape.",
        args: &[],
        attrs: Some(&INIT_OP),
        rule: Some(init_rule),
        pattern: Some(OpPattern::ElemWise),
        kernel: Some(|cx, x| filled(cx, x, 1)),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "full",
        doc: "A scalar repeated in the given shape.",
        args: &["fill_value"],
        attrs: Some(&INIT_OP),
        rule: Some(full_rule),
        pattern: Some(OpPattern::ElemWise),
        kernel: Some(|cx, x| spread(&x[0], &result_type(cx, full_rule, x)?)),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "full_like",
        doc: "A scalar repeated in the shape and type of the first input.",
        args: &["data", "fill_value"],
        rule: Some(full_like_rule),
        pattern: Some(OpPattern::ElemWise),
        kernel: Some(|cx, x| spread(&x[1], &result_type(cx, full_like_rule, x)?)),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "arange",
        doc: "The numbers from `start` up to `stop` in steps of `step`.",
        args: &["start", "end", "step"],
        attrs: Some(&ARANGE),
        rule: Some(arange_rule),
        pattern: Some(OpPattern::Opaque),
        kernel: Some(arange_kernel),
        ..OpInfo::BASE
    },
];

fn init_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let shape = cx.attr_dims("shape").ok_or("`shape` is not given")?;
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").ok_or("`dtype` is not given")?;
    cx.output_tensor(&shape, dtype)
}

fn full_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (fill, fill_dtype) = input!(cx, 0);
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").unwrap_or(fill_dtype);
    ensure!(fill.is_empty(), "Fill value should be a scalar but has dimension {}.", fill.len());
    let shape = cx.attr_dims("shape").ok_or("`shape` is not given")?;
    cx.output_tensor(&shape, dtype)
}

fn full_like_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, dtype) = input!(cx, 0);
    let (fill, _) = input!(cx, 1);
    ensure!(fill.is_empty(), "The fill value should be a scalar but here it has dimension {}.", fill.len());
    cx.output_tensor(&shape, dtype)
}

/// The number in an attribute that holds a constant.
fn constant_attr(cx: &RuleCx<'_>, name: &str) -> Option<f64> {
    let AttrValue::Expr(expr) = cx.store.attr(cx.attrs, name)? else { return None };
    let Expr::Constant(tensor) = cx.store.expr(*expr) else { return None };
    read_scalar::<f64>(cx.store.tensor(tensor)).ok()
}

fn arange_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").ok_or("`dtype` is not given")?;
    for index in 0..3 {
        cx.assign_tensor(index, &[], dtype)?;
    }
    let [start, stop, step] = ["start", "stop", "step"].map(|name| constant_attr(cx, name));
    let extent = match (start, stop, step) {
        (Some(start), Some(stop), Some(step)) => {
            let count = ((stop - start) / step).ceil() as i32;
            ensure!(count > 0, "Invalid arange attributes (start, stop, step): {start}, {stop}, {step}");
            Dim::int(i64::from(count))
        }
        _ => Dim::Any,
    };
    cx.output_tensor(&[extent], dtype)
}

fn filled(cx: &KernelCx<'_>, x: &[Tensor], value: i64) -> Result<Vec<Tensor>, EvalError> {
    let (shape, dtype) = result_type(cx, init_rule, x)?;
    Ok(vec![write(dtype, &shape, &vec![value; count(&shape, dtype)?])?])
}

/// A scalar, converted and repeated.
pub(crate) fn spread(fill: &Tensor, (shape, dtype): &(Vec<i64>, DType)) -> Result<Vec<Tensor>, EvalError> {
    let n = count(shape, *dtype)?;
    // The lane is that of the scalar: large integers do not survive a detour over floats.
    by_lane!(fill.dtype, T => Ok(vec![write(*dtype, shape, &vec![read_scalar::<T>(fill)?; n])?]))
}

/// How many numbers TVM makes when it learns the bounds only while running: it rounds all three
/// towards zero first (`_arange_shape_func`).
fn whole_steps(start: f64, stop: f64, step: f64) -> Result<i64, EvalError> {
    let sign = if step < 0.0 { -1 } else { 1 };
    let (way, step) = ((stop as i64).saturating_sub(start as i64).saturating_mul(sign), (step as i64).saturating_mul(sign));
    ensure!(step != 0, "arange in steps that round to 0");
    Ok((way.saturating_add(step - 1)).div_euclid(step).max(0))
}

fn arange_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let [start, stop, step] = x else { return Err(EvalError::new("arange takes three inputs")) };
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").unwrap_or(start.dtype);
    let shape = match cx.out_shape(0) {
        Some(shape) => shape,
        None => vec![whole_steps(read_scalar(start)?, read_scalar(stop)?, read_scalar(step)?)?],
    };
    count(&shape, dtype)?;
    by_lane!(start.dtype, T => {
        let (start, step) = (read_scalar::<T>(start)?, read_scalar::<T>(step)?);
        let values: Vec<T> = (0..shape[0]).map(|i| start.plus(step.times(T::from_i64(i)))).collect();
        Ok(vec![write(dtype, &shape, &values)?])
    })
}
