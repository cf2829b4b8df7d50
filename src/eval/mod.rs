//! Evaluation of a module or a closed expression.
//!
//! The evaluator is a machine with a stack of frames of its own (after the CEK machine of Felleisen
//! and Friedman), so programs may nest and recurse as deep as memory allows; a call in tail position
//! needs no frame. A node that is used several times is evaluated once in each activation of its
//! function, which is what TVM's interpreter does after ToANormalForm.

mod call_op;
mod call_results;
mod machine;
mod making;
mod parts;
pub(crate) mod relax;
mod seed;
mod show;
mod tir;
mod value;

pub use call_results::CallResults;
pub use making::made_args;
pub use relax::{Linked, Ran, run_linked};
pub use seed::{Kind, Making, seeded_value};
pub use show::show;
pub use tir::{Applied, BufferCost, CacheShape, Cost, Given, apply as apply_prim_func, eval_prim, run_prim_func};
pub use value::{Closure, Fields, RefCell, Value, value_to_expr};

use crate::diag::{Diagnostic, Span};
use crate::ir::{Dialect, Expr, ExprId, Module, OpId, Store, Tensor, Type, TypeId};
use crate::ops::kernel::{by_lane, read, write};
use crate::ops::tensor_of;
use machine::Machine;

/// Limits of an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct EvalOptions {
    /// The number of nodes that may be evaluated, counting repeated evaluation. More are an error.
    pub fuel: u64,
    /// The work that operators and tensor programs may do, in elements and products of two; see [`work_of`]. More is an error.
    pub work: u64,
}

impl Default for EvalOptions {
    /// Ten million nodes, without a limit on work.
    fn default() -> EvalOptions {
        EvalOptions { fuel: 10_000_000, work: u64::MAX }
    }
}

/// The message of an evaluation that exceeds its limit of work.
const TOO_MUCH: &str = "the evaluation takes more work than is allowed";

/// Returns the number of elements of a value of this type, as far as that is known.
pub(crate) fn elements_of(store: &Store, ty: TypeId) -> usize {
    match store.type_of_id(ty) {
        Type::Tensor { shape, .. } => shape.iter().map(|extent| extent.known().unwrap_or(1).max(0) as usize).product(),
        Type::Tuple(fields) => fields.iter().map(|field| elements_of(store, *field)).sum(),
        _ => 1,
    }
}

/// Estimates the work of an operator: elements that it reads and returns, and for products each term of the sums.
fn work_of<'a>(name: &str, inputs: impl Iterator<Item = &'a Tensor> + Clone, given: usize) -> u64 {
    let elements = |tensor: &Tensor| tensor.shape.iter().map(|extent| *extent as u64).product::<u64>();
    let moved = inputs.clone().map(elements).sum::<u64>() + given as u64;
    let summed = match (inputs.clone().next(), inputs.clone().nth(1)) {
        (_, Some(weight)) if name.contains("conv") => {
            elements(weight) / weight.shape.iter().max().map_or(1, |most| (*most as u64).max(1))
        }
        (Some(data), Some(_)) if name.contains("matmul") || name.contains("dense") => {
            data.shape.last().map_or(1, |extent| *extent as u64)
        }
        _ => 0,
    };
    moved.saturating_add(summed.saturating_mul(given as u64))
}

/// The reason why an evaluation gave no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalFailure {
    /// A stable code: `eval-fuel` when the limit is exceeded, `eval-no-kernel` when an operator cannot be evaluated
    /// here, else `eval-failed`.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// The node that was evaluated.
    pub expr: Option<ExprId>,
    /// Its span in the text, where it has one.
    pub span: Option<Span>,
}

impl EvalFailure {
    fn new(message: impl Into<String>) -> EvalFailure {
        EvalFailure { code: "eval-failed", message: message.into(), expr: None, span: None }
    }

    /// Converts the failure to a diagnostic.
    pub fn to_diagnostic(&self) -> Diagnostic {
        Diagnostic::error(self.code, self.message.clone(), self.span)
    }
}

/// Applies the function `name` of `module` to `args`. A tensor program returns the tuple of the arguments that it wrote.
pub fn eval_function(
    store: &mut Store,
    module: &Module,
    name: &str,
    args: &[Value],
    options: EvalOptions,
) -> Result<Value, EvalFailure> {
    eval_with(store, module, name, args, options, (None, None))
}

/// Does the same, and shares the results of Relay's operators with other evaluations.
pub fn eval_sharing(
    store: &mut Store,
    module: &Module,
    name: &str,
    args: &[Value],
    options: EvalOptions,
    results: &mut CallResults,
) -> Result<Value, EvalFailure> {
    eval_with(store, module, name, args, options, (None, Some(results)))
}

/// An expression to watch, and the list that gets its value each time that it is evaluated.
pub type Watched<'a> = Option<(ExprId, &'a mut Vec<Value>)>;

/// Does the same, and records the values of an expression.
pub fn eval_watching(
    store: &mut Store,
    module: &Module,
    name: &str,
    args: &[Value],
    options: EvalOptions,
    watched: Watched,
) -> Result<Value, EvalFailure> {
    eval_with(store, module, name, args, options, (watched, None))
}

fn eval_with(
    store: &mut Store,
    module: &Module,
    name: &str,
    args: &[Value],
    options: EvalOptions,
    (watched, results): (Watched, Option<&mut CallResults>),
) -> Result<Value, EvalFailure> {
    let id = store.name(name);
    let Some(function) = module.function(id) else {
        return Err(EvalFailure::new(module.has_no_function(store, name)));
    };
    if let Expr::PrimFunc(program) = store.expr(function) {
        return tir::apply(store, module, program, args, options, (None, false)).map(|applied| applied.value);
    }
    if module.dialect() == Dialect::Relax {
        return relax::apply(store, module, function, args, options, watched, None);
    }
    let args = fit(store, function, args)?;
    Machine::new(store, module, options).with(watched, results).apply(function, &args)
}

/// Converts arguments to the element types of the parameters, as TVM's executors do.
fn fit(store: &Store, function: ExprId, args: &[Value]) -> Result<Vec<Value>, EvalFailure> {
    let Some(function) = store.as_function(function) else { return Ok(args.to_vec()) };
    let wanted = store.items(function.params).map(|param| {
        let var = store.var_data(param);
        var.ty.or(var.annotation).and_then(|ty| tensor_of(store, ty)).map(|(_, dtype)| dtype)
    });
    (args.iter().zip(wanted.chain(std::iter::repeat(None))))
        .map(|(arg, wanted)| match (arg, wanted) {
            (Value::Tensor(tensor), Some(dtype)) if tensor.dtype != dtype && tensor.data.is_some() => {
                let converted = by_lane!(tensor.dtype, T => write(dtype, &tensor.shape, &read::<T>(tensor).unwrap_or_default()));
                converted.map(Value::Tensor).map_err(|e| EvalFailure::new(e.0))
            }
            _ => Ok(arg.clone()),
        })
        .collect()
}

/// Evaluates `expr`, then applies it to `args` when it is a function. Known types are used; for unknown ones, or
/// unknown extents, the values decide.
pub fn eval_expr(
    store: &mut Store,
    module: &Module,
    expr: ExprId,
    args: &[Value],
    options: EvalOptions,
) -> Result<Value, EvalFailure> {
    if module.dialect() == Dialect::Relax {
        return match store.expr(expr) {
            Expr::Function(_) => relax::apply(store, module, expr, args, options, None, None),
            _ => relax::eval(store, module, expr, options),
        };
    }
    let machine = Machine::new(store, module, options);
    if machine.is_function(expr) { machine.apply(expr, args) } else { machine.eval(expr) }
}

/// Evaluates an operator of Relay on these arguments, with the attributes of `call`, and with its type as far as that
/// is known.
pub fn eval_operator(store: &mut Store, module: &Module, call: ExprId, op: OpId, args: Vec<Value>) -> Result<Value, EvalFailure> {
    Machine::new(store, module, EvalOptions::default()).call_op(call, op, args)
}

#[cfg(test)]
mod tests;
