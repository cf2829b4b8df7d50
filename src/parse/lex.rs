//! Cuts characters into tokens, as TVM's `src/relay/parser/tokenizer.h` does, oddities included.
//!
//! A token is a kind and a range of bytes; its value is decoded on use, so a comment or an unused name costs nothing.
//! Tokens are made one at a time.

use super::number;
use crate::diag::Span;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_till, take_until, take_while, take_while1};
use nom::character::complete::one_of;
use nom::combinator::{opt, recognize};
use nom::{IResult, Parser};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Eof,
    /// `#[version = "0.0.5"]`
    Version,
    /// `#[metadata]`, followed by JSON up to the end.
    Metadata,
    /// `%x`
    Local,
    /// `%0`
    Graph,
    /// `@f`
    Global,
    Ident,
    Underscore,
    True,
    False,
    Int,
    Float,
    Str,
    /// `meta[key][0]`
    Meta,
    Let,
    Fn,
    Def,
    If,
    Else,
    Type,
    Match,
    /// `match?`
    PartialMatch,
    Extern,
    FreeVar,
    Ref,
    RefRead,
    RefWrite,
    Dot,
    Comma,
    Equal,
    Semi,
    Colon,
    OpenParen,
    CloseParen,
    OpenSquare,
    CloseSquare,
    OpenCurly,
    CloseCurly,
    Plus,
    Minus,
    Star,
    Slash,
    Less,
    Greater,
    Bang,
    Question,
    At,
    Percent,
    /// Not a token; says why.
    Bad(Bad),
}

/// The reason why something is not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bad {
    Char,
    Return,
    OpenString,
    Attribute,
    MetaRef,
}

/// A piece of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub start: u32,
    pub end: u32,
}

impl Token {
    pub fn span(self) -> Span {
        Span { start: self.start, end: self.end }
    }
}

/// Makes tokens from `pos` on.
pub(super) struct Lexer<'s> {
    pub source: &'s str,
    pub pos: usize,
    /// The start of a comment that is never closed. TVM takes it to go to the end of the text.
    pub open_comment: Option<u32>,
}

type Bytes<'s> = &'s [u8];
type Cut<'s> = IResult<Bytes<'s>, Bytes<'s>, ()>;

/// True for first characters of a name. A `/` is one: `%a/%b` is `%a/` and `%b`.
fn starts_name(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b == b'/'
}

/// True for later characters of a name.
pub(super) fn in_name(b: u8) -> bool {
    starts_name(b) || b.is_ascii_digit()
}

fn in_number(b: u8) -> bool {
    matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')
}

fn name(input: Bytes<'_>) -> Cut<'_> {
    take_while(in_name).parse(input)
}

/// Cuts a number with its width; TVM takes every character that may stand in one and checks later.
fn number(input: Bytes<'_>) -> Cut<'_> {
    recognize((take_while1(in_number), opt((one_of("fi"), take_while(in_number))))).parse(input)
}

/// Cuts a string up to its quote. TVM's parser knows no escapes but its printer writes them, so a quote behind a
/// backslash does not end the string, unless that would leave it without an end.
fn string(input: Bytes<'_>) -> Cut<'_> {
    alt((escaped_string, recognize((tag("\""), take_till(|b| b == b'"'), tag("\""))))).parse(input)
}

fn escaped_string(input: Bytes<'_>) -> Cut<'_> {
    let (mut rest, _) = tag("\"").parse(input)?;
    loop {
        (rest, _) = take_till(|b| b == b'"' || b == b'\\').parse(rest)?;
        match rest {
            [b'\\', _, ..] => rest = &rest[2..],
            [b'"', ..] => return Ok((&rest[1..], &input[..input.len() - rest.len() + 1])),
            _ => return Err(nom::Err::Error(())),
        }
    }
}

fn meta_ref(input: Bytes<'_>) -> Cut<'_> {
    recognize((tag("meta["), take_till(|b| b == b']'), tag("]["), take_while1(|b| b != b']' && b != b'\n'), tag("]")))
        .parse(input)
}

fn attribute(input: Bytes<'_>) -> Cut<'_> {
    recognize((tag("#["), take_until("]"), tag("]"))).parse(input)
}

impl<'s> Lexer<'s> {
    pub fn new(source: &'s str) -> Lexer<'s> {
        Lexer { source, pos: 0, open_comment: None }
    }

    fn bytes(&self) -> &'s [u8] {
        self.source.as_bytes()
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes().get(at).copied().unwrap_or(0)
    }

    /// Skips blanks and comments. A carriage return is a blank only before a line feed.
    pub fn skip_blanks(&mut self) {
        let bytes = self.bytes();
        loop {
            match bytes.get(self.pos) {
                Some(b' ' | b'\n' | b'\t') => self.pos += 1,
                Some(b'\r') if self.byte(self.pos + 1) == b'\n' => self.pos += 2,
                Some(b'/') => match self.byte(self.pos + 1) {
                    b'/' => {
                        let rest = &bytes[self.pos..];
                        self.pos += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                    }
                    b'*' => self.skip_comment(),
                    _ => return,
                },
                _ => return,
            }
        }
    }

    /// Skips a comment, which may hold others. As in TVM a `*` swallows the character behind it,
    /// so `**/` does not end a comment.
    fn skip_comment(&mut self) {
        let bytes = self.bytes();
        let start = self.pos;
        let mut at = start + 2;
        let mut depth = 1;
        while let Some(step) = bytes[at.min(bytes.len())..].iter().position(|b| *b == b'*' || *b == b'/') {
            at += step;
            match (bytes[at], self.byte(at + 1)) {
                (b'*', b'/') => {
                    depth -= 1;
                    at += 2;
                    if depth == 0 {
                        self.pos = at;
                        return;
                    }
                }
                (b'/', b'*') => {
                    depth += 1;
                    at += 2;
                }
                (b'*', _) => at += 2,
                _ => at += 1,
            }
        }
        self.open_comment = Some(start as u32);
        self.pos = bytes.len();
    }

    /// Returns the next token; at the end of the text it is `Eof` for ever.
    pub fn next(&mut self) -> Token {
        self.skip_blanks();
        let start = self.pos;
        let rest = &self.bytes()[start..];
        let Some(&first) = rest.first() else {
            return Token { kind: Kind::Eof, start: start as u32, end: start as u32 };
        };
        let (kind, len) = self.cut(first, rest);
        self.pos = start + len;
        Token { kind, start: start as u32, end: self.pos as u32 }
    }

    fn cut(&self, first: u8, rest: &'s [u8]) -> (Kind, usize) {
        let kind = match first {
            b'%' => return percent(rest),
            b'(' => Kind::OpenParen,
            b')' => Kind::CloseParen,
            b',' => Kind::Comma,
            b';' => Kind::Semi,
            b'=' => Kind::Equal,
            b'[' => Kind::OpenSquare,
            b']' => Kind::CloseSquare,
            b'{' => Kind::OpenCurly,
            b'}' => Kind::CloseCurly,
            b':' => Kind::Colon,
            b'.' => Kind::Dot,
            b'+' => Kind::Plus,
            b'*' => Kind::Star,
            b'<' => Kind::Less,
            b'>' => Kind::Greater,
            b'!' => Kind::Bang,
            b'?' => Kind::Question,
            b'@' => return global(rest),
            b'-' => return minus(rest),
            b'0'..=b'9' => return literal(rest, 0),
            b'"' => match string(rest) {
                Ok((_, text)) => return (Kind::Str, text.len()),
                Err(_) => {
                    let line = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                    return (Kind::Bad(Bad::OpenString), line);
                }
            },
            b'#' => return attribute_token(rest),
            b'\r' => Kind::Bad(Bad::Return),
            b'/' => return (Kind::Slash, 1),
            _ if starts_name(first) => return word(rest),
            _ => {
                let blank = rest.iter().position(|b| matches!(b, b' ' | b'\n' | b'\t' | b'\r'));
                return (Kind::Bad(Bad::Char), blank.unwrap_or(rest.len()));
            }
        };
        (kind, 1)
    }

    /// Returns the text from `start` to the first `end` and with it, when that is near; otherwise nothing.
    pub fn text_until(&self, start: usize, end: u8) -> &'s str {
        let near = self.bytes().get(start..).unwrap_or(&[]);
        let len = near.iter().take(400).position(|b| *b == end).map_or(0, |at| at + 1);
        self.source.get(start..start + len).unwrap_or("")
    }

    /// Returns the text of a token.
    pub fn text(&self, token: Token) -> &'s str {
        self.source.get(token.start as usize..token.end as usize).unwrap_or("")
    }
}

fn len_of(cut: Cut<'_>) -> usize {
    cut.map_or(0, |(_, text)| text.len())
}

/// Cuts `%x`, `%0` or `%`. TVM cannot read `%if` but prints such names, so keywords are names here.
fn percent(rest: &[u8]) -> (Kind, usize) {
    match rest.get(1) {
        Some(b'0'..=b'9') => (Kind::Graph, 1 + rest[1..].iter().take_while(|b| b.is_ascii_digit()).count()),
        Some(b) if starts_name(*b) => (Kind::Local, 1 + len_of(name(&rest[1..]))),
        _ => (Kind::Percent, 1),
    }
}

/// Cuts `@f`; also `@f.1` and `@f-1`, which TVM prints and cannot read.
fn global(rest: &[u8]) -> (Kind, usize) {
    if !rest.get(1).is_some_and(|b| starts_name(*b)) {
        return (Kind::At, 1);
    }
    let mut end = 1 + len_of(name(&rest[1..]));
    while matches!(rest.get(end), Some(b'.' | b'-')) && rest.get(end + 1).is_some_and(|b| in_name(*b)) {
        end += 1 + len_of(name(&rest[end + 1..]));
    }
    (Kind::Global, end)
}

/// Cuts minus signs: a run of them belongs to the number behind it; otherwise one of them is the token.
fn minus(rest: &[u8]) -> (Kind, usize) {
    let signs = rest.iter().take_while(|b| **b == b'-').count();
    match rest.get(signs) {
        Some(b'0'..=b'9') => literal(rest, signs),
        Some(b'i' | b'n') => {
            let len = len_of(name(&rest[signs..]));
            if number::is_not_finite(&rest[signs..signs + len]) { (Kind::Float, signs + len) } else { (Kind::Minus, 1) }
        }
        _ => (Kind::Minus, 1),
    }
}

fn literal(rest: &[u8], signs: usize) -> (Kind, usize) {
    let text = number(&rest[signs..]).map_or(&rest[..0], |(_, text)| text);
    let kind = if text.contains(&b'f') { Kind::Float } else { Kind::Int };
    (kind, signs + text.len())
}

fn attribute_token(rest: &[u8]) -> (Kind, usize) {
    let Ok((_, text)) = attribute(rest) else {
        return (Kind::Bad(Bad::Attribute), rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len()));
    };
    let inner = text[2..text.len() - 1].trim_ascii();
    let kind = if inner == b"metadata" {
        Kind::Metadata
    } else if inner.starts_with(b"version") {
        Kind::Version
    } else {
        Kind::Bad(Bad::Attribute)
    };
    (kind, text.len())
}

fn word(rest: &[u8]) -> (Kind, usize) {
    let len = len_of(name(rest));
    let kind = match &rest[..len] {
        b"let" => Kind::Let,
        b"fn" => Kind::Fn,
        b"def" => Kind::Def,
        b"if" => Kind::If,
        b"else" => Kind::Else,
        b"type" => Kind::Type,
        b"match" if rest.get(len) == Some(&b'?') => return (Kind::PartialMatch, len + 1),
        b"match" => Kind::Match,
        b"extern" => Kind::Extern,
        b"free_var" => Kind::FreeVar,
        b"ref" => Kind::Ref,
        b"ref_read" => Kind::RefRead,
        b"ref_write" => Kind::RefWrite,
        b"True" => Kind::True,
        b"False" => Kind::False,
        b"_" => Kind::Underscore,
        b"meta" if rest.get(len) == Some(&b'[') => {
            return match meta_ref(rest) {
                Ok((_, text)) => (Kind::Meta, text.len()),
                Err(_) => (Kind::Bad(Bad::MetaRef), len + 1),
            };
        }
        // TVM cannot read back the not-a-number that it prints.
        text if number::is_not_finite(text) => Kind::Float,
        _ => Kind::Ident,
    };
    (kind, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Kind> {
        let mut lexer = Lexer::new(source);
        std::iter::from_fn(|| Some(lexer.next().kind).filter(|k| *k != Kind::Eof)).collect()
    }

    fn texts(source: &str) -> Vec<&str> {
        let mut lexer = Lexer::new(source);
        std::iter::from_fn(|| {
            Some(lexer.next()).filter(|t| t.kind != Kind::Eof).map(|t| &source[t.start as usize..t.end as usize])
        })
        .collect()
    }

    #[test]
    fn numbers_take_every_character_that_may_stand_in_one() {
        assert_eq!(texts("1-2 1 - 2 1e-5f16+ --10 3i64)"), ["1-2", "1", "-", "2", "1e-5f16+", "--10", "3i64", ")"]);
        assert_eq!(kinds("1f 1 -inff inff64 nanf"), [Kind::Float, Kind::Int, Kind::Float, Kind::Float, Kind::Float]);
        assert_eq!(kinds("->"), [Kind::Minus, Kind::Greater]);
    }

    #[test]
    fn a_slash_is_part_of_a_name() {
        assert_eq!(texts("%a/%b / %c"), ["%a/", "%b", "/", "%c"]);
    }

    #[test]
    fn comments_nest_and_two_stars_do_not_end_one() {
        assert_eq!(texts("a /* b /* c */ d */ e // f\n g"), ["a", "e", "g"]);
        let mut lexer = Lexer::new("a /** b **/ c");
        while lexer.next().kind != Kind::Eof {}
        assert_eq!(lexer.open_comment, Some(2));
    }

    #[test]
    fn a_quote_behind_a_backslash_ends_a_string_only_when_it_must() {
        assert_eq!(texts(r#" "a\"b" "c" "#), [r#""a\"b""#, r#""c""#]);
        assert_eq!(texts(r#" "a\" "#), [r#""a\""#]);
        assert_eq!(kinds("\"a\nb"), [Kind::Bad(Bad::OpenString), Kind::Ident]);
    }

    #[test]
    fn a_carriage_return_alone_is_refused() {
        assert_eq!(kinds("a\r\nb"), [Kind::Ident, Kind::Ident]);
        assert_eq!(kinds("a\rb"), [Kind::Ident, Kind::Bad(Bad::Return), Kind::Ident]);
    }
}
