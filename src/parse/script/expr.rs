//! Expressions, with Python's precedence.

use super::lex::{Kind, Word};
use super::tree::{Arg, Binary, Expr, Param, Unary};
use super::{MAX_DEPTH, Parse, Parser, Stop};
use crate::diag::Span;
use crate::ir::{Id, List};

/// An operator that waits for its right operand.
#[derive(Clone, Copy)]
pub(super) struct Pending {
    op: Waiting,
    precedence: u8,
    /// The start of its left operand, or of itself when it has none.
    start: u32,
}

#[derive(Clone, Copy)]
enum Waiting {
    Unary(Unary),
    Binary(Binary),
    /// The second comparison of `a < b < c`, with its left operand.
    Chained(Binary, Id<Expr>),
}

fn precedence(op: Binary) -> u8 {
    use Binary::{
        Add, And, BitAnd, BitOr, BitXor, Div, Eq, FloorDiv, Ge, Gt, In, Is, IsNot, Le, Lt, MatMul, Mod, Mul, Ne, NotIn, Or, Pow,
        Shl, Shr, Sub,
    };
    match op {
        Or => 1,
        And => 2,
        Lt | Le | Gt | Ge | Eq | Ne | In | NotIn | Is | IsNot => COMPARE,
        BitOr => 5,
        BitXor => 6,
        BitAnd => 7,
        Shl | Shr => 8,
        Add | Sub => 9,
        Mul | Div | FloorDiv | Mod | MatMul => 10,
        Pow => POWER,
    }
}

const NOT: u8 = 3;
const COMPARE: u8 = 4;
const SIGN: u8 = 11;
const POWER: u8 = 12;

/// The greatest depth of an expression's tree: that of [`MAX_DEPTH`] brackets and some room for `f(x)(y)` and `a.b.c`,
/// which are no brackets.
const MAX_TREE: u16 = 4 * MAX_DEPTH as u16;

impl<'s> Parser<'s> {
    pub(super) fn add(&mut self, expr: Expr, span: Span) -> Parse<Id<Expr>> {
        let of = |id: Id<Expr>| self.tree.depths[id.index()];
        let all = |list: List<Id<Expr>>| self.tree.items(list).iter().map(|id| of(*id)).max().unwrap_or(0);
        let depth = match expr {
            Expr::Attribute { value, .. } | Expr::Unary { value, .. } | Expr::Starred(value) => of(value) + 1,
            Expr::Call { callee, args } => self.tree.args(args).iter().map(|arg| of(arg.value)).fold(of(callee), u16::max) + 1,
            Expr::Subscript { value, items } => of(value).max(all(items)) + 1,
            Expr::Slice { lower, upper, step } => [lower, upper, step].into_iter().flatten().map(of).fold(0, u16::max) + 1,
            Expr::Tuple(items) | Expr::List(items) | Expr::Dict(items) => all(items) + 1,
            Expr::Binary { left, right, .. } => of(left).max(of(right) + 1),
            Expr::If { cond, then, other } => of(cond).max(of(then)).max(of(other)) + 1,
            Expr::Lambda { body, .. } => of(body) + 1,
            _ => 0,
        };
        if depth > MAX_TREE {
            return Err(self.too_deep());
        }
        let id = Id::from_index(self.tree.exprs.len());
        self.tree.exprs.push(expr);
        self.tree.spans.push(span);
        self.tree.depths.push(depth);
        Ok(id)
    }

    /// Adds the expression from `start` to the last token.
    fn add_from(&mut self, expr: Expr, start: u32) -> Parse<Id<Expr>> {
        let span = self.span_from(start);
        self.add(expr, span)
    }

    fn start_of(&self, id: Id<Expr>) -> u32 {
        self.tree.span(id).start
    }

    /// Returns the elements collected from `base` on.
    pub(super) fn collected(&mut self, base: usize) -> List<Id<Expr>> {
        let list = List::at(self.tree.items.len() as u32, (self.stack.len() - base) as u32);
        self.tree.items.extend_from_slice(&self.stack[base..]);
        self.stack.truncate(base);
        list
    }

    /// Parses `a` or `a, b`: an expression or a tuple without parentheses.
    pub(super) fn expr_list(&mut self) -> Parse<Id<Expr>> {
        let start = self.cur.start;
        let first = self.element()?;
        if !self.at(Kind::Comma) {
            return Ok(first);
        }
        let base = self.stack.len();
        self.stack.push(first);
        while self.eat(Kind::Comma) && self.begins_expr() {
            let next = self.element()?;
            self.stack.push(next);
        }
        let items = self.collected(base);
        self.add_from(Expr::Tuple(items), start)
    }

    /// True if the token under the cursor may begin an element of a list.
    fn begins_expr(&self) -> bool {
        !matches!(
            self.cur.kind,
            Kind::Newline | Kind::Eof | Kind::Close(_) | Kind::Equal | Kind::Colon | Kind::Semi | Kind::Word(Word::In)
        )
    }

    /// Parses `a` or `*a`.
    pub(super) fn element(&mut self) -> Parse<Id<Expr>> {
        if !self.at(Kind::Op(Binary::Mul)) {
            return self.expr();
        }
        let start = self.bump().start;
        let value = self.binary()?;
        self.add_from(Expr::Starred(value), start)
    }

    /// Parses an expression without commas.
    pub(super) fn expr(&mut self) -> Parse<Id<Expr>> {
        if self.at(Kind::Word(Word::Lambda)) {
            return self.lambda();
        }
        let then = self.binary()?;
        if !self.eat_word(Word::If) {
            return Ok(then);
        }
        self.deeper()?;
        let cond = self.binary()?;
        self.expect(Kind::Word(Word::Else), "`else`")?;
        let other = self.expr()?;
        self.nesting -= 1;
        let start = self.start_of(then);
        self.add_from(Expr::If { cond, then, other }, start)
    }

    #[inline(never)]
    fn lambda(&mut self) -> Parse<Id<Expr>> {
        let start = self.bump().start;
        self.deeper()?;
        let params = self.params(Kind::Colon, false)?;
        self.expect(Kind::Colon, "`:`")?;
        let body = self.expr()?;
        self.nesting -= 1;
        self.add_from(Expr::Lambda { params, body }, start)
    }

    /// Parameters up to `close`, which is not taken.
    pub(super) fn params(&mut self, close: Kind, annotated: bool) -> Parse<List<Param>> {
        let mut params = Vec::new();
        while !self.at(close) {
            let stars = self.stars();
            // A star alone and a slash only say how arguments are passed.
            if stars == 1 && (self.at(Kind::Comma) || self.at(close)) || self.eat(Kind::Op(Binary::Div)) {
                if !self.eat(Kind::Comma) {
                    break;
                }
                continue;
            }
            let name = self.expect(Kind::Name, "the name of a parameter")?.span();
            let annotation = if annotated && self.eat(Kind::Colon) { Some(self.expr()?) } else { None };
            let default = if self.eat(Kind::Equal) { Some(self.expr()?) } else { None };
            params.push(Param { name, stars, annotation, default });
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        let list = List::at(self.tree.params.len() as u32, params.len() as u32);
        self.tree.params.extend(params);
        Ok(list)
    }

    fn stars(&mut self) -> u8 {
        if self.eat(Kind::Op(Binary::Mul)) {
            1
        } else if self.eat(Kind::Op(Binary::Pow)) {
            2
        } else {
            0
        }
    }

    /// Parses operands joined by operators.
    pub(super) fn binary(&mut self) -> Parse<Id<Expr>> {
        if self.cur.kind.unary().is_none() {
            let first = self.primary()?;
            if self.binary_operator().is_none() {
                return Ok(first);
            }
            return self.operators(Some(first));
        }
        self.operators(None)
    }

    fn operators(&mut self, first: Option<Id<Expr>>) -> Parse<Id<Expr>> {
        let base = self.pending.len();
        let mut operand = match first {
            Some(first) => first,
            None => self.operand(base)?,
        };
        while let Some(op) = self.binary_operator() {
            let level = precedence(op);
            let mut chained = None;
            while let Some(&above) = self.pending[base..].last()
                && (above.precedence > level || above.precedence == level && level != POWER)
            {
                if level == COMPARE && above.precedence == COMPARE {
                    chained = Some(operand);
                }
                operand = self.combine(operand)?;
            }
            let op = self.take_operator(op);
            let op = match chained {
                Some(left) => Waiting::Chained(op, left),
                None => Waiting::Binary(op),
            };
            let start = self.start_of(operand);
            self.stack.push(operand);
            self.pending.push(Pending { op, precedence: level, start });
            if self.pending.len() - base > MAX_DEPTH {
                return Err(self.too_deep());
            }
            operand = self.operand(base)?;
        }
        while self.pending.len() > base {
            operand = self.combine(operand)?;
        }
        Ok(operand)
    }

    /// Parses an operand with the operators before it, which wait for it.
    fn operand(&mut self, base: usize) -> Parse<Id<Expr>> {
        while let Some(op) = self.cur.kind.unary() {
            let level = if op == Unary::Not { NOT } else { SIGN };
            if op == Unary::Not && self.pending[base..].last().is_some_and(|above| above.precedence > NOT) {
                return Err(self.unexpected("an operand"));
            }
            let start = self.bump().start;
            self.pending.push(Pending { op: Waiting::Unary(op), precedence: level, start });
            if self.pending.len() - base > MAX_DEPTH {
                return Err(self.too_deep());
            }
        }
        self.primary()
    }

    /// Gives the operator that waits last its right operand.
    fn combine(&mut self, right: Id<Expr>) -> Parse<Id<Expr>> {
        let Some(Pending { op, start, .. }) = self.pending.pop() else { return Ok(right) };
        let span = Span { start, end: self.tree.span(right).end };
        match op {
            Waiting::Unary(op) => self.add(Expr::Unary { op, value: right }, span),
            Waiting::Binary(op) => {
                let left = self.stack.pop().ok_or(Stop)?;
                self.add(Expr::Binary { op, left, right }, span)
            }
            Waiting::Chained(op, left) => {
                let before = self.stack.pop().ok_or(Stop)?;
                let inner = Span { start: self.start_of(left), end: span.end };
                let right = self.add(Expr::Binary { op, left, right }, inner)?;
                self.add(Expr::Binary { op: Binary::And, left: before, right }, span)
            }
        }
    }

    /// Returns the operator under the cursor, which is not taken.
    fn binary_operator(&self) -> Option<Binary> {
        match self.cur.kind {
            Kind::Op(op) => Some(op),
            Kind::At => Some(Binary::MatMul),
            Kind::Word(Word::And) => Some(Binary::And),
            Kind::Word(Word::Or) => Some(Binary::Or),
            Kind::Word(Word::In) => Some(Binary::In),
            Kind::Word(Word::Is) => Some(Binary::Is),
            // `a not in b`; a `not` alone is no operator here, and the next token leads to an error.
            Kind::Word(Word::Not) => Some(Binary::NotIn),
            _ => None,
        }
    }

    /// Takes it, and with it the second word of `not in` and `is not`.
    fn take_operator(&mut self, op: Binary) -> Binary {
        self.bump();
        match op {
            Binary::NotIn => {
                self.eat_word(Word::In);
                op
            }
            Binary::Is if self.eat_word(Word::Not) => Binary::IsNot,
            _ => op,
        }
    }

    /// Parses an expression without operators: an atom followed by attributes, calls and subscripts.
    pub(super) fn primary(&mut self) -> Parse<Id<Expr>> {
        let start = self.cur.start;
        let mut expr = self.atom()?;
        loop {
            match self.cur.kind {
                Kind::Dot => {
                    self.bump();
                    // TVM prints attributes that are words of Python, such as `T.If`, in lower case too.
                    let is_name = matches!(self.cur.kind, Kind::Name | Kind::Word(_));
                    let name = if is_name { self.bump().span() } else { return Err(self.unexpected("a name")) };
                    expr = self.add(Expr::Attribute { value: expr, name }, Span { start, end: name.end })?;
                }
                Kind::Open(b'(') => {
                    let args = self.call_args()?;
                    expr = self.add_from(Expr::Call { callee: expr, args }, start)?;
                }
                Kind::Open(b'[') => {
                    self.bump();
                    self.deeper()?;
                    let base = self.stack.len();
                    while !self.at(Kind::Close(b']')) {
                        let item = self.index()?;
                        self.stack.push(item);
                        self.separator(b']')?;
                    }
                    self.bump();
                    self.nesting -= 1;
                    let items = self.collected(base);
                    if items.is_empty() {
                        let span = self.span_from(start);
                        return Err(self.error("a subscript needs an index", span));
                    }
                    expr = self.add_from(Expr::Subscript { value: expr, items }, start)?;
                }
                _ => return Ok(expr),
            }
        }
    }

    /// Takes the comma behind an element, if the list does not end there.
    fn separator(&mut self, close: u8) -> Parse<()> {
        if self.eat(Kind::Comma) || self.at(Kind::Close(close)) {
            return Ok(());
        }
        Err(self.unexpected(match close {
            b')' => "`,` or `)`",
            b']' => "`,` or `]`",
            _ => "`,` or `}`",
        }))
    }

    /// Parses the arguments of a call, with their parentheses.
    pub(super) fn call_args(&mut self) -> Parse<List<Arg>> {
        self.bump();
        self.deeper()?;
        let base = self.stack.len();
        let mut names: Vec<(Span, u8)> = Vec::new();
        while !self.at(Kind::Close(b')')) {
            let stars = self.stars();
            let mut value = self.expr()?;
            let mut name = Span { start: 0, end: 0 };
            if stars == 0 && self.at(Kind::Equal) && self.tree.name(value).is_some() {
                name = self.tree.span(value);
                self.bump();
                value = self.expr()?;
            } else if self.at(Kind::Word(Word::For)) {
                return Err(self.unexpected("`,` or `)`: loops in an expression are not part of TVMScript;"));
            }
            self.stack.push(value);
            names.push((name, stars));
            self.separator(b')')?;
        }
        self.bump();
        self.nesting -= 1;
        let list = List::at(self.tree.args.len() as u32, names.len() as u32);
        let values = self.stack.drain(base..);
        self.tree.args.extend(names.iter().zip(values).map(|(&(name, stars), value)| Arg { name, stars, value }));
        Ok(list)
    }

    /// Parses one index of a subscript: an expression or a slice.
    fn index(&mut self) -> Parse<Id<Expr>> {
        let start = self.cur.start;
        let ends = |p: &Self| matches!(p.cur.kind, Kind::Comma | Kind::Colon | Kind::Close(_));
        let lower = if self.at(Kind::Colon) { None } else { Some(self.element()?) };
        if let Some(only) = lower.filter(|_| !self.at(Kind::Colon)) {
            return Ok(only);
        }
        self.bump();
        let upper = if ends(self) { None } else { Some(self.expr()?) };
        let step = if self.eat(Kind::Colon) && !ends(self) { Some(self.expr()?) } else { None };
        self.add_from(Expr::Slice { lower, upper, step }, start)
    }

    fn atom(&mut self) -> Parse<Id<Expr>> {
        let expr = match self.cur.kind {
            Kind::Name => Expr::Name,
            Kind::Int => Expr::Int,
            Kind::Float => Expr::Float,
            Kind::Word(Word::True) => Expr::True,
            Kind::Word(Word::False) => Expr::False,
            Kind::Word(Word::None) => Expr::None,
            Kind::Ellipsis => Expr::Ellipsis,
            Kind::Str => return self.strings(),
            Kind::Open(open) => return self.bracketed(open),
            _ => return Err(self.unexpected("an expression")),
        };
        let span = self.bump().span();
        self.add(expr, span)
    }

    /// Parses strings, one behind the other.
    fn strings(&mut self) -> Parse<Id<Expr>> {
        let start = self.bump().start;
        while self.eat(Kind::Str) {}
        self.add_from(Expr::Str, start)
    }

    /// Parses `(e)`, a tuple, a list or a dictionary.
    #[inline(never)]
    fn bracketed(&mut self, open: u8) -> Parse<Id<Expr>> {
        let start = self.bump().start;
        self.deeper()?;
        let close = if open == b'(' { b')' } else { open + 2 };
        let base = self.stack.len();
        let mut comma = false;
        while !self.at(Kind::Close(close)) {
            let item = self.element()?;
            self.stack.push(item);
            if open == b'{' {
                self.expect(Kind::Colon, "`:`")?;
                let value = self.expr()?;
                self.stack.push(value);
            }
            if self.at(Kind::Word(Word::For)) {
                return Err(self.unexpected("`,`: loops in an expression are not part of TVMScript;"));
            }
            comma = self.at(Kind::Comma);
            self.separator(close)?;
        }
        self.bump();
        self.nesting -= 1;
        if open == b'(' && !comma && self.stack.len() == base + 1 {
            // The expression keeps its own place; the parentheses only group.
            return self.stack.pop().ok_or(Stop);
        }
        let items = self.collected(base);
        let expr = match open {
            b'(' => Expr::Tuple(items),
            b'[' => Expr::List(items),
            _ => Expr::Dict(items),
        };
        self.add_from(expr, start)
    }
}
