//! Values as the page gets them.

use super::request::Fields;
use crate::eval::{Value, show};
use crate::ir::{Id, Store};
use crate::ops::kernel::read;
use crate::session::{Part, Session};
use js_sys::{Array, Object};
use serde::Serialize;
use wasm_bindgen::{JsCast, JsValue};

/// Most elements of an input that are sent.
const MOST_IN: usize = 4096;
/// Most elements of a result that are sent.
const MOST_OUT: usize = 1 << 18;

/// A part of a value; what is no tensor, or one without data, has its text only.
#[derive(Serialize)]
struct PartView {
    name: String,
    text: String,
    dtype: String,
    shape: Vec<i64>,
    data: Vec<f64>,
}

/// An evaluation (`Values` of the protocol).
#[derive(Default, Serialize)]
pub(super) struct ValuesView {
    problem: String,
    args: Vec<PartView>,
    result: Vec<PartView>,
    seen: Vec<PartView>,
    times: usize,
}

fn part(store: &Store, (name, value): &Part, most: usize) -> PartView {
    let mut view =
        PartView { name: name.clone(), text: show(store, value), dtype: String::new(), shape: Vec::new(), data: Vec::new() };
    if let Value::Tensor(tensor) = value {
        view.dtype = tensor.dtype.to_string();
        view.shape = tensor.shape.to_vec();
        view.data = read::<f64>(tensor).unwrap_or_default();
        view.data.truncate(most);
    }
    view
}

/// Evaluates as the request says, and puts what came out into views.
pub(super) fn values(session: &mut Session, request: JsValue) -> Result<ValuesView, JsValue> {
    let fields = Fields(request);
    let (version, function, seed) = (fields.index("version")?, fields.text("func")?, fields.number("seed")? as u64);
    let node = fields.get("node").as_f64().map(|node| Id::from_index(node as usize));
    let elements = |of: &JsValue| Array::from(of).iter().filter_map(|element| element.as_f64()).collect();
    let given: Vec<(String, Vec<f64>)> = match fields.get("given").dyn_into::<Object>() {
        Ok(given) => {
            let entries = Object::entries(&given);
            entries
                .iter()
                .map(|e| Array::from(&e))
                .map(|e| (e.get(0).as_string().unwrap_or_default(), elements(&e.get(1))))
                .collect()
        }
        Err(_) => Vec::new(),
    };
    let found = session.values(version, &function, seed, &given, node);
    Ok(match found {
        Ok(values) => {
            let store = session.store();
            let all = |parts: &[Part], most: usize| parts.iter().map(|one| part(store, one, most)).collect();
            ValuesView {
                problem: values.failure.map_or(String::new(), |found| found.message),
                args: all(&values.args, MOST_IN),
                result: all(&values.result, MOST_OUT),
                seen: all(&values.seen, MOST_OUT),
                times: values.times,
            }
        }
        Err(found) => ValuesView { problem: found.message, ..ValuesView::default() },
    })
}
