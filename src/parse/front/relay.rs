//! Programs of Relay among other text: logs, titles, what follows them.

use super::text::Text;
use super::{Choice, Options};
use crate::diag::{Diagnostic, Span};
use std::ops::Range;

/// A program: its pieces, and the functions that it defines.
#[derive(Default)]
struct Region<'t> {
    pieces: Vec<Range<usize>>,
    names: Vec<&'t str>,
}

/// The name of an expression that is a program of its own.
const EXPRESSION: &str = "expression";

/// The kind of thing that a line begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Head {
    Version,
    Metadata,
    Definition,
    Expression,
    Blank,
    Other,
}

/// Cuts out the program that is read; nothing when the text is one program and nothing else.
pub(super) fn select(source: &Text, options: &Options) -> Result<Option<(Text, Vec<Diagnostic>, Vec<Choice>)>, Diagnostic> {
    let text = source.text.as_str();
    let (regions, left_out) = regions(text);
    let of = |region: &Region<'_>, index: usize, chosen: bool| Choice {
        name: (index + 1).to_string(),
        head: region.names.join(", "),
        chosen,
    };
    let chosen = match &options.pick {
        None => regions.len().checked_sub(1),
        Some(pick) => {
            let number = pick.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).filter(|n| *n < regions.len());
            let named = || regions.iter().rposition(|region| region.names.contains(&pick.trim_start_matches('@')));
            let Some(found) = number.or_else(named) else {
                let message = format!("there is no program `{pick}` in this text");
                let note = format!("it has {} programs, numbered from 1", regions.len());
                return Err(Diagnostic::error("front-pick", message, None).with_note(note));
            };
            Some(found)
        }
    };
    let Some(chosen) = chosen else { return Ok(None) };
    // A line that looks like a piece of a program is not left out: something is wrong with it, which is to be said.
    let is_piece = |range: &Range<usize>| {
        let line = &text[range.clone()];
        // Messages of C++ and Python, and what Python prints, have brackets, too.
        let foreign = ["::", "'", "File \""].iter().any(|mark| line.contains(mark));
        let braces = line.trim_start().starts_with('}') || line.ends_with('{') || line.contains(" @") && line.contains('{');
        let ends = line.ends_with(';') && line.contains('(') && !line.contains(" = ");
        !foreign
            && line.is_ascii()
            && (braces || ends || line.split('%').skip(1).any(|name| name.starts_with(char::is_alphanumeric)))
    };
    if regions.len() == 1 && left_out.is_empty() || left_out.iter().any(is_piece) {
        return Ok(None);
    }
    let mut out = Text::default();
    for piece in &regions[chosen].pieces {
        out.copy(source, piece.clone());
    }
    let mut notes = Vec::new();
    if let Some(first) = left_out.first() {
        let place = source.place(Span::new(first.start, first.end));
        let message = "this is no part of the program and is left out".to_owned();
        notes.push(Diagnostic::note("front-text", message, place));
    }
    let choices = if regions.len() > 1 {
        regions.iter().enumerate().rev().map(|(index, region)| of(region, index, index == chosen)).collect()
    } else {
        Vec::new()
    };
    Ok(Some((out, notes, choices)))
}

/// Tells the kind by the first characters of a line.
fn head(line: &str) -> Head {
    let line = line.trim_start();
    let word = |word: &str| line.strip_prefix(word).map(|rest| rest.trim_start_matches([' ', '\t']));
    if line.is_empty() || line.starts_with("//") || line.starts_with("/*") {
        Head::Blank
    } else if line.starts_with("#[version") || line.starts_with("v0.0.") {
        Head::Version
    } else if line.starts_with("#[metadata]") {
        Head::Metadata
    } else if word("def ").is_some_and(|rest| rest.starts_with('@'))
        || word("type ").is_some_and(|rest| rest.contains(['{', '[']))
        || word("extern ").is_some_and(|rest| rest.starts_with("type "))
    {
        Head::Definition
    } else if word("fn").is_some_and(|rest| rest.starts_with(['(', '[', '<']))
        || word("let ").is_some_and(|rest| rest.starts_with('%'))
        || word("free_var ").is_some_and(|rest| rest.starts_with('%'))
        || line.starts_with('%')
        || line.starts_with("meta[")
    {
        Head::Expression
    } else {
        Head::Other
    }
}

/// The programs of a text, and what belongs to none.
fn regions(text: &str) -> (Vec<Region<'_>>, Vec<Range<usize>>) {
    let mut done: Vec<Region<'_>> = Vec::new();
    let mut now = Region::default();
    let mut left_out: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
        let line = &text[at..end];
        match head(line) {
            Head::Version => {
                if !now.names.is_empty() {
                    done.push(std::mem::take(&mut now));
                }
                now.pieces.push(at..end);
                at = end;
            }
            Head::Definition => {
                let name = line.trim_start().strip_prefix("def ").map(|rest| rest.trim_start().trim_start_matches('@'));
                let name = name.map_or("", |rest| {
                    let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-')));
                    &rest[..end.unwrap_or(rest.len())]
                });
                if now.names.contains(&EXPRESSION) || !name.is_empty() && now.names.contains(&name) {
                    done.push(std::mem::take(&mut now));
                }
                now.names.push(name);
                let end = definition(text, at);
                now.pieces.push(at..end);
                at = end;
            }
            Head::Metadata => {
                let end = text[at..].find("\n#[version").map_or(text.len(), |end| at + end + 1);
                now.pieces.push(at..end);
                at = end;
            }
            Head::Expression if now.names.is_empty() || begins(line) => {
                if !now.names.is_empty() {
                    done.push(std::mem::take(&mut now));
                }
                // An expression that nothing is known of goes on to the end of its last line with brackets.
                let end = expression(text, at);
                now.names.push(EXPRESSION);
                now.pieces.push(at..end);
                at = end;
            }
            Head::Blank => {
                let len = if line.trim_start().starts_with("/*") {
                    comment(text, at + line.len() - line.trim_start().len())
                } else {
                    end
                };
                now.pieces.push(at..len);
                at = len;
            }
            Head::Expression | Head::Other => {
                left_out.push(at..at + line.trim_end().len());
                at = end;
            }
        }
    }
    if !now.names.is_empty() || done.is_empty() && !now.pieces.is_empty() && left_out.is_empty() {
        done.push(now);
    } else if let Some(last) = done.last_mut() {
        last.pieces.extend(now.pieces);
    }
    done.retain(|region| !region.names.is_empty());
    (done, left_out)
}

/// The place behind a comment.
fn comment(text: &str, at: usize) -> usize {
    text[at + 2..].find("*/").map_or(text.len(), |end| at + 2 + end + 2)
}

/// The place behind what stands at `at`, when that is a comment or a string.
pub(super) fn skipped(text: &str, at: usize) -> Option<usize> {
    let rest = &text.as_bytes()[at..];
    match rest {
        [b'/', b'*', ..] => Some(comment(text, at)),
        [b'/', b'/', ..] => Some(text[at..].find('\n').map_or(text.len(), |end| at + end)),
        [b'"', ..] => {
            let mut end = 1;
            while let Some(byte) = rest.get(end) {
                match byte {
                    b'\\' => end += 1,
                    b'"' => return Some(at + end + 1),
                    b'\n' => return None,
                    _ => {}
                }
                end += 1;
            }
            None
        }
        _ => None,
    }
}

/// The place behind the braces of a definition, and what stands behind them in the line when that is no text. A definition
/// whose braces do not close goes on to the next one.
fn definition(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        if let Some(end) = skipped(text, at) {
            at = end;
            continue;
        }
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.saturating_sub(1);
                if byte == b'}' && depth == 0 {
                    return at + 1;
                }
            }
            b'\n' if at > from && matches!(head(line_at(text, at + 1)), Head::Version | Head::Definition | Head::Metadata) => {
                return at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// True if a line begins an expression that is a program, as Relay prints it.
fn begins(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("fn (") || line.starts_with("free_var %")
}

fn line_at(text: &str, at: usize) -> &str {
    text[at..].split('\n').next().unwrap_or("")
}

/// The place behind an expression: the last line that can go on with it.
fn expression(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = from;
    let mut function = false;
    while let Some(&byte) = bytes.get(at) {
        if let Some(end) = skipped(text, at) {
            at = end;
            continue;
        }
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.saturating_sub(1);
                function |= byte == b'}' && depth == 0;
            }
            b'\n' if depth == 0 => {
                let next = line_at(text, at + 1).trim();
                if matches!(head(next), Head::Version | Head::Definition | Head::Metadata) {
                    return at + 1;
                }
                let ended = !text[..at].trim_end().ends_with([';', '=', ',', '(', '{', '>']);
                if begins(next) && ended {
                    return at + 1;
                }
                let sigil = next.contains('%') || [";", "@", "//", "/*"].iter().any(|mark| next.starts_with(mark));
                let words = next.contains(' ') && !next.contains(['(', '%', ';']);
                if function && !sigil && !next.is_empty() || words && !next.starts_with("let") {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Option<String> {
        select(&Text::whole(text), &Options::default()).unwrap().map(|(text, ..)| text.text)
    }

    #[test]
    fn a_log_around_a_program_goes_and_the_last_of_several_programs_stays() {
        assert_eq!(cut("#[version = \"0.0.5\"]\ndef @main() {\n  1 /* } */\n}\n\n"), None);
        let log = "[00:11] x.cc:6: PrintIR():\n#[version = \"0.0.5\"]\ndef @main() {\n  1\n}\nThe type checker said\n";
        assert_eq!(cut(log).as_deref(), Some("#[version = \"0.0.5\"]\ndef @main() {\n  1\n}\n"));
        let two = "#a\n def @main() { 1 }\n#b\n def @main() { 2 }\n";
        assert_eq!(cut(two).as_deref().map(str::trim), Some("def @main() { 2 }"));
        assert_eq!(cut("IR:\nfn (%x) {\n  %x\n}\nDone now\n").as_deref(), Some("fn (%x) {\n  %x\n}\n"));
        assert_eq!(cut("add(1, 2)"), None);
        assert_eq!(cut("if (True) {\n  let %x = ();\n  ()\n} else {\n  %x\n}"), None, "a piece of a program is not left out");
        assert_eq!(cut("de @f() {\n  1\n}\ndef @main() { 1 }"), None);
    }
}
