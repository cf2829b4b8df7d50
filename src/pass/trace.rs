//! What a run did: a tree of steps over numbered versions of the module.

use crate::diag::Diagnostic;
use crate::ir::Module;
use std::fmt::{self, Write};

/// Number of a module version in a [`Trace`]; 0 is the program as it was opened.
pub type Version = usize;

/// How a step ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It ran. It changed something exactly when the step's versions differ.
    Ran,
    /// It did not run, for this reason.
    Skipped(String),
    /// It or one of its instruments failed; the version before it stands.
    Failed(Vec<Diagnostic>),
    /// An earlier step failed.
    NotReached,
}

/// Why a step is in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It stands in the list.
    Listed,
    /// A `Sequential` ran it because the pass after it requires it.
    Required,
    /// The pass it is inside of ran it.
    Nested,
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
    /// Why it is here.
    pub role: Role,
    /// The step it ran inside of.
    pub parent: Option<usize>,
    /// How many steps it is inside of.
    pub depth: usize,
    /// Row of the list it belongs to.
    pub row: usize,
    /// How it ended.
    pub outcome: Outcome,
    /// Version it got.
    pub before: Version,
    /// Version it made; the same where nothing changed.
    pub after: Version,
    /// Wall time in microseconds, nested steps included.
    pub micros: f64,
    /// Rewrites it recorded: a range of the store's log, nested steps included.
    pub rewrites: std::ops::Range<usize>,
}

impl Step {
    /// Whether it ran and changed the module.
    pub fn changed(&self) -> bool {
        self.before != self.after
    }

    /// How it ended in a word (`changed`, `unchanged`, `skipped`, `failed`, `not-reached`), and why.
    pub fn outcome_words(&self) -> (&'static str, String) {
        match &self.outcome {
            Outcome::Ran if self.changed() => ("changed", String::new()),
            Outcome::Ran => ("unchanged", String::new()),
            Outcome::Skipped(reason) => ("skipped", reason.clone()),
            Outcome::Failed(found) => ("failed", found.first().map_or(String::new(), |d| d.message.clone())),
            Outcome::NotReached => ("not-reached", String::new()),
        }
    }
}

/// What an instrument printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The step it was printed for.
    pub step: usize,
    /// The text.
    pub text: String,
}

/// A hook of an instrument was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCall {
    /// The step it was called for; none for entering and leaving a context.
    pub step: Option<usize>,
    /// The instrument.
    pub instrument: String,
    /// TVM's name of the hook.
    pub hook: &'static str,
    /// The pass, or empty.
    pub pass: String,
}

impl fmt::Display for HookCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}({})", self.instrument, self.hook, self.pass)
    }
}

/// A run: its steps in the order they began, and the versions they made.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Steps; a nested one stands behind its parent.
    pub steps: Vec<Step>,
    /// Versions of the module.
    pub versions: Vec<Module>,
    /// What the instruments printed.
    pub log: Vec<LogEntry>,
    /// The hooks of instruments, as they were called.
    pub calls: Vec<HookCall>,
    /// The version that the next step gets.
    current: Version,
}

impl Trace {
    /// A trace of nothing yet.
    pub fn new(module: Module) -> Trace {
        Trace { versions: vec![module], ..Trace::default() }
    }

    /// The version that the next step gets: the result, when the run is over.
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

    /// Whether every step that was to run did.
    pub fn is_complete(&self) -> bool {
        !self.steps.iter().any(|s| matches!(s.outcome, Outcome::Failed(_)))
    }

    /// The findings of the steps that failed.
    pub fn failures(&self) -> Vec<Diagnostic> {
        let mut failed = self.steps.iter().filter_map(|s| match &s.outcome {
            Outcome::Failed(found) => Some(found),
            _ => None,
        });
        failed.next_back().cloned().unwrap_or_default()
    }

    /// Begins a step and returns its index. `at` is the length of the rewrite log.
    pub(super) fn begin(
        &mut self,
        name: &str,
        opt_level: i64,
        role: Role,
        parent: Option<usize>,
        row: usize,
        at: usize,
    ) -> usize {
        let occurrence = 1 + self.steps.iter().filter(|s| s.parent == parent && s.name == name).count();
        let prefix = parent.map(|p| format!("{}/", self.steps[p].id)).unwrap_or_default();
        let version = self.current;
        self.steps.push(Step {
            id: format!("{prefix}{}#{occurrence}", name.trim()),
            name: name.to_owned(),
            opt_level,
            role,
            parent,
            depth: parent.map_or(0, |p| self.steps[p].depth + 1),
            row,
            outcome: Outcome::Ran,
            before: version,
            after: version,
            micros: 0.0,
            rewrites: at..at,
        });
        self.steps.len() - 1
    }

    /// Forgets that contexts were entered and left: a run that continues this one does so again.
    pub fn leave_contexts(&mut self) {
        self.calls.retain(|call| call.step.is_some());
    }

    /// Records that a hook is called.
    pub(super) fn call(&mut self, step: Option<usize>, instrument: &str, hook: &'static str, pass: &str) {
        self.calls.push(HookCall { step, instrument: instrument.to_owned(), hook, pass: pass.to_owned() });
    }

    /// Forgets everything from the first step of `row` on.
    pub fn truncate_to_row(&mut self, row: usize) {
        let Some(first) = self.steps.iter().position(|s| s.row >= row) else { return };
        self.current = self.steps[first].before;
        self.steps.truncate(first);
        let newest = self.steps.iter().map(|s| s.before.max(s.after)).max().unwrap_or(0);
        self.versions.truncate(newest.max(self.current) + 1);
        self.log.retain(|entry| entry.step < first);
        self.calls.retain(|call| call.step.is_none_or(|step| step < first));
    }

    /// TVM's `PassTimingInstrument.render()`: a line a pass that ran, a tab a level, total and own time
    /// in microseconds, share of the whole run and of the parent.
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
