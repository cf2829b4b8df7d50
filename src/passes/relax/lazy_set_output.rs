//! LazySetOutput: passes each result to the caller as soon as it is computed.
//!
//! Source: `src/relax/transform/lazy_transform_params.cc` (`LazyOutputMutator`).

use super::support::global_symbol;
use crate::build::{BlockMutator, Mutation, rewrite_function};
use crate::ir::{AttrValue, Binding, BindingBlock, DType, Expr, ExprId, Function, Id, List, Module, Store, Type, VarId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.LazySetOutput`.
pub static SPEC: PassSpec = PassSpec {
    name: "LazySetOutput",
    info_name: "LazySetOutput",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Hands each result to a function that is given, once it is computed.",
    doc: explained(
        "A public function takes `fset_output` behind its inputs and gives nothing. Where a field of what it gave is bound, \
`fset_output` is called with the index and the value; fields that are no variables are handed over at the end.",
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
    @R.function(pure=False)
    def main(w: R.Tensor((2,), dtype=\"float32\"), fset_output: R.Callable((T.int64, R.Any), R.Tuple, False)) -> R.Tuple:
        y: R.Tensor((2,), dtype=\"float32\") = R.exp(w)
        fset_output(0, y)
        return R.tuple()
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let store = &mut *cx.store;
    let Some(data) = store.as_function(function).filter(|_| global_symbol(store, function).is_some()) else {
        return Ok(function);
    };
    let Expr::Seq { blocks, body } = store.expr(data.body) else { return Ok(function) };
    let (any, index, void) = (store.ty(Type::Any), store.ty(Type::Prim(DType::I64)), store.tuple_type(&[]));
    let ty = store.ty(Type::Callable { params: Some([index, any].into()), ret: void, pure: false });
    let setter = store.relax_var("fset_output", Some(ty), false);
    let mut hand = HandOver { setter: store.use_var(setter), outputs: FxHashMap::default() };
    let fields: Vec<ExprId> = match store.expr(body) {
        Expr::Tuple(fields) => store.items(fields).collect(),
        _ => vec![body],
    };
    let mut last = Vec::new();
    for (index, field) in fields.into_iter().enumerate() {
        match store.expr(field) {
            Expr::Var(var) => hand.outputs.entry(var).or_default().push(index as i64),
            _ => last.push(hand.call(store, index as i64, field)),
        }
    }
    let old: Vec<VarId> = store.items(data.params).collect();
    let mut first = Vec::new();
    for param in &old {
        let used = store.use_var(*param);
        for index in hand.outputs.get(param).cloned().unwrap_or_default() {
            first.push(hand.call(store, index, used));
        }
    }
    let mut all: Vec<Id<BindingBlock>> = vec![block_of(store, &first)];
    all.extend(store.items(blocks));
    all.push(block_of(store, &last));
    let blocks = store.list(&all);
    let unit = store.add_typed(Expr::Tuple(List::EMPTY), Some(void));
    let body = store.rebuild(data.body, Expr::Seq { blocks, body: unit }, Some(void));
    let inputs = store.attr(data.attrs, "num_input").and_then(AttrValue::as_int);
    let place = inputs.and_then(|inputs| usize::try_from(inputs).ok()).unwrap_or(old.len()).min(old.len());
    let mut params = old;
    params.insert(place, setter);
    let attrs = match inputs {
        Some(inputs) => Some(store.with_attr(data.attrs, "num_input", AttrValue::Int { value: inputs + 1, bits: 32 })),
        None => data.attrs,
    };
    let params = store.list(&params);
    let new = store.add_function(Function { params, body, attrs, ret: Some(void), pure: false, ..data });
    let new = store.rebuild(function, Expr::Function(new), None);
    rewrite_function(store, module, new, &mut hand)
}

fn block_of(store: &mut Store, calls: &[ExprId]) -> Id<BindingBlock> {
    let void = store.tuple_type(&[]);
    let mut bindings = Vec::with_capacity(calls.len());
    for value in calls {
        let var = store.relax_var("_void", Some(void), false);
        bindings.push(Binding { var, value: *value, cast: None });
    }
    store.add_block_of(&bindings, false)
}

struct HandOver {
    setter: ExprId,
    outputs: FxHashMap<VarId, Vec<i64>>,
}

impl HandOver {
    fn call(&self, store: &mut Store, index: i64, value: ExprId) -> ExprId {
        let (index, ty) = (store.prim_int(index, DType::I64), store.ty(Type::Prim(DType::I64)));
        let index = store.add_typed(Expr::Prim(index), Some(ty));
        let void = store.tuple_type(&[]);
        let args = store.list(&[index, value]);
        store.add_typed(Expr::Call { callee: self.setter, args, info: None }, Some(void))
    }
}

impl BlockMutator for HandOver {
    fn rule(&self) -> &'static str {
        "a result is handed over"
    }

    fn wants(&self, _: &Store, _: ExprId) -> bool {
        false
    }

    fn bind(&mut self, store: &mut Store, cx: &mut Mutation, pre: Binding, value: ExprId) {
        cx.reemit(store, pre, value);
        for index in self.outputs.get(&pre.var).cloned().unwrap_or_default() {
            let used = cx.replaced(pre.var).unwrap_or_else(|| store.use_var(pre.var));
            let call = self.call(store, index, used);
            cx.builder.emit(store, call, "_void");
        }
    }
}
