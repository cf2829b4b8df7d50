//! Turns values into nodes, as TVM's BlockBuilder does when a binding is emitted. Nested calls get bindings of their
//! own, each with a name of the builder's.

use super::value::{CallParts, Value};
use super::{Read, Reader};
use crate::diag::Span;
use crate::ir::{Binding, BindingBlock, DType, Dim, Expr, ExprId, Extents, Id, Origin, PrimExpr, Type, TypeId, VarId};
use rustc_hash::FxHashMap;

/// A sequence of blocks under way.
#[derive(Default)]
pub(super) struct Sequence {
    done: Vec<(Vec<Binding>, bool)>,
}

/// The bindings under way.
#[derive(Default)]
pub(super) struct Builder {
    /// The number of uses of each name.
    names: FxHashMap<&'static str, u32>,
    /// Sequences that are open, the innermost last.
    sequences: Vec<Sequence>,
    /// True if a dataflow block is open.
    pub(super) dataflow: bool,
    /// The number of dataflow blocks opened so far.
    pub(super) block: u32,
    /// The number of bindings made so far.
    made: u32,
    /// The number of bindings made when the current statement began.
    begun: u32,
}

impl Builder {
    /// Returns the next name of the builder: `lv`, `lv1`, `gv`.
    fn fresh(&mut self) -> String {
        let base = if self.dataflow { "lv" } else { "gv" };
        let count = self.names.entry(base).or_insert(0);
        *count += 1;
        match *count {
            1 => base.to_owned(),
            n => format!("{base}{}", n - 1),
        }
    }

    /// Notes that a statement begins.
    pub(super) fn begin(&mut self) {
        self.begun = self.made;
    }

    pub(super) fn open(&mut self) {
        self.sequences.push(Sequence::default());
    }

    /// Removes the last binding of the innermost sequence and returns it.
    pub(super) fn take_last(&mut self) -> Option<Binding> {
        let sequence = self.sequences.last_mut()?;
        sequence.done.last_mut().and_then(|(bindings, _)| bindings.pop())
    }

    /// Adds a binding to the block from which the last one was taken.
    pub(super) fn put_back(&mut self, binding: Binding) {
        if let Some((bindings, _)) = self.sequences.last_mut().and_then(|sequence| sequence.done.last_mut()) {
            bindings.push(binding);
        }
    }

    /// Adds a binding to the block under way.
    pub(super) fn push(&mut self, binding: Binding) {
        let dataflow = self.dataflow;
        self.made += 1;
        if self.sequences.is_empty() {
            self.open();
        }
        let Some(sequence) = self.sequences.last_mut() else { return };
        match sequence.done.last_mut() {
            // Neighbours of one kind are one block.
            Some((bindings, kind)) if *kind == dataflow => bindings.push(binding),
            _ => sequence.done.push((vec![binding], dataflow)),
        }
    }
}

impl Reader<'_, '_> {
    /// Closes the innermost sequence; its value is `body`.
    pub(super) fn close_sequence(&mut self, body: ExprId) -> ExprId {
        let sequence = self.builder.sequences.pop().unwrap_or_default();
        let blocks: Vec<Id<BindingBlock>> = sequence
            .done
            .iter()
            .filter(|(bindings, _)| !bindings.is_empty())
            .map(|(bindings, dataflow)| self.store.add_block_of(bindings, *dataflow))
            .collect();
        self.store.add_seq(&blocks, body)
    }

    /// Forgets the innermost sequence, in which there was an error.
    pub(super) fn drop_sequence(&mut self) {
        self.builder.sequences.pop();
    }

    /// Binds a value. `name` is its name in the text; the builder's name is used up all the same.
    pub(super) fn emit(&mut self, value: Value, name: Option<&str>, ty: Option<TypeId>, local: bool, span: Span) -> Read<VarId> {
        let (value, cast) = match value {
            Value::Cast(value, cast) => (*value, Some(cast)),
            value => (value, None),
        };
        if let (Some(cast), Some(ty)) = (cast, ty)
            && cast != ty
        {
            return Err(self.error(
                "relax-type",
                "Cannot specify inconsistent annotation for a match cast pair.".to_owned(),
                span,
            ));
        }
        let value = self.node(value, ty.filter(|_| cast.is_none()), span)?;
        // TVM writes the type to the call as it was read; a call whose operands got bindings is another one.
        let ty = ty.filter(|ty| {
            self.builder.made == self.builder.begun || cast.is_some() || matches!(self.store.type_of_id(*ty), Type::Prim(_))
        });
        Ok(self.bind(value, cast, name, ty, local, span))
    }

    /// Binds a node.
    pub(super) fn bind(
        &mut self,
        value: ExprId,
        cast: Option<TypeId>,
        name: Option<&str>,
        ty: Option<TypeId>,
        local: bool,
        span: Span,
    ) -> VarId {
        let fresh = self.builder.fresh();
        // A type that is written and does not fit is kept, for the verifier to find; here another one takes precedence.
        let ty = cast.or(ty).or(self.store.checked_type(value));
        let var = self.store.relax_var(name.unwrap_or(&fresh), ty, local && self.builder.dataflow);
        self.store.set_var_span(var, span);
        if self.builder.dataflow {
            self.store.set_read_in_block(var, self.builder.block);
        }
        self.builder.push(Binding { var, value, cast });
        var
    }

    /// Returns the node of a value that is bound or returned. A call takes the type that is written for it.
    pub(super) fn node(&mut self, value: Value, ty: Option<TypeId>, span: Span) -> Read<ExprId> {
        let value = self.expression(value, span)?;
        let node = match value {
            Value::Call(call) => self.call_node(*call, ty)?,
            Value::Item(tuple, index) => {
                let tuple = self.operand(*tuple, span)?;
                let ty = self.field_type(tuple, index).or(ty);
                let node = self.store.add_typed(Expr::TupleGetItem { tuple, index }, ty);
                self.store.set_span(node, span);
                node
            }
            other => self.operand(other, span)?,
        };
        let shared = matches!(self.store.expr(node), Expr::Var(_) | Expr::Global(_));
        if !shared && self.store.origin(node) == Origin::Unknown {
            self.store.set_span(node, span);
        }
        Ok(node)
    }

    fn call_node(&mut self, call: CallParts, ty: Option<TypeId>) -> Read<ExprId> {
        let CallParts { callee, args, attrs, ty_args, ty: own, span } = call;
        let mut operands = Vec::with_capacity(args.len());
        for arg in args {
            operands.push(self.operand(arg, span)?);
        }
        let args = self.store.list(&operands);
        let info = self.store.add_call_info(attrs, &ty_args);
        let own = own.or(ty.filter(|_| self.builder.made == self.builder.begun));
        let node = self.store.add_typed(Expr::Call { callee, args, info }, own);
        self.store.set_span(node, span);
        Ok(node)
    }

    /// Returns the node of an operand: a leaf, or a tuple of them. Anything else is bound first.
    pub(super) fn operand(&mut self, value: Value, span: Span) -> Read<ExprId> {
        let value = self.expression(value, span)?;
        match value {
            Value::Expr(id) if self.is_void_var(id) => Ok(self.unit()),
            Value::Expr(id) => Ok(id),
            Value::Tuple(items) => {
                let mut fields = Vec::with_capacity(items.len());
                for item in items {
                    if let Value::None = item {
                        let message = "Cannot convert None with type <class 'NoneType'> to `relax.Expr`";
                        return Err(self.error("relax-syntax", message, span));
                    }
                    fields.push(self.operand(item.among_others(), span)?);
                }
                let types: Option<Vec<TypeId>> = fields.iter().map(|field| self.store.checked_type(*field)).collect();
                let ty = types.map(|types| self.store.tuple_type(&types));
                if let Some((code, message)) = ty.and_then(|ty| self.store.type_limit(ty)) {
                    return Err(self.error(code, message, span));
                }
                let fields = self.store.list(&fields);
                let node = self.store.add_typed(Expr::Tuple(fields), ty);
                self.store.set_span(node, span);
                Ok(node)
            }
            other => {
                let var = self.emit(other, None, None, true, span)?;
                Ok(self.store.use_var(var))
            }
        }
    }

    /// Converts a value of Python to one of the program: a tuple or a leaf.
    fn expression(&mut self, value: Value, span: Span) -> Read<Value> {
        Ok(match value {
            Value::Expr(_) | Value::Call(_) | Value::Item(..) | Value::Tuple(_) => value,
            Value::List(items) => Value::Tuple(items),
            Value::Int(value) => Value::Expr(self.prim_int(value)),
            Value::Bool(value) => {
                let prim = self.store.prim_int(i64::from(value), DType::BOOL);
                Value::Expr(self.prim_node(prim))
            }
            Value::Float(value) => {
                let prim = self.store.prim_float(value, DType::F64);
                Value::Expr(self.prim_node(prim))
            }
            Value::Prim(prim) => Value::Expr(self.prim_node(prim)),
            Value::Str(text) => {
                let ty = self.store.ty(Type::Str);
                Value::Expr(self.store.add_typed(Expr::Str(text), Some(ty)))
            }
            Value::None => Value::Expr(self.unit()),
            Value::Attr(crate::ir::AttrValue::Expr(id)) => Value::Expr(id),
            other => {
                let message = format!("{} is no value of the program", other.describe());
                return Err(self.error("relax-syntax", message, span));
            }
        })
    }

    /// Returns the value of an argument of a call.
    pub(super) fn argument(&mut self, value: Value, span: Span) -> Read<Value> {
        self.expression(value, span)
    }

    /// Makes a whole number as a value of the program.
    pub(super) fn prim_int(&mut self, value: i64) -> ExprId {
        let prim = self.store.prim_int(value, DType::I64);
        self.prim_node(prim)
    }

    /// Makes a scalar expression as a value of the program; a variable of the program stands for itself.
    pub(super) fn prim_node(&mut self, prim: crate::ir::PrimId) -> ExprId {
        if let PrimExpr::Var(symbol) = *self.store.prim_of_id(prim)
            && let Some(var) = self.scopes.var_of(symbol)
        {
            return self.store.use_var(var);
        }
        let dtype = self.store.prim_dtype(prim);
        let ty = self.store.ty(Type::Prim(dtype));
        self.store.add_typed(Expr::Prim(prim), Some(ty))
    }

    /// Makes `R.shape([n, 4])`.
    pub(super) fn shape_node(&mut self, dims: &[Dim]) -> ExprId {
        let ty = self.store.ty(Type::Shape(Extents::Known(dims.into())));
        let dims = self.store.dims(dims);
        self.store.add_typed(Expr::Shape(dims), Some(ty))
    }

    /// Makes `R.tuple()`.
    pub(super) fn unit(&mut self) -> ExprId {
        let ty = self.store.tuple_type(&[]);
        self.store.add_typed(Expr::Tuple(crate::ir::List::EMPTY), Some(ty))
    }

    fn is_void_var(&self, id: ExprId) -> bool {
        let ty = self.store.checked_type(id).map(|ty| self.store.type_of_id(ty));
        matches!(self.store.expr(id), Expr::Var(_)) && matches!(ty, Some(Type::Tuple(fields)) if fields.is_empty())
    }

    pub(super) fn field_type(&self, tuple: ExprId, index: u32) -> Option<TypeId> {
        match self.store.type_of_id(self.store.checked_type(tuple)?) {
            Type::Tuple(fields) => fields.get(index as usize).copied(),
            _ => None,
        }
    }

    /// True if a node may stand anywhere, or is a tuple of such.
    pub(super) fn is_leaf_or_tuple(&self, id: ExprId) -> bool {
        !matches!(self.store.expr(id), Expr::Call { .. } | Expr::TupleGetItem { .. } | Expr::If { .. } | Expr::Function(_))
    }
}
