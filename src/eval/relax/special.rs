//! Operators without arithmetic: calls of tensor programs, closures, memory, queries of values.

use super::operators::{Operands, compute};
use super::{Machine, Next, Step, cell, int64, read_cells};
use crate::eval::{EvalFailure, Given, Value, run_prim_func, show};
use crate::infer::relax::types::substitute;
use crate::ir::{DType, ExprId, Id, OpId, PrimFunc, PrimParam, Tensor, Type, TypeId};
use crate::ops;
use crate::ops::kernel::{count, read, read_scalar, write};

/// Operators that return their argument: they annotate a device, or a property for passes.
const TRANSPARENT: [&str; 8] = [
    "builtin.stop_lift_params",
    "hint_on_device",
    "to_vdevice",
    "memory.ensure_zero_offset",
    "grad.no_grad",
    "grad.start_checkpoint",
    "grad.end_checkpoint",
    "dist.annotate_sharding",
];

impl Machine<'_> {
    /// A part of a tensor's memory as another tensor: shape, element type and offset in bytes, where they are given.
    pub(super) fn view(&self, tensor: &Tensor, shape: &Value, dtype: &Value, offset: &Value) -> Result<Tensor, String> {
        let shape = if let Value::Shape(shape) = shape { shape.clone() } else { tensor.shape.clone() };
        let dtype = match dtype {
            Value::Word(word) => DType::parse(self.store.str(*word)).ok_or("the element type is not known")?,
            _ => tensor.dtype,
        };
        let offset = tensor_of(offset).and_then(|offset| read_scalar::<i64>(&offset).ok()).unwrap_or(0);
        let length = count(&shape, dtype).map_err(|error| error.0)? * dtype.bytes();
        let data = tensor.data.as_ref().ok_or("the tensor has no value that is known")?;
        let start = usize::try_from(offset).map_err(|_| "the offset of a view is not negative")?;
        let end = start.checked_add(length).filter(|end| *end <= data.len());
        let end = end.ok_or_else(|| format!("a view of {length} bytes at {start} exceeds the {} of the tensor", data.len()))?;
        Ok(Tensor::new(dtype, shape, &data[start..end]))
    }

    /// Returns the message of a condition that does not hold: its format, filled, or its values (TVM's `relax.run.assert_op`).
    fn assertion(&self, rest: &[Value]) -> String {
        let (format, values) = match rest.split_first() {
            Some((Value::Word(text), values)) => (self.store.str(*text), values),
            _ => ("", rest),
        };
        let mut shown = values.iter().map(|value| match tensor_of(value).filter(|tensor| tensor.shape.is_empty()) {
            Some(number) => plain(&number),
            None => show(self.store, value),
        });
        let message = match (format, values) {
            ("", []) => "Assertion Failed".to_owned(),
            ("", _) => shown.collect::<Vec<_>>().join(", "),
            _ => {
                let mut parts = format.split("{}");
                let head = parts.next().unwrap_or_default().to_owned();
                parts.fold(head, |text, part| text + &shown.next().unwrap_or_else(|| "{}".to_owned()) + part)
            }
        };
        format!("AssertionError: {message}")
    }

    pub(super) fn operator(&mut self, id: ExprId, op: OpId, args: Vec<Value>) -> Step {
        let info = ops::info(op);
        let Some(row) = info.relax.as_ref() else {
            return Err(self.unable(id, format!("`{}` is no operator of Relax", info.name)));
        };
        Ok(Next::Give(match (row.name, args.as_slice()) {
            (name, [value, ..]) if TRANSPARENT.contains(&name) => value.clone(),
            ("call_tir" | "call_tir_with_grad" | "call_tir_inplace" | "call_dps_packed", [callee, inputs, rest @ ..]) => {
                self.call_tir(id, callee, inputs, rest)?
            }
            ("make_closure", [Value::Closure(closure), Value::Tuple(last)]) => {
                self.partial(id, &closure.clone(), last.clone().items())?
            }
            ("invoke_closure" | "invoke_pure_closure", [closure, Value::Tuple(args)]) => {
                return self.call(id, closure.clone(), args.items().to_vec());
            }
            ("call_pure_packed" | "call_inplace_packed", [callee, rest @ ..]) => {
                return self.call(id, callee.clone(), rest.to_vec());
            }
            ("call_builtin_with_ctx" | "call_py_func", [callee, ..]) => return self.call(id, callee.clone(), Vec::new()),
            ("builtin.alloc_tensor", [Value::Shape(shape), Value::Word(dtype), ..])
            | ("memory.alloc_tensor" | "vm.alloc_tensor", [_, _, Value::Shape(shape), Value::Word(dtype), ..]) => {
                let dtype = DType::parse(self.store.str(*dtype)).unwrap_or(DType::F32);
                cell(self.zeros(id, shape, dtype)?)
            }
            (
                "memory.alloc_storage" | "vm.alloc_storage" | "memory.kill_storage" | "memory.kill_tensor" | "vm.kill_object",
                _,
            )
            | ("null_value" | "print", _) => Value::unit(),
            ("assert_op", [condition, ..]) => {
                let holds = tensor_of(condition).and_then(|tensor| read_scalar::<f64>(&tensor).ok());
                match holds {
                    Some(0.0) => {
                        let text = self.assertion(&args[1..]);
                        return Err(self.fail(id, text));
                    }
                    Some(_) => Value::unit(),
                    None => return Err(self.fail(id, "the condition is no truth value that is known")),
                }
            }
            ("memory.view", [value, shape, dtype, offset]) => {
                let Some(tensor) = tensor_of(value) else {
                    return Err(self.fail(id, format!("{} has no memory to view", value.kind())));
                };
                cell(self.view(&tensor, shape, dtype, offset).map_err(|why| self.fail(id, why))?)
            }
            ("shape_of", [value]) => match tensor_of(value) {
                Some(tensor) => Value::Shape(tensor.shape.clone()),
                None => return Err(self.fail(id, format!("{} has no shape", value.kind()))),
            },
            ("shape_to_tensor", [Value::Shape(shape)]) => {
                let made = write(DType::I64, &[shape.len() as i64], shape);
                Value::Tensor(made.map_err(|error| self.fail(id, error.0))?)
            }
            ("tensor_to_shape", [value]) => match tensor_of(value).and_then(|tensor| read::<i64>(&tensor).ok()) {
                Some(extents) => Value::Shape(extents.into()),
                None => return Err(self.fail(id, "only tensors of integers become shapes")),
            },
            ("size", [value]) => match tensor_of(value) {
                Some(tensor) => Value::Tensor(int64(tensor.len() as i64)),
                None => return Err(self.fail(id, format!("{} has no size", value.kind()))),
            },
            (name, _) if name.starts_with("inspect.") => self.inspected(id, name, &args)?,
            _ => {
                let (attrs, ty) = (self.store.call(id).and_then(|call| call.attrs), self.store.checked_type(id));
                let known = self.symbols().clone();
                let out = match ty {
                    Some(ty) => substitute(self.store, ty, &known),
                    None => self.store.ty(Type::Any),
                };
                let args: Vec<Value> = args.into_iter().map(read_cells).collect();
                let tensors = args.iter().filter_map(Value::as_tensor);
                let work = crate::eval::work_of(crate::ops::info(op).name, tensors, crate::eval::elements_of(self.store, out));
                if work > self.work {
                    return Err(EvalFailure { code: "eval-fuel", ..self.fail(id, crate::eval::TOO_MUCH) });
                }
                self.work -= work;
                match compute(self.store, op, Operands { args: &args, attrs, out }) {
                    Ok(value) => value,
                    Err(error) => return Err(EvalFailure { code: error.code, ..self.fail(id, error.message) }),
                }
            }
        }))
    }

    pub(super) fn zeros(&self, id: ExprId, shape: &[i64], dtype: DType) -> Result<Tensor, EvalFailure> {
        let n = count(shape, dtype).map_err(|error| self.fail(id, error.0))?;
        Ok(Tensor::new(dtype, shape, vec![0u8; n * dtype.bytes()]))
    }

    /// Returns a property of a tensor as a scalar (`R.inspect.…`). Tensors are dense and begin where their memory does.
    fn inspected(&self, id: ExprId, name: &str, args: &[Value]) -> Result<Value, EvalFailure> {
        let Some(tensor) = args.first().and_then(tensor_of) else { return Err(self.fail(id, "only tensors are inspected")) };
        let axis = args.get(1).and_then(tensor_of).and_then(|axis| read_scalar::<i64>(&axis).ok());
        let at = axis.and_then(|axis| usize::try_from(axis).ok()).filter(|axis| *axis < tensor.shape.len());
        let (value, dtype) = match (name, at) {
            ("inspect.tensor_dtype_code", _) => (tensor.dtype.code as i64, DType::U8),
            ("inspect.tensor_dtype_bits", _) => (i64::from(tensor.dtype.bits), DType::U8),
            ("inspect.tensor_dtype_lanes", _) => (i64::from(tensor.dtype.lanes), DType::parse("uint16").unwrap_or(DType::I32)),
            ("inspect.tensor_ndim", _) => (tensor.shape.len() as i64, DType::I32),
            ("inspect.tensor_shape_i", Some(at)) => (tensor.shape[at], DType::I64),
            ("inspect.tensor_stride_i", Some(at)) => (tensor.shape[at + 1..].iter().product(), DType::I64),
            ("inspect.tensor_byte_offset" | "inspect.tensor_elem_offset", _) => (0, DType::I64),
            _ => return Err(self.fail(id, format!("the tensor has {} axes", tensor.shape.len()))),
        };
        write(dtype, &[], &[value]).map(Value::Prim).map_err(|error| self.fail(id, error.0))
    }

    /// Runs `R.call_tir(program, inputs)`, with the values of symbols behind them where some are given. The outputs of
    /// a program that works in place are the named inputs.
    fn call_tir(&mut self, id: ExprId, callee: &Value, inputs: &Value, rest: &[Value]) -> Result<Value, EvalFailure> {
        let program = match callee {
            Value::Closure(closure) => self.store.expr(closure.function),
            Value::Word(name) => return self.write_linked(id, *name, inputs),
            other => return Err(self.fail(id, format!("{} cannot be called", other.kind()))),
        };
        let crate::ir::Expr::PrimFunc(program) = program else {
            return Err(self.unable(id, "only tensor programs write their outputs"));
        };
        let inputs: Vec<Value> = match inputs {
            Value::Tuple(fields) => fields.items().iter().cloned().map(read_cells).collect(),
            other => vec![read_cells(other.clone())],
        };
        let mut given = Vec::with_capacity(inputs.len() + 1);
        for input in &inputs {
            given.push(match input {
                Value::Tensor(tensor) => Given::Tensor(tensor.clone()),
                Value::Prim(number) => Given::Scalar(number.clone()),
                other => return Err(self.fail(id, format!("a tensor program is given {}", other.kind()))),
            });
        }
        let call = self.store.call(id);
        let ty = self.output_type(id)?;
        let (types, is_tuple) = match self.store.type_of_id(ty) {
            Type::Tuple(types) => (types.to_vec(), true),
            _ => (vec![ty], false),
        };
        let in_place = self.store.attr_ints(call.and_then(|call| call.attrs), "inplace_indices").unwrap_or_default();
        let mut wanted = Vec::with_capacity(types.len());
        for (index, ty) in types.into_iter().enumerate() {
            match in_place.get(index).and_then(|input| usize::try_from(*input).ok()) {
                Some(input) => wanted.push(input),
                None => {
                    let (dtype, shape) = self.fixed(id, ty)?;
                    wanted.push(given.len());
                    given.push(Given::Output(dtype, shape));
                }
            }
        }
        if let Some(Value::Shape(values)) = rest.first() {
            given.extend(values.iter().map(|value| Given::Scalar(int64(*value))));
        }
        let made = self.run_program(id, program, &given, &wanted)?;
        let made: Vec<Value> = made.into_iter().map(Value::Tensor).collect();
        if is_tuple {
            return Ok(Value::tuple(made));
        }
        made.into_iter().next().ok_or_else(|| self.fail(id, "the program has no output"))
    }

    /// The type that a call says it gives, with the values of symbols.
    pub(super) fn output_type(&mut self, id: ExprId) -> Result<TypeId, EvalFailure> {
        let info = self.store.call(id).and_then(|call| call.info);
        let ty = info.and_then(|info| self.store.call_info(info).type_args.first().copied()).or(self.store.checked_type(id));
        let known = self.symbols().clone();
        match ty {
            Some(ty) => Ok(substitute(self.store, ty, &known)),
            None => Err(self.fail(id, "the type of the output is not known")),
        }
    }

    pub(super) fn fixed(&self, id: ExprId, ty: TypeId) -> Result<(DType, Vec<i64>), EvalFailure> {
        let known = match self.store.type_of_id(ty) {
            Type::Tensor { shape, dtype } => {
                shape.iter().map(|dim| dim.known()).collect::<Option<Vec<i64>>>().map(|shape| (*dtype, shape))
            }
            Type::PartialTensor(info) => match (&info.extents, info.dtype) {
                (crate::ir::Extents::Known(dims), Some(dtype)) => {
                    dims.iter().map(|dim| dim.known()).collect::<Option<Vec<i64>>>().map(|shape| (dtype, shape))
                }
                _ => None,
            },
            _ => None,
        };
        known.ok_or_else(|| {
            let ty = crate::print::relax_ty(self.store, ty);
            self.fail(id, format!("the output has the type {ty}, of which not all is known"))
        })
    }

    /// Runs a tensor program that is called directly; it writes into the memory of its arguments.
    pub(super) fn write_into(&mut self, id: ExprId, program: Id<PrimFunc>, args: &[Value]) -> Result<Value, EvalFailure> {
        let mut given = Vec::with_capacity(args.len());
        for arg in args {
            match arg {
                Value::Ref(_) | Value::Tensor(_) => given.extend(tensor_of(arg).map(Given::Tensor)),
                Value::Prim(number) => given.push(Given::Scalar(number.clone())),
                Value::Shape(values) => given.extend(values.iter().map(|value| Given::Scalar(int64(*value)))),
                other => return Err(self.fail(id, format!("a tensor program is given {}", other.kind()))),
            }
        }
        let is_buffer = |index: &usize| {
            let params = &self.store.prim_func(program).params;
            matches!((&args[*index], params.get(*index)), (Value::Ref(_), Some(PrimParam::Buffer(_))))
        };
        let wanted: Vec<usize> = (0..args.len()).filter(is_buffer).collect();
        let made = self.run_program(id, program, &given, &wanted)?;
        for (index, tensor) in wanted.into_iter().zip(made) {
            if let Value::Ref(cell) = &args[index] {
                cell.set(Value::Tensor(tensor));
            }
        }
        Ok(Value::unit())
    }

    fn run_program(
        &self,
        id: ExprId,
        program: Id<PrimFunc>,
        given: &[Given],
        wanted: &[usize],
    ) -> Result<Vec<Tensor>, EvalFailure> {
        let function = self.store.prim_func(program);
        // The cost of a node is much larger than that of a program's step.
        let made = run_prim_func(self.store, function, given, wanted, self.fuel.saturating_mul(20).min(self.work));
        made.map_err(|e| EvalFailure { code: e.code, ..self.fail(id, e.message) })
    }
}

/// A number as Python writes it.
fn plain(number: &Tensor) -> String {
    match number.dtype {
        DType::BOOL => if read_scalar::<i64>(number) == Ok(0) { "False" } else { "True" }.to_owned(),
        dtype if dtype.is_float() => read_scalar::<f64>(number).map_or_else(|error| error.0, |value| format!("{value:?}")),
        _ => read_scalar::<i64>(number).map_or_else(|error| error.0, |value| value.to_string()),
    }
}

/// Returns the tensor in a value, also that of a cell, and a scalar as a tensor.
pub(super) fn tensor_of(value: &Value) -> Option<Tensor> {
    match value {
        Value::Tensor(tensor) | Value::Prim(tensor) => Some(tensor.clone()),
        Value::Ref(cell) => cell.get().as_tensor().cloned(),
        _ => None,
    }
}
