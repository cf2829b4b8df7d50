//! Operators of Relax that a script registers.

use super::{HostCall, Js, error, lend};
use crate::ir::{Dialect, ExprId, Store, TypeId};
use crate::ops::own;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// Registers an operator by its whole name. The host is asked `infer` and `normalize` about its calls: a type, and what stands for
/// a call in normal form or nothing.
#[wasm_bindgen]
pub fn user_register_op(name: &str, pure: bool) -> Js<()> {
    own::register(name, pure, Rc::new(Host)).map(drop).map_err(|message| error(&message))
}

struct Host;

impl Host {
    fn ask(&self, store: &mut Store, what: &'static str, call: ExprId) -> Result<Option<usize>, String> {
        let words = [call.index() as u32];
        let call = HostCall { what, index: 0, words: &words, info: JsValue::NULL, dialect: Dialect::Relax };
        Ok(lend(store, None, None, &call)?.as_f64().map(|number| number as usize))
    }
}

impl own::Script for Host {
    fn infer(&self, store: &mut Store, call: ExprId) -> Result<TypeId, String> {
        let found = self.ask(store, "infer", call)?.and_then(|index| store.type_at(index));
        found.ok_or_else(|| "the script gives no type for a call of its operator".to_owned())
    }

    fn normalize(&self, store: &mut Store, call: ExprId) -> Result<Option<ExprId>, String> {
        let found = self.ask(store, "normalize", call)?.and_then(|index| store.expr_at(index));
        Ok(found.filter(|new| *new != call))
    }
}
