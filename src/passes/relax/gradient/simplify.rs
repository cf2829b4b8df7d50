//! Simplifies transposed products (TVM: `src/relax/transform/gradient_simplifier.cc`).

use super::super::calls::{args, op_name};
use crate::build::{BlockMutator, Mutation};
use crate::ir::{Binding, Expr, ExprId, Store};
use crate::ops::build::ints;
use crate::ops::relax::gradient::typed_call;

/// Replaces `permute_dims(permute_dims(a))` by `a`, and `permute_dims(matmul(a, b))` by a product of transposed
/// factors, where the last two axes are exchanged.
pub(super) struct Simplify;

impl BlockMutator for Simplify {
    fn rule(&self) -> &'static str {
        "transposed product"
    }

    fn bind(&mut self, store: &mut Store, cx: &mut Mutation, pre: Binding, value: ExprId) {
        let value = match self.simplified(store, cx, value) {
            Some(Simpler::Is(other)) => {
                cx.replace(store, pre.var, other);
                return;
            }
            Some(Simpler::Becomes(other)) => cx.builder.normalize(store, other),
            None => value,
        };
        cx.reemit(store, pre, value);
    }
}

enum Simpler {
    /// The variable is replaced by this.
    Is(ExprId),
    /// The value is replaced by this.
    Becomes(ExprId),
}

impl Simplify {
    fn simplified(&self, store: &mut Store, cx: &Mutation, value: ExprId) -> Option<Simpler> {
        if !is_transpose(store, value) {
            return None;
        }
        let arg = *args(store, value).first()?;
        let before = bound_call(store, cx, arg)?;
        let inputs = args(store, before);
        if is_transpose(store, before) {
            return inputs.first().filter(|input| matches!(store.expr(**input), Expr::Var(_))).map(|input| Simpler::Is(*input));
        }
        if op_name(store, before) != "matmul" {
            return None;
        }
        let [a, b] = inputs[..] else { return None };
        if rank(store, a)? == 1 || rank(store, b)? == 1 {
            return None;
        }
        let (a, b) = (transposed(store, cx, a)?, transposed(store, cx, b)?);
        let attrs = store.call(before)?.attrs;
        typed_call(store, "matmul", &[b, a], attrs).ok().map(Simpler::Becomes)
    }
}

fn rank(store: &Store, expr: ExprId) -> Option<usize> {
    store.rank(&store.tensor_info(store.checked_type(expr)?)?.extents)
}

/// Returns the call that a variable is bound to.
fn bound_call(store: &Store, cx: &Mutation, expr: ExprId) -> Option<ExprId> {
    let Expr::Var(var) = store.expr(expr) else { return None };
    cx.builder.lookup_binding(var).filter(|value| matches!(store.expr(*value), Expr::Call { .. }))
}

/// True if a call exchanges the last two axes and nothing else.
fn is_transpose(store: &Store, call: ExprId) -> bool {
    if op_name(store, call) != "permute_dims" {
        return false;
    }
    let Some(rank) = args(store, call).first().and_then(|arg| rank(store, *arg)).filter(|rank| *rank > 1) else { return false };
    match store.attr_ints(store.call(call).and_then(|call| call.attrs), "axes") {
        None => rank == 2,
        Some(axes) => axes == exchanged(rank),
    }
}

fn exchanged(rank: usize) -> Vec<i64> {
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    axes.swap(rank - 1, rank - 2);
    axes
}

/// Transposes a value, or undoes its transposition.
fn transposed(store: &mut Store, cx: &Mutation, expr: ExprId) -> Option<ExprId> {
    if let Some(before) = bound_call(store, cx, expr).filter(|before| is_transpose(store, *before)) {
        return args(store, before).first().copied();
    }
    let axes = ints(&exchanged(rank(store, expr)?));
    let schema = crate::ops::lookup_relax("permute_dims").and_then(|op| crate::ops::info(op).relax.as_ref())?.attrs?;
    let attrs = schema.complete(store, &[("axes", axes)]).ok()?;
    let attrs = store.attrs(attrs);
    typed_call(store, "permute_dims", &[expr], Some(attrs)).ok()
}
