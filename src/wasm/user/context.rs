//! Contexts of the user's: the options that passes run under, keys of their configuration, and what passes report.

use super::run::{instruments, thrown};
use super::{Js, Words, error, source, with};
use crate::boundary::scripts::{ContextDesc, InstrumentDesc};
use crate::boundary::wire::Read;
use crate::diag::{Diagnostic, Span};
use crate::ir::{Expr, Origin};
use crate::parse::suggest;
use crate::pass::config::{self, ConfigType, OwnKey, nearest_key, validate};
use crate::pass::manager::Runner;
use crate::pass::{Literal, PassContext};
use crate::wasm::documents::config as config_of;
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

/// Enters a context: until [`user_exit`] it is the current one. Gives its number, which no other has.
#[wasm_bindgen]
pub fn user_enter(context: JsValue) -> Js<u32> {
    let ContextDesc { opt_level, required, disabled, config, instruments: watching } = ContextDesc::read(context, "context")?;
    let context = PassContext { opt_level, required, disabled, config: config_of(config).into_iter().collect() };
    let own = own_keys();
    if let Some((key, message)) = validate(&context.config, &own).first() {
        let near = nearest_key(key, &own).map_or(String::new(), |near| format!("\ndid you mean `{near}`?"));
        return Err(error(&format!("{message}{near}")));
    }
    let instruments = instruments(watching)?;
    with_runner(|runner| {
        if runner.depth() >= 100 {
            return Err(error("contexts are entered too deep"));
        }
        runner.enter(context, instruments).map_err(thrown)?;
        Ok(runner.current_scope())
    })
}

/// Leaves the current context.
#[wasm_bindgen]
pub fn user_exit() -> Js<()> {
    with_runner(|runner| runner.exit().map_err(thrown))
}

/// Replaces the instruments of the context with that number.
#[wasm_bindgen]
pub fn user_override(scope: u32, descs: JsValue) -> Js<()> {
    let instruments = instruments(Vec::<InstrumentDesc>::read(descs, "instruments")?)?;
    with_runner(|runner| runner.override_instruments(scope, instruments).map_err(thrown))
}

fn with_runner<T>(f: impl FnOnce(&mut Runner) -> Js<T>) -> Js<T> {
    with(|lent| match &mut lent.runner {
        Some(runner) => f(runner),
        None => Err(error("there is no context to change while an instrument looks")),
    })
}

/// The current context: `[its number, opt level, required, disabled, keys and values of the configuration in turn]`.
#[wasm_bindgen]
pub fn user_context() -> Js<js_sys::Array> {
    with_runner(|runner| {
        let context = runner.current();
        let names = |names: &[String]| names.iter().map(|name| JsValue::from(name.as_str())).collect::<js_sys::Array>();
        let config = context.config.iter();
        let config: js_sys::Array = config.flat_map(|(key, value)| [JsValue::from(key.as_str()), js_of(value)]).collect();
        let (scope, level) = (JsValue::from(runner.current_scope()), JsValue::from(context.opt_level as f64));
        Ok(js_sys::Array::of5(&scope, &level, &names(&context.required), &names(&context.disabled), &config))
    })
}

/// A literal of Python as JavaScript has it; keys of dicts are texts.
fn js_of(value: &Literal) -> JsValue {
    match value {
        Literal::None => JsValue::NULL,
        Literal::Bool(on) => (*on).into(),
        Literal::Int(number) => (*number as f64).into(),
        Literal::Float(number) => (*number).into(),
        Literal::Str(text) => text.as_str().into(),
        Literal::List(items) => items.iter().map(js_of).collect::<js_sys::Array>().into(),
        Literal::Dict(entries) => {
            let object = js_sys::Object::new();
            for (key, value) in entries {
                let key = if let Literal::Str(key) = key { key.clone() } else { key.to_string() };
                // A plain object takes any key.
                let _ = js_sys::Reflect::set(&object, &key.into(), &js_of(value));
            }
            object.into()
        }
    }
}

thread_local! {
    /// Keys of the configuration that the script has registered.
    static KEYS: RefCell<Vec<OwnKey>> = const { RefCell::new(Vec::new()) };
}

/// Registers a key of the configuration for passes of the script: `bool`, `int`, `str` or `list`.
#[wasm_bindgen]
pub fn user_config_key(key: &str, ty: &str) -> Js<()> {
    let types = [ConfigType::Bool, ConfigType::Int, ConfigType::Str, ConfigType::List];
    let Some(ty) = types.into_iter().find(|known| known.word().word() == ty) else {
        return Err(error(&format!("a key of the configuration holds bool, int, str or list, not {ty}")));
    };
    if config::key(key).is_some() {
        return Err(error(&format!("TVM has a key {key} already: give yours another name")));
    }
    KEYS.with_borrow_mut(|keys| {
        keys.retain(|(known, _)| known != key);
        if keys.len() >= MOST_KEYS {
            return Err(error("there are too many keys"));
        }
        keys.push((key.to_owned(), ty));
        Ok(())
    })
}

/// More keys than this are refused.
const MOST_KEYS: usize = 1000;

/// Keys that the script has registered so far.
pub(super) fn own_keys() -> Vec<OwnKey> {
    KEYS.with_borrow(Clone::clone)
}

/// Forgets them: a script begins anew.
pub(super) fn forget_keys() {
    KEYS.set(Vec::new());
}

/// `[key, type, key, type, ...]`: all keys of the configuration, TVM's and one's own.
#[wasm_bindgen]
pub fn user_config_keys() -> Vec<String> {
    let known = config::KEYS.iter().map(|key| (key.key.to_owned(), key.ty));
    known.chain(own_keys()).flat_map(|(key, ty)| [key, ty.tvm_name().to_owned()]).collect()
}

/// The place of the code that an expression stands for: `[first byte, byte behind it, line, column, line and column of
/// the end]`; empty where it comes from no place of the program.
#[wasm_bindgen]
pub fn user_span(id: u32) -> Js<Vec<u32>> {
    with(|lent| {
        let id = Words::new(&lent.store, &[id]).expr()?;
        let span = match lent.store.expr(id) {
            Expr::Var(var) => lent.store.var_span(var).or_else(|| lent.store.source_span(id)),
            _ => lent.store.source_span(id),
        };
        let Some(Span { start, end }) = span else { return Ok(Vec::new()) };
        let (text, lines) = &*source();
        let ((line, column), (end_line, end_column)) = (lines.line_column(text, start), lines.line_column(text, end));
        Ok(vec![start, end, line as u32, column as u32, end_line as u32, end_column as u32])
    })
}

/// The node that an expression was rebuilt from with other parts, as often as that happened; itself if it was not.
#[wasm_bindgen]
pub fn user_rebuilt_from(id: u32) -> Js<Vec<u32>> {
    with(|lent| {
        let mut id = Words::new(&lent.store, &[id]).expr()?;
        let mut found = vec![id.index() as u32];
        while let Origin::Rebuilt(pre) = lent.store.origin(id) {
            id = pre;
            found.push(id.index() as u32);
        }
        Ok(found)
    })
}

/// Reports a finding of the pass that is running: `error`, `warning`, `note` or `help`, at the bytes `span` of the program or
/// nowhere. The pass has failed when it is an error. False when no pass is running.
#[wasm_bindgen]
pub fn user_report(severity: &str, message: &str, span: &[u32]) -> Js<bool> {
    let code = "user-diagnostic";
    let span = match *span {
        [start, end] => Some(Span { start, end: end.max(start) }),
        _ => None,
    };
    let found = match severity {
        "error" => Diagnostic::error(code, message, span),
        "warning" => Diagnostic::warning(code, message, span),
        "note" => Diagnostic::note(code, message, span),
        "help" => Diagnostic::help(code, message, span),
        _ => return Err(error("a diagnostic is an error, a warning, a note or help")),
    };
    with_runner(|runner| Ok(runner.emit(found)))
}

/// The nearest of some words to one that is not among them; empty when none is near.
#[wasm_bindgen]
pub fn user_nearest(word: &str, known: Vec<String>) -> String {
    suggest::nearest(word, known.iter().map(String::as_str)).unwrap_or_default().to_owned()
}
