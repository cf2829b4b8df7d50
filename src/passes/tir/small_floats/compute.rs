//! Computing with wider floats, and keeping small ones in memory.

use super::Small;
use super::convert::converted;
use crate::ir::{AttrNode, Buffer, DType, DTypeCode, ExprId, Id, PrimExpr, PrimId, PrimOp, Reducer, Stmt, StmtId, Store, Symbol};
use crate::pass::PassError;
use crate::tir::{Rewriting, StmtMutator, binary, cast, math, rewrite_func, substitute};
use rustc_hash::FxHashSet;

/// Makes a function compute with floats of type `wide` instead of small ones.
pub(in crate::passes::tir) fn legalize(store: &mut Store, func: ExprId, small: Small, wide: DType) -> Result<ExprId, PassError> {
    let Some(prim) = super::prim_func(store, func) else { return Ok(func) };
    let mut compute = Compute { small, wide, opaque: FxHashSet::default() };
    store.for_each_stmt(prim.body, |stmt| {
        let mut look = |root| {
            store.for_each_prim(root, &mut |_, part| {
                if let PrimExpr::Data(buffer) = part {
                    compute.opaque.insert(*buffer);
                }
            });
        };
        if let Stmt::Declare(buffer) = stmt {
            store.buffer(*buffer).data.iter().for_each(|data| look(*data));
        }
        store.for_each_prim_of(stmt, look);
    });
    rewrite_func(store, func, &mut compute)
}

struct Compute {
    small: Small,
    wide: DType,
    /// Buffers whose pointers are used.
    opaque: FxHashSet<Id<Buffer>>,
}

impl Compute {
    fn wide(&self, lanes: u16) -> DType {
        DType { lanes, ..self.wide }
    }

    /// Converts a value to a wide float, if it is a small one.
    fn promoted(&self, store: &mut Store, value: PrimId) -> PrimId {
        let dtype = store.prim_dtype(value);
        if !self.small.is(dtype) {
            return value;
        }
        let wide = self.wide(dtype.lanes);
        if let PrimExpr::Cast { value, .. } = *store.prim_of_id(value)
            && store.prim_dtype(value) == wide
        {
            return value;
        }
        converted(store, value, wide)
    }

    /// Makes the reducer compute with wide floats.
    fn reducer(&self, cx: &mut Rewriting<'_>, reducer: &Reducer) -> Option<PrimId> {
        let identities: Box<[PrimId]> = reducer.identities.iter().map(|value| cx.prim(&mut Inside(self), *value)).collect();
        if identities == reducer.identities {
            return None;
        }
        let mut new = Reducer { identities, ..reducer.clone() };
        let mut becomes = Vec::new();
        for (i, identity) in new.identities.iter().enumerate() {
            let dtype = cx.store.prim_dtype(*identity);
            for side in [&mut new.lhs[i], &mut new.rhs[i]] {
                let old = cx.store.symbol(*side).clone();
                if old.dtype != dtype {
                    let fresh = cx.store.add_symbol(Symbol { dtype, ..old });
                    becomes.push((*side, cx.store.prim(PrimExpr::Var(fresh))));
                    *side = fresh;
                }
            }
        }
        for result in &mut new.results {
            let value = substitute(cx.store, *result, &mut |_, symbol| {
                becomes.iter().find(|(old, _)| *old == symbol).map(|(_, new)| *new)
            });
            *result = cx.prim(&mut Inside(self), value);
        }
        Some(cx.store.prim(PrimExpr::Reducer(Box::new(new))))
    }

    fn node(&self, store: &mut Store, pre: PrimId, post: PrimId) -> PrimId {
        let old = store.prim_rc(pre);
        let expr = store.prim_rc(post);
        match (&*old, &*expr) {
            (_, PrimExpr::Float { value, dtype }) if self.small.is(*dtype) => {
                store.prim(PrimExpr::Float { value: *value, dtype: self.wide })
            }
            (PrimExpr::Cast { value: before, .. }, PrimExpr::Cast { dtype, value }) => {
                let value = self.promoted(store, *value);
                match self.small.is(*dtype) {
                    true => cast(store, self.wide(dtype.lanes), value),
                    false if value == *before => pre,
                    false => cast(store, *dtype, value),
                }
            }
            (PrimExpr::Binary { a: x, b: y, .. }, PrimExpr::Binary { op, a, b }) => {
                if matches!(op, PrimOp::And | PrimOp::Or | PrimOp::FloorDiv | PrimOp::FloorMod | PrimOp::Mod) {
                    return post;
                }
                let (a, b) = (self.promoted(store, *a), self.promoted(store, *b));
                match op {
                    _ if (a, b) == (*x, *y) => pre,
                    PrimOp::Min | PrimOp::Max => math::min_max(store, *op, a, b),
                    _ => binary(store, *op, a, b),
                }
            }
            (_, PrimExpr::Select { cond, then, other }) => {
                let (then, other) = (self.promoted(store, *then), self.promoted(store, *other));
                store.prim(PrimExpr::Select { cond: *cond, then, other })
            }
            (_, PrimExpr::Broadcast { value, lanes }) => {
                let value = self.promoted(store, *value);
                store.prim(PrimExpr::Broadcast { value, lanes: *lanes })
            }
            (_, PrimExpr::Shuffle { vectors, indices }) => {
                let vectors = vectors.iter().map(|vector| self.promoted(store, *vector)).collect();
                store.prim(PrimExpr::Shuffle { vectors, indices: indices.clone() })
            }
            (_, PrimExpr::Call { op, args, dtype }) => {
                if dtype.code == DTypeCode::Handle && *dtype != DType::VOID || store.str(*op) == "reinterpret" {
                    return post;
                }
                let args = args.iter().map(|arg| self.promoted(store, *arg)).collect();
                let dtype = if self.small.is(*dtype) { self.wide(dtype.lanes) } else { *dtype };
                store.prim(PrimExpr::Call { op: *op, args, dtype })
            }
            _ => post,
        }
    }
}

/// The rules for expressions alone.
struct Inside<'c>(&'c Compute);

impl StmtMutator for Inside<'_> {
    fn rule(&self) -> &'static str {
        ""
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, pre: PrimId, post: PrimId) -> PrimId {
        self.0.node(cx.store, pre, post)
    }
}

impl StmtMutator for Compute {
    fn rule(&self) -> &'static str {
        "computed with wider floats"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, pre: PrimId, post: PrimId) -> PrimId {
        self.node(cx.store, pre, post)
    }

    fn define_buffer(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>) -> Option<Id<Buffer>> {
        let data = cx.store.buffer(buffer).clone();
        if data.data.is_some() || !self.small.is(data.dtype) || self.opaque.contains(&buffer) {
            return None;
        }
        let new = Buffer { dtype: self.wide(data.dtype.lanes), ..data };
        Some(cx.store.add_buffer(new))
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Store { buffer, indices, value } => {
                let mut new = cx.root(self, value);
                let at = cx.roots(self, &indices);
                let becomes = cx.buffer(buffer);
                if (new, becomes) == (value, buffer) && at == indices {
                    return Some(id);
                }
                let (element, dtype) = (cx.store.buffer(becomes).dtype, cx.store.prim_dtype(new));
                let wanted = DType { lanes: dtype.lanes, ..element };
                if self.small.is(element) && dtype.code == DTypeCode::Float || self.small.is(dtype) {
                    new = converted(cx.store, new, wanted);
                }
                Some(cx.store.rebuild_stmt(id, Stmt::Store { buffer: becomes, indices: at, value: new }))
            }
            Stmt::Bind { value, .. } if self.small.is(cx.store.prim_dtype(value)) => {
                let dtype = cx.store.prim_dtype(value);
                cx.fail(
                    "tir-float",
                    format!("TVM cannot bind a variable of type {dtype} here: the value becomes wider and it does not"),
                );
                Some(id)
            }
            Stmt::Attr { node: AttrNode::Prim(node), key, .. } => {
                let PrimExpr::Reducer(reducer) = &*cx.store.prim_rc(node) else { return None };
                let reducer = self.reducer(cx, reducer)?;
                let new = cx.descend(self, id);
                let Stmt::Attr { value, body, .. } = *cx.store.stmt(new) else { return Some(new) };
                Some(cx.store.rebuild_stmt(id, Stmt::Attr { node: AttrNode::Prim(reducer), key, value, body }))
            }
            _ => None,
        }
    }
}
