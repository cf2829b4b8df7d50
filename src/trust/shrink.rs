//! Programs with smaller extents: every number that stands for one, and what it has to fit, is divided alike.

use crate::print::Numbering;
use crate::session::Session;

/// Divisors that are tried, the largest first.
const DIVISORS: [i64; 5] = [32, 16, 8, 4, 2];

/// The list of a session, run on a program whose extents are divided, and by what. Nothing when none of them type-checks and runs.
pub fn smaller_session(session: &Session) -> Option<(Session, i64)> {
    let source = session.text(0, Numbering::Exact)?;
    DIVISORS.into_iter().find_map(|by| {
        let text = divided(&source, by);
        let document = crate::repro::Document { source: text, ..session.document().clone() };
        let mut small = session.like();
        (small.run(&document, false) && small.trace().is_complete()).then_some((small, by))
    })
}

/// The text with whole numbers that are multiples of `by`, and more than it, divided. Those in names, floats, comments' heads
/// and strings stay.
pub fn divided(text: &str, by: i64) -> String {
    map_numbers(text, &mut |n| if n % by == 0 && n >= by { n / by } else { n })
}

/// The text with its whole numbers mapped.
pub fn map_numbers(text: &str, map: &mut dyn FnMut(i64) -> i64) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    let mut quoted = false;
    while let Some(c) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let follows = rest[digits..].chars().next().unwrap_or(' ');
        let part_of_word = before.is_alphanumeric() || follows.is_alphanumeric();
        let alone = !(part_of_word || "_.%@\"-".contains(before) || "_.".contains(follows));
        if digits > 0 && digits < 10 && alone && !quoted {
            out += &rest[..digits].parse().map_or(0, &mut *map).to_string();
        } else if digits == 0 {
            quoted = if c == '"' { !quoted } else { quoted && c != '\n' };
            out.push(c);
            before = c;
            rest = &rest[c.len_utf8()..];
            continue;
        } else {
            out += &rest[..digits];
        }
        before = '0';
        rest = &rest[digits..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_divided_and_names_and_floats_are_not() {
        let text = "%64 = nn.conv2d(%x32, %w, channels=64, padding=[1, 16]) /* ty=Tensor[(1, 64, 224, 7), float32] */; 64f, 32.0, \"a64\"";
        let expected =
            "%64 = nn.conv2d(%x32, %w, channels=2, padding=[1, 16]) /* ty=Tensor[(1, 2, 7, 7), float32] */; 64f, 32.0, \"a64\"";
        assert_eq!(divided(text, 32), expected);
    }
}
