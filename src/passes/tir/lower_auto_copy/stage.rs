//! Puts a buffer between the two ends of a copy (`memhammer_intermediate_stage.cc`).

use super::nest::{Nest, around, suffixed};
use super::promote::{Promoted, promoted};
use super::tensor_core::{MMA, WMMA};
use super::{Copying, errors};
use crate::ir::{Block, Buffer, For, ForKind, Id, PrimExpr, PrimId, Stmt, StmtId, Store, Symbol};
use crate::passes::tir::storage_scope::Scope;
use crate::tir::arith::Analyzer;
use crate::tir::{substitute, substitute_stmt};

/// A copy in two steps over a new buffer.
pub(super) struct Stage {
    /// The loops around both steps.
    pub(super) heads: Vec<For>,
    /// The step that fills the buffer.
    pub(super) fill: StmtId,
    /// The step that empties it.
    pub(super) empty: StmtId,
    /// The buffer.
    pub(super) cache: Id<Buffer>,
}

impl Stage {
    /// Makes the statement of both steps.
    pub(super) fn stmt(&self, store: &mut Store) -> StmtId {
        let both = store.add_stmts(&[self.fill, self.empty]);
        around(store, &self.heads, both)
    }
}

/// The innermost statement of a copy.
struct Move {
    buffer: Id<Buffer>,
    indices: Box<[PrimId]>,
    value: PrimId,
    /// The condition under which it is done, which comes from coalescing.
    predicate: Option<PrimId>,
}

impl Move {
    fn of(store: &Store, body: StmtId) -> Result<Move, String> {
        let (predicate, inner) = match *store.stmt(body) {
            Stmt::If { cond, then, .. } => (Some(cond), then),
            _ => (None, body),
        };
        match store.stmt(inner).clone() {
            Stmt::Store { buffer, indices, value } => Ok(Move { buffer, indices, value, predicate }),
            _ => Err(errors::not_a_store(store, inner)),
        }
    }
}

/// Puts registers between global and shared memory: loads come first, and stores after all of them.
pub(super) fn local_stage(store: &mut Store, id: StmtId, copying: &Copying<'_>) -> Result<Stage, String> {
    let mut nest = Nest::of(store, id);
    let (threads, serial): (Vec<For>, Vec<For>) = nest.heads.iter().partition(|head| matches!(head.kind, ForKind::Thread(_)));
    let location = threads.len().checked_sub(1);
    nest.heads = threads.into_iter().chain(serial).collect();
    let step = Move::of(store, nest.body)?;
    let (heads, under) = split_at(nest.heads, location);
    let relaxed = relaxed_threads(store, "local", copying.outer, false)?;
    let all: Vec<For> = relaxed.iter().chain(&under).copied().collect();
    let ranges: Vec<(Id<Symbol>, (PrimId, PrimId))> = all.iter().map(|head| (head.var, (head.min, head.extent))).collect();
    let loaded = match store.prim_of_id(step.value).clone() {
        PrimExpr::Load { indices, .. } => promoted(store, &indices, &ranges)?,
        _ => None,
    };
    let place = loaded.unwrap_or_else(|| by_loops(store, &all));
    let cache = cache_of(store, step.buffer, "local", place.shape);

    let (vars, renamed) = renamed(store, &all);
    let with = |store: &mut Store, prim| substituted(store, prim, &renamed);
    let there = place.indices.iter().map(|index| with(store, *index)).collect();
    let value = with(store, step.value);
    let fill = store.add_stmt(Stmt::Store { buffer: cache, indices: there, value });
    let fill = guarded(store, fill, step.predicate, Some(&renamed), under.len())?;
    let fill = over_copies(store, &all, relaxed.len(), &vars, fill);

    let value = store.prim(PrimExpr::Load { buffer: cache, indices: place.indices.into() });
    let empty = store.add_stmt(Stmt::Store { buffer: step.buffer, indices: step.indices, value });
    let empty = guarded(store, empty, step.predicate, None, under.len())?;
    let empty = around(store, &under, empty);
    Ok(Stage { heads, fill, empty, cache })
}

/// Puts shared memory between the tiles of a tensor core and global memory. Both steps stand in the loop at `location`; in
/// none, and around all of them, without one.
pub(super) fn shared_stage(
    store: &mut Store,
    nest: Nest,
    location: Option<usize>,
    copying: &Copying<'_>,
) -> Result<Stage, String> {
    const SCOPE: &str = "shared.dyn";
    let step = Move::of(store, nest.body)?;
    let (heads, under) = split_at(nest.heads, location);
    let relaxed = relaxed_threads(store, SCOPE, copying.outer, true)?;
    let all: Vec<For> = relaxed.iter().chain(&under).copied().collect();
    let (load, source) = tile_load(store, &step)?;
    let place = by_loops(store, &all);
    let cache = cache_of(store, source, SCOPE, place.shape);
    let here = store.prim(PrimExpr::Load { buffer: cache, indices: place.indices.clone().into() });

    let fill = store.add_stmt(Stmt::Store { buffer: cache, indices: place.indices.into(), value: load });
    let fill = guarded(store, fill, step.predicate, None, under.len())?;
    let fill = around(store, &under, fill);

    let (vars, renamed) = renamed(store, &all);
    let value = redirected(store, step.value, source, here);
    let indices = step.indices.iter().map(|index| redirected(store, *index, source, here)).collect();
    let empty = store.add_stmt(Stmt::Store { buffer: step.buffer, indices, value });
    let empty = substitute_stmt(store, empty, &renamed);
    let empty = guarded(store, empty, step.predicate, Some(&renamed), under.len())?;
    let empty = over_copies(store, &all, relaxed.len(), &vars, empty);
    Ok(Stage { heads, fill, empty, cache })
}

/// Divides loops behind the one at `location`.
fn split_at(mut heads: Vec<For>, location: Option<usize>) -> (Vec<For>, Vec<For>) {
    let at = location.map_or(0, |location| location + 1).min(heads.len());
    let under = heads.split_off(at);
    (heads, under)
}

/// Returns the threads around a copy that share a buffer of some kind of memory, so that it needs room for all of them.
fn relaxed_threads(store: &Store, scope: &str, outer: &[For], writes: bool) -> Result<Vec<For>, String> {
    let least = if Scope::of(scope).rank == "shared" { 1 } else { 3 };
    let mut found = Vec::new();
    for head in outer {
        let ForKind::Thread(tag) = head.kind else { continue };
        let tag = store.str(tag);
        let (rank, axis) = if tag.starts_with("vthread") || tag == "cthread" {
            (1, "")
        } else if let Some((kind, axis)) = tag.split_once('.') {
            let rank = ["blockIdx", "threadIdx", "clusterCtaIdx", "preferredClusterCtaIdx"].iter().position(|name| *name == kind);
            (rank.ok_or_else(|| format!("Unknown threadscope {tag}"))?, axis)
        } else {
            return Err(format!("Unknown threadscope {tag}"));
        };
        // A warp writes together: its lanes have one tile.
        if rank >= least && !(writes && axis.starts_with('x')) {
            found.push(*head);
        }
    }
    Ok(found)
}

/// Makes a shape with an axis for each loop, and the place of a round in it.
fn by_loops(store: &mut Store, heads: &[For]) -> Promoted {
    let indices = heads.iter().map(|head| store.prim(PrimExpr::Var(head.var))).collect();
    Promoted { shape: heads.iter().map(|head| head.extent).collect(), indices }
}

/// Makes the buffer of a stage, which is named after another one. Its offset, 0, keeps the type that it has there.
fn cache_of(store: &mut Store, like: Id<Buffer>, scope: &str, shape: Vec<PrimId>) -> Id<Buffer> {
    let old = store.buffer(like).clone();
    let name = store.name(&format!("{}_{scope}", store.str(old.name)));
    let scope = store.name(scope);
    let cache = Buffer { name, scope, shape: shape.into(), data: None, ..old };
    let new = store.add_buffer(cache.clone());
    match (store.offset_of_buffer(like), store.offset_of_buffer(new)) {
        (Err(before), Err(after)) if before != after => {
            let elem_offset = Some(store.prim_int(0, before));
            store.add_buffer(Buffer { elem_offset, ..cache })
        }
        _ => new,
    }
}

/// Makes variables for copies of loops, and the values that replace the old ones.
fn renamed(store: &mut Store, heads: &[For]) -> (Vec<Id<Symbol>>, Vec<(Id<Symbol>, PrimId)>) {
    let mut vars = Vec::new();
    let mut values = Vec::new();
    for head in heads {
        let (var, prim) = suffixed(store, head.var, "_cache");
        vars.push(var);
        values.push((head.var, prim));
    }
    (vars, values)
}

fn substituted(store: &mut Store, prim: PrimId, values: &[(Id<Symbol>, PrimId)]) -> PrimId {
    substitute(store, prim, &mut |_, var| values.iter().find(|(old, _)| *old == var).map(|(_, new)| *new))
}

/// Puts a statement under the condition of a copy.
fn guarded(
    store: &mut Store,
    stmt: StmtId,
    predicate: Option<PrimId>,
    values: Option<&[(Id<Symbol>, PrimId)]>,
    loops: usize,
) -> Result<StmtId, String> {
    let Some(predicate) = predicate else { return Ok(stmt) };
    if loops != 2 {
        return Err(format!("Check failed: loops_under_compute_location.size() == 2 ({loops} vs. 2) : "));
    }
    let cond = substituted(store, predicate, values.unwrap_or(&[]));
    Ok(store.add_stmt(Stmt::If { cond, then: stmt, other: None }))
}

/// Puts copies of loops around a statement. The first ones were threads and are serial now.
fn over_copies(store: &mut Store, heads: &[For], threads: usize, vars: &[Id<Symbol>], body: StmtId) -> StmtId {
    let copies = heads.iter().zip(vars).enumerate().map(|(at, (head, var))| match at < threads {
        true => For { var: *var, kind: ForKind::Serial, annotations: None, ..*head },
        false => For { var: *var, ..*head },
    });
    let copies: Vec<For> = copies.collect();
    around(store, &copies, body)
}

/// Returns the load of a tile of a tensor core, and the buffer of that; all such loads of a copy have to be the same.
fn tile_load(store: &mut Store, step: &Move) -> Result<(PrimId, Id<Buffer>), String> {
    let mut loads: Vec<(PrimId, Id<Buffer>, Box<[PrimId]>)> = Vec::new();
    for root in step.predicate.iter().chain([&step.value]).chain(&step.indices) {
        store.for_each_prim(*root, &mut |id, node| {
            if let PrimExpr::Load { buffer, indices } = node
                && [WMMA, MMA].contains(&store.str(store.buffer(*buffer).scope))
            {
                loads.push((id, *buffer, indices.clone()));
            }
        });
    }
    let Some((load, source, place)) = loads.first().cloned() else {
        return Err("Check failed: (target_buffer_load) is false: ".to_owned());
    };
    let analyzer = &mut Analyzer::new();
    for (_, buffer, indices) in loads.iter().skip(1) {
        if *buffer != source {
            return Err("Check failed: (target_buffer_load->source.as_or_throw<tvm::tirx::BufferVar>().same_as( \
                        buffer_load->source.as_or_throw<tvm::tirx::BufferVar>())) is false: More than one target buffer found"
                .to_owned());
        }
        for (a, b) in place.iter().zip(indices) {
            if !analyzer.can_prove_equal(store, *a, *b) {
                return Err("Check failed: (analyzer->CanProveEqual(target_buffer_load->indices[i], \
                            buffer_load->indices[i])) is false: "
                    .to_owned());
            }
        }
    }
    Ok((load, source))
}

/// Replaces loads of a buffer by another load.
fn redirected(store: &mut Store, root: PrimId, buffer: Id<Buffer>, load: PrimId) -> PrimId {
    let mut order = Vec::new();
    store.for_each_prim(root, &mut |id, _| order.push(id));
    let mut done: crate::ir::IdMap<PrimExpr, PrimId> = crate::ir::IdMap::new();
    for id in order {
        let node = store.prim_rc(id);
        if matches!(*node, PrimExpr::Load { buffer: from, .. } if from == buffer) {
            done.insert(id, load);
            continue;
        }
        let mut changed = false;
        let new = node.over(&mut |child| match done.get(child) {
            Some(new) => {
                changed = true;
                *new
            }
            None => child,
        });
        if changed {
            let new = store.prim(new);
            done.insert(id, new);
        }
    }
    done.get(root).copied().unwrap_or(root)
}

/// Adds the buffer of a stage to a block.
pub(super) fn allocated(block: &mut Block, cache: Id<Buffer>) {
    block.allocs = block.allocs.iter().copied().chain([cache]).collect();
}
