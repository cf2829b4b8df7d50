//! Inline: calls of small global functions replaced by their bodies.
//!
//! A function takes part when it has the attribute `Inline=1`, calls no other function (or only such
//! as were inlined into it before) and does not call itself. A function for another compiler
//! (`Compiler=...`) or an external one is inlined as a function literal instead of its body, and so is one that is
//! used as a value. A function that was inlined everywhere is removed, unless it had no calls to begin with.
//!
//! Does nothing to functions without the attribute. Fails, as TVM does, when a function with it
//! cannot be inlined. TVM also fails at a second call of a function in the same caller; here every call
//! is inlined, each copy with variables of its own.
//!
//! Source: `src/relay/transforms/inline.cc`, `src/relay/analysis/call_graph.cc`.

use super::support::copy::instantiate;
use super::support::{has_nonzero, is_external};
use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::sort::sort_by;
use crate::ir::walk::{for_each_child, post_order};
use crate::ir::{Expr, ExprId, Id, Module, Name, Store, VarId};
use crate::ops::build::args;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHashSet};

/// Replaces calls of functions with the attribute `Inline=1` by their bodies.
pub static SPEC: PassSpec = PassSpec {
    name: "Inline",
    info_name: "InlineGlobals",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Puts the bodies of functions marked Inline=1 in place of their calls.",
    doc: explained(
        "Functions with `Inline=1` that call nothing else are put in place of their calls, callees first, and \
removed when nothing calls them any more. Functions with `Compiler` are put in place as function literals, \
so that the other compiler still finds them.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = @twice(%x);
  exp(%0)
}

def @twice(%y: Tensor[(4), float32], Inline=1) -> Tensor[(4), float32] {
  add(%y, %y)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = add(%x, %x);
  exp(%0)
}
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let mut callees: FxHashMap<Id<Name>, FxHashSet<Id<Name>>> = FxHashMap::default();
    for (name, function) in module.functions() {
        let globals = post_order(store, *function).into_iter().filter_map(|id| match store.expr(id) {
            Expr::Global(callee) => Some(callee),
            _ => None,
        });
        callees.insert(*name, globals.collect());
    }
    let called: FxHashSet<Id<Name>> = callees.values().flatten().copied().collect();
    let recursive: FxHashSet<Id<Name>> = callees.iter().filter(|(name, all)| all.contains(name)).map(|(n, _)| *n).collect();
    let mut result = module.clone();
    for name in callees_first(module, &callees) {
        let Some(function) = result.function(name) else { continue };
        let ready: FxHashSet<Id<Name>> = callees[&name]
            .iter()
            .copied()
            .filter(|callee| {
                let leaf = callees.get(callee).is_some_and(FxHashSet::is_empty);
                leaf && result.function(*callee).is_some_and(|f| has_nonzero(store, f, "Inline"))
            })
            .collect();
        if ready.is_empty() {
            continue;
        }
        let values = used_as_values(store, function);
        let new = rewrite(store, function, &mut Inliner { module: &result, ready: &ready, values: &values });
        result.set_function(name, new);
        let left: FxHashSet<Id<Name>> = post_order(store, new)
            .into_iter()
            .filter_map(|id| if let Expr::Global(callee) = store.expr(id) { Some(callee) } else { None })
            .collect();
        callees.insert(name, left);
    }
    for (name, function) in module.functions() {
        if !has_nonzero(store, *function, "Inline") || recursive.contains(name) || !called.contains(name) {
            continue;
        }
        let still_called = callees.iter().any(|(caller, all)| caller != name && all.contains(name));
        if still_called && store.log.has_fuel() {
            let text = format!("{} is marked as inline but not inlined.", store.str(*name));
            return Err(vec![Diagnostic::error("relay-not-inlined", text, store.source_span(*function))]);
        }
        if !still_called {
            callees.remove(name);
            result.remove_function(*name);
        }
    }
    Ok(result)
}

/// The functions, callees before their callers.
fn callees_first(module: &Module, callees: &FxHashMap<Id<Name>, FxHashSet<Id<Name>>>) -> Vec<Id<Name>> {
    let mut order = Vec::new();
    let mut seen: FxHashSet<Id<Name>> = FxHashSet::default();
    for (root, _) in module.functions() {
        let mut stack = vec![(*root, false)];
        while let Some((name, done)) = stack.pop() {
            if done {
                order.push(name);
            } else if seen.insert(name) {
                stack.push((name, true));
                let mut next: Vec<_> = callees.get(&name).into_iter().flatten().copied().collect();
                sort_by(&mut next, Ord::cmp);
                stack.extend(next.into_iter().map(|callee| (callee, false)));
            }
        }
    }
    order
}

/// The mentions of functions that are not callees.
fn used_as_values(store: &Store, function: ExprId) -> FxHashSet<ExprId> {
    let mut values = FxHashSet::default();
    for id in post_order(store, function) {
        let callee = store.call(id).map(|call| call.callee);
        for_each_child(store, id, |child| {
            if matches!(store.expr(child), Expr::Global(_)) && callee != Some(child) {
                values.insert(child);
            }
        });
    }
    values
}

struct Inliner<'a> {
    module: &'a Module,
    ready: &'a FxHashSet<Id<Name>>,
    /// Mentions of functions as values, which become function literals.
    values: &'a FxHashSet<ExprId>,
}

impl ExprMutator for Inliner<'_> {
    fn rule(&self) -> &'static str {
        "call inlined"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        if self.values.contains(&pre)
            && let Expr::Global(name) = store.expr(pre)
            && self.ready.contains(&name)
        {
            return self.module.function(name).unwrap_or(post);
        }
        let Some(call) = store.call(pre) else { return post };
        let Expr::Global(name) = store.expr(call.callee) else { return post };
        if !self.ready.contains(&name) {
            return post;
        }
        let Some(id) = self.module.function(name) else { return post };
        let Some(function) = store.as_function(id) else { return post };
        let new_args = args(store, post);
        if is_external(store, id) || has_nonzero(store, id, "Extern") {
            let args = store.list(&new_args);
            let ty = store.checked_type(pre);
            return store.rebuild(pre, Expr::Call { callee: id, args, info: call.info }, ty);
        }
        let params: Vec<VarId> = store.items(function.params).collect();
        if params.len() == new_args.len() { instantiate(store, function.body, &params, &new_args) } else { post }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, check, failure, unchanged};

    #[test]
    fn two_calls_get_a_copy_each_with_variables_of_its_own() {
        check(
            "Inline()",
            "def @main(%x: int32) -> int32 { @f(@f(%x)) }
             def @f(%y: int32, Inline=1) -> int32 { let %a = negative(%y); add(%a, %a) }",
            "def @main(%x: int32) -> int32 {
               %0 = (let %a = negative(%x); add(%a, %a));
               let %b = negative(%0);
               add(%b, %b)
             }",
        );
    }

    #[test]
    fn callees_are_inlined_into_their_callers_first() {
        let made = after(
            "Inline()",
            "def @main(%x: int32) -> int32 { @f(%x) }
             def @f(%y: int32, Inline=1) -> int32 { negative(@g(%y)) }
             def @g(%z: int32, Inline=1) -> int32 { abs(%z) }",
        );
        assert!(made.contains("abs(%x)") && made.matches("def").count() == 1, "{made}");
    }

    #[test]
    fn functions_without_the_mark_stay() {
        unchanged("Inline()", "def @main(%x: int32) -> int32 { @f(%x) } def @f(%y: int32) -> int32 { abs(%y) }");
    }

    #[test]
    fn a_marked_function_that_calls_one_that_stays_is_an_error() {
        let program = "def @main(%x: int32) -> int32 { @f(%x) }
             def @f(%y: int32, Inline=1) -> int32 { @g(%y) }
             def @g(%z: int32) -> int32 { abs(%z) }";
        assert_eq!(failure("Inline()", program), "f is marked as inline but not inlined.");
    }

    #[test]
    fn a_function_that_is_a_value_becomes_a_literal() {
        let program = "def @main() -> fn (int32) -> int32 { @f }
             def @f(%y: int32, Inline=1) -> int32 { abs(%y) }";
        let made = after("Inline()", program);
        assert!(made.contains("fn (%y: int32, Inline=1)") && made.matches("def").count() == 1, "{made}");
    }

    #[test]
    fn a_function_for_another_compiler_becomes_a_literal() {
        let program = "def @main(%x: int32) -> int32 { @f(%x) }
             def @f(%y: int32, Inline=1, Compiler=\"ccompiler\") -> int32 { abs(%y) }";
        assert!(after("Inline()", program).contains("fn (%y: int32, Inline=1, Compiler="));
    }
}
