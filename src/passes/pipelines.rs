//! Named lists of passes.

use super::ALL;
use crate::ir::Dialect;

/// A named list of passes.
pub struct Pipeline {
    /// Name on the command line and in links.
    pub name: &'static str,
    /// A description in a few words.
    pub title: &'static str,
    /// The dialect of its programs.
    pub dialect: Dialect,
    /// The opt level that it is meant for.
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
    "InferType",
    "Inline",
    "InferType",
    "LabelOps",
    "AnnotateMemoryScope",
];

/// The passes of `relay.vm.compile` for one target, parameters bound (`src/relay/backend/utils.cc` `GetPassPrefix`,
/// `src/relay/backend/vm/compiler.cc` `OptimizeModuleImpl`, `MemoryOpt`, `FuseAndLowerOperators`). LowerTE, which makes
/// functions of TIR of kernels, comes behind each LabelOps in TVM; it stands here once.
const RELAY_VM: &[&str] = &[
    "RemoveUnusedFunctions",
    "ToBasicBlockNormalForm",
    "qnn.Legalize",
    "Legalize",
    "SimplifyInference",
    "EtaExpand(expand_constructor=True)",
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
    "AlterOpLayout",
    "SimplifyExprPostAlterOp",
    "FastMath",
    "FoldConstant",
    "PlanDevices",
    "SplitArgs(max_function_args=0)",
    "FuseOps",
    "AnnotateMemoryScope",
    "ToANormalForm",
    "InferType",
    "LambdaLift",
    "DeadCodeElimination",
    "LabelOps",
    "LowerTE",
    "DeadCodeElimination",
    "Inline",
    "RemoveUnusedFunctions",
    "ManifestAlloc",
    "FoldConstant",
    "FuseOps",
    "LabelOps",
    "DeadCodeElimination",
    "ManifestAlloc",
    "FuseOps",
    "LabelOps",
    "DeadCodeElimination",
    "FoldConstant",
    "FuseOps",
    "LabelOps",
    "DeadCodeElimination",
    "ManifestAlloc",
    "FoldConstant",
    "ManifestLifetimes",
    "InferType",
];

/// The passes of `relay.quantize.quantize`, with parameters bound before (`python/tvm/relay/quantize/quantize.py`).
const RELAY_QUANTIZE: &[&str] = &[
    "SimplifyInference",
    "FoldConstant",
    "FoldScaleAxis",
    "CanonicalizeOps",
    "FoldConstant",
    "QuantizePartition",
    "QuantizeAnnotate",
    "QuantizeCalibrate",
    "InferType",
    "QuantizeRealize",
    "FoldConstant",
];

/// The passes before code generation for the virtual machine (`python/tvm/relax/pipeline.py` `default_build_pipeline`;
/// the list of `zero` is from there too).
const DEFAULT_BUILD: &[&str] = &[
    "DispatchSampling",
    "DispatchSortScan",
    "LegalizeOps",
    "RewriteDataflowReshape",
    "ToNonDataflow",
    "RemovePurityChecking",
    "CallTIRRewrite",
    "StaticPlanBlockMemory",
    "RewriteCUDAGraph",
    "LowerAllocTensor",
    "KillAfterLastUse",
    "LowerRuntimeBuiltin",
    "ComputePrimValue",
    "VMShapeLower",
    "AttachGlobalSymbol",
];

/// The passes of `tvm.tirx.build` (`python/tvm/tirx/compilation_pipeline.py` `default_tir_pipeline`), without those
/// that only instrument kernels of CUDA. Functions must have targets: BindTarget runs before.
const TIRX_DEFAULT: &[&str] = &[
    "s_tir.LowerInitBlock",
    "s_tir.UnifyThreadBinding",
    "tirx.StmtSimplify",
    "tirx.FlattenBuffer",
    "tirx.BF16ComputeLegalize",
    "tirx.NarrowDataType(target_bits=32)",
    "tirx.VectorizeLoop",
    "tirx.UnrollLoop",
    "tirx.StmtSimplify",
    "tirx.CommonSubexprElim",
    "tirx.FP8ComputeLegalize",
    "tirx.VerifyMemory",
    "tirx.AnnotateEntryFunc",
    "tirx.SplitHostDevice",
    "tirx.MakePackedAPI",
    "tirx.FP8StorageLegalize",
    "tirx.BF16StorageLegalize",
];

/// The passes before code generation for TIR (`python/tvm/s_tir/pipeline.py` `default_s_tir_pipeline` with
/// `finalize_host_passes`), bound to a plain CPU as `tvm.compile` does first.
const S_TIR_DEFAULT: &[&str] = &[
    "tirx.BindTarget({\"kind\": \"llvm\", \"host\": \"llvm\"})",
    "s_tir.CanonicalizeLoop",
    "s_tir.LowerCrossThreadReduction",
    "s_tir.LowerInitBlock",
    "s_tir.PlanAndUpdateBufferAllocationLocation",
    "s_tir.ConvertBlocksToOpaque",
    "s_tir.LiftThreadBinding",
    "s_tir.ManifestSharedMemoryLocalStage",
    "s_tir.CompactBufferAllocation",
    "s_tir.LowerAutoCopy",
    "s_tir.UnifyThreadBinding",
    "s_tir.LowerMatchBuffer",
    "tirx.StmtSimplify",
    "s_tir.InjectPermutedLayout",
    "s_tir.AnnotateIrregularLoop",
    "s_tir.InjectSoftwarePipeline",
    "s_tir.TransformMmaBufferLayout",
    "s_tir.LowerOpaqueBlock",
    "tirx.FlattenBuffer",
    "tirx.BF16ComputeLegalize",
    "tirx.NarrowDataType(32)",
    "s_tir.LoopPartition",
    "tirx.VectorizeLoop(True)",
    "s_tir.InjectVirtualThread",
    "s_tir.InjectDoubleBuffer",
    "tirx.StorageRewrite",
    "s_tir.HoistIfThenElse",
    "tirx.UnrollLoop",
    "s_tir.RenormalizeSplitPattern",
    "tirx.StmtSimplify",
    "tirx.RemoveNoOp",
    "s_tir.RewriteUnsafeSelect",
    "tirx.CommonSubexprElim",
    "tirx.FP8ComputeLegalize",
    "s_tir.VerifyVTCMLimit",
    "s_tir.LowerVtcmAlloc",
    "tirx.VerifyMemory",
    "tirx.AnnotateEntryFunc",
    "s_tir.ThreadSync(\"shared\")",
    "s_tir.ThreadSync(\"shared.dyn\")",
    "s_tir.ThreadSync(\"warp\")",
    "s_tir.InferFragment",
    "s_tir.LowerThreadAllreduce",
    "s_tir.MergeSharedMemoryAllocations",
    "tirx.SplitHostDevice",
    "tirx.MakePackedAPI",
    "tirx.FP8StorageLegalize",
    "tirx.BF16StorageLegalize",
    "tirx.LowerTVMBuiltin",
    "tirx.LowerIntrin",
];

/// From operators to loops over flat memory: the `zero` pipeline, and the part of [`S_TIR_DEFAULT`] that a CPU needs
/// before functions get the interface of the runtime.
const FLAT_LOOPS: &[&str] = &[
    "LegalizeOps",
    "AnnotateTIROpPattern",
    "FoldConstant",
    "FuseOps",
    "FuseTIR",
    "s_tir.LowerInitBlock",
    "s_tir.PlanAndUpdateBufferAllocationLocation",
    "s_tir.ConvertBlocksToOpaque",
    "s_tir.CompactBufferAllocation",
    "s_tir.LowerMatchBuffer",
    "tirx.StmtSimplify",
    "s_tir.LowerOpaqueBlock",
    "tirx.FlattenBuffer",
    "tirx.NarrowDataType(32)",
    "s_tir.LoopPartition",
    "tirx.VectorizeLoop(True)",
    "tirx.StorageRewrite",
    "tirx.UnrollLoop",
    "tirx.StmtSimplify",
    "tirx.RemoveNoOp",
    "tirx.CommonSubexprElim",
];

/// All named lists.
pub static PIPELINES: &[Pipeline] = &[
    Pipeline { name: "relay.build.O0", title: "relay.build at O0", dialect: Dialect::Relay, opt_level: 0, passes: RELAY_BUILD },
    Pipeline { name: "relay.build.O1", title: "relay.build at O1", dialect: Dialect::Relay, opt_level: 1, passes: RELAY_BUILD },
    Pipeline {
        name: "relay.build",
        title: "relay.build at O2 (its default)",
        dialect: Dialect::Relay,
        opt_level: 2,
        passes: RELAY_BUILD,
    },
    Pipeline { name: "relay.build.O3", title: "relay.build at O3", dialect: Dialect::Relay, opt_level: 3, passes: RELAY_BUILD },
    Pipeline { name: "relay.build.O4", title: "relay.build at O4", dialect: Dialect::Relay, opt_level: 4, passes: RELAY_BUILD },
    Pipeline {
        name: "relay.vm",
        title: "relay.vm.compile at O2 (its default)",
        dialect: Dialect::Relay,
        opt_level: 2,
        passes: RELAY_VM,
    },
    Pipeline {
        name: "relay.quantize",
        title: "relay.quantize, with a global scale",
        dialect: Dialect::Relay,
        opt_level: 3,
        passes: RELAY_QUANTIZE,
    },
    Pipeline {
        name: "fold-and-fuse",
        title: "Fold and fuse",
        dialect: Dialect::Relay,
        opt_level: 2,
        passes: &["SimplifyInference", "FoldConstant", "FuseOps"],
    },
    Pipeline {
        name: "clean-up",
        title: "Clean up",
        dialect: Dialect::Relay,
        opt_level: 3,
        passes: &["InferType", "DeadCodeElimination", "EliminateCommonSubexpr", "FoldConstant", "RemoveUnusedFunctions"],
    },
    Pipeline {
        name: "normal-forms",
        title: "A-normal form and back",
        dialect: Dialect::Relay,
        opt_level: 2,
        passes: &["ToANormalForm", "InferType", "ToGraphNormalForm"],
    },
    Pipeline {
        name: "relax.zero",
        title: "relax zero pipeline",
        dialect: Dialect::Relax,
        opt_level: 2,
        passes: &["LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR"],
    },
    Pipeline {
        name: "relax.default_build",
        title: "relax default_build",
        dialect: Dialect::Relax,
        opt_level: 2,
        passes: DEFAULT_BUILD,
    },
    Pipeline {
        name: "relax.flat_loops",
        title: "From a model to flat loops",
        dialect: Dialect::Relax,
        opt_level: 2,
        passes: FLAT_LOOPS,
    },
    Pipeline {
        name: "s_tir.default",
        title: "s_tir default pipeline, for llvm",
        dialect: Dialect::Relax,
        opt_level: 2,
        passes: S_TIR_DEFAULT,
    },
    Pipeline {
        name: "tirx.default",
        title: "tirx default pipeline",
        dialect: Dialect::Relax,
        opt_level: 2,
        passes: TIRX_DEFAULT,
    },
];

/// Returns the pipeline of that name.
pub fn pipeline(name: &str) -> Option<&'static Pipeline> {
    PIPELINES.iter().find(|p| p.name == name)
}

impl Pipeline {
    /// Returns the calls that can be run, in order.
    pub fn calls(&self) -> Vec<&'static str> {
        self.passes.iter().copied().filter(|call| self.has(call)).collect()
    }

    /// Returns the passes that TVM runs here and passlab does not have yet, each once.
    pub fn missing(&self) -> Vec<&'static str> {
        self.passes.iter().copied().filter(|call| !self.has(call)).collect()
    }

    /// True if there is a pass of that name for its dialect.
    fn has(&self, call: &str) -> bool {
        let name = call.split('(').next().unwrap_or(call);
        ALL.iter().any(|pass| pass.name == name && pass.works_on(self.dialect))
    }
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

    #[test]
    fn a_pass_of_the_other_dialect_is_missing_all_the_same() {
        let zero = pipeline("relax.zero").expect("it is there");
        assert!(zero.calls().contains(&"FuseOps"));
        let build = pipeline("relax.default_build").expect("it is there");
        assert!(build.missing().is_empty() && build.calls().contains(&"DispatchSampling"));
        let relay = pipeline("relay.build").expect("it is there");
        assert!(relay.missing().is_empty() && relay.calls().contains(&"FuseOps"));
        assert_eq!(relay.calls().len(), RELAY_BUILD.len());
        // It is a compiler of its own.
        assert_eq!(pipeline("relay.vm").expect("it is there").missing(), ["LowerTE"]);
    }
}
