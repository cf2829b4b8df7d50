//! The trace of a run: a tree of steps over numbered versions of the module.

use super::spec::{PassError, PassInfo};
use crate::diag::Diagnostic;
use crate::ir::Module;
use std::fmt::Write;

/// Number of a module version in a [`Trace`]; 0 is the program as it was opened.
pub type Version = usize;

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It ran. It changed the module exactly when the step's versions differ.
    Ran,
    /// It did not run, for this reason.
    Skipped(String),
    /// It or one of its instruments failed; the version before it stands.
    Failed(Vec<Diagnostic>),
    /// An earlier step failed.
    NotReached,
}

crate::words! {
    /// The reason why a step is in the trace.
    pub enum Role {
        /// It stands in the list.
        Listed = "listed",
        /// A `Sequential` ran it because the pass after it requires it.
        Required = "required",
        /// The pass it is inside of ran it.
        Nested = "nested",
    }
}

crate::words! {
    /// The outcome of a step, without its reason.
    pub enum OutcomeWord {
        /// It ran, and the module is another one.
        Changed = "changed",
        /// It ran, and the module is as before.
        Unchanged = "unchanged",
        /// It did not run.
        Skipped = "skipped",
        /// It failed.
        Failed = "failed",
        /// An earlier step failed.
        NotReached = "not-reached",
    }
}

/// One pass that ran, or did not.
#[derive(Clone, Debug)]
pub struct Step {
    /// Stable over edits of the list: names with their occurrence, from the root: `FuseOps#1/InferType#1`.
    pub id: String,
    /// `PassInfo.name`.
    pub name: String,
    /// `PassInfo.opt_level`.
    pub opt_level: i64,
    /// The reason why it is in the trace.
    pub role: Role,
    /// The step it ran inside of.
    pub parent: Option<usize>,
    /// The number of steps around it.
    pub depth: usize,
    /// Row of the list it belongs to.
    pub row: usize,
    /// The outcome.
    pub outcome: Outcome,
    /// Version it got.
    pub before: Version,
    /// Version it made; the same where nothing changed.
    pub after: Version,
    /// Wall time in microseconds, nested steps included.
    pub micros: f64,
    /// Rewrites it recorded: a range of the store's log, nested steps included.
    pub rewrites: std::ops::Range<usize>,
    /// Its findings that are not errors: warnings, notes and help.
    pub reported: Vec<Diagnostic>,
}

impl Step {
    /// True if it ran and changed the module.
    pub fn changed(&self) -> bool {
        self.before != self.after
    }

    /// Returns the outcome in a word, and its reason.
    pub fn outcome_words(&self) -> (OutcomeWord, String) {
        match &self.outcome {
            Outcome::Ran if self.changed() => (OutcomeWord::Changed, String::new()),
            Outcome::Ran => (OutcomeWord::Unchanged, String::new()),
            Outcome::Skipped(reason) => (OutcomeWord::Skipped, reason.clone()),
            Outcome::Failed(found) => (OutcomeWord::Failed, found.first().map_or(String::new(), |d| d.message.clone())),
            Outcome::NotReached => (OutcomeWord::NotReached, String::new()),
        }
    }
}

/// A stage of a pass, which becomes a step inside of the pass's.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// The module after it, or its error.
    pub result: Result<Module, Diagnostic>,
    /// Rewrites it recorded: a range of the store's log.
    pub rewrites: std::ops::Range<usize>,
}

crate::words! {
    /// The kind of a line of the log.
    pub enum LogKind {
        /// A hook of an instrument was called: `PrintAfterAll.run_after_pass(FuseOps)`.
        Call = "call",
        /// An instrument does not want a pass to run.
        Refused = "refused",
        /// A hook or a pass failed.
        Failed = "failed",
        /// The output of an instrument or a pass.
        Printed = "printed",
    }
}

/// One entry of the log: an event around passes, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The step it belongs to; none for entering and leaving a context.
    pub step: Option<usize>,
    /// The kind of the line.
    pub kind: LogKind,
    /// The call, the reason or the text.
    pub text: String,
}

/// The place of a new step in the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The step it is inside of.
    pub parent: Option<usize>,
    /// Row of the list.
    pub row: usize,
}

/// A run: its steps in the order they began, and the versions they made.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Steps; a nested one stands behind its parent.
    pub steps: Vec<Step>,
    /// Versions of the module.
    pub versions: Vec<Module>,
    /// The calls, answers and output of instruments.
    pub log: Vec<LogEntry>,
    /// The version that the next step gets.
    current: Version,
}

impl Trace {
    /// Makes a trace of nothing yet.
    pub fn new(module: Module) -> Trace {
        Trace { versions: vec![module], ..Trace::default() }
    }

    /// Returns the version that the next step gets: the result, when the run is over.
    pub fn last(&self) -> &Module {
        &self.versions[self.current]
    }

    /// Ends a step. With a module, that is its result: it keeps the number of the step's first
    /// version when nothing changed. Without one the step failed and the version before it stands.
    pub(super) fn end(&mut self, step: usize, result: Option<&Module>) {
        let before = self.steps[step].before;
        let after = match result {
            None => before,
            Some(module) if self.versions[before] == *module => before,
            Some(module) if self.versions[self.current] == *module => self.current,
            Some(module) => {
                self.versions.push(module.clone());
                self.versions.len() - 1
            }
        };
        self.steps[step].after = after;
        self.current = after;
    }

    /// Adds the stages of a step that is under way as steps inside of it.
    pub(super) fn tell(&mut self, parent: usize, stages: Vec<Stage>) {
        for Stage { name, result, rewrites } in stages {
            let info = PassInfo { name, opt_level: 0, required: Vec::new(), traceable: false };
            let (module, row) = (self.last().clone(), self.steps[parent].row);
            let step = self.begin(&info, &module, Role::Nested, Place { parent: Some(parent), row }, rewrites.start);
            self.steps[step].rewrites.end = rewrites.end;
            self.end(step, result.as_ref().ok());
            if let Err(found) = result {
                self.steps[step].outcome = Outcome::Failed(vec![found]);
            }
        }
    }

    /// True if no step failed.
    pub fn is_complete(&self) -> bool {
        !self.steps.iter().any(|s| matches!(s.outcome, Outcome::Failed(_)))
    }

    /// Returns the findings of the step that failed. The steps it is nested in failed for the same reason, and may have
    /// more to say about it.
    pub fn failures(&self) -> Vec<Diagnostic> {
        let mut failed = self.steps.iter().filter_map(|s| match &s.outcome {
            Outcome::Failed(found) => Some(found),
            _ => None,
        });
        failed.next().cloned().unwrap_or_default()
    }

    /// Returns the findings of passes that are not errors, in order.
    pub fn reported(&self) -> impl Iterator<Item = Diagnostic> {
        let from = |step: &Step, found: &Diagnostic| found.clone().with_note(format!("reported by {}", step.name));
        self.steps.iter().flat_map(move |step| step.reported.iter().map(move |found| from(step, found)))
    }

    /// Begins a step over `module` and returns its index. `at` is the length of the rewrite log.
    pub(super) fn begin(&mut self, info: &PassInfo, module: &Module, role: Role, place: Place, at: usize) -> usize {
        let Place { parent, row } = place;
        let name = &info.name;
        let occurrence = 1 + self.steps.iter().filter(|s| s.parent == parent && s.name == *name).count();
        let mut id = parent.map_or(String::with_capacity(name.len() + 4), |parent| format!("{}/", self.steps[parent].id));
        id.push_str(name.trim());
        let _ = write!(id, "#{occurrence}");
        // The intermediate module that a pass gives to a nested one is a version of its own.
        if self.versions[self.current] != *module {
            self.versions.push(module.clone());
            self.current = self.versions.len() - 1;
        }
        self.steps.push(Step {
            id,
            name: name.clone(),
            opt_level: info.opt_level,
            role,
            parent,
            depth: parent.map_or(0, |p| self.steps[p].depth + 1),
            row,
            outcome: Outcome::Ran,
            before: self.current,
            after: self.current,
            micros: 0.0,
            rewrites: at..at,
            reported: Vec::new(),
        });
        self.steps.len() - 1
    }

    /// Adds to the log.
    pub(super) fn note(&mut self, step: Option<usize>, kind: LogKind, text: String) {
        self.log.push(LogEntry { step, kind, text });
    }

    /// Adds a text to the log that belongs to no step.
    pub fn print(&mut self, text: String) {
        self.note(None, LogKind::Printed, text);
    }

    /// Adds to the log that a hook or a pass failed.
    pub(super) fn note_failure(&mut self, step: Option<usize>, what: &str, found: &[Diagnostic]) {
        let why = found.first().map_or("", |d| d.message.as_str());
        self.note(step, LogKind::Failed, format!("{what} failed: {why}"));
    }

    /// Logs the output of the hook `call`, or its failure.
    pub(super) fn note_printed(
        &mut self,
        step: usize,
        call: &str,
        text: Result<Option<String>, PassError>,
    ) -> Result<(), PassError> {
        match text {
            Ok(None) => Ok(()),
            Ok(Some(text)) => {
                self.note(Some(step), LogKind::Printed, text);
                Ok(())
            }
            Err(found) => {
                self.note_failure(Some(step), call, &found);
                Err(found)
            }
        }
    }

    /// Returns the calls of hooks in the order they were made: `a.should_run(FuseOps)`.
    pub fn calls(&self) -> impl Iterator<Item = &str> {
        self.log.iter().filter(|entry| entry.kind == LogKind::Call).map(|entry| entry.text.as_str())
    }

    /// Forgets everything from the first step of `row` on.
    pub fn truncate_to_row(&mut self, row: usize) {
        let Some(first) = self.steps.iter().position(|s| s.row >= row) else { return };
        self.current = self.steps[first].before;
        self.steps.truncate(first);
        let newest = self.steps.iter().map(|s| s.before.max(s.after)).max().unwrap_or(0);
        self.versions.truncate(newest.max(self.current) + 1);
        self.log.retain(|entry| entry.step.is_none_or(|step| step < first));
    }

    /// Returns TVM's `PassTimingInstrument.render()`: a line a pass that ran, a tab a level, total and own time in
    /// microseconds, share of the whole run and of the parent.
    pub fn render_timing(&self) -> String {
        let ran: Vec<usize> = (0..self.steps.len()).filter(|&i| matches!(self.steps[i].outcome, Outcome::Ran)).collect();
        let whole: f64 = ran.iter().filter(|&&i| self.steps[i].parent.is_none()).map(|&i| self.steps[i].micros).sum();
        let share = |part: f64, of: f64| if of > 0.0 { 100.0 * part / of } else { 0.0 };
        let mut out = String::new();
        for i in ran.iter().copied() {
            let step = &self.steps[i];
            let children: f64 = ran.iter().filter(|&&c| self.steps[c].parent == Some(i)).map(|&c| self.steps[c].micros).sum();
            let parent = step.parent.map_or(whole, |p| self.steps[p].micros);
            let _ = writeln!(
                out,
                "{}{}: {:.0}us [{:.0}us] ({:.2}%; {:.2}%)",
                "\t".repeat(step.depth),
                step.name,
                step.micros,
                step.micros - children,
                share(step.micros, whole),
                share(step.micros, parent)
            );
        }
        out
    }
}
