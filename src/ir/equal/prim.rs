//! Equality of TIR: scalar expressions, buffers, statements and functions. As in TVM names do not count,
//! and a buffer has its partner from where it is met first.

use super::{Comparer, Outcome, expect, mismatch};
use crate::ir::id::Id;
use crate::ir::prim::{AttrNode, Block, Buffer, For, PrimExpr, PrimFunc, PrimId, PrimParam, Reducer, Region, Stmt, StmtId};

/// The pairs still to be compared, except expressions, which are compared at once.
enum Todo {
    Stmts(StmtId, StmtId),
    Prims(PrimId, PrimId),
}

impl Comparer<'_> {
    /// Compares scalar expressions, with a stack: they may be deep.
    pub(super) fn prims(&mut self, lhs: PrimId, rhs: PrimId, map_free: bool) -> Outcome {
        let store = self.store;
        let mut stack = vec![(lhs, rhs)];
        while let Some((lhs, rhs)) = stack.pop() {
            if self.known_prims.contains(&(lhs, rhs)) {
                continue;
            }
            let (a, b) = (store.prim_of_id(lhs), store.prim_of_id(rhs));
            let same = match (a, b) {
                (PrimExpr::Var(a), PrimExpr::Var(b)) => {
                    self.symbol(*a, *b, map_free)?;
                    continue;
                }
                (PrimExpr::Binary { op: p, .. }, PrimExpr::Binary { op: q, .. }) => p == q,
                (PrimExpr::Not(_), PrimExpr::Not(_)) | (PrimExpr::Select { .. }, PrimExpr::Select { .. }) => true,
                (PrimExpr::Cast { dtype: d, .. }, PrimExpr::Cast { dtype: e, .. }) => d == e,
                (PrimExpr::Call { op: f, args: x, dtype: d }, PrimExpr::Call { op: g, args: y, dtype: e }) => {
                    f == g && d == e && x.len() == y.len()
                }
                (PrimExpr::Load { buffer: p, indices: x }, PrimExpr::Load { buffer: q, indices: y }) => {
                    self.buffers(*p, *q)?;
                    x.len() == y.len()
                }
                (PrimExpr::Data(p), PrimExpr::Data(q)) | (PrimExpr::Buffer(p), PrimExpr::Buffer(q)) => {
                    self.buffers(*p, *q)?;
                    true
                }
                (PrimExpr::Shuffle { vectors: x, indices: i }, PrimExpr::Shuffle { vectors: y, indices: j }) => {
                    x.len() == y.len() && i.len() == j.len()
                }
                (PrimExpr::Reducer(x), PrimExpr::Reducer(y)) => {
                    self.reducers(x, y)?;
                    true
                }
                (PrimExpr::Ramp { lanes: n, .. }, PrimExpr::Ramp { lanes: m, .. }) => n == m,
                (PrimExpr::Broadcast { lanes: n, .. }, PrimExpr::Broadcast { lanes: m, .. }) => n == m,
                (PrimExpr::Let { var: v, .. }, PrimExpr::Let { var: w, .. }) => {
                    self.symbol(*v, *w, true)?;
                    true
                }
                (a, b) => a == b,
            };
            expect(same, "expressions differ")?;
            // Assumes equality, which is checked below; after a mismatch the comparison ends.
            self.known_prims.insert((lhs, rhs));
            let mut left = Vec::new();
            a.for_each_child(&mut |child| left.push(child));
            let mut right = Vec::new();
            b.for_each_child(&mut |child| right.push(child));
            stack.extend(left.into_iter().zip(right).rev());
        }
        Ok(())
    }

    fn reducers(&mut self, lhs: &Reducer, rhs: &Reducer) -> Outcome {
        let symbols = |reducer: &Reducer| -> Vec<_> { reducer.lhs.iter().chain(&reducer.rhs).copied().collect() };
        let (x, y) = (symbols(lhs), symbols(rhs));
        expect(x.len() == y.len(), "reducers of another number of values")?;
        x.into_iter().zip(y).try_for_each(|(a, b)| self.symbol(a, b, true))?;
        self.prim_lists(&lhs.results, &rhs.results, false)?;
        self.prim_lists(&lhs.identities, &rhs.identities, false)
    }

    fn prim_lists(&mut self, lhs: &[PrimId], rhs: &[PrimId], map_free: bool) -> Outcome {
        expect(lhs.len() == rhs.len(), "another number of extents or indices")?;
        lhs.iter().zip(rhs).try_for_each(|(&a, &b)| self.prims(a, b, map_free))
    }

    fn optional_prims(&mut self, lhs: Option<PrimId>, rhs: Option<PrimId>, map_free: bool) -> Outcome {
        match (lhs, rhs) {
            (None, None) => Ok(()),
            (Some(a), Some(b)) => self.prims(a, b, map_free),
            _ => mismatch("an expression is given on one side only"),
        }
    }

    fn buffers(&mut self, lhs: Id<Buffer>, rhs: Id<Buffer>) -> Outcome {
        if let Some(equal) = self.buffers.check(lhs, rhs) {
            return expect(equal, "another buffer");
        }
        self.buffers.insert(lhs, rhs);
        let store = self.store;
        let (a, b) = (store.buffer(lhs), store.buffer(rhs));
        let same = a.dtype == b.dtype && a.scope == b.scope && a.align == b.align && a.offset_factor == b.offset_factor;
        expect(same && a.layout == b.layout, "buffers differ")?;
        self.prim_lists(&a.shape, &b.shape, true)?;
        self.prim_lists(&a.strides, &b.strides, true)?;
        // An offset that is not said is 0.
        let said = |offset: Option<PrimId>| offset.filter(|offset| store.as_prim_int(*offset) != Some(0));
        self.optional_prims(said(a.elem_offset), said(b.elem_offset), true)?;
        self.optional_prims(a.data, b.data, true)
    }

    fn regions(&mut self, lhs: &[Region], rhs: &[Region]) -> Outcome {
        expect(lhs.len() == rhs.len(), "another number of regions")?;
        for (a, b) in lhs.iter().zip(rhs) {
            self.buffers(a.buffer, b.buffer)?;
            expect(a.ranges.len() == b.ranges.len(), "regions differ")?;
            for (x, y) in a.ranges.iter().zip(&b.ranges) {
                self.prims(x.0, y.0, false)?;
                self.optional_prims(x.1, y.1, false)?;
            }
        }
        Ok(())
    }

    /// Compares two functions of TIR.
    pub(super) fn prim_funcs(&mut self, lhs: Id<PrimFunc>, rhs: Id<PrimFunc>, place: u32) -> Outcome {
        if lhs == rhs {
            return Ok(());
        }
        let store = self.store;
        let (a, b) = (store.prim_func(lhs), store.prim_func(rhs));
        expect(a.params.len() == b.params.len(), "another number of parameters")?;
        for (p, q) in a.params.iter().zip(&b.params) {
            match (*p, *q) {
                (PrimParam::Var(p), PrimParam::Var(q)) => self.symbol(p, q, true)?,
                (PrimParam::Buffer(p), PrimParam::Buffer(q)) => self.buffers(p, q)?,
                _ => return mismatch("only one of the parameters is a buffer"),
            }
        }
        self.optional_types(a.ret, b.ret, true, "result type")?;
        self.dict_attrs(a.attrs, b.attrs, place)?;
        self.statements(a.body, b.body, place)
    }

    fn statements(&mut self, lhs: StmtId, rhs: StmtId, place: u32) -> Outcome {
        let store = self.store;
        let mut todo = vec![Todo::Stmts(lhs, rhs)];
        while let Some(next) = todo.pop() {
            let (lhs, rhs) = match next {
                Todo::Stmts(lhs, rhs) => (lhs, rhs),
                Todo::Prims(lhs, rhs) => {
                    self.prims(lhs, rhs, false)?;
                    continue;
                }
            };
            match (store.stmt(lhs), store.stmt(rhs)) {
                (Stmt::Seq(a), Stmt::Seq(b)) => {
                    expect(a.len() == b.len(), "another number of statements")?;
                    todo.extend(store.items(*a).zip(store.items(*b)).map(|(a, b)| Todo::Stmts(a, b)).rev());
                }
                (Stmt::For(a, body), Stmt::For(b, other)) => {
                    self.loops(a, b, place)?;
                    todo.push(Todo::Stmts(*body, *other));
                }
                (Stmt::Block(a), Stmt::Block(b)) => {
                    let (a, b) = (store.prim_block(*a), store.prim_block(*b));
                    self.prim_blocks(a, b, place)?;
                    todo.push(Todo::Stmts(a.body, b.body));
                    match (a.init, b.init) {
                        (None, None) => {}
                        (Some(a), Some(b)) => todo.push(Todo::Stmts(a, b)),
                        _ => return mismatch("only one of the blocks has an init"),
                    }
                }
                (Stmt::Store { buffer: p, indices: i, value: v }, Stmt::Store { buffer: q, indices: j, value: w }) => {
                    self.buffers(*p, *q)?;
                    self.prims(*v, *w, false)?;
                    self.prim_lists(i, j, false)?;
                }
                (Stmt::If { cond: c, then: t, other: o }, Stmt::If { cond: d, then: u, other: p }) => {
                    self.prims(*c, *d, false)?;
                    match (o, p) {
                        (None, None) => {}
                        (Some(o), Some(p)) => todo.push(Todo::Stmts(*o, *p)),
                        _ => return mismatch("only one of the branches has an else"),
                    }
                    todo.push(Todo::Stmts(*t, *u));
                }
                (Stmt::While { cond: c, body: a }, Stmt::While { cond: d, body: b }) => {
                    self.prims(*c, *d, false)?;
                    todo.push(Todo::Stmts(*a, *b));
                }
                (Stmt::Bind { var: v, value: a }, Stmt::Bind { var: w, value: b }) => {
                    self.prims(*a, *b, false)?;
                    self.symbol(*v, *w, true)?;
                }
                (Stmt::Attr { node: n, key: k, value: a, body: s }, Stmt::Attr { node: m, key: l, value: b, body: t }) => {
                    expect(k == l, "another attribute")?;
                    match (n, m) {
                        (AttrNode::Prim(n), AttrNode::Prim(m)) => self.prims(*n, *m, false)?,
                        (AttrNode::Nothing, AttrNode::Nothing) => {}
                        (AttrNode::Thread { var: v, tag: t }, AttrNode::Thread { var: w, tag: u }) => {
                            expect(t == u, "another thread")?;
                            self.symbol(*v, *w, true)?;
                        }
                        _ => return mismatch("attributes of different things"),
                    }
                    todo.push(Todo::Stmts(*s, *t));
                    todo.push(Todo::Prims(*a, *b));
                }
                (Stmt::Alloc(a, x), Stmt::Alloc(b, y)) => {
                    self.buffers(*a, *b)?;
                    self.dict_attrs(*x, *y, place)?;
                }
                (Stmt::Declare(a), Stmt::Declare(b)) => self.buffers(*a, *b)?,
                (Stmt::Assert { cond: c, kind: k, parts: p }, Stmt::Assert { cond: d, kind: l, parts: q }) => {
                    expect(k == l && p == q, "another message")?;
                    self.prims(*c, *d, false)?;
                }
                (Stmt::Evaluate(a), Stmt::Evaluate(b)) | (Stmt::Return(a), Stmt::Return(b)) => self.prims(*a, *b, false)?,
                (Stmt::Break, Stmt::Break) | (Stmt::Continue, Stmt::Continue) => {}
                _ => return mismatch("different statements"),
            }
        }
        Ok(())
    }

    fn loops(&mut self, a: &For, b: &For, place: u32) -> Outcome {
        self.symbol(a.var, b.var, true)?;
        self.prims(a.min, b.min, false)?;
        self.prims(a.extent, b.extent, false)?;
        self.optional_prims(a.step, b.step, false)?;
        expect(a.kind == b.kind, "loops of different kinds")?;
        self.dict_attrs(a.annotations, b.annotations, place)
    }

    /// Compares blocks except for init and body.
    fn prim_blocks(&mut self, a: &Block, b: &Block, place: u32) -> Outcome {
        expect(a.iters.len() == b.iters.len() && a.bare == b.bare, "blocks with other variables")?;
        for (x, y) in a.iters.iter().zip(&b.iters) {
            expect(x.kind == y.kind, "block variables of different kinds")?;
            self.optional_prims(x.value, y.value, false)?;
            self.prims(x.min, y.min, false)?;
            self.prims(x.extent, y.extent, false)?;
            self.symbol(x.var, y.var, true)?;
        }
        self.optional_prims(a.predicate, b.predicate, false)?;
        expect(a.allocs.len() == b.allocs.len(), "another number of allocations")?;
        a.allocs.iter().zip(&b.allocs).try_for_each(|(&x, &y)| self.buffers(x, y))?;
        expect(a.matches.len() == b.matches.len(), "another number of matched buffers")?;
        for (x, y) in a.matches.iter().zip(&b.matches) {
            self.buffers(x.0, y.0)?;
            self.regions(std::slice::from_ref(&x.1), std::slice::from_ref(&y.1))?;
        }
        self.regions(&a.reads, &b.reads)?;
        self.regions(&a.writes, &b.writes)?;
        self.dict_attrs(a.annotations, b.annotations, place)
    }
}
