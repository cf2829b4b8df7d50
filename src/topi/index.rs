//! Operators that pick elements: slices, taking, gathering, choosing.
//!
//! Source: `include/tvm/topi/transform.h`, `detail/strided_slice.h`, `legalize_ops/index.py`, `manipulate.py`, `search.py`.

use super::create_ops;
use super::elementwise::{each, element, of, with_scalar};
use super::lower::{Lower, Lowered, Operand, Refused, from_front};
use super::manipulate::{broadcast, reshape, transpose, unravel};
use super::te::{Te, Tensor};
use super::{Known, Rule, rule};
use crate::ir::{DType, Dim, Expr, ExprId, Extents, PrimExpr, PrimId, PrimOp, Symbol, Type};

pub(super) const RULES: &[Rule] = &[
    rule("take", "take", take),
    rule("strided_slice", "strided_slice", strided_slice),
    Rule { op: "dynamic_strided_slice", hint: "dynamic_strided_slice", lower: dynamic_strided_slice, known: Known::Arguments },
    rule("where", "where", choose),
    rule("slice_scatter", "slice_scatter", slice_scatter),
    rule("gather_elements", "gather", gather_elements),
    rule("gather_nd", "te_gather_nd", gather_nd),
    rule("index_tensor", "index_tensor", index_tensor),
];

fn take(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let indices = cx.operand(1)?;
    let mode = cx.text("mode");
    let own = cx.te.shape(x);
    let places = match indices {
        Operand::Tensor(tensor) => cx.te.shape(tensor),
        Operand::Scalar(_) => Vec::new(),
    };
    let te = &mut cx.te;
    let axis = te.store.attr_int(cx.attrs, "axis");
    let Some(axis) = axis.map(|axis| from_front(axis, own.len())) else {
        // Without an axis the tensor is flattened.
        let Operand::Tensor(tensor) = indices else { return Err(Refused::Leave) };
        if mode == "nan" {
            return Err("take without an axis has no mode nan".into());
        }
        let size = te.product(&own);
        let out = te.compute("T_take", "ax", &places, &mut |te, at| {
            let index = te.load(tensor, at);
            let index = place(te, &mode, index, size);
            let from = unravel(te, index, &own);
            te.load(x, &from)
        });
        return cx.finish(&[out]);
    };
    let mut shape = own[..axis].to_vec();
    shape.extend(&places);
    shape.extend(&own[axis + 1..]);
    let out = te.compute("T_take", "ax", &shape, &mut |te, at| {
        let index = match indices {
            Operand::Tensor(tensor) => te.load(tensor, &at[axis..axis + places.len()]),
            Operand::Scalar(scalar) => scalar,
        };
        let mut from = at[..axis].to_vec();
        from.push(place(te, &mode, index, own[axis]));
        from.extend(&at[axis + places.len()..]);
        let value = te.load(x, &from);
        if mode != "nan" {
            return value;
        }
        let zero = te.int(0);
        let (low, high) = (te.bin(PrimOp::Ge, index, zero), te.bin(PrimOp::Lt, index, own[axis]));
        let inside = te.both(low, high);
        let nan = te.number(f64::NAN, te.dtype(x));
        te.if_then_else(inside, value, nan)
    });
    cx.finish(&[out])
}

/// Limits an index to the extent as the mode says.
fn place(te: &mut Te, mode: &str, index: PrimId, extent: PrimId) -> PrimId {
    match mode {
        "clip" => {
            let index = te.cast(DType::I64, index);
            let zero = te.store.prim_int(0, te.type_of(index));
            let low = te.bin(PrimOp::Max, zero, index);
            let last = te.minus_int(extent, 1);
            te.bin(PrimOp::Min, low, last)
        }
        "wrap" => {
            let index = te.cast(DType::I64, index);
            let rest = te.bin(PrimOp::Mod, index, extent);
            let up = te.plus(rest, extent);
            te.bin(PrimOp::Mod, up, extent)
        }
        _ => index,
    }
}

/// Returns the scalars of a tuple literal.
fn scalars(cx: &mut Lower, index: usize) -> Result<Vec<PrimId>, Refused> {
    let arg = cx.arg(index)?;
    let value = cx.builder.value_of(cx.te.store, arg);
    let Expr::Tuple(items) = cx.te.store.expr(value) else { return Err(Refused::Leave) };
    let items: Vec<ExprId> = cx.te.store.items(items).collect();
    items.into_iter().map(|item| cx.scalar_of(item).ok_or(Refused::Leave)).collect()
}

fn strided_slice(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let (begin, end) = (scalars(cx, 2)?, scalars(cx, 3)?);
    let strides = match cx.args.len() {
        0..=4 => begin.iter().map(|_| cx.te.int(1)).collect(),
        _ => scalars(cx, 4)?,
    };
    let axes = scalars(cx, 1)?;
    let own = cx.te.shape(x);
    let mut places = Vec::new();
    for axis in axes {
        places.push(from_front(cx.te.known(axis).ok_or(Refused::Leave)?, own.len()));
    }
    let inbound = cx.flag("assume_inbound");
    let known = begin.iter().chain(&end).chain(&strides).all(|prim| cx.te.known(*prim).is_some())
        && own.iter().all(|extent| cx.te.known(*extent).is_some());
    let te = &mut cx.te;
    let mut shape = own.clone();
    let mut begins = Vec::new();
    for (index, axis) in places.iter().enumerate() {
        let (begin, end, stride) = (begin[index], end[index], strides[index]);
        let Some(extent) = own.get(*axis).copied() else { return Err("Axis is out of bounds".into()) };
        if let (true, Some(begin), Some(end), Some(stride), Some(extent)) =
            (known, te.known(begin), te.known(end), te.known(stride), te.known(extent))
        {
            let (begin, end) = (inside(begin, extent, stride), inside(end, extent, stride));
            let steps = (end - begin).unsigned_abs().div_ceil(stride.unsigned_abs().max(1));
            shape[*axis] = te.int(steps as i64);
            begins.push(te.int(begin));
            continue;
        }
        let length = length(te, begin, end, stride, extent, inbound);
        shape[*axis] = te.simplify(length);
        begins.push(if inbound { begin } else { inside_of(te, begin, extent, stride) });
    }
    let name = if known { "T_strided_slice_with_axes" } else { "T_dynamic_strided_slice_with_axes" };
    let out = te.compute(name, "ax", &shape, &mut |te, at| {
        let mut from = at.to_vec();
        for (index, axis) in places.iter().enumerate() {
            let far = te.times(at[*axis], strides[index]);
            from[*axis] = te.plus(begins[index], far);
        }
        te.load(x, &from)
    });
    cx.finish(&[out])
}

/// Clamps a bound of a slice to the tensor.
fn inside(index: i64, extent: i64, stride: i64) -> i64 {
    let (least, most) = if stride < 0 { (-1, extent - 1) } else { (0, extent) };
    let index = if index < 0 { index + extent } else { index };
    index.max(least).min(most)
}

/// Does the same as [`inside`] for unknown values.
fn inside_of(te: &mut Te, index: PrimId, extent: PrimId, stride: PrimId) -> PrimId {
    if let (Some(index), Some(extent), Some(stride)) = (te.known(index), te.known(extent), te.known(stride)) {
        return te.int(inside(index, extent, stride));
    }
    if index == extent && matches!(te.store.prim_of_id(index), PrimExpr::Var(_)) {
        return index;
    }
    let (zero, minus) = (te.int(0), te.int(-1));
    let back = te.bin(PrimOp::Lt, stride, zero);
    let least = te.if_then_else(back, minus, zero);
    let last = te.minus_int(extent, 1);
    let most = te.if_then_else(back, last, extent);
    let index = match te.known(index) {
        Some(known) if known >= 0 => index,
        _ => {
            let negative = te.bin(PrimOp::Lt, index, zero);
            let from_end = te.plus(index, extent);
            te.if_then_else(negative, from_end, index)
        }
    };
    let low = te.bin(PrimOp::Max, index, least);
    te.bin(PrimOp::Min, low, most)
}

/// Returns the number of elements of a slice.
fn length(te: &mut Te, begin: PrimId, end: PrimId, stride: PrimId, extent: PrimId, inbound: bool) -> PrimId {
    if inbound {
        let span = te.minus(end, begin);
        return ceildiv(te, span, stride);
    }
    let (begin, end) = (inside_of(te, begin, extent, stride), inside_of(te, end, extent, stride));
    let zero = te.int(0);
    let back = te.bin(PrimOp::Lt, stride, zero);
    let (there, here) = (te.minus(begin, end), te.minus(end, begin));
    let opposite = te.minus(zero, stride);
    let (down, up) = (ceildiv(te, there, opposite), ceildiv(te, here, stride));
    te.if_then_else(back, down, up)
}

/// `a / b` rounded up.
pub(super) fn ceildiv(te: &mut Te, a: PrimId, b: PrimId) -> PrimId {
    let more = te.plus(a, b);
    let more = te.minus_int(more, 1);
    te.floordiv(more, b)
}

fn choose(cx: &mut Lower) -> Lowered {
    let (condition, x, y) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let shape = cx.out_shape()?;
    let out = chosen(&mut cx.te, condition, x, y, &shape);
    cx.finish(&[out])
}

/// `topi.where`
fn chosen(te: &mut Te, condition: Tensor, x: Tensor, y: Tensor, shape: &[PrimId]) -> Tensor {
    te.compute("T_where", "ax", shape, &mut |te, at| {
        let value = element(te, condition, shape, at);
        let value = match te.type_of(value) {
            dtype if dtype.is_float() => value,
            _ => te.cast(DType::I64, value),
        };
        let zero = te.number(0.0, te.type_of(value));
        let truth = te.bin(PrimOp::Ne, value, zero);
        let (then, other) = (element(te, x, shape, at), element(te, y, shape, at));
        te.select(truth, then, other)
    })
}

/// Replaces a slice of a tensor by another tensor: one row marks the indices in the slice, and another has their sources.
fn slice_scatter(cx: &mut Lower) -> Lowered {
    let (x, source) = (cx.tensor(0)?, cx.tensor(1)?);
    let mut given = Vec::new();
    for index in 2..5 {
        let arg = cx.arg(index)?;
        given.push(cx.scalar_of(arg).ok_or(Refused::Leave)?);
    }
    let [start, end, step] = given[..] else { return Err(Refused::Leave) };
    let (axis, rank) = (cx.int("axis").unwrap_or(0), cx.te.rank(x));
    let axis = from_front(axis, rank);
    let te = &mut cx.te;
    let own = te.shape(x);
    let Some(size) = own.get(axis).and_then(|extent| te.known(*extent)) else { return Err(Refused::Leave) };
    let (first, last, single) = (te.known(start) == Some(0), te.known(end) == Some(size), te.known(step) == Some(1));
    if first && last && single {
        let out = each(te, "compute", "i", source, &mut |_, x| x);
        return cx.finish(&[out]);
    }
    let extent = te.int(size);
    let truth = te.store.prim_int(1, DType::BOOL);
    let mut mask = create_ops::full(te, &[extent], truth);
    let places = create_ops::counted(te, size, DType::I64);
    if !first {
        let inside = with_scalar(te, "greater_equal", places, start);
        mask = of(te, "logical_and", mask, inside);
    }
    if !last {
        let inside = with_scalar(te, "less", places, end);
        mask = of(te, "logical_and", mask, inside);
    }
    if !single {
        let far = with_scalar(te, "subtract", places, start);
        let rest = with_scalar(te, "floor_mod", far, step);
        let zero = te.int(0);
        let hit = with_scalar(te, "equal", rest, zero);
        mask = of(te, "logical_and", mask, hit);
    }
    let mut row = vec![te.int(1); rank];
    row[axis] = extent;
    let mask = reshape(te, mask, &row);
    let mask = broadcast(te, mask, &own);
    let far = with_scalar(te, "subtract", places, start);
    let more = te.minus_int(step, 1);
    let far = with_scalar(te, "add", far, more);
    let index = with_scalar(te, "floor_divide", far, step);
    let index = each(te, "compute", "i", index, &mut |te, index| {
        let (zero, most) = (te.int(0), te.int(size - 1));
        let low = te.bin(PrimOp::Min, index, most);
        te.bin(PrimOp::Max, low, zero)
    });
    let taken = te.compute("T_take", "ax", &own, &mut |te, at| {
        let mut from = at.to_vec();
        from[axis] = te.load(index, &[at[axis]]);
        te.load(source, &from)
    });
    let out = chosen(te, mask, taken, x, &own);
    cx.finish(&[out])
}

fn gather_elements(cx: &mut Lower) -> Lowered {
    let (x, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    let axis = from_front(cx.int("axis").unwrap_or(0), cx.te.rank(x));
    let out = gather(&mut cx.te, x, axis, indices);
    cx.finish(&[out])
}

/// `topi.gather`
pub(super) fn gather(te: &mut Te, x: Tensor, axis: usize, indices: Tensor) -> Tensor {
    let shape = te.shape(indices);
    te.compute("T_gather", "ax", &shape, &mut |te, at| {
        let mut from = at.to_vec();
        from[axis] = te.load(indices, at);
        te.load(x, &from)
    })
}

fn gather_nd(cx: &mut Lower) -> Lowered {
    let (x, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    let batch = cx.int("batch_dims").unwrap_or(0).max(0) as usize;
    let te = &mut cx.te;
    let rank = te.rank(indices);
    let axes: Vec<usize> = [rank - 1].into_iter().chain(0..rank - 1).collect();
    let indices = transpose(te, indices, &axes);
    let count = te.known(te.shape(indices)[0]).ok_or(Refused::Leave)? as usize;
    let own = te.shape(x);
    let mut shape = te.shape(indices)[1..].to_vec();
    shape.extend(own.iter().skip(count + batch));
    let out = te.compute("T_gather_nd", "ax", &shape, &mut |te, at| {
        let mut from = at[..batch].to_vec();
        for index in 0..count {
            let mut place = vec![te.int(index as i64)];
            place.extend(&at[..rank - 1]);
            let value = te.load(indices, &place);
            let float = te.type_of(value).is_float();
            from.push(if float { te.cast(DType::I32, value) } else { value });
        }
        if from.len() < own.len() {
            from.extend(&at[rank - 1..]);
        }
        te.load(x, &from)
    });
    cx.finish(&[out])
}

fn index_tensor(cx: &mut Lower) -> Lowered {
    let x = cx.tensor(0)?;
    let tuple = cx.arg(1)?;
    let ty = cx.te.store.checked_type(tuple).map(|ty| cx.te.store.type_of_id(ty).clone());
    let Some(Type::Tuple(types)) = ty else { return Err(Refused::Leave) };
    let count = types.len();
    let fields = cx.bound_fields(tuple, count)?;
    let mut indices = Vec::new();
    for field in fields {
        indices.push(cx.tensor_of(field)?);
    }
    let out_shape = cx.out_shape()?;
    let te = &mut cx.te;
    let own = te.shape(x);
    let rank = out_shape.len() + indices.len() - own.len();
    let shared = out_shape[..rank].to_vec();
    let indices: Vec<Tensor> = match indices.len() {
        1 => indices,
        _ => indices.into_iter().map(|index| broadcast(te, index, &shared)).collect(),
    };
    let mut shape = shared.clone();
    shape.extend(own.iter().skip(indices.len()));
    let out = te.compute("advanced_index", "ax", &shape, &mut |te, at| {
        let mut from: Vec<PrimId> = indices.iter().map(|index| te.load(*index, &at[..rank])).collect();
        from.extend(&at[rank..]);
        te.load(x, &from)
    });
    cx.finish(&[out])
}

/// The shape is computed at run time, and a cast names its extents.
fn dynamic_strided_slice(cx: &mut Lower) -> Lowered {
    let args = cx.args.clone();
    let shape = {
        let mut inner = cx.fresh(cx.call);
        inner.hint = "shape_func";
        shape_func(&mut inner)?
    };
    let shape = cx.builder.normalize(cx.te.store, shape);
    let shape = cx.builder.normalize_operand(cx.te.store, shape);
    let call = cx.relax_call("tensor_to_shape", &[shape], &[]);
    let value = cx.builder.emit(cx.te.store, call, "");
    let rank = cx.info(args[0]).and_then(|info| cx.te.store.rank(&info.extents)).ok_or(Refused::Leave)?;
    let name = cx.te.store.name("s");
    let symbols: Vec<_> = (0..rank).map(|_| cx.te.store.add_symbol(Symbol { name, dtype: DType::I64, size: false })).collect();
    let dims: Vec<Dim> = symbols.iter().map(|symbol| Dim::Symbol(*symbol)).collect();
    let ty = cx.te.store.ty(Type::Shape(Extents::Known(dims.into())));
    cx.builder.emit_match_cast(cx.te.store, value, ty, "");
    let x = cx.tensor(0)?;
    let (begin, end, strides) = (cx.tensor(1)?, cx.tensor(2)?, cx.tensor(3)?);
    let _ = end;
    let own = cx.te.shape(x);
    let mut shape = Vec::new();
    for symbol in symbols {
        let prim = cx.te.store.prim(PrimExpr::Var(symbol));
        shape.push(cx.prim(prim));
    }
    let out = cx.te.compute("T_strided_slice_dynamic", "ax", &shape, &mut |te, at| {
        let mut from = Vec::new();
        for (axis, index) in at.iter().enumerate() {
            let number = te.int(axis as i64);
            let (start, stride) = (te.load(begin, &[number]), te.load(strides, &[number]));
            let far = te.times(*index, stride);
            let start = inside_of(te, start, own[axis], stride);
            from.push(te.plus(start, far));
        }
        te.load(x, &from)
    });
    cx.finish(&[out])
}

fn shape_func(cx: &mut Lower) -> Lowered {
    let (x, begin, end, strides) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?, cx.tensor(3)?);
    let own = cx.te.shape(x);
    let count = cx.te.shape(begin);
    let out = cx.te.compute("T_shape_func_strided_slice_dynamic", "=i", &count, &mut |te, at| {
        let (zero, minus) = (te.int(0), te.int(-1));
        let mut extent = minus;
        for (axis, own) in own.iter().enumerate() {
            let number = te.int(axis as i64);
            let here = te.bin(PrimOp::Eq, at[0], number);
            extent = te.select(here, *own, extent);
        }
        let (begin, end, stride) = (te.load(begin, at), te.load(end, at), te.load(strides, at));
        let back = te.bin(PrimOp::Lt, stride, zero);
        let mut bound = |index: PrimId| {
            let least = te.select(back, minus, zero);
            let last = te.minus_int(extent, 1);
            let most = te.select(back, last, extent);
            let negative = te.bin(PrimOp::Lt, index, zero);
            let from_end = te.plus(index, extent);
            let index = te.select(negative, from_end, index);
            let low = te.bin(PrimOp::Max, index, least);
            te.bin(PrimOp::Min, low, most)
        };
        let (begin, end) = (bound(begin), bound(end));
        let opposite = te.times(stride, minus);
        let (there, here) = (te.minus(begin, end), te.minus(end, begin));
        let (down, up) = (ceildiv(te, there, opposite), ceildiv(te, here, stride));
        te.select(back, down, up)
    });
    cx.finish(&[out])
}
