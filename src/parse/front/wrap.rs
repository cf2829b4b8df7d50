//! Wrappings of a program: a notebook, Markdown, the colours of a terminal, prefixes of lines, a string literal, a patch.

use super::text::Text;
use crate::diag::{Diagnostic, Span};
use crate::parse::effort::spend;
use std::ops::Range;

/// Takes off what is around a text, layer by layer; says what it was.
pub(super) fn unwrap(source: &str) -> Option<(Text, Vec<Diagnostic>)> {
    const MOST_LAYERS: usize = 4;
    let mut text = Text::whole(source);
    let mut notes: Vec<Diagnostic> = Vec::new();
    for _ in 0..MOST_LAYERS {
        let layers: [fn(&Text) -> Option<(Text, &'static str)>; 7] =
            [colours, notebook, fences, patch, quotes, literal, odd_blanks];
        let Some((inner, what)) = layers.iter().find_map(|layer| layer(&text)) else { break };
        let end = source.trim_end().len();
        notes.push(Diagnostic::note("front-wrapped", what, Span::new(0, end.min(source.find('\n').unwrap_or(end)))));
        text = inner;
    }
    (!notes.is_empty()).then_some((text, notes))
}

/// The escapes that colour the text of a terminal.
fn colours(source: &Text) -> Option<(Text, &'static str)> {
    let text = source.text.as_str();
    if !text.contains('\x1b') {
        return None;
    }
    let mut out = Text::default();
    let mut at = 0;
    while let Some(start) = text[at..].find('\x1b').map(|start| at + start) {
        out.copy(source, at..start);
        // `ESC [`, numbers and marks, and the letter that says what they do.
        let len = text[start + 1..].strip_prefix('[').map_or(0, |rest| {
            let numbers = rest.bytes().take_while(|byte| matches!(byte, 0x20..=0x3f)).inspect(|_| spend(1)).count();
            1 + numbers + usize::from(rest[numbers..].starts_with(|c: char| matches!(c, '@'..='~')))
        });
        spend(start + 1 + len - at);
        at = start + 1 + len;
    }
    out.copy(source, at..text.len());
    Some((out, "the colours of a terminal are left out"))
}

/// A patch (`diff -u`): the text as it is afterwards.
fn patch(source: &Text) -> Option<(Text, &'static str)> {
    let text = source.text.as_str();
    let hunk = |line: &str| line.starts_with("@@ -") && line[4..].contains(" @@");
    if !text.lines().any(hunk) {
        return None;
    }
    let mut out = Text::default();
    let (mut at, mut inside) = (0, false);
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        if hunk(line) {
            inside = true;
        } else if inside && line.starts_with([' ', '+']) && !line.starts_with("+++ ") {
            out.copy(source, range.start + 1..range.end);
        } else if inside && line.trim().is_empty() {
            out.copy(source, range);
        }
    }
    Some((out, "this is a patch: the text as it is afterwards is read"))
}

/// Blanks that are none to a reader: those of web pages.
fn odd_blanks(source: &Text) -> Option<(Text, &'static str)> {
    let text = source.text.as_str();
    let odd = |c: char| matches!(c, '\u{a0}' | '\u{200b}' | '\u{2009}' | '\u{3000}');
    if !text.contains(odd) {
        return None;
    }
    let mut out = Text::default();
    let mut at = 0;
    for (place, found) in text.match_indices(odd) {
        out.copy(source, at..place);
        let blank = if found == "\u{200b}" { "" } else { " " };
        out.put(blank, source, place..place + found.len());
        at = place + found.len();
    }
    out.copy(source, at..text.len());
    Some((out, "blanks of a web page are read as blanks"))
}

/// The cells of a notebook that hold code; what they printed, when no cell holds a program.
fn notebook(source: &Text) -> Option<(Text, &'static str)> {
    let text = source.text.as_str();
    if !text.trim_start().starts_with('{') || !text.contains("\"cells\"") {
        return None;
    }
    let mut out = Text::default();
    let mut from = text.find("\"cells\"")?;
    // Each cell says its kind and then, in either order, its source and what it printed.
    let mut kinds = Vec::new();
    while let Some(at) = text[from..].find("\"cell_type\"").map(|at| from + at) {
        let code = text[at + 11..].trim_start().trim_start_matches(':').trim_start().starts_with("\"code\"");
        kinds.push((at, code));
        from = at + 11;
    }
    for (index, &(start, code)) in kinds.iter().enumerate() {
        let end = kinds.get(index + 1).map_or(text.len(), |next| next.0);
        if code && let Some(at) = text[start..end].find("\"source\"") {
            strings(source, start + at + 8..end, &mut out);
            out.put("\n", source, end..end);
        }
    }
    if !looks_like_program(&out.text) {
        let mut outputs = Text::default();
        for (at, key) in text.match_indices("\"text\"").chain(text.match_indices("\"text/plain\"")) {
            strings(source, at + key.len()..text.len(), &mut outputs);
            outputs.put("\n", source, at..at);
        }
        if looks_like_program(&outputs.text) {
            return Some((outputs, "this is a notebook: what its cells printed is read"));
        }
    }
    Some((out, "this is a notebook: its cells with code are read"))
}

/// The text of a JSON string or of a list of them, which stands behind a colon.
fn strings(source: &Text, range: Range<usize>, out: &mut Text) {
    let text = source.text.as_str();
    let bytes = text.as_bytes();
    let mut at = range.start;
    let mut list = false;
    while let Some(&byte) = bytes.get(at).filter(|_| at < range.end) {
        match byte {
            b'[' => list = true,
            b']' => return,
            b'"' => {
                let end = decode(source, at + 1..range.end, b'"', out);
                at = end;
                if !list {
                    return;
                }
            }
            b':' | b',' | b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => return,
        }
        at += 1;
    }
}

/// Decodes the escapes of a string up to its closing quote, whose place is returned.
fn decode(source: &Text, range: Range<usize>, quote: u8, out: &mut Text) -> usize {
    let text = source.text.as_str();
    let bytes = text.as_bytes();
    let mut at = range.start;
    let mut copied = at;
    while at < range.end && bytes[at] != quote {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        out.copy(source, copied..at);
        let (char, len) = match bytes.get(at + 1) {
            Some(b'n') => (Some('\n'), 2),
            Some(b't') => (Some('\t'), 2),
            Some(b'r') => (Some('\r'), 2),
            Some(b'u') => {
                let code = text.get(at + 2..at + 6).and_then(|hex| u32::from_str_radix(hex, 16).ok());
                match code {
                    Some(code) => (char::from_u32(code), 6),
                    None => (Some('\\'), 1),
                }
            }
            Some(b'\n') => (None, 2),
            Some(b'"' | b'\'' | b'\\' | b'/') => (Some(char::from(bytes[at + 1])), 2),
            _ => (Some('\\'), 1),
        };
        if let Some(char) = char {
            out.put(char.encode_utf8(&mut [0; 4]), source, at..at + len);
        }
        at += len;
        copied = at;
    }
    let end = at.min(range.end);
    out.copy(source, copied.min(end)..end);
    end
}

/// A text that is one string literal.
fn literal(source: &Text) -> Option<(Text, &'static str)> {
    let text = source.text.as_str();
    let inner = text.trim();
    let start = text.len() - text.trim_start().len();
    for mark in ["\"\"\"", "'''", "\"", "'"] {
        let Some(rest) = inner.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark)) else { continue };
        let range = start + mark.len()..start + mark.len() + rest.len();
        if mark.len() == 1 && (rest.contains('\n') || !rest.contains("\\n")) {
            continue;
        }
        let mut out = Text::default();
        if mark.len() == 3 {
            out.copy(source, range);
        } else {
            decode(source, range, mark.as_bytes()[0], &mut out);
        }
        return looks_like_program(&out.text).then_some((out, "this is a string of Python: what it says is read"));
    }
    None
}

/// Code between the fences of Markdown.
fn fences(source: &Text) -> Option<(Text, &'static str)> {
    let text = source.text.as_str();
    let mut marks = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            let bare = trimmed.trim_end().trim_matches(['`', '~']).is_empty();
            marks.push((at, at + line.len(), bare));
        }
        at += line.len();
    }
    if marks.is_empty() {
        return None;
    }
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut open: Option<usize> = None;
    for &(start, end, bare) in &marks {
        match open.take() {
            Some(from) => blocks.push(from..start),
            // A copied text may begin inside of a block.
            None if bare && blocks.is_empty() && marks.len() % 2 == 1 => blocks.push(0..start),
            None => open = Some(end),
        }
    }
    blocks.extend(open.map(|from| from..text.len()));
    let mut programs: Vec<Range<usize>> =
        blocks.iter().filter(|block| looks_like_program(&text[(*block).clone()])).cloned().collect();
    let script = |block: &Range<usize>| is_script(&text[block.clone()]);
    if programs.last().is_some_and(script) {
        // Constants may stand in another block of Python.
        programs = blocks.into_iter().filter(|block| script(block) || !looks_like_program(&text[block.clone()])).collect();
    }
    if programs.is_empty() {
        return None;
    }
    let mut out = Text::default();
    for block in programs {
        out.copy(source, block.clone());
        out.put("\n", source, block.end..block.end);
    }
    Some((out, "this is Markdown: the code between its fences is read"))
}

/// Prefixes of lines: quotes of mail, prompts of Python, numbers of lines, times of a log.
fn quotes(source: &Text) -> Option<(Text, &'static str)> {
    let text = source.text.as_str();
    let kinds: [(fn(&str) -> Option<usize>, &'static str); 5] = [
        (
            |line| {
                line.strip_prefix('>').filter(|rest| !rest.starts_with(">>")).map(|rest| 1 + usize::from(rest.starts_with(' ')))
            },
            "quoted lines are read without their marks",
        ),
        (prompt, "the prompts of Python are left out"),
        (
            |line| line.strip_prefix('|').map(|rest| 1 + usize::from(rest.starts_with(' '))),
            "the rule beside the text is left out",
        ),
        (number, "the numbers of the lines are left out"),
        (time, "what the log says before each line is left out"),
    ];
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let filled: Vec<&str> = lines.iter().copied().filter(|line| !line.trim().is_empty()).collect();
    if filled.len() < 2 {
        return None;
    }
    for (prefix, what) in kinds {
        let fits = filled.iter().filter(|line| prefix(line).is_some()).count();
        if fits < 2 || fits * 10 < filled.len() * 9 {
            continue;
        }
        let mut out = Text::default();
        let mut at = 0;
        for line in lines {
            let skipped = prefix(line).map_or(0, |len| len.min(line.trim_end_matches(['\r', '\n']).len()));
            out.copy(source, at + skipped..at + line.len());
            at += line.len();
        }
        return Some((out, what));
    }
    None
}

fn prompt(line: &str) -> Option<usize> {
    if let Some(rest) = line.strip_prefix(">>>").or_else(|| line.strip_prefix("...")) {
        return Some(3 + usize::from(rest.starts_with(' ')));
    }
    let trimmed = line.trim_start();
    let rest = match trimmed.strip_prefix("In [") {
        Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("]:")?,
        None => trimmed.strip_prefix("...:")?,
    };
    Some(line.len() - rest.len() + usize::from(rest.starts_with(' ')))
}

fn number(line: &str) -> Option<usize> {
    let trimmed = line.trim_start();
    let rest = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == trimmed.len() {
        return None;
    }
    let behind = rest.strip_prefix([':', '|', '\t']).or_else(|| rest.strip_prefix(" |"))?;
    Some(line.len() - behind.len() + usize::from(behind.starts_with(' ')))
}

const LEVELS: [&str; 6] = ["INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL", "WARN"];

/// `[12:34:56] file.cc:12: `, `2024-01-02 03:04:05,678 INFO: `, `2024-01-02 03:04:05,678 - passes - INFO - `, `INFO:root:`
fn time(line: &str) -> Option<usize> {
    let mut rest = line;
    for level in LEVELS {
        if let Some(behind) = rest.strip_prefix(level).and_then(|rest| rest.strip_prefix(':')) {
            let behind = behind.split_once(':').map_or(behind, |(_, behind)| behind);
            return Some(line.len() - behind.len());
        }
    }
    rest = rest.strip_prefix('[').unwrap_or(rest);
    let is_time = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | ',' | ' ' | 'T' | 'Z' | '+');
    let stamp = rest.find(|c: char| !is_time(c)).unwrap_or(rest.len());
    if rest[..stamp].matches(':').count() < 2 {
        return None;
    }
    if let Some(behind) = behind_level(&rest[stamp..]) {
        return Some(line.len() - behind.len());
    }
    rest = rest[stamp..].trim_start_matches(']');
    for mark in ["] ", ": ", "| "] {
        // A path or a level stands between the time and what is said.
        if let Some((before, behind)) = rest.split_once(mark)
            && before.len() < 100
            && !before.contains(['%', '(', '@', '{', '='])
        {
            return Some(line.len() - behind.len());
        }
    }
    Some(line.len() - rest.strip_prefix(' ').unwrap_or(rest).len())
}

/// The rest of a line behind the level of a log, which a time and perhaps the name of a logger precede.
fn behind_level(rest: &str) -> Option<&str> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    for level in LEVELS {
        let Some((before, behind)) = rest.split_once(level) else { continue };
        let named = before.chars().all(|c| word(c) || matches!(c, ' ' | '-' | '[' | ']' | '|' | ':'));
        if before.len() < 60 && named && !before.ends_with(word) && !behind.starts_with(word) {
            let behind = behind.strip_prefix(']').unwrap_or(behind);
            let behind = [" -", " |", ":"].iter().find_map(|mark| behind.strip_prefix(mark)).unwrap_or(behind);
            return Some(behind.strip_prefix(' ').unwrap_or(behind));
        }
    }
    None
}

/// True if a text has functions of TVM in it.
pub(super) fn looks_like_program(text: &str) -> bool {
    is_script(text) || super::is_relay(text)
}

/// True if a text has decorated functions or modules.
pub(super) fn is_script(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        let marks = ["@T.", "@R.", "@I.", "@tvm.script", "@ir_module", "@relax.", "@tir.", "@script", "@tvm.ir", "@Tx."];
        marks.iter().any(|mark| line.starts_with(mark))
    })
}
