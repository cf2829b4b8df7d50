//! Quantised tensors with the real numbers that they stand for (TVM's `AffineType`), and regions of a graph that
//! compute with them.

mod asked;
mod elementwise;
mod products;
pub mod rules;

use super::local_type::{typed_call, typed_item, typed_tuple};
use super::tensor_type;
use crate::ir::equal::{EqualOptions, exprs};
use crate::ir::{AttrValue, AttrsId, DType, Dim, Expr, ExprId, Module, Store};
use crate::ops::build::{args, attrs_of, constant, elements, is_call, op_name};
use crate::passes::relay::fold_constant::fold_expr;
use rustc_hash::FxHashMap;

pub use asked::Asked;

/// A tensor of integers that stands for `(value - zero_point) * scale`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Affine {
    /// A scalar, or one number per channel.
    pub scale: ExprId,
    /// A scalar, or one number per channel.
    pub zero_point: ExprId,
    /// The type of the elements.
    pub dtype: DType,
    /// The axis of the channels; -1 is the last one.
    pub axis: i64,
}

/// The real numbers that an expression of a region stands for.
#[derive(Clone, PartialEq, Debug)]
pub enum AffineType {
    /// One tensor.
    Tensor(Affine),
    /// A tuple of tensors.
    Tuple(Vec<Affine>),
}

/// The rewritten call, or the reason why it cannot be rewritten.
pub type Rewritten = Result<(ExprId, AffineType), String>;

/// A region: nodes between dequantised inputs and an output. It is rewritten node by node.
pub struct Region<'a> {
    /// The store that gets new nodes.
    pub store: &'a mut Store,
    /// The module in which constants are folded.
    pub module: &'a Module,
    /// The real numbers that the finished nodes stand for.
    pub types: FxHashMap<ExprId, AffineType>,
    /// The type of the region's result, for rules that cannot tell by their inputs; `None` where it is not set.
    pub out: Option<AffineType>,
    /// The call that the region leads to.
    pub root: ExprId,
    /// Optional operators that the user enabled.
    pub optional: &'a [String],
    /// The operators for which a script has rules.
    pub asked: Option<Asked<'a>>,
}

impl Region<'_> {
    /// Rewrites the root over integers. All operators on the way must have a rule.
    pub fn run(&mut self) -> Rewritten {
        enum Step {
            Visit(ExprId),
            Leave(ExprId),
        }
        let mut done: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        let mut stack = vec![Step::Visit(self.root)];
        while let Some(step) = stack.pop() {
            match step {
                Step::Visit(id) if done.contains_key(&id) => {}
                Step::Visit(id) => {
                    stack.push(Step::Leave(id));
                    match self.store.expr(id) {
                        Expr::Call { .. } if is_call(self.store, id, "qnn.dequantize") => {}
                        Expr::Call { args, .. } => stack.extend(self.store.items(args).rev().map(Step::Visit)),
                        Expr::Tuple(fields) => stack.extend(self.store.items(fields).rev().map(Step::Visit)),
                        Expr::TupleGetItem { tuple, .. } => stack.push(Step::Visit(tuple)),
                        _ => {}
                    }
                }
                Step::Leave(id) => {
                    let new = self.leave(id, &done)?;
                    done.insert(id, new);
                }
            }
        }
        let result = done[&self.root];
        let ty = self.types.get(&result).cloned().ok_or("the output has no scale")?;
        Ok((result, ty))
    }

    fn leave(&mut self, id: ExprId, done: &FxHashMap<ExprId, ExprId>) -> Result<ExprId, String> {
        match self.store.expr(id) {
            Expr::Call { callee, args, info } => {
                let name = op_name(self.store, id);
                let asked = self.asked.as_ref().is_some_and(|asked| asked.has(name));
                let rule = match asked {
                    true => asked::rewritten,
                    false => rules::of(name, self.optional)
                        .ok_or_else(|| format!("When rewriting a fake quantized graph, found an invalid node {name}"))?,
                };
                let mut call = id;
                if name != "qnn.dequantize" {
                    let new: Vec<ExprId> = self.store.items(args).map(|arg| done[&arg]).collect();
                    if !self.store.items(args).eq(new.iter().copied()) {
                        let attrs = info.and_then(|info| self.store.call_info(info).attrs);
                        call = typed_call(self.store, id, callee, &new, attrs);
                    }
                    match &self.out {
                        Some(out) => self.types.insert(call, out.clone()),
                        None => self.types.remove(&call),
                    };
                }
                let (new, ty) = rule(self, call)?;
                self.types.insert(new, ty);
                Ok(new)
            }
            Expr::Tuple(fields) => {
                let new: Vec<ExprId> = self.store.items(fields).map(|field| done[&field]).collect();
                let types = new.iter().map(|field| self.tensor(*field)).collect::<Result<_, _>>()?;
                let tuple = typed_tuple(self.store, &new);
                self.types.insert(tuple, AffineType::Tuple(types));
                Ok(tuple)
            }
            Expr::TupleGetItem { tuple, index } => {
                let tuple = done[&tuple];
                let Some(AffineType::Tuple(types)) = self.types.get(&tuple) else {
                    return Err("a field is taken of what is no tuple of quantised tensors".to_owned());
                };
                let ty = *types.get(index as usize).ok_or("the tuple has no such field")?;
                let item = typed_item(self.store, tuple, index);
                self.types.insert(item, AffineType::Tensor(ty));
                Ok(item)
            }
            _ => Ok(id),
        }
    }

    /// Returns the real numbers that a tensor stands for.
    pub fn tensor(&self, id: ExprId) -> Result<Affine, String> {
        match self.types.get(&id) {
            Some(AffineType::Tensor(ty)) => Ok(*ty),
            _ => Err(format!("an argument of `{}` is not quantised", op_name(self.store, self.root))),
        }
    }

    /// Makes the call `name(args)`, with its type.
    pub fn call(&mut self, name: &str, args: &[ExprId], attrs: Option<AttrsId>) -> ExprId {
        let callee = self.store.add(Expr::Op(crate::ops::op(name)));
        let args: Vec<ExprId> = args.iter().map(|arg| self.typed(*arg)).collect();
        typed_call(self.store, self.root, callee, &args, attrs)
    }

    /// Does the same with these attributes and the defaults of the others.
    pub fn call_with(&mut self, name: &str, args: &[ExprId], written: &[(&str, AttrValue)]) -> ExprId {
        let attrs = attrs_of(self.store, name, written);
        self.call(name, args, Some(attrs))
    }

    /// Adds the type of a constant, which a new one lacks.
    fn typed(&mut self, id: ExprId) -> ExprId {
        match (self.store.expr(id), self.store.checked_type(id)) {
            (Expr::Constant(tensor), None) => {
                let value = self.store.tensor(tensor);
                let (dtype, shape) = (value.dtype, value.shape.iter().map(|n| Dim::int(*n)).collect::<Vec<_>>());
                let ty = self.store.tensor_type(&shape, dtype);
                self.store.add_typed(Expr::Constant(tensor), Some(ty))
            }
            _ => id,
        }
    }

    /// Folds the constants in `id`.
    pub fn fold(&mut self, id: ExprId) -> ExprId {
        let folded = fold_expr(self.store, self.module, id);
        self.typed(folded)
    }

    /// Returns the shape of an expression; constants need no type.
    pub fn shape(&self, id: ExprId) -> Result<Vec<i64>, String> {
        if let Some(tensor) = constant(self.store, id) {
            return Ok(tensor.shape.to_vec());
        }
        let shape = tensor_type(self.store, id).ok_or("the shape of an argument is not known")?.0;
        Ok(shape.into_iter().map(|dim| dim.known().unwrap_or(-1)).collect())
    }

    /// True if two expressions are structurally equal.
    pub fn same(&self, a: ExprId, b: ExprId) -> bool {
        a == b || exprs(self.store, a, b, EqualOptions::default()).is_ok()
    }

    /// True if two scales or zero points are equal but for rounding (numpy's `allclose`).
    pub fn close(&mut self, a: ExprId, b: ExprId) -> Result<bool, String> {
        let (a, b) = (self.fold(a), self.fold(b));
        let (Some(x), Some(y)) = (constant(self.store, a), constant(self.store, b)) else { return Ok(self.same(a, b)) };
        let (Some(xs), Some(ys)) = (elements(x), elements(y)) else { return Err("a constant has no value".to_owned()) };
        let near = |x: f64, y: f64| x == y || (x - y).abs() <= 1e-8 + 1e-5 * y.abs();
        match (xs.as_slice(), ys.as_slice()) {
            ([x], ys) => Ok(ys.iter().all(|y| near(*x, *y))),
            (xs, [y]) => Ok(xs.iter().all(|x| near(*x, *y))),
            (xs, ys) if xs.len() == ys.len() => Ok(xs.iter().zip(ys).all(|(x, y)| near(*x, *y))),
            _ => Err("scales of different shapes".to_owned()),
        }
    }

    /// True if two quantised tensors stand for the same numbers, but for rounding of their scales.
    pub fn alike(&mut self, a: Affine, b: Affine) -> Result<bool, String> {
        Ok(self.close(a.scale, b.scale)? && self.close(a.zero_point, b.zero_point)? && a.dtype == b.dtype)
    }

    /// True if two types are structurally equal.
    pub fn equal(&self, a: Affine, b: Affine) -> bool {
        self.same(a.scale, b.scale) && self.same(a.zero_point, b.zero_point) && a.dtype == b.dtype && a.axis == b.axis
    }

    /// Converts `data` to another scale.
    pub fn requantize(&mut self, data: ExprId, from: Affine, to: Affine, out: DType, axis: i64) -> ExprId {
        let written = [("axis", AttrValue::int(axis)), ("out_dtype", AttrValue::DType(Some(out)))];
        let args = [data, from.scale, from.zero_point, to.scale, to.zero_point];
        self.call_with("qnn.requantize", &args, &written)
    }

    /// Quantises real numbers to a scale.
    pub fn quantize(&mut self, data: ExprId, to: Affine, axis: i64) -> ExprId {
        let written = [("axis", AttrValue::int(axis)), ("out_dtype", AttrValue::DType(Some(to.dtype)))];
        self.call_with("qnn.quantize", &[data, to.scale, to.zero_point], &written)
    }

    /// Returns the arguments of a call.
    pub fn args<const N: usize>(&self, call: ExprId) -> Result<[ExprId; N], String> {
        args(self.store, call).try_into().map_err(|_| format!("`{}` has other arguments", op_name(self.store, call)))
    }
}
