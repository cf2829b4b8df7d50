//! Operators that the runtime executes: communication between workers, shapes as tensors, linked functions.
//!
//! Source: `legalize_ops/ccl.py`, `distributed.py`, `inspect_op.py`, `grad.py`, and the operators' `FCallPacked`.

use super::lower::{Lower, Lowered, Refused, call_with_types, from_front};
use super::manipulate::{reshape, transpose};
use super::{Known, Rule, rule};
use crate::ir::{AttrValue, DType, Dim, Expr, ExprId, Extents, PrimExpr, PrimOp, Symbol, Type, TypeId};

pub(super) const RULES: &[Rule] = &[
    rule("ccl.allreduce", "allreduce", allreduce),
    rule("ccl.allgather", "allgather", allgather),
    rule("ccl.broadcast_from_worker0", "broadcast_from_worker0", broadcast),
    rule("ccl.scatter_from_worker0", "scatter_from_worker0", scatter),
    rule("dist.redistribute_replica_to_shard", "redistribute", redistribute),
    rule("grad.no_grad", "no_grad", same),
    rule("grad.start_checkpoint", "start_checkpoint", same),
    rule("grad.end_checkpoint", "end_checkpoint", same),
    super::rule("size", "size", size),
    Rule { op: "nonzero", hint: "relax.run.nonzero", lower: linked, known: Known::Nothing },
    Rule { op: "unique", hint: "relax.run.unique", lower: linked, known: Known::Nothing },
    Rule { op: "print", hint: "relax.run.print", lower: linked, known: Known::Nothing },
    Rule { op: "assert_op", hint: "relax.run.assert_op", lower: linked, known: Known::Nothing },
];

/// Makes a value of a number.
fn int(cx: &mut Lower, value: i64) -> ExprId {
    let value = cx.te.int(value);
    let ty = cx.te.store.ty(Type::Prim(DType::I64));
    cx.te.store.add_typed(Expr::Prim(value), Some(ty))
}

fn external(cx: &mut Lower, symbol: &str) -> ExprId {
    let symbol = cx.te.store.name(symbol);
    let ty = cx.te.store.ty(Type::PackedFunc);
    cx.te.store.add_typed(Expr::Extern(symbol), Some(ty))
}

/// Makes `R.call_dps_packed("symbol", args, out_ty=ty)`.
fn dps_packed(cx: &mut Lower, symbol: &str, args: &[ExprId], ty: TypeId) -> ExprId {
    let symbol = external(cx, symbol);
    let args = cx.te.store.add_tuple(args);
    call_with_types(cx.te.store, "call_dps_packed", &[symbol, args], &[ty])
}

/// Makes `R.call_pure_packed("symbol", args, ty_args=(ty,))`.
fn pure_packed(cx: &mut Lower, symbol: &str, args: &[ExprId], ty: TypeId) -> ExprId {
    let symbol = external(cx, symbol);
    let args = [&[symbol], args].concat();
    call_with_types(cx.te.store, "call_pure_packed", &args, &[ty])
}

fn same(cx: &mut Lower) -> Lowered {
    cx.arg(0)
}

/// Calls a linked function. The call is marked as pure where the operator is expected to have no side effects.
fn linked(cx: &mut Lower) -> Lowered {
    let (hint, args, ty) = (cx.hint, cx.args.clone(), cx.ty);
    if !matches!(cx.op, "print" | "assert_op") {
        return Ok(pure_packed(cx, hint, &args, ty));
    }
    let callee = external(cx, hint);
    let args = cx.te.store.list(&args);
    let info = cx.te.store.add_call_info(None, &[ty]);
    Ok(cx.te.store.add(Expr::Call { callee, args, info }))
}

/// Does the same as [`linked`] for an unknown shape.
pub(super) fn shape_to_tensor(cx: &mut Lower) -> Lowered {
    let (args, ty) = (cx.args.clone(), cx.ty);
    Ok(pure_packed(cx, "relax.run.shape_to_tensor", &args, ty))
}

/// Returns the product of the extents, as a tensor.
fn size(cx: &mut Lower) -> Lowered {
    let x = cx.arg(0)?;
    let shape = cx.relax_call("shape_of", &[x], &[]);
    let shape = cx.builder.emit(cx.te.store, shape, "");
    let tensor = cx.again("shape_to_tensor", &[shape], &[])?;
    let tensor = cx.builder.emit(cx.te.store, tensor, "");
    cx.again("prod", &[tensor], &[])
}

fn type_of(cx: &Lower, arg: ExprId) -> Result<TypeId, Refused> {
    cx.te.store.checked_type(arg).ok_or(Refused::Leave)
}

fn allreduce(cx: &mut Lower) -> Lowered {
    let x = cx.arg(0)?;
    let ty = type_of(cx, x)?;
    let kind = cx.text("op_type");
    let Some(kind) = ["sum", "prod", "min", "max", "avg"].iter().position(|name| *name == kind) else {
        return Err("Unsupported reduction operation".into());
    };
    let dims = [Dim::Int { value: kind as i64, bits: 64 }];
    let shape_ty = cx.te.store.ty(Type::Shape(Extents::Known(dims.as_slice().into())));
    let dims = cx.te.store.dims(&dims);
    let kind = cx.te.store.add_typed(Expr::Shape(dims), Some(shape_ty));
    let group = cx.int("in_group").unwrap_or(1);
    let group = int(cx, group);
    Ok(dps_packed(cx, "runtime.disco.allreduce", &[x, kind, group], ty))
}

fn allgather(cx: &mut Lower) -> Lowered {
    let x = cx.arg(0)?;
    let (group, ty) = (cx.int("in_group").unwrap_or(1), cx.ty);
    let group = int(cx, group);
    Ok(dps_packed(cx, "runtime.disco.allgather", &[x, group], ty))
}

fn broadcast(cx: &mut Lower) -> Lowered {
    let x = cx.arg(0)?;
    let ty = type_of(cx, x)?;
    let group = int(cx, 0);
    Ok(dps_packed(cx, "runtime.disco.broadcast_from_worker0", &[x, group], ty))
}

/// The parts of the workers have to lie one behind the other.
fn scatter(cx: &mut Lower) -> Lowered {
    let arg = cx.arg(0)?;
    let (workers, ty) = (cx.int("num_workers").ok_or(Refused::Leave)?, cx.ty);
    let x = cx.tensor(0)?;
    let rank = cx.te.rank(x);
    let axis = from_front(cx.int("axis").unwrap_or(0), rank);
    let mut shape = cx.te.shape(x);
    let count = cx.te.int(workers);
    let part = cx.te.over(shape[axis], count);
    shape.splice(axis..=axis, [count, part]);
    let out = reshape(&mut cx.te, x, &shape);
    let call = cx.finish_as("reshape", &[out])?;
    let mut value = cx.builder.emit(cx.te.store, call, "");
    if axis != 0 {
        let mut next = cx.fresh(arg);
        let x = next.tensor_of(value)?;
        let order: Vec<usize> = [axis].into_iter().chain((0..=rank).filter(|other| *other != axis)).collect();
        let out = transpose(&mut next.te, x, &order);
        let call = next.finish_as("transpose", &[out])?;
        value = cx.builder.emit(cx.te.store, call, "");
    }
    let group = int(cx, 0);
    Ok(dps_packed(cx, "runtime.disco.scatter_from_worker0", &[value, group], ty))
}

/// Gives each worker its part; the number of the worker is read at run time.
fn redistribute(cx: &mut Lower) -> Lowered {
    let x = cx.arg(0)?;
    let (workers, axis) = (cx.int("num_workers").ok_or(Refused::Leave)?, cx.int("axis").unwrap_or(0));
    let Some(Extents::Known(dims)) = cx.info(x).map(|info| info.extents) else { return Err(Refused::Leave) };
    let extent = dims.get(from_front(axis, dims.len())).copied().ok_or(Refused::Leave)?;
    let ty = cx.te.store.ty(Type::Shape(Extents::Unknown));
    let call = pure_packed(cx, "runtime.disco.worker_id", &[], ty);
    let asked = cx.builder.emit(cx.te.store, call, "");
    let name = cx.te.store.name("worker_id");
    let symbol = cx.te.store.add_symbol(Symbol { name, dtype: DType::I64, size: false });
    let ty = cx.te.store.ty(Type::Shape(Extents::Known([Dim::Symbol(symbol)].into())));
    cx.builder.emit_match_cast(cx.te.store, asked, ty, "");
    let worker = cx.te.store.prim(PrimExpr::Var(symbol));
    let (extent, count) = (cx.te.store.prim_of_dim(extent), cx.te.int(workers));
    let next = cx.te.plus_int(worker, 1);
    let mut bounds = Vec::new();
    for from in [worker, next] {
        let far = cx.te.times(from, extent);
        let bound = cx.te.bin(PrimOp::FloorDiv, far, count);
        let ty = cx.te.store.ty(Type::Prim(DType::I64));
        let bound = cx.te.store.add_typed(Expr::Prim(bound), Some(ty));
        bounds.push(cx.te.store.add_tuple(&[bound]));
    }
    let axis = int(cx, axis);
    let axis = cx.te.store.add_tuple(&[axis]);
    cx.again("strided_slice", &[x, axis, bounds[0], bounds[1]], &[("assume_inbound", AttrValue::Bool(true))])
}
