"""Changes of a function that go with changes of its parameters."""

from . import bsr_conv2d, bsr_dense, simplify_fc_transpose  # noqa: F401


def _run(func, pass_):
    from ...ir.module import IRModule

    return pass_(IRModule.from_expr(func))["main"]
