//! Operators that make a tensor from a shape or a scalar.

use super::binary::Arithmetic;
use super::{ensure, input};
use crate::ir::{AttrValue, DType, Dim, Expr, Tensor};
use crate::ops::concrete::result_type;
use crate::ops::kernel::{Lane, by_lane, count, read_scalar, write};
use crate::ops::relax::{deduce, gradient};
use crate::ops::row::{op, prim, relax, relay, shape, value};
use crate::ops::schema::{field, schema};
use crate::ops::tensor::arrange::INIT_OP;
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult};

/// Attributes `relax.attrs.InitAttrs`.
pub(super) static RELAX_INIT: AttrsSchema = schema("relax.attrs.InitAttrs", &[field::or_none("dtype", AttrKind::DType)]);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("zeros", "Zeros in the given shape.")
        .pattern(OpPattern::ElemWise)
        .kernel(|cx, x| filled(cx, x, 0))
        .relay(relay(&[], init_rule).attrs(&INIT_OP))
        .relax(relax(&[shape("shape")], deduce::create::ones_zeros).attrs(&RELAX_INIT).follows().gradient(gradient::none)),
    op("ones", "Ones in the given shape.")
        .pattern(OpPattern::ElemWise)
        .kernel(|cx, x| filled(cx, x, 1))
        .relay(relay(&[], init_rule).attrs(&INIT_OP))
        .relax(relax(&[shape("shape")], deduce::create::ones_zeros).attrs(&RELAX_INIT).follows().gradient(gradient::none)),
    op("full", "A scalar repeated in the given shape.")
        .pattern(OpPattern::ElemWise)
        .kernel(|cx, x| spread(&x[0], &result_type(cx, full_rule, x)?))
        .relay(relay(&["fill_value"], full_rule).attrs(&INIT_OP))
        .relax(
            relax(&[shape("shape"), value("fill_value")], deduce::create::full)
                .attrs(&RELAX_INIT)
                .follows()
                .gradient(gradient::none),
        ),
    op("full_like", "A scalar repeated in the shape of the first input.")
        .pattern(OpPattern::ElemWise)
        .kernel(|cx, x| spread(&x[1], &result_type(cx, full_like_rule, x)?))
        .relay(relay(&["data", "fill_value"], full_like_rule))
        .relax(
            relax(&[value("x"), value("fill_value")], deduce::create::full_like)
                .attrs(&RELAX_INIT)
                .follows()
                .gradient(gradient::none),
        ),
    op("arange", "The numbers from a start up to an end in steps.")
        .pattern(OpPattern::Opaque)
        .kernel(arange_kernel)
        .relay(relay(&["start", "end", "step"], arange_rule).attrs(&schema(
            "relay.attrs.ArangeAttrs",
            &[
                field::required("start", AttrKind::Any),
                field::required("stop", AttrKind::Any),
                field::required("step", AttrKind::Any),
                field::required("dtype", AttrKind::DType),
            ],
        )))
        .relax(
            relax(&[prim("start"), prim("end").or_none(), prim("step").or_none()], deduce::create::arange)
                .attrs(&RELAX_INIT)
                .follows(),
        ),
    op("eye", "Ones on a diagonal, zeros elsewhere.").relax(
        relax(&[prim("n"), prim("m").or_none(), prim("k").or_none()], deduce::create::eye)
            .attrs(&schema("relax.attrs.InitAttrs", &[field::dtype("dtype", "float32")]))
            .follows(),
    ),
    op("eye_like", "The same in the shape of a tensor.")
        .relax(relax(&[value("x"), prim("k").or_none()], deduce::create::eye_like).attrs(&RELAX_INIT)),
    op("hamming_window", "The Hamming window.").relax(
        relax(&[prim("window_size"), prim("periodic"), prim("alpha"), prim("beta")], deduce::create::hamming_window)
            .attrs(&RELAX_INIT)
            .follows(),
    ),
    op("tril", "The part on and below a diagonal, zeros elsewhere.")
        .relax(relax(&[value("x"), prim("k").or_none()], deduce::create::triangle)),
    op("triu", "The part on and above a diagonal, zeros elsewhere.")
        .relax(relax(&[value("x"), prim("k").or_none()], deduce::create::triangle).gradient(gradient::element::triu)),
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
    // The lane is that of the scalar: large integers would lose digits as floats.
    by_lane!(fill.dtype, T => Ok(vec![write(*dtype, shape, &vec![read_scalar::<T>(fill)?; n])?]))
}

/// Returns the number of elements that TVM creates when it learns the bounds only at run time: it
/// rounds all three towards zero first (`_arange_shape_func`).
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
