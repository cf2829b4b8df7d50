//! LowerRuntimeBuiltin: replaces the remaining operators by functions of the virtual machine.
//!
//! Source: `src/relax/backend/vm/lower_runtime_builtin.cc`, `src/relax/op/memory/view.cc` (`FLowerBuiltin`).

use super::calls::{args, call, call_typed, dtype, external, fields, int, op, op_name, packed, shape, string, tuple};
use crate::build::{BlockMutator, Mutation, rewrite_function};
use crate::ir::{AttrValue, DType, Expr, ExprId, Extents, Module, Store, Type};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::device_type;

/// TVM's `relax.transform.LowerRuntimeBuiltin`.
pub static SPEC: PassSpec = PassSpec {
    name: "LowerRuntimeBuiltin",
    info_name: "LowerRuntimeBuiltin",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Turns memory, shapes and closures into calls of the virtual machine.",
    doc: explained("Operators that are no tensor programs become what the virtual machine offers: memory becomes `R.vm.alloc_storage`, \
`R.vm.alloc_tensor` and `R.vm.kill_object`; `R.reshape`, `R.shape_of`, `R.tensor_to_shape`, `R.to_vdevice`, `R.make_closure` \
and their kin become calls of `vm.builtin.*`; views become `runtime.TVMTensorCreateView`. A `R.builtin.alloc_tensor` that is \
still there is an error: `LowerAllocTensor` comes before."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor((6,), dtype=\"float32\"):
        R.func_attr({\"relax.force_pure\": True})
        y: R.Tensor((6,), dtype=\"float32\") = R.reshape(x, R.shape([6]))
        return y
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor((6,), dtype=\"float32\"):
        R.func_attr({\"relax.force_pure\": True})
        y: R.Tensor((6,), dtype=\"float32\") = R.call_packed(\"vm.builtin.reshape\", x, R.shape([6]), ty_args=(R.Tensor((6,), dtype=\"float32\"),))
        return y
"),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    rewrite_function(cx.store, module, function, &mut Lower)
}

struct Lower;

impl BlockMutator for Lower {
    fn rule(&self) -> &'static str {
        "operator to builtin"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        let name = op_name(store, id);
        let by_kind = ["vm.", "memory.", "builtin."].iter().any(|kind| name.starts_with(kind));
        by_kind || LOWERED.contains(&name)
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        match lower(store, cx, post) {
            Ok(result) => result.unwrap_or(post),
            Err(message) => {
                cx.builder.error("lower-runtime-builtin", message, store.source_span(post));
                post
            }
        }
    }
}

/// Operators that are lowered, besides those of the machine and of memory.
const LOWERED: [&str; 7] =
    ["reshape", "shape_of", "tensor_to_shape", "call_py_func", "to_vdevice", "make_closure", "invoke_closure"];

/// Returns the replacement of a call; `None` when it stays.
fn lower(store: &mut Store, cx: &Mutation, id: ExprId) -> Result<Option<ExprId>, String> {
    let name = op_name(store, id);
    if name.is_empty() {
        return Ok(None);
    }
    let given = args(store, id);
    let any = store.ty(Type::Any);
    let ty = store.checked_type(id).unwrap_or(any);
    Ok(Some(match (name, &given[..]) {
        ("vm.call_tir_dyn", [callee, tuple]) => {
            let mut operands = vec![*callee];
            operands.extend(fields(store, *tuple).ok_or("call_tir_dyn takes a tuple")?);
            let void = store.tuple_type(&[]);
            packed(store, "vm.builtin.call_tir_dyn", &operands, void)
        }
        ("reshape", [_, to]) => {
            if !store.checked_type(*to).is_some_and(|ty| matches!(store.type_of_id(ty), Type::Shape(_))) {
                return Err(
                    "VMBuiltinLower expects the shape arg of R.reshape to be a ShapeExpr or VarNode bound to a ShapeExpr."
                        .to_owned(),
                );
            }
            packed(store, "vm.builtin.reshape", &given, ty)
        }
        ("shape_of", [_]) => packed(store, "vm.builtin.shape_of", &given, ty),
        ("tensor_to_shape", [_]) => packed(store, "vm.builtin.tensor_to_shape", &given, ty),
        ("call_py_func", [_, _]) => {
            let both = tuple(store, &given);
            packed(store, "vm.builtin.call_py_func", &[both], ty)
        }
        ("to_vdevice", [data]) => {
            let attrs = store.call(id).and_then(|call| call.attrs);
            let Some(AttrValue::Object(device)) = store.attr(attrs, "dst_vdevice") else { return Ok(None) };
            let device = *device;
            let number = store.object_field(device, "vdevice_id").and_then(|id| store.value_int(id)).unwrap_or(0);
            let kind = device_type(store.vdevice_kind(device));
            let scope = store.object_str(device, "memory_scope").unwrap_or("global").to_owned();
            let operands = [*data, int(store, kind), int(store, number), string(store, &scope)];
            // The attributes stay, though the operands have the same values.
            let callee = external(store, "vm.builtin.to_device");
            let (operands, info) = (store.list(&operands), store.add_call_info(attrs, &[ty]));
            store.add_typed(Expr::Call { callee, args: operands, info }, Some(ty))
        }
        ("make_closure", [function, captured]) => {
            let mut operands = vec![*function];
            operands.extend(fields(store, *captured).ok_or("make_closure takes a tuple")?);
            packed(store, "vm.builtin.make_closure", &operands, any)
        }
        ("invoke_closure", [closure, passed]) => {
            let mut operands = vec![*closure];
            operands.extend(fields(store, *passed).ok_or("invoke_closure takes a tuple")?);
            let operands = tuple(store, &operands);
            let builtin = external(store, "vm.builtin.invoke_closure");
            let callee = op(store, "call_builtin_with_ctx");
            let operands = store.list(&[builtin, operands]);
            let info = store.add_call_info(None, &[any]);
            store.add_typed(Expr::Call { callee, args: operands, info }, Some(any))
        }
        ("builtin.alloc_tensor", _) => {
            return Err("VMBuiltinLower encountered R.builtin.alloc_tensor. This operation should have been lowered earlier \
                        using the 'relax.transform.LowerAllocTensor' pass."
                .to_owned());
        }
        ("memory.alloc_storage", [size, device, scope, _]) => {
            let operands = [*size, *device, dtype(store, DType::U8), *scope];
            call(store, "vm.alloc_storage", &operands)
        }
        ("memory.alloc_tensor", operands) => match store.tensor_info(ty).and_then(|info| info.vdevice) {
            // The rule of the operator does not know the devices of the module.
            Some(_) => call_typed(store, "vm.alloc_tensor", operands, ty),
            None => call(store, "vm.alloc_tensor", operands),
        },
        ("memory.kill_storage" | "memory.kill_tensor", [_]) => call(store, "vm.kill_object", &given),
        ("memory.view", [data, to, element, offset]) => return view(store, cx, [*data, *to, *element, *offset], ty).map(Some),
        ("memory.ensure_zero_offset", [_]) => packed(store, "vm.builtin.ensure_zero_offset", &given, ty),
        _ => return Ok(None),
    }))
}

/// Makes a view, with the operands that the call leaves out.
fn view(store: &mut Store, cx: &Mutation, args: [ExprId; 4], ty: crate::ir::TypeId) -> Result<ExprId, String> {
    let [data, to, element, offset] = args;
    let left_out = |store: &Store, id: ExprId| {
        let ty = store.checked_type(id).map(|ty| store.type_of_id(ty));
        matches!(ty, Some(Type::Tuple(fields)) if fields.is_empty())
    };
    let no_dtype = left_out(store, element) || op_name(store, cx.builder.value_of(store, element)) == "null_value";
    if left_out(store, to) && no_dtype && left_out(store, offset) {
        return Ok(data);
    }
    let info = store.checked_type(data).and_then(|ty| store.tensor_info(ty)).ok_or("R.memory.view takes a tensor")?;
    let to = match (left_out(store, to), info.extents) {
        (false, _) => to,
        (true, Extents::Known(dims)) => shape(store, &dims),
        (true, _) => return Err("Legalization of R.memory.view requires that the input shape is known.".to_owned()),
    };
    let element = match (no_dtype, info.dtype) {
        (false, _) => element,
        (true, Some(known)) => dtype(store, known),
        (true, None) => return Err("Legalization of R.memory.view requires that the input dtype is known.".to_owned()),
    };
    let offset = if left_out(store, offset) { int(store, 0) } else { offset };
    // Its type is derived from its arguments and not written. It has no side effects.
    let symbol = store.name("runtime.TVMTensorCreateView");
    let any = store.ty(Type::Any);
    let pure = store.ty(Type::Callable { params: None, ret: any, pure: true });
    let callee = store.add_typed(Expr::Extern(symbol), Some(pure));
    let operands = store.list(&[data, to, element, offset]);
    Ok(store.add_typed(Expr::Call { callee, args: operands, info: None }, Some(ty)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    /// The search for the span of such a call used not to end.
    #[test]
    fn tensors_that_are_killed_have_a_place_in_the_text_or_none() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((3,), \"float32\")) -> R.Tensor((3,), \
                    \"float32\"):\n        y: R.Tensor((3,), \"float32\") = R.exp(x)\n        z: R.Tensor((3,), \"float32\") = \
                    R.negative(y)\n        return z\n";
        assert!(after(text, "KillAfterLastUse(), LowerRuntimeBuiltin()").contains("R.vm.kill_object(y)"));
    }
}
