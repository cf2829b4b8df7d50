"""Operators of `topi.transform` that no operator of Relax is lowered to (`include/tvm/topi/transform.h`)."""

from .. import te
from ..tirx import Select
from ..tirx.op import all as all_of
from ..tirx.op import cast, const, floordiv, floormod, if_then_else
from ._axes import computed, known, ravelled, unravelled
from ._broadcast import broadcast, broadcast_to
from .utils import is_empty_shape, make_idx, within_index


def reshape(a, newshape):
    """The elements, in row-major order, in another shape. An extent keeps its type, which the operator of Relax does not."""
    newshape = list(newshape) if isinstance(newshape, (list, tuple)) else [newshape]
    if is_empty_shape(newshape) or is_empty_shape(a.shape):
        return computed(newshape, lambda *at: cast(0, a.dtype), "T_reshape", "injective")
    return computed(newshape, lambda *at: a(*unravelled(ravelled(at, newshape) if at else const(0), a.shape)), "T_reshape", "injective")


def transpose(a, axes=None):
    """The tensor with its axes in another order; turned around if none is given."""
    rank = len(a.shape)
    order = [int(axis) for axis in axes] if axes else [*reversed(range(rank))]
    order = [axis + rank if axis < 0 else axis for axis in order]
    if any(not 0 <= axis < rank for axis in order) or len(set(order)) != len(order):
        raise ValueError(f"axes {list(axes)} are no order of the {rank} axes of the input tensor")
    places = {axis: at for at, axis in enumerate(order)}
    return computed([a.shape[axis] for axis in order], lambda *at: a(*(at[places[axis]] for axis in range(rank))), "T_transpose", "injective")


def expand_like(a, shape_like, axis):
    """The tensor, repeated along axes that it does not have, in the shape of another."""
    rank = len(shape_like.shape)
    if len(axis) + len(a.shape) != rank:
        if len(a.shape) == 1 and len(axis) == rank:
            return te.compute(shape_like.shape, lambda *at: a(0))
        raise ValueError(f"shape inconsistent when expand_like ({len(axis)}, {len(a.shape)}, {rank})")
    added = {at + rank if at < 0 else at for at in axis}
    if any(at >= rank for at in added):
        raise ValueError(f"{max(added)} exceeds the maximum dimension {rank}. Received axis={list(axis)}")

    def element(*at):
        kept = [index for place, index in enumerate(at) if place not in added]
        return a(*(if_then_else(extent != 1, index, 0) for extent, index in zip(a.shape, kept)))

    return te.compute(shape_like.shape, element)


def dyn_tile(a, new_shape, rdim):
    """The tensor, repeated until it has a shape."""
    new_shape, rank = list(new_shape), len(a.shape)
    if is_empty_shape(new_shape):
        return computed(new_shape, lambda *at: cast(0, a.dtype), "T_tile", "broadcast")
    first = max(rdim - rank, 0)
    return computed(new_shape, lambda *at: a(*(floormod(at[first + i], a.shape[i]) for i in range(rank))), "T_tile", "broadcast")


def sliding_window(data, axis, window_shape, strides):
    """All windows of a shape over an axis and those after it, with steps between them."""
    shape, window, steps = list(data.shape), [const(int(extent), "int64") for extent in window_shape], [const(int(step), "int64") for step in strides]
    count = len(window)
    if not 0 <= axis < len(shape) or len(shape) - axis != count or len(steps) != count:
        raise ValueError("topi.sliding_window: axis is one of data, and every axis from there on has an extent of the window and a step")
    places = [floordiv(extent - (width - 1) + step - 1, step) for extent, width, step in zip(shape[axis:], window, steps)]

    def element(*at):
        windows, inner = at[axis : axis + count], at[axis + count :]
        return data(*at[:axis], *(place * step + offset for place, step, offset in zip(windows, steps, inner)))

    return computed([*shape[:axis], *places, *window], element, "T_sliding_window")


def gather_nd(a, indices, batch_dims=0):
    """The parts of a tensor at places whose indices stand along the first axis of another."""
    count, rank = known(indices.shape[0]), len(indices.shape)
    if count is None or count > len(a.shape):
        raise ValueError("topi.gather_nd: dim 0 of indices tensor must be no more than dimensions of data tensor")
    whole = indices.dtype.type_code in (0, 1)

    def element(*at):
        places = [*at[:batch_dims]]
        for axis in range(count):
            place = indices(const(axis, "int32"), *at[: rank - 1])
            places.append(place if whole else cast(place, "int32"))
        return a(*places) if len(places) == len(a.shape) else a(*places, *at[rank - 1 :])

    return computed([*indices.shape[1:], *a.shape[count + batch_dims :]], element, "T_gather_nd", "injective")


def adv_index(data, indices):
    """The parts of a tensor at places whose indices tensors hold, one for each of the first axes."""
    if len(indices) > len(data.shape):
        raise ValueError("too many indices for data!")
    shape = list(indices[0].shape)
    for index in indices[1:]:
        shape, _ = broadcast(shape, index.shape)
    if len(indices) > 1:
        indices = [broadcast_to(index, shape) for index in indices]
    count = len(shape)

    def element(*at):
        return data(*(index(*at[:count]) for index in indices), *at[count:])

    return computed([*shape, *data.shape[len(indices) :]], element, "advanced_index", "injective")


def index_tensor(data, indices):
    """The parts of a tensor at places whose indices tensors hold."""
    return adv_index(data, indices)


def tensordot(a, b, axes):
    """The sum of products along axes: the last of one tensor and the first of the other, or those that are named."""
    if isinstance(axes, int):
        of_a, of_b = range(len(a.shape) - axes, len(a.shape)), range(axes)
    else:
        of_a, of_b = ([part] if isinstance(part, int) else [int(at) for at in part] for part in axes)
    of_a, of_b = list(of_a), list(of_b)
    reduced = [te.reduce_axis((0, b.shape[axis]), name=f"k{at}") for at, axis in enumerate(of_b)]

    def places(tensor, axes, free):
        return tensor(*(reduced[axes.index(axis)] if axis in axes else next(free) for axis in range(len(tensor.shape))))

    def element(*at):
        free = iter(at)
        left = places(a, of_a, free)
        product = left * places(b, of_b, free)
        return te.sum(product, axis=reduced) if reduced else product

    kept = [extent for tensor, axes in ((a, of_a), (b, of_b)) for at, extent in enumerate(tensor.shape) if at not in axes]
    return computed(kept, element, "T_tensordot", "matmul")


def shape(array, dtype="int32"):
    """The extents of a tensor as a tensor."""

    def element(place):
        made = const(0, "int32")
        for at, extent in enumerate(array.shape):
            made = if_then_else(place.equal(at), extent, made)
        return cast(made, dtype)

    return computed([len(array.shape)], element, "T_shape", "injective")


def tensor_size(array, dtype="int32"):
    """The count of elements as a tensor without axes."""

    def element():
        made = const(1, "int32")
        for extent in array.shape:
            made = made * extent
        return cast(made, dtype)

    return computed([], element, "tensor_size", "injective")


def sequence_mask(data, valid_length, mask_value=0, axis=0):
    """The tensor, with a number in the place of what is behind the end of a sequence."""
    if len(data.shape) < 2:
        raise AssertionError(f"only support data.ndim >= 2, received data.shape = {data.shape}")
    if axis not in (0, 1):
        raise AssertionError(f"only support axis = 0, 1, received axis = {axis}")
    mask = const(mask_value, data.dtype)

    def element(*at):
        return if_then_else(cast(at[axis], valid_length.dtype) >= valid_length(at[1 - axis]), mask, data(*at))

    return computed(data.shape, element, "T_sequence_mask", "injective")


def one_hot(indices, on_value, off_value, depth, axis, dtype):
    """One of two numbers along a new axis: the first one at the index."""
    axis = len(indices.shape) if axis == -1 else axis
    extents = [*indices.shape[:axis], const(int(depth), "int32"), *indices.shape[axis:]]
    on, off = cast(on_value, dtype), cast(off_value, dtype)
    return computed(extents, lambda *at: Select(indices(*at[:axis], *at[axis + 1 :]).equal(at[axis]), on, off), "T_one_hot", "injective")


def unravel_index(indices, shape):
    """The indices of elements by their places in row-major order; the shape is a tensor."""
    scalar = not len(indices.shape)

    def element(*at):
        place = indices() if scalar else indices(at[1])
        made = const(0, "int32")
        for axis in reversed(range(known(shape.shape[0]))):
            extent = shape(const(axis, "int32"))
            made = if_then_else(at[0].equal(axis), floormod(place, extent), made)
            place = floordiv(place, extent)
        return made

    return computed([shape.shape[0], *([] if scalar else [indices.shape[0]])], element, "T_unravel", "injective")


def sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value=0):
    """A tensor of a number but for places that a tensor names."""
    rank = len(sparse_indices.shape)
    if sparse_indices.dtype.type_code != 0:
        raise ValueError("sparse_indices only accepts integer values")

    def element(*at):
        made = default_value
        if rank == 0:
            return if_then_else(at[0].equal(sparse_indices()), sparse_values(), made)
        for row in range(known(sparse_indices.shape[0])):
            if rank == 1:
                here = at[0].equal(sparse_indices(row))
            else:
                here = all_of(*(at[axis].equal(sparse_indices(row, axis)) for axis in range(known(sparse_indices.shape[1]))))
            made = if_then_else(here, sparse_values(row), made)
        return made

    default_value = default_value if hasattr(default_value, "dtype") else const(default_value)
    return computed(list(output_shape), element, "T_sparse_to_dense", "injective")


def matrix_set_diag(data, diagonal, k=0, align="RIGHT_LEFT"):
    """Matrices whose diagonals are those of another tensor."""
    low, high = (k[0], k[1 if len(k) > 1 else 0]) if isinstance(k, (tuple, list)) else (k, k)
    above_right, below_right = align[:5] == "RIGHT", align[-5:] == "RIGHT"
    rows, columns = data.shape[-2:]

    def short(m, n):
        return diagonal.shape[-1] - if_then_else(m < n, m, n)

    def value(*at):
        *outer, row, column = at
        which, offset, places = const(low), const(0), list(outer)
        if low != high:
            which = column - row
            places.append(high - which)
            above = short(columns - which, rows) if above_right else const(0)
            offset = if_then_else(which >= 0, above, short(columns, rows + which) if below_right else const(0))
        return diagonal(*places, if_then_else(which >= 0, row, column) + offset)

    def element(*at):
        which = at[-1] - at[-2]
        return if_then_else(which >= low, if_then_else(which <= high, value(*at), data(*at)), data(*at))

    return computed(data.shape, element, "T_matrix_set_diag", "injective")


@te.tag_scope(tag="injective,strided_set")
def strided_set(a, v, begin, end, strides=None):
    """The tensor with the elements of another in a slice, which tensors of whole numbers describe."""
    rank = len(a.shape)
    for name, tensor in (("begin", begin), ("end", end), ("strides", strides)):
        if tensor is None:
            continue
        if len(tensor.shape) != 1:
            raise ValueError(f"{name} should be a vector")
        if tensor.dtype != "int32":
            raise TypeError(f"{name} should be int32")

    def given(tensor, otherwise):
        return [if_then_else(tensor.shape[0] > axis, tensor(axis), value) for axis, value in enumerate(otherwise)]

    one, zero = const(1, "int32"), const(0, "int32")
    steps = [one] * rank if strides is None else given(strides, [one] * rank)
    firsts = given(begin, [Select(step > 0, zero, extent) for step, extent in zip(steps, a.shape)])
    lasts = given(end, [Select(step > 0, extent + 1, -(extent + 1)) for step, extent in zip(steps, a.shape)])
    firsts, lasts = ([if_then_else(place < 0, place + extent, place) for place, extent in zip(places, a.shape)] for places in (firsts, lasts))

    def element(*at):
        inside = [within_index(*parts) for parts in zip(firsts, lasts, steps, at)]
        places = [make_idx(*parts) for parts in zip(firsts, lasts, steps, a.shape, at)]
        return if_then_else(all_of(*inside), v(*places), a(*at))

    return te.compute(a.shape, element, name="strided_set")


TRANSFORM = {
    "transpose": transpose,
    "expand_like": expand_like, "dyn_tile": dyn_tile, "sliding_window": sliding_window, "gather_nd": gather_nd, "adv_index": adv_index, "index_tensor": index_tensor,
    "tensordot": tensordot, "shape": shape, "tensor_size": tensor_size, "sequence_mask": sequence_mask, "one_hot": one_hot,
    "unravel_index": unravel_index, "sparse_to_dense": sparse_to_dense, "matrix_set_diag": matrix_set_diag, "strided_set": strided_set,
}  # fmt: skip
"""By the name in `topi`."""
