//! The backward bindings, from the last forward binding to the first.

use super::super::calls::{op_name, tuple};
use super::checkpoint::Checkpoints;
use crate::build::BlockBuilder;
use crate::ir::{AttrValue, Binding, DType, Expr, ExprId, Extents, Store, Type, TypeId, VarId};
use crate::ops;
use crate::ops::relax::gradient::{Gradient, typed_call};
use rustc_hash::FxHashMap;

/// The gradients so far: for each variable a use of the one that holds its gradient.
pub(super) struct Backward<'c> {
    pub(super) adjoints: FxHashMap<VarId, ExprId>,
    pub(super) checkpoints: &'c mut Checkpoints,
}

impl Backward<'_> {
    /// Begins with the target, whose gradient is one.
    pub(super) fn begin(&mut self, store: &mut Store, builder: &mut BlockBuilder, target: VarId) -> Result<(), String> {
        let ty = store.var_type(target).ok_or("the target has no type")?;
        let ones = filled(store, "ones", ty)?;
        let target = store.use_var(target);
        self.update(store, builder, target, ones)
    }

    pub(super) fn binding(&mut self, store: &mut Store, builder: &mut BlockBuilder, binding: Binding) -> Result<(), String> {
        let Some(&adjoint) = self.adjoints.get(&binding.var) else { return Ok(()) };
        match store.expr(binding.value) {
            Expr::Call { .. } => self.call(store, builder, binding, adjoint),
            Expr::Tuple(_) | Expr::Var(_) => self.update(store, builder, binding.value, adjoint),
            Expr::TupleGetItem { tuple, index } => self.item(store, builder, (tuple, index as usize), adjoint),
            Expr::Constant(_) => Ok(()),
            _ => Err("Now does not support the type of binding value".to_owned()),
        }
    }

    fn call(&mut self, store: &mut Store, builder: &mut BlockBuilder, binding: Binding, out: ExprId) -> Result<(), String> {
        let Some(op) = store.called_op(binding.value) else { return Ok(()) };
        let (result, args) = self.checkpoints.of(store, builder, binding)?;
        let row = ops::info(op).relax.as_ref().ok_or("the operator is not one of Relax")?;
        if row.name.starts_with("call_tir") {
            return Err(
                "Differentiation of call_tir op without registering corresponding gradient function is not supported yet."
                    .to_owned(),
            );
        }
        let rule = row
            .gradient
            .ok_or_else(|| format!("Attribute FPrimalGradient has not been registered for operator relax.{}", row.name))?;
        let attrs = store.call(binding.value).and_then(|call| call.attrs);
        let mut cx = Gradient { store, result, args: &args, attrs, out, early: Vec::new() };
        let partials = rule(&mut cx)?;
        for partial in std::mem::take(&mut cx.early) {
            builder.normalize(store, partial);
        }
        let inputs = super::super::calls::args(store, binding.value);
        if partials.len() != inputs.len() {
            return Err("partials number != inputs number".to_owned());
        }
        for (input, partial) in inputs.into_iter().zip(partials) {
            if let Some(partial) = partial {
                self.update(store, builder, input, partial)?;
            }
        }
        Ok(())
    }

    fn item(
        &mut self,
        store: &mut Store,
        builder: &mut BlockBuilder,
        (of, index): (ExprId, usize),
        adjoint: ExprId,
    ) -> Result<(), String> {
        let Expr::Var(var) = store.expr(of) else {
            return Err("The tuple field of a TupleGetItem is not bound to a Var".to_owned());
        };
        let Some(Type::Tuple(types)) = store.var_type(var).map(|ty| store.type_of_id(ty).clone()) else {
            return Err("The tuple field of a TupleGetItem must has a TupleType".to_owned());
        };
        let known = self.adjoints.get(&var).copied();
        let mut fields = Vec::with_capacity(types.len());
        for (at, ty) in types.iter().enumerate() {
            let field = match known {
                Some(known) => field_of(store, known, at, *ty),
                None if at == index => adjoint,
                None => zeros(store, *ty)?,
            };
            fields.push(if at == index && known.is_some() { added(store, field, adjoint)? } else { field });
        }
        let new = tuple(store, &fields);
        self.emit(store, builder, var, new);
        Ok(())
    }

    /// Adds to the gradients of the variables in an operand.
    pub(super) fn update(
        &mut self,
        store: &mut Store,
        builder: &mut BlockBuilder,
        expr: ExprId,
        partial: ExprId,
    ) -> Result<(), String> {
        let partial = builder.normalize(store, partial);
        let mut stack = vec![(expr, partial)];
        while let Some((expr, partial)) = stack.pop() {
            match store.expr(expr) {
                Expr::Tuple(fields) => {
                    let fields: Vec<ExprId> = store.items(fields).collect();
                    let ty = store.checked_type(partial);
                    let Some(Type::Tuple(types)) = ty.map(|ty| store.type_of_id(ty).clone()) else {
                        return Err("the gradient of a tuple is none".to_owned());
                    };
                    let first = stack.len();
                    for (at, (field, ty)) in fields.into_iter().zip(types.iter()).enumerate() {
                        stack.push((field, field_of(store, partial, at, *ty)));
                    }
                    stack[first..].reverse();
                }
                Expr::Var(var) => {
                    let partial = unfolded(store, partial);
                    let mut value = builder.normalize(store, partial);
                    if let Some(&known) = self.adjoints.get(&var) {
                        value = added(store, known, value)?;
                    }
                    self.emit(store, builder, var, value);
                }
                Expr::Constant(_) => {}
                _ => {
                    return Err(
                        "UpdateAdjoint: leaf type not supported. Currently Var and Constant leaves are supported.".to_owned()
                    );
                }
            }
        }
        Ok(())
    }

    fn emit(&mut self, store: &mut Store, builder: &mut BlockBuilder, var: VarId, value: ExprId) {
        let hint = format!("{}_adjoint", store.var_name(var));
        let adjoint = builder.emit(store, value, &hint);
        self.adjoints.insert(var, adjoint);
    }

    /// Outputs the gradient of a requested variable, visible behind the block.
    pub(super) fn output(&mut self, store: &mut Store, builder: &mut BlockBuilder, var: VarId) -> Result<ExprId, String> {
        if !self.adjoints.contains_key(&var) {
            let ty = store.var_type(var).ok_or("a variable has no type")?;
            let zeros = zeros(store, ty)?;
            let used = store.use_var(var);
            self.update(store, builder, used, zeros)?;
        }
        let hint = format!("{}_adjoint_out", store.var_name(var));
        let adjoint = self.adjoints.get(&var).copied().ok_or("a gradient is missing")?;
        Ok(builder.emit_output(store, adjoint, &hint))
    }
}

/// Returns a field of a tuple: the field itself for a tuple literal.
fn field_of(store: &mut Store, of: ExprId, at: usize, ty: TypeId) -> ExprId {
    match store.expr(of) {
        Expr::Tuple(fields) if at < fields.len() => store.item(fields, at),
        _ => store.add_typed(Expr::TupleGetItem { tuple: of, index: at as u32 }, Some(ty)),
    }
}

/// Replaces a tuple of all fields of another one, in order, by that one. Types nest as deep as the parser's limit on brackets.
fn unfolded(store: &mut Store, expr: ExprId) -> ExprId {
    let Expr::Tuple(fields) = store.expr(expr) else { return expr };
    let old: Vec<ExprId> = store.items(fields).collect();
    let new: Vec<ExprId> = old.iter().map(|field| unfolded(store, *field)).collect();
    let mut whole = None;
    for (at, field) in new.iter().enumerate() {
        match store.expr(*field) {
            Expr::TupleGetItem { tuple, index } if index as usize == at && whole.is_none_or(|whole| whole == tuple) => {
                whole = Some(tuple);
            }
            _ => return if old == new { expr } else { tuple(store, &new) },
        }
    }
    let count = whole.and_then(|whole| match store.type_of_id(store.checked_type(whole)?) {
        Type::Tuple(types) => Some(types.len()),
        _ => None,
    });
    match whole.filter(|_| count == Some(new.len())) {
        Some(whole) => whole,
        None if old == new => expr,
        None => tuple(store, &new),
    }
}

/// Adds two values of one type.
fn added(store: &mut Store, a: ExprId, b: ExprId) -> Result<ExprId, String> {
    let ty = store.checked_type(a).ok_or("a gradient has no type")?;
    let Type::Tuple(types) = store.type_of_id(ty).clone() else {
        if store.tensor_info(ty).is_none() {
            return Err("The leaf of adjoint should have Type and be a Tensor.".to_owned());
        }
        let sum = typed_call(store, "add", &[a, b], None)?;
        let node = store.expr(sum);
        return Ok(store.rebuild(sum, node, Some(ty)));
    };
    let mut fields = Vec::with_capacity(types.len());
    for (at, ty) in types.iter().enumerate() {
        let (x, y) = (field_of(store, a, at, *ty), field_of(store, b, at, *ty));
        fields.push(added(store, x, y)?);
    }
    Ok(tuple(store, &fields))
}

/// Makes zeros of a type.
fn zeros(store: &mut Store, ty: TypeId) -> Result<ExprId, String> {
    let Type::Tuple(types) = store.type_of_id(ty).clone() else { return filled(store, "zeros", ty) };
    let mut fields = Vec::with_capacity(types.len());
    for ty in types.iter() {
        fields.push(zeros(store, *ty)?);
    }
    Ok(tuple(store, &fields))
}

/// Makes `R.zeros(shape, dtype)` or `R.ones(shape, dtype)`.
fn filled(store: &mut Store, name: &str, ty: TypeId) -> Result<ExprId, String> {
    let info = store.tensor_info(ty).ok_or("The leaf of adjoint should be a Tensor.")?;
    let shape = match info.extents {
        Extents::Known(dims) => super::super::calls::shape(store, &dims),
        Extents::Var(var) => store.use_var(var),
        _ => return Err("Missing shape when building zeros tuple.".to_owned()),
    };
    let dtype: Option<DType> = info.dtype;
    let schema = ops::lookup_relax(name).and_then(|op| ops::info(op).relax.as_ref()).and_then(|row| row.attrs);
    let attrs = schema.and_then(|schema| schema.complete(store, &[("dtype", AttrValue::DType(dtype))]).ok());
    let attrs = attrs.map(|attrs| store.attrs(attrs));
    typed_call(store, name, &[shape], attrs)
}

/// True if a call marks the begin or end of a recomputed part.
pub(super) fn is_checkpoint(store: &Store, value: ExprId) -> bool {
    ["grad.start_checkpoint", "grad.end_checkpoint"].contains(&op_name(store, value))
}
