//! Converts values and types to other layouts.

use super::super::calls::{op, tuple};
use super::Convert;
use crate::build::Mutation;
use crate::ir::{
    AttrValue, DType, Dim, Expr, ExprId, Extents, Object, PrimExpr, PrimId, PrimOp, Store, Symbol, TensorInfo, Type, TypeId,
};
use crate::ops;
use crate::ops::build::ints;
use crate::ops::layout::Layout;
use crate::ops::relax::layout::{ValueLayout, initial, transpose_like};
use crate::tir;

/// Returns the initial layouts of a value of this type. Types nest as deep as the parser's limit on brackets.
pub(super) fn starts(store: &Store, ty: TypeId) -> ValueLayout {
    match store.type_of_id(ty) {
        Type::Tuple(fields) => ValueLayout::Tuple(fields.iter().map(|field| starts(store, *field)).collect()),
        _ => match store.tensor_info(ty).and_then(|info| store.rank(&info.extents)) {
            Some(rank) => ValueLayout::Tensor(initial(rank)),
            None => ValueLayout::Unknown,
        },
    }
}

/// True if a type has only tensors in it.
pub(super) fn is_nested_tensor(store: &Store, ty: TypeId) -> bool {
    match store.type_of_id(ty) {
        Type::Tuple(fields) => fields.iter().all(|field| is_nested_tensor(store, *field)),
        _ => store.tensor_info(ty).is_some(),
    }
}

impl Convert {
    /// Returns the current layouts of a value.
    pub(super) fn layout_of(&self, store: &Store, id: ExprId) -> ValueLayout {
        match store.expr(id) {
            Expr::Var(var) => match self.layouts.get(&var) {
                Some(layout) => layout.clone(),
                None => store.var_type(var).map_or(ValueLayout::Unknown, |ty| starts(store, ty)),
            },
            Expr::Constant(tensor) => ValueLayout::Tensor(initial(store.tensor(tensor).shape.len())),
            Expr::Tuple(fields) => ValueLayout::Tuple(store.items(fields).map(|field| self.layout_of(store, field)).collect()),
            _ => ValueLayout::Unknown,
        }
    }

    /// Converts a value to these layouts.
    pub(super) fn rewrite(&self, store: &mut Store, cx: &Mutation, id: ExprId, to: &ValueLayout) -> Result<ExprId, String> {
        let from = self.layout_of(store, id);
        let id = remap(store, cx, id);
        convert(store, id, &from, to)
    }
}

/// Replaces the variables in an operand by their new values.
fn remap(store: &mut Store, cx: &Mutation, id: ExprId) -> ExprId {
    match store.expr(id) {
        Expr::Var(var) => cx.replaced(var).unwrap_or(id),
        Expr::Tuple(fields) => {
            let old: Vec<ExprId> = store.items(fields).collect();
            let new: Vec<ExprId> = old.iter().map(|field| remap(store, cx, *field)).collect();
            if old == new { id } else { tuple(store, &new) }
        }
        _ => id,
    }
}

fn convert(store: &mut Store, id: ExprId, from: &ValueLayout, to: &ValueLayout) -> Result<ExprId, String> {
    if from == to {
        return Ok(id);
    }
    match (from, to) {
        (ValueLayout::Tensor(from), ValueLayout::Tensor(_)) if from.is_scalar() => Ok(id),
        (ValueLayout::Tensor(from), ValueLayout::Tensor(to)) => convert_tensor(store, id, from, to),
        (ValueLayout::Tuple(from), ValueLayout::Tuple(to)) => {
            let types = match store.checked_type(id).map(|ty| store.type_of_id(ty)) {
                Some(Type::Tuple(types)) => types.to_vec(),
                _ => return Err("only the layout of a tuple has fields".to_owned()),
            };
            let mut fields = Vec::with_capacity(types.len());
            for (at, (ty, (from, to))) in types.iter().zip(from.iter().zip(to)).enumerate() {
                let field = match store.expr(id) {
                    Expr::Tuple(items) => store.item(items, at),
                    _ => store.add_typed(Expr::TupleGetItem { tuple: id, index: at as u32 }, Some(*ty)),
                };
                fields.push(convert(store, field, from, to)?);
            }
            let fields = store.list(&fields);
            Ok(store.add(Expr::Tuple(fields)))
        }
        _ => Err("Cannot convert when exactly one of the layouts is unknown".to_owned()),
    }
}

fn convert_tensor(store: &mut Store, id: ExprId, from: &Layout, to: &Layout) -> Result<ExprId, String> {
    if from.rank() == to.rank() {
        let start = initial(to.rank());
        let axes = transpose_like(&start, from, to)?;
        let axes: Vec<i64> = axes.axes().iter().map(|axis| start.index_of(axis.name).map_or(-1, |at| at as i64)).collect();
        return Ok(call(store, "permute_dims", id, ("axes", ints(&axes))));
    }
    let map = index_map(store, from, to);
    Ok(call(store, "layout_transform", id, ("index_map", map)))
}

fn call(store: &mut Store, name: &str, data: ExprId, attr: (&str, AttrValue)) -> ExprId {
    let callee = op(store, name);
    let schema = ops::lookup_relax(name).and_then(|op| ops::info(op).relax.as_ref()).and_then(|row| row.attrs);
    let attrs = schema.and_then(|schema| schema.complete(store, &[attr]).ok());
    let attrs = attrs.map(|attrs| store.attrs(attrs));
    store.add_call(callee, &[data], attrs)
}

/// Makes `T.index_map(lambda i0, i1: (i0, i1 // 4, i1 % 4))`, which moves an element
/// (`SBijectiveLayout::ForwardIndex`).
fn index_map(store: &mut Store, from: &Layout, to: &Layout) -> AttrValue {
    let symbols: Vec<_> = (0..from.rank())
        .map(|at| {
            let name = store.name(&format!("i{at}"));
            store.add_symbol(Symbol { name, dtype: DType::I64, size: false })
        })
        .collect();
    let number = |store: &mut Store, value: i64| store.prim_int(value, DType::I64);
    let mut last = Vec::with_capacity(to.rank());
    for (at, axis) in to.axes().iter().enumerate() {
        let mut place: PrimId = number(store, 0);
        // The axis itself comes before its split-off parts, whatever their order in the layout.
        let parts = || from.axes().iter().enumerate().filter(|(_, part)| part.primal() == axis.primal());
        let ordered = parts().filter(|(_, part)| part.is_primal()).chain(parts().filter(|(_, part)| !part.is_primal()));
        for (part_at, part) in ordered {
            let inner = inside(from, part_at);
            let factor = if part.is_primal() { from.factor_of(part.name).unwrap_or(1) } else { inner };
            let (index, factor) = (store.prim(PrimExpr::Var(symbols[part_at])), number(store, factor));
            let offset = tir::binary(store, PrimOp::Mul, index, factor);
            place = tir::binary(store, PrimOp::Add, place, offset);
        }
        let inner = inside(to, at);
        let divisor = if axis.is_primal() { to.factor_of(axis.name).unwrap_or(1) } else { inner };
        if !axis.is_primal() {
            let extent = number(store, inner.saturating_mul(axis.extent));
            place = tir::binary(store, PrimOp::FloorMod, place, extent);
        }
        let divisor = number(store, divisor);
        let index = tir::binary(store, PrimOp::FloorDiv, place, divisor);
        last.push(AttrValue::Dim(store.dim_of_prim(index)));
    }
    let first = symbols.into_iter().map(|symbol| AttrValue::Dim(Dim::Symbol(symbol))).collect();
    let fields = [("initial_indices", AttrValue::Array(first)), ("final_indices", AttrValue::Array(last.into()))];
    let fields = fields.map(|(name, value)| (store.name(name), value));
    let key = store.name("IndexMap");
    AttrValue::Object(store.add_object(Object { key, fields: fields.into(), items: [].into(), repr: None }))
}

/// Returns the number of elements in the parts of an axis behind this one.
fn inside(layout: &Layout, at: usize) -> i64 {
    let name = layout.axes()[at].name;
    layout.axes()[at + 1..]
        .iter()
        .filter(|part| part.name == name)
        .fold(1, |product: i64, part| product.saturating_mul(part.extent))
}

/// Reorders the extents of a type for other layouts.
pub(super) fn reordered(store: &mut Store, ty: TypeId, from: &ValueLayout, to: &ValueLayout) -> Result<TypeId, String> {
    match (from, to) {
        _ if from == to => Ok(ty),
        (ValueLayout::Tensor(from), ValueLayout::Tensor(to)) => {
            let Some(info) = store.tensor_info(ty) else { return Err("We can not set layout for non-tensor struct".to_owned()) };
            let Extents::Known(dims) = &info.extents else { return Ok(ty) };
            if dims.len() != to.rank() {
                return Err("the layout has another number of axes than the tensor".to_owned());
            }
            let dims = to.axes().iter().map(|axis| from.index_of(axis.name).and_then(|at| dims.get(at)).copied());
            let dims = dims.collect::<Option<Vec<Dim>>>().ok_or("the layouts have other axes")?;
            Ok(store.tensor_like(TensorInfo { extents: Extents::Known(dims.into()), ..info }))
        }
        (ValueLayout::Tuple(from), ValueLayout::Tuple(to)) => {
            let Type::Tuple(types) = store.type_of_id(ty).clone() else { return Ok(ty) };
            let mut fields = Vec::with_capacity(types.len());
            for (ty, (from, to)) in types.iter().zip(from.iter().zip(to)) {
                fields.push(reordered(store, *ty, from, to)?);
            }
            Ok(store.tuple_type(&fields))
        }
        _ => Err("Cannot convert when exactly one of the layouts is unknown".to_owned()),
    }
}
