//! Attribute sets of a store: interning and reading them.

use super::Store;
use crate::ir::attrs::{AttrValue, Attrs, AttrsId};
use crate::ir::ty::DType;
use crate::ir::{Dim, Object, PrimExpr};
use std::rc::Rc;

impl Store {
    /// Returns the id of an attribute set.
    pub fn attrs(&mut self, attrs: Attrs) -> AttrsId {
        self.attr_sets.intern(attrs)
    }

    /// Returns the attribute set behind an id.
    pub fn attrs_of_id(&self, id: AttrsId) -> &Attrs {
        self.attr_sets.get(id)
    }

    /// Returns the attribute set behind an id, shared, for when the store has to be changed meanwhile.
    pub fn attrs_rc(&self, id: AttrsId) -> Rc<Attrs> {
        self.attr_sets.get_rc(id)
    }

    /// Returns the value of one attribute. A boxed number (`runtime.BoxInt`) is not opened here; see
    /// [`Store::attr_int`].
    pub fn attr(&self, attrs: Option<AttrsId>, name: &str) -> Option<&AttrValue> {
        let attrs = self.attr_sets.get(attrs?);
        attrs.fields.iter().find(|(n, _)| self.str(*n) == name).map(|(_, v)| v)
    }

    /// Returns a dictionary of attributes with one more, or another value of one.
    pub fn with_attr(&mut self, attrs: Option<AttrsId>, name: &str, value: AttrValue) -> AttrsId {
        let name = self.name(name);
        let mut new = match attrs {
            Some(attrs) => self.attrs_of_id(attrs).clone(),
            None => Attrs { key: self.name("DictAttrs"), fields: [].into() },
        };
        let mut fields = new.fields.to_vec();
        match fields.iter_mut().find(|(other, _)| *other == name) {
            Some(field) => field.1 = value,
            None => fields.push((name, value)),
        }
        new.fields = fields.into();
        self.attrs(new)
    }

    /// Returns the attributes without one of them; nothing when none is left.
    pub fn without_attr(&mut self, attrs: Option<AttrsId>, name: &str) -> Option<AttrsId> {
        let mut set = self.attrs_of_id(attrs?).clone();
        let name = self.name(name);
        let fields: Vec<_> = set.fields.iter().filter(|(other, _)| *other != name).cloned().collect();
        if fields.is_empty() {
            return None;
        }
        set.fields = fields.into();
        Some(self.attrs(set))
    }

    /// Boxes integers, alone or in a list (`runtime.BoxInt`); anything else stays as it is.
    pub fn boxed(&mut self, value: AttrValue) -> AttrValue {
        match value {
            AttrValue::Int { value, .. } => {
                let key = self.name("runtime.BoxInt");
                let repr = Some(value.to_string().into());
                AttrValue::Object(self.add_object(Object { key, fields: [].into(), items: [].into(), repr }))
            }
            AttrValue::Array(items) => AttrValue::Array(items.into_vec().into_iter().map(|item| self.boxed(item)).collect()),
            other => other,
        }
    }

    /// Returns an integer or truth value, boxed or not.
    pub fn attr_int(&self, attrs: Option<AttrsId>, name: &str) -> Option<i64> {
        self.value_int(self.attr(attrs, name)?)
    }

    /// Returns a list of integers, boxed or not.
    pub fn attr_ints(&self, attrs: Option<AttrsId>, name: &str) -> Option<Vec<i64>> {
        match self.attr(attrs, name)? {
            AttrValue::Array(items) => items.iter().map(|v| self.value_int(v)).collect(),
            _ => None,
        }
    }

    /// Returns a string.
    pub fn attr_str(&self, attrs: Option<AttrsId>, name: &str) -> Option<&str> {
        match self.attr(attrs, name)? {
            AttrValue::Str(s) => Some(self.str(*s)),
            _ => None,
        }
    }

    /// Returns a number as a double, also one that is written with its type.
    pub fn attr_float(&self, attrs: Option<AttrsId>, name: &str) -> Option<f64> {
        self.number_of(self.attr(attrs, name)?)
    }

    /// Returns a list of numbers.
    pub fn attr_floats(&self, attrs: Option<AttrsId>, name: &str) -> Option<Vec<f64>> {
        match self.attr(attrs, name)? {
            AttrValue::Array(items) => items.iter().map(|item| self.number_of(item)).collect(),
            _ => None,
        }
    }

    /// Returns a number as a double, also one that is written with its type: `T.float32(0.5)`.
    pub fn number_of(&self, value: &AttrValue) -> Option<f64> {
        match value {
            AttrValue::Dim(Dim::Expr(prim)) => match *self.prim_of_id(*prim) {
                PrimExpr::Float { value, .. } => Some(value.0),
                PrimExpr::Int { value, .. } => Some(value as f64),
                _ => None,
            },
            value => value.as_float(),
        }
    }

    /// Returns an element type; `None` also where it is unset.
    pub fn attr_dtype(&self, attrs: Option<AttrsId>, name: &str) -> Option<DType> {
        match self.attr(attrs, name)? {
            AttrValue::DType(d) => *d,
            AttrValue::Str(s) => DType::parse(self.str(*s)),
            _ => None,
        }
    }

    /// Returns the integer in a value, boxed or not.
    pub fn value_int(&self, value: &AttrValue) -> Option<i64> {
        match value {
            AttrValue::Object(o) => self.object(*o).repr.as_ref()?.parse().ok(),
            AttrValue::Dim(d) => d.known(),
            other => other.as_int(),
        }
    }
}
