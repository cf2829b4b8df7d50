//! Resolves names: variables, numbered variables, constructors, operators.

use super::super::lex::{Kind, Token, in_name};
use super::super::suggest::nearest;
use super::{Parse, Parser};
use crate::diag::{Diagnostic, Span};
use crate::ir::{Expr, ExprId, TypeId, VarId};
use crate::ops;
use std::borrow::Cow;

impl<'s> Parser<'s, '_> {
    /// Parses the name of a variable that is bound here. TVM prints names as they are, so those of imported models hold
    /// dots, dashes and colons, which it cannot read back.
    pub(super) fn binder(&mut self) -> Parse<(&'s str, Span)> {
        if !self.at(Kind::Local) {
            return Err(self.unexpected("a variable such as `%x`"));
        }
        if is_odd(self.next_byte()) {
            let end = odd_end(self.lexer.source.as_bytes(), self.lexer.pos);
            if end > self.lexer.pos {
                self.odd_names = true;
                self.cur.end = end as u32;
                self.lexer.pos = end;
            }
        }
        let token = self.bump();
        Ok((&self.text(token)[1..], token.span()))
    }

    pub(super) fn new_var(&mut self, name: &str, span: Span, annotation: Option<TypeId>) -> VarId {
        let var = self.store.var(name, annotation);
        self.store.set_var_span(var, span);
        var
    }

    /// Makes a new variable, bound in the scope that is open.
    pub(super) fn bind(&mut self, name: &'s str, span: Span, annotation: Option<TypeId>) -> VarId {
        let var = self.new_var(name, span, annotation);
        if self.vars.bind(name, var).is_some() {
            let note = "TVM's parser lets the first one count: what follows means that one";
            let message = format!("`%{name}` is bound already in this scope");
            self.report(Diagnostic::warning("relay-rebound-var", message, span).with_note(note));
        }
        var
    }

    #[inline(never)]
    pub(super) fn local(&mut self) -> ExprId {
        if self.odd_names && is_odd(self.next_byte()) {
            self.take_odd_name();
        }
        let token = self.bump();
        let name = &self.text(token)[1..];
        match self.vars.lookup(name) {
            Some(var) => self.store.use_var(var),
            None => {
                let message = "this local variable has not been previously declared";
                let mut error = Diagnostic::error("relay-unbound-var", format!("{message}: `%{name}`"), token.span());
                if let Some(near) = nearest(name, self.vars.names()) {
                    error = error.with_note(format!("did you mean `%{near}`?"));
                }
                self.report(error);
                self.poison()
            }
        }
    }

    /// Makes the token under the cursor the longest name with dots and dashes that is bound.
    fn take_odd_name(&mut self) {
        let source = self.lexer.source;
        let start = self.cur.start as usize + 1;
        let mut end = odd_end(source.as_bytes(), self.lexer.pos);
        while end > self.lexer.pos {
            let Some(name) = source.get(start..end) else { return };
            if self.vars.lookup(name).is_some() {
                self.cur.end = end as u32;
                self.lexer.pos = end;
                return;
            }
            end = start + name.rfind(|c: char| u8::try_from(c).is_ok_and(is_odd)).unwrap_or(0);
        }
    }

    #[inline(never)]
    pub(super) fn graph_use(&mut self) -> ExprId {
        let token = self.bump();
        let text = self.text(token);
        match text[1..].parse::<u32>().ok().and_then(|n| self.graph.get(&n)).copied() {
            Some(var) => {
                self.uses_foreign |= var.definition != self.definition;
                self.broken |= Some(var.value) == self.poison;
                var.value
            }
            None => {
                self.error("relay-unbound-var", format!("`{text}` has not been defined before"), token.span());
                self.poison()
            }
        }
    }

    /// Parses a constructor or an operator.
    #[inline(never)]
    pub(super) fn named(&mut self) -> Parse<ExprId> {
        let token = self.bump();
        let text = self.text(token);
        if let Some(&ctor) = self.ctors.get(text) {
            return Ok(self.store.add(Expr::Ctor(ctor)));
        }
        let name = self.dotted(token);
        if let Some(op) = ops::lookup(&name) {
            return Ok(self.store.add(Expr::Op(op)));
        }
        if self.lost_ctors && name.starts_with(|c: char| c.is_ascii_uppercase()) {
            return Ok(self.poison());
        }
        let message = format!("operator `{name}` not found, perhaps you forgot to register it?");
        let mut error = Diagnostic::error("relay-unknown-op", message, self.span_from(token.start));
        let known = ops::all().iter().filter(|op| op.relay.is_some()).map(|op| op.name).chain(self.ctors.keys().copied());
        if let Some(near) = nearest(&name, known) {
            error = error.with_note(format!("did you mean `{near}`?"));
        } else if self.vars.lookup(&name).is_some() {
            error = error.with_note(format!("a variable is written `%{name}`"));
        }
        self.report(error);
        Ok(self.poison())
    }

    /// Parses a name with dots in it, its first part being taken.
    pub(super) fn dotted(&mut self, first: Token) -> Cow<'s, str> {
        let mut name = Cow::Borrowed(self.text(first));
        let mut end = first.end;
        while self.eat(Kind::Dot) && self.at(Kind::Ident) {
            let part = self.bump();
            let whole = Token { end: part.end, ..first };
            if let Cow::Borrowed(_) = name
                && part.start == end + 1
            {
                name = Cow::Borrowed(self.text(whole));
            } else {
                name = Cow::Owned(format!("{name}.{}", self.text(part)));
            }
            end = part.end;
        }
        name
    }
}

/// True for characters that only names of TVM's own making hold.
fn is_odd(b: u8) -> bool {
    matches!(b, b'.' | b'-' | b':' | b'$' | b'~')
}

/// Returns the end of a name with odd characters that continues at `pos`.
fn odd_end(bytes: &[u8], pos: usize) -> usize {
    let mut end = pos;
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    loop {
        let follows = at(end + 1);
        match at(end) {
            b if in_name(b) && end > pos => end += 1,
            // A type may stand right behind a single colon, and no type begins with a digit.
            b':' if follows == b':' => end += 2,
            b':' if follows.is_ascii_digit() => end += 1,
            b'.' | b'-' | b'$' | b'~' if in_name(follows) => end += 1,
            _ => return end,
        }
    }
}
