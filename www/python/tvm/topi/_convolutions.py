"""Convolutions along any axes, in any layout (`python/tvm/topi/nn/conv2d.py`, `depthwise_conv2d.py`)."""

from .. import te
from ..tirx.op import floordiv, floormod
from ._padding import dilate, get_pad_tuple, get_pad_tuple_generic, pad
from .utils import get_const_tuple, simplify


def listed(value, count):
    """A number for each axis; one number is that of all."""
    if not isinstance(value, (tuple, list)):
        return [value] * count
    if len(value) != count:
        raise AssertionError(f"{count} numbers are needed here, not {len(value)}")
    return list(value)


def _places(layout, first):
    """The places in a layout of two of its axes and then of the others, in order."""
    return [layout.find(axis) for axis in first] + [at for at, axis in enumerate(layout) if axis not in first]


def _arranged(places, values):
    """Values, in the order of their places."""
    return [value for _, value in sorted(zip(places, values), key=lambda pair: pair[0])]


def conv(inp, filt, stride, padding, dilation, groups, data_layout, kernel_layout="", out_dtype=None, auto_scheduler_rewritten_layout=None,
         meta_schedule_original_shape=None, auto_scheduler_should_rewrite_layout=False):  # fmt: skip
    """A convolution along all axes but the batch and the channels."""
    if auto_scheduler_rewritten_layout or meta_schedule_original_shape:
        raise RuntimeError("LEGACY-FLOW triggered, to be removed")
    dim = len(inp.shape) - 2
    out_dtype = out_dtype or inp.dtype
    strides, dilations = listed(stride, dim), listed(dilation, dim)
    data_places = _places(data_layout, "NC")
    if kernel_layout:
        kernel_places = _places(kernel_layout, "OI")
    else:
        first_spatial = min(data_places[2:])
        kernel_places = [0, 1, *range(2, dim + 2)] if data_places[1] < first_spatial else [dim + 1, dim, *range(dim)]
    shape, kernel = get_const_tuple(inp.shape), get_const_tuple(filt.shape)
    batch, channels, *extents = (shape[at] for at in data_places)
    filters, _, *windows = (kernel[at] for at in kernel_places)
    for name, count in (("input", channels), ("output", filters)):
        if isinstance(count, int) and count % groups:
            raise AssertionError(f"{name} channels must divide group size")
    before, after = get_pad_tuple_generic(padding, [(k - 1) * dil + 1 for k, dil in zip(windows, dilations)])
    sizes = [simplify((extent - (k - 1) * dil - 1 + low + high) // step + 1) for extent, k, dil, low, high, step in zip(extents, windows, dilations, before, after, strides)]
    if any(isinstance(size, int) and size <= 0 for size in sizes):
        raise ValueError(f"Invalid conv parameters: lead to negative output shape {sizes}.")
    padded = pad(inp, _arranged(data_places, [0, 0, *before]), _arranged(data_places, [0, 0, *after]), name="pad_temp")
    reduced = te.reduce_axis((0, channels // groups), name="rc")
    windowed = [te.reduce_axis((0, k), name=f"r{axis}") for axis, k in zip("yxz", windows)]

    def element(*at):
        image, filter_at, *places = (at[place] for place in data_places)
        channel = reduced if groups == 1 else filter_at // (filters // groups) * (channels // groups) + reduced.var
        spots = [place * step + axis.var * dil for place, step, axis, dil in zip(places, strides, windowed, dilations)]
        value = padded[tuple(_arranged(data_places, [image, channel, *spots]))].astype(out_dtype)
        weight = filt[tuple(_arranged(kernel_places, [filter_at, reduced, *windowed]))].astype(out_dtype)
        return te.sum(value * weight, axis=axes)

    order = [at for _, at in sorted(zip(data_places, range(dim + 2)))]
    axes = [[reduced, *windowed][at - (at > order[0])] for at in order[1:]]
    name = f"{'group_' if groups > 1 else ''}conv{dim}d_{data_layout.lower()}"
    return te.compute(
        _arranged(data_places, [batch, filters, *sizes]), element, name=name, tag=name,
        attrs={"layout_free_placeholders": [filt]} if auto_scheduler_should_rewrite_layout else {},
        varargs_names=_arranged(data_places, ["nn", "ff", "yy", "xx", "zz"][: dim + 2]),
    )  # fmt: skip


def conv1d(data, kernel, strides=1, padding="VALID", dilation=1, groups=1, data_layout="NCW", kernel_layout="", out_dtype=None):
    """A convolution along one axis."""
    return conv(data, kernel, strides, padding, dilation, groups, data_layout, kernel_layout, out_dtype)


def conv2d(input, filter, strides, padding, dilation, data_layout="NCHW", kernel_layout="", out_dtype=None):  # noqa: A002
    """A convolution along two axes."""
    return conv(input, filter, strides, padding, dilation, 1, data_layout, kernel_layout, out_dtype)


def _line(layout, kernel_layout):
    def of_line(data, kernel, strides=1, padding="VALID", dilation=1, out_dtype=None):
        return conv(data, kernel, strides, padding, dilation, 1, layout, kernel_layout, out_dtype)

    def of_line_in_groups(data, kernel, strides=1, padding="VALID", dilation=1, groups=1, out_dtype=None):
        return conv(data, kernel, strides, padding, dilation, groups, layout, kernel_layout, out_dtype)

    of_line.__doc__ = of_line_in_groups.__doc__ = f"A convolution along one axis of the layout {layout}."
    return of_line, of_line_in_groups


def _whole(layout, kernel_layout):
    def of_layout(Input, Filter, stride, padding, dilation, out_dtype=None):  # noqa: N803
        return conv(Input, Filter, stride, padding, dilation, 1, layout, kernel_layout, out_dtype)

    of_layout.__doc__ = f"A convolution in the layout {layout}."
    return of_layout


def _grouped(layout, kernel_layout):
    def of_groups(Input, Filter, stride, padding, dilation, groups, out_dtype=None):  # noqa: N803
        return conv(Input, Filter, stride, padding, dilation, groups, layout, kernel_layout, out_dtype)

    of_groups.__doc__ = f"A convolution of groups of channels in the layout {layout}."
    return of_groups


conv1d_ncw, group_conv1d_ncw = _line("NCW", "OIW")
conv1d_nwc, group_conv1d_nwc = _line("NWC", "WIO")


def conv2d_nhwc(Input, Filter, stride, padding, dilation, out_dtype="float32", auto_scheduler_rewritten_layout="",  # noqa: N803
                meta_schedule_original_shape=None):  # fmt: skip
    """A convolution in the layout NHWC, whose filter may be laid out anew."""
    return conv(Input, Filter, stride, padding, dilation, 1, "NHWC", "HWIO", out_dtype, auto_scheduler_rewritten_layout, meta_schedule_original_shape, True)


def conv3d_ndhwc(Input, Filter, stride, padding, dilation, groups, out_dtype="float32", auto_scheduler_rewritten_layout="",  # noqa: N803
                 meta_schedule_origin_shape=None):  # fmt: skip
    """A convolution in the layout NDHWC."""
    return conv(Input, Filter, stride, padding, dilation, groups, "NDHWC", "DHWIO", out_dtype, auto_scheduler_rewritten_layout, meta_schedule_origin_shape)


def windows_of(heights, widths, stride, padding, dilation):
    """The steps, the distances, the widths of a padding before and after, and the counts of windows along two axes. An axis is
    given by the extents of the tensor and of the window."""
    steps, dilations = listed(stride, 2), listed(dilation, 2)
    dilated = [(k - 1) * dil + 1 for (_, k), dil in zip((heights, widths), dilations)]
    top, left, down, right = get_pad_tuple(padding, tuple(dilated))
    counts = [simplify((extent - k + low + high) // step + 1) for (extent, _), k, low, high, step in zip((heights, widths), dilated, (top, left), (down, right), steps)]
    return steps, dilations, [top, left], [down, right], counts


def depthwise_conv2d_nchw(Input, Filter, stride, padding, dilation, out_dtype=None):  # noqa: N803
    """A convolution of each channel by itself in the layout NCHW."""
    out_dtype = out_dtype or Input.dtype
    batch, channels, height, width = Input.shape
    _, multiplier, rows, columns = Filter.shape
    steps, dilations, before, after, counts = windows_of((height, rows), (width, columns), stride, padding, dilation)
    padded = pad(Input, [0, 0, *before], [0, 0, *after], name="PaddedInput")
    di, dj = te.reduce_axis((0, rows), name="di"), te.reduce_axis((0, columns), name="dj")

    def element(b, c, i, j):
        channel = floordiv(c, multiplier)
        spots = [place * step + axis.var * dil for place, step, axis, dil in zip((i, j), steps, (di, dj), dilations)]
        weight = Filter[channel, floormod(c, multiplier), di, dj]
        return te.sum(padded[(b, channel, *spots)].astype(out_dtype) * weight.astype(out_dtype), axis=[di, dj])

    shape = [batch, simplify(channels * multiplier), *counts]
    return te.compute(shape, element, name="DepthwiseConv2d", tag="depthwise_conv2d_nchw")


def depthwise_conv2d_nhwc(Input, Filter, stride, padding, dilation, kernel_layout="HWOI", out_dtype=None):  # noqa: N803
    """A convolution of each channel by itself in the layout NHWC."""
    out_dtype = out_dtype or Input.dtype
    batch, height, width, channels = Input.shape
    rows, columns, *ends = Filter.shape
    turned = kernel_layout == "HWIO"
    multiplier = ends[0 if turned else 1]
    steps, dilations, before, after, counts = windows_of((height, rows), (width, columns), stride, padding, dilation)
    padded = pad(Input, [0, *before, 0], [0, *after, 0], name="PaddedInput")
    di, dj = te.reduce_axis((0, rows), name="di"), te.reduce_axis((0, columns), name="dj")

    def element(b, i, j, c):
        channel, which = floordiv(c, multiplier), floormod(c, multiplier)
        spots = [place * step + axis.var * dil for place, step, axis, dil in zip((i, j), steps, (di, dj), dilations)]
        weight = Filter[(di, dj, *((which, channel) if turned else (channel, which)))]
        return te.sum(padded[(b, *spots, channel)].astype(out_dtype) * weight.astype(out_dtype), axis=[di, dj])

    shape = [batch, *counts, simplify(channels * multiplier)]
    return te.compute(shape, element, name="DepthwiseConv2d", tag="depthwise_conv2d_nhwc")


def depthwise_conv2d_backward_input_nhwc(Filter, Out_grad, oshape, ishape, stride, padding):  # noqa: N803
    """The gradient of a convolution of each channel by itself for its input."""
    batch, height, width, channels = ishape
    rows, columns, _, multiplier = Filter.shape
    down, right = listed(stride, 2)
    apart = dilate(Out_grad, [1, down, right, 1], name="dilated_out_grad")
    top, left, bottom, end = get_pad_tuple(padding, (rows, columns))
    before = [0, rows - 1 - top, columns - 1 - left, 0]
    after = [0, rows - 1 - bottom + (down - 1), columns - 1 - end + (right - 1), 0]
    padded = pad(apart, before, after, name="padded_out_grad")
    dh, dw, dc = (te.reduce_axis((0, extent), name=name) for extent, name in ((rows, "dh"), (columns, "dw"), (multiplier, "dc")))

    def element(b, h, w, c):
        weight = Filter[rows - 1 - dh.var, columns - 1 - dw.var, c, dc]
        return te.sum(padded[b, h + dh.var, w + dw.var, c * multiplier + dc.var] * weight, axis=[dh, dw, dc])

    return te.compute((batch, height, width, channels), element, tag="depthwise_conv2d_backward_input_nhwc")


def depthwise_conv2d_backward_weight_nhwc(Input, Out_grad, oshape, fshape, stride, padding):  # noqa: N803
    """The gradient of a convolution of each channel by itself for its filter."""
    rows, columns, _, multiplier = fshape
    down, right = listed(stride, 2)
    top, left, bottom, end = get_pad_tuple(padding, (rows, columns))
    padded = pad(Input, [0, top, left, 0], [0, bottom, end, 0], name="padded_in")
    _, out_rows, out_columns, _ = get_const_tuple(Out_grad.shape)
    dh, dw, db = (te.reduce_axis((0, extent), name=name) for extent, name in ((out_rows, "dh"), (out_columns, "dw"), (oshape[0], "db")))

    def element(fh, fw, c, m):
        gradient = Out_grad[db, dh, dw, c * multiplier + floormod(m, multiplier)]
        return te.sum(gradient * padded[db, fh + dh.var * down, fw + dw.var * right, c], axis=[db, dh, dw])

    shape = (rows, columns, get_const_tuple(Input.shape)[3], multiplier)
    return te.compute(shape, element, tag="depthwise_conv2d_backward_weight_nhwc")


def depthwise_conv2d_NCHWc(Input, Filter, stride, padding, dilation, layout, out_layout, out_dtype=None):  # noqa: N802, N803
    """No target has it."""
    raise ValueError("missing register for topi.nn.depthwise_conv2d_NCHWc")


CONVOLUTIONS = {
    "conv": conv, "conv1d": conv1d, "conv1d_ncw": conv1d_ncw, "conv1d_nwc": conv1d_nwc, "group_conv1d_ncw": group_conv1d_ncw,
    "group_conv1d_nwc": group_conv1d_nwc, "conv2d": conv2d, "conv2d_nchw": _whole("NCHW", "OIHW"),
    "conv2d_hwcn": _whole("HWCN", "HWIO"), "conv2d_nhwc": conv2d_nhwc, "group_conv2d_nchw": _grouped("NCHW", "OIHW"),
    "group_conv2d_nhwc": _grouped("NHWC", "HWIO"), "conv3d_ncdhw": _grouped("NCDHW", "OIDHW"), "conv3d_ndhwc": conv3d_ndhwc,
    "depthwise_conv2d_nchw": depthwise_conv2d_nchw, "depthwise_conv2d_nhwc": depthwise_conv2d_nhwc,
    "depthwise_conv2d_backward_input_nhwc": depthwise_conv2d_backward_input_nhwc, "depthwise_conv2d_NCHWc": depthwise_conv2d_NCHWc,
    "depthwise_conv2d_backward_weight_nhwc": depthwise_conv2d_backward_weight_nhwc,
}  # fmt: skip
"""By the name in `topi.nn`."""
