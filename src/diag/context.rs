//! The context in which a running pass reports its findings.

use super::Diagnostic;

/// Collects the reports of one pass (TVM's `DiagnosticContext`). A pass may continue after it has
/// reported an error, to report more; it has failed all the same.
#[derive(Debug, Default)]
pub struct DiagnosticContext {
    found: Vec<Diagnostic>,
}

impl DiagnosticContext {
    /// Reports a finding of any severity.
    pub fn emit(&mut self, found: Diagnostic) {
        self.found.push(found);
    }

    /// Reports several findings.
    pub fn extend(&mut self, found: impl IntoIterator<Item = Diagnostic>) {
        self.found.extend(found);
    }

    /// Ends the context and returns the errors, for which the pass fails (TVM raises `DiagnosticError`),
    /// and all other findings, which never make a pass fail.
    pub fn render(self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        self.found.into_iter().partition(Diagnostic::is_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_make_a_pass_fail() {
        let mut context = DiagnosticContext::default();
        context.emit(Diagnostic::warning("w", "odd", None));
        context.emit(Diagnostic::error("e", "wrong", None));
        context.extend([Diagnostic::note("n", "by the way", None), Diagnostic::help("h", "do this", None)]);
        let (errors, rest) = context.render();
        assert_eq!(errors.iter().map(|d| d.code).collect::<Vec<_>>(), ["e"]);
        assert_eq!(rest.iter().map(|d| d.severity.word()).collect::<Vec<_>>(), ["warning", "note", "help"]);
    }
}
