//! Builds a `PrimFunc` from TIR in TVMScript, given as a syntax tree.
//!
//! TVM runs the text as Python and builds the program on the way (`python/tvm/tirx/script`); this reads the tree and
//! has the same effects as those calls: numbers fold, macros are expanded, a block at the top is added, blocks get
//! reads and writes, `x: T.int32 = 1` is memory and `x: T.let[T.int32] = 1` a name.
//!
//! ```text
//!  func --> stmt --> assign, block, scope, macros --> call --> eval --> value
//!    |                                                 +--> buffer, intrin, table
//!    +--> complete: the omitted parts of hand-written blocks
//! ```
//!
//! Texts of older versions of TVM are converted to today's; each kind of old spelling is reported once (`old`).
//!
//! An error is recorded where it is found; the statement is left out and with it the function, but the following
//! statements are read all the same. The call stack grows with blocks, brackets and macros, whose depth is limited.

mod assign;
mod block;
mod buffer;
mod call;
mod complete;
mod dict;
mod eval;
mod flat;
mod func;
mod given;
mod intrin;
mod macros;
mod method;
mod old;
mod scope;
mod stmt;
mod table;
#[cfg(test)]
mod tests;
mod value;

use super::script::tree::{Def, Expr as Node, Tree};
use super::suggest;
use crate::diag::{Diagnostic, Span};
use crate::ir::{AttrNode, AttrValue, Buffer, DType, Id, Name, PrimFunc, PrimId, Stmt, StmtId, Store, Symbol};
use block::Open;
pub(super) use intrin::{DEVICE_DIALECT, INSTEAD_OF_DEVICES};
pub(super) use macros::is_macro;
use rustc_hash::{FxHashMap, FxHashSet};
use value::Value;

/// An error was found and recorded.
#[derive(Debug)]
struct Stop;

type Read<T> = Result<T, Stop>;

/// The context of the functions of a text.
#[derive(Clone, Copy)]
pub(super) struct Around<'a, 's> {
    /// Names that mean the module: the class and its aliases.
    pub(super) modules: &'a FxHashSet<&'s str>,
    /// Names that `n = TypeVar("n")` has made.
    pub(super) type_vars: &'a FxHashSet<&'s str>,
    /// Strings of the metadata section, in order.
    pub(super) strings: &'a [Id<Name>],
    /// Values of names that the text uses and does not have.
    pub(super) given: &'s [(String, AttrValue)],
}

/// An attribute that holds for all following statements in its frame: `T.attr(...)`, `T.launch_thread(...)`.
struct Holding {
    node: AttrNode,
    key: Id<Name>,
    value: PrimId,
    /// The number of statements before it.
    from: usize,
}

/// The construct that opens a frame of TVM's builder.
enum FrameKind {
    Func,
    Block(Box<Open>),
    /// Loops with their variables and ranges.
    Loops(Vec<(Id<Symbol>, PrimId, PrimId)>),
    /// A branch, a `with`, the init of a block.
    Other,
}

/// A frame of TVM's builder: statements that are being collected.
struct Frame {
    kind: FrameKind,
    stmts: Vec<StmtId>,
    holding: Vec<Holding>,
}

/// The state of the function under way.
#[derive(Default)]
struct State {
    /// Names in scope: for each its values with the depth of their scopes, the last meaning last.
    names: FxHashMap<String, Vec<(usize, Value)>>,
    /// The names in the order in which they were given values, and how many there were when each scope was opened.
    given: Vec<String>,
    scopes: Vec<usize>,
    frames: Vec<Frame>,
    /// The place of the statement under way.
    here: Option<Span>,
    /// Symbolic variables that quoted shapes have made.
    matched: FxHashSet<Id<Symbol>>,
    /// Types of the scalar parameters, and of declarations in the body (`n = T.int32()`).
    scalars: FxHashMap<String, DType>,
    /// The variables of `T.env_thread`, with their tags.
    threads: FxHashMap<Id<Symbol>, Id<Name>>,
    /// Variables that a pragma is about: a loop of that name that follows is the one that was meant. LowerOpaqueBlock leaves such
    /// programs behind, which TVM prints so and does not read.
    hinted: FxHashSet<Id<Symbol>>,
    /// Buffers that a block names before it allocates them (`A = T.Buffer(...)`).
    announced: FxHashSet<Id<Buffer>>,
    /// Buffers that were named before their declaration, with the declared ones. MakePackedAPI makes such programs.
    declared: Vec<(Id<Buffer>, Id<Buffer>)>,
    /// Buffers that are allocated at the top, in the implicit block.
    root: Vec<Id<Buffer>>,
    /// Attributes that `T.func_attr` gave.
    attrs: Vec<(Id<Name>, crate::ir::AttrValue)>,
    /// True if the function is `s_tir`: its buffers have no declared layout.
    s_tir: bool,
    /// True if it is never called from outside of the module.
    private: bool,
    /// True unless the text has older spellings: then it is read as strictly as TVM does.
    strict: bool,
    /// The name for the next object.
    hint: Option<String>,
    /// Parameters of the function.
    params: Vec<crate::ir::PrimParam>,
    /// Handles that turned out to be buffers.
    handles: FxHashMap<Id<Symbol>, Id<Buffer>>,
    /// Buffers that old texts use as pointers, too: `T.allocate`.
    pointers: FxHashSet<Id<Buffer>>,
    /// The suffix of the names of blocks in a macro that is used again.
    suffix: String,
    /// The number of uses of each macro, and the nesting depth of macros and lambdas.
    uses: FxHashMap<Id<Def>, usize>,
    depth: usize,
    /// The number of statements and calls read so far; macros may multiply.
    work: usize,
    failed: bool,
}

struct Reader<'t, 's, 'a> {
    /// The tree that is read: the text's, or that of a string in it.
    tree: &'t Tree<'s>,
    /// The place of the string whose tree is read.
    inside: Option<Span>,
    store: &'a mut Store,
    diagnostics: &'a mut Vec<Diagnostic>,
    around: Around<'a, 's>,
    state: State,
}

/// True if a function is decorated with `@T.prim_func`.
pub(super) fn is_prim_func(tree: &Tree<'_>, def: &Def) -> bool {
    let names = tree.items(def.decorators).iter().filter_map(|id| decorator(tree, *id));
    names.into_iter().any(|name| {
        name.ends_with("prim_func") || matches!(name, "tvm.script.tir" | "script.tir" | "tir.script" | "tvm.tir.script")
    })
}

/// Returns the name of a decorator, called or not.
fn decorator<'s>(tree: &Tree<'s>, id: Id<Node>) -> Option<&'s str> {
    match tree.expr(id) {
        Node::Call { callee, .. } => tree.dotted(callee),
        _ => tree.dotted(id),
    }
}

/// Reads one function; nothing after an error in it, which is reported.
pub(super) fn function<'s>(
    store: &mut Store,
    tree: &Tree<'s>,
    def: &Def,
    around: Around<'_, 's>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Id<PrimFunc>> {
    let state = State { failed: def.broken, ..State::default() };
    let mut reader = Reader { tree, inside: None, store, diagnostics, around, state };
    let func = reader.function(def).ok()?;
    if reader.state.failed { None } else { Some(store.add_prim_func(func)) }
}

impl<'t, 's> Reader<'t, 's, '_> {
    /// Returns the place of a node of the tree that is read.
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
        self.state.failed = true;
        self.diagnostics.push(Diagnostic::error(code, message, span));
        Stop
    }

    fn open_scope(&mut self) {
        self.state.scopes.push(self.state.given.len());
    }

    /// Forgets the names that were given in the scope.
    fn close_scope(&mut self) {
        let mark = self.state.scopes.pop().unwrap_or(0);
        for name in self.state.given.split_off(mark) {
            if let Some(values) = self.state.names.get_mut(&name) {
                values.pop();
            }
        }
    }

    /// Gives a name a value until the scope is closed.
    fn give(&mut self, name: &str, value: Value) {
        let depth = self.state.scopes.len();
        self.state.names.entry(name.to_owned()).or_default().push((depth, value));
        self.state.given.push(name.to_owned());
    }

    /// Gives a name a value as an assignment does: a name has one value in a scope.
    fn define(&mut self, name: &str, value: Value, at: Id<Node>) -> Read<()> {
        let depth = self.state.scopes.len();
        if let Some((known, old)) = self.state.names.get(name).and_then(|values| values.last()) {
            if old.is_same(&value) {
                return Ok(());
            }
            if *known == depth && self.state.strict {
                return Err(self.error("tir-redefined", format!("Variable {name} already defined in current scope"), at));
            }
        }
        self.give(name, value);
        Ok(())
    }

    fn meaning(&self, name: &str) -> Option<&Value> {
        self.state.names.get(name)?.last().map(|(_, value)| value)
    }

    /// Reports an unknown name, with the likely one.
    #[cold]
    fn unknown(&mut self, name: &str, at: Id<Node>) -> Stop {
        let known = self.state.names.iter().filter(|(_, values)| !values.is_empty()).map(|(name, _)| name.as_str());
        let near = suggest::nearest(name, known).map(|near| format!("did you mean `{near}`?"));
        let mut error = Diagnostic::error("tir-undefined", format!("Undefined variable: {name}"), self.span(at));
        if let Some(near) = near {
            error = error.with_note(near);
        }
        self.state.failed = true;
        // Names that a device kernel defines are unknown, and its dialect has been reported.
        if !self.diagnostics.iter().any(|found| found.code == "tir-device-dialect") {
            self.diagnostics.push(error);
        }
        Stop
    }

    fn new_symbol(&mut self, name: &str, dtype: DType) -> Id<Symbol> {
        let name = self.store.name(name);
        self.store.add_symbol(Symbol { name, dtype, size: false })
    }

    /// Returns the name behind `T.`, which people also write `tir.` or `tirx.`.
    fn intrinsic(&self, id: Id<Node>) -> Option<&'s str> {
        let dotted = self.tree.dotted(id)?;
        let (head, rest) = dotted.split_once('.')?;
        if self.meaning(head).is_some() {
            return None;
        }
        match head {
            "T" | "tir" | "tirx" | "Tx" | "ty" => Some(rest),
            "tvm" if rest == "target.Target" => Some("target"),
            "tvm" => ["tirx.", "tir.", "script.tirx.", "script.tir."].into_iter().find_map(|prefix| rest.strip_prefix(prefix)),
            _ => None,
        }
    }

    fn name_of(&mut self, text: &str) -> Id<Name> {
        self.store.name(text)
    }

    fn open_frame(&mut self, kind: FrameKind) {
        self.state.frames.push(Frame { kind, stmts: Vec::new(), holding: Vec::new() });
    }

    /// Returns the statements of the innermost frame as one, and the construct that opened it.
    fn close_frame(&mut self) -> (StmtId, FrameKind) {
        let Some(Frame { kind, mut stmts, mut holding }) = self.state.frames.pop() else {
            return (self.store.add_stmts(&[]), FrameKind::Other);
        };
        while let Some(Holding { node, key, value, from }) = holding.pop() {
            let rest = stmts.split_off(from);
            let body = self.sequence(&rest);
            stmts.push(self.add(Stmt::Attr { node, key, value, body }));
        }
        (self.sequence(&stmts), kind)
    }

    /// Joins statements; drops no-ops unless nothing else is left (TVM's `SeqStmt::Flatten`). No statement at all is a no-op.
    fn sequence(&mut self, stmts: &[StmtId]) -> StmtId {
        let zero = |store: &Store, id: &StmtId| match store.stmt(*id) {
            Stmt::Evaluate(value) => store.as_prim_int(*value) == Some(0),
            _ => false,
        };
        let kept: Vec<StmtId> = stmts.iter().copied().filter(|id| !zero(self.store, id)).collect();
        match (&kept[..], stmts) {
            ([], _) => {
                let nothing = self.store.prim_int(0, DType::I32);
                match stmts.first().map(|first| (*first, self.store.stmt(*first))) {
                    Some((first, Stmt::Evaluate(value))) if *value == nothing => first,
                    _ => self.add(Stmt::Evaluate(nothing)),
                }
            }
            _ => self.store.add_stmts(&kept),
        }
    }

    /// Adds a statement to the innermost frame.
    fn push(&mut self, stmt: Stmt) {
        let id = self.add(stmt);
        self.push_id(id);
    }

    /// Makes a statement that comes of the one under way.
    fn add(&mut self, stmt: Stmt) -> StmtId {
        let id = self.store.add_stmt(stmt);
        self.place(id);
        id
    }

    /// Records where a statement comes from.
    fn place(&mut self, id: StmtId) {
        if let Some(span) = self.state.here {
            self.store.set_stmt_span(id, span);
        }
    }

    fn push_id(&mut self, id: StmtId) {
        self.place(id);
        if let Some(frame) = self.state.frames.last_mut() {
            frame.stmts.push(id);
        }
    }

    /// Adds an attribute for all further statements of the innermost frame.
    fn hold(&mut self, node: AttrNode, key: Id<Name>, value: PrimId) {
        if let Some(frame) = self.state.frames.last_mut() {
            frame.holding.push(Holding { node, key, value, from: frame.stmts.len() });
        }
    }

    /// Counts statements and calls; macros that use macros may expand a short text a lot.
    fn count(&mut self, at: Id<Node>) -> Read<()> {
        const MOST: usize = 2_000_000;
        self.state.work += 1;
        if self.state.work == MOST {
            return Err(self.error("tir-too-large", "with its macros written out this function is too large", at));
        }
        if self.state.work > MOST { Err(Stop) } else { Ok(()) }
    }
}
