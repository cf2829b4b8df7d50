//! Kinds: checks that types are composed correctly, and that named types exist. After TVM's `kind_check.cc`.

use crate::ir::walk::for_each_type_in;
use crate::ir::{Module, Store, Type, TypeId, show_type};
use rustc_hash::FxHashSet;

/// Checks types, each once.
#[derive(Default)]
pub(crate) struct KindChecker {
    fine: FxHashSet<TypeId>,
}

impl KindChecker {
    /// Returns TVM's message about an invalid type.
    pub(crate) fn check(&mut self, store: &Store, module: &Module, ty: TypeId) -> Option<String> {
        if matches!(store.type_of_id(ty), Type::Tensor { .. }) {
            return None;
        }
        let mut stack = vec![ty];
        while let Some(ty) = stack.pop() {
            let (role, head) = match store.type_of_id(ty) {
                Type::Tensor { .. } | Type::Var(_) | Type::Global(_) | Type::Hole(_) => continue,
                Type::Tuple(_) => ("tuple member", None),
                Type::Func { .. } => ("function type parameter", None),
                Type::Ref(_) => ("ref contents", None),
                Type::Apply { head, args } => ("type call argument", Some((*head, args.len()))),
                _ => return Some(format!("Relay has no type {}", show_type(store, ty))),
            };
            if !self.fine.insert(ty) {
                continue;
            }
            if let Some((head, n_args)) = head {
                let Type::Global(name) = *store.type_of_id(head) else {
                    let (ty, head) = (show_type(store, ty), show_type(store, head));
                    return Some(format!("The callee in {ty} is not a global type var, but is {head}"));
                };
                let Some(adt) = module.adt(name) else {
                    return Some(format!("the type variable : `{}` is undefined", store.str(name)));
                };
                let expected = store.adt(adt).type_params.len();
                if expected != n_args {
                    let ty = show_type(store, ty);
                    return Some(format!("Expected {expected} arguments for {ty}; got {n_args}"));
                }
            }
            let mut wrong = None;
            for_each_type_in(store, ty, &mut |child| {
                let is_head = head.is_some_and(|(head, _)| head == child);
                if !is_head && matches!(store.type_of_id(child), Type::Global(_)) {
                    wrong = Some(child);
                }
                stack.push(child);
            });
            if let Some(child) = wrong {
                let (child, ty) = (show_type(store, child), show_type(store, ty));
                return Some(format!(
                    "Incorrect kind for a {role}. Type {child} inside {ty} is the name of a type definition and takes type arguments"
                ));
            }
        }
        None
    }
}
