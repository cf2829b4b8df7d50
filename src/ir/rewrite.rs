//! Rewriting by functional update: the driver behind every pass that maps nodes to nodes.
//!
//! TVM's `ExprMutator` and `MixedModeMutator` in one: a memo by identity, children before parents, and the same node
//! back when nothing below it changed. The driver keeps its own stack, records the origins of nodes and counts
//! rewrites; a pass only returns replacements.

use super::expr::{Binding, BindingBlock, Clause, Expr, ExprId, Function, Pattern, PatternId, Var, VarId};
use super::id::IdMap;
use super::store::Store;
use super::walk::for_each_pattern_var;

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
        super::walk::for_each_child(store, id, |child| {
            same = same && !super::walk::has_children(store, child) && self.get(child).is_none_or(|new| new == child);
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
                let clauses: Vec<Clause> = store.items(clauses).map(|c| *store.clause(c)).collect();
                stack.push(Step::Leave(id));
                stack.push(Step::Enter(data));
                for clause in clauses.iter().rev() {
                    stack.push(Step::Enter(clause.body));
                }
                for clause in &clauses {
                    let mut vars = Vec::new();
                    for_each_pattern_var(store, clause.pattern, &mut |var| vars.push(var));
                    for var in vars {
                        self.define(store, var, mutator);
                    }
                }
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
                super::walk::for_each_child(store, id, &mut enter);
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
            let (old_use, new_use) = (store.use_var(var), store.use_var(new));
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

    fn var(&self, var: VarId) -> VarId {
        self.vars.get(var).copied().unwrap_or(var)
    }

    /// Rebuilds `id` over its rewritten children: itself when none changed (TVM's `WithFields`).
    fn rebuild(&self, store: &mut Store, id: ExprId) -> ExprId {
        let ty = store.checked_type(id);
        let new = match store.expr(id) {
            Expr::Var(_) | Expr::Global(_) | Expr::Op(_) | Expr::Ctor(_) | Expr::Constant(_) => return id,
            Expr::Shape(_) | Expr::Prim(_) | Expr::Str(_) | Expr::DataType(_) | Expr::Extern(_) | Expr::PrimFunc(_) => return id,
            Expr::Stmt(_) => return id,
            Expr::Tuple(fields) => match self.list(store, fields) {
                Some(fields) => Expr::Tuple(store.list(&fields)),
                None => return id,
            },
            Expr::TupleGetItem { tuple, index } => {
                let new = self.done(tuple);
                if new == tuple {
                    return id;
                }
                Expr::TupleGetItem { tuple: new, index }
            }
            Expr::Call { callee, args, info } => {
                let new_callee = self.done(callee);
                let new_args = self.list(store, args);
                if new_callee == callee && new_args.is_none() {
                    return id;
                }
                let args = new_args.map_or(args, |args| store.list(&args));
                Expr::Call { callee: new_callee, args, info }
            }
            Expr::Let { var, value, body } => {
                let new = Expr::Let { var: self.var(var), value: self.done(value), body: self.done(body) };
                if self.var(var) == var && self.done(value) == value && self.done(body) == body {
                    return id;
                }
                new
            }
            Expr::If { cond, then, other } => {
                let new = [cond, then, other].map(|e| self.done(e));
                if new == [cond, then, other] {
                    return id;
                }
                Expr::If { cond: new[0], then: new[1], other: new[2] }
            }
            Expr::Function(function) => match self.function(store, *store.function(function)) {
                Some(new) => Expr::Function(store.add_function(new)),
                None => return id,
            },
            Expr::Match { data, clauses, complete } => {
                let new_data = self.done(data);
                let old: Vec<_> = store.items(clauses).collect();
                let mut same = new_data == data;
                let mut new = Vec::with_capacity(old.len());
                for clause_id in old {
                    let clause = *store.clause(clause_id);
                    let pattern = self.pattern(store, clause.pattern);
                    let body = self.done(clause.body);
                    if pattern == clause.pattern && body == clause.body {
                        new.push(clause_id);
                    } else {
                        same = false;
                        new.push(store.add_clause(Clause { pattern, body }));
                    }
                }
                if same {
                    return id;
                }
                Expr::Match { data: new_data, clauses: store.list(&new), complete }
            }
            Expr::RefCreate(value) => {
                let new = self.done(value);
                if new == value {
                    return id;
                }
                Expr::RefCreate(new)
            }
            Expr::RefRead(reference) => {
                let new = self.done(reference);
                if new == reference {
                    return id;
                }
                Expr::RefRead(new)
            }
            Expr::RefWrite { reference, value } => {
                let new = [reference, value].map(|e| self.done(e));
                if new == [reference, value] {
                    return id;
                }
                Expr::RefWrite { reference: new[0], value: new[1] }
            }
            Expr::Seq { blocks, body } => {
                let new_body = self.done(body);
                match self.blocks(store, blocks) {
                    Some(blocks) => Expr::Seq { blocks: store.list(&blocks), body: new_body },
                    None if new_body == body => return id,
                    None => Expr::Seq { blocks, body: new_body },
                }
            }
        };
        store.rebuild(id, new, ty)
    }

    /// Rebuilds blocks over their new values and variables; `None` when all stay the same.
    fn blocks(&self, store: &mut Store, blocks: super::List<BindingBlock>) -> Option<Vec<super::Id<BindingBlock>>> {
        let old: Vec<_> = store.items(blocks).collect();
        let new: Vec<_> = old.iter().map(|block| self.block(store, *block)).collect();
        (new != old).then_some(new)
    }

    fn block(&self, store: &mut Store, id: super::Id<BindingBlock>) -> super::Id<BindingBlock> {
        let BindingBlock { bindings, dataflow } = *store.block(id);
        let same = |binding: Binding| self.var(binding.var) == binding.var && self.done(binding.value) == binding.value;
        if store.block_bindings(id).all(same) {
            return id;
        }
        let old: Vec<_> = store.items(bindings).collect();
        let mut new = Vec::with_capacity(old.len());
        for id in old {
            let binding = *store.binding(id);
            let rebuilt = Binding { var: self.var(binding.var), value: self.done(binding.value), ..binding };
            new.push(if same(binding) { id } else { store.add_binding(rebuilt) });
        }
        let bindings = store.list(&new);
        store.add_block(BindingBlock { bindings, dataflow })
    }

    fn list(&self, store: &Store, list: super::List<Expr>) -> Option<Vec<ExprId>> {
        if store.items(list).all(|id| self.done(id) == id) {
            return None;
        }
        Some(store.items(list).map(|id| self.done(id)).collect())
    }

    fn function(&self, store: &mut Store, function: Function) -> Option<Function> {
        let body = self.done(function.body);
        let same_params = store.items(function.params).all(|p| self.var(p) == p);
        if body == function.body && same_params {
            return None;
        }
        let params = if same_params {
            function.params
        } else {
            let params: Vec<VarId> = store.items(function.params).map(|p| self.var(p)).collect();
            store.list(&params)
        };
        Some(Function { params, body, ..function })
    }

    /// Patterns nest as deep as the parser lets them, which is shallow enough to recurse.
    fn pattern(&self, store: &mut Store, pattern: PatternId) -> PatternId {
        let data = *store.pattern(pattern);
        let fields = match data {
            Pattern::Wildcard => return pattern,
            Pattern::Var(var) => {
                let new = self.var(var);
                return if new == var { pattern } else { store.add_pattern(Pattern::Var(new)) };
            }
            Pattern::Ctor { ctor: _, fields } | Pattern::Tuple(fields) => fields,
        };
        let old: Vec<PatternId> = store.items(fields).collect();
        let new: Vec<PatternId> = old.iter().map(|p| self.pattern(store, *p)).collect();
        if new == old {
            return pattern;
        }
        let fields = store.list(&new);
        store.add_pattern(match data {
            Pattern::Ctor { ctor, .. } => Pattern::Ctor { ctor, fields },
            _ => Pattern::Tuple(fields),
        })
    }
}

/// Rewrites everything reachable from `root`; see [`Rewriting::run`].
pub fn rewrite(store: &mut Store, root: ExprId, mutator: &mut dyn ExprMutator) -> ExprId {
    Rewriting::new().run(store, root, mutator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{OpId, Origin};

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
