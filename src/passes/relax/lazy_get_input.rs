//! LazyGetInput: fetches parameters at their first use.
//!
//! Source: `src/relax/transform/lazy_transform_params.cc` (`LazyInputMutator`).

use super::dead_code_elimination::remove_all_unused;
use super::eliminate_common_subexpr::eliminate_common_subexpr;
use super::support::global_symbol;
use crate::build::{BlockMutator, Mutation, any_leaf, rewrite_function};
use crate::infer::relax::types;
use crate::ir::rewrite::Visit;
use crate::ir::{AttrValue, DType, Expr, ExprId, Function, Module, Store, Type, VarId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.LazyGetInput`.
pub static SPEC: PassSpec = PassSpec {
    name: "LazyGetInput",
    info_name: "LazyGetInput",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Fetches the parameters behind the inputs through a function that is given.",
    doc: explained(
        "A public function takes `fget_param` in the place of the parameters behind its `num_input` inputs. It is called with the \
index and the name of a parameter where that is first used, and its result is cast to the type of the parameter. \
A symbol that only a parameter without a use binds is bound by nothing then, as in TVM.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(w: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        y: R.Tensor((2,), dtype=\"float32\") = R.exp(w)
        return y
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(fget_param: R.Callable((T.int64, R.Any), R.Any, True)) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"num_input\": 1})
        w_untyped: R.Any = fget_param(0, R.str(\"w\"))
        w: R.Tensor((2,), dtype=\"float32\") = R.match_cast(w_untyped, R.Tensor((2,), dtype=\"float32\"))
        y: R.Tensor((2,), dtype=\"float32\") = R.exp(w)
        return y
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let store = &mut *cx.store;
    let Some(data) = store.as_function(function).filter(|_| global_symbol(store, function).is_some()) else {
        return Ok(function);
    };
    let all: Vec<VarId> = store.items(data.params).collect();
    let inputs = store.attr(data.attrs, "num_input").and_then(AttrValue::as_int).unwrap_or(0);
    let inputs = usize::try_from(inputs).unwrap_or(0).min(all.len());
    let (any, index) = (store.ty(Type::Any), store.ty(Type::Prim(DType::I64)));
    let ty = store.ty(Type::Callable { params: Some([index, any].into()), ret: any, pure: true });
    let getter = store.relax_var("fget_param", Some(ty), false);
    let mut params = all[..inputs].to_vec();
    params.push(getter);
    let known: Vec<_> =
        params.iter().filter_map(|var| store.var_type(*var)).flat_map(|ty| types::symbols(store, ty, true)).collect();
    let ret = data.ret.map(|ret| types::erase(store, ret, &|symbol| known.contains(&symbol), &|_| false));
    let value = AttrValue::Int { value: inputs as i64 + 1, bits: 32 };
    let attrs = Some(store.with_attr(data.attrs, "num_input", value));
    let params = store.list(&params);
    let new = store.add_function(Function { params, ret, attrs, ..data });
    let new = store.rebuild(function, Expr::Function(new), None);
    let weights = all[inputs..].iter().enumerate().map(|(index, var)| (*var, index as i64)).collect();
    let getter = store.use_var(getter);
    let new = rewrite_function(store, module, new, &mut Fetch { getter, weights })?;
    let new = eliminate_common_subexpr(store, module, new, false)?;
    Ok(remove_all_unused(store, module, new))
}

struct Fetch {
    getter: ExprId,
    weights: FxHashMap<VarId, i64>,
}

impl BlockMutator for Fetch {
    fn rule(&self) -> &'static str {
        "a parameter to a call that fetches it"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        any_leaf(store, id, &mut |leaf| matches!(store.expr(leaf), Expr::Var(var) if self.weights.contains_key(&var)))
    }

    fn wants_leaves(&self) -> bool {
        true
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        let Expr::Var(var) = store.expr(id) else { return Visit::Descend };
        let Some(&index) = self.weights.get(&var) else { return Visit::Descend };
        let name = store.var_name(var).to_owned();
        let index = store.prim_int(index, DType::I64);
        let index = store.add(Expr::Prim(index));
        let text = store.name(&name);
        let text = store.add(Expr::Str(text));
        let call = store.add_call(self.getter, &[index, text], None);
        let untyped = cx.builder.emit(store, call, &format!("{name}_untyped"));
        Visit::Replace(match store.var_type(var) {
            Some(ty) => cx.builder.emit_match_cast(store, untyped, ty, &name),
            None => untyped,
        })
    }
}
