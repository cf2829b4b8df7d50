//! The program that a session is about to run, and what is said of its text.

use super::{Session, open_with};
use crate::diag::Diagnostic;
use crate::ir::{Module, Store};
use crate::parse;
use crate::print::{self, PrintOptions};

/// A program that was read into a store of its own.
pub(super) struct Opening {
    pub(super) source: String,
    pub(super) reading: parse::Options,
    pub(super) store: Store,
    pub(super) module: Module,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Opening {
    pub(super) fn new(source: &str, reading: &parse::Options) -> Opening {
        let mut store = Store::new();
        let (module, diagnostics) = open_with(&mut store, source, reading).into_module(&mut store);
        Opening { source: source.to_owned(), reading: reading.clone(), store, module, diagnostics }
    }

    /// True if it can be run.
    pub(super) fn is_ok(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

impl Session {
    /// Returns the newest program as TVM prints it today, with its length in bytes as it stands, when it has older
    /// spellings or other things beside it.
    pub fn today(&self) -> Option<(usize, String)> {
        let (source, about, store, module) = match &self.opening {
            Some(opening) if opening.is_ok() => (&opening.source, &opening.diagnostics, &opening.store, &opening.module),
            Some(_) => return None,
            None => (&self.document.source, &self.about, &self.store, &self.trace.versions[0]),
        };
        let other = |d: &Diagnostic| d.code.starts_with("front-") || matches!(d.code, "tir-old" | "relax-old" | "relay-older");
        about.iter().any(other).then(|| (source.len(), print::module(store, module, &PrintOptions::default())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::document;
    use super::*;
    use crate::pass::PassContext;

    const OLD: &str =
        "@T.prim_func\ndef main(A: T.Buffer[(8,), \"float32\"]):\n    for i in T.serial(8):\n        A[i] = T.float32(1)\n";

    fn run(session: &mut Session, source: &str, calls: &str) {
        let document = document(source, calls, PassContext::default()).expect("a list of passes");
        session.run(&document, false);
    }

    #[test]
    fn notes_about_a_program_stay_when_only_the_list_changes() {
        let session = &mut Session::new(|| 0.0);
        run(session, OLD, "RemoveNoOp()");
        let notes = session.problems().to_vec();
        assert_eq!(notes.iter().map(|note| note.code).collect::<Vec<&str>>(), ["tir-old"]);
        run(session, OLD, "");
        assert_eq!(session.problems(), notes);
    }

    #[test]
    fn a_program_is_written_as_today_whatever_the_list_and_never_over_another_one() {
        let session = &mut Session::new(|| 0.0);
        let today = |session: &Session| session.today().map(|(len, text)| (len, text.contains("T.Buffer((8,)")));
        run(session, OLD, "SimplifyInference()");
        assert!(!session.is_ok(), "the pass is of Relay");
        assert_eq!(today(session), Some((OLD.len(), true)));
        run(session, OLD, "");
        assert_eq!(today(session), Some((OLD.len(), true)));
        run(session, "def @main(", "");
        assert_eq!(today(session), None);
        run(session, "def @main(%x: int32) { %x }", "");
        assert_eq!(today(session), None);
    }
}
