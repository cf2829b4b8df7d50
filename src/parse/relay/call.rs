//! Reads calls, and functions: constructs with arguments and attributes between their parentheses.

use super::super::lex::{Kind, Token};
use super::meta::MetaValue;
use super::token::Resume;
use super::{Parse, Parser};
use crate::diag::{Diagnostic, Span};
use crate::ir::{AttrValue, Attrs, AttrsId, Expr, ExprId, Function, Id, Object, VarId};

/// The parts between the parentheses of a function's head.
#[derive(Default)]
struct Head {
    params: Vec<VarId>,
    attrs: Option<AttrsId>,
    device: Option<Id<Object>>,
}

impl<'s> Parser<'s, '_> {
    /// Parses `(args, attrs)` behind a callee. TVM: ParseCallArgs.
    pub(super) fn call(&mut self, callee: ExprId, start: u32) -> Parse<ExprId> {
        self.bump();
        let base = self.stack.len();
        let mut attrs = None;
        let mut written = false;
        while !self.eat(Kind::CloseParen) {
            if self.attributes_follow() {
                attrs = self.call_attrs(callee)?;
                written = true;
                self.expect(Kind::CloseParen)?;
                break;
            }
            if self.at(Kind::Meta)
                && self.next_visible_byte() == b')'
                && let Some(object) = self.meta_attrs()
            {
                attrs = Some(object);
                written = true;
                self.expect(Kind::CloseParen)?;
                break;
            }
            let arg = self.element()?;
            self.stack.push(arg);
            self.separator(self.stack.len() - base, Kind::CloseParen)?;
        }
        let span = self.span_from(start);
        if !written && let Expr::Op(op) = self.store.expr(callee) {
            attrs = self.op_attrs(op, "", Vec::new(), span);
        }
        let args = self.store.list(&self.stack[base..]);
        self.stack.truncate(base);
        let info = self.store.add_call_info(attrs, &[]);
        let id = self.store.add(Expr::Call { callee, args, info });
        self.store.set_span(id, span);
        Ok(id)
    }

    /// True if `name =` or `name.name =` comes next. TVM accepts a dotted name only after another attribute, and yet
    /// prints it first.
    fn attributes_follow(&mut self) -> bool {
        if !self.at(Kind::Ident) {
            return false;
        }
        let pos = self.lexer.pos;
        let mut next = self.lexer.next();
        while next.kind == Kind::Dot {
            next = self.lexer.next();
            if next.kind == Kind::Ident {
                next = self.lexer.next();
            }
        }
        let doubled = self.next_byte() == b'=';
        self.lexer.pos = pos;
        next.kind == Kind::Equal && !doubled
    }

    /// Parses `meta[relay.attrs.X][0]` as all the attributes of a call; nothing when it is something else.
    #[inline(never)]
    fn meta_attrs(&mut self) -> Option<AttrsId> {
        let token = self.cur;
        match self.meta_value(token) {
            Some(MetaValue::Attrs(attrs)) => {
                self.bump();
                Some(attrs)
            }
            _ => None,
        }
    }

    /// Parses `[A](params, attrs) -> T { body }`, behind `fn` or `def @name`.
    #[inline(never)]
    pub(super) fn function(&mut self, start: u32) -> Parse<ExprId> {
        let vars = self.vars.open();
        let types = self.type_vars.open();
        let function = self.function_parts();
        self.vars.back_to(vars);
        self.type_vars.back_to(types);
        let function = function?;
        let id = self.store.function_expr(function);
        self.store.set_span(id, self.span_from(start));
        Ok(id)
    }

    fn function_parts(&mut self) -> Parse<Function> {
        let type_params = if self.at(Kind::OpenSquare) { self.type_params()? } else { Vec::new() };
        let head = self.head()?;
        let ret = if self.at(Kind::Minus) {
            self.arrow()?;
            self.annotation()?
        } else {
            None
        };
        let body = self.braces()?;
        let params = self.store.list(&head.params);
        let type_params = self.store.list(&type_params);
        Ok(Function { params, type_params, ret, body, attrs: head.attrs, device: head.device, pure: true })
    }

    #[inline(never)]
    fn head(&mut self) -> Parse<Head> {
        self.expect(Kind::OpenParen)?;
        let level = self.open_brackets();
        let mut head = Head::default();
        while !self.eat(Kind::CloseParen) {
            if self.at(Kind::Ident) {
                self.function_attrs(&mut head)?;
                self.expect(Kind::CloseParen)?;
                break;
            }
            let param = self.param(&mut head);
            match param.and_then(|()| self.separator(head.params.len(), Kind::CloseParen)) {
                Ok(()) => {}
                Err(stop) if !self.recover(level, Resume::Item) => return Err(stop),
                Err(_) => {
                    self.eat(Kind::Comma);
                }
            }
        }
        Ok(head)
    }

    /// Parses `%x {virtual_device=meta[VirtualDevice][0]}: T`.
    fn param(&mut self, head: &mut Head) -> Parse<()> {
        let (name, span) = self.binder()?;
        let mut device = None;
        if self.eat(Kind::OpenCurly) {
            for attr in self.attr_list()? {
                match (&*attr.name, attr.value) {
                    ("virtual_device", AttrValue::Object(object)) => device = Some(object),
                    ("virtual_device", _) => {
                        self.error("relay-attr-type", "`virtual_device` must be a VirtualDevice", attr.span);
                    }
                    (name, _) => {
                        let message = format!("a parameter has no attribute `{name}`, only `virtual_device`");
                        self.error("relay-unknown-attr", message, attr.span);
                    }
                }
            }
            self.expect(Kind::CloseCurly)?;
        }
        let annotation = if self.eat(Kind::Colon) { self.annotation() } else { Ok(None) };
        // The parameter is known even when its type is wrong.
        let var = self.bind(name, span, annotation.as_ref().ok().copied().flatten());
        self.store.set_var_device(var, device);
        head.params.push(var);
        annotation.map(|_| ())
    }

    /// Parses the attributes behind the parameters; the device is not one of them.
    fn function_attrs(&mut self, head: &mut Head) -> Parse<()> {
        let mut fields = Vec::new();
        for attr in self.attr_list()? {
            match (&*attr.name, attr.value) {
                ("virtual_device", AttrValue::Object(object)) => head.device = Some(object),
                ("virtual_device", _) => {
                    self.error("relay-attr-type", "`virtual_device` must be a VirtualDevice", attr.span);
                }
                (name, value) => fields.push((self.store.name(name), plain(value))),
            }
        }
        if !fields.is_empty() {
            let key = self.store.name("DictAttrs");
            head.attrs = Some(self.store.attrs(Attrs { key, fields: fields.into() }));
        }
        Ok(())
    }

    /// Returns the contents of a string, with the escapes of TVM's printer undone.
    pub(super) fn string(&self, token: Token) -> std::borrow::Cow<'s, str> {
        let text = self.text(token);
        unescape(text.get(1..text.len().saturating_sub(1)).unwrap_or(""))
    }

    pub(super) fn warn(&mut self, code: &'static str, message: String, span: Span) {
        self.report(Diagnostic::warning(code, message, span));
    }
}

/// Converts a value without a schema: TVM reads `True` as the integer 1.
pub(super) fn plain(value: AttrValue) -> AttrValue {
    match value {
        AttrValue::Bool(b) => AttrValue::int(i64::from(b)),
        AttrValue::Array(items) => AttrValue::Array(items.into_vec().into_iter().map(plain).collect()),
        other => other,
    }
}

/// Undoes the escapes of TVM's `support/str_escape.h`. Backslashes that it would not write stay.
fn unescape(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains('\\') {
        return text.into();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let (byte, used) = match (byte, after) {
            (b'\\', [b'"', ..]) => (b'"', 2),
            (b'\\', [b'\\', ..]) => (b'\\', 2),
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [b'x', high, low, ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digit = |d: u8| (d as char).to_digit(16).unwrap_or(0) as u8;
                (digit(*high) * 16 + digit(*low), 4)
            }
            _ => (byte, 1),
        };
        bytes.push(byte);
        rest = &rest[used..];
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn escapes_of_the_printer_are_undone() {
        assert_eq!(unescape(r#"a\"b\\c\n\xC3\xA9\d"#), "a\"b\\c\n\u{e9}\\d");
    }
}
