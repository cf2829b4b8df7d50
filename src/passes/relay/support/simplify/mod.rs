//! The rules of SimplifyExpr, by theme, and the loop that runs them.

pub mod algebra;
pub mod casts;
pub mod layouts;
pub mod like;

use super::pattern::{Rule, Sites, rewrite_found};
use crate::diag::Diagnostic;
use crate::infer::infer_expr;
use crate::ir::{AttrValue, Dim, ExprId, Module};
use crate::pass::{PassCx, PassError};

/// TVM applies at most this many rules, because more must undo each other.
const MAX_APPLIED: usize = 100;

/// Applies the rules in order, again and again until a whole round changes nothing. Matches are found without types;
/// those are inferred when a rule is applied to a changed program, and at the end.
pub fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, rules: &[&Rule]) -> Result<ExprId, PassError> {
    let mut current = function;
    let mut sites = Sites::new(cx.store, current);
    let mut typed = true;
    let mut applied = 0;
    loop {
        let mut changed = false;
        for rule in rules {
            applied += 1;
            let mut found = sites.find(cx.store, rule);
            if found.is_empty() {
                continue;
            }
            if !typed {
                current = infer_expr(cx.store, module, current)?;
                sites = Sites::new(cx.store, current);
                found = sites.find(cx.store, rule);
                typed = true;
            }
            let next = rewrite_found(cx.store, module, current, found, rule);
            if next != current {
                current = next;
                sites = Sites::new(cx.store, current);
                changed = true;
                typed = false;
            }
        }
        if !changed {
            return Ok(if typed { current } else { infer_expr(cx.store, module, current)? });
        }
        if applied + rules.len() >= MAX_APPLIED {
            let text = "the rules were applied as often as TVM allows, and there is more to simplify; TVM fails here";
            cx.diagnostics.emit(Diagnostic::warning("relay-simplify-limit", text, cx.store.source_span(current)));
            return Ok(current);
        }
    }
}

/// Returns extents as an attribute. Their widths stay as they are.
fn dims_attr(shape: &[Dim]) -> Option<AttrValue> {
    let values = shape.iter().map(|dim| match *dim {
        Dim::Int { value, bits } => Some(AttrValue::Int { value, bits }),
        _ => None,
    });
    values.collect::<Option<Vec<_>>>().map(|values| AttrValue::Array(values.into()))
}
