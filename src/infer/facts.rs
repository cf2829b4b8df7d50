//! A cache for results of inference. The result for a root depends on the root, on the annotations of the
//! global functions it refers to and on the definitions of types; as long as these are the same, it is
//! reused. Passes leave most functions alone, and InferType runs after each of them.

use crate::ir::{ExprId, Id, Inferred, Module, Name, Store, Type, TypeId};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Returns the cached result for `root`, if it was inferred before in the same context.
pub(super) fn recall(store: &mut Store, module: &Module, root: ExprId) -> Option<ExprId> {
    let fact = store.inferred.get(&root)?.clone();
    let same =
        *fact.adts == *module.adts() && fact.globals.iter().all(|(name, ty)| annotated_type(store, module, *name) == Some(*ty));
    same.then_some(fact.result)
}

/// Remembers that `root` became `result`, which stays as it is when it is inferred again.
pub(super) fn remember(store: &mut Store, module: &Module, root: ExprId, result: ExprId, globals: FxHashMap<Id<Name>, TypeId>) {
    let mut seen = Vec::with_capacity(globals.len());
    for name in globals.into_keys() {
        // A function that is not annotated in full has no type of its own that could be compared.
        let Some(ty) = annotated_type(store, module, name) else { return };
        seen.push((name, ty));
    }
    let fact = Rc::new(Inferred { result, globals: seen.into(), adts: module.adts().into() });
    store.inferred.insert(root, fact.clone());
    store.inferred.insert(result, fact);
}

/// Returns the type that the annotations of a global function spell out (TVM's `func_type_annotation`).
fn annotated_type(store: &mut Store, module: &Module, name: Id<Name>) -> Option<TypeId> {
    let function = store.as_function(module.function(name)?)?;
    let params: Option<Box<[TypeId]>> = store.items(function.params).map(|param| store.var_data(param).annotation).collect();
    let type_params = store.items(function.type_params).collect();
    let (params, ret) = (params?, function.ret?);
    Some(store.ty(Type::Func { type_params, params, ret }))
}
