//! Patterns for names of functions: the part of Python's regular expressions that such names need.
//!
//! Characters, `.`, `\d`, `\w`, `\s`, classes `[a-z_]` and `[^0-9]`, each with `*`, `+` or `?` behind it; `|` between
//! whole patterns; `^` and `$`. Groups and counts are refused. As with Python's `re.match`, which TVM asks, a pattern
//! has to match the beginning of the name: `conv` matches `conv2d`, and `conv$` does not.
//!
//! Of our own, because a library that is as linear and small (regex-lite) makes the engine 16 KB larger.

/// One position of a pattern.
enum Atom {
    Any,
    End,
    Char(char),
    /// Ranges of a class, and true if it is negated.
    Class(Vec<(char, char)>, bool),
}

/// An atom, and flags for `?`, `*` and `+`.
struct Item {
    atom: Atom,
    optional: bool,
    repeats: bool,
}

/// A parsed pattern.
pub(super) struct Pattern(Vec<Vec<Item>>);

impl Pattern {
    /// Parses a pattern. The error names the part that cannot be parsed.
    pub(super) fn new(text: &str) -> Result<Pattern, String> {
        let mut alternatives = vec![Vec::new()];
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let atom = match c {
                '|' => {
                    alternatives.push(Vec::new());
                    continue;
                }
                '^' if alternatives.last().is_some_and(Vec::is_empty) => continue,
                '.' => Atom::Any,
                '$' => Atom::End,
                '[' => class(&mut chars)?,
                '\\' => escape(chars.next().ok_or("nothing stands behind the last `\\`")?),
                '(' | ')' | '{' | '}' | '^' | '*' | '+' | '?' => {
                    return Err(format!("`{c}` cannot be used here; names, `.`, `[...]`, `*`, `+`, `?` and `|` can"));
                }
                c => Atom::Char(c),
            };
            let (optional, repeats) = match chars.next_if(|c| "*+?".contains(*c)) {
                Some('*') => (true, true),
                Some('+') => (false, true),
                Some(_) => (true, false),
                None => (false, false),
            };
            alternatives.last_mut().expect("there is one").push(Item { atom, optional, repeats });
        }
        Ok(Pattern(alternatives))
    }

    /// True if a name begins with a match of the pattern.
    pub(super) fn matches(&self, name: &str) -> bool {
        self.0.iter().any(|items| alternative_matches(items, name))
    }
}

fn escape(c: char) -> Atom {
    match c {
        'd' => Atom::Class(vec![('0', '9')], false),
        'w' => Atom::Class(vec![('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')], false),
        's' => Atom::Class(vec![(' ', ' '), ('\t', '\r')], false),
        c => Atom::Char(c),
    }
}

fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Atom, String> {
    let open = || "a `[` has no `]`".to_owned();
    let negated = chars.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        let from = match chars.next().ok_or_else(open)? {
            ']' if !ranges.is_empty() => return Ok(Atom::Class(ranges, negated)),
            '\\' => match escape(chars.next().ok_or_else(open)?) {
                Atom::Class(more, _) => {
                    ranges.extend(more);
                    continue;
                }
                Atom::Char(c) => c,
                Atom::Any | Atom::End => continue,
            },
            c => c,
        };
        let mut ahead = chars.clone();
        match (ahead.next(), ahead.next()) {
            (Some('-'), Some(to)) if to != ']' => {
                ranges.push((from, to));
                *chars = ahead;
            }
            _ => ranges.push((from, from)),
        }
    }
}

/// Follows all paths through the items at once, so that no pattern takes longer than its length times the name's.
fn alternative_matches(items: &[Item], name: &str) -> bool {
    let mut at = vec![false; items.len() + 1];
    at[0] = true;
    let mut rest = name.chars();
    loop {
        let next = rest.next();
        for (i, item) in items.iter().enumerate() {
            // Optional items are skipped; `$` is skipped at the end of the name.
            at[i + 1] |= at[i] && (item.optional || (matches!(item.atom, Atom::End) && next.is_none()));
        }
        if at[items.len()] {
            return true;
        }
        let Some(c) = next else { return false };
        let mut after = vec![false; items.len() + 1];
        for (i, item) in items.iter().enumerate().filter(|(i, _)| at[*i]) {
            let fits = match &item.atom {
                Atom::Any => c != '\n',
                Atom::End => false,
                Atom::Char(wanted) => c == *wanted,
                Atom::Class(ranges, negated) => ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *negated,
            };
            after[i + 1] |= fits;
            after[i] |= fits && item.repeats;
        }
        at = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern).expect("a pattern").matches(name)
    }

    #[test]
    fn patterns_match_as_in_python() {
        // Each row has the result of `re.match(pattern, name) is not None`.
        for (pattern, name, expected) in [
            ("main", "main", true),
            ("main", "main_2", true),
            ("main$", "main_2", false),
            ("ain", "main", false),
            (".*ain$", "main", true),
            ("conv[0-9]+$", "conv12", true),
            ("conv[0-9]+$", "conv", false),
            ("conv[^0-9]", "conv1", false),
            ("a|main", "main", true),
            ("^tvmgen_\\w*_\\d$", "tvmgen_default_fused_3", true),
            ("a?b", "b", true),
            ("a.c", "abc", true),
            ("a\\.c", "abc", false),
            ("[]x]y", "]y", true),
            ("", "anything", true),
            ("(a*)*b", "b", false),
        ] {
            match Pattern::new(pattern) {
                Ok(read) => assert_eq!(read.matches(name), expected, "{pattern} on {name}"),
                Err(_) => assert!(pattern.contains('('), "{pattern}"),
            }
        }
        assert!(Pattern::new("a{2}").is_err() && Pattern::new("[a").is_err() && Pattern::new("*a").is_err());
        assert!(!matches(&"a*".repeat(200), "b") || matches(&"a*".repeat(200), ""));
    }
}
