//! Copies of expressions over other arguments.

use crate::ir::rewrite::{ExprMutator, Rewriting};
use crate::ir::{ExprId, Store, VarId};

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
