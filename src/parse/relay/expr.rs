//! Expressions: sequences, bindings, operators, operands.
//!
//! The mutually recursive functions are kept small on the call stack: functions that they call on the way, and that may
//! need room, are marked `inline(never)`.

use super::super::lex::{Kind, Token};
use super::super::number::{self, Number};
use super::token::Resume;
use super::{GraphVar, Parse, Parser};
use crate::diag::{Diagnostic, Span};
use crate::ir::{DType, Expr, ExprId, OpId, Tensor, VarId};
use crate::ops;

/// A statement that waits for the following expression.
struct Statement {
    /// None for `value; rest`, which binds a variable without a name.
    var: Option<VarId>,
    value: ExprId,
    start: u32,
}

/// A binary operator that waits for its right side.
#[derive(Clone, Copy)]
struct Pending {
    op: OpId,
    precedence: u8,
}

impl<'s> Parser<'s, '_> {
    /// Parses the contents of braces or parentheses: statements and a last expression. TVM: ParseExpr.
    pub(super) fn seq(&mut self) -> Parse<ExprId> {
        self.scoped_seq(false)
    }

    /// Parses the same as an element of a list that ends with `)`.
    pub(super) fn element(&mut self) -> Parse<ExprId> {
        self.scoped_seq(true)
    }

    fn scoped_seq(&mut self, in_list: bool) -> Parse<ExprId> {
        self.guard_depth()?;
        let mark = self.vars.mark();
        let result = self.seq_parts(in_list);
        self.vars.back_to(mark);
        result
    }

    fn seq_parts(&mut self, in_list: bool) -> Parse<ExprId> {
        let level = self.open_brackets();
        let stacked = self.stack.len();
        let mut statements: Vec<Statement> = Vec::new();
        let last = loop {
            let start = self.cur.start;
            let done = match self.statement(&mut statements, in_list) {
                Ok(done) => done,
                // Between parentheses a `;` is more likely to belong to the block around them.
                Err(stop) if !self.in_block() || !self.recover(level, Resume::Semi) => return Err(stop),
                Err(_) => {
                    self.stack.truncate(stacked);
                    self.bump();
                    let value = self.poison();
                    statements.push(Statement { var: None, value, start });
                    None
                }
            };
            if let Some(last) = done {
                break last;
            }
        };
        Ok(self.bound(statements, last))
    }

    /// Builds statements around their last expression.
    fn bound(&mut self, statements: Vec<Statement>, last: ExprId) -> ExprId {
        let end = self.prev_end;
        let mut body = last;
        for statement in statements.into_iter().rev() {
            let var = match statement.var {
                Some(var) => var,
                None => self.store.var("", None),
            };
            body = self.store.add(Expr::Let { var, value: statement.value, body });
            self.store.set_span(body, Span { start: statement.start, end });
        }
        body
    }

    /// Parses one statement; the expression if it is the last one.
    fn statement(&mut self, statements: &mut Vec<Statement>, in_list: bool) -> Parse<Option<ExprId>> {
        let Token { kind, start, .. } = self.cur;
        let value = match kind {
            Kind::Let => {
                let (var, value) = self.let_binding()?;
                statements.push(Statement { var: Some(var), value, start });
                return Ok(None);
            }
            Kind::Graph if self.assignment_follows() => {
                self.graph_binding()?;
                return Ok(None);
            }
            Kind::FreeVar => {
                self.free_var()?;
                return Ok(None);
            }
            Kind::OpenCurly => self.block()?,
            Kind::CloseCurly if self.behind_semicolon() => return Err(self.missing_result()),
            _ => self.binary()?,
        };
        if !self.at(Kind::Semi) {
            if !self.at_binding() {
                return Ok(Some(value));
            }
            self.missing_semicolon();
            statements.push(Statement { var: None, value, start });
            return Ok(None);
        }
        if in_list && statements.is_empty() && self.closes_outer_statement() {
            return Err(self.missing_separator(Kind::CloseParen));
        }
        self.bump();
        statements.push(Statement { var: None, value, start });
        Ok(None)
    }

    fn behind_semicolon(&self) -> bool {
        let last = (self.prev_end as usize).checked_sub(1);
        last.and_then(|at| self.lexer.source.as_bytes().get(at)) == Some(&b';')
    }

    /// Reports a block that ends behind a `;`.
    #[cold]
    fn missing_result(&mut self) -> super::Stop {
        let error = Diagnostic::error("relay-syntax", "expected an expression, found `}`", self.cur.span());
        self.report(error.with_note("the last thing in a block is its value and has no `;` behind it"))
    }

    /// Parses `{ ... }` with a scope of its own.
    fn block(&mut self) -> Parse<ExprId> {
        let mark = self.vars.open();
        let body = self.braces();
        self.vars.back_to(mark);
        body
    }

    /// Parses `{ ... }`. An error inside does not reach outside.
    pub(super) fn braces(&mut self) -> Parse<ExprId> {
        self.expect(Kind::OpenCurly)?;
        let level = self.open_brackets();
        let stacked = self.stack.len();
        match self.seq().and_then(|body| self.closed(Kind::CloseCurly).map(|()| body)) {
            Err(_) if self.recover(level, Resume::Close) => {
                self.stack.truncate(stacked);
                self.bump();
                Ok(self.poison())
            }
            body => body,
        }
    }

    /// Parses the bracket that ends a sequence of statements.
    pub(super) fn closed(&mut self, close: Kind) -> Parse<()> {
        if self.eat(close) {
            return Ok(());
        }
        Err(self.unexpected(if close == Kind::CloseCurly { "`;` or `}`" } else { "`)`" }))
    }

    /// Parses `let %x: T = value;`. The variable is bound before its value is read, so that functions can call
    /// themselves; the scope that hides outer variables opens behind it.
    #[inline(never)]
    fn let_binding(&mut self) -> Parse<(VarId, ExprId)> {
        let level = self.open_brackets();
        self.bump();
        let (name, span) = self.binder()?;
        let annotation = match self.eat(Kind::Colon).then(|| self.annotation()) {
            None => None,
            Some(Ok(annotation)) => annotation,
            Some(Err(stop)) => {
                // The variable is known all the same, so that its uses are no further errors.
                self.bind(name, span, None);
                return Err(stop);
            }
        };
        let var = self.bind(name, span, annotation);
        let value = self.expect(Kind::Equal).and_then(|_| self.binding_value(level))?;
        self.vars.open();
        Ok((var, value))
    }

    /// Parses `%0 = value;`.
    #[inline(never)]
    fn graph_binding(&mut self) -> Parse<()> {
        let level = self.open_brackets();
        let token = self.bump();
        self.bump();
        let value = self.binding_value(level)?;
        let text = self.text(token);
        let Ok(number) = text[1..].parse::<u32>() else {
            self.error("relay-syntax", format!("the number of `{text}` is too large"), token.span());
            return Ok(());
        };
        // One table for the whole text, and the first definition counts.
        if self.graph.contains_key(&number) {
            let note = "TVM keeps one table of numbered variables for the whole text, and the first definition counts";
            let warning = Diagnostic::warning("relay-rebound-var", format!("`{text}` is defined already"), token.span());
            self.report(warning.with_note(note));
        } else {
            self.graph.insert(number, GraphVar { value, definition: self.definition });
            // The binding then keeps its number through all passes.
            self.store.set_number(value, number);
        }
        Ok(())
    }

    /// Parses the right side of a binding with its `;`. After an error, parsing resumes behind the `;`.
    fn binding_value(&mut self, level: usize) -> Parse<ExprId> {
        let stacked = self.stack.len();
        let value = if self.at(Kind::Let) { self.open_let() } else { self.binary() };
        let value = value.and_then(|value| {
            if self.at_binding() {
                self.missing_semicolon();
                return Ok(value);
            }
            self.expect(Kind::Semi).map(|_| value)
        });
        match value {
            Err(_) if self.recover(level, Resume::Semi) => {
                self.stack.truncate(stacked);
                self.bump();
                Ok(self.poison())
            }
            value => value,
        }
    }

    /// Parses a `let` that is a value and has no parentheses: TVM prints those of a pass so, and cannot read them. It
    /// ends with the first operand that is not bound.
    #[inline(never)]
    fn open_let(&mut self) -> Parse<ExprId> {
        self.guard_depth()?;
        if self.nesting == 0 {
            let warning = Diagnostic::warning("relay-open-let", "TVM cannot read a `let` here", self.cur.span());
            self.report(warning.with_note("it prints them so; write parentheses around it"));
        }
        let mark = self.vars.mark();
        self.nesting += 1;
        let value = self.open_let_parts();
        self.nesting -= 1;
        self.vars.back_to(mark);
        value
    }

    fn open_let_parts(&mut self) -> Parse<ExprId> {
        let mut statements: Vec<Statement> = Vec::new();
        while self.at_binding() {
            let start = self.cur.start;
            if self.at(Kind::Let) {
                let (var, value) = self.let_binding()?;
                statements.push(Statement { var: Some(var), value, start });
            } else {
                self.graph_binding()?;
            }
        }
        let last = self.binary()?;
        Ok(self.bound(statements, last))
    }

    /// True if `let` or `%n =` comes next.
    fn at_binding(&mut self) -> bool {
        self.at(Kind::Let) || self.at(Kind::Graph) && self.assignment_follows()
    }

    /// Reports a binding where a `;` should stand: parsing goes on as if it stood there.
    #[cold]
    fn missing_semicolon(&mut self) {
        let message = format!("expected `;`, found {}", self.describe(self.cur));
        let span = Span { start: self.prev_end, end: self.prev_end };
        self.error("relay-syntax", message, span);
    }

    /// Parses `free_var %x: T;`.
    #[inline(never)]
    fn free_var(&mut self) -> Parse<()> {
        self.bump();
        let (name, span) = self.binder()?;
        let annotation = if self.eat(Kind::Colon) { self.annotation()? } else { None };
        let var = self.new_var(name, span, annotation);
        self.vars.declare_free(name, var);
        self.uses_foreign = true;
        self.expect(Kind::Semi).map(|_| ())
    }

    /// Parses operands joined by binary operators. TVM: ParseExprBinOp.
    pub(super) fn binary(&mut self) -> Parse<ExprId> {
        let start = self.cur.start;
        let first = self.operand()?;
        let Some(mut next) = self.operator() else { return Ok(first) };
        let mut operands = vec![(first, start)];
        let mut operators: Vec<Pending> = Vec::new();
        loop {
            while let Some(&above) = operators.last()
                && above.precedence >= next.precedence
            {
                operators.pop();
                self.combine(&mut operands, above.op);
            }
            operators.push(next);
            let start = self.cur.start;
            let operand = self.operand()?;
            operands.push((operand, start));
            match self.operator() {
                Some(operator) => next = operator,
                None => break,
            }
        }
        while let Some(operator) = operators.pop() {
            self.combine(&mut operands, operator.op);
        }
        operands.pop().map(|(result, _)| result).ok_or(super::Stop)
    }

    fn combine(&mut self, operands: &mut Vec<(ExprId, u32)>, op: OpId) {
        let Some((right, _)) = operands.pop() else { return };
        let Some((left, start)) = operands.pop() else { return };
        let callee = self.store.add(Expr::Op(op));
        let call = self.store.add_call(callee, &[left, right], None);
        self.store.set_span(call, self.span_from(start));
        operands.push((call, start));
    }

    /// Takes a binary operator, if one is under the cursor. All of them are left associative.
    fn operator(&mut self) -> Option<Pending> {
        let then_equal = self.next_byte() == b'=';
        let (name, precedence, tokens) = match self.cur.kind {
            Kind::Star => ("multiply", 12, 1),
            Kind::Slash => ("divide", 12, 1),
            Kind::Plus => ("add", 10, 1),
            Kind::Minus => ("subtract", 10, 1),
            Kind::Less if then_equal => ("less_equal", 8, 2),
            Kind::Less => ("less", 8, 1),
            Kind::Greater if then_equal => ("greater_equal", 8, 2),
            Kind::Greater => ("greater", 8, 1),
            Kind::Equal if then_equal => ("equal", 7, 2),
            Kind::Bang if then_equal => ("not_equal", 7, 2),
            _ => return None,
        };
        let op = ops::lookup(name)?;
        for _ in 0..tokens {
            self.bump();
        }
        Some(Pending { op, precedence })
    }

    /// Parses an operand with the calls behind it. TVM: ParseCallExpr.
    fn operand(&mut self) -> Parse<ExprId> {
        let start = self.cur.start;
        let mut expr = self.atomic()?;
        while self.at(Kind::OpenParen) {
            expr = self.call(expr, start)?;
        }
        // A constructor without fields is a call of it.
        if let Expr::Ctor(ctor) = self.store.expr(expr)
            && self.store.ctor(ctor).inputs.is_empty()
        {
            expr = self.store.add_call(expr, &[], None);
            self.store.set_span(expr, self.span_from(start));
        }
        Ok(expr)
    }

    /// Parses an expression without operators or calls, and at most one projection of it.
    pub(super) fn atomic(&mut self) -> Parse<ExprId> {
        let start = self.cur.start;
        let expr = self.atom()?;
        if !self.eat(Kind::Dot) {
            return Ok(expr);
        }
        let token = self.expect(Kind::Int)?;
        let Ok(index) = self.text(token).parse::<u32>() else {
            let message = format!("a field of a tuple is a whole number, not `{}`", self.text(token));
            let note = "`.` follows a tuple at most once: write `(%t.0).1`";
            return Err(self.report(Diagnostic::error("relay-syntax", message, token.span()).with_note(note)));
        };
        let id = self.store.add(Expr::TupleGetItem { tuple: expr, index });
        self.store.set_span(id, self.span_from(start));
        Ok(id)
    }

    fn atom(&mut self) -> Parse<ExprId> {
        match self.cur.kind {
            Kind::Local => Ok(self.local()),
            Kind::Graph => Ok(self.graph_use()),
            Kind::Ident => self.named(),
            Kind::Global => {
                let token = self.bump();
                let text = self.text(token);
                let name = self.name(&text[1..]);
                Ok(self.store.add(Expr::Global(name)))
            }
            Kind::Int | Kind::Float | Kind::True | Kind::False => Ok(self.literal()),
            Kind::Meta => self.meta_expr(),
            Kind::OpenParen => self.parenthesised(),
            Kind::Fn => {
                let start = self.bump().start;
                self.function(start)
            }
            Kind::If => self.if_expr(),
            Kind::Match | Kind::PartialMatch => self.match_expr(),
            Kind::Ref | Kind::RefRead | Kind::RefWrite => self.reference(),
            _ => Err(self.unexpected("an expression")),
        }
    }

    /// Parses `ref(e)`, `ref_read(e)` or `ref_write(e, e)`.
    #[inline(never)]
    fn reference(&mut self) -> Parse<ExprId> {
        let Token { kind, start, .. } = self.bump();
        self.expect(Kind::OpenParen)?;
        let first = self.element()?;
        let expr = match kind {
            Kind::Ref => Expr::RefCreate(first),
            Kind::RefRead => Expr::RefRead(first),
            _ => {
                self.expect(Kind::Comma)?;
                let value = self.element()?;
                Expr::RefWrite { reference: first, value }
            }
        };
        self.closed(Kind::CloseParen)?;
        Ok(self.spanned(expr, start))
    }

    fn spanned(&mut self, expr: Expr, start: u32) -> ExprId {
        let id = self.store.add(expr);
        self.store.set_span(id, self.span_from(start));
        id
    }

    /// Parses a number or truth value.
    #[inline(never)]
    fn literal(&mut self) -> ExprId {
        let token = self.bump();
        let shape = self.scalar_shape.clone();
        let tensor = match token.kind {
            Kind::True => Tensor::new(DType::BOOL, shape, &[1][..]),
            Kind::False => Tensor::new(DType::BOOL, shape, &[0][..]),
            _ => self.number(token).tensor(shape),
        };
        let id = self.store.add_constant(tensor);
        self.store.set_span(id, token.span());
        id
    }

    /// Decodes a number; a wrong one is reported and counts as 0, as in TVM.
    #[inline(never)]
    pub(super) fn number(&mut self, token: Token) -> Number {
        match number::decode(self.text(token), token.kind == Kind::Float) {
            Ok(number) => number,
            Err(message) => {
                let text = self.text(token);
                let mut error = Diagnostic::error("relay-number", message, token.span());
                if token.kind == Kind::Int && text.parse::<f64>().is_ok() {
                    error = error.with_note(format!("a floating point number is written `{text}f`"));
                } else if text[1..].contains(['+', '-']) && !text.contains('e') {
                    error = error.with_note("write blanks around `+` and `-`");
                }
                self.report(error);
                Number::Int { value: 0, bits: 32 }
            }
        }
    }

    /// Parses `()`, `(e)`, `(e,)` or `(e, f)`.
    #[inline(never)]
    fn parenthesised(&mut self) -> Parse<ExprId> {
        let start = self.bump().start;
        if self.eat(Kind::CloseParen) {
            let fields = self.store.list(&[]);
            return Ok(self.spanned(Expr::Tuple(fields), start));
        }
        let first = self.seq()?;
        if self.eat(Kind::CloseParen) {
            return Ok(first);
        }
        let base = self.stack.len();
        self.stack.push(first);
        let mut n = 1;
        self.separator(n, Kind::CloseParen)?;
        while !self.eat(Kind::CloseParen) {
            let field = self.element()?;
            self.stack.push(field);
            n += 1;
            self.separator(n, Kind::CloseParen)?;
        }
        let fields = self.store.list(&self.stack[base..]);
        self.stack.truncate(base);
        Ok(self.spanned(Expr::Tuple(fields), start))
    }

    #[inline(never)]
    fn if_expr(&mut self) -> Parse<ExprId> {
        let start = self.bump().start;
        self.expect(Kind::OpenParen)?;
        let cond = self.seq()?;
        self.closed(Kind::CloseParen)?;
        let then = self.block()?;
        self.expect(Kind::Else)?;
        let other = self.block()?;
        Ok(self.spanned(Expr::If { cond, then, other }, start))
    }
}
