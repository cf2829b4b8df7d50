//! Computes offsets of elements in memory (TVM's `BufferTypeNode::ElemOffset`, `src/tirx/ir/buffer.cc`).

use super::arith::Analyzer;
use super::binary;
use crate::ir::{Buffer, DType, PrimExpr, PrimId, PrimOp, Store};

/// Returns the index in memory of an element, in elements: row by row, or by the strides, from the beginning of the
/// buffer. Simplified without facts about the variables.
pub fn elem_offset(store: &mut Store, buffer: &Buffer, indices: &[PrimId]) -> PrimId {
    let analyzer = &mut Analyzer::new();
    let mut index = store.prim_int(0, DType::I32);
    for (axis, at) in indices.iter().enumerate() {
        index = match buffer.strides.get(axis) {
            Some(stride) => {
                let step = binary(store, PrimOp::Mul, *at, *stride);
                binary(store, PrimOp::Add, index, step)
            }
            None => {
                let Some(extent) = buffer.shape.get(axis) else { break };
                let row = binary(store, PrimOp::Mul, index, *extent);
                binary(store, PrimOp::Add, row, *at)
            }
        };
        if axis > 0 {
            index = merge_mul_mod(store, analyzer, index);
        }
    }
    if let Some(offset) = buffer.elem_offset
        && store.as_prim_int(offset) != Some(0)
    {
        index = binary(store, PrimOp::Add, index, offset);
    }
    analyzer.simplify(store, index)
}

/// Simplifies `c // k * k + c % k` to `c` in a sum, also if the factors of `k` stand apart (TVM's `MergeMulMod`).
fn merge_mul_mod(store: &mut Store, analyzer: &mut Analyzer, base: PrimId) -> PrimId {
    let base = split_of(store, base).unwrap_or(base);
    let base = analyzer.simplify(store, base);
    let mut sum = Sum::default();
    sum.insert(store, base);
    let (mut at, mut found) = (0, false);
    while at < sum.mods.len() {
        let (left, right) = sum.mods[at];
        let hit = (0..sum.products.len())
            .find_map(|product| Some((product, merged(store, analyzer, sum.products[product], left, right)?)));
        let Some((product, merged)) = hit else {
            at += 1;
            continue;
        };
        found = true;
        sum.mods.remove(at);
        sum.products.remove(product);
        let (has_product, has_mod) = sum.insert(store, merged);
        if has_product {
            at = 0;
        } else if has_mod && at + 1 == sum.mods.len() {
            at = sum.mods.len() - 1;
        }
    }
    if !found {
        return base;
    }
    let mods: Vec<PrimId> = sum.mods.iter().map(|(a, b)| binary(store, PrimOp::FloorMod, *a, *b)).collect();
    let parts = sum.rest.into_iter().chain(sum.products).chain(mods);
    parts.reduce(|sum, part| binary(store, PrimOp::Add, sum, part)).unwrap_or(base)
}

/// Returns `x`, of `x // y * y + x % y`.
fn split_of(store: &Store, base: PrimId) -> Option<PrimId> {
    let two = |id: PrimId, wanted: PrimOp| match *store.prim_of_id(id) {
        PrimExpr::Binary { op, a, b } if op == wanted => Some((a, b)),
        _ => None,
    };
    let (product, rest) = two(base, PrimOp::Add)?;
    let ((quotient, y), (x, z)) = (two(product, PrimOp::Mul)?, two(rest, PrimOp::FloorMod)?);
    let (w, v) = two(quotient, PrimOp::FloorDiv)?;
    (x == w && y == z && y == v).then_some(x)
}

/// The terms of a sum.
#[derive(Default)]
struct Sum {
    products: Vec<PrimId>,
    /// Operands of remainders.
    mods: Vec<(PrimId, PrimId)>,
    rest: Option<PrimId>,
}

impl Sum {
    /// Adds the terms of an expression; whether there were products and remainders.
    fn insert(&mut self, store: &mut Store, sum: PrimId) -> (bool, bool) {
        let (products, mods) = (self.products.len(), self.mods.len());
        let mut todo = vec![sum];
        while let Some(id) = todo.pop() {
            match *store.prim_of_id(id) {
                PrimExpr::Binary { op: PrimOp::Add, a, b } => todo.extend([b, a]),
                PrimExpr::Binary { op: PrimOp::FloorMod, a, b } => self.mods.push((a, b)),
                PrimExpr::Binary { op: PrimOp::Mul, .. } => self.products.push(id),
                _ => self.rest = Some(self.rest.map_or(id, |rest| binary(store, PrimOp::Add, rest, id))),
            }
        }
        (self.products.len() > products, self.mods.len() > mods)
    }
}

/// Merges `(a + c // (k * l) * l) * k` and `d % (k * l)` to `a * k + c`, if `c` and `d` leave the same remainder.
fn merged(store: &mut Store, analyzer: &mut Analyzer, product: PrimId, left: PrimId, right: PrimId) -> Option<PrimId> {
    let times = |store: &Store, id: PrimId| match *store.prim_of_id(id) {
        PrimExpr::Binary { op: PrimOp::Mul, a, b } => Some((a, b)),
        _ => None,
    };
    let (mut at, mut outer) = times(store, product)?;
    while let Some((a, b)) = times(store, at) {
        outer = binary(store, PrimOp::Mul, b, outer);
        at = a;
    }
    let (mut inner, mut sum): (Option<PrimId>, Option<PrimId>) = (None, None);
    loop {
        match *store.prim_of_id(at) {
            PrimExpr::Binary { op: PrimOp::FloorDiv, a, b } => {
                let all = inner.map_or(outer, |inner| binary(store, PrimOp::Mul, inner, outer));
                if all != b || all != right {
                    return None;
                }
                let difference = binary(store, PrimOp::Sub, a, left);
                let rest = binary(store, PrimOp::FloorMod, difference, right);
                let zero = store.prim_int(0, store.prim_dtype(rest));
                if !analyzer.can_prove_equal(store, rest, zero) {
                    return None;
                }
                return Some(match sum {
                    Some(sum) => {
                        let scaled = binary(store, PrimOp::Mul, sum, outer);
                        binary(store, PrimOp::Add, scaled, a)
                    }
                    None => a,
                });
            }
            PrimExpr::Binary { op: PrimOp::Mul, a, b } => {
                inner = Some(inner.map_or(b, |inner| binary(store, PrimOp::Mul, b, inner)));
                at = a;
            }
            PrimExpr::Binary { op: PrimOp::Add, a, b } if inner.is_none() => {
                sum = Some(sum.map_or(a, |sum| binary(store, PrimOp::Add, sum, a)));
                at = b;
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Symbol, show_dim};

    fn offset(shape: &[i64], strides: &[i64], indices: &[&dyn Fn(&mut Store, PrimId) -> PrimId]) -> String {
        let store = &mut Store::new();
        let [name, scope] = ["x", "global"].map(|text| store.name(text));
        let x = store.add_symbol(Symbol { name, dtype: DType::I32, size: false });
        let x = store.prim(PrimExpr::Var(x));
        let numbers = |store: &mut Store, list: &[i64]| list.iter().map(|n| store.prim_int(*n, DType::I32)).collect();
        let shape = numbers(store, shape);
        let strides = numbers(store, strides);
        let buffer = Buffer { strides, ..Buffer::new(name, DType::F32, shape, scope) };
        let indices: Vec<PrimId> = indices.iter().map(|index| index(store, x)).collect();
        let offset = elem_offset(store, &buffer, &indices);
        show_dim(store, store.dim_of_prim(offset))
    }

    fn part(op: PrimOp, by: i64) -> impl Fn(&mut Store, PrimId) -> PrimId {
        move |store, x| {
            let by = store.prim_int(by, DType::I32);
            binary(store, op, x, by)
        }
    }

    #[test]
    fn rows_stand_behind_each_other() {
        let x = |_: &mut Store, x| x;
        assert_eq!(offset(&[4, 8], &[], &[&x, &part(PrimOp::Add, 1)]), "((x*9) + 1)");
        assert_eq!(offset(&[4, 8], &[100, 2], &[&x, &part(PrimOp::Add, 1)]), "((x*102) + 2)");
        assert_eq!(offset(&[], &[], &[]), "0");
    }

    #[test]
    fn what_was_split_into_quotient_and_remainder_is_whole_again() {
        let (div, rem) = (part(PrimOp::FloorDiv, 8), part(PrimOp::FloorMod, 8));
        assert_eq!(offset(&[4, 8], &[], &[&div, &rem]), "x");
        let outer = part(PrimOp::FloorDiv, 32);
        let middle = |store: &mut Store, x| {
            let inner = part(PrimOp::FloorMod, 32)(store, x);
            part(PrimOp::FloorDiv, 8)(store, inner)
        };
        assert_eq!(offset(&[4, 4, 8], &[], &[&outer, &middle, &rem]), "x");
    }
}
