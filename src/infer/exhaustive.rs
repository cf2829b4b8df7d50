//! Finds values that no arm of a match accepts. After TVM's `match_exhaustion.cc`.

use crate::ir::{CtorId, Module, Pattern, PatternId, Store};

/// The limit of candidates. Expanding wildcards multiplies, so a match over many nested
/// constructors could take for ever; TVM has no limit.
const LIMIT: usize = 100_000;

/// A set of values: all, or those with this outermost form.
#[derive(Clone)]
enum Case {
    Any,
    Ctor(CtorId, Vec<Case>),
    Tuple(Vec<Case>),
}

enum Fit {
    Match,
    Clash,
    /// The case has to be split before the result is known.
    Unspecified,
}

/// Returns the values that none of the patterns accepts, as patterns. They must be well typed.
pub(crate) fn unmatched_cases(store: &Store, module: &Module, patterns: &[PatternId]) -> Vec<String> {
    let mut unmatched = Vec::new();
    let mut stack = vec![Case::Any];
    let mut looked_at = 0;
    'cases: while let Some(case) = stack.pop() {
        looked_at += 1;
        if looked_at > LIMIT {
            break;
        }
        for &pattern in patterns {
            match fit(store, pattern, &case) {
                Fit::Clash => {}
                Fit::Match => continue 'cases,
                Fit::Unspecified => {
                    stack.extend(split(store, module, pattern, &case));
                    continue 'cases;
                }
            }
        }
        let mut text = String::new();
        show(store, &case, &mut text);
        unmatched.push(text);
    }
    unmatched
}

fn fit(store: &Store, pattern: PatternId, case: &Case) -> Fit {
    let (fields, parts) = match (*store.pattern(pattern), case) {
        (Pattern::Wildcard | Pattern::Var(_), _) => return Fit::Match,
        (Pattern::Ctor { ctor, .. }, Case::Ctor(other, _)) if ctor != *other => return Fit::Clash,
        (Pattern::Ctor { fields, .. }, Case::Ctor(_, parts)) => (fields, parts),
        (Pattern::Tuple(fields), Case::Tuple(parts)) => (fields, parts),
        (Pattern::Ctor { .. } | Pattern::Tuple(_), _) => return Fit::Unspecified,
    };
    let mut result = Fit::Match;
    for (field, part) in store.items(fields).zip(parts) {
        match fit(store, field, part) {
            Fit::Clash => return Fit::Clash,
            Fit::Unspecified => result = Fit::Unspecified,
            Fit::Match => {}
        }
    }
    result
}

/// Splits the case into several narrower ones, so that the pattern can be compared with them.
fn split(store: &Store, module: &Module, pattern: PatternId, case: &Case) -> Vec<Case> {
    match (*store.pattern(pattern), case) {
        (Pattern::Ctor { ctor, .. }, Case::Any) => {
            let Some(adt) = module.adt(store.ctor(ctor).adt) else {
                return Vec::new();
            };
            let ctors = store.adt(adt).ctors.iter();
            ctors.map(|ctor| Case::Ctor(*ctor, vec![Case::Any; store.ctor(*ctor).inputs.len()])).collect()
        }
        (Pattern::Tuple(fields), Case::Any) => vec![Case::Tuple(vec![Case::Any; fields.len()])],
        (Pattern::Ctor { fields, .. }, Case::Ctor(ctor, parts)) => {
            let parts = store.items(fields).zip(parts).map(|(field, part)| split(store, module, field, part)).collect();
            product(parts).into_iter().map(|parts| Case::Ctor(*ctor, parts)).collect()
        }
        (Pattern::Tuple(fields), Case::Tuple(parts)) => {
            let parts = store.items(fields).zip(parts).map(|(field, part)| split(store, module, field, part)).collect();
            product(parts).into_iter().map(Case::Tuple).collect()
        }
        _ => vec![case.clone()],
    }
}

/// Returns all combinations of one element of each list; the first list varies fastest, as in TVM.
fn product(lists: Vec<Vec<Case>>) -> Vec<Vec<Case>> {
    let mut result: Vec<Vec<Case>> = vec![Vec::new()];
    for list in lists {
        let mut longer = Vec::new();
        for last in &list {
            for first in &result {
                if longer.len() > LIMIT {
                    return longer;
                }
                let mut parts = first.clone();
                parts.push(last.clone());
                longer.push(parts);
            }
        }
        result = longer;
    }
    result
}

fn show(store: &Store, case: &Case, out: &mut String) {
    let parts = match case {
        Case::Any => return out.push('_'),
        Case::Ctor(ctor, parts) => {
            out.push_str(store.str(store.ctor(*ctor).name));
            if parts.is_empty() {
                return;
            }
            parts
        }
        Case::Tuple(parts) => parts,
    };
    out.push('(');
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        show(store, part, out);
    }
    out.push(')');
}
