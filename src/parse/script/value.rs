//! Decodes literals.

use nom::IResult;
use nom::Parser;
use nom::bytes::complete::{tag, tag_no_case, take_while_m_n};
use nom::combinator::opt;
use std::borrow::Cow;

/// Returns the value of a whole number as Python writes it.
pub(super) fn int(text: &str) -> Option<i128> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let digits = text.replace('_', "");
    let radix = |prefix: &str, radix| {
        let rest: IResult<&str, &str, ()> = tag_no_case(prefix).parse(&*digits);
        i128::from_str_radix(rest.ok()?.0, radix).ok()
    };
    digits.parse().ok().or_else(|| radix("0x", 16)).or_else(|| radix("0o", 8)).or_else(|| radix("0b", 2))
}

/// Returns the value of a floating point number as Python writes it.
pub(super) fn float(text: &str) -> Option<f64> {
    text.parse().ok().or_else(|| text.replace('_', "").parse().ok())
}

/// Returns the text from the quote on, true if escapes are left alone, and the quotes.
fn opened(text: &str) -> (&str, bool, &'static str) {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let raw = text[..text.len() - rest.len()].contains(['r', 'R']);
    let quotes = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| rest.starts_with(quotes)).unwrap_or("");
    (rest, raw, quotes)
}

/// Returns the length of the string at the start of a text, with prefix and quotes; nothing when it is not closed.
pub(super) fn string_len(text: &str) -> Option<usize> {
    let (rest, _, quotes) = opened(text);
    let bytes = rest.as_bytes();
    let quote = *quotes.as_bytes().first()?;
    let mut at = quotes.len();
    loop {
        // Metadata is megabytes in one string: ordinary characters are skipped quickly.
        at += bytes.get(at..)?.iter().position(|b| *b == quote || *b == b'\\' || *b == b'\n')?;
        match bytes[at] {
            b'\\' => at += 2,
            b'\n' if quotes.len() == 1 => return None,
            b'\n' => at += 1,
            _ if bytes[at..].starts_with(quotes.as_bytes()) => return Some(text.len() - rest.len() + at + quotes.len()),
            _ => at += 1,
        }
    }
}

/// Decodes one or more string literals.
pub(super) fn string(text: &str) -> Cow<'_, str> {
    let Some(len) = string_len(text) else { return Cow::Borrowed("") };
    let first = unquoted(&text[..len]);
    let mut rest = after_blanks(&text[len..]);
    if rest.is_empty() {
        return first;
    }
    let mut all = first.into_owned();
    while let Some(len) = string_len(rest) {
        all.push_str(&unquoted(&rest[..len]));
        rest = after_blanks(&rest[len..]);
    }
    Cow::Owned(all)
}

/// Skips blanks, comments and continued lines.
fn after_blanks(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches([' ', '\t', '\n', '\r', '\\', '\u{c}']);
        if !text.starts_with('#') {
            return text;
        }
        text = text.find('\n').map_or("", |end| &text[end..]);
    }
}

fn unquoted(literal: &str) -> Cow<'_, str> {
    let (rest, raw, quotes) = opened(literal);
    let inner = &rest[quotes.len()..rest.len() - quotes.len()];
    if raw || !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        rest = match escape(rest) {
            Ok((after, c)) => {
                out.extend(c);
                after
            }
            Err(_) => {
                out.push('\\');
                rest
            }
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Decodes the characters after a backslash; nothing for a continued line.
fn escape(text: &str) -> IResult<&str, Option<char>, ()> {
    let code = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    let hex = |n: usize| take_while_m_n(n, n, |c: char| c.is_ascii_hexdigit()).map(move |d: &str| code(d, 16));
    let mut octal = take_while_m_n(1, 3, |c: char| c.is_digit(8)).map(|d: &str| code(d, 8));
    let mut chars = text.chars();
    let plain = match chars.next() {
        Some('n') => '\n',
        Some('t') => '\t',
        Some('r') => '\r',
        Some('a') => '\u{7}',
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('v') => '\u{b}',
        Some(c @ ('\\' | '\'' | '"')) => c,
        Some('x') => return hex(2).parse(chars.as_str()),
        Some('u') => return hex(4).parse(chars.as_str()),
        Some('U') => return hex(8).parse(chars.as_str()),
        Some('0'..='7') => return octal.parse(text),
        _ => return (opt(tag("\r")), tag("\n")).map(|_| None).parse(text),
    };
    Ok((chars.as_str(), Some(plain)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_read_as_python_does() {
        for (text, value) in [
            (r#""a\"b\n\x41\u00e9\101\q""#, "a\"b\nA\u{e9}A\\q"),
            (r#"'it''s' "fine""#, "itsfine"),
            ("\"\"\"two\nlines\\\nof \"text\" \"\"\"", "two\nlinesof \"text\" "),
            (r#"r"\n""#, r"\n"),
            ("\"a\" # why\n \"b\"", "ab"),
            ("\"\"", ""),
        ] {
            assert_eq!(string(text), value, "{text}");
        }
        assert_eq!(string_len("\"a\nb\""), None);
        assert_eq!(string_len("\"\"\"a\nb\"\"\" c"), Some(9));
        assert_eq!(string_len("'a\\"), None);
    }

    #[test]
    fn numbers_are_read_as_python_does() {
        assert_eq!([int("0"), int("1_000"), int("0xfF"), int("0b11"), int("0o17")], [0, 1000, 255, 3, 15].map(Some));
        assert_eq!(int(&"9".repeat(60)), None);
        assert_eq!([float("1."), float(".5"), float("1e-5"), float("1_0.0")], [1.0, 0.5, 1e-5, 10.0].map(Some));
    }
}
