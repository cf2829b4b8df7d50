"""Passes over tensor programs that can be scheduled."""

import sys

from ..tirx._pass_config import CONFIGS
from ..tirx.transform import HoistedConditionals, HoistedLetBindings, fill

fill(sys.modules[__name__], "s_tir")
LoopPartitionConfig, InjectDoubleBufferConfig = CONFIGS["s_tir.LoopPartition"], CONFIGS["s_tir.InjectDoubleBuffer"]
HoistIfThenElseConfig, HoistExpressionConfig = CONFIGS["s_tir.HoistIfThenElse"], CONFIGS["s_tir.HoistExpression"]
_default_gpu_schedule = globals()["DefaultGPUSchedule"]


def DefaultGPUSchedule():  # noqa: N802
    """A pass that gives loops threads. Programs without a target are for that of the innermost `with`."""
    from ..ir.transform import PassInfo, PyModulePass
    from ..target import Target
    from ..tirx.function import PrimFunc

    def apply(mod, ctx):
        target = Target.current()
        given = mod.clone()
        lent = [] if target is None else [var for var, func in mod.functions.items() if isinstance(func, PrimFunc) and "target" not in (func.attrs or {})]
        described = target and {"kind": target.kind.name, **target.attrs}
        for var in lent:
            given[var] = mod[var].with_attr("target", described)
        made = _default_gpu_schedule()(given)
        for var in lent:
            made[var.name_hint] = made[var.name_hint].without_attr("target")
        return made

    return PyModulePass(apply, PassInfo(0, "DefaultGPUSchedule"))
