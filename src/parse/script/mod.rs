//! Parses the part of Python that TVMScript is written in to a syntax tree; the dialects read the tree.
//!
//! ```text
//!  lex --> stmt --> expr --> tree      value: the values of literals, on demand
//! ```
//!
//! Every problem is recorded with its place. After one, parsing resumes with the next line of the same block, so a
//! statement, and with it the function around it, is lost and no more: it stands as
//! [`StmtKind::Broken`](tree::StmtKind::Broken) and its function is marked.
//!
//! The call stack grows with blocks, with brackets, and with expressions that nest without brackets (`lambda`, the last
//! part of `a if b else c`); there are limits on all of these.

mod expr;
mod lex;
mod stmt;
#[cfg(test)]
mod tests;
pub(super) mod tree;
mod value;

use super::shorten;
use crate::diag::{Diagnostic, LineIndex, Span};
use crate::ir::Id;
use crate::ir::sort::sort_by;
use lex::{Bad, Kind, Lexer, Token, Word};
use tree::{Expr, Tree};

/// The greatest nesting depth of brackets, and of other nesting expressions.
pub(super) const MAX_DEPTH: usize = 256;

/// The greatest nesting depth of blocks; it is Python's own limit.
pub(in crate::parse) const MAX_BLOCKS: usize = 100;

/// After so many errors the rest of the text is not read.
const MAX_ERRORS: usize = 1000;

/// An error was found and recorded.
#[derive(Debug)]
struct Stop;

type Parse<T> = Result<T, Stop>;

struct Parser<'s> {
    tree: Tree<'s>,
    lexer: Lexer<'s>,
    /// The token under the cursor; `lexer` stands right behind it.
    cur: Token,
    /// The end of the last token.
    prev_end: u32,
    /// Nesting of expressions under way.
    nesting: usize,
    /// Blocks under way.
    blocks: usize,
    diagnostics: Vec<Diagnostic>,
    /// Made when a message first names a line.
    lines: Option<LineIndex>,
    n_errors: usize,
    /// Operands and elements collected for the expressions under way.
    stack: Vec<Id<Expr>>,
    /// Operators that wait for their right operand.
    pending: Vec<expr::Pending>,
}

/// Reads a text. The tree is complete where no diagnostic is about it.
pub(super) fn parse(source: &str) -> (Tree<'_>, Vec<Diagnostic>) {
    if u32::try_from(source.len()).is_err() {
        let error = Diagnostic::error("script-too-deep", "the text is longer than 4 GB", None);
        return (Tree::default(), vec![error]);
    }
    let mut parser = Parser::new(source);
    parser.file();
    let mut tree = parser.tree;
    tree.comments = parser.lexer.comments;
    let mut diagnostics = parser.diagnostics;
    diagnostics.extend(parser.lexer.odd_indents.iter().map(|span| {
        let message = "the indentation of this line is that of no block around it";
        Diagnostic::error("script-indent", message, *span)
    }));
    let place = |d: &Diagnostic| d.span.map_or(0, |s| s.start);
    sort_by(&mut diagnostics, |a, b| place(a).cmp(&place(b)));
    (tree, diagnostics)
}

impl<'s> Parser<'s> {
    fn new(source: &'s str) -> Parser<'s> {
        let mut lexer = Lexer::new(source);
        let cur = lexer.next();
        // Measured on the corpus: an expression takes about seven bytes of text.
        let room = source.len() / 8;
        let tree = Tree {
            source,
            exprs: Vec::with_capacity(room),
            spans: Vec::with_capacity(room),
            depths: Vec::with_capacity(room),
            ..Tree::default()
        };
        Parser {
            tree,
            lexer,
            cur,
            prev_end: 0,
            nesting: 0,
            blocks: 0,
            diagnostics: Vec::new(),
            lines: None,
            n_errors: 0,
            stack: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Takes the token under the cursor.
    fn bump(&mut self) -> Token {
        let token = self.cur;
        self.prev_end = token.end;
        self.cur = self.lexer.next();
        token
    }

    fn at(&self, kind: Kind) -> bool {
        self.cur.kind == kind
    }

    /// Takes a token of this kind, if it is one.
    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    fn eat_word(&mut self, word: Word) -> bool {
        self.eat(Kind::Word(word))
    }

    /// Takes a token of this kind or reports that `wanted` is missing.
    fn expect(&mut self, kind: Kind, wanted: &str) -> Parse<Token> {
        if self.at(kind) { Ok(self.bump()) } else { Err(self.unexpected(wanted)) }
    }

    /// Returns the place from `start` to the last token.
    fn span_from(&self, start: u32) -> Span {
        Span { start, end: self.prev_end.max(start) }
    }

    fn report(&mut self, diagnostic: Diagnostic) -> Stop {
        self.n_errors += 1;
        // Drops follow-up errors at the same place, and all errors after very many.
        let place = diagnostic.span.map(|s| s.start);
        let repeated = self.diagnostics.last().is_some_and(|d| d.span.map(|s| s.start) == place);
        if !repeated && self.n_errors <= MAX_ERRORS {
            self.diagnostics.push(diagnostic);
        }
        Stop
    }

    #[cold]
    fn error(&mut self, message: impl Into<String>, span: Span) -> Stop {
        self.report(Diagnostic::error("script-syntax", message, span))
    }

    /// True after so many errors that parsing stops.
    fn given_up(&self) -> bool {
        self.n_errors > MAX_ERRORS
    }

    #[cold]
    #[inline(never)]
    fn too_deep(&mut self) -> Stop {
        let message = format!("nested too deeply: more than {MAX_DEPTH} brackets are open here");
        self.report(Diagnostic::error("script-too-deep", message, self.cur.span()))
    }

    /// Counts one more level of an expression.
    fn deeper(&mut self) -> Parse<()> {
        if self.nesting >= MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.nesting += 1;
        Ok(())
    }

    /// Reports a syntax error at the cursor: another token was expected.
    #[cold]
    #[inline(never)]
    fn unexpected(&mut self, wanted: &str) -> Stop {
        let token = self.cur;
        if let Kind::Bad(bad) = token.kind {
            let diagnostic = self.lexical(bad, token);
            return self.report(diagnostic);
        }
        let found = match token.kind {
            Kind::Eof => "the end of the text".into(),
            Kind::Newline => "the end of the line".into(),
            Kind::Indent => "an indentation".into(),
            Kind::Dedent => "the end of the block".into(),
            _ => format!("`{}`", shorten(self.tree.text(token.span()))),
        };
        let mut diagnostic = Diagnostic::error("script-syntax", format!("expected {wanted}, found {found}"), token.span());
        // A bracket that was forgotten shows lines later.
        let open = self.lexer.brackets.last().copied();
        if let Some((close, at)) = open.filter(|open| !matches!(token.kind, Kind::Open(_)) && token.kind != Kind::Close(open.0)) {
            let lines = self.lines.get_or_insert_with(|| LineIndex::new(self.lexer.source));
            let (line, column) = lines.line_column(self.lexer.source, at);
            let (text, close) = (&self.lexer.source[at as usize..at as usize + 1], char::from(close));
            let note = format!("`{text}` in line {line}, column {column} waits for its `{close}`");
            diagnostic = diagnostic.with_note(note);
        }
        self.report(diagnostic)
    }

    fn lexical(&self, bad: Bad, token: Token) -> Diagnostic {
        let error = |code, message: String| Diagnostic::error(code, message, token.span());
        let text = shorten(self.tree.text(token.span()));
        match bad {
            Bad::Char => error("script-lex", format!("unexpected character `{text}`")),
            Bad::OpenString => error("script-lex", "this string is not closed".into()),
            Bad::StringPrefix => error("script-lex", "strings of bytes and formatted strings are not part of TVMScript".into()),
            Bad::Number => error("script-lex", format!("`{text}` is not a number")),
            Bad::Depth => error("script-too-deep", format!("more than {MAX_BLOCKS} blocks are open here")),
        }
    }

    /// Skips to the next line that can belong to the block under way, behind an error in a statement
    /// that began in `column`. Says whether the line that was left ends with `:`, so that a block of
    /// its own follows.
    #[cold]
    #[inline(never)]
    fn recover(&mut self, column: u32) -> bool {
        let mut last = Kind::Newline;
        loop {
            // Behind a bracket that was left open, the next line is still a line.
            // Behind a colon a deeper one is, too: a block, unless that is a dictionary.
            let block = last == Kind::Colon && self.lexer.brackets.last().is_some_and(|open| open.0 != b'}');
            let outside = self.lexer.column_if_first(self.prev_end, self.cur).is_some_and(|at| block || at <= column);
            let inside_brackets = !self.lexer.brackets.is_empty() || matches!(self.cur.kind, Kind::Open(_));
            if outside && inside_brackets && !matches!(self.cur.kind, Kind::Close(_) | Kind::Newline) {
                self.lexer.back_to_line(self.cur.start as usize);
                self.cur = self.lexer.next();
                return last == Kind::Colon;
            }
            match self.cur.kind {
                Kind::Eof | Kind::Indent | Kind::Dedent => return last == Kind::Colon,
                Kind::Newline => {
                    self.bump();
                    // Lines that begin with a closing bracket belong to the skipped statement.
                    if !matches!(self.cur.kind, Kind::Close(_)) {
                        return last == Kind::Colon;
                    }
                }
                kind => {
                    last = kind;
                    self.bump();
                }
            }
        }
    }

    /// Skips the block under the cursor, if one begins there.
    fn skip_block(&mut self) {
        let mut depth = 0;
        loop {
            match self.cur.kind {
                Kind::Indent => depth += 1,
                Kind::Dedent if depth > 0 => depth -= 1,
                Kind::Eof => return,
                _ => {}
            }
            if depth == 0 && self.cur.kind != Kind::Dedent {
                return;
            }
            self.bump();
            if depth == 0 {
                return;
            }
        }
    }
}
