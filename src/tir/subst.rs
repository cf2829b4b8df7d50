//! Scalar expressions with their variables replaced (TVM's `tirx::Substitute`).

use crate::ir::{Id, IdMap, PrimExpr, PrimId, Store, Symbol};

/// Replaces variables by the results of `f`; nothing else changes, nothing is simplified.
pub fn substitute(store: &mut Store, root: PrimId, f: &mut dyn FnMut(&mut Store, Id<Symbol>) -> Option<PrimId>) -> PrimId {
    let mut order = Vec::new();
    store.for_each_prim(root, &mut |id, _| order.push(id));
    let mut done: IdMap<PrimExpr, PrimId> = IdMap::new();
    for id in order {
        let node = store.prim_rc(id);
        let mut changed = false;
        let mut at = |child: PrimId| match done.get(child) {
            Some(new) => {
                changed = true;
                *new
            }
            None => child,
        };
        if let PrimExpr::Var(symbol) = &*node {
            if let Some(new) = f(store, *symbol) {
                done.insert(id, new);
            }
            continue;
        }
        let new = node.over(&mut at);
        if changed {
            let new = store.prim(new);
            done.insert(id, new);
        }
    }
    done.get(root).copied().unwrap_or(root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{DType, PrimOp, show_dim};

    #[test]
    fn variables_are_replaced_and_nothing_is_folded() {
        let store = &mut Store::new();
        let name = store.name("n");
        let n = store.add_symbol(Symbol { name, dtype: DType::I64, size: false });
        let (var, two) = (store.prim(PrimExpr::Var(n)), store.prim_int(2, DType::I64));
        let product = store.prim_binary(PrimOp::Mul, var, two);
        let new = substitute(store, product, &mut |_, _| Some(two));
        assert_eq!(show_dim(store, store.dim_of_prim(new)), "(2i64*2i64)");
        assert_eq!(substitute(store, product, &mut |_, _| None), product);
    }
}
