//! `return` in a packed function: the value goes where the caller said.

use crate::ir::{DType, DTypeCode, ForKind, Id, PrimExpr, PrimId, Stmt, StmtId, Store, Symbol};
use crate::tir::{Rewriting, StmtMutator};

/// Fields of a packed value, as TVM numbers those of its structures.
const TYPE_INDEX: i64 = 13;
const PADDING: i64 = 14;
const VALUE: i64 = 15;

pub(super) struct Returns {
    /// The variable for the result.
    pub(super) result: Id<Symbol>,
    /// The number of parallel loops around.
    pub(super) parallel: usize,
    pub(super) error: Option<String>,
}

impl StmtMutator for Returns {
    fn rule(&self) -> &'static str {
        ""
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::For(head, _) if head.kind == ForKind::Parallel => {
                self.parallel += 1;
                let new = cx.descend(self, id);
                self.parallel -= 1;
                Some(new)
            }
            Stmt::Return(value) => {
                if self.parallel > 0 {
                    self.error.get_or_insert_with(|| "Return cannot be used in parallel scope.".to_owned());
                    return Some(id);
                }
                let value = cx.root(self, value);
                Some(self.written(cx.store, value))
            }
            _ => None,
        }
    }
}

impl Returns {
    fn written(&mut self, store: &mut Store, value: PrimId) -> StmtId {
        let dtype = store.prim_dtype(value);
        let (index, value) = match dtype.code {
            _ if dtype == DType::VOID => (0, value),
            DTypeCode::Handle => (4, value),
            _ if dtype == DType::BOOL => (2, converted(store, DType::I64, value)),
            DTypeCode::Int | DTypeCode::UInt => (1, converted(store, DType::I64, value)),
            DTypeCode::Float => (3, converted(store, DType::F64, value)),
            _ => {
                self.error.get_or_insert_with(|| format!("data type {dtype} not supported yet"));
                (0, value)
            }
        };
        let result = store.prim(PrimExpr::Var(self.result));
        let [zero, index] = [0, index].map(|n| store.prim_int(n, DType::I32));
        let mut stmts: Vec<StmtId> = [(TYPE_INDEX, index), (PADDING, zero), (VALUE, value)]
            .into_iter()
            .map(|(field, value)| {
                let field = store.prim_int(field, DType::I32);
                let set = store.prim_call("tvm_struct_set", &[result, zero, field, value], DType::I32);
                store.add_stmt(Stmt::Evaluate(set))
            })
            .collect();
        stmts.push(store.add_stmt(Stmt::Return(zero)));
        store.add_stmts(&stmts)
    }
}

/// Makes TVM's node, which also converts values that have the type already.
fn converted(store: &mut Store, dtype: DType, value: PrimId) -> PrimId {
    store.prim(PrimExpr::Cast { dtype, value })
}
