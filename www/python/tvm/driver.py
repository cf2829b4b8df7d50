"""Building: programs are handed to the evaluator. Nothing is compiled."""

from .ir.module import IRModule
from .runtime.vm import Module


def compile(mod, target=None, *, relax_pipeline="default", tir_pipeline="default"):  # noqa: A001
    """A program that can be run; the evaluator runs it as it is."""
    if not isinstance(mod, IRModule):
        mod = IRModule.from_expr(mod)
    return Module(mod, target)


def build(mod, target=None, pipeline="default"):
    """A program that can be run; the evaluator runs it as it is."""
    return compile(mod, target)
