//! Generates Relay programs from a seed: well typed by construction, with closures, algebraic data types, references,
//! recursion, global functions, branches, tuples, sharing, extents that are `Any`, and operators of many families.
//!
//! Expressions with effects are bound by `let`, so that their order is that of the text. `@main` takes and returns tensors.

mod block;
mod ops;
mod types;

use super::random::Random;
use rustc_hash::FxHashSet;
use std::fmt::Write;
use types::Ty;

/// The kind of programs to generate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape {
    /// No operator whose result jumps when its argument hardly changes: `floor`, `less` of floats, `argmax`.
    pub smooth: bool,
    /// No references.
    pub pure: bool,
    /// Only operators, tuples and lets: neither functions, branches, data types nor references.
    pub first_order: bool,
}

/// Generates a module with `@main`.
pub fn program(seed: u64, shape: Shape) -> String {
    let mut maker = Maker {
        random: Random::new(seed),
        shape,
        functions: Vec::new(),
        next: 0,
        effect: false,
        lists: false,
        used: FxHashSet::default(),
    };
    maker.module()
}

/// A value in scope.
#[derive(Clone, Debug)]
struct Value {
    text: String,
    ty: Ty,
}

struct Maker {
    random: Random,
    shape: Shape,
    /// Global functions that may be called.
    functions: Vec<Value>,
    /// The next number of a name.
    next: usize,
    /// True if the current expression has effects outside of itself.
    effect: bool,
    /// True if lists are used.
    lists: bool,
    /// Values with uses. Others are preferred where they fit, so that few stay unused.
    used: FxHashSet<String>,
}

const LISTS: &str = "\
type List[A] { Cons(A, List[A]), Nil, }
type Shape { Dot, Line(float32), Box(float32, Tensor[(2, 3), float32]), }
def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%h, %t) => { Cons(%f(%h), @map(%f, %t)) }, Nil => { Nil }, }
}
def @foldl[A, B](%f: fn (B, A) -> B, %z: B, %l: List[A]) -> B {
  match (%l) { Cons(%h, %t) => { @foldl(%f, %f(%z, %h), %t) }, Nil => { %z }, }
}
";

impl Maker {
    /// Chooses one of some values; an unused one if there is one.
    fn chosen(&mut self, values: &[&Value]) -> Value {
        let fresh: Vec<&&Value> = values.iter().filter(|value| !self.used.contains(&value.text)).collect();
        let value = match fresh[..] {
            [] => (*self.random.late(values)).clone(),
            _ => (**self.random.late(&fresh)).clone(),
        };
        self.used.insert(value.text.clone());
        value
    }

    fn name(&mut self, stem: &str) -> String {
        self.next += 1;
        format!("{stem}{}", self.next)
    }

    fn module(&mut self) -> String {
        let mut text = String::from("#[version = \"0.0.5\"]\n");
        if !self.shape.first_order {
            self.lists = self.random.chance(40);
            if self.lists {
                text += LISTS;
            }
            for _ in 0..self.random.below(4) {
                let function = self.global();
                text += &function;
            }
        }
        let mut params: Vec<Ty> = (0..2 + self.random.below(3)).map(|_| self.tensor_type()).collect();
        if self.random.chance(20) {
            params.push(Ty::unknown());
        }
        let results: Vec<Ty> = (0..1 + self.random.below(3)).map(|_| self.tensor_type()).collect();
        let ret = if results.len() == 1 { results[0].clone() } else { Ty::Tuple(results) };
        let body = self.function("main", &params, &ret, 12);
        text + &body
    }

    /// Generates a global function, which the later ones may call; sometimes a recursive one.
    fn global(&mut self) -> String {
        let name = self.name("f");
        if self.random.chance(25) {
            let ty = self.tensor_type();
            let params = [Ty::INT, ty.clone()];
            let env = vec![Value { text: "%x".into(), ty: ty.clone() }];
            let step = self.operand(&env, &ty, 2);
            self.functions.push(Value { text: format!("@{name}"), ty: Ty::Fn(params.to_vec(), Box::new(ty.clone()), false) });
            return format!(
                "def @{name}(%n: int32, %x: {ty}) -> {ty} {{\n  if (less_equal(%n, 0)) {{\n    %x\n  }} else {{\n    \
                 @{name}(subtract(%n, 1), {step})\n  }}\n}}\n"
            );
        }
        let params: Vec<Ty> = (0..1 + self.random.below(3)).map(|_| self.param_type(2)).collect();
        let ret = self.param_type(2);
        let text = self.function(&name, &params, &ret, 5);
        self.functions.push(Value { text: format!("@{name}"), ty: Ty::Fn(params, Box::new(ret), false) });
        text
    }

    fn function(&mut self, name: &str, params: &[Ty], ret: &Ty, statements: usize) -> String {
        let mut env = Vec::new();
        let mut head = String::new();
        for ty in params {
            let param = self.name(if ty.is_float() { "p" } else { "q" });
            let _ = write!(head, "{}%{param}: {ty}", if head.is_empty() { "" } else { ", " });
            env.push(Value { text: format!("%{param}"), ty: ty.clone() });
        }
        self.effect = false;
        self.used.clear();
        let body = self.block(&env, ret, statements, 3, 1);
        format!("def @{name}({head}) -> {ret} {{\n{body}\n}}\n")
    }
}
