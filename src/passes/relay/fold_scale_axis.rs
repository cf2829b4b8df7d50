//! FoldScaleAxis: folds scales into weights in both directions, then folds the constants.
//!
//! Source: `src/relay/transforms/fold_scale_axis.cc`.

use crate::pass::{Part, PassSpec, Run, explained};

/// Runs BackwardFoldScaleAxis, ForwardFoldScaleAxis and FoldConstant.
pub static SPEC: PassSpec = PassSpec {
    name: "FoldScaleAxis",
    info_name: "FoldScaleAxis",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "BackwardFoldScaleAxis, ForwardFoldScaleAxis and FoldConstant in a row.",
    doc: explained(
        "A `Sequential` of three passes. Each has an opt level of its own, so below level 3 only FoldConstant \
runs, and below level 2 nothing.",
    ),
    example_before: "",
    example_after: "",
    run: Run::Sequential(|_| ["BackwardFoldScaleAxis()", "ForwardFoldScaleAxis()", "FoldConstant()"].map(Part::call).to_vec()),
};
