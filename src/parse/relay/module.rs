//! Definitions: functions, types, and the text as a whole.

use super::super::Program;
use super::super::lex::{Kind, Lexer, Token};
use super::{Parse, Parser};
use crate::diag::{Diagnostic, Span};
use crate::ir::walk;
use crate::ir::{Adt, Ctor, CtorId, ExprId, Id, Name};

impl<'s> Parser<'s, '_> {
    /// Parses the whole text: a module, or a bare expression when there are no definitions.
    pub(super) fn program(&mut self) -> Program {
        let version = self.version();
        let mut program = Program::default();
        if self.has_definitions() || version && matches!(self.cur.kind, Kind::Eof | Kind::Metadata) {
            if !version {
                let place = self.cur.span();
                if self.defines_functions() {
                    // As `print(mod)` gives it.
                    let message = "the text does not say its version: it is read as version 0.0.5";
                    let note = Diagnostic::note("relay-version", message, place);
                    let head = (Span { start: place.start, end: place.start }, "#[version = \"0.0.5\"]\n".to_owned());
                    self.report(note.with_fix("Write the version", vec![head]));
                } else {
                    let message = format!("expected text format semantic version, found {}", self.describe(self.cur));
                    let error = Diagnostic::error("relay-version", message, place);
                    self.report(error.with_note("you can annotate it as #[version = \"0.0.5\"]"));
                }
            }
            self.definitions(&mut program);
        } else {
            program.expr = self.bare_expr();
        }
        self.check_metadata();
        program
    }

    /// Parses `#[version = "0.0.5"]`; TVM 0.6 wrote `v0.0.4`.
    fn version(&mut self) -> bool {
        const OLDER: [&str; 4] = ["0.0.1", "0.0.2", "0.0.3", "0.0.4"];
        let rest = &self.lexer.source[self.cur.start as usize..];
        if let Some(number) = rest.strip_prefix('v').and_then(|rest| rest.get(..5))
            && (OLDER.contains(&number) || number == "0.0.5")
            && rest[6..].starts_with(['\n', '\r', ' '])
        {
            let start = self.cur.start;
            self.lexer.pos = start as usize + 6;
            self.bump();
            self.old_version(Span { start, end: start + 6 });
            return true;
        }
        if !self.at(Kind::Version) {
            return false;
        }
        let token = self.bump();
        let inner = self.text(token).trim_start_matches("#[").trim_end_matches(']');
        let version = inner.split_once('=').map_or("", |(_, v)| v).trim();
        if OLDER.contains(&version.trim_matches('"')) {
            self.old_version(token.span());
        } else if version != "\"0.0.5\"" {
            let error = Diagnostic::error("relay-version", format!("invalid semantic version `{version}`"), token.span());
            self.report(error.with_note("this is version 0.0.5 of the text format"));
        }
        true
    }

    fn old_version(&mut self, place: Span) {
        let message = "this is the head of an older TVM; today it is `#[version = \"0.0.5\"]`";
        let today = vec![(place, "#[version = \"0.0.5\"]".to_owned())];
        self.report(Diagnostic::note("relay-version", message, place).with_fix("Write it as today", today));
    }

    /// True if the text is a module: it begins with a definition, or there is one further on (and an error before it).
    /// `def` can stand nowhere else.
    fn has_definitions(&self) -> bool {
        matches!(self.cur.kind, Kind::Def | Kind::Type | Kind::Extern) || self.defines_functions()
    }

    fn defines_functions(&self) -> bool {
        if !self.lexer.source.contains("def") {
            return false;
        }
        let mut lexer = Lexer::new(self.lexer.source);
        lexer.pos = self.cur.start as usize;
        loop {
            match lexer.next().kind {
                Kind::Def => return true,
                Kind::Eof | Kind::Metadata => return false,
                _ => {}
            }
        }
    }

    fn bare_expr(&mut self) -> Option<ExprId> {
        let _scope = self.vars.open();
        self.broken = false;
        let expr = self.seq();
        let expr = expr.and_then(|expr| {
            if matches!(self.cur.kind, Kind::Eof | Kind::Metadata) { Ok(expr) } else { Err(self.unexpected("`;` or the end")) }
        });
        expr.ok().filter(|_| !self.broken)
    }

    fn definitions(&mut self, program: &mut Program) {
        while !matches!(self.cur.kind, Kind::Eof | Kind::Metadata) && !self.given_up() {
            self.definition += 1;
            self.broken = false;
            self.uses_foreign = self.vars.has_free();
            self.stack.clear();
            self.forget_brackets();
            let done = match self.cur.kind {
                Kind::Def => self.function_definition(program),
                Kind::Type => self.type_definition(program, false),
                Kind::Extern => self.extern_definition(program),
                _ => Err(self.unexpected("a definition: `def @name(...)` or `type Name {...}`")),
            };
            if done.is_err() {
                self.skip_to_definition();
            }
        }
    }

    fn skip_to_definition(&mut self) {
        while !matches!(self.cur.kind, Kind::Eof | Kind::Metadata | Kind::Def | Kind::Type | Kind::Extern) {
            self.bump();
        }
    }

    /// Parses `def @name(...) { ... }`.
    fn function_definition(&mut self, program: &mut Program) -> Parse<()> {
        let start = self.bump().start;
        let token = self.expect(Kind::Global)?;
        let text = self.text(token);
        let name = self.name(&text[1..]);
        let function = self.function(start);
        match function {
            Ok(function) if !self.broken && self.is_closed(function, name, token) => {
                if program.module.function(name).is_some() {
                    self.warn(
                        "relay-duplicate",
                        format!("`{text}` is defined already; this definition replaces it"),
                        token.span(),
                    );
                }
                program.module.set_function(name, function);
                Ok(())
            }
            other => {
                program.left_out.push(name);
                other.map(|_| ())
            }
        }
    }

    /// TVM refuses functions with free variables. Only names from outside the definition can be free: a numbered
    /// variable of another function, a `free_var`, a variable of the metadata.
    fn is_closed(&mut self, function: ExprId, name: Id<Name>, token: Token) -> bool {
        if !self.uses_foreign {
            return true;
        }
        let free = walk::free_vars(self.store, function);
        if free.is_empty() {
            return true;
        }
        let names: Vec<String> = free.iter().map(|v| format!("`%{}`", self.store.var_name(*v))).collect();
        let message = format!("function `@{}` has free variables: {}", self.store.str(name), names.join(", "));
        self.error("relay-free-var", message, token.span());
        false
    }

    /// Parses `extern type Name`.
    fn extern_definition(&mut self, program: &mut Program) -> Parse<()> {
        let token = self.bump();
        if !self.at(Kind::Type) {
            return Err(self.unexpected("`type`"));
        }
        self.type_definition(program, true)?;
        if !matches!(self.cur.kind, Kind::Eof | Kind::Metadata) {
            let message = "TVM reads no definitions behind an extern type: put it last";
            self.warn("relay-extern", message.into(), token.span());
        }
        Ok(())
    }

    /// Parses `type Name[A] { Ctor(A), ... }`.
    fn type_definition(&mut self, program: &mut Program, is_extern: bool) -> Parse<()> {
        let known = self.ctors.len();
        let done = self.type_definition_parts(program, is_extern);
        self.lost_ctors |= done.is_err() || self.broken && self.ctors.len() == known;
        done
    }

    fn type_definition_parts(&mut self, program: &mut Program, is_extern: bool) -> Parse<()> {
        self.bump();
        let token = self.expect(Kind::Ident)?;
        let text = self.text(token);
        let name = self.name(text);
        let scope = self.type_vars.open();
        let parts = self.adt(name);
        self.type_vars.back_to(scope);
        let (type_params, ctors) = parts?;
        if is_extern && !ctors.is_empty() {
            self.error("relay-syntax", "an external type may not have any constructors", token.span());
        }
        if program.module.adt(name).is_some() {
            self.error("relay-duplicate", format!("a type with the name `{text}` was previously defined"), token.span());
            return Ok(());
        }
        let adt = self.store.add_adt(Adt { name, type_params: type_params.into(), ctors: ctors.into(), is_extern });
        if !self.broken {
            program.module.set_adt(name, adt);
        }
        Ok(())
    }

    fn adt(&mut self, adt: Id<Name>) -> Parse<(Vec<Id<crate::ir::TypeVar>>, Vec<CtorId>)> {
        let type_params = if self.at(Kind::OpenSquare) { self.type_params()? } else { Vec::new() };
        let mut ctors = Vec::new();
        if self.eat(Kind::OpenCurly) {
            while !self.eat(Kind::CloseCurly) {
                let ctor = self.ctor(adt, ctors.len() as u32)?;
                ctors.push(ctor);
                self.separator(ctors.len(), Kind::CloseCurly)?;
            }
        }
        Ok((type_params, ctors))
    }

    fn ctor(&mut self, adt: Id<Name>, tag: u32) -> Parse<CtorId> {
        let token = self.expect(Kind::Ident)?;
        let text = self.text(token);
        let name = self.name(text);
        let mut inputs = Vec::new();
        if self.eat(Kind::OpenParen) {
            while !self.eat(Kind::CloseParen) {
                inputs.push(self.ty()?);
                self.separator(inputs.len(), Kind::CloseParen)?;
            }
        }
        let ctor = self.store.add_ctor(Ctor { name, inputs: inputs.into(), adt, tag });
        if self.ctors.contains_key(text) {
            let message = format!("a constructor with the name `{text}` was previously defined");
            self.error("relay-duplicate", message, token.span());
        } else {
            self.ctors.insert(text, ctor);
        }
        Ok(ctor)
    }
}
