//! Lines as words.

use super::align;

/// Above this many comparisons everything between the first and the last difference counts as changed.
const TABLE_LIMIT: usize = 40_000;

/// A line without indentation and without the numbers of temporaries, variables and metadata.
pub(super) fn normalised(text: &str) -> String {
    let text = text.trim_start();
    let mut out = String::with_capacity(text.len());
    each_word(text, |word| {
        if word.starts_with('%') {
            out.push_str(word.trim_end_matches(|c: char| c.is_ascii_digit()));
        } else if is_reference(word) {
            out.push_str(&word[..word.rfind('[').unwrap_or(word.len())]);
        } else {
            out.push_str(word);
        }
    });
    out
}

/// The temporaries, variables and references to the metadata of a line, in order.
pub(super) fn names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    each_word(text, |word| {
        if word.starts_with('%') || is_reference(word) {
            names.push(word);
        }
    });
    names
}

fn is_reference(word: &str) -> bool {
    word.starts_with("meta[") && word.ends_with(']')
}

/// Calls `f` with each word; `meta[relay.Constant][0]` is one.
fn each_word<'t>(text: &'t str, mut f: impl FnMut(&'t str)) {
    let mut rest = text;
    while !rest.is_empty() {
        let reference = rest.starts_with("meta[").then(|| {
            let number = rest.find("][")? + 2;
            Some(number + rest[number..].find(']')? + 1)
        });
        let (word, tail) = rest.split_at(reference.flatten().unwrap_or_else(|| word_len(rest)));
        f(word);
        rest = tail;
    }
}

/// What a line is about: what is bound to nothing in particular, up to the first bracket.
pub(super) fn head(text: &str) -> &str {
    let text = text.trim_start();
    let value = match text.find(" = ") {
        Some(at) if text.starts_with('%') || text.starts_with("let ") => &text[at + 3..],
        _ => text,
    };
    &value[..value.find(['(', '{', '[', '.']).map_or(value.len(), |at| match value[at..].strip_prefix('.') {
        // The dots of operator names belong to them.
        Some(_) => value.find(['(', '{', '[']).unwrap_or(value.len()),
        None => at,
    })]
}

/// Bytes of the word that the text starts with: a name or number, or one other character.
fn word_len(text: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let start = usize::from(text.starts_with(['%', '@']));
    match text[start..].find(|c: char| !is_word(c)) {
        Some(0) if start == 0 => text.chars().next().map_or(0, char::len_utf8),
        Some(end) => start + end,
        None => text.len(),
    }
}

/// A word and where it begins and ends, in UTF-16 units.
type Word<'t> = (&'t str, u32, u32);

fn split(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let (mut i, mut at) = (0, 0);
    while i < text.len() {
        let word = &text[i..i + word_len(&text[i..])];
        let end = at + word.encode_utf16().count() as u32;
        words.push((word, at, end));
        i += word.len();
        at = end;
    }
    words
}

/// The words in which two lines differ: for either line pairs of from and to, in UTF-16 units.
pub(super) fn changed(a: &str, b: &str) -> (Vec<u32>, Vec<u32>) {
    let (a, b) = (split(a), split(b));
    let same = |(x, y): &(&Word, &Word)| x.0 == y.0;
    let head = a.iter().zip(&b).take_while(same).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(same).count();
    let (x, y) = (&a[head..a.len() - tail], &b[head..b.len() - tail]);
    let (mut keep_x, mut keep_y) = (vec![false; x.len()], vec![false; y.len()]);
    if x.len() * y.len() <= TABLE_LIMIT {
        let [texts_x, texts_y] = [x, y].map(|words| words.iter().map(|w| w.0).collect::<Vec<_>>());
        align::table(&texts_x, &texts_y, |i, j| (keep_x[i], keep_y[j]) = (true, true));
    }
    (ranges(x, &keep_x), ranges(y, &keep_y))
}

/// Words that are not kept; neighbours with nothing but a space between them are one range.
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

    #[test]
    fn numbers_of_temporaries_variables_and_constants_are_left_out() {
        let line = "  %12 = add(%x3, meta[relay.Constant][7] /* ty=float32 */, axis=1);";
        assert_eq!(normalised(line), "% = add(%x, meta[relay.Constant] /* ty=float32 */, axis=1);");
    }

    #[test]
    fn a_line_is_about_what_it_calls() {
        assert_eq!(head("  %0 = nn.conv2d(%x, %w);"), "nn.conv2d");
        assert_eq!(head("  let %x: int32 = add(%y, 1);"), "add");
        assert_eq!(head("  %1 = fn (%p: int32, Primitive=1) -> int32 {"), "fn ");
        assert_eq!(head("  nn.relu(%0)"), "nn.relu");
    }

    #[test]
    fn changed_words_are_marked_in_utf16_units() {
        let (a, b) = changed("%0 = add(%\u{1f600}, %y);", "%0 = subtract(%\u{1f600}, %z);");
        assert_eq!((a, b), (vec![5, 8, 14, 16], vec![5, 13, 19, 21]));
    }
}
