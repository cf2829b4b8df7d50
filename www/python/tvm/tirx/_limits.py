"""The smallest and the largest number of an element type."""

from .. import _engine
from .._values import DataType
from ..error import InternalError
from .expr import FloatImm, IntImm

_FLOAT = 3.4028234663852886e38
LARGEST = {
    "float16": 65504.0,
    "bfloat16": _FLOAT,
    "float32": _FLOAT,
    "float64": 1.7976931348623157e308,
    "float8_e3m4": 31.0,
    "float8_e4m3": 448.0,
    "float8_e4m3b11fnuz": 30.0,
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 448.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
    "float8_e8m0fnu": 2.0**128,
    "float6_e2m3fn": 7.5,
    "float6_e3m2fn": 28.0,
    "float4_e2m1fn": 6.0,
}
# TVM says so of them, though only the last one has no negative numbers.
_LEAST_IS_ZERO = ("float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")


def _largest(dtype, what):
    if str(dtype) not in LARGEST:
        raise InternalError(f"Cannot decide {what} for typeT.{dtype}")
    return LARGEST[str(dtype)]


def _as_bits(dtype):
    """The type; up to TVM 0.19 a truth value is a whole number of one bit."""
    dtype = DataType(dtype)
    return dtype, 1 if dtype.type_code == 6 and not _engine.is_relax() else dtype.type_code


def min_value(dtype, span=None):
    """The smallest number of a type."""
    dtype, code = _as_bits(dtype)
    if code == 0:
        return IntImm(dtype, -(1 << dtype.bits - 1))
    if code == 1:
        return IntImm(dtype, 0)
    largest = _largest(dtype, "min_value")
    return FloatImm(dtype, 0.0 if str(dtype) in _LEAST_IS_ZERO else -largest)


def max_value(dtype, span=None):
    """The largest number of a type."""
    dtype, code = _as_bits(dtype)
    if code in (0, 1):
        return IntImm(dtype, (1 << dtype.bits - (code == 0)) - 1)
    return FloatImm(dtype, _largest(dtype, "max_value"))


def infinity(dtype, span=None):
    """The infinite number of a type."""
    dtype = DataType(getattr(dtype, "dtype", dtype))
    if dtype.type_code != 2:
        raise InternalError(f"Cannot decide infinity for type T.{dtype}")
    return FloatImm(dtype, float("inf"))
