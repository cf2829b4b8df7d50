//! Diagnostics as text with carets, in the manner of TVM's own.

use super::{Diagnostic, LineIndex};
use std::fmt::Write;

/// Characters of a line that are shown. Printed programs have lines of thousands.
const SHOWN: usize = 120;

/// Characters that are shown before the place in a line that is too long.
const BEFORE: usize = 40;

/// Renders findings about `text`, which came from `file`.
pub fn render(diagnostics: &[Diagnostic], file: &str, text: &str) -> String {
    let index = LineIndex::new(text);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let _ = writeln!(out, "{}: {} [{}]", diagnostic.severity.word(), diagnostic.message, diagnostic.code);
        if let Some(span) = diagnostic.span {
            let (line, column) = index.line_column(text, span.start);
            let (end_line, end_column) = index.line_column(text, span.end);
            let width = line.to_string().len();
            let _ = writeln!(out, "{:width$}--> {file}:{line}:{column}", "");
            let _ = writeln!(out, "{:width$} |", "");
            let (source, carets) = excerpt(index.line(text, line), column, (end_line == line).then_some(end_column));
            let _ = writeln!(out, "{line} | {source}");
            let _ = writeln!(out, "{:width$} | {carets}", "");
        }
        for note in &diagnostic.notes {
            let _ = writeln!(out, "  = {note}");
        }
    }
    out
}

/// What is shown of a line, and the carets under the columns from `start` to before `end`, or to the
/// end of the line.
fn excerpt(line: &str, start: usize, end: Option<usize>) -> (String, String) {
    let length = line.chars().count();
    let end = end.unwrap_or(length + 1);
    let from = if length <= SHOWN { 0 } else { (start - 1).saturating_sub(BEFORE).min(length - SHOWN) };
    let shown: String = line.chars().skip(from).take(SHOWN).collect();
    let (before, after) = (if from > 0 { "..." } else { "" }, if from + SHOWN < length { "..." } else { "" });
    // A tab is as wide as the terminal makes it: it is copied, so that the carets keep their place.
    let lead = shown.chars().take(start - 1 - from).map(|c| if c == '\t' { '\t' } else { ' ' });
    let carets = end.saturating_sub(start).clamp(1, (SHOWN + from + 2).saturating_sub(start).max(1));
    let marker: String = before.chars().map(|_| ' ').chain(lead).chain("^".repeat(carets).chars()).collect();
    (format!("{before}{shown}{after}"), marker)
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

    #[test]
    fn a_long_line_is_cut_around_the_place_and_tabs_keep_the_carets_in_theirs() {
        let text = format!("{}%yy{}", "a".repeat(1000), "b".repeat(1000));
        let shown = render(&[Diagnostic::error("c", "m", Span::new(1000, 1003))], "f", &text);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], " --> f:1:1001");
        assert_eq!(lines[3], format!("1 | ...{}%yy{}...", "a".repeat(40), "b".repeat(77)));
        assert_eq!(lines[4], format!("  | {}^^^", " ".repeat(43)));
        let shown = render(&[Diagnostic::error("c", "m", Span::new(1, 3))], "f", "\tab");
        assert!(shown.ends_with("1 | \tab\n  | \t^^\n"), "{shown:?}");
    }
}
