//! Attributes of calls and functions. Interned, so equal sets are equal ids.

use super::id::Id;
use super::ty::{DType, Dim, TypeId};
use super::{ExprId, Name, Object};
use std::hash::{Hash, Hasher};

/// Id of an interned [`Attrs`].
pub type AttrsId = Id<Attrs>;

/// A set of named values. An operator's set holds every field of its schema, in declaration order, defaults filled in;
/// a function's set (`DictAttrs`) holds the written fields, in that order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attrs {
    /// TVM's type key, e.g. `relay.attrs.Conv2DAttrs` or `DictAttrs`.
    pub key: Id<Name>,
    /// Names and values.
    pub fields: Box<[(Id<Name>, AttrValue)]>,
}

impl Attrs {
    /// Returns the value of the field `name`.
    pub fn get(&self, name: Id<Name>) -> Option<&AttrValue> {
        self.fields.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }
}

/// The value of one attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AttrValue {
    /// `None`: a null reference.
    Null,
    /// `True` or `False`.
    Bool(bool),
    /// An integer and its width in bits: 64 prints as `5i64`, 16 as `5i16`.
    Int {
        /// The number.
        value: i64,
        /// Width in bits.
        bits: u8,
    },
    /// A double.
    Float(Double),
    /// A string.
    Str(Id<Name>),
    /// An element type, printed as a string; `None` is the unset type, printed `""`.
    DType(Option<DType>),
    /// `[a, b]`
    Array(Box<[AttrValue]>),
    /// A string-keyed map.
    Map(Box<[(Id<Name>, AttrValue)]>),
    /// An extent that is not a plain integer.
    Dim(Dim),
    /// The name of a global function.
    Global(Id<Name>),
    /// An expression (a constant held by an attribute, a function in a layout pass).
    Expr(ExprId),
    /// A type.
    Type(TypeId),
    /// Any other object of the metadata section, kept as it was read: `meta[VirtualDevice][0]`.
    Object(Id<Object>),
}

impl AttrValue {
    /// Makes an integer in TVM's usual 32 bits.
    pub const fn int(value: i64) -> AttrValue {
        AttrValue::Int { value, bits: 32 }
    }

    /// Returns the number, if it is an integer or a truth value.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            AttrValue::Int { value, .. } => Some(*value),
            AttrValue::Bool(b) => Some(i64::from(*b)),
            _ => None,
        }
    }

    /// Returns the number as a double, if it is a number.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            AttrValue::Float(d) => Some(d.0),
            other => other.as_int().map(|v| v as f64),
        }
    }

    /// Returns the numbers, if it is a list of integers.
    pub fn as_ints(&self) -> Option<Vec<i64>> {
        match self {
            AttrValue::Array(items) => items.iter().map(AttrValue::as_int).collect(),
            _ => None,
        }
    }
}

/// A double that compares and hashes by its bits, so that attribute sets can be interned.
#[derive(Clone, Copy, Debug)]
pub struct Double(pub f64);

impl PartialEq for Double {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}
impl Eq for Double {}
impl Hash for Double {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}
