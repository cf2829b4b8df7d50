//! Suppression of boxes that overlap better ones, one class or all at once, as loops over the boxes of each image.
//!
//! Source: `python/tvm/topi/vision/nms.py`.

use super::lower::{Lower, Lowered, Refused};
use super::scatter::{each, extern_stage};
use super::sort::argsort_valid;
use super::te::{Te, Tensor};
use super::{Rule, rule};
use crate::ir::{DType, PrimExpr, PrimId, PrimOp, Stmt, StmtId};

pub(super) const RULES: &[Rule] = &[
    rule("vision.get_valid_counts", "get_valid_counts", valid_counts),
    rule("vision.non_max_suppression", "non_max_suppression", suppression),
];

fn set(te: &mut Te, buffer: Tensor, at: &[PrimId], value: PrimId) -> StmtId {
    te.store.add_stmt(Stmt::Store { buffer, indices: at.into(), value })
}

fn when(te: &mut Te, cond: PrimId, then: &[StmtId], other: &[StmtId]) -> StmtId {
    let then = te.store.add_stmts(then);
    let other = (!other.is_empty()).then(|| te.store.add_stmts(other));
    te.store.add_stmt(Stmt::If { cond, then, other })
}

/// Makes a variable of a loop: a buffer of one element.
fn local(te: &mut Te, dtype: DType) -> (Tensor, StmtId) {
    let one = te.int(1);
    let buffer = te.local("buffer", &[one], dtype);
    (buffer, te.store.add_stmt(Stmt::Alloc(buffer, None)))
}

fn get(te: &mut Te, buffer: Tensor) -> PrimId {
    let zero = te.int(0);
    te.load(buffer, &[zero])
}

fn put(te: &mut Te, buffer: Tensor, value: PrimId) -> StmtId {
    let zero = te.int(0);
    set(te, buffer, &[zero], value)
}

fn count_up(te: &mut Te, buffer: Tensor) -> StmtId {
    let value = get(te, buffer);
    let value = te.plus_int(value, 1);
    put(te, buffer, value)
}

/// Widens the content of such a buffer, for the bound of a loop or an operand of a comparison.
fn wide(te: &mut Te, value: PrimId) -> PrimId {
    te.cast(DType::I64, value)
}

fn narrow(te: &mut Te, value: i64) -> PrimId {
    te.store.prim_int(value, DType::I32)
}

/// Makes an element of a number that TVM writes in single precision.
fn constant(te: &mut Te, value: f64, dtype: DType) -> PrimId {
    let value = te.store.prim_float(value, DType::F32);
    te.store.prim(PrimExpr::Cast { dtype, value })
}

/// Makes `buffer[i, j, k] = -1` for every `k`.
fn cleared(te: &mut Te, buffer: Tensor, at: &[PrimId], length: PrimId) -> StmtId {
    let nothing = constant(te, -1.0, te.dtype(buffer));
    each(te, length, false, &mut |te, k| set(te, buffer, &[at, &[k]].concat(), nothing))
}

fn valid_counts(cx: &mut Lower) -> Lowered {
    let data = cx.arg(0)?;
    let data = cx.tensor_named(data, "data")?;
    let (threshold, id, score) =
        (cx.float("score_threshold"), cx.int("id_index").unwrap_or(0), cx.int("score_index").unwrap_or(1));
    let te = &mut cx.te;
    let [batch, count, length] = te.shape(data)[..] else { return Err(Refused::Leave) };
    let valid = te.placeholder("valid_count", &[batch], DType::I32);
    let out = te.placeholder("out_tensor", &[batch, count, length], te.dtype(data));
    let places = te.placeholder("out_indices", &[batch, count], DType::I32);
    let body = each(te, batch, true, &mut |te, i| {
        let (zero, minus) = (narrow(te, 0), narrow(te, -1));
        let begin = set(te, valid, &[i], zero);
        let kept = each(te, count, false, &mut |te, j| {
            let score = te.int(score);
            let value = te.load(data, &[i, j, score]);
            let least = te.number(threshold, te.dtype(data));
            let mut cond = te.bin(PrimOp::Gt, value, least);
            if id >= 0 {
                let (id, zero) = (te.int(id), te.number(0.0, te.dtype(data)));
                let class = te.load(data, &[i, j, id]);
                let known = te.bin(PrimOp::Ge, class, zero);
                cond = te.both(cond, known);
            }
            let place = te.load(valid, &[i]);
            let copy = each(te, length, false, &mut |te, k| {
                let value = te.load(data, &[i, j, k]);
                set(te, out, &[i, place, k], value)
            });
            let number = te.cast(DType::I32, j);
            let named = set(te, places, &[i, place], number);
            let next = te.plus_int(place, 1);
            let next = set(te, valid, &[i], next);
            when(te, cond, &[copy, named, next], &[])
        });
        let rest = each(te, count, false, &mut |te, j| {
            let number = te.load(valid, &[i]);
            let number = wide(te, number);
            let cond = te.bin(PrimOp::Ge, j, number);
            let nothing = cleared(te, out, &[i, j], length);
            let unnamed = set(te, places, &[i, j], minus);
            when(te, cond, &[nothing, unnamed], &[])
        });
        te.store.add_stmts(&[begin, kept, rest])
    });
    extern_stage(te, "get_valid_counts", &[valid, out, places], &[data], body);
    cx.finish(&[valid, out, places])
}

/// A suppression under construction: its inputs, outputs and options.
struct Nms {
    data: Tensor,
    order: Tensor,
    valid: Tensor,
    indices: Tensor,
    out: Tensor,
    boxes: Tensor,
    /// The number of remaining boxes, if indices are requested.
    left: Option<Tensor>,
    /// The number of boxes of an image, and of numbers of a box.
    count: PrimId,
    length: PrimId,
    most: i64,
    overlap: f64,
    force: bool,
    top: i64,
    coordinates: i64,
    score: i64,
    id: i64,
    sigma: f64,
    threshold: f64,
}

fn suppression(cx: &mut Lower) -> Lowered {
    let mut given = Vec::new();
    for (index, name) in ["data", "valid_count", "indices"].into_iter().enumerate() {
        let arg = cx.arg(index)?;
        given.push(cx.tensor_named(arg, name)?);
    }
    let [data, valid, indices] = given[..] else { return Err(Refused::Leave) };
    let int = |name: &str| cx.int(name).unwrap_or(-1);
    let (most, top, coordinates, score, id) =
        (int("max_output_size"), int("top_k"), int("coord_start"), int("score_index"), int("id_index"));
    let (overlap, sigma, threshold) = (cx.float("iou_threshold"), cx.float("soft_nms_sigma"), cx.float("score_threshold"));
    let (force, named, bottom) = (cx.flag("force_suppress"), cx.flag("return_indices"), cx.flag("invalid_to_bottom"));
    let te = &mut cx.te;
    let [batch, count, length] = te.shape(data)[..] else { return Err(Refused::Leave) };
    let scores = te.compute("score_tensor", "i j", &[batch, count], &mut |te, at| {
        let score = te.int(score);
        te.load(data, &[at[0], at[1], score])
    });
    let sorted = argsort_valid(te, scores, valid);
    let out = te.placeholder("out_data", &[batch, count, length], te.dtype(data));
    let boxes = te.placeholder("out_box_indices", &[batch, count], DType::I32);
    let one = te.int(1);
    let left = named.then(|| te.placeholder("out_valid_box_count", &[batch, one], DType::I32));
    let nms = Nms {
        data,
        order: sorted,
        valid,
        indices,
        out,
        boxes,
        left,
        count,
        length,
        most,
        overlap,
        force,
        top,
        coordinates,
        score,
        id,
        sigma,
        threshold,
    };
    let body = each(te, batch, true, &mut |te, i| nms.image(te, i));
    let outs: Vec<Tensor> = [out, boxes].into_iter().chain(left).collect();
    extern_stage(te, "non_max_suppression", &outs, &[data, sorted, valid, indices], body);
    match left {
        Some(_) if sigma > 0.0 => cx.finish(&outs),
        Some(left) => cx.finish(&[boxes, left]),
        None if bottom => {
            let moved = rearranged(te, out, score);
            cx.finish(&[moved])
        }
        None => cx.finish(&[out]),
    }
}

impl Nms {
    fn score_of(&self, te: &mut Te, i: PrimId, j: PrimId) -> PrimId {
        let score = te.int(self.score);
        te.load(self.out, &[i, j, score])
    }

    /// Marks all boxes behind an index as removed.
    fn forget(&self, te: &mut Te, i: PrimId, from: Tensor, data: bool, named: bool) -> StmtId {
        each(te, self.count, false, &mut |te, j| {
            let number = get(te, from);
            let number = wide(te, number);
            let cond = te.bin(PrimOp::Ge, j, number);
            let mut stmts = Vec::new();
            if data {
                stmts.push(cleared(te, self.out, &[i, j], self.length));
            }
            if named {
                let minus = narrow(te, -1);
                stmts.push(set(te, self.boxes, &[i, j], minus));
            }
            when(te, cond, &stmts, &[])
        })
    }

    /// The condition that fewer boxes were found than requested, or that their number is not limited.
    fn wanted(&self, te: &mut Te, found: Tensor) -> PrimId {
        let found = get(te, found);
        let (found, most) = (wide(te, found), te.int(self.most));
        let limited = te.store.prim_int(i64::from(self.most > 0), DType::BOOL);
        let (fewer, always) = (te.bin(PrimOp::Lt, found, most), te.store.prim_int(1, DType::BOOL));
        te.select(limited, fewer, always)
    }

    fn image(&self, te: &mut Te, i: PrimId) -> StmtId {
        let (keep, mut first) = local(te, DType::I32);
        let mut stmts = vec![first];
        let number = te.load(self.valid, &[i]);
        stmts.push(put(te, keep, number));
        let number = get(te, keep);
        let (number, top) = (wide(te, number), te.int(self.top));
        let fewer = te.bin(PrimOp::Gt, number, top);
        let limited = te.store.prim_int(i64::from(self.top > 0), DType::BOOL);
        let cond = te.both(limited, fewer);
        let top = narrow(te, self.top);
        let limit = put(te, keep, top);
        stmts.push(when(te, cond, &[limit], &[]));
        stmts.push(each(te, self.count, false, &mut |te, j| {
            let number = get(te, keep);
            let number = wide(te, number);
            let cond = te.bin(PrimOp::Lt, j, number);
            let from = te.load(self.order, &[i, j]);
            let copy = each(te, self.length, false, &mut |te, k| {
                let value = te.load(self.data, &[i, from, k]);
                set(te, self.out, &[i, j, k], value)
            });
            let named = set(te, self.boxes, &[i, j], from);
            let (nothing, minus) = (cleared(te, self.out, &[i, j], self.length), narrow(te, -1));
            let unnamed = set(te, self.boxes, &[i, j], minus);
            when(te, cond, &[copy, named], &[nothing, unnamed])
        }));
        let found;
        (found, first) = local(te, DType::I32);
        let zero = narrow(te, 0);
        stmts.extend([first, put(te, found, zero)]);
        let mut locals = Vec::new();
        for dtype in [DType::I32, te.dtype(self.data), DType::I32, te.dtype(self.data)] {
            let (buffer, alloc) = local(te, dtype);
            stmts.push(alloc);
            locals.push(buffer);
        }
        if self.sigma > 0.0 {
            self.soft(te, i, keep, found, &locals, &mut stmts);
        } else {
            self.hard(te, i, keep, found, &mut stmts);
        }
        te.store.add_stmts(&stmts)
    }

    /// Computes the intersection of two boxes over their union.
    fn shared(&self, te: &mut Te, i: PrimId, a: PrimId, b: PrimId) -> PrimId {
        let mut sides = Vec::new();
        for index in [a, b] {
            // Left and right, top and bottom.
            for axis in 0..2 {
                let ends = [axis, axis + 2].map(|offset| {
                    let place = te.int(self.coordinates + offset);
                    te.load(self.out, &[i, index, place])
                });
                sides.push([te.bin(PrimOp::Min, ends[0], ends[1]), te.bin(PrimOp::Max, ends[0], ends[1])]);
            }
        }
        let zero = constant(te, 0.0, te.dtype(self.out));
        let mut common = [0, 1].map(|axis| {
            let (end, begin) = (
                te.bin(PrimOp::Min, sides[axis][1], sides[axis + 2][1]),
                te.bin(PrimOp::Max, sides[axis][0], sides[axis + 2][0]),
            );
            let span = te.minus(end, begin);
            te.bin(PrimOp::Max, zero, span)
        });
        common.reverse();
        let both = te.times(common[0], common[1]);
        let areas = [0, 2].map(|first| {
            let [across, down] = [first, first + 1].map(|axis| te.minus(sides[axis][1], sides[axis][0]));
            te.times(across, down)
        });
        let all = te.plus(areas[0], areas[1]);
        let all = te.minus(all, both);
        let (nothing, part) = (te.bin(PrimOp::Le, all, zero), te.over(both, all));
        te.select(nothing, zero, part)
    }

    /// The condition that two boxes are of one class.
    fn same_class(&self, te: &mut Te, i: PrimId, a: PrimId, b: PrimId) -> PrimId {
        if self.force || self.id < 0 {
            return te.store.prim_int(1, DType::BOOL);
        }
        let id = te.int(self.id);
        let [a, b] = [a, b].map(|index| te.load(self.out, &[i, index, id]));
        te.bin(PrimOp::Eq, a, b)
    }

    /// Visits boxes by their scores, and removes those that overlap a box that stays.
    fn hard(&self, te: &mut Te, i: PrimId, keep: Tensor, found: Tensor, stmts: &mut Vec<StmtId>) {
        let least = constant(te, 0.0, te.dtype(self.out));
        let number = get(te, keep);
        let number = wide(te, number);
        stmts.push(each(te, number, false, &mut |te, j| {
            let value = self.score_of(te, i, j);
            let good = te.bin(PrimOp::Gt, value, least);
            let wanted = self.wanted(te, found);
            let cond = te.both(good, wanted);
            let more = count_up(te, found);
            let others = each(te, number, false, &mut |te, k| {
                let behind = te.bin(PrimOp::Gt, k, j);
                let value = self.score_of(te, i, k);
                let good = te.bin(PrimOp::Gt, value, least);
                let cond = te.both(behind, good);
                let same = self.same_class(te, i, j, k);
                let shared = self.shared(te, i, j, k);
                let overlap = te.number(self.overlap, te.dtype(self.out));
                let much = te.bin(PrimOp::Ge, shared, overlap);
                let (nothing, minus, score) = (constant(te, -1.0, te.dtype(self.out)), narrow(te, -1), te.int(self.score));
                let gone = [set(te, self.out, &[i, k, score], nothing), set(te, self.boxes, &[i, k], minus)];
                let gone = when(te, much, &gone, &[]);
                let gone = when(te, same, &[gone], &[]);
                when(te, cond, &[gone], &[])
            });
            let (nothing, minus) = (cleared(te, self.out, &[i, j], self.length), narrow(te, -1));
            let unnamed = set(te, self.boxes, &[i, j], minus);
            when(te, cond, &[more, others], &[nothing, unnamed])
        }));
        let Some(left) = self.left else { return };
        let (place, alloc) = local(te, DType::I32);
        let zero = narrow(te, 0);
        stmts.extend([alloc, put(te, place, zero)]);
        stmts.push(each(te, self.count, false, &mut |te, j| {
            let index = te.load(self.boxes, &[i, j]);
            let (whole, zero) = (wide(te, index), te.int(0));
            let cond = te.bin(PrimOp::Ge, whole, zero);
            let (to, own) = (get(te, place), te.load(self.indices, &[i, index]));
            let named = set(te, self.boxes, &[i, to], own);
            let next = count_up(te, place);
            when(te, cond, &[named, next], &[])
        }));
        let (number, zero) = (get(te, place), te.int(0));
        stmts.push(set(te, left, &[i, zero], number));
        stmts.push(self.forget(te, i, place, false, true));
    }

    /// Repeatedly takes the best box, and lowers the scores of boxes that overlap it.
    fn soft(&self, te: &mut Te, i: PrimId, keep: Tensor, found: Tensor, locals: &[Tensor], stmts: &mut Vec<StmtId>) {
        let [best, high, index, value] = locals[..] else { return };
        let dtype = te.dtype(self.out);
        let least = constant(te, self.threshold, dtype);
        let number = get(te, keep);
        let number = wide(te, number);
        stmts.push(each(te, number, false, &mut |te, _| {
            let wanted = self.wanted(te, found);
            let minus = narrow(te, -1);
            let begin = [put(te, best, minus), put(te, high, least)];
            let search = each(te, number, false, &mut |te, j| {
                let named = self.named_from(te, PrimOp::Ge, [i, j], found);
                let (score, so_far) = (self.score_of(te, i, j), get(te, high));
                let better = te.bin(PrimOp::Gt, score, so_far);
                let cond = te.both(named, better);
                let place = te.cast(DType::I32, j);
                let taken = [put(te, best, place), put(te, high, score)];
                when(te, cond, &taken, &[])
            });
            let there = get(te, best);
            let (there, zero) = (wide(te, there), te.int(0));
            let any = te.bin(PrimOp::Ge, there, zero);
            let swapped = self.swapped(te, i, (found, best), (index, value));
            let lowered = self.lowered(te, i, number, found, least);
            let next = count_up(te, found);
            let taken = when(te, any, &[swapped, lowered, next], &[]);
            when(te, wanted, &[begin[0], begin[1], search, taken], &[])
        }));
        let Some(left) = self.left else {
            stmts.push(self.forget(te, i, found, true, false));
            return;
        };
        let (number, zero) = (get(te, found), te.int(0));
        stmts.push(set(te, left, &[i, zero], number));
        stmts.push(each(te, self.count, false, &mut |te, j| {
            let number = get(te, found);
            let number = wide(te, number);
            let (inside, outside) = (te.bin(PrimOp::Lt, j, number), te.bin(PrimOp::Ge, j, number));
            let index = te.load(self.boxes, &[i, j]);
            let own = te.load(self.indices, &[i, index]);
            let named = set(te, self.boxes, &[i, j], own);
            let (nothing, minus) = (cleared(te, self.out, &[i, j], self.length), narrow(te, -1));
            let unnamed = set(te, self.boxes, &[i, j], minus);
            let stmts = [when(te, inside, &[named], &[]), when(te, outside, &[nothing, unnamed], &[])];
            te.store.add_stmts(&stmts)
        }));
    }

    /// Swaps the best box with the first one that is not taken.
    fn swapped(&self, te: &mut Te, i: PrimId, (found, best): (Tensor, Tensor), (index, value): (Tensor, Tensor)) -> StmtId {
        let (first, there) = (get(te, found), get(te, best));
        let cond = te.bin(PrimOp::Ne, there, first);
        let (own, other) = (te.load(self.boxes, &[i, first]), te.load(self.boxes, &[i, there]));
        let kept = get(te, index);
        let names = [put(te, index, own), set(te, self.boxes, &[i, first], other), set(te, self.boxes, &[i, there], kept)];
        let boxes = each(te, self.length, false, &mut |te, k| {
            let (own, other) = (te.load(self.out, &[i, first, k]), te.load(self.out, &[i, there, k]));
            let kept = get(te, value);
            let stmts = [put(te, value, own), set(te, self.out, &[i, first, k], other), set(te, self.out, &[i, there, k], kept)];
            te.store.add_stmts(&stmts)
        });
        when(te, cond, &[names[0], names[1], names[2], boxes], &[])
    }

    /// The condition that a box is valid, and stands behind the current one, or with `Ge` is that one.
    fn named_from(&self, te: &mut Te, op: PrimOp, [i, j]: [PrimId; 2], found: Tensor) -> PrimId {
        let (first, zero) = (get(te, found), te.int(0));
        let first = wide(te, first);
        let behind = te.bin(op, j, first);
        let named = te.load(self.boxes, &[i, j]);
        let named = wide(te, named);
        let named = te.bin(PrimOp::Ge, named, zero);
        te.both(behind, named)
    }

    /// Lowers the scores of boxes behind the current one.
    fn lowered(&self, te: &mut Te, i: PrimId, number: PrimId, found: Tensor, least: PrimId) -> StmtId {
        let dtype = te.dtype(self.out);
        each(te, number, false, &mut |te, j| {
            let first = get(te, found);
            let named = self.named_from(te, PrimOp::Gt, [i, j], found);
            let score = self.score_of(te, i, j);
            let good = te.bin(PrimOp::Gt, score, least);
            let cond = te.both(named, good);
            let same = self.same_class(te, i, first, j);
            let shared = self.shared(te, i, first, j);
            let (overlap, minus) = (te.number(self.overlap, dtype), narrow(te, -1));
            let (much, little) = (te.bin(PrimOp::Ge, shared, overlap), te.bin(PrimOp::Lt, shared, overlap));
            let gone = set(te, self.boxes, &[i, j], minus);
            let much = when(te, much, &[gone], &[]);
            let scale = constant(te, -0.5 / self.sigma, dtype);
            let power = te.times(scale, shared);
            let power = te.times(power, shared);
            let factor = te.call("exp", &[power]);
            let (less, column) = (te.times(score, factor), te.int(self.score));
            let less = set(te, self.out, &[i, j, column], less);
            let score = self.score_of(te, i, j);
            let low = te.bin(PrimOp::Le, score, least);
            let gone = set(te, self.boxes, &[i, j], minus);
            let gone = when(te, low, &[gone], &[]);
            let little = when(te, little, &[less, gone], &[]);
            let both = when(te, same, &[much, little], &[]);
            when(te, cond, &[both], &[])
        })
    }
}

/// Moves the remaining boxes to the front.
fn rearranged(te: &mut Te, data: Tensor, score: i64) -> Tensor {
    let shape = te.shape(data);
    let out = te.placeholder("rearranged", &shape, te.dtype(data));
    let [batch, count, length] = shape[..] else { return data };
    let body = each(te, batch, true, &mut |te, i| {
        let (place, alloc) = local(te, DType::I32);
        let zero = narrow(te, 0);
        let begin = put(te, place, zero);
        let kept = each(te, count, false, &mut |te, j| {
            let (score, zero) = (te.int(score), constant(te, 0.0, te.dtype(data)));
            let value = te.load(data, &[i, j, score]);
            let cond = te.bin(PrimOp::Ge, value, zero);
            let to = get(te, place);
            let copy = each(te, length, false, &mut |te, k| {
                let value = te.load(data, &[i, j, k]);
                set(te, out, &[i, to, k], value)
            });
            let next = count_up(te, place);
            when(te, cond, &[copy, next], &[])
        });
        let rest = each(te, count, false, &mut |te, j| {
            let number = get(te, place);
            let number = wide(te, number);
            let cond = te.bin(PrimOp::Ge, j, number);
            let nothing = cleared(te, out, &[i, j], length);
            when(te, cond, &[nothing], &[])
        });
        te.store.add_stmts(&[alloc, begin, kept, rest])
    });
    extern_stage(te, "rearrange_out", &[out], &[data], body);
    out
}
