//! Scalar expressions.

use super::{Meaning, Node, Read, Reader};
use crate::ir::{Buffer, DType, Id, List, PrimExpr, PrimId, PrimOp};
use crate::parse::script::tree::{Binary, Unary};
use crate::tir;

impl Reader<'_, '_, '_> {
    /// Reads a scalar expression. What Python would compute, numbers among themselves, folds.
    pub(super) fn prim(&mut self, id: Id<Node>) -> Read<PrimId> {
        // Chains of operators lean to the left and may be long: they are a loop.
        let mut chain = Vec::new();
        let mut at = id;
        while let Node::Binary { op, left, right } = self.tree.expr(at) {
            chain.push((op, right, at));
            at = left;
        }
        let mut value = self.operand(at)?;
        while let Some((op, right, at)) = chain.pop() {
            let right = self.prim(right)?;
            value = self.binary(op, value, right, at)?;
        }
        Ok(value)
    }

    fn operand(&mut self, id: Id<Node>) -> Read<PrimId> {
        match self.tree.expr(id) {
            Node::Name => self.variable(id),
            Node::Int => {
                let Some(value) = self.tree.int(id) else {
                    return Err(self.error("tir-number", "this number is too large", id));
                };
                match i64::try_from(value) {
                    Ok(value) if i32::try_from(value).is_ok() => Ok(self.store.prim_int(value, DType::I32)),
                    Ok(value) => Ok(self.store.prim_int(value, DType::I64)),
                    Err(_) => Err(self.error("tir-number", "this number does not fit into 64 bits", id)),
                }
            }
            Node::Float => {
                let value = self.tree.float(id).unwrap_or(0.0);
                Ok(self.store.prim_float(value, DType::F32))
            }
            Node::True | Node::False => {
                let value = i64::from(self.tree.bool(id) == Some(true));
                Ok(self.store.prim_int(value, DType::BOOL))
            }
            Node::Str => {
                let text = self.tree.string(id).unwrap_or_default();
                let text = self.name_of(&text);
                Ok(self.store.prim(PrimExpr::Str(text)))
            }
            Node::Attribute { value, name } => self.attribute(value, self.tree.text(name), id),
            Node::Subscript { value, items } => {
                let buffer = self.buffer(value)?;
                let indices = self.indices(buffer, items)?;
                Ok(self.store.prim(PrimExpr::Load { buffer, indices: indices.into() }))
            }
            Node::Unary { op, value } => {
                let value = self.prim(value)?;
                Ok(match op {
                    Unary::Neg => tir::negate(self.store, value),
                    Unary::Pos => value,
                    Unary::Not => self.store.prim(PrimExpr::Not(value)),
                    Unary::Invert => {
                        let dtype = self.store.prim_dtype(value);
                        self.store.prim_call("bitwise_not", &[value], dtype)
                    }
                })
            }
            Node::If { cond, then, other } => {
                let cond = self.prim(cond)?;
                match self.store.as_prim_int(cond) {
                    Some(0) => self.prim(other),
                    Some(_) => self.prim(then),
                    None => {
                        let (then, other) = (self.prim(then)?, self.prim(other)?);
                        Ok(self.if_then_else(cond, then, other))
                    }
                }
            }
            Node::Call { callee, args } => self.call(callee, args, id),
            _ => Err(self.error("tir-syntax", "expected a scalar expression", id)),
        }
    }

    fn variable(&mut self, id: Id<Node>) -> Read<PrimId> {
        let name = self.tree.name(id).unwrap_or("");
        match self.meaning(name) {
            Some(Meaning::Symbol(symbol)) => Ok(self.store.prim(PrimExpr::Var(symbol))),
            Some(Meaning::Buffer(buffer)) if self.store.is_scalar(buffer, true) => {
                let zero = self.store.prim_int(0, DType::I32);
                Ok(self.store.prim(PrimExpr::Load { buffer, indices: [zero].into() }))
            }
            Some(Meaning::Buffer(_)) => Err(self.error("tir-type", format!("`{name}` is a buffer: it needs an index"), id)),
            Some(Meaning::Module) => Err(self.error("tir-type", format!("`{name}` is the module and no value"), id)),
            None => self.type_var(name, id),
        }
    }

    /// A symbolic variable that the module declares; each function has its own.
    fn type_var(&mut self, name: &str, id: Id<Node>) -> Read<PrimId> {
        if !self.around.type_vars.contains(name) {
            return Err(self.unknown(name, id));
        }
        let symbol = self.new_symbol(name, DType::I64);
        // It is known in the whole function, wherever it is met first.
        self.names.entry(name.to_owned()).or_default().insert(0, Meaning::Symbol(symbol));
        Ok(self.store.prim(PrimExpr::Var(symbol)))
    }

    fn attribute(&mut self, value: Id<Node>, name: &str, id: Id<Node>) -> Read<PrimId> {
        match name {
            "data" => {
                let buffer = self.buffer(value)?;
                Ok(self.store.prim(PrimExpr::Data(buffer)))
            }
            "elem_offset" => {
                let buffer = self.buffer(value)?;
                let offset = self.store.buffer(buffer).elem_offset;
                offset.ok_or_else(|| self.error("tir-type", "the offset of this buffer is 0", id))
            }
            _ => Err(self.error("tir-syntax", format!("`{name}` is nothing that a scalar expression can use"), id)),
        }
    }

    /// The buffer that an expression is.
    pub(super) fn buffer(&mut self, id: Id<Node>) -> Read<Id<Buffer>> {
        if let Some(name) = self.tree.name(id) {
            return match self.meaning(name) {
                Some(Meaning::Buffer(buffer)) => Ok(buffer),
                Some(_) => Err(self.error("tir-type", format!("`{name}` is not a buffer"), id)),
                None => Err(self.unknown(name, id)),
            };
        }
        if let Node::Attribute { value, name } = self.tree.expr(id)
            && self.tree.text(name) == "buffer"
        {
            return self.buffer(value);
        }
        Err(self.error("tir-type", "expected a buffer", id))
    }

    /// The indices of an element. A slice with known length is a vector.
    pub(super) fn indices(&mut self, buffer: Id<Buffer>, items: List<Id<Node>>) -> Read<Vec<PrimId>> {
        let items: Vec<Id<Node>> = self.flat(items);
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            let Node::Slice { lower, upper, step } = self.tree.expr(item) else {
                out.push(self.prim(item)?);
                continue;
            };
            let lower = match lower {
                Some(lower) => self.prim(lower)?,
                None => self.store.prim_int(0, DType::I32),
            };
            let upper = match upper {
                Some(upper) => self.prim(upper)?,
                None => match self.store.buffer(buffer).shape.get(out.len()) {
                    Some(extent) => *extent,
                    None => return Err(self.error("tir-type", "the buffer has no such axis", item)),
                },
            };
            let stride = match step {
                Some(step) => self.prim(step)?,
                None => self.store.prim_int(1, self.store.prim_dtype(lower)),
            };
            let length = self.difference(lower, upper);
            let lanes = match (self.store.as_prim_int(length), self.store.as_prim_int(stride)) {
                (Some(length), Some(stride)) if stride > 0 => u16::try_from(length / stride).ok().filter(|n| *n > 0),
                _ => None,
            };
            let Some(lanes) = lanes else {
                return Err(self.error("tir-type", "the length of this vector is not known, or it has none", item));
            };
            out.push(if lanes == 1 { lower } else { self.store.prim(PrimExpr::Ramp { base: lower, stride, lanes }) });
        }
        Ok(out)
    }

    /// Indices of a subscript, one tuple of them opened.
    pub(super) fn flat(&self, items: List<Id<Node>>) -> Vec<Id<Node>> {
        match self.tree.items(items) {
            [only] if let Node::Tuple(inner) = self.tree.expr(*only) => self.tree.items(inner).to_vec(),
            items => items.to_vec(),
        }
    }

    /// `upper - lower`, found where `upper` is `lower` and something.
    pub(super) fn difference(&mut self, lower: PrimId, upper: PrimId) -> PrimId {
        match *self.store.prim_of_id(upper) {
            PrimExpr::Binary { op: PrimOp::Add, a, b } if a == lower => b,
            PrimExpr::Binary { op: PrimOp::Add, a, b } if b == lower => a,
            _ if upper == lower => self.store.prim_int(0, self.store.prim_dtype(lower)),
            _ => tir::binary(self.store, PrimOp::Sub, upper, lower),
        }
    }

    fn binary(&mut self, op: Binary, a: PrimId, b: PrimId, at: Id<Node>) -> Read<PrimId> {
        let plain = match op {
            Binary::Add => PrimOp::Add,
            Binary::Sub => PrimOp::Sub,
            Binary::Mul => PrimOp::Mul,
            Binary::FloorDiv => PrimOp::FloorDiv,
            Binary::Mod => PrimOp::FloorMod,
            Binary::Div => {
                let float = |store: &crate::ir::Store, id| store.prim_dtype(id).is_float();
                if !float(self.store, a) && !float(self.store, b) {
                    let message = "`/` of integers says not how to round: write `//` or `T.truncdiv`";
                    return Err(self.error("tir-type", message, at));
                }
                PrimOp::Div
            }
            Binary::Lt => return Ok(self.compare(PrimOp::Lt, a, b)),
            Binary::Le => return Ok(self.compare(PrimOp::Le, a, b)),
            Binary::Gt => return Ok(self.compare(PrimOp::Gt, a, b)),
            Binary::Ge => return Ok(self.compare(PrimOp::Ge, a, b)),
            Binary::Eq => return Ok(self.compare(PrimOp::Eq, a, b)),
            Binary::Ne => return Ok(self.compare(PrimOp::Ne, a, b)),
            Binary::And => return Ok(self.store.prim_binary(PrimOp::And, a, b)),
            Binary::Or => return Ok(self.store.prim_binary(PrimOp::Or, a, b)),
            Binary::Shl => return Ok(self.bits("shift_left", a, b)),
            Binary::Shr => return Ok(self.bits("shift_right", a, b)),
            Binary::BitAnd => return Ok(self.bits("bitwise_and", a, b)),
            Binary::BitOr => return Ok(self.bits("bitwise_or", a, b)),
            Binary::BitXor => return Ok(self.bits("bitwise_xor", a, b)),
            Binary::Pow => return Ok(self.bits("pow", a, b)),
            Binary::MatMul | Binary::In | Binary::NotIn | Binary::Is | Binary::IsNot => {
                return Err(self.error("tir-syntax", "this operator does not work on scalars", at));
            }
        };
        Ok(tir::binary(self.store, plain, a, b))
    }

    fn compare(&mut self, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
        let (a, b) = tir::match_types(self.store, a, b);
        self.store.prim_binary(op, a, b)
    }

    fn bits(&mut self, op: &str, a: PrimId, b: PrimId) -> PrimId {
        let (a, b) = tir::match_types(self.store, a, b);
        let dtype = self.store.prim_dtype(a);
        self.store.prim_call(op, &[a, b], dtype)
    }

    pub(super) fn if_then_else(&mut self, cond: PrimId, then: PrimId, other: PrimId) -> PrimId {
        let (then, other) = tir::match_types(self.store, then, other);
        let dtype = self.store.prim_dtype(then);
        self.store.prim_call("if_then_else", &[cond, then, other], dtype)
    }
}
