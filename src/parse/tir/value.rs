//! The values of Python's expressions while a function is read.

use super::{Node, Read, Reader};
use crate::ir::{AttrValue, Buffer, DType, DTypeCode, Id, Name, PrimExpr, PrimId, Region, Symbol};
use crate::parse::script::tree::Def;
use std::rc::Rc;

/// A value of Python.
#[derive(Clone, Debug)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Rc<str>),
    /// A scalar expression of the program.
    Prim(PrimId),
    Buffer(Id<Buffer>),
    /// Part of a buffer: `A[0:4]`.
    Region(Rc<Region>),
    /// A type: `T.float32`.
    Type(DType),
    /// A variable that has no name yet: `T.int32()`, `T.handle("float32")`.
    Fresh(DType),
    /// The type of a small vector: `T.float32[4]`.
    Vector(DType, Rc<[PrimId]>),
    List(Rc<[Value]>),
    Tuple(Rc<[Value]>),
    Dict(Rc<[(Value, Value)]>),
    /// `T.Range(0, n)`: beginning and extent.
    Range(PrimId, PrimId),
    /// `T.iter_var(v, T.Range(0, n), "ThreadIndex", "threadIdx.x")`
    Iter(Id<Symbol>, Id<Name>),
    /// A target, an index map.
    Object(AttrValue),
    /// `T.meta_var(x)`: a value that an assignment only names.
    Meta(Rc<Value>),
    Lambda(Id<Node>),
    /// `@T.macro` or `@T.inline`
    Macro(Id<Def>),
    /// The module.
    Module,
    /// A function of the module.
    Function(Id<Name>),
}

impl Value {
    /// True if two are the same thing, so that a name may be given the second after the first.
    pub(super) fn is_same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Prim(a), Value::Prim(b)) => a == b,
            (Value::Buffer(a), Value::Buffer(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Module, Value::Module) | (Value::None, Value::None) => true,
            _ => false,
        }
    }

    /// Describes the value for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Bool(_) => "a truth value",
            Value::Int(_) | Value::Float(_) => "a number",
            Value::Str(_) => "a string",
            Value::Prim(_) => "a scalar expression",
            Value::Buffer(_) => "a buffer",
            Value::Region(_) => "a part of a buffer",
            Value::Type(_) | Value::Vector(..) => "a type",
            Value::Fresh(_) => "a variable without a name",
            Value::List(_) | Value::Tuple(_) => "a list",
            Value::Dict(_) => "a dictionary",
            Value::Range(..) => "a range",
            Value::Iter(..) => "an iteration variable",
            Value::Object(_) => "an object",
            Value::Meta(value) => value.kind(),
            Value::Lambda(_) | Value::Macro(_) | Value::Function(_) => "a function",
            Value::Module => "the module",
        }
    }

    /// Returns the elements of a list or tuple.
    pub(super) fn items(&self) -> Option<&Rc<[Value]>> {
        match self {
            Value::List(items) | Value::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the value that a name gets.
    pub(super) fn bare(self) -> Value {
        match self {
            Value::Meta(inner) => inner.as_ref().clone(),
            other => other,
        }
    }
}

impl Reader<'_, '_, '_> {
    /// Returns the scalar expression that a node is.
    pub(super) fn prim(&mut self, id: Id<Node>) -> Read<PrimId> {
        let value = self.value(id)?;
        self.prim_from(&value, id)
    }

    /// Converts a value to a scalar expression (TVM's conversion of its functions' arguments).
    pub(super) fn prim_from(&mut self, value: &Value, at: Id<Node>) -> Read<PrimId> {
        Ok(match value {
            Value::Prim(prim) => *prim,
            Value::Bool(known) => self.store.prim_int(i64::from(*known), DType::BOOL),
            Value::Int(known) => self.int_const(*known),
            Value::Float(known) => self.store.prim_float(*known, DType::F32),
            Value::Str(text) => {
                let text = self.name_of(text);
                self.store.prim(PrimExpr::Str(text))
            }
            // The result of `T.allocate` was a pointer.
            Value::Buffer(buffer) if self.state.pointers.contains(buffer) => self.store.prim(PrimExpr::Data(*buffer)),
            Value::Buffer(buffer) if self.store.is_scalar(*buffer, true) => self.element_zero(*buffer),
            Value::Buffer(buffer) => {
                let name = self.store.str(self.store.buffer(*buffer).name).to_owned();
                return Err(self.error("tir-type", format!("`{name}` is a buffer: it needs an index"), at));
            }
            Value::Region(region) => {
                let region = Rc::clone(region);
                return self.vector_of(&region, at);
            }
            Value::Meta(inner) => {
                let inner = Rc::clone(inner);
                return self.prim_from(&inner, at);
            }
            Value::Object(AttrValue::Object(object)) => {
                let object = self.store.object(*object).clone();
                let attrs = self.store.attrs(crate::ir::Attrs { key: object.key, fields: object.fields });
                self.store.prim(PrimExpr::Attrs(attrs))
            }
            other => {
                let kind = other.kind();
                return Err(self.error("tir-type", format!("expected a scalar expression, found {kind}"), at));
            }
        })
    }

    /// Makes a number of Python: 32 bits where they are enough.
    pub(super) fn int_const(&mut self, value: i64) -> PrimId {
        let dtype = if i32::try_from(value).is_ok() { DType::I32 } else { DType::I64 };
        self.store.prim_int(value, dtype)
    }

    /// Returns the only element of a scalar.
    pub(super) fn element_zero(&mut self, buffer: Id<Buffer>) -> PrimId {
        let zero = self.store.prim_int(0, DType::I32);
        self.store.prim(PrimExpr::Load { buffer, indices: [zero].into() })
    }

    /// Returns a number that is known while the text is read.
    pub(super) fn known_int(&mut self, id: Id<Node>, wanted: &str) -> Read<i64> {
        let value = self.value(id)?;
        let known = match value {
            Value::Int(known) => Some(known),
            Value::Bool(known) => Some(i64::from(known)),
            Value::Prim(prim) => self.store.as_prim_int(prim),
            _ => None,
        };
        known.ok_or_else(|| self.error("tir-type", format!("expected {wanted}"), id))
    }

    /// Reads a type: `"float32"`, or `T.float32`, or a pointer: `T.handle("int64", "global")`, `T.handle().ty`.
    pub(super) fn dtype(&mut self, id: Id<Node>) -> Read<DType> {
        let value = self.value(id)?;
        self.dtype_from(&value, id)
    }

    pub(super) fn dtype_from(&mut self, value: &Value, at: Id<Node>) -> Read<DType> {
        match value {
            Value::Type(dtype) | Value::Fresh(dtype) => Ok(*dtype),
            Value::Str(text) if text.is_empty() => Ok(DType::VOID),
            Value::Str(text) => {
                let read = DType::parse(text);
                read.ok_or_else(|| self.error("tir-type", format!("unknown element type `{text}`"), at))
            }
            Value::Meta(inner) => {
                let inner = Rc::clone(inner);
                self.dtype_from(&inner, at)
            }
            other => {
                let kind = other.kind();
                Err(self.error("tir-type", format!("expected an element type, found {kind}"), at))
            }
        }
    }

    /// True if a scalar expression is a pointer or a string, which are bound and never stored.
    pub(super) fn is_pointer(&self, prim: PrimId) -> bool {
        self.store.prim_dtype(prim).code == DTypeCode::Handle
    }
}
