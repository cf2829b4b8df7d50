//! Which calls may do more than give a value (TVM: `IsImpureCall` and `ContainsImpureCall`).

use crate::ir::walk::{for_each_child, has_children};
use crate::ir::{Buffer, Expr, ExprId, Id, Module, PrimExpr, PrimFunc, Stmt, Store, Type};
use crate::ops;
use rustc_hash::FxHashSet;

/// Whether calls of `callee` have no side effects.
pub fn is_pure_callee(store: &Store, module: &Module, callee: ExprId) -> bool {
    let ty = match store.expr(callee) {
        Expr::Op(op) => return ops::info(op).relax.is_none_or(|op| op.pure),
        Expr::Extern(_) => return false,
        Expr::Global(name) => match module.function(name) {
            Some(function) => match store.expr(function) {
                Expr::Function(id) => return store.function(id).pure,
                Expr::PrimFunc(id) => return is_pure_program(store, id),
                _ => store.checked_type(function),
            },
            None => return true,
        },
        Expr::Var(var) => store.var_type(var),
        _ => store.checked_type(callee),
    };
    matches!(ty.map(|ty| store.type_of_id(ty)), Some(Type::Callable { pure: true, .. }))
}

/// Intrinsics that may do anything (TVM: `CallEffectKind`).
const OPAQUE: &[&str] =
    &["call_cpacked", "call_extern", "call_llvm_intrin", "call_packed", "prefetch", "tvm_storage_sync", "tvm_struct_set"];

/// Whether a tensor program writes nothing but memory that its statements allocate, and calls nothing that may do more
/// (TVM: `s_tir::IsPureFunction`). A program that is only hinted at, whose body is `T.evaluate(0)`, is one.
pub(crate) fn is_pure_program(store: &Store, id: Id<PrimFunc>) -> bool {
    let mut own: FxHashSet<Id<Buffer>> = FxHashSet::default();
    let mut stack = vec![store.prim_func(id).body];
    while let Some(id) = stack.pop() {
        let stmt = store.stmt(id);
        let first = stack.len();
        match stmt {
            Stmt::Seq(list) => stack.extend(store.items(*list)),
            Stmt::Block(block) => {
                let block = store.prim_block(*block);
                stack.extend(block.init.into_iter().chain([block.body]));
            }
            Stmt::Alloc(buffer) => {
                own.insert(*buffer);
            }
            Stmt::Store { buffer, .. } if !own.contains(buffer) => return false,
            Stmt::Bind { value, .. } | Stmt::Attr { value, .. } | Stmt::Evaluate(value) | Stmt::Return(value) => {
                let mut pure = true;
                store.for_each_prim(*value, &mut |_, expr| {
                    if let PrimExpr::Call { op, .. } = expr {
                        let name = store.str(*op);
                        pure &= !name.starts_with('@') && !OPAQUE.contains(&name);
                    }
                });
                if !pure {
                    return false;
                }
            }
            _ => {}
        }
        stack.extend(stmt.nested().into_iter().flatten());
        stack[first..].reverse();
    }
    true
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
