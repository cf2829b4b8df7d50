//! Operators that create tensors, move their elements or pick some of them.

use super::operators::{Cx, Outputs, Rule};
use crate::ir::{AttrValue, DType, Tensor};
use crate::ops::EvalError;
use crate::ops::build::ints;
use crate::ops::kernel::{axis_index, broadcast_strides, count, offsets, pick, read_scalar, reshaped, write};

/// The rules of this file.
pub(super) static RULES: &[(&str, Rule)] = &[
    ("arange", Rule::Own(arange)),
    ("astype", Rule::Own(|cx| one(cx.tensor(0).and_then(|x| cast_to_attr(cx, &x))))),
    ("wrap_param", Rule::Own(|cx| one(cx.tensor(0).and_then(|x| cast_to_attr(cx, &x))))),
    ("broadcast_to", Rule::Own(|cx| one(spread(&cx.tensor(0)?, &cx.shape(1)?)))),
    (
        "collapse_sum_to",
        Rule::Own(|cx| {
            let shape = cx.shape(1)?;
            let like = uniform(cx, DType::I8, 0.0, &shape)?;
            let inputs = [cx.tensor(0)?, like];
            cx.kernel("collapse_sum_like", &inputs, &[])
        }),
    ),
    ("concat", Rule::Own(concat)),
    ("cumprod", Rule::Own(|cx| scan(cx, "cumprod"))),
    ("cumsum", Rule::Own(|cx| scan(cx, "cumsum"))),
    (
        "dynamic_strided_slice",
        Rule::Own(|cx| {
            let (x, begin, end, strides) = (cx.tensor(0)?, cx.shape(1)?, cx.shape(2)?, cx.shape(3)?);
            let axes: Vec<i64> = (0..begin.len() as i64).collect();
            slice(cx, x, &axes, &begin, &end, &strides)
        }),
    ),
    ("expand_dims", Rule::Own(expand_dims)),
    (
        "eye",
        Rule::Own(|cx| {
            let n = cx.int(0)?;
            let (m, k) = (cx.int(1).unwrap_or(n), cx.int(2).unwrap_or(0));
            let dtype = cx.attr_dtype("dtype").unwrap_or(DType::F32);
            eye(n, m, k, dtype)
        }),
    ),
    (
        "eye_like",
        Rule::Own(|cx| {
            let x = cx.tensor(0)?;
            let dtype = cx.attr_dtype("dtype").unwrap_or(x.dtype);
            match x.shape[..] {
                [n, m] => eye(n, m, cx.int(1).unwrap_or(0), dtype),
                _ => Err(EvalError::new("the tensor is no matrix")),
            }
        }),
    ),
    ("flatten", Rule::Own(|cx| cx.tensor(0).and_then(|x| one(reshaped(&x, &[x.len() as i64]))))),
    (
        "full",
        Rule::Own(|cx| {
            let (shape, value) = (cx.shape(0)?, cx.tensor(1)?);
            let dtype = cx.attr_dtype("dtype").unwrap_or(value.dtype);
            one(spread(&cx.converted(&value, dtype)?, &shape))
        }),
    ),
    (
        "full_like",
        Rule::Own(|cx| {
            let (like, value) = (cx.tensor(0)?, cx.tensor(1)?);
            let dtype = cx.attr_dtype("dtype").unwrap_or(like.dtype);
            one(spread(&cx.converted(&value, dtype)?, &like.shape))
        }),
    ),
    (
        "gather_nd",
        Rule::Own(|cx| {
            let (data, indices) = (cx.tensor(0)?, cx.tensor(1)?);
            let indices = last_axis_first(cx, &indices)?;
            cx.kernel("gather_nd", &[data, indices], &[])
        }),
    ),
    ("hamming_window", Rule::Own(hamming_window)),
    (
        "index_tensor",
        Rule::Own(|cx| {
            let inputs = cx.tensors()?;
            cx.kernel("adv_index", &inputs, &[])
        }),
    ),
    (
        "nonzero",
        Rule::Own(|cx| {
            let x = cx.tensor(0)?;
            let places = cx.step("argwhere", &[x])?;
            let rows = cx.step("transpose", &[places])?;
            one(cx.converted(&rows, DType::I64))
        }),
    ),
    (
        "one_hot",
        Rule::Own(|cx| {
            let (indices, on, off) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
            let dtype = cx.out_dtype().unwrap_or(on.dtype);
            let (on, off) = (cx.converted(&on, dtype)?, cx.converted(&off, dtype)?);
            cx.kernel("one_hot", &[indices, on, off], &[("dtype", AttrValue::DType(Some(dtype)))])
        }),
    ),
    ("ones", Rule::Own(|cx| made(cx, 1.0))),
    ("ones_like", Rule::Own(|cx| made_like(cx, 1.0))),
    (
        "repeat",
        Rule::Own(|cx| {
            let x = cx.tensor(0)?;
            match cx.attr_int("axis") {
                Some(_) => cx.kernel("repeat", &[x], &[]),
                None => cx.kernel("repeat", &[reshaped(&x, &[x.len() as i64])?], &[("axis", AttrValue::int(0))]),
            }
        }),
    ),
    ("reshape", Rule::Own(|cx| one(reshaped(&cx.tensor(0)?, &cx.shape(1)?)))),
    (
        "scatter_nd",
        Rule::Own(|cx| {
            let (data, indices, updates) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
            let indices = last_axis_first(cx, &indices)?;
            let mode = cx.attr("reduction");
            cx.kernel("scatter_nd", &[data, indices, updates], &[("mode", mode)])
        }),
    ),
    ("split", Rule::Own(split)),
    ("squeeze", Rule::Own(squeeze)),
    (
        "strided_slice",
        Rule::Own(|cx| {
            let (x, axes, begin, end) = (cx.tensor(0)?, cx.shape(1)?, cx.shape(2)?, cx.shape(3)?);
            let strides = cx.shape(4).unwrap_or_else(|_| vec![1; axes.len()]);
            slice(cx, x, &axes, &begin, &end, &strides)
        }),
    ),
    (
        "take",
        Rule::Own(|cx| {
            let inputs = [cx.tensor(0)?, cx.tensor(1)?];
            let axis = AttrValue::int(cx.attr_int("axis").unwrap_or(0));
            cx.kernel("take", &inputs, &[("axis", axis)])
        }),
    ),
    ("tril", Rule::Own(|cx| triangle(cx, false))),
    ("triu", Rule::Own(|cx| triangle(cx, true))),
    ("zeros", Rule::Own(|cx| made(cx, 0.0))),
    ("zeros_like", Rule::Own(|cx| made_like(cx, 0.0))),
];

/// Returns one tensor as the result.
pub(super) fn one(tensor: Result<Tensor, EvalError>) -> Outputs {
    Ok(vec![tensor?])
}

/// Broadcasts a tensor to that shape: missing axes and those of extent 1 are repeated.
pub(super) fn spread(tensor: &Tensor, shape: &[i64]) -> Result<Tensor, EvalError> {
    let fits = tensor.shape.len() <= shape.len()
        && tensor.shape.iter().rev().zip(shape.iter().rev()).all(|(from, to)| from == to || *from == 1);
    if !fits {
        return Err(EvalError(format!("the shape {:?} does not broadcast to {shape:?}", tensor.shape)));
    }
    pick(tensor, shape, offsets(shape, &broadcast_strides(&tensor.shape, shape)))
}

fn uniform(cx: &Cx<'_>, dtype: DType, value: f64, shape: &[i64]) -> Result<Tensor, EvalError> {
    count(shape, dtype)?;
    spread(&cx.number(dtype, value)?, shape)
}

fn made(cx: &mut Cx<'_>, value: f64) -> Outputs {
    let dtype = cx.attr_dtype("dtype").or(cx.out_dtype()).unwrap_or(DType::F32);
    one(uniform(cx, dtype, value, &cx.shape(0)?))
}

fn made_like(cx: &mut Cx<'_>, value: f64) -> Outputs {
    let like = cx.tensor(0)?;
    one(uniform(cx, cx.attr_dtype("dtype").unwrap_or(like.dtype), value, &like.shape))
}

fn cast_to_attr(cx: &mut Cx<'_>, x: &Tensor) -> Result<Tensor, EvalError> {
    let dtype = cx.attr_dtype("dtype").unwrap_or(x.dtype);
    cx.converted(x, dtype)
}

/// Counts from a start, which is 0 if only the end is given.
fn arange(cx: &mut Cx<'_>) -> Outputs {
    let mut numbers = cx.tensors()?;
    let dtype = cx.attr_dtype("dtype").or(cx.out_dtype()).unwrap_or(numbers[0].dtype);
    // A float range may begin with a scalar that Python writes as an integer.
    let wide = if numbers.iter().any(|n| n.dtype.is_float()) || dtype.is_float() { DType::F64 } else { DType::I64 };
    if numbers.len() == 1 {
        numbers.insert(0, cx.number(wide, 0.0)?);
    }
    if numbers.len() == 2 {
        numbers.push(cx.number(wide, 1.0)?);
    }
    let values: Vec<f64> = numbers.iter().map(read_scalar).collect::<Result<_, _>>()?;
    let n = ((values[1] - values[0]) / values[2]).ceil().max(0.0);
    if !n.is_finite() {
        return Err(EvalError::new("the steps lead nowhere"));
    }
    let n = n as i64;
    count(&[n], dtype)?;
    let row: Vec<f64> = (0..n).map(|i| values[0] + values[2] * i as f64).collect();
    if wide == DType::F64 {
        return one(write(dtype, &[n], &row));
    }
    let row: Vec<i64> = row.into_iter().map(|x| x as i64).collect();
    one(write(dtype, &[n], &row))
}

fn eye(n: i64, m: i64, k: i64, dtype: DType) -> Outputs {
    let elements = count(&[n, m], dtype)? as i64;
    let values: Vec<i64> = (0..elements).map(|at| i64::from(at % m - at / m == k)).collect();
    one(write(dtype, &[n, m], &values))
}

fn hamming_window(cx: &mut Cx<'_>) -> Outputs {
    let (n, periodic) = (cx.int(0)?, cx.int(1)? != 0);
    let alpha: f64 = read_scalar(&cx.tensor(2)?)?;
    let beta: f64 = read_scalar(&cx.tensor(3)?)?;
    let dtype = cx.attr_dtype("dtype").unwrap_or(DType::F32);
    count(&[n], dtype)?;
    let last = if periodic { n } else { n - 1 } as f64;
    let value = |i: i64| if n == 1 { 1.0 } else { alpha - beta * (2.0 * std::f64::consts::PI * i as f64 / last).cos() };
    let values: Vec<f64> = (0..n).map(value).collect();
    one(write(dtype, &[n], &values))
}

fn triangle(cx: &mut Cx<'_>, upper: bool) -> Outputs {
    let (x, k) = (cx.tensor(0)?, cx.int(1).unwrap_or(0));
    let k = write(DType::I32, &[], &[k])?;
    cx.kernel("trilu", &[x, k], &[("upper", AttrValue::Bool(upper))])
}

fn concat(cx: &mut Cx<'_>) -> Outputs {
    let mut parts = cx.tensors()?;
    if cx.attr_int("axis").is_none() {
        parts = parts.iter().map(|part| reshaped(part, &[part.len() as i64])).collect::<Result<_, _>>()?;
        return cx.kernel("concatenate", &parts, &[("axis", AttrValue::int(0))]);
    }
    cx.kernel("concatenate", &parts, &[])
}

fn scan(cx: &mut Cx<'_>, name: &str) -> Outputs {
    let x = cx.tensor(0)?;
    let dtype = AttrValue::DType(Some(cx.attr_dtype("dtype").unwrap_or(x.dtype)));
    match cx.attr_int("axis") {
        Some(_) => cx.kernel(name, &[x], &[("dtype", dtype)]),
        None => {
            let flat = reshaped(&x, &[x.len() as i64])?;
            cx.kernel(name, &[flat], &[("axis", AttrValue::int(0)), ("dtype", dtype)])
        }
    }
}

fn expand_dims(cx: &mut Cx<'_>) -> Outputs {
    let (x, axes) = (cx.tensor(0)?, cx.attr_ints("axis").unwrap_or_default());
    let rank = x.shape.len() + axes.len();
    let axes: Vec<usize> = axes.into_iter().map(|axis| axis_index(axis, rank)).collect::<Result<_, _>>()?;
    let mut old = x.shape.iter();
    let shape: Vec<i64> = (0..rank).map(|at| if axes.contains(&at) { 1 } else { old.next().copied().unwrap_or(1) }).collect();
    one(reshaped(&x, &shape))
}

fn squeeze(cx: &mut Cx<'_>) -> Outputs {
    let x = cx.tensor(0)?;
    let axes: Option<Vec<usize>> = match cx.attr_ints("axis") {
        Some(axes) => Some(axes.into_iter().map(|axis| axis_index(axis, x.shape.len())).collect::<Result<_, _>>()?),
        None => None,
    };
    let gone = |at: usize, extent: i64| extent == 1 && axes.as_ref().is_none_or(|axes| axes.contains(&at));
    let shape: Vec<i64> =
        x.shape.iter().enumerate().filter(|(at, extent)| !gone(*at, **extent)).map(|(_, extent)| *extent).collect();
    one(reshaped(&x, &shape))
}

/// Splits into a number of parts, the last of which may be shorter, or at the given indices.
fn split(cx: &mut Cx<'_>) -> Outputs {
    let x = cx.tensor(0)?;
    let axis = axis_index(cx.attr_int("axis").unwrap_or(0), x.shape.len())?;
    let extent = x.shape[axis];
    let begins = match cx.attr_int("indices_or_sections") {
        Some(parts) if parts > 0 => {
            let size = (extent + parts - 1) / parts;
            (1..parts).map(|part| (part * size).min(extent)).collect()
        }
        _ => cx.attr_ints("indices_or_sections").unwrap_or_default(),
    };
    let mut parts = Vec::with_capacity(begins.len() + 1);
    let ends = begins.iter().copied().chain([extent]);
    for (begin, end) in std::iter::once(0).chain(begins.iter().copied()).zip(ends) {
        let (begin, end) = (begin.clamp(0, extent), end.clamp(0, extent));
        parts.extend(slice(cx, x.clone(), &[axis as i64], &[begin], &[end.max(begin)], &[1])?);
    }
    Ok(parts)
}

fn slice(cx: &mut Cx<'_>, x: Tensor, axes: &[i64], begin: &[i64], end: &[i64], strides: &[i64]) -> Outputs {
    let axes: Vec<i64> =
        axes.iter().map(|axis| axis_index(*axis, x.shape.len()).map(|axis| axis as i64)).collect::<Result<_, _>>()?;
    let mode = cx.word("end");
    let big = |values: &[i64]| {
        // Python's `[a:]` has the largest number as its end.
        ints(&values.iter().map(|value| (*value).clamp(i64::from(i32::MIN), i64::from(i32::MAX))).collect::<Vec<i64>>())
    };
    let extra =
        [("axes", ints(&axes)), ("begin", big(begin)), ("end", big(end)), ("strides", ints(strides)), ("slice_mode", mode)];
    cx.kernel("strided_slice", &[x], &extra)
}

/// Moves the index tuples, which are along the last axis in Relax, to the first axis, as in Relay.
fn last_axis_first(cx: &mut Cx<'_>, indices: &Tensor) -> Result<Tensor, EvalError> {
    let rank = indices.shape.len() as i64;
    let axes: Vec<i64> = std::iter::once(rank - 1).chain(0..rank - 1).collect();
    cx.step_with("transpose", std::slice::from_ref(indices), &[("axes", ints(&axes))])
}
