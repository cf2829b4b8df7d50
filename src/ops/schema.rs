//! The attributes of an operator: names, kinds and defaults, in the order in which TVM declares and prints them.

use crate::ir::{AttrValue, Attrs, DType, Double, Store};
use std::fmt;

/// The attributes of an operator (TVM's attrs node).
#[derive(Debug)]
pub struct AttrsSchema {
    /// TVM's type key, e.g. `relay.attrs.Conv2DAttrs`.
    pub key: &'static str,
    /// Fields in declaration order.
    pub fields: &'static [AttrField],
}

/// One attribute.
#[derive(Clone, Copy, Debug)]
pub struct AttrField {
    /// Name.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: AttrKind,
    /// The default value. A field without one must be written, and is always printed.
    pub default: Option<AttrDefault>,
}

/// Declares the attributes of TVM's type `key`.
pub(super) const fn schema(key: &'static str, fields: &'static [AttrField]) -> AttrsSchema {
    AttrsSchema { key, fields }
}

/// Constructors of fields: by kind, with the default.
pub(super) mod field {
    use super::{AttrDefault, AttrField, AttrKind};

    /// A field that must be written.
    pub const fn required(name: &'static str, kind: AttrKind) -> AttrField {
        AttrField { name, kind, default: None }
    }

    /// A field with the default `None`.
    pub const fn or_none(name: &'static str, kind: AttrKind) -> AttrField {
        with(name, kind, AttrDefault::Null)
    }

    /// A field with another default than its kind would suggest.
    pub const fn with(name: &'static str, kind: AttrKind, default: AttrDefault) -> AttrField {
        AttrField { name, kind, default: Some(default) }
    }

    /// A C++ integer.
    pub const fn int(name: &'static str, default: i64) -> AttrField {
        with(name, AttrKind::Int, AttrDefault::Int(default))
    }

    /// An `Integer` object.
    pub const fn integer(name: &'static str, default: i64) -> AttrField {
        with(name, AttrKind::Integer, AttrDefault::Int(default))
    }

    /// `True` or `False`.
    pub const fn flag(name: &'static str, default: bool) -> AttrField {
        with(name, AttrKind::Bool, AttrDefault::Bool(default))
    }

    /// A double.
    pub const fn float(name: &'static str, default: f64) -> AttrField {
        with(name, AttrKind::Float, AttrDefault::Float(default))
    }

    /// A string.
    pub const fn text(name: &'static str, default: &'static str) -> AttrField {
        with(name, AttrKind::Str, AttrDefault::Str(default))
    }

    /// An element type; `""` is unset.
    pub const fn dtype(name: &'static str, default: &'static str) -> AttrField {
        with(name, AttrKind::DType, AttrDefault::DType(default))
    }

    /// A list of integers.
    pub const fn ints(name: &'static str, default: &'static [i64]) -> AttrField {
        with(name, AttrKind::Ints, AttrDefault::Ints(default))
    }
}

/// The kind of an attribute's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrKind {
    /// A C++ `int` or `int64_t`: prints plain.
    Int,
    /// An extent or `Integer` object; may be null.
    Integer,
    /// `True` or `False`.
    Bool,
    /// A double.
    Float,
    /// A string.
    Str,
    /// An element type.
    DType,
    /// A list of extents or integers; may be null.
    Ints,
    /// An integer or a list of integers, each boxed (`runtime.BoxInt`), which is printed as an object of the metadata section.
    Boxed,
    /// Anything else: nested lists, maps, objects.
    Any,
}

/// The default value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AttrDefault {
    /// `None`
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A double.
    Float(f64),
    /// A string.
    Str(&'static str),
    /// An element type; `""` is unset.
    DType(&'static str),
    /// A list of integers.
    Ints(&'static [i64]),
    /// A list of numbers.
    Floats(&'static [f64]),
}

impl fmt::Display for AttrKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AttrKind::Int | AttrKind::Integer => "int",
            AttrKind::Bool => "bool",
            AttrKind::Float => "float",
            AttrKind::Str => "str",
            AttrKind::DType => "dtype",
            AttrKind::Ints => "list of int",
            AttrKind::Boxed => "int or list of int",
            AttrKind::Any => "object",
        })
    }
}

/// Prints the value as in a program.
impl fmt::Display for AttrDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttrDefault::Null => f.write_str("None"),
            AttrDefault::Bool(true) => f.write_str("True"),
            AttrDefault::Bool(false) => f.write_str("False"),
            AttrDefault::Int(i) => write!(f, "{i}"),
            AttrDefault::Float(x) => write!(f, "{x}f"),
            AttrDefault::Str(s) | AttrDefault::DType(s) => write!(f, "\"{s}\""),
            AttrDefault::Ints(items) => write!(f, "{items:?}"),
            AttrDefault::Floats(items) => write!(f, "{items:?}"),
        }
    }
}

impl AttrDefault {
    /// The default as a value.
    pub fn value(self, store: &mut Store) -> AttrValue {
        match self {
            AttrDefault::Null => AttrValue::Null,
            AttrDefault::Bool(b) => AttrValue::Bool(b),
            AttrDefault::Int(i) => AttrValue::int(i),
            AttrDefault::Float(f) => AttrValue::Float(Double(f)),
            AttrDefault::Str(s) => AttrValue::Str(store.name(s)),
            AttrDefault::DType(s) => AttrValue::DType(DType::parse(s)),
            AttrDefault::Ints(items) => AttrValue::Array(items.iter().map(|i| AttrValue::int(*i)).collect()),
            AttrDefault::Floats(items) => AttrValue::Array(items.iter().map(|f| AttrValue::Float(Double(*f))).collect()),
        }
    }
}

impl AttrsSchema {
    /// Returns the field with this name.
    pub fn field(&self, name: &str) -> Option<&AttrField> {
        self.fields.iter().find(|f| f.name == name)
    }

    /// Completes the written fields with defaults. The error is the name of a required field that is missing.
    pub fn complete(&self, store: &mut Store, written: &[(&str, AttrValue)]) -> Result<Attrs, &'static str> {
        let mut fields = Vec::with_capacity(self.fields.len());
        for field in self.fields {
            let value = match written.iter().find(|(name, _)| *name == field.name) {
                Some((_, value)) if field.kind == AttrKind::Boxed => store.boxed(value.clone()),
                // `None` is no truth value: TVM takes the default.
                Some((_, AttrValue::Null)) if matches!(field.default, Some(AttrDefault::Bool(_))) => {
                    field.default.ok_or(field.name)?.value(store)
                }
                Some((_, value)) => value.clone(),
                None => field.default.ok_or(field.name)?.value(store),
            };
            fields.push((store.name(field.name), value));
        }
        Ok(Attrs { key: store.name(self.key), fields: fields.into() })
    }
}
