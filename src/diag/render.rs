//! Diagnostics as text with carets, in the manner of TVM's own.

use super::{Diagnostic, LineIndex};
use std::fmt::Write;

/// Renders findings about `text`, which came from `file`.
pub fn render(diagnostics: &[Diagnostic], file: &str, text: &str) -> String {
    let index = LineIndex::new(text);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let _ = writeln!(out, "{}: {} [{}]", diagnostic.severity.word(), diagnostic.message, diagnostic.code);
        if let Some(span) = diagnostic.span {
            let (line, column) = index.line_column(text, span.start);
            let (end_line, end_column) = index.line_column(text, span.end);
            let source = index.line(text, line);
            let width = line.to_string().len();
            let last = if end_line == line { end_column } else { source.chars().count() + 1 };
            let _ = writeln!(out, "{:width$}--> {file}:{line}:{column}", "");
            let _ = writeln!(out, "{:width$} |", "");
            let _ = writeln!(out, "{line} | {source}");
            let carets = "^".repeat(last.saturating_sub(column).max(1));
            let _ = writeln!(out, "{:width$} | {:pad$}{carets}", "", "", pad = column - 1);
        }
        for note in &diagnostic.notes {
            let _ = writeln!(out, "  = {note}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Span;

    #[test]
    fn carets_stand_under_the_place() {
        let text = "let %x = 1;\n%yy";
        let found = Diagnostic::error("relay-unbound-var", "undefined variable %yy", Span::new(12, 15));
        assert_eq!(
            render(&[found], "a.relay", text),
            "error: undefined variable %yy [relay-unbound-var]\n --> a.relay:2:1\n  |\n2 | %yy\n  | ^^^\n"
        );
    }
}
