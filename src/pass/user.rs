//! Passes that are not compiled in: written by the user of a session, in another language.
//!
//! They run like any other. What they leave is looked at more closely, because whoever writes a pass makes mistakes:
//! a result that is ill-formed or ill-typed is a failure of the pass, and the version before it stands.

use super::manager::Runner;
use super::spec::PassError;
use crate::diag::Diagnostic;
use crate::infer;
use crate::ir::{ExprId, Module, Store};
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

/// Whether what a pass of the user made is a program: well-formed, and its types fit. As in TVM the result of a
/// module pass is not typed by this.
pub(super) fn checked(store: &mut Store, before: &Module, after: &Module) -> Result<(), PassError> {
    if before == after {
        return Ok(());
    }
    let ill_formed: Vec<Diagnostic> = verify::verify(store, after).into_iter().filter(Diagnostic::is_error).collect();
    if !ill_formed.is_empty() {
        return Err(ill_formed);
    }
    infer::infer_module(store, after).map(|_| ())
}
