//! Programs of Relay as older versions of TVM wrote them: names of operators and attributes that are others today, types of the
//! prelude, and names that are given a value.

use super::relay::skipped;
use super::text::Text;
use crate::diag::{Diagnostic, Span};
use rustc_hash::FxHashSet;
use std::ops::Range;

/// An operator of an older version.
struct Older {
    name: &'static str,
    today: &'static str,
    /// Attributes: name, value (`*` is any), and what stands for them today, in which `*` is the value.
    attrs: &'static [(&'static str, &'static str, &'static str)],
    /// Attributes that had to be written later: name, and with its value.
    missing: &'static [(&'static str, &'static str)],
}

const OLDER: &[Older] = &[
    Older { name: "contrib.adaptive_avg_pool2d", today: "nn.adaptive_avg_pool2d", attrs: &[], missing: &[] },
    Older { name: "contrib.adaptive_max_pool2d", today: "nn.adaptive_max_pool2d", attrs: &[], missing: &[] },
    Older { name: "contrib.ndarray_size", today: "ndarray_size", attrs: &[], missing: &[] },
    Older {
        name: "image.resize",
        today: "image.resize2d",
        attrs: &[
            ("method", "\"BILINEAR\"", "method=\"linear\""),
            ("method", "\"bilinear\"", "method=\"linear\""),
            ("method", "\"NEAREST_NEIGHBOR\"", "method=\"nearest_neighbor\""),
            ("method", "\"BICUBIC\"", "method=\"cubic\""),
            ("method", "\"bicubic\"", "method=\"cubic\""),
            ("align_corners", "True", "coordinate_transformation_mode=\"align_corners\""),
            ("align_corners", "False", "coordinate_transformation_mode=\"asymmetric\""),
        ],
        missing: &[("roi", "roi=[0f, 0f, 0f, 0f]")],
    },
    Older {
        name: "nn.upsampling",
        today: "nn.upsampling",
        attrs: &[
            ("scale", "*", "scale_h=*, scale_w=*"),
            ("method", "\"NEAREST_NEIGHBOR\"", "method=\"nearest_neighbor\""),
            ("method", "\"BILINEAR\"", "method=\"bilinear\""),
        ],
        missing: &[],
    },
    Older { name: "strided_slice", today: "strided_slice", attrs: &[], missing: &[("axes", "axes=None")] },
];

/// Types that every module of Relay knows (`python/tvm/relay/std/prelude.rly`): what shows that they are used, and their
/// definition, in the order in which they need each other.
const PRELUDE: &[(&str, &[&str], &str)] = &[
    ("List", &["List", "Cons", "Nil", "Tree", "Rose"], "type List[A] {\n  Cons(A, List[A]),\n  Nil,\n}\n"),
    ("Option", &["Option", "Some"], "type Option[A] {\n  Some(A),\n  None,\n}\n"),
    ("Tree", &["Tree", "Rose"], "type Tree[A] {\n  Rose(A, List[Tree[A]]),\n}\n"),
];

/// A text with what is otherwise today, and a note on each thing; nothing when there is none.
pub(super) fn modernise(source: &Text, defines: &[(String, String)]) -> Option<(Text, Vec<Diagnostic>)> {
    let text = source.text.as_str();
    let (words, numbers) = words(text);
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut notes = Vec::new();
    let note = |notes: &mut Vec<Diagnostic>, message: String, range: &Range<usize>, today: &str| {
        if !notes.iter().any(|note| note.message == message) {
            let place = source.place(Span::new(range.start, range.end));
            let fix = if range.is_empty() { Vec::new() } else { vec![(place, today.to_owned())] };
            let note = Diagnostic::note("relay-older", message, place);
            notes.push(if fix.is_empty() { note } else { note.with_fix("Write it as today", fix) });
        }
    };
    // The end of the last device that is written out.
    let mut written = 0;
    // TVM 0.6 printed attributes so.
    let is_old = text.lines().any(|line| line.starts_with("v0.0."));
    for range in numbers.into_iter().filter(|_| is_old) {
        let message = "a floating point number is written with its type: `0.5f`".to_owned();
        note(&mut notes, message, &range, &format!("{}f", &text[range.clone()]));
        edits.push((range.end..range.end, "f".to_owned()));
    }
    for (index, range) in words.iter().enumerate() {
        let word = &text[range.clone()];
        if matches!(word, "VirtualDevice" | "SEScope")
            && range.start >= written
            && let Some(device) = device(text, range)
        {
            written = device.end;
            let at = device.start..device.start;
            note(&mut notes, "devices that are written out are left out: no TVM reads them".to_owned(), &at, "");
            edits.push((device, String::new()));
            continue;
        }
        let defined = index > 0 && matches!(&text[words[index - 1].clone()], "type" | "extern");
        let called = text[range.end..].starts_with('(');
        if let Some((_, value)) = defines.iter().find(|(name, _)| name == word)
            && !defined
            && !called
            && !text[range.end..].trim_start().starts_with('=')
        {
            edits.push((range.clone(), value.clone()));
        }
        let Some(older) = OLDER.iter().find(|older| older.name == word).filter(|_| called) else { continue };
        if older.today != older.name {
            note(&mut notes, format!("`{}` of an older TVM is `{}` today", older.name, older.today), range, older.today);
            edits.push((range.clone(), older.today.to_owned()));
        }
        let (args, end) = arguments(text, range.end);
        let name = |arg: &Range<usize>| text[arg.clone()].split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        for arg in &args {
            let Some((key, value)) = name(arg) else { continue };
            let row = older.attrs.iter().find(|(known, of, _)| *known == key && (*of == "*" || *of == value));
            if let Some((_, _, today)) = row {
                let today = today.replace('*', value);
                note(&mut notes, format!("`{key}={value}` of an older TVM is `{today}` today"), arg, &today);
                edits.push((arg.clone(), today));
            }
        }
        for (key, today) in older.missing {
            if args.iter().any(|arg| name(arg).is_some_and(|(known, _)| known == *key)) || args.is_empty() {
                continue;
            }
            note(&mut notes, format!("an older TVM has no `{key}`: it is read as `{today}`"), &(end..end), "");
            edits.push((end..end, format!(", {today}")));
        }
    }
    let uses: FxHashSet<&str> = words.iter().map(|range| &text[range.clone()]).collect();
    let defines_type =
        |name: &str| words.windows(2).any(|pair| &text[pair[0].clone()] == "type" && &text[pair[1].clone()] == name);
    let mut prelude = String::new();
    let mut names = Vec::new();
    for (name, marks, definition) in PRELUDE {
        if marks.iter().any(|mark| uses.contains(mark)) && !defines_type(name) {
            prelude += definition;
            names.push(format!("`{name}`"));
        }
    }
    if !prelude.is_empty() {
        let at = head(text);
        let place = source.place(Span::new(at, at));
        let message = format!("{} is defined as TVM's prelude does it", names.join(", "));
        let fix = vec![(place, prelude.clone())];
        notes.push(Diagnostic::note("relay-prelude", message, place).with_fix("Write the definition", fix));
        edits.push((at..at, prelude));
    }
    if edits.is_empty() {
        return None;
    }
    crate::ir::sort::sort_by(&mut edits, |a, b| a.0.start.cmp(&b.0.start));
    let mut out = Text::default();
    let mut at = 0;
    for (range, today) in edits {
        if range.start < at {
            continue;
        }
        out.copy(source, at..range.start);
        out.put(&today, source, range.clone());
        at = range.end;
    }
    out.copy(source, at..text.len());
    Some((out, notes))
}

/// Gives the attribute with a device that is written out, alone or in a list: `, virtual_device=VirtualDevice(...)`.
fn device(text: &str, name: &Range<usize>) -> Option<Range<usize>> {
    let head = text[..name.start].trim_end_matches('[');
    let key = head.strip_suffix('=').filter(|_| text[name.end..].starts_with('('))?;
    let end = arguments(text, if head.len() < name.start { head.len() } else { name.end }).1;
    let start = key.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').trim_end_matches([' ', ',']).len();
    let braces = usize::from(text[..start].ends_with('{') && text[end..].get(1..2) == Some("}"));
    Some(start - braces..(end + 1 + braces).min(text.len()))
}

/// Gives the place behind the version of a text, or its beginning.
fn head(text: &str) -> usize {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.trim_start().starts_with("#[version") || line.starts_with("v0.0.") {
            return at;
        }
    }
    0
}

/// Words with their dots, outside of comments and strings, that are no variables, functions or fields; and floating point
/// numbers without their type.
fn words(text: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    let (mut found, mut numbers) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if let Some(end) = skipped(text, at) {
            at = end.max(at + 1);
        } else if text[at..].starts_with("#[metadata]") {
            break;
        } else if byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'%' | b'@') {
            let len = bytes[at + 1..].iter().take_while(|byte| part(**byte)).count() + 1;
            if byte != b'%' && byte != b'@' {
                found.push(at..at + len);
            }
            at += len;
        } else if byte.is_ascii_digit() {
            let start = at;
            let run = |at: usize| at + bytes[at..].iter().take_while(|byte| part(**byte)).count();
            at = run(at);
            if bytes[at - 1] == b'e' && matches!(bytes.get(at), Some(b'-' | b'+')) {
                at = run(at + 1);
            }
            let number = &text[start..at];
            let plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'-' | b'+');
            if number.contains(['.', 'e']) && number.bytes().all(plain) && number.matches('.').count() < 2 {
                numbers.push(start..at);
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    (found, numbers)
}

/// Returns the parts between parentheses, the first of which is at `open`, separated by commas, and the place of the last one.
fn arguments(text: &str, open: usize) -> (Vec<Range<usize>>, usize) {
    let bytes = text.as_bytes();
    let (mut args, mut depth, mut at, mut from) = (Vec::new(), 0_usize, open, open + 1);
    let trimmed = |range: Range<usize>| {
        let inner = &text[range.clone()];
        let start = range.start + inner.len() - inner.trim_start().len();
        start..start + inner.trim().len()
    };
    while let Some(&byte) = bytes.get(at) {
        if let Some(end) = skipped(text, at) {
            at = end.max(at + 1);
            continue;
        }
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    if at > from {
                        args.push(trimmed(from..at));
                    }
                    return (args, at);
                }
            }
            b',' if depth == 1 => {
                args.push(trimmed(from..at));
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    (Vec::new(), at.min(bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn today(text: &str) -> String {
        modernise(&Text::whole(text), &[]).map_or(String::new(), |(text, _)| text.text)
    }

    #[test]
    fn names_of_older_versions_become_those_of_today() {
        assert_eq!(today("contrib.adaptive_avg_pool2d(%x, output_size=[1])"), "nn.adaptive_avg_pool2d(%x, output_size=[1])");
        assert_eq!(
            today("nn.upsampling(%x, scale=2, method=\"BILINEAR\")"),
            "nn.upsampling(%x, scale_h=2, scale_w=2, method=\"bilinear\")"
        );
        assert_eq!(today("strided_slice(%x, begin=[0], end=[1])"), "strided_slice(%x, begin=[0], end=[1], axes=None)");
        assert_eq!(today("strided_slice(%x, begin=[0], end=[1], axes=[0])"), "");
        assert_eq!(today("%image.resize /* image.resize(1) */"), "");
    }

    #[test]
    fn types_of_the_prelude_are_defined_where_they_are_used() {
        let text = "#[version = \"0.0.5\"]\ndef @f() { Cons(1, Nil) }\n";
        assert!(today(text).starts_with("#[version = \"0.0.5\"]\ntype List[A] {\n  Cons(A, List[A]),\n  Nil,\n}\ndef @f()"));
        assert_eq!(today("type List[A] {\n  Cons(A, List[A]),\n  Nil,\n}\ndef @f() { Cons(1, Nil) }\n"), "");
    }

    #[test]
    fn names_with_a_value_are_replaced() {
        let text = Text::whole("def @f(%n: Tensor[(n, 4), float32]) { reshape(%n, newshape=[n]) }");
        let (text, _) = modernise(&text, &[("n".to_owned(), "8".to_owned())]).unwrap();
        assert_eq!(text.text, "def @f(%n: Tensor[(8, 4), float32]) { reshape(%n, newshape=[8]) }");
    }
}
