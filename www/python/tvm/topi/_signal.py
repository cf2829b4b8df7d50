"""Searches in sorted sequences and Fourier transforms: programs with loops of their own (`python/tvm/topi/searchsorted.py`, `signal.py`)."""

import math

from .. import te
from ..ir.expr import Var
from ..tirx import BufferLoad, Cast, decl_buffer
from ..tirx.op import const, cos, floordiv, floormod, sin, sqrt
from ._math import stored
from .utils import prod, unravel_index


def _builder():
    from ..script.ir_builder import IRBuilder, tirx

    return IRBuilder, tirx


class _Flat:
    """A buffer whose elements are named by their places in row-major order, or by all indices."""

    def __init__(self, buffer):
        self.buffer = getattr(buffer, "buffer", buffer)
        self.shape, self.dtype = self.buffer.shape, self.buffer.dtype

    def _indices(self, index):
        if isinstance(index, tuple):
            return list(index)
        return [index] if len(self.shape) == 1 else unravel_index(index, self.shape)

    def __getitem__(self, index):
        return BufferLoad(self.buffer, self._indices(index))

    def __setitem__(self, index, value):
        _builder()[1].buffer_store(self.buffer, value, self._indices(index))


def binary_search(sequence_offset, search_range, sorted_sequence, value, right, out_dtype):
    """The place of a value in a part of a sorted buffer. The search is added to the program that is being built."""
    _, T = _builder()
    sequence = sorted_sequence if isinstance(sorted_sequence, _Flat) else _Flat(sorted_sequence)
    low, high = (_Flat(T.alloc_buffer([1], out_dtype, scope="local")) for _ in range(2))
    start, end = (item.astype(out_dtype) if hasattr(item, "astype") else const(item, out_dtype) for item in (0, search_range))
    low[0], high[0] = start, end
    with T.While(low[0] < high[0]):
        middle = low[0] + (high[0] - low[0] >> 1)
        found = sequence[sequence_offset + middle]
        with T.If(found <= value if right else found < value):
            with T.Then():
                low[0] = middle + 1
            with T.Else():
                high[0] = middle
    return low[0]


def searchsorted(sorted_sequence, values, right=False, out_dtype="int64"):
    """The places where values belong in sorted sequences: before equal elements, or behind them."""
    IRBuilder, T = _builder()  # noqa: N806

    def program(ins, outs):
        sequence, wanted, places = _Flat(ins[0]), _Flat(ins[1]), _Flat(outs[0])
        length = sequence.shape[-1]
        with IRBuilder() as builder:
            with T.parallel(0, prod(list(wanted.shape))) as at:
                offset = 0 if len(sequence.shape) == 1 else at // wanted.shape[-1] * length
                places[at] = binary_search(offset, length, sequence, wanted[at], right, out_dtype)
            return builder.get()

    return te.extern(values.shape, [sorted_sequence, values], program, name="searchsorted", dtype=out_dtype)


def stft(data, n_fft, hop_length, win_length, window, normalized, onesided, output_shape):
    """The Fourier transforms of parts of signals, each weighted by a window."""
    IRBuilder, T = _builder()  # noqa: N806
    result = decl_buffer(output_shape, data.dtype, "output_buf", layout=None)
    columns = T.serial if isinstance(output_shape[2], Var) else T.vectorized

    def program(ins, outs):
        signal, weights, out = _Flat(ins[0]), _Flat(ins[1]), _Flat(outs[0])
        rows, width = out.shape[1], out.shape[2]
        with IRBuilder() as builder:
            with T.parallel(0, out.shape[0] * rows) as both:
                with columns(0, width) as column:
                    batch, row = floordiv(both, rows), floormod(both, rows)
                    parts = [(batch, row, column, const(part)) for part in range(2)]
                    for part in parts:
                        out[part] = Cast(data.dtype, 0)
                    with T.serial(0, win_length) as at:
                        angle = 2 * math.pi * row * at / win_length
                        value = weights[at] * signal[batch, column * hop_length + at]
                        out[parts[0]] = out[parts[0]] + value * cos(angle)
                        out[parts[1]] = out[parts[1]] - value * sin(angle)
                    with T.If(normalized):
                        with T.Then():
                            for part in parts:
                                out[part] = out[part] / sqrt(const(n_fft, "float32"))
            return builder.get()

    return te.extern(output_shape, [data, window], program, dtype=[data.dtype], out_buffers=[result], name="stft_cpu", tag="stft_cpu")


def dft(re_data, im_data, inverse):
    """The Fourier transform along the last axis, or the one back: the real and the imaginary parts."""
    IRBuilder, T = _builder()  # noqa: N806
    *outer, length = re_data.shape

    def program(ins, outs):
        (re_in, im_in), (re_out, im_out) = ([_Flat(buffer) for buffer in buffers] for buffers in (ins, outs))
        dtype = re_out.dtype
        sign, factor = (-1, stored(1.0 / length)) if inverse else (1, 1.0)
        count = 1
        for extent in outer:
            count = count * extent
        with IRBuilder() as builder:
            with T.parallel(0, count) as which:
                with T.serial(0, length) as n:
                    place = which * length + n
                    for out in (re_out, im_out):
                        out[place] = Cast(dtype, 0)
                    step = sign * -2 * math.pi * n / length
                    with T.serial(0, length) as k:
                        source = which * length + k
                        along, across = (Cast(dtype, function(step * k)) for function in (cos, sin))
                        real, imaginary = re_in[source], im_in[source]
                        re_out[place] = re_out[place] + (real * along - imaginary * across)
                        im_out[place] = im_out[place] + (real * across + imaginary * along)
                    for out in (re_out, im_out):
                        out[place] = out[place] * Cast(dtype, factor)
            return builder.get()

    shapes, dtypes = [re_data.shape, re_data.shape], [re_data.dtype, im_data.dtype]
    return te.extern(shapes, [re_data, im_data], program, dtype=dtypes, name="dft_cpu", tag="dft_cpu")


SIGNAL = {"binary_search": binary_search, "searchsorted": searchsorted, "stft": stft, "dft": dft}
"""By the name in `topi`."""
