//! Requests of a pass to the engine: to read texts, print, compare, type and evaluate.

use super::{Js, Subject, Words, error, module_words, with};
use crate::boundary::scripts::Walk;
use crate::diag::Diagnostic;
use crate::eval::{EvalOptions, eval_expr, value_to_expr};
use crate::infer::infer_expr;
use crate::infer::relax::analysis::{all_vars, bound_vars};
use crate::ir::equal::{self, EqualOptions};
use crate::ir::walk::{for_each_binder, free_vars, post_order};
use crate::ir::{Dialect, Expr, ExprId, Function, Module, VarId};
use crate::parse;
use crate::print::{self, PrintOptions};
use crate::session::open;
use crate::words::Worded;
use wasm_bindgen::prelude::*;

/// Texts beyond this many bytes are not read.
const MAX_TEXT: usize = 16 << 20;

/// The first error, as an exception.
fn first(found: &[Diagnostic]) -> JsValue {
    let error_of = |found: &Diagnostic| {
        let notes: String = found.notes.iter().map(|note| format!("\n{note}")).collect();
        error(&format!("{}{notes}", found.message))
    };
    found.iter().find(|d| d.is_error()).map_or_else(|| error("this cannot be read"), error_of)
}

/// The expression that a text is; a variable that it only uses must be declared by `free_var %x;`.
#[wasm_bindgen]
pub fn user_parse(text: &str) -> Js<u32> {
    with(|lent| {
        if text.len() > MAX_TEXT {
            return Err(error("the text is too long"));
        }
        let mark = lent.store.mark();
        let parsed = parse::parse(&mut lent.store, text);
        lent.store.disown(mark);
        // A function of TVMScript that stands alone is a module of one.
        let alone = match parsed.program.module.functions() {
            [(_, function)] if lent.dialect == Dialect::Relax => Some(*function),
            _ => None,
        };
        match parsed.program.expr.or(alone) {
            Some(expr) if !parsed.has_errors() => Ok(expr.index() as u32),
            _ if parsed.has_errors() => Err(first(&parsed.diagnostics)),
            _ => Err(error("this is not one expression")),
        }
    })
}

/// The module that a text is, typed.
#[wasm_bindgen]
pub fn user_parse_module(text: &str) -> Js<Vec<u32>> {
    with(|lent| {
        if text.len() > MAX_TEXT {
            return Err(error("the text is too long"));
        }
        let mark = lent.store.mark();
        let (module, found) = open(&mut lent.store, text).into_module(&mut lent.store);
        lent.store.disown(mark);
        if found.iter().any(Diagnostic::is_error) { Err(first(&found)) } else { Ok(module_words(&module)) }
    })
}

/// True if the program is one of Relax.
#[wasm_bindgen]
pub fn user_is_relax() -> Js<bool> {
    with(|lent| Ok(lent.dialect == Dialect::Relax))
}

/// True if a text is TVMScript, and not Relay.
#[wasm_bindgen]
pub fn user_is_script(text: &str) -> bool {
    parse::is_script(text)
}

/// The type that a text is.
#[wasm_bindgen]
pub fn user_parse_type(text: &str) -> Js<u32> {
    with(|lent| match parse::parse_type(&mut lent.store, text) {
        Ok(ty) => Ok(ty.index() as u32),
        Err(found) => Err(first(&found)),
    })
}

/// The attributes of the call or function that a text is, one more than their id; 0 for none.
#[wasm_bindgen]
pub fn user_parse_attrs(text: &str) -> Js<u32> {
    let id = user_parse(text)?;
    with(|lent| {
        let id = Words::new(&lent.store, &[id]).expr()?;
        let body = lent.store.as_function(id).map(|Function { body, attrs, .. }| (body, attrs));
        // An operator is called inside of a function, whose parameters are the arguments.
        let attrs = match body {
            Some((_, Some(attrs))) => Some(attrs),
            Some((body, None)) => lent.store.call(body).and_then(|call| call.attrs),
            None => None,
        };
        Ok(attrs.map_or(0, |attrs| attrs.index() as u32 + 1))
    })
}

/// An expression as TVM prints it.
#[wasm_bindgen]
pub fn user_text(id: u32) -> Js<String> {
    with(|lent| {
        let id = Words::new(&lent.store, &[id]).expr()?;
        let options = PrintOptions { header: false, metadata: false, ..PrintOptions::default() };
        Ok(match lent.dialect {
            Dialect::Relay => print::expr(&lent.store, id, &options),
            // Free names are declared in lines before it.
            Dialect::Relax | Dialect::Tir => {
                let text = print::relax_expr(&lent.store, id, &options);
                let whole = matches!(lent.store.expr(id), Expr::Function(_) | Expr::PrimFunc(_));
                if whole { text } else { text.lines().last().unwrap_or_default().to_owned() }
            }
        })
    })
}

/// A type as TVM prints it.
#[wasm_bindgen]
pub fn user_type_text(id: u32) -> Js<String> {
    with(|lent| {
        let id = Words::new(&lent.store, &[id]).ty()?;
        Ok(match lent.dialect {
            Dialect::Relay => print::ty(&lent.store, id),
            Dialect::Relax | Dialect::Tir => print::relax_ty(&lent.store, id),
        })
    })
}

/// A module as TVM's `str(mod)`.
#[wasm_bindgen]
pub fn user_module_text(module: &[u32]) -> Js<String> {
    with(|lent| {
        let module = Words::new(&lent.store, module).module()?;
        Ok(print::module(&lent.store, &module, &PrintOptions { header: false, metadata: false, ..PrintOptions::default() }))
    })
}

/// Nodes of an expression ([`Walk`]).
#[wasm_bindgen]
pub fn user_walk(what: u32, id: u32) -> Js<Vec<u32>> {
    with(|lent| {
        let what = Walk::at(what).ok_or_else(|| error("there is no such walk"))?;
        let id = Words::new(&lent.store, &[id]).expr()?;
        let store = &mut lent.store;
        let mut vars: Vec<VarId> = Vec::new();
        let nodes: Vec<ExprId> = match what {
            Walk::All => post_order(store, id),
            Walk::Free => free_vars(store, id).into_iter().map(|var| store.use_var(var)).collect(),
            _ if lent.dialect == Dialect::Relax => {
                let vars = if what == Walk::Vars { all_vars(store, id) } else { bound_vars(store, id) };
                vars.into_iter().map(|var| store.use_var(var)).collect()
            }
            _ => {
                for node in post_order(store, id) {
                    match store.expr(node) {
                        Expr::Var(var) if what == Walk::Vars => vars.push(var),
                        _ => for_each_binder(store, node, |var| vars.push(var)),
                    }
                }
                let mut seen = rustc_hash::FxHashSet::default();
                vars.retain(|var| seen.insert(*var));
                vars.into_iter().map(|var| store.use_var(var)).collect()
            }
        };
        Ok(nodes.into_iter().map(|id| id.index() as u32).collect())
    })
}

/// Structural equality of two expressions, as TVM defines it.
#[wasm_bindgen]
pub fn user_equal(a: u32, b: u32, map_free_vars: bool) -> Js<bool> {
    with(|lent| {
        let mut read = Words::new(&lent.store, &[a, b]).rest(Words::expr)?.into_iter();
        let (Some(a), Some(b)) = (read.next(), read.next()) else { return Ok(false) };
        Ok(equal::exprs(&lent.store, a, b, EqualOptions { map_free_vars, ..EqualOptions::default() }).is_ok())
    })
}

/// Structural equality of two modules.
#[wasm_bindgen]
pub fn user_equal_modules(a: &[u32], b: &[u32]) -> Js<bool> {
    with(|lent| {
        let (a, b): (Module, Module) = (Words::new(&lent.store, a).module()?, Words::new(&lent.store, b).module()?);
        Ok(equal::modules(&lent.store, &a, &b, EqualOptions { map_free_vars: false, ..EqualOptions::TEXTS }).is_ok())
    })
}

/// An expression with its types, in the context of a module.
#[wasm_bindgen]
pub fn user_infer(id: u32, module: &[u32]) -> Js<u32> {
    with(|lent| {
        let (id, module) = (Words::new(&lent.store, &[id]).expr()?, Words::new(&lent.store, module).module()?);
        infer_expr(&mut lent.store, &module, id).map(|id| id.index() as u32).map_err(|found| first(&found))
    })
}

/// The value of an expression without free variables, as constants and tuples of them.
#[wasm_bindgen]
pub fn user_eval(id: u32, module: &[u32]) -> Js<u32> {
    with(|lent| {
        let (id, module) = (Words::new(&lent.store, &[id]).expr()?, Words::new(&lent.store, module).module()?);
        let value = eval_expr(&mut lent.store, &module, id, &[], EvalOptions::default()).map_err(|e| error(&e.message))?;
        let value = value_to_expr(&mut lent.store, &value);
        value.map(|id| id.index() as u32).ok_or_else(|| error("the value is a function or a reference, not data"))
    })
}

/// Says that a mutator made `post` of `pre`. False when no more rewrites are allowed: then `post` is not to be used.
#[wasm_bindgen]
pub fn user_record(pre: u32, post: u32) -> Js<bool> {
    with(|lent| {
        let mut read = Words::new(&lent.store, &[pre, post]).rest(Words::expr)?.into_iter();
        let (Some(pre), Some(post), Some(Subject { rule, root })) = (read.next(), read.next(), lent.subject) else {
            return Ok(true);
        };
        Ok(lent.store.record(rule, root, pre, post))
    })
}
