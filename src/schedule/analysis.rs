//! Checks of loops and blocks by instructions (TVM's `analysis/analysis.cc`).

use super::scope::buffer_writers;
use super::state::State;
use super::tree::{Tree, What};
use super::{Outcome, refuse};
use crate::ir::{Block, Buffer, For, ForKind, Id, IterKind, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::tir::arith::Analyzer;
use crate::tir::arith::iter::{Level, detect_iter_map};
use crate::tir::binary;

/// True if an expression uses one of some variables.
pub(super) fn uses_any(store: &Store, expr: PrimId, vars: &[Id<Symbol>]) -> bool {
    let mut found = false;
    store.for_each_prim(expr, &mut |_, node| found |= matches!(node, PrimExpr::Var(var) if vars.contains(var)));
    found
}

/// The variables of an expression, each once.
pub(super) fn vars_of(store: &Store, expr: PrimId) -> Vec<Id<Symbol>> {
    let mut found = Vec::new();
    store.for_each_prim(expr, &mut |_, node| {
        if let PrimExpr::Var(var) = node
            && !found.contains(var)
        {
            found.push(*var);
        }
    });
    found
}

pub(super) fn check_starts_at_zero(store: &mut Store, head: &For, analyzer: &mut Analyzer) -> Outcome<()> {
    let zero = store.prim_int(0, store.prim_dtype(head.min));
    let same = binary(store, PrimOp::Eq, head.min, zero);
    if analyzer.can_prove(store, same) {
        return Ok(());
    }
    refuse("ScheduleError: The primitive only supports loop starting with 0")
}

/// Loops with their ranges, from `low` up to `high` or the next block; with `scope`, the kind of memory of a buffer, also
/// those over threads that share such memory.
pub(super) fn domains(
    state: &State<'_>,
    tree: &Tree,
    low: Option<usize>,
    high: Option<usize>,
    scope: Option<&str>,
) -> Outcome<Vec<(Id<Symbol>, (PrimId, PrimId))>> {
    let mut found = Vec::new();
    let mut at = low;
    while let Some(here) = at.filter(|here| Some(*here) != high && tree.is_loop(*here)) {
        let (head, _) = state.head(tree, here)?;
        found.push((head.var, (head.min, head.extent)));
        at = tree.nodes[here].parent;
    }
    let rank = scope.map_or(0, scope_rank);
    while let Some(here) = at.filter(|_| rank > 0) {
        if tree.is_loop(here) {
            let (head, _) = state.head(tree, here)?;
            if let ForKind::Thread(tag) = head.kind {
                let tag = state.store.str(tag);
                let thread = match () {
                    () if tag.starts_with("blockIdx") => 0,
                    () if tag.starts_with("threadIdx") => 1,
                    () if tag.starts_with("vthread") || tag.starts_with("cthread") => 1,
                    () => -1,
                };
                let shares = match (rank, scope) {
                    (_, Some("warp")) => tag == "threadIdx.x",
                    _ => thread >= 1 && rank <= 1 || rank == 0,
                };
                if shares {
                    found.push((head.var, (head.min, head.extent)));
                }
            }
        }
        at = tree.nodes[here].parent;
    }
    Ok(found)
}

/// The rank of a storage scope: 0 global, 1 shared, 2 warp, 3 local and others.
pub(super) fn scope_rank(scope: &str) -> i32 {
    match scope.split('.').next().unwrap_or_default() {
        "" | "global" => 0,
        "shared" => 1,
        "warp" => 2,
        _ => 3,
    }
}

/// True if the bindings of a block are digits of the iterators in `ranges`.
pub(super) fn is_affine(state: &mut State<'_>, block: &Block, ranges: &[(Id<Symbol>, (PrimId, PrimId))]) -> bool {
    if ranges.is_empty() {
        return true;
    }
    let values: Vec<PrimId> = block.iters.iter().filter_map(|iter| iter.value).collect();
    let analyzer = &mut Analyzer::new();
    match detect_iter_map(state.store, analyzer, &values, ranges, block.predicate, Level::Surjective, false) {
        Ok(map) if !map.indices.is_empty() => {
            map.indices.iter().all(|sum| sum.args.first().is_none_or(|split| state.store.as_prim_int(split.scale) == Some(1)))
        }
        _ => false,
    }
}

/// True if the bindings of a block are digits of the loops around it, by a look at them.
pub(super) fn is_affine_now(state: &mut State<'_>, tree: &Tree, at: usize) -> Outcome<bool> {
    let block = state.block_at(tree, at)?;
    if tree.nodes[at].parent.is_none() {
        return Ok(block.iters.is_empty());
    }
    let ranges = domains(state, tree, tree.nodes[at].parent, None, None)?;
    Ok(is_affine(state, &block, &ranges))
}

/// The bindings of a block must be affine, at least under `high`.
pub(super) fn check_partial_affine(state: &mut State<'_>, tree: &Tree, at: usize, high: Option<usize>) -> Outcome<()> {
    if state.flags_of(tree, at)?.affine {
        return Ok(());
    }
    if tree.nodes[at].parent.is_some() && high.is_some() {
        let block = state.block_at(tree, at)?;
        let ranges = domains(state, tree, tree.nodes[at].parent, high, None)?;
        if is_affine(state, &block, &ranges) {
            return Ok(());
        }
    }
    refuse("ScheduleError: The block is required to have an (partial) affine binding")
}

/// The block around a node; with `pipeline` it must be a stage pipeline.
pub(super) fn scope_root(state: &mut State<'_>, tree: &Tree, at: usize, pipeline: bool) -> Outcome<usize> {
    let Some(root) = tree.scope(at) else {
        return refuse("ScheduleError: The primitive does not operate on the root block");
    };
    if pipeline && !state.flags_of(tree, root)?.stages {
        return refuse("ScheduleError: The scope root is not a stage pipeline");
    }
    Ok(root)
}

/// True if a block is the only one that writes what it writes, in a block around it; or under a loop, as TVM sees that: by
/// what is in the blocks under it.
fn is_dominant(state: &State<'_>, tree: &Tree, root: usize, at: usize) -> Outcome<bool> {
    let writers: Vec<(Id<Buffer>, usize)> = match tree.is_loop(root) {
        false => buffer_writers(state, tree, root)?,
        true => {
            let mut all: Vec<(Id<Buffer>, usize)> = Vec::new();
            for child in tree.child_blocks(root) {
                for (buffer, count) in buffer_writers(state, tree, child)? {
                    if !all.iter().any(|(known, _)| *known == buffer) {
                        all.push((buffer, count));
                    }
                }
            }
            all
        }
    };
    let block = state.block_at(tree, at)?;
    let alone = |buffer| writers.iter().find(|(known, _)| *known == buffer).is_none_or(|(_, count)| *count == 1);
    Ok(block.writes.iter().all(|region| alone(region.buffer)))
}

/// The first condition of a complete block that is not met; 0 if there is none.
pub(super) fn complete_error(state: &State<'_>, tree: &Tree, at: usize, root: usize) -> Outcome<u8> {
    let block = state.block_at(tree, at)?;
    if !block.iters.iter().all(|iter| iter.kind == IterKind::Spatial) {
        return Ok(1);
    }
    if !is_dominant(state, tree, root, at)? {
        return Ok(2);
    }
    let overlaps = block.reads.iter().any(|read| block.writes.iter().any(|write| write.buffer == read.buffer));
    Ok(if overlaps { 3 } else { 0 })
}

/// The first condition of a reduction block that is not met; 0 if there is none.
pub(super) fn reduction_error(state: &mut State<'_>, tree: &Tree, at: usize, root: usize) -> Outcome<u8> {
    let block = state.block_at(tree, at)?;
    if block.init.is_none() {
        return Ok(1);
    }
    if !state.flags_of(tree, at)?.affine {
        return Ok(2);
    }
    if !block.iters.iter().all(|iter| matches!(iter.kind, IterKind::Spatial | IterKind::Reduce)) {
        return Ok(3);
    }
    if !is_dominant(state, tree, root, at)? {
        return Ok(4);
    }
    Ok(if reduces_into_places(state, &block) { 0 } else { 5 })
}

/// True if no reduction variable stands in an index of what is written.
fn reduces_into_places(state: &State<'_>, block: &Block) -> bool {
    let reduce: Vec<Id<Symbol>> = block.iters.iter().filter(|iter| iter.kind == IterKind::Reduce).map(|iter| iter.var).collect();
    let written: Vec<Id<Buffer>> = block.writes.iter().map(|region| region.buffer).collect();
    // Variables that are bound to values with such variables in them count, too.
    let mut affected = reduce;
    let mut fine = true;
    let mut todo: Vec<StmtId> = vec![block.body];
    while let Some(id) = todo.pop() {
        match state.store.stmt(id) {
            Stmt::Bind { var, value } if uses_any(state.store, *value, &affected) => affected.push(*var),
            Stmt::Store { buffer, indices, .. } if written.contains(buffer) => {
                fine &= !indices.iter().any(|index| uses_any(state.store, *index, &affected));
            }
            _ => {}
        }
        let before = todo.len();
        state.store.for_each_inner_stmt(id, |inner| todo.push(inner));
        todo[before..].reverse();
    }
    fine
}

pub(super) fn check_complete(state: &mut State<'_>, tree: &Tree, at: usize, root: usize) -> Outcome<()> {
    match complete_error(state, tree, at, root)? {
        0 => Ok(()),
        code => refuse(format!("ScheduleError: Incomplete block: it violates condition #{code}")),
    }
}

pub(super) fn check_reduction(state: &mut State<'_>, tree: &Tree, at: usize, root: usize) -> Outcome<()> {
    match reduction_error(state, tree, at, root)? {
        0 => Ok(()),
        code => refuse(format!("ScheduleError: Not a reduction block: it violates condition #{code}")),
    }
}

pub(super) fn check_complete_or_reduction(state: &mut State<'_>, tree: &Tree, at: usize, root: usize) -> Outcome<()> {
    let complete = complete_error(state, tree, at, root)?;
    if complete == 0 {
        return Ok(());
    }
    match reduction_error(state, tree, at, root)? {
        0 => Ok(()),
        code => refuse(format!(
            "ScheduleError: Not a complete or reduction block: it violates condition #{complete} of the first and #{code} of \
             the second"
        )),
    }
}

/// Each block right under a loop or block is a complete or a reduction block there.
pub(super) fn check_subtree_compact(state: &mut State<'_>, tree: &Tree, root: usize) -> Outcome<()> {
    for at in tree.child_blocks(root) {
        if complete_error(state, tree, at, root)? != 0 && reduction_error(state, tree, at, root)? != 0 {
            return refuse(
                "ScheduleError: The queried subtree root in SRef tree does not have compact dataflow, because some of its \
                 child block on SRef tree is neither a local complete block nor a local reduction block.",
            );
        }
    }
    Ok(())
}

/// True if a block writes a buffer that the block around does not allocate.
pub(super) fn is_output(state: &State<'_>, tree: &Tree, at: usize, root: usize) -> Outcome<bool> {
    let (block, scope) = (state.block_at(tree, at)?, state.block_at(tree, root)?);
    Ok(block.writes.iter().any(|region| !scope.allocs.contains(&region.buffer)))
}

pub(super) fn check_not_output(state: &State<'_>, tree: &Tree, at: usize, root: usize) -> Outcome<()> {
    match is_output(state, tree, at, root)? {
        true => refuse("ScheduleError: Cannot operate on an output block"),
        false => Ok(()),
    }
}

/// The buffer of the `index`th region that a block writes or reads.
pub(super) fn nth_buffer(block: &Block, index: i64, writes: bool) -> Outcome<Id<Buffer>> {
    let regions = if writes { &block.writes } else { &block.reads };
    match usize::try_from(index).ok().and_then(|index| regions.get(index)) {
        Some(region) => Ok(region.buffer),
        None => {
            let what = if writes { "write" } else { "read" };
            refuse(format!(
                "ScheduleError: The input `buffer_index` is out of range. It is required to be in range [0, num_{what}_regions) \
                 where `num_{what}_regions` is the number of buffer regions the block {what}s."
            ))
        }
    }
}

/// The block of a scope in which a buffer is allocated, from `at` upwards; nothing for one that comes from outside.
pub(super) fn allocated_in(state: &State<'_>, tree: &Tree, at: usize, buffer: Id<Buffer>) -> Option<usize> {
    std::iter::once(at).chain(tree.ancestors(at)).find(|at| match tree.nodes[*at].what {
        What::Block(block) => state.store.prim_block(block).allocs.contains(&buffer),
        What::Loop(_) => false,
    })
}
