//! Questions that Python asks about programs: to read texts among its own values, to compare, to count, to list what there is.

use super::write::Writer;
use crate::diag::{Diagnostic, Severity};
use crate::infer;
use crate::ir::equal::{self, EqualOptions};
use crate::ir::walk::post_order;
use crate::ir::{AttrValue, Dialect, Expr, ExprId, PrimFunc, StmtId, Store, TypeId};
use crate::parse;
use crate::session::{open, open_parsed};
use crate::topi::Known;
use crate::verify;
use crate::wasm::user::{Js, Lent, Words, error, module_words, with};
use crate::wasm::view;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use wasm_bindgen::prelude::*;

fn diagnostics(found: &[Diagnostic]) -> js_sys::Array {
    let one = |found: &Diagnostic| {
        let (start, end) = found.span.map_or((-1.0, -1.0), |span| (f64::from(span.start), f64::from(span.end)));
        let notes: Vec<String> = found.notes.iter().map(ToString::to_string).collect();
        // Python is as strict as TVM.
        let severity = if found.code == parse::REFUSED { Severity::Error } else { found.severity };
        js_sys::Array::of5(
            &severity.word().into(),
            &found.message.as_str().into(),
            &start.into(),
            &end.into(),
            &notes.join("\n").into(),
        )
    };
    found.iter().map(one).collect()
}

/// Names and their values: one row of attributes.
fn given(lent: &mut Lent, words: &[u32], texts: &str) -> Js<Vec<(String, AttrValue)>> {
    let fields = Writer::new(&mut lent.store, lent.dialect, words, texts).given()?;
    Ok(fields.into_iter().map(|(name, value)| (lent.store.str(name).to_owned(), value)).collect())
}

/// The module that a text is: `[words of the module, one more than the id of the function or expression that it is instead,
/// diagnostics]`, each diagnostic being its severity, message, first byte and byte behind it or -1, and notes. `names` are values
/// of names around the text, as a row of attributes. With `infer`, types are inferred.
#[wasm_bindgen]
pub fn table_parse(text: &str, names: &[u32], texts: &str, infer: bool) -> Js<js_sys::Array> {
    with(|lent| {
        let given = given(lent, names, texts)?;
        let mark = lent.store.mark();
        let mut opened = if lent.dialect == Dialect::Relay {
            open(&mut lent.store, text)
        } else {
            // Saved JSON is no script: it is read as wherever a program is opened.
            let parsed = if text.trim_start().starts_with('{') {
                parse::parse(&mut lent.store, text)
            } else {
                parse::parse_script_in(&mut lent.store, text, &given)
            };
            if infer {
                open_parsed(&mut lent.store, parsed)
            } else {
                let parse::Parsed { program, diagnostics, choices } = parsed;
                crate::session::Opened { module: program.module, expr: program.expr, diagnostics, choices }
            }
        };
        if infer && lent.dialect != Dialect::Relay {
            let roots: Vec<_> = opened.module.functions().iter().map(|(_, root)| *root).chain(opened.expr).collect();
            opened.diagnostics.extend(verify::impossible_casts(&mut lent.store, &roots));
        }
        lent.store.disown(mark);
        let expr = opened.expr.map_or(0, |id| id.index() as u32 + 1);
        let words = js_sys::Uint32Array::from(&module_words(&opened.module)[..]);
        Ok(js_sys::Array::of3(&words, &expr.into(), &diagnostics(&opened.diagnostics)))
    })
}

/// The expression or type that `_ = value` says: `[0 or 1, id]`, or `[2, diagnostics]`.
#[wasm_bindgen]
pub fn table_value(text: &str, names: &[u32], texts: &str) -> Js<js_sys::Array> {
    with(|lent| {
        let given = given(lent, names, texts)?;
        let (value, found) = parse::parse_value(&mut lent.store, text, &given);
        Ok(match value {
            Some(AttrValue::Expr(id)) => {
                // Functions of Python make the call, and the constructor of this operator knows the extents.
                let closed = infer::relax::closed_reshape(&mut lent.store, id).map_err(|message| error(&message))?;
                let id = closed.map_or(id, |closed| lent.store.add(closed));
                js_sys::Array::of2(&0.into(), &(id.index() as u32).into())
            }
            Some(AttrValue::Type(id)) => js_sys::Array::of2(&1.into(), &(id.index() as u32).into()),
            _ => js_sys::Array::of2(&2.into(), &diagnostics(&found)),
        })
    })
}

/// An expression of this type, so that types can be compared as expressions are.
fn holder(store: &mut Store, ty: TypeId) -> ExprId {
    let var = store.relax_var("_", Some(ty), false);
    let params = store.list(&[var]);
    let body = store.use_var(var);
    let function = crate::ir::Function {
        params,
        type_params: crate::ir::List::EMPTY,
        ret: Some(ty),
        body,
        attrs: None,
        device: None,
        pure: true,
    };
    store.function_expr(function)
}

fn stmt_holder(store: &mut Store, body: StmtId) -> ExprId {
    let func = store.add_prim_func(PrimFunc { params: [].into(), ret: None, attrs: None, body });
    store.add(Expr::PrimFunc(func))
}

/// The first difference between two things of a kind, empty when they are equal up to the names of what they bind: 0
/// expressions, 1 types, 2 modules (how many words the first has stands before them), 3 statements.
#[wasm_bindgen]
pub fn table_equal(kind: u32, words: &[u32], map_free_vars: bool) -> Js<String> {
    with(|lent| {
        let relay = lent.dialect == Dialect::Relay;
        let options = EqualOptions { map_free_vars, ..if relay { EqualOptions::default() } else { EqualOptions::RELAX } };
        let store = &mut lent.store;
        let found = match kind {
            2 => {
                let (count, rest) = words.split_first().ok_or_else(|| error("two modules are needed here"))?;
                let (a, b) = rest.split_at_checked(*count as usize).ok_or_else(|| error("two modules are needed here"))?;
                let (a, b) = (Words::new(store, a).module()?, Words::new(store, b).module()?);
                equal::modules(store, &a, &b, options)
            }
            _ => {
                let &[a, b] = words else { return Err(error("two things are needed here")) };
                let (a, b) = match kind {
                    1 => {
                        let mut read = Words::new(store, words);
                        let (a, b) = (read.ty()?, read.ty()?);
                        (holder(store, a), holder(store, b))
                    }
                    3 => {
                        let at = |id: u32| store.stmt_at(id as usize).ok_or_else(|| error("there is no such statement"));
                        let (a, b) = (at(a)?, at(b)?);
                        (stmt_holder(store, a), stmt_holder(store, b))
                    }
                    _ => {
                        let mut read = Words::new(store, words);
                        (read.expr()?, read.expr()?)
                    }
                };
                equal::exprs(store, a, b, options)
            }
        };
        Ok(found.err().map_or(String::new(), |difference| {
            let text = difference.to_string();
            if text.is_empty() { "they differ".to_owned() } else { text }
        }))
    })
}

/// A number that things share which are equal: of expressions (0), types (1) and modules (2). It looks at what nodes are and at
/// no names.
#[wasm_bindgen]
pub fn table_hash(kind: u32, words: &[u32], _map_free_vars: bool) -> Js<f64> {
    with(|lent| {
        let store = &lent.store;
        let mut hasher = FxHasher::default();
        let mut expr = |id: ExprId| {
            for node in post_order(store, id) {
                store.expr(node).kind().hash(&mut hasher);
                match store.expr(node) {
                    Expr::Op(op) => op.hash(&mut hasher),
                    Expr::Constant(tensor) => store.tensor(tensor).data.hash(&mut hasher),
                    Expr::TupleGetItem { index, .. } => index.hash(&mut hasher),
                    _ => {}
                }
            }
        };
        match kind {
            2 => {
                let module = Words::new(store, words).module()?;
                let mut functions = module.functions().to_vec();
                crate::ir::sort::sort_by(&mut functions, |a, b| store.str(a.0).cmp(store.str(b.0)));
                functions.into_iter().for_each(|(_, function)| expr(function));
            }
            1 => {
                let ty = Words::new(store, words).ty()?;
                std::mem::discriminant(store.type_of_id(ty)).hash(&mut hasher);
            }
            _ => expr(Words::new(store, words).expr()?),
        }
        Ok((hasher.finish() >> 12) as f64)
    })
}

/// Everything there is to choose from, as JSON: passes, operators, keys of the configuration, instruments.
#[wasm_bindgen]
pub fn table_catalogue() -> Js<String> {
    let mut text = serde_json::to_string(&view::catalogue()).map_err(|e| error(&e.to_string()))?;
    // Python needs to know besides: how arguments of operators are passed, which shapes have to be known to lower a call, and
    // earlier names of passes.
    let orders: Vec<_> = crate::ops::all()
        .iter()
        .filter_map(|op| op.relax)
        .map(|row| {
            let kinds: Vec<_> = row.args.iter().map(|arg| (arg.name, arg.kind as u8, arg.optional)).collect();
            let needs = crate::topi::rule_needs(row.name).map(|needs| (needs != Known::Nothing, needs == Known::All));
            (row.name, kinds, row.order, row.variadic, needs)
        })
        .collect();
    let orders = serde_json::to_string(&orders).map_err(|e| error(&e.to_string()))?;
    text.pop();
    text.push_str(",\"relax\":");
    text.push_str(&orders);
    text.push_str(",\"earlier\":");
    text.push_str(&serde_json::to_string(crate::pass::EARLIER_TIR).map_err(|e| error(&e.to_string()))?);
    text.push('}');
    Ok(text)
}

/// The type of an expression of Relax over operands that have theirs, by [`infer`].
#[wasm_bindgen]
pub fn table_infer(module: &[u32], id: u32) -> Js<u32> {
    with(|lent| {
        let module = Words::new(&lent.store, module).module()?;
        let id = Words::new(&lent.store, &[id]).expr()?;
        let typed = infer::infer_expr(&mut lent.store, &module, id)
            .map_err(|found| error(found.iter().find(|d| d.is_error()).map_or("this has no type", |d| d.message.as_str())))?;
        Ok(typed.index() as u32)
    })
}
