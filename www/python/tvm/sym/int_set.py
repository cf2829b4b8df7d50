"""Sets of whole numbers."""

from .._node import Object
from .._values import Array
from ..ir.expr import Var
from ._ask import Question, scalar, set_of

_ENDS = [Var("neg_inf", "handle"), Var("pos_inf", "handle")]


def neg_inf():
    """The bound below everything."""
    return _ENDS[0]


def pos_inf():
    """The bound above everything."""
    return _ENDS[1]


class IntSet(Object):
    """A set of whole numbers."""

    def is_nothing(self):
        """True if it is empty."""
        return self.min_value is pos_inf() or self.max_value is neg_inf()

    def is_everything(self):
        """True if it has no bounds."""
        return self.min_value is neg_inf() and self.max_value is pos_inf()

    @staticmethod
    def vector(vec):
        """The values of the lanes of a vector."""
        from ..tirx.expr import IntImm, Ramp

        if isinstance(vec, Ramp) and not isinstance(vec.lanes, IntImm):
            return IntervalSet(vec.base, pos_inf())
        return set_of(Question().prim(vec).ask("lanes"))

    @staticmethod
    def single_point(point):
        """The set of one value."""
        return IntervalSet(point, point)


class IntervalSet(IntSet):
    """The numbers from one to another, both included."""

    def __init__(self, min_value, max_value):
        self.min_value, self.max_value = scalar(min_value), scalar(max_value)

    def _structural(self):
        return [self.min_value, self.max_value]

    def __repr__(self):
        return f"sym.IntervalSet(min_value={self.min_value}, max_value={self.max_value})"


class PresburgerSet(IntSet):
    """A set of points that conditions describe."""

    def __init__(self):
        raise NotImplementedError("sets of Presburger arithmetic are not here")


def _estimate(covering, region, var_dom, predicate, analyzer):
    asked = Question().number(covering, len(region))
    for item in region:
        asked.prim(item.min, item.extent)
    found = asked.ranges(var_dom).condition(predicate).ask("estimate_region", analyzer)
    if region and not found:
        return None
    return Array(set_of(found[at : at + 2]) for at in range(0, len(found), 2))


def estimate_region_lower_bound(region, var_dom, predicate, analyzer=None):
    """The indices surely touched along each axis of a region while variables run; None where they are not found."""
    return _estimate(False, region, var_dom, predicate, analyzer)


def estimate_region_strict_bound(region, var_dom, predicate, analyzer=None):
    """The indices touched along each axis of a region while variables run, exactly; None where they are not found."""
    return _estimate(False, region, var_dom, predicate, analyzer)


def estimate_region_upper_bound(region, var_dom, predicate, analyzer=None):
    """The indices touched at most along each axis of a region while variables run."""
    return _estimate(True, region, var_dom, predicate, analyzer)


def union_lower_bound(sets):
    """A set that the union of sets has all of."""
    asked = Question().number(len(sets))
    for item in sets:
        asked.set(item)
    return set_of(asked.ask("union_lower_bound"))
