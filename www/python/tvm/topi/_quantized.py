"""Numbers as if they were quantized, at a type that is known when the program runs (`python/tvm/topi/nn/qnn.py`)."""

from .. import te
from ..tirx.op import any as any_of
from ..tirx.op import floormod, if_then_else, max_, max_value, min_, min_value
from ..tirx.op import round as nearest
from ._transform import shape

SQNN_DISABLE, SQNN_INT8, SQNN_UINT8, SQNN_INT32 = range(4)
SQNN_DTYPE_TO_CODE = {"disable": SQNN_DISABLE, "int8": SQNN_INT8, "uint8": SQNN_UINT8, "int32": SQNN_INT32}
SQNN_CODE_TO_DTYPE = {code: dtype for dtype, code in SQNN_DTYPE_TO_CODE.items()}


def _along(tensor, index):
    return tensor(floormod(index, shape(tensor)(0)))


def _checked(scale, zero_point):
    if scale is None or zero_point is None:
        raise AssertionError("a scale and a zero point are needed")


@te.tag_scope(tag="elemwise")
def simulated_quantize(data, out_dtype, output_scale=None, output_zero_point=None, axis=-1):
    """The elements, divided by a scale and rounded, moved by a zero point and cut to what a type holds."""
    _checked(output_scale, output_zero_point)

    def quantized(dtype, at):
        moved = nearest(data(*at) / _along(output_scale, at[axis])) + _along(output_zero_point, at[axis])
        return max_(min_(moved, max_value(dtype)), min_value(dtype))

    def element(*at):
        made = te.compute(data.shape, lambda *at: data(*at))
        for dtype in ("int8", "uint8", "int32"):
            code, before = SQNN_DTYPE_TO_CODE[dtype], made
            made = te.compute(data.shape, lambda *at: if_then_else(out_dtype.equal(code), quantized(dtype, at), before(*at)))
        return made(*at)

    return te.compute(data.shape, element)


@te.tag_scope(tag="elemwise")
def simulated_dequantize(data, in_dtype, input_scale=None, input_zero_point=None, axis=-1):
    """The elements, less a zero point, times a scale."""
    _checked(input_scale, input_zero_point)

    def restored(at):
        return (data(*at) - _along(input_zero_point, at[axis])) * _along(input_scale, at[axis])

    def element(*at):
        plain = te.compute(data.shape, lambda *at: data(*at))
        whole = any_of(*(in_dtype.equal(SQNN_DTYPE_TO_CODE[dtype]) for dtype in ("int8", "uint8", "int32")))
        return te.compute(data.shape, lambda *at: if_then_else(whole, restored(at), plain(*at)))(*at)

    return te.compute(data.shape, element)


QUANTIZED = {"simulated_quantize": simulated_quantize, "simulated_dequantize": simulated_dequantize}
"""By the name in `topi.nn`."""
