"""Parts of tensors, and tensors side by side (`include/tvm/topi/transform.h`)."""

import math

from .. import te
from ..error import InternalError
from ..ir.expr import Var
from ..sym import Analyzer
from ..te import Tensor
from ..tirx import Select
from ..tirx.expr import IntImm
from ..tirx.op import _not_equal as not_equal
from ..tirx.op import cast, ceil, ceildiv, const, floordiv, floormod, if_then_else, logical_and, max_, min_, truncmod
from ._axes import computed, known, unravelled
from ._broadcast import broadcast, element_of
from .utils import const_vector

_LAST = (1 << 63) - 1


def _scalars(values):
    return [value if value is None or hasattr(value, "dtype") else const(value) for value in values]


def _clamped(index, extent, step):
    """An index that counts from the end if it is negative, within an axis."""
    if all(isinstance(value, IntImm) for value in (index, extent, step)):
        return const(_static(known(index), known(extent), known(step)), "int64")
    if isinstance(index, Var) and isinstance(extent, Var) and index.name == extent.name:
        return index
    low, high = if_then_else(step < 0, -1, 0), if_then_else(step < 0, extent - 1, extent)
    if not (isinstance(index, IntImm) and known(index) >= 0):
        index = if_then_else(index < 0, index + extent, index)
    return min_(max_(index, low), high)


def _static(index, extent, step):
    low, high = (-1, extent - 1) if step < 0 else (0, extent)
    return min(max(index + extent if index < 0 else index, low), high)


def _length(begin, end, step, extent, inbound):
    if inbound:
        return ceildiv(end - begin, step)
    begin, end = _clamped(begin, extent, step), _clamped(end, extent, step)
    return if_then_else(step < 0, ceildiv(begin - end, const(0, step.dtype) - step), ceildiv(end - begin, step))


def _known_slice(a, begin, end, strides, axes, mode, name):
    """A part whose ends are numbers, of a tensor whose extents are."""
    index = begin[0].dtype if begin and begin[0] is not None else "int64"
    steps = [1 if mode == "size" else known(step) for step in strides]
    firsts = [(0 if step > 0 else _LAST) if first is None else known(first) for first, step in zip(begin, steps)]
    lasts = []
    for first, last, step in zip(firsts, end, steps):
        open_end = last is None or mode == "size" and known(last) < 0
        lasts.append((0 if step < 0 else _LAST) if open_end else first + known(last) if mode == "size" else known(last))
    shape, starts = list(a.shape), {}
    for at, (axis, first, last, step) in enumerate(zip(axes, firsts, lasts, steps)):
        extent = known(a.shape[axis])
        start, stop = _static(first, extent, step), _static(last, extent, step)
        if stop > start if step < 0 else start > stop:
            raise InternalError(f"Input [Begin={first}, End={last}] is invalid for axis={at}")
        shape[axis] = const((abs(stop - start) + abs(step) - 1) // abs(step), shape[at].dtype)
        starts[axis] = const(start, index), const(step, strides[at].dtype)

    def element(*at):
        return a(*(place * starts[axis][1] + starts[axis][0] if axis in starts else place for axis, place in enumerate(at)))

    return computed(shape, element, name, "injective")


def _sliced(a, begin, end, strides, axes, inbound, name):
    """A part whose ends are expressions. Without axes, it begins within the tensor."""
    if not len(begin) == len(end) == len(strides) or axes and len(axes) != len(begin):
        raise InternalError("begin, end, strides and axes are to be of one length")
    shape, analyzer = list(a.shape), Analyzer()
    for at, (first, last, step) in enumerate(zip(begin, end, strides)):
        axis = axes[at] if axes else at
        read = not axes and any(hasattr(value, "producer") for value in (first, last, step))
        shape[axis] = te.var("dim") if read else analyzer.simplify(_length(first, last, step, shape[axis], inbound))

    def element(*at):
        places = list(at)
        for place, (first, step) in enumerate(zip(begin, strides)):
            axis = axes[place] if axes else place
            if not inbound:
                first = _clamped(first, a.shape[axis], step)
            elif not axes:
                first = min_(first, a.shape[axis] - 1)
            places[axis] = at[axis] * step + first
        return a(*places)

    return computed(shape, element, name, "injective")


def strided_slice(a, begin, end, strides=None, axes=None, slice_mode="end", assume_inbound=True):
    """Every so many elements along axes, from one place to before another; in the mode "size", the second is a count."""
    if any(isinstance(value, Tensor) for value in (begin, end, strides)):
        if axes is not None:
            raise AssertionError("axes argument is not supported by dynamic strided slice yet.")
        begin, end = (value if isinstance(value, Tensor) else const_vector(value) for value in (begin, end))
        strides = [1] * known(begin.shape[0]) if strides is None else strides
        strides = strides if isinstance(strides, Tensor) else const_vector(strides)
        places = [const(at, begin.shape[0].dtype) for at in range(known(begin.shape[0]))]
        return _sliced(a, *([tensor(place) for place in places] for tensor in (begin, end, strides)), None, True, "T_strided_slice_dynamic")
    begin, end, strides = _scalars(begin), _scalars(end), _scalars(strides or [])
    axes, rank = [int(axis) for axis in axes or []], len(a.shape)
    if not all(value is None or isinstance(value, IntImm) for value in (*begin, *end, *strides, *a.shape)):
        return _sliced(a, begin, end, strides, axes, assume_inbound, f"T_dynamic_strided_slice{'_with_axes' if axes else ''}")
    if axes:
        if not len(axes) == len(begin) == len(end) == len(strides) or any(not -rank <= axis < rank for axis in axes):
            raise InternalError("axes are those of the tensor, and there are as many as of begin, end and strides")
        return _known_slice(a, begin, end, strides, [axis % rank for axis in axes], slice_mode, "T_strided_slice_with_axes")
    one = const(1, begin[0].dtype if begin and begin[0] is not None else "int64")
    strides += [one] * (rank - len(strides))
    begin, end = (part + [None] * (rank - len(part)) for part in (begin, end))
    if slice_mode == "size":
        end = [const(-1, "int64") if last is None else last for last in end]
    return _known_slice(a, begin, end, strides, range(rank), slice_mode, "T_strided_slice")


def dynamic_strided_slice(a, begin, end, strides, output_shape):
    """A part whose ends tensors hold, in a shape that is known."""
    begin, end, strides = (value if isinstance(value, Tensor) else const_vector(value) for value in (begin, end, strides))
    if any(known(tensor.shape[0]) != len(a.shape) for tensor in (begin, end, strides)):
        raise InternalError("begin, end and strides have an element for each axis")

    def element(*at):
        places = [const(axis, "int64") for axis in range(len(a.shape))]
        return a(*(index * strides(place) + _clamped(begin(place), extent, strides(place)) for index, place, extent in zip(at, places, a.shape)))

    return computed(list(output_shape), element, "T_strided_slice_dynamic", "injective")


def take(a, indices, axis=None, batch_dims=0, mode="fast"):
    """The parts at places along an axis that a tensor or a scalar names; the mode is what happens to a place outside."""
    rank, count = len(a.shape), len(indices.shape) if isinstance(indices, Tensor) else 0
    batch_dims = batch_dims + count if batch_dims < 0 else batch_dims
    if axis is None:
        extent, shape = const(1), list(indices.shape)
        for item in a.shape:
            extent = extent * item
    else:
        axis = axis + rank if axis < 0 else axis
        if not batch_dims <= axis < rank:
            raise InternalError("axis out of bounds")
        extent = a.shape[axis]
        shape = [*a.shape[:axis], *(indices.shape[batch_dims:] if count else []), *a.shape[axis + 1 :]]

    def element(*at):
        where = at if axis is None else (*at[:batch_dims], *at[axis : axis + count - batch_dims])
        index = indices(*where) if isinstance(indices, Tensor) else indices
        inside = None
        if mode == "clip":
            index = min_(max_(0, index), extent - 1)
        elif mode == "nan":
            inside = logical_and(index >= 0, index < extent)
        elif mode != "fast":
            index = truncmod(truncmod(index, extent) + extent, extent)
        places = unravelled(index, a.shape) if axis is None else (*at[:axis], index, *at[axis + count - batch_dims :])
        return a(*places) if inside is None else if_then_else(inside, a(*places), const(float("nan"), a.dtype))

    return computed(shape, element, "T_take", "injective")


def gather(data, axis, indices):
    """The elements at places along an axis, which a tensor of as many axes names."""
    rank = len(data.shape)
    axis = axis + rank if axis < 0 else axis
    if rank != len(indices.shape) or not 0 <= axis < rank or known(indices.shape[axis]) == 0 or indices.dtype.type_code not in (0, 1):
        raise InternalError("data and indices have as many axes, of which axis is one, and indices are whole numbers")
    return computed(indices.shape, lambda *at: data(*at[:axis], indices(*at), *at[axis + 1 :]), "T_gather", "injective")


def where(condition, x, y):
    """The elements of one tensor where a condition holds, and those of another elsewhere."""
    if x.dtype != y.dtype:
        raise InternalError(f"x and y must have the same dtype: {x.dtype} vs {y.dtype}")
    shape, _ = broadcast(condition.shape, broadcast(x.shape, y.shape)[0])
    used = [broadcast(tensor.shape, shape)[1][0] for tensor in (condition, x, y)]

    def element(*at):
        chosen, yes, no = (element_of(tensor, at, axes) for tensor, axes in zip((condition, x, y), used))
        return Select(not_equal(chosen, const(0)), yes, no)

    return computed(shape, element, "T_where", "broadcast")


def concatenate(a_tuple, axis=0):
    """Tensors side by side along an axis."""
    first, rank = a_tuple[0], len(a_tuple[0].shape)
    if not -rank <= axis < rank:
        raise InternalError(f"concatenate only accepts `axis` in [-ndim, ndim), but got axis = {axis}, and ndim = {rank}")
    axis = axis % rank
    total, *rest = (tensor.shape[axis] for tensor in a_tuple)
    for extent in rest:
        total = total + extent

    def element(*at):
        made, place = first(*at), at[axis]
        for before, tensor in zip(a_tuple, a_tuple[1:]):
            place = place - before.shape[axis]
            made = if_then_else(place >= 0, tensor(*at[:axis], place, *at[axis + 1 :]), made)
        return made

    return computed([*first.shape[:axis], Analyzer().simplify(total), *first.shape[axis + 1 :]], element, "T_concat", "injective")


def split(ary, indices_or_sections, axis=0):
    """Parts along an axis: as many of one size as asked, or those between places."""
    rank, sections = len(ary.shape), isinstance(indices_or_sections, int)
    axis = axis + rank if axis < 0 else axis
    if not 0 <= axis < rank or sections and indices_or_sections < 1:
        raise InternalError(f"axis {axis} out of bounds, or no parts: {indices_or_sections}")
    extent, name = ary.shape[axis], "T_split_sections" if sections else "T_split"
    if sections:
        size = floordiv(extent + indices_or_sections - 1, indices_or_sections)
        places = [size * at for at in range(1, indices_or_sections)]
    else:
        places = _scalars(indices_or_sections)
    starts = [const(0), *places]
    if any(known(a) is not None and known(b) is not None and known(a) >= known(b) for a, b in zip(starts, places)):
        raise InternalError("split_indices must be sorted")

    def part(start, end):
        shape = [*ary.shape[:axis], end - start, *ary.shape[axis + 1 :]]
        return computed(shape, lambda *at: ary(*at[:axis], at[axis] + start, *at[axis + 1 :]), name, "injective")

    return [part(start, end) for start, end in zip(starts, [*places, extent])]


def squeeze(a, axis=None):
    """The tensor without axes of one element: those named, or all whose extent is known to be 1."""
    rank = len(a.shape)
    if axis is None:
        cut = {at for at, extent in enumerate(a.shape) if known(extent) == 1}
    else:
        named = [int(at) % rank for at in (axis if isinstance(axis, (list, tuple)) else [axis])]
        cut = {at for at in named if known(a.shape[at]) in (1, None)}
    kept = [at for at in range(rank) if at not in cut]

    def element(*at):
        places = dict(zip(kept, at))
        return a(*(places.get(axis, 0) for axis in range(rank)))

    return computed([a.shape[at] for at in kept], element, "T_squeeze", "injective")


def repeat(a, repeats, axis):
    """Each element several times along an axis."""
    rank = len(a.shape)
    if not -rank - 1 <= axis <= rank or repeats < 1:
        raise InternalError(f"repeat only accepts an axis of data and repeats of at least 1, not {axis} and {repeats}")
    axis = axis + rank if axis < 0 else axis
    shape = [*a.shape[:axis], repeats * a.shape[axis], *a.shape[axis + 1 :]]
    return computed(shape, lambda *at: a(*at[:axis], floordiv(at[axis], repeats), *at[axis + 1 :]), "T_repeat", "broadcast")


def tile(a, reps):
    """The tensor several times along its axes."""
    rank = max(len(a.shape), len(reps))
    extents = [const(1)] * (rank - len(a.shape)) + list(a.shape)
    shape = [extent * times for extent, times in zip(extents, [1] * (rank - len(reps)) + [const(int(times), "int64") for times in reps])]
    if any(known(extent) == 0 for extent in shape):
        return computed(shape, lambda *at: cast(0, a.dtype), "T_tile", "broadcast")
    return computed(shape, lambda *at: a(*map(floormod, at[rank - len(a.shape) :], a.shape)), "T_tile", "broadcast")


def arange(start, stop=None, step=1, dtype="float32"):
    """Numbers with a step between them, from one to before another."""
    start, stop, step = _scalars((0, start, step) if stop is None else (start, stop, step))
    whole = all(value.dtype.type_code == 0 for value in (start, stop, step))
    if whole and known(step) is not None and known(step) != 0:
        up = known(step) > 0
        count = floordiv(stop - start + step - 1, step) if up else floordiv(start - stop - step - 1, const(-known(step), step.dtype))
    else:
        count = cast(ceil(cast(stop - start, "float32") / step), "int64")
    return computed([Analyzer().simplify(count)], lambda at: cast(start + step * at, dtype), "T_arange", "injective")


def hamming_window(window_size, periodic, alpha, beta, dtype):
    """The window of Hamming: a cosine over a constant; a periodic one is without its last number."""
    from . import cast as cast_tensor, cos, divide, multiply, subtract

    if window_size == 1:
        import numpy

        return const_vector(numpy.array([1], dtype=dtype))
    periodic = bool(known(cast(periodic, "bool")))
    size = window_size + 1 if periodic else window_size
    angles = divide(multiply(2 * math.pi, arange(0, size, dtype=dtype)), size - 1)
    window = cast_tensor(subtract(alpha, multiply(beta, cos(angles))), dtype)
    return strided_slice(window, [0], [window.shape[0] - 1]) if periodic else window


def eye(n, m=None, k=0, dtype="float32"):
    """A matrix with ones along a diagonal."""
    return te.compute((n, n if m is None else m), lambda i, j: if_then_else(i.equal(j - k), const(1, dtype), const(0, dtype)), name="eye")


SLICES = {
    "strided_slice": strided_slice, "dynamic_strided_slice": dynamic_strided_slice, "take": take, "gather": gather, "where": where,
    "concatenate": concatenate, "split": split, "squeeze": squeeze, "repeat": repeat, "tile": tile, "arange": arange, "hamming_window": hamming_window, "eye": eye,
}  # fmt: skip
"""By the name in `topi`."""
