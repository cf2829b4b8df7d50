//! Names for inner functions in the module.
//!
//! Source: `LambdaNameCollector` of `src/relax/transform/lambda_lift.cc`.

use super::{global_symbol, type_error};
use crate::ir::walk::for_each_child;
use crate::ir::{Expr, ExprId, Id, Module, Name, Store};
use crate::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};

/// An inner function, and its path of names: a function of the module, then variables, its own last.
type Place = (ExprId, Vec<String>);

/// Returns a name for each function that a binding of a function of the module holds.
pub(in crate::passes::relax) fn lambda_names(
    store: &mut Store,
    module: &Module,
) -> Result<FxHashMap<ExprId, Id<Name>>, PassError> {
    let mut taken: FxHashSet<String> = module.functions().iter().map(|(name, _)| store.str(*name).to_owned()).collect();
    let mut places: Vec<Place> = Vec::new();
    for &(name, function) in module.functions() {
        if matches!(store.expr(function), Expr::Function(_)) {
            collect(store, function, store.str(name).to_owned(), &mut places);
        }
    }
    let mut names: FxHashMap<ExprId, Id<Name>> = FxHashMap::default();
    for (id, path) in &places {
        if let Some(symbol) = global_symbol(store, *id) {
            if !taken.insert(symbol.clone()) {
                let outer = path.first().map_or("", String::as_str);
                return Err(type_error(format!(
                    "Function {outer} contains a lambda with the global symbol \"{symbol}\", and that name is taken"
                )));
            }
            names.insert(*id, store.name(&symbol));
        }
    }
    let mut uses: FxHashMap<String, usize> = FxHashMap::default();
    let mut numbered = |path: &[String]| {
        let name = ends(path);
        let count = uses.entry(name.clone()).or_insert(0);
        *count += 1;
        Some(format!("{name}_{}", *count - 1))
    };
    let whole = |path: &[String]| (path.len() > 2).then(|| path.join("_"));
    attempt(store, &places, &mut names, &mut taken, &mut |path| Some(ends(path)));
    attempt(store, &places, &mut names, &mut taken, &mut |path| whole(path));
    attempt(store, &places, &mut names, &mut taken, &mut numbered);
    // The remaining functions take the first number that is free.
    attempt_each(store, &places, &mut names, &mut taken);
    Ok(names)
}

fn ends(path: &[String]) -> String {
    match path {
        [first, .., last] => format!("{first}_{last}"),
        _ => path.concat(),
    }
}

/// Assigns names that are free and fit only one function.
fn attempt(
    store: &mut Store,
    places: &[Place],
    names: &mut FxHashMap<ExprId, Id<Name>>,
    taken: &mut FxHashSet<String>,
    name_of: &mut dyn FnMut(&[String]) -> Option<String>,
) {
    let mut wanted: Vec<(ExprId, String)> = Vec::new();
    let mut counts: FxHashMap<String, usize> = FxHashMap::default();
    for (id, path) in places.iter().filter(|(id, _)| !names.contains_key(id)) {
        if let Some(name) = name_of(path).filter(|name| !taken.contains(name)) {
            *counts.entry(name.clone()).or_insert(0) += 1;
            wanted.push((*id, name));
        }
    }
    for (id, name) in wanted {
        if counts.get(&name) == Some(&1) {
            names.insert(id, store.name(&name));
            taken.insert(name);
        }
    }
}

fn attempt_each(store: &mut Store, places: &[Place], names: &mut FxHashMap<ExprId, Id<Name>>, taken: &mut FxHashSet<String>) {
    for (id, path) in places {
        if names.contains_key(id) {
            continue;
        }
        let mut number = 0;
        let name = loop {
            let name = format!("{}_{number}", ends(path));
            if taken.insert(name.clone()) {
                break name;
            }
            number += 1;
        };
        names.insert(*id, store.name(&name));
    }
}

fn collect(store: &Store, function: ExprId, name: String, places: &mut Vec<Place>) {
    let mut stack: Vec<(ExprId, Vec<String>)> = vec![(function, vec![name])];
    while let Some((id, path)) = stack.pop() {
        let first = stack.len();
        match store.expr(id) {
            Expr::Seq { blocks, body } => {
                for binding in store.bindings(blocks) {
                    let mut path = path.clone();
                    if matches!(store.expr(binding.value), Expr::Function(_)) {
                        path.push(store.var_name(binding.var).to_owned());
                        places.push((binding.value, path.clone()));
                        stack.push((binding.value, path));
                    } else if matches!(store.expr(binding.value), Expr::If { .. } | Expr::Seq { .. }) {
                        stack.push((binding.value, path));
                    }
                }
                stack.push((body, path));
            }
            _ => for_each_child(store, id, |child| stack.push((child, path.clone()))),
        }
        stack[first..].reverse();
    }
}
