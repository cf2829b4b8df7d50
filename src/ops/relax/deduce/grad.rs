//! Gradients (TVM: src/relax/op/tensor/grad.cc): each has the type of the value that it is the gradient of.

use super::Deduce;
use crate::ir::{Expr, TypeId};

/// `grad.start_checkpoint`, `grad.end_checkpoint`: a variable as it is.
pub fn checkpoint(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let is_var = cx.args.first().is_some_and(|arg| matches!(cx.store.expr(*arg), Expr::Var(_)));
    if is_var { Ok(cx.ty(0)) } else { Err(format!("The argument of relax.op.{} should be a Var.", cx.op)) }
}

/// `grad.nll_loss_backward`, `grad.max_pool2d_backward`, `grad.avg_pool2d_backward`, `grad.take_backward`: the type of
/// the second argument.
pub fn backward(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    Ok(cx.ty(1))
}
