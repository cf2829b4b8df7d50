//! Types: `Tensor[(1, ?), float32]`, `(A, B)`, `fn (A) -> B`, `List[A]`, `int32`, `ref(A)`.

use super::super::lex::{Kind, Token};
use super::super::number::Number;
use super::super::suggest::nearest;
use super::{Parse, Parser};
use crate::diag::Diagnostic;
use crate::ir::{DType, Dim, Id, Type, TypeId, TypeVar};

impl<'s> Parser<'s, '_> {
    /// Parses a type where one may be left open: `_` is none.
    pub(super) fn annotation(&mut self) -> Parse<Option<TypeId>> {
        if self.eat(Kind::Underscore) { Ok(None) } else { self.ty().map(Some) }
    }

    pub(super) fn ty(&mut self) -> Parse<TypeId> {
        self.guard_depth()?;
        match self.cur.kind {
            Kind::Ident => self.named_type(),
            Kind::OpenParen => {
                let fields = self.type_list(Kind::CloseParen)?;
                Ok(self.store.ty(Type::Tuple(fields.into())))
            }
            Kind::Fn => self.function_type(),
            Kind::Underscore => {
                self.bump();
                Ok(self.store.hole())
            }
            // TVM prints this type and cannot read it.
            Kind::Ref => {
                self.bump();
                self.expect(Kind::OpenParen)?;
                let inner = self.ty()?;
                self.expect(Kind::CloseParen)?;
                Ok(self.store.ty(Type::Ref(inner)))
            }
            Kind::Meta => self.meta_type(),
            _ => Err(self.unexpected("a type")),
        }
    }

    /// Parses `(A, B)` or `[A, B]`, the opening bracket being under the cursor.
    fn type_list(&mut self, close: Kind) -> Parse<Vec<TypeId>> {
        self.bump();
        let mut types = Vec::new();
        while !self.eat(close) {
            types.push(self.ty()?);
            self.separator(types.len(), close)?;
        }
        Ok(types)
    }

    /// Parses `fn (A) -> B`, and `fn [A](A) -> A`, which TVM prints and cannot read.
    fn function_type(&mut self) -> Parse<TypeId> {
        self.bump();
        let mark = self.type_vars.mark();
        let ty = self.function_type_parts();
        self.type_vars.back_to(mark);
        ty
    }

    fn function_type_parts(&mut self) -> Parse<TypeId> {
        let type_params = if self.at(Kind::OpenSquare) {
            self.type_vars.open();
            self.type_params()?
        } else {
            Vec::new()
        };
        if !self.at(Kind::OpenParen) {
            return Err(self.unexpected("`(`"));
        }
        let params = self.type_list(Kind::CloseParen)?;
        self.arrow()?;
        // A chain of results is as deep as it is long and has no brackets.
        self.nesting += 1;
        let ret = self.ty();
        self.nesting -= 1;
        let ret = ret?;
        Ok(self.store.ty(Type::Func { type_params: type_params.into(), params: params.into(), ret }))
    }

    /// Parses `->`.
    pub(super) fn arrow(&mut self) -> Parse<()> {
        self.expect(Kind::Minus)?;
        self.expect(Kind::Greater).map(|_| ())
    }

    /// Parses `[A, B]`, bound in the scope that is open.
    pub(super) fn type_params(&mut self) -> Parse<Vec<Id<TypeVar>>> {
        self.expect(Kind::OpenSquare)?;
        let mut params = Vec::new();
        while !self.eat(Kind::CloseSquare) {
            let token = self.expect(Kind::Ident)?;
            let text = self.text(token);
            let name = self.name(text);
            let var = self.store.add_type_var(TypeVar { name });
            self.type_vars.bind(text, var);
            params.push(var);
            self.separator(params.len(), Kind::CloseSquare)?;
        }
        Ok(params)
    }

    fn named_type(&mut self) -> Parse<TypeId> {
        let token = self.cur;
        match self.text(token) {
            "Tensor" => self.tensor_type(),
            // TVM goes by the beginning of the name, so no other type can be called `integer`.
            text if ["int", "uint", "float", "bool"].iter().any(|p| text.starts_with(p)) => {
                if let Some(&known) = self.known_types.get(text) {
                    self.bump();
                    return Ok(known);
                }
                let dtype = self.dtype()?;
                let ty = self.store.tensor_type(&[], dtype);
                self.known_types.insert(text, ty);
                Ok(ty)
            }
            text => {
                self.bump();
                self.applied_type(text)
            }
        }
    }

    /// Parses an element type, such as `float32`.
    fn dtype(&mut self) -> Parse<DType> {
        let token = self.expect(Kind::Ident)?;
        match DType::parse(self.text(token)) {
            Some(dtype) => Ok(dtype),
            None => Err(self.unknown_dtype(token)),
        }
    }

    fn unknown_dtype(&mut self, token: Token) -> super::Stop {
        let text = self.text(token);
        let mut error = Diagnostic::error("relay-type", format!("unknown element type `{text}`"), token.span());
        if let Some(near) = nearest(text, DTYPES.iter().copied()) {
            error = error.with_note(format!("did you mean `{near}`?"));
        }
        self.report(error)
    }

    fn tensor_type(&mut self) -> Parse<TypeId> {
        // Programs repeat a few types very often. One that was read before is recognised by its text,
        // up to the first `]`, which ends it unless it holds a metadata reference.
        let start = self.cur.start as usize;
        let text = self.lexer.text_until(start, b']');
        if let Some(&known) = self.known_types.get(text) {
            self.jump_to(start + text.len());
            return Ok(known);
        }
        self.bump();
        self.expect(Kind::OpenSquare)?;
        let shape = self.shape()?;
        self.expect(Kind::Comma)?;
        let dtype = self.dtype()?;
        let end = self.expect(Kind::CloseSquare)?;
        let ty = self.store.tensor_type(&shape, dtype);
        if start + text.len() == end.end as usize {
            self.known_types.insert(text, ty);
        }
        Ok(ty)
    }

    /// Parses `(1, ?, meta[tir.Var][0])`.
    fn shape(&mut self) -> Parse<Vec<Dim>> {
        self.expect(Kind::OpenParen)?;
        let mut dims = Vec::new();
        while !self.eat(Kind::CloseParen) {
            let dim = match self.cur.kind {
                Kind::Int => {
                    let token = self.bump();
                    match self.number(token) {
                        Number::Int { value, bits } => Dim::Int { value, bits },
                        Number::Float { .. } => Dim::Any,
                    }
                }
                Kind::Question => {
                    self.bump();
                    Dim::Any
                }
                Kind::Meta => self.meta_dim()?,
                _ => return Err(self.unexpected("an extent such as `3` or `?`")),
            };
            dims.push(dim);
            self.separator(dims.len(), Kind::CloseParen)?;
        }
        Ok(dims)
    }

    /// Parses a type variable, or a type definition with its arguments.
    fn applied_type(&mut self, text: &'s str) -> Parse<TypeId> {
        let type_var = self.type_vars.lookup(text);
        let head = match type_var {
            Some(var) => self.store.ty(Type::Var(var)),
            None => {
                let name = self.name(text);
                self.store.ty(Type::Global(name))
            }
        };
        let args = if self.at(Kind::OpenSquare) { self.type_list(Kind::CloseSquare)? } else { Vec::new() };
        if args.is_empty() && type_var.is_some() {
            return Ok(head);
        }
        Ok(self.store.ty(Type::Apply { head, args: args.into() }))
    }
}

/// Parses an element type as the metadata section writes it.
pub(super) fn parse_dtype(text: &str) -> Result<DType, String> {
    DType::parse(text).ok_or_else(|| format!("unknown element type `{text}`"))
}

/// The usual element types, for suggestions.
const DTYPES: [&str; 13] = [
    "float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
];
