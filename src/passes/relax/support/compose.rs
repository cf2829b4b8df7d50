//! Composes two functions into one.
//!
//! Source: `ComposeFunctions` in `src/relax/transform/utils.cc`.

use super::type_error;
use crate::build::{BlockBuilder, Mutation, copy_with_new_vars, function_over};
use crate::ir::{Binding, BindingBlock, Expr, ExprId, Function, Id, Module, Store, Type, TypeId, VarId};
use crate::pass::PassError;
use crate::passes::relax::canonicalize_bindings::canonicalize_bindings;
use crate::passes::relax::dead_code_elimination::remove_all_unused;

/// Copies a function with new variables.
pub(in crate::passes::relax) fn with_own_vars(store: &mut Store, module: &Module, function: ExprId) -> Result<ExprId, PassError> {
    let mut cx = Mutation::new(BlockBuilder::new(module));
    let function = copy_with_new_vars(store, &mut cx, function);
    cx.builder.finish()?;
    Ok(function)
}

/// Makes the function that applies `second` to the result of `first`.
pub(in crate::passes::relax) fn compose_functions(
    store: &mut Store,
    module: &Module,
    first: ExprId,
    second: ExprId,
) -> Result<ExprId, PassError> {
    let (Some(a), Some(b)) = (store.as_function(first), store.as_function(second)) else {
        return Err(type_error("what is lifted has the name of something that is no function of Relax"));
    };
    let (Expr::Seq { blocks: before, body: given }, Expr::Seq { blocks: after, body }) = (store.expr(a.body), store.expr(b.body))
    else {
        return Err(type_error("the body of a function is a sequence of blocks"));
    };
    let ty = a.ret.or(store.checked_type(a.body));
    let output = store.relax_var("func_a_output", ty, false);
    let mut bindings = vec![Binding { var: output, value: given, cast: None }];
    let whole = store.use_var(output);
    let params: Vec<VarId> = store.items(b.params).collect();
    let fields = |store: &Store, ty: Option<TypeId>| match ty.map(|ty| store.type_of_id(ty)) {
        Some(Type::Tuple(fields)) => Some(fields.to_vec()),
        _ => None,
    };
    // A tuple is passed unchanged to a function that takes one.
    let as_it_is = params.len() == 1 && fields(store, store.var_type(params[0])).is_some();
    let values: Vec<ExprId> = match fields(store, ty).filter(|_| !as_it_is) {
        Some(fields) => (0..)
            .zip(fields)
            .map(|(index, field)| store.add_typed(Expr::TupleGetItem { tuple: whole, index }, Some(field)))
            .collect(),
        None => vec![whole],
    };
    if values.len() != params.len() {
        let (given, taken) = (values.len(), params.len());
        return Err(type_error(format!(
            "Cannot compose functions together.  First function produces {given} values, but second function expects {taken} \
             parameters as input"
        )));
    }
    for (param, value) in params.into_iter().zip(values) {
        bindings.push(Binding { var: param, value, cast: store.var_type(param) });
    }
    let mut blocks: Vec<Id<BindingBlock>> = store.items(before).collect();
    blocks.push(store.add_block_of(&bindings, false));
    blocks.extend(store.items(after));
    let body = store.add_seq(&blocks, body);
    let function = function_over(store, None, Function { body, ret: b.ret, pure: a.pure && b.pure, ..a });
    let function = with_own_vars(store, module, function)?;
    let function = canonicalize_bindings(store, module, function)?;
    Ok(remove_all_unused(store, module, function))
}
