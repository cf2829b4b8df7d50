//! Rebuilds nodes over their new children, with types: the other half of [`mod@super::anf`].

use super::anf::Run;
use super::run::{is_ready, is_void_var};
use super::{BlockBuilder, Mutation};
use crate::infer::relax::deduce_call;
use crate::infer::relax::types;
use crate::ir::walk::for_each_child;
use crate::ir::{Dim, Expr, ExprId, Extents, List, Store, Type, TypeId, map_children};
use crate::ops::{self, own};

impl Run {
    /// Rebuilds `id` over the results on top of the stack, with its type: the same node when nothing changed.
    pub(super) fn rebuild(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> ExprId {
        match store.expr(id) {
            Expr::Var(var) => {
                let new = cx.replaced(var).unwrap_or(id);
                if is_void_var(store, new) { unit(store) } else { new }
            }
            node @ (Expr::Tuple(_) | Expr::TupleGetItem { .. } | Expr::If { .. }) => {
                let new = self.over_results(store, id);
                if new.is_none() && store.checked_type(id).is_some() {
                    return id;
                }
                let new = new.unwrap_or(node);
                let ty = part_type(store, &mut cx.builder, id, new);
                store.rebuild(id, new, Some(ty))
            }
            Expr::Call { .. } => self.call(store, cx, id),
            Expr::Seq { blocks, body } => {
                let new_body = self.take(body);
                let parts = self.blocks.pop().unwrap_or_default();
                let new = cx.builder.join_blocks(store, &parts);
                let same = store.items(blocks).eq(store.items(new)) && new_body == body;
                let old = store.checked_type(id);
                let ty = store.checked_type(new_body).map(|ty| cx.builder.erase(store, ty));
                // TVM rebuilds blocks, and so the type of what has any.
                let stays = if blocks.is_empty() { old.is_some_and(|ty| cx.ty(store, ty) == ty) } else { old == ty };
                if same && stays {
                    return id;
                }
                store.rebuild(id, Expr::Seq { blocks: new, body: new_body }, ty)
            }
            Expr::Shape(dims) => {
                let new = cx.dims(store, dims);
                if new == dims && store.checked_type(id).is_some() {
                    return id;
                }
                let ty = store.ty(Type::Shape(Extents::Known(store.dims_of_id(new).into())));
                store.rebuild(id, Expr::Shape(new), Some(ty))
            }
            Expr::Prim(prim) => {
                // In a value, symbols are replaced without simplification.
                let new = crate::tir::substitute(store, prim, &mut |store, symbol| {
                    cx.symbols.get(&symbol).copied().map(|dim| store.prim_of_dim(dim))
                });
                if new == prim && store.checked_type(id).is_some() {
                    return id;
                }
                let prim = new;
                let ty = store.ty(Type::Prim(store.prim_dtype(prim)));
                store.rebuild(id, Expr::Prim(prim), Some(ty))
            }
            Expr::Constant(tensor) if store.checked_type(id).is_none() => {
                let tensor_data = store.tensor(tensor);
                let dims: Vec<Dim> = tensor_data.shape.iter().map(|&value| Dim::Int { value, bits: 64 }).collect();
                let dtype = tensor_data.dtype;
                let ty = store.tensor_type(&dims, dtype);
                store.rebuild(id, Expr::Constant(tensor), Some(ty))
            }
            Expr::Str(_) | Expr::DataType(_) if store.checked_type(id).is_none() => {
                let expr = store.expr(id);
                let ty = match expr {
                    Expr::Str(_) => Type::Str,
                    _ => Type::Any,
                };
                let ty = store.ty(ty);
                store.rebuild(id, expr, Some(ty))
            }
            _ => id,
        }
    }

    /// Takes the results for the children of a node and returns the node over them; `None` if all stayed the same.
    fn over_results(&mut self, store: &mut Store, id: ExprId) -> Option<Expr> {
        let mut count = 0;
        for_each_child(store, id, |_| count += 1);
        let first = self.done.len().saturating_sub(count);
        let new = map_children(store, id, &self.done[first..], &|var| var);
        self.done.truncate(first);
        new
    }

    fn call(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> ExprId {
        let Expr::Call { callee, args, info } = store.expr(id) else { return id };
        let new_args = self.take_list(store, args);
        let new_callee = self.take(callee);
        let new_info = match info {
            Some(given) if !cx.keeps_types() => {
                let found = store.call_info(given).clone();
                let ty_args: Vec<TypeId> = found.type_args.iter().map(|ty| cx.ty(store, *ty)).collect();
                store.add_call_info(found.attrs, &ty_args)
            }
            same => same,
        };
        let same = new_callee == callee && new_info == info && new_args.is_none();
        let old = store.checked_type(id);
        let post = match old {
            Some(ty) if same => {
                let new = cx.ty(store, ty);
                let call = if new == ty { id } else { store.rebuild(id, Expr::Call { callee, args, info }, Some(new)) };
                cx.builder.own_normal(store, call)
            }
            Some(ty)
                if new_callee == callee && cx.keeps_types() && store.is_deduced(id) && same_kinds(store, args, &new_args) =>
            {
                let args = new_args.map_or(args, |args| store.list(&args));
                let new = store.rebuild(id, Expr::Call { callee, args, info }, Some(ty));
                store.set_deduced(new);
                new
            }
            _ => {
                let args = new_args.map_or(args, |args| store.list(&args));
                cx.builder.deduced(store, id, Expr::Call { callee: new_callee, args, info: new_info })
            }
        };
        inline_tuple(store, cx, post)
    }
}

impl BlockBuilder {
    /// Gives a call, tuple or field over leaves its type.
    pub(super) fn typed(&mut self, store: &mut Store, id: ExprId) -> ExprId {
        let node = store.expr(id);
        if matches!(node, Expr::Call { .. }) {
            return self.deduced(store, id, node);
        }
        let ty = part_type(store, self, id, node);
        store.rebuild(id, node, Some(ty))
    }

    /// Normalises a call of an operator some of whose operands are calls or fields, as passes write it: these are
    /// bound. `None` for any other node, and for unusually deep nesting, which needs a stack of its own.
    pub(super) fn normalize_nested(&mut self, store: &mut Store, id: ExprId) -> Option<ExprId> {
        const DEEP: usize = 4;
        let Expr::Call { callee, args, info } = store.expr(id) else { return None };
        // The two operands may be a program and a variable for its tuple of arguments: see `inline_tuple`.
        let plain = matches!(store.expr(callee), Expr::Op(_)) && !takes_tuple_in_place(store, callee);
        let nested = |store: &Store, arg: ExprId| matches!(store.expr(arg), Expr::Call { .. } | Expr::TupleGetItem { .. });
        let fits = |arg: ExprId| is_ready(store, arg, &|_| true) || nested(store, arg);
        // Replaced leaves may occur in tuples, too.
        let leaves_stay = self.blocks.last().is_some_and(|frame| !frame.normal_leaves);
        if !plain || !leaves_stay || self.depth == DEEP || !store.items(args).all(fits) {
            return None;
        }
        self.depth += 1;
        let mut operands = Vec::with_capacity(args.len());
        for at in 0..args.len() {
            let arg = store.item(args, at);
            operands.push(match self.bound_here(arg) {
                Some(used) => used,
                None if !nested(store, arg) => arg,
                None => self.normalize_operand(store, arg),
            });
        }
        self.depth -= 1;
        let args = store.list(&operands);
        Some(self.deduced(store, id, Expr::Call { callee, args, info }))
    }

    fn deduced(&mut self, store: &mut Store, pre: ExprId, node: Expr) -> ExprId {
        let Expr::Call { callee, args, info } = node else { return pre };
        if let Expr::Global(name) = store.expr(callee) {
            self.signature_of(store, name);
        }
        let found = deduce_call(store, &self.signatures, callee, args, info, &|var| self.lookup_binding(var));
        let deduced = found.is_ok() && matches!(store.expr(callee), Expr::Op(_));
        let ty = found.unwrap_or_else(|message| {
            let span = store.source_span(pre);
            self.error("relax-type", message, span);
            store.ty(Type::Any)
        });
        let new = store.rebuild(pre, node, Some(ty));
        if deduced {
            store.set_deduced(new);
        }
        self.own_normal(store, new)
    }

    /// Returns the normal form that a script has for a call of its operator; anything else as it is.
    pub(super) fn own_normal(&mut self, store: &mut Store, call: ExprId) -> ExprId {
        if !store.called_op(call).is_some_and(own::is_own) {
            return call;
        }
        match own::normalize(store, call) {
            Ok(None) => call,
            Ok(Some(new)) => self.normalize(store, new),
            Err(message) => {
                let span = store.source_span(call);
                self.error("relax-type", message, span);
                call
            }
        }
    }
}

/// True if operands differ only in variables of the same types, so that the type of a call stays. Variables that hold
/// shapes and scalars are mentioned in types, so they must be equal.
fn same_kinds(store: &Store, old: List<Expr>, new: &Option<Vec<ExprId>>) -> bool {
    let tensor = |ty: TypeId| matches!(store.type_of_id(ty), Type::Tensor { .. } | Type::PartialTensor(_));
    let same = |old: ExprId, new: ExprId| {
        let ty = store.checked_type(old);
        let vars = matches!((store.expr(old), store.expr(new)), (Expr::Var(_), Expr::Var(_)));
        old == new || vars && ty == store.checked_type(new) && ty.is_some_and(tensor)
    };
    let Some(new) = new else { return true };
    store.items(old).zip(new).all(|(old, &new)| match (store.expr(old), store.expr(new)) {
        (Expr::Tuple(a), Expr::Tuple(b)) => {
            a.len() == b.len()
                && store.checked_type(old) == store.checked_type(new)
                && store.items(a).zip(store.items(b)).all(|(old, new)| same(old, new))
        }
        _ => same(old, new),
    })
}

/// Makes `R.tuple()`.
fn unit(store: &mut Store) -> ExprId {
    let ty = store.tuple_type(&[]);
    store.add_typed(Expr::Tuple(List::EMPTY), Some(ty))
}

/// Returns the type of a tuple, a field of one or a branch, which follows from its parts. `pre` is the node as it was.
fn part_type(store: &mut Store, builder: &mut BlockBuilder, pre: ExprId, node: Expr) -> TypeId {
    let any = store.ty(Type::Any);
    let of = |store: &Store, part: ExprId| store.checked_type(part).unwrap_or(any);
    match node {
        Expr::Tuple(fields) => {
            let types: Vec<TypeId> = store.items(fields).map(|field| of(store, field)).collect();
            store.tuple_type(&types)
        }
        Expr::TupleGetItem { tuple, index } => field_type(store, builder, pre, tuple, index),
        Expr::If { then, other, .. } => {
            let [a, b] = [then, other].map(|branch| {
                let ty = of(store, branch);
                builder.erase(store, ty)
            });
            types::common(store, a, b)
        }
        _ => any,
    }
}

fn field_type(store: &mut Store, builder: &mut BlockBuilder, pre: ExprId, tuple: ExprId, index: u32) -> TypeId {
    let found = match store.checked_type(tuple).map(|ty| store.type_of_id(ty)) {
        Some(Type::Tuple(fields)) => fields.get(index as usize).copied().ok_or(fields.len()),
        _ => Ok(store.ty(Type::Any)),
    };
    match found {
        Ok(ty) => ty,
        Err(count) => {
            let message = format!("Index out of bounds: Tuple has {count} fields, and cannot be accessed at index {index}");
            let span = store.source_span(pre);
            builder.error("relax-type", message, span);
            store.ty(Type::Any)
        }
    }
}

fn takes_tuple_in_place(store: &Store, callee: ExprId) -> bool {
    let Expr::Op(op) = store.expr(callee) else { return false };
    let name = ops::info(op).relax.as_ref().map_or("", |row| row.name);
    ["call_tir", "call_tir_with_grad", "call_tir_inplace"].contains(&name)
}

/// Inlines the argument tuple of `R.call_tir` and related calls, which must not be a variable (TVM's `NormalizeCallTIR`).
fn inline_tuple(store: &mut Store, cx: &mut Mutation, call: ExprId) -> ExprId {
    let Expr::Call { callee, args, info } = store.expr(call) else { return call };
    if args.len() != 2 || !matches!(store.expr(store.item(args, 1)), Expr::Var(_)) {
        return call;
    }
    let tuple = store.item(args, 1);
    if !takes_tuple_in_place(store, callee) {
        return call;
    }
    let mut found = cx.builder.value_of(store, tuple);
    if !matches!(store.expr(found), Expr::Tuple(_)) {
        let Some(Type::Tuple(types)) = store.checked_type(tuple).map(|ty| store.type_of_id(ty)) else { return call };
        let types = types.to_vec();
        let mut fields = Vec::with_capacity(types.len());
        for (index, ty) in types.iter().enumerate() {
            let item = store.add_typed(Expr::TupleGetItem { tuple, index: index as u32 }, Some(*ty));
            let dataflow = cx.builder.is_dataflow();
            fields.push(cx.builder.emit_normal(store, item, dataflow, ""));
        }
        let ty = store.tuple_type(&types);
        let fields = store.list(&fields);
        found = store.add_typed(Expr::Tuple(fields), Some(ty));
    }
    let args = [store.item(args, 0), found];
    let args = store.list(&args);
    let ty = store.checked_type(call);
    store.rebuild(call, Expr::Call { callee, args, info }, ty)
}
