//! Results of sequences that are no variables: they count as the last binding, so that patterns are looked for there, too.

use crate::build::{self, Mutation, is_leaf_or_tuple};
use crate::ir::walk::{for_each_child, post_order};
use crate::ir::{Binding, BindingBlock, Expr, ExprId, Id, Store, VarId, map_children};
use rustc_hash::{FxHashMap, FxHashSet};

/// Binds every such result to a variable. `None` if all results are variables.
pub(super) fn bound(store: &mut Store, function: ExprId) -> Option<(ExprId, FxHashSet<VarId>)> {
    let is_compound = |store: &Store, id| match store.expr(id) {
        Expr::Seq { body, .. } => !matches!(store.expr(body), Expr::Var(_)),
        _ => false,
    };
    let order = post_order(store, function);
    if !order.iter().any(|id| is_compound(store, *id)) {
        return None;
    }
    let mut vars = FxHashSet::default();
    let new = over_sequences(store, function, &order, &mut |store, id| {
        let Expr::Seq { blocks, body } = store.expr(id) else { return id };
        if !is_compound(store, id) {
            return id;
        }
        let ty = store.checked_type(body);
        let var = store.relax_var("result", ty, false);
        vars.insert(var);
        let mut blocks: Vec<Id<BindingBlock>> = store.items(blocks).collect();
        let (mut bindings, dataflow) = match blocks.pop() {
            Some(last) => (store.block_bindings(last).collect(), store.block(last).dataflow),
            None => (Vec::new(), false),
        };
        bindings.push(Binding { var, value: body, cast: None });
        blocks.push(store.add_block_of(&bindings, dataflow));
        let (blocks, body) = (store.list(&blocks), store.use_var(var));
        let ty = store.checked_type(id);
        store.rebuild(id, Expr::Seq { blocks, body }, ty)
    });
    Some((new, vars))
}

/// Undoes [`bound`]: the values of these variables are results again, in normal form.
pub(super) fn unbound(store: &mut Store, cx: &mut Mutation, function: ExprId, vars: &FxHashSet<VarId>) -> ExprId {
    let mut nested = false;
    let order = post_order(store, function);
    // A variable is another one where its value has another type now.
    let uses: FxHashSet<ExprId> = vars.iter().map(|var| cx.replaced(*var).unwrap_or(store.use_var(*var))).collect();
    let new = over_sequences(store, function, &order, &mut |store, id| {
        let Expr::Seq { blocks, body } = store.expr(id) else { return id };
        if !uses.contains(&body) {
            return id;
        }
        let mut blocks: Vec<Id<BindingBlock>> = store.items(blocks).collect();
        let Some(last) = blocks.pop() else { return id };
        let mut bindings: Vec<Binding> = store.block_bindings(last).collect();
        let Some(Binding { value, .. }) = bindings.pop() else { return id };
        if !bindings.is_empty() {
            blocks.push(store.add_block_of(&bindings, store.block(last).dataflow));
        }
        nested |= !is_leaf_or_tuple(store, value);
        let blocks = store.list(&blocks);
        let ty = store.checked_type(id);
        store.rebuild(id, Expr::Seq { blocks, body: value }, ty)
    });
    if !nested {
        return new;
    }
    cx.forget();
    build::run(store, cx, &mut build::Normalize, new)
}

/// Rebuilds an expression over the sequences that `change` gives, which keep their types. `order` has all its nodes.
fn over_sequences(
    store: &mut Store,
    root: ExprId,
    order: &[ExprId],
    change: &mut dyn FnMut(&mut Store, ExprId) -> ExprId,
) -> ExprId {
    let mut made: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for &id in order {
        let mut children = Vec::new();
        for_each_child(store, id, |child| children.push(made.get(&child).copied().unwrap_or(child)));
        let ty = store.checked_type(id);
        let over = map_children(store, id, &children, &|var| var).map_or(id, |node| store.rebuild(id, node, ty));
        let new = change(store, over);
        if new != id {
            made.insert(id, new);
        }
    }
    made.get(&root).copied().unwrap_or(root)
}
