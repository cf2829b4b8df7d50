//! Which calls may do more than give a value (TVM: `IsImpureCall` and `ContainsImpureCall`).

use crate::ir::walk::{for_each_child, has_children};
use crate::ir::{Expr, ExprId, Module, Store, Type};
use crate::ops;

/// Whether calls of `callee` have no side effects.
pub fn is_pure_callee(store: &Store, module: &Module, callee: ExprId) -> bool {
    let ty = match store.expr(callee) {
        Expr::Op(op) => return ops::info(op).relax.is_none_or(|op| op.pure),
        Expr::Extern(_) => return false,
        Expr::Global(name) => match module.function(name) {
            Some(function) => match store.expr(function) {
                Expr::Function(id) => return store.function(id).pure,
                // A tensor program that gives a value writes none into its arguments.
                Expr::PrimFunc(id) => return store.prim_func(id).ret.is_some(),
                _ => store.checked_type(function),
            },
            None => return true,
        },
        Expr::Var(var) => store.var_type(var),
        _ => store.checked_type(callee),
    };
    matches!(ty.map(|ty| store.type_of_id(ty)), Some(Type::Callable { pure: true, .. }))
}

/// Whether `call` is a call that may have side effects.
pub fn is_impure_call(store: &Store, module: &Module, call: ExprId) -> bool {
    store.call(call).is_some_and(|call| !is_pure_callee(store, module, call.callee))
}

/// Whether evaluating an expression may do more than give a value. A function that is only made does nothing yet; of a function
/// that is asked about, its body counts.
pub fn contains_impure_call(store: &Store, module: &Module, root: ExprId) -> bool {
    let mut stack = Vec::new();
    let mut next = Some(store.as_function(root).map_or(root, |function| function.body));
    while let Some(id) = next {
        if is_impure_call(store, module, id) {
            return true;
        }
        if !matches!(store.expr(id), Expr::Function(_)) {
            for_each_child(store, id, |child| stack.extend(has_children(store, child).then_some(child)));
        }
        next = stack.pop();
    }
    false
}
