//! Evaluates expressions: names, literals, operators, buffer elements. Values of Python are computed as in Python.

use super::value::Value;
use super::{Node, Read, Reader};
use crate::ir::{Buffer, DType, DTypeCode, Id, List, PrimExpr, PrimId, PrimOp, Region};
use crate::parse::script::tree::{Binary, Unary};
use crate::tir::{self, math};
use std::rc::Rc;

impl Reader<'_, '_, '_> {
    /// Evaluates an expression.
    pub(super) fn value(&mut self, id: Id<Node>) -> Read<Value> {
        // Chains of operators lean to the left and may be long: they are a loop.
        let mut chain = Vec::new();
        let mut at = id;
        while let Node::Binary { op, left, right } = self.tree.expr(at) {
            chain.push((op, right, at));
            at = left;
        }
        let mut value = self.operand(at)?;
        while let Some((op, right, at)) = chain.pop() {
            // An operand after a deciding truth value is not evaluated.
            match (op, &value) {
                (Binary::And, Value::Bool(false)) | (Binary::Or, Value::Bool(true)) => continue,
                _ => {}
            }
            let right = self.value(right)?;
            value = self.binary(op, value, right, at)?;
        }
        Ok(value)
    }

    fn operand(&mut self, id: Id<Node>) -> Read<Value> {
        let tree = self.tree;
        Ok(match tree.expr(id) {
            Node::Name => return self.variable(id),
            Node::Int => match tree.int(id).map(i64::try_from) {
                Some(Ok(value)) => Value::Int(value),
                _ => return Err(self.error("tir-number", "this number does not fit into 64 bits", id)),
            },
            Node::Float => Value::Float(tree.float(id).unwrap_or(0.0)),
            Node::True => Value::Bool(true),
            Node::False => Value::Bool(false),
            Node::None => Value::None,
            Node::Str => Value::Str(tree.string(id).unwrap_or_default().as_ref().into()),
            Node::Attribute { value, name } => return self.attribute(value, tree.text(name), id),
            Node::Subscript { value, items } => return self.subscript(value, items, id),
            Node::Slice { .. } => return Err(self.error("tir-syntax", "a range stands between the brackets of a buffer", id)),
            // The smallest number has no positive counterpart.
            Node::Unary { .. } if self.tree.int(id) == Some(i128::from(i64::MIN)) => Value::Int(i64::MIN),
            Node::Unary { op, value } => return self.unary(op, value, id),
            Node::If { cond, then, other } => match self.value(cond)? {
                Value::Bool(known) => return self.value(if known { then } else { other }),
                Value::Prim(prim) if self.store.prim_dtype(prim) == DType::BOOL => {
                    let (then, other) = (self.prim(then)?, self.prim(other)?);
                    Value::Prim(math::if_then_else(self.store, prim, then, other))
                }
                other => {
                    let message = format!("expected a truth value, found {}", other.kind());
                    return Err(self.error("tir-type", message, cond));
                }
            },
            Node::Call { callee, args } => return self.call(callee, args, id),
            Node::Tuple(items) => Value::Tuple(self.values(items)?.into()),
            Node::List(items) => Value::List(self.values(items)?.into()),
            Node::Dict(items) => {
                let values = self.values(items)?;
                Value::Dict(values.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
            }
            Node::Lambda { .. } => Value::Lambda(id),
            Node::Starred(_) => return Err(self.error("tir-syntax", "`*` stands in lists and arguments", id)),
            Node::Ellipsis => return Err(self.error("tir-syntax", "`...` leaves out what TVM has to know", id)),
            Node::Binary { .. } => return self.value(id),
        })
    }

    /// Returns the elements of a list; those of a list with a star are elements, too.
    pub(super) fn values(&mut self, items: List<Id<Node>>) -> Read<Vec<Value>> {
        let mut out = Vec::with_capacity(items.len());
        for item in self.tree.items(items).to_vec() {
            let Node::Starred(inner) = self.tree.expr(item) else {
                out.push(self.value(item)?.bare());
                continue;
            };
            match self.value(inner)?.items() {
                Some(more) => out.extend(more.iter().cloned()),
                None => return Err(self.error("tir-type", "expected a list behind `*`", inner)),
            }
        }
        Ok(out)
    }

    fn variable(&mut self, id: Id<Node>) -> Read<Value> {
        let name = self.tree.name(id).unwrap_or("");
        if let Some(value) = self.meaning(name) {
            return Ok(value.clone());
        }
        if self.around.type_vars.contains(name) {
            // A symbolic variable that the module declares; each function has its own, known in all of it.
            let symbol = self.new_symbol(name, DType::I64);
            let value = Value::Prim(self.store.prim(PrimExpr::Var(symbol)));
            self.state.names.entry(name.to_owned()).or_default().insert(0, (0, value.clone()));
            return Ok(value);
        }
        if self.around.modules.contains(name) {
            return Ok(Value::Module);
        }
        match self.macro_named(name) {
            Some(def) => Ok(Value::Macro(def)),
            None => Err(self.unknown(name, id)),
        }
    }

    fn unary(&mut self, op: Unary, operand: Id<Node>, at: Id<Node>) -> Read<Value> {
        let value = self.value(operand)?;
        Ok(match (op, value) {
            (Unary::Neg, Value::Int(value)) => Value::Int(value.wrapping_neg()),
            (Unary::Neg, Value::Float(value)) => Value::Float(-value),
            (Unary::Pos, value @ (Value::Int(_) | Value::Float(_) | Value::Prim(_))) => value,
            (Unary::Invert, Value::Int(value)) => Value::Int(!value),
            (Unary::Not, Value::Bool(value)) => Value::Bool(!value),
            (Unary::Not, Value::None) => Value::Bool(true),
            (op, value) => {
                let value = self.prim_from(&value, at)?;
                let dtype = self.store.prim_dtype(value);
                Value::Prim(match op {
                    Unary::Neg if self.is_pointer(value) => {
                        return Err(self.error("tir-type", "a pointer has no negative", at));
                    }
                    Unary::Neg => tir::negate(self.store, value),
                    Unary::Pos => value,
                    Unary::Not => self.store.prim(PrimExpr::Not(value)),
                    Unary::Invert if dtype.is_float() => {
                        return Err(self.error("tir-type", "`~` works on integers and truth values", at));
                    }
                    Unary::Invert => self.store.prim_call("bitwise_not", &[value], dtype),
                })
            }
        })
    }

    pub(super) fn binary(&mut self, op: Binary, a: Value, b: Value, at: Id<Node>) -> Read<Value> {
        if let Some(value) = self.python_binary(op, &a, &b, at)? {
            return Ok(value);
        }
        if matches!(op, Binary::Eq | Binary::Ne | Binary::Is | Binary::IsNot)
            && !matches!((&a, &b), (Value::Prim(_), _) | (_, Value::Prim(_)))
        {
            let equal = self.same_values(&a, &b);
            return Ok(Value::Bool(equal == matches!(op, Binary::Eq | Binary::Is)));
        }
        let shifts = matches!(op, Binary::Shl | Binary::Shr | Binary::BitAnd | Binary::BitOr | Binary::BitXor);
        let (python_a, python_b) = (matches!(a, Value::Int(_)), matches!(b, Value::Int(_)));
        let (mut a, mut b) = (self.prim_from(&a, at)?, self.prim_from(&b, at)?);
        if self.is_pointer(a) || self.is_pointer(b) {
            return Err(self.error("tir-type", "operators work on numbers, and this is a pointer or a string", at));
        }
        if shifts {
            // A number of Python takes the type of the other side.
            let (s, t) = (self.store.prim_dtype(a), self.store.prim_dtype(b));
            if python_a {
                a = tir::cast(self.store, t, a);
            }
            if python_b {
                b = tir::cast(self.store, s, b);
            }
            if s.is_float() || t.is_float() {
                return Err(self.error("tir-type", "this operator works on integers", at));
            }
        }
        let store = &mut *self.store;
        let folding = |store: &mut _, op| tir::binary(store, op, a, b);
        Ok(Value::Prim(match op {
            Binary::Add => folding(store, PrimOp::Add),
            Binary::Sub => folding(store, PrimOp::Sub),
            Binary::Mul => folding(store, PrimOp::Mul),
            Binary::Lt => folding(store, PrimOp::Lt),
            Binary::Le => folding(store, PrimOp::Le),
            Binary::Gt => folding(store, PrimOp::Gt),
            Binary::Ge => folding(store, PrimOp::Ge),
            Binary::FloorDiv | Binary::Mod => {
                let float = store.prim_dtype(a).is_float() || store.prim_dtype(b).is_float();
                let zero = store.as_prim_int(b) == Some(0);
                if float {
                    return Err(self.error("tir-type", "this operator works on integers", at));
                }
                if zero {
                    return Err(self.error("tir-number", "Divide by zero", at));
                }
                folding(store, if op == Binary::Mod { PrimOp::FloorMod } else { PrimOp::FloorDiv })
            }
            Binary::Div => {
                let int = |id| store.prim_dtype(id).code == DTypeCode::Int;
                if int(a) && int(b) {
                    let message = "`/` of integers says not how to round: write `//` or `T.truncdiv`";
                    return Err(self.error("tir-type", message, at));
                }
                folding(store, PrimOp::Div)
            }
            Binary::Eq | Binary::Is => raw(store, PrimOp::Eq, a, b),
            Binary::Ne | Binary::IsNot => raw(store, PrimOp::Ne, a, b),
            Binary::And | Binary::Or => {
                let [s, t] = [a, b].map(|id| store.prim_dtype(id));
                if s.element() != DType::BOOL || t.element() != DType::BOOL {
                    let found = if s.element() == DType::BOOL { t } else { s };
                    return Err(self.error("tir-type", format!("`and` and `or` work on truth values, not on {found}"), at));
                }
                let and = op == Binary::And;
                if s.lanes != 1 || t.lanes != 1 {
                    math::matched(store, if and { "bitwise_and" } else { "bitwise_or" }, a, b)
                } else {
                    store.prim_binary(if and { PrimOp::And } else { PrimOp::Or }, a, b)
                }
            }
            Binary::Shl => math::matched(store, "shift_left", a, b),
            Binary::Shr => math::matched(store, "shift_right", a, b),
            Binary::BitAnd => math::matched(store, "bitwise_and", a, b),
            Binary::BitOr => math::matched(store, "bitwise_or", a, b),
            Binary::BitXor => math::matched(store, "bitwise_xor", a, b),
            Binary::Pow => return Err(self.error("tir-type", "`**` works on numbers of Python: write `T.pow(x, y)`", at)),
            Binary::MatMul | Binary::In | Binary::NotIn => {
                return Err(self.error("tir-syntax", "this operator does not work on scalars", at));
            }
        }))
    }

    /// Computes an operation on Python's own values; nothing for values of the program.
    fn python_binary(&mut self, op: Binary, a: &Value, b: &Value, at: Id<Node>) -> Read<Option<Value>> {
        let number = |value: &Value| match value {
            Value::Int(x) => Some((*x as f64, Some(*x))),
            Value::Bool(x) => Some((f64::from(*x), Some(i64::from(*x)))),
            Value::Float(x) => Some((*x, None)),
            _ => None,
        };
        if matches!((op, a), (Binary::And | Binary::Or, Value::Bool(_))) && !matches!(b, Value::Prim(_)) {
            // A deciding operand has been handled before.
            return Ok(Some(b.clone()));
        }
        if let (Some((x, m)), Some((y, n))) = (number(a), number(b)) {
            return self.python_numbers(op, (x, m), (y, n), at).map(Some);
        }
        Ok(match (op, a, b) {
            (Binary::Add, Value::Str(a), Value::Str(b)) => Some(Value::Str(format!("{a}{b}").into())),
            (Binary::Add, Value::List(a), Value::List(b)) => Some(Value::List(a.iter().chain(&**b).cloned().collect())),
            (Binary::Add, Value::Tuple(a), Value::Tuple(b)) => Some(Value::Tuple(a.iter().chain(&**b).cloned().collect())),
            (Binary::Mul, Value::List(items), Value::Int(n)) | (Binary::Mul, Value::Int(n), Value::List(items)) => {
                let n = usize::try_from(*n).unwrap_or(0);
                if items.len().saturating_mul(n) > 1 << 16 {
                    return Err(self.error("tir-too-large", "this list is too long", at));
                }
                Some(Value::List(std::iter::repeat_n(items.iter().cloned(), n).flatten().collect()))
            }
            (Binary::In | Binary::NotIn, value, list) => match list.items() {
                Some(items) => {
                    let items = Rc::clone(items);
                    let found = items.iter().any(|item| self.same_values(item, value));
                    Some(Value::Bool(found == (op == Binary::In)))
                }
                None => None,
            },
            _ => None,
        })
    }

    fn python_numbers(&mut self, op: Binary, a: (f64, Option<i64>), b: (f64, Option<i64>), at: Id<Node>) -> Read<Value> {
        let ((x, m), (y, n)) = (a, b);
        let compared = match op {
            Binary::Lt => Some(x < y),
            Binary::Le => Some(x <= y),
            Binary::Gt => Some(x > y),
            Binary::Ge => Some(x >= y),
            Binary::Eq | Binary::Is => Some(x == y),
            Binary::Ne | Binary::IsNot => Some(x != y),
            _ => None,
        };
        if let Some(known) = compared {
            return Ok(Value::Bool(known));
        }
        if matches!(op, Binary::Div | Binary::FloorDiv | Binary::Mod) && y == 0.0 {
            return Err(self.error("tir-number", "division by zero", at));
        }
        let Some((m, n)) = m.zip(n).filter(|_| op != Binary::Div) else {
            return Ok(Value::Float(match op {
                Binary::Add => x + y,
                Binary::Sub => x - y,
                Binary::Mul => x * y,
                Binary::Div => x / y,
                Binary::FloorDiv => (x / y).floor(),
                Binary::Mod => x - y * (x / y).floor(),
                Binary::Pow => x.powf(y),
                _ => return Err(self.error("tir-type", "this operator works on integers", at)),
            }));
        };
        let shift = u32::try_from(n).ok();
        let value = match op {
            Binary::Add => m.checked_add(n),
            Binary::Sub => m.checked_sub(n),
            Binary::Mul => m.checked_mul(n),
            Binary::FloorDiv => PrimOp::FloorDiv.fold(m, n),
            Binary::Mod => PrimOp::FloorMod.fold(m, n),
            Binary::Pow => match shift {
                Some(n) => m.checked_pow(n),
                None => return Ok(Value::Float(x.powf(y))),
            },
            Binary::Shl => shift.filter(|n| *n < 63).and_then(|n| m.checked_mul(1 << n)),
            Binary::Shr => shift.map(|n| m >> n.min(63)),
            Binary::BitAnd => Some(m & n),
            Binary::BitOr => Some(m | n),
            Binary::BitXor => Some(m ^ n),
            Binary::And => Some(if m == 0 { m } else { n }),
            Binary::Or => Some(if m == 0 { n } else { m }),
            _ => return Err(self.error("tir-syntax", "this operator does not work on numbers", at)),
        };
        value.map(Value::Int).ok_or_else(|| self.error("tir-number", "this number does not fit into 64 bits", at))
    }

    /// True if two values of Python are equal.
    fn same_values(&self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Type(a) | Value::Fresh(a), Value::Type(b) | Value::Fresh(b)) => a == b,
            (Value::Type(dtype), Value::Str(text)) | (Value::Str(text), Value::Type(dtype)) => DType::parse(text) == Some(*dtype),
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a == b,
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| self.same_values(a, b))
            }
            _ => a.is_same(b),
        }
    }

    fn subscript(&mut self, value: Id<Node>, items: List<Id<Node>>, at: Id<Node>) -> Read<Value> {
        let tree = self.tree;
        if let Some(old) = self.old_subscript(value, items, at)? {
            return Ok(old);
        }
        if let Node::Subscript { value: table, items: key } = tree.expr(value)
            && tree.name(table) == Some("metadata")
        {
            return self.metadata(key, items, at);
        }
        match self.value(value)? {
            Value::Buffer(buffer) => self.part(buffer, items, at),
            // The element of a scalar is the scalar.
            Value::Prim(prim) => match *self.store.prim_of_id(prim) {
                PrimExpr::Load { buffer, .. } if self.is_single(buffer) => self.part(buffer, items, at),
                _ => Err(self.error("tir-type", "a scalar expression has no elements", at)),
            },
            Value::Type(dtype) => {
                let mut extents = Vec::new();
                for item in self.flat(items) {
                    extents.push(self.prim(item)?);
                }
                Ok(Value::Vector(dtype, extents.into()))
            }
            Value::Dict(entries) => {
                let [item] = tree.items(items) else { return Err(self.error("tir-syntax", "expected one key", at)) };
                let key = self.value(*item)?;
                let found = entries.iter().find(|(known, _)| self.same_values(known, &key));
                match found {
                    Some((_, value)) => Ok(value.clone()),
                    None => Err(self.error("tir-type", "the dictionary has no such key", *item)),
                }
            }
            list => {
                let (Some(elements), [item]) = (list.items().cloned(), tree.items(items)) else {
                    return Err(self.error("tir-type", format!("{} has no elements", list.kind()), at));
                };
                let index = self.known_int(*item, "a number that is known")?;
                let from_end = if index < 0 { index + elements.len() as i64 } else { index };
                let element = usize::try_from(from_end).ok().and_then(|index| elements.get(index));
                element.cloned().ok_or_else(|| self.error("tir-type", "the list is shorter", *item))
            }
        }
    }

    /// Reads `metadata["ir.StringImm"][0]`.
    fn metadata(&mut self, key: List<Id<Node>>, index: List<Id<Node>>, at: Id<Node>) -> Read<Value> {
        let key = self.tree.items(key).first().and_then(|id| self.tree.string(*id));
        let index = self.tree.items(index).first().and_then(|id| self.tree.int(*id)).and_then(|n| usize::try_from(n).ok());
        let known = index.and_then(|index| self.around.strings.get(index)).copied();
        match (key.as_deref(), known) {
            (Some("ir.StringImm" | "tirx.StringImm" | "tir.StringImm"), Some(text)) => {
                Ok(Value::Str(self.store.str(text).into()))
            }
            (Some("ir.StringImm" | "tirx.StringImm" | "tir.StringImm"), None) => {
                Err(self.error("tir-metadata", "the text has no metadata section with this string", at))
            }
            _ => Err(self.error("tir-metadata", "of the metadata section only strings are read here", at)),
        }
    }

    /// Reads `A[i, 0:4]`: an element, or a part when there are slices.
    fn part(&mut self, buffer: Id<Buffer>, items: List<Id<Node>>, at: Id<Node>) -> Read<Value> {
        let items = self.flat(items);
        let slices = items.iter().any(|item| matches!(self.tree.expr(*item), Node::Slice { .. }));
        if slices {
            let region = self.region_of(buffer, &items, at)?;
            return Ok(Value::Region(region.into()));
        }
        let indices = self.indices(buffer, &items, at)?;
        Ok(Value::Prim(self.store.prim(PrimExpr::Load { buffer, indices: indices.into() })))
    }

    /// Returns the indices of an element.
    pub(super) fn indices(&mut self, buffer: Id<Buffer>, items: &[Id<Node>], at: Id<Node>) -> Read<Vec<PrimId>> {
        let mut out = Vec::with_capacity(items.len());
        for &item in items {
            match self.tree.expr(item) {
                Node::Slice { lower, upper, step } => out.push(self.slice_index(buffer, out.len(), lower, upper, step, item)?),
                Node::Starred(inner) => match self.value(inner)?.items().cloned() {
                    Some(more) => {
                        for value in more.iter() {
                            out.push(self.prim_from(value, inner)?);
                        }
                    }
                    None => return Err(self.error("tir-type", "expected a list behind `*`", inner)),
                },
                _ => {
                    let value = self.value(item)?;
                    match value.items().cloned() {
                        Some(more) if items.len() == 1 => {
                            for value in more.iter() {
                                out.push(self.prim_from(value, item)?);
                            }
                        }
                        _ => out.push(self.prim_from(&value, item)?),
                    }
                }
            }
        }
        let rank = self.store.buffer(buffer).shape.len();
        if let ([index], true) = (&out[..], rank != 1 && self.state.pointers.contains(&buffer))
            && let Some(indices) = self.unflattened(buffer, *index)
        {
            return Ok(indices);
        }
        if out.len() != rank {
            let name = self.store.str(self.store.buffer(buffer).name);
            let message =
                format!("Buffer {name} is {rank}-dimensional, cannot be indexed with the {}-dimensional indices", out.len());
            return Err(self.error("tir-type", message, at));
        }
        Ok(out)
    }

    /// Reads `A[0:4] = value`: the lanes of a vector.
    fn slice_index(
        &mut self,
        buffer: Id<Buffer>,
        axis: usize,
        lower: Option<Id<Node>>,
        upper: Option<Id<Node>>,
        step: Option<Id<Node>>,
        at: Id<Node>,
    ) -> Read<PrimId> {
        let base = match lower {
            Some(lower) => self.prim(lower)?,
            None => self.store.prim_int(0, DType::I32),
        };
        let end = match upper {
            Some(upper) => self.prim(upper)?,
            None => match self.store.buffer(buffer).shape.get(axis) {
                Some(extent) => *extent,
                None => return Err(self.error("tir-type", "the buffer has no such axis", at)),
            },
        };
        let stride = match step {
            Some(step) => self.prim(step)?,
            None => self.store.prim_int(1, self.store.prim_dtype(base)),
        };
        let length = self.difference(base, end);
        let one = self.store.prim_int(1, self.store.prim_dtype(length));
        let less = tir::binary(self.store, PrimOp::Sub, stride, one);
        let more = tir::binary(self.store, PrimOp::Add, length, less);
        let count = tir::binary(self.store, PrimOp::FloorDiv, more, stride);
        if self.store.as_prim_int(count) == Some(1) {
            return Ok(base);
        }
        let lanes = self.lanes_of(count, at)?;
        let stride = tir::cast(self.store, self.store.prim_dtype(base), stride);
        Ok(self.store.prim(PrimExpr::Ramp { base, stride, lanes }))
    }

    /// Returns the indices of a subscript, one tuple of them opened.
    pub(super) fn flat(&self, items: List<Id<Node>>) -> Vec<Id<Node>> {
        match self.tree.items(items) {
            [only] if let Node::Tuple(inner) = self.tree.expr(*only) => self.tree.items(inner).to_vec(),
            items => items.to_vec(),
        }
    }

    /// Reads a part of a buffer as an expression: in old texts it is a vector, today an error.
    pub(super) fn vector_of(&mut self, region: &Region, at: Id<Node>) -> Read<PrimId> {
        if self.state.strict {
            let message = "TensorRegion is not a primitive operand; construct a TensorLoad explicitly";
            let span = self.span(at);
            let error = crate::diag::Diagnostic::error("tir-type", message, span);
            self.state.failed = true;
            self.diagnostics.push(error.with_note("lanes of a vector are `A[T.Ramp(0, 1, 4)]`"));
            return Err(super::Stop);
        }
        self.old("`A[0:4]` as a vector is the spelling of TVM 0.22; today `A[T.Ramp(0, 1, 4)]`", at);
        let mut indices = Vec::with_capacity(region.ranges.len());
        for &(min, extent) in &region.ranges {
            let Some(extent) = extent else {
                indices.push(min);
                continue;
            };
            let lanes = self.lanes_of(extent, at)?;
            let stride = self.store.prim_int(1, self.store.prim_dtype(min));
            indices.push(self.store.prim(PrimExpr::Ramp { base: min, stride, lanes }));
        }
        Ok(self.store.prim(PrimExpr::Load { buffer: region.buffer, indices: indices.into() }))
    }

    /// Makes `upper - lower`, simplified as TVM does it here.
    pub(super) fn difference(&mut self, lower: PrimId, upper: PrimId) -> PrimId {
        match *self.store.prim_of_id(upper) {
            PrimExpr::Binary { op: PrimOp::Add, a, b } if a == lower => b,
            PrimExpr::Binary { op: PrimOp::Add, a, b } if b == lower => a,
            _ if upper == lower => self.store.prim_int(0, self.store.prim_dtype(lower)),
            _ => {
                let difference = tir::binary(self.store, PrimOp::Sub, upper, lower);
                if self.store.as_prim_int(lower) == Some(0) {
                    return difference;
                }
                tir::arith::Analyzer::new().simplify(self.store, difference)
            }
        }
    }

    /// True if a buffer has exactly one element, so that an assignment to its name stores to it.
    pub(super) fn is_single(&self, buffer: Id<Buffer>) -> bool {
        matches!(*self.store.buffer(buffer).shape, [extent] if self.store.as_prim_int(extent) == Some(1))
    }
}

/// Makes `a op b` as it is written, with operands of one type.
fn raw(store: &mut crate::ir::Store, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
    let (a, b) = tir::match_types(store, a, b);
    store.prim_binary(op, a, b)
}
