//! Patterns and `match`.

use super::super::lex::Kind;
use super::super::suggest::nearest;
use super::token::Resume;
use super::{Parse, Parser};
use crate::diag::Diagnostic;
use crate::ir::{Clause, Expr, ExprId, Id, Pattern, PatternId};

impl Parser<'_, '_> {
    /// Parses `match (data) { pattern => body, ... }`. TVM reads it only as a statement; here it may stand wherever an
    /// operand may, because TVM prints it so.
    #[inline(never)]
    pub(super) fn match_expr(&mut self) -> Parse<ExprId> {
        let start = self.cur.start;
        let complete = self.bump().kind == Kind::Match;
        let data = self.atomic()?;
        self.expect(Kind::OpenCurly)?;
        let level = self.open_brackets();
        let mut clauses: Vec<Id<Clause>> = Vec::new();
        while !self.eat(Kind::CloseCurly) {
            match self.clause() {
                Ok(clause) => {
                    clauses.push(clause);
                    if self.separator(clauses.len(), Kind::CloseCurly).is_ok() {
                        continue;
                    }
                }
                Err(stop) if !self.recover(level, Resume::Item) => return Err(stop),
                Err(_) => {}
            }
            self.eat(Kind::Comma);
        }
        let clauses = self.store.list(&clauses);
        let id = self.store.add(Expr::Match { data, clauses, complete });
        self.store.set_span(id, self.span_from(start));
        Ok(id)
    }

    fn clause(&mut self) -> Parse<Id<Clause>> {
        let mark = self.vars.open();
        let clause = self.clause_parts();
        self.vars.back_to(mark);
        clause
    }

    fn clause_parts(&mut self) -> Parse<Id<Clause>> {
        let pattern = self.pattern()?;
        if !(self.at(Kind::Equal) && self.next_byte() == b'>') {
            return Err(self.unexpected("`=>`"));
        }
        self.bump();
        self.bump();
        let body = self.seq()?;
        Ok(self.store.add_clause(Clause { pattern, body }))
    }

    fn pattern(&mut self) -> Parse<PatternId> {
        self.guard_depth()?;
        let pattern = match self.cur.kind {
            Kind::Underscore => {
                self.bump();
                Pattern::Wildcard
            }
            Kind::Local => {
                let (name, span) = self.binder()?;
                let annotation = if self.eat(Kind::Colon) { self.annotation()? } else { None };
                Pattern::Var(self.bind(name, span, annotation))
            }
            Kind::Ident => {
                let token = self.bump();
                let text = self.text(token);
                let ctor = self.ctors.get(text).copied();
                if ctor.is_none() && !self.lost_ctors {
                    let message = format!("undefined constructor name `{text}`");
                    let mut error = Diagnostic::error("relay-unknown-ctor", message, token.span());
                    error = match nearest(text, self.ctors.keys().copied()) {
                        Some(near) => error.with_note(format!("did you mean `{near}`?")),
                        None => error.with_note(format!("a variable in a pattern is written `%{text}`")),
                    };
                    self.report(error);
                }
                let fields = if self.at(Kind::OpenParen) { self.pattern_list()? } else { Vec::new() };
                match ctor {
                    Some(ctor) => {
                        let fields = self.store.list(&fields);
                        Pattern::Ctor { ctor, fields }
                    }
                    None => {
                        self.broken = true;
                        Pattern::Wildcard
                    }
                }
            }
            Kind::OpenParen => {
                let fields = self.pattern_list()?;
                Pattern::Tuple(self.store.list(&fields))
            }
            _ => return Err(self.unexpected("a pattern")),
        };
        Ok(self.store.add_pattern(pattern))
    }

    fn pattern_list(&mut self) -> Parse<Vec<PatternId>> {
        self.bump();
        let mut fields = Vec::new();
        while !self.eat(Kind::CloseParen) {
            fields.push(self.pattern()?);
            self.separator(fields.len(), Kind::CloseParen)?;
        }
        Ok(fields)
    }
}
