//! Characters to tokens, as Python cuts them: line ends and indentation are tokens, except inside
//! of brackets.

use super::MAX_BLOCKS;
use super::tree::{Binary, Unary};
use super::value::string_len;
use crate::diag::Span;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Eof,
    /// The end of a statement.
    Newline,
    Indent,
    Dedent,
    Name,
    Int,
    Float,
    Str,
    /// A word with a meaning.
    Word(Word),
    /// `+`, `==` and so on; those that are also unary are known by their binary meaning.
    Op(Binary),
    /// `+=` and so on.
    OpEqual(Binary),
    Tilde,
    Dot,
    Ellipsis,
    Comma,
    Colon,
    Semi,
    Equal,
    Arrow,
    At,
    /// `(`, `[` or `{`
    Open(u8),
    /// `)`, `]` or `}`
    Close(u8),
    /// Not a token; says why.
    Bad(Bad),
}

/// Words with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Def,
    Class,
    Return,
    With,
    As,
    For,
    In,
    While,
    If,
    Elif,
    Else,
    Pass,
    Break,
    Continue,
    Assert,
    Lambda,
    Not,
    And,
    Or,
    Is,
    True,
    False,
    None,
    Import,
    From,
    /// A word of Python that has no place in TVMScript.
    Other,
}

/// The reason why something is not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bad {
    Char,
    OpenString,
    /// `b"..."` or `f"..."`
    StringPrefix,
    Number,
    /// Deeper indentation than [`MAX_BLOCKS`] blocks.
    Depth,
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
    /// The open brackets, each as its closing one and its place.
    pub brackets: Vec<(u8, u32)>,
    /// Columns at which the open blocks begin.
    pub indents: Vec<u32>,
    /// Blocks that end here and have no token yet.
    dedents: usize,
    /// True if the next token begins a line.
    pub at_line: bool,
    /// Comments that begin a line.
    pub comments: Vec<Span>,
    /// Lines whose indentation is that of no open block.
    pub odd_indents: Vec<Span>,
}

fn starts_name(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b >= 0x80
}

fn in_name(b: u8) -> bool {
    starts_name(b) || b.is_ascii_digit()
}

impl<'s> Lexer<'s> {
    pub fn new(source: &'s str) -> Lexer<'s> {
        // A mark at the beginning that some editors write is no part of the text.
        let pos = if source.starts_with('\u{feff}') { 3 } else { 0 };
        Lexer {
            source,
            pos,
            brackets: Vec::new(),
            indents: vec![0],
            dedents: 0,
            at_line: true,
            comments: Vec::new(),
            odd_indents: Vec::new(),
        }
    }

    fn byte(&self, at: usize) -> u8 {
        self.source.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// Returns the next token; at the end of the text it is `Eof` for ever.
    pub fn next(&mut self) -> Token {
        if self.at_line && self.brackets.is_empty() {
            self.at_line = false;
            if let Some(token) = self.line() {
                return token;
            }
        }
        if self.dedents > 0 {
            self.dedents -= 1;
            return self.token(Kind::Dedent, self.pos);
        }
        self.skip_blanks();
        let start = self.pos;
        let Some(&first) = self.source.as_bytes().get(start) else {
            // The last line needs no end, but its statement does.
            if self.brackets.is_empty() && self.indents.len() > 1 {
                self.dedents = self.indents.len() - 1;
                self.indents.truncate(1);
                return self.token(Kind::Newline, start);
            }
            return self.token(Kind::Eof, start);
        };
        if first == b'\n' || first == b'\r' {
            self.pos += 1;
            self.at_line = true;
            return self.token(Kind::Newline, start);
        }
        let kind = self.cut(first);
        self.token(kind, start)
    }

    fn token(&self, kind: Kind, start: usize) -> Token {
        Token { kind, start: start as u32, end: self.pos as u32 }
    }

    /// Begins a line that is not blank: blocks begin and end here.
    fn line(&mut self) -> Option<Token> {
        let bytes = self.source.as_bytes();
        let mut column = 0;
        let mut start = self.pos;
        loop {
            match bytes.get(self.pos) {
                Some(b' ') => column += 1,
                Some(b'\t') => column = (column / 8 + 1) * 8,
                Some(b'\x0c') => column = 0,
                Some(b'\r' | b'\n') => {
                    column = 0;
                    start = self.pos + 1;
                }
                Some(b'#') => {
                    let begin = self.pos;
                    self.skip_line();
                    if column == 0 {
                        self.comments.push(Span::new(begin, self.pos));
                    }
                    continue;
                }
                Some(_) => break,
                None => {
                    column = 0;
                    break;
                }
            }
            self.pos += 1;
        }
        let top = self.indents.last().copied().unwrap_or(0);
        if column > top {
            if self.indents.len() > MAX_BLOCKS {
                return Some(self.token(Kind::Bad(Bad::Depth), start));
            }
            self.indents.push(column);
            return Some(self.token(Kind::Indent, start));
        }
        while self.indents.len() > 1 && self.indents[self.indents.len() - 2] >= column && self.indents.last() != Some(&column) {
            self.indents.pop();
            self.dedents += 1;
        }
        if self.indents.last() != Some(&column) {
            self.odd_indents.push(Span::new(start, self.pos));
        }
        None
    }

    fn skip_line(&mut self) {
        let rest = &self.source.as_bytes()[self.pos..];
        self.pos += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
    }

    /// Skips blanks, comments and continued lines, and inside of brackets also line ends.
    fn skip_blanks(&mut self) {
        loop {
            match self.byte(self.pos) {
                b' ' | b'\t' | b'\x0c' => self.pos += 1,
                b'\n' | b'\r' if !self.brackets.is_empty() => self.pos += 1,
                b'\r' if self.byte(self.pos + 1) == b'\n' => self.pos += 1,
                b'\\' if self.byte(self.pos + 1) == b'\n' => self.pos += 2,
                b'\\' if self.byte(self.pos + 1) == b'\r' && self.byte(self.pos + 2) == b'\n' => self.pos += 3,
                b'#' => self.skip_line(),
                _ => return,
            }
        }
    }

    /// Cuts the token that begins with `first` and steps behind it.
    fn cut(&mut self, first: u8) -> Kind {
        let start = self.pos;
        if starts_name(first) {
            return self.word(start);
        }
        self.pos += 1;
        let next = self.byte(self.pos);
        match first {
            b'0'..=b'9' => return self.number(start),
            b'.' if next.is_ascii_digit() => return self.number(start),
            b'.' if next == b'.' && self.byte(self.pos + 1) == b'.' => {
                self.pos += 2;
                return Kind::Ellipsis;
            }
            b'"' | b'\'' => return self.string(start),
            b'(' | b'[' | b'{' => {
                let close = if first == b'(' { b')' } else { first + 2 };
                self.brackets.push((close, start as u32));
                return Kind::Open(first);
            }
            b')' | b']' | b'}' => {
                if self.brackets.last().is_some_and(|open| open.0 == first) {
                    self.brackets.pop();
                }
                return Kind::Close(first);
            }
            b'.' => return Kind::Dot,
            b',' => return Kind::Comma,
            b':' => return Kind::Colon,
            b';' => return Kind::Semi,
            b'~' => return Kind::Tilde,
            b'@' if next != b'=' => return Kind::At,
            b'-' if next == b'>' => {
                self.pos += 1;
                return Kind::Arrow;
            }
            b'=' if next != b'=' => return Kind::Equal,
            _ => {}
        }
        let (op, long) = match (first, next) {
            (b'=', b'=') => (Binary::Eq, true),
            (b'!', b'=') => (Binary::Ne, true),
            (b'<', b'=') => (Binary::Le, true),
            (b'>', b'=') => (Binary::Ge, true),
            (b'<', b'<') => (Binary::Shl, true),
            (b'>', b'>') => (Binary::Shr, true),
            (b'*', b'*') => (Binary::Pow, true),
            (b'/', b'/') => (Binary::FloorDiv, true),
            (b'<', _) => (Binary::Lt, false),
            (b'>', _) => (Binary::Gt, false),
            (b'+', _) => (Binary::Add, false),
            (b'-', _) => (Binary::Sub, false),
            (b'*', _) => (Binary::Mul, false),
            (b'/', _) => (Binary::Div, false),
            (b'%', _) => (Binary::Mod, false),
            (b'&', _) => (Binary::BitAnd, false),
            (b'|', _) => (Binary::BitOr, false),
            (b'^', _) => (Binary::BitXor, false),
            (b'@', _) => (Binary::MatMul, false),
            _ => return Kind::Bad(Bad::Char),
        };
        self.pos += usize::from(long);
        let compares = matches!(op, Binary::Eq | Binary::Ne | Binary::Le | Binary::Ge | Binary::Lt | Binary::Gt);
        if !compares && self.byte(self.pos) == b'=' {
            self.pos += 1;
            return Kind::OpEqual(op);
        }
        Kind::Op(op)
    }

    fn word(&mut self, start: usize) -> Kind {
        let bytes = self.source.as_bytes();
        let len = bytes[start..].iter().position(|b| !in_name(*b)).unwrap_or(bytes.len() - start);
        self.pos = start + len;
        let text = &self.source[start..self.pos];
        if matches!(self.byte(self.pos), b'"' | b'\'') {
            match text {
                "r" | "R" | "u" | "U" => return self.string(start),
                "b" | "B" | "f" | "F" | "rb" | "br" | "fr" | "rf" => {
                    self.string(start);
                    return Kind::Bad(Bad::StringPrefix);
                }
                _ => {}
            }
        }
        match keyword(text) {
            Some(word) => Kind::Word(word),
            None => Kind::Name,
        }
    }

    fn string(&mut self, start: usize) -> Kind {
        match string_len(&self.source[start..]) {
            Some(len) => {
                self.pos = start + len;
                Kind::Str
            }
            None => {
                self.skip_line();
                Kind::Bad(Bad::OpenString)
            }
        }
    }

    fn number(&mut self, start: usize) -> Kind {
        let digits = |lexer: &mut Self| {
            while lexer.byte(lexer.pos).is_ascii_digit() || lexer.byte(lexer.pos) == b'_' {
                lexer.pos += 1;
            }
        };
        self.pos = start;
        let mut kind = Kind::Int;
        if self.byte(start) == b'0' && self.byte(start + 1).is_ascii_alphabetic() {
            while in_name(self.byte(self.pos)) {
                self.pos += 1;
            }
        } else {
            digits(self);
            if self.byte(self.pos) == b'.' {
                self.pos += 1;
                kind = Kind::Float;
                digits(self);
            }
            let signed = usize::from(matches!(self.byte(self.pos + 1), b'+' | b'-'));
            if matches!(self.byte(self.pos), b'e' | b'E') && self.byte(self.pos + 1 + signed).is_ascii_digit() {
                self.pos += 1 + signed;
                kind = Kind::Float;
                digits(self);
            }
        }
        let text = &self.source[start..self.pos];
        let fine = match kind {
            // Numbers beyond 128 bits are numbers; the reader of the value reports that it is too large.
            Kind::Int => text.bytes().all(|b| b.is_ascii_digit()) || super::value::int(text).is_some(),
            _ => super::value::float(text).is_some(),
        };
        if !fine || in_name(self.byte(self.pos)) {
            while in_name(self.byte(self.pos)) {
                self.pos += 1;
            }
            return Kind::Bad(Bad::Number);
        }
        kind
    }

    /// Goes back to the beginning of the line with `at`, with no bracket open.
    pub fn back_to_line(&mut self, at: usize) {
        self.brackets.clear();
        self.pos = self.source[..at].rfind('\n').map_or(0, |end| end + 1);
        self.at_line = true;
        self.dedents = 0;
    }

    /// Returns the column of a token, when a line end and nothing but blanks lie between `end`, which is that of the
    /// token before, and it.
    pub fn column_if_first(&self, end: u32, token: Token) -> Option<u32> {
        let between = self.source.get(end as usize..token.start as usize)?;
        let before = &between[between.rfind('\n')? + 1..];
        let blank = before.bytes().all(|b| b == b' ' || b == b'\t');
        blank.then(|| before.bytes().fold(0, |column, b| if b == b'\t' { (column / 8 + 1) * 8 } else { column + 1 }))
    }
}

fn keyword(text: &str) -> Option<Word> {
    Some(match text {
        "def" => Word::Def,
        "class" => Word::Class,
        "return" => Word::Return,
        "with" => Word::With,
        "as" => Word::As,
        "for" => Word::For,
        "in" => Word::In,
        "while" => Word::While,
        "if" => Word::If,
        "elif" => Word::Elif,
        "else" => Word::Else,
        "pass" => Word::Pass,
        "break" => Word::Break,
        "continue" => Word::Continue,
        "assert" => Word::Assert,
        "lambda" => Word::Lambda,
        "not" => Word::Not,
        "and" => Word::And,
        "or" => Word::Or,
        "is" => Word::Is,
        "True" => Word::True,
        "False" => Word::False,
        "None" => Word::None,
        "import" => Word::Import,
        "from" => Word::From,
        "async" | "await" | "del" | "except" | "finally" | "global" | "nonlocal" | "raise" | "try" | "yield" => Word::Other,
        _ => return None,
    })
}

impl Kind {
    /// Returns the operator before an operand that this token may be.
    pub fn unary(self) -> Option<Unary> {
        match self {
            Kind::Op(Binary::Sub) => Some(Unary::Neg),
            Kind::Op(Binary::Add) => Some(Unary::Pos),
            Kind::Tilde => Some(Unary::Invert),
            Kind::Word(Word::Not) => Some(Unary::Not),
            _ => None,
        }
    }
}
