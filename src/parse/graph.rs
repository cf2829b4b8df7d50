//! Objects as `tvm.ir.save_json` of TVM 0.27 writes them: a graph of nodes, of which each names those that it is made of,
//! and stands behind them. Read are modules, and maps of indices, which databases of schedules have.

mod relax;

use super::json::{self, Json};
use crate::ir::{
    AttrNode, AttrValue, Attrs, AttrsId, Binding, BindingBlock, Block, Buffer, BufferLayout, DType, Dim, Double, Expr, ExprId,
    For, ForKind, Id, IterKind, IterVar, Module, Name, Object, PrimExpr, PrimFunc, PrimId, PrimOp, PrimParam, Region, Stmt,
    StmtId, Store, Symbol, Tensor, Type, TypeId, VarId,
};
use crate::tir::index_map::IndexMap;
use rustc_hash::FxHashSet;

/// The object that a graph is about.
pub enum Root {
    /// A program. Its types are those that are saved, and were not checked.
    Module(Module),
    /// A map of indices.
    IndexMap(IndexMap),
}

/// A node that was read.
enum Item {
    Nothing,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Id<Name>),
    List(Vec<usize>),
    /// Keys and values in turn.
    Map(Vec<usize>),
    Type(DType),
    Op(Id<Name>),
    Var(Id<Symbol>),
    /// A type of buffers; the buffer itself is made with its name.
    BufferType(Box<Buffer>),
    Buffer(Id<Buffer>),
    Prim(PrimId),
    Range(PrimId, PrimId),
    /// A variable of a block without its value, or of a thread with its tag.
    Iter(Option<IterVar>, Id<Name>),
    Region(Region),
    Match(Id<Buffer>, Region),
    Block(Box<Block>),
    Stmt(StmtId),
    Func(ExprId),
    Ty(TypeId),
    Expr(ExprId),
    RelaxVar(VarId),
    Binding(Binding),
    Bindings(Id<BindingBlock>),
    Tensor(Id<Tensor>),
    Attrs(AttrsId),
    Object(Id<Object>),
    Root(Root),
    /// An object that is not read, which is wrong only where it is needed.
    Other(usize),
}

type Read<T> = Result<T, String>;

/// Reads a graph.
pub fn read(store: &mut Store, text: &str) -> Read<Root> {
    let json = json::read(text).map_err(|error| format!("this is no JSON: {} at byte {}", error.message, error.offset))?;
    let nodes = json.get("nodes").and_then(Json::as_array).ok_or("the graph has no nodes")?;
    let root = json.get("root_index").and_then(Json::as_index).filter(|at| *at < nodes.len());
    let root = root.ok_or("the graph has no root")?;
    let mut graph = Graph { store, nodes, items: Vec::with_capacity(nodes.len()), at: 0, bound: FxHashSet::default() };
    graph.scalar_variables();
    for at in 0..=root {
        graph.at = at;
        let item = graph.item()?;
        graph.items.push(item);
    }
    match graph.items.pop() {
        Some(Item::Root(root)) => Ok(root),
        _ => Err(format!("objects of type `{}` are not read here", graph.kind(root))),
    }
}

struct Graph<'a> {
    store: &'a mut Store,
    nodes: &'a [Json],
    items: Vec<Item>,
    /// The node that is read.
    at: usize,
    /// Nodes of variables that Relax binds.
    bound: FxHashSet<usize>,
}

impl<'a> Graph<'a> {
    fn kind(&self, at: usize) -> &'a str {
        self.nodes.get(at).and_then(|node| node.get("type")).and_then(Json::as_str).unwrap_or_default()
    }

    fn wrong<T>(&self, what: &str) -> Read<T> {
        Err(format!("node {} of the graph, `{}`: {what}", self.at, self.kind(self.at)))
    }

    fn data(&self) -> Option<&'a Json> {
        self.nodes[self.at].get("data")
    }

    /// The number that a field holds: a node's, or one that stands there itself.
    fn number(&self, key: &str) -> Read<i64> {
        match self.data().and_then(|data| data.get(key)) {
            Some(Json::Int(number)) => Ok(*number),
            Some(Json::Bool(known)) => Ok(i64::from(*known)),
            _ => self.wrong(&format!("`{key}` is missing")),
        }
    }

    fn has(&self, key: &str) -> bool {
        self.data().and_then(|data| data.get(key)).is_some()
    }

    fn place(&self, key: &str) -> Read<usize> {
        match usize::try_from(self.number(key)?) {
            Ok(at) if at < self.items.len() => Ok(at),
            _ => self.wrong(&format!("`{key}` names no node before it")),
        }
    }

    fn get(&self, key: &str) -> Read<&Item> {
        Ok(&self.items[self.place(key)?])
    }

    fn list(&self, key: &str) -> Read<Vec<usize>> {
        match self.get(key)? {
            Item::List(items) | Item::Map(items) => Ok(items.clone()),
            Item::Nothing => Ok(Vec::new()),
            _ => self.wrong(&format!("`{key}` is no list")),
        }
    }

    fn strange<T>(&self, at: usize) -> Read<T> {
        let of = if let Item::Other(of) = self.items[at] { of } else { at };
        self.wrong(&format!("an object of type `{}` is not read here", self.kind(of)))
    }

    fn prim_at(&mut self, at: usize) -> Read<PrimId> {
        let expr = match self.items[at] {
            Item::Prim(prim) => return Ok(prim),
            Item::Var(symbol) => PrimExpr::Var(symbol),
            Item::RelaxVar(var) => match self.store.var_data(var).symbol {
                Some(symbol) => PrimExpr::Var(symbol),
                None => return self.strange(at),
            },
            Item::Buffer(buffer) => PrimExpr::Buffer(buffer),
            _ => return self.strange(at),
        };
        Ok(self.store.prim(expr))
    }

    fn prim(&mut self, key: &str) -> Read<PrimId> {
        let at = self.place(key)?;
        self.prim_at(at)
    }

    fn prims(&mut self, key: &str) -> Read<Box<[PrimId]>> {
        self.list(key)?.into_iter().map(|at| self.prim_at(at)).collect()
    }

    fn stmt(&self, key: &str) -> Read<StmtId> {
        self.stmt_at(self.place(key)?)
    }

    fn stmt_at(&self, at: usize) -> Read<StmtId> {
        if let Item::Stmt(stmt) = self.items[at] { Ok(stmt) } else { self.strange(at) }
    }

    fn str(&self, key: &str) -> Read<Id<Name>> {
        let at = self.place(key)?;
        if let Item::Str(text) = self.items[at] { Ok(text) } else { self.strange(at) }
    }

    /// The text of a string, or of one as an expression.
    fn text_of(&self, at: usize) -> Read<Id<Name>> {
        match self.items[at] {
            Item::Str(text) => Ok(text),
            Item::Prim(prim) if let PrimExpr::Str(text) = *self.store.prim_of_id(prim) => Ok(text),
            _ => self.strange(at),
        }
    }

    fn dtype(&self, key: &str) -> Read<DType> {
        let at = self.place(key)?;
        if let Item::Type(dtype) = self.items[at] { Ok(dtype) } else { self.strange(at) }
    }

    fn var(&self, key: &str) -> Read<Id<Symbol>> {
        self.var_at(self.place(key)?)
    }

    fn var_at(&self, at: usize) -> Read<Id<Symbol>> {
        if let Item::Var(symbol) = self.items[at] { Ok(symbol) } else { self.strange(at) }
    }

    fn buffer(&self, key: &str) -> Read<Id<Buffer>> {
        self.buffer_at(self.place(key)?)
    }

    fn buffer_at(&self, at: usize) -> Read<Id<Buffer>> {
        if let Item::Buffer(buffer) = self.items[at] { Ok(buffer) } else { self.strange(at) }
    }

    fn regions(&self, key: &str) -> Read<Box<[Region]>> {
        let region = |at: usize| if let Item::Region(region) = &self.items[at] { Ok(region.clone()) } else { self.strange(at) };
        self.list(key)?.into_iter().map(region).collect()
    }

    fn attr(&mut self, at: usize) -> Read<AttrValue> {
        Ok(match &self.items[at] {
            Item::Nothing => AttrValue::Null,
            Item::Bool(known) => AttrValue::Bool(*known),
            Item::Int(value) => AttrValue::Int { value: *value, bits: 64 },
            Item::Float(value) => AttrValue::Float(Double(*value)),
            Item::Str(text) => AttrValue::Str(*text),
            Item::Type(dtype) => AttrValue::DType((*dtype != DType::VOID).then_some(*dtype)),
            Item::Object(object) => AttrValue::Object(*object),
            Item::Root(Root::IndexMap(map)) => {
                let map = map.clone();
                let dim = |graph: &Self, prim| AttrValue::Dim(graph.store.dim_of_prim(prim));
                let params = map.params.iter().map(|param| AttrValue::Dim(Dim::Symbol(*param))).collect();
                let indices = map.indices.iter().map(|index| dim(self, *index)).collect();
                let fields = [("initial_indices", AttrValue::Array(params)), ("final_indices", AttrValue::Array(indices))];
                AttrValue::Object(self.object("IndexMap", fields))
            }
            Item::List(items) => {
                let items = items.clone();
                AttrValue::Array(items.into_iter().map(|item| self.attr(item)).collect::<Read<_>>()?)
            }
            Item::Map(items) => AttrValue::Map(self.fields(&items.clone())?.into()),
            Item::Prim(prim) => AttrValue::Dim(self.store.dim_of_prim(*prim)),
            _ => return self.strange(at),
        })
    }

    fn fields(&mut self, items: &[usize]) -> Read<Vec<(Id<Name>, AttrValue)>> {
        let mut fields = Vec::new();
        for pair in items.chunks_exact(2) {
            let Item::Str(key) = self.items[pair[0]] else { return self.strange(pair[0]) };
            fields.push((key, self.attr(pair[1])?));
        }
        Ok(fields)
    }

    /// The attributes of a function, a loop or a block.
    fn attrs(&mut self, key: &str) -> Read<Option<AttrsId>> {
        let fields = self.fields(&self.list(key)?)?;
        let key = self.store.name("DictAttrs");
        Ok((!fields.is_empty()).then(|| self.store.attrs(Attrs { key, fields: fields.into() })))
    }

    fn item(&mut self) -> Read<Item> {
        let kind = self.kind(self.at);
        if let Some(item) = self.value(kind)? {
            return Ok(item);
        }
        if let Some(item) = self.high_level(kind)? {
            return Ok(item);
        }
        if let Some(prim) = self.scalar(kind)? {
            return Ok(Item::Prim(prim));
        }
        if let Some(stmt) = self.statement(kind)? {
            return Ok(Item::Stmt(self.store.add_stmt(stmt)));
        }
        self.whole(kind)
    }

    /// Numbers, strings, lists and types.
    fn value(&mut self, kind: &str) -> Read<Option<Item>> {
        Ok(Some(match (kind, self.data()) {
            ("None", _) => Item::Nothing,
            ("bool", Some(Json::Bool(known))) => Item::Bool(*known),
            ("int", Some(Json::Int(number))) => Item::Int(*number),
            ("float", Some(Json::Float(number))) => Item::Float(*number),
            ("float", Some(Json::Int(number))) => Item::Float(*number as f64),
            ("ffi.String", Some(Json::Str(text))) => Item::Str(self.store.name(text)),
            ("ffi.Array" | "ffi.Map", Some(Json::Array(items))) => {
                let mut found = Vec::with_capacity(items.len());
                for item in items {
                    match item.as_index().filter(|at| *at < self.items.len()) {
                        Some(at) => found.push(at),
                        None => return self.wrong("an element is no node before it"),
                    }
                }
                if kind == "ffi.Map" { Item::Map(found) } else { Item::List(found) }
            }
            ("ir.Op", Some(Json::Str(name))) => Item::Op(self.store.name(name.split_once('.').map_or(name, |(_, name)| name))),
            ("ir.DictAttrs", _) => Item::Map(self.list("__dict__")?),
            ("target.TargetKind", Some(Json::Str(name))) => Item::Str(self.store.name(name)),
            ("DataType", Some(Json::Str(text))) => match DType::parse(text) {
                Some(dtype) => Item::Type(dtype),
                None if matches!(text.as_str(), "" | "void") => Item::Type(DType::VOID),
                None => return self.wrong("the type is not known"),
            },
            ("ir.PrimType", Some(data)) => match data.get("dtype").and_then(Json::as_str) {
                Some("") => Item::Type(DType::VOID),
                Some(text) if let Some(dtype) = DType::parse(text) => Item::Type(dtype),
                _ => return self.wrong("the type is not known"),
            },
            ("ir.PointerType", _) => {
                let (element, scope) = (self.dtype("element_type")?, self.str("storage_scope")?);
                Item::Type(self.store.pointer(element, scope))
            }
            ("ir.Var" | "tirx.Var" | "tirx.SizeVar", _) => {
                let (name, ty) = (self.str("name")?, self.place("ty")?);
                match &self.items[ty] {
                    &Item::Ty(ty) => self.relax_variable(name, ty, false),
                    Item::Type(_) if self.bound.contains(&self.at) => {
                        let ty = self.type_at(ty)?;
                        self.relax_variable(name, ty, false)
                    }
                    Item::Type(dtype) => {
                        let symbol = Symbol { name, dtype: *dtype, size: kind == "tirx.SizeVar" };
                        Item::Var(self.store.add_symbol(symbol))
                    }
                    Item::BufferType(like) => Item::Buffer(self.store.add_buffer(Buffer { name, ..(**like).clone() })),
                    _ => Item::Other(ty),
                }
            }
            _ => return Ok(None),
        }))
    }

    fn scalar(&mut self, kind: &str) -> Read<Option<PrimId>> {
        let Some((family, name)) = kind.split_once('.') else { return Ok(None) };
        if !matches!(family, "prim" | "ir" | "tirx") {
            return Ok(None);
        }
        let expr = match name {
            "IntImm" => {
                let dtype = self.dtype("ty")?;
                match self.get("value")? {
                    Item::Int(value) => PrimExpr::Int { value: *value, dtype },
                    _ => return self.wrong("the number is missing"),
                }
            }
            "FloatImm" => {
                let value = match self.data().and_then(|data| data.get("value")) {
                    Some(Json::Float(value)) => *value,
                    Some(Json::Int(value)) => *value as f64,
                    _ => return self.wrong("the number is missing"),
                };
                return Ok(Some(self.store.prim_float(value, self.dtype("ty")?)));
            }
            "StringImm" => PrimExpr::Str(self.str("value")?),
            "Not" => PrimExpr::Not(self.prim("a")?),
            "Cast" => PrimExpr::Cast { dtype: self.dtype("ty")?, value: self.prim("value")? },
            "Select" => PrimExpr::Select {
                cond: self.prim("condition")?,
                then: self.prim("true_value")?,
                other: self.prim("false_value")?,
            },
            "Let" => PrimExpr::Let { var: self.var("var")?, value: self.prim("value")?, body: self.prim("body")? },
            "TensorLoad" => PrimExpr::Load { buffer: self.buffer("source")?, indices: self.prims("indices")? },
            "Call" => return self.call().map(Some),
            "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" | "LShift" | "RShift" => {
                let op = match name {
                    "BitwiseAnd" => "bitwise_and",
                    "BitwiseOr" => "bitwise_or",
                    "BitwiseXor" => "bitwise_xor",
                    "LShift" => "shift_left",
                    _ => "shift_right",
                };
                let args = [self.prim("a")?, self.prim("b")?];
                let dtype = self.dtype("ty")?;
                return Ok(Some(self.store.prim_call(op, &args, dtype)));
            }
            "BitwiseNot" => {
                let (args, dtype) = ([self.prim("a")?], self.dtype("ty")?);
                return Ok(Some(self.store.prim_call("bitwise_not", &args, dtype)));
            }
            _ => match PrimOp::named(name) {
                Some(op) => PrimExpr::Binary { op, a: self.prim("a")?, b: self.prim("b")? },
                None => return Ok(None),
            },
        };
        Ok(Some(self.store.prim(expr)))
    }

    fn call(&mut self) -> Read<PrimId> {
        let (op, dtype, args) = (self.place("op")?, self.dtype("ty")?, self.list("args")?);
        let op = match self.items[op] {
            Item::Op(op) => op,
            _ => return self.strange(op),
        };
        if self.store.str(op) == "buffer_data"
            && let [of] = args[..]
        {
            let buffer = self.buffer_at(of)?;
            return Ok(self.store.prim(PrimExpr::Data(buffer)));
        }
        let args = args.into_iter().map(|at| self.prim_at(at)).collect::<Read<_>>()?;
        Ok(self.store.prim(PrimExpr::Call { op, args, dtype }))
    }

    fn statement(&mut self, kind: &str) -> Read<Option<Stmt>> {
        Ok(Some(match kind {
            "tirx.SeqStmt" => {
                let parts: Vec<StmtId> = self.list("seq")?.into_iter().map(|at| self.stmt_at(at)).collect::<Read<_>>()?;
                Stmt::Seq(self.store.list(&parts))
            }
            "tirx.For" => {
                let kind = match (self.number("kind")?, self.get("thread_binding")?) {
                    (1, _) => ForKind::Parallel,
                    (2, _) => ForKind::Vectorized,
                    (3, _) => ForKind::Unrolled,
                    (4, Item::Iter(_, tag)) => ForKind::Thread(*tag),
                    (0, _) => ForKind::Serial,
                    _ => return self.wrong("the kind of loop is not known"),
                };
                let step = match self.get("step")? {
                    Item::Nothing => None,
                    _ => Some(self.prim("step")?),
                };
                let (min, extent) = (self.prim("min")?, self.prim("extent")?);
                let annotations = self.attrs("annotations")?;
                let head = For { var: self.var("loop_var")?, min, extent, step, kind, annotations };
                Stmt::For(head, self.stmt("body")?)
            }
            "tirx.While" => Stmt::While { cond: self.prim("condition")?, body: self.stmt("body")? },
            "tirx.IfThenElse" => Stmt::If {
                cond: self.prim("condition")?,
                then: self.stmt("then_case")?,
                other: match self.get("else_case")? {
                    Item::Nothing => None,
                    _ => Some(self.stmt("else_case")?),
                },
            },
            "tirx.BufferStore" => {
                Stmt::Store { buffer: self.buffer("buffer")?, indices: self.prims("indices")?, value: self.prim("value")? }
            }
            "tirx.Bind" => Stmt::Bind { var: self.var("var")?, value: self.prim("value")? },
            "tirx.AttrStmt" => {
                let node = self.prim("node").map_or(AttrNode::Nothing, AttrNode::Prim);
                Stmt::Attr { node, key: self.str("attr_key")?, value: self.prim("value")?, body: self.stmt("body")? }
            }
            "tirx.AllocBuffer" => Stmt::Alloc(self.buffer("buffer")?, self.attrs("annotations")?),
            "tirx.DeclBuffer" => {
                let data = Some(self.prim("data")?);
                let (at, like) = (self.place("buffer")?, self.buffer("buffer")?);
                let buffer = Buffer { data, ..self.store.buffer(like).clone() };
                let buffer = self.store.add_buffer(buffer);
                // Statements behind the declaration mean this buffer.
                self.items[at] = Item::Buffer(buffer);
                Stmt::Declare(buffer)
            }
            "tirx.AssertStmt" => Stmt::Assert {
                cond: self.prim("condition")?,
                kind: self.text_of(self.place("error_kind")?)?,
                parts: self.list("message_parts")?.into_iter().map(|at| self.text_of(at)).collect::<Read<_>>()?,
            },
            "tirx.Return" => Stmt::Return(self.prim("value")?),
            "tirx.Evaluate" => Stmt::Evaluate(self.prim("value")?),
            "s_tir.SBlockRealize" => {
                let block = self.place("block")?;
                let Item::Block(block) = &self.items[block] else { return self.strange(block) };
                let mut block = (**block).clone();
                let values = self.prims("iter_values")?;
                if values.len() != block.iters.len() {
                    return self.wrong("each variable needs a value");
                }
                block.iters.iter_mut().zip(values).for_each(|(iter, value)| iter.value = Some(value));
                let predicate = self.prim("predicate")?;
                block.predicate = (self.store.as_prim_int(predicate) != Some(1)).then_some(predicate);
                Stmt::Block(self.store.add_prim_block(block))
            }
            _ => return Ok(None),
        }))
    }

    /// Parts of statements, functions and modules.
    fn whole(&mut self, kind: &str) -> Read<Item> {
        Ok(match kind {
            "tirx.BufferType" => {
                let offset = self.prim("elem_offset")?;
                let blank =
                    Buffer::new(self.store.name(""), self.dtype("dtype")?, self.prims("shape")?, self.str("storage_scope")?);
                let small = |number: i64| u32::try_from(number).ok();
                Item::BufferType(Box::new(Buffer {
                    strides: self.prims("strides")?,
                    elem_offset: (self.store.as_prim_int(offset) != Some(0)).then_some(offset),
                    offset_factor: small(self.number("offset_factor")?).unwrap_or(1),
                    align: small(self.number("data_alignment")?).unwrap_or(64),
                    layout: if matches!(self.get("layout")?, Item::Nothing) { BufferLayout::Unsaid } else { BufferLayout::Rows },
                    ..blank
                }))
            }
            "ir.Range" => Item::Range(self.prim("min")?, self.prim("extent")?),
            "tirx.IterVar" => {
                let kind = match self.number("iter_type")? {
                    0 => IterKind::Spatial,
                    2 => IterKind::Reduce,
                    3 => IterKind::Scan,
                    _ => IterKind::Opaque,
                };
                let iter = match *self.get("dom")? {
                    Item::Range(min, extent) => Some(IterVar { var: self.var("var")?, kind, min, extent, value: None }),
                    _ => None,
                };
                Item::Iter(iter, self.str("thread_tag")?)
            }
            "ir.TensorRegion" | "tirx.BufferRegion" => {
                let range = |at: usize| match self.items[at] {
                    Item::Range(min, extent) => Ok((min, (self.store.as_prim_int(extent) != Some(1)).then_some(extent))),
                    _ => self.strange(at),
                };
                let ranges = self.list("region")?.into_iter().map(range).collect::<Read<_>>()?;
                Item::Region(Region { buffer: self.buffer("source")?, ranges })
            }
            "s_tir.MatchBufferRegion" => {
                let source = self.place("source")?;
                let Item::Region(region) = &self.items[source] else { return self.strange(source) };
                Item::Match(self.buffer("buffer")?, region.clone())
            }
            "s_tir.SBlock" => Item::Block(Box::new(self.block()?)),
            "tirx.PrimFunc" => Item::Func(self.func()?),
            "tirx.IndexMap" => {
                let params = self.list("initial_indices")?.into_iter().map(|at| self.var_at(at)).collect::<Read<_>>()?;
                Item::Root(Root::IndexMap(IndexMap { params, indices: self.prims("final_indices")?.into() }))
            }
            "ir.GlobalVar" => Item::Str(self.str("name_hint")?),
            "ir.IRModule" => self.module()?,
            _ => Item::Other(self.at),
        })
    }

    fn block(&mut self) -> Read<Block> {
        let iter = |at: usize| match &self.items[at] {
            Item::Iter(Some(iter), _) => Ok(iter.clone()),
            _ => self.strange(at),
        };
        let matched = |at: usize| match &self.items[at] {
            Item::Match(buffer, region) => Ok((*buffer, region.clone())),
            _ => self.strange(at),
        };
        let iters = self.list("iter_vars")?.into_iter().map(iter).collect::<Read<_>>()?;
        let matches = self.list("match_buffers")?.into_iter().map(matched).collect::<Read<_>>()?;
        let init = match self.get("init")? {
            Item::Nothing => None,
            _ => Some(self.stmt("init")?),
        };
        Ok(Block {
            iters,
            reads: self.regions("reads")?,
            writes: self.regions("writes")?,
            allocs: self.list("alloc_buffers")?.into_iter().map(|at| self.buffer_at(at)).collect::<Read<_>>()?,
            matches,
            annotations: self.attrs("annotations")?,
            init,
            ..Block::around(self.str("name_hint")?, self.stmt("body")?)
        })
    }

    fn func(&mut self) -> Read<ExprId> {
        let param = |at: usize| match self.items[at] {
            Item::Var(symbol) => Ok(PrimParam::Var(symbol)),
            Item::Buffer(buffer) => Ok(PrimParam::Buffer(buffer)),
            _ => self.strange(at),
        };
        let params = self.list("params")?.into_iter().map(param).collect::<Read<_>>()?;
        let ret = match *self.get("ret_type")? {
            Item::Type(dtype) => Some(self.store.ty(Type::Prim(dtype))),
            _ => None,
        };
        let func = PrimFunc { params, ret, attrs: self.attrs("attrs")?, body: self.stmt("body")? };
        let func = self.store.add_prim_func(func);
        Ok(self.store.add_typed(Expr::PrimFunc(func), None))
    }
}
