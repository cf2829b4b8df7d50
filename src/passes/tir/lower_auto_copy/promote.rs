//! Shapes and indices of a stage for what a copy loads: only the digits of an index that loops move become axes
//! (`IndexPatternFinder` in `memhammer_intermediate_stage.cc`).

use super::nest::with_number;
use super::patterns::MOST_STEPS;
use crate::ir::{DType, Id, PrimExpr, PrimId, PrimOp, Store, Symbol};
use crate::tir::binary;

/// The extents and indices of a stage, axis by axis.
pub(super) struct Promoted {
    pub(super) shape: Vec<PrimId>,
    pub(super) indices: Vec<PrimId>,
}

/// A visit of an expression under way.
enum Step {
    Enter(PrimId),
    /// The operation around what was visited ends.
    Leave,
}

/// Returns a shape for what an access loads while some variables run through `ranges`, and the place of an element in it.
/// Nothing where an index is no sum of digits.
pub(super) fn promoted(
    store: &mut Store,
    indices: &[PrimId],
    ranges: &[(Id<Symbol>, (PrimId, PrimId))],
) -> Result<Option<Promoted>, String> {
    let mut all = Promoted { shape: Vec::new(), indices: Vec::new() };
    for index in indices {
        let Some(digits) = digits_of(store, *index, ranges)? else { return Ok(None) };
        let (mut extent, mut place) = (store.prim_int(1, DType::I32), store.prim_int(0, DType::I32));
        for (count, _) in &digits {
            extent = with_number(store, PrimOp::Mul, extent, *count);
        }
        for (count, digit) in digits {
            place = with_number(store, PrimOp::Mul, place, count);
            place = binary(store, PrimOp::Add, place, digit);
        }
        all.shape.push(extent);
        all.indices.push(place);
    }
    Ok(Some(all).filter(|all| !all.shape.is_empty()))
}

/// Returns the digits of an index, each with the number of its values, in the order in which they stand in it.
fn digits_of(
    store: &mut Store,
    index: PrimId,
    ranges: &[(Id<Symbol>, (PrimId, PrimId))],
) -> Result<Option<Vec<(i64, PrimId)>>, String> {
    let mut steps = vec![Step::Enter(index)];
    let mut around: Vec<(PrimOp, i64)> = Vec::new();
    let mut digits = Vec::new();
    let mut left = MOST_STEPS;
    while let Some(step) = steps.pop() {
        left = left.checked_sub(1).ok_or_else(unknown)?;
        let Step::Enter(id) = step else {
            around.pop();
            continue;
        };
        let node = store.prim_rc(id);
        match *node {
            PrimExpr::Var(var) => {
                let Some((_, (_, extent))) = ranges.iter().find(|(other, _)| *other == var) else { continue };
                let extent = store.as_prim_int(*extent).ok_or_else(unknown)?;
                match digit(store, id, extent, &around)? {
                    Digit::Runs(values, digit) => digits.push((values, digit)),
                    Digit::Stays => {}
                    Digit::Irregular => return Ok(None),
                }
                continue;
            }
            PrimExpr::Binary { op: op @ (PrimOp::FloorDiv | PrimOp::FloorMod | PrimOp::Mul), b, .. } => {
                around.push((op, store.as_prim_int(b).ok_or_else(unknown)?));
                steps.push(Step::Leave);
            }
            _ => {}
        }
        let first = steps.len();
        node.for_each_child(&mut |child| steps.push(Step::Enter(child)));
        steps[first..].reverse();
    }
    Ok(Some(digits))
}

fn unknown() -> String {
    "an index of a copy has a factor, a divisor or an extent that is no number, where TVM requires one, or is too large"
        .to_owned()
}

/// The index that a variable gives under the operations around it.
enum Digit {
    /// A number of values, one after the other, of this expression.
    Runs(i64, PrimId),
    /// One value.
    Stays,
    /// Values that are not evenly spaced.
    Irregular,
}

/// Returns what a variable gives under operations, of which the last is the innermost.
fn digit(store: &mut Store, var: PrimId, values: i64, around: &[(PrimOp, i64)]) -> Result<Digit, String> {
    let (mut most, mut extent, mut index) = (values, values, var);
    let divides = |a: i64, b: i64| b.checked_rem(a).map(|rest| rest == 0).ok_or_else(unknown);
    for &(op, operand) in around.iter().rev() {
        match op {
            PrimOp::Mul => most = most.checked_mul(operand).ok_or_else(unknown)?,
            PrimOp::FloorDiv => {
                if !divides(operand, most)? && !divides(most, operand)? {
                    return Ok(Digit::Irregular);
                }
                most = most.checked_div(operand).ok_or_else(unknown)?;
                if extent > most {
                    extent = most.max(1);
                }
                if !divides(extent, most)? {
                    return Ok(Digit::Irregular);
                }
            }
            _ => {
                let step = most.checked_div(extent).ok_or_else(unknown)?;
                if divides(operand, step)? {
                    (extent, most) = (1, 0);
                } else if divides(step, operand)? {
                    extent = extent.min(operand.checked_div(step).ok_or_else(unknown)?).max(1);
                    most = extent.checked_mul(step).ok_or_else(unknown)?;
                } else {
                    return Ok(Digit::Irregular);
                }
            }
        }
        index = with_number(store, op, index, operand);
    }
    if extent <= 1 {
        return Ok(Digit::Stays);
    }
    if most % extent != 0 {
        return Err("Check failed: (max % extent == 0) is false: ".to_owned());
    }
    Ok(Digit::Runs(extent, with_number(store, PrimOp::FloorDiv, index, most / extent)))
}
