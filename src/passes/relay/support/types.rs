//! Type parameters of functions, replaced by types.

use crate::infer::map_type_children;
use crate::ir::rewrite::{ExprMutator, Rewriting};
use crate::ir::walk::for_each_type_in;
use crate::ir::{Expr, ExprId, Function, Id, Store, Type, TypeId, TypeVar, VarId};
use rustc_hash::FxHashMap;

/// The types that stand for type parameters.
pub type TypeArgs = FxHashMap<Id<TypeVar>, TypeId>;

/// Replaces type parameters in a type. Recursive: types nest at most as deep as the parser lets them.
pub fn in_type(store: &mut Store, ty: TypeId, by: &TypeArgs) -> TypeId {
    match store.type_of_id(ty) {
        Type::Var(var) => by.get(var).copied().unwrap_or(ty),
        _ => map_type_children(store, ty, &mut |store, ty| in_type(store, ty, by)),
    }
}

/// True if a type is one that `is` says, or has one inside.
pub fn has(store: &Store, ty: TypeId, is: fn(&Type) -> bool) -> bool {
    let mut left = vec![ty];
    while let Some(id) = left.pop() {
        if is(store.type_of_id(id)) {
            return true;
        }
        for_each_type_in(store, id, &mut |inner| left.push(inner));
    }
    false
}

/// Copies an expression with types in place of type parameters; what it binds gets new variables.
pub fn specialised(store: &mut Store, id: ExprId, by: &TypeArgs) -> ExprId {
    Rewriting::new().run(store, id, &mut Specialise(by))
}

struct Specialise<'a>(&'a TypeArgs);

impl ExprMutator for Specialise<'_> {
    fn rule(&self) -> &'static str {
        "types in place of type parameters"
    }

    fn define_var(&mut self, store: &mut Store, var: VarId) -> VarId {
        let data = store.var_data(var);
        let (annotation, ty) = (data.annotation, data.ty);
        let [annotation, ty] = [annotation, ty].map(|ty| ty.map(|ty| in_type(store, ty, self.0)));
        let fresh = store.fresh_var(var);
        store.var_from(fresh, annotation, ty)
    }

    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        match store.expr(post) {
            Expr::Function(function) => {
                let function = *store.function(function);
                let ret = function.ret.map(|ret| in_type(store, ret, self.0));
                if ret == function.ret {
                    return post;
                }
                let new = store.add_function(Function { ret, ..function });
                store.rebuild(post, Expr::Function(new), None)
            }
            Expr::Call { callee, args, info: Some(info) } => {
                let old = store.call_info(info).clone();
                let types: Vec<TypeId> = old.type_args.iter().map(|ty| in_type(store, *ty, self.0)).collect();
                if *types == *old.type_args {
                    return post;
                }
                let info = store.add_call_info(old.attrs, &types);
                store.rebuild(post, Expr::Call { callee, args, info }, None)
            }
            _ => post,
        }
    }
}
