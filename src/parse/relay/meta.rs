//! References into the metadata section: `meta[relay.Constant][0]`.
//!
//! The section stands at the end of the text. It is read when the first reference to it is met.

use super::super::lex::{Kind, Lexer, Token};
use super::section::Section;
use super::{Parse, Parser};
use crate::diag::{Diagnostic, Span};
use crate::ir::{AttrValue, Attrs, AttrsId, DType, Dim, Expr, ExprId, Id, Object, Symbol, Tensor, Type, TypeId};
use rustc_hash::FxHashMap;

/// The value of a reference.
#[derive(Clone, Debug)]
pub(super) enum MetaValue {
    /// All the attributes of a call.
    Attrs(AttrsId),
    /// Any other value; null is [`AttrValue::Null`].
    Value(AttrValue),
}

/// The metadata section of the text.
pub(super) enum Metadata {
    /// Not looked for yet.
    Unread,
    /// The text has none: the entries made up so far, by type key and index.
    Missing(FxHashMap<(String, usize), MetaValue>),
    /// It cannot be read, which has been reported.
    Broken,
    Read(Box<Section>),
}

/// The result of looking up a reference.
enum Found {
    Value(MetaValue),
    NoSection,
    /// An error, which has been reported.
    Bad,
}

impl<'s> Parser<'s, '_> {
    /// Reads the section even if nothing refers to it, to report its errors.
    pub(super) fn check_metadata(&mut self) {
        if self.at(Kind::Metadata) {
            self.read_metadata();
        }
    }

    fn read_metadata(&mut self) {
        if !matches!(self.meta, Metadata::Unread) {
            return;
        }
        let source = self.lexer.source;
        let mut lexer = Lexer::new(source);
        lexer.pos = self.cur.start as usize;
        self.meta = Metadata::Missing(FxHashMap::default());
        if !source.contains("#[") {
            return;
        }
        loop {
            match lexer.next().kind {
                Kind::Eof => return,
                Kind::Metadata => break,
                _ => {}
            }
        }
        let start = lexer.pos;
        self.meta = match Section::read(&source[start..]) {
            Ok(section) => Metadata::Read(Box::new(section)),
            Err(error) => {
                let at = start + error.offset;
                self.report(Diagnostic::error("relay-metadata", error.message, Span::new(at, at + 1)));
                Metadata::Broken
            }
        };
    }

    /// Looks up the reference `token`; reports an error if it has no value.
    fn found(&mut self, token: Token) -> Found {
        self.read_metadata();
        let Some((key, index)) = parts(self.text(token)) else {
            self.error("relay-lex", "a metadata reference is written `meta[relay.Constant][0]`", token.span());
            return Found::Bad;
        };
        match &mut self.meta {
            Metadata::Unread | Metadata::Broken => {
                self.broken = true;
                Found::Bad
            }
            Metadata::Missing(made_up) => match made_up.get(&(key.to_string(), index)) {
                Some(value) => Found::Value(value.clone()),
                None => Found::NoSection,
            },
            Metadata::Read(section) => match section.lookup(self.store, key, index) {
                Ok(value) => Found::Value(value),
                Err(message) => {
                    self.error("relay-metadata", message, token.span());
                    Found::Bad
                }
            },
        }
    }

    /// Remembers the replacement for an entry of a missing section.
    fn make_up(&mut self, token: Token, value: MetaValue) -> MetaValue {
        if let (Metadata::Missing(made_up), Some((key, index))) = (&mut self.meta, parts(self.lexer.text(token))) {
            if made_up.is_empty() {
                let message = "the text has no metadata section: its constants have a type and no value";
                let warning = Diagnostic::warning("relay-metadata", message, token.span());
                self.diagnostics.push(warning);
            }
            if let Metadata::Missing(made_up) = &mut self.meta {
                made_up.insert((key.to_string(), index), value.clone());
            }
        }
        value
    }

    /// Returns the attributes or other value behind a reference that may be all the attributes of a call.
    #[inline(never)]
    pub(super) fn meta_value(&mut self, token: Token) -> Option<MetaValue> {
        match self.found(token) {
            Found::Value(value) => Some(value),
            Found::Bad => None,
            Found::NoSection => {
                let (key, _) = parts(self.text(token))?;
                if !key.starts_with("relay.attrs.") {
                    return None;
                }
                let key = self.store.name(key);
                let attrs = self.store.attrs(Attrs { key, fields: Box::new([]) });
                Some(self.make_up(token, MetaValue::Attrs(attrs)))
            }
        }
    }

    /// Reads a reference as an expression.
    #[inline(never)]
    pub(super) fn meta_expr(&mut self) -> Parse<ExprId> {
        let token = self.bump();
        let value = match self.found(token) {
            Found::Value(value) => value,
            Found::Bad => return Ok(self.poison()),
            Found::NoSection => match self.constant_without_value(token) {
                Some(id) => self.make_up(token, MetaValue::Value(AttrValue::Expr(id))),
                None => return Ok(self.poison()),
            },
        };
        let MetaValue::Value(AttrValue::Expr(id)) = value else {
            self.error("relay-metadata", format!("`{}` is not an expression", self.text(token)), token.span());
            return Ok(self.poison());
        };
        if self.store.source_span(id).is_none() && !matches!(self.store.expr(id), Expr::Var(_)) {
            self.store.set_span(id, token.span());
        }
        // A constant is complete in itself; anything else may hold variables.
        self.uses_foreign |= !matches!(self.store.expr(id), Expr::Constant(_));
        Ok(id)
    }

    /// Reads a constant of a text without metadata: its type stands in the comment behind it.
    fn constant_without_value(&mut self, token: Token) -> Option<ExprId> {
        let (key, _) = parts(self.text(token))?;
        if key != "relay.Constant" {
            let message = format!("no entry in the meta table for `{key}`: the text has no metadata section");
            self.error("relay-metadata", message, token.span());
            return None;
        }
        let ty = self.comment_type(token.end as usize);
        let tensor = ty.and_then(|ty| match self.store.type_of_id(ty) {
            Type::Tensor { shape, dtype } => {
                let shape: Option<Vec<i64>> = shape.iter().map(|d| d.known()).collect();
                Some((shape?, *dtype))
            }
            _ => None,
        });
        let Some((shape, dtype)) = tensor else {
            let message =
                "the type of this constant is not known: the text has no metadata section, and no `/* ty=... */` follows";
            self.error("relay-metadata", message, token.span());
            return None;
        };
        let id = self.store.add_constant(Tensor::without_value(dtype, shape));
        self.store.set_span(id, token.span());
        Some(id)
    }

    /// Returns the type in a comment `/* ty=T */` at `pos`.
    fn comment_type(&mut self, pos: usize) -> Option<TypeId> {
        let rest = self.lexer.source.get(pos..)?;
        let comment = rest.trim_start().strip_prefix("/*")?;
        let inner = comment.trim_start().strip_prefix("ty=")?;
        let start = self.lexer.source.len() - inner.len();
        let (cur, lexer_pos, prev_end) = (self.cur, self.lexer.pos, self.prev_end);
        let (brackets, broken) = (self.brackets.len(), self.broken);
        let (reported, n_errors) = (self.diagnostics.len(), self.n_errors);
        self.jump_to(start);
        let ty = self.ty();
        self.brackets.truncate(brackets);
        // A comment is not the program: errors in it are not reported.
        self.diagnostics.truncate(reported);
        (self.cur, self.lexer.pos, self.prev_end) = (cur, lexer_pos, prev_end);
        (self.broken, self.n_errors) = (broken, n_errors);
        ty.ok()
    }

    /// Reads a reference as an extent.
    pub(super) fn meta_dim(&mut self) -> Parse<Dim> {
        let token = self.bump();
        let value = match self.found(token) {
            Found::Value(value) => value,
            Found::Bad => return Ok(Dim::Any),
            Found::NoSection => {
                let Some((key, index)) = parts(self.text(token)) else { return Ok(Dim::Any) };
                let name = self.store.name(&format!("n{index}"));
                let symbol = self.store.add_symbol(Symbol { name, dtype: DType::I32, size: key == "tir.SizeVar" });
                self.make_up(token, MetaValue::Value(AttrValue::Dim(Dim::Symbol(symbol))))
            }
        };
        match value {
            MetaValue::Value(AttrValue::Dim(dim)) => Ok(dim),
            MetaValue::Value(AttrValue::Int { value, bits }) => Ok(Dim::Int { value, bits }),
            _ => {
                self.error("relay-metadata", format!("`{}` is not an extent", self.text(token)), token.span());
                Ok(Dim::Any)
            }
        }
    }

    /// Reads a reference as a type.
    pub(super) fn meta_type(&mut self) -> Parse<TypeId> {
        let token = self.bump();
        match self.found(token) {
            Found::Value(MetaValue::Value(AttrValue::Type(ty))) => return Ok(ty),
            Found::Bad => {}
            _ => {
                self.error("relay-metadata", format!("`{}` is not a type", self.text(token)), token.span());
            }
        }
        Ok(self.store.hole())
    }

    /// Reads a reference as the value of an attribute.
    pub(super) fn meta_attr(&mut self) -> Parse<AttrValue> {
        let token = self.bump();
        match self.found(token) {
            Found::Value(MetaValue::Value(value)) => Ok(value),
            Found::Value(MetaValue::Attrs(attrs)) => {
                // Attributes within attributes: kept as an object.
                let Attrs { key, fields } = self.store.attrs_of_id(attrs).clone();
                let object = self.store.add_object(Object { key, fields, items: Box::new([]), repr: None });
                Ok(AttrValue::Object(object))
            }
            Found::Bad => Ok(AttrValue::Null),
            Found::NoSection => {
                let Some((key, _)) = parts(self.text(token)) else { return Ok(AttrValue::Null) };
                let object = self.unknown_object(key);
                self.make_up(token, MetaValue::Value(AttrValue::Object(object)));
                Ok(AttrValue::Object(object))
            }
        }
    }

    fn unknown_object(&mut self, key: &str) -> Id<Object> {
        let key = self.store.name(key);
        self.store.add_object(Object { key, fields: Box::new([]), items: Box::new([]), repr: None })
    }
}

/// Returns the type key and the index of `meta[key][index]`.
fn parts(text: &str) -> Option<(&str, usize)> {
    let (key, index) = text.strip_prefix("meta[")?.strip_suffix(']')?.split_once("][")?;
    Some((key, index.trim().parse().ok()?))
}
