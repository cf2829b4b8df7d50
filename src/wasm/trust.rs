//! Checks by running, culprits and small programs, as the page gets them. All of it is asked of an engine of its own.

use crate::boundary::Word;
use crate::boundary::checks::{self as says, Blame, Checked, Reduced};
use crate::check::step::{Difference, Verdict};
use crate::repro::Made;
use crate::session::Session;
use crate::trust::{Culprit, Property, Reducer, Trust, bisect};

/// Findings of the last run of a session so far.
#[derive(Default)]
pub(super) struct Found {
    trust: Trust,
    reducer: Option<Reducer>,
}

impl From<&Culprit> for says::Culprit {
    fn from(culprit: &Culprit) -> says::Culprit {
        let Culprit { id, name, row, why, rewrite, rule, rewrites, .. } = culprit.clone();
        says::Culprit { id, name, row, why, rewrite, rule, rewrites }
    }
}

/// Checks a step of the last run.
pub(super) fn checked(session: &mut Session, found: &mut Found, step: usize) -> Checked {
    let checked = found.trust.check(session, step);
    let Difference { inputs, spot, from, .. } = match &checked.report.verdict {
        Verdict::Different(found) => (**found).clone(),
        _ => Difference::default(),
    };
    let (outcome, text) = (checked.report.verdict.word(), checked.sentence());
    Checked { outcome: Word(outcome), text, inputs, place: spot.place, from, runs: checked.report.runs }
}

/// Finds the step after which a property is lost.
pub(super) fn blamed(session: &mut Session, found: &mut Found, property: &str) -> Blame {
    match Property::parse(property) {
        Err(wrong) => Blame { problem: wrong.message, culprit: None },
        Ok(property) => {
            let culprit = bisect(session, &mut found.trust, &property);
            Blame { problem: String::new(), culprit: culprit.as_ref().map(says::Culprit::from) }
        }
    }
}

/// Begins when a property is named, else goes on for so many candidates.
pub(super) fn reduced(session: &mut Session, found: &mut Found, property: &str, tries: usize) -> Reduced {
    if !property.is_empty() {
        found.reducer = match Property::parse(property) {
            Ok(property) => Reducer::new(session, &property),
            Err(wrong) => return over(wrong.message),
        };
    }
    let Some(reducer) = &mut found.reducer else {
        let problem = "No step loses this property; there is nothing to reduce.".to_owned();
        return over(problem);
    };
    let done = !(0..tries).all(|_| reducer.advance());
    if done {
        reducer.settle();
    }
    let mut document = reducer.best.clone();
    document.made = Made::default();
    Reduced {
        problem: String::new(),
        done,
        bindings: reducer.bindings(),
        tried: reducer.tried,
        culprit: Some((&reducer.culprit).into()),
        document: Some(document.into()),
    }
}

fn over(problem: String) -> Reduced {
    Reduced { problem, done: true, bindings: 0, tried: 0, culprit: None, document: None }
}
