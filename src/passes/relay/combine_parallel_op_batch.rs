//! CombineParallelOpBatch: calls of any operator on the same data as one call with a batch in front.
//!
//! Calls of `op_name` on the same data, with arguments of the same types, become one call of `batch_op_name` over stacked
//! arguments; the calls behind each, as far as they are element-wise or broadcasting and the same in all, are combined too.
//!
//! Does nothing to fewer than `min_num_branches` calls.
//!
//! Source: `src/relay/transforms/combine_parallel_op_batch.cc`.

use super::support::combine::{Branch, Combiner, run as combine};
use super::support::combine_batch::{same_arg_type, stacked_arg, stacked_following, unstack};
use crate::diag::Diagnostic;
use crate::ir::{Dialect, ExprId, Module, Store};
use crate::ops::{self, build};
use crate::parse::suggest;
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};

/// Combines calls of an operator on the same data into one call of another over stacked arguments.
pub static SPEC: PassSpec = PassSpec {
    name: "CombineParallelOpBatch",
    info_name: "CombineParallelOpBatch",
    dialects: crate::pass::spec::RELAY,
    opt_level: 4,
    required: &["InferType"],
    params: &[
        Param { name: "op_name", default: "", doc: "The operator whose calls are combined." },
        Param { name: "batch_op_name", default: "", doc: "The operator that computes them together." },
        Param { name: "min_num_branches", default: "3", doc: "Fewer calls than this stay as they are." },
    ],
    config: &[],
    summary: "Computes calls of an operator on the same data by one call over stacked arguments.",
    doc: explained(
        "What CombineParallelDense and CombineParallelBatchMatmul do for their operators, for any: arguments are stacked along a new \
first axis, `batch_op_name` is called without attributes, as in TVM, and each result is a slice of the whole.",
    ),
    example_before: explained(
        "\
# CombineParallelOpBatch(op_name=\"add\", batch_op_name=\"add\", min_num_branches=2)
def @main(%x: Tensor[(2, 4), float32], %a: Tensor[(2, 4), float32], %b: Tensor[(2, 4), float32]) {
  %0 = add(%x, %a);
  %1 = add(%x, %b);
  (%0, %1)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(2, 4), float32], %a: Tensor[(2, 4), float32], %b: Tensor[(2, 4), float32]) -> (Tensor[(2, \
4), float32], Tensor[(2, 4), float32]) {
  %0 = (%x, %x);
  %1 = (%a, %b);
  %2 = stack(%0);
  %3 = stack(%1);
  %4 = add(%2, %3);
  %5 = split(%4, indices_or_sections=meta[runtime.BoxInt][0]);
  %6 = %5.0;
  %7 = %5.1;
  %8 = squeeze(%6, axis=[0]);
  %9 = squeeze(%7, axis=[0]);
  (%8, %9)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let mut names = [""; 2];
    for (name, argument) in names.iter_mut().zip(["op_name", "batch_op_name"]) {
        let given = arguments.str(argument).unwrap_or_default();
        *name = ops::lookup(given).map(|op| ops::info(op).name).ok_or_else(|| {
            let message = format!("{argument}: there is no operator `{given}` in Relay");
            let near = suggest::nearest(given, ops::names(Dialect::Relay)).map(|near| format!("did you mean `{near}`?"));
            let error = Diagnostic::error("pass-argument", message, None);
            vec![near.into_iter().fold(error, Diagnostic::with_note)]
        })?;
    }
    let min = usize::try_from(arguments.int("min_num_branches")).unwrap_or(0);
    combine(cx.store, function, &Batch { op: names[0], batch: names[1] }, min)
}

struct Batch {
    op: &'static str,
    batch: &'static str,
}

impl Combiner for Batch {
    fn op(&self) -> &'static str {
        self.op
    }

    fn compatible(&self, store: &mut Store, a: ExprId, b: ExprId) -> bool {
        let [n, m] = [a, b].map(|call| build::args(store, call).len());
        n == m && (0..n).all(|index| same_arg_type(store, a, b, index))
    }

    fn arg_compatible(&self, store: &Store, _: ExprId, a: ExprId, b: ExprId, index: usize) -> bool {
        same_arg_type(store, a, b, index)
    }

    fn combine(&self, store: &mut Store, branches: &[Branch]) -> Option<ExprId> {
        let count = build::args(store, branches[0][0]).len();
        let args: Vec<ExprId> = (0..count).map(|index| stacked_arg(store, branches, 0, index)).collect();
        Some(build::call(store, self.batch, &args))
    }

    fn combine_arg(&self, store: &mut Store, branches: &[Branch], depth: usize, index: usize, _: usize) -> Option<ExprId> {
        Some(stacked_following(store, branches, depth, index))
    }

    fn parts(&self, store: &mut Store, data: ExprId, branches: &[Branch], _: usize) -> Option<Vec<ExprId>> {
        Some(unstack(store, data, branches.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, data, failure, run, unchanged, values};
    use crate::ir::{DType, Store};

    const CALL: &str = "CombineParallelOpBatch(\"multiply\", \"multiply\", 2)";

    #[test]
    fn the_calls_behind_are_combined_and_values_stay() {
        let store = &mut Store::new();
        let program = "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32], %b: Tensor[(3), float32]) {
            %0 = add(multiply(%x, %x), %b);
            %1 = add(multiply(%x, %y), %b);
            (%0, %1)
        }";
        let module = testing::read(store, program);
        let inputs = [data(DType::F32, &[2, 3]), data(DType::F32, &[2, 3]), data(DType::F32, &[3])];
        let before = values(store, &module, &inputs);
        let trace = run(store, module, CALL);
        let after = trace.last().clone();
        let text = testing::show(store, &after);
        assert_eq!((text.matches("multiply(").count(), text.matches("= add(").count()), (1, 1), "{text}");
        assert_eq!(values(store, &after, &inputs), before);
    }

    #[test]
    fn arguments_of_other_types_stay() {
        unchanged(
            CALL,
            "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) { (multiply(%x, %x), multiply(%x, %y)) }",
        );
    }

    #[test]
    fn an_operator_that_is_not_there_is_refused() {
        let said = failure("CombineParallelOpBatch(\"add\", \"nn.bias_ad\")", "def @main() { 1 }");
        assert_eq!(said, "batch_op_name: there is no operator `nn.bias_ad` in Relay");
    }
}
