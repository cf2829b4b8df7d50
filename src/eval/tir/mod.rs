//! Running tensor programs (TVM's `PrimFunc`): what `call_tir` computes.
//!
//! A program is first made into a list of steps over numbered registers, with jumps for loops and conditions. So the
//! nesting of statements and expressions costs no call stack, and what a step means is decided once and not in every round
//! of a loop. Expressions have no effects: both values of a choice are computed, and an element beyond the end of
//! a buffer reads as zero, which a choice then does not take. A store beyond the end is an error.
//!
//! Programs that are already scheduled for other hardware (threads, vectors), call other functions, or match parts of
//! buffers are not run. Numbers are rounded to their type after each operation; the functions of `math.h` are computed in
//! double precision, so their last digit may differ from what TVM's LLVM code gives.

mod compile;

use super::EvalFailure;
use crate::ir::{DType, DTypeCode, Id, PrimFunc, PrimId, PrimOp, Store, Symbol, Tensor};
use crate::ops::EvalError;
use crate::ops::kernel::{count, float_to_i64, read, round_to, write};
use compile::{compile, compile_expr};

/// Where a number is kept.
type Reg = u32;

/// A number in a register.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Num {
    Int(i64),
    Float(f64),
}

impl Num {
    fn int(self) -> i64 {
        match self {
            Num::Int(value) => value,
            Num::Float(value) => float_to_i64(value),
        }
    }

    fn float(self) -> f64 {
        match self {
            Num::Int(value) => value as f64,
            Num::Float(value) => value,
        }
    }

    fn holds(self) -> bool {
        self != Num::Int(0) && self != Num::Float(0.0)
    }

    /// The number as this type has it.
    fn fit(self, dtype: DType) -> Num {
        if dtype.is_float() {
            return Num::Float(match dtype.bits {
                32 => f64::from(self.float() as f32),
                _ => round_to(dtype, self.float()),
            });
        }
        let value = self.int();
        let spare = 64 - u32::from(dtype.bits.min(64));
        Num::Int(match dtype.code {
            _ if dtype == DType::BOOL => i64::from(self.holds()),
            DTypeCode::UInt => ((value << spare) as u64 >> spare) as i64,
            _ => (value << spare) >> spare,
        })
    }
}

/// A function of one or two numbers.
#[derive(Clone, Copy)]
enum Math {
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
    Bits(fn(i64, i64) -> i64),
}

enum Step {
    Set(Reg, Num),
    Copy {
        to: Reg,
        from: Reg,
    },
    Cast {
        to: Reg,
        from: Reg,
        dtype: DType,
    },
    Binary {
        op: PrimOp,
        to: Reg,
        a: Reg,
        b: Reg,
        dtype: DType,
    },
    Not {
        to: Reg,
        from: Reg,
    },
    Select {
        to: Reg,
        cond: Reg,
        then: Reg,
        other: Reg,
    },
    Math {
        f: Math,
        to: Reg,
        a: Reg,
        b: Reg,
        dtype: DType,
    },
    /// One more axis of a place in a buffer; a place that is not in it is negative from there on.
    Index {
        to: Reg,
        before: Reg,
        extent: Reg,
        index: Reg,
    },
    Load {
        to: Reg,
        memory: usize,
        place: Reg,
    },
    Store {
        memory: usize,
        place: Reg,
        value: Reg,
    },
    /// The buffer begins anew, all zero.
    Alloc {
        memory: usize,
        extents: Box<[Reg]>,
    },
    Assert(Reg),
    Jump(usize),
    Unless(Reg, usize),
}

/// The elements of a buffer, in one of two lanes.
enum Cells {
    Int(Vec<i64>),
    Float(Vec<f64>),
}

impl Cells {
    fn zeros(dtype: DType, count: usize) -> Cells {
        if dtype.is_float() { Cells::Float(vec![0.0; count]) } else { Cells::Int(vec![0; count]) }
    }
}

fn float_binary(op: PrimOp, x: f64, y: f64) -> Num {
    let truth = |b: bool| Num::Int(i64::from(b));
    Num::Float(match op {
        PrimOp::Add => x + y,
        PrimOp::Sub => x - y,
        PrimOp::Mul => x * y,
        PrimOp::Div => x / y,
        PrimOp::FloorDiv => (x / y).floor(),
        PrimOp::Mod => x % y,
        PrimOp::FloorMod => x - (x / y).floor() * y,
        PrimOp::Min => x.min(y),
        PrimOp::Max => x.max(y),
        PrimOp::Eq => return truth(x == y),
        PrimOp::Ne => return truth(x != y),
        PrimOp::Lt => return truth(x < y),
        PrimOp::Le => return truth(x <= y),
        PrimOp::Gt => return truth(x > y),
        PrimOp::Ge => return truth(x >= y),
        PrimOp::And => return truth(x != 0.0 && y != 0.0),
        PrimOp::Or => return truth(x != 0.0 || y != 0.0),
    })
}

/// What a parameter of a program is given.
#[derive(Clone, Debug)]
pub enum Given {
    /// A tensor, which it may write over.
    Tensor(Tensor),
    /// Memory for an output of this type and shape.
    Output(DType, Vec<i64>),
    /// A number, as a tensor of rank 0.
    Scalar(Tensor),
}

/// Runs a program; the result is what stands then in the parameters `wanted`, in that order.
///
/// `fuel` is how many steps it may take; used up, the error is `eval-fuel`. What cannot be run here is `eval-no-kernel`.
pub fn run_prim_func(
    store: &Store,
    function: &PrimFunc,
    given: &[Given],
    wanted: &[usize],
    fuel: u64,
) -> Result<Vec<Tensor>, EvalFailure> {
    if function.params.len() != given.len() {
        let message = format!("the program takes {} arguments and is given {}", function.params.len(), given.len());
        return Err(EvalFailure::new(message));
    }
    let code = compile(store, function, given)?;
    // Where each parameter is among the buffers, and what it is.
    let mut places = Vec::with_capacity(given.len());
    let mut memory = Vec::with_capacity(code.memories.len());
    for given in given {
        let (dtype, shape) = match given {
            Given::Scalar(_) => {
                places.push(None);
                continue;
            }
            Given::Tensor(tensor) => (tensor.dtype, tensor.shape.to_vec()),
            Given::Output(dtype, shape) => (*dtype, shape.clone()),
        };
        memory.push(match given {
            Given::Tensor(tensor) if dtype.is_float() => Cells::Float(read::<f64>(tensor).map_err(failed)?),
            Given::Tensor(tensor) => Cells::Int(read::<i64>(tensor).map_err(failed)?),
            _ => Cells::zeros(dtype, count(&shape, dtype).map_err(failed)?),
        });
        places.push(Some((memory.len() - 1, dtype, shape)));
    }
    memory.extend(code.memories[memory.len()..].iter().map(|dtype| Cells::zeros(*dtype, 0)));
    run(&code.steps, &mut vec![Num::Int(0); code.registers as usize], &code.memories, &mut memory, fuel)?;
    (wanted.iter())
        .filter_map(|index| places.get(*index)?.as_ref())
        .map(|(place, dtype, shape)| match &memory[*place] {
            Cells::Int(values) => write(*dtype, shape, values),
            Cells::Float(values) => write(*dtype, shape, values),
        })
        .collect::<Result<_, _>>()
        .map_err(failed)
}

fn failed(error: EvalError) -> EvalFailure {
    EvalFailure::new(error.0)
}

/// The value of a scalar expression, as a tensor of rank 0, where symbols stand for these numbers.
pub fn eval_prim(store: &Store, root: PrimId, symbols: &[(Id<Symbol>, i64)]) -> Result<Tensor, EvalFailure> {
    let (code, result) = compile_expr(store, root, symbols)?;
    let mut registers = vec![Num::Int(0); code.registers as usize];
    run(&code.steps, &mut registers, &[], &mut [], u64::MAX)?;
    let dtype = store.prim_dtype(root);
    match registers[result as usize] {
        Num::Int(value) => write(dtype, &[], &[value]),
        Num::Float(value) => write(dtype, &[], &[value]),
    }
    .map_err(failed)
}

fn run(steps: &[Step], regs: &mut [Num], dtypes: &[DType], memory: &mut [Cells], fuel: u64) -> Result<(), EvalFailure> {
    let (mut at, mut left) = (0, fuel);
    while let Some(step) = steps.get(at) {
        if left == 0 {
            let message = match fuel {
                ..1_000_000 => format!("the program takes more than {fuel} steps"),
                _ => format!(
                    "the program takes more than {} million steps; smaller shapes take less",
                    (fuel + 500_000) / 1_000_000
                ),
            };
            return Err(EvalFailure { code: "eval-fuel", ..EvalFailure::new(message) });
        }
        left -= 1;
        at += 1;
        let value = |reg: Reg| regs[reg as usize];
        match *step {
            Step::Set(to, value) => regs[to as usize] = value,
            Step::Copy { to, from } => regs[to as usize] = value(from),
            Step::Cast { to, from, dtype } => regs[to as usize] = value(from).fit(dtype),
            Step::Not { to, from } => regs[to as usize] = Num::Int(i64::from(!value(from).holds())),
            Step::Select { to, cond, then, other } => {
                regs[to as usize] = if value(cond).holds() { value(then) } else { value(other) };
            }
            Step::Binary { op, to, a, b, dtype } => {
                regs[to as usize] = match (value(a), value(b)) {
                    // Where nothing is computed (a division by zero, an overflow), a choice does not take it.
                    (Num::Int(x), Num::Int(y)) => Num::Int(op.fold(x, y).unwrap_or(0)).fit(dtype),
                    (x, y) => match float_binary(op, x.float(), y.float()) {
                        Num::Int(truth) => Num::Int(truth),
                        number => number.fit(dtype),
                    },
                };
            }
            Step::Math { f, to, a, b, dtype } => {
                let result = match f {
                    Math::One(f) => Num::Float(f(value(a).float())),
                    Math::Two(f) => Num::Float(f(value(a).float(), value(b).float())),
                    Math::Bits(f) => Num::Int(f(value(a).int(), value(b).int())),
                };
                regs[to as usize] = result.fit(dtype);
            }
            Step::Index { to, before, extent, index } => {
                let (before, extent, index) = (value(before).int(), value(extent).int(), value(index).int());
                let inside = before >= 0 && (0..extent).contains(&index);
                let place = if inside { before.checked_mul(extent).and_then(|p| p.checked_add(index)) } else { None };
                regs[to as usize] = Num::Int(place.unwrap_or(-1));
            }
            Step::Load { to, memory: from, place } => {
                let place = usize::try_from(value(place).int()).ok();
                regs[to as usize] = match &memory[from] {
                    Cells::Int(cells) => Num::Int(place.and_then(|p| cells.get(p)).copied().unwrap_or(0)),
                    Cells::Float(cells) => Num::Float(place.and_then(|p| cells.get(p)).copied().unwrap_or(0.0)),
                };
            }
            Step::Store { memory: into, place, value: from } => {
                let beyond = || EvalFailure::new("the program writes beyond the end of a buffer");
                let place = usize::try_from(value(place).int()).map_err(|_| beyond())?;
                let new = value(from).fit(dtypes[into]);
                match &mut memory[into] {
                    Cells::Int(cells) => *cells.get_mut(place).ok_or_else(beyond)? = new.int(),
                    Cells::Float(cells) => *cells.get_mut(place).ok_or_else(beyond)? = new.float(),
                }
            }
            Step::Alloc { memory: which, ref extents } => {
                let shape: Vec<i64> = extents.iter().map(|extent| value(*extent).int()).collect();
                let cells = count(&shape, dtypes[which]).map_err(|error| EvalFailure::new(error.0))?;
                // What is cleared costs as much as what is computed.
                left = left.saturating_sub(cells as u64 / 8);
                memory[which] = Cells::zeros(dtypes[which], cells);
            }
            Step::Assert(cond) => {
                if !value(cond).holds() {
                    return Err(EvalFailure::new("an assertion of the program does not hold"));
                }
            }
            Step::Jump(to) => at = to,
            Step::Unless(cond, to) => {
                if !value(cond).holds() {
                    at = to;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
