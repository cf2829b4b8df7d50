//! Products of matrices.
//!
//! Source: `legalize_ops/linear_algebra.py`, `python/tvm/topi/nn/batch_matmul.py`, `include/tvm/topi/einsum.h`.

use super::lower::{Lower, Lowered, Refused};
use super::te::{Reducer, Te, Tensor};
use super::{Rule, rule};
use crate::ir::{AttrValue, Dim, PrimExpr, PrimId};
use std::collections::BTreeMap;

pub(super) const RULES: &[Rule] =
    &[rule("matmul", "matmul", matmul), rule("outer", "outer", outer), rule("einsum", "einsum", einsum)];

fn matmul(cx: &mut Lower) -> Lowered {
    for index in 0..2 {
        let arg = cx.arg(index)?;
        if cx.info(arg).is_some_and(|info| info.dtype.is_none()) {
            return Err("To legalize R.matmul into R.call_tir, the dtype of both operands must be known.".into());
        }
    }
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let (dtype, shape) = (cx.out_dtype()?, cx.out_shape()?);
    let wide = cx.dtype("out_dtype");
    let (p, q) = (cx.te.shape(a), cx.te.shape(b));
    let (Some(inner), Some(_)) = (p.last().copied(), q.last()) else { return Err(Refused::Leave) };
    let (row, column) = (p.len() > 1, q.len() > 1);
    if cx.te.known(inner) == Some(0) {
        let zero = cx.te.number(0.0, dtype);
        let out = cx.te.compute("matmul", "i", &shape, &mut |_, _| zero);
        return cx.finish(&[out]);
    }
    let batch = shape.len() - usize::from(row) - usize::from(column);
    let out = cx.te.reduce("matmul", "i", &shape, &[("k", inner)], Reducer::Sum, &mut |te, at, k| {
        let of = |te: &mut Te, own: &[PrimId], other: &[PrimId]| {
            let axes = own.len().saturating_sub(2);
            let others = other.len().saturating_sub(2);
            let mut place = Vec::new();
            for axis in 0..axes {
                let out = batch - axes + axis;
                let same = (axis + others).checked_sub(axes).is_some_and(|theirs| other[theirs] == own[axis]);
                let paired = axis + others >= axes;
                let one = paired && !same && te.known(own[axis]) == Some(1);
                place.push(if one { te.int(0) } else { at[out] });
            }
            place
        };
        let (mut x, mut y) = (of(te, &p, &q), of(te, &q, &p));
        if row {
            x.push(at[batch]);
        }
        x.push(k[0]);
        y.push(k[0]);
        if column {
            y.push(at[shape.len() - 1]);
        }
        let (mut x, mut y) = (te.load(a, &x), te.load(b, &y));
        if let Some(wide) = wide {
            (x, y) = (te.cast(wide, x), te.cast(wide, y));
        }
        te.times(x, y)
    });
    cx.finish(&[out])
}

/// `FuseTransposeMatmul` of `python/tvm/relax/transform/fuse_transpose_matmul.py`: reads the right factor as it was
/// before its last two axes were swapped.
pub(super) const WITH_TRANSPOSED: &[Rule] = &[rule("matmul", "NT_matmul", with_transposed)];

fn with_transposed(cx: &mut Lower) -> Lowered {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let (dtype, shape) = (cx.out_dtype()?, cx.out_shape()?);
    let (p, q) = (cx.te.shape(a), cx.te.shape(b));
    let Some(inner) = p.last().copied() else { return Err(Refused::Leave) };
    let row = p.len() > 1;
    let Some(batch) = shape.len().checked_sub(usize::from(row) + 1) else { return Err(Refused::Leave) };
    if p.len().max(q.len()).saturating_sub(2) > batch {
        return Err(Refused::Leave);
    }
    let out = cx.te.reduce("NT_matmul", "i", &shape, &[("k", inner)], Reducer::Sum, &mut |te, at, k| {
        let of = |te: &mut Te, own: &[PrimId], other: &[PrimId]| {
            let (axes, others) = (own.len().saturating_sub(2), other.len().saturating_sub(2));
            let mut place = Vec::new();
            for axis in 0..axes {
                let paired = axis + others >= axes;
                let same = paired && other[axis + others - axes] == own[axis];
                let one = paired && !same && te.known(own[axis]) == Some(1);
                place.push(if one { te.int(0) } else { at[batch - axes + axis] });
            }
            place
        };
        let (mut x, mut y) = (of(te, &p, &q), of(te, &q, &p));
        if row {
            x.push(at[batch]);
        }
        x.push(k[0]);
        y.extend([at[shape.len() - 1], k[0]]);
        let (x, y) = (te.load(a, &x), te.load(b, &y));
        let (x, y) = (te.cast(dtype, x), te.cast(dtype, y));
        te.times(x, y)
    });
    cx.finish(&[out])
}

fn outer(cx: &mut Lower) -> Lowered {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let shape = cx.out_shape()?;
    let out = cx.te.compute("outer", "i j", &shape, &mut |te, at| {
        let (x, y) = (te.load(a, &at[..1]), te.load(b, &at[1..]));
        te.times(x, y)
    });
    cx.finish(&[out])
}

/// Marks a tensor in a hint: its layout may be chosen.
pub(super) fn layout_free(te: &mut Te, tensor: Tensor) -> (&'static str, AttrValue) {
    let buffer = te.store.prim(PrimExpr::Buffer(tensor));
    ("layout_free_placeholders", AttrValue::Array([AttrValue::Dim(Dim::Expr(buffer))].into()))
}

/// Parses `ij,jk->ik` to one list of letters for each operand; dots are any number of axes.
fn equation(text: &str) -> Option<(Vec<Vec<char>>, Vec<char>)> {
    let text: String = text.replace("...", "\0").chars().filter(|letter| *letter != ' ').collect();
    let (inputs, output) = match text.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output)),
        None => (text.as_str(), None),
    };
    let inputs: Vec<Vec<char>> = inputs.split(',').map(|part| part.chars().collect()).collect();
    let letters: BTreeMap<char, usize> = inputs.iter().flatten().fold(BTreeMap::new(), |mut counts, letter| {
        *counts.entry(*letter).or_insert(0) += 1;
        counts
    });
    let output = match output {
        Some(output) => output.chars().collect(),
        None => letters.into_iter().filter(|(letter, count)| *letter == '\0' || *count == 1).map(|(letter, _)| letter).collect(),
    };
    Some((inputs, output))
}

fn einsum(cx: &mut Lower) -> Lowered {
    let tensors = cx.tensors(0)?;
    let (inputs, output) = equation(&cx.text("subscripts")).ok_or(Refused::Leave)?;
    if inputs.len() != tensors.len() || inputs.iter().flatten().any(|letter| *letter == '\0') {
        return Err(Refused::Leave);
    }
    let te = &mut cx.te;
    let mut extents: BTreeMap<char, PrimId> = BTreeMap::new();
    for (letters, tensor) in inputs.iter().zip(&tensors) {
        let shape = te.shape(*tensor);
        if shape.len() != letters.len() {
            return Err(Refused::Leave);
        }
        for (letter, extent) in letters.iter().zip(shape) {
            let known = extents.entry(*letter).or_insert(extent);
            if te.known(*known) == Some(1) {
                *known = extent;
            }
        }
    }
    let shape: Vec<PrimId> = output.iter().filter_map(|letter| extents.get(letter).copied()).collect();
    let names: Vec<(String, PrimId)> = (extents.iter())
        .filter(|(letter, _)| !output.contains(letter))
        .map(|(letter, extent)| (letter.to_string(), *extent))
        .collect();
    let reduced: Vec<(&str, PrimId)> = names.iter().map(|(name, extent)| (name.as_str(), *extent)).collect();
    let mut product = |te: &mut Te, at: &[PrimId], k: &[PrimId]| {
        let place = |letter: char| match output.iter().position(|other| *other == letter) {
            Some(index) => at.get(index).copied(),
            None => names.iter().position(|(name, _)| name.starts_with(letter)).and_then(|index| k.get(index).copied()),
        };
        let mut result = None;
        for (letters, tensor) in inputs.iter().zip(&tensors) {
            let own = te.shape(*tensor);
            let mut from = Vec::new();
            for (letter, extent) in letters.iter().zip(own) {
                let wide = te.known(extent) == Some(1) && extents.get(letter) != Some(&extent);
                let place = place(*letter).filter(|_| !wide);
                from.push(place.unwrap_or_else(|| te.int(0)));
            }
            let value = te.load(*tensor, &from);
            result = Some(result.map_or(value, |product| te.times(product, value)));
        }
        result.unwrap_or_else(|| te.int(0))
    };
    let out = match reduced.is_empty() {
        true => te.compute("T_einsum", "ax", &shape, &mut |te, at| product(te, at, &[])),
        false => te.reduce("T_einsum", "ax", &shape, &reduced, Reducer::Sum, &mut product),
    };
    cx.finish(&[out])
}
