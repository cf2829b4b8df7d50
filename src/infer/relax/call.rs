//! The type of a call.

use super::types::{self, Bindings, Fit};
use super::{Signatures, opaque};
use crate::ir::{AttrsId, CallInfo, Dim, Expr, ExprId, Extents, Id, List, Name, PrimOp, Store, TensorInfo, Type, TypeId};
use crate::ops::relax::deduce::{Bound, Deduce};
use crate::ops::{self, dim_arith};
use crate::print::relax_ty;
use crate::tir::arith::Analyzer;

/// Returns the type of a call, or the reason why it has none (TVM's `InferType` of a call).
pub fn deduce_call(
    store: &mut Store,
    signatures: &Signatures,
    callee: ExprId,
    args: List<Expr>,
    info: Option<Id<CallInfo>>,
    bound: Bound<'_>,
) -> Result<TypeId, String> {
    const FEW: usize = 8;
    let any = store.ty(Type::Any);
    if args.len() > FEW {
        let args: Vec<ExprId> = store.items(args).collect();
        let types: Vec<TypeId> = args.iter().map(|arg| type_of(store, signatures, *arg).unwrap_or(any)).collect();
        return deduce(store, signatures, callee, &args, &types, info, bound);
    }
    // Nearly all calls have few arguments, which need no memory of their own.
    let (mut few, mut types) = ([callee; FEW], [any; FEW]);
    for at in 0..args.len() {
        few[at] = store.item(args, at);
        types[at] = type_of(store, signatures, few[at]).unwrap_or(any);
    }
    deduce(store, signatures, callee, &few[..args.len()], &types[..args.len()], info, bound)
}

/// Returns the type of an operand; functions of the module and linked ones have none of their own.
pub(super) fn type_of(store: &mut Store, signatures: &Signatures, id: ExprId) -> Option<TypeId> {
    match store.expr(id) {
        Expr::Global(name) => signatures.get(&name).copied(),
        Expr::Extern(_) => Some(store.checked_type(id).unwrap_or_else(|| opaque(store))),
        _ => store.checked_type(id),
    }
}

fn deduce(
    store: &mut Store,
    signatures: &Signatures,
    callee: ExprId,
    args: &[ExprId],
    types: &[TypeId],
    info: Option<Id<CallInfo>>,
    bound: Bound<'_>,
) -> Result<TypeId, String> {
    let (attrs, ty_args): (Option<AttrsId>, Vec<TypeId>) = match info {
        Some(info) => {
            let info = store.call_info(info);
            (info.attrs, info.type_args.to_vec())
        }
        None => (None, Vec::new()),
    };
    match store.expr(callee) {
        Expr::Op(op) => {
            let Some((row, rule)) = ops::info(op).relax.as_ref().and_then(|row| Some((row, row.deduce?))) else {
                return Ok(store.ty(Type::Any));
            };
            rule(&mut Deduce { store, op: row.name, args, types, attrs, ty_args: &ty_args, bound })
        }
        Expr::Extern(symbol) if !is_pure_view(store, symbol, callee) && has_signature(store, callee) => {
            let ty = store.checked_type(callee).unwrap_or_else(|| opaque(store));
            deduce_callable(store, ty, args, types)
        }
        // `R.call_packed` has the type that it names, or any.
        Expr::Extern(symbol) => Ok(match ty_args.as_slice() {
            // TVM's type of this function names the rule of views (`tvm.relax.type.infer_view_ty`).
            [] if is_pure_view(store, symbol, callee) => {
                let row = ops::lookup_relax("memory.view").and_then(|op| ops::info(op).relax.as_ref());
                let Some((row, rule)) = row.and_then(|row| Some((row, row.deduce?))) else { return Ok(store.ty(Type::Any)) };
                return rule(&mut Deduce { store, op: row.name, args, types, attrs, ty_args: &[], bound });
            }
            [] => store.ty(Type::Any),
            [one] => *one,
            many => store.tuple_type(many),
        }),
        Expr::Global(name) => {
            let ty = match signatures.get(&name) {
                Some(ty) => *ty,
                None => opaque(store),
            };
            deduce_callable(store, ty, args, types)
        }
        _ => match store.checked_type(callee) {
            Some(ty) => deduce_callable(store, ty, args, types),
            None => Ok(store.ty(Type::Any)),
        },
    }
}

/// True for a linked function whose result is known from its own type.
fn has_signature(store: &Store, callee: ExprId) -> bool {
    match store.checked_type(callee).map(|ty| store.type_of_id(ty)) {
        Some(Type::Callable { params: Some(_), .. }) => true,
        Some(Type::Callable { params: None, ret, .. }) => !matches!(store.type_of_id(*ret), Type::Any),
        _ => false,
    }
}

/// True for the function behind `memory.view`: its type, which is not printed whole, names the rule of that operator
/// (TVM's `tvm.relax.type.infer_view_ty`).
fn is_pure_view(store: &Store, symbol: Id<Name>, callee: ExprId) -> bool {
    let ty = store.checked_type(callee).map(|ty| store.type_of_id(ty));
    store.str(symbol) == "runtime.TVMTensorCreateView" && matches!(ty, Some(Type::Callable { pure: true, .. }))
}

/// Returns the type of a call of a value of type `callee` with these arguments, which have these types.
pub(crate) fn deduce_callable(store: &mut Store, callee: TypeId, args: &[ExprId], types: &[TypeId]) -> Result<TypeId, String> {
    let (params, ret) = match store.type_of_id(callee) {
        Type::Callable { params: Some(params), ret, .. } => (params.to_vec(), *ret),
        Type::Callable { params: None, ret, .. } => return Ok(*ret),
        Type::Any | Type::PackedFunc => return Ok(store.ty(Type::Any)),
        _ => return Err(format!("a value of type {} cannot be called", relax_ty(store, callee))),
    };
    if params.len() != args.len() {
        return Err(format!(
            "Number of arguments and parameters mismatch: function expects {} parameters, but got {} arguments",
            params.len(),
            args.len()
        ));
    }
    let mut bound = Bindings::default();
    for (index, (param, given)) in params.iter().zip(types.iter().copied()).enumerate() {
        if store.is_left_out(args[index]) {
            continue;
        }
        bind(store, *param, given, &mut bound);
        let wanted = allowing(store, *param, given);
        // Extents alone may still turn out to be equal.
        if types::fit(store, wanted, given) < Fit::Extents {
            let (wanted, given) = (relax_ty(store, *param), relax_ty(store, given));
            return Err(format!("Argument {index} type mismatch: expected {wanted}, given {given}"));
        }
    }
    let result = types::substitute(store, ret, &bound);
    // Symbols of the callee that no argument determines have no meaning for the caller.
    let foreign: Vec<_> = types::symbols(store, ret, false).into_iter().filter(|symbol| !bound.contains_key(symbol)).collect();
    Ok(if foreign.is_empty() { result } else { types::erase(store, result, &|symbol| !foreign.contains(&symbol), &|_| true) })
}

/// Binds the symbols of a parameter's type to the extents of an argument.
fn bind(store: &Store, param: TypeId, given: TypeId, bound: &mut Bindings) {
    let mut pairs = vec![(param, given)];
    while let Some((param, given)) = pairs.pop() {
        if let (Type::Tuple(a), Type::Tuple(b)) = (store.type_of_id(param), store.type_of_id(given)) {
            pairs.extend(a.iter().copied().zip(b.iter().copied()));
            continue;
        }
        if let (Some(a), Some(b)) = (extents(store, param), extents(store, given))
            && a.len() == b.len()
        {
            for (a, b) in a.iter().zip(&b) {
                if let Dim::Symbol(symbol) = a {
                    bound.entry(*symbol).or_insert(*b);
                }
            }
        }
    }
}

/// A parameter's type with the argument's extents where it has a symbol alone. A symbol that another argument has bound
/// to something else may still be equal when the program runs, so TVM does not refuse the call; what is computed from
/// symbols is compared as it stands.
fn allowing(store: &mut Store, param: TypeId, given: TypeId) -> TypeId {
    if let (Type::Tuple(a), Type::Tuple(b)) = (store.type_of_id(param), store.type_of_id(given)) {
        if a.len() != b.len() {
            return param;
        }
        let pairs: Vec<_> = a.iter().copied().zip(b.iter().copied()).collect();
        let fields: Vec<TypeId> = pairs.into_iter().map(|(a, b)| allowing(store, a, b)).collect();
        return store.tuple_type(&fields);
    }
    let (Some(a), Some(b)) = (extents(store, param), extents(store, given)) else { return param };
    if a.len() != b.len() {
        return param;
    }
    let dims = a.iter().zip(&b).map(|(a, b)| if matches!(a, Dim::Symbol(_)) { *b } else { *a }).collect();
    let ty = match store.type_of_id(param).clone() {
        Type::Tensor { dtype, .. } => Type::Tensor { shape: dims, dtype },
        Type::Shape(_) => Type::Shape(Extents::Known(dims)),
        Type::PartialTensor(info) => Type::PartialTensor(TensorInfo { extents: Extents::Known(dims), ..info }),
        _ => return param,
    };
    store.ty(ty)
}

fn extents(store: &Store, ty: TypeId) -> Option<Vec<Dim>> {
    match store.type_of_id(ty) {
        Type::Tensor { shape, .. } => Some(shape.to_vec()),
        Type::Shape(Extents::Known(dims)) => Some(dims.to_vec()),
        Type::PartialTensor(info) => match &info.extents {
            Extents::Known(dims) => Some(dims.to_vec()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a `reshape` with the values of its open extents; nothing for other expressions, and where none is open.
pub fn closed_reshape(store: &mut Store, call: ExprId) -> Result<Option<Expr>, String> {
    let Some((data, dims)) = open_reshape(store, call) else { return Ok(None) };
    let shape = reshaped(store, data, &dims)?;
    let Expr::Call { callee, info, .. } = store.expr(call) else { return Ok(None) };
    let args = store.list(&[data, shape]);
    Ok(Some(Expr::Call { callee, args, info }))
}

/// Returns the data and the extents of a `reshape` with open ones: 0 for the data's extent, -1 for the remaining elements.
fn open_reshape(store: &Store, call: ExprId) -> Option<(ExprId, Vec<Dim>)> {
    let Expr::Call { args, .. } = store.expr(call) else { return None };
    let op = store.called_op(call)?;
    if args.len() != 2 || ops::info(op).relax.as_ref().is_none_or(|row| row.name != "reshape") {
        return None;
    }
    let Expr::Shape(dims) = store.expr(store.item(args, 1)) else { return None };
    let dims = store.dims_of_id(dims).to_vec();
    dims.iter().any(|dim| matches!(dim.known(), Some(0 | -1))).then(|| (store.item(args, 0), dims))
}

/// Replaces open extents by their values.
fn reshaped(store: &mut Store, data: ExprId, dims: &[Dim]) -> Result<ExprId, String> {
    if dims.iter().filter(|dim| dim.known() == Some(-1)).count() > 1 {
        return Err("Reshape accepts at most one \"-1\" in the new shape".to_owned());
    }
    let old = store.checked_type(data).and_then(|ty| store.tensor_info(ty)).and_then(|info| match info.extents {
        Extents::Known(dims) => Some(dims.to_vec()),
        Extents::Var(var) => extents(store, store.var_type(var)?),
        _ => None,
    });
    let unknown = "Reshape expects the input tensor to have known shape when there is some dimension length to infer";
    let old = old.ok_or(unknown)?;
    let mut new = dims.to_vec();
    for (place, dim) in new.iter_mut().enumerate().filter(|(_, dim)| dim.known() == Some(0)) {
        *dim = *old.get(place).ok_or("Reshape copies an extent that the input does not have")?;
    }
    let one = Dim::Int { value: 1, bits: 64 };
    let product = |store: &mut Store, dims: &[Dim]| dims.iter().fold(one, |all, dim| dim_arith(store, PrimOp::Mul, all, *dim));
    let given: Vec<Dim> = new.iter().copied().filter(|dim| dim.known().is_none_or(|dim| dim > 0)).collect();
    let (all, given) = (product(store, &old), product(store, &given));
    if let Some(open) = new.iter_mut().find(|dim| dim.known() == Some(-1)) {
        let left = dim_arith(store, PrimOp::FloorDiv, all, given);
        let left = store.prim_of_dim(left);
        let left = Analyzer::new().simplify(store, left);
        *open = store.dim_of_prim(left);
    }
    let dims = store.dims(&new);
    let ty = store.ty(Type::Shape(Extents::Known(new.into())));
    Ok(store.add_typed(Expr::Shape(dims), Some(ty)))
}
