//! Text to programs.
//!
//! [`parse`] never fails and never panics: it returns what could be built and *every* problem with
//! its place. It does not infer types.

mod lex;
mod number;
mod relay;
mod suggest;

use crate::diag::Diagnostic;
use crate::ir::{ExprId, Id, Module, Name, Store, TypeId};

/// What a text says.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its definitions. A function or type with an error in it is left out.
    pub module: Module,
    /// A bare expression (TVM's `parse_expr`), when the text has no definitions.
    pub expr: Option<ExprId>,
    /// Names of the functions that were left out, so that their callers need no further error.
    pub left_out: Vec<Id<Name>>,
}

/// A program and what is wrong with its text.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// What could be built.
    pub program: Program,
    /// All problems, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// Whether the text is wrong.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Reads a program in Relay's text format, as TVM's `src/relay/parser/parser.cc` does, and also
/// what TVM prints and cannot read back: `ref(T)` and generic function types, `nanf`, escapes in
/// strings, a match as an operand, names with dots and dashes, and texts without their metadata
/// section.
pub fn parse(store: &mut Store, source: &str) -> Parsed {
    relay::parse(store, source)
}

/// Reads a type, such as `fn (Tensor[(?, 10), float32]) -> bool`.
pub fn parse_type(store: &mut Store, source: &str) -> Result<TypeId, Vec<Diagnostic>> {
    relay::parse_type(store, source)
}
