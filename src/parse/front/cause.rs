//! From many errors to their cause: what follows from another error is not said.

use super::lines;
use super::python::{given, stands_for_itself, words};
use super::text::Text;
use crate::diag::{Diagnostic, LineIndex, Span};
use crate::ir::sort::sort_by;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The text that was read, and the source that it comes from.
#[derive(Clone, Copy)]
pub(super) struct Program<'t> {
    pub(super) read: &'t Text,
    pub(super) source: &'t str,
}

impl Program<'_> {
    /// Returns the line of the source, from 1, of a byte of what was read. `lines` are those of the source.
    fn line(self, lines: &LineIndex, at: u32) -> usize {
        let place = self.read.place(Span::new(at as usize, at as usize));
        lines.line_column(self.source, place.start).0
    }
}

/// Notes that name the line and column of a bracket in what was read name those of the source.
pub(super) fn brackets(found: &mut Diagnostic, program: Program<'_>) {
    for note in &mut found.notes {
        let place = || -> Option<String> {
            let (bracket, rest) = note.split_once("` in line ").filter(|(bracket, _)| bracket.len() == 2)?;
            let ((line, rest), text) = (rest.split_once(", column ")?, program.read.text.as_str());
            let (column, says) = rest.split_once(' ')?;
            let (line, column): (usize, usize) = (line.parse().ok()?, column.parse().ok()?);
            let at: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
            let at = at + text[at..].chars().take(column - 1).map(char::len_utf8).sum::<usize>();
            let place = program.read.place(Span::new(at, at));
            let (line, column) = LineIndex::new(program.source).line_column(program.source, place.start);
            Some(format!("{bracket}` in line {line}, column {column} {says}"))
        };
        *note = place().unwrap_or_else(|| std::mem::take(note));
    }
}

/// The errors of a text of Python that a reader needs.
pub(super) fn script(found: Vec<Diagnostic>, program: Program<'_>) -> Vec<Diagnostic> {
    let (errors, others): (Vec<Diagnostic>, Vec<Diagnostic>) = found.into_iter().partition(Diagnostic::is_error);
    let mut out = match one_cause(&errors, program) {
        Some(cause) => vec![cause],
        None => once(syntax_first(errors, &program.read.text), program),
    };
    out.extend(others);
    out
}

/// The errors of a text of Relay that a reader needs.
pub(super) fn relay(found: Vec<Diagnostic>, program: Program<'_>) -> Vec<Diagnostic> {
    let text = program.read.text.as_str();
    let numbered = |d: &&Diagnostic| {
        let name = d.span.and_then(|span| text.get(span.start as usize..)).unwrap_or("");
        d.code == "relay-unbound-var" && name.starts_with('%') && name[1..].starts_with(|c: char| c.is_ascii_digit())
    };
    let unbound: Vec<&Diagnostic> = found.iter().filter(numbered).collect();
    let whole = text.contains("def ") || text.contains("fn");
    // Of a piece with `let`s several names are unknown.
    let all: Vec<&Diagnostic> = found.iter().filter(|d| d.code == "relay-unbound-var").collect();
    let unbound = if unbound.is_empty() && all.len() > 1 { all } else { unbound };
    if let (false, Some(first)) = (whole, unbound.first()) {
        let name = |d: &&Diagnostic| d.span.and_then(|s| text.get(s.start as usize..s.end as usize)).unwrap_or("").to_owned();
        let names: Vec<String> =
            unbound.iter().map(name).filter(|name| !name.is_empty()).map(|name| format!("`{name}`")).collect();
        let message = "this is a piece of a function: what stands before it is missing";
        let piece = Diagnostic::error("front-fragment", message, first.span);
        return vec![piece.with_note(format!("it uses {}, which it does not say", names.join(", ")))];
    }
    match valueless(&found, text) {
        Some(cause) => vec![cause],
        None => once(found, program),
    }
}

/// The names of a Relay text that stand where an extent or an element type belongs, when nothing else is wrong.
fn valueless(found: &[Diagnostic], text: &str) -> Option<Diagnostic> {
    let mut names: Vec<&str> = Vec::new();
    for error in found.iter().filter(|found| found.is_error()) {
        let asks = ["expected an extent", "unknown element type"].iter().any(|start| error.message.starts_with(start));
        let name = text.get(error.span?.start as usize..error.span?.end as usize)?;
        let word = name.chars().all(|c| c.is_alphanumeric() || c == '_') && name.starts_with(char::is_alphabetic);
        // `dtype=bool` names what stands behind it.
        let names_another = text[error.span?.end as usize..].starts_with('=');
        if !asks || !word || names_another {
            return None;
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let first = *names.first()?;
    let message = format!("`{}` comes from around the program, and the text does not say what it is", names.join("`, `"));
    let place = found.iter().find(|found| found.is_error()).and_then(|error| error.span);
    let cause = Diagnostic::error("front-define", message, place);
    let cause = cause.with_note(format!("give it a value: --define {first}={}", likely(first)));
    let places: Vec<(u32, &str)> = names.iter().map(|name| (0, *name)).collect();
    Some(cause.asking(asked(&places), "//"))
}

/// The name of an error about one that means nothing.
fn unknown_name(error: &Diagnostic) -> Option<&str> {
    match error.code {
        "tir-undefined" => error.message.strip_prefix("Undefined variable: "),
        "relax-unbound-var" => error.message.strip_prefix('`').and_then(|rest| rest.strip_suffix("` is not defined")),
        _ => None,
    }
}

/// A name that a line gives which cannot be read is not unknown.
fn syntax_first(errors: Vec<Diagnostic>, text: &str) -> Vec<Diagnostic> {
    if !errors.iter().any(|d| d.code.starts_with("script-")) {
        return errors;
    }
    let known: FxHashSet<&str> = text.lines().flat_map(|line| given(line.trim_start())).collect();
    errors.into_iter().filter(|d| unknown_name(d).is_none_or(|name| !known.contains(name))).collect()
}

/// Says the same thing once, with the lines where it is true, too.
fn once(found: Vec<Diagnostic>, program: Program<'_>) -> Vec<Diagnostic> {
    let mut lines = None;
    let mut out: Vec<Diagnostic> = Vec::with_capacity(found.len());
    let mut again: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut first: FxHashMap<(&'static str, String), usize> = FxHashMap::default();
    for error in found {
        let key = (error.code, error.message.clone());
        match (first.get(&key), error.is_error()) {
            (Some(place), true) => {
                let lines = lines.get_or_insert_with(|| LineIndex::new(program.source));
                let line = error.span.map(|span| program.line(lines, span.start).to_string());
                again.entry(*place).or_default().extend(line);
            }
            _ => {
                first.insert(key, out.len());
                out.push(error);
            }
        }
    }
    for (place, mut lines) in again {
        const MOST: usize = 8;
        lines.dedup();
        let more = if lines.len() > MOST { ", ..." } else { "" };
        lines.truncate(MOST);
        out[place].notes.push(format!("the same in line {}{more}", lines.join(", ")));
    }
    out
}

/// The cause that all errors have, if there is one.
fn one_cause(errors: &[Diagnostic], program: Program<'_>) -> Option<Diagnostic> {
    let text = program.read.text.as_str();
    let coded = |code: &str| errors.iter().find(|error| error.code == code).cloned();
    if let Some(device) = coded("tir-device-dialect") {
        return Some(device);
    }
    let ellipsis = |error: &&Diagnostic| {
        let span = error.span.and_then(|span| text.get(span.start as usize..span.end as usize));
        span == Some("...")
    };
    let line = || {
        let mut at = 0;
        text.split_inclusive('\n').find_map(|line| {
            let start = at + line.len() - line.trim_start().len();
            at += line.len();
            (line.trim() == "...").then(|| Diagnostic::error("", "", Span::new(start, start + 3)))
        })
    };
    if let Some(hole) = errors.iter().find(ellipsis).cloned().or_else(line) {
        let message = "the program is not complete: `...` stands where TVM has to know something";
        return Some(Diagnostic::error("front-incomplete", message, hole.span).with_note("write what the text leaves out"));
    }
    unknown_names(errors, program)
}

/// Names that nothing in the text gives a meaning: they come from around the program.
fn unknown_names(errors: &[Diagnostic], program: Program<'_>) -> Option<Diagnostic> {
    let text = program.read.text.as_str();
    let mut names: BTreeMap<&str, (u32, &Diagnostic)> = BTreeMap::new();
    for error in errors {
        if let (Some(name), Some(span)) = (unknown_name(error), error.span) {
            names.entry(name).or_insert((span.start, error));
        }
    }
    // If most errors are about something else, each is reported.
    let unknown = errors.iter().filter(|error| matches!(error.code, "tir-undefined" | "relax-unbound-var")).count();
    if names.is_empty() || unknown * 2 < errors.len() {
        return None;
    }
    // A name that has a meaning somewhere follows from another error.
    for line in lines::cut(text).lines {
        for name in given(&text[line.range]) {
            names.remove(name);
        }
    }
    let (_, (_, error)) = names.iter().min_by_key(|(_, (at, _))| *at)?;
    let error = *error;
    let mut places = free_names(text);
    let wanted = first_of(&names);
    places.retain(|(at, name)| *name == wanted || !text[*at as usize + name.len()..].starts_with('.'));
    if places.is_empty() {
        places = names.iter().map(|(name, (at, _))| (*at, *name)).collect();
        sort_by(&mut places, |a, b| a.cmp(b));
    }
    let (_, first) = *places.first()?;
    let called = |(at, name): &(u32, &str)| {
        let at = *at as usize;
        text[at + name.len()..].starts_with('(') || text[..at].ends_with("call_tir(")
    };
    if errors.len() == 1 && places.len() == 1 && !called(&places[0]) {
        let mut only = error.clone();
        only.notes.push(format!("if it comes from around the program, give it a value: --define {first}={}", likely(first)));
        // A name that is misspelled has no value to ask for.
        let meant = only.notes.iter().any(|note| note.starts_with("did you mean"));
        return Some(if meant { only } else { only.asking(asked(&places), "#") });
    }
    let listed = |names: &[(u32, &str)]| names.iter().map(|(_, name)| format!("`{name}`")).collect::<Vec<String>>().join(", ");
    let message = match places.len() {
        1 => format!("`{first}` comes from around the program, and the text does not say what it is"),
        _ => format!("{} come from around the program, and the text does not say what they are", listed(&places)),
    };
    let lines = LineIndex::new(program.source);
    let used = |(at, name): &(u32, &str)| format!("`{name}` in line {}", program.line(&lines, *at));
    let mut cause = Diagnostic::error("front-define", message, error.span);
    if places.len() > 1 {
        cause.notes.push(format!("first used: {}", places.iter().map(used).collect::<Vec<String>>().join(", ")));
    }
    if let Some((_, function)) = places.iter().find(|place| called(place)) {
        cause.notes.push(format!(
            "`{function}` is a function that the text does not have: paste what `.script()` prints of the whole program, where \
             calls of Python are written out"
        ));
        places.retain(|place| !called(place));
    }
    let Some((_, first)) = places.first().copied() else { return Some(cause) };
    let given = likely(first);
    let quote = if matches!(given, "float32" | "global") { "\"" } else { "" };
    let help = format!("write `{first} = {quote}{given}{quote}` above the program, or give it a value: --define {first}={given}");
    cause.notes.push(help);
    cause = cause.asking(asked(&places), "#");
    for near in error.notes.iter().filter(|note| first.len() > 2 && note.starts_with("did you mean")) {
        cause.notes.push(near.clone());
    }
    Some(cause)
}

/// A value that a name from around a program may have, by the way such names are chosen.
fn likely(name: &str) -> &'static str {
    match name {
        _ if name.contains("type") => "float32",
        _ if name.contains("shape") => "(128, 128)",
        _ if name.contains("scope") => "global",
        _ => "128",
    }
}

fn asked(places: &[(u32, &str)]) -> Vec<(String, String)> {
    places.iter().map(|(_, name)| ((*name).to_owned(), likely(name).to_owned())).collect()
}

/// The name that is used first.
fn first_of<'t>(names: &BTreeMap<&'t str, (u32, &Diagnostic)>) -> &'t str {
    names.iter().min_by_key(|(_, (at, _))| *at).map_or("", |(name, _)| name)
}

/// The names that a program uses and nothing in it gives a meaning, each with its first place.
fn free_names(text: &str) -> Vec<(u32, &str)> {
    const KNOWN: &[&str] = &[
        "T",
        "R",
        "I",
        "Tx",
        "tir",
        "tirx",
        "relax",
        "tvm",
        "script",
        "ty",
        "ir",
        "topi",
        "cls",
        "self",
        "metadata",
        "range",
        "len",
        "min",
        "max",
        "int",
        "float",
        "bool",
        "str",
        "tuple",
        "list",
        "abs",
        "sum",
        "slice",
        "reversed",
        "zip",
        "enumerate",
        "True",
        "False",
        "None",
        "and",
        "or",
        "not",
        "if",
        "else",
        "elif",
        "for",
        "in",
        "while",
        "with",
        "as",
        "return",
        "def",
        "class",
        "lambda",
        "pass",
        "assert",
        "is",
        "import",
        "from",
        "break",
        "continue",
        "Tensor",
        "Shape",
        "Tuple",
        "Object",
        "Callable",
    ];
    let mut known: FxHashSet<&str> = KNOWN.iter().copied().collect();
    let lines = lines::cut(text).lines;
    for line in &lines {
        let statement = &text[line.range.clone()];
        known.extend(given(statement));
        let definition = ["def ", "class "].iter().any(|word| statement.starts_with(word));
        let import = ["import ", "from "].iter().any(|word| statement.starts_with(word));
        let count = if definition {
            2
        } else if import {
            usize::MAX
        } else {
            0
        };
        known.extend(words(statement).into_iter().take(count).map(|word| &statement[word]));
    }
    let mut free = Vec::new();
    for line in lines.iter().filter(|line| !text[line.range.clone()].starts_with('@')) {
        for word in words(&text[line.range.clone()]) {
            let range = line.range.start + word.start..line.range.start + word.end;
            let name = &text[range.clone()];
            if !known.contains(name) && stands_for_itself(text, &range) {
                known.insert(name);
                free.push((range.start as u32, name));
            }
        }
    }
    free
}
