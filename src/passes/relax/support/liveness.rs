//! Finds the last uses of variables.

use crate::ir::walk::free_vars;
use crate::ir::{Binding, BindingBlock, List, Store, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns for each binding the variables whose last use it is, in the order of their use; its own variable stands last
/// when it has no uses. The binding of `result` does not count. In dataflow blocks it is the first use instead, because
/// TVM's analysis reverses the bindings of ordinary blocks only.
pub(in crate::passes::relax) fn last_uses(
    store: &Store,
    blocks: List<BindingBlock>,
    result: Option<VarId>,
) -> FxHashMap<VarId, Vec<VarId>> {
    let mut ended: FxHashSet<VarId> = FxHashSet::default();
    let mut last = FxHashMap::default();
    let mut bindings: Vec<Binding> = Vec::new();
    for block in store.items(blocks) {
        let first = bindings.len();
        bindings.extend(store.block_bindings(block));
        if !store.block(block).dataflow {
            bindings[first..].reverse();
        }
    }
    for binding in bindings.iter().filter(|binding| Some(binding.var) != result) {
        let mut vars: Vec<VarId> = free_vars(store, binding.value).into_iter().filter(|var| ended.insert(*var)).collect();
        if ended.insert(binding.var) {
            vars.push(binding.var);
        }
        last.insert(binding.var, vars);
    }
    last
}
