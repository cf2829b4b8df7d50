//! Types of calls that a pass has just built, from the types of their arguments (TVM's
//! `InferTypeLocal`).

use crate::ir::{AttrsId, Expr, ExprId, OpId, Store, Type, TypeId};
use crate::ops::{self, RuleCx};

/// Returns the result type of an operator for arguments of these types, if its relation can tell.
pub fn result_type(store: &mut Store, op: OpId, attrs: Option<AttrsId>, args: &[TypeId]) -> Option<TypeId> {
    let rule = ops::info(op).relay_rule()?;
    let out = store.hole();
    let mut types = args.to_vec();
    types.push(out);
    let mut found = None;
    let mut unify = |_: &mut Store, a: TypeId, b: TypeId| {
        if a == out {
            found = Some(b);
        } else if b == out {
            found = Some(a);
        }
        Ok(())
    };
    let holds = rule(&mut RuleCx { store, types: &types, n_inputs: args.len(), attrs, unify: &mut unify });
    found.filter(|_| holds == Ok(true))
}

/// Adds a call of an operator with the type that it has, as a copy of `pre`.
pub fn typed_call(store: &mut Store, pre: ExprId, callee: ExprId, args: &[ExprId], attrs: Option<AttrsId>) -> ExprId {
    let ty = match store.expr(callee) {
        Expr::Op(op) => {
            let types: Option<Vec<TypeId>> = args.iter().map(|arg| store.checked_type(*arg)).collect();
            types.and_then(|types| result_type(store, op, attrs, &types))
        }
        Expr::Function(function) => store.checked_type(store.function(function).body),
        _ => store.checked_type(pre),
    };
    let args = store.list(args);
    let info = store.add_call_info(attrs, &[]);
    store.rebuild(pre, Expr::Call { callee, args, info }, ty)
}

/// Adds `tuple.index` with its type.
pub fn typed_item(store: &mut Store, tuple: ExprId, index: u32) -> ExprId {
    let ty = store.checked_type(tuple).and_then(|ty| match store.type_of_id(ty) {
        Type::Tuple(fields) => fields.get(index as usize).copied(),
        _ => None,
    });
    store.add_typed(Expr::TupleGetItem { tuple, index }, ty)
}

/// Adds a tuple with its type.
pub fn typed_tuple(store: &mut Store, fields: &[ExprId]) -> ExprId {
    let types: Option<Vec<TypeId>> = fields.iter().map(|field| store.checked_type(*field)).collect();
    let ty = types.map(|types| store.tuple_type(&types));
    let fields = store.list(fields);
    store.add_typed(Expr::Tuple(fields), ty)
}
