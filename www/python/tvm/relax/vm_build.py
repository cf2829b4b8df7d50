"""Building: programs are checked and handed to the evaluator. Nothing is compiled."""

from ..ir.module import IRModule
from ..runtime.vm import Module, VMExecutable  # noqa: F401


def build(
    mod,
    target=None,
    params=None,
    relax_pipeline="default",
    tir_pipeline="default",
    exec_mode="bytecode",
    *,
    system_lib=None,
):
    """A program that can be run; the evaluator runs it as it is."""
    if not isinstance(mod, IRModule):
        mod = IRModule.from_expr(mod)
    if params:
        from .transform import BindParams

        mod = BindParams("main", params)(mod)
    return Module(mod, target)
