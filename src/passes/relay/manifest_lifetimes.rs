//! ManifestLifetimes: marks where a variable is no longer needed.
//!
//! First aliases are merged: a variable bound to another, a copy to the device where the value is already, and a
//! pattern that is a variable. Then, going backwards through the bindings, each binding is followed by a `memory.kill`
//! for every variable that it uses and no later binding does.
//!
//! Does nothing for parameters that are never used, nor for the results of branches. `if` and `match` must be values of
//! a `let`, and inner functions may have no `let`, as ToANormalForm and LambdaLift leave them.
//!
//! As in TVM, a branch with a branch in it loses, behind the inner one, the variables that are needed after the outer
//! one (the edge to the code after it starts at the first block of the branch, in `ControlFlowGraph::Creator`). If a
//! binding is the last use of several variables, TVM kills them in no particular order; here it is that of their use.
//!
//! Source: `src/relay/backend/vm/manifest_lifetimes.cc`, `src/relay/backend/liveness_analysis.cc`.

use super::support::copy::substitute;
use super::support::lifetimes::{Lifetimes, branches};
use super::support::strip_on_device;
use crate::diag::Diagnostic;
use crate::ir::rewrite::{Bound, ExprMutator, rewrite};
use crate::ir::{Clause, Expr, ExprId, IdMap, Module, Pattern, Store, VarId};
use crate::ops::build::{arg, call, is_call};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Inserts `memory.kill` after the last use of each variable.
pub static SPEC: PassSpec = PassSpec {
    name: "ManifestLifetimes",
    info_name: "ManifestLifetimes",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Puts `memory.kill` behind the last use of a variable.",
    doc: explained(
        "The virtual machine of Relay keeps what a variable holds until its function returns, unless it is told that it is \
needed no longer. This pass finds the last use of every variable, through branches, and binds a call of `memory.kill` behind it. \
The program must be in A-normal form.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) {
  let %a = exp(%x);
  let %b = negative(%a);
  let %c = add(%b, %x);
  %c
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  let %a: Tensor[(4), float32] = exp(%x);
  let %b: Tensor[(4), float32] = negative(%a);
  let %x_0: () = memory.kill(%a);
  let %c: Tensor[(4), float32] = add(%b, %x);
  let %x_1: () = memory.kill(%b);
  let %x_2: () = memory.kill(%x);
  %c
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let function = rewrite(cx.store, function, &mut OneName);
    let fail = |text: String| vec![Diagnostic::error("relay-lifetimes", text, cx.store.source_span(function))];
    let mut lifetimes = Lifetimes::default();
    lifetimes.run(cx.store, function).map_err(fail)?;
    let mut kill = Kill::new(cx.store, function, &lifetimes);
    let result = rewrite(cx.store, function, &mut kill);
    if kill.unknown {
        let text = "all Let exprs should be mapped in the CFG: a function inside has bindings";
        return Err(vec![Diagnostic::error("relay-lifetimes", text, cx.store.source_span(function))]);
    }
    Ok(result)
}

/// Replaces aliases by the variable that they stand for.
struct OneName;

impl ExprMutator for OneName {
    fn rule(&self) -> &'static str {
        "second name for the same"
    }

    fn bind(&mut self, store: &mut Store, _: ExprId, value: ExprId) -> Bound {
        let inner = strip_on_device(store, value);
        let copied = if is_call(store, inner, "device_copy") {
            let attrs = store.call(inner).and_then(|call| call.attrs);
            let same = store.attr(attrs, "src_virtual_device") == store.attr(attrs, "dst_virtual_device");
            if same { arg(store, inner, 0) } else { return Bound::Keep }
        } else {
            inner
        };
        if matches!(store.expr(copied), Expr::Var(_)) { Bound::Substitute(copied) } else { Bound::Keep }
    }

    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        let Expr::Match { data, clauses, complete } = store.expr(post) else { return post };
        let data = strip_on_device(store, data);
        if !matches!(store.expr(data), Expr::Var(_)) {
            return post;
        }
        let old: Vec<_> = store.items(clauses).collect();
        let mut new = Vec::with_capacity(old.len());
        for clause in &old {
            let Clause { pattern, body } = *store.clause(*clause);
            new.push(match *store.pattern(pattern) {
                Pattern::Var(var) => {
                    let body = substitute(store, body, &[(var, data)]);
                    store.add_clause(Clause { pattern, body })
                }
                _ => *clause,
            });
        }
        let clauses = if new == old { clauses } else { store.list(&new) };
        let ty = store.checked_type(post);
        if new == old { post } else { store.rebuild(post, Expr::Match { data, clauses, complete }, ty) }
    }
}

/// Inserts the calls of `memory.kill` as bindings.
struct Kill {
    /// For each let, the variables that die and the variables that their calls are bound to.
    kills: IdMap<Expr, Vec<(VarId, VarId)>>,
    /// True if a let was met that is not known.
    unknown: bool,
}

impl Kill {
    /// Numbers the calls in the order of the program.
    fn new(store: &mut Store, function: ExprId, lifetimes: &Lifetimes) -> Kill {
        let mut kills = IdMap::new();
        let mut number = 0;
        for id in evaluated(store, function) {
            let Some(dying) = lifetimes.kills.get(id) else { continue };
            let named = dying.iter().map(|var| {
                number += 1;
                (*var, store.var(&format!("x_{}", number - 1), None))
            });
            let named: Vec<_> = named.collect();
            kills.insert(id, named);
        }
        Kill { kills, unknown: false }
    }
}

/// The lets of a function, each behind those inside of its value.
fn evaluated(store: &Store, function: ExprId) -> Vec<ExprId> {
    let mut lets = Vec::new();
    let mut stack = vec![(function, false)];
    while let Some((id, done)) = stack.pop() {
        match store.expr(id) {
            Expr::Let { .. } if done => lets.push(id),
            Expr::Let { body, .. } => {
                stack.extend([(body, false), (id, true)]);
                stack.extend(branches(store, id).into_iter().rev().map(|scope| (scope, false)));
            }
            Expr::Function(function) => stack.push((store.function(function).body, false)),
            _ => {}
        }
    }
    lets
}

impl ExprMutator for Kill {
    fn rule(&self) -> &'static str {
        "behind its last use"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let Expr::Let { var, value, mut body } = store.expr(post) else { return post };
        let Some(dying) = self.kills.get(pre) else {
            self.unknown = true;
            return post;
        };
        if dying.is_empty() {
            return post;
        }
        for (dies, name) in dying.iter().rev() {
            let used = store.use_var(*dies);
            let value = call(store, "memory.kill", &[used]);
            body = store.add(Expr::Let { var: *name, value, body });
        }
        store.rebuild(post, Expr::Let { var, value, body }, None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, failure};

    #[test]
    fn a_second_name_keeps_nothing_alive() {
        let text = after(
            "ManifestLifetimes()",
            "def @main(%x: int32) { let %a = negative(%x); let %b = %a; let %c = negative(%b); %c }",
        );
        assert!(text.contains("negative(%a)") && text.matches("memory.kill").count() == 2, "{text}");
    }

    #[test]
    fn a_constructor_that_is_yielded_is_refused() {
        let program = "type Box { Full(int32), }\ndef @main() -> fn (int32) -> Box { Full }";
        assert_eq!(failure("ManifestLifetimes()", program), "Do not have a default for relay.Constructor");
    }

    #[test]
    fn what_only_one_branch_needs_dies_in_it() {
        let text = after(
            "ManifestLifetimes()",
            "def @main(%c: bool, %x: int32, %y: int32) {
               let %r = if (%c) { let %a = negative(%x); %a } else { let %b = add(%x, %y); %b };
               let %s = negative(%r);
               %s
             }",
        );
        // In the first branch %x, in the second both, then %c and %r.
        let killed: Vec<&str> = text.match_indices("memory.kill(").map(|(at, _)| &text[at + 12..at + 14]).collect();
        assert_eq!(killed, ["%x", "%x", "%y", "%c", "%r"]);
    }

    #[test]
    fn behind_a_branch_in_a_branch_what_is_needed_later_is_forgotten_as_in_tvm() {
        let text = after(
            "ManifestLifetimes()",
            "def @main(%c: bool, %x: int32) {
               let %a = if (%c) {
                 let %b = if (%c) { let %d = negative(%x); %d } else { let %e = abs(%x); %e };
                 let %f = add(%b, %x);
                 %f
               } else { let %g = negative(%x); %g };
               let %h = add(%a, %x);
               %h
             }",
        );
        // The inner branch uses %c last, so it dies behind that and not behind the outer one. The block of %f has no edge to that
        // of %h, so %x dies there, too; in the other branches it is seen to be needed.
        let killed: Vec<&str> = text.match_indices("memory.kill(").map(|(at, _)| &text[at + 12..at + 14]).collect();
        assert_eq!(killed, ["%c", "%b", "%x", "%a", "%x"], "{text}");
    }

    #[test]
    fn a_branch_that_is_bound_to_nothing_is_an_error() {
        let text = failure("ManifestLifetimes()", "def @main(%c: bool) { if (%c) { 1 } else { 2 } }");
        assert_eq!(text, "If expressions should be bound to variables.");
    }
}
