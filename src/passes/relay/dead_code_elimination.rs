//! DeadCodeElimination: removes let bindings that have no uses and no effects.
//!
//! Three walks, as in TVM: [`purity`](super::support::purity) says which let-bound values are sure to
//! have no effect; a count of uses starts at the body, so a value that only unused values use
//! is unused too; then pure bindings without uses go, and with `inline_once` pure ones with one
//! use are moved to that use.
//!
//! Does nothing to impure bindings, nor to graph expressions without a let. A binding that is used
//! in an inner function counts as used twice, since the function may be called often.
//!
//! Source: `src/relay/transforms/dead_code.cc`.

use super::support::purity::Purities;
use crate::ir::rewrite::{Bound, ExprMutator, Visit, rewrite};
use crate::ir::walk::for_each_child;
use crate::ir::{Expr, ExprId, IdMap, Module, Store, Var, VarId};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};

/// Removes pure let bindings without uses; with `inline_once` it also moves those with a single use.
pub static SPEC: PassSpec = PassSpec {
    name: "DeadCodeElimination",
    info_name: "DeadCodeElimination",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &["InferType"],
    params: &[
        Param { name: "inline_once", default: "False", doc: "Also moves a pure value with a single use to that use." },
        Param { name: "ignore_impurity", default: "False", doc: "Treats every value as if it had no effect." },
    ],
    config: &[],
    summary: "Drops let bindings that are not used and have no effect.",
    doc: explained(
        "A `let` goes when its variable is not used by anything that is needed and evaluating its value \
has no effect: no reference is read or written, no stateful operator or function of unknown effect is called. \
With `inline_once=True`, a pure value that is used once is also moved to its use. With `ignore_impurity=True` \
effects are not considered.\n\n\
As in TVM the analysis gives up on calls nested more than 25 deep and assumes that they have effects.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) {
  let %used = add(%x, %x);
  let %unused = exp(%used);
  multiply(%used, %x)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  let %used: Tensor[(4), float32] = add(%x, %x);
  multiply(%used, %x)
}
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, arguments: &Args) -> Result<Module, PassError> {
    let ignore_impurity = arguments.bool("ignore_impurity");
    let purities = if ignore_impurity { None } else { Some(Purities::of_module(cx.store, module)?) };
    let mut result = module.clone();
    for (name, function) in module.functions() {
        let mut usage = Usage { purities: purities.as_ref(), bound: IdMap::new(), visits: IdMap::new(), level: 0 };
        usage.count(cx.store, *function);
        let mut eliminator = Eliminator { usage, inline_once: arguments.bool("inline_once") };
        result.set_function(*name, rewrite(cx.store, *function, &mut eliminator));
    }
    Ok(result)
}

/// A let-bound variable: its value, and the uses found so far.
struct Binding {
    value: ExprId,
    uses: u32,
    /// The number of functions around the binding.
    level: u32,
}

/// Counts the uses of let-bound variables.
struct Usage<'a> {
    purities: Option<&'a Purities>,
    bound: IdMap<Var, Binding>,
    visits: IdMap<Expr, u8>,
    level: u32,
}

enum Step {
    Visit(ExprId),
    LeaveFunction,
}

impl Usage<'_> {
    fn is_pure(&self, var: VarId) -> bool {
        self.purities.is_none_or(|purities| purities.is_pure(var))
    }

    /// Every node is looked at up to twice: a second use of a shared node is a second use of the
    /// variables in it, and more than two make no difference.
    fn count(&mut self, store: &mut Store, root: ExprId) {
        let mut stack = vec![Step::Visit(root)];
        while let Some(step) = stack.pop() {
            let id = match step {
                Step::LeaveFunction => {
                    self.level -= 1;
                    continue;
                }
                Step::Visit(id) => id,
            };
            let seen = self.visits.get(id).copied().unwrap_or(0);
            if seen == 2 {
                continue;
            }
            self.visits.insert(id, seen + 1);
            match store.expr(id) {
                Expr::Let { var, value, body } => {
                    // A let counts from zero, so it is looked at once only.
                    self.visits.insert(id, 2);
                    self.bound.insert(var, Binding { value, uses: 0, level: self.level });
                    stack.push(Step::Visit(body));
                    // A pure value is looked at when its variable turns out to be used.
                    if !self.is_pure(var) {
                        stack.push(Step::Visit(value));
                    }
                }
                Expr::Var(var) => self.use_var(var, &mut stack),
                Expr::Function(function) => {
                    self.level += 1;
                    stack.push(Step::LeaveFunction);
                    stack.push(Step::Visit(store.function(function).body));
                }
                _ => {
                    let first = stack.len();
                    for_each_child(store, id, |child| stack.push(Step::Visit(child)));
                    stack[first..].reverse();
                }
            }
        }
    }

    fn use_var(&mut self, var: VarId, stack: &mut Vec<Step>) {
        let pure = self.is_pure(var);
        let Some(bound) = self.bound.get_mut(var) else { return };
        bound.uses += 1;
        if bound.uses == 1 && pure {
            stack.push(Step::Visit(bound.value));
        }
        if bound.level < self.level {
            bound.uses += 1;
        }
    }

    /// Returns the number of uses of a variable, if a let binds it to a pure value.
    fn pure_uses(&self, var: VarId) -> Option<u32> {
        self.bound.get(var).filter(|_| self.is_pure(var)).map(|bound| bound.uses)
    }
}

struct Eliminator<'a> {
    usage: Usage<'a>,
    inline_once: bool,
}

impl ExprMutator for Eliminator<'_> {
    fn rule(&self) -> &'static str {
        "let that is not used"
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        match store.expr(id) {
            Expr::Let { var, body, .. } if self.usage.pure_uses(var) == Some(0) => Visit::Follow(body),
            _ => Visit::Descend,
        }
    }

    fn bind(&mut self, store: &mut Store, pre: ExprId, value: ExprId) -> Bound {
        match store.expr(pre) {
            Expr::Let { var, .. } if self.inline_once && self.usage.pure_uses(var) == Some(1) => {
                store.set_rule("let to its only use");
                Bound::Substitute(value)
            }
            _ => Bound::Keep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, unchanged};

    #[test]
    fn what_only_unused_values_use_goes_too() {
        check(
            "DeadCodeElimination()",
            "def @main(%x: Tensor[(4), float32]) { let %a = exp(%x); let %b = abs(%a); %x }",
            "def @main(%x: Tensor[(4), float32]) { %x }",
        );
    }

    #[test]
    fn effects_stay_unless_they_are_to_be_ignored() {
        let program = "def @main(%x: int32) { let %r = ref(%x); let %u = ref_write(%r, 2); %x }";
        unchanged("DeadCodeElimination()", program);
        check("DeadCodeElimination(ignore_impurity=True)", program, "def @main(%x: int32) { %x }");
    }

    #[test]
    fn a_value_with_one_use_is_moved_there_when_asked() {
        let program = "def @main(%x: Tensor[(4), float32]) { let %a = exp(%x); let %b = abs(%a); add(%b, %b) }";
        unchanged("DeadCodeElimination()", program);
        check(
            "DeadCodeElimination(inline_once=True)",
            program,
            "def @main(%x: Tensor[(4), float32]) { let %b = abs(exp(%x)); add(%b, %b) }",
        );
    }

    #[test]
    fn a_value_used_in_a_function_is_not_moved_into_it() {
        unchanged(
            "DeadCodeElimination(inline_once=True)",
            "def @main(%x: int32) -> fn (int32) -> int32 { let %a = negative(%x); fn (%y: int32) -> int32 { add(%y, %a) } }",
        );
    }

    #[test]
    fn an_unused_recursive_function_goes() {
        check(
            "DeadCodeElimination()",
            "def @main(%x: int32) -> int32 { let %f = fn (%i: int32) -> int32 { %f(%i) }; %x }",
            "def @main(%x: int32) -> int32 { %x }",
        );
    }
}
