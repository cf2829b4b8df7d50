//! Tuples, projections and calls that wait for the values of their parts: the same in both machines.

use super::value::Value;
use crate::ir::{Expr, ExprId, Store};

/// A tuple, a projection or a call, and the values of its fields or arguments as far as they are known.
pub(super) struct Parts {
    of: ExprId,
    done: Vec<Value>,
}

/// The next step after the value of a part.
pub(super) enum Taken {
    /// The next part to evaluate.
    Next(Parts, ExprId),
    /// The value of the whole.
    Value(Value),
    /// A call with the values of all arguments.
    Call(ExprId, Vec<Value>),
}

impl Parts {
    /// Returns an expression that has parts, and the first of them.
    pub fn of(store: &Store, id: ExprId) -> Option<(Parts, ExprId)> {
        let (parts, first) = match store.expr(id) {
            Expr::Tuple(parts) | Expr::Call { args: parts, .. } if !parts.is_empty() => (parts.len(), store.item(parts, 0)),
            Expr::TupleGetItem { tuple, .. } => (0, tuple),
            _ => return None,
        };
        Some((Parts { of: id, done: Vec::with_capacity(parts) }, first))
    }

    /// Adds the value of the next part. `Err` has the projection, and why there is no such field.
    pub fn take(mut self, store: &Store, value: Value) -> Result<Taken, (ExprId, String)> {
        let expr = store.expr(self.of);
        if let Expr::TupleGetItem { index, .. } = expr {
            return value.field(index).map(Taken::Value).map_err(|why| (self.of, why));
        }
        self.done.push(value);
        Ok(match expr {
            Expr::Tuple(parts) | Expr::Call { args: parts, .. } if self.done.len() < parts.len() => {
                let next = store.item(parts, self.done.len());
                Taken::Next(self, next)
            }
            Expr::Tuple(_) => Taken::Value(Value::tuple(self.done)),
            _ => Taken::Call(self.of, self.done),
        })
    }
}
