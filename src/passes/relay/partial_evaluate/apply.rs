//! Calls: expanded, evaluated, or left in the new program.

use super::machine::{Evaluator, Frame, Next, Step};
use super::value::{Closure, Fuel, Known, PartialId, meet, natural};
use crate::diag::Diagnostic;
use crate::eval::{EvalOptions, Value, eval_expr, eval_operator};
use crate::ir::walk::post_order;
use crate::ir::{CallInfo, Expr, ExprId, Id, OpId, Store};
use crate::ops;

impl Evaluator<'_> {
    /// Applies a callee to arguments, all of which are evaluated.
    pub(super) fn apply(&mut self, id: ExprId, callee: PartialId, args: Vec<PartialId>, info: Option<Id<CallInfo>>) -> Step {
        Ok(match self.known(callee) {
            Some(Known::Function(closure)) => return self.expand(id, &closure, callee, args, info),
            Some(Known::Kernel(kernel)) => {
                let value = self.run(id, kernel, &args);
                match value.and_then(|value| self.push_value(id, &value)) {
                    Some(value) => Next::Give(value),
                    None => self.push_call(id, kernel, &args, info),
                }
            }
            Some(Known::Constructor(ctor)) => {
                let list = self.dynamics(&args);
                let made = self.push(Expr::Call { callee: self.dynamic(callee), args: list, info: None }, id);
                Next::Give(self.value(Some(Known::Data(ctor, args.into())), made))
            }
            Some(_) => return Err(self.fail(id, "what is called is no function")),
            None => {
                self.memory.invalidate();
                self.push_call(id, self.dynamic(callee), &args, info)
            }
        })
    }

    fn push_call(&mut self, id: ExprId, callee: ExprId, args: &[PartialId], info: Option<Id<CallInfo>>) -> Next {
        let args = self.dynamics(args);
        self.push_unknown(Expr::Call { callee, args, info }, id)
    }

    /// Expands a call of a known function to its body, if that makes progress; else leaves the call. (As in TVM, the
    /// known contents of references outlive a call that is not expanded.)
    fn expand(
        &mut self,
        id: ExprId,
        closure: &Closure,
        this: PartialId,
        args: Vec<PartialId>,
        info: Option<Id<CallInfo>>,
    ) -> Step {
        let (wanted, given) = (closure.function.params.len(), args.len());
        if wanted != given {
            return Err(self.fail(id, format!("a function of {wanted} parameters is called with {given} arguments")));
        }
        let literal = closure.literal;
        let Some(inside) = meet(self.fuel.get(&literal), self.fuel_of(&args)) else {
            return Ok(self.push_call(id, closure.callee, &args, info));
        };
        let before = self.fuel.insert(literal, inside);
        let type_args = info.map(|info| self.store.call_info(info).type_args.clone()).unwrap_or_default();
        let caller = self.enter(closure, this, args, &type_args);
        self.frames.push(Frame::Return(Box::new(caller), literal, before));
        Ok(Next::Eval(closure.function.body))
    }

    /// Returns the fuel of these arguments.
    pub(super) fn fuel_of(&self, args: &[PartialId]) -> Fuel {
        args.iter().map(|arg| (*arg, self.number(*arg))).collect()
    }

    fn number(&self, value: PartialId) -> u64 {
        match self.values[value.index()].known {
            Some(Known::Tensor(tensor)) => natural(self.store.tensor(tensor)),
            _ => 0,
        }
    }

    /// Evaluates an operator or a primitive function, if all its arguments are known and it gives the same result in every run.
    fn run(&mut self, id: ExprId, kernel: ExprId, args: &[PartialId]) -> Option<Value> {
        if is_stateful(self.store, kernel) {
            return None;
        }
        let mark = self.names;
        let arguments: Option<Vec<Value>> = args.iter().map(|arg| self.whole(*arg)).collect();
        let Some(arguments) = arguments else {
            self.names = mark;
            return None;
        };
        let result = match called(self.store, kernel) {
            Some(op) => eval_operator(self.store, self.module, id, op, arguments),
            None => eval_expr(self.store, self.module, kernel, &arguments, EvalOptions::default()),
        };
        match result {
            Ok(value) => {
                // TVM's interpreter names the call and, where it makes one of an operator, the primitive function.
                self.names += match called(self.store, kernel) {
                    Some(op) if ops::info(op).non_computational => 1,
                    _ => 2,
                };
                Some(value)
            }
            Err(failure) => {
                self.names = mark;
                let name = called(self.store, kernel).map_or("a primitive function", |op| ops::info(op).name);
                if self.warned.insert(name) {
                    let text = format!("a call of `{name}` on constants was not evaluated: {}", failure.message);
                    self.warnings.push(Diagnostic::warning("relay-not-folded", text, self.store.source_span(id)));
                }
                None
            }
        }
    }

    /// Returns the value, if all of it is known: tensors and tuples of them. TVM's interpreter takes a name for each.
    fn whole(&mut self, value: PartialId) -> Option<Value> {
        enum Visit {
            Value(PartialId),
            Tuple(usize),
        }
        let mut left = vec![Visit::Value(value)];
        let mut done: Vec<Value> = Vec::new();
        while let Some(visit) = left.pop() {
            match visit {
                Visit::Tuple(count) => {
                    let fields = done.split_off(done.len() - count);
                    done.push(Value::tuple(fields));
                    self.names += 1;
                }
                Visit::Value(value) => match self.known(value) {
                    Some(Known::Tensor(tensor)) => {
                        done.push(Value::Tensor(self.store.tensor(tensor).clone()));
                        self.names += 1;
                    }
                    Some(Known::Tuple(fields)) => {
                        left.push(Visit::Tuple(fields.len()));
                        left.extend(fields.iter().rev().map(|field| Visit::Value(*field)));
                    }
                    _ => return None,
                },
            }
        }
        done.pop()
    }

    /// Binds the tensors and tuples of a value, each by itself. Returns `None` and binds nothing for any other value.
    fn push_value(&mut self, id: ExprId, value: &Value) -> Option<PartialId> {
        enum Visit<'v> {
            Value(&'v Value),
            Tuple(usize),
        }
        let (names, scope) = (self.names, self.lets.len());
        let mut left = vec![Visit::Value(value)];
        let mut done: Vec<PartialId> = Vec::new();
        while let Some(visit) = left.pop() {
            match visit {
                Visit::Tuple(count) => {
                    let fields = done.split_off(done.len() - count);
                    let list = self.dynamics(&fields);
                    let made = self.push(Expr::Tuple(list), id);
                    done.push(self.value(Some(Known::Tuple(fields.into())), made));
                }
                Visit::Value(Value::Tensor(tensor)) => {
                    let tensor = self.store.add_tensor(tensor.clone());
                    let made = self.push(Expr::Constant(tensor), id);
                    done.push(self.value(Some(Known::Tensor(tensor)), made));
                }
                Visit::Value(Value::Tuple(fields)) => {
                    left.push(Visit::Tuple(fields.items().len()));
                    left.extend(fields.items().iter().rev().map(Visit::Value));
                }
                Visit::Value(_) => {
                    self.names = names;
                    self.lets.truncate(scope);
                    return None;
                }
            }
        }
        done.pop()
    }
}

fn called(store: &Store, kernel: ExprId) -> Option<OpId> {
    match store.expr(kernel) {
        Expr::Op(op) => Some(op),
        _ => None,
    }
}

/// True if the kernel calls an operator with side effects or a state.
fn is_stateful(store: &Store, kernel: ExprId) -> bool {
    let is = |op: OpId| ops::info(op).stateful;
    match called(store, kernel) {
        Some(op) => is(op),
        None => post_order(store, kernel).into_iter().filter_map(|id| called(store, id)).any(is),
    }
}
