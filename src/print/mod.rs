//! Programs as text, exactly as TVM prints them (`src/relay/printer/`), or with numbers and names that
//! stay the same from one version of a program to the next. Relax and TIR print as TVMScript, see
//! [`relax`]; the rest of this text is about Relay.
//!
//! TVM's printer decides while it prints: a node gets its number when the first node that uses it is
//! printed, a variable its name when it is bound, a constant its index in the metadata section at its
//! first use. So there are two walks here. [`plan`] visits the program in TVM's order and makes all these
//! decisions; [`emit`] writes the text in its own order, each character once. Neither uses the call stack
//! for nesting, and both are linear.

mod emit;
mod meta;
pub(crate) mod metadata;
mod names;
mod plan;
mod relax;
mod script;
mod tir;
mod value;
pub(crate) mod words;

use crate::ir::{Buffer, Dialect, Expr, ExprId, Id, Module, PrimExpr, PrimId, Store, Symbol, Tensor, TypeId};
use emit::Emitter;
use plan::Plan;
use rustc_hash::{FxHashMap, FxHashSet};

pub use names::Naming;

/// The source of the numbers of temporaries and the names of variables.
#[derive(Clone, Copy, Default)]
pub enum Numbering<'n> {
    /// Numbers are those of TVM: the text is equal to TVM's byte for byte.
    #[default]
    Exact,
    /// By the origin of a node: a binding keeps its number, and a variable its name, in every version of
    /// a run.
    Stable(&'n Naming),
}

/// The contents of the text.
#[derive(Clone, Copy)]
pub struct PrintOptions<'n> {
    /// The source of numbers and names.
    pub numbering: Numbering<'n>,
    /// Inferred types as comments: `/* ty=Tensor[(1, 3), float32] */`.
    pub types: bool,
    /// The `#[metadata]` section, where something refers to it.
    pub metadata: bool,
    /// The line `#[version = "0.0.5"]`.
    pub header: bool,
    /// Declarations of what an expression of Relax outside of functions uses; statements have them in any case.
    pub verbose: bool,
    /// Short forms of TIR: `T.grid`, `T.axis.remap`, a root block that is only a comment.
    pub sugar: bool,
    /// Types of variables of Relax also where they follow from the value.
    pub all_types: bool,
    /// Parts of TIR that stand between [`MARK`] and [`MARK_END`].
    pub marks: Option<&'n Marks>,
    /// Texts that stand in the comments of nodes of Relay besides their types.
    pub notes: Option<&'n Notes>,
}

/// Texts for the comments of nodes of Relay.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// The text of a node.
    pub texts: FxHashMap<ExprId, String>,
    /// True if the texts stand instead of the comments.
    pub alone: bool,
}

/// The character before a marked part of a text.
pub const MARK: &str = "\u{1}";
/// The character behind a marked part of a text.
pub const MARK_END: &str = "\u{2}";

/// The parts of programs of TIR whose places in the text are asked for.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Statements and functions.
    pub nodes: FxHashSet<ExprId>,
    /// Scalar expressions.
    pub prims: FxHashSet<PrimId>,
    /// Variables, in each of their uses.
    pub symbols: FxHashSet<Id<Symbol>>,
    /// Buffers, in each of their uses.
    pub buffers: FxHashSet<Id<Buffer>>,
}

impl Marks {
    /// True if an expression is marked, or is a variable that is.
    fn has(&self, store: &Store, id: PrimId) -> bool {
        self.prims.contains(&id) || matches!(store.prim_of_id(id), PrimExpr::Var(symbol) if self.symbols.contains(symbol))
    }
}

impl Default for PrintOptions<'_> {
    /// TVM's `astext()`.
    fn default() -> Self {
        PrintOptions {
            numbering: Numbering::Exact,
            types: true,
            metadata: true,
            header: true,
            verbose: false,
            sugar: true,
            all_types: true,
            marks: None,
            notes: None,
        }
    }
}

/// The role of a line of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineRole {
    /// The version header.
    Header,
    /// An empty line between definitions.
    Blank,
    /// The first line of a function or type definition.
    Definition,
    /// A constructor in a type definition.
    Constructor,
    /// `%0 = ...;`, or its first line.
    Binding,
    /// A further line of a statement of TIR: the reads of a block, or its variables.
    Detail,
    /// `let %x = ...;`, or its first line.
    Let,
    /// `free_var %x;`
    FreeVar,
    /// The value of a scope, or its first line.
    Result,
    /// The first line of an arm of a match.
    Arm,
    /// The last line of a construct with braces or parentheses, also `} else {`.
    Close,
    /// A line of the metadata section.
    Metadata,
}

/// The contents of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineInfo {
    /// Offset of its first byte.
    pub start: u32,
    /// Its role.
    pub role: LineRole,
    /// The node it binds, prints or closes; for a definition the function.
    pub node: Option<ExprId>,
}

/// A thing that a text has a name for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// The value that the node of the defining line makes: a binding or a let.
    Line,
    /// A node: the use of a parameter, a value that Relay numbers.
    Node(ExprId),
    /// A symbolic or scalar variable.
    Symbol(Id<Symbol>),
    /// A buffer.
    Buffer(Id<Buffer>),
}

/// A name, and the lines in which it means one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameInfo {
    /// The name, in Relay with its sign.
    pub text: Box<str>,
    /// The line that defines it, from 0.
    pub line: u32,
    /// The line behind the last one in which it is known.
    pub end: u32,
    /// The thing that it names.
    pub thing: Named,
}

/// A text with the roles of its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// One entry for each line. A text that ends with a newline has no empty line after it.
    pub lines: Vec<LineInfo>,
    /// The names that it defines, in the order of their definitions.
    pub names: Vec<NameInfo>,
}

impl Printed {
    /// Returns what a word in a line means: a name, or a part of one (`%t.0`, `A.data`).
    pub fn name_at(&self, line: usize, word: &str) -> Option<&NameInfo> {
        let is_of = |name: &NameInfo| word.strip_prefix(&*name.text).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let known = |name: &NameInfo| (name.line..name.end).contains(&(line as u32));
        self.names.iter().rev().find(|name| known(name) && is_of(name))
    }

    /// Returns the names in a line, each once, from left to right.
    pub fn names_in(&self, line: usize) -> Vec<&NameInfo> {
        let mut names: Vec<&NameInfo> = Vec::new();
        for word in words::words(self.line(line)) {
            if let Some(name) = self.name_at(line, word)
                && !names.iter().any(|known| known.text == name.text)
            {
                names.push(name);
            }
        }
        names
    }

    /// Returns the node that a name stands for. Symbols and buffers stand for the statement that defines them.
    pub fn node_of(&self, name: &NameInfo) -> Option<ExprId> {
        match name.thing {
            Named::Node(node) => Some(node),
            _ => self.lines.get(name.line as usize)?.node,
        }
    }

    /// The text of a line, from 0, without its line end.
    pub fn line(&self, index: usize) -> &str {
        let end = self.lines.get(index + 1).map_or(self.text.len(), |next| next.start as usize);
        self.text[self.lines[index].start as usize..end].trim_end_matches('\n')
    }
}

/// Prints a module: TVM's `astext()`.
pub fn module(store: &Store, module: &Module, options: &PrintOptions) -> String {
    module_lines(store, module, options).text
}

/// Prints a module, with the node of each line.
pub fn module_lines(store: &Store, module: &Module, options: &PrintOptions) -> Printed {
    if module.dialect() == Dialect::Relax {
        return relax::module(store, module, options);
    }
    let plan = Plan::of_module(store, module, options);
    let mut emitter = Emitter::new(&plan);
    emitter.module(module);
    emitter.finish()
}

/// Prints an expression; its free variables are declared by `free_var` lines.
pub fn expr(store: &Store, root: ExprId, options: &PrintOptions) -> String {
    expr_lines(store, root, options).text
}

/// Prints an expression, with the node of each line.
pub fn expr_lines(store: &Store, root: ExprId, options: &PrintOptions) -> Printed {
    let is_relax = store.as_function(root).is_some_and(|function| matches!(store.expr(function.body), Expr::Seq { .. }));
    if is_relax || matches!(store.expr(root), Expr::PrimFunc(_)) {
        return relax::expr(store, root, options);
    }
    let plan = Plan::of_expr(store, root, options);
    let mut emitter = Emitter::new(&plan);
    emitter.root();
    emitter.finish()
}

/// Prints a constant that has a literal.
pub fn scalar(tensor: &Tensor) -> Option<String> {
    value::scalar_text(tensor)
}

/// Prints any expression as in Relax.
pub fn relax_expr(store: &Store, root: ExprId, options: &PrintOptions) -> String {
    relax::expr(store, root, options).text
}

/// Prints a type as in Relax.
pub fn relax_ty(store: &Store, ty: TypeId) -> String {
    relax::ty(store, ty)
}

/// Prints a type of Relax as TVM's `script()` of it, behind declarations of its symbolic variables if `declares`.
pub fn alone_relax_ty(store: &Store, ty: TypeId, declares: bool) -> String {
    relax::alone_ty(store, ty, declares)
}

/// Prints a type.
pub fn ty(store: &Store, ty: TypeId) -> String {
    let plan = Plan::of_type(store, ty);
    let mut emitter = Emitter::new(&plan);
    emitter.ty(ty);
    emitter.finish().text
}

#[cfg(test)]
mod tests;
