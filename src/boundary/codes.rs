//! The numbers that scripts say to the engine, as JavaScript and Python have them.

use super::Crosses;
use super::scripts::{ContextDesc, InstrumentDesc, PassDesc, codes};
use super::typescript::{declarations, doc};
use crate::print;
use std::fmt::Write;

/// Returns the text of `www/user/calls.ts`.
pub fn calls() -> String {
    let mut out = String::from(
        "/**\n * Scripts speak to the engine: messages, and numbers that stand for words. Written by `cargo xtask codegen` from\n * `src/boundary`; not to be edited.\n */\n\n",
    );
    out += &declarations(&[PassDesc::shape(), InstrumentDesc::shape(), ContextDesc::shape()]);
    for (name, words) in codes() {
        doc(&mut out, "", words.doc);
        let _ = writeln!(out, "export const {name} = {{");
        for (number, (word, said)) in words.words.iter().enumerate() {
            doc(&mut out, "  ", &[said]);
            let _ = writeln!(out, "  {word}: {number},");
        }
        out.push_str("} as const;\n\n");
    }
    out.pop();
    out
}

/// `allGlobalVars` as a constant of Python: `ALL_GLOBAL_VARS`.
fn constant(word: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    for letter in word.chars() {
        if letter.is_uppercase() && before.is_lowercase() {
            out.push('_');
        }
        out.extend(letter.to_uppercase());
        before = letter;
    }
    out
}

/// Returns the text of `www/python/tvm/_codes.py`.
pub fn python() -> String {
    let mut out = String::from(
        "\"\"\"Numbers that stand for words, as the engine knows them. Written by `cargo xtask codegen` from `src/boundary`; not to be edited.\"\"\"\n",
    );
    for words in codes().into_iter().map(|(_, words)| words).chain(super::rows::codes()) {
        let said: Vec<&str> = words.doc.iter().map(|line| line.trim()).collect();
        let _ = write!(out, "\n\nclass {}:\n    \"\"\"{}\"\"\"\n\n", words.name, said.join(" "));
        for (number, (word, said)) in words.words.iter().enumerate() {
            let _ = writeln!(out, "    {} = {number}  #{said}", constant(word));
        }
    }
    out.push_str("\n\nTARGET_KINDS = {\n");
    for (kind, keys, options) in crate::tir::TARGET_KINDS {
        let _ = writeln!(out, "    \"{kind}\": (\n        {keys:?},\n        {{");
        for (name, value) in *options {
            let _ = writeln!(out, "            \"{name}\": {value},");
        }
        out.push_str("        },\n    ),\n");
    }
    out.push_str("}\n\"\"\"The kinds of targets: the keys of each, and its options with their defaults.\"\"\"\n");
    let [begin, end] =
        [print::MARK, print::MARK_END].map(|mark| mark.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>());
    let _ = writeln!(out, "MARK, MARK_END = \"{begin}\", \"{end}\"\n\"\"\"The characters around a marked part of a text.\"\"\"");
    out
}
