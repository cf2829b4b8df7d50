//! Applies a tensor program to values, with all its buffers as arguments.

use super::{CacheShape, Cost, Given, Source, eval_prim, packed, run};
use crate::eval::seed::{Draws, Making};
use crate::eval::{EvalFailure, EvalOptions, Value};
use crate::ir::{DType, DTypeCode, Id, Module, PrimExpr, PrimFunc, PrimParam, Store, Symbol, Tensor};
use crate::ops::kernel::{read_scalar, write};

/// The result of a tensor program.
pub struct Applied {
    /// The tuple of the arguments that were written, in their order.
    pub value: Value,
    /// The places of these arguments.
    pub written: Vec<usize>,
    /// The cost of the run, if it was requested.
    pub cost: Option<Cost>,
    /// Invalid accesses: out of bounds, or reads of memory that was never written.
    pub warnings: Vec<EvalFailure>,
}

/// Runs a program of a module on one value for each parameter; buffers, outputs included, have given contents.
///
/// `count` requests the cost, with the lines of such a cache that were used. With `forgive` an invalid access is a warning and
/// the program continues: missing elements read as zero, its own memory grows, and nothing is written beyond an argument. Some
/// schedules of TVM's tests have invalid accesses until CompactBufferAllocation repairs them. A step of a program costs a
/// twentieth of a node's fuel.
pub fn apply(
    store: &Store,
    module: &Module,
    function: Id<PrimFunc>,
    args: &[Value],
    options: EvalOptions,
    (count, forgive): (Option<CacheShape>, bool),
) -> Result<Applied, EvalFailure> {
    let function = store.prim_func(function);
    let source = Source { store, module: Some(module), count };
    let fuel = options.fuel.saturating_mul(20).min(options.work);
    if packed::is_packed(store, function) {
        return apply_packed(source, function, args, fuel, forgive);
    }
    if function.params.len() != args.len() {
        let message = format!("the program takes {} arguments and is given {}", function.params.len(), args.len());
        return Err(EvalFailure::new(message));
    }
    let given: Vec<Given> =
        function.params.iter().zip(args).map(|(param, arg)| given(store, *param, arg)).collect::<Result<_, _>>()?;
    let outcome = run(source, function, &given, Vec::new(), fuel, forgive)?;
    let held = outcome.memory.into_iter().enumerate().filter_map(|(place, memory)| Some((place, memory?)));
    let (written, values) =
        held.filter(|(_, (_, stored))| *stored).map(|(place, (tensor, _))| (place, Value::Tensor(tensor))).unzip();
    Ok(Applied { value: Value::tuple(values), written, cost: outcome.cost, warnings: outcome.forgiven })
}

/// Runs a function of the packed convention on the arguments of the original function.
fn apply_packed(source: Source, function: &PrimFunc, args: &[Value], fuel: u64, forgive: bool) -> Result<Applied, EvalFailure> {
    let mut memory = packed::memory(args)?.into_iter();
    let mut bytes = || {
        let piece = memory.next().map(|piece| piece.bytes).unwrap_or_default();
        Given::Tensor(Tensor::new(DType::U8, [piece.len() as i64], piece))
    };
    let number =
        |value: i64, dtype: DType| write(dtype, &[], &[value]).map(Given::Scalar).map_err(|error| EvalFailure::new(error.0));
    let (values, result) = (bytes(), bytes());
    let given = [number(0, DType::I64)?, values, number(args.len() as i64, DType::I32)?, result];
    let outcome = run(source, function, &given, memory.collect(), fuel, forgive)?;
    let tensors = args.iter().enumerate().filter_map(|(place, arg)| Some((place, arg.as_tensor()?)));
    // Each tensor has a piece for its elements and one for its extents.
    let elements = outcome.beside.into_iter().skip(1).step_by(2);
    let written = tensors.zip(elements).filter(|(_, piece)| piece.stored);
    let (written, values) = written
        .map(|((place, tensor), piece)| (place, Value::Tensor(Tensor::new(tensor.dtype, tensor.shape.to_vec(), piece.bytes))))
        .unzip();
    Ok(Applied { value: Value::tuple(values), written, cost: outcome.cost, warnings: outcome.forgiven })
}

fn given(store: &Store, param: PrimParam, arg: &Value) -> Result<Given, EvalFailure> {
    let is_number = |tensor: &Tensor| tensor.shape.is_empty();
    match (param, arg) {
        (PrimParam::Buffer(_), Value::Tensor(tensor)) => Ok(Given::Tensor(tensor.clone())),
        (PrimParam::Var(symbol), Value::Tensor(tensor)) => {
            let is_pointer = store.symbol(symbol).dtype.code == DTypeCode::Handle;
            Ok(if is_pointer || !is_number(tensor) { Given::Tensor(tensor.clone()) } else { Given::Scalar(tensor.clone()) })
        }
        (_, Value::Prim(tensor)) => Ok(Given::Scalar(tensor.clone())),
        (_, other) => {
            let name = store.str(store.prim_param_name(param));
            Err(EvalFailure::new(format!("`{name}` of a tensor program is given {}", other.kind())))
        }
    }
}

/// Generates the arguments of a tensor program. Symbolic extents and integers have the requested value.
pub(crate) fn seeded(store: &Store, function: Id<PrimFunc>, making: Making) -> Result<Vec<Value>, EvalFailure> {
    let mut draws = Draws::new(making);
    let function = store.prim_func(function);
    let mut symbols: Vec<(Id<Symbol>, i64)> = Vec::new();
    for param in &*function.params {
        let PrimParam::Buffer(buffer) = *param else { continue };
        for extent in &store.buffer(buffer).shape {
            store.for_each_prim(*extent, &mut |_, expr| {
                if let PrimExpr::Var(symbol) = *expr {
                    symbols.push((symbol, making.extent));
                }
            });
        }
    }
    let made = function.params.iter().map(|param| {
        let name = store.str(store.prim_param_name(*param));
        match *param {
            PrimParam::Buffer(buffer) => {
                let buffer = store.buffer(buffer);
                let shape: Result<Vec<i64>, EvalFailure> = (buffer.shape.iter())
                    .map(|extent| eval_prim(store, *extent, &symbols))
                    .map(|extent| read_scalar::<i64>(&extent?).map_err(|error| EvalFailure::new(error.0)))
                    .collect();
                draws.tensor(name, &shape?, buffer.dtype.element()).map(Value::Tensor).map_err(EvalFailure::new)
            }
            PrimParam::Var(symbol) => {
                let dtype: DType = store.symbol(symbol).dtype;
                if dtype.code == DTypeCode::Handle {
                    return Err(EvalFailure::new(format!("no value can be made up for `{name}`: it is a pointer")));
                }
                let made = if dtype.is_float() {
                    draws.tensor(name, &[], dtype)
                } else {
                    write(dtype, &[], &[making.extent]).map_err(|error| error.0)
                };
                made.map(Value::Prim).map_err(EvalFailure::new)
            }
        }
    });
    made.collect()
}
