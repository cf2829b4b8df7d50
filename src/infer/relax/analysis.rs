//! Analyses of expressions of Relax, by their names in TVM's `relax.analysis` (TVM: `src/relax/analysis`).
//!
//! Others are in the modules that they belong to: [`super::effects::contains_impure_call`], [`super::types::fit`]
//! (TVM's `TypeBaseCheck`), [`super::types::common`] (`TypeLCA`), [`crate::tir::has_reshape_pattern`],
//! [`crate::ir::walk::free_vars`], and [`super::types::symbols`] (`TIRVarsInType` and `DefinableTIRVarsInType`).

use super::types::symbols;
use crate::ir::walk::{for_each_binder, for_each_child, free_vars, post_order};
use crate::ir::{Binding, BindingBlock, Dim, Expr, ExprId, Id, IdMap, Name, PrimExpr, Store, Symbol, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the variables that are bound in `root`: parameters, and those of bindings (TVM's `bound_vars`), in program order.
pub fn bound_vars(store: &Store, root: ExprId) -> Vec<VarId> {
    vars(store, root, false)
}

/// Returns all variables in `root`, bound or free (TVM's `all_vars`), in program order.
pub fn all_vars(store: &Store, root: ExprId) -> Vec<VarId> {
    vars(store, root, true)
}

fn vars(store: &Store, root: ExprId, used: bool) -> Vec<VarId> {
    enum Step {
        Bind(VarId),
        Visit(ExprId),
    }
    let (mut found, mut seen, mut stack) = (Vec::new(), IdMap::new(), vec![Step::Visit(root)]);
    while let Some(step) = stack.pop() {
        let id = match step {
            Step::Bind(var) => {
                found.push(var);
                continue;
            }
            Step::Visit(id) if seen.insert(id, ()).is_some() => continue,
            Step::Visit(id) => id,
        };
        let first = stack.len();
        match store.expr(id) {
            Expr::Var(var) if used => found.push(var),
            Expr::Function(function) => {
                let function = store.function(function);
                stack.extend(store.items(function.params).map(Step::Bind));
                stack.push(Step::Visit(function.body));
            }
            Expr::Seq { blocks, body } => {
                stack.extend(store.bindings(blocks).flat_map(|binding| [Step::Visit(binding.value), Step::Bind(binding.var)]));
                stack.push(Step::Visit(body));
            }
            _ => for_each_child(store, id, |child| stack.push(Step::Visit(child))),
        }
        stack[first..].reverse();
    }
    once(found)
}

/// Returns the functions of the module that `root` mentions, in the order of first mention (TVM's `all_global_vars`).
pub fn all_global_vars(store: &Store, root: ExprId) -> Vec<Id<Name>> {
    let named = |id: ExprId| match store.expr(id) {
        Expr::Global(name) => Some(name),
        _ => None,
    };
    once(post_order(store, root).into_iter().filter_map(named).collect())
}

/// Returns the functions of the module that `root` calls, directly or through `R.call_tir` and similar operators: those
/// that are mentioned as a callee or first argument.
pub fn called_global_vars(store: &Store, root: ExprId) -> Vec<Id<Name>> {
    let mut found = Vec::new();
    for id in post_order(store, root) {
        let Expr::Call { callee, args, .. } = store.expr(id) else { continue };
        let first = (!args.is_empty() && matches!(store.expr(callee), Expr::Op(_))).then(|| store.item(args, 0));
        for id in [Some(callee), first].into_iter().flatten() {
            if let Expr::Global(name) = store.expr(id) {
                found.push(name);
            }
        }
    }
    once(found)
}

/// Returns the symbolic variables that `root` defines: those that are a whole extent in the type of a parameter or of
/// an `R.match_cast`, and parameters and bindings that hold a scalar (TVM's `defined_symbolic_vars`).
pub fn defined_symbolic_vars(store: &Store, root: ExprId) -> Vec<Id<Symbol>> {
    let mut found = Vec::new();
    for id in post_order(store, root) {
        match store.expr(id) {
            Expr::Function(function) => {
                for param in store.items(store.function(function).params) {
                    found.extend(store.var_data(param).symbol);
                    found.extend(store.var_type(param).into_iter().flat_map(|ty| symbols(store, ty, true)));
                }
            }
            Expr::Seq { blocks, .. } => {
                for binding in store.bindings(blocks) {
                    found.extend(store.var_data(binding.var).symbol);
                    found.extend(binding.cast.into_iter().flat_map(|ty| symbols(store, ty, true)));
                }
            }
            _ => {}
        }
    }
    once(found)
}

/// Returns the symbolic variables that `root` uses and does not define (TVM's `free_symbolic_vars`).
pub fn free_symbolic_vars(store: &Store, root: ExprId) -> Vec<Id<Symbol>> {
    let mut found = Vec::new();
    let dim = |dim: Dim, found: &mut Vec<Id<Symbol>>| match dim {
        Dim::Symbol(symbol) => found.push(symbol),
        Dim::Expr(prim) => store.for_each_prim(prim, &mut |_, node| {
            if let PrimExpr::Var(symbol) = node {
                found.push(*symbol);
            }
        }),
        Dim::Int { .. } | Dim::Any => {}
    };
    for id in post_order(store, root) {
        found.extend(store.checked_type(id).into_iter().flat_map(|ty| symbols(store, ty, false)));
        for_each_binder(store, id, |var| {
            found.extend(store.var_type(var).into_iter().flat_map(|ty| symbols(store, ty, false)));
        });
        match store.expr(id) {
            Expr::Shape(dims) => store.dims_of_id(dims).iter().for_each(|extent| dim(*extent, &mut found)),
            Expr::Prim(prim) => dim(store.dim_of_prim(prim), &mut found),
            _ => {}
        }
    }
    let defined: FxHashSet<Id<Symbol>> = defined_symbolic_vars(store, root).into_iter().collect();
    found.retain(|symbol| !defined.contains(symbol));
    once(found)
}

/// Returns the use-def chains: for each variable the variables whose values mention it, in the order of their bindings
/// (TVM's `udchain`). The second part has the variables that the result of a sequence mentions.
pub fn udchain(store: &Store, root: ExprId) -> (FxHashMap<VarId, Vec<VarId>>, FxHashSet<VarId>) {
    let (mut users, mut results) = (FxHashMap::<VarId, Vec<VarId>>::default(), FxHashSet::default());
    for id in post_order(store, root) {
        let Expr::Seq { blocks, body } = store.expr(id) else { continue };
        for Binding { var, value, .. } in store.bindings(blocks) {
            users.entry(var).or_default();
            for used in free_vars(store, value) {
                users.entry(used).or_default().push(var);
            }
        }
        results.extend(free_vars(store, body));
    }
    (users, results)
}

/// Returns the use-def chains of one block, variables in the order of first mention. A value that is cast has no user.
pub fn udchain_of_block(store: &Store, block: Id<BindingBlock>) -> Vec<(VarId, Vec<VarId>)> {
    let mut found: Vec<(VarId, Vec<VarId>)> = Vec::new();
    let mut place: FxHashMap<VarId, usize> = FxHashMap::default();
    for Binding { var, value, cast } in store.block_bindings(block) {
        let used = if cast.is_none() { free_vars(store, value) } else { Vec::new() };
        for (mentioned, user) in used.into_iter().map(|used| (used, Some(var))).chain([(var, None)]) {
            let at = *place.entry(mentioned).or_insert_with(|| {
                found.push((mentioned, Vec::new()));
                found.len() - 1
            });
            found[at].1.extend(user);
        }
    }
    found
}

/// Returns the bindings of `root` by the names of their variables, in program order (TVM's `name_to_binding`).
pub fn name_to_binding(store: &Store, root: ExprId) -> Vec<(Id<Name>, Vec<Binding>)> {
    let mut found: Vec<(Id<Name>, Vec<Binding>)> = Vec::new();
    let mut place: FxHashMap<Id<Name>, usize> = FxHashMap::default();
    for id in post_order(store, root) {
        let Expr::Seq { blocks, .. } = store.expr(id) else { continue };
        for binding in store.bindings(blocks) {
            let name = store.var_data(binding.var).name;
            let at = *place.entry(name).or_insert_with(|| {
                found.push((name, Vec::new()));
                found.len() - 1
            });
            found[at].1.push(binding);
        }
    }
    found
}

/// Removes repetitions; the first occurrences stay in order.
fn once<T: Copy + Eq + std::hash::Hash>(mut found: Vec<T>) -> Vec<T> {
    let mut seen = FxHashSet::default();
    found.retain(|item| seen.insert(*item));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "@I.ir_module
class Module:
    @R.function
    def other(x: R.Tensor((\"n\",), dtype=\"float32\")) -> R.Tensor((\"n\",), dtype=\"float32\"):
        n = T.int64()
        return x
    @R.function
    def main(x: R.Tensor((\"n\",), dtype=\"float32\")) -> R.Tensor(dtype=\"float32\", ndim=1):
        n = T.int64()
        k = T.int64()
        cls = Module
        with R.dataflow():
            a: R.Tensor((n,), dtype=\"float32\") = cls.other(x)
            b: R.Tensor((n,), dtype=\"float32\") = R.add(a, x)
            c: R.Tensor((k,), dtype=\"float32\") = R.match_cast(b, R.Tensor((k,), dtype=\"float32\"))
            R.output(c)
        return c
";

    fn main_of(store: &mut Store) -> ExprId {
        let parsed = crate::parse::parse(store, SOURCE);
        let module = crate::infer::relax::infer_module(store, &parsed.program.module).expect("it is typed");
        let name = store.name("main");
        module.function(name).expect("it is there")
    }

    #[test]
    fn variables_functions_and_symbols_are_found_where_they_stand() {
        let store = &mut Store::new();
        let main = main_of(store);
        let names = |vars: Vec<VarId>| vars.into_iter().map(|var| store.var_name(var)).collect::<Vec<_>>();
        let mut bound = names(bound_vars(store, main));
        bound.sort_unstable();
        assert_eq!(bound, ["a", "b", "c", "x"]);
        assert_eq!(all_vars(store, main).len(), 4);
        let globals = |found: Vec<Id<Name>>| found.into_iter().map(|name| store.str(name)).collect::<Vec<_>>();
        assert_eq!(globals(all_global_vars(store, main)), ["other"]);
        assert_eq!(globals(called_global_vars(store, main)), ["other"]);
        let symbols = |found: Vec<Id<Symbol>>| found.into_iter().map(|s| store.str(store.symbol(s).name)).collect::<Vec<_>>();
        let mut defined = symbols(defined_symbolic_vars(store, main));
        defined.sort_unstable();
        assert_eq!(defined, ["k", "n"]);
        assert_eq!(symbols(free_symbolic_vars(store, main)), Vec::<&str>::new());
        // In the body alone the parameter's extent is free.
        let body = store.as_function(main).expect("a function").body;
        assert_eq!(symbols(free_symbolic_vars(store, body)), ["n"]);
    }

    #[test]
    fn uses_and_bindings_are_found_by_variable_and_by_name() {
        let store = &mut Store::new();
        let main = main_of(store);
        let (users, results) = udchain(store, main);
        let mut by_name: Vec<(String, Vec<&str>)> = (users.iter())
            .map(|(var, users)| (store.var_name(*var).to_owned(), users.iter().map(|var| store.var_name(*var)).collect()))
            .collect();
        by_name.sort_unstable();
        let wanted = [("a", vec!["b"]), ("b", vec!["c"]), ("c", vec![]), ("x", vec!["a", "b"])];
        assert_eq!(by_name, wanted.map(|(name, users)| (name.to_owned(), users)));
        assert_eq!(results.into_iter().map(|var| store.var_name(var)).collect::<Vec<_>>(), ["c"]);
        let bindings = name_to_binding(store, main);
        assert_eq!(
            bindings.iter().map(|(name, all)| (store.str(*name), all.len())).collect::<Vec<_>>(),
            [("a", 1), ("b", 1), ("c", 1)]
        );
    }
}
