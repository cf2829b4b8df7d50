//! Operators that a script registers.

use super::{HostCall, Js, error, lend};
use crate::ir::{AttrsId, Dialect, ExprId, Store, TypeId};
use crate::ops::{OpPattern, own};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// Registers an operator by its whole name. The host is asked `infer` and `normalize` about its calls: a type, and what stands for
/// a call in normal form or nothing.
#[wasm_bindgen]
pub fn user_register_op(name: &str, pure: bool) -> Js<()> {
    own::register(name, pure, Rc::new(Host)).map(drop).map_err(|message| error(&message))
}

/// Registers an operator of Relay with so many inputs. The relation is one by name, or else the script's: the host is asked
/// `relate` for the type of a call, or nothing if it is not known yet. A pattern below zero is none.
#[wasm_bindgen]
pub fn user_register_relay_op(name: &str, inputs: usize, relation: Option<String>, pattern: i32, stateful: bool) -> Js<()> {
    const PATTERNS: [OpPattern; 7] = [
        OpPattern::ElemWise,
        OpPattern::Broadcast,
        OpPattern::Injective,
        OpPattern::CommReduce,
        OpPattern::OutEWiseFusable,
        OpPattern::Tuple,
        OpPattern::Opaque,
    ];
    let pattern = PATTERNS.into_iter().find(|known| *known as i32 == pattern);
    let facts = own::OfRelay { name, inputs, relation: relation.as_deref(), pattern, stateful };
    own::register_relay(&facts, Rc::new(Host)).map(drop).map_err(|message| error(&message))
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

    fn relate(&self, store: &mut Store, op: &str, inputs: &[TypeId], attrs: Option<AttrsId>) -> Result<Option<TypeId>, String> {
        let mut words = vec![attrs.map_or(0, |attrs| attrs.index() as u32 + 1)];
        words.extend(inputs.iter().map(|ty| ty.index() as u32));
        let call = HostCall { what: "relate", index: 0, words: &words, info: op.into(), dialect: Dialect::Relay };
        Ok(lend(store, None, None, &call)?.as_f64().and_then(|number| store.type_at(number as usize)))
    }
}
