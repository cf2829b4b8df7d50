//! From rows to the store: nodes over older ones and over each other, children first.
//!
//! A reference is `id * 2`, or `row * 2 + 1` for a row of the same table, or [`NONE`].

mod tir;

use super::{NONE, Space};
use crate::boundary::rows::{ExtentsKind, ValueKind};
use crate::boundary::scripts::{ClauseKind, TypeKind};
use crate::ir::{
    AttrValue, Attrs, AttrsId, Binding, Buffer, Clause, DType, Dialect, Double, Expr, ExprKind, Extents, Function, Id, Name,
    Object, Pattern, PrimFunc, PrimId, PrimParam, StmtId, Store, Symbol, TensorInfo, Type, TypeId, TypeVar, VarId,
};
use crate::wasm::user::build::{MAX_DEPTH, element_type, fitting, type_depth};
use crate::wasm::user::read::find_op;
use crate::wasm::user::{Js, error};
use crate::words::Worded;

/// Statements and values nest this deep and no deeper.
const DEEPEST: u32 = 200;

/// Scalar expressions nest this deep and no deeper.
const DEEPEST_PRIM: u16 = 2000;

/// The way in which an id of a kind is looked up.
type At<T> = fn(&Store, usize) -> Option<Id<T>>;

/// A table that is being read.
pub(super) struct Writer<'a> {
    store: &'a mut Store,
    dialect: Dialect,
    words: std::slice::Iter<'a, u32>,
    texts: Vec<&'a str>,
    /// The things that the finished rows are.
    made: Vec<(Space, u32)>,
    /// The depth to which the statements of finished rows nest.
    depths: Vec<u32>,
    depth: u32,
}

impl<'a> Writer<'a> {
    pub(super) fn new(store: &'a mut Store, dialect: Dialect, words: &'a [u32], texts: &'a str) -> Writer<'a> {
        let texts = texts.split('\0').collect();
        Writer { store, dialect, words: words.iter(), texts, made: Vec::new(), depths: Vec::new(), depth: 0 }
    }

    /// Makes everything; gives the id of each row.
    pub(super) fn all(mut self) -> Js<Vec<u32>> {
        while self.words.len() > 0 {
            let space = super::space_at(self.word()?).ok_or_else(|| error("there is no such table"))?;
            let count = self.count()?;
            let (row, rest) = self.words.as_slice().split_at(count);
            self.words = row.iter();
            self.depth = 0;
            let index = self.row(space)?;
            if self.words.len() > 0 {
                return Err(error("a row has more parts than its kind takes"));
            }
            self.words = rest.iter();
            self.made.push((space, index as u32));
            self.depths.push(self.depth);
        }
        Ok(self.made.into_iter().map(|(_, index)| index).collect())
    }

    /// Names and values: one row of attributes, not made one.
    pub(super) fn given(mut self) -> Js<Vec<(Id<Name>, AttrValue)>> {
        self.fields(0)
    }

    fn word(&mut self) -> Js<u32> {
        self.words.next().copied().ok_or_else(|| error("the table ends too early"))
    }

    fn count(&mut self) -> Js<usize> {
        let count = self.word()? as usize;
        if count > self.words.len() { Err(error("the table ends too early")) } else { Ok(count) }
    }

    fn flag(&mut self) -> Js<bool> {
        Ok(self.word()? != 0)
    }

    fn long(&mut self) -> Js<u64> {
        let (low, high) = (self.word()?, self.word()?);
        Ok(u64::from(low) | u64::from(high) << 32)
    }

    fn maybe<T>(&mut self, space: Space, at: At<T>) -> Js<Option<Id<T>>> {
        let word = self.word()?;
        if word == NONE {
            return Ok(None);
        }
        let index = match (word & 1, word >> 1) {
            (0, index) => Some(index),
            (_, row) => {
                self.depth = self.depth.max(1 + self.depths.get(row as usize).copied().unwrap_or(0));
                self.made.get(row as usize).filter(|(made, _)| *made == space).map(|(_, index)| *index)
            }
        };
        index
            .and_then(|index| at(self.store, index as usize))
            .map(Some)
            .ok_or_else(|| error("a row refers to something that is not there"))
    }

    fn refer<T>(&mut self, space: Space, at: At<T>) -> Js<Id<T>> {
        self.maybe(space, at)?.ok_or_else(|| error("a part is missing"))
    }

    fn expr(&mut self) -> Js<Id<Expr>> {
        self.refer(Space::Expr, Store::expr_at)
    }

    fn var(&mut self) -> Js<VarId> {
        let id = self.expr()?;
        match self.store.expr(id) {
            Expr::Var(var) => Ok(var),
            _ => Err(error("a variable is needed here")),
        }
    }

    fn ty(&mut self) -> Js<TypeId> {
        self.refer(Space::Type, Store::type_at)
    }

    fn maybe_type(&mut self) -> Js<Option<TypeId>> {
        self.maybe(Space::Type, Store::type_at)
    }

    fn prim(&mut self) -> Js<PrimId> {
        self.refer(Space::Prim, Store::prim_at)
    }

    fn maybe_prim(&mut self) -> Js<Option<PrimId>> {
        self.maybe(Space::Prim, Store::prim_at)
    }

    fn symbol(&mut self) -> Js<Id<Symbol>> {
        self.refer(Space::Symbol, Store::symbol_at)
    }

    fn buffer(&mut self) -> Js<Id<Buffer>> {
        self.refer(Space::Buffer, Store::buffer_at)
    }

    fn stmt(&mut self) -> Js<StmtId> {
        self.refer(Space::Stmt, Store::stmt_at)
    }

    fn maybe_stmt(&mut self) -> Js<Option<StmtId>> {
        self.maybe(Space::Stmt, Store::stmt_at)
    }

    fn attrs(&mut self) -> Js<Option<AttrsId>> {
        self.maybe(Space::Attrs, Store::attrs_at)
    }

    fn maybe_object(&mut self) -> Js<Option<Id<Object>>> {
        self.maybe(Space::Object, Store::object_at)
    }

    fn object(&mut self) -> Js<Id<Object>> {
        self.maybe_object()?.ok_or_else(|| error("an object is missing"))
    }

    fn type_var(&mut self) -> Js<Id<TypeVar>> {
        self.refer(Space::TypeVar, Store::type_var_at)
    }

    fn pattern(&mut self) -> Js<Id<Pattern>> {
        self.refer(Space::Pattern, Store::pattern_at)
    }

    fn maybe_text(&mut self) -> Js<Option<&'a str>> {
        let word = self.word()?;
        if word == NONE {
            return Ok(None);
        }
        self.texts.get(word as usize).copied().map(Some).ok_or_else(|| error("a name is not there"))
    }

    fn text(&mut self) -> Js<&'a str> {
        self.maybe_text()?.ok_or_else(|| error("a name is missing"))
    }

    fn name(&mut self) -> Js<Id<Name>> {
        let text = self.text()?;
        Ok(self.store.name(text))
    }

    fn dtype(&mut self) -> Js<DType> {
        let text = self.text()?;
        self.dtype_of(text)
    }

    fn dtype_of(&mut self, text: &str) -> Js<DType> {
        if let Some((element, scope)) =
            text.strip_prefix("handle<").and_then(|text| text.strip_suffix('>')).and_then(|text| text.split_once(','))
        {
            let element = if element == "void" { DType::VOID } else { self.dtype_of(element)? };
            let scope = self.store.name(scope);
            return Ok(self.store.pointer(element, scope));
        }
        match text {
            "handle" => Ok(DType::HANDLE),
            "void" => Ok(DType::VOID),
            text => element_type(text),
        }
    }

    fn many<T>(&mut self, count: usize, mut read: impl FnMut(&mut Self) -> Js<T>) -> Js<Vec<T>> {
        (0..count).map(|_| read(self)).collect()
    }

    fn counted<T>(&mut self, read: impl FnMut(&mut Self) -> Js<T>) -> Js<Vec<T>> {
        let count = self.count()?;
        self.many(count, read)
    }

    fn rest<T>(&mut self, mut read: impl FnMut(&mut Self) -> Js<T>) -> Js<Vec<T>> {
        let mut all = Vec::new();
        while self.words.len() > 0 {
            all.push(read(self)?);
        }
        Ok(all)
    }

    fn row(&mut self, space: Space) -> Js<usize> {
        Ok(match space {
            Space::Expr => self.expr_row()?,
            Space::Type => self.type_row()?.index(),
            Space::Prim => self.prim_row()?.index(),
            Space::Stmt => self.stmt_row()?.index(),
            Space::Symbol => {
                let symbol = Symbol { name: self.name()?, dtype: self.dtype()?, size: self.flag()? };
                self.store.add_symbol(symbol).index()
            }
            Space::Buffer => self.buffer_row()?.index(),
            Space::Attrs => {
                let key = self.name()?;
                let fields = self.fields(0)?.into();
                self.store.attrs(Attrs { key, fields }).index()
            }
            Space::Object => {
                let (key, repr) = (self.name()?, self.maybe_text()?.map(Into::into));
                let items = self.counted(|read| read.value(0))?.into();
                let fields = self.fields(0)?.into();
                self.store.add_object(Object { key, fields, items, repr }).index()
            }
            Space::Block => {
                let dataflow = self.flag()?;
                let bindings =
                    self.rest(|read| Ok(Binding { var: read.var()?, value: read.expr()?, cast: read.maybe_type()? }))?;
                self.store.add_block_of(&bindings, dataflow).index()
            }
            Space::Pattern => {
                let pattern = match self.kind("pattern")? {
                    ClauseKind::Wildcard => Pattern::Wildcard,
                    ClauseKind::Var => Pattern::Var(self.var()?),
                    ClauseKind::Ctor => {
                        let ctor = self.expr()?;
                        let Expr::Ctor(ctor) = self.store.expr(ctor) else {
                            return Err(error("a constructor is needed here"));
                        };
                        let fields = self.rest(Self::pattern)?;
                        Pattern::Ctor { ctor, fields: self.store.list(&fields) }
                    }
                    ClauseKind::Tuple => {
                        let fields = self.rest(Self::pattern)?;
                        Pattern::Tuple(self.store.list(&fields))
                    }
                };
                self.shallow()?;
                self.store.add_pattern(pattern).index()
            }
            Space::TypeVar => {
                let name = self.name()?;
                self.store.add_type_var(TypeVar { name }).index()
            }
            Space::Adt | Space::Name => return Err(error("this is not made by a table")),
        })
    }

    /// Reads the kind of a row. `what` is a word for such rows.
    fn kind<K: Worded>(&mut self, what: &str) -> Js<K> {
        K::at(self.word()?).ok_or_else(|| error(&format!("there is no such {what}")))
    }

    fn shallow(&self) -> Js<()> {
        if self.depth > DEEPEST { Err(error("this nests too deep")) } else { Ok(()) }
    }

    fn expr_row(&mut self) -> Js<usize> {
        let (kind, pre, ty) = (self.kind("node")?, self.maybe(Space::Expr, Store::expr_at)?, self.maybe_type()?);
        let node = match kind {
            ExprKind::Var => {
                let (text, annotation, dataflow) = (self.text()?, self.maybe_type()?, self.flag()?);
                let symbol = self.maybe(Space::Symbol, Store::symbol_at)?;
                let relax = self.dialect != Dialect::Relay;
                let var = match pre.map(|pre| self.store.expr(pre)) {
                    Some(Expr::Var(old)) => self.store.var_from(old, annotation, annotation.filter(|_| relax)),
                    _ if relax => self.store.relax_var(text, annotation, dataflow),
                    _ => self.store.var(text, annotation),
                };
                if symbol.is_some() {
                    self.store.set_var_symbol(var, symbol);
                }
                return Ok(self.store.use_var(var).index());
            }
            ExprKind::Global => Expr::Global(self.name()?),
            ExprKind::Op => {
                let name = self.text()?;
                Expr::Op(find_op(self.dialect, name)?)
            }
            ExprKind::Tuple => {
                let fields = self.rest(Self::expr)?;
                Expr::Tuple(self.store.list(&fields))
            }
            ExprKind::TupleGetItem => Expr::TupleGetItem { tuple: self.expr()?, index: self.word()? },
            ExprKind::Call => {
                let (callee, attrs) = (self.expr()?, self.attrs()?);
                let type_args = self.counted(Self::ty)?;
                let args = self.rest(Self::expr)?;
                fitting(self.store, self.dialect, callee, attrs)?;
                let info = self.store.add_call_info(attrs, &type_args);
                Expr::Call { callee, args: self.store.list(&args), info }
            }
            ExprKind::Let => Expr::Let { var: self.var()?, value: self.expr()?, body: self.expr()? },
            ExprKind::If => Expr::If { cond: self.expr()?, then: self.expr()?, other: self.expr()? },
            ExprKind::Function => {
                let (body, ret, attrs, pure) = (self.expr()?, self.maybe_type()?, self.attrs()?, self.flag()?);
                let params = self.counted(Self::var)?;
                let type_params = self.rest(Self::type_var)?;
                let (params, type_params) = (self.store.list(&params), self.store.list(&type_params));
                let device = pre.and_then(|pre| self.store.as_function(pre)).and_then(|old| old.device);
                Expr::Function(self.store.add_function(Function { params, type_params, ret, body, attrs, device, pure }))
            }
            ExprKind::Match => {
                let (data, complete) = (self.expr()?, self.flag()?);
                let clauses = self.rest(|read| Ok(Clause { pattern: read.pattern()?, body: read.expr()? }))?;
                let clauses: Vec<_> = clauses.into_iter().map(|clause| self.store.add_clause(clause)).collect();
                Expr::Match { data, clauses: self.store.list(&clauses), complete }
            }
            ExprKind::RefCreate => Expr::RefCreate(self.expr()?),
            ExprKind::RefRead => Expr::RefRead(self.expr()?),
            ExprKind::RefWrite => Expr::RefWrite { reference: self.expr()?, value: self.expr()? },
            ExprKind::Seq => {
                let body = self.expr()?;
                let blocks = self.rest(|read| read.refer(Space::Block, Store::block_at))?;
                Expr::Seq { blocks: self.store.list(&blocks), body }
            }
            ExprKind::Shape => {
                let prims = self.rest(Self::prim)?;
                let dims: Vec<_> = prims.into_iter().map(|prim| self.store.dim_of_prim(prim)).collect();
                Expr::Shape(self.store.dims(&dims))
            }
            ExprKind::Prim => Expr::Prim(self.prim()?),
            ExprKind::Str => Expr::Str(self.name()?),
            ExprKind::DataType => Expr::DataType(self.dtype()?),
            ExprKind::Extern => Expr::Extern(self.name()?),
            ExprKind::PrimFunc => {
                let (body, ret, attrs) = (self.stmt()?, self.maybe_type()?, self.attrs()?);
                let params = self.rest(|read| {
                    Ok(if read.flag()? { PrimParam::Buffer(read.buffer()?) } else { PrimParam::Var(read.symbol()?) })
                })?;
                Expr::PrimFunc(self.store.add_prim_func(PrimFunc { params: params.into(), ret, attrs, body }))
            }
            _ => return Err(error("nodes of this kind are not made this way")),
        };
        Ok(match pre {
            Some(pre) => self.store.rebuild(pre, node, ty).index(),
            None => self.store.add_typed(node, ty).index(),
        })
    }

    fn extents(&mut self) -> Js<Extents> {
        Ok(match self.kind("shape")? {
            ExtentsKind::Unknown => Extents::Unknown,
            ExtentsKind::Rank => match self.word()? {
                rank @ ..1000 => Extents::Rank(rank),
                _ => return Err(error("this is no number of axes")),
            },
            ExtentsKind::Var => Extents::Var(self.var()?),
            ExtentsKind::Known => {
                let prims = self.rest(Self::prim)?;
                Extents::Known(prims.into_iter().map(|prim| self.store.dim_of_prim(prim)).collect())
            }
        })
    }

    fn type_row(&mut self) -> Js<TypeId> {
        let ty = match self.kind("type")? {
            TypeKind::Tensor => {
                let dtype = self.dtype()?;
                let prims = self.rest(Self::prim)?;
                Type::Tensor { shape: prims.into_iter().map(|prim| self.store.dim_of_prim(prim)).collect(), dtype }
            }
            TypeKind::Tuple => Type::Tuple(self.rest(Self::ty)?.into()),
            TypeKind::Func => {
                let ret = self.ty()?;
                let params = self.counted(Self::ty)?.into();
                Type::Func { type_params: self.rest(Self::type_var)?.into(), params, ret }
            }
            TypeKind::Ref => Type::Ref(self.ty()?),
            TypeKind::Var => Type::Var(self.type_var()?),
            TypeKind::Global => Type::Global(self.name()?),
            TypeKind::Apply => Type::Apply { head: self.ty()?, args: self.rest(Self::ty)?.into() },
            TypeKind::Hole => {
                self.word()?;
                return Ok(self.store.hole());
            }
            TypeKind::Any => Type::Any,
            TypeKind::Prim => Type::Prim(self.dtype()?),
            TypeKind::Shape => Type::Shape(self.extents()?),
            TypeKind::PartialTensor => {
                let dtype = match self.maybe_text()? {
                    Some(text) => Some(self.dtype_of(text)?),
                    None => None,
                };
                let vdevice = self.maybe_object()?;
                let extents = self.extents()?;
                return Ok(self.store.tensor_like(TensorInfo { extents, dtype, vdevice }));
            }
            TypeKind::Callable => {
                let (ret, pure, opaque) = (self.ty()?, self.flag()?, self.flag()?);
                let params = self.rest(Self::ty)?;
                Type::Callable { params: (!opaque).then(|| params.into()), ret, pure }
            }
            TypeKind::PackedFunc => Type::PackedFunc,
            TypeKind::Str => Type::Str,
            TypeKind::Distributed => Type::Distributed { tensor: self.ty()?, mesh: self.object()?, placement: self.name()? },
            TypeKind::Whole => return Err(error("there is no such type")),
        };
        let id = self.store.ty(ty);
        if type_depth(self.store, id, 0) > MAX_DEPTH { Err(error("types nest too deep")) } else { Ok(id) }
    }

    fn fields(&mut self, depth: u32) -> Js<Vec<(Id<Name>, AttrValue)>> {
        self.counted(|read| Ok((read.name()?, read.value(depth)?)))
    }

    fn value(&mut self, depth: u32) -> Js<AttrValue> {
        if depth > DEEPEST {
            return Err(error("values nest too deep"));
        }
        Ok(match self.kind("value")? {
            ValueKind::Null => AttrValue::Null,
            ValueKind::Bool => AttrValue::Bool(self.flag()?),
            ValueKind::Int => {
                let bits = self.word()? as u8;
                AttrValue::Int { value: self.long()? as i64, bits }
            }
            ValueKind::Float => AttrValue::Float(Double(f64::from_bits(self.long()?))),
            ValueKind::Str => AttrValue::Str(self.name()?),
            ValueKind::DType => AttrValue::DType(match self.maybe_text()? {
                Some(text) => Some(self.dtype_of(text)?),
                None => None,
            }),
            ValueKind::Array => AttrValue::Array(self.counted(|read| read.value(depth + 1))?.into()),
            ValueKind::Map => AttrValue::Map(self.fields(depth + 1)?.into()),
            ValueKind::Dim => {
                let prim = self.prim()?;
                AttrValue::Dim(self.store.dim_of_prim(prim))
            }
            ValueKind::Global => AttrValue::Global(self.name()?),
            ValueKind::Expr => AttrValue::Expr(self.expr()?),
            ValueKind::Type => AttrValue::Type(self.ty()?),
            ValueKind::Object => AttrValue::Object(self.object()?),
        })
    }
}
