//! The input of a gradient rule, and the expressions that rules build.

use crate::ir::{AttrValue, AttrsId, DType, Dim, Expr, ExprId, Store, Type, TypeId};
use crate::ops;
use crate::ops::build::{attrs_of, call, call_with, ints, scalar};

/// A call, and the gradient of its result.
pub struct Call<'a> {
    /// The store that gets new expressions.
    pub store: &'a mut Store,
    /// The arguments of the call.
    pub args: &'a [ExprId],
    /// Their types.
    pub types: &'a [TypeId],
    /// Type of the result.
    pub ty: TypeId,
    /// Its attributes.
    pub attrs: Option<AttrsId>,
    /// The call itself.
    pub orig: ExprId,
    /// The gradient of its result.
    pub grad: ExprId,
}

impl Call<'_> {
    /// A call of an operator without attributes.
    pub fn of(&mut self, op: &str, args: &[ExprId]) -> ExprId {
        match crate::ops::info(crate::ops::op(op)).relay_attrs() {
            Some(_) => call_with(self.store, op, args, &[]),
            None => call(self.store, op, args),
        }
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        self.store.attr_int(self.attrs, name)
    }

    pub fn shape(&self, index: usize) -> Option<Vec<Dim>> {
        match self.store.type_of_id(*self.types.get(index)?) {
            Type::Tensor { shape, .. } => Some(shape.to_vec()),
            _ => None,
        }
    }

    pub fn dtype(&self, index: usize) -> Option<DType> {
        match self.store.type_of_id(*self.types.get(index)?) {
            Type::Tensor { dtype, .. } => Some(*dtype),
            _ => None,
        }
    }

    /// Makes a scalar of the element type of the first argument.
    pub fn number(&mut self, value: f64) -> Option<ExprId> {
        let dtype = self.dtype(0)?;
        Some(scalar(self.store, dtype, value))
    }

    pub fn zeros(&mut self, index: usize) -> Option<ExprId> {
        let arg = *self.args.get(index)?;
        Some(self.of("zeros_like", &[arg]))
    }

    /// Sums a value up to the shape of an argument.
    pub fn collapsed(&mut self, value: ExprId, index: usize) -> ExprId {
        let arg = self.args.get(index).copied().unwrap_or(value);
        self.of("collapse_sum_like", &[value, arg])
    }

    /// Calls an operator on a value and the first argument, which it shall be like.
    pub fn like(&mut self, op: &str, value: ExprId) -> Option<ExprId> {
        let first = *self.args.first()?;
        Some(self.of(op, &[value, first]))
    }

    pub fn reshaped(&mut self, value: ExprId) -> Option<ExprId> {
        self.like("reshape_like", value)
    }

    /// Multiplies the gradient by an operator of the first argument.
    pub fn scaled(&mut self, op: &str) -> Option<Vec<ExprId>> {
        let first = *self.args.first()?;
        let factor = self.of(op, &[first]);
        Some(vec![self.of("multiply", &[self.grad, factor])])
    }

    pub fn summed(&mut self, value: ExprId, keep: bool, exclude: bool) -> Option<ExprId> {
        let axis = ints(&[self.int("axis")?]);
        let set = [("axis", axis), ("keepdims", AttrValue::Bool(keep)), ("exclude", AttrValue::Bool(exclude))];
        Some(call_with(self.store, "sum", &[value], &set))
    }

    /// Inserts axes of extent one at these places, in order, where axes were reduced.
    pub fn expanded(&mut self, value: ExprId, axes: &[i64]) -> ExprId {
        axes.iter().fold(value, |value, axis| {
            let set = [("axis", AttrValue::int(*axis)), ("num_newaxis", AttrValue::int(1))];
            call_with(self.store, "expand_dims", &[value], &set)
        })
    }

    pub fn transposed(&mut self, value: ExprId) -> ExprId {
        self.transposed_by(value, AttrValue::Null)
    }

    pub fn transposed_by(&mut self, value: ExprId, axes: AttrValue) -> ExprId {
        call_with(self.store, "transpose", &[value], &[("axes", axes)])
    }

    /// Calls `nn.dense` with as many units as the second extent of an argument.
    pub fn dense(&mut self, data: ExprId, weight: ExprId, units_of: usize) -> Option<ExprId> {
        let units = self.shape(units_of)?.get(1)?.known()?;
        Some(call_with(self.store, "nn.dense", &[data, weight], &[("units", AttrValue::int(units))]))
    }

    /// The gradient of pooling `forward`, with some of its attributes.
    pub fn pool(&mut self, op: &str, forward: &str, kept: &[&'static str]) -> Option<Vec<ExprId>> {
        let mut set = Vec::new();
        for name in kept {
            set.push((*name, self.store.attr(self.attrs, name)?.clone()));
        }
        Some(vec![self.pool_grad(op, forward, &set)?])
    }

    /// Calls a gradient of pooling. Its attributes are of the type that `forward` has, as in TVM, which registers
    /// `nn.avg_pool2d_grad` with those of `nn.max_pool2d` and so prints them as an object. The dilation is not set.
    pub fn pool_grad(&mut self, op: &str, forward: &str, set: &[(&str, AttrValue)]) -> Option<ExprId> {
        let data = *self.args.first()?;
        let set: Vec<_> = set.iter().cloned().chain([("dilation", ints(&[]))]).collect();
        let attrs = attrs_of(self.store, forward, &set);
        let callee = self.store.add(Expr::Op(ops::op(op)));
        Some(self.store.add_call(callee, &[self.grad, data], Some(attrs)))
    }
}
