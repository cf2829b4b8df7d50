//! The blocks of a pipeline over buffers with several versions.

use crate::ir::{Buffer, DType, Id, PrimExpr, PrimId, PrimOp, Region, Stmt, StmtId, Store};
use crate::tir::{Rewriting, StmtMutator, binary};
use rustc_hash::FxHashMap;

/// Redirects accesses to the version of the round.
pub(super) struct Versions<'a> {
    /// Buffers with several versions, and those that hold them.
    pub remap: &'a FxHashMap<Id<Buffer>, Id<Buffer>>,
    /// The variable of the loop.
    pub var: PrimId,
    /// The variable of the loop, from 0.
    pub round: PrimId,
    /// True if regions cover all versions.
    pub all: bool,
    /// Numbers of elements of the fragments of tensor cores.
    pub fragments: &'a FxHashMap<Id<Buffer>, i64>,
}

fn product(store: &mut Store, shape: &[PrimId]) -> PrimId {
    let one = store.prim_int(1, DType::I32);
    shape.iter().fold(one, |product, extent| binary(store, PrimOp::Mul, product, *extent))
}

impl Versions<'_> {
    fn version(&self, store: &mut Store, new: Id<Buffer>, round: PrimId) -> PrimId {
        let count = store.buffer(new).shape[0];
        binary(store, PrimOp::FloorMod, round, count)
    }

    fn region(&self, store: &mut Store, region: &Region) -> Region {
        let Some(new) = self.remap.get(&region.buffer) else { return region.clone() };
        let first = if self.all {
            let zero = store.prim_int(0, DType::I32);
            let count = store.buffer(*new).shape[0];
            crate::tir::access::range_of(store, zero, count)
        } else {
            (self.version(store, *new, self.round), None)
        };
        Region { buffer: *new, ranges: std::iter::once(first).chain(region.ranges.iter().copied()).collect() }
    }

    /// The arguments of a call; `at` are the places of pointers and of their offsets.
    fn offsets(&self, store: &mut Store, args: &[PrimId], at: &[(usize, usize)], fragments: bool) -> Vec<PrimId> {
        let mut args = args.to_vec();
        for (pointer, index) in at {
            let Some(PrimExpr::Data(old)) = args.get(*pointer).map(|arg| store.prim_of_id(*arg).clone()) else { continue };
            let (Some(new), Some(before)) = (self.remap.get(&old).copied(), args.get(*index).copied()) else { continue };
            let (shape, scope) = (store.buffer(old).shape.clone(), store.buffer(old).scope);
            let mut offset = match (store.buffer(new).strides.first(), fragments) {
                (Some(stride), false) => *stride,
                _ => product(store, &shape),
            };
            let parts = match store.str(scope) {
                _ if fragments => self.fragments.get(&old).copied().unwrap_or(1),
                // Each thread of a warp has its part of the memory for a matrix.
                "m16n8k8.matrixA" | "m16n8k8.matrixB" => 32,
                _ => 1,
            };
            if fragments || parts > 1 {
                let parts = store.prim_int(parts, DType::I32);
                offset = binary(store, PrimOp::FloorDiv, offset, parts);
            }
            let version = self.version(store, new, if fragments { self.round } else { self.var });
            let step = binary(store, PrimOp::Mul, version, offset);
            args[*index] = binary(store, PrimOp::Add, before, step);
            args[*pointer] = store.prim(PrimExpr::Data(new));
        }
        args
    }
}

impl StmtMutator for Versions<'_> {
    fn rule(&self) -> &'static str {
        ""
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::Block(_) = cx.store.stmt(id) else { return None };
        let new = cx.descend(self, id);
        let Stmt::Block(block) = *cx.store.stmt(new) else { return Some(new) };
        let mut block = cx.store.prim_block(block).clone();
        let touched = block.reads.iter().chain(&block.writes).any(|region| self.remap.contains_key(&region.buffer));
        if !touched {
            return Some(new);
        }
        block.reads = block.reads.iter().map(|region| self.region(cx.store, region)).collect();
        block.writes = block.writes.iter().map(|region| self.region(cx.store, region)).collect();
        let block = cx.store.add_prim_block(block);
        Some(cx.store.rebuild_stmt(id, Stmt::Block(block)))
    }

    fn access(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>, indices: &[PrimId]) -> Option<(Id<Buffer>, Vec<PrimId>)> {
        let new = *self.remap.get(&buffer)?;
        let version = self.version(cx.store, new, self.round);
        Some((new, std::iter::once(version).chain(indices.iter().copied()).collect()))
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        let PrimExpr::Call { op, args, dtype } = cx.store.prim_of_id(post).clone() else { return post };
        let (at, fragments): (&[(usize, usize)], bool) = match cx.store.str(op) {
            "tvm_load_matrix_sync" | "tvm_store_matrix_sync" => (&[(0, 4)], true),
            "tvm_mma_sync" => (&[(0, 1), (2, 3), (4, 5), (6, 7)], true),
            "tvm_access_ptr" => (&[(1, 2)], false),
            "ptx_legacy.mma" => (&[(6, 7), (8, 9), (10, 11)], false),
            "ptx_legacy.ldmatrix" => (&[(3, 4)], false),
            _ => return post,
        };
        let new = self.offsets(cx.store, &args, at, fragments);
        if new[..] == args[..] { post } else { cx.store.prim(PrimExpr::Call { op, args: new.into(), dtype }) }
    }
}
