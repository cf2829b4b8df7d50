//! Compares a part of a program with the description of a tensor intrinsic (TVM's `TensorizeComparator`,
//! `src/s_tir/schedule/ir_comparator.cc`).

use super::{Outcome, refuse};
use crate::ir::{Buffer, Id, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Store, Symbol};
use crate::tir::access::extent_of;
use crate::tir::arith::Analyzer;
use crate::tir::{binary, cast};
use rustc_hash::FxHashMap;

const MISMATCH: &str = "ScheduleError: The stmt doesn't match the tensor intrin.";

/// A comparison under way: of the program, on the left, with a description, on the right.
pub(super) struct Matching<'s> {
    store: &'s mut Store,
    /// Knows variables of the left as those of the right.
    both: Analyzer,
    /// Knows the ranges of the variables of blocks on the left.
    left: Analyzer,
    vars: FxHashMap<Id<Symbol>, Id<Symbol>>,
    /// Each buffer of the description with the one in its place.
    pub buffers: FxHashMap<Id<Buffer>, Id<Buffer>>,
    taken: FxHashMap<Id<Buffer>, Id<Buffer>>,
    /// The first element of each buffer's part.
    pub bases: FxHashMap<Id<Buffer>, Vec<PrimId>>,
    /// True until the outermost block has been seen, whose variables are none of the description.
    outermost: bool,
}

impl<'s> Matching<'s> {
    pub fn new(store: &'s mut Store) -> Matching<'s> {
        Matching {
            store,
            both: Analyzer::new(),
            left: Analyzer::new(),
            vars: FxHashMap::default(),
            buffers: FxHashMap::default(),
            taken: FxHashMap::default(),
            bases: FxHashMap::default(),
            outermost: true,
        }
    }

    /// Compares statements; a difference is an error. Both nest as deep as the reader of programs lets them.
    pub fn stmt(&mut self, left: StmtId, right: StmtId) -> Outcome<()> {
        let same = match (self.store.stmt(left).clone(), self.store.stmt(right).clone()) {
            (Stmt::Seq(left), Stmt::Seq(right)) => {
                let (left, right): (Vec<_>, Vec<_>) = (self.store.items(left).collect(), self.store.items(right).collect());
                if left.len() != right.len() {
                    return refuse(MISMATCH);
                }
                return left.into_iter().zip(right).try_for_each(|(left, right)| self.stmt(left, right));
            }
            (Stmt::For(left, left_body), Stmt::For(right, right_body)) => {
                let attrs = |id: Option<_>| id.map(|id| self.store.attrs_of_id(id).fields.clone()).unwrap_or_default();
                let annotated = attrs(left.annotations) == attrs(right.annotations);
                let same = annotated
                    && left.kind == right.kind
                    && self.define(left.var, right.var)
                    && self.prim(left.min, right.min)
                    && self.prim(left.extent, right.extent);
                if !same {
                    return refuse(MISMATCH);
                }
                return self.stmt(left_body, right_body);
            }
            (Stmt::Block(left), Stmt::Block(right)) => return self.block(left, right),
            (Stmt::Store { buffer, indices, value }, Stmt::Store { buffer: to, indices: at, value: of }) => {
                self.access(buffer, &indices, to, &at) && self.prim(value, of)
            }
            _ => false,
        };
        if same { Ok(()) } else { refuse(MISMATCH) }
    }

    fn block(&mut self, left: Id<crate::ir::Block>, right: Id<crate::ir::Block>) -> Outcome<()> {
        let (left, right) = (self.store.prim_block(left).clone(), self.store.prim_block(right).clone());
        let yes = self.store.prim_int(1, crate::ir::DType::BOOL);
        if !self.outermost {
            let bound = left.iters.len() == right.iters.len()
                && left.iters.iter().zip(&right.iters).all(|(left, right)| match (left.value, right.value) {
                    (Some(left), Some(right)) => self.prim(left, right),
                    (left, right) => left == right,
                });
            if !bound {
                return refuse(MISMATCH);
            }
        }
        if !self.prim(left.predicate.unwrap_or(yes), right.predicate.unwrap_or(yes)) {
            return refuse(MISMATCH);
        }
        for iter in &left.iters {
            self.left.bind_range(self.store, iter.var, iter.min, iter.extent);
        }
        if !self.outermost {
            let pairs = left.iters.iter().zip(&right.iters);
            let vars = pairs.into_iter().all(|(left, right)| self.define(left.var, right.var) && left.kind == right.kind);
            let allocs = left.allocs.len() == right.allocs.len()
                && left.allocs.iter().zip(&right.allocs).all(|(left, right)| self.buffer(*left, *right));
            if !vars || !allocs {
                return refuse(MISMATCH);
            }
        }
        for (left, right) in [(&left.writes, &right.writes), (&left.reads, &right.reads)] {
            if left.len() != right.len() || !left.iter().zip(right).all(|(left, right)| self.region(left, right)) {
                return refuse(MISMATCH);
            }
        }
        self.outermost = false;
        self.stmt(left.body, right.body)
    }

    fn define(&mut self, left: Id<Symbol>, right: Id<Symbol>) -> bool {
        match self.vars.get(&left) {
            Some(known) => *known == right,
            None => {
                self.vars.insert(left, right);
                let prim = self.store.prim(PrimExpr::Var(right));
                let dtype = self.store.symbol(left).dtype;
                let value = cast(self.store, dtype, prim);
                self.both.bind(self.store, left, value);
                true
            }
        }
    }

    fn buffer(&mut self, left: Id<Buffer>, right: Id<Buffer>) -> bool {
        if let Some(known) = self.buffers.get(&right) {
            return *known == left;
        }
        let (one, other) = (self.store.buffer(left), self.store.buffer(right));
        let same = match self.taken.get(&left) {
            Some(known) => *known == right,
            None => one.dtype == other.dtype && one.scope == other.scope,
        };
        if same {
            self.taken.insert(left, right);
            self.buffers.insert(right, left);
        }
        same
    }

    fn region(&mut self, left: &Region, right: &Region) -> bool {
        let Some(offset) = left.ranges.len().checked_sub(right.ranges.len()) else { return false };
        if !self.buffer(left.buffer, right.buffer) {
            return false;
        }
        let base = self.bases.get(&left.buffer).cloned();
        // Axes that the description does not have are those of single elements.
        for (axis, (min, extent)) in left.ranges.iter().take(offset).enumerate() {
            let one = extent.is_none_or(|extent| self.store.as_prim_int(extent) == Some(1));
            let same = base.as_ref().is_none_or(|base| self.left.can_prove_equal(self.store, base[axis], *min));
            if !one || !same {
                return false;
            }
        }
        for (axis, (one, other)) in left.ranges.iter().skip(offset).zip(&right.ranges).enumerate() {
            let (extent, wanted) = (extent_of(self.store, *one), extent_of(self.store, *other));
            if !self.both.can_prove_equal(self.store, extent, wanted) {
                return false;
            }
            if let Some(base) = &base {
                let less = binary(self.store, PrimOp::Sub, one.0, base[axis + offset]);
                let less = self.left.simplify(self.store, less);
                if !self.both.can_prove_equal(self.store, less, other.0) {
                    return false;
                }
            }
        }
        self.bases.entry(left.buffer).or_insert_with(|| left.ranges.iter().map(|(min, _)| *min).collect());
        true
    }

    fn access(&mut self, left: Id<Buffer>, indices: &[PrimId], right: Id<Buffer>, wanted: &[PrimId]) -> bool {
        let Some(offset) = indices.len().checked_sub(wanted.len()) else { return false };
        if !self.buffer(left, right) {
            return false;
        }
        let Some(base) = self.bases.get(&left).cloned() else { return false };
        indices.iter().zip(&base).skip(offset).zip(wanted).all(|((index, base), wanted)| {
            let less = binary(self.store, PrimOp::Sub, *index, *base);
            self.both.can_prove_equal(self.store, less, *wanted)
        })
    }

    /// Compares expressions.
    fn prim(&mut self, left: PrimId, right: PrimId) -> bool {
        let mut todo = vec![(left, right)];
        while let Some((left, right)) = todo.pop() {
            if left == right {
                continue;
            }
            let (one, other) = (self.store.prim_of_id(left).clone(), self.store.prim_of_id(right).clone());
            let same_code = self.store.prim_dtype(left).code == self.store.prim_dtype(right).code;
            let same = same_code
                && match (&one, &other) {
                    (PrimExpr::Int { value, .. }, PrimExpr::Int { value: of, .. }) => value == of,
                    (PrimExpr::Float { value, .. }, PrimExpr::Float { value: of, .. }) => value == of,
                    (PrimExpr::Var(left), PrimExpr::Var(right)) => self.vars.get(left) == Some(right),
                    (PrimExpr::Binary { op, a, b }, PrimExpr::Binary { op: of, a: x, b: y }) if op == of => {
                        todo.extend([(*b, *y), (*a, *x)]);
                        true
                    }
                    (PrimExpr::Cast { value, .. }, PrimExpr::Cast { value: of, .. }) => {
                        todo.push((*value, *of));
                        true
                    }
                    (PrimExpr::Select { cond, then, other }, PrimExpr::Select { cond: c, then: t, other: o }) => {
                        todo.extend([(*cond, *c), (*then, *t), (*other, *o)]);
                        true
                    }
                    (PrimExpr::Call { op, args, .. }, PrimExpr::Call { op: of, args: others, .. }) => {
                        todo.extend(args.iter().copied().zip(others.iter().copied()));
                        op == of && args.len() == others.len()
                    }
                    (PrimExpr::Load { buffer, indices }, PrimExpr::Load { buffer: of, indices: at }) => {
                        self.access(*buffer, indices, *of, at)
                    }
                    _ => false,
                };
            if !(same || is_scalable(self.store, left) && self.both.can_prove_equal(self.store, left, right)) {
                return false;
            }
        }
        true
    }
}

/// True if an expression depends on the length of scalable vectors.
fn is_scalable(store: &Store, root: PrimId) -> bool {
    let mut found = false;
    store.for_each_prim(root, &mut |_, expr| {
        found |= matches!(expr, PrimExpr::Call { op, .. } if store.str(*op) == "vscale");
    });
    found
}
