//! Gradients (TVM: src/relax/op/tensor/grad.cc): each has the type of the value that it is the gradient of.

use super::Deduce;
use crate::ir::TypeId;

/// `grad.nll_loss_backward`, `grad.max_pool2d_backward`, `grad.avg_pool2d_backward`, `grad.take_backward`: the type of
/// the second argument.
pub fn backward(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.tensor(1)?;
    Ok(cx.ty(1))
}
