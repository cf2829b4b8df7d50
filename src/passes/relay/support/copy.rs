//! Copies of expressions over other arguments.

use crate::ir::rewrite::{ExprMutator, Rewriting, Visit};
use crate::ir::walk::for_each_child;
use crate::ir::{Expr, ExprId, Store, VarId};
use rustc_hash::FxHashSet;

/// Copies `body` with `args` in place of `params`. Its own bindings get new variables, so the copy may
/// stand beside the original.
pub fn instantiate(store: &mut Store, body: ExprId, params: &[VarId], args: &[ExprId]) -> ExprId {
    let mut rewriting = Rewriting::new();
    for (param, arg) in params.iter().zip(args) {
        let used = store.use_var(*param);
        rewriting.set(used, *arg);
    }
    rewriting.run(store, body, &mut Freshen)
}

/// Replaces variables in `body` by other expressions. Its own bindings keep their variables, so the
/// original must not be used any more.
pub fn substitute(store: &mut Store, body: ExprId, by: &[(VarId, ExprId)]) -> ExprId {
    let mut rewriting = Rewriting::new();
    for (var, becomes) in by {
        let used = store.use_var(*var);
        rewriting.set(used, *becomes);
    }
    rewriting.run(store, body, &mut Nothing)
}

/// Copies the calls, tuples and fields that an expression is made of; variables and functions stay. What was shared inside is
/// shared in the copy, and nothing is shared with the original. An expression of more than `most` nodes stays as it is: copies of
/// copies would be quadratic.
pub fn duplicate(store: &mut Store, id: ExprId, most: usize) -> ExprId {
    let (mut seen, mut stack) = (FxHashSet::default(), vec![id]);
    while let Some(part) = stack.pop() {
        if seen.insert(part) && !matches!(store.expr(part), Expr::Function(_)) {
            for_each_child(store, part, |child| stack.push(child));
        }
        if seen.len() + stack.len() > most {
            return id;
        }
    }
    Rewriting::new().run(store, id, &mut Duplicate)
}

struct Duplicate;

impl ExprMutator for Duplicate {
    fn rule(&self) -> &'static str {
        "copied"
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        if matches!(store.expr(id), Expr::Function(_)) { Visit::Keep } else { Visit::Descend }
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let same = store.expr(post);
        if post == pre && matches!(same, Expr::Call { .. } | Expr::Tuple(_) | Expr::TupleGetItem { .. }) {
            return store.add_typed(same, store.checked_type(pre));
        }
        post
    }
}

struct Nothing;

impl ExprMutator for Nothing {
    fn rule(&self) -> &'static str {
        "variables substituted"
    }
}

struct Freshen;

impl ExprMutator for Freshen {
    fn rule(&self) -> &'static str {
        "copied over its arguments"
    }

    fn define_var(&mut self, store: &mut Store, var: VarId) -> VarId {
        store.fresh_var(var)
    }
}
