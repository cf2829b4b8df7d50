//! Programs of Relax made up from a seed: well typed by construction, with symbolic extents, dataflow blocks, tuples, branches,
//! private functions, closures, calls of tensor programs, broadcasts and reductions.

use super::random::Random;
use super::tir;
use std::fmt::Write;

/// The type of a variable.
#[derive(Clone, Debug, PartialEq)]
enum Ty {
    /// Extents as they are written, `n` or a number, and the element type.
    Tensor(Vec<String>, &'static str),
    Tuple(Vec<Ty>),
}

impl std::fmt::Display for Ty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ty::Tensor(shape, dtype) => {
                write!(f, "R.Tensor(({}{}), dtype=\"{dtype}\")", shape.join(", "), if shape.len() == 1 { "," } else { "" })
            }
            Ty::Tuple(fields) => {
                let fields: Vec<String> = fields.iter().map(Ty::to_string).collect();
                write!(f, "R.Tuple({})", fields.join(", "))
            }
        }
    }
}

struct Maker {
    random: Random,
    next: usize,
    /// Private functions of one tensor: name, what they take and give.
    functions: Vec<(String, Ty)>,
    /// Tensor programs of two tensors of these extents that give a third.
    programs: Vec<(String, Vec<String>)>,
    smooth: bool,
}

type Env = Vec<(String, Ty)>;

const SHAPES: &[&[&str]] = &[&["2", "3"], &["n", "3"], &["3"], &["2", "3"], &["4", "2"], &["n", "3"], &["1", "2", "4", "4"], &[]];

const UNARY: &[&str] =
    &["exp", "tanh", "sigmoid", "negative", "abs", "nn.relu", "nn.gelu", "nn.silu", "cos", "square", "erf", "nn.leakyrelu"];
const BINARY: &[&str] = &["add", "subtract", "multiply", "maximum", "minimum"];

/// A module with `main`. With `smooth` no operator's result jumps when its argument hardly changes.
pub fn program(seed: u64, smooth: bool) -> String {
    let mut maker = Maker { random: Random::new(seed ^ 0x5e1a), next: 0, functions: Vec::new(), programs: Vec::new(), smooth };
    maker.module()
}

impl Maker {
    fn name(&mut self, stem: &str) -> String {
        self.next += 1;
        format!("{stem}{}", self.next)
    }

    fn tensor(&mut self) -> Ty {
        let shape = SHAPES[self.random.below(SHAPES.len())];
        let dtype = match self.random.below(14) {
            0 => "int32",
            1 => "float16",
            _ => "float32",
        };
        Ty::Tensor(shape.iter().map(|extent| (*extent).to_owned()).collect(), dtype)
    }

    fn module(&mut self) -> String {
        let mut text = String::from(
            "# from tvm.script import ir as I\n# from tvm.script import tirx as T\n# from tvm.script import relax as R\n\n@I.ir_module\nclass Module:\n",
        );
        for _ in 0..self.random.below(3) {
            let name = self.name("program");
            text += &tir::elementwise(&mut self.random, &name);
            self.programs.push((name, vec!["4".to_owned(), "2".to_owned()]));
        }
        for _ in 0..self.random.below(3) {
            let ty = Ty::Tensor(vec!["2".into(), "3".into()], "float32");
            let name = self.name("helper");
            let _ = write!(text, "    @R.function(private=True)\n    def {name}(a: {ty}) -> {ty}:\n        cls = Module\n");
            let mut env = vec![("a".to_owned(), ty.clone())];
            let count = 1 + self.random.below(3);
            text += &self.block(&mut env, count, 2);
            let result = self.last_of(&mut env, &ty, &mut text, 2);
            let _ = write!(text, "        return {result}\n\n");
            self.functions.push((name, ty));
        }
        let mut env: Env = (0..3 + self.random.below(3)).map(|at| (format!("x{at}"), self.tensor())).collect();
        env.push(("y".to_owned(), Ty::Tensor(vec!["2".into(), "3".into()], "float32")));
        env.push(("s".to_owned(), Ty::Tensor(vec!["n".into(), "3".into()], "float32")));
        env.push(("w".to_owned(), Ty::Tensor(vec!["3".into(), "2".into()], "float32")));
        env.push(("c".to_owned(), Ty::Tensor(Vec::new(), "bool")));
        let params: Vec<String> = env.iter().map(|(name, ty)| format!("{name}: {}", quoted(ty))).collect();
        let _ =
            write!(text, "    @R.function\n    def main({}):\n        n = T.int64()\n        cls = Module\n", params.join(", "));
        for _ in 0..1 + self.random.below(3) {
            match self.random.below(5) {
                0 => text += &self.branch(&mut env),
                1 => {
                    let count = 1 + self.random.below(3);
                    text += &self.block(&mut env, count, 2);
                }
                _ => text += &self.dataflow(&mut env),
            }
        }
        let first = env.len().saturating_sub(3);
        let mut results: Vec<String> = env[first..].iter().map(|(name, _)| name.clone()).collect();
        results.push(env[self.random.below(env.len())].0.clone());
        let _ = writeln!(text, "        return ({})", results.join(", "));
        text
    }

    /// A variable of a type, bound now if there is none yet.
    fn last_of(&mut self, env: &mut Env, ty: &Ty, text: &mut String, indent: usize) -> String {
        if let Some((name, _)) = env.iter().rev().find(|(_, known)| known == ty) {
            return name.clone();
        }
        let name = self.name("v");
        let Ty::Tensor(shape, dtype) = ty else { return "()".to_owned() };
        let tail = if shape.len() == 1 { "," } else { "" };
        let _ = writeln!(text, "{}{name} = R.zeros(R.shape([{}]), dtype=\"{dtype}\")", "    ".repeat(indent), shape.join(", "));
        let _ = tail;
        env.push((name.clone(), ty.clone()));
        name
    }

    fn dataflow(&mut self, env: &mut Env) -> String {
        let before = env.len();
        let count = 2 + self.random.below(5);
        let inside = self.block(env, count, 3);
        if env.len() == before {
            return String::new();
        }
        // Some of what is bound is seen outside.
        let made = env.split_off(before);
        let last = made.len() - 1;
        let mut out: Env = Vec::new();
        for (at, one) in made.into_iter().enumerate() {
            if at == last || self.random.chance(25) {
                out.push(one);
            }
        }
        let names: Vec<String> = out.iter().map(|(name, _)| name.clone()).collect();
        env.extend(out);
        format!("        with R.dataflow():\n{inside}            R.output({})\n", names.join(", "))
    }

    fn branch(&mut self, env: &mut Env) -> String {
        let ty = Ty::Tensor(vec!["2".into(), "3".into()], "float32");
        let name = self.name("b");
        let mut text = String::new();
        for word in ["if c:", "else:"] {
            let mut inner = env.clone();
            let _ = writeln!(text, "        {word}");
            let count = 1 + self.random.below(3);
            text += &self.block(&mut inner, count, 3);
            let chosen = self.last_of(&mut inner, &ty, &mut text, 3);
            let _ = writeln!(text, "            {name} = R.negative({chosen})");
        }
        env.push((name, ty));
        text
    }

    fn block(&mut self, env: &mut Env, count: usize, indent: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            let Some((value, ty)) = self.value(env) else { continue };
            let name = self.name("v");
            let note = if self.random.chance(30) && !value.contains("match_cast") { format!(": {ty}") } else { String::new() };
            let _ = writeln!(text, "{}{name}{note} = {value}", "    ".repeat(indent));
            env.push((name, ty));
        }
        text
    }

    fn pick(&mut self, env: &Env, fits: impl Fn(&Ty) -> bool) -> Option<(String, Ty)> {
        let fitting: Vec<&(String, Ty)> = env.iter().filter(|(_, ty)| fits(ty)).collect();
        if fitting.is_empty() { None } else { Some((*self.random.late(&fitting)).clone()) }
    }

    fn value(&mut self, env: &Env) -> Option<(String, Ty)> {
        let float = |ty: &Ty| matches!(ty, Ty::Tensor(_, dtype) if dtype.starts_with("float"));
        let of_rank = |rank: usize| move |ty: &Ty| matches!(ty, Ty::Tensor(shape, "float32") if shape.len() == rank);
        Some(match self.random.below(24) {
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
                if matches!(one.1, Ty::Tuple(_)) || matches!(two.1, Ty::Tuple(_)) {
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
                let (x, _) = self.pick(env, |known| *known == ty)?;
                (format!("cls.{name}({x})"), ty)
            }
            22 => {
                let programs = self.programs.clone();
                let (name, shape) = (!programs.is_empty()).then(|| self.random.pick(&programs).clone())?;
                let ty = Ty::Tensor(shape, "float32");
                let (x, _) = self.pick(env, |known| *known == ty)?;
                let (y, _) = self.pick(env, |known| *known == ty)?;
                (format!("R.call_tir(cls.{name}, ({x}, {y}), out_ty={ty})"), ty)
            }
            _ if self.smooth => return None,
            _ => {
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
        })
    }
}

/// A type as it is written in the head of a function, where symbols are strings.
fn quoted(ty: &Ty) -> String {
    ty.to_string().replace("(n,", "(\"n\",")
}
