"""Classes that all nodes share, under the names of TVM 0.19."""

from ..ir.base import Node as RelayNode  # noqa: F401
from ..ir.base import SequentialSpan, SourceName, Span  # noqa: F401


def astext(expr, unused_show_meta_data=True, annotate=None):
    """The text of a program."""
    return expr.astext(unused_show_meta_data, annotate)


def pretty_print(obj):
    """The text of a program, without metadata."""
    return obj.astext(False)
