//! `layout_transform`: moves elements to the indices that an index map gives.
//!
//! If the new shape is larger than the old one, the other elements are padding: the program then runs over the new shape and
//! tests for each index if it is one of the old shape. This is supported for maps that split single axes, `(a // 4, a % 4)`.
//!
//! Source: `legalize_ops/manipulate.py`, `src/s_tir/schedule/primitive/layout_transformation.cc`.

use super::create::{empty_block, spread, within_loops};
use super::lower::{Lower, Lowered, Refused};
use super::te::{Axis, Body, Stage, Te, Tensor};
use super::{Rule, rule};
use crate::ir::{AttrValue, Block, DType, Dim, For, Id, IterKind, IterVar, PrimExpr, PrimId, PrimOp, Region, Stmt, Symbol};
use crate::tir::arith::Analyzer;
use crate::tir::substitute;

pub(super) const RULES: &[Rule] = &[rule("layout_transform", "te_layout_transform", layout_transform)];

/// An index of the new shape: `variable // lower % upper`, the remainder only where there is one.
struct Part {
    /// The axis of the old shape that it belongs to.
    of: usize,
    lower: i64,
    upper: Option<i64>,
}

fn layout_transform(cx: &mut Lower) -> Lowered {
    let Some(AttrValue::Object(map)) = cx.te.store.attr(cx.attrs, "index_map") else { return Err(Refused::Leave) };
    let map = *map;
    let field = |cx: &Lower, name: &str| match cx.te.store.object_field(map, name) {
        Some(AttrValue::Array(items)) => Some(items.to_vec()),
        _ => None,
    };
    let (Some(first), Some(last)) = (field(cx, "initial_indices"), field(cx, "final_indices")) else {
        return Err(Refused::Leave);
    };
    let symbol = |value: &AttrValue| match value {
        AttrValue::Dim(Dim::Symbol(symbol)) => Some(*symbol),
        _ => None,
    };
    let vars: Option<Vec<Id<Symbol>>> = first.iter().map(symbol).collect();
    let vars = vars.ok_or(Refused::Leave)?;
    let mut indices = Vec::new();
    for index in &last {
        indices.push(match index {
            AttrValue::Dim(dim) => cx.te.store.prim_of_dim(*dim),
            other => cx.te.int(other.as_int().ok_or(Refused::Leave)?),
        });
    }
    let x = cx.tensor(0)?;
    let (own, shape) = (cx.te.shape(x), cx.out_shape()?);
    if own.len() != vars.len() || shape.len() != indices.len() {
        return Err(Refused::Leave);
    }
    let parts: Vec<Option<Part>> = indices.iter().map(|index| part(&cx.te, &vars, *index)).collect();
    let size = |te: &Te, shape: &[PrimId]| shape.iter().try_fold(1i64, |size, extent| size.checked_mul(te.known(*extent)?));
    let whole = parts.iter().all(|part| matches!(part, Some(Part { lower: 1, upper: None, .. })));
    let dtype = cx.te.dtype(x);
    if whole || size(&cx.te, &own).is_some_and(|before| size(&cx.te, &shape) == Some(before)) {
        let out = cx.te.placeholder("te_layout_transform", &shape, dtype);
        moved(&mut cx.te, x, out, &vars, &indices);
        return cx.finish(&[out]);
    }
    let parts = parts.into_iter().collect::<Option<Vec<Part>>>().ok_or(Refused::Leave)?;
    let pad = match cx.number("pad_value") {
        Some(value) => cx.te.number(value, dtype),
        None => cx.te.number(0.0, dtype),
    };
    let out = cx.te.placeholder("te_layout_transform_with_pad", &shape, dtype);
    padded(&mut cx.te, x, out, &vars, &parts, pad).ok_or(Refused::Leave)?;
    cx.finish_as("te_layout_transform_with_pad", &[out])
}

/// Returns the part of a variable that an index is, if it is that simple.
fn part(te: &Te, vars: &[Id<Symbol>], index: PrimId) -> Option<Part> {
    let step = |index: PrimId, wanted: PrimOp| match *te.store.prim_of_id(index) {
        PrimExpr::Binary { op, a, b } if op == wanted => Some((a, te.known(b).filter(|by| *by > 0)?)),
        _ => None,
    };
    let (index, upper) = step(index, PrimOp::FloorMod).map_or((index, None), |(index, by)| (index, Some(by)));
    let (index, lower) = step(index, PrimOp::FloorDiv).unwrap_or((index, 1));
    let PrimExpr::Var(var) = te.store.prim_of_id(index) else { return None };
    Some(Part { of: vars.iter().position(|other| other == var)?, lower, upper })
}

/// Makes a program that runs over the old shape and writes to the mapped indices.
fn moved(te: &mut Te, x: Tensor, out: Tensor, vars: &[Id<Symbol>], indices: &[PrimId]) {
    let shape = te.shape(x);
    let axes = te.axes("self", &shape);
    let at = te.vars(&axes);
    let mut analyzer = Analyzer::new();
    for axis in &axes {
        if let Some(extent) = te.known(axis.extent) {
            analyzer.assume_between(axis.var, 0, extent - 1);
        }
    }
    // An axis of one element counts as zero in a sum; an index that is such an axis stays one.
    let zero = te.store.prim_int(0, DType::I64);
    let inside = |(axis, at): (&Axis, &PrimId)| if te.known(axis.extent) == Some(1) { zero } else { *at };
    let inside: Vec<PrimId> = axes.iter().zip(&at).map(inside).collect();
    let mut places = Vec::new();
    for index in indices {
        let values = if matches!(te.store.prim_of_id(*index), PrimExpr::Var(_)) { &at } else { &inside };
        let place = substitute(te.store, *index, &mut |_, symbol| Some(values[vars.iter().position(|var| *var == symbol)?]));
        places.push(if at.contains(&place) { place } else { analyzer.simplify(te.store, place) });
    }
    let value = te.load(x, &at);
    whole(te, x, out, &axes, &at, &places, value);
}

/// Makes a program that runs over the new shape and computes the source of each element.
fn padded(te: &mut Te, x: Tensor, out: Tensor, vars: &[Id<Symbol>], parts: &[Part], pad: PrimId) -> Option<()> {
    let (own, shape) = (te.shape(x), te.shape(out));
    let mut axes = Vec::new();
    for (index, (part, extent)) in parts.iter().zip(&shape).enumerate() {
        let name = match part {
            Part { lower: 1, upper: None, of } => te.store.str(te.store.symbol(vars[*of]).name).to_owned(),
            _ => format!("axis{index}"),
        };
        axes.push(te.axis(&name, *extent));
    }
    let at = te.vars(&axes);
    let (mut from, mut missing) = (Vec::new(), None);
    for (of, extent) in own.iter().enumerate() {
        // The parts of this axis, the coarsest first; each begins where the next finer one ends.
        let mut own: Vec<usize> = (0..parts.len()).filter(|index| parts[*index].of == of).collect();
        crate::ir::sort::sort_by(&mut own, |a, b| parts[*b].lower.cmp(&parts[*a].lower));
        let (first, inner) = own.split_first()?;
        let mut above = parts[*first].lower;
        if parts[*first].upper.is_some() || parts[*own.last()?].lower != 1 {
            return None;
        }
        for index in inner {
            let part = &parts[*index];
            if part.lower.checked_mul(part.upper?) != Some(above) {
                return None;
            }
            above = part.lower;
        }
        let mut rest = None;
        for index in inner {
            rest = Some(plus_scaled(te, rest, at[*index], parts[*index].lower));
        }
        let sum = own.iter().fold(None, |sum, index| Some(plus_scaled(te, sum, at[*index], parts[*index].lower)));
        from.push(sum?);
        let Some(rest) = rest else { continue };
        let unit = parts[*first].lower;
        if let Some(outside) = outside(te, *extent, unit, at[*first], rest, te.known(shape[*first])) {
            missing = Some(match missing {
                Some(other) => te.bin(PrimOp::Or, other, outside),
                None => outside,
            });
        }
    }
    let value = te.load(x, &from);
    let value = te.if_then_else(missing?, pad, value);
    let source = Region { buffer: x, ranges: from.iter().map(|index| (*index, None)).collect() };
    program(te, x, out, &axes, (source, &at), value);
    Some(())
}

/// True beyond the end of an axis that was split into units, of which the last one is not full.
fn outside(te: &mut Te, extent: PrimId, unit: i64, coarse: PrimId, rest: PrimId, units: Option<i64>) -> Option<PrimId> {
    let count = te.int(unit);
    let Some(known) = te.known(extent) else {
        let minus = te.int(-unit);
        let (over, zero) = (te.bin(PrimOp::FloorMod, extent, minus), te.int(0));
        let uneven = te.bin(PrimOp::Lt, over, zero);
        let (full, left) = (te.floordiv(extent, count), te.floormod(extent, count));
        let (last, behind) = (te.bin(PrimOp::Eq, coarse, full), te.bin(PrimOp::Le, left, rest));
        let last = te.both(uneven, last);
        return Some(te.both(last, behind));
    };
    let left = known % unit;
    if left == 0 {
        return None;
    }
    let (bound, full) = (te.int(left), te.int(known / unit));
    let behind = match left == unit - 1 {
        true => te.bin(PrimOp::Eq, rest, bound),
        false => te.bin(PrimOp::Le, bound, rest),
    };
    if units == Some(1) {
        return Some(behind);
    }
    let last = te.bin(PrimOp::Eq, coarse, full);
    Some(te.both(last, behind))
}

fn plus_scaled(te: &mut Te, sum: Option<PrimId>, index: PrimId, scale: i64) -> PrimId {
    let scale = te.store.prim_int(scale, DType::I64);
    let more = te.times(index, scale);
    sum.map_or(more, |sum| te.plus(sum, more))
}

fn whole(te: &mut Te, x: Tensor, out: Tensor, axes: &[Axis], at: &[PrimId], places: &[PrimId], value: PrimId) {
    let source = Region { buffer: x, ranges: at.iter().map(|index| (*index, None)).collect() };
    program(te, x, out, axes, (source, places), value);
}

/// Makes one block that writes `value` to the indices.
fn program(te: &mut Te, x: Tensor, out: Tensor, axes: &[Axis], (source, places): (Region, &[PrimId]), value: PrimId) {
    let (heads, iters): (Vec<For>, Vec<IterVar>) = axes.iter().map(|axis| spread(te, axis, IterKind::Spatial)).unzip();
    let body = te.store.add_stmt(Stmt::Store { buffer: out, indices: places.into(), value });
    let target = Region { buffer: out, ranges: places.iter().map(|index| (*index, None)).collect() };
    let hint = te.tensor_name(out);
    let name = te.store.name(&hint);
    let (reads, writes) = ([source].into(), [target].into());
    let block = Block { name, iters: iters.into(), reads, writes, body, ..empty_block(te) };
    let body = within_loops(te, heads, block);
    let body = Body::Whole(body, vec![x]);
    te.add_stage(Stage { name: hint, outputs: vec![out], axes: Vec::new(), reduced: Vec::new(), body, attrs: Vec::new() });
}
