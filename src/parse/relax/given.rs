//! Reads the values of names around a text, as the options give them, and lone values.

use super::scope::Meaning;
use super::value::{CallParts, Value};
use super::{Read, Reader, Stop};
use crate::diag::Span;
use crate::ir::{AttrValue, Expr, ExprId};
use crate::parse::script::tree::StmtKind;

impl Reader<'_, '_> {
    /// Gives the names their values.
    pub(super) fn define_given(&mut self) {
        for (name, value) in self.given {
            let value = self.of_attr(value);
            self.scopes.define(name, Meaning::Value(value));
        }
    }

    fn of_attr(&mut self, value: &AttrValue) -> Value {
        match value {
            AttrValue::Null => Value::None,
            AttrValue::Bool(on) => Value::Bool(*on),
            AttrValue::Int { value, .. } => Value::Int(*value),
            AttrValue::Float(number) => Value::Float(number.0),
            AttrValue::Str(text) => Value::Str(*text),
            AttrValue::DType(dtype) => {
                let text = dtype.map_or(String::new(), |dtype| dtype.to_string());
                Value::Str(self.store.name(&text))
            }
            AttrValue::Array(items) => Value::List(items.iter().map(|item| self.of_attr(item)).collect()),
            AttrValue::Map(items) => {
                Value::Dict(items.iter().map(|(name, item)| (Value::Str(*name), self.of_attr(item))).collect())
            }
            AttrValue::Dim(dim) => Value::Prim(self.store.prim_of_dim(*dim)),
            AttrValue::Global(name) => Value::Expr(self.store.add(Expr::Global(*name))),
            AttrValue::Expr(id) => Value::Expr(self.with_type(*id)),
            AttrValue::Type(ty) => Value::Type(*ty),
            AttrValue::Object(_) => Value::Attr(value.clone()),
        }
    }

    /// A constant with the type that its data have.
    fn with_type(&mut self, id: ExprId) -> ExprId {
        match self.store.expr(id) {
            Expr::Constant(tensor) if self.store.checked_type(id).is_none() => {
                let tensor = self.store.tensor(tensor).clone();
                self.typed_constant(tensor)
            }
            _ => id,
        }
    }

    /// Reads the value of `_ = value`.
    pub(super) fn lone_value(&mut self) -> Read<AttrValue> {
        self.scopes.open();
        self.define_given();
        self.in_signature = true;
        let tree = self.tree;
        let [stmt] = tree.stmts(tree.top) else { return Err(Stop) };
        let StmtKind::Assign { value, .. } = stmt.kind else { return Err(Stop) };
        let read = self.eval(value)?;
        match read {
            Value::Type(ty) => Ok(AttrValue::Type(ty)),
            read => Ok(AttrValue::Expr(self.nested(read, stmt.span)?)),
        }
    }

    /// Makes the node of a value, whose operands stand in it rather than in bindings.
    fn nested(&mut self, value: Value, span: Span) -> Read<ExprId> {
        let value = self.argument(value, span)?;
        Ok(match value {
            Value::Expr(id) => id,
            Value::Call(call) => {
                let CallParts { callee, args, attrs, ty_args, ty, .. } = *call;
                let args: Read<Vec<ExprId>> = args.into_iter().map(|arg| self.nested(arg, span)).collect();
                let args = self.store.list(&args?);
                let info = self.store.add_call_info(attrs, &ty_args);
                self.store.add_typed(Expr::Call { callee, args, info }, ty)
            }
            Value::Item(tuple, index) => {
                let tuple = self.nested(*tuple, span)?;
                self.store.add(Expr::TupleGetItem { tuple, index })
            }
            Value::Tuple(items) => {
                let fields: Read<Vec<ExprId>> = items.into_iter().map(|item| self.nested(item.among_others(), span)).collect();
                let fields = fields?;
                let types: Option<Vec<_>> = fields.iter().map(|field| self.store.checked_type(*field)).collect();
                let ty = types.map(|types| self.store.tuple_type(&types));
                let fields = self.store.list(&fields);
                self.store.add_typed(Expr::Tuple(fields), ty)
            }
            _ => return Err(self.error("relax-syntax", "this is no value of the program", span)),
        })
    }
}
