//! Constants of the Python around a program: `n = 1024`, `shape = (n, n // 2)`, `dtype = "float32"`.

use crate::ir::Id;
use crate::parse::effort::spend;
use crate::parse::script::tree::{Binary, Expr, StmtKind, Tree, Unary};
use crate::parse::script::{self};
use rustc_hash::FxHashMap;
use std::fmt;

/// The value of a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Constant {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    Tuple(Vec<Constant>),
    List(Vec<Constant>),
    /// A type or scalar of TVM, as it is written: `T.int64(1)`, `R.Tensor((2, 3), "float32")`.
    Written(String),
}

impl fmt::Display for Constant {
    /// Writes the constant as Python does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, items: &[Constant]| {
            for (place, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if place > 0 { ", " } else { "" })?;
            }
            Ok(())
        };
        match self {
            Constant::None => f.write_str("None"),
            Constant::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
            Constant::Int(value) if *value < 0 => write!(f, "({value})"),
            Constant::Int(value) => write!(f, "{value}"),
            Constant::Float(value) if !value.is_finite() => write!(f, "float(\"{value}\")"),
            Constant::Float(value) if *value < 0.0 => write!(f, "({value:?})"),
            Constant::Float(value) => write!(f, "{value:?}"),
            Constant::Str(text) => write!(f, "{text:?}"),
            Constant::Tuple(items) => {
                f.write_str("(")?;
                list(f, items)?;
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Constant::List(items) => {
                f.write_str("[")?;
                list(f, items)?;
                f.write_str("]")
            }
            Constant::Written(text) => f.write_str(text),
        }
    }
}

/// Constants in scope, by their names: each with the column of the statement that made it, the innermost last.
#[derive(Default)]
pub(super) struct Constants {
    known: FxHashMap<String, Vec<(usize, Constant)>>,
    /// Names with a column, in the order in which they were made.
    made: Vec<(usize, String)>,
}

impl Constants {
    /// A line in this column begins: what was made further to the right is out of scope.
    pub(super) fn line(&mut self, indent: usize) {
        while self.made.last().is_some_and(|(column, _)| *column > indent) {
            let Some((column, name)) = self.made.pop() else { return };
            if let Some(values) = self.known.get_mut(&name) {
                spend(values.len());
                values.retain(|(known, _)| *known != column);
            }
        }
    }

    /// Returns the value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Constant> {
        self.known.get(name)?.last().map(|(_, value)| value)
    }

    /// Gives a name its value. The same name in the same column is replaced.
    pub(super) fn set(&mut self, indent: usize, name: &str, value: Constant) {
        let values = self.known.entry(name.to_owned()).or_default();
        let before = values.len();
        spend(before + 1);
        values.retain(|(column, _)| *column != indent);
        if values.len() == before {
            self.made.push((indent, name.to_owned()));
        }
        values.push((indent, value));
    }

    /// Takes a value from a name that was given something else.
    fn unset(&mut self, name: &str) {
        if let Some(values) = self.known.get_mut(name) {
            values.clear();
        }
    }

    /// Reads a statement; true when it is an assignment of constants. Longer ones than most constants are not looked at.
    pub(super) fn statement(&mut self, text: &str, indent: usize) -> bool {
        const LONGEST: usize = 2_000;
        let Some((targets, value)) = targets(text) else { return false };
        let value = if value.len() <= LONGEST { self.evaluate(value) } else { None };
        let mut fits = value.is_some();
        for target in targets {
            let names: Vec<&str> =
                target.trim_matches(['(', ')', ' ']).split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
            let values = match (&value, names.len()) {
                (Some(value), 1) if !target.contains(',') => vec![value.clone()],
                (Some(Constant::Tuple(items) | Constant::List(items)), n) if n == items.len() => items.clone(),
                _ => {
                    fits = false;
                    names.iter().for_each(|name| self.unset(name));
                    continue;
                }
            };
            for (name, value) in names.into_iter().zip(values) {
                self.set(indent, name, value);
            }
        }
        fits
    }

    /// The parameters of a function of Python that have a value: `def make(n=128, dtype: str = "float32"):`
    pub(super) fn defaults(&mut self, text: &str, indent: usize) {
        let head = format!("{}\n    pass\n", text.trim_end());
        let (tree, found) = script::parse(&head);
        let [stmt] = tree.stmts(tree.top) else { return };
        let StmtKind::Def(def) = stmt.kind else { return };
        if !found.is_empty() {
            return;
        }
        for param in tree.params(tree.def(def).params) {
            let name = tree.text(param.name);
            match param.default.and_then(|value| self.value(&tree, value, 0)) {
                Some(Constant::None) | None => self.set(indent, name, Constant::Written(String::new())),
                Some(value) => self.set(indent, name, value),
            }
        }
    }

    /// The value of an expression; nothing when it is none.
    pub(super) fn evaluate(&self, text: &str) -> Option<Constant> {
        let (tree, found) = script::parse(text.trim());
        let [stmt] = tree.stmts(tree.top) else { return None };
        let StmtKind::Expr(value) = stmt.kind else { return None };
        if found.is_empty() { self.value(&tree, value, 0) } else { None }
    }

    fn value(&self, tree: &Tree<'_>, id: Id<Expr>, depth: usize) -> Option<Constant> {
        const DEEPEST: usize = 60;
        if depth > DEEPEST {
            return None;
        }
        let value = |id| self.value(tree, id, depth + 1);
        let all = |ids: &[Id<Expr>]| ids.iter().map(|id| value(*id)).collect::<Option<Vec<Constant>>>();
        match tree.expr(id) {
            Expr::Name => self.get(tree.name(id)?).cloned().filter(|known| *known != Constant::Written(String::new())),
            Expr::Int => Some(Constant::Int(i64::try_from(tree.int(id)?).ok()?)),
            Expr::Float => Some(Constant::Float(tree.float(id)?)),
            Expr::Str => Some(Constant::Str(tree.string(id)?.into_owned())),
            Expr::True => Some(Constant::Bool(true)),
            Expr::False => Some(Constant::Bool(false)),
            Expr::None => Some(Constant::None),
            Expr::Tuple(items) => all(tree.items(items)).map(Constant::Tuple),
            Expr::List(items) => all(tree.items(items)).map(Constant::List),
            Expr::Unary { op: Unary::Neg, value: inner } => match value(inner)? {
                Constant::Int(number) => number.checked_neg().map(Constant::Int),
                Constant::Float(number) => Some(Constant::Float(-number)),
                _ => None,
            },
            Expr::Binary { op, left, right } => operate(op, value(left)?, value(right)?),
            Expr::Subscript { value: base, items } => {
                let [index] = tree.items(items) else { return None };
                let (Constant::Tuple(fields) | Constant::List(fields), Constant::Int(index)) = (value(base)?, value(*index)?)
                else {
                    return None;
                };
                let index = if index < 0 { index + fields.len() as i64 } else { index };
                fields.get(usize::try_from(index).ok()?).cloned()
            }
            Expr::Attribute { .. } => {
                let name = tree.dotted(id)?;
                match name.rsplit_once('.')? {
                    ("np" | "numpy" | "torch", dtype) if crate::ir::DType::parse(dtype).is_some() => {
                        Some(Constant::Str(dtype.to_owned()))
                    }
                    ("T" | "tir" | "R" | "relax", _) => Some(Constant::Written(name.to_owned())),
                    _ => None,
                }
            }
            Expr::Call { callee, args } => self.call(tree, id, callee, tree.args(args), depth),
            _ => None,
        }
    }

    fn call(
        &self,
        tree: &Tree<'_>,
        id: Id<Expr>,
        callee: Id<Expr>,
        args: &[script::tree::Arg],
        depth: usize,
    ) -> Option<Constant> {
        let name = tree.dotted(callee)?;
        let values: Option<Vec<Constant>> = args.iter().map(|arg| self.value(tree, arg.value, depth + 1)).collect();
        match (name, values?.as_slice()) {
            ("len", [Constant::Tuple(items) | Constant::List(items)]) => Some(Constant::Int(items.len() as i64)),
            ("int" | "T.int32", [value @ Constant::Int(_)]) if name == "int" => Some(value.clone()),
            ("tuple", [Constant::Tuple(items) | Constant::List(items)]) => Some(Constant::Tuple(items.clone())),
            ("list", [Constant::Tuple(items) | Constant::List(items)]) => Some(Constant::List(items.clone())),
            ("min", [Constant::Int(a), Constant::Int(b)]) => Some(Constant::Int(*a.min(b))),
            ("max", [Constant::Int(a), Constant::Int(b)]) => Some(Constant::Int(*a.max(b))),
            _ if matches!(name.split_once('.'), Some(("T", rest)) if crate::ir::DType::parse(rest).is_some())
                || matches!(name, "R.Tensor" | "R.Shape" | "R.Tuple" | "R.Prim") =>
            {
                // Names in it get their own values where it is put in.
                let text = tree.text(tree.span(id));
                let plain = args.iter().all(|arg| !has_names(tree, arg.value));
                plain.then(|| Constant::Written(text.to_owned()))
            }
            _ => None,
        }
    }
}

/// True if names stand in an expression that a caller might not have in scope.
fn has_names(tree: &Tree<'_>, id: Id<Expr>) -> bool {
    let span = tree.span(id);
    (0..tree.len()).map(Id::from_index).any(|inner| {
        let at = tree.span(inner);
        span.start <= at.start
            && at.end <= span.end
            && matches!(tree.expr(inner), Expr::Name)
            && !matches!(tree.text(at), "T" | "R")
    })
}

fn operate(op: Binary, left: Constant, right: Constant) -> Option<Constant> {
    use Constant::{Float, Int, List, Str, Tuple};
    Some(match (op, left, right) {
        (Binary::Add, Int(a), Int(b)) => Int(a.checked_add(b)?),
        (Binary::Sub, Int(a), Int(b)) => Int(a.checked_sub(b)?),
        (Binary::Mul, Int(a), Int(b)) => Int(a.checked_mul(b)?),
        (Binary::Pow, Int(a), Int(b)) => Int(a.checked_pow(u32::try_from(b).ok()?)?),
        (Binary::Shl, Int(a), Int(b)) => Int(a.checked_mul(1_i64.checked_shl(u32::try_from(b).ok()?).filter(|p| *p > 0)?)?),
        (Binary::Shr, Int(a), Int(b)) => Int(a.checked_shr(u32::try_from(b).ok()?)?),
        (Binary::FloorDiv, Int(a), Int(b)) if b != 0 => {
            let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
            Int(if rest != 0 && (rest < 0) != (b < 0) { quotient - 1 } else { quotient })
        }
        (Binary::Mod, Int(a), Int(b)) if b != 0 => {
            let rest = a.checked_rem(b)?;
            Int(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
        }
        (Binary::Div, Int(a), Int(b)) if b != 0 => Float(a as f64 / b as f64),
        (Binary::Div, Float(a), Float(b)) => Float(a / b),
        (Binary::Mul, Float(a), Float(b)) => Float(a * b),
        (Binary::Add, Float(a), Float(b)) => Float(a + b),
        (Binary::Sub, Float(a), Float(b)) => Float(a - b),
        (op, Int(a), Float(b)) => return operate(op, Float(a as f64), Float(b)),
        (op, Float(a), Int(b)) => return operate(op, Float(a), Float(b as f64)),
        (Binary::Add, Str(a), Str(b)) => Str(a + &b),
        (Binary::Add, Tuple(mut a), Tuple(b)) => {
            a.extend(b);
            Tuple(a)
        }
        (Binary::Add, List(mut a), List(b)) => {
            a.extend(b);
            List(a)
        }
        _ => return None,
    })
}

/// `a = b, c = value`: what stands before each `=`, and the value. Annotations are left out.
fn targets(text: &str) -> Option<(Vec<&str>, &str)> {
    let mut targets = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ',' | ' ' | '(' | ')'))).unwrap_or(rest.len());
        let (names, after) = rest.split_at(end);
        let after = match after.strip_prefix(':') {
            // `n: int = 4`
            Some(annotated) => &annotated[annotated.find('=')?..],
            None => after,
        };
        let is_target = names.trim_matches([' ', '(']).starts_with(|c: char| c.is_alphabetic() || c == '_')
            && names.trim_matches(['(', ')', ' ']).split(',').all(|name| !name.trim().contains([' ', '(', ')']));
        match after.strip_prefix('=') {
            Some(value) if is_target && !value.starts_with('=') => {
                targets.push(names.trim());
                rest = value.trim_start();
            }
            _ => break,
        }
    }
    (!targets.is_empty()).then_some((targets, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_computed_as_python_does_and_scopes_end_with_their_column() {
        let mut known = Constants::default();
        for text in ["M = N = K = 128", "a, b = 3, 4 # two", "dtype: str = \"float\" + \"32\"", "shape = (M, N // 3, -a % b)"] {
            assert!(known.statement(text, 0), "{text}");
        }
        assert!(!known.statement("net = build(M)", 0));
        assert_eq!(known.get("shape").map(ToString::to_string).as_deref(), Some("(128, 42, 1)"));
        assert_eq!(known.get("dtype").map(ToString::to_string).as_deref(), Some("\"float32\""));
        known.statement("M = 7", 4);
        assert_eq!(known.get("M"), Some(&Constant::Int(7)));
        known.line(0);
        assert_eq!(known.get("M"), Some(&Constant::Int(128)));
        assert!(!known.statement("M = f()", 0));
        assert_eq!(known.get("M"), None);
        assert!(known.evaluate("a.b").is_none() && known.evaluate("1 // 0").is_none());
    }
}
