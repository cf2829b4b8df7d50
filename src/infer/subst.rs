//! Walking and rewriting types.

use crate::ir::walk::for_each_type_in;
use crate::ir::{Id, IdMap, Store, Type, TypeId, TypeVar};
use rustc_hash::FxHashMap;

/// Permanent facts about types: interned types never change.
#[derive(Default)]
pub(super) struct TypeFacts {
    facts: IdMap<Type, Fact>,
}

#[derive(Clone, Copy)]
struct Fact {
    has_holes: bool,
    has_type_vars: bool,
}

impl TypeFacts {
    /// True if a type has no holes in it.
    pub(super) fn is_closed(&mut self, store: &Store, ty: TypeId) -> bool {
        !self.fact(store, ty).has_holes
    }

    /// True if a type mentions type parameters, bound in it or not.
    pub(super) fn has_type_vars(&mut self, store: &Store, ty: TypeId) -> bool {
        self.fact(store, ty).has_type_vars
    }

    fn fact(&mut self, store: &Store, ty: TypeId) -> Fact {
        if let Some(&fact) = self.facts.get(ty) {
            return fact;
        }
        // Children are interned before their parents, so the stack only has the open ones.
        let mut stack = vec![ty];
        while let Some(&top) = stack.last() {
            let node = store.type_of_id(top);
            let mut fact = Fact {
                has_holes: matches!(node, Type::Hole(_)),
                has_type_vars: matches!(node, Type::Var(_))
                    || matches!(node, Type::Func { type_params, .. } if !type_params.is_empty()),
            };
            let mut missing = false;
            for_each_type_in(store, top, &mut |child| match self.facts.get(child) {
                Some(known) => {
                    fact.has_holes |= known.has_holes;
                    fact.has_type_vars |= known.has_type_vars;
                }
                None => {
                    missing = true;
                    stack.push(child);
                }
            });
            if !missing {
                self.facts.insert(top, fact);
                stack.pop();
            }
        }
        self.facts.get(ty).copied().unwrap_or(Fact { has_holes: true, has_type_vars: true })
    }
}

/// Replaces each type directly inside of a type by the result of `f`.
pub(crate) fn map_children(store: &mut Store, ty: TypeId, f: &mut dyn FnMut(&mut Store, TypeId) -> TypeId) -> TypeId {
    let mapped = match &*store.type_rc(ty) {
        Type::Tensor { .. } | Type::Var(_) | Type::Global(_) | Type::Hole(_) => return ty,
        Type::Tuple(fields) => Type::Tuple(fields.iter().map(|t| f(store, *t)).collect()),
        Type::Func { type_params, params, ret } => Type::Func {
            type_params: type_params.clone(),
            params: params.iter().map(|t| f(store, *t)).collect(),
            ret: f(store, *ret),
        },
        Type::Ref(value) => Type::Ref(f(store, *value)),
        Type::Apply { head, args } => Type::Apply { head: f(store, *head), args: args.iter().map(|t| f(store, *t)).collect() },
        _ => return ty,
    };
    store.ty(mapped)
}

/// Replaces type parameters in a type (TVM's `Bind`).
pub(super) fn substitute(store: &mut Store, facts: &mut TypeFacts, ty: TypeId, by: &FxHashMap<Id<TypeVar>, TypeId>) -> TypeId {
    if by.is_empty() || !facts.has_type_vars(store, ty) {
        return ty;
    }
    let mut done = FxHashMap::default();
    substitute_in(store, facts, ty, by, &mut done)
}

fn substitute_in(
    store: &mut Store,
    facts: &mut TypeFacts,
    ty: TypeId,
    by: &FxHashMap<Id<TypeVar>, TypeId>,
    done: &mut FxHashMap<TypeId, TypeId>,
) -> TypeId {
    if !facts.has_type_vars(store, ty) {
        return ty;
    }
    if let Type::Var(var) = *store.type_of_id(ty) {
        return by.get(&var).copied().unwrap_or(ty);
    }
    if let Some(&known) = done.get(&ty) {
        return known;
    }
    let result = map_children(store, ty, &mut |store, child| substitute_in(store, facts, child, by, done));
    done.insert(ty, result);
    result
}

/// Replaces type parameters in a type, each by the type beside it.
pub fn bind_type(store: &mut Store, ty: TypeId, by: impl IntoIterator<Item = (Id<TypeVar>, TypeId)>) -> TypeId {
    substitute(store, &mut TypeFacts::default(), ty, &by.into_iter().collect())
}
