//! Scalar expressions, buffers and statements from rows.

use super::{DEEPEST_PRIM, Writer};
use crate::boundary::rows::{AttrNodeKind, AxisKind, LoopKind, ScalarKind, StmtKind};
use crate::ir::{
    AttrNode, Block, Buffer, BufferLayout, Double, For, ForKind, Id, IterKind, IterVar, PrimExpr, PrimId, PrimOp, Reducer,
    Region, Stmt, StmtId, Store,
};
use crate::wasm::user::table::Space;
use crate::wasm::user::{Js, error};

impl Writer<'_> {
    pub(super) fn prim_row(&mut self) -> Js<PrimId> {
        let (kind, dtype) = (self.kind("scalar expression")?, self.dtype()?);
        let lanes = |lanes: u32| u16::try_from(lanes).map_err(|_| error("there are too many lanes"));
        let prim = match kind {
            ScalarKind::Int => PrimExpr::Int { value: self.long()? as i64, dtype },
            ScalarKind::Float => PrimExpr::Float { value: Double(f64::from_bits(self.long()?)), dtype },
            ScalarKind::Str => PrimExpr::Str(self.name()?),
            ScalarKind::Any => PrimExpr::Any,
            ScalarKind::Var => PrimExpr::Var(self.symbol()?),
            ScalarKind::Binary => {
                let op = self.word()?;
                let op = PrimOp::ALL.get(op as usize).copied().ok_or_else(|| error("there is no such operation"))?;
                PrimExpr::Binary { op, a: self.prim()?, b: self.prim()? }
            }
            ScalarKind::Not => PrimExpr::Not(self.prim()?),
            ScalarKind::Cast => PrimExpr::Cast { dtype, value: self.prim()? },
            ScalarKind::Select => PrimExpr::Select { cond: self.prim()?, then: self.prim()?, other: self.prim()? },
            ScalarKind::Call => PrimExpr::Call { op: self.name()?, args: self.rest(Self::prim)?.into(), dtype },
            ScalarKind::Load => PrimExpr::Load { buffer: self.buffer()?, indices: self.rest(Self::prim)?.into() },
            ScalarKind::Data => PrimExpr::Data(self.buffer()?),
            ScalarKind::Buffer => PrimExpr::Buffer(self.buffer()?),
            ScalarKind::Ramp => PrimExpr::Ramp { base: self.prim()?, stride: self.prim()?, lanes: lanes(self.word()?)? },
            ScalarKind::Broadcast => PrimExpr::Broadcast { value: self.prim()?, lanes: lanes(self.word()?)? },
            ScalarKind::Shuffle => {
                let vectors = self.counted(Self::prim)?.into();
                PrimExpr::Shuffle { vectors, indices: self.rest(Self::prim)?.into() }
            }
            ScalarKind::Let => PrimExpr::Let { var: self.symbol()?, value: self.prim()?, body: self.prim()? },
            ScalarKind::Reducer => {
                let lhs = self.counted(Self::symbol)?;
                let n = lhs.len();
                let rhs = self.many(n, Self::symbol)?.into();
                let results = self.many(n, Self::prim)?.into();
                let identities = self.many(n, Self::prim)?.into();
                PrimExpr::Reducer(Box::new(Reducer { lhs: lhs.into(), rhs, results, identities }))
            }
            ScalarKind::Attrs => PrimExpr::Attrs(self.attrs()?.ok_or_else(|| error("attributes are missing"))?),
        };
        let id = self.store.prim(prim);
        if self.store.prim_depth(id) > DEEPEST_PRIM { Err(error("this nests too deep")) } else { Ok(id) }
    }

    fn region(&mut self) -> Js<Region> {
        let buffer = self.buffer()?;
        let ranges = self.counted(|read| Ok((read.prim()?, read.maybe_prim()?)))?;
        Ok(Region { buffer, ranges: ranges.into() })
    }

    pub(super) fn stmt_row(&mut self) -> Js<StmtId> {
        let (kind, pre) = (self.kind("statement")?, self.maybe(Space::Stmt, Store::stmt_at)?);
        // The statement that it is a copy of is not in it.
        self.depth = 0;
        let stmt = match kind {
            StmtKind::Seq => {
                let all = self.rest(Self::stmt)?;
                Stmt::Seq(self.store.list(&all))
            }
            StmtKind::For => {
                let (var, min, extent, step) = (self.symbol()?, self.prim()?, self.prim()?, self.maybe_prim()?);
                let (kind, tag) = (self.kind("loop")?, self.maybe_text()?);
                let kind = match (kind, tag) {
                    (LoopKind::Serial, _) => ForKind::Serial,
                    (LoopKind::Parallel, _) => ForKind::Parallel,
                    (LoopKind::Vectorized, _) => ForKind::Vectorized,
                    (LoopKind::Unrolled, _) => ForKind::Unrolled,
                    (LoopKind::Thread, Some(tag)) => ForKind::Thread(self.store.name(tag)),
                    (LoopKind::Thread, None) => return Err(error("a loop over threads needs the name of their index")),
                };
                let annotations = self.attrs()?;
                Stmt::For(For { var, min, extent, step, kind, annotations }, self.stmt()?)
            }
            StmtKind::Block => Stmt::Block(self.block()?),
            StmtKind::Store => {
                Stmt::Store { buffer: self.buffer()?, value: self.prim()?, indices: self.rest(Self::prim)?.into() }
            }
            StmtKind::If => Stmt::If { cond: self.prim()?, then: self.stmt()?, other: self.maybe_stmt()? },
            StmtKind::While => Stmt::While { cond: self.prim()?, body: self.stmt()? },
            StmtKind::Bind => Stmt::Bind { var: self.symbol()?, value: self.prim()? },
            StmtKind::Attr => {
                let node = match self.kind("attribute")? {
                    AttrNodeKind::Prim => {
                        let prim = self.prim()?;
                        self.word()?;
                        AttrNode::Prim(prim)
                    }
                    AttrNodeKind::Nothing => {
                        self.word()?;
                        self.word()?;
                        AttrNode::Nothing
                    }
                    AttrNodeKind::Thread => AttrNode::Thread { var: self.symbol()?, tag: self.name()? },
                };
                Stmt::Attr { node, key: self.name()?, value: self.prim()?, body: self.stmt()? }
            }
            StmtKind::Alloc => Stmt::Alloc(self.buffer()?, self.attrs()?),
            StmtKind::Declare => Stmt::Declare(self.buffer()?),
            StmtKind::Assert => Stmt::Assert { cond: self.prim()?, kind: self.name()?, parts: self.rest(Self::name)?.into() },
            StmtKind::Evaluate => Stmt::Evaluate(self.prim()?),
            StmtKind::Return => Stmt::Return(self.prim()?),
            StmtKind::Break => Stmt::Break,
            StmtKind::Continue => Stmt::Continue,
        };
        self.shallow()?;
        Ok(match pre {
            Some(pre) => self.store.rebuild_stmt(pre, stmt),
            None => self.store.add_stmt(stmt),
        })
    }

    fn block(&mut self) -> Js<Id<Block>> {
        let (name, predicate, init) = (self.name()?, self.maybe_prim()?, self.maybe_stmt()?);
        let (body, bare, annotations) = (self.stmt()?, self.flag()?, self.attrs()?);
        let iters = self.counted(|read| {
            let var = read.symbol()?;
            let kind = match read.kind("axis")? {
                AxisKind::Spatial => IterKind::Spatial,
                AxisKind::Reduce => IterKind::Reduce,
                AxisKind::Scan => IterKind::Scan,
                AxisKind::Opaque => IterKind::Opaque,
            };
            Ok(IterVar { var, kind, min: read.prim()?, extent: read.prim()?, value: read.maybe_prim()? })
        })?;
        let reads = self.counted(Self::region)?.into();
        let writes = self.counted(Self::region)?.into();
        let allocs = self.counted(Self::buffer)?.into();
        let matches = self.counted(|read| Ok((read.buffer()?, read.region()?)))?.into();
        let iters = iters.into();
        Ok(self.store.add_prim_block(Block {
            name,
            iters,
            predicate,
            reads,
            writes,
            allocs,
            matches,
            annotations,
            init,
            body,
            bare,
        }))
    }

    pub(super) fn buffer_row(&mut self) -> Js<Id<Buffer>> {
        let (name, dtype, scope, elem_offset) = (self.name()?, self.dtype()?, self.name()?, self.maybe_prim()?);
        let (offset_factor, align, data) = (self.word()?, self.word()?, self.maybe_prim()?);
        let layout = match self.word()? {
            0 => BufferLayout::Unsaid,
            1 => BufferLayout::Rows,
            _ => BufferLayout::Parent,
        };
        let shape = self.counted(Self::prim)?.into();
        let strides = self.rest(Self::prim)?.into();
        let buffer = Buffer { name, dtype, shape, strides, elem_offset, offset_factor, scope, align, data, layout };
        Ok(self.store.add_buffer(buffer))
    }
}
