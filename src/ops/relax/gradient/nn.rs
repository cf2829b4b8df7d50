//! Operators of networks.

use super::Gradient;
use crate::ir::{AttrValue, Dim, ExprId};
use crate::ops::build::ints;

type Partials = Result<Vec<Option<ExprId>>, String>;

/// `nn.relu`
pub fn relu(cx: &mut Gradient<'_>) -> Partials {
    let x = cx.arg(0)?;
    let zero = cx.number(0.0, x)?;
    let cond = cx.binary("less", x, zero)?;
    Ok(vec![Some(cx.call("where", &[cond, zero, cx.out], &[])?)])
}

/// `nn.silu`
pub fn silu(cx: &mut Gradient<'_>) -> Partials {
    let x = cx.arg(0)?;
    let sigmoid = cx.unary("sigmoid", x)?;
    let one = cx.number(1.0, x)?;
    let rest = cx.binary("subtract", one, sigmoid)?;
    let product = cx.binary("multiply", cx.result, rest)?;
    let sum = cx.binary("add", sigmoid, product)?;
    Ok(vec![Some(cx.binary("multiply", cx.out, sum)?)])
}

/// Sums along the axis of a softmax, and keeps the axis.
fn along_axis(cx: &mut Gradient<'_>, x: ExprId) -> Result<ExprId, String> {
    let axis = cx.store.attr_int(cx.attrs, "axis").unwrap_or(-1);
    cx.call("sum", &[x], &[("axis", ints(&[axis])), ("keepdims", AttrValue::Bool(true))])
}

/// `nn.softmax`
pub fn softmax(cx: &mut Gradient<'_>) -> Partials {
    let product = cx.binary("multiply", cx.out, cx.result)?;
    let sum = along_axis(cx, product)?;
    let difference = cx.binary("subtract", cx.out, sum)?;
    Ok(vec![Some(cx.binary("multiply", difference, cx.result)?)])
}

/// `nn.log_softmax`
pub fn log_softmax(cx: &mut Gradient<'_>) -> Partials {
    let exp = cx.unary("exp", cx.result)?;
    let sum = along_axis(cx, cx.out)?;
    let product = cx.binary("multiply", sum, exp)?;
    Ok(vec![Some(cx.binary("subtract", cx.out, product)?)])
}

/// `nn.cross_entropy_with_logits`
pub fn cross_entropy_with_logits(cx: &mut Gradient<'_>) -> Partials {
    let (x, y) = (cx.arg(0)?, cx.arg(1)?);
    let mut out = cx.out;
    let dims = cx.dims(x)?;
    if dims.len() > 1 {
        let batch = dims[0].known().ok_or("the gradient needs a static batch")?;
        let batch = cx.number(batch as f64, out)?;
        out = cx.binary("divide", out, batch)?;
    }
    let first = cx.unary("negative", out)?;
    let first = cx.binary("multiply", first, y)?;
    let second = cx.unary("negative", out)?;
    Ok(vec![Some(first), Some(cx.binary("multiply", second, x)?)])
}

/// `nn.nll_loss`
pub fn nll_loss(cx: &mut Gradient<'_>) -> Partials {
    let mut operands = vec![cx.out];
    operands.extend(cx.args);
    let attrs = [("reduction", cx.attr("reduction")), ("ignore_index", cx.attr("ignore_index"))];
    let mut partials = vec![Some(cx.call("grad.nll_loss_backward", &operands, &attrs)?)];
    partials.resize(cx.args.len(), None);
    Ok(partials)
}

/// `nn.max_pool2d`
pub fn max_pool2d(cx: &mut Gradient<'_>) -> Partials {
    pool(cx, "grad.max_pool2d_backward")
}

/// `nn.avg_pool2d`
pub fn avg_pool2d(cx: &mut Gradient<'_>) -> Partials {
    pool(cx, "grad.avg_pool2d_backward")
}

fn pool(cx: &mut Gradient<'_>, backward: &str) -> Partials {
    let operands = [cx.out, cx.arg(0)?];
    Ok(vec![Some(cx.call_with(backward, &operands, cx.attrs)?)])
}

/// `nn.conv2d`
pub fn conv2d(cx: &mut Gradient<'_>) -> Partials {
    for (field, wanted) in [("data_layout", "NCHW"), ("kernel_layout", "OIHW"), ("out_layout", "NCHW")] {
        if cx.store.attr_str(cx.attrs, field).is_some_and(|layout| layout != wanted) {
            return Err(format!("the gradient of conv2d takes {field} {wanted} only"));
        }
    }
    let (mut data, weight) = (cx.arg(0)?, cx.arg(1)?);
    let four = |dims: Vec<i64>| <[i64; 4]>::try_from(dims).map_err(|_| "conv2d has four axes".to_owned());
    let [batch, out_channel, grad_h, grad_w] = four(cx.numbers(cx.result)?)?;
    let [_, in_channel, in_h, in_w] = four(cx.numbers(data)?)?;
    let [_, _, filter_h, filter_w] = four(cx.numbers(weight)?)?;
    let [top, left, bottom, right] = four(cx.ints("padding").unwrap_or_default())?;
    let two = |list: Option<Vec<i64>>| <[i64; 2]>::try_from(list.unwrap_or_default()).map_err(|_| "two numbers".to_owned());
    let ([stride_h, stride_w], [dilation_h, dilation_w]) = (two(cx.ints("strides"))?, two(cx.ints("dilation"))?);
    let groups = cx.store.attr_int(cx.attrs, "groups").unwrap_or(1).max(1);
    // The reach of the windows beyond their own extent.
    let reach = |count: i64, stride: i64| count.saturating_sub(1).saturating_mul(stride);
    let less = |a: i64, list: &[i64]| list.iter().fold(a, |a, b| a.saturating_sub(*b));
    let out_h = less(reach(grad_h, stride_h), &[top, bottom]).saturating_add(filter_h);
    let out_w = less(reach(grad_w, stride_w), &[left, right]).saturating_add(filter_w);
    let text = |cx: &mut Gradient<'_>, text: &str| AttrValue::Str(cx.store.name(text));
    let (nchw, iohw, cnhw) = (text(cx, "NCHW"), text(cx, "IOHW"), text(cx, "CNHW"));
    let (strides, padding, dilation) = (cx.attr("strides"), cx.attr("padding"), cx.attr("dilation"));
    let of_data = cx.call(
        "nn.conv2d_transpose",
        &[cx.out, weight],
        &[
            ("strides", strides.clone()),
            ("padding", padding.clone()),
            ("output_padding", ints(&[less(in_h, &[out_h]), less(in_w, &[out_w])])),
            ("dilation", dilation.clone()),
            ("groups", AttrValue::int(groups)),
            ("data_layout", nchw.clone()),
            ("kernel_layout", iohw.clone()),
            ("out_layout", nchw),
            ("out_dtype", cx.attr("out_dtype")),
        ],
    )?;
    let dims = |list: &[i64]| list.iter().map(|&value| Dim::Int { value, bits: 64 }).collect::<Vec<Dim>>();
    if groups != 1 {
        let shape = cx.shape(&dims(&[batch, groups, in_channel / groups, in_h, in_w]));
        data = cx.call("reshape", &[data, shape], &[])?;
        data = cx.call("permute_dims", &[data], &[("axes", ints(&[1, 0, 2, 3, 4]))])?;
        let shape = cx.shape(&dims(&[batch.saturating_mul(groups), in_channel / groups, in_h, in_w]));
        data = cx.call("reshape", &[data, shape], &[])?;
    }
    // A convolution with the channels as batch: strides and dilation change places.
    let changes = [
        ("strides", dilation),
        ("padding", padding),
        ("dilation", strides),
        ("data_layout", cnhw.clone()),
        ("kernel_layout", iohw),
        ("out_layout", cnhw),
    ];
    let attrs = cx.with(&changes);
    let mut of_weight = cx.call_with("nn.conv2d", &[data, cx.out], attrs)?;
    let windows = |free: i64, padding: [i64; 2], dilation: i64| {
        let free = padding.iter().fold(free, |a, b| a.saturating_add(*b));
        free.div_euclid(dilation.max(1)).saturating_add(1)
    };
    let height = windows(less(in_h, &[reach(grad_h, stride_h), 1]), [top, bottom], dilation_h);
    let width = windows(less(in_w, &[reach(grad_w, stride_w), 1]), [left, right], dilation_w);
    if height > filter_h || width > filter_w {
        let ends = [out_channel, in_channel / groups, filter_h, filter_w];
        let lists = [[0, 1, 2, 3], [0, 0, 0, 0], ends].map(|list| tuple(cx, &list));
        of_weight = cx.call("strided_slice", &[of_weight, lists[0], lists[1], lists[2]], &[])?;
    }
    Ok(vec![Some(of_data), Some(of_weight)])
}

/// Numbers as a tuple of scalars.
fn tuple(cx: &mut Gradient<'_>, list: &[i64]) -> ExprId {
    use crate::ir::{DType, Expr, Type};
    let ty = cx.store.ty(Type::Prim(DType::I64));
    let mut fields = Vec::with_capacity(list.len());
    for value in list {
        let prim = cx.store.prim_int(*value, DType::I64);
        fields.push(cx.store.add_typed(Expr::Prim(prim), Some(ty)));
    }
    let types = vec![ty; fields.len()];
    let ty = cx.store.tuple_type(&types);
    let fields = cx.store.list(&fields);
    cx.store.add_typed(Expr::Tuple(fields), Some(ty))
}
