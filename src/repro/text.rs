//! A document as text: a program with a head of comment lines, which TVM skips.
//!
//! ```text
//! // passlab 1
//! // pass: SimplifyInference()
//! // off: FoldConstant()
//! // opt_level: 3
//! // config: relay.FuseOps.max_depth=10
//! // script:| functionPass({ name: "Mine" }, f => f);
//! // parent:| // passlab 1
//! #[version = "0.0.5"]
//! def @main() { ... }
//! ```
//!
//! In front of TVMScript the comments are Python's: `# passlab 1`.
//!
//! Only values that differ from the default are written, always in the same order, so that the same document is the
//! same text. A program without the head is a document too: one without passes.

use super::{Document, DocumentRow, File, MOST_ENTRIES, Made};
use crate::diag::{Diagnostic, Span};
use crate::parse::is_script;
use crate::pass::PassContext;
use crate::pass::call::{parse_calls, parse_literal};
use std::fmt::Write;

const HEAD: &str = "passlab ";
/// The begin of a comment, in Relay and in TVMScript.
const MARKS: [&str; 2] = ["// ", "# "];
const VERSION: u32 = 1;
/// The key of each line of a file, after a line `file: NAME`.
const FILE: &str = "file:|";
/// Ends a head before a program that begins like one.
const END: &str = "program:";
/// The key of each line of the script, behind the mark.
const SCRIPT: &str = "script:|";
/// The key of each line of the document that this one was forked from.
const PARENT: &str = "parent:|";

/// Writes a document.
pub fn write(document: &Document) -> String {
    let mark = MARKS[usize::from(is_script(&document.source))];
    let mut out = format!("{mark}{HEAD}{VERSION}\n");
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(out, "{mark}{key}: {value}");
    };
    for row in &document.rows {
        line(if row.enabled { "pass" } else { "off" }, &one_line(&row.call));
    }
    let PassContext { opt_level, required, disabled, config } = &document.context;
    if *opt_level != PassContext::default().opt_level {
        line("opt_level", &opt_level.to_string());
    }
    for (key, names) in [("required", required), ("disabled", disabled), ("instruments", &document.instruments)] {
        if !names.is_empty() {
            line(key, &one_line(&names.join(", ")));
        }
    }
    for (key, value) in config.iter() {
        line("config", &one_line(&format!("{key}={value}")));
    }
    let Made { engine, result } = &document.made;
    for (key, value) in [("step", &document.view.step), ("view", &document.view.view), ("engine", engine), ("result", result)] {
        if !value.is_empty() {
            line(key, &one_line(value));
        }
    }
    // Each line is copied up to its end: the mark before it preserves the leading spaces.
    let lines = |out: &mut String, key: &str, text: &str| {
        for text in text.split('\n').filter(|_| !text.is_empty()) {
            let _ = writeln!(out, "{mark}{key}{text}");
        }
    };
    lines(&mut out, SCRIPT, &document.script);
    lines(&mut out, PARENT, &document.parent);
    for file in &document.files {
        // A file without a name has this line, too: it is where the file begins.
        let _ = writeln!(out, "{mark}file: {}", one_line(&file.name));
        lines(&mut out, FILE, &file.text);
    }
    // The program may begin with a comment that looks like the head.
    if head_key(mark, document.source.split('\n').next().unwrap_or_default()).is_some() {
        out += mark;
        out += END;
        out.push('\n');
    }
    out += &document.source;
    out
}

/// Returns the key of a line that looks like one of the head.
fn head_key<'t>(mark: &str, line: &'t str) -> Option<&'t str> {
    let (key, _) = line.strip_prefix(mark)?.split_once(':')?;
    key.chars().all(|c| c.is_ascii_lowercase() || c == '_').then_some(key)
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ").trim().to_owned()
}

/// Parses a document. Invalid lines of the head, and entries beyond [`MOST_ENTRIES`], are left out and reported as
/// warnings; a head of a later version is an error.
pub fn read(text: &str) -> Result<(Document, Vec<Diagnostic>), Diagnostic> {
    let mut document = Document::default();
    let mut warnings = Vec::new();
    let first = text.lines().next().unwrap_or_default();
    let head = |mark: &'static str| Some((mark, first.strip_prefix(mark)?.strip_prefix(HEAD)?));
    let Some((mark, version)) = MARKS.into_iter().find_map(head) else {
        document.source = text.to_owned();
        return Ok((document, warnings));
    };
    match version.trim().parse::<u32>() {
        Ok(VERSION) => {}
        Ok(later) if later > VERSION => {
            let message = format!("this was written by a later passlab (format {later}, this one reads {VERSION})");
            return Err(Diagnostic::error("repro-version", message, None));
        }
        _ => return Err(Diagnostic::error("repro-version", format!("`{}` is not a format version", version.trim()), None)),
    }
    let mut at = text.find('\n').map_or(text.len(), |i| i + 1);
    let (mut script, mut parent): (Option<String>, Option<String>) = (None, None);
    let (text_len, mut begun) = (text.len(), false);
    let mut left_out: Vec<(&str, usize)> = Vec::new();
    while let Some(line) = text[at..].split('\n').next().filter(|_| at < text.len()) {
        let of = |key: &str| line.strip_prefix(mark).and_then(|rest| rest.strip_prefix(key));
        let longer = of(SCRIPT).map(|code| (&mut script, code)).or_else(|| Some((&mut parent, of(PARENT)?)));
        if let Some((so_far, more)) = longer {
            match so_far {
                None => *so_far = Some(more.to_owned()),
                Some(text) => {
                    text.push('\n');
                    text.push_str(more);
                }
            }
            at = (at + line.len() + 1).min(text.len());
            continue;
        }
        if let Some(text) = line.strip_prefix(mark).and_then(|rest| rest.strip_prefix(FILE)) {
            let Some(file) = document.files.last_mut() else { break };
            // The lines of a file that is left out are left out, too.
            if !left_out.iter().any(|(what, _)| *what == "files") {
                if !std::mem::replace(&mut begun, true) {
                    file.text.clear();
                } else {
                    file.text.push('\n');
                }
                file.text.push_str(text);
            }
            at = (at + line.len() + 1).min(text_len);
            continue;
        }
        begun = false;
        if line.strip_prefix(mark) == Some(END) {
            at = (at + line.len() + 1).min(text.len());
            break;
        }
        let line = line.trim_end_matches('\r');
        let Some((key, value)) = line.strip_prefix(mark).and_then(|l| l.split_once(':')) else { break };
        // Options of the parser are part of the program.
        if matches!(key, "define" | "pick") {
            break;
        }
        let full = document.sizes().into_iter().find(|(what, count)| *count >= MOST_ENTRIES && list_of(key) == *what);
        if let Some((what, _)) = full {
            match left_out.iter_mut().find(|(of, _)| *of == what) {
                Some((_, count)) => *count += 1,
                None => left_out.push((what, 1)),
            }
        } else if !head_line(&mut document, key, &one_line(value)) {
            if head_key(mark, line).is_none() {
                break;
            }
            let message = format!("cannot read the line `{line}`");
            warnings.push(Diagnostic::warning("repro-line", message, Span::new(at, at + line.len())));
        }
        at += line.len();
        at += text[at..].bytes().take_while(|b| *b == b'\r').count();
        at = (at + 1).min(text.len());
    }
    left_out.extend(document.shorten());
    warnings.extend(left_out.into_iter().map(|(what, count)| {
        let message = format!("it has {} {what}, of which the first {MOST_ENTRIES} are taken", MOST_ENTRIES + count);
        Diagnostic::warning("document-large", message, None)
    }));
    document.script = script.unwrap_or_default();
    document.parent = parent.unwrap_or_default();
    document.source = text[at..].to_owned();
    Ok((document, warnings))
}

/// Returns the list that a line of the head with this key adds to, by its name in `Document::sizes`.
fn list_of(key: &str) -> &'static str {
    match key {
        "pass" | "off" => "passes",
        "file" => "files",
        "config" => "settings",
        _ => "",
    }
}

/// Adds one line of the head to the document; false when it is invalid.
fn head_line(document: &mut Document, key: &str, value: &str) -> bool {
    let names = || value.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    match key {
        "pass" | "off" => document.rows.push(DocumentRow { call: value.to_owned(), enabled: key == "pass" }),
        "opt_level" => match value.parse() {
            Ok(level) => document.context.opt_level = level,
            Err(_) => return false,
        },
        "required" => document.context.required = names(),
        "disabled" => document.context.disabled = names(),
        "instruments" => match parse_calls(value) {
            // A call without arguments is written as its name.
            Ok(calls) => document.instruments = calls.iter().map(|c| c.to_string().trim_end_matches("()").to_owned()).collect(),
            Err(_) => return false,
        },
        "config" => match value.split_once('=').and_then(|(k, v)| Some((k, parse_literal(v)?))) {
            Some((k, v)) => {
                document.context.config.insert(k.trim().to_owned(), v);
            }
            None => return false,
        },
        "step" => document.view.step = value.to_owned(),
        "view" => document.view.view = value.to_owned(),
        "file" => document.files.push(File { name: value.to_owned(), text: String::new() }),
        "engine" => document.made.engine = value.to_owned(),
        "result" => document.made.result = value.to_owned(),
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::Literal;

    #[test]
    fn a_carriage_return_in_a_line_of_the_head_is_a_space_when_it_is_read_too() {
        let head = "// passlab 1\n// config: a\rb=1\n// config: a c=2\n\n";
        let (document, _) = read(head).expect("it is a head");
        assert_eq!(read(&write(&document)).expect("it is written").0, document);
        let keys: Vec<&str> = document.context.config.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["a b", "a c"]);
    }

    fn example() -> Document {
        let mut document = Document { source: "#[version = \"0.0.5\"]\ndef @main() { 1 }\n".into(), ..Document::default() };
        document.rows.push(DocumentRow { call: "FuseOps(fuse_opt_level=2)".into(), enabled: true });
        document.rows.push(DocumentRow { call: "FoldConstant()".into(), enabled: false });
        document.context.opt_level = 3;
        document.context.disabled = vec!["FastMath".into(), "FuseOps".into()];
        document.context.config.insert("relay.FuseOps.max_depth".into(), Literal::Int(10));
        document.instruments = vec!["VerifyEach".into(), "PassPrintingInstrument([], [\"FuseOps\", \"FastMath\"])".into()];
        document.view.step = "FuseOps#1/InferType#1".into();
        document.files = vec![
            File { name: "000_Mine.relay".into(), text: "1\n// file: not one\n".into() },
            File { name: "001_FuseOps.relay".into(), text: "  2".into() },
        ];
        document.made = Made { engine: "0.1.0".into(), result: "00ff7a".into() };
        document.parent = "// passlab 1\n// parent:| none\n\ndef @main() { 2 }\n".into();
        document.script = "\n  // script:| mine\n\tlet a = 1;  \r\n".into();
        document
    }

    #[test]
    fn in_front_of_tvmscript_the_head_is_comments_of_python() {
        let mut document = Document { source: "@I.ir_module\nclass Module:\n    pass\n".into(), ..Document::default() };
        document.rows.push(DocumentRow { call: "Normalize()".into(), enabled: true });
        document.script = "functionPass({ name: 'Mine' }, f => f);".into();
        let text = write(&document);
        assert!(text.starts_with("# passlab 1\n# pass: Normalize()\n# script:|functionPass("), "{text}");
        assert_eq!(read(&text).unwrap().0, document);
    }

    #[test]
    fn a_document_is_read_as_it_was_written() {
        let document = example();
        assert_eq!(read(&write(&document)), Ok((document, vec![])));
        assert_eq!(read(&write(&Document::default())), Ok((Document::default(), vec![])));
    }

    #[test]
    fn a_plain_program_is_a_document_without_passes() {
        let (document, warnings) = read("// a comment\ndef @main() { 1 }").unwrap();
        assert_eq!(document.source, "// a comment\ndef @main() { 1 }");
        assert!(document.rows.is_empty() && warnings.is_empty());
    }

    #[test]
    fn comments_of_the_program_stay_with_the_program() {
        let mut document = example();
        for source in ["// Note: mine\n// passlab 7\n1", "// pass: mine\n1", "// script:| mine", "// program:\n", "\n", "\r\n1"] {
            document.source = source.into();
            assert_eq!(read(&write(&document)), Ok((document.clone(), vec![])));
        }
    }

    #[test]
    fn a_file_without_a_name_is_read_back_as_one() {
        let file = |name: &str, text: &str| File { name: name.into(), text: text.into() };
        let document = Document { files: vec![file("", "1"), file("a", ""), file("", "// pass: 2")], ..Document::default() };
        assert_eq!(read(&write(&document)), Ok((document, vec![])));
    }

    /// A link of 3.5 KB can hold this, and the page used to freeze for a minute on every visit.
    #[test]
    fn a_hundred_thousand_rows_are_cut_short_with_a_message() {
        let rows = "// pass: FoldConstant()\n".repeat(100_000);
        let config: String = (0..3000).map(|i| format!("// config: k{i:04}=1\n")).collect();
        let names = vec!["VerifyEach"; 5000].join(", ");
        let text = format!("// passlab 1\n{rows}{config}// instruments: {names}\n// opt_level: 3\ndef @main() {{ 1 }}\n");
        let (document, warnings) = read(&text).unwrap();
        assert_eq!((document.rows.len(), document.context.config.iter().count()), (MOST_ENTRIES, MOST_ENTRIES));
        assert_eq!((document.instruments.len(), document.context.opt_level), (MOST_ENTRIES, 3));
        assert_eq!(document.source, "def @main() { 1 }\n");
        let said: Vec<&str> = warnings.iter().map(|w| w.message.as_str()).collect();
        let expected = [
            "it has 100000 passes, of which the first 2000 are taken",
            "it has 3000 settings, of which the first 2000 are taken",
            "it has 5000 instruments, of which the first 2000 are taken",
        ];
        assert_eq!(said, expected);
        let files: String = (0..2002).map(|i| format!("// file: {i}\n// file:| {i}\n// file:|more\n")).collect();
        let (document, warnings) = read(&format!("// passlab 1\n{files}1")).unwrap();
        assert_eq!((document.files.len(), warnings.len()), (MOST_ENTRIES, 1));
        assert_eq!(document.files[MOST_ENTRIES - 1].text, " 1999\nmore");
    }

    #[test]
    fn a_later_format_is_refused_by_name() {
        assert_eq!(read("// passlab 2\n").unwrap_err().code, "repro-version");
    }
}
