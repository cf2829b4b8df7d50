//! Compares lines word by word.

use super::align;
use crate::print::words::{is_word, word_len, words};
use crate::print::{LineRole, NameInfo, Printed};
use rustc_hash::FxHashSet;

/// The limit of comparisons; above it everything between the first and the last difference counts as changed.
const TABLE_LIMIT: usize = 40_000;

/// The variables of TVMScript, which have no sigil: all names that are bound in the two compared texts.
#[derive(Default)]
pub(super) struct Variables<'t>(FxHashSet<&'t str>);

impl<'t> Variables<'t> {
    /// Collects the names that lines bind. Empty for Relay, whose variables have a sigil.
    pub(super) fn of(texts: [&'t Printed; 2]) -> Self {
        let mut variables = Variables::default();
        for text in texts {
            let binds = |name: &&NameInfo| text.lines.get(name.line as usize).is_some_and(|line| line.role == LineRole::Binding);
            let bound = text.names.iter().filter(binds).map(|name| &*name.text);
            variables.0.extend(bound.filter(|name| !name.starts_with('%')));
        }
        variables
    }

    fn has(&self, word: &str) -> bool {
        !self.0.is_empty() && self.0.contains(word)
    }
}

/// Returns a word without the number of a temporary, variable or metadata.
fn stem<'a>(word: &'a str, variables: &Variables) -> &'a str {
    if word.starts_with('%') {
        word.trim_end_matches(|c: char| c.is_ascii_digit())
    } else if is_reference(word) {
        &word[..word.rfind('[').unwrap_or(word.len())]
    } else if variables.has(word) {
        // `lv_1` is the second `lv`.
        word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_')
    } else {
        word
    }
}

/// Returns a line without indentation and without the numbers of temporaries, variables and metadata.
pub(super) fn normalised(text: &str, variables: &Variables) -> String {
    let text = text.trim_start();
    let mut out = String::with_capacity(text.len());
    words(text).for_each(|word| out.push_str(stem(word, variables)));
    out
}

/// True if two lines are the same but for indentation and those numbers.
pub(super) fn same_but_numbers(a: &str, b: &str, variables: &Variables) -> bool {
    words(a.trim_start()).map(|word| stem(word, variables)).eq(words(b.trim_start()).map(|word| stem(word, variables)))
}

/// Returns the temporaries, variables and metadata references of a line, in order.
pub(super) fn names<'a>(text: &'a str, variables: &'a Variables) -> impl Iterator<Item = &'a str> {
    words(text).filter(|word| word.starts_with('%') || is_reference(word) || variables.has(word))
}

fn is_reference(word: &str) -> bool {
    // Tests the last byte first, which nearly always decides.
    word.ends_with(']') && word.starts_with("meta[")
}

/// Returns the head of a line: its value or statement up to the first bracket.
pub(super) fn head(role: LineRole, text: &str) -> &str {
    let text = text.trim_start();
    let value = match text.find(" = ") {
        Some(at) if matches!(role, LineRole::Binding | LineRole::Let | LineRole::Detail | LineRole::Result) => &text[at + 3..],
        _ => text,
    };
    &value[..value.find(['(', '{', '[', '.']).map_or(value.len(), |at| match value[at..].strip_prefix('.') {
        // The dots of operator names belong to them.
        Some(_) => value.find(['(', '{', '[']).unwrap_or(value.len()),
        None => at,
    })]
}

/// A word with its begin and end, in UTF-16 units.
type Word<'t> = (&'t str, u32, u32);

fn split(text: &str, mut at: u32) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (word, tail) = rest.split_at(word_len(rest));
        let end = at + units(word);
        words.push((word, at, end));
        (rest, at) = (tail, end);
    }
    words
}

/// Returns the length in UTF-16 units.
fn units(text: &str) -> u32 {
    if text.is_ascii() { text.len() as u32 } else { text.encode_utf16().count() as u32 }
}

/// Returns the words in which two lines differ: for either line pairs of begin and end, in UTF-16 units.
pub(super) fn changed(a: &str, b: &str) -> (Vec<u32>, Vec<u32>) {
    // Only the part between the first and the last difference is split, from word to word.
    let (x, y) = (a.as_bytes(), b.as_bytes());
    let in_word = |byte: u8| is_word(byte) || matches!(byte, b'%' | b'@');
    let mut head = x.iter().zip(y).take_while(|(p, q)| p == q).count();
    while head > 0 && in_word(x[head - 1]) {
        head -= 1;
    }
    let mut tail = x[head..].iter().rev().zip(y[head..].iter().rev()).take_while(|(p, q)| p == q).count();
    while tail > 0 && in_word(x[x.len() - tail]) {
        tail -= 1;
    }
    let start = units(&a[..head]);
    let (x, y) = (split(&a[head..a.len() - tail], start), split(&b[head..b.len() - tail], start));
    let (mut keep_x, mut keep_y) = (vec![false; x.len()], vec![false; y.len()]);
    if x.len() * y.len() <= TABLE_LIMIT {
        let mut long = Vec::new();
        let [keys_x, keys_y] = [&x, &y].map(|words| words.iter().map(|w| key(w.0, &mut long)).collect::<Vec<_>>());
        align::table(&keys_x, &keys_y, |i, j| (keep_x[i], keep_y[j]) = (true, true));
    }
    (ranges(&x, &keep_x), ranges(&y, &keep_y))
}

/// Returns a number that two words share exactly when they are equal: the table compares each word of one line with
/// each of the other. Short words are their own bytes and their length; `long` holds the others.
fn key<'t>(word: &'t str, long: &mut Vec<&'t str>) -> u64 {
    if word.len() < 8 {
        let mut bytes = [0; 8];
        bytes[..word.len()].copy_from_slice(word.as_bytes());
        bytes[7] = word.len() as u8;
        return u64::from_le_bytes(bytes);
    }
    let known = long.iter().position(|known| *known == word).unwrap_or_else(|| {
        long.push(word);
        long.len() - 1
    });
    u64::MAX - known as u64
}

/// Returns the words that are not kept; neighbours with only a space between them are one range.
fn ranges(words: &[Word], keep: &[bool]) -> Vec<u32> {
    let mut ranges: Vec<u32> = Vec::new();
    for (i, (&(_, start, end), _)) in words.iter().zip(keep).enumerate().filter(|(_, (_, keep))| !**keep) {
        match ranges.last_mut() {
            Some(last) if *last == start || (*last + 1 == start && words[i - 1].0 == " ") => *last = end,
            _ => ranges.extend([start, end]),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::Named;

    #[test]
    fn numbers_of_temporaries_variables_and_constants_are_left_out() {
        let line = "  %12 = add(%x3, meta[relay.Constant][7] /* ty=float32 */, axis=1);";
        assert_eq!(normalised(line, &Variables::default()), "% = add(%x, meta[relay.Constant] /* ty=float32 */, axis=1);");
    }

    #[test]
    fn a_line_is_about_what_it_calls() {
        assert_eq!(head(LineRole::Binding, "  %0 = nn.conv2d(%x, %w);"), "nn.conv2d");
        assert_eq!(head(LineRole::Let, "  let %x: int32 = add(%y, 1);"), "add");
        assert_eq!(head(LineRole::Binding, "  %1 = fn (%p: int32, Primitive=1) -> int32 {"), "fn ");
        assert_eq!(head(LineRole::Result, "  nn.relu(%0)"), "nn.relu");
    }

    #[test]
    fn variables_of_tvmscript_are_what_is_bound() {
        let text = "lv: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)\nlv_1 = R.multiply(lv, lv)\n";
        let line = |start: usize| crate::print::LineInfo { start: start as u32, role: LineRole::Binding, node: None };
        let second = text.find("lv_1").expect("it is there");
        let bound = [("lv", 0), ("lv_1", 1)].map(|(name, line)| NameInfo { text: name.into(), line, end: 2, thing: Named::Line });
        let printed = Printed { text: text.to_owned(), lines: vec![line(0), line(second)], names: bound.into() };
        let variables = Variables::of([&printed, &printed]);
        assert_eq!(normalised("  lv_1 = R.multiply(lv, lv)", &variables), "lv = R.multiply(lv, lv)");
        assert_eq!(names("lv_1 = R.multiply(lv, other)", &variables).collect::<Vec<_>>(), ["lv_1", "lv"]);
        assert_eq!(head(LineRole::Binding, printed.line(0)), "R.add");
    }

    #[test]
    fn words_have_one_number_just_when_they_are_equal() {
        let words = ["a", "a\0", "ab", "seven77", "eight888", "eight889", "longer than eight", "\u{1f600}", ""];
        let mut long = Vec::new();
        let keys: Vec<u64> = words.iter().map(|word| key(word, &mut long)).collect();
        for (i, a) in keys.iter().enumerate() {
            assert_eq!(keys.iter().filter(|b| *b == a).count(), 1, "{}", words[i]);
            assert_eq!(key(words[i], &mut long), *a);
        }
    }

    #[test]
    fn changed_words_are_marked_in_utf16_units() {
        let (a, b) = changed("%0 = add(%\u{1f600}, %y);", "%0 = subtract(%\u{1f600}, %z);");
        assert_eq!((a, b), (vec![5, 8, 14, 16], vec![5, 13, 19, 21]));
    }
}
