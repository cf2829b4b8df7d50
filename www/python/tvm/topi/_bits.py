"""Products of numbers of a few bits, which stand in words (`python/tvm/topi/nn/bitserial_conv2d.py`, `bnn.py`)."""

from .. import te
from ..tirx.op import const, popcount
from ._convolutions import listed
from ._padding import get_pad_tuple, pad
from .utils import get_const_int, get_const_tuple, simplify


def bitpack(data, bits, pack_axis, bit_axis, pack_type, name="QuantizeInput"):
    """The lowest bits of elements along an axis in words; the bits have an axis of their own."""
    from . import concatenate

    width, shape = int(pack_type.removeprefix("uint")), list(data.shape)
    if get_const_int(shape[pack_axis]) % width:
        raise AssertionError("Not a multiple of word size")
    shape[pack_axis] = shape[pack_axis] // width
    shape.insert(bit_axis, 1)
    packed_axis = pack_axis + (bit_axis <= pack_axis)

    def element(*at):
        words = [const(0, pack_type)] * bits
        for step in range(width):
            places = [index * width + step if axis == packed_axis else index for axis, index in enumerate(at) if axis != bit_axis]
            value = data(*places)
            for bit in range(bits):
                chosen = value & const(1 << bit, "int32")
                words[bit] = words[bit] | (chosen if bit == 0 and chosen.dtype == "int32" else chosen >> bit).astype(pack_type)
                if step < width - 1:
                    words[bit] = words[bit] << 1
        return tuple(words)

    made = te.compute(tuple(shape), element, name=name, tag="bitpack")
    return concatenate(made, axis=bit_axis) if bits > 1 else made


def _serial(data, kernel, stride, padding, activation_bits, weight_bits, pack_dtype, out_dtype, unipolar, first):
    """`first` is true if the channels stand before the picture."""
    steps = listed(stride, 2)
    words = bitpack(data, activation_bits, pack_axis=1 if first else 3, bit_axis=2 if first else 4, pack_type=pack_dtype)
    factors = kernel
    if len(kernel.shape) == 4:
        factors = bitpack(kernel, weight_bits, pack_axis=1 if first else 2, bit_axis=4, pack_type=pack_dtype)
    if first:
        batch, channels, planes, *extents = words.shape
        filters, _, *windows, levels = factors.shape
    else:
        batch, *extents, channels, planes = get_const_tuple(words.shape)
        rows, columns, *_ = get_const_tuple(factors.shape)
        windows, filters = [rows, columns], get_const_tuple(factors.shape)[3 if len(kernel.shape) == 4 else 4]
        planes, levels = activation_bits, weight_bits
    simple = isinstance(padding, int) or len(padding) == 2
    top, left, bottom, right = get_pad_tuple(padding, kernel) if simple else padding
    low, high = [top, left], [bottom, right]
    ends = ([0, 0, 0, *low], [0, 0, 0, *high]) if first else ([0, *low, 0, 0], [0, *high, 0, 0])
    padded = pad(words, *ends, name="pad_temp" if first else "PaddedInput")
    sizes = [(extent - k + a + b) // step + 1 for extent, k, a, b, step in zip(extents, windows, low, high, steps)]
    parts = ((channels, "rc"), (windows[0], "ry"), (windows[1], "rx"), (planes, "b1"), (levels, "b2"))
    rc, ry, rx, b1, b2 = (te.reduce_axis((0, extent), name=name) for extent, name in parts)

    def value(nn, ff, yy, xx):
        spots = [place * step + axis.var for place, step, axis in zip((yy, xx), steps, (ry, rx))]
        word = padded[(nn, rc, b1, *spots) if first else (nn, *spots, rc, b1)]
        factor = factors[(ff, rc, ry, rx, b2) if first else (ry, rx, rc, ff, b2)]
        count = popcount(word & factor)
        if unipolar:
            count = count - popcount(word & ~factor)
        made = te.sum((count << (b1.var + b2.var).astype(out_dtype)).astype(out_dtype), axis=[rc, ry, rx, b2, b1])
        return made.astype(out_dtype) if first else made

    if first:
        return te.compute((batch, filters, *sizes), lambda nn, ff, yy, xx: value(nn, ff, yy, xx), name="Conv2dOutput", tag="bitserial_conv2d_nchw")
    return te.compute((batch, *sizes, filters), lambda nn, yy, xx, ff: value(nn, ff, yy, xx), name="Conv2dOutput", tag="bitserial_conv2d_nhwc")


def bitserial_conv2d_nchw(data, kernel, stride, padding, activation_bits, weight_bits, pack_dtype="uint32", out_dtype="int16", unipolar=True):
    """A convolution of numbers of a few bits in the layout NCHW."""
    return _serial(data, kernel, stride, padding, activation_bits, weight_bits, pack_dtype, out_dtype, unipolar, True)


def bitserial_conv2d_nhwc(data, kernel, stride, padding, activation_bits, weight_bits, pack_dtype="uint32", out_dtype="int16", unipolar=True):
    """A convolution of numbers of a few bits in the layout NHWC."""
    return _serial(data, kernel, stride, padding, activation_bits, weight_bits, pack_dtype, out_dtype, unipolar, False)


def bitserial_dense(data, weight, data_bits, weight_bits, pack_dtype="uint32", out_dtype="int16", unipolar=True):
    """The product of matrices of numbers of a few bits; the second one is transposed."""
    words = bitpack(data, data_bits, pack_axis=1, bit_axis=1, pack_type=pack_dtype)
    factors = bitpack(weight, weight_bits, pack_axis=1, bit_axis=1, pack_type=pack_dtype) if len(weight.shape) == 2 else weight
    rows, planes, inner = get_const_tuple(words.shape)
    columns, levels, _ = get_const_tuple(factors.shape)
    k, db, wb = (te.reduce_axis((0, extent), name=name) for extent, name in ((inner, "k"), (planes, "db"), (levels, "wb")))

    def element(i, j):
        factor, word = factors[j, wb, k], words[i, db, k]
        count = popcount(factor & word)
        if unipolar:
            count = count - popcount(~factor & word)
        return te.sum(count.astype(out_dtype) << (db.var + wb.var).astype(out_dtype), axis=[wb, db, k])

    return te.compute((rows, columns), element, tag="bitserial_dense_unipolar" if unipolar else "bitserial_dense")


def binarize_pack(data, axis=None, name="PackedInput"):
    """The signs of 32 elements along an axis as the bits of a word."""
    axis = len(data.shape) - 1 if axis is None else axis
    if get_const_int(data.shape[axis]) % 32:
        raise AssertionError("the axis is no multiple of 32")
    shape = [simplify(extent // 32) if at == axis else extent for at, extent in enumerate(data.shape)]

    def element(*at):
        word = const(0, "uint32")
        for bit in range(32):
            places = [index * 32 + bit if place == axis else index for place, index in enumerate(at)]
            word = word | (data(*places) >= 0).astype("uint32")
            if bit < 31:
                word = word << 1
        return word

    return te.compute(shape, element, name=name, tag="binarize_pack")


def binary_dense(data, weight):
    """The product of matrices of signs; the second one is transposed."""
    if data.dtype != "uint32" or weight.dtype != "uint32":
        raise AssertionError("dtype of data and weight should be uint32")
    if len(data.shape) != 2 or len(weight.shape) != 2:
        raise AssertionError("only support 2-dim binary dense")
    (batch, inner), columns = data.shape, weight.shape[0]
    k = te.reduce_axis((0, inner), name="k")
    counts = te.compute((batch, columns), lambda i, j: te.sum(popcount(data[i, k] ^ weight[j, k]), axis=k), tag="binary_dense")
    return te.compute((batch, columns), lambda i, j: 32 * inner - 2.0 * counts(i, j), tag="elemwise")


BITS = {
    "bitpack": bitpack, "bitserial_conv2d_nchw": bitserial_conv2d_nchw, "bitserial_conv2d_nhwc": bitserial_conv2d_nhwc,
    "bitserial_dense": bitserial_dense, "binarize_pack": binarize_pack, "binary_dense": binary_dense,
}  # fmt: skip
"""By the name in `topi.nn`."""
