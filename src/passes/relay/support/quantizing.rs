//! Parts that the passes of `relay.quantize` share: their options, which TVM keeps in a `qconfig`, and kinds of values.

use crate::diag::Diagnostic;
use crate::ir::{AttrValue, DType, ExprId, Store};
use crate::ops::build::{call_with, is_call};
use crate::pass::{Args, Literal, PassError};

/// The operator that behaves as if its input had few bits.
pub const SIMULATED: &str = "relay.op.annotation.simulated_quantize";

/// The role of a value (TVM's `QAnnotateKind`).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The input of an operator that computes on few bits.
    Input = 1,
    /// A weight.
    Weight = 2,
    /// The result of an operator that computes on few bits.
    Activation = 3,
}

/// Returns an error about an argument of a pass.
pub fn wrong(pass: &str, message: &str) -> PassError {
    vec![Diagnostic::error("pass-argument", format!("{pass}: {message}"), None)]
}

/// Reads an argument that is an element type.
pub fn dtype(pass: &str, arguments: &Args, name: &str) -> Result<DType, PassError> {
    let text = arguments.str(name).unwrap_or_default();
    DType::parse(text).ok_or_else(|| wrong(pass, &format!("{name} is an element type, such as \"int8\", not {text:?}")))
}

/// Reads an argument that is a number.
pub fn number(pass: &str, arguments: &Args, name: &str) -> Result<f64, PassError> {
    match arguments.get(name) {
        Literal::Float(value) => Ok(*value),
        Literal::Int(value) => Ok(*value as f64),
        other => Err(wrong(pass, &format!("{name} is a number, not {other}"))),
    }
}

/// Reads an argument that is one of some words.
pub fn word<'a>(pass: &str, arguments: &'a Args, name: &str, words: &[&str]) -> Result<&'a str, PassError> {
    let given = arguments.str(name).unwrap_or_default();
    match words.contains(&given) {
        true => Ok(given),
        false => Err(wrong(pass, &format!("{name} is one of {}, not {given:?}", words.join(", ")))),
    }
}

/// Makes a value behave as if it had few bits, with scale and bounds in new variables.
pub fn simulated(store: &mut Store, data: ExprId, kind: Kind) -> ExprId {
    if is_call(store, data, SIMULATED) {
        let attrs = store.call(data).and_then(|call| call.attrs);
        let is_default = store.attr_int(attrs, "sign") == Some(1) && store.attr_str(attrs, "rounding") == Some("round");
        if store.attr_int(attrs, "kind") == Some(kind as i64) && is_default {
            return data;
        }
    }
    let [scale, low, high] = ["dom_scale", "clip_min", "clip_max"].map(|name| {
        let var = store.var(name, None);
        store.use_var(var)
    });
    let rounding = AttrValue::Str(store.name("round"));
    let written = [("kind", AttrValue::int(kind as i64)), ("sign", AttrValue::Bool(true)), ("rounding", rounding)];
    call_with(store, SIMULATED, &[data, scale, low, high], &written)
}
