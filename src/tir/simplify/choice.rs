//! Applies a condition to the branches that it chooses from.

use crate::ir::{IdMap, PrimExpr, PrimId, Store};

/// Simplifies a branch in which a condition is known: decides choices by the same condition.
pub(super) fn decided(store: &mut Store, branch: PrimId, cond: PrimId, truth: bool) -> PrimId {
    let mut order = Vec::new();
    let mut found = false;
    store.for_each_prim(branch, &mut |id, expr| {
        order.push(id);
        found |= matches!(expr, PrimExpr::Select { cond: inner, .. } if *inner == cond);
    });
    if !found {
        return branch;
    }
    let mut done: IdMap<PrimExpr, PrimId> = IdMap::new();
    for id in order {
        let at = |id: PrimId| done.get(id).copied().unwrap_or(id);
        let all = |ids: &[PrimId]| ids.iter().map(|id| at(*id)).collect();
        let new = match *store.prim_rc(id) {
            PrimExpr::Select { cond: inner, then, other } if inner == cond => {
                done.insert(id, at(if truth { then } else { other }));
                continue;
            }
            PrimExpr::Select { cond, then, other } => PrimExpr::Select { cond: at(cond), then: at(then), other: at(other) },
            PrimExpr::Binary { op, a, b } => PrimExpr::Binary { op, a: at(a), b: at(b) },
            PrimExpr::Not(value) => PrimExpr::Not(at(value)),
            PrimExpr::Cast { dtype, value } => PrimExpr::Cast { dtype, value: at(value) },
            PrimExpr::Call { op, ref args, dtype } => PrimExpr::Call { op, args: all(args), dtype },
            PrimExpr::Load { buffer, ref indices } => PrimExpr::Load { buffer, indices: all(indices) },
            _ => continue,
        };
        let new = store.prim(new);
        done.insert(id, new);
    }
    done.get(branch).copied().unwrap_or(branch)
}
