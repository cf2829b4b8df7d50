//! Functions of TIR as TVMScript: from the syntax tree to a `PrimFunc`.
//!
//! TVM runs the text as Python and builds the program on the way (`python/tvm/tirx/script`); this reads the
//! tree and does what those calls do: numbers fold, a block at the top goes without saying, `x: T.int32 = 1`
//! is memory and `x: T.let[T.int32] = 1` a name.
//!
//! ```text
//!  func --> stmt --> block, loops --> buffer --> expr
//! ```
//!
//! An error is recorded where it is found; the statement is left out and with it the function, but what follows
//! is read all the same. The call stack grows with blocks and brackets, whose depth the tree limits.

mod attrs;
mod block;
mod buffer;
mod call;
mod expr;
mod func;
mod scope;
mod stmt;
#[cfg(test)]
mod tests;

use super::script::tree::{Def, Expr as Node, StmtKind, Tree};
use super::suggest;
use crate::diag::{Diagnostic, Span};
use crate::ir::{Buffer, Id, Name, PrimFunc, PrimId, Store, Symbol};
use block::Open;
use rustc_hash::{FxHashMap, FxHashSet};

/// An error was found and recorded.
#[derive(Debug)]
struct Stop;

type Read<T> = Result<T, Stop>;

/// What stands around the functions of a text.
#[derive(Clone, Copy)]
pub(super) struct Around<'a, 's> {
    /// Names that mean the module: the class and its aliases.
    pub(super) modules: &'a FxHashSet<&'s str>,
    /// Names that `n = TypeVar("n")` has made.
    pub(super) type_vars: &'a FxHashSet<&'s str>,
}

/// What a name means.
#[derive(Clone, Copy)]
enum Meaning {
    Symbol(Id<Symbol>),
    Buffer(Id<Buffer>),
    /// The module.
    Module,
}

struct Reader<'t, 's, 'a> {
    /// The tree that is read: the text's, or that of a string in it.
    tree: &'t Tree<'s>,
    /// The place of the string whose tree is read.
    inside: Option<Span>,
    store: &'a mut Store,
    diagnostics: &'a mut Vec<Diagnostic>,
    around: Around<'a, 's>,
    /// Names in scope, the last meaning last, and the names in the order in which they were given meanings.
    names: FxHashMap<String, Vec<Meaning>>,
    given: Vec<String>,
    /// Symbolic variables that quoted shapes have made.
    matched: FxHashSet<Id<Symbol>>,
    /// Types of the scalar parameters, and of what the body declares (`n = T.int32()`).
    scalars: FxHashMap<&'s str, crate::ir::DType>,
    /// The ranges of the loops around.
    loops: FxHashMap<Id<Symbol>, (PrimId, PrimId)>,
    /// Buffers that a block names before it allocates them (`A = T.Buffer(...)`).
    announced: FxHashSet<Id<Buffer>>,
    /// The block whose head is read.
    block: Option<Open>,
    /// Buffers that are allocated at the top, in the block that goes without saying.
    root: Vec<Id<Buffer>>,
    /// Whether the function is `s_tir`: buffers say nothing of their layout then.
    s_tir: bool,
    failed: bool,
}

/// Whether a function is decorated with `@T.prim_func`.
pub(super) fn is_prim_func(tree: &Tree<'_>, def: &Def) -> bool {
    tree.items(def.decorators).iter().any(|id| decorator(tree, *id).is_some_and(|name| name.ends_with("prim_func")))
}

/// The name of a decorator, called or not.
fn decorator<'s>(tree: &Tree<'s>, id: Id<Node>) -> Option<&'s str> {
    match tree.expr(id) {
        Node::Call { callee, .. } => tree.dotted(callee),
        _ => tree.dotted(id),
    }
}

/// Reads one function; nothing when something in it is wrong, which is reported.
pub(super) fn function<'s>(
    store: &mut Store,
    tree: &Tree<'s>,
    def: &Def,
    around: Around<'_, 's>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Id<PrimFunc>> {
    let mut reader = Reader {
        tree,
        inside: None,
        store,
        diagnostics,
        around,
        names: FxHashMap::default(),
        given: Vec::new(),
        matched: FxHashSet::default(),
        scalars: FxHashMap::default(),
        loops: FxHashMap::default(),
        announced: FxHashSet::default(),
        block: None,
        root: Vec::new(),
        s_tir: false,
        failed: def.broken,
    };
    let func = reader.function(def).ok()?;
    if reader.failed { None } else { Some(store.add_prim_func(func)) }
}

impl<'t, 's> Reader<'t, 's, '_> {
    /// The place of a node of the tree that is read.
    fn span(&self, id: Id<Node>) -> Span {
        self.inside.unwrap_or_else(|| self.tree.span(id))
    }

    #[cold]
    fn error(&mut self, code: &'static str, message: impl Into<String>, at: Id<Node>) -> Stop {
        let span = self.span(at);
        self.error_at(code, message, span)
    }

    #[cold]
    fn error_at(&mut self, code: &'static str, message: impl Into<String>, span: Span) -> Stop {
        self.failed = true;
        self.diagnostics.push(Diagnostic::error(code, message, span));
        Stop
    }

    /// Gives a name a meaning until the scope is closed.
    fn give(&mut self, name: &str, meaning: Meaning) {
        self.names.entry(name.to_owned()).or_default().push(meaning);
        self.given.push(name.to_owned());
    }

    fn meaning(&self, name: &str) -> Option<Meaning> {
        self.names.get(name)?.last().copied()
    }

    /// Forgets the names that were given since there were `mark` of them.
    fn close(&mut self, mark: usize) {
        for name in self.given.drain(mark..) {
            if let Some(meanings) = self.names.get_mut(&name) {
                meanings.pop();
            }
        }
    }

    /// A name that means nothing, and what was perhaps meant.
    #[cold]
    fn unknown(&mut self, name: &str, at: Id<Node>) -> Stop {
        let known = self.names.iter().filter(|(_, m)| !m.is_empty()).map(|(name, _)| name.as_str());
        let near = suggest::nearest(name, known).map(|near| format!("did you mean `{near}`?"));
        let mut error = Diagnostic::error("tir-undefined", format!("undefined variable `{name}`"), self.span(at));
        if let Some(near) = near {
            error = error.with_note(near);
        }
        self.failed = true;
        self.diagnostics.push(error);
        Stop
    }

    fn new_symbol(&mut self, name: &str, dtype: crate::ir::DType) -> Id<Symbol> {
        let name = self.store.name(name);
        self.store.add_symbol(Symbol { name, dtype, size: false })
    }

    /// The name behind `T.`, which people also write `tir.` or `tirx.`.
    fn intrinsic(&self, id: Id<Node>) -> Option<&'s str> {
        let dotted = self.tree.dotted(id)?;
        let (head, rest) = dotted.split_once('.')?;
        match head {
            "T" | "tir" | "tirx" | "Tx" => Some(rest),
            "tvm" => rest.strip_prefix("tirx.").or(rest.strip_prefix("tir.")).or(rest.strip_prefix("script.tirx.")),
            _ => None,
        }
    }

    fn name_of(&mut self, text: &str) -> Id<Name> {
        self.store.name(text)
    }
}
