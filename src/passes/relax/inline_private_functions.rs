//! InlinePrivateFunctions: inlines private functions into their callers.
//!
//! Source: `src/relax/transform/inline_functions.cc`.

use super::canonicalize_bindings::canonicalize_bindings;
use super::dead_code_elimination::remove_all_unused;
use super::support::global_symbol;
use crate::build::{BlockBuilder, BlockMutator, Mutation, bind_in, copy_with_new_vars, infer_symbols, run as rewrite_in};
use crate::infer::relax::types::Bindings;
use crate::ir::walk::post_order;
use crate::ir::{Binding, BindingBlock, Expr, ExprId, Id, Module, Name, Store, VarId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `relax.transform.InlinePrivateFunctions`.
pub static SPEC: PassSpec = PassSpec {
    name: "InlinePrivateFunctions",
    info_name: "InlinePrivateFunctions",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Puts the bodies of private functions in the place of their calls.",
    doc: explained(
        "A private function that does not call itself, directly or through others, is put in the place of each of its calls and \
leaves the module. Where something was put in, bindings are canonicalized and what nobody uses is removed. \
Symbols of the function become those of its caller; where only a shape as a value tells them, TVM leaves symbols that nothing defines.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            y: R.Tensor((2,), dtype=\"float32\") = cls.twice(x)
            z: R.Tensor((2,), dtype=\"float32\") = cls.twice(y)
            R.output(z)
        return z

    @R.function(private=True)
    def twice(a: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            b: R.Tensor((2,), dtype=\"float32\") = R.add(a, a)
            R.output(b)
        return b
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            b: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)
            z: R.Tensor((2,), dtype=\"float32\") = R.add(b, b)
            R.output(z)
        return z
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let order = inlined_functions(store, module);
    if order.is_empty() {
        return Ok(module.clone());
    }
    let mut inline = Inline { bodies: FxHashMap::default() };
    let mut mutation = Mutation::new(BlockBuilder::new(module));
    // Inlined functions have no calls left to inline.
    for name in &order {
        if let Some(function) = module.function(*name) {
            let new = rewrite_in(store, &mut mutation, &mut inline, function);
            inline.bodies.insert(*name, new);
        }
    }
    let mut changed = Vec::new();
    for &(name, function) in module.functions() {
        if matches!(store.expr(function), Expr::Function(_)) && !inline.bodies.contains_key(&name) {
            // TVM rebuilds every function, so functions without such calls are tidied too.
            changed.push((name, rewrite_in(store, &mut mutation, &mut inline, function)));
        }
    }
    let mut result = mutation.builder.finish()?;
    for name in order {
        result.remove_function(name);
    }
    for (name, function) in changed {
        let function = canonicalize_bindings(store, module, function)?;
        let function = remove_all_unused(store, module, function);
        result.set_function(name, function);
    }
    Ok(result)
}

/// Returns private functions that do not reach themselves, callees before their callers.
fn inlined_functions(store: &Store, module: &Module) -> Vec<Id<Name>> {
    let calls: FxHashMap<Id<Name>, Vec<Id<Name>>> = module
        .functions()
        .iter()
        .map(|&(name, function)| {
            let nodes = post_order(store, function).into_iter();
            let callees = nodes.filter_map(|id| match store.expr(id) {
                Expr::Global(callee) => Some(callee),
                _ => None,
            });
            (name, callees.collect())
        })
        .collect();
    let reaches_itself = |name: Id<Name>| {
        let mut seen: FxHashSet<Id<Name>> = FxHashSet::default();
        let mut stack: Vec<Id<Name>> = calls.get(&name).cloned().unwrap_or_default();
        while let Some(next) = stack.pop() {
            if next == name {
                return true;
            }
            if seen.insert(next) {
                stack.extend(calls.get(&next).into_iter().flatten());
            }
        }
        false
    };
    let mut wanted: Vec<Id<Name>> = module
        .functions()
        .iter()
        .filter(|(_, function)| matches!(store.expr(*function), Expr::Function(_)) && global_symbol(store, *function).is_none())
        .map(|(name, _)| *name)
        .filter(|name| !reaches_itself(*name))
        .collect();
    let mut order: Vec<Id<Name>> = Vec::new();
    while !wanted.is_empty() {
        let waiting: FxHashSet<Id<Name>> = wanted.iter().copied().collect();
        let ready = |name: &Id<Name>| !calls.get(name).is_some_and(|callees| callees.iter().any(|name| waiting.contains(name)));
        let (now, later): (Vec<_>, Vec<_>) = wanted.into_iter().partition(ready);
        // As no function reaches itself, there is always one that is ready.
        if now.is_empty() {
            break;
        }
        order.extend(now);
        wanted = later;
    }
    order
}

struct Inline {
    bodies: FxHashMap<Id<Name>, ExprId>,
}

impl BlockMutator for Inline {
    fn rule(&self) -> &'static str {
        "a call of a private function to its body"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        store.call(id).is_some_and(|call| matches!(store.expr(call.callee), Expr::Global(_)))
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let Some(call) = store.call(post) else { return post };
        let Expr::Global(name) = store.expr(call.callee) else { return post };
        let Some(&function) = self.bodies.get(&name) else { return post };
        let copy = copy_with_new_vars(store, cx, function);
        let Some(data) = store.as_function(copy) else { return post };
        let params: Vec<VarId> = store.items(data.params).collect();
        let args: Vec<ExprId> = store.items(call.args).collect();
        let mut bindings = Vec::new();
        let mut vars = Vec::new();
        let mut found = Vec::new();
        for (param, arg) in params.into_iter().zip(args) {
            let ty = store.checked_type(arg);
            if let (Some(ty), Some(given)) = (store.var_type(param), ty) {
                infer_symbols(store, ty, given, &mut found);
            }
            let name = store.var_name(param).to_owned();
            let var = store.relax_var(&name, ty, false);
            bindings.push(Binding { var, value: arg, cast: None });
            vars.push((param, store.use_var(var)));
        }
        let body = bind_in(store, cx, data.body, &vars, found.into_iter().collect::<Bindings>());
        let Expr::Seq { blocks, body } = store.expr(body) else { return post };
        let mut all: Vec<Id<BindingBlock>> = vec![store.add_block_of(&bindings, true)];
        all.extend(store.items(blocks));
        let blocks = store.list(&all);
        store.add(Expr::Seq { blocks, body })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn a_function_that_calls_itself_stays() {
        let text = "@I.ir_module\nclass Module:\n    @R.function(private=True)\n    def f(a: R.Tensor((2,), dtype=\"float32\")) -> \
                    R.Tensor((2,), dtype=\"float32\"):\n        cls = Module\n        b: R.Tensor((2,), dtype=\"float32\") = cls.f(a)\n        \
                    return b\n\n    @R.function\n    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):\n        \
                    cls = Module\n        y: R.Tensor((2,), dtype=\"float32\") = cls.f(x)\n        return y\n";
        assert_eq!(after(text, "InlinePrivateFunctions()").matches("cls.f(").count(), 2);
    }
}
