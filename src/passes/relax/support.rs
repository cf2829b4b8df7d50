//! Helpers of several passes of Relax.

pub(super) mod aliases;
pub(super) mod captures;
pub(super) mod compose;
pub(super) mod lambda_names;
pub(super) mod lift_plan;
pub(super) mod liveness;
pub(super) mod results;
pub(super) mod scope;
pub(super) mod symbols;

use crate::diag::Diagnostic;
use crate::infer::relax::types;
use crate::ir::walk::{leaf_types, post_order};
use crate::ir::{
    AttrValue, AttrsId, Dim, Expr, ExprId, Function, Id, Module, Name, Object, PrimExpr, PrimId, Store, Symbol, Type, TypeId,
};
use crate::pass::PassError;

/// Replaces the attributes of a function of Relax.
pub(super) fn with_attrs(store: &mut Store, id: ExprId, attrs: Option<AttrsId>) -> ExprId {
    let Expr::Function(function) = store.expr(id) else { return id };
    let data = *store.function(function);
    let new = store.add_function(Function { attrs, ..data });
    let ty = store.checked_type(id);
    store.rebuild(id, Expr::Function(new), ty)
}

/// Returns the symbol under which a function is linked, if it is public.
pub(super) fn global_symbol(store: &Store, id: ExprId) -> Option<String> {
    let attrs = match store.expr(id) {
        Expr::Function(function) => store.function(function).attrs,
        Expr::PrimFunc(function) => store.prim_func(function).attrs,
        _ => None,
    };
    store.attr_str(attrs, "global_symbol").map(str::to_owned)
}

/// Renames functions of a module and the calls of them. Names that are not mentioned stay.
pub(super) fn renamed(store: &mut Store, module: &Module, names: &[(Id<Name>, Id<Name>)]) -> Module {
    use crate::ir::rewrite::{ExprMutator, Rewriting, Visit};
    struct Rename<'n>(&'n [(Id<Name>, Id<Name>)]);
    impl ExprMutator for Rename<'_> {
        fn rule(&self) -> &'static str {
            "rename a function"
        }
        fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
            if let Expr::Global(name) = store.expr(id)
                && let Some((_, new)) = self.0.iter().find(|(old, _)| *old == name)
            {
                let ty = store.checked_type(id);
                let new = store.add_typed(Expr::Global(*new), ty);
                return Visit::Replace(new);
            }
            Visit::Descend
        }
    }
    if names.is_empty() {
        return module.clone();
    }
    let mut result = module.clone();
    for (name, _) in module.functions() {
        result.remove_function(*name);
    }
    let mut rewriting = Rewriting::new();
    for &(name, function) in module.functions() {
        let new = rewriting.run(store, function, &mut Rename(names));
        let name = names.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| *new);
        result.set_function(name, new);
    }
    result
}

/// Returns the device of the first tensor in a type that has one.
pub(super) fn device_of(store: &Store, ty: TypeId) -> Option<Id<Object>> {
    leaf_types(store, ty).find_map(|ty| match store.type_of_id(ty) {
        Type::PartialTensor(info) => info.vdevice,
        _ => None,
    })
}

/// True if the target of a device is a GPU (`gpu` is among its keys).
pub(super) fn is_gpu(store: &Store, device: Id<Object>) -> bool {
    let Some(AttrValue::Map(target)) = store.object_field(device, "target") else {
        return matches!(store.vdevice_kind(device), "cuda" | "rocm" | "metal" | "vulkan" | "opencl" | "webgpu");
    };
    let keys = target.iter().find(|(name, _)| store.str(*name) == "keys").map(|(_, keys)| keys);
    let Some(AttrValue::Array(keys)) = keys else { return false };
    keys.iter().any(|key| matches!(key, AttrValue::Str(key) if store.str(*key) == "gpu"))
}

/// Returns the symbol of a scalar that is one.
pub(super) fn symbol_of(store: &Store, expr: ExprId) -> Option<Id<Symbol>> {
    match store.expr(expr) {
        Expr::Var(var) => store.var_data(var).symbol,
        Expr::Prim(prim) => match *store.prim_of_id(prim) {
            PrimExpr::Var(symbol) => Some(symbol),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the symbols in a scalar expression.
pub(super) fn symbols_in(store: &Store, prim: PrimId) -> Vec<Id<Symbol>> {
    let mut found = Vec::new();
    store.for_each_prim(prim, &mut |_, expr| {
        if let PrimExpr::Var(symbol) = expr {
            found.push(*symbol);
        }
    });
    found
}

/// Returns the symbols that a shape or a scalar is made of, in their order; none for any other node.
pub(super) fn symbols_made_of(store: &Store, id: ExprId) -> Vec<Id<Symbol>> {
    let of_dim = |dim: &Dim| match *dim {
        Dim::Symbol(symbol) => vec![symbol],
        Dim::Expr(prim) => symbols_in(store, prim),
        Dim::Int { .. } | Dim::Any => Vec::new(),
    };
    match store.expr(id) {
        Expr::Shape(dims) => store.dims_of_id(dims).iter().flat_map(of_dim).collect(),
        Expr::Prim(prim) => symbols_in(store, prim),
        _ => Vec::new(),
    }
}

/// Returns the function that is linked under a name or, if it is private, has it in the module.
pub(super) fn find_function(store: &Store, module: &Module, name: &str) -> Option<(Id<Name>, ExprId)> {
    module.functions().iter().copied().find(|(own, function)| {
        let symbol = global_symbol(store, *function);
        symbol.as_deref().unwrap_or(store.str(*own)) == name && matches!(store.expr(*function), Expr::Function(_))
    })
}

/// Makes an error about the arguments of a pass.
pub(super) fn type_error(message: impl Into<String>) -> PassError {
    vec![Diagnostic::error("relax-pass", message, None)]
}

/// Returns the symbols in shapes, scalars and types of a value.
pub(super) fn used_symbols_of(store: &Store, value: ExprId) -> Vec<Id<Symbol>> {
    let mut found = Vec::new();
    for id in post_order(store, value) {
        used_symbols_at(store, id, &mut found);
    }
    found
}

/// Adds the symbols that a node itself uses.
pub(super) fn used_symbols_at(store: &Store, id: ExprId, found: &mut Vec<Id<Symbol>>) {
    match store.expr(id) {
        Expr::Shape(dims) => {
            for dim in store.dims_of_id(dims) {
                match *dim {
                    Dim::Symbol(symbol) => found.push(symbol),
                    Dim::Expr(prim) => found.extend(symbols_in(store, prim)),
                    Dim::Int { .. } | Dim::Any => {}
                }
            }
        }
        Expr::Prim(prim) => found.extend(symbols_in(store, prim)),
        Expr::Call { info: Some(info), .. } => {
            for ty in &store.call_info(info).type_args {
                found.extend(types::symbols(store, *ty, false));
            }
        }
        _ => {}
    }
}
