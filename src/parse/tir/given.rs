//! Reads the values of names around a function, as the options give them.

use super::Reader;
use super::value::Value;
use crate::ir::{AttrValue, Expr, PrimExpr};

impl Reader<'_, '_, '_> {
    /// Gives the names their values, in a scope outside of the function's.
    pub(super) fn define_given(&mut self) {
        for (name, value) in self.around.given {
            if let Some(value) = self.of_attr(value) {
                self.give(name, value);
            }
        }
        self.open_scope();
    }

    fn of_attr(&mut self, value: &AttrValue) -> Option<Value> {
        Some(match value {
            AttrValue::Null => Value::None,
            AttrValue::Bool(on) => Value::Bool(*on),
            AttrValue::Int { value, .. } => Value::Int(*value),
            AttrValue::Float(number) => Value::Float(number.0),
            AttrValue::Str(text) => Value::Str(self.store.str(*text).into()),
            AttrValue::DType(dtype) => Value::Str(dtype.map_or(String::new(), |dtype| dtype.to_string()).into()),
            AttrValue::Array(items) => Value::List(items.iter().filter_map(|item| self.of_attr(item)).collect()),
            AttrValue::Map(items) => {
                let entries = items.iter().filter_map(|(name, item)| {
                    let key = Value::Str(self.store.str(*name).into());
                    Some((key, self.of_attr(item)?))
                });
                Value::Dict(entries.collect())
            }
            AttrValue::Dim(dim) => Value::Prim(self.store.prim_of_dim(*dim)),
            AttrValue::Global(name) => Value::Function(*name),
            AttrValue::Expr(id) => match self.store.expr(*id) {
                Expr::Prim(prim) => match *self.store.prim_of_id(prim) {
                    PrimExpr::Buffer(buffer) => Value::Buffer(buffer),
                    _ => Value::Prim(prim),
                },
                Expr::Var(var) => {
                    let symbol = self.store.var_data(var).symbol?;
                    Value::Prim(self.store.prim(PrimExpr::Var(symbol)))
                }
                _ => return None,
            },
            AttrValue::Type(ty) => match *self.store.type_of_id(*ty) {
                crate::ir::Type::Prim(dtype) => Value::Type(dtype),
                _ => return None,
            },
            AttrValue::Object(_) => Value::Object(value.clone()),
        })
    }
}
