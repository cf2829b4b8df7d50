//! Generates calls of operators.

use super::types::Ty;
use super::{Maker, Value};

/// Continuous functions of one float. Their values stay small.
const SMOOTH: &[&str] = &["nn.relu", "tanh", "sigmoid", "abs", "negative", "erf", "sin", "cos", "atan", "nn.leaky_relu", "copy"];
/// Discontinuous functions of one float.
const ROUGH: &[&str] = &["floor", "ceil", "round", "trunc", "sign"];
const BINARY: &[&str] = &["add", "add", "multiply", "subtract", "maximum", "minimum"];

fn list(items: &[i64]) -> String {
    let items: Vec<String> = items.iter().map(i64::to_string).collect();
    format!("[{}]", items.join(", "))
}

impl Maker {
    /// Generates a call whose result is a tensor.
    pub(super) fn tensor(&mut self, env: &[Value], shape: &[i64], dtype: &str, depth: usize) -> String {
        if shape.contains(&-1) {
            return self.of_unknown(env, shape, depth);
        }
        if *shape == [3] && dtype == "float32" && env.iter().any(|value| value.ty == Ty::unknown()) && self.random.chance(30) {
            let op = *self.random.pick(&["sum", "mean", "max"]);
            return format!("{op}({}, axis=[0])", self.operand(env, &Ty::unknown(), depth));
        }
        if self.random.chance(8) {
            return self.constant(shape, dtype);
        }
        match dtype {
            "bool" => self.truths(env, shape, depth),
            "int32" => self.integers(env, shape, depth),
            _ => match self.random.below(10) {
                0..=2 => self.elementwise(env, shape, depth),
                3..=6 => self.moved(env, shape, depth),
                _ => self.computed(env, shape, depth),
            },
        }
    }

    /// Generates a call with as many rows as a tensor in scope.
    fn of_unknown(&mut self, env: &[Value], shape: &[i64], depth: usize) -> String {
        let data = self.floats(env, shape, depth);
        match self.random.below(8) {
            0 | 1 => format!("{}({data})", self.random.pick(SMOOTH)),
            2 => format!("{}({data}, {})", self.random.pick(BINARY), self.floats(env, shape, 0)),
            3 => format!("{}({data}, {})", self.random.pick(BINARY), self.floats(env, &[3], depth)),
            4 => format!("nn.softmax({data}, axis={})", self.random.below(2)),
            5 => format!("nn.dense({data}, {}, units=3)", self.floats(env, &[3, 3], 0)),
            6 => format!("concatenate(({data}, {}), axis=0)", self.floats(env, shape, 0)),
            _ => format!("nn.bias_add({data}, {})", self.floats(env, &[3], 0)),
        }
    }

    fn floats(&mut self, env: &[Value], shape: &[i64], depth: usize) -> String {
        self.operand(env, &Ty::float(shape), depth)
    }

    /// Generates an operand that is broadcast to this shape.
    fn smaller(&mut self, env: &[Value], shape: &[i64], depth: usize) -> String {
        let mut own = shape.to_vec();
        match self.random.below(4) {
            0 => own.clear(),
            1 => drop(own.drain(..self.random.below(shape.len() + 1))),
            2 if !own.is_empty() => own[self.random.below(shape.len())] = 1,
            _ => {}
        }
        self.floats(env, &own, depth)
    }

    fn truths(&mut self, env: &[Value], shape: &[i64], depth: usize) -> String {
        let kind = if self.shape.smooth { self.random.below(4) + 1 } else { self.random.below(5) };
        let (ints, bools) = (Ty::Tensor(shape.to_vec(), "int32"), Ty::Tensor(shape.to_vec(), "bool"));
        let compare = *self.random.pick(&["less", "greater", "less_equal", "equal", "not_equal"]);
        match kind {
            0 => format!("{compare}({}, {})", self.floats(env, shape, depth), self.floats(env, shape, depth)),
            1 | 2 => format!("{compare}({}, {})", self.operand(env, &ints, depth), self.operand(env, &ints, 0)),
            3 => format!("logical_not({})", self.operand(env, &bools, depth)),
            _ if shape.is_empty() => format!("any({}, axis=[0, 1])", self.operand(env, &Ty::Tensor(vec![2, 3], "bool"), depth)),
            _ => format!("logical_and({}, {})", self.operand(env, &bools, depth), self.operand(env, &bools, 0)),
        }
    }

    fn integers(&mut self, env: &[Value], shape: &[i64], depth: usize) -> String {
        let own = Ty::Tensor(shape.to_vec(), "int32");
        let op = *self.random.pick(&["add", "subtract", "multiply", "maximum", "minimum"]);
        match self.random.below(7) {
            // Products grow, so they are limited.
            0..=2 => {
                let (a, b) = (self.operand(env, &own, depth), self.operand(env, &own, 0));
                format!("clip({op}({a}, {b}), a_min=-50f, a_max=50f)")
            }
            3 => format!("cast({}, dtype=\"int32\")", self.operand(env, &Ty::Tensor(shape.to_vec(), "bool"), depth)),
            4 if shape.is_empty() => format!("sum({})", self.operand(env, &Ty::Tensor(vec![2, 3], "int32"), depth)),
            5 if shape.is_empty() && !self.shape.smooth => format!("argmax({}, axis=[0])", self.floats(env, &[4], depth)),
            5 if !self.shape.smooth => {
                format!("cast({}, dtype=\"int32\")", format_args!("multiply(3f, tanh({}))", self.floats(env, shape, depth)))
            }
            6 if shape.is_empty() => {
                format!("take(shape_of({}, dtype=\"int32\"), 1, axis=0)", self.floats(env, &[2, 4], depth))
            }
            _ => format!("abs({})", self.operand(env, &own, depth)),
        }
    }

    fn elementwise(&mut self, env: &[Value], shape: &[i64], depth: usize) -> String {
        match self.random.below(10) {
            0..=2 => {
                let ops = if self.shape.smooth || self.random.chance(80) { SMOOTH } else { ROUGH };
                format!("{}({})", *self.random.pick(ops), self.floats(env, shape, depth))
            }
            3..=6 => {
                let (a, b) = (self.floats(env, shape, depth), self.smaller(env, shape, depth));
                let (a, b) = if self.random.chance(50) { (a, b) } else { (b, a) };
                format!("{}({a}, {b})", *self.random.pick(BINARY))
            }
            7 => {
                let by = *self.random.pick(&["2f", "4f", "0.5f"]);
                format!("divide({}, {by})", self.floats(env, shape, depth))
            }
            8 => format!("exp(tanh({}))", self.floats(env, shape, depth)),
            _ => format!("{}(add(1f, abs({})))", *self.random.pick(&["sqrt", "rsqrt", "log"]), self.floats(env, shape, depth)),
        }
    }

    /// Generates a call that moves the elements of another tensor.
    fn moved(&mut self, env: &[Value], shape: &[i64], depth: usize) -> String {
        let rank = shape.len();
        let axis = self.random.below(rank);
        let with = |axis: usize, extent: i64| {
            let mut own = shape.to_vec();
            own[axis] = extent;
            own
        };
        match self.random.below(17) {
            0 if rank > 1 => {
                let mut axes: Vec<i64> = (0..rank as i64).collect();
                axes.swap(axis, self.random.below(rank));
                let from: Vec<i64> = {
                    let mut from = vec![0; rank];
                    axes.iter().zip(shape).for_each(|(axis, extent)| from[*axis as usize] = *extent);
                    from
                };
                format!("transpose({}, axes={})", self.floats(env, &from, depth), list(&axes))
            }
            1 if rank > 1 => {
                let count: i64 = shape.iter().product();
                format!("reshape({}, newshape={})", self.floats(env, &[count], depth), list(shape))
            }
            2 => {
                let other: &[i64] = match shape {
                    [2, 3] => &[3, 2],
                    [3, 2] => &[2, 3],
                    [2, 4] => &[4, 2],
                    _ => shape,
                };
                format!("reshape({}, newshape={})", self.floats(env, other, depth), list(shape))
            }
            3 if rank > 0 && shape[axis] > 1 => {
                let (a, b) = (with(axis, 1), with(axis, shape[axis] - 1));
                format!("concatenate(({}, {}), axis={axis})", self.floats(env, &a, depth), self.floats(env, &b, 0))
            }
            4 if rank > 0 => {
                let parts = 2 + self.random.below(2) as i64;
                let whole = self.floats(env, &with(axis, shape[axis] * parts), depth);
                let part = self.random.below(parts as usize);
                format!("(split({whole}, indices_or_sections={parts}, axis={axis})).{part}")
            }
            5 if rank > 0 => {
                let from = self.random.below(3) as i64;
                let data = self.floats(env, &with(axis, shape[axis] + 2), depth);
                let end = from + shape[axis];
                format!("strided_slice({data}, begin=[{from}], end=[{end}], strides=[1], axes=[{axis}])")
            }
            6 => {
                let whole: Vec<i64> = [&[3], shape].concat();
                let (data, index) = (self.floats(env, &whole, depth), self.operand(env, &Ty::INT, depth));
                format!("take({data}, {index}, axis=0)")
            }
            7 => {
                let truths = self.operand(env, &Ty::Tensor(shape.to_vec(), "bool"), depth);
                format!("where({truths}, {}, {})", self.floats(env, shape, depth), self.floats(env, shape, 0))
            }
            8 => format!("cast({}, dtype=\"float32\")", self.operand(env, &Ty::Tensor(shape.to_vec(), "int32"), depth)),
            9 if rank > 0 && shape[axis] == 1 => {
                let mut own = shape.to_vec();
                own.remove(axis);
                format!("expand_dims({}, axis={axis})", self.floats(env, &own, depth))
            }
            10 => {
                let mut own = shape.to_vec();
                own.insert(axis, 1);
                format!("squeeze({}, axis=[{axis}])", self.floats(env, &own, depth))
            }
            11 if rank > 0 => format!("reverse({}, axis={axis})", self.floats(env, shape, depth)),
            12 if rank > 0 && shape[axis] > 2 => {
                let mut width = vec!["[0, 0]"; rank];
                width[axis] = "[1, 1]";
                let inner = self.floats(env, &with(axis, shape[axis] - 2), depth);
                format!("nn.pad({inner}, 0f, pad_width=[{}])", width.join(", "))
            }
            13 if rank > 0 => format!("broadcast_to({}, shape={})", self.floats(env, &with(axis, 1), depth), list(shape)),
            14 if rank > 0 && shape[axis] > 1 => {
                format!("repeat({}, repeats={}, axis={axis})", self.floats(env, &with(axis, 1), depth), shape[axis])
            }
            15 if rank == 4 && shape[1] % 2 == 0 => {
                let data = self.floats(env, shape, depth);
                let to = format!("layout_transform({data}, src_layout=\"NCHW\", dst_layout=\"NHWC\")");
                format!("layout_transform({to}, src_layout=\"NHWC\", dst_layout=\"NCHW\")")
            }
            16 if rank > 0 && shape[0] > 1 => {
                let parts: Vec<String> = (0..shape[0]).map(|_| self.floats(env, &shape[1..], 0)).collect();
                format!("stack(({}), axis=0)", parts.join(", "))
            }
            _ => self.elementwise(env, shape, depth),
        }
    }

    /// Generates sums, products of matrices, and layers of networks.
    fn computed(&mut self, env: &[Value], shape: &[i64], depth: usize) -> String {
        let rank = shape.len();
        let axis = self.random.below(rank);
        match self.random.below(9) {
            0 => {
                let mut own = shape.to_vec();
                own.insert(axis, 2);
                format!(
                    "{}({}, axis=[{axis}])",
                    *self.random.pick(&["sum", "mean", "max", "min", "prod"]),
                    self.floats(env, &own, depth)
                )
            }
            1 if rank > 0 => format!("nn.softmax({}, axis={axis})", self.floats(env, shape, depth)),
            2 => format!("(nn.dropout({})).0", self.floats(env, shape, depth)),
            3 => format!("clip({}, a_min=-1f, a_max=1f)", self.floats(env, shape, depth)),
            4 => format!("{}_like({})", *self.random.pick(&["zeros", "ones"]), self.floats(env, shape, depth)),
            5 if rank > 0 && !self.shape.smooth => {
                let quantized = format!("qnn.quantize({}, 0.25f, 0, out_dtype=\"int8\")", self.floats(env, shape, depth));
                format!("qnn.dequantize({quantized}, 0.25f, 0, out_dtype=\"float32\")")
            }
            _ => match *shape {
                [n, m] => self.matrix(env, n, m, depth),
                [1, c, h, w] => self.image(env, c, h, w, depth),
                [b, n, m] => {
                    let (a, w) = (self.floats(env, &[b, n, 2], depth), self.floats(env, &[b, m, 2], 0));
                    format!("nn.batch_matmul({a}, {w}, transpose_b=True)")
                }
                _ => self.elementwise(env, shape, depth),
            },
        }
    }

    fn matrix(&mut self, env: &[Value], n: i64, m: i64, depth: usize) -> String {
        match self.random.below(4) {
            0 => format!("nn.bias_add({}, {})", self.floats(env, &[n, m], depth), self.floats(env, &[m], depth)),
            1 => format!("nn.batch_flatten({})", self.floats(env, &[n, m], depth)),
            2 => {
                let data = self.floats(env, &[n, m], depth);
                format!("nn.layer_norm({data}, {}, {})", self.floats(env, &[m], 0), self.floats(env, &[m], 0))
            }
            _ => {
                let inner = *self.random.pick(&[2, 3, 4]);
                format!("nn.dense({}, {}, units={m})", self.floats(env, &[n, inner], depth), self.floats(env, &[m, inner], 0))
            }
        }
    }

    fn image(&mut self, env: &[Value], c: i64, h: i64, w: i64, depth: usize) -> String {
        match self.random.below(7) {
            0 | 1 if h > 1 => {
                let (kernel, pad) = *self.random.pick(&[(1, 0), (3, 1)]);
                let data = self.floats(env, &[1, 4, h, w], depth);
                let weight = self.floats(env, &[c, 4, kernel, kernel], 0);
                format!(
                    "nn.conv2d({data}, {weight}, padding=[{pad}, {pad}, {pad}, {pad}], channels={c}, kernel_size=[{kernel}, {kernel}])"
                )
            }
            2 => {
                let (scale, spread) = (self.floats(env, &[c], 0), self.floats(env, &[c], 0));
                let data = self.floats(env, &[1, c, h, w], depth);
                format!("(nn.batch_norm({data}, {scale}, {scale}, {spread}, exp(tanh({spread})))).0")
            }
            3 if h > 1 => {
                let op = *self.random.pick(&["nn.max_pool2d", "nn.avg_pool2d"]);
                format!("{op}({}, pool_size=[3, 3], padding=[1, 1, 1, 1])", self.floats(env, &[1, c, h, w], depth))
            }
            4 if h == 1 && w == 1 => format!("nn.global_avg_pool2d({})", self.floats(env, &[1, c, 6, 6], depth)),
            // TVM's SimplifyExpr replaces a constant slope by a scalar, which does not type-check.
            5 => format!("nn.prelu({}, tanh({}))", self.floats(env, &[1, c, h, w], depth), self.floats(env, &[c], 0)),
            _ => format!("nn.bias_add({}, {})", self.floats(env, &[1, c, h, w], depth), self.floats(env, &[c], depth)),
        }
    }
}
