"""Walks over scalars and statements, by the name that they had before."""

from .functor import ir_transform, post_order_visit, pre_order_visit, substitute  # noqa: F401


def renew_defs(func):
    """A function with variables and buffers of its own."""
    from ..script.parser import read

    return read(func.script(), {})
