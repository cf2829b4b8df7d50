//! InferType: infers the type of every expression.

use crate::infer::infer_module;
use crate::pass::{PassSpec, Run, explained};

/// TVM's `transform.InferType`.
pub static SPEC: PassSpec = PassSpec {
    name: "InferType",
    info_name: "InferType",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Finds the type of every expression and checks that they fit.",
    doc: explained(
        "Notes for each function which types must be equal and which relations its operators demand, solves \
          that, and writes the result into the program: a type on every expression, and the annotations of variables and \
          the result types of functions that were not written. Weights and other inputs may get their types from the \
          operators that use them.\n\n\
          A call of a global function sees only what that function is annotated with: a helper without a result \
          type says nothing about its callers, and is often the reason when a type cannot be found.\n\n\
          TVM's pass manager runs it after every function pass. A program that is typed already stays the same.",
    ),
    example_before: explained("def @main(%x: Tensor[(1, 8), float32], %w) {\n  nn.dense(%x, %w, units=4)\n}\n"),
    example_after: explained(
        "def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) -> Tensor[(1, 4), float32] {\n  \
                    nn.dense(%x, %w, units=4)\n}\n",
    ),
    run: Run::Module(|cx, module, _| infer_module(cx.store, module)),
};
