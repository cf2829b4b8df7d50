//! Statements and their blocks.

use super::lex::{Kind, Word};
use super::tree::{Arm, Binary, Class, Def, Expr, Imported, Stmt, StmtKind, WithItem};
use super::{Parse, Parser};
use crate::diag::{Diagnostic, Span};
use crate::ir::{Id, List};

impl<'s> Parser<'s> {
    /// Parses the whole text.
    pub(super) fn file(&mut self) {
        let mut stmts = Vec::new();
        while !self.at(Kind::Eof) && !self.given_up() {
            self.statement(&mut stmts, 0);
            // Ends of blocks without a beginning follow from an earlier error.
            while matches!(self.cur.kind, Kind::Dedent) {
                self.bump();
            }
        }
        if self.given_up() {
            let span = self.cur.span();
            let message = "too many errors: the rest of the text was not read";
            self.diagnostics.push(Diagnostic::error("script-syntax", message, span));
        }
        self.tree.top = self.stmts(stmts);
    }

    fn stmts(&mut self, stmts: Vec<Stmt>) -> List<Stmt> {
        let list = List::at(self.tree.stmts.len() as u32, stmts.len() as u32);
        self.tree.stmts.extend(stmts);
        list
    }

    /// Parses one statement, or several with `;` between, with the line end. Errors end here.
    fn statement(&mut self, out: &mut Vec<Stmt>, column: u32) {
        if self.at(Kind::Indent) {
            let span = self.cur.span();
            self.report(Diagnostic::error("script-indent", "this line is indented and begins no block", span));
            self.bump();
            let inner = self.lexer.indents.last().copied().unwrap_or(0);
            while !matches!(self.cur.kind, Kind::Dedent | Kind::Eof) && !self.given_up() {
                self.statement(out, inner);
            }
            self.eat(Kind::Dedent);
            out.push(Stmt { kind: StmtKind::Broken, span });
            return;
        }
        if self.eat(Kind::Newline) {
            return;
        }
        let start = self.cur.start;
        let (stack, pending, nesting) = (self.stack.len(), self.pending.len(), self.nesting);
        if self.statements_of_line(out, column).is_err() {
            self.stack.truncate(stack);
            self.pending.truncate(pending);
            self.nesting = nesting;
            let span = self.span_from(start);
            out.push(Stmt { kind: StmtKind::Broken, span });
            let block_follows = self.recover(column);
            self.lost_block(block_follows);
        }
    }

    /// Parses the block below a head with an error: errors inside are still worth reporting.
    fn lost_block(&mut self, block_follows: bool) -> List<Stmt> {
        if !self.at(Kind::Indent) {
            return List::EMPTY;
        }
        if !block_follows || self.blocks >= super::MAX_BLOCKS {
            self.skip_block();
            return List::EMPTY;
        }
        self.bump();
        self.rest_of_block()
    }

    fn statements_of_line(&mut self, out: &mut Vec<Stmt>, column: u32) -> Parse<()> {
        loop {
            if self.compound(out, column)? {
                return Ok(());
            }
            let start = self.cur.start;
            let kind = self.simple()?;
            let span = self.span_from(start);
            let more = self.eat(Kind::Semi);
            let ended = matches!(self.cur.kind, Kind::Newline | Kind::Eof);
            if !more && !ended {
                return Err(self.unexpected("the end of the line"));
            }
            out.push(Stmt { kind, span });
            if ended {
                self.eat(Kind::Newline);
                return Ok(());
            }
        }
    }

    /// Parses a statement with a block. False when it is another one.
    fn compound(&mut self, out: &mut Vec<Stmt>, column: u32) -> Parse<bool> {
        let start = self.cur.start;
        let (kind, span) = match self.cur.kind {
            Kind::At | Kind::Word(Word::Def | Word::Class) => self.definition(column)?,
            Kind::Word(Word::With) => {
                self.bump();
                let items = self.with_items()?;
                let span = self.span_from(start);
                (StmtKind::With { items, body: self.block()? }, span)
            }
            Kind::Word(Word::For) => {
                self.bump();
                let target = self.targets()?;
                self.expect(Kind::Word(Word::In), "`in`")?;
                let iter = self.expr_list()?;
                let span = self.span_from(start);
                (StmtKind::For { target, iter, body: self.block()? }, span)
            }
            Kind::Word(Word::While) => {
                self.bump();
                let cond = self.expr()?;
                let span = self.span_from(start);
                (StmtKind::While { cond, body: self.block()? }, span)
            }
            Kind::Word(Word::If) => self.if_stmt(start)?,
            Kind::Word(Word::Elif | Word::Else) => {
                return Err(self.unexpected("a statement: this belongs to no `if` before it;"));
            }
            _ => return Ok(false),
        };
        out.push(Stmt { kind, span });
        Ok(true)
    }

    fn if_stmt(&mut self, start: u32) -> Parse<(StmtKind, Span)> {
        let mut arms = Vec::new();
        let mut span = None;
        while self.eat_word(if arms.is_empty() { Word::If } else { Word::Elif }) {
            let cond = self.expr()?;
            span = span.or(Some(self.span_from(start)));
            arms.push(Arm { cond, body: self.block()? });
        }
        let other = if self.eat_word(Word::Else) { self.block()? } else { List::EMPTY };
        let list = List::at(self.tree.arms.len() as u32, arms.len() as u32);
        self.tree.arms.extend(arms);
        let span = span.unwrap_or(self.span_from(start));
        Ok((StmtKind::If { arms: list, other }, span))
    }

    /// Parses `: ` and a block: indented lines, or statements behind the colon.
    fn block(&mut self) -> Parse<List<Stmt>> {
        self.expect(Kind::Colon, "`:`")?;
        if self.blocks >= super::MAX_BLOCKS {
            let message = format!("more than {} blocks are open here", super::MAX_BLOCKS);
            let span = self.cur.span();
            return Err(self.report(Diagnostic::error("script-too-deep", message, span)));
        }
        if !self.at(Kind::Newline) {
            let mut stmts = Vec::new();
            self.blocks += 1;
            let column = self.lexer.indents.last().copied().unwrap_or(0);
            let read = self.statements_of_line(&mut stmts, column);
            self.blocks -= 1;
            return read.map(|()| self.stmts(stmts));
        }
        self.bump();
        if !self.eat(Kind::Indent) {
            // The next line is read as the outer block's next statement.
            let span = Span { start: self.cur.start, end: self.cur.start };
            self.report(Diagnostic::error("script-indent", "expected an indented block", span));
            let broken = vec![Stmt { kind: StmtKind::Broken, span }];
            return Ok(self.stmts(broken));
        }
        Ok(self.rest_of_block())
    }

    /// Reads the statements of a block and the end of it.
    fn rest_of_block(&mut self) -> List<Stmt> {
        self.blocks += 1;
        let column = self.lexer.indents.last().copied().unwrap_or(0);
        let mut stmts = Vec::new();
        while !matches!(self.cur.kind, Kind::Dedent | Kind::Eof) && !self.given_up() {
            self.statement(&mut stmts, column);
        }
        self.eat(Kind::Dedent);
        self.blocks -= 1;
        self.stmts(stmts)
    }

    /// Decorators and the function or class below them.
    fn definition(&mut self, column: u32) -> Parse<(StmtKind, Span)> {
        let start = self.cur.start;
        let first = self.tree.len();
        let n_errors = self.n_errors;
        let base = self.stack.len();
        while self.eat(Kind::At) {
            match self.expr() {
                Ok(decorator) => self.stack.push(decorator),
                // The decorated definition is still worth reading.
                Err(_) => {
                    self.recover(column);
                }
            }
            while self.eat(Kind::Newline) {}
        }
        let decorators = self.collected(base);
        if self.eat_word(Word::Class) {
            let name = self.expect(Kind::Name, "the name of the class")?.span();
            let bases = if self.at(Kind::Open(b'(')) { self.call_args()? } else { List::EMPTY };
            let span = self.span_from(start);
            let body = self.block()?;
            let id = Id::from_index(self.tree.classes.len());
            self.tree.classes.push(Class { name, decorators, bases, body });
            return Ok((StmtKind::Class(id), span));
        }
        self.expect(Kind::Word(Word::Def), "`def` or `class`")?;
        let name = self.expect(Kind::Name, "the name of the function")?.span();
        let signature = match self.signature() {
            Ok(signature) => signature,
            // The function is known by its name, so that its callers need no error of their own.
            Err(_) => {
                let block_follows = self.recover(column);
                self.nesting = 0;
                self.pending.clear();
                self.stack.truncate(base);
                let head = self.span_from(start);
                let body = self.lost_block(block_follows);
                return Ok(self.def(Def { name, decorators, body, broken: true, ..Def::EMPTY }, head, (start, first)));
            }
        };
        let head = self.span_from(start);
        let body = self.block()?;
        let broken = self.n_errors > n_errors;
        Ok(self.def(Def { name, decorators, body, broken, ..signature }, head, (start, first)))
    }

    fn def(&mut self, def: Def, head: Span, (start, first): (u32, usize)) -> (StmtKind, Span) {
        let id = Id::from_index(self.tree.defs.len());
        let span = self.span_from(start);
        let exprs = (first as u32, self.tree.len() as u32);
        self.tree.defs.push(Def { span, exprs, ..def });
        (StmtKind::Def(id), head)
    }

    /// Parses `[n, m](params) -> ret`.
    fn signature(&mut self) -> Parse<Def> {
        let mut type_params = List::EMPTY;
        if self.eat(Kind::Open(b'[')) {
            type_params = self.params(Kind::Close(b']'), true)?;
            self.expect(Kind::Close(b']'), "`,` or `]`")?;
        }
        self.expect(Kind::Open(b'('), "`(`")?;
        let params = self.params(Kind::Close(b')'), true)?;
        self.expect(Kind::Close(b')'), "`,` or `)`")?;
        let ret = if self.eat(Kind::Arrow) { Some(self.expr_list()?) } else { None };
        if !self.at(Kind::Colon) {
            return Err(self.unexpected(if ret.is_some() { "`:`" } else { "`->` or `:`" }));
        }
        Ok(Def { type_params, params, ret, ..Def::EMPTY })
    }

    fn simple(&mut self) -> Parse<StmtKind> {
        let Kind::Word(word) = self.cur.kind else { return self.assignment() };
        let kind = match word {
            Word::Pass => StmtKind::Pass,
            Word::Break => StmtKind::Break,
            Word::Continue => StmtKind::Continue,
            Word::Return => {
                self.bump();
                let ends = matches!(self.cur.kind, Kind::Newline | Kind::Eof | Kind::Semi);
                return Ok(StmtKind::Return(if ends { None } else { Some(self.expr_list()?) }));
            }
            Word::Assert => {
                self.bump();
                let cond = self.expr()?;
                let message = if self.eat(Kind::Comma) { Some(self.expr()?) } else { None };
                return Ok(StmtKind::Assert { cond, message });
            }
            Word::From | Word::Import => return self.import(),
            Word::Other => {
                let word = self.tree.text(self.cur.span());
                let span = self.cur.span();
                return Err(self.error(format!("`{word}` is not part of TVMScript"), span));
            }
            _ => return self.assignment(),
        };
        self.bump();
        Ok(kind)
    }

    fn assignment(&mut self) -> Parse<StmtKind> {
        let target = self.expr_list()?;
        match self.cur.kind {
            Kind::Equal => {
                self.check_target(target)?;
                self.bump();
                let value = self.expr_list()?;
                if self.at(Kind::Equal) {
                    let span = self.cur.span();
                    return Err(self.error("several assignments in one statement are not part of TVMScript", span));
                }
                Ok(StmtKind::Assign { target, value })
            }
            Kind::Colon if matches!(self.tree.expr(target), Expr::Call { .. }) => {
                let span = self.tree.span(target);
                Err(self.error("`with` is missing before what opens a block", span))
            }
            Kind::Colon => {
                self.check_target(target)?;
                self.bump();
                let annotation = self.expr()?;
                let value = if self.eat(Kind::Equal) { Some(self.expr_list()?) } else { None };
                Ok(StmtKind::Annotated { target, annotation, value })
            }
            Kind::OpEqual(op) => {
                self.check_target(target)?;
                self.bump();
                let value = self.expr_list()?;
                Ok(StmtKind::Augmented { target, op, value })
            }
            _ => Ok(StmtKind::Expr(target)),
        }
    }

    /// Reports an invalid target of an assignment.
    fn check_target(&mut self, target: Id<Expr>) -> Parse<()> {
        let bad = match self.tree.expr(target) {
            Expr::Name | Expr::Attribute { .. } | Expr::Subscript { .. } => return Ok(()),
            Expr::Tuple(items) | Expr::List(items) => {
                let fine = |id: Id<Expr>| {
                    let id = if let Expr::Starred(inner) = self.tree.expr(id) { inner } else { id };
                    matches!(
                        self.tree.expr(id),
                        Expr::Name | Expr::Attribute { .. } | Expr::Subscript { .. } | Expr::Tuple(_) | Expr::List(_)
                    )
                };
                match self.tree.items(items).iter().copied().find(|id| !fine(*id)) {
                    Some(bad) => bad,
                    None => return Ok(()),
                }
            }
            _ => target,
        };
        let span = self.tree.span(bad);
        Err(self.error("nothing can be assigned to this", span))
    }

    /// Parses `a` or `a, b` before `in`.
    fn targets(&mut self) -> Parse<Id<Expr>> {
        let start = self.cur.start;
        let first = self.target()?;
        if !self.at(Kind::Comma) {
            self.check_target(first)?;
            return Ok(first);
        }
        let base = self.stack.len();
        self.stack.push(first);
        while self.eat(Kind::Comma) && !self.at(Kind::Word(Word::In)) {
            let next = self.target()?;
            self.stack.push(next);
        }
        let items = self.collected(base);
        let span = self.span_from(start);
        let tuple = self.add(Expr::Tuple(items), span)?;
        self.check_target(tuple)?;
        Ok(tuple)
    }

    /// Parses `a` or `*a` as one of several targets of a loop.
    fn target(&mut self) -> Parse<Id<Expr>> {
        if self.at(Kind::Op(Binary::Mul)) { self.element() } else { self.primary() }
    }

    fn with_items(&mut self) -> Parse<List<WithItem>> {
        let mut items = Vec::new();
        loop {
            let context = self.expr()?;
            let target = if self.eat_word(Word::As) { Some(self.primary()?) } else { None };
            if let Some(target) = target {
                self.check_target(target)?;
            }
            items.push(WithItem { context, target });
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        let list = List::at(self.tree.with_items.len() as u32, items.len() as u32);
        self.tree.with_items.extend(items);
        Ok(list)
    }

    /// Parses `import a.b as c` or `from a.b import c as d, e`.
    fn import(&mut self) -> Parse<StmtKind> {
        let from = self.at(Kind::Word(Word::From));
        self.bump();
        let mut module = Span { start: self.cur.start, end: self.cur.start };
        if from {
            while matches!(self.cur.kind, Kind::Dot | Kind::Ellipsis) {
                self.bump();
            }
            if !self.at(Kind::Word(Word::Import)) {
                self.path()?;
            }
            module.end = self.prev_end;
            self.expect(Kind::Word(Word::Import), "`import`")?;
        }
        let parenthesised = from && self.eat(Kind::Open(b'('));
        let mut names = Vec::new();
        loop {
            let name = if self.at(Kind::Op(Binary::Mul)) { self.bump().span() } else { self.path()? };
            let alias = if self.eat_word(Word::As) { self.expect(Kind::Name, "a name")?.span() } else { name };
            names.push(Imported { name, alias });
            if !self.eat(Kind::Comma) || self.at(Kind::Close(b')')) {
                break;
            }
        }
        if parenthesised {
            self.expect(Kind::Close(b')'), "`,` or `)`")?;
        }
        let list = List::at(self.tree.imports.len() as u32, names.len() as u32);
        self.tree.imports.extend(names);
        Ok(StmtKind::Import { module, names: list })
    }

    /// Parses `a.b.c`.
    fn path(&mut self) -> Parse<Span> {
        let start = self.expect(Kind::Name, "a name")?.start;
        while self.eat(Kind::Dot) {
            self.expect(Kind::Name, "a name")?;
        }
        Ok(self.span_from(start))
    }
}
