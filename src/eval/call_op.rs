//! Calls of operators: converts arguments to tensors, runs the kernel, and converts its tensors to a value.

use super::EvalFailure;
use super::machine::Machine;
use super::value::Value;
use crate::ir::{AttrsId, Dim, ExprId, OpId, Store, Tensor, Type, TypeId};
use crate::ops::{self, KernelCx, OpInfo, RuleCx};

/// Operators that return their argument, whatever its kind: they annotate a device or a property.
const TRANSPARENT: [&str; 6] = [
    "on_device",
    "device_copy",
    "annotation.checkpoint",
    "annotation.compiler_begin",
    "annotation.compiler_end",
    "annotation.stop_fusion",
];

impl Machine<'_> {
    pub(super) fn call_op(&mut self, id: ExprId, op: OpId, args: Vec<Value>) -> Result<Value, EvalFailure> {
        let info = ops::info(op);
        if let (true, [value]) = (TRANSPARENT.contains(&info.name), args.as_slice()) {
            return Ok(value.clone());
        }
        // Allocated memory has no value before a kernel writes to it.
        if matches!(info.name, "memory.kill" | "memory.alloc_storage" | "memory.alloc_tensor") {
            return Ok(Value::unit());
        }
        let Some(kernel) = info.kernel else {
            let failure = self.fail(id, format!("`{}` cannot be evaluated here", info.name));
            return Err(EvalFailure { code: "eval-no-kernel", ..failure });
        };
        let inputs = self.inputs(id, info, &args)?;
        let attrs = self.store.call(id).and_then(|call| call.attrs);
        let out_type = match self.store.checked_type(id) {
            Some(ty) if is_known(self.store, ty) => ty,
            known => type_from_values(self.store, info, attrs, &args, known),
        };
        let work = super::work_of(info.name, inputs.iter(), super::elements_of(self.store, out_type));
        if work > self.work {
            return Err(EvalFailure { code: "eval-fuel", ..self.fail(id, super::TOO_MUCH) });
        }
        self.work -= work;
        let operator = (op, attrs, out_type);
        let known = self.results.as_ref().and_then(|results| results.known(operator, &inputs));
        let outputs = match known {
            Some(known) => known,
            None => {
                let cx = KernelCx { store: self.store, attrs, out_type };
                let made = kernel(&cx, &inputs).map_err(|error| self.fail(id, format!("{}: {}", info.name, error.0)))?;
                match &mut self.results {
                    Some(results) => results.keep(operator, inputs, made),
                    None => made,
                }
            }
        };
        let count = outputs.len();
        let mut outputs = outputs.into_iter();
        match assemble(self.store, out_type, &mut outputs) {
            Some(value) if outputs.next().is_none() => Ok(value),
            _ => Err(self.fail(id, format!("`{}` gave {count} tensors, which is not what its type says", info.name))),
        }
    }

    /// Returns the tensors in the arguments, tuples flattened.
    fn inputs(&self, id: ExprId, info: &OpInfo, args: &[Value]) -> Result<Vec<Tensor>, EvalFailure> {
        let mut inputs = Vec::with_capacity(args.len());
        for (index, arg) in args.iter().enumerate() {
            if let Value::Tensor(tensor) = arg
                && tensor.data.is_some()
            {
                inputs.push(tensor.clone());
                continue;
            }
            let role = info.relay_args().get(index).copied().unwrap_or("data");
            let mut left = vec![arg];
            while let Some(value) = left.pop() {
                match value {
                    Value::Tensor(tensor) if tensor.data.is_none() => {
                        return Err(self.fail(
                            id,
                            format!(
                                "`{role}` of `{}` is a constant without value: the text was dumped without its metadata \
                                 section",
                                info.name
                            ),
                        ));
                    }
                    Value::Tensor(tensor) => inputs.push(tensor.clone()),
                    Value::Tuple(fields) => left.extend(fields.items().iter().rev()),
                    other => {
                        let message = format!("`{role}` of `{}` is {}, not a tensor", info.name, other.kind());
                        return Err(self.fail(id, message));
                    }
                }
            }
        }
        Ok(inputs)
    }
}

/// True if all extents in a type of tensors and tuples are numbers.
fn is_known(store: &Store, ty: TypeId) -> bool {
    match store.type_of_id(ty) {
        Type::Tensor { shape, .. } => shape.iter().all(|d| d.known().is_some()),
        Type::Tuple(fields) => fields.iter().all(|f| is_known(store, *f)),
        _ => false,
    }
}

/// Returns the type of the result by the operator's relation over the values, which knows every
/// extent that does not depend on the data. Failing that, `known`, or an unknown type.
fn type_from_values(store: &mut Store, info: &OpInfo, attrs: Option<AttrsId>, args: &[Value], known: Option<TypeId>) -> TypeId {
    let hole = store.hole();
    let mut types: Vec<TypeId> = args.iter().map(|arg| type_of(store, arg)).collect();
    types.push(hole);
    let mut found = None;
    if let Some(rule) = info.relay_rule() {
        let mut unify = |_: &mut Store, a: TypeId, b: TypeId| {
            if a == hole {
                found = Some(b);
            } else if b == hole {
                found = Some(a);
            }
            Ok(())
        };
        let n_inputs = args.len();
        let holds = rule(&mut RuleCx { store, types: &types, n_inputs, attrs, unify: &mut unify });
        if holds != Ok(true) {
            found = None;
        }
    }
    found.or(known).unwrap_or(hole)
}

/// Returns the type of a value of tensors and tuples; a hole for any other value.
fn type_of(store: &mut Store, value: &Value) -> TypeId {
    match value {
        Value::Tensor(tensor) => {
            let shape: Vec<Dim> = tensor.shape.iter().map(|e| Dim::int(*e)).collect();
            store.tensor_type(&shape, tensor.dtype)
        }
        // Tuples among the arguments of an operator are literals, so they do not nest deep.
        Value::Tuple(fields) if fields.items().iter().all(|f| matches!(f, Value::Tensor(_))) => {
            let fields: Vec<TypeId> = fields.items().iter().map(|f| type_of(store, f)).collect();
            store.tuple_type(&fields)
        }
        _ => store.hole(),
    }
}

/// Builds a value of that type from tensors in order. Types nest at most as deep as brackets may.
fn assemble(store: &Store, ty: TypeId, tensors: &mut impl Iterator<Item = Tensor>) -> Option<Value> {
    match store.type_of_id(ty) {
        Type::Tuple(fields) => {
            let fields: Option<Vec<Value>> = fields.iter().map(|f| assemble(store, *f, tensors)).collect();
            Some(Value::tuple(fields?))
        }
        _ => tensors.next().map(Value::Tensor),
    }
}
