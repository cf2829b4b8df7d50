//! Building the calls that an operator is replaced by (TVM's `pattern_utils.h`).

use super::target::Target;
use crate::ir::{AttrValue, AttrsId, DType, Dim, Double, Expr, ExprId, Store};
use crate::ops::build::{self, call, call_attrs, call_with, constant, ints, scalar, with_attrs};

/// Adds calls to a store, with what rules ask for around them.
pub struct Emit<'a> {
    /// The store that gets the calls.
    pub store: &'a mut Store,
    /// The target of compilation, if there is one.
    pub target: Option<&'a Target>,
}

impl Emit<'_> {
    /// Makes `name(args)` without attributes.
    pub fn call(&mut self, name: &str, args: &[ExprId]) -> ExprId {
        call(self.store, name, args)
    }

    /// Makes `name(args)` with these attributes and the defaults of the others.
    pub fn with(&mut self, name: &str, args: &[ExprId], written: &[(&str, AttrValue)]) -> ExprId {
        call_with(self.store, name, args, written)
    }

    /// Makes `name(args)` with attributes that are there, some of them changed.
    pub fn over(&mut self, name: &str, args: &[ExprId], attrs: Option<AttrsId>, changes: &[(&str, AttrValue)]) -> ExprId {
        let attrs = attrs.map(|attrs| with_attrs(self.store, attrs, changes));
        call_attrs(self.store, name, args, attrs)
    }

    /// Makes a text as an attribute.
    pub fn text(&mut self, text: &str) -> AttrValue {
        AttrValue::Str(self.store.name(text))
    }

    /// Makes `cast(x, dtype)`.
    pub fn cast(&mut self, x: ExprId, dtype: DType) -> ExprId {
        self.with("cast", &[x], &[("dtype", AttrValue::DType(Some(dtype)))])
    }

    /// Makes a constant of rank 0.
    pub fn number(&mut self, dtype: DType, value: f64) -> ExprId {
        scalar(self.store, dtype, value)
    }

    /// Makes a constant of type `int32`.
    pub fn int(&mut self, value: i64) -> ExprId {
        build::int_tensor(self.store, DType::I32, &[], &[value])
    }

    /// Makes `clip(x, low, high)`.
    pub fn clip(&mut self, x: ExprId, low: f64, high: f64) -> ExprId {
        self.with("clip", &[x], &[("a_min", AttrValue::Float(Double(low))), ("a_max", AttrValue::Float(Double(high)))])
    }

    /// Sums or compares over axes: `sum`, `max`.
    pub fn reduce(&mut self, name: &str, x: ExprId, axes: &[i64], keepdims: bool) -> ExprId {
        self.with(name, &[x], &[("axis", ints(axes)), ("keepdims", AttrValue::Bool(keepdims))])
    }

    /// Makes `reshape(x, shape)`.
    pub fn reshape(&mut self, x: ExprId, shape: &[i64]) -> ExprId {
        self.with("reshape", &[x], &[("newshape", ints(shape))])
    }

    /// Makes `transpose(x, axes)`.
    pub fn transpose(&mut self, x: ExprId, axes: &[i64]) -> ExprId {
        self.with("transpose", &[x], &[("axes", ints(axes))])
    }

    /// Makes `repeat(x, repeats, axis)`.
    pub fn repeat(&mut self, x: ExprId, repeats: i64, axis: i64) -> ExprId {
        self.with("repeat", &[x], &[("repeats", AttrValue::int(repeats)), ("axis", AttrValue::int(axis))])
    }

    /// Pads each axis with this many elements before and behind.
    pub fn pad(&mut self, x: ExprId, widths: &[[i64; 2]], value: ExprId) -> ExprId {
        let widths = AttrValue::Array(widths.iter().map(|width| ints(width)).collect());
        self.with("nn.pad", &[x, value], &[("pad_width", widths)])
    }

    /// Takes a part of a tensor from its beginning: up to these indices (`mode` is `end`), or of these sizes.
    pub fn slice(&mut self, x: ExprId, end: &[i64], mode: &str) -> ExprId {
        let written = [
            ("begin", ints(&vec![0; end.len()])),
            ("end", ints(end)),
            ("strides", ints(&[1])),
            ("slice_mode", self.text(mode)),
            ("axes", AttrValue::Null),
        ];
        self.with("strided_slice", &[x], &written)
    }

    /// Makes a tensor of one number, or of zeros if there is none.
    pub fn filled(&mut self, value: Option<ExprId>, shape: &[i64], dtype: DType) -> ExprId {
        let written = [("shape", ints(shape)), ("dtype", AttrValue::DType(Some(dtype)))];
        match value {
            Some(value) => self.with("full", &[value], &written),
            None => self.with("zeros", &[], &written),
        }
    }

    /// True if two expressions are constants of rank 0 with one type and value (TVM's `IsEqualScalar`).
    pub fn same_scalar(&self, a: ExprId, b: ExprId) -> bool {
        let (Some(a), Some(b)) = (constant(self.store, a), constant(self.store, b)) else { return false };
        a.is_scalar() && b.is_scalar() && a.dtype == b.dtype && a.data == b.data
    }

    /// True if an expression is this constant of type `int32` and rank 0.
    pub fn is_int(&self, id: ExprId, value: i64) -> bool {
        constant(self.store, id).is_some_and(|tensor| tensor.dtype == DType::I32) && self.value(id) == Some(value as f64)
    }

    /// Returns the value of a constant of rank 0.
    pub fn value(&self, id: ExprId) -> Option<f64> {
        build::scalar_value(self.store, id)
    }

    /// Returns the elements of a constant; `Err` says that it is none.
    pub fn values(&self, id: ExprId) -> Result<Vec<f64>, String> {
        constant(self.store, id).and_then(build::elements).ok_or_else(|| "Expr must be a constant expr".to_owned())
    }

    /// Makes a tuple.
    pub fn tuple(&mut self, fields: &[ExprId]) -> ExprId {
        self.store.add_tuple(fields)
    }

    /// Makes `tuple.index`.
    pub fn field(&mut self, tuple: ExprId, index: usize) -> ExprId {
        self.store.add(Expr::TupleGetItem { tuple, index: index as u32 })
    }
}

/// Returns extents that are all known; `Err` says that one is not.
pub fn known(shape: &[Dim]) -> Result<Vec<i64>, String> {
    shape.iter().map(|dim| dim.known()).collect::<Option<_>>().ok_or_else(|| "Expr is not a constant int".to_owned())
}
