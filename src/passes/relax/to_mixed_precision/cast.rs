//! Casts between single and half precision.

use super::super::calls::{op, tuple};
use super::wanted::{DTypes, dtypes};
use crate::ir::{AttrValue, DType, DTypeCode, Expr, ExprId, Store, TensorInfo, Type};
use crate::ops;

/// Casts the tensors of single and half precision in a value to these types.
pub(super) fn cast(store: &mut Store, expr: ExprId, to: &DTypes) -> ExprId {
    let Some(ty) = store.checked_type(expr) else { return expr };
    match (store.type_of_id(ty), to) {
        (Type::Tuple(types), DTypes::Fields(to)) => {
            let types = types.clone();
            let mut fields = Vec::with_capacity(types.len());
            let mut same = true;
            for (at, (ty, to)) in types.iter().zip(to).enumerate() {
                let field = match store.expr(expr) {
                    Expr::Tuple(items) => store.item(items, at),
                    _ => store.add_typed(Expr::TupleGetItem { tuple: expr, index: at as u32 }, Some(*ty)),
                };
                let new = cast(store, field, to);
                same &= new == field;
                fields.push(new);
            }
            if same { expr } else { tuple(store, &fields) }
        }
        (_, DTypes::Leaf(Some(to))) => match DTypes::of(store, ty, None) {
            Some(DTypes::Leaf(Some(given))) if given != *to && (given == DType::F16 || given == DType::F32) => {
                astype(store, expr, *to)
            }
            _ => expr,
        },
        _ => expr,
    }
}

fn astype(store: &mut Store, expr: ExprId, to: DType) -> ExprId {
    let schema = ops::lookup_relax("astype").and_then(|op| ops::info(op).relax.as_ref()).and_then(|row| row.attrs);
    let attrs = schema.and_then(|schema| schema.complete(store, &[("dtype", AttrValue::DType(Some(to)))]).ok());
    let attrs = attrs.map(|attrs| store.attrs(attrs));
    let callee = op(store, "astype");
    let call = store.add_call(callee, &[expr], attrs);
    // The type is known, so that casts of casts are recognised.
    let info = store.checked_type(expr).and_then(|ty| store.tensor_info(ty));
    match (store.expr(call), info) {
        (node, Some(info)) => {
            let ty = store.tensor_like(TensorInfo { dtype: Some(to), ..info });
            store.rebuild(call, node, Some(ty))
        }
        _ => call,
    }
}

/// True if all operands may be of half precision: they are, or they are constants in its range.
pub(super) fn all_castable(store: &Store, args: &[ExprId]) -> bool {
    args.iter().all(|arg| {
        let Some(given) = dtypes(store, *arg, None) else { return true };
        given == DTypes::Leaf(Some(DType::F16))
            || match store.expr(*arg) {
                Expr::Constant(tensor) => in_range(store.tensor(tensor)),
                Expr::Tuple(fields) => all_castable(store, &store.items(fields).collect::<Vec<_>>()),
                _ => false,
            }
    })
}

fn in_range(tensor: &crate::ir::Tensor) -> bool {
    let known = tensor.dtype.code == DTypeCode::Float || (tensor.dtype.code == DTypeCode::Int && tensor.dtype.lanes == 1);
    let values = ops::build::elements(tensor).filter(|_| known);
    values.is_some_and(|values| values.iter().all(|value| value.is_nan() || value.abs() <= 65504.0))
}
