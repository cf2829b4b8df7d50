//! Reports types that inference could not find, once, where the unknown begins.

use super::collect::Collector;
use crate::diag::Diagnostic;
use crate::ir::sort::sort_by;
use crate::ir::walk::for_each_type_in;
use crate::ir::{Expr, ExprId, IdMap, Store, Type, TypeId, Var};

/// Adds the errors that are known only after solving: relations that cannot hold, types that nest
/// too deeply, types that stayed unknown, unbound type parameters.
pub(super) fn report(found: &mut Collector<'_>, root: ExprId) {
    for failure in std::mem::take(&mut found.solver.failures) {
        found.error(failure.expr, "relay-type-relation", failure.message);
    }
    if !found.solver.too_deep && !found.solver.too_large {
        unknown_types(found);
    }
    if found.solver.too_deep {
        let limit = crate::ir::MAX_TYPE_DEPTH;
        found.error(root, "relay-type-depth", format!("a type nests deeper than {limit} levels"));
    }
    if found.solver.too_large {
        let limit = crate::ir::MAX_TYPE_SIZE;
        found.error(root, "relay-type-size", format!("a type has more than {limit} parts"));
    }
    if found.errors.is_empty() {
        unbound_type_vars(found);
    }
    place_errors(found, root);
    let place = |error: &Diagnostic| error.span.map_or(u32::MAX, |span| span.start);
    sort_by(&mut found.errors, |a, b| place(a).cmp(&place(b)));
    found.errors.dedup();
}

/// Gives errors about shared leaves (globals, operators, constructors) and nodes without a span the
/// span of the innermost expression around them that has one.
fn place_errors(found: &mut Collector<'_>, root: ExprId) {
    if found.placeless.is_empty() {
        return;
    }
    let mut around: IdMap<Expr, crate::diag::Span> = IdMap::new();
    for id in crate::ir::walk::post_order(found.store, root).into_iter().rev() {
        let Some(span) = found.store.source_span(id).or_else(|| around.get(id).copied()) else { continue };
        crate::ir::walk::for_each_child(found.store, id, |child| {
            if !around.contains(child) {
                around.insert(child, span);
            }
        });
    }
    for (index, id) in std::mem::take(&mut found.placeless) {
        found.errors[index].span = around.get(id).copied();
    }
}

/// TVM reports every expression without a type. Here only those whose parts all have one: the others
/// follow from them.
fn unknown_types(found: &mut Collector<'_>) {
    let order = std::mem::take(&mut found.order);
    let mut unknown: IdMap<Expr, ()> = IdMap::new();
    let mut let_bound: IdMap<Var, ()> = IdMap::new();
    let mut first = None;
    let mut origins = Vec::new();
    for &id in &order {
        if let Expr::Let { var, .. } = found.store.expr(id) {
            let_bound.insert(var, ());
        }
        let slot = *found.types.get(id).expect("every expression in the order has a slot");
        let root = found.solver.root(slot);
        let function_of_unknown = match found.store.expr(id) {
            // An unused parameter has no node of its own, so its function reports it.
            Expr::Function(_) => first_unknown_param(found, id),
            _ => None,
        };
        if !found.solver.is_unknown(root) && function_of_unknown.is_none() {
            continue;
        }
        unknown.insert(id, ());
        first = first.or(Some(id));
        let mut of_parts = false;
        crate::ir::walk::for_each_child(found.store, id, |child| of_parts |= unknown.contains(child));
        if let Some(param) = function_of_unknown {
            origins.push(param);
        } else if !of_parts && !found.failed.contains(&id) {
            origins.push(id);
        }
    }
    origins.retain(|id| !matches!(found.store.expr(*id), Expr::Var(var) if let_bound.contains(var)));
    origins.dedup();
    if origins.is_empty() && found.errors.is_empty() {
        origins.extend(first);
    }
    let mut seen: IdMap<Expr, ()> = IdMap::new();
    for id in origins {
        if seen.insert(id, ()).is_none() {
            unable(found, id);
        }
    }
    found.order = order;
}

/// Returns the use node of the first parameter of a function whose type is not known.
fn first_unknown_param(found: &mut Collector<'_>, id: ExprId) -> Option<ExprId> {
    let params = found.store.as_function(id)?.params;
    for index in 0..params.len() {
        let param = found.store.item(params, index);
        let slot = *found.vars.get(param)?;
        let root = found.solver.root(slot);
        if found.solver.is_unknown(root) {
            return Some(found.store.use_var(param));
        }
    }
    None
}

fn unable(found: &mut Collector<'_>, id: ExprId) {
    let what = match found.store.expr(id) {
        Expr::Var(var) => format!(" The type of %{} is not known.", found.store.var_name(var)),
        _ => match found.store.called_op(id) {
            Some(op) => format!(" The result of {} is not known.", crate::ops::info(op).name),
            None => String::new(),
        },
    };
    let message = format!("The type inference pass was unable to infer a type for this expression.{what}");
    let note = "This usually occurs when an operator call is under constrained in some way: \
                a type annotation on a variable or on the result of a called function helps.";
    let error = Diagnostic::error("relay-type-unknown", message, found.span(id)).with_note(note);
    found.push_error(id, error);
}

/// TVM's check that `FreeTypeVars` is empty: no scopes, a type parameter counts as bound when any
/// function or constructor of the expression binds it.
fn unbound_type_vars(found: &mut Collector<'_>) {
    let mut used: Vec<(ExprId, TypeId)> = Vec::new();
    let mut bound: IdMap<crate::ir::TypeVar, ()> = IdMap::new();
    for index in 0..found.order.len() {
        let id = found.order[index];
        let mut vars = Vec::new();
        crate::ir::walk::for_each_binder(found.store, id, |var| vars.push(var));
        for var in vars {
            if let Some(ty) = found.store.var_data(var).annotation {
                used.push((id, ty));
            }
        }
        match found.store.expr(id) {
            Expr::Function(function) => {
                let function = *found.store.function(function);
                found.store.items(function.type_params).for_each(|param| {
                    bound.insert(param, ());
                });
                used.extend(function.ret.map(|ty| (id, ty)));
            }
            Expr::Ctor(ctor) => {
                if let Some(adt) = found.module.adt(found.store.ctor(ctor).adt) {
                    found.store.adt(adt).type_params.iter().for_each(|param| {
                        bound.insert(*param, ());
                    });
                }
            }
            Expr::Call { info: Some(info), .. } => {
                used.extend(found.store.call_info(info).type_args.iter().map(|ty| (id, *ty)));
            }
            _ => {}
        }
    }
    let mut errors = Vec::new();
    let mut seen: IdMap<Type, ()> = IdMap::new();
    for (id, ty) in used {
        if !found.solver.facts.has_type_vars(found.store, ty) || seen.insert(ty, ()).is_some() {
            continue;
        }
        for name in free_type_vars(found.store, ty, &bound) {
            errors.push((id, format!("Found unbound type variable `{name}`")));
        }
    }
    for (id, message) in errors {
        found.error(id, "relay-unbound-type-var", message);
    }
}

/// Returns the names of the type parameters in `ty` that are neither bound in it nor in `bound`.
fn free_type_vars(store: &Store, ty: TypeId, bound: &IdMap<crate::ir::TypeVar, ()>) -> Vec<String> {
    let mut within = Vec::new();
    let mut used = Vec::new();
    let mut seen: IdMap<Type, ()> = IdMap::new();
    let mut stack = vec![ty];
    while let Some(ty) = stack.pop() {
        if seen.insert(ty, ()).is_some() {
            continue;
        }
        match store.type_of_id(ty) {
            Type::Var(var) => used.push(*var),
            Type::Func { type_params, .. } => within.extend(type_params.iter().copied()),
            _ => {}
        }
        for_each_type_in(store, ty, &mut |child| stack.push(child));
    }
    used.retain(|var| !within.contains(var) && !bound.contains(*var));
    used.into_iter().map(|var| store.str(store.type_var(var).name).to_owned()).collect()
}
