//! Finds the expression at a place in the text of a version, and names it in a few words.

use crate::diag::Span;
use crate::ir::walk::for_each_part;
use crate::ir::{AttrValue, Dialect, Expr, ExprId, IdMap, Module, Store, TypeId};
use crate::ops;
use crate::print::{self, LineRole, NameInfo, Named, Naming, Numbering, PrintOptions, Printed};
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
        let options = PrintOptions { numbering, types: true, metadata: false, header: true, ..PrintOptions::default() };
        Lines { printed: print::module_lines(store, module, &options) }
    }

    /// Returns the node for a word in a line, which is counted from 0.
    fn node_at(&self, store: &Store, module: &Module, line: usize, word: &str) -> Option<ExprId> {
        let info = self.printed.lines.get(line)?;
        if let Some(global) = word.strip_prefix('@') {
            let found = module.functions().iter().find(|(name, _)| store.str(*name) == global);
            return found.map(|(_, function)| *function).or(info.node);
        }
        let named = self.printed.name_at(line, word).and_then(|name| self.printed.node_of(name));
        named.or(info.node)
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

/// The names in a line of a version's text, and what they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineNames {
    /// Each name with its type, from left to right.
    pub names: Vec<(String, String)>,
    /// The type of the line's expression; empty for none.
    pub own: String,
}

/// Returns the names in a line (from 1) of a version's text.
pub(super) fn names_in(store: &Store, module: &Module, naming: Option<&Naming>, line: usize) -> Option<LineNames> {
    let printed = Lines::of(store, module, naming).printed;
    let at = line.checked_sub(1).filter(|at| *at < printed.lines.len())?;
    let write = if module.dialect() == Dialect::Relax { print::relax_ty } else { print::ty };
    let of_node = |node: Option<ExprId>| {
        let bound = node.and_then(|node| match store.expr(node) {
            Expr::Let { var, .. } => store.var_type(var),
            _ => node_type(store, node),
        });
        bound.map_or(String::new(), |ty| write(store, ty))
    };
    let of_name = |name: &NameInfo| match name.thing {
        Named::Line | Named::Node(_) => of_node(printed.node_of(name)),
        Named::Symbol(symbol) => format!("T.{}", store.symbol(symbol).dtype),
        Named::Buffer(buffer) => {
            let buffer = store.buffer(buffer);
            let shape: Vec<String> =
                buffer.shape.iter().map(|extent| crate::ir::show_dim(store, store.dim_of_prim(*extent))).collect();
            let comma = if shape.len() == 1 { "," } else { "" };
            format!("T.Buffer(({}{comma}), \"{}\")", shape.join(", "), buffer.dtype)
        }
    };
    let names = printed.names_in(at).into_iter().map(|name| (name.text.to_string(), of_name(name))).collect();
    Some(LineNames { names, own: of_node(printed.lines[at].node) })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a program, and returns the names with their types in the first line that has `wanted` in it.
    fn names_of(source: &str, wanted: &str) -> LineNames {
        let store = &mut Store::new();
        let module = crate::parse::parse(store, source).program.module;
        let module = crate::infer::infer_module(store, &module).expect("types");
        let printed = Lines::of(store, &module, None).printed;
        let line = (0..printed.lines.len())
            .find(|at| printed.line(*at).contains(wanted))
            .unwrap_or_else(|| panic!("no {wanted} in {}", printed.text));
        names_in(store, &module, None, line + 1).expect("it is one of the text")
    }

    fn texts(found: &LineNames) -> Vec<(&str, &str)> {
        found.names.iter().map(|(name, ty)| (name.as_str(), ty.as_str())).collect()
    }

    #[test]
    fn names_of_relay_have_the_types_of_what_they_number() {
        let source = "def @main(%x: Tensor[(2, 3), float32]) {\n  %0 = nn.relu(%x);\n  %1 = (%0, 1f);\n  let %y = %1.0;\n  (exp(%y), @other(1f))\n}\n\n\
                      def @other(%x: float32) -> (float32, float32) {\n  %2 = exp(%x);\n  (%2, %2)\n}\n";
        let tensor = "Tensor[(2, 3), float32]";
        assert_eq!(texts(&names_of(source, "nn.relu")), [("%0", tensor), ("%x", tensor)]);
        assert_eq!(texts(&names_of(source, "let %y")), [("%y", tensor), ("%1", "(Tensor[(2, 3), float32], float32)")]);
        assert_eq!(texts(&names_of(source, "(%4, %4)")), [("%4", "float32")]);
        assert_eq!(texts(&names_of(source, "= exp(%x1)"))[1], ("%x1", "float32"));
        let last = names_of(source, "= exp(%y)");
        assert_eq!((texts(&last)[1], last.own.as_str()), (("%y", tensor), tensor));
    }

    #[test]
    fn every_variable_of_tvmscript_is_a_name() {
        let source = "@I.ir_module\nclass Module:\n    @R.function\n    def main(y: R.Tensor((\"n\", 4), dtype=\"float32\")):\n        \
                      n = T.int64()\n        with R.dataflow():\n            weights = R.reshape(y, R.shape([n * 4]))\n            \
                      R.output(weights)\n        return weights\n";
        let found = names_of(source, "R.reshape");
        let names = [
            ("weights", "R.Tensor((n * 4,), dtype=\"float32\")"),
            ("n", "T.int64"),
            ("y", "R.Tensor((n, 4), dtype=\"float32\")"),
        ];
        assert_eq!(texts(&found), names);
        assert_eq!(texts(&names_of(source, "def main")).first(), Some(&names[2]));
        assert_eq!(texts(&names_of(source, "return")), names[..1]);
    }

    #[test]
    fn loops_buffers_and_their_members_are_names_of_tir() {
        let source = "@I.ir_module\nclass Module:\n    @T.prim_func\n    def main(A: T.Buffer((4,), \"float32\")):\n        \
                      B = T.alloc_buffer((4,), \"int32\")\n        for i in range(4):\n            \
                      T.evaluate(T.call_extern(\"int32\", \"f\", A.data, B[i]))\n";
        let names = [("A", "T.Buffer((4,), \"float32\")"), ("B", "T.Buffer((4,), \"int32\")"), ("i", "T.int32")];
        assert_eq!(texts(&names_of(source, "T.call_extern")), names);
    }
}
