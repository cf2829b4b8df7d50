//! Types from programs: TVM's InferType.
//!
//! Three stages for each function, as in TVM's `type_infer.cc`:
//!
//! 1. [`collect`]: walk the program, give every expression and variable a slot for its type, note what
//!    must be equal and which relations the operators demand.
//! 2. [`solver`]: ask the relations until nothing new is learned; [`unify`] is how types become equal.
//! 3. [`rebuild`]: write the types into the program.
//!
//! Beside them: [`mod@well_formed`] (scopes, asked before anything else), [`kind`] (are the types
//! themselves put together well), [`exhaustive`] (does a match handle every case).
//!
//! Results are remembered by root ([`facts`]), so inferring what was inferred before costs nothing.
//!
//! A function that calls another sees only what that one is annotated with.

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

/// Infers every function of a module. Nodes that are typed already come back as they are, so a module
/// that was inferred before comes back as the same module. The error is everything that is wrong in any
/// of the functions.
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

/// Whether an expression is a function of Relax: its body is a sequence of blocks.
fn is_relax(store: &Store, expr: ExprId) -> bool {
    store.as_function(expr).is_some_and(|function| matches!(store.expr(function.body), Expr::Seq { .. }))
}

/// Infers one expression or function in the context of a module, from which only annotations of
/// functions and definitions of types are taken. Free variables have the type that they are
/// annotated with.
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
    // At first as if all extents were plain numbers. When one turns up that is not, or something is wrong, all is asked in
    // TVM's order.
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
