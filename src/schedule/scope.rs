//! Dependencies between the blocks of a scope, and whether they form a pipeline of stages (TVM's `SBlockScope`, and
//! `CheckRegionCoverAndStagePipeline` in `state.cc`).

use super::Outcome;
use super::analysis::domains;
use super::state::State;
use super::tree::Tree;
use crate::ir::{Block, Buffer, Id, PrimId, PrimOp, Region, Symbol};
use crate::tir::access::extent_of;
use crate::tir::arith::{Analyzer, IntSet, covering_region, strict_region};
use crate::tir::{binary, substitute};

/// The way in which a block depends on an earlier one, or on one that comes after it in the next iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dependency {
    /// It reads what the other has written.
    ReadAfterWrite,
    /// It writes what the other has written.
    WriteAfterWrite,
    /// It writes what the other has read.
    WriteAfterRead,
}

/// Source, target and kind of each dependency among the blocks right in a block.
pub(super) fn dependencies(state: &State<'_>, tree: &Tree, root: usize) -> Outcome<Vec<(usize, usize, Dependency)>> {
    let mut readers: Vec<(Id<Buffer>, usize)> = Vec::new();
    let mut writers: Vec<(Id<Buffer>, usize)> = Vec::new();
    let mut found = Vec::new();
    for at in tree.child_blocks(root) {
        let block = state.block_at(tree, at)?;
        readers.extend(block.reads.iter().map(|region| (region.buffer, at)));
        writers.extend(block.writes.iter().map(|region| (region.buffer, at)));
        let mut add = |regions: &[Region], known: &[(Id<Buffer>, usize)], kind| {
            for region in regions {
                let sources = known.iter().filter(|(buffer, from)| *buffer == region.buffer && *from != at);
                found.extend(sources.map(|(_, from)| (*from, at, kind)));
            }
        };
        add(&block.reads, &writers, Dependency::ReadAfterWrite);
        add(&block.writes, &writers, Dependency::WriteAfterWrite);
        add(&block.writes, &readers, Dependency::WriteAfterRead);
    }
    Ok(found)
}

/// The blocks whose results a block uses, each once.
pub(super) fn producers(state: &State<'_>, tree: &Tree, root: usize, at: usize) -> Outcome<Vec<usize>> {
    let all = dependencies(state, tree, root)?;
    Ok(each_once(all.into_iter().filter(|(_, to, kind)| *to == at && carries(*kind)).map(|(from, ..)| from)))
}

/// The blocks that use the results of a block, each once.
pub(super) fn consumers(state: &State<'_>, tree: &Tree, root: usize, at: usize) -> Outcome<Vec<usize>> {
    let all = dependencies(state, tree, root)?;
    Ok(each_once(all.into_iter().filter(|(from, _, kind)| *from == at && carries(*kind)).map(|(_, to, _)| to)))
}

fn carries(kind: Dependency) -> bool {
    matches!(kind, Dependency::ReadAfterWrite | Dependency::WriteAfterWrite)
}

fn each_once(all: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut found = Vec::new();
    for at in all {
        if !found.contains(&at) {
            found.push(at);
        }
    }
    found
}

/// Counts the blocks right in a block that write each buffer.
pub(super) fn buffer_writers(state: &State<'_>, tree: &Tree, root: usize) -> Outcome<Vec<(Id<Buffer>, usize)>> {
    let mut found: Vec<(Id<Buffer>, usize)> = Vec::new();
    for at in tree.child_blocks(root) {
        for region in &state.block_at(tree, at)?.writes {
            match found.iter_mut().find(|(buffer, _)| *buffer == region.buffer) {
                Some((_, count)) => *count += 1,
                None => found.push((region.buffer, 1)),
            }
        }
    }
    Ok(found)
}

/// The ranges of a region with the variables of a block bound.
pub(super) fn unbound(state: &mut State<'_>, block: &Block, region: &Region) -> Vec<(PrimId, PrimId)> {
    let value = |symbol: Id<Symbol>| block.iters.iter().find(|iter| iter.var == symbol).and_then(|iter| iter.value);
    let mut found = Vec::new();
    for range in &region.ranges {
        let extent = extent_of(state.store, *range);
        let [min, extent] = [range.0, extent].map(|end| substitute(state.store, end, &mut |_, symbol| value(symbol)));
        found.push((min, extent));
    }
    found
}

/// True if the blocks right in a block are stages: what each reads of others is written before, all of it, and nothing is
/// overwritten that another one has read. The list says of each that depends on others whether what it reads is written
/// before.
pub(super) fn stages_in(state: &mut State<'_>, tree: &Tree, root: usize) -> Outcome<(bool, Vec<(usize, bool)>)> {
    let all = dependencies(state, tree, root)?;
    let mut stages = !all.iter().any(|(.., kind)| *kind == Dependency::WriteAfterRead);
    let mut covered = Vec::new();
    for at in each_once(all.iter().map(|(_, to, _)| *to)) {
        let sources = all.iter().filter(|(_, to, kind)| *to == at && *kind == Dependency::ReadAfterWrite);
        let sources: Vec<usize> = sources.map(|(from, ..)| *from).collect();
        let covers = is_covered(state, tree, root, at, &sources)?;
        stages &= covers;
        covered.push((at, covers));
    }
    Ok((stages, covered))
}

/// True if what a block reads is written, as far as blocks of its scope write it, before it is read.
fn is_covered(state: &mut State<'_>, tree: &Tree, root: usize, consumer: usize, sources: &[usize]) -> Outcome<bool> {
    let path: Vec<usize> = std::iter::once(consumer).chain(tree.ancestors(consumer)).take_while(|at| *at != root).collect();
    let reader = state.block_at(tree, consumer)?;
    for common in path.into_iter().chain([root]) {
        // The producers whose lowest common ancestor with the consumer this is.
        let meets = |from: usize| {
            std::iter::once(from).chain(tree.ancestors(from)).find(|at| tree.is_under(consumer, *at)) == Some(common)
        };
        let here: Vec<usize> = sources.iter().copied().filter(|from| meets(*from)).collect();
        if here.is_empty() {
            continue;
        }
        for region in &reader.reads {
            let scope = state.store.str(state.store.buffer(region.buffer).scope).to_owned();
            let mut touched = Vec::new();
            for from in &here {
                let writer = state.block_at(tree, *from)?;
                for written in writer.writes.iter().filter(|written| written.buffer == region.buffer) {
                    let ranges = unbound(state, &writer, written);
                    let iters = domains(state, tree, tree.nodes[*from].parent, Some(common), Some(&scope))?;
                    let analyzer = &mut bound_loops(state, tree, *from)?;
                    let sets = strict_region(state.store, analyzer, &ranges, &iters, writer.predicate);
                    touched.push(sets.unwrap_or_else(|| vec![IntSet::NOTHING; ranges.len()]));
                }
            }
            if touched.is_empty() {
                continue;
            }
            let produced = IntSet::union_region_lower_bound(state.store, &touched);
            let ranges = unbound(state, &reader, region);
            let iters = domains(state, tree, tree.nodes[consumer].parent, Some(common), Some(&scope))?;
            let analyzer = &mut bound_loops(state, tree, consumer)?;
            let consumed = covering_region(state.store, analyzer, &ranges, &iters, reader.predicate);
            let shape = state.store.buffer(region.buffer).shape.clone();
            if !covers(state, analyzer, &shape, &produced, &consumed) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// An analyzer that knows the ranges of the loops around a block.
fn bound_loops(state: &mut State<'_>, tree: &Tree, at: usize) -> Outcome<Analyzer> {
    let mut analyzer = Analyzer::new();
    let mut heads = Vec::new();
    for at in tree.ancestors(at).filter(|at| tree.is_loop(*at)) {
        heads.push(state.head(tree, at)?.0);
    }
    for head in heads.into_iter().rev() {
        analyzer.bind_range(state.store, head.var, head.min, head.extent);
    }
    Ok(analyzer)
}

fn covers(state: &mut State<'_>, analyzer: &mut Analyzer, shape: &[PrimId], produced: &[IntSet], consumed: &[IntSet]) -> bool {
    let store = &mut *state.store;
    shape.iter().zip(produced.iter().zip(consumed)).all(|(extent, (produced, consumed))| {
        if produced.is_nothing() {
            return false;
        }
        if consumed.is_nothing() {
            return true;
        }
        let zero = store.prim_int(0, store.prim_dtype(*extent));
        let whole = IntSet::from_range(store, zero, *extent);
        let mut within = |set: IntSet| {
            // A set without bounds, as of indices that are read from a buffer, is the whole extent.
            let set = match (set.lower(), set.upper()) {
                (Some(min), Some(max)) => {
                    IntSet::between(analyzer.canonical_simplify(store, min), analyzer.canonical_simplify(store, max))
                }
                _ => set,
            };
            let set = IntSet::intersect(store, &[set, whole]);
            let (min, max) = (set.lower()?, set.upper()?);
            Some((analyzer.simplify(store, min), analyzer.simplify(store, max)))
        };
        let (Some((first, last)), Some((min, max))) = (within(*produced), within(*consumed)) else { return false };
        [(first, min), (max, last)].into_iter().all(|(less, more)| {
            let difference = binary(store, PrimOp::Sub, less, more);
            let difference = analyzer.canonical_simplify(store, difference);
            let zero = store.prim_int(0, store.prim_dtype(difference));
            let below = binary(store, PrimOp::Le, difference, zero);
            analyzer.can_prove(store, below)
        })
    })
}
