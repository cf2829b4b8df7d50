//! Builds a module from Relax in TVMScript, given as a syntax tree.
//!
//! TVM runs the text as Python and builds the program on the way; this reads the tree and has the same effects as those
//! calls: nested calls become bindings, names of the builder are used up as TVM uses them up (`lv`, `gv1`), branches
//! get their `_then` and `_else`. Omitted types are left to inference.
//!
//! ```text
//!  module --> function --> stmt --> eval (expressions to values) --> build (values to nodes)
//!                 types ------^        call, ops, meta --^
//! ```
//!
//! A function with an error in it is left out; the others are read all the same.

mod build;
mod call;
mod composed;
mod eval;
mod function;
mod given;
mod literal;
mod members;
pub(super) mod meta;
mod module;
mod old;
mod ops;
mod python;
mod scope;
mod stmt;
mod types;
mod value;

#[cfg(test)]
mod tests;

use super::script::{self, tree::Expr as Node, tree::Tree};
use super::{Parsed, Program};
use crate::diag::{Diagnostic, Span};
use crate::ir::sort::sort_by;
use crate::ir::{AttrValue, Dialect, ExprId, Id, Module, Name, Store};
use build::Builder;
use rustc_hash::{FxHashMap, FxHashSet};
use scope::Scopes;

/// An error was found and recorded.
#[derive(Debug)]
struct Stop;

type Read<T> = Result<T, Stop>;

/// The code of a warning about a program that TVM refuses. It is read all the same, because people paste such programs.
pub const REFUSED: &str = "relax-refused";

/// After so many errors the rest of the text is not read.
const MAX_ERRORS: usize = 1000;

struct Reader<'s, 'a> {
    /// The tree that is read: the text's, or that of a string in it.
    tree: &'a Tree<'s>,
    /// Trees of the strings in shapes: `"n + 1"`.
    strings: &'a FxHashMap<Id<Node>, Tree<'s>>,
    /// The place of the string whose tree is read.
    inside: Option<Span>,
    /// True while parameters and the result of a function are read, where extents may be strings.
    in_signature: bool,
    store: &'a mut Store,
    /// Values of names that the text uses and does not have.
    given: &'s [(String, AttrValue)],
    diagnostics: Vec<Diagnostic>,
    module: Module,
    /// Names that mean the module: the class and its aliases.
    module_names: FxHashSet<&'s str>,
    /// Functions that the module has or will have.
    globals: FxHashSet<&'s str>,
    left_out: Vec<Id<Name>>,
    /// Names that `n = TypeVar("n")` has made.
    type_vars: FxHashSet<&'s str>,
    scopes: Scopes<'s>,
    builder: Builder,
    meta: meta::Metadata,
    /// Strings of the metadata section, in order.
    strings_of_metadata: Vec<Id<Name>>,
    /// Hints about old notation that were given, so that each is given once.
    hinted: FxHashSet<&'static str>,
}

/// Reads a program.
pub(super) fn parse(store: &mut Store, source: &str) -> Parsed {
    parse_in(store, source, &[])
}

/// Reads a program among values that names around it have.
pub(super) fn parse_in<'s>(store: &mut Store, source: &'s str, given: &'s [(String, AttrValue)]) -> Parsed {
    read(store, source, given, |reader| reader.file())
}

/// Reads `_ = value`: an expression of the program, in which calls stand inside of each other, or a type.
pub(super) fn expression<'s>(
    store: &mut Store,
    source: &'s str,
    given: &'s [(String, AttrValue)],
) -> (Option<AttrValue>, Vec<Diagnostic>) {
    let mut result = None;
    let parsed = read(store, source, given, |reader| {
        result = reader.lone_value().ok();
        None
    });
    (result, parsed.diagnostics)
}

fn read<'s>(
    store: &mut Store,
    source: &'s str,
    given: &'s [(String, AttrValue)],
    what: impl FnOnce(&mut Reader<'s, '_>) -> Option<ExprId>,
) -> Parsed {
    let (tree, found) = script::parse(source);
    let strings = shape_strings(&tree);
    let mut reader = Reader {
        tree: &tree,
        strings: &strings,
        inside: None,
        in_signature: false,
        store,
        given,
        diagnostics: found,
        module: Module::of(Dialect::Relax),
        module_names: FxHashSet::default(),
        globals: FxHashSet::default(),
        left_out: Vec::new(),
        type_vars: FxHashSet::default(),
        scopes: Scopes::default(),
        builder: Builder::default(),
        meta: meta::Metadata::Missing(FxHashMap::default()),
        strings_of_metadata: Vec::new(),
        hinted: FxHashSet::default(),
    };
    let expr = what(&mut reader);
    let Reader { module, left_out, mut diagnostics, .. } = reader;
    let place = |d: &Diagnostic| d.span.map_or(0, |span| span.start);
    sort_by(&mut diagnostics, |a, b| place(a).cmp(&place(b)));
    diagnostics.truncate(MAX_ERRORS);
    Parsed { program: Program { module, expr, left_out }, diagnostics, choices: Vec::new() }
}

/// Strings among the extents of shapes, read as expressions.
fn shape_strings<'s>(tree: &Tree<'s>) -> FxHashMap<Id<Node>, Tree<'s>> {
    let mut strings = FxHashMap::default();
    for index in 0..tree.len() {
        let (Node::Tuple(items) | Node::List(items)) = tree.expr(Id::from_index(index)) else { continue };
        for &item in tree.items(items) {
            if let Some(std::borrow::Cow::Borrowed(text)) = tree.string(item) {
                let (inner, found) = script::parse(text);
                if found.is_empty() {
                    strings.insert(item, inner);
                }
            }
        }
    }
    strings
}

impl<'s, 'a> Reader<'s, 'a> {
    /// Returns the place of a node of the tree that is read.
    fn span(&self, id: Id<Node>) -> Span {
        self.inside.unwrap_or_else(|| self.tree.span(id))
    }

    #[cold]
    fn error(&mut self, code: &'static str, message: impl Into<String>, span: Span) -> Stop {
        self.diagnostics.push(Diagnostic::error(code, message, span));
        Stop
    }

    #[cold]
    fn error_at(&mut self, code: &'static str, message: impl Into<String>, id: Id<Node>) -> Stop {
        let span = self.span(id);
        self.error(code, message, span)
    }

    /// Reports what is read here, and refused by TVM.
    #[cold]
    fn refused(&mut self, message: impl Into<String>, span: Span) {
        self.diagnostics.push(Diagnostic::warning(REFUSED, message, span));
    }

    /// Reports once that a construct is in the notation of an older TVM.
    fn hint(&mut self, what: &'static str, span: Span) {
        if self.hinted.insert(what) {
            self.diagnostics.push(Diagnostic::warning("relax-old", what, span));
        }
    }

    /// Returns the text of an expression, for messages.
    fn text(&self, id: Id<Node>) -> String {
        super::shorten(self.tree.text(self.tree.span(id)))
    }
}
