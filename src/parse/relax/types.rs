//! Types, as annotations and among arguments.

use super::eval::class_of;
use super::scope::Meaning;
use super::value::Value;
use super::{Node, Read, Reader};
use crate::diag::Span;
use crate::ir::{AttrValue, DType, Dim, Expr, Extents, Id, Name, Object, Symbol, TensorInfo, Type, TypeId};
use crate::parse::script::tree::Arg;

/// Arguments of a type: by place and by name.
struct TypeArgs<'s> {
    positional: Vec<Id<Node>>,
    named: Vec<(&'s str, Id<Node>)>,
}

impl<'s> TypeArgs<'s> {
    fn get(&self, place: usize, name: &str) -> Option<Id<Node>> {
        self.positional.get(place).copied().or_else(|| self.named.iter().find(|(n, _)| *n == name).map(|(_, id)| *id))
    }
}

impl<'s> Reader<'s, '_> {
    /// Reads a type.
    pub(super) fn ty(&mut self, id: Id<Node>) -> Read<TypeId> {
        let value = match self.tree.expr(id) {
            Node::None => Value::Type(self.store.tuple_type(&[])),
            Node::Call { callee, args } => match self.tree.dotted(callee) {
                Some(name) => return self.type_call(id, name, self.tree.args(args)),
                None => self.eval(id)?,
            },
            Node::Subscript { value, items } if self.tree.dotted(value).is_some() => {
                return self.old_type(id, value, self.tree.items(items));
            }
            _ => self.eval(id)?,
        };
        match value {
            Value::Type(ty) => Ok(ty),
            Value::NewSymbol(dtype) => Ok(self.store.ty(Type::Prim(dtype))),
            other => {
                let message = format!("a type is expected here, found {}", other.describe());
                Err(self.error_at("relax-type", message, id))
            }
        }
    }

    /// Reads types.
    pub(super) fn types(&mut self, id: Id<Node>) -> Read<Vec<TypeId>> {
        match self.tree.expr(id) {
            Node::Tuple(items) | Node::List(items) => self.tree.items(items).iter().map(|item| self.ty(*item)).collect(),
            _ => Ok(vec![self.ty(id)?]),
        }
    }

    /// Returns the type with a dotted name, without arguments.
    pub(super) fn dotted_type(&mut self, name: &str) -> Option<Value> {
        let (prefix, rest) = name.split_once('.')?;
        let ty = match (prefix, rest) {
            ("R" | "relax", "Tensor") => self.store.tensor_like(TensorInfo::UNKNOWN),
            ("R" | "relax", "Any" | "Object") => self.store.ty(Type::Any),
            ("R" | "relax", "Shape") => self.store.ty(Type::Shape(Extents::Unknown)),
            ("R" | "relax", "Tuple") => self.store.tuple_type(&[]),
            ("R" | "relax", "PackedFunc") => self.store.ty(Type::PackedFunc),
            ("R" | "relax", "Callable") => self.opaque(None, None),
            ("T" | "tir" | "tirx" | "Tx", dtype) => {
                let dtype = DType::parse(dtype)?;
                return Some(Value::Type(self.store.ty(Type::Prim(dtype))));
            }
            _ => return None,
        };
        Some(Value::Type(ty))
    }

    fn opaque(&mut self, ret: Option<TypeId>, pure: Option<bool>) -> TypeId {
        let ret = ret.unwrap_or_else(|| self.store.ty(Type::Any));
        self.store.ty(Type::Callable { params: None, ret, pure: pure.unwrap_or(false) })
    }

    fn type_args(&mut self, args: &[Arg]) -> TypeArgs<'s> {
        let mut result = TypeArgs { positional: Vec::new(), named: Vec::new() };
        for arg in args {
            match arg.name() {
                Some(name) => result.named.push((self.tree.text(name), arg.value)),
                None => result.positional.push(arg.value),
            }
        }
        result
    }

    fn type_call(&mut self, id: Id<Node>, name: &str, args: &[Arg]) -> Read<TypeId> {
        let args = self.type_args(args);
        let short = name.split_once('.').map_or(name, |(_, rest)| rest);
        match class_of(short).unwrap_or(short) {
            "Tensor" => {
                let info = self.tensor_info(&args)?;
                Ok(self.store.tensor_like(info))
            }
            "Shape" => {
                let extents = match args.get(0, "values") {
                    // TVM reads an empty list as none.
                    Some(values) => match self.shape(values)? {
                        Extents::Known(dims) if !dims.is_empty() => Extents::Known(dims),
                        _ => self.rank(&args, 1)?,
                    },
                    None => self.rank(&args, 1)?,
                };
                Ok(self.store.ty(Type::Shape(extents)))
            }
            "Tuple" => {
                let fields = match args.positional[..] {
                    [only] => match self.tree.expr(only) {
                        Node::Tuple(items) | Node::List(items) => self.tree.items(items).to_vec(),
                        _ => vec![only],
                    },
                    _ => args.positional,
                };
                let fields: Read<Vec<TypeId>> = fields.iter().map(|field| self.ty(*field)).collect();
                Ok(self.store.tuple_type(&fields?))
            }
            "Callable" => self.callable(&args),
            "Prim" if args.named.iter().any(|(name, _)| *name == "value") => {
                let span = self.span(id);
                self.hint("`R.Prim` says the type alone today: `R.Prim(\"int64\")`", span);
                Ok(self.store.ty(Type::Prim(DType::I64)))
            }
            "Prim" => {
                let Some(dtype) = args.get(0, "dtype") else {
                    return Err(self.error_at("relax-type", "`R.Prim` takes an element type", id));
                };
                let dtype = self.written_dtype(dtype)?.unwrap_or(DType::I64);
                Ok(self.store.ty(Type::Prim(dtype)))
            }
            "DTensor" => self.distributed(id, &args),
            "StringType" => Ok(self.store.ty(Type::Str)),
            "Any" | "Object" => Ok(self.store.ty(Type::Any)),
            "PackedFunc" => Ok(self.store.ty(Type::PackedFunc)),
            _ => match self.eval(id)? {
                Value::Type(ty) => Ok(ty),
                Value::NewSymbol(dtype) => Ok(self.store.ty(Type::Prim(dtype))),
                _ => Err(self.error_at("relax-type", format!("`{}` is not a type", self.text(id)), id)),
            },
        }
    }

    fn tensor_info(&mut self, args: &TypeArgs<'s>) -> Read<TensorInfo> {
        let known = ["shape", "dtype", "vdevice", "ndim"];
        if let Some((name, id)) = args.named.iter().find(|(name, _)| !known.contains(name)) {
            return Err(self.error_at("relax-unknown-arg", format!("`R.Tensor` has no argument `{name}`"), *id));
        }
        let mut info = TensorInfo::UNKNOWN;
        let mut dtype = args.get(1, "dtype");
        match args.get(0, "shape") {
            // `R.Tensor("float32")`
            Some(text) if self.tree.string(text).is_some() && dtype.is_none() => dtype = Some(text),
            Some(none) if matches!(self.tree.expr(none), Node::None) || self.is_open(none) => {}
            Some(shape) => info.extents = self.shape(shape)?,
            None => {}
        }
        match (&info.extents, self.rank(args, 3)?) {
            (Extents::Unknown, rank) => info.extents = rank,
            (Extents::Known(dims), Extents::Rank(rank)) if dims.len() != rank as usize => {
                let place = args.get(3, "ndim").expect("it was read");
                return Err(self.error_at("relax-shape", "the shape and `ndim` say different ranks: leave `ndim` out", place));
            }
            _ => {}
        }
        if let Some(dtype) = dtype {
            info.dtype = self.written_dtype(dtype)?;
        }
        if let Some(device) = args.get(2, "vdevice")
            && let Some(text) = self.tree.string(device)
        {
            let span = self.span(device);
            info.vdevice = Some(self.vdevice(&text, span)?);
        }
        Ok(info)
    }

    fn rank(&mut self, args: &TypeArgs<'s>, place: usize) -> Read<Extents> {
        let Some(id) = args.get(place, "ndim") else { return Ok(Extents::Unknown) };
        let rank = match self.tree.int(id) {
            Some(rank) => rank,
            None => match self.eval(id)? {
                Value::None => -1,
                Value::Int(rank) => i128::from(rank),
                _ => return Err(self.error_at("relax-shape", "a rank is a number", id)),
            },
        };
        match u32::try_from(rank) {
            Ok(rank) => Ok(Extents::Rank(rank)),
            Err(_) if rank == -1 => Ok(Extents::Unknown),
            Err(_) => Err(self.error_at("relax-shape", "a rank is a small number, or -1 when it is unknown", id)),
        }
    }

    /// Reads the shape of a tensor: extents, or a variable that holds a shape.
    fn shape(&mut self, id: Id<Node>) -> Read<Extents> {
        if let Node::Tuple(_) | Node::List(_) = self.tree.expr(id) {
            return Ok(Extents::Known(self.dims(id)?.into()));
        }
        match self.eval(id)? {
            Value::Expr(expr) => match self.store.expr(expr) {
                Expr::Var(var) => Ok(Extents::Var(var)),
                Expr::Shape(dims) => Ok(Extents::Known(self.store.dims_of_id(dims).into())),
                _ => Err(self.error_at("relax-shape", "a shape is a tuple of extents or a variable that holds a shape", id)),
            },
            Value::None => Ok(Extents::Unknown),
            other if other.items().is_some() => {
                let span = self.span(id);
                Ok(Extents::Known(self.extents(&other, span)?.into()))
            }
            other => {
                let message = format!("a shape is a tuple of extents, found {}", other.describe());
                Err(self.error_at("relax-shape", message, id))
            }
        }
    }

    /// Reads extents; strings are expressions.
    pub(super) fn dims(&mut self, id: Id<Node>) -> Read<Vec<Dim>> {
        let (Node::Tuple(items) | Node::List(items)) = self.tree.expr(id) else {
            return Err(self.error_at("relax-shape", "a list of extents is expected here", id));
        };
        let items = self.tree.items(items);
        let mut dims = Vec::with_capacity(items.len());
        for &item in items {
            let value = match self.tree.string(item) {
                Some(_) => self.quoted(item)?,
                None => self.eval(item)?,
            };
            let span = self.span(item);
            dims.push(self.extent(&value, span)?);
        }
        Ok(dims)
    }

    /// Reads an extent that is written as a string.
    fn quoted(&mut self, id: Id<Node>) -> Read<Value> {
        let strings = self.strings;
        if !self.in_signature {
            let message = "String-defined shape expr is only allowed when parsing function parameters and return annotations for \
                           TVMScript.";
            return Err(self.error_at("relax-shape", message, id));
        }
        let Some(inner) = strings.get(&id).filter(|_| self.inside.is_none()) else {
            return Err(self.error_at("relax-shape", format!("`{}` is not an expression", self.text(id)), id));
        };
        let span = self.span(id);
        let outer = std::mem::replace(&mut self.tree, inner);
        self.inside = Some(span);
        let result = match inner.stmts(inner.top) {
            [stmt] => match stmt.kind {
                crate::parse::script::tree::StmtKind::Expr(value) => self.eval(value),
                _ => Err(self.error("relax-shape", "an extent is an expression", span)),
            },
            _ => Err(self.error("relax-shape", "an extent is an expression", span)),
        };
        self.tree = outer;
        self.inside = None;
        result
    }

    fn written_dtype(&mut self, id: Id<Node>) -> Read<Option<DType>> {
        if matches!(self.tree.expr(id), Node::None) {
            return Ok(None);
        }
        let span = self.span(id);
        if let Some(text) = self.tree.string(id) {
            return self.dtype(&text, span);
        }
        // A name around the program may hold the type.
        if let Some(name) = self.tree.name(id)
            && let Some(Meaning::Value(Value::Str(text))) = self.scopes.get(name)
        {
            let text = self.store.str(*text).to_owned();
            return self.dtype(&text, span);
        }
        Err(self.error_at("relax-dtype", "an element type is a string: \"float32\"", id))
    }

    fn callable(&mut self, args: &TypeArgs<'s>) -> Read<TypeId> {
        let ret = match args.get(1, "ret") {
            Some(ret) => Some(self.ty(ret)?),
            None => None,
        };
        let pure = args.get(2, "purity").and_then(|id| self.tree.bool(id));
        match args.get(0, "params") {
            None => Ok(self.opaque(ret, pure)),
            Some(params) if matches!(self.tree.expr(params), Node::None) => Ok(self.opaque(ret, pure)),
            Some(params) => {
                let params = self.types(params)?;
                let ret = ret.unwrap_or_else(|| self.store.ty(Type::Any));
                Ok(self.store.ty(Type::Callable { params: Some(params.into()), ret, pure: pure.unwrap_or(true) }))
            }
        }
    }

    fn distributed(&mut self, id: Id<Node>, args: &TypeArgs<'s>) -> Read<TypeId> {
        let mut info = TensorInfo::UNKNOWN;
        if let Some(shape) = args.get(0, "shape").filter(|shape| self.tree.string(*shape).is_none()) {
            info.extents = self.shape(shape)?;
        } else if let Some((_, rank)) = args.named.iter().find(|(name, _)| *name == "ndim")
            && let Some(rank) = self.tree.int(*rank).and_then(|rank| u32::try_from(rank).ok())
        {
            info.extents = Extents::Rank(rank);
        }
        if let Some(dtype) = args.get(1, "dtype") {
            info.dtype = self.written_dtype(dtype)?;
        }
        let tensor = self.store.tensor_like(info);
        let text = |id: Option<Id<Node>>| id.and_then(|id| self.tree.string(id)).map(|text| text.into_owned());
        let (mesh, placement) = (text(args.get(2, "device_mesh")), text(args.get(3, "placement")));
        let (Some(mesh), Some(placement)) = (mesh, placement) else {
            return Err(self.error_at("relax-type", "a distributed tensor names its mesh and placement", id));
        };
        let span = self.span(id);
        let mesh = self.mesh(&mesh, span)?;
        let placement = self.store.name(&placement);
        Ok(self.store.ty(Type::Distributed { tensor, mesh, placement }))
    }

    /// Returns an object of the module's lists by name: `mesh[0]`.
    pub(super) fn mesh(&mut self, text: &str, span: Span) -> Read<Id<Object>> {
        let parts = text.split_once('[').and_then(|(name, rest)| Some((name, rest.strip_suffix(']')?.parse::<usize>().ok()?)));
        let found = parts.and_then(|(name, index)| self.global_info(name)?.get(index).cloned());
        match found {
            Some(AttrValue::Object(object)) => Ok(object),
            _ => Err(self.error("relax-global-info", format!("the module has no `{text}` in its global infos"), span)),
        }
    }

    /// Returns a device by name: `llvm`, `llvm:1`, `llvm:1:global`; `vdevice:2` is the third of all.
    pub(super) fn vdevice(&mut self, text: &str, span: Span) -> Read<Id<Object>> {
        let mut parts = text.split(':');
        let kind = parts.next().unwrap_or_default();
        let number = parts.next().map_or(Some(0), |number| number.parse::<usize>().ok());
        let devices = self.global_info("vdevice").unwrap_or_default();
        let of_kind = devices.iter().filter_map(|device| match device {
            AttrValue::Object(device) => {
                Some(*device).filter(|device| kind == "vdevice" || self.store.vdevice_kind(*device) == kind)
            }
            _ => None,
        });
        match number.and_then(|number| of_kind.into_iter().nth(number)) {
            Some(device) => Ok(device),
            None => Err(self.error("relax-global-info", format!("the module has no device `{text}` in its global infos"), span)),
        }
    }

    fn global_info(&self, name: &str) -> Option<Vec<AttrValue>> {
        match self.store.attr(self.module.global_infos(), name)? {
            AttrValue::Array(items) => Some(items.to_vec()),
            _ => None,
        }
    }

    /// Reads the types of 2022: `R.Tensor[(n, m), "f32"]`. Names in their shapes need no declaration.
    fn old_type(&mut self, id: Id<Node>, head: Id<Node>, items: &[Id<Node>]) -> Read<TypeId> {
        let span = self.span(id);
        self.hint("types take their arguments in parentheses today: `R.Tensor((n, m), \"float32\")`", span);
        if self.tree.dotted(head).is_some_and(|name| name.ends_with("Tuple")) {
            let fields: Read<Vec<TypeId>> = items.iter().map(|item| self.ty(*item)).collect();
            return Ok(self.store.tuple_type(&fields?));
        }
        let items = match items {
            [only] => match self.tree.expr(*only) {
                Node::Tuple(inner) => self.tree.items(inner).to_vec(),
                _ => items.to_vec(),
            },
            _ => items.to_vec(),
        };
        let mut info = TensorInfo::UNKNOWN;
        if let Some(&shape) = items.first()
            && let Node::Tuple(_) | Node::List(_) = self.tree.expr(shape)
        {
            self.declare_names(shape);
            info.extents = Extents::Known(self.dims(shape)?.into());
        }
        if let Some(&dtype) = items.get(1) {
            info.dtype = self.written_dtype(dtype)?;
        }
        Ok(self.store.tensor_like(info))
    }

    /// True for a shape that is left open, `Tensor(_, "float32")`.
    fn is_open(&self, id: Id<Node>) -> bool {
        self.tree.name(id) == Some("_") && self.scopes.get("_").is_none()
    }

    /// Declares the names in an expression that mean nothing yet as symbolic variables.
    pub(super) fn declare_names(&mut self, id: Id<Node>) {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            match self.tree.expr(id) {
                Node::Name => {
                    let name = self.tree.text(self.tree.span(id));
                    if self.scopes.get(name).is_none() {
                        self.declare_symbol(name, DType::I64);
                    }
                }
                Node::Tuple(items) | Node::List(items) => stack.extend(self.tree.items(items).iter().rev()),
                Node::Binary { left, right, .. } => stack.extend([right, left]),
                Node::Unary { value, .. } => stack.push(value),
                _ => {}
            }
        }
    }

    /// Makes a new symbolic variable in the innermost scope.
    pub(super) fn declare_symbol(&mut self, name: &'s str, dtype: DType) -> Id<Symbol> {
        let text: Id<Name> = self.store.name(name);
        let symbol = self.store.add_symbol(Symbol { name: text, dtype, size: false });
        self.scopes.define(name, super::scope::Meaning::Symbol(symbol));
        symbol
    }
}
