//! Branches over vectors as masks of loads and stores.

use crate::ir::{DType, DTypeCode, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store};
use crate::tir::{Rewriting, StmtMutator};

/// Masks a statement by a condition `ramp < limit`, if all that it loads and stores can be masked so. With `offsets` a
/// mask also applies to accesses that begin elsewhere.
pub(super) fn predicated(store: &mut Store, body: StmtId, cond: PrimId, offsets: bool) -> Option<StmtId> {
    let PrimExpr::Binary { op: PrimOp::Lt, a, b } = *store.prim_of_id(cond) else { return None };
    let PrimExpr::Ramp { base, stride, lanes } = *store.prim_of_id(a) else { return None };
    let PrimExpr::Broadcast { value: limit, .. } = *store.prim_of_id(b) else { return None };
    let mut masks = Masks { base, stride, lanes, limit, offsets, seen: 0, masked: 0 };
    let new = Rewriting::new(store).visit(&mut masks, body);
    (masks.seen > 0 && masks.seen == masks.masked).then_some(new)
}

struct Masks {
    base: PrimId,
    stride: PrimId,
    lanes: u16,
    limit: PrimId,
    offsets: bool,
    seen: usize,
    masked: usize,
}

impl Masks {
    /// Returns the mask of an access, if it can have one.
    fn mask(&mut self, store: &mut Store, indices: &[PrimId]) -> Option<PrimId> {
        self.seen += 1;
        let PrimExpr::Ramp { base, stride, lanes } = *store.prim_of_id(*indices.first()?) else { return None };
        if (stride, lanes) != (self.stride, self.lanes) || (base != self.base && !self.offsets) {
            return None;
        }
        self.masked += 1;
        let dtype = DType { lanes, ..DType::new(DTypeCode::UInt, 1) };
        Some(store.prim_call("get_active_lane_mask", &[self.base, self.limit], dtype))
    }
}

impl StmtMutator for Masks {
    fn rule(&self) -> &'static str {
        ""
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        match &*cx.store.prim_rc(post) {
            PrimExpr::Load { buffer, indices } => {
                let Some(mask) = self.mask(cx.store, indices) else { return post };
                let dtype = cx.store.prim_dtype(post);
                let mut args = vec![cx.store.prim(PrimExpr::Buffer(*buffer))];
                args.extend(indices);
                args.push(mask);
                cx.store.prim_call("masked_load", &args, dtype)
            }
            PrimExpr::Call { op, .. } if cx.store.str(*op).starts_with("masked_") => {
                self.seen += 1;
                post
            }
            _ => post,
        }
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let new = cx.descend(self, id);
        let Stmt::Store { buffer, indices, value } = cx.store.stmt(new).clone() else { return Some(new) };
        let Some(mask) = self.mask(cx.store, &indices) else { return Some(new) };
        let mut args = vec![cx.store.prim(PrimExpr::Buffer(buffer)), value];
        args.extend(indices);
        args.push(mask);
        let call = cx.store.prim_call("masked_store", &args, DType::VOID);
        Some(cx.store.rebuild_stmt(id, Stmt::Evaluate(call)))
    }
}
