//! LowerGPUIPCAllocStorage: lets the runtime allocate memory that processes share.
//!
//! Source: `python/tvm/relax/transform/lower_gpu_ipc_alloc_storage.py`.

use super::calls::{args, call, int, op_name, packed};
use crate::build::{BlockMutator, Mutation, rewrite_module_by_name};
use crate::ir::rewrite::Visit;
use crate::ir::{Expr, ExprId, Module, Store, Type};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `relax.transform.LowerGPUIPCAllocStorage`.
pub static SPEC: PassSpec = PassSpec {
    name: "LowerGPUIPCAllocStorage",
    info_name: "LowerGPUIPCAllocStorage",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Allocates memory that GPU processes share through the runtime.",
    doc: explained("Memory and tensors of the scope `ipc_memory` come from `runtime.disco.cuda_ipc.alloc_storage`; the tensor stands at its \
beginning. Other scopes are left alone."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main() -> R.Tensor((4,), dtype=\"float16\"):
        R.func_attr({\"relax.force_pure\": True})
        x: R.Tensor((4,), dtype=\"float16\") = R.builtin.alloc_tensor(R.shape([4]), R.dtype(\"float16\"), 0, R.str(\"ipc_memory\"))
        return x
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function
    def main() -> R.Tensor((4,), dtype=\"float16\"):
        R.func_attr({\"relax.force_pure\": True})
        gv: R.Any = R.call_packed(\"runtime.disco.cuda_ipc.alloc_storage\", R.shape([4]), R.dtype(\"float16\"), ty_args=(R.Any,))
        x: R.Tensor((4,), dtype=\"float16\") = R.memory.alloc_tensor(gv, 0, R.shape([4]), R.dtype(\"float16\"), 0)
        return x
"),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    rewrite_module_by_name(cx.store, module, &mut Lower)
}

struct Lower;

impl BlockMutator for Lower {
    fn rule(&self) -> &'static str {
        "memory that processes share"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        ["memory.alloc_storage", "builtin.alloc_tensor"].contains(&op_name(store, id))
    }

    fn enter(&mut self, store: &mut Store, _: &mut Mutation, id: ExprId) -> Visit {
        let given = args(store, id);
        let shared =
            |store: &Store, scope: ExprId| matches!(store.expr(scope), Expr::Str(text) if store.str(text) == "ipc_memory");
        let any = store.ty(Type::Any);
        match (op_name(store, id), &given[..]) {
            ("memory.alloc_storage", [size, _, scope, dtype]) if shared(store, *scope) => {
                let ty = store.checked_type(id).unwrap_or(any);
                Visit::Replace(packed(store, ALLOC, &[*size, *dtype], ty))
            }
            ("builtin.alloc_tensor", [size, dtype, device, scope]) if shared(store, *scope) => {
                let storage = packed(store, ALLOC, &[*size, *dtype], any);
                let zero = int(store, 0);
                Visit::Replace(call(store, "memory.alloc_tensor", &[storage, *device, *size, *dtype, zero]))
            }
            _ => Visit::Descend,
        }
    }
}

const ALLOC: &str = "runtime.disco.cuda_ipc.alloc_storage";
