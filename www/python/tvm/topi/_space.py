"""Operators that move or scale elements (`python/tvm/topi/nn`: `depth_to_space.py`, `space_to_batch_nd.py`, `mapping.py` and others)."""

from .. import te
from ..tirx import Select
from ..tirx.op import const, exp, if_then_else, log, max_, truncdiv, truncmod
from ._axes import known, unravelled
from ._padding import surrounded
from ._transform import reshape, transpose
from .utils import get_const_int


def _split(layout, values):
    """The batch, the channels, the height and the width among values in a layout."""
    if layout not in ("NCHW", "NHWC"):
        raise ValueError("Only NCHW and NHWC layouts are currently supported.")
    n, *rest = values
    return (n, *rest) if layout == "NCHW" else (n, rest[2], rest[0], rest[1])


def _joined(layout, n, c, y, x):
    return (n, c, y, x) if layout == "NCHW" else (n, y, x, c)


def depth_to_space(data, block_size, layout="NCHW", mode="DCR"):
    """Channels as blocks of a picture that is larger."""
    batch, channels, height, width = _split(layout, data.shape)
    left = truncdiv(channels, block_size * block_size)

    def element(*at):
        n, c, y, x = _split(layout, at)
        columns, rows = truncdiv(x, block_size), truncdiv(y, block_size)
        within = block_size * truncmod(y, block_size) + truncmod(x, block_size)
        channel = left * within + c if mode == "DCR" else c * block_size * block_size + within
        return data(*_joined(layout, n, channel, rows, columns))

    shape = _joined(layout, batch, left, height * block_size, width * block_size)
    return te.compute(shape, element, name="depth_to_space", tag="injective")


def space_to_depth(data, block_size, layout="NCHW"):
    """Blocks of a picture as channels of one that is smaller."""
    batch, channels, height, width = _split(layout, data.shape)

    def element(*at):
        n, c, y, x = _split(layout, at)
        block, channel = truncdiv(c, channels), truncmod(c, channels)
        column, row = truncmod(block, block_size), truncdiv(block, block_size)
        return data(*_joined(layout, n, channel, row + y * block_size, column + x * block_size))

    shape = _joined(layout, batch, channels * block_size * block_size, truncdiv(height, block_size), truncdiv(width, block_size))
    return te.compute(shape, element, name="space_to_depth", tag="injective")


def space_to_batch_nd(data, block_shape, pad_before, pad_after, pad_value=0.0):
    """Blocks along axes as pictures of a batch, after a padding."""
    count = len(block_shape)
    if len(pad_before) != count or len(pad_after) != count:
        raise ValueError("Paddings must be provided for each spatial dimension")
    rest = [0] * (len(data.shape) - count - 1)
    # The last widths are those before, where none are given after.
    value = pad_value if hasattr(pad_value, "dtype") else const(pad_value)
    padded = surrounded(data, [0, *pad_before, *rest], [0, *pad_after, *rest], value)
    batch, blocks = const(known(data.shape[0]), "int32"), [const(int(block), "int64") for block in block_shape]
    shape, axes, product = [batch], [], const(1, "int32")
    for extent, block in zip(padded.shape[1 : count + 1], blocks):
        if known(extent) % known(block):
            raise ValueError(f"Input dimension after padding ({extent}) must be divisible by its block size ({block})")
        shape += [truncdiv(extent, block), block]
        product = product * block
        axes.append(len(shape) - 1)
    kept = list(data.shape[count + 1 :])
    order = [*axes, 0, *(axis - 1 for axis in axes), *range(len(shape), len(shape) + len(kept))]
    turned = transpose(reshape(padded, [*shape, *kept]), order)
    return reshape(turned, [batch * product, *(shape[axis - 1] for axis in axes), *kept])


def batch_to_space_nd(data, block_shape, crop_begin_list, crop_end_list):
    """Pictures of a batch as blocks along axes, whose ends are cut."""
    from . import strided_slice

    count = len(block_shape)
    batch, *extents = data.shape
    blocks, product = [const(int(block), "int64") for block in block_shape], const(1, "int32")
    for block in blocks:
        product = product * block
    left = truncdiv(const(known(batch), "int32"), product)
    order = [count]
    for at in range(len(extents)):
        order.append(count + 1 + at)
        if at < count:
            order.append(at)
    turned = transpose(reshape(data, [*blocks, left, *extents]), order)
    shape = [left, *(extent * block for extent, block in zip(extents, blocks)), *extents[count:]]
    begin, end = [0] * len(shape), [known(extent) for extent in shape]
    for at, (first, last) in enumerate(zip(crop_begin_list, crop_end_list), start=1):
        begin[at], end[at] = known(first), end[at] - known(last)
        if begin[at] >= end[at]:
            raise ValueError(f"Incorrect crop sizes for ({at})th dim, can not crop more than output size")
    begin, end, strides = ([const(value, "int64") for value in values] for values in (begin, end, [1] * len(shape)))
    return strided_slice(reshape(turned, shape), begin, end, strides)


@te.tag_scope(tag="injective,fifo_buffer")
def fifo_buffer(data, buffer, axis):
    """A queue without its first elements along an axis, and with others at its end."""
    rank = len(buffer.shape)
    if len(data.shape) != rank or not 0 <= axis < rank:
        raise AssertionError(f"buffer and data must have the same number of dimensions, of which axis is one: {buffer.shape}, {data.shape}, {axis}")
    for at, (extent, given) in enumerate(zip(buffer.shape, data.shape)):
        if int(given) > int(extent) if at == axis else int(given) != int(extent):
            raise AssertionError(f"data does not fit into buffer: {data.shape}, {buffer.shape}")
    length, added = buffer.shape[axis], data.shape[axis]
    if rank > 4:
        from . import concatenate, strided_slice

        begin, end = [0] * rank, list(buffer.shape)
        begin[axis], end[axis] = added, end[axis] + added
        return strided_slice(concatenate((buffer, data), axis=axis), begin=begin, end=end)

    def element(*at):
        older, newer = ([*at[:axis], place, *at[axis + 1 :]] for place in (at[axis] + added, at[axis] - length + added))
        return if_then_else(at[axis] < length - added, buffer(*older), data(*newer))

    return te.compute(buffer.shape, element, name="new_buffer", varargs_names="ijkl"[:rank])


@te.tag_scope(tag="injective")
def flatten(data):
    """The tensor as a matrix: all axes but the first as one."""
    first, *rest = data.shape
    width = 1
    for extent in rest:
        width = width * extent
    return te.compute([first, width], lambda i, j: data(i, *unravelled(j, rest)))


def _scaled(names, channels):
    def operator(Input, Scale, Shift):  # noqa: N803
        def element(*at):
            places = [at[axis] for axis in channels]
            return Input(*at) * Scale(*places) + Shift(*places)

        with te.tag_scope(tag="broadcast"):
            return te.compute(Input.shape, element, name="ScaleShift", varargs_names=names)

    operator.__doc__ = "The elements times a factor of their channel, and a summand of it added."
    return operator


@te.tag_scope(tag="elemwise")
def leaky_relu(x, alpha):
    """The elements that are positive, and the others times a factor."""

    def element(*at):
        value = x(*at)
        return Select(value > 0, value, value * const(alpha, value.dtype))

    return te.compute(x.shape, element)


@te.tag_scope(tag="elemwise")
def softplus(x, beta=1.0, threshold=20.0):
    """The logarithm of one and the exponential; of a great element, the element."""

    def element(*at):
        value = x(*at)
        scaled = const(beta, value.dtype) * value
        return Select(scaled > const(threshold, value.dtype), value, 1 / const(beta, value.dtype) * log(1 + exp(scaled)))

    return te.compute(x.shape, element)


@te.tag_scope(tag="elemwise")
def relu(x):
    """The elements that are positive, and 0 for the others."""
    return te.compute(x.shape, lambda *at: max_(x(*at), const(0, x.dtype)))


@te.tag_scope(tag="broadcast")
def prelu(x, slope, axis=1):
    """The elements that are positive, and the others times a factor of their place along an axis."""
    if len(slope.shape) != 1 or axis >= len(x.shape):
        raise AssertionError("slope has one axis, and axis is one of x")
    if known(slope.shape[0]) == 1:
        single = slope
        slope = te.compute((get_const_int(x.shape[axis]),), lambda c: single[0], name="slope_broadcasted")
    if get_const_int(slope.shape[0]) != get_const_int(x.shape[axis]):
        raise AssertionError("slope has as many elements as x has along axis")

    def element(*at):
        value = x(*at)
        return Select(value > 0, value, value * slope(at[axis]))

    return te.compute(x.shape, element)


SPACE = {
    "depth_to_space": depth_to_space, "space_to_depth": space_to_depth, "space_to_batch_nd": space_to_batch_nd,
    "batch_to_space_nd": batch_to_space_nd, "fifo_buffer": fifo_buffer, "flatten": flatten, "scale_shift_nchw": _scaled("bcij", [1]),
    "scale_shift_nhwc": _scaled("bijc", [3]), "scale_shift_nchwc": _scaled(("b", "cc", "i", "j", "cb"), [1, 4]),
    "relu": relu, "leaky_relu": leaky_relu, "softplus": softplus, "prelu": prelu,
}  # fmt: skip
"""By the name in `topi.nn`."""
