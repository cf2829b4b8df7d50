//! Calls of operators and runtime functions, for the passes that lower programs, and queries of a module.

use crate::infer::relax::types::symbols;
use crate::ir::{AttrValue, AttrsId, Dim, Expr, ExprId, Extents, Id, Module, Object, PrimId, Store, Symbol, Type, TypeId, VarId};
use crate::ops;

/// Returns the operator with this name after `R.`, which must exist.
pub(super) fn op(store: &mut Store, name: &str) -> ExprId {
    match ops::lookup_relax(name) {
        Some(op) => store.add(Expr::Op(op)),
        None => panic!("Relax has no operator `{name}`"),
    }
}

/// Makes `R.name(args)`, without a type yet.
pub(super) fn call(store: &mut Store, name: &str, args: &[ExprId]) -> ExprId {
    let callee = op(store, name);
    store.add_call(callee, args, None)
}

/// Makes `R.name(args, attrs)` with the written attributes and the defaults of the others, without a type yet.
pub(super) fn call_with(store: &mut Store, name: &str, args: &[ExprId], written: &[(&str, AttrValue)]) -> ExprId {
    let callee = op(store, name);
    let attrs = attrs_with(store, name, written);
    store.add_call(callee, args, attrs)
}

/// Returns the attributes for calls of an operator: the written ones, and the defaults of the others.
pub(super) fn attrs_with(store: &mut Store, name: &str, written: &[(&str, AttrValue)]) -> Option<AttrsId> {
    let schema = ops::lookup_relax(name).and_then(|op| ops::info(op).relax.as_ref()).and_then(|row| row.attrs);
    let set = schema.and_then(|schema| schema.complete(store, written).ok());
    set.map(|set| store.attrs(set))
}

/// Makes `R.name(args)` with a type that the rule of the operator does not find.
pub(super) fn call_typed(store: &mut Store, name: &str, args: &[ExprId], ty: TypeId) -> ExprId {
    let callee = op(store, name);
    let args = store.list(args);
    store.add_typed(Expr::Call { callee, args, info: None }, Some(ty))
}

/// Makes `R.call_packed("symbol", args, ty_args=(ty,))`.
pub(super) fn packed(store: &mut Store, symbol: &str, args: &[ExprId], ty: TypeId) -> ExprId {
    let callee = external(store, symbol);
    let args = store.list(args);
    let info = store.add_call_info(None, &[ty]);
    store.add_typed(Expr::Call { callee, args, info }, Some(ty))
}

/// Makes `R.ExternFunc("symbol")`.
pub(super) fn external(store: &mut Store, symbol: &str) -> ExprId {
    let symbol = store.name(symbol);
    let ty = store.ty(Type::PackedFunc);
    store.add_typed(Expr::Extern(symbol), Some(ty))
}

/// Returns the name of the operator that a call calls, as it stands after `R.`; empty for all other expressions.
pub(super) fn op_name(store: &Store, id: ExprId) -> &'static str {
    store.called_op(id).and_then(|op| ops::info(op).relax.as_ref()).map_or("", |row| row.name)
}

/// Returns the arguments of a call; none when it is not a call.
pub(super) fn args(store: &Store, id: ExprId) -> Vec<ExprId> {
    ops::build::args(store, id)
}

/// Returns the fields of a tuple literal.
pub(super) fn fields(store: &Store, id: ExprId) -> Option<Vec<ExprId>> {
    match store.expr(id) {
        Expr::Tuple(fields) => Some(store.items(fields).collect()),
        _ => None,
    }
}

/// Makes a value of a scalar.
pub(super) fn prim(store: &mut Store, prim: PrimId) -> ExprId {
    let ty = store.ty(Type::Prim(store.prim_dtype(prim)));
    store.add_typed(Expr::Prim(prim), Some(ty))
}

/// Makes a value of an integer of 64 bits.
pub(super) fn int(store: &mut Store, value: i64) -> ExprId {
    let number = store.prim_int(value, crate::ir::DType::I64);
    prim(store, number)
}

/// Makes `R.str(text)`.
pub(super) fn string(store: &mut Store, text: &str) -> ExprId {
    let text = store.name(text);
    let ty = store.ty(Type::Str);
    store.add_typed(Expr::Str(text), Some(ty))
}

/// Makes `R.dtype(dtype)`.
pub(super) fn dtype(store: &mut Store, dtype: crate::ir::DType) -> ExprId {
    let ty = store.ty(Type::Any);
    store.add_typed(Expr::DataType(dtype), Some(ty))
}

/// Makes `R.shape(dims)`.
pub(super) fn shape(store: &mut Store, dims: &[Dim]) -> ExprId {
    let ty = store.ty(Type::Shape(Extents::Known(dims.into())));
    let dims = store.dims(dims);
    store.add_typed(Expr::Shape(dims), Some(ty))
}

/// Makes a tuple of typed values.
pub(super) fn tuple(store: &mut Store, fields: &[ExprId]) -> ExprId {
    let any = store.ty(Type::Any);
    let types: Vec<TypeId> = fields.iter().map(|field| store.checked_type(*field).unwrap_or(any)).collect();
    let ty = store.tuple_type(&types);
    let fields = store.list(fields);
    store.add_typed(Expr::Tuple(fields), Some(ty))
}

/// Returns the extents of a shape that is a literal or known from the type of a variable.
pub(super) fn extents(store: &Store, shape: ExprId) -> Option<Vec<Dim>> {
    match store.expr(shape) {
        Expr::Shape(dims) => Some(store.dims_of_id(dims).to_vec()),
        _ => match store.type_of_id(store.checked_type(shape)?) {
            Type::Shape(Extents::Known(dims)) => Some(dims.to_vec()),
            _ => None,
        },
    }
}

/// Returns the extents in a type of a tensor or shape, if all are known.
pub(super) fn extents_of(ty: &Type) -> Option<&[Dim]> {
    match ty {
        Type::Tensor { shape: dims, .. } | Type::Shape(Extents::Known(dims)) => Some(dims),
        Type::PartialTensor(info) => match &info.extents {
            Extents::Known(dims) => Some(dims),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the devices of the module (`I.module_global_infos({"vdevice": [...]})`).
pub(super) fn devices(store: &Store, module: &Module) -> Vec<Id<Object>> {
    match store.attr(module.global_infos(), "vdevice") {
        Some(AttrValue::Array(items)) => items
            .iter()
            .filter_map(|item| match item {
                AttrValue::Object(device) => Some(*device),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns the symbols in the types of parameters.
pub(super) fn signature_symbols(store: &Store, params: impl IntoIterator<Item = VarId>) -> Vec<Id<Symbol>> {
    let mut found = Vec::new();
    for param in params {
        found.extend(store.var_data(param).symbol);
        if let Some(ty) = store.var_type(param) {
            found.extend(symbols(store, ty, false));
        }
    }
    found
}
