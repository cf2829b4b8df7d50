//! Traces of schedules: lines of Python as `sch.trace.as_python()` of TVM prints them, and as people write them.

use super::script;
use super::script::tree::{Arg, Expr, StmtKind, Tree, Unary};
use crate::diag::{Diagnostic, Span};
use crate::ir::{Id, PrimOp};
use crate::tir::index_map::IndexMap;
use rustc_hash::FxHashMap;

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
    /// `loops[1:3]`
    Slice(Box<Node>, Option<i64>, Option<i64>),
    /// `*loops` in a list.
    Starred(Box<Node>),
    /// `f(a, name=b)`: the callee, and arguments with their names.
    Call(String, Vec<(Option<String>, Node)>),
    /// `a + b`
    Binary(PrimOp, Box<Node>, Box<Node>),
    /// `not a`
    Not(Box<Node>),
    /// `-a`
    Neg(Box<Node>),
    /// A map of indices that is no text but an object of a database.
    IndexMap(IndexMap),
    /// `lambda a, b: body`
    Lambda(Vec<String>, Box<Node>),
    /// Any other expression, which no instruction takes.
    Other,
}

/// One line of a trace.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The names of the results; nothing for those that are not kept. `*rest` takes what the others leave.
    pub outs: Vec<String>,
    /// The primitive: `split`. Empty where names are given to the value of an expression, the only argument.
    pub name: String,
    /// The index of the chosen result: `sch.get_loops(b0)[1]`.
    pub pick: Option<i64>,
    /// Its arguments with their names, where they have one.
    pub args: Vec<(Option<String>, Node)>,
    /// The instructions that stand among its arguments, in the order in which they are done. Each has one name, which begins
    /// with a space, and stands for it in the arguments.
    pub nested: Vec<Instruction>,
    /// The line.
    pub span: Span,
}

/// Reads the instructions of a trace, in order. The schedule is called `sch`, or as the lines before name it.
pub fn parse_trace(text: &str) -> Result<Vec<Instruction>, Vec<Diagnostic>> {
    let (tree, found) = script::parse(text);
    if found.iter().any(Diagnostic::is_error) {
        return Err(found);
    }
    let top = tree.stmts(tree.top);
    let mut reader = Reader {
        tree: &tree,
        schedules: vec!["sch".to_owned()],
        used: Vec::new(),
        known: FxHashMap::default(),
        nested: Vec::new(),
    };
    let mut instructions = Vec::new();
    let mut errors = Vec::new();
    let mut functions: Vec<(String, String)> = Vec::new();
    let mut todo: Vec<_> = top.to_vec();
    todo.reverse();
    while let Some(stmt) = todo.pop() {
        let mut wrong = |message| errors.push(Diagnostic::error("schedule-syntax", message, stmt.span));
        let (targets, value) = match stmt.kind {
            StmtKind::Assign { target, value } => (names(&tree, target), value),
            StmtKind::Expr(value) if matches!(tree.expr(value), Expr::Call { .. }) => (Some(Vec::new()), value),
            // Documentation and imports do nothing.
            StmtKind::Expr(value) if matches!(tree.expr(value), Expr::Str) => continue,
            StmtKind::Import { .. } | StmtKind::Pass => continue,
            // The two functions of an intrinsic; `register` takes their text.
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
            StmtKind::Return(_) => continue,
            StmtKind::For { .. } | StmtKind::While { .. } | StmtKind::If { .. } => {
                wrong(
                    "a schedule is a list of instructions here; write what this does line by line, as `sch.trace.as_python()` prints it",
                );
                continue;
            }
            _ => {
                wrong(A_CALL);
                continue;
            }
        };
        let Some(outs) = targets else {
            wrong("results are given to names, as in `i, j = sch.get_loops(b)`");
            continue;
        };
        match reader.instruction(value, outs) {
            // It is printed, or the schedule is made.
            Ok(None) => {}
            Ok(Some(mut instruction)) => {
                for (_, arg) in instruction.args.iter_mut().filter(|_| instruction.name == "register") {
                    let NodeKind::Name(of) = &arg.kind else { continue };
                    if let Some((_, text)) = functions.iter().find(|(known, _)| known == of) {
                        arg.kind = NodeKind::Str(text.clone());
                    }
                }
                instructions.push(Instruction { span: stmt.span, ..instruction });
            }
            Err(message) => wrong(message),
        }
    }
    if errors.is_empty() { Ok(instructions) } else { Err(errors) }
}

const ONE: &str = "a trace is of one schedule: behind an instruction of another one, or of a copy, this one is over";

const A_CALL: &str = "an instruction is a call such as `sch.split(...)`";

/// The text of a definition as it is written at the margin.
fn dedented(text: &str, span: Span) -> String {
    let start = text[..span.start as usize].rfind('\n').map_or(0, |at| at + 1);
    let lines = text[start..span.end as usize].lines();
    let margin = lines.clone().next().map_or(0, |line| line.len() - line.trim_start().len());
    lines.map(|line| format!("{}\n", line.get(margin..).unwrap_or_default())).collect()
}

/// Returns the names that a result is given: `a`, `a, b`, `[a, b]`, `l3,`, `a, *rest`.
fn names(tree: &Tree<'_>, target: Id<Expr>) -> Option<Vec<String>> {
    match tree.expr(target) {
        Expr::Name => Some(vec![tree.name(target)?.to_owned()]),
        Expr::Tuple(items) | Expr::List(items) => {
            let name = |item: &Id<Expr>| match tree.expr(*item) {
                Expr::Starred(inner) => Some(format!("*{}", tree.name(inner)?)),
                _ => tree.name(*item).map(str::to_owned),
            };
            let mut found: Vec<String> = tree.items(items).iter().map(name).collect::<Option<_>>()?;
            // One name in a list takes the only result, and not all of them.
            if let [only] = &mut found[..]
                && !only.starts_with('*')
            {
                only.push(',');
            }
            Some(found)
        }
        _ => None,
    }
}

/// True if an expression is made of nothing but literals.
fn is_literal(node: &Node) -> bool {
    match &node.kind {
        NodeKind::List(items) => items.iter().all(is_literal),
        NodeKind::Dict(items) => items.iter().all(|(key, value)| is_literal(key) && is_literal(value)),
        NodeKind::Binary(_, a, b) => is_literal(a) && is_literal(b),
        NodeKind::Lambda(..) | NodeKind::None | NodeKind::Bool(_) | NodeKind::Int(_) | NodeKind::Float(_) | NodeKind::Str(_) => {
            true
        }
        _ => false,
    }
}

/// Reads the expressions of a trace.
struct Reader<'a, 't> {
    tree: &'a Tree<'t>,
    /// The names of the schedule.
    schedules: Vec<String>,
    /// The schedules whose instructions were read, the present one last.
    used: Vec<String>,
    /// The literals that were given names, by name: `bn = 32`.
    known: FxHashMap<String, Node>,
    /// The instructions among the arguments of the line.
    nested: Vec<Instruction>,
}

impl Reader<'_, '_> {
    /// Returns the instruction of a line: nothing where it makes the schedule, prints, or names a literal.
    fn instruction(&mut self, value: Id<Expr>, outs: Vec<String>) -> Result<Option<Instruction>, &'static str> {
        let tree = self.tree;
        let (called, pick) = match tree.expr(value) {
            Expr::Subscript { value, items } => match tree.items(items) {
                [index] if matches!(tree.expr(value), Expr::Call { .. }) => match self.node(*index, 0).kind {
                    NodeKind::Int(pick) => (value, Some(pick)),
                    _ => (value, None),
                },
                _ => (value, None),
            },
            _ => (value, None),
        };
        let is_picked = called == value || pick.is_some();
        if let (Expr::Call { callee, args }, true) = (tree.expr(called), is_picked) {
            match tree.expr(callee) {
                Expr::Attribute { value: of, name } => {
                    let name = tree.text(name);
                    match name {
                        "Schedule" => {
                            self.schedules.extend(outs);
                            return Ok(None);
                        }
                        "show" => return Ok(None),
                        _ => {}
                    }
                    if let (Expr::Name, Some(of)) = (tree.expr(of), tree.name(of)) {
                        self.schedules.push(of.to_owned());
                        match self.used.iter().position(|known| known == of) {
                            Some(at) if at + 1 < self.used.len() => return Err(ONE),
                            None if name != "register" => self.used.push(of.to_owned()),
                            _ => {}
                        }
                    }
                    let args = self.arguments(tree.args(args), 0);
                    outs.iter().for_each(|out| drop(self.known.remove(out)));
                    let nested = std::mem::take(&mut self.nested);
                    return Ok(Some(Instruction { outs, name: name.to_owned(), pick, args, nested, span: tree.span(value) }));
                }
                _ if matches!(tree.dotted(callee), Some("print")) => return Ok(None),
                _ => {}
            }
        }
        if outs.is_empty() {
            return Err(A_CALL);
        }
        let node = self.node(value, 0);
        let nested = std::mem::take(&mut self.nested);
        outs.iter().for_each(|out| drop(self.known.remove(out)));
        match (&node.kind, &outs[..]) {
            (_, [name]) if is_literal(&node) && !name.starts_with('*') && !name.ends_with(',') => {
                self.known.insert(name.clone(), node);
                return Ok(None);
            }
            (NodeKind::List(items), names) if is_literal(&node) && items.len() == names.len() => {
                self.known.extend(names.iter().cloned().zip(items.iter().cloned()));
                return Ok(None);
            }
            (NodeKind::Other | NodeKind::Call(..), _) => return Err(A_CALL),
            _ => {}
        }
        let span = node.span;
        Ok(Some(Instruction { outs, name: String::new(), pick: None, args: vec![(None, node)], nested, span }))
    }

    fn arguments(&mut self, args: &[Arg], depth: usize) -> Vec<(Option<String>, Node)> {
        let mut found = Vec::new();
        for arg in args {
            let value = self.node(arg.value, depth + 1);
            match value.kind {
                // `sch.reorder(*loops)`
                NodeKind::List(items) if arg.stars == 1 => found.extend(items.into_iter().map(|item| (None, item))),
                _ => found.push((arg.name().map(|span| self.tree.text(span).to_owned()), value)),
            }
        }
        found
    }

    fn all(&mut self, items: &[Id<Expr>], depth: usize) -> Vec<Node> {
        items.iter().map(|item| self.node(*item, depth + 1)).collect()
    }

    fn boxed(&mut self, id: Id<Expr>, depth: usize) -> Box<Node> {
        Box::new(self.node(id, depth + 1))
    }

    /// A number that stands in the text, which may be negative.
    fn number(&mut self, id: Id<Expr>, depth: usize) -> Option<i64> {
        match self.node(id, depth + 1).kind {
            NodeKind::Int(value) => Some(value),
            _ => None,
        }
    }

    fn node(&mut self, id: Id<Expr>, depth: usize) -> Node {
        let tree = self.tree;
        let span = tree.span(id);
        // Only chains of operators are deeper than the reader of Python lets them.
        let kind = match tree.expr(id) {
            _ if depth > script::MAX_DEPTH => NodeKind::Other,
            Expr::Name | Expr::Attribute { .. } => match tree.dotted(id) {
                Some(name) => match self.known.get(name) {
                    Some(node) => node.kind.clone(),
                    None => NodeKind::Name(name.to_owned()),
                },
                None => NodeKind::Other,
            },
            Expr::Int => tree.int(id).and_then(|value| i64::try_from(value).ok()).map_or(NodeKind::Other, NodeKind::Int),
            Expr::Float => tree.float(id).map_or(NodeKind::Other, NodeKind::Float),
            Expr::Str => tree.string(id).map_or(NodeKind::Other, |text| NodeKind::Str(text.into_owned())),
            Expr::True => NodeKind::Bool(true),
            Expr::False => NodeKind::Bool(false),
            Expr::None => NodeKind::None,
            Expr::Tuple(items) | Expr::List(items) => NodeKind::List(self.all(tree.items(items), depth)),
            Expr::Starred(value) => NodeKind::Starred(self.boxed(value, depth)),
            Expr::Dict(items) => {
                let mut all = self.all(tree.items(items), depth).into_iter();
                let mut pairs = Vec::new();
                while let (Some(key), Some(value)) = (all.next(), all.next()) {
                    pairs.push((key, value));
                }
                NodeKind::Dict(pairs)
            }
            Expr::Call { callee, args } => match tree.dotted(callee) {
                Some(name) => {
                    let args = self.arguments(tree.args(args), depth);
                    match name.split_once('.') {
                        Some((of, name)) if self.schedules.iter().any(|known| known == of) && !name.contains('.') => {
                            self.hoisted(name, args, span)
                        }
                        _ => NodeKind::Call(name.to_owned(), args),
                    }
                }
                None => NodeKind::Other,
            },
            Expr::Subscript { value, items } => match tree.items(items) {
                [at] => {
                    let of = self.boxed(value, depth);
                    match tree.expr(*at) {
                        Expr::Slice { lower, upper, step: None } => {
                            let [lower, upper] = [lower, upper].map(|end| end.map(|end| self.number(end, depth)));
                            match (lower, upper) {
                                (Some(None), _) | (_, Some(None)) => NodeKind::Other,
                                _ => NodeKind::Slice(of, lower.flatten(), upper.flatten()),
                            }
                        }
                        _ => self.number(*at, depth).map_or(NodeKind::Other, |at| NodeKind::Item(of, at)),
                    }
                }
                _ => NodeKind::Other,
            },
            Expr::Unary { op: Unary::Neg, value } => match self.node(value, depth + 1).kind {
                NodeKind::Int(value) => NodeKind::Int(value.wrapping_neg()),
                NodeKind::Float(value) => NodeKind::Float(-value),
                kind => NodeKind::Neg(Box::new(Node { kind, span })),
            },
            Expr::Unary { op: Unary::Not, value } => NodeKind::Not(self.boxed(value, depth)),
            Expr::Binary { op, left, right } => match op.prim_op() {
                Some(op) => NodeKind::Binary(op, self.boxed(left, depth), self.boxed(right, depth)),
                None => NodeKind::Other,
            },
            Expr::Lambda { params, body } => {
                let params: Vec<_> = tree.params(params).iter().map(|param| tree.text(param.name).to_owned()).collect();
                // Parameters hide names of literals.
                let hidden: Vec<_> = params.iter().map(|name| (name, self.known.remove(name))).collect();
                let body = self.boxed(body, depth);
                for (name, node) in hidden {
                    node.into_iter().for_each(|node| drop(self.known.insert(name.clone(), node)));
                }
                NodeKind::Lambda(params, body)
            }
            _ => NodeKind::Other,
        };
        Node { kind, span }
    }

    /// An instruction among the arguments of another one is done before it.
    fn hoisted(&mut self, name: &str, args: Vec<(Option<String>, Node)>, span: Span) -> NodeKind {
        let out = format!(" {}", self.nested.len());
        let instruction =
            Instruction { outs: vec![out.clone()], name: name.to_owned(), pick: None, args, nested: Vec::new(), span };
        self.nested.push(instruction);
        NodeKind::Name(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_results_a_name_and_arguments() {
        let text = "b0 = sch.get_sblock(name=\"C\", func_name=\"main\")\nl1, = sch.get_loops(b0)\nsch.reorder(l1, *[l1])\n";
        let trace = parse_trace(text).expect("a trace");
        assert_eq!(trace.iter().map(|line| &*line.name).collect::<Vec<_>>(), ["get_sblock", "get_loops", "reorder"]);
        assert_eq!(trace[1].outs, ["l1,"]);
        assert_eq!(trace[2].args.len(), 2);
        assert!(
            matches!(&trace[0].args[1], (Some(name), Node { kind: NodeKind::Str(text), .. }) if name == "func_name" && text == "main")
        );
    }

    #[test]
    fn literals_get_names_and_loops_of_python_are_refused() {
        let trace = parse_trace("bn, scope = 32, 'local'\ns.cache_read(s.get_block('C'), 0, scope)\n").expect("a trace");
        assert_eq!(trace.len(), 1);
        assert!(matches!(&trace[0].args[2].1.kind, NodeKind::Str(scope) if scope == "local"));
        assert_eq!((trace[0].nested.len(), &*trace[0].nested[0].name), (1, "get_block"));
        for (text, message) in [
            ("for l in sch.get_loops(b):\n    sch.unroll(l)\n", "a schedule is a list of instructions here"),
            ("sch.get_block(f'{n}')\n", "strings of bytes and formatted strings"),
            ("l[0] = sch.get_loops(b)\n", "results are given to names"),
            ("b = sch.get_block('C')\nt = sch.copy()\nt.compute_inline(b)\nsch.unroll(l)\n", "a trace is of one schedule"),
        ] {
            let errors = parse_trace(text).expect_err(text);
            assert!(errors[0].message.starts_with(message), "{text}: {}", errors[0].message);
        }
    }

    #[test]
    fn what_is_no_call_is_refused_with_its_place() {
        let errors = parse_trace("b = sch.get_sblock(\"C\")\nx + 1\n").expect_err("no trace");
        assert_eq!(errors[0].span.map(|span| span.start), Some(24));
    }
}
