//! Reads the `#[metadata]` section: a graph of objects as JSON (TVM's `src/node/serialization.cc`).
//!
//! The section is not trusted: indices may lead nowhere or in circles, and numbers may be anything. An object is
//! converted once, on first use, so that an object shared in the file is shared in the program.

mod saved;

use super::super::json::{self, Json};
use super::attrs::{fit, schema_of};
use super::meta::MetaValue;
use super::ndarray;
use super::types::parse_dtype;
use crate::ir::sort::sort_by;
use crate::ir::{
    AttrValue, Attrs, DType, Dim, Double, Expr, Id, Name, Object, PrimExpr, PrimOp, Store, Symbol, Type, TypeId, TypeVar, VarId,
};
use crate::ops::AttrKind;
use rustc_hash::FxHashMap;

pub(in crate::parse) use saved::{Saved, read as read_saved};

/// The greatest depth of references between objects.
const MAX_DEPTH: usize = 256;

/// The objects of a metadata section.
pub(super) struct Section {
    nodes: Vec<Json>,
    arrays: Vec<Json>,
    roots: FxHashMap<String, Vec<usize>>,
    done: Vec<Slot>,
    /// Variables by the node of their identity.
    identities: FxHashMap<usize, VarId>,
    /// Stand-ins for numbers whose computation is not followed, by node.
    unknown: FxHashMap<usize, Id<Symbol>>,
}

#[derive(Clone)]
enum Slot {
    Todo,
    Busy,
    Done(MetaValue),
}

/// The reason why a section cannot be read.
pub(super) struct SectionError {
    /// The place in bytes from the beginning of the section.
    pub offset: usize,
    pub message: String,
}

type Convert<T> = Result<T, String>;

impl Section {
    /// Reads the JSON and finds the entries.
    pub fn read(text: &str) -> Result<Section, SectionError> {
        let root = json::read(text).map_err(|e| SectionError {
            offset: e.offset.min(text.len().saturating_sub(1)),
            message: format!("the metadata section is not valid JSON: {}", e.message),
        })?;
        let wrong = |message: &str| SectionError {
            offset: text.len() - text.trim_start().len(),
            message: format!("the metadata section is damaged: {message}"),
        };
        if !matches!(root, Json::Object(_)) {
            return Err(wrong("it is not an object"));
        }
        let top = root.get("root").and_then(Json::as_index);
        let mut section = Section::of(root);
        let Some(top) = top.filter(|t| *t < section.nodes.len()) else { return Err(wrong("it has no root")) };
        let keys: Vec<String> = section.strings(top, "keys").map(str::to_string).collect();
        let lists = section.indices(top).map_err(|m| wrong(&m))?;
        if section.key(top) != "Map" || keys.len() != lists.len() {
            return Err(wrong("its root is not a map from type keys to lists"));
        }
        for (key, list) in keys.into_iter().zip(lists) {
            let entries = section.indices(list).map_err(|m| wrong(&m))?;
            section.roots.insert(key, entries);
        }
        Ok(section)
    }

    /// The objects of a graph.
    fn of(mut root: Json) -> Section {
        let (nodes, arrays) = (root.take_array("nodes"), root.take_array("b64ndarrays"));
        Section {
            done: vec![Slot::Todo; nodes.len()],
            nodes,
            arrays,
            roots: FxHashMap::default(),
            identities: FxHashMap::default(),
            unknown: FxHashMap::default(),
        }
    }

    /// Returns the entry `meta[key][index]`.
    pub fn lookup(&mut self, store: &mut Store, key: &str, index: usize) -> Convert<MetaValue> {
        let entries = self.roots.get(key).ok_or_else(|| format!("no entry in the meta table for `{key}`"))?;
        let node = *entries.get(index).ok_or_else(|| format!("the node index `{index}` is out of bounds for `{key}`"))?;
        self.convert(store, node, 0).map_err(|message| format!("meta[{key}][{index}] is damaged: {message}"))
    }

    fn node(&self, node: usize) -> Option<&Json> {
        self.nodes.get(node).filter(|node| matches!(node, Json::Object(_)))
    }

    fn key(&self, node: usize) -> &str {
        self.node(node).and_then(|n| n.get("type_key")).and_then(Json::as_str).unwrap_or("")
    }

    fn strings(&self, node: usize, list: &str) -> impl Iterator<Item = &str> {
        let items = self.node(node).and_then(|n| n.get(list)).and_then(Json::as_array);
        items.unwrap_or_default().iter().filter_map(Json::as_str)
    }

    /// Returns the `data` of a node: indices of other nodes.
    fn indices(&self, node: usize) -> Convert<Vec<usize>> {
        let data = self.node(node).ok_or("an index leads nowhere")?.get("data").and_then(Json::as_array);
        let index = |v: &Json| {
            v.as_index().filter(|i| *i < self.nodes.len()).ok_or_else(|| "what leads on is not the index of an object".to_owned())
        };
        data.unwrap_or_default().iter().map(index).collect()
    }

    fn field(&self, node: usize, name: &str) -> Option<&str> {
        self.node(node)?.get("attrs")?.get(name)?.as_str()
    }

    fn needed(&self, node: usize, name: &str) -> Convert<&str> {
        self.field(node, name).ok_or_else(|| format!("`{}` has no field `{name}`", self.key(node)))
    }

    /// Returns the value of a type that is written as a string.
    fn repr(&self, node: usize) -> Option<String> {
        use base64::Engine;
        let node = self.node(node)?;
        if let Some(text) = node.get("repr_str").and_then(Json::as_str) {
            return Some(text.to_string());
        }
        let bytes = base64::engine::general_purpose::STANDARD.decode(node.get("repr_b64")?.as_str()?).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the index in a field.
    fn link(&self, node: usize, name: &str) -> Convert<usize> {
        let text = self.needed(node, name)?;
        let index = text.parse::<usize>().ok().filter(|i| *i < self.nodes.len());
        index.ok_or_else(|| format!("field `{name}` of `{}` is not the index of an object: `{text}`", self.key(node)))
    }

    fn convert(&mut self, store: &mut Store, node: usize, depth: usize) -> Convert<MetaValue> {
        match self.done.get(node) {
            None => return Err("an index leads nowhere".into()),
            Some(Slot::Done(value)) => return Ok(value.clone()),
            Some(Slot::Busy) => return Err("its objects refer to each other in a circle".into()),
            Some(Slot::Todo) => {}
        }
        if depth > MAX_DEPTH {
            return Err("its objects are nested too deeply".into());
        }
        self.done[node] = Slot::Busy;
        let result = self.convert_new(store, node, depth + 1);
        self.done[node] = match &result {
            Ok(value) => Slot::Done(value.clone()),
            Err(_) => Slot::Todo,
        };
        result
    }

    fn value(&mut self, store: &mut Store, node: usize, depth: usize) -> Convert<AttrValue> {
        match self.convert(store, node, depth)? {
            MetaValue::Value(value) => Ok(value),
            MetaValue::Attrs(attrs) => {
                let Attrs { key, fields } = store.attrs_of_id(attrs).clone();
                Ok(AttrValue::Object(store.add_object(Object { key, fields, items: Box::new([]), repr: None })))
            }
        }
    }

    fn link_value(&mut self, store: &mut Store, node: usize, name: &str, depth: usize) -> Convert<AttrValue> {
        let link = self.link(node, name)?;
        self.value(store, link, depth)
    }

    fn convert_new(&mut self, store: &mut Store, node: usize, depth: usize) -> Convert<MetaValue> {
        let key = self.key(node).to_string();
        if let Some(op) = key.strip_prefix("tir.")
            && (op == "Cast" || PrimOp::named(op).is_some())
        {
            return self.arithmetic(store, node, op, depth).map(MetaValue::Value);
        }
        let value = match &*key {
            "" | "Span" => AttrValue::Null,
            "runtime.String" => AttrValue::Str(store.name(&self.repr(node).unwrap_or_default())),
            "IntImm" => self.int(node)?,
            "FloatImm" => AttrValue::Float(Double(parsed(self.needed(node, "value")?)?)),
            "Array" => AttrValue::Array(self.list(store, node, depth)?.into()),
            "Map" => self.map(store, node, depth)?,
            "tir.Any" => AttrValue::Dim(Dim::Any),
            "tir.Call" => self.intrinsic(store, node, depth)?,
            "tir.Var" | "tir.SizeVar" => {
                let name = self.text_field(store, node, "name", depth)?;
                let dtype = parse_dtype(self.field(node, "dtype").unwrap_or("int32"))?;
                let symbol = store.add_symbol(Symbol { name, dtype, size: key == "tir.SizeVar" });
                AttrValue::Dim(Dim::Symbol(symbol))
            }
            "relay.Constant" => self.constant(store, node, depth)?,
            "relay.Var" => self.variable(store, node, depth)?,
            "relay.GlobalVar" | "GlobalVar" => AttrValue::Global(self.text_field(store, node, "name_hint", depth)?),
            "relay.TensorType" | "TupleType" | "FuncType" | "relay.RefType" | "TypeVar" | "GlobalTypeVar" | "TypeCall"
            | "IncompleteType" => AttrValue::Type(self.ty(store, node, &key, depth)?),
            "DictAttrs" => {
                let fields = match self.link_value(store, node, "__dict__", depth)? {
                    AttrValue::Map(fields) => fields,
                    _ => Box::new([]),
                };
                let key = store.name(&key);
                return Ok(MetaValue::Attrs(store.attrs(Attrs { key, fields })));
            }
            _ if schema_of(&key).is_some() || key.starts_with("relay.attrs.") => {
                return self.attrs(store, node, &key, depth);
            }
            _ => self.object(store, node, &key, depth)?,
        };
        Ok(MetaValue::Value(value))
    }

    fn list(&mut self, store: &mut Store, node: usize, depth: usize) -> Convert<Vec<AttrValue>> {
        self.indices(node)?.into_iter().map(|i| self.value(store, i, depth)).collect()
    }

    fn int(&self, node: usize) -> Convert<AttrValue> {
        let value = parsed(self.needed(node, "value")?)?;
        let dtype = parse_dtype(self.field(node, "dtype").unwrap_or("int32"))?;
        Ok(if dtype == DType::BOOL { AttrValue::Bool(value != 0) } else { AttrValue::Int { value, bits: dtype.bits } })
    }

    /// Reads a map: with string keys, or with keys and values in turn.
    fn map(&mut self, store: &mut Store, node: usize, depth: usize) -> Convert<AttrValue> {
        let values = self.list(store, node, depth)?;
        let keys: Vec<String> = self.strings(node, "keys").map(str::to_string).collect();
        if keys.len() == values.len() {
            let fields = keys.iter().map(|k| store.name(k)).zip(values);
            return Ok(AttrValue::Map(fields.collect()));
        }
        let key = store.name("Map");
        Ok(AttrValue::Object(store.add_object(Object { key, fields: Box::new([]), items: values.into(), repr: None })))
    }

    /// Reads a string field: TVM keeps some as objects and some as plain text.
    fn text_field(&mut self, store: &mut Store, node: usize, name: &str, depth: usize) -> Convert<Id<Name>> {
        let text = self.needed(node, name)?.to_string();
        if let Ok(index) = text.parse::<usize>()
            && self.key(index) == "runtime.String"
            && let AttrValue::Str(name) = self.value(store, index, depth)?
        {
            return Ok(name);
        }
        Ok(store.name(&text))
    }

    fn arithmetic(&mut self, store: &mut Store, node: usize, op: &str, depth: usize) -> Convert<AttrValue> {
        let op = PrimOp::named(op);
        let a = self.operand(store, node, if op.is_some() { "a" } else { "value" }, depth)?;
        let Some(op) = op else {
            let dtype = parse_dtype(self.field(node, "dtype").unwrap_or("int32"))?;
            let value = store.prim_of_dim(a);
            return Ok(AttrValue::Dim(Dim::Expr(store.prim(PrimExpr::Cast { dtype, value }))));
        };
        let b = self.operand(store, node, "b", depth)?;
        Ok(AttrValue::Dim(store.dim_binary(op, a, b)))
    }

    /// Converts a call of an intrinsic, such as the rounding in `nn.upsampling`'s symbolic extents.
    fn intrinsic(&mut self, store: &mut Store, node: usize, depth: usize) -> Convert<AttrValue> {
        let op = self.link(node, "op")?;
        let name = self.repr(op).unwrap_or_default();
        let op = store.name(name.strip_prefix("tir.").unwrap_or(&name));
        let dtype = parse_dtype(self.field(node, "dtype").unwrap_or("int32"))?;
        let list = self.link(node, "args")?;
        let mut args = Vec::new();
        for arg in self.indices(list)? {
            let dim = self.extent(store, arg, depth)?;
            args.push(store.prim_of_dim(dim));
        }
        Ok(AttrValue::Dim(Dim::Expr(store.prim(PrimExpr::Call { op, args: args.into(), dtype }))))
    }

    fn operand(&mut self, store: &mut Store, node: usize, field: &str, depth: usize) -> Convert<Dim> {
        let link = self.link(node, field)?;
        self.extent(store, link, depth)
    }

    fn extent(&mut self, store: &mut Store, node: usize, depth: usize) -> Convert<Dim> {
        match self.value(store, node, depth)? {
            AttrValue::Dim(dim) => Ok(dim),
            AttrValue::Int { value, bits } => Ok(Dim::Int { value, bits }),
            AttrValue::Float(value) => {
                let dtype = parse_dtype(self.field(node, "dtype").unwrap_or("float32"))?;
                Ok(Dim::Expr(store.prim(PrimExpr::Float { value, dtype })))
            }
            // An unknown number stands for any other object.
            _ => self.unknown_number(store, node),
        }
    }

    /// Makes a symbol for a number that cannot be read, the same one whenever it is used.
    fn unknown_number(&mut self, store: &mut Store, link: usize) -> Convert<Dim> {
        if let Some(&symbol) = self.unknown.get(&link) {
            return Ok(Dim::Symbol(symbol));
        }
        let dtype = parse_dtype(self.field(link, "dtype").unwrap_or("float64"))?;
        let name = store.name(&format!("number{link}"));
        let symbol = store.add_symbol(Symbol { name, dtype, size: false });
        self.unknown.insert(link, symbol);
        Ok(Dim::Symbol(symbol))
    }

    fn ty(&mut self, store: &mut Store, node: usize, key: &str, depth: usize) -> Convert<TypeId> {
        let ty = match key {
            "relay.TensorType" => {
                let AttrValue::Array(shape) = self.link_value(store, node, "shape", depth)? else {
                    return Err("the shape of a tensor type is not a list".into());
                };
                let dim = |value: &AttrValue| match *value {
                    AttrValue::Int { value, bits } => Ok(Dim::Int { value, bits }),
                    AttrValue::Dim(dim) => Ok(dim),
                    _ => Err("an extent is not a number"),
                };
                let shape = shape.iter().map(dim).collect::<Result<_, _>>()?;
                Type::Tensor { shape, dtype: parse_dtype(self.needed(node, "dtype")?)? }
            }
            "TupleType" => Type::Tuple(self.types(store, node, "fields", depth)?),
            "FuncType" => {
                let mut type_params = Vec::new();
                for ty in self.types(store, node, "type_params", depth)? {
                    match store.type_of_id(ty) {
                        Type::Var(var) => type_params.push(*var),
                        _ => return Err("a type parameter is not a type variable".into()),
                    }
                }
                let params = self.types(store, node, "arg_types", depth)?;
                Type::Func { type_params: type_params.into(), params, ret: self.link_type(store, node, "ret_type", depth)? }
            }
            "relay.RefType" => Type::Ref(self.link_type(store, node, "value", depth)?),
            "TypeVar" => {
                let name = self.text_field(store, node, "name_hint", depth)?;
                Type::Var(store.add_type_var(TypeVar { name }))
            }
            "GlobalTypeVar" => Type::Global(self.text_field(store, node, "name_hint", depth)?),
            "TypeCall" => {
                let args = self.types(store, node, "args", depth)?;
                Type::Apply { head: self.link_type(store, node, "func", depth)?, args }
            }
            _ => return Ok(store.hole()),
        };
        Ok(store.ty(ty))
    }

    fn link_type(&mut self, store: &mut Store, node: usize, name: &str, depth: usize) -> Convert<TypeId> {
        match self.link_value(store, node, name, depth)? {
            AttrValue::Type(ty) => Ok(ty),
            _ => Err(format!("field `{name}` of `{}` is not a type", self.key(node))),
        }
    }

    fn types(&mut self, store: &mut Store, node: usize, name: &str, depth: usize) -> Convert<Box<[TypeId]>> {
        let AttrValue::Array(items) = self.link_value(store, node, name, depth)? else {
            return Err(format!("field `{name}` of `{}` is not a list", self.key(node)));
        };
        let ty = |value: &AttrValue| match value {
            AttrValue::Type(ty) => Ok(*ty),
            _ => Err(format!("field `{name}` of `{}` holds something that is not a type", self.key(node))),
        };
        items.iter().map(ty).collect()
    }

    fn optional_type(&mut self, store: &mut Store, node: usize, name: &str, depth: usize) -> Convert<Option<TypeId>> {
        if self.field(node, name).is_none_or(|text| text == "0") {
            return Ok(None);
        }
        self.link_type(store, node, name, depth).map(Some)
    }

    fn constant(&mut self, store: &mut Store, node: usize, depth: usize) -> Convert<AttrValue> {
        let text = self.needed(node, "data")?;
        let array = text.parse::<usize>().ok().and_then(|i| self.arrays.get(i)).and_then(Json::as_str);
        let tensor = ndarray::decode(array.ok_or_else(|| format!("there is no tensor with the index `{text}`"))?)?;
        let ty = self.optional_type(store, node, "_checked_type_", depth)?;
        let tensor = store.add_tensor(tensor);
        Ok(AttrValue::Expr(store.add_typed(Expr::Constant(tensor), ty)))
    }

    fn variable(&mut self, store: &mut Store, node: usize, depth: usize) -> Convert<AttrValue> {
        let identity = self.link(node, "vid")?;
        let annotation = self.optional_type(store, node, "type_annotation", depth)?;
        let ty = self.optional_type(store, node, "_checked_type_", depth)?;
        let var = match self.identities.get(&identity) {
            Some(&first) => store.var_from(first, annotation, ty),
            None => {
                let name = self.text_field(store, identity, "name_hint", depth)?;
                let name = store.name_rc(name);
                let var = store.var(&name.0, annotation);
                self.identities.insert(identity, var);
                if ty.is_some() { store.var_from(var, annotation, ty) } else { var }
            }
        };
        Ok(AttrValue::Expr(store.use_var(var)))
    }

    fn attrs(&mut self, store: &mut Store, node: usize, key: &str, depth: usize) -> Convert<MetaValue> {
        let schema = schema_of(key);
        let mut written: Vec<(String, AttrValue)> = Vec::new();
        for (name, text) in self.fields(node) {
            let value = match schema.and_then(|s| s.field(&name)) {
                Some(field) => {
                    let value = self.typed_field(store, field.kind, &text, depth)?;
                    fit(field.kind, value).map_err(|found| format!("field `{name}` of `{key}` is {found}"))?
                }
                None => self.untyped_field(store, &text, depth),
            };
            written.push((name, value));
        }
        let attrs = match schema {
            Some(schema) => {
                let written: Vec<(&str, AttrValue)> = written.iter().map(|(n, v)| (&**n, v.clone())).collect();
                schema.complete(store, &written).map_err(|missing| format!("`{key}` has no field `{missing}`"))?
            }
            None => {
                let key = store.name(key);
                Attrs { key, fields: written.into_iter().map(|(n, v)| (store.name(&n), v)).collect() }
            }
        };
        Ok(MetaValue::Attrs(store.attrs(attrs)))
    }

    fn fields(&self, node: usize) -> Vec<(String, String)> {
        let attrs = self.node(node).and_then(|n| n.get("attrs")).and_then(Json::as_object);
        let text = |(name, value): &(String, Json)| Some((name.clone(), value.as_str()?.to_string()));
        let mut fields: Vec<(String, String)> = attrs.unwrap_or_default().iter().filter_map(text).collect();
        sort_by(&mut fields, |a, b| a.0.cmp(&b.0));
        fields
    }

    fn typed_field(&mut self, store: &mut Store, kind: AttrKind, text: &str, depth: usize) -> Convert<AttrValue> {
        Ok(match kind {
            AttrKind::Int => AttrValue::int(parsed(text)?),
            AttrKind::Bool => AttrValue::Bool(text != "0"),
            AttrKind::Float => AttrValue::Float(Double(parsed(text)?)),
            AttrKind::DType if text.is_empty() => AttrValue::DType(None),
            AttrKind::DType => AttrValue::DType(Some(parse_dtype(text)?)),
            AttrKind::Str => match text.parse::<usize>() {
                Ok(0) => AttrValue::Null,
                Ok(index) if self.key(index) == "runtime.String" => self.value(store, index, depth)?,
                _ => AttrValue::Str(store.name(text)),
            },
            AttrKind::Integer | AttrKind::Ints | AttrKind::Boxed | AttrKind::Any => {
                let index = text.parse::<usize>().ok().filter(|i| *i < self.nodes.len());
                self.value(store, index.ok_or_else(|| format!("`{text}` is not the index of an object"))?, depth)?
            }
        })
    }

    /// Converts a field without a schema: the file does not tell numbers from indices, so a possible index is taken for
    /// one.
    fn untyped_field(&mut self, store: &mut Store, text: &str, depth: usize) -> AttrValue {
        if let Ok(index) = text.parse::<usize>() {
            if index == 0 {
                return AttrValue::Null;
            }
            if index < self.nodes.len()
                && let Ok(value) = self.value(store, index, depth)
            {
                return value;
            }
        }
        if let Ok(value) = text.parse::<i64>() {
            return AttrValue::int(value);
        }
        match text.parse::<f64>() {
            Ok(value) => AttrValue::Float(Double(value)),
            Err(_) => AttrValue::Str(store.name(text)),
        }
    }

    fn object(&mut self, store: &mut Store, node: usize, key: &str, depth: usize) -> Convert<AttrValue> {
        let mut fields = Vec::new();
        for (name, text) in self.fields(node) {
            let value = match &*name {
                "device_type_int" | "virtual_device_id" => AttrValue::int(parsed(&text)?),
                _ => self.untyped_field(store, &text, depth),
            };
            fields.push((store.name(&name), value));
        }
        let items = self.list(store, node, depth)?.into();
        let repr = self.repr(node).map(String::into_boxed_str);
        let key = store.name(key);
        Ok(AttrValue::Object(store.add_object(Object { key, fields: fields.into(), items, repr })))
    }
}

fn parsed<T: std::str::FromStr>(text: &str) -> Convert<T> {
    text.trim().parse().map_err(|_| format!("`{text}` is not a number"))
}
