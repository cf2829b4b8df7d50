//! Runs tensor programs (TVM's `PrimFunc`), at every stage from blocks to flat loops, threads and vectors.
//!
//! A program is first compiled to a list of steps over numbered registers, with jumps for loops and conditions
//! ([`mod@compile`]). So the nesting of statements costs no call stack, steps are decoded once and not in every round of a loop,
//! and loop-invariant expressions are hoisted. Memory is bytes ([`memory`]). An access outside of a buffer's memory, a read of
//! memory that was never written and a division by zero are errors at their statement; within the memory an index may exceed its
//! axis, as in TVM's code. Only the chosen branch of a choice (also `T.Select`) is computed if the other could fail.
//!
//! Threads of a block run side by side ([`machine`]), blocks one after the other. Scalable vectors have their smallest
//! number of lanes. Numbers are rounded to their type after each operation; the functions of `math.h` are computed in
//! double precision, so their last digit may differ from that of TVM's LLVM code. External functions and matrix units
//! cannot be run.

mod apply;
mod cache;
mod compile;
mod cost;
mod machine;
mod math;
mod memory;
mod packed;
mod step;

pub(crate) use apply::seeded;
pub use apply::{Applied, apply};
pub use cache::CacheShape;
pub use cost::{BufferCost, Cost};

use super::EvalFailure;
use crate::ir::{DType, Id, PrimFunc, PrimId, Store, Symbol, Tensor};
use crate::ops::EvalError;
use crate::ops::kernel::{bytes, count, write};
use compile::{Source, compile, compile_expr};
use machine::{Machine, Stopped};
use memory::{Memory, WRITTEN};
use step::Code;

/// The argument for a parameter of a program.
#[derive(Clone, Debug)]
pub enum Given {
    /// A tensor, which the program may overwrite.
    Tensor(Tensor),
    /// Uninitialised memory for an output of this type and shape.
    Output(DType, Vec<i64>),
    /// A number, as a tensor of rank 0.
    Scalar(Tensor),
}

/// The result of a run.
struct Outcome {
    /// For each parameter with memory: its content, and true if anything was written.
    memory: Vec<Option<(Tensor, bool)>>,
    /// The additional memory after the run.
    beside: Vec<Memory>,
    /// The cost, if it was requested.
    cost: Option<Cost>,
    /// Invalid accesses, if the program continued after them.
    forgiven: Vec<EvalFailure>,
}

/// Runs a program and returns the contents of the parameters `wanted`, in that order.
///
/// `fuel` is the limit of steps; beyond it the error is `eval-fuel`. For unsupported programs it is `eval-no-kernel`.
pub fn run_prim_func(
    store: &Store,
    function: &PrimFunc,
    given: &[Given],
    wanted: &[usize],
    fuel: u64,
) -> Result<Vec<Tensor>, EvalFailure> {
    let source = Source { store, module: None, count: None };
    let mut outcome = run(source, function, given, Vec::new(), fuel, false)?;
    Ok(wanted.iter().filter_map(|index| outcome.memory.get_mut(*index)?.take()).map(|(tensor, _)| tensor).collect())
}

/// Runs a program on these arguments; `beside` is the memory that they point to.
fn run(
    source: Source,
    function: &PrimFunc,
    given: &[Given],
    beside: Vec<Memory>,
    fuel: u64,
    forgive: bool,
) -> Result<Outcome, EvalFailure> {
    if function.params.len() != given.len() {
        let message = format!("the program takes {} arguments and is given {}", function.params.len(), given.len());
        return Err(EvalFailure::new(message));
    }
    let (code, params) = compile(source, function, given)?;
    let mut machine = Machine::new(&code, fuel);
    machine.cache = source.count.map(|shape| cache::Cache::new(source.store, shape));
    let mut registers = code.registers.clone();
    let mut pointers = Vec::with_capacity(given.len());
    for (index, (given, reg)) in given.iter().zip(&params).enumerate() {
        let Some(reg) = *reg else {
            pointers.push(None);
            continue;
        };
        let buffer = match function.params[index] {
            crate::ir::PrimParam::Buffer(id) => id.index() as u32,
            crate::ir::PrimParam::Var(_) => u32::MAX,
        };
        let (dtype, shape, piece) = match given {
            Given::Scalar(_) => continue,
            Given::Tensor(tensor) => {
                let bytes = bytes(tensor).map_err(failed)?.to_vec();
                let flags = if source.count.is_some() { vec![WRITTEN; bytes.len()] } else { Vec::new() };
                (tensor.dtype, tensor.shape.to_vec(), Memory { bytes, flags, stored: false, buffer })
            }
            Given::Output(dtype, shape) => {
                let size = count(shape, *dtype).map_err(failed)? * dtype.bytes();
                (*dtype, shape.clone(), Memory { bytes: vec![0; size], flags: vec![0; size], stored: false, buffer })
            }
        };
        let pointer = machine.heap.add(piece);
        registers[reg as usize] = pointer;
        pointers.push(Some((pointer, dtype, shape)));
    }
    let first = machine.heap.pieces.len();
    machine.heap.pieces.extend(beside);
    machine.own = machine.heap.pieces.len();
    let own = machine.own;
    machine.forgiven = forgive.then(Vec::new);
    machine.run(&mut registers).map_err(|stopped| at_place(source.store, &code, stopped))?;
    let forgiven = machine.forgiven.take().unwrap_or_default();
    let forgiven = forgiven.into_iter().map(|found| at_place(source.store, &code, found)).collect();
    let cost = source.count.map(|shape| cost::of(source.store, &code, &machine, shape));
    let memory = pointers.into_iter().map(|pointer| {
        let (pointer, dtype, shape) = pointer?;
        let piece = machine.heap.piece_mut(pointer)?;
        Some((Tensor::new(dtype, shape, std::mem::take(&mut piece.bytes)), piece.stored))
    });
    let memory = memory.collect();
    let beside = machine.heap.pieces.drain(first..own).collect();
    Ok(Outcome { memory, beside, cost, forgiven })
}

/// Makes a failure at the statement that it happened in.
fn at_place(store: &Store, code: &Code, stopped: Stopped) -> EvalFailure {
    let node = code.origins.get(stopped.at).copied().flatten().map(|stmt| store.stmt_node(stmt));
    EvalFailure { code: stopped.code, message: stopped.message, expr: node, span: node.and_then(|node| store.source_span(node)) }
}

fn failed(error: EvalError) -> EvalFailure {
    EvalFailure::new(error.0)
}

/// Evaluates a scalar expression to a tensor of rank 0, with these values of symbols.
pub fn eval_prim(store: &Store, root: PrimId, symbols: &[(Id<Symbol>, i64)]) -> Result<Tensor, EvalFailure> {
    let code = compile_expr(store, root, symbols)?;
    let mut registers = code.registers.clone();
    Machine::new(&code, u64::MAX).run(&mut registers).map_err(|stopped| at_place(store, &code, stopped))?;
    let value = code.result.map_or(0, |reg| registers[reg as usize]);
    let dtype = store.prim_dtype(root);
    match dtype.is_float() {
        true => write(dtype, &[], &[f64::from_bits(value)]),
        false => write(dtype, &[], &[value as i64]),
    }
    .map_err(failed)
}

#[cfg(test)]
mod tests;
