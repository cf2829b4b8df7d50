"""Poolings whose windows are of several sizes, gradients of poolings, responses beside each other (`include/tvm/topi/nn/pooling.h`)."""

from .. import te
from ..sym import Analyzer
from ..tirx import And, Select
from ..tirx.op import cast, const, div, floordiv, floormod, if_then_else, max_, min_, min_value, power
from ._axes import computed, known, ravelled
from ._math import narrow
from ._padding import surrounded
from ._reductions import extreme


def _axis_places(layout, letters):
    """The places of axes in a layout, none of which is split."""
    axes = [letter for letter in layout if letter.isalpha()]
    if any(axes.count(letter) != 1 for letter in letters) or set("dhw") & set(axes):
        raise ValueError(f"Unsupported layout {layout}")
    return [axes.index(letter) for letter in letters]


def _kind(pool_type):
    if pool_type not in ("max", "avg"):
        raise KeyError(pool_type)
    return pool_type == "max"


def _adaptive(data, output_size, pool_type, axes):
    greatest = _kind(pool_type)
    sizes = [size if hasattr(size, "dtype") else const(int(size), "int32") for size in output_size]
    shape = list(data.shape)
    for axis, size in zip(axes, sizes, strict=True):
        shape[axis] = size

    def windows(at):
        """The indices of the elements of a window, and the axes along it."""
        places, reduced = list(at), []
        for number, (axis, size) in enumerate(zip(axes, sizes)):
            extent = data.shape[axis]
            first, past = floordiv(at[axis] * extent, size), (at[axis] + 1) * extent
            last = Select(floormod(past, size).equal(0), floordiv(past, size), floordiv(past, size) + 1)
            reduced.append(te.reduce_axis((0, last - first), name=f"rv{number}"))
            places[axis] = first + reduced[-1].var
        return places, reduced

    def combined(function):
        def element(*at):
            places, reduced = windows(at)
            return function(data(*places), axis=reduced)

        return element

    attrs = {"schedule_rule": f"meta_schedule.adaptive_pool_{pool_type}"}
    if greatest:
        return computed(shape, combined(te.max), "adaptive_pool_max", "adaptive_pool_max", attrs)
    total = computed(shape, combined(te.sum), "adaptive_pool_sum", "adaptive_pool_sum")

    def element(*at):
        count = cast(1, data.dtype)
        for axis in windows(at)[1]:
            count = count * cast(axis.dom.extent, "int32")
        return div(total(*at), count)

    return computed(shape, element, "adaptive_pool_avg", "elemwise", attrs)


def _adaptive_operator(letters, default):
    def operator(data, output_size, pool_type, layout=default):
        return _adaptive(data, output_size, pool_type, _axis_places(layout, letters))

    operator.__doc__ = "Windows of which there are as many as asked: their greatest elements, or their means."
    return operator


adaptive_pool = _adaptive_operator("HW", "NCHW")


def global_pool(data, pool_type, layout="NCHW"):
    """The greatest element of a picture, or the mean."""
    return adaptive_pool(data, [1, 1], pool_type, layout)


def pool_grad(grads, data, kernel, stride, padding, pool_type, ceil_mode=False, count_include_pad=True, layout="NCHW"):
    """The gradient of a pooling along two axes for its input."""
    greatest, axes, analyzer = _kind(pool_type), _axis_places(layout, "HW"), Analyzer()
    kernel, stride, padding = ([value if hasattr(value, "dtype") else const(int(value), "int32") for value in part] for part in (kernel, stride, padding))
    low, high = padding[:2], padding[2:]
    if ceil_mode:
        high = [width + step - 1 for width, step in zip(high, stride)]
    extents = [data.shape[axis] for axis in axes]
    sizes = [analyzer.simplify(div(extent - k + a + b, step) + 1) for extent, k, a, b, step in zip(extents, kernel, low, high, stride)]
    over = [te.reduce_axis((0, div(k + step - 1, step)), name=name) for k, step, name in zip(kernel, stride, ("wh", "ww"))]

    def at_axes(values, replaced):
        values = list(values)
        for axis, value in zip(axes, replaced):
            values[axis] = value
        return values

    def covering(at):
        """The indices of windows that an element may be in, those of the element in the padded tensor, and the first of such windows."""
        padded = [at[axis] + width for axis, width in zip(axes, low)]
        places = [div(place, step) - window.var for place, step, window in zip(padded, stride, over)]
        first = [Select(place < k, const(0, place.dtype), div(place - k, step) + 1) for place, k, step in zip(padded, kernel, stride)]
        return at_axes(at, places), padded, places, first

    if greatest:
        return _greatest_gradient(grads, data, axes, kernel, stride, low, high, sizes, over, covering, at_axes)

    def element(*at):
        windows, _, places, first = covering(at)
        count = kernel[0] * kernel[1]
        if not count_include_pad:
            starts = [place * step - width for place, step, width in zip(places, stride, low)]
            ends = [min_(start + k, extent) for start, k, extent in zip(starts, kernel, extents)]
            starts = [max_(start, const(0, start.dtype)) for start in starts]
            count = max_((ends[0] - starts[0]) * (ends[1] - starts[1]), const(1, ends[0].dtype))
        inside = [And(place >= least, place < size) for place, least, size in zip(places, first, sizes)]
        share = div(grads(*windows), count)
        return te.sum(if_then_else(And(*inside), share, const(0, grads.dtype)), axis=over)

    return computed(data.shape, element, "T_pool_grad", "pool_grad_avg")


def _greatest_gradient(grads, data, axes, kernel, stride, low, high, sizes, over, covering, at_axes):
    widths = [at_axes([0] * len(data.shape), ends) for ends in (low, high)]
    shape = at_axes(data.shape, [data.shape[axis] + a + b for axis, a, b in zip(axes, low, high)])
    padded = surrounded(data, *widths, min_value(data.dtype), "pad_temp") if any(known(width) for width in (*low, *high)) else data
    within = [te.reduce_axis((0, k), name=name) for k, name in zip(kernel, ("dh", "dw"))]

    def greatest(*at):
        places = at_axes(at, [at[axis] * step + part.var for axis, step, part in zip(axes, stride, within)])
        return extreme([ravelled(places, shape), padded(*places)], within)

    places, _ = computed(at_axes(data.shape, sizes), greatest, "maxpool_grad_argmax", "comm_reduce_idx")

    def element(*at):
        windows, there, each, first = covering(at)
        place = ravelled(at_axes(at, there), shape)
        here = And(And(*(index >= least for index, least in zip(each, first))), places(*windows).equal(place))
        return te.sum(if_then_else(here, grads(*windows), const(0, data.dtype)), axis=over)

    return computed(data.shape, element, "T_pool_grad", "pool_grad_max")


def lrn(data, size, axis=1, alpha=0.0001, beta=0.75, bias=2):
    """The elements, divided by a power of the squares of those beside them along an axis."""
    from . import divide

    if len(data.shape) != 4 or size % 2 != 1 or axis not in (1, 3) or data.dtype.type_code != 2:
        raise ValueError("topi.nn.lrn: data has four axes and fractions, size is odd, axis is 1 or 3")
    widths = [size // 2 if at == axis else 0 for at in range(4)]
    padded = surrounded(data, widths, widths, const(0), "pad_data")
    beside = te.reduce_axis((0, size), name="rxs")

    def squared(*at):
        places = [index + beside.var if place == axis else index for place, index in enumerate(at)]
        return te.sum(padded(*places) * padded(*places), axis=beside)

    squares = computed(data.shape, squared, "tensor", "sqr_sum")
    alpha, beta, bias = (const(narrow(value), data.dtype) for value in (alpha, beta, bias))
    return divide(data, computed(data.shape, lambda *at: power(bias + div(alpha * squares(*at), size), beta), "tensor", "elemwise"))


POOLING = {
    "adaptive_pool": adaptive_pool, "adaptive_pool1d": _adaptive_operator("W", "NCW"), "adaptive_pool3d": _adaptive_operator("DHW", "NCDHW"),
    "global_pool": global_pool, "pool_grad": pool_grad, "lrn": lrn,
}  # fmt: skip
"""By the name in `topi.nn`."""
