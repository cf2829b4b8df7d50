//! LiftTransformParams: moves computations that depend only on weights into a function that runs before the model.
//!
//! Known divergence: TVM 0.27 binds a scalar weight that is an extent of another weight in the new function; here it is
//! only a symbol there.
//!
//! Source: `src/relax/transform/lift_transform_params.cc`.

use super::bundle_model_params::bundle_model_params;
use super::canonicalize_bindings::canonicalize_bindings;
use super::dead_code_elimination::remove_all_unused;
use super::support::compose::{compose_functions, with_own_vars};
use super::support::lift_plan::{Plan, Shared, Target, plan, shared_plan, stops};
use super::support::{type_error, with_attrs};
use crate::build::{BlockMutator, Mutation, function_over, rewrite_function};
use crate::ir::sort::sort_by;
use crate::ir::{
    AttrValue, Attrs, Binding, BindingBlock, Dim, Expr, ExprId, Extents, Function, Id, List, Module, Name, Store, Symbol, Type,
    TypeId, VarId,
};
use crate::ops;
use crate::pass::{Args, Inner, Literal, Param, Part, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `relax.transform.LiftTransformParams`.
pub static SPEC: PassSpec = PassSpec {
    name: "LiftTransformParams",
    info_name: "LiftTransformParams",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[Param {
        name: "shared_transform",
        default: "False",
        doc: explained("One function for all, for what they compute alike; or the names of the functions that share one."),
    }],
    config: &["relax.lift_transform_params.consume_params"],
    summary: "Moves computations on weights into functions of their own.",
    doc: explained("A function with the attribute `num_input` takes that many inputs, and weights after them. Bindings of dataflow blocks \
that depend on weights only go into `<function>_transform_params`, which takes all weights as a tuple and gives what the function \
needs; the function takes that in the place of its weights. `R.builtin.stop_lift_params` ends the lifting at a value. Where there \
is a function of that name already, such as an earlier run made, the two become one that computes the old and then the new. As \
in TVM, what only the result of a function uses, and no binding, is lifted and not given: it is left without a value; TVM gives \
such a variable new symbols besides, and here it keeps those it has."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\"), w: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"num_input\": 1})
        with R.dataflow():
            v: R.Tensor((2,), dtype=\"float32\") = R.exp(w)
            y: R.Tensor((2,), dtype=\"float32\") = R.add(x, v)
            R.output(y)
        return y
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\"), v: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"num_input\": 1})
        with R.dataflow():
            y: R.Tensor((2,), dtype=\"float32\") = R.add(x, v)
            R.output(y)
        return y

    @R.function
    def main_transform_params(model_params: R.Tuple(R.Tensor((2,), dtype=\"float32\"))) -> R.Tuple(R.Tensor((2,), dtype=\"float32\")):
        R.func_attr({\"num_input\": 0})
        with R.dataflow():
            w: R.Tensor((2,), dtype=\"float32\") = model_params[0]
            v: R.Tensor((2,), dtype=\"float32\") = R.exp(w)
            output_tuple: R.Tuple(R.Tensor((2,), dtype=\"float32\")) = (v,)
            R.output(output_tuple)
        return output_tuple
"),
    run: Run::Sequential(|_| vec![Part::Inner(&PARTITION), Part::call("LambdaLift()"), Part::Inner(&POST_PROC)]),
};

static PARTITION: Inner = Inner {
    info_name: "PartitionTransformParams",
    opt_level: 1,
    run: Run::Module(|cx, module, args| partition(cx.store, module, args.get("shared_transform"))),
};

static POST_PROC: Inner = Inner { info_name: "LiftTransformParamsPostProc", opt_level: 1, run: Run::Module(publish) };

const SUFFIX: &str = "transform_params";

/// Makes the functions for the weights public.
fn publish(cx: &mut PassCx<'_>, lifted: &Module, _: &Args) -> Result<Module, PassError> {
    let consume = cx.config_int("relax.lift_transform_params.consume_params", 0) != 0;
    let store = &mut *cx.store;
    let mut result = lifted.clone();
    for &(name, function) in lifted.functions() {
        if !store.str(name).ends_with(SUFFIX) {
            continue;
        }
        let Some(data) = store.as_function(function) else { continue };
        let attrs = store.with_attr(data.attrs, "global_symbol", AttrValue::Str(name));
        let mut new = with_attrs(store, function, Some(attrs));
        if consume {
            let params = store.items(data.params).last().map(|param| store.use_var(param));
            new = rewrite_function(store, lifted, new, &mut Consume { params, fields: FxHashMap::default() })?;
        }
        result.set_function(name, new);
    }
    Ok(result)
}

/// Splits each function in two (TVM's `PartitionTransformParams`).
fn partition(store: &mut Store, module: &Module, shared: &Literal) -> Result<Module, PassError> {
    let mut targets: Vec<(Id<Name>, Target)> = Vec::new();
    match shared {
        Literal::List(names) => {
            for name in names {
                let Literal::Str(name) = name else { return Err(type_error("a function is named by a string")) };
                let name = store.name(name);
                let target = module.function(name).and_then(|function| Target::of(store, function));
                let Some(target) = target else {
                    return Err(type_error(format!("`{}` is no function with the attribute num_input", store.str(name))));
                };
                targets.push((name, target));
            }
        }
        _ => {
            for &(name, function) in module.functions() {
                if let Some(target) = Target::of(store, function).filter(|_| !store.str(name).ends_with(SUFFIX)) {
                    targets.push((name, target));
                }
            }
            sort_by(&mut targets, |a, b| store.str(a.0).cmp(store.str(b.0)));
        }
    }
    let share = !matches!(shared, Literal::Bool(false) | Literal::Int(0) | Literal::None);
    let only: Vec<Target> = targets.iter().map(|(_, target)| target.clone()).collect();
    let mut shared = if share { Some(shared_plan(store, module, &only)?) } else { None };
    let plans: Vec<Plan> = only.iter().map(|target| plan(store, target, shared.as_mut())).collect();
    let mut result = module.clone();
    let mut lifted: Vec<(String, ExprId)> = Vec::new();
    for ((name, target), plan) in targets.iter().zip(&plans) {
        let new = runtime_function(store, module, target, plan, shared.as_ref())?;
        result.set_function(*name, new);
        if shared.is_none() {
            let outputs = plan.outputs(target.weights());
            let symbols = plan.symbols(store, &target.params, &target.params[..target.inputs], &outputs);
            let new = compile_time_function(store, module, target.weights(), plan, &symbols, &outputs)?;
            lifted.push((format!("{}_{SUFFIX}", store.str(*name)), new));
        }
    }
    if let Some(Shared { plan, weights, .. }) = &shared {
        let outputs = plan.outputs(weights);
        let symbols = plan.symbols(store, weights, &[], &outputs);
        lifted.push((SUFFIX.to_owned(), compile_time_function(store, module, weights, plan, &symbols, &outputs)?));
    }
    for (name, mut function) in lifted {
        let id = store.name(&name);
        if let Some(old) = module.function(id) {
            function = compose_functions(store, module, old, function)?;
        }
        result.set_function(id, function);
    }
    Ok(result)
}

fn shape_of(store: &mut Store, symbols: &[Id<Symbol>]) -> (ExprId, TypeId) {
    let dims: Vec<Dim> = symbols.iter().map(|symbol| Dim::Symbol(*symbol)).collect();
    let ty = store.ty(Type::Shape(Extents::Known(dims.as_slice().into())));
    let dims = store.dims(&dims);
    (store.add_typed(Expr::Shape(dims), Some(ty)), ty)
}

/// Makes the function that computes everything from the weights.
fn compile_time_function(
    store: &mut Store,
    module: &Module,
    weights: &[VarId],
    plan: &Plan,
    symbols: &[Id<Symbol>],
    outputs: &[VarId],
) -> Result<ExprId, PassError> {
    let mut bindings = Vec::new();
    let mut fields = Vec::new();
    if !symbols.is_empty() {
        fields.push(shape_of(store, symbols).0);
    }
    for &var in outputs {
        let name = format!("{}_output", store.var_name(var));
        let ty = store.var_type(var);
        let output = store.relax_var(&name, ty, false);
        bindings.push(Binding { var: output, value: store.use_var(var), cast: None });
        fields.push(store.use_var(output));
    }
    let any = store.ty(Type::Any);
    let types: Vec<_> = fields.iter().map(|field| store.checked_type(*field).unwrap_or(any)).collect();
    let ty = store.tuple_type(&types);
    let fields = store.list(&fields);
    let value = store.add_typed(Expr::Tuple(fields), Some(ty));
    let tuple = store.relax_var("output_tuple", Some(ty), false);
    bindings.push(Binding { var: tuple, value, cast: None });
    let blocks = [store.add_block_of(&plan.lifted, true), store.add_block_of(&bindings, true)];
    let used = store.use_var(tuple);
    let body = store.add_seq(&blocks, used);
    let key = store.name("DictAttrs");
    let attrs = store.attrs(Attrs { key, fields: [].into() });
    let attrs = store.with_attr(Some(attrs), "num_input", AttrValue::Int { value: 0, bits: 32 });
    let params = store.list(weights);
    let data = Function { params, type_params: List::EMPTY, ret: None, body, attrs: Some(attrs), device: None, pure: true };
    let function = function_over(store, None, data);
    let function = with_own_vars(store, module, function)?;
    let function = bundle_model_params(store, module, function)?;
    let function = canonicalize_bindings(store, module, function)?;
    Ok(remove_all_unused(store, module, function))
}

/// Makes the function that takes the computed values as parameters.
fn runtime_function(
    store: &mut Store,
    module: &Module,
    target: &Target,
    plan: &Plan,
    shared: Option<&Shared>,
) -> Result<ExprId, PassError> {
    let Some(data) = store.as_function(target.function) else { return Ok(target.function) };
    let inputs = &target.params[..target.inputs];
    let mut outputs = plan.outputs(target.weights());
    let mut symbols = plan.symbols(store, &target.params, inputs, &outputs);
    if let Some(shared) = shared {
        // The outputs are those that all functions share, in this function's variables where it has them.
        let own: FxHashMap<VarId, VarId> = outputs.iter().filter_map(|var| Some((*shared.vars.get(var)?, *var))).collect();
        let own_symbols: FxHashMap<Id<Symbol>, Id<Symbol>> =
            symbols.iter().filter_map(|symbol| Some((*shared.symbols.get(symbol)?, *symbol))).collect();
        let all = shared.plan.outputs(&shared.weights);
        symbols = shared.plan.symbols(store, &shared.weights, &[], &all);
        symbols.iter_mut().for_each(|symbol| *symbol = own_symbols.get(symbol).copied().unwrap_or(*symbol));
        outputs = all.iter().map(|var| own.get(var).copied().unwrap_or(*var)).collect();
    }
    let mut params = inputs.to_vec();
    if !symbols.is_empty() {
        let (_, ty) = shape_of(store, &symbols);
        params.push(store.relax_var("vars_from_compile_time_params", Some(ty), false));
    }
    let mut bindings = Vec::new();
    for var in outputs {
        let name = store.var_name(var).to_owned();
        let ty = store.var_type(var);
        let param = store.relax_var(&name, ty, false);
        bindings.push(Binding { var, value: store.use_var(param), cast: None });
        params.push(param);
    }
    let Expr::Seq { blocks, body } = store.expr(data.body) else { return Ok(target.function) };
    let mut all: Vec<Id<BindingBlock>> = vec![store.add_block_of(&bindings, true)];
    all.extend(store.items(blocks));
    // TVM wraps the whole old body, whose result becomes a value: only a variable needs no binding.
    let mut body = body;
    if !matches!(store.expr(body), Expr::Var(_)) {
        let var = store.relax_var("gv", store.checked_type(body), false);
        all.push(store.add_block_of(&[Binding { var, value: body, cast: None }], false));
        body = store.use_var(var);
    }
    let blocks = store.list(&all);
    let ty = store.checked_type(data.body);
    let body = store.rebuild(data.body, Expr::Seq { blocks, body }, ty);
    let params = store.list(&params);
    let new = store.add_function(Function { params, body, ..data });
    let new = store.rebuild(target.function, Expr::Function(new), None);
    let gone = plan.lifted.iter().map(|binding| binding.var).filter(|var| plan.from_weights.contains(var)).collect();
    let given = bindings.iter().map(|binding| binding.value).collect();
    let new = rewrite_function(store, module, new, &mut Suppress { gone, given })?;
    let new = with_own_vars(store, module, new)?;
    canonicalize_bindings(store, module, new)
}

/// Removes bindings that are computed beforehand.
struct Suppress {
    gone: FxHashSet<VarId>,
    /// Values of bindings that stay: the parameters with the computed values.
    given: FxHashSet<ExprId>,
}

impl BlockMutator for Suppress {
    fn rule(&self) -> &'static str {
        "what depends on weights only is given"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        stops(store, id)
    }

    fn enter_binding(&mut self, _: &mut Store, _: &mut Mutation, binding: Binding) -> bool {
        !self.gone.contains(&binding.var) || self.given.contains(&binding.value)
    }

    fn leave(&mut self, store: &mut Store, _: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        match store.call(post) {
            Some(call) if stops(store, post) && !call.args.is_empty() => store.item(call.args, 0),
            _ => post,
        }
    }
}

/// Frees each weight after it was taken out of the tuple (TVM's `ConsumeBundledParams`).
struct Consume {
    params: Option<ExprId>,
    fields: FxHashMap<u32, ExprId>,
}

impl BlockMutator for Consume {
    fn rule(&self) -> &'static str {
        "a weight is freed once it was taken"
    }

    fn wants(&self, _: &Store, _: ExprId) -> bool {
        false
    }

    fn bind(&mut self, store: &mut Store, cx: &mut Mutation, pre: Binding, value: ExprId) {
        let (tuple, index) = match store.expr(value) {
            Expr::TupleGetItem { tuple, index } if Some(tuple) == self.params => (tuple, index),
            _ => return cx.reemit(store, pre, value),
        };
        if let Some(field) = self.fields.get(&index) {
            return cx.reemit(store, pre, *field);
        }
        cx.reemit(store, pre, value);
        let used = cx.replaced(pre.var).unwrap_or_else(|| store.use_var(pre.var));
        self.fields.insert(index, used);
        let Some(op) = ops::lookup_relax("call_pure_packed") else { return };
        let callee = store.add(Expr::Op(op));
        let symbol = store.name("vm.builtin.tuple_reset_item");
        let reset = store.add(Expr::Extern(symbol));
        let place = store.prim_int(i64::from(index), crate::ir::DType::I64);
        let place = store.add(Expr::Prim(place));
        let void = store.tuple_type(&[]);
        let info = store.add_call_info(None, &[void]);
        let args = store.list(&[reset, tuple, place]);
        let call = store.add(Expr::Call { callee, args, info });
        cx.builder.emit(store, call, "");
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn what_a_binding_needs_and_the_function_gives_is_given() {
        let made = after(
            &super::SPEC.example_before.replace("return y", "return v").replace("R.output(y)", "R.output(v, y)"),
            "LiftTransformParams()",
        );
        assert!(made.contains("def main(x: R.Tensor((2,), dtype=\"float32\"), v: R.Tensor((2,), dtype=\"float32\"))"), "{made}");
    }

    #[test]
    fn lifting_ends_where_it_is_told_to() {
        let before = super::SPEC.example_before.replace("R.exp(w)", "R.builtin.stop_lift_params(w)");
        let made = after(&before, "LiftTransformParams()");
        assert!(!made.contains("stop_lift_params") && made.contains("R.add(x, w)"), "{made}");
    }

    #[test]
    #[should_panic(expected = "The type of the parameters should be the same")]
    fn weights_of_another_type_cannot_be_shared() {
        let one = super::SPEC.example_before;
        let function = &one[one.find("    @R.function").unwrap_or_default()..];
        let other = function.replace("def main", "def other").replace("(2,)", "(3,)");
        after(&format!("{one}\n{other}"), "LiftTransformParams(shared_transform=True)");
    }

    #[test]
    fn what_an_earlier_run_made_computes_first() {
        let made = after(super::SPEC.example_before, "LiftTransformParams(), LiftTransformParams()");
        assert_eq!(made.matches("def main_transform_params(").count(), 1, "{made}");
        assert_eq!(made.matches("R.exp(w)").count(), 1, "{made}");
        let again = super::SPEC.example_after.replace("R.add(x, v)", "R.add(x, R.exp(v))");
        let made = after(&again, "LiftTransformParams()");
        assert_eq!(made.matches("R.exp(").count(), 2, "{made}");
        assert!(made.contains("R.add(x, lv)"), "{made}");
    }
}
