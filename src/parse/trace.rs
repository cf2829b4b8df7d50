//! Traces of schedules: lines of Python as `sch.trace.as_python()` of TVM prints them, and as people write them.

use super::script;
use super::script::tree::{Arg, Expr, StmtKind, Tree, Unary};
use crate::diag::{Diagnostic, Span};
use crate::ir::{Id, PrimOp};

/// An expression of a trace, with its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// The kind of the expression.
    pub kind: NodeKind,
    /// Its place in the text.
    pub span: Span,
}

/// The kind of an expression of a trace.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// `None`
    None,
    /// `True`, `False`
    Bool(bool),
    /// `12`
    Int(i64),
    /// `1.5`
    Float(f64),
    /// `"text"`
    Str(String),
    /// `b0`, `T.index_map`
    Name(String),
    /// `[a, b]` and `(a, b)`
    List(Vec<Node>),
    /// `{key: value}`
    Dict(Vec<(Node, Node)>),
    /// `loops[-1]`
    Item(Box<Node>, i64),
    /// `f(a, name=b)`: the callee, and arguments with their names.
    Call(String, Vec<(Option<String>, Node)>),
    /// `a + b`
    Binary(PrimOp, Box<Node>, Box<Node>),
    /// `not a`
    Not(Box<Node>),
    /// `-a`
    Neg(Box<Node>),
    /// `lambda a, b: body`
    Lambda(Vec<String>, Box<Node>),
    /// Any other expression, which no instruction takes.
    Other,
}

/// One line of a trace.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The names of the results; nothing for those that are not kept.
    pub outs: Vec<String>,
    /// The primitive: `split`.
    pub name: String,
    /// The index of the chosen result: `sch.get_loops(b0)[1]`.
    pub pick: Option<i64>,
    /// Its arguments with their names, where they have one.
    pub args: Vec<(Option<String>, Node)>,
    /// The line.
    pub span: Span,
}

/// Reads the instructions of a trace, in order. The schedule is called `sch`, or as the first line names it.
pub fn parse_trace(text: &str) -> Result<Vec<Instruction>, Vec<Diagnostic>> {
    let (tree, found) = script::parse(text);
    if found.iter().any(Diagnostic::is_error) {
        return Err(found);
    }
    let mut instructions = Vec::new();
    let mut errors = Vec::new();
    let mut functions: Vec<(String, String)> = Vec::new();
    let mut todo: Vec<_> = tree.stmts(tree.top).to_vec();
    todo.reverse();
    while let Some(stmt) = todo.pop() {
        let (targets, value) = match stmt.kind {
            StmtKind::Assign { target, value } => (names(&tree, target), value),
            StmtKind::Expr(value) if matches!(tree.expr(value), Expr::Call { .. }) => (Some(Vec::new()), value),
            // Documentation and imports do nothing.
            StmtKind::Expr(value) if matches!(tree.expr(value), Expr::Str) => continue,
            StmtKind::Import { .. } | StmtKind::Pass => continue,
            // What an intrinsic computes, or how; `register` takes its text.
            StmtKind::Def(def) if !tree.items(tree.def(def).decorators).is_empty() => {
                let def = tree.def(def);
                functions.push((tree.text(def.name).to_owned(), dedented(text, def.span)));
                continue;
            }
            // `def apply_trace(sch):`, as TVM prints a trace.
            StmtKind::Def(def) => {
                todo.extend(tree.stmts(tree.def(def).body).iter().rev());
                continue;
            }
            _ => {
                errors.push(Diagnostic::error("schedule-syntax", "an instruction is a call such as `sch.split(...)`", stmt.span));
                continue;
            }
        };
        let (value, pick) = match tree.expr(value) {
            Expr::Subscript { value, items } => match tree.items(items) {
                [index] => (value, index_of(&tree, *index)),
                _ => (value, None),
            },
            _ => (value, None),
        };
        let method = match tree.expr(value) {
            Expr::Call { callee, args } => match tree.expr(callee) {
                Expr::Attribute { name, .. } => Some((tree.text(name).to_owned(), args)),
                _ => None,
            },
            _ => None,
        };
        match (targets, method) {
            (_, Some((name, _))) if name == "Schedule" => {}
            (Some(outs), Some((name, args))) => {
                let mut args = arguments(&tree, tree.args(args), 0);
                for (_, arg) in args.iter_mut().filter(|_| name == "register") {
                    let NodeKind::Name(of) = &arg.kind else { continue };
                    if let Some((_, text)) = functions.iter().find(|(known, _)| known == of) {
                        arg.kind = NodeKind::Str(text.clone());
                    }
                }
                instructions.push(Instruction { outs, name, pick, args, span: stmt.span });
            }
            _ => {
                errors.push(Diagnostic::error("schedule-syntax", "an instruction is a call such as `sch.split(...)`", stmt.span));
            }
        }
    }
    if errors.is_empty() { Ok(instructions) } else { Err(errors) }
}

/// The text of a definition as it is written at the margin.
fn dedented(text: &str, span: Span) -> String {
    let start = text[..span.start as usize].rfind('\n').map_or(0, |at| at + 1);
    let lines = text[start..span.end as usize].lines();
    let margin = lines.clone().next().map_or(0, |line| line.len() - line.trim_start().len());
    lines.map(|line| format!("{}\n", line.get(margin..).unwrap_or_default())).collect()
}

/// Returns the names that a result is given: `a`, `a, b`, `[a, b]`, `l3,`.
fn names(tree: &Tree<'_>, target: Id<Expr>) -> Option<Vec<String>> {
    match tree.expr(target) {
        Expr::Name => Some(vec![tree.name(target)?.to_owned()]),
        Expr::Tuple(items) | Expr::List(items) => {
            tree.items(items).iter().map(|item| tree.name(*item).map(str::to_owned)).collect()
        }
        _ => None,
    }
}

/// Returns a number, which may be negative.
fn index_of(tree: &Tree<'_>, id: Id<Expr>) -> Option<i64> {
    match node(tree, id, 0).kind {
        NodeKind::Int(value) => Some(value),
        _ => None,
    }
}

fn arguments(tree: &Tree<'_>, args: &[Arg], depth: usize) -> Vec<(Option<String>, Node)> {
    let name = |arg: &Arg| arg.name().map(|span| tree.text(span).to_owned());
    let mut found = Vec::new();
    for arg in args {
        let value = node(tree, arg.value, depth + 1);
        match value.kind {
            // `sch.reorder(*loops)`
            NodeKind::List(items) if arg.stars == 1 => found.extend(items.into_iter().map(|item| (None, item))),
            _ => found.push((name(arg), value)),
        }
    }
    found
}

fn node(tree: &Tree<'_>, id: Id<Expr>, depth: usize) -> Node {
    let span = tree.span(id);
    let inner = |id| node(tree, id, depth + 1);
    // Only chains of operators are deeper than the reader of Python lets them.
    let kind = match tree.expr(id) {
        _ if depth > script::MAX_DEPTH => NodeKind::Other,
        Expr::Name | Expr::Attribute { .. } => tree.dotted(id).map_or(NodeKind::Other, |name| NodeKind::Name(name.to_owned())),
        Expr::Int => tree.int(id).and_then(|value| i64::try_from(value).ok()).map_or(NodeKind::Other, NodeKind::Int),
        Expr::Float => tree.float(id).map_or(NodeKind::Other, NodeKind::Float),
        Expr::Str => tree.string(id).map_or(NodeKind::Other, |text| NodeKind::Str(text.into_owned())),
        Expr::True => NodeKind::Bool(true),
        Expr::False => NodeKind::Bool(false),
        Expr::None => NodeKind::None,
        Expr::Tuple(items) | Expr::List(items) => {
            NodeKind::List(tree.items(items).iter().map(|item| node(tree, *item, depth + 1)).collect())
        }
        Expr::Dict(items) => {
            let pairs = tree.items(items).chunks_exact(2);
            NodeKind::Dict(pairs.map(|pair| (inner(pair[0]), inner(pair[1]))).collect())
        }
        Expr::Call { callee, args } => match tree.dotted(callee) {
            Some(name) => NodeKind::Call(name.to_owned(), arguments(tree, tree.args(args), depth)),
            None => NodeKind::Other,
        },
        Expr::Subscript { value, items } => match tree.items(items) {
            [at] => match inner(*at).kind {
                NodeKind::Int(at) => NodeKind::Item(Box::new(inner(value)), at),
                _ => NodeKind::Other,
            },
            _ => NodeKind::Other,
        },
        Expr::Unary { op: Unary::Neg, value } => match inner(value).kind {
            NodeKind::Int(value) => NodeKind::Int(value.wrapping_neg()),
            NodeKind::Float(value) => NodeKind::Float(-value),
            kind => NodeKind::Neg(Box::new(Node { kind, span })),
        },
        Expr::Unary { op: Unary::Not, value } => NodeKind::Not(Box::new(inner(value))),
        Expr::Binary { op, left, right } => match op.prim_op() {
            Some(op) => NodeKind::Binary(op, Box::new(inner(left)), Box::new(inner(right))),
            None => NodeKind::Other,
        },
        Expr::Lambda { params, body } => {
            let params = tree.params(params).iter().map(|param| tree.text(param.name).to_owned()).collect();
            NodeKind::Lambda(params, Box::new(inner(body)))
        }
        _ => NodeKind::Other,
    };
    Node { kind, span }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_results_a_name_and_arguments() {
        let text = "b0 = sch.get_sblock(name=\"C\", func_name=\"main\")\nl1, = sch.get_loops(b0)\nsch.reorder(l1, *[l1])\n";
        let trace = parse_trace(text).expect("a trace");
        assert_eq!(trace.iter().map(|line| &*line.name).collect::<Vec<_>>(), ["get_sblock", "get_loops", "reorder"]);
        assert_eq!(trace[1].outs, ["l1"]);
        assert_eq!(trace[2].args.len(), 2);
        assert!(
            matches!(&trace[0].args[1], (Some(name), Node { kind: NodeKind::Str(text), .. }) if name == "func_name" && text == "main")
        );
    }

    #[test]
    fn what_is_no_call_is_refused_with_its_place() {
        let errors = parse_trace("b = sch.get_sblock(\"C\")\nx + 1\n").expect_err("no trace");
        assert_eq!(errors[0].span.map(|span| span.start), Some(24));
    }
}
