"""Passes of a build of tensor programs that have blocks."""

from ..tirx.compilation_pipeline import finalize_device_passes, finalize_host_passes, is_set, passes_of, three_parts


def default_s_tir_pipeline():
    """Passes over programs with blocks, and what follows on the host and on devices."""
    return three_parts(_passes)


def _passes():
    from . import transform as s
    from ..tirx import transform as t

    def wanted(key, pass_):
        return [pass_()] if is_set(key, "tirx") else []

    def unless(key, pass_):
        return [] if is_set(key, "tirx") else [pass_()]

    return [
        *passes_of(s, "CanonicalizeLoop LowerCrossThreadReduction LowerInitBlock PlanAndUpdateBufferAllocationLocation ConvertBlocksToOpaque"),
        *passes_of(s, "LiftThreadBinding ManifestSharedMemoryLocalStage CompactBufferAllocation LowerAutoCopy UnifyThreadBinding LowerMatchBuffer"),
        *passes_of(s, "StmtSimplify InjectPermutedLayout AnnotateIrregularLoop InjectSoftwarePipeline TransformMmaBufferLayout LowerOpaqueBlock"),
        *passes_of(t, "FlattenBuffer BF16ComputeLegalize"),
        t.NarrowDataType(32),
        s.LoopPartition(),
        t.VectorizeLoop(not is_set("disable_vectorize", "tirx")),
        *passes_of(s, "InjectVirtualThread InjectDoubleBuffer"),
        *unless("disable_storage_rewrite", t.StorageRewrite),
        *wanted("use_async_copy", s.LowerAsyncDMA),
        s.HoistIfThenElse(),
        t.UnrollLoop(),
        s.RenormalizeSplitPattern(),
        *passes_of(t, "StmtSimplify RemoveNoOp"),
        s.RewriteUnsafeSelect(),
        *wanted("instrument_bound_checkers", s.InstrumentBoundCheckers),
        *wanted("s_tir.ldg32", lambda: s.InjectPTXLDG32(True)),
        *unless("disable_cse_tir", t.CommonSubexprElim),
        *wanted("instrument_lwp", s.InstrumentProfileIntrinsics),
        t.FP8ComputeLegalize(),
        *passes_of(s, "VerifyVTCMLimit LowerVtcmAlloc"),
        *passes_of(t, "VerifyMemory AnnotateEntryFunc"),
        *[s.ThreadSync(scope) for scope in ("shared", "shared.dyn", "warp")],
        *passes_of(s, "InferFragment LowerThreadAllreduce"),
        *wanted("use_async_copy", s.InjectPTXAsyncCopy),
        *wanted("s_tir.ldg32", s.InjectPTXLDG32),
        s.MergeSharedMemoryAllocations(),
        *passes_of(t, "SplitHostDevice MakePackedAPI FP8StorageLegalize BF16StorageLegalize"),
    ]
