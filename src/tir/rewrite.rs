//! Rewrites functions of TIR by functional update: [`crate::ir::rewrite`] for statements and their expressions.
//!
//! TVM's `StmtExprMutator` (`src/tirx/ir/stmt_functor.cc`): children in the same order, a buffer that changes at its
//! definition is the new one wherever it is used, and an unchanged node keeps its id. The driver records the origins of
//! statements and counts rewrites; a pass only returns replacements.
//!
//! Statements nest as deep as the parser lets them and are walked by recursion; scalar expressions may be chains of any
//! length and are not.

mod expr;
mod stmt;

use crate::diag::Diagnostic;
use crate::ir::drive::Step;
use crate::ir::{Buffer, Expr, ExprId, Id, Kinds, Mentions, Origin, PrimExpr, PrimFunc, PrimId, Rewrite, StmtId, Store, Symbol};
use rustc_hash::FxHashMap;
use std::convert::Infallible;

/// Rewrites statements and expressions with a hook for each kind. Every hook changes nothing by default.
///
/// Hooks about statements and expressions are rewrites: they are numbered, and without fuel they are not called. Hooks
/// about buffers follow a rewrite elsewhere, and are called always.
pub trait StmtMutator {
    /// Returns the rule to record when a hook changes something; [`Rewriting::set_rule`] is more precise.
    fn rule(&self) -> &'static str;

    /// True if a function is well-formed after each single rewrite. If not, all changes of a function count as one.
    fn stepwise(&self) -> bool {
        true
    }

    /// Returns the kinds of nodes of which it needs one to change anything; `None` if there is no such set.
    fn needs(&self) -> Option<Kinds> {
        None
    }

    /// Returns what an expression mentions if a hook for expressions or accesses may change it: nothing where there are no
    /// such hooks. Expressions in which a variable or a buffer is replaced are visited anyway.
    fn looks_for(&self) -> Mentions {
        Mentions::ALL
    }

    /// Rewrites a statement. `None` keeps it, over its rewritten children. [`Rewriting::descend`] makes that, and
    /// [`Rewriting::visit`] rewrites any other statement.
    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let _ = (cx, id);
        None
    }

    /// Rewrites an expression that stands in a statement. `None` leaves it to [`Rewriting::prim`].
    fn expr(&mut self, cx: &mut Rewriting<'_>, root: PrimId) -> Option<PrimId> {
        let _ = (cx, root);
        None
    }

    /// Rewrites an expression whose operands are then not visited. `None`: they are rewritten first.
    fn enter_prim(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        let _ = (cx, id);
        None
    }

    /// Rewrites an expression after its operands: `post` is `pre` over them. The answer must depend on nothing else,
    /// since it is remembered; see [`Rewriting::forget`].
    fn prim(&mut self, cx: &mut Rewriting<'_>, pre: PrimId, post: PrimId) -> PrimId {
        let _ = (cx, pre);
        post
    }

    /// Rewrites a buffer at its allocation, declaration or match. `None` keeps it, over its rewritten expressions.
    fn define_buffer(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>) -> Option<Id<Buffer>> {
        let _ = (cx, buffer);
        None
    }

    /// Redirects an access to `indices` of `buffer`, both rewritten. `None` keeps it.
    fn access(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>, indices: &[PrimId]) -> Option<(Id<Buffer>, Vec<PrimId>)> {
        let _ = (cx, buffer, indices);
        None
    }
}

/// The table of results has room for so many before it grows for the first time.
const ROOM: usize = 48;

/// The same for the table of replaced variables.
const ROOM_FOR_NAMES: usize = 14;

/// Changes nothing by itself: for substitutions and copies.
pub struct Nothing;

impl StmtMutator for Nothing {
    fn rule(&self) -> &'static str {
        ""
    }

    fn looks_for(&self) -> Mentions {
        Mentions::NONE
    }
}

/// A rewriting under way: the replacements of variables and buffers so far.
pub struct Rewriting<'s> {
    /// The session's memory.
    pub store: &'s mut Store,
    symbols: FxHashMap<Id<Symbol>, PrimId>,
    buffers: FxHashMap<Id<Buffer>, Id<Buffer>>,
    /// The variables and buffers that are replaced, or were.
    replaced: Mentions,
    /// The results for expressions, and true if a rule had a part in one.
    memo: FxHashMap<PrimId, (PrimId, bool)>,
    /// The expressions to visit; between two it is empty, and kept for its room.
    agenda: Vec<Step<PrimId, Infallible>>,
    /// True if definitions are made anew, as in a copy that stands beside the original.
    fresh: bool,
    /// True while there is fuel left, so that hooks are called.
    live: bool,
    /// True if a rule has changed an expression of the statement under way.
    ruled: bool,
    /// The last statement of which only parts were rewritten, and its result.
    descended: Option<(StmtId, StmtId)>,
    rule: Option<&'static str>,
    /// The statement under way.
    at: Option<StmtId>,
    /// The results for statements, while fuel is counted.
    done: FxHashMap<StmtId, StmtId>,
    /// True if a statement without fuel is put together from finished parts.
    replays: bool,
    found: Vec<Diagnostic>,
}

impl<'s> Rewriting<'s> {
    /// Makes a rewriting that has seen nothing yet.
    pub fn new(store: &'s mut Store) -> Rewriting<'s> {
        Rewriting {
            store,
            symbols: FxHashMap::default(),
            buffers: FxHashMap::default(),
            replaced: Mentions::NONE,
            memo: FxHashMap::default(),
            agenda: Vec::new(),
            fresh: false,
            live: true,
            ruled: false,
            descended: None,
            rule: None,
            at: None,
            done: FxHashMap::default(),
            replays: false,
            found: Vec::new(),
        }
    }

    /// The same for a copy that stands beside the original: its definitions are made anew.
    #[must_use]
    pub fn fresh(self) -> Rewriting<'s> {
        Rewriting { fresh: true, replaced: self.replaced | Mentions::LETS, ..self }
    }

    /// Sets the replacement of a variable from now on.
    pub fn set_symbol(&mut self, symbol: Id<Symbol>, becomes: PrimId) {
        if self.symbols.capacity() == 0 {
            self.symbols.reserve(ROOM_FOR_NAMES);
        }
        self.symbols.insert(symbol, becomes);
        self.replaced |= Mentions::symbol(symbol);
        self.forget();
    }

    /// Removes the replacement of a variable.
    pub fn unset_symbol(&mut self, symbol: Id<Symbol>) {
        if self.symbols.remove(&symbol).is_some() {
            self.forget();
        }
    }

    /// Returns the replacement of a variable, if it has one.
    pub fn symbol(&self, symbol: Id<Symbol>) -> Option<PrimId> {
        self.symbols.get(&symbol).copied()
    }

    /// Sets the replacement of a buffer for all uses from now on.
    pub fn set_buffer(&mut self, buffer: Id<Buffer>, becomes: Id<Buffer>) {
        self.buffers.insert(buffer, becomes);
        self.replaced |= Mentions::buffer(buffer);
        self.forget();
    }

    /// Returns the replacement of a buffer; itself by default.
    pub fn buffer(&self, buffer: Id<Buffer>) -> Id<Buffer> {
        self.buffers.get(&buffer).copied().unwrap_or(buffer)
    }

    /// Forgets the results for expressions: hooks would answer differently now.
    pub fn forget(&mut self) {
        if self.memo.capacity() > 2 * ROOM {
            self.memo = FxHashMap::default();
        } else {
            self.memo.clear();
        }
    }

    /// Runs `f` while hooks answer differently: results for expressions in it are forgotten, and those outside stay.
    pub fn apart<T>(&mut self, f: impl FnOnce(&mut Rewriting<'s>) -> T) -> T {
        let memo = std::mem::take(&mut self.memo);
        let result = f(self);
        self.memo = memo;
        result
    }

    /// Names the rewrite of the statement under way more precisely than its pass.
    pub fn set_rule(&mut self, rule: &'static str) {
        self.rule = Some(rule);
    }

    /// Says that the function cannot be rewritten, at the statement under way. Hooks are not asked any more.
    pub fn fail(&mut self, code: &'static str, message: impl Into<String>) {
        let span = self.at.and_then(|at| self.store.source_span(self.store.stmt_node(at)));
        self.found.push(Diagnostic::error(code, message, span));
        self.live = false;
    }

    /// Rewrites a statement.
    pub fn visit(&mut self, mutator: &mut dyn StmtMutator, id: StmtId) -> StmtId {
        if self.live && !self.store.log.has_fuel() && !self.store.makes_products() {
            self.live = false;
            self.forget();
        }
        if self.replays
            && let Some(done) = self.done.get(&id)
        {
            return *done;
        }
        let mark = self.store.mark();
        let outer = (std::mem::replace(&mut self.ruled, false), self.rule.take(), self.at.replace(id));
        let asked = if self.live { mutator.stmt(self, id) } else { None };
        let mut new = match asked {
            Some(new) => new,
            None => self.descend(mutator, id),
        };
        let by_hook = asked.is_some() && self.descended != Some((id, new)) && !self.is_copy(id, new);
        if new != id && (self.ruled || by_hook) {
            let rule = self.rule.unwrap_or(mutator.rule());
            if !rule.is_empty() && !self.store.log.has_fuel() && !self.store.makes_products() {
                // The parts have used up the fuel.
                new = self.replay(mutator, id);
            } else if !rule.is_empty() {
                self.store.record_nested(mark, Rewrite { rule, pre: self.store.stmt_node(id), post: self.store.stmt_node(new) });
            }
        }
        (self.ruled, self.rule, self.at) = outer;
        if self.store.log.fuel.is_some() {
            self.done.insert(id, new);
        }
        new
    }

    /// Rebuilds a statement over its finished parts; its own hook is not called.
    fn replay(&mut self, mutator: &mut dyn StmtMutator, id: StmtId) -> StmtId {
        let outer = std::mem::replace(&mut self.replays, true);
        self.live = false;
        self.forget();
        let new = self.descend(mutator, id);
        self.replays = outer;
        new
    }

    fn is_copy(&self, pre: StmtId, post: StmtId) -> bool {
        self.store.origin(self.store.stmt_node(post)) == Origin::Rebuilt(self.store.stmt_node(pre))
    }

    /// Returns the variable for a definition here: another one of its name, in a copy.
    fn define(&mut self, symbol: Id<Symbol>) -> Id<Symbol> {
        if !self.fresh {
            return self.renamed(symbol);
        }
        let copy = self.store.symbol(symbol).clone();
        let new = self.store.add_symbol(copy);
        let prim = self.store.prim(PrimExpr::Var(new));
        self.set_symbol(symbol, prim);
        new
    }

    /// Returns the variable that a variable has become, when it is one.
    fn renamed(&self, symbol: Id<Symbol>) -> Id<Symbol> {
        match self.symbol(symbol).map(|prim| self.store.prim_of_id(prim)) {
            Some(PrimExpr::Var(new)) => *new,
            _ => symbol,
        }
    }

    /// Rewrites a buffer at its definition.
    pub fn define_buffer(&mut self, mutator: &mut dyn StmtMutator, buffer: Id<Buffer>) -> Id<Buffer> {
        if let Some(known) = self.buffers.get(&buffer) {
            return *known;
        }
        let new = match mutator.define_buffer(self, buffer) {
            Some(new) => new,
            None => self.buffer_over(mutator, buffer),
        };
        if new != buffer {
            self.set_buffer(buffer, new);
        }
        new
    }

    /// Rewrites the expressions of a buffer.
    fn buffer_over(&mut self, mutator: &mut dyn StmtMutator, buffer: Id<Buffer>) -> Id<Buffer> {
        let parts = self.store.buffer(buffer);
        let exprs = parts.shape.iter().chain(&parts.strides).copied().chain(parts.elem_offset).chain(parts.data);
        if !self.fresh && !self.may_change(mutator, exprs) {
            return buffer;
        }
        let old = self.store.buffer(buffer).clone();
        let data = old.data.map(|data| self.root(mutator, data));
        let shape = self.roots(mutator, &old.shape);
        let strides = self.roots(mutator, &old.strides);
        let elem_offset = old.elem_offset.map(|offset| self.root(mutator, offset));
        let new = Buffer { shape, strides, elem_offset, data, ..old };
        if !self.fresh && new == *self.store.buffer(buffer) { buffer } else { self.store.add_buffer(new) }
    }
}

/// Rewrites the body of a function; the same function when nothing changed. The errors are those of
/// [`Rewriting::fail`].
pub fn rewrite_func(store: &mut Store, func: ExprId, mutator: &mut dyn StmtMutator) -> Result<ExprId, Vec<Diagnostic>> {
    if mutator.needs().is_some_and(|kinds| !has_kinds(store, func, kinds)) {
        return Ok(func);
    }
    let (stepwise, rule) = (mutator.stepwise(), mutator.rule());
    let mut found = Vec::new();
    let mut run = |store: &mut Store| {
        over_body(store, func, |store, body| {
            let mut cx = Rewriting::new(store);
            let new = cx.visit(mutator, body);
            found = cx.found;
            new
        })
    };
    let new = if stepwise { run(store) } else { store.rewrite(rule, func, func, run) };
    if found.is_empty() { Ok(new) } else { Err(found) }
}

/// True if a function of TIR has nodes of one of these kinds.
pub fn has_kinds(store: &mut Store, func: ExprId, kinds: Kinds) -> bool {
    match store.expr(func) {
        Expr::PrimFunc(id) => store.kinds_in(id).meets(kinds),
        _ => false,
    }
}

/// Rewrites the body of a function with `f`, as one rewrite; the same function when nothing changed. The errors are
/// those of [`Rewriting::fail`].
pub fn rewrite_body<M: StmtMutator>(
    store: &mut Store,
    func: ExprId,
    mutator: &mut M,
    f: impl FnOnce(&mut M, &mut Rewriting<'_>, StmtId) -> StmtId,
) -> Result<ExprId, Vec<Diagnostic>> {
    let mut found = Vec::new();
    let new = store.rewrite(mutator.rule(), func, func, |store| {
        over_body(store, func, |store, body| {
            let mut cx = Rewriting::new(store);
            let new = f(mutator, &mut cx, body);
            found = cx.found;
            new
        })
    });
    if found.is_empty() { Ok(new) } else { Err(found) }
}

/// Replaces the body of a function; the same function for the same body. Anything but a function of TIR stays.
pub fn over_body(store: &mut Store, func: ExprId, f: impl FnOnce(&mut Store, StmtId) -> StmtId) -> ExprId {
    let Expr::PrimFunc(id) = store.expr(func) else { return func };
    let old = store.prim_func(id).body;
    let body = f(store, old);
    if body == old { func } else { with_body(store, func, body) }
}

fn with_body(store: &mut Store, func: ExprId, body: StmtId) -> ExprId {
    let Expr::PrimFunc(id) = store.expr(func) else { return func };
    let new = PrimFunc { body, ..store.prim_func(id).clone() };
    rebuild_func(store, func, new)
}

/// Copies a function with other contents.
pub fn rebuild_func(store: &mut Store, pre: ExprId, func: PrimFunc) -> ExprId {
    let ty = store.checked_type(pre);
    let func = store.add_prim_func(func);
    store.rebuild(pre, Expr::PrimFunc(func), ty)
}

/// Replaces variables in a statement; nothing is simplified (TVM's `Substitute`).
pub fn substitute_stmt(store: &mut Store, id: StmtId, values: &[(Id<Symbol>, PrimId)]) -> StmtId {
    substituting(Rewriting::new(store), id, values)
}

/// Substitutes in a copy that stands beside others: its definitions are made anew.
pub fn copy_stmt(store: &mut Store, id: StmtId, values: &[(Id<Symbol>, PrimId)]) -> StmtId {
    substituting(Rewriting::new(store).fresh(), id, values)
}

fn substituting(mut cx: Rewriting<'_>, id: StmtId, values: &[(Id<Symbol>, PrimId)]) -> StmtId {
    for (symbol, value) in values {
        cx.set_symbol(*symbol, *value);
    }
    cx.visit(&mut Nothing, id)
}

#[cfg(test)]
mod tests;
