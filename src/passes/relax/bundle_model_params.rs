//! BundleModelParams: replaces the weights of a model by one tuple parameter.
//!
//! Source: `src/relax/transform/bundle_model_params.cc`.

use crate::build::{BlockMutator, Mutation, any_leaf, rewrite_function, rewrite_module};
use crate::infer::relax::types;
use crate::ir::rewrite::Visit;
use crate::ir::{Binding, Expr, ExprId, Function, Module, Store, Type, TypeId, VarId};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `relax.transform.BundleModelParams`.
pub static SPEC: PassSpec = PassSpec {
    name: "BundleModelParams",
    info_name: "BundleModelParams",
    dialects: crate::pass::spec::RELAX,
    opt_level: 1,
    required: &[],
    params: &[Param { name: "param_tuple_name", default: "None", doc: "The name of the tuple; `model_params` when it is None." }],
    config: &[],
    summary: "Replaces parameters behind the inputs by one tuple.",
    doc: explained(
        "A function with the attribute `num_input` takes that many inputs, and what follows are weights. They become the fields \
of one parameter. Each use takes its field out of it by a binding of its own.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\"), w: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"num_input\": 1})
        y: R.Tensor((2,), dtype=\"float32\") = R.add(x, w)
        return y
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\"), model_params: R.Tuple(R.Tensor((2,), dtype=\"float32\"))) \
-> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"num_input\": 1})
        w: R.Tensor((2,), dtype=\"float32\") = model_params[0]
        y: R.Tensor((2,), dtype=\"float32\") = R.add(x, w)
        return y
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    rewrite_module(cx.store, module, &mut Bundle::new(args.str("param_tuple_name").unwrap_or("model_params")))
}

/// Runs the pass on one function, with the default name of the tuple.
pub fn bundle_model_params(store: &mut Store, module: &Module, function: ExprId) -> Result<ExprId, PassError> {
    rewrite_function(store, module, function, &mut Bundle::new("model_params"))
}

/// The replacement of the uses of a weight.
#[derive(Clone, Copy)]
struct Weight {
    tuple: ExprId,
    index: u32,
    /// The type of the field, which mentions no symbol that is a weight itself.
    field: TypeId,
}

struct Bundle {
    tuple_name: String,
    weights: FxHashMap<VarId, Weight>,
    /// Functions that have their tuple already.
    bundled: FxHashSet<ExprId>,
}

impl BlockMutator for Bundle {
    fn rule(&self) -> &'static str {
        "a weight to a field of the tuple of weights"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        any_leaf(store, id, &mut |leaf| matches!(store.expr(leaf), Expr::Var(var) if self.weights.contains_key(&var)))
    }

    fn wants_leaves(&self) -> bool {
        true
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        match store.expr(id) {
            Expr::Function(_) => match self.function(store, cx, id) {
                Some(new) => {
                    self.bundled.insert(new);
                    Visit::Follow(new)
                }
                None if self.bundled.contains(&id) => Visit::Descend,
                // TVM does not visit functions without the attribute.
                None => Visit::Keep,
            },
            Expr::Var(var) => match self.weights.get(&var) {
                Some(weight) => {
                    let Weight { tuple, index, field } = *weight;
                    let value = store.add(Expr::TupleGetItem { tuple, index });
                    let name = store.var_name(var).to_owned();
                    Visit::Replace(match store.var_type(var) {
                        Some(ty) if ty != field => cx.builder.emit_match_cast(store, value, ty, &name),
                        _ => cx.builder.emit(store, value, &name),
                    })
                }
                None => Visit::Descend,
            },
            _ => Visit::Descend,
        }
    }
}

impl Bundle {
    fn new(tuple_name: &str) -> Bundle {
        Bundle { tuple_name: tuple_name.to_owned(), weights: FxHashMap::default(), bundled: FxHashSet::default() }
    }

    /// Replaces the weights of a function by a tuple, if its attribute says how many parameters are inputs.
    fn function(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Option<ExprId> {
        let data = store.as_function(id).filter(|_| !self.bundled.contains(&id))?;
        let inputs = store.attr(data.attrs, "num_input")?.as_int()?;
        let old: Vec<VarId> = store.items(data.params).collect();
        let Some((inputs, weights)) = usize::try_from(inputs).ok().and_then(|inputs| old.split_at_checked(inputs)) else {
            let message =
                format!("Function was declared to have {inputs} runtime inputs, but only has {} parameters total.", old.len());
            cx.builder.error("relax-num-input", message, store.source_span(id));
            return None;
        };
        // Symbols that are weights are known only after the tuple was taken apart.
        let lost: Vec<_> = weights.iter().filter_map(|var| store.var_data(*var).symbol).collect();
        let any = store.ty(Type::Any);
        let mut fields = Vec::with_capacity(weights.len());
        for var in weights {
            let ty = store.var_type(*var).unwrap_or(any);
            fields.push(types::erase(store, ty, &|symbol| !lost.contains(&symbol), &|_| true));
        }
        let ty = store.tuple_type(&fields);
        let param = store.relax_var(&self.tuple_name, Some(ty), false);
        let tuple = store.use_var(param);
        let mut scalars = Vec::new();
        for (index, (&var, &field)) in weights.iter().zip(&fields).enumerate() {
            let index = index as u32;
            if store.var_data(var).symbol.is_some() {
                let value = store.add_typed(Expr::TupleGetItem { tuple, index }, Some(field));
                let new = store.fresh_var(var);
                let used = store.use_var(new);
                cx.replace(store, var, used);
                scalars.push(Binding { var: new, value, cast: None });
            } else {
                self.weights.insert(var, Weight { tuple, index, field });
            }
        }
        let mut body = data.body;
        if let Expr::Seq { blocks, body: result } = store.expr(body)
            && !scalars.is_empty()
        {
            let mut all = vec![store.add_block_of(&scalars, false)];
            all.extend(store.items(blocks));
            let blocks = store.list(&all);
            let ty = store.checked_type(body);
            body = store.rebuild(body, Expr::Seq { blocks, body: result }, ty);
        }
        let ret = data.ret.map(|ty| types::erase(store, ty, &|symbol| !lost.contains(&symbol), &|_| true));
        let params: Vec<VarId> = inputs.iter().copied().chain([param]).collect();
        let params = store.list(&params);
        let new = store.add_function(Function { params, body, ret, ..data });
        Some(store.rebuild(id, Expr::Function(new), None))
    }
}
