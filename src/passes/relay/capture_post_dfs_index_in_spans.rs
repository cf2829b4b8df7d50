//! CapturePostDfsIndexInSpans: notes at every expression its number in post order and that of its dominator.
//!
//! TVM puts both numbers into the span of the expression, to debug patterns. Spans are not printed, and this program
//! keeps them as they are, so the pass has no visible effect.
//!
//! As in TVM, where a variable that a pattern binds becomes another one wherever it is used but not in the pattern, a function
//! that uses such a variable is an error.
//!
//! Source: `src/relay/transforms/capture_postdfsindex_in_spans.cc`.

use crate::diag::Diagnostic;
use crate::ir::walk::{for_each_pattern_var, post_order};
use crate::ir::{Expr, ExprId, Module, VarId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashSet;

/// Checks the program as TVM does; the numbers themselves are not noted.
pub static SPEC: PassSpec = PassSpec {
    name: "CapturePostDfsIndexInSpans",
    info_name: "CapturePostDfsIndexInSpans",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Numbers expressions in post order, for debugging.",
    doc: explained(
        "TVM writes the number of each expression, and that of the expression that dominates it, where its place in the source \
would stand. Neither is printed. In passlab expressions keep their places.",
    ),
    example_before: explained("def @main(%x: int32) {\n  add(%x, 1)\n}\n"),
    example_after: explained("def @main(%x: int32) -> int32 {\n  add(%x, 1)\n}\n"),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let store = &cx.store;
    let mut bound: FxHashSet<VarId> = FxHashSet::default();
    let order = post_order(store, function);
    for id in &order {
        if let Expr::Match { clauses, .. } = store.expr(*id) {
            for clause in store.items(clauses) {
                for_each_pattern_var(store, store.clause(clause).pattern, &mut |var| {
                    bound.insert(var);
                });
            }
        }
    }
    for id in order {
        match store.expr(id) {
            Expr::Var(var) if bound.contains(&var) => {
                let message = format!("contains free variables: [%{}]", store.str(store.var_data(var).name));
                return Err(vec![Diagnostic::error("relay-free-var", message, store.source_span(id))]);
            }
            _ => {}
        }
    }
    Ok(function)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{failure, unchanged};

    #[test]
    fn a_variable_of_a_pattern_that_is_used_is_refused() {
        let program = |used: &str| {
            format!(
                "type Box {{ Full(int32), Empty, }}\ndef @main(%b: Box) {{ match (%b) {{ Full(%v) => {{ {used} }}, Empty => {{ 0 }}, }} }}"
            )
        };
        unchanged("CapturePostDfsIndexInSpans()", &program("1"));
        assert_eq!(failure("CapturePostDfsIndexInSpans()", &program("%v")), "contains free variables: [%v]");
    }
}
