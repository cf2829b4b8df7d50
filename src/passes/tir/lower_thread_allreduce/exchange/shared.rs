//! Reductions in steps through shared memory.

use super::Exchange;
use crate::ir::{Buffer, Id, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::passes::tir::emit::{buffer, load, put, sync, when};
use crate::tir::arith::Analyzer;
use crate::tir::{binary, constant};

impl Exchange<'_> {
    /// The place in shared memory of a thread's value.
    fn place(&mut self, reduce: PrimId) -> PrimId {
        if self.store.as_prim_int(self.group) == Some(0) {
            return reduce;
        }
        let row = self.with(PrimOp::Mul, self.group, self.reduce_extent);
        let place = binary(self.store, PrimOp::Add, row, reduce);
        Analyzer::new().simplify(self.store, place)
    }

    pub(super) fn by_shared(&mut self, values: &[PrimId]) -> Vec<(Id<Buffer>, PrimId)> {
        let extent = self.group_extent.saturating_mul(self.reduce_extent);
        let extent = constant(self.store, extent, self.store.prim_dtype(self.group));
        let place = self.place(self.reduce);
        let mut shared = Vec::new();
        let stmt = sync(self.store, "shared");
        self.stmts.push(stmt);
        for (at, value) in values.iter().enumerate() {
            let buffer = buffer(self.store, &format!("red_buf{at}"), self.dtypes[at], extent, "shared");
            let stmt = put(self.store, buffer, place, *value);
            self.stmts.push(stmt);
            shared.push(buffer);
        }
        let stmt = sync(self.store, "shared");
        self.stmts.push(stmt);
        self.steps(&shared, place);
        let first = constant(self.store, 0, self.store.prim_dtype(self.reduce));
        let first = self.place(first);
        shared.into_iter().map(|buffer| (buffer, first)).collect()
    }

    /// Combines a thread's values with those of the thread so far away.
    fn pairs(&mut self, shared: &[Id<Buffer>], place: PrimId, offset: i64) -> Vec<PrimId> {
        let other = self.with(PrimOp::Add, self.reduce, offset);
        let other = self.place(other);
        let all = |store: &mut Store, place| shared.iter().map(|buffer| load(store, *buffer, place)).collect::<Vec<_>>();
        let (lhs, rhs) = (all(self.store, place), all(self.store, other));
        self.combine(&lhs, &rhs)
    }

    fn store_all(&mut self, shared: &[Id<Buffer>], place: PrimId, values: &[PrimId]) -> Vec<StmtId> {
        shared.iter().zip(values).map(|(buffer, value)| put(self.store, *buffer, place, *value)).collect()
    }

    /// Halves the number of values until one is left.
    fn steps(&mut self, shared: &[Id<Buffer>], place: PrimId) {
        let (warp, extent) = (self.device.warp, self.reduce_extent);
        let mut align = 1;
        while extent > align {
            align *= 2;
        }
        let step = |exchange: &mut Self, offset: i64, below: i64| {
            let values = exchange.pairs(shared, place, offset);
            let stores = exchange.store_all(shared, place, &values);
            let cond = exchange.with(PrimOp::Lt, exchange.reduce, below);
            let stmt = when(exchange.store, cond, &stores);
            exchange.stmts.push(stmt);
            let stmt = sync(exchange.store, "shared");
            exchange.stmts.push(stmt);
        };
        if align > extent {
            align /= 2;
            step(self, align, extent - align);
        }
        let aligned = self.group_extent == 1 || self.contiguous % warp == 0;
        while (align > self.contiguous || align > warp || !aligned) && align > 1 {
            align /= 2;
            step(self, align, align);
        }
        if align == 1 {
            return;
        }
        let cond = self.with(PrimOp::Lt, self.reduce, align / 2);
        let mut inside = Vec::new();
        while align > 1 {
            align /= 2;
            let values = self.pairs(shared, place, align);
            let mut vars = Vec::new();
            for (at, value) in values.into_iter().enumerate() {
                let name = self.store.name(&format!("w_{align}_{at}"));
                let var = self.store.add_symbol(Symbol { name, dtype: self.store.prim_dtype(value), size: false });
                inside.push(self.store.add_stmt(Stmt::Bind { var, value }));
                vars.push(self.store.prim(PrimExpr::Var(var)));
            }
            inside.push(sync(self.store, "warp"));
            inside.extend(self.store_all(shared, place, &vars));
            inside.push(sync(self.store, "warp"));
        }
        let stmt = when(self.store, cond, &inside);
        self.stmts.push(stmt);
        let stmt = sync(self.store, "shared");
        self.stmts.push(stmt);
    }
}
