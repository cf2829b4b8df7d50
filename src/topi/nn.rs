//! Activations, softmax, losses, attention.
//!
//! Source: `python/tvm/topi/nn/elemwise.py`, `softmax.py`, `pixel_shuffle.py`, `include/tvm/topi/nn.h`, `legalize_ops/nn.py`.

use super::conv::batch_matmul;
use super::create_ops::{full, trilu};
use super::elementwise::{each, erf_of, intrinsic, of, scalar_with, with_scalar};
use super::lower::{Lower, Lowered, Refused, from_front};
use super::manipulate::{broadcast, reshape, transpose};
use super::reduce::over;
use super::te::{Reducer, Te, Tensor};
use super::{Rule, rule};
use crate::ir::{AttrValue, PrimId, PrimOp};

pub(super) const RULES: &[Rule] = &[
    rule("nn.relu", "relu", activation),
    rule("nn.leakyrelu", "leaky_relu", activation),
    rule("nn.softplus", "softplus", activation),
    rule("nn.prelu", "prelu", prelu),
    rule("nn.gelu", "gelu", composed),
    rule("nn.gelu_tanh", "gelu_tanh", composed),
    rule("nn.selu", "selu", composed),
    rule("nn.silu", "silu", composed),
    rule("nn.softmax", "softmax", softmax_of),
    rule("nn.log_softmax", "log_softmax", log_softmax),
    rule("nn.cross_entropy_with_logits", "cross_entropy_with_logits", cross_entropy),
    rule("nn.dropout", "dropout", dropout),
    rule("nn.attention", "attention", attention),
    rule("nn.attention_bias", "attention_bias", attention),
    rule("nn.nll_loss", "nll_loss", nll_loss_of),
    rule("grad.nll_loss_backward", "nll_loss_backward", nll_loss_backward),
    rule("nn.pixel_shuffle", "pixel_shuffle", pixel_shuffle),
];

fn activation(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let (op, alpha, beta, threshold) = (cx.op, cx.float("alpha"), cx.float("beta"), cx.float("threshold"));
    let dtype = cx.te.dtype(x);
    let out = each(&mut cx.te, "compute", "i", x, &mut |te, x| {
        let zero = te.number(0.0, dtype);
        match op {
            "nn.relu" => te.bin(PrimOp::Max, x, zero),
            "nn.leakyrelu" => {
                let (alpha, positive) = (te.number(alpha, dtype), te.bin(PrimOp::Gt, x, zero));
                let small = te.times(x, alpha);
                te.select(positive, x, small)
            }
            _ => {
                let (b, t, one) = (te.number(beta, dtype), te.number(threshold, dtype), te.number(1.0, dtype));
                let steep = te.times(b, x);
                let large = te.bin(PrimOp::Gt, steep, t);
                let inverse = te.over(one, b);
                let power = te.call("exp", &[steep]);
                let sum = te.plus(one, power);
                let log = te.call("log", &[sum]);
                let soft = te.times(inverse, log);
                te.select(large, x, soft)
            }
        }
    });
    cx.finish(&[out])
}

fn prelu(cx: &mut Lower) -> Lowered {
    let (x, slope) = (cx.tensor(0)?, cx.tensor(1)?);
    let axis = from_front(cx.int("axis").unwrap_or(1), cx.te.rank(x));
    let shape = cx.te.shape(x);
    let mut slope = slope;
    if cx.te.known(cx.te.shape(slope)[0]) == Some(1) {
        let single = slope;
        slope = cx.te.compute("slope_broadcasted", "c", &[shape[axis]], &mut |te, _| {
            let zero = te.int(0);
            te.load(single, &[zero])
        });
    }
    let out = cx.te.compute("compute", "i", &shape, &mut |te, at| {
        let (value, slope) = (te.load(x, at), te.load(slope, &[at[axis]]));
        let zero = te.number(0.0, te.type_of(value));
        let (positive, small) = (te.bin(PrimOp::Gt, value, zero), te.times(value, slope));
        te.select(positive, value, small)
    });
    cx.finish(&[out])
}

/// Activations that are composed of other operators.
fn composed(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let op = cx.op;
    let te = &mut cx.te;
    let dtype = te.dtype(x);
    let out = match op {
        "nn.silu" => {
            let sigmoid = intrinsic(te, "sigmoid", x);
            of(te, "multiply", x, sigmoid)
        }
        "nn.gelu" => {
            let (root, half) = (te.number(0.5f64.sqrt(), dtype), te.number(0.5, dtype));
            let inner = with_scalar(te, "multiply", x, root);
            let erf = erf_of(te, inner);
            let erf = with_scalar(te, "multiply", erf, half);
            let sum = scalar_with(te, "add", half, erf);
            of(te, "multiply", x, sum)
        }
        "nn.gelu_tanh" => {
            let [half, one, root, cubic] =
                [0.5, 1.0, (2.0 / std::f64::consts::PI).sqrt(), 0.044715].map(|value| te.number(value, dtype));
            let halved = scalar_with(te, "multiply", half, x);
            let scaled = scalar_with(te, "multiply", root, x);
            let square = scalar_with(te, "multiply", cubic, x);
            let square = of(te, "multiply", square, x);
            let square = scalar_with(te, "add", one, square);
            let inner = of(te, "multiply", scaled, square);
            let tanh = intrinsic(te, "tanh", inner);
            let sum = scalar_with(te, "add", one, tanh);
            of(te, "multiply", halved, sum)
        }
        _ => {
            let [alpha, scale, zero, one] =
                [1.673_263_242_354_377_2, 1.050_700_987_355_480_5, 0.0, 1.0].map(|value| te.number(value, dtype));
            let positive = with_scalar(te, "maximum", x, zero);
            let exp = intrinsic(te, "exp", x);
            let less = with_scalar(te, "subtract", exp, one);
            let scaled = scalar_with(te, "multiply", alpha, less);
            let negative = scalar_with(te, "minimum", zero, scaled);
            let sum = of(te, "add", positive, negative);
            scalar_with(te, "multiply", scale, sum)
        }
    };
    cx.finish(&[out])
}

fn dropout(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let te = &mut cx.te;
    let same = each(te, "compute", "i", x, &mut |_, x| x);
    let one = te.number(1.0, te.dtype(x));
    let shape = te.shape(x);
    let mask = te.compute("T_full_like", "ax", &shape, &mut |_, _| one);
    cx.finish(&[same, mask])
}

/// Removes one index.
pub(super) fn without(at: &[PrimId], axis: usize) -> Vec<PrimId> {
    at.iter().enumerate().filter(|(index, _)| *index != axis).map(|(_, value)| *value).collect()
}

fn with(at: &[PrimId], axis: usize, index: PrimId) -> Vec<PrimId> {
    let mut at = at.to_vec();
    at.insert(axis.min(at.len()), index);
    at
}

fn axis_attr(axis: usize) -> Vec<(&'static str, AttrValue)> {
    vec![("axis", AttrValue::Int { value: axis as i64, bits: 64 })]
}

/// `topi.nn.softmax`
pub(super) fn softmax(te: &mut Te, x: Tensor, axis: usize) -> Tensor {
    softmax_by(te, x, axis, &mut |te, most| {
        let shape = te.shape(x);
        te.compute("T_softmax_exp", "i", &shape, &mut |te, at| {
            let (value, most) = (te.load(x, at), te.load(most, &without(at, axis)));
            let below = te.minus(value, most);
            te.call("exp", &[below])
        })
    })
}

/// Does the same with another function for the exponentials, which gets the greatest elements.
pub(super) fn softmax_by(te: &mut Te, x: Tensor, axis: usize, exp: &mut dyn FnMut(&mut Te, Tensor) -> Tensor) -> Tensor {
    let shape = te.shape(x);
    let (left, extent) = (without(&shape, axis), shape[axis]);
    let most = te.reduce("T_softmax_maxelem", "i", &left, &[("k", extent)], Reducer::Max, &mut |te, at, k| {
        te.load(x, &with(at, axis, k[0]))
    });
    let exp = exp(te, most);
    let sum = te.reduce("T_softmax_expsum", "i", &left, &[("k", extent)], Reducer::Sum, &mut |te, at, k| {
        te.load(exp, &with(at, axis, k[0]))
    });
    te.compute_with("T_softmax_norm", "i", &shape, axis_attr(axis), &mut |te, at| {
        let (exp, sum) = (te.load(exp, at), te.load(sum, &without(at, axis)));
        te.over(exp, sum)
    })
}

fn softmax_of(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let axis = from_front(cx.int("axis").unwrap_or(-1), cx.te.rank(x));
    let out = softmax(&mut cx.te, x, axis);
    cx.finish(&[out])
}

fn log_softmax(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let axis = from_front(cx.int("axis").unwrap_or(-1), cx.te.rank(x));
    let te = &mut cx.te;
    let shape = te.shape(x);
    let (left, extent) = (without(&shape, axis), shape[axis]);
    let most = te.reduce("T_softmax_maxelem", "i", &left, &[("k", extent)], Reducer::Max, &mut |te, at, k| {
        te.load(x, &with(at, axis, k[0]))
    });
    let sum = te.reduce("compute", "i", &left, &[("k", extent)], Reducer::Sum, &mut |te, at, k| {
        let (value, most) = (te.load(x, &with(at, axis, k[0])), te.load(most, at));
        let below = te.minus(value, most);
        te.call("exp", &[below])
    });
    let out = te.compute_with("compute", "i", &shape, axis_attr(axis), &mut |te, at| {
        let outer = without(at, axis);
        let (value, most, sum) = (te.load(x, at), te.load(most, &outer), te.load(sum, &outer));
        let below = te.minus(value, most);
        let log = te.call("log", &[sum]);
        te.minus(below, log)
    });
    cx.finish(&[out])
}

fn cross_entropy(cx: &mut Lower) -> Lowered {
    let (x, y) = (cx.tensor(0)?, cx.tensor(1)?);
    let te = &mut cx.te;
    let product = of(te, "multiply", x, y);
    let axes: Vec<usize> = (0..te.rank(product)).collect();
    let sum = over(te, product, &axes, false, Reducer::Sum);
    let minus = te.number(-1.0, te.dtype(sum));
    let mut out = with_scalar(te, "multiply", sum, minus);
    if te.rank(x) > 1 {
        let batch = te.shape(x)[0];
        out = with_scalar(te, "divide", out, batch);
    }
    cx.finish(&[out])
}

fn nll_loss_of(cx: &mut Lower) -> Lowered {
    let (x, targets) = (cx.tensor(0)?, cx.tensor(1)?);
    let weighted = cx.args.len() > 2;
    let weights = if weighted { Some(cx.tensor(2)?) } else { None };
    let (reduction, ignored) = (cx.text("reduction"), cx.int("ignore_index").unwrap_or(-100));
    let te = &mut cx.te;
    let dtype = te.dtype(x);
    let shape = te.shape(x);
    let single = shape.len() == 1;
    let weights = match weights {
        Some(weights) => weights,
        None => {
            let one = te.number(1.0, dtype);
            full(te, &[shape[usize::from(!single)]], one)
        }
    };
    let places = te.shape(targets);
    let chosen = |te: &mut Te, of: &mut dyn FnMut(&mut Te, PrimId, &[PrimId]) -> PrimId| {
        te.compute("nll_loss", "ax", &places, &mut |te, at| {
            let class = te.load(targets, at);
            let ignored = te.store.prim_int(ignored, te.type_of(class));
            let counts = te.bin(PrimOp::Ne, class, ignored);
            let (value, zero) = (of(te, class, at), te.number(0.0, dtype));
            te.select(counts, value, zero)
        })
    };
    let loss = chosen(te, &mut |te, class, at| {
        let mut from = at.to_vec();
        from.insert(at.len().min(1), class);
        let value = te.load(x, &from);
        let zero = te.number(0.0, dtype);
        let minus = te.bin(PrimOp::Sub, zero, value);
        let weight = te.load(weights, &[class]);
        te.times(minus, weight)
    });
    let axes: Vec<usize> = (0..places.len()).collect();
    let all = |te: &mut Te, x: Tensor| if single { x } else { over(te, x, &axes, false, Reducer::Sum) };
    let out = match reduction.as_str() {
        "mean" => {
            let weight = chosen(te, &mut |te, class, _| te.load(weights, &[class]));
            let (loss, weight) = (all(te, loss), all(te, weight));
            of(te, "divide", loss, weight)
        }
        "sum" => all(te, loss),
        _ => loss,
    };
    cx.finish_as(if weighted { "nll_loss" } else { "nll_loss_without_weight" }, &[out])
}

fn nll_loss_backward(cx: &mut Lower) -> Lowered {
    let (mut grad, x, targets) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let weighted = cx.args.len() > 3;
    let weights = if weighted { Some(cx.tensor(3)?) } else { None };
    let (reduction, ignored) = (cx.text("reduction"), cx.int("ignore_index").unwrap_or(-100));
    let te = &mut cx.te;
    let (shape, dtype) = (te.shape(x), te.dtype(x));
    let single = shape.len() == 1;
    let mut weights = match weights {
        Some(weights) => weights,
        None => {
            let one = te.number(1.0, dtype);
            full(te, &[shape[usize::from(!single)]], one)
        }
    };
    if ignored >= 0 {
        let all = te.shape(weights);
        weights = te.compute("weights_new", "=i", &all, &mut |te, at| {
            let (ignored, zero) = (te.int(ignored), te.number(0.0, dtype));
            let out = te.bin(PrimOp::Eq, at[0], ignored);
            let weight = te.load(weights, at);
            te.select(out, zero, weight)
        });
    }
    let places = te.shape(targets);
    let chosen = te.compute("all_weights", "i", &places, &mut |te, at| {
        let class = te.load(targets, at);
        te.load(weights, &[class])
    });
    if matches!(reduction.as_str(), "sum" | "mean") {
        grad = broadcast(te, grad, &places);
    }
    if reduction == "mean" {
        let axes: Vec<usize> = (0..places.len()).collect();
        let sum = if places.is_empty() { chosen } else { over(te, chosen, &axes, false, Reducer::Sum) };
        grad = of(te, "divide", grad, sum);
    }
    let out = te.compute("pred_grad", if single { "=i" } else { "i" }, &shape, &mut |te, at| {
        let class = if single { at[0] } else { at[1] };
        let from = if single { Vec::new() } else { without(at, 1) };
        let (target, weight, grad) = (te.load(targets, &from), te.load(chosen, &from), te.load(grad, &from));
        let minus = te.number(-1.0, dtype);
        let weight = te.times(weight, minus);
        let (here, value, zero) = (te.bin(PrimOp::Eq, class, target), te.times(weight, grad), te.number(0.0, dtype));
        te.select(here, value, zero)
    });
    cx.finish_as(if weighted { "nll_loss_backward" } else { "te_nll_loss_backward_no_weight" }, &[out])
}

fn attention(cx: &mut Lower) -> Lowered {
    let (q, k, v) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let bias = if cx.op == "nn.attention_bias" { Some(cx.tensor(3)?) } else { None };
    let scale = cx.number("scale");
    let mask = cx.te.store.attr_str(cx.attrs, "causal_mask").map(str::to_owned);
    let te = &mut cx.te;
    let (query, value) = (te.shape(q), te.shape(v));
    let ([batch, rows, heads, width], [_, columns, _, value_width]) = (&query[..], &value[..]) else {
        return Err(Refused::Leave);
    };
    let (batch, rows, heads, width, columns, value_width) = (*batch, *rows, *heads, *width, *columns, *value_width);
    let turn = |te: &mut Te, x: Tensor| transpose(te, x, &[0, 2, 1, 3]);
    let (q, k, v) = (turn(te, q), turn(te, k), turn(te, v));
    let all = te.times(batch, heads);
    let q = reshape(te, q, &[all, rows, width]);
    let k = reshape(te, k, &[all, columns, width]);
    let v = reshape(te, v, &[all, columns, value_width]);
    let dtype = te.dtype(q);
    let mut scores = batch_matmul(te, q, k, true, &[all, rows, columns], dtype);
    scores = match scale {
        Some(scale) => {
            let scale = te.number(scale, dtype);
            with_scalar(te, "multiply", scores, scale)
        }
        None => {
            let width = te.cast(dtype, width);
            let root = te.call("sqrt", &[width]);
            with_scalar(te, "divide", scores, root)
        }
    };
    if let Some(bias) = bias {
        scores = reshape(te, scores, &[batch, heads, rows, columns]);
        scores = of(te, "add", scores, bias);
        scores = reshape(te, scores, &[all, rows, columns]);
    }
    let weights = match mask.as_deref() {
        None => softmax(te, scores, 2),
        Some(kind) => {
            let offset = match kind {
                "TopLeft" => te.int(0),
                _ => {
                    let difference = te.minus(rows, columns);
                    te.abs(difference)
                }
            };
            let masked = trilu(te, scores, offset, false);
            let most = over(te, masked, &[2], true, Reducer::Max);
            let below = of(te, "subtract", masked, most);
            let exp = intrinsic(te, "exp", below);
            let exp = trilu(te, exp, offset, false);
            let sum = over(te, exp, &[2], true, Reducer::Sum);
            of(te, "divide", exp, sum)
        }
    };
    let out = batch_matmul(te, weights, v, false, &[all, rows, value_width], dtype);
    let out = reshape(te, out, &[batch, heads, rows, value_width]);
    let out = transpose(te, out, &[0, 2, 1, 3]);
    cx.finish(&[out])
}

/// TVM 0.27 has the program of it but cannot reach it: its module does not import that file.
fn pixel_shuffle(_: &mut Lower) -> Lowered {
    Err("module 'tvm.topi.nn' has no attribute 'pixel_shuffle'".into())
}
