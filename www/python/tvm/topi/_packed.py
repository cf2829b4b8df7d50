"""Convolutions and products of tensors whose channels are split into blocks (`python/tvm/topi/nn/conv2d.py`, `dense.py`)."""

from .. import te
from ..tirx.op import floordiv, floormod
from ._convolutions import listed
from ._padding import get_pad_tuple, pad
from .utils import get_const_tuple


class _Blocks:
    """The parts of a convolution in the layout NCHWc."""

    def __init__(self, data, rows, columns, stride, padding, dilation, name):
        self.steps, self.dilations = listed(stride, 2), listed(dilation, 2)
        self.batch, self.chunks, *extents, self.block = get_const_tuple(data.shape)
        self.channels = self.chunks * self.block
        dilated = [(k - 1) * dil + 1 for k, dil in zip((rows, columns), self.dilations)]
        top, left, down, right = get_pad_tuple(padding, tuple(dilated))
        low, high = (top, left), (down, right)
        self.sizes = [(extent + a + b - k) // step + 1 for extent, a, b, k, step in zip(extents, low, high, dilated, self.steps)]
        padded = any(a + b != 0 for a, b in zip(low, high))
        self.data = pad(data, (0, 0, *low, 0), (0, 0, *high, 0), name=name) if padded else data
        self.windows = [te.reduce_axis((0, rows), name="kh"), te.reduce_axis((0, columns), name="kw")]

    def spots(self, places, dilations=None):
        """The indices along the two axes of windows."""
        return [place * step + axis.var * dil for place, step, axis, dil in zip(places, self.steps, self.windows, dilations or self.dilations)]


def _as(value, dtype):
    return value if dtype is None else value.astype(dtype)


def conv2d_NCHWc(data, kernel, stride, padding, dilation, layout, out_layout, out_dtype="float32"):  # noqa: N802
    """A convolution of blocks of channels."""
    from ..target import Target

    Target.current(allow_none=False)
    filters, group_chunks, rows, columns, inner, block = get_const_tuple(kernel.shape)
    whole = _Blocks(data, rows, columns, stride, padding, dilation, "data_pad")
    groups = whole.channels // (group_chunks * inner)
    ic = te.reduce_axis((0, whole.channels // groups), name="ic")

    def element(n, chunk, oh, ow, oc_block):
        of_kernel = floordiv(ic.var, whole.block)
        outer = of_kernel if groups == 1 else chunk // (filters // groups) * (whole.chunks // groups) + of_kernel
        within = floormod(ic.var, whole.block)
        value = whole.data[(n, outer, *whole.spots((oh, ow)), within)]
        weight = kernel[(chunk, of_kernel, *whole.windows, within, oc_block)]
        return te.sum(value.astype(out_dtype) * weight.astype(out_dtype), axis=[ic, *whole.windows])

    names = ("n", "oc_chunk" if groups == 1 else "occ", "oh", "ow", "oc_block")
    shape = (whole.batch, filters, *whole.sizes, block)
    return te.compute(shape, lambda *at: element(*at), name="conv2d_NCHWc", tag="conv2d_NCHWc", varargs_names=names)


def conv2d_NCHWc_OIHWo(data, kernel, stride, padding, dilation, layout, out_layout, out_dtype="float32"):  # noqa: N802
    """A convolution of blocks of channels, whose filter has blocks of its results alone."""
    filters, *ins, rows, columns, block = get_const_tuple(kernel.shape)
    split = len(kernel.shape) == 6
    if split:
        filters, chunks, rows, columns, inner, block = get_const_tuple(kernel.shape)
        ins = [chunks * inner]
    whole = _Blocks(data, rows, columns, stride, padding, dilation, "conv2d_data_pad")
    groups = whole.channels // ins[0]

    def element(n, occ, oh, ow, ocb):
        ic = te.reduce_axis((0, whole.channels // groups), name="ic")
        outer = floordiv(ic.var, whole.block)
        if groups > 1:
            outer = occ // (filters // groups) * (whole.chunks // groups) + outer
        value = whole.data[(n, outer, *whole.spots((oh, ow)), floormod(ic.var, whole.block))]
        places = (floordiv(ic.var, block), *whole.windows, floormod(ic.var, block)) if split else (ic, *whole.windows)
        return te.sum(_as(value, out_dtype) * _as(kernel[(occ, *places, ocb)], out_dtype), axis=[ic, *whole.windows])

    shape = (whole.batch, filters, *whole.sizes, block)
    return te.compute(shape, lambda *at: element(*at), name="conv2d_NCHWc_OIHWo", tag="conv2d_NCHWc_OIHWo")


def conv2d_NCHWc_int8(data, kernel, stride, padding, dilation, layout, out_layout, out_dtype="int32", n_elems=4):  # noqa: N802
    """A convolution of blocks of channels, of which some are multiplied at once."""
    filters, group_chunks, rows, columns, _, block = get_const_tuple(kernel.shape)[:6]
    whole = _Blocks(data, rows, columns, stride, padding, dilation, "data_pad")
    groups = whole.chunks // group_chunks
    outer, first, second = (
        te.reduce_axis((0, extent), name=name) for extent, name in ((whole.chunks // groups, "ic_outer"), (whole.block // n_elems, "ic_f_inner"), (n_elems, "ic_s_inner"))
    )

    def element(n, occ, oh, ow, oc_block):
        chunk = outer.var
        if groups > 1:
            chunk = occ * block // (filters * block // groups) * (whole.chunks // groups) + chunk
        spots = whole.spots((oh, ow), None if groups == 1 else (1, 1))
        value = whole.data[(n, chunk, *spots, first.var * n_elems + second.var)]
        weight = kernel[(occ, outer, *whole.windows, first, oc_block, second)]
        return te.sum(value.astype(out_dtype) * weight.astype(out_dtype), axis=[*whole.windows, outer, first, second])

    names = ("n", "oc_chunk" if groups == 1 else "occ", "oh", "ow", "oc_block")
    shape = (whole.batch, filters, *whole.sizes, block)
    name = "conv2d_NCHWc_int8"
    return te.compute(shape, lambda *at: element(*at), name=name, tag=name, attrs={"schedule_rule": name}, varargs_names=names)


def unpack_NCHWc_to_nchw(packed_out, out_dtype):  # noqa: N802
    """The tensor in the layout NCHW."""
    batch, chunks, height, width, block = get_const_tuple(packed_out.shape)

    def element(n, c, h, w):
        return packed_out[n, floordiv(c, block), h, w, floormod(c, block)].astype(out_dtype)

    return te.compute((batch, chunks * block, height, width), element, name="output_unpack", tag="injective,unpack_nchwc")


def dense_pack(data, weight, bias=None, out_dtype=None):
    """The product with a matrix that is transposed, and whose rows stand in blocks."""
    out_dtype = out_dtype or data.dtype
    rows, inner = get_const_tuple(data.shape)
    chunks, _, block = get_const_tuple(weight.shape)
    k = te.reduce_axis((0, inner), name="k")

    def element(y, x):
        value, factor = data[y, k], weight[floordiv(x, block), k, floormod(x, block)]
        return te.sum(value.astype(out_dtype) * factor.astype(out_dtype), axis=k)

    made = te.compute((rows, chunks * block), element, name="T_dense_pack", tag="dense_pack")
    if bias is None:
        return made
    return te.compute((rows, chunks * block), lambda i, j: made[i, j] + bias[j].astype(out_dtype), tag="broadcast")


PACKED = {
    "conv2d_NCHWc": conv2d_NCHWc, "conv2d_NCHWc_OIHWo": conv2d_NCHWc_OIHWo, "conv2d_NCHWc_int8": conv2d_NCHWc_int8,
    "unpack_NCHWc_to_nchw": unpack_NCHWc_to_nchw, "dense_pack": dense_pack,
}  # fmt: skip
"""By the name in `topi.nn`."""
