//! Checks of the language features that a program may use for a pass to take it.
//!
//! Source: `src/relay/analysis/feature.cc`.

use super::{is_primitive, strip_on_device};
use crate::diag::Diagnostic;
use crate::ir::walk::{for_each_child, has_children};
use crate::ir::{IdMap, Module, Store};
use crate::pass::PassError;

/// Checks that no function of a module uses anything but leaves twice, except inside of primitive functions (TVM: all
/// features but `fGraph`), and counts expressions. `code` is that of the error.
pub fn holds_no_graph(store: &Store, module: &Module, code: &'static str) -> Result<usize, PassError> {
    let mut count = 0;
    for (_, function) in module.functions() {
        let mut seen = IdMap::new();
        let mut left = vec![*function];
        while let Some(id) = left.pop() {
            if seen.insert(id, ()).is_some() {
                let why = match is_primitive(store, id) {
                    true => "a primitive function is called twice with something that is not known",
                    false => "this is used more than once; run ToANormalForm first",
                };
                let message = format!("has unsupported feature: [fGraph, ]: {why}");
                return Err(vec![Diagnostic::error(code, message, store.source_span(id))]);
            }
            count += 1;
            if !is_primitive(store, id) {
                for_each_child(store, id, |child| {
                    left.extend(has_children(store, strip_on_device(store, child)).then_some(child))
                });
            }
        }
    }
    Ok(count)
}
