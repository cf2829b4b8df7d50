"""Convolutions that are transposed: of a tensor with zeros between its elements (`python/tvm/topi/nn/conv2d_transpose.py`)."""

from .. import te
from ._convolutions import listed
from ._padding import dilate, get_pad_tuple_generic, pad
from .utils import simplify

_AXES = {1: "w", 2: "hw", 3: "dhw"}


def _prepared(data, kernel, strides, padding, output_padding, name, groups=1):
    """The tensor with zeros between and around its elements, and the filter turned around."""
    dim = len(data.shape) - 2
    _, channels, *_ = data.shape
    _, filters, *windows = kernel.shape
    strides, extra = listed(strides, dim), listed(output_padding, dim)
    if any(more >= stride for more, stride in zip(extra, strides)):
        raise AssertionError(f"output_padding {extra} is to be less than strides {strides}")
    filters = simplify(filters) if dim == 1 else filters
    apart = dilate(data, [1, 1, *strides], name="data_dilate")
    before, after = get_pad_tuple_generic(padding, tuple(windows))
    low = [k - 1 - width for k, width in zip(windows, before)]
    high = [k - 1 - width + more for k, width, more in zip(windows, after, extra)]
    padded = pad(apart, [0, 0, *low], [0, 0, *high], name="data_pad")

    def turned(o, i, *at):
        return kernel[(i, o, *(k - 1 - place for k, place in zip(windows, at)))]

    names = (*("io" if groups > 1 and dim == 2 else "oi"), *_AXES[dim])
    made = te.compute((filters, channels, *windows), lambda *at: turned(*at), name=name, varargs_names=names)
    return padded, made


def _transposed(data, kernel, strides, padding, out_dtype, output_padding, groups, name):
    dim = len(data.shape) - 2
    batch, channels, *_ = data.shape
    if groups > 1 and int(channels) % groups:
        raise AssertionError(f"input channels {channels} must divide group size {groups}")
    padded, turned = _prepared(data, kernel, strides, padding, output_padding, "kernel" if dim == 1 else "kernel_transform", groups)
    _, channels, *extents = padded.shape
    filters, _, *windows = turned.shape
    out_channels = simplify(filters * groups) if groups > 1 else kernel.shape[1] if dim == 1 else simplify(filters)
    sizes = [simplify(extent - k + 1) for extent, k in zip(extents, windows)]
    axes = [te.reduce_axis((0, channels if groups == 1 else channels // groups), name="dc")]
    axes += [te.reduce_axis((0, k), name=f"d{axis}") for axis, k in zip(_AXES[dim], windows)]

    def element(b, c, *at):
        channel, which = axes[0].var, c
        if groups > 1:
            channel = c // (out_channels // groups) * (channels // groups) + channel
            which = c % (out_channels // groups)
        value = padded[(b, channel, *(place + axis.var for place, axis in zip(at, axes[1:])))]
        weight = turned[(which, channel, *axes[1:])]
        return te.sum(value.astype(out_dtype) * weight.astype(out_dtype), axis=axes)

    shape = (batch, out_channels, *sizes)
    tag = f"{'group_' if groups > 1 else ''}{name}"
    return te.compute(shape, lambda *at: element(*at), tag=tag, varargs_names=("b", "c", *_AXES[dim]))


def _operators(name):
    def whole(data, kernel, strides, padding, out_dtype, output_padding):
        return _transposed(data, kernel, strides, padding, out_dtype, output_padding, 1, name)

    def grouped(data, kernel, stride, padding, out_dtype, output_padding, groups):
        return _transposed(data, kernel, stride, padding, out_dtype or data.dtype, output_padding, groups, name)

    def preprocess(data, kernel, strides, padding, out_dtype, output_padding):
        return _prepared(data, kernel, strides, padding, output_padding, "kernel_transform")

    whole.__doc__, grouped.__doc__ = "A convolution that is transposed.", "A convolution of groups of channels that is transposed."
    preprocess.__doc__ = "The tensor with zeros between and around its elements, and the filter turned around."
    return whole, grouped, preprocess


conv1d_transpose_ncw, group_conv1d_transpose_ncw, _ = _operators("conv1d_transpose_ncw")
conv2d_transpose_nchw, group_conv2d_transpose_nchw, conv2d_transpose_nchw_preprocess = _operators("conv2d_transpose_nchw")
conv3d_transpose_ncdhw, group_conv3d_transpose_ncdhw, conv3d_transpose_ncdhw_preprocess = _operators("conv3d_transpose_ncdhw")
declaration_conv2d_transpose_impl, declaration_conv3d_transpose_impl = _operators("conv2d_transpose_nchw")[0], _operators("conv3d_transpose_ncdhw")[0]

TRANSPOSED = {name: operator for name, operator in list(globals().items()) if "transpose" in name and not name.startswith("_")}
"""By the name in `topi.nn`."""
