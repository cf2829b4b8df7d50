//! CallTIRRewrite: allocates the outputs of tensor programs before the call, which becomes a plain one.
//!
//! Source: `src/relax/transform/call_tir_rewrite.cc`.

use super::calls::{args, devices, dtype, fields, int, op, op_name, shape, string, tuple};
use crate::build::{BlockMutator, Mutation, rewrite_module};
use crate::ir::walk::leaf_types;
use crate::ir::{Expr, ExprId, Extents, Id, Module, Object, Store, Type, TypeId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `relax.transform.CallTIRRewrite`.
pub static SPEC: PassSpec = PassSpec {
    name: "CallTIRRewrite",
    info_name: "CallTIRRewrite",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Allocates the outputs of tensor programs and calls them directly.",
    doc: explained("`R.call_tir` says what comes out; what runs writes into memory that it is given. The pass allocates a tensor for \
every output (`R.builtin.alloc_tensor`) and passes it behind the inputs; for `R.call_tir_inplace` an output that is written \
over an input is that input. `R.call_dps_packed` is treated alike. The shape of every output has to be known."),
    example_before: explained("\
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def exp(A: T.Buffer((T.int64(2),), \"float32\"), B: T.Buffer((T.int64(2),), \"float32\")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"relax.force_pure\": True})
        cls = Module
        y = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((2,), dtype=\"float32\"))
        return y
"),
    example_after: explained("\
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def exp(A: T.Buffer((T.int64(2),), \"float32\"), B: T.Buffer((T.int64(2),), \"float32\")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"relax.force_pure\": True})
        cls = Module
        alloc: R.Tensor((2,), dtype=\"float32\") = R.builtin.alloc_tensor(R.shape([2]), R.dtype(\"float32\"), 0, R.str(\"global\"), ty_args=(R.Tensor((2,), dtype=\"float32\"),))
        cls.exp(x, alloc)
        y: R.Tensor((2,), dtype=\"float32\") = alloc
        return y
"),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let devices = devices(cx.store, module);
    rewrite_module(cx.store, module, &mut Rewrite { devices })
}

struct Rewrite {
    devices: Vec<Id<Object>>,
}

impl BlockMutator for Rewrite {
    fn rule(&self) -> &'static str {
        "outputs allocated"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        ["call_tir", "call_tir_inplace", "call_dps_packed"].contains(&op_name(store, id))
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let name = op_name(store, post);
        if !["call_tir", "call_tir_inplace", "call_dps_packed"].contains(&name) {
            return post;
        }
        match self.lower(store, cx, post, name == "call_tir_inplace") {
            Ok(result) => result,
            Err(message) => {
                cx.builder.error("call-tir-rewrite", message, store.source_span(post));
                post
            }
        }
    }
}

impl Rewrite {
    fn lower(&self, store: &mut Store, cx: &mut Mutation, call: ExprId, in_place: bool) -> Result<ExprId, String> {
        let given = args(store, call);
        let (Some(&callee), Some(&inputs)) = (given.first(), given.get(1)) else {
            return Err("a call of a tensor program takes the program and its arguments".to_owned());
        };
        let mut operands = fields(store, inputs).unwrap_or_else(|| vec![inputs]);
        let ty = store.checked_type(call).ok_or("the call has no type")?;
        let outputs = flat(store, ty)?;
        let over: Vec<i64> = match in_place {
            true => store.attr_ints(store.call(call).and_then(|call| call.attrs), "inplace_indices").unwrap_or_default(),
            false => vec![-1; outputs.len()],
        };
        let mut results = Vec::with_capacity(outputs.len());
        let mut new = Vec::new();
        for (at, output) in outputs.into_iter().enumerate() {
            let input = over.get(at).and_then(|index| usize::try_from(*index).ok()).and_then(|index| operands.get(index));
            results.push(match input {
                Some(input) => *input,
                None => {
                    let alloc = self.allocate(store, cx, output)?;
                    new.push(alloc);
                    alloc
                }
            });
        }
        operands.extend(new);
        let run = store.add_call(callee, &operands, None);
        cx.builder.emit(store, run, "_");
        Ok(rebuilt(store, ty, &mut results.into_iter()).unwrap_or(call))
    }

    fn allocate(&self, store: &mut Store, cx: &mut Mutation, ty: TypeId) -> Result<ExprId, String> {
        let info = store.tensor_info(ty).ok_or("call_tir expects tensors")?;
        let (Extents::Known(dims), Some(element)) = (info.extents, info.dtype) else {
            let given = crate::ir::show_type(store, ty);
            return Err(format!("call_tir expects all TensorType has shape, but got {given}"));
        };
        let scope_of = |device: Id<Object>| store.object_str(device, "memory_scope").unwrap_or("global");
        let (index, scope) = match info.vdevice {
            Some(device) => {
                let found = self.devices.iter().position(|other| *other == device);
                (found.ok_or("The vdevice is not in the ir_module.")?, scope_of(device).to_owned())
            }
            None => (self.devices.iter().position(|other| scope_of(*other) == "global").unwrap_or(0), "global".to_owned()),
        };
        let operands = [shape(store, &dims), dtype(store, element), int(store, index as i64), string(store, &scope)];
        let callee = op(store, "builtin.alloc_tensor");
        let operands = store.list(&operands);
        let info = store.add_call_info(None, &[ty]);
        let alloc = store.add_typed(Expr::Call { callee, args: operands, info }, Some(ty));
        Ok(cx.builder.emit(store, alloc, "alloc"))
    }
}

/// Returns the tensors in a type, in order.
fn flat(store: &Store, ty: TypeId) -> Result<Vec<TypeId>, String> {
    let found: Vec<TypeId> = leaf_types(store, ty).collect();
    match found.iter().all(|ty| store.tensor_info(*ty).is_some()) {
        true => Ok(found),
        false => Err("call_tir expects a tensor or a tuple of tensors".to_owned()),
    }
}

/// Rebuilds a value of this type from its tensors. Types nest as deep as the parser's limit on brackets.
fn rebuilt(store: &mut Store, ty: TypeId, tensors: &mut dyn Iterator<Item = ExprId>) -> Option<ExprId> {
    let Type::Tuple(types) = store.type_of_id(ty).clone() else { return tensors.next() };
    let mut fields = Vec::with_capacity(types.len());
    for ty in types.iter() {
        fields.push(rebuilt(store, *ty, tensors)?);
    }
    Some(tuple(store, &fields))
}

/// True if a call calls a function of TIR in the module.
pub(super) fn calls_prim_func(store: &Store, module: &Module, call: ExprId) -> bool {
    let Some(call) = store.call(call) else { return false };
    let Expr::Global(name) = store.expr(call.callee) else { return false };
    module.function(name).is_some_and(|function| matches!(store.expr(function), Expr::PrimFunc(_)))
}
