//! The parameters of functions and their types.

use crate::ir::{Buffer, Dialect, Expr, ExprId, Id, Module, Name, PrimParam, Store};
use crate::print;

/// Returns the number of parameters.
pub(super) fn arity(store: &Store, root: ExprId) -> usize {
    match store.expr(root) {
        Expr::PrimFunc(program) => store.prim_func(program).params.len(),
        _ => store.as_function(root).map_or(0, |function| function.params.len()),
    }
}

/// Returns the names of the parameters.
pub(super) fn parameters(store: &Store, root: ExprId) -> Vec<String> {
    match store.expr(root) {
        Expr::PrimFunc(program) => {
            let params = store.prim_func(program).params.iter();
            params.map(|param| store.str(store.prim_param_name(*param)).to_owned()).collect()
        }
        _ => {
            let params = store.as_function(root).map(|function| function.params);
            params.into_iter().flat_map(|params| store.items(params)).map(|param| store.var_name(param).to_owned()).collect()
        }
    }
}

/// Returns the types of parameters in words, which are equal in two versions though their symbols are not. Of a buffer, the
/// extents that are symbols do not count.
pub(super) fn parameter_types(store: &Store, root: ExprId) -> Vec<String> {
    match store.expr(root) {
        Expr::PrimFunc(program) => {
            let buffers = store.prim_func(program).params.iter().filter_map(|param| match param {
                PrimParam::Buffer(buffer) => Some(*buffer),
                PrimParam::Var(_) => None,
            });
            let shape = |buffer: Id<Buffer>| {
                let extents = store.buffer(buffer).shape.iter();
                extents.map(|extent| store.as_prim_int(*extent).map_or("?".to_owned(), |n| n.to_string())).collect::<Vec<_>>()
            };
            buffers.map(|buffer| shape(buffer).join(", ")).collect()
        }
        _ => {
            let params = store.as_function(root).map(|function| function.params);
            let params = params.into_iter().flat_map(|params| store.items(params));
            params.map(|param| store.var_type(param).map_or(String::new(), |ty| print::relax_ty(store, ty))).collect()
        }
    }
}

/// True if a function of Relax or TIR has no name outside of its module.
pub(super) fn is_private(store: &Store, module: &Module, name: Id<Name>) -> bool {
    let attrs = module.function(name).and_then(|root| match store.expr(root) {
        Expr::PrimFunc(program) => store.prim_func(program).attrs,
        _ => store.as_function(root)?.attrs,
    });
    module.dialect() == Dialect::Relax && store.attr(attrs, "global_symbol").is_none()
}
