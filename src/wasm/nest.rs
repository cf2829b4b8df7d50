//! The loops of a tensor program, and what it does, as the page gets them. They cross the boundary as JSON, once.

use super::request::Fields;
use crate::diag::LineIndex;
use crate::eval::CacheShape;
use crate::session::{Measure, Nest, NestNode, Session};
use serde_json::{Map, Value, json};
use wasm_bindgen::JsValue;

fn parsed(value: &Value) -> Result<JsValue, JsValue> {
    js_sys::JSON::parse(&value.to_string())
}

/// The answer to `nest` (`Nest` of the protocol).
pub(super) fn nest(session: &mut Session, request: JsValue) -> Result<JsValue, JsValue> {
    let fields = Fields(request);
    let (trace, function) = (fields.text("trace")?, fields.text("func")?);
    let (version, upto, tries) = (fields.index("version")?, fields.index("upto")?, fields.texts("tries")?);
    let found = session.nest(version, &function, &trace, upto, &tries);
    let found = found.unwrap_or_else(|found| Nest { problem: found.message, ..Nest::default() });
    let index = LineIndex::new(&trace);
    let instruction = |(span, name, changes): &(crate::diag::Span, String, bool)| {
        let place = |at| index.utf16(&trace, at);
        json!({ "from": place(span.start), "to": place(span.end), "name": name, "changes": changes })
    };
    parsed(&json!({
        "functions": found.functions,
        "func": found.function,
        "text": found.text,
        "nodes": found.nodes.iter().map(node).collect::<Vec<_>>(),
        "cut": found.cut,
        "instructions": found.instructions.iter().map(instruction).collect::<Vec<_>>(),
        "done": found.done,
        "problem": found.problem,
        "refused": found.refused,
        "fresh": found.fresh,
    }))
}

fn node(node: &NestNode) -> Value {
    let mut view = Map::new();
    let mut put = |key: &str, value: Value| view.insert(key.to_owned(), value);
    put("parent", node.parent.into());
    put("extent", node.extent.filter(|extent| *extent >= 0).into());
    put("lines", json!([node.lines.0, node.lines.1]));
    put("iters", json!(node.iters));
    put("reach", json!(node.reach));
    let texts: [(&str, &str); 8] = [
        ("kind", node.kind),
        ("name", &node.name),
        ("note", &node.note),
        ("annotations", &node.annotations),
        ("reads", &node.reads),
        ("writes", &node.writes),
        ("key", &node.key),
        ("handle", &node.handle),
    ];
    for (key, text) in texts {
        put(key, text.into());
    }
    Value::Object(view)
}

/// The answer to `measure` (`Measure` of the protocol).
pub(super) fn measure(session: &mut Session, request: JsValue) -> Result<JsValue, JsValue> {
    let fields = Fields(request);
    let (version, other, seed) = (fields.index("version")?, fields.index("other")?, fields.number("seed")? as u64);
    let found = match CacheShape::new(fields.index("line")? as u32, fields.index("size")? as u32) {
        Some(cache) => session.measure(version, other, &fields.text("func")?, seed, cache),
        None => {
            let problem = "a line has a power of two of bytes from 4 to 4096, and a cache at least one line";
            Measure { problem: problem.to_owned(), ..Measure::default() }
        }
    };
    let cost = found.cost.map(|cost| {
        let buffers = cost.buffers.iter().map(|buffer| {
            json!({
                "name": buffer.name, "scope": buffer.scope, "loads": buffer.loads, "stores": buffer.stores,
                "bytes": buffer.bytes, "lines": buffer.lines, "misses": buffer.misses,
            })
        });
        json!({
            "arithmetic": cost.arithmetic, "indexArithmetic": cost.index_arithmetic, "intensity": cost.intensity(),
            "buffers": buffers.collect::<Vec<_>>(),
        })
    });
    parsed(&json!({
        "problem": found.problem, "difference": found.difference, "parallel": found.parallel, "vector": found.vector,
        "cost": cost,
    }))
}
