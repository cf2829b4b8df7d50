//! Type inference: TVM's InferType.
//!
//! Three stages for each function, as in TVM's `type_infer.cc`:
//!
//! 1. [`collect`]: walk the program, give every expression and variable a slot for its type, note what
//!    must be equal and which relations the operators demand.
//! 2. [`solver`]: ask the relations until nothing new is learned; [`unify`] is how types become equal.
//! 3. [`rebuild`]: write the types into the program.
//!
//! Beside them: [`mod@well_formed`] (scopes, checked before anything else), [`kind`] (the form of the types
//! themselves), [`exhaustive`] (matches that miss a case).
//!
//! Results are cached by root ([`facts`]), so repeated inference costs nothing.
//!
//! A function that calls another one sees only its annotations.

mod arms;
mod collect;
mod exhaustive;
mod facts;
mod kind;
mod rebuild;
pub mod relax;
mod solver;
mod subst;
mod unify;
mod unknown;
mod well_formed;

pub(crate) use kind::KindChecker;
pub use subst::bind_type;
pub(crate) use subst::map_children as map_type_children;
pub use well_formed::well_formed;

use crate::diag::Diagnostic;
use crate::ir::{Dialect, Expr, ExprId, Module, Store};
use collect::Collector;

/// Infers every function of a module. Nodes that are typed already stay the same, so a module that was inferred before
/// comes back as the same module. The error has all errors of all functions.
pub fn infer_module(store: &mut Store, module: &Module) -> Result<Module, Vec<Diagnostic>> {
    if module.dialect() == Dialect::Relax {
        return relax::infer_module(store, module);
    }
    let mut result = module.clone();
    let mut errors = Vec::new();
    for &(name, function) in module.functions() {
        if !matches!(store.expr(function), Expr::Function(_)) {
            continue;
        }
        match infer_expr(store, module, function) {
            Ok(new) => result.set_function(name, new),
            Err(mut found) => errors.append(&mut found),
        }
    }
    if errors.is_empty() { Ok(result) } else { Err(errors) }
}

/// True for a function of Relax, whose body is a sequence of blocks.
fn is_relax(store: &Store, expr: ExprId) -> bool {
    store.as_function(expr).is_some_and(|function| matches!(store.expr(function.body), Expr::Seq { .. }))
}

/// Infers one expression or function in the context of a module, from which only annotations of functions and
/// definitions of types are used. Free variables have the types of their annotations.
pub fn infer_expr(store: &mut Store, module: &Module, expr: ExprId) -> Result<ExprId, Vec<Diagnostic>> {
    if is_relax(store, expr) {
        return relax::infer_function(store, module, expr);
    }
    if let Some(result) = facts::recall(store, module, expr) {
        return Ok(result);
    }
    let (ill_formed, nodes) = well_formed::check(store, expr);
    if !ill_formed.is_empty() {
        return Err(ill_formed);
    }
    // The first attempt assumes that all extents are plain numbers. If one is not, or there is an error, the relations
    // are solved in TVM's order.
    let mut found = Collector::new(store, module, nodes);
    found.solver.at_once = !found.store.has_open_extents();
    found.run(expr);
    unknown::report(&mut found, expr);
    if found.solver.at_once && (!found.errors.is_empty() || found.store.has_open_extents()) {
        found = Collector::new(store, module, nodes);
        found.run(expr);
        unknown::report(&mut found, expr);
    }
    if found.errors.is_empty() {
        let new = rebuild::rebuild(&mut found, expr);
        let globals = std::mem::take(&mut found.globals);
        facts::remember(store, module, expr, new, globals);
        Ok(new)
    } else {
        Err(found.errors)
    }
}

#[cfg(test)]
mod tests;
