//! ExpandTupleArguments: makes private functions take the fields of tuples instead of tuples.
//!
//! Source: `src/relax/transform/expand_tuple_arguments.cc`.

use super::support::global_symbol;
use crate::build::{BlockBuilder, BlockMutator, Mutation, run as rewrite_in, signature};
use crate::ir::{Binding, Expr, ExprId, Function, Id, Module, Name, Store, Type, TypeId, VarId};
use crate::pass::{Args, Inner, Part, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashSet;

/// TVM's `relax.transform.ExpandTupleArguments`.
pub static SPEC: PassSpec = PassSpec {
    name: "ExpandTupleArguments",
    info_name: "ExpandTupleArguments",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Replaces tuple parameters of private functions by their fields.",
    doc: explained("A function without a `global_symbol` that takes a tuple takes its fields instead, however deep they are nested, and \
calls take their arguments apart. `CanonicalizeBindings` and `DeadCodeElimination` follow, which leave of that what is needed."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function(private=True)
    def sum(args: R.Tuple(R.Tensor((2,), dtype=\"float32\"), R.Tensor((2,), dtype=\"float32\"))) -> R.Tensor((2,), dtype=\"float32\"):
        a: R.Tensor((2,), dtype=\"float32\") = args[0]
        b: R.Tensor((2,), dtype=\"float32\") = args[1]
        c: R.Tensor((2,), dtype=\"float32\") = R.add(a, b)
        return c

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        cls = Module
        y: R.Tensor((2,), dtype=\"float32\") = cls.sum((x, x))
        return y
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function(private=True)
    def sum(args_0: R.Tensor((2,), dtype=\"float32\"), args_1: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        c: R.Tensor((2,), dtype=\"float32\") = R.add(args_0, args_1)
        return c

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        cls = Module
        y: R.Tensor((2,), dtype=\"float32\") = cls.sum(x, x)
        return y
"),
    run: Run::Sequential(|_| {
        vec![Part::Inner(&INNER), Part::call("CanonicalizeBindings()"), Part::call("DeadCodeElimination()")]
    }),
};

static INNER: Inner = Inner { info_name: "ExpandTupleArgumentsInner", opt_level: 0, run: Run::Module(run) };

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let mut calls = Calls { callees: FxHashSet::default() };
    let mut changed = module.clone();
    for &(name, function) in module.functions() {
        if let Some(new) = expanded(store, function) {
            // TVM gives such a function a new name node, and so the last place.
            changed.remove_function(name);
            changed.set_function(name, new);
            calls.callees.insert(name);
        }
    }
    if !calls.callees.is_empty() {
        let mut mutation = Mutation::new(BlockBuilder::new(module));
        for &(name, function) in changed.functions() {
            if matches!(store.expr(function), Expr::Function(_)) {
                let new = rewrite_in(store, &mut mutation, &mut calls, function);
                mutation.builder.update_function(store, name, new);
            }
        }
        changed = mutation.builder.finish()?;
    }
    Ok(changed)
}

/// Replaces tuple parameters of a function by their fields, if it has any.
fn expanded(store: &mut Store, function: ExprId) -> Option<ExprId> {
    let data = store.as_function(function)?;
    let old: Vec<VarId> = store.items(data.params).collect();
    if global_symbol(store, function).is_some() || !old.iter().any(|param| fields_of(store, *param).is_some()) {
        return None;
    }
    let mut parts = Parts::default();
    old.into_iter().for_each(|param| parts.expand(store, param));
    // The body is nested, so its value gets a variable when the function is visited.
    let block = store.add_block_of(&parts.bindings, false);
    let blocks = store.list(&[block]);
    let ty = store.checked_type(data.body);
    let body = store.rebuild(data.body, Expr::Seq { blocks, body: data.body }, ty);
    let params = store.list(&parts.params);
    let new = store.add_function(Function { params, body, ..data });
    let new = store.rebuild(function, Expr::Function(new), None);
    let ty = signature(store, new);
    let node = store.expr(new);
    Some(store.rebuild(function, node, Some(ty)))
}

fn fields_of(store: &Store, var: VarId) -> Option<Vec<TypeId>> {
    match store.type_of_id(store.var_type(var)?) {
        Type::Tuple(fields) => Some(fields.to_vec()),
        _ => None,
    }
}

#[derive(Default)]
struct Parts {
    params: Vec<VarId>,
    bindings: Vec<Binding>,
}

impl Parts {
    /// Replaces a parameter by its fields, and binds their tuple. Types nest as deep as the reader lets them.
    fn expand(&mut self, store: &mut Store, param: VarId) {
        let Some(types) = fields_of(store, param) else {
            self.params.push(param);
            return;
        };
        let mut fields = Vec::with_capacity(types.len());
        for (index, ty) in types.iter().enumerate() {
            let name = format!("{}_{index}", store.var_name(param));
            let field = store.relax_var(&name, Some(*ty), false);
            fields.push(store.use_var(field));
            self.expand(store, field);
        }
        let ty = store.tuple_type(&types);
        let fields = store.list(&fields);
        let value = store.add_typed(Expr::Tuple(fields), Some(ty));
        self.bindings.push(Binding { var: param, value, cast: None });
    }
}

struct Calls {
    callees: FxHashSet<Id<Name>>,
}

impl BlockMutator for Calls {
    fn rule(&self) -> &'static str {
        "a tuple argument to its fields"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        store.call(id).is_some_and(|call| matches!(store.expr(call.callee), Expr::Global(_)))
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let Some(call) = store.call(post) else { return post };
        match store.expr(call.callee) {
            Expr::Global(name) if self.callees.contains(&name) => {}
            _ => return post,
        }
        let mut args = Vec::new();
        let mut stack: Vec<ExprId> = store.items(call.args).rev().collect();
        while let Some(arg) = stack.pop() {
            match store.checked_type(arg).map(|ty| store.type_of_id(ty)) {
                Some(Type::Tuple(types)) => {
                    let types = types.clone();
                    for (index, ty) in types.iter().copied().enumerate().rev() {
                        stack.push(store.add_typed(Expr::TupleGetItem { tuple: arg, index: index as u32 }, Some(ty)));
                    }
                }
                _ => args.push(cx.builder.normalize_operand(store, arg)),
            }
        }
        // The result keeps its type, so it is not deduced from the parameters.
        let args = store.list(&args);
        let ty = store.checked_type(post);
        store.rebuild(post, Expr::Call { callee: call.callee, args, info: call.info }, ty)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn a_public_function_keeps_its_tuple() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tuple(R.Tensor((2,), dtype=\"float32\"))) -> \
                    R.Tensor((2,), dtype=\"float32\"):\n        y: R.Tensor((2,), dtype=\"float32\") = x[0]\n        return y\n";
        assert!(after(text, "ExpandTupleArguments()").contains("def main(x: R.Tuple("));
    }
}
