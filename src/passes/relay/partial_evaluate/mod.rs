//! PartialEvaluate: evaluates the known parts of the program.
//!
//! An interpreter of partially known values ([`value`]) evaluates every global function with unknown parameters
//! ([`machine`]). Calls of known functions are expanded, operators on constants are evaluated ([`apply`]), and unknown
//! values become bindings of the new program ([`residual`]). References are tracked: a branch that may or may not run
//! works on a copy of their contents, and after unknown code their contents are unknown. Inside of its own expansion a
//! function is expanded only with an older argument or a smaller natural number ([`value::Fuel`]), so the pass ends.
//! DeadCodeElimination should follow, since many unused bindings are left.
//!
//! TVM copies a function before each expansion and marks its copies with a number (`annotation.with_funcid`); here each
//! expansion has an environment of its own and nothing is copied, so that the literal itself is that number, and no
//! variable needs to be renamed afterwards (`PostProcess`). Names are counted from `x_0` in each run, and in TVM over
//! the whole process; names that TVM's interpreter takes for a call of an operator are skipped here too, except where
//! it first expands the operator (`qnn` and those that SimplifyInference replaces), for which it takes more.
//!
//! As in TVM, and against the semantics: the known contents of a reference outlive a call that is left in the program
//! for lack of fuel, even if the function writes to it; and a function literal that is met again inside of its own
//! expansion, without fuel left, becomes a function that only calls itself, and a warning says so.
//!
//! As in TVM, too: a primitive function literal that is called twice with unknown arguments in one expansion of what is
//! around it is an error, because the result has it twice; and so is a primitive global function, whose parameters the
//! result would bind twice.
//!
//! Known divergences. TVM stops where a pattern has bound a variable before it turns out to be undecided (`Cons(%x,
//! Nil)` on a list with an unknown tail), and where an operator that is not stateful gets a function or a reference;
//! here the match and the call stay. A call of an operator on constants that cannot be evaluated here stays, with a
//! warning. An evaluation with too many steps is an error, where TVM continues as long as there is memory.
//!
//! Source: `src/relay/transforms/partial_eval.cc`, `let_list.h`, `de_duplicate.cc`, `src/relay/analysis/feature.cc`.

mod apply;
mod machine;
mod residual;
#[cfg(test)]
mod tests;
mod value;

use super::support::feature::holds_no_graph;
use crate::ir::Module;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use machine::Evaluator;

/// Evaluates each function with unknown parameters and replaces it by the rest.
pub static SPEC: PassSpec = PassSpec {
    name: "PartialEvaluate",
    info_name: "PartialEval",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[],
    config: &[],
    summary: "Runs what is known of the program before it runs.",
    doc: explained(
        "Functions, data types, references and branches are evaluated as far as they depend on nothing unknown: calls of known \
functions are expanded, operators on constants are run, a `match` or `if` on a known value becomes the arm that it takes, and \
a reference that was written before is not read. What remains is bound by `let`, in order; a recursive function is expanded for \
as long as an argument shrinks.\n\n\
The program may share nothing but names and constants: run *ToANormalForm* first. Much of the result is not used; \
*DeadCodeElimination* after *InferType* tidies up.",
    ),
    example_before: explained(
        "\
def @main(%x: float32) -> float32 {
  let %twice = fn (%f: fn (float32) -> float32) -> float32 { %f(%f(%x)) };
  %twice(fn (%y: float32) -> float32 { multiply(%y, %y) })
}
",
    ),
    example_after: explained(
        "\
def @main(%x: float32) -> float32 {
  let %twice: fn (fn (float32) -> float32) -> float32 = fn (%f: fn (float32) -> float32) -> float32 {
    let %x_0 = %f(%x);
    let %x_1 = %f(%x_0);
    %x_1
  };
  let %x_2 = fn (%y: float32) -> float32 {
    let %x_3 = multiply(%y, %y);
    %x_3
  };
  let %x_4 = multiply(%x, %x);
  let %x_5 = multiply(%x_4, %x_4);
  %x_5
}
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let size = holds_no_graph(cx.store, module, "relay-partial-evaluate")?;
    let mut evaluator = Evaluator::new(cx.store, module, size);
    for (name, function) in module.functions() {
        evaluator.visit_global(*name, *function)?;
    }
    let done = std::mem::take(&mut evaluator.done);
    cx.diagnostics.extend(std::mem::take(&mut evaluator.warnings));
    let mut result = module.clone();
    for (name, function) in module.functions() {
        let new = done.get(name).copied().unwrap_or(*function);
        result.set_function(*name, cx.store.rewrite("evaluated in part", *function, *function, |_| new));
    }
    holds_no_graph(cx.store, &result, "relay-partial-evaluate")?;
    Ok(result)
}
