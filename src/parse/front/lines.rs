//! Lines of Python as Python joins them: a statement with its brackets and strings is one, however many lines of the text it
//! has. Nothing here fails: what is no Python is cut somehow.

use std::ops::Range;

/// A statement, or the head of one: lines that are neither blank nor comments.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// From its first character that is no blank to its end.
    pub(super) range: Range<usize>,
    /// The end of its code: a comment may stand behind it.
    pub(super) code: usize,
    /// The begin of the first line of the text that it has.
    pub(super) begin: usize,
    /// Its column.
    pub(super) indent: usize,
}

/// The parts that were found in a text.
#[derive(Default)]
pub(super) struct Lines {
    /// All lines, in order.
    pub(super) lines: Vec<Line>,
    /// Strings of several lines: what stands between the quotes.
    pub(super) strings: Vec<Range<usize>>,
    /// Comments that begin in the first column.
    pub(super) comments: Vec<Range<usize>>,
}

/// Cuts a text.
pub(super) fn cut(text: &str) -> Lines {
    let bytes = text.as_bytes();
    let mut found = Lines::default();
    let mut at = 0;
    while at < bytes.len() {
        let begin = at;
        let mut indent = 0;
        while let Some(blank) = bytes.get(at).filter(|b| matches!(b, b' ' | b'\t')) {
            indent = if *blank == b'\t' { (indent / 8 + 1) * 8 } else { indent + 1 };
            at += 1;
        }
        match bytes.get(at) {
            None | Some(b'\n') => at += 1,
            Some(b'\r') => at += 1,
            Some(b'#') => {
                let end = end_of_line(bytes, at);
                if indent == 0 {
                    found.comments.push(at..end);
                }
                at = end + 1;
            }
            Some(_) => {
                let mut begin = begin;
                loop {
                    let start = at;
                    let comment;
                    (at, comment) = statement(text, at, indent, &mut found.strings);
                    let end = text[start..at].trim_end().len() + start;
                    let code = text[start..comment].trim_end().len() + start;
                    if start < end {
                        found.lines.push(Line { range: start..end, code, begin, indent });
                    }
                    // Another one may follow in the same line.
                    let Some(rest) = text[at..].strip_prefix(';') else { break };
                    let rest = rest.trim_start_matches([' ', '\t']);
                    if rest.is_empty() || rest.starts_with(['\n', '\r', '#']) {
                        at = end_of_line(bytes, at);
                        break;
                    }
                    at = text.len() - rest.len();
                    begin = at;
                }
            }
        }
    }
    found
}

fn end_of_line(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |len| at + len)
}

/// The end of the statement that begins at a place, which is a semicolon or where its last line ends, and the begin of the
/// comment there.
fn statement(text: &str, start: usize, indent: usize, strings: &mut Vec<Range<usize>>) -> (usize, usize) {
    let bytes = text.as_bytes();
    let mut at = start;
    let mut depth = 0_usize;
    let mut comment = None;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'#' => {
                comment = Some(at);
                at = end_of_line(bytes, at);
                continue;
            }
            b'\\' => {
                at += 1;
                if bytes.get(at) == Some(&b'\r') {
                    at += 1;
                }
            }
            b'"' | b'\'' => {
                at = string(text, at, strings);
                continue;
            }
            b'\n' | b';' if depth == 0 => return (at, comment.unwrap_or(at)),
            // Behind a bracket that was left open, a line that can only begin a statement begins one.
            b'\n' if begins_statement(&text[at + 1..], indent) => return (at, comment.unwrap_or(at)),
            // The comment stood within the statement.
            b'\n' => comment = None,
            _ => {}
        }
        at += 1;
    }
    (bytes.len(), comment.unwrap_or(bytes.len()))
}

fn begins_statement(rest: &str, indent: usize) -> bool {
    let line = rest.trim_start_matches([' ', '\t']);
    let words = ["@", "def ", "class ", "import ", "from ", "return ", "with "];
    rest.len() - line.len() <= indent && words.iter().any(|word| line.starts_with(word))
}

/// The place behind a string. A quote that nothing closes in its line is no string.
fn string(text: &str, at: usize, strings: &mut Vec<Range<usize>>) -> usize {
    let bytes = text.as_bytes();
    let quote = bytes[at];
    if bytes.get(at + 1) == Some(&quote) && bytes.get(at + 2) == Some(&quote) {
        let mark = &text[at..at + 3];
        let mut end = at + 3;
        while let Some(next) = text[end..].find(mark) {
            let escaped = bytes[end..end + next].iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1;
            end += next;
            if !escaped {
                strings.push(at + 3..end);
                return end + 3;
            }
            end += 1;
        }
        return at + 3;
    }
    let mut end = at + 1;
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 1,
            b'\n' => break,
            byte if byte == quote => return end + 1,
            _ => {}
        }
        end += 1;
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_strings_join_lines_and_a_lost_bracket_does_not_swallow_a_function() {
        let text = "a = f(1,\n  2)\n\n# c\nb = \"\"\"x\n#y\"\"\"\nprint((\ndef g():\n    don't = 1\n    return 2\n";
        let found = cut(text);
        let lines: Vec<&str> = found.lines.iter().map(|line| &text[line.range.clone()]).collect();
        assert_eq!(lines, ["a = f(1,\n  2)", "b = \"\"\"x\n#y\"\"\"", "print((", "def g():", "don't = 1", "return 2"]);
        assert_eq!(&text[found.strings[0].clone()], "x\n#y");
        assert_eq!(found.lines[5].indent, 4);
    }

    #[test]
    fn statements_of_one_line_are_several_and_a_comment_is_none_of_their_code() {
        let text = "  a = 1; b = ';'  # c; d\ne = [1,  # f\n  2];\ng(\n)  # h\n;i\n";
        let found = cut(text);
        let lines: Vec<&str> = found.lines.iter().map(|line| &text[line.range.start..line.code]).collect();
        assert_eq!(lines, ["a = 1", "b = ';'", "e = [1,  # f\n  2]", "g(\n)", "i"]);
        assert!(found.lines.iter().take(2).all(|line| line.indent == 2));
    }
}
