//! The values that indices take while the threads of a warp run (`PatternCollector` in `memhammer_lower_auto_copy.cc`).

use crate::ir::{Id, Name, PrimExpr, PrimId, PrimOp, Store, Symbol};
use rustc_hash::FxHashMap;

/// The numbers of values of variables; none, where that is no number.
pub(super) type Counts = FxHashMap<Id<Symbol>, Option<i64>>;

/// A digit of an index: `extent` values, each `scale` greater than the one before.
#[derive(Clone, Copy)]
struct Digit {
    extent: i64,
    scale: i64,
}

/// The most values for which bank conflicts are counted.
const MOST: i64 = 1 << 16;

/// The most nodes of an index that are visited; nodes with several uses are visited as often, as in TVM.
pub(super) const MOST_STEPS: u32 = 1 << 20;

/// A visit of an expression under way.
enum Step {
    Enter(PrimId),
    Leave(PrimOp, Option<i64>),
}

/// Reads indices as digits. As in TVM, what one index leaves behind is there for the next one.
#[derive(Default)]
struct Reader {
    found: Vec<Vec<Digit>>,
    /// True if an index was no sequence of digits.
    failed: bool,
}

/// Returns the values of each index, none for one that is no sequence of digits. The error says why TVM fails.
pub(super) fn values_of(store: &Store, indices: &[PrimId], counts: &Counts) -> Result<Vec<Vec<i64>>, String> {
    let mut reader = Reader::default();
    let mut all = Vec::new();
    for index in indices {
        reader.read(store, *index, counts)?;
        let values = match (reader.failed, &reader.found[..]) {
            (false, [digits]) => run_through(digits)?,
            _ => {
                all.push(Vec::new());
                continue;
            }
        };
        reader.found.clear();
        all.push(values);
    }
    Ok(all)
}

fn unknown() -> String {
    "an index into shared memory has a factor, a divisor or an extent that is no number or too large to count bank conflicts \
     with"
        .to_owned()
}

/// Returns the values of digits, the last of which changes first.
fn run_through(digits: &[Digit]) -> Result<Vec<i64>, String> {
    let mut count = 1_i64;
    for digit in digits {
        count = count.checked_mul(digit.extent).filter(|count| *count <= MOST).ok_or_else(unknown)?;
    }
    let mut values = Vec::new();
    for thread in 0..count {
        let (mut value, mut rest) = (0_i64, thread);
        for digit in digits.iter().rev() {
            let (quotient, remainder) = rest.checked_div(digit.extent).zip(rest.checked_rem(digit.extent)).ok_or_else(unknown)?;
            let part = remainder.checked_mul(digit.scale).and_then(|part| value.checked_add(part));
            value = part.ok_or_else(unknown)?;
            rest = quotient;
        }
        values.push(value);
    }
    Ok(values)
}

impl Reader {
    fn read(&mut self, store: &Store, index: PrimId, counts: &Counts) -> Result<(), String> {
        let mut steps = vec![Step::Enter(index)];
        let mut left = MOST_STEPS;
        while let Some(step) = steps.pop() {
            left = left.checked_sub(1).ok_or_else(unknown)?;
            let id = match step {
                Step::Enter(id) => id,
                Step::Leave(op, operand) => {
                    if !self.failed {
                        self.apply(op, operand)?;
                    }
                    continue;
                }
            };
            let node = store.prim_of_id(id);
            match *node {
                PrimExpr::Var(var) if !self.failed => {
                    let extent = counts.get(&var).ok_or_else(|| no_loop(store, store.symbol(var).name))?.ok_or_else(unknown)?;
                    let digits = if extent > 1 { vec![Digit { extent, scale: 1 }] } else { Vec::new() };
                    self.found.push(digits);
                }
                PrimExpr::Load { buffer, .. } | PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) if !self.failed => {
                    return Err(no_loop(store, store.buffer(buffer).name));
                }
                PrimExpr::Binary { op: op @ (PrimOp::Add | PrimOp::FloorDiv | PrimOp::FloorMod | PrimOp::Mul), b, .. } => {
                    steps.push(Step::Leave(op, store.as_prim_int(b)));
                }
                _ => {}
            }
            let first = steps.len();
            node.for_each_child(&mut |child| steps.push(Step::Enter(child)));
            steps[first..].reverse();
        }
        Ok(())
    }

    fn apply(&mut self, op: PrimOp, operand: Option<i64>) -> Result<(), String> {
        let missing = || {
            "TVM reads an operand that is not there: an index into shared memory has an added number, or a number is divided"
                .to_owned()
        };
        let last = self.found.pop().ok_or_else(missing)?;
        if op == PrimOp::Add {
            let first = self.found.pop().ok_or_else(missing)?;
            self.found.push(merged(first.into_iter().chain(last).collect()));
            return Ok(());
        }
        let operand = operand.ok_or_else(unknown)?;
        let mut digits = Vec::new();
        for digit in last {
            digits.extend(match op {
                PrimOp::Mul => {
                    let scale = digit.scale.checked_mul(operand).ok_or_else(unknown)?;
                    Some(Digit { scale, ..digit })
                }
                PrimOp::FloorDiv => self.quotient(digit, operand)?,
                _ => self.remainder(digit, operand)?,
            });
        }
        self.found.push(digits);
        Ok(())
    }

    fn quotient(&mut self, digit: Digit, divisor: i64) -> Result<Option<Digit>, String> {
        let all = digit.scale.checked_mul(digit.extent).ok_or_else(unknown)?;
        let value = if digit.scale >= divisor { digit.scale } else { all };
        if digit.scale < divisor && all <= divisor {
            return Ok(None);
        }
        let rest = value.checked_rem(divisor).ok_or_else(unknown)?;
        let quotient = value.checked_div(divisor).ok_or_else(unknown)?;
        self.failed |= rest != 0;
        Ok((rest == 0).then_some(match digit.scale >= divisor {
            true => Digit { scale: quotient, ..digit },
            false => Digit { extent: quotient, scale: 1 },
        }))
    }

    fn remainder(&mut self, digit: Digit, divisor: i64) -> Result<Option<Digit>, String> {
        if digit.scale >= divisor {
            return Ok(None);
        }
        let rest = divisor.checked_rem(digit.scale).ok_or_else(unknown)?;
        let quotient = divisor.checked_div(digit.scale).ok_or_else(unknown)?;
        self.failed |= rest != 0;
        Ok((rest == 0).then_some(Digit { extent: digit.extent.min(quotient), ..digit }))
    }
}

/// Joins digits of which one goes on where the other ends. As in TVM, only the first one and what joins it stay.
fn merged(digits: Vec<Digit>) -> Vec<Digit> {
    let Some(mut all) = digits.first().copied() else { return digits };
    for digit in digits {
        if digit.extent.checked_mul(digit.scale) == Some(all.scale) {
            all = Digit { extent: all.extent.saturating_mul(digit.extent), scale: digit.scale };
        }
    }
    vec![all]
}

fn no_loop(store: &Store, name: Id<Name>) -> String {
    format!("key is not in Map: an index into shared memory depends on {}, which is no loop", store.str(name))
}
