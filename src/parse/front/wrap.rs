//! Wrappings of a program: a notebook, Markdown, a web page, the colours of a terminal, prefixes of lines, strings, a patch.

use super::text::Text;
use crate::diag::{Diagnostic, Span};
use crate::parse::effort::spend;
use std::ops::Range;

/// Takes off what is around a text, layer by layer; says what it was.
pub(super) fn unwrap(source: &str) -> Option<(Text, Vec<Diagnostic>)> {
    const MOST_LAYERS: usize = 6;
    let mut text = Text::whole(source);
    let mut notes: Vec<Diagnostic> = Vec::new();
    for _ in 0..MOST_LAYERS {
        let layers: [fn(&Text) -> Option<(Text, &'static str)>; 13] =
            [colours, notebook, fences, patch, page, raw, literal, literals, prompts, underlines, numbers, prefixes, odd];
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
    let mut out = Text::default();
    let mut at = 0;
    for (place, _) in text.match_indices(['\x1b', '\u{241b}', '^', '\\', '[']) {
        if let Some(len) = (place >= at).then(|| escape(&text[place..])).flatten() {
            out.copy(source, at..place);
            at = place + len;
            spend(len);
        }
    }
    out.copy(source, at..text.len());
    (at > 0).then_some((out, "the codes of a terminal are left out"))
}

/// Returns the length of the escape that a text begins with: ESC, `[`, numbers and marks, and the letter that says what they do.
/// The character ESC may be written in words or lost.
fn escape(text: &str) -> Option<usize> {
    const ESC: [&str; 6] = ["\x1b", "\u{241b}", "^[", "\\033", "\\x1b", "\\u001b"];
    let known = ESC.iter().find(|known| text.starts_with(**known)).map_or(0, |known| known.len());
    let Some(rest) = text[known..].strip_prefix('[') else {
        // `^M` is the end of a line that has one more character.
        return if text.starts_with("^M\n") { Some(2) } else { text.starts_with('\x1b').then_some(1) };
    };
    let numbers = rest.bytes().take_while(|byte| matches!(byte, 0x20..=0x3f)).inspect(|_| spend(1)).count();
    let letter = rest[numbers..].starts_with(|c: char| matches!(c, '@'..='~'));
    let colour = || {
        let digits = !rest[..numbers].is_empty() && rest[..numbers].bytes().all(|byte| matches!(byte, b'0'..=b'9' | b';'));
        digits && rest[numbers..].starts_with('m')
    };
    (known > 0 || colour()).then_some(known + 1 + numbers + usize::from(letter))
}

/// A patch (`diff -u`), perhaps without its heads: the text as it is afterwards.
fn patch(source: &Text) -> Option<(Text, &'static str)> {
    let text = source.text.as_str();
    let hunk = |line: &str| line.starts_with("@@ -") && line[4..].contains(" @@");
    let changed = |line: &str| line.starts_with(['+', '-']) && !line.starts_with("->");
    let bare = text.lines().any(changed)
        && text.lines().all(|line| changed(line) || line.starts_with([' ', '\t']) || line.trim().is_empty());
    if !bare && !text.lines().any(hunk) {
        return None;
    }
    let mut inside = bare;
    let out = select(source, &mut |line| {
        inside |= hunk(line);
        match inside && !hunk(line) {
            true if line.starts_with([' ', '+']) && !line.starts_with("+++ ") => Some(1),
            true if line.trim().is_empty() => Some(0),
            _ => None,
        }
    });
    (!bare || looks_like_program(&out.text)).then_some((out, "this is a patch: the text as it is afterwards is read"))
}

/// Characters of web pages and of editors for prose, with those that were meant.
const ODD: &[(char, &str)] = &[
    ('\u{a0}', " "),
    ('\u{2009}', " "),
    ('\u{3000}', " "),
    ('\u{200b}', ""),
    ('\u{feff}', ""),
    ('\u{c}', ""),
    ('\0', ""),
    ('\r', "\n"),
    ('\u{201c}', "\""),
    ('\u{201d}', "\""),
    ('\u{2018}', "'"),
    ('\u{2019}', "'"),
    ('\u{2013}', "-"),
    ('\u{2212}', "-"),
    ('\u{2192}', "->"),
    ('\u{ff08}', "("),
    ('\u{ff09}', ")"),
    ('\u{ff0c}', ","),
    ('\u{ff1a}', ":"),
    ('\\', ""),
];

/// Blanks, quotes and marks that a web page or an editor for prose put in.
fn odd(source: &Text) -> Option<(Text, &'static str)> {
    let text = source.text.as_str();
    let escaped = text.contains("\\_") || text.contains("\\[");
    let mut out = Text::default();
    let (mut at, mut comment) = (0, false);
    let listed = |c: char| ODD.iter().any(|(odd, _)| *odd == c);
    let ascii: [bool; 128] = std::array::from_fn(|code| listed(char::from(code as u8)));
    let is_odd = |c: char| ascii.get(c as usize).copied().unwrap_or_else(|| listed(c));
    if !text.contains(is_odd) {
        return None;
    }
    for (place, found) in text.match_indices(|c: char| c == '\n' || c == '#' || is_odd(c)) {
        let next = text[place + found.len()..].chars().next();
        let odd = Some(found).filter(|found| found.starts_with(is_odd));
        let Some((odd, meant)) = odd.and_then(|found| ODD.iter().find(|(odd, _)| found.starts_with(*odd))) else {
            comment = found == "#" && (comment || next != Some('['));
            continue;
        };
        let is_meant = match odd {
            '\r' => next != Some('\n'),
            // Markdown escapes its own marks.
            '\\' => escaped && next.is_some_and(|c| "_*[]<>#".contains(c)),
            // Punctuation of prose stays in comments, and beside letters that are none of a program.
            '\u{2010}'.. if !meant.trim().is_empty() => {
                let ascii = |c: Option<char>| c.is_none_or(|c| c.is_ascii() || ODD.iter().any(|(odd, _)| *odd == c));
                !comment && ascii(next) && ascii(text[..place].chars().next_back())
            }
            _ => true,
        };
        if is_meant {
            out.copy(source, at..place);
            out.put(meant, source, place..place + found.len());
            at = place + found.len();
        }
    }
    out.copy(source, at..text.len());
    (at > 0).then_some((out, "characters that a web page or an editor for prose put in are read as what was meant"))
}

/// The text of a page in HTML: its tags are left out, and characters with names are put in.
fn page(source: &Text) -> Option<(Text, &'static str)> {
    const NAMED: [(&str, &str); 9] = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&nbsp;", " "),
        ("&#160;", " "),
        ("&amp;", "&"),
    ];
    const LONGEST_TAG: usize = 300;
    let text = source.text.as_str();
    let tags = ["<span", "<pre", "<br", "<code"].iter().any(|tag| text.contains(tag));
    let mut out = Text::default();
    let mut at = 0;
    for (place, found) in text.match_indices(['<', '&']) {
        let rest = &text[place..];
        let (len, meant) = if found == "&" {
            let Some((name, meant)) = NAMED.iter().find(|(name, _)| rest.starts_with(name)) else { continue };
            (name.len(), *meant)
        } else {
            let name = rest[1..].strip_prefix('/').unwrap_or(&rest[1..]);
            let len = rest.bytes().take(LONGEST_TAG).position(|byte| byte == b'>').map(|len| len + 1);
            let Some(len) = len.filter(|_| tags && name.starts_with(|c: char| c.is_ascii_lowercase())) else { continue };
            (len, if name.starts_with("br") && !rest[len..].starts_with('\n') { "\n" } else { "" })
        };
        if place >= at {
            out.copy(source, at..place);
            out.put(meant, source, place..place + len);
            at = place + len;
        }
    }
    out.copy(source, at..text.len());
    (at > 0).then_some((out, "this is a part of a web page: its text is read"))
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

/// A raw string of C++ or Rust, the last one with a program.
fn raw(source: &Text) -> Option<(Text, &'static str)> {
    const LONGEST: usize = 16;
    let text = source.text.as_str();
    if !may_hold_program(text) {
        return None;
    }
    let mut found = None;
    let mut at = 0;
    for (quote, _) in text.match_indices('"') {
        let (before, rest) = (&text[..quote], &text[quote + 1..]);
        let Some(head) = before.strip_suffix('R').or_else(|| before.strip_suffix("r#")) else { continue };
        // A letter before it is the end of a word.
        if quote < at || !head.ends_with([' ', '(', ',', '=', '\n']) {
            continue;
        }
        let open = rest.bytes().take(LONGEST).position(|byte| byte == b'(').filter(|_| before.ends_with('R'));
        let close = open.map_or("\"#".to_owned(), |open| format!("){}\"", &rest[..open]));
        let from = open.map_or(0, |open| open + 1);
        let len = rest[from..].find(&close).unwrap_or(rest.len() - from);
        spend(from + len);
        if looks_like_program(&rest[from..from + len]) {
            found = Some(quote + 1 + from..quote + 1 + from + len);
        }
        at = quote + 1 + from + len;
    }
    let mut out = Text::default();
    out.copy(source, found?);
    Some((out, IN_STRING))
}

/// A text that is one string of several lines.
fn literal(source: &Text) -> Option<(Text, &'static str)> {
    let text = source.text.as_str();
    let inner = text.trim();
    let start = text.len() - text.trim_start().len();
    for mark in ["\"\"\"", "'''", "`"] {
        let Some(rest) = inner.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark)) else { continue };
        let mut out = Text::default();
        out.copy(source, start + mark.len()..start + mark.len() + rest.len());
        return looks_like_program(&out.text).then_some((out, IN_STRING));
    }
    None
}

const IN_STRING: &str = "this is a string: what it says is read";

/// A program in strings of one line each: one with the escapes of its lines, or one for each line.
fn literals(source: &Text) -> Option<(Text, &'static str)> {
    let text = source.text.as_str();
    if looks_like_program(text) || !may_hold_program(text) || ["\"\"\"", "'''"].iter().any(|mark| text.contains(mark)) {
        return None;
    }
    let (mut at, mut end) = (0, 0);
    let (mut now, mut last) = (Text::default(), None);
    while let Some(start) = text[at..].find(['"', '\'']).map(|start| at + start) {
        let between = &text[at..start];
        spend(between.len());
        if between.contains(|c: char| !c.is_whitespace() && !"(),[+b\\".contains(c)) {
            last = Some(std::mem::take(&mut now)).filter(|text| looks_like_program(&text.text)).or(last);
        } else if between.contains(',') && !now.text.ends_with('\n') {
            now.put("\n", source, start..start);
        }
        if start >= end {
            end = text[start..].find('\n').map_or(text.len(), |end| start + end);
        }
        at = text.len().min(1 + decode(source, start + 1..end, text.as_bytes()[start], &mut now));
    }
    Some(now).filter(|text| looks_like_program(&text.text)).or(last).map(|text| (text, IN_STRING))
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

/// The lines of a text, each from the place on that `from` gives; lines without one are left out.
fn select(source: &Text, from: &mut dyn FnMut(&str) -> Option<usize>) -> Text {
    let mut out = Text::default();
    // Whole lines that follow each other are copied at once.
    let (mut at, mut run) = (0, 0..0);
    for line in source.text.split_inclusive('\n') {
        if let Some(skipped) = from(line) {
            let start = at + skipped.min(line.trim_end_matches(['\r', '\n']).len());
            if start != run.end {
                out.copy(source, std::mem::replace(&mut run, start..start));
            }
            run.end = at + line.len();
        }
        at += line.len();
    }
    out.copy(source, run);
    out
}

/// The prompts of Python: what was typed behind them, when that is a program.
fn prompts(source: &Text) -> Option<(Text, &'static str)> {
    if ![">>>", "...", "In ["].iter().any(|mark| source.text.contains(mark)) {
        return None;
    }
    let out = select(source, &mut prompt);
    looks_like_program(&out.text).then_some((out, "the prompts of Python are left out"))
}

fn prompt(line: &str) -> Option<usize> {
    let rest = match line.strip_prefix(">>>").or_else(|| line.strip_prefix("...")) {
        Some(rest) => rest,
        None => match line.trim_start().strip_prefix("In [") {
            Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("]:")?,
            None => line.trim_start().strip_prefix("...:")?,
        },
    };
    Some(line.len() - rest.len() + usize::from(rest.starts_with(' ')))
}

/// Lines that underline another one, as TVM prints them in its messages.
fn underlines(source: &Text) -> Option<(Text, &'static str)> {
    let marks = |line: &str| !line.is_empty() && line.bytes().all(|byte| byte == b'^');
    if !source.text.contains('^') {
        return None;
    }
    let out = select(source, &mut |line| (!marks(line.trim())).then_some(0));
    (out.text.len() < source.text.len()).then_some((out, "lines that underline others are left out"))
}

/// Lines that have nothing but the number of another line.
fn numbers(source: &Text) -> Option<(Text, &'static str)> {
    let (mut last, mut count, mut others) = (None, 0, 0);
    let out = select(source, &mut |line| {
        let number = line.trim().parse::<u32>().ok();
        if number.is_some_and(|number| last.is_none_or(|last: u32| number.wrapping_sub(last) == 1)) {
            (last, count) = (number, count + 1);
            return None;
        }
        others += usize::from(!line.trim().is_empty());
        Some(0)
    });
    (count > 2 && count * 2 >= others).then_some((out, NUMBERS))
}

const NUMBERS: &str = "the numbers of the lines are left out";

/// The beginnings of lines that do not belong to a program, or of its first line: quotes of mail, numbers, times of a log.
fn prefixes(source: &Text) -> Option<(Text, &'static str)> {
    let text = source.text.as_str();
    if !MARKS.iter().chain(&SCRIPT).any(|mark| text.contains(mark)) {
        return None;
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let opens = |line: &&str| !line.trim().is_empty() && (begin(line).is_some() || looks_like_program(line));
    let first = lines.iter().position(opens)?;
    let (prefix, rest) = lines[first].split_at(begin(lines[first])?);
    let core = prefix.trim_end();
    // A comment stays one, and what another program follows that begins its line is perhaps said of it.
    let (comment, alone) = (core.trim_start().starts_with(['#', '/']), looks_like_program(text));
    if comment || alone && rest.starts_with('@') {
        return None;
    }
    // The lines around it that have it, too.
    let behind = |line: &str| like(core, line.trim_end());
    let fits = |line: &&&str| behind(line).is_some() || line.trim().is_empty();
    let start = first - lines[..first].iter().rev().take_while(fits).count();
    let end = first + lines[first..].iter().take_while(fits).count();
    let blanks = |line: &str| line.len() - line.trim_start().len();
    let (mut count, mut indent) = (0, prefix.len() - core.len());
    for line in &lines[start..end] {
        let rest = behind(line).map_or("", |len| &line[len..]);
        if !rest.trim().is_empty() {
            (count, indent) = (count + 1, indent.min(blanks(rest)));
        }
    }
    let mut at = 0;
    if alone || count < 2 {
        let next = lines[first + 1..].iter().map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or("");
        if rest.starts_with('@') && !["@", "def ", "class "].iter().any(|head| next.starts_with(head)) {
            return None;
        }
        let out = select(source, &mut |line| {
            at += 1;
            begin(line).filter(|len| at == first + 1 || !line[*len..].starts_with('@')).or(Some(0))
        });
        return Some((out, "what stands before the first line of the program is left out"));
    }
    let out = select(source, &mut |line| {
        at += 1;
        let len = behind(line).filter(|_| (start..end).contains(&(at - 1)))?;
        Some(len + blanks(&line[len..]).min(indent))
    });
    let numbered = core.trim_start().trim_end_matches([':', '|', '.']).bytes().all(|byte| byte.is_ascii_digit());
    Some((out, if numbered { NUMBERS } else { "what stands before each line is left out" }))
}

/// Returns the place in a line where a program begins behind something else.
fn begin(line: &str) -> Option<usize> {
    if !line.contains(SIGILS) {
        return None;
    }
    let marks = MARKS.iter().chain(&SCRIPT);
    let at = marks.filter_map(|mark| line.find(mark).filter(|at| is_whole(&line[*at..]))).min()?;
    let before = line[..at].trim();
    let other = before.is_empty() || before.contains(['=', '%', '"', '\'', '`']) || before.ends_with(['(', '[', '{', ',']);
    let apart = line[..at].ends_with([' ', '\t', ':', '|', '>', '+', '-', ']', '#', '*', '/']);
    let number = before.bytes().all(|byte| byte.is_ascii_digit());
    (!other && (apart || number)).then_some(at)
}

/// True unless prose goes on behind the mark of a program.
fn is_whole(line: &str) -> bool {
    let line = line.trim_end();
    match line.as_bytes().first() {
        Some(b'@') => line.ends_with(')') || !line.contains(' '),
        Some(b'd') => line.contains('('),
        _ => true,
    }
}

/// Returns how much of a line is like a prefix: the same but for its numbers and the blanks within.
fn like(prefix: &str, line: &str) -> Option<usize> {
    let (prefix, bytes) = (prefix.as_bytes(), line.as_bytes());
    let (mut of, mut at) = (0, 0);
    while let Some(wanted) = prefix.get(of).copied().filter(|_| at < bytes.len()) {
        let alike = |byte: &u8| match wanted {
            b' ' | b'\t' => matches!(byte, b' ' | b'\t'),
            b'0'..=b'9' => byte.is_ascii_digit(),
            _ => false,
        };
        let run = |bytes: &[u8]| bytes.iter().inspect(|_| spend(1)).take_while(|byte| alike(byte)).count();
        match run(&prefix[of..]) {
            0 if wanted == bytes[at] => (of, at) = (of + 1, at + 1),
            0 => return None,
            wide => {
                let len = run(&bytes[at..]);
                // Numbers of fewer digits have more blanks before them.
                if len == 0 && wanted.is_ascii_digit() {
                    return None;
                }
                (of, at) = (of + wide, at + len);
            }
        }
    }
    Some(at)
}

/// False if no part of a text can be a program, which is seen at once.
fn may_hold_program(text: &str) -> bool {
    super::RELAY.iter().chain(&SCRIPT).any(|mark| text.contains(mark))
}

/// True if a text has functions of TVM in it.
pub(super) fn looks_like_program(text: &str) -> bool {
    is_script(text) || super::is_relay(text)
}

/// True if a text has decorated functions or modules.
pub(super) fn is_script(text: &str) -> bool {
    let opens = |line: &str| line.starts_with('@') && SCRIPT.iter().any(|mark| line.starts_with(mark));
    text.split('\n').any(|line| opens(line.trim_start()))
}

/// Each of [`MARKS`] and [`SCRIPT`] has one of these.
const SIGILS: [char; 3] = ['@', '%', '#'];

/// The beginnings of programs, decorators apart, that are told from prose where something stands before them.
const MARKS: [&str; 7] = ["#[version", "def @", "fn (%", "free_var %", "let %", "%0 = ", "# from tvm.script import "];

/// Decorators that begin a program.
const SCRIPT: [&str; 10] = ["@T.", "@R.", "@I.", "@tvm.script", "@ir_module", "@relax.", "@tir.", "@script", "@tvm.ir", "@Tx."];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_beginning_has_a_sign_by_which_lines_without_one_are_passed_over() {
        assert!(MARKS.iter().chain(&SCRIPT).all(|mark| mark.contains(SIGILS)));
    }
}
