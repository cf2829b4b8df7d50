//! Rows of scalar expressions, buffers and statements.

use super::Reader;
use crate::ir::{AttrNode, Buffer, ForKind, Id, PrimExpr, PrimId, Region, Stmt, StmtId};
use crate::wasm::user::table::{NONE, Space};

impl Reader<'_> {
    pub(super) fn prim_row(&mut self, id: PrimId) {
        let prim = self.store.prim_rc(id);
        let dtype = self.store.prim_dtype(id);
        self.words.push(prim_kind(&prim));
        self.dtype(dtype);
        match &*prim {
            PrimExpr::Int { value, .. } => self.long(*value as u64),
            PrimExpr::Float { value, .. } => self.long(value.0.to_bits()),
            PrimExpr::Str(name) => self.name(*name),
            PrimExpr::Any => {}
            PrimExpr::Var(symbol) => self.symbol(*symbol),
            PrimExpr::Binary { op, a, b } => {
                self.words.push(*op as u32);
                self.prims(&[*a, *b]);
            }
            PrimExpr::Not(value) | PrimExpr::Cast { value, .. } => self.prim(*value),
            PrimExpr::Select { cond, then, other } => self.prims(&[*cond, *then, *other]),
            PrimExpr::Call { op, args, .. } => {
                self.name(*op);
                self.prims(args);
            }
            PrimExpr::Load { buffer, indices } => {
                self.refer(Space::Buffer, *buffer);
                self.prims(indices);
            }
            PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => self.refer(Space::Buffer, *buffer),
            PrimExpr::Ramp { base, stride, lanes } => {
                self.prims(&[*base, *stride]);
                self.words.push(u32::from(*lanes));
            }
            PrimExpr::Broadcast { value, lanes } => {
                self.prim(*value);
                self.words.push(u32::from(*lanes));
            }
            PrimExpr::Shuffle { vectors, indices } => {
                self.count(vectors.len());
                self.prims(vectors);
                self.prims(indices);
            }
            PrimExpr::Let { var, value, body } => {
                self.symbol(*var);
                self.prims(&[*value, *body]);
            }
            PrimExpr::Reducer(reducer) => {
                self.count(reducer.lhs.len());
                reducer.lhs.iter().chain(&reducer.rhs).for_each(|id| self.symbol(*id));
                self.prims(&reducer.results);
                self.prims(&reducer.identities);
            }
            PrimExpr::Attrs(attrs) => self.attrs(Some(*attrs)),
        }
    }

    fn region(&mut self, region: &Region) {
        self.refer(Space::Buffer, region.buffer);
        self.count(region.ranges.len());
        for (min, extent) in &region.ranges {
            self.prim(*min);
            self.maybe(Space::Prim, *extent);
        }
    }

    pub(super) fn stmt_row(&mut self, id: StmtId) {
        let stmt = self.store.stmt(id).clone();
        self.words.push(stmt_kind(&stmt));
        match stmt {
            Stmt::Seq(list) => {
                let ids: Vec<StmtId> = self.store.items(list).collect();
                ids.into_iter().for_each(|id| self.refer(Space::Stmt, id));
            }
            Stmt::For(head, body) => {
                self.symbol(head.var);
                self.prims(&[head.min, head.extent]);
                self.maybe(Space::Prim, head.step);
                match head.kind {
                    ForKind::Serial => self.words.extend([0, NONE]),
                    ForKind::Parallel => self.words.extend([1, NONE]),
                    ForKind::Vectorized => self.words.extend([2, NONE]),
                    ForKind::Unrolled => self.words.extend([3, NONE]),
                    ForKind::Thread(tag) => {
                        self.words.push(4);
                        self.name(tag);
                    }
                }
                self.attrs(head.annotations);
                self.refer(Space::Stmt, body);
            }
            Stmt::Block(block) => {
                let block = self.store.prim_block(block).clone();
                self.name(block.name);
                self.maybe(Space::Prim, block.predicate);
                self.maybe(Space::Stmt, block.init);
                self.refer(Space::Stmt, block.body);
                self.flag(block.bare);
                self.attrs(block.annotations);
                self.count(block.iters.len());
                for iter in &block.iters {
                    self.symbol(iter.var);
                    self.words.push(iter.kind as u32);
                    self.prims(&[iter.min, iter.extent]);
                    self.maybe(Space::Prim, iter.value);
                }
                for regions in [&block.reads, &block.writes] {
                    self.count(regions.len());
                    regions.iter().for_each(|region| self.region(region));
                }
                self.count(block.allocs.len());
                block.allocs.iter().for_each(|id| self.refer(Space::Buffer, *id));
                self.count(block.matches.len());
                for (buffer, region) in &block.matches {
                    self.refer(Space::Buffer, *buffer);
                    self.region(region);
                }
            }
            Stmt::Store { buffer, indices, value } => {
                self.refer(Space::Buffer, buffer);
                self.prim(value);
                self.prims(&indices);
            }
            Stmt::If { cond, then, other } => {
                self.prim(cond);
                self.refer(Space::Stmt, then);
                self.maybe(Space::Stmt, other);
            }
            Stmt::While { cond, body } => {
                self.prim(cond);
                self.refer(Space::Stmt, body);
            }
            Stmt::Bind { var, value } => {
                self.symbol(var);
                self.prim(value);
            }
            Stmt::Attr { node, key, value, body } => {
                match node {
                    AttrNode::Prim(prim) => {
                        self.words.push(0);
                        self.prim(prim);
                        self.words.push(NONE);
                    }
                    AttrNode::Nothing => self.words.extend([1, NONE, NONE]),
                    AttrNode::Thread { var, tag } => {
                        self.words.push(2);
                        self.symbol(var);
                        self.name(tag);
                    }
                }
                self.name(key);
                self.prim(value);
                self.refer(Space::Stmt, body);
            }
            Stmt::Alloc(buffer, attrs) => {
                self.refer(Space::Buffer, buffer);
                self.attrs(attrs);
            }
            Stmt::Declare(buffer) => self.refer(Space::Buffer, buffer),
            Stmt::Assert { cond, kind, parts } => {
                self.prim(cond);
                self.name(kind);
                parts.iter().for_each(|part| self.name(*part));
            }
            Stmt::Evaluate(value) | Stmt::Return(value) => self.prim(value),
            Stmt::Break | Stmt::Continue => {}
        }
    }

    pub(super) fn buffer_row(&mut self, id: Id<Buffer>) {
        let buffer = self.store.buffer(id).clone();
        self.name(buffer.name);
        self.dtype(buffer.dtype);
        self.name(buffer.scope);
        self.maybe(Space::Prim, buffer.elem_offset);
        self.words.extend([buffer.offset_factor, buffer.align]);
        self.maybe(Space::Prim, buffer.data);
        self.words.push(buffer.layout as u32);
        self.count(buffer.shape.len());
        self.prims(&buffer.shape);
        self.prims(&buffer.strides);
    }
}

/// The number of a kind of scalar expression, in the order of [`PrimExpr`].
fn prim_kind(prim: &PrimExpr) -> u32 {
    match prim {
        PrimExpr::Int { .. } => 0,
        PrimExpr::Float { .. } => 1,
        PrimExpr::Str(_) => 2,
        PrimExpr::Any => 3,
        PrimExpr::Var(_) => 4,
        PrimExpr::Binary { .. } => 5,
        PrimExpr::Not(_) => 6,
        PrimExpr::Cast { .. } => 7,
        PrimExpr::Select { .. } => 8,
        PrimExpr::Call { .. } => 9,
        PrimExpr::Load { .. } => 10,
        PrimExpr::Data(_) => 11,
        PrimExpr::Buffer(_) => 12,
        PrimExpr::Ramp { .. } => 13,
        PrimExpr::Broadcast { .. } => 14,
        PrimExpr::Shuffle { .. } => 15,
        PrimExpr::Let { .. } => 16,
        PrimExpr::Reducer(_) => 17,
        PrimExpr::Attrs(_) => 18,
    }
}

/// The number of a kind of statement, in the order of [`Stmt`].
fn stmt_kind(stmt: &Stmt) -> u32 {
    match stmt {
        Stmt::Seq(_) => 0,
        Stmt::For(..) => 1,
        Stmt::Block(_) => 2,
        Stmt::Store { .. } => 3,
        Stmt::If { .. } => 4,
        Stmt::While { .. } => 5,
        Stmt::Bind { .. } => 6,
        Stmt::Attr { .. } => 7,
        Stmt::Alloc(..) => 8,
        Stmt::Declare(_) => 9,
        Stmt::Assert { .. } => 10,
        Stmt::Evaluate(_) => 11,
        Stmt::Return(_) => 12,
        Stmt::Break => 13,
        Stmt::Continue => 14,
    }
}
