//! Functions whose bodies a pass rewrites without opening their scope.

use super::symbols::cast;
use crate::build::{self, BlockBuilder, BlockMutator, Mutation, has_bindings};
use crate::infer::relax::types::symbols;
use crate::ir::walk::{is_straight, post_order};
use crate::ir::{Expr, ExprId, Function, Module, Store};
use crate::pass::PassError;

/// Rebuilds a function as TVM leaves it after a pass rewrote its body alone: symbols of parameters are unknown there,
/// so branches lose them in their types, and so do values that depend on them.
pub(in crate::passes::relax) fn rewritten_out_of_scope(
    store: &mut Store,
    module: &Module,
    function: ExprId,
) -> Result<ExprId, PassError> {
    let Some(data) = store.as_function(function) else { return Ok(function) };
    if is_straight(store, data.body) || !post_order(store, data.body).into_iter().any(|id| is_erased(store, id)) {
        return Ok(function);
    }
    let mut cx = Mutation::new(BlockBuilder::new(module));
    let body = build::run(store, &mut cx, &mut Branches, data.body);
    cx.builder.finish()?;
    // The signature is not visited.
    let new = store.add_function(Function { body, ..data });
    let ty = store.checked_type(function);
    Ok(store.rebuild(function, Expr::Function(new), ty))
}

/// True for a branch that is rebuilt: TVM rebuilds blocks, so a branch without bindings in its arms stays.
pub(in crate::passes::relax) fn is_erased(store: &Store, id: ExprId) -> bool {
    let Expr::If { then, other, .. } = store.expr(id) else { return false };
    (has_bindings(store, then) || has_bindings(store, other))
        && store.checked_type(id).is_some_and(|ty| !symbols(store, ty, false).is_empty())
}

/// Recomputes the types of branches. An arm without bindings stays, and so knows more: it casts to that type.
struct Branches;

impl BlockMutator for Branches {
    fn rule(&self) -> &'static str {
        "branches outside of the scope of their function"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        is_erased(store, id)
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, pre: ExprId, post: ExprId) -> ExprId {
        if !is_erased(store, pre) {
            return post;
        }
        let Expr::If { cond, then, other } = store.expr(post) else { return post };
        // The type is that of the arms, which have a scope, also where there is none around them.
        cx.builder.begin_inner_scope();
        let erased = store.checked_type(pre).map(|ty| cx.builder.erase(store, ty));
        cx.builder.end_scope();
        let Some(ty) = erased else { return post };
        let [then, other] = [(then, "then_branch_with_dyn"), (other, "else_branch_with_dyn")]
            .map(|(arm, name)| if has_bindings(store, arm) { arm } else { cast(store, arm, ty, name) });
        store.add(Expr::If { cond, then, other })
    }
}
