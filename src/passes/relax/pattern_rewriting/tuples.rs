//! Patterns of tuples that the program does not build (TVM's `TupleRewriter`): the fields are values of several bindings,
//! and all are replaced together.

use super::calls::Make;
use super::{Replacements, same};
use crate::ir::{Binding, Expr, ExprId, Store, VarId};
use crate::passes::relax::calls::tuple;
use crate::passes::relax::grouping::used_vars;
use crate::pattern::{Bound, Matcher, Matches, Pat, Patterns};
use rustc_hash::{FxHashMap, FxHashSet};

/// The greatest number of fields, as in TVM: each further one multiplies the number of attempts by that of the bindings.
const MAX_FIELDS: usize = 3;

/// The bindings that may be fields of one tuple, and what is asked for a new value of it.
pub(super) struct Search<'s, 'f> {
    pub(super) rule: &'static str,
    pub(super) patterns: &'s Patterns,
    /// The patterns of the fields.
    pub(super) fields: &'s [Pat],
    /// The number of the alternative, which is told to the function.
    pub(super) number: usize,
    pub(super) make: &'s mut Make<'f>,
}

/// A binding that was visited.
struct Candidate {
    binding: Binding,
    /// The match of each field's pattern.
    matches: Vec<Option<Matches>>,
    /// The variables of later bindings that use this one.
    users: FxHashSet<VarId>,
    taken: bool,
}

impl Search<'_, '_> {
    /// Returns new values for the variables of tuples that were found. A tuple ends with the current binding.
    pub(super) fn run(mut self, store: &mut Store, bindings: &[Binding]) -> Replacements {
        let mut found = Replacements::new();
        if self.fields.is_empty() || self.fields.len() > MAX_FIELDS {
            return found;
        }
        let mut bound = Bound::default();
        let mut places: FxHashMap<VarId, usize> = FxHashMap::default();
        let mut candidates: Vec<Candidate> = Vec::with_capacity(bindings.len());
        for binding in bindings.iter().copied() {
            let mut matched = |pat: &Pat| Matcher::new(self.patterns, &bound).matches(store, *pat, binding.value);
            let matches = self.fields.iter().map(&mut matched).collect();
            places.insert(binding.var, candidates.len());
            candidates.push(Candidate { binding, matches, users: FxHashSet::default(), taken: false });
            if let Some((chosen, values)) = self.with_last(store, &candidates) {
                for (at, value) in chosen.into_iter().zip(values) {
                    candidates[at].taken = true;
                    bound.remove(&candidates[at].binding.var);
                    found.push((candidates[at].binding.var, value));
                }
            } else {
                bound.insert(binding.var, binding.value);
            }
            for used in used_vars(store, binding.value) {
                if let Some(at) = places.get(&used) {
                    candidates[*at].users.insert(binding.var);
                }
            }
        }
        found
    }

    /// Tries the last candidate in each place, the last place first.
    fn with_last(&mut self, store: &mut Store, candidates: &[Candidate]) -> Option<(Vec<usize>, Vec<ExprId>)> {
        let last = candidates.len() - 1;
        for place in (0..self.fields.len()).rev() {
            if candidates[last].matches[place].is_some() {
                let mut chosen = vec![last; self.fields.len()];
                if let Some(values) = self.fill(store, candidates, &mut chosen, place, self.fields.len()) {
                    return Some((chosen, values));
                }
            }
        }
        None
    }

    /// Tries all earlier candidates in the places below `open` other than `fixed`: the first place changes fastest.
    fn fill(
        &mut self,
        store: &mut Store,
        candidates: &[Candidate],
        chosen: &mut Vec<usize>,
        fixed: usize,
        open: usize,
    ) -> Option<Vec<ExprId>> {
        let Some(place) = open.checked_sub(1) else { return self.attempt(store, candidates, chosen) };
        if place == fixed {
            return self.fill(store, candidates, chosen, fixed, place);
        }
        for at in (0..candidates.len() - 1).rev() {
            let fits = !candidates[at].taken && candidates[at].matches[place].is_some();
            if fits && !chosen[open..].contains(&at) {
                chosen[place] = at;
                if let Some(values) = self.fill(store, candidates, chosen, fixed, place) {
                    return Some(values);
                }
            }
        }
        None
    }

    /// Asks for new values of these candidates, if their matches agree and nothing else uses them so far.
    fn attempt(&mut self, store: &mut Store, candidates: &[Candidate], chosen: &[usize]) -> Option<Vec<ExprId>> {
        let mut merged = Matches::default();
        for (place, at) in chosen.iter().enumerate() {
            for (pat, expr) in candidates[*at].matches[place].as_ref()?.iter() {
                match merged.get(pat) {
                    Some(other) if !same(store, other, expr) => return None,
                    Some(_) => {}
                    None => merged.set(pat, expr),
                }
            }
        }
        let is_matched =
            |var: &VarId| merged.iter().any(|(_, expr)| matches!(store.expr(expr), Expr::Var(other) if other == *var));
        if chosen.iter().any(|at| !candidates[*at].users.iter().all(is_matched)) {
            return None;
        }
        let value = candidates.last()?.binding.value;
        let fields: Vec<ExprId> = chosen.iter().map(|at| candidates[*at].binding.value).collect();
        let tuple = tuple(store, &fields);
        let (make, number) = (&mut *self.make, self.number);
        let new = store.rewrite(self.rule, value, value, |store| {
            make(store, number, tuple, &merged).filter(|new| *new != tuple).unwrap_or(value)
        });
        if new == value {
            return None;
        }
        Some(match store.expr(new) {
            Expr::Tuple(fields) if fields.len() == chosen.len() => store.items(fields).collect(),
            _ => (0..chosen.len() as u32).map(|index| store.add(Expr::TupleGetItem { tuple: new, index })).collect(),
        })
    }
}
