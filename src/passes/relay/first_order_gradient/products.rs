//! Gradients of products of matrices and of convolutions.
//!
//! Source: `python/tvm/relay/op/_tensor_grad.py`.

use super::call::Call;
use crate::ir::{AttrValue, Dim, ExprId, Type};
use crate::ops::build::{call_with, ints};

pub(super) fn dense(mut c: Call) -> Option<Vec<ExprId>> {
    let [data, weight] = *c.args else { return None };
    let turned = c.transposed(weight);
    let first = c.dense(c.grad, turned, 1)?;
    let first = c.collapsed(first, 0);
    let (grad, turned) = (c.transposed(c.grad), c.transposed(data));
    let second = c.dense(grad, turned, 0)?;
    Some(vec![first, c.collapsed(second, 1)])
}

/// Products of matrices, one or many, either of them transposed.
pub(super) fn matmul(mut c: Call) -> Option<Vec<ExprId>> {
    let [a, b] = *c.args else { return None };
    let grad = c.grad;
    let op = crate::ops::build::op_name(c.store, c.orig);
    let turns = [c.int("transpose_a") == Some(1), c.int("transpose_b") == Some(1)];
    if turns == [false, true] && op == "nn.matmul" {
        return dense(c);
    }
    let [first, second] = match turns {
        [true, true] => [(b, grad, true, true), (grad, a, true, true)],
        [true, false] => [(b, grad, false, true), (a, grad, false, false)],
        [false, false] => [(grad, b, false, true), (a, grad, true, false)],
        // Keeps the second operand transposed.
        [false, true] => {
            let [b, left, a] = [b, grad, a].map(|value| c.transposed_by(value, ints(&[0, 2, 1])));
            [(grad, b, false, true), (left, a, false, true)]
        }
    };
    let [first, second] = [first, second].map(|(a, b, turn_a, turn_b)| {
        let set = [("transpose_a", AttrValue::Bool(turn_a)), ("transpose_b", AttrValue::Bool(turn_b))];
        let units = [("units", AttrValue::Null)];
        let set = if op == "nn.matmul" { [&units[..], &set[..]].concat() } else { set.to_vec() };
        call_with(c.store, op, &[a, b], &set)
    });
    Some(vec![c.collapsed(first, 0), c.collapsed(second, 1)])
}

pub(super) fn conv2d(c: Call) -> Option<Vec<ExprId>> {
    let [data, weight] = *c.args else { return None };
    let known = |shape: Vec<Dim>| shape.iter().map(|dim| dim.known()).collect::<Option<Vec<i64>>>();
    let Type::Tensor { shape: out, .. } = c.store.type_of_id(c.ty) else { return None };
    let (out, input, filter) = (known(out.to_vec())?, known(c.shape(0)?)?, known(c.shape(1)?)?);
    let ([_, _, out @ ..], [_, _, input @ ..], [_, _, filter @ ..]) = (&out[..], &input[..], &filter[..]) else { return None };
    let text = |name: &str| c.store.attr_str(c.attrs, name).unwrap_or_default();
    if text("data_layout") != "NCHW" || text("kernel_layout") != "OIHW" || !matches!(text("out_layout"), "" | "NCHW") {
        return None;
    }
    let list = |name: &str| c.store.attr_ints(c.attrs, name);
    let (strides, mut padding) = (list("strides")?, list("padding")?);
    if padding.len() == 2 {
        padding = [&padding[..], &padding[..]].concat();
    }
    let &[top, left, bottom, right] = &padding[..] else { return None };
    let mut over = Vec::new();
    for (axis, pads) in [top + bottom, left + right].into_iter().enumerate() {
        let size = (out.get(axis)? - 1) * strides.get(axis)? - pads + filter.get(axis)?;
        over.push(input.get(axis)? - size);
    }
    let attr = |name: &str| c.store.attr(c.attrs, name).cloned();
    let dtype = match attr("out_dtype") {
        Some(AttrValue::DType(Some(dtype))) => dtype,
        _ => c.dtype(0)?,
    };
    let dtype = AttrValue::DType(Some(dtype));
    let common = [
        ("strides", attr("strides")?),
        ("padding", ints(&padding)),
        ("dilation", attr("dilation")?),
        ("groups", attr("groups")?),
    ];
    let channels = attr("channels")?;
    let mut set = common.to_vec();
    set.extend([("output_padding", ints(&over)), ("out_dtype", dtype.clone())]);
    let first = call_with(c.store, "nn.conv2d_transpose", &[c.grad, weight], &set);
    let [grad_layout, kernel_layout] = ["NCHW", "OIHW"].map(|layout| AttrValue::Str(c.store.name(layout)));
    let mut set = common.to_vec();
    set.extend([
        ("channels", channels),
        ("kernel_size", ints(filter)),
        ("data_layout", grad_layout.clone()),
        ("kernel_layout", grad_layout),
        ("out_layout", kernel_layout),
        ("out_dtype", dtype),
    ]);
    let second = call_with(c.store, "nn.conv2d_backward_weight", &[c.grad, data], &set);
    Some(vec![first, second])
}
