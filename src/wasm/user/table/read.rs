//! From the store to rows: a node, and what is reachable from it and was not given before.

mod tir;

use super::{NONE, Space};
use crate::boundary::rows::{ExtentsKind, ValueKind};
use crate::boundary::scripts::{ClauseKind, TypeKind};
use crate::ir::{
    AttrValue, AttrsId, DType, Dialect, Dim, Expr, ExprId, Extents, Id, List, Name, Object, Pattern, PrimId, PrimParam, Store,
    Symbol, Type, TypeId, VarId,
};
use crate::wasm::user::read::op_name;
use rustc_hash::FxHashSet;

/// A table under way.
pub(super) struct Reader<'a> {
    pub(super) store: &'a mut Store,
    dialect: Dialect,
    /// Things that were given already: the space in the upper half, the id in the lower.
    given: &'a mut FxHashSet<u64>,
    waiting: Vec<(Space, u32)>,
    /// Finished rows, and the row under way behind them.
    pub(super) words: Vec<u32>,
    /// Names that were not given before.
    pub(super) names: Vec<Id<Name>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(store: &'a mut Store, dialect: Dialect, given: &'a mut FxHashSet<u64>) -> Reader<'a> {
        Reader { store, dialect, given, waiting: Vec::new(), words: Vec::new(), names: Vec::new() }
    }

    /// Gives a thing and everything that it leads to.
    pub(super) fn all(&mut self, space: Space, index: u32) {
        self.want(space, index);
        while let Some((space, index)) = self.waiting.pop() {
            let start = self.words.len();
            self.words.extend([space as u32, index, 0]);
            self.row(space, index as usize);
            self.words[start + 2] = (self.words.len() - start - 3) as u32;
        }
    }

    fn want(&mut self, space: Space, index: u32) {
        if self.given.insert((space as u64) << 32 | u64::from(index)) {
            self.waiting.push((space, index));
        }
    }

    fn refer<T>(&mut self, space: Space, id: Id<T>) {
        let index = id.index() as u32;
        self.words.push(index);
        self.want(space, index);
    }

    fn maybe<T>(&mut self, space: Space, id: Option<Id<T>>) {
        match id {
            Some(id) => self.refer(space, id),
            None => self.words.push(NONE),
        }
    }

    fn expr(&mut self, id: ExprId) {
        self.refer(Space::Expr, id);
    }

    fn exprs(&mut self, list: List<Expr>) {
        let ids: Vec<ExprId> = self.store.items(list).collect();
        ids.into_iter().for_each(|id| self.expr(id));
    }

    fn var(&mut self, var: VarId) {
        let id = self.store.use_var(var);
        self.expr(id);
    }

    fn types(&mut self, ids: &[TypeId]) {
        ids.iter().for_each(|id| self.refer(Space::Type, *id));
    }

    fn prim(&mut self, id: PrimId) {
        self.refer(Space::Prim, id);
    }

    fn prims(&mut self, ids: &[PrimId]) {
        ids.iter().for_each(|id| self.prim(*id));
    }

    fn dims(&mut self, dims: &[Dim]) {
        for dim in dims {
            let id = self.store.prim_of_dim(*dim);
            self.prim(id);
        }
    }

    fn symbol(&mut self, id: Id<Symbol>) {
        self.refer(Space::Symbol, id);
    }

    fn name(&mut self, id: Id<Name>) {
        let index = id.index() as u32;
        self.words.push(index);
        if self.given.insert((Space::Name as u64) << 32 | u64::from(index)) {
            self.names.push(id);
        }
    }

    fn text(&mut self, text: &str) {
        let id = self.store.name(text);
        self.name(id);
    }

    /// An element type by its name; of a pointer `handle<float32,shared>`.
    fn dtype(&mut self, dtype: DType) {
        let text = match self.store.pointee(dtype) {
            Some(to) => format!("handle<{},{}>", to.element, self.store.str(to.scope)),
            None => dtype.to_string(),
        };
        self.text(&text);
    }

    fn maybe_dtype(&mut self, dtype: Option<DType>) {
        match dtype {
            Some(dtype) => self.dtype(dtype),
            None => self.words.push(NONE),
        }
    }

    fn attrs(&mut self, id: Option<AttrsId>) {
        self.maybe(Space::Attrs, id);
    }

    fn count(&mut self, count: usize) {
        self.words.push(count as u32);
    }

    fn flag(&mut self, flag: bool) {
        self.words.push(u32::from(flag));
    }

    fn long(&mut self, bits: u64) {
        self.words.extend([bits as u32, (bits >> 32) as u32]);
    }

    fn row(&mut self, space: Space, index: usize) {
        match space {
            Space::Expr => self.expr_row(Id::from_index(index)),
            Space::Type => self.type_row(Id::from_index(index)),
            Space::Prim => self.prim_row(Id::from_index(index)),
            Space::Stmt => self.stmt_row(Id::from_index(index)),
            Space::Symbol => {
                let Symbol { name, dtype, size } = self.store.symbol(Id::from_index(index)).clone();
                self.name(name);
                self.dtype(dtype);
                self.flag(size);
            }
            Space::Buffer => self.buffer_row(Id::from_index(index)),
            Space::Attrs => {
                let attrs = self.store.attrs_rc(Id::from_index(index));
                self.name(attrs.key);
                self.fields(&attrs.fields);
            }
            Space::Object => self.object_row(Id::from_index(index)),
            Space::Block => {
                let id = Id::from_index(index);
                let bindings: Vec<_> = self.store.block_bindings(id).collect();
                self.flag(self.store.block(id).dataflow);
                for binding in bindings {
                    self.var(binding.var);
                    self.expr(binding.value);
                    self.maybe(Space::Type, binding.cast);
                }
            }
            Space::Pattern => match *self.store.pattern(Id::from_index(index)) {
                Pattern::Wildcard => self.words.push(ClauseKind::Wildcard as u32),
                Pattern::Var(var) => {
                    self.words.push(ClauseKind::Var as u32);
                    self.var(var);
                }
                Pattern::Ctor { ctor, fields } => {
                    self.words.push(ClauseKind::Ctor as u32);
                    let ctor = self.store.add(Expr::Ctor(ctor));
                    self.expr(ctor);
                    self.patterns(fields);
                }
                Pattern::Tuple(fields) => {
                    self.words.push(ClauseKind::Tuple as u32);
                    self.patterns(fields);
                }
            },
            Space::Adt => {
                let adt = self.store.adt(Id::from_index(index)).clone();
                self.name(adt.name);
                self.flag(adt.is_extern);
                self.count(adt.type_params.len());
                adt.type_params.iter().for_each(|id| self.refer(Space::TypeVar, *id));
                for ctor in &adt.ctors {
                    let id = self.store.add(Expr::Ctor(*ctor));
                    self.expr(id);
                }
            }
            Space::TypeVar => {
                let name = self.store.type_var(Id::from_index(index)).name;
                self.name(name);
            }
            Space::Name => {}
        }
    }

    fn patterns(&mut self, list: List<Pattern>) {
        let ids: Vec<_> = self.store.items(list).collect();
        ids.into_iter().for_each(|id| self.refer(Space::Pattern, id));
    }

    #[expect(clippy::too_many_lines, reason = "a table: an arm for each kind of node")]
    fn expr_row(&mut self, id: ExprId) {
        let node = self.store.expr(id);
        self.words.push(node.kind() as u32);
        let ty = self.store.checked_type(id);
        self.maybe(Space::Type, ty);
        match node {
            Expr::Var(var) => {
                let data = self.store.var_data(var).clone();
                self.name(data.name);
                self.maybe(Space::Type, data.annotation);
                self.flag(data.dataflow);
                self.maybe(Space::Symbol, data.symbol);
                self.words.push(data.vid.index() as u32);
                self.maybe(Space::Object, data.device);
            }
            Expr::Global(name) | Expr::Str(name) | Expr::Extern(name) => self.name(name),
            Expr::Op(op) => self.text(&op_name(self.dialect, op)),
            Expr::Ctor(ctor) => {
                let ctor = self.store.ctor(ctor).clone();
                self.name(ctor.name);
                self.name(ctor.adt);
                self.words.push(ctor.tag);
                self.types(&ctor.inputs);
            }
            // Its elements are asked for where they are needed.
            Expr::Constant(tensor) => {
                let tensor = self.store.tensor(tensor);
                let (dtype, shape) = (tensor.dtype, tensor.shape.clone());
                self.dtype(dtype);
                shape.iter().for_each(|extent| self.words.push(*extent as u32));
            }
            Expr::Tuple(fields) => self.exprs(fields),
            Expr::TupleGetItem { tuple, index } => {
                self.expr(tuple);
                self.words.push(index);
            }
            Expr::Call { callee, args, info } => {
                self.expr(callee);
                let (attrs, type_args) = match info.map(|info| self.store.call_info(info).clone()) {
                    Some(info) => (info.attrs, info.type_args),
                    None => (None, Box::default()),
                };
                self.attrs(attrs);
                self.count(type_args.len());
                self.types(&type_args);
                self.exprs(args);
            }
            Expr::Let { var, value, body } => {
                self.var(var);
                self.expr(value);
                self.expr(body);
            }
            Expr::If { cond, then, other } => [cond, then, other].into_iter().for_each(|id| self.expr(id)),
            Expr::Function(function) => {
                let function = *self.store.function(function);
                self.expr(function.body);
                self.maybe(Space::Type, function.ret);
                self.attrs(function.attrs);
                self.flag(function.pure);
                self.count(function.params.len());
                let params: Vec<VarId> = self.store.items(function.params).collect();
                params.into_iter().for_each(|var| self.var(var));
                let type_params: Vec<_> = self.store.items(function.type_params).collect();
                type_params.into_iter().for_each(|id| self.refer(Space::TypeVar, id));
            }
            Expr::Match { data, clauses, complete } => {
                self.expr(data);
                self.flag(complete);
                let clauses: Vec<_> = self.store.items(clauses).map(|id| *self.store.clause(id)).collect();
                for clause in clauses {
                    self.refer(Space::Pattern, clause.pattern);
                    self.expr(clause.body);
                }
            }
            Expr::RefCreate(value) | Expr::RefRead(value) => self.expr(value),
            Expr::RefWrite { reference, value } => {
                self.expr(reference);
                self.expr(value);
            }
            Expr::Seq { blocks, body } => {
                self.expr(body);
                let blocks: Vec<_> = self.store.items(blocks).collect();
                blocks.into_iter().for_each(|block| self.refer(Space::Block, block));
            }
            Expr::Shape(dims) => {
                let dims = self.store.dims_of_id(dims).to_vec();
                self.dims(&dims);
            }
            Expr::Prim(prim) => self.prim(prim),
            Expr::DataType(dtype) => self.dtype(dtype),
            Expr::PrimFunc(func) => {
                let func = self.store.prim_func(func).clone();
                self.refer(Space::Stmt, func.body);
                self.maybe(Space::Type, func.ret);
                self.attrs(func.attrs);
                for param in func.params {
                    self.flag(matches!(param, PrimParam::Buffer(_)));
                    match param {
                        PrimParam::Var(symbol) => self.symbol(symbol),
                        PrimParam::Buffer(buffer) => self.refer(Space::Buffer, buffer),
                    }
                }
            }
            Expr::Stmt(stmt) => self.refer(Space::Stmt, stmt),
        }
    }

    fn extents(&mut self, extents: &Extents) {
        match extents {
            Extents::Unknown => self.words.push(ExtentsKind::Unknown as u32),
            Extents::Rank(rank) => self.words.extend([ExtentsKind::Rank as u32, *rank]),
            Extents::Var(var) => {
                self.words.push(ExtentsKind::Var as u32);
                self.var(*var);
            }
            Extents::Known(dims) => {
                self.words.push(ExtentsKind::Known as u32);
                self.dims(dims);
            }
        }
    }

    fn type_row(&mut self, id: TypeId) {
        let ty = self.store.type_rc(id);
        match &*ty {
            Type::Tensor { shape, dtype } => {
                self.words.push(TypeKind::Tensor as u32);
                self.dtype(*dtype);
                self.dims(shape);
            }
            Type::Tuple(fields) => {
                self.words.push(TypeKind::Tuple as u32);
                self.types(fields);
            }
            Type::Func { type_params, params, ret } => {
                self.words.push(TypeKind::Func as u32);
                self.types(&[*ret]);
                self.count(params.len());
                self.types(params);
                type_params.iter().for_each(|id| self.refer(Space::TypeVar, *id));
            }
            Type::Ref(inner) => {
                self.words.push(TypeKind::Ref as u32);
                self.types(&[*inner]);
            }
            Type::Var(var) => {
                self.words.push(TypeKind::Var as u32);
                self.refer(Space::TypeVar, *var);
            }
            Type::Global(name) => {
                self.words.push(TypeKind::Global as u32);
                self.name(*name);
            }
            Type::Apply { head, args } => {
                self.words.push(TypeKind::Apply as u32);
                self.types(&[*head]);
                self.types(args);
            }
            Type::Hole(number) => self.words.extend([TypeKind::Hole as u32, *number]),
            Type::Any => self.words.push(TypeKind::Any as u32),
            Type::Prim(dtype) => {
                self.words.push(TypeKind::Prim as u32);
                self.dtype(*dtype);
            }
            Type::Shape(extents) => {
                self.words.push(TypeKind::Shape as u32);
                self.extents(extents);
            }
            Type::PartialTensor(info) => {
                self.words.push(TypeKind::PartialTensor as u32);
                self.maybe_dtype(info.dtype);
                self.maybe(Space::Object, info.vdevice);
                self.extents(&info.extents);
            }
            Type::Callable { params, ret, pure } => {
                self.words.push(TypeKind::Callable as u32);
                self.types(&[*ret]);
                self.flag(*pure);
                self.flag(params.is_none());
                self.types(params.as_deref().unwrap_or_default());
            }
            Type::PackedFunc => self.words.push(TypeKind::PackedFunc as u32),
            Type::Str => self.words.push(TypeKind::Str as u32),
            Type::Distributed { tensor, mesh, placement } => {
                self.words.push(TypeKind::Distributed as u32);
                self.types(&[*tensor]);
                self.refer(Space::Object, *mesh);
                self.name(*placement);
            }
        }
    }

    fn object_row(&mut self, id: Id<Object>) {
        let object = self.store.object(id).clone();
        self.name(object.key);
        match &object.repr {
            Some(repr) => self.text(repr),
            None => self.words.push(NONE),
        }
        self.count(object.items.len());
        object.items.iter().for_each(|item| self.value(item));
        self.fields(&object.fields);
    }

    fn fields(&mut self, fields: &[(Id<Name>, AttrValue)]) {
        self.count(fields.len());
        for (name, value) in fields {
            self.name(*name);
            self.value(value);
        }
    }

    /// A value, which nests as deep as brackets do.
    fn value(&mut self, value: &AttrValue) {
        match value {
            AttrValue::Null => self.words.push(ValueKind::Null as u32),
            AttrValue::Bool(on) => self.words.extend([ValueKind::Bool as u32, u32::from(*on)]),
            AttrValue::Int { value, bits } => {
                self.words.extend([ValueKind::Int as u32, u32::from(*bits)]);
                self.long(*value as u64);
            }
            AttrValue::Float(value) => {
                self.words.push(ValueKind::Float as u32);
                self.long(value.0.to_bits());
            }
            AttrValue::Str(name) => {
                self.words.push(ValueKind::Str as u32);
                self.name(*name);
            }
            AttrValue::DType(dtype) => {
                self.words.push(ValueKind::DType as u32);
                self.maybe_dtype(*dtype);
            }
            AttrValue::Array(items) => {
                self.words.extend([ValueKind::Array as u32, items.len() as u32]);
                items.iter().for_each(|item| self.value(item));
            }
            AttrValue::Map(items) => {
                self.words.push(ValueKind::Map as u32);
                self.fields(items);
            }
            AttrValue::Dim(dim) => {
                self.words.push(ValueKind::Dim as u32);
                self.dims(&[*dim]);
            }
            AttrValue::Global(name) => {
                self.words.push(ValueKind::Global as u32);
                self.name(*name);
            }
            AttrValue::Expr(id) => {
                self.words.push(ValueKind::Expr as u32);
                self.expr(*id);
            }
            AttrValue::Type(id) => {
                self.words.push(ValueKind::Type as u32);
                self.types(&[*id]);
            }
            AttrValue::Object(id) => {
                self.words.push(ValueKind::Object as u32);
                self.refer(Space::Object, *id);
            }
        }
    }
}
