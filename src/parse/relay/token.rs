//! The cursor: takes tokens, reports the expected ones, and finds the place to resume after an error.

use super::super::lex::{Bad, Kind, Lexer, Token};
use super::super::shorten;
use super::{MAX_DEPTH, MAX_ERRORS, Parse, Parser, Stop};
use crate::diag::{Diagnostic, LineIndex, Span};

/// An open bracket.
#[derive(Clone, Copy)]
pub(super) struct Bracket {
    /// The bracket that closes it.
    close: Kind,
    at: u32,
}

/// The place to resume after an error, seen from the list or block under way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Resume {
    /// Before the next `;`.
    Semi,
    /// Before the next `,` or the bracket that closes the list.
    Item,
    /// Before the bracket that closes the block.
    Close,
}

impl<'s> Parser<'s, '_> {
    /// Takes the token under the cursor.
    pub(super) fn bump(&mut self) -> Token {
        let token = self.cur;
        let close = match token.kind {
            Kind::OpenParen => Some(Kind::CloseParen),
            Kind::OpenSquare => Some(Kind::CloseSquare),
            Kind::OpenCurly => Some(Kind::CloseCurly),
            Kind::CloseParen | Kind::CloseSquare | Kind::CloseCurly => {
                if self.brackets.last().is_some_and(|b| b.close == token.kind) {
                    self.brackets.pop();
                }
                None
            }
            // The metadata section goes to the end of the text and is not made of tokens.
            Kind::Eof | Kind::Metadata => return token,
            _ => None,
        };
        if let Some(close) = close {
            self.brackets.push(Bracket { close, at: token.start });
        }
        self.prev_end = token.end;
        self.cur = self.lexer.next();
        token
    }

    pub(super) fn at(&self, kind: Kind) -> bool {
        self.cur.kind == kind
    }

    /// Takes a token of this kind, if it is one.
    pub(super) fn eat(&mut self, kind: Kind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// Takes a token of this kind or reports that it is missing.
    pub(super) fn expect(&mut self, kind: Kind) -> Parse<Token> {
        if self.at(kind) { Ok(self.bump()) } else { Err(self.unexpected(name_of(kind))) }
    }

    pub(super) fn text(&self, token: Token) -> &'s str {
        self.lexer.text(token)
    }

    /// Returns the first byte behind the token under the cursor.
    pub(super) fn next_byte(&self) -> u8 {
        self.lexer.source.as_bytes().get(self.lexer.pos).copied().unwrap_or(0)
    }

    /// True if `=` and not `==` follows the token under the cursor.
    pub(super) fn assignment_follows(&mut self) -> bool {
        let pos = self.lexer.pos;
        self.lexer.skip_blanks();
        let rest = &self.lexer.source.as_bytes()[self.lexer.pos..];
        self.lexer.pos = pos;
        rest.first() == Some(&b'=') && rest.get(1) != Some(&b'=')
    }

    /// Returns the first byte behind the token under the cursor that is not blank or comment.
    pub(super) fn next_visible_byte(&mut self) -> u8 {
        let pos = self.lexer.pos;
        self.lexer.skip_blanks();
        let byte = self.next_byte();
        self.lexer.pos = pos;
        byte
    }

    /// True if the innermost open bracket is that of a block.
    pub(super) fn in_block(&self) -> bool {
        self.brackets.last().is_none_or(|b| b.close == Kind::CloseCurly)
    }

    /// Continues at `pos`, as if everything before it had been taken.
    pub(super) fn jump_to(&mut self, pos: usize) {
        self.prev_end = pos as u32;
        self.lexer.pos = pos;
        self.cur = self.lexer.next();
    }

    /// Parses the separator of list elements: only behind the first one TVM insists on the comma.
    pub(super) fn separator(&mut self, n: usize, close: Kind) -> Parse<()> {
        if self.eat(Kind::Comma) || self.at(close) || n > 1 && !self.at_end_of_something() {
            return Ok(());
        }
        Err(self.missing_separator(close))
    }

    #[cold]
    pub(super) fn missing_separator(&mut self, close: Kind) -> Stop {
        self.unexpected(match close {
            Kind::CloseParen => "`,` or `)`",
            Kind::CloseSquare => "`,` or `]`",
            _ => "`,` or `}`",
        })
    }

    /// True if no expression begins with the token under the cursor.
    fn at_end_of_something(&self) -> bool {
        use Kind::{CloseCurly, CloseParen, CloseSquare, Colon, Def, Else, Eof, Equal, Metadata, Semi};
        matches!(self.cur.kind, CloseCurly | CloseParen | CloseSquare | Colon | Def | Else | Eof | Equal | Metadata | Semi)
    }

    /// True if the `;` under the cursor ends a statement of the block around the present parentheses, one of which was
    /// forgotten. TVM allows statements in an argument too, but in practice none occurs without a binding before a
    /// binding.
    pub(super) fn closes_outer_statement(&self) -> bool {
        let mut lexer = Lexer::new(self.lexer.source);
        lexer.pos = self.lexer.pos;
        match lexer.next().kind {
            Kind::Let | Kind::CloseCurly | Kind::Eof | Kind::Metadata | Kind::Def => true,
            Kind::Graph => lexer.next().kind == Kind::Equal,
            _ => false,
        }
    }

    /// Called where the parser calls itself: refuses to go too deep.
    pub(super) fn guard_depth(&mut self) -> Parse<()> {
        if self.brackets.len() + self.nesting <= MAX_DEPTH {
            return Ok(());
        }
        Err(self.too_deep())
    }

    #[cold]
    #[inline(never)]
    fn too_deep(&mut self) -> Stop {
        let span = self.cur.span();
        self.error("relay-too-deep", format!("nested too deeply: more than {MAX_DEPTH} brackets are open here"), span)
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Stop {
        if diagnostic.is_error() {
            self.broken = true;
            self.n_errors += 1;
        }
        // Drops follow-up errors at the same place, and all errors after very many.
        let place = diagnostic.span.map(|s| s.start);
        let repeated =
            self.diagnostics.last().is_some_and(|d| d.is_error() && place.is_some() && d.span.map(|s| s.start) == place);
        if !repeated && self.n_errors <= MAX_ERRORS {
            self.diagnostics.push(diagnostic);
        }
        Stop
    }

    pub(super) fn error(&mut self, code: &'static str, message: impl Into<String>, span: Span) -> Stop {
        self.report(Diagnostic::error(code, message, span))
    }

    /// True after so many errors that parsing stops.
    pub(super) fn given_up(&self) -> bool {
        self.n_errors > MAX_ERRORS
    }

    /// Reports a syntax error at the cursor: another token was expected.
    #[cold]
    #[inline(never)]
    pub(super) fn unexpected(&mut self, wanted: &str) -> Stop {
        let token = self.cur;
        if let Kind::Bad(bad) = token.kind {
            let diagnostic = self.lexical(bad, token);
            return self.report(diagnostic);
        }
        let message = format!("expected {wanted}, found {}", self.describe(token));
        let mut diagnostic = Diagnostic::error("relay-syntax", message, token.span());
        if let Some(open) = self.unclosed(token.kind) {
            let lines = self.lines.get_or_insert_with(|| LineIndex::new(self.lexer.source));
            let (line, column) = lines.line_column(self.lexer.source, open.at);
            let text = &self.lexer.source[open.at as usize..open.at as usize + 1];
            diagnostic = diagnostic.with_note(format!("`{text}` in line {line}, column {column} is not closed"));
        }
        self.report(diagnostic)
    }

    /// Returns the innermost bracket, when the token shows that it should have been closed before.
    fn unclosed(&self, found: Kind) -> Option<Bracket> {
        let open = self.brackets.last()?;
        let ends =
            matches!(found, Kind::Eof | Kind::Metadata | Kind::Def | Kind::CloseParen | Kind::CloseSquare | Kind::CloseCurly)
                || found == Kind::Semi && open.close != Kind::CloseCurly;
        (ends && found != open.close).then_some(*open)
    }

    fn lexical(&self, bad: Bad, token: Token) -> Diagnostic {
        let text = self.text(token);
        let first = text.chars().next().unwrap_or(' ');
        let short = Span { start: token.start, end: token.start + first.len_utf8() as u32 };
        match bad {
            Bad::Char => Diagnostic::error("relay-lex", format!("unexpected character `{first}`"), short),
            Bad::Return => Diagnostic::error("relay-lex", "a carriage return must be followed by a line feed", short),
            Bad::OpenString => Diagnostic::error("relay-lex", "this string is not closed", token.span()),
            Bad::MetaRef => {
                Diagnostic::error("relay-lex", "a metadata reference is written `meta[relay.Constant][0]`", token.span())
            }
            Bad::Attribute => Diagnostic::error("relay-lex", format!("unsupported attribute `{}`", shorten(text)), token.span())
                .with_note("only `#[version = \"0.0.5\"]` and `#[metadata]` are known"),
        }
    }

    /// Describes a token in words.
    pub(super) fn describe(&self, token: Token) -> String {
        match token.kind {
            Kind::Eof => "the end of the text".into(),
            Kind::Metadata => "the metadata section".into(),
            Kind::Version => "the version header".into(),
            _ => format!("`{}`", shorten(self.text(token))),
        }
    }

    /// Problems of the text as a whole.
    pub(super) fn finish(&mut self) {
        if let Some(start) = self.lexer.open_comment {
            let span = Span { start, end: start + 2 };
            self.report(
                Diagnostic::warning("relay-lex", "this comment is not closed and hides the rest of the text", span)
                    .with_note("TVM does not take `**/` for the end of a comment"),
            );
        }
        if self.given_up() {
            self.diagnostics.push(Diagnostic::error(
                "relay-syntax",
                "too many errors: the rest of the text was not read",
                self.cur.span(),
            ));
        }
    }

    /// Skips to where reading can go on, `level` being the number of brackets that are open there.
    /// False when there is no such place in this definition.
    #[cold]
    #[inline(never)]
    pub(super) fn recover(&mut self, level: usize, resume: Resume) -> bool {
        if self.given_up() {
            return false;
        }
        loop {
            let inner = self.brackets.get(level..).unwrap_or(&[]);
            match self.cur.kind {
                Kind::Eof | Kind::Metadata | Kind::Def | Kind::Type | Kind::Extern => return false,
                // A parenthesis left open does not hide the end of a line from us.
                Kind::Semi if resume == Resume::Semi && inner.iter().all(|b| b.close != Kind::CloseCurly) => {
                    self.brackets.truncate(level);
                    return true;
                }
                Kind::Comma if resume == Resume::Item && inner.is_empty() => return true,
                Kind::CloseCurly | Kind::CloseParen | Kind::CloseSquare => {
                    let close = self.cur.kind;
                    let from = if close == Kind::CloseCurly { 0 } else { self.brackets.len().saturating_sub(1) };
                    match self.brackets[from..].iter().rposition(|b| b.close == close).map(|i| i + from) {
                        Some(open) if open >= level => {
                            self.brackets.truncate(open + 1);
                            self.bump();
                        }
                        Some(open) => {
                            self.brackets.truncate(level);
                            return resume != Resume::Semi && open + 1 == level;
                        }
                        None => {
                            self.bump();
                        }
                    }
                }
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// Forgets open brackets: a definition begins.
    pub(super) fn forget_brackets(&mut self) {
        self.brackets.clear();
        self.nesting = 0;
    }

    pub(super) fn open_brackets(&self) -> usize {
        self.brackets.len()
    }
}

/// Names a kind of token in words.
fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Local => "a variable such as `%x`",
        Kind::Global => "a name such as `@main`",
        Kind::Ident => "a name",
        Kind::Int => "a whole number",
        Kind::Else => "`else`",
        Kind::Type => "`type`",
        Kind::Comma => "`,`",
        Kind::Equal => "`=`",
        Kind::Semi => "`;`",
        Kind::OpenParen => "`(`",
        Kind::CloseParen => "`)`",
        Kind::OpenSquare => "`[`",
        Kind::CloseSquare => "`]`",
        Kind::OpenCurly => "`{`",
        Kind::CloseCurly => "`}`",
        Kind::Minus | Kind::Greater => "`->`",
        _ => "something else",
    }
}
