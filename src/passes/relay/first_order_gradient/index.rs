//! Gradients of operators that pick elements, join tensors or create them from others.
//!
//! Source: `python/tvm/relay/op/_tensor_grad.py`, `python/tvm/relay/loops.py`.

use super::call::Call;
use super::rules::Rule;
use crate::ir::{AttrValue, Attrs, DType, Dim, Expr, ExprId, Function, List, Type};
use crate::ops::build::{call_attrs, call_with, int_tensor, ints};

/// Returns the rule of such an operator.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "take" => take,
        "strided_slice" => strided_slice,
        "stack" => |c| {
            let Type::Tuple(fields) = c.store.type_of_id(*c.types.first()?) else { return None };
            let (axis, count) = (c.int("axis")?, fields.len() as u32);
            let set = [("indices_or_sections", AttrValue::int(i64::from(count))), ("axis", AttrValue::int(axis))];
            let parts = call_with(c.store, "split", &[c.grad], &set);
            let mut fields = Vec::new();
            for index in 0..count {
                let part = c.store.add(Expr::TupleGetItem { tuple: parts, index });
                fields.push(call_with(c.store, "squeeze", &[part], &[("axis", ints(&[axis]))]));
            }
            Some(vec![c.store.add_tuple(&fields)])
        },
        "gather_nd" => |mut c| {
            let indices = *c.args.get(1)?;
            let zeros = c.zeros(0)?;
            // The operator is registered without a type of attributes, so they are written in whole.
            let [key, mode, add] = ["relay.attrs.ScatterNDAttrs", "mode", "add"].map(|name| c.store.name(name));
            let attrs = c.store.attrs(Attrs { key, fields: [(mode, AttrValue::Str(add))].into() });
            let data = call_attrs(c.store, "scatter_nd", &[zeros, indices, c.grad], Some(attrs));
            Some(vec![data, c.zeros(1)?])
        },
        "one_hot" => |mut c| {
            let [_, on, off] = *c.args else { return None };
            let (zeros, is_on) = (c.of("zeros_like", &[c.grad]), c.of("equal", &[c.orig, on]));
            let mut result = vec![c.zeros(0)?];
            for (choice, value) in [([is_on, c.grad, zeros], on), ([is_on, zeros, c.grad], off)] {
                let chosen = c.of("where", &choice);
                let sum = c.of("sum", &[chosen]);
                result.push(c.of("cast_like", &[sum, value]));
            }
            Some(result)
        },
        "arange" => |mut c| {
            let [start, stop, step] = *c.args else { return None };
            let length = c.extent(c.orig, 0);
            let sum = c.of("sum", &[c.grad]);
            let (of_start, of_stop) = (c.of("cast_like", &[sum, start]), c.of("zeros_like", &[stop]));
            let (zero, one) = (c.whole(&[], &[0]), c.whole(&[], &[1]));
            let set = [
                ("start", AttrValue::Expr(zero)),
                ("stop", AttrValue::Expr(length)),
                ("step", AttrValue::Expr(one)),
                ("dtype", AttrValue::DType(Some(DType::I32))),
            ];
            let steps = call_with(c.store, "arange", &[zero, length, one], &set);
            let steps = c.of("cast_like", &[steps, c.grad]);
            let product = c.of("multiply", &[steps, c.grad]);
            let sum = c.of("sum", &[product]);
            Some(vec![of_start, of_stop, c.of("cast_like", &[sum, step])])
        },
        _ => return None,
    })
}

impl Call<'_> {
    /// Makes a constant of type int32.
    fn whole(&mut self, shape: &[i64], values: &[i64]) -> ExprId {
        int_tensor(self.store, DType::I32, shape, values)
    }

    /// Makes a tensor with one element.
    fn one_of(&mut self, value: i64) -> ExprId {
        let value = self.whole(&[], &[value]);
        call_with(self.store, "reshape", &[value], &[("newshape", ints(&[1]))])
    }

    fn taken(&mut self, data: ExprId, indices: ExprId, axis: i64) -> ExprId {
        call_with(self.store, "take", &[data, indices], &[("axis", AttrValue::int(axis))])
    }

    fn shape_of(&mut self, value: ExprId) -> ExprId {
        call_with(self.store, "shape_of", &[value], &[("dtype", AttrValue::DType(Some(DType::I32)))])
    }

    /// Returns an extent of a value, as a scalar.
    pub fn extent(&mut self, value: ExprId, axis: i64) -> ExprId {
        let (shape, axis) = (self.shape_of(value), self.whole(&[], &[axis]));
        self.taken(shape, axis, 0)
    }
}

/// Puts the gradient where the slice was, and zeros elsewhere.
fn strided_slice(mut c: Call) -> Option<Vec<ExprId>> {
    let list = |name: &str| c.store.attr_ints(c.attrs, name);
    // As in TVM, a slice along some axes has no gradient.
    if list("axes").is_some() {
        return None;
    }
    let (begin, mut end, mut strides) = (list("begin")?, list("end")?, list("strides")?);
    if c.store.attr_str(c.attrs, "slice_mode") == Some("size") {
        let shape = c.shape(0)?;
        for (axis, (end, begin)) in end.iter_mut().zip(&begin).enumerate() {
            *end = if *end == -1 { shape.get(axis)?.known()? } else { begin.saturating_add(*end) };
        }
        strides.clear();
    }
    if strides.is_empty() {
        strides.push(1);
    }
    let zeros = c.zeros(0)?;
    let [begin, end, strides] = [begin, end, strides].map(|list| c.whole(&[list.len() as i64], &list));
    Some(vec![c.of("strided_set", &[zeros, c.grad, begin, end, strides])])
}

/// Makes a loop over the indices, which adds each slice of the gradient at the place that it was taken from.
fn take(mut c: Call) -> Option<Vec<ExprId>> {
    let [data, mut indices] = *c.args else { return None };
    if c.int("batch_dims").unwrap_or(0) != 0 {
        return None;
    }
    let mut shape = c.shape(0)?.into_iter().map(Dim::known).collect::<Option<Vec<i64>>>()?;
    let (zero, one) = (c.one_of(0), c.one_of(1));
    let mut start = c.of("zeros_like", &[data]);
    let flat = c.int("axis").is_none();
    if flat {
        start = call_with(c.store, "reshape", &[start], &[("newshape", ints(&[-1]))]);
        shape = vec![shape.iter().try_fold(1_i64, |product, extent| product.checked_mul(*extent))?];
    }
    let axis = c.int("axis").unwrap_or(0);
    let mut grad = c.grad;
    let count = match c.shape(1)?.len() {
        0 => {
            indices = call_with(c.store, "reshape", &[indices], &[("newshape", ints(&[1]))]);
            let set = [("axis", AttrValue::int(axis)), ("num_newaxis", AttrValue::int(1))];
            grad = call_with(c.store, "expand_dims", &[grad], &set);
            one
        }
        1 => {
            let lengths = c.shape_of(indices);
            c.taken(lengths, zero, 0)
        }
        _ => return None,
    };

    let dims: Vec<Dim> = shape.iter().map(|extent| Dim::int(*extent)).collect();
    let dtype = c.dtype(0)?;
    let (whole, single) = (c.store.tensor_type(&dims, dtype), c.store.tensor_type(&[Dim::int(1)], DType::I32));
    let (so_far, at) = (c.store.var("data_grad", Some(whole)), c.store.var("i", Some(single)));
    let again = c.store.var("while_loop", None);
    let [sum, i, call_again] = [so_far, at, again].map(|var| c.store.use_var(var));

    let less = c.of("less", &[i, count]);
    let goes_on = c.of("squeeze", &[less]);
    let index = c.taken(indices, i, 0);
    let part = c.taken(grad, i, axis);
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    for (place, extent) in (0..).zip(&shape) {
        let extent = c.one_of(*extent);
        begins.push(if place == axis { index } else { zero });
        ends.push(if place == axis { c.of("add", &[index, one]) } else { extent });
    }
    let [begin, end] = [begins, ends].map(|parts| {
        let parts = c.store.add_tuple(&parts);
        call_with(c.store, "concatenate", &[parts], &[("axis", AttrValue::int(0))])
    });
    let ones = vec![1; shape.len()];
    let [there_by, back_by] = [(); 2].map(|()| c.whole(&[shape.len() as i64], &ones));
    let slice = c.slice_from(sum, begin, end, there_by);
    let slice = c.of("add", &[slice, part]);
    let next = c.of("strided_set", &[sum, slice, begin, end, back_by]);
    let step = c.of("add", &[i, one]);

    let then = c.store.add_call(call_again, &[next, step], None);
    let other = c.store.add_tuple(&[sum, i]);
    let body = c.store.add(Expr::If { cond: goes_on, then, other });
    let params = c.store.list(&[so_far, at]);
    let function = Function { params, body, type_params: List::EMPTY, ret: None, attrs: None, device: None, pure: true };
    let function = c.store.add_function(function);
    let function = c.store.add(Expr::Function(function));
    let bound = c.store.add(Expr::Let { var: again, value: function, body: call_again });
    let result = c.store.add_call(bound, &[start, zero], None);
    let mut result = c.store.add(Expr::TupleGetItem { tuple: result, index: 0 });
    if flat {
        result = c.reshaped(result)?;
    }
    Some(vec![result, c.zeros(1)?])
}

impl Call<'_> {
    /// Makes a slice with computed bounds, as TVM's Python does for `strided_slice` then.
    fn slice_from(&mut self, data: ExprId, begin: ExprId, end: ExprId, strides: ExprId) -> ExprId {
        let shape = self.shape_of(data);
        let shape = self.of("cast_like", &[shape, begin]);
        let extents = call_with(self.store, "slice_like", &[shape, begin], &[("axes", AttrValue::Null)]);
        let zero = self.whole(&[], &[0]);
        let zero = self.of("cast_like", &[zero, begin]);
        let (is_below, from_end) = (self.of("less", &[begin, zero]), self.of("add", &[begin, extents]));
        let begin = self.of("where", &[is_below, from_end, begin]);
        let is_behind = self.of("greater_equal", &[begin, extents]);
        let begin = self.of("where", &[is_behind, extents, begin]);
        let none = ["begin", "end", "strides", "axes"].map(|name| (name, AttrValue::Null));
        call_with(self.store, "dyn.strided_slice", &[data, begin, end, strides], &none)
    }
}
