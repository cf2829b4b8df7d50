//! LazyTransformParams: fetches weights one by one, and passes on each result as soon as it is computed.
//!
//! Source: `python/tvm/relax/transform/lazy_transform_params.py`.

use super::support::{liveness::last_uses, type_error, with_attrs};
use crate::build::{BlockMutator, Mutation, rewrite_function};
use crate::ir::rewrite::Visit;
use crate::ir::walk::leaf_types;
use crate::ir::{AttrValue, Attrs, Binding, BindingBlock, DType, Expr, ExprId, Function, Id, List, Module, Store, Type, VarId};
use crate::ops;
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `relax.transform.LazyTransformParams`.
pub static SPEC: PassSpec = PassSpec {
    name: "LazyTransformParams",
    info_name: "LazyTransformParams",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[
        Param { name: "fget_item", default: "\"get_item\"", doc: "The packed function that gives a weight by its index." },
        Param { name: "fset_item", default: "\"set_item\"", doc: "The packed function that takes a result and its index." },
        Param { name: "extra_get_item_params", default: "None", doc: "Has to be None here." },
        Param { name: "extra_set_item_params", default: "None", doc: "Has to be None here." },
    ],
    config: &[],
    summary: "Makes functions that transform weights hold one weight at a time.",
    doc: explained(
        "In functions whose names end with `transform_params`, weights are not parameters any more: each is fetched by \
`fget_item` where it is first needed. Results are handed to `fset_item` once they are computed, weights are killed after \
their last use, and the function gives nothing; where `fset_item` is None, it gives its results. `ToNonDataflow` and \
`RemovePurityChecking` come before it: in a dataflow block TVM kills a weight after its first use.\n\nKnown divergence: \
further parameters of the two functions are variables in TVM and cannot be given.",
    ),
    example_before: explained(
        "\
# LazyTransformParams(fset_item=None)
@I.ir_module
class Module:
    @R.function
    def transform_params(w: R.Tensor((2,), dtype=\"float32\")) -> R.Tuple(R.Tensor((2,), dtype=\"float32\")):
        v: R.Tensor((2,), dtype=\"float32\") = R.exp(w)
        return (v,)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function(pure=False)
    def transform_params() -> R.Tuple(R.Tensor((2,), dtype=\"float32\")):
        gv: R.Any = R.call_packed(\"get_item\", 0, ty_args=(R.Any,))
        w: R.Tensor((2,), dtype=\"float32\") = R.match_cast(gv, R.Tensor((2,), dtype=\"float32\"))
        v: R.Tensor((2,), dtype=\"float32\") = R.exp(w)
        return (v,)
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let Some(getter) = args.str("fget_item") else { return Err(type_error("transforming set_item only is not supported")) };
    if ["extra_get_item_params", "extra_set_item_params"].iter().any(|name| !matches!(args.get(name), Literal::None)) {
        return Err(type_error("parameters of get_item and set_item are variables and cannot be given"));
    }
    let mut result = module.clone();
    for &(name, function) in module.functions() {
        if store.str(name).ends_with("transform_params") && store.as_function(function).is_some() {
            let new = fetching(store, module, function, getter)?;
            let new = match args.str("fset_item") {
                Some(setter) => handing_over(store, module, function, new, setter)?,
                None => new,
            };
            result.set_function(name, new);
        }
    }
    Ok(result)
}

fn packed(store: &mut Store, symbol: &str, args: &[ExprId]) -> ExprId {
    let symbol = store.name(symbol);
    let callee = store.add(Expr::Extern(symbol));
    let any = store.ty(Type::Any);
    let info = store.add_call_info(None, &[any]);
    let args = store.list(args);
    store.add_typed(Expr::Call { callee, args, info }, Some(any))
}

fn index(store: &mut Store, value: u32) -> ExprId {
    let (prim, ty) = (store.prim_int(i64::from(value), DType::I64), store.ty(Type::Prim(DType::I64)));
    store.add_typed(Expr::Prim(prim), Some(ty))
}

/// Returns the number of parameters that are inputs.
fn inputs_of(store: &Store, function: &Function) -> usize {
    let inputs = store.attr(function.attrs, "num_input").and_then(AttrValue::as_int).unwrap_or(0);
    usize::try_from(inputs).unwrap_or(0).min(function.params.len())
}

/// Rewrites a function to fetch its weights.
fn fetching(store: &mut Store, module: &Module, function: ExprId, getter: &str) -> Result<ExprId, PassError> {
    let Some(data) = store.as_function(function) else { return Ok(function) };
    let all: Vec<VarId> = store.items(data.params).collect();
    let (inputs, weights) = all.split_at(inputs_of(store, &data));
    let is_tuple = |var: VarId| store.var_type(var).is_some_and(|ty| matches!(store.type_of_id(ty), Type::Tuple(_)));
    let mut fetch = Fetch { getter: getter.to_owned(), tuple: None, weights: FxHashMap::default() };
    match weights {
        [only] if is_tuple(*only) => fetch.tuple = Some(store.use_var(*only)),
        _ => fetch.weights = weights.iter().enumerate().map(|(index, var)| (*var, index as u32)).collect(),
    }
    let mut params = inputs.to_vec();
    // A weight that only defines symbols stays a parameter.
    for ty in weights.iter().filter_map(|var| store.var_type(*var)).collect::<Vec<_>>() {
        for ty in leaf_types(store, ty).collect::<Vec<_>>() {
            if matches!(store.type_of_id(ty), Type::Prim(_) | Type::Shape(_)) {
                params.push(store.relax_var("symbolic_var_holder", Some(ty), false));
            }
        }
    }
    let params = store.list(&params);
    let attrs = without_force_pure(store, &data);
    let new = store.add_function(Function { params, attrs, pure: false, ..data });
    let new = store.rebuild(function, Expr::Function(new), None);
    rewrite_function(store, module, new, &mut fetch)
}

fn without_force_pure(store: &mut Store, function: &Function) -> Option<crate::ir::AttrsId> {
    let attrs = store.attrs_of_id(function.attrs?).clone();
    let kept: Vec<_> = attrs.fields.iter().filter(|(name, _)| store.str(*name) != "relax.force_pure").cloned().collect();
    (!kept.is_empty()).then(|| store.attrs(Attrs { fields: kept.into(), ..attrs }))
}

struct Fetch {
    getter: String,
    tuple: Option<ExprId>,
    weights: FxHashMap<VarId, u32>,
}

impl BlockMutator for Fetch {
    fn rule(&self) -> &'static str {
        "a weight to a call that fetches it"
    }

    fn wants_leaves(&self) -> bool {
        true
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        let Expr::Var(var) = store.expr(id) else { return Visit::Descend };
        let Some(place) = self.weights.remove(&var) else { return Visit::Descend };
        let place = index(store, place);
        let call = packed(store, &self.getter, &[place]);
        let value = cx.builder.emit(store, call, "");
        // The weight itself is bound here, and used from here on.
        let cast = store.var_type(var);
        cx.builder.emit_normalized(store, Binding { var, value, cast });
        Visit::Descend
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, pre: ExprId, post: ExprId) -> ExprId {
        let Expr::TupleGetItem { tuple, index: place } = store.expr(post) else { return post };
        let Some(ty) = store.checked_type(pre).filter(|_| Some(tuple) == self.tuple) else { return post };
        let place = index(store, place);
        let call = packed(store, &self.getter, &[place]);
        let value = cx.builder.emit(store, call, "");
        cx.builder.emit_match_cast(store, value, ty, "")
    }
}

/// Rewrites a function to pass on its results. `old` is the original, which still shows the tuple of weights and the results.
fn handing_over(store: &mut Store, module: &Module, old: ExprId, new: ExprId, setter: &str) -> Result<ExprId, PassError> {
    let (Some(before), Some(data)) = (store.as_function(old), store.as_function(new)) else { return Ok(new) };
    let (Expr::Seq { blocks: old_blocks, body: result }, Expr::Seq { blocks, body }) =
        (store.expr(before.body), store.expr(data.body))
    else {
        return Ok(new);
    };
    let tuple = store.items(before.params).nth(inputs_of(store, &before));
    let tuple = tuple.map(|var| store.use_var(var));
    let mut hand = HandOver { setter: setter.to_owned(), ..HandOver::default() };
    let mut leaves: Vec<(u32, ExprId)> = Vec::new();
    let old_bindings: Vec<Binding> = store.bindings(old_blocks).collect();
    for binding in &old_bindings {
        match store.expr(binding.value) {
            Expr::Tuple(fields) if store.var_use(binding.var) == Some(result) => {
                hand.result = Some(binding.var);
                for (place, field) in store.items(fields).enumerate() {
                    match store.expr(field) {
                        Expr::Var(var) => hand.outputs.entry(var).or_default().push(place as u32),
                        _ => leaves.push((place as u32, field)),
                    }
                }
            }
            Expr::TupleGetItem { tuple: of, .. } if Some(of) == tuple => {
                hand.fetched.insert(binding.var);
            }
            _ => {}
        }
    }
    hand.last = last_uses(store, old_blocks, hand.result);
    let any = store.ty(Type::Any);
    let mut bindings = Vec::new();
    for (place, value) in leaves {
        let place = index(store, place);
        let value = packed(store, setter, &[place, value]);
        let var = store.relax_var("_", Some(any), false);
        bindings.push(Binding { var, value, cast: None });
    }
    let mut all: Vec<Id<BindingBlock>> = store.items(blocks).collect();
    all.push(store.add_block_of(&bindings, false));
    let blocks = store.list(&all);
    let ty = store.checked_type(data.body);
    let body = store.rebuild(data.body, Expr::Seq { blocks, body }, ty);
    let node = store.add_function(Function { body, ret: None, ..data });
    let node = store.rebuild(new, Expr::Function(node), None);
    let done = rewrite_function(store, module, node, &mut hand)?;
    Ok(with_attrs(store, done, data.attrs))
}

#[derive(Default)]
struct HandOver {
    setter: String,
    /// The variable of the tuple that the function returned.
    result: Option<VarId>,
    outputs: FxHashMap<VarId, Vec<u32>>,
    /// Variables that hold weights.
    fetched: FxHashSet<VarId>,
    /// For each binding the variables whose last use it is.
    last: FxHashMap<VarId, Vec<VarId>>,
}

impl BlockMutator for HandOver {
    fn rule(&self) -> &'static str {
        "a result is handed over, a weight killed"
    }

    fn bind(&mut self, store: &mut Store, cx: &mut Mutation, pre: Binding, value: ExprId) {
        if Some(pre.var) == self.result {
            let unit = store.tuple_type(&[]);
            let unit = store.add_typed(Expr::Tuple(List::EMPTY), Some(unit));
            let used = cx.builder.emit(store, unit, "");
            cx.replace(store, pre.var, used);
            return;
        }
        cx.reemit(store, pre, value);
        for var in self.last.get(&pre.var).cloned().unwrap_or_default() {
            let used = cx.replaced(var).unwrap_or_else(|| store.use_var(var));
            for place in self.outputs.get(&var).cloned().unwrap_or_default() {
                let place = index(store, place);
                let call = packed(store, &self.setter, &[place, used]);
                cx.builder.emit(store, call, "_");
            }
            if self.fetched.contains(&var)
                && let Some(op) = ops::lookup_relax("vm.kill_object")
            {
                let callee = store.add(Expr::Op(op));
                let call = store.add_call(callee, &[used], None);
                cx.builder.emit(store, call, "_");
            }
        }
    }
}
