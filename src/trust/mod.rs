//! Can a run be trusted: its steps checked by running them, the culprit found, the program made small.
//!
//! - [`Trust`]: checks steps of a session, of a smaller program where the program takes too long.
//! - [`bisect`]: the step, and its rewrite, after which a property is lost.
//! - [`Reducer`]: the smallest program and list that still show it; `text` takes programs apart.
//! - `sweep`: every pass on a program; not in the page. `known`: what it finds in TVM, too.
//! - `shrink`: programs with smaller extents.

#[cfg(not(target_arch = "wasm32"))]
mod known;
mod property;
mod reduce;
mod shrink;
#[cfg(not(target_arch = "wasm32"))]
pub mod sweep;
mod text;

pub use property::{Culprit, Predicate, Property, bisect, first_step};
pub use reduce::Reducer;

use crate::check::step::{Budget, Checker, Report, Verdict};
use crate::ir::Module;
use crate::passes::{Keeps, keeps};
use crate::session::Session;

/// Checks steps of a session by running them.
#[derive(Default)]
pub struct Trust {
    checker: Checker,
    /// A session of the same list on a smaller program, once one was needed; none where there is no smaller one that runs.
    small: Option<Option<Box<Small>>>,
}

/// The same list, run on a smaller program.
struct Small {
    session: Session,
    checker: Checker,
    /// By what the extents were divided.
    by: i64,
}

/// The finding of the check of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The outcome.
    pub report: Report,
    /// By what the extents of the program were divided before the same list was run on it; 1 for the program itself.
    pub smaller_by: i64,
}

impl Checked {
    /// It in a sentence.
    pub fn sentence(&self) -> String {
        let mut text = self.report.verdict.sentence();
        if let Some(except) = &self.report.except {
            text += &format!("; infinities, NaN or extreme integers give something else ({except})");
        }
        if self.smaller_by > 1 {
            text += &format!("; on a smaller program, extents divided by {}", self.smaller_by);
        }
        text
    }
}

impl Trust {
    /// A check that may do this much.
    pub fn new(budget: Budget) -> Trust {
        Trust { checker: Checker::new(budget), small: None }
    }

    /// Checks a step of the last run. A step that would take too long is checked on a smaller program where there is one.
    pub fn check(&mut self, session: &mut Session, step: usize) -> Checked {
        let (before, after) = session.trace().steps.get(step).map_or((0, 0), |step| (step.before, step.after));
        self.check_versions(session, step, before, after)
    }

    /// Checks what a step did between two versions.
    fn check_versions(&mut self, session: &mut Session, step: usize, before: usize, after: usize) -> Checked {
        let Some((first, second)) = pair(session, before, after) else {
            return Checked { report: Report::default(), smaller_by: 1 };
        };
        // A program that once took too long does so again.
        let mut whole = Report { too_much: true, ..Report::default() };
        if !matches!(self.small, Some(Some(_))) {
            whole = self.check_modules(session, step, &first, &second);
        }
        if !whole.too_much {
            return Checked { report: whole, smaller_by: 1 };
        }
        let budget = self.checker.budget;
        let small = self.small.get_or_insert_with(|| {
            let (session, by) = shrink::smaller_session(session)?;
            Some(Box::new(Small { session, checker: Checker::new(budget), by }))
        });
        let Some(small) = small else { return Checked { report: whole, smaller_by: 1 } };
        let id = session.trace().steps.get(step).map(|step| step.id.clone());
        let same = small.session.trace().steps.iter().position(|step| Some(&step.id) == id.as_ref());
        let report = same.and_then(|step| {
            let keeps = kept(&small.session, step);
            let (before, after) = (small.session.trace().steps[step].before, small.session.trace().steps[step].after);
            let (first, second) = pair(&mut small.session, before, after)?;
            Some(small.checker.check(small.session.split().0, &first, &second, keeps))
        });
        match report.filter(|report| report.runs > 0 || report.verdict == Verdict::Equal) {
            Some(report) => Checked { report, smaller_by: small.by },
            None => Checked { report: self.check_modules(session, step, &first, &second), smaller_by: 1 },
        }
    }

    /// Checks what a step could make of a program.
    fn check_modules(&mut self, session: &mut Session, step: usize, before: &Module, after: &Module) -> Report {
        let keeps = kept(session, step);
        self.checker.check(session.split().0, before, after, keeps)
    }
}

/// The name of a pass without the numbers that it may have.
fn kept_name(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

fn pair(session: &mut Session, before: usize, after: usize) -> Option<(Module, Module)> {
    let versions = session.split().1;
    Some((versions.get(before)?.clone(), versions.get(after)?.clone()))
}

/// The promise of a step: where it runs others, what those keep.
fn kept(session: &Session, index: usize) -> Keeps {
    let steps = session.trace().steps.get(index..).unwrap_or_default();
    let depth = steps.first().map_or(0, |step| step.depth);
    let inside = steps.iter().enumerate().take_while(|(at, inner)| *at == 0 || inner.depth > depth);
    inside.map(|(_, step)| keeps(&step.name)).filter(|keeps| *keeps != Keeps::Values).last().unwrap_or(Keeps::Values)
}

#[cfg(test)]
mod tests;
