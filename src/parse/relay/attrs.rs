//! Attributes: reading them, and fitting them to the schema of an operator.

use super::super::lex::Kind;
use super::super::number::Number;
use super::super::suggest::nearest;
use super::call::plain;
use super::{Parse, Parser};
use crate::diag::{Diagnostic, Span};
use crate::ir::{AttrValue, Attrs, AttrsId, DType, Double, Expr, ExprId, OpId};
use crate::ops::{self, AttrKind, AttrsSchema};
use std::borrow::Cow;

/// An attribute as it was written.
pub(super) struct Written<'s> {
    pub name: Cow<'s, str>,
    pub value: AttrValue,
    /// Name and value.
    pub span: Span,
}

impl<'s> Parser<'s, '_> {
    /// Parses `name=value, ...` up to something that is not a name.
    pub(super) fn attr_list(&mut self) -> Parse<Vec<Written<'s>>> {
        let mut written: Vec<Written<'s>> = Vec::new();
        while self.at(Kind::Ident) {
            let first = self.bump();
            let name = self.dotted(first);
            self.expect(Kind::Equal)?;
            let value = self.attr_value()?;
            let span = self.span_from(first.start);
            self.eat(Kind::Comma);
            if let Some(earlier) = written.iter_mut().find(|w| w.name == name) {
                earlier.value = value;
                self.warn("relay-rebound-attr", format!("attribute `{name}` is given twice; the last one counts"), span);
            } else {
                written.push(Written { name, value, span });
            }
        }
        Ok(written)
    }

    fn attr_value(&mut self) -> Parse<AttrValue> {
        self.guard_depth()?;
        Ok(match self.cur.kind {
            Kind::Int | Kind::Float => {
                let token = self.bump();
                match self.number(token) {
                    Number::Int { value, bits } => AttrValue::Int { value, bits },
                    Number::Float { value, .. } => AttrValue::Float(Double(value)),
                }
            }
            Kind::True | Kind::False => AttrValue::Bool(self.bump().kind == Kind::True),
            Kind::Str => {
                let token = self.bump();
                let text = self.string(token);
                AttrValue::Str(self.store.name(&text))
            }
            Kind::Meta => self.meta_attr()?,
            Kind::OpenSquare => {
                self.bump();
                let mut items = Vec::new();
                while !self.eat(Kind::CloseSquare) {
                    items.push(self.attr_value()?);
                    self.separator(items.len(), Kind::CloseSquare)?;
                }
                AttrValue::Array(items.into())
            }
            Kind::OpenParen => {
                self.bump();
                let value = self.attr_value()?;
                if self.at(Kind::Comma) {
                    let note = "lists are written with brackets: `[1, 1]`";
                    let error = Diagnostic::error("relay-syntax", "expected `)`, found `,`", self.cur.span());
                    return Err(self.report(error.with_note(note)));
                }
                self.expect(Kind::CloseParen)?;
                value
            }
            Kind::Ident if matches!(self.text(self.cur), "None" | "nullptr") => {
                self.bump();
                AttrValue::Null
            }
            _ => {
                let expr = self.atomic()?;
                match self.store.expr(expr) {
                    Expr::Global(name) => AttrValue::Global(name),
                    _ => AttrValue::Expr(expr),
                }
            }
        })
    }

    /// Parses the attributes of a call, the first name being under the cursor.
    #[inline(never)]
    pub(super) fn call_attrs(&mut self, callee: ExprId) -> Parse<Option<AttrsId>> {
        let start = self.cur.start as usize;
        let Expr::Op(op) = self.store.expr(callee) else {
            let written = self.attr_list()?;
            let span = self.span_from(start as u32);
            return Ok(if Some(callee) == self.poison { None } else { self.keyed_attrs(written, span) });
        };
        // Networks repeat a few sets of attributes: one that was read before for this operator
        // is recognised by its text, up to the first `)`, unless that belongs to a value.
        let text = self.lexer.text_until(start, b')').trim_end_matches(')');
        if !text.is_empty()
            && let Some(&known) = self.known_attrs.get(&(op, text))
        {
            self.jump_to(start + text.len());
            return Ok(known);
        }
        let written = self.attr_list()?;
        let whole = self.at(Kind::CloseParen) && self.cur.start as usize == start + text.len();
        let span = self.span_from(start as u32);
        Ok(self.op_attrs(op, if whole { text } else { "" }, written, span))
    }

    /// Fits attributes to the schema of an operator. `text` is their source, or empty if it is incomplete.
    #[inline(never)]
    pub(super) fn op_attrs(&mut self, op: OpId, text: &'s str, written: Vec<Written<'s>>, span: Span) -> Option<AttrsId> {
        let info = ops::info(op);
        let Some(schema) = info.relay_attrs() else {
            return if written.is_empty() { None } else { self.keyed_attrs(written, span) };
        };
        // Calls never share a boxed attribute: its printed form is its place in the metadata section.
        let boxed = schema.fields.iter().any(|field| field.kind == AttrKind::Boxed);
        let cached = !boxed && (!text.is_empty() || written.is_empty());
        if cached && let Some(&known) = self.known_attrs.get(&(op, text)) {
            return known;
        }
        let constant = written.iter().all(|w| !holds_expr(&w.value));
        let errors = self.n_errors;
        let attrs = self.fitted(schema, info.name, written, span);
        if cached && constant && errors == self.n_errors {
            self.known_attrs.insert((op, text), attrs);
        }
        attrs
    }

    fn fitted(&mut self, schema: &AttrsSchema, whose: &str, written: Vec<Written<'s>>, span: Span) -> Option<AttrsId> {
        let mut values: Vec<(&str, AttrValue)> = Vec::with_capacity(written.len());
        for attr in written {
            let Some(field) = schema.field(&attr.name) else {
                self.unknown_attr(schema, &attr);
                continue;
            };
            match fit(field.kind, attr.value) {
                Ok(value) => {
                    let value = self.named_dtype(field.kind, value, attr.span);
                    values.push((field.name, value));
                }
                Err(found) => {
                    let message = format!("attribute `{}` of `{whose}` must be {}, not {found}", field.name, wanted(field.kind));
                    self.error("relay-attr-type", message, attr.span);
                    // A value of any kind will do: the definition is left out.
                    values.push((field.name, AttrValue::Null));
                }
            }
        }
        match schema.complete(self.store, &values) {
            Ok(attrs) => Some(self.store.attrs(attrs)),
            Err(missing) => {
                let message = format!(
                    "{}: Cannot find required field '{missing}' during initialization. If the key is defined check that its type matches the declared type.",
                    schema.key
                );
                let error = Diagnostic::error("relay-missing-attr", message, span);
                self.report(error.with_note(format!("`{whose}` must be called with `{missing}=...`")));
                None
            }
        }
    }

    fn unknown_attr(&mut self, schema: &AttrsSchema, attr: &Written<'s>) {
        let message = format!("{}: does not have field '{}'", schema.key, attr.name);
        let mut error = Diagnostic::error("relay-unknown-attr", message, attr.span);
        if let Some(near) = nearest(&attr.name, schema.fields.iter().map(|f| f.name)) {
            error = error.with_note(format!("did you mean `{near}`?"));
        }
        let fields: Vec<&str> = schema.fields.iter().map(|f| f.name).collect();
        self.report(error.with_note(format!("Possible fields: {}", fields.join(", "))));
    }

    /// Converts element types, which are written as strings.
    fn named_dtype(&mut self, kind: AttrKind, value: AttrValue, span: Span) -> AttrValue {
        let (AttrKind::DType, AttrValue::Str(name)) = (kind, &value) else { return value };
        let text = self.store.name_rc(*name);
        if text.0.is_empty() {
            return AttrValue::DType(None);
        }
        let dtype = DType::parse(&text.0);
        if dtype.is_none() {
            self.error("relay-type", format!("unknown element type `{}`", text.0), span);
        }
        AttrValue::DType(dtype)
    }

    /// Reads attributes of a callee without a schema: `attrs_type_key` names their type.
    fn keyed_attrs(&mut self, mut written: Vec<Written<'s>>, span: Span) -> Option<AttrsId> {
        let place = written.iter().position(|w| w.name == "attrs_type_key");
        let key = place.map(|i| written.remove(i).value);
        let Some(AttrValue::Str(key)) = key else {
            let message =
                "unable to determine the 'attrs_type_key' with which to represent the call attributes for this operator";
            self.error("relay-unknown-attr", message, span);
            return None;
        };
        let text = self.store.name_rc(key);
        if text.0.is_empty() {
            return None;
        }
        if let Some(schema) = schema_of(&text.0) {
            return self.fitted(schema, &text.0, written, span);
        }
        let fields = written.into_iter().map(|w| (self.store.name(&w.name), plain(w.value))).collect();
        Some(self.store.attrs(Attrs { key, fields }))
    }
}

/// Returns the schema with this type key, if there is one.
pub(super) fn schema_of(key: &str) -> Option<&'static AttrsSchema> {
    ops::schema(key)
}

fn holds_expr(value: &AttrValue) -> bool {
    match value {
        AttrValue::Expr(_) => true,
        AttrValue::Array(items) => items.iter().any(holds_expr),
        _ => false,
    }
}

/// Converts a value to the schema's kind, as TVM's reflection does; otherwise describes the value's kind.
pub(super) fn fit(kind: AttrKind, value: AttrValue) -> Result<AttrValue, &'static str> {
    Ok(match (kind, value) {
        (AttrKind::Any, value) => plain(value),
        (AttrKind::Boxed, value @ (AttrValue::Int { .. } | AttrValue::Object(_))) => value,
        (AttrKind::Boxed, AttrValue::Array(items)) => {
            AttrValue::Array(items.into_vec().into_iter().map(fit_extent).collect::<Result<_, _>>()?)
        }
        (AttrKind::Int, AttrValue::Int { value, .. }) => AttrValue::int(value),
        (AttrKind::Int | AttrKind::Integer, AttrValue::Bool(b)) => AttrValue::int(i64::from(b)),
        (AttrKind::Integer, value @ (AttrValue::Int { .. } | AttrValue::Dim(_) | AttrValue::Null)) => value,
        (AttrKind::Bool, AttrValue::Int { value, .. }) => AttrValue::Bool(value != 0),
        (AttrKind::Bool, value @ AttrValue::Bool(_)) => value,
        (AttrKind::Float, AttrValue::Float(value)) => AttrValue::Float(value),
        (AttrKind::Float, value @ (AttrValue::Int { .. } | AttrValue::Bool(_))) => {
            AttrValue::Float(Double(value.as_float().unwrap_or(0.0)))
        }
        (AttrKind::Str | AttrKind::DType, value @ (AttrValue::Str(_) | AttrValue::Null)) => value,
        (AttrKind::DType, value @ AttrValue::DType(_)) => value,
        (AttrKind::Ints, AttrValue::Null) => AttrValue::Null,
        (AttrKind::Ints, AttrValue::Array(items)) => {
            AttrValue::Array(items.into_vec().into_iter().map(fit_extent).collect::<Result<_, _>>()?)
        }
        (_, value) => return Err(kind_of(&value)),
    })
}

fn fit_extent(value: AttrValue) -> Result<AttrValue, &'static str> {
    match value {
        AttrValue::Bool(b) => Ok(AttrValue::int(i64::from(b))),
        AttrValue::Int { .. } | AttrValue::Dim(_) | AttrValue::Null | AttrValue::Object(_) => Ok(value),
        AttrValue::Array(_) => Err("a list of lists"),
        AttrValue::Float(_) => Err("a list of floating point numbers"),
        AttrValue::Str(_) => Err("a list of strings"),
        _ => Err("a list of other things"),
    }
}

fn wanted(kind: AttrKind) -> &'static str {
    match kind {
        AttrKind::Int | AttrKind::Integer => "an integer",
        AttrKind::Bool => "True or False",
        AttrKind::Float => "a number",
        AttrKind::Str => "a string",
        AttrKind::DType => "an element type in quotes",
        AttrKind::Ints => "a list of integers, such as `[1, 1]`",
        AttrKind::Boxed => "an integer or a list of integers",
        AttrKind::Any => "anything",
    }
}

fn kind_of(value: &AttrValue) -> &'static str {
    match value {
        AttrValue::Null => "None",
        AttrValue::Bool(_) => "a truth value",
        AttrValue::Int { .. } => "an integer",
        AttrValue::Float(_) => "a floating point number",
        AttrValue::Str(_) => "a string",
        AttrValue::DType(_) => "an element type",
        AttrValue::Array(_) => "a list",
        AttrValue::Map(_) => "a map",
        AttrValue::Dim(_) => "an extent",
        AttrValue::Global(_) => "a function",
        AttrValue::Expr(_) => "an expression",
        AttrValue::Type(_) => "a type",
        AttrValue::Object(_) => "an object",
    }
}
