//! Rows of scalar expressions, buffers and statements.

use super::Reader;
use crate::boundary::rows::{AttrNodeKind, AxisKind, LoopKind, ScalarKind, StmtKind};
use crate::ir::{AttrNode, Buffer, ForKind, Id, IterKind, PrimExpr, PrimId, Region, Stmt, StmtId};
use crate::wasm::user::table::{NONE, Space};

impl Reader<'_> {
    pub(super) fn prim_row(&mut self, id: PrimId) {
        let prim = self.store.prim_rc(id);
        let dtype = self.store.prim_dtype(id);
        self.words.push(scalar_kind(&prim) as u32);
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
        self.words.push(stmt_kind(&stmt) as u32);
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
                    ForKind::Serial => self.words.extend([LoopKind::Serial as u32, NONE]),
                    ForKind::Parallel => self.words.extend([LoopKind::Parallel as u32, NONE]),
                    ForKind::Vectorized => self.words.extend([LoopKind::Vectorized as u32, NONE]),
                    ForKind::Unrolled => self.words.extend([LoopKind::Unrolled as u32, NONE]),
                    ForKind::Thread(tag) => {
                        self.words.push(LoopKind::Thread as u32);
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
                    self.words.push(axis_kind(iter.kind) as u32);
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
                        self.words.push(AttrNodeKind::Prim as u32);
                        self.prim(prim);
                        self.words.push(NONE);
                    }
                    AttrNode::Nothing => self.words.extend([AttrNodeKind::Nothing as u32, NONE, NONE]),
                    AttrNode::Thread { var, tag } => {
                        self.words.push(AttrNodeKind::Thread as u32);
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

fn axis_kind(kind: IterKind) -> AxisKind {
    match kind {
        IterKind::Spatial => AxisKind::Spatial,
        IterKind::Reduce => AxisKind::Reduce,
        IterKind::Scan => AxisKind::Scan,
        IterKind::Opaque => AxisKind::Opaque,
    }
}

fn scalar_kind(prim: &PrimExpr) -> ScalarKind {
    match prim {
        PrimExpr::Int { .. } => ScalarKind::Int,
        PrimExpr::Float { .. } => ScalarKind::Float,
        PrimExpr::Str(_) => ScalarKind::Str,
        PrimExpr::Any => ScalarKind::Any,
        PrimExpr::Var(_) => ScalarKind::Var,
        PrimExpr::Binary { .. } => ScalarKind::Binary,
        PrimExpr::Not(_) => ScalarKind::Not,
        PrimExpr::Cast { .. } => ScalarKind::Cast,
        PrimExpr::Select { .. } => ScalarKind::Select,
        PrimExpr::Call { .. } => ScalarKind::Call,
        PrimExpr::Load { .. } => ScalarKind::Load,
        PrimExpr::Data(_) => ScalarKind::Data,
        PrimExpr::Buffer(_) => ScalarKind::Buffer,
        PrimExpr::Ramp { .. } => ScalarKind::Ramp,
        PrimExpr::Broadcast { .. } => ScalarKind::Broadcast,
        PrimExpr::Shuffle { .. } => ScalarKind::Shuffle,
        PrimExpr::Let { .. } => ScalarKind::Let,
        PrimExpr::Reducer(_) => ScalarKind::Reducer,
        PrimExpr::Attrs(_) => ScalarKind::Attrs,
    }
}

fn stmt_kind(stmt: &Stmt) -> StmtKind {
    match stmt {
        Stmt::Seq(_) => StmtKind::Seq,
        Stmt::For(..) => StmtKind::For,
        Stmt::Block(_) => StmtKind::Block,
        Stmt::Store { .. } => StmtKind::Store,
        Stmt::If { .. } => StmtKind::If,
        Stmt::While { .. } => StmtKind::While,
        Stmt::Bind { .. } => StmtKind::Bind,
        Stmt::Attr { .. } => StmtKind::Attr,
        Stmt::Alloc(..) => StmtKind::Alloc,
        Stmt::Declare(_) => StmtKind::Declare,
        Stmt::Assert { .. } => StmtKind::Assert,
        Stmt::Evaluate(_) => StmtKind::Evaluate,
        Stmt::Return(_) => StmtKind::Return,
        Stmt::Break => StmtKind::Break,
        Stmt::Continue => StmtKind::Continue,
    }
}
