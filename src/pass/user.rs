//! Passes that are not compiled in: written by the user of a session, in another language.
//!
//! They run like any other. Their results are checked more strictly, because users make mistakes: a result that is
//! ill-formed or ill-typed is a failure of the pass, and the version before it stands.

use super::manager::Runner;
use super::spec::PassError;
use crate::diag::{Diagnostic, DiagnosticContext};
use crate::infer;
use crate::ir::{Dialect, ExprId, Module, Store};
use crate::verify;
use std::rc::Rc;

/// A pass over a whole module. It gets the runner, to run other passes nested in itself.
pub type UserModulePass = dyn Fn(&mut Runner, &mut Store, &Module) -> Result<Module, PassError>;

/// A pass over one function of a module at a time.
pub type UserFunctionPass = dyn Fn(&mut Runner, &mut Store, &Module, ExprId) -> Result<ExprId, PassError>;

/// The function that runs a pass of the user's.
#[derive(Clone)]
pub enum UserRun {
    /// On the whole module.
    Module(Rc<UserModulePass>),
    /// On each function that may be optimised; InferType follows.
    Function(Rc<UserFunctionPass>),
}

/// Checks the module made by a pass of the user's: it must be well-formed and well-typed. As in TVM the result of a
/// module pass of Relay is not typed by this; one of Relax is, since its passes expect types. A program of Relax that
/// is not in A-normal form is one for *Normalize*: TVM's `ExprMutatorBase` makes such, so that is only remarked.
pub(super) fn checked(
    store: &mut Store,
    before: &Module,
    after: Module,
    remarks: &mut DiagnosticContext,
) -> Result<Module, PassError> {
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
        let (nested, ill_formed): (Vec<_>, Vec<_>) =
            errors(verify::verify(store, &typed)).into_iter().partition(|found| found.code == verify::NOT_NORMAL);
        if let Some(found) = nested.into_iter().next().filter(|_| ill_formed.is_empty()) {
            let message = format!("{}: the result is not in A-normal form, which Normalize makes of it", found.message);
            remarks.emit(Diagnostic::warning(verify::NOT_NORMAL, message, found.span));
        }
        return if ill_formed.is_empty() { Ok(typed) } else { Err(ill_formed) };
    }
    let ill_formed = errors(verify::verify(store, &after));
    if !ill_formed.is_empty() {
        return Err(ill_formed);
    }
    infer::infer_module(store, &after).map(|_| after)
}
