//! CapturePostDfsIndexInSpans: every expression says which number it has in post order, and which its dominator has.
//!
//! TVM puts both in the place of the expression in the source, for debugging of patterns. Places are not printed, and here
//! they stay what they are, so nothing is to be seen of it.
//!
//! Source: `src/relay/transforms/capture_postdfsindex_in_spans.cc`.

use crate::pass::{PassSpec, Run};

/// The pass.
pub static SPEC: PassSpec = PassSpec {
    name: "CapturePostDfsIndexInSpans",
    info_name: "CapturePostDfsIndexInSpans",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Numbers expressions in post order, for debugging.",
    doc: "TVM writes the number of each expression, and that of the expression that dominates it, where its place in the source \
would stand. Neither is printed. In passlab expressions keep their places.",
    example_before: "def @main(%x: int32) {\n  add(%x, 1)\n}\n",
    example_after: "def @main(%x: int32) -> int32 {\n  add(%x, 1)\n}\n",
    run: Run::Function(|_, _, function, _| Ok(function)),
};
