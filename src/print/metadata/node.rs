//! The form of each object as a node of the JSON.

use super::super::meta::{dim_key, symbol_key, type_key};
use super::super::value::push_float;
use super::{Graph, Handle, Identity, NULL};
use crate::ir::sort::sort_by;
use crate::ir::{
    AttrValue, AttrsId, DType, Dim, Expr, ExprId, Id, Name, Object, PrimExpr, PrimId, Store, Symbol, Type, TypeId, TypeVar, VarId,
};
use crate::ops::{self, AttrKind};

/// The source of a node's content.
#[derive(Clone)]
pub(super) enum Source<'a> {
    Null,
    Map(Vec<String>, Vec<Handle>),
    Array(Vec<Handle>),
    Str(String),
    Int(i64, u8),
    Float(f64),
    Any,
    Expr(ExprId),
    /// The identity of a variable (`relay.Id`).
    Variable(VarId),
    Attrs(AttrsId),
    Symbol(Id<Symbol>),
    Dim(PrimId),
    /// The operator of a call in extent arithmetic.
    Intrinsic(Id<Name>),
    Type(TypeId),
    TypeVar(Id<TypeVar>),
    PrimType(DType),
    Hole,
    Global(Id<Name>),
    Object(Id<Object>),
    AnyDevice,
    /// An attribute that is an object.
    Value(&'a AttrValue),
    /// A node that is made already.
    Written(Node),
}

/// A node of the JSON.
#[derive(Clone, Default)]
pub(super) struct Node {
    pub(super) key: String,
    pub(super) repr: Option<String>,
    /// In the order of the C++ class.
    pub(super) attrs: Vec<(String, Value)>,
    pub(super) keys: Vec<String>,
    pub(super) data: Vec<Handle>,
}

#[derive(Clone)]
pub(super) enum Value {
    Text(String),
    Ref(Handle),
}

impl Node {
    pub(super) fn new(key: &str) -> Node {
        Node { key: key.to_string(), ..Node::default() }
    }

    pub(super) fn text(mut self, name: &str, text: impl Into<String>) -> Node {
        self.attrs.push((name.to_string(), Value::Text(text.into())));
        self
    }

    pub(super) fn field(mut self, name: &str, handle: Handle) -> Node {
        self.attrs.push((name.to_string(), Value::Ref(handle)));
        self
    }

    /// Calls `f` with each handle in the order in which TVM reaches it.
    pub(super) fn for_each_handle(&self, mut f: impl FnMut(Handle)) {
        for (_, value) in &self.attrs {
            if let Value::Ref(handle) = value {
                f(*handle);
            }
        }
        self.data.iter().for_each(|&handle| f(handle));
    }
}

/// Fields of objects in the order in which their C++ class declares them; the JSON has them sorted.
const FIELD_ORDER: &[(&str, &[&str])] = &[
    ("VirtualDevice", &["device_type_int", "virtual_device_id", "target", "memory_scope"]),
    ("Target", &["kind", "tag", "keys", "attrs", "features", "host"]),
];

/// Fields that are string objects, not plain strings.
const STRING_OBJECTS: &[(&str, &str)] =
    &[("VirtualDevice", "memory_scope"), ("Target", "tag"), ("relay.attrs.TakeAttrs", "mode")];

impl<'a> Graph<'a> {
    pub(super) fn node(&mut self, handle: Handle) -> Node {
        let store = self.store;
        match self.sources[handle as usize].clone() {
            Source::Null => Node::new(""),
            Source::Map(keys, data) => Node { keys, data, ..Node::new("Map") },
            Source::Array(data) => Node { data, ..Node::new("Array") },
            Source::Str(text) => Node { repr: Some(text), ..Node::new("runtime.String") },
            Source::Int(value, bits) => {
                let dtype = if bits == 1 { "bool".to_string() } else { format!("int{bits}") };
                Node::new("IntImm").text("dtype", dtype).text("value", value.to_string()).field("span", NULL)
            }
            Source::Float(value) => {
                Node::new("FloatImm").text("dtype", "float32").text("value", float(value)).field("span", NULL)
            }
            Source::Any => Node::new("tir.Any").text("dtype", "int32").field("span", NULL),
            Source::Expr(id) => self.expr_node(id),
            Source::Variable(var) => {
                let name = self.string(store.var_name(var));
                Node::new("relay.Id").field("name_hint", name)
            }
            Source::Attrs(attrs) => self.attrs_node(attrs),
            Source::Symbol(id) => {
                let Symbol { name, dtype, .. } = store.symbol(id);
                let name = self.string(store.str(*name));
                let annotation = self.handle(Source::PrimType(*dtype));
                Node::new(symbol_key(store.symbol(id)))
                    .text("dtype", dtype.relay_name())
                    .field("name", name)
                    .field("type_annotation", annotation)
                    .field("span", NULL)
            }
            Source::Intrinsic(name) => Node { repr: Some(format!("tir.{}", store.str(name))), ..Node::new("Op") },
            Source::Dim(id) => {
                let expr = store.prim_of_id(id);
                let dtype = store.prim_dtype(id).relay_name();
                if let PrimExpr::Float { value, .. } = expr {
                    return Node::new("FloatImm").text("dtype", dtype).text("value", float(value.0)).field("span", NULL);
                }
                if let PrimExpr::Call { op, args, .. } = expr {
                    let op = self.shared(Identity::Intrinsic(*op), Source::Intrinsic(*op));
                    let args = args.iter().map(|arg| self.dim(store.dim_of_prim(*arg))).collect();
                    let args = self.handle(Source::Array(args));
                    return Node::new("tir.Call").text("dtype", dtype).field("op", op).field("args", args).field("span", NULL);
                }
                let names: &[&str] = if let PrimExpr::Cast { .. } = expr { &["value"] } else { &["a", "b"] };
                let mut node = Node::new(dim_key(expr)).text("dtype", dtype);
                let mut args = Vec::new();
                expr.for_each_child(&mut |arg| args.push(store.dim_of_prim(arg)));
                for (name, &arg) in names.iter().zip(&args) {
                    let arg = self.dim(arg);
                    node = node.field(name, arg);
                }
                node.field("span", NULL)
            }
            Source::Type(ty) => self.type_node(ty),
            Source::TypeVar(var) => {
                let name = self.string(store.str(store.type_var(var).name));
                // TypeKind::kType
                Node::new("TypeVar").field("name_hint", name).text("kind", "0").field("span", NULL)
            }
            Source::PrimType(dtype) => Node::new("PrimType").text("dtype", dtype.relay_name()),
            Source::Hole => Node::new("IncompleteType").text("kind", "0").field("span", NULL),
            Source::Global(name) => {
                let name = self.string(store.str(name));
                let device = self.any_device();
                Node::new("GlobalVar")
                    .field("name_hint", name)
                    .field("virtual_device_", device)
                    .field("span", NULL)
                    .field("_checked_type_", NULL)
                    .field("struct_info_", NULL)
            }
            Source::Object(id) => self.object_node(id),
            Source::AnyDevice => {
                let scope = self.string("");
                Node::new("VirtualDevice")
                    .text("device_type_int", "-1")
                    .text("virtual_device_id", "-1")
                    .field("target", NULL)
                    .field("memory_scope", scope)
            }
            Source::Value(AttrValue::Map(entries)) => {
                let keys = entries.iter().map(|(name, _)| store.str(*name).to_string()).collect();
                let data = entries.iter().map(|(_, value)| self.value(value)).collect();
                Node { keys, data, ..Node::new("Map") }
            }
            Source::Value(AttrValue::Array(items)) => {
                let data = items.iter().map(|item| self.value(item)).collect();
                Node { data, ..Node::new("Array") }
            }
            Source::Value(_) => Node::new(""),
            Source::Written(node) => node,
        }
    }

    fn expr_node(&mut self, id: ExprId) -> Node {
        let store = self.store;
        match store.expr(id) {
            Expr::Constant(tensor) => {
                let data = self.tensor(tensor);
                let device = self.any_device();
                let ty = self.optional_type(store.checked_type(id));
                let mut node = Node::new("relay.Constant");
                node.attrs.push(("data".to_string(), data));
                node.field("virtual_device_", device).field("span", NULL).field("_checked_type_", ty)
            }
            Expr::Var(var) => self.variable_node(var),
            Expr::Op(op) => Node { repr: Some(ops::info(op).name.to_string()), ..Node::new("Op") },
            _ => self.saved(id),
        }
    }

    pub(super) fn variable_node(&mut self, var: VarId) -> Node {
        let data = self.store.var_data(var);
        let vid = self.shared(Identity::Variable(data.vid), Source::Variable(data.vid));
        let annotation = self.optional_type(data.annotation);
        let device = self.device(data.device);
        let ty = self.optional_type(data.ty);
        Node::new("relay.Var")
            .field("vid", vid)
            .field("type_annotation", annotation)
            .field("virtual_device_", device)
            .field("span", NULL)
            .field("_checked_type_", ty)
    }

    /// A device; the unconstrained one where none is chosen.
    pub(super) fn device(&mut self, device: Option<Id<Object>>) -> Handle {
        match device {
            Some(device) => self.object(device),
            None => self.any_device(),
        }
    }

    /// Makes a node of an operator's attributes: plain values where the C++ field is plain, otherwise objects.
    fn attrs_node(&mut self, attrs: AttrsId) -> Node {
        let store = self.store;
        let attrs = store.attrs_of_id(attrs);
        let key = store.str(attrs.key);
        let schema = ops::schema(key);
        let mut node = Node::new(key);
        for (name, value) in &attrs.fields {
            let name = store.str(*name);
            let kind = schema.and_then(|schema| schema.field(name)).map_or(AttrKind::Str, |field| field.kind);
            node = match (kind, value) {
                (AttrKind::Int, AttrValue::Int { value, .. }) => node.text(name, value.to_string()),
                (AttrKind::Bool, AttrValue::Bool(value)) => node.text(name, u8::from(*value).to_string()),
                (AttrKind::Float, value) if value.as_float().is_some() => {
                    node.text(name, float(value.as_float().unwrap_or_default()))
                }
                (AttrKind::Str, AttrValue::Str(text)) if !STRING_OBJECTS.contains(&(key, name)) => {
                    node.text(name, store.str(*text))
                }
                (_, AttrValue::DType(dtype)) => node.text(name, dtype.map_or(String::new(), |d| d.relay_name())),
                (_, value) => {
                    let handle = self.value(value);
                    node.field(name, handle)
                }
            };
        }
        node
    }

    fn object_node(&mut self, id: Id<Object>) -> Node {
        let store = self.store;
        let object = store.object(id);
        let key = store.str(object.key);
        let mut node = Node { repr: object.repr.as_deref().map(str::to_string), ..Node::new(key) };
        let order = FIELD_ORDER.iter().find(|(k, _)| *k == key).map_or(&[][..], |(_, order)| order);
        let mut fields: Vec<(&str, &AttrValue)> = object.fields.iter().map(|(name, value)| (store.str(*name), value)).collect();
        if key != "Map" {
            let rank = |name| order.iter().position(|o| *o == name).unwrap_or(order.len());
            sort_by(&mut fields, |a, b| rank(a.0).cmp(&rank(b.0)));
        }
        for (name, value) in fields {
            let is_map = key == "Map";
            node = match value {
                _ if is_map => {
                    let handle = self.value(value);
                    node.keys.push(name.to_string());
                    node.data.push(handle);
                    node
                }
                AttrValue::Int { value, .. } => node.text(name, value.to_string()),
                AttrValue::Bool(value) => node.text(name, u8::from(*value).to_string()),
                AttrValue::Float(value) => node.text(name, float(value.0)),
                AttrValue::DType(dtype) => node.text(name, dtype.map_or(String::new(), |d| d.relay_name())),
                AttrValue::Str(text) if !STRING_OBJECTS.contains(&(key, name)) => node.text(name, store.str(*text)),
                value => {
                    let handle = self.value(value);
                    node.field(name, handle)
                }
            };
        }
        for item in &object.items {
            let handle = self.value(item);
            node.data.push(handle);
        }
        node
    }

    fn type_node(&mut self, ty: TypeId) -> Node {
        let store = self.store;
        let ty = store.type_of_id(ty);
        let node = Node::new(type_key(ty));
        match ty {
            Type::Tensor { shape, dtype } => {
                let dims = shape.iter().map(|&dim| self.dim(dim)).collect();
                let shape = self.handle(Source::Array(dims));
                node.field("shape", shape).text("dtype", dtype.relay_name()).field("span", NULL)
            }
            Type::Tuple(fields) => {
                let fields = self.types(fields);
                node.field("fields", fields).field("span", NULL)
            }
            Type::Func { type_params, params, ret } => {
                let params = self.types(params);
                let ret = self.ty(*ret);
                let vars = type_params.iter().map(|&var| self.type_var(var)).collect();
                let vars = self.handle(Source::Array(vars));
                let constraints = self.handle(Source::Array(Vec::new()));
                node.field("arg_types", params)
                    .field("ret_type", ret)
                    .field("type_params", vars)
                    .field("type_constraints", constraints)
                    .field("span", NULL)
            }
            Type::Ref(value) => {
                let value = self.ty(*value);
                node.field("value", value).field("span", NULL)
            }
            // A type parameter is a node that all its uses share; see `ty`.
            Type::Var(_) => node,
            Type::Global(name) => {
                let name = self.string(store.str(*name));
                // TypeKind::kAdtHandle
                node.field("name_hint", name).text("kind", "5")
            }
            Type::Apply { head, args } => {
                let head = self.ty(*head);
                let args = self.types(args);
                node.field("func", head).field("args", args).field("span", NULL)
            }
            Type::Hole(_) => node.text("kind", "0").field("span", NULL),
            // Types of Relax do not occur in the metadata section of a Relay program.
            _ => node,
        }
    }

    pub(super) fn type_var(&mut self, var: Id<TypeVar>) -> Handle {
        self.shared(Identity::TypeVar(var), Source::TypeVar(var))
    }

    pub(super) fn types(&mut self, types: &[TypeId]) -> Handle {
        let items = types.iter().map(|&ty| self.ty(ty)).collect();
        self.handle(Source::Array(items))
    }

    pub(super) fn string(&mut self, text: &str) -> Handle {
        self.handle(Source::Str(text.to_string()))
    }

    fn dim(&mut self, dim: Dim) -> Handle {
        match dim {
            Dim::Int { value, bits } => self.handle(Source::Int(value, bits)),
            Dim::Any => self.handle(Source::Any),
            Dim::Symbol(id) => self.shared(Identity::Symbol(id), Source::Symbol(id)),
            // Every use of a number is an object of its own.
            Dim::Expr(id) if matches!(self.store.prim_of_id(id), PrimExpr::Float { .. }) => self.handle(Source::Dim(id)),
            Dim::Expr(id) => self.shared(Identity::Dim(id), Source::Dim(id)),
        }
    }

    /// Returns the handle of an expression that can be in the section; null for those that cannot
    /// and for constants without a value.
    pub(super) fn expr(&mut self, id: ExprId) -> Handle {
        match self.store.expr(id) {
            Expr::Constant(tensor) if self.store.tensor(tensor).data.is_none() => NULL,
            _ => self.part(id),
        }
    }

    pub(super) fn object(&mut self, id: Id<Object>) -> Handle {
        self.shared(Identity::Object(id), Source::Object(id))
    }

    /// Makes an object of an attribute.
    pub(super) fn value(&mut self, value: &'a AttrValue) -> Handle {
        let store = self.store;
        match value {
            AttrValue::Null => NULL,
            AttrValue::Bool(value) => self.handle(Source::Int(i64::from(*value), 1)),
            AttrValue::Int { value, bits } => self.handle(Source::Int(*value, *bits)),
            AttrValue::Float(value) => self.handle(Source::Float(value.0)),
            AttrValue::Str(text) => self.string(store.str(*text)),
            AttrValue::DType(dtype) => self.handle(Source::Str(dtype.map_or(String::new(), |d| d.relay_name()))),
            AttrValue::Array(_) | AttrValue::Map(_) => self.handle(Source::Value(value)),
            AttrValue::Dim(dim) => self.dim(*dim),
            AttrValue::Global(name) => self.handle(Source::Global(*name)),
            AttrValue::Expr(id) => self.expr(*id),
            AttrValue::Type(ty) => self.ty(*ty),
            AttrValue::Object(id) => self.object(*id),
        }
    }

    /// Returns the value at a path in the attributes of a call or function.
    pub(super) fn value_at(&self, owner: ExprId, path: &[u32]) -> Option<&'a AttrValue> {
        let store: &'a Store = self.store;
        let attrs = match store.call(owner) {
            Some(call) => call.attrs,
            None => store.as_function(owner)?.attrs,
        }?;
        let (&first, rest) = path.split_first()?;
        let mut value = &store.attrs_of_id(attrs).fields.get(first as usize)?.1;
        for &index in rest {
            let AttrValue::Array(items) = value else { return None };
            value = items.get(index as usize)?;
        }
        Some(value)
    }
}

/// Prints a double with all its digits.
fn float(value: f64) -> String {
    let mut text = String::new();
    push_float(&mut text, value, 17);
    text
}
