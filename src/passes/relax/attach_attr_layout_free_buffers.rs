//! AttachAttrLayoutFreeBuffers: marks the inputs of tensor programs that may have any layout.
//!
//! Source: `src/relax/transform/attach_attr_layout_free_buffers.cc`.

use super::calls::{args, fields, op_name};
use crate::build::{BlockBuilder, BlockMutator, Mutation, run as rewrite};
use crate::ir::rewrite::Visit;
use crate::ir::{AttrValue, Expr, ExprId, Id, Module, PrimFunc, Store, VarId};
use crate::pass::{Args, Inner, Part, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::Copier;
use rustc_hash::FxHashSet;

/// TVM's `relax.transform.AttachAttrLayoutFreeBuffers`.
pub static SPEC: PassSpec = PassSpec {
    name: "AttachAttrLayoutFreeBuffers",
    info_name: "AttachAttrLayoutFreeBuffers",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Tells tensor programs which of their inputs are weights.",
    doc: explained("The layout of a weight can be chosen ahead, when nothing else uses it: weights are constants and the parameters \
behind the first `num_input`. Every tensor program that is called gets the attribute `layout_free_buffers` with the places of such \
inputs; a program that is called with weights in different places becomes several. Programs that nobody calls any more are \
removed."),
    example_before: explained("\
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add(A: T.Buffer((T.int64(2),), \"float32\"), B: T.Buffer((T.int64(2),), \"float32\"), C: T.Buffer((T.int64(2),), \"float32\")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\"), w: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"num_input\": 1})
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.add, (x, w), out_ty=R.Tensor((2,), dtype=\"float32\"))
            R.output(gv)
        return gv
"),
    example_after: explained("\
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add1(A: T.Buffer((T.int64(2),), \"float32\"), B: T.Buffer((T.int64(2),), \"float32\"), C: T.Buffer((T.int64(2),), \"float32\")):
        T.func_attr({\"layout_free_buffers\": [1]})
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\"), w: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"num_input\": 1})
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.add1, (x, w), out_ty=R.Tensor((2,), dtype=\"float32\"))
            R.output(gv)
        return gv
"),
    run: Run::Sequential(|_| vec![Part::Inner(&INNER), Part::call("DeadCodeElimination()")]),
};

static INNER: Inner = Inner { info_name: "_AttachAttrLayoutFreeBuffers", opt_level: 0, run: Run::Module(run) };

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let builder = BlockBuilder::new(module);
    let mut under_way = Mutation::new(builder);
    for &(name, function) in module.functions() {
        let Expr::Function(id) = store.expr(function) else { continue };
        let data = *store.function(id);
        let mut attach = Attach { module, free: FxHashSet::default() };
        if let Some(inputs) = store.attr_int(data.attrs, "num_input") {
            attach.free.extend(store.items(data.params).skip(inputs.max(0) as usize));
        }
        under_way.forget();
        let new = rewrite(store, &mut under_way, &mut attach, function);
        under_way.builder.update_function(store, name, new);
    }
    under_way.builder.finish()
}

struct Attach<'m> {
    module: &'m Module,
    /// Parameters that are weights.
    free: FxHashSet<VarId>,
}

impl BlockMutator for Attach<'_> {
    fn rule(&self) -> &'static str {
        "weights of a tensor program"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        op_name(store, id) == "call_tir"
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        if op_name(store, id) != "call_tir" {
            return Visit::Descend;
        }
        let (Some(call), [callee, inputs, ..]) = (store.call(id), &args(store, id)[..]) else { return Visit::Descend };
        let (Expr::Global(name), Some(given)) = (store.expr(*callee), fields(store, *inputs)) else { return Visit::Descend };
        let Some(Expr::PrimFunc(program)) = self.module.function(name).map(|function| store.expr(function)) else {
            return Visit::Descend;
        };
        let is_free = |store: &Store, input: ExprId| match store.expr(input) {
            Expr::Constant(_) => true,
            Expr::Var(var) => self.free.contains(&var),
            _ => false,
        };
        let places: Vec<i64> = (0..given.len()).filter(|at| is_free(store, given[*at])).map(|at| at as i64).collect();
        let program = copy(store, program, &places);
        let hint = store.str(name).to_owned();
        let program = cx.builder.add_function(store, program, &hint);
        let mut operands = args(store, id);
        operands[0] = program;
        let operands = store.list(&operands);
        let ty = store.checked_type(id);
        let node = Expr::Call { callee: call.callee, args: operands, info: call.info };
        Visit::Replace(store.add_typed(node, ty))
    }
}

/// Copies the program with the attribute, and with buffers and variables of its own.
fn copy(store: &mut Store, program: Id<PrimFunc>, places: &[i64]) -> ExprId {
    let copy = Copier::default().program(store, program);
    // Integers in attributes of TIR have 64 bits.
    let places = AttrValue::Array(places.iter().map(|&value| AttrValue::Int { value, bits: 64 }).collect());
    let attrs = Some(store.with_attr(copy.attrs, "layout_free_buffers", places));
    let program = store.add_prim_func(PrimFunc { attrs, ..copy });
    store.add(Expr::PrimFunc(program))
}
