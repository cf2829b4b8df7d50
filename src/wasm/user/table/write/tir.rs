//! Scalar expressions, buffers and statements from rows.

use super::{DEEPEST_PRIM, Writer};
use crate::ir::{
    AttrNode, Block, Buffer, BufferLayout, Double, For, ForKind, Id, IterKind, IterVar, PrimExpr, PrimId, PrimOp, Reducer,
    Region, Stmt, StmtId, Store,
};
use crate::wasm::user::table::Space;
use crate::wasm::user::{Js, error};

impl Writer<'_> {
    pub(super) fn prim_row(&mut self) -> Js<PrimId> {
        let (kind, dtype) = (self.word()?, self.dtype()?);
        let lanes = |lanes: u32| u16::try_from(lanes).map_err(|_| error("there are too many lanes"));
        let prim = match kind {
            0 => PrimExpr::Int { value: self.long()? as i64, dtype },
            1 => PrimExpr::Float { value: Double(f64::from_bits(self.long()?)), dtype },
            2 => PrimExpr::Str(self.name()?),
            3 => PrimExpr::Any,
            4 => PrimExpr::Var(self.symbol()?),
            5 => {
                let op = self.word()?;
                let op = PrimOp::ALL.get(op as usize).copied().ok_or_else(|| error("there is no such operation"))?;
                PrimExpr::Binary { op, a: self.prim()?, b: self.prim()? }
            }
            6 => PrimExpr::Not(self.prim()?),
            7 => PrimExpr::Cast { dtype, value: self.prim()? },
            8 => PrimExpr::Select { cond: self.prim()?, then: self.prim()?, other: self.prim()? },
            9 => PrimExpr::Call { op: self.name()?, args: self.rest(Self::prim)?.into(), dtype },
            10 => PrimExpr::Load { buffer: self.buffer()?, indices: self.rest(Self::prim)?.into() },
            11 => PrimExpr::Data(self.buffer()?),
            12 => PrimExpr::Buffer(self.buffer()?),
            13 => PrimExpr::Ramp { base: self.prim()?, stride: self.prim()?, lanes: lanes(self.word()?)? },
            14 => PrimExpr::Broadcast { value: self.prim()?, lanes: lanes(self.word()?)? },
            15 => {
                let vectors = self.counted(Self::prim)?.into();
                PrimExpr::Shuffle { vectors, indices: self.rest(Self::prim)?.into() }
            }
            16 => PrimExpr::Let { var: self.symbol()?, value: self.prim()?, body: self.prim()? },
            17 => {
                let lhs = self.counted(Self::symbol)?;
                let n = lhs.len();
                let rhs = self.many(n, Self::symbol)?.into();
                let results = self.many(n, Self::prim)?.into();
                let identities = self.many(n, Self::prim)?.into();
                PrimExpr::Reducer(Box::new(Reducer { lhs: lhs.into(), rhs, results, identities }))
            }
            18 => PrimExpr::Attrs(self.attrs()?.ok_or_else(|| error("attributes are missing"))?),
            _ => return Err(error("there is no such scalar expression")),
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
        let (kind, pre) = (self.word()?, self.maybe(Space::Stmt, Store::stmt_at)?);
        // The statement that it is a copy of is not in it.
        self.depth = 0;
        let stmt = match kind {
            0 => {
                let all = self.rest(Self::stmt)?;
                Stmt::Seq(self.store.list(&all))
            }
            1 => {
                let (var, min, extent, step) = (self.symbol()?, self.prim()?, self.prim()?, self.maybe_prim()?);
                let (kind, tag) = (self.word()?, self.maybe_text()?);
                let kind = match (kind, tag) {
                    (0, _) => ForKind::Serial,
                    (1, _) => ForKind::Parallel,
                    (2, _) => ForKind::Vectorized,
                    (3, _) => ForKind::Unrolled,
                    (_, Some(tag)) => ForKind::Thread(self.store.name(tag)),
                    _ => return Err(error("a loop over threads needs the name of their index")),
                };
                let annotations = self.attrs()?;
                Stmt::For(Box::new(For { var, min, extent, step, kind, annotations }), self.stmt()?)
            }
            2 => Stmt::Block(self.block()?),
            3 => Stmt::Store { buffer: self.buffer()?, value: self.prim()?, indices: self.rest(Self::prim)?.into() },
            4 => Stmt::If { cond: self.prim()?, then: self.stmt()?, other: self.maybe_stmt()? },
            5 => Stmt::While { cond: self.prim()?, body: self.stmt()? },
            6 => Stmt::Bind { var: self.symbol()?, value: self.prim()? },
            7 => {
                let node = match self.word()? {
                    0 => {
                        let prim = self.prim()?;
                        self.word()?;
                        AttrNode::Prim(prim)
                    }
                    1 => {
                        self.word()?;
                        self.word()?;
                        AttrNode::Nothing
                    }
                    _ => AttrNode::Thread { var: self.symbol()?, tag: self.name()? },
                };
                Stmt::Attr { node, key: self.name()?, value: self.prim()?, body: self.stmt()? }
            }
            8 => Stmt::Alloc(self.buffer()?, self.attrs()?),
            9 => Stmt::Declare(self.buffer()?),
            10 => Stmt::Assert { cond: self.prim()?, kind: self.name()?, parts: self.rest(Self::name)?.into() },
            11 => Stmt::Evaluate(self.prim()?),
            12 => Stmt::Return(self.prim()?),
            13 => Stmt::Break,
            14 => Stmt::Continue,
            _ => return Err(error("there is no such statement")),
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
            let kind = match read.word()? {
                0 => IterKind::Spatial,
                1 => IterKind::Reduce,
                2 => IterKind::Scan,
                _ => IterKind::Opaque,
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
