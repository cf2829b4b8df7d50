//! Passes written in JavaScript (`www/user`): the engine calls the user's functions, and they call the engine.
//!
//! ```text
//!  session --run--> pass manager --lend--> host function (JavaScript) --> the user's pass
//!                                              ^                              |
//!                                              +---- user_expr, user_build <--+
//! ```
//!
//! While a function of the user runs, the session's memory and the run under way are taken out of the session and lie
//! in [`LENT`], where the exported functions of this module find them; [`lend`] puts them back, also when JavaScript
//! throws. At any other time these functions throw. Every number that comes in is an id that may be anything: it
//! is looked up before it is used, so the worst that a wrong one does is to name another node of the same program.
//!
//! - [`read`]: nodes, types, attributes and constants as packed numbers.
//! - [`build`]: the same back.
//! - [`relax`]: what only Relax has: blocks, extents, types of which not all is known, the builder.
//! - [`analysis`]: questions about programs.
//! - [`dpl`]: patterns, and rewriting by them.
//! - [`op_rules`]: rules that a script registers for operators.
//! - [`table`]: programs as tables, for Python.
//! - [`tools`]: texts, types, equality, values of expressions.
//! - [`run`]: passes and instruments.
//! - [`context`]: contexts, and what passes report.

mod analysis;
mod build;
mod context;
mod dpl;
mod op_rules;
mod own_ops;
mod read;
mod relax;
mod run;
mod table;
mod tools;

pub use analysis::*;
pub use build::*;
pub use context::*;
pub use dpl::*;
pub use op_rules::*;
pub use read::*;
pub use relax::*;
pub use run::*;
pub use table::*;
pub use tools::*;

use crate::boundary::wire::Js;
use crate::diag::LineIndex;
use crate::ir::{Dialect, Expr, ExprId, IdMap, Mark, Module, Rewrite, Store};
use crate::pass::manager::{Registry, Runner};
use crate::words::Worded;
use rustc_hash::FxHashSet;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// The state that the user's code can reach.
struct Lent {
    store: Store,
    /// The dialect of the program: nodes are made as it has them.
    dialect: Dialect,
    /// The run under way; a run of its own while the script is loaded; none while an instrument looks.
    runner: Option<Runner>,
    /// The pass that runs, if one does.
    subject: Option<Subject>,
    /// Since when nodes are products of that pass.
    mark: Mark,
    /// Nodes that JavaScript knows already.
    given: IdMap<Expr, ()>,
}

/// The pass that runs and its function, for the record of nodes that are made meanwhile.
#[derive(Clone, Copy)]
struct Subject {
    /// The name of the pass.
    rule: &'static str,
    /// The function that it looks at; for a module pass one of the module.
    root: ExprId,
}

impl Subject {
    /// A made node that stands for nothing else belongs to the whole.
    fn claim(self) -> Rewrite {
        Rewrite { rule: self.rule, pre: self.root, post: self.root }
    }
}

thread_local! {
    static LENT: Cell<Option<Box<Lent>>> = const { Cell::new(None) };
    /// The one function of JavaScript that the engine calls: `(what, index, words, info)`.
    static HOST: RefCell<Option<js_sys::Function>> = const { RefCell::new(None) };
    /// The depth of nested calls of the user's functions.
    static NESTING: Cell<usize> = const { Cell::new(0) };
    /// A script is being loaded: what it calls are steps of no run.
    static LOADING: Cell<bool> = const { Cell::new(false) };
    /// Something that was lent did not come back.
    static LOST: Cell<bool> = const { Cell::new(false) };
    /// The value of [`Lent::given`] while nothing is lent; JavaScript forgets with every script that is loaded.
    static GIVEN: Cell<IdMap<Expr, ()>> = Cell::new(IdMap::new());
    /// The memory that the script knows things of.
    static MEMORY: Cell<u32> = const { Cell::new(u32::MAX) };
    /// The program that the script is about, to which places refer.
    static SOURCE: RefCell<Rc<(String, LineIndex)>> = RefCell::new(Rc::new((String::new(), LineIndex::new(""))));
    static RULES: RefCell<FxHashSet<&'static str>> = RefCell::new(FxHashSet::default());
}

/// A pass that runs a pass that runs a pass and so on is stopped here, long before the stack ends.
const MAX_NESTING: usize = 24;

/// A session may hold this many nodes; the user's code gets an error before memory ends.
const MAX_NODES: usize = 12_000_000;

/// The number of names of passes that are kept for the rewrite log, which holds them for ever.
const MAX_RULES: usize = 5000;

fn error(message: &str) -> JsValue {
    js_sys::Error::new(message).into()
}

/// Does something with what is lent. It stays a function of this module, which goes to the second half of the engine: what is
/// exported has to stay in the first, with all that is put into it.
#[inline(never)]
fn with<T>(f: impl FnOnce(&mut Lent) -> Js<T>) -> Js<T> {
    let mut lent = LENT.take().ok_or_else(|| error("the program can be reached only while a script is loaded or a pass runs"))?;
    let result = f(&mut lent);
    LENT.set(Some(lent));
    result
}

/// Gives the function that the engine calls for everything of the user's: `(what, index, words, info)`.
#[wasm_bindgen]
pub fn user_host(host: js_sys::Function) {
    HOST.set(Some(host));
}

/// A name for the rewrite log.
fn rule(name: &str) -> &'static str {
    RULES.with_borrow_mut(|rules| match rules.get(name) {
        Some(known) => known,
        None if rules.len() >= MAX_RULES => "user",
        None => {
            let name: &'static str = Box::leak(name.into());
            rules.insert(name);
            name
        }
    })
}

/// The program that the script is about.
fn source() -> Rc<(String, LineIndex)> {
    SOURCE.with_borrow(Rc::clone)
}

/// Calls the host function. The error is what it threw, as text.
fn call_host(call: &HostCall<'_>) -> Result<JsValue, String> {
    let Some(host) = HOST.with_borrow(Clone::clone) else { return Err("there is no host function".to_owned()) };
    let words = js_sys::Uint32Array::from(call.words);
    let args = js_sys::Array::of4(&call.what.into(), &call.index.into(), &words, &call.info);
    host.apply(&JsValue::NULL, &args).map_err(|thrown| thrown_text(&thrown))
}

/// Tells the host when another memory is lent than before, as for a smaller program: what the script knows by number is of the
/// one before.
fn enter_memory(store: &Store) -> Result<(), String> {
    if MEMORY.replace(store.serial()) == store.serial() {
        return Ok(());
    }
    forget_memory();
    let call = HostCall { what: "memory", index: 0, words: &[], info: JsValue::NULL, dialect: Dialect::Relay };
    call_host(&call).map(drop)
}

/// Forgets what was made of the memory that was lent.
fn forget_memory() {
    GIVEN.take();
    relax::forget_builders();
    table::forget_memory();
}

/// Lends `store` and `runner` while the host function is called.
fn lend(
    store: &mut Store,
    runner: Option<&mut Runner>,
    subject: Option<Subject>,
    call: &HostCall<'_>,
) -> Result<JsValue, String> {
    let nesting = NESTING.get();
    if nesting >= MAX_NESTING {
        return Err("passes run each other too deep".to_owned());
    }
    enter_memory(store)?;
    let mut slot = runner;
    let taken = slot.as_mut().map(|runner| std::mem::replace(*runner, Runner::idle()));
    let depth = taken.as_ref().map_or(0, Runner::depth);
    let mark = store.mark();
    let dialect = call.dialect;
    LENT.set(Some(Box::new(Lent { store: std::mem::take(store), dialect, runner: taken, subject, mark, given: GIVEN.take() })));
    NESTING.set(nesting + 1);
    let result = call_host(call);
    NESTING.set(nesting);
    // It is gone when the stack ended inside of the engine. Then nothing of the session is left to go on with.
    let Some(mut lent) = LENT.take() else {
        LOST.set(true);
        return Err("the engine ran out of stack".to_owned());
    };
    let mut left = Ok(());
    if let Some(runner) = &mut lent.runner {
        while runner.depth() > depth && left.is_ok() {
            left = runner.exit();
        }
    }
    GIVEN.set(lent.given);
    *store = lent.store;
    if let (Some(slot), Some(runner)) = (slot, lent.runner) {
        *slot = runner;
    }
    let value = result?;
    left.map_err(|found| found.first().map_or(String::new(), |d| d.message.clone()))?;
    Ok(value)
}

/// Lends the store of a session for as long as its script is loaded.
pub(super) fn lend_for_loading(store: Store, text: &str, clock: fn() -> f64) {
    MEMORY.set(store.serial());
    forget_memory();
    context::forget_keys();
    crate::ops::own::forget();
    SOURCE.set(Rc::new((text.to_owned(), LineIndex::new(text))));
    let dialect = if crate::parse::is_script(text) { Dialect::Relax } else { Dialect::Relay };
    LOADING.set(true);
    let mark = store.mark();
    let registry = Registry::from(crate::passes::ALL).of(dialect);
    let runner = Some(Runner::new(registry, clock, crate::pass::trace::Trace::new(Module::of(dialect))));
    LENT.set(Some(Box::new(Lent { store, dialect, runner, subject: None, mark, given: IdMap::new() })));
}

/// The end of [`lend_for_loading`].
pub(super) fn loaded() -> Option<Store> {
    LOADING.set(false);
    let lent = LENT.take();
    LOST.set(lent.is_none());
    lent.map(|lent| {
        GIVEN.set(lent.given);
        lent.store
    })
}

/// True if a session cannot be used any more, because what was lent of it did not come back.
pub(super) fn is_lost() -> bool {
    LOST.get()
}

/// The arguments of the host function.
struct HostCall<'a> {
    what: &'static str,
    index: u32,
    words: &'a [u32],
    info: JsValue,
    dialect: Dialect,
}

fn thrown_text(thrown: &JsValue) -> String {
    let message = || js_sys::Reflect::get(thrown, &"message".into()).ok()?.as_string();
    thrown.as_string().or_else(message).unwrap_or_else(|| "something that is no error was thrown".to_owned())
}

/// A module as numbers: its dialect, global infos and attributes or 0, functions with their names, type definitions with theirs.
fn module_words(module: &Module) -> Vec<u32> {
    let attrs = |attrs: Option<crate::ir::AttrsId>| attrs.map_or(0, |id| id.index() as u32 + 1);
    let mut words = vec![u32::from(module.dialect() == Dialect::Relax), attrs(module.global_infos()), attrs(module.attrs())];
    words.push(module.functions().len() as u32);
    words.extend(module.functions().iter().flat_map(|(name, function)| [name.index() as u32, function.index() as u32]));
    words.push(module.adts().len() as u32);
    words.extend(module.adts().iter().flat_map(|(name, adt)| [name.index() as u32, adt.index() as u32]));
    words
}

/// Reads numbers in order; what is missing or names nothing is an error.
struct Words<'a> {
    store: &'a Store,
    words: std::slice::Iter<'a, u32>,
}

macro_rules! id_readers {
    ($($name:ident, $at:ident, $id:ty, $what:literal;)*) => {
        $(fn $name(&mut self) -> Js<$id> {
            let index = self.word()?;
            self.store.$at(index as usize).ok_or_else(|| error(concat!("there is no ", $what, " with this id")))
        })*
    };
}

impl<'a> Words<'a> {
    fn new(store: &'a Store, words: &'a [u32]) -> Words<'a> {
        Words { store, words: words.iter() }
    }

    /// A number that stands for a variant.
    fn code<T: Worded>(&mut self) -> Js<T> {
        T::at(self.word()?).ok_or_else(|| error(&format!("this is no number of {}", T::WORDS.name)))
    }

    fn word(&mut self) -> Js<u32> {
        self.words.next().copied().ok_or_else(|| error("the description ends too early"))
    }

    /// A number of things that follow.
    fn count(&mut self) -> Js<usize> {
        let count = self.word()? as usize;
        if count > self.words.len() { Err(error("the description ends too early")) } else { Ok(count) }
    }

    id_readers! {
        expr, expr_at, ExprId, "expression";
        ty, type_at, crate::ir::TypeId, "type";
        name, name_at, crate::ir::Id<crate::ir::Name>, "name";
        attrs, attrs_at, crate::ir::AttrsId, "attribute set";
        pattern, pattern_at, crate::ir::PatternId, "pattern";
        type_var, type_var_at, crate::ir::Id<crate::ir::TypeVar>, "type parameter";
        adt, adt_at, crate::ir::AdtId, "type definition";
        block, block_at, crate::ir::Id<crate::ir::BindingBlock>, "block";
    }

    /// Something or, for 0, nothing: ids are one more than usual here.
    fn maybe<T>(&mut self, at: fn(&Store, usize) -> Option<T>) -> Js<Option<T>> {
        match self.word()? {
            0 => Ok(None),
            id => at(self.store, id as usize - 1).map(Some).ok_or_else(|| error("there is nothing with this id")),
        }
    }

    fn many<T>(&mut self, count: usize, mut read: impl FnMut(&mut Self) -> Js<T>) -> Js<Vec<T>> {
        (0..count).map(|_| read(self)).collect()
    }

    fn rest<T>(&mut self, read: impl FnMut(&mut Self) -> Js<T>) -> Js<Vec<T>> {
        self.many(self.words.len(), read)
    }

    fn var(&mut self) -> Js<crate::ir::VarId> {
        let id = self.expr()?;
        match self.store.expr(id) {
            Expr::Var(var) => Ok(var),
            _ => Err(error("a variable is needed here")),
        }
    }

    fn module(&mut self) -> Js<Module> {
        let mut module = Module::of(if self.word()? == 0 { Dialect::Relay } else { Dialect::Relax });
        module.set_global_infos(self.maybe(Store::attrs_at)?);
        module.set_attrs(self.maybe(Store::attrs_at)?);
        for _ in 0..self.count()? {
            let (name, function) = (self.name()?, self.expr()?);
            if !matches!(self.store.expr(function), Expr::Function(_) | Expr::PrimFunc(_) | Expr::Extern(_)) {
                return Err(error(&format!("@{} must be a function", self.store.str(name))));
            }
            module.set_function(name, function);
        }
        for _ in 0..self.count()? {
            let (name, adt) = (self.name()?, self.adt()?);
            module.set_adt(name, adt);
        }
        Ok(module)
    }
}
