//! `qnn.requantize`, by itself and inside of other operators.
//!
//! Source: `src/relay/qnn/op/requantize.cc`, `requantize_config.h`.

use super::super::support::emit::{Emit, known};
use super::super::support::expand_to_axes;
use super::super::support::legalizer::Site;
use super::super::support::target::Rules;
use super::elementwise::{Scale, narrowed};
use super::fixed_point::{Factors, to_nearest, upward};
use crate::ir::{DType, Dim, ExprId};
use crate::ops::build::{constant, tensor};

/// The way from one scale to another.
pub(super) struct Change<'a> {
    pub from: Scale,
    pub to: Scale,
    /// The shape of the tensor.
    pub shape: &'a [Dim],
    /// The axis of the channels, if there is a scale for each; -1 is the last one.
    pub axis: i64,
    /// The type of the result.
    pub out: DType,
    /// The attributes `rounding` and `compute_dtype`; empty to take the default of the target.
    pub rounding: &'a str,
    pub compute: &'a str,
}

/// Replaces a call of `qnn.requantize`.
pub(super) fn call(emit: &mut Emit<'_>, site: &Site<'_>) -> Result<ExprId, String> {
    let [data, scale, zero_point, out_scale, out_zero] = site.inputs()?;
    let (shape, out) = (site.tensor(emit.store, 0)?.0, site.dtype(emit.store, 5)?);
    let text = |name: &str| site.text(emit.store, name).to_owned();
    let (rounding, compute) = (text("rounding"), text("compute_dtype"));
    let axis = emit.store.attr_int(site.attrs, "axis").unwrap_or(-1);
    let change = Change {
        from: Scale { scale, zero_point },
        to: Scale { scale: out_scale, zero_point: out_zero },
        shape: &shape,
        axis,
        out,
        rounding: &rounding,
        compute: &compute,
    };
    requantize(emit, data, &change)
}

/// Converts integers from one scale to another.
pub(super) fn requantize(emit: &mut Emit<'_>, data: ExprId, change: &Change<'_>) -> Result<ExprId, String> {
    let out_scale = emit.value(change.to.scale).ok_or("Expr must be a constant expr")?;
    if out_scale == 0.0 {
        return Err("QNN requantize output scale can not be equal to 0.0".to_owned());
    }
    let is_upward = match change.rounding {
        "" | "None" | "UPWARD" => true,
        "TONEAREST" => false,
        _ => return Err("QNN requantize supports two rounding modes - UPWARD and TONEAREST".to_owned()),
    };
    let is_fast = emit.target.is_some_and(|target| target.rules == Rules::Cpu && target.has("sse4.1"));
    let float = match change.compute {
        "" | "None" => is_fast.then_some(DType::F32),
        "int64" => None,
        "float32" => Some(DType::F32),
        "float64" => Some(DType::F64),
        _ => {
            let known = "\"int64\", \"float32\" and \"float64\"";
            return Err(format!("QNN requantize supports three compute_dtype variants - {known}"));
        }
    };
    let inner = float.unwrap_or(DType::I32);
    let rank = change.shape.len();
    let mut x = emit.cast(data, inner);
    if !emit.is_int(change.from.zero_point, 0) {
        let zero = over_axis(emit, change.from.zero_point, rank, change.axis);
        let zero = emit.cast(zero, inner);
        x = emit.call("subtract", &[x, zero]);
    }
    let scales = emit.values(change.from.scale)?;
    let factors: Vec<f64> = scales.iter().map(|scale| scale / out_scale).collect();
    let is_one = constant(emit.store, change.from.scale).is_some_and(|scale| scale.is_scalar());
    let axis = (!is_one).then(|| if change.axis < 0 { rank.saturating_sub(1) } else { change.axis as usize });
    let factors = Factors { factors: &factors, axis };
    if !(is_one && emit.same_scalar(change.from.scale, change.to.scale)) {
        x = match float {
            Some(float) => in_floats(emit, x, &factors, rank, float),
            None if is_upward => upward(emit, x, &factors),
            None => to_nearest(emit, x, &factors, &known(change.shape)?),
        };
    }
    if !emit.is_int(change.to.zero_point, 0) {
        let zero = emit.cast(change.to.zero_point, inner);
        x = if float.is_some() { emit.call("add", &[x, zero]) } else { emit.call("add", &[zero, x]) };
    }
    if let Some(float) = float {
        x = if is_upward { round_up(emit, x, float, is_fast) } else { round(emit, x, float, is_fast) };
        x = emit.cast(x, DType::I32);
    }
    if change.out == DType::I32 { Ok(x) } else { narrowed(emit, x, change.out) }
}

/// Makes a zero point of a channel each broadcast along its axis.
pub(super) fn over_axis(emit: &mut Emit<'_>, zero: ExprId, rank: usize, axis: i64) -> ExprId {
    let axis = if axis < 0 { (rank as i64 + axis).max(0) } else { axis } as usize;
    let flat = emit.reshape(zero, &[-1]);
    expand_to_axes(emit.store, flat, rank.max(axis + 1), &[axis])
}

fn in_floats(emit: &mut Emit<'_>, x: ExprId, by: &Factors<'_>, rank: usize, float: DType) -> ExprId {
    let Some(axis) = by.axis else {
        let factor = emit.number(float, by.factors[0]);
        return emit.call("multiply", &[factor, x]);
    };
    let factors = tensor(emit.store, float, &[by.factors.len() as i64], by.factors);
    let factors = expand_to_axes(emit.store, factors, rank, &[axis]);
    emit.call("multiply", &[x, factors])
}

/// Integers of the width of a float.
fn integer(float: DType) -> DType {
    if float == DType::F64 { DType::I64 } else { DType::I32 }
}

/// Rounds to the nearest whole number, in one operator where the processor has such an instruction.
fn round(emit: &mut Emit<'_>, x: ExprId, float: DType, is_fast: bool) -> ExprId {
    if is_fast {
        return emit.call("round", &[x]);
    }
    let [half, zero, one, minus] = [0.5, 0.0, 1.0, -1.0].map(|value| emit.number(float, value));
    let is_negative = emit.call("less", &[x, zero]);
    let sign = emit.call("where", &[is_negative, minus, one]);
    let bias = emit.call("multiply", &[half, sign]);
    let biased = emit.call("add", &[x, bias]);
    let positive = emit.call("multiply", &[biased, sign]);
    let whole = emit.cast(positive, integer(float));
    let whole = emit.cast(whole, float);
    let rounded = emit.call("multiply", &[whole, sign]);
    if_finite(emit, x, rounded)
}

/// Rounds to the nearest whole number, halves upwards.
fn round_up(emit: &mut Emit<'_>, x: ExprId, float: DType, is_fast: bool) -> ExprId {
    let half = emit.number(float, 0.5);
    let biased = emit.call("add", &[x, half]);
    if is_fast {
        return emit.call("floor", &[biased]);
    }
    let [zero, one] = [0.0, 1.0].map(|value| emit.number(float, value));
    let whole = emit.cast(biased, integer(float));
    let whole = emit.cast(whole, float);
    let is_whole = emit.call("equal", &[biased, whole]);
    let is_positive = emit.call("greater_equal", &[biased, zero]);
    let keeps = emit.call("logical_or", &[is_whole, is_positive]);
    let below = emit.call("subtract", &[whole, one]);
    let rounded = emit.call("where", &[keeps, whole, below]);
    if_finite(emit, x, rounded)
}

fn if_finite(emit: &mut Emit<'_>, x: ExprId, rounded: ExprId) -> ExprId {
    let is_finite = emit.call("isfinite", &[x]);
    emit.call("where", &[is_finite, rounded, x])
}
