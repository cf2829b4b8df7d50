//! Functions with other variables: TVM's `Bind` and `CopyWithNewVars` (src/relax/utils.cc).

use super::{BlockBuilder, BlockMutator, Follow, Mutation, run};
use crate::diag::Diagnostic;
use crate::infer::relax::types::{self, Bindings};
use crate::ir::walk::post_order;
use crate::ir::{Dim, Expr, ExprId, Extents, Function, Id, Module, Store, Symbol, Type, TypeId, VarId};

/// Replaces variables and symbols in a function. Replaced parameters are removed.
pub fn bind(
    store: &mut Store,
    module: &Module,
    function: ExprId,
    vars: &[(VarId, ExprId)],
    symbols: Bindings,
) -> Result<ExprId, Vec<Diagnostic>> {
    let mut cx = Mutation::new(BlockBuilder::new(module));
    let result = bind_in(store, &mut cx, function, vars, symbols);
    cx.builder.finish().map(|_| result)
}

/// Does the same as [`bind`] for any expression, inside of a rewrite whose builder it uses.
pub fn bind_in(store: &mut Store, cx: &mut Mutation, expr: ExprId, vars: &[(VarId, ExprId)], symbols: Bindings) -> ExprId {
    let outer = cx.save();
    let outer_symbols = std::mem::replace(&mut cx.symbols, symbols);
    let outer_renames = std::mem::replace(&mut cx.renames, false);
    cx.forget();
    for (var, by) in vars {
        cx.replace(store, *var, *by);
    }
    let mut root = expr;
    if let Expr::Function(id) = store.expr(expr) {
        let data = *store.function(id);
        let kept: Vec<VarId> = store.items(data.params).filter(|param| cx.replaced(*param).is_none()).collect();
        if kept.len() != data.params.len() {
            let params = store.list(&kept);
            let new = store.add_function(Function { params, ..data });
            root = store.rebuild(expr, Expr::Function(new), None);
        }
    }
    let mut result = run(store, cx, &mut Follow("substitute"), root);
    // A written result type stays, whatever is known of the body.
    if let (Some(old), Some(new)) = (store.as_function(root), store.as_function(result))
        && result != root
    {
        let ret = old.ret.map(|ty| cx.ty(store, ty));
        result = super::function_over(store, Some(result), Function { ret, ..new });
    }
    cx.restore(outer);
    (cx.symbols, cx.renames) = (outer_symbols, outer_renames);
    result
}

/// Finds the values of symbols in the type of a variable, given the type of its value (TVM's `InferSymbolicVarMap`).
pub fn infer_symbols(store: &Store, var: TypeId, value: TypeId, found: &mut Vec<(Id<Symbol>, Dim)>) {
    let mut pairs = vec![(var, value)];
    while let Some((var, value)) = pairs.pop() {
        if let (Type::Tuple(a), Type::Tuple(b)) = (store.type_of_id(var), store.type_of_id(value)) {
            if a.len() == b.len() {
                pairs.extend(a.iter().copied().zip(b.iter().copied()).rev());
            }
            continue;
        }
        let is_shape = |ty: TypeId| matches!(store.type_of_id(ty), Type::Shape(_));
        let (Some(a), Some(b)) = (known_dims(store, var), known_dims(store, value)) else { continue };
        if is_shape(var) != is_shape(value) || a.len() != b.len() {
            continue;
        }
        for (a, b) in a.iter().zip(b) {
            if let Dim::Symbol(symbol) = a {
                found.push((*symbol, *b));
            }
        }
    }
}

/// Returns the extents of a tensor or shape, if they are known.
pub fn known_dims(store: &Store, ty: TypeId) -> Option<&[Dim]> {
    match store.type_of_id(ty) {
        Type::Tensor { shape, .. } => Some(shape),
        Type::Shape(Extents::Known(dims)) => Some(dims),
        Type::PartialTensor(info) => match &info.extents {
            Extents::Known(dims) => Some(dims),
            // The variable holds a shape, whose extents may be known.
            Extents::Var(var) => match store.type_of_id(store.var_type(*var)?) {
                Type::Shape(Extents::Known(dims)) => Some(dims),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Returns the symbols that a function defines: with its parameters, or with a `match_cast` in it, in program order
/// (TVM's `DefinedSymbolicVars`).
pub fn defined_symbols(store: &Store, function: ExprId) -> Vec<Id<Symbol>> {
    let mut found: Vec<Id<Symbol>> = Vec::new();
    let mut add = |symbol: Id<Symbol>| {
        if !found.contains(&symbol) {
            found.push(symbol);
        }
    };
    // Functions come before their contents.
    for id in post_order(store, function).into_iter().rev() {
        match store.expr(id) {
            Expr::Function(function) => {
                for param in store.items(store.function(function).params) {
                    store.var_data(param).symbol.into_iter().for_each(&mut add);
                    store.var_type(param).into_iter().flat_map(|ty| types::symbols(store, ty, true)).for_each(&mut add);
                }
            }
            Expr::Seq { blocks, .. } => {
                for binding in store.bindings(blocks) {
                    binding.cast.into_iter().flat_map(|ty| types::symbols(store, ty, true)).for_each(&mut add);
                }
            }
            _ => {}
        }
    }
    found
}

/// Copies a function so that it shares no variable and no symbol with the original, and both may stand in one module.
pub fn copy_with_new_vars(store: &mut Store, cx: &mut Mutation, function: ExprId) -> ExprId {
    struct Fresh;
    impl BlockMutator for Fresh {
        fn rule(&self) -> &'static str {
            "copy"
        }
        fn wants(&self, _: &Store, _: ExprId) -> bool {
            false
        }
        fn define_var(&mut self, store: &mut Store, cx: &mut Mutation, var: VarId) -> VarId {
            let typed = cx.define_var(store, var);
            store.fresh_var(typed)
        }
    }
    let mut symbols = Bindings::default();
    for symbol in defined_symbols(store, function) {
        let data = store.symbol(symbol).clone();
        symbols.insert(symbol, Dim::Symbol(store.add_symbol(data)));
    }
    let outer = cx.save();
    let outer_symbols = std::mem::replace(&mut cx.symbols, symbols);
    let outer_renames = std::mem::replace(&mut cx.renames, true);
    cx.forget();
    let result = run(store, cx, &mut Fresh, function);
    cx.restore(outer);
    (cx.symbols, cx.renames) = (outer_symbols, outer_renames);
    result
}
