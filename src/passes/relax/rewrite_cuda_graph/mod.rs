//! RewriteCUDAGraph: captures kernels with fixed arguments as a CUDA graph, which is launched at once.
//!
//! Does nothing without `relax.backend.use_cuda_graph`. Storage of known size that no result lies in is allocated once, by a
//! function `cuda_graph_alloc` that all functions of the module share. A run of calls whose arguments lie in such storage, in
//! weights (behind `num_input`) or in results of such calls moves into a function of its own, which the runtime captures.
//!
//! Source: `src/relax/transform/rewrite_cuda_graph.cc`.

mod plan;

use super::calls::{args, external, int, op, shape, tuple};
use crate::build::{BlockBuilder, BlockMutator, Mutation, Normalize, function_over, run as rewrite};
use crate::infer::relax::types;
use crate::ir::rewrite::Visit;
use crate::ir::sort::sort_by;
use crate::ir::{AttrValue, Binding, Dim, Expr, ExprId, Extents, Function, Id, Module, Store, Symbol, Type, TypeId, VarId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use plan::{Plan, Region, plan};
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `relax.transform.RewriteCUDAGraph`.
pub static SPEC: PassSpec = PassSpec {
    name: "RewriteCUDAGraph",
    info_name: "RewriteCUDAGraph",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &["relax.backend.use_cuda_graph"],
    summary: "Moves runs of kernels into functions that are captured as CUDA graphs.",
    doc: explained(
        "Does nothing unless `relax.backend.use_cuda_graph` is set. Then, behind *StaticPlanBlockMemory*: all \
`R.memory.alloc_storage` of known size, except those that results lie in, move into a function `cuda_graph_alloc`, which \
the runtime calls once (`vm.builtin.cuda_graph.get_cached_alloc`). Each run of kernel calls that depends on such storage and \
on weights alone moves into a function `..._cuda_graph_capture`: the runtime runs it the first time and launches what it has \
captured from then on (`vm.builtin.cuda_graph.run_or_capture`). Symbols of extents are captured if weights define them or \
the attribute `relax.rewrite_cuda_graph.capture_symbolic_vars` names them.",
    ),
    example_before: "",
    example_after: "",
    run: Run::Module(run),
};

const RULE: &str = "captured as a CUDA graph";

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    if cx.config_int("relax.backend.use_cuda_graph", 0) == 0 {
        return Ok(module.clone());
    }
    let store = &mut *cx.store;
    let plan = plan(store, module);
    let mut under_way = Mutation::new(BlockBuilder::new(module));
    let mut launches: FxHashMap<VarId, Launch> = FxHashMap::default();
    if !plan.allocs.is_empty() {
        let (merged, places) = merge(store, &plan);
        let function = lifted(store, module, &merged);
        let ty = result_type(store, function.function);
        let global = under_way.builder.add_function(store, function.function, "cuda_graph_alloc");
        for index in &plan.allocs {
            let region = &plan.regions[*index];
            let outputs = region.bindings.iter().filter_map(|b| Some((b.var, *places.get(&b.var)?))).collect();
            let what = What::Alloc { global, ty };
            launches.extend(region.bindings.first().map(|first| (first.var, Launch { region: *index, outputs, what })));
        }
    }
    for index in &plan.captures {
        let region = &plan.regions[*index];
        let outputs = region.outputs.0.iter().enumerate().map(|(place, var)| (*var, place as u32)).collect();
        let what = What::Capture(lifted(store, module, region));
        launches.extend(region.bindings.first().map(|first| (first.var, Launch { region: *index, outputs, what })));
    }
    let mut launcher = Launcher {
        plan: &plan,
        launches,
        now: FxHashMap::default(),
        gone: FxHashSet::default(),
        hint: String::new(),
        captured: 0,
    };
    for &(name, function) in module.functions() {
        if !matches!(store.expr(function), Expr::Function(_)) {
            continue;
        }
        launcher.hint = format!("{}_cuda_graph_capture", store.str(name));
        under_way.forget();
        // The bindings that leave a function and their replacement belong together.
        let new = store.rewrite(RULE, function, function, |store| rewrite(store, &mut under_way, &mut launcher, function));
        under_way.builder.update_function(store, name, new);
    }
    under_way.builder.finish()
}

fn result_type(store: &mut Store, function: ExprId) -> TypeId {
    let ret = store.as_function(function).and_then(|function| function.ret);
    ret.unwrap_or_else(|| store.ty(Type::Any))
}

/// A region that has become a function.
struct Lifted {
    function: ExprId,
    /// The type of its result, in the symbols of the caller.
    ty: TypeId,
}

fn lifted(store: &mut Store, module: &Module, region: &Region) -> Lifted {
    let mut cx = Mutation::new(BlockBuilder::new(module));
    let mut back = types::Bindings::default();
    let mut symbols = Vec::new();
    for symbol in &region.symbols.0 {
        let copy = store.symbol(*symbol).clone();
        let new = store.add_symbol(copy);
        cx.symbols.insert(*symbol, Dim::Symbol(new));
        back.insert(new, Dim::Symbol(*symbol));
        symbols.push(Dim::Symbol(new));
    }
    let mut params: Vec<VarId> = Vec::new();
    for input in &region.inputs.0 {
        let ty = store.var_type(*input).map(|ty| cx.ty(store, ty));
        let name = store.var_name(*input).to_owned();
        let param = store.relax_var(&name, ty, false);
        let used = store.use_var(param);
        cx.replace(store, *input, used);
        params.push(param);
    }
    if !symbols.is_empty() {
        let ty = store.ty(Type::Shape(Extents::Known(symbols.into())));
        params.push(store.relax_var("shape_expr", Some(ty), false));
    }
    cx.builder.begin_scope(store, &params);
    cx.builder.begin_block(false);
    for binding in &region.bindings {
        let value = rewrite(store, &mut cx, &mut Normalize, binding.value);
        cx.reemit(store, *binding, value);
    }
    let outputs: Vec<ExprId> =
        region.outputs.0.iter().map(|var| cx.replaced(*var).unwrap_or_else(|| store.use_var(*var))).collect();
    let outputs = tuple(store, &outputs);
    let body = cx.builder.emit(store, outputs, "");
    let body = cx.builder.normalize(store, body);
    let bindings = cx.builder.end_block();
    let block = store.add_block_of(&bindings, false);
    cx.builder.end_scope();
    let blocks = store.list(&[block]);
    let ty = store.checked_type(body);
    let body = store.add_typed(Expr::Seq { blocks, body }, ty);
    let attrs = store.with_attr(None, "relax.force_pure", AttrValue::Bool(true));
    let (params, type_params) = (store.list(&params), store.list(&[]));
    let function = Function { params, type_params, ret: ty, body, attrs: Some(attrs), device: None, pure: true };
    let function = function_over(store, None, function);
    let ty = result_type(store, function);
    Lifted { function, ty: types::substitute(store, ty, &back) }
}

/// Merges the allocations of all functions into one region, which functions share that never run together: the largest
/// of each with the largest of the others, and so on. Also returns the positions of the allocations.
fn merge(store: &Store, plan: &Plan) -> (Region, FxHashMap<VarId, u32>) {
    let mut scopes: Vec<(String, Vec<Vec<(i64, Binding)>>)> = Vec::new();
    for (number, index) in plan.allocs.iter().enumerate() {
        for binding in &plan.regions[*index].bindings {
            let operands = args(store, binding.value);
            let size = match operands.first().map(|shape| store.expr(*shape)) {
                Some(Expr::Shape(dims)) => store.dims_of_id(dims).first().and_then(|dim| dim.known()).unwrap_or(0),
                _ => 0,
            };
            let scope = match operands.get(2).map(|scope| store.expr(*scope)) {
                Some(Expr::Str(scope)) => store.str(scope),
                _ => "",
            };
            let place = scopes.iter().position(|(known, _)| known == scope).unwrap_or_else(|| {
                scopes.push((scope.to_owned(), vec![Vec::new(); plan.allocs.len()]));
                scopes.len() - 1
            });
            scopes[place].1[number].push((size, *binding));
        }
    }
    sort_by(&mut scopes, |a, b| a.0.cmp(&b.0));
    let (mut merged, mut places) = (Region::default(), FxHashMap::default());
    for (_, mut records) in scopes {
        records.iter_mut().for_each(|of_function| sort_by(of_function, |a, b| b.0.cmp(&a.0)));
        let most = records.iter().map(Vec::len).max().unwrap_or(0);
        for row in 0..most {
            let mut largest: Option<(i64, Binding)> = None;
            for (size, binding) in records.iter().filter_map(|of_function| of_function.get(row)) {
                places.insert(binding.var, merged.bindings.len() as u32);
                if largest.is_none_or(|(most, _)| *size > most) {
                    largest = Some((*size, *binding));
                }
            }
            if let Some((_, binding)) = largest {
                merged.bindings.push(binding);
                merged.outputs.add(binding.var);
            }
        }
    }
    (merged, places)
}

/// The replacement of a region.
struct Launch {
    region: usize,
    /// Variables that are fields of the result, with their indices.
    outputs: Vec<(VarId, u32)>,
    what: What,
}

enum What {
    Alloc { global: ExprId, ty: TypeId },
    Capture(Lifted),
}

struct Launcher<'p> {
    plan: &'p Plan,
    /// The launches, by the first variable that a region binds.
    launches: FxHashMap<VarId, Launch>,
    /// Variables that are fields of a launched result and not bound yet.
    now: FxHashMap<VarId, (ExprId, u32)>,
    /// Variables that are bound elsewhere.
    gone: FxHashSet<VarId>,
    hint: String,
    captured: i64,
}

impl BlockMutator for Launcher<'_> {
    fn rule(&self) -> &'static str {
        RULE
    }

    fn wants_leaves(&self) -> bool {
        true
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        match store.expr(id) {
            Expr::Var(var) if self.now.contains_key(&var) => Visit::Replace(self.value(store, cx, var)),
            _ => Visit::Descend,
        }
    }

    fn enter_binding(&mut self, store: &mut Store, cx: &mut Mutation, binding: Binding) -> bool {
        if let Some(launch) = self.launches.remove(&binding.var) {
            self.launch(store, cx, launch);
        }
        if self.now.contains_key(&binding.var) {
            self.value(store, cx, binding.var);
        }
        !self.gone.contains(&binding.var)
    }
}

impl Launcher<'_> {
    /// Returns the new value of a variable, which is bound under its name at the first use.
    fn value(&mut self, store: &mut Store, cx: &mut Mutation, var: VarId) -> ExprId {
        let Some((tuple, index)) = self.now.remove(&var) else {
            return cx.replaced(var).unwrap_or_else(|| store.use_var(var));
        };
        let name = store.var_name(var).to_owned();
        let field = store.add(Expr::TupleGetItem { tuple, index });
        let new = cx.builder.emit(store, field, &name);
        cx.replace(store, var, new);
        new
    }

    fn launch(&mut self, store: &mut Store, cx: &mut Mutation, launch: Launch) {
        let region = &self.plan.regions[launch.region];
        let (symbol, fields, ty) = match launch.what {
            What::Alloc { global, ty } => {
                let zero = int(store, 0);
                ("vm.builtin.cuda_graph.get_cached_alloc", vec![global, zero], ty)
            }
            What::Capture(lifted) => {
                let global = cx.builder.add_function(store, lifted.function, &self.hint);
                let mut operands: Vec<ExprId> = region.inputs.0.iter().map(|var| self.value(store, cx, *var)).collect();
                let symbols: Vec<Dim> = region.symbols.0.iter().map(|symbol: &Id<Symbol>| Dim::Symbol(*symbol)).collect();
                let key = (!symbols.is_empty()).then(|| shape(store, &symbols));
                operands.extend(key);
                let operands = tuple(store, &operands);
                let number = int(store, self.captured);
                self.captured += 1;
                let fields = [global, operands, number].into_iter().chain(key).collect();
                ("vm.builtin.cuda_graph.run_or_capture", fields, lifted.ty)
            }
        };
        let symbol = external(store, symbol);
        let fields = store.add_tuple(&fields);
        let callee = op(store, "call_builtin_with_ctx");
        let args = store.list(&[symbol, fields]);
        let info = store.add_call_info(None, &[ty]);
        let call = store.add(Expr::Call { callee, args, info });
        let result = cx.builder.emit(store, call, "");
        self.now.extend(launch.outputs.into_iter().map(|(var, index)| (var, (result, index))));
        self.gone.extend(region.bindings.iter().map(|binding| binding.var));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, after_in};
    use crate::pass::{Literal, PassContext};

    const PROGRAM: &str = "@I.ir_module
class Module:
    @T.prim_func
    def f(a: T.Buffer((T.int64(2),), \"float32\"), b: T.Buffer((T.int64(2),), \"float32\")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\"), w: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"num_input\": 1, \"relax.force_pure\": True})
        cls = Module
        s: R.Any = R.memory.alloc_storage(R.shape([8]), 0, R.str(\"global\"), R.dtype(\"float32\"))
        a: R.Tensor((2,), dtype=\"float32\") = R.memory.alloc_tensor(s, 0, R.shape([2]), R.dtype(\"float32\"), 0)
        cls.f(w, a)
        out: R.Tensor((2,), dtype=\"float32\") = R.builtin.alloc_tensor(R.shape([2]), R.dtype(\"float32\"), 0, R.str(\"global\"))
        cls.f(a, out)
        return out
";

    #[test]
    fn nothing_is_captured_unless_it_is_asked_for() {
        assert!(!after(PROGRAM, "RewriteCUDAGraph()").contains("cuda_graph"));
    }

    #[test]
    fn what_depends_on_weights_alone_is_captured_and_what_writes_a_result_is_not() {
        let config = [("relax.backend.use_cuda_graph".to_owned(), Literal::Bool(true))].into_iter().collect();
        let text = after_in(PassContext { config, ..PassContext::default() }, PROGRAM, "RewriteCUDAGraph()");
        assert!(text.contains("def main_cuda_graph_capture(w: R.Tensor((2,), dtype=\"float32\"), a: R.Tensor"), "{text}");
        let main = text.split("def main(").nth(1).unwrap_or_default();
        assert_eq!((main.matches("cls.f(").count(), main.matches("run_or_capture").count()), (1, 1), "{text}");
        assert!(main.contains("(cls.cuda_graph_alloc, 0)") && !main.contains("alloc_storage"), "{text}");
    }
}
