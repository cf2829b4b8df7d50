//! Compiles several operators to one tensor program, as TVM's `emit_te` does for a function that calls several of TOPI.

use super::find;
use super::lower::{Lower, Parts, Refused};
use super::te::Tensor;
use crate::build::BlockBuilder;
use crate::ir::{Expr, ExprId, Store, VarId};
use crate::ops;
use rustc_hash::FxHashMap;

impl BlockBuilder {
    /// Makes a call of one tensor program that computes `expr`, a nest of operator calls over `params`, each of which
    /// stands for a tensor of the caller. The parameters of the program are in that order, as in TVM's
    /// `create_prim_func`. The error is the reason why there is no such program.
    pub fn compose_te(
        &mut self,
        store: &mut Store,
        expr: ExprId,
        params: &[(VarId, ExprId)],
        hint: &'static str,
    ) -> Result<ExprId, String> {
        let mut scratch = BlockBuilder::new(self.module());
        let vars: Vec<VarId> = params.iter().map(|(var, _)| *var).collect();
        scratch.begin_scope(store, &vars);
        scratch.begin_block(false);
        let result = scratch.normalize_operand(store, expr);
        let bindings = scratch.end_block();
        scratch.begin_block(false);
        if let Some(found) = scratch.take_errors().into_iter().next() {
            return Err(found.message);
        }
        let Some(ty) = store.checked_type(result) else { return Err("what is computed has no type".to_owned()) };
        let scalars = FxHashMap::default();
        let mut lower = Lower::new(store, &mut scratch, &scalars, ("", hint), result, ty);
        let mut known: FxHashMap<VarId, Tensor> = FxHashMap::default();
        for &(var, arg) in params {
            known.insert(var, lower.tensor_of(arg).map_err(|refused| why("an argument", refused))?);
        }
        lower.parts = Some(Parts { known, last: Vec::new() });
        let mut tuples: FxHashMap<VarId, Vec<Tensor>> = FxHashMap::default();
        for binding in &bindings {
            let outs = match lower.te.store.expr(binding.value) {
                Expr::TupleGetItem { tuple, index } => match lower.te.store.expr(tuple) {
                    Expr::Var(var) => tuples.get(&var).and_then(|outs| outs.get(index as usize)).map(|out| vec![*out]),
                    _ => None,
                },
                _ => Some(part(&mut lower, binding.value)?),
            };
            let outs = outs.ok_or("what is computed of a tuple cannot be a part of a tensor program")?;
            if let (Some(parts), [one]) = (&mut lower.parts, &outs[..]) {
                parts.known.insert(binding.var, *one);
            }
            tuples.insert(binding.var, outs);
        }
        let leaves: Vec<ExprId> = match lower.te.store.expr(result) {
            Expr::Tuple(fields) => lower.te.store.items(fields).collect(),
            _ => vec![result],
        };
        let mut outs = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            let Expr::Var(var) = lower.te.store.expr(leaf) else {
                return Err("what is computed is no result of an operator".to_owned());
            };
            outs.extend(tuples.get(&var).ok_or("what is computed is no result of an operator")?);
        }
        lower.parts = None;
        lower.builder = self;
        lower.finish_as(hint, &outs).map_err(|refused| why("the program", refused))
    }
}

fn why(what: &str, refused: Refused) -> String {
    match refused {
        Refused::Leave => format!("{what} cannot be lowered: shapes and element types have to be known"),
        Refused::Error(message) => message,
    }
}

/// Returns the tensors that one call computes in the current program.
fn part(lower: &mut Lower, call: ExprId) -> Result<Vec<Tensor>, String> {
    let store = &*lower.te.store;
    let Some(row) = store.called_op(call).and_then(|op| ops::info(op).relax.as_ref()) else {
        return Err("a tensor program is made of calls of operators".to_owned());
    };
    let Some(rule) = find(row.name) else { return Err(format!("R.{} has no tensor-expression form", row.name)) };
    let Some(ty) = store.checked_type(call) else { return Err(format!("R.{} has no type", row.name)) };
    lower.attrs = store.call(call).and_then(|call| call.attrs);
    lower.args = ops::build::args(lower.te.store, call);
    (lower.op, lower.call, lower.ty) = (rule.op, call, ty);
    if let Some(parts) = &mut lower.parts {
        parts.last.clear();
    }
    (rule.lower)(lower).map_err(|refused| why(&format!("R.{}", row.name), refused))?;
    let outs = lower.parts.as_mut().map(|parts| std::mem::take(&mut parts.last)).unwrap_or_default();
    // Some operators are expressed by others, each of which is a program of its own.
    if outs.is_empty() { Err(format!("R.{} cannot be a part of a larger tensor program", row.name)) } else { Ok(outs) }
}
