//! Finds the expression at a place in the text of a version, and names it in a few words.

use crate::diag::Span;
use crate::ir::walk::for_each_part;
use crate::ir::{AttrValue, Expr, ExprId, IdMap, Module, Store, TypeId};
use crate::ops;
use crate::print::{self, LineRole, Naming, Numbering, PrintOptions, Printed};
use std::cmp::Reverse;
use std::fmt::Write;

/// An expression that the user points at.
#[derive(Clone, Debug)]
pub enum Place {
    /// By a word in a line (from 1) of a version's text, with stable numbers or without.
    Line {
        /// The line, from 1.
        line: usize,
        /// The word at the pointer; a name leads to its definition, anything else to the node of the line.
        word: String,
        /// With stable numbers.
        stable: bool,
    },
    /// The id in an earlier answer.
    Node(ExprId),
    /// By a place in the source.
    Source(u32),
}

/// The text of a version, with the nodes of its lines.
pub(super) struct Lines {
    printed: Printed,
}

impl Lines {
    /// Prints with names that stay the same from version to version, or as TVM prints them.
    pub(super) fn of(store: &Store, module: &Module, naming: Option<&Naming>) -> Lines {
        let numbering = naming.map_or(Numbering::Exact, Numbering::Stable);
        let options = PrintOptions { numbering, types: true, metadata: false, header: true, verbose: false };
        Lines { printed: print::module_lines(store, module, &options) }
    }

    /// Returns the node for a word in a line, which is counted from 0.
    fn node_at(&self, store: &Store, module: &Module, line: usize, word: &str) -> Option<ExprId> {
        let info = self.printed.lines.get(line)?;
        if let Some(global) = word.strip_prefix('@') {
            let found = module.functions().iter().find(|(name, _)| store.str(*name) == global);
            return found.map(|(_, function)| *function).or(info.node);
        }
        let is_name = word.starts_with('%') || word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let found = if is_name { self.definition(store, line, word) } else { None };
        found.or(info.node)
    }

    /// Returns the value bound to a name that is used in a line: by a line above, or as a parameter.
    fn definition(&self, store: &Store, line: usize, word: &str) -> Option<ExprId> {
        for at in (0..=line).rev() {
            let text = self.printed.line(at).trim_start();
            let info = &self.printed.lines[at];
            // `%t.0` is a field of `%t`.
            let bound = text.strip_prefix("let ").unwrap_or(text);
            let bound = bound.split([' ', ':', '=', ';']).next().unwrap_or("");
            if !bound.is_empty() && (bound == word || word.strip_prefix(bound).is_some_and(|rest| rest.starts_with('.'))) {
                return info.node;
            }
            if let Some(param) = info.node.and_then(|node| parameter(store, node, text, word)) {
                return Some(param);
            }
            if info.role == LineRole::Definition && !text.starts_with('@') && at < line {
                break;
            }
        }
        None
    }

    /// Returns the line of a node, from 1: its own, or the one that it is written into.
    pub(super) fn line_of(&self, store: &Store, node: ExprId) -> Option<usize> {
        let mut own: IdMap<Expr, usize> = IdMap::new();
        for (at, line) in self.printed.lines.iter().enumerate() {
            if let Some(id) = line.node
                && !matches!(line.role, LineRole::Close | LineRole::Detail)
                && !own.contains(id)
            {
                own.insert(id, at + 1);
            }
        }
        if let Some(line) = own.get(node) {
            return Some(*line);
        }
        let mut seen: IdMap<Expr, ()> = IdMap::new();
        for (at, line) in self.printed.lines.iter().enumerate() {
            let Some(id) = line.node.filter(|_| !matches!(line.role, LineRole::Close | LineRole::Detail)) else { continue };
            let mut stack = vec![id];
            while let Some(id) = stack.pop() {
                if seen.insert(id, ()).is_some() {
                    continue;
                }
                let mut binds = false;
                if let (Some(function), Expr::Var(var)) = (store.as_function(id), store.expr(node)) {
                    binds = store.items(function.params).any(|param| store.var_data(param).vid == store.var_data(var).vid);
                }
                if id == node || binds {
                    return Some(at + 1);
                }
                for_each_part(store, id, |part| {
                    if !own.contains(part) {
                        stack.push(part);
                    }
                });
            }
        }
        None
    }
}

/// Returns the parameter that the head of a function names so: they stand in their order.
fn parameter(store: &Store, function: ExprId, head: &str, word: &str) -> Option<ExprId> {
    let function = store.as_function(function)?;
    let (_, rest) = head.split_once('(')?;
    for (before, part) in rest.split(':').enumerate() {
        let name = part.rsplit(['(', ',', ' ']).next().unwrap_or("");
        if name == word {
            return store.items(function.params).nth(before).and_then(|var| store.var_use(var));
        }
    }
    None
}

/// Returns the expression at a place in a version.
pub(super) fn resolve(store: &Store, module: &Module, source: &str, place: &Place, naming: &Naming) -> Option<ExprId> {
    match place {
        Place::Line { line, word, stable } => {
            Lines::of(store, module, stable.then_some(naming)).node_at(store, module, line.checked_sub(1)?, word)
        }
        Place::Node(node) => Some(*node),
        Place::Source(offset) => in_source(store, module, source, *offset),
    }
}

/// Returns the smallest expression of the opened program around a place in the text, unless only something with a body
/// of its own is: then the first that begins behind the place in its line.
fn in_source(store: &Store, module: &Module, source: &str, offset: u32) -> Option<ExprId> {
    let rest = source.get(offset as usize..).unwrap_or("");
    let line_end = offset + rest.find('\n').unwrap_or(rest.len()) as u32;
    let mut best: Option<(u8, Reverse<u32>, ExprId)> = None;
    let mut seen: IdMap<Expr, ()> = IdMap::new();
    let mut stack: Vec<ExprId> = module.functions().iter().map(|(_, function)| *function).collect();
    while let Some(id) = stack.pop() {
        if seen.insert(id, ()).is_some() {
            continue;
        }
        for_each_part(store, id, |part| stack.push(part));
        let Some(Span { start, end }) = store.source_span(id) else { continue };
        let has_body = matches!(store.expr(id), Expr::Function(_) | Expr::Let { .. } | Expr::Seq { .. });
        let (rank, size) = match (start <= offset && offset <= end, has_body) {
            (true, false) => (2, end - start),
            (true, true) => (0, end - start),
            (false, false) if offset < start && start < line_end => (1, start - offset),
            _ => continue,
        };
        if best.is_none_or(|(most, least, _)| (rank, Reverse(size)) > (most, least)) {
            best = Some((rank, Reverse(size), id));
        }
    }
    best.map(|(.., id)| id)
}

/// Names an expression in a word or two.
pub fn label(store: &Store, id: ExprId) -> String {
    match store.expr(id) {
        Expr::Var(var) => format!("%{}", store.var_name(var)),
        Expr::Global(name) => format!("@{}", store.str(name)),
        Expr::Op(op) => ops::info(op).name.to_owned(),
        Expr::Ctor(ctor) => store.str(store.ctor(ctor).name).to_owned(),
        Expr::Constant(_) => "constant".to_owned(),
        Expr::Tuple(_) => "tuple".to_owned(),
        Expr::TupleGetItem { index, .. } => format!("field {index}"),
        Expr::Call { callee, .. } => match store.expr(callee) {
            Expr::Function(_) => "call of a function".to_owned(),
            Expr::Var(_) | Expr::Global(_) | Expr::Op(_) | Expr::Ctor(_) | Expr::Extern(_) => label(store, callee),
            _ => "call".to_owned(),
        },
        Expr::Let { var, .. } => format!("let %{}", store.var_name(var)),
        Expr::If { .. } => "if".to_owned(),
        Expr::Function(_) => "function".to_owned(),
        Expr::Match { .. } => "match".to_owned(),
        Expr::RefCreate(_) => "ref".to_owned(),
        Expr::RefRead(_) => "ref_read".to_owned(),
        Expr::RefWrite { .. } => "ref_write".to_owned(),
        Expr::Seq { .. } => "bindings".to_owned(),
        Expr::Shape(_) => "shape".to_owned(),
        Expr::Prim(_) => "scalar".to_owned(),
        Expr::Str(name) => format!("\"{}\"", store.str(name)),
        Expr::DataType(dtype) => dtype.to_string(),
        Expr::Extern(name) => store.str(name).to_owned(),
        Expr::PrimFunc(_) => "tensor program".to_owned(),
        Expr::Stmt(stmt) => store.stmt_label(stmt),
    }
}

/// Returns the type of an expression; of a variable the one that was found for it or written.
pub fn node_type(store: &Store, id: ExprId) -> Option<TypeId> {
    store.checked_type(id).or_else(|| match store.expr(id) {
        Expr::Var(var) => store.var_data(var).ty.or(store.var_data(var).annotation),
        _ => None,
    })
}

/// Returns the attributes of a call or function: names, and values as Python writes them.
pub fn attributes(store: &Store, id: ExprId) -> Vec<(String, String)> {
    let attrs = match store.expr(id) {
        Expr::Call { .. } => store.call(id).and_then(|call| call.attrs),
        _ => store.as_function(id).and_then(|function| function.attrs),
    };
    let Some(attrs) = attrs else { return Vec::new() };
    let fields = store.attrs_of_id(attrs).fields.iter();
    fields
        .map(|(name, value)| {
            let mut text = String::new();
            write_attr(store, value, &mut text);
            (store.str(*name).to_owned(), text)
        })
        .collect()
}

/// Lists nest at most as deep as the parser's limit on brackets, shallow enough to recurse.
fn write_attr(store: &Store, value: &AttrValue, out: &mut String) {
    let _ = match value {
        AttrValue::Null => write!(out, "None"),
        AttrValue::Bool(value) => write!(out, "{}", if *value { "True" } else { "False" }),
        AttrValue::Int { value, .. } => write!(out, "{value}"),
        AttrValue::Float(value) => write!(out, "{:?}", value.0),
        AttrValue::Str(name) => write!(out, "\"{}\"", store.str(*name)),
        AttrValue::DType(dtype) => write!(out, "{}", dtype.map_or(String::new(), |dtype| dtype.to_string())),
        AttrValue::Global(name) => write!(out, "@{}", store.str(*name)),
        AttrValue::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_attr(store, item, out);
            }
            out.push(']');
            Ok(())
        }
        AttrValue::Map(items) => {
            out.push('{');
            for (at, (name, item)) in items.iter().enumerate() {
                let _ = write!(out, "{}\"{}\": ", if at > 0 { ", " } else { "" }, store.str(*name));
                write_attr(store, item, out);
            }
            out.push('}');
            Ok(())
        }
        AttrValue::Dim(dim) => write!(out, "{}", crate::ir::show_dim(store, *dim)),
        AttrValue::Expr(id) => write!(out, "{}", label(store, *id)),
        AttrValue::Type(ty) => write!(out, "{}", crate::ir::show_type(store, *ty)),
        // A number in a box is that number; of others their kind says most.
        AttrValue::Object(object) => {
            let object = store.object(*object);
            write!(out, "{}", object.repr.as_deref().unwrap_or(store.str(object.key)))
        }
    };
}
