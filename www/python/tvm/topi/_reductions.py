"""Reductions of conditions (`include/tvm/topi/reduction.h`)."""

from .. import te
from ..error import InternalError
from ..tirx.op import const, logical_and, logical_or
from ._axes import computed


def _logical(function, identity):
    reducer = te.comm_reducer(function, lambda dtype: const(identity, dtype))

    def operator(data, axis=None, keepdims=False):
        if data.dtype != "bool":
            raise InternalError(f"Expected boolean argument, but received one of type {data.dtype}")
        rank = len(data.shape)
        name = f"{data.op.name}_red"
        if not rank:
            return computed([], lambda: data(), name, "comm_reduce")
        listed = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
        axes = sorted({int(at) + rank if at < 0 else int(at) for at in listed})
        if any(not 0 <= at < rank for at in axes):
            raise ValueError(f"an axis of {list(listed)} exceeds the maximum dimension {rank}")
        reduced = {at: te.reduce_axis((0, data.shape[at]), name=f"k{at}") for at in axes}

        def element(*at):
            kept = iter(at)
            places = []
            for place in range(rank):
                index = next(kept) if keepdims or place not in reduced else None
                places.append(reduced[place] if place in reduced else index)
            return reducer(data(*places), axis=list(reduced.values()))

        extents = [1 if at in reduced else extent for at, extent in enumerate(data.shape) if keepdims or at not in reduced]
        return computed(extents, element, name, "comm_reduce")

    operator.__doc__ = "Conditions of elements along axes as one."
    return operator


REDUCTIONS = {
    "all": _logical(lambda x, y: logical_and(x, y), True),
    "any": _logical(lambda x, y: logical_or(x, y), False),
}
"""By the name in `topi`."""
