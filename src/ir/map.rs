//! A node over other children: every kind of it once, for the drivers of rewriting, for inference and for passes.

use super::expr::{Binding, BindingBlock, Clause, Expr, ExprId, Function, Pattern, PatternId, VarId};
use super::id::{Id, List};
use super::store::Store;
use super::walk::{for_each_binder, for_each_child, for_each_pattern_var};

/// Returns the node `id` over `children`, which stand in the order of [`for_each_child`], and
/// over what `var` gives for the variables that it binds. `None` if all of them are its own (TVM's `WithFields`).
pub fn map_children(store: &mut Store, id: ExprId, children: &[ExprId], var: &dyn Fn(VarId) -> VarId) -> Option<Expr> {
    let (mut same, mut given) = (true, children.iter());
    for_each_child(store, id, |child| same &= given.next() == Some(&child));
    for_each_binder(store, id, |bound| same &= var(bound) == bound);
    if same {
        return None;
    }
    Some(match store.expr(id) {
        Expr::Var(_) | Expr::Global(_) | Expr::Op(_) | Expr::Ctor(_) | Expr::Constant(_) => return None,
        Expr::Shape(_) | Expr::Prim(_) | Expr::Str(_) | Expr::DataType(_) => return None,
        Expr::Extern(_) | Expr::PrimFunc(_) | Expr::Stmt(_) => return None,
        Expr::Tuple(fields) => Expr::Tuple(list(store, fields, children)),
        Expr::TupleGetItem { tuple: _, index } => Expr::TupleGetItem { tuple: children[0], index },
        Expr::Call { callee: _, args, info } => Expr::Call { callee: children[0], args: list(store, args, &children[1..]), info },
        Expr::Let { var: bound, .. } => Expr::Let { var: var(bound), value: children[0], body: children[1] },
        Expr::If { .. } => Expr::If { cond: children[0], then: children[1], other: children[2] },
        Expr::Function(old) => {
            let data = *store.function(old);
            let params = map_list(store, data.params, |_, param| var(param));
            Expr::Function(store.add_function(Function { params, body: children[0], ..data }))
        }
        Expr::Match { data: _, clauses, complete } => {
            let mut bodies = children[1..].iter();
            let clauses = map_list(store, clauses, |store, id| {
                let old = *store.clause(id);
                let body = *bodies.next().expect("each clause has a body");
                let pattern = map_pattern(store, old.pattern, var);
                if pattern == old.pattern && body == old.body { id } else { store.add_clause(Clause { pattern, body }) }
            });
            Expr::Match { data: children[0], clauses, complete }
        }
        Expr::RefCreate(_) => Expr::RefCreate(children[0]),
        Expr::RefRead(_) => Expr::RefRead(children[0]),
        Expr::RefWrite { .. } => Expr::RefWrite { reference: children[0], value: children[1] },
        Expr::Seq { blocks, body: _ } => {
            let (body, values) = children.split_last().expect("a sequence has a result");
            let mut values = values.iter();
            let blocks = map_list(store, blocks, |store, id| {
                let BindingBlock { bindings, dataflow } = *store.block(id);
                let new = map_list(store, bindings, |store, id| {
                    let old = *store.binding(id);
                    let value = *values.next().expect("each binding has a value");
                    let bound = var(old.var);
                    let same = bound == old.var && value == old.value;
                    if same { id } else { store.add_binding(Binding { var: bound, value, ..old }) }
                });
                if new.same_place(bindings) { id } else { store.add_block(BindingBlock { bindings: new, dataflow }) }
            });
            Expr::Seq { blocks, body: *body }
        }
    })
}

/// Returns the list of what `change` gives for each element: the list itself if that is the element each time.
fn map_list<T>(store: &mut Store, old: List<T>, mut change: impl FnMut(&mut Store, Id<T>) -> Id<T>) -> List<T> {
    let mut new = Vec::new();
    for at in 0..old.len() {
        let item = store.item(old, at);
        let becomes = change(store, item);
        if becomes != item && new.is_empty() {
            new.reserve(old.len());
            new.extend(store.items(old).take(at));
        }
        if becomes != item || !new.is_empty() {
            new.push(becomes);
        }
    }
    if new.is_empty() { old } else { store.list(&new) }
}

fn list(store: &mut Store, old: List<Expr>, new: &[ExprId]) -> List<Expr> {
    if store.items(old).eq(new.iter().copied()) { old } else { store.list(new) }
}

/// Returns a pattern over other variables. Patterns nest as deep as the parser lets them, which is shallow enough to recurse.
fn map_pattern(store: &mut Store, pattern: PatternId, var: &dyn Fn(VarId) -> VarId) -> PatternId {
    let mut same = true;
    for_each_pattern_var(store, pattern, &mut |bound| same &= var(bound) == bound);
    if same {
        return pattern;
    }
    let new = match *store.pattern(pattern) {
        Pattern::Wildcard => return pattern,
        Pattern::Var(bound) => Pattern::Var(var(bound)),
        Pattern::Ctor { ctor, fields } => {
            Pattern::Ctor { ctor, fields: map_list(store, fields, |store, field| map_pattern(store, field, var)) }
        }
        Pattern::Tuple(fields) => Pattern::Tuple(map_list(store, fields, |store, field| map_pattern(store, field, var))),
    };
    store.add_pattern(new)
}
