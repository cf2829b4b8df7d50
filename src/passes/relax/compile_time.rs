//! Finds values that can be computed before a program runs (TVM: `src/relax/analysis/computable_at_compile_time.cc`).

use super::grouping::used_vars;
use super::support::used_symbols_of;
use crate::infer::relax::types::symbols;
use crate::ir::{Expr, ExprId, Id, Store, Symbol, VarId};
use rustc_hash::FxHashSet;

/// Returns the parameters behind the first `num_input`, and the variables that depend only on those.
pub(super) fn computable_at_compile_time(store: &Store, function: ExprId) -> FxHashSet<VarId> {
    let mut known: FxHashSet<VarId> = FxHashSet::default();
    let mut known_symbols: FxHashSet<Id<Symbol>> = FxHashSet::default();
    let Expr::Function(id) = store.expr(function) else { return known };
    let function = store.function(id);
    let learn = |var: VarId, known: &mut FxHashSet<VarId>, known_symbols: &mut FxHashSet<Id<Symbol>>| {
        known.insert(var);
        known_symbols.extend(store.var_data(var).symbol);
        known_symbols.extend(store.var_type(var).into_iter().flat_map(|ty| symbols(store, ty, true)));
    };
    if let Some(inputs) = store.attr_int(function.attrs, "num_input") {
        for param in store.items(function.params).skip(usize::try_from(inputs).unwrap_or(0)) {
            learn(param, &mut known, &mut known_symbols);
        }
    }
    let Expr::Seq { blocks, .. } = store.expr(function.body) else { return known };
    for binding in store.bindings(blocks) {
        let fixed = used_vars(store, binding.value).iter().all(|var| known.contains(var))
            && used_symbols_of(store, binding.value).iter().all(|symbol| known_symbols.contains(symbol));
        if fixed {
            learn(binding.var, &mut known, &mut known_symbols);
        }
    }
    known
}
