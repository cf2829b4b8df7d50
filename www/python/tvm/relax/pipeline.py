"""Passes that are run one after the other, by name."""

from .. import ir

_pipelines = {}


def _of(names):
    def make(**options):
        from . import transform

        return ir.transform.Sequential([getattr(transform, name)() for name in names])

    return make


for _name, _passes in {
    "zero": ["LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR"],
    "default": [
        "LegalizeOps",
        "RewriteDataflowReshape",
        "ToNonDataflow",
        "RemovePurityChecking",
        "CallTIRRewrite",
    ],
    "default_build": [
        "LegalizeOps",
        "RewriteDataflowReshape",
        "ToNonDataflow",
        "RemovePurityChecking",
        "CallTIRRewrite",
        "StaticPlanBlockMemory",
        "LowerAllocTensor",
        "KillAfterLastUse",
        "LowerRuntimeBuiltin",
        "ComputePrimValue",
        "VMShapeLower",
        "AttachGlobalSymbol",
    ],
}.items():
    _pipelines[_name] = _of(_passes)


def _phase(*names):
    def make(target=None):
        from . import transform

        return [getattr(transform, name)() for name in names]

    return make


library_dispatch_passes = _phase()
legalize_passes = _phase("LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR")
dataflow_lower_passes = _phase("RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite")
finalize_passes = _phase(
    "StaticPlanBlockMemory",
    "LowerAllocTensor",
    "KillAfterLastUse",
    "LowerRuntimeBuiltin",
    "ComputePrimValue",
    "VMShapeLower",
    "AttachGlobalSymbol",
)


def get_pipeline(name="zero", **options):
    """The pipeline of a name."""
    if name not in _pipelines:
        raise ValueError(f"Unknown pre-built pipeline {name}, candidates are {list(_pipelines)}")
    return _pipelines[name](**options)


def register_pipeline(name):
    """Registers a function that makes a pipeline."""
    if name in _pipelines:
        raise ValueError(f"Pipeline {name} has already been registered")

    def register(function):
        _pipelines[name] = function
        return function

    return register


def get_default_pipeline(target=None):
    """The pipeline of a build."""
    return get_pipeline("default_build")
