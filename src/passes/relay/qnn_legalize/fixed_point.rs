//! Multiplication with fixed point numbers.
//!
//! Source: `src/relay/qnn/utils.cc`.

use super::super::support::emit::Emit;
use super::super::support::expand_to_axes;
use crate::ir::{AttrValue, DType, ExprId};
use crate::ops::build::{int_tensor, ints};
use crate::ops::qnn::FixedPoint;

/// The factors of a tensor: one for all elements, or one for each index of an axis.
pub struct Factors<'a> {
    /// The factors.
    pub factors: &'a [f64],
    /// The axis; `None` if there is one factor for all.
    pub axis: Option<usize>,
}

impl Factors<'_> {
    /// Makes a constant of a number for each factor, as it broadcasts to a tensor of this rank.
    fn constant(&self, emit: &mut Emit<'_>, dtype: DType, values: &[i64], rank: usize) -> ExprId {
        let Some(axis) = self.axis else { return int_tensor(emit.store, dtype, &[], values) };
        let vector = int_tensor(emit.store, dtype, &[values.len() as i64], values);
        expand_to_axes(emit.store, vector, rank, &[axis])
    }
}

/// Multiplies and rounds halves upwards, in one operator.
pub(super) fn upward(emit: &mut Emit<'_>, x: ExprId, by: &Factors<'_>) -> ExprId {
    let points: Vec<FixedPoint> = by.factors.iter().map(|factor| FixedPoint::new(*factor)).collect();
    let Some(axis) = by.axis else { return multiply(emit, x, by.factors[0]) };
    let vector = |emit: &mut Emit<'_>, of: &dyn Fn(&FixedPoint) -> i64| {
        let values: Vec<i64> = points.iter().map(of).collect();
        (int_tensor(emit.store, DType::I32, &[values.len() as i64], &values), values.iter().any(|value| *value != 0))
    };
    let (factors, _) = vector(emit, &|point| point.multiplier);
    let (left, has_left) = vector(emit, &|point| i64::from(point.shift.max(0)));
    let (right, has_right) = vector(emit, &|point| i64::from((-point.shift).max(0)));
    let written = [
        ("is_lshift_required", AttrValue::Bool(has_left)),
        ("is_rshift_required", AttrValue::Bool(has_right)),
        ("axes", ints(&[axis as i64])),
    ];
    emit.with("fixed_point_multiply_per_axis", &[x, factors, left, right], &written)
}

/// Multiplies all elements with one number and rounds halves upwards.
pub fn multiply(emit: &mut Emit<'_>, x: ExprId, factor: f64) -> ExprId {
    let FixedPoint { multiplier, shift } = FixedPoint::new(factor);
    let written = [("multiplier", AttrValue::int(multiplier)), ("shift", AttrValue::int(i64::from(shift)))];
    emit.with("fixed_point_multiply", &[x], &written)
}

/// Multiplies in 64 bits and rounds halves away from zero.
pub fn to_nearest(emit: &mut Emit<'_>, x: ExprId, by: &Factors<'_>, shape: &[i64]) -> ExprId {
    const WIDE: DType = DType::I64;
    let points: Vec<FixedPoint> = by.factors.iter().map(|factor| FixedPoint::new(*factor)).collect();
    let numbers = |of: &dyn Fn(&FixedPoint) -> i64| -> Vec<i64> { points.iter().map(of).collect() };
    let rank = shape.len();
    let mut x = emit.cast(x, WIDE);
    let left = numbers(&|point| i64::from(point.shift.max(0)));
    if left.iter().any(|shift| *shift != 0) {
        let left = by.constant(emit, WIDE, &left, rank);
        x = emit.call("left_shift", &[x, left]);
    }
    let factors = by.constant(emit, WIDE, &numbers(&|point| point.multiplier), rank);
    x = emit.call("multiply", &[x, factors]);
    let right = numbers(&|point| i64::from((-point.shift).max(0)) + 31);
    let mut halves = |less: i64| {
        let halves: Vec<i64> = right.iter().map(|shift| 1i64.wrapping_shl(*shift as u32 - 1).wrapping_sub(less)).collect();
        let half = by.constant(emit, WIDE, &halves, rank);
        match by.axis {
            None => emit.filled(Some(half), shape, WIDE),
            Some(_) => emit.with("broadcast_to", &[half], &[("shape", ints(shape)), ("dtype", AttrValue::DType(None))]),
        }
    };
    let (above, below) = (halves(0), halves(1));
    let zero = emit.filled(None, shape, WIDE);
    let is_above = emit.call("greater_equal", &[x, zero]);
    let half = emit.call("where", &[is_above, above, below]);
    x = emit.call("add", &[x, half]);
    let right = by.constant(emit, WIDE, &right, rank);
    x = emit.call("right_shift", &[x, right]);
    emit.cast(x, DType::I32)
}
