//! StaticPlanBlockMemory: lets tensors that are not alive at the same time share memory.
//!
//! Source: `src/relax/transform/static_plan_block_memory.cc`.

mod bound;
mod plan;
mod tokens;

use super::calls::{args, call, call_typed, dtype, extents, int, op_name, shape, string};
use crate::build::{BlockBuilder, BlockMutator, Mutation, run as rewrite};
use crate::ir::rewrite::Visit;
use crate::ir::{Attrs, DType, Dim, Expr, ExprId, Function, Module, PrimOp, Store, TypeId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir;
use bound::Bounds;
use plan::Plan;
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.StaticPlanBlockMemory`.
pub static SPEC: PassSpec = PassSpec {
    name: "StaticPlanBlockMemory",
    info_name: "StaticPlanBlockMemory",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Plans memory, so that tensors share it that are not needed at the same time.",
    doc: explained(
        "Within a block of bindings, a tensor made by `R.builtin.alloc_tensor` gets a place in memory that an earlier one does \
not need any more, when their element types are equal and one is at most 16 times as large. Left alone are tensors that a \
function gives, that another block uses, or that anything but a tensor program or a packed function gets. Extents that are \
variables count as their largest values when the function says those: `R.func_attr({\"tir_var_upper_bound\": {\"n\": 1024}})`, \
`tir_var_lower_bound` and `tir_non_negative_var`. With `relax.memory_plan_dynamic_func_output` the other tensors with symbolic \
extents get memory for their largest shape too. As in TVM, a branch may take memory that only another branch, or a function \
inside, allocates, which leaves a program that is ill-formed.\n\n\
Known divergence: the sizes of textures of OpenCL are not computed; upper bounds of extents with products of bounded \
variables beside unbounded ones are not found.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def exp(A: T.Buffer((T.int64(2),), \"float32\"), B: T.Buffer((T.int64(2),), \"float32\")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"relax.force_pure\": True})
        cls = Module
        a: R.Tensor((2,), dtype=\"float32\") = R.builtin.alloc_tensor(R.shape([2]), R.dtype(\"float32\"), 0, R.str(\"global\"))
        cls.exp(x, a)
        b: R.Tensor((2,), dtype=\"float32\") = R.builtin.alloc_tensor(R.shape([2]), R.dtype(\"float32\"), 0, R.str(\"global\"))
        cls.exp(a, b)
        c: R.Tensor((2,), dtype=\"float32\") = R.builtin.alloc_tensor(R.shape([2]), R.dtype(\"float32\"), 0, R.str(\"global\"))
        cls.exp(b, c)
        d: R.Tensor((2,), dtype=\"float32\") = R.builtin.alloc_tensor(R.shape([2]), R.dtype(\"float32\"), 0, R.str(\"global\"))
        cls.exp(c, d)
        return d
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def exp(A: T.Buffer((T.int64(2),), \"float32\"), B: T.Buffer((T.int64(2),), \"float32\")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"relax.force_pure\": True})
        cls = Module
        storage: R.Any = R.memory.alloc_storage(R.shape([8]), 0, R.str(\"global\"), R.dtype(\"float32\"))
        a: R.Tensor((2,), dtype=\"float32\") = R.memory.alloc_tensor(storage, 0, R.shape([2]), R.dtype(\"float32\"), 0)
        cls.exp(x, a)
        storage1: R.Any = R.memory.alloc_storage(R.shape([8]), 0, R.str(\"global\"), R.dtype(\"float32\"))
        b: R.Tensor((2,), dtype=\"float32\") = R.memory.alloc_tensor(storage1, 0, R.shape([2]), R.dtype(\"float32\"), 0)
        cls.exp(a, b)
        c: R.Tensor((2,), dtype=\"float32\") = R.memory.alloc_tensor(storage, 0, R.shape([2]), R.dtype(\"float32\"), 0)
        cls.exp(b, c)
        d: R.Tensor((2,), dtype=\"float32\") = R.builtin.alloc_tensor(R.shape([2]), R.dtype(\"float32\"), 0, R.str(\"global\"))
        cls.exp(c, d)
        return d
",
    ),
    run: Run::Module(run),
};

/// The attribute that requests memory for everything with symbolic extents.
const DYNAMIC: &str = "relax.memory_plan_dynamic_func_output";

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let mut bounds = Bounds::default();
    let planned = match plan::plan(store, module, &mut bounds) {
        Ok(plan) => plan,
        Err(message) => return Err(vec![crate::diag::Diagnostic::error("static-plan-block-memory", message, None)]),
    };
    let builder = BlockBuilder::new(module);
    let mut under_way = Mutation::new(builder);
    for &(name, function) in module.functions() {
        let Expr::Function(id) = store.expr(function) else { continue };
        let data = *store.function(id);
        let dynamic = store.attr_int(data.attrs, DYNAMIC).is_some_and(|value| value != 0);
        let mut rewriter = Rewrite { plan: &planned, bounds: &mut bounds, storage: FxHashMap::default(), dynamic };
        under_way.forget();
        let mut new = rewrite(store, &mut under_way, &mut rewriter, function);
        if dynamic && let Expr::Function(id) = store.expr(new) {
            let data = *store.function(id);
            let attrs = data.attrs.map(|attrs| {
                let Attrs { key, fields } = store.attrs_of_id(attrs).clone();
                let fields = fields.into_vec().into_iter().filter(|(name, _)| store.str(*name) != DYNAMIC).collect();
                store.attrs(Attrs { key, fields })
            });
            let ty = store.checked_type(new);
            let data = store.add_function(Function { attrs, ..data });
            new = store.rebuild(new, Expr::Function(data), ty);
        }
        under_way.builder.update_function(store, name, new);
    }
    under_way.builder.finish()
}

struct Rewrite<'p> {
    plan: &'p Plan,
    bounds: &'p mut Bounds,
    /// The memory of tokens that have been allocated already.
    storage: FxHashMap<usize, ExprId>,
    /// True if tensors outside of the plan get memory for their largest shape.
    dynamic: bool,
}

impl BlockMutator for Rewrite<'_> {
    fn rule(&self) -> &'static str {
        "memory that is planned"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        op_name(store, id) == "builtin.alloc_tensor"
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        if op_name(store, id) != "builtin.alloc_tensor" {
            return Visit::Descend;
        }
        let [size, element, device, scope] = args(store, id)[..] else { return Visit::Descend };
        let (Some(ty), Expr::DataType(elements), Some(dims)) =
            (store.checked_type(id), store.expr(element), extents(store, size))
        else {
            return Visit::Descend;
        };
        let storage = match self.plan.token_of(id) {
            Some(token) => self.storage_of(store, cx, token, device),
            None if self.dynamic && dims.iter().any(|dim| dim.known().is_none()) => {
                let largest = self.bounds.largest(store, &dims);
                let bytes = product(store, &largest, elements);
                let operands = [shape(store, &[bytes]), device, scope, element];
                let storage = call(store, "memory.alloc_storage", &operands);
                cx.builder.emit(store, storage, "storage")
            }
            None => return Visit::Descend,
        };
        Visit::Replace(in_storage(store, storage, [size, element, device], ty))
    }
}

impl Rewrite<'_> {
    fn storage_of(&mut self, store: &mut Store, cx: &mut Mutation, token: usize, device: ExprId) -> ExprId {
        if let Some(storage) = self.storage.get(&token) {
            return *storage;
        }
        let token_data = &self.plan.tokens[token];
        let bytes = token_data.bytes(store);
        let (scope, element) = (string(store, &token_data.scope), dtype(store, token_data.dtype));
        let operands = [shape(store, &[bytes]), device, scope, element];
        let storage = call(store, "memory.alloc_storage", &operands);
        let storage = cx.builder.emit(store, storage, "storage");
        self.storage.insert(token, storage);
        storage
    }
}

/// Makes a tensor at the beginning of a piece of memory.
fn in_storage(store: &mut Store, storage: ExprId, [size, element, device]: [ExprId; 3], ty: TypeId) -> ExprId {
    let operands = [storage, int(store, 0), size, element, device];
    call_typed(store, "memory.alloc_tensor", &operands, ty)
}

/// Returns the size of a tensor in bytes, with the element's size as the last factor.
fn product(store: &mut Store, dims: &[Dim], element: DType) -> Dim {
    let mut bytes = None;
    let size = store.prim_int(element.bytes() as i64, DType::I64);
    let extents: Vec<_> = dims.iter().map(|dim| store.prim_of_dim(*dim)).collect();
    for factor in extents.into_iter().chain([size]) {
        bytes = Some(match bytes {
            Some(bytes) => tir::binary(store, PrimOp::Mul, bytes, factor),
            None => factor,
        });
    }
    bytes.map_or(Dim::Int { value: 1, bits: 64 }, |bytes| store.dim_of_prim(bytes))
}
