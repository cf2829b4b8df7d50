//! Maps from indices to indices (TVM's `IndexMap`, `src/tirx/ir/index_map.cc`).

use super::arith::iter::{Level, detect_iter_map, inverse_iter_map};
use super::arith::{Analyzer, domains_of, eval_set};
use super::{binary, cast, math, substitute};
use crate::ir::{DTypeCode, Id, PrimExpr, PrimId, PrimOp, Store, Symbol};

/// `lambda params: indices`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexMap {
    /// The variables for the given indices.
    pub params: Vec<Id<Symbol>>,
    /// The mapped indices.
    pub indices: Vec<PrimId>,
}

impl IndexMap {
    /// Maps indices, simplified.
    pub fn map(&self, store: &mut Store, analyzer: &mut Analyzer, indices: &[PrimId]) -> Vec<PrimId> {
        let mut found = Vec::new();
        for index in &self.indices {
            let new = substitute(store, *index, &mut |_, symbol| {
                self.params.iter().position(|param| *param == symbol).and_then(|at| indices.get(at).copied())
            });
            let new = legal(store, new);
            found.push(analyzer.simplify(store, new));
        }
        found
    }

    fn ranges_in(&self, store: &mut Store, shape: &[PrimId]) -> Vec<(Id<Symbol>, (PrimId, PrimId))> {
        let ranges = shape.iter().map(|extent| (store.prim_int(0, store.prim_dtype(*extent)), *extent));
        self.params.iter().copied().zip(ranges).collect()
    }

    /// Returns first values and extents of the mapped indices, for indices that run through a shape.
    pub fn map_ranges(&self, store: &mut Store, analyzer: &mut Analyzer, shape: &[PrimId]) -> Vec<(PrimId, PrimId)> {
        let iters = self.ranges_in(store, shape);
        let map = detect_iter_map(store, analyzer, &self.indices, &iters, None, Level::NoCheck, false);
        let mut found = Vec::new();
        match map {
            Ok(map) if !map.indices.is_empty() => {
                for sum in &map.indices {
                    let mut extent: Option<PrimId> = None;
                    for split in &sum.args {
                        let term = binary(store, PrimOp::Mul, split.extent, split.scale);
                        extent = Some(extent.map_or(term, |extent| binary(store, PrimOp::Max, extent, term)));
                    }
                    let extent = extent.unwrap_or_else(|| store.prim_int(1, store.prim_dtype(sum.base)));
                    found.push((sum.base, analyzer.simplify(store, extent)));
                }
            }
            _ => {
                let domains = domains_of(store, &iters);
                for index in &self.indices {
                    let set = eval_set(store, *index, &domains);
                    let (Some(min), Some(max)) = (set.lower(), set.upper()) else {
                        let one = store.prim_int(1, store.prim_dtype(*index));
                        found.push((*index, one));
                        continue;
                    };
                    let span = binary(store, PrimOp::Sub, max, min);
                    let one = store.prim_int(1, store.prim_dtype(span));
                    let extent = binary(store, PrimOp::Add, span, one);
                    found.push((analyzer.simplify(store, min), analyzer.simplify(store, extent)));
                }
            }
        }
        // Extents are as wide as those that came in.
        let bits = shape.iter().map(|extent| store.prim_dtype(*extent).bits).fold(0, u8::max);
        for (min, extent) in &mut found {
            for end in [min, extent] {
                let dtype = store.prim_dtype(*end);
                if bits > 0 && dtype.bits != bits && dtype.code == DTypeCode::Int {
                    *end = cast(store, crate::ir::DType { bits, ..dtype }, *end);
                }
            }
        }
        found
    }

    /// Returns the mapped shape.
    pub fn map_shape(&self, store: &mut Store, analyzer: &mut Analyzer, shape: &[PrimId]) -> Vec<PrimId> {
        self.map_ranges(store, analyzer, shape).into_iter().map(|(_, extent)| extent).collect()
    }

    /// Returns the inverse map, and the condition under which its input is outside of the image. Nothing if there is no
    /// inverse, or, with [`Level::Bijective`], if the map may leave values out.
    pub fn inverse(
        &self,
        store: &mut Store,
        analyzer: &mut Analyzer,
        shape: &[PrimId],
        level: Level,
    ) -> Option<(IndexMap, PrimId)> {
        let iters = self.ranges_in(store, shape);
        let mut vars = Vec::new();
        let mut outputs = Vec::new();
        for (place, index) in self.indices.iter().enumerate() {
            let name = match *store.prim_of_id(*index) {
                PrimExpr::Var(symbol) => store.symbol(symbol).name,
                _ => store.name(&format!("axis{place}")),
            };
            let var = store.add_symbol(Symbol { name, dtype: store.prim_dtype(*index), size: false });
            vars.push(var);
            outputs.push(store.prim(PrimExpr::Var(var)));
        }
        let map = detect_iter_map(store, analyzer, &self.indices, &iters, None, level, false).ok()?;
        let found = inverse_iter_map(store, &map.indices, &outputs)?;
        let mut indices = Vec::new();
        for (param, (min, extent)) in &iters {
            let known = found.iter().find(|(var, _)| var == param).map(|(_, value)| *value);
            let value = match known {
                Some(value) => value,
                None if store.as_prim_int(*extent) == Some(1) => *min,
                None => return None,
            };
            indices.push(analyzer.simplify(store, value));
        }
        let padding = substitute(store, map.padding, &mut |_, symbol| {
            found.iter().find(|(var, _)| *var == symbol).map(|(_, value)| *value)
        });
        let ranges = self.map_ranges(store, analyzer, shape);
        let inner = &mut Analyzer::new();
        for (var, (min, extent)) in vars.iter().zip(ranges) {
            inner.bind_range(store, *var, min, extent);
        }
        let padding = inner.simplify_steps(store, padding, 10);
        if level == Level::Bijective {
            let none = math::not(store, padding);
            if !analyzer.can_prove(store, none) {
                return None;
            }
        }
        Some((IndexMap { params: vars, indices }, padding))
    }
}

/// Gives the operands of each operation one type, the wider one; substitution may have mixed them.
pub fn legal(store: &mut Store, root: PrimId) -> PrimId {
    let mut order = Vec::new();
    store.for_each_prim(root, &mut |id, _| order.push(id));
    let mut done: rustc_hash::FxHashMap<PrimId, PrimId> = rustc_hash::FxHashMap::default();
    for id in order {
        let node = store.prim_rc(id);
        let mut changed = false;
        let new = node.over(&mut |child| {
            let new = done.get(&child).copied().unwrap_or(child);
            changed |= new != child;
            new
        });
        let new = match new {
            PrimExpr::Binary { op, a, b } if store.prim_dtype(a) != store.prim_dtype(b) => {
                let (a, b) = super::match_types(store, a, b);
                PrimExpr::Binary { op, a, b }
            }
            other => other,
        };
        if changed || new != *node {
            let new = store.prim(new);
            done.insert(id, new);
        }
    }
    done.get(&root).copied().unwrap_or(root)
}
