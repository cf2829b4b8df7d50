//! Functions that are linked in, as far as the caller of the evaluator has them.

use super::special::tensor_of;
use super::{Machine, cell, read_cells};
use crate::eval::{EvalFailure, EvalOptions, Value};
use crate::ir::{DType, ExprId, Id, Module, Name, Store, Tensor, Type};
use crate::ops::kernel::write;

/// Calls a linked function: `None` if there is none of that name, or the reason why it fails. Arguments that it may write
/// into are cells.
pub type Linked<'a> = dyn FnMut(&mut Store, Id<Name>, &[Value]) -> Option<Result<Value, String>> + 'a;

/// The result of a run, and the arguments that it wrote into with what they hold then.
pub type Ran = (Value, Vec<(usize, Tensor)>);

/// Applies a function of a module to values, with functions from outside. The tensors among the arguments are memory that
/// such a function may write into.
pub fn run_linked(
    store: &mut Store,
    module: &Module,
    function: ExprId,
    args: &[Value],
    options: EvalOptions,
    linked: &mut Linked<'_>,
) -> Result<Ran, EvalFailure> {
    let memory = |value: &Value| if let Value::Tensor(tensor) = value { cell(tensor.clone()) } else { value.clone() };
    let cells: Vec<Value> = args.iter().map(memory).collect();
    let value = super::apply(store, module, function, &cells, options, None, Some(linked))?;
    let written = args.iter().zip(&cells).enumerate().filter_map(|(place, (before, after))| {
        let after = tensor_of(after).filter(|_| matches!(before, Value::Tensor(_)))?;
        (tensor_of(before).as_ref() != Some(&after)).then_some((place, after))
    });
    Ok((value, written.collect()))
}

impl Machine<'_> {
    /// Calls a linked function.
    pub(super) fn call_linked(&mut self, id: ExprId, name: Id<Name>, args: &[Value]) -> Result<Value, EvalFailure> {
        let found = self.linked.as_deref_mut().and_then(|linked| linked(self.store, name, args));
        match found.or_else(|| self.built_in(name, args)) {
            Some(result) => result.map_err(|why| self.fail(id, why)),
            None => {
                let message = format!("`{}` is a linked function, which is not evaluated here", self.store.str(name));
                Err(self.unable(id, message))
            }
        }
    }

    /// Functions of TVM's machine that passes put in the place of operators.
    fn built_in(&self, name: Id<Name>, args: &[Value]) -> Option<Result<Value, String>> {
        let tensor = args.first().and_then(tensor_of);
        match (self.store.str(name), args) {
            // All tensors are in one memory here.
            ("vm.builtin.copy", [value]) | ("vm.builtin.to_device", [value, ..]) => Some(Ok(value.clone())),
            ("relax.run.shape_to_tensor", [Value::Shape(shape)]) => {
                Some(write(DType::I64, &[shape.len() as i64], shape).map(Value::Tensor).map_err(|error| error.0))
            }
            ("vm.builtin.shape_of", [_]) => tensor.map(|tensor| Ok(Value::Shape(tensor.shape))),
            ("vm.builtin.reshape", [_, shape @ Value::Shape(_)]) => {
                let unit = Value::unit();
                tensor.map(|tensor| self.view(&tensor, shape, &unit, &unit).map(cell))
            }
            ("runtime.TVMTensorCreateView", [_, shape, dtype, offset]) => {
                tensor.map(|tensor| self.view(&tensor, shape, dtype, offset).map(cell))
            }
            _ => None,
        }
    }

    /// Calls a linked function that writes its outputs, which come behind the inputs.
    pub(super) fn write_linked(&mut self, id: ExprId, name: Id<Name>, inputs: &Value) -> Result<Value, EvalFailure> {
        if self.linked.is_none() {
            return self.call_linked(id, name, &[]);
        }
        let mut args = match inputs {
            Value::Tuple(fields) => fields.items().to_vec(),
            other => vec![other.clone()],
        };
        let ty = self.output_type(id)?;
        let (types, is_tuple) = match self.store.type_of_id(ty) {
            Type::Tuple(types) => (types.to_vec(), true),
            _ => (vec![ty], false),
        };
        let mut outputs = Vec::with_capacity(types.len());
        for ty in types {
            let (dtype, shape) = self.fixed(id, ty)?;
            outputs.push(cell(self.zeros(id, &shape, dtype)?));
        }
        args.extend(outputs.iter().cloned());
        self.call_linked(id, name, &args)?;
        let mut outputs = outputs.into_iter().map(read_cells);
        Ok(if is_tuple { Value::tuple(outputs.collect()) } else { outputs.next().unwrap_or_else(Value::unit) })
    }
}
