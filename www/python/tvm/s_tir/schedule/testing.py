"""Helpers of tests of schedules."""

from ...ir.base import assert_structural_equal
from ...ir.module import IRModule
from . import Schedule


def _plain(mod):
    if not isinstance(mod, IRModule):
        mod = IRModule.from_expr(mod)
    return {"main" if len(mod) == 1 else var.name_hint: func.without_attr("global_symbol") for var, func in mod.functions.items()}


def assert_structural_equal_ignore_global_symbol(lhs, rhs, *args, **kwargs):
    """Raises ValueError unless two programs are equal, whatever their functions are called outside."""
    assert_structural_equal(IRModule(_plain(lhs)), IRModule(_plain(rhs)), *args)


def verify_trace_roundtrip(sch, mod, *, debug_mask="all", text_format=("python", "json")):
    """The schedule that the trace of another one makes of the same module; raises unless both are equal."""
    made = Schedule(mod)
    sch.trace.apply_to_schedule(made)
    assert_structural_equal(made.mod, sch.mod)
    return made
