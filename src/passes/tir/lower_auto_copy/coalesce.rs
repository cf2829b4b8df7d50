//! Spreads copies over threads, so that neighbouring threads access neighbouring elements (`memhammer_coalesce.cc`).

use super::nest::{Nest, around, counted, suffixed, with_number};
use super::{Copying, errors};
use crate::ir::{DType, For, ForKind, Id, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::tir::access::extent_of;
use crate::tir::arith::Analyzer;
use crate::tir::arith::iter::{Level, detect_iter_map, inverse_iter_map};
use crate::tir::{binary, substitute, substitute_stmt};

/// Makes one loop of a nest, and divides it between a serial loop, the threads and the lanes of a vector.
pub(super) fn coalesced(store: &mut Store, id: StmtId, copying: &Copying<'_>) -> Result<StmtId, String> {
    let (head, body) = fused(store, id)?;
    divided(store, head, body, copying)
}

/// Makes one loop of a nest. Loops count from 0 in it, whatever their first values are.
fn fused(store: &mut Store, id: StmtId) -> Result<(For, StmtId), String> {
    let nest = Nest::of(store, id);
    let [first, rest @ ..] = &nest.heads[..] else {
        return Err("the body of a block with `auto_copy` is no loop, so there is nothing to spread over threads".to_owned());
    };
    let mut suffix = String::new();
    for head in rest {
        suffix = format!("{suffix}_{}", store.str(store.symbol(head.var).name));
    }
    let (var, mut rest) = suffixed(store, first.var, &format!("{suffix}_fused"));
    let mut values = Vec::new();
    for head in nest.heads.iter().rev() {
        if store.as_prim_int(head.extent) == Some(0) {
            return Err("Check failed: pb->value != 0 (0 vs. 0) : Divide by zero".to_owned());
        }
        values.push((head.var, binary(store, PrimOp::FloorMod, rest, head.extent)));
        rest = binary(store, PrimOp::FloorDiv, rest, head.extent);
    }
    let one = store.prim_int(1, DType::I32);
    let extent = nest.heads.iter().fold(one, |all, head| binary(store, PrimOp::Mul, all, head.extent));
    let body = substitute_stmt(store, nest.body, &values);
    Ok((counted(store, var, extent, ForKind::Serial), body))
}

/// Divides a loop: the rounds, the threads from `z` to `x`, and the lanes.
fn divided(store: &mut Store, head: For, body: StmtId, copying: &Copying<'_>) -> Result<StmtId, String> {
    let Some(all) = store.as_prim_int(head.extent) else {
        return Err(errors::not_a_number(store, head.extent));
    };
    let too_large = || "the number of threads or of copied elements is not between 1 and 2147483647".to_owned();
    let lanes = copying.vector_bytes.checked_mul(8).map(|bits| (bits / copying.bits).max(1)).ok_or_else(too_large)?;
    let mut parts: Vec<(i64, ForKind)> = Vec::new();
    let mut at_once = lanes;
    for (axis, extent) in copying.threads.outermost_first() {
        at_once = at_once.checked_mul(extent).ok_or_else(too_large)?;
        let tag = store.name(axis);
        parts.push((extent, ForKind::Thread(tag)));
    }
    let limit = 1..=i64::from(i32::MAX);
    let rounds = all.checked_add(at_once - 1).filter(|_| limit.contains(&all) && limit.contains(&at_once));
    let rounds = rounds.ok_or_else(too_large)? / at_once;
    parts.insert(0, (rounds, ForKind::Serial));
    parts.push((lanes, ForKind::Vectorized));

    let analyzer = &mut Analyzer::new();
    let mut heads = Vec::new();
    let mut place = store.prim_int(0, DType::I32);
    for (at, (extent, kind)) in parts.into_iter().enumerate() {
        let (var, prim) = suffixed(store, head.var, &format!("_{at}"));
        let count = store.prim_int(extent, DType::I32);
        let new = counted(store, var, count, kind);
        analyzer.bind_range(store, var, new.min, new.extent);
        place = with_number(store, PrimOp::Mul, place, extent);
        place = binary(store, PrimOp::Add, place, prim);
        heads.push(new);
    }
    let mut body = substitute_stmt(store, body, &[(head.var, place)]);
    let inside = binary(store, PrimOp::Lt, place, head.extent);
    if !analyzer.can_prove(store, inside) {
        body = store.add_stmt(Stmt::If { cond: inside, then: body, other: None });
    }
    Ok(around(store, &heads, body))
}

/// Makes `B[i, j] = A[f'(i, j)]` of `B[f(i, j)] = A[i, j]`, so that the writes are in order.
pub(super) fn inverted(store: &mut Store, id: StmtId, copying: &Copying<'_>) -> Result<StmtId, String> {
    let nest = Nest::of(store, id);
    let pattern = pattern_of(store, nest.body, copying)?;
    let analyzer = &mut Analyzer::new();
    let loops: Vec<Id<Symbol>> = nest.heads.iter().map(|head| head.var).collect();
    let map = detect_iter_map(store, analyzer, &pattern, &nest.ranges(), None, Level::Bijective, true);
    let found = map.map_or(Vec::new(), |map| map.indices);
    if found.len() != loops.len() {
        let (found, loops) = (found.len(), loops.len());
        return Err(format!("Check failed: iter_map->indices.size() == loop_vars.size() ({found} vs. {loops}) : "));
    }
    let outputs: Vec<PrimId> = loops.iter().map(|var| store.prim(PrimExpr::Var(*var))).collect();
    let inverse = inverse_iter_map(store, &found, &outputs).ok_or_else(|| not_inverted(store, &nest))?;

    let mut news: Vec<(Id<Symbol>, Id<Symbol>, PrimId)> = Vec::new();
    let too_few = || "a copy from shared to global memory has fewer loops than its regions have axes".to_owned();
    let no_digit = || "key is not in Map: a loop of a copy from shared to global memory has one round, its axis more".to_owned();
    let (mut write_index, mut read_index) = (Vec::new(), Vec::new());
    for range in &copying.write.ranges {
        let extent = extent_of(store, *range);
        if store.as_prim_int(extent) == Some(1) {
            write_index.push(range.0);
            continue;
        }
        let old = *loops.get(news.len()).ok_or_else(too_few)?;
        let (var, prim) = suffixed(store, old, "_inverse");
        news.push((old, var, prim));
        write_index.push(binary(store, PrimOp::Add, range.0, prim));
    }
    let mut place = 0;
    for range in &copying.read.ranges {
        let extent = extent_of(store, *range);
        if store.as_prim_int(extent) == Some(1) {
            read_index.push(range.0);
            continue;
        }
        let old = *loops.get(place).ok_or_else(too_few)?;
        place += 1;
        let value = inverse.iter().find(|(var, _)| *var == old).ok_or_else(no_digit)?.1;
        let value = substitute(store, value, &mut |_, var| news.iter().find(|new| new.0 == var).map(|new| new.2));
        read_index.push(binary(store, PrimOp::Add, range.0, value));
    }
    let value = store.prim(PrimExpr::Load { buffer: copying.read.buffer, indices: read_index.into() });
    let body = store.add_stmt(Stmt::Store { buffer: copying.write.buffer, indices: write_index.into(), value });
    // TVM takes the extents of the first axes, also where axes of one element stand before.
    let mut heads = Vec::new();
    for ((_, var, _), range) in news.iter().zip(&copying.write.ranges) {
        let extent = extent_of(store, *range);
        heads.push(counted(store, *var, extent, ForKind::Serial));
    }
    Ok(around(store, &heads, body))
}

/// Says why the index of a copy has no inverse, as TVM does: a loop begins elsewhere than at 0, or elements are left out.
fn not_inverted(store: &Store, nest: &Nest) -> String {
    let shifted = nest.heads.iter().any(|head| store.as_prim_int(head.min) != Some(0));
    match shifted {
        true => "Cannot treat type `prim.Sub` as type `ir.Var`".to_owned(),
        false => "Check failed: (analyzer_->CanProveEqual(prim::IntegerAbs(source->scale), 1)) is false: ".to_owned(),
    }
}

/// Returns where in the written region a copy stores, for each axis on which that is not its beginning.
fn pattern_of(store: &mut Store, body: StmtId, copying: &Copying<'_>) -> Result<Vec<PrimId>, String> {
    let Stmt::Store { buffer, indices, .. } = store.stmt(body).clone() else {
        return Err(errors::not_a_store(store, body));
    };
    if copying.write.ranges.len() != indices.len() || copying.write.buffer != buffer {
        return Err("Check failed: (write_region->region.size() == write_index.size() && \
                    write_region->source.as_or_throw<tvm::tirx::BufferVar>().same_as(buf_store->buffer)) is false: "
            .to_owned());
    }
    let analyzer = &mut Analyzer::new();
    let mut pattern = Vec::new();
    for (index, range) in indices.iter().zip(&copying.write.ranges) {
        let offset = binary(store, PrimOp::Sub, *index, range.0);
        let offset = analyzer.simplify(store, offset);
        if store.as_prim_int(offset) != Some(0) {
            pattern.push(offset);
        }
    }
    Ok(pattern)
}
