//! Made-up values of Relax.

use super::{BINARY, Env, Maker, Ty, UNARY};

impl Maker {
    pub(super) fn pick(&mut self, env: &Env, fits: impl Fn(&Ty) -> bool) -> Option<(String, Ty)> {
        let fitting: Vec<&(String, Ty)> = env.iter().filter(|(_, ty)| fits(ty)).collect();
        if fitting.is_empty() { None } else { Some((*self.random.late(&fitting)).clone()) }
    }

    #[expect(clippy::too_many_lines, reason = "a table: an arm for each form of a value")]
    pub(super) fn value(&mut self, env: &Env) -> Option<(String, Ty)> {
        let float = |ty: &Ty| matches!(ty, Ty::Tensor(_, dtype) if dtype.starts_with("float"));
        let of_rank = |rank: usize| move |ty: &Ty| matches!(ty, Ty::Tensor(shape, "float32") if shape.len() == rank);
        Some(match self.random.below(34) {
            0..=4 => {
                let (x, ty) = self.pick(env, float)?;
                (format!("R.{}({x})", self.random.pick(UNARY)), ty)
            }
            5..=8 => {
                let (x, ty) = self.pick(env, |ty| matches!(ty, Ty::Tensor(_, dtype) if *dtype != "bool"))?;
                let (y, _) = self.pick(env, |other| *other == ty)?;
                (format!("R.{}({x}, {y})", self.random.pick(BINARY)), ty)
            }
            9 => {
                let (x, ty) = self.pick(env, of_rank(2))?;
                let Ty::Tensor(shape, _) = &ty else { return None };
                let last = shape[1].clone();
                let (y, _) = self.pick(env, |other| *other == Ty::Tensor(vec![last.clone()], "float32"))?;
                (format!("R.add({x}, {y})"), ty)
            }
            10 => {
                let (x, ty) = self.pick(env, |ty| matches!(ty, Ty::Tensor(_, "float32")))?;
                let op = *self.random.pick(&["multiply", "divide", "add", "subtract"]);
                (format!("R.{op}({x}, R.const({}.0, \"float32\"))", 1 + self.random.below(3)), ty)
            }
            11 => {
                let (x, ty) = self.pick(env, of_rank(2))?;
                let Ty::Tensor(shape, _) = ty else { return None };
                let inner = shape[1].clone();
                let (y, other) =
                    self.pick(env, |ty| matches!(ty, Ty::Tensor(shape, "float32") if shape.len() == 2 && shape[0] == inner))?;
                let Ty::Tensor(right, _) = other else { return None };
                (format!("R.matmul({x}, {y})"), Ty::Tensor(vec![shape[0].clone(), right[1].clone()], "float32"))
            }
            12 => {
                let (x, Ty::Tensor(shape, dtype)) =
                    self.pick(env, |ty| matches!(ty, Ty::Tensor(shape, _) if shape.len() == 2))?
                else {
                    return None;
                };
                let axes = if self.random.chance(50) { "None" } else { "[1, 0]" };
                (format!("R.permute_dims({x}, axes={axes})"), Ty::Tensor(vec![shape[1].clone(), shape[0].clone()], dtype))
            }
            13 | 14 => {
                let (x, Ty::Tensor(shape, dtype)) =
                    self.pick(env, |ty| matches!(ty, Ty::Tensor(shape, "float32") if shape.len() > 1))?
                else {
                    return None;
                };
                let op = *self.random.pick(&["sum", "mean", "max", "min"]);
                let (axis, keeps) = (self.random.below(shape.len()), self.random.chance(50));
                let mut left = shape;
                if keeps {
                    left[axis] = "1".into()
                } else {
                    _ = left.remove(axis)
                }
                (
                    format!("R.{op}({x}, axis=[{axis}], keepdims={})", if keeps { "True" } else { "False" }),
                    Ty::Tensor(left, dtype),
                )
            }
            15 => {
                let (x, ty) = self.pick(env, of_rank(2))?;
                (format!("R.nn.{}({x}, axis={})", self.random.pick(&["softmax", "log_softmax"]), self.random.below(2)), ty)
            }
            16 => {
                let (x, Ty::Tensor(shape, dtype)) = self.pick(env, of_rank(2))? else { return None };
                let axis = self.random.below(2);
                let known: i64 = shape[axis].parse().ok()?;
                let mut joined = shape;
                joined[axis] = (2 * known).to_string();
                (format!("R.concat(({x}, {x}), axis={axis})"), Ty::Tensor(joined, dtype))
            }
            17 => {
                let (x, Ty::Tensor(shape, dtype)) = self.pick(env, |ty| matches!(ty, Ty::Tensor(..)))? else { return None };
                let axis = self.random.below(shape.len() + 1);
                let mut more = shape;
                more.insert(axis, "1".into());
                if more.len() > 4 {
                    return None;
                }
                (format!("R.expand_dims({x}, axis=[{axis}])"), Ty::Tensor(more, dtype))
            }
            18 => {
                let (x, Ty::Tensor(shape, dtype)) =
                    self.pick(env, |ty| matches!(ty, Ty::Tensor(shape, _) if !shape.is_empty()))?
                else {
                    return None;
                };
                let count: i64 = shape.iter().map(|extent| extent.parse::<i64>().ok()).product::<Option<i64>>()?;
                (format!("R.reshape({x}, R.shape([{count}]))"), Ty::Tensor(vec![count.to_string()], dtype))
            }
            19 => {
                let (one, two) = (self.pick(env, |_| true)?, self.pick(env, |_| true)?);
                if depth(&one.1) + depth(&two.1) > 2 {
                    return None;
                }
                (format!("({}, {})", one.0, two.0), Ty::Tuple(vec![one.1, two.1]))
            }
            20 => {
                let (x, Ty::Tuple(fields)) = self.pick(env, |ty| matches!(ty, Ty::Tuple(_)))? else { return None };
                let at = self.random.below(fields.len());
                (format!("{x}[{at}]"), fields[at].clone())
            }
            21 => {
                let functions = self.functions.clone();
                let (name, ty) = (!functions.is_empty()).then(|| self.random.pick(&functions).clone())?;
                let (x, ty) = self.pick(env, |known| fits(known, &ty))?;
                (format!("{name}{x})"), ty)
            }
            22 => {
                let programs = self.programs.clone();
                let (name, shape) = (!programs.is_empty()).then(|| self.random.pick(&programs).clone())?;
                let ty = Ty::Tensor(shape, "float32");
                let (x, ty) = self.pick(env, |known| fits(known, &ty))?;
                let (y, _) = self.pick(env, |known| *known == ty)?;
                (format!("R.call_tir(cls.{name}, ({x}, {y}), out_ty={ty})"), ty)
            }
            23 if self.smooth => return None,
            23 => {
                let (x, ty) = self.pick(env, float)?;
                let (y, _) = self.pick(env, |other| *other == ty)?;
                match self.random.below(3) {
                    0 => (format!("R.where(R.less({x}, {y}), {x}, {y})"), ty),
                    1 => (format!("R.floor({x})"), ty),
                    _ => (
                        format!("R.astype({x}, dtype=\"float32\")"),
                        match ty {
                            Ty::Tensor(shape, _) => Ty::Tensor(shape, "float32"),
                            other => other,
                        },
                    ),
                }
            }
            kind => return self.moved(env, kind),
        })
    }

    /// Parts and arrangements of a tensor, and shapes.
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each form of a value")]
    fn moved(&mut self, env: &Env, kind: usize) -> Option<(String, Ty)> {
        let of_rank = |rank: usize| move |ty: &Ty| matches!(ty, Ty::Tensor(shape, "float32") if shape.len() == rank);
        let known = |ty: &Ty| match ty {
            Ty::Tensor(shape, "float32") => shape.len() > 1 && shape.iter().all(|extent| extent.parse::<i64>().is_ok()),
            _ => false,
        };
        Some(match kind {
            24 => {
                let (x, Ty::Tensor(shape, dtype)) = self.pick(env, |ty| matches!(ty, Ty::Tensor(..)))? else { return None };
                match self.random.below(3) {
                    0 => (format!("R.shape_of({x})"), Ty::Shape(shape)),
                    1 => (format!("R.shape([{}])", shape.join(", ")), Ty::Shape(shape)),
                    _ => (format!("R.zeros(R.shape([{}]), dtype=\"{dtype}\")", shape.join(", ")), Ty::Tensor(shape, dtype)),
                }
            }
            25 if self.dataflow => return None,
            25 => {
                let (s, Ty::Shape(shape)) = self.pick(env, |ty| matches!(ty, Ty::Shape(_)))? else { return None };
                let (x, _) = self.pick(env, |ty| *ty == Ty::Tensor(Vec::new(), "float32"))?;
                (format!("R.broadcast_to({x}, {s})"), Ty::Tensor(shape, "float32"))
            }
            26 => {
                let (x, Ty::Tensor(shape, dtype)) = self.pick(env, known)? else { return None };
                let axis = self.random.below(shape.len());
                let extent: i64 = shape[axis].parse().ok()?;
                let part = |extent: i64| {
                    let mut part = shape.clone();
                    part[axis] = extent.to_string();
                    Ty::Tensor(part, dtype)
                };
                if extent % 2 == 0 {
                    let halves = vec![part(extent / 2), part(extent / 2)];
                    return Some((format!("R.split({x}, indices_or_sections=2, axis={axis})"), Ty::Tuple(halves)));
                }
                let parts = vec![part(1), part(extent - 1)];
                if extent < 2 {
                    return None;
                }
                (format!("R.split({x}, indices_or_sections=[1], axis={axis})"), Ty::Tuple(parts))
            }
            27 => {
                let (x, Ty::Tensor(mut shape, dtype)) = self.pick(env, known)? else { return None };
                let axis = self.random.below(shape.len());
                let extent: i64 = shape[axis].parse().ok()?;
                let begin = self.random.below(extent as usize) as i64;
                let stride = 1 + self.random.below(2) as i64;
                shape[axis] = ((extent - begin + stride - 1) / stride).to_string();
                let one = |value: i64| format!("(R.prim_value({value}),)");
                let text = format!(
                    "R.strided_slice({x}, {}, {}, {}, {}, assume_inbound=False)",
                    one(axis as i64),
                    one(begin),
                    one(extent),
                    one(stride)
                );
                (text, Ty::Tensor(shape, dtype))
            }
            28 => {
                let (x, Ty::Tensor(mut shape, dtype)) = self.pick(env, of_rank(2))? else { return None };
                shape[1] = "2".into();
                (format!("R.take({x}, R.const([1, 0], \"int64\"), axis=1)"), Ty::Tensor(shape, dtype))
            }
            29 => {
                let (x, ty) = self.pick(env, of_rank(2))?;
                let Ty::Tensor(shape, _) = &ty else { return None };
                let last = Ty::Tensor(vec![shape[1].clone()], "float32");
                let ((scale, _), (shift, _)) = (self.pick(env, |ty| *ty == last)?, self.pick(env, |ty| *ty == last)?);
                match self.random.below(2) {
                    0 => (format!("R.nn.layer_norm({x}, {scale}, {shift}, axes=[-1])"), ty),
                    _ => (format!("R.nn.rms_norm({x}, {scale}, axes=[-1])"), ty),
                }
            }
            30 => {
                let (x, Ty::Tensor(shape, dtype)) = self.pick(env, of_rank(4))? else { return None };
                let side: Vec<i64> = shape.iter().filter_map(|extent| extent.parse().ok()).collect();
                let [1, 2, h, w] = side[..] else { return None };
                let channels = |c: i64| Ty::Tensor([1, c, h, w].map(|extent| extent.to_string()).to_vec(), dtype);
                match self.random.below(3) {
                    0 => {
                        let weight = "R.full(R.shape([2, 2, 3, 3]), R.const(0.25, \"float32\"), dtype=\"float32\")";
                        (format!("R.nn.conv2d({x}, {weight}, padding=[1, 1, 1, 1])"), channels(2))
                    }
                    1 => (format!("R.nn.max_pool2d({x}, pool_size=[3, 3], padding=[1, 1, 1, 1])"), channels(2)),
                    _ => (format!("R.nn.avg_pool2d({x}, pool_size=[3, 3], padding=[1, 1, 1, 1])"), channels(2)),
                }
            }
            31 => {
                let (x, ty) = self.pick(env, known)?;
                let axis = self.random.below(2);
                match self.random.below(4) {
                    0 => (format!("R.cumsum({x}, axis={axis})"), ty),
                    1 => (format!("R.flip({x}, axis={axis})"), ty),
                    2 => (format!("R.triu({x})"), ty),
                    _ => (format!("R.clip({x}, R.prim_value(-1), R.prim_value(1))"), ty),
                }
            }
            32 => {
                let (x, ty) = self.pick(env, |ty| matches!(ty, Ty::Tensor(..)))?;
                (format!("R.{}({x})", self.random.pick(&["zeros_like", "ones_like"])), ty)
            }
            _ => {
                let (x, ty) = self.pick(env, |ty| matches!(ty, Ty::Tensor(_, "int32")))?;
                let (y, _) = self.pick(env, |other| *other == ty)?;
                let Ty::Tensor(shape, _) = &ty else { return None };
                match self.random.below(3) {
                    0 => (format!("R.{}({x}, {y})", self.random.pick(&["less", "equal"])), Ty::Tensor(shape.clone(), "bool")),
                    1 => (format!("R.astype({x}, dtype=\"float32\")"), Ty::Tensor(shape.clone(), "float32")),
                    _ => (format!("R.{}({x}, {y})", self.random.pick(&["bitwise_and", "maximum"])), ty),
                }
            }
        })
    }
}

/// True if a function of `param` takes this.
fn fits(ty: &Ty, param: &Ty) -> bool {
    match (ty, param) {
        (Ty::Tensor(shape, dtype), Ty::Tensor(of, wanted)) => {
            dtype == wanted && shape.len() == of.len() && shape.iter().zip(of).all(|(extent, of)| extent == of || of == "k")
        }
        _ => false,
    }
}

fn depth(ty: &Ty) -> usize {
    match ty {
        Ty::Tuple(fields) => 1 + fields.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
