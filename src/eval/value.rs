//! Values of expressions.

use crate::ir::{CtorId, DType, Dim, Expr, ExprId, Extents, Id, Name, OpId, Store, Symbol, Tensor, Type, VarId};
use crate::ops::kernel::read_scalar;
use std::rc::Rc;

/// A value. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Value {
    /// A tensor.
    Tensor(Tensor),
    /// `(a, b)`
    Tuple(Rc<Fields>),
    /// A constructor of an algebraic data type with its fields.
    Ctor(CtorId, Rc<Fields>),
    /// A function with the values of the variables it takes from around it.
    Closure(Rc<Closure>),
    /// An operator as a value of its own.
    Op(OpId),
    /// A mutable cell; in Relax, memory that tensor programs write into.
    Ref(Rc<RefCell>),
    /// A shape (Relax).
    Shape(Rc<[i64]>),
    /// A scalar that is no tensor (Relax), as a tensor of rank 0.
    Prim(Tensor),
    /// A string, an element type, or the name of a linked function (Relax).
    Word(Id<Name>),
}

/// The parts of a value. Values can nest a hundred thousand deep (a list is a chain of
/// constructors), so they are taken apart in a loop when they are dropped.
#[derive(Debug, Default)]
pub struct Fields {
    items: Vec<Value>,
}

/// A mutable cell.
#[derive(Debug)]
pub struct RefCell {
    value: std::cell::RefCell<Value>,
}

/// A function value.
#[derive(Debug)]
pub struct Closure {
    /// The function.
    pub function: ExprId,
    /// The variable that a `let` gives it, by which it calls itself.
    pub name: Option<VarId>,
    /// The variables and nodes of the values in `captured`.
    pub(super) slots: Rc<[Slot]>,
    /// Values from around the function.
    pub(super) captured: Fields,
}

/// A variable or node that a closure captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A variable.
    Var(VarId),
    /// A node that is used outside of the function too and was evaluated there already.
    Node(ExprId),
    /// A symbolic extent (Relax).
    Symbol(Id<Symbol>),
}

impl Fields {
    /// Returns the fields.
    pub fn items(&self) -> &[Value] {
        &self.items
    }
}

impl From<Vec<Value>> for Fields {
    fn from(items: Vec<Value>) -> Fields {
        Fields { items }
    }
}

impl Drop for Fields {
    fn drop(&mut self) {
        let mut left = std::mem::take(&mut self.items);
        while let Some(value) = left.pop() {
            match value {
                Value::Tensor(_) | Value::Op(_) | Value::Shape(_) | Value::Prim(_) | Value::Word(_) => {}
                Value::Tuple(fields) | Value::Ctor(_, fields) => {
                    if let Some(mut fields) = Rc::into_inner(fields) {
                        left.append(&mut fields.items);
                    }
                }
                Value::Closure(closure) => {
                    if let Some(mut closure) = Rc::into_inner(closure) {
                        left.append(&mut closure.captured.items);
                    }
                }
                Value::Ref(cell) => {
                    if let Some(cell) = Rc::into_inner(cell) {
                        left.push(cell.set(Value::unit()));
                    }
                }
            }
        }
    }
}

impl RefCell {
    /// Makes a cell that holds `value`.
    pub fn new(value: Value) -> RefCell {
        RefCell { value: std::cell::RefCell::new(value) }
    }

    /// Returns the content of the cell.
    pub fn get(&self) -> Value {
        self.value.borrow().clone()
    }

    /// Replaces the content and returns the old one.
    pub fn set(&self, value: Value) -> Value {
        self.value.replace(value)
    }
}

impl Drop for RefCell {
    fn drop(&mut self) {
        // Dropping the content as fields does not recurse.
        drop(Fields::from(vec![self.value.replace(Value::Op(OpId(0)))]));
    }
}

impl Value {
    /// Returns a field of a tuple; otherwise the error says what it is.
    pub(super) fn field(&self, index: u32) -> Result<Value, String> {
        match self {
            Value::Tuple(fields) if (index as usize) < fields.items().len() => Ok(fields.items()[index as usize].clone()),
            other => Err(format!("{} has no field {index}", other.kind())),
        }
    }

    /// Makes `()`.
    pub fn unit() -> Value {
        Value::tuple(Vec::new())
    }

    /// Makes `(a, b)`.
    pub fn tuple(items: Vec<Value>) -> Value {
        Value::Tuple(Rc::new(items.into()))
    }

    /// Makes a 64 bit integer that is no tensor.
    pub fn int(value: i64) -> Value {
        Value::Prim(Tensor::new(DType::I64, [], value.to_le_bytes()))
    }

    /// Returns the tensor, if the value is one.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match self {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// Returns the kind of the value, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Tensor(_) => "a tensor",
            Value::Tuple(_) => "a tuple",
            Value::Ctor(..) => "a value of an algebraic data type",
            Value::Closure(_) => "a function",
            Value::Op(_) => "an operator",
            Value::Ref(_) => "a reference",
            Value::Shape(_) => "a shape",
            Value::Prim(_) => "a scalar",
            Value::Word(_) => "a string",
        }
    }
}

/// Makes an expression that evaluates to the value: constants, tuples, constructor calls,
/// operators, and functions that capture nothing. `None` for values without such an expression.
pub fn value_to_expr(store: &mut Store, value: &Value) -> Option<ExprId> {
    enum Step<'v> {
        Build(&'v Value),
        Tuple(usize),
        Ctor(CtorId, usize),
    }
    let mut steps = vec![Step::Build(value)];
    let mut done: Vec<ExprId> = Vec::new();
    while let Some(step) = steps.pop() {
        match step {
            Step::Build(Value::Tensor(tensor)) => done.push(store.add_constant(tensor.clone())),
            Step::Build(Value::Op(op)) => done.push(store.add(Expr::Op(*op))),
            Step::Build(Value::Tuple(fields)) => {
                steps.push(Step::Tuple(fields.items.len()));
                steps.extend(fields.items.iter().rev().map(Step::Build));
            }
            Step::Build(Value::Ctor(ctor, fields)) => {
                steps.push(Step::Ctor(*ctor, fields.items.len()));
                steps.extend(fields.items.iter().rev().map(Step::Build));
            }
            Step::Build(Value::Closure(closure)) if closure.captured.items.is_empty() && closure.name.is_none() => {
                done.push(closure.function);
            }
            Step::Build(Value::Prim(scalar)) => {
                let prim = if scalar.dtype.is_float() {
                    store.prim_float(read_scalar(scalar).ok()?, scalar.dtype)
                } else {
                    store.prim_int(read_scalar(scalar).ok()?, scalar.dtype)
                };
                let ty = store.ty(Type::Prim(scalar.dtype));
                done.push(store.add_typed(Expr::Prim(prim), Some(ty)));
            }
            Step::Build(Value::Shape(extents)) => {
                let dims: Vec<Dim> = extents.iter().map(|value| Dim::Int { value: *value, bits: 64 }).collect();
                let ty = store.ty(Type::Shape(Extents::Known(dims.as_slice().into())));
                let dims = store.dims(&dims);
                done.push(store.add_typed(Expr::Shape(dims), Some(ty)));
            }
            Step::Build(_) => return None,
            Step::Tuple(count) => {
                let fields = done.split_off(done.len() - count);
                done.push(store.add_tuple(&fields));
            }
            Step::Ctor(ctor, count) => {
                let fields = done.split_off(done.len() - count);
                let callee = store.add(Expr::Ctor(ctor));
                done.push(store.add_call(callee, &fields, None));
            }
        }
    }
    done.pop()
}
