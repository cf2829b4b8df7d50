//! Expressions over iterators, node by node.

use super::{Reason, Rewriter, Split, Sum, Value};
use crate::ir::{DType, PrimExpr, PrimId, PrimOp};
use crate::tir::arith::DEEPEST;
use crate::tir::build::{binary, fold, is_index};

const INDIRECT: &str = "IterMapExpr or subclasses should only result from qualified parent mutation in IterMapRewriter.  \
                        Indirect return occurred in {}";
const PRODUCT: &str = "Product of two iterators cannot be represented as an IterMap, occurs in {}";
const DIVISOR: &str = "Cannot represent as an IterMap: the divisor in {} may not be an iterator";
const MODULUS: &str = "Cannot represent as an IterMap: the right-hand side of FloorMod in {} may not be an iterator";

impl Rewriter<'_> {
    /// Returns an index as one iterator with a base.
    pub(super) fn rewrite(&mut self, index: PrimId) -> Sum {
        let value = self.value(index);
        let sum = self.as_sum(value);
        if sum.args.is_empty() {
            return sum;
        }
        match self.fuse(&sum, self.level, true) {
            Some(fused) => fused,
            None => {
                self.fail("Could not normalize iterators");
                sum
            }
        }
    }

    pub(super) fn as_sum(&mut self, value: Value) -> Sum {
        match value {
            Value::Sum(sum) => sum,
            Value::Prim(prim) => Sum::of_base(prim),
            Value::Split(split) => {
                let base = self.store.prim_int(0, self.store.prim_dtype(split.scale));
                Sum { args: vec![split], base }
            }
        }
    }

    /// Rewrites an expression as a sum of digits. Any other expression stays as it is, and an error says why.
    pub(super) fn value(&mut self, id: PrimId) -> Value {
        if self.store.prim_depth(id) > DEEPEST {
            self.fail("The expression is too deep");
            return Value::Prim(id);
        }
        match *self.store.prim_rc(id) {
            PrimExpr::Var(symbol) => self.vars.get(&symbol).cloned().unwrap_or(Value::Prim(id)),
            PrimExpr::Binary { op, a, b } if is_known(op) && is_index(self.store.prim_dtype(id)) => {
                let (left, right) = (self.value(a), self.value(b));
                self.operation(op, left, right, id)
            }
            ref node => {
                let new = node.over(&mut |child| match self.value(child) {
                    Value::Prim(prim) => prim,
                    _ => {
                        self.errors.push(Reason::about(INDIRECT, &[child]));
                        child
                    }
                });
                Value::Prim(self.store.prim(new))
            }
        }
    }

    fn operation(&mut self, op: PrimOp, a: Value, b: Value, id: PrimId) -> Value {
        let is = |value: &Value, number: i64| matches!(value, Value::Prim(prim) if self.is(*prim, number));
        if let (Value::Prim(x), Value::Prim(y)) = (&a, &b) {
            if fold(self.store, op, *x, *y).is_some() {
                return Value::Prim(binary(self.store, op, *x, *y));
            }
            return Value::Prim(self.store.prim_binary(op, *x, *y));
        }
        match op {
            PrimOp::Add if is(&a, 0) => b,
            PrimOp::Add | PrimOp::Sub if is(&b, 0) => a,
            PrimOp::Mul if is(&a, 1) || is(&b, 0) => b,
            PrimOp::Mul if is(&b, 1) || is(&a, 0) => a,
            PrimOp::FloorDiv if is(&a, 0) || is(&b, 1) => a,
            PrimOp::FloorMod if is(&a, 0) => a,
            PrimOp::FloorMod if is(&b, 1) => Value::Prim(self.store.prim_int(0, DType::I32)),
            PrimOp::Add | PrimOp::Sub => {
                let mut sum = self.as_sum(a);
                match b {
                    Value::Prim(b) => sum.base = binary(self.store, op, sum.base, b),
                    b => {
                        let other = self.as_sum(b);
                        for split in other.args {
                            self.add_split(&mut sum, split, op);
                        }
                        sum.base = binary(self.store, op, sum.base, other.base);
                    }
                }
                Value::Sum(sum)
            }
            PrimOp::Mul => {
                let (value, factor) = match (a, b) {
                    (Value::Prim(factor), value) | (value, Value::Prim(factor)) => (value, factor),
                    _ => {
                        self.errors.push(Reason::about(PRODUCT, &[id]));
                        return Value::Prim(id);
                    }
                };
                match value {
                    Value::Split(split) => {
                        let scale = self.mul(split.scale, factor);
                        Value::Split(Split { scale, ..split })
                    }
                    value => {
                        let mut sum = self.as_sum(value);
                        for split in &mut sum.args {
                            split.scale = binary(self.store, PrimOp::Mul, split.scale, factor);
                        }
                        sum.base = self.mul(sum.base, factor);
                        Value::Sum(sum)
                    }
                }
            }
            _ => {
                let Value::Prim(divisor) = b else {
                    let text = if op == PrimOp::FloorDiv { DIVISOR } else { MODULUS };
                    self.errors.push(Reason::about(text, &[id]));
                    return Value::Prim(id);
                };
                let mut sum = self.as_sum(a);
                if sum.args.len() > 1 {
                    let Some(fused) = self.fuse(&sum, self.level, true) else {
                        let PrimExpr::Binary { a: dividend, .. } = *self.store.prim_of_id(id) else {
                            return Value::Prim(id);
                        };
                        self.errors.push(Reason::about("Dividend  {}, can't be written as a single fused IterSum", &[dividend]));
                        return Value::Prim(id);
                    };
                    sum = fused;
                }
                let Some(split) = sum.args.pop() else { return Value::Prim(id) };
                let result = match op {
                    PrimOp::FloorDiv => self.quotient(split, sum.base, divisor),
                    _ => self.remainder(split, sum.base, divisor),
                };
                result.unwrap_or(Value::Prim(id))
            }
        }
    }

    /// Adds a digit to a sum, or takes it away.
    fn add_split(&mut self, sum: &mut Sum, split: Split, op: PrimOp) {
        if let Some(same) = sum.args.iter_mut().find(|other| other.same_digit(&split)) {
            same.scale = binary(self.store, op, same.scale, split.scale);
            return;
        }
        let scale = match op {
            PrimOp::Sub => {
                let zero = self.store.prim_int(0, self.store.prim_dtype(split.scale));
                binary(self.store, PrimOp::Sub, zero, split.scale)
            }
            _ => split.scale,
        };
        sum.args.push(Split { scale, ..split });
    }
}

fn is_known(op: PrimOp) -> bool {
    matches!(op, PrimOp::Add | PrimOp::Sub | PrimOp::Mul | PrimOp::FloorDiv | PrimOp::FloorMod)
}
