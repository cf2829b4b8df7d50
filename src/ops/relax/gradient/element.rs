//! Operators on each element, reductions and constants.

use super::Gradient;
use crate::ir::{AttrValue, ExprId};

type Partials = Result<Vec<Option<ExprId>>, String>;

/// `add`
pub fn add(cx: &mut Gradient<'_>) -> Partials {
    let (x, y) = (cx.arg(0)?, cx.arg(1)?);
    Ok(vec![Some(cx.fit(cx.out, x)?), Some(cx.fit(cx.out, y)?)])
}

/// `subtract`
pub fn subtract(cx: &mut Gradient<'_>) -> Partials {
    let (x, y) = (cx.arg(0)?, cx.arg(1)?);
    let first = cx.fit(cx.out, x)?;
    let minus = cx.unary("negative", cx.out)?;
    Ok(vec![Some(first), Some(cx.fit(minus, y)?)])
}

/// `multiply`
pub fn multiply(cx: &mut Gradient<'_>) -> Partials {
    let (x, y) = (cx.arg(0)?, cx.arg(1)?);
    let first = cx.binary("multiply", cx.out, y)?;
    let first = cx.fit(first, x)?;
    let second = cx.binary("multiply", cx.out, x)?;
    Ok(vec![Some(first), Some(cx.fit(second, y)?)])
}

/// `divide`
pub fn divide(cx: &mut Gradient<'_>) -> Partials {
    let (x, y) = (cx.arg(0)?, cx.arg(1)?);
    let first = cx.binary("divide", cx.out, y)?;
    let first = cx.fit(first, x)?;
    let minus = cx.unary("negative", cx.out)?;
    let product = cx.binary("multiply", minus, cx.result)?;
    let second = cx.binary("divide", product, y)?;
    Ok(vec![Some(first), Some(cx.fit(second, y)?)])
}

/// `power`
pub fn power(cx: &mut Gradient<'_>) -> Partials {
    let (x, y) = (cx.arg(0)?, cx.arg(1)?);
    let one = cx.number(1.0, y)?;
    let scaled = cx.binary("multiply", cx.out, y)?;
    let less = cx.binary("subtract", y, one)?;
    let power = cx.binary("power", x, less)?;
    let first = cx.binary("multiply", scaled, power)?;
    let first = cx.fit(first, x)?;
    let product = cx.binary("multiply", cx.out, cx.result)?;
    let log = cx.unary("log", x)?;
    let second = cx.binary("multiply", product, log)?;
    Ok(vec![Some(first), Some(cx.fit(second, y)?)])
}

/// `maximum`
pub fn maximum(cx: &mut Gradient<'_>) -> Partials {
    choice(cx, "less", "greater_equal")
}

/// `minimum`
pub fn minimum(cx: &mut Gradient<'_>) -> Partials {
    choice(cx, "greater_equal", "less")
}

/// Passes the gradient to the operand that the value came from.
fn choice(cx: &mut Gradient<'_>, not_first: &str, not_second: &str) -> Partials {
    let (x, y) = (cx.arg(0)?, cx.arg(1)?);
    let zero = cx.number(0.0, x)?;
    let mut partials = Vec::with_capacity(2);
    for (input, zeroed) in [(x, not_first), (y, not_second)] {
        let cond = cx.binary(zeroed, x, y)?;
        let partial = cx.call("where", &[cond, zero, cx.out], &[])?;
        partials.push(Some(cx.fit(partial, input)?));
    }
    Ok(partials)
}

/// `abs`
pub fn abs(cx: &mut Gradient<'_>) -> Partials {
    let x = cx.arg(0)?;
    let (zero, one) = (cx.number(0.0, x)?, cx.number(1.0, x)?);
    let cond = cx.binary("less", x, zero)?;
    let minus = cx.unary("negative", one)?;
    let sign = cx.call("where", &[cond, minus, one], &[])?;
    Ok(vec![Some(cx.binary("multiply", cx.out, sign)?)])
}

/// `cos`
pub fn cos(cx: &mut Gradient<'_>) -> Partials {
    let minus = cx.unary("negative", cx.out)?;
    let sin = cx.unary("sin", cx.arg(0)?)?;
    Ok(vec![Some(cx.binary("multiply", minus, sin)?)])
}

/// `exp`
pub fn exp(cx: &mut Gradient<'_>) -> Partials {
    Ok(vec![Some(cx.binary("multiply", cx.out, cx.result)?)])
}

/// `log`
pub fn log(cx: &mut Gradient<'_>) -> Partials {
    Ok(vec![Some(cx.binary("divide", cx.out, cx.arg(0)?)?)])
}

/// `negative`
pub fn negative(cx: &mut Gradient<'_>) -> Partials {
    Ok(vec![Some(cx.unary("negative", cx.out)?)])
}

/// `sigmoid`
pub fn sigmoid(cx: &mut Gradient<'_>) -> Partials {
    let one = cx.number(1.0, cx.arg(0)?)?;
    let product = cx.binary("multiply", cx.out, cx.result)?;
    let rest = cx.binary("subtract", one, cx.result)?;
    Ok(vec![Some(cx.binary("multiply", product, rest)?)])
}

/// `sin`
pub fn sin(cx: &mut Gradient<'_>) -> Partials {
    let cos = cx.unary("cos", cx.arg(0)?)?;
    Ok(vec![Some(cx.binary("multiply", cx.out, cos)?)])
}

/// `sqrt`
pub fn sqrt(cx: &mut Gradient<'_>) -> Partials {
    let half = cx.number(0.5, cx.arg(0)?)?;
    let product = cx.binary("multiply", half, cx.out)?;
    Ok(vec![Some(cx.binary("divide", product, cx.result)?)])
}

/// `tanh`
pub fn tanh(cx: &mut Gradient<'_>) -> Partials {
    let one = cx.number(1.0, cx.arg(0)?)?;
    let square = cx.binary("multiply", cx.result, cx.result)?;
    let rest = cx.binary("subtract", one, square)?;
    Ok(vec![Some(cx.binary("multiply", cx.out, rest)?)])
}

/// `astype`
pub fn astype(cx: &mut Gradient<'_>) -> Partials {
    let dtype = cx.dtype(cx.arg(0)?)?;
    Ok(vec![Some(cx.call("astype", &[cx.out], &[("dtype", AttrValue::DType(Some(dtype)))])?)])
}

/// Inserts the axes into the gradient that were summed up.
fn with_axes(cx: &mut Gradient<'_>, gradient: ExprId) -> Result<ExprId, String> {
    match cx.ints("axis").filter(|axes| !axes.is_empty() && !cx.flag("keepdims")) {
        Some(_) => cx.call("expand_dims", &[gradient], &[("axis", cx.attr("axis"))]),
        None => Ok(gradient),
    }
}

/// Returns the number of elements that are summed up for one.
fn count(cx: &Gradient<'_>, input: ExprId) -> Result<f64, String> {
    let dims = cx.numbers(input)?;
    let at = |axis: &i64| dims.get(axis.rem_euclid(dims.len().max(1) as i64) as usize).copied().unwrap_or(1);
    Ok(match cx.ints("axis") {
        Some(axes) => axes.iter().map(at).map(|extent| extent as f64).product(),
        None => dims.iter().map(|extent| *extent as f64).product(),
    })
}

/// `sum`
pub fn sum(cx: &mut Gradient<'_>) -> Partials {
    let wide = with_axes(cx, cx.out)?;
    let shape = cx.shape_of(cx.arg(0)?)?;
    Ok(vec![Some(cx.call("broadcast_to", &[wide, shape], &[])?)])
}

/// `mean`
pub fn mean(cx: &mut Gradient<'_>) -> Partials {
    let count = count(cx, cx.arg(0)?)?;
    let count = cx.number(count, cx.out)?;
    let share = cx.binary("divide", cx.out, count)?;
    let wide = with_axes(cx, share)?;
    let shape = cx.shape_of(cx.arg(0)?)?;
    Ok(vec![Some(cx.call("broadcast_to", &[wide, shape], &[])?)])
}

/// `variance`
pub fn variance(cx: &mut Gradient<'_>) -> Partials {
    let x = cx.arg(0)?;
    let count = count(cx, x)?;
    let (single, double) = (cx.number(2.0 / count, x)?, cx.number(2.0 / count / count, x)?);
    let first = cx.binary("multiply", single, x)?;
    let total = cx.call("sum", &[x], &[("axis", cx.attr("axis")), ("keepdims", AttrValue::Bool(true))])?;
    let second = cx.binary("multiply", double, total)?;
    let wide = with_axes(cx, cx.out)?;
    let difference = cx.binary("subtract", first, second)?;
    Ok(vec![Some(cx.binary("multiply", wide, difference)?)])
}

/// `cumsum`: the sum of the elements behind.
pub fn cumsum(cx: &mut Gradient<'_>) -> Partials {
    let x = cx.arg(0)?;
    let mut gradient = match cx.store.attr_int(cx.attrs, "axis") {
        Some(axis) => {
            let axes = AttrValue::Array([AttrValue::int(axis)].into());
            let total = cx.call("sum", &[cx.out], &[("axis", axes), ("keepdims", AttrValue::Bool(true))])?;
            let before = cx.call("cumsum", &[cx.out], &[("axis", AttrValue::int(axis))])?;
            let behind = cx.binary("subtract", total, before)?;
            cx.binary("add", behind, cx.out)?
        }
        None => {
            let total = cx.call("sum", &[cx.out], &[("keepdims", AttrValue::Bool(true))])?;
            let before = cx.call("cumsum", &[cx.out], &[])?;
            let behind = cx.binary("subtract", total, before)?;
            let flat = cx.unary("flatten", cx.out)?;
            let sum = cx.binary("add", behind, flat)?;
            let shape = cx.shape_of(x)?;
            cx.call("reshape", &[sum, shape], &[])?
        }
    };
    if cx.store.attr_dtype(cx.attrs, "dtype").is_some() {
        let dtype = cx.dtype(x)?;
        gradient = cx.call("astype", &[gradient], &[("dtype", AttrValue::DType(Some(dtype)))])?;
    }
    Ok(vec![Some(gradient)])
}

/// `where`
pub fn choose(cx: &mut Gradient<'_>) -> Partials {
    let (cond, x, y) = (cx.arg(0)?, cx.arg(1)?, cx.arg(2)?);
    let (of_x, of_y) = (cx.number(0.0, x)?, cx.number(0.0, y)?);
    let first = cx.call("where", &[cond, cx.out, of_x], &[])?;
    let second = cx.call("where", &[cond, of_y, cx.out], &[])?;
    Ok(vec![None, Some(first), Some(second)])
}

/// `triu`
pub fn triu(cx: &mut Gradient<'_>) -> Partials {
    let mut partials = vec![Some(cx.call("triu", &[cx.out, cx.arg(1)?], &[])?)];
    // The diagonal is a number.
    partials.resize(cx.args.len(), None);
    Ok(partials)
}
