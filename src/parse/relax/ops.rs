//! Reads calls of operators: `R.nn.conv2d(x, w, strides=1)`. Arguments and attributes by place and by name, defaults,
//! and the short forms of TVM's Python functions.

use super::call::Args;
use super::value::{CallParts, Value};
use super::{Read, Reader};
use crate::diag::Span;
use crate::ir::{AttrValue, Attrs, AttrsId, DType, DTypeCode, Dim, Double, Expr, Store, Type, TypeId};
use crate::ops::{self, ArgKind, AttrKind, AttrsSchema, RelaxArg, RelaxOp};
use crate::parse::suggest::nearest;

impl<'s> Reader<'s, '_> {
    /// Makes a call of an operator over operands alone.
    pub(super) fn plain_call(&mut self, name: &str, args: Vec<Value>, span: Span) -> Value {
        let attrs = ops::lookup_relax(name).and_then(|op| ops::info(op).relax.as_ref()).and_then(|op| op.attrs);
        let attrs = attrs.and_then(|schema| schema.complete(self.store, &[]).ok()).map(|attrs| self.store.attrs(attrs));
        self.op_value(name, args, attrs, Vec::new(), span).unwrap_or(Value::None)
    }

    /// Reads a call of an operator.
    pub(super) fn op_value(
        &mut self,
        name: &str,
        args: Vec<Value>,
        attrs: Option<AttrsId>,
        ty_args: Vec<TypeId>,
        span: Span,
    ) -> Read<Value> {
        let Some(op) = ops::lookup_relax(name) else { return Err(self.unknown_op(name, span)) };
        let callee = self.store.add(Expr::Op(op));
        Ok(Value::Call(Box::new(CallParts { callee, args, attrs, ty_args, ty: None, span })))
    }

    #[cold]
    fn unknown_op(&mut self, name: &str, span: Span) -> super::Stop {
        let stop = self.error("relax-unknown-op", format!("there is no operator `R.{name}`"), span);
        let known = ops::all().iter().filter_map(|op| op.relax).map(|op| op.name);
        if let (Some(near), Some(last)) = (nearest(name, known), self.diagnostics.last_mut()) {
            last.notes.push(format!("did you mean `R.{near}`?"));
        }
        stop
    }

    /// Reads a call of an operator as it is written.
    pub(super) fn call_op(&mut self, name: &str, mut args: Args<'s>) -> Read<Value> {
        let span = args.span;
        let Some(op) = ops::lookup_relax(name).and_then(|op| ops::info(op).relax.as_ref()) else {
            return Err(self.unknown_op(name, span));
        };
        self.by_name(op, &mut args)?;
        let mut operands = Vec::with_capacity(op.args.len());
        for arg in op.args {
            match args.take(arg.name) {
                Some((Value::None, _)) if arg.optional => self.left_out(op, arg, &mut operands)?,
                Some((value, place)) => {
                    let value = if arg.name == "x2" { self.beside(operands.first(), value, place) } else { value };
                    operands.push(self.operand_of(arg, value, place)?);
                }
                None if arg.optional => self.left_out(op, arg, &mut operands)?,
                None => return Err(self.error("relax-missing-arg", format!("`R.{name}` needs `{}`", arg.name), span)),
            }
        }
        if op.variadic {
            for (value, place) in std::mem::take(&mut args.positional) {
                operands.push(self.argument(value, place)?);
            }
        }
        let attrs = match op.attrs {
            Some(schema) => Some(self.attributes(op, schema, &mut args)?),
            None => None,
        };
        self.no_more(&args)?;
        let ty_args = args.types.into_iter().next().map(|(_, types, _)| types).unwrap_or_default();
        let attrs = match name {
            "layout_transform" => attrs.map(|attrs| self.typed_padding(attrs, &operands)),
            "ones" | "zeros"
                if matches!(self.store.attr(attrs, "dtype"), None | Some(AttrValue::DType(None) | AttrValue::Null)) =>
            {
                let message = format!("{name}() missing 1 required positional argument: 'dtype'");
                return Err(self.error("relax-missing-arg", message, span));
            }
            "arange" => attrs.map(|attrs| self.typed_range(attrs, &operands)),
            _ => attrs,
        };
        self.op_value(name, operands, attrs, ty_args, span)
    }

    /// Gives the number that `R.layout_transform` pads with the type of the elements.
    fn typed_padding(&mut self, attrs: AttrsId, operands: &[Value]) -> AttrsId {
        let Some(Value::Expr(data)) = operands.first() else { return attrs };
        let dtype = self.store.checked_type(*data).and_then(|ty| self.store.tensor_info(ty)).and_then(|info| info.dtype);
        let prim = match (self.store.attr(Some(attrs), "pad_value"), dtype) {
            (Some(AttrValue::Int { value, .. }), Some(dtype)) if dtype.is_float() => self.store.prim_float(*value as f64, dtype),
            (Some(AttrValue::Float(value)), Some(dtype)) if dtype.is_float() => self.store.prim_float(value.0, dtype),
            (Some(AttrValue::Int { value, .. }), Some(dtype)) => self.store.prim_int(*value, dtype),
            _ => return attrs,
        };
        let dim = self.store.dim_of_prim(prim);
        self.store.with_attr(Some(attrs), "pad_value", AttrValue::Dim(dim))
    }

    /// Gives `R.arange` the type of its elements where none is written: 64 bits, or single precision unless all are integers.
    fn typed_range(&mut self, attrs: AttrsId, operands: &[Value]) -> AttrsId {
        if !matches!(self.store.attr(Some(attrs), "dtype"), None | Some(AttrValue::DType(None) | AttrValue::Null)) {
            return attrs;
        }
        let is_integer = |value: &Value| match value {
            Value::Expr(expr) => match self.store.expr(*expr) {
                Expr::Prim(prim) => self.store.prim_dtype(prim).code == DTypeCode::Int,
                Expr::Var(var) => {
                    let ty = self.store.var_type(var).map(|ty| self.store.type_of_id(ty));
                    matches!(ty, Some(Type::Prim(dtype)) if dtype.code == DTypeCode::Int)
                }
                _ => false,
            },
            _ => false,
        };
        let dtype = if operands.iter().all(is_integer) { DType::I64 } else { DType::F32 };
        self.store.with_attr(Some(attrs), "dtype", AttrValue::DType(Some(dtype)))
    }

    /// Gives each argument by place its name.
    fn by_name(&mut self, op: &'static RelaxOp, args: &mut Args<'s>) -> Read<()> {
        let natural = op.args.iter().map(|arg| arg.name).chain(op.attrs.iter().flat_map(|a| a.fields.iter().map(|f| f.name)));
        let order: Vec<&'static str> = if op.order.is_empty() { natural.collect() } else { op.order.to_vec() };
        let positional = std::mem::take(&mut args.positional);
        for (place, (value, span)) in positional.into_iter().enumerate() {
            match order.get(place) {
                Some(name) if args.named.iter().any(|(n, ..)| n == name) => {
                    return Err(self.error("relax-duplicate", format!("`{name}` is given twice"), span));
                }
                Some(name) => args.named.push((name, value, span)),
                None if op.variadic => args.positional.push((value, span)),
                None => return Err(self.error("relax-unknown-arg", format!("`R.{}` takes fewer arguments", op.name), span)),
            }
        }
        Ok(())
    }

    /// Fills in an omitted argument.
    fn left_out(&mut self, op: &RelaxOp, arg: &RelaxArg, operands: &mut Vec<Value>) -> Read<()> {
        let value = match (op.name, arg.name) {
            // `R.arange(n)` is from zero to `n`.
            ("arange", "end") => {
                let end = operands.pop().unwrap_or(Value::None);
                operands.push(Value::Expr(self.prim_int(0)));
                end
            }
            ("arange", "step") => Value::Expr(self.prim_int(1)),
            ("eye", "m") => operands.last().cloned().unwrap_or(Value::None),
            ("eye" | "eye_like" | "tril" | "triu", "k") => Value::Expr(self.prim_int(0)),
            ("memory.alloc_tensor" | "vm.alloc_tensor", "runtime_device_ind") => Value::Expr(self.prim_int(0)),
            ("builtin.alloc_tensor" | "vm.alloc_storage", "storage_scope") => {
                let global = Value::Str(self.store.name("global"));
                self.argument(global, Span { start: 0, end: 0 })?
            }
            ("memory.view", "dtype") => self.plain_call("null_value", Vec::new(), Span { start: 0, end: 0 }),
            ("memory.view", _) => Value::Expr(self.unit()),
            ("unique", "sorted") => self.truth(true),
            ("unique", "axis") => return Ok(()),
            ("unique", _) => self.truth(false),
            _ => return Ok(()),
        };
        operands.push(value);
        Ok(())
    }

    /// Gives a number the type of the scalar of 64 bits before it: TVM writes such a number without one, and takes it for one of 32
    /// bits when it reads it again.
    fn beside(&mut self, other: Option<&Value>, number: Value, place: Span) -> Value {
        let Value::Int(value) = number else { return number };
        let ty = if let Some(Value::Expr(id)) = other { self.store.checked_type(*id) } else { None };
        match ty.map(|ty| self.store.type_of_id(ty)) {
            Some(&Type::Prim(dtype)) if dtype == DType::I64 => {
                self.refused(
                    format!("`{value}` is of int32 for TVM, and what stands before it of int64: `T.int64({value})`"),
                    place,
                );
                Value::Prim(self.store.prim_int(value, dtype))
            }
            _ => number,
        }
    }

    fn truth(&mut self, value: bool) -> Value {
        let prim = self.store.prim_int(i64::from(value), DType::BOOL);
        Value::Expr(self.prim_node(prim))
    }

    /// Converts an argument to the operand that the operator requires.
    fn operand_of(&mut self, arg: &RelaxArg, value: Value, span: Span) -> Read<Value> {
        match (arg.kind, value) {
            // An omitted optional shape is written as an empty tuple.
            (ArgKind::Shape, Value::Tuple(items)) if arg.optional && items.is_empty() => self.argument(Value::Tuple(items), span),
            (ArgKind::Shape, value @ (Value::Tuple(_) | Value::List(_) | Value::Int(_) | Value::Prim(_))) => {
                if arg.name != "size" && !matches!(value, Value::Tuple(_) | Value::List(_)) {
                    self.refused("shape must be a tuple/list or a Relax shape expression", span);
                }
                let mut dims = self.extents(&value, span)?;
                // One number is a square.
                if arg.name == "size" && dims.len() == 1 && !matches!(value, Value::Tuple(_) | Value::List(_)) {
                    dims.push(dims[0]);
                }
                Ok(Value::Expr(self.shape_node(&dims)))
            }
            // A number beside a tensor has 32 bits.
            (_, value @ (Value::Int(_) | Value::Float(_))) if matches!(arg.name, "x1" | "x2") => {
                let value = self.narrow(value);
                self.argument(value, span)
            }
            (ArgKind::Tuple, Value::List(items)) => Ok(Value::Tuple(items)),
            (ArgKind::DType, Value::Str(text)) => {
                let text = self.store.name_rc(text);
                let dtype = self.dtype(&text.0, span)?.unwrap_or(DType::F32);
                let ty = self.store.ty(Type::Any);
                Ok(Value::Expr(self.store.add_typed(Expr::DataType(dtype), Some(ty))))
            }
            (_, value) => self.argument(value, span),
        }
    }

    fn attributes(&mut self, op: &'static RelaxOp, schema: &'static AttrsSchema, args: &mut Args<'s>) -> Read<AttrsId> {
        let span = args.span;
        let mut written = Vec::new();
        for field in schema.fields {
            let Some((value, place)) = args.take(field.name) else { continue };
            let value = match (field.name, &value) {
                ("device_mesh", Value::Str(text)) => {
                    let text = self.store.name_rc(*text);
                    AttrValue::Object(self.mesh(&text.0, place)?)
                }
                // A layout map may be given as the lambda itself.
                _ => self.typed_attr(field.name, field.kind, &value, place)?,
            };
            written.push((field.name, value));
        }
        if let Some((name, _, place)) = args.named.first() {
            let near = nearest(name, schema.fields.iter().map(|f| f.name)).map(str::to_owned);
            let stop = self.error("relax-unknown-arg", format!("`R.{}` has no argument `{name}`", op.name), *place);
            if let (Some(near), Some(last)) = (near, self.diagnostics.last_mut()) {
                last.notes.push(format!("did you mean `{near}`?"));
            }
            return Err(stop);
        }
        match schema.complete(self.store, &written) {
            Ok(attrs) => {
                let attrs = self.short_forms(op, schema, attrs);
                Ok(self.store.attrs(attrs))
            }
            Err(missing) => Err(self.error("relax-missing-arg", format!("`R.{}` needs `{missing}`", op.name), span)),
        }
    }

    /// A part of an image: numbers of 32 bits, all of it when none is given.
    fn region(&mut self, value: &AttrValue, count: usize) -> AttrValue {
        let given = match value {
            AttrValue::Array(items) => items.clone(),
            AttrValue::Null => vec![AttrValue::Float(Double(0.0)); count].into(),
            one => vec![one.clone(); count].into(),
        };
        let number = |store: &mut Store, item: &AttrValue| match item.as_float() {
            Some(value) => AttrValue::Dim(Dim::Expr(store.prim_float(value, DType::F32))),
            None => item.clone(),
        };
        AttrValue::Array(given.iter().map(|item| number(self.store, item)).collect())
    }

    /// Expands short forms as TVM's functions do: one stride for all axes, paddings of one side for both, the layout of
    /// the input for the output.
    fn short_forms(&mut self, op: &RelaxOp, schema: &AttrsSchema, mut attrs: Attrs) -> Attrs {
        let spatial = match op.name.strip_prefix("nn.").or(op.name.strip_prefix("grad.")) {
            Some(name) if name.starts_with("conv") || name.contains("pool") => {
                let pairs = name.chars().zip(name.chars().skip(1));
                pairs.filter(|(_, d)| *d == 'd').find_map(|(n, _)| n.to_digit(10)).unwrap_or(0)
            }
            _ => 0,
        } as usize;
        let layout = attrs.fields.iter().find(|(name, _)| matches!(self.store.str(*name), "layout" | "data_layout")).cloned();
        for ((name, value), field) in attrs.fields.iter_mut().zip(schema.fields) {
            let _ = name;
            match (field.name, &*value) {
                ("strides" | "dilation" | "pool_size" | "output_padding", AttrValue::Array(items))
                    if spatial > 1 && items.len() == 1 =>
                {
                    *value = AttrValue::Array(vec![items[0].clone(); spatial].into());
                }
                ("padding", AttrValue::Array(items)) if spatial > 0 && items.len() == 1 => {
                    *value = AttrValue::Array(vec![items[0].clone(); 2 * spatial].into());
                }
                ("padding", AttrValue::Array(items)) if spatial > 1 && items.len() == spatial => {
                    *value = AttrValue::Array([items.as_ref(), items.as_ref()].concat().into());
                }
                ("output_size", AttrValue::Array(items)) if spatial > 1 && items.len() == 1 => {
                    *value = AttrValue::Array(vec![items[0].clone(); spatial].into());
                }
                // Twice as many numbers as the operator's name has axes.
                ("roi", _) if op.name.starts_with("image.resize") => {
                    let axes = if op.name.ends_with("3d") { 3 } else { 2 };
                    *value = self.region(value, 2 * axes);
                }
                ("scale", AttrValue::Float(scale)) if op.name.starts_with("nn.attention") => {
                    *value = AttrValue::Dim(Dim::Expr(self.store.prim_float(scale.0, DType::F32)));
                }
                ("out_layout", AttrValue::Null) => {
                    if let Some((_, layout)) = &layout {
                        *value = layout.clone();
                    }
                }
                _ if field.kind == AttrKind::Ints && matches!(value, AttrValue::Int { .. }) => {
                    *value = AttrValue::Array([value.clone()].into());
                }
                _ => {}
            }
        }
        attrs
    }
}
