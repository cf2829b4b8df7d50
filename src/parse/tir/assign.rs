//! Assignments: memory for numbers, variables for other values.

use super::value::Value;
use super::{Node, Read, Reader};
use crate::ir::{Buffer, BufferLayout, DType, DTypeCode, Id, PrimExpr, PrimId, Stmt as TirStmt};
use crate::parse::script::tree::Binary;
use crate::tir;

impl Reader<'_, '_, '_> {
    pub(super) fn assign(&mut self, target: Id<Node>, value: Id<Node>) -> Read<()> {
        let tree = self.tree;
        if let Node::Subscript { value: object, items } = tree.expr(target) {
            let value = self.value(value)?;
            let value = self.prim_from(&value, target)?;
            let buffer = self.buffer(object)?;
            let items = self.flat(items);
            let indices = self.indices(buffer, &items, target)?;
            return self.store_to(buffer, indices, value, target);
        }
        if let (Node::Tuple(targets), Node::Tuple(values)) = (tree.expr(target), tree.expr(value))
            && targets.len() == values.len()
        {
            for (target, value) in tree.items(targets).iter().zip(tree.items(values)) {
                self.assign(*target, *value)?;
            }
            return Ok(());
        }
        if let Node::Call { callee, args } = tree.expr(value)
            && let Some(intrinsic) = self.intrinsic(callee)
        {
            let args = tree.args(args).to_vec();
            if let Some(kind) = intrinsic.strip_prefix("axis.") {
                return self.axis(target, kind, &args, value);
            }
            if let Some(name) = tree.name(target)
                && let Some(declared) = self.declaration(name, intrinsic, &args, value)?
            {
                return self.define(name, declared, target);
            }
        }
        let value_at = value;
        self.state.hint = tree.name(target).map(str::to_owned);
        let value = self.value(value);
        self.state.hint = None;
        self.bind_target(target, value?, value_at)
    }

    /// Binds the names of a target.
    fn bind_target(&mut self, target: Id<Node>, value: Value, at: Id<Node>) -> Read<()> {
        let tree = self.tree;
        if let Some(name) = tree.name(target) {
            return self.bind(name, value, target);
        }
        let (Node::Tuple(targets) | Node::List(targets)) = tree.expr(target) else {
            return Err(self.error("tir-syntax", "this cannot be assigned to", target));
        };
        let targets = tree.items(targets).to_vec();
        let Some(items) = value.clone().bare().items().cloned() else {
            return Err(self.error("tir-type", format!("{} cannot be taken apart", value.kind()), at));
        };
        if items.len() != targets.len() {
            let message = format!("{} values for {} names", items.len(), targets.len());
            return Err(self.error("tir-type", message, target));
        }
        let meta = matches!(value, Value::Meta(_));
        for (target, item) in targets.into_iter().zip(items.iter()) {
            let item = if meta { Value::Meta(item.clone().into()) } else { item.clone() };
            self.bind_target(target, item, at)?;
        }
        Ok(())
    }

    /// Binds a name: to memory for numbers, to a variable for pointers, to the object itself for others.
    fn bind(&mut self, name: &str, value: Value, at: Id<Node>) -> Read<()> {
        if let Some(buffer) = self.stored_by(name)
            && !matches!(value, Value::Meta(_))
        {
            let zero = self.store.prim_int(0, DType::I32);
            let value = self.prim_from(&value, at)?;
            return self.store_to(buffer, vec![zero], value, at);
        }
        match value {
            Value::Fresh(dtype) => {
                // A quoted shape may have made the variable already.
                let known = self.meaning(name).cloned().and_then(|value| self.symbol_of(&value));
                match known.filter(|symbol| self.state.matched.contains(symbol)) {
                    Some(symbol) if self.store.symbol(symbol).dtype != dtype => {
                        let had = self.store.symbol(symbol).dtype;
                        let message = format!("Expected the same dtype for PrimVars but got {dtype} vs {had}");
                        Err(self.error("tir-type", message, at))
                    }
                    Some(_) => Ok(()),
                    None => {
                        let symbol = self.new_symbol(name, dtype);
                        let prim = self.store.prim(PrimExpr::Var(symbol));
                        self.define(name, Value::Prim(prim), at)
                    }
                }
            }
            Value::List(items) | Value::Tuple(items) if self.state.strict => {
                for (i, item) in items.iter().enumerate() {
                    self.bind(&format!("{name}_{i}"), item.clone(), at)?;
                }
                self.define(name, Value::List(items), at)
            }
            Value::Str(_) if self.state.strict => {
                Err(self.error("tir-type", "Cannot automatically inference the type of a string: `T.meta_var` names it", at))
            }
            Value::Prim(_) | Value::Int(_) | Value::Float(_) | Value::Bool(_) => {
                let prim = self.prim_from(&value, at)?;
                let dtype = self.store.prim_dtype(prim);
                if dtype.code == DTypeCode::Handle || !self.state.strict {
                    let symbol = self.new_symbol(name, dtype);
                    let var = self.store.prim(PrimExpr::Var(symbol));
                    self.give_again(name, Value::Prim(var), at)?;
                    self.push(TirStmt::Bind { var: symbol, value: prim });
                    return Ok(());
                }
                self.scalar(name, dtype, Some(prim), at)
            }
            other => self.define(name, other.bare(), at),
        }
    }

    /// Binds a name again, as old texts may; a pointer never is.
    fn give_again(&mut self, name: &str, value: Value, at: Id<Node>) -> Read<()> {
        if self.state.strict {
            return self.define(name, value, at);
        }
        self.give(name, value);
        Ok(())
    }

    /// Returns the buffer of one element that an assignment to a name stores to.
    fn stored_by(&self, name: &str) -> Option<Id<Buffer>> {
        let buffer = match self.meaning(name)? {
            Value::Buffer(buffer) => *buffer,
            Value::Prim(prim) => match *self.store.prim_of_id(*prim) {
                PrimExpr::Load { buffer, .. } => buffer,
                _ => return None,
            },
            _ => return None,
        };
        self.is_single(buffer).then_some(buffer)
    }

    pub(super) fn store_to(&mut self, buffer: Id<Buffer>, indices: Vec<PrimId>, value: PrimId, at: Id<Node>) -> Read<()> {
        let dtype = self.store.buffer(buffer).dtype;
        let lanes = indices.last().map_or(1, |index| self.store.prim_dtype(*index).lanes);
        let lanes = if dtype.lanes == 1 { lanes } else { dtype.lanes.wrapping_mul(lanes) };
        let wanted = DType { lanes, ..dtype };
        let found = self.store.prim_dtype(value);
        if found.code == DTypeCode::Handle && dtype.code != DTypeCode::Handle {
            return Err(self.error("tir-type", "a pointer or string cannot be stored", at));
        }
        let value = match found.lanes {
            1 if lanes != 1 && !self.state.strict => {
                let value = tir::cast(self.store, dtype.element(), value);
                self.store.prim(PrimExpr::Broadcast { value, lanes })
            }
            own if own != lanes => {
                let message =
                    format!("Incompatible types in BufferStore: LHS is `{wanted}`, RHS is `{found}`, indexing lanes: {lanes}");
                return Err(self.error("tir-type", message, at));
            }
            _ => tir::cast(self.store, wanted, value),
        };
        self.push(TirStmt::Store { buffer, indices: indices.into(), value });
        Ok(())
    }

    /// Reads `x: T.int32 = value`: memory for one element.
    pub(super) fn scalar(&mut self, name: &str, dtype: DType, value: Option<PrimId>, at: Id<Node>) -> Read<()> {
        let load = self.new_scalar(name, dtype, "local");
        self.define(name, Value::Prim(load), at)?;
        let Some(value) = value else { return Ok(()) };
        let PrimExpr::Load { buffer, .. } = *self.store.prim_of_id(load) else { return Ok(()) };
        let zero = self.store.prim_int(0, DType::I32);
        self.store_to(buffer, vec![zero], value, at)
    }

    /// Allocates memory for one element; returns the element.
    pub(super) fn new_scalar(&mut self, name: &str, dtype: DType, scope: &str) -> PrimId {
        let one = self.store.prim_int(1, DType::I32);
        let (hint, scope) = (self.name_of(name), self.name_of(scope));
        let packed = Buffer::new(hint, dtype, [one].into(), scope);
        let buffer = self.store.add_buffer(Buffer { layout: BufferLayout::Rows, ..packed });
        self.push(TirStmt::Alloc(buffer, None));
        self.element_zero(buffer)
    }

    pub(super) fn annotated(&mut self, target: Id<Node>, annotation: Id<Node>, value: Option<Id<Node>>) -> Read<()> {
        let Some(name) = self.tree.name(target) else {
            return Err(self.error("tir-syntax", "expected a name", target));
        };
        let (head, ty) = match self.tree.expr(annotation) {
            Node::Subscript { value, items } => (value, self.tree.items(items).first().copied()),
            _ => (annotation, None),
        };
        let is_let = self.intrinsic(head) == Some("let");
        let Some(value) = value else {
            if is_let {
                return Err(self.error("tir-syntax", "T.let annotation requires a value", annotation));
            }
            return match self.value(annotation)? {
                Value::Vector(dtype, shape) => {
                    let (hint, scope) = (self.name_of(name), self.name_of("local"));
                    let layout = if self.state.s_tir { BufferLayout::Unsaid } else { BufferLayout::Rows };
                    let packed = Buffer::new(hint, dtype, shape.iter().copied().collect(), scope);
                    let buffer = self.store.add_buffer(Buffer { layout, ..packed });
                    self.push(TirStmt::Alloc(buffer, None));
                    self.define(name, Value::Buffer(buffer), target)
                }
                other => {
                    let dtype = self.dtype_from(&other, annotation)?;
                    self.scalar(name, dtype, None, target)
                }
            };
        };
        let value_at = value;
        let value = self.value(value)?;
        let prim = self.prim_from(&value, value_at)?;
        if is_let || !self.state.strict {
            let dtype = match ty.filter(|_| is_let).or((!is_let).then_some(annotation)) {
                Some(ty) => self.dtype(ty)?,
                None => self.store.prim_dtype(prim),
            };
            let symbol = self.new_symbol(name, dtype);
            let var = self.store.prim(PrimExpr::Var(symbol));
            self.give_again(name, Value::Prim(var), target)?;
            self.push(TirStmt::Bind { var: symbol, value: prim });
            return Ok(());
        }
        match self.value(annotation)? {
            Value::Vector(..) => Err(self.error("tir-type", "Vector annotation does not support initial value", annotation)),
            other => {
                let dtype = self.dtype_from(&other, annotation)?;
                if dtype.code == DTypeCode::Handle {
                    let message = "handle type cannot be used as scalar annotation; use T.let[T.handle] instead";
                    return Err(self.error("tir-type", message, annotation));
                }
                self.scalar(name, dtype, Some(prim), target)
            }
        }
    }

    pub(super) fn augmented(&mut self, target: Id<Node>, op: Binary, value: Id<Node>) -> Read<()> {
        let (old, right) = (self.value(target)?, self.value(value)?);
        let new = self.binary(op, old, right, target)?;
        match self.tree.expr(target) {
            Node::Subscript { value, items } => {
                let prim = self.prim_from(&new, target)?;
                let buffer = self.buffer(value)?;
                let items = self.flat(items);
                let indices = self.indices(buffer, &items, target)?;
                self.store_to(buffer, indices, prim, target)
            }
            _ => self.bind_target(target, new, target),
        }
    }
}
