//! Constants, and calls behind other prefixes than `R.`.

use super::value::Value;
use super::{Node, Read, Reader};
use crate::diag::Span;
use crate::ir::{AttrValue, DType, Dim, Expr, Id, Object, PrimExpr, PrimId, PrimOp, Tensor, Type};
use crate::parse::script::tree::Arg;
use crate::tir::complete_target;
use std::rc::Rc;

impl Reader<'_, '_> {
    pub(super) fn constant(&mut self, value: Value, dtype: Option<(Value, Span)>, span: Span) -> Read<Value> {
        let dtype = match dtype {
            Some((Value::Str(text), place)) => {
                let text = self.store.name_rc(text);
                self.dtype(&text.0, place)?
            }
            _ => None,
        };
        let mut shape = Vec::new();
        let mut leaves = Vec::new();
        self.flatten(&value, 0, &mut shape, &mut leaves, span)?;
        let dtype = dtype.unwrap_or(match leaves.first() {
            Some(Value::Bool(_)) => DType::BOOL,
            Some(Value::Int(_)) => DType::I32,
            _ => DType::F32,
        });
        let mut data = Vec::with_capacity(leaves.len() * dtype.bytes());
        for leaf in leaves {
            let (int, float) = match leaf {
                Value::Int(value) => (value, value as f64),
                Value::Bool(value) => (i64::from(value), f64::from(u8::from(value))),
                Value::Float(value) => (value as i64, value),
                Value::Str(text) => match self.store.str(text) {
                    "inf" => (0, f64::INFINITY),
                    "-inf" => (0, f64::NEG_INFINITY),
                    _ => (0, f64::NAN),
                },
                _ => (0, 0.0),
            };
            super::value::push_element(&mut data, dtype, int, float);
        }
        let ty_shape: Vec<Dim> = shape.iter().map(|&value| Dim::Int { value, bits: 64 }).collect();
        let ty = self.store.tensor_type(&ty_shape, dtype);
        let tensor = Tensor { dtype, shape: shape.into(), data: Some(Rc::from(data)) };
        let tensor = self.store.add_tensor(tensor);
        let node = self.store.add_typed(Expr::Constant(tensor), Some(ty));
        self.store.set_span(node, span);
        Ok(Value::Expr(node))
    }

    /// Returns the numbers of nested lists, and the shape of the nesting.
    fn flatten(&mut self, value: &Value, depth: usize, shape: &mut Vec<i64>, leaves: &mut Vec<Value>, span: Span) -> Read<()> {
        let Some(items) = value.items() else {
            let fits = match value {
                Value::Str(text) => matches!(self.store.str(*text), "inf" | "-inf" | "nan"),
                value => matches!(value, Value::Int(_) | Value::Float(_) | Value::Bool(_)),
            };
            if !fits || depth != shape.len() {
                return Err(self.error("relax-const", "a constant is a number or nested lists of them", span));
            }
            leaves.push(value.clone());
            return Ok(());
        };
        if depth == shape.len() && leaves.is_empty() {
            shape.push(items.len() as i64);
        } else if shape.get(depth) != Some(&(items.len() as i64)) {
            return Err(self.error("relax-const", "the lists of a constant have different lengths", span));
        }
        items.iter().try_for_each(|item| self.flatten(item, depth + 1, shape, leaves, span))
    }

    /// Reads `T.int64(3)`, `T.index_map(...)`, `T.target(...)`, `T.max(a, b)`.
    pub(super) fn tir_call(&mut self, id: Id<Node>, name: &str, args: &[Arg]) -> Read<Value> {
        let span = self.span(id);
        if name == "index_map" {
            return self.index_map(id, args.first().map(|arg| arg.value));
        }
        if name == "target"
            && let [arg] = args
            && arg.name().is_none()
        {
            return self.target(arg.value);
        }
        if let Some(dtype) = DType::parse(name) {
            let [arg] = args else { return Ok(Value::NewSymbol(dtype)) };
            let value = self.eval(arg.value)?;
            return Ok(Value::Prim(match value {
                Value::Int(value) if dtype.is_float() => self.store.prim_float(value as f64, dtype),
                Value::Int(value) => self.store.prim_int(value, dtype),
                Value::Bool(value) => self.store.prim_int(i64::from(value), dtype),
                Value::Float(value) => self.store.prim_float(value, dtype),
                Value::Str(text) => {
                    let value = match self.store.str(text) {
                        "inf" => f64::INFINITY,
                        "-inf" => f64::NEG_INFINITY,
                        _ => f64::NAN,
                    };
                    self.store.prim_float(value, dtype)
                }
                other => {
                    let value = self.prim_of(&other, span)?;
                    self.store.prim(PrimExpr::Cast { dtype, value })
                }
            }));
        }
        if name == "var" || name == "Var" && args.len() == 2 {
            // `T.var("int64")`; in Python's own spelling the name comes first.
            let dtype = args.last().and_then(|arg| self.tree.string(arg.value));
            let dtype = match dtype {
                Some(text) => self.dtype(&text, span)?,
                None => None,
            };
            self.hint("`T.var(\"int64\")` is `T.int64()` today", span);
            return Ok(Value::NewSymbol(dtype.unwrap_or(DType::I32)));
        }
        if name == "Cast"
            && let [dtype, value] = args
            && let Some(text) = self.tree.string(dtype.value)
        {
            let dtype = self.dtype(&text, span)?.unwrap_or(DType::I64);
            let value = self.eval(value.value)?;
            let value = self.prim_of(&value, span)?;
            return Ok(Value::Prim(self.store.prim(PrimExpr::Cast { dtype, value })));
        }
        let mut prims = Vec::new();
        for arg in args {
            let value = self.eval(arg.value)?;
            prims.push(self.prim_of(&value, span)?);
        }
        let op = match name {
            "min" => Some(PrimOp::Min),
            "max" => Some(PrimOp::Max),
            "truncdiv" => Some(PrimOp::Div),
            "truncmod" => Some(PrimOp::Mod),
            "floordiv" => Some(PrimOp::FloorDiv),
            "floormod" => Some(PrimOp::FloorMod),
            other => PrimOp::named(other),
        };
        if matches!(name, "min" | "max") && prims.len() != 2 {
            let message = format!("T.{name}() takes 2 arguments, a and b, but {} were given", prims.len());
            return Err(self.error("relax-missing-arg", message, span));
        }
        Ok(Value::Prim(match (op, &prims[..]) {
            (Some(op), &[a, b]) => self.store.prim_binary(op, a, b),
            (_, &[cond, then, other]) if name == "Select" => self.store.prim(PrimExpr::Select { cond, then, other }),
            (_, &[value]) if name == "Not" => self.store.prim(PrimExpr::Not(value)),
            _ => {
                let dtype = prims.last().map_or(DType::I64, |last| self.store.prim_dtype(*last));
                self.store.prim_call(name, &prims, dtype)
            }
        }))
    }

    /// Reads `T.target({"kind": "llvm"})`, or the kind alone.
    fn target(&mut self, id: Id<Node>) -> Read<Value> {
        let value = self.eval(id)?;
        let fields = match self.attr_value(&value, self.span(id))? {
            AttrValue::Map(fields) => fields,
            kind => [(self.store.name("kind"), kind)].into(),
        };
        let key = self.store.name("Target");
        let target = self.store.add_object(Object { key, fields, items: [].into(), repr: None });
        Ok(Value::Attr(AttrValue::Object(target)))
    }

    /// Adds the defaults to a target that is a kind or its fields.
    fn whole_target(&mut self, value: Value, span: Span) -> Read<Value> {
        let mut fields = match self.attr_value(&value, span)? {
            AttrValue::Map(fields) => fields.into_vec(),
            kind @ AttrValue::Str(_) => vec![(self.store.name("kind"), kind)],
            _ => return Ok(value),
        };
        match complete_target(self.store, &mut fields) {
            Ok(()) => Ok(Value::Attr(AttrValue::Map(fields.into()))),
            // Tags and options in a text stay as they are.
            Err(_)
                if fields.len() == 1 && matches!(&value, Value::Str(text) if self.store.str(*text).contains(['/', ' ', '{'])) =>
            {
                Ok(value)
            }
            Err(message) => Err(self.error("relax-target", message, span)),
        }
    }

    /// Makes a value as a scalar expression.
    pub(super) fn prim_of(&mut self, value: &Value, span: Span) -> Read<PrimId> {
        match value {
            Value::Float(value) => Ok(self.store.prim_float(*value, DType::F64)),
            Value::Prim(prim) => Ok(*prim),
            Value::Expr(id) if let Expr::Prim(prim) = self.store.expr(*id) => Ok(prim),
            Value::Bool(value) => Ok(self.store.prim_int(i64::from(*value), DType::BOOL)),
            other => {
                let dim = self.whole(other, span)?;
                Ok(self.store.prim_of_dim(dim))
            }
        }
    }

    /// Reads `T.index_map(lambda i, j: (j, i))`.
    pub(super) fn index_map(&mut self, id: Id<Node>, lambda: Option<Id<Node>>) -> Read<Value> {
        let span = self.span(id);
        let lambda = lambda.map(|lambda| self.tree.expr(lambda));
        let Some(Node::Lambda { params, body }) = lambda else {
            return Err(self.error("relax-syntax", "`T.index_map` takes a lambda", span));
        };
        self.scopes.open();
        let mut initial = Vec::new();
        for param in self.tree.params(params) {
            let name = self.tree.text(param.name);
            initial.push(AttrValue::Dim(Dim::Symbol(self.declare_symbol(name, DType::I64))));
        }
        let value = self.eval(body);
        self.scopes.close();
        let value = value?;
        let last = self.extents(&value, span)?;
        let last: Vec<AttrValue> = last.into_iter().map(AttrValue::Dim).collect();
        let fields = [
            (self.store.name("initial_indices"), AttrValue::Array(initial.into())),
            (self.store.name("final_indices"), AttrValue::Array(last.into())),
        ];
        let key = self.store.name("IndexMap");
        let object = Object { key, fields: fields.into(), items: [].into(), repr: None };
        Ok(Value::Attr(AttrValue::Object(self.store.add_object(object))))
    }

    /// Reads `I.vdevice("llvm", 0, "global")`, `I.GlobalVar("f")`, `I.StringType()`.
    pub(super) fn ir_call(&mut self, id: Id<Node>, name: &str, args: &[Arg]) -> Read<Value> {
        let span = self.span(id);
        if name == "StringType" {
            return Ok(Value::Type(self.store.ty(Type::Str)));
        }
        let mut args = self.args(args, span)?;
        let or = |value: Option<(Value, Span)>, other: Value| Some(value.unwrap_or((other, span)));
        Ok(Value::Attr(match name {
            "vdevice" => {
                let global = Value::Str(self.store.name("global"));
                let target = match args.next("target") {
                    Some((target, place)) => Some((self.whole_target(target, place)?, place)),
                    None => None,
                };
                let fields = [
                    ("target", target),
                    ("vdevice_id", or(args.next("vdevice_id"), Value::Int(0))),
                    ("memory_scope", or(args.next("memory_scope"), global)),
                ];
                self.object("VDevice", fields, span)?
            }
            "dummy_global_info" => self.object("DummyGlobalInfo", [], span)?,
            "Range" => self.object("Range", [("begin", args.next("begin")), ("end", args.next("end"))], span)?,
            "GlobalVar" => match args.next("name_hint") {
                Some((Value::Str(name), _)) => AttrValue::Global(name),
                _ => return Err(self.error("relax-syntax", "`I.GlobalVar` takes a name", span)),
            },
            _ => return Err(self.error("relax-unknown-op", format!("`I.{name}` is not known"), span)),
        }))
    }
}
