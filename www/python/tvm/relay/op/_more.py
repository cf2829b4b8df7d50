"""Functions that check or compute their operands before they make a call."""

import functools
import sys

import numpy as np

from ..._values import Attrs, DataType
from ..expr import Call, Constant, Tuple, TupleWrapper, const
from ...ir.expr import Expr
from ._make import call


def _several(data, name):
    """Several tensors as one operand: a call that gives a tuple stays, everything else is taken apart."""
    if isinstance(data, Call):
        return data
    data = list(data)
    if not data:
        raise ValueError(f"relay.{name} requires data to be non-empty.")
    return Tuple(data)


def concatenate(data, axis):
    """Tensors one after another along an axis."""
    data = _several(data, "concatenate")
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    return call("concatenate", [data], {"axis": axis})


def stack(data, axis):
    """Tensors one after another along a new axis."""
    if not isinstance(data, Expr):
        data = _several(data, "stack")
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    return call("stack", [data], {"axis": axis})


def einsum(data, equation):
    """Sums of products of elements, in the notation of Einstein."""
    data = _several(list(data), "einsum")
    if not isinstance(equation, str):
        raise ValueError("einsum `equation` must be a str")
    return call("einsum", [data], {"equation": equation})


def segment_sum(data, segment_ids, num_segments=None):
    """Sums of the rows that have the same number."""
    from .. import op

    one = op.cast_like(const([1]), segment_ids)
    if num_segments:
        count = const([num_segments]) if isinstance(num_segments, int) else num_segments
        most = op.cast_like(count, segment_ids)
    else:
        most = op.add(op.reshape(op.max(segment_ids, [0], False, False), -1), one)
    row = op.cast_like(op.strided_slice(op.shape_of(data, "int32"), [1], [-1], slice_mode="size"), most)
    shape = op.concatenate([most, row], 0)
    times = op.concatenate([op.reverse(row, 0), one], 0)
    numbers = op.transpose(op.tile(segment_ids, times))
    zeros = op.cast_like(op.zeros(shape, "float64"), data)
    return op.scatter_elements(zeros, numbers, data, axis=0, reduction="add")


def sparse_fill_empty_rows(sparse_indices, sparse_values, dense_shape, default_value):
    """A sparse matrix in which each row has an element."""
    from .. import op

    made = TupleWrapper(call("sparse_fill_empty_rows", [sparse_indices, sparse_values, dense_shape, default_value], {}), 3)
    indices, values, empty = made
    return Tuple((op.cast_like(indices, sparse_indices), op.cast_like(values, sparse_values), op.cast(empty, "bool")))


def collapse_sum_to(data, shape):
    """Sums over axes until a tensor has a shape."""
    shape = const(list(shape), "int32") if isinstance(shape, (list, tuple)) else shape
    known = [int(extent) for extent in shape.data.numpy()] if isinstance(shape, Constant) else None
    attrs = Attrs("relay.attrs.InitOpAttrs", {"shape": known, "dtype": DataType("void")})
    return Call(_op("collapse_sum_to"), [data, shape], attrs)


def strided_set(data, v, begin, end, strides=None):
    """A tensor with other elements from `begin` to `end` in steps."""
    parts = (begin, end, const([1], "int32") if strides is None else strides)
    return call("strided_set", [data, v, *(part if isinstance(part, Expr) else const(list(part)) for part in parts)], {})


def stft(data, n_fft, hop_length=None, win_length=None, window=None, normalized=False, onesided=True):
    """The Fourier transform of each window of a signal."""
    from .. import op

    window = op.ones([n_fft], "int32") if window is None else window
    fields = {"n_fft": n_fft, "hop_length": n_fft // 4 if hop_length is None else hop_length}
    fields |= {"win_length": n_fft if win_length is None else win_length, "normalized": normalized, "onesided": onesided}
    return call("stft", [data, window], fields)


_TYPE_CODES = {"disable": 0, "int8": 1, "uint8": 2, "int32": 3}
"""Numbers by which `qnn.simulated_quantize` knows element types."""


def _simulated(name):
    def make(data, scale, zero_point, axis, dtype):
        from .. import op

        if isinstance(dtype, str):
            dtype = const(_TYPE_CODES[dtype], "int32")
        flat = [op.reshape(part, [-1]) for part in (scale, zero_point)]
        return call(name, [data, dtype, *flat], {"axis": axis})

    return make


def simulated_quantize(data, output_scale, output_zero_point, axis=-1, out_dtype="int8"):
    """Quantizes to a type that is known when it runs, in floating point."""
    return _simulated("qnn.simulated_quantize")(data, output_scale, output_zero_point, axis, out_dtype)


def simulated_dequantize(data, input_scale, input_zero_point, axis=-1, in_dtype="int8"):
    """Undoes `simulated_quantize`."""
    return _simulated("qnn.simulated_dequantize")(data, input_scale, input_zero_point, axis, in_dtype)


def threefry_key(seed):
    """A key for random numbers, of a number."""
    words = np.frombuffer(seed.to_bytes(32, sys.byteorder), dtype="uint64")
    return Constant(np.concatenate((words, np.array([0, 0, 0, 0, 1 << 63, 0], dtype="uint64"))))


def _virtual_device(device):
    """A place for values, of a device, its name or such a place."""
    from ... import runtime
    from ...target import VirtualDevice

    if isinstance(device, VirtualDevice):
        return device
    if isinstance(device, str):
        device = runtime.device(device)
    if not hasattr(device, "device_type"):
        raise ValueError(f"expecting a Device or device name, but received a {type(device)}")
    return VirtualDevice(device)


@functools.cache
def _device_attributes(name, devices, rest):
    """The attributes of a call that names places."""
    from ..parser import parse

    fields = ", ".join([*(f"{key}=meta[VirtualDevice][{at}]" for at, (key, _) in enumerate(devices)), *rest])
    table = {"VirtualDevice": [device for _, device in devices]}
    return parse(f"#[version = \"0.0.5\"]\ndef @main(%x: float32) {{ {name}(%x, {fields}) }}", init_meta_table=table)["main"].body.attrs


def on_device(body, device, constrain_result=False, constrain_body=True):
    """An expression that is computed on a device."""
    devices = (("virtual_device", _virtual_device(device)),)
    rest = (f"constrain_result={bool(constrain_result)}", f"constrain_body={bool(constrain_body)}")
    return Call(_op("on_device"), [body], _device_attributes("on_device", devices, rest))


def device_copy(data, src_device, dst_device):
    """A value on another device."""
    devices = (("src_virtual_device", _virtual_device(src_device)), ("dst_virtual_device", _virtual_device(dst_device)))
    return Call(_op("device_copy"), [data], _device_attributes("device_copy", devices, ()))


def _op(name):
    from ...ir.op import Op

    return Op.get(name)


BY_HAND = {
    "annotation.on_device": on_device,
    "collapse_sum_to": collapse_sum_to,
    "concatenate": concatenate,
    "device_copy": device_copy,
    "einsum": einsum,
    "on_device": on_device,
    "random.threefry_key": threefry_key,
    "segment_sum": segment_sum,
    "sparse_fill_empty_rows": sparse_fill_empty_rows,
    "qnn.simulated_dequantize": simulated_dequantize,
    "qnn.simulated_quantize": simulated_quantize,
    "stack": stack,
    "stft": stft,
    "strided_set": strided_set,
}
"""The functions, by the names under which they are found."""
