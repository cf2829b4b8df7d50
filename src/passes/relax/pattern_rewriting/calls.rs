//! Rewriting of values that look like one pattern.

use super::tuples::Search;
use super::{BindingRewriter, Replacements};
use crate::ir::{Binding, ExprId, Store};
use crate::pattern::{Bound, Matcher, Matches, Pat, Pattern, Patterns};

/// Returns the new value for a match of the alternative of that number; the same expression, or `None`, leaves the match.
pub(super) type Make<'f> = dyn FnMut(&mut Store, usize, ExprId, &Matches) -> Option<ExprId> + 'f;

/// Replaces matches of a pattern by the result of a function; the same expression, or `None`, leaves the match.
pub struct CallRewriter<'f> {
    rule: &'static str,
    patterns: &'f Patterns,
    /// Alternatives, each with the patterns that it is part of.
    alternatives: Vec<(Pat, Vec<Pat>)>,
    make: Box<Make<'f>>,
}

impl<'f> CallRewriter<'f> {
    /// Makes a rewriter for a pattern (`rewrite_call`). Alternatives at its top are tried one after the other.
    pub fn new(
        rule: &'static str,
        patterns: &'f Patterns,
        pattern: Pat,
        mut make: impl FnMut(&mut Store, ExprId, &Matches) -> Option<ExprId> + 'f,
    ) -> CallRewriter<'f> {
        CallRewriter::numbered(rule, patterns, pattern, move |store: &mut Store, _: usize, expr: ExprId, found: &Matches| {
            make(store, expr, found)
        })
    }

    /// Does the same for a function that is told which alternative was found.
    pub fn numbered(
        rule: &'static str,
        patterns: &'f Patterns,
        pattern: Pat,
        make: impl FnMut(&mut Store, usize, ExprId, &Matches) -> Option<ExprId> + 'f,
    ) -> CallRewriter<'f> {
        let mut alternatives = Vec::new();
        let mut stack = vec![(pattern, Vec::new())];
        while let Some((pat, around)) = stack.pop() {
            match patterns.get(pat) {
                Pattern::Or(a, b) => {
                    let around: Vec<Pat> = around.into_iter().chain([pat]).collect();
                    stack.push((*b, around.clone()));
                    stack.push((*a, around));
                }
                _ => alternatives.push((pat, around)),
            }
        }
        CallRewriter { rule, patterns, alternatives, make: Box::new(make) }
    }
}

impl BindingRewriter for CallRewriter<'_> {
    fn rewrite(&mut self, store: &mut Store, bindings: &[Binding]) -> Replacements {
        let mut found: Replacements = Vec::new();
        let mut remaining: Vec<Binding> = bindings.to_vec();
        for (number, (pat, around)) in self.alternatives.iter().enumerate() {
            let mut bound = Bound::default();
            bound.reserve(remaining.len());
            for binding in &remaining {
                let value = binding.value;
                let matches = Matcher::new(self.patterns, &bound).matches(store, *pat, value);
                let new = matches.map_or(value, |mut matches| {
                    around.iter().for_each(|pat| matches.set(*pat, value));
                    let make = &mut *self.make;
                    store.rewrite(self.rule, value, value, |store| make(store, number, value, &matches).unwrap_or(value))
                });
                if new == value {
                    bound.insert(binding.var, value);
                } else {
                    found.push((binding.var, new));
                }
            }
            remaining.retain(|binding| found.iter().all(|(var, _)| *var != binding.var));
            // Values of which the program makes no tuple are found after those of which it does.
            if let Pattern::Tuple(fields) = self.patterns.get(*pat) {
                let search = Search { rule: self.rule, patterns: self.patterns, fields, number, make: &mut *self.make };
                found.extend(search.run(store, &remaining));
                remaining.retain(|binding| found.iter().all(|(var, _)| *var != binding.var));
            }
        }
        found
    }
}
