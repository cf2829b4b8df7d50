//! The parser of Relay's text format: one token at a time, no backtracking.
//!
//! ```text
//!  lex --> module --> expr --> call, attrs
//!             |         |
//!           types    pattern        meta: the `#[metadata]` section, read when it is first needed
//! ```
//!
//! The call stack grows only with brackets (and with the result types of function types), and
//! those nest at most [`MAX_DEPTH`] deep. Everything that may be long in a program is a loop.
//!
//! An error is recorded where it is found and the function returns [`Stop`]; a caller that can go on
//! catches it: after a `;` of the same block, after the block's `}`, at the next definition.

mod attrs;
mod call;
mod expr;
mod meta;
mod module;
mod names;
mod ndarray;
mod pattern;
mod scope;
pub(super) mod section;
mod token;
mod types;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_meta;

use super::Parsed;
use super::lex::{Kind, Lexer, Token};
use crate::diag::{Diagnostic, LineIndex, Span};
use crate::ir::sort::sort_by;
use crate::ir::{AttrsId, CtorId, ExprId, Id, Name, OpId, Store, TypeId, TypeVar, VarId};
use meta::Metadata;
use rustc_hash::FxHashMap;
use scope::Scopes;
use std::rc::Rc;
use token::Bracket;

/// The greatest nesting depth of brackets.
const MAX_DEPTH: usize = 256;

/// After so many errors the rest of the text is not read.
const MAX_ERRORS: usize = 1000;

/// An error was found and recorded.
#[derive(Debug)]
struct Stop;

type Parse<T> = Result<T, Stop>;

/// The value of `%n`.
#[derive(Clone, Copy)]
struct GraphVar {
    value: ExprId,
    /// Number of the definition that it stands in: other definitions see it too.
    definition: u32,
}

struct Parser<'s, 'a> {
    store: &'a mut Store,
    lexer: Lexer<'s>,
    /// The token under the cursor; `lexer` stands right behind it.
    cur: Token,
    /// The end of the last token.
    prev_end: u32,
    brackets: Vec<Bracket>,
    /// Nesting that has no brackets: results of function types.
    nesting: usize,
    diagnostics: Vec<Diagnostic>,
    /// Made when a message first names a line.
    lines: Option<LineIndex>,
    n_errors: usize,
    /// The definition under way has an error and is left out.
    broken: bool,
    /// Stands for an expression that could not be read.
    poison: Option<ExprId>,

    vars: Scopes<'s, VarId>,
    type_vars: Scopes<'s, Id<TypeVar>>,
    graph: FxHashMap<u32, GraphVar>,
    ctors: FxHashMap<&'s str, CtorId>,
    /// A type definition could not be read: its constructors are not known.
    lost_ctors: bool,
    /// Number of the definition under way.
    definition: u32,
    /// True if it uses a name from outside, so it must be searched for free variables.
    uses_foreign: bool,
    /// Some variable has a name with dots or dashes.
    odd_names: bool,

    names: FxHashMap<&'s str, Id<Name>>,
    /// Types and attributes that were read before, by their text.
    known_types: FxHashMap<&'s str, TypeId>,
    known_attrs: FxHashMap<(OpId, &'s str), Option<AttrsId>>,
    scalar_shape: Rc<[i64]>,
    /// Expressions collected for lists under way.
    stack: Vec<ExprId>,
    meta: Metadata,
}

impl<'s, 'a> Parser<'s, 'a> {
    fn new(store: &'a mut Store, source: &'s str) -> Parser<'s, 'a> {
        let mut lexer = Lexer::new(source);
        let cur = lexer.next();
        Parser {
            store,
            lexer,
            cur,
            prev_end: 0,
            brackets: Vec::new(),
            nesting: 0,
            diagnostics: Vec::new(),
            lines: None,
            n_errors: 0,
            broken: false,
            poison: None,
            vars: Scopes::new(),
            type_vars: Scopes::new(),
            graph: FxHashMap::default(),
            ctors: FxHashMap::default(),
            lost_ctors: false,
            definition: 0,
            uses_foreign: false,
            odd_names: false,
            names: FxHashMap::default(),
            known_types: FxHashMap::default(),
            known_attrs: FxHashMap::default(),
            scalar_shape: Rc::from([]),
            stack: Vec::new(),
            meta: Metadata::Unread,
        }
    }

    /// Interns a name of the text.
    fn name(&mut self, text: &'s str) -> Id<Name> {
        if let Some(&id) = self.names.get(text) {
            return id;
        }
        let id = self.store.name(text);
        self.names.insert(text, id);
        id
    }

    /// Returns a placeholder for an expression with an error.
    fn poison(&mut self) -> ExprId {
        self.broken = true;
        match self.poison {
            Some(id) => id,
            None => {
                let id = self.store.add_tuple(&[]);
                self.poison = Some(id);
                id
            }
        }
    }

    /// Returns the place from `start` to the last token.
    fn span_from(&self, start: u32) -> Span {
        Span { start, end: self.prev_end.max(start) }
    }
}

pub(super) fn parse(store: &mut Store, source: &str) -> Parsed {
    if u32::try_from(source.len()).is_err() {
        let error = Diagnostic::error("relay-too-deep", "the text is longer than 4 GB", None);
        return Parsed { diagnostics: vec![error], ..Parsed::default() };
    }
    let mut parser = Parser::new(store, source);
    let program = parser.program();
    parser.finish();
    let mut diagnostics = parser.diagnostics;
    let place = |d: &Diagnostic| d.span.map_or(0, |s| s.start);
    sort_by(&mut diagnostics, |a, b| place(a).cmp(&place(b)));
    Parsed { program, diagnostics, choices: Vec::new() }
}

pub(super) fn parse_type(store: &mut Store, source: &str) -> Result<TypeId, Vec<Diagnostic>> {
    let mut parser = Parser::new(store, source);
    let ty = parser.ty();
    let ty = ty.and_then(|ty| if parser.cur.kind == Kind::Eof { Ok(ty) } else { Err(parser.unexpected("the end of the type")) });
    parser.finish();
    ty.map_err(|Stop| parser.diagnostics)
}
