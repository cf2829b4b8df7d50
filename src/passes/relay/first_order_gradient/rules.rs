//! Gradients of operators.
//!
//! Source: `python/tvm/relay/op/_tensor_grad.py`.

use super::call::Call;
use super::products;
use crate::ir::{AttrValue, ExprId, Type};
use crate::ops::build::{call_with, ints};

/// Returns the gradients of the arguments; `None` where they are not known.
pub type Rule = fn(Call) -> Option<Vec<ExprId>>;

/// Returns the rule of an operator.
#[expect(clippy::too_many_lines, reason = "a table: an arm for each operator")]
pub fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "add" => |mut c| Some(vec![c.collapsed(c.grad, 0), c.collapsed(c.grad, 1)]),
        "subtract" => |mut c| {
            let first = c.collapsed(c.grad, 0);
            let minus = c.of("negative", &[c.grad]);
            Some(vec![first, c.collapsed(minus, 1)])
        },
        "multiply" => |mut c| {
            let [x, y] = *c.args else { return None };
            let by_y = c.of("multiply", &[c.grad, y]);
            let first = c.collapsed(by_y, 0);
            let by_x = c.of("multiply", &[c.grad, x]);
            Some(vec![first, c.collapsed(by_x, 1)])
        },
        "divide" => |mut c| {
            let y = *c.args.get(1)?;
            let part = c.of("divide", &[c.grad, y]);
            let first = c.collapsed(part, 0);
            let whole = c.of("multiply", &[c.grad, c.orig]);
            let part = c.of("divide", &[whole, y]);
            let minus = c.of("negative", &[part]);
            Some(vec![first, c.collapsed(minus, 1)])
        },
        "negative" => |mut c| Some(vec![c.of("negative", &[c.grad])]),
        "copy" => |c| Some(vec![c.grad]),
        "exp" => |mut c| c.scaled("exp"),
        "cosh" => |mut c| c.scaled("sinh"),
        "sinh" => |mut c| c.scaled("cosh"),
        "sin" => |mut c| c.scaled("cos"),
        "cos" => |mut c| {
            let x = *c.args.first()?;
            let ones = c.of("ones_like", &[x]);
            let (minus, sine) = (c.of("negative", &[ones]), c.of("sin", &[x]));
            let factor = c.of("multiply", &[minus, sine]);
            Some(vec![c.of("multiply", &[c.grad, factor])])
        },
        "tan" => |mut c| {
            let x = *c.args.first()?;
            let cosines = [c.of("cos", &[x]), c.of("cos", &[x])];
            let square = c.of("multiply", &cosines);
            Some(vec![c.of("divide", &[c.grad, square])])
        },
        "log" => |mut c| {
            let x = *c.args.first()?;
            let ones = c.of("ones_like", &[x]);
            let grad = c.of("multiply", &[c.grad, ones]);
            Some(vec![c.of("divide", &[grad, x])])
        },
        "log2" | "log10" => |mut c| {
            let x = *c.args.first()?;
            let base = if crate::ops::build::op_name(c.store, c.orig) == "log2" { 2.0 } else { 10.0 };
            let ones = c.of("ones_like", &[x]);
            let base = c.number(base)?;
            let grad = c.of("multiply", &[c.grad, ones]);
            let log = c.of("log", &[base]);
            let product = c.of("multiply", &[log, x]);
            Some(vec![c.of("divide", &[grad, product])])
        },
        "sqrt" => |mut c| {
            let x = *c.args.first()?;
            let half = c.number(0.5)?;
            let grad = c.of("multiply", &[c.grad, half]);
            let minus = c.of("negative", &[half]);
            let power = c.of("power", &[x, minus]);
            Some(vec![c.of("multiply", &[grad, power])])
        },
        "sigmoid" => |mut c| {
            let grad = c.of("multiply", &[c.grad, c.orig]);
            let ones = c.of("ones_like", &[c.orig]);
            let rest = c.of("subtract", &[ones, c.orig]);
            Some(vec![c.of("multiply", &[grad, rest])])
        },
        "tanh" => |mut c| {
            let ones = c.of("ones_like", &[c.orig]);
            let square = c.of("multiply", &[c.orig, c.orig]);
            let rest = c.of("subtract", &[ones, square]);
            Some(vec![c.of("multiply", &[c.grad, rest])])
        },
        "nn.relu" => |mut c| {
            let x = *c.args.first()?;
            let (zeros, ones) = (c.of("zeros_like", &[x]), c.of("ones_like", &[x]));
            let (less, grad) = (c.of("less", &[x, zeros]), c.of("multiply", &[ones, c.grad]));
            Some(vec![c.of("where", &[less, zeros, grad])])
        },
        "abs" => |mut c| {
            let x = *c.args.first()?;
            let (zeros, ones) = (c.of("zeros_like", &[x]), c.of("ones_like", &[x]));
            let less = c.of("less", &[x, zeros]);
            let minus = c.of("negative", &[ones]);
            let (down, up) = (c.of("multiply", &[minus, c.grad]), c.of("multiply", &[ones, c.grad]));
            Some(vec![c.of("where", &[less, down, up])])
        },
        "clip" => |mut c| {
            let x = *c.args.first()?;
            let bound = |c: &Call, name: &str| c.store.attr(c.attrs, name).and_then(AttrValue::as_float);
            let mut bounds = Vec::new();
            for name in ["a_min", "a_max"] {
                // TVM takes integers here.
                let value = c.number(bound(&c, name)?.trunc())?;
                bounds.push(c.of("broadcast_to_like", &[value, x]));
            }
            let (zeros, ones) = (c.of("zeros_like", &[x]), c.of("ones_like", &[x]));
            let (below, above) = (c.of("less", &[x, bounds[0]]), c.of("less", &[bounds[1], x]));
            let grad = c.of("multiply", &[ones, c.grad]);
            let inner = c.of("where", &[above, zeros, grad]);
            Some(vec![c.of("where", &[below, zeros, inner])])
        },
        "zeros" | "ones" => |_| Some(Vec::new()),
        "dyn.zeros" | "dyn.ones" | "shape_of" => |mut c| Some(vec![c.zeros(0)?]),
        "zeros_like" => |c| Some(vec![c.orig]),
        "ones_like" => |mut c| Some(vec![c.zeros(0)?]),
        "less_equal" | "not_equal" => |mut c| Some(vec![c.zeros(0)?, c.zeros(1)?]),
        "where" => |mut c| {
            let cond = *c.args.first()?;
            let zeros = c.of("zeros_like", &[c.grad]);
            let (then, other) = (c.of("where", &[cond, c.grad, zeros]), c.of("where", &[cond, zeros, c.grad]));
            let (then, other) = (c.collapsed(then, 1), c.collapsed(other, 2));
            Some(vec![c.zeros(0)?, then, other])
        },
        "collapse_sum_like" | "collapse_sum_to" => |mut c| {
            let first = c.like("broadcast_to_like", c.grad)?;
            Some(vec![first, c.zeros(1)?])
        },
        "cast" => |mut c| Some(vec![c.like("cast_like", c.grad)?]),
        "cast_like" => |mut c| {
            let first = c.like("cast_like", c.grad)?;
            Some(vec![first, c.zeros(1)?])
        },
        "reshape" | "nn.batch_flatten" | "squeeze" | "contrib_reverse_reshape" => |mut c| Some(vec![c.reshaped(c.grad)?]),
        "reshape_like" | "dyn.reshape" => |mut c| {
            let first = c.reshaped(c.grad)?;
            Some(vec![first, c.zeros(1)?])
        },
        "expand_dims" => |c| {
            let (axis, count) = (c.int("axis")?, c.int("num_newaxis")?);
            let mut grad = c.grad;
            for _ in 0..count.min(1 << 10) {
                grad = call_with(c.store, "squeeze", &[grad], &[("axis", ints(&[axis]))]);
            }
            Some(vec![grad])
        },
        "transpose" => |mut c| {
            let axes = c.store.attr_ints(c.attrs, "axes").filter(|axes| !axes.is_empty());
            let back = axes.map(|axes| {
                let mut back = vec![0; axes.len()];
                let count = axes.len() as i64;
                for (index, axis) in axes.iter().enumerate() {
                    let axis = if *axis < 0 { axis + count } else { *axis };
                    if let Some(slot) = usize::try_from(axis).ok().and_then(|axis| back.get_mut(axis)) {
                        *slot = index as i64;
                    }
                }
                ints(&back)
            });
            Some(vec![c.transposed_by(c.grad, back.unwrap_or(AttrValue::Null))])
        },
        "sum" | "mean" => |mut c| {
            let mean = crate::ops::build::op_name(c.store, c.orig) == "mean";
            let shape = c.shape(0)?;
            let axes = reduced(&c, shape.len())?;
            let mut grad = if c.int("keepdims") == Some(1) { c.grad } else { c.expanded(c.grad, &axes) };
            if mean {
                let mut factor = 1.0;
                for axis in &axes {
                    factor /= shape.get(*axis as usize)?.known()? as f64;
                }
                let factor = c.number(factor)?;
                grad = c.of("multiply", &[grad, factor]);
            }
            Some(vec![c.like("broadcast_to_like", grad)?])
        },
        "max" => max,
        "variance" => |mut c| {
            let (axes, shape) = (reduced(&c, c.shape(0)?.len())?, c.shape(0)?);
            let [data, mean] = *c.args else { return None };
            let mut count = 1.0;
            for axis in &axes {
                count *= shape.get(*axis as usize)?.known()? as f64;
            }
            let grad = if c.int("keepdims") == Some(1) { c.grad } else { c.expanded(c.grad, &axes) };
            let (of_mean, count) = match c.int("unbiased") {
                Some(1) => (-2.0 * count / (count - 1.0), count - 1.0),
                _ => (-2.0, count),
            };
            let (by, of_mean) = (c.number(2.0 / count)?, c.number(of_mean)?);
            let first = c.of("multiply", &[grad, by]);
            let second = c.of("multiply", &[of_mean, grad]);
            Some(vec![c.of("multiply", &[first, data]), c.of("multiply", &[second, mean])])
        },
        "nn.cross_entropy" | "nn.cross_entropy_with_logits" => |mut c| {
            let [x, y] = *c.args else { return None };
            let batch = c.extent(x, 0);
            let batch = call_with(c.store, "cast", &[batch], &[("dtype", AttrValue::DType(Some(c.dtype(0)?)))]);
            let grad = c.of("divide", &[c.grad, batch]);
            let (first, second) = (c.of("negative", &[grad]), c.of("negative", &[grad]));
            let by_y = c.of("multiply", &[first, y]);
            if crate::ops::build::op_name(c.store, c.orig) == "nn.cross_entropy_with_logits" {
                return Some(vec![by_y, c.of("multiply", &[second, x])]);
            }
            let log = c.of("log", &[x]);
            Some(vec![c.of("divide", &[by_y, x]), c.of("multiply", &[second, log])])
        },
        "nn.softmax" => |mut c| {
            let product = c.of("multiply", &[c.grad, c.orig]);
            let sum = c.summed(product, true, false)?;
            let rest = c.of("subtract", &[c.grad, sum]);
            Some(vec![c.of("multiply", &[rest, c.orig])])
        },
        "nn.log_softmax" => |mut c| {
            let sum = c.summed(c.grad, true, false)?;
            let exp = c.of("exp", &[c.orig]);
            let product = c.of("multiply", &[sum, exp]);
            Some(vec![c.of("subtract", &[c.grad, product])])
        },
        "nn.bias_add" => |mut c| {
            let data = c.collapsed(c.grad, 0);
            Some(vec![data, c.summed(c.grad, false, true)?])
        },
        "acos" | "acosh" | "asin" | "asinh" | "atan" | "atanh" => inverse,
        "erf" => |mut c| {
            let x = *c.args.first()?;
            let (factor, minus) = (c.number(std::f64::consts::FRAC_2_SQRT_PI)?, c.of("negative", &[x]));
            let square = c.of("multiply", &[minus, x]);
            let exp = c.of("exp", &[square]);
            let product = c.of("multiply", &[factor, exp]);
            Some(vec![c.of("multiply", &[product, c.grad])])
        },
        "nn.dense" => products::dense,
        "nn.matmul" | "nn.batch_matmul" => products::matmul,
        "nn.conv2d" => products::conv2d,
        "nn.max_pool2d" => {
            |mut c| c.pool("nn.max_pool2d_grad", "nn.max_pool2d", &["pool_size", "strides", "padding", "layout", "ceil_mode"])
        }
        "nn.avg_pool2d" => |mut c| {
            c.pool(
                "nn.avg_pool2d_grad",
                "nn.avg_pool2d",
                &["pool_size", "strides", "padding", "layout", "ceil_mode", "count_include_pad"],
            )
        },
        "nn.global_avg_pool2d" => |mut c| {
            let shape = c.shape(0)?;
            let layout = c.store.attr(c.attrs, "layout")?.clone();
            let from = match c.store.attr_str(c.attrs, "layout")? {
                "NCHW" => 2,
                "NHWC" => 1,
                _ => return None,
            };
            let size = [shape.get(from)?.known()?, shape.get(from + 1)?.known()?];
            let set = [("pool_size", ints(&size)), ("strides", ints(&[1, 1])), ("padding", ints(&[0, 0])), ("layout", layout)];
            Some(vec![c.pool_grad("nn.avg_pool2d_grad", "nn.avg_pool2d", &set)?])
        },
        "concatenate" => |c| {
            let Type::Tuple(fields) = c.store.type_of_id(*c.types.first()?).clone() else { return None };
            let axis = c.int("axis")?;
            let (mut places, mut sum) = (Vec::new(), 0);
            for field in &fields {
                let Type::Tensor { shape, .. } = c.store.type_of_id(*field) else { return None };
                let at = if axis < 0 { axis + shape.len() as i64 } else { axis };
                sum += shape.get(usize::try_from(at).ok()?)?.known()?;
                places.push(sum);
            }
            places.pop();
            let set = [("indices_or_sections", ints(&places)), ("axis", AttrValue::int(axis))];
            let parts = call_with(c.store, "split", &[c.grad], &set);
            Some(vec![parts])
        },
        _ => return super::index::rule(op),
    })
}

/// Splits the gradient equally among all elements that equal the maximum.
fn max(mut c: Call) -> Option<Vec<ExprId>> {
    let (x, shape) = (*c.args.first()?, c.shape(0)?);
    let (mut largest, mut grad) = (c.orig, c.grad);
    let mut over = Vec::new();
    if c.store.attr_ints(c.attrs, "axis").is_none() {
        largest = c.of("full_like", &[x, largest]);
    } else {
        let axes = reduced(&c, shape.len())?;
        if c.int("keepdims") != Some(1) {
            (largest, grad) = (c.expanded(largest, &axes), c.expanded(grad, &axes));
        }
        for axis in &axes {
            let repeats = AttrValue::int(shape.get(*axis as usize)?.known()?);
            largest = call_with(c.store, "repeat", &[largest], &[("repeats", repeats), ("axis", AttrValue::int(*axis))]);
        }
        over.push(("axis", ints(&axes)));
    }
    let is_largest = c.of("equal", &[largest, x]);
    let chosen = c.of("cast_like", &[is_largest, grad]);
    over.push(("keepdims", AttrValue::Bool(true)));
    let count = call_with(c.store, "sum", &[chosen], &over);
    let product = c.of("multiply", &[chosen, grad]);
    Some(vec![c.of("divide", &[product, count])])
}

/// Functions whose derivative has a square and one below the fraction bar.
fn inverse(mut c: Call) -> Option<Vec<ExprId>> {
    let (x, op) = (*c.args.first()?, crate::ops::build::op_name(c.store, c.orig));
    let ones = c.of("ones_like", &[x]);
    let square = c.of("multiply", &[x, x]);
    let mut below = match op {
        "acosh" => c.of("subtract", &[square, ones]),
        "asinh" | "atan" => c.of("add", &[ones, square]),
        _ => c.of("subtract", &[ones, square]),
    };
    if !op.starts_with("atan") {
        below = c.of("sqrt", &[below]);
    }
    if op == "acos" {
        let minus = c.of("negative", &[ones]);
        let factor = c.of("divide", &[minus, below]);
        return Some(vec![c.of("multiply", &[c.grad, factor])]);
    }
    let grad = c.of("multiply", &[c.grad, ones]);
    Some(vec![c.of("divide", &[grad, below])])
}

/// Returns the axes that a sum reduces, in order.
fn reduced(c: &Call, rank: usize) -> Option<Vec<i64>> {
    let all = 0..rank as i64;
    let Some(axes) = c.store.attr_ints(c.attrs, "axis") else { return Some(all.collect()) };
    let axes: Vec<i64> = axes.into_iter().map(|axis| if axis < 0 { axis + rank as i64 } else { axis }).collect();
    let exclude = c.int("exclude") == Some(1);
    Some(all.filter(|axis| axes.contains(axis) != exclude).collect())
}
