//! The objects of Relax in a graph: types, expressions, bindings, functions, the attributes of operators.

use super::{Graph, Item, Read, Root};
use crate::ir::sort::sort_by;
use crate::ir::{
    AttrValue, Attrs, AttrsId, Binding, CallInfo, DType, Dialect, Dim, Double, Expr, ExprId, Extents, Function, Id, List, Module,
    Object, PrimExpr, TensorInfo, Type, TypeId, VarId,
};
use crate::ops::{self, AttrDefault, AttrField, AttrKind};
use crate::parse::json::Json;
use crate::parse::relax::meta;

impl Graph<'_> {
    /// The nodes of variables that hold scalars and are bound by Relax, not by a tensor program.
    pub(super) fn scalar_variables(&mut self) {
        let place = |json: Option<&Json>| json.and_then(Json::as_index);
        for node in self.nodes {
            let Some(data) = node.get("data") else { continue };
            match node.get("type").and_then(Json::as_str) {
                Some("relax.expr.Function") => {
                    let params = place(data.get("params")).and_then(|at| self.nodes.get(at)?.get("data")?.as_array());
                    self.bound.extend(params.unwrap_or_default().iter().filter_map(Json::as_index));
                }
                Some("relax.expr.VarBinding" | "relax.expr.MatchCast") => self.bound.extend(place(data.get("var"))),
                _ => {}
            }
        }
    }

    /// A variable of Relax of a type.
    pub(super) fn relax_variable(&mut self, name: Id<crate::ir::Name>, ty: TypeId, dataflow: bool) -> Item {
        let name = self.store.str(name).to_owned();
        Item::RelaxVar(self.store.relax_var(&name, Some(ty), dataflow))
    }

    fn type_of(&mut self, key: &str) -> Read<TypeId> {
        let at = self.place(key)?;
        self.type_at(at)
    }

    pub(super) fn type_at(&mut self, at: usize) -> Read<TypeId> {
        match self.items[at] {
            Item::Ty(ty) => Ok(ty),
            Item::Type(dtype) => Ok(self.store.ty(Type::Prim(dtype))),
            _ => self.strange(at),
        }
    }

    fn types(&mut self, key: &str) -> Read<Box<[TypeId]>> {
        self.list(key)?.into_iter().map(|at| self.type_at(at)).collect()
    }

    fn expr(&mut self, key: &str) -> Read<ExprId> {
        let at = self.place(key)?;
        self.expr_at(at)
    }

    fn exprs(&mut self, key: &str) -> Read<Vec<ExprId>> {
        self.list(key)?.into_iter().map(|at| self.expr_at(at)).collect()
    }

    fn expr_at(&mut self, at: usize) -> Read<ExprId> {
        let expr = match self.items[at] {
            Item::Expr(expr) | Item::Func(expr) => return Ok(expr),
            Item::RelaxVar(var) => return Ok(self.store.use_var(var)),
            Item::Str(name) if self.kind(at) == "ir.GlobalVar" => Expr::Global(name),
            Item::Prim(prim) => match *self.store.prim_of_id(prim) {
                PrimExpr::Str(text) => Expr::Str(text),
                _ => Expr::Prim(prim),
            },
            Item::Var(symbol) => Expr::Prim(self.store.prim(PrimExpr::Var(symbol))),
            Item::Op(name) => match ops::lookup_relax(self.store.str(name)) {
                Some(op) => Expr::Op(op),
                None => return self.wrong(&format!("there is no operator `R.{}`", self.store.str(name))),
            },
            _ => return self.strange(at),
        };
        Ok(self.store.add(expr))
    }

    fn relax_var(&self, at: usize) -> Read<VarId> {
        if let Item::RelaxVar(var) = self.items[at] { Ok(var) } else { self.strange(at) }
    }

    fn extents(&mut self, at: usize) -> Read<Box<[Dim]>> {
        let Item::List(items) = &self.items[at] else { return self.strange(at) };
        let mut dims = Vec::new();
        for item in items.clone() {
            let prim = self.prim_at(item)?;
            dims.push(self.store.dim_of_prim(prim));
        }
        Ok(dims.into())
    }

    /// A list of extents, or only their number.
    fn known_extents(&mut self, key: &str) -> Read<Extents> {
        let at = self.place(key)?;
        Ok(match &self.items[at] {
            Item::Nothing => u32::try_from(self.number("ndim")?).map_or(Extents::Unknown, Extents::Rank),
            Item::RelaxVar(var) => Extents::Var(*var),
            Item::Expr(shape) => match self.store.expr(*shape) {
                Expr::Shape(dims) => Extents::Known(self.store.dims_of_id(dims).into()),
                _ => return self.strange(at),
            },
            _ => Extents::Known((&*self.extents(at)?).into()),
        })
    }

    /// True for a call of a function or of an operator of Relax, which is not one of a tensor program.
    pub(super) fn is_high_level_call(&self) -> Read<bool> {
        let op = self.place("op")?;
        let named = self.nodes[op].get("data").and_then(Json::as_str);
        Ok(self.kind(op) != "ir.Op" || named.is_some_and(|name| name.starts_with("relax.")))
    }

    fn high_level_call(&mut self) -> Read<ExprId> {
        let (callee, args) = (self.expr("op")?, self.exprs("args")?);
        let attrs = match *self.get("attrs")? {
            Item::Nothing => None,
            Item::Attrs(attrs) => Some(attrs),
            _ => return self.strange(self.place("attrs")?),
        };
        let type_args = self.types("ty_args")?;
        let args = self.store.list(&args);
        let CallInfo { attrs, type_args } = CallInfo { attrs, type_args };
        let info = self.store.add_call_info(attrs, &type_args);
        Ok(self.store.add(Expr::Call { callee, args, info }))
    }

    /// Reads a node that only programs of Relax have.
    pub(super) fn high_level(&mut self, kind: &str) -> Read<Option<Item>> {
        let family = kind.split_once('.').map(|(family, _)| family);
        if family != Some("relax") && !kind.starts_with("ir.") && !matches!(kind, "ffi.Tensor" | "target.Target") {
            return Ok(None);
        }
        if let Some(ty) = self.relax_type(kind)? {
            let ty = self.store.ty(ty);
            return Ok(Some(Item::Ty(ty)));
        }
        if kind.starts_with("relax.attrs.") {
            return self.operator_attrs(kind).map(|attrs| Some(Item::Attrs(attrs)));
        }
        Ok(Some(match kind {
            "ffi.Tensor" => match self.data().and_then(Json::as_str).and_then(meta::tensor) {
                Some(tensor) => Item::Tensor(self.store.add_tensor(tensor)),
                None => return self.wrong("the data of the tensor are damaged"),
            },
            "relax.expr.DataflowVar" => {
                let (name, ty) = (self.str("name")?, self.type_of("ty")?);
                self.relax_variable(name, ty, true)
            }
            "relax.expr.VarBinding" => Item::Binding(self.binding(None)?),
            "relax.expr.MatchCast" => {
                let cast = self.type_of(if self.has("ty") { "ty" } else { "struct_info" })?;
                Item::Binding(self.binding(Some(cast))?)
            }
            "relax.expr.BindingBlock" | "relax.expr.DataflowBlock" => {
                let mut bindings = Vec::new();
                for at in self.list("bindings")? {
                    let Item::Binding(binding) = self.items[at] else { return self.strange(at) };
                    bindings.push(binding);
                }
                Item::Bindings(self.store.add_block_of(&bindings, kind == "relax.expr.DataflowBlock"))
            }
            "target.Target" => {
                let (key, fields) = (self.store.name("Target"), self.target()?);
                Item::Object(self.store.add_object(Object { key, fields, items: [].into(), repr: None }))
            }
            "relax.VDevice" => {
                let target = match *self.get("target")? {
                    Item::Object(target) => AttrValue::Map(self.store.object(target).fields.clone()),
                    _ => AttrValue::Null,
                };
                let fields = [
                    ("target", target),
                    ("vdevice_id", AttrValue::Int { value: self.number("vdevice_id")?, bits: 64 }),
                    ("memory_scope", AttrValue::Str(self.str("memory_scope")?)),
                ];
                Item::Object(self.object("VDevice", fields))
            }
            _ => match self.relax_expr(kind)? {
                Some(expr) => Item::Expr(expr),
                None => return Ok(None),
            },
        }))
    }

    fn relax_type(&mut self, kind: &str) -> Read<Option<Type>> {
        Ok(Some(match kind {
            "relax.TensorType" => {
                let dtype = self.place("dtype")?;
                let dtype = match self.items[dtype] {
                    Item::Type(dtype) if dtype != DType::VOID => Some(dtype),
                    Item::Type(_) | Item::Nothing => None,
                    _ => return self.strange(dtype),
                };
                let vdevice = match *self.get("vdevice")? {
                    Item::Object(device) => Some(device),
                    _ => None,
                };
                let info = TensorInfo { extents: self.known_extents("shape")?, dtype, vdevice };
                match info {
                    TensorInfo { extents: Extents::Known(shape), dtype: Some(dtype), vdevice: None } => {
                        Type::Tensor { shape, dtype }
                    }
                    info => Type::PartialTensor(info),
                }
            }
            "relax.ShapeType" => Type::Shape(self.known_extents("values")?),
            "relax.AnyType" | "relax.ObjectType" => Type::Any,
            "ir.StringType" => Type::Str,
            "relax.PackedFuncType" => Type::PackedFunc,
            "ir.TupleType" => Type::Tuple(self.types("fields")?),
            "relax.FuncType" => {
                let params = match self.get("params")? {
                    Item::Nothing => None,
                    _ => Some(self.types("params")?),
                };
                Type::Callable { params, ret: self.type_of("ret")?, pure: self.number("purity")? != 0 }
            }
            _ => return Ok(None),
        }))
    }

    fn relax_expr(&mut self, kind: &str) -> Read<Option<ExprId>> {
        let expr = match kind {
            "relax.expr.ShapeExpr" => {
                let values = self.place("values")?;
                let dims = self.extents(values)?;
                Expr::Shape(self.store.dims(&dims))
            }
            "ir.GenericConst" => match *self.get("value")? {
                Item::Tensor(tensor) => Expr::Constant(tensor),
                Item::Type(dtype) => Expr::DataType(dtype),
                _ => return self.strange(self.place("value")?),
            },
            "relax.expr.DataTypeImm" => Expr::DataType(self.dtype("value")?),
            "relax.expr.ExternFunc" => Expr::Extern(self.str("global_symbol")?),
            "ir.Tuple" => {
                let fields = self.exprs("fields")?;
                Expr::Tuple(self.store.list(&fields))
            }
            "ir.TupleGetItem" => match u32::try_from(self.number("index")?) {
                Ok(index) => Expr::TupleGetItem { tuple: self.expr("tuple_value")?, index },
                Err(_) => return self.wrong("the index is no place"),
            },
            "ir.Call" if self.is_high_level_call()? => return self.high_level_call().map(Some),
            "relax.expr.If" => {
                Expr::If { cond: self.expr("cond")?, then: self.expr("true_branch")?, other: self.expr("false_branch")? }
            }
            "relax.expr.SeqExpr" => {
                let mut blocks = Vec::new();
                for at in self.list("blocks")? {
                    let Item::Bindings(block) = self.items[at] else { return self.strange(at) };
                    blocks.push(block);
                }
                Expr::Seq { blocks: self.store.list(&blocks), body: self.expr("body")? }
            }
            "relax.expr.Function" => {
                let params: Vec<VarId> = self.list("params")?.into_iter().map(|at| self.relax_var(at)).collect::<Read<_>>()?;
                let function = Function {
                    params: self.store.list(&params),
                    type_params: List::EMPTY,
                    ret: Some(self.type_of("ret_ty")?),
                    body: self.expr("body")?,
                    attrs: self.attrs("attrs")?,
                    device: None,
                    pure: self.number("is_pure")? != 0,
                };
                let ty = self.type_of("ty")?;
                let function = self.store.add_function(function);
                return Ok(Some(self.store.add_typed(Expr::Function(function), Some(ty))));
            }
            _ => return Ok(None),
        };
        Ok(Some(self.store.add(expr)))
    }

    fn binding(&mut self, cast: Option<TypeId>) -> Read<Binding> {
        let var = self.place("var")?;
        Ok(Binding { var: self.relax_var(var)?, value: self.expr("value")?, cast })
    }

    /// The fields of a target, by their names.
    fn target(&mut self) -> Read<Box<[(Id<crate::ir::Name>, AttrValue)]>> {
        let mut fields = self.fields(&self.list("attrs")?)?;
        for key in ["keys", "kind", "tag", "host"] {
            let at = self.place(key)?;
            let value = match self.attr(at)? {
                AttrValue::Null => continue,
                AttrValue::Object(host) => AttrValue::Map(self.store.object(host).fields.clone()),
                value => value,
            };
            fields.push((self.store.name(key), value));
        }
        sort_by(&mut fields, |a, b| self.store.str(a.0).cmp(self.store.str(b.0)));
        Ok(fields.into())
    }

    pub(super) fn object<const N: usize>(&mut self, key: &str, fields: [(&str, AttrValue); N]) -> Id<Object> {
        let key = self.store.name(key);
        let fields = fields.map(|(name, value)| (self.store.name(name), value));
        self.store.add_object(Object { key, fields: fields.into(), items: [].into(), repr: None })
    }

    /// The attributes of an operator. Fields that C++ keeps as plain numbers stand there, others are nodes.
    fn operator_attrs(&mut self, kind: &str) -> Read<AttrsId> {
        let schemas = ops::all().iter().filter_map(|op| op.relax.as_ref()?.attrs);
        let known = schemas.into_iter().find(|schema| schema.key == kind).map_or(&[][..], |schema| schema.fields);
        let Some(Json::Object(data)) = self.data() else { return self.wrong("the attributes are missing") };
        let mut fields = Vec::new();
        for (name, value) in data {
            let field = known.iter().find(|field| field.name == name);
            let value = self.field(field, value)?;
            fields.push((self.store.name(name), value));
        }
        let key = self.store.name(kind);
        Ok(self.store.attrs(Attrs { key, fields: fields.into() }))
    }

    fn field(&mut self, field: Option<&AttrField>, json: &Json) -> Read<AttrValue> {
        // An attribute that may be missing is a node, even if it is a number.
        let optional = field.is_some_and(|field| field.default == Some(AttrDefault::Null));
        Ok(match (field.map(|field| field.kind), json) {
            (_, Json::Bool(known)) => AttrValue::Bool(*known),
            (_, Json::Float(value)) => AttrValue::Float(Double(*value)),
            (Some(AttrKind::Float), Json::Int(value)) if !optional => AttrValue::Float(Double(*value as f64)),
            (_, Json::Str(text)) => match DType::parse(text) {
                Some(dtype) => AttrValue::DType(Some(dtype)),
                None if text.is_empty() => AttrValue::DType(None),
                None => AttrValue::Str(self.store.name(text)),
            },
            (Some(AttrKind::Int), Json::Int(value)) if !optional => AttrValue::Int { value: *value, bits: 64 },
            (_, Json::Int(at)) => match usize::try_from(*at).ok().filter(|at| *at < self.items.len()) {
                Some(at) => self.attr(at)?,
                None => AttrValue::Int { value: *at, bits: 64 },
            },
            _ => return self.wrong("an attribute has an unknown form"),
        })
    }

    /// A module: its functions, attributes and the objects that types refer to.
    pub(super) fn module(&mut self) -> Read<Item> {
        let mut module = Module::of(Dialect::Relax);
        for pair in self.list("functions")?.chunks_exact(2) {
            match self.items[pair[0]] {
                Item::Str(name) => module.set_function(name, self.expr_at(pair[1])?),
                _ => return self.strange(pair[0]),
            }
        }
        module.set_attrs(self.attrs("attrs")?);
        module.set_global_infos(self.attrs("global_infos")?);
        Ok(Item::Root(Root::Module(module)))
    }
}
