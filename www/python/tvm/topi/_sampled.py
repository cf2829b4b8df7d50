"""Convolutions over places beside the grid or of two tensors (`python/tvm/topi/nn/deformable_conv2d.py`, `correlation.py`, `image/dilation2d.py`)."""

from .. import te
from ..tirx.op import all as all_of
from ..tirx.op import any as any_of
from ..tirx.op import cast, const, floor, floordiv, floormod, if_then_else
from ._axes import absolute
from ._convolutions import listed, windows_of
from ._padding import get_pad_tuple, pad
from .utils import get_const_tuple


def _bilinear(element, in_y, in_x, max_y, max_x):
    """The mean of the four elements around a place, the closer ones more."""
    corners = []
    for place in (in_y, in_x):
        low = cast(floor(place), "int32")
        high = place - low
        corners.append([(1 - high, low), (high, low + 1)])
    made = const(0, "int32")
    for wide, x in corners[1]:
        for tall, y in corners[0]:
            inside = all_of(0 <= y, y <= max_y, 0 <= x, x <= max_x)
            made = made + if_then_else(inside, wide * tall * element(y, x), 0)
    return made


def bilinear_sample_nchw(data, indices, max_y, max_x):
    """The mean of the four elements around a place in the layout NCHW."""
    n, c, y, x = indices
    return _bilinear(lambda row, column: data(n, c, row, column), y, x, max_y, max_x)


def bilinear_sample_nhwc(data, indices, max_y, max_x):
    """The mean of the four elements around a place in the layout NHWC."""
    n, y, x, c = indices
    return _bilinear(lambda row, column: data(n, row, column, c), y, x, max_y, max_x)


def _deformable(data, offset, kernel, strides, padding, dilation, deformable_groups, groups, out_dtype, first):
    """`first` is true if the channels stand before the picture."""
    out_dtype = out_dtype or data.dtype
    steps, dilations = listed(strides, 2), listed(dilation, 2)
    batch, *rest = get_const_tuple(data.shape)
    channels, *extents = rest if first else [rest[2], *rest[:2]]
    filters, inner, rows, columns = get_const_tuple(kernel.shape) if first else [get_const_tuple(kernel.shape)[at] for at in (3, 2, 0, 1)]
    sizes = get_const_tuple(offset.shape)[2:] if first else get_const_tuple(offset.shape)[1:3]
    if channels % deformable_groups or groups != 1:
        raise AssertionError("channels are a multiple of deformable_groups, and groups is 1")
    per_group = inner // deformable_groups
    low = get_pad_tuple(padding, tuple((k - 1) * dil + 1 for k, dil in zip((rows, columns), dilations)))[:2]
    sample = bilinear_sample_nchw if first else bilinear_sample_nhwc
    rc, ry, rx = (te.reduce_axis((0, extent), name=name) for extent, name in ((channels, "rc"), (rows, "ry"), (columns, "rx")))

    def moved(n, c, kh, kw, y, x):
        places = []
        for at, (place, tap, step, dil, width) in enumerate(zip((y, x), (kh, kw), steps, dilations, low)):
            which = c // per_group * (columns * rows * 2) + (kh * columns + kw) * 2 + at
            shift = offset[(n, which, y, x) if first else (n, y, x, which)]
            places.append(place * step - width + tap * dil + shift)
        outside = any_of(*(place < 0 for place in places), *(place >= extent for place, extent in zip(places, extents)))
        indices = (n, c, *places) if first else (n, *places, c)
        return if_then_else(outside, const(0.0, data.dtype), sample(data, indices, *(extent - 1 for extent in extents)))

    if first:
        taken = te.compute((batch, channels, rows, columns, *sizes), lambda n, c, kh, kw, y, x: moved(n, c, kh, kw, y, x), tag="data_deform")
        return te.compute(
            (batch, filters, *sizes),
            lambda n, f, y, x: te.sum(taken[n, rc, ry, rx, y, x].astype(out_dtype) * kernel[f, rc, ry, rx].astype(out_dtype), axis=[rc, ry, rx]),
            tag="deformable_conv2d_nchw",
        )
    taken = te.compute((batch, rows, columns, channels, *sizes), lambda n, kh, kw, c, y, x: moved(n, c, kh, kw, y, x), tag="data_deform")
    return te.compute(
        (batch, *sizes, filters),
        lambda n, y, x, f: te.sum(taken[n, ry, rx, rc, y, x].astype(out_dtype) * kernel[ry, rx, rc, f].astype(out_dtype), axis=[ry, rx, rc]),
        tag="deformable_conv2d_nhwc",
    )


def deformable_conv2d_nchw(data, offset, kernel, strides, padding, dilation, deformable_groups, groups, out_dtype):
    """A convolution in the layout NCHW, whose places another tensor moves."""
    return _deformable(data, offset, kernel, strides, padding, dilation, deformable_groups, groups, out_dtype, True)


def deformable_conv2d_nhwc(data, offset, kernel, strides, padding, dilation, deformable_groups, groups, out_dtype):
    """A convolution in the layout NHWC, whose places another tensor moves."""
    return _deformable(data, offset, kernel, strides, padding, dilation, deformable_groups, groups, out_dtype, False)


def correlation_nchw(data1, data2, kernel_size, max_displacement, stride1, stride2, padding, is_multiply):
    """The products, or the distances, of windows of one tensor and windows near them of another."""
    batch, channels, *extents = get_const_tuple(data1.shape)
    if get_const_tuple(data2.shape) != (batch, channels, *extents):
        raise AssertionError("data1 and data2 should have the same shape")
    if kernel_size <= 0 or kernel_size % 2 == 0:
        raise AssertionError("kernel_size should be non-negative odd number")
    if not isinstance(padding, int) and (not isinstance(padding, (tuple, list)) or len(padding) not in (2, 4)):
        raise ValueError("invalid padding")
    widths = [padding] * 4 if isinstance(padding, int) else [*padding, *padding] if len(padding) == 2 else list(padding)
    first, second = (pad(data, [0, 0, *widths[:2]], [0, 0, *widths[2:]]) for data in (data1, data2))
    border, radius = max_displacement + (kernel_size - 1) // 2, max_displacement // stride2
    count = 2 * radius + 1
    sizes = [(extent + low + high - 2 * border + stride1 - 1) // stride1 for extent, low, high in zip(extents, widths[:2], widths[2:])]
    rc, ry, rx = (te.reduce_axis((0, extent), name=name) for extent, name in ((channels, "rc"), (kernel_size, "ry"), (kernel_size, "rx")))

    def element(n, q, i, j):
        y, x = (place * stride1 + max_displacement for place in (i, j))
        near = [y + (floordiv(q, count) - radius) * stride2, x + (floormod(q, count) - radius) * stride2]
        a, b = first(n, rc, y + ry.var, x + rx.var), second(n, rc, near[0] + ry.var, near[1] + rx.var)
        return te.sum(a * b if is_multiply else absolute(a - b), axis=[rc, ry, rx])

    made = te.compute((batch, count * count, *sizes), element, tag="correlation_nchw")
    return made / (kernel_size * kernel_size * channels)


def _dilated(layout, padded_name, tag):
    first = layout == "NCHW"

    def operator(input, filter, stride, padding, dilations, out_dtype=None):  # noqa: A002
        out_dtype = out_dtype or input.dtype
        batch, *rest = input.shape
        channels, *extents = rest if first else [rest[2], *rest[:2]]
        given, *windows = filter.shape if first else [filter.shape[at] for at in (2, 0, 1)]
        if channels.value != given.value:
            raise AssertionError("For Dilation2D input and filter channels should be same.")
        steps, gaps, before, after, sizes = windows_of(*zip(extents, windows), stride, padding, dilations)
        ends = ([0, 0, *before], [0, 0, *after]) if first else ([0, *before, 0], [0, *after, 0])
        padded = pad(input, *ends, name=padded_name)
        ry, rx = (te.reduce_axis((0, extent), name=name) for extent, name in zip(windows, ("ry", "rx")))

        def value(nn, ff, *places):
            spots = [place * step + axis.var * gap for place, step, axis, gap in zip(places, steps, (ry, rx), gaps)]
            one = padded[(nn, ff, *spots) if first else (nn, *spots, ff)]
            other = filter[(ff, ry, rx) if first else (ry, rx, ff)]
            return te.max(one.astype(out_dtype) + other.astype(out_dtype), axis=[ry, rx])

        if first:
            return te.compute((batch, channels, *sizes), lambda nn, ff, yy, xx: value(nn, ff, yy, xx), tag=tag)
        return te.compute((batch, *sizes, channels), lambda nn, yy, xx, ff: value(nn, ff, yy, xx), tag=tag)

    operator.__doc__ = f"The greatest sums of elements of a window and of a filter, in the layout {layout}."
    return operator


SAMPLED = {
    "nn.bilinear_sample_nchw": bilinear_sample_nchw, "nn.bilinear_sample_nhwc": bilinear_sample_nhwc,
    "nn.deformable_conv2d_nchw": deformable_conv2d_nchw, "nn.deformable_conv2d_nhwc": deformable_conv2d_nhwc,
    "nn.correlation_nchw": correlation_nchw, "image.dilation2d_nchw": _dilated("NCHW", "pad_temp", "dilation2d_nchw"),
    "image.dilation2d_nhwc": _dilated("NHWC", "padded_input", "dilation2d_nhcw"),
}  # fmt: skip
"""By the name in `topi`."""
