//! Named lists of passes.

use super::ALL;

/// A named list of passes.
pub struct Pipeline {
    /// Name on the command line and in links.
    pub name: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// The opt level it is meant for.
    pub opt_level: i64,
    /// The calls in order, as TVM has them.
    passes: &'static [&'static str],
}

/// The passes of `relay.build` for one target without tuning, parameters bound
/// (`src/relay/backend/utils.cc` `GetPassPrefix`, `build_module.cc` `OptimizeImpl`).
const RELAY_BUILD: &[&str] = &[
    "RemoveUnusedFunctions",
    "ToBasicBlockNormalForm",
    "qnn.Legalize",
    "Legalize",
    "SimplifyInference",
    "EliminateCommonSubexpr",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "CombineParallelBatchMatmul",
    "FoldConstant",
    "FoldScaleAxis",
    "SimplifyExpr",
    "CanonicalizeCast",
    "CanonicalizeOps",
    "FlattenAtrousConv",
    "InferType",
    "AlterOpLayout",
    "SimplifyExprPostAlterOp",
    "FastMath",
    "FoldConstant",
    "SplitArgs(max_function_args=0)",
    "PlanDevices",
    "FuseOps",
];

/// Every named list.
pub static PIPELINES: &[Pipeline] = &[
    Pipeline { name: "relay.build.O0", title: "relay.build at O0", opt_level: 0, passes: RELAY_BUILD },
    Pipeline { name: "relay.build.O1", title: "relay.build at O1", opt_level: 1, passes: RELAY_BUILD },
    Pipeline { name: "relay.build", title: "relay.build at O2 (its default)", opt_level: 2, passes: RELAY_BUILD },
    Pipeline { name: "relay.build.O3", title: "relay.build at O3", opt_level: 3, passes: RELAY_BUILD },
    Pipeline { name: "relay.build.O4", title: "relay.build at O4", opt_level: 4, passes: RELAY_BUILD },
    Pipeline {
        name: "fold-and-fuse",
        title: "Fold and fuse",
        opt_level: 2,
        passes: &["SimplifyInference", "FoldConstant", "FuseOps"],
    },
    Pipeline {
        name: "clean-up",
        title: "Clean up",
        opt_level: 3,
        passes: &["InferType", "DeadCodeElimination", "EliminateCommonSubexpr", "FoldConstant", "RemoveUnusedFunctions"],
    },
    Pipeline {
        name: "normal-forms",
        title: "A-normal form and back",
        opt_level: 2,
        passes: &["ToANormalForm", "InferType", "ToGraphNormalForm"],
    },
];

/// The pipeline of that name.
pub fn pipeline(name: &str) -> Option<&'static Pipeline> {
    PIPELINES.iter().find(|p| p.name == name)
}

impl Pipeline {
    /// The calls that can be run, in order.
    pub fn calls(&self) -> Vec<&'static str> {
        self.passes.iter().copied().filter(|call| is_available(call)).collect()
    }

    /// The passes that TVM runs here and passlab does not have yet, each once.
    pub fn missing(&self) -> Vec<&'static str> {
        self.passes.iter().copied().filter(|call| !is_available(call)).collect()
    }
}

fn is_available(call: &str) -> bool {
    let name = call.split('(').next().unwrap_or(call);
    ALL.iter().any(|p| p.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipelines_have_distinct_names_and_something_to_run() {
        for (i, pipeline) in PIPELINES.iter().enumerate() {
            assert!(!pipeline.calls().is_empty(), "{}", pipeline.name);
            assert!(PIPELINES[..i].iter().all(|p| p.name != pipeline.name), "{} twice", pipeline.name);
        }
    }
}
