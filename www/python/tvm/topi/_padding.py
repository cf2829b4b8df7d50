"""Tensors with elements added around or between theirs, and the widths of paddings (`python/tvm/topi/nn/pad.py`)."""

from .. import te
from ..ir.expr import is_prim_expr
from ..sym import Analyzer
from ..tirx.op import all as all_of
from ..tirx.op import cast, const, floordiv, floormod, if_then_else, logical_and, max_, min_
from ._axes import absolute, computed
from .utils import equal_const_int


def _widths(padding, extents):
    """The widths before and after each of some axes: from numbers for both ends, or for each, or a rule for a window of some extents."""
    count = len(extents)
    if isinstance(padding, (tuple, list)):
        if len(padding) == 2 * count:
            return list(padding[:count]), list(padding[count:])
        if len(padding) != count:
            raise ValueError(f"Size of padding can only be {count} or {2 * count}")
        both = [width * 2 for width in padding]
    elif isinstance(padding, int):
        both = [padding * 2] * count
    elif padding == "VALID":
        both = [0] * count
    elif padding == "SAME":
        both = [extent - 1 for extent in extents]
    else:
        raise ValueError(f"Unknown padding option {padding}")
    before = [(width + 1) // 2 for width in both]
    return before, [width - first for width, first in zip(both, before)]


def get_pad_tuple_generic(padding, kernel):
    """The widths before each axis, and those after."""
    return _widths(padding, kernel)


def _flat(count):
    def widths(padding, kernel):
        before, after = _widths(padding, list(kernel)[:count] if isinstance(kernel, (tuple, list)) else [None] * count)
        return (*before, *after)

    widths.__doc__ = "The widths before the axes and then those after them."
    return widths


get_pad_tuple, get_pad_tuple1d, get_pad_tuple3d = _flat(2), _flat(1), _flat(3)


def _ends(data, pad_before, pad_after):
    after = pad_after if pad_after else pad_before
    for name, widths in (("pad_before", pad_before), ("pad_after", after)):
        if len(widths) != len(data.shape):
            raise ValueError(f"Input dimension and {name} dismatch : {len(data.shape)} vs {len(widths)}")
    return after


def get_padded_shape(data, pad_before, pad_after=None):
    """The shape of a tensor with elements added around its own."""
    after = _ends(data, pad_before, pad_after)
    return tuple(Analyzer().simplify(sum_of) for sum_of in (extent + low + high for extent, low, high in zip(data.shape, pad_before, after)))


def _unpadded(low, high):
    return equal_const_int(low, 0) and equal_const_int(high, 0)


@te.tag_scope(tag="injective,pad")
def pad(data, pad_before, pad_after=None, pad_value=0.0, name="PadInput", attrs=None):
    """The tensor, surrounded by a number."""
    after = _ends(data, pad_before, pad_after)
    value = pad_value if is_prim_expr(pad_value) else const(pad_value, data.dtype)

    def element(*at):
        inside, places = [], []
        for index, extent, low, high in zip(at, data.shape, pad_before, after):
            if not _unpadded(low, high):
                inside += [index >= low, index < extent + low]
                index = index - low
            places.append(index)
        return if_then_else(all_of(*inside), data(*places), value) if inside else data(*places)

    return te.compute(get_padded_shape(data, pad_before, after), element, name=name, attrs=attrs)


def surrounded(data, pad_before, pad_after, pad_value, name="T_pad"):
    """The tensor, surrounded by a number, as operators of C++ have it: an end that nothing is added to is not asked."""
    before, after = ([cast(width, "int32") for width in widths] for widths in (pad_before, pad_after))
    analyzer = Analyzer()

    def element(*at):
        inside, places, asked = const(True, "bool"), [], False
        for index, extent, low, high in zip(at, data.shape, before, after):
            if not equal_const_int(low, 0):
                inside, asked = logical_and(inside, index >= low), True
            if not equal_const_int(high, 0):
                inside, asked = logical_and(inside, analyzer.simplify(index < low + extent)), True
            places.append(index if equal_const_int(low, 0) else index - low)
        return if_then_else(inside, data(*places), pad_value) if asked else data(*places)

    shape = [analyzer.simplify(extent + low + high) for extent, low, high in zip(data.shape, before, after)]
    return computed(shape, element, name, "elemwise")


@te.tag_scope(tag="injective,pad")
def mirror_pad(data, pad_before, pad_after=None, mode="SYMMETRIC", name="MirrorPadInput"):
    """The tensor, surrounded by its mirror image, with the elements at its ends twice or once."""
    after = _ends(data, pad_before, pad_after)
    if mode not in ("SYMMETRIC", "REFLECT"):
        raise AssertionError(f'mode is "SYMMETRIC" or "REFLECT", not "{mode}"')
    twice = int(mode == "SYMMETRIC")

    def mirrored(index, extent, low, high):
        if _unpadded(low, high):
            return index
        place = index - low
        first = if_then_else(index < low, -place - twice, place)
        return if_then_else(index >= extent + low, 2 * (extent - 1) - place + twice, first)

    return te.compute(get_padded_shape(data, pad_before, after), lambda *at: data(*(mirrored(*ends) for ends in zip(at, data.shape, pad_before, after))), name=name)


def _around(default, place, described):
    @te.tag_scope(tag="injective,pad")
    def padded(data, pad_before, pad_after=None, name=default):
        def element(*at):
            return data(*(place(index - low, extent) for index, low, extent in zip(at, pad_before, data.shape)))

        return te.compute(get_padded_shape(data, pad_before, pad_after), element, name=name)

    padded.__doc__ = described
    return padded


reflect_pad = _around(
    "ReflectPadInput",
    lambda place, extent: (extent - 1) - absolute((extent - 1) - absolute(place)),
    "The tensor, surrounded by its mirror image, with the elements at its ends once.",
)
replicate_pad = _around(
    "ReplicatePadInput",
    lambda place, extent: max_(const(0, "int32"), min_(extent - 1, place)),
    "The tensor, surrounded by the elements at its ends.",
)
circular_pad = _around(
    "CircularPadInput",
    lambda place, extent: floormod(place + extent, extent),
    "The tensor, surrounded by itself.",
)


@te.tag_scope(tag="injective,dilate")
def dilate(data, strides, dilation_value=0.0, name="DilatedInput"):
    """The tensor with a number between its elements."""
    if len(strides) != len(data.shape):
        raise ValueError(f"data dimension and strides size dismatch : {len(data.shape)} vs {len(strides)}")
    shape = [Analyzer().simplify((extent - 1) * stride + 1) for extent, stride in zip(data.shape, strides)]

    def element(*at):
        there, places = [], []
        for index, stride in zip(at, strides):
            apart = not equal_const_int(stride, 1)
            if apart:
                there.append(floormod(index, stride).equal(0))
            places.append(floordiv(index, stride) if apart else index)
        return if_then_else(all_of(*there), data(*places), const(dilation_value, data.dtype)) if there else data(*places)

    return te.compute(shape, element, name=name)


PADDING = {
    "get_pad_tuple": get_pad_tuple, "get_pad_tuple1d": get_pad_tuple1d, "get_pad_tuple3d": get_pad_tuple3d,
    "get_pad_tuple_generic": get_pad_tuple_generic, "get_padded_shape": get_padded_shape, "pad": pad, "mirror_pad": mirror_pad,
    "reflect_pad": reflect_pad, "replicate_pad": replicate_pad, "circular_pad": circular_pad, "dilate": dilate,
}  # fmt: skip
"""By the name in `topi.nn`."""
