//! Recognises tensor programs that only reshape their input (TVM's `HasReshapePattern`).
//!
//! Source: `src/relax/analysis/tir_op_pattern_kind.cc`. TVM compares flattened indices through its detection of
//! iterator maps; here they are compared as polynomials, which finds the same for indices that shapes are computed
//! with.

use super::poly::{Poly, Polys};
use crate::ir::{Buffer, Id, IterKind, PrimExpr, PrimFunc, PrimId, PrimParam, Stmt, Store};

/// True if every element of the last buffer is the one of the first buffer at the same place in memory.
pub fn has_reshape_pattern(store: &Store, function: Id<PrimFunc>) -> bool {
    let function = store.prim_func(function);
    let mut buffers = function.params.iter().filter_map(|param| match param {
        PrimParam::Buffer(buffer) => Some(*buffer),
        PrimParam::Var(_) => None,
    });
    let (Some(source), Some(target)) = (buffers.next(), buffers.next_back()) else { return false };
    if !matches!(store.stmt(function.body), Stmt::Block(_)) {
        return false;
    }
    let polys = &mut Polys::default();
    let mut at = function.body;
    loop {
        match store.stmt(at) {
            Stmt::For(head, body) => {
                let (min, extent) = (polys.of(store, head.min), polys.of(store, head.extent));
                polys.assume(head.var, min, &extent);
                if !matches!(store.stmt(*body), Stmt::For(..) | Stmt::Block(_)) {
                    return false;
                }
                at = *body;
            }
            Stmt::Block(block) => {
                let block = store.prim_block(*block);
                if block.iters.iter().any(|iter| iter.kind != IterKind::Spatial) {
                    return false;
                }
                if !matches!(store.stmt(block.body), Stmt::For(..)) {
                    for iter in &block.iters {
                        let (min, extent) = (polys.of(store, iter.min), polys.of(store, iter.extent));
                        polys.assume(iter.var, min, &extent);
                    }
                    let Stmt::Store { buffer, indices, value } = store.stmt(block.body) else { return false };
                    let PrimExpr::Load { buffer: from, indices: at } = store.prim_of_id(*value) else { return false };
                    return (*buffer, *from) == (target, source)
                        && flat(store, polys, target, indices) == flat(store, polys, source, at);
                }
                at = block.body;
            }
            _ => return false,
        }
    }
}

/// Returns the place in memory of an element of a packed buffer.
fn flat(store: &Store, polys: &mut Polys, buffer: Id<Buffer>, indices: &[PrimId]) -> Poly {
    let mut place = Poly::default();
    for (extent, index) in store.buffer(buffer).shape.iter().zip(indices) {
        place = place.times(&polys.of(store, *extent)).plus(&polys.of(store, *index), 1);
    }
    place
}

/// True if two shapes have the same number of elements, for all values of their symbols.
pub fn same_size(store: &mut Store, a: &[crate::ir::Dim], b: &[crate::ir::Dim]) -> bool {
    let polys = &mut Polys::default();
    let mut size = |dims: &[crate::ir::Dim]| {
        dims.iter().fold(Poly::number(1), |size, dim| {
            let extent = store.prim_of_dim(*dim);
            size.times(&polys.of(store, extent))
        })
    };
    size(a) == size(b)
}
