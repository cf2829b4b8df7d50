//! The loops of a tensor program, and what it does, as the page gets them. They cross the boundary as JSON, once.

use super::large_answer;
use crate::boundary::tensor::{self as says, MeasureQuestion, NestQuestion};
use crate::diag::LineIndex;
use crate::eval::{BufferCost, CacheShape, Cost};
use crate::session::{Measure, Nest, NestNode, Session};
use wasm_bindgen::JsValue;

/// The answer to `nest`.
pub(super) fn nest(session: &mut Session, question: &NestQuestion) -> Result<JsValue, JsValue> {
    let NestQuestion { version, func, trace, upto, tries } = question;
    let found = session.nest(*version, func, trace, *upto, tries);
    let found = found.unwrap_or_else(|found| Nest { problem: found.message, ..Nest::default() });
    let index = LineIndex::new(trace);
    let instructions = found.instructions.iter().map(|(span, name, changes)| {
        let place = |at| index.utf16(trace, at);
        says::Instruction { from: place(span.start), to: place(span.end), name, changes: *changes }
    });
    large_answer(&says::Nest {
        functions: &found.functions,
        func: &found.function,
        text: &found.text,
        nodes: found.nodes.iter().map(node).collect(),
        cut: found.cut,
        instructions: instructions.collect(),
        done: found.done,
        problem: &found.problem,
        refused: &found.refused,
        fresh: found.fresh,
    })
}

fn node(node: &NestNode) -> says::NestNode<'_> {
    says::NestNode {
        parent: node.parent,
        kind: node.kind,
        name: &node.name,
        extent: node.extent.filter(|extent| *extent >= 0),
        note: &node.note,
        annotations: &node.annotations,
        iters: &node.iters,
        reads: &node.reads,
        writes: &node.writes,
        lines: node.lines,
        key: &node.key,
        handle: &node.handle,
        reach: node.reach.as_ref(),
    }
}

/// The answer to `measure`.
pub(super) fn measure(session: &mut Session, question: &MeasureQuestion) -> Result<JsValue, JsValue> {
    // A number beyond all caches is refused as other sizes are.
    let bytes = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let found = match CacheShape::new(bytes(question.line), bytes(question.size)) {
        Some(cache) => session.measure(question.version, question.other, &question.func, question.seed, cache),
        None => {
            let problem = "a line has a power of two of bytes from 4 to 4096, and a cache at least one line";
            Measure { problem: problem.to_owned(), ..Measure::default() }
        }
    };
    large_answer(&says::Measure {
        problem: found.problem,
        difference: found.difference,
        parallel: found.parallel as f64,
        vector: found.vector as f64,
        cost: found.cost.map(cost),
    })
}

fn cost(cost: Cost) -> says::Cost {
    says::Cost {
        arithmetic: cost.arithmetic,
        index_arithmetic: cost.index_arithmetic,
        intensity: cost.intensity(),
        buffers: cost.buffers.into_iter().map(buffer_cost).collect(),
    }
}

fn buffer_cost(cost: BufferCost) -> says::BufferCost {
    let BufferCost { name, scope, loads, stores, bytes, lines, misses, .. } = cost;
    says::BufferCost { name, scope, loads, stores, bytes, lines, misses }
}
