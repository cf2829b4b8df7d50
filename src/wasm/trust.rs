//! Checks by running, culprits and small programs, as the page gets them. All of it is asked of an engine of its own.

use super::request::{DocumentView, Fields};
use crate::check::step::{Difference, Verdict};
use crate::repro::Made;
use crate::session::Session;
use crate::trust::{Culprit, Property, Reducer, Trust, bisect};
use serde::Serialize;
use wasm_bindgen::JsValue;

/// Findings of the last run of a session so far.
#[derive(Default)]
pub(super) struct Found {
    trust: Trust,
    reducer: Option<Reducer>,
}

/// The check of a step (`Checked` of the protocol).
#[derive(Default, Serialize)]
pub(super) struct CheckedView {
    outcome: &'static str,
    text: String,
    inputs: Vec<(String, String)>,
    place: String,
    from: String,
    runs: usize,
}

#[derive(Serialize)]
struct CulpritView {
    id: String,
    name: String,
    row: usize,
    why: String,
    rewrite: Option<u32>,
    rule: String,
    rewrites: usize,
}

/// The place where a property was lost (`Blame` of the protocol).
#[derive(Default, Serialize)]
pub(super) struct BlameView {
    problem: String,
    culprit: Option<CulpritView>,
}

/// The progress of a reduction (`Reduced` of the protocol).
#[derive(Default, Serialize)]
pub(super) struct ReducedView {
    problem: String,
    done: bool,
    bindings: usize,
    tried: usize,
    culprit: Option<CulpritView>,
    document: Option<DocumentView>,
}

impl From<&Culprit> for CulpritView {
    fn from(culprit: &Culprit) -> CulpritView {
        let Culprit { id, name, row, why, rewrite, rule, rewrites, .. } = culprit.clone();
        CulpritView { id, name, row, why, rewrite, rule, rewrites }
    }
}

/// The answer to one of the three questions, by its type.
pub(super) enum Answer {
    Checked(CheckedView),
    Blame(BlameView),
    Reduced(ReducedView),
}

/// Answers a question about the last run.
pub(super) fn answered(session: &mut Session, found: &mut Found, request: JsValue) -> Result<Answer, JsValue> {
    let fields = Fields(request);
    Ok(match fields.text("type")?.as_str() {
        "check" => Answer::Checked(checked(session, found, fields.index("step")?)),
        "bisect" => Answer::Blame(blamed(session, found, &fields.text("property")?)),
        _ => Answer::Reduced(reduced(session, found, &fields.text("property")?, fields.index("tries")?)),
    })
}

fn checked(session: &mut Session, found: &mut Found, step: usize) -> CheckedView {
    let checked = found.trust.check(session, step);
    let Difference { inputs, spot, from, .. } = match &checked.report.verdict {
        Verdict::Different(found) => (**found).clone(),
        _ => Difference::default(),
    };
    let (outcome, text) = (checked.report.verdict.word(), checked.sentence());
    CheckedView { outcome, text, inputs, place: spot.place, from, runs: checked.report.runs }
}

fn blamed(session: &mut Session, found: &mut Found, property: &str) -> BlameView {
    match Property::parse(property) {
        Err(wrong) => BlameView { problem: wrong.message, culprit: None },
        Ok(property) => {
            let culprit = bisect(session, &mut found.trust, &property);
            BlameView { problem: String::new(), culprit: culprit.as_ref().map(CulpritView::from) }
        }
    }
}

/// Begins when a property is named, else goes on for so many candidates.
fn reduced(session: &mut Session, found: &mut Found, property: &str, tries: usize) -> ReducedView {
    if !property.is_empty() {
        found.reducer = match Property::parse(property) {
            Ok(property) => Reducer::new(session, &property),
            Err(wrong) => return ReducedView { problem: wrong.message, done: true, ..ReducedView::default() },
        };
    }
    let Some(reducer) = &mut found.reducer else {
        let problem = "No step loses this property; there is nothing to reduce.".to_owned();
        return ReducedView { problem, done: true, ..ReducedView::default() };
    };
    let done = !(0..tries).all(|_| reducer.advance());
    if done {
        reducer.settle();
    }
    let mut document = reducer.best.clone();
    document.made = Made::default();
    ReducedView {
        problem: String::new(),
        done,
        bindings: reducer.bindings(),
        tried: reducer.tried,
        culprit: Some((&reducer.culprit).into()),
        document: Some(document.into()),
    }
}
