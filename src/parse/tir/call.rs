//! Calls: `T.int64(3)`, `T.max(a, b)`, functions of Python, functions of the module, macros.

use super::value::Value;
use super::{Node, Read, Reader};
use crate::ir::{DType, DTypeCode, Id, List, PrimExpr, PrimId, PrimOp};
use crate::parse::script::tree::Arg;
use crate::tir::{self, math};
use std::rc::Rc;

impl<'s> Reader<'_, 's, '_> {
    pub(super) fn call(&mut self, callee: Id<Node>, args: List<Arg>, at: Id<Node>) -> Read<Value> {
        self.count(at)?;
        let args = self.tree.args(args).to_vec();
        if let Some(name) = self.intrinsic(callee) {
            return self.intrinsic_call(name, &args, at);
        }
        if let Node::Attribute { value, name } = self.tree.expr(callee) {
            if let Node::Subscript { .. } = self.tree.expr(value)
                && self.tree.dotted(callee).is_none()
                && matches!(self.tree.text(name), "legacy")
            {
                return Err(self.device_dialect("this intrinsic", at));
            }
            let receiver = self.value(value)?;
            return match receiver {
                Value::Module => self.function_call(self.tree.text(name), &args, at),
                receiver => self.method(receiver, self.tree.text(name), &args, at),
            };
        }
        if let Some(name) = self.tree.name(callee)
            && self.meaning(name).is_none()
            && self.macro_named(name).is_none()
        {
            return match self.python_call(name, &args, at)? {
                Some(value) => Ok(value),
                None if self.around.modules.contains(name) || self.function_named(name).is_some() => {
                    self.function_call(name, &args, at)
                }
                None => Err(self.unknown(name, callee)),
            };
        }
        match self.value(callee)? {
            Value::Macro(def) => self.macro_call(def, &args, at),
            Value::Type(dtype) => self.typed(dtype, &args, at),
            Value::Function(name) => {
                let name = self.store.str(name).to_owned();
                self.function_call(&name, &args, at)
            }
            lambda @ Value::Lambda(_) => {
                let given = self.positional(&args)?;
                self.lambda_call(&lambda, given.into_iter().map(|(value, _)| value).collect(), at)
            }
            other => Err(self.error("tir-type", format!("{} cannot be called", other.kind()), callee)),
        }
    }

    /// Reads a function that Python has.
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each name")]
    fn python_call(&mut self, name: &str, args: &[Arg], at: Id<Node>) -> Read<Option<Value>> {
        if !matches!(name, "len" | "int" | "float" | "bool" | "str" | "min" | "max" | "abs" | "sum" | "list" | "tuple" | "range")
        {
            return Ok(None);
        }
        let given = self.positional(args)?;
        let values: Vec<Value> = given.into_iter().map(|(value, _)| value).collect();
        let wrong = |reader: &mut Self| {
            let of_tvm = matches!(name, "min" | "max" | "abs");
            let advice = if of_tvm { format!(": of expressions there is `T.{name}`") } else { String::new() };
            Err(reader.error("tir-type", format!("`{name}` does not take this{advice}"), at))
        };
        let number = |value: &Value| match value {
            Value::Int(x) => Some(*x as f64),
            Value::Float(x) => Some(*x),
            Value::Bool(x) => Some(f64::from(*x)),
            _ => None,
        };
        Ok(Some(match (name, &values[..]) {
            ("len", [value]) => match value {
                Value::Str(text) => Value::Int(text.chars().count() as i64),
                Value::Dict(entries) => Value::Int(entries.len() as i64),
                _ => match value.items() {
                    Some(items) => Value::Int(items.len() as i64),
                    None => return wrong(self),
                },
            },
            ("int", [Value::Str(text)]) => match text.parse() {
                Ok(value) => Value::Int(value),
                Err(_) => return wrong(self),
            },
            ("int", [Value::Prim(prim)]) => match self.store.as_prim_int(*prim) {
                Some(value) => Value::Int(value),
                None => return wrong(self),
            },
            ("int", [value]) => match number(value) {
                Some(value) => Value::Int(value as i64),
                None => return wrong(self),
            },
            ("float", [Value::Str(text)]) => match text.parse() {
                Ok(value) => Value::Float(value),
                Err(_) => return wrong(self),
            },
            ("float", [value]) => match number(value) {
                Some(value) => Value::Float(value),
                None => return wrong(self),
            },
            ("bool", [value]) => match number(value) {
                Some(value) => Value::Bool(value != 0.0),
                None => return wrong(self),
            },
            ("str", [Value::Str(text)]) => Value::Str(Rc::clone(text)),
            ("str", [Value::Int(value)]) => Value::Str(value.to_string().into()),
            ("str", [Value::Type(dtype)]) => Value::Str(dtype.to_string().into()),
            ("list", [value]) | ("tuple", [value]) if value.items().is_some() => {
                let items = value.items().cloned().unwrap_or_else(|| Vec::new().into());
                if name == "list" { Value::List(items) } else { Value::Tuple(items) }
            }
            ("abs", [Value::Int(value)]) => Value::Int(value.wrapping_abs()),
            ("abs", [Value::Float(value)]) => Value::Float(value.abs()),
            ("range", values) if values.iter().all(|value| matches!(value, Value::Int(_))) => {
                let ints: Vec<i64> =
                    values.iter().filter_map(|value| if let Value::Int(x) = value { Some(*x) } else { None }).collect();
                let (from, to, step) = match ints[..] {
                    [to] => (0, to, 1),
                    [from, to] => (from, to, 1),
                    [from, to, step] if step != 0 => (from, to, step),
                    _ => return wrong(self),
                };
                let mut out = Vec::new();
                let mut x = from;
                while (step > 0 && x < to) || (step < 0 && x > to) {
                    if out.len() >= 1 << 16 {
                        return Err(self.error("tir-too-large", "this list is too long", at));
                    }
                    out.push(Value::Int(x));
                    x = x.saturating_add(step);
                }
                Value::List(out.into())
            }
            ("sum" | "min" | "max", values) => {
                let items: Vec<Value> = match values {
                    [only] => match only.items() {
                        Some(items) => items.to_vec(),
                        None => return wrong(self),
                    },
                    values => values.to_vec(),
                };
                let mut items = items.into_iter();
                let mut result = match (name, items.next()) {
                    ("sum", None) => return Ok(Some(Value::Int(0))),
                    (_, Some(first)) => first,
                    _ => return wrong(self),
                };
                for item in items {
                    result = match (name, number(&result).zip(number(&item))) {
                        ("sum", _) => self.binary(crate::parse::script::tree::Binary::Add, result, item, at)?,
                        ("min", Some((x, y))) => {
                            if y < x {
                                item
                            } else {
                                result
                            }
                        }
                        (_, Some((x, y))) => {
                            if y > x {
                                item
                            } else {
                                result
                            }
                        }
                        _ => return wrong(self),
                    };
                }
                result
            }
            _ => return wrong(self),
        }))
    }

    /// Reads `cls.f(x)`: a call of a function of the module.
    pub(super) fn function_call(&mut self, name: &str, args: &[Arg], at: Id<Node>) -> Read<Value> {
        let mut prims = Vec::new();
        for (value, at) in self.positional(args)? {
            prims.push(self.argument(&value, at)?);
        }
        if let Some(arg) = args.iter().find(|arg| arg.name().is_some()) {
            return Err(self.error("tir-syntax", "a function of the module has no arguments by name", arg.value));
        }
        let dtype = match self.function_named(name) {
            Some(def) => self.result_of(def).unwrap_or(DType::VOID),
            None => {
                let message = format!("there is no function called `{name}`");
                return Err(self.error("tir-undefined", message, at));
            }
        };
        Ok(Value::Prim(self.store.prim_call(&format!("@{name}"), &prims, dtype)))
    }

    /// Reads an argument of a call, which may be a buffer.
    pub(super) fn argument(&mut self, value: &Value, at: Id<Node>) -> Read<PrimId> {
        match value {
            Value::Buffer(buffer) if !self.store.is_scalar(*buffer, true) => Ok(self.store.prim(PrimExpr::Buffer(*buffer))),
            value => self.prim_from(value, at),
        }
    }

    /// Reads `T.int64(3)`, `T.float32("inf")`, `T.int64(x)`, `T.int32()`.
    pub(super) fn typed(&mut self, dtype: DType, args: &[Arg], at: Id<Node>) -> Read<Value> {
        let [arg] = args else {
            if args.is_empty() {
                return Ok(Value::Fresh(dtype));
            }
            return Err(self.error("tir-syntax", format!("`T.{dtype}` takes one value"), at));
        };
        // Of 64 bits without a sign there are more than fit an integer with one.
        if let Some(value) = self.tree.int(arg.value)
            && i64::try_from(value).is_err()
        {
            return match u64::try_from(value) {
                Ok(value) if dtype == DType::new(DTypeCode::UInt, 64) => {
                    Ok(Value::Prim(self.store.prim_int(value as i64, dtype)))
                }
                _ => Err(self.error("tir-number", "this number does not fit into 64 bits", arg.value)),
            };
        }
        let element = dtype.element();
        let prim = match self.value(arg.value)?.bare() {
            Value::None => return Ok(Value::Fresh(dtype)),
            Value::Str(text) => {
                let text = text.trim().to_ascii_lowercase();
                let known = match &*text {
                    "inf" | "+inf" | "infinity" => Some(f64::INFINITY),
                    "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
                    "nan" => Some(f64::NAN),
                    text => text.parse().ok(),
                };
                let Some(known) = known else {
                    return Err(self.error("tir-number", format!("`{text}` is not a number"), arg.value));
                };
                self.store.prim_float(known, element)
            }
            Value::Int(value) => {
                self.check_range(value, element, arg.value)?;
                let plain = self.store.prim_int(value, DType::I64);
                if element == DType::I64 { plain } else { tir::cast(self.store, element, plain) }
            }
            Value::Float(value) if element.is_float() => self.store.prim_float(value, element),
            Value::Float(value) => {
                self.check_range(value as i64, element, arg.value)?;
                self.store.prim_int(value as i64, element)
            }
            other => {
                let prim = self.prim_from(&other, arg.value)?;
                if self.is_pointer(prim) {
                    return Err(self.error("tir-type", "a pointer is no number: `T.reinterpret` takes its bits", arg.value));
                }
                let lanes = self.store.prim_dtype(prim).lanes;
                if lanes != 1 {
                    return Ok(Value::Prim(tir::cast(self.store, DType { lanes, ..element }, prim)));
                }
                tir::cast(self.store, element, prim)
            }
        };
        if dtype.lanes == 1 {
            return Ok(Value::Prim(prim));
        }
        Ok(Value::Prim(self.store.prim(PrimExpr::Broadcast { value: prim, lanes: dtype.lanes })))
    }

    /// Fails in TVM's words if an integer does not fit its type.
    fn check_range(&mut self, value: i64, dtype: DType, at: Id<Node>) -> Read<()> {
        let bits = u32::from(dtype.bits);
        match dtype.code {
            DTypeCode::UInt if dtype.bits > 1 && value < 0 => {
                Err(self.error("tir-number", format!("cannot make uint from negative value {value}"), at))
            }
            DTypeCode::UInt if bits > 1 && bits < 63 && value >> bits != 0 => {
                Err(self.error("tir-number", format!("Literal value {value} exceeds range of {dtype}"), at))
            }
            DTypeCode::Int if bits < 64 && (value >> (bits - 1) != 0 && value >> (bits - 1) != -1) => {
                Err(self.error("tir-number", format!("Literal value {value} exceeds range of {dtype}"), at))
            }
            _ => Ok(()),
        }
    }

    /// Reads `T.Let(body, where={x: value})`.
    pub(super) fn let_expr(&mut self, args: &[Arg], at: Id<Node>) -> Read<Value> {
        let (body, bindings) = match args {
            [body, bindings] => (body.value, bindings.value),
            _ => return Err(self.error("tir-syntax", "`T.Let` takes a body and `where={variable: value}`", at)),
        };
        let Value::Dict(entries) = self.value(bindings)? else {
            return Err(self.error("tir-syntax", "expected `{variable: value}`", bindings));
        };
        let mut result = self.prim(body)?;
        for (var, value) in entries.iter().rev() {
            let Some(var) = self.symbol_of(var) else {
                return Err(self.error("tir-syntax", "only a variable can be bound", bindings));
            };
            let value = self.prim_from(value, bindings)?;
            result = self.store.prim(PrimExpr::Let { var, value, body: result });
        }
        Ok(Value::Prim(result))
    }

    /// Reads `T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`.
    pub(super) fn reducer(&mut self, combiner: &Value, identities: &Value, at: Id<Node>) -> Read<Value> {
        let Some(identities) = identities.items().cloned() else {
            return Err(self.error("tir-type", "expected a list of what changes nothing", at));
        };
        let mut prims = Vec::with_capacity(identities.len());
        for identity in identities.iter() {
            prims.push(self.prim_from(identity, at)?);
        }
        if prims.is_empty() {
            return Err(self.error("tir-type", "a reducer needs what changes nothing", at));
        }
        let types: Vec<DType> = prims.iter().map(|prim| self.store.prim_dtype(*prim)).collect();
        let n = types.len();
        let (vars, results) = self.lambda(combiner, |reader, name, i| reader.new_symbol(name, types[i % n]), at)?;
        if vars.len() != 2 * n || results.len() != n {
            return Err(self.error("tir-type", "a reducer takes two of each value and gives one of each", at));
        }
        let mut combined = Vec::with_capacity(n);
        for result in &results {
            combined.push(self.prim_from(result, at)?);
        }
        let reducer = crate::ir::Reducer {
            lhs: vars[..n].into(),
            rhs: vars[n..].into(),
            results: combined.into(),
            identities: prims.into(),
        };
        Ok(Value::Prim(self.store.prim(PrimExpr::Reducer(Box::new(reducer)))))
    }

    /// Returns the number of lanes that an expression says: a number, or a multiple of `T.vscale()`.
    pub(super) fn lanes_of(&mut self, lanes: PrimId, at: Id<Node>) -> Read<u16> {
        let small = |n: i64| u16::try_from(n).ok().filter(|n| *n > 0 && *n < DType::SCALABLE);
        let vscale = |reader: &Self, id: PrimId| matches!(reader.store.prim_of_id(id), PrimExpr::Call { op, .. } if reader.store.str(*op) == "vscale");
        let found = match *self.store.prim_of_id(lanes) {
            PrimExpr::Int { value, .. } => small(value),
            PrimExpr::Binary { op: PrimOp::Mul, a, b } if vscale(self, a) => {
                self.store.as_prim_int(b).and_then(small).map(|n| n | DType::SCALABLE)
            }
            PrimExpr::Binary { op: PrimOp::Mul, a, b } if vscale(self, b) => {
                self.store.as_prim_int(a).and_then(small).map(|n| n | DType::SCALABLE)
            }
            _ if vscale(self, lanes) => Some(1 | DType::SCALABLE),
            _ => None,
        };
        found.ok_or_else(|| self.error("tir-type", "the length of this vector is neither known nor a multiple of T.vscale()", at))
    }

    /// Reads `T.Ramp`, `T.Broadcast`, `T.Shuffle`: vectors.
    pub(super) fn vector(&mut self, name: &str, args: &[(Value, Id<Node>)], at: Id<Node>) -> Read<Value> {
        let expr = match (name, args) {
            ("Ramp" | "ramp", [(base, a), (stride, b), (lanes, c)]) => {
                let (base, stride) = (self.prim_from(base, *a)?, self.prim_from(stride, *b)?);
                let lanes = self.prim_from(lanes, *c)?;
                let lanes = self.lanes_of(lanes, *c)?;
                let dtype = self.store.prim_dtype(base);
                if dtype.lanes != 1 || self.store.prim_dtype(stride).lanes != 1 {
                    return Err(self.error("tir-type", "a ramp of vectors is none", at));
                }
                if lanes == 1 {
                    return Err(self.error("tir-type", "a ramp has more than one lane", *c));
                }
                let stride = tir::cast(self.store, dtype, stride);
                PrimExpr::Ramp { base, stride, lanes }
            }
            ("Broadcast" | "broadcast", [(value, a), (lanes, b)]) => {
                let value = self.prim_from(value, *a)?;
                let lanes = self.prim_from(lanes, *b)?;
                let lanes = self.lanes_of(lanes, *b)?;
                if self.store.prim_dtype(value).lanes != 1 {
                    return Err(self.error("tir-type", "a vector of vectors is none", *a));
                }
                PrimExpr::Broadcast { value, lanes }
            }
            ("Shuffle", [(vectors, a), (indices, b)]) => {
                let mut lists = Vec::new();
                for (list, at) in [(vectors, *a), (indices, *b)] {
                    let Some(items) = list.items().cloned() else {
                        return Err(self.error("tir-type", "`T.Shuffle` takes a list of vectors and one of numbers", at));
                    };
                    let prims: Read<Box<[PrimId]>> = items.iter().map(|item| self.prim_from(item, at)).collect();
                    lists.push(prims?);
                }
                let indices = lists.pop().unwrap_or_default();
                let vectors = lists.pop().unwrap_or_default();
                if vectors.is_empty() || indices.is_empty() {
                    return Err(self.error("tir-type", "`T.Shuffle` takes a list of vectors and one of numbers", at));
                }
                PrimExpr::Shuffle { vectors, indices }
            }
            _ => return Err(self.error("tir-syntax", format!("`T.{name}` takes another number of arguments"), at)),
        };
        Ok(Value::Prim(self.store.prim(expr)))
    }

    /// Reads arithmetic by name: nodes as they are written, and functions that fold.
    pub(super) fn arithmetic(&mut self, name: &str, args: &[(Value, Id<Node>)], at: Id<Node>) -> Read<Option<Value>> {
        let raw = match name {
            "LShift" | "RShift" | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" => None,
            name => PrimOp::named(name),
        };
        let folds = match name {
            "truncdiv" | "div" => Some(PrimOp::Div),
            "truncmod" => Some(PrimOp::Mod),
            "floordiv" | "indexdiv" => Some(PrimOp::FloorDiv),
            "floormod" | "indexmod" => Some(PrimOp::FloorMod),
            "min" => Some(PrimOp::Min),
            "max" => Some(PrimOp::Max),
            _ => None,
        };
        let matched = match name {
            "shift_left" | "LShift" => Some("shift_left"),
            "shift_right" | "RShift" => Some("shift_right"),
            "bitwise_and" | "BitwiseAnd" => Some("bitwise_and"),
            "bitwise_or" | "BitwiseOr" => Some("bitwise_or"),
            "bitwise_xor" | "BitwiseXor" => Some("bitwise_xor"),
            "pow" | "power" => Some("pow"),
            "ceildiv" => Some("ceildiv"),
            _ => None,
        };
        if raw.is_none() && folds.is_none() && matched.is_none() {
            return Ok(None);
        }
        let [(a, at_a), (b, at_b)] = args else {
            return Err(self.error("tir-syntax", format!("`T.{name}` takes two arguments"), at));
        };
        let python = [matches!(a, Value::Int(_)), matches!(b, Value::Int(_))];
        let (mut a, mut b) = (self.prim_from(a, *at_a)?, self.prim_from(b, *at_b)?);
        if self.is_pointer(a) || self.is_pointer(b) {
            return Err(self.error("tir-type", "arithmetic works on numbers, and this is a pointer or a string", at));
        }
        let divides = matches!(raw.or(folds), Some(PrimOp::Div | PrimOp::Mod | PrimOp::FloorDiv | PrimOp::FloorMod));
        if divides && folds.is_some() && self.store.as_prim_int(b) == Some(0) {
            return Err(self.error("tir-number", "Divide by zero", at));
        }
        let prim = match (raw, folds, matched) {
            (Some(op), ..) => {
                let (a, b) = tir::match_types(self.store, a, b);
                self.store.prim_binary(op, a, b)
            }
            (_, Some(op @ (PrimOp::Min | PrimOp::Max)), _) => math::min_max(self.store, op, a, b),
            (_, Some(op), _) => tir::binary(self.store, op, a, b),
            (_, _, Some("ceildiv")) => math::ceil_div(self.store, a, b),
            (_, _, Some("pow")) => {
                let (x, y) = tir::match_types(self.store, a, b);
                if !self.store.prim_dtype(x).is_float() {
                    return Err(self.error("tir-type", "power only applies to float", at));
                }
                (a, b) = (x, y);
                math::matched(self.store, "pow", a, b)
            }
            (_, _, matched) => {
                let (s, t) = (self.store.prim_dtype(a), self.store.prim_dtype(b));
                if python[0] && !python[1] {
                    a = tir::cast(self.store, t, a);
                }
                if python[1] && !python[0] {
                    b = tir::cast(self.store, s, b);
                }
                math::matched(self.store, matched.unwrap_or("bitwise_and"), a, b)
            }
        };
        Ok(Some(Value::Prim(prim)))
    }

    /// Reads `T.Call("tirx.exp", [x], attrs={...}, ret_ty="float32")`.
    pub(super) fn plain_call(&mut self, args: &[Arg], at: Id<Node>) -> Read<Value> {
        let (mut op, mut list, mut attrs, mut dtype) = (None, None, None, None);
        for (i, arg) in args.iter().enumerate() {
            match (arg.name().map(|name| self.tree.text(name)), i) {
                (Some("op"), _) | (None, 0) => op = Some(arg.value),
                (Some("args"), _) | (None, 1) => list = Some(arg.value),
                (Some("attrs"), _) => attrs = self.dict(arg.value)?,
                (Some("ret_ty" | "dtype"), _) => dtype = Some(self.dtype(arg.value)?),
                _ => {
                    return Err(self.error(
                        "tir-syntax",
                        "`T.Call` takes an operator, arguments, `attrs=` and `ret_ty=`",
                        arg.value,
                    ));
                }
            }
        }
        let (Some(op), Some(list)) = (op, list) else {
            return Err(self.error("tir-syntax", "`T.Call` takes an operator and a list of arguments", at));
        };
        let name = match self.value(op)? {
            Value::Str(name) => name.to_string(),
            Value::Function(name) => format!("@{}", self.store.str(name)),
            _ => return Err(self.error("tir-type", "an operator is named by a string: \"tirx.exp\"", op)),
        };
        let name = short_name(&name);
        let Some(items) = self.value(list)?.items().cloned() else {
            return Err(self.error("tir-type", "expected a list of arguments", list));
        };
        let mut prims = Vec::with_capacity(items.len() + 1);
        for item in items.iter() {
            prims.push(self.argument(item, list)?);
        }
        if let Some(attrs) = attrs {
            prims.push(self.store.prim(PrimExpr::Attrs(attrs)));
        }
        Ok(Value::Prim(self.store.prim_call(name, &prims, dtype.unwrap_or(DType::VOID))))
    }

    /// Reads `T.call_intrin("int32", "tirx.exp", x)`.
    pub(super) fn intrinsic_by_name(&mut self, args: &[Arg], at: Id<Node>) -> Read<Value> {
        let [dtype, op, rest @ ..] = args else {
            return Err(self.error("tir-syntax", "`T.call_intrin` takes an element type, an operator and its arguments", at));
        };
        let dtype = self.dtype(dtype.value)?;
        let Value::Str(name) = self.value(op.value)? else {
            return Err(self.error("tir-type", "an operator is named by a string: \"tirx.exp\"", op.value));
        };
        let mut prims = Vec::with_capacity(rest.len());
        for (value, at) in self.positional(rest)? {
            prims.push(self.argument(&value, at)?);
        }
        Ok(Value::Prim(self.store.prim_call(short_name(&name), &prims, dtype)))
    }
}

/// Returns the name of an operator as it stands in nodes.
fn short_name(name: &str) -> &str {
    match ["tirx.", "tir.", "prim."].into_iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name) {
        name @ ("tvm_call_packed" | "tvm_call_cpacked" | "tvm_call_packed_lowered" | "tvm_call_cpacked_lowered") => &name[4..],
        name => name,
    }
}
