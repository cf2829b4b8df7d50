//! Reads calls as TVM's builder functions do.

use super::eval::class_of;
use super::old::topi_name;
use super::value::{CallParts, Value};
use super::{Node, Read, Reader};
use crate::diag::Span;
use crate::ir::{AttrValue, Attrs, AttrsId, DType, Expr, ExprId, Id, List, Object, Type, TypeId};
use crate::parse::script::tree::Arg;

/// Arguments of a call, evaluated.
pub(super) struct Args<'s> {
    pub(super) positional: Vec<(Value, Span)>,
    pub(super) named: Vec<(&'s str, Value, Span)>,
    /// Types behind `ty_args=`, `out_ty=` and the like.
    pub(super) types: Vec<(&'s str, Vec<TypeId>, bool)>,
    pub(super) span: Span,
}

impl<'s> Args<'s> {
    /// Takes an argument by its place or name.
    pub(super) fn take(&mut self, name: &str) -> Option<(Value, Span)> {
        let place = self.named.iter().position(|(n, ..)| *n == name)?;
        let (_, value, span) = self.named.remove(place);
        Some((value, span))
    }

    /// Takes the next argument by place, or the one of that name.
    pub(super) fn next(&mut self, name: &str) -> Option<(Value, Span)> {
        if self.positional.is_empty() { self.take(name) } else { Some(self.positional.remove(0)) }
    }
}

/// Names of keyword arguments that take types, with those of older versions.
const TYPE_ARGS: [&str; 5] = ["ty_args", "out_ty", "sinfo_args", "out_sinfo", "type_args"];

impl<'s> Reader<'s, '_> {
    /// Reads a call.
    pub(super) fn eval_call(&mut self, id: Id<Node>, callee: Id<Node>, args: List<Arg>) -> Read<Value> {
        let tree = self.tree;
        let args = tree.args(args);
        if let Some(dotted) = tree.dotted(callee)
            && let Some((prefix, name)) = dotted.split_once('.')
            && self.scopes.get(prefix).is_none()
        {
            match prefix {
                "relax" if name == "Tuple" => return self.tuple_or_type(id, args),
                "R" | "relax" => return self.relax_call(id, name, args),
                "T" | "tir" | "tirx" | "Tx" => return self.tir_call(id, name, args),
                "I" | "ir" => return self.ir_call(id, name, args),
                _ => {}
            }
        }
        if let Some(name) = tree.dotted(callee).and_then(topi_name) {
            return self.topi(name, args, self.span(id));
        }
        if tree.name(callee).is_some_and(|name| self.is_bare(name)) {
            self.bare_hint(callee);
            return Ok(Value::Type(self.ty(id)?));
        }
        if let Some(call) = self.method(id, callee, args) {
            return call;
        }
        let callee = self.eval(callee)?;
        let span = self.span(id);
        let callee = match callee {
            Value::Expr(callee) => callee,
            other => return Err(self.error("relax-syntax", format!("{} cannot be called", other.describe()), span)),
        };
        let args = self.args(args, span)?;
        let mut operands = Vec::new();
        for (value, span) in args.positional {
            operands.push(self.argument(value, span)?);
        }
        let ty_args = args.types.into_iter().next().map(|(_, types, _)| types).unwrap_or_default();
        Ok(Value::Call(Box::new(CallParts { callee, args: operands, attrs: None, ty_args, ty: None, span })))
    }

    /// Evaluates arguments.
    pub(super) fn args(&mut self, args: &[Arg], span: Span) -> Read<Args<'s>> {
        let mut result = Args { positional: Vec::new(), named: Vec::new(), types: Vec::new(), span };
        for arg in args {
            if arg.stars > 0 {
                return Err(self.error_at("relax-syntax", "starred arguments are not part of TVMScript", arg.value));
            }
            let place = self.span(arg.value);
            match arg.name().map(|name| self.tree.text(name)) {
                Some(name) if TYPE_ARGS.contains(&name) => {
                    if name.contains("sinfo") || name == "type_args" {
                        self.hint("what was called struct info is a type today: `ty_args=`, `out_ty=`", place);
                    }
                    let many = matches!(self.tree.expr(arg.value), Node::Tuple(_) | Node::List(_));
                    let types = self.types(arg.value)?;
                    result.types.push((name, types, many));
                }
                Some(name) => {
                    let value = self.eval(arg.value)?;
                    result.named.push((name, value, place));
                }
                None => {
                    let value = self.eval(arg.value)?;
                    result.positional.push((value, place));
                }
            }
        }
        Ok(result)
    }

    #[expect(clippy::too_many_lines, reason = "a table: an arm for each name")]
    fn relax_call(&mut self, id: Id<Node>, name: &str, args: &[Arg]) -> Read<Value> {
        let span = self.span(id);
        let name = match name.strip_prefix("op.") {
            Some(bare) if crate::ops::lookup_relax(name).is_none() => {
                self.hint("operators are written without `op.` in programs: `R.add(x, y)`", span);
                bare
            }
            _ => name,
        };
        match name {
            "match_cast" | "match_shape" => return self.match_cast(id, name, args),
            "call_tir"
            | "call_tir_inplace"
            | "call_dps_packed"
            | "call_tir_with_grad"
            | "dist.call_tir"
            | "dist.call_tir_local_view" => {
                return self.call_tir(name, args, span);
            }
            "emit_te" => {
                if let [first, rest @ ..] = args
                    && let Some(name) = self.tree.dotted(first.value).and_then(topi_name)
                {
                    return self.topi(name, rest, span);
                }
                let message = "`R.emit_te` runs a function of Python, which is not in the text";
                return Err(self.error("relax-syntax", message, span));
            }
            "Tensor" | "Shape" | "Tuple" | "Callable" | "Prim" | "DTensor" | "Any" | "Object" => {
                return Ok(Value::Type(self.ty(id)?));
            }
            _ if class_of(name).is_some() => {
                self.bare_hint(id);
                return Ok(Value::Type(self.ty(id)?));
            }
            _ => {}
        }
        let mut args = self.args(args, span)?;
        let first = |args: &mut Args<'s>, name| args.next(name).map_or(Value::None, |(value, _)| value);
        Ok(match name {
            "dataflow" => Value::Dataflow,
            "output" | "outputs" => Value::Output,
            "func_attr" => match first(&mut args, "attrs") {
                Value::Dict(entries) => match self.attr_value(&Value::Dict(entries), span)? {
                    AttrValue::Map(map) => Value::FuncAttr(map.into_vec()),
                    _ => Value::FuncAttr(Vec::new()),
                },
                other => {
                    let message = format!("`R.func_attr` takes a dictionary, found {}", other.describe());
                    return Err(self.error("relax-attr", message, span));
                }
            },
            "tuple" => {
                let mut items = Vec::with_capacity(args.positional.len());
                for (value, place) in args.positional {
                    if let Value::List(_) | Value::None = value {
                        return Err(self.error("relax-syntax", "`R.tuple` takes values, one by one", place));
                    }
                    items.push(self.narrow(value));
                }
                Value::Tuple(items)
            }
            "Call" => return self.whole_call(args),
            "emit_with_ty" | "emit_with_type" | "emit_with_sinfo" => return self.emit_with_ty(args),
            "shape" => {
                let value = first(&mut args, "value");
                let dims = self.extents(&value, span)?;
                Value::Expr(self.shape_node(&dims))
            }
            "str" => match first(&mut args, "value") {
                text @ Value::Str(_) => self.argument(text, span)?,
                other => {
                    return Err(self.error("relax-syntax", format!("`R.str` takes a string, found {}", other.describe()), span));
                }
            },
            "prim_value" => {
                self.hint("`R.prim_value(x)` is just `x` today", span);
                match first(&mut args, "value") {
                    Value::Str(_) => return Err(self.error("relax-syntax", "Cannot convert a string to `Expr`", span)),
                    value => self.argument(value, span)?,
                }
            }
            "dtype" => match first(&mut args, "value") {
                Value::Str(text) => {
                    let text = self.store.name_rc(text);
                    let dtype = self.dtype(&text.0, span)?.unwrap_or(DType::new(crate::ir::DTypeCode::Handle, 0));
                    let ty = self.store.ty(Type::Any);
                    Value::Expr(self.store.add_typed(Expr::DataType(dtype), Some(ty)))
                }
                other => {
                    return Err(self.error("relax-dtype", format!("`R.dtype` takes a string, found {}", other.describe()), span));
                }
            },
            "const" => {
                let (value, dtype) = (first(&mut args, "value"), args.next("dtype"));
                return self.constant(value, dtype, span);
            }
            "dist.const" => {
                let (value, ty) = (first(&mut args, "value"), args.next("ty"));
                let dtype = match &ty {
                    Some((Value::Type(ty), _)) => match self.store.type_of_id(*ty) {
                        Type::Distributed { tensor, .. } => self.store.tensor_info(*tensor).and_then(|info| info.dtype),
                        _ => None,
                    },
                    _ => None,
                };
                let dtype = dtype.map(|dtype| (Value::Str(self.store.name(&dtype.to_string())), span));
                let Value::Expr(constant) = self.constant(value, dtype, span)? else { return Err(super::Stop) };
                match ty {
                    Some((Value::Type(ty), _)) => Value::Expr(self.store.add_typed(self.store.expr(constant), Some(ty))),
                    _ => Value::Expr(constant),
                }
            }
            "ExternFunc" => {
                let Value::Str(symbol) = first(&mut args, "global_symbol") else {
                    return Err(self.error("relax-syntax", "`R.ExternFunc` takes the symbol of a function", span));
                };
                let ty = match args.next("ty") {
                    Some((Value::Type(ty), _)) => Some(ty),
                    _ => None,
                };
                Value::Expr(self.store.add_typed(Expr::Extern(symbol), ty))
            }
            "call_packed" => return self.call_packed(args),
            "device" => {
                let of = |args: &mut Args<'s>, name| match args.next(name) {
                    Some((Value::Int(value), _)) => value,
                    _ => 0,
                };
                let fields = vec![Value::Int(of(&mut args, "device_type")), Value::Int(of(&mut args, "index"))];
                Value::List(fields)
            }
            "cpu" | "cuda" | "opencl" | "vulkan" | "metal" | "rocm" | "ext_dev" | "webgpu" | "hexagon" => {
                let index = args.next("dev_id").map_or(Value::Int(0), |(index, _)| index);
                Value::List(vec![Value::Int(crate::tir::device_type(name)), index])
            }
            "stop_lift_params" => return self.call_op("builtin.stop_lift_params", args),
            "device_mesh" => {
                let fields = [("shape", args.next("shape")), ("device_range", args.next("device_range"))];
                Value::Attr(self.object("relax.distributed.DeviceMesh", fields, span)?)
            }
            "print" | "assert_op" => return self.formatted(name, args),
            "hint_on_device" => return self.hint_on_device(args),
            "to_vdevice" => {
                let Some((Value::Str(text), place)) = args.take("dst_vdevice").or_else(|| args.positional.pop()) else {
                    return Err(self.error("relax-attr", "`R.to_vdevice` takes the name of a device", span));
                };
                let text = self.store.name_rc(text);
                let device = self.vdevice(&text.0, place)?;
                let attrs = self.dict("relax.attrs.ToVDeviceAttrs", &[("dst_vdevice", AttrValue::Object(device))]);
                let data = first(&mut args, "data");
                let data = self.argument(data, span)?;
                self.op_value("to_vdevice", vec![data], Some(attrs), Vec::new(), span)?
            }
            "call_pure_packed" | "call_inplace_packed" | "call_builtin_with_ctx" | "call_py_func" => {
                return self.call_named(name, args);
            }
            "dot" => {
                self.hint("`R.dot` is `R.matmul` today", span);
                return self.call_op("matmul", args);
            }
            "nn.attention" => return self.attention(args),
            "linear" => return self.linear(args),
            "nn.relu6" => return self.relu6(args),
            "masked_fill" => return self.masked_fill(args),
            "call_tir_dyn" => return self.call_op("vm.call_tir_dyn", args),
            _ => return self.call_op(name, args),
        })
    }

    /// Reads `R.match_cast(value, type)`, in 2022 `R.match_shape(value, (n, m))`.
    fn match_cast(&mut self, id: Id<Node>, name: &str, args: &[Arg]) -> Read<Value> {
        let [value, ty] = args else {
            return Err(self.error_at("relax-syntax", format!("`R.{name}` takes a value and what it is matched with"), id));
        };
        let operand = self.eval(value.value)?;
        let span = self.span(id);
        if let Value::Tuple(_) = operand {
            self.refused("R.match_cast expects an expression, but got a tuple of Python: bind it to a name first", span);
        }
        let operand = match operand {
            Value::None => return Err(self.error("relax-syntax", "value of match_cast cannot be None", span)),
            operand => self.argument(operand, span)?,
        };
        let ty = if name == "match_shape" {
            self.hint("`R.match_shape` is `R.match_cast` with a type today", span);
            self.declare_names(ty.value);
            let dims = self.dims(ty.value)?;
            let known = match &operand {
                Value::Expr(id) => self.store.checked_type(*id),
                _ => None,
            };
            match known.and_then(|ty| self.store.tensor_info(ty)) {
                Some(info) => {
                    self.store.tensor_like(crate::ir::TensorInfo { extents: crate::ir::Extents::Known(dims.into()), ..info })
                }
                None => self.store.ty(Type::Shape(crate::ir::Extents::Known(dims.into()))),
            }
        } else {
            self.ty(ty.value)?
        };
        Ok(Value::Cast(Box::new(operand), ty))
    }

    fn call_tir(&mut self, name: &str, args: &[Arg], span: Span) -> Read<Value> {
        // The output types come third where they are not named.
        let mut out = None;
        let mut rest = Vec::new();
        let mut symbols = None;
        // The shape and the element type of 2022, when they stand in the place of the type.
        let mut old_dtype = None;
        let mut indices = None;
        let out_place = if name == "call_tir_inplace" && args.get(3).is_some_and(|arg| arg.name().is_none()) { 3 } else { 2 };
        for (place, arg) in args.iter().enumerate() {
            match arg.name().map(|name| self.tree.text(name)) {
                Some("out_ty" | "out_sinfo" | "tir_vars") => {}
                Some("dtype") => old_dtype = Some(arg.value),
                None if place == 2 && out_place == 3 => indices = Some(arg.value),
                None if place == out_place => out = Some(arg.value),
                None if place == 3 && self.tree.string(arg.value).is_some() => old_dtype = Some(arg.value),
                _ => rest.push(*arg),
            }
        }
        for arg in args {
            match arg.name().map(|name| self.tree.text(name)) {
                Some("out_ty") => out = Some(arg.value),
                Some("out_sinfo") => {
                    self.hint("what was called struct info is a type today: `out_ty=`", span);
                    out = Some(arg.value);
                }
                Some("tir_vars") => symbols = Some(arg.value),
                _ => {}
            }
        }
        let Some(out) = out else {
            return Err(self.error("relax-missing-arg", format!("`R.{name}` needs `out_ty=`"), span));
        };
        let of_today = args.iter().any(|arg| arg.name().is_some_and(|name| self.tree.text(name) == "out_ty"));
        let out = if self.is_shape(out) {
            self.old_output(out, old_dtype)?
        } else {
            let many = matches!(self.tree.expr(out), Node::Tuple(_) | Node::List(_));
            let types = self.types(out)?;
            if many && types.len() != 1 { self.store.tuple_type(&types) } else { types.first().copied().ok_or(super::Stop)? }
        };
        let mut args = self.args(&rest, span)?;
        let (name, callee) = self.tir_callee(name, &mut args, of_today, span)?;
        let operands = match args.next("args") {
            Some((value @ Value::Tuple(_), _)) => value,
            Some((Value::List(items), _)) => Value::Tuple(items),
            // A variable that holds a tuple stands for itself, anything else is the only argument.
            Some((Value::Expr(id), _)) if self.holds_tuple(id) => Value::Expr(id),
            Some((value, _)) => Value::Tuple(vec![value]),
            None => Value::Tuple(Vec::new()),
        };
        let operands = match symbols {
            Some(symbols) => self.with_symbols(operands, symbols)?,
            None => operands,
        };
        let mut attrs = None;
        if name == "call_tir_inplace" {
            let indices = match indices {
                Some(id) => Some((self.eval(id)?, self.span(id))),
                None => None,
            };
            let indices = match args.take("inplace_indices").or(indices) {
                Some((value, place)) => self.typed_attr("inplace_indices", crate::ops::AttrKind::Ints, &value, place)?,
                None => return Err(self.error("relax-missing-arg", "`R.call_tir_inplace` needs `inplace_indices=`", span)),
            };
            attrs = Some(self.dict("relax.attrs.CallTIRInplaceAttrs", &[("inplace_indices", indices)]));
        }
        if name == "call_tir_with_grad" {
            let Some((grad, _)) = args.take("te_grad_name") else {
                let message = "call_tir_with_grad() missing 1 required positional argument: 'te_grad_name'";
                return Err(self.error("relax-missing-arg", message, span));
            };
            let grad = self.attr_value(&grad, span)?;
            let kwargs = args.take("te_grad_kwargs").map_or(Value::Dict(Vec::new()), |(value, _)| value);
            let kwargs = self.attr_value(&kwargs, span)?;
            attrs = Some(self.dict("relax.attrs.CallTIRWithGradAttrs", &[("te_grad_name", grad), ("te_grad_kwargs", kwargs)]));
        }
        self.no_more(&args)?;
        // It is the same operator: only the type of its result says that tensors are spread.
        let name = if name == "dist.call_tir" { "call_tir" } else { name };
        let mut value = self.op_value(name, vec![callee, operands], attrs, vec![out], span)?;
        if let Value::Call(call) = &mut value {
            call.ty = Some(out);
        }
        Ok(value)
    }

    /// Reads what a call of a tensor program calls, and returns the call's name, too: that of a function outside of the
    /// module was the same in 2022.
    fn tir_callee<'n>(&mut self, name: &'n str, args: &mut Args<'s>, of_today: bool, span: Span) -> Read<(&'n str, Value)> {
        let (symbol, place) = match args.next("gvar").or_else(|| args.take("func")) {
            Some((Value::Str(symbol), place)) => (symbol, place),
            Some((value, place)) => return Ok((name, self.argument(value, place)?)),
            None => return Err(self.error("relax-missing-arg", format!("`R.{name}` needs a function"), span)),
        };
        let callee = Value::Expr(self.store.add(Expr::Extern(symbol)));
        if name == "call_tir" && !of_today {
            self.hint("a function outside of the module is called by `R.call_dps_packed` today", place);
            return Ok(("call_dps_packed", callee));
        }
        if name.starts_with("call_tir") {
            let message = format!(
                "R.{name} expects the first argument to be a GlobalVar referring to a TIR PrimFunc. However, the argument \
                 \"{}\" is the name of a function outside of the module, which `R.call_dps_packed` calls",
                self.store.str(symbol)
            );
            return Err(self.error("relax-call-tir", message, place));
        }
        Ok((name, callee))
    }

    fn holds_tuple(&self, id: ExprId) -> bool {
        let ty = self.store.checked_type(id).map(|ty| self.store.type_of_id(ty));
        matches!(self.store.expr(id), Expr::Tuple(_)) || matches!(ty, Some(Type::Tuple(_)))
    }

    /// Parses `R.call_packed("f", x, ty_args=(T,))`; the other named arguments are attributes.
    fn call_packed(&mut self, mut args: Args<'s>) -> Read<Value> {
        let span = args.span;
        let Some((Value::Str(symbol), _)) = args.next("func") else {
            return Err(self.error("relax-syntax", "`R.call_packed` takes the name of a function first", span));
        };
        let callee = self.store.add(Expr::Extern(symbol));
        let key = match args.take("attrs_type_key") {
            Some((Value::Str(key), _)) => Some(self.store.str(key).to_owned()),
            _ => None,
        };
        let mut fields = Vec::new();
        for (name, value, place) in std::mem::take(&mut args.named) {
            let value = self.attr_value(&value, place)?;
            fields.push((self.store.name(name), value));
        }
        let attrs = (key.is_some() || !fields.is_empty()).then(|| {
            let key = key.filter(|key| key != "ir.DictAttrs").unwrap_or_else(|| "DictAttrs".to_owned());
            let key = self.store.name(&key);
            self.store.attrs(Attrs { key, fields: fields.into() })
        });
        let mut operands = Vec::new();
        for (value, place) in args.positional {
            operands.push(self.argument(value.among_others(), place)?);
        }
        let ty_args = args.types.into_iter().next().map(|(_, types, _)| types).unwrap_or_default();
        let ty = match ty_args[..] {
            // The annotation of the variable is used, or else any type.
            [] => None,
            [ty] => Some(ty),
            _ => Some(self.store.tuple_type(&ty_args)),
        };
        Ok(Value::Call(Box::new(CallParts { callee, args: operands, attrs, ty_args, ty, span })))
    }

    /// Reads calls of operators whose first argument is the name of a function.
    fn call_named(&mut self, name: &str, mut args: Args<'s>) -> Read<Value> {
        let span = args.span;
        let callee = match args.next("func").or_else(|| args.take("py_func_name")) {
            Some((Value::Str(symbol), _)) if name == "call_py_func" => self.argument(Value::Str(symbol), span)?,
            Some((Value::Str(symbol), _)) => Value::Expr(self.store.add(Expr::Extern(symbol))),
            Some((value, place)) => self.argument(value, place)?,
            None => return Err(self.error("relax-missing-arg", format!("`R.{name}` needs a function"), span)),
        };
        let mut operands = vec![callee];
        let mut attrs = None;
        if name == "call_inplace_packed" {
            let Some((value, place)) = args.take("inplace_indices") else {
                return Err(self.error("relax-missing-arg", "`R.call_inplace_packed` needs `inplace_indices=`", span));
            };
            let indices = self.typed_attr("inplace_indices", crate::ops::AttrKind::Ints, &value, place)?;
            attrs = Some(self.dict("relax.attrs.CallInplacePackedAttrs", &[("inplace_indices", indices)]));
        }
        for (value, place) in std::mem::take(&mut args.positional) {
            let value = self.argument(value.among_others(), place)?;
            operands.push(match value {
                value @ Value::Tuple(_) => value,
                value if matches!(name, "call_py_func") => Value::Tuple(vec![value]),
                value => value,
            });
        }
        if name == "call_py_func" && operands.len() == 1 {
            operands.push(Value::Tuple(Vec::new()));
        }
        self.no_more(&args)?;
        let ty_args = args.types.into_iter().next().map(|(_, types, _)| types);
        if ty_args.is_none() && name.ends_with("packed") {
            let message = format!("{name}() missing 1 required keyword-only argument: 'ty_args'");
            return Err(self.error("relax-missing-arg", message, span));
        }
        let ty_args = ty_args.unwrap_or_default();
        let ty = match ty_args[..] {
            [] => self.store.ty(Type::Any),
            [ty] => ty,
            _ => self.store.tuple_type(&ty_args),
        };
        let mut value = self.op_value(name, operands, attrs, ty_args, span)?;
        if let Value::Call(call) = &mut value {
            call.ty = Some(ty);
        }
        Ok(value)
    }

    fn hint_on_device(&mut self, mut args: Args<'s>) -> Read<Value> {
        let span = args.span;
        let data = args.next("data").map_or(Value::None, |(value, _)| value);
        let data = self.argument(data, span)?;
        let (device_type, index) = match args.next("dst_vdevice") {
            Some((Value::List(fields), _)) => match fields[..] {
                [Value::Int(device_type), Value::Int(index)] => (device_type, index),
                _ => (1, 0),
            },
            _ => (1, 0),
        };
        let scope = args.next("memory_scope").map_or(Value::Str(self.store.name("global")), |(value, _)| value);
        let scope = self.attr_value(&scope, span)?;
        let fields = [("device_type", AttrValue::int(device_type)), ("index", AttrValue::int(index)), ("memory_scope", scope)];
        let attrs = self.dict("relax.attrs.HintOnDeviceAttrs", &fields);
        self.op_value("hint_on_device", vec![data], Some(attrs), Vec::new(), span)
    }

    pub(super) fn object<const N: usize>(
        &mut self,
        key: &str,
        fields: [(&str, Option<(Value, Span)>); N],
        span: Span,
    ) -> Read<AttrValue> {
        let mut values = Vec::new();
        for (name, value) in fields {
            let Some((value, place)) = value else {
                return Err(self.error("relax-missing-arg", format!("`{name}` is missing"), span));
            };
            let value = self.attr_value(&value, place)?;
            values.push((self.store.name(name), value));
        }
        let key = self.store.name(key);
        let object = Object { key, fields: values.into(), items: [].into(), repr: None };
        Ok(AttrValue::Object(self.store.add_object(object)))
    }

    /// Makes a set of attributes.
    pub(super) fn dict(&mut self, key: &str, fields: &[(&str, AttrValue)]) -> AttrsId {
        let fields = fields.iter().map(|(name, value)| (self.store.name(name), value.clone())).collect();
        let key = self.store.name(key);
        self.store.attrs(Attrs { key, fields })
    }

    /// Complains about arguments that are left.
    pub(super) fn no_more(&mut self, args: &Args<'s>) -> Read<()> {
        if let Some((name, _, span)) = args.named.first() {
            return Err(self.error("relax-unknown-arg", format!("there is no argument `{name}` here"), *span));
        }
        match args.positional.first() {
            Some((_, span)) => Err(self.error("relax-unknown-arg", "one argument too many", *span)),
            None => Ok(()),
        }
    }
}
