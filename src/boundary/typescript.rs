//! The protocol in TypeScript, and the checks of answers that come out of the sandbox. The text is as biome formats it.

use super::requests::{Asked, Body, beside_requests, requests};
use super::{Choice, Field, Message, NAME, Presence, Shape};
use crate::ir::sort::sort_by;
use crate::words::{Worded, Words};
use std::fmt::Write;

/// Columns of a line.
const WIDTH: usize = 100;

/// Something with a name in the protocol.
enum Named {
    Message(Message),
    Choice(Choice),
    Words(Words),
    Shared,
}

impl Named {
    fn name(&self) -> &'static str {
        match self {
            Named::Message(message) => message.name,
            Named::Choice(choice) => choice.name,
            Named::Words(words) => words.name,
            Named::Shared => "SharedDocument",
        }
    }
}

/// Everything that has a name, in the order in which it is met; `below` first what a thing consists of.
struct Names {
    found: Vec<Named>,
    met: Vec<&'static str>,
    below: bool,
}

impl Names {
    fn of<'s>(shapes: impl IntoIterator<Item = &'s Shape>, below: bool) -> Vec<Named> {
        let mut names = Names { found: Vec::new(), met: Vec::new(), below };
        shapes.into_iter().for_each(|shape| names.shape(shape));
        names.found
    }

    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Maybe(inner) | Shape::List(inner, _) | Shape::Record(inner, _) => self.shape(inner),
            Shape::Tuple(parts) => parts.iter().for_each(|part| self.shape(part)),
            Shape::Word(words) => self.named(Named::Words(*words), Vec::new()),
            Shape::Message(message) => {
                let message = message();
                let fields = message.fields.clone();
                self.named(Named::Message(message), fields);
            }
            Shape::Choice(choice) => {
                let choice = choice();
                let fields = choice.arms.concat();
                self.named(Named::Choice(choice), fields);
            }
            Shape::Shared => {
                self.shape(&document());
                self.named(Named::Shared, Vec::new());
            }
            _ => {}
        }
    }

    fn named(&mut self, named: Named, fields: Vec<Field>) {
        if self.met.contains(&named.name()) {
            return;
        }
        self.met.push(named.name());
        let inside = |field: &&Field| !self.below || field.presence != Presence::Inside;
        let fields: Vec<Field> = fields.iter().filter(inside).cloned().collect();
        if self.below {
            fields.iter().for_each(|field| self.shape(&field.shape));
            self.found.push(named);
        } else {
            self.found.push(named);
            fields.iter().for_each(|field| self.shape(&field.shape));
        }
    }
}

fn document() -> Shape {
    <super::documents::RunDocument as super::Crosses>::shape()
}

fn asked_shapes(asked: &Asked) -> Vec<Shape> {
    match &asked.body {
        Body::Fields(fields) => fields.iter().map(|field| field.shape.clone()).collect(),
        Body::Message(shape) => vec![shape.clone()],
    }
}

/// A comment of documentation at a depth.
pub(super) fn doc(out: &mut String, indent: &str, lines: &[&str]) {
    match lines {
        [] => {}
        [line] if indent.len() + line.len() + 7 <= WIDTH => {
            let _ = writeln!(out, "{indent}/**{line} */");
        }
        lines => {
            let _ = writeln!(out, "{indent}/**");
            lines.iter().for_each(|line| {
                let _ = writeln!(out, "{indent} *{line}");
            });
            let _ = writeln!(out, "{indent} */");
        }
    }
}

/// The type of a value. `frozen`: its lists are only read.
fn ty(shape: &Shape, frozen: bool) -> String {
    match shape {
        Shape::Flag => "boolean".into(),
        Shape::Whole | Shape::Real | Shape::Element => "number".into(),
        Shape::Text(_) => "string".into(),
        Shape::Word(words) => words.name.into(),
        Shape::Maybe(inner) => format!("{} | null", ty(inner, frozen)),
        Shape::List(inner, _) => {
            let inner = ty(inner, frozen);
            let inner = if inner.contains('|') { format!("({inner})") } else { inner };
            format!("{}{inner}[]", if frozen { "readonly " } else { "" })
        }
        Shape::Numbers(_) => "ArrayLike<number>".into(),
        Shape::Tuple(parts) => format!("[{}]", parts.iter().map(|part| ty(part, frozen)).collect::<Vec<_>>().join(", ")),
        Shape::Record(inner, _) if frozen => format!("Readonly<Record<string, {}>>", ty(inner, frozen)),
        Shape::Record(inner, _) => format!("Record<string, {}>", ty(inner, frozen)),
        Shape::Message(message) => message().name.into(),
        Shape::Choice(choice) => choice().name.into(),
        Shape::Shared => "SharedDocument".into(),
    }
}

/// A field as a type has it: `depth?: number`. One that may be left out is never null.
fn field(field: &Field, frozen: bool) -> String {
    let (mark, shape) = match (&field.presence, &field.shape) {
        (Presence::Always, shape) => ("", shape),
        (_, Shape::Maybe(inner)) => ("?", &**inner),
        (_, shape) => ("?", shape),
    };
    format!("{}{mark}: {}", field.name(), ty(shape, frozen))
}

fn braced(fields: &[Field], frozen: bool) -> String {
    format!("{{ {} }}", fields.iter().map(|one| field(one, frozen)).collect::<Vec<_>>().join("; "))
}

fn declared(out: &mut String, named: &Named, frozen: bool) {
    match named {
        Named::Message(message) => {
            doc(out, "", message.doc);
            let _ = writeln!(out, "export interface {} {{", message.name);
            for one in &message.fields {
                doc(out, "  ", one.doc);
                let _ = writeln!(out, "  {};", field(one, frozen));
            }
            out.push_str("}\n\n");
        }
        Named::Choice(choice) => {
            doc(out, "", choice.doc);
            let _ = write!(out, "export type {} =", choice.name);
            choice.arms.iter().for_each(|arm| {
                let _ = write!(out, "\n  | {}", braced(arm, true));
            });
            out.push_str(";\n\n");
        }
        Named::Words(words) => {
            doc(out, "", words.doc);
            let _ = write!(out, "export type {} =", words.name);
            for (word, said) in words.words {
                let _ = write!(out, "\n  /**{said} */\n  | \"{word}\"");
            }
            out.push_str(";\n\n");
        }
        Named::Shared => {
            doc(out, "", &[" A document of which something is looked at."]);
            out.push_str("export type SharedDocument = RunDocument & { view: ViewState };\n\n");
        }
    }
}

fn request(out: &mut String, asked: &Asked) {
    doc(out, "  ", asked.doc);
    let head = format!("{{ id: number; type: \"{}\"", asked.word);
    let _ = match &asked.body {
        Body::Message(shape) => writeln!(out, "  | ({head} }} & {})", ty(shape, false)),
        Body::Fields(fields) => {
            let fields: String = fields.iter().map(|one| format!("; {}", field(one, false))).collect();
            writeln!(out, "  | {head}{fields} }}")
        }
    };
}

/// Declares messages that are only read, and what they are made of.
pub(super) fn declarations(shapes: &[Shape]) -> String {
    let mut out = String::new();
    Names::of(shapes, false).iter().for_each(|named| declared(&mut out, named, true));
    out
}

/// Returns the text of `www/engine/protocol.ts`.
pub fn protocol() -> String {
    let requests = requests();
    let asked: Vec<Shape> = requests.iter().flat_map(asked_shapes).collect();
    let answered: Vec<Shape> = requests.iter().map(|asked| asked.answer.clone()).chain(beside_requests()).collect();
    // Messages that stand only in requests have `readonly` fields.
    let known: Vec<&str> = Names::of(&answered, false).iter().map(Named::name).collect();
    let mut out = String::from(HEAD);
    for named in Names::of(asked.iter().chain(&answered), false) {
        declared(&mut out, &named, !known.contains(&named.name()));
    }
    let kinds = crate::diff::DiffKind::WORDS;
    doc(&mut out, "", &[" The kinds of lines by the number that the engine gives them."]);
    let words: Vec<String> = kinds.words.iter().map(|(word, _)| format!("  \"{word}\",\n")).collect();
    let _ = write!(out, "export const DIFF_KINDS: readonly {}[] = [\n{}];\n\n", kinds.name, words.concat());
    doc(&mut out, "", &[" The requests of the page. `id` comes back in the answer."]);
    out.push_str("export type Request =\n");
    requests.iter().for_each(|asked| request(&mut out, asked));
    out.pop();
    out.push_str(";\n\n");
    doc(&mut out, "", &[" The answer to each request."]);
    out.push_str("export interface Answers {\n");
    for asked in &requests {
        let _ = writeln!(out, "  {}: {};", asked.word, ty(&asked.answer, false));
    }
    out.push_str("}\n\n");
    out.push_str(RESPONSE);
    out
}

/// Returns a number as it is written.
fn number(value: usize) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    out
}

/// The name of the reader of a message.
fn reader_name(name: &str) -> String {
    name[..1].to_lowercase() + &name[1..]
}

/// The expression that reads a value.
fn reader(shape: &Shape) -> String {
    match shape {
        Shape::Flag => "flag".into(),
        Shape::Whole => "whole".into(),
        Shape::Real => "real".into(),
        Shape::Element => "element".into(),
        Shape::Text(None) => "text".into(),
        Shape::Text(Some(most)) => format!("short({})", number(*most)),
        Shape::Word(words) => reader_name(words.name),
        Shape::Maybe(inner) => format!("maybe({})", reader(inner)),
        Shape::List(inner, most) => format!("list({}, {})", reader(inner), number(*most)),
        Shape::Numbers(most) => format!("list(whole, {})", number(*most)),
        Shape::Tuple(parts) => {
            let word = if parts.len() == 2 { "pair" } else { "triple" };
            format!("{word}({})", parts.iter().map(reader).collect::<Vec<_>>().join(", "))
        }
        Shape::Record(inner, most) => format!("dictionary({}, {}, {})", number(NAME), reader(inner), number(*most)),
        Shape::Message(message) => reader_name(message().name),
        Shape::Choice(choice) => reader_name(choice().name),
        Shape::Shared => "shared(runDocument)".into(),
    }
}

/// `oneOf<Fate>("source", "kept")`, broken where it is too long.
fn one_of(words: &Words) -> String {
    let head = format!("const {} = oneOf<{}>(", reader_name(words.name), words.name);
    let all: Vec<String> = words.words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    let line = format!("{head}{});\n", all.join(", "));
    if line.len() <= WIDTH {
        return line;
    }
    let lines: Vec<String> = all.iter().map(|word| format!("  {word},\n")).collect();
    format!("{head}\n{});\n", lines.concat())
}

/// Returns the text of `www/sandbox/answers.ts`.
pub fn answers() -> String {
    let requests: Vec<Asked> = requests().into_iter().filter(|asked| asked.of_sandbox).collect();
    let shapes: Vec<Shape> = requests.iter().map(|asked| asked.answer.clone()).collect();
    let names = Names::of(&shapes, true);
    let mut readers = String::new();
    for named in &names {
        match named {
            Named::Words(words) => readers += &one_of(words),
            Named::Message(message) => {
                let (name, ty) = (reader_name(message.name), message.name);
                let _ = writeln!(readers, "const {name} = record<{ty}>({{");
                for field in &message.fields {
                    let read = match (field.presence, &field.shape) {
                        (Presence::Always, shape) => reader(shape),
                        (Presence::Optional, Shape::Maybe(inner)) => format!("optional({})", reader(inner)),
                        (Presence::Optional, shape) => format!("optional({})", reader(shape)),
                        (Presence::Inside, _) => "nothing".into(),
                    };
                    let name = field.name();
                    let _ = if name == read { writeln!(readers, "  {name},") } else { writeln!(readers, "  {name}: {read},") };
                }
                readers.push_str("});\n");
            }
            Named::Choice(_) | Named::Shared => {}
        }
    }
    let mut table = String::from("export const answers = {\n");
    for asked in &requests {
        let (word, read) = (&asked.word, reader(&asked.answer));
        let _ = if *word == read { writeln!(table, "  {word},") } else { writeln!(table, "  {word}: {read},") };
    }
    table.push_str("} satisfies { [K in keyof Answers]?: Read<Answers[K]> };\n");
    let mut types: Vec<&str> = names.iter().filter(|named| !matches!(named, Named::Shared)).map(Named::name).collect();
    types.push("Answers");
    sort_by(&mut types, |a, b| a.cmp(b));
    let mut words = Vec::new();
    for word in [
        "dictionary",
        "element",
        "flag",
        "list",
        "maybe",
        "nothing",
        "oneOf",
        "optional",
        "pair",
        "real",
        "record",
        "shared",
        "short",
        "text",
        "triple",
        "whole",
    ] {
        let used = |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(|part| part == word);
        if used(&readers) || used(&table) {
            words.push(word);
        }
    }
    let imported = |names: &[&str]| names.iter().map(|name| format!("  {name},\n")).collect::<String>();
    words.push("type Read");
    let key = |word: &str| word.trim_start_matches("type ").to_lowercase();
    sort_by(&mut words, |a, b| key(a).cmp(&key(b)));
    format!(
        "{}import type {{\n{}}} from \"../engine/protocol\";\nimport {{\n{}}} from \"./readers\";\n\n{readers}\n/** The readers of the sandbox's answers. */\n{table}",
        ANSWERS_HEAD,
        imported(&types),
        imported(&words)
    )
}

const HEAD: &str = "\
/**
 * The messages between the page and the engine. Written by `cargo xtask codegen` from `src/boundary`; not to be edited.
 *
 * The engine (Rust, compiled to WebAssembly) lives in a worker. A `run` is one document: a program, a pass list and a
 * context. Its answer is a summary: small, always whole. Everything big (texts, diffs, values) is pulled for the step
 * that is looked at. Versions of the module are numbered from 0 (the program as parsed) and belong to the newest `run`
 * that answered `ok: true`. A run that could not start (`ok: false`) leaves the versions of the last good one in place,
 * so that the page can go on showing and stepping through it while the program has errors. Offsets into text are UTF-16
 * code units, as CodeMirror counts them; lines and columns start at 1.
 */

";

const RESPONSE: &str = "\
/** The answers of the engine. `failed` is the engine itself failing (a bug), never a bad program. */
export type Response =
  | { [K in keyof Answers]: { id: number; type: K; value: Answers[K] } }[keyof Answers]
  | { id: number; type: \"failed\"; message: string };
";

const ANSWERS_HEAD: &str = "\
/**
 * Readers of the answers that come out of the sandbox: only the fields of a message are copied, all of them checked.
 * Written by `cargo xtask codegen` from `src/boundary`; not to be edited.
 */

";
