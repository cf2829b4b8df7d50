//! Blocks in blocks, for reductions over axes whose extents depend on other axes: a scope for each depth.
//!
//! Source: `src/te/operation/create_primfunc.cc` (`GenerateNestedIterLevels`, `GenerateStmtFromCompute`).

use super::create::{dummy, spread, wide_index, with_regions, within_loops};
use super::te::{Axis, Te};
use crate::ir::{Block, For, Id, IterKind, IterVar, PrimExpr, PrimId, StmtId, Symbol};
use crate::tir::substitute;
use rustc_hash::FxHashMap;

/// The loops and the variables of one block of a nest.
#[derive(Default)]
pub(super) struct Scope {
    loops: Vec<For>,
    iters: Vec<IterVar>,
    /// The variable of this block for each axis that is known by then.
    pub at: FxHashMap<Id<Symbol>, PrimId>,
}

/// The blocks of a nest, the outermost first.
pub(super) struct Nest {
    scopes: Vec<Scope>,
    /// The scope whose block initialises the reduction: the first with a reduced axis.
    pub first: usize,
}

/// Returns the depth of each axis: one more than that of the deepest axis that its extent depends on.
fn depths(te: &Te, axes: &[Axis]) -> Vec<usize> {
    let mut depths: Vec<usize> = Vec::with_capacity(axes.len());
    for axis in axes {
        let mut depth = 0;
        te.store.for_each_prim(axis.extent, &mut |_, expr| {
            if let PrimExpr::Var(symbol) = expr
                && let Some(outer) = axes.iter().take(depths.len()).position(|other| other.var == *symbol)
            {
                depth = depth.max(depths[outer] + 1);
            }
        });
        depths.push(depth);
    }
    depths
}

/// Returns the nest of a reduction: one block, unless an extent depends on another axis. The innermost block has the
/// variables of the axes themselves. `wide` has the new variables of axes that had 32 bits.
pub(super) fn nest(te: &mut Te, space: &[Axis], reduced: &[Axis], wide: &FxHashMap<Id<Symbol>, PrimId>) -> Nest {
    let axes: Vec<Axis> = (space.iter().chain(reduced))
        .map(|axis| {
            let extent = te.simplify(axis.extent);
            Axis { var: axis.var, name: axis.name.clone(), extent: wide_index(te, extent, wide) }
        })
        .collect();
    let depths = depths(te, &axes);
    let last = depths.iter().copied().max().unwrap_or(0);
    let mut scopes: Vec<Scope> = Vec::new();
    for level in 0..=last {
        let mut scope = Scope::default();
        for (place, axis) in axes.iter().enumerate().filter(|(place, _)| depths[*place] <= level) {
            let kind = if place < space.len() { IterKind::Spatial } else { IterKind::Reduce };
            let var = match level == last {
                true => axis.var,
                false => {
                    let symbol = te.store.symbol(axis.var).clone();
                    te.store.add_symbol(symbol)
                }
            };
            let [used, own] = [var, axis.var].map(|var| te.store.prim(PrimExpr::Var(var)));
            if depths[place] == level {
                let mut extent = axis.extent;
                if let Some(outer) = scopes.last() {
                    extent = substitute(te.store, extent, &mut |_, symbol| outer.at.get(&symbol).copied());
                }
                let (head, iter) = spread(te, &Axis { var, name: axis.name.clone(), extent }, kind);
                scope.loops.push(head);
                scope.iters.push(iter);
            } else {
                let known = scopes.last().and_then(|outer| outer.at.get(&axis.var)).copied().unwrap_or(own);
                let one = te.store.prim_int(1, te.type_of(known));
                // TVM widens a range as if its extent were its end.
                let extent = if wide.values().any(|var| *var == own) { te.minus(one, known) } else { one };
                scope.iters.push(IterVar { var, kind, min: known, extent, value: Some(known) });
            }
            scope.at.insert(axis.var, used);
        }
        if level == last && scope.iters.is_empty() {
            scope.iters.push(dummy(te));
        }
        scopes.push(scope);
    }
    let first = depths[space.len()..].iter().copied().min().unwrap_or(last);
    Nest { scopes, first }
}

impl Nest {
    /// Makes the blocks, the innermost first. `block` makes that of a scope, around the body that is there by then.
    pub fn around(mut self, te: &mut Te, block: &mut dyn FnMut(&mut Te, usize, &Scope, Option<StmtId>) -> Block) -> StmtId {
        let mut body = None;
        while let Some(scope) = self.scopes.pop() {
            let made = block(te, self.scopes.len(), &scope, body);
            let made = with_regions(te, Block { iters: scope.iters.into(), ..made });
            body = Some(within_loops(te, scope.loops, made));
        }
        body.unwrap_or_else(|| te.store.add_stmts(&[]))
    }
}
