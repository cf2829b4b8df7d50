"""Questions to the engine's analyzer: what they are about as numbers (see `src/wasm/user/table/arith.rs`)."""

from .. import _engine
from .._node import NONE, PRIM, SYMBOL, Writer, get, long_of
from .._values import Array

_FRESH = NONE
"""In the place of an analyzer: one without facts."""


def scalar(value):
    """A scalar expression of what stands for one."""
    from ..tirx.expr import IterVar, _scalar

    return value.var if isinstance(value, IterVar) else _scalar(value)


class Question:
    """The words of a question under way. Everything that it is about is written at once."""

    def __init__(self):
        self.parts = []

    def number(self, *values):
        """Small numbers."""
        self.parts.extend(int(value) for value in values)
        return self

    def long(self, value):
        """A whole number of 64 bits."""
        value = int(value) & 0xFFFFFFFFFFFFFFFF
        return self.number(value & 0xFFFFFFFF, value >> 32)

    def prim(self, *values):
        """Scalars."""
        self.parts.extend((PRIM, scalar(value), 0) for value in values)
        return self

    def prims(self, values):
        """The number of scalars, and the scalars."""
        return self.number(len(values)).prim(*values)

    def var(self, value):
        """A variable."""
        self.parts.append((SYMBOL, scalar(value), 0))
        return self

    def ranges(self, ranges):
        """Variables with the ranges that they run through."""
        self.number(len(ranges))
        for var, item in ranges.items():
            self.var(var).prim(item.min, item.extent)
        return self

    def set(self, found):
        """An interval."""
        from .int_set import neg_inf, pos_inf

        for end in (found.min_value, found.max_value):
            if end is neg_inf() or end is pos_inf():
                self.number(end is pos_inf())
            else:
                self.parts.append((PRIM, scalar(end), 2))
        return self

    def domains(self, domains):
        """Variables with the sets of their values."""
        domains = domains or {}
        self.number(len(domains))
        for var, item in domains.items():
            self.var(var).set(as_set(item))
        return self

    def condition(self, predicate):
        """A condition, unless it always holds."""
        from ..tirx.expr import IntImm

        always = predicate is None or predicate is True or isinstance(predicate, IntImm) and predicate.value != 0
        return self.number(0) if always else self.number(1).prim(predicate)

    def ask(self, what, analyzer=None):
        """The words of the answer."""
        wanted = [part[:2] for part in self.parts if isinstance(part, tuple)]
        letter = {PRIM: "_p", SYMBOL: "_y"}
        missing = [(space, obj) for space, obj in wanted if obj.__dict__.get(letter[space]) is None]
        if missing:
            Writer().write(missing)
        words = [part if isinstance(part, int) else part[1].__dict__[letter[part[0]]] + part[2] for part in self.parts]
        held = _FRESH if analyzer is None else analyzer._number
        return _engine.call("table_arith", held, what, _engine.words(words))


def as_set(item):
    """A set of what stands for one."""
    from ..ir.expr import Range
    from .int_set import IntervalSet

    if isinstance(item, Range):
        return IntervalSet(item.min, item.min + item.extent - 1)
    return item


def prim_at(word):
    """The scalar of a number."""
    return get(PRIM, word)


def prims_of(words):
    """The scalars of numbers."""
    return Array(get(PRIM, word) for word in words)


def set_of(words):
    """The interval of two ends."""
    from .int_set import IntervalSet, neg_inf, pos_inf

    low, high = (neg_inf() if word == 0 else pos_inf() if word == 1 else get(PRIM, word - 2) for word in words)
    return IntervalSet(low, high)


def longs_of(words):
    """Whole numbers of 64 bits."""
    return [long_of(words[at], words[at + 1]) for at in range(0, len(words), 2)]
