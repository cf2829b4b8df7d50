//! Operators that sort, search and scan, as programs for processors without threads.
//!
//! Source: `python/tvm/topi/sort.py`, `scan.py`, `relax/backend/gpu_generic/sampling.py`.

use super::create::{dict, empty_block, spread, with_root, within_loops};
use super::lower::{Lower, Lowered, Refused, call_with_types, from_front};
use super::scatter::{SEARCH, each, extern_stage, load_flat, store_flat};
use super::te::{Te, Tensor};
use super::{Rule, rule};
use crate::infer::relax::prim_func_type;
use crate::ir::{
    AttrValue, Block, DType, DTypeCode, Dim, Expr, Extents, For, IterKind, IterVar, PrimExpr, PrimFunc, PrimId, PrimOp,
    PrimParam, Region, Stmt, Symbol,
};

/// The rules of [`super::dispatch`].
pub(super) const RULES: &[Rule] = &[
    SEARCH,
    rule("argsort", "argsort", sort),
    rule("cumprod", "cumprod", scan),
    rule("cumsum", "cumsum", scan),
    rule("multinomial_from_uniform", "get_sample_index", multinomial),
    rule("sort", "sort", sort),
    rule("topk", "topk", topk),
];

/// The type of a pointer.
const HANDLE: DType = DType::new(DTypeCode::Handle, 64);

/// Describes a tensor for a function of the runtime: pointer, shape, strides, rank, an element with its type, offset.
fn described(te: &mut Te, tensor: Tensor, shape: &[PrimId]) -> PrimId {
    let data = te.store.prim(PrimExpr::Data(tensor));
    let index = shape.first().map_or(DType::I32, |extent| te.type_of(*extent));
    let global = te.store.name("global");
    let numbers = te.store.pointer(DType::I64, global);
    let extents = te.store.prim_call("tvm_stack_make_shape", shape, numbers);
    let (strides, rank) = (te.number(0.0, DType::I32), te.number(shape.len() as f64, DType::I32));
    let (element, offset) = (te.number(0.0, te.dtype(tensor)), te.number(0.0, index));
    te.store.prim_call("tvm_stack_make_array", &[data, extents, strides, rank, element, offset], HANDLE)
}

/// Makes the program that passes its tensors, and some more arguments, to a function of the runtime.
fn linked(cx: &mut Lower, symbol: &str, data: Tensor, outs: &[(Tensor, Vec<PrimId>)], more: &[PrimId]) -> Lowered {
    packed(&mut cx.te, symbol, data, outs, more);
    let outs: Vec<Tensor> = outs.iter().map(|(out, _)| *out).collect();
    cx.finish(&outs)
}

/// Adds the stage that does so.
fn packed(te: &mut Te, symbol: &str, data: Tensor, outs: &[(Tensor, Vec<PrimId>)], more: &[PrimId]) {
    let name = te.store.name(&format!("tvm.contrib.sort.{symbol}"));
    let shape = te.shape(data);
    let mut args = vec![te.store.prim(PrimExpr::Str(name)), described(te, data, &shape)];
    for (out, shape) in outs {
        args.push(described(te, *out, shape));
    }
    args.extend(more);
    let call = te.store.prim_call("call_packed", &args, DType::I32);
    let body = te.store.add_stmt(Stmt::Evaluate(call));
    let outs: Vec<Tensor> = outs.iter().map(|(out, _)| *out).collect();
    extern_stage(te, &format!("{symbol}_cpu"), &outs, &[data], body);
}

/// Sorts the indices of rows' elements, the greatest first; only the first `valid` elements of a row count.
pub(super) fn argsort_valid(te: &mut Te, data: Tensor, valid: Tensor) -> Tensor {
    let (shape, count) = (te.shape(data), te.shape(valid));
    let align = std::mem::replace(&mut te.align, 8);
    let out = te.placeholder("out_buf", &shape, DType::I32);
    te.align = align;
    let name = te.store.name("tvm.contrib.sort.argsort_nms");
    let mut args = vec![te.store.prim(PrimExpr::Str(name)), described(te, data, &shape), described(te, valid, &count)];
    args.extend([described(te, out, &shape), int(te, 1), te.store.prim_int(0, DType::BOOL)]);
    let call = te.store.prim_call("call_packed", &args, DType::I32);
    let body = te.store.add_stmt(Stmt::Evaluate(call));
    extern_stage(te, "argsort_nms_cpu", &[out], &[data, valid], body);
    out
}

/// Sorts the indices of elements along an axis.
pub(super) fn argsort(te: &mut Te, data: Tensor, axis: i64, ascending: bool, dtype: DType) -> Tensor {
    let shape = te.shape(data);
    let align = std::mem::replace(&mut te.align, 8);
    let out = te.placeholder("out_buf", &shape, dtype);
    te.align = align;
    let more = [int(te, axis), te.store.prim_int(i64::from(ascending), DType::BOOL)];
    packed(te, "argsort", data, &[(out, shape)], &more);
    out
}

/// Makes a number as Python passes it.
fn int(te: &mut Te, value: i64) -> PrimId {
    te.store.prim_int(value, DType::I32)
}

fn sort(cx: &mut Lower) -> Lowered {
    cx.te.align = 8;
    let x = cx.arg(0)?;
    let (data, dtype) = (cx.tensor_named(x, "data_buf")?, cx.out_dtype()?);
    let shape = cx.te.shape(data);
    let out = cx.te.placeholder("out_buf", &shape, dtype);
    let (axis, ascending) = (cx.int("axis").unwrap_or(-1), !cx.flag("descending"));
    let more = [int(&mut cx.te, axis), cx.te.store.prim_int(i64::from(ascending), DType::BOOL)];
    linked(cx, cx.hint, data, &[(out, shape)], &more)
}

fn topk(cx: &mut Lower) -> Lowered {
    cx.te.align = 8;
    let x = cx.arg(0)?;
    let data = cx.tensor_named(x, "data_buf")?;
    let (k, axis, which) = (cx.int("k").unwrap_or(1), cx.int("axis").unwrap_or(-1), cx.text("ret_type"));
    let dtype = cx.dtype("dtype").unwrap_or(DType::I32);
    let ascending = !cx.flag("largest");
    let te = &mut cx.te;
    let mut shape = te.shape(data);
    let place = from_front(axis, shape.len());
    if place >= shape.len() {
        return Err(Refused::Leave);
    }
    if k >= 1 {
        shape[place] = te.int(k);
    }
    // The runtime gets numbers of Python, which have another type.
    let told: Vec<PrimId> = shape.iter().map(|extent| te.known(*extent).map_or(*extent, |known| int(te, known))).collect();
    let mut outs = Vec::new();
    if which != "indices" {
        outs.push((te.placeholder("value_buf", &shape, te.dtype(data)), told.clone()));
    }
    if which != "values" {
        outs.push((te.placeholder("indices_buf", &shape, dtype), told));
    }
    let which = te.store.name(&which);
    let which = te.store.prim(PrimExpr::Str(which));
    let more = [int(te, k), int(te, axis), which, te.store.prim_int(i64::from(ascending), DType::BOOL)];
    linked(cx, "topk", data, &outs, &more)
}

/// Makes running sums and products, row by row.
fn scan(cx: &mut Lower) -> Lowered {
    cx.te.offsets = true;
    let x = cx.tensor(0)?;
    cx.te.offsets = false;
    let (dtype, exclusive, axis) = (cx.out_dtype()?, cx.flag("exclusive"), cx.int("axis"));
    let (op, identity) = if cx.op == "cumprod" { (PrimOp::Mul, 1.0) } else { (PrimOp::Add, 0.0) };
    let name = format!("{}_generic", cx.op);
    let te = &mut cx.te;
    let own = te.shape(x);
    let (shape, place) = match axis {
        Some(axis) => (own.clone(), from_front(axis, own.len())),
        None => (vec![te.product(&own)], 0),
    };
    let Some(&extent) = shape.get(place) else { return Err(Refused::Leave) };
    let out = te.placeholder("out_buf", &shape, dtype);
    let (before, after) = (te.product(&shape[..place]), te.product(&shape[place + 1..]));
    let rows = te.times(before, after);
    let body = each(te, rows, true, &mut |te, fused| {
        let (i, j) = (te.floordiv(fused, after), te.floormod(fused, after));
        let row = te.times(i, extent);
        let row = te.times(row, after);
        let base = te.plus(row, j);
        let first = match exclusive {
            true => te.number(identity, dtype),
            false => {
                let value = load_flat(te, x, base);
                te.cast(dtype, value)
            }
        };
        let first = store_flat(te, out, base, first);
        let others = te.minus_int(extent, 1);
        let others = each(te, others, false, &mut |te, before| {
            let k = te.plus_int(before, 1);
            let so_far = te.minus_int(k, 1);
            let [here, last] = [k, so_far].map(|k| {
                let far = te.times(k, after);
                te.plus(base, far)
            });
            let (sum, next) = (load_flat(te, out, last), load_flat(te, x, if exclusive { last } else { here }));
            let next = te.cast(dtype, next);
            let value = te.bin(op, sum, next);
            store_flat(te, out, here, value)
        });
        te.store.add_stmts(&[first, others])
    });
    extern_stage(te, &name, &[out], &[x], body);
    cx.finish(&[out])
}

/// Samples from the distributions in the rows of a tensor: a running sum, and the first index where it exceeds a sample.
fn multinomial(cx: &mut Lower) -> Lowered {
    let mut types = [DType::F32; 3];
    for ((operand, name), dtype) in cx.args.iter().zip(["prob", "uniform_sample", "sample_indices"]).zip(&mut types) {
        let info = cx.info(*operand).ok_or(Refused::Leave)?;
        let (Extents::Known(dims), Some(own)) = (info.extents, info.dtype) else { return Err(Refused::Leave) };
        if name != "prob" && !matches!(dims[..], [_, Dim::Int { value: 1, .. }]) {
            return Err(Refused::Error(format!("{name} should be a 2D tensor with shape (N, 1)")));
        }
        *dtype = own;
    }
    let sum = [("axis", AttrValue::int(1)), ("dtype", AttrValue::DType(Some(types[0]))), ("exclusive", AttrValue::Bool(false))];
    let sum = cx.relax_call("cumsum", &[cx.arg(0)?], &sum);
    let inputs = [sum, cx.arg(1)?, cx.arg(2)?];
    let (dtype, hint) = (cx.out_dtype()?, cx.hint);
    let program = sample_index(&mut cx.te, types, dtype);
    let program = cx.te.store.add_prim_func(program);
    let ty = prim_func_type(cx.te.store, program);
    let program = cx.te.store.add_typed(Expr::PrimFunc(program), Some(ty));
    let program = cx.builder.add_function(cx.te.store, program, hint);
    let inputs = cx.te.store.add_tuple(&inputs);
    Ok(call_with_types(cx.te.store, "call_tir", &[program, inputs], &[cx.ty]))
}

/// Makes the program of [`multinomial`]; the types are those of probabilities, samples and row numbers, and of the result.
fn sample_index(te: &mut Te, [prob, sample, row]: [DType; 3], dtype: DType) -> PrimFunc {
    let [batch, words, count] = ["batch", "vocab_size", "out_batch"].map(|name| {
        let name = te.store.name(name);
        let symbol = te.store.add_symbol(Symbol { name, dtype: DType::I64, size: false });
        te.store.prim(PrimExpr::Var(symbol))
    });
    let (one, nothing, zero) = (int(te, 1), int(te, 0), te.int(0));
    let prob = te.placeholder("prob", &[batch, words], prob);
    let [sample, rows, out] = [("usample", sample), ("sample_indices", row), ("output_index", dtype)]
        .map(|(name, dtype)| te.placeholder(name, &[count, one], dtype));
    let axes = [te.axis("ax0", count), te.axis("ax1", words)];
    let at = te.vars(&axes);
    let (drawn, row) = (te.load(sample, &[at[0], zero]), te.load(rows, &[at[0], zero]));
    let before = te.minus_int(at[1], 1);
    let [here, last] = [at[1], before].map(|at| te.load(prob, &[row, at]));
    let next = te.plus_int(at[1], 1);
    let (less, end) = (te.bin(PrimOp::Lt, drawn, here), te.bin(PrimOp::Eq, next, words));
    let found = te.bin(PrimOp::Or, less, end);
    let (first, within) = (te.bin(PrimOp::Eq, at[1], zero), te.bin(PrimOp::Ge, drawn, last));
    let [begin, place] = [zero, at[1]].map(|value| {
        let (value, indices) = (te.cast(dtype, value), [at[0], nothing].into());
        te.store.add_stmt(Stmt::Store { buffer: out, indices, value })
    });
    let place = te.store.add_stmt(Stmt::If { cond: within, then: place, other: None });
    let choice = te.store.add_stmt(Stmt::If { cond: first, then: begin, other: Some(place) });
    let body = te.store.add_stmt(Stmt::If { cond: found, then: choice, other: None });
    let two = te.int(2);
    let column = |buffer: Tensor, index: PrimId| Region { buffer, ranges: [(at[0], None), (index, None)].into() };
    let pair = Region { buffer: prob, ranges: [(row, None), (before, Some(two))].into() };
    let (reads, writes) = ([column(sample, zero), pair, column(rows, zero)].into(), [column(out, nothing)].into());
    let (heads, iters): (Vec<For>, Vec<IterVar>) = axes.iter().map(|axis| spread(te, axis, IterKind::Spatial)).unzip();
    let name = te.store.name("T_get_sample_index");
    let block = Block { name, iters: iters.into(), reads, writes, body, ..empty_block(te) };
    let body = within_loops(te, heads, block);
    let body = with_root(te, body, &[]);
    let attrs = dict(te, &[("s_tir", AttrValue::Bool(true))]);
    let params = [prob, sample, rows, out].map(PrimParam::Buffer).into();
    PrimFunc { params, ret: None, attrs, body }
}
