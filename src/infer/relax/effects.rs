//! Finds calls with side effects (TVM: `IsImpureCall` and `ContainsImpureCall`).

use crate::ir::walk::{for_each_child, has_children};
use crate::ir::{Buffer, Expr, ExprId, Id, Module, PrimExpr, PrimFunc, Stmt, Store, Type};
use crate::ops;
use rustc_hash::FxHashSet;

/// True if calls of `callee` have no side effects. A linked function has some unless its type says otherwise.
pub fn is_pure_callee(store: &Store, module: &Module, callee: ExprId) -> bool {
    let ty = match store.expr(callee) {
        Expr::Op(op) => return ops::info(op).relax.is_none_or(|op| op.pure),
        Expr::Global(name) => match module.function(name) {
            Some(function) => match store.expr(function) {
                Expr::Function(id) => return store.function(id).pure,
                // Its type tells, if it has one already.
                Expr::PrimFunc(id) => match store.checked_type(function) {
                    None => return is_pure_program(store, id),
                    ty => ty,
                },
                _ => store.checked_type(function),
            },
            None => return true,
        },
        Expr::Var(var) => store.var_type(var),
        _ => store.checked_type(callee),
    };
    matches!(ty.map(|ty| store.type_of_id(ty)), Some(Type::Callable { pure: true, .. }))
}

/// True if an intrinsic may do anything (`kOpaque` and `kUpdateState` in TVM's `src/tirx/op/builtin.cc`, and of devices).
fn is_opaque(name: &str) -> bool {
    const BEGINNINGS: &str = "@ anylist_reset anylist_set atomic_add call_cpacked call_extern call_llvm_intrin call_packed \
                              cooperative_tensor_ dma_ lookup_param nd_mem_alloc prefetch print_buffer ptx_ texture2d_ tvm_call_ \
                              tvm_global_barrier tvm_kernel_replace tvm_stack_ tvm_storage_sync tvm_struct_set tvm_thread_allreduce \
                              tvm_throw tvm_warp_";
    BEGINNINGS.split(' ').any(|beginning| name.starts_with(beginning))
}

/// True if a tensor program writes only memory that its statements allocate, and calls no impure intrinsic (TVM:
/// `s_tir::IsPureFunction`). A stub, whose body is `T.evaluate(0)`, is one.
pub(crate) fn is_pure_program(store: &Store, id: Id<PrimFunc>) -> bool {
    let mut own: FxHashSet<Id<Buffer>> = FxHashSet::default();
    let mut pure = true;
    store.for_each_stmt(store.prim_func(id).body, |stmt| {
        match stmt {
            Stmt::Alloc(buffer, _) => drop(own.insert(*buffer)),
            Stmt::Store { buffer, .. } => pure &= own.contains(buffer),
            _ => {}
        }
        if pure {
            store.for_each_prim_of(stmt, |root| {
                store.for_each_prim(root, &mut |_, expr| {
                    pure &= !matches!(expr, PrimExpr::Call { op, .. } if is_opaque(store.str(*op)));
                });
            });
        }
    });
    pure
}

/// True for a call that may have side effects.
pub fn is_impure_call(store: &Store, module: &Module, call: ExprId) -> bool {
    store.call(call).is_some_and(|call| !is_pure_callee(store, module, call.callee))
}

/// True if evaluating an expression may have side effects. A function that is only created has none; for a function as
/// `root`, its body counts.
pub fn contains_impure_call(store: &Store, module: &Module, root: ExprId) -> bool {
    contains_impure_call_of_another(store, module, root, root)
}

/// True if it may have side effects other than those of calls of `own`, the name of the function itself.
pub fn contains_impure_call_of_another(store: &Store, module: &Module, root: ExprId, own: ExprId) -> bool {
    let is_own = |callee: ExprId| match (store.expr(callee), store.expr(own)) {
        (Expr::Var(callee), Expr::Var(own)) => callee == own,
        (Expr::Global(callee), Expr::Global(own)) => callee == own,
        _ => false,
    };
    let is_other = |call: ExprId| store.call(call).is_some_and(|call| !is_own(call.callee));
    let mut stack = Vec::new();
    let mut next = Some(store.as_function(root).map_or(root, |function| function.body));
    while let Some(id) = next {
        if is_impure_call(store, module, id) && is_other(id) {
            return true;
        }
        if !matches!(store.expr(id), Expr::Function(_)) {
            for_each_child(store, id, |child| stack.extend(has_children(store, child).then_some(child)));
        }
        next = stack.pop();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By TVM's `is_pure_function.cc`: calls count everywhere, and so do stores into foreign memory.
    #[test]
    fn a_program_is_pure_when_nothing_in_it_writes_or_calls_out() {
        let pure = |body: &str| {
            let head = "@I.ir_module\nclass Module:\n    @T.prim_func\n    def main(a: T.Buffer((2,), \"int32\")):\n        ";
            let text = format!("{head}b = T.alloc_buffer((2,), \"int32\")\n        {body}\n");
            let mut store = Store::new();
            let read = crate::parse::parse(&mut store, &text);
            assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
            let Expr::PrimFunc(id) = store.expr(read.program.module.functions()[0].1) else { panic!("it is a tensor program") };
            is_pure_program(&store, id)
        };
        assert!(pure("b[0] = a[0] + T.max(a[1], 2)"));
        assert!(!pure("a[0] = 1"));
        assert!(!pure("b[0] = T.call_extern(\"int32\", \"rand\")"));
        assert!(!pure("if T.call_extern(\"int32\", \"rand\") == 0:\n            b[0] = 1"));
    }
}
