//! RemoveUnusedParameters: removes parameters of private functions that have no uses.
//!
//! Source: `src/relax/transform/remove_unused_parameters.cc`.

use super::dead_code_elimination::remove_all_unused;
use super::support::global_symbol;
use crate::build::{BlockBuilder, BlockMutator, Mutation, defined_symbols, infer_symbols, run as rewrite_in, signature};
use crate::infer::relax::types::symbols;
use crate::ir::walk::{free_vars, post_order};
use crate::ir::{Dim, Expr, ExprId, Extents, Function, Id, Module, Name, PrimExpr, Store, Symbol, Type, TypeId, VarId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.RemoveUnusedParameters`.
pub static SPEC: PassSpec = PassSpec {
    name: "RemoveUnusedParameters",
    info_name: "RemoveUnusedParameters",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Removes parameters of private functions that the body does not use.",
    doc: explained(
        "Functions without a `global_symbol` lose the parameters that their body does not use, and calls of them the arguments. \
Symbols that only such a parameter defined are handed over as a shape, in a parameter `param_n`; TVM leaves one undefined that \
stands in arithmetic alone, such as `n * m`. In functions whose calls \
changed, bindings that nobody uses any more go too.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function(private=True)
    def first(a: R.Tensor((2,), dtype=\"float32\"), b: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        c: R.Tensor((2,), dtype=\"float32\") = R.exp(a)
        return c

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        cls = Module
        y: R.Tensor((2,), dtype=\"float32\") = R.log(x)
        z: R.Tensor((2,), dtype=\"float32\") = cls.first(x, y)
        return z
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function(private=True)
    def first(a: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        c: R.Tensor((2,), dtype=\"float32\") = R.exp(a)
        return c

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        cls = Module
        z: R.Tensor((2,), dtype=\"float32\") = cls.first(x)
        return z
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let mut calls = Calls { callees: FxHashMap::default() };
    let mut changed = module.clone();
    for &(name, function) in module.functions() {
        if let Some((new, callee)) = narrower(store, function) {
            changed.set_function(name, new);
            calls.callees.insert(name, callee);
        }
    }
    if calls.callees.is_empty() {
        return Ok(changed);
    }
    let mut cx = Mutation::new(BlockBuilder::new(module));
    for &(name, function) in changed.functions() {
        if matches!(store.expr(function), Expr::Function(_)) {
            // TVM rebuilds every function, so unused bindings are removed also where no call changes.
            let new = rewrite_in(store, &mut cx, &mut calls, function);
            let new = remove_all_unused(store, &changed, new);
            cx.builder.update_function(store, name, new);
        }
    }
    cx.builder.finish()
}

/// The arguments that calls of a narrowed function keep.
struct Callee {
    /// The original parameters: their types, and true if they stay.
    params: Vec<(Option<TypeId>, bool)>,
    /// Symbols that are passed, each as a shape.
    symbols: Vec<Id<Symbol>>,
}

/// Removes unused parameters from a function; `None` if there are none.
fn narrower(store: &mut Store, function: ExprId) -> Option<(ExprId, Callee)> {
    let data = store.as_function(function)?;
    if global_symbol(store, function).is_some() {
        return None;
    }
    let read = read_symbols(store, data.body);
    let free = free_vars(store, data.body);
    let old: Vec<VarId> = store.items(data.params).collect();
    let used = |param: &VarId| free.contains(param) || store.var_data(*param).symbol.is_some_and(|symbol| read.contains(&symbol));
    let mut params: Vec<VarId> = old.iter().copied().filter(used).collect();
    if params.len() == old.len() {
        return None;
    }
    let kept = old.iter().map(|param| (store.var_type(*param), params.contains(param))).collect();
    let mut known: Vec<Id<Symbol>> = Vec::new();
    // A parameter that is a scalar counts as no definition of its symbol.
    for param in &params {
        known.extend(store.var_type(*param).into_iter().flat_map(|ty| symbols(store, ty, true)));
    }
    let mut missing = free_symbols(store, data.body, &params);
    missing.retain(|symbol| !known.contains(symbol));
    // TVM takes them from a hash table of few elements, where the newest stands first.
    missing.reverse();
    for symbol in &missing {
        let name = format!("param_{}", store.str(store.symbol(*symbol).name));
        let ty = store.ty(Type::Shape(Extents::Known([Dim::Symbol(*symbol)].into())));
        params.push(store.relax_var(&name, Some(ty), false));
    }
    let params = store.list(&params);
    let new = store.add_function(Function { params, ..data });
    let new = store.rebuild(function, Expr::Function(new), None);
    let ty = signature(store, new);
    let node = store.expr(new);
    let new = store.rebuild(function, node, Some(ty));
    Some((new, Callee { params: kept, symbols: missing }))
}

/// Returns the symbols in shapes and scalars.
fn read_symbols(store: &Store, body: ExprId) -> Vec<Id<Symbol>> {
    let mut found = Vec::new();
    for id in post_order(store, body) {
        symbols_of_node(store, id, &mut found);
    }
    found
}

fn symbols_of_node(store: &Store, id: ExprId, found: &mut Vec<Id<Symbol>>) {
    let mut add = |dim: Dim| match dim {
        Dim::Symbol(symbol) => found.push(symbol),
        Dim::Expr(prim) => store.for_each_prim(prim, &mut |_, node| {
            if let PrimExpr::Var(symbol) = node {
                found.push(*symbol);
            }
        }),
        Dim::Int { .. } | Dim::Any => {}
    };
    match store.expr(id) {
        Expr::Shape(dims) => store.dims_of_id(dims).iter().copied().for_each(add),
        Expr::Prim(prim) => add(store.dim_of_prim(prim)),
        _ => {}
    }
}

/// Returns symbols that are used in `body`, also in types and as those of `params`, and not defined there, each once.
fn free_symbols(store: &Store, body: ExprId, params: &[VarId]) -> Vec<Id<Symbol>> {
    let mut found = Vec::new();
    for id in post_order(store, body) {
        symbols_of_node(store, id, &mut found);
        match store.expr(id) {
            Expr::Call { info: Some(info), .. } => {
                for ty in &store.call_info(info).type_args {
                    found.extend(symbols(store, *ty, false));
                }
            }
            Expr::Seq { blocks, .. } => {
                for binding in store.bindings(blocks) {
                    found.extend(store.var_type(binding.var).into_iter().flat_map(|ty| symbols(store, ty, false)));
                }
            }
            Expr::Var(var) => {
                found.extend(store.var_data(var).symbol.filter(|_| params.contains(&var)));
                found.extend(store.var_type(var).into_iter().flat_map(|ty| symbols(store, ty, false)));
            }
            _ => {}
        }
    }
    let defined = defined_symbols(store, body);
    let mut free: Vec<Id<Symbol>> = Vec::new();
    for symbol in found {
        if !defined.contains(&symbol) && !free.contains(&symbol) {
            free.push(symbol);
        }
    }
    free
}

struct Calls {
    callees: FxHashMap<Id<Name>, Callee>,
}

impl BlockMutator for Calls {
    fn rule(&self) -> &'static str {
        "a call without arguments that are not used"
    }

    fn leave(&mut self, store: &mut Store, _: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let Some(call) = store.call(post) else { return post };
        let Expr::Global(name) = store.expr(call.callee) else { return post };
        let Some(callee) = self.callees.get(&name) else { return post };
        let old: Vec<ExprId> = store.items(call.args).collect();
        let mut args: Vec<ExprId> = old.iter().zip(&callee.params).filter(|(_, (_, kept))| *kept).map(|(arg, _)| *arg).collect();
        let mut found = Vec::new();
        for (arg, (ty, _)) in old.iter().zip(&callee.params) {
            if let (Some(ty), Some(given)) = (ty, store.checked_type(*arg)) {
                infer_symbols(store, *ty, given, &mut found);
            }
        }
        for symbol in &callee.symbols {
            // As in TVM, a later definition replaces the earlier ones.
            let Some((_, dim)) = found.iter().rev().find(|(other, _)| other == symbol) else { return post };
            let (dims, ty) = (store.dims(&[*dim]), store.ty(Type::Shape(Extents::Known([*dim].into()))));
            args.push(store.add_typed(Expr::Shape(dims), Some(ty)));
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
    fn a_symbol_that_only_a_parameter_defined_is_handed_over_as_a_shape() {
        let text = "@I.ir_module\nclass Module:\n    @R.function(private=True)\n    def f(a: R.Tensor((\"n\",), dtype=\"float32\")) -> \
                    R.Tensor((\"n\",), dtype=\"float32\"):\n        n = T.int64()\n        \
                    b: R.Tensor((n,), dtype=\"float32\") = R.zeros(R.shape([n]), dtype=\"float32\")\n        return b\n\n    \
                    @R.function\n    def main(x: R.Tensor((3,), dtype=\"float32\")) -> R.Tensor((3,), dtype=\"float32\"):\n        \
                    cls = Module\n        y: R.Tensor((3,), dtype=\"float32\") = cls.f(x)\n        return y\n";
        let made = after(text, "RemoveUnusedParameters()");
        assert!(made.contains("def f(param_n: R.Shape([n]))") && made.contains("cls.f(R.shape([3]))"), "{made}");
    }
}
