//! LowerAllocTensor: allocates separate memory for each tensor.
//!
//! Source: `src/relax/transform/lower_alloc_tensor.cc`.

use super::calls::{args, call, call_typed, dtype, extents, int, op_name, shape};
use crate::build::{BlockMutator, Mutation, rewrite_function};
use crate::ir::rewrite::Visit;
use crate::ir::{DType, Dim, Expr, ExprId, Module, PrimOp, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir;

/// TVM's `relax.transform.LowerAllocTensor`.
pub static SPEC: PassSpec = PassSpec {
    name: "LowerAllocTensor",
    info_name: "LowerAllocTensor",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Allocates memory for every tensor that still has none.",
    doc: explained("What `StaticPlanBlockMemory` did not plan gets memory of exactly its size: `R.builtin.alloc_tensor` becomes \
`R.memory.alloc_storage` and `R.memory.alloc_tensor` at its beginning.\n\n\
Known divergence: the sizes of textures of OpenCL (memory scopes other than `global`) are not computed."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor((2, 3), dtype=\"float32\"):
        y: R.Tensor((2, 3), dtype=\"float32\") = R.builtin.alloc_tensor(R.shape([2, 3]), R.dtype(\"float32\"), 0, R.str(\"global\"))
        return y
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor((2, 3), dtype=\"float32\"):
        storage: R.Any = R.memory.alloc_storage(R.shape([24]), 0, R.str(\"global\"), R.dtype(\"uint8\"))
        y: R.Tensor((2, 3), dtype=\"float32\") = R.memory.alloc_tensor(storage, 0, R.shape([2, 3]), R.dtype(\"float32\"), 0)
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
        "memory for a tensor"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        op_name(store, id) == "builtin.alloc_tensor"
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        if op_name(store, id) != "builtin.alloc_tensor" {
            return Visit::Descend;
        }
        let [size, element, device, scope] = args(store, id)[..] else { return Visit::Descend };
        let (Some(dims), Expr::DataType(elements)) = (extents(store, size), store.expr(element)) else {
            let message = "Shape argument for builtin.alloc_tensor should be a ShapeExpr, or a variable that holds a ShapeExpr.";
            cx.builder.error("lower-alloc-tensor", message, store.source_span(id));
            return Visit::Keep;
        };
        let bytes = bytes(store, elements, &dims);
        let operands = [shape(store, &[bytes]), device, scope, dtype(store, DType::U8)];
        let storage = call(store, "memory.alloc_storage", &operands);
        let storage = cx.builder.emit(store, storage, "storage");
        let operands = [storage, int(store, 0), size, element, device];
        Visit::Replace(match store.checked_type(id) {
            Some(ty) => call_typed(store, "memory.alloc_tensor", &operands, ty),
            None => call(store, "memory.alloc_tensor", &operands),
        })
    }
}

/// Returns the size of a tensor in bytes.
fn bytes(store: &mut Store, element: DType, dims: &[Dim]) -> Dim {
    let mut bytes = store.prim_int(element.bytes() as i64, DType::I64);
    for dim in dims {
        let extent = store.prim_of_dim(*dim);
        bytes = tir::binary(store, PrimOp::Mul, bytes, extent);
    }
    store.dim_of_prim(bytes)
}
