//! Rewriting by functional update: the passes that map nodes to nodes.
//!
//! TVM's `ExprMutator` and `MixedModeMutator` in one: a memo by identity, children before parents, and the same node
//! back when nothing below it changed. [The loop](super::drive) keeps its own stack, the store records the origins of nodes and
//! counts rewrites; a pass only returns replacements.

use super::drive::{Agenda, Form, Step, drive};
use super::expr::{Expr, ExprId, Function, Var, VarId};
use super::id::IdMap;
use super::map::map_children;
use super::store::Store;
use super::walk::{for_each_binder, for_each_child, has_children};

pub use super::drive::Visit;

/// The answer of a mutator on a `let` after its value and before its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The binding stays.
    Keep,
    /// The binding goes; uses of the variable become this.
    Substitute(ExprId),
    /// The binding stays and binds this variable; uses in the body become uses of it. Uses in the
    /// value, of a function that calls itself, do not.
    Rebind(VarId),
}

/// Rewrites the nodes of an expression with a hook for each kind. Every hook changes nothing by default.
///
/// Order, as in TVM's `ExprMutator`: callee then arguments; a let's variable, value, body; the arms of a match before
/// its data; a function's parameters before its body.
pub trait ExprMutator {
    /// Returns the name of the rule that is recorded when `enter`, `leave` or `bind` changes something.
    fn rule(&self) -> &'static str;

    /// True if any hook may rewrite a node over leaves, leaves included. If none does, the node stays as it is, unless
    /// one of its children has changed.
    fn wants(&self, store: &Store, id: ExprId) -> bool {
        let _ = (store, id);
        true
    }

    /// Called when a node is reached for the first time.
    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        let _ = (store, id);
        Visit::Descend
    }

    /// Called when the children are done. `pre` is the node as it was (its types are known); `post` is the node over
    /// its new children, equal to `pre` when none changed.
    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let _ = (store, pre);
        post
    }

    /// Called when the value of the let `pre` has become `value`.
    fn bind(&mut self, store: &mut Store, pre: ExprId, value: ExprId) -> Bound {
        let _ = (store, pre, value);
        Bound::Keep
    }

    /// Returns what stands where a variable stood that has become `var`.
    fn use_of(&mut self, store: &mut Store, var: VarId) -> ExprId {
        store.use_var(var)
    }

    /// Visits the definition of a variable: a parameter, a let's variable or a pattern's. The returned variable is
    /// bound in its place, and its uses change with it.
    fn define_var(&mut self, store: &mut Store, var: VarId) -> VarId {
        let _ = store;
        var
    }
}

/// A thing to do between the children of a node.
enum Between {
    /// The value of a let is done.
    Bind(ExprId),
    /// The value of a binding of a block is done; its variable is defined now.
    Define(VarId),
}

/// A rewriting under way: the memo outlives one root, so functions that share nodes keep sharing.
#[derive(Default)]
pub struct Rewriting {
    memo: IdMap<Expr, ExprId>,
    vars: IdMap<Var, VarId>,
    /// The results for the children of the node at hand; kept for its room.
    children: Vec<ExprId>,
}

impl Rewriting {
    /// Makes a rewriting that has seen nothing yet.
    pub fn new() -> Rewriting {
        Rewriting::default()
    }

    /// Returns the result for a node, if it was reached.
    pub fn get(&self, id: ExprId) -> Option<ExprId> {
        self.memo.get(id).copied()
    }

    /// Presets the result for a node (TVM: writing into `memo_`).
    pub fn set(&mut self, id: ExprId, becomes: ExprId) {
        self.memo.insert(id, becomes);
    }

    /// Rewrites all nodes reachable from `root` and returns the result for it.
    pub fn run(&mut self, store: &mut Store, root: ExprId, mutator: &mut dyn ExprMutator) -> ExprId {
        let mut agenda = Vec::with_capacity(64);
        agenda.push(Step::Visit(root));
        drive(&mut Graph { store, mutator, results: self }, &mut agenda);
        self.done(root)
    }

    /// True for a node whose children are unchanged leaves.
    fn is_untouched(&self, store: &Store, id: ExprId) -> bool {
        let mut same = true;
        for_each_child(store, id, |child| {
            same = same && !has_children(store, child) && self.get(child).is_none_or(|new| new == child);
        });
        same
    }

    fn done(&self, id: ExprId) -> ExprId {
        self.get(id).expect("children are rewritten before their parents")
    }

    /// Rebuilds `id` over its rewritten children and variables: itself when none changed.
    fn rebuild(&mut self, store: &mut Store, id: ExprId) -> ExprId {
        let mut children = std::mem::take(&mut self.children);
        children.clear();
        for_each_child(store, id, |child| children.push(self.done(child)));
        let new = map_children(store, id, &children, &|var| self.vars.get(var).copied().unwrap_or(var));
        self.children = children;
        match new {
            Some(new) => {
                let ty = store.checked_type(id);
                store.rebuild(id, new, ty)
            }
            None => id,
        }
    }
}

/// Results by identity, so that nodes that were shared stay shared.
struct Graph<'a> {
    store: &'a mut Store,
    mutator: &'a mut dyn ExprMutator,
    results: &'a mut Rewriting,
}

impl Form for Graph<'_> {
    type Node = ExprId;
    type Step = Between;

    fn is_known(&mut self, id: ExprId) -> bool {
        if self.results.memo.contains(id) {
            return true;
        }
        let stays = !self.mutator.wants(self.store, id) && self.results.is_untouched(self.store, id);
        if stays {
            self.results.set(id, id);
        }
        stays
    }

    fn enter(&mut self, id: ExprId) -> Visit {
        self.store.ask_on_entry(self.mutator.rule(), id, |store| self.mutator.enter(store, id))
    }

    fn descend(&mut self, id: ExprId, agenda: &mut Agenda<Self>) {
        match self.store.expr(id) {
            Expr::Let { var, value, body: _ } => {
                self.define(var);
                agenda.extend([Step::Own(Between::Bind(id)), Step::Visit(value)]);
            }
            Expr::Function(function) => {
                let Function { params, body, .. } = *self.store.function(function);
                let params: Vec<VarId> = self.store.items(params).collect();
                params.into_iter().for_each(|param| self.define(param));
                agenda.extend([Step::Leave(id), Step::Visit(body)]);
            }
            Expr::Seq { blocks, body } => {
                agenda.extend([Step::Leave(id), Step::Visit(body)]);
                let first = agenda.len();
                for binding in self.store.bindings(blocks) {
                    agenda.extend([Step::Visit(binding.value), Step::Own(Between::Define(binding.var))]);
                }
                agenda[first..].reverse();
            }
            Expr::Match { data, clauses, complete: _ } => {
                agenda.extend([Step::Leave(id), Step::Visit(data)]);
                agenda.extend(self.store.items(clauses).rev().map(|clause| Step::Visit(self.store.clause(clause).body)));
                let mut vars = Vec::new();
                for_each_binder(self.store, id, |var| vars.push(var));
                vars.into_iter().for_each(|var| self.define(var));
            }
            _ => {
                agenda.push(Step::Leave(id));
                let first = agenda.len();
                // Does not enter finished nodes again.
                for_each_child(self.store, id, |child| {
                    if !self.results.memo.contains(child) {
                        agenda.push(Step::Visit(child));
                    }
                });
                agenda[first..].reverse();
            }
        }
    }

    fn leave(&mut self, id: ExprId) {
        let post = self.results.rebuild(self.store, id);
        let result = self.store.rewrite(self.mutator.rule(), id, post, |store| self.mutator.leave(store, id, post));
        self.results.set(id, result);
    }

    fn give(&mut self, id: ExprId, result: ExprId) {
        self.results.set(id, result);
    }

    fn give_again(&mut self, id: ExprId, other: ExprId) {
        let result = self.results.done(other);
        self.results.set(id, result);
    }

    fn step(&mut self, step: Between, agenda: &mut Agenda<Self>) {
        match step {
            Between::Bind(id) => self.bind(id, agenda),
            Between::Define(var) => self.define(var),
        }
    }
}

impl Graph<'_> {
    fn define(&mut self, var: VarId) {
        let new = self.mutator.define_var(self.store, var);
        if new != var {
            self.results.vars.insert(var, new);
            let (old_use, new_use) = (self.store.use_var(var), self.mutator.use_of(self.store, new));
            self.results.set(old_use, new_use);
        }
    }

    fn bind(&mut self, id: ExprId, agenda: &mut Agenda<Self>) {
        let Expr::Let { var, value, body } = self.store.expr(id) else {
            unreachable!("only a let is bound");
        };
        let value = self.results.done(value);
        let mut bound = Bound::Keep;
        let (rule, mutator) = (self.mutator.rule(), &mut *self.mutator);
        self.store.rewrite(rule, id, id, |store| {
            bound = mutator.bind(store, id, value);
            match bound {
                Bound::Keep => id,
                Bound::Substitute(by) => by,
                // Renaming follows the change of the value, and is no change of its own.
                Bound::Rebind(_) => id,
            }
        });
        match bound {
            Bound::Keep => agenda.push(Step::Leave(id)),
            Bound::Rebind(new) => {
                self.results.vars.insert(var, new);
                let (used, becomes) = (self.store.use_var(var), self.store.use_var(new));
                self.results.set(used, becomes);
                agenda.push(Step::Leave(id));
            }
            Bound::Substitute(by) => {
                let used = self.store.use_var(var);
                self.results.set(used, by);
                agenda.push(Step::Become(id, body));
            }
        }
        agenda.push(Step::Visit(body));
    }
}

/// Rewrites everything reachable from `root`; see [`Rewriting::run`].
pub fn rewrite(store: &mut Store, root: ExprId, mutator: &mut dyn ExprMutator) -> ExprId {
    Rewriting::new().run(store, root, mutator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Binding, OpId, Origin};

    /// Makes a chain of unary calls of operator 0 over a variable, `n` deep.
    fn chain(store: &mut Store, n: usize) -> (ExprId, ExprId) {
        let x = store.var("x", None);
        let x = store.use_var(x);
        let op = store.add(Expr::Op(OpId(0)));
        (x, (0..n).fold(x, |arg, _| store.add_call(op, &[arg], None)))
    }

    struct RenameOp;
    impl ExprMutator for RenameOp {
        fn rule(&self) -> &'static str {
            "rename"
        }
        fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
            match store.expr(post) {
                Expr::Op(OpId(0)) => store.add(Expr::Op(OpId(1))),
                _ => post,
            }
        }
    }

    struct Nothing;
    impl ExprMutator for Nothing {
        fn rule(&self) -> &'static str {
            "nothing"
        }
    }

    #[test]
    fn an_unchanged_program_comes_back_as_the_same_node() {
        let mut store = Store::new();
        let (_, root) = chain(&mut store, 10);
        let before = store.n_exprs();
        assert_eq!(rewrite(&mut store, root, &mut Nothing), root);
        assert_eq!(store.n_exprs(), before);
        assert!(store.log.done.is_empty());
    }

    #[test]
    fn a_chain_a_hundred_thousand_calls_deep_is_rewritten_without_recursion() {
        let mut store = Store::new();
        let (_, root) = chain(&mut store, 100_000);
        let new = rewrite(&mut store, root, &mut RenameOp);
        assert_eq!(store.called_op(new), Some(OpId(1)));
        assert_eq!(store.origin(new), Origin::Rebuilt(root));
        assert_eq!(store.log.done.len(), 1);
    }

    #[test]
    fn without_fuel_nothing_is_rewritten() {
        let mut store = Store::new();
        let (_, root) = chain(&mut store, 3);
        store.log.fuel = Some(0);
        assert_eq!(rewrite(&mut store, root, &mut RenameOp), root);
    }

    /// Puts another variable in the place of each that is bound.
    struct Fresh;
    impl ExprMutator for Fresh {
        fn rule(&self) -> &'static str {
            "fresh"
        }
        fn define_var(&mut self, store: &mut Store, var: VarId) -> VarId {
            store.fresh_var(var)
        }
    }

    #[test]
    fn variables_of_blocks_change_with_their_uses() {
        let mut store = Store::new();
        let (x, chain) = chain(&mut store, 1);
        let [a, b] = ["a", "b"].map(|name| store.relax_var(name, None, true));
        let use_a = store.use_var(a);
        let first = store.add_block_of(&[Binding { var: a, value: chain, cast: None }], true);
        let second = store.add_block_of(&[Binding { var: b, value: use_a, cast: None }], true);
        let root = store.add_seq(&[first, second], x);
        assert_eq!(rewrite(&mut store, root, &mut Nothing), root);
        let new = rewrite(&mut store, root, &mut Fresh);
        let Expr::Seq { blocks, body } = store.expr(new) else { panic!("a sequence stays one") };
        assert_eq!(body, x);
        let bindings: Vec<Binding> = store.bindings(blocks).collect();
        assert!(bindings[0].var != a && bindings[0].value == chain);
        assert_eq!(store.var_use(bindings[0].var), Some(bindings[1].value));
    }
}
