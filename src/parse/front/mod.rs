//! The front door: finds the program in whatever was pasted.
//!
//! A text that reads as it stands is not touched. Of any other, what is wrapped around the program is taken off (a notebook,
//! Markdown, colours, prefixes of a log, a string), then what stands beside it is left out (Python, lines of a log, other
//! programs), and what is left is read. Everything that was left out or understood otherwise is said in a note.
//!
//! ```text
//!  source --wrap--> text --python | relay--> program --readers--> module
//!                     |                                   |
//!                   foreign: another language           cause: one error for what has one cause
//! ```

mod cause;
mod constant;
mod foreign;
mod lines;
mod older;
mod python;
mod relay;
mod saved;
#[cfg(test)]
mod tests;
mod text;
mod wrap;

use super::Parsed;
use crate::diag::{Diagnostic, Span};
use crate::ir::sort::sort_by;
use crate::ir::{Mark, Store};
use cause::Program;
use text::Text;

/// Options of reading a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The module, function or program that is read, by its name or, of several without one or of one name, its number from 1.
    pub pick: Option<String>,
    /// Values of names that the text uses and does not have, as Python writes them.
    pub defines: Vec<(String, String)>,
}

/// A program of a text that has several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The value of [`Options::pick`].
    pub name: String,
    /// Its first line, or the names of its functions.
    pub head: String,
    /// True if it is the one that was read.
    pub chosen: bool,
}

/// The words that begin a line of Relay.
const RELAY: [&str; 9] = ["#[version", "def @", "fn (", "fn(", "free_var %", "let %", "v0.0.", "%0 =", "meta[relay."];

/// True if a text is Relay: it has a definition, a function or a variable of Relay.
fn is_relay(text: &str) -> bool {
    text.split('\n').any(|line| {
        let line = line.trim_start();
        // Most lines are told by their first letter alone.
        RELAY.iter().any(|word| line.as_bytes().first() == word.as_bytes().first() && line.starts_with(word))
    })
}

/// The kind of a text, as far as its look tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognised {
    /// True if its program is TVMScript, not Relay.
    pub script: bool,
    /// The text without what it was wrapped in, and what that was; nothing when it stands as it is.
    pub inner: Option<(String, String)>,
}

/// Says what a text is, in time in proportion to it. It is read only if it looks both like a program and wrapped, and is small.
pub fn recognise(source: &str) -> Recognised {
    if saved::is_saved(source) {
        return Recognised { script: saved::is_script(source), inner: None };
    }
    let wrapped = wrap::unwrap(source).filter(|_| !reads(source));
    let text = wrapped.as_ref().map_or(source, |(text, _)| text.text.as_str());
    let script = wrap::is_script(text) || {
        // A script of Python may hold a program of Relay in a string.
        let inner = if is_relay(text) { None } else { in_string(&Text::whole(text)) };
        !is_relay(text) && inner.is_none_or(|(inner, _)| wrap::is_script(&inner.text)) && super::is_script(text)
    };
    let what = |notes: &[Diagnostic]| notes.iter().map(|note| note.message.as_str()).collect::<Vec<&str>>().join("; ");
    Recognised { script, inner: wrapped.map(|(text, notes)| (text.text, what(&notes))) }
}

/// True if a text reads as it stands: then nothing in it is taken off. A megabyte is recognised within 20 ms, so a large text is
/// not tried.
fn reads(source: &str) -> bool {
    const LARGE: usize = 1 << 18;
    let reader = if super::is_script(source) { super::relax::parse } else { super::relay::parse };
    source.len() <= LARGE && wrap::looks_like_program(source) && !reader(&mut Store::new(), source).has_errors()
}

/// Reads a text that does not read as it stands. `plain` is what came of reading it so, from where on in the store.
pub(super) fn read(store: &mut Store, source: &str, options: &Options, plain: Option<(Parsed, Mark)>) -> Parsed {
    if saved::is_saved(source) {
        return match saved::unpack(source) {
            Ok((program, note)) => read_saved(store, &program, note),
            Err(error) => refused(error),
        };
    }
    let (text, mut notes) = wrap::unwrap(source).unwrap_or_else(|| (Text::whole(source), Vec::new()));
    let wrapped = !notes.is_empty();
    let mut script = wrap::is_script(&text.text) || !is_relay(&text.text) && super::is_script(&text.text);
    let message = if script { foreign::message(&text.text).map(|error| place(error, &text)) } else { None };
    let selected = if script {
        python::select(&text, options).map(|found| found.map(|found| (found.text, found.notes, found.choices)))
    } else {
        relay::select(&text, options)
    };
    let mut selected = match selected {
        Ok(selected) => selected,
        Err(error) => return refused(error),
    };
    let python = script || super::is_script(&text.text);
    if selected.is_none() && (python || !is_relay(&text.text) || text.text.contains("\"\"\"")) {
        // Programs in the strings of a script that reads them.
        if let Some((inner, note)) = in_string(&text) {
            notes.push(note);
            script = wrap::is_script(&inner.text);
            let found = if script {
                python::select(&inner, options).ok().flatten().map(|f| (f.text, f.notes, f.choices))
            } else {
                relay::select(&inner, options).ok().flatten()
            };
            selected = Some(found.unwrap_or((inner, Vec::new(), Vec::new())));
        } else if python && (super::is_script(&text.text) || !is_relay(&text.text)) {
            let error = foreign::other(&text.text).unwrap_or_else(|| foreign::python(&text.text));
            return refused(place(error, &text));
        }
    }
    if !script && selected.is_none() && !is_relay(&text.text) {
        if let Some(error) = foreign::other(&text.text) {
            return refused(place(error, &text));
        }
        if looks_like_python(&text.text) {
            return refused(place(foreign::python(&text.text), &text));
        }
        let errors = plain.as_ref().map_or(0, |(plain, _)| plain.diagnostics.iter().filter(|d| d.is_error()).count());
        if errors > 2 && text.text.trim().contains('\n') && !text.text.contains('%') {
            return refused(place(foreign::nothing(&text.text), &text));
        }
    }
    let (mut program, more, choices) = match selected {
        Some(selected) => selected,
        None => match &plain {
            Some((plain, _)) if !wrapped && (script || older::modernise(&text, &options.defines).is_none()) => {
                let plain = plain.clone();
                let whole = Text::whole(source);
                return Parsed { diagnostics: causes(plain.diagnostics, Program { read: &whole, source }, script), ..plain };
            }
            _ => (text, Vec::new(), Vec::new()),
        },
    };
    notes.extend(more);
    if let Some((today, more)) = if script { None } else { older::modernise(&program, &options.defines) } {
        program = today;
        notes.extend(more);
    }
    let first_line = program.text.lines().next().map_or(0, str::len);
    notes.extend(several(&choices, source, script, program.place(Span::new(0, first_line))));
    if let Some((_, mark)) = plain {
        store.disown(mark);
    }
    let mark = store.mark();
    let parsed = if script { super::relax::parse(store, &program.text) } else { super::relay::parse(store, &program.text) };
    store.move_places(mark, |span| program.place(span));
    if let (true, Some(message)) = (parsed.has_errors(), message) {
        return refused(message);
    }
    let mut found = causes(parsed.diagnostics, Program { read: &program, source }, script);
    found.iter_mut().for_each(|found| cause::brackets(found, Program { read: &program, source }));
    notes.extend(found.into_iter().map(|found| place(found, &program)));
    let at = |d: &Diagnostic| d.span.map_or(0, |span| span.start);
    sort_by(&mut notes, |a, b| at(a).cmp(&at(b)));
    Parsed { diagnostics: notes, choices, ..parsed }
}

/// Reads a program that was unpacked: all of it stands in one place.
fn read_saved(store: &mut Store, program: &Text, note: Diagnostic) -> Parsed {
    let mark = store.mark();
    let read = if super::is_script(&program.text) { super::relax::parse } else { super::relay::parse };
    let parsed = read(store, &program.text);
    store.move_places(mark, |span| program.place(span));
    let found = parsed.diagnostics.iter().map(|found| place(found.clone(), program));
    Parsed { diagnostics: std::iter::once(note).chain(found).collect(), ..parsed }
}

fn refused(error: Diagnostic) -> Parsed {
    Parsed { diagnostics: vec![error], ..Parsed::default() }
}

/// A finding about a text as one about its source.
fn place(mut found: Diagnostic, text: &Text) -> Diagnostic {
    found.span = found.span.map(|span| text.place(span));
    // Edits at the beginning of the text are about all of it; others only where it stands as it was pasted.
    for fix in &mut found.fixes {
        fix.edits.iter_mut().filter(|(span, _)| span.end > 0).for_each(|(span, _)| *span = text.place(*span));
    }
    found
}

/// The errors of a program that a reader needs.
fn causes(found: Vec<Diagnostic>, program: Program<'_>, script: bool) -> Vec<Diagnostic> {
    let text = program.read.text.as_str();
    if !found.iter().any(Diagnostic::is_error) {
        return found;
    }
    let foreign = if script {
        foreign::script(text).or_else(|| foreign::message(text))
    } else {
        foreign::other(text).or_else(|| foreign::relay(text))
    };
    match foreign {
        Some(error) => vec![error],
        None if script => cause::script(found, program),
        None => cause::relay(found, program),
    }
}

/// Says which of several programs is read, at the place where it begins.
fn several(choices: &[Choice], source: &str, script: bool, at: Span) -> Option<Diagnostic> {
    let chosen = choices.iter().find(|choice| choice.chosen)?;
    let others: Vec<&str> = choices.iter().filter(|choice| !choice.chosen).map(|choice| choice.name.as_str()).collect();
    if others.is_empty() {
        return None;
    }
    let message = format!("the text has several programs, and `{}` is read", chosen.name);
    let note = Diagnostic::note("front-several", message, Some(at));
    let note = note.with_note(format!("--pick takes another one: `{}`", others.join("`, `")));
    let place = picked(source);
    Some(others.into_iter().fold(note, |note, name| {
        let line = format!("{} pick: {name}\n", if script { "#" } else { "//" });
        note.with_fix(format!("Read {name}"), vec![(place, line)])
    }))
}

/// The line of a text that says which of its programs is read, or the place for it.
fn picked(source: &str) -> Span {
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        let end = start + line.len();
        if line.starts_with("# pick:") || line.starts_with("// pick:") {
            return Span::new(start, end);
        }
        if !line.trim().is_empty() && !line.starts_with("# ") && !line.starts_with("// ") {
            break;
        }
        start = end;
    }
    Span::new(0, 0)
}

/// The last program that stands in a string of several lines.
fn in_string(text: &Text) -> Option<(Text, Diagnostic)> {
    let found = lines::cut(&text.text);
    let range = found.strings.iter().rev().find(|range| wrap::looks_like_program(&text.text[(*range).clone()]))?;
    let mut inner = Text::default();
    inner.copy(text, range.clone());
    let first = &text.text[range.clone()];
    let start = range.start + (first.len() - first.trim_start().len());
    let end = start + text.text[start..].find('\n').unwrap_or(0);
    let span = text.place(crate::diag::Span::new(start, end));
    let note = Diagnostic::note("front-wrapped", "the program in this string is read", span);
    Some((inner, note))
}

/// True if most of a text is statements of Python.
fn looks_like_python(text: &str) -> bool {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let python = |line: &str| {
        ["def ", "class ", "import ", "from ", "for ", "with ", "return", "if "].iter().any(|word| line.starts_with(word))
            || line
                .split_once(" = ")
                .is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | ',' | ' ')))
    };
    let count = lines().filter(|line| python(line)).count();
    count > 0 && !text.contains(['%', ';']) && count * 4 >= lines().count()
}
