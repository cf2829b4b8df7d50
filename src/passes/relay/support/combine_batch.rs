//! Combining calls of equal shapes into one call with a batch axis in front (TVM's
//! `combine_parallel_op_batch.cc`).

use super::combine::{Branch, stack};
use super::tensor_type;
use crate::ir::{AttrValue, Expr, ExprId, Store};
use crate::ops::build::{args, call_with, ints};

/// True if argument `index` of two calls has the same type.
pub fn same_arg_type(store: &Store, a: ExprId, b: ExprId, index: usize) -> bool {
    let [a, b] = [a, b].map(|call| args(store, call).get(index).and_then(|arg| tensor_type(store, *arg)));
    a.is_some() && a == b
}

/// Stacks argument `index` of each branch at `depth`.
pub fn stacked_arg(store: &mut Store, branches: &[Branch], depth: usize, index: usize) -> ExprId {
    let fields: Vec<ExprId> = branches.iter().map(|branch| args(store, branch[depth])[index]).collect();
    stack(store, &fields)
}

/// Does the same for the calls behind: a vector gets an axis first, so that it broadcasts.
pub fn stacked_following(store: &mut Store, branches: &[Branch], depth: usize, index: usize) -> ExprId {
    let mut fields = Vec::with_capacity(branches.len());
    for branch in branches {
        let arg = args(store, branch[depth])[index];
        let is_vector = tensor_type(store, arg).is_some_and(|(shape, _)| shape.len() == 1);
        let written = [("axis", AttrValue::int(0)), ("num_newaxis", AttrValue::int(1))];
        fields.push(if is_vector { call_with(store, "expand_dims", &[arg], &written) } else { arg });
    }
    stack(store, &fields)
}

/// Returns the slices of the batch.
pub fn unstack(store: &mut Store, data: ExprId, count: usize) -> Vec<ExprId> {
    let split = super::combine::split(store, data, count);
    (0..count as u32)
        .map(|index| {
            let slice = store.add(Expr::TupleGetItem { tuple: split, index });
            call_with(store, "squeeze", &[slice], &[("axis", ints(&[0]))])
        })
        .collect()
}
