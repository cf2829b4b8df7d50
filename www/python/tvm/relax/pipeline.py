"""Passes that are run one after the other, by name and by target."""

import functools

from ..ir.transform import Sequential, module_pass

_FUSE = "AnnotateTIROpPattern FoldConstant FuseOps FuseTIR"
_LOWER = "RewriteDataflowReshape ToNonDataflow RemovePurityChecking CallTIRRewrite"
_MEMORY = "LowerAllocTensor KillAfterLastUse"
_RUNTIME = "LowerRuntimeBuiltin ComputePrimValue VMShapeLower AttachGlobalSymbol"


def _passes(names):
    from . import transform

    return [getattr(transform, name)() for name in names.split()]


def _pipeline(passes, target=None):
    """One pass that runs several, for a target if there is one."""

    @module_pass(opt_level=0, name="_pipeline")
    def run(mod, ctx):
        if target is None:
            return Sequential(passes)(mod)
        with target:
            return Sequential(passes)(mod)

    return run


def zero_pipeline(*, enable_warning=False):
    """Lowers operators to tensor programs and fuses them."""
    from .transform import LegalizeOps

    return _pipeline([LegalizeOps(enable_warning=enable_warning), *_passes(_FUSE)])


def default_build_pipeline():
    """Lowers to what the virtual machine runs, without fusion."""
    return _pipeline(_passes(f"DispatchSampling DispatchSortScan LegalizeOps {_LOWER} StaticPlanBlockMemory RewriteCUDAGraph {_MEMORY} {_RUNTIME}"))


def static_shape_tuning_pipeline(total_trials, target, work_dir="tuning_logs", cpu_weight_prepack=False, max_trials_per_task=None):
    """The passes before and after tuning, which measures programs on machines: none may be tried."""
    if total_trials:
        raise NotImplementedError("nothing is tuned here: tuning measures programs on machines; total_trials=0 leaves it out")
    from ..target import Target

    after = "SplitLayoutRewritePreproc LiftTransformParams FoldConstant" if cpu_weight_prepack else ""
    before = "AttachAttrLayoutFreeBuffers" if cpu_weight_prepack else ""
    passes = [*_passes("DecomposeOpsForInference CanonicalizeBindings"), zero_pipeline(), *_passes(before), *_passes(after)]
    return _pipeline(passes, Target(target))


PIPELINE_MAP = {
    "zero": zero_pipeline,
    "default": default_build_pipeline,
    "default_build": default_build_pipeline,
    "static_shape_tuning": static_shape_tuning_pipeline,
}
"""Functions that make pipelines, by name."""


def get_pipeline(name="zero", **options):
    """The pipeline of a name."""
    if name not in PIPELINE_MAP:
        raise ValueError(f"Unknown pre-built pipeline {name},candidates are {list(PIPELINE_MAP)}")
    return PIPELINE_MAP[name](**options)


def register_pipeline(name):
    """Registers a function that makes a pipeline."""
    if name in PIPELINE_MAP:
        raise ValueError(f"Pipeline {name} has already been registered")

    def register(function):
        PIPELINE_MAP[name] = function
        return function

    return register


def _for_target(what):
    """A function of a target, which may be left out or be described by a text."""

    @functools.wraps(what)
    def function(target=None):
        from ..target import Target

        target = Target("llvm" if target is None else target)
        if target.kind.name != "llvm" and "gpu" not in target.keys:
            raise ValueError(f"Target {target} is not yet supported by the default passes. Please lower and build the IRModule manually.")
        return what(target)

    return function


@_for_target
def library_dispatch_passes(target):
    """Passes that hand operators to libraries."""
    return _passes("DispatchSampling DispatchSortScan")


@_for_target
def legalize_passes(target):
    """Passes that lower operators and fuse them; for graphics processors, with schedules."""
    passes = _passes(f"LegalizeOps {_FUSE}")
    if "gpu" in target.keys:
        from ..s_tir import dlight

        rules = (getattr(dlight.gpu, name)() for name in "Matmul GEMV Reduction GeneralReduction Fallback".split())
        passes.append(dlight.ApplyDefaultSchedule(*rules))
    return passes


@_for_target
def dataflow_lower_passes(target):
    """Passes that lower dataflow blocks."""
    return _passes(_LOWER)


@_for_target
def finalize_passes(target):
    """Passes that lower to what the virtual machine runs."""
    graphs = "RewriteCUDAGraph" if target.kind.name == "cuda" else ""
    return _passes(f"StaticPlanBlockMemory {graphs} {_MEMORY} {_RUNTIME}")


@_for_target
def get_default_pipeline(target):
    """The pipeline of a build."""
    phases = (library_dispatch_passes, legalize_passes, dataflow_lower_passes, finalize_passes)
    return _pipeline([made for phase in phases for made in phase(target)], target)
