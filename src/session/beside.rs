//! Another list of passes on the same program, beside the run that is shown: its versions share the store with those of the
//! run, so the two are compared node by node like two versions of one run.

use super::Session;
use crate::diag::Diagnostic;
use crate::ir::Module;
use crate::pass::manager::Runner;
use crate::pass::trace::{Trace, Version};
use crate::repro::Document;
use std::cell::OnceCell;

impl Session {
    /// Runs the list and context of a document on the program of the last run, as the children of a `Sequential`;
    /// without its instruments, and with the script's passes of the last run. The versions are numbered after those of
    /// the run and used like them, until another list or document is run. The error is that of the list or context.
    pub fn beside(&mut self, document: &Document) -> Result<Trace, Diagnostic> {
        self.set_beside(Vec::new());
        let program = self.trace.versions[0].clone();
        let rows = self.check(document, program.dialect()).map_err(first_of)?;
        let mut runner = Runner::new(self.registry(program.dialect()), self.clock, Trace::new(program));
        runner.enter(document.context.clone(), Vec::new()).map_err(first_of)?;
        runner.run_rows(&mut self.store, &rows, 0, false);
        runner.exit().map_err(first_of)?;
        let mut trace = runner.trace;
        self.set_beside(std::mem::take(&mut trace.versions));
        for step in &mut trace.steps {
            step.before += self.trace.versions.len();
            step.after += self.trace.versions.len();
        }
        Ok(trace)
    }

    pub(super) fn set_beside(&mut self, versions: Vec<Module>) {
        self.beside = versions;
        self.naming_beside = OnceCell::new();
    }

    /// Returns a version of the run, or of the list that was run beside it.
    pub(super) fn version(&self, version: Version) -> Option<&Module> {
        let beside = version.checked_sub(self.trace.versions.len());
        beside.map_or_else(|| self.trace.versions.get(version), |other| self.beside.get(other))
    }
}

fn first_of(found: Vec<Diagnostic>) -> Diagnostic {
    found.into_iter().next().unwrap_or_else(|| Diagnostic::error("context", "the context cannot be entered", None))
}

#[cfg(test)]
mod tests {
    use crate::pass::PassContext;
    use crate::session::{Session, document};

    const SOURCE: &str = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n  %0 = add(1f, 2f);\n  \
                          %1 = multiply(%x, %0);\n  nn.relu(%1)\n}\n";

    fn at(level: i64) -> PassContext {
        PassContext { opt_level: level, ..PassContext::default() }
    }

    #[test]
    fn another_list_is_compared_with_the_run_as_versions_of_one_program() {
        let mut session = Session::new(|| 0.0);
        assert!(session.run(&document(SOURCE, "FoldConstant, FuseOps", at(2)).expect("passes"), false));
        let (ours, count) = (session.trace().steps.clone(), session.trace().versions.len());
        let other = document(SOURCE, "FuseOps", at(2)).expect("passes");
        let beside = session.beside(&other).expect("it runs");
        let (mine, theirs) = (ours.last().expect("a step").after, beside.steps.last().expect("a step").after);
        assert!(beside.steps.iter().all(|step| step.before >= count), "numbered after the run's");
        // The lines that only one of the two has: there the constants were added before.
        let diff = session.diff(mine, theirs).expect("both are there");
        let added: Vec<&str> = diff.rows.iter().filter(|row| row.left.is_none()).map(|row| diff.right_text(row).trim()).collect();
        assert!(added.iter().any(|line| line.contains("add(1f")), "{added:?}");
        assert!(session.text(theirs, crate::print::Numbering::Exact).is_some_and(|text| text.contains("add(1f")));
        // The run is unchanged, and the same list gives the same program.
        assert_eq!(session.trace().versions.len(), count);
        let same = session.beside(&document(SOURCE, "FoldConstant, FuseOps", at(2)).expect("passes")).expect("it runs");
        let diff = session.diff(mine, same.steps.last().expect("a step").after).expect("both are there");
        assert_eq!((diff.added, diff.removed, diff.changed), (0, 0, 0));
    }

    #[test]
    fn what_is_wrong_with_the_other_list_is_said() {
        let mut session = Session::new(|| 0.0);
        assert!(session.run(&document(SOURCE, "FoldConstant", at(2)).expect("passes"), false));
        let unknown = document(SOURCE, "Nothing", at(2)).expect("a call");
        assert!(session.beside(&unknown).is_err());
        assert_eq!(session.diff(0, session.trace().versions.len()), None);
    }
}
