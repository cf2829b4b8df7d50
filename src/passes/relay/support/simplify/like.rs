//! Rules for operators that take a shape from another tensor, where the shape is known anyway.

use super::super::pattern::{Match, Rule};
use super::super::{static_shape, tensor_type};
use super::dims_attr;
use crate::ir::{AttrValue, DType, ExprId, Store};
use crate::ops::build::{attrs_of, call_attrs, call_with, int_tensor};

/// `zeros_like(x)` to `zeros(shape)`.
pub static ZEROS_LIKE: Rule = Rule::new("zeros_like of a known shape", "zeros_like(like)", |s, _, m| fill(s, m, "zeros", &[]));

/// `ones_like(x)` to `ones(shape)`.
pub static ONES_LIKE: Rule = Rule::new("ones_like of a known shape", "ones_like(like)", |s, _, m| fill(s, m, "ones", &[]));

/// `full_like(x, value)` to `full(value, shape)`.
pub static FULL_LIKE: Rule =
    Rule::new("full_like of a known shape", "full_like(data, like)", |s, _, m| fill(s, m, "full", &[m.get("like")]));

/// `reshape_like(x, y)` to `reshape(x, shape)`.
pub static RESHAPE_LIKE: Rule = Rule::new("reshape_like a known shape", "reshape_like(data, like)", |store, _, m| {
    let shape = dims_attr(&tensor_type(store, m.pre)?.0)?;
    Some(call_with(store, "reshape", &[m.get("data")], &[("newshape", shape)]))
});

/// `collapse_sum_like(x, y)` to `collapse_sum_to(x, shape)`.
pub static COLLAPSE_SUM_LIKE: Rule =
    Rule::new("collapse_sum_like a known shape", "collapse_sum_like(data, like)", |store, _, m| {
        let shape = dims_attr(&tensor_type(store, m.pre)?.0)?;
        let extents = static_shape(store, m.pre)?;
        let target = int_tensor(store, DType::I32, &[extents.len() as i64], &extents);
        // TVM declares no attributes for this operator and gives it those of `broadcast_to` here.
        let attrs = attrs_of(store, "broadcast_to", &[("shape", shape)]);
        Some(call_attrs(store, "collapse_sum_to", &[m.get("data"), target], Some(attrs)))
    });

/// `broadcast_to_like(x, y)` to `broadcast_to(x, shape)`.
pub static BROADCAST_TO_LIKE: Rule =
    Rule::new("broadcast_to_like a known shape", "broadcast_to_like(data, like)", |store, _, m| {
        let shape = dims_attr(&tensor_type(store, m.pre)?.0)?;
        Some(call_with(store, "broadcast_to", &[m.get("data")], &[("shape", shape)]))
    });

/// `cast_like(x, y)` to `cast(x, dtype)`, whatever the shape.
pub static CAST_LIKE: Rule = Rule::new("cast_like to cast", "cast_like(data, like)", |store, _, m| {
    let dtype = tensor_type(store, m.pre)?.1;
    Some(call_with(store, "cast", &[m.get("data")], &[("dtype", AttrValue::DType(Some(dtype)))]))
});

fn fill(store: &mut Store, m: &Match, name: &str, args: &[ExprId]) -> Option<ExprId> {
    let (shape, dtype) = tensor_type(store, m.pre)?;
    let shape = dims_attr(&shape)?;
    Some(call_with(store, name, args, &[("shape", shape), ("dtype", AttrValue::DType(Some(dtype)))]))
}
