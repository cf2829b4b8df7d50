//! Operators that change the element type, and fixed point arithmetic.

use super::{ensure, input};
use crate::ir::{DType, Tensor};
use crate::ops::identity;
use crate::ops::kernel::{axis_index, by_lane, bytes, read, strides, write};
use crate::ops::relax::{deduce, gradient, layout};
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{EvalError, KernelCx, RuleCx, RuleResult};

/// Attributes `relay.attrs.CastAttrs`.
pub static CAST: AttrsSchema = schema("relay.attrs.CastAttrs", &[field::required("dtype", AttrKind::DType)]);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("cast", "Each element converted to another type.")
        .pattern(OpPattern::ElemWise)
        .kernel(cast_kernel)
        .relay(relay(&["data"], cast_rule).attrs(&CAST)),
    op("cast_like", "Each element of the first input converted to the type of the second.")
        .pattern(OpPattern::ElemWise)
        .kernel(cast_like_kernel)
        .relay(relay(&["data", "dtype_like"], cast_like_rule)),
    op("reinterpret", "The bits of each element read as another type of the same width.")
        .pattern(OpPattern::ElemWise)
        .kernel(reinterpret_kernel)
        .relay(relay(&["data"], cast_rule).attrs(&CAST)),
    op(
        "fixed_point_multiply",
        "Each integer times a fixed point number: `multiplier` with 31 fractional bits, shifted by `shift`, \
         rounded.",
    )
    .pattern(OpPattern::ElemWise)
    .kernel(fixed_point_multiply_kernel)
    .relay(relay(&["data"], identity).attrs(&schema(
        "relay.attrs.FixedPointMultiplyAttrs",
        &[field::required("multiplier", AttrKind::Int), field::required("shift", AttrKind::Int)],
    ))),
    op("fixed_point_multiply_per_axis", "Like `fixed_point_multiply`, with a multiplier and shifts for each index of some axes.")
        .pattern(OpPattern::Broadcast)
        .kernel(per_axis_kernel)
        .relay(relay(&["data", "fp_multiplier", "left_shift", "right_shift"], per_axis_rule).attrs(&schema(
            "relay.attrs.FixedPointMultiplyPerAxisAttrs",
            &[
                field::flag("is_lshift_required", false),
                field::flag("is_rshift_required", false),
                field::required("axes", AttrKind::Ints),
            ],
        ))),
    op("astype", "Another element type.").relax(
        relax(&[value("x")], deduce::unary::astype)
            .attrs(&schema("relax.attrs.AstypeAttrs", &[field::required("dtype", AttrKind::DType)]))
            .follows()
            .layout(layout::element::unary)
            .gradient(gradient::element::astype),
    ),
    op("wrap_param", "A parameter as another element type.").relax(
        relax(&[value("data")], deduce::unary::astype)
            .attrs(&schema("relax.attrs.WrapParamAttrs", &[field::dtype("dtype", "float32")])),
    ),
];

fn cast_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").ok_or("`dtype` is not given")?;
    cx.output_tensor(&shape, dtype)
}

fn cast_like_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let (shape, _) = input!(cx, 0);
    let (_, dtype) = input!(cx, 1);
    cx.output_tensor(&shape, dtype)
}

fn per_axis_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    for index in 0..cx.n_inputs {
        input!(cx, index);
    }
    let same = cx.types[0];
    cx.output(same)
}

/// Converts elements to another type: integers wrap around, floats are rounded towards zero.
pub(crate) fn converted(x: &Tensor, dtype: DType) -> Result<Tensor, EvalError> {
    if x.dtype == dtype {
        return Ok(x.clone());
    }
    by_lane!(x.dtype, T => write(dtype, &x.shape, &read::<T>(x)?))
}

fn cast_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").ok_or("`dtype` is not given")?;
    Ok(vec![converted(&x[0], dtype)?])
}

fn cast_like_kernel(_: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    Ok(vec![converted(&x[0], x[1].dtype)?])
}

fn reinterpret_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let dtype = cx.store.attr_dtype(cx.attrs, "dtype").ok_or("`dtype` is not given")?;
    ensure!(dtype.bytes() == x[0].dtype.bytes(), "{} and {dtype} have different widths", x[0].dtype);
    Ok(vec![Tensor::new(dtype, x[0].shape.clone(), bytes(&x[0])?.clone())])
}

/// `x * multiplier * 2^shift` where the multiplier has 31 fractional bits, rounded half up (TVM's
/// `q_multiply_shift`). A multiplier of one half is a mere shift, which rounds in 32 bits.
pub(crate) fn fixed_point(x: i64, multiplier: i64, shift: i64) -> i64 {
    let shift = shift.clamp(-64, 64);
    if multiplier == 1 << 30 {
        let shift = shift - 1;
        if shift > 0 {
            return i64::from((x as i32).wrapping_shl(shift as u32));
        }
        let right = -shift as u32;
        let half = if right == 0 { 0 } else { 1i32.wrapping_shl(right - 1) };
        return i64::from((x as i32).wrapping_add(half).wrapping_shr(right));
    }
    scaled(x, multiplier, shift.max(0), (-shift).max(0))
}

/// The same with separate shifts to the left, before the product, and to the right.
pub(crate) fn scaled(x: i64, multiplier: i64, left: i64, right: i64) -> i64 {
    let product = x.wrapping_shl(left as u32).wrapping_mul(multiplier);
    let right = 31u32.wrapping_add(right as u32);
    i64::from(product.wrapping_add(1i64.wrapping_shl(right.wrapping_sub(1))).wrapping_shr(right) as i32)
}

fn fixed_point_multiply_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (multiplier, shift) = (cx.int("multiplier")?, cx.int("shift")?);
    let values: Vec<i64> = read::<i64>(&x[0])?.into_iter().map(|v| fixed_point(v, multiplier, shift)).collect();
    Ok(vec![write(x[0].dtype, &x[0].shape, &values)?])
}

fn per_axis_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let shape = &x[0].shape;
    let axes: Vec<usize> = cx.ints("axes")?.iter().map(|axis| axis_index(*axis, shape.len())).collect::<Result<_, _>>()?;
    let (factors, left, right) = (read::<i64>(&x[1])?, read::<i64>(&x[2])?, read::<i64>(&x[3])?);
    let (from, inner) = (strides(shape), strides(&x[1].shape));
    ensure!(axes.len() == inner.len(), "the multipliers have {} axes, `axes` lists {}", inner.len(), axes.len());
    let must_shift = cx.flag("is_lshift_required");
    let mut values = read::<i64>(&x[0])?;
    for (place, value) in values.iter_mut().enumerate() {
        let index: usize = axes.iter().zip(&inner).map(|(a, s)| place / from[*a] % shape[*a] as usize * s).sum();
        let parameter = |list: &[i64]| list.get(index).copied().ok_or("a multiplier is missing");
        let left = if must_shift { parameter(&left)? } else { 0 };
        *value = scaled(*value, parameter(&factors)?, left, parameter(&right)?);
    }
    Ok(vec![write(x[0].dtype, shape, &values)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_point_products_round_half_up() {
        // 3 * 0.75 = 2.25 and 2 * 0.75 = 1.5; 0.75 is 0.75 * 2^31 with shift 0.
        let three_quarters = 3 << 29;
        assert_eq!(fixed_point(3, three_quarters, 0), 2);
        assert_eq!(fixed_point(2, three_quarters, 0), 2);
        assert_eq!(fixed_point(-2, three_quarters, 0), -1);
        // A half with shift 1 is one; with shift -1 a quarter.
        assert_eq!(fixed_point(7, 1 << 30, 1), 7);
        assert_eq!(fixed_point(6, 1 << 30, -1), 2);
    }
}
