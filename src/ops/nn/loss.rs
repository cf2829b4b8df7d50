//! Losses.

use super::compute::{around, input, values};
use crate::ir::DTypeCode;
use crate::ir::Tensor;
use crate::ops::kernel::{EvalError, KernelCx, write};
use crate::ops::relax::{deduce, gradient};
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, AttrsSchema, OpInfo, OpPattern};
use crate::ops::{RuleCx, RuleResult};

/// Attributes `relax.attrs.NLLLossAttrs`.
pub static RELAX_NLL_LOSS: AttrsSchema =
    schema("relax.attrs.NLLLossAttrs", &[field::text("reduction", "mean"), field::int("ignore_index", -100)]);

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("nn.cross_entropy", "The mean over the batch of the cross entropy between probabilities `x` and targets `y`.")
        .pattern(OpPattern::Opaque)
        .kernel(cross_entropy_kernel)
        .relay(relay(&["x", "y"], cross_entropy)),
    op("nn.cross_entropy_with_logits", "The mean over the batch of the cross entropy between log-probabilities and targets.")
        .pattern(OpPattern::Opaque)
        .kernel(cross_entropy_with_logits_kernel)
        .relay(relay(&["x", "y"], cross_entropy))
        .relax(
            relax(&[value("predictions"), value("labels")], deduce::nn::cross_entropy)
                .gradient(gradient::nn::cross_entropy_with_logits),
        ),
    op("nn.nll_loss", "The negative log-likelihood of the target classes, weighted by class; `ignore_index` is left out.")
        .pattern(OpPattern::OutEWiseFusable)
        .kernel(nll_loss_kernel)
        .relay(relay(&["predictions", "targets", "weights"], nll_loss).attrs(&schema(
            "relay.attrs.NLLLossAttrs",
            &[field::text("reduction", "mean"), field::required("ignore_index", AttrKind::Int)],
        )))
        .relax(
            relax(&[value("predictions"), value("targets"), value("weights").or_none()], deduce::nn::nll_loss)
                .attrs(&RELAX_NLL_LOSS)
                .gradient(gradient::nn::nll_loss),
        ),
];

/// TVM's `CrossEntropyRel`: a scalar.
fn cross_entropy(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((x, dtype)), Some((y, _))) = (cx.tensor(0), cx.tensor(1)) else { return Ok(false) };
    let fits = x.len() == 2 && y.len() == 2 && cx.may_equal(x[0], y[0]) && cx.may_equal(x[1], y[1]);
    if !fits {
        return Err(format!(
            "CrossEntropy: shapes of x and y is inconsistent, x shape = {}, y shape = {}",
            cx.show(&x),
            cx.show(&y)
        ));
    }
    cx.output_tensor(&[], dtype)
}

/// TVM's `NLLLossRel`.
fn nll_loss(cx: &mut RuleCx<'_>) -> RuleResult {
    let (Some((predictions, dtype)), Some((targets, target_dtype)), Some((weights, weight_dtype))) =
        (cx.tensor(0), cx.tensor(1), cx.tensor(2))
    else {
        return Ok(false);
    };
    if predictions.len() != targets.len() + 1 {
        return Err(format!(
            "NLLLossRel: predictions should be one dimension larger than targets,predictions shape = {}, targets shape \
             = {}",
            cx.show(&predictions),
            cx.show(&targets)
        ));
    }
    if weights.len() != 1 {
        return Err(format!(
            "NLLLossRel: weights should be a one dimension Tensor with its length the number of classes, but Tensor of \
             dimension {} were provided.",
            weights.len()
        ));
    }
    if predictions.len() < 2 || !cx.may_equal(predictions[1], weights[0]) {
        return Err(format!(
            "NLLLossRel: the second dimension of predictions should be the number of classes, which is the length of \
             weights, predictions shape = {}, weights shape = {}",
            cx.show(&predictions),
            cx.show(&weights)
        ));
    }
    if dtype != weight_dtype || !dtype.is_float() {
        return Err("NLLLossRel: predictions and weights should be of the same floating type.".into());
    }
    if target_dtype.code != DTypeCode::Int {
        return Err("NLLLossRel: targets should be of int type.".into());
    }
    let out = if cx.attr_text("reduction") == "none" { targets } else { Vec::new() };
    cx.output_tensor(&out, dtype)
}

/// In double precision, whatever the inputs are: the sums run over whole batches.
fn mean_entropy(inputs: &[Tensor], log: impl Fn(f64) -> f64) -> Result<Vec<Tensor>, EvalError> {
    let (data, targets) = (input(inputs, 0)?, input(inputs, 1)?);
    if data.shape != targets.shape || data.shape.is_empty() {
        return Err(EvalError::new(format!("shapes {:?} and {:?} differ", data.shape, targets.shape)));
    }
    let (x, y): (Vec<f64>, Vec<f64>) = (values(inputs, 0)?, values(inputs, 1)?);
    let sum: f64 = x.iter().zip(&y).map(|(x, y)| log(*x) * y).sum();
    Ok(vec![write(data.dtype, &[], &[-sum / data.shape[0] as f64])?])
}

fn cross_entropy_kernel(_: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    mean_entropy(inputs, f64::ln)
}

fn cross_entropy_with_logits_kernel(_: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    mean_entropy(inputs, |x| x)
}

/// TVM: `nll_loss` in `topi/nn.h`.
fn nll_loss_kernel(cx: &KernelCx<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (predictions, targets) = (input(inputs, 0)?, input(inputs, 1)?);
    if predictions.shape.len() < 2 || predictions.shape.len() != targets.shape.len() + 1 {
        return Err(EvalError::new("predictions need one axis more than targets"));
    }
    let (_, classes, after) = around(&predictions.shape, 1);
    let (x, weights): (Vec<f64>, Vec<f64>) = (values(inputs, 0)?, values(inputs, 2)?);
    let classes_of: Vec<i64> = values(inputs, 1)?;
    let ignored = cx.int("ignore_index")?;
    if weights.len() != classes || x.len() != classes_of.len() * classes {
        return Err(EvalError::new("predictions, targets and weights do not fit each other"));
    }
    let mut losses = Vec::with_capacity(classes_of.len());
    let mut weight_sum = 0.0;
    for (i, &class) in classes_of.iter().enumerate() {
        if class == ignored {
            losses.push(0.0);
            continue;
        }
        let Some(class) = usize::try_from(class).ok().filter(|c| *c < classes) else {
            return Err(EvalError::new(format!("{class} is none of {classes} classes")));
        };
        losses.push(-x[(i / after * classes + class) * after + i % after] * weights[class]);
        weight_sum += weights[class];
    }
    let sum: f64 = losses.iter().sum();
    let out = match cx.text("reduction") {
        "none" => write(predictions.dtype, &targets.shape, &losses)?,
        "sum" => write(predictions.dtype, &[], &[sum])?,
        _ => write(predictions.dtype, &[], &[sum / weight_sum])?,
    };
    Ok(vec![out])
}
