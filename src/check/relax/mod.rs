//! Programs of Relax made up from a seed: well typed by construction, with symbolic extents and casts to new ones, dataflow
//! blocks, tuples, shapes as values, branches in branches, private functions, of symbolic extents and recursive too, closures,
//! calls of tensor programs, broadcasts and reductions.

mod ops;

use super::random::Random;
use super::tir;
use std::fmt::Write;

/// The type of a variable.
#[derive(Clone, Debug, PartialEq)]
enum Ty {
    /// Extents as they are written, `n` or a number, and the element type.
    Tensor(Vec<String>, &'static str),
    Tuple(Vec<Ty>),
    /// A shape that is a value.
    Shape(Vec<String>),
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
            Ty::Shape(extents) => write!(f, "R.Shape([{}])", extents.join(", ")),
        }
    }
}

struct Maker {
    random: Random,
    next: usize,
    /// Private functions of one tensor: what a call begins with, what they take and give. An extent `k` stands for any.
    functions: Vec<(String, Ty)>,
    /// Tensor programs of two tensors of these extents that give a third. An extent `k` stands for any.
    programs: Vec<(String, Vec<String>)>,
    smooth: bool,
    /// True inside of a dataflow block: its variables may not stand in types.
    dataflow: bool,
}

type Env = Vec<(String, Ty)>;

const SHAPES: &[&[&str]] = &[&["2", "3"], &["n", "3"], &["3"], &["2", "3"], &["4", "2"], &["n", "3"], &["1", "2", "4", "4"], &[]];

const UNARY: &[&str] =
    &["exp", "tanh", "sigmoid", "negative", "abs", "nn.relu", "nn.gelu", "nn.silu", "cos", "square", "erf", "nn.leakyrelu"];
const BINARY: &[&str] = &["add", "subtract", "multiply", "maximum", "minimum"];

/// A module with `main`. With `smooth` no operator's result jumps when its argument hardly changes.
pub fn program(seed: u64, smooth: bool) -> String {
    let mut maker = Maker {
        random: Random::new(seed ^ 0x5e1a),
        next: 0,
        functions: Vec::new(),
        programs: Vec::new(),
        smooth,
        dataflow: false,
    };
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
            let symbolic = self.random.chance(40);
            text += &tir::elementwise(&mut self.random, &name, symbolic);
            let shape = if symbolic { ["k", "3"] } else { ["4", "2"] };
            self.programs.push((name, shape.map(str::to_owned).to_vec()));
        }
        for _ in 0..self.random.below(3) {
            text += &self.helper();
        }
        if self.random.chance(25) {
            text += &self.recursive();
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
            match self.random.below(7) {
                0 => text += &self.branch(&mut env, 2, 1),
                1 => {
                    let count = 1 + self.random.below(3);
                    text += &self.block(&mut env, count, 2);
                }
                2 => text += &self.closure(&env),
                3 => text += &self.new_extent(&mut env),
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
        let _ = writeln!(text, "{}{name} = R.zeros(R.shape([{}]), dtype=\"{dtype}\")", "    ".repeat(indent), shape.join(", "));
        env.push((name.clone(), ty.clone()));
        name
    }

    fn dataflow(&mut self, env: &mut Env) -> String {
        let before = env.len();
        let count = 2 + self.random.below(5);
        self.dataflow = true;
        let inside = self.block(env, count, 3);
        self.dataflow = false;
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

    /// A private function of one tensor, sometimes with a symbolic extent.
    fn helper(&mut self) -> String {
        let symbolic = self.random.chance(40);
        let ty = Ty::Tensor(vec![if symbolic { "k" } else { "2" }.into(), "3".into()], "float32");
        let name = self.name("helper");
        let head = ty.to_string().replace("(k,", "(\"k\",");
        let mut text = format!("    @R.function(private=True)\n    def {name}(a: {head}) -> {ty}:\n");
        if symbolic {
            text += "        k = T.int64()\n";
        }
        text += "        cls = Module\n";
        let mut env = vec![("a".to_owned(), ty.clone())];
        let count = 1 + self.random.below(3);
        text += &self.block(&mut env, count, 2);
        let result = self.last_of(&mut env, &ty, &mut text, 2);
        let _ = write!(text, "        return {result}\n\n");
        self.functions.push((format!("cls.{name}("), ty));
        text
    }

    /// A private function that calls itself a few times.
    fn recursive(&mut self) -> String {
        let ty = Ty::Tensor(vec!["2".into(), "3".into()], "float32");
        let name = self.name("loop");
        let mut text = format!(
            "    @R.function(private=True)\n    def {name}(i: R.Tensor((), dtype=\"int32\"), a: {ty}) -> {ty}:\n        cls = Module\n        \
             stop: R.Tensor((), dtype=\"bool\") = R.less_equal(i, R.const(0, \"int32\"))\n        if stop:\n            r = R.negative(a)\n        \
             else:\n            j = R.subtract(i, R.const(1, \"int32\"))\n"
        );
        let mut env = vec![("a".to_owned(), ty.clone())];
        text += &self.block(&mut env, 2, 3);
        let next = self.last_of(&mut env, &ty, &mut text, 3);
        let _ = write!(text, "            r = cls.{name}(j, {next})\n        return r\n\n");
        self.functions.push((format!("cls.{name}(R.const({}, \"int32\"), ", self.random.below(3)), ty));
        text
    }

    /// A function in a function, which sees what stands before it.
    fn closure(&mut self, env: &Env) -> String {
        let ty = Ty::Tensor(vec!["2".into(), "3".into()], "float32");
        let (name, param) = (self.name("f"), self.name("a"));
        let mut text = format!("        @R.function\n        def {name}({param}: {ty}) -> {ty}:\n");
        let mut inner = env.clone();
        inner.push((param, ty.clone()));
        let count = 1 + self.random.below(3);
        text += &self.block(&mut inner, count, 3);
        let result = self.last_of(&mut inner, &ty, &mut text, 3);
        let _ = write!(text, "            return {result}\n\n");
        self.functions.push((format!("{name}("), ty));
        text
    }

    /// A tensor whose first extent gets a name of its own.
    fn new_extent(&mut self, env: &mut Env) -> String {
        let Some((x, Ty::Tensor(mut shape, dtype))) =
            self.pick(env, |ty| matches!(ty, Ty::Tensor(shape, "float32") if shape.len() == 2))
        else {
            return String::new();
        };
        let (symbol, name) = (self.name("m"), self.name("v"));
        shape[0] = symbol.clone();
        let ty = Ty::Tensor(shape, dtype);
        env.push((name.clone(), ty.clone()));
        format!("        {symbol} = T.int64()\n        {name} = R.match_cast({x}, {ty})\n")
    }

    fn branch(&mut self, env: &mut Env, indent: usize, deeper: usize) -> String {
        let ty = Ty::Tensor(vec!["2".into(), "3".into()], "float32");
        let name = self.name("b");
        let mut text = String::new();
        let pad = "    ".repeat(indent);
        for word in ["if c:", "else:"] {
            let mut inner = env.clone();
            let _ = writeln!(text, "{pad}{word}");
            let count = 1 + self.random.below(3);
            text += &self.block(&mut inner, count, indent + 1);
            if deeper > 0 && self.random.chance(25) {
                text += &self.branch(&mut inner, indent + 1, deeper - 1);
            }
            let chosen = self.last_of(&mut inner, &ty, &mut text, indent + 1);
            let _ = writeln!(text, "{pad}    {name} = R.negative({chosen})");
        }
        env.push((name, ty));
        text
    }

    fn block(&mut self, env: &mut Env, count: usize, indent: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            let Some((value, ty)) = self.value(env) else { continue };
            let name = self.name("v");
            let note = if self.random.chance(30) { format!(": {ty}") } else { String::new() };
            let _ = writeln!(text, "{}{name}{note} = {value}", "    ".repeat(indent));
            env.push((name, ty));
        }
        text
    }
}

/// A type as it is written in the head of a function, where symbols are strings.
fn quoted(ty: &Ty) -> String {
    ty.to_string().replace("(n,", "(\"n\",")
}
