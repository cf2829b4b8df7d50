//! New nodes and types from packed numbers, in the form in which [`super::read`] gives them.

use super::read::find_op;
use super::relax::{read_dim, read_node, read_type};
use super::{Js, Lent, MAX_NODES, Words, error, with};
use crate::boundary::scripts::{ClauseKind, TypeKind};
use crate::build::BlockBuilder;
use crate::ir::{
    AttrsId, CallInfo, Clause, DType, Dialect, Expr, ExprId, ExprKind, Function, Id, Module, Pattern, PatternId, Store, Tensor,
    Type, TypeId,
};
use crate::ops;
use crate::words::Worded;
use wasm_bindgen::prelude::*;

/// Types and patterns are walked by recursion, so they may nest as deep as in a text and no deeper.
pub(super) const MAX_DEPTH: usize = 200;

/// A node of `kind` over older nodes. With `pre`, one more than an id, it is that node with other contents, and means
/// the same; its type is then that of `pre`, stale until the next InferType, as in TVM. A copy of a node of Relax has none until
/// the builder has seen it.
#[wasm_bindgen]
pub fn user_build(kind: u32, pre: u32, words: &[u32]) -> Js<u32> {
    with(|lent| {
        if lent.store.n_nodes() > MAX_NODES {
            return Err(error("the program has too many nodes"));
        }
        let pre = Words::new(&lent.store, &[pre]).maybe(Store::expr_at)?;
        let kind = ExprKind::at(kind).ok_or_else(|| error("there are no nodes of this kind"))?;
        let mut node = node(lent, kind, pre, words)?;
        let relax = lent.dialect == Dialect::Relax;
        let store = &mut lent.store;
        // Properties of a function that JavaScript does not see are kept.
        if let (Expr::Function(new), Some(old)) = (node, pre.and_then(|pre| store.as_function(pre))) {
            let new = Function { device: old.device, ..*store.function(new) };
            node = Expr::Function(store.add_function(new));
        }
        let id = match pre {
            Some(pre) => {
                let ty = if relax && kind != ExprKind::PrimFunc { None } else { store.checked_type(pre) };
                store.rebuild(pre, node, ty)
            }
            None => store.add(node),
        };
        // A node without parts is typed at once.
        let is_value = matches!(kind, ExprKind::Shape | ExprKind::Prim | ExprKind::Str | ExprKind::DataType);
        let id = if is_value { BlockBuilder::new(&Module::of(Dialect::Relax)).normalize(store, id) } else { id };
        Ok(id.index() as u32)
    })
}

fn node(lent: &mut Lent, kind: ExprKind, pre: Option<ExprId>, words: &[u32]) -> Js<Expr> {
    let store = &mut lent.store;
    let length = match kind {
        ExprKind::RefCreate | ExprKind::RefRead => 1,
        ExprKind::TupleGetItem | ExprKind::RefWrite => 2,
        ExprKind::Let | ExprKind::If => 3,
        _ => words.len(),
    };
    if words.len() != length {
        return Err(error("the description of a node has another length"));
    }
    let mut read = Words::new(store, words);
    Ok(match kind {
        ExprKind::Tuple => {
            let fields = read.rest(Words::expr)?;
            Expr::Tuple(store.list(&fields))
        }
        ExprKind::TupleGetItem => Expr::TupleGetItem { tuple: read.expr()?, index: read.word()? },
        ExprKind::Call => {
            let (callee, attrs) = (read.expr()?, read.maybe(Store::attrs_at)?);
            let count = read.count()?;
            let type_args = read.many(count, Words::ty)?;
            let args = read.rest(Words::expr)?;
            fitting(store, lent.dialect, callee, attrs)?;
            let info: Option<Id<CallInfo>> = store.add_call_info(attrs, &type_args);
            Expr::Call { callee, args: store.list(&args), info }
        }
        ExprKind::Let => Expr::Let { var: read.var()?, value: read.expr()?, body: read.expr()? },
        ExprKind::If => Expr::If { cond: read.expr()?, then: read.expr()?, other: read.expr()? },
        ExprKind::Function => {
            let (body, ret, attrs) = (read.expr()?, read.maybe(Store::type_at)?, read.maybe(Store::attrs_at)?);
            let pure = read.word()? != 0;
            if attrs.is_some_and(|attrs| store.str(store.attrs_of_id(attrs).key) != "DictAttrs") {
                return Err(error("the attributes of a function must be a dictionary"));
            }
            let count = read.count()?;
            let params = read.many(count, Words::var)?;
            let type_params = read.rest(Words::type_var)?;
            let (params, type_params) = (store.list(&params), store.list(&type_params));
            Expr::Function(store.add_function(Function { params, type_params, ret, body, attrs, device: None, pure }))
        }
        ExprKind::Match => {
            let (data, complete) = (read.expr()?, read.word()? != 0);
            let mut clauses = Vec::new();
            while read.words.len() > 0 {
                clauses.push(Clause { pattern: read.pattern()?, body: read.expr()? });
            }
            let clauses: Vec<_> = clauses.into_iter().map(|clause| store.add_clause(clause)).collect();
            Expr::Match { data, clauses: store.list(&clauses), complete }
        }
        ExprKind::RefCreate => Expr::RefCreate(read.expr()?),
        ExprKind::RefRead => Expr::RefRead(read.expr()?),
        ExprKind::RefWrite => Expr::RefWrite { reference: read.expr()?, value: read.expr()? },
        _ => return read_node(store, kind, pre, words),
    })
}

/// An operator is called with its own attributes or none: its type relation and kernel look into them.
pub(super) fn fitting(store: &Store, dialect: Dialect, callee: ExprId, attrs: Option<AttrsId>) -> Js<()> {
    let (Expr::Op(op), Some(attrs)) = (store.expr(callee), attrs) else { return Ok(()) };
    let (info, key) = (ops::info(op), store.str(store.attrs_of_id(attrs).key));
    let own = if dialect == Dialect::Relax { info.relax_attrs() } else { info.relay_attrs() };
    match own {
        Some(schema) if schema.key != key => Err(error(&format!("{} takes {}, not {key}", info.name, schema.key))),
        _ => Ok(()),
    }
}

/// A new variable. With `pre`, one more than the id of a variable, it is that one with another annotation.
#[wasm_bindgen]
pub fn user_var(name: &str, annotation: u32, pre: u32, dataflow: bool) -> Js<u32> {
    with(|lent| {
        let annotation = Words::new(&lent.store, &[annotation]).maybe(Store::type_at)?;
        let relax = lent.dialect == Dialect::Relax;
        let var = match pre {
            0 if relax => lent.store.relax_var(name, annotation, dataflow),
            0 => lent.store.var(name, annotation),
            pre => {
                let old = Words::new(&lent.store, &[pre - 1]).var()?;
                lent.store.var_from(old, annotation, annotation.filter(|_| relax))
            }
        };
        Ok(lent.store.use_var(var).index() as u32)
    })
}

/// The node that refers to a global function, or to an operator, by name.
#[wasm_bindgen]
pub fn user_leaf(name: &str, is_op: bool) -> Js<u32> {
    with(|lent| {
        let node = match is_op {
            true => Expr::Op(find_op(lent.dialect, name)?),
            false => Expr::Global(lent.store.name(name)),
        };
        Ok(lent.store.add(node).index() as u32)
    })
}

/// An element type that a constant or a tensor type may have.
pub(super) fn element_type(text: &str) -> Js<DType> {
    let dtype = DType::parse(text).filter(|dtype| dtype.bits > 0 && dtype.lanes > 0);
    dtype.ok_or_else(|| error(&format!("there is no element type called {text}")))
}

/// A constant of little-endian elements.
#[wasm_bindgen]
pub fn user_make_constant(dtype: &str, shape: &[u32], data: &[u8]) -> Js<u32> {
    let dtype = element_type(dtype)?;
    let n_bytes = shape.iter().try_fold(dtype.bytes(), |all, extent| all.checked_mul(*extent as usize));
    if n_bytes != Some(data.len()) || dtype.lanes != 1 {
        return Err(error(&format!("{} bytes are not a constant of this shape and element type", data.len())));
    }
    let shape: Vec<i64> = shape.iter().map(|extent| i64::from(*extent)).collect();
    with(|lent| Ok(lent.store.add_constant(Tensor::new(dtype, shape, data)).index() as u32))
}

/// A pattern, see [`super::user_pattern`].
#[wasm_bindgen]
pub fn user_make_pattern(words: &[u32]) -> Js<u32> {
    with(|lent| {
        let store = &mut lent.store;
        let mut read = Words::new(store, words);
        let pattern = match read.code()? {
            ClauseKind::Wildcard => Pattern::Wildcard,
            ClauseKind::Var => Pattern::Var(read.var()?),
            kind @ (ClauseKind::Ctor | ClauseKind::Tuple) => {
                let ctor = if kind == ClauseKind::Ctor { Some(read.expr()?) } else { None };
                let fields = read.rest(Words::pattern)?;
                if fields.iter().any(|field| pattern_depth(store, *field, 0) + 1 > MAX_DEPTH) {
                    return Err(error("patterns nest too deep"));
                }
                let fields = store.list(&fields);
                match ctor.map(|id| store.expr(id)) {
                    None => Pattern::Tuple(fields),
                    Some(Expr::Ctor(ctor)) => Pattern::Ctor { ctor, fields },
                    Some(_) => return Err(error("a constructor is needed here")),
                }
            }
        };
        Ok(store.add_pattern(pattern).index() as u32)
    })
}

/// The nesting depth of a pattern, beyond `above`.
fn pattern_depth(store: &Store, pattern: PatternId, above: usize) -> usize {
    match *store.pattern(pattern) {
        Pattern::Ctor { fields, .. } | Pattern::Tuple(fields) if above <= MAX_DEPTH => {
            1 + store.items(fields).map(|field| pattern_depth(store, field, above + 1)).max().unwrap_or(0)
        }
        _ => 1,
    }
}

/// A type, see [`super::user_type`].
#[wasm_bindgen]
pub fn user_make_type(words: &[u32]) -> Js<u32> {
    with(|lent| {
        let store = &mut lent.store;
        let mut read = Words::new(store, words);
        let (ty, parts): (Type, Vec<TypeId>) = match read.code()? {
            TypeKind::Tensor => {
                let name = read.name()?;
                let dtype = element_type(store.str(name))?;
                let mut shape = Vec::new();
                while read.words.len() > 0 {
                    shape.push(read_dim(&mut read, lent.dialect)?);
                }
                (Type::Tensor { shape: shape.into(), dtype }, Vec::new())
            }
            TypeKind::Tuple => {
                let fields = read.rest(Words::ty)?;
                (Type::Tuple(fields.clone().into()), fields)
            }
            TypeKind::Func => {
                let ret = read.ty()?;
                let count = read.count()?;
                let params = read.many(count, Words::ty)?;
                let type_params = read.rest(Words::type_var)?;
                let parts = params.iter().copied().chain([ret]).collect();
                (Type::Func { type_params: type_params.into(), params: params.into(), ret }, parts)
            }
            TypeKind::Ref => {
                let inner = read.ty()?;
                (Type::Ref(inner), vec![inner])
            }
            TypeKind::Global => (Type::Global(read.name()?), Vec::new()),
            TypeKind::Apply => {
                let head = read.ty()?;
                let args = read.rest(Words::ty)?;
                (Type::Apply { head, args: args.clone().into() }, args)
            }
            kind => read_type(&mut read, kind)?,
        };
        if read.words.len() > 0 {
            return Err(error("a type has more parts than its kind takes"));
        }
        if parts.iter().any(|part| type_depth(store, *part, 0) + 1 > MAX_DEPTH) {
            return Err(error("types nest too deep"));
        }
        Ok(store.ty(ty).index() as u32)
    })
}

/// The nesting depth of a type, beyond `above`.
pub(super) fn type_depth(store: &Store, ty: TypeId, above: usize) -> usize {
    if above > MAX_DEPTH {
        return 1;
    }
    let deepest = |parts: &[TypeId]| parts.iter().map(|part| type_depth(store, *part, above + 1)).max().unwrap_or(0);
    1 + match store.type_of_id(ty) {
        Type::Tuple(fields) => deepest(fields),
        Type::Func { params, ret, .. } => deepest(params).max(deepest(&[*ret])),
        Type::Ref(inner) => deepest(&[*inner]),
        Type::Apply { args, .. } => deepest(args),
        Type::Callable { params, ret, .. } => params.as_deref().map_or(0, deepest).max(deepest(&[*ret])),
        _ => 0,
    }
}
