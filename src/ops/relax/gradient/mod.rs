//! Gradients of Relax's operators (TVM's `FPrimalGradient`, python/tvm/relax/op/_op_gradient.py).
//!
//! A rule gets a call of the forward function, the variable that it is bound to and the gradient of that, and returns for each
//! argument the term to add to its gradient; `None` for an argument without one. The terms are nested and have types.

pub(in crate::ops) mod element;
pub(in crate::ops) mod manipulate;
pub(in crate::ops) mod nn;

use super::deduce::Deduce;
use crate::ir::{AttrValue, AttrsId, DType, Dim, Expr, ExprId, Extents, Store, Type, TypeId};
use crate::ops::build::{scalar, with_attrs};
use crate::ops::{dim_arith, info, lookup_relax};
use crate::tir::arith::equal_extents;

/// A rule. The error is the reason why the call has no gradient.
pub type GradientRule = fn(&mut Gradient<'_>) -> Result<Vec<Option<ExprId>>, String>;

/// The context of a rule.
pub struct Gradient<'a> {
    /// The session's memory.
    pub store: &'a mut Store,
    /// The result of the call: a use of its variable.
    pub result: ExprId,
    /// The arguments of the call.
    pub args: &'a [ExprId],
    /// The attributes of the call.
    pub attrs: Option<AttrsId>,
    /// The gradient of the result.
    pub out: ExprId,
    /// Expressions to bind before all others, in this order: those whose shapes the rule asked for.
    pub early: Vec<ExprId>,
}

impl Gradient<'_> {
    fn arg(&self, index: usize) -> Result<ExprId, String> {
        self.args.get(index).copied().ok_or_else(|| "the call has too few arguments".to_owned())
    }

    /// Makes `R.name(args)` with these attributes and the defaults of the others, with its type.
    fn call(&mut self, name: &str, args: &[ExprId], attrs: &[(&str, AttrValue)]) -> Result<ExprId, String> {
        let row =
            lookup_relax(name).and_then(|op| info(op).relax.as_ref()).ok_or_else(|| format!("there is no operator {name}"))?;
        let attrs = match row.attrs {
            Some(schema) => {
                let attrs = schema.complete(self.store, attrs).map_err(|field| format!("{name} needs the attribute {field}"))?;
                Some(self.store.attrs(attrs))
            }
            None => None,
        };
        self.call_with(name, args, attrs)
    }

    /// Does the same with an existing attribute set.
    fn call_with(&mut self, name: &str, args: &[ExprId], attrs: Option<AttrsId>) -> Result<ExprId, String> {
        typed_call(self.store, name, args, attrs)
    }

    fn binary(&mut self, name: &str, a: ExprId, b: ExprId) -> Result<ExprId, String> {
        self.call(name, &[a, b], &[])
    }

    fn unary(&mut self, name: &str, x: ExprId) -> Result<ExprId, String> {
        self.call(name, &[x], &[])
    }

    /// Makes a number of the element type of `like`.
    fn number(&mut self, value: f64, like: ExprId) -> Result<ExprId, String> {
        let dtype = self.dtype(like)?;
        let constant = scalar(self.store, dtype, value);
        let ty = self.store.tensor_type(&[], dtype);
        let node = self.store.expr(constant);
        Ok(self.store.add_typed(node, Some(ty)))
    }

    fn ty(&self, expr: ExprId) -> Result<TypeId, String> {
        self.store.checked_type(expr).ok_or_else(|| "a value has no type".to_owned())
    }

    fn dtype(&self, expr: ExprId) -> Result<DType, String> {
        let info = self.store.tensor_info(self.ty(expr)?);
        info.and_then(|info| info.dtype).ok_or_else(|| "the element type of a tensor is not known".to_owned())
    }

    /// The extents of a tensor.
    fn dims(&self, expr: ExprId) -> Result<Vec<Dim>, String> {
        match self.store.tensor_info(self.ty(expr)?).map(|info| info.extents) {
            Some(Extents::Known(dims)) => Ok(dims.to_vec()),
            _ => Err("the shape of a tensor is not known".to_owned()),
        }
    }

    /// The extents of a tensor, each a number.
    fn numbers(&self, expr: ExprId) -> Result<Vec<i64>, String> {
        let dims = self.dims(expr)?;
        dims.iter().map(|dim| dim.known()).collect::<Option<_>>().ok_or_else(|| "the gradient needs a static shape".to_owned())
    }

    /// `R.shape(dims)`
    fn shape(&mut self, dims: &[Dim]) -> ExprId {
        let ty = self.store.ty(Type::Shape(Extents::Known(dims.into())));
        let dims = self.store.dims(dims);
        self.store.add_typed(Expr::Shape(dims), Some(ty))
    }

    /// The shape of a tensor as a value.
    fn shape_of(&mut self, expr: ExprId) -> Result<ExprId, String> {
        let dims = self.dims(expr)?;
        Ok(self.shape(&dims))
    }

    /// Sums the gradient over the axes along which `input` was broadcast.
    fn fit(&mut self, gradient: ExprId, input: ExprId) -> Result<ExprId, String> {
        self.early.push(gradient);
        let (given, wanted) = (self.dims(gradient)?, self.dims(input)?);
        let same = given.len() == wanted.len() && given.iter().zip(&wanted).all(|(a, b)| equal_extents(self.store, *a, *b));
        if same {
            return Ok(gradient);
        }
        let shape = self.shape(&wanted);
        self.call("collapse_sum_to", &[gradient, shape], &[])
    }

    /// The value of an attribute.
    fn attr(&self, name: &str) -> AttrValue {
        self.store.attr(self.attrs, name).cloned().unwrap_or(AttrValue::Null)
    }

    fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.store.attr_ints(self.attrs, name)
    }

    fn flag(&self, name: &str) -> bool {
        self.store.attr_int(self.attrs, name).is_some_and(|value| value != 0)
    }

    /// `a op b` of extents.
    fn arith(&mut self, op: crate::ir::PrimOp, a: Dim, b: Dim) -> Dim {
        dim_arith(self.store, op, a, b)
    }

    /// The attributes of the call with some replaced.
    fn with(&mut self, changes: &[(&str, AttrValue)]) -> Option<AttrsId> {
        self.attrs.map(|attrs| with_attrs(self.store, attrs, changes))
    }
}

/// Makes a call with the type that the rule of its operator finds.
pub fn typed_call(store: &mut Store, name: &str, args: &[ExprId], attrs: Option<AttrsId>) -> Result<ExprId, String> {
    let op = lookup_relax(name).ok_or_else(|| format!("there is no operator {name}"))?;
    let any = store.ty(Type::Any);
    let types: Vec<TypeId> = args.iter().map(|arg| store.checked_type(*arg).unwrap_or(any)).collect();
    let ty = match info(op).relax.as_ref().and_then(|row| row.deduce.map(|rule| (row.name, rule))) {
        Some((name, rule)) => rule(&mut Deduce { store, op: name, args, types: &types, attrs, ty_args: &[], bound: &|_| None })?,
        None => any,
    };
    let callee = store.add(Expr::Op(op));
    let args = store.list(args);
    let info = store.add_call_info(attrs, &[]);
    Ok(store.add_typed(Expr::Call { callee, args, info }, Some(ty)))
}

/// Gives no argument a gradient.
pub fn none(cx: &mut Gradient<'_>) -> Result<Vec<Option<ExprId>>, String> {
    Ok(vec![None; cx.args.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_broadcast_is_summed_up() {
        let store = &mut Store::new();
        let mut var = |name: &str, dims: &[i64]| {
            let dims: Vec<Dim> = dims.iter().map(|&value| Dim::Int { value, bits: 64 }).collect();
            let ty = store.tensor_type(&dims, DType::F32);
            let var = store.relax_var(name, Some(ty), false);
            store.use_var(var)
        };
        let (x, y, z, out) = (var("x", &[2, 3]), var("y", &[3]), var("z", &[2, 3]), var("out", &[2, 3]));
        let args = [x, y];
        let mut cx = Gradient { store, result: z, args: &args, attrs: None, out, early: Vec::new() };
        let found = element::add(&mut cx).expect("a gradient");
        assert_eq!(found[0], Some(out));
        let summed = found[1].expect("a gradient");
        assert_eq!(store.checked_type(summed), store.checked_type(y));
    }
}
