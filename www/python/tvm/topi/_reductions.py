"""Reductions along axes (`include/tvm/topi/reduction.h`)."""

from .. import te
from ..error import InternalError
from ..ir.expr import Var
from ..tirx.expr import And, CommReducer, IntImm, Or, Reduce, Select
from ..tirx.op import const, logical_and, logical_or, max_value, min_value
from ._axes import computed, ravelled


def _axes(data, axis):
    """The axes that are reduced: all if none is named."""
    rank = len(data.shape)
    listed = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = sorted({int(at) + rank if at < 0 else int(at) for at in listed})
    if any(not 0 <= at < rank for at in axes):
        raise InternalError(f"an axis of {list(listed)} exceeds the maximum dimension {rank}")
    return {at: te.reduce_axis((0, data.shape[at]), name=f"k{at}") for at in axes}


def _shape(data, reduced, keepdims):
    return [1 if at in reduced else extent for at, extent in enumerate(data.shape) if keepdims or at not in reduced]


def _places(at, reduced, rank, keepdims):
    """The indices of an element that is reduced."""
    kept = iter(at)
    places = []
    for place in range(rank):
        index = next(kept) if keepdims or place not in reduced else None
        places.append(reduced[place].var if place in reduced else index)
    return places


def _reduction(reducer, described, conditions=False):
    def operator(data, axis=None, keepdims=False):
        if conditions and data.dtype != "bool":
            raise InternalError(f"Expected boolean argument, but received one of type {data.dtype}")
        rank, name = len(data.shape), f"{data.op.name}_red"
        if not rank:
            return computed([], lambda: data(), name, "comm_reduce")
        reduced = _axes(data, axis)
        combine = _ANY if reducer is te.sum and data.dtype == "bool" else reducer

        def element(*at):
            return combine(data(*_places(at, reduced, rank, keepdims)), axis=list(reduced.values()))

        return computed(_shape(data, reduced, keepdims), element, name, "comm_reduce")

    operator.__doc__ = described
    return operator


def extreme(values, axes, greatest=True, last=False):
    """The place of the greatest element or of the least, and that element: of equal ones the first, or the last."""
    dtypes, side = [value.dtype for value in values], "argmax" if greatest else "argmin"
    lhs, rhs = ([Var(f"{side}_{end}_{at}", dtype) for at, dtype in enumerate(dtypes)] for end in ("lhs", "rhs"))
    better = lhs[1] > rhs[1] if greatest else lhs[1] < rhs[1]
    earlier = lhs[0] > rhs[0] if last else lhs[0] < rhs[0]
    chosen = [Select(Or(better, And(lhs[1].equal(rhs[1]), earlier)), lhs[0], rhs[0]), Select(better, lhs[1], rhs[1])]
    neutral = min_value(dtypes[1]) if greatest else max_value(dtypes[1])
    combiner = CommReducer(lhs, rhs, chosen, [const(-1, dtypes[0]), neutral])
    return [Reduce(combiner, values, axes, IntImm("bool", 1), at) for at in range(2)]


def _place_of(greatest, described):
    def operator(data, axis=None, keepdims=False, select_last_index=False):
        rank, name = len(data.shape), f"{data.op.name}_red"
        if not rank:
            raise InternalError("Cannot reduce a 0 dim Tensor")
        reduced = _axes(data, axis)
        shape = _shape(data, reduced, keepdims)

        def element(*at):
            place = ravelled([axis.var for axis in reduced.values()], [data.shape[at] for at in reduced])
            return extreme([place, data(*_places(at, reduced, rank, keepdims))], list(reduced.values()), greatest, select_last_index)

        places, _ = computed(shape, element, f"{name}_temp", "comm_reduce_idx")
        return computed(shape, lambda *at: places(*at), name, "comm_reduce_idx")

    operator.__doc__ = described
    return operator


_ANY = te.comm_reducer(lambda x, y: logical_or(x, y), lambda dtype: const(False, dtype))

REDUCTIONS = {
    "sum": _reduction(te.sum, "The sum along axes."),
    "max": _reduction(te.max, "The greatest element along axes."),
    "min": _reduction(te.min, "The least element along axes."),
    "prod": _reduction(te.comm_reducer(lambda x, y: x * y, lambda dtype: const(1, dtype)), "The product along axes."),
    "all": _reduction(te.comm_reducer(lambda x, y: logical_and(x, y), lambda dtype: const(True, dtype)), "True if all conditions along axes hold.", True),
    "any": _reduction(_ANY, "True if a condition along axes holds.", True),
    "argmax": _place_of(True, "The place of the greatest element along axes."),
    "argmin": _place_of(False, "The place of the least element along axes."),
}
"""By the name in `topi`."""
