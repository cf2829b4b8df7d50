//! ToGraphNormalForm: substitutes let-bound values for their variables.
//!
//! Every use of a let-bound variable becomes the value itself, shared: the program is a graph again.
//! A value that uses its own variable (a recursive function) stays as `let f = ...; f`.
//!
//! Effects are not respected, as in TVM: a value that is never used is lost, and writes to
//! references may be reordered.
//!
//! Source: `src/relay/transforms/to_graph_normal_form.cc`.

use crate::ir::rewrite::{Bound, ExprMutator, rewrite};
use crate::ir::walk::for_each_child;
use crate::ir::{Expr, ExprId, Module, Store, VarId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashSet;

/// Replaces let-bound variables by their values.
pub static SPEC: PassSpec = PassSpec {
    name: "ToGraphNormalForm",
    info_name: "ToGraphNormalForm",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Replaces every let by sharing.",
    doc: explained(
        "The reverse of ToANormalForm: each use of a variable bound by `let` becomes its value, and uses \
of the same variable share one node. Only a recursive function keeps its `let`.\n\n\
Order of effects is not kept: a `ref_write` whose result is not used disappears.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) {
  let %a = add(%x, %x);
  let %b = multiply(%a, %a);
  %b
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = add(%x, %x);
  multiply(%0, %0)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    Ok(rewrite(cx.store, function, &mut Unbind))
}

struct Unbind;

impl ExprMutator for Unbind {
    fn rule(&self) -> &'static str {
        "let to its value"
    }

    fn bind(&mut self, store: &mut Store, pre: ExprId, value: ExprId) -> Bound {
        let Expr::Let { var, value: old, .. } = store.expr(pre) else { return Bound::Keep };
        // The new value reaches its variable only if the old one does, which is cheap to rule out.
        if uses(store, old, var) && uses(store, value, var) {
            let body = store.use_var(var);
            let recursive = store.add(Expr::Let { var, value, body });
            return Bound::Substitute(recursive);
        }
        Bound::Substitute(value)
    }
}

/// True if `root` reaches a use of `var`. A node reaches only older ones, so nodes older than that
/// use are skipped; for values that are not recursive those are nearly all.
fn uses(store: &mut Store, root: ExprId, var: VarId) -> bool {
    let target = store.use_var(var);
    let mut seen: FxHashSet<ExprId> = FxHashSet::default();
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        if id == target {
            return true;
        }
        if id > target && seen.insert(id) {
            for_each_child(store, id, |child| stack.push(child));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, check, unchanged};

    #[test]
    fn an_unused_value_is_lost() {
        check(
            "ToGraphNormalForm()",
            "def @main(%x: Tensor[(4), float32]) { let %a = exp(%x); abs(%x) }",
            "def @main(%x: Tensor[(4), float32]) { abs(%x) }",
        );
    }

    #[test]
    fn a_recursive_function_keeps_its_let() {
        let program = "def @main(%n: int32) -> int32 {
               let %f = fn (%i: int32) -> int32 {
                 if (equal(%i, 0)) { 0 } else { %f(subtract(%i, 1)) }
               };
               %f(%n)
             }";
        let made = after("ToGraphNormalForm()", program);
        assert_eq!(made.matches("let %f").count(), 1, "{made}");
    }

    #[test]
    fn a_graph_stays() {
        unchanged("ToGraphNormalForm()", "def @main(%x: Tensor[(4), float32]) { %0 = exp(%x); add(%0, %0) }");
    }
}
