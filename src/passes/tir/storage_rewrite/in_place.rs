//! Checks that a statement may write its result over its operand: `B[i] = f(A[i])`, with `B` in the place of `A`.

use crate::ir::{Buffer, Id, PrimExpr, PrimId, Stmt, StmtId, Store};

/// True if `target` may stand in the memory of `source` in a statement. Assumes, as TVM does, that each element is
/// written once.
pub(super) fn can_be_in_place(store: &Store, stmt: StmtId, target: Id<Buffer>, source: Id<Buffer>) -> bool {
    let is_scope =
        matches!(store.stmt(stmt), Stmt::Attr { .. } | Stmt::For(..) | Stmt::If { .. } | Stmt::While { .. } | Stmt::Store { .. });
    is_scope && Check { store, target, source }.stmt(stmt)
}

struct Check<'s> {
    store: &'s Store,
    target: Id<Buffer>,
    source: Id<Buffer>,
}

impl Check<'_> {
    fn stmt(&self, id: StmtId) -> bool {
        let store = self.store;
        let stmt = store.stmt(id);
        let mut fine = true;
        match stmt {
            Stmt::Store { buffer, indices, value } => {
                let writes = (*buffer == self.target).then_some((&indices[..], *value));
                return indices.iter().all(|index| self.value(*index, true, None)) && self.value(*value, false, writes);
            }
            Stmt::Attr { key, .. } if store.str(*key) == "extern_scope" => return false,
            Stmt::Alloc(_, Some(attrs)) if store.attr(Some(*attrs), "tirx.volatile").is_some() => return false,
            Stmt::Declare(buffer) => {
                if let Some(data) = store.buffer(*buffer).data {
                    fine &= self.value(data, false, None);
                }
            }
            _ => store.for_each_prim_of(stmt, |value| fine = fine && self.value(value, false, None)),
        }
        store.for_each_inner_stmt(id, |inner| fine = fine && self.stmt(inner));
        fine
    }

    /// Checks an expression, inside of an index or not, in a store to the target or not.
    fn value(&self, root: PrimId, in_index: bool, writes: Option<(&[PrimId], PrimId)>) -> bool {
        let mut todo = vec![(root, in_index)];
        while let Some((id, in_index)) = todo.pop() {
            let expr = self.store.prim_of_id(id);
            let mut inside = in_index;
            match expr {
                PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) if [self.target, self.source].contains(buffer) => return false,
                PrimExpr::Load { buffer, indices } => {
                    if *buffer == self.target || in_index {
                        return false;
                    }
                    let same = |(at, value): (&[PrimId], PrimId)| {
                        self.store.prim_dtype(value) == self.store.prim_dtype(id) && at == &indices[..]
                    };
                    if *buffer == self.source && !writes.is_some_and(same) {
                        return false;
                    }
                    inside = true;
                }
                _ => {}
            }
            expr.for_each_child(&mut |child| todo.push((child, inside)));
        }
        true
    }
}
