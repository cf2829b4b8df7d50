"""Passes of a build of tensor programs, by name."""

from ..ir.transform import PassContext, Sequential, module_pass


def passes_of(module, names):
    """Passes of a module by their names."""
    return [getattr(module, name)() for name in names.split()]


def is_set(key, prefix="tir"):
    """True if an option of the context is set."""
    return bool(PassContext.current().config.get(f"{prefix}.{key}", False))


def three_parts(passes):
    """A pipeline whose passes a function gives, and what follows it on the host and on devices."""

    @module_pass(opt_level=0, name="_pipeline")
    def run(mod, ctx):
        return Sequential(passes())(mod)

    return run, finalize_host_passes, finalize_device_passes


def default_tir_pipeline():
    """Passes over programs without blocks."""

    def passes():
        from . import transform as t
        from ..s_tir import transform as s

        return [
            t.LowerInitBlock(),
            s.UnifyThreadBinding(),
            *passes_of(t, "StmtSimplify FlattenBuffer BF16ComputeLegalize"),
            t.NarrowDataType(32),
            t.VectorizeLoop(not is_set("disable_vectorize")),
            *passes_of(t, "UnrollLoop StmtSimplify"),
            *passes_of(t, "" if is_set("disable_cse_tir") else "CommonSubexprElim"),
            *passes_of(t, "FP8ComputeLegalize VerifyMemory AnnotateEntryFunc SplitHostDevice MakePackedAPI FP8StorageLegalize BF16StorageLegalize"),
        ]

    return three_parts(passes)


def finalize_host_passes():
    """Passes over what runs on the host."""
    from . import transform

    return Sequential(passes_of(transform, "LowerTVMBuiltin LowerIntrin"))


def finalize_device_passes():
    """Passes over what runs on a device."""
    from . import transform

    return Sequential(passes_of(transform, "LowerWarpMemory StmtSimplify LowerIntrin"))


def _s_tir():
    from ..s_tir.pipeline import default_s_tir_pipeline

    return default_s_tir_pipeline()


PIPELINE_MAP = {"default": default_tir_pipeline, "s_tir": _s_tir}
"""Functions that make pipelines, by name."""


def register_tir_pipeline(name, pipeline_factory):
    """Registers a function that makes a pipeline."""
    PIPELINE_MAP[name] = pipeline_factory


def get_tir_pipeline(name=None, **options):
    """The pipeline of a name, and what follows it on the host and on devices."""
    name = "s_tir" if name == "default" else name
    if name not in PIPELINE_MAP:
        raise ValueError(f"Unknown pre-built pipeline {name}, candidates are {list(PIPELINE_MAP)}")
    return PIPELINE_MAP[name](**options)


def get_default_tir_pipeline(target):
    """The pipeline for a target: the same for all."""
    return get_tir_pipeline("s_tir")
