//! Members of values that a text asks for: `x.ty`, `x.ty.shape[0]`, `x.astype("float16")`.

use super::value::Value;
use super::{Node, Read, Reader};
use crate::ir::{Dim, Expr, Extents, Id, Type};
use crate::parse::script::tree::Arg;

impl<'s> Reader<'s, '_> {
    /// Reads the member of a variable, or of its type; `None` if this is no member.
    pub(super) fn member_of_value(&mut self, id: Id<Node>) -> Option<Read<Value>> {
        let Node::Attribute { value, name } = self.tree.expr(id) else { return None };
        let name = self.tree.text(name);
        if !["ty", "shape", "dtype"].contains(&name) || !self.begins_with_a_variable(value) {
            return None;
        }
        let base = match self.eval(value) {
            Ok(base) => base,
            Err(stop) => return Some(Err(stop)),
        };
        let ty = match (&base, name) {
            (Value::Type(ty), _) => Some(*ty),
            (Value::Expr(expr), "ty") => match self.store.expr(*expr) {
                Expr::Var(var) => self.store.var_type(var),
                Expr::TupleGetItem { tuple, index } => self.field_type(tuple, index),
                _ => None,
            },
            _ => return None,
        };
        let found = match (ty, name) {
            (Some(ty), "ty") => Some(Value::Type(ty)),
            (Some(ty), "dtype") => match self.store.type_of_id(ty) {
                Type::Prim(dtype) => Some(*dtype),
                _ => self.store.tensor_info(ty).and_then(|info| info.dtype),
            }
            .map(|dtype| Value::Str(self.store.name(&dtype.to_string()))),
            (Some(ty), _) => match self.store.tensor_info(ty).map(|info| info.extents) {
                Some(Extents::Known(dims)) => Some(Value::List(dims.iter().map(|dim| self.value_of_extent(*dim)).collect())),
                _ => None,
            },
            (None, _) => None,
        };
        Some(match found {
            Some(value) => Ok(value),
            None => {
                let message = format!("`{}` is not known while the text is read", self.text(id));
                Err(self.error_at("relax-syntax", message, id))
            }
        })
    }

    /// Reads `x.astype(dtype)`, the one method that expressions have; `None` if this is no such call.
    pub(super) fn method(&mut self, id: Id<Node>, callee: Id<Node>, args: &[Arg]) -> Option<Read<Value>> {
        let Node::Attribute { value, name } = self.tree.expr(callee) else { return None };
        if self.tree.text(name) != "astype" || !self.begins_with_a_variable(value) {
            return None;
        }
        let (span, place) = (self.span(id), self.span(value));
        Some(self.eval(value).and_then(|value| {
            let mut args = self.args(args, span)?;
            args.positional.insert(0, (value, place));
            self.call_op("astype", args)
        }))
    }

    fn begins_with_a_variable(&self, id: Id<Node>) -> bool {
        let mut at = id;
        loop {
            at = match self.tree.expr(at) {
                Node::Attribute { value, .. } | Node::Subscript { value, .. } => value,
                _ => return self.tree.name(at).is_some_and(|name| self.scopes.get(name).is_some()),
            };
        }
    }

    fn value_of_extent(&mut self, dim: Dim) -> Value {
        match dim {
            Dim::Int { value, bits: 64 } => Value::Int(value),
            dim => Value::Prim(self.store.prim_of_dim(dim)),
        }
    }
}
