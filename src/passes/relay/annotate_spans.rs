//! AnnotateSpans: gives every expression its place in the program's text.
//!
//! TVM prints the program and parses it again, so that errors can point into programs that were built by other
//! programs. Here every node keeps the place that it came from anyway, so the only visible effect is that the program
//! has types.
//!
//! Source: `AnnotateSpans` in `src/relay/parser/parser.cc`.

use crate::infer::infer_module;
use crate::pass::{PassSpec, Run, explained};

/// Keeps the program, because every expression has its place already, and infers its types.
pub static SPEC: PassSpec = PassSpec {
    name: "AnnotateSpans",
    info_name: "AnnotateSpans",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Notes for every expression where it stands in the text.",
    doc: explained(
        "TVM prints the program, reads it again and so has a place for every expression, with its type. Places are not printed; \
passlab shows them when an expression is followed.",
    ),
    example_before: explained("def @main(%x: int32) {\n  add(%x, 1)\n}\n"),
    example_after: explained("def @main(%x: int32) -> int32 {\n  add(%x, 1)\n}\n"),
    run: Run::Module(|cx, module, _| infer_module(cx.store, module)),
};
