//! Operators that write elements at computed indices: with statements of their own (`te.extern`).
//!
//! Source: `python/tvm/topi/scatter_elements.py`, `scatter.py`, `legalize_ops/manipulate.py`.

use super::lower::{Lower, Lowered, Refused, from_front};
use super::manipulate::transpose;
use super::te::{Body, Stage, Te, Tensor};
use super::{Rule, rule};
use crate::ir::{AttrNode, DType, For, ForKind, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Symbol};

pub(super) const RULES: &[Rule] = &[
    rule("scatter_elements", "scatter_elements", scatter_elements),
    rule("scatter_nd", "scatter_nd", scatter_nd),
    rule("grad.take_backward", "take_backward", take_backward),
    rule("index_put", "index_put", index_put),
    SEARCH,
];

/// `bucketize`, which [`super::sort`] has too.
pub(super) const SEARCH: Rule = rule("bucketize", "searchsorted", searchsorted);

/// Returns the indices of the element at an offset in a packed tensor, the first one without a remainder.
fn place(te: &mut Te, tensor: Tensor, mut flat: PrimId) -> Vec<PrimId> {
    let mut at = Vec::new();
    let shape = te.shape(tensor);
    for (axis, extent) in shape.iter().enumerate().rev() {
        if axis == 0 {
            at.push(flat);
            break;
        }
        at.push(te.floormod(flat, *extent));
        flat = te.floordiv(flat, *extent);
    }
    at.reverse();
    at
}

pub(super) fn load_flat(te: &mut Te, tensor: Tensor, flat: PrimId) -> PrimId {
    let at = place(te, tensor, flat);
    te.load(tensor, &at)
}

pub(super) fn store_flat(te: &mut Te, buffer: Tensor, flat: PrimId, value: PrimId) -> StmtId {
    let indices = place(te, buffer, flat).into();
    te.store.add_stmt(Stmt::Store { buffer, indices, value })
}

/// Makes a loop; `body` gets its variable.
pub(super) fn each(te: &mut Te, extent: PrimId, parallel: bool, body: &mut dyn FnMut(&mut Te, PrimId) -> StmtId) -> StmtId {
    let name = te.store.name("v");
    let var = te.store.add_symbol(Symbol { name, dtype: DType::I64, size: false });
    let used = te.store.prim(PrimExpr::Var(var));
    let body = body(te, used);
    // TVM's builder of loops simplifies extents.
    let extent = te.simplify(extent);
    let kind = if parallel { ForKind::Parallel } else { ForKind::Serial };
    let head = For { var, min: te.int(0), extent, step: None, kind, annotations: None };
    te.store.add_stmt(Stmt::For(head, body))
}

/// Adds a stage in which a statement fills tensors from others.
pub(super) fn extern_stage(te: &mut Te, name: &str, outs: &[Tensor], inputs: &[Tensor], body: StmtId) {
    let (body, outputs) = (Body::Extern(body, inputs.to_vec()), outs.to_vec());
    te.add_stage(Stage { name: name.to_owned(), outputs, axes: Vec::new(), reduced: Vec::new(), body, attrs: Vec::new() });
}

/// Puts `T.attr({"pragma_scope": "seq"})` around statements.
fn in_order(te: &mut Te, stmts: &[StmtId]) -> StmtId {
    let body = te.store.add_stmts(stmts);
    let (key, text) = (te.store.name("pragma_scope"), te.store.name("seq"));
    let value = te.store.prim(PrimExpr::Str(text));
    te.store.add_stmt(Stmt::Attr { node: AttrNode::Nothing, key, value, body })
}

/// The combination of the old and the new value of an element.
struct Reduction {
    /// `None` where the new value replaces the old one.
    op: Option<PrimOp>,
    /// True if the result is halved.
    mean: bool,
}

impl Reduction {
    fn of(name: &str) -> Result<Reduction, Refused> {
        let op = match name {
            "update" => None,
            "add" | "mean" => Some(PrimOp::Add),
            "mul" => Some(PrimOp::Mul),
            "min" => Some(PrimOp::Min),
            "max" => Some(PrimOp::Max),
            _ => return Err("there is no such reduction".into()),
        };
        Ok(Reduction { op, mean: name == "mean" })
    }

    fn store(&self, te: &mut Te, out: Tensor, at: PrimId, update: PrimId) -> StmtId {
        let mut value = update;
        if let Some(op) = self.op {
            let old = load_flat(te, out, at);
            value = te.bin(op, old, update);
        }
        if self.mean {
            let two = te.number(2.0, te.type_of(value));
            value = te.over(value, two);
        }
        store_flat(te, out, at, value)
    }
}

fn copy_of(te: &mut Te, x: Tensor, out: Tensor, parallel: bool) -> StmtId {
    let shape = te.shape(x);
    let size = te.product(&shape);
    each(te, size, parallel, &mut |te, flat| {
        let value = load_flat(te, x, flat);
        store_flat(te, out, flat, value)
    })
}

fn scatter_elements(cx: &mut Lower) -> Lowered {
    cx.te.offsets = true;
    let (x, indices, updates) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    cx.te.offsets = false;
    let reduction = Reduction::of(&cx.text("reduction"))?;
    let te = &mut cx.te;
    let (own, theirs) = (te.shape(x), te.shape(indices));
    let axis = from_front(te.store.attr_int(cx.attrs, "axis").unwrap_or(0), own.len());
    if axis >= own.len() || theirs.len() != own.len() {
        return Err(Refused::Leave);
    }
    let out = te.placeholder("out_buf", &own, te.dtype(x));
    let copied = copy_of(te, x, out, true);
    let (extent, after) = (own[axis], te.product(&own[axis + 1..]));
    let stride = te.times(extent, after);
    let (before, behind) = (te.product(&theirs[..axis]), te.product(&theirs[axis + 1..]));
    let step = te.times(theirs[axis], behind);
    let rows = te.times(before, behind);
    let scattered = each(te, rows, true, &mut |te, fused| {
        let (i, j) = (te.floordiv(fused, behind), te.floormod(fused, behind));
        let (first, second) = (te.times(i, step), te.times(i, stride));
        let (first, second) = (te.plus(first, j), te.plus(second, j));
        each(te, theirs[axis], false, &mut |te, k| {
            let far = te.times(k, behind);
            let from = te.plus(first, far);
            let index = load_flat(te, indices, from);
            let zero = te.store.prim_int(0, te.type_of(index));
            let negative = te.bin(PrimOp::Lt, index, zero);
            let negative = te.cast(DType::I64, negative);
            let up = te.times(negative, extent);
            let index = te.plus(index, up);
            let far = te.times(index, after);
            let to = te.plus(second, far);
            let update = load_flat(te, updates, from);
            reduction.store(te, out, to, update)
        })
    });
    let body = in_order(te, &[copied, scattered]);
    extern_stage(te, "scatter_elements_generic", &[out], &[x, indices, updates], body);
    cx.finish(&[out])
}

fn scatter_nd(cx: &mut Lower) -> Lowered {
    cx.te.offsets = true;
    let x = cx.tensor(0)?;
    cx.te.offsets = false;
    let indices = cx.tensor(1)?;
    cx.te.offsets = true;
    let updates = cx.tensor(2)?;
    cx.te.offsets = false;
    let reduction = Reduction::of(&cx.text("reduction"))?;
    let te = &mut cx.te;
    let rank = te.rank(indices);
    let axes: Vec<usize> = [rank - 1].into_iter().chain(0..rank - 1).collect();
    let indices = transpose(te, indices, &axes);
    let (own, theirs, news) = (te.shape(x), te.shape(indices), te.shape(updates));
    let count = te.known(theirs[0]).ok_or(Refused::Leave)?.max(0) as usize;
    if count > own.len() || news.len() + 1 < rank {
        return Err(Refused::Leave);
    }
    let out = te.placeholder("out_buf", &own, te.dtype(x));
    let copied = copy_of(te, x, out, false);
    let (rows, width) = (te.product(&theirs[1..]), te.product(&news[rank - 1..]));
    let scattered = each(te, rows, false, &mut |te, i| {
        each(te, width, true, &mut |te, j| {
            let (mut offset, mut to) = (width, j);
            for number in (0..count).rev() {
                let number_prim = te.int(number as i64);
                let row = te.times(number_prim, rows);
                let from = te.plus(i, row);
                let index = load_flat(te, indices, from);
                let far = te.times(offset, index);
                to = te.plus(to, far);
                offset = te.times(offset, own[number]);
            }
            let from = te.times(i, width);
            let from = te.plus(from, j);
            let update = load_flat(te, updates, from);
            reduction.store(te, out, to, update)
        })
    });
    let body = in_order(te, &[copied, scattered]);
    extern_stage(te, "scatter_nd_generic", &[out], &[x, indices, updates], body);
    cx.finish(&[out])
}

/// Replaces elements, or adds to them, at the given indices; one index for each axis.
fn index_put(cx: &mut Lower) -> Lowered {
    let tuple = cx.arg(1)?;
    let fields = if cx.info(tuple).is_some() { vec![tuple] } else { cx.fields(1)? };
    cx.te.offsets = true;
    let x = cx.tensor(0)?;
    let mut indices = Vec::new();
    for field in fields {
        indices.push(cx.tensor_of(field)?);
    }
    let values = cx.tensor(2)?;
    cx.te.offsets = false;
    let accumulate = cx.flag("accumulate");
    let te = &mut cx.te;
    let own = te.shape(x);
    if indices.len() != own.len() {
        return Err("Number of index tensors must match data dimensions".into());
    }
    let rank = indices.iter().map(|index| te.rank(*index)).max().unwrap_or(0);
    let mut shared = vec![te.int(1); rank];
    for index in &indices {
        let shape = te.shape(*index);
        let behind = rank - shape.len();
        for (axis, extent) in shape.into_iter().enumerate() {
            let known = &mut shared[behind + axis];
            match (te.known(*known), te.known(extent)) {
                (_, Some(1)) => {}
                (Some(1), _) => *known = extent,
                // TVM compares only numbers, so not even a symbol matches itself.
                (Some(a), Some(b)) if a == b => {}
                _ => return Err("Cannot broadcast index shapes".into()),
            }
        }
    }
    let out = te.placeholder("out_buf", &own, te.dtype(x));
    let copied = copy_of(te, x, out, true);
    let count = te.product(&shared);
    let put = each(te, count, true, &mut |te, k| {
        let (mut places, mut rest) = (Vec::new(), k);
        for extent in shared.iter().rev() {
            places.push(te.floormod(rest, *extent));
            rest = te.floordiv(rest, *extent);
        }
        places.reverse();
        let (mut to, mut stride) = (te.int(0), te.int(1));
        for (index, extent) in indices.iter().zip(&own).rev() {
            let (mut from, mut step) = (te.int(0), te.int(1));
            for (place, width) in places.iter().rev().zip(te.shape(*index).into_iter().rev()) {
                if te.known(width) != Some(1) {
                    let far = te.times(*place, step);
                    from = te.plus(from, far);
                }
                step = te.times(step, width);
            }
            let value = load_flat(te, *index, from);
            let zero = te.store.prim_int(0, te.type_of(value));
            let negative = te.bin(PrimOp::Lt, value, zero);
            let negative = te.cast(DType::I64, negative);
            let up = te.times(negative, *extent);
            let value = te.plus(value, up);
            let far = te.times(value, stride);
            to = te.plus(to, far);
            stride = te.times(stride, *extent);
        }
        let mut value = load_flat(te, values, k);
        if accumulate {
            let old = load_flat(te, out, to);
            value = te.plus(old, value);
        }
        store_flat(te, out, to, value)
    });
    let body = in_order(te, &[copied, put]);
    let inputs = [&[x], &indices[..], &[values]].concat();
    extern_stage(te, "index_put_generic", &[out], &inputs, body);
    cx.finish(&[out])
}

/// The gradient of `take`: adds each element at the index that it was taken from.
fn take_backward(cx: &mut Lower) -> Lowered {
    cx.te.offsets = true;
    let (grad, x, indices) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    cx.te.offsets = false;
    let te = &mut cx.te;
    let (own, theirs) = (te.shape(x), te.shape(grad));
    let [count] = te.shape(indices)[..] else { return Err(Refused::Leave) };
    let axis = te.store.attr_int(cx.attrs, "axis").map(|axis| from_front(axis, own.len()));
    if axis.is_some_and(|axis| axis >= own.len()) || theirs.len() != own.len() {
        return Err(Refused::Leave);
    }
    let out = te.placeholder("out_buf", &own, te.dtype(x));
    let zero = te.number(0.0, te.dtype(x));
    let size = te.product(&own);
    let cleared = each(te, size, false, &mut |te, flat| store_flat(te, out, flat, zero));
    let added = |te: &mut Te, to: PrimId, from: PrimId| {
        let (old, more) = (load_flat(te, out, to), load_flat(te, grad, from));
        let value = te.plus(old, more);
        store_flat(te, out, to, value)
    };
    let body = match axis {
        None => each(te, count, false, &mut |te, l| {
            let to = te.load(indices, &[l]);
            added(te, to, l)
        }),
        Some(axis) => {
            let (before, after) = (te.product(&theirs[..axis]), te.product(&theirs[axis + 1..]));
            let rows = te.times(before, after);
            each(te, rows, false, &mut |te, fused| {
                let (i, j) = (te.floordiv(fused, after), te.floormod(fused, after));
                let row = te.times(i, after);
                each(te, count, false, &mut |te, l| {
                    let index = te.load(indices, &[l]);
                    let [to, from] = [(own[axis], index), (count, l)].map(|(extent, index)| {
                        let (start, far) = (te.times(row, extent), te.times(index, after));
                        let place = te.plus(start, far);
                        te.plus(place, j)
                    });
                    added(te, to, from)
                })
            })
        }
    };
    let body = in_order(te, &[cleared, body]);
    extern_stage(te, "take_backward", &[out], &[grad, x, indices], body);
    cx.finish(&[out])
}

/// Makes a binary search in a sorted row.
fn searchsorted(cx: &mut Lower) -> Lowered {
    let dtype = if cx.flag("out_int32") { DType::I32 } else { DType::I64 };
    let right = cx.flag("right");
    cx.te.offsets = true;
    let (sorted, x) = (cx.tensor(1)?, cx.tensor(0)?);
    let te = &mut cx.te;
    let own = te.shape(x);
    let [extent] = te.shape(sorted)[..] else { return Err(Refused::Leave) };
    let out = te.placeholder("searchsorted", &own, dtype);
    te.offsets = false;
    let size = te.product(&own);
    let body = each(te, size, true, &mut |te, flat| {
        let (one, zero) = (te.int(1), te.int(0));
        let ends = [0, 1].map(|_| te.local("buffer", &[one], dtype));
        let mut stmts: Vec<StmtId> = ends.iter().map(|end| te.store.add_stmt(Stmt::Alloc(*end, None))).collect();
        let (start, all) = (te.number(0.0, dtype), te.cast(dtype, extent));
        let [low, high] = ends.map(|end| te.load(end, &[zero]));
        let write =
            |te: &mut Te, buffer: Tensor, value: PrimId| te.store.add_stmt(Stmt::Store { buffer, indices: [zero].into(), value });
        stmts.extend([write(te, ends[0], start), write(te, ends[1], all)]);
        let span = te.minus(high, low);
        let bit = te.number(1.0, dtype);
        let half = te.call("shift_right", &[span, bit]);
        let middle = te.plus(low, half);
        // As an index it has 64 bits, and so do its parts.
        let [from, wide] = [low, span].map(|part| te.cast(DType::I64, part));
        let half = te.call("shift_right", &[wide, one]);
        let place = te.plus(from, half);
        let (there, value) = (te.load(sorted, &[place]), load_flat(te, x, flat));
        let cond = te.bin(if right { PrimOp::Le } else { PrimOp::Lt }, there, value);
        let next = te.plus_int(middle, 1);
        let (then, other) = (write(te, ends[0], next), write(te, ends[1], middle));
        let step = te.store.add_stmt(Stmt::If { cond, then, other: Some(other) });
        let cond = te.bin(PrimOp::Lt, low, high);
        stmts.push(te.store.add_stmt(Stmt::While { cond, body: step }));
        stmts.push(store_flat(te, out, flat, low));
        te.store.add_stmts(&stmts)
    });
    extern_stage(te, "searchsorted", &[out], &[sorted, x], body);
    cx.finish(&[out])
}
