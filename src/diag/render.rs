//! Diagnostics as text with carets, in the manner of TVM's own.

use super::{Diagnostic, LineIndex};
use std::borrow::Cow;
use std::fmt::Write;

/// The number of characters shown of a line. Printed programs have lines of thousands.
const SHOWN: usize = 120;

/// The number of characters shown before the span in a line that is too long.
const BEFORE: usize = 40;

/// True if a character moves the cursor or changes the direction of writing, so that a terminal would show another
/// text. Newlines and tabs are harmless.
fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{e0000}'..='\u{e007f}')
}

/// Escapes an untrusted text for a terminal: control characters are written as escapes.
pub fn tame(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Renders findings about `text`, which came from `file`. Invisible and control characters are shown as escapes, in the
/// excerpt as one mark that keeps the columns.
pub fn render(diagnostics: &[Diagnostic], file: &str, text: &str) -> String {
    let index = LineIndex::new(text);
    let (mut out, file) = (String::new(), tame(file));
    for diagnostic in diagnostics {
        let _ = writeln!(out, "{}: {} [{}]", diagnostic.severity.word(), tame(&diagnostic.message), diagnostic.code);
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
            let _ = writeln!(out, "  = {}", tame(note));
        }
    }
    out
}

/// Returns the shown part of a line, and the carets under the columns from `start` to before `end`, or to the end of
/// the line.
fn excerpt(line: &str, start: usize, end: Option<usize>) -> (String, String) {
    let length = line.chars().count();
    let end = end.unwrap_or(length + 1);
    let from = if length <= SHOWN { 0 } else { (start - 1).saturating_sub(BEFORE).min(length - SHOWN) };
    let shown: String = line.chars().skip(from).take(SHOWN).map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect();
    let (before, after) = (if from > 0 { "..." } else { "" }, if from + SHOWN < length { "..." } else { "" });
    // The width of a tab depends on the terminal, so it is copied and the carets keep their place.
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

    /// A program turned the screen red and wrote its own "no error" over the line.
    #[test]
    fn what_would_steer_a_terminal_is_shown_and_keeps_its_column() {
        let text = "\u{1b}[2K\u{202e}%yy\r";
        let found = Diagnostic::error("c", "undefined \u{1b}]0;x\u{7}", Span::new(7, 10)).with_note("a\u{2066}b");
        assert_eq!(
            render(&[found], "a\u{9b}.relay", text),
            "error: undefined \\u{1b}]0;x\\u{7} [c]\n --> a\\u{9b}.relay:1:6\n  |\n1 | \u{fffd}[2K\u{fffd}%yy\n  |      ^^^\n  = a\\u{2066}b\n"
        );
        assert!(matches!(tame("plain\n\ttext é"), Cow::Borrowed(_)));
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
