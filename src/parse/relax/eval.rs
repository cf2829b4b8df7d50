//! Expressions to values, as Python would compute them. Expressions nest as deep as the syntax lets them, so this may
//! recurse, except along the left side of operators.

use super::scope::Meaning;
use super::value::Value;
use super::{Node, Read, Reader};
use crate::diag::Span;
use crate::ir::{DType, Dim, Double, Expr, ExprId, Id, PrimExpr, PrimId, PrimOp, Symbol};
use crate::ops::dim_arith;
use crate::parse::script::tree::{Binary, Unary};
use crate::parse::suggest::nearest;

impl<'s> Reader<'s, '_> {
    /// Evaluates an expression.
    pub(super) fn eval(&mut self, id: Id<Node>) -> Read<Value> {
        let tree = self.tree;
        Ok(match tree.expr(id) {
            Node::Name => return self.name(id),
            Node::Int => match tree.int(id).and_then(|value| i64::try_from(value).ok()) {
                Some(value) => Value::Int(value),
                None => return Err(self.error_at("relax-number", "this number does not fit 64 bits", id)),
            },
            Node::Float => Value::Float(tree.float(id).unwrap_or(f64::NAN)),
            Node::Str => Value::Str(self.store.name(&tree.string(id).unwrap_or_default())),
            Node::True => Value::Bool(true),
            Node::False => Value::Bool(false),
            Node::None | Node::Ellipsis => Value::None,
            Node::Tuple(items) => Value::Tuple(self.eval_all(tree.items(items))?),
            Node::List(items) => Value::List(self.eval_all(tree.items(items))?),
            Node::Dict(items) => {
                let mut entries = Vec::new();
                for pair in tree.items(items).chunks_exact(2) {
                    entries.push((self.eval(pair[0])?, self.eval(pair[1])?));
                }
                Value::Dict(entries)
            }
            Node::Attribute { .. } => return self.attribute(id),
            Node::Call { callee, args } => return self.eval_call(id, callee, args),
            Node::Subscript { value, items } => return self.subscript(id, value, tree.items(items)),
            // The smallest number has no positive counterpart.
            Node::Unary { .. } if tree.int(id) == Some(i128::from(i64::MIN)) => Value::Int(i64::MIN),
            Node::Unary { op, value } => {
                let operand = self.eval(value)?;
                return self.unary(op, operand, id);
            }
            Node::Binary { .. } => return self.binary(id),
            // An index map may be given as the lambda itself.
            Node::Lambda { .. } => return self.index_map(id, Some(id)),
            Node::If { cond, then, other } if let Some(cond) = tree.bool(cond) => {
                return self.eval(if cond { then } else { other });
            }
            Node::If { .. } | Node::Slice { .. } | Node::Starred(_) => {
                return Err(self.error_at("relax-syntax", format!("`{}` means nothing here", self.text(id)), id));
            }
        })
    }

    /// True if a name is that of a type, as texts of 2022 write it without `R.`.
    pub(super) fn is_bare(&self, name: &str) -> bool {
        BARE.contains(&name) && self.scopes.get(name).is_none()
    }

    pub(super) fn bare_hint(&mut self, id: Id<Node>) {
        let span = self.span(id);
        self.hint("types are written with `R.` today: `R.Tensor((2, 3), \"float32\")`", span);
    }

    pub(super) fn eval_all(&mut self, ids: &[Id<Node>]) -> Read<Vec<Value>> {
        ids.iter().map(|id| self.eval(*id)).collect()
    }

    fn name(&mut self, id: Id<Node>) -> Read<Value> {
        let name = self.tree.text(self.tree.span(id));
        match self.scopes.get(name).cloned() {
            Some(Meaning::Var(var)) => return Ok(Value::Expr(self.store.use_var(var))),
            Some(Meaning::Symbol(symbol)) => return Ok(Value::Prim(self.store.prim(PrimExpr::Var(symbol)))),
            Some(Meaning::Value(value)) => return Ok(value),
            None => {}
        }
        if self.module_names.contains(name) {
            return Ok(Value::Module);
        }
        // Functions that stand without their class name it.
        let span = self.tree.span(id);
        let before = self.tree.source.get(..span.start as usize);
        if name.starts_with(char::is_uppercase) && before.is_some_and(|before| before.ends_with("cls = ")) {
            return Ok(Value::Module);
        }
        if self.globals.contains(name) {
            let span = self.span(id);
            self.refused(format!("Undefined variable: {name}. A function of the module is called through its class"), span);
            let name = self.store.name(name);
            return Ok(Value::Expr(self.store.add(Expr::Global(name))));
        }
        if BARE.contains(&name)
            && let Some(value) = self.dotted_type(&format!("R.{name}"))
        {
            self.bare_hint(id);
            return Ok(value);
        }
        let message = format!("`{name}` is not defined");
        let near = nearest(name, self.scopes.names()).map(str::to_owned);
        let stop = self.error_at("relax-unbound-var", message, id);
        if let (Some(near), Some(last)) = (near, self.diagnostics.last_mut()) {
            last.notes.push(format!("did you mean `{near}`?"));
        }
        Err(stop)
    }

    /// Reads `Module.f`, or a name with dots that is a value without being called: `R.Tensor`, `T.int64`.
    fn attribute(&mut self, id: Id<Node>) -> Read<Value> {
        if let Some(dotted) = self.tree.dotted(id)
            && let Some(value) = self.dotted_type(dotted)
        {
            return Ok(value);
        }
        let Node::Attribute { value, name } = self.tree.expr(id) else { return Err(super::Stop) };
        if self.tree.name(value).is_some_and(|name| self.module_names.contains(name)) {
            let text = self.tree.text(name);
            if !self.globals.contains(text) {
                let near = nearest(text, self.globals.iter().copied()).map(str::to_owned);
                let stop = self.error_at("relax-unbound-global", format!("the module has no function `{text}`"), id);
                if let (Some(near), Some(last)) = (near, self.diagnostics.last_mut()) {
                    last.notes.push(format!("did you mean `{near}`?"));
                }
                return Err(stop);
            }
            let name = self.store.name(text);
            return Ok(Value::Expr(self.store.add(Expr::Global(name))));
        }
        if let Some(member) = self.member_of_value(id) {
            return member;
        }
        let stop = self.error_at("relax-syntax", format!("`{}` means nothing here", self.text(id)), id);
        if self.tree.text(name) == "struct_info"
            && let Some(last) = self.diagnostics.last_mut()
        {
            last.notes.push("what was called `struct_info` is `ty` today".to_owned());
        }
        if self.tree.name(value) == Some("cls")
            && let Some(last) = self.diagnostics.last_mut()
        {
            last.notes.push("a function that uses `cls` says first what it is: `cls = Module`, the name of the class".to_owned());
        }
        Err(stop)
    }

    /// Reads `t[0]`, `metadata["ir.GenericConst"][0]`, and the types of 2022: `R.Tensor[(n, m), "f32"]`.
    fn subscript(&mut self, id: Id<Node>, value: Id<Node>, items: &[Id<Node>]) -> Read<Value> {
        if let Node::Subscript { value: table, items: keys } = self.tree.expr(value)
            && self.tree.name(table) == Some("metadata")
        {
            let key = self.tree.items(keys).first().and_then(|key| self.tree.string(*key)).unwrap_or_default();
            let index = items.first().and_then(|index| self.tree.int(*index)).and_then(|index| usize::try_from(index).ok());
            return self.metadata(&key, index, id);
        }
        let old_type = |name: &str| name.ends_with(".Tensor") || name.ends_with(".Tuple") || self.is_bare(name);
        if self.tree.dotted(value).is_some_and(old_type) {
            return Ok(Value::Type(self.ty(id)?));
        }
        let base = self.eval(value)?;
        let [index] = items else {
            return Err(self.error_at("relax-syntax", "one index is expected here", id));
        };
        let Some(index) = self.tree.int(*index) else {
            return Err(self.error_at("relax-syntax", "the index of a tuple is a number", *index));
        };
        let Ok(index) = u32::try_from(index) else {
            return Err(self.error_at("relax-tuple-index", "the index of a tuple is not negative", id));
        };
        match base {
            Value::Expr(_) | Value::Call(_) | Value::Item(..) => Ok(Value::Item(Box::new(base), index)),
            // TVM folds this to the field; text that was printed from `(a, b)[0]` means the projection.
            Value::Tuple(ref items) if (index as usize) < items.len() => Ok(Value::Item(Box::new(base), index)),
            Value::List(items) if (index as usize) < items.len() => Ok(items[index as usize].clone()),
            other => Err(self.error_at("relax-tuple-index", format!("{} has no element {index}", other.describe()), id)),
        }
    }

    fn unary(&mut self, op: Unary, operand: Value, id: Id<Node>) -> Read<Value> {
        match (op, operand) {
            (Unary::Neg, Value::Int(value)) => Ok(Value::Int(-value)),
            (Unary::Neg, Value::Float(value)) => Ok(Value::Float(-value)),
            (Unary::Neg, Value::Prim(prim)) => {
                let minus_one = Dim::Int { value: -1, bits: self.store.prim_dtype(prim).bits };
                let dim = self.store.dim_of_prim(prim);
                let negative = dim_arith(self.store, PrimOp::Mul, dim, minus_one);
                Ok(Value::Prim(self.store.prim_of_dim(negative)))
            }
            (Unary::Neg, Value::Expr(expr)) if let Some(symbol) = self.symbol_of(expr) => {
                let prim = self.store.prim(PrimExpr::Var(symbol));
                self.unary(op, Value::Prim(prim), id)
            }
            (Unary::Pos, value) => Ok(value),
            (Unary::Not, Value::Bool(value)) => Ok(Value::Bool(!value)),
            (Unary::Not, Value::Prim(prim)) => Ok(Value::Prim(self.store.prim(PrimExpr::Not(prim)))),
            (Unary::Neg, value @ (Value::Expr(_) | Value::Call(_) | Value::Item(..))) => {
                self.op_call("negative", vec![value], id)
            }
            (_, value) => Err(self.error_at("relax-syntax", format!("no operator takes {} here", value.describe()), id)),
        }
    }

    /// Reads a chain of operators, from the left.
    fn binary(&mut self, id: Id<Node>) -> Read<Value> {
        let mut chain = Vec::new();
        let mut at = id;
        while let Node::Binary { op, left, right } = self.tree.expr(at) {
            chain.push((op, right, at));
            at = left;
        }
        let mut value = self.eval(at)?;
        while let Some((op, right, at)) = chain.pop() {
            let right = self.eval(right)?;
            value = self.operate(op, value, right, at)?;
        }
        Ok(value)
    }

    fn operate(&mut self, op: Binary, left: Value, right: Value, id: Id<Node>) -> Read<Value> {
        let is_tensor = |value: &Value| matches!(value, Value::Expr(_) | Value::Call(_) | Value::Item(..));
        if let (Some(a), Some(b)) = (self.as_prim(&left), self.as_prim(&right)) {
            return match (op.prim_op(), a, b) {
                (Some(op), Operand::Float(a), Operand::Float(b)) => self.fold_floats(op, a, b, id),
                (Some(op), Operand::Float(a), Operand::Int(b)) => self.fold_floats(op, a, b as f64, id),
                (Some(op), Operand::Int(a), Operand::Float(b)) => self.fold_floats(op, a as f64, b, id),
                (Some(op), a, b) => {
                    if op == PrimOp::Div && matches!((&a, &b), (Operand::Int(_), Operand::Int(_))) {
                        return Err(self.error_at("relax-syntax", "an extent is a whole number: use `//`", id));
                    }
                    let (a, b) = self.promote(a, b);
                    let (a, b) = (self.store.dim_of_prim(a), self.store.dim_of_prim(b));
                    if op.is_logic() {
                        let (a, b) = (self.store.prim_of_dim(a), self.store.prim_of_dim(b));
                        return Ok(match (self.store.as_prim_int(a), self.store.as_prim_int(b)) {
                            (Some(a), Some(b)) => Value::Bool(op.fold(a, b) == Some(1)),
                            _ => Value::Prim(self.store.prim_binary(op, a, b)),
                        });
                    }
                    let result = dim_arith(self.store, op, a, b);
                    Ok(match result {
                        Dim::Int { value, bits: 64 } => Value::Int(value),
                        dim => Value::Prim(self.store.prim_of_dim(dim)),
                    })
                }
                (None, ..) => Err(self.error_at("relax-syntax", "this operator means nothing between numbers", id)),
            };
        }
        if is_tensor(&left) || is_tensor(&right) {
            let Some(name) = tensor_op(op) else {
                return Err(self.error_at("relax-syntax", "this operator means nothing between tensors", id));
            };
            return self.op_call(name, vec![left, right], id);
        }
        let message = format!("this operator does not take {} and {}", left.describe(), right.describe());
        Err(self.error_at("relax-syntax", message, id))
    }

    fn fold_floats(&mut self, op: PrimOp, a: f64, b: f64, id: Id<Node>) -> Read<Value> {
        Ok(Value::Float(match op {
            PrimOp::Add => a + b,
            PrimOp::Sub => a - b,
            PrimOp::Mul => a * b,
            PrimOp::Div => a / b,
            _ => return Err(self.error_at("relax-syntax", "this operator means nothing between these numbers", id)),
        }))
    }

    /// Returns the scalar that a value is, if it is one.
    fn as_prim(&mut self, value: &Value) -> Option<Operand> {
        match value {
            Value::Int(value) => Some(Operand::Int(*value)),
            Value::Bool(value) => Some(Operand::Int(i64::from(*value))),
            Value::Float(value) => Some(Operand::Float(*value)),
            Value::Prim(prim) => Some(Operand::Prim(*prim)),
            Value::Expr(id) => {
                let symbol = self.symbol_of(*id)?;
                Some(Operand::Prim(self.store.prim(PrimExpr::Var(symbol))))
            }
            _ => None,
        }
    }

    /// Gives two scalars one type: numbers of Python take the type of the other.
    fn promote(&mut self, a: Operand, b: Operand) -> (PrimId, PrimId) {
        let dtype = match (&a, &b) {
            (Operand::Prim(prim), _) | (_, Operand::Prim(prim)) => self.store.prim_dtype(*prim),
            _ => DType::I64,
        };
        let mut of = |operand| match operand {
            Operand::Prim(prim) => prim,
            Operand::Int(value) if dtype.is_float() => self.store.prim(PrimExpr::Float { value: Double(value as f64), dtype }),
            Operand::Int(value) => self.store.prim_int(value, dtype),
            Operand::Float(value) => {
                let dtype = if dtype.is_float() { dtype } else { DType::F64 };
                self.store.prim(PrimExpr::Float { value: Double(value), dtype })
            }
        };
        (of(a), of(b))
    }

    /// Returns the symbolic extent that an expression is: a variable that holds a scalar, or a bare scalar expression.
    pub(super) fn symbol_of(&self, id: ExprId) -> Option<Id<Symbol>> {
        match self.store.expr(id) {
            Expr::Var(var) => self.store.var_data(var).symbol,
            Expr::Prim(prim) => match *self.store.prim_of_id(prim) {
                PrimExpr::Var(symbol) => Some(symbol),
                _ => None,
            },
            _ => None,
        }
    }

    /// Makes a call of an operator, written as one of Python's.
    fn op_call(&mut self, name: &'static str, args: Vec<Value>, id: Id<Node>) -> Read<Value> {
        let span: Span = self.span(id);
        let mut operands = Vec::with_capacity(args.len());
        for arg in args {
            operands.push(self.argument(arg, span)?);
        }
        Ok(self.plain_call(name, operands, span))
    }
}

/// Returns the type that a name of Python's classes says: `Tensor` of `relax.TensorStructInfo(...)`.
pub(super) fn class_of(name: &str) -> Option<&str> {
    let bare = name.strip_suffix("StructInfo").or_else(|| name.strip_suffix("Type"));
    bare.filter(|bare| BARE.contains(bare))
}

/// Types that texts of 2022 write without `R.`.
const BARE: [&str; 7] = ["Tensor", "Shape", "Tuple", "Object", "Callable", "Prim", "DTensor"];

enum Operand {
    Int(i64),
    Float(f64),
    Prim(PrimId),
}

fn tensor_op(op: Binary) -> Option<&'static str> {
    Some(match op {
        Binary::Add => "add",
        Binary::Sub => "subtract",
        Binary::Mul => "multiply",
        Binary::Div => "divide",
        Binary::FloorDiv => "floor_divide",
        Binary::Mod => "mod",
        Binary::Pow => "power",
        Binary::MatMul => "matmul",
        Binary::Lt => "less",
        Binary::Le => "less_equal",
        Binary::Gt => "greater",
        Binary::Ge => "greater_equal",
        _ => return None,
    })
}
