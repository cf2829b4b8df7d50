//! Calls in scalar expressions: `T.int64(3)`, `T.max(a, b)`, `T.exp(x)`.

use super::{Meaning, Node, Read, Reader};
use crate::ir::{DType, Id, List, PrimExpr, PrimId, PrimOp};
use crate::parse::script::tree::Arg;
use crate::tir;

const HANDLE: DType = DType::HANDLE;

impl Reader<'_, '_, '_> {
    pub(super) fn call(&mut self, callee: Id<Node>, args: List<Arg>, at: Id<Node>) -> Read<PrimId> {
        let Some(name) = self.intrinsic(callee) else { return self.call_of_module(callee, args, at) };
        let args = self.tree.args(args).to_vec();
        if let Some(dtype) = DType::parse(name) {
            return self.typed(dtype, &args, at);
        }
        if name == "Let" {
            return self.let_expr(&args, at);
        }
        if name == "Call" {
            return Err(self.error("tir-syntax", "calls with attributes (`T.Call`) are not read yet", at));
        }
        if let Some(arg) = args.iter().find(|arg| arg.name().is_some() || arg.stars > 0) {
            return Err(self.error("tir-syntax", format!("`T.{name}` takes no such argument"), arg.value));
        }
        let wanted = |n: usize| args.len() == n;
        let raw = PrimOp::named(name);
        let folds = match name {
            "min" => Some(PrimOp::Min),
            "max" => Some(PrimOp::Max),
            "truncdiv" => Some(PrimOp::Div),
            "truncmod" => Some(PrimOp::Mod),
            "floordiv" => Some(PrimOp::FloorDiv),
            "floormod" => Some(PrimOp::FloorMod),
            _ => None,
        };
        match name {
            _ if (raw.is_some() || folds.is_some()) && wanted(2) => {
                let (a, b) = (self.prim(args[0].value)?, self.prim(args[1].value)?);
                if let Some(op) = folds {
                    return Ok(tir::binary(self.store, op, a, b));
                }
                let (a, b) = tir::match_types(self.store, a, b);
                Ok(self.store.prim_binary(raw.unwrap_or(PrimOp::Add), a, b))
            }
            "Not" if wanted(1) => {
                let value = self.prim(args[0].value)?;
                Ok(self.store.prim(PrimExpr::Not(value)))
            }
            "Cast" if wanted(2) => {
                let dtype = self.dtype(args[0].value)?;
                let value = self.prim(args[1].value)?;
                Ok(self.store.prim(PrimExpr::Cast { dtype, value }))
            }
            "cast" if wanted(2) => {
                let value = self.prim(args[0].value)?;
                let dtype = self.dtype(args[1].value)?;
                Ok(tir::cast(self.store, dtype, value))
            }
            "Select" if wanted(3) => {
                let cond = self.prim(args[0].value)?;
                let (then, other) = (self.prim(args[1].value)?, self.prim(args[2].value)?);
                let (then, other) = tir::match_types(self.store, then, other);
                Ok(self.store.prim(PrimExpr::Select { cond, then, other }))
            }
            "if_then_else" if wanted(3) => {
                let cond = self.prim(args[0].value)?;
                let (then, other) = (self.prim(args[1].value)?, self.prim(args[2].value)?);
                Ok(self.if_then_else(cond, then, other))
            }
            "Ramp" if wanted(3) => {
                let (base, stride) = (self.prim(args[0].value)?, self.prim(args[1].value)?);
                let lanes = self.lanes(args[2].value)?;
                let stride = tir::cast(self.store, self.store.prim_dtype(base), stride);
                Ok(self.store.prim(PrimExpr::Ramp { base, stride, lanes }))
            }
            "Broadcast" if wanted(2) => {
                let value = self.prim(args[0].value)?;
                let lanes = self.lanes(args[1].value)?;
                Ok(self.store.prim(PrimExpr::Broadcast { value, lanes }))
            }
            "Add" | "min" | "max" | "Not" | "Cast" | "cast" | "Select" | "if_then_else" | "Ramp" | "Broadcast" => {
                Err(self.error("tir-syntax", format!("`T.{name}` takes another number of arguments"), at))
            }
            _ => self.intrinsic_call(name, &args, at),
        }
    }

    /// `T.exp(x)`, `T.call_extern("int32", "f", x)`
    fn intrinsic_call(&mut self, name: &str, args: &[Arg], at: Id<Node>) -> Read<PrimId> {
        let mut values = args;
        let mut dtype = None;
        if tir::TYPE_FIRST.contains(&name) || tir::TYPE_LAST.contains(&name) {
            let (ty, rest) = match (tir::TYPE_FIRST.contains(&name), args) {
                (true, [first, rest @ ..]) | (false, [rest @ .., first]) => (first, rest),
                _ => return Err(self.error("tir-syntax", format!("`T.{name}` needs the type of its result"), at)),
            };
            dtype = Some(self.dtype(ty.value)?);
            values = rest;
        }
        let mut prims = Vec::with_capacity(values.len());
        for arg in values {
            prims.push(self.argument(arg.value)?);
        }
        let dtype = dtype.unwrap_or_else(|| self.result_of(name, &prims));
        Ok(self.store.prim_call(name, &prims, dtype))
    }

    /// An argument of an intrinsic, which may be a buffer.
    pub(super) fn argument(&mut self, id: Id<Node>) -> Read<PrimId> {
        if let Some(name) = self.tree.name(id)
            && let Some(Meaning::Buffer(buffer)) = self.meaning(name)
            && !self.store.is_scalar(buffer, true)
        {
            return Ok(self.store.prim(PrimExpr::Buffer(buffer)));
        }
        self.prim(id)
    }

    /// The type of what an intrinsic gives.
    fn result_of(&self, name: &str, args: &[PrimId]) -> DType {
        match name {
            "isnan" | "isinf" | "isfinite" | "isnullptr" => DType::BOOL,
            "tvm_stack_make_array" | "tvm_stack_make_shape" | "tvm_stack_alloca" | "address_of" | "tvm_access_ptr" => HANDLE,
            "call_packed" | "call_cpacked" | "tvm_storage_sync" | "tvm_call_packed" => DType::I32,
            _ => args.first().map_or(DType::I32, |arg| self.store.prim_dtype(*arg)),
        }
    }

    /// `T.int64(3)`, `T.float32("inf")`, `T.int64(x)`
    fn typed(&mut self, dtype: DType, args: &[Arg], at: Id<Node>) -> Read<PrimId> {
        let [arg] = args else {
            return Err(self.error("tir-syntax", format!("`T.{dtype}` takes one value here"), at));
        };
        let tree = self.tree;
        if let Some(text) = tree.string(arg.value) {
            let value = match &*text {
                "inf" => f64::INFINITY,
                "-inf" => f64::NEG_INFINITY,
                "nan" => f64::NAN,
                _ => return Err(self.error("tir-number", format!("`{text}` is not a number"), arg.value)),
            };
            return Ok(self.store.prim_float(value, dtype));
        }
        if let Some(value) = tree.int(arg.value) {
            // Of 64 bits without a sign there are more than fit an integer with one.
            let Ok(value) = i64::try_from(value).or_else(|_| u64::try_from(value).map(|v| v as i64)) else {
                return Err(self.error("tir-number", "this number does not fit into 64 bits", arg.value));
            };
            let plain = self.store.prim_int(value, DType::I64);
            return Ok(if dtype == DType::I64 { plain } else { tir::cast(self.store, dtype, plain) });
        }
        if let Some(value) = tree.float(arg.value) {
            return Ok(if dtype.is_float() {
                self.store.prim_float(value, dtype)
            } else {
                self.store.prim_int(value as i64, dtype)
            });
        }
        let value = self.prim(arg.value)?;
        Ok(tir::cast(self.store, dtype, value))
    }

    /// `T.Let(body, where={x: value})`
    fn let_expr(&mut self, args: &[Arg], at: Id<Node>) -> Read<PrimId> {
        let [body, bindings] = args else {
            return Err(self.error("tir-syntax", "`T.Let` takes a body and `where={variable: value}`", at));
        };
        let pairs = match self.tree.expr(bindings.value) {
            Node::Dict(items) => self.tree.items(items).to_vec(),
            _ => return Err(self.error("tir-syntax", "expected `{variable: value}`", bindings.value)),
        };
        let mut bound = Vec::new();
        for pair in pairs.chunks(2) {
            let var = self.prim(pair[0])?;
            let PrimExpr::Var(var) = *self.store.prim_of_id(var) else {
                return Err(self.error("tir-syntax", "only a variable can be bound", pair[0]));
            };
            bound.push((var, self.prim(pair[1])?));
        }
        let mut result = self.prim(body.value)?;
        for (var, value) in bound.into_iter().rev() {
            result = self.store.prim(PrimExpr::Let { var, value, body: result });
        }
        Ok(result)
    }

    /// `cls.f(x)`: a call of a function of the module.
    fn call_of_module(&mut self, callee: Id<Node>, args: List<Arg>, at: Id<Node>) -> Read<PrimId> {
        let name = match self.tree.expr(callee) {
            Node::Attribute { value, name } => {
                let of_module = self.tree.name(value).is_some_and(|head| {
                    self.around.modules.contains(head) || matches!(self.meaning(head), Some(Meaning::Module))
                });
                of_module.then(|| self.tree.text(name))
            }
            _ => None,
        };
        let Some(name) = name else {
            return Err(self.error("tir-syntax", "expected an intrinsic `T.` or a function of the module", at));
        };
        let mut prims = Vec::new();
        for arg in self.tree.args(args).to_vec() {
            prims.push(self.argument(arg.value)?);
        }
        Ok(self.store.prim_call(&format!("@{name}"), &prims, DType::I32))
    }

    /// The type that `T.handle(...)` makes.
    pub(super) fn pointer(&mut self, args: &[Arg], at: Id<Node>) -> Read<DType> {
        let (mut element, mut scope) = (None, None);
        for (i, arg) in args.iter().enumerate() {
            match (arg.name().map(|name| self.tree.text(name)), i) {
                (Some("dtype"), _) | (None, 0) => element = Some(arg.value),
                (Some("storage_scope"), _) | (None, 1) => scope = self.tree.string(arg.value),
                _ => return Err(self.error("tir-syntax", "`T.handle` takes an element type and a scope", at)),
            }
        }
        let element = match element {
            Some(element) => self.dtype(element)?,
            None => DType::VOID,
        };
        let scope = self.name_of(scope.as_deref().unwrap_or("global"));
        Ok(self.store.pointer(element, scope))
    }

    fn lanes(&mut self, id: Id<Node>) -> Read<u16> {
        let lanes = self.tree.int(id).and_then(|n| u16::try_from(n).ok()).filter(|n| *n > 0);
        lanes.ok_or_else(|| self.error("tir-type", "expected the number of lanes", id))
    }

    /// A type as a string: `"float32"`, or `T.float32`, or a pointer: `T.handle("int64", "global")`, `T.handle().ty`.
    pub(super) fn dtype(&mut self, id: Id<Node>) -> Read<DType> {
        let made = match self.tree.expr(id) {
            Node::Attribute { value, name } if self.tree.text(name) == "ty" => value,
            _ => id,
        };
        if let Node::Call { callee, args } = self.tree.expr(made)
            && self.intrinsic(callee) == Some("handle")
        {
            return self.pointer(self.tree.args(args), made);
        }
        let text = match self.tree.string(id) {
            Some(text) => text.into_owned(),
            None => self.intrinsic(id).unwrap_or("").to_owned(),
        };
        DType::parse(&text).ok_or_else(|| self.error("tir-type", format!("unknown element type `{text}`"), id))
    }
}
