//! Rewriting by functional update: the driver behind every pass that maps nodes to nodes.
//!
//! TVM's `ExprMutator` and `MixedModeMutator` in one: a memo by identity, children before parents, and the same node
//! back when nothing below it changed. The driver keeps its own stack, records the origins of nodes and counts
//! rewrites; a pass only returns replacements.

use super::expr::{Expr, ExprId, Function, Var, VarId};
use super::id::IdMap;
use super::map::map_children;
use super::store::Store;
use super::walk::{for_each_binder, for_each_child, has_children};

/// The answer of a mutator on entering a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// Rewrite its children, rebuild it, then ask `leave`.
    Descend,
    /// It stays as it is, and everything below it.
    Keep,
    /// Replaces it by this; neither is visited further.
    Replace(ExprId),
    /// The result of rewriting this one replaces it (`return Mutate(op->true_branch)`).
    Follow(ExprId),
}

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

enum Step {
    Enter(ExprId),
    /// The value of a let is done.
    Bind(ExprId),
    /// The value of a binding of a block is done; its variable is defined now.
    Define(VarId),
    /// All children are done.
    Leave(ExprId),
    /// The second is the result for the first.
    Alias(ExprId, ExprId),
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
        let mut stack = Vec::with_capacity(64);
        stack.push(Step::Enter(root));
        while let Some(step) = stack.pop() {
            match step {
                Step::Enter(id) => {
                    if self.memo.contains(id) {
                        continue;
                    }
                    if !mutator.wants(store, id) && self.is_untouched(store, id) {
                        self.memo.insert(id, id);
                        continue;
                    }
                    self.enter(store, id, mutator, &mut stack);
                }
                Step::Bind(id) => self.bind(store, id, mutator, &mut stack),
                Step::Define(var) => self.define(store, var, mutator),
                Step::Leave(id) => self.leave(store, id, mutator),
                Step::Alias(id, target) => {
                    let becomes = self.done(target);
                    self.memo.insert(id, becomes);
                }
            }
        }
        self.done(root)
    }

    fn leave(&mut self, store: &mut Store, id: ExprId, mutator: &mut dyn ExprMutator) {
        let post = self.rebuild(store, id);
        let result = store.rewrite(mutator.rule(), id, post, |store| mutator.leave(store, id, post));
        self.memo.insert(id, result);
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

    fn enter(&mut self, store: &mut Store, id: ExprId, mutator: &mut dyn ExprMutator, stack: &mut Vec<Step>) {
        let rule = mutator.rule();
        let mut visit = Visit::Descend;
        store.rewrite(rule, id, id, |store| {
            visit = mutator.enter(store, id);
            match visit {
                Visit::Descend | Visit::Keep => id,
                Visit::Replace(other) | Visit::Follow(other) => other,
            }
        });
        match visit {
            Visit::Keep => {
                self.memo.insert(id, id);
            }
            Visit::Replace(other) => {
                self.memo.insert(id, other);
            }
            Visit::Follow(other) => {
                stack.push(Step::Alias(id, other));
                stack.push(Step::Enter(other));
            }
            Visit::Descend => self.descend(store, id, mutator, stack),
        }
    }

    fn descend(&mut self, store: &mut Store, id: ExprId, mutator: &mut dyn ExprMutator, stack: &mut Vec<Step>) {
        match store.expr(id) {
            Expr::Let { var, value, body: _ } => {
                self.define(store, var, mutator);
                stack.push(Step::Bind(id));
                stack.push(Step::Enter(value));
            }
            Expr::Function(function) => {
                let Function { params, body, .. } = *store.function(function);
                let params: Vec<VarId> = store.items(params).collect();
                for param in params {
                    self.define(store, param, mutator);
                }
                stack.push(Step::Leave(id));
                stack.push(Step::Enter(body));
            }
            Expr::Seq { blocks, body } => {
                stack.push(Step::Leave(id));
                stack.push(Step::Enter(body));
                let first = stack.len();
                for binding in store.bindings(blocks) {
                    stack.push(Step::Enter(binding.value));
                    stack.push(Step::Define(binding.var));
                }
                stack[first..].reverse();
            }
            Expr::Match { data, clauses, complete: _ } => {
                stack.push(Step::Leave(id));
                stack.push(Step::Enter(data));
                let first = stack.len();
                stack.extend(store.items(clauses).map(|clause| Step::Enter(store.clause(clause).body)));
                stack[first..].reverse();
                let mut vars = Vec::new();
                for_each_binder(store, id, |var| vars.push(var));
                vars.into_iter().for_each(|var| self.define(store, var, mutator));
            }
            _ => {
                stack.push(Step::Leave(id));
                let first = stack.len();
                // Does not enter finished nodes again.
                let mut enter = |child| {
                    if !self.memo.contains(child) {
                        stack.push(Step::Enter(child))
                    }
                };
                for_each_child(store, id, &mut enter);
                match stack.len() {
                    len if len == first => {
                        stack.pop();
                        self.leave(store, id, mutator);
                    }
                    _ => stack[first..].reverse(),
                }
            }
        }
    }

    fn define(&mut self, store: &mut Store, var: VarId, mutator: &mut dyn ExprMutator) {
        let new = mutator.define_var(store, var);
        if new != var {
            self.vars.insert(var, new);
            let (old_use, new_use) = (store.use_var(var), mutator.use_of(store, new));
            self.memo.insert(old_use, new_use);
        }
    }

    fn bind(&mut self, store: &mut Store, id: ExprId, mutator: &mut dyn ExprMutator, stack: &mut Vec<Step>) {
        let Expr::Let { var, value, body } = store.expr(id) else {
            unreachable!("only a let is bound");
        };
        let value = self.done(value);
        let mut bound = Bound::Keep;
        let rule = mutator.rule();
        store.rewrite(rule, id, id, |store| {
            bound = mutator.bind(store, id, value);
            match bound {
                Bound::Keep => id,
                Bound::Substitute(by) => by,
                // Renaming follows the change of the value, and is no change of its own.
                Bound::Rebind(_) => id,
            }
        });
        match bound {
            Bound::Keep => stack.push(Step::Leave(id)),
            Bound::Rebind(new) => {
                self.vars.insert(var, new);
                let (used, becomes) = (store.use_var(var), store.use_var(new));
                self.memo.insert(used, becomes);
                stack.push(Step::Leave(id));
            }
            Bound::Substitute(by) => {
                let used = store.use_var(var);
                self.memo.insert(used, by);
                stack.push(Step::Alias(id, body));
            }
        }
        stack.push(Step::Enter(body));
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
