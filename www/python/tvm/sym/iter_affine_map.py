"""Maps of iterators: indices as sums of digits of iterators."""

import enum

from .._node import SYMBOL, Object, get
from .._values import Array, Map
from ..ir.expr import Expr
from ._ask import Question, prim_at, prims_of, scalar


class IterMapExpr(Expr):
    """The base class of digits and sums of them."""

    @property
    def dtype(self):
        """The element type."""
        return (self.base if isinstance(self, IterSumExpr) else self.scale).dtype

    def __eq__(self, other):
        return self is other

    __hash__ = Expr.__hash__

    def __repr__(self):
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"sym.{type(self).__name__}(span=None, ty=T.{self.dtype}, {shown})"


class IterMark(Object):
    """An iterator that runs from 0 to its extent."""

    def __init__(self, source, extent):
        self.source = source if isinstance(source, IterMapExpr) else scalar(source)
        self.extent = scalar(extent)

    def _structural(self):
        return [self.source, self.extent]

    def __repr__(self):
        return f"sym.IterMark(source={self.source!r}, extent={self.extent!r})"


class IterSplitExpr(IterMapExpr):
    """A digit of an iterator: `source // lower_factor % extent * scale`."""

    _fields = ("source", "lower_factor", "extent", "scale")

    def __init__(self, source, lower_factor, extent, scale):
        self.source = source
        self.lower_factor, self.extent, self.scale = scalar(lower_factor), scalar(extent), scalar(scale)

    def _structural(self):
        return [self.source, self.lower_factor, self.extent, self.scale]


class IterSumExpr(IterMapExpr):
    """A sum of digits and a base."""

    _fields = ("args", "base")

    def __init__(self, args, base):
        self.args, self.base = Array(args), scalar(base)

    def _structural(self):
        return [self.args, self.base]


class IterMapResult(Object):
    """Indices as sums of digits; none where they are not."""

    def __init__(self, indices=(), errors=(), padding_predicate=None):
        self.indices, self.errors = Array(indices), Array(errors)
        self.padding_predicate = padding_predicate

    def __repr__(self):
        return f"sym.IterMapResult(indices={self.indices}, errors={self.errors}, padding_predicate={self.padding_predicate!r})"


class IterMapLevel(enum.IntEnum):
    """The requirement on indices together: each value once, at least once, or nothing."""

    Bijective, Surjective, NoCheck = 0, 1, 3

    @staticmethod
    def from_str(name):
        """The level of a name."""
        levels = {"bijective": 0, "surjective": 1, "nocheck": 3}
        if name is None:
            return IterMapLevel.NoCheck
        if name.lower() not in levels:
            raise ValueError(f"Unknown check level {name}")
        return IterMapLevel(levels[name.lower()])


class _Marks:
    """Iterators as rows, each before those made of it."""

    def __init__(self):
        self.places, self.rows = {}, []

    def _mark(self, mark):
        place = self.places.get(id(mark))
        if place is None:
            source, row = mark.source, Question()
            if isinstance(source, IterSumExpr):
                self.sum(row.number(1), source)
            elif isinstance(source, IterSplitExpr):
                self.split(row.number(2), source)
            else:
                row.number(0).prim(source)
            self.rows.append(row.prim(mark.extent))
            place = self.places[id(mark)] = len(self.rows) - 1
        return place

    def split(self, row, split):
        """Writes a digit."""
        row.number(self._mark(split.source)).prim(split.lower_factor, split.extent, split.scale)

    def sum(self, row, found):
        """Writes a sum."""
        row.number(len(found.args))
        for split in found.args:
            self.split(row, split)
        row.prim(found.base)

    def question(self, rest):
        """The iterators, and behind them what is made of them."""
        asked = Question().number(len(self.rows))
        for row in [*self.rows, rest]:
            asked.parts.extend(row.parts)
        return asked


class _Reader:
    def __init__(self, words):
        self.words, self.at, self.marks = words, 0, []
        for _ in range(self.word()):
            source = (self.prim, self.sum, self.split)[self.word()]()
            self.marks.append(IterMark(source, self.prim()))

    def word(self):
        self.at += 1
        return self.words[self.at - 1]

    def prim(self):
        return prim_at(self.word())

    def split(self):
        return IterSplitExpr(self.marks[self.word()], self.prim(), self.prim(), self.prim())

    def sum(self):
        return IterSumExpr([self.split() for _ in range(self.word())], self.prim())


def _level(level):
    return IterMapLevel.from_str(level) if level is None or isinstance(level, str) else IterMapLevel(level)


def _asked(indices, iters, predicate, level, trivial):
    asked = Question().number(_level(level), trivial)
    return asked.prims(list(indices)).ranges(iters).condition(predicate)


def _reasons(words):
    """The reasons of a failure: each is its text by characters, and the expressions that it names."""
    found = []
    while words:
        count, words = words[0], words[1:]
        text, about, words = "".join(map(chr, words[:count])), words[count], words[count + 1 :]
        found.append(text.format(*(prim_at(word) for word in words[:about])))
        words = words[about:]
    return found


def detect_iter_map(
    indices,
    input_iters,
    predicate=True,
    check_level=IterMapLevel.Surjective,
    simplify_trivial_iterators=True,
    analyzer=None,
):
    """Indices over iterators as sums of digits."""
    asked = _asked(indices, input_iters, predicate, check_level, simplify_trivial_iterators)
    words = asked.ask("detect_iter_map", analyzer)
    if not words[0]:
        padding = prim_at(words[1] - 1) if words[1] else None
        return IterMapResult((), _reasons(words[2:]), padding)
    read = _Reader(words[1:])
    padding = read.prim()
    return IterMapResult([read.sum() for _ in range(read.word())], (), padding)


def normalize_to_iter_sum(index, input_iters, analyzer=None):
    """An index as a sum of digits, as far as it is one."""
    asked = Question().prim(index).ranges(input_iters)
    return _Reader(asked.ask("normalize_to_iter_sum", analyzer)).sum()


def iter_map_simplify(
    indices,
    input_iters,
    predicate=True,
    check_level=IterMapLevel.Surjective,
    simplify_trivial_iterators=True,
    analyzer=None,
):
    """Indices as they are written most simply."""
    asked = _asked(indices, input_iters, predicate, check_level, simplify_trivial_iterators)
    return prims_of(asked.ask("iter_map_simplify", analyzer)[1:])


def normalize_iter_map_to_expr(expr):
    """A sum or digit as an expression."""
    if not isinstance(expr, IterMapExpr):
        return expr
    marks, rest = _Marks(), Question()
    is_sum = isinstance(expr, IterSumExpr)
    (marks.sum if is_sum else marks.split)(rest, expr)
    return prim_at(marks.question(rest).ask("sum_to_prim" if is_sum else "digit_to_prim")[0])


def subspace_divide(
    bindings,
    input_iters,
    sub_iters,
    predicate=True,
    check_level=IterMapLevel.Surjective,
    simplify_trivial_iterators=True,
    analyzer=None,
):
    """Indices divided into parts over outer iterators and over those of `sub_iters`, and a condition on each."""
    asked = _asked(bindings, input_iters, predicate, check_level, simplify_trivial_iterators)
    asked.number(len(sub_iters))
    for var in sub_iters:
        asked.var(var)
    words = asked.ask("subspace_divide", analyzer)
    if not words:
        return Array()
    read = _Reader(words)
    conditions = Array([read.prim(), read.prim()])
    parts = [Array([read.marks[read.word()], read.marks[read.word()]]) for _ in range(read.word())]
    # The conditions stand where the other parts have extents.
    return Array([*parts, Array(IterMark(IterSumExpr([], 0), cond) for cond in conditions)])


def inverse_affine_iter_map(iter_map, outputs):
    """The value of each iterator for which the indices of a bijective map have given values."""
    marks, rest = _Marks(), Question().number(len(iter_map))
    for found in iter_map:
        marks.sum(rest, found)
    rest.prims(list(outputs))
    words = marks.question(rest).ask("inverse_affine_iter_map")
    return Map({get(SYMBOL, words[at]): prim_at(words[at + 1]) for at in range(0, len(words), 2)})
