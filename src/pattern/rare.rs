//! Matches of the patterns that only programs of Relax and users' patterns have.

use super::matcher::{Matcher, fields, is_var};
use super::{Pat, Pattern};
use crate::infer::relax::types::{Fit, fit};
use crate::ir::equal::{EqualOptions, exprs};
use crate::ir::{AttrValue, Dim, Expr, ExprId, Extents, Store, Type, TypeId, VarId};
use crate::tir::arith::equal_extents;

impl Matcher<'_> {
    pub(super) fn visit_rare(&mut self, store: &mut Store, pat: Pat, expr: ExprId) -> bool {
        match self.patterns.get(pat) {
            Pattern::DataflowVar(name) => is_var(store, expr, name.as_deref()).is_some_and(|var| store.var_data(var).dataflow),
            Pattern::Global(name) => matches!(store.expr(expr), Expr::Global(global) if store.str(global).contains(name)),
            Pattern::Extern(name) => match store.expr(expr) {
                Expr::Extern(symbol) => name.as_ref().is_none_or(|name| name.is_empty() || name == store.str(symbol)),
                _ => false,
            },
            Pattern::Expr(other) => exprs(store, *other, expr, EqualOptions::RELAX).is_ok(),
            Pattern::Function { params, body } => {
                let Expr::Function(function) = store.expr(expr) else { return false };
                let function = *store.function(function);
                let own: Vec<VarId> = store.items(function.params).collect();
                let fits = params.as_ref().is_none_or(|params| {
                    params.len() == own.len()
                        && params.iter().zip(own).all(|(pat, param)| {
                            let used = store.use_var(param);
                            self.visit(store, *pat, used)
                        })
                });
                fits && self.visit(store, *body, function.body)
            }
            Pattern::UnorderedTuple(pats) => match fields(store, expr) {
                Some(fields) if fields.len() == pats.len() => self.unordered(store, pats, &fields),
                _ => false,
            },
            Pattern::Attrs(pat, wanted) => {
                let attrs = |store: &Store| match store.expr(expr) {
                    Expr::Function(function) => store.function(function).attrs,
                    _ => store.call(expr).and_then(|call| call.attrs),
                };
                self.visit(store, *pat, expr)
                    && wanted.iter().all(|(name, value)| {
                        let attrs = attrs(store);
                        same_value(store, store.attr(attrs, name), value)
                    })
            }
            Pattern::Type(pat, ty) => {
                self.visit(store, *pat, expr) && store.checked_type(expr).is_some_and(|found| self.type_fits(store, *ty, found))
            }
            Pattern::Shape(pat, dims) => match tensor_shape(store, expr) {
                Some(shape) => same_extents(store, dims, &shape) && self.visit(store, *pat, expr),
                None => false,
            },
            Pattern::DType(pat, dtype) => {
                let found = store.checked_type(expr).and_then(|ty| store.tensor_info(ty));
                found.is_some_and(|info| info.dtype == Some(*dtype)) && self.visit(store, *pat, expr)
            }
            Pattern::Extents(dims) => match store.expr(expr) {
                Expr::Shape(other) => {
                    let other = store.dims_of_id(other).to_vec();
                    same_extents(store, dims, &other)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Finds a field for each pattern, with backtracking when none is left for the others.
    fn unordered(&mut self, store: &mut Store, pats: &[Pat], fields: &[ExprId]) -> bool {
        let mark = self.matches.order.len();
        // For each pattern its field, and the begin of the matches found with it.
        let mut taken: Vec<(usize, usize)> = Vec::new();
        let mut next = 0;
        loop {
            let at = taken.len();
            let Some(pat) = pats.get(at) else { return true };
            let start = self.matches.order.len();
            let free = |index: &usize| taken.iter().all(|(other, _)| other != index);
            let candidates: Vec<usize> = (next..fields.len()).filter(free).collect();
            match candidates.into_iter().find(|index| self.visit(store, *pat, fields[*index])) {
                Some(index) => {
                    taken.push((index, start));
                    next = 0;
                }
                None => {
                    let Some((index, start)) = taken.pop() else {
                        self.matches.forget(mark);
                        return false;
                    };
                    self.matches.forget(start);
                    next = index + 1;
                }
            }
        }
    }

    /// True if a type fits, consistently with the symbols matched before.
    fn type_fits(&mut self, store: &mut Store, wanted: TypeId, found: TypeId) -> bool {
        match fit(store, wanted, found) {
            Fit::Always => true,
            Fit::Never | Fit::Unknown => false,
            Fit::Extents => {
                let (Some(wanted), Some(found)) = (extents(store, wanted), extents(store, found)) else { return true };
                wanted.into_iter().zip(found).all(|(wanted, found)| match wanted {
                    Dim::Symbol(symbol) => {
                        let known = *self.symbols.entry(symbol).or_insert(found);
                        known.known().is_none() || found.known().is_none() || known == found
                    }
                    _ => true,
                })
            }
        }
    }
}

/// True if an attribute has a value: numbers of any width, names of element types as texts.
fn same_value(store: &Store, found: Option<&AttrValue>, wanted: &AttrValue) -> bool {
    let Some(found) = found else { return false };
    match (found, wanted) {
        (AttrValue::Array(found), AttrValue::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| same_value(store, Some(found), wanted))
        }
        (AttrValue::DType(Some(found)), AttrValue::Str(wanted)) => found.to_string() == store.str(*wanted),
        _ => match (store.value_int(found), store.value_int(wanted)) {
            (Some(a), Some(b)) => a == b,
            _ => found == wanted || found.as_float().is_some() && found.as_float() == wanted.as_float(),
        },
    }
}

/// True if two shapes are equal for all values of their symbols.
pub(super) fn same_extents(store: &mut Store, a: &[Dim], b: &[Dim]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal_extents(store, *a, *b))
}

fn tensor_shape(store: &Store, expr: ExprId) -> Option<Vec<Dim>> {
    match store.tensor_info(store.checked_type(expr)?)?.extents {
        Extents::Known(dims) => Some(dims.to_vec()),
        _ => None,
    }
}

/// Returns the extents of a tensor or shape, if all are known.
pub(super) fn extents(store: &Store, ty: TypeId) -> Option<Vec<Dim>> {
    let extents = match store.type_of_id(ty) {
        Type::Shape(extents) => extents.clone(),
        _ => store.tensor_info(ty)?.extents,
    };
    match extents {
        Extents::Known(dims) => Some(dims.to_vec()),
        _ => None,
    }
}
