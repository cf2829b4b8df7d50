//! What can be wrong, and where.

mod context;
mod render;
mod span;

pub use context::DiagnosticContext;
pub use render::{render, tame};
pub use span::{LineIndex, Span};

/// How bad it is. The words are TVM's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The program is wrong.
    Error,
    /// The program may be wrong.
    Warning,
    /// Additional information.
    Note,
    /// How to put it right.
    Help,
}

impl Severity {
    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
            Severity::Help => "help",
        }
    }
}

/// How to put a text right, as edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// A command that says what the edits do.
    pub title: String,
    /// Places with what stands there afterwards, in order and apart from each other.
    pub edits: Vec<(Span, String)>,
}

/// One finding about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable word for tests and links to documentation, e.g. `relay-unbound-var`.
    pub code: &'static str,
    /// One short sentence.
    pub message: String,
    /// The place in the text, where there is one.
    pub span: Option<Span>,
    /// Further sentences: why, or what to do.
    pub notes: Vec<String>,
    /// Edits that put it right, where they are known.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: &'static str, message: impl Into<String>, span: impl Into<Option<Span>>) -> Diagnostic {
        Diagnostic { severity: Severity::Error, code, message: message.into(), span: span.into(), notes: Vec::new(), fix: None }
    }

    /// A warning at a place.
    pub fn warning(code: &'static str, message: impl Into<String>, span: impl Into<Option<Span>>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message, span) }
    }

    /// Something worth knowing about a place.
    pub fn note(code: &'static str, message: impl Into<String>, span: impl Into<Option<Span>>) -> Diagnostic {
        Diagnostic { severity: Severity::Note, ..Diagnostic::error(code, message, span) }
    }

    /// Advice about a place.
    pub fn help(code: &'static str, message: impl Into<String>, span: impl Into<Option<Span>>) -> Diagnostic {
        Diagnostic { severity: Severity::Help, ..Diagnostic::error(code, message, span) }
    }

    /// The same with one more sentence.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// The same with something that can be done at once.
    #[must_use]
    pub fn with_fix(mut self, title: impl Into<String>, edits: Vec<(Span, String)>) -> Diagnostic {
        self.fix = Some(Fix { title: title.into(), edits });
        self
    }

    /// Whether the program cannot be used because of it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
