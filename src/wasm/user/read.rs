//! Nodes, types, attributes and constants as packed numbers: one crossing for each, and never again, because
//! nothing of it changes. Names are numbers too; their texts are asked for once.

use super::relax::{dim_words, node_words, type_words};
use super::{Js, Lent, Words, error, with};
use crate::boundary::scripts::{ClauseKind, TypeKind};
use crate::ir::walk::{ExprVisitor, visit};
use crate::ir::{AttrValue, Dialect, Dim, Expr, ExprId, Id, IdMap, OpId, Pattern, Store, Type, VarId, show_dim};
use crate::ops;
use crate::parse::suggest;
use wasm_bindgen::prelude::*;

fn index<T>(id: Id<T>) -> u32 {
    id.index() as u32
}

fn maybe<T>(id: Option<Id<T>>) -> u32 {
    id.map_or(0, |id| index(id) + 1)
}

/// Ids of the nodes that use these variables, which is how JavaScript knows variables.
fn uses(store: &mut Store, vars: Vec<VarId>, words: &mut Vec<u32>) {
    words.extend(vars.into_iter().map(|var| index(store.use_var(var))));
}

/// A node: its kind ([`ExprKind`](crate::ir::ExprKind)), its type or 0, and what it consists of.
#[wasm_bindgen]
pub fn user_expr(id: u32) -> Js<Vec<u32>> {
    with(|lent| {
        let id = Words::new(&lent.store, &[id]).expr()?;
        Ok(expr(lent, id))
    })
}

/// Everything that is reachable from a node and was not given yet: for each its id, how many numbers follow, and these.
/// A pass that looks at a program looks at most of it, and one crossing is cheaper than thousands.
#[wasm_bindgen]
pub fn user_exprs(id: u32) -> Js<Vec<u32>> {
    struct New<'a>(&'a mut IdMap<Expr, ()>, Vec<ExprId>);
    impl ExprVisitor for New<'_> {
        fn enter(&mut self, _: &Store, id: ExprId) -> bool {
            let new = self.0.insert(id, ()).is_none();
            if new {
                self.1.push(id);
            }
            new
        }
    }
    with(|lent| {
        let id = Words::new(&lent.store, &[id]).expr()?;
        let mut new = New(&mut lent.given, Vec::new());
        visit(&lent.store, id, &mut new);
        let ids = new.1;
        let mut words = Vec::with_capacity(ids.len() * 9);
        for id in ids {
            let node = expr(lent, id);
            words.extend([index(id), node.len() as u32]);
            words.extend(node);
        }
        Ok(words)
    })
}

fn expr(lent: &mut Lent, id: ExprId) -> Vec<u32> {
    let store = &mut lent.store;
    let node = store.expr(id);
    let mut words = vec![node.kind() as u32, maybe(store.checked_type(id))];
    match node {
        Expr::Var(var) => {
            let data = store.var_data(var);
            words.extend([index(data.name), maybe(data.annotation), index(data.vid), u32::from(data.dataflow)]);
        }
        Expr::Global(name) => words.push(index(name)),
        Expr::Op(op) => {
            let text = op_name(lent.dialect, op);
            words.push(index(store.name(&text)));
        }
        Expr::Ctor(ctor) => {
            let data = store.ctor(ctor);
            words.extend([index(data.name), index(data.adt), data.tag]);
            words.extend(data.inputs.iter().map(|ty| index(*ty)));
        }
        Expr::Tuple(fields) => words.extend(store.items(fields).map(index)),
        Expr::TupleGetItem { tuple, index: field } => words.extend([index(tuple), field]),
        Expr::Call { callee, args, info } => {
            words.push(index(callee));
            let info = info.map(|info| store.call_info(info));
            words.push(maybe(info.and_then(|info| info.attrs)));
            let type_args = info.map_or(&[][..], |info| &info.type_args);
            words.push(type_args.len() as u32);
            words.extend(type_args.iter().map(|ty| index(*ty)));
            words.extend(store.items(args).map(index));
        }
        Expr::Let { var, value, body } => {
            uses(store, vec![var], &mut words);
            words.extend([index(value), index(body)]);
        }
        Expr::If { cond, then, other } => words.extend([cond, then, other].map(index)),
        Expr::Function(function) => {
            let function = *store.function(function);
            words.extend([index(function.body), maybe(function.ret), maybe(function.attrs), u32::from(function.pure)]);
            words.push(function.params.len() as u32);
            uses(store, store.items(function.params).collect(), &mut words);
            words.extend(store.items(function.type_params).map(index));
        }
        Expr::Match { data, clauses, complete } => {
            words.extend([index(data), u32::from(complete)]);
            for clause in store.items(clauses) {
                let clause = store.clause(clause);
                words.extend([index(clause.pattern), index(clause.body)]);
            }
        }
        Expr::RefCreate(value) | Expr::RefRead(value) => words.push(index(value)),
        Expr::RefWrite { reference, value } => words.extend([reference, value].map(index)),
        // Constants are read on their own.
        _ => node_words(store, node, &mut words),
    }
    words
}

/// A pattern: its kind ([`ClauseKind`]), and what it consists of.
#[wasm_bindgen]
pub fn user_pattern(id: u32) -> Js<Vec<u32>> {
    with(|lent| {
        let id = Words::new(&lent.store, &[id]).pattern()?;
        let store = &mut lent.store;
        Ok(match *store.pattern(id) {
            Pattern::Wildcard => vec![ClauseKind::Wildcard as u32],
            Pattern::Var(var) => vec![ClauseKind::Var as u32, index(store.use_var(var))],
            Pattern::Ctor { ctor, fields } => {
                let ctor = store.add(Expr::Ctor(ctor));
                [ClauseKind::Ctor as u32, index(ctor)].into_iter().chain(store.items(fields).map(index)).collect()
            }
            Pattern::Tuple(fields) => std::iter::once(ClauseKind::Tuple as u32).chain(store.items(fields).map(index)).collect(),
        })
    })
}

/// A type: its kind ([`TypeKind`]), and what it consists of. An extent takes three numbers.
#[wasm_bindgen]
pub fn user_type(id: u32) -> Js<Vec<u32>> {
    with(|lent| {
        let id = Words::new(&lent.store, &[id]).ty()?;
        let ty = lent.store.type_rc(id);
        let mut words = Vec::new();
        match &*ty {
            Type::Tensor { shape, dtype } => {
                let name = lent.store.name(&dtype.to_string());
                words.extend([TypeKind::Tensor as u32, index(name)]);
                words.extend(shape.iter().flat_map(|dim| dim_words(*dim)));
            }
            Type::Tuple(fields) => {
                words.push(TypeKind::Tuple as u32);
                words.extend(fields.iter().map(|ty| index(*ty)));
            }
            Type::Func { type_params, params, ret } => {
                words.extend([TypeKind::Func as u32, index(*ret), params.len() as u32]);
                words.extend(params.iter().map(|ty| index(*ty)));
                words.extend(type_params.iter().map(|var| index(*var)));
            }
            Type::Ref(inner) => words.extend([TypeKind::Ref as u32, index(*inner)]),
            Type::Var(var) => words.extend([TypeKind::Var as u32, index(*var), index(lent.store.type_var(*var).name)]),
            Type::Global(name) => words.extend([TypeKind::Global as u32, index(*name)]),
            Type::Apply { head, args } => {
                words.extend([TypeKind::Apply as u32, index(*head)]);
                words.extend(args.iter().map(|ty| index(*ty)));
            }
            Type::Hole(number) => words.extend([TypeKind::Hole as u32, *number]),
            relax => words = type_words(&mut lent.store, relax),
        }
        Ok(words)
    })
}

/// The text of a name.
#[wasm_bindgen]
pub fn user_name(id: u32) -> Js<String> {
    with(|lent| {
        let id = Words::new(&lent.store, &[id]).name()?;
        Ok(lent.store.str(id).to_owned())
    })
}

/// The number of a name.
#[wasm_bindgen]
pub fn user_name_id(text: &str) -> Js<u32> {
    with(|lent| Ok(index(lent.store.name(text))))
}

/// A constant: `[dtype, shape, bytes]`; the last is null when its value is not known.
#[wasm_bindgen]
pub fn user_constant(id: u32) -> Js<js_sys::Array> {
    with(|lent| {
        let id = Words::new(&lent.store, &[id]).expr()?;
        let Expr::Constant(tensor) = lent.store.expr(id) else { return Err(error("a constant is needed here")) };
        let tensor = lent.store.tensor(tensor);
        let shape: js_sys::Array = tensor.shape.iter().map(|extent| JsValue::from(*extent as f64)).collect();
        let data = tensor.data.as_ref().map_or(JsValue::NULL, |data| js_sys::Uint8Array::from(&data[..]).into());
        Ok(js_sys::Array::of3(&tensor.dtype.to_string().into(), &shape, &data))
    })
}

/// A set of attributes: its type key, then names and values in turn.
#[wasm_bindgen]
pub fn user_attrs(id: u32) -> Js<js_sys::Array> {
    with(|lent| {
        let id = Words::new(&lent.store, &[id]).attrs()?;
        let store = &lent.store;
        let attrs = store.attrs_of_id(id);
        let out = js_sys::Array::of1(&store.str(attrs.key).into());
        for (name, value) in &attrs.fields {
            out.push(&store.str(*name).into());
            out.push(&attr(store, value));
        }
        Ok(out)
    })
}

/// A value as JavaScript has it. A kind that JavaScript has not is `{ kind: value }`. Values nest as deep as brackets do.
fn attr(store: &Store, value: &AttrValue) -> JsValue {
    let special = |kind: &str, value: JsValue| {
        let object = js_sys::Object::new();
        let _ = js_sys::Reflect::set(&object, &kind.into(), &value);
        object.into()
    };
    match value {
        AttrValue::Null => JsValue::NULL,
        AttrValue::Bool(b) => (*b).into(),
        AttrValue::Int { value, .. } => (*value as f64).into(),
        AttrValue::Float(x) => x.0.into(),
        AttrValue::Str(name) => store.str(*name).into(),
        AttrValue::DType(dtype) => dtype.map_or(String::new(), |dtype| dtype.to_string()).into(),
        AttrValue::Array(items) => items.iter().map(|item| attr(store, item)).collect::<js_sys::Array>().into(),
        AttrValue::Map(items) => {
            let pair = |(name, value): &(_, _)| js_sys::Array::of2(&store.str(*name).into(), &attr(store, value));
            special("map", items.iter().map(pair).collect::<js_sys::Array>().into())
        }
        AttrValue::Dim(Dim::Int { value, .. }) => (*value as f64).into(),
        AttrValue::Dim(dim) => show_dim(store, *dim).into(),
        AttrValue::Global(name) => special("global", store.str(*name).into()),
        AttrValue::Expr(id) => special("expr", index(*id).into()),
        AttrValue::Type(id) => special("type", index(*id).into()),
        AttrValue::Object(id) => {
            let object = store.object(*id);
            // A boxed number is a number to JavaScript.
            let boxed = object.repr.as_ref().map(|repr| repr.parse::<f64>().map_or_else(|_| (**repr).into(), JsValue::from));
            boxed.unwrap_or_else(|| special("object", store.str(object.key).into()))
        }
    }
}

/// The name of an operator in a dialect.
pub(super) fn op_name(dialect: Dialect, op: OpId) -> String {
    let info = ops::info(op);
    match info.relax.as_ref().filter(|_| dialect == Dialect::Relax && !ops::own::is_own(op)) {
        Some(row) => format!("relax.{}", row.name),
        None => info.name.to_owned(),
    }
}

/// The operator of that name.
pub(super) fn find_op(dialect: Dialect, name: &str) -> Js<OpId> {
    let base = name.strip_prefix("relax.").unwrap_or(name);
    let found = match dialect {
        Dialect::Relay => ops::lookup(name),
        Dialect::Relax | Dialect::Tir => ops::lookup_relax(base),
    };
    found.ok_or_else(|| {
        let near = match dialect {
            Dialect::Relay => suggest::nearest(name, ops::all().iter().filter(|op| op.relay.is_some()).map(|op| op.name)),
            _ => suggest::nearest(base, ops::all().iter().filter_map(|op| op.relax.map(|row| row.name))),
        };
        error(&format!(
            "there is no operator called {name}{}",
            near.map_or(String::new(), |near| format!(": did you mean {near}?"))
        ))
    })
}

/// The properties of an operator: `[documentation, inputs, stateful, pattern or -1, has a kernel, non-computational, pure, has
/// attributes]`.
#[wasm_bindgen]
pub fn user_op(name: &str) -> Js<js_sys::Array> {
    let dialect = with(|lent| Ok(lent.dialect))?;
    let info = ops::info(find_op(dialect, name)?);
    let relax = info.relax.as_ref().filter(|_| dialect == Dialect::Relax);
    let inputs: js_sys::Array = match relax {
        // Those that have to be given.
        Some(row) => row.args.iter().filter(|arg| !arg.optional).map(|arg| JsValue::from(arg.name)).collect(),
        None => info.relay_args().iter().map(|arg| JsValue::from(*arg)).collect(),
    };
    let out = js_sys::Array::of5(
        &info.doc.into(),
        &inputs,
        &info.stateful.into(),
        &info.pattern.map_or(-1, |pattern| pattern as i32).into(),
        &info.kernel.is_some().into(),
    );
    out.push(&info.non_computational.into());
    out.push(&relax.map_or(!info.stateful, |row| row.pure).into());
    out.push(&relax.map_or(info.relay_attrs(), |row| row.attrs).is_some().into());
    Ok(out)
}
