//! Diagnostics: errors, warnings and hints with their spans.

mod context;
mod render;
mod span;

pub use context::DiagnosticContext;
pub use render::{render, tame};
pub use span::{LineIndex, Span};

crate::words! {
    /// The severity of a finding. The words are TVM's.
    pub enum Severity {
        /// The program is wrong.
        Error = "error",
        /// The program may be wrong.
        Warning = "warning",
        /// Additional information.
        Note = "note",
        /// Advice for a repair.
        Help = "help",
    }
}

/// A repair of a text, as edits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fix {
    /// An imperative that describes the edits.
    pub title: String,
    /// Spans with their new texts, in order and disjoint.
    pub edits: Vec<(Span, String)>,
    /// Names whose values only the author knows, with likely ones. The edits have them as `name=value`.
    pub asks: Vec<(String, String)>,
}

/// One finding about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its severity.
    pub severity: Severity,
    /// A stable code for tests and links to documentation, e.g. `relay-unbound-var`.
    pub code: &'static str,
    /// One short sentence.
    pub message: String,
    /// The span in the text, where there is one.
    pub span: Option<Span>,
    /// Further sentences: the reason, or advice.
    pub notes: Vec<String>,
    /// Repairs of which each alone is enough, where they are known.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// Makes an error at a span.
    pub fn error(code: &'static str, message: impl Into<String>, span: impl Into<Option<Span>>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code,
            message: message.into(),
            span: span.into(),
            notes: Vec::new(),
            fixes: Vec::new(),
        }
    }

    /// Makes a warning at a span.
    pub fn warning(code: &'static str, message: impl Into<String>, span: impl Into<Option<Span>>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message, span) }
    }

    /// Makes a note at a span.
    pub fn note(code: &'static str, message: impl Into<String>, span: impl Into<Option<Span>>) -> Diagnostic {
        Diagnostic { severity: Severity::Note, ..Diagnostic::error(code, message, span) }
    }

    /// Makes advice at a span.
    pub fn help(code: &'static str, message: impl Into<String>, span: impl Into<Option<Span>>) -> Diagnostic {
        Diagnostic { severity: Severity::Help, ..Diagnostic::error(code, message, span) }
    }

    /// Adds one more sentence.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Adds a repair that can be applied at once.
    #[must_use]
    pub fn with_fix(mut self, title: impl Into<String>, edits: Vec<(Span, String)>) -> Diagnostic {
        self.fixes.push(Fix { title: title.into(), edits, asks: Vec::new() });
        self
    }

    /// Adds a repair that writes down values of names: a line `define: name=value` for each, as the options of a text
    /// are written.
    #[must_use]
    pub fn asking(mut self, asks: Vec<(String, String)>, comment: &str) -> Diagnostic {
        let lines = asks.iter().map(|(name, value)| format!("{comment} define: {name}={value}\n")).collect();
        let title = if asks.len() == 1 { "Give it a value" } else { "Give them values" };
        self.fixes.push(Fix { title: title.to_owned(), edits: vec![(Span { start: 0, end: 0 }, lines)], asks });
        self
    }

    /// True if the finding makes the program unusable.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
