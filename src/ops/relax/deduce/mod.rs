//! Deduces the type of a call of Relax's operators from the types of its arguments (TVM's `FInferType`,
//! src/relax/op).
//!
//! A rule goes forward only: unknown parts of the type stay open, as a tensor with only a known rank or element
//! type. It fails only where the arguments can never fit; the messages are TVM's in substance.

pub(in crate::ops) mod binary;
pub(in crate::ops) mod checks;
pub(in crate::ops) mod conv;
pub(in crate::ops) mod create;
pub(in crate::ops) mod grad;
pub(in crate::ops) mod image;
pub(in crate::ops) mod index;
pub(in crate::ops) mod linear_algebra;
pub(in crate::ops) mod manipulate;
pub(in crate::ops) mod nn;
pub(in crate::ops) mod pool;
pub(in crate::ops) mod runtime;
pub(in crate::ops) mod search;
pub(in crate::ops) mod statistic;
pub(in crate::ops) mod unary;
pub(in crate::ops) mod vision;

#[cfg(test)]
mod tests;

use crate::ir::{
    AttrValue, AttrsId, DType, DTypeCode, Dim, Expr, ExprId, Extents, Id, Object, PrimExpr, PrimId, PrimOp, Store, TensorInfo,
    Type, TypeId, VarId, show_relax_type,
};
use crate::ops::dim_arith;
use crate::tir::arith::{Analyzer, equal_extents};
use crate::tir::binary;
use std::rc::Rc;

/// A rule: the type of the call, or the reason why there is none.
pub type DeduceRule = fn(&mut Deduce<'_>) -> Result<TypeId, String>;

/// Looks up the value that a variable is bound to.
pub type Bound<'a> = &'a dyn Fn(VarId) -> Option<ExprId>;

/// The context of a rule.
pub struct Deduce<'a> {
    /// The session's memory.
    pub store: &'a mut Store,
    /// The name of the operator as it stands after `R.`; for messages.
    pub op: &'static str,
    /// The arguments of the call.
    pub args: &'a [ExprId],
    /// Their types.
    pub types: &'a [TypeId],
    /// The attributes of the call.
    pub attrs: Option<AttrsId>,
    /// `out_ty` and `ty_args`: types that the call itself names.
    pub ty_args: &'a [TypeId],
    /// The values of variables that are bound around the call.
    pub bound: Bound<'a>,
}

/// A tensor in a rule.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// The known part of its type.
    pub info: TensorInfo,
    /// Its extents, if they are written in the type: most rules of TVM do not look into a variable that holds a shape.
    pub shape: Option<Rc<[Dim]>>,
    /// Its extents, if they are known; also those of a variable that holds its shape.
    pub values: Option<Rc<[Dim]>>,
    /// The number of its axes, if that is known.
    pub rank: Option<usize>,
}

impl Tensor {
    /// Returns its element type, if known.
    pub fn dtype(&self) -> Option<DType> {
        self.info.dtype
    }

    /// Returns a copy of its extents, if they are known; also those of a variable that holds its shape.
    pub fn dims(&self) -> Option<Vec<Dim>> {
        self.values.as_deref().map(<[Dim]>::to_vec)
    }

    /// Returns its device, if the type has one.
    pub fn vdevice(&self) -> Option<Id<Object>> {
        self.info.vdevice
    }
}

impl Deduce<'_> {
    /// Returns the type of argument `index`; `Any` for a missing one.
    pub fn ty(&mut self, index: usize) -> TypeId {
        match self.types.get(index) {
            Some(ty) => *ty,
            None => self.store.ty(Type::Any),
        }
    }

    /// True if an argument is a constant of a text without its section.
    pub fn is_left_out(&self, index: usize) -> bool {
        self.args.get(index).is_some_and(|arg| self.store.is_left_out(*arg))
    }

    /// Returns argument `index`, which has to be a tensor.
    pub fn tensor(&mut self, index: usize) -> Result<Tensor, String> {
        let ty = self.ty(index);
        self.tensor_of(ty).ok_or_else(|| {
            let given = show_relax_type(self.store, ty);
            format!("{} requires input {index} to be a Tensor. However, the given one has type {given}", self.op)
        })
    }

    /// Returns the known part of a tensor type; `None` for other types.
    pub fn tensor_of(&self, ty: TypeId) -> Option<Tensor> {
        let info = match self.store.type_of_id(ty) {
            Type::Distributed { tensor, .. } => self.store.tensor_info(*tensor)?,
            _ => self.store.tensor_info(ty)?,
        };
        let values = self.known(&info.extents);
        let shape = values.clone().filter(|_| matches!(info.extents, Extents::Known(_)));
        let rank = self.store.rank(&info.extents);
        Some(Tensor { info, shape, values, rank })
    }

    /// Returns the known extents of a shape, also through the variable that holds it.
    pub fn known(&self, extents: &Extents) -> Option<Rc<[Dim]>> {
        match extents {
            Extents::Known(dims) => Some(dims.clone()),
            Extents::Var(var) => match self.store.type_of_id(self.store.var_type(*var)?) {
                Type::Shape(Extents::Known(dims)) => Some(dims.clone()),
                _ => None,
            },
            Extents::Unknown | Extents::Rank(_) => None,
        }
    }

    /// Returns the tensors of the tuple that argument `index` is.
    pub fn tensors(&mut self, index: usize) -> Result<Vec<Tensor>, String> {
        let ty = self.ty(index);
        let fields = match self.store.type_of_id(ty) {
            Type::Tuple(fields) => fields.to_vec(),
            _ => Vec::new(),
        };
        let tensors: Option<Vec<Tensor>> = match self.store.type_of_id(ty) {
            Type::Tuple(_) => fields.iter().map(|field| self.tensor_of(*field)).collect(),
            _ => None,
        };
        tensors.ok_or_else(|| {
            let given = show_relax_type(self.store, ty);
            format!("{} expects the input to be a Tuple of Tensors. However, the given input is {given}", self.op)
        })
    }

    /// Returns the shape that argument `index` is: as extents for a tensor type, which may be the variable that holds it.
    pub fn shape_arg(&mut self, index: usize) -> Result<Extents, String> {
        let ty = self.ty(index);
        let Type::Shape(extents) = self.store.type_of_id(ty) else {
            let given = show_relax_type(self.store, ty);
            return Err(format!("{} requires input {index} to be a Shape. However, the given one has type {given}", self.op));
        };
        let extents = extents.clone();
        Ok(match self.args.get(index).map(|arg| self.store.expr(*arg)) {
            Some(Expr::Var(var)) => Extents::Var(var),
            _ => extents,
        })
    }

    /// Fails unless the call has this many arguments.
    pub fn arity(&self, count: usize) -> Result<(), String> {
        if self.args.len() == count {
            return Ok(());
        }
        Err(format!("{} takes {count} arguments, but got {}", self.op, self.args.len()))
    }

    /// Returns an integer attribute; `None` when it is not set.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.store.attr_int(self.attrs, name)
    }

    /// Returns a list of integers; `None` when it is not set. A single integer counts as a list.
    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.store.attr_ints(self.attrs, name).or_else(|| self.int(name).map(|value| vec![value]))
    }

    /// True for an attribute that is `True` or a number other than 0.
    pub fn flag(&self, name: &str) -> bool {
        match self.store.attr(self.attrs, name) {
            Some(AttrValue::Bool(value)) => *value,
            _ => self.int(name).is_some_and(|value| value != 0),
        }
    }

    /// Returns a string attribute, if it is set.
    pub fn text(&self, name: &str) -> Option<String> {
        self.store.attr_str(self.attrs, name).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Returns an element type, if it is set.
    pub fn dtype(&self, name: &str) -> Option<DType> {
        if let Some(dtype) = self.store.attr_dtype(self.attrs, name) {
            return Some(dtype);
        }
        DType::parse(self.store.attr_str(self.attrs, name)?)
    }

    /// Returns an axis counted from the front, of a tensor with this rank.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize, String> {
        let from_front = if axis < 0 { axis + rank as i64 } else { axis };
        usize::try_from(from_front).ok().filter(|at| *at < rank).ok_or_else(|| {
            let op = self.op;
            format!("In {op}, the input axis {axis} is out of range. The input tensor has {rank} dimensions, so axis should be in range [-{rank}, {rank}).")
        })
    }

    /// Returns axes counted from the front; each may occur once.
    pub fn axes(&self, axes: &[i64], rank: usize) -> Result<Vec<usize>, String> {
        let mut result = Vec::with_capacity(axes.len());
        for &axis in axes {
            let at = self.axis(axis, rank)?;
            if result.contains(&at) {
                return Err(format!("In {}, the input axes {axes:?} have repeated axis {axis}", self.op));
            }
            result.push(at);
        }
        Ok(result)
    }

    /// Returns the scalar that argument `index` is, if it is a written integer expression.
    pub fn scalar(&self, index: usize) -> Option<Dim> {
        self.scalar_of(*self.args.get(index)?)
    }

    /// Returns the scalar that an expression is, under the same condition.
    pub fn scalar_of(&self, expr: ExprId) -> Option<Dim> {
        match self.store.expr(expr) {
            Expr::Var(var) => self.store.var_data(var).symbol.map(Dim::Symbol),
            Expr::Prim(prim) if !self.store.prim_dtype(prim).is_float() => Some(self.store.dim_of_prim(prim)),
            _ => None,
        }
    }

    /// True if argument `index` is a number or truth value other than zero.
    pub fn is_set(&self, index: usize) -> bool {
        match self.args.get(index).map(|arg| self.store.expr(*arg)) {
            Some(Expr::Prim(prim)) => self.store.as_prim_int(prim).is_some_and(|value| value != 0),
            _ => false,
        }
    }

    /// Returns the number that argument `index` is, if it is a constant.
    pub fn number(&self, index: usize) -> Option<f64> {
        if let Expr::Prim(prim) = self.store.expr(*self.args.get(index)?)
            && let PrimExpr::Float { value, .. } = self.store.prim_of_id(prim)
        {
            return Some(value.0);
        }
        self.scalar(index).and_then(Dim::known).map(|value| value as f64)
    }

    /// Returns `a op b`, simplified.
    pub fn arith(&mut self, op: PrimOp, a: Dim, b: Dim) -> Dim {
        let result = dim_arith(self.store, op, a, b);
        self.wide(result)
    }

    /// Returns the product of extents.
    pub fn product(&mut self, dims: &[Dim]) -> Dim {
        dims.iter().fold(Dim::Int { value: 1, bits: 64 }, |product, dim| self.arith(PrimOp::Mul, product, *dim))
    }

    /// Returns an extent with the 64 bits that Relax's extents have.
    pub fn wide(&self, dim: Dim) -> Dim {
        match dim {
            Dim::Int { value, .. } => int(value),
            other => other,
        }
    }

    /// Returns an analyzer that takes the symbols of an expression for extents, which are not negative. As in TVM only a
    /// function says that of them.
    pub fn over_extents(&self, prim: PrimId) -> Analyzer {
        let mut analyzer = Analyzer::new();
        if self.store.symbols_are_free {
            return analyzer;
        }
        self.store.for_each_prim(prim, &mut |_, expr| {
            if let PrimExpr::Var(symbol) = expr {
                analyzer.assume_natural(*symbol);
            }
        });
        analyzer
    }

    /// Simplifies an extent, with its symbols as extents.
    pub fn natural(&mut self, dim: Dim) -> Dim {
        let Dim::Expr(prim) = dim else { return dim };
        let mut analyzer = self.over_extents(prim);
        let simple = analyzer.simplify(self.store, prim);
        self.store.dim_of_prim(simple)
    }

    /// True if two extents are equal for all values of their symbols.
    pub fn equal(&mut self, a: Dim, b: Dim) -> bool {
        equal_extents(self.store, a, b)
    }

    /// True if two extents can never be equal.
    pub fn differ(&mut self, a: Dim, b: Dim) -> bool {
        if let (Some(a), Some(b)) = (a.known(), b.known()) {
            return a != b;
        }
        // A symbol may be anything: only an expression can never be a number or a symbol.
        let is_expr = |dim: Dim| matches!(dim, Dim::Expr(_));
        a != b && (is_expr(a) || is_expr(b)) && self.proves_unequal(a, b)
    }

    /// True if an extent is at least another one for all values of their symbols.
    pub fn at_least(&mut self, a: Dim, b: Dim) -> bool {
        if let (Some(a), Some(b)) = (a.known(), b.known()) {
            return a >= b;
        }
        let [a, b] = [a, b].map(|dim| self.wide(dim)).map(|dim| self.store.prim_of_dim(dim));
        let reached = binary(self.store, PrimOp::Ge, a, b);
        self.over_extents(reached).can_prove(self.store, reached)
    }

    /// True if an extent can never be a multiple of `by`.
    pub fn is_never_multiple(&mut self, dim: Dim, by: i64) -> bool {
        let rest = dim_arith(self.store, PrimOp::FloorMod, dim, int(by));
        match rest {
            Dim::Expr(_) => self.proves_unequal(rest, int(0)),
            _ => rest.known().is_some_and(|rest| rest != 0),
        }
    }

    fn proves_unequal(&mut self, a: Dim, b: Dim) -> bool {
        let [a, b] = [a, b].map(|dim| self.wide(dim)).map(|dim| self.store.prim_of_dim(dim));
        if self.store.prim_dtype(a) != self.store.prim_dtype(b) {
            return false;
        }
        let unequal = binary(self.store, PrimOp::Ne, a, b);
        let mut analyzer = self.over_extents(unequal);
        analyzer.can_prove(self.store, unequal)
    }

    /// Makes a tensor type with these extents.
    pub fn out(&mut self, shape: &[Dim], dtype: Option<DType>, vdevice: Option<Id<Object>>) -> TypeId {
        let shape = shape.iter().map(|dim| self.wide(*dim)).collect();
        self.store.tensor_like(TensorInfo { extents: Extents::Known(shape), dtype, vdevice })
    }

    /// Makes a tensor type with only a known rank, or not even that.
    pub fn vague(&mut self, rank: Option<usize>, dtype: Option<DType>, vdevice: Option<Id<Object>>) -> TypeId {
        let extents = rank.map_or(Extents::Unknown, |rank| Extents::Rank(rank as u32));
        self.store.tensor_like(TensorInfo { extents, dtype, vdevice })
    }

    /// Makes a tensor type with the extents of `like`, as far as they are known, and this element type.
    pub fn like(&mut self, like: &Tensor, dtype: Option<DType>) -> TypeId {
        self.store.tensor_like(TensorInfo { dtype, ..like.info.clone() })
    }

    /// Makes a tensor type with this shape, which may be a variable.
    pub fn shaped(&mut self, extents: Extents, dtype: Option<DType>, vdevice: Option<Id<Object>>) -> TypeId {
        self.store.tensor_like(TensorInfo { extents, dtype, vdevice })
    }

    /// Makes the type of any value.
    pub fn any(&mut self) -> TypeId {
        self.store.ty(Type::Any)
    }

    /// Makes the type of no value: the empty tuple.
    pub fn void(&mut self) -> TypeId {
        self.store.ty(Type::Tuple([].into()))
    }

    /// Makes a tuple type.
    pub fn tuple(&mut self, fields: &[TypeId]) -> TypeId {
        self.store.ty(Type::Tuple(fields.into()))
    }

    /// Returns the element type that all tensors have, if it is known of all; an error when two differ.
    pub fn common_dtype(&self, tensors: &[&Tensor]) -> Result<Option<DType>, String> {
        let mut found: Option<DType> = None;
        let mut all = true;
        for tensor in tensors {
            match (tensor.dtype(), found) {
                (None, _) => all = false,
                (Some(dtype), None) => found = Some(dtype),
                (Some(dtype), Some(other)) if dtype != other => {
                    let op = self.op;
                    return Err(format!(
                        "{op} expects all inputs to have the same dtype. However, they have {other} and {dtype}"
                    ));
                }
                _ => {}
            }
        }
        Ok(found.filter(|_| all))
    }

    /// Returns the element type of a binary operator: that of the first tensor if both are known. Truth values mix with any.
    pub fn arith_dtype(&self, a: &Tensor, b: &Tensor) -> Result<Option<DType>, String> {
        match (a.dtype(), b.dtype()) {
            (Some(a), Some(b)) if a == DType::BOOL || b == DType::BOOL => Ok(Some(a)),
            _ => self.common_dtype(&[a, b]),
        }
    }

    /// Returns the device of all tensors that have one; an error when two differ.
    pub fn common_vdevice(&self, tensors: &[&Tensor]) -> Result<Option<Id<Object>>, String> {
        let mut found: Option<Id<Object>> = None;
        for device in tensors.iter().filter_map(|tensor| tensor.vdevice()) {
            match found {
                Some(other) if self.store.object(other) != self.store.object(device) => {
                    return Err(format!("{} expects its inputs on the same device", self.op));
                }
                _ => found = Some(device),
            }
        }
        Ok(found)
    }

    /// Returns the shape that two shapes broadcast to; `None` when that depends on their symbols.
    pub fn broadcast(&mut self, a: &[Dim], b: &[Dim]) -> Result<Option<Vec<Dim>>, String> {
        let rank = a.len().max(b.len());
        let mut result = vec![Dim::Any; rank];
        for from_end in 1..=rank {
            let at = |dims: &[Dim]| dims.len().checked_sub(from_end).map(|index| dims[index]);
            result[rank - from_end] = match (at(a), at(b)) {
                (Some(x), None) | (None, Some(x)) => x,
                (Some(x), Some(y)) if x.known() == Some(1) => y,
                (Some(x), Some(y)) if y.known() == Some(1) || self.equal(x, y) => x,
                (Some(x), Some(y)) if x.known().is_some() && y.known().is_some() => {
                    let show = |dim: Dim| dim.known().unwrap_or_default();
                    return Err(format!(
                        "In {}, the first input shape at dim {} is {} and the second input shape at dim {} is {}, which are not broadcastable.",
                        self.op,
                        a.len() - from_end,
                        show(x),
                        b.len() - from_end,
                        show(y)
                    ));
                }
                _ => return Ok(None),
            };
        }
        Ok(Some(result))
    }
}

/// Makes an extent of Relax, which has 64 bits.
pub fn int(value: i64) -> Dim {
    Dim::Int { value, bits: 64 }
}

/// True for an integer type other than `bool`.
pub fn is_int(dtype: DType) -> bool {
    matches!(dtype.code, DTypeCode::Int | DTypeCode::UInt) && dtype != DType::BOOL
}

/// The type of the first argument.
pub fn same(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    Ok(cx.ty(0))
}

/// Any value.
pub fn any(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    Ok(cx.any())
}

/// No value.
pub fn void(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    Ok(cx.void())
}
