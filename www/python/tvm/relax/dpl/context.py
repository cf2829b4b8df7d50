"""Patterns that use one another."""

from ..._codes import Dpl
from ..._node import BLOCK, Object, number
from .pattern import Sent

_stack = []


class PatternContext(Object):
    """Notes, inside of a `with`, which patterns use one another."""

    def __init__(self, incremental=False):
        outer = PatternContext.current()
        self._edges = list(outer._edges) if incremental and outer is not None else []
        self._shapes = list(outer._shapes) if incremental and outer is not None else []

    def __enter__(self):
        _stack.append(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        _stack.pop()

    @staticmethod
    def current():
        """The context of the innermost `with`."""
        return _stack[-1] if _stack else None

    def _sent(self):
        roots = [pattern for edge in self._edges for pattern in edge[:2]]
        return Sent([*roots, *(one for group in self._shapes for one in group)])

    def match_dfb(self, dfb):
        """The variable of a dataflow block that each pattern stands for, or None."""
        sent = self._sent()
        found = sent.do(Dpl.MATCH_BLOCK, [*sent.context(self), number(BLOCK, dfb)])
        return sent.matched(found) if found else None
