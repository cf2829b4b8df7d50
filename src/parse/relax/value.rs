//! The values of expressions while the text is read: nodes, and values of Python that may become nodes.

use super::{Read, Reader};
use crate::diag::Span;
use crate::ir::{AttrValue, AttrsId, DType, DTypeCode, Dim, Double, ExprId, Id, Name, PrimId, TypeId};
use crate::ops::AttrKind;

/// A value while it is read.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A node that may stand anywhere.
    Expr(ExprId),
    /// A call that has no node yet.
    Call(Box<CallParts>),
    /// `value[index]`
    Item(Box<Value>, u32),
    /// `(a, b)`
    Tuple(Vec<Value>),
    /// `[a, b]`
    List(Vec<Value>),
    /// `{k: v}`
    Dict(Vec<(Value, Value)>),
    /// Symbolic arithmetic.
    Prim(PrimId),
    /// A number of Python.
    Int(i64),
    /// A number of Python.
    Float(f64),
    /// A truth value of Python.
    Bool(bool),
    /// A string of Python.
    Str(Id<Name>),
    /// `None`
    None,
    /// A type.
    Type(TypeId),
    /// `R.match_cast(value, type)`
    Cast(Box<Value>, TypeId),
    /// `R.func_attr({...})`
    FuncAttr(Vec<(Id<Name>, AttrValue)>),
    /// `R.output(a, b)`
    Output,
    /// `R.dataflow()`
    Dataflow,
    /// `T.int64()`: a symbolic variable to be named.
    NewSymbol(DType),
    /// A value that only attributes can have.
    Attr(AttrValue),
    /// The module.
    Module,
}

/// A call that has no node yet.
#[derive(Clone, Debug)]
pub(super) struct CallParts {
    /// The callee.
    pub(super) callee: ExprId,
    /// Arguments.
    pub(super) args: Vec<Value>,
    /// Attributes.
    pub(super) attrs: Option<AttrsId>,
    /// Types that stand among the arguments.
    pub(super) ty_args: Vec<TypeId>,
    /// The default type, if there is one.
    pub(super) ty: Option<TypeId>,
    /// Its place.
    pub(super) span: Span,
}

impl Value {
    /// The value as an item of a tuple or an argument of a linked function, where TVM takes a truth value of Python for a whole
    /// number (`convert_to_expr`).
    pub(super) fn among_others(self) -> Value {
        match self {
            Value::Bool(on) => Value::Int(i64::from(on)),
            other => other,
        }
    }

    /// Describes the value in words.
    pub(super) fn describe(&self) -> &'static str {
        match self {
            Value::Expr(_) | Value::Call(_) | Value::Item(..) => "an expression",
            Value::Tuple(_) => "a tuple",
            Value::List(_) => "a list",
            Value::Dict(_) => "a dictionary",
            Value::Prim(_) => "symbolic arithmetic",
            Value::Int(_) | Value::Float(_) => "a number",
            Value::Bool(_) => "a truth value",
            Value::Str(_) => "a string",
            Value::None => "None",
            Value::Type(_) => "a type",
            Value::Cast(..) => "a match_cast",
            Value::FuncAttr(_) | Value::Output | Value::Dataflow => "a statement",
            Value::NewSymbol(_) => "a declaration of a symbolic variable",
            Value::Attr(_) => "an object",
            Value::Module => "the module",
        }
    }

    /// Returns the elements, if it is a tuple or list.
    pub(super) fn items(&self) -> Option<&[Value]> {
        match self {
            Value::Tuple(items) | Value::List(items) => Some(items),
            _ => None,
        }
    }
}

impl Reader<'_, '_> {
    /// Makes a value as the value of an attribute.
    pub(super) fn attr_value(&mut self, value: &Value, span: Span) -> Read<AttrValue> {
        Ok(match value {
            Value::None => AttrValue::Null,
            Value::Bool(b) => AttrValue::Bool(*b),
            Value::Int(i) => AttrValue::int(*i),
            Value::Float(f) => AttrValue::Float(Double(*f)),
            Value::Str(text) => AttrValue::Str(*text),
            Value::Tuple(items) | Value::List(items) => {
                let items: Read<Vec<AttrValue>> = items.iter().map(|item| self.attr_value(item, span)).collect();
                AttrValue::Array(items?.into())
            }
            Value::Dict(entries) => {
                let mut map = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    let Value::Str(key) = key else {
                        return Err(self.error("relax-attr", "the keys of this dictionary must be strings", span));
                    };
                    map.push((*key, self.attr_value(value, span)?));
                }
                AttrValue::Map(map.into())
            }
            Value::Prim(prim) => AttrValue::Dim(self.store.dim_of_prim(*prim)),
            Value::Type(ty) => AttrValue::Type(*ty),
            Value::Attr(value) => value.clone(),
            Value::Expr(id) => AttrValue::Expr(*id),
            other => {
                let message = format!("{} cannot be the value of an attribute", other.describe());
                return Err(self.error("relax-attr", message, span));
            }
        })
    }

    /// Makes a value as the value of an operator's attribute of this kind.
    pub(super) fn typed_attr(&mut self, name: &str, kind: AttrKind, value: &Value, span: Span) -> Read<AttrValue> {
        let plain = self.attr_value(value, span)?;
        let fits = match (kind, &plain) {
            (_, AttrValue::Null) | (AttrKind::Any, _) => true,
            (AttrKind::Int | AttrKind::Integer, AttrValue::Int { .. } | AttrValue::Bool(_) | AttrValue::Dim(_)) => true,
            (AttrKind::Bool, AttrValue::Bool(_)) => true,
            (AttrKind::Bool, AttrValue::Int { value, .. }) => return Ok(AttrValue::Bool(*value != 0)),
            (AttrKind::Float, AttrValue::Float(_) | AttrValue::Dim(_)) => true,
            (AttrKind::Float, AttrValue::Int { value, .. }) => return Ok(AttrValue::Float(Double(*value as f64))),
            (AttrKind::Str, AttrValue::Str(_)) => true,
            (AttrKind::DType, AttrValue::Str(text)) => {
                let text = self.store.name_rc(*text);
                let dtype = self.dtype(&text.0, span)?;
                return Ok(AttrValue::DType(dtype));
            }
            (AttrKind::DType, AttrValue::DType(_)) => true,
            (AttrKind::Ints, AttrValue::Array(_)) => true,
            (AttrKind::Ints, AttrValue::Int { .. } | AttrValue::Dim(_)) => return Ok(AttrValue::Array([plain].into())),
            _ => false,
        };
        if fits {
            return Ok(plain);
        }
        let message = format!("`{name}` takes {kind}, found {}", value.describe());
        Err(self.error("relax-attr", message, span))
    }

    /// Returns an element type; nothing for the empty string.
    pub(super) fn dtype(&mut self, text: &str, span: Span) -> Read<Option<DType>> {
        let today = match text {
            "" | "void" => return Ok(None),
            "f16" => "float16",
            "f32" => "float32",
            "f64" => "float64",
            "i8" => "int8",
            "i32" => "int32",
            "i64" => "int64",
            other => other,
        };
        if today != text {
            self.hint("element types are written in full today: `float32` for `f32`", span);
        }
        match DType::parse(today) {
            Some(dtype) => Ok(Some(dtype)),
            None => Err(self.error("relax-dtype", format!("`{}` is not an element type", super::super::shorten(text)), span)),
        }
    }

    /// Returns a value as an extent of a shape, which has 64 bits.
    pub(super) fn extent(&mut self, value: &Value, span: Span) -> Read<Dim> {
        let dim = self.whole(value, span)?;
        let dtype = match dim {
            Dim::Symbol(symbol) => self.store.symbol(symbol).dtype,
            Dim::Expr(prim) => self.store.prim_dtype(prim),
            _ => DType::I64,
        };
        if dtype != DType::I64 {
            let message = format!("the value in ShapeType can only have dtype of int64, found {dtype}");
            return Err(self.error("relax-shape", message, span));
        }
        Ok(dim)
    }

    /// Returns a value as a whole number or symbolic arithmetic.
    pub(super) fn whole(&mut self, value: &Value, span: Span) -> Read<Dim> {
        match value {
            Value::Int(value) => Ok(Dim::Int { value: *value, bits: 64 }),
            Value::Bool(value) => Ok(Dim::Int { value: i64::from(*value), bits: 64 }),
            Value::Prim(prim) => Ok(self.store.dim_of_prim(*prim)),
            Value::Expr(id) => match self.symbol_of(*id) {
                Some(symbol) => Ok(Dim::Symbol(symbol)),
                None => Err(self.error("relax-shape", "an extent is a number or symbolic arithmetic, found an expression", span)),
            },
            other => {
                let message = format!("an extent is a number or symbolic arithmetic, found {}", other.describe());
                Err(self.error("relax-shape", message, span))
            }
        }
    }

    /// Returns the elements of a shape.
    pub(super) fn extents(&mut self, value: &Value, span: Span) -> Read<Vec<Dim>> {
        match value.items() {
            Some(items) => items.iter().map(|item| self.extent(item, span)).collect(),
            None => Ok(vec![self.extent(value, span)?]),
        }
    }
}

/// Appends one element of a tensor, given as both kinds of number.
pub(super) fn push_element(data: &mut Vec<u8>, dtype: DType, int: i64, float: f64) {
    match (dtype.code, dtype.bits) {
        (DTypeCode::Float, 64) => data.extend(float.to_le_bytes()),
        (DTypeCode::Float, 32) => data.extend((float as f32).to_le_bytes()),
        (DTypeCode::Float, 16) => data.extend(half::f16::from_f64(float).to_le_bytes()),
        (DTypeCode::BFloat, 16) => data.extend(half::bf16::from_f64(float).to_le_bytes()),
        (DTypeCode::UInt, 1) => data.push(u8::from(int != 0 || float != 0.0)),
        _ => data.extend(int.to_le_bytes().iter().copied().chain(std::iter::repeat(0)).take(dtype.bytes())),
    }
}
