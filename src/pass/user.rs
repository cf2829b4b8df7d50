//! Passes that are not compiled in: written by the user of a session, in another language.
//!
//! They run like any other. What they leave is looked at more closely, because whoever writes a pass makes mistakes:
//! a result that is ill-formed or ill-typed is a failure of the pass, and the version before it stands.

use super::manager::Runner;
use super::spec::PassError;
use crate::diag::Diagnostic;
use crate::infer;
use crate::ir::{Dialect, ExprId, Module, Store};
use crate::verify;
use std::rc::Rc;

/// A pass over a whole module. It gets the runner, to run other passes nested in itself.
pub type UserModulePass = dyn Fn(&mut Runner, &mut Store, &Module) -> Result<Module, PassError>;

/// A pass over one function of a module at a time.
pub type UserFunctionPass = dyn Fn(&mut Runner, &mut Store, &Module, ExprId) -> Result<ExprId, PassError>;

/// How a pass of the user runs.
#[derive(Clone)]
pub enum UserRun {
    /// On the whole module.
    Module(Rc<UserModulePass>),
    /// On each function that may be optimised; InferType follows.
    Function(Rc<UserFunctionPass>),
}

/// What a pass of the user made, when it is a program: well-formed, and its types fit. As in TVM the result of a module pass of
/// Relay is not typed by this; one of Relax is, since its passes expect types.
pub(super) fn checked(store: &mut Store, before: &Module, after: Module) -> Result<Module, PassError> {
    if *before == after {
        return Ok(after);
    }
    let errors = |found: Vec<Diagnostic>| found.into_iter().filter(Diagnostic::is_error).collect::<Vec<_>>();
    if after.dialect() == Dialect::Relax {
        // Filling in types is no rewrite of the pass.
        let mark = store.mark();
        store.begin_products();
        let typed = infer::infer_module(store, &after);
        store.end_products(mark, None);
        let typed = typed?;
        let ill_formed = errors(verify::verify(store, &typed));
        return if ill_formed.is_empty() { Ok(typed) } else { Err(ill_formed) };
    }
    let ill_formed = errors(verify::verify(store, &after));
    if !ill_formed.is_empty() {
        return Err(ill_formed);
    }
    infer::infer_module(store, &after).map(|_| after)
}
