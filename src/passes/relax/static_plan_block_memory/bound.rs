//! Upper bounds of shapes, from the attributes of a function about its symbols.

use crate::ir::{AttrValue, Dim, Function, Id, IdMap, PrimExpr, PrimId, PrimOp, Store, Symbol};
use crate::passes::relax::calls::signature_symbols;
use crate::tir::{self, arith::Analyzer};
use rustc_hash::FxHashMap;

/// The known bounds of the symbols of functions.
#[derive(Default)]
pub(super) struct Bounds {
    pub(super) analyzer: Analyzer,
    ranges: FxHashMap<Id<Symbol>, (i64, i64)>,
}

impl Bounds {
    /// Reads the attributes `tir_var_upper_bound`, `tir_var_lower_bound` and `tir_non_negative_var` of a function about
    /// the symbols of its signature.
    pub(super) fn read(&mut self, store: &Store, function: &Function) -> Result<(), String> {
        let upper = numbers(store, function, "tir_var_upper_bound")?;
        let lower = numbers(store, function, "tir_var_lower_bound")?;
        let natural: Vec<&str> = match store.attr(function.attrs, "tir_non_negative_var") {
            Some(AttrValue::Array(names)) => names
                .iter()
                .filter_map(|name| match name {
                    AttrValue::Str(name) => Some(store.str(*name)),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        for symbol in signature_symbols(store, store.items(function.params)) {
            let name = store.str(store.symbol(symbol).name);
            let of = |list: &[(&str, i64)]| list.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            match (of(&upper), of(&lower)) {
                (Some(most), least) => {
                    let least = least.unwrap_or(0);
                    self.analyzer.assume_between(symbol, least, most);
                    self.ranges.insert(symbol, (least, most));
                }
                (None, Some(least)) if least >= 0 => self.analyzer.assume_natural(symbol),
                (None, _) if natural.contains(&name) => self.analyzer.assume_natural(symbol),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns upper bounds of extents; an extent without a known bound stays.
    pub(super) fn largest(&mut self, store: &mut Store, dims: &[Dim]) -> Vec<Dim> {
        dims.iter().map(|dim| self.most(store, *dim)).collect()
    }

    fn most(&mut self, store: &mut Store, dim: Dim) -> Dim {
        let prim = store.prim_of_dim(dim);
        let most = self.analyzer.const_int_bound(store, prim).max;
        if most < i64::MAX {
            return Dim::Int { value: most, bits: 64 };
        }
        match self.interval(store, prim) {
            Some((_, most)) => store.dim_of_prim(most),
            None => dim,
        }
    }

    /// Returns the bounds of an expression as expressions over unbounded symbols (TVM's `IntSet`).
    fn interval(&mut self, store: &mut Store, root: PrimId) -> Option<Ends> {
        let mut order = Vec::new();
        store.for_each_prim(root, &mut |id, _| order.push(id));
        let mut known: IdMap<PrimExpr, Ends> = IdMap::new();
        for id in order {
            let ends = match *store.prim_rc(id) {
                PrimExpr::Var(symbol) => match self.ranges.get(&symbol) {
                    Some((least, most)) => {
                        let dtype = store.prim_dtype(id);
                        Some((store.prim_int(*least, dtype), store.prim_int(*most, dtype)))
                    }
                    None => Some((id, id)),
                },
                PrimExpr::Int { .. } => Some((id, id)),
                PrimExpr::Binary { op, a, b } => match (known.get(a).copied(), known.get(b).copied()) {
                    (Some(x), Some(y)) => self.ends(store, op, x, y),
                    _ => None,
                },
                _ => None,
            };
            if let Some(ends) = ends {
                known.insert(id, ends);
            }
        }
        known.get(root).copied()
    }

    fn ends(&mut self, store: &mut Store, op: PrimOp, a: Ends, b: Ends) -> Option<Ends> {
        let mut pair = |x: Ends, y: Ends| Some((tir::binary(store, op, x.0, y.0), tir::binary(store, op, x.1, y.1)));
        if a.0 == a.1 && b.0 == b.1 {
            return pair(a, b);
        }
        match op {
            PrimOp::Add | PrimOp::Min | PrimOp::Max => pair(a, b),
            PrimOp::Sub => pair(a, (b.1, b.0)),
            PrimOp::Mul | PrimOp::FloorDiv => {
                // As in TVM, a factor with a single value stands behind.
                let (a, b) = if op == PrimOp::Mul && a.0 == a.1 { (b, a) } else { (a, b) };
                let least = self.analyzer.const_int_bound(store, b.0).min;
                if b.0 != b.1 || least < i64::from(op == PrimOp::FloorDiv) {
                    return None;
                }
                let ends = [a.0, a.1].map(|end| tir::binary(store, op, end, b.0));
                Some((ends[0], ends[1]))
            }
            _ => None,
        }
    }
}

/// The least and the greatest value of an expression.
type Ends = (PrimId, PrimId);

/// Returns the numbers of an attribute that maps names to numbers.
fn numbers<'s>(store: &'s Store, function: &Function, name: &str) -> Result<Vec<(&'s str, i64)>, String> {
    match store.attr(function.attrs, name) {
        None | Some(AttrValue::Null) => Ok(Vec::new()),
        Some(AttrValue::Map(entries)) => entries
            .iter()
            .map(|(name, value)| store.value_int(value).map(|value| (store.str(*name), value)))
            .collect::<Option<_>>()
            .ok_or_else(|| format!("{name} maps names to integers")),
        Some(_) => Err(format!("{name} maps names to integers")),
    }
}
